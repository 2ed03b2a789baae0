# libmemtool: the model, the answers and the readers as one library for other programs, with its
# headers, a CMake package and a pkg-config file. Static, or shared with -DMEMTOOL_SHARED=ON.
include(CMakePackageConfigHelpers)

if(MEMTOOL_SHARED)
  add_library(libmemtool SHARED)
else()
  add_library(libmemtool STATIC)
endif()
target_sources(libmemtool PRIVATE $<TARGET_OBJECTS:libprofile> $<TARGET_OBJECTS:formats>)
if(TARGET pprof_proto)
  target_sources(libmemtool PRIVATE $<TARGET_OBJECTS:pprof_proto>)
endif()
# The objects know what they need; whoever links the archive has to be told again.
target_link_libraries(libmemtool PUBLIC tl::expected
  PRIVATE fmt::fmt PkgConfig::xxhash PkgConfig::re2 PkgConfig::zstd ZLIB::ZLIB ${MEMTOOL_FORMATS_LINKS} Threads::Threads)
if(ISAL_INCLUDE AND ISAL_LIBRARY)
  target_link_libraries(libmemtool PRIVATE ${ISAL_LIBRARY})
  set(MEMTOOL_ISAL_FLAGS -lisal)
endif()
target_compile_features(libmemtool PUBLIC cxx_std_20)
target_include_directories(libmemtool INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(libmemtool PROPERTIES
  OUTPUT_NAME memtool EXPORT_NAME memtool LINKER_LANGUAGE CXX
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

install(TARGETS libmemtool EXPORT memtool-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
foreach(part libprofile formats)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${part}/include/memtool
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development FILES_MATCHING PATTERN "*.h")
endforeach()
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/memtool)
install(EXPORT memtool-targets NAMESPACE memtool:: DESTINATION ${package} COMPONENT development)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/memtool-config.cmake.in
  ${PROJECT_BINARY_DIR}/memtool-config.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/memtool-config-version.cmake
  COMPATIBILITY SameMinorVersion)
configure_file(${PROJECT_SOURCE_DIR}/cmake/memtool.pc.in ${PROJECT_BINARY_DIR}/memtool.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/memtool-config.cmake
              ${PROJECT_BINARY_DIR}/memtool-config-version.cmake DESTINATION ${package} COMPONENT development)
install(FILES ${PROJECT_BINARY_DIR}/memtool.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
