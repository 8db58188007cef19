# SPDX-License-Identifier: Apache-2.0
"""Stacks by unwind tables: of programs without frame pointers, started in all ways, attached to, under
return probes. What is asked for is that they reach the thread's first function."""
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from collections import Counter

from command import PROGRAM, SOURCE_DIR, run

WORKLOADS = os.environ['WORKLOAD_DIR']
STACKS = os.path.join(WORKLOADS, 'stacks')
RETURN_PROBE = os.path.join(os.path.dirname(WORKLOADS), 'unwind', 'return_probe')
PYTHON = '/usr/bin/python3'


class Capture:
    """The samples of a file: (thread, flags of the stack, [(module, offset)])."""

    def __init__(self, path):
        text = run('dump', '-i', path).stdout
        self.samples, self.info, stacks = [], [], {}
        for line in text.splitlines():
            kind, _, rest = line.partition(' ')
            if kind == 'STACK':
                number = re.match(r'id=(\d+)', rest)[1]
                flags = re.search(r' flags=(\S*)', rest)
                stacks[number] = (flags[1] if flags else '',
                                  re.findall(r'\d+:"([^"]*)"\+0x([0-9a-f]+)', rest))
            elif kind == 'INFO':
                self.info.append(re.search(r'key=\d+:"(.*?)" value=\d+:"(.*)"', rest).groups())
            elif kind == 'CPU_SAMPLE':
                self.samples.append((re.search(r' thread=(\d+)', rest)[1],
                                     *stacks[re.search(r' stack=(\d+)', rest)[1]]))

    def settled(self):
        """Those taken when the tables of what a thread runs were there, which takes a busy machine a
        while: from the 200th on that was walked by tables alone. Never only a small part of all."""
        found, alone = [], Counter()
        for s in self.samples:
            alone[s[0]] += s[1] == 'rooted|by-table'
            if alone[s[0]] >= 200:
                found.append(s)
        if len(found) < 0.3 * len(self.samples):
            raise AssertionError('tables came late:\n' + summary(self.samples))
        return found


def enough(count, of, percent):
    """Of a few hundred samples, as a busy machine takes them, one is more than a thousandth."""
    return of - count <= max(1, of * (100 - percent) / 100)


def percent(samples, wanted):
    return 100.0 * sum(wanted in s[1] for s in samples) / len(samples) if samples else 0.0


def summary(samples):
    return '\n'.join(f'{n} {flags}' for flags, n in
                     Counter(s[1] for s in samples).most_common())


def offset_of(path, symbol):
    """Where the code of a symbol is in the file, by nm and readelf."""
    for line in subprocess.run(['nm', path], capture_output=True, text=True,
                               check=True).stdout.splitlines():
        if line.endswith(' ' + symbol):
            address = int(line.split()[0], 16)
            break
    segments = subprocess.run(['readelf', '-lW', path], capture_output=True, text=True,
                              check=True).stdout
    for m in re.finditer(r'LOAD +(0x\w+) (0x\w+) 0x\w+ (0x\w+)', segments):
        start, vaddr, size = (int(m[i], 16) for i in (1, 2, 3))
        if vaddr <= address < vaddr + size:
            return address - vaddr + start
    raise LookupError(symbol)


def entangled(count=4000):
    """An ELF file whose every FDE has a CIE of its own that spans all that follow: reading it as told
    would take the square of its size."""
    cie_bytes, names = 16 * count, b'\0.eh_frame\0.shstrtab\0'
    frame = b''.join(struct.pack('<II5B3x', cie_bytes - 16 * i - 4, 0, 1, 0, 1, 1, 16)
                     for i in range(count))
    for i in range(count):
        at = cie_bytes + 24 * i + 4
        frame += struct.pack('<IIQQ', 20, at - 16 * i, 0x1000 + 8 * i, 8)
    start = 0x100
    sections = [(0, 0, 0, 0, 0, 0), (1, 1, 2, start, start, len(frame)),
                (11, 3, 0, 0, start + len(frame), len(names))]
    headers = start + len(frame) + len(names)
    out = b'\x7fELF\2\1\1' + bytes(9)
    out += struct.pack('<HHIQQQIHHHHHH', 3, 62, 1, 0, 64, headers, 0, 64, 56, 1, 64, 3, 2)
    out += struct.pack('<IIQQQQQQ', 1, 5, 0, 0, 0, 1 << 20, 1 << 20, 4096)
    out = out.ljust(start, b'\0') + frame + names
    for name, kind, flags, address, offset, size in sections:
        out += struct.pack('<IIQQQQIIQQ', name, kind, flags, address, offset, size, 0, 0, 1, 0)
    return out.ljust(1 << 20, b'\0')


