# Compiling several sources as one: half the time of a build is spent on the same headers and the
# same templates, again for every file. The presets `release` and `asan` do it (MEMTOOL_UNITY);
# `dev` compiles each file alone, as clang-tidy does, so that a missing include is found.
#
# Sources share a unit only where that cannot change what they mean: no name from a file's unnamed
# namespace occurs in another file of the unit, nor in a header of the project that this one sees.
# So the same local name may be used in any number of files, and nobody has to think of units. The
# remaining case, two namespaces with the same name, does not compile: there
# SKIP_UNITY_BUILD_INCLUSION helps.
set(MEMTOOL_UNITY_FILES 16 CACHE STRING "At most so many sources in a unit")
set(memtool_headers libprofile formats commands capture tests)
list(TRANSFORM memtool_headers REPLACE ".+" "${PROJECT_SOURCE_DIR}/\\0/*.h")
file(GLOB_RECURSE memtool_headers CONFIGURE_DEPENDS ${memtool_headers})

# memtool_read(<text> <includes> <file>): its text without strings and comments, and without what
# has a meaning in CMake's lists; and the headers of the project that it includes.
function(memtool_read text_out includes_out file)
  file(READ ${file} text)
  string(PREPEND text "\n")  # so that the first line is like the others
  string(REGEX MATCHALL "\n#include \"[^\"\n]+" includes "${text}")
  list(TRANSFORM includes REPLACE "\n#include \"(\\.\\./)*" "")
  string(REGEX REPLACE "\\\\." "" text "${text}")
  string(REGEX REPLACE "[][;\\]" "=" text "${text}")
  string(REGEX REPLACE "'\"'|\"[^\"\n]*\"" "" text "${text}")
  string(REPLACE "\n}  // namespace\n" "\n} unnamed\n" text "${text}")
  string(REGEX REPLACE "//[^\n]*" "" text "${text}")
  set(${text_out} "${text}" PARENT_SCOPE)
  set(${includes_out} "${includes}" PARENT_SCOPE)
endfunction()

# memtool_words(<words> <text> <includes>): every name that is looked up unqualified, here and in
# the headers; what follows an object or a scope does not count.
function(memtool_words out text includes)
  string(REGEX REPLACE "(\\.|->|::)[A-Za-z_0-9]+" "" text "${text}")
  string(REGEX MATCHALL "[A-Za-z_][A-Za-z_0-9]*" words "${text}")
  foreach(include IN LISTS includes)
    memtool_words_of_header(${include})
    get_property(seen GLOBAL PROPERTY memtool_words_of_${include})
    list(APPEND words ${seen})
  endforeach()
  list(REMOVE_DUPLICATES words)
  set(${out} "${words}" PARENT_SCOPE)
endfunction()

# memtool_words_of_header(<include>): into the property memtool_words_of_<include>, once. Names of a
# class's members do not count.
function(memtool_words_of_header include)
  get_property(known GLOBAL PROPERTY memtool_words_of_${include} DEFINED)
  if(known)
    return()
  endif()
  define_property(GLOBAL PROPERTY memtool_words_of_${include})
  set(files ${memtool_headers})
  list(FILTER files INCLUDE REGEX "/${include}$")
  set(all "")
  foreach(file IN LISTS files)
    memtool_read(text includes ${file})
    string(REPLACE "return " "return=" text "${text}")
    # Enumerators of a scoped enumeration are looked up in it.
    string(REGEX REPLACE "enum class ([A-Za-z_0-9]+)[^{};=]*{[^}]*}" "enum class \\1 {}" text "${text}")
    string(REGEX REPLACE "(\n +[A-Za-z][^\n={}()]*[ &*])[A-Za-z_0-9]+\\(" "\\1(" text "${text}")
    memtool_words(words "${text}" "${includes}")
    list(APPEND all ${words})
  endforeach()
  set_property(GLOBAL PROPERTY memtool_words_of_${include} ${all})
endfunction()

# memtool_local_names(<names> <text>): what unnamed namespaces declare, found at the beginning of
# lines, where clang-format puts it. Better a name too many than one too few.
function(memtool_local_names out text)
  set(locals "")
  while(TRUE)
    string(FIND "${text}" "\nnamespace {\n" begin)
    if(begin EQUAL -1)
      break()
    endif()
    math(EXPR begin "${begin} + 12")
    string(SUBSTRING "${text}" ${begin} -1 text)
    string(FIND "${text}" "\n} unnamed\n" end)
    string(SUBSTRING "${text}" 0 ${end} local)
    string(APPEND locals "${local}")
  endwhile()
  string(REGEX MATCHALL "\n[A-Za-z_][^\n(){}=]*[ *&][A-Za-z_0-9]+ ?[(={]" names "${locals}")
  string(REGEX MATCHALL "\n[A-Za-z_0-9]*[a-z][A-Za-z_0-9]*\\(" wrapped "${locals}")
  string(REGEX MATCHALL "\n(class|struct|union|enum class|enum) [A-Za-z_0-9]+" types "${locals}")
  list(FILTER names EXCLUDE REGEX "^\n(class|struct|union|enum) ")  # may end with a base's name
  list(APPEND names ${wrapped} ${types})
  list(TRANSFORM names REPLACE " ?[(={]$" "")
  list(TRANSFORM names REPLACE "^.*[^A-Za-z_0-9]" "")
  list(REMOVE_ITEM names static_assert)
  list(REMOVE_DUPLICATES names)
  set(${out} "${names}" PARENT_SCOPE)
endfunction()

# memtool_disjoint(<result> <list> <list>)
function(memtool_disjoint out one other)
  list(LENGTH one before)
  if(one AND other)
    list(REMOVE_ITEM one ${other})
  endif()
  list(LENGTH one after)
  set(${out} FALSE PARENT_SCOPE)
  if(before EQUAL after)
    set(${out} TRUE PARENT_SCOPE)
  endif()
endfunction()

# memtool_unity(<target>): puts each of its sources into the first unit with room that it can share.
# A source that affects the headers after it, by a macro or a using directive, stays alone.
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
  list(TRANSFORM sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  # Changed names can mean other units.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sources} ${memtool_headers})
  set(units 0)
  foreach(source IN LISTS sources)
    memtool_read(text includes ${source})
    if(text MATCHES "\n(#define|using namespace|static) ")
      continue()
    endif()
    memtool_local_names(names "${text}")
    memtool_words(words "${text}" "${includes}")
    set(unit 0)
    while(unit LESS units)
      if(count_${unit} LESS MEMTOOL_UNITY_FILES)
        memtool_disjoint(free "${names}" "${words_${unit}}")
        memtool_disjoint(untouched "${names_${unit}}" "${words}")
        if(free AND untouched)
          break()
        endif()
      endif()
      math(EXPR unit "${unit} + 1")
    endwhile()
    if(unit EQUAL units)
      math(EXPR units "${units} + 1")
      set(count_${unit} 0)
    endif()
    math(EXPR count_${unit} "${count_${unit}} + 1")
    list(APPEND names_${unit} ${names})
    list(APPEND words_${unit} ${words})
    list(REMOVE_DUPLICATES words_${unit})
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${unit})
  endforeach()
  message(VERBOSE "${target}: ${units} units")
endfunction()
