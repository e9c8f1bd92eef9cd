// clang -O1
// run --block 64 --arg zeros:512 --arg in:64 --stress
// A store through a flat pointer that may point to scratch, and a load of scratch after it: the wave's accesses keep their order.
__attribute__((amdgpu_kernel)) void k(unsigned *out, const unsigned *in) {
  const unsigned i = __builtin_amdgcn_workitem_id_x();
  unsigned own[16];
  for (int j = 0; j < 16; ++j) own[j] = in[j];
  unsigned *const q = (in[i & 15] & 1) ? &own[i & 15] : out + 64 + i;
  *q = 7 + i;
  unsigned s = 0;
  for (int j = 0; j < 16; ++j) s = s * 31 + own[j];
  out[i] = s;
}
