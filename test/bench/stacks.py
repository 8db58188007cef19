#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
What stacks cost, beside what perf pays for as good ones: in the kernel for each sample, in the
recorder at its start and for each sample, and on disk. As root:

	stacks.py ACCEL_PROF WORKLOADS [SECONDS [HZ]]

WORKLOADS is the build's test/workload. perf copies 65,528 bytes of each stack, the most that it can;
what unwinding those takes afterwards (perf script) is printed too, as ours is done by then. Each is
attached to the same process for a moment and for SECONDS: what the first takes is the start, the rest
is by the sample.
"""
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter

ACCEL_PROF, WORKLOADS = sys.argv[1:3]
SECONDS = float(sys.argv[3]) if len(sys.argv) > 3 else 10
HZ = sys.argv[4] if len(sys.argv) > 4 else '999'
SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'workload')
PYTHON = '/usr/bin/python3'
ROOTS = ('_start', '__libc_start', 'clone', '[unknown]+start')


def measure(command):
    """CPU seconds that a command and what it waited for took, and its output."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, errors='replace')
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, done


MOMENT = 0.2  # seconds


def ours(pid, path, seconds):
    """CPU seconds of the recorder, samples, and a line about them."""
    cpu, _ = measure([ACCEL_PROF, 'record', '-o', path, '-F', HZ, '--duration', str(seconds),
                      '-p', str(pid)])
    text = subprocess.run([ACCEL_PROF, 'dump', '-i', path], capture_output=True, text=True).stdout
    flags, depth, samples, frames, info, cost = {}, {}, Counter(), 0, {}, 0
    for line in text.splitlines():
        kind, _, rest = line.partition(' ')
        if kind == 'STACK':
            number = re.match(r'id=(\d+)', rest)[1]
            flags[number] = re.search(r' flags=(\S*)', rest)[1] if ' flags=' in rest else ''
            depth[number] = len(re.findall(r'\d+:"[^"]*"\+0x', rest))
        elif kind == 'CPU_SAMPLE':
            number = re.search(r' stack=(\d+)', rest)[1]
            samples[flags[number]] += 1
            frames += depth[number]
        elif kind == 'INFO':
            key, value = re.search(r'key=\d+:"(.*?)" value=\d+:"(.*)"', rest).groups()
            info[key] = value
        elif kind == 'END':
            cost = int(re.search(r'probe_ns=(\d+)', rest)[1])
    count = sum(samples.values()) or 1
    rooted = sum(n for f, n in samples.items() if 'rooted' in f)
    return cpu, count, (f'{count} samples, {frames / count:.1f} frames, {100 * rooted / count:.2f} % '
                        f'rooted; {cost / count / 1e3:.1f} us a sample in the kernel; '
                        f'{os.path.getsize(path) / count:.0f} bytes a sample'
                        f'\n    {dict(samples)}; tables: {info.get("unwind.tables")}; '
                        f'copies: {info.get("unwind.copies", "none")}')


def perfs(pid, path, seconds, options):
    cpu, _ = measure(['perf', 'record', '-q', '-o', path, '-e', 'cpu-clock', '-F', HZ, *options,
                      '-p', str(pid), '--', 'sleep', str(seconds)])
    script, text = measure(['perf', 'script', '-i', path, '--no-inline', '-F', 'ip,sym'])
    stacks = [s.splitlines() for s in text.stdout.split('\n\n') if s.strip()]
    count = len(stacks) or 1
    rooted = sum(any(r in s[-1] for r in ROOTS) for s in stacks)
    frames = sum(len(s) for s in stacks)
    return cpu, count, (f'{count} samples, {frames / count:.1f} frames, {100 * rooted / count:.2f} % '
                        f'rooted; {os.path.getsize(path) / count:.0f} bytes a sample; perf script '
                        f'takes {script:.2f} s CPU more')


def both(title, run):
    """A moment, then SECONDS. CPU seconds of the long one, for a sample, and of a minute as asked for: a
    busy machine takes fewer samples."""
    start, few, _ = run(MOMENT)
    cpu, count, told = run(SECONDS)
    each = max(0, cpu - start) / max(1, count - few)
    print(f'  {title}: {told}\n    recorder {cpu:.2f} s CPU: start {max(0, start - few * each):.3f} s, '
          f'then {1e6 * each:.1f} us a sample')
    return cpu, each, max(0, start - few * each) + 60 * float(HZ) * each


def compare(title, command, warm):
    print(title)
    with tempfile.TemporaryDirectory() as folder, \
            subprocess.Popen(command, stdout=subprocess.DEVNULL) as target:
        time.sleep(warm)
        path = os.path.join(folder, 'data')
        us = both('accel-prof', lambda seconds: ours(target.pid, path, seconds))
        for options in (['--call-graph', 'dwarf,65528'], ['--call-graph', 'fp']):
            if not shutil.which('perf'):
                break
            them = both('perf ' + ' '.join(options),
                        lambda seconds: perfs(target.pid, path, seconds, options))
            print(f'    accel-prof takes {us[0] / them[0]:.2f} of its CPU time; for a sample '
                  f'{us[1] / max(them[1], 1e-9):.2f}, for a minute of {HZ} a second '
                  f'{us[2] / them[2]:.2f}')
        target.kill()


def has(module):
    return subprocess.run([PYTHON, '-c', 'import ' + module],
                          stderr=subprocess.DEVNULL).returncode == 0


stacks = os.path.join(WORKLOADS, 'stacks')
compare('C++ without frame pointers, calls', [stacks, 'calls', '1000'], 0.5)
compare('C++, threads and handlers', [stacks, 'signals', '1000', '1'], 0.5)
if has('numpy'):
    compare('Python and NumPy', [PYTHON, os.path.join(SOURCES, 'numpy_sort.py'), '1000'], 2)
if has('torch'):
    compare('PyTorch training', [PYTHON, os.path.join(SOURCES, 'torch_train.py'), '1000'], 6)
