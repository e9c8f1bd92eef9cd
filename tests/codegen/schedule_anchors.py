#!/usr/bin/env python3
"""Our loops against hand-written ones of the same tile: `inlay compare --json` for each, one table; and where a launch of the
hand-written one is known (tests/runtime/timing/end_to_end.py), `inlay compare --time` of one launch of both: then criteria 6, 8, 11,
12, 14 and 15 are decided by the cycle model. --static leaves that out.

    git clone https://github.com/ROCm/aiter
    git clone https://github.com/ROCm/hipBLASLt
    INLAY_AITER=$PWD/aiter INLAY_HIPBLASLT=$PWD/hipBLASLt python3 tests/codegen/schedule_anchors.py build/release/bin/inlay

Rows whose anchor is not there are named and skipped. docs/measurements/codegen.md has the table.
"""
import json, os, pathlib, re, shlex, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "runtime" / "timing"))
import end_to_end

words = [a for a in sys.argv[1:] if a != "--static"]
inlay = words[0] if words else "build/release/bin/inlay"
hsa = pathlib.Path(os.environ.get("INLAY_AITER", "/nowhere")) / "hsa"
custom = pathlib.Path(os.environ.get("INLAY_HIPBLASLT", "/nowhere")) / "tensilelite/Tensile/CustomKernels"
hipblaslt = lambda kind, tile: custom / f"Custom_Cijk_Alik_Bljk_{kind}_UserArgs_MT{tile}_MI16x16x1_SN_K1_MIWT4_16_DTVA.s"
triton = pathlib.Path(__file__).parent.parent / "isa" / "triton"

