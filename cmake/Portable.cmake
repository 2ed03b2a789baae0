# What needs no library of the machine that it runs on: one static program for every Linux of a kind of machine
# (scripts/portable), and the C library of the wheel (scripts/wheel). Two libraries have no archive in Debian 12;
# they are built from its source packages, the other archives are those of the packages that an ordinary
# build uses. Headers and definitions are those of an ordinary build too, so that ccache has what the preset
# `release` compiled. Included before libraries are searched for.
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
set(Protobuf_USE_STATIC_LIBS ON)
enable_language(C)
include(ThirdParty)

add_library(fmt_inside STATIC ${PROJECT_SOURCE_DIR}/cmake/fmt/fmt_library.cc)
target_compile_options(fmt_inside PRIVATE -w)
set_target_properties(fmt_inside PROPERTIES CXX_STANDARD 20)
add_library(fmt::fmt INTERFACE IMPORTED)
target_compile_definitions(fmt::fmt INTERFACE FMT_SHARED)
target_link_libraries(fmt::fmt INTERFACE $<LINK_ONLY:fmt_inside>)
# Graphs are only written here: without its parser cgraph needs neither flex nor bison.
file(CONFIGURE OUTPUT ${MEMTOOL_THIRD_PARTY}/graphviz/made/config.h @ONLY CONTENT "#define HAVE_UNISTD_H 1
#define PACKAGE_VERSION \"2.42.2\"
")
file(CONFIGURE OUTPUT ${MEMTOOL_THIRD_PARTY}/graphviz/made/no_parser.c @ONLY CONTENT "#include <cgraph.h>
Agraph_t* agread(void* file, Agdisc_t* discipline) { return 0; }
void agsetfile(char* name) {}
")
set(cgraph_sources agerror agxbuf apply attr edge flatten graph id imap io mem node obj pend rec refstr subg
    utils write)
list(TRANSFORM cgraph_sources REPLACE "(.+)" "graphviz/lib/cgraph/\\1.c")
third_party(cgraph_inside INCLUDES graphviz/lib/cgraph graphviz/lib/cdt graphviz/lib graphviz/made
  SOURCES ${cgraph_sources} graphviz/lib/cdt/dt*.c graphviz/made/no_parser.c DEFINES HAVE_STRCASECMP)
set(ISAL_LIBRARY ${MEMTOOL_THIRD_PARTY}/isal/bin/isa-l.a)
find_library(yaml_archive yaml-cpp REQUIRED)
add_library(yaml-cpp STATIC IMPORTED)
set_target_properties(yaml-cpp PROPERTIES IMPORTED_LOCATION ${yaml_archive})

# Drawn instead of the host's, of which there may be none: else letters would be boxes.
find_file(MEMTOOL_FONT DejaVuSans.ttf PATHS /usr/share/fonts/truetype/dejavu REQUIRED)
find_file(MEMTOOL_BOLD_FONT DejaVuSans-Bold.ttf PATHS /usr/share/fonts/truetype/dejavu REQUIRED)

# What is linked has no debug information, which would make the build id depend on the folder of the sources.
add_link_options(LINKER:--strip-debug)

# needs_archives(<target> <library> ...)
function(needs_archives target)
  foreach(name IN LISTS ARGN)
    find_library(MEMTOOL_ARCHIVE_${name} ${name} REQUIRED)
    set_property(TARGET ${target} APPEND PROPERTY INTERFACE_LINK_LIBRARIES ${MEMTOOL_ARCHIVE_${name}})
  endforeach()
endfunction()

# memtool_archives(): what the libraries that were found need themselves; pkg-config tells shared libraries' needs only.
function(memtool_archives)
  set_property(TARGET PkgConfig::cgraph PROPERTY INTERFACE_LINK_LIBRARIES $<LINK_ONLY:cgraph_inside>)
  needs_archives(PkgConfig::libdw elf bz2 lzma zstd z)
  needs_archives(PkgConfig::cairo pixman-1 fontconfig freetype png16 expat z uuid brotlidec brotlicommon Xrender Xext X11
    xcb-shm xcb-render xcb Xau Xdmcp)
  set_property(TARGET PkgConfig::sqlite3 APPEND PROPERTY INTERFACE_LINK_LIBRARIES m)
  find_library(MEMTOOL_ARCHIVE_boost boost_program_options REQUIRED)
  foreach(configuration IN ITEMS "" _NONE _RELEASE)
    set_property(TARGET Boost::program_options PROPERTY IMPORTED_LOCATION${configuration} ${MEMTOOL_ARCHIVE_boost})
  endforeach()
endfunction()

# memtool_static(<target>): a program of this kind. The map says which archives are inside (scripts/linked.sh).
function(memtool_static target)
  target_link_options(${target} PRIVATE -static-pie LINKER:-Map=$<TARGET_FILE:${target}>.map)
endfunction()
