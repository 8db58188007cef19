# SPDX-License-Identifier: Apache-2.0
"""Python calling NumPy and C for some seconds, and says when it is under way:
python3 numpy_sort.py SECONDS"""
import sys
import time

import numpy


def inner(values):
    return numpy.sort(values).sum() + sum(sorted(values[:200].tolist(), key=lambda v: -v))


def outer(depth, values):
    return outer(depth - 1, values) if depth else inner(values)


def main(seconds):
    values = numpy.random.rand(2000)
    end = time.monotonic() + seconds
    outer(20, values)
    print("under way", flush=True)
    while time.monotonic() < end:
        outer(20, values)


main(float(sys.argv[1]))
