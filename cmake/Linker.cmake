# How programs are linked that one waits for or keeps: memtool and its tests. Not what uses the shim: mold binds weak
# references of a program, such as those of memtool/capture.h, to nothing for good, where the compiler's own linker leaves
# them to the loader.
include(CheckLinkerFlag)

find_program(MEMTOOL_MOLD mold)
if(MEMTOOL_MOLD)
  check_linker_flag(CXX -fuse-ld=mold MEMTOOL_LINKS_WITH_MOLD)  # GCC knows it since 12.1
endif()
check_linker_flag(CXX LINKER:--compress-debug-sections=zlib MEMTOOL_LINKS_PACKED)

# memtool_link(<program>): by mold where it is installed, in a second instead of four.
function(memtool_link program)
  if(MEMTOOL_LINKS_WITH_MOLD)
    target_link_options(${program} PRIVATE -fuse-ld=mold)
  endif()
endfunction()

# memtool_pack_debug(<program>): lines of the sources, half of its size, packed as every debugger and profiler reads them.
function(memtool_pack_debug program)
  if(MEMTOOL_LINKS_PACKED)
    target_link_options(${program} PRIVATE LINKER:--compress-debug-sections=zlib)
  endif()
endfunction()
