# SPDX-License-Identifier: Apache-2.0
"""accel-prof diff: comparability first, parts that add up, what is matched by what, and no alarm
without a change."""
import json
import os
import random
import unittest

from chrome import span
from command import FolderTest, SOURCE_DIR, run

TRACES = os.path.join(SOURCE_DIR, '..', 'shared', 'traces', 'torch')
KERNELS = ('gemm_tile', 'softmax', 'layer_norm', 'copy_kernel')


def training(seed, steps, slower=None, noise=0.01, line=9, clock=1.0, busy=0.0, **other):
    """A loop whose device works all the time but for a pause; each duration has its own noise. With
    @busy so many of them are longer, by up to ten times, as others use the device as well."""
    dice = random.Random(seed)
    now, number, events = 1000.0, 0, []
    for step in range(steps):
        begin = now
        now += 20
        for kernel in KERNELS:
            for _ in range(5):
                number += 1
                length = 100 * (1 + dice.gauss(0, noise))
                length *= (slower or {}).get(kernel, 1) * clock
                if busy and dice.random() < busy:
                    length += dice.uniform(0, 9) * length
                events.append(span('cpu_op', f'aten::{kernel}', now - 8, 6,
                                   **{'External id': number, 'Input Dims': [[8, 16]]}))
                events.append(span('cuda_runtime', 'cudaLaunchKernel', now - 6, 3, correlation=number))
                events.append(span('kernel', kernel, now, length, correlation=number, device=0,
                                   stream=7))
                now += length + 10 * (1 + dice.gauss(0, noise))
        events.append(span('python_function', f'train.py({line}): step', begin, now - begin,
                           **{'Python id': step + 1}))
        events.append(span('user_annotation', f'ProfilerStep#{step}', begin, now - begin))
    return json.dumps({'schemaVersion': 1, 'deviceProperties': [{'id': 0, 'name': 'Test GPU'}],
                       'traceEvents': events, **other})


class Compared(FolderTest):
    def compare(self, base, new, *args):
        done = run('diff', '--json', '--limit', '1000', *args, base, new)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        result = json.loads(done.stdout)
        self.check_sums(result)
        return result

    def check_sums(self, result):
        """Each table's rows add up to its total, and so do the changes."""
        for name in ('parts', 'families', 'code'):
            *rows, total = result[name]
            for key in ('base_ns', 'new_ns', 'change_ns'):
                self.assertEqual(sum(row[key] for row in rows), total[key], (name, key))
            for row in result[name]:
                self.assertEqual(row['new_ns'] - row['base_ns'], row['change_ns'])
        busy = [sum(row[key] for row in result['parts'] if row['what'].startswith('busy'))
                for key in ('base_ns', 'new_ns')]
        families = result['families'][-1]
        for ours, theirs in zip(busy, (families['base_ns'], families['new_ns'])):
            self.assertLessEqual(abs(ours - theirs), 1) # each is rounded by itself
        self.assertEqual([result['parts'][-1][key] for key in ('base_ns', 'new_ns')],
                         result['step_ns'])
        self.assertEqual([result['code'][-1][key] for key in ('base_ns', 'new_ns')],
                         result['step_ns'])
        for side in ('base_share', 'new_share'):
            self.assertAlmostEqual(sum(row[side] for row in result['matched']), 1)

    def alarms(self, result):
        found = [row['what'] for row in result['changes'] if row['spread'] == 'beyond spread']
        return found + ['step'] * bool(result['step_is_certain'])


