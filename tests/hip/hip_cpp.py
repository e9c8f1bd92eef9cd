#!/usr/bin/env python3
"""HIP C++, host and device code by clang-22, under `inlay run-with`: kernels through <<<>>>, device variables, a race that leaves the right
sum; what kernels print by ROCm's device libraries (Debian's rocm-device-libs), beside what the host prints of the same format.
hip_cpp.py INLAY LIBRARY_FOLDER. No header of HIP is needed: the program declares what it uses. Skipped (77) without clang-22.
"""
import json, os, pathlib, shutil, subprocess, sys, tempfile

inlay, folder = sys.argv[1:3]
clang = shutil.which("clang++-22")
if clang is None:
  print("skipped: no clang++-22 here")
  sys.exit(77)

program = r"""
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#include <cstdio>
#include <cstddef>
struct dim3 { unsigned x, y, z; dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {} };
typedef struct ihipStream_t* hipStream_t;
typedef int hipError_t;
extern "C" {
hipError_t hipMalloc(void**, size_t);
hipError_t hipMemcpy(void*, const void*, size_t, int);
hipError_t hipMemset(void*, int, size_t);
hipError_t hipMemcpyToSymbol(const void*, const void*, size_t, size_t, int);
hipError_t hipDeviceSynchronize();
hipError_t hipGetLastError();
const char* hipGetErrorString(hipError_t);
hipError_t hipLaunchKernel(const void*, dim3, dim3, void**, size_t, hipStream_t);
hipError_t __hipPushCallConfiguration(dim3, dim3, size_t = 0, hipStream_t = nullptr);
hipError_t __hipPopCallConfiguration(dim3*, dim3*, size_t*, hipStream_t*);
}
__device__ float offset = 1;
#ifdef PRINT
extern "C" __device__ int printf(const char*, ...);  // the device's: by ROCm's libraries
#define LINE "%d: %5.2f|%-12s|%s|%hhd|%hu|%lld|%#x|%+.3e|%c|%*.*f|100%%|%p\n"
#define VALUES(i) i, i / 8.0, "text", i % 2 ? "a text that is longer than one packet of seven words, which is 56 bytes" : "", i, 65535 + i, -5000000000ll * i, 255u + i, -1.0 / (i + 1), 'a' + i % 26, 8 + i % 3, 2, 1.5 * i, (void*)(0x1000 + i)
__global__ void __attribute__((amdgpu_flat_work_group_size(128, 128))) prints(int* count) {
  int i = __builtin_amdgcn_workgroup_id_x() * 128 + __builtin_amdgcn_workitem_id_x();
  count[i] = i % 40 == 3 ? printf(LINE, VALUES(i)) : 0;
}
#endif

__global__ void __attribute__((amdgpu_flat_work_group_size(256, 256))) scale(float a, const float* x, float* y, int n) {
  int i = __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x();
  if (i < n) y[i] = a * x[i] + offset;
}
template <class T> __global__ void __attribute__((amdgpu_flat_work_group_size(256, 256))) sum(const T* x, T* out) {
  __shared__ T s[256];
  int t = __builtin_amdgcn_workitem_id_x();
  s[t] = x[t];
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  for (int k = 128; k > 0; k /= 2) {
    if (t < k) s[t] += s[t + k];  // RACE without the barrier
#ifndef RACE
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
#endif
  }
  if (t == 0) *out = s[0];
}

#define CHECK(x) do { int e = (x); if (e) { printf("%s: %s\n", #x, hipGetErrorString(e)); return 3; } } while (0)
int main() {
#ifdef PRINT
  int* dc;
  static int counts[256];
  CHECK(hipMalloc((void**)&dc, sizeof counts));
  prints<<<dim3(2), dim3(128)>>>(dc);
  CHECK(hipDeviceSynchronize());
  CHECK(hipMemcpy(counts, dc, sizeof counts, 2));
  puts("of the host");
  for (int i = 0; i < 256; ++i)
    if (counts[i] != (i % 40 == 3 ? printf(LINE, VALUES(i)) : 0)) return 6;
  fflush(stdout);
  return 0;
#endif
  const int n = 1000;
  float x[n], y[n], o = 7, s = 0, *dx, *dy, *ds;
  for (int i = 0; i < n; ++i) x[i] = i;
  CHECK(hipMalloc((void**)&dx, sizeof x));
  CHECK(hipMalloc((void**)&dy, sizeof y));
  CHECK(hipMalloc((void**)&ds, 4));
  CHECK(hipMemcpy(dx, x, sizeof x, 1));
  CHECK(hipMemcpyToSymbol(&offset, &o, 4, 0, 1));
  scale<<<dim3(4), dim3(256)>>>(2.0f, dx, dy, n);
  CHECK(hipGetLastError());
  sum<float><<<dim3(1), dim3(256)>>>(dx, ds);
  CHECK(hipDeviceSynchronize());
  CHECK(hipMemcpy(y, dy, sizeof y, 2));
  CHECK(hipMemcpy(&s, ds, 4, 2));
  for (int i = 0; i < n; ++i) if (y[i] != 2 * x[i] + 7) return 4;
  return s == 255 * 256 / 2 ? 0 : 5;
}
"""

