# SPDX-License-Identifier: Apache-2.0
"""Launches for real, on POCL: every one counted and under its caller, and the device's time as
OpenCL's own profiling measures it."""
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import unittest
from collections import Counter, defaultdict

from command import PROGRAM, functions, run

WORKLOADS = os.environ['WORKLOAD_DIR']
# The sanitizers make the recorder some ten times slower, so that it needs as much more time.
SLOW = 10 if os.environ.get('SANITIZED') == '1' else 1
LAUNCHES = os.path.join(WORKLOADS, 'launches')
MM = os.path.join(WORKLOADS, 'mm')
PYTHON = os.path.join(os.environ['SOURCE_DIR'], 'test/workload/pyopencl_scale.py')


class Record(dict):
    """One line of the dump: number fields as numbers, the text of strings."""

    def __init__(self, line):
        super().__init__()
        for name, number, text, word in re.findall(
                r'(\w+)=(?:(\d+):"([^"]*)"|([^\s"\[]+))', line):
            self[name] = text if number else word

    def number(self, name):
        return int(self.get(name, 0))

    def ns(self, name):
        """A time, which the dump shows in seconds with nine digits."""
        seconds, _, rest = self[name].partition('.')
        return int(seconds) * 10**9 + int(rest)


class Capture:
    def __init__(self, path):
        done = run('dump', '-i', path)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        self.records = defaultdict(list)
        self.stacks, self.info = {}, {}
        for line in done.stdout.splitlines():
            kind, _, rest = line.partition(' ')
            if kind == 'STACK':
                self.stacks[int(re.search(r'id=(\d+)', rest)[1])] = [
                    (name, int(offset, 16))
                    for name, offset in re.findall(r'\d+:"([^"]*)"\+0x([0-9a-f]+)', rest)]
            elif kind not in ('CPU_SAMPLE', 'SYMBOL', 'STRING', 'OBJECT'):
                record = Record(rest)
                if kind == 'LAUNCH':
                    # The number of a stack is given out again later in a long file.
                    record.stack = self.stacks.get(record.number('stack'), [])
                self.records[kind].append(record)
        for record in self.records['INFO']:
            self.info[record['key']] = record['value']
        self.threads = {r.number('id'): r.number('tid') for r in self.records['THREAD']}
        self.kernels = {r.number('id'): r.get('name', '') for r in self.records['KERNEL']}
        self.launches = [r for r in self.records['LAUNCH'] if r['kind'] == 'kernel']

    def caller(self, launch, table, module):
        """The function that called OpenCL, by itself or through enqueue()."""
        for name, offset in launch.stack:
            if name == module:
                function = next((f for start, end, f in table if start <= offset < end), None)
                if function == 'enqueue':
                    continue
                return function
            if not name.startswith('libOpenCL'):
                return f'{name}+{offset:#x}'
        return None

    def each_ns(self):
        """Nanoseconds of each DISPATCH in order, by kernel name."""
        each = defaultdict(list)
        for dispatch in sorted(self.records['DISPATCH'], key=lambda r: r.ns('start')):
            each[self.kernels[dispatch.number('kernel')]].append(
                dispatch.ns('end') - dispatch.ns('start'))
        return each

    def lost(self):
        return [dict(r) for r in self.records['LOST']]


