# memtool_demo_files(LIST FOLDER OUTPUT): writes the source that has the files of LIST (commands/demo/files.txt),
# from below FOLDER, inside.
function(memtool_demo_files list folder output)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
  file(STRINGS ${list} lines REGEX "^[^#]")
  set(assembler "")
  set(symbols "")
  set(entries "")
  set(inputs "")
  set(number 0)
  foreach(line IN LISTS lines)
    if(NOT line MATCHES "^([^ ]+) +([^ ]+) +(.+)$")
      message(FATAL_ERROR "${list}: not a file: ${line}")
    endif()
    set(name ${CMAKE_MATCH_1})
    set(source ${folder}/${CMAKE_MATCH_2})
    string(REGEX REPLACE "^-$" "" question "${CMAKE_MATCH_3}")
    set(members "")
    if(name MATCHES "/$")
      file(GLOB_RECURSE members RELATIVE ${source} CONFIGURE_DEPENDS ${source}/*)
      list(SORT members)
    endif()
    list(LENGTH members left)
    if(left EQUAL 0)
      set(members "-")
      set(left 1)
    endif()
    foreach(member IN LISTS members)
      math(EXPR left "${left} - 1")
      set(path ${source})
      set(shown ${name})
      if(NOT member STREQUAL "-")
        set(path ${source}/${member})
        set(shown ${name}${member})
      endif()
      # Of a folder, its last file has the question.
      set(asked "")
      if(left EQUAL 0)
        set(asked "${question}")
      endif()
      string(APPEND assembler "    \".globl memtool_demo_${number}\\n.hidden memtool_demo_${number}\\nmemtool_demo_${number}:\\n\"\n"
        "    \".incbin \\\"${path}\\\"\\n\"\n"
        "    \".globl memtool_demo_end_${number}\\n.hidden memtool_demo_end_${number}\\nmemtool_demo_end_${number}:\\n.byte 0\\n\"\n")
      string(APPEND symbols "extern const char memtool_demo_${number}[];\nextern const char memtool_demo_end_${number}[];\n")
      string(APPEND entries "    {\"${shown}\", Between(memtool_demo_${number}, memtool_demo_end_${number}), \"${asked}\"},\n")
      list(APPEND inputs ${path})
      math(EXPR number "${number} + 1")
    endforeach()
  endforeach()
  file(CONFIGURE OUTPUT ${output} CONTENT [[
// Made from files.txt. The assembler reads the files.
#include "demo/demo_files.h"

#include <array>

asm(".pushsection .rodata\n"
@assembler@    ".popsection\n");

extern "C" {
@symbols@}

namespace memtool::commands {

namespace {

std::string_view Between(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

}  // namespace

std::span<const DemoFile> DemoFiles() {
  static const auto files = std::to_array<DemoFile>({
@entries@  });
  return files;
}

}  // namespace memtool::commands
]] @ONLY)
  set_source_files_properties(${output} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON OBJECT_DEPENDS "${inputs}")
endfunction()
