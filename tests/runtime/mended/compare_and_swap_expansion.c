// clang -O1 -O2
// run --grid 2 --block 64 --arg zeros:64 --arg in:256
// note races load
// says a compare and swap expects what it brings
// Sound: relaxed atomics of both workgroups for which there is no instruction. LLVM makes each a plain load and a loop of compare and swap; that the
// load may bring an old value does no harm.
typedef unsigned u32;
__attribute__((amdgpu_kernel)) void k(u32 *p, const u32 *in) {
  const u32 i = __builtin_amdgcn_workitem_id_x(), g = __builtin_amdgcn_workgroup_id_x();
  __scoped_atomic_fetch_add((short *)p + (i & 1), (short)in[i], __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  __scoped_atomic_fetch_nand(p + 1 + (i & 1), in[i] + g, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  __scoped_atomic_fetch_max((float *)p + 3 + (i & 1), (float)in[i], __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  __scoped_atomic_fetch_min((unsigned char *)p + 20 + (i & 3), (unsigned char)in[i], __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  __scoped_atomic_fetch_add((_Float16 *)p + 12 + (i & 1), (_Float16)1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  __scoped_atomic_fetch_add((double *)p + 4 + (i & 1), 1.0, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
