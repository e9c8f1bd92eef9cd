#!/usr/bin/env python3
"""Kernels in Triton's language, compiled by the wheel's compiler for gfx942 and gfx950 without a GPU, on the emulator against numpy.

    pip install triton==3.9.0 numpy
    python3 tests/peers/triton_kernels.py [--only 'gfx942 matmul*'] [--findings]

With Triton 3.7.0 the case "block ping-pong" is the two-cluster schedule of triton-lang/triton issue 11696 (fixed by pull request
11765), whose race the checks name; 3.9.0 is silent. docs/measurements/strangers.md has both.
"""
import ctypes, os, pathlib, struct, sys

import peers
from peers import Case, bits, close, same, to_bf16

options = peers.arguments(__doc__.splitlines()[0]).parse_args()
if not pathlib.Path(options.library).exists(): peers.skip(options.library + " is not built")
device = peers.Device(options.library)
os.environ.setdefault("TRITON_CACHE_DIR", os.path.expanduser("~/.triton/cache"))
try:
  import numpy as np
  import triton
  import triton.language as tl
  from triton.backends.compiler import GPUTarget
  from triton.compiler import ASTSource, compile as triton_compile
except ImportError as e:
  peers.skip(f"no Triton here: {e}")
version = tuple(int(x) for x in triton.__version__.split(".")[:2])

spelled = {"float16": "fp16", "float32": "fp32", "int32": "i32", "int8": "i8", "uint16": "bf16", "uint8": None, "int64": "i64", "uint32": "u32"}


def run(function, grid, *values, types={}, **constants):
  """Compiles for the device's processor and launches. Arrays are pointers, ints i32, floats fp32. A uint16 array holds bf16; `types`
  names the element type where the array does not say it."""
  names = function.arg_names
  meta = {k: constants.pop(k) for k in ("num_warps", "num_stages", "waves_per_eu", "matrix_instr_nonkdim", "kpack", "schedule_hint") if k in constants}
  given = [n for n in names if n not in constants]
  assert len(given) == len(values), (given, len(values))
  signature, attributes = {}, {}
  for i, n in enumerate(names):
    if n in constants: signature[n] = "constexpr"
    else:
      v = values[given.index(n)]
      if isinstance(v, np.ndarray):
        signature[n] = "*" + types.get(n, spelled[str(v.dtype)] or "i8")
        attributes[(i,)] = [["tt.divisibility", 16]]
      else:
        signature[n] = "fp32" if isinstance(v, float) else "i32"
        if isinstance(v, int) and v % 16 == 0: attributes[(i,)] = [["tt.divisibility", 16]]
  source = ASTSource(function, signature, constexprs={(names.index(k),): v for k, v in constants.items()}, attrs=attributes)
  compiled = triton_compile(source, target=GPUTarget("hip", device.arch, 64), options=meta)
  module = device.load(compiled.asm["hsaco"])
  kernel = device.kernel(module, compiled.metadata.name)
  packed = [struct.pack("<Q", v.ctypes.data) if isinstance(v, np.ndarray) else struct.pack("<f" if isinstance(v, float) else "<i", v) for v in values]
  packed += [bytes(8)] * 4  # scratch that the compiler may have declared
  buffers = [ctypes.create_string_buffer(b, 8) for b in packed]
  pointers = (ctypes.c_void_p * len(buffers))(*[ctypes.addressof(b) for b in buffers])
  grid = (tuple(grid) + (1, 1))[:3]
  device.check(device.hip.hipModuleLaunchKernel(kernel, *grid, compiled.metadata.num_warps * 64, 1, 1, compiled.metadata.shared, None, pointers, None))


# ---- kernels --------------------------------------------------------------------------------------------------------------

@triton.jit
def add_kernel(x, y, out, n, B: tl.constexpr):
  i = tl.program_id(0) * B + tl.arange(0, B)
  m = i < n
  tl.store(out + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)


@triton.jit
def softmax_kernel(x, out, columns, B: tl.constexpr):
  i = tl.arange(0, B)
  row = tl.program_id(0) * columns
  v = tl.load(x + row + i, mask=i < columns, other=-float("inf")).to(tl.float32)
  e = tl.exp(v - tl.max(v, 0))
  tl.store(out + row + i, (e / tl.sum(e, 0)).to(out.dtype.element_ty), mask=i < columns)


@triton.jit
def layernorm_kernel(x, gamma, beta, out, columns, B: tl.constexpr):
  i = tl.arange(0, B)
  m = i < columns
  row = tl.program_id(0) * columns
  v = tl.load(x + row + i, mask=m, other=0.0).to(tl.float32)
  mean = tl.sum(v, 0) / columns
  c = tl.where(m, v - mean, 0.0)
  r = 1 / tl.sqrt(tl.sum(c * c, 0) / columns + 1e-5)
  tl.store(out + row + i, (c * r * tl.load(gamma + i, mask=m) + tl.load(beta + i, mask=m)).to(out.dtype.element_ty), mask=m)


@triton.jit
def matmul_kernel(a, b, c, M, N, K, sa, sb, sc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, INT: tl.constexpr):
  OTHER: tl.constexpr = 0 if INT else 0.0
  pid = tl.program_id(0)
  rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)
  width = GROUP * columns
  first = pid // width * GROUP
  size = min(rows - first, GROUP)
  pm, pn = first + pid % width % size, pid % width // size
  i = (pm * BM + tl.arange(0, BM)) % M
  j = (pn * BN + tl.arange(0, BN)) % N
  k = tl.arange(0, BK)
  pa = a + i[:, None] * sa + k[None, :]
  pb = b + k[:, None] * sb + j[None, :]
  acc = tl.zeros((BM, BN), tl.int32 if INT else tl.float32)
  for step in range(0, tl.cdiv(K, BK)):
    left = K - step * BK
    acc = tl.dot(tl.load(pa, mask=k[None, :] < left, other=OTHER), tl.load(pb, mask=k[:, None] < left, other=OTHER), acc, input_precision="ieee")
    pa += BK
    pb += BK * sb
  r = pm * BM + tl.arange(0, BM)
  s = pn * BN + tl.arange(0, BN)
  tl.store(c + r[:, None] * sc + s[None, :], acc.to(c.dtype.element_ty), mask=(r[:, None] < M) & (s[None, :] < N))


