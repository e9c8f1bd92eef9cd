#!/usr/bin/env python3
"""Mutation of machine code: `machine.py [--build DIR] [--sample N] [--seed S] [--verbose]`, a face for machine_mutations.

Flips one bit of one instruction of a built kernel, N times: it is refuted without being run, or behaves the same on ten
sizes. The last line is `caught X of N`; exit 1 when one is wrongly validated or less than 98 % are caught.
"""
import argparse
import pathlib
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parents[2]
parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--build", default=str(root / "build" / "release"), help="build directory")
parser.add_argument("--sample", type=int, default=500)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--verbose", action="store_true")
a = parser.parse_args()
program = pathlib.Path(a.build) / "bin" / "machine_mutations"
if not program.exists():
    sys.exit(f"error: {program} is not there\n  hint   cmake --build --preset release --target machine_mutations")
sys.exit(subprocess.run([str(program), "--sample", str(a.sample), "--seed", str(a.seed)] + (["--verbose"] if a.verbose else [])).returncode)