class Diff(Compared):
    def test_with_itself(self):
        path = self.file(training(1, 6))
        result = self.compare(path, path)
        self.assertTrue(result['same'])
        self.assertEqual(self.alarms(result), [])
        self.assertEqual(result['changes'], [])
        self.assertEqual([row['by'] for row in result['matched']], ['path + op + shape'])
        done = run('diff', path, path)
        self.assertIn('\nNo difference.\n', done.stdout)
        self.assertNotIn('Not the same conditions', done.stdout)

    def test_by_hand(self):
        """Without noise: gemm takes 10 of 100 us more, five times in each of 2 steps."""
        base = self.file(training(1, 2, noise=0))
        new = self.file(training(1, 2, {'gemm_tile': 1.1}, noise=0, line=12))
        result = self.compare(base, new)
        self.assertFalse(result['same'])
        self.assertEqual(result['step_ns'], [2220000, 2270000])
        self.assertEqual(result['device_ns'], [2000000, 2050000])
        parts = {row['what']: row['change_ns'] for row in result['parts']}
        self.assertEqual(parts['busy: kernels'], 50000)
        self.assertEqual(parts['total'], 50000)
        change, = result['changes']
        self.assertEqual(change['what'], 'aten::gemm_tile [[8,16]]')
        self.assertEqual((change['base_ns'], change['new_ns']), (500000, 550000))
        self.assertEqual((change['matched'], change['percent']), ('path + op + shape', '+10.0 %'))
        self.assertEqual(change['spread'], '') # two steps tell nothing
        self.assertIsNone(result['step_is_certain'])
        code = {row['what']: row['change_ns'] for row in result['code']}
        self.assertEqual(code['py::step (train.py)'], 50000)
        twice = self.compare(base, new, '--absolute')
        self.assertEqual(twice['step_ns'], [4440000, 4540000])

    def test_new_and_gone(self):
        base = self.file(training(1, 5, noise=0))
        new = self.file(training(1, 5, noise=0).replace('softmax', 'flash'))
        changes = {row['what']: row for row in self.compare(base, new)['changes']}
        self.assertEqual({what: row['percent'] for what, row in changes.items()},
                         {'aten::softmax [[8,16]]': 'gone', 'aten::flash [[8,16]]': 'new'})
        self.assertEqual({row['matched'] for row in changes.values()}, {'nothing'})
        done = run('diff', '--fail-on', 'kernel flash > +5%', '--fail-on', 'kernel softmax > +5%', base, new)
        self.assertEqual((done.returncode, done.stderr),
                         (3, 'accel-prof: kernel flash: new, beyond the limit of +5 %\n'
                             'accel-prof: kernel softmax: gone, within the limit of +5 %\n'))

    def test_op_without_its_path(self):
        base = self.file(training(1, 5, noise=0))
        new = self.file(training(1, 5, noise=0).replace('train.py', 'other.py'))
        self.assertEqual([row['by'] for row in self.compare(base, new)['matched']], ['op + shape'])

    def test_planted_regressions(self):
        for percent in (3, 5, 10):
            with self.subTest(percent=percent):
                base = self.file(training(100 + percent, 20))
                new = self.file(training(200 + percent, 20, {'layer_norm': 1 + percent / 100}))
                result = self.compare(base, new)
                self.assertIn('aten::layer_norm [[8,16]]', self.alarms(result))
                self.assertEqual(result['changes'][0]['what'], 'aten::layer_norm [[8,16]]')

    def test_equal_pairs_raise_no_alarm(self):
        wrong = 0
        for pair in range(40):
            result = self.compare(self.file(training(1000 + pair, 20)),
                                  self.file(training(2000 + pair, 20)))
            wrong += bool(self.alarms(result))
        self.assertLessEqual(wrong, 1)

    def gate(self, base, new, *conditions):
        done = run('diff', *[word for c in conditions for word in ('--fail-on', c)], base, new)
        return done.returncode, done.stderr

    def test_fail_on(self):
        base, new = self.file(training(1, 8)), self.file(training(2, 8, {'gemm_tile': 1.1}))
        status, text = self.gate(base, new, 'kernel gemm* > +5%')
        self.assertEqual(status, 3)
        self.assertRegex(text, r'^accel-prof: kernel gemm\*: \+(9|10)\.\d %, beyond the limit of \+5 %\n$')
        for conditions, status in [(['kernel gemm* > +20%'], 0), (['kernel soft* > 5 %'], 0),
                                   (['step>+1%'], 3), (['step > +5%'], 0), (['idle > +5%'], 0),
                                   (['step > +5%', 'kernel gemm* > +5%'], 3),
                                   (['kernel gemm* < +20%'], 3),
                                   (['kernel none > +5%'], 4),
                                   (['kernel none > +5%', 'kernel gemm* > +5%'], 3)]:
            self.assertEqual(self.gate(base, new, *conditions)[0], status, conditions)
        self.assertEqual(self.gate(new, base, 'kernel gemm* < -5%')[0], 3)

    def test_fail_on_module(self):
        def nested(text):
            events = json.loads(text)
            steps = [e for e in events['traceEvents'] if e['name'].startswith('ProfilerStep')]
            for step in steps:
                events['traceEvents'].append({**step, 'name': 'encoder', 'ts': step['ts'] + 1,
                                              'dur': step['dur'] - 2})
            return json.dumps(events)
        base = self.file(nested(training(1, 8)))
        new = self.file(nested(training(2, 8, {k: 1.1 for k in KERNELS})))
        self.assertEqual(self.gate(base, new, 'module enc* > +5%')[0], 3)
        self.assertEqual(self.gate(base, new, 'module dec* > +5%')[0], 4)

    def test_cannot_tell(self):
        status, text = self.gate(self.file(training(1, 4)), self.file(training(2, 9)), 'step > +1%')
        self.assertEqual(status, 4)
        self.assertIn('step: cannot tell: it takes 5 steps on both sides, there are 4 and 9', text)
        base = self.file(training(1, 5, noise=0.4))
        new = self.file(training(7, 5, {'gemm_tile': 1.05}, noise=0.4))
        changed = self.gate(base, new, 'kernel gemm* > -50%')
        self.assertEqual(changed[0], 4)
        self.assertIn('is within the spread of the steps', changed[1])

    def test_conditions_are_said_first(self):
        base = self.file(training(1, 5, distributedInfo={'rank': 3, 'world_size': 8}))
        new = self.file(training(1, 5, distributedInfo={'rank': 1, 'world_size': 2},
                                 deviceProperties=[{'id': 0, 'name': 'Other GPU'}]))
        result = self.compare(base, new)
        differs = {row['what'] for row in result['compared'] if row['differs']}
        self.assertEqual(differs, {'device', 'ranks', 'rank'})
        changed = self.file(training(1, 5, {'softmax': 1.2}))
        text = run('diff', base, changed).stdout
        self.assertLess(text.index('Not the same conditions: 2 of these differ'),
                        text.index('\nstep '))

    def test_totals_of_two_devices(self):
        """Without a timeline: the devices are told apart, and nothing is said of idle time."""
        def totals(kind, arch, time):
            root = {'frame': {'name': 'ROOT'}, 'metrics': {'count': 0, 'time (ns)': 0}, 'children': [
                {'frame': {'name': 'gemm'}, 'children': [],
                 'metrics': {'count': 3, 'time (ns)': time, 'device_id': '0', 'device_type': kind}}]}
            return self.file(json.dumps([root, {kind: {'0': {'arch': arch}}}]))
        base, new = totals('CUDA', '90', 100), totals('HIP', 'gfx942', 90)
        text = run('diff', base, new).stdout
        self.assertRegex(text, r'\ndevice +CUDA 90 +HIP gfx942 +differs\n')
        self.assertRegex(text, r'\ndevices +1 +1\n')
        self.assertIn('device work 100 ns -> 90 ns (-10.0 %)', text)
        self.assertNotIn('WHAT THE TIME WENT TO', text)

    def test_mistakes(self):
        path = self.file(training(1, 2))
        for args, status, text in [
                ([path], 129, 'two files are compared'),
                ([path, path, path], 129, 'more than two files'),
                ([path, path, '--fail-on', 'speed > 5%'], 129, "cannot understand 'speed > 5%'"),
                ([path, path, '--fail-on', 'kernel > 5%'], 129, 'it is like'),
                ([path, path, '--fail-on', 'step x > 5%'], 129, 'it is like'),
                ([path, path, '--fail-on', 'step > 5'], 129, 'it is like'),
                ([path, path, '--fail-on', 'step > 0x5%'], 129, 'it is like'),
                ([path, path, '--fail-on', 'step > 1.2.3%'], 129, 'it is like'),
                ([path, path, '--fail-on', 'step > nan%'], 129, 'it is like'),
                ([path, path, '--fail-on', 'kernel a > +5% and step > 2%'], 129, 'one condition each'),
                ([path, self.host(a=5)], 1, 'has no device time to compare'),
                ([self.file('main;a 5\n')] * 2, 1, 'neither device time nor CPU time'),
                ([path, path, '--noise', '-1'], 129, 'the noise is'),
                ([path, path, '--limit', '0'], 129, 'the limit is'),
                ([path, path + 'x'], 1, 'No such file'),
                ([path, path, '--kernel', 'none'], 1, 'has no device time to compare')]:
            done = run('diff', *args)
            self.assertEqual((done.returncode, done.stdout), (status, ''), args)
            self.assertIn(text, done.stderr)


    def host(self, **functions):
        """A trace of host code alone, microseconds each."""
        events = [{'ph': 'X', 'cat': 'cpu_op', 'name': name, 'pid': 1, 'tid': 1, 'ts': 1000 * i, 'dur': dur}
                  for i, (name, dur) in enumerate(functions.items())]
        return self.file(json.dumps({'schemaVersion': 1, 'traceEvents': events}))

    def test_host_alone(self):
        base, new = self.host(a=100, b=50), self.host(a=100, b=80)
        done = run('diff', '--json', base, new)
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout)
        self.assertTrue(result['cpu_time'])
        self.assertEqual([(row['what'], row['change_ns']) for row in result['code']],
                         [('b', 30000), ('a', 0), ('total', 30000)])
        text = run('diff', base, new).stdout
        self.assertIn('CPU time 150 us -> 180 us (+20.0 %)', text)
        self.assertNotIn('KERNEL FAMILY', text)
        self.assertIn('No difference.', run('diff', base, base).stdout)
        # The same sum, but of other code.
        self.assertFalse(json.loads(run('diff', '--json', base, self.host(a=50, b=100)).stdout)['same'])
        self.assertEqual(run('diff', '--fail-on', 'step > +1%', base, new).returncode, 4)


