// So does one with an array of variable length.
// run --arg out:256 --arg i32:12
// out 0 42
// clang -O0 -O2
__attribute__((amdgpu_kernel)) void test(int *out, int n) {
  int lane = __builtin_amdgcn_workitem_id_x(), sum = 0;
  volatile int a[n];
  for (int i = 0; i < n; ++i) a[i] = (i + lane) * lane - i * (lane - 1) * 0;
  for (int i = 0; i < n; ++i) sum += a[n - 1 - i] - 1 * lane;
  out[lane] = sum;
}