# Where clang-22 is installed without its tools: what packs the device code, by the file's layout (clang "Offload Bundler").
bundler = r"""#!/usr/bin/env python3
import struct, sys
o = {}
for a in sys.argv[1:]:
  k, _, v = a.lstrip("-").partition("=")
  o.setdefault(k, []).append(v)
targets = o["targets"][0].split(",")
data = [open(f, "rb").read() for f in o.get("input") or o["inputs"][0].split(",")]
head = 32 + sum(24 + len(t) for t in targets)
at, index, body = -(-head // 4096) * 4096, b"", b""
for t, d in zip(targets, data):
  body += bytes(-(at + len(body)) % 4096)
  index += struct.pack("<QQQ", at + len(body), len(d), len(t)) + t.encode()
  body += d
whole = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(targets)) + index
open((o.get("output") or o["outputs"])[0], "wb").write(whole + bytes(at - len(whole)) + body)
"""


def run(command, **more):
  return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600, **more)


with tempfile.TemporaryDirectory() as scratch:
  d = pathlib.Path(scratch)
  (d / "row sums").mkdir()
  (d / "row sums/program.hip").write_text(program)
  environment = dict(os.environ)
  if not pathlib.Path("/usr/lib/llvm-22/bin/clang-offload-bundler").exists():
    (d / "clang-offload-bundler").write_text(bundler)
    (d / "clang-offload-bundler").chmod(0o755)
    environment["PATH"] = f"{d}:{environment['PATH']}"
  line = next(n for n, text in enumerate(program.split("\n"), 1) if "RACE without" in text)
  for arch in ("gfx942", "gfx950"):
    for race in (False, True):
      what = f"{arch}{' with a race' if race else ''}"
      built = run([clang, "-x", "hip", f"--offload-arch={arch}", "-nogpuinc", "-nogpulib", "-g", "-O2", "-Wno-everything"] +
                  (["-DRACE"] if race else []) + ["row sums/program.hip", f"-L{folder}", "-lamdhip64", "-o", "program"], cwd=d, env=environment)
      if built.returncode: sys.exit(f"{what}: does not compile\n{built.stdout}")
      ran = run([inlay, "run-with", "--library", folder, "--arch", arch, "--report", "r.json", "--report", "r.sarif", "--", "./program"], cwd=d)
      report = json.loads((d / "r.json").read_text())
      if report["exit"] != 0: sys.exit(f"{what}: the program ended with {report['exit']}\n{ran.stdout}")
      if ran.returncode != race: sys.exit(f"{what}: run-with ended with {ran.returncode}\n{ran.stdout}")
      kernels = [l["kernel"] for l in report["launches"]]
      if len(kernels) != 2 or not kernels[0].startswith("_Z5scale"): sys.exit(f"{what}: launched {kernels}")
      names = [l.get("demangled") for l in report["launches"]]
      if names != ["scale(float, float const*, float*, int)", "void sum<float>(float const*, float*)"]: sys.exit(f"{what}: of C++ {names}")
      if race and "\n  in     void sum<float>(float const*, float*), workgroup 0,0,0" not in ran.stdout: sys.exit(f"{what}: the finding does not name its kernel\n{ran.stdout}")
      found = [f for l in report["launches"] for f in l["findings"] if not f["note"]]
      if race and not any(f["kind"] == "races" and f["line"]["line"] == line for f in found):
        sys.exit(f"{what}: no race at line {line}: {[(f['kind'], f.get('line')) for f in found]}")
      # In a pull request: where the file is below this folder.
      places = {r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in json.loads((d / "r.sarif").read_text())["runs"][0]["results"]}
      if race and places != {"row%20sums/program.hip"}: sys.exit(f"{what}: findings are at {places}")
      print("right ", what)
  bitcode = pathlib.Path("/usr/lib/x86_64-linux-gnu/amdgcn/bitcode")
  if (bitcode / "ockl.bc").exists():
    libraries = d / "bitcode"  # Debian's are older than gfx942: what they know of a processor is the same for gfx90a
    libraries.mkdir()
    for file in bitcode.iterdir(): (libraries / file.name).symlink_to(file)
    (libraries / "oclc_isa_version_942.bc").symlink_to(bitcode / "oclc_isa_version_90a.bc")
    for options in (["-O2"], ["-O0"]):
      built = run([clang, "-x", "hip", "--offload-arch=gfx942", "-nogpuinc", "-mcode-object-version=5", f"--rocm-device-lib-path={libraries}", "-DPRINT", "-Wno-everything", *options,
                   "row sums/program.hip", f"-L{folder}", "-lamdhip64", "-o", "prints"], cwd=d, env=environment)
      if built.returncode: sys.exit(f"the program that prints does not compile\n{built.stdout}")
      for more in ([], ["--stress", "1"]):
        ran = run([inlay, "run-with", "--library", folder, "--arch", "gfx942", "--report", "r.json", *more, "--", "./prints"], cwd=d)
        report = json.loads((d / "r.json").read_text())
        if report["exit"] != 0 or ran.returncode != 0: sys.exit(f"the program that prints ended with {report['exit']}, run-with with {ran.returncode}\n{ran.stdout}")
        device, host = ran.stdout.split("of the host\n")
        host = host.split("\n")[:7]  # in the order of the lanes; waves print in any
        if sorted(device.split("\n")[:-1][-7:]) != sorted(host) or not host[6].startswith("243: "): sys.exit(f"a kernel prints\n{device}the host\n{host}")
    print("right  printf of a kernel")
  else:
    print("skipped printf of a kernel: no rocm-device-libs here")
  other = run([inlay, "run-with", "--library", folder, "--arch", "gfx942", "--", "./program"], cwd=d)  # built for gfx950
  if other.returncode != 3 or "gfx950" not in other.stdout: sys.exit(f"code for another processor ran\n{other.stdout}")
