#!/usr/bin/env python3
"""Mutation of kernels: `kernels.py [--build DIR] [--sample N] [--seed S]`, a face for the program of tests/mutate.

Changes N places of kernels' code, one at a time, in process. The last line is `caught X of N`; exit 1 when one that is
wrong was not refuted.
"""
from face import run

run("kernel_mutations", __doc__, 300)
