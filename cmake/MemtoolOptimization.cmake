# Where most of the time goes: these sources are optimized as far as the compiler can, each alone. All
# others are compiled so that building is quick, or, in the page's core, so that they are small. A source
# belongs here where a profile (perf) of one of the cases of tests/bench/bench.py says so; docs/speed.md
# has what it brings.
set(MEMTOOL_HOT
  formats/pprof/decoder.cc formats/pprof/pprof_reader.cc formats/pprof/sample_columns.cc
  formats/pprof/stack_interner.cc
  formats/support/byte_cursor.cc formats/support/byte_interner.cc formats/support/byte_window.cc
  formats/support/code_stacks.cc formats/support/known_runs.cc
  formats/support/pickle/pickle_machine.cc formats/support/pickle/value_stack.cc
  formats/torch_snapshot/events.cc formats/torch_snapshot/frames.cc formats/torch_snapshot/state.cc
  libprofile/src/allocator/allocator_state.cc
  libprofile/src/base/key_hash.cc libprofile/src/base/shared_text.cc libprofile/src/base/string_table.cc
  libprofile/src/replay/base_sizes.cc libprofile/src/replay/replay.cc
  libprofile/src/whatif/caching_allocator.cc libprofile/src/whatif/free_set.cc libprofile/src/whatif/player.cc)
# These too, but not in the page, which is sent as a file: it would be 29 KB larger and no answer faster
# by more than 5 %.
set(MEMTOOL_HOT_IN_THE_PROGRAM
  formats/log/word_filter.cc
  formats/mxnet/csv_rows.cc formats/mxnet/rows.cc
  formats/pprof/pprof_writer.cc formats/pprof/resolve.cc
  formats/torch_snapshot/finish.cc formats/torch_snapshot/json_form.cc formats/torch_snapshot/snapshot_builder.cc
  libprofile/src/allocator/request_sizes.cc
  libprofile/src/answers/write.cc
  libprofile/src/model/recording_builder.cc
  libprofile/src/rows/call_graph.cc libprofile/src/rows/diff.cc libprofile/src/rows/flat_cum.cc
  libprofile/src/select/stack_sums.cc libprofile/src/select/view.cc libprofile/src/select/view_frames.cc)
if(NOT EMSCRIPTEN)
  list(APPEND MEMTOOL_HOT ${MEMTOOL_HOT_IN_THE_PROGRAM})
endif()
option(MEMTOOL_OPTIMIZE_HOT "optimize where most of the time goes, build the rest quickly" OFF)
foreach(source IN LISTS MEMTOOL_HOT)
  if(NOT EXISTS ${PROJECT_SOURCE_DIR}/${source})
    message(FATAL_ERROR "MEMTOOL_HOT (cmake/MemtoolOptimization.cmake): there is no ${source}; name what it became")
  endif()
endforeach()

# memtool_optimize_hot(<target>): before memtool_unity(), at the end of the list of the target's folder.
function(memtool_optimize_hot target)
  if(NOT MEMTOOL_OPTIMIZE_HOT)
    return()
  endif()
  set(level -O3)
  if(EMSCRIPTEN)
    set(level -O2)
  elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -O1 -finline-small-functions)
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE path)
    cmake_path(RELATIVE_PATH path BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    if(path IN_LIST MEMTOOL_HOT)
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS ${level} SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
endfunction()
