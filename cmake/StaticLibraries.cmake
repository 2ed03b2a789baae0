# Libraries inside the program: it starts in a third of the time, most of which the loader spends on opening
# shared ones and on binding what libstdc++, protobuf and their like look up by name. Others are opened when they
# are needed (base/late_library.h), or stay shared. Either all of the first have an archive or nothing is done:
# one shared C++ library would bring a second libstdc++ along. Included once all libraries have been found.
set(MEMTOOL_HAS_ARCHIVES OFF)
foreach(name protobuf-lite re2 yaml-cpp boost_program_options zstd xxhash)
  find_library(MEMTOOL_ARCHIVE_${name} lib${name}.a)
  if(NOT MEMTOOL_ARCHIVE_${name})
    message(STATUS "libraries stay shared: lib${name} has no archive here")
    return()
  endif()
endforeach()
# fmt has none in Debian; fmt_library.cc is made for this version of its headers.
if(fmt_VERSION VERSION_LESS 9 OR fmt_VERSION VERSION_GREATER_EQUAL 10 OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  message(STATUS "libraries stay shared: this is not fmt 9 and GCC")
  return()
endif()
set(MEMTOOL_HAS_ARCHIVES ON)

function(use_archive target name)
  if(NOT TARGET ${target})
    return()  # no format that is built needs it
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    set_property(TARGET ${target} PROPERTY INTERFACE_LINK_LIBRARIES ${MEMTOOL_ARCHIVE_${name}} Threads::Threads)
    return()
  endif()
  set_property(TARGET ${target} PROPERTY IMPORTED_LOCATION ${MEMTOOL_ARCHIVE_${name}})
  get_target_property(configurations ${target} IMPORTED_CONFIGURATIONS)
  foreach(configuration IN LISTS configurations)
    set_property(TARGET ${target} PROPERTY IMPORTED_LOCATION_${configuration} ${MEMTOOL_ARCHIVE_${name}})
  endforeach()
endfunction()
use_archive(protobuf::libprotobuf-lite protobuf-lite)
use_archive(PkgConfig::re2 re2)
use_archive(yaml-cpp yaml-cpp)
use_archive(Boost::program_options boost_program_options)
use_archive(PkgConfig::zstd zstd)
use_archive(PkgConfig::xxhash xxhash)

foreach(late PkgConfig::cairo PkgConfig::cgraph PkgConfig::libdw PkgConfig::sqlite3)
  if(TARGET ${late})
    set_property(TARGET ${late} PROPERTY INTERFACE_LINK_LIBRARIES ${CMAKE_DL_LIBS})
  endif()
endforeach()

# memtool_static_libraries(<target>): a program with fmt and libstdc++ inside too.
function(memtool_static_libraries target)
  target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/fmt/fmt_library.cc)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/cmake/fmt/fmt_library.cc TARGET_DIRECTORY ${target} PROPERTIES
    COMPILE_OPTIONS -w SKIP_UNITY_BUILD_INCLUSION ON)
  # fmt's own library is then needed by nothing, and left out. libgcc_s stays shared: glibc's own functions unwind
  # with it (an exception that passes pthread_once, as RE2's may), and a second unwinder beside it aborts.
  # The map says which archives are inside (scripts/linked.sh).
  target_link_options(${target} PRIVATE -static-libstdc++ -shared-libgcc LINKER:--as-needed
    LINKER:-Map=$<TARGET_FILE:${target}>.map)
endfunction()
