# Packages from the distribution (docs: DESIGN of dependencies in ARCHITECTURE.md).  pkg-config
# variables carry a prefix: one named `zstd` breaks RocksDB's own finder at the second configure.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

find_package(Boost 1.81 CONFIG REQUIRED)
find_package(spdlog CONFIG REQUIRED)
pkg_check_modules(pc_uring REQUIRED IMPORTED_TARGET liburing)
pkg_check_modules(pc_isal REQUIRED IMPORTED_TARGET libisal)
pkg_check_modules(pc_zstd REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(pc_protobuf REQUIRED IMPORTED_TARGET protobuf-lite)
pkg_check_modules(pc_crypto REQUIRED IMPORTED_TARGET libcrypto)
find_program(CAIRN_PROTOC protoc REQUIRED)
pkg_check_modules(pc_rocksdb REQUIRED IMPORTED_TARGET rocksdb)
pkg_check_modules(pc_cli11 REQUIRED IMPORTED_TARGET CLI11)
pkg_check_modules(pc_json REQUIRED IMPORTED_TARGET nlohmann_json)
find_package(benchmark CONFIG REQUIRED)
if(CAIRN_TESTS)
  find_package(GTest REQUIRED)
endif()

# Only the coroutine subset of Asio is used; its deprecated parts stay out of overload sets.
add_library(cairn_asio INTERFACE)
target_link_libraries(cairn_asio INTERFACE Boost::headers Threads::Threads)
target_compile_definitions(cairn_asio INTERFACE BOOST_ASIO_NO_DEPRECATED)