class Stacks(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.data = os.path.join(self.folder, 'a.data')

    def record(self, *args, **kwargs):
        done = run('record', '-o', self.data, '-F', '999', *args, **kwargs)
        self.assertEqual(done.returncode, 0, done.stderr)
        return Capture(self.data)

    def check(self, capture, table=99.9, rooted=99.9, count=100, settled=True):
        """At least so many per cent reach the root, from the first sample on, and when the program has
        been running for a while, by tables alone."""
        samples = capture.settled() if settled else capture.samples
        self.assertGreater(len(samples), count)
        reached = sum('rooted' in s[1] for s in capture.samples)
        self.assertTrue(enough(reached, len(capture.samples), rooted), summary(capture.samples))
        alone = sum(s[1] == 'rooted|by-table' for s in samples)
        self.assertTrue(enough(alone, len(samples), table), summary(samples))
        return samples

    def test_calls(self):
        samples = self.check(self.record('--', STACKS, 'calls', '2'))
        deep = sum(len(s[2]) for s in samples) / len(samples)
        self.assertGreater(deep, 30)

    def test_mixed_threads(self):
        self.check(self.record('--', STACKS, 'mixed', '2', '2'))

    def test_beyond_tables(self):
        """Frames whose rule no table can say go on with libunwind."""
        samples = self.check(self.record('--', STACKS, 'odd', '2'), table=0, settled=False)
        self.assertGreater(percent(samples, 'by-copy'), 50, summary(samples))

    def test_signals(self):
        samples = self.check(self.record('--', STACKS, 'signals', '2', '1'))
        # The handler's stacks go on below it: with the program's frames on both sides of libc's.
        crossing = sum(any(a[0] == 'stacks' and b[0] == 'libc.so.6' and c[0] in ('stacks', '[vdso]')
                           for a, b, c in zip(s[2], s[2][1:], s[2][2:])) for s in samples)
        self.assertGreater(crossing, 0)

    def test_launchers(self):
        for command in (['sh', '-c', f'{STACKS} mixed 1.5; true'],
                        ['env', 'A=1', 'nice', '-n', '1', STACKS, 'mixed', '1.5'],
                        [PYTHON, '-c', 'import subprocess, sys; subprocess.run(sys.argv[1:])',
                         STACKS, 'mixed', '1.5'],
                        [PYTHON, '-c', 'import os, sys; os.fork() or os.execv(sys.argv[1], '
                                       'sys.argv[1:]); os.wait()', STACKS, 'mixed', '1.5']):
            with self.subTest(command=command[0]):
                self.check(self.record('--', *command))

    def test_attached(self):
        with subprocess.Popen([STACKS, 'mixed', '20', '1']) as target:
            time.sleep(0.3)
            capture = self.record('--duration', '3', '-p', str(target.pid))
            target.kill()
        # No sample is without its tables: they are there before the first one is taken.
        self.check(capture, settled=False)

    def test_attached_python(self):
        script = os.path.join(SOURCE_DIR, 'test/workload/numpy_sort.py')
        if subprocess.run([PYTHON, '-c', 'import numpy'], stderr=subprocess.DEVNULL).returncode:
            self.skipTest('no numpy (package python3-numpy)')
        with subprocess.Popen([PYTHON, script, '240'], stdout=subprocess.PIPE) as target:
            target.stdout.readline() # "under way"
            capture = self.record('--duration', '3', '-p', str(target.pid))
            target.kill()
        self.check(capture, settled=False)

    def test_attached_torch(self):
        """What oneDNN compiles at run time has no unwind information: the caller is looked for."""
        script = os.path.join(SOURCE_DIR, 'test/workload/torch_train.py')
        if subprocess.run([PYTHON, '-c', 'import torch'], stderr=subprocess.DEVNULL).returncode:
            self.skipTest('no torch (package python3-torch)')
        with subprocess.Popen([PYTHON, script, '240'], stdout=subprocess.PIPE) as target:
            target.stdout.readline() # "under way"
            capture = self.record('--duration', '5', '-p', str(target.pid))
            target.kill()
        samples = self.check(capture, table=85.0, rooted=99.5)
        # Of 300 files those get tables that stacks pass through. The first stacks of each lose nothing,
        # as they are copied; from then on nothing but that is gone on with from a copy.
        late = sum('by-copy' in s[1] for s in samples)
        self.assertTrue(enough(len(samples) - late, len(samples), 99.0), summary(samples))
        made = int(dict(capture.info)['unwind.tables'].split()[0])
        self.assertLess(made, 100)

    def with_return_probe(self, symbol, mode):
        probe = subprocess.Popen([RETURN_PROBE, STACKS, str(offset_of(STACKS, symbol))],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(probe.wait)
        self.addCleanup(probe.stdout.close)
        self.addCleanup(probe.stdin.close)
        if probe.stdout.readline() != 'ready\n':
            self.skipTest('no return probes here')
        return self.record('--', STACKS, mode, '2')

    def test_return_probe(self):
        """perf reaches main in none of the stacks below a function with a return probe. By tables alone
        but for two moments inside of the kernel (0.3 % of the samples): when it has put its trampoline
        onto the stack and not yet noted what was there, and when it has forgotten that and not yet gone
        back. Nobody can tell the caller then, and its caller has to be looked for."""
        samples = self.check(self.with_return_probe('_ZL7librarym', 'mixed'), table=99.0)
        outside = [s for s in samples if s[2][0][0] != '[kernel]']
        alone = sum(s[1] == 'rooted|by-table' for s in outside)
        self.assertTrue(enough(alone, len(outside), 99.9), summary(outside))
        below = [s for s in samples if any(m == 'stacks' for m, _ in s[2])]
        self.assertGreater(len(below), 100)
        self.assertFalse(any(m == '[uprobes]' for s in samples for m, _ in s[2]))

    def test_return_probe_in_copies(self):
        """A copied stack has the return addresses that the probes have taken off it: none is looked for."""
        samples = self.check(self.with_return_probe('_ZL3oddm', 'odd'), table=0, settled=False)
        self.assertGreater(percent(samples, 'by-copy'), 50, summary(samples))
        self.assertLess(percent(samples, 'by-scan'), 5, summary(samples))

    def test_many_return_probes(self):
        """A third of 45 frames has one pending, and most of the time goes into the probes."""
        capture = self.with_return_probe('_ZN5small5visitEjm', 'calls')
        self.check(capture, table=85.0, rooted=95.0, count=50)

    def test_malformed_file(self):
        """One process maps a file that is made to break its reader: it is named, the rest is whole."""
        bad = os.path.join(self.folder, 'bad.so')
        with open(bad, 'wb') as f:
            f.write(entangled())
        script = ('import mmap, subprocess, sys, time\n'
                  'f = open(sys.argv[1], "rb")\n'
                  'm = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ | mmap.PROT_EXEC, '
                  'flags=mmap.MAP_PRIVATE)\n'
                  'subprocess.run(sys.argv[2:])\n')
        capture = self.record('--', PYTHON, '-c', script, bad, STACKS, 'mixed', '1.5')
        self.check(capture)
        named = [v for k, v in capture.info if k == 'missing.unwind-table']
        self.assertEqual(len(named), 1, capture.info)
        self.assertIn('bad.so', named[0])

    def test_churn(self):
        """Two libraries take each other's place every few milliseconds: no stack is made by the other's
        tables. Each ends in main, and is in one library only."""
        libraries = [os.path.join(WORKLOADS, f'churn_{n}.so') for n in (120, 1500)]
        churn = os.path.join(WORKLOADS, 'churn')
        capture = self.record('--', churn, '3', '3', *libraries)
        inside = [s for s in capture.settled() if any(m.startswith('churn_') for m, _ in s[2])]
        self.assertGreater(len(inside), 100)
        wrong = []
        for _, flags, frames in inside:
            modules = [m for m, _ in frames if m != '[kernel]']
            in_library = [m for m in modules if m.startswith('churn_')]
            shape = re.sub(r'(L)+', 'L', ''.join(
                'L' if m.startswith('churn_') else 'P' if m == 'churn' else
                'C' if m == 'libc.so.6' else '?' for m in modules))
            # The library's recursion, visit(), main(), libc twice, _start: no more, no less.
            if ('rooted' in flags and 'by-scan' not in flags and
                    not (len(set(in_library)) == 1 and len(in_library) <= 13 and
                         shape == 'LPPCCP')):
                wrong.append((flags, modules))
        self.assertEqual(wrong[:5], [])
        self.assertGreaterEqual(percent(inside, 'rooted'), 99.0, summary(inside))

    def test_max_stack(self):
        capture = self.record('--max-stack', '10', '--', STACKS, 'calls', '2')
        user = [len(s[2]) for s in capture.samples if 'in-kernel' not in s[1]]
        self.assertTrue(any('ends:too-deep' in s[1] for s in capture.samples))
        self.assertEqual(max(n for n, s in zip(user, capture.samples)
                             if all(m != '[kernel]' for m, _ in s[2])), 10)
        # The line that says how far to trust it names the cause, and its share is what is missing.
        told = re.search(r'stacks whole ([\d.]+) % \(([\d.]+) % too-deep',
                         run('report', '-i', self.data).stdout)
        self.assertTrue(told)
        self.assertAlmostEqual(float(told[1]) + float(told[2]), 100, delta=0.5)

    def test_without_tables(self):
        samples = self.record('--call-graph', 'fp', '--', STACKS, 'calls', '2').samples
        self.assertEqual(percent(samples, 'by-table'), 0)
        self.assertLess(percent(samples, 'rooted'), 1)
        samples = self.record('--call-graph', 'none', '--', STACKS, 'calls', '2').samples
        self.assertEqual({len(s[2]) for s in samples}, {1})


if __name__ == '__main__':
    if os.geteuid() != 0 or not os.path.exists(STACKS):
        print('skipped: needs root, and a C++ compiler for its workload')
        sys.exit(77)
    unittest.main()
