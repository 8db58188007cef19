# SPDX-License-Identifier: Apache-2.0
"""accel-prof report --view memory: the peak, by line, on a trace written out here; on the shared ones
the same is found a second time by this script, from the JSON."""
import gzip
import json
import os
import tempfile
import unittest

from command import SOURCE_DIR, run

TRACES = os.path.join(SOURCE_DIR, '..', 'shared', 'traces', 'torch')


def span(name, cat, ts, dur, tid=1, **args):
    return {'ph': 'X', 'name': name, 'cat': cat, 'pid': 1, 'tid': tid, 'ts': ts, 'dur': dur,
            'args': args}


def memory(ts, size, total, address, device=0):
    args = {'Bytes': size, 'Device Type': 1 if device >= 0 else 0, 'Device Id': device}
    if total is not None:
        args.update({'Total Allocated': total, 'Total Reserved': 2 * total})
    if address:
        args['Addr'] = address
    return {'ph': 'i', 's': 't', 'name': '[memory]', 'cat': 'cpu_instant_event', 'pid': 1, 'tid': 1,
            'ts': ts, 'args': args}


# 1000 are there before. big() keeps 300, small() 50 of which 20 are freed before the peak, at 1330;
# then 100 of what was there before go, and all of big()'s.
TINY = [
    span('a.py(1): main', 'python_function', 100, 900),
    span('a.py(2): big', 'python_function', 200, 100),
    memory(210, 300, 1300, 16),
    span('a.py(3): small', 'python_function', 400, 100),
    memory(410, 20, 1320, 32),
    memory(420, 30, 1350, 48),
    memory(430, -20, 1330, 32),
    memory(440, 20, 1350, 32),
    memory(450, 10, 1360, 64),
    memory(600, -100, 1260, 4096),
    memory(700, -300, 960, 16),
    memory(720, 20, 980, 16),
    memory(730, 8, None, 16, -1),
    span('cudaLaunchKernel', 'cuda_runtime', 800, 5, correlation=1),
    span('gemm', 'kernel', 810, 20, 7, correlation=1, device=0, stream=7),
]


class Memory(unittest.TestCase):
    def report(self, events, *args):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'run.json')
            with open(path, 'w', encoding='utf-8') as file:
                json.dump({'traceEvents': events}, file)
            done = run('report', path, '--view', 'memory', *args)
            self.assertEqual((done.returncode, done.stderr), (0, ''))
            return done.stdout

    def rows(self, events, *args):
        return [(r['name'], r['peak_bytes'], r['allocated_bytes'], r['allocations'],
                 r['reserved_bytes'], r['end_bytes'])
                for r in json.loads(self.report(events, '--json', *args))['memory']]

    def test_tiny(self):
        self.assertEqual(self.rows(TINY), [
            ('GPU 0', 1360, 400, 6, 2720, 980),
            ('host', 8, 8, 1, None, 8),
            ('[allocated before recording]', 1000, None, None, None, None),
            ('big (a.py:2)', 300, 300, 1, None, None),
            ('small (a.py:3)', 60, 80, 4, None, None),
            ('main (a.py:1)', 0, 20, 1, None, None)])
        self.assertEqual([r[0] for r in self.rows(TINY, '--sort', 'allocations')][2:],
                         ['small (a.py:3)', 'big (a.py:2)', 'main (a.py:1)',
                          '[allocated before recording]'])
        page = self.report(TINY)
        self.assertIn('1.00 kB were there before the first allocation', page)

    def test_time(self):
        """The peak within a time: from 550 us on there is most before anything goes."""
        rows = self.rows(TINY, '--time', '0.00045,1')
        self.assertEqual(rows[0][:4], ('GPU 0', 1260, 20, 1))

    def test_without_addresses(self):
        """Nobody knows what is freed: who has the peak is not made up."""
        events = [dict(e, args={k: v for k, v in e['args'].items() if k != 'Addr'}) for e in TINY]
        rows = self.rows(events)
        self.assertEqual(rows[0][:4], ('GPU 0', 1360, 400, 6))
        self.assertEqual({r[0]: r[1] for r in rows[2:]},
                         {'[unattributed]': 1360, 'big (a.py:2)': None, 'small (a.py:3)': None,
                          'main (a.py:1)': None})

    def test_none(self):
        events = [e for e in TINY if e['name'] != '[memory]']
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'run.json')
            with open(path, 'w', encoding='utf-8') as file:
                json.dump({'traceEvents': events}, file)
            done = run('report', path, '--view', 'memory')
            self.assertEqual((done.returncode, done.stdout), (0, ''))
            self.assertIn("nothing to show in view 'memory'", done.stderr)
            # One tree of who has the peak, in the picture's terms, when there is one.
            with open(path, 'w', encoding='utf-8') as file:
                json.dump({'traceEvents': TINY}, file)
            done = run('report', path, '--view', 'tree', '--sort', 'memory-peak', '--csv')
            self.assertEqual(done.returncode, 0)
            self.assertIn('big (a.py:2)', done.stdout)


@unittest.skipUnless(os.path.isdir(TRACES), f'needs the traces in {TRACES}')
class Shared(unittest.TestCase):
    def test_peaks(self):
        """Totals as the events give them; allocations still there then, by their addresses."""
        for name in ('h100_bert_small', 'mi300_bert_small', 'h100_qwen_launched_before_window',
                     'mi300_sglang_decode_capture'):
            with self.subTest(trace=name):
                path = os.path.join(TRACES, name + '.json.gz')
                with gzip.open(path, 'rt', encoding='utf-8') as file:
                    events = [e['args'] for e in json.load(file)['traceEvents']
                              if e.get('name') == '[memory]' and e['args']['Device Type']]
                peak = max(range(len(events)), key=lambda i: events[i]['Total Allocated'])
                there = {}
                for e in events[:peak + 1]:
                    if e['Bytes'] > 0:
                        there[e['Addr']] = e['Bytes']
                    else:
                        there.pop(e['Addr'], None)
                done = run('report', path, '--view', 'memory', '--json')
                self.assertEqual((done.returncode, done.stderr), (0, ''))
                rows = json.loads(done.stdout)['memory']
                gpu = rows[0]
                self.assertEqual(gpu['peak_bytes'], events[peak]['Total Allocated'])
                self.assertEqual(gpu['reserved_bytes'], max(e['Total Reserved'] for e in events))
                self.assertEqual(gpu['end_bytes'], events[-1]['Total Allocated'])
                self.assertEqual((gpu['allocations'], gpu['allocated_bytes']),
                                 (sum(e['Bytes'] > 0 for e in events),
                                  sum(max(e['Bytes'], 0) for e in events)))
                code = [r for r in rows if r['kind'] == 'code']
                self.assertEqual(sum(r['peak_bytes'] for r in code), gpu['peak_bytes'])
                before = [r['peak_bytes'] for r in code
                          if r['name'] == '[allocated before recording]']
                self.assertEqual(before, [gpu['peak_bytes'] - sum(there.values())])


if __name__ == '__main__':
    unittest.main()
