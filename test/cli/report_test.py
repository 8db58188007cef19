# SPDX-License-Identifier: Apache-2.0
"""accel-prof report on a trace written out here, and on the shared traces where they are there.

The numbers of the H100 trace are those of a report that was computed by hand. What the devices of
every shared trace did is computed a second time here, from the JSON, by python3.
"""
import csv
import gzip
import io
import json
import os
import statistics
import subprocess
import tempfile
import unittest
from decimal import Decimal

from command import SOURCE_DIR, run

TRACES = os.path.join(SOURCE_DIR, '..', 'shared', 'traces', 'torch')


def event(name, cat, tid, ts, dur, **args):
    return {'ph': 'X', 'name': name, 'cat': cat, 'pid': 100, 'tid': tid, 'ts': ts, 'dur': dur,
            'args': args}


# Microseconds. main launches gemm at 100 and relu at 190; both run 30 later, for 20 and 60.
TINY = [
    event('main.py(1): main', 'python_function', 100, 50, 300),
    event('aten::mm', 'cpu_op', 100, 90, 30),
    event('cudaLaunchKernel', 'cuda_runtime', 100, 100, 10, correlation=1),
    event('aten::relu', 'cpu_op', 100, 180, 30),
    event('cudaLaunchKernel', 'cuda_runtime', 100, 190, 10, correlation=2),
    event('gemm', 'kernel', 7, 130, 20, correlation=1, device=0, stream=7),
    event('relu', 'kernel', 7, 220, 60, correlation=2, device=0, stream=7),
]


# work is 200 of main's 300 us, and 160 of these are in an operator.
HOST = [
    event('main.py(1): main', 'python_function', 100, 50, 300),
    event('work.py(5): work', 'python_function', 100, 100, 200),
    event('aten::mm', 'cpu_op', 100, 120, 160),
]


class HostOnly(unittest.TestCase):
    """Without an accelerator the page is about the code that takes the time."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, 'host.json')
        with open(self.path, 'w', encoding='utf-8') as file:
            json.dump({'traceEvents': HOST}, file)

    def ok(self, command, *args):
        done = run(command, self.path, *args)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_page(self):
        lines = self.ok('report').splitlines()
        self.assertEqual(lines[0],
                         'HOST ONLY   300 us of host time in 300 us; no accelerator work was seen')
        self.assertIn('work (work.py:5)    200.0  66.7  aten::mm', lines[4])
        self.assertIn('main (main.py:1)    100.0  33.3  -', lines[5])
        self.assertIn('py::work (work.py:5)     40.0    13.3     66.7', lines[-1])

    def test_code(self):
        rows = list(csv.DictReader(io.StringIO(self.ok('report', '--view', 'code', '--csv'))))
        self.assertEqual([(r['code'], r['host_ns'], r['cpu_ns'], r['inside']) for r in rows],
                         [('work (work.py:5)', '200000', '', 'aten::mm'),
                          ('main (main.py:1)', '100000', '', '')])

    def test_code_is_the_usual_table(self):
        self.assertEqual(self.ok('report', '--csv'), self.ok('report', '--view', 'code', '--csv'))
        self.assertIn('work (work.py:5)', self.ok('report', '--by', 'thread'))

    def test_functions_of_the_page(self):
        """Those of 1 % and more; without code of anybody's own they are not listed twice."""
        with open(self.path, 'w', encoding='utf-8') as file:
            for name, count in zip('abcdefg', (500, 400, 300, 200, 100, 14, 16)):
                file.write(f'p;main;{name} {count}\n')
        page = self.ok('report').splitlines()
        self.assertEqual(page[0], 'HOST ONLY   1,530 samples; no accelerator work was seen')
        self.assertEqual([line[0] for line in page[4:]], list('abcdeg'))
        self.assertEqual(len(self.ok('report', '--view', 'functions').splitlines()), 10)  # and p, main, titles

    def test_picture_and_tree_without_metric(self):
        self.assertIn('aten::mm', self.ok('flamegraph'))
        self.assertIn('aten::mm', self.ok('report', '--view', 'tree'))
        self.assertIn('aten::mm', self.ok('export', '--format', 'folded', '-o', '-'))


