// A RocksDB store in a folder of its own, and coroutines run to their ends on a real executor.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/check.h"
#include "engine/env/key_value.h"
#include "engine/platform/kv/rocksdb_stores.h"

namespace cairn {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = std::filesystem::temp_directory_path() / "cairn-kv-XXXXXX";
    CAIRN_CHECK(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class KvWorld {
 public:
  Result<std::unique_ptr<env::KeyValue>> open(env::KeyValueOpen mode,
                                              const std::vector<std::string>& families = {"one",
                                                                                          "two"}) {
    return stores->open(path, families, mode);
  }
  /// Must succeed.
  std::unique_ptr<env::KeyValue> opened(env::KeyValueOpen mode) {
    auto store = open(mode);
    if (!store) ADD_FAILURE() << store.error().to_string();
    CAIRN_CHECK(store.has_value());
    return *std::move(store);
  }
  Status run(Task<Status> task) {
    std::optional<Status> out;
    auto finished = [&out](std::exception_ptr error, Status status) {
      CAIRN_CHECK(!error);
      out.emplace(std::move(status));
    };
    boost::asio::co_spawn(context, std::move(task), finished);
    context.restart();
    context.run();
    return *std::move(out);
  }

  TemporaryFolder folder;
  std::string path = folder.path() + "/store";
  boost::asio::io_context context;
  std::unique_ptr<env::KeyValueStores> stores =
      platform::make_rocksdb_stores(platform::LogDamage::kRefuse);
};

inline Status put(env::KeyValue& store, const std::string& key, const std::string& value) {
  env::WriteBatch batch;
  batch.put(0, key, value);
  return store.write(batch);
}

}  // namespace cairn
