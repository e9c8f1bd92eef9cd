// More flat accesses without a wait on lgkmcnt than the counter holds.
// run --arg out:256 --arg i32:3
// clang -O2
volatile int table[64];
__attribute__((noinline)) void turn(int n) {
  while (n--) {
    int a = table[0], b = table[1], c = table[2], d = table[3], e = table[4], f = table[5], g = table[6], h = table[7], i = table[8],
        j = table[9], k = table[10], l = table[11], m = table[12], o = table[13], p = table[14], q = table[15], r = table[16],
        s = table[17];
    table[17] = a + 1, table[16] = b + 1, table[15] = c + 1, table[14] = d + 1, table[13] = e + 1, table[12] = f + 1;
    table[11] = g + 1, table[10] = h + 1, table[9] = i + 1, table[8] = j + 1, table[7] = k + 1, table[6] = l + 1;
    table[5] = m + 1, table[4] = o + 1, table[3] = p + 1, table[2] = q + 1, table[1] = r + 1, table[0] = s + 1;
  }
}
__attribute__((amdgpu_kernel)) void test(int *out, int n) {
  turn(n);
  out[__builtin_amdgcn_workitem_id_x()] = table[3];
}
