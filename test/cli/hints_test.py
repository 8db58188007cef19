# SPDX-License-Identifier: Apache-2.0
"""accel-prof report: the right hint for a fault that was planted, none for a run without.

Each run is a trace as torch.profiler writes it: ten steps of one thread that launches kernels, with
one thing done wrong. The shared traces, where they are there, are runs of which it is known by hand
what is wrong with them.
"""
import json
import os
import tempfile
import unittest

from command import SOURCE_DIR, run

TRACES = os.path.join(SOURCE_DIR, '..', 'shared', 'traces', 'torch')
STEPS = 10
H100 = {'id': 0, 'name': 'NVIDIA H100 80GB HBM3', 'numSms': 132}


class Program:
    """A clock of the host and one of each stream, in microseconds, and the events so far."""

    def __init__(self, device='NVIDIA H100 80GB HBM3'):
        self.events, self.now, self.correlation = [], 0, 0
        self.streams = {}
        self.device = dict(H100, name=device)
        self.begin = 0

    def add(self, name, cat, ts, dur, tid=1, **args):
        self.events.append({'ph': 'X', 'name': name, 'cat': cat, 'pid': 1, 'tid': tid, 'ts': ts,
                            'dur': dur, 'args': args})

    def python(self, name, dur, inside=None):
        """A Python function of @dur, or of as long as @inside takes."""
        start = self.now
        if inside:
            inside()
            self.now += 1
        else:
            self.now += dur
        self.add(name, 'python_function', start, self.now - start)

    def call(self, name, dur, cat='cuda_runtime'):
        self.add(name, cat, self.now, dur)
        self.now += dur

    def device_op(self, name, cat, start, dur, stream, **args):
        self.add(name, cat, start, dur, tid=stream, device=0, stream=stream,
                 correlation=self.correlation, **args)

    def kernel(self, name='sm90_gemm_bf16_128x128', dur=200, stream=7, grid=(264, 1, 1),
               after=0, launch=5, op='aten::mm', **op_args):
        self.correlation += 1
        self.add(op, 'cpu_op', self.now, launch + 2, **op_args)
        self.add('cudaLaunchKernel', 'cuda_runtime', self.now + 1, launch,
                 correlation=self.correlation)
        start = max(self.streams.get(stream, 0), self.now + launch + 3, after)
        self.device_op(name, 'kernel', start, dur, stream, grid=list(grid), block=[128, 1, 1])
        self.streams[stream] = start + dur
        self.now += launch + 3
        return start + dur

    def copy(self, kind, dur, stream=7):
        self.correlation += 1
        self.add('cudaMemcpyAsync', 'cuda_runtime', self.now, 5, correlation=self.correlation)
        start = max(self.streams.get(stream, 0), self.now + 6)
        self.device_op(f'Memcpy {kind}', 'gpu_memcpy', start, dur, stream, bytes=1 << 20)
        self.streams[stream] = start + dur
        self.now += 5

    def wait(self, op='aten::item'):
        end = max(self.streams.values()) + 2
        self.add(op, 'cpu_op', self.now, max(end - self.now, 4))
        self.add('cudaStreamSynchronize', 'cuda_runtime', self.now + 1, max(end - self.now, 4) - 2)
        self.now = max(end, self.now + 4)

    def step(self, number, body):
        start = self.now
        self.python('train.py(10): train_step', 0, body)
        self.add(f'ProfilerStep#{number}', 'user_annotation', start, self.now - start)

    def report(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'run.json')
            with open(path, 'w', encoding='utf-8') as file:
                json.dump({'deviceProperties': [self.device], 'traceEvents': self.events}, file)
            done = run('report', path, '--json')
            page = run('report', path)
        assert (done.returncode, done.stderr) == (0, ''), done.stderr
        assert len(page.stdout.splitlines()) <= 40, page.stdout
        assert max(len(line) for line in page.stdout.splitlines()) <= 100, page.stdout
        return json.loads(done.stdout), page.stdout


KERNELS = ('sm90_gemm_bf16_128x128', 'softmax_bf16', 'layer_norm_bf16', 'add_bf16')


def busy_step(p):
    """Keeps the device busy: 20 kernels of 0.2 ms, asked for in 0.16 ms, no more than a step ahead."""
    for i in range(20):
        p.kernel(KERNELS[i % len(KERNELS)])
    p.now = max(p.now, p.streams[7] - 4000)


def make(step, **kwargs):
    p = Program(**kwargs)
    for number in range(STEPS):
        p.step(number, lambda n=number: step(p, n))
    return p


