"""What the faces of the mutation programs share: their arguments, and where the program is."""
import argparse
import pathlib
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parents[2]


def run(name, description, sample):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=str(root / "build" / "release"), help="build directory")
    parser.add_argument("--sample", type=int, default=sample)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--verbose", action="store_true")
    a = parser.parse_args()
    program = pathlib.Path(a.build) / "bin" / name
    if not program.exists():
        sys.exit(f"error: {program} is not there\n  hint   cmake --build --preset release --target {name}")
    verbose = ["--verbose"] if a.verbose else []
    sys.exit(subprocess.run([str(program), "--sample", str(a.sample), "--seed", str(a.seed)] + verbose).returncode)
