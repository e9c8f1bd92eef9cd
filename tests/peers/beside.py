#!/usr/bin/env python3
"""Kernels of Triton and FlyDSL beside inlay's for the same job, shapes and types: result and findings, modelled clocks of the launch, registers.

    python3 tests/peers/beside.py [--only 'triton gfx942 softmax*'] [--write docs/measurements/peers.md [--keep]]

Theirs are cases of triton_kernels.py and flydsl_kernels.py (which say what has to be installed), each run in a process of its own; its launches are
kept by --dump and timed by `inlay time`, but for the one that follows pointers in memory, which a launch elsewhere has not. Ours are `inlay run KERNEL`, with the form that it chooses for the sizes. A driver that is skipped
is passed over with its message; exit status 77 when both are. With --keep, rows that are not run stay as the file has them.
"""
import argparse, fnmatch, json, pathlib, subprocess, sys, tempfile

here = pathlib.Path(__file__).resolve().parent
root = here.parents[1]


def rows():
  """(driver, case, our kernel and options); the case without its target."""
  out = []
  def one(driver, case, ours): out.append((driver, case, ours))
  narrow = {"float32": "f32", "float16": "f16"}
  one("triton", "add 5000", "vector_add --n 5000")
  for m, n, t in ((4, 781, "float32"), (3, 2000, "float16"), (2, 4096, "bf16")):
    one("triton", f"softmax {m}x{n} {t}", f"softmax --m {m} --n {n} --dtype {narrow.get(t, t)}")
  for m, n in ((4, 1000), (2, 4096)): one("triton", f"layernorm {m}x{n}", f"layernorm --m {m} --n {n} --dtype f16")
  for m, n, k, t, tile, more in ((128, 128, 256, "bf16", "128x128x64", " stages 2"), (128, 64, 256, "fp8", "64x64x64", ""), (130, 64, 256, "int8", "64x64x64", ""),
                                 (256, 256, 512, "float16", "256x256x64", " stages 2"), (64, 64, 320, "float16", "64x64x32", " stages 3")):
    type = {"int8": "i8", "float16": "f16"}.get(t, t)
    one("triton", f"matmul {m}x{n}x{k} {t} tile {tile}{more}", f"gemm --layout nn --m {m} --n {n} --k {k} --dtype {type} --out {'i32' if type == 'i8' else 'f32'}")
  for s, d, causal in ((128, 64, ""), (200, 64, " causal"), (100, 128, "")):
    one("triton", f"attention {s}x{d}{causal}", f"flash_attention --batch 2 --heads 1 --queries {s} --keys {s} --head-dim {d} --dtype f16" + (" --causal yes" if causal else ""))
  one("triton", "argmax", "argmax --m 5 --n 700 --dtype f32")
  one("triton", "transpose", "transpose --m 100 --n 70 --dtype f32")
  one("triton", "dropout", "dropout --n 4000 --p 0.5 --dtype f32")
  one("triton", "gather", "gather_rows --tokens 33 --rows 50 --n 256 --dtype f16")
  one("triton", "row sum 64x1000 float16", "row_reduce --op sum --m 64 --n 1000 --dtype f16")
  one("triton", "row max 33x2048 float32", "row_reduce --op max --m 33 --n 2048 --dtype f32")
  for name, kernel, m, n in (("log softmax", "log_softmax", 8, 3000), ("layernorm backward", "layernorm_backward", 8, 1000), ("cross entropy", "cross_entropy", 8, 4096),
                             ("cross entropy backward", "cross_entropy_backward", 8, 4096)):
    one("triton", f"{name} {m}x{n} float16", f"{kernel} --m {m} --n {n} --dtype f16")
  one("triton", "silu and mul 64x1024 float16", "silu_and_mul --m 64 --d 1024 --dtype f16")
  one("triton", "quantise 64x1024 float16", "quantise --quant i8 --m 64 --n 1024 --dtype f16")
  one("triton", "topk gating 64x256 float32", "topk_gating --m 64 --experts 256 --k 8 --dtype f32")
  one("triton", "batched matmul", "batched_gemm --b 4 --m 128 --n 128 --k 256 --dtype bf16")
  one("triton", "matmul bias gelu", "gemm --m 100 --n 128 --k 256 --dtype bf16 --bias yes --activation gelu")
  one("triton", "swiglu matmul", "dual_gemm --m 128 --n 128 --k 256 --dtype bf16")
  one("triton", "gemv", "gemv --m 1 --n 1024 --k 4096 --dtype bf16")
  one("triton", "rope", "rope --tokens 64 --heads 32 --head-dim 128 --rows 4096 --dtype f16")
  one("triton", "group norm", "group_norm --b 2 --groups 32 --channels 4 --pixels 1024 --dtype f16")
  one("triton", "causal conv1d", "causal_conv1d --b 2 --t 100 --d 512 --dtype bf16")
  one("triton", "swap axes", "swap_axes --b 2 --s 100 --h 8 --d 128 --dtype bf16")
  one("triton", "scatter add", "scatter_add --tokens 64 --rows 1000 --n 1024 --dtype bf16")
  one("triton", "cumsum", "cumsum --n 256 --m 256 --dtype f32")
  one("triton", "split k", "gemm --layout nn --m 64 --n 64 --k 512 --dtype f16 --out f32")

  for m, n, t in ((64, 256, "f32"), (16, 512, "bf16"), (33, 2000, "f32"), (8, 8192, "bf16"), (32, 128, "f16"), (4, 1024, "f16")):
    one("flydsl", f"softmax {m}x{n} {t}", f"softmax --m {m} --n {n} --dtype {t}")
  for m, n, t in ((4, 1024, "f32"), (3, 2048, "bf16"), (2, 1000, "f16")):
    one("flydsl", f"softmax backward {m}x{n} {t}", f"softmax_backward --m {m} --n {n} --dtype {t}")
  for kind in ("layer", "rms"):
    for m, n, t in ((8, 256, "f32"), (4, 2000, "f32"), (4, 512, "f16"), (2, 8192, "bf16")):
      one("flydsl", f"{kind}norm {m}x{n} {t}", f"{kind}norm --m {m} --n {n} --dtype {t}")
    one("flydsl", f"{kind}norm add 4x2048 bf16", f"{kind}norm --residual yes --m 4 --n 2048 --dtype bf16")
    one("flydsl", f"{kind}norm dynamic 4x2048 bf16", f"{kind}norm --quant i8 --m 4 --n 2048 --dtype bf16")
    one("flydsl", f"{kind}norm add dynamic 4x2048 bf16", f"{kind}norm --residual yes --quant i8 --m 4 --n 2048 --dtype bf16")
  for t in ("fp8", "int8", "fp16", "bf16"):
    type = {"int8": "i8", "fp16": "f16"}.get(t, t)
    more = f"--dtype {type} --out {'bf16' if type in ('fp8', 'i8') else type}" + (" --scales yes" if type in ("fp8", "i8") else "")
    one("flydsl", f"preshuffle 33x128x1024 {t}", f"preshuffle_gemm --m 33 --n 128 --k 1024 {more}")
    one("flydsl", f"preshuffle 64x256x512 {t} one stage", f"preshuffle_gemm --m 64 --n 256 --k 512 {more}")
  for t, act in (("fp8", "relu"), ("bf16", "silu")):
    more = "--scales yes --out bf16 " if t == "fp8" else ""
    one("flydsl", f"preshuffle 32x128x512 {t} bias {act}", f"preshuffle_gemm --m 32 --n 128 --k 512 --dtype {t} {more}--bias yes --activation {act}")
  for t, d, causal in (("bf16", 64, " causal"), ("f16", 128, ""), ("bf16", 128, " causal")):
    one("flydsl", f"attention generic 2x200 {t} {d}{causal}",
        f"flash_attention --batch 2 --heads 4 --group 2 --queries 200 --keys 200 --head-dim {d} --dtype {t}" + (" --causal yes" if causal else ""))
  return [(driver, arch, case, ours) for arch in ("gfx942", "gfx950") for driver, case, ours in out]