class Planted(unittest.TestCase):
    def check(self, program, rule, *texts):
        report, page = program.report()
        found = {hint['rule']: hint for hint in report['hints']}
        self.assertIn(rule, found, page)
        for text in texts:
            self.assertIn(text, found[rule]['text'])
        self.assertIn('NEXT\n1 ', page)
        return found[rule]

    def test_hidden_sync(self):
        def step(p, _):
            for _ in range(10):
                p.kernel(dur=100)
                p.python('train.py(42): log_loss', 0, p.wait)
                p.now += 60
        hint = self.check(make(step), 'sync', 'item in log_loss (train.py:42)', '100 times')
        # A kernel ends 2 us before the wait does; then 1 of log_loss, 60, and 8 of a launch. Once
        # a step 1 of train_step; the last wait of all ends no gap.
        self.assertEqual(hint['gain_ns'], 99 * 71000 + 9 * 1000)

    def test_slow_loader(self):
        def step(p, _):
            p.call('enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__', 4000,
                   'user_annotation')
            busy_step(p)
            p.wait()
        self.check(make(step), 'loader', 'num_workers')

    def test_tiny_kernels(self):
        def step(p, _):
            for _ in range(100):
                p.kernel(dur=3, launch=20)
        self.check(make(step), 'graph', 'CUDA graph', 'ops of 3.00 us each')

    def test_pageable_copy(self):
        def step(p, _):
            p.copy('HtoD (Pageable -> Device)', 1500)
            busy_step(p)
        hint = self.check(make(step), 'pageable', 'pin_memory', '10 copies', 'train_step')
        self.assertIn('take 15.0 ms', hint['text'])

    def test_recompile(self):
        def step(p, _):
            p.python('torch/_dynamo/convert_frame.py(500): __call__', 3000)
            busy_step(p)
            p.wait()
        self.check(make(step), 'compile', 'recompiles', '10 moments')

    def test_lock(self):
        def step(p, _):
            p.call("<method 'acquire' of '_thread.lock' objects>", 3000, 'python_function')
            busy_step(p)
            p.wait()
        self.check(make(step), 'lock', 'Lock contention')

    def test_one_kernel(self):
        def step(p, _):
            busy_step(p)
            p.kernel('my_scan_kernel', dur=9000)
        self.check(make(step), 'kernel', 'my_scan_kernel', '69.2 %', 'train_step (train.py:10)')

    def test_serialised_streams(self):
        def step(p, _):
            for _ in range(10):
                end = p.kernel(dur=100, stream=7, grid=(16, 1, 1), after=max(p.streams.values(),
                                                                            default=0))
                p.kernel('side_bf16', dur=100, stream=20, grid=(16, 1, 1), after=end + 1)
        self.check(make(step), 'serial', 'Streams take turns')

    def test_fp32(self):
        def step(p, _):
            for i in range(20):
                p.kernel('ampere_sgemm_128x64_tn' if i % 2 else KERNELS[i % 4])
            p.now = max(p.now, p.streams[7] - 4000)
        self.check(make(step), 'fp32', '100 matrix products', '50.0 %')

    def add_step(self, dur):
        """Twenty sums of 8192 x 8192 in bf16: 403 MB each, 120 us at 3.35 TB/s."""
        def step(p, _):
            for _ in range(20):
                p.kernel('vectorized_elementwise_kernel_add_bf16', dur=dur, op='aten::add',
                         **{'Input Dims': [[8192, 8192], [8192, 8192], []],
                            'Input type': ['c10::BFloat16', 'c10::BFloat16', 'Scalar']})
            p.now = max(p.now, p.streams[7] - 1000)
        return step

    def test_memory_bound(self):
        hint = self.check(make(self.add_step(150)), 'memory', 'at 80 % of the memory\'s speed',
                          'train_step (train.py:10)')
        self.assertIn('100.0 % of device time', hint['text'])

    def test_far_from_memory_bound(self):
        report, page = make(self.add_step(400)).report()
        self.assertNotIn('memory', [hint['rule'] for hint in report['hints']], page)

    def test_allocation(self):
        def step(p, _):
            for _ in range(5):
                p.call('cudaMalloc', 500)
                p.kernel()
                p.kernel('softmax_bf16')
                p.wait()
        self.check(make(step), 'allocate', 'cudaMalloc')

    def test_slow_function(self):
        def step(p, _):
            p.python('train.py(60): augment', 0,
                     lambda: p.python('inspect.py(300): signature', 6000))
            busy_step(p)
            p.wait()
        self.check(make(step), 'function', 'inspect.signature in augment (train.py:60)')


