# Compiles for AArch64 on x86-64, with Debian's cross compiler. Headers and archives are those of
# MEMTOOL_SYSROOT (scripts/sysroot.sh): also the C library and the compiler's own, which the cross compiler's
# packages have too, but without Debian's later corrections.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(machine aarch64-linux-gnu)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES MEMTOOL_SYSROOT)
set(CMAKE_C_COMPILER ${machine}-gcc)
set(CMAKE_CXX_COMPILER ${machine}-g++)
set(CMAKE_SYSROOT ${MEMTOOL_SYSROOT})
set(archives ${MEMTOOL_SYSROOT}/usr/lib)
set(CMAKE_EXE_LINKER_FLAGS_INIT "-B${archives}/gcc/${machine}/12 -B${archives}/${machine}")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "${CMAKE_EXE_LINKER_FLAGS_INIT}")
# Programs are the host's; what is built runs under qemu.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${MEMTOOL_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${MEMTOOL_SYSROOT}/usr/lib/${machine}/pkgconfig:${MEMTOOL_SYSROOT}/usr/share/pkgconfig)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static)
