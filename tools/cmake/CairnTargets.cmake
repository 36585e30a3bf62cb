# The three kinds of target.  A library's DEPS are the layers it may include; tests/tree checks
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
