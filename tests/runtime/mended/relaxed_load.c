// A relaxed atomic load of LDS is a plain ds_read: beside another wave's compare-and-swap it is worth a note.
// run --block 128 --arg out:512
// clang -O2
__attribute__((loader_uninitialized, address_space(3))) static unsigned counters[16];
static void barrier(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
__attribute__((amdgpu_kernel, amdgpu_flat_work_group_size(128, 128))) void test(unsigned *out) {
  unsigned item = __builtin_amdgcn_workitem_id_x(), at = item & 15;
  if (item < 16) counters[item] = 5;
  barrier();
  unsigned old = __scoped_atomic_load_n(&counters[at], __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
  while (!__scoped_atomic_compare_exchange_n(&counters[at], &old, old + item, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                             __MEMORY_SCOPE_WRKGRP)) {
  }
  barrier();
  out[item] = counters[at];
}
