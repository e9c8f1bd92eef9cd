#!/usr/bin/env python3
"""Mutation of kernels: `kernels.py [--build DIR] [--sample N] [--seed S]`, a face for the program of tests/mutate.

Changes N places of kernels' code, one at a time, in process. The last line is `caught X of N`; exit 1 when one that is
wrong was not refuted.
"""
import argparse
import pathlib
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parents[2]
parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--build", default=str(root / "build" / "release"), help="build directory")
parser.add_argument("--sample", type=int, default=300)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--verbose", action="store_true")
a = parser.parse_args()
program = pathlib.Path(a.build) / "bin" / "kernel_mutations"
if not program.exists():
    sys.exit(f"error: {program} is not there\n  hint   cmake --build --preset release --target kernel_mutations")
sys.exit(subprocess.run([str(program), "--sample", str(a.sample), "--seed", str(a.seed)] + (["--verbose"] if a.verbose else [])).returncode)