# what, architecture, kernel, type, tile, waves, anchor, options: tiles go straight to LDS, as the hand-written ones, unless a row says
# otherwise; where the library's pipeline is not the one that all criteria ask for, the row says which is.
rows = [
    ("i8 128x128", "gfx942", "preshuffle_gemm", "i8", "128x128x128", "1x4", hsa / "gfx942/i8gemm/I8gemm_bf16_perTokenI8_BpreShuffle_128x128.co"),
    ("i8 96x128", "gfx942", "preshuffle_gemm", "i8", "96x128x128", "1x4", hsa / "gfx942/i8gemm/I8gemm_bf16_perTokenI8_BpreShuffle_96x128.co"),
    ("i8 64x128", "gfx942", "preshuffle_gemm", "i8", "64x128x128", "1x4", hsa / "gfx942/i8gemm/I8gemm_bf16_perTokenI8_BpreShuffle_64x128.co"),
    ("i8 112x256", "gfx942", "preshuffle_gemm", "i8", "112x256x128", "1x4", hsa / "gfx942/i8gemm/I8gemm_bf16_perTokenI8_BpreShuffle_112x256.co", "--stagger yes --pipeline 'within 80, trips 2, loads 50'"),
    ("i8 160x128", "gfx942", "preshuffle_gemm", "i8", "160x128x128", "1x4", hsa / "gfx942/i8gemm/I8gemm_bf16_perTokenI8_BpreShuffle_160x128.co"),
    ("i8 80x128", "gfx942", "preshuffle_gemm", "i8", "80x128x128", "1x4", hsa / "gfx942/i8gemm/I8gemm_bf16_perTokenI8_BpreShuffle_80x128.co"),
    ("i8 48x128", "gfx942", "preshuffle_gemm", "i8", "48x128x128", "1x4", hsa / "gfx942/i8gemm/I8gemm_bf16_perTokenI8_BpreShuffle_48x128.co"),
    ("i8 32x128", "gfx942", "preshuffle_gemm", "i8", "32x128x128", "1x4", hsa / "gfx942/i8gemm/I8gemm_bf16_perTokenI8_BpreShuffle_32x128.co"),
    ("i8 16x128", "gfx942", "preshuffle_gemm", "i8", "16x128x128", "1x4", hsa / "gfx942/i8gemm/I8gemm_bf16_perTokenI8_BpreShuffle_16x128.co"),
    ("bf16 160x64", "gfx942", "preshuffle_gemm", "bf16", "160x64x64", "1x4", hsa / "gfx942/bf16gemm/bf16gemm_fp32bf16_tn_160x64_bshuffle_splitk_clean.co", "--pipeline 'within 50' --stagger yes"),
    ("bf16 128x64", "gfx942", "preshuffle_gemm", "bf16", "128x64x64", "1x4", hsa / "gfx942/bf16gemm/bf16gemm_fp32bf16_tn_128x64_bshuffle_splitk_clean.co", "--pipeline 'within 50' --stagger yes"),
    ("bf16 256x256", "gfx950", "gemm", "bf16", "256x256x64", "2x2", hsa / "gfx950/bf16gemm/bf16gemm_bf16_tn_256x256.co", "--stagger yes --n-multiple 8 --pipeline 'barriers 2'"),
    ("bf16 256x256 preshuffled", "gfx950", "preshuffle_gemm", "bf16", "256x256x64", "1x4", hsa / "gfx950/bf16gemm/bf16gemm_bf16_tn_256x256_bpreshuffle.co", "--pipeline 'trips 2' --stagger yes"),
    ("fp4 256x256 preshuffled", "gfx950", "preshuffle_gemm", "fp4", "256x256x256", "1x4", hsa / "gfx950/f4gemm/f4gemm_bf16_per1x32Fp4_BpreShuffle_256x256.co", "--pipeline 'trips 2'"),
    ("fp4 256x256", "gfx950", "gemm", "fp4", "256x256x256", "2x2", hsa / "gfx950/f4gemm/f4gemm_bf16_per1x32Fp4_noBpreShuffle_256x256.co", "--stagger yes --n-multiple 8"),
    ("fp4 128x128 preshuffled", "gfx950", "preshuffle_gemm", "fp4", "128x128x256", "1x4", hsa / "gfx950/f4gemm/f4gemm_bf16_per1x32Fp4_BpreShuffle_128x128.co", "--stagger yes --pipeline 'lead 1, trips 3'"),
    ("fp8 block-scale 128x128", "gfx942", "block_scale_gemm", "fp8", "128x128x128", "", hsa / "gfx942/fp8gemm_blockscale/fp8gemm_bf16_blockscale_BpreShuffle_128x128.co"),
    # hipBLASLt's take A straight to registers, as preshuffle_gemm takes B.
    ("bf16 256x256", "gfx942", "gemm", "bf16", "256x256x32", "4x1", hipblaslt("BBS_BH_Bias_AS_SAV", "256x256x64"), "--transfer no --direct a --pipeline 'trips 2, lead 4'"),
    ("bf16 256x256 preshuffled", "gfx942", "preshuffle_gemm", "bf16", "256x256x32", "1x4", hipblaslt("BBS_BH_Bias_AS_SAV", "256x256x64"), "--transfer no --pipeline 'trips 2, lead 4'"),
    ("fp8 256x256", "gfx942", "gemm", "fp8", "256x256x64", "4x1", hipblaslt("F8BS_BH_BiasSB_AS_SABV_SAV", "256x256x128"), "--transfer no --direct a --pipeline 'trips 2, lead 4'"),
    ("fp8 256x256 preshuffled", "gfx942", "preshuffle_gemm", "fp8", "256x256x64", "1x4", hipblaslt("F8BS_BH_BiasSB_AS_SABV_SAV", "256x256x128"), "--transfer no --pipeline 'trips 2, lead 4'"),
    ("fp8 256x256", "gfx942", "gemm", "fp8", "256x256x64", "2x2", triton / "gemm_fp8_256x256x128.gfx942.s", "--transfer no --pipeline 'lead 2'"),
    ("fp8 256x256", "gfx950", "gemm", "fp8", "256x256x128", "2x2", triton / "gemm_fp8_256x256x128.gfx950.s", "--pipeline 'lead 1'"),
    ("f16 128x128", "gfx942", "gemm", "f16", "128x128x64", "2x2", triton / "gemm_f16_128x128x64.gfx942.s", "--transfer no --pipeline 'lead 1, within 50, trips 1'"),
    ("f16 128x128", "gfx950", "gemm", "f16", "128x128x64", "2x2", triton / "gemm_f16_128x128x64.gfx950.s", "--pipeline 'lead 1'"),
    ("f16 256x256", "gfx942", "gemm", "f16", "256x256x32", "2x2", triton / "gemm_f16_256x256x64.gfx942.s", "--transfer no"),
    ("f16 256x256", "gfx950", "gemm", "f16", "256x256x64", "2x2", triton / "gemm_f16_256x256x64.gfx950.s", "--pipeline 'lead 1'"),
]



def arguments(kernel, values):
    """--arg words of a code object's kernel; values: argument -> value, None where it fills a slot."""
    told = subprocess.run([inlay, "inspect", str(kernel), "--json"], capture_output=True, text=True, check=True)
    for a in json.loads(told.stdout)["kernels"][0]["arguments"]["list"]:
        value = values(a)
        if value is not None: yield "ptr:0" if a["kind"] == "global_buffer" and value == 0 else end_to_end.argument(value, a["size"])


