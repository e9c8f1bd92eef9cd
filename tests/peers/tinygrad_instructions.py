#!/usr/bin/env python3
"""Scalar and vector instructions one by one on this emulator and on tinygrad's (test/mockgpu/amd/emu.py), whose answer comes from
AMD's pseudo-code: where the two differ is printed, and docs/measurements/emulator.md explains it.

    git clone https://github.com/tinygrad/tinygrad
    INLAY_TINYGRAD=$PWD/tinygrad tests/peers/tinygrad_instructions.py [--only v_add] [--inlay build/release/bin/inlay]

Not part of ctest: every instruction costs tinygrad a compilation. Without a checkout it says so and succeeds.
"""
import argparse, ctypes, os, pathlib, re, struct, subprocess, sys, tempfile, random, math

root = pathlib.Path(__file__).resolve().parents[2]
parser = argparse.ArgumentParser()
parser.add_argument("--only", default="")
parser.add_argument("--inlay", default=str(root / "build/release/bin/inlay"))
parser.add_argument("--llvm-mc", default="llvm-mc-22")
parser.add_argument("--llvm-objcopy", default="llvm-objcopy-22")
parser.add_argument("--arch", default="gfx942")
options = parser.parse_args()

tinygrad = os.environ.get("INLAY_TINYGRAD")
if not tinygrad or not pathlib.Path(tinygrad, "test/mockgpu/amd/emu.py").exists():
  print("skipped: INLAY_TINYGRAD names no checkout of github.com/tinygrad/tinygrad")
  sys.exit(0)
sys.path.insert(0, tinygrad)
os.environ.setdefault("DEV", "CPU")
from test.mockgpu.amd.emu import run_asm  # noqa: E402

cpu = "cdna"

# ---- what there is, with the first operands that LLVM takes -------------------------------------------------------------
sections = {}
for line in (root / "docs/emulator_instructions.md").read_text().splitlines():
  if line.startswith("## "): section = line[3:]
  cells = [c.strip() for c in line.strip("|").split("|")]
  if len(cells) == 3 and cells[1 if options.arch == "gfx942" else 2] == "yes": sections.setdefault(section, []).append(cells[0])

def candidates(section, name):
  pairs = lambda n: [f"v{n}", f"v[{n}:{n + 1}]"]
  if section in ("SOP1", "SOP2", "SOPC"):
    s = lambda n: [f"s{n}", f"s[{n}:{n + 1}]"]
    if section == "SOPC": return [f"{name} {a}, {b}" for a in s(32) for b in s(34)]
    if section == "SOP1": return [f"{name} {d}, {a}" for d in s(40) for a in s(32)]
    return [f"{name} {d}, {a}, {b}" for d in s(40) for a in s(32) for b in s(34)]
  out = []
  d, a, b, c = pairs(20), pairs(8), pairs(10), pairs(12)
  for dst in d + ["vcc", "s[40:41]"] + [f"{x}, vcc" for x in d] + [f"{x}, s[40:41]" for x in d]:
    out += [f"{name} {dst}, {x}" for x in a]
    out += [f"{name} {dst}, {x}, {y}" for x in a for y in b]
    out += [f"{name} {dst}, {x}, {y}, vcc" for x in a[:1] for y in b[:1]]
    out += [f"{name} {dst}, {x}, {y}, {z}" for x in a for y in b for z in c]
  return out

def accepted(texts):
  run = subprocess.run([options.llvm_mc, "-triple=amdgcn", f"-mcpu={options.arch}", "-filetype=null"],
                       input="\n".join(texts) + "\n", capture_output=True, text=True)
  wrong = {int(m) for m in re.findall(r"^<stdin>:(\d+):\d+: error", run.stderr, re.M)}
  return [n + 1 not in wrong for n in range(len(texts))]

skip = re.compile(r"s_(getpc|setpc|swappc|cbranch|movrel|set_gpr|setvskip|rfe|.*exec)|v_(cmpx|readlane|writelane|readfirst|swap|permlane|nop|clrexcp|"
                  r"accvgpr|mfma|smfmac|cvt_scalef32|screen)")
