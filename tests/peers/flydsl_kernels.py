#!/usr/bin/env python3
"""FlyDSL's shipped kernels, compiled by FlyDSL, run on the emulator through the HIP calls that FlyDSL makes, against numpy.

    pip install flydsl==0.3.2 torch numpy        (no GPU needed)
    git clone https://github.com/ROCm/FlyDSL     (the folder kernels/ is not in the wheel)
    INLAY_FLYDSL=$PWD/FlyDSL python3 tests/peers/flydsl_kernels.py [--only 'softmax*'] [--findings]

docs/strangers.md has the results and argues every finding.
"""
import os, pathlib, shutil, sys, tempfile

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


def set_up(arch):
  os.environ["FLYDSL_GPU_ARCH"] = arch


if __name__ == "__main__":
  sys.exit(peers.run(device, cases, options, set_up))