@triton.jit
def attention_kernel(q, k, v, o, S, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr):
  head = tl.program_id(1) * S * D
  i = tl.program_id(0) * BM + tl.arange(0, BM)
  d = tl.arange(0, D)
  qq = tl.load(q + head + i[:, None] * D + d[None, :], mask=i[:, None] < S, other=0.0)
  top = tl.full((BM,), -1e30, tl.float32)
  total = tl.zeros((BM,), tl.float32)
  acc = tl.zeros((BM, D), tl.float32)
  end = min((tl.program_id(0) + 1) * BM, S) if CAUSAL else S
  for start in range(0, end, BN):
    j = start + tl.arange(0, BN)
    kk = tl.load(k + head + j[None, :] * D + d[:, None], mask=j[None, :] < S, other=0.0)
    s = tl.dot(qq, kk) * scale
    keep = j[None, :] < S
    if CAUSAL: keep = keep & (j[None, :] <= i[:, None])
    s = tl.where(keep, s, -1e30)
    new = tl.maximum(top, tl.max(s, 1))
    p = tl.exp(s - new[:, None])
    change = tl.exp(top - new)
    total = total * change + tl.sum(p, 1)
    vv = tl.load(v + head + j[:, None] * D + d[None, :], mask=j[:, None] < S, other=0.0)
    acc = tl.dot(p.to(vv.dtype), vv, acc * change[:, None])
    top = new
  tl.store(o + head + i[:, None] * D + d[None, :], (acc / total[:, None]).to(o.dtype.element_ty), mask=i[:, None] < S)


@triton.jit
def scan_kernel(x, out, n, B: tl.constexpr):
  i = tl.arange(0, B)
  row = tl.program_id(0) * n
  tl.store(out + row + i, tl.cumsum(tl.load(x + row + i, mask=i < n, other=0), 0), mask=i < n)


@triton.jit
def sort_kernel(x, out, B: tl.constexpr):
  i = tl.arange(0, B)
  row = tl.program_id(0) * B
  tl.store(out + row + i, tl.sort(tl.load(x + row + i)))


@triton.jit
def histogram_kernel(x, out, n, B: tl.constexpr, BINS: tl.constexpr):
  i = tl.program_id(0) * B + tl.arange(0, B)
  h = tl.histogram(tl.load(x + i, mask=i < n, other=0), BINS, mask=i < n)
  tl.atomic_add(out + tl.arange(0, BINS), h)


@triton.jit
def argmax_kernel(x, where, n, B: tl.constexpr):
  i = tl.arange(0, B)
  tl.store(where + tl.program_id(0), tl.argmax(tl.load(x + tl.program_id(0) * n + i, mask=i < n, other=-float("inf")), 0))


@triton.jit
def transpose_kernel(x, out, M, N, B: tl.constexpr):
  i, j = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
  t = tl.load(x + i[:, None] * N + j[None, :], mask=(i[:, None] < M) & (j[None, :] < N))
  tl.store(out + j[:, None] * M + i[None, :], tl.trans(t), mask=(j[:, None] < N) & (i[None, :] < M))


@triton.jit
def dropout_kernel(x, out, n, p, seed, B: tl.constexpr):
  i = tl.program_id(0) * B + tl.arange(0, B)
  keep = tl.rand(seed, i) > p
  tl.store(out + i, tl.where(keep, tl.load(x + i, mask=i < n) / (1 - p), 0.0), mask=i < n)


@triton.jit
def split_k_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr):
  i = tl.program_id(0) * BM + tl.arange(0, BM)
  j = tl.program_id(1) * BN + tl.arange(0, BN)
  k = tl.program_id(2) * BK + tl.arange(0, BK)
  acc = tl.zeros((BM, BN), tl.float32)
  for start in range(0, K, BK * SPLIT):
    acc = tl.dot(tl.load(a + i[:, None] * K + start + k[None, :]), tl.load(b + (start + k[:, None]) * N + j[None, :]), acc)
  tl.atomic_add(c + i[:, None] * N + j[None, :], acc)


@triton.jit
def gather_kernel(table, ids, out, D: tl.constexpr):
  d = tl.arange(0, D)
  tl.store(out + tl.program_id(0) * D + d, tl.load(table + tl.load(ids + tl.program_id(0)) * D + d))


