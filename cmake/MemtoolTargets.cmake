# One place for warnings, language standard and test registration.
include(MemtoolOptimization)
include(MemtoolUnity)

# memtool_warnings(<target>): what every target of the project is compiled with.
function(memtool_warnings name)
  target_compile_features(${name} PUBLIC cxx_std_20)
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF)
  get_target_property(type ${name} TYPE)
  if(CMAKE_POSITION_INDEPENDENT_CODE AND type STREQUAL "STATIC_LIBRARY" AND NOT MEMTOOL_SHARED)
    # No other library replaces what is in it: calls and inlining as in a program.
    target_compile_options(${name} PRIVATE -fno-semantic-interposition)
  endif()
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                                         -Wold-style-cast -Wno-missing-field-initializers)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Memory of the compiler is not searched for what can be freed: a tenth of its time, a third more memory.
    target_compile_options(${name} PRIVATE "SHELL:--param ggc-min-heapsize=1000000")
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # False alarms inside std::string of GCC 12 (its bug 105651).
    target_compile_options(${name} PRIVATE -Wno-restrict)
  endif()
endfunction()

# memtool_add_library(<name> SOURCES ... LINKS ... [PRIVATE_LINKS ...])
# Public headers live in include/; the only other way into a layer is through its target.
function(memtool_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINKS;PRIVATE_LINKS")
  add_library(${name} STATIC ${arg_SOURCES})
  add_library(memtool::${name} ALIAS ${name})
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/include/*.h)
  target_sources(${name} PUBLIC FILE_SET HEADERS
    BASE_DIRS ${CMAKE_CURRENT_SOURCE_DIR}/include FILES ${headers})
  set_target_properties(${name} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  target_link_libraries(${name} PUBLIC ${arg_LINKS} PRIVATE ${arg_PRIVATE_LINKS})
  memtool_warnings(${name})
  # At the end of the folder's list, when all of its sources are known.
  cmake_language(EVAL CODE "cmake_language(DEFER CALL memtool_optimize_hot ${name})")
  cmake_language(EVAL CODE "cmake_language(DEFER CALL memtool_unity ${name})")
endfunction()

# memtool_add_test(<name> SOURCES ... LINKS ... LABELS ... [SHARDS <n>])
# A binary of test cases runs as <n> tests of ctest, each a part of the cases in one process, which
# writes their results for scripts/count_tests.py. An empty file there: to be written by that test.
function(memtool_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SHARDS" "SOURCES;LINKS;LABELS")
  add_executable(${name} ${arg_SOURCES})
  memtool_warnings(${name})
  target_link_libraries(${name} PRIVATE ${arg_LINKS} GTest::gmock GTest::gtest_main)
  memtool_optimize_hot(${name})
  memtool_unity(${name})
  memtool_link(${name})
  if(NOT arg_SHARDS)
    set(arg_SHARDS 1)
  endif()
  set(results ${PROJECT_BINARY_DIR}/test-cases)
  foreach(shard RANGE 1 ${arg_SHARDS})
    set(test ${name})
    if(arg_SHARDS GREATER 1)
      set(test ${name}.${shard})
    endif()
    math(EXPR index "${shard} - 1")
    file(WRITE ${results}/${test}.xml "")
    add_test(NAME ${test} COMMAND ${name})
    set_tests_properties(${test} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 300 ENVIRONMENT
      "XDG_CONFIG_HOME=/nonexistent;GTEST_TOTAL_SHARDS=${arg_SHARDS};GTEST_SHARD_INDEX=${index};GTEST_OUTPUT=xml:${results}/${test}.xml")
  endforeach()
endfunction()
