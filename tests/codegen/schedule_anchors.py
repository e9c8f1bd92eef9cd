#!/usr/bin/env python3
"""Our loops against hand-written ones of the same tile: `inlay compare --json` for each, one table.

    git clone https://github.com/ROCm/aiter
    INLAY_AITER=$PWD/aiter python3 tests/codegen/schedule_anchors.py build/release/bin/inlay

Rows whose anchor is not there are named and skipped. docs/benchmarks/codegen.md has the table.
"""
import json, os, pathlib, subprocess, sys, tempfile

inlay = sys.argv[1] if len(sys.argv) > 1 else "build/release/bin/inlay"
hsa = pathlib.Path(os.environ.get("INLAY_AITER", "/nowhere")) / "hsa"
triton = pathlib.Path(__file__).parent.parent / "isa" / "triton"

# what, architecture, kernel, type, tile, waves, anchor; gfx950: straight to LDS, as the hand-written ones there
rows = [
    ("i8 128x128", "gfx942", "preshuffle_gemm", "i8", "128x128x128", "1x4", hsa / "gfx942/i8gemm/I8gemm_bf16_perTokenI8_BpreShuffle_128x128.co"),
    ("i8 96x128", "gfx942", "preshuffle_gemm", "i8", "96x128x128", "1x4", hsa / "gfx942/i8gemm/I8gemm_bf16_perTokenI8_BpreShuffle_96x128.co"),
    ("i8 64x128", "gfx942", "preshuffle_gemm", "i8", "64x128x128", "1x4", hsa / "gfx942/i8gemm/I8gemm_bf16_perTokenI8_BpreShuffle_64x128.co"),
    ("bf16 160x64", "gfx942", "preshuffle_gemm", "bf16", "160x64x64", "1x4", hsa / "gfx942/bf16gemm/bf16gemm_fp32bf16_tn_160x64_bshuffle_splitk_clean.co"),
    ("bf16 128x64", "gfx942", "preshuffle_gemm", "bf16", "128x64x64", "1x4", hsa / "gfx942/bf16gemm/bf16gemm_fp32bf16_tn_128x64_bshuffle_splitk_clean.co"),
    ("bf16 256x256", "gfx950", "gemm", "bf16", "256x256x64", "2x2", hsa / "gfx950/bf16gemm/bf16gemm_bf16_tn_256x256.co"),
    ("bf16 256x256 preshuffled", "gfx950", "preshuffle_gemm", "bf16", "256x256x64", "1x4", hsa / "gfx950/bf16gemm/bf16gemm_bf16_tn_256x256_bpreshuffle.co"),
    ("fp4 256x256 preshuffled", "gfx950", "preshuffle_gemm", "fp4", "256x256x256", "1x4", hsa / "gfx950/f4gemm/f4gemm_bf16_per1x32Fp4_BpreShuffle_256x256.co"),
    ("fp4 256x256", "gfx950", "gemm", "fp4", "256x256x256", "2x2", hsa / "gfx950/f4gemm/f4gemm_bf16_per1x32Fp4_noBpreShuffle_256x256.co"),
    ("fp4 128x128 preshuffled", "gfx950", "preshuffle_gemm", "fp4", "128x128x256", "1x4", hsa / "gfx950/f4gemm/f4gemm_bf16_per1x32Fp4_BpreShuffle_128x128.co"),
    ("fp8 block-scale 128x128", "gfx942", "block_scale_gemm", "fp8", "128x128x128", "", hsa / "gfx942/fp8gemm_blockscale/fp8gemm_bf16_blockscale_BpreShuffle_128x128.co"),
    ("f16 128x128", "gfx942", "gemm", "f16", "128x128x64", "2x2", triton / "gemm_f16_128x128x64.gfx942.s"),
    ("f16 128x128", "gfx950", "gemm", "f16", "128x128x64", "2x2", triton / "gemm_f16_128x128x64.gfx950.s"),
    ("f16 256x256", "gfx942", "gemm", "f16", "256x256x32", "2x2", triton / "gemm_f16_256x256x64.gfx942.s"),
    ("f16 256x256", "gfx950", "gemm", "f16", "256x256x64", "2x2", triton / "gemm_f16_256x256x64.gfx950.s"),
]

print("| tile | arch | issue/MFMA, ours | theirs | waits and barriers a 1000 MFMA clocks, ours | theirs | criteria that fail |")
print("|---|---|---|---|---|---|---|")
missing, reasons = [], []
with tempfile.TemporaryDirectory() as folder:
  for what, arch, kernel, kind, tile, waves, anchor in rows:
    if not anchor.exists():
      missing.append(f"{what} ({arch}): {anchor.name} is not there")
      continue
    options = ["--dtype", kind, "--tile", tile, "--waves", waves, "--transfer", "yes" if arch == "gfx950" else "no"]
    if kernel == "block_scale_gemm": options = ["--tile-m", tile.split("x")[0]]  # its other sizes are the scales'
    subprocess.run([inlay, "build", kernel, "--arch", arch, *options, "-o", folder], check=True, capture_output=True)
    ours = pathlib.Path(folder, kernel + ".hsaco")
    out = subprocess.run([inlay, "compare", str(ours), str(anchor), "--arch", arch, "--json"], capture_output=True, text=True)
    report = json.loads(out.stdout)
    facts = {r["name"].strip(): (r["candidate"], r["anchor"]) for r in report["rows"]}
    ratio = facts["issue / MFMA"]

    def rate(side):
      return "%.2f + %.2f" % tuple(1000 * float(facts[n][side].split()[0]) / float(facts["MFMA clocks"][side]) for n in ("waits", "barriers"))

    failed = [c for c in report["criteria"] if c["verdict"] == "fail"]
    reasons += [f"{what} ({arch}), {c['number']} {c['name']}: {c['why']}" for c in failed]
    print(f"| {what} | {arch} | {ratio[0]} | {ratio[1]} | {rate(0)} | {rate(1)} | {', '.join(str(c['number']) for c in failed) or 'none'} |", flush=True)
for line in reasons: print(line)
for line in missing: print("skipped:", line)
sys.exit(77 if len(missing) == len(rows) else 0)