class SeveralRuns(Compared):
    """Recordings of one program differ by more than their steps tell; several of each, merged, tell."""

    def merge(self, texts):
        path = os.path.join(self.folder, f'{self.count}.data')
        done = run('merge', '-q', '--align', 'start', '-o', path, *[self.file(text) for text in texts])
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        return path

    def runs(self, seed, *args, count=8, **other):
        """A clock of its own for each, one of a hundred apart."""
        dice = random.Random(seed)
        return self.merge(training(seed + i, 5, *args, clock=1 + dice.gauss(0, 0.01), **other)
                          for i in range(count))

    def test_of_one_step(self):
        """Three times the same is the same, per step and device."""
        text = training(1, 5)
        result = self.compare(self.merge([text] * 3), self.file(text))
        self.assertEqual(len(set(result['step_ns'])), 1)
        self.assertEqual(len(set(result['device_ns'])), 1)
        self.assertEqual({row['change_ns'] for row in result['parts']}, {0})
        rows = {row['what']: (row['base'], row['new']) for row in result['compared']}
        self.assertEqual((rows['devices'], rows['steps']), (('3', '1'), ('5', '5')))

    def test_clocks_raise_no_alarm(self):
        for pair in range(6):
            result = self.compare(self.runs(1000 * pair), self.runs(1000 * pair + 500))
            self.assertEqual(self.alarms(result), [], pair)

    def test_planted(self):
        base, new = self.runs(100), self.runs(200, {'layer_norm': 1.1})
        result = self.compare(base, new)
        self.assertEqual(self.alarms(result), ['aten::layer_norm [[8,16]]', 'step'])
        self.assertRegex(run('diff', base, new).stdout, r'Beyond the spread of the runs:\n'
                         r'  aten::layer_norm \[\[8,16\]\], (step by step|at its fastest) \+\d+\.\d %\n\n')

    def test_planted_on_a_busy_device(self):
        """Half of all work takes several times as long: the means tell nothing, the shortest do."""
        base = self.runs(100, busy=0.5)
        new = self.runs(200, {'layer_norm': 1.1}, busy=0.5)
        result = self.compare(base, new)
        self.assertEqual(self.alarms(result), ['aten::layer_norm [[8,16]]', 'step'])
        row, = [row for row in result['changes'] if row['spread'] == 'beyond spread']
        self.assertAlmostEqual(row['tested_percent'], 10, delta=3)
        self.assertRegex(run('diff', base, new).stdout, r'at its fastest \+\d+\.\d %')
        for limit, status in (('> +5%', 3), ('> +20%', 0), ('< +20%', 3)):
            self.assertEqual(run('diff', '--fail-on', f'kernel layer_norm {limit}', base, new).returncode,
                             status, limit)

    def test_one_against_several(self):
        base = self.runs(100)
        self.assertEqual(self.alarms(self.compare(base, self.file(training(300, 5, clock=1.01)))), [])
        changed = self.file(training(300, 5, {'layer_norm': 1.2}))
        self.assertIn('aten::layer_norm [[8,16]]', self.alarms(self.compare(base, changed)))

    def test_two_of_each_are_few(self):
        """Two and two that differ by a tenth as chance has it: it takes t > 31 with two degrees of
        freedom."""
        base = self.merge([training(1, 5, clock=1.0), training(2, 5, clock=1.02)])
        new = self.merge([training(3, 5, clock=1.1), training(4, 5, clock=1.12)])
        self.assertEqual(self.alarms(self.compare(base, new)), [])


