# SPDX-License-Identifier: Apache-2.0
"""Real traces, against what Python's json and decimal make of them."""
import collections
import functools
import gzip
import json
import os
import sys
import unittest
from decimal import Decimal

from capture import import_files, unquote

TRACES = os.path.join(os.environ['TRACES'], 'torch')
DEVICE = {'kernel': 'kernel', 'gpu_memcpy': 'copy', 'gpu_memset': 'fill',
          'Kernel': 'kernel', 'Memcpy': 'copy', 'Memset': 'fill'}


def path_of(name):
    for suffix in ('.json.gz', '.json'):
        if os.path.exists(os.path.join(TRACES, name + suffix)):
            return os.path.join(TRACES, name + suffix)
    raise FileNotFoundError(name)


def load(name):
    with open(path_of(name), 'rb') as file:
        raw = file.read()
    if raw[:2] == b'\x1f\x8b':
        raw = gzip.decompress(raw)
    trace = json.loads(raw, parse_float=Decimal)
    return trace if isinstance(trace, list) else trace['traceEvents']


@functools.lru_cache(maxsize=None)
def imported(name):
    done, capture = import_files(path_of(name))
    if done.returncode:
        raise AssertionError(done.stderr)
    return capture


def ns(number):
    return int((Decimal(number) * 1000).to_integral_value())


def spans(events):
    return [e for e in events if e.get('ph') == 'X']


def device_work(events):
    return [e for e in spans(events) if e['cat'] in DEVICE]


def totals(items):
    """(count, nanoseconds) by (kind, name)."""
    out = collections.defaultdict(lambda: [0, 0])
    for kind, name, duration in items:
        out[kind, name][0] += 1
        out[kind, name][1] += duration
    return dict(out)


# Name, kernels, and what else is known of it: share of device operations that are linked.
FACTS = {
    'h100_bert_small': (60, 61, 61),
    'mi300_bert_small': (60, 61, 61),
    'b200_vllm_eager': (768, 929, 929),
    'h100_qwen_launched_before_window': (1465, 1707, 1198),
    'mi300_resnet_backward_thread': (2995, 3653, 2685),
    'mi300_sglang_decode_graph': (555, 558, 558),
    'mi300_vllm_decode_graph': (425, 434, 434),
    'torch_compile_triton': (12, 12, 12),
    'mi210_gpu_only': (562, 562, 562),
    'diff_control': (8568, 9450, 9450),
    'diff_test': (9876, 15632, None),
    'ns_resolution_19_digits': (4350, 6095, 6095),
    'mi250_tiny_rocm6': (14, 16, 16),
    'tiny_backward_thread': (1, 1, 1),
    'ranks_0_of_2': (1154, 1204, 1204),
    'ranks_1_of_2': (1104, 1154, 1154),
    'legacy_2021_categories': (8772, 9096, 9096),
}


