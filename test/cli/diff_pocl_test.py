# SPDX-License-Identifier: Apache-2.0
"""accel-prof diff on recordings: what it says of a planted change, and how sure it is of that, is what
the recordings say. A busy machine hides a change, and then "cannot tell" is the right answer.

With ACCEL_PROF_TEST_FULL: 3, 5 and 10 % are found and named, and of 40 equal pairs at most one raises an
alarm, as far as the machine is quiet enough for that.
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
        """Each kernel's time in each step, of the events and the steps that other commands tell."""
        events = json.loads(run('export', '--format', 'chrome', path).stdout)
        table = csv.DictReader(run('report', '--view', 'steps', '--csv', path).stdout.splitlines())
        steps = [row for row in table if row['start_ns']] # the others sum them up
        base = events['baseTimeNanoseconds']
        result = collections.defaultdict(lambda: [0] * len(steps))
        for event in events['traceEvents']:
            if event.get('cat') != 'kernel':
                continue
            begin = base + round(event['ts'] * 1000)
            for i, step in enumerate(steps):
                start = int(step['start_ns'])
                if start <= begin < start + int(step['time_ns']):
                    result[event['name']][i] += round(event['dur'] * 1000)
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
        """Each change by Welch's test and its fast quarter, again; steps of a warm-up come first and
        do not count."""
        before, after = self.by_kernel(base), self.by_kernel(new)
        steps, = [row for row in result['compared'] if row['what'] == 'steps']
        self.assertEqual(set(before), set(LAUNCHES))
        for row in result['changes']:
            x = before[row['what']][-int(steps['base']):]
            y = after[row['what']][-int(steps['new']):]
            change = statistics.mean(y) - statistics.mean(x)
            error = math.sqrt(self.error_squared(x) + self.error_squared(y))
            percent = 100 * change / statistics.mean(x)
            fast = sorted(y)[(len(y) - 1) // 4] - sorted(x)[(len(x) - 1) // 4]
            self.assertAlmostEqual(row['error_percent'], 100 * error / statistics.mean(x), delta=0.1)
            if abs(abs(change) - 4 * error) > 0.01 * error and abs(abs(percent) - 0.5) > 0.01:
                is_certain = abs(change) > 4 * error and abs(percent) >= 0.5 and fast / change >= 0.5
                self.assertEqual(row['spread'], 'beyond spread' if is_certain else 'within spread')


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

    def noise(self, result):
        """What hides a change: how much what nobody touched has changed, and the errors of all."""
        return max((4 * row['error_percent'] +
                    (row['what'] != 'mlp') * abs(row['change_ns']) / row['base_ns'] * 100
                    for row in result['changes']), default=0)

    @unittest.skipUnless(FULL, 'many recordings: scripts/test --full')
    def test_planted_regressions(self):
        for percent in (3, 5, 10):
            with self.subTest(percent=percent):
                for attempt in range(5):
                    result = self.compare(self.record(), self.record('-w', f'mlp={percent}'))
                    if self.noise(result) < percent / 2:
                        break
                else:
                    self.skipTest(f'this machine is too busy to show {percent} %')
                found = [row for row in result['changes'] if row['spread'] == 'beyond spread']
                self.assertEqual(result['changes'][0]['what'], 'mlp')
                self.assertIn('mlp', [row['what'] for row in found])
                self.assertAlmostEqual(100 * found[0]['change_ns'] / found[0]['base_ns'], percent,
                                       delta=percent / 2)

    @unittest.skipUnless(FULL, 'many recordings: scripts/test --full')
    def test_equal_pairs(self):
        if os.getloadavg()[0] > os.cpu_count() / 2:
            self.skipTest('others use this machine, and what they take differs from run to run')
        alarms = []
        for _ in range(40):
            result = self.compare(self.record(), self.record())
            alarms.append([row['what'] for row in result['changes'] if row['spread'] == 'beyond spread'])
        wrong = [names for names in alarms if names]
        print(f'{len(wrong)} alarms in 40 equal pairs: {wrong}')
        self.assertLessEqual(len(wrong), 1)


if __name__ == '__main__':
    unittest.main()
