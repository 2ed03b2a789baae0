# Where most of the time goes: these sources are optimized as far as the compiler can, each alone. All
# others are compiled so that building is quick, or, in the page's core, so that they are small. With
# -O2 for all, a build takes a seventh longer and memtool is up to 5 % slower. A source belongs here
# where a profile (perf) of one of the cases of tests/bench/bench.py says so.
set(MEMTOOL_HOT
  "/mxnet/(csv_rows|rows)"
  "/pprof/(decoder|pprof_reader|pprof_writer|resolve|sample_columns|stack_interner)"
  "/support/(byte_[a-z]*|code_stacks|known_runs)" "/support/pickle/(pickle_machine|value_stack)"
  "/torch_snapshot/(events|finish|frames|json_form|snapshot_builder|state)"
  "/src/allocator/(allocator_state|request_sizes)"
  /src/answers/write
  /src/model/recording_builder
  "/src/base/(key_hash|shared_text|string_table)"
  "/src/replay/(base_sizes|replay)"
  "/src/rows/(call_graph|diff|flat_cum)"
  "/src/select/(stack_sums|view|view_frames)"
  "/src/whatif/(caching_allocator|free_set|player)")
option(MEMTOOL_OPTIMIZE_HOT "optimize where most of the time goes, build the rest quickly" OFF)

# memtool_optimize_hot(<target>): before memtool_unity(), at the end of the list of the target's folder.
function(memtool_optimize_hot target)
  if(NOT MEMTOOL_OPTIMIZE_HOT)
    return()
  endif()
  set(level -O3)
  if(EMSCRIPTEN)
    set(level -O2)  # the page is sent as a file
  elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -O1 -finline-small-functions)
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(hot IN LISTS MEMTOOL_HOT)
    foreach(source IN LISTS sources)
      if("${CMAKE_CURRENT_SOURCE_DIR}/${source}" MATCHES "${hot}\\.cc$")
        set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS ${level} SKIP_UNITY_BUILD_INCLUSION ON)
      endif()
    endforeach()
  endforeach()
endfunction()
