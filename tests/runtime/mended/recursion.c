// A kernel that recurses declares no scratch of its own and asks for a stack.
// run --arg out:256
// out 13 13
// clang -O1 -O2 -O3
__attribute__((noinline)) int tribonacci(int n) {
  volatile int kept = n;
  return n < 3 ? n == 2 : tribonacci(n - 1) + tribonacci(n - 2) + tribonacci(n - 3) + (kept - n);
}
__attribute__((amdgpu_kernel)) void test(int *out) { out[__builtin_amdgcn_workitem_id_x()] = tribonacci(8) - 5; }