class Healthy(unittest.TestCase):
    """Runs without a fault: the device is busy, or what it waits for is no fault."""

    def check(self, program):
        report, page = program.report()
        self.assertEqual(report['hints'], [], page)
        self.assertNotIn('NEXT', page)

    def test_busy(self):
        self.check(make(lambda p, _: busy_step(p)))

    def test_sync_at_the_end_of_each_step(self):
        def step(p, _):
            busy_step(p)
            p.wait()
        self.check(make(step))

    def test_pinned_copies(self):
        def step(p, _):
            p.copy('HtoD (Pinned -> Device)', 300)
            busy_step(p)
        self.check(make(step))

    def test_streams_at_once(self):
        def step(p, _):
            for i in range(10):
                p.kernel(KERNELS[i % 4], dur=100, stream=7, grid=(16, 1, 1))
                p.kernel(KERNELS[(i + 1) % 4], dur=100, stream=20, grid=(16, 1, 1))
            p.now = max(p.now, max(p.streams.values()) - 1000)
        report, page = make(step).report()
        self.assertNotIn('serial', [hint['rule'] for hint in report['hints']], page)

    def test_compiles_once(self):
        def step(p, number):
            if number == 0:
                p.python('torch/_dynamo/convert_frame.py(500): __call__', 20000)
            busy_step(p)
        report, page = make(step).report()
        self.assertNotIn('compile', [hint['rule'] for hint in report['hints']], page)

    def test_prefetched_input(self):
        def step(p, _):
            p.call('enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__', 100,
                   'user_annotation')
            busy_step(p)
        self.check(make(step))

    def test_unknown_device(self):
        self.check(make(lambda p, _: busy_step(p), device='ACME 9000'))


class Graphs(unittest.TestCase):
    def run_with(self, recorded):
        p = Program()
        for i in range(10):
            p.correlation += 1
            p.add('cudaGraphLaunch', 'cuda_runtime', p.now, 20, correlation=p.correlation)
            if i < recorded:
                for k in range(40):
                    p.device_op(KERNELS[k % 4], 'kernel', p.now + 30 + 10 * k, 9, 7)
            p.now += 400
        return p.report()

    def test_recorded(self):
        report, page = self.run_with(10)
        self.assertNotIn('unreliable', page)
        self.assertEqual(report['verdict'], 'kernel')

    def test_lost(self):
        # Of 2.4 ms the device looks idle for 0.9 %; what the lost replays did nobody knows.
        report, page = self.run_with(3)
        self.assertIn('idle unreliable: graph launches without work 7/10', page)
        self.assertEqual([h for h in report['hints'] if h['rule'] in ('graph', 'function')], [])


@unittest.skipUnless(os.path.isdir(TRACES), f'needs the traces in {TRACES}')
class Shared(unittest.TestCase):
    EXPECTED = {
        # By hand, in the report that this program was made after.
        'h100_bert_small.json.gz': ['graph', 'function', 'old-gemm'],
        # Attention launches 16 groups on a MI300X.
        'mi300_bert_small.json.gz': ['graph', 'small'],
        'b200_vllm_eager.json.gz': ['graph'],
        # ResNet-50 in fp32 on V100s, the first with a data loader in the same process.
        'legacy_2021_categories.json.gz': ['loader', 'fp32'],
        'ns_resolution_19_digits.json.gz': ['fp32'],
        'diff_test.json.gz': ['fp32'],
        # Nothing is wrong with these that the trace would tell.
        'diff_control.json.gz': [],
        'h100_qwen_launched_before_window.json.gz': [],
        'mi300_resnet_backward_thread.json.gz': [],
        'mi300_vllm_decode_graph.json.gz': [],
        'mi210_gpu_only.json.gz': [],
        'torch_compile_triton.json.gz': [],
    }

    def test_rules(self):
        for name, rules in self.EXPECTED.items():
            with self.subTest(trace=name):
                done = run('report', os.path.join(TRACES, name), '--json')
                self.assertEqual((done.returncode, done.stderr), (0, ''))
                hints = json.loads(done.stdout)['hints']
                self.assertEqual([hint['rule'] for hint in hints], rules)

    def test_h100_in_words(self):
        page = run('report', os.path.join(TRACES, 'h100_bert_small.json.gz')).stdout
        text = ' '.join(page.split('NEXT\n')[1].split())
        for part in ('1 CUDA graph or torch.compile(mode="reduce-overhead"): 61 ops',
                     'Blocker: is_nonzero -> item in _prepare_4d_attention_mask_for_sdpa',
                     'Ceiling 14.3x.',
                     '2 inspect.signature in apply_chunking_to_forward (pytorch_utils.py:186): 310 '
                     'us of host time, as much as all GPU work (309 us).',
                     '3 Later: 22 of 26 GEMM launches (165 us of 198 us) are sm80 kernels on sm90.',
                     'flash_fwd d64 bf16 fills at most 16 of 132 SMs'):
            self.assertIn(part, text)


if __name__ == '__main__':
    unittest.main()
