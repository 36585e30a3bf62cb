// Reed-Solomon over GF(2^8): k data pieces, m parity pieces, any k of them restore the rest.
//
// The matrix is part of the format: the identity above a Cauchy matrix (any square part of which is
// regular), so every loss of at most m pieces can be repaired for k <= 16, m <= 4.  Row k+p, column
// i holds 1 / ((k+p) xor i) in GF(2^8) modulo x^8+x^4+x^3+x^2+1 (0x11d).  With k = 1 all rows are
// ones, which makes copies(n) copies.  ISA-L does the arithmetic; the tests compare it with plain
// arithmetic of that definition.
//
// Pure over spans: no allocation once made, no hashes (object_codec.h), any thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/bytes.h"
#include "engine/base/limits.h"
#include "engine/base/status.h"

namespace cairn::codec {

class ErasureCode {
 public:
  /// k in 1..kDataFragmentsMax, m in 0..kParityFragmentsMax.
  ErasureCode(std::uint32_t data, std::uint32_t parity);

  std::uint32_t data() const { return data_; }
  std::uint32_t parity() const { return parity_; }

  /// Adds the share of data piece `index` to all m parity pieces, all of one length; piece 0 goes
  /// first and overwrites them.  Fast while the parity pieces stay in the first-level cache.
  void add(std::uint32_t index, Bytes data, std::span<const MutableBytes> parity) const;

  /// How to make the fragments in `wanted` from the k fragments in `sources`.  Indices below k are
  /// data.  Built once per pattern of loss, used for every piece.
  class Decoder {
   public:
    /// `sources` in the order of the indices that the decoder was made with.
    void decode(std::span<const Bytes> sources, std::span<const MutableBytes> wanted) const;

   private:
    friend class ErasureCode;
    std::uint32_t data_ = 0;
    std::uint32_t wanted_ = 0;
    std::vector<std::uint8_t> tables_;
  };
  /// kInvalid: not exactly k distinct sources, or an index out of range.
  Result<Decoder> make_decoder(std::span<const std::uint32_t> sources,
                               std::span<const std::uint32_t> wanted) const;

 private:
  std::uint32_t data_;
  std::uint32_t parity_;
  std::vector<std::uint8_t> matrix_;  ///< (k+m) x k
  std::vector<std::uint8_t> tables_;  ///< ISA-L's, for add: m of data piece 0, m of piece 1, ...
};

}  // namespace cairn::codec
