# Which formats are built. A program that needs few of them (one that reads only pprof profiles)
# leaves the others out, and with them what they link:
#
#   cmake -DMEMTOOL_FORMATS="pprof;folded;json_dump" ...
#   cmake -DMEMTOOL_FORMATS="all;-sqlite" ...
#
# What is left out is named in errors and in `memtool help formats`. Tests need all of them.
macro(memtool_format name)
  list(APPEND MEMTOOL_ALL_FORMATS ${name})
  cmake_parse_arguments(format_${name} "" "" "READERS;WRITERS;HEADERS;SOURCES;LINKS" ${ARGN})
endmacro()
if(NOT EMSCRIPTEN)
  set(MEMTOOL_LIBDW PkgConfig::libdw)
endif()
include(${PROJECT_SOURCE_DIR}/formats/formats.cmake)

set(MEMTOOL_FORMATS "all" CACHE STRING "formats to build (formats/formats.cmake); `all;-NAME`: all but NAME")
set(MEMTOOL_FORMATS_LEFT_OUT ${MEMTOOL_ALL_FORMATS})
foreach(format IN LISTS MEMTOOL_FORMATS)
  string(REGEX REPLACE "^-" "" name "${format}")
  if(format STREQUAL "all")
    set(MEMTOOL_FORMATS_LEFT_OUT)
  elseif(NOT name IN_LIST MEMTOOL_ALL_FORMATS)
    list(JOIN MEMTOOL_ALL_FORMATS ", " known)
    message(FATAL_ERROR "MEMTOOL_FORMATS: there is no '${name}'; there are ${known}")
  elseif(name STREQUAL format)
    list(REMOVE_ITEM MEMTOOL_FORMATS_LEFT_OUT ${name})
  else()
    list(APPEND MEMTOOL_FORMATS_LEFT_OUT ${name})
  endif()
endforeach()
# Not the cached list, because an existing build folder would then leave out formats added later.
set(MEMTOOL_FORMATS ${MEMTOOL_ALL_FORMATS})
list(REMOVE_ITEM MEMTOOL_FORMATS ${MEMTOOL_FORMATS_LEFT_OUT})

# The patterns of logs are read as keywords are.
if(oom_text IN_LIST MEMTOOL_FORMATS AND NOT keywords IN_LIST MEMTOOL_FORMATS)
  list(APPEND MEMTOOL_FORMATS keywords)
endif()
if(NOT oom_text IN_LIST MEMTOOL_FORMATS)
  list(REMOVE_ITEM MEMTOOL_FORMATS log_patterns metrics) # parts of it
endif()

# Each library is searched for only where a format needs it.
if(capture_log IN_LIST MEMTOOL_FORMATS AND NOT EMSCRIPTEN)
  pkg_check_modules(libdw REQUIRED IMPORTED_TARGET libdw)
endif()
if(ground_truth IN_LIST MEMTOOL_FORMATS AND NOT TARGET EXPAT::EXPAT)
  find_package(EXPAT REQUIRED)
endif()
if(keywords IN_LIST MEMTOOL_FORMATS AND NOT TARGET yaml-cpp)
  find_package(yaml-cpp REQUIRED)
endif()
if(pprof_writer IN_LIST MEMTOOL_FORMATS)
  find_package(Protobuf REQUIRED)
endif()
if(sqlite IN_LIST MEMTOOL_FORMATS)
  pkg_check_modules(sqlite3 REQUIRED IMPORTED_TARGET sqlite3)
endif()
