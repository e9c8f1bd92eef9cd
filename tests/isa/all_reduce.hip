// All-reduce over the devices whose buffers a table names, as vLLM and AITER do it: each workgroup waits for the workgroup of its number
// on every other device. One-shot sums all inputs on each device; two-shot sums a part on each device and gathers the others'.
// all_reduce.gfx942.s is what clang makes of it, comments left out:
//   clang++-22 -x hip --cuda-device-only --offload-arch=gfx942 -nogpulib -nogpuinc -O2 -mcode-object-version=5 -S all_reduce.hip
#define __global__ __attribute__((global, amdgpu_flat_work_group_size(256, 256)))
#define __device__ __attribute__((device))

struct Peers {
  const float* inputs[8];
};
struct Parts {
  float* parts[8];
};
struct Signals {
  unsigned* signals[8]; // of each device [workgroup][rank]: how far that rank has come
};

// All that this workgroup has done here is done, and seen by the workgroups of its number, before they go on; and the other way round.
// Signals count up: launches may follow one another on the same ones, and they may wrap around.
static __device__ void barrier(const Signals& all, unsigned rank, unsigned devices, unsigned count) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  const unsigned lane = __builtin_amdgcn_workitem_id_x(), group = __builtin_amdgcn_workgroup_id_x() * 8;
  if (lane < devices) {
    __scoped_atomic_store_n(&all.signals[lane][group + rank], count, __ATOMIC_RELEASE, __MEMORY_SCOPE_SYSTEM);
    while ((__scoped_atomic_load_n(&all.signals[rank][group + lane], __ATOMIC_ACQUIRE, __MEMORY_SCOPE_SYSTEM) -
            count) >>
           31) {
    }
  }
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

extern "C" __global__ void one_shot(Peers from, Signals signals, float* output, unsigned rank, unsigned devices,
                                    unsigned n, unsigned count, unsigned step) {
  barrier(signals, rank, devices, count + 1); // all inputs are there
  for (unsigned i = __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x(); i < n; i += step) {
    float sum = 0;
    for (unsigned r = 0; r < devices; ++r) sum += from.inputs[r][i];
    output[i] = sum;
  }
  barrier(signals, rank, devices, count + 2); // nobody reads mine any more
}

extern "C" __global__ void two_shot(Peers from, Parts parts, Signals signals, float* output, unsigned rank,
                                    unsigned devices, unsigned n, unsigned count, unsigned step) {
  barrier(signals, rank, devices, count + 1);
  const unsigned part = (n + devices - 1) / devices;
  const unsigned first = __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x();
  for (unsigned i = first; i < part && rank * part + i < n; i += step) {
    float sum = 0;
    for (unsigned r = 0; r < devices; ++r) sum += from.inputs[r][rank * part + i];
    parts.parts[rank][i] = sum;
  }
  barrier(signals, rank, devices, count + 2); // all parts are there, as far as workgroups of this number go
  for (unsigned r = 0; r < devices; ++r)
    for (unsigned i = first; i < part && r * part + i < n; i += step) output[r * part + i] = parts.parts[r][i];
  barrier(signals, rank, devices, count + 3);
}
