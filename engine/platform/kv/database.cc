#include "engine/platform/kv/database.h"

#include <algorithm>
#include <filesystem>

#include "engine/platform/kv/options.h"

namespace cairn::platform {
namespace {

bool says(const rocksdb::Status& status, const char* text) {
  return status.ToString().find(text) != std::string::npos;
}

}  // namespace

/// RocksDB keeps the errno of some failures in their text only; strerror's words are stable.
Status to_status(const rocksdb::Status& status, std::string_view what) {
  if (status.ok()) return {};
  std::string message = std::string(what) + ": " + status.ToString();
  if (status.IsNoSpace()) return {Code::kNoSpace, std::move(message)};
  // A file that the store itself names and that is gone is damage, not absence.
  if (status.IsCorruption() || status.IsPathNotFound()) {
    return {Code::kCorrupt, std::move(message) +
                                "; if this is a target's index, stop the target and run `cairn "
                                "target rebuild-index`"};
  }
  if (status.IsInvalidArgument() || status.IsNotSupported()) {
    return {Code::kInvalid, std::move(message)};
  }
  if (status.IsIOError() &&
      (says(status, "lock hold by current process") || says(status, "While lock file"))) {
    return {Code::kUnavailable, Reason::kLocked,
            std::move(message) + "; stop the process that has it open"};
  }
  if (status.IsIOError() && says(status, "Too many open files")) {
    return {Code::kUnavailable, Reason::kNoDescriptors,
            std::move(message) + "; raise the limit of open files (ulimit -n)"};
  }
  if (status.IsBusy() || status.IsTryAgain()) return {Code::kUnavailable, std::move(message)};
  return {Code::kIo, std::move(message)};
}

Database::~Database() {
  for (rocksdb::ColumnFamilyHandle* family : families_) {
    db_->DestroyColumnFamilyHandle(family).PermitUncheckedError();
  }
  db_->Close().PermitUncheckedError();  // what had to last was synced
}

Result<bool> holds_store(const std::string& path) {
  std::error_code error;
  const bool present = std::filesystem::exists(path + "/CURRENT", error);
  if (error) return fail(status_from_errno(error.value(), "look for a store in " + path));
  return present;
}

namespace {

/// Ours in their order, then those that another version left: RocksDB wants all of them opened.
Result<std::vector<rocksdb::ColumnFamilyDescriptor>> describe_families(
    const std::string& path, const std::vector<std::string>& families, bool present) {
  std::vector<std::string> names = families;
  if (present) {
    std::vector<std::string> found;
    const rocksdb::Status listed =
        rocksdb::DB::ListColumnFamilies(database_options(LogDamage::kRefuse), path, &found);
    TRY_VOID(to_status(listed, "open " + path));
    names.insert(names.end(), found.begin(), found.end());
  } else {
    names.push_back(rocksdb::kDefaultColumnFamilyName);  // RocksDB insists on it
  }
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  for (const std::string& name : names) {
    const auto same = [&](const auto& other) { return other.name == name; };
    if (std::ranges::any_of(descriptors, same)) continue;
    descriptors.emplace_back(name, family_options());
  }
  return descriptors;
}

}  // namespace

Result<std::shared_ptr<Database>> Database::open(const std::string& path,
                                                 const std::vector<std::string>& families,
                                                 env::KeyValueOpen mode, LogDamage damage) {
  TRY(const bool present, holds_store(path));
  const bool creates = mode == env::KeyValueOpen::kCreate;
  if (present && creates) return fail(Code::kExists, path + " holds a store already");
  if (!present && !creates) return fail(Code::kNotFound, path + " holds no store");
  TRY(const auto descriptors, describe_families(path, families, present));

  rocksdb::DBOptions options = database_options(damage);
  options.create_if_missing = creates;
  options.error_if_exists = creates;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  const bool read_only = mode == env::KeyValueOpen::kReadOnly;
  const rocksdb::Status opened =
      read_only ? rocksdb::DB::OpenForReadOnly(options, path, descriptors, &handles, &db)
                : rocksdb::DB::Open(options, path, descriptors, &handles, &db);
  TRY_VOID(to_status(opened, "open " + path));
  return std::make_shared<Database>(std::unique_ptr<rocksdb::DB>(db), std::move(handles));
}

}  // namespace cairn::platform
