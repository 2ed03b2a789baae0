# One program for every Linux of a kind of machine: linked statically, C library included, so that it needs nothing of
# the machine that it runs on (scripts/portable). Three libraries have no archive in Debian 12;
# they are built from its source packages, the other archives are those of the packages that an ordinary
# build uses. Included before libraries are searched for.
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
set(Boost_USE_STATIC_LIBS ON)
set(Protobuf_USE_STATIC_LIBS ON)
enable_language(C)
include(ThirdParty)

third_party(fmt::fmt INCLUDES fmt/include SOURCES fmt/src/format.cc)
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
set(cgraph_VERSION 2.42.2)
third_party(PkgConfig::cgraph INCLUDES graphviz/lib/cgraph graphviz/lib/cdt graphviz/lib graphviz/made
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

# memtool_static(<target>): a program of this kind. pkg-config tells shared libraries' needs only. The map says which
# archives are inside (scripts/linked.sh).
function(memtool_static target)
  target_link_options(${target} PRIVATE -static-pie LINKER:-Map=$<TARGET_FILE:${target}>.map)
  set_property(TARGET PkgConfig::libdw APPEND PROPERTY INTERFACE_LINK_LIBRARIES elf bz2 lzma zstd z)
  set_property(TARGET PkgConfig::cairo APPEND PROPERTY INTERFACE_LINK_LIBRARIES pixman-1 fontconfig freetype png16 expat z uuid brotlidec
    brotlicommon Xrender Xext X11 xcb-shm xcb-render xcb Xau Xdmcp)
  set_property(TARGET PkgConfig::freetype APPEND PROPERTY INTERFACE_LINK_LIBRARIES png16 z brotlidec brotlicommon)
  set_property(TARGET PkgConfig::sqlite3 APPEND PROPERTY INTERFACE_LINK_LIBRARIES m)
endfunction()