instructions = []
for section in ("SOP1", "SOP2", "SOPC", "VOP1", "VOP2", "VOPC", "VOP3", "VOP3P"):
  names = [n for n in sections.get(section, []) if not skip.match(n) and n.startswith(options.only)]
  texts = [t for n in names for t in candidates(section, n)]
  good = accepted(texts)
  seen = set()
  for text, ok in zip(texts, good):
    name = text.split()[0]
    if ok and name not in seen:
      seen.add(name)
      instructions.append((section, name, text))
names = {}
instructions = [names.setdefault(i[1], i) for i in instructions if i[1] not in names]  # one encoding each

# ---- one kernel each ----------------------------------------------------------------------------------------------------
body = """
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_and_b32 v0, 0x3ff, v0
  v_lshlrev_b32 v1, 5, v0
  v_lshlrev_b32 v2, 4, v0
  s_waitcnt lgkmcnt(0)
  s_load_dwordx4 s[32:35], s[4:5], 0x0
  global_load_dwordx4 v[8:11], v1, s[4:5]
  global_load_dwordx4 v[12:15], v1, s[4:5] offset:16
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_mov_b32 v20, v14
  v_mov_b32 v21, v15
  s_mov_b32 s40, 0
  s_mov_b32 s41, 0
  s_mov_b32 vcc_lo, s34
  s_mov_b32 vcc_hi, s33
  s_cmp_eq_u32 s40, 0
  %s
  s_nop 4
  s_cselect_b32 s42, 1, 0
  v_mov_b32 v22, s40
  v_mov_b32 v23, s41
  global_store_dwordx4 v2, v[20:23], s[6:7]
  v_mov_b32 v24, vcc_lo
  v_mov_b32 v25, vcc_hi
  v_mov_b32 v26, s42
  v_mov_b32 v27, 0
  global_store_dwordx4 v2, v[24:27], s[6:7] offset:1024
  s_endpgm
"""
kernel = """.amdgcn_target "amdgcn-amd-amdhsa--{arch}"
.text
.globl k
.p2align 8
.type k,@function
k:{body}
.Lend:
.size k, .Lend-k
.rodata
.p2align 6
.amdhsa_kernel k
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_kernarg_size 16
  .amdhsa_next_free_vgpr 32
  .amdhsa_next_free_sgpr 48
  .amdhsa_accum_offset 32
  .amdhsa_float_denorm_mode_32 3
  .amdhsa_ieee_mode 1
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 48
    .vgpr_count: 32
    .max_flat_workgroup_size: 64
    .args:
      - {{.size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global}}
      - {{.size: 8, .offset: 8, .value_kind: global_buffer, .address_space: global}}
...
.end_amdgpu_metadata
"""

rng = random.Random(7)
def word(kind):
  edges = [0, 1, 0x80000000, 0x7fffffff, 0xffffffff, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000, 0x00800000, 0x00000123]
  k = rng.randrange(8)
  if k == 0: return rng.choice(edges)
  if kind == "float": return (rng.getrandbits(32) & 0x81ffffff) | 0x3e000000
  if kind == "double_high": return (rng.getrandbits(32) & 0x803fffff) | 0x3fc00000
  if kind == "half": return ((rng.getrandbits(32) & 0x8fff8fff) | 0x30003000)
  return rng.getrandbits(32) if k > 1 else rng.randrange(40)

def kind_of(name):
  return "double" if "f64" in name else "half" if "f16" in name else "float" if "f32" in name else "bits"

def inputs(name):
  kind = kind_of(name)
  out = []
  for _ in range(64):
    out += [word("double_high") if kind == "double" and n % 2 == 1 else word("bits" if kind == "double" else kind) for n in range(8)]
  return struct.pack("<512I", *out)

