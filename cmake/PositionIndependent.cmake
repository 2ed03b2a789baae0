# What keeps Debian's archives out of a shared library: they are compiled for programs, in which variables of a thread
# lie at places that are known when it is linked. Six files have such variables that the wheel needs; they are compiled
# here as a library needs it, from the same sources, and come before the archives, whose members then stay out.
include(ThirdParty)

# members(<name> [INCLUDES ...] [DEFINES ...] SOURCES ...): paths are below the sources.
function(members name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "INCLUDES;DEFINES;SOURCES")
  list(TRANSFORM arg_INCLUDES PREPEND ${MEMTOOL_THIRD_PARTY}/)
  list(TRANSFORM arg_SOURCES PREPEND ${MEMTOOL_THIRD_PARTY}/)
  add_library(members_${name} OBJECT EXCLUDE_FROM_ALL ${arg_SOURCES})
  target_include_directories(members_${name} SYSTEM PRIVATE ${arg_INCLUDES})
  target_compile_definitions(members_${name} PRIVATE ${arg_DEFINES})
  target_compile_options(members_${name} PRIVATE -w)
  set_target_properties(members_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_STANDARD 17)
  target_link_libraries(memtool_members INTERFACE members_${name} $<TARGET_OBJECTS:members_${name}>)
endfunction()

add_library(memtool_members INTERFACE)
# As Debian's configure finds it, as far as these files ask.
file(CONFIGURE OUTPUT ${MEMTOOL_THIRD_PARTY}/elfutils/made/config.h @ONLY CONTENT "#define HAVE_ERR_H 1
#define HAVE_DECL_MEMPCPY 1
#define HAVE_DECL_MEMRCHR 1
#define HAVE_DECL_POWEROF2 1
#define HAVE_DECL_RAWMEMCHR 1
#define HAVE_DECL_REALLOCARRAY 1
#define HAVE_GCC_STRUCT 1
#define HAVE_VISIBILITY 1
#define PACKAGE_NAME \"elfutils\"
#define STRERROR_R_CHAR_P 1
#include <eu-config.h>
")
file(CONFIGURE OUTPUT ${MEMTOOL_THIRD_PARTY}/pixman/made/config.h @ONLY CONTENT "#define PACKAGE \"pixman\"
#define TLS __thread
")
members(elfutils DEFINES HAVE_CONFIG_H _GNU_SOURCE
  INCLUDES elfutils/made elfutils/lib elfutils/libelf elfutils/libdw elfutils/libdwfl elfutils/libebl elfutils/libdwelf
  SOURCES elfutils/libdw/dwarf_error.c elfutils/libdw/libdw_alloc.c elfutils/libdwfl/dwfl_error.c elfutils/libelf/elf_error.c)
members(pixman DEFINES HAVE_CONFIG_H INCLUDES pixman/made pixman/pixman SOURCES pixman/pixman/pixman-implementation.c)
members(protobuf INCLUDES protobuf/src SOURCES protobuf/src/google/protobuf/arena.cc)
members(re2 INCLUDES re2 SOURCES re2/re2/re2.cc)
