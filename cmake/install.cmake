# Installs the C++ client library: static archives, the public header, a CMake package and a pkg-config file; and the
# command line.
include(CMakePackageConfigHelpers)

set(NEFFCACHE_CMAKEDIR ${CMAKE_INSTALL_LIBDIR}/cmake/neffcache)

# The library: what neffcache::client is made of, innermost last.
set(neffcache_installed_libraries
  neffcache_client neffcache_transport neffcache_proto neffcache_graph neffcache_io)
set_target_properties(neffcache_client PROPERTIES EXPORT_NAME client)
install(TARGETS ${neffcache_installed_libraries} EXPORT neffcache-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(EXPORT neffcache-targets NAMESPACE neffcache:: DESTINATION ${NEFFCACHE_CMAKEDIR} COMPONENT library)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/client/include/neffcache DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT library FILES_MATCHING PATTERN "*.h")

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/neffcacheConfig.cmake.in
  ${PROJECT_BINARY_DIR}/cmake/neffcacheConfig.cmake INSTALL_DESTINATION ${NEFFCACHE_CMAKEDIR})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/neffcacheConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cmake/neffcacheConfig.cmake
  ${PROJECT_BINARY_DIR}/cmake/neffcacheConfigVersion.cmake
  DESTINATION ${NEFFCACHE_CMAKEDIR} COMPONENT library)
# An installation may be moved: the prefix is found from where the .pc file lies.
file(RELATIVE_PATH NEFFCACHE_PC_PREFIX
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(${CMAKE_CURRENT_LIST_DIR}/neffcache.pc.in ${PROJECT_BINARY_DIR}/cmake/neffcache.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cmake/neffcache.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)

# The folders of the other programs install them; so does the shim's, into libexec/neffcache/shim: in bin/ it would
# stand before the real compiler for everybody.
install(TARGETS neffcache RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
