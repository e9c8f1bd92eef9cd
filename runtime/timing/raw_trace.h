/// Raw thread traces: what rocprofv3 --att leaves where nothing decoded it.
#pragma once

#include <inlay/runtime/timing/thread_trace.h>

namespace inlay::runtime::timing {

/// Whether `folder` has a shader engine's trace (`*_shader_engine_E_D.att`, engine and dispatch) and nothing decoded.
[[nodiscard]] bool is_raw_trace(const std::string& folder);

/// The trace of the folder's one dispatch, with its code objects (`*_code_object_id_N.out`), decoded by AMD's library: that which INLAY_TRACE_DECODER names, or
/// librocprof-trace-decoder.so of ROCm. Errors: std::runtime_error when there is no library, several dispatches, no code object, or none of its kernels was traced.
[[nodiscard]] ThreadTrace read_raw_trace(const std::string& folder);

} // namespace inlay::runtime::timing
