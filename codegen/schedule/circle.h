/// Places on the circle of a loop's trips: time goes on before its start. Private.
#pragma once

namespace inlay::codegen {

/// Towards minus infinity: `floor_of(-1, 4)` is -1. Requires: b > 0.
constexpr int floor_of(int a, int b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }
/// From 0 on: `modulo(-1, 4)` is 3. Requires: n > 0.
constexpr int modulo(int a, int n) { return a - floor_of(a, n) * n; }

} // namespace inlay::codegen
