// Reverses every block of 256 numbers through LDS.
// [reverse]
__attribute__((global, amdgpu_flat_work_group_size(256, 256))) void reverse(float* y, const float* x) {
  __attribute__((shared)) static float s[256];
  const unsigned t = __builtin_amdgcn_workitem_id_x(), block = 256 * __builtin_amdgcn_workgroup_id_x();
  s[t] = x[block + t];
  y[block + t] = s[255 - t]; // what another wave wrote, without a barrier
}
// [reverse end]