@triton.jit
def pingpong_kernel(A, B, C, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
  pid = tl.program_id(0)
  pm, pn = pid // (N // BN), pid % (N // BN)
  i, j = (pm * BM + tl.arange(0, BM)) % M, (pn * BN + tl.arange(0, BN)) % N
  k = tl.arange(0, BK)
  acc = tl.zeros((BM, BN), tl.float32)
  for step in range(0, K, BK):
    a = tl.load(A + i[:, None] * K + (step + k)[None, :])
    b = tl.load(B + (step + k)[:, None] * N + j[None, :])
    acc += tl.dot(a, b, allow_tf32=False)
  tl.store(C + (pm * BM + tl.arange(0, BM))[:, None] * N + (pn * BN + tl.arange(0, BN))[None, :], acc)


@triton.jit
def row_reduce_kernel(x, out, columns, B: tl.constexpr, MAX: tl.constexpr):
  i = tl.arange(0, B)
  v = tl.load(x + tl.program_id(0) * columns + i, mask=i < columns, other=-float("inf") if MAX else 0.0).to(tl.float32)
  tl.store(out + tl.program_id(0), tl.max(v, 0) if MAX else tl.sum(v, 0))


@triton.jit
def log_softmax_kernel(x, out, columns, B: tl.constexpr):
  i = tl.arange(0, B)
  row = tl.program_id(0) * columns
  v = tl.load(x + row + i, mask=i < columns, other=-float("inf")).to(tl.float32)
  c = v - tl.max(v, 0)
  tl.store(out + row + i, (c - tl.log(tl.sum(tl.exp(c), 0))).to(out.dtype.element_ty), mask=i < columns)


@triton.jit
def layernorm_backward_kernel(dy, x, w, dx, columns, B: tl.constexpr):
  i = tl.arange(0, B)
  m = i < columns
  row = tl.program_id(0) * columns
  v = tl.load(x + row + i, mask=m, other=0.0).to(tl.float32)
  g = tl.load(dy + row + i, mask=m, other=0.0).to(tl.float32) * tl.load(w + i, mask=m, other=0.0).to(tl.float32)
  c = tl.where(m, v - tl.sum(v, 0) / columns, 0.0)
  r = 1 / tl.sqrt(tl.sum(c * c, 0) / columns + 1e-5)
  along = tl.sum(g * c, 0) / columns * r * r
  tl.store(dx + row + i, (r * (g - tl.sum(g, 0) / columns - c * along)).to(dx.dtype.element_ty), mask=m)


@triton.jit
def cross_entropy_kernel(x, targets, loss, lse, columns, B: tl.constexpr):
  i = tl.arange(0, B)
  row = tl.program_id(0)
  v = tl.load(x + row * columns + i, mask=i < columns, other=-float("inf")).to(tl.float32)
  top = tl.max(v, 0)
  log = top + tl.log(tl.sum(tl.exp(v - top), 0))
  tl.store(lse + row, log)
  tl.store(loss + row, log - tl.load(x + row * columns + tl.load(targets + row)).to(tl.float32))


@triton.jit
def cross_entropy_backward_kernel(x, lse, targets, weight, dx, columns, B: tl.constexpr):
  i = tl.arange(0, B)
  m = i < columns
  row = tl.program_id(0)
  v = tl.load(x + row * columns + i, mask=m, other=-float("inf")).to(tl.float32)
  p = tl.exp(v - tl.load(lse + row)) - tl.where(i == tl.load(targets + row), 1.0, 0.0)
  tl.store(dx + row * columns + i, (p * tl.load(weight + row)).to(dx.dtype.element_ty), mask=m)


@triton.jit
def rope_kernel(x, positions, cos, sin, out, heads, H: tl.constexpr, HALF: tl.constexpr):
  token = tl.program_id(0)
  h, i = tl.arange(0, H)[:, None], tl.arange(0, HALF)[None, :]
  at = (token * heads + h) * 2 * HALF + i
  m = (h < heads) & (i < HALF)
  angle = tl.load(positions + token) * HALF + i
  c, s = tl.load(cos + angle).to(tl.float32), tl.load(sin + angle).to(tl.float32)
  low, high = tl.load(x + at, mask=m).to(tl.float32), tl.load(x + at + HALF, mask=m).to(tl.float32)
  tl.store(out + at, (low * c - high * s).to(out.dtype.element_ty), mask=m)
  tl.store(out + at + HALF, (high * c + low * s).to(out.dtype.element_ty), mask=m)


@triton.jit
def silu_and_mul_kernel(x, out, columns, B: tl.constexpr):
  row, i = tl.program_id(0), tl.arange(0, B)
  m = i < columns
  gate, up = tl.load(x + row * 2 * columns + i, mask=m).to(tl.float32), tl.load(x + (row * 2 + 1) * columns + i, mask=m).to(tl.float32)
  tl.store(out + row * columns + i, (gate / (1 + tl.exp(-gate)) * up).to(out.dtype.element_ty), mask=m)


@triton.jit
def group_norm_kernel(x, w, b, out, groups, channels, pixels, C: tl.constexpr, P: tl.constexpr):
  c, p = tl.arange(0, C)[:, None], tl.arange(0, P)[None, :]
  m = (c < channels) & (p < pixels)
  at = tl.program_id(0) * channels * pixels + c * pixels + p
  v = tl.load(x + at, mask=m, other=0.0).to(tl.float32)
  n = channels * pixels
  d = tl.where(m, v - tl.sum(tl.sum(v, 1), 0) / n, 0.0)
  r = 1 / tl.sqrt(tl.sum(tl.sum(d * d, 1), 0) / n + 1e-5)
  of = tl.program_id(0) % groups * channels + c
  tl.store(out + at, (d * r * tl.load(w + of, mask=c < channels) + tl.load(b + of, mask=c < channels)).to(out.dtype.element_ty), mask=m)


@triton.jit
def product_kernel(a, b, bias, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GELU: tl.constexpr):
  """C[z] = A[z] B[z]^T for z of the grid, with a bias for each column and gelu where that is asked."""
  z = tl.program_id(2)
  i, j, k = tl.program_id(1) * BM + tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN), tl.arange(0, BK)
  acc = tl.zeros((BM, BN), tl.float32)
  for step in range(0, K, BK):
    x = tl.load(a + z * M * K + i[:, None] * K + step + k[None, :], mask=(i[:, None] < M) & (step + k[None, :] < K), other=0.0)
    y = tl.load(b + z * N * K + j[None, :] * K + step + k[:, None], mask=(j[None, :] < N) & (step + k[:, None] < K), other=0.0)
    acc = tl.dot(x, y, acc)
  if GELU:
    acc += tl.load(bias + j, mask=j < N, other=0.0)[None, :]
    acc = 0.5 * acc * (1 + tl.erf(acc * 0.7071067811865476))
  tl.store(c + z * M * N + i[:, None] * N + j[None, :], acc.to(c.dtype.element_ty), mask=(i[:, None] < M) & (j[None, :] < N))


