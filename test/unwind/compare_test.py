# SPDX-License-Identifier: Apache-2.0
"""Stopped stacks of a running program, walked by our tables and by libunwind: no frame may differ.

    compare_test.py UNWIND_COMPARE WORKLOADS PROGRAM

A share of the stacks each time, 11,000 of all programs with ACCEL_PROF_TEST_FULL, which also has PyTorch as it
comes from PyPI: installed below ~/.cache (5 GB), or in the interpreter that ACCEL_PROF_TORCH_PYTHON names."""
import os
import subprocess
import sys
import venv

COMPARE, WORKLOADS, NAME = sys.argv[1:4]
IS_FULL = bool(os.environ.get('ACCEL_PROF_TEST_FULL'))
SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'workload')
PYTHON = '/usr/bin/python3'
STACKS = os.path.join(WORKLOADS, 'stacks')
TRAIN = os.path.join(SOURCES, 'torch_train.py')


def skip(why):
    print(f'skipped: {why}')
    sys.exit(77)


def with_module(python, module):
    done = subprocess.run([python, '-c', 'import ' + module], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL)
    return done.returncode == 0 or skip(f'no {module} for {python}')


def wheel():
    """An interpreter with PyPI's torch."""
    python = os.environ.get('ACCEL_PROF_TORCH_PYTHON')
    if python:
        return python
    if not IS_FULL:
        skip('PyTorch of PyPI: with scripts/test --full only')
    cache = os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache')
    folder = os.path.join(cache, 'accel-prof', 'torch')
    python = os.path.join(folder, 'bin', 'python')
    if not os.path.exists(os.path.join(folder, 'whole')):
        venv.create(folder, with_pip=True, clear=True)
        if subprocess.run([python, '-m', 'pip', 'install', '-q', 'torch']).returncode:
            skip('torch cannot be installed from PyPI')
        open(os.path.join(folder, 'whole'), 'w').close()
    return python


# Stacks each time and in full; milliseconds to warm up; per cent of those that can that have to reach the
# root by tables alone: MKL's in PyPI's torch have no unwind information.
share, full, warm = 300, 1500, 0
# A thread's first instruction behind the system call of clone3() is not described: 1 in 600 with threads.
rooted = 99.9 if NAME in ('calls', 'exceptions') else 99
if NAME == 'numpy':
    with_module(PYTHON, 'numpy')
    command, warm = [PYTHON, os.path.join(SOURCES, 'numpy_sort.py'), '600'], 1000
elif NAME == 'torch':
    with_module(PYTHON, 'torch')
    command, share, full, warm = [PYTHON, TRAIN, '600'], 100, 1000, 6000
elif NAME == 'torch-wheel':
    command, share, full, warm, rooted = [wheel(), TRAIN, '600'], 100, 1000, 20000, 0
    with_module(command[0], 'torch')
else:
    threads = ['2'] if NAME in ('mixed', 'signals') else []
    command = [STACKS, NAME, '600', *threads]
sys.exit(subprocess.run([COMPARE, '-n', str(full if IS_FULL else share), '-w', str(warm),
                         '-r', str(rooted), '--', *command], stderr=subprocess.STDOUT).returncode)
