#!/usr/bin/env python3
"""pycute on the workload of bench_peers.cpp: nanoseconds per operation, the least of some passes, in processor time.

  PYTHONPATH=/path/to/cutlass/python python3 bench_pycute.py [WORKLOAD.jsonl.gz] [PASSES]

An input that pycute refuses (an assertion) is left out and counted.
"""
import gzip
import json
import os
import sys
import time

import pycute


def tuples(value):
    return tuple(map(tuples, value)) if isinstance(value, list) else value


def layout(text):
    shape, stride = text.split(":")
    return pycute.Layout(*(tuples(json.loads(part.replace("(", "[").replace(")", "]"))) for part in (shape, stride)))


def operation(op, args):
    """What is timed, as a function of no arguments over prepared operands."""
    if op == "crd2idx":
        coordinate, target = tuples(args[0]), layout(args[1])
        return lambda: target(coordinate)
    first = layout(args[0])
    if op == "coalesce":
        return lambda: pycute.coalesce(first)
    if op == "complement":
        return lambda: pycute.complement(first, args[1])
    second = layout(args[1])
    return lambda: getattr(pycute, op)(first, second)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "../golden/bench_workload.jsonl.gz")
    passes = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    calls, refused = {}, {}
    with gzip.open(path, "rt") as lines:
        for line in lines:
            item = json.loads(line)
            call = operation(item["op"], item["args"])
            try:
                call()
                calls.setdefault(item["op"], []).append(call)
            except AssertionError:
                refused[item["op"]] = refused.get(item["op"], 0) + 1
    print(f"{'operation':15s} {'pycute ns':>12s} {'inputs':>8s} {'refused':>8s}")
    for op, todo in sorted(calls.items()):
        best = float("inf")
        for _ in range(passes):
            begin = time.process_time_ns()
            for call in todo:
                call()
            best = min(best, time.process_time_ns() - begin)
        print(f"{op:15s} {best / len(todo):12.0f} {len(todo):8d} {refused.get(op, 0):8d}")


main()
