#!/usr/bin/env python3
"""Defects of shipped kernels that others found and published, on the kernels as they were shipped: each named by a check.

    git clone https://github.com/ROCm/aiter          (with history: sources of before the repairs come from it)
    INLAY_AITER=$PWD/aiter python3 tests/peers/published_defects.py [--findings]

AITER 3033: two waves store to one row's sum (global memory). AITER 3445: opus flatmm, LDS overwritten while read, and tiles that
nobody computes. AITER 5561: FlyDSL's MoE stage 1 (needs flydsl and torch). The others are cases of their own families: Triton 11765 in
triton_kernels.py ("block ping-pong", Triton 3.7), FlyDSL's 8-wave GEMM and fp8 attention in flydsl_kernels.py. clang-22 compiles the C++.
"""
import os, pathlib, re, shutil, subprocess, sys, tempfile

import peers  # first: it skips where there is no numpy
import numpy as np
from peers import Case, Wrong, bits, close, to_bf16

options = peers.arguments(__doc__.splitlines()[0]).parse_args()
checkout = os.environ.get("INLAY_AITER")
if not checkout: peers.skip("INLAY_AITER names no clone of github.com/ROCm/aiter")
if not pathlib.Path(options.library).exists(): peers.skip(options.library + " is not built")
clang = shutil.which("clang++-22") or shutil.which("clang++")
if clang is None: peers.skip("no clang++")
device = peers.Device(options.library)
folder = tempfile.TemporaryDirectory()


def sources(commit, *paths):
  """Those paths of AITER as they were at `commit`, in a folder."""
  to = pathlib.Path(folder.name, re.sub(r"\W", "_", commit))
  if not to.exists():
    to.mkdir()
    archive = subprocess.run(["git", "-C", checkout, "archive", commit, *paths], capture_output=True)
    if archive.returncode: peers.skip("INLAY_AITER has no commit " + commit)
    subprocess.run(["tar", "x", "-C", str(to)], input=archive.stdout, check=True)
  return to


def compiled(arch, text, include):
  source, object_file = pathlib.Path(folder.name, "k.hip"), pathlib.Path(folder.name, "k.hsaco")
  source.write_text(text)
  command = [clang, "-x", "hip", "--offload-device-only", "--no-gpu-bundle-output", "-nogpulib", "-nogpuinc", "--offload-arch=" + arch, "-std=c++20",
             "-O3", "-w", "-D__HIPCC_RTC__", *["-I" + str(i) for i in include], str(source), "-o", str(object_file)]
  run = subprocess.run(command, capture_output=True, text=True)
  if run.returncode: raise Wrong("does not compile: " + "\n".join([x for x in run.stderr.splitlines() if "error" in x][:5]))
  return device.load(object_file.read_bytes())


