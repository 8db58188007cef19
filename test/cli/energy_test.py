# SPDX-License-Identifier: Apache-2.0
"""accel-prof report on a trace with counters of power: energy by state and by kernel, by hand."""
import json
import os
import tempfile
import unittest

from command import run


def trace(name='GPU 0 Power (W)', unit=1):
    """In ms: gemm 100..200, idle to 300, relu 300..400. Power 100 W at 100, 300 at 200, then 200."""
    events = []
    for i, (kernel, start) in enumerate((('gemm', 100), ('relu', 300))):
        events.append(('cudaLaunchKernel', 'cuda_runtime', 'X', start - 10, 5,
                       {'correlation': i + 1}))
        events.append((kernel, 'kernel', 'X', start, 100,
                       {'correlation': i + 1, 'device': 0, 'stream': 7}))
    for ts, watts in ((100, 100), (200, 300), (200.001, 200), (400, 200)):
        events.append((name, 'hardware_counters', 'C', ts, 0, {name: watts * unit}))
    return {'traceEvents': [{'ph': ph, 'pid': 1, 'tid': 7 if cat == 'kernel' else 1, 'name': n,
                             'cat': cat, 'ts': ts * 1000, 'dur': dur * 1000, 'args': args}
                            for n, cat, ph, ts, dur, args in events]}


class Energy(unittest.TestCase):
    def report(self, content, *args):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'run.json')
            with open(path, 'w', encoding='utf-8') as file:
                json.dump(content, file)
            done = run('report', path, *args)
            self.assertEqual((done.returncode, done.stderr), (0, ''))
            return done.stdout

    def where(self, content):
        rows = json.loads(self.report(content, '--view', 'where', '--json'))['where']
        return {r['what']: r['energy_j'] and round(r['energy_j'], 3) for r in rows}

    def test_states(self):
        # gemm: 100 to 300 W in 0.1 s, 20 J; relu 200 W, 20 J; idle 20 J, 10 before relu's launch is 2.
        expected = {'GPU busy': 40, 'idle: host not yet launching': 18,
                    'idle: launch in flight': 2, 'total': 60}
        self.assertEqual(self.where(trace()), expected)
        self.assertEqual(self.where(trace('power (mW)', 1000)), expected)
        self.assertIn('energy J', self.report(trace(), '--view', 'where'))
        tree = json.loads(self.report(trace(), '--view', 'tree', '--sort', 'energy', '--json',
                                      '--full'))
        self.assertIn('gemm', json.dumps(tree))

    def test_not_power(self):
        """A share of a limit nobody knows, another device, no counter: nothing is made up."""
        for name in ('GPU 0 Power %', 'GPU 1 Power (W)', 'GPU 0 Temperature'):
            self.assertEqual(set(self.where(trace(name)).values()), {None})
            self.assertNotIn('energy', self.report(trace(name), '--view', 'where'))


if __name__ == '__main__':
    unittest.main()
