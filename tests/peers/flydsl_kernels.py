#!/usr/bin/env python3
"""FlyDSL's shipped kernels, compiled by FlyDSL, run on the emulator through the HIP calls that FlyDSL makes, against numpy.

    pip install flydsl==0.3.2 torch numpy        (no GPU needed)
    git clone https://github.com/ROCm/FlyDSL     (the folder kernels/ is not in the wheel)
    INLAY_FLYDSL=$PWD/FlyDSL python3 tests/peers/flydsl_kernels.py [--only 'softmax*'] [--findings]

docs/measurements/strangers.md has the results and argues every finding.
"""
import fnmatch, os, pathlib, shutil, sys, tempfile

import peers
from peers import Case, Wrong, close, same

options = peers.arguments(__doc__.splitlines()[0]).parse_args()
checkout = os.environ.get("INLAY_FLYDSL")
if not checkout or not pathlib.Path(checkout, "kernels/norm/softmax_kernel.py").exists():
  peers.skip("INLAY_FLYDSL names no checkout of github.com/ROCm/FlyDSL")
if not pathlib.Path(options.library).exists(): peers.skip(options.library + " is not built")
device = peers.Device(options.library)  # first: FlyDSL's runtime shall find this libamdhip64
os.environ.setdefault("FLYDSL_RUNTIME_ENABLE_CACHE", "0")
os.environ.setdefault("FLYDSL_GPU_ARCH", "gfx942")
if "ROCM_PATH" not in os.environ:  # FlyDSL links with the lld that lies there
  rocm = tempfile.TemporaryDirectory()
  pathlib.Path(rocm.name, "llvm/bin").mkdir(parents=True)
  os.symlink(shutil.which("ld.lld-22") or shutil.which("ld.lld") or "ld.lld", rocm.name + "/llvm/bin/ld.lld")
  os.environ["ROCM_PATH"] = rocm.name
try:
  import numpy as np
  import torch
  import flydsl.compiler as flyc
  import flydsl.expr as fx
except ImportError as e:
  peers.skip(f"no FlyDSL here: {e}")
sys.path.insert(0, checkout)

bf16, f16, f32, i8 = torch.bfloat16, torch.float16, torch.float32, torch.int8
types = {"f32": f32, "f16": f16, "bf16": bf16, "fp16": f16}
# What one rounding to the output's type may cost, and the sums in float beside it.
ulp = {"f32": 2e-6, "f16": 2**-10, "bf16": 2**-7}
EPS = 1e-5


def wide(t):
  return t.detach().to(torch.float32).numpy().astype(np.float64)


def random(shape, dtype, seed=1, low=None, high=None):
  g = torch.Generator().manual_seed(seed)
  x = torch.randn(shape, generator=g) if low is None else torch.rand(shape, generator=g) * (high - low) + low
  return x.to(types.get(dtype, dtype))


def d(t): return device.tensor(t)
def e(shape, dtype): return device.empty_tensor(shape, types.get(dtype, dtype))


# ---- rows: softmax, layernorm, rmsnorm -------------------------------------------------------------------------------

def softmax(m, n, dtype):
  def run(_):
    from kernels.norm.softmax_kernel import build_softmax_module
    x = random((m, n), dtype, low=-2, high=2)
    out = e((m, n), dtype)
    build_softmax_module(m, n, dtype)(d(x), out, m)
    p = np.exp(wide(x)); p /= p.sum(1, keepdims=True)
    close(wide(out), p, 2 * ulp[dtype], 1e-7)
  return run


def softmax_bwd(m, n, dtype):
  def run(_):
    from kernels.norm.softmax_bwd_kernel import build_softmax_bwd_module
    y, dy = torch.softmax(random((m, n), "f32"), 1).to(types[dtype]), random((m, n), dtype, 2)
    dx = e((m, n), dtype)
    build_softmax_bwd_module(n, dtype)(d(dy), d(y), dx, m)
    Y, DY = wide(y), wide(dy)
    close(wide(dx), Y * (DY - (DY * Y).sum(1, keepdims=True)), 2 * ulp[dtype], 1e-6)
  return run


