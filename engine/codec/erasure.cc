#include "engine/codec/erasure.h"

#include <isa-l/erasure_code.h>

#include <algorithm>
#include <string>

namespace cairn::codec {
namespace {

/// ISA-L expands each coefficient to a table of this size.
constexpr std::size_t kTableBytes = 32;

std::vector<std::uint8_t> expand(std::uint32_t columns, std::uint32_t rows,
                                 std::uint8_t* coefficients) {
  std::vector<std::uint8_t> tables(std::size_t{columns} * rows * kTableBytes);
  if (rows > 0) {
    ec_init_tables(static_cast<int>(columns), static_cast<int>(rows), coefficients, tables.data());
  }
  return tables;
}

/// ISA-L takes mutable pointers, also for what it only reads.
std::uint8_t* mutable_bytes(Bytes bytes) {
  return reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(bytes.data()));
}

void multiply(std::uint32_t columns, const std::vector<std::uint8_t>& tables,
              std::span<const Bytes> from, std::span<const MutableBytes> to) {
  if (to.empty()) return;
  std::array<std::uint8_t*, kDataFragmentsMax> in;
  std::array<std::uint8_t*, kFragmentsMax> out;
  const std::size_t length = from[0].size();
  for (std::size_t i = 0; i < from.size(); ++i) {
    CAIRN_CHECK(from[i].size() == length);
    in[i] = mutable_bytes(from[i]);
  }
  for (std::size_t i = 0; i < to.size(); ++i) {
    CAIRN_CHECK(to[i].size() == length);
    out[i] = mutable_bytes(to[i]);
  }
  ec_encode_data(static_cast<int>(length), static_cast<int>(columns), static_cast<int>(to.size()),
                 const_cast<std::uint8_t*>(tables.data()), in.data(), out.data());
}

}  // namespace

ErasureCode::ErasureCode(std::uint32_t data, std::uint32_t parity)
    : data_(data), parity_(parity), matrix_(std::size_t{data + parity} * data) {
  CAIRN_CHECK(data >= 1 && data <= kDataFragmentsMax && parity <= kParityFragmentsMax);
  gf_gen_cauchy1_matrix(matrix_.data(), static_cast<int>(data + parity), static_cast<int>(data));
  if (data == 1) std::ranges::fill(matrix_, std::uint8_t{1});  // copies
  std::vector<std::uint8_t> by_column;
  for (std::size_t column = 0; column < data; ++column) {
    for (std::size_t row = data; row < data + parity; ++row) {
      by_column.push_back(matrix_[row * data + column]);
    }
  }
  tables_ = expand(1, data * parity, by_column.data());
}

void ErasureCode::add(std::uint32_t index, Bytes data, std::span<const MutableBytes> parity) const {
  CAIRN_CHECK(index < data_ && parity.size() == parity_);
  if (parity.empty()) return;
  std::array<std::uint8_t*, kParityFragmentsMax> out;
  for (std::size_t p = 0; p < parity.size(); ++p) {
    CAIRN_CHECK(parity[p].size() == data.size());
    out[p] = mutable_bytes(parity[p]);
  }
  std::uint8_t* in = mutable_bytes(data);
  auto* tables = const_cast<std::uint8_t*>(&tables_[std::size_t{index} * parity_ * kTableBytes]);
  const int length = static_cast<int>(data.size());
  const int rows = static_cast<int>(parity_);
  if (index == 0) {
    ec_encode_data(length, 1, rows, tables, &in, out.data());
  } else {
    ec_encode_data_update(length, 1, rows, 0, tables, in, out.data());
  }
}

Result<ErasureCode::Decoder> ErasureCode::make_decoder(
    std::span<const std::uint32_t> sources, std::span<const std::uint32_t> wanted) const {
  std::vector<std::uint32_t> sorted(sources.begin(), sources.end());
  std::ranges::sort(sorted);
  const bool distinct = std::ranges::adjacent_find(sorted) == sorted.end();
  const auto in_range = [this](std::uint32_t index) { return index < data_ + parity_; };
  if (sources.size() != data_ || !distinct || !std::ranges::all_of(sources, in_range) ||
      !std::ranges::all_of(wanted, in_range) || wanted.size() > kFragmentsMax) {
    return fail(Code::kInvalid, "decoding needs " + std::to_string(data_) +
                                    " distinct fragments below " + std::to_string(data_ + parity_));
  }
  // data = inverse(rows of the sources) * sources, and a fragment is its row times data.
  const std::size_t k = data_;
  std::vector<std::uint8_t> rows(k * k), inverse(k * k);
  for (std::size_t i = 0; i < k; ++i) {
    std::copy_n(matrix_.begin() + static_cast<std::ptrdiff_t>(sources[i] * k), k,
                rows.begin() + static_cast<std::ptrdiff_t>(i * k));
  }
  CAIRN_CHECK(gf_invert_matrix(rows.data(), inverse.data(), static_cast<int>(k)) == 0);
  std::vector<std::uint8_t> coefficients(wanted.size() * k);
  for (std::size_t w = 0; w < wanted.size(); ++w) {
    for (std::size_t column = 0; column < k; ++column) {
      std::uint8_t sum = 0;
      for (std::size_t i = 0; i < k; ++i) {
        sum ^= gf_mul(matrix_[wanted[w] * k + i], inverse[i * k + column]);
      }
      coefficients[w * k + column] = sum;
    }
  }
  Decoder decoder;
  decoder.data_ = data_;
  decoder.wanted_ = static_cast<std::uint32_t>(wanted.size());
  decoder.tables_ = expand(data_, decoder.wanted_, coefficients.data());
  return decoder;
}

void ErasureCode::Decoder::decode(std::span<const Bytes> sources,
                                  std::span<const MutableBytes> wanted) const {
  CAIRN_CHECK(sources.size() == data_ && wanted.size() == wanted_);
  multiply(data_, tables_, sources, wanted);
}

}  // namespace cairn::codec
