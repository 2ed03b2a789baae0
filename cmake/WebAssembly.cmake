# The core for the page, compiled with Emscripten: the distribution has no libraries for that, so
# they are built from its source packages, which scripts/page unpacks into MEMTOOL_THIRD_PARTY.
# Defines the targets that find_package and pkg_check_modules define elsewhere.
include(ThirdParty)
enable_language(C)
third_party(fmt::fmt DEFINES FMT_HEADER_ONLY)
third_party(tl::expected)
third_party(Threads::Threads)
third_party(Boost::program_options UNITY INCLUDES boost/libs/program_options/src
  SOURCES boost/libs/program_options/src/cmdline.cpp boost/libs/program_options/src/convert.cpp
    boost/libs/program_options/src/options_description.cpp boost/libs/program_options/src/parsers.cpp
    boost/libs/program_options/src/positional_options.cpp boost/libs/program_options/src/split.cpp
    boost/libs/program_options/src/utf8_codecvt_facet.cpp boost/libs/program_options/src/value_semantic.cpp
    boost/libs/program_options/src/variables_map.cpp boost/libs/program_options/src/config_file.cpp
  DEFINES BOOST_NO_AUTO_PTR)
third_party(ZLIB::ZLIB INCLUDES zlib SOURCES zlib/adler32.c zlib/crc32.c zlib/inf*.c zlib/zutil.c zlib/deflate.c
  zlib/trees.c zlib/compress.c DEFINES Z_HAVE_UNISTD_H)
# The smallest of its decoders, which all read the same.
third_party(PkgConfig::zstd INCLUDES zstd/lib SOURCES zstd/lib/common/*.c zstd/lib/decompress/*.c
  DEFINES ZSTD_DISABLE_ASM ZSTD_NO_INLINE HUF_FORCE_DECOMPRESS_X1 ZSTD_FORCE_DECOMPRESS_SEQUENCES_SHORT)
third_party(PkgConfig::xxhash INCLUDES xxhash SOURCES xxhash/xxhash.c DEFINES XXH_NO_INLINE_HINTS=1)
third_party(PkgConfig::re2 UNITY INCLUDES re2 SOURCES re2/re2/[b-dm-z]*.cc re2/re2/filtered_re2.cc re2/re2/perl_groups.cc
  re2/util/rune.cc re2/util/strutil.cc)
# These define the same names.
foreach(source IN ITEMS dfa onepass prefilter prefilter_tree)
  set_source_files_properties(${MEMTOOL_THIRD_PARTY}/re2/re2/${source}.cc PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endforeach()
# What expat's own configuration would find out. Hash tables need no secret: a page reads for one user.
file(WRITE ${MEMTOOL_HEADERS}/expat_config.h "#define BYTEORDER 1234
#define HAVE_MEMMOVE 1
#define XML_CONTEXT_BYTES 1024
#define XML_DTD 1
#define XML_NS 1
#define XML_POOR_ENTROPY 1
")
third_party(EXPAT::EXPAT INCLUDES expat/expat/lib SOURCES expat/expat/lib/xmlparse.c expat/expat/lib/xmlrole.c
  expat/expat/lib/xmltok.c DEFINES XML_STATIC)
third_party(yaml-cpp UNITY INCLUDES yaml-cpp/include SOURCES yaml-cpp/src/*.cpp DEFINES YAML_CPP_STATIC_DEFINE)
