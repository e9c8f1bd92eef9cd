#!/usr/bin/env python3
"""Processor time of whole builds against `llc -O3` alone on the IR with hints (order left to LLVM), alternating in one run.

    python3 tests/codegen/compile_time.py build/release/bin/inlay [runs]

A build is the whole process: layouts, claims, IR, optimisation, code generation, link, files. Minima of `runs` (5);
the IR has been through `opt -O3`, which is not counted. docs/measurements/codegen.md has the table. INLAY_LLVM: the folder of
LLVM 22's opt and llc.
"""
import os, pathlib, resource, subprocess, sys, tempfile

inlay = sys.argv[1] if len(sys.argv) > 1 else "build/release/bin/inlay"
runs = int(sys.argv[2]) if len(sys.argv) > 2 else 5
tools = pathlib.Path(os.environ.get("INLAY_LLVM", "/usr/lib/llvm-22/bin"))
opt, llc = tools / "opt", tools / "llc"
rows = [("128x128x64", "gfx942"), ("128x128x64", "gfx950"), ("256x128x32", "gfx942"), ("256x128x64", "gfx950"),
        ("256x256x32", "gfx942"), ("256x256x64", "gfx950")]


def processor_ms(command):
    """User and system time of one process, without this one's."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {k: v for k, v in os.environ.items() if k != "INLAY_CACHE_DIR"}  # nothing is taken from a cache
    subprocess.run(command, check=True, capture_output=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


if not (opt.exists() and llc.exists()):
    sys.exit(f"no opt and llc in {tools}: set INLAY_LLVM")
print("| tile | arch | whole build, ms | llc -O3 on the IR with hints, ms | ratio |")
print("|---|---|---|---|---|")
with tempfile.TemporaryDirectory() as folder:
    hints, ours = pathlib.Path(folder, "hints"), pathlib.Path(folder, "ours")
    for tile, arch in rows:
        spec = ["gemm", "--arch", arch, "--dtype", "bf16", "--tile", tile]
        subprocess.run([inlay, "build", *spec, "--scheduler", "default", "-o", str(hints)], check=True, capture_output=True)
        target = ["-mtriple=amdgcn-amd-amdhsa", f"-mcpu={arch}"]
        subprocess.run([opt, "-O3", *target, hints / "gemm.ll", "-o", hints / "gemm.bc"], check=True, capture_output=True)
        build = [inlay, "build", *spec, "-o", str(ours)]
        compile = [llc, "-O3", *target, "-filetype=obj", hints / "gemm.bc", "-o", hints / "gemm.o"]
        times = [(processor_ms(build), processor_ms(compile)) for _ in range(runs)]
        a, b = min(t[0] for t in times), min(t[1] for t in times)
        print(f"| {tile} | {arch} | {a:.0f} | {b:.0f} | {a / b:.2f} |", flush=True)
