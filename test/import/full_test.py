# SPDX-License-Identifier: Apache-2.0
"""Other tools as judges: torch's own key averages of a fresh trace, Proton's viewer of a tree.

Only in scripts/test --full: needs python3-torch, and triton and llnl-hatchet from PyPI.
ACCEL_PROF_TEST_TORCH names another Python that has torch; with Kineto in it self times are compared
as well (Debian's is built without, and its own sums then lose what rounding put elsewhere)."""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import fixtures
from capture import import_files, unquote

TORCH = os.environ.get('ACCEL_PROF_TEST_TORCH', '/usr/bin/python3')
PROGRAM = '''
import json, sys, torch
from torch.profiler import profile, ProfilerActivity, record_function
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.LayerNorm(128),
                          torch.nn.Linear(128, 10))
opt = torch.optim.SGD(net.parameters(), lr=.1)
def step():
    with record_function('my step'):
        x, y = torch.randn(32, 64), torch.randint(0, 10, (32,))
        loss = torch.nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
step()
with profile(activities=[ProfilerActivity.CPU]) as p:
    for _ in range(5):
        step()
p.export_chrome_trace(sys.argv[1])
print(json.dumps({'kineto': torch.autograd.kineto_available(),
                  'ops': {e.key: (e.count, e.self_cpu_time_total, e.cpu_time_total)
                          for e in p.key_averages()}}))
'''


class Torch(unittest.TestCase):
    def test_key_averages(self):
        if subprocess.run([TORCH, '-c', 'import torch'], capture_output=True).returncode:
            self.skipTest('no torch')
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'trace.json')
            done = subprocess.run([TORCH, '-c', PROGRAM, path], capture_output=True, text=True,
                                  check=True, timeout=300)
            _, capture = import_files(path)
        theirs = json.loads(done.stdout)
        own, total = collections.Counter(), collections.Counter()
        for r in capture.records['CPU_SAMPLE']:
            names = [unquote('0:"' + f[1] + '"') for f in r['frames']]
            own[names[0]] += int(r['weight'])
            # Backward work stands under its forward op here, in a tree of its own in torch.
            for i, name in enumerate(names):
                if name.startswith('autograd::engine::'):
                    names = names[:i + 1]
                    break
            for name in set(names):
                total[name] += int(r['weight'])
        checked = 0
        for name, (count, self_us, total_us) in theirs['ops'].items():
            if name == '[memory]':
                continue
            with self.subTest(op=name):
                if theirs['kineto']:
                    self.assertEqual(own[name], self_us * 1000)
                if name == 'my step': # around forward and backward
                    continue
                # Each end may have been moved by the microsecond that rounding takes.
                self.assertLessEqual(abs(total[name] - total_us * 1000), count * 1000)
                checked += 1
        self.assertGreater(checked, 40)


