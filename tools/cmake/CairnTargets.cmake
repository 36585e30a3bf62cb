# The kinds of target.  A library's DEPS are the layers it may include; tests/tree checks
# the includes against the same table.

function(cairn_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  if(arg_SOURCES)
    add_library(${name} STATIC ${arg_SOURCES})
    target_link_libraries(${name} PUBLIC cairn_flags ${arg_DEPS} PRIVATE ${arg_PRIVATE_DEPS})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE cairn_flags ${arg_DEPS})
  endif()
endfunction()

# Compiles messages into a library: NAME.pb.h is included by its path in the tree.  Generated code is
# not held to our warnings.
function(cairn_messages name)
  cmake_parse_arguments(arg "" "" "SOURCES" ${ARGN})
  foreach(proto IN LISTS arg_SOURCES)
    get_filename_component(stem ${proto} NAME_WE)
    set(out "${CMAKE_CURRENT_BINARY_DIR}/${stem}.pb")
    add_custom_command(
      OUTPUT ${out}.cc ${out}.h
      COMMAND ${CAIRN_PROTOC} --proto_path=${CMAKE_SOURCE_DIR} --cpp_out=${CMAKE_BINARY_DIR}
              ${CMAKE_CURRENT_SOURCE_DIR}/${proto}
      DEPENDS ${proto})
    list(APPEND generated ${out}.cc)
  endforeach()
  add_library(${name} STATIC ${generated})
  target_include_directories(${name} SYSTEM PUBLIC ${CMAKE_BINARY_DIR})
  target_link_libraries(${name} PUBLIC PkgConfig::pc_protobuf)
  if(cairn_san)
    target_compile_options(${name} PRIVATE ${cairn_san})
  endif()
endfunction()

function(cairn_executable name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE cairn_flags ${arg_DEPS})
endfunction()

# One test program.  LABEL is unit, sim, crash, mount or python; TIMEOUT is in seconds.
function(cairn_test name)
  cmake_parse_arguments(arg "" "LABEL;TIMEOUT" "SOURCES;DEPS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  cairn_executable(${name} SOURCES ${arg_SOURCES} DEPS ${arg_DEPS} GTest::gtest GTest::gmock
                   GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABEL}" TIMEOUT ${arg_TIMEOUT})
  add_dependencies(${arg_LABEL}_tests ${name})
endfunction()

# What one label needs, for builds that run no other (tools/test --label).
foreach(label IN ITEMS unit sim crash mount python)
  add_custom_target(${label}_tests)
endforeach()
