# SPDX-License-Identifier: Apache-2.0
"""accel-prof diff on recordings: what it says of a planted change, and how sure it is of that, is what
the recordings say. A busy machine hides a change in one recording of each, and then "cannot tell" is the
right answer; several of each, made in turns and merged, show it.

With ACCEL_PROF_TEST_FULL: 3, 5 and 10 % are found and named, and of 40 equal pairs at most one raises an
alarm, however busy the machine is.
"""
import collections
import csv
import json
import math
import os
import statistics
import subprocess
import tempfile
import unittest

from command import run

STEPS = os.path.join(os.environ['WORKLOAD_DIR'], 'steps')
FULL = os.environ.get('ACCEL_PROF_TEST_FULL')
RUNS = 10 # of each side, where 3 % are to be found on a busy machine
LAUNCHES = {'embed': 1, 'attention': 2, 'norm': 4, 'mlp': 2} # in a step, see steps.c


def setUpModule():
    if os.geteuid() != 0 or not os.path.exists(STEPS):
        raise unittest.SkipTest('needs root, and OpenCL for the workload')


class Recorded(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.environment = dict(os.environ, POCL_CACHE_DIR=os.path.join(folder.name, 'cache'))
        done = subprocess.run([STEPS, '-n', '2'], env=cls.environment, capture_output=True, text=True)
        if done.returncode:
            raise unittest.SkipTest(done.stderr)
        cls.count = 0

    def record(self, *args, steps=22):
        self.__class__.count += 1
        path = os.path.join(self.folder, f'{self.count}.data')
        done = run('record', '-q', '-o', path, '--', STEPS, '-n', str(steps), *args,
                   env=self.environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return path

    def by_kernel(self, path):
        """Each kernel's times in each step, of the events and the steps that other commands tell."""
        events = json.loads(run('export', '--format', 'chrome', path).stdout)
        table = csv.DictReader(run('report', '--view', 'steps', '--csv', path).stdout.splitlines())
        steps = [row for row in table if row['start_ns']] # the others sum them up
        base = events['baseTimeNanoseconds']
        result = collections.defaultdict(lambda: [[] for _ in steps])
        for event in events['traceEvents']:
            if event.get('cat') != 'kernel':
                continue
            begin = base + round(event['ts'] * 1000)
            for i, step in enumerate(steps):
                start = int(step['start_ns'])
                if start <= begin < start + int(step['time_ns']):
                    result[event['name']][i].append(round(event['dur'] * 1000))
        return result

    def compare(self, base, new):
        done = run('diff', '--json', base, new)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        return json.loads(done.stdout)

    def error_squared(self, values):
        """Of the mean: of single steps, or of five runs of them if that is larger."""
        middle, length = statistics.mean(values), len(values) // 5
        runs = [statistics.mean(values[i * length:(i + 1) * length]) for i in range(5)]
        return max(statistics.variance(values) / len(values),
                   sum((mean - middle) ** 2 for mean in runs) / 4 / 5)

    def check_spreads(self, base, new, result):
        """Each change by Welch's test and by the shortest of each kernel, again; steps of a warm-up come
        first and do not count."""
        before, after = self.by_kernel(base), self.by_kernel(new)
        steps, = [row for row in result['compared'] if row['what'] == 'steps']
        self.assertEqual(set(before), set(LAUNCHES))
        for row in result['changes']:
            old = before[row['what']][-int(steps['base']):]
            now = after[row['what']][-int(steps['new']):]
            x, y = [sum(step) for step in old], [sum(step) for step in now]
            change = statistics.mean(y) - statistics.mean(x)
            error = math.sqrt(self.error_squared(x) + self.error_squared(y))
            percent = 100 * change / statistics.mean(x)
            fast = LAUNCHES[row['what']] * (min(map(min, now)) - min(map(min, old)))
            self.assertAlmostEqual(row['error_percent'], 100 * error / statistics.mean(x), delta=0.1)
            is_close = (abs(abs(change) - 4 * error) < 0.01 * error or abs(abs(percent) - 0.5) < 0.01 or
                        abs(fast / change - 0.75) < 0.01)
            if not is_close:
                is_certain = abs(change) > 4 * error and abs(percent) >= 0.5 and fast / change >= 0.75
                self.assertEqual(row['spread'], 'beyond spread' if is_certain else 'within spread', row)


class Planted(Recorded):
    def test_what_is_said_is_so(self):
        base, new = self.record(), self.record('-w', 'mlp=10')
        result = self.compare(base, new)
        steps = {row['what']: (row['base'], row['new']) for row in result['compared']}['steps']
        if min(map(int, steps)) < 5:
            self.skipTest(f'too busy a machine: {steps} steady steps of 22')
        self.assertLessEqual({row['by'] for row in result['matched']},
                             {'path + op + shape', 'op + shape'})
        self.assertIn('asked.command', [row['what'] for row in result['compared'] if row['differs']])
        self.check_spreads(base, new, result)
        changed = [row['what'] for row in result['changes'] if row['spread'] == 'beyond spread']
        done = run('diff', '--fail-on', 'kernel mlp > +2%', '--fail-on', 'kernel norm > +1000000%',
                   base, new)
        self.assertIn(done.returncode, (0, 3, 4), done.stderr)
        if done.returncode == 3: # then it is no noise
            self.assertIn('mlp', changed)
            self.assertIn('Most of it:', done.stdout)
        if done.returncode == 4:
            self.assertIn('kernel mlp: cannot tell', done.stderr)

    def in_turns(self, count, *args):
        """So many recordings of both sides, one of each after the other; @args are for the second."""
        paths = [], []
        for _ in range(count):
            for side, more in enumerate(((), args)):
                paths[side].append(self.record(*more))
        merged = []
        for side, files in enumerate(paths):
            merged.append(os.path.join(self.folder, f'{self.count}.{side}.data'))
            done = run('merge', '-q', '-o', merged[side], *files)
            self.assertEqual((done.returncode, done.stderr), (0, ''))
            for path in files:
                os.unlink(path)
        return merged

    def alarms(self, result):
        found = [row['what'] for row in result['changes'] if row['spread'] == 'beyond spread']
        return found + ['step'] * bool(result['step_is_certain'])

    @unittest.skipUnless(FULL, 'many recordings: scripts/test --full')
    def test_planted_regressions(self):
        for percent in (3, 5, 10):
            with self.subTest(percent=percent):
                result = self.compare(*self.in_turns(RUNS, '-w', f'mlp={percent}'))
                print(f'{percent} %: alarms {self.alarms(result)}, load {os.getloadavg()[0]:.1f}')
                found, = [row for row in result['changes']
                          if row['what'] == 'mlp' and row['spread'] == 'beyond spread']
                # As near as clocks let it be that change with what else the machine does.
                self.assertAlmostEqual(found['tested_percent'], percent,
                                       delta=max(1.5, percent / 4))
                self.assertLessEqual(set(self.alarms(result)), {'mlp', 'step'})

    @unittest.skipUnless(FULL, 'many recordings: scripts/test --full')
    def test_equal_pairs(self):
        """Of one recording each, and of a few in turns."""
        wrong = []
        for pair in range(40):
            found = self.alarms(self.compare(*self.in_turns(1 if pair < 20 else 3)))
            wrong += [found] if found else []
        print(f'{len(wrong)} alarms in 40 equal pairs: {wrong}, load {os.getloadavg()[0]:.1f}')
        self.assertLessEqual(len(wrong), 1)


if __name__ == '__main__':
    unittest.main()