def inlay(program, *arguments):
  done = subprocess.run([program, *arguments, "--json"], capture_output=True, text=True)
  if done.returncode not in (0, 1): raise RuntimeError(f"inlay {' '.join(arguments)}: {done.stderr}")
  return json.loads(done.stdout)


def theirs(options, driver, arch, case):
  """(verdict, clocks, registers) of all launches of the case, or what the driver says when it is skipped."""
  with tempfile.TemporaryDirectory() as folder:
    file = pathlib.Path(folder, "result.json")
    done = subprocess.run([sys.executable, str(here / f"{driver}_kernels.py"), "--library", options.library, "--only", f"{arch} {case}", "--dump", folder,
                           "--json", str(file), "--seeds", "2"], capture_output=True, text=True)
    if done.returncode == 77: return done.stdout.strip().splitlines()[-1]
    if not file.exists(): raise RuntimeError(f"{driver}: no case {arch} {case}\n{done.stdout}{done.stderr}")
    result = json.loads(file.read_text().splitlines()[-1])
    wrong = [c for c in result["complaints"] if "was not found" not in c]
    verdict = ("WRONG: " + wrong[0][:80]) if wrong else "right" + (", " + " ".join(result["found"]) if result["found"] else "")
    clocks, registers = 0, 0
    for manifest in sorted(pathlib.Path(folder).glob("*.*.json")):
      launch = json.loads(manifest.read_text())
      for a in launch["arguments"]:  # pointers to no scratch
        if a["kind"] == "value" and a["hex"] == "0" * 16:
          a.pop("hex")
          a.update(kind="buffer", output=False, bytes="64")
      manifest.write_text(json.dumps(launch))
      clocks += inlay(options.inlay, "time", str(manifest), "--quick")["timing"]["chip"]["clocks"]
      r = inlay(options.inlay, "inspect", str(manifest.parent / launch["code"]))["kernels"][0]["resources"]
      registers = max(registers, r["vgpr"] + r["agpr"])
    return verdict, clocks, registers


