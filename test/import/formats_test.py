# SPDX-License-Identifier: Apache-2.0
"""Small traces made by hand (fixtures.py): what becomes of each, to the frame and nanosecond."""
import collections
import gzip
import json
import os
import re
import tempfile
import unittest

import fixtures
from capture import import_files, import_text, run, unquote


def frames(capture, record):
    """'kind name' from the root on."""
    return [capture.kind(f) + ' ' + unquote('0:"' + f[1] + '"') for f in reversed(record['frames'])]


def host_time(capture):
    """Nanoseconds by path, 'a;b;c'."""
    out = collections.Counter()
    for r in capture.records['CPU_SAMPLE']:
        out[';'.join(f.split(' ', 1)[1] for f in frames(capture, r))] += int(r['weight'])
    return dict(out)


def launch_of(capture, name):
    """The frames of the only launch of this kernel or copy, and its record."""
    launches = capture.launches()
    (correlation,) = [w[0] for w in capture.work() if w[1] == name]
    return frames(capture, launches[correlation]), launches[correlation]


class Formats(unittest.TestCase):
    def imported(self, value, *args):
        text = value if isinstance(value, (str, bytes)) else fixtures.text(value)
        done, capture = import_text(text, *args)
        self.assertEqual(done.returncode, 0, done.stderr)
        return capture

    # ---- torch.profiler ----

    def test_basic(self):
        capture = self.imported(fixtures.basic())
        path, launch = launch_of(capture, 'gemm')
        self.assertEqual(path, ['python train', 'scope ProfilerStep', 'python step',
                                'module Linear_0', 'python forward',
                                'native <built-in function linear>', 'op aten::linear',
                                'native cudaLaunchKernel'])
        self.assertEqual((launch['grid'], launch['block']), ('2,1,1', '128,1,1'))
        self.assertEqual(unquote(launch['metadata']),
                         'dims=[[8,16],[16,4]];types=["float","float"];op=aten::linear')
        self.assertEqual(launch['duration_ns'], '5000')
        path, launch = launch_of(capture, 'Memcpy DtoH (Device -> Pageable)')
        self.assertEqual(path[-2:], ['op aten::copy_', 'native cudaMemcpyAsync'])
        self.assertEqual((launch['kind'], launch['bytes']), ('copy', '64'))
        (sync,) = capture.records['SYNC']
        self.assertEqual((unquote(sync['name']), sync['duration_ns']),
                         ('cudaStreamSynchronize', '10000'))
        (mark,) = capture.records['MARK']
        self.assertEqual((unquote(mark['name']), mark['iteration'], mark['duration_ns']),
                         ('ProfilerStep#3', '4', '90000'))
        self.assertEqual(capture.records['DEVICE'][0]['units'], '4')
        # Base time is added, wherever in the file it stands.
        starts = sorted(w[3] for w in capture.work())
        self.assertEqual(starts, [1700000000000026000, 1700000000000057000])

    def test_lines_are_those_of_the_definition(self):
        capture = self.imported(fixtures.basic())
        forward = [o for o in capture.objects.values() if unquote(o['name']) == 'forward']
        self.assertEqual([(o['line'], unquote(o['path']), o['flags']) for o in forward],
                         [('124', 'torch/nn/modules/linear.py', 'line-is-def')])

    def test_host_time_is_every_nanosecond(self):
        capture = self.imported(fixtures.basic())
        time = host_time(capture)
        # 100 us of train, of which the step has 90, and so on down; by hand from the fixture.
        step = 'train;ProfilerStep;step'
        linear = step + ';Linear_0;forward;<built-in function linear>'
        self.assertEqual(time, {
            'train': 10000,
            'train;ProfilerStep': 10000,
            step: 30000,
            step + ';Linear_0': 2000,
            step + ';Linear_0;forward': 2000,
            linear: 2000,
            linear + ';aten::linear': 19000,
            linear + ';aten::linear;cudaLaunchKernel': 5000,
            step + ';aten::copy_': 6000,
            step + ';aten::copy_;cudaMemcpyAsync': 4000,
            step + ';aten::copy_;cudaStreamSynchronize': 10000})
        self.assertEqual(sum(time.values()), 100000)

    def test_backward(self):
        for by in ('flow', 'sequence'):
            with self.subTest(by=by):
                capture = self.imported(fixtures.backward(by))
                path, launch = launch_of(capture, 'mm_backward')
                self.assertEqual(path, [
                    'python train', 'python forward', 'op aten::mm',
                    'op autograd::engine::evaluate_function: MmBackward0', 'op MmBackward0',
                    'native cudaLaunchKernel'])
                self.assertEqual(launch['flags'], 'backward')
                # What has no forward op stands under the call that waits for it.
                path, launch = launch_of(capture, 'add')
                self.assertEqual(path[:3], [
                    'python train', 'native <built-in method run_backward of _EngineBase object>',
                    'op autograd::engine::evaluate_function: torch::autograd::AccumulateGrad'])
                self.assertNotIn('flags', launch)
                self.assertEqual(capture.number('under-python-ops'), 3)
                self.assertEqual(capture.number('backward-ops'), 2)

    def test_backward_under_the_annotation_around_it(self):
        value = fixtures.trace(
            fixtures.span('## backward ##', 'user_annotation', 0, 100),
            fixtures.op('autograd::engine::evaluate_function: MmBackward0', 50, 20, 2, tid=2),
            fixtures.call('cudaLaunchKernel', 55, 5, 1, tid=2),
            fixtures.kernel('mm_backward', 65, 5, 1))
        capture = self.imported(value)
        self.assertEqual(launch_of(capture, 'mm_backward')[0], [
            'scope ## backward ##', 'op autograd::engine::evaluate_function: MmBackward0',
            'native cudaLaunchKernel'])

    def test_backward_on_the_thread_of_its_forward(self):
        """Without Python to tell; what is around both is not said twice."""
        value = fixtures.trace(
            fixtures.span('my step', 'user_annotation', 0, 100),
            fixtures.op('aten::mm', 10, 20, 1, **{'Sequence number': 3}),
            fixtures.op('autograd::engine::evaluate_function: MmBackward0', 50, 20, 2,
                        **{'Sequence number': 3, 'Fwd thread id': 1}),
            fixtures.call('cudaLaunchKernel', 55, 5, 1),
            fixtures.kernel('mm_backward', 65, 5, 1))
        capture = self.imported(value)
        self.assertEqual(launch_of(capture, 'mm_backward')[0], [
            'scope my step', 'op aten::mm', 'op autograd::engine::evaluate_function: MmBackward0',
            'native cudaLaunchKernel'])

    def test_graph_in_the_same_trace(self):
        for named in (True, False):
            with self.subTest(named=named):
                capture = self.imported(fixtures.graph(named=named))
                found = collections.defaultdict(list)
                launches = capture.launches()
                for correlation, name, *_ in capture.work():
                    found[name].append(frames(capture, launches[correlation]))
                capture_path = ['python capture']
                self.assertEqual(found, {
                    'relu': [capture_path + ['python first', 'native hipLaunchKernel']] * 2,
                    'gemm': [capture_path + ['python second', 'native hipLaunchKernel']] * 2,
                    'Memcpy DtoD': [capture_path + ['python second', 'native hipMemcpyAsync']] * 2,
                })
                self.assertEqual(capture.number('graph-captured-ops'), 6)
                graphs = [r for r in capture.records['LAUNCH'] if r['kind'] == 'graph']
                self.assertEqual([frames(capture, r)[-1] for r in graphs],
                                 ['native hipGraphLaunch'] * 2)

    def test_graph_capture_of_another_graph(self):
        other = fixtures.graph()
        for event in other['traceEvents']:
            if event['args'].get('kernel'):
                event['args']['kernel'] += '_of_another'
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'capture.json')
            with open(path, 'w') as file:
                json.dump(other, file)
            capture = self.imported(fixtures.graph(with_capture=False), '--capture-trace', path)
        self.assertEqual(capture.number('graph-ops'), 6)
        self.assertEqual(capture.number('graph-captured-ops'), 0)
        self.assertEqual(launch_of_first(capture, 'relu'),
                         ['python decode', 'native hipGraphLaunch', 'missing [graph replay]'])

    def test_link_by_external_id_then_flow(self):
        value = fixtures.trace(
            fixtures.op('aten::mm', 10, 10, 5),
            fixtures.span('k1', 'kernel', 30, 5, tid=7, pid=0, device=0, stream=7,
                          **{'External id': 5}),
            fixtures.span('other launch', 'user_annotation', 50, 10),
            {'ph': 's', 'id': 9, 'cat': 'ac2g', 'name': 'ac2g', 'pid': 10, 'tid': 1, 'ts': 50},
            {'ph': 'f', 'id': 9, 'cat': 'ac2g', 'name': 'ac2g', 'pid': 0, 'tid': 7, 'ts': 70,
             'bp': 'e'},
            {'ph': 'f', 'id': 77, 'cat': 'ac2g', 'name': 'ac2g', 'pid': 10, 'tid': 1, 'ts': 50,
             'bp': 'e'},
            fixtures.span('k2', 'kernel', 70, 5, tid=7, pid=0, device=0, stream=7))
        capture = self.imported(value)
        self.assertEqual(launch_of(capture, 'k1')[0], ['op aten::mm'])
        self.assertEqual(launch_of(capture, 'k2')[0], ['scope other launch'])
        self.assertEqual(capture.number('linked-ops'), 2)

    def test_annotation_that_outlasts_its_caller(self):
        """An annotation opened in one function and closed in another is in neither afterwards."""
        value = fixtures.trace(
            fixtures.python('train.py(1): main', 0, 100, 1),
            fixtures.python('profiler.py(5): step', 10, 10, 2, 1),
            fixtures.span('Region', 'user_annotation', 15, 60),
            fixtures.python('train.py(9): work', 30, 20, 3, 1),
            fixtures.call('cudaLaunchKernel', 32, 5, 1),
            fixtures.kernel('k', 40, 5, 1))
        capture = self.imported(value)
        self.assertEqual(launch_of(capture, 'k')[0],
                         ['python main', 'scope Region', 'python work', 'native cudaLaunchKernel'])
        self.assertEqual(host_time(capture), {
            'main': 35000, 'main;step': 5000, 'main;step;Region': 5000, 'main;Region': 35000,
            'main;Region;work': 15000, 'main;Region;work;cudaLaunchKernel': 5000})

    def test_call_that_is_measured_too_long(self):
        """A call cannot outlast the function around it: its end is moved, and counted."""
        value = fixtures.trace(
            fixtures.python('a.py(1): f', 0, 10.5, 1),
            fixtures.call('cudaFree', 5, 10.25, 1),
            fixtures.python('a.py(2): g', 12, 10, 2))
        capture = self.imported(value)
        self.assertEqual(host_time(capture), {'f': 5000, 'f;cudaFree': 5500, 'g': 10000})
        self.assertEqual(capture.number('clipped'), 1)

    def test_call_stack_of_an_op(self):
        for stack in ('torch/nn/functional.py(5): linear;model.py(9): forward;train.py(1): <module>',
                      'train.py(1): <module>;model.py(9): forward;torch/nn/functional.py(5): linear;'):
            with self.subTest(stack=stack):
                value = fixtures.trace(
                    fixtures.span('aten::linear', 'Operator', 0, 50, tid='1', **{
                        'external id': 3, 'Call stack': stack}),
                    fixtures.span('aten::addmm', 'Operator', 5, 40, tid='1', **{
                        'external id': 4, 'Call stack': stack}),
                    fixtures.span('cudaLaunchKernel', 'Runtime', 10, 5, tid=1, correlation=9),
                    fixtures.span('gemm', 'Kernel', 20, 5, tid='stream 7', pid=0, device=0,
                                  stream=7, correlation=9))
                capture = self.imported(value)
                self.assertEqual(launch_of(capture, 'gemm')[0], [
                    'python <module>', 'python forward', 'python linear', 'op aten::linear',
                    'op aten::addmm', 'native cudaLaunchKernel'])

    def test_exporter_without_kineto(self):
        value = [{'name': 'aten::mm', 'ph': 'X', 'ts': 0, 'dur': 20, 'tid': 1,
                  'pid': 'CPU functions', 'args': {}},
                 {'name': 'gemm', 'ph': 'X', 'ts': 5, 'dur': 7, 'tid': 0, 'pid': 'CUDA functions',
                  'args': {}},
                 {'name': 'aten::mm', 'ph': 's', 'ts': 0, 'tid': 1, 'pid': 'CPU functions',
                  'id': 1, 'cat': 'cpu_to_cuda', 'args': {}},
                 {'name': 'gemm', 'ph': 'f', 'ts': 5, 'tid': 0, 'pid': 'CUDA functions', 'id': 1,
                  'cat': 'cpu_to_cuda', 'args': {}}]
        capture = self.imported(value)
        self.assertEqual(launch_of(capture, 'gemm')[0], ['op aten::mm'])

    def test_any_vendor(self):
        """By structure: runtimes and devices that no table names."""
        for runtime, call, kernel in (
                ('xpu_runtime', 'urEnqueueKernelLaunch', 'kernel'),
                ('mtia_runtime', 'mtiaLaunch', 'mtia_ccp_events'),
                ('privateuse1_runtime', 'spyreLaunch', 'kernel'),
                ('newchip_driver', 'ncLaunchThing', 'newchip_ops')):
            with self.subTest(runtime=runtime):
                value = fixtures.trace(
                    fixtures.op('aten::mm', 0, 20, 1),
                    fixtures.span(call, runtime, 5, 5, correlation=3),
                    fixtures.span('work', kernel, 30, 7, pid=2, tid=1, device=2, stream=1,
                                  correlation=3))
                capture = self.imported(value)
                self.assertEqual(launch_of(capture, 'work')[0], ['op aten::mm', 'native ' + call])
                self.assertEqual(capture.records['DEVICE'][0]['index'], '2')

    def test_memory_and_counters(self):
        value = fixtures.trace(
            fixtures.op('aten::empty', 0, 20, 1),
            {'ph': 'i', 'cat': 'cpu_instant_event', 's': 't', 'name': '[memory]', 'pid': 10,
             'tid': 1, 'ts': 5, 'args': {'Bytes': -512, 'Total Allocated': 1024,
                                         'Total Reserved': 4096, 'Addr': 77, 'Device Id': 0,
                                         'Device Type': 1}},
            {'ph': 'C', 'name': 'Power', 'pid': 10, 'tid': 1, 'ts': 6,
             'args': {'': 250.5, 'limit': 400}})
        capture = self.imported(value)
        found = [(unquote(r['name']), r['value'], r.get('device', '0'))
                 for r in capture.records['COUNTER']]
        self.assertEqual(found, [('memory', '-512', '1'), ('memory allocated', '1024', '1'),
                                 ('memory reserved', '4096', '1'), ('Power', '250.5', '0'),
                                 ('Power limit', '400', '0')])
        self.assertEqual(capture.records['COUNTER'][0]['address'], '0x4d')

    def test_collectives(self):
        args = {'Collective name': 'allreduce', 'Process Group Name': '3', 'Group size': 8,
                'In msg nelems': 100, 'Out msg nelems': 100, 'dtype': 'Float', 'Seq': 12}
        value = fixtures.trace(
            fixtures.op('record_param_comms', 0, 20, 1, **args),
            fixtures.call('cudaLaunchKernelExC', 5, 5, 1),
            fixtures.kernel('ncclDevKernel_AllReduce', 20, 9, 1, **args))
        capture = self.imported(value)
        (work,) = capture.records['DISPATCH']
        self.assertEqual(work['kind'], 'collective')
        self.assertEqual(unquote(work['metadata']),
                         'collective=allreduce;group=3;group-size=8;sequence=12;elements-in=100;'
                         'elements-out=100;dtype=Float')

    def test_names_of_processes_and_threads(self):
        value = fixtures.trace(
            {'ph': 'M', 'name': 'process_name', 'pid': 10, 'tid': 0, 'args': {'name': 'python3'}},
            {'ph': 'M', 'name': 'thread_name', 'pid': 10, 'tid': -5, 'args': {'name': 'loader'}},
            fixtures.op('a', 0, 5, 1, tid=-5), fixtures.op('b', 0, 5, 2, tid='main thread'))
        capture = self.imported(value)
        self.assertEqual([(r['pid'], unquote(r['comm'])) for r in capture.records['PROCESS']],
                         [('10', 'python3')])
        self.assertEqual([unquote(r['name']) for r in capture.records['THREAD']],
                         ['loader', 'main thread'])

    # ---- Proton, Flex, other tracers ----

    def test_proton_trace(self):
        capture = self.imported(fixtures.proton())
        path, launch = launch_of(capture, 'gemm_tile')
        self.assertEqual(path, ['python step', 'scope layer'])
        self.assertEqual([w[4] - w[3] for w in capture.work()], [4096])
        self.assertEqual(launch['thread'], capture.records['THREAD'][0]['id'])
        self.assertEqual(unquote(capture.records['HEADER'][0]['source']), 'proton')

    def test_inside_of_a_kernel(self):
        capture = self.imported(fixtures.inside())
        ((correlation, name, _, start, end),) = capture.work()
        self.assertEqual((name, end - start), ('attention', 2100))
        self.assertEqual(frames(capture, capture.launches()[correlation]), ['python step'])
        time = collections.Counter()
        for r in capture.records['PC_SAMPLE']:
            self.assertEqual(r['correlation'], correlation)
            time[unquote(r['function'])] += int(r['count'])
        self.assertEqual(time, {'main loop': 3500, 'load': 500})
        self.assertEqual(capture.records['THREAD'], [])

    def test_flex_begin_and_end(self):
        capture = self.imported(fixtures.flex())
        self.assertEqual(sorted((name, kind, end - start)
                                for _, name, kind, start, end in capture.work()),
                         [('add_1 Cmpt Exec', 'kernel', 15500), ('add_1 DmaI', 'copy', 4000)])
        self.assertEqual(host_time(capture), {'add_1 Cmpt Prep': 10000})

    def test_begin_and_end(self):
        def event(phase, name, ts):
            return {'ph': phase, 'name': name, 'pid': 0, 'tid': 0, 'ts': ts}
        cases = [
            # out of order: C in B in A
            ('BEBEBE', 'BBAACC', (1, 9, 0, 10, 2, 8),
             {'A': 2000, 'A;B': 2000, 'A;B;C': 6000}, 0),
            # an end without a name closes the innermost
            ('BBEE', ('A', 'B', None, None), (0, 2, 5, 9), {'A': 6000, 'A;B': 3000}, 0),
            # ends of other names than any beginning
            ('BE', 'AB', (0, 10), {'A': 10000}, 1),
            # beginnings without an end last until the end of the trace
            ('BBX', 'AAA', (0, 1, 10), {'A': 1000, 'A;A': 9000}, 2),
            # ends without a beginning are dropped
            ('BEEE', 'AABC', (0, 10, 5, 5), {'A': 10000}, 2),
            # equal times in any order
            ('BEB', 'ACC', (0, 2, 2), {'A': 2000}, 1),
        ]
        for phases, names, times, expected, unpaired in cases:
            with self.subTest(phases=phases, names=names):
                events = []
                for phase, name, ts in zip(phases, names, times):
                    events.append(event(phase, name, ts))
                    if name is None:
                        del events[-1]['name']
                capture = self.imported(events)
                self.assertEqual(host_time(capture), expected)
                self.assertEqual(capture.number('unpaired'), unpaired)

    def test_overlapping_slices_lose_no_time(self):
        value = [{'ph': 'X', 'name': 'a', 'pid': 0, 'tid': 0, 'ts': 0, 'dur': 10},
                 {'ph': 'X', 'name': 'b', 'pid': 0, 'tid': 0, 'ts': 5, 'dur': 10}]
        capture = self.imported(value)
        self.assertEqual(host_time(capture), {'a': 5000, 'a;b': 5000, 'b': 5000})
        self.assertEqual(capture.number('overlapping'), 1)

    def test_impossible_durations(self):
        value = fixtures.trace(
            fixtures.kernel('negative', 5, -3, 1),
            fixtures.kernel('wrapped', 6, 18446744073709551.615, 2),
            fixtures.kernel('fine', 7, 2, 3))
        capture = self.imported(value)
        self.assertEqual(sorted((n, e - s) for _, n, _, s, e in capture.work()),
                         [('fine', 2000), ('negative', 0), ('wrapped', 0)])
        self.assertEqual(capture.number('bad-times'), 2)

    # ---- malformed input ----

    def test_malformed(self):
        for name, text, kept, dropped, mended in fixtures.malformed():
            with self.subTest(case=name):
                capture = self.imported(text)
                spans = len(host_time(capture))
                self.assertEqual((spans, capture.number('dropped'), capture.number('repaired')),
                                 (kept, dropped, mended))

    def test_base_time_behind_the_events(self):
        value = fixtures.basic()
        base = value.pop('baseTimeNanoseconds')
        value['baseTimeNanoseconds'] = base # now the last member
        capture = self.imported(value)
        self.assertEqual(min(w[3] for w in capture.work()), base + 26000)

    def test_strict(self):
        for name, text, _, dropped, mended in fixtures.malformed():
            if not dropped and not mended and not name.startswith(('not closed', 'comma')):
                continue
            with self.subTest(case=name):
                done, _ = import_text(text, '--strict')
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stderr.decode(), r"byte \d+")

    def test_first_offset_is_told(self):
        good = fixtures.text(fixtures.span('a', 'x', 0, 10))
        done, capture = import_text('[' + good + ', {"name": 1}]')
        self.assertIn(f'(first: byte {len(good) + 3},', done.stderr.decode())
        self.assertIn(f'byte {len(good) + 3} of ', capture.info()['import.first-malformed'])

    def test_nothing_to_show(self):
        for text, why in (('', 'is empty'), ('[]', 'nothing to show'), ('{}', 'traceEvents'),
                          ('{"traceEvents": []}', 'nothing to show'),
                          ('[{"ph": "M", "name": "x"}]', 'nothing to show'),
                          ('no trace at all', 'neither a capture nor a trace'), ('{"a": 1}', 'traceEvents')):
            with self.subTest(text=text):
                done, _ = import_text(text)
                self.assertEqual(done.returncode, 1)
                self.assertIn(why, done.stderr.decode())

    def test_gzip(self):
        packed = gzip.compress(fixtures.text(fixtures.basic()).encode())
        expected = list(self.imported(fixtures.basic()).work())
        self.assertEqual(list(self.imported(packed).work()), expected)
        half = gzip.compress(fixtures.text(fixtures.basic())[:500].encode())
        rest = gzip.compress(fixtures.text(fixtures.basic())[500:].encode())
        self.assertEqual(list(self.imported(half + rest).work()), expected)
        cut = self.imported(packed[:-20])
        self.assertIn('import.cut', cut.info())
        done, _ = import_text(packed[:-20], '--strict')
        self.assertEqual(done.returncode, 1)

    # ---- Hatchet, folded ----

    def test_hatchet(self):
        capture = self.imported(fixtures.hatchet())
        ((correlation, name, _, start, end),) = capture.work()
        self.assertEqual((name, end - start), ('gemm', 61440))
        launch = capture.launches()[correlation]
        self.assertEqual(frames(capture, launch), ['python step', 'scope warmup'])
        self.assertEqual((launch['count'], launch['flops'], launch['bytes']),
                         ('3', '6000000000', '25165824'))
        self.assertIn('tokens=12', unquote(launch['metadata']))
        samples = sorted((r['line'], unquote(r['reason']) if 'reason' in r else '', int(r['count']))
                         for r in capture.records['PC_SAMPLE'])
        self.assertEqual(samples, [('17', '', 60), ('17', 'long_scoreboard', 120),
                                   ('17', 'wait', 30), ('18', '', 5)])
        self.assertEqual(host_time(capture), {'step;warmup': 910000})
        marks = [(r['kind'], unquote(r['name']), r.get('value')) for r in capture.records['MARK']]
        self.assertEqual(marks, [('push', '/srv/app/train.py:42@step', None),
                                 ('push', 'warmup', None), ('metric', 'loss', '0.25'),
                                 ('pop', 'warmup', None),
                                 ('pop', '/srv/app/train.py:42@step', None)])
        (device,) = capture.records['DEVICE']
        self.assertEqual((unquote(device['name']), device['units']), ('CUDA 90', '132'))

    def test_hatchet_cut_short(self):
        text = fixtures.text(fixtures.hatchet())
        capture = self.imported(text[:-60])
        self.assertEqual([w[1] for w in capture.work()], ['gemm'])
        self.assertEqual(capture.number('dropped'), 1)
        done, _ = import_text(text[:-60], '--strict')
        self.assertEqual(done.returncode, 1)

    def test_rocprof(self):
        capture = self.imported(fixtures.rocprof())
        self.assertEqual(sorted(w[1:] for w in capture.work()), [
            ('MEMORY_COPY_HOST_TO_DEVICE', 'copy', 3000, 3100),
            ('gemm(float*)', 'kernel', 2000, 2750)])
        path, launch = launch_of(capture, 'gemm(float*)')
        self.assertEqual(path, ['native hipLaunchKernel'])
        self.assertEqual((launch['grid'], launch['block']), ('10,1,1', '64,2,1'))
        devices = {r['id']: (r.get('index', '0'), unquote(r['name']), r['units'])
                   for r in capture.records['DEVICE']}
        (work,) = capture.records['DISPATCH']
        self.assertEqual(devices[work['device']], ('1', 'gfx942 X', '304'))
        self.assertNotIn('secret', json.dumps(capture.info()))
        self.assertEqual(unquote(capture.records['HEADER'][0]['source']), 'rocprof')

    def test_rocprof_cut_short(self):
        text = fixtures.text(fixtures.rocprof())
        capture = self.imported(text[:text.index('"kernel_symbols"')])
        self.assertIn('[unknown kernel]', [w[1] for w in capture.work()])
        self.assertIn('import.cut', capture.info())

    def test_folded(self):
        capture = self.imported(fixtures.folded())
        self.assertEqual(host_time(capture), {
            'app;main;run': 10, 'app;main;do_syscall_64': 3,
            'app;py::step (train.py:14);clEnqueueNDRangeKernel;-;mm.cl:7;mm;'
            'send.ugm (32|M0);sbid;0x1a0': 5,
            'app;[idle: host late]': 2})
        kinds = {unquote(o['name']): o.get('frame_kind') for o in capture.objects.values()}
        # Numbers of base/frame.h.
        self.assertEqual(kinds, {
            'app': '5', 'main': '5', 'run': '5', 'do_syscall_64': '6',
            'py::step (train.py:14)': '3', 'clEnqueueNDRangeKernel': '5', '-': '7',
            'mm.cl:7': '8', 'mm': '9', 'send.ugm (32|M0)': '11', 'sbid': '12', '0x1a0': '11',
            '[idle: host late]': '13'})

    def test_folded_with_common_beginnings(self):
        """Lines in an order that makes all use of what was seen, against their plain sums."""
        hosts = [';'.join(f'py::f{(h >> i) % 7} (model.py:{i})' for i in range(8)) for h in range(60)]
        sums = collections.Counter()
        lines = []
        for i in range(4000):
            host = hosts[i * i % len(hosts)]
            stack = ';'.join((host, *(('-', f'k{i % 11}_[G]', f'l:{i % 13}_[G]', '0x10_[g]')[:i % 5])))
            value = i % 17
            lines.append(f'{stack} {value}\n')
            sums[re.sub(r'_\[.\]', '', stack)] += value
        capture = self.imported(''.join(lines))
        self.assertEqual(host_time(capture), +sums)

    def test_folded_with_long_lines(self):
        """Names of megabytes are cut, and say so; the lines around them are whole."""
        text = f'a;b 1\na;{"x" * 5_000_000};c 2\na;{"y;" * 400_000}d 3\na;b 4\n'
        capture = self.imported(text)
        times = host_time(capture)
        self.assertEqual(times.pop('a;b'), 5)
        self.assertEqual(times.pop('a;' + 'x' * (65536 - 5) + '[cut];c'), 2)
        # Of a path without end the frames at the leaf are kept.
        self.assertEqual(times, {'y;' * 4095 + 'd': 3})
        self.assertIn('ends:too-deep', [s.get('flags') for s in capture.records['STACK']])
        self.assertEqual(self.imported(text.replace('\n', '\r\n')).records['STACK'], capture.records['STACK'])

    def test_folded_that_begins_with_a_long_line(self):
        """Longer than all that a format is known by; what else has no line break is still not taken for one."""
        line = f'a;{"x" * 100_000};c 2\n'
        self.assertEqual(sum(host_time(self.imported(line + 'a;b 4\n')).values()), 6)
        for other in '{' + line, '[' + line, line.replace(';', ','):
            done, _ = import_text(other)
            self.assertEqual(done.returncode, 1)
            self.assertIn(b'is neither a capture nor a trace of a known format', done.stderr)

    # ---- files ----

    def test_format_option(self):
        done, _ = import_text(fixtures.folded(), '--format', 'hatchet')
        self.assertEqual(done.returncode, 1)
        done = run('import', '--format', 'nonsense', 'x')
        self.assertEqual(done.returncode, 129)

    def test_folder_of_ranks(self):
        with tempfile.TemporaryDirectory() as folder:
            for rank in (10, 2, 0):
                with gzip.open(os.path.join(folder, f'rank{rank}.json.gz'), 'wt') as file:
                    json.dump(fixtures.trace(fixtures.op(f'op{rank}', rank, 5, 1)), file)
            with open(os.path.join(folder, 'README'), 'w') as file:
                file.write('not a trace\n')
            done, capture = import_files(folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual([r['rank'] for r in capture.records['PROCESS']], ['1', '2', '3'])
            self.assertEqual(list(host_time(capture)), ['op0', 'op2', 'op10'])

    def test_rank_of_the_file(self):
        value = fixtures.trace(fixtures.op('a', 0, 5, 1),
                               distributedInfo={'backend': 'nccl', 'rank': 5, 'world_size': 8})
        capture = self.imported(value)
        self.assertEqual(capture.records['PROCESS'][0]['rank'], '6')
        self.assertEqual(capture.info()['trace.distributedInfo.world_size'], '8')

    def test_no_secrets(self):
        value = fixtures.trace(fixtures.op('a', 0, 5, 1), metadata={'env': {'TOKEN': 'hf_secret'}},
                               traceName='/home/alice/x.json', host_name='alice-host')
        capture = self.imported(value)
        self.assertNotIn('alice', json.dumps(capture.info()))
        self.assertNotIn('secret', json.dumps(capture.info()))

    def test_standard_input(self):
        with tempfile.TemporaryFile() as file:
            file.write(fixtures.text(fixtures.basic()).encode())
            file.seek(0)
            done = run('import', '-o', '-', '-', stdin=file)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(len(done.stdout), 100)


def launch_of_first(capture, name):
    launches = capture.launches()
    return frames(capture, launches[next(w[0] for w in capture.work() if w[1] == name)])


if __name__ == '__main__':
    unittest.main()
