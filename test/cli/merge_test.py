# SPDX-License-Identifier: Apache-2.0
"""accel-prof merge: nothing is lost and nothing counted twice, whatever the captures are of."""
import collections
import json
import os
import subprocess
import unittest

from chrome import span
from command import FolderTest, PROGRAM, run

GENERATE = os.environ['BENCH_GENERATE']
SANITIZED = os.environ['SANITIZED'] == '1'
FULL = os.environ.get('ACCEL_PROF_TEST_FULL')


def trace(start=1000, kernel_us=100, pid=10, rank=None, name='python3'):
    """One launch from main(), whose kernel begins 20 us later."""
    document = {
        'schemaVersion': 1, 'deviceProperties': [{'id': 0, 'name': 'Test GPU'}],
        'traceEvents': [
            {'ph': 'M', 'name': 'process_name', 'pid': pid, 'args': {'name': name}},
            span('python_function', 'train.py(3): main', start, 300, pid, **{'Python id': 1}),
            span('cuda_runtime', 'cudaLaunchKernel', start + 10, 5, pid, correlation=1),
            span('kernel', 'gemm', start + 30, kernel_us, correlation=1, device=0, stream=7)]}
    if rank is not None:
        document['distributedInfo'] = {'rank': rank, 'world_size': 2}
    return json.dumps(document)


class Merge(FolderTest):
    def merge(self, *args, status=0):
        out = os.path.join(self.folder, 'merged')
        done = run('merge', '-q', '-o', out, *args)
        self.assertEqual(done.returncode, status, done.stderr)
        return out

    def fold(self, path, metric='device-time', *args):
        done = run('export', '--format', 'folded', '--metric', metric, *args, path)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        lines = collections.Counter()
        for line in done.stdout.splitlines():
            stack, value = line.rsplit(' ', 1)
            lines[stack] += int(value)
        return lines

    def roots(self, lines):
        roots = collections.Counter()
        for stack, value in lines.items():
            roots[stack.split(';')[0]] += value
        return dict(roots)

    def test_ranks(self):
        """Each with its own device: by hand, 100 and 150 us of work and no idle time."""
        parts = self.file(trace(rank=0)), self.file(trace(rank=1, kernel_us=150, start=1010))
        out = self.merge(*parts)
        self.assertEqual(self.roots(self.fold(out)),
                         {'python3 rank_0': 100000, 'python3 rank_1': 150000})
        self.assertEqual(sum(self.fold(out, 'wall').values()), 250000)
        self.assertEqual(sum(self.fold(out, 'device-time', '--rank', '1').values()), 150000)
        self.assertEqual(sum(self.fold(out, 'device-time', '--rank', '0,1').values()), 250000)
        one = self.merge('--frames', 'none', *parts)
        self.assertEqual(self.fold(one), {'python3;py::main (train.py:3);cudaLaunchKernel;-;gemm_[G]':
                                          250000})
        self.assertEqual(sum(self.fold(one, 'device-time', '--rank', '1').values()), 150000)

    def test_ranks_by_place(self):
        parts = self.file(trace()), self.file(trace(kernel_us=150))
        self.assertEqual(self.roots(self.fold(self.merge('--ranks', *parts))),
                         {'python3 rank_0': 100000, 'python3 rank_1': 150000})

    def test_runs(self):
        """The second begins after the first has ended: laid over it, no device waits for it."""
        parts = self.file(trace()), self.file(trace(start=900000, kernel_us=150))
        out = self.merge(*parts)
        self.assertEqual(self.roots(self.fold(out)), {'python3': 250000})
        self.assertEqual(sum(self.fold(out, 'wall').values()), 250000)
        self.assertEqual(sum(self.fold(out, 'wall', '--run', '2').values()), 150000)
        out = self.merge('--frames', 'run', *parts)
        self.assertEqual(self.roots(self.fold(out)),
                         {'python3 run_1': 100000, 'python3 run_2': 150000})
        out = self.merge('--align', 'clock', *parts)
        self.assertEqual(self.roots(self.fold(out)), {'python3': 250000})

    def test_sessions(self):
        """Another tool's view of the same process: one process, one tree."""
        proton = self.file(json.dumps([{
            'frame': {'name': 'ROOT', 'type': 'function'}, 'metrics': {'time (ns)': 0, 'count': 0},
            'children': [{'frame': {'name': 'gemm', 'type': 'function'}, 'children': [],
                          'metrics': {'time (ns)': 70, 'count': 1}}]}]))
        folded = self.file('main;work 5\n')
        out = self.merge(proton, folded)
        self.assertEqual(sum(self.fold(out).values()), 70)
        self.assertEqual(sum(self.fold(out, 'cpu-samples').values()), 5)
        done = run('merge', '-o', out + '2', self.file(trace()), folded)
        self.assertEqual((done.returncode, os.path.exists(out + '2')), (1, False))
        self.assertIn('has totals without times', done.stderr)

    def test_one_is_the_same(self):
        part = self.file(trace(rank=1))
        for metric in ('wall', 'device-time', 'launches', 'cpu-time'):
            self.assertEqual(self.fold(self.merge(part), metric), self.fold(part, metric))

    def generate(self, launches, name):
        path = os.path.join(self.folder, name)
        subprocess.run([GENERATE, str(launches), path], check=True)
        return path

    def test_totals_and_memory(self):
        """Of the merger itself: what it takes for 40 captures is what it takes for 4, and a bit."""
        count, size = (200, 1000000) if FULL else (40, 4000)
        part = self.generate(size, 'part')
        peaks = []
        for number in (4, count):
            out = os.path.join(self.folder, 'all')
            pid = os.posix_spawn(PROGRAM, [PROGRAM, 'merge', '-q', '-o', out] + number * [part],
                                 os.environ)
            _, status, usage = os.wait4(pid, 0)
            self.assertEqual(status, 0)
            peaks.append(usage.ru_maxrss)
        print(f'{count} captures of {size} launches: {peaks[0] >> 10} MB for 4, {peaks[1] >> 10} MB for all')
        if not SANITIZED: # which keeps what was freed
            self.assertLess(peaks[1], peaks[0] + (64 << 10))
        if not FULL:
            for metric in ('device-time', 'launches', 'cpu-samples', 'device-samples'):
                self.assertEqual(sum(self.fold(out, metric).values()),
                                 count * sum(self.fold(part, metric).values()), metric)

    def test_damage_is_told(self):
        part = self.generate(40000, 'part')
        with open(part, 'rb') as file:
            data = file.read()
        with open(part + '2', 'wb') as file:
            file.write(data[:len(data) // 2])
        done = run('merge', '-o', part + '3', part, part + '2')
        self.assertEqual(done.returncode, 1)
        self.assertIn("part2': cut off at offset", done.stderr)
        self.assertIn('part2', run('report', '--view', 'quality', part + '3').stdout)

    def test_mistakes(self):
        path = self.file(trace())
        for args, status, text in [
                ([], 129, 'no files to merge'),
                ([path, '--frames', 'pid'], 129, "--frames is a list"),
                ([path, '--align', 'x'], 129, "--align is 'auto', 'clock' or 'start', not 'x'"),
                ([path, path + 'x'], 1, 'No such file')]:
            done = run('merge', '-o', os.path.join(self.folder, 'no'), *args)
            self.assertEqual((done.returncode, done.stdout), (status, ''), args)
            self.assertIn(text, done.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.folder, 'no')))


if __name__ == '__main__':
    unittest.main()
