// Randomness for names that must be unique and unguessable, injected so that a simulation repeats.
#pragma once

#include "engine/base/bytes.h"
#include "engine/base/ids.h"

namespace cairn::env {

class Random {
 public:
  virtual ~Random() = default;
  virtual void fill(MutableBytes out) = 0;

  Uuid uuid() {
    Uuid out;
    fill(std::as_writable_bytes(std::span(out.bytes)));
    return out;
  }
};

}  // namespace cairn::env
