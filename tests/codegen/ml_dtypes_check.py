#!/usr/bin/env python3
"""Element types against ml_dtypes, whose conversions were written by others: ml_dtypes_check.py ELEMENT_TABLE

Every code decoded, and thousands of numbers encoded (all representable ones, the middles between neighbours, numbers next
to them, overflow, infinities). Exits 77, which ctest counts as skipped, where ml_dtypes is not installed. Named
differences are those of policy, see `differs`.
"""
import math
import random
import subprocess
import sys

try:
    import ml_dtypes
    import numpy
except ImportError:
    print("ml_dtypes is not installed")
    sys.exit(77)

TYPES = {
    "f16": numpy.float16, "bf16": ml_dtypes.bfloat16, "e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "e5m2fnuz": ml_dtypes.float8_e5m2fnuz, "e4m3fn": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2,
    "e2m3": ml_dtypes.float6_e2m3fn, "e3m2": ml_dtypes.float6_e3m2fn, "e2m1": ml_dtypes.float4_e2m1fn,
    "e8m0": ml_dtypes.float8_e8m0fnu, "i4": ml_dtypes.int4, "f32": numpy.float32,
}
BITS = {"f16": 16, "bf16": 16, "e2m3": 6, "e3m2": 6, "e2m1": 4, "i4": 4, "f32": 32}


def ask(table, lines):
    out = subprocess.run([table], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True).stdout
    return out.split("\n")[:-1]


def from_code(name, code):
    width = {32: numpy.uint32, 16: numpy.uint16}.get(BITS.get(name, 8), numpy.uint8)
    return float(numpy.array([code], dtype=width).view(TYPES[name])[0])


def to_code(name, value):
    with numpy.errstate(all="ignore"):
        x = numpy.array([value], dtype=numpy.float64).astype(TYPES[name])
    width = {32: numpy.uint32, 16: numpy.uint16}.get(BITS.get(name, 8), numpy.uint8)
    return int(x.view(width)[0]) & ((1 << BITS.get(name, 8)) - 1)


def differs(name, value):
    """Below 2^-126, where f32 is subnormal: ml_dtypes takes everything above 2^-127 up to 2^-126, and 0 to 0 (2^-127)."""
    return name == "e8m0" and value < 2.0 ** -126


def main():
    table, wrong, checked = sys.argv[1], 0, 0
    generator = random.Random(1)
    for name in TYPES:
        codes = range(1 << BITS.get(name, 8)) if BITS.get(name, 8) < 32 else [generator.getrandbits(32) for _ in range(20000)]
        codes = list(codes)
        answers = ask(table, [f"decode {name} {c}" for c in codes])
        numbers = []
        for code, answer in zip(codes, answers):
            ours, theirs = float.fromhex(answer) if "0x" in answer else float(answer), from_code(name, code)
            checked += 1
            if not (ours == theirs or (math.isnan(ours) and math.isnan(theirs))):
                wrong += 1
                print(f"{name}: code {code} is {ours} here and {theirs} there")
            elif math.isfinite(ours):
                numbers.append(ours)
        if name == "i4":
            continue  # ml_dtypes wraps integers; saturation is this library's rule
        numbers.sort()
        numbers = numbers if len(numbers) < 3000 else numbers[::29]
        probes = list(numbers) + [math.inf, -math.inf, numbers[-1] * 1.01, numbers[-1] * 1.0625, numbers[-1] * 2, -numbers[-1] * 1e3]
        for a, b in zip(numbers, numbers[1:]):
            middle = (a + b) / 2
            probes += [middle, math.nextafter(middle, math.inf), math.nextafter(middle, -math.inf), generator.uniform(a, b)]
        if name not in ("f16", "f32"):  # ml_dtypes rounds doubles to f32 first, so twice: only numbers that f32 holds
            with numpy.errstate(all="ignore"):
                probes = [float(numpy.float32(p)) for p in probes]
            probes += [float(numpy.nextafter(numpy.float32(p), numpy.float32(to))) for p in probes[:6000] for to in (-1e38, 1e38)]
        answers = ask(table, [f"encode {name} {float(p).hex()}" for p in probes])
        for value, answer in zip(probes, answers):
            ours, theirs = int(answer), to_code(name, value)
            checked += 1
            both_nan = math.isnan(from_code(name, ours)) and math.isnan(from_code(name, theirs))
            if ours != theirs and not both_nan and not differs(name, value):
                wrong += 1
                if wrong < 40:
                    print(f"{name}: {value.hex()} is {ours} ({from_code(name, ours)}) here and {theirs} ({from_code(name, theirs)}) there")
    print(f"{checked - wrong} of {checked} agree with ml_dtypes {ml_dtypes.__version__}")
    return 1 if wrong else 0


sys.exit(main())
