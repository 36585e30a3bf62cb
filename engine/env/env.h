// Everything the outside world is to a component.  Passed by reference at construction; production
// makes it in engine/platform, the simulator in tests/sim.
#pragma once

#include "engine/env/clock.h"
#include "engine/env/device.h"
#include "engine/env/files.h"
#include "engine/env/key_value.h"
#include "engine/env/random.h"
#include "engine/env/task.h"

namespace cairn::env {

/// The referents outlive every component made with them.
struct Env {
  Executor executor;
  Clock& clock;
  Random& random;
  Files& files;
  BlockDevice& device;
  KeyValueStores& key_values;
};

}  // namespace cairn::env
