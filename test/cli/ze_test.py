# SPDX-License-Identifier: Apache-2.0
"""Device times of Level Zero, on a mock that keeps time: no GPU of Intel's is here, and its driver without one gives no
times."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from collections import Counter

from command import PROGRAM, run
from launch_test import Capture, functions

WORKLOAD = os.path.join(os.environ['WORKLOAD_DIR'], 'ze_times')
MOCK = os.path.join(os.path.dirname(os.environ['WORKLOAD_DIR']), 'fake/ze')
TICK_NS = 80


class Times(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.data = os.path.join(self.folder, 'a.data')
        self.truth = os.path.join(self.folder, 'truth')

    def record(self, *command, options=('--accel', 'levelzero:times')):
        done = subprocess.run([PROGRAM, 'record', '-o', self.data, *options, '--', WORKLOAD, *command],
                              capture_output=True, text=True, timeout=200, check=False,
                              env={**os.environ, 'LD_LIBRARY_PATH': MOCK,
                                   'ZE_MOCK_TRUTH': self.truth})
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.truth, encoding='ascii') as file:
            truth = sorted(((int(start), int(end), name) for name, start, end in
                            (line.split() for line in file)))
        return done.stderr, Capture(self.data), truth

    def work(self, capture):
        """[(start, end, name, record)] in order of time."""
        return sorted(((r.ns('start'), r.ns('end'), capture.kernels[r.number('kernel')], r)
                       for r in capture.records['DISPATCH']),
                      key=lambda w: w[0]) + sorted(
                          ((r.ns('start'), r.ns('end'), 'copy', r)
                           for r in capture.records['COPY']), key=lambda w: w[0])

    def check(self, capture, truth):
        """Each piece of work as long as it was, to a tick at each end, and when it was: a clock that is off by what its
        bits can count would be off by minutes."""
        work = sorted(self.work(capture), key=lambda w: w[0])
        self.assertEqual([w[2] for w in work], [name for _, _, name in truth])
        for (start, end, *_), (true_start, true_end, _) in zip(work, truth):
            self.assertLessEqual(abs((end - start) - (true_end - true_start)), 2 * TICK_NS)
            self.assertLess(abs(start - true_start), 1e9)
        for before, after in zip(work, work[1:]):
            # Between two looks at the clock it is known better.
            self.assertLess(before[1] - after[0], 1e9)

    def check_callers(self, capture, expected):
        """{(kernel, function of the launch): pieces of work}"""
        table = functions(WORKLOAD)
        launches = {r['correlation']: r for r in capture.records['LAUNCH']}
        count = Counter()
        for r in capture.records['DISPATCH']:
            launch = launches[r['correlation']]
            self.assertEqual(launch['kernel'], r['kernel'])
            self.assertLessEqual(launch.ns('time'), r.ns('start') + 1e9)
            function = next((name for module, offset in launch.stack if module == 'ze_times'
                             for start, end, name in table if start <= offset < end), None)
            count[capture.kernels[r.number('kernel')], function] += 1
            self.assertNotIn('libaccel-prof', str(launch.stack))
        self.assertEqual(count, expected)

    def test_each(self):
        for how in 'immediate', 'list', 'events':
            with self.subTest(how):
                if os.path.exists(self.truth):
                    os.unlink(self.truth)
                _, capture, truth = self.record(how, '30')
                self.assertEqual(len(truth), 90)
                self.check(capture, truth)
                self.check_callers(capture, {('red', 'launch_red'): 30,
                                             ('blue', 'launch_blue'): 30})
                self.assertEqual(capture.lost(), [])
                self.assertNotIn('missing.device-time', capture.info)
                self.assertEqual(capture.info['levelzero.timed'], '90')
                for copy in capture.records['COPY']:
                    self.assertEqual((copy['bytes'], copy['name']), ('30000', 'Memory Copy'))

    def test_replay(self):
        """The first is of who appended it, all others of who executed the list."""
        _, capture, truth = self.record('replay', '30')
        self.check(capture, truth)
        self.check_callers(capture, {('red', 'launch_red'): 1, ('blue', 'launch_blue'): 1,
                                     ('red', 'execute'): 29, ('blue', 'execute'): 29})
        self.assertEqual(capture.lost(), [])

    def test_burst(self):
        """Executed again before it is done: the last has its time, the others are told to be lost."""
        said, capture, truth = self.record('burst', '5')
        work = self.work(capture)
        lost = sum(int(r['count']) for r in capture.lost())
        self.assertEqual(len(work) + lost, len(truth))
        self.assertGreaterEqual(len(work), 3)
        self.assertGreater(lost, 0)
        self.assertIn(f'Lost {lost} dispatch events: times of work that could not be kept', said)

    def test_report(self):
        _, _, truth = self.record('list', '20')
        device = sum(end - start for start, end, name in truth if name == 'red')
        report = run('report', '-i', self.data, '--view', 'kernels', '--json')
        self.assertEqual(report.returncode, 0, report.stderr)
        self.assertIn('"red"', report.stdout)
        text = run('report', '-i', self.data).stdout
        self.assertRegex(text, rf'(?m)^red +{device / 1e6:.2f}')

    def test_not_asked_for(self):
        """Nothing is added to what the program does, and the mend is said."""
        _, capture, _ = self.record('list', '5', options=())
        self.assertEqual(capture.records['DISPATCH'] + capture.records['COPY'], [])
        self.assertIn('--accel levelzero:times', capture.info['missing.device-time'])


if __name__ == '__main__':
    if not os.path.exists(WORKLOAD):
        print('no Level Zero headers (package libze-dev)')
        sys.exit(77)
    if os.geteuid() != 0:
        print('needs root')
        sys.exit(77)
    unittest.main()