class Recorded(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.data = os.path.join(self.folder, 'a.data')

    options = ()
    DOUBT_NS = 0 # of times to each other

    def record(self, *command, environment=None):
        # A stack for each launch, however many there are.
        done = subprocess.run([PROGRAM, 'record', '-q', '--stack-share', '100', *self.options, '-o',
                               self.data, '--', *command],
                              capture_output=True, text=True, timeout=200, check=False,
                              env={**os.environ, **(environment or {})})
        if done.returncode == 77:
            self.skipTest(done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout, Capture(self.data)

    def check_callers(self, output, capture, kind=''):
        """Every launch that the workload made, by thread and function, and no other."""
        expected, seen = Counter(), Counter()
        for tid, red, blue in re.findall(r'^thread (\d+) launch_red (\d+) launch_blue (\d+)$',
                                         output, re.MULTILINE):
            expected[int(tid), 'launch_red' + kind] = int(red)
            expected[int(tid), 'launch_blue' + kind] = int(blue)
        self.assertTrue(expected)
        table = functions(LAUNCHES)
        for launch in capture.launches:
            function = capture.caller(launch, table, 'launches')
            seen[capture.threads[launch.number('thread')], function] += 1
        warm_up = [key for key in seen if key[1] == 'main']
        self.assertEqual(sum(seen.pop(key) for key in warm_up), 1)
        self.assertEqual(seen, expected)
        self.assertEqual(capture.lost(), [])

    def check_dispatches(self, capture):
        """Each launch was carried out once, after it was asked for, and none overlaps another of
        its queue."""
        launched = {r.number('correlation'): r for r in capture.records['LAUNCH']}
        done = [r.number('correlation') for r in capture.records['DISPATCH']]
        kernels = [r.number('correlation') for r in capture.launches]
        self.assertEqual(sorted(done), sorted(kernels))
        queues = defaultdict(list)
        for dispatch in capture.records['DISPATCH']:
            launch = launched[dispatch.number('correlation')]
            start, end = dispatch.ns('start'), dispatch.ns('end')
            self.assertLessEqual(launch.ns('time'), start + self.DOUBT_NS)
            self.assertLessEqual(start, end)
            self.assertEqual(dispatch['kernel'], launch['kernel'])
            self.assertEqual(dispatch['queue'], launch['queue'])
            queues[dispatch['queue']].append((start, end))
        for spans in queues.values():
            spans.sort()
            for before, after in zip(spans, spans[1:]):
                self.assertLessEqual(before[1], after[0] + self.DOUBT_NS)


class Launch(Recorded):
    def test_one_thread(self):
        output, capture = self.record(LAUNCHES, '-n', str(20000 // SLOW))
        self.check_callers(output, capture)
        self.check_dispatches(capture)
        self.assertEqual(set(capture.kernels.values()), {'tick'})
        self.assertEqual({(r['grid'], r['block']) for r in capture.launches},
                         {('1,1,1', '1,1,1')})

    def test_threads_queues_and_events(self):
        for events in 'none', 'all', 'half':
            output, capture = self.record(LAUNCHES, '-n', str(3000 // SLOW), '-t', '4', '-q', '3',
                                          '-e', events)
            self.check_callers(output, capture)
            self.check_dispatches(capture)
            self.assertEqual(len(capture.records['QUEUE']), 3)

    def test_same_place_other_caller(self):
        """Launches from one place in one frame, whose caller alternates: all but one word of what
        the stack walk reads is the same each time."""
        output, capture = self.record(LAUNCHES, '-r', '10000', '-n', str(10000 // SLOW), '-d')
        # Before the tables of the program are in place, walks end with the caller of OpenCL.
        whole = [r for r in capture.launches if len(r.stack) > 3]
        self.assertGreater(len(whole), len(capture.launches) // 2)
        capture.launches = sorted(whole, key=lambda r: r.ns('time'))
        table = functions(LAUNCHES)
        callers = [capture.caller(r, table, 'launches') for r in capture.launches]
        self.assertEqual(set(callers) - {'main'}, {'launch_red_deep', 'launch_blue_deep'})
        callers = [c for c in callers if c != 'main']
        # Of an unbroken run every second one has the other caller.
        repeated = sum(a == b for a, b in zip(callers, callers[1:]))
        self.assertLessEqual(repeated, len(capture.records['LAUNCH']) - len(whole))

    def test_shared_kernel(self):
        output, capture = self.record(LAUNCHES, '-n', str(3000 // SLOW), '-t', '4', '-q', '1', '-k')
        self.check_callers(output, capture)
        self.check_dispatches(capture)

    def test_busy(self):
        """100,000 launches a second from 8 threads, with every CPU busy besides."""
        seconds = os.environ.get('ACCEL_PROF_TEST_SECONDS', '2')
        rate = str(100000 // SLOW // SLOW)
        hogs = [subprocess.Popen([sys.executable, '-c', 'while True: pass'])
                for _ in range(os.cpu_count())]
        try:
            output, capture = self.record(LAUNCHES, '-r', rate, '-s', seconds, '-t', '8',
                                          '-q', '3', '-e', 'half')
        finally:
            for hog in hogs:
                hog.kill()
                hog.wait()
        self.check_callers(output, capture)
        self.check_dispatches(capture)

    def test_few_stacks(self):
        """As fast as it goes, with next to no time for stacks: all are counted, shares stay."""
        done = subprocess.run([PROGRAM, 'record', '-q', '--stack-share', '1', '-o', self.data, '--',
                               LAUNCHES, '-n', str(60000 // SLOW)],
                              capture_output=True, text=True, timeout=200, check=False)
        if done.returncode == 77:
            self.skipTest(done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        red, blue = [int(n) for n in re.search(r'launch_red (\d+) launch_blue (\d+)',
                                               done.stdout).groups()]
        count = Counter()
        for line in run('flamegraph', '-i', self.data, '--metric', 'launches', '--format',
                        'folded').stdout.splitlines():
            stack, _, number = line.rpartition(' ')
            found = re.search(r'launch_(red|blue)', stack)
            if 'tick' in stack:
                count[found[1] if found else ''] += int(number)
        self.assertEqual(sum(count.values()), red + blue + 1) # a warm-up by main()
        self.assertAlmostEqual(count['red'] / (red + blue), 0.5, delta=0.06, msg=count)

    def check_mm(self, output, capture):
        measured = {name: (int(count), int(ns)) for name, count, ns in re.findall(
            r'^(\w+) launches (\d+) device_ns (\d+) ', output, re.MULTILINE)}
        self.assertEqual(set(measured), {'mm_basic', 'mm_local', 'mm_tiled'})
        table = functions(MM)
        callers = defaultdict(Counter)
        for launch in capture.launches:
            callers[capture.kernels[launch.number('kernel')]][
                re.sub(r'\+0x.*', '', capture.caller(launch, table, 'mm'))] += 1
        self.assertEqual(callers, {
            'mm_basic': {'multiply_basic': measured['mm_basic'][0]},
            'mm_local': {'multiply_local': measured['mm_local'][0]},
            'mm_tiled': {'mm_plugin.so': measured['mm_tiled'][0]},
        })
        # Launch by launch; on a busy machine a thread may lose its CPU between the probe and POCL's
        # own look at the clock, so that a few differ by as long as that takes.
        ours = capture.each_ns()
        for name in measured:
            each = [int(ns) for ns in re.findall(rf'^{name} took (\d+)$', output, re.MULTILINE)]
            self.assertEqual(len(ours[name]), len(each))
            ratio = statistics.median(a / b for a, b in zip(ours[name], each))
            self.assertAlmostEqual(ratio, 1, delta=0.02, msg=name)
        self.check_dispatches(capture)
        # What was read back: one matrix for each launch.
        copies = [r for r in capture.records['COPY'] if r['name'] == 'Read Buffer']
        self.assertEqual(len(copies), len(capture.launches))
        self.assertEqual({r.number('bytes') for r in copies}, {256 * 256 * 4})
        sources = [r for r in capture.records['CODE_OBJECT'] if r['kind'] == 'source']
        with open(os.path.join(os.environ['SOURCE_DIR'], 'test/workload/mm.cl'), 'rb') as file:
            self.assertEqual(sources[0].number('total_bytes'), len(file.read()))

    def test_mm(self):
        self.check_mm(*self.record(MM, '2', '256', environment={'MM_EACH': '1'}))

    def test_without_kernel_cache(self):
        self.check_mm(*self.record(MM, '1', '256', environment={'POCL_KERNEL_CACHE': '0',
                                                                 'MM_EACH': '1'}))

    def test_basic_driver(self):
        """Everything on one thread, inside the calls."""
        output, capture = self.record(LAUNCHES, '-n', str(3000 // SLOW), '-e', 'half',
                                      environment={'POCL_DEVICES': 'basic'})
        self.check_callers(output, capture)
        self.check_dispatches(capture)

    def test_calls(self):
        """One of each: what it is called, how many bytes it moves, and that it was carried out, or
        not where the call failed."""
        output, capture = self.record(os.path.join(WORKLOADS, 'calls'))
        expected = re.findall(r'^(.+) (\d+) (done|failed)$', output, re.MULTILINE)
        self.assertGreater(len(expected), 20)
        done = {r.number('correlation'): r
                for r in capture.records['DISPATCH'] + capture.records['COPY']}
        self.assertEqual(len(done),
                         len(capture.records['DISPATCH']) + len(capture.records['COPY']))
        seen = []
        for launch in sorted(capture.records['LAUNCH'], key=lambda r: r.ns('time')):
            name = launch.get('name') or 'kernel:' + capture.kernels[launch.number('kernel')]
            end = done.get(launch.number('correlation'))
            # POCL has nothing to do for these, and no event.
            done_at_once = name in ('SVM Map', 'SVM Unmap')
            seen.append((name, launch.get('bytes', '0'),
                         'done' if end or done_at_once else 'failed'))
            if end and launch.number('bytes'):
                self.assertEqual(end['bytes'], launch['bytes'])
        self.assertEqual(seen, expected)

    def test_pyopencl(self):
        _, capture = self.record('/usr/bin/python3', PYTHON, '500')
        names = Counter(capture.kernels[r.number('kernel')] for r in capture.launches)
        self.assertEqual(names, {'twice': 500, 'half_of': 500})
        self.check_dispatches(capture)
        twice = next(r for r in capture.launches
                     if capture.kernels[r.number('kernel')] == 'twice')
        self.assertEqual((twice['grid'], twice['block']), ('16,1,1', '64,1,1'))
        half = next(r for r in capture.launches
                    if capture.kernels[r.number('kernel')] == 'half_of')
        self.assertEqual(half['metadata'], 'global=1024,1,1')

    def attach(self, *command, seconds=1.0):
        """Record a running process for a while in its middle."""
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as workload:
            workload.stdout.readline() # "under way"
            done = subprocess.run([PROGRAM, 'record', '-q', '--stack-share', '100', '-o', self.data, '-p',
                                   str(workload.pid), '--duration', str(seconds)],
                                  capture_output=True, text=True, timeout=240, check=False)
            output, _ = workload.communicate(timeout=240)
        if workload.returncode == 77:
            self.skipTest('no OpenCL device')
        self.assertEqual((done.returncode, workload.returncode), (0, 0), done.stderr)
        return output, Capture(self.data)

    def test_attach(self):
        """The threads take turns between two functions: a launch that is missing shows as two of
        one kind in a row. The kernel's name is found in the process."""
        _, capture = self.attach(LAUNCHES, '-r', str(20000 // SLOW), '-s', '4' if SLOW == 1 else '15',
                                 '-t', '2', '-e', 'half')
        self.assertEqual(capture.lost(), [])
        table = functions(LAUNCHES)
        launches = [r for r in capture.launches if r.get('flags', '0') == '0']
        self.assertGreater(len(launches), 5000 // SLOW)
        turns = defaultdict(list)
        for launch in sorted(launches, key=lambda r: r.ns('time')):
            turns[launch['thread']].append(capture.caller(launch, table, 'launches'))
        for callers in turns.values():
            self.assertLessEqual(set(callers), {'launch_red', 'launch_blue'})
            for before, after in zip(callers, callers[1:]):
                self.assertNotEqual(before, after)
        self.assertEqual(set(capture.kernels.values()), {'tick'})
        done = {r.number('correlation') for r in capture.records['DISPATCH']}
        undone = [r for r in launches if r.number('correlation') not in done]
        # What was launched in the last moment was still under way.
        self.assertLess(len(undone), 600)

    def test_attach_early(self):
        """What sees launches is loaded when the process that is recorded begins to use a runtime."""
        shell = ['sh', '-c', 'read line; exec "$@"', 'sh', MM, '2', '256']
        with subprocess.Popen(shell, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as workload:
            with subprocess.Popen([PROGRAM, 'record', '-q', '-o', self.data, '-p',
                                   str(workload.pid)]) as recorder:
                while recorder.poll() is None and not os.path.exists(self.data):
                    time.sleep(0.05)
                output, _ = workload.communicate('go\n', timeout=240)
        if workload.returncode == 77:
            self.skipTest('no OpenCL device')
        self.assertEqual((recorder.returncode, workload.returncode), (0, 0))
        capture = Capture(self.data)
        self.assertEqual(set(capture.kernels.values()), {'mm_basic', 'mm_local', 'mm_tiled'})
        told = sum(int(n) for n in re.findall(r'launches (\d+)', output))
        # On a busy machine it may be ready before us.
        self.assertGreater(len(capture.launches), told / 2)
        self.assertLessEqual(len(capture.launches), told)

    def test_attach_mm(self):
        _, capture = self.attach(MM, '4' if SLOW == 1 else '15', '256', seconds=1.5)
        self.assertEqual(set(capture.kernels.values()), {'mm_basic', 'mm_local', 'mm_tiled'})
        # One after the other, each waited for.
        self.assertLessEqual(
            abs(len(capture.launches) - len(capture.records['DISPATCH'])), 1)
        self.assertEqual(capture.records['DEVICE'][0]['vendor'], 'POCL')


class Times(Recorded):
    """The same by the library inside, which has events of its own, or the program's, and their profiling times."""
    options = ['--accel', 'opencl:times']
    # What is told later is told by a clock that is known better.
    DOUBT_NS = 1000000

    def test_told(self):
        for how in ['-e', 'none'], ['-t', '4', '-q', '3', '-e', 'half'], ['-t', '3', '-q', '1', '-k']:
            output, capture = self.record(LAUNCHES, '-n', str(2000 // SLOW), *how)
            self.check_callers(output, capture)
            self.check_dispatches(capture)
            self.assertEqual(capture.info['opencl.timed'], capture.info['opencl.launches'])
            self.assertNotIn('missing.device-time', capture.info)
            self.assertNotIn('opencl.joined-in-call', capture.info)
            self.assertNotIn('libaccel-prof', str([r.stack for r in capture.launches]))

    def test_seen(self):
        """The program sees nothing of it."""
        command = os.path.join(WORKLOADS, 'opencl_seen')
        alone = subprocess.run([command], capture_output=True, text=True, timeout=200, check=False)
        if alone.returncode == 77:
            self.skipTest(alone.stderr)
        self.assertEqual(alone.returncode, 0, alone.stderr)
        self.assertIn('times 0 0 in order', alone.stdout)
        self.assertIn('times -7 -7 none', alone.stdout)
        output, capture = self.record(command)
        self.assertEqual(output, alone.stdout)
        # Seven queues, of each a fill, four kernels and a read; one more kernel fails.
        self.assertEqual((len(capture.records['DISPATCH']), len(capture.records['COPY'])), (28, 14))
        launched = {r['correlation']: r for r in capture.records['LAUNCH']}
        for copy in capture.records['COPY']:
            self.assertEqual((copy['kind'], copy['bytes'], copy['name']),
                             tuple(launched[copy['correlation']][k] for k in
                                   ('kind', 'bytes', 'name')))


if __name__ == '__main__':
    if not os.path.exists(LAUNCHES):
        print('no OpenCL workloads (package ocl-icd-opencl-dev)')
        sys.exit(77)
    if os.geteuid() != 0:
        print('needs root')
        sys.exit(77)
    unittest.main()
