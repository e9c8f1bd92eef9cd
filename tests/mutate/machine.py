#!/usr/bin/env python3
"""Mutation of machine code: `machine.py [--build DIR] [--sample N] [--seed S] [--verbose]`, a face for machine_mutations.

Flips one bit of one instruction of a built kernel, N times: it is refuted without being run, or behaves the same on ten
sizes. The last line is `caught X of N`; exit 1 when one is wrongly validated or less than 98 % are caught.
"""
from face import run

run("machine_mutations", __doc__, 500)
