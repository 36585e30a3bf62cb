// A client in small: puts and gets whole objects as single fragments, copies(1), straight at a
// store.  What cairn-bench and the tests on real devices write with; the real client stripes.
//
// Thread: the target's.
#pragma once

#include <string>

#include "engine/base/bytes.h"
#include "engine/store/target_store.h"

namespace cairn::bench {

/// Page-aligned memory that reads as zeros; what is never touched costs nothing.
class AlignedBuffer {
 public:
  explicit AlignedBuffer(std::uint64_t bytes);
  ~AlignedBuffer();
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;
  MutableBytes memory() const { return memory_; }

 private:
  MutableBytes memory_;
};

/// One object as one fragment, ready to send.
struct Object {
  FragmentName name;
  layout::Geometry geometry;
  std::string table;
};

/// copies(1).
layout::Geometry single_fragment(std::uint64_t object_bytes);
/// Makes the hash table as the writing client does.  `padded` is the object with zeros up to the
/// next page, exactly layout::fragment_bytes.
Object make_object(FragmentName name, std::uint64_t object_bytes, Bytes padded);

/// Puts `object`; `padded` is what make_object saw and stays valid until this returns.  OK:
/// durable.  Adds to `copy_cpu_seconds`, where given, what copying the bytes to the target took.
Task<Status> put_object(store::TargetStore& target, const Object& object, Bytes padded,
                        double* copy_cpu_seconds = nullptr);

/// Reads a whole fragment into the front of `into` (page-aligned, large enough), checked by the
/// target.  Returns the fragment's bytes, padding included.
Task<Result<std::uint64_t>> get_verified(store::TargetStore& target, FragmentName name,
                                         MutableBytes into);

}  // namespace cairn::bench