class Proton(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        subprocess.run([sys.executable, '-m', 'venv', cls.folder.name], check=True)
        cls.bin = os.path.join(cls.folder.name, 'bin')
        done = subprocess.run([os.path.join(cls.bin, 'pip'), 'install', '-q', 'triton',
                               'llnl-hatchet'], capture_output=True, text=True, timeout=1500)
        if done.returncode:
            cls.folder.cleanup()
            raise unittest.SkipTest('triton cannot be installed: ' + done.stderr[-200:])

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def viewer(self, path):
        """(time, count) by name, of the nodes that have a time of their own below the root."""
        done = subprocess.run([os.path.join(self.bin, 'proton-viewer'), '-m', 'time/ns,count', path],
                              capture_output=True, text=True, check=True, timeout=120)
        text = re.sub(r'\x1b\[[0-9;]*m', '', done.stdout)
        rows = re.findall(r'^([ │├└─]*)([\d.]+|nan) ([\d.]+|nan) (\S.*)$', text, re.MULTILINE)
        leaves = {}
        for (indent, time, count, name), following in zip(rows, rows[1:] + [('', '', '', '')]):
            # A kernel is the deepest node with a time: what is below it has none.
            if time != 'nan' and (len(following[0]) <= len(indent) or following[1] == 'nan'):
                leaves[name.strip()] = (float(time), float(count))
        return leaves

    def trees(self, path, metrics, options=()):
        """Names and values of both viewers' trees, numbers as theirs are rounded."""
        done = subprocess.run([os.path.join(self.bin, 'proton-viewer'), '-m', metrics, *options, path],
                              capture_output=True, text=True, check=True, timeout=120)
        text = re.sub(r'\x1b\[[0-9;]*m', '', done.stdout)
        count = len(metrics.split(','))
        rows = re.findall(r'^[ │├└─]*((?:(?:[\d.]+|nan) ){%d})(\S.*)$' % count, text, re.MULTILINE)
        theirs = [(name.strip(), *[None if v in ('nan', '0.000') else v for v in values.split()])
                  for values, name in rows]
        ours = ['--include' if o == '-i' else o for o in options]
        # Its expressions are matched from a name's beginning on, ours anywhere.
        ours = [o[2:] if o.startswith('.*') else o for o in ours]
        done = subprocess.run([os.environ['ACCEL_PROF'], 'report', path, '-m', metrics, *ours,
                               *([] if '-f' in options else ['-f', 'full']), '--json'],
                              capture_output=True, text=True, check=True, timeout=120)
        mine = [(row['name'], *['%.3f' % row[m] if row[m] else None for m in metrics.split(',')])
                for row in json.loads(done.stdout)['tree'] if row['kind'] != 'boundary']
        return sorted(theirs, key=str), sorted(mine, key=str)

    def test_same_trees(self):
        folder = os.path.join(os.environ['TRACES'], 'hatchet')
        if not os.path.isdir(folder):
            self.skipTest('no shared traces')
        for name, metrics in (('cuda', 'time/ms,avg_time/us'), ('cuda', 'tflop8/s,gbyte/s'),
                              ('cuda', 'time/%,byte/s'), ('hip', 'gflop8/s,time/us'),
                              ('frame', 'time/ns,count'), ('triton', 'time/ns,gbyte/s')):
            with self.subTest(name=name, metrics=metrics):
                theirs, ours = self.trees(os.path.join(folder, name + '.json'), metrics)
                self.assertEqual(ours, theirs)
        for options in (['-i', '.*test0'], ['-e', '.*foo'], ['-t', '300000'], ['-d', '2'],
                        ['-f', 'file_function_line']):
            with self.subTest(options=options):
                theirs, ours = self.trees(os.path.join(folder, 'frame.json'), 'time/ns', options)
                self.assertEqual(ours, theirs)
        # Parents have none there.
        for name in ('cuda', 'hip'):
            theirs, ours = self.trees(os.path.join(folder, name + '.json'), 'util')
            self.assertEqual([row for row in ours if row[0] != 'ROOT'],
                             [row for row in theirs if row[0] != 'ROOT'])

    def test_same_kernels(self):
        folder = os.path.join(os.environ['TRACES'], 'hatchet')
        paths = [os.path.join(folder, n) for n in sorted(os.listdir(folder))] \
            if os.path.isdir(folder) else []
        with tempfile.TemporaryDirectory() as own:
            path = os.path.join(own, 'own.hatchet')
            with open(path, 'w') as file:
                file.write(fixtures.text(fixtures.hatchet()))
            for path in paths + [path]:
                with self.subTest(path=path):
                    _, capture = import_files(path)
                    launches = capture.launches()
                    ours = collections.defaultdict(lambda: (0.0, 0.0))
                    for correlation, name, _, start, end in capture.work():
                        time, count = ours[name]
                        ours[name] = (time + end - start,
                                      count + int(launches[correlation].get('count', 1)))
                    self.assertEqual(dict(ours), self.viewer(path))


if __name__ == '__main__':
    if not os.environ.get('ACCEL_PROF_TEST_FULL'):
        print('only in scripts/test --full: skipped')
        sys.exit(77)
    unittest.main()
