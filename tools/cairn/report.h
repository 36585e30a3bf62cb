// What a command found, printed as a table for people or as one JSON object for programs, from the
// same fields, so that the two never differ.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cairn::cli {

/// One row of a list in a report: (key, value) pairs.
using Row = std::vector<std::pair<std::string, std::string>>;

class Report {
 public:
  /// `key` is the JSON key, a promise to programs; `label` is for people.
  void text(std::string_view key, std::string_view label, std::string_view value);
  void number(std::string_view key, std::string_view label, std::uint64_t value);
  /// A table shows "1.5 GiB (1610612736)"; JSON the number.
  void bytes(std::string_view key, std::string_view label, std::uint64_t value);
  void flag(std::string_view key, std::string_view label, bool value);
  /// A list of objects; a table shows each on a line behind its label.
  void list(std::string_view key, std::string_view label, std::vector<Row> rows);

  /// To standard output.
  void print(bool json) const;

 private:
  struct Field {
    std::string key;
    std::string label;
    std::string shown;  ///< for the table
    std::string json;   ///< encoded
    std::vector<Row> rows;
    bool is_list = false;
  };
  void print_table() const;
  void print_json() const;

  std::vector<Field> fields_;
};

}  // namespace cairn::cli
