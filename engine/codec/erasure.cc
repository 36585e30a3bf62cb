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

/// ISA-L takes arrays of mutable pointers, also for what it only reads.
template <class Span>
void multiply(std::uint32_t columns, const std::vector<std::uint8_t>& tables,
              std::span<const Bytes> from, std::span<const Span> to) {
  if (to.empty()) return;
  std::array<std::uint8_t*, kDataFragmentsMax> in;
  std::array<std::uint8_t*, kFragmentsMax> out;
  const std::size_t length = from[0].size();
  for (std::size_t i = 0; i < from.size(); ++i) {
    CAIRN_CHECK(from[i].size() == length);
    in[i] = reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(from[i].data()));
  }
  for (std::size_t i = 0; i < to.size(); ++i) {
    CAIRN_CHECK(to[i].size() == length);
    out[i] = reinterpret_cast<std::uint8_t*>(to[i].data());
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
  tables_ = expand(data, parity, matrix_.data() + std::size_t{data} * data);
}

void ErasureCode::encode(std::span<const Bytes> data, std::span<const MutableBytes> parity) const {
  CAIRN_CHECK(data.size() == data_ && parity.size() == parity_);
  multiply(data_, tables_, data, parity);
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
