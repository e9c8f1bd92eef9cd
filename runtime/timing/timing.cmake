# The parameters of the cycle model become part of the library, so that it needs no file at run time.
find_package(nlohmann_json REQUIRED)
set(embedded "// Generated from runtime/data/timing_*.json.\n#include <string_view>\nnamespace inlay::runtime::timing {\nstd::string_view embedded_parameters(std::string_view arch);\nstd::string_view embedded_parameters(std::string_view arch) {\n")
file(GLOB files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/data/timing_*.json)
foreach(file ${files})
  string(REGEX REPLACE ".*timing_(.*)\\.json" "\\1" arch ${file})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  string(APPEND embedded "  if (arch == \"${arch}\") return R\"json(${text})json\";\n")
endforeach()
string(APPEND embedded "  return {};\n}\n} // namespace inlay::runtime::timing\n")
file(CONFIGURE OUTPUT timing_data.cpp CONTENT "${embedded}" @ONLY)
target_sources(inlay_runtime PRIVATE
  ${CMAKE_CURRENT_BINARY_DIR}/timing_data.cpp
  timing/calibrate.cpp
  timing/thread_trace.cpp
)
target_link_libraries(inlay_runtime PRIVATE $<BUILD_INTERFACE:nlohmann_json::nlohmann_json>)