def layer(x, gamma, beta):
  return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + EPS) * gamma + beta


def rms(x, gamma):
  return x / np.sqrt((x * x).mean(1, keepdims=True) + EPS) * gamma


def quantized(want, q, scale):
  s = np.abs(want).max(1) / 127
  close(scale.numpy(), s, 1e-5, 0, "scale")
  close(q.numpy(), np.clip(np.trunc(want / s[:, None]), -127, 127), 0, 1, "quantized")


def norm(kind, m, n, dtype, add=False, quant=None):
  """`kind`: layer or rms; `add`: a residual first; `quant`: dynamic or smooth."""
  def run(_):
    import kernels.norm.layernorm_kernel as L, kernels.norm.rmsnorm_kernel as R
    name = f"build_{'fused_add_' if add else ''}{kind}norm_{quant + 'quant_' if quant else ''}module"
    launch = getattr(L if kind == "layer" else R, name)(n, dtype)
    x, residual = random((m, n), dtype), random((m, n), dtype, 2)
    gamma, beta, smooth = (random((n,), dtype, s, 0, 1) for s in (3, 4, 5))
    smooth = (smooth.float() + 0.5).to(types[dtype])
    source = (x + residual) if add else x
    want = layer(wide(source), wide(gamma), wide(beta)) if kind == "layer" else rms(wide(source), wide(gamma))
    if quant == "smooth": want = want * wide(smooth)
    inputs = [d(x)] + ([d(residual)] if add else []) + [d(gamma)] + ([d(beta)] if kind == "layer" else [])
    if quant == "smooth": inputs.append(d(smooth))
    out = e((m, n), i8 if quant else dtype)
    outputs = [out] + ([e((m, n), dtype)] if add else []) + ([e((m,), "f32")] if quant else [])
    if kind == "layer" and not add and not quant:
      element = {"f32": fx.Float32, "f16": fx.Float16, "bf16": fx.BFloat16}[dtype]
      inputs, passed = inputs, [flyc.from_c_void_p(element, t.data_ptr()) for t in inputs + outputs]
      launch(*passed, m)
    else:
      launch(*inputs, *outputs, m)
    if add: same(wide(outputs[1]), wide(source), "residual")
    if quant: quantized(want, out, outputs[-1])
    else: close(wide(out), want, 2 * ulp[dtype], 4e-6 if dtype == "f32" else 2 * ulp[dtype])
  return run


def rmsnorm_bwd(m, n, dtype, add=False):
  def run(_):
    import kernels.norm.rmsnorm_kernel as R
    x, weight, dy, dres = random((m, n), dtype), random((n,), dtype, 2, 0, 1), random((m, n), dtype, 3), random((m, n), dtype, 4)
    X, W, DY = wide(x), wide(weight), wide(dy)
    r = 1 / np.sqrt((X * X).mean(1, keepdims=True) + EPS)
    rstd = torch.from_numpy(r[:, 0].astype(np.float32))
    dx, dw = e((m, n), dtype), d(torch.zeros((n,)))
    launch = getattr(R, f"build_{'fused_add_' if add else ''}rmsnorm_bwd_module")(n, dtype)
    launch(d(x), d(weight), d(dy), *([d(dres)] if add else []), d(rstd), dx, dw, m)
    g = DY * W
    want = r * g - X * r**3 * (g * X).mean(1, keepdims=True) + (wide(dres) if add else 0)
    close(wide(dx), want, 2 * ulp[dtype], 4e-6 if dtype == "f32" else ulp[dtype], "dx")
    close(wide(dw), (DY * X * r).sum(0), 1e-5, 1e-5 * np.sqrt(m) * 4, "dweight")
  return run


# ---- products -----------------------------------------------------------------------------------------------------------

def fp8_type(): return torch.float8_e4m3fnuz if device.arch == "gfx942" else torch.float8_e4m3fn
def raw(t): return t.contiguous().view(torch.uint8 if t.dtype == torch.uint8 else torch.int8) if t.element_size() == 1 else t


