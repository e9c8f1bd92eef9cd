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

# The same for those who ask pkg-config: names in the order in which a linker wants archives.
set(inlay_pc_libs "")
foreach(component kernels validate codegen solver runtime launch algebra machine)
  if(TARGET inlay_${component})
    string(APPEND inlay_pc_libs " -linlay_${component}")
  endif()
endforeach()
set(inlay_pc_requires "")
if(TARGET inlay_solver)
  set(inlay_pc_requires ", z3")
endif()
if(TARGET inlay_runtime OR TARGET inlay_codegen)
  find_package(LLVM 22.1 REQUIRED CONFIG) # for LLVM_LIBRARY_DIR, which the folders know only for themselves
  string(APPEND inlay_pc_libs " -L${LLVM_LIBRARY_DIR} -llldELF -llldCommon -lLLVM -Wl,-rpath,${LLVM_LIBRARY_DIR} -lpthread -ldl")
endif()
string(STRIP "${inlay_pc_libs}" inlay_pc_libs)
configure_file(${CMAKE_CURRENT_LIST_DIR}/inlay.pc.in ${CMAKE_BINARY_DIR}/inlay.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/inlay.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(TARGET inlay_c)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/inlay_c.pc.in ${CMAKE_BINARY_DIR}/inlay_c.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/inlay_c.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
