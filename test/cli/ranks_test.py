# SPDX-License-Identifier: Apache-2.0
"""accel-prof report on traces of several ranks.

Two small ones are written out here; what the shared pair of ranks did together is found a second
time by this script, from the JSON.
"""
import gzip
import json
import os
import subprocess
import tempfile
import unittest

from command import SOURCE_DIR, run

TRACES = os.path.join(SOURCE_DIR, '..', 'shared', 'traces', 'torch')


def rank_trace(rank, late_us, wait_for_us=0):
    """Ten steps of 1 ms of kernels, the all-reduce of 0.2 ms in it done when all ranks are there."""
    events, base = [], 1_700_000_000_000_000
    for i in range(10):
        at = base + i * 10000
        events.append(('train.py(10): step', 'python_function', at, 5000, {}))
        for name, cat, start, dur in (('gemm', 'kernel', at + 10, 1000 + late_us),
                                      ('ncclDevKernel_AllReduce_Sum_f32(ncclDevComm*)', 'kernel',
                                       at + 1020 + late_us, 200 + wait_for_us)):
            correlation = len(events)
            events.append(('cudaLaunchKernel', 'cuda_runtime', start - 5, 4,
                           {'correlation': correlation}))
            args = {'correlation': correlation, 'device': rank, 'stream': 7}
            if 'nccl' in name:
                args.update({'Collective name': 'allreduce', 'Process Group Name': '0',
                             'Group size': 2, 'dtype': 'Float'})
            events.append((name, cat, start, dur, args))
    return {'schemaVersion': 1, 'distributedInfo': {'backend': 'nccl', 'rank': rank, 'world_size': 2},
            'traceEvents': [{'ph': 'X', 'name': name, 'cat': cat, 'pid': 10 + rank, 'tid': 7,
                             'ts': ts, 'dur': dur, 'args': args}
                            for name, cat, ts, dur, args in events]}


class Ranks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, *traces):
        paths = []
        for i, trace in enumerate(traces):
            paths.append(os.path.join(self.folder, f'rank{i}.json'))
            with open(paths[-1], 'w', encoding='utf-8') as file:
                json.dump(trace, file)
        return paths

    def ok(self, *args):
        done = run('report', *args)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        return done.stdout

    def rows(self, *args):
        return json.loads(self.ok(*args, '--view', 'ranks', '--json'))['ranks']

    def test_slow_rank(self):
        paths = self.write(rank_trace(0, 0, 1500), rank_trace(1, 1500))
        expected = [
            ('rank 0', 10, 17000000, 15000000, 2000000, 0, 0, None),
            ('rank 1', 10, 2000000, 0, 2000000, 10, 15000000, None),
            ('allreduce', 20, 19000000, 15000000, 4000000, 10, 15000000, 'rank 1')]
        # Operands, options, a folder, and a capture that was made of both are the same.
        capture = os.path.join(self.folder, 'both.data')
        done = run('import', *paths, '-o', capture, '-q')
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        ways = [paths, ['-i', paths[0], '-i', paths[1]], [capture]]
        os.mkdir(os.path.join(self.folder, 'job'))
        for path in paths:
            os.link(path, os.path.join(self.folder, 'job', os.path.basename(path)))
        ways.append([os.path.join(self.folder, 'job')])
        for way in ways:
            rows = [(r['name'], r['count'], r['time_ns'], r['wait_ns'], r['transfer_ns'], r['last'],
                     r['cost_ns'], r['slowest']) for r in self.rows(*way)]
            self.assertEqual(rows, expected)

        report = json.loads(self.ok(*paths, '--json'))
        hints = {hint['rule']: hint for hint in report['hints']}
        self.assertIn('Rank 1 is last at 10 collectives; the others wait 15.0 ms for it',
                      hints['rank']['text'])
        self.assertEqual(hints['rank']['gain_ns'], 15000000)

    def test_even_ranks(self):
        paths = self.write(rank_trace(0, 0, 10), rank_trace(1, 10))
        report = json.loads(self.ok(*paths, '--json'))
        self.assertNotIn('rank', [hint['rule'] for hint in report['hints']])
        self.assertEqual(self.rows(*paths)[0]['wait_ns'], 100000)

    def test_one_rank(self):
        paths = self.write(rank_trace(0, 0, 1500))
        row = self.rows(*paths)[0]
        self.assertEqual((row['name'], row['wait_ns'], row['last']), ('rank 0', None, None))
        self.assertIn('includes waiting', self.ok(*paths, '--view', 'ranks'))

    def test_no_ranks(self):
        trace = rank_trace(0, 0)
        trace['traceEvents'] = [e for e in trace['traceEvents'] if 'nccl' not in e['name']]
        done = run('report', *self.write(trace), '--view', 'ranks')
        self.assertEqual((done.returncode, done.stdout), (0, ''))
        self.assertIn("nothing to show in view 'ranks'", done.stderr)

    def test_captures(self):
        """Captures, and a capture beside a trace, are the same two ranks."""
        paths = self.write(rank_trace(0, 0, 1500), rank_trace(1, 1500))
        captures = [path + '.data' for path in paths]
        for path, capture in zip(paths, captures):
            self.assertEqual(run('import', path, '-o', capture, '-q').returncode, 0)
        expected = self.rows(*paths)
        self.assertEqual(expected[1]['cost_ns'], 15000000)
        for way in (captures, [paths[0], captures[1]]):
            rows = self.rows(*way)
            self.assertEqual(rows, expected)
        merged = os.path.join(self.folder, 'merged.data')
        self.assertEqual(run('merge', *captures, '-q', '-o', merged).returncode, 0)
        self.assertEqual(self.rows(merged), expected)

    def test_missing(self):
        path = self.write(rank_trace(0, 0))[0]
        done = run('report', path, os.path.join(self.folder, 'none.json'))
        self.assertEqual((done.returncode, done.stdout), (1, ''))
        self.assertIn("cannot open", done.stderr)


