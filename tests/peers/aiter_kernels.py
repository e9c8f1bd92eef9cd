#!/usr/bin/env python3
"""AITER's hand-tuned code objects on the emulator against numpy: int8, bf16, fp8 block-scale and fp4 products, attention.

    git clone https://github.com/ROCm/aiter
    INLAY_AITER=$PWD/aiter python3 tests/peers/aiter_kernels.py [--only 'gfx942 i8*'] [--findings]

Each code object of hsa/gfx942 and hsa/gfx950 in these families is a case: tiles from the csv file beside it, argument structures as
in csrc/py_itfs_cu/asm_*.cu and csrc/cpp_itfs/mha_fwd.cu: a slot of 16 bytes each. docs/measurements/strangers.md has the results and argues every
finding. Needs numpy and nothing else.
"""
import csv, os, pathlib, struct, subprocess, sys, tempfile

import peers  # first: it skips where there is no numpy
import numpy as np
from peers import Case, bits, close, same, to_bf16

parser = peers.arguments(__doc__.splitlines()[0])
parser.add_argument("--inlay", default=str(peers.root / "build/release/bin/inlay"), help="fp4: our kernel on the same buffers")
options = parser.parse_args()
checkout = os.environ.get("INLAY_AITER")
if not checkout or not pathlib.Path(checkout, "hsa/gfx942/i8gemm").exists(): peers.skip("INLAY_AITER names no checkout of github.com/ROCm/aiter")
if not pathlib.Path(options.library).exists(): peers.skip(options.library + " is not built")
device = peers.Device(options.library)
hsa = pathlib.Path(checkout, "hsa")


def slots(*values):
  """Arrays are pointers, ints u32, floats f32."""
  out = b""
  for v in values:
    if isinstance(v, np.ndarray): b = struct.pack("<Q", v.ctypes.data)
    elif v is None: b = bytes(8)
    elif isinstance(v, float): b = struct.pack("<f", v)
    else: b = struct.pack("<I", v)
    out += b.ljust(16, b"\0")
  return out


def start(file, grid, block, arguments):
  module = device.load((hsa / file).read_bytes())
  device.launch(device.kernel(module), grid, (block,), arguments)