class RealTraces(Compared):
    """Facts that were found in the traces by other means."""

    def trace(self, name):
        path = os.path.join(TRACES, name + '.json.gz')
        if not os.path.exists(path):
            self.skipTest(f'{path} is missing')
        return path

    def test_h100_to_mi300(self):
        result = self.compare(self.trace('h100_bert_small'), self.trace('mi300_bert_small'))
        base, new = result['device_ns']
        self.assertEqual(f'{100 * (new - base) / base:+.0f}', '+26')
        base, new = result['step_ns']
        self.assertEqual(f'{100 * (new - base) / base:+.1f}', '-9.5')
        by_op = [row for row in result['matched'] if row['by'] in ('path + op + shape', 'op + shape')]
        self.assertGreaterEqual(sum(row['base_share'] for row in by_op), 0.95)
        self.assertGreaterEqual(sum(row['new_share'] for row in by_op), 0.95)
        self.assertEqual(len(result['changes']), 16)
        text = run('diff', self.trace('h100_bert_small'), self.trace('mi300_bert_small')).stdout
        self.assertIn('(-9.5 %), device work 309 us -> 391 us (+26.3 %)', text)

    def test_machines_that_differ(self):
        paths = self.trace('diff_control'), self.trace('diff_test')
        text = run('diff', *paths).stdout
        head = text[:text.index('Not the same conditions')]
        for line in ('A100-PG509-200', 'Tesla V100-SXM2-16GB'):
            self.assertIn(line, head)
        ranks, = [line.split() for line in head.splitlines() if line.startswith('ranks')]
        self.assertEqual(ranks, ['ranks', '8', '2', 'differs'])
        self.compare(*paths)

    def test_each_with_itself(self):
        for name in ('h100_bert_small', 'diff_test', 'b200_vllm_eager', 'mi210_gpu_only'):
            with self.subTest(trace=name):
                self.assertTrue(self.compare(self.trace(name), self.trace(name))['same'])


if __name__ == '__main__':
    unittest.main()
