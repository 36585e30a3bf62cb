// The network, injected: byte streams between named endpoints.  Framing, credits and meaning live
// in wire and net; the simulation of this interface comes with them.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "engine/base/bytes.h"
#include "engine/base/status.h"
#include "engine/env/clock.h"
#include "engine/env/task.h"

namespace cairn::env {

/// One connected byte stream.  At most one read and one write at a time.
class Connection {
 public:
  virtual ~Connection() = default;
  /// At least one byte, or an error; 0 is the peer's orderly end.
  virtual Task<Result<std::size_t>> read_some(std::span<const MutableBytes> into) = 0;
  virtual Task<Result<std::size_t>> write_some(std::span<const Bytes> from) = 0;
  /// Reads and writes in progress end with kCancelled.
  virtual void close() = 0;
  virtual std::string peer() const = 0;
};

class Listener {
 public:
  virtual ~Listener() = default;
  virtual Task<Result<std::unique_ptr<Connection>>> accept() = 0;
  virtual std::string address() const = 0;
  virtual void close() = 0;
};

class Network {
 public:
  virtual ~Network() = default;
  /// `address` is "host:port".  kTimeout after `deadline`, kUnavailable when refused.
  virtual Task<Result<std::unique_ptr<Connection>>> connect(std::string address,
                                                            MonotonicTime deadline) = 0;
  virtual Result<std::unique_ptr<Listener>> listen(const std::string& address) = 0;
};

}  // namespace cairn::env
