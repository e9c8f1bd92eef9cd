# Install rules: headers and archives come from inlay_library(); here is what find_package(inlay) reads.
include(CMakePackageConfigHelpers)
get_property(libraries GLOBAL PROPERTY INLAY_LIBRARIES)
if(libraries)
  configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/inlayConfig.cmake.in ${CMAKE_BINARY_DIR}/inlayConfig.cmake
    INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/inlay)
  write_basic_package_version_file(${CMAKE_BINARY_DIR}/inlayConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${CMAKE_BINARY_DIR}/inlayConfig.cmake ${CMAKE_BINARY_DIR}/inlayConfigVersion.cmake
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/inlay)
  install(EXPORT inlayTargets NAMESPACE inlay:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/inlay)
endif()
