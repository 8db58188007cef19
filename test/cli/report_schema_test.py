# SPDX-License-Identifier: Apache-2.0
"""accel-prof report: every view as text, JSON and CSV; what is written is what the manual says."""
import csv
import io
import json
import os
import re
import statistics
import subprocess
import tempfile
import unittest

from command import SOURCE_DIR, run

TRACES = os.path.join(SOURCE_DIR, '..', 'shared', 'traces', 'torch')
H100 = os.path.join(TRACES, 'h100_bert_small.json.gz')


def views():
    text = ' '.join(run('report', '--help').stdout.split())
    names = re.search(r'Show one table: (.*?) (?:Which|-)', text).group(1)
    return [name.strip() for name in names.replace(' or ', ',').split(',')]


def manual():
    """Keys by table, as the section JSON has them."""
    with open(os.path.join(SOURCE_DIR, 'cmd', 'man', 'accel-prof-report.1'), encoding='utf-8') as file:
        section = file.read().split('.Sh JSON\n')[1].split('\n.Sh ')[0]
    tables, last = {}, None
    for line in section.splitlines():
        if line.startswith('.It Qq '):
            last = tables.setdefault(line[7:], [])
        elif line.startswith('.Cm '):
            last.extend(re.findall(r'[a-z0-9_]{2,}', line[4:]))
    for name, like in (('sorted', 'tree'), ('modules', 'ops'), ('roofline', 'shapes')):
        tables[name] += tables[like]
    return tables


class Schema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.capture = os.path.join(cls.folder.name, 'one.data')
        subprocess.run([os.environ['MAKE_CAPTURE'], 'one-sample', cls.capture], check=True)
        cls.files = [cls.capture] + ([H100] if os.path.exists(H100) else [])
        cls.manual, cls.views = manual(), views()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def report(self, *args):
        """None where there is nothing that the view is made of."""
        done = run('report', *args)
        if done.returncode:
            self.assertEqual((done.returncode, done.stdout), (1, ''))
            self.assertIn('no samples', done.stderr)
            return None
        self.assertFalse(re.search(r'\b(nan|inf)\b', done.stdout.lower().replace(' inf ', ' ')))
        return done.stdout

    def check_keys(self, table, rows):
        for row in rows:
            self.assertLessEqual(set(row), set(self.manual[table]), table)

    def test_manual_names_every_view(self):
        tables = {'steps': 'step_list', 'idle-host': 'idle_host'}
        self.assertGreater(len(self.views), 20)
        self.assertLessEqual({tables.get(v, v) for v in self.views}, set(self.manual))
        for view in ('kernels', 'tree', 'functions', 'lines', 'modules', 'ops', 'shapes', 'steps',
                     'phases', 'ranks', 'syncs', 'memory', 'roofline', 'stalls', 'instructions',
                     'processes', 'quality'):
            self.assertIn(view, self.views)

    def test_whole_json(self):
        for path in self.files:
            with self.subTest(path=path):
                report = json.loads(self.report(path, '--json'))
                self.assertEqual(report['format'], 'accel-prof report 1')
                for table, rows in report.items():
                    if isinstance(rows, list) and table != 'hints':
                        self.check_keys(table, rows)

    def test_every_view(self):
        for path in self.files:
            for view in self.views:
                with self.subTest(path=path, view=view):
                    text = self.report(path, '--view', view, '--json')
                    if text is None:
                        continue
                    table, = (k for k in json.loads(text) if k != 'format')
                    rows = json.loads(text)[table]
                    self.check_keys(table, rows)
                    written = list(csv.reader(io.StringIO(
                        self.report(path, '--view', view, '--csv'))))
                    self.assertEqual(len(written), len(rows) + 1)
                    for row in rows:
                        self.assertEqual([k for k in row if k != 'callers'], written[0])
                    if rows:
                        self.check_text(self.report(path, '--view', view))

    def check_text(self, text):
        """No longer lines than a page has, and not more numbers than can be read."""
        number = re.compile(r'^-?[\d,]+(\.\d+)?( [num]?s| [kMGT]?B)?$')
        counts = []
        for line in text.splitlines():
            self.assertLessEqual(len(line), 100)
            counts.append(sum(bool(number.match(f)) for f in re.split(r' {2,}', line.strip())))
        # A text may be a number, too: the shape of one element.
        self.assertLessEqual(statistics.mode(counts), 6, text)

    def test_by(self):
        if not os.path.exists(H100):
            self.skipTest('needs the shared traces')
        for part in ('device', 'stream', 'process', 'thread', 'step', 'scope'):
            with self.subTest(part=part):
                rows = json.loads(self.report(H100, '--by', part, '--json'))['kernels']
                # One of each in this trace.
                self.assertEqual(len({row[part] for row in rows}), 1)
                self.assertEqual(list(rows[0])[0], part)
                self.assertEqual(sum(row['device_time_ns'] for row in rows), 309437)
                header = self.report(H100, '--by', part, '--csv').splitlines()[0]
                self.assertTrue(header.startswith(part + ',kernel,'))
        self.assertEqual(run('report', H100, '--by', 'colour').returncode, 129)

    def test_tree_by(self):
        rows = json.loads(self.report(self.capture, '--by', 'process', '-m', 'time/ns,count',
                                      '--json'))['tree']
        self.assertEqual(list(rows[0])[:4], ['process', 'time/ns', 'count', 'frame'])
        whole = json.loads(self.report(self.capture, '-m', 'time/ns,count', '--json'))['tree']
        self.assertEqual(rows[0]['time/ns'], whole[0]['time/ns'])

    def test_by_rank(self):
        paths = [os.path.join(TRACES, f'ranks_{i}_of_2.json.gz') for i in range(2)]
        if not os.path.exists(paths[0]):
            self.skipTest('needs the shared traces')
        rows = json.loads(self.report(*paths, '--by', 'rank', '--view', 'where', '--json'))['where']
        self.assertEqual({row['rank'] for row in rows}, {'rank 0', 'rank 1'})
        for i, path in enumerate(paths):
            alone = json.loads(self.report(path, '--view', 'where', '--json'))['where']
            self.assertEqual([(r['what'], r['ns']) for r in alone],
                             [(r['what'], r['ns']) for r in rows if r['rank'] == f'rank {i}'])

    def test_filters(self):
        if not os.path.exists(H100):
            self.skipTest('needs the shared traces')

        def total(*args):
            rows = json.loads(self.report(H100, '--view', 'kernels', '--json', *args))['kernels']
            return sum(row['device_time_ns'] for row in rows)
        self.assertEqual(total('--stream', '7'), 309437)
        self.assertEqual(total('--stream', '8'), 0)
        # What the table of modules has of it.
        modules = json.loads(self.report(H100, '--view', 'modules', '--json'))['modules']
        expected = {row['module']: row['total_ns'] for row in modules}
        for module in ('BertSdpaSelfAttention', 'BertEmbeddings', 'BertLMPredictionHead'):
            self.assertEqual(total('--scope', module + '_*'), expected[module])
        self.assertEqual(total('--scope', 'ProfilerStep'), 309437)
        for command in (['flamegraph', '--format', 'folded', '--metric', 'device-time'],
                        ['export', '--format', 'folded', '--metric', 'device-time']):
            done = run(*command, '--scope', 'BertEmbeddings_*', H100)
            self.assertEqual((done.returncode, done.stderr), (0, ''))
            self.assertEqual(sum(int(line.rsplit(' ', 1)[1]) for line in done.stdout.splitlines()),
                             expected['BertEmbeddings'])


if __name__ == '__main__':
    unittest.main()