@triton.jit
def swiglu_kernel(x, gate, up, y, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
  i, j, k = tl.program_id(1) * BM + tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN), tl.arange(0, BK)
  g, u = tl.zeros((BM, BN), tl.float32), tl.zeros((BM, BN), tl.float32)
  for step in range(0, K, BK):
    a = tl.load(x + i[:, None] * K + step + k[None, :], mask=i[:, None] < M, other=0.0)
    at = j[None, :] * K + step + k[:, None]
    g = tl.dot(a, tl.load(gate + at, mask=j[None, :] < N, other=0.0), g)
    u = tl.dot(a, tl.load(up + at, mask=j[None, :] < N, other=0.0), u)
  tl.store(y + i[:, None] * N + j[None, :], (g / (1 + tl.exp(-g)) * u).to(y.dtype.element_ty), mask=(i[:, None] < M) & (j[None, :] < N))


@triton.jit
def grouped_matmul_kernel(a_at, b_at, c_at, m_of, N, K, groups, WORKERS, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
  """C[g] = A[g] B[g]^T by tables of pointers: workers walk over the tiles of all groups, one after the other."""
  tile, last = tl.program_id(0), 0
  columns = tl.cdiv(N, BN)
  for g in range(groups):
    M = tl.load(m_of + g)
    count = tl.cdiv(M, BM) * columns
    a, b = tl.load(a_at + g).to(tl.pointer_type(tl.bfloat16)), tl.load(b_at + g).to(tl.pointer_type(tl.bfloat16))
    c = tl.load(c_at + g).to(tl.pointer_type(tl.bfloat16))
    while tile >= last and tile < last + count:
      i = (tile - last) // columns * BM + tl.arange(0, BM)
      j, k = (tile - last) % columns * BN + tl.arange(0, BN), tl.arange(0, BK)
      acc = tl.zeros((BM, BN), tl.float32)
      for step in range(0, K, BK):
        x = tl.load(a + i[:, None] * K + step + k[None, :], mask=i[:, None] < M, other=0.0)
        acc = tl.dot(x, tl.load(b + j[None, :] * K + step + k[:, None], mask=j[None, :] < N, other=0.0), acc)
      tl.store(c + i[:, None] * N + j[None, :], acc.to(tl.bfloat16), mask=(i[:, None] < M) & (j[None, :] < N))
      tile += WORKERS
    last += count


@triton.jit
def conv1d_kernel(x, w, bias, y, T, D, BT: tl.constexpr, BD: tl.constexpr, WIDTH: tl.constexpr):
  t, d = (tl.program_id(1) * BT + tl.arange(0, BT))[:, None], (tl.program_id(0) * BD + tl.arange(0, BD))[None, :]
  at = tl.program_id(2) * T * D
  acc = tl.load(bias + d).to(tl.float32) + tl.zeros((BT, BD), tl.float32)
  for j in tl.static_range(WIDTH):
    from_t = t - WIDTH + 1 + j
    acc += tl.load(x + at + from_t * D + d, mask=(from_t >= 0) & (from_t < T), other=0.0).to(tl.float32) * tl.load(w + d * WIDTH + j).to(tl.float32)
  tl.store(y + at + t * D + d, (acc / (1 + tl.exp(-acc))).to(y.dtype.element_ty), mask=t < T)


@triton.jit
def gemv_kernel(x, w, y, N, K, BN: tl.constexpr, BK: tl.constexpr):
  n, k = tl.program_id(0) * BN + tl.arange(0, BN), tl.arange(0, BK)
  acc = tl.zeros((BN, BK), tl.float32)
  for step in range(0, K, BK):
    acc += tl.load(w + n[:, None] * K + step + k[None, :], mask=n[:, None] < N, other=0.0).to(tl.float32) * tl.load(x + step + k).to(tl.float32)[None, :]
  tl.store(y + n, tl.sum(acc, 1).to(y.dtype.element_ty), mask=n < N)


@triton.jit
def quantise_kernel(x, y, scale, columns, B: tl.constexpr):
  row, i = tl.program_id(0), tl.arange(0, B)
  v = tl.load(x + row * columns + i, mask=i < columns, other=0.0).to(tl.float32)
  s = tl.max(tl.abs(v), 0) / 127
  tl.store(scale + row, s)
  q = v / s
  tl.store(y + row * columns + i, tl.where(q >= 0, q + 0.5, q - 0.5).to(tl.int32).to(tl.int8), mask=i < columns)


@triton.jit
def topk_kernel(x, weights, ids, E: tl.constexpr, K: tl.constexpr):
  row, e, slot = tl.program_id(0), tl.arange(0, E), tl.arange(0, K)
  v = tl.load(x + row * E + e)
  chosen, at = tl.zeros((K,), tl.float32), tl.zeros((K,), tl.int32)
  for d in tl.static_range(K):
    best, where = tl.max(v, 0), tl.argmax(v, 0)
    chosen, at = tl.where(slot == d, best, chosen), tl.where(slot == d, where, at)
    v = tl.where(e == where, -float("inf"), v)
  p = tl.exp(chosen - tl.max(chosen, 0))
  tl.store(weights + row * K + slot, p / tl.sum(p, 0))
  tl.store(ids + row * K + slot, at)


@triton.jit
def swap_axes_kernel(x, y, S, H, D: tl.constexpr, BS: tl.constexpr):
  s, d = (tl.program_id(0) * BS + tl.arange(0, BS))[:, None], tl.arange(0, D)[None, :]
  h, b = tl.program_id(1), tl.program_id(2)
  v = tl.load(x + ((b * S + s) * H + h) * D + d, mask=s < S)
  tl.store(y + ((b * H + h) * S + s) * D + d, v, mask=s < S)


@triton.jit
def scatter_add_kernel(x, ids, table, D: tl.constexpr):
  d = tl.arange(0, D)
  tl.atomic_add(table + tl.load(ids + tl.program_id(0)) * D + d, tl.load(x + tl.program_id(0) * D + d).to(tl.float32))


@triton.jit
def cumsum_kernel(x, out, rows, columns, B: tl.constexpr, BC: tl.constexpr):
  i, j = tl.arange(0, B)[:, None], (tl.program_id(0) * BC + tl.arange(0, BC))[None, :]
  m = (i < rows) & (j < columns)
  tl.store(out + i * columns + j, tl.cumsum(tl.load(x + i * columns + j, mask=m, other=0.0), 0), mask=m)


# ---- what they shall give ---------------------------------------------------------------------------------------------------

def generator(seed=1): return np.random.default_rng(seed)


def add(n):
  def go(d):
    x, y = generator().standard_normal((2, n)).astype(np.float32)
    out = d.empty(n, np.float32)
    run(add_kernel, (-(-n // 1024),), d.array(x), d.array(y), out, n, B=1024)
    same(out, x + y)
  return go


def softmax(m, n, dtype, warps):
  def go(d):
    x = generator().standard_normal((m, n)).astype(np.float32) * 4
    x = to_bf16(x) if dtype == "bf16" else x.astype(dtype)
    out = d.empty((m, n), x.dtype)
    run(softmax_kernel, (m,), d.array(x), out, n, B=1 << (n - 1).bit_length(), num_warps=warps)
    v = bits(x) if dtype == "bf16" else x.astype(np.float64)
    p = np.exp(v - v.max(1, keepdims=True)); p /= p.sum(1, keepdims=True)
    close(bits(out) if dtype == "bf16" else out, p, 2.0**-8 if dtype == "bf16" else 2.0**-10 if dtype == "float16" else 2e-6, 1e-7)
  return go


def layernorm(m, n):
  def go(d):
    r = generator()
    x = r.standard_normal((m, n)).astype(np.float16)
    gamma, beta = r.standard_normal((2, n)).astype(np.float32)
    out = d.empty((m, n), np.float16)
    run(layernorm_kernel, (m,), d.array(x), d.array(gamma), d.array(beta), out, n, B=1 << (n - 1).bit_length())
    v = x.astype(np.float64)
    close(out, (v - v.mean(1, keepdims=True)) / np.sqrt(v.var(1, keepdims=True) + 1e-5) * gamma + beta, 2.0**-10, 1e-4)
  return go


def matmul(m, n, k, dtype, bm, bn, bk, **meta):
  def go(d):
    r = generator()
    types = {}
    if dtype == "int8": a, b = (r.integers(-128, 128, s).astype(np.int8) for s in ((m, k), (k, n))); A, B = a, b
    elif dtype == "bf16": a, b = (to_bf16(r.standard_normal(s)) for s in ((m, k), (k, n))); A, B = bits(a), bits(b)
    elif dtype == "fp8":
      a, b = ((r.integers(0x20, 0x50, s) | r.integers(0, 2, s) << 7).astype(np.uint8) for s in ((m, k), (k, n)))
      bias = 8 if d.arch == "gfx942" else 7
      value = lambda x: np.where(x & 128, -1.0, 1.0) * np.ldexp(1 + (x & 7) / 8, ((x >> 3) & 15).astype(int) - bias)
      A, B = value(a), value(b)
      types = dict.fromkeys(("a", "b"), "fp8e4b8" if d.arch == "gfx942" else "fp8e4nv")
    else: a, b = (r.standard_normal(s).astype(dtype) for s in ((m, k), (k, n))); A, B = a, b
    A, B = np.asarray(A, np.float64), np.asarray(B, np.float64)
    out = d.empty((m, n), np.int32 if dtype == "int8" else np.float32)
    run(matmul_kernel, (-(-m // bm) * -(-n // bn),), d.array(a), d.array(b), out, m, n, k, k, n, n, types=types, BM=bm, BN=bn, BK=bk, GROUP=4, INT=dtype == "int8", **meta)
    close(out, A @ B, 0 if dtype == "int8" else 1e-6, 0 if dtype == "int8" else np.abs(A) @ np.abs(B) * k * 2.0**-24)
  return go


def attention(s, dim, causal):
  def go(d):
    q, k, v = (generator(x).standard_normal((2, s, dim)).astype(np.float16) for x in (1, 2, 3))
    o = d.empty((2, s, dim), np.float16)
    run(attention_kernel, (-(-s // 64), 2), d.array(q), d.array(k), d.array(v), o, s, float(dim**-0.5), D=dim, BM=64, BN=32, CAUSAL=causal, num_stages=2)
    Q, K, V = (x.astype(np.float64) for x in (q, k, v))
    scores = Q @ K.transpose(0, 2, 1) * dim**-0.5
    if causal: scores = np.where(np.tril(np.ones((s, s))) == 1, scores, -np.inf)
    p = np.exp(scores - scores.max(2, keepdims=True)); p /= p.sum(2, keepdims=True)
    close(o, p @ V, 2.0**-10, p @ np.abs(V) * 2.0**-9)
  return go


def simple(name):
  def go(d):
    r = generator()
    if name == "scan":
      x = r.integers(-1000, 1000, (3, 1000)).astype(np.int32); out = d.empty(x.shape, np.int32)
      run(scan_kernel, (3,), d.array(x), out, 1000, B=1024); same(out, x.cumsum(1))
    if name == "sort":
      x = r.standard_normal((2, 1024)).astype(np.float32); out = d.empty(x.shape, np.float32)
      run(sort_kernel, (2,), d.array(x), out, B=1024); same(out, np.sort(x, 1))
    if name == "histogram":
      x = r.integers(0, 128, 5000).astype(np.int32); out = d.array(np.zeros(128, np.int32))
      run(histogram_kernel, (5,), d.array(x), out, 5000, B=1024, BINS=128); same(out, np.bincount(x, minlength=128))
    if name == "argmax":
      x = r.standard_normal((5, 700)).astype(np.float32); out = d.empty(5, np.int32)
      run(argmax_kernel, (5,), d.array(x), out, 700, B=1024); same(out, x.argmax(1))
    if name == "transpose":
      x = r.standard_normal((100, 70)).astype(np.float32); out = d.empty((70, 100), np.float32)
      run(transpose_kernel, (4, 3), d.array(x), out, 100, 70, B=32); same(out, x.T)
    if name == "dropout":
      x = np.ones(4000, np.float32); out = d.empty(4000, np.float32)
      run(dropout_kernel, (4,), d.array(x), out, 4000, 0.5, 123, B=1024)
      same(np.unique(out), [0, 2]); close(np.mean(out), 1, 0, 0.1, "mean")
    if name == "gather":
      t, ids = r.standard_normal((50, 256)).astype(np.float16), r.integers(0, 50, 33).astype(np.int32); out = d.empty((33, 256), np.float16)
      run(gather_kernel, (33,), d.array(t), d.array(ids), out, D=256); same(out, t[ids])
    if name == "split k":
      a, b = r.standard_normal((64, 512)).astype(np.float16), r.standard_normal((512, 64)).astype(np.float16); c = d.array(np.zeros((64, 64), np.float32))
      run(split_k_kernel, (1, 1, 4), d.array(a), d.array(b), c, 64, 64, 512, BM=64, BN=64, BK=32, SPLIT=4)
      A, B = a.astype(np.float64), b.astype(np.float64); close(c, A @ B, 1e-6, np.abs(A) @ np.abs(B) * 512 * 2.0**-24)
  return go


def two(n): return 1 << (n - 1).bit_length()
def silu(x): return x / (1 + np.exp(-x))


def rows_of(name, m, n, dtype="float16"):
  """Kernels with a row for each program."""
  def go(d):
    r = generator()
    x = r.standard_normal((m, n)).astype(dtype)
    X, u = x.astype(np.float64), 2.0**-10 if dtype == "float16" else 2e-6
    B = two(n)
    if name in ("row sum", "row max"):
      out = d.empty(m, np.float32)
      run(row_reduce_kernel, (m,), d.array(x), out, n, B=B, MAX=name == "row max")
      close(out, X.max(1) if name == "row max" else X.sum(1), 0, np.abs(X).sum(1) * n * 2.0**-24)
    if name == "log softmax":
      out = d.empty((m, n), dtype)
      run(log_softmax_kernel, (m,), d.array(x), out, n, B=B)
      c = X - X.max(1, keepdims=True)
      close(out, c - np.log(np.exp(c).sum(1, keepdims=True)), u, 1e-5)
    if name == "layernorm backward":
      dy, w = r.standard_normal((m, n)).astype(dtype), r.standard_normal(n).astype(dtype)
      dx = d.empty((m, n), dtype)
      run(layernorm_backward_kernel, (m,), d.array(dy), d.array(x), d.array(w), dx, n, B=B)
      g, c = dy.astype(np.float64) * w.astype(np.float64), X - X.mean(1, keepdims=True)
      s = 1 / np.sqrt((c * c).mean(1, keepdims=True) + 1e-5)
      close(dx, s * (g - g.mean(1, keepdims=True) - c * (g * c).mean(1, keepdims=True) * s * s), u, 1e-4)
    if name.startswith("cross entropy"):
      t = r.integers(0, n, m).astype(np.int32)
      top = X.max(1)
      log = top + np.log(np.exp(X - top[:, None]).sum(1))
      if name == "cross entropy":
        loss, lse = d.empty(m, np.float32), d.empty(m, np.float32)
        run(cross_entropy_kernel, (m,), d.array(x), d.array(t), loss, lse, n, B=B)
        close(lse, log, 1e-5, 1e-5); close(loss, log - X[np.arange(m), t], 1e-5, 1e-4)
      else:
        weight = r.standard_normal(m).astype(np.float32)
        dx = d.empty((m, n), dtype)
        run(cross_entropy_backward_kernel, (m,), d.array(x), d.array(log.astype(np.float32)), d.array(t), d.array(weight), dx, n, B=B)
        p = np.exp(X - log[:, None])
        p[np.arange(m), t] -= 1
        close(dx, p * weight[:, None], u, 1e-6)
    if name == "silu and mul":
      both = r.standard_normal((m, 2, n)).astype(dtype)
      out = d.empty((m, n), dtype)
      run(silu_and_mul_kernel, (m,), d.array(both), out, n, B=B)
      close(out, silu(both[:, 0].astype(np.float64)) * both[:, 1], u, 1e-5)
    if name == "quantise":
      y, scale = d.empty((m, n), np.int8), d.empty(m, np.float32)
      run(quantise_kernel, (m,), d.array(x), y, scale, n, B=B)
      s = np.abs(X).max(1) / 127
      close(scale, s, 1e-6); close(y, np.rint(X / s[:, None]), 0, 1)
    if name == "topk gating":
      k = 8
      weights, ids = d.empty((m, k), np.float32), d.empty((m, k), np.int32)
      run(topk_kernel, (m,), d.array(x), weights, ids, E=n, K=k, num_warps=1)
      order = np.argsort(-X, 1, kind="stable")[:, :k]
      same(ids, order)
      p = np.exp(np.take_along_axis(X, order, 1) - X.max(1, keepdims=True))
      close(weights, p / p.sum(1, keepdims=True), 1e-5)
  return go


def products(name):
  """A[z] B[z]^T of bf16."""
  def go(d):
    r = generator()
    of = lambda *shape: to_bf16(r.standard_normal(shape))
    within = lambda A, B, k: np.abs(A) @ np.abs(np.swapaxes(B, -1, -2)) * k * 2.0**-24
    if name == "batched matmul":
      z, m, n, k = 4, 128, 128, 256
      a, b, c = of(z, m, k), of(z, n, k), d.empty((z, m, n), np.uint16)
      run(product_kernel, (2, 2, z), d.array(a), d.array(b), d.array(np.zeros(1, np.float32)), c, m, n, k, types=dict.fromkeys("abc", "bf16"), BM=64, BN=64, BK=64, GELU=False)
      close(bits(c), bits(a) @ np.swapaxes(bits(b), 1, 2), 2.0**-8, within(bits(a), bits(b), k))
    if name == "matmul bias gelu":
      m, n, k = 100, 128, 256
      a, b, c, bias = of(m, k), of(n, k), d.empty((m, n), np.uint16), r.standard_normal(n).astype(np.float32)
      run(product_kernel, (2, 2, 1), d.array(a), d.array(b), d.array(bias), c, m, n, k, types=dict.fromkeys("abc", "bf16"), BM=64, BN=64, BK=64, GELU=True)
      from math import erf
      x = bits(a) @ bits(b).T + bias
      close(bits(c), 0.5 * x * (1 + np.vectorize(erf)(x / 2**0.5)), 2.0**-8, 1.2 * within(bits(a), bits(b), k) + 1e-5)
    if name == "swiglu matmul":
      m, n, k = 128, 128, 256
      x, gate, up, y = of(m, k), of(n, k), of(n, k), d.empty((m, n), np.uint16)
      run(swiglu_kernel, (2, 2), d.array(x), d.array(gate), d.array(up), y, m, n, k, types=dict.fromkeys(("x", "gate", "up", "y"), "bf16"), BM=64, BN=64, BK=64)
      g, u = bits(x) @ bits(gate).T, bits(x) @ bits(up).T
      close(bits(y), silu(g) * u, 2.0**-7, (np.abs(u) + np.abs(g)) * 1e-3)
    if name == "grouped matmul by pointers":
      ms, n, k = (300, 0, 17, 64), 128, 256
      a, b = [of(max(m, 1), k) for m in ms], [of(n, k) for _ in ms]
      on = [[d.array(x) for x in xs] for xs in (a, b)] + [[d.empty((max(m, 1), n), np.uint16) for m in ms]]
      at = [d.array(np.array([x.ctypes.data for x in xs], np.int64)) for xs in on]
      run(grouped_matmul_kernel, (14,), *at, d.array(np.array(ms, np.int32)), n, k, len(ms), 14, BM=64, BN=64, BK=64)
      for m, x, y, c in zip(ms, a, b, on[2]):
        if m: close(bits(c), bits(x) @ bits(y).T, 2.0**-8, within(bits(x), bits(y), k))
    if name == "gemv":
      n, k = 1024, 4096
      x, w, y = of(k), of(n, k), d.empty(n, np.uint16)
      run(gemv_kernel, (n // 4,), d.array(x), d.array(w), y, n, k, types=dict.fromkeys("xwy", "bf16"), BN=4, BK=1024)
      close(bits(y), bits(w) @ bits(x), 2.0**-8, np.abs(bits(w)) @ np.abs(bits(x)) * k * 2.0**-24)
  return go


def moved(name):
  def go(d):
    r = generator()
    if name == "rope":
      tokens, heads, half, rows = 64, 32, 64, 4096
      x = r.standard_normal((tokens, heads, 2, half)).astype(np.float16)
      angle = np.arange(rows)[:, None] / 10000.0**(np.arange(half) / half)
      cos, sin, at = np.cos(angle).astype(np.float16), np.sin(angle).astype(np.float16), r.integers(0, rows, tokens).astype(np.int32)
      out = d.empty(x.shape, np.float16)
      run(rope_kernel, (tokens,), d.array(x), d.array(at), d.array(cos), d.array(sin), out, heads, H=32, HALF=half)
      X, C, S = x.astype(np.float64), cos[at].astype(np.float64)[:, None], sin[at].astype(np.float64)[:, None]
      close(out, np.stack((X[:, :, 0] * C - X[:, :, 1] * S, X[:, :, 1] * C + X[:, :, 0] * S), 2), 2.0**-10, 1e-5)
    if name == "group norm":
      b, groups, channels, pixels = 2, 32, 4, 1024
      x, (w, bias) = r.standard_normal((b, groups, channels, pixels)).astype(np.float16), r.standard_normal((2, groups, channels)).astype(np.float16)
      out = d.empty(x.shape, np.float16)
      run(group_norm_kernel, (b * groups,), d.array(x), d.array(w), d.array(bias), out, groups, channels, pixels, C=channels, P=pixels)
      X = x.astype(np.float64)
      c = X - X.mean((2, 3), keepdims=True)
      close(out, c / np.sqrt((c * c).mean((2, 3), keepdims=True) + 1e-5) * w[None, :, :, None] + bias[None, :, :, None], 2.0**-9, 1e-3)
    if name == "causal conv1d":
      b, t, c = 2, 100, 512
      x, w, bias = to_bf16(r.standard_normal((b, t, c))), to_bf16(r.standard_normal((c, 4))), to_bf16(r.standard_normal(c))
      y = d.empty(x.shape, np.uint16)
      run(conv1d_kernel, (c // 128, 4, b), d.array(x), d.array(w), d.array(bias), y, t, c, types=dict.fromkeys(("x", "w", "bias", "y"), "bf16"), BT=32, BD=128, WIDTH=4)
      padded = np.pad(bits(x), ((0, 0), (3, 0), (0, 0)))
      close(bits(y), silu(bits(bias) + sum(padded[:, j:j + t] * bits(w)[:, j] for j in range(4))), 2.0**-8, 1e-4)
    if name == "swap axes":
      b, s, h, e = 2, 100, 8, 128
      x, y = to_bf16(r.standard_normal((b, s, h, e))), d.empty((b, h, s, e), np.uint16)
      run(swap_axes_kernel, (4, h, b), d.array(x), y, s, h, types=dict.fromkeys("xy", "bf16"), D=e, BS=32)
      same(bits(y), np.swapaxes(bits(x), 1, 2))
    if name == "scatter add":
      x, ids = to_bf16(r.standard_normal((64, 1024))), r.integers(0, 1000, 64).astype(np.int32)
      table = d.array(np.zeros((1000, 1024), np.float32))
      run(scatter_add_kernel, (64,), d.array(x), d.array(ids), table, types={"x": "bf16"}, D=1024)
      want = np.zeros((1000, 1024)); np.add.at(want, ids, bits(x)); close(table, want, 1e-6, 1e-5)
    if name == "cumsum":
      x = r.standard_normal((256, 256)).astype(np.float32); out = d.empty(x.shape, np.float32)
      run(cumsum_kernel, (16,), d.array(x), out, 256, 256, B=256, BC=16)
      close(out, x.astype(np.float64).cumsum(0), 0, np.abs(x.astype(np.float64)).cumsum(0) * 256 * 2.0**-24)
  return go


def pingpong(d):
  m, n, k = 128, 128, 512
  r = generator()
  a, b = r.standard_normal((m, k)).astype(np.float32), r.standard_normal((k, n)).astype(np.float32)
  c = d.empty((m, n), np.float32)
  run(pingpong_kernel, (1,), d.array(a), d.array(b), c, M=m, N=n, K=k, BM=128, BN=128, BK=64, num_warps=8, num_stages=2, kpack=1, waves_per_eu=0)
  A, B = a.astype(np.float64), b.astype(np.float64)
  close(c, A @ B, 1e-6, np.abs(A) @ np.abs(B) * k * 2.0**-24)


ROWS = (("row sum", 64, 1000, "float16"), ("row max", 33, 2048, "float32"), ("log softmax", 8, 3000, "float16"), ("layernorm backward", 8, 1000, "float16"),
        ("cross entropy", 8, 4096, "float16"), ("cross entropy backward", 8, 4096, "float16"), ("silu and mul", 64, 1024, "float16"), ("quantise", 64, 1024, "float16"),
        ("topk gating", 64, 256, "float32"))
PRODUCTS = ("batched matmul", "matmul bias gelu", "swiglu matmul", "grouped matmul by pointers", "gemv")
MOVED = ("rope", "group norm", "causal conv1d", "swap axes", "scatter add", "cumsum")
cases = []
for arch in ("gfx942", "gfx950"):
  one = lambda name, go, argued=None: cases.append(Case(f"{arch} {name}", go, argued, arch))
  one("add 5000", add(5000))
  for m, n, t, w in ((4, 781, "float32", 4), (3, 2000, "float16", 8), (2, 4096, "bf16", 4)): one(f"softmax {m}x{n} {t}", softmax(m, n, t, w))
  for m, n in ((4, 1000), (2, 4096)): one(f"layernorm {m}x{n}", layernorm(m, n))
  for m, n, k, t, bm, bn, bk, meta in ((100, 150, 200, "float16", 64, 64, 32, {}), (128, 128, 256, "bf16", 128, 128, 64, dict(num_warps=8, num_stages=2)),
                                      (64, 96, 128, "float32", 32, 32, 32, {}), (128, 64, 256, "fp8", 64, 64, 64, {}), (130, 64, 256, "int8", 64, 64, 64, {}),
                                      (256, 256, 512, "float16", 256, 256, 64, dict(num_warps=8, num_stages=2)), (64, 64, 320, "float16", 64, 64, 32, dict(num_stages=3))):
    one(f"matmul {m}x{n}x{k} {t} tile {bm}x{bn}x{bk}{' stages ' + str(meta['num_stages']) if 'num_stages' in meta else ''}", matmul(m, n, k, t, bm, bn, bk, **meta))
  for s, dim, causal in ((128, 64, False), (200, 64, True), (100, 128, False)): one(f"attention {s}x{dim}{' causal' if causal else ''}", attention(s, dim, causal))
  for name in ("scan", "sort", "histogram", "argmax", "transpose", "dropout", "gather", "split k"): one(name, simple(name))
  for name, m, n, t in ROWS: one(f"{name} {m}x{n} {t}", rows_of(name, m, n, t))
  for name in PRODUCTS: one(name, products(name))
  for name in MOVED: one(name, moved(name))
  argued = {"waits": "issue 11696: s_barrier before the s_waitcnt of the ds_reads", "stress": "follows"} if version < (3, 8) and arch == "gfx942" else {}
  one("block ping-pong 128x128x512 float32", pingpong, argued)


if __name__ == "__main__":
  sys.exit(peers.run(device, cases, options))
