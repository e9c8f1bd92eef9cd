# The parameters of the cycle model become part of the library, so that it needs no file at run time.
find_package(nlohmann_json REQUIRED)
set(embedded "// Generated from runtime/data/timing_*.json.\nnamespace inlay::runtime::timing {\n")
foreach(arch gfx942 gfx950)
  set(file ${CMAKE_CURRENT_SOURCE_DIR}/data/timing_${arch}.json)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  string(APPEND embedded "extern const char* const embedded_${arch};\nconst char* const embedded_${arch} = R\"json(${text})json\";\n")
endforeach()
string(APPEND embedded "} // namespace inlay::runtime::timing\n")
file(CONFIGURE OUTPUT timing_data.cpp CONTENT "${embedded}" @ONLY)
target_sources(inlay_runtime PRIVATE
  ${CMAKE_CURRENT_BINARY_DIR}/timing_data.cpp
  timing/against_trace.cpp
  timing/calibrate.cpp
  timing/chip.cpp
  timing/compare.cpp
  timing/compute_unit.cpp
  timing/parameters.cpp
  timing/report.cpp
  timing/thread_trace.cpp
  timing/timeline.cpp
  timing/trace.cpp
  timing/trace_calibration.cpp
)
target_link_libraries(inlay_runtime PRIVATE $<BUILD_INTERFACE:nlohmann_json::nlohmann_json>)