def on_tinygrad(text, data):
  with tempfile.TemporaryDirectory() as d:
    obj, raw = f"{d}/k.o", f"{d}/k.bin"
    subprocess.run([options.llvm_mc, "-triple=amdgcn-amd-amdhsa", f"-mcpu={options.arch}", "-filetype=obj", "-o", obj],
                   input=body % text, text=True, check=True)
    subprocess.run([options.llvm_objcopy, "-O", "binary", "--only-section=.text", obj, raw], check=True)
    code = pathlib.Path(raw).read_bytes() + bytes(64)
  lib = ctypes.create_string_buffer(code, len(code) + 256)
  at = (ctypes.addressof(lib) + 255) // 256 * 256
  ctypes.memmove(at, code, len(code))
  source = ctypes.create_string_buffer(data, len(data))
  result = ctypes.create_string_buffer(2048)
  arguments = (ctypes.c_uint64 * 2)(ctypes.addressof(source), ctypes.addressof(result))
  run_asm(at, len(code), 1, 1, 1, 64, 1, 1, ctypes.addressof(arguments), arch=cpu)
  return result.raw

def on_inlay(text, data):
  with tempfile.TemporaryDirectory() as d:
    pathlib.Path(f"{d}/k.s").write_text(kernel.format(arch=options.arch, body=body % text))
    pathlib.Path(f"{d}/in").write_bytes(data)
    subprocess.run([options.inlay, "exec", f"{d}/k.s", "--block", "64", "--check", "none", "--arg", f"in:{d}/in", "--arg", f"out:2048:{d}/out"],
                   check=True, capture_output=True, text=True)
    return pathlib.Path(f"{d}/out").read_bytes()

def nan_equal(name, x, y):
  """Bits agree, or both are NaN of the result's type: payloads are nobody's definition."""
  if x == y: return True
  fmt, n = {"double": ("<d", 8), "float": ("<f", 4), "half": ("<e", 2)}.get(kind_of(name), (None, 0))
  if fmt is None or name.startswith(("s_", "v_cmp")): return False
  for at in range(0, len(x), n):
    if x[at:at + n] != y[at:at + n] and not (math.isnan(struct.unpack(fmt, x[at:at + n])[0]) and math.isnan(struct.unpack(fmt, y[at:at + n])[0])):
      return False
  return True

equal, different, refused = [], [], []
for number, (section, name, text) in enumerate(instructions):
  if sys.stderr.isatty(): print(f"\r{number}/{len(instructions)} {name:30}", end="", file=sys.stderr)
  data = inputs(name)
  ours = on_inlay(text, data)
  try:
    theirs = on_tinygrad(text, data)
  except Exception as e:  # an instruction that tinygrad cannot compile is its answer
    refused.append(name)
    print("refused  ", name, (str(e).splitlines() or [type(e).__name__])[-1][:140], flush=True)
    continue
  lanes = [n for n in range(64) if not nan_equal(name, ours[16 * n:16 * n + 8], theirs[16 * n:16 * n + 8])
           or ours[16 * n + 8:16 * n + 16] != theirs[16 * n + 8:16 * n + 16] or ours[1024 + 16 * n:1040 + 16 * n] != theirs[1024 + 16 * n:1040 + 16 * n]]
  if not lanes:
    equal.append(name)
    continue
  n = lanes[0]
  show = lambda b, at, count: " ".join(f"{x:08x}" for x in struct.unpack(f"<{count}I", b[at:at + 4 * count]))
  different.append(name)
  print(f"different {text}  lanes {len(lanes)}, lane {n}\n    in     {show(data, 32 * n, 8)}\n    here   {show(ours, 16 * n, 4)} | {show(ours, 1024 + 16 * n, 3)}\n"
        f"    there  {show(theirs, 16 * n, 4)} | {show(theirs, 1024 + 16 * n, 3)}", flush=True)
if sys.stderr.isatty(): print(file=sys.stderr)
print(f"{options.arch}: {len(equal)} equal, {len(different)} different, {len(refused)} that tinygrad does not execute")