class Tiny(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = os.path.join(cls.folder.name, 'tiny.json')
        with open(cls.path, 'w', encoding='utf-8') as file:
            json.dump({'traceEvents': TINY}, file)
        cls.capture = os.path.join(cls.folder.name, 'tiny.data')
        done = run('import', cls.path, '-o', cls.capture)
        assert done.returncode == 0, done.stderr

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_what_went_wrong_is_said(self):
        """With what would be right, where that is known."""
        for args, text in (
                (['report', self.path, '--view', 'x'], "no view 'x': kernels, code, "),
                (['report', self.path, '--time', '9'], "'9' is behind the end: the capture has 0."),
                (['import', self.capture], 'is a capture already'),
                (['annotate', self.path], f"named by '-i {self.path}'"),
                (['record', '-p', 'python3'], "'pgrep -d, NAME' gives one")):
            done = run(*args)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(text, done.stderr)
        self.assertEqual(self.ok(self.path, '--pid', '5'),
                         'trust       nothing is left by the filters\n')

    def ok(self, *args, **kwargs):
        done = run('report', *args, **kwargs)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        self.assertNotIn('nan', done.stdout.lower())
        return done.stdout

    def test_numbers(self):
        report = json.loads(self.ok(self.path, '--json'))
        device = report['devices'][0]
        # 130..280: busy 80, idle 150..220, of which 40 before the launch and 30 after it.
        self.assertEqual(device['window_ns'], 150000)
        self.assertEqual(device['busy_ns'], 80000)
        self.assertEqual(device['idle_host_late_ns'], 40000)
        self.assertEqual(device['idle_launch_in_flight_ns'], 30000)
        self.assertEqual(report['verdict'], 'kernel')
        kernels = {k['kernel']: k for k in report['kernels']}
        self.assertEqual(kernels['relu']['device_time_ns'], 60000)
        self.assertEqual(kernels['relu']['device_time_share'], 0.75)
        self.assertEqual(kernels['gemm']['mean_ns'], 20000)
        self.assertEqual(kernels['gemm']['callers'], [{'text': 'main (main.py:1)'}])

    def test_page(self):
        lines = self.ok(self.path).splitlines()
        self.assertLessEqual(len(lines), 40)
        self.assertLessEqual(max(len(line) for line in lines), 100)
        self.assertIn('KERNEL-BOUND', lines[0])
        self.assertIn('busy 53.3 %', lines[0])
        self.assertTrue(lines[2].startswith('trust '))
        self.assertFalse([line for line in lines if line != line.rstrip()])

    def test_same_from_capture_and_pipe(self):
        expected = self.ok(self.path)
        self.assertEqual(self.ok(self.capture), expected)
        self.assertEqual(self.ok('-i', self.capture, '--stdio'), expected)
        for path in (self.path, self.capture):
            with open(path, 'rb') as file:
                self.assertEqual(self.ok('-i', '-', stdin=file), expected)
            with subprocess.Popen(['cat', path], stdout=subprocess.PIPE) as cat:
                self.assertEqual(self.ok('-i', '-', stdin=cat.stdout), expected)

    def test_places_in_kernels(self):
        done = run('report', self.path, '--view', 'lines')
        self.assertEqual((done.returncode, done.stdout), (1, ''))
        self.assertIn('no samples of what devices did', done.stderr)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'x.data')
            subprocess.run([os.environ['MAKE_CAPTURE'], 'one-sample', path], check=True)
            for view, key, name in (('lines', 'line', 'multiply.cl:7'),
                                    ('instructions', 'instruction', '0x10'),
                                    ('stalls', 'reason', 'sbid')):
                rows = json.loads(self.ok(path, '--view', view, '--json'))[view]
                self.assertEqual([(r[key], r['samples'], r['share']) for r in rows],
                                 [(name, 3, 1)])
            self.assertIn('waits for', self.ok(path, '--view', 'stalls'))

    def test_views(self):
        for view in ('kernels', 'code', 'functions', 'tree', 'roofline', 'processes',
                     'where', 'idle-host', 'quality', 'queue', 'overlap', 'metrics', 'ops'):
            with self.subTest(view=view):
                text = self.ok(self.path, '--view', view)
                self.assertTrue(text)
                table = json.loads(self.ok(self.path, '--view', view, '--json'))
                rows = table[view.replace('-', '_')]
                self.assertEqual(set(table), {'format', view.replace('-', '_')})
                written = list(csv.DictReader(io.StringIO(
                    self.ok(self.path, '--view', view, '--csv'))))
                self.assertEqual(len(written), len(rows))
                for row, other in zip(rows, written):
                    row.pop('callers', None)
                    self.assertEqual(list(row), list(other))
                    for key, value in row.items():
                        if isinstance(value, str):
                            self.assertEqual(other[key], value)
                        elif value is None:
                            self.assertEqual(other[key], '')
                        else:
                            self.assertAlmostEqual(float(other[key]), value, places=6)

    def test_outlier(self):
        """The first collective waits a second for a rank that begins later."""
        events = list(TINY)
        for i, start in enumerate((1000, 1002000, 1003000, 1004000, 1005000, 1006000)):
            call = {'correlation': 10 + i}
            events.append(event('cudaLaunchKernel', 'cuda_runtime', 100, start - 50, 10, **call))
            events.append(event('ncclDevKernel_AllReduce', 'kernel', 8, start, 20 if i else 1000000,
                                device=0, stream=8, **{'Collective name': 'allreduce'}, **call))
        path = os.path.join(self.folder.name, 'outlier.json')
        with open(path, 'w', encoding='utf-8') as file:
            json.dump({'traceEvents': events}, file)
        report = json.loads(self.ok(path, '--json'))
        self.assertEqual(report['devices'][0]['busy_outlier_ns'], 1000000000)
        self.assertEqual(report['devices'][0]['busy_communication_ns'], 100000)
        self.assertNotEqual(report['verdict'], 'communication')
        row = [r for r in report['kernels'] if r['outliers']][0]
        self.assertEqual((row['launches'], row['outliers'], row['outlier_ns'], row['mean_ns'],
                          row['median_ns'], row['p95_ns'], row['deviation_ns']),
                         (6, 1, 1000000000, 20000, 20000, 20000, 0))
        self.assertIn('1 outlier (1.00 s, 50,000x the median) not averaged in', self.ok(path))
        self.assertIn('1 outlier of 1.00 s, 50,000x the median', self.ok(path, '--view', 'kernels'))

    def test_own_code_and_model(self):
        """Each kernel and each gap is put down to both: the program's own line and the model's."""
        events = [
            event('train.py(9): main', 'python_function', 100, 50, 300),
            event('train.py(4): step', 'python_function', 100, 60, 280),
            event('transformers/trainer.py(7): fit', 'python_function', 100, 65, 270),
            event('transformers/bert.py(3): forward', 'python_function', 100, 70, 90),
            event('torch/nn/functional.py(1): linear', 'python_function', 100, 80, 60),
            event('cudaLaunchKernel', 'cuda_runtime', 100, 100, 10, correlation=1),
            event('hooks.py(2): on_step', 'python_function', 100, 170, 60),
            event('cudaLaunchKernel', 'cuda_runtime', 100, 190, 10, correlation=2),
            event('gemm', 'kernel', 7, 130, 20, correlation=1, device=0, stream=7),
            event('relu', 'kernel', 7, 220, 60, correlation=2, device=0, stream=7),
        ]
        path = os.path.join(self.folder.name, 'model.json')
        with open(path, 'w', encoding='utf-8') as file:
            json.dump({'traceEvents': events}, file)
        forward, hook, fit, step = ('forward (bert.py:3)', 'on_step (hooks.py:2)', 'fit (trainer.py:7)',
                                    'step (train.py:4)')
        kernels = json.loads(self.ok(path, '--view', 'kernels', '--json'))['kernels']
        self.assertEqual({k['kernel']: [c['text'] for c in k['callers']] for k in kernels},
                         {'gemm': [f'{forward} < {fit} < {step}'], 'relu': [f'{hook} < {fit} < {step}']})
        # 130..280: idle 150..220, in which the host leaves forward() at 160, begins on_step() at 170.
        code = {c['code']: c for c in json.loads(self.ok(path, '--view', 'code', '--json'))['code']}
        self.assertEqual({name: (c['busy_ns'], c['idle_ns']) for name, c in code.items()},
                         {f'{forward} < {step}': (20000, 10000), f'{fit} < {step}': (0, 10000),
                          f'{hook} < {fit}': (60000, 50000)})

    def test_sort_and_limit(self):
        def names(*args):
            rows = json.loads(self.ok(self.path, '--view', 'kernels', '--json', *args))['kernels']
            return [row['kernel'] for row in rows]
        self.assertEqual(names(), ['relu', 'gemm'])
        self.assertEqual(names('--sort', 'name'), ['gemm', 'relu'])
        self.assertEqual(names('--sort', 'mean'), ['relu', 'gemm'])
        self.assertEqual(names('--kernel', 'g*'), ['gemm'])
        self.assertEqual(names('--pid', '4711'), [])
        self.assertEqual(len(self.ok(self.path, '--view', 'functions', '-n', '2').splitlines()), 3)

    def test_hostile_names(self):
        trace = {'deviceProperties': [{'id': 0, 'name': 'GPU\x1b[31m\nX'}], 'traceEvents': [
            event('k\x1b]0;x\x07', 'kernel', 7, 1, 2, device=0, correlation=1),
            event('ProfilerStep#1\x1b[2J', 'user_annotation', 1, 0, 9),
            event('f\u202e;\n', 'cpu_op', 1, 4, 2)]}
        path = os.path.join(self.folder.name, 'hostile.json')
        with open(path, 'w', encoding='utf-8') as file:
            json.dump(trace, file)
        for args in ([], ['--view', 'tree'], ['--view', 'functions'], ['--view', 'quality']):
            text = self.ok(path, *args)
            self.assertFalse([c for c in text if c != '\n' and (ord(c) < 32 or c == '\u202e')])
        # Nobody is known to have launched it: no host is blamed.
        device = json.loads(self.ok(path, '--json'))['devices'][0]
        self.assertEqual((device['idle_unknown_ns'], device['idle_host_late_ns']), (1000, 0))

    def test_bad_use(self):
        for args in (['--view', 'colours'], ['-n', '0'], ['-n', 'x'], ['--json', '--csv'],
                     ['--nonsense']):
            with self.subTest(args=args):
                self.assertEqual(run('report', *args).returncode, 129)
        for args, text in ((['--sort', 'colour'], 'cannot sort'), (['--pid', 'x'], '--pid'),
                           (['--time', '9,1'], 'time'),
                           (['--view', 'tree', '--sort', 'flops'], 'flops')):
            with self.subTest(args=args):
                done = run('report', self.path, *args)
                self.assertEqual((done.returncode, done.stdout), (1, ''))
                self.assertIn(text, done.stderr)

    def test_missing_and_damaged(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run('report', cwd=folder)
            self.assertEqual(done.returncode, 1)
            self.assertIn("no 'accel-prof.data' here", done.stderr)
            done = run('report', 'nothing.data', cwd=folder)
            self.assertEqual(done.returncode, 1)
            self.assertIn("cannot open 'nothing.data'", done.stderr)
            with open(self.capture, 'rb') as file:
                data = file.read()
            path = os.path.join(folder, 'cut.data')
            with open(path, 'wb') as file:
                file.write(data[:-8])
            done = run('report', path)
            self.assertEqual(done.returncode, 1)
            self.assertIn('offset 0x', done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1)
            path = os.path.join(folder, 'odd.data')
            with open(path, 'wb') as file:
                file.write(b'\x00\x01nonsense')
            self.assertEqual(run('report', path).returncode, 1)


def intervals_union(intervals):
    total, end = 0, None
    for begin, stop in sorted(intervals):
        if end is None or begin > end:
            total += stop - begin
            end = stop
        elif stop > end:
            total += stop - end
            end = stop
    return total


def load(path):
    with (gzip.open(path) if path.endswith('.gz') else open(path, 'rb')) as file:
        data = json.loads(file.read(), parse_float=Decimal)
    return data['traceEvents'] if isinstance(data, dict) else data


def ns(value):
    return int(Decimal(value) * 1000)


def devices_of(events):
    """Busy time and window of each device, by the definition in the manual page."""
    steps, work = [], {}
    for e in events:
        if e.get('ph') != 'X' or 'dur' not in e:
            continue
        begin = ns(e['ts'])
        end = begin + ns(e['dur'])
        cat = str(e.get('cat')).lower()
        if cat in ('kernel', 'gpu_memcpy', 'gpu_memset', 'memcpy', 'memset'):
            work.setdefault(int(e['args']['device']), []).append((begin, end))
        elif str(e['name']).startswith('ProfilerStep#') and cat in ('user_annotation', 'cpu_op'):
            steps.append((begin, end))
    found = {}
    for device, intervals in work.items():
        first, last = min(b for b, _ in intervals), max(e for _, e in intervals)
        if steps:
            begin, end = min(b for b, _ in steps), max(e for _, e in steps)
            if begin < last and first < end:
                first, last = begin, end
        cut = [(max(b, first), min(e, last)) for b, e in intervals if b < last and e > first]
        found[device] = (intervals_union(cut), last - first)
    return found


@unittest.skipUnless(os.path.isdir(TRACES), f'needs the traces in {TRACES}')
class Shared(unittest.TestCase):
    def report(self, name):
        done = run('report', os.path.join(TRACES, name), '--json')
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        return json.loads(done.stdout)

    def test_h100_by_hand(self):
        report = self.report('h100_bert_small.json.gz')
        device = report['devices'][0]
        self.assertEqual(report['verdict'], 'host')
        self.assertEqual(report['steps'], 1)
        self.assertEqual(device['window_ns'], 4426114)
        self.assertEqual(device['busy_ns'], 309437)
        self.assertEqual(device['idle_launch_in_flight_ns'], 431843)
        self.assertEqual(device['idle_after_last_ns'], 59753)
        self.assertEqual(device['idle_host_late_ns'] + device['idle_sync_ns'], 3625081)
        self.assertEqual((device['ops'], device['ops_launched_idle'], device['ops_queued']),
                         (61, 61, 0))
        kernels = [(k['kernel'], round(k['device_time_ns'] / 1000, 1), k['launches'])
                   for k in report['kernels'][:6]]
        self.assertEqual(kernels, [('gemm sm80 32x32 bf16', 98.7, 17),
                                   ('gemm sm80 256x128 bf16', 41.3, 1),
                                   ('flash_fwd d64 bf16', 37.4, 4),
                                   ('gemm sm90 64x64x64 bf16', 33.1, 4),
                                   ('layer_norm bf16', 30.9, 10),
                                   ('gemm sm80 64x64 bf16 relu', 24.5, 4)])
        host = {row['what']: round(row['ns'] / 1e6, 3) for row in report['idle_host']}
        self.assertEqual(host['framework C++ (dispatch, allocation)'], 1.588)
        self.assertEqual(host['model Python (transformers)'], 0.831)
        self.assertEqual(host['launch calls'], 0.325)
        code = [(row['code'].split(' ')[0], round(row['busy_ns'] / 1000, 1),
                 round(row['idle_ns'] / 1000, 1), row['launches']) for row in report['code']]
        for expected in (('BertSdpaSelfAttention.forward', 106.9, 884.3, 16),
                         ('BertOutput.forward', 51.9, 542.5, 12),
                         ('BertSelfOutput.forward', 42.0, 486.2, 12),
                         ('BertLMPredictionHead.forward', 41.3, 52.6, 1),
                         ('BertIntermediate.forward', 24.5, 252.5, 4),
                         ('BertEmbeddings.forward', 16.5, 401.3, 6),
                         ('_prepare_4d_attention_mask_for_sdpa', 7.6, 103.9, 3),
                         ('apply_chunking_to_forward', 0.0, 331.9, 0)):
            self.assertIn(expected, code)
        # All idle time of the step but what the launching thread was not traced in.
        self.assertAlmostEqual(sum(host.values()), 4.426 - 0.309, delta=0.002)

    def test_page_fits(self):
        for name in sorted(os.listdir(TRACES)):
            with self.subTest(trace=name):
                done = run('report', os.path.join(TRACES, name))
                self.assertEqual((done.returncode, done.stderr), (0, ''))
                lines = done.stdout.splitlines()
                self.assertLessEqual(len(lines), 40)
                self.assertLessEqual(max(len(line) for line in lines), 100)
                self.assertNotIn('nan', done.stdout.split())

    def test_steps_and_syncs(self):
        path = os.path.join(TRACES, 'diff_control.json.gz')
        done = run('report', path, '--view', 'steps', '--json')
        steps = json.loads(done.stdout)['step_list']
        marks = sorted((ns(e['ts']), ns(e['dur']), e['name']) for e in load(path)
                       if str(e.get('name')).startswith('ProfilerStep#') and
                       e.get('cat') in ('user_annotation', 'cpu_op'))
        times = sorted(dur for _, dur, _ in marks)
        self.assertEqual([(s['step'], s['time_ns']) for s in steps[:-3]],
                         [(name, dur) for _, dur, name in marks])
        spread = {s['step']: s['time_ns'] for s in steps[-3:]}
        self.assertEqual(spread['median'], int(statistics.median(times)))
        self.assertEqual(spread['95th percentile'], times[-1])
        self.assertEqual(spread['standard deviation'], round(statistics.stdev(times)))

        one = json.loads(run('report', path, '--step', '1011', '--json').stdout)
        self.assertEqual(one['devices'][0]['window_ns'], marks[2][1])
        self.assertEqual(one['devices'][0]['busy_ns'], steps[2]['busy_ns'])
        self.assertEqual(one['steps'], 1)
        done = run('report', path, '--step', '3')
        self.assertEqual((done.returncode, done.stdout), (1, ''))
        self.assertIn('they go from 1009 to 1014', done.stderr)

        done = run('report', os.path.join(TRACES, 'h100_bert_small.json.gz'), '--view', 'syncs',
                   '--json')
        first = json.loads(done.stdout)['syncs'][0]
        self.assertEqual((first['call'], first['count'], first['wait_ns']),
                         ('cudaStreamSynchronize', 1, 7640))
        self.assertTrue(first['code'].startswith('_prepare_4d_attention_mask_for_sdpa'))
        self.assertEqual(first['idle_ns'], self.idle_after_sync())

    def test_ops_and_modules(self):
        def rows(view, key):
            done = run('report', os.path.join(TRACES, 'h100_bert_small.json.gz'), '--view', view,
                       '--json')
            self.assertEqual((done.returncode, done.stderr), (0, ''))
            return {row[key]: row for row in json.loads(done.stdout)[view]}
        ops, modules = rows('ops', 'op'), rows('modules', 'module')
        # All 26 GEMMs of the step are addmm's, all four kernels of flash attention its own.
        self.assertEqual((ops['aten::addmm']['launches'],
                          round(ops['aten::addmm']['device_time_ns'] / 1000, 1)), (26, 197.6))
        self.assertEqual(ops['aten::_flash_attention_forward']['device_time_ns'], 37408)
        self.assertEqual(ops['aten::linear']['total_ns'], ops['aten::addmm']['device_time_ns'])
        self.assertEqual(ops['aten::linear']['launches'], 0)
        # The table of model code that was made by hand, here by module.
        for name, us in (('BertSdpaSelfAttention', 106.9), ('BertOutput', 51.9),
                         ('BertSelfOutput', 42.0), ('BertEmbeddings', 16.5),
                         ('BertLMHeadModel', 309.4)):
            self.assertEqual(round(modules[name]['total_ns'] / 1000, 1), us, name)
        self.assertEqual(sum(row['device_time_ns'] for row in modules.values()), 309437)

    def test_shapes_and_roofline(self):
        def rows(name, view):
            done = run('report', os.path.join(TRACES, name), '--view', view, '--json')
            self.assertEqual((done.returncode, done.stderr), (0, ''))
            return json.loads(done.stdout)[view]
        roof = rows('h100_bert_small.json.gz', 'roofline')
        # The table of kernels that was made by hand; each product's roof is that of its bytes.
        table = {(r['kernel'], r['shape']): (round(r['device_time_ns'] / 1e3, 1), r['launches'],
                                             round(r['tflop_per_s'], 1),
                                             round(r['roof_share'] * 100, 1), r['groups'])
                 for r in roof if r['op'] == 'aten::addmm'}
        self.assertEqual(table, {
            ('gemm sm80 32x32 bf16', '141x512x512'): (98.7, 17, 12.7, 4.2, 80),
            ('gemm sm80 256x128 bf16', '141x30522x512'): (41.3, 1, 106.8, 29.0, 240),
            ('gemm sm90 64x64x64 bf16', '141x512x2048'): (33.1, 4, 35.7, 10.2, 30),
            ('gemm sm80 64x64 bf16 relu', '141x2048x512'): (24.5, 4, 48.3, 13.8, 96)})
        flash = [r for r in roof if r['kernel'].startswith('flash_fwd')]
        self.assertEqual([(r['launches'], r['groups'], r['shape'], r['bound']) for r in flash],
                         [(4, 16, '1x141x8x64', 'few groups')])
        # Two products of 141x64x141 for each of 8 heads, 4 times.
        self.assertEqual(flash[0]['flops'], 4 * 8 * 2 * (2 * 141 * 64 * 141))
        self.assertEqual({r['device_units'] for r in roof if r['groups']}, {132})

        shapes = rows('h100_bert_small.json.gz', 'shapes')
        self.assertEqual(sum(r['device_time_ns'] for r in shapes), 309437)
        self.assertEqual(sum(r['launches'] for r in shapes), 61)
        first = shapes[0]
        self.assertEqual((first['op'], first['shape'], first['types'], first['launches']),
                         ('aten::addmm', '141x512x512', 'bf16', 17))
        self.assertEqual(first['flops'], 17 * 2 * 141 * 512 * 512)
        self.assertEqual(first['bytes'], 17 * 2 * (141 * 512 + 512 * 512 + 512 + 141 * 512))

    def test_shapes_with_clears(self):
        """Each product of this trace clears four bytes first: no launch of its own, no bandwidth."""
        path = os.path.join(TRACES, 'h100_qwen_launched_before_window.json.gz')
        rows = json.loads(run('report', path, '--view', 'shapes', '--json').stdout)['shapes']
        row, = (r for r in rows if r['op'] == 'aten::mm' and r['shape'] == '8944x2816x1024')
        self.assertEqual(row['launches'], 47)
        self.assertEqual(row['flops'], 47 * 2 * 8944 * 2816 * 1024)
        self.assertEqual(row['bytes'], 47 * 2 * (8944 * 1024 + 1024 * 2816 + 8944 * 2816))
        self.assertEqual(row['mean_ns'], row['device_time_ns'] // 47)

    def test_hip_devices_and_grids(self):
        done = run('report', os.path.join(TRACES, 'mi300_bert_small.json.gz'), '--view', 'roofline',
                   '--json')
        roof = {r['kernel']: r for r in json.loads(done.stdout)['roofline'] if r['op'] == 'aten::addmm'}
        # Work is on device 2, the trace tells of device 0 only: a "AMD Instinct MI300X VF".
        self.assertEqual({r['device_units'] for r in roof.values()}, {304})
        self.assertTrue(all(r['roof_share'] for r in roof.values()))
        # 61184 work items in groups of 256, as hipExtModuleLaunchKernel counts.
        self.assertEqual(roof['gemm gfx942 128x144x64 bf16']['groups'], 239)

    def test_collectives_by_name(self):
        """All-reduces over symmetric memory have no arguments that say what they are."""
        path = os.path.join(TRACES, 'b200_vllm_eager.json.gz')
        expected = sum(ns(e['dur']) for e in load(path) if e.get('cat') == 'kernel' and
                       ('multimem_all_reduce' in e['name'] or e['name'].startswith('nccl')))
        device, = self.report('b200_vllm_eager.json.gz')['devices']
        self.assertEqual(device['busy_communication_ns'], expected)

    def test_one_gap(self):
        """Nearly all of this window is one copy that had to wait: shares tell of it alone."""
        name = 'mi300_sglang_decode_graph.json.gz'
        device, = self.report(name)['devices']
        self.assertGreater(device['longest_gap_ns'], device['window_ns'] * 0.97)
        page = run('report', os.path.join(TRACES, name)).stdout
        self.assertIn('one idle gap of 463 ms is 97.8 % of it', page)
        self.assertNotIn('one idle gap', run('report', os.path.join(
            TRACES, 'h100_bert_small.json.gz')).stdout)

    def idle_after_sync(self):
        """From when the call begins until the copy it waits for, and from its end to the next op."""
        events = load(os.path.join(TRACES, 'h100_bert_small.json.gz'))
        work = sorted((ns(e['ts']), ns(e['ts']) + ns(e['dur']), e['cat']) for e in events
                      if e.get('cat') in ('kernel', 'gpu_memcpy', 'gpu_memset'))
        sync = [ns(e['ts']) for e in events if e.get('name') == 'cudaStreamSynchronize']
        copy = [i for i, w in enumerate(work) if w[2] == 'gpu_memcpy']
        self.assertEqual((len(sync), len(copy)), (1, 1))
        begin, end, _ = work[copy[0]]
        return begin - sync[0] + work[copy[0] + 1][0] - end

    def wall(self, path):
        """The sum of the tree's leaves, in whatever way the tree is looked at."""
        done = run('flamegraph', '--format', 'folded', '--metric', 'wall', path)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        return sum(int(line.rsplit(' ', 1)[1]) for line in done.stdout.splitlines())

    def check_sums(self, path, report):
        for device in report['devices']:
            states = sum(value for key, value in device.items()
                         if key == 'busy_ns' or key.startswith('idle_'))
            self.assertEqual(states, device['window_ns'])
        self.assertEqual(self.wall(path), sum(d['window_ns'] for d in report['devices']))
        return {d['index']: (d['busy_ns'], d['window_ns']) for d in report['devices']}

    def test_every_nanosecond(self):
        for name in sorted(os.listdir(TRACES)):
            with self.subTest(trace=name):
                path = os.path.join(TRACES, name)
                expected = devices_of(load(path))
                self.assertTrue(expected)
                self.assertEqual(self.check_sums(path, self.report(name)), expected)

    def test_every_nanosecond_elsewhere(self):
        """Formats of other tools; Hatchet's trees have no timeline, hence no window."""
        seen = {}
        for folder in ('flex', 'rocprof', 'malformed'):
            folder = os.path.join(TRACES, '..', folder)
            for name in sorted(os.listdir(folder)):
                path = os.path.join(folder, name)
                done = run('report', path, '--json')
                report = json.loads(done.stdout) if done.returncode == 0 else {'devices': []}
                if report['devices']:
                    with self.subTest(trace=name):
                        seen[name] = self.check_sums(path, report)
        with gzip.open(os.path.join(TRACES, '..', 'rocprof', 'rocprofiler_sdk_908.json.gz')) as file:
            tool, = json.load(file)['rocprofiler-sdk-tool']
        work = [(r['start_timestamp'], r['end_timestamp'])
                for r in tool['buffer_records']['kernel_dispatch']]
        self.assertEqual(seen['rocprofiler_sdk_908.json.gz'], {0: (
            intervals_union(work), max(e for _, e in work) - min(b for b, _ in work))})
        self.assertGreaterEqual(len(seen), 3)


if __name__ == '__main__':
    unittest.main()
