// Two ways out of a loop: the compiler keeps lane masks in registers whose bits of inactive lanes nothing ever writes.
// run --arg out:256 --arg in:1024
// clang -O0 -O1 -O2 -O3
__attribute__((amdgpu_kernel)) void test(int *restrict out, const int *restrict in) {
  int lane = __builtin_amdgcn_workitem_id_x(), sum = 0, i;
  for (i = 0; i < 60; ++i) {
    int x = in[lane + i];
    if (x > 6) {
      sum += 3 * i;
      break;
    }
    if (x == sum) {
      sum += 1000;
      break;
    }
    sum += x;
  }
  if (i == 60) sum ^= 21;
  out[lane] = sum;
}