class Traces(unittest.TestCase):
    def test_device_time_is_that_of_the_file(self):
        for name, (kernels, operations, linked) in FACTS.items():
            with self.subTest(trace=name):
                expected = [(DEVICE[e['cat']], e['name'], ns(e['dur']))
                            for e in device_work(load(name))]
                capture = imported(name)
                # Collectives are kernels too, told apart by their arguments.
                found = [('kernel' if kind == 'collective' else kind, work, end - start)
                         for _, work, kind, start, end in capture.work()]
                self.assertEqual(totals(found), totals(expected))
                self.assertEqual(sum(1 for kind, _, _ in found if kind == 'kernel'), kernels)
                self.assertEqual(len(found), operations)
                self.assertEqual(capture.number('device-ops'), operations)
                self.assertEqual(capture.number('device-ns'), sum(d for _, _, d in expected))
                if linked is not None:
                    self.assertEqual(capture.number('linked-ops'), linked)
                self.assertEqual(capture.number('dropped'), 0)
                self.assertEqual(set(capture.launches()), {w[0] for w in capture.work()} |
                                 {c for c, r in capture.launches().items() if r['kind'] == 'graph'})

    def test_times_are_exact(self):
        """19 significant digits: the first start of each trace to the nanosecond."""
        for name in ('ns_resolution_19_digits', 'h100_bert_small', 'diff_control'):
            with self.subTest(trace=name):
                with (gzip.open if path_of(name).endswith('gz') else open)(path_of(name)) as file:
                    trace = json.load(file, parse_float=Decimal)
                base = trace.get('baseTimeNanoseconds', 0)
                expected = sorted(base + ns(e['ts']) for e in device_work(trace['traceEvents']))
                capture = imported(name)
                self.assertEqual(sorted(start for _, _, _, start, _ in capture.work()), expected)

    def test_python_stacks_are_those_of_the_parents(self):
        """The chain of 'Python parent id' from the function around each launch."""
        for name in ('h100_bert_small', 'mi300_bert_small', 'b200_vllm_eager',
                     'h100_qwen_launched_before_window'):
            with self.subTest(trace=name):
                self.check_python(name)

    def check_python(self, name):
        events = load(name)
        functions = [e for e in spans(events) if e['cat'] == 'python_function']
        by_id = {e['args']['Python id']: e for e in functions}
        by_thread = collections.defaultdict(list)
        for e in functions:
            by_thread[e['tid']].append((ns(e['ts']), ns(e['ts']) + ns(e['dur']), e))
        calls = {e['args']['correlation']: e for e in spans(events)
                 if e['cat'] in ('cuda_runtime', 'cuda_driver') and 'correlation' in e['args']}
        expected = collections.Counter()
        for e in device_work(events):
            call = calls.get(e['args']['correlation'])
            if not call:
                continue
            at = ns(call['ts'])
            around = [f for f in by_thread[call['tid']] if f[0] <= at < f[1]]
            function = max(around, key=lambda f: (f[0], -f[1]))[2]
            chain = []
            while function:
                chain.append(function['name'])
                function = by_id.get(function['args']['Python parent id'])
            expected[e['name'], tuple(shown(n) for n in chain)] += 1

        capture = imported(name)
        launches = capture.launches()
        found = collections.Counter()
        for correlation, work, _, _, _ in capture.work():
            launch = launches[correlation]
            if 'before-window' in launch.get('flags', ''):
                continue
            found[work, tuple(python_frames(capture, launch))] += 1
        self.assertEqual(found, expected)

    def test_before_window(self):
        capture = imported('h100_qwen_launched_before_window')
        before = {c: r for c, r in capture.launches().items()
                  if 'before-window' in r.get('flags', '')}
        self.assertEqual(len(before), 509)
        for launch in before.values():
            self.assertEqual([f[1] for f in launch['frames']], ['[launched before recording]'])
        time = sum(end - start for c, _, _, start, end in capture.work() if c in before)
        self.assertEqual(round(100 * time / capture.number('device-ns')), 30)

    def test_backward_under_forward(self):
        """By nesting alone 10.8 % of the device time of this one is under Python."""
        capture = imported('mi300_resnet_backward_thread')
        self.assertGreaterEqual(capture.number('under-python-ns'),
                                0.95 * capture.number('linked-ns'))
        backward = [r for r in capture.records['LAUNCH'] if 'backward' in r.get('flags', '')]
        self.assertGreater(len(backward), 500)
        for launch in backward:
            names = [f[1] for f in reversed(launch['frames'])]
            kinds = [capture.kind(f) for f in reversed(launch['frames'])]
            first = next(i for i, n in enumerate(names) if n.startswith('autograd::engine::'))
            self.assertIn('python', kinds[:first])

    def test_under_python(self):
        """Where the trace has Python at all, nearly all that is linked stands under it."""
        for name in ('h100_bert_small', 'mi300_bert_small', 'b200_vllm_eager',
                     'h100_qwen_launched_before_window', 'mi300_resnet_backward_thread',
                     'mi300_sglang_decode_graph', 'mi300_vllm_decode_graph',
                     'legacy_2021_categories'):
            with self.subTest(trace=name):
                capture = imported(name)
                self.assertGreaterEqual(capture.number('under-python-ns'),
                                        0.95 * capture.number('linked-ns'))

    def test_flex(self):
        """Begins and ends of the device's phases, paired by name within a lane."""
        folder = os.path.join(TRACES, '..', 'flex')
        for name in ('allreduce_tp4.json', 'sample_flex_3062_job_4.json'):
            with open(os.path.join(folder, name)) as file:
                events = json.load(file, parse_float=Decimal)
            begun, expected = {}, []
            for e in events:
                if not e['name'].endswith((' Cmpt Exec', ' DmaI', ' DmaO')):
                    continue
                key = e['pid'], e['tid'], e['name']
                if e['ph'] == 'B':
                    begun.setdefault(key, []).append(ns(e['ts']))
                elif e['ph'] == 'E':
                    kind = 'kernel' if e['name'].endswith(' Exec') else 'copy'
                    expected.append((kind, e['name'], ns(e['ts']) - begun[key].pop()))
            _, capture = import_files(os.path.join(folder, name))
            found = [(kind, work, end - start) for _, work, kind, start, end in capture.work()]
            self.assertEqual(totals(found), totals(expected))
            self.assertGreater(len(found), 10)

    def test_rocprof(self):
        path = os.path.join(TRACES, '..', 'rocprof', 'rocprofiler_sdk_908.json.gz')
        with gzip.open(path) as file:
            tool, = json.load(file)['rocprofiler-sdk-tool']
        names = {s['kernel_id']: s['formatted_kernel_name'] for s in tool['kernel_symbols']}
        expected = [('kernel', names[r['dispatch_info']['kernel_id']],
                     r['end_timestamp'] - r['start_timestamp'])
                    for r in tool['buffer_records']['kernel_dispatch']]
        _, capture = import_files(path)
        found = [('kernel', work, end - start) for _, work, _, start, end in capture.work()]
        self.assertEqual(totals(found), totals(expected))
        self.assertEqual(len(found), 43915)

    def test_malformed_files(self):
        folder = os.path.join(TRACES, '..', 'malformed')
        for name in sorted(os.listdir(folder)):
            with self.subTest(file=name):
                done, capture = import_files(os.path.join(folder, name))
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertGreater(len(capture.records['CPU_SAMPLE']), 0)

    def test_what_is_no_trace(self):
        done, _ = import_files(os.path.join(TRACES, '..', 'flex', 'dt_cycles_table.log'))
        self.assertEqual(done.returncode, 1)
        self.assertIn(b'neither a capture nor a trace', done.stderr)

    def test_graph_replay_with_its_capture(self):
        replay, captured = (path_of('mi300_sglang_decode_graph'),
                            path_of('mi300_sglang_decode_capture'))
        _, capture = import_files('--capture-trace', captured, replay)
        self.assertEqual(capture.number('graph-ops'), 544)
        self.assertEqual(capture.number('graph-captured-ops'), 544)
        # The stack of a replayed kernel is that of the captured launch of the same kernel.
        events = load('mi300_sglang_decode_capture')
        begin, = [ns(e['ts']) for e in spans(events) if e['name'] == 'hipStreamBeginCapture']
        end, = [ns(e['ts']) for e in spans(events) if e['name'] == 'hipStreamEndCapture']
        kernels = [e['args']['kernel'] for e in sorted(spans(events), key=lambda e: ns(e['ts']))
                   if 'kernel' in e.get('args', {}) and begin < ns(e['ts']) < end]
        launches = capture.launches()
        replayed = [name for c, name, _, start, _ in sorted(capture.work(), key=lambda w: w[3])
                    if 'at-capture' in launches[c].get('flags', '')]
        self.assertEqual(replayed, kernels)

    def test_graph_replay_without_capture(self):
        for name, count in (('mi300_vllm_decode_graph', 421), ('mi300_sglang_decode_graph', 544)):
            capture = imported(name)
            replays = [r for r in capture.records['LAUNCH'] if 'replay' in r.get('flags', '')]
            self.assertEqual(len(replays), count)
            for launch in replays:
                names = [f[1] for f in launch['frames']]
                self.assertEqual(names[:2], ['[graph replay]', 'hipGraphLaunch'])

    def test_two_ranks(self):
        _, capture = import_files(path_of('ranks_0_of_2'), path_of('ranks_1_of_2'))
        self.assertEqual(sorted(r['rank'] for r in capture.records['PROCESS']), ['1', '2'])
        self.assertEqual(len(list(capture.work())), 1204 + 1154)
        self.assertEqual(len(capture.launches()), 1204 + 1154)
        collectives = [r for r in capture.records['DISPATCH'] if r['kind'] == 'collective']
        time = collections.Counter()
        for _, name, kind, start, end in capture.work():
            time[kind] += end - start
        self.assertGreater(len(collectives), 0)

    def test_no_environment(self):
        """Only what the list of allowed keys has goes into a capture."""
        for name in FACTS:
            capture = imported(name)
            for key in capture.info():
                self.assertRegex(key, r'^(import|trace)\.')
            text = json.dumps(capture.info())
            for word in ('facebook', 'mast_', 'sraikund', '/tmp/'):
                self.assertNotIn(word, text)


def shown(name):
    """A function as a frame shows it."""
    if name.startswith('<') and ' at 0x' in name:
        before, behind = name.split(' at 0x', 1)
        return before + behind.lstrip('0123456789abcdef')
    if name.startswith('nn.Module: '):
        return name[len('nn.Module: '):]
    head, found, function = name.partition('): ')
    return function if found and '(' in head else name


def python_frames(capture, launch):
    """Leaf first; built-in functions are native frames between them."""
    for frame in launch['frames']:
        kind = capture.kind(frame)
        name = unquote('0:"' + frame[1] + '"')
        if kind in ('python', 'module') or (kind == 'native' and name.startswith('<')):
            yield name


if __name__ == '__main__':
    if not os.path.isdir(TRACES):
        print(f"no traces in '{TRACES}': skipped")
        sys.exit(77)
    unittest.main()