def launch(what, arch, kind, tile, ours, anchor):
    """Options of `inlay compare --time`: about as many tiles as compute units, K = 4096 bytes; None where the anchor's arguments are not known."""
    family = next((f for f in ("i8gemm", "bf16gemm", "f4gemm", "fp8gemm_blockscale") if f in anchor.parts), None)
    if family is None: return None, ""
    tm, tn, _ = map(int, tile.split("x"))
    m, n, k = tm * 16, -(-2048 // tn) * tn, {"i8": 4096, "fp8": 4096, "bf16": 2048, "fp4": 8192}[kind]
    r = {"family": family, "kernel": "", "m": m, "n": n, "k": k, "split": 1, "wide": False, "bias": False}
    grid, slots = end_to_end.slots(r, tm, tn)
    # The bytes of A and B; C has 16 bits, scales are f32, of fp4 one byte for 32.
    each = {"i8": 2, "fp8": 2, "bf16": 4, "fp4": 1}[kind] * k // 2
    scale = (lambda rows: -(-rows // 256) * 256 * k // 32) if kind == "fp4" else lambda rows: 4 * rows
    mine = {"c": (2 * m * n,), "a": (m * each,), "b": (n * each,), "sa": (scale(m),), "sb": (scale(n),), "bias": (4 * n,), "m": m, "n": n, "k": k}
    if family == "fp8gemm_blockscale": mine |= {"sa": (4 * m * k // 128,), "sb": (4 * -(-n // 128) * k // 128,)}
    options = ["--time", "--quick", "--grid", f"{n // tn},{m // tm}", "--anchor-grid", ",".join(map(str, grid))]
    for word in arguments(ours, lambda a: mine[a["name"]]): options += ["--arg", word]
    slot = lambda a: None if a["offset"] % 16 else slots[a["offset"] // 16] if a["offset"] // 16 < len(slots) else 0
    for word in arguments(anchor, slot): options += ["--anchor-arg", word]
    return options, f"{m} x {n} x {k}"


print("| tile | arch | issue/MFMA, ours | theirs | waits and barriers a 1000 MFMA clocks, ours | theirs | criteria that fail, by machine code | by a launch | M x N x K | clocks, ours | theirs |")
print("|---|---|---|---|---|---|---|---|---|---|---|")
missing, reasons = [], []
with tempfile.TemporaryDirectory() as folder:
  for what, arch, kernel, kind, tile, waves, anchor, *more in rows:
    by = " (Triton)" if triton in anchor.parents else " (hipBLASLt)" if custom in anchor.parents else ""
    if not anchor.exists():
      missing.append(f"{what} ({arch}): {anchor.name} is not there")
      continue
    more = shlex.split(" ".join(more))
    options = ["--dtype", kind, "--tile", tile, "--waves", waves, *more]
    if "--transfer" not in more: options += ["--transfer", "yes"]
    if kind == "i8": options += ["--scales", "yes", "--bias", "yes"]  # as the hand-written ones: bf16 results
    if kernel == "block_scale_gemm": options = ["--tile-m", tile.split("x")[0]]  # its other sizes are the scales'
    subprocess.run([inlay, "build", kernel, "--arch", arch, *options, "-o", folder], check=True, capture_output=True)
    ours = pathlib.Path(folder, kernel + ".hsaco")
    out = subprocess.run([inlay, "compare", str(ours), str(anchor), "--arch", arch, "--json"], capture_output=True, text=True)
    report = json.loads(out.stdout)
    facts = {r["name"].strip(): (r["candidate"], r["anchor"]) for r in report["rows"]}
    ratio = facts["issue / MFMA"]

    def rate(side):
      return "%.2f + %.2f" % tuple(1000 * float(facts[n][side].split()[0]) / float(facts["MFMA clocks"][side]) for n in ("waits", "barriers"))

    timed = ["", "", "", ""]
    words, shape = (None, "") if "--static" in sys.argv else launch(what, arch, kind, tile, ours, anchor)
    if words:
      told = json.loads(subprocess.run([inlay, "compare", str(ours), str(anchor), "--arch", arch, "--json", *words], capture_output=True, text=True, check=True).stdout)
      lost = [c for c in told["criteria"] if c["verdict"] == "fail"]
      of_launch = next(c for c in told["criteria"] if c["number"] == 15)
      clocks = [re.search(r"\d+", of_launch[side])[0] for side in ("candidate", "anchor")]
      timed = [", ".join(str(c["number"]) for c in lost) or "none", shape, *clocks]
      reasons += [f"{what} ({arch}), launch, {c['number']} {c['name']}: {c['candidate']} | {c['anchor']} ({c['why']})" for c in lost if c["number"] in (6, 8, 11, 12, 14, 15)]
    failed = [c for c in report["criteria"] if c["verdict"] == "fail"]
    reasons += [f"{what}{by} ({arch}), {c['number']} {c['name']}: {c['why']}" for c in failed]
    print(f"| {what}{by} | {arch} | {ratio[0]} | {ratio[1]} | {rate(0)} | {rate(1)} | {', '.join(str(c['number']) for c in failed) or 'none'} | {' | '.join(timed)} |", flush=True)
for line in reasons: print(line)
for line in missing: print("skipped:", line)
sys.exit(77 if len(missing) == len(rows) else 0)
