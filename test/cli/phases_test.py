# SPDX-License-Identifier: Apache-2.0
"""accel-prof report: phases of a program, and a verdict that is about the steady one."""
import json
import os
import tempfile
import unittest

from command import run


def trace():
    """In us: 1,000 of imports, then steps of 5,000 that compile, 1,000, and eight of 100, busy for 90."""
    events = [('<frozen importlib._bootstrap>(1022): _find_and_load', 'python_function', 500, 1000, {})]
    now = 1500
    for i, length in enumerate([5000, 1000] + 8 * [100]):
        if i == 0:
            events.append(('torch/_dynamo/convert_frame.py(500): __call__', 'python_function',
                           now + 100, 4000, {}))
        for name, cat, start, dur in (('cudaLaunchKernel', 'cuda_runtime', now + length - 99, 4),
                                      ('gemm', 'kernel', now + length - 95, 90)):
            events.append((name, cat, start, dur, {'correlation': i + 1, 'device': 0, 'stream': 7}))
        events.append((f'ProfilerStep#{i}', 'user_annotation', now, length, {}))
        now += length
    return {'traceEvents': [{'ph': 'X', 'pid': 1, 'tid': 7 if cat == 'kernel' else 1, 'name': name,
                             'cat': cat, 'ts': ts, 'dur': dur, 'args': args}
                            for name, cat, ts, dur, args in events]}


class Phases(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, 'run.json')
        with open(self.path, 'w', encoding='utf-8') as file:
            json.dump(trace(), file)

    def ok(self, *args):
        done = run('report', self.path, *args)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        return done.stdout

    def test_view(self):
        rows = json.loads(self.ok('--view', 'phases', '--json'))['phases']
        self.assertEqual(
            [(r['phase'], r['steps'], r['time_ns'], r['busy_ns'], r['launches']) for r in rows],
            [('import', None, 1000000, 0, 0), ('warm-up', 2, 2000000, 180000, 2),
             ('compile', None, 4000000, 0, 0), ('steady', 8, 800000, 720000, 8)])
        self.assertAlmostEqual(sum(r['share'] for r in rows), 1)
        self.assertEqual(rows[3]['busy_share'], 0.9)

    def test_verdict(self):
        report = json.loads(self.ok('--json'))
        self.assertEqual((report['verdict'], report['steps'], report['warmup_steps']),
                         ('kernel', 8, 2))
        self.assertEqual(report['devices'][0]['window_ns'], 800000)
        # What it compiled before is no fault of the steps that are judged.
        self.assertEqual([h['rule'] for h in report['hints'] if h['rule'] == 'compile'], [])
        page = self.ok()
        self.assertIn('KERNEL-BOUND  GPU 0 busy 90.0 % of 8 steady steps: 720.000 of 800.000 us', page)
        self.assertIn('2 warm-up steps left out', page)

    def test_all_steps(self):
        report = json.loads(self.ok('--json', '--step', 'all'))
        self.assertEqual((report['verdict'], report['steps'], report['warmup_steps']),
                         ('host', 10, 0))
        self.assertEqual(report['devices'][0]['window_ns'], 6800000)


if __name__ == '__main__':
    unittest.main()
