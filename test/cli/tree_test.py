# SPDX-License-Identifier: Apache-2.0
"""accel-prof report --view tree: metrics as Proton's viewer has them, against sums done here.

test/import/full_test.py compares with that viewer itself.
"""
import csv
import io
import json
import os
import tempfile
import unittest

from command import SOURCE_DIR, run

HATCHET = os.path.join(SOURCE_DIR, '..', 'shared', 'traces', 'hatchet')


def node(name, *children, **metrics):
    return {'frame': {'name': name, 'type': 'function'}, 'children': list(children),
            'metrics': {k.replace('__', ' '): v for k, v in metrics.items()}}


def kernel(name, ns, count, device='0', **more):
    return node(name, **{'time (ns)': ns, 'count': count, 'device_id': device,
                         'device_type': 'CUDA', **more})


# fwd: 1000 + 3000 ns, 5 launches, 8e6 flops of 16 bits, 4e6 bytes; bwd: 4000 ns, 2 launches.
TREE = [node('ROOT',
             node('fwd',
                  kernel('gemm', 1000, 1, flops16=8e6, bytes=1e6),
                  node('/srv/app/train.py:42@step', kernel('norm', 3000, 4, bytes=3e6)),
                  **{'cpu_time (ns)(exc)': 9000}),
             node('bwd', kernel('gemm', 4000, 2, flops16=4e6, flops8=2e6, bytes=2e6)),
             **{'time (ns)': 0, 'count': 0, 'flops16': 0, 'flops8': 0, 'bytes': 0}),
        {'CUDA': {'0': {'arch': '90', 'bus_width': 6144, 'clock_rate': 1980000,
                        'memory_clock_rate': 2619000, 'num_sms': 132}}}]
PEAK8 = 132 / 114 * 1980000 / 1755000 * 1513e12
PEAK_BYTES = 2 * 6144 * 2619000 * 1e3 / 8


