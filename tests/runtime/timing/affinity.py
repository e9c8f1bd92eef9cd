#!/usr/bin/env python3
"""The model's answer does not depend on how many of the host's processors it may use: affinity.py INLAY KERNEL.s"""
import json
import os
import subprocess
import sys


def answer(inlay, kernel, processors):
    sizes = ["i32:512", "i32:512", "i32:256", "i32:256", "i32:256", "i32:512"]
    ran = subprocess.run([inlay, "time", kernel, "--arch", "gfx942", "--grid", "16", "--block", "256", "--lds", "65536", "--json", "--arg", *["zeros:524288"] * 3, *sizes, "ptr:0",
                          "ptr:0"], stdout=subprocess.PIPE, text=True, check=True, preexec_fn=lambda: os.sched_setaffinity(0, processors))
    told = json.loads(ran.stdout)
    told["timing"].pop("seconds")
    told["timing"]["effort"].pop("processor_seconds")
    return told


def main():
    inlay, kernel = sys.argv[1:]
    everyone = os.sched_getaffinity(0)
    one, all_of_them = (answer(inlay, kernel, p) for p in ({min(everyone)}, everyone))
    if one != all_of_them:
        print("FAILED: other clocks on", len(everyone), "processors than on one")
        return 1
    print(f"{one['timing']['clocks']} clocks on one processor and on {len(everyone)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
