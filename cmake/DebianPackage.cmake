# The package of the program for Debian 12 and what is like it: scripts/deb, or cpack -G DEB. Debian has
# another program of the name memtool, which shows memory-mapped registers.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME memtool-profile)
set(MEMTOOL_CONTACT "memtool maintainers <memtool@users.noreply.github.com>" CACHE STRING "maintainer of the package")
set(CPACK_PACKAGE_CONTACT "${MEMTOOL_CONTACT}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "explains GPU and TPU memory from the files that jobs leave behind")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "\
A training or inference job can leave a file behind that says what
holds the memory of its accelerator: profiles of JAX, snapshots of
PyTorch, logs of MXNet, and others. This program reads them offline and
answers questions about them: what holds the memory, what grew, what
keeps growing, why it ran out.
It can also record every device allocation of a program.")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1memtool1)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_CONFLICTS memtool)
set(CPACK_DEBIAN_PACKAGE_REPLACES memtool)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# What the program opens only when it is needed: none of the libraries that it starts with names them.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "sensible-utils, libcairo2, libcgraph6, libdw1, libsqlite3-0")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "fonts-dejavu-core, graphviz, python3:any")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
# The program without the library for other programs.
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_COMPONENTS_ALL Unspecified)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/debian_files.cmake)
set(CPACK_POST_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/debian_scripts.cmake)
set(CPACK_MEMTOOL_SOURCE ${PROJECT_SOURCE_DIR})
# Tests need not be built for it; scripts/deb builds what it takes.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)
include(CPack)