def shuffled(t):
  """[N][K] as blocks [N/16][K bytes / 16][16 rows][16 bytes]."""
  b = t.contiguous().view(torch.uint8)
  n, k = b.shape
  return b.reshape(n // 16, 16, k // 16, 16).permute(0, 2, 1, 3).contiguous().view(t.dtype).view(t.shape)


def operands(m, n, k, dtype):
  """a, b, their scales and the same as float64."""
  if dtype == "int8":
    g = torch.Generator().manual_seed(1)
    a, b = (torch.randint(-128, 128, (x, k), generator=g, dtype=i8) for x in (m, n))
  elif dtype == "fp8": a, b = (random((x, k), "f32", s).to(fp8_type()) for x, s in ((m, 1), (n, 2)))
  else: return (a := random((m, k), dtype, 1)), (b := random((n, k), dtype, 2)), None, None, wide(a), wide(b)
  sa, sb = random((m,), "f32", 3, 0.01, 0.02), random((n,), "f32", 4, 0.01, 0.02)
  return a, b, sa, sb, wide(a) * wide(sa)[:, None], wide(b) * wide(sb)[:, None]


def product(out, A, B, k, bias=0, f=lambda x: x, name="bf16"):
  close(wide(out), f(A @ B.T + bias), 2 * ulp[name], np.abs(A) @ np.abs(B).T * k * 2.0**-24 + 1e-6)


def preshuffle(m, n, k, tile, dtype, **more):
  def run(_):
    from kernels.gemm.preshuffle_gemm import compile_preshuffle_gemm
    launch = compile_preshuffle_gemm(N=n, K=k, tile_m=tile[0], tile_n=tile[1], tile_k=tile[2], in_dtype=dtype, **more)
    a, b, sa, sb, A, B = operands(m, n, k, dtype)
    bias = random((n,), "bf16", 5)
    c, none = e((m, n), "bf16"), torch.empty(0)
    launch(c.view(-1), raw(d(a)).view(-1), raw(d(shuffled(b))).view(-1), d(sa) if sa is not None else none, d(sb) if sb is not None else none,
           d(bias), m, n, 0)
    kind = more.get("epilogue", "none")
    f = {"bias_relu": lambda x: np.maximum(x, 0), "bias_silu": lambda x: x / (1 + np.exp(-x))}.get(kind, lambda x: x)
    product(c, A, B, k, wide(bias) if kind != "none" else 0, f)
  return run


def fp8_waves(waves, m, n, k, tile, **more):
  def run(_):
    if waves == 8: from kernels.gemm.fp8_gemm_8wave import compile_fp8_gemm_8w as build
    else: from kernels.gemm.fp8_gemm_4wave import compile_fp8_gemm_4w as build
    a, b, sa, sb, A, B = operands(m, n, k, "fp8")
    c = e((m, n), "bf16")
    stored = shuffled(b) if more.get("b_preshuffled") else b
    build(K=k, BLOCK_M=tile[0], BLOCK_N=tile[1], **more)(raw(d(a)).view(-1), raw(d(stored)).view(-1), c.view(-1), d(sa), d(sb), m, n, 0)
    product(c, A, B, k)
  return run


def a16w16(m, n, k, dtype, layout="nt", **more):
  def run(_):
    import contextlib
    from kernels.gemm.gemm_a16w16_gfx950 import gemm_a16w16
    class NoStream: cuda_stream = 0
    torch.cuda.current_stream = lambda *_, stream=NoStream(): stream
    torch.cuda.device = lambda *_: contextlib.nullcontext()
    a, b = random((m, k), dtype, 1), random((n, k), dtype, 2)
    out = e((m, n), dtype)
    x = d(a.t().contiguous()).t() if layout[0] == "t" else d(a)
    y = d(b).t() if layout[1] == "t" else d(b.t().contiguous())
    gemm_a16w16(x, y, out, user_kwargs=more, layout=layout)
    if not out.any(): gemm_a16w16(x, y, out, user_kwargs=more, layout=layout)  # FlyDSL 0.4 compiles at the first call and launches from the second
    product(out, wide(a), wide(b), k, name=dtype)
  return run


# ---- attention -----------------------------------------------------------------------------------------------------------

def attend(q, k, v, causal):
  """[batch][sequence][head][dimension]; causal from the bottom right corner."""
  Q, K, V = (x.transpose(0, 2, 1, 3) for x in (q, k, v))
  K, V = (np.repeat(x, Q.shape[1] // x.shape[1], 1) for x in (K, V))
  s = Q @ K.transpose(0, 1, 3, 2) / np.sqrt(Q.shape[3])
  if causal: s = np.where(np.tril(np.ones(s.shape[2:]), s.shape[3] - s.shape[2]) == 1, s, -np.inf)
  p = np.exp(s - s.max(3, keepdims=True)); p /= p.sum(3, keepdims=True)
  return (p @ V).transpose(0, 2, 1, 3), (p @ np.abs(V)).transpose(0, 2, 1, 3)


def flash(kind, batch, length, heads, kv_heads, dim, dtype, causal, **more):
  def run(_):
    q, k, v = (random((batch, length, h, dim), "f32", s) for h, s in ((heads, 1), (kv_heads, 2), (kv_heads, 3)))
    t = fp8_type() if dtype == "fp8" else types[dtype]
    q, k, v = q.to(t), k.to(t), v.to(t)
    out = e((batch, length, heads, dim), "bf16" if dtype == "fp8" else dtype)
    x, y, z = (raw(d(w)) for w in (q, k, v))
    if kind == "generic":
      from kernels.attention.flash_attn_generic import build_flash_attn_func_module_primary as build
      build(num_heads=heads, head_dim=dim, causal=causal, dtype_str=dtype, num_kv_heads=kv_heads, **more)(x, y, z, out, batch, length)
    elif kind == "dual":
      from kernels.attention.flash_attn_gfx950 import build_flash_attn_dualwave_swp_module as build
      build(num_heads=heads, head_dim=dim, causal=causal, dtype_str=dtype, num_kv_heads=kv_heads, **more)(x, y, z, out, batch, length)
    else:
      from kernels.attention.flash_attn_fp8_gfx950 import build_flash_attn_dualwave_swp_fp8_module as build
      one = d(torch.ones(1))
      launch = build(num_heads=heads, head_dim=dim, causal=causal, dtype_str="fp8", num_kv_heads=kv_heads, **more)
      again = lambda: launch(x.view(-1), y.view(-1), z.view(-1), out.view(-1), batch, length, q_descale=one, k_descale=one, v_descale=one)
      again()
      if not out.any(): again()  # as above
    want, size = attend(wide(q), wide(k), wide(v), causal)
    step = 2.0**-4 if dtype == "fp8" else ulp[dtype]
    close(wide(out), want, 2 * ulp["bf16" if dtype == "fp8" else dtype], size * step + 1e-6)
  return run


cases = []
for arch in ("gfx942", "gfx950"):
  for m, n, t in ((64, 256, "f32"), (16, 512, "bf16"), (33, 2000, "f32"), (8, 8192, "bf16"), (32, 128, "f16"), (4, 1024, "f16")):
    cases.append(Case(f"{arch} softmax {m}x{n} {t}", softmax(m, n, t), arch=arch))
  for m, n, t in ((4, 1024, "f32"), (3, 2048, "bf16"), (2, 1000, "f16")):
    cases.append(Case(f"{arch} softmax backward {m}x{n} {t}", softmax_bwd(m, n, t), arch=arch))
  for kind in ("layer", "rms"):
    for m, n, t in ((8, 256, "f32"), (4, 2000, "f32"), (4, 512, "f16"), (2, 8192, "bf16")):
      cases.append(Case(f"{arch} {kind}norm {m}x{n} {t}", norm(kind, m, n, t), arch=arch))
    for add in (False, True):
      for quant in ("dynamic", "smooth") if not add else (None, "dynamic", "smooth"):
        m, n, t = (4, 2048, "bf16") if quant != "smooth" else (3, 1000, "f16")
        cases.append(Case(f"{arch} {kind}norm{' add' if add else ''}{' ' + quant if quant else ''} {m}x{n} {t}",
                          norm(kind, m, n, t, add, quant), arch=arch))
  for add in (False, True):
    for m, n, t in ((8, 1024, "f32"), (4, 2048, "bf16")):
      cases.append(Case(f"{arch} rmsnorm{' add' if add else ''} backward {m}x{n} {t}", rmsnorm_bwd(m, n, t, add), arch=arch))

  one = lambda name, run, argued=None: cases.append(Case(f"{arch} {name}", run, argued, arch))
  for t in ("fp8", "int8", "fp16", "bf16"):
    one(f"preshuffle 33x128x1024 {t}", preshuffle(33, 128, 1024, (32, 64, 512), t))
    one(f"preshuffle 64x256x512 {t} one stage", preshuffle(64, 256, 512, (64, 128, 128), t, lds_stage=1))
  one("preshuffle 32x128x512 fp8 bias relu", preshuffle(32, 128, 512, (32, 128, 256), "fp8", epilogue="bias_relu"))
  one("preshuffle 32x128x512 bf16 bias silu", preshuffle(32, 128, 512, (32, 128, 256), "bf16", epilogue="bias_silu"))
  for t, dim, causal in (("bf16", 64, True), ("f16", 128, False), ("bf16", 128, True)):
    one(f"attention generic 2x200 {t} {dim}{' causal' if causal else ''}", flash("generic", 2, 200, 4, 2, dim, t, causal))
  if arch == "gfx950":
    for t in ("fp8", "bf16"): one(f"preshuffle 64x256x1024 {t} async", preshuffle(64, 256, 1024, (64, 128, 256), t, use_async_copy=True))
    for shuffle in (False, True):
      name = " preshuffled" if shuffle else ""
      one(f"fp8 8 waves 256x256x512{name}", fp8_waves(8, 256, 256, 512, (256, 256), b_preshuffled=shuffle))
      one(f"fp8 4 waves 256x256x512{name}", fp8_waves(4, 256, 256, 512, (256, 256), b_preshuffled=shuffle))
    one("fp8 8 waves 200x256x384", fp8_waves(8, 200, 256, 384, (128, 256)))
    base = dict(block_m=128, block_n=128, block_k=64, stages=2, split_k=1, use_half_tile_interleaved=False)
    for t in ("bf16", "f16"):
      for layout in ("nt", "nn", "tn", "tt"): one(f"a16w16 256x256x256 {t} {layout}", a16w16(256, 256, 256, t, layout))
    for t, dim, causal in (("bf16", 128, True), ("bf16", 128, False), ("f16", 64, False)):
      one(f"attention dual wave 1x512 {t} {dim}{' causal' if causal else ''}", flash("dual", 1, 512, 2, 1, dim, t, causal))
    for causal in (False, True): one(f"attention fp8 1x512 128{' causal' if causal else ''}", flash("fp8", 1, 512, 2, 1, 128, "fp8", causal))


# What is known of them; docs/measurements/strangers.md argues each.
known = (
  ("softmax [0-9]*", {"races": "the second reduction overwrites what other waves still read of the first", "stress": "follows"}),
  ("layernorm *dynamic*", {"races": "as in softmax", "stress": "follows"}),
  ("*norm *smooth*", {"races": "as in softmax", "stress": "follows"}),
  ("preshuffle 33* *8", {"bounds": "four scales of A are read where M ends after one"}),
  ("fp8 8 waves*", {"waits": "LDS loads and reads in flight at barriers", "stress": "follows", "barrier": "half of the waves pass one barrier more"}),
  ("fp8 4 waves*", {"waits": "reads in flight at barriers, then overwritten by loads to LDS", "stress": "follows"}),
  ("a16w16*", {"waits": "LDS that a load has not filled when the barrier lets others read it", "stress": "follows", "barrier": "half of the waves pass one barrier more"}),
  ("attention fp8*", {"waits": "transposing reads in flight at barriers, then overwritten by loads to LDS", "stress": "follows", "barrier": "half of the waves pass one barrier more"}),
)
for case in cases:
  for pattern, argued in known:
    if fnmatch.fnmatch(case.name.split(" ", 1)[1], pattern): case.argued = argued


def set_up(arch):
  os.environ["FLYDSL_GPU_ARCH"] = arch


if __name__ == "__main__":
  sys.exit(peers.run(device, cases, options, set_up))
