// Functions save registers of their callers that hold nothing yet.
// run --arg out:256
// clang -O0 -O1 -O2 -O3
__attribute__((noinline)) int digits(int x) { return __builtin_popcount(x) * 3 + x % 5; }
__attribute__((noinline)) int pair(int x) { return digits(x) * digits(x + 2) - digits(x ^ 9); }
__attribute__((amdgpu_kernel)) void test(int *out) {
  int lane = __builtin_amdgcn_workitem_id_x();
  out[lane] = pair(lane);
}