def collectives(path):
    """(name, start, end) in us, the name that of the annotation around the launch."""
    with gzip.open(path, 'rt', encoding='utf-8') as file:
        events = json.load(file)['traceEvents']
    launches = {e['args']['correlation']: e for e in events if e.get('cat') == 'cuda_runtime'}
    names = [e for e in events if e['name'].startswith('nccl:') and e['cat'] == 'user_annotation']
    for e in events:
        if e.get('cat') != 'kernel' or not e['name'].startswith('nccl'):
            continue
        call = launches[e['args']['correlation']]
        name = [n['name'][5:] for n in names if n['tid'] == call['tid'] and
                n['ts'] <= call['ts'] <= n['ts'] + n['dur']]
        yield name[0], e['ts'], e['ts'] + e['dur']


class Torch(unittest.TestCase):
    """What PyTorch 1.13 writes of two ranks on CPUs that reduce with gloo; made by
    test/workload/torch_ranks.py, where PyTorch is there once more."""
    def check(self, folder, slow):
        paths = [os.path.join(folder, f'rank{i}.json') for i in range(2)]
        spans = []
        for path in paths:
            with open(path, encoding='utf-8') as file:
                spans.append(sorted((e['ts'], e['dur']) for e in json.load(file)
                                    if e['name'] == 'gloo:all_reduce'))
        self.assertEqual([len(s) for s in spans], [10, 10])
        done = run('report', *paths, '--view', 'ranks', '--json')
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = json.loads(done.stdout)['ranks']
        # Their clocks have nothing in common: the first is the first, and so on.
        pairs = [(a[1], b[1]) for a, b in zip(*spans)]
        self.assertEqual([r['wait_ns'] for r in rows[:2]],
                         [sum(p[i] - min(p) for p in pairs) * 1000 for i in range(2)])
        self.assertEqual([r['transfer_ns'] for r in rows[:2]],
                         [sum(min(p) for p in pairs) * 1000] * 2)
        hints = json.loads(run('report', *paths, '--json').stdout)['hints']
        self.assertEqual([h['text'].split(' is last')[0] for h in hints if h['rule'] == 'rank'],
                         slow)

    def test_kept(self):
        self.check(os.path.join(SOURCE_DIR, 'test', 'cli', 'gloo-slow'), ['Rank 1'])

    @unittest.skipUnless(os.environ.get('ACCEL_PROF_TEST_FULL') == '1',
                         'only with ACCEL_PROF_TEST_FULL=1')
    def test_made(self):
        script = os.path.join(SOURCE_DIR, 'test', 'workload', 'torch_ranks.py')
        if subprocess.run(['/usr/bin/python3', '-c', 'import torch.distributed'],
                          capture_output=True, check=False).returncode:
            self.skipTest('needs PyTorch (package python3-torch)')
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(['/usr/bin/python3', script, folder, '60', '5'], check=True,
                           capture_output=True, timeout=200)
            self.check(folder, ['Rank 0'])


@unittest.skipUnless(os.path.isdir(TRACES), f'needs the traces in {TRACES}')
class Shared(unittest.TestCase):
    def test_pair(self):
        """Two of 128 ranks, with holes: of the same name, those that overlap are the same."""
        paths = [os.path.join(TRACES, f'ranks_{i}_of_2.json.gz') for i in range(2)]
        sides = [list(collectives(path)) for path in paths]
        pairs = [(a, b) for a in sides[0] for b in sides[1]
                 if a[0] == b[0] and a[1] < b[2] and b[1] < a[2]]
        self.assertEqual(len(pairs), 5)
        waits, last = [0, 0], [0, 0]
        for pair in pairs:
            spent = [end - start for _, start, end in pair]
            for i in range(2):
                waits[i] += round((spent[i] - min(spent)) * 1000)
                last[i] += spent[i] < spent[1 - i]
        done = run('report', *paths, '--view', 'ranks', '--json')
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        rows = json.loads(done.stdout)['ranks']
        self.assertEqual([r['wait_ns'] for r in rows[:2]], waits)
        self.assertEqual([r['last'] for r in rows[:2]], last)
        self.assertEqual([r['time_ns'] for r in rows[:2]],
                         [round(sum(end - start for _, start, end in side) * 1000)
                          for side in sides])
        self.assertEqual({r['name'] for r in rows[2:]}, {name for name, _, _ in sides[0]})
        page = run('report', *paths).stdout
        self.assertIn('2 GPUs busy 45.7 % of 2 steps', page)
        self.assertIn('waiting for other ranks 4.3 % of it', page)


if __name__ == '__main__':
    unittest.main()