def shuffled(b, rows=16):
  """[N][K bytes] as blocks [N/16][K/16 bytes][16][16]."""
  n, k = b.shape
  return np.ascontiguousarray(b.reshape(n // rows, rows, k // 16, 16).transpose(0, 2, 1, 3))


# ---- numbers -----------------------------------------------------------------------------------------------------------

def e4m3(fnuz):
  """The 256 values of an fp8 format."""
  c = np.arange(256)
  e, m, s = (c >> 3) & 15, c & 7, np.where(c & 128, -1.0, 1.0)
  bias = 8 if fnuz else 7
  v = s * np.where(e == 0, np.ldexp(m / 8.0, 1 - bias), np.ldexp(1 + m / 8.0, e - bias))
  v[0x80 if fnuz else 0x7f] = np.nan
  if not fnuz: v[0xff] = np.nan
  return v


fp8 = {"gfx942": e4m3(True), "gfx950": e4m3(False)}
fp4 = np.array([0, .5, 1, 1.5, 2, 3, 4, 6, -0.0, -.5, -1, -1.5, -2, -3, -4, -6])


def random_fp8(r, shape):
  """Codes 0x20..0x4f of either sign: products of very different size, and none that overflows."""
  return (r.integers(0x20, 0x50, shape) | r.integers(0, 2, shape) << 7).astype(np.uint8)


# ---- products ------------------------------------------------------------------------------------------------------------

def i8gemm(file, tile_m, tile_n, m, n, k, pad=0, split=1):
  def run(_):
    r = np.random.default_rng(1)
    a, b = r.integers(-128, 128, (m, k)).astype(np.int8), r.integers(-128, 128, (n, k)).astype(np.int8)
    sa, sb = (np.ldexp(1 + r.integers(0, 64, s) / 64, -4).astype(np.float32) for s in (m, n))
    stored = np.zeros((m, k + pad), np.int8); stored[:, :k] = a; stored[:, k:] = 77
    c = device.array(np.zeros((m, n), np.uint16)) if split > 1 else device.empty((m, n), np.uint16)
    start(file, (n // tile_n * split, -(-m // tile_m)), 256,
          slots(c, device.array(stored), device.array(shuffled(b.view(np.uint8))), device.array(sa), device.array(sb),
                device.array(np.zeros(n, np.float32)), m, n, k, k + pad, k, 2 * n, split))
    want = (a.astype(np.float64) @ b.T.astype(np.float64)) * sa[:, None] * sb
    close(bits(c), want, 2.0**-7 * split, 2.0**-7 * (split - 1) * np.abs(want).max())
  return run


def f8gemm(arch, file, tile_m, tile_n, m, n, k, split=1):
  def run(_):
    r = np.random.default_rng(2)
    a, b = random_fp8(r, (m, k)), random_fp8(r, (n, k))
    sa = np.ldexp(1 + r.integers(0, 64, (k // 128, m)) / 64, -4).astype(np.float32)
    sb = np.ldexp(1 + r.integers(0, 64, (-(-n // 128), k // 128)) / 64, -4).astype(np.float32)
    c = device.array(np.zeros((m, n), np.uint16)) if split > 1 else device.empty((m, n), np.uint16)
    start(file, (n // tile_n * split, -(-m // tile_m)), 256,
          slots(c, device.array(a), device.array(shuffled(b)), device.array(sa), device.array(sb), device.array(np.zeros(n, np.float32)),
                m, n, k, k, k, 2 * n, split, m, -(-n // 128), k // 128))
    A = fp8[arch][a] * np.repeat(sa.T.astype(np.float64), 128, 1)
    B = fp8[arch][b] * np.repeat(np.repeat(sb.astype(np.float64), 128, 1), 128, 0)[:n]
    size = np.abs(A) @ np.abs(B).T
    close(bits(c), A @ B.T, 2.0**-7, size * (k * 2.0**-24 + 2.0**-8 * (split - 1)))
  return run


def bf16gemm(file, tile_m, tile_n, m, n, k, shuffle, split=1, wide=False, bias=False):
  def run(_):
    r = np.random.default_rng(3)
    a, b = (to_bf16(r.standard_normal((x, k))) for x in (m, n))
    add = to_bf16(r.standard_normal(n))
    d = device.array(np.zeros((m, n), np.float32 if wide else np.uint16)) if split > 1 else device.empty((m, n), np.float32 if wide else np.uint16)
    stored = shuffled(b.view(np.uint8)) if shuffle else b
    start(file, (-(-n // tile_n), -(-m // tile_m), split), 256,
          slots(d, None, device.array(a), device.array(stored), 1.0, 0.0, n * d.itemsize, 0, n * d.itemsize, 0, 2 * k, 0, 2 * k, 0, m, n, k, split,
                0 if wide else 1, device.array(add) if bias else None, int(bias), device.array(np.zeros(16 * 64, np.uint32)) if split > 1 else None))
    A, B = bits(a), bits(b)
    size = np.abs(A) @ np.abs(B).T + np.abs(bits(add)) * bias
    close(d if wide else bits(d), A @ B.T + bits(add) * bias, 0 if wide else 2.0**-7, size * (k * 2.0**-24 + (0 if wide else 2.0**-8 * (split - 1))))
  return run


def scales_shuffled(s):
  """e8m0 scales as the kernels take them: blocks of 32 rows and 8 columns."""
  m, k = s.shape
  p = np.full((-(-m // 256) * 256, -(-k // 8) * 8), 127, np.uint8)
  p[:m, :k] = s
  m, k = p.shape
  return np.ascontiguousarray(p.reshape(m // 32, 2, 16, k // 8, 2, 4).transpose(0, 3, 5, 2, 4, 1)).reshape(m, k)


def ours(flags, name):
  """A kernel of this project for gfx950, built by the command that CMake built: what runs on the same buffers."""
  folder = tempfile.mkdtemp()
  subprocess.run([options.inlay, "build", name, "--arch", "gfx950", *flags, "-o", folder], check=True, stdout=subprocess.DEVNULL)
  module = device.load(pathlib.Path(folder, name + ".hsaco").read_bytes())
  return lambda grid, block, *values: device.launch(device.kernel(module), grid, (block,), b"".join(
    struct.pack("<Q", v.ctypes.data) if isinstance(v, np.ndarray) else struct.pack("<i", v) for v in values))


def f4gemm(file, tile_m, tile_n, m, n, k, shuffle, split=0):
  def run(_):
    r = np.random.default_rng(4)
    a, b = (r.integers(0, 256, (x, k // 2)).astype(np.uint8) for x in (m, n))
    sa, sb = (r.integers(122, 132, (x, k // 32)).astype(np.uint8) for x in (m, n))
    rows = -(-m // 32) * 32  # AITER's Python gives out that many and hands back the first m
    d = device.array(np.zeros((rows, n), np.uint16)) if split else device.empty((rows, n), np.uint16)
    da, db = device.array(a), device.array(shuffled(b) if shuffle else b)
    ra, rb = (device.array(scales_shuffled(s)) for s in (sa, sb))
    parts = -(-k // (-(-(k >> split) // 256) * 256)) if split else 1
    mine = None
    if not split and os.path.exists(options.inlay):  # before theirs, which may write past the end of its buffer
      mine = device.empty((m, n), np.uint16)
      ours(["--dtype", "fp4"], "preshuffle_gemm" if shuffle else "gemm")((-(-n // 128), -(-m // 128)), 256, mine, da, db, ra, rb, m, n, k)
      mine = np.array(mine)
    start(file, (-(-n // tile_n), -(-m // tile_m), parts), 256,
          slots(d, None, da, db, 1.0, 0.0, 0, 0, n, 0, k, 0, k, 0, m, n, k, ra, rb,
                ra.shape[1], 0, rb.shape[1], 0, split))
    value = lambda x, s: np.stack([fp4[x & 15], fp4[x >> 4]], 2).reshape(x.shape[0], -1) * np.repeat(np.ldexp(1.0, s.astype(int) - 127), 32, 1)
    A, B = value(a, sa), value(b, sb)
    size = np.abs(A) @ np.abs(B).T
    close(bits(d[:m]), A @ B.T, 2.0**-7, size * (k * 2.0**-24 + 2.0**-8 * (parts - 1)))
    if mine is None: return
    close(bits(mine), A @ B.T, 2.0**-7, size * k * 2.0**-24, "ours")
    # Both add in f32, in orders of their own: they may differ where the exact sum is as near as that to the middle of two bf16.
    x, y, exact = bits(mine), bits(d[:m]), A @ B.T
    tie = (x != y) & (np.abs(exact - (x + y) / 2) <= size * k * 2.0**-24)
    same(np.where(tie, y, x), y, "ours beside theirs")
    if tie.mean() > 1e-3: raise peers.Wrong(f"ours beside theirs: {tie.sum()} of {tie.size} differ by how f32 sums round")
  return run


# ---- attention ------------------------------------------------------------------------------------------------------------

def attention(arch, file, row, sq, sk, heads, kv_heads, batch=1):
  """Batch mode, [batch][sequence][head][dimension]; causal counts from the bottom right corner."""
  def run(_):
    r = np.random.default_rng(5)
    dq, dv, causal, group = int(row["hdim_q"]), int(row["hdim_v"]), row["mask"] != "0", row["mode"] == "1"
    small = row["dtype"] == "fp8bf16"
    if small:
      q, k, v = (random_fp8(r, (batch, s, h, d)) for s, h, d in ((sq, heads, dq), (sk, kv_heads, dq), (sk, kv_heads, dv)))
      Q, K, V = (fp8[arch][x] for x in (q, k, v))
      descale = [np.full((batch, kv_heads), x, np.float32) for x in (0.5, 0.25, 0.5)]
    else:
      q, k, v = (to_bf16(r.standard_normal((batch, s, h, d))) for s, h, d in ((sq, heads, dq), (sk, kv_heads, dq), (sk, kv_heads, dv)))
      Q, K, V = bits(q), bits(k), bits(v)
      descale = None
    scale = float(np.float32(1 / np.sqrt(dq)))
    o, lse = device.empty((batch, sq, heads, dv), np.uint16), device.empty((batch, heads, sq), np.float32)
    tile, size = int(row["ts_qo"]), q.itemsize
    old = arch == "gfx942" and (dq, dv) == (192, 128)
    tune = 0 if old else 3 if causal and heads % 8 else 5
    strides = lambda x: (x.shape[2] * x.shape[3] * x.itemsize, x.shape[3] * x.itemsize, x.shape[1] * x.shape[2] * x.shape[3] * x.itemsize)
    (q_row, q_head, q_batch), (k_row, k_head, k_batch), (v_row, v_head, v_batch), (o_row, o_head, o_batch) = (strides(x) for x in (q, k, v, o))
    starts = lambda s: device.array(np.arange(batch + 1, dtype=np.int32) * s)
    qs, ks = (starts(sq), starts(sk)) if group else (None, None)
    device_descale = [device.array(x) for x in descale] if small else [None] * 3
    lse_head = lse.shape[2] * 4 * (batch if group else 1)
    arguments = slots(o, device.array(q), device.array(k), device.array(v), lse, scale, sq, q_row, tile * q_row, q_head, 0 if group else q_batch, heads // kv_heads,
                      k_row, k_head, 0 if group else k_batch, tune, 1, sk, dq, dv, heads, v_row, v_head, 0 if group else v_batch, o_row, o_head,
                      0 if group else o_batch, qs, ks, lse_head, qs, ks, *device_descale, *((kv_heads * 4, 4) * 3 if small else (0,) * 6))
    halves = 2 if causal and not (old and group) else 1
    blocks = -(-(-(-sq // tile)) // halves)
    grid = (blocks, heads, batch)
    if old: grid = (heads, -(-sq // tile), batch)
    if group: grid = (heads, batch, blocks)
    start(file, grid, 256 if (dq, dv) == (192, 128) else 512, arguments)
    if small: scale *= float(descale[0][0, 0] * descale[1][0, 0])
    for b in range(batch):
      for h in range(heads):
        s = Q[b, :, h] @ K[b, :, h // (heads // kv_heads)].T * scale
        if causal: s[np.tril(np.ones((sq, sk)), sk - sq) == 0] = -np.inf
        top = s.max(1, keepdims=True)
        p = np.exp(s - top); total = p.sum(1, keepdims=True)
        want = p / total @ V[b, :, h // (heads // kv_heads)] * (descale[2][0, 0] if small else 1)
        size = p / total @ np.abs(V[b, :, h // (heads // kv_heads)]) * (descale[2][0, 0] if small else 1)
        # P is rounded to the input's type: half an ulp of each, and fp8's smallest step beside the largest P.
        step = 2.0**-4 if small else 2.0**-8
        close(bits(o[b, :, h]), want, 2.0**-7, size * step * 1.5 + (np.abs(V).max() * 0.5 * 2.0**-9 * np.sqrt(sk) if small else 1e-6), f"output of head {h}")
        if not group: close(lse[b, h], (top + np.log(total))[:, 0], 1e-3, 2e-3 if not small else 2.0**-4, f"lse of head {h}")
  return run


# ---- cases ----------------------------------------------------------------------------------------------------------------

# Each is argued in docs/measurements/strangers.md.
unfenced = {"races": "loads to LDS with no barrier after other waves' reads", "waits": "reads of LDS that no s_waitcnt covers", "stress": "follows from both"}
overtaken = {"waits": "reads still in flight when their wave comes to the barrier, then overwritten by loads to LDS", "stress": "follows"}

cases = []
for arch in ("gfx942", "gfx950"):
  def rows(folder, name):
    with open(hsa / arch / folder / name) as f: listed = {x["co_name"]: x for x in csv.DictReader(f)}
    return [(f"{arch}/{folder}/{co}", x) for co, x in sorted(listed.items())]

  for file, x in rows("i8gemm", "i8gemm_bf16_perTokenI8.csv"):
    m, n = int(x["tile_m"]), int(x["tile_n"])
    ragged = m + 5
    argued = {"races": "waves overwrite LDS that others may still read", "stress": "the same"} if (m, n) == (112, 256) else {}
    cases.append(Case(f"{arch} i8 {m}x{n}", i8gemm(file, m, n, ragged, 2 * n, 512), argued, arch))
    cases.append(Case(f"{arch} i8 {m}x{n} K 1280 lda +128", i8gemm(file, m, n, m, n, 1280, 128), argued, arch))
    if x["splitK"] == "1": cases.append(Case(f"{arch} i8 {m}x{n} split 2", i8gemm(file, m, n, m, n, 1024, 0, 2), argued, arch))
  for file, x in rows("fp8gemm_blockscale", "fp8gemm_bf16_blockscale.csv"):
    m, n = int(x["tile_m"]), int(x["tile_n"])
    cases.append(Case(f"{arch} fp8 block {m}x{n}", f8gemm(arch, file, m, n, m + 9, 2 * n, 512), {}, arch))
    cases.append(Case(f"{arch} fp8 block {m}x{n} K 1152", f8gemm(arch, file, m, n, m, n, 1152), {}, arch))
    if x["splitK"] == "1": cases.append(Case(f"{arch} fp8 block {m}x{n} split 2", f8gemm(arch, file, m, n, m, n, 1024, 2), {}, arch))
  for file, x in rows("bf16gemm", "bf16gemm_fp32bf16.csv"):
    m, n, shuffle, name = int(x["tileM"]), int(x["tileN"]), x["bPreshuffle"] == "1", file.split("tn_")[1][:-3]
    split = 2 if x["splitK"] == "1" else 1  # AITER gives such a kernel never less
    cases.append(Case(f"{arch} bf16 {name}", bf16gemm(file, m, n, m + 3, 2 * n, 512, shuffle, split, bias=x["bias"] == "1"), {}, arch))
    if x["bias"] == "1": cases.append(Case(f"{arch} bf16 {name} float", bf16gemm(file, m, n, m, n, 320, shuffle, split, wide=True), {}, arch))
    if split == 2: cases.append(Case(f"{arch} bf16 {name} split 3", bf16gemm(file, m, n, m, n, 640, shuffle, 3), {}, arch))
  if arch == "gfx950":
    for file, x in rows("f4gemm", "f4gemm_bf16_per1x32Fp4.csv"):
      m, n, shuffle = int(x["tile_M"]), int(x["tile_N"]), x["bpreshuffle"] == "1"
      name = f"{arch} fp4 {m}x{n}{'' if shuffle else ' plain'}"
      argued = overtaken if (m, n) in ((160, 256), (192, 256), (224, 256)) else {}
      # Without preshuffled B the kernel stores whole tiles, whatever M is: an output of whole tiles, and one that is too small.
      ragged = {} if shuffle else {"bounds": "stores all 256 rows of the last tile; AITER gives out rows up to a multiple of 32"}
      cases.append(Case(name, f4gemm(file, m, n, m + 7, n, 1024, shuffle), argued | ragged, arch))
      if not shuffle: cases.append(Case(name + " whole tiles", f4gemm(file, m, n, 2 * m, n, 1024, shuffle), {}, arch))
      if x["splitK"] == "1": cases.append(Case(name + " split 2", f4gemm(file, m, n, m, n, 2048, shuffle, 1), argued, arch))
  for file, x in rows("fmha_v3_fwd", "fmha_fwd.csv"):
    if arch == "gfx942": file = file.replace("fmha_v3_fwd/", "fmha_v3_fwd/MI300/")
    name = f"{arch} attention {file.rsplit('/fwd_', 1)[1][:-3]}"
    argued = unfenced if arch == "gfx950" and (x["dtype"] != "bf16" or x["hdim_q"] == "192") else {}
    cases.append(Case(name, attention(arch, file, x, 256, 256, 2, 1), argued, arch))
    if arch == "gfx950" and "hd128_bf16_causal" in file: argued = unfenced  # where the last rows have two more tiles of K
    cases.append(Case(name + " ragged", attention(arch, file, x, 300, 420, 2, 2, 2), argued, arch))


if __name__ == "__main__":
  sys.exit(peers.run(device, cases, options))