def ours(options, arch, command):
  kernel, *more = command.split()
  r = inlay(options.inlay, "run", kernel, "--arch", arch, *more, "--check", "all", "--stress", "--no-validate", "--time", "--quick")
  found = sorted({f["kind"] for f in r["findings"]})
  verdict = ("right" if r["ok"] and r["proofs"]["refuted"] == 0 else "WRONG") + (", " + " ".join(found) if found else "")
  return verdict, r["timing"]["chip"]["clocks"], r["resources"]["vgpr"] + r["resources"]["agpr"]


NAMES = {"triton": "Triton", "flydsl": "FlyDSL"}
HEAD = """# Beside Triton's and FlyDSL's kernels

Written by `tests/peers/beside.py --write docs/measurements/peers.md`: {versions}. Each row is one job of one shape and type (*case*: of `tests/peers/triton_kernels.py`, `flydsl_kernels.py`), compiled by their
compiler, and by `inlay run` with the form that it chooses. *Result*: values against numpy and the findings of all sanitizers that are no notes ([argued](strangers.md)). *Clocks*: of all its
launches, by the [cycle model](../timing.md), nothing in the caches. *Registers*: vector and accumulation registers that the code uses. The shapes are those of their tests: small, so that a launch's own clocks are most of them.
{summary}

| kernel of | target | case | result | clocks | registers | ours | result | clocks | registers | clocks, ours / theirs |
|---|---|---|---|---|---|---|---|---|---|---|
"""


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--inlay", default=str(root / "build/release/bin/inlay"))
  parser.add_argument("--library", default=str(root / "build/release/lib/inlay/libamdhip64.so.7"))
  parser.add_argument("--only", default="*", help="glob over `triton gfx942 case`")
  parser.add_argument("--write")
  parser.add_argument("--keep", action="store_true", help="of the file that is written: rows that are not run")
  options = parser.parse_args()
  lines, wrong, skipped = {}, 0, {}
  for driver, arch, case, command in rows():
    if driver in skipped or not fnmatch.fnmatch(f"{driver} {arch} {case}", options.only): continue
    their = theirs(options, driver, arch, case)
    if isinstance(their, str):
      skipped[driver] = their
      print(f"{driver}: {their}", flush=True)
      continue
    own = ours(options, arch, command)
    wrong += own[0] != "right"
    lines[driver, arch, case] = f"| {NAMES[driver]} | {arch} | {case} | {their[0]} | {their[1]:.0f} | {their[2]} | `{command}` | {own[0]} | {own[1]:.0f} | {own[2]} | {own[1] / their[1]:.2f} |"
    print(lines[driver, arch, case], flush=True)
  if not lines: sys.exit(77)
  if options.keep: lines = kept(options.write) | lines
  lines = [lines[row[:3]] for row in rows() if row[:3] in lines]
  ratios = sorted(float(line.split("|")[-2]) for line in lines)
  summary = f"{len(lines)} rows: ours take {ratios[len(ratios) // 2]:.2f} times the clocks of theirs in the median, {ratios[0]:.2f} to {ratios[-1]:.2f}; fewer in {sum(r < 1 for r in ratios)}."
  print(summary)
  if options.write:
    versions = ", ".join(f"{name} {version}" for name in ("triton", "flydsl", "torch") if (version := installed(name)))
    pathlib.Path(options.write).write_text(HEAD.format(versions=versions, summary=summary) + "\n".join(lines) + "\n")
  sys.exit(bool(wrong))


def kept(file):
  """The rows of a file that was written before, by driver, target and case."""
  drivers = {name: driver for driver, name in NAMES.items()}
  out = {}
  for line in pathlib.Path(file).read_text().splitlines():
    cells = [c.strip() for c in line.split("|")]
    if len(cells) > 3 and cells[1] in drivers: out[drivers[cells[1]], cells[2], cells[3]] = line
  return out


def installed(name):
  import importlib.metadata
  try: return importlib.metadata.version(name)
  except importlib.metadata.PackageNotFoundError: return None


if __name__ == "__main__":
  main()