class Tree(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = os.path.join(cls.folder.name, 'tree.json')
        with open(cls.path, 'w', encoding='utf-8') as file:
            json.dump(TREE, file)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def ok(self, *args):
        done = run('report', self.path, *args)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        self.assertNotIn('nan', done.stdout.lower())
        return done.stdout

    def rows(self, *args):
        """By name; of the two kernels called gemm, the one of fwd."""
        rows = json.loads(self.ok('--json', *args))['tree']
        return {row['name']: row for row in reversed(rows) if row['kind'] != 'boundary'}

    def test_metrics(self):
        metrics = 'time/us,avg_time/ns,time/%,tflop16/s,gbyte/s,util'
        rows = self.rows('-m', metrics)
        columns = metrics.split(',')
        self.assertEqual(list(rows['ROOT'])[:6], columns)

        def check(name, ns, count, flops16, flops8, size):
            compute = flops16 / (PEAK8 / 2) + flops8 / PEAK8
            expected = (ns / 1e3, ns / count, ns / 8000 * 100, flops16 / ns / 1e3 or None,
                        size / ns, max(compute, size / PEAK_BYTES) / (ns / 1e9))
            for key, value in zip(columns, expected):
                if value is None:
                    self.assertIsNone(rows[name][key])
                else:
                    # Roofs are kept in picoseconds.
                    self.assertAlmostEqual(rows[name][key] / value, 1, delta=1e-4, msg=(name, key))
        # Rates of parents are made from sums, not from rates.
        check('norm', 3000, 4, 0, 0, 3e6)
        check('fwd', 4000, 5, 8e6, 0, 4e6)
        check('bwd', 4000, 2, 4e6, 2e6, 2e6)
        check('ROOT', 8000, 7, 12e6, 2e6, 6e6)

        rows = self.rows('-m', 'TIME/ns,Count,cpu_time/us,flop/byte,flops8,device_time/%')
        self.assertEqual([rows['fwd'][k] for k in ('TIME/ns', 'Count', 'cpu_time/us', 'flop/byte',
                                                   'flops8', 'device_time/%')],
                         [4000, 5, 9, 2, None, 50])
        # What a scope took stands on itself alone.
        self.assertIsNone(rows['ROOT']['cpu_time/us'])
        self.assertEqual(rows['bwd']['flops8'], 2e6)

    def test_which_frames(self):
        def names(*args):
            rows = json.loads(self.ok('-m', 'time/ns', '--json', *args))['tree']
            return [(row['depth'], row['name']) for row in rows if row['kind'] != 'boundary']
        everything = names()
        self.assertEqual(everything[0], (1, 'ROOT'))
        self.assertEqual(len(everything), 7)
        # What is above and below a match; by default the deepest chain is not cut.
        self.assertEqual([n for _, n in names('--include', 'fwd')],
                         ['ROOT', 'fwd', 'py::step (train.py:42)', 'norm', 'gemm'])
        self.assertEqual([n for _, n in names('--include', '^norm$')],
                         ['ROOT', 'fwd', 'py::step (train.py:42)', 'norm'])
        self.assertEqual([n for _, n in names('-e', 'gemm|step')], ['ROOT', 'bwd', 'fwd'])
        self.assertEqual([n for _, n in names('-t', '3500')],
                         ['ROOT', 'bwd', 'gemm', 'fwd'])
        self.assertEqual({n for _, n in names('-d', '2')}, {'ROOT', 'fwd', 'bwd'})
        self.assertEqual(names('-n', '2'), [(1, 'ROOT'), (2, 'bwd'), (2, 'fwd')])
        text = self.ok('-m', 'time/ns', '-n', '2')
        self.assertIn('narrower frames are not shown', text)
        # Values are those of the whole: leaving frames out of the picture changes none.
        rows = json.loads(self.ok('-m', 'time/ns', '-e', 'gemm', '--json'))['tree']
        self.assertEqual(rows[0]['time/ns'], 8000)

    def test_format(self):
        def names(form):
            return [row['name'] for row in json.loads(
                self.ok('-m', 'time', '--json', '-f', form))['tree'] if 'step' in row['name']]
        self.assertEqual(names('full'), ['/srv/app/train.py:42@step'])
        self.assertEqual(names('file_function_line'), ['train.py:42@step'])
        self.assertEqual(names('function_line'), ['42@step'])
        self.assertEqual(names('file_function'), ['train.py@step'])

    def test_sorted(self):
        text = self.ok('-m', 'time/ns', '--print-sorted')
        head, tail = text.split('\nSorted by time/ns\n')
        self.assertIn('ROOT', head)
        values = [line.split()[0].replace(',', '') for line in tail.splitlines()[1:]]
        self.assertEqual(values, ['4000', '4000', '4000', '3000', '3000', '1000'])
        both = json.loads(self.ok('-m', 'time/ns', '--print-sorted', '--json'))
        self.assertEqual([row['time/ns'] for row in both['sorted']],
                         [4000, 4000, 4000, 3000, 3000, 1000])
        rows = list(csv.DictReader(io.StringIO(
            self.ok('-m', 'time/ns', '--print-sorted', '--csv'))))
        self.assertEqual([int(row['time/ns']) for row in rows],
                         [4000, 4000, 4000, 3000, 3000, 1000])

    def test_list(self):
        rows = {row['metric']: row for row in json.loads(self.ok('-l', '--json'))['metrics']}
        self.assertEqual({name: row['total'] for name, row in rows.items()},
                         {'device-time': 8000, 'launches': 7, 'cpu-time': 9000, 'bytes': 6000000,
                          'flops': 14000000, 'flops8': 2000000, 'flops16': 12000000})
        self.assertIn('avg_time/s', self.ok('-l'))

    def test_bad_use(self):
        for args in (['-m', 'time//ms'], ['-m', ''], ['-m', 'a,b,c,d,e,f,g'], ['-t', 'x'],
                     ['-t', 'nan'], ['-d', '0'], ['-f', 'short'], ['--view', 'kernels', '-d', '3']):
            with self.subTest(args=args):
                self.assertEqual(run('report', self.path, *args).returncode, 129)
        for args, text in ((['-m', 'colour'], "unknown metric 'colour'"),
                           (['-m', 'flops32'], 'no flops32 in this capture'),
                           (['-m', 'time', '--include', '('], '(')):
            with self.subTest(args=args):
                done = run('report', self.path, *args)
                self.assertEqual((done.returncode, done.stdout), (1, ''))
                self.assertIn(text, done.stderr)


@unittest.skipUnless(os.path.isdir(HATCHET), f'needs the trees in {HATCHET}')
class Shared(unittest.TestCase):
    def test_util(self):
        """As a run of Proton's viewer printed it."""
        for name, expected in (('cuda', {'foo0': .247, 'foo1': .148, 'foo2': .118}),
                               ('hip', {'foo0': .187, 'foo1': .270, 'foo2': 1.058})):
            done = run('report', os.path.join(HATCHET, name + '.json'), '-m', 'util', '--json')
            rows = json.loads(done.stdout)['tree']
            self.assertEqual({row['name']: round(row['util'], 3) for row in rows
                              if row['kind'] == 'kernel'}, expected)


if __name__ == '__main__':
    unittest.main()
