# SPDX-License-Identifier: Apache-2.0
"""What perf's own shell tests ask of perf (tools/perf/tests/shell of the kernel), asked of accel-prof, with
both engines: header, data_validation, build-id, unwinding through threads, mappings told from elsewhere."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from collections import Counter

from command import PROGRAM, run
from record_test import SPLIT, Capture

ENGINES = ('bpf', 'perf')
WORKLOADS = os.environ['WORKLOAD_DIR']


class Peer(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.data = os.path.join(self.folder, 'a.data')

    def record(self, engine, *args):
        done = run('record', '--engine', engine, '-F', '999', '-o', self.data, *args)
        self.assertEqual(done.returncode, 0, done.stderr)
        return Capture(self.data)

    def check_header(self, text, engine, command):
        header = re.search('^HEADER .*', text, re.MULTILINE)[0]
        fields = dict(re.findall(r'(\w+)=(?:\d+:)?("[^"]*"|\S+)', header))
        system = os.uname()
        for field, value in (('host', system.nodename), ('kernel', system.release),
                             ('arch', system.machine), ('source', 'record'), ('command', command),
                             ('clock', 'CLOCK_MONOTONIC')):
            self.assertEqual(fields[field].strip('"'), value)
        self.assertTrue(fields['tool'].startswith('"accel-prof '), fields['tool'])
        self.assertIn(fields['event'], ('"cycles"', '"cpu-clock"'))
        self.assertEqual(fields['frequency'], '999')
        self.assertGreater(int(fields['realtime_ns']), 10 ** 18)
        self.assertRegex(text, rf'(?m)^INFO key=\d+:"engine" value=\d+:"{engine}"$')
        self.assertRegex(text, r'(?m)^INFO key=\d+:"asked.command" value=\d+:"true"$')

    def test_header(self):
        """All of it is there, in a file and in a pipe."""
        for engine in ENGINES:
            command = f'accel-prof record --engine {engine} -F 999 -o {self.data} -- true'
            self.check_header(self.record(engine, '--', 'true').text, engine, command)
            done = subprocess.run([PROGRAM, 'record', '--engine', engine, '-F', '999', '-o', '-', '--',
                                   'true'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  check=True)
            piped = subprocess.run([PROGRAM, 'dump', '-i', '-'], input=done.stdout,
                                   stdout=subprocess.PIPE, check=True)
            self.check_header(piped.stdout.decode(), engine,
                              f'accel-prof record --engine {engine} -F 999 -o - -- true')

    def test_data_validation(self):
        """Cut, a file is readable as far as it goes: a status that says so, no signal, and the place."""
        self.record('bpf', '--', SPLIT, 'plain', '200')
        with open(self.data, 'rb') as file:
            whole = file.read()
        for size in (0, 8, 64, 256, len(whole) * 3 // 4, len(whole) - 1):
            with open(self.data, 'wb') as file:
                file.write(whole[:size])
            for command in ('report', 'dump', 'flamegraph'):
                done = run(command, '-i', self.data)
                self.assertEqual(done.returncode, 1, (command, size))
                self.assertNotEqual(done.stderr, '', (command, size))
                self.assertNotIn('Sanitizer', done.stderr)
        for at in range(0, len(whole), max(1, len(whole) // 60)):
            damaged = bytearray(whole)
            damaged[at] ^= 0x10
            with open(self.data, 'wb') as file:
                file.write(damaged)
            self.assertIn(run('report', '-i', self.data).returncode, (0, 1), at)

    def test_offset(self):
        """A damaged chunk is named by where it is."""
        self.record('bpf', '--', SPLIT, 'plain', '300')
        with open(self.data, 'rb') as file:
            whole = bytearray(file.read())
        whole[len(whole) // 2] ^= 0xff
        with open(self.data, 'wb') as file:
            file.write(whole)
        done = run('dump', '-i', self.data)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r'offset 0x[0-9a-f]+|\+0x[0-9a-f]+')

    def test_build_id(self):
        """As readelf has it."""
        told = subprocess.run(['readelf', '-n', SPLIT], capture_output=True, text=True,
                              check=True).stdout
        wanted = re.search('Build ID: ([0-9a-f]+)', told)[1]
        for engine in ENGINES:
            text = self.record(engine, '--', SPLIT, 'plain', '100').text
            self.assertRegex(text, rf'(?m)^OBJECT .*path=\d+:"{re.escape(SPLIT)}" .*build_id={wanted}')

    def test_unwind_through_threads(self):
        """Every thread's stacks reach its first function, and pass the one that it was started with."""
        for engine in ENGINES:
            capture = self.record(engine, '--', SPLIT, 'threads', '150')
            by_thread = Counter()
            for thread, stack in capture.samples:
                name = capture.threads[thread][1]
                if name.startswith('often-'):
                    self.assertEqual(stack[-1][0], 'libc.so.6', (engine, stack))
                    by_thread[name] += sum(module == 'split' for module, _ in stack) >= 4
            self.assertEqual(set(by_thread), {f'often-{i}' for i in range(4)}, engine)
            self.assertGreater(min(by_thread.values()), 20, engine)

    def test_sideband(self):
        """A mapping that another CPU told of, after the events were armed."""
        late = os.path.join(WORKLOADS, 'late.so')
        cpus = sorted(os.sched_getaffinity(0))
        for engine in ENGINES:
            capture = self.record(engine, '--', 'taskset', '-c', str(cpus[-1]), SPLIT, 'late', '200')
            self.assertGreater(capture.by_function(late)['late_burn'], 50, engine)


if __name__ == '__main__':
    if os.geteuid() != 0:
        print('not root: nothing can be recorded')
        sys.exit(77)
    unittest.main()
