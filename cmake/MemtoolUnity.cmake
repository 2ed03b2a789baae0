# Compiling several sources as one: half the time of a build is spent on the same headers and the
# same templates, again for every file. The preset `dev` compiles each file alone, as clang-tidy
# does, so that a missing include is found; most others set MEMTOOL_UNITY.
#
# Sources of a folder are compiled as one unit: names in their unnamed namespaces are unique within a
# folder. Small folders share the unit of the folder above, where the same holds. The compiler tells
# ("redefinition", "ambiguous"); a helper that two sources want belongs in a header of the folder. A
# source that changes what later headers mean (a macro that a library looks for) has
# SKIP_UNITY_BUILD_INCLUSION.
set(MEMTOOL_UNITY_FILES 16 CACHE STRING "At most so many sources in a unit")
set(MEMTOOL_UNITY_SMALL 4 CACHE STRING "Folders with at most so many sources share the unit of the folder above")

# memtool_unity(<target>): one unit per folder of its sources, more where the folder is large.
function(memtool_unity target)
  if(NOT MEMTOOL_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP
    UNITY_BUILD_CODE_BEFORE_INCLUDE "// NOLINTNEXTLINE(bugprone-suspicious-include): that is the idea")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # In a unit the compiler mistakes a source's own types for those of a header, and what a later
    # header declares in a class for a shadow of an earlier source's own name. clang-tidy looks for
    # real shadows.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage -Wno-shadow)
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cc$")
  set(folders "")
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
    get_source_file_property(alone ${source} SKIP_UNITY_BUILD_INCLUSION)
    if(NOT alone)
      cmake_path(GET source PARENT_PATH folder)
      list(APPEND folders ${folder})
      list(APPEND in_${folder} ${source})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES folders)
  list(SORT folders ORDER DESCENDING)  # a folder after those in it
  while(folders)
    list(POP_FRONT folders folder)
    list(LENGTH in_${folder} count)
    if(count LESS_EQUAL MEMTOOL_UNITY_SMALL AND NOT folder STREQUAL CMAKE_CURRENT_SOURCE_DIR)
      cmake_path(GET folder PARENT_PATH above)
      list(APPEND in_${above} ${in_${folder}})
      list(APPEND folders ${above})
      list(REMOVE_DUPLICATES folders)
      list(SORT folders ORDER DESCENDING)
      continue()
    endif()
    # Parts of equal size, not a full one and a rest.
    math(EXPR parts "(${count} + ${MEMTOOL_UNITY_FILES} - 1) / ${MEMTOOL_UNITY_FILES}")
    # Named by the folder: a build with other folders shares what was compiled (ccache).
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE name)
    string(MAKE_C_IDENTIFIER "${target}_${name}" name)
    set(at 0)
    foreach(source IN LISTS in_${folder})
      math(EXPR part "1 + ${at} * ${parts} / ${count}")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${name}_${part})
      math(EXPR at "${at} + 1")
    endforeach()
  endwhile()
endfunction()

# memtool_late_sources(<source> ...): those that open a library when it is needed, where it is not inside
# (StaticLibraries.cmake). They are compiled alone: all others are the same in every build.
function(memtool_late_sources)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON
    COMPILE_DEFINITIONS "$<$<BOOL:${MEMTOOL_HAS_ARCHIVES}>:MEMTOOL_LIBRARIES_LATE>")
endfunction()
