# Which formats are built. A program that needs few of them (one that reads only pprof profiles)
# leaves the others out, and with them what they link:
#
#   cmake -DMEMTOOL_FORMATS="pprof;folded;json_dump" ...
#
# What is left out is named in errors and in `memtool help formats`. Tests need all of them.
set(MEMTOOL_ALL_FORMATS pprof pprof_writer torch_snapshot mxnet capture_log kineto hlo torch_timeline xplane
    oom_text ground_truth keywords folded json_dump timeline_writers sqlite
    memtool_file memtool_file_writer)
set(MEMTOOL_FORMATS "all" CACHE STRING "formats and other components of formats/ to build")
# The list itself is not cached, because an existing build folder would then leave out formats added
# later.
if(MEMTOOL_FORMATS STREQUAL "all")
  set(MEMTOOL_FORMATS ${MEMTOOL_ALL_FORMATS})
endif()
foreach(format IN LISTS MEMTOOL_FORMATS)
  if(NOT format IN_LIST MEMTOOL_ALL_FORMATS)
    list(JOIN MEMTOOL_ALL_FORMATS ", " known)
    message(FATAL_ERROR "MEMTOOL_FORMATS: there is no '${format}'; there are ${known}")
  endif()
endforeach()
set(MEMTOOL_FORMATS_LEFT_OUT ${MEMTOOL_ALL_FORMATS})
list(REMOVE_ITEM MEMTOOL_FORMATS_LEFT_OUT ${MEMTOOL_FORMATS})

# Each library is searched for only where a format needs it. MEMTOOL_FORMATS_LINKS: all that were.
set(MEMTOOL_FORMATS_LINKS)
if(capture_log IN_LIST MEMTOOL_FORMATS AND NOT EMSCRIPTEN)
  pkg_check_modules(libdw REQUIRED IMPORTED_TARGET libdw)
  list(APPEND MEMTOOL_FORMATS_LINKS PkgConfig::libdw)
endif()
if(ground_truth IN_LIST MEMTOOL_FORMATS)
  if(NOT TARGET EXPAT::EXPAT)
    find_package(EXPAT REQUIRED)
  endif()
  list(APPEND MEMTOOL_FORMATS_LINKS EXPAT::EXPAT)
endif()
if(keywords IN_LIST MEMTOOL_FORMATS)
  if(NOT TARGET yaml-cpp)
    find_package(yaml-cpp REQUIRED)
  endif()
  list(APPEND MEMTOOL_FORMATS_LINKS yaml-cpp)
endif()
if(pprof_writer IN_LIST MEMTOOL_FORMATS)
  find_package(Protobuf REQUIRED)
  list(APPEND MEMTOOL_FORMATS_LINKS protobuf::libprotobuf-lite)
endif()
if(sqlite IN_LIST MEMTOOL_FORMATS)
  pkg_check_modules(sqlite3 REQUIRED IMPORTED_TARGET sqlite3)
  list(APPEND MEMTOOL_FORMATS_LINKS PkgConfig::sqlite3)
endif()

# memtool_format(<name> SOURCES ... [LINKS ...] [READERS ...] [WRITERS ...]): one component of the library
# `formats`, with the names of its readers and writers.
function(memtool_format name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINKS;READERS;WRITERS")
  if(name IN_LIST MEMTOOL_FORMATS)
    string(TOUPPER ${name} upper)
    target_sources(formats PRIVATE ${arg_SOURCES})
    target_link_libraries(formats PRIVATE ${arg_LINKS})
    target_compile_definitions(formats PRIVATE MEMTOOL_HAVE_${upper})
  else()
    set_property(GLOBAL APPEND PROPERTY MEMTOOL_READERS_LEFT_OUT ${arg_READERS})
    set_property(GLOBAL APPEND PROPERTY MEMTOOL_WRITERS_LEFT_OUT ${arg_WRITERS})
  endif()
endfunction()
