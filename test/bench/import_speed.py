#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast traces are imported, and in how much memory, beside what else reads them.

    import_speed.py BUILD_FOLDER [SIZE] [--memory SIZE]

Makes a torch.profiler trace of SIZE (200M) with BUILD_FOLDER/test/bench/bench_make_trace, and prints
megabytes of JSON a second of CPU time, best of three: this importer from raw JSON and from gzip,
python3's json.load, gunzip alone; then the growth from a tenth of the size, and with --memory the
peak memory for a trace of that size (2G), which goes through a pipe."""
import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time


def cpu_seconds(command, **kwargs):
    best = None
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       **kwargs)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        best = spent if best is None else min(best, spent)
    return best


def make(build, size, path):
    with open(path, 'wb') as file:
        subprocess.run([os.path.join(build, 'test/bench/bench_make_trace'), size], check=True,
                       stdout=file)
    return os.path.getsize(path)


def peak_memory(build, size, output):
    """Peak resident set of the importer in MB, fed by a pipe."""
    maker = subprocess.Popen([os.path.join(build, 'test/bench/bench_make_trace'), size],
                             stdout=subprocess.PIPE)
    start = time.monotonic()
    importer = subprocess.Popen([os.path.join(build, 'cmd/accel-prof'), 'import', '-q', '-o', output,
                                 '-'], stdin=maker.stdout)
    maker.stdout.close()
    _, status, usage = os.wait4(importer.pid, 0)
    maker.wait()
    if status:
        sys.exit('the import failed')
    return usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime, time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('build')
    parser.add_argument('size', nargs='?', default='200M')
    parser.add_argument('--memory', nargs='?', const='2G')
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        raw, packed, small = (os.path.join(folder, n) for n in ('t.json', 't.json.gz', 's.json'))
        output = os.path.join(folder, 'out.data')
        importer = [os.path.join(args.build, 'cmd/accel-prof'), 'import', '-q', '-o', output]
        size = make(args.build, args.size, raw)
        with open(packed, 'wb') as file:
            subprocess.run(['gzip', '-6', '-c', raw], check=True, stdout=file)

        def show(name, seconds, bytes_read=size):
            print(f'{name:<34}{bytes_read / seconds / 1e6:8.0f} MB/s {seconds:8.2f} s')

        print(f'{size / 1e6:.0f} MB of JSON, {os.path.getsize(packed) / 1e6:.1f} MB as gzip')
        whole = cpu_seconds([*importer, raw])
        show('accel-prof import, raw', whole)
        show('accel-prof import, gzip', cpu_seconds([*importer, packed]))
        show('gunzip alone', cpu_seconds(['gzip', '-dc', packed]))
        show("python3's json.load", cpu_seconds(
            [sys.executable, '-c', 'import json,sys; json.load(open(sys.argv[1]))', raw]))
        tenth = make(args.build, str(size // 10), small)
        part = cpu_seconds([*importer, small])
        print(f'{size / tenth:.1f} times the events take {whole / part:.1f} times as long')
        print(f'capture: {os.path.getsize(output) / 1e6:.1f} MB for a tenth')
        if args.memory:
            memory, cpu, wall = peak_memory(args.build, args.memory, output)
            print(f'{args.memory}: {memory:.0f} MB of memory, {cpu:.1f} s of CPU, {wall:.1f} s')


main()
