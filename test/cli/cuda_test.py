# SPDX-License-Identifier: Apache-2.0
"""CUDA's launches seen from outside the process, on mocks of its libraries (test/fake): each counted,
under its caller, by its name."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from collections import Counter

from command import PROGRAM, SOURCE_DIR, run
from launch_test import Capture, Record, functions

BUILD = os.path.dirname(os.environ['WORKLOAD_DIR'])
WORKLOAD = os.path.join(os.environ['WORKLOAD_DIR'], 'cuda_calls')
FAKE = os.path.join(BUILD, 'fake')
CUBIN = os.path.join(SOURCE_DIR, 'test/device/fixture/nested-debug-sm_80.cubin')
COUNT = 200


class Mocks(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.data = os.path.join(self.folder, 'a.data')
        # As where a toolkit is installed, and found by the recorder before the program starts.
        self.environment = {**os.environ, 'LD_LIBRARY_PATH': FAKE}

    def record(self, *command, options=(), **environment):
        done = subprocess.run([PROGRAM, 'record', '-q', *options, '-o', self.data, '--', WORKLOAD,
                               *command],
                              capture_output=True, text=True, timeout=200, check=False,
                              env={**self.environment, **environment})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout, Capture(self.data)

    def outside(self, *command, **environment):
        """The same with nothing in the program."""
        return self.record(*command, options=['--no-inject'], **environment)

    WORK = 1000  # ns that the mock's device needs for anything

    def work(self, capture):
        """Of the device: {name: how often}, each as long as it takes."""
        count = Counter()
        for record in capture.records['DISPATCH'] + capture.records['COPY']:
            self.assertEqual(record.ns('end') - record.ns('start'), self.WORK)
            count[record.get('name') or capture.kernels[record.number('kernel')]] += 1
        return count

    def check_driver(self, capture):
        launches = {r.number('correlation'): r for r in capture.records['LAUNCH']}
        self.assertEqual(Counter(r['kind'] for r in launches.values()),
                         {'kernel': 2 * COUNT, 'copy': COUNT // 5, 'fill': COUNT // 10,
                          'graph': COUNT // 10})
        self.assertEqual(self.work(capture), {
            'red_kernel': COUNT, '_Z11blue_kernelPf': COUNT, 'Memcpy HtoD': COUNT // 10,
            'Memcpy DtoH': COUNT // 10, 'Memset': COUNT // 10, 'node_one': COUNT // 10,
            'node_two': COUNT // 10})
        for record in capture.records['DISPATCH'] + capture.records['COPY']:
            launch = launches[record.number('correlation')]
            self.assertLessEqual(launch.ns('time'), record.ns('start'))
        self.assertEqual(capture.lost(), [])

    def callers(self, capture, skip=()):
        """Kernel launches by the workload's own function that made them."""
        table = [f for f in functions(WORKLOAD) if f[2] not in skip]
        count = Counter()
        for launch in capture.launches:
            found = next((name for module, offset in launch.stack if module == 'cuda_calls'
                          for start, end, name in table if start <= offset < end), None)
            count[capture.kernels[launch.number('kernel')], found, launch['grid'],
                  launch['block']] += 1
        return count

    def attached(self, how, *options, pause=0, **environment):
        """The capture of a program whose functions were known before the recording."""
        if os.path.exists(self.data):
            os.unlink(self.data)
        with subprocess.Popen([WORKLOAD, how, str(COUNT), CUBIN, 'wait'],
                              env={**self.environment, **environment}, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as target:
            self.assertEqual(target.stdout.readline(), 'ready\n')
            with subprocess.Popen([PROGRAM, 'record', '-q', *options, '-o', self.data, '-p',
                                   str(target.pid)],
                                  stdin=subprocess.DEVNULL) as recorder:
                # The file takes its name when the recording has started.
                while not os.path.exists(self.data) and recorder.poll() is None:
                    time.sleep(0.05)
                time.sleep(pause)
                target.stdin.write('go\n')
                target.stdin.close()
                self.assertEqual(recorder.wait(timeout=60), 0)
        return Capture(self.data)


class Outside(Mocks):
    """With nothing in the process."""

    def test_driver(self):
        _, capture = self.outside('driver', str(COUNT), CUBIN)
        self.assertEqual(self.callers(capture), {
            ('red_kernel', 'launch_red', '7,2,3', '64,4,1'): COUNT,
            ('_Z11blue_kernelPf', 'launch_blue', '5,1,1', '128,1,1'): COUNT})
        others = Counter((r['name'], r['kind'], r.number('bytes'))
                         for r in capture.records['LAUNCH'] if r['kind'] != 'kernel')
        self.assertEqual(others, {(name, kind, size): COUNT // 10 for name, kind, size in (
            ('Memcpy HtoD', 'copy', 1024), ('Memcpy DtoH', 'copy', 512), ('Memset', 'fill', 400),
            ('CUDA graph', 'graph', 0))})
        self.assertEqual([r['name'] for r in capture.records['SYNC']],
                         ['cuStreamSynchronize'] * (COUNT // 10))
        self.assertEqual({r['name'] for r in capture.records['DEVICE']}, {'Fake GPU B'})
        self.assertEqual(len(capture.records['QUEUE']), 2)
        # The code as the program gave it, whole.
        sizes = {r.number('total_bytes') for r in capture.records['CODE_OBJECT']}
        self.assertEqual(sizes, {os.path.getsize(CUBIN)})
        self.assertEqual(capture.lost(), [])

    def test_wait(self):
        """How long the host waited: as long as the mock's device needs for what was asked of it."""
        work = 20 * 10**6
        _, capture = self.outside('driver', '1', CUBIN, FAKE_CUDA_NS=str(work))
        wait, = capture.records['SYNC']
        # Two kernels, a copy and a graph on the stream; the copy from the host and the fill go by
        # the default stream, and the first of them is waited for in its call.
        self.assertLessEqual(2.8 * work, wait.number('duration_ns'))
        launched = next(r for r in capture.records['LAUNCH'] if r.get('name') == 'CUDA graph')
        self.assertLess(launched.ns('time'), wait.ns('time'))

    def test_runtime(self):
        """By the runtime's library, which hands on to the driver's, or does not: once each."""
        for direct in {}, {'FAKE_CUDART_DIRECT': '1'}:
            _, capture = self.outside('runtime', str(COUNT), CUBIN, **direct)
            count = self.callers(capture)
            self.assertEqual(sum(count.values()), COUNT, count)
            self.assertEqual({key[2:] for key in count}, {('9,8,7', '32,2,1')})
            # Walks end in the libraries until their tables are there: then they are whole.
            whole = [r for r in capture.launches if len(r.stack) > 4]
            self.assertTrue(whole)
            last = max(whole, key=lambda r: r.ns('time'))
            capture.launches = [r for r in capture.launches if r.ns('time') >= last.ns('time')]
            self.assertEqual({key[:2] for key in self.callers(capture)},
                             {('_Z5scalePfi', '__device_stub__Z5scalePfi')})

    def test_attached(self):
        """Launches have callers, but no names."""
        count = Counter()
        for (kernel, function, *_), number in self.callers(self.attached('driver')).items():
            count[kernel, function] += number
        self.assertEqual(count, {('', 'launch_red'): COUNT, ('', 'launch_blue'): COUNT})
        self.assertIn('[unknown kernel]', run('report', '-i', self.data).stdout)

    def test_names_of_stubs(self):
        """A kernel is called like the host's function that launches it."""
        for direct in {}, {'FAKE_CUDART_DIRECT': '1'}:
            capture = self.attached('runtime', **direct)
            self.assertEqual(set(capture.kernels.values()), {''})
            kernels = run('report', '-i', self.data, '--view', 'kernels', '--csv').stdout
            self.assertRegex(kernels, r'(?m)^scale,', kernels)

    def test_what_it_counts(self):
        """Without device time it says so, in the report and in the picture's title."""
        self.outside('driver', str(COUNT), CUBIN)
        report = run('report', '-i', self.data).stdout
        self.assertRegex(report, r'no device-time')
        svg = run('flamegraph', '-i', self.data).stdout
        self.assertIn('launches, not time', svg)


class Paced(Mocks):
    """A loop of nothing but launches: its stacks may take a share of its time."""

    def quarters(self, *options):
        count = 100000
        done = subprocess.run([PROGRAM, 'record', '-q', *options, '-o', self.data, '--', WORKLOAD,
                               'quarters', str(count), CUBIN], env=self.environment,
                              capture_output=True, text=True, timeout=200, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        callers = Counter()
        for line in run('flamegraph', '-i', self.data, '--metric', 'launches', '--format',
                        'folded').stdout.splitlines():
            stack, _, number = line.rpartition(' ')
            found = re.search(r'launch_(red|most)', stack)
            callers[found[1] if found else stack] += int(number)
        self.assertEqual(sum(callers.values()), count, callers)
        quality = run('report', '-i', self.data, '--view', 'quality', '--csv').stdout
        lent = re.search(r'(?m)^without a stack of their own \(--stack-share\),(\d+)', quality)
        return callers, int(lent[1]) if lent else 0, count

    def test_few(self):
        """All launches are counted, and where no stack was taken shares are those of where one was."""
        for inject in '--no-inject', '-q':
            callers, lent, count = self.quarters('--stack-share', '1', inject)
            self.assertGreater(lent, count / 4)
            # Walks end in the libraries until their tables are there, which takes a busy machine longer.
            whole = callers['red'] + callers['most']
            self.assertGreater(whole, 0.7 * count, callers)
            # By chance: a stack stands for as many launches as a busy machine had it wait for.
            self.assertAlmostEqual(callers['red'] / whole, 0.25, delta=0.08, msg=callers)
            self.assertIn('a stack of its own', run('report', '-i', self.data).stdout)

    def test_all(self):
        callers, lent, count = self.quarters('--stack-share', '100', '--no-inject')
        self.assertEqual(lent, 0)
        whole = callers['red'] + callers['most']
        self.assertGreater(whole, 0.7 * count, callers)
        self.assertAlmostEqual(callers['red'] / whole, 0.25, delta=0.02, msg=callers)

    def test_wrong(self):
        for share in '0', '101', 'x':
            self.assertEqual(run('record', '--stack-share', share, '--', 'true').returncode, 129)


class Graphs(Mocks):
    """What is recorded into a graph is no launch; what a graph's launch runs is shown below it, and
    below where it was recorded."""

    RECORDED = {'red_kernel': 'run_graph;record_graph;record_layer;launch_red',
                'Memcpy DtoH': 'run_graph;record_graph;record_layer;cuMemcpyDtoHAsync_v2',
                'blue': 'run_graph;add_by_name;cuGraphAddKernelNode_v2'}

    WARM_UPS = 100

    def whole(self, record):
        """Walks end in the libraries until their tables are there."""
        for _ in range(5):
            _, capture = record('graph', str(COUNT), CUBIN)
            captured = [r for r in capture.records['LAUNCH'] if r.get('flags') == 'captured']
            if all(('cuda_calls' in [name for name, _ in r.stack][-4:]) for r in captured):
                return capture, captured
        self.skipTest('the machine is too slow for whole stacks')
        return None

    def check_folded(self, metric, each):
        found = {}
        for line in run('flamegraph', '-i', self.data, '--metric', metric, '--format',
                        'folded').stdout.splitlines():
            stack, _, number = line.rpartition(' ')
            if '[graph replay]' in stack:
                name = stack.rpartition(';')[2].removesuffix('_[G]')
                self.assertRegex(stack, rf';replay;cuGraphLaunch;(enter;)?\[graph replay\];'
                                        rf'{self.RECORDED[name]}[;-]')
                found[name] = int(number)
        self.assertEqual(found, {name: each * COUNT for name in self.RECORDED})

    def test_outside(self):
        """Without times, each launch of the graph is one of all that was recorded into it."""
        capture, captured = self.whole(self.outside)
        self.assertEqual([r['kind'] for r in captured], ['kernel', 'copy', 'kernel'])
        self.assertEqual(captured[2]['grid'], '5,0,0')
        launches = Counter(r['kind'] for r in capture.records['LAUNCH'] if r.get('flags') is None)
        self.assertEqual(launches, {'graph': COUNT, 'kernel': 1 + self.WARM_UPS})
        self.check_folded('launches', 1)

    def test_inside(self):
        capture, _ = self.whole(self.record)
        self.assertEqual(self.work(capture), {'red_kernel': COUNT + 1, 'Memcpy DtoH': COUNT,
                                              '_Z11blue_kernelPf': COUNT + self.WARM_UPS})
        launches = Counter(r['kind'] for r in capture.records['LAUNCH'] if r.get('flags') is None)
        self.assertEqual(launches, {'graph': COUNT, 'kernel': 1 + self.WARM_UPS})
        self.check_folded('device-time', self.WORK)
        self.assertIn(f'graph replay {3 * COUNT}', run('report', '-i', self.data).stdout)


class Inside(Mocks):
    """With our library in it: launches by its calls, and the device's times by CUPTI's records."""

    def test_times(self):
        _, capture = self.record('driver', str(COUNT), CUBIN)
        self.check_driver(capture)
        # Walks end in the libraries until their tables are there: some are whole before.
        capture.launches = [r for r in capture.launches if len(r.stack) > 7]
        self.assertEqual(set(self.callers(capture)) - {
            ('red_kernel', 'launch_red', '7,2,3', '64,4,1'),
            ('_Z11blue_kernelPf', 'launch_blue', '5,1,1', '128,1,1')}, set())
        # What the report makes of it: each piece of work, to the nanosecond.
        summary = json.loads(run('report', '-i', self.data, '--json').stdout)
        total = sum(self.work(capture).values()) * self.WORK
        self.assertEqual(summary['devices'][0]['busy_ns'], total)
        text = run('report', '-i', self.data).stdout
        self.assertNotIn('accel_prof_cuda_launch', text)
        self.assertIn(';launch_red;cuLaunchKernel;', run('flamegraph', '-i', self.data, '--format',
                                                        'folded').stdout)

    def test_other_tool(self):
        """One in the process already, or one that the environment names: launches all the same."""
        for environment, told in (({'FAKE_CUPTI_BUSY': '1'}, 'another tool'),
                                  ({'FAKE_CUPTI_REFUSE': '1'}, 'PRIVILEGES'),
                                  ({'ACCEL_PROF_CUPTI': '/dev/null', 'LD_LIBRARY_PATH':
                                    self.without_cupti()}, 'no libcupti|CUPTI refuses'),
                                  ({'CUDA_INJECTION64_PATH': '/dev/null'}, 'from outside')):
            with self.subTest(environment):
                _, capture = self.record('driver', str(COUNT), CUBIN, **environment)
                self.assertEqual(len(capture.launches), 2 * COUNT)
                self.assertEqual(capture.records['DISPATCH'], [])
                self.assertRegex(' '.join(r['value'] for r in capture.records['INFO']
                                             if r['key'] == 'missing.device-time'), told)

    def without_cupti(self):
        folder = os.path.join(self.folder, 'libraries')
        os.makedirs(folder, exist_ok=True)
        for name in os.listdir(FAKE):
            if name.startswith('libcuda') and not os.path.exists(os.path.join(folder, name)):
                os.symlink(os.path.join(FAKE, name), os.path.join(folder, name))
        return folder

    def test_dropped(self):
        """What CUPTI has no room for is counted."""
        _, capture = self.record('driver', str(COUNT), CUBIN, FAKE_CUPTI_DROP='10')
        done = sum(self.work(capture).values())
        lost = sum(int(r['count']) for r in capture.lost())
        self.assertEqual(done + lost, 2 * COUNT + COUNT // 2)
        self.assertEqual(lost, (2 * COUNT + COUNT // 2) // 10)

    def test_woken(self):
        """It sleeps in a program that runs, is woken by a recorder, and by the next."""
        library = os.path.join(BUILD, '../lib/inject/libaccel-prof-cuda.so')
        for times in range(2):
            # It looks ten times a second.
            capture = self.attached('driver', pause=2, CUDA_INJECTION64_PATH=os.path.realpath(library))
            self.check_driver(capture)


class Faults(Mocks):
    """CUPTI as it was, and where it has no memory; programs that use much, and that end."""

    def test_old(self):
        """The records of older ones are shorter."""
        for version in '13', '18':
            _, capture = self.record('driver', str(COUNT), CUBIN, FAKE_CUPTI_VERSION=version)
            self.check_driver(capture)

    def test_too_old(self):
        _, capture = self.record('driver', str(COUNT), CUBIN, FAKE_CUPTI_VERSION='12')
        self.assertEqual(len(capture.launches), 2 * COUNT)
        self.assertIn('older than CUDA 11', ' '.join(r['value'] for r in capture.records['INFO']))

    def test_no_memory(self):
        _, capture = self.record('driver', str(COUNT), CUBIN, options=['--instructions'],
                                 FAKE_CUPTI_NO_MEMORY='1')
        self.assertEqual(len(capture.launches), 2 * COUNT)
        self.assertEqual(capture.records['DISPATCH'], [])
        self.assertIn('OUT_OF_MEMORY', ' '.join(r['value'] for r in capture.records['INFO']
                                                if r['key'] == 'missing.device-time'))

    def test_many(self):
        """Contexts, streams, modules and kernels that come and go, on eight threads."""
        contexts = 1000 if os.environ.get('ACCEL_PROF_TEST_FULL') else 150
        for options in ['--no-inject'], ['--instructions']:
            # Room for all of it: on a busy machine the recorder may not get a turn meanwhile.
            _, capture = self.record('many', str(contexts), CUBIN, options=['-m', '128M', *options])
            expected = {f'kernel_{n}_{k}': 3 for n in range(contexts) for k in range(10)}
            launched = Counter(capture.kernels[r.number('kernel')] for r in capture.launches)
            wrong = {k: (launched[k], expected[k]) for k in launched | expected if launched[k] != expected[k]}
            self.assertEqual(wrong, {}, options)
            self.assertEqual(capture.lost(), [])
            if options == ['--no-inject']:
                continue
            names = {r.number('correlation'): capture.kernels[r.number('kernel')]
                     for r in capture.launches}
            done = Counter()
            for r in capture.records['DISPATCH']:
                done[capture.kernels[r.number('kernel')]] += 1
                self.assertEqual(names[r.number('correlation')],
                                 capture.kernels[r.number('kernel')])
            self.assertEqual(done, expected)

    def test_rate(self):
        """50,000 launches a second, for a minute where all is tested: none is lost, or said to be."""
        is_full = os.environ.get('ACCEL_PROF_TEST_FULL')
        count = 3000000 if is_full else 100000
        done = subprocess.run([PROGRAM, 'record', '-o', self.data, '--', WORKLOAD, 'rate', str(count),
                               CUBIN], env=self.environment, capture_output=True, text=True,
                              timeout=800, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        found, lost = Counter(), Counter()
        with subprocess.Popen([PROGRAM, 'dump', '-i', self.data], stdout=subprocess.PIPE,
                              text=True) as dump:
            for line in dump.stdout:
                kind = line.partition(' ')[0]
                found[kind] += 1
                if kind == 'LOST':
                    record = Record(line)
                    lost[record['what']] += record.number('count')
        print(f'{count} launches, lost {dict(lost)}\n{done.stdout}{done.stderr}', file=sys.stderr)
        if is_full:
            self.assertNotIn('Lost', done.stderr)
        self.assertEqual(found['LAUNCH'] + lost['launch'], count)
        self.assertEqual(found['DISPATCH'] + lost['dispatch'], count)

    def recorder(self, pid, *options):
        if os.path.exists(self.data):
            os.unlink(self.data)
        process = subprocess.Popen([PROGRAM, 'record', '-q', *options, '-o', self.data, '-p', str(pid)],
                                   stdin=subprocess.DEVNULL)
        while not os.path.exists(self.data) and process.poll() is None:
            time.sleep(0.05)
        return process

    def steady(self, **environment):
        library = os.path.realpath(os.path.join(BUILD, '../lib/inject/libaccel-prof-cuda.so'))
        target = subprocess.Popen([WORKLOAD, 'steady', '1000000', CUBIN],
                                  env={**self.environment, **environment,
                                       'CUDA_INJECTION64_PATH': library})
        self.addCleanup(target.wait)
        self.addCleanup(target.kill)
        return target

    def holds(self, pid):
        """What a process has: descriptors, threads and pages of memory that are its own."""
        with open(f'/proc/{pid}/statm', encoding='ascii') as file:
            _, resident, shared = [int(word) for word in file.read().split()[:3]]
        return (len(os.listdir(f'/proc/{pid}/fd')), len(os.listdir(f'/proc/{pid}/task')),
                resident - shared)

    def check_times(self):
        """Whatever the library tells of launches that were seen, it tells of them once."""
        capture = Capture(self.data)
        done = Counter(r.number('correlation') for r in capture.records['DISPATCH'])
        self.assertTrue(done)
        self.assertEqual(set(done.values()), {1})
        known = {r.number('correlation') for r in capture.records['LAUNCH']}
        self.assertEqual(capture.lost(), [])
        # The launch just before the beginning is not in the capture, though its work may be.
        self.assertLessEqual({c for c in done if c > min(known)}, known)

    def test_again_and_again(self):
        """Recorders come and go, one is killed, and leave nothing behind in the program."""
        times = 100 if os.environ.get('ACCEL_PROF_TEST_FULL') else 3
        target, before = self.steady(), None
        for number in range(times):
            recorder = self.recorder(target.pid)
            # It looks ten times a second; here until it has told something.
            time.sleep(1.2 if number else 2)
            if number == 1:
                recorder.kill()
                recorder.wait()
                continue
            recorder.send_signal(2)
            self.assertEqual(recorder.wait(timeout=60), 0)
            self.check_times()
            before = before or self.holds(target.pid)
        time.sleep(0.5)
        after = self.holds(target.pid)
        self.assertEqual(after[:2], before[:2])
        self.assertLess(after[2] - before[2], 1024, 'pages')
        self.assertIsNone(target.poll())

    def test_two_recorders(self):
        """The second is told all names that the first knows already."""
        target = self.steady(FAKE_CUPTI_PCS='red_kernel:90:long_scoreboard:6')
        for first in ['-p', str(target.pid)], ['-p', str(target.pid), '--instructions']:
            data = os.path.join(self.folder, 'first.data')
            with subprocess.Popen([PROGRAM, 'record', '-q', *first, '-o', data],
                                  stdin=subprocess.DEVNULL) as before:
                while not os.path.exists(data) and before.poll() is None:
                    time.sleep(0.05)
                time.sleep(1)
                recorder = self.recorder(target.pid, '--instructions')
                time.sleep(2.5)
                for process in recorder, before:
                    process.send_signal(signal.SIGINT)
                    self.assertEqual(process.wait(timeout=60), 0)
            capture = Capture(self.data)
            # Until it looks at who listens, ten times a second, it goes by what the first one knows.
            start = min(r.ns('start') for r in capture.records['DISPATCH'])
            names = {capture.kernels.get(r.number('kernel')) for r in capture.records['DISPATCH']
                     if r.ns('start') > start + 10 ** 9}
            self.assertEqual(names, {'red_kernel'})
            samples = {(capture.kernels.get(r.number('kernel')), r['reason'])
                       for r in capture.records['PC_SAMPLE'] if r.ns('time') > start + 10 ** 9}
            self.assertEqual(samples, {('red_kernel', 'long_scoreboard')})

    def test_target_dies(self):
        target = self.steady()
        recorder = self.recorder(target.pid)
        time.sleep(2)
        target.kill()
        self.assertEqual(recorder.wait(timeout=60), 0)
        self.check_times()
        self.assertEqual(run('report', '-i', self.data).returncode, 0)


class Injected(Mocks):
    """Put into a program that runs."""

    def test_injected(self):
        capture = self.attached('driver', '--inject', pause=2)
        self.check_driver(capture)
        self.assertIn('Fake GPU B', {r['name'] for r in capture.records['DEVICE']})

    def test_no_cuda(self):
        with subprocess.Popen(['sleep', '60']) as target:
            done = run('record', '--inject', '-o', self.data, '-p', str(target.pid))
            target.kill()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('uses CUDA', done.stderr)


TILE = os.path.join(SOURCE_DIR, 'test/device/fixture/tile-sm_90.cubin')
RED, BLUE = '_Z5scaleIfLi1EEvPT_S0_', '_Z5scaleIfLi4EEvPT_S0_'


class Instructions(Mocks):
    """Samples of instructions, of a cubin of nvcc's that the mocks say they run."""

    # scale<float, 1>: offset 0x90 is an LDG of tile.cu:48, 0xa0 an FFMA that is inlined there from
    # fused() at line 7 (nvdisasm -gi).
    PCS = f'{RED}:90:long_scoreboard:6,{RED}:a0:wait:3,{BLUE}:0:selected:1'

    def sampled(self, *options, **environment):
        return self.record('driver', str(COUNT), TILE, options=options or ['--instructions'], CUDA_RED=RED,
                           CUDA_BLUE=BLUE, FAKE_CUPTI_PCS=self.PCS, FAKE_CUDA_NS='2000000',
                           **environment)[1]

    def test_lines(self):
        capture = self.sampled()
        samples = Counter()
        for r in capture.records['PC_SAMPLE']:
            samples[capture.kernels[r.number('kernel')], int(r.get('offset', '0'), 16),
                    r['reason']] += int(r['count'])
        # Sampling begins with the context, which the first launches tell of.
        runs = samples[BLUE, 0, 'selected']
        self.assertGreater(runs, 0)
        self.assertEqual(set(samples), {(RED, 0x90, 'long_scoreboard'), (RED, 0xa0, 'wait'),
                                        (BLUE, 0, 'selected')})
        self.assertAlmostEqual(samples[RED, 0x90, 'long_scoreboard'], 6 * runs, delta=6)
        self.assertEqual(samples[RED, 0x90, 'long_scoreboard'],
                         2 * samples[RED, 0xa0, 'wait'])
        image, = [r for r in capture.records['CODE_OBJECT']
                  if r['name'].startswith('CUDA module with checksum')]
        self.assertEqual(image.number('total_bytes'), os.path.getsize(TILE))
        text = run('annotate', '-i', self.data).stdout
        self.assertRegex(text, r'66\.67 .* 90:  LDG .*long_scoreboard')
        self.assertRegex(text, r'33\.33 .* a0:  FFMA .*wait')
        folded = run('flamegraph', '-i', self.data, '--format', 'folded').stdout
        self.assertRegex(folded, r'(?m)^cuda_calls;.*;launch_red;cuLaunchKernel;.*-;scale fp32_\[G\];'
                                 r'tile.cu:48_\[G\];0x90: LDG_\[g\];long_scoreboard_\[g\] \d+$')
        self.assertRegex(folded, r'(?m);fused_\[G\];tile.cu:7_\[G\];0xa0: FFMA_\[g\];wait_\[g\] ')

    def test_one_at_a_time(self):
        """On request each sample is of a known launch, and what that costs is said."""
        capture = self.sampled('--accel', 'cuda:serialize:period=1000:device=1')
        launches = {r.number('correlation'): capture.kernels[r.number('kernel')]
                    for r in capture.launches}
        samples = capture.records['PC_SAMPLE']
        self.assertGreater(len(samples), COUNT)
        for r in samples:
            self.assertEqual(launches[r.number('correlation')],
                             capture.kernels[r.number('kernel')])
        self.assertIn('one at a time', capture.info['missing.concurrency'])
        self.assertEqual(capture.info['cuda.sampling'], 'GPU 1: each 2^9 cycles, kernels one at a time')
        self.assertIn('device samples by id 100.0 %', run('report', '-i', self.data).stdout)

    def test_devices(self):
        """None of a GPU that was not asked for."""
        for device in '0', 'renderD128':
            capture = self.sampled('--instructions', '--device', device)
            self.assertEqual(capture.records['PC_SAMPLE'], [])
            self.assertNotIn('missing.concurrency', capture.info)

    def test_wrong(self):
        for wish, told in (('cuda:period=0', 'cycles'), ('cuda:device=x', 'GPU'), ('cuda:none', 'serialize')):
            done = run('record', '--accel', wish, '--', 'true')
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(told, done.stderr)

    def test_full(self):
        """A GPU's buffer that was full is begun again, and what is missing is said."""
        capture = self.sampled(FAKE_CUPTI_FULL='2')
        self.assertIn('was full', ' '.join(r['value'] for r in capture.records['INFO']))


if __name__ == '__main__':
    unittest.main()