def pack(*values):
  """Naturally aligned, as clang passes them."""
  out = b""
  for v in values:
    b = np.uint64(v.ctypes.data).tobytes() if isinstance(v, np.ndarray) else np.uint64(0).tobytes() if v is None else np.int32(v).tobytes()
    out = out.ljust(-(-len(out) // len(b)) * len(b), b"\0") + b
  return out


def mhc(before):
  """AITER 3033: lanes 16 to 63 of a wave store the sums of rows 0 to 15 once more, at other waves' rows."""
  def run(d):
    commit = "28a886a9b496c57cca8f3bd13583ea1d7dbdf6f9" + ("^" if before else "")
    root = sources(commit, "csrc/include", "csrc/kernels/mhc_kernels.cu")
    text = (root / "csrc/kernels/mhc_kernels.cu").read_text()
    plus = (root / "csrc/include/aiter_opus_plus.h").read_text()
    kernel = text[text.index("namespace aiter {"):text.index("#define MHC_PRE_GEMM_SQRSUM_KERNEL_IMPL")] + "}\n"
    helpers = "\n".join(x for x in plus.splitlines() if not re.match("#(include|pragma)", x))
    module = compiled("gfx942", "#include <opus/hip_minimal.hpp>\n#include <opus/opus.hpp>\n" + coordinates + helpers + "\n" + kernel +
                      "template __global__ void aiter::mhc_pre_gemm_sqrsum_kernel<__bf16, 256, 64, 16, 64>(float*, float*, __bf16*, float*, int, int, int, int, int, int, int);\n",
                      [root / "csrc/include"])
    m, n, k = 64, 16, 256
    r = np.random.default_rng(1)
    x, f = to_bf16(r.standard_normal((m, k)) * np.arange(1, m + 1)[:, None]), r.standard_normal((n, k)).astype(np.float32)
    out, sums = d.empty((m, n), np.float32), d.empty(m, np.float32)
    d.launch(d.kernel(module), (1, 1, 1), (256,), pack(out, sums, d.array(x), d.array(f), m, n, k, k, k, n, 1))
    X = bits(x)
    close(out, X @ f.T.astype(np.float64), 1e-5, 1e-5 * np.abs(X) @ np.abs(f.T), "product")
    # Which wave comes last decides, here and on hardware; the fixed kernel has one answer.
    if not before: close(sums, (X * X).sum(1), 1e-5, 0, "sums of squares")
  return run


# opus has functions instead of HIP's variables.
coordinates = """#include <cstdint>
#include <type_traits>
namespace c10 { struct BFloat16; struct Half; }
struct __half; struct hip_bfloat16;
#define WARP_SIZE 64
using opus::index_t;
struct Three { int x, y, z; };
#define threadIdx (Three{opus::thread_id_x(), 0, 0})
#define blockIdx (Three{opus::block_id_x(), opus::block_id_y(), opus::block_id_z()})

__device__ inline void __syncthreads() { __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"); }
"""


def flatmm(before, m, n, k, split):
  """AITER 3445: two waves load tiles to LDS for two that multiply; kid 200, 64x64x64."""
  def run(d):
    commit = "d38399d065b6d072a7ab39c950d33ee8340c4eac" + ("^" if before else "")
    root = sources(commit, "csrc/include", "csrc/opus_gemm")
    module = compiled("gfx950", """#include "opus_gemm_pipeline_a16w16_flatmm_splitk_gfx950.cuh"
using Traits = opus_flatmm_splitk_traits_gfx950<256, opus::seq<64, 64, 64>, opus::tuple<bf16_t, bf16_t, fp32_t, fp32_t, fp32_t>,
  opus::seq<8, 8, 4>, opus::seq<16, 16, 32>, 2, false>;
template __global__ void gemm_a16w16_flatmm_splitk_kernel<Traits>(opus_gemm_flatmm_splitk_kargs_gfx950);
""", [root / "csrc/include", root / "csrc/opus_gemm/include", root / "csrc/opus_gemm/include/gfx950"])
    r = np.random.default_rng(2)
    a, b = (to_bf16(r.standard_normal(s)) for s in ((m, k), (n, k)))
    rows, columns = -(-m // 64) * 64, -(-n // 64) * 64
    workspace = d.empty((split, rows, columns), np.float32)
    handle = d.array(np.array([workspace.ctypes.data, workspace.nbytes], np.uint64))
    d.launch(d.kernel(module), (split * (rows // 64) * (columns // 64),), (256,),
             pack(d.array(a), d.array(b), handle, None, None, m, n, k, 1, split, k, k, columns, n, m * k, n * k, rows * columns, m * n, 0))
    A, B = bits(a), bits(b)
    close(workspace.sum(0)[:m, :n], A @ B.T, 1e-5, np.abs(A) @ np.abs(B).T * k * 2.0**-24)
  return run


def moe(tile_m, tile_n, use_async, gate, model):
  """AITER 5561: MoE stage 1 of FlyDSL, fp8 by fp4, weights of 1 everywhere so that their order does not matter."""
  def run(d):
    os.environ.update(FLYDSL_GPU_ARCH="gfx950", FLYDSL_RUNTIME_ENABLE_CACHE="0")
    link = pathlib.Path(folder.name, "rocm/llvm/bin")
    if not link.exists():
      link.mkdir(parents=True)
      os.symlink(shutil.which("ld.lld-22") or shutil.which("ld.lld"), link / "ld.lld")
    os.environ.setdefault("ROCM_PATH", str(link.parents[1]))
    import types
    import torch
    import flydsl.compiler as flyc
    import flydsl.expr as fx
    root = sources("e4048607a535ace3a2b51ded31b1c8c2d45c0879", "aiter/ops/flydsl")
    for name in ("aiter", "aiter.ops", "aiter.ops.flydsl", "aiter.ops.flydsl.kernels"):  # without what their __init__.py want of a GPU
      package = sys.modules.setdefault(name, types.ModuleType(name))
      package.__path__ = [str(root / name.replace(".", "/"))]
    from aiter.ops.flydsl.kernels.mixed_moe_gemm_2stage import GateMode, compile_mixed_moe_gemm1
    tokens, inter = tile_m, 256
    launch = compile_mixed_moe_gemm1(model_dim=model, inter_dim=inter, experts=1, topk=1, tile_m=tile_m, tile_n=tile_n, tile_k=256, doweight_stage1=False,
                                     a_dtype="fp8", b_dtype="fp4", out_dtype="bf16", act="silu", use_async_copy=use_async, gate_mode=GateMode[gate])
    x = torch.randn((tokens, model), generator=torch.Generator().manual_seed(1)).mul(0.1).to(torch.float8_e4m3fn)
    blocks = -(-tokens // tile_m)
    ids = np.full(blocks * tile_m, tokens | 1 << 24, np.int32); ids[:tokens] = np.arange(tokens)
    ones = lambda *s: d.array(np.full(s, 127, np.uint8))
    out = d.empty((tokens, inter), np.uint16)
    buffers = [out, d.tensor(x).view(torch.uint8).numpy(), d.array(np.full((2 * inter, model // 2), 0x22, np.uint8)), ones(max(256, blocks * tile_m) * model // 32),
               ones(max(256, 2 * inter) * model // 32), d.array(ids), d.array(np.zeros(blocks, np.int32)), d.array(np.ones(blocks * tile_m, np.float32)),
               d.array(np.array([blocks * tile_m, tokens], np.int32)), d.array(np.zeros(2 * inter, np.float32)), d.array(np.zeros(1 << 16, np.uint8))]
    launch(*[flyc.from_c_void_p(fx.Uint8, b.ctypes.data) for b in buffers], tokens, 2 * inter, model, blocks, 1.0, 1.0, 1.0, 1.0, 1e30, 0)
    total = x.float().numpy().astype(np.float64).sum(1)
    size = np.abs(x.float().numpy().astype(np.float64)).sum(1)
    close(bits(out), np.repeat((total * total / (1 + np.exp(-total)))[:, None], inter, 1), 2.0**-6, (size * model * 2.0**-23 * (1 + np.abs(total)) + 1e-4)[:, None])
  return run


overtaken = {"waits": "reads of LDS in flight at the barrier after which another wave's loads overwrite what they read", "stress": "follows"}
cases = [
  # Loads of scales that the compiler puts among those to LDS are counted in their stead; where it does not, the count is right.
  *[Case(f"AITER 5561 tile {m}x{n} K {k}{' async' if use_async else ''}", moe(m, n, use_async, "INTERLEAVE", k),
         {"waits": "a counted wait that leaves loads to LDS outstanding at the barrier", "stress": "follows"} if use_async and n == 128 else {}, "gfx950")
    for m, n in ((64, 128), (64, 256), (128, 128)) for k, use_async in ((1024, False), (1024, True), (2048, True))],
  Case("AITER 3033 before", mhc(True), {"races": "two waves store one row's sum", "stress": "follows"}, "gfx942"),
  Case("AITER 3033 after", mhc(False), {}, "gfx942"),
  # The repair waits for all loads at the edge; that waves still read what is loaded next it leaves, and so do the checks.
  *[Case(f"AITER 3445 {'before' if before else 'after'} {m}x{n}x{k} split {split}", flatmm(before, m, n, k, split), overtaken, "gfx950")
    for before in (True, False) for m, n, k, split in ((100, 128, 1024, 1), (64, 64, 2048, 2))],
]


if __name__ == "__main__":
  sys.exit(peers.run(device, cases, options))
