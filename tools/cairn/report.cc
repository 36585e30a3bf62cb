#include "tools/cairn/report.h"

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>

#include "engine/base/units.h"

namespace cairn::cli {
namespace {

using Json = nlohmann::ordered_json;

/// File names and messages may hold any bytes; JSON takes UTF-8 only.
std::string encode(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

void Report::text(std::string_view key, std::string_view label, std::string_view value) {
  fields_.push_back({std::string(key),
                     std::string(label),
                     std::string(value),
                     encode(Json(std::string(value))),
                     {}});
}

void Report::number(std::string_view key, std::string_view label, std::uint64_t value) {
  const std::string digits = std::to_string(value);
  fields_.push_back({std::string(key), std::string(label), digits, digits, {}});
}

void Report::bytes(std::string_view key, std::string_view label, std::uint64_t value) {
  const std::string digits = std::to_string(value);
  fields_.push_back({std::string(key),
                     std::string(label),
                     format_bytes(value) + (value < kKiB ? "" : " (" + digits + ")"),
                     digits,
                     {}});
}

void Report::flag(std::string_view key, std::string_view label, bool value) {
  fields_.push_back(
      {std::string(key), std::string(label), value ? "yes" : "no", value ? "true" : "false", {}});
}

void Report::list(std::string_view key, std::string_view label, std::vector<Row> rows) {
  fields_.push_back({std::string(key), std::string(label), "", "", std::move(rows), true});
}

void Report::print(bool json) const { json ? print_json() : print_table(); }

void Report::print_table() const {
  std::size_t width = 0;
  for (const Field& field : fields_) width = std::max(width, field.label.size());
  for (const Field& field : fields_) {
    if (!field.is_list) {
      std::cout << std::left << std::setw(static_cast<int>(width) + 2) << field.label << field.shown
                << '\n';
      continue;
    }
    for (const Row& row : field.rows) {
      std::cout << field.label;
      for (const auto& [key, value] : row) std::cout << "  " << value;
      std::cout << '\n';
    }
  }
}

void Report::print_json() const {
  std::cout << "{";
  const char* comma = "\n  ";
  for (const Field& field : fields_) {
    std::string value = field.json;
    if (field.is_list) {
      Json list = Json::array();
      for (const Row& row : field.rows) {
        Json object = Json::object();
        for (const auto& [key, text] : row) object[key] = text;
        list.push_back(std::move(object));
      }
      value = encode(list);
    }
    std::cout << std::exchange(comma, ",\n  ") << encode(Json(field.key)) << ": " << value;
  }
  std::cout << "\n}\n";
}

}  // namespace cairn::cli
