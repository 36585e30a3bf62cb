# Compiler settings that hold for the whole tree.

option(CAIRN_TESTS "Build the tests" ON)
option(CAIRN_MUST_CHECK "Abort when a Status dies unread" OFF)
option(CAIRN_COVERAGE "Compile with gcov counters" OFF)
set(CAIRN_SANITIZE "" CACHE STRING "address | thread | fuzz")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1")  # no NDEBUG: checks stay on in release

# A clone at another path must still hit the cache, hence the relative base directory.
find_program(CAIRN_CCACHE ccache)
if(CAIRN_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      "env;CCACHE_BASEDIR=${CMAKE_SOURCE_DIR};CCACHE_NOHASHDIR=1;${CAIRN_CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER "${CMAKE_CXX_COMPILER_LAUNCHER}")
endif()

add_library(cairn_flags INTERFACE)
target_include_directories(cairn_flags INTERFACE "${CMAKE_SOURCE_DIR}")
target_compile_options(cairn_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wold-style-cast
  -Woverloaded-virtual -Wimplicit-fallthrough
  -Wno-mismatched-new-delete  # false alarm on the frames of coroutines (GCC 12)
  -Werror=return-type -Werror=unused-result>)
if(CAIRN_MUST_CHECK)
  target_compile_definitions(cairn_flags INTERFACE CAIRN_MUST_CHECK=1)
endif()

if(CAIRN_SANITIZE STREQUAL "address")
  # null and alignment are off: they cost most of the compile time on coroutine files.  vptr looks at
  # memory through a pipe, and cries wolf in the tests that run out of descriptors.
  set(cairn_san -O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined
      -fno-sanitize=null,alignment,vptr -fno-sanitize-recover=all)
elseif(CAIRN_SANITIZE STREQUAL "thread")
  set(cairn_san -O1 -g1 -fno-omit-frame-pointer -fsanitize=thread -Wno-tsan)
elseif(CAIRN_SANITIZE STREQUAL "fuzz")
  set(cairn_san -O1 -g1 -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined
      -fno-sanitize-recover=all)
elseif(NOT CAIRN_SANITIZE STREQUAL "")
  message(FATAL_ERROR "CAIRN_SANITIZE is '${CAIRN_SANITIZE}'; it takes address, thread or fuzz")
endif()
if(cairn_san)
  target_compile_options(cairn_flags INTERFACE ${cairn_san})
  target_link_options(cairn_flags INTERFACE ${cairn_san})
endif()
if(CAIRN_COVERAGE)
  target_compile_options(cairn_flags INTERFACE -O0 --coverage)
  target_link_options(cairn_flags INTERFACE --coverage)
endif()
