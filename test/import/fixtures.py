# SPDX-License-Identifier: Apache-2.0
"""Small traces made by hand, for the tests here and the corpus of the fuzz targets.

Times are microseconds, as in the files; everything fits on a page of paper."""
import json


def span(name, cat, ts, dur, tid=1, pid=10, **args):
    return {'ph': 'X', 'cat': cat, 'name': name, 'pid': pid, 'tid': tid, 'ts': ts, 'dur': dur,
            'args': args}


def python(name, ts, dur, number, parent=None, tid=1):
    return span(name, 'python_function', ts, dur, tid,
                **{'Python id': number, 'Python parent id': parent})


def op(name, ts, dur, external, tid=1, **args):
    return span(name, 'cpu_op', ts, dur, tid, **{'External id': external, **args})


def call(name, ts, dur, correlation, tid=1, **args):
    return span(name, 'cuda_runtime', ts, dur, tid, correlation=correlation, **args)


def kernel(name, ts, dur, correlation, stream=7, **args):
    return span(name, 'kernel', ts, dur, tid=stream, pid=0, device=0, stream=stream,
                correlation=correlation, grid=[2, 1, 1], block=[128, 1, 1], **args)


def trace(*events, **keys):
    return {'schemaVersion': 1, 'deviceProperties': [{'id': 0, 'name': 'Test GPU', 'numSms': 4}],
            **keys, 'traceEvents': list(events)}


def basic():
    """train -> step -> Linear -> linear -> aten::linear -> cudaLaunchKernel, a copy and a wait."""
    return trace(
        python('train.py(10): train', 0, 100, 1),
        span('ProfilerStep#3', 'user_annotation', 5, 90),
        python('train.py(20): step', 10, 80, 2, 1),
        python('nn.Module: Linear_0', 12, 30, 3, 2),
        python('torch/nn/modules/linear.py(124): forward', 13, 28, 4, 3),
        python('<built-in function linear at 0x7f0012>', 14, 26, 5, 4),
        op('aten::linear', 15, 24, 1, **{'Input Dims': [[8, 16], [16, 4]],
                                         'Input type': ['float', 'float']}),
        call('cudaLaunchKernel', 20, 5, 101),
        kernel('gemm', 26, 10, 101),
        op('aten::copy_', 50, 20, 2),
        call('cudaMemcpyAsync', 52, 4, 102),
        span('Memcpy DtoH (Device -> Pageable)', 'gpu_memcpy', 57, 3, tid=7, pid=0, device=0,
             stream=7, correlation=102, bytes=64),
        call('cudaStreamSynchronize', 58, 10, 103),
        baseTimeNanoseconds=1700000000000000000)


def backward(by='flow'):
    """The forward op on thread 1 under Python, its backward on thread 2 without any."""
    numbers = {} if by == 'flow' else {'Sequence number': 7}
    events = [
        python('train.py(10): train', 0, 200, 1),
        python('model.py(5): forward', 10, 50, 2, 1),
        op('aten::mm', 20, 30, 1, **numbers),
        call('cudaLaunchKernel', 30, 5, 101),
        kernel('mm', 40, 10, 101),
        python('<built-in method run_backward of _EngineBase object at 0x55>', 100, 90, 3, 1),
        op('autograd::engine::evaluate_function: MmBackward0', 110, 30, 2, tid=2),
        op('MmBackward0', 112, 26, 3, tid=2,
           **(numbers and {**numbers, 'Fwd thread id': 1})),
        call('cudaLaunchKernel', 120, 5, 102, tid=2),
        kernel('mm_backward', 130, 10, 102),
        op('autograd::engine::evaluate_function: torch::autograd::AccumulateGrad', 150, 10, 4,
           tid=2),
        call('cudaLaunchKernel', 152, 5, 103, tid=2),
        kernel('add', 160, 10, 103),
    ]
    if by == 'flow':
        events += [
            {'ph': 's', 'id': 1, 'cat': 'fwdbwd', 'name': 'fwdbwd', 'pid': 10, 'tid': 1, 'ts': 20},
            {'ph': 'f', 'id': 1, 'cat': 'fwdbwd', 'name': 'fwdbwd', 'pid': 10, 'tid': 2, 'ts': 112,
             'bp': 'e'}]
    return trace(*events)


def graph(with_capture=True, named=True):
    """Two layers captured at two lines, and two replays of the graph."""
    def launch(ts, correlation, name):
        return call('hipLaunchKernel', ts, 2, correlation, **({'kernel': name} if named else {}))
    captured = [
        python('capture.py(1): capture', 0, 100, 1),
        call('hipStreamBeginCapture', 5, 2, 1),
        python('model.py(7): first', 10, 20, 2, 1),
        launch(12, 2, 'relu'),
        python('model.py(9): second', 40, 20, 3, 1),
        launch(42, 3, 'gemm'),
        call('hipMemcpyAsync', 50, 2, 4),
        call('hipStreamEndCapture', 90, 2, 5)]
    replays = [python('serve.py(3): decode', 200, 300, 4)]
    for start in (210, 310):
        number = 100 + start
        replays += [call('hipGraphLaunch', start, 5, number),
                    kernel('relu', start + 10, 10, number),
                    kernel('gemm', start + 30, 20, number),
                    span('Memcpy DtoD', 'gpu_memcpy', start + 60, 5, tid=7, pid=0, device=0,
                         stream=7, correlation=number, bytes=8)]
    return trace(*(captured if with_capture else []), *replays)


def proton():
    """Proton's own trace: the stack comes with the kernel, threads and streams are lanes."""
    def lane(tid, name):
        return {'ph': 'M', 'pid': 0, 'tid': tid, 'name': 'thread_name', 'args': {'name': name}}
    return {'displayTimeUnit': 'us', 'traceEvents': [
        lane(1, 'CPU Thread 1'), lane(200007, 'GPU Stream 7'),
        {'ph': 'X', 'cat': 'scope', 'name': 'layer', 'pid': 0, 'tid': 1, 'ts': 0.0, 'dur': 20.5,
         'args': {'call_stack': ['ROOT', '/srv/app/train.py:42@step', 'layer']}},
        {'ph': 's', 'id': 4, 'cat': 'flow', 'name': 'launch->kernel', 'bp': 'e', 'pid': 0,
         'tid': 1, 'ts': 0.0},
        {'ph': 'f', 'id': 4, 'cat': 'flow', 'name': 'launch->kernel', 'bp': 'e', 'pid': 0,
         'tid': 200007, 'ts': 25.5},
        {'ph': 'X', 'cat': 'kernel', 'name': 'gemm_tile', 'pid': 0, 'tid': 200007, 'ts': 25.5,
         'dur': 4.096, 'args': {'call_stack': ['ROOT', '/srv/app/train.py:42@step', 'layer',
                                               'gemm_tile'],
                                'metrics': {'flops16': '1e9'}}}]}


def inside():
    """Proton's instrumentation: two warps of one block, scopes in each other, strings for ids."""
    def part(name, warp, ts, dur):
        return {'ph': 'X', 'cname': 'good', 'cat': 'attention', 'name': name,
                'pid': 'kernel Core0 CTA0', 'tid': f'warp {warp} (line 0)', 'ts': ts, 'dur': dur,
                'args': {'Init Time (ns)': 1000, 'Post Final Time (ns)': 9000,
                         'Finalization Time (ns)': 100, 'Frequency (MHz)': 1000.0,
                         'call_stack': ['ROOT', '/srv/app/train.py:42@step']}}
    return {'displayTimeUnit': 'ns', 'traceEvents': [
        part('main loop', 0, 0.5, 2.0), part('load', 0, 1.0, 0.5),
        part('main loop', 1, 0.6, 2.0)]}


def rocprof():
    """rocprofv3's JSON: a launch and its kernel, a copy, names apart from what they name."""
    def agent(handle, kind, name, units):
        return {'id': {'handle': handle}, 'type': kind, 'name': name, 'product_name': name + ' X',
                'cu_count': units}
    return {'rocprofiler-sdk-tool': [{
        'metadata': {'pid': 77, 'environment': ['TOKEN=secret']},
        'agents': [agent(5, 1, 'cpu', 8), agent(6, 2, 'gfx942', 304), agent(7, 2, 'gfx942', 304)],
        'buffer_records': {
            'kernel_dispatch': [{
                'kind': 1, 'operation': 2, 'thread_id': 9,
                'correlation_id': {'internal': 31, 'external': 0},
                'start_timestamp': 2000, 'end_timestamp': 2750,
                'dispatch_info': {'agent_id': {'handle': 7}, 'queue_id': {'handle': 3},
                                  'kernel_id': 4, 'workgroup_size': {'x': 64, 'y': 2, 'z': 1},
                                  'grid_size': {'x': 640, 'y': 2, 'z': 1}}}],
            'hip_api': [{'kind': 2, 'operation': 1, 'thread_id': 9,
                         'correlation_id': {'internal': 31, 'external': 0},
                         'start_timestamp': 1500, 'end_timestamp': 1600}],
            'memory_copy': [{'kind': 3, 'operation': 1, 'thread_id': 9,
                             'correlation_id': {'internal': 32, 'external': 0},
                             'start_timestamp': 3000, 'end_timestamp': 3100, 'bytes': 4096,
                             'dst_agent_id': {'handle': 6}, 'src_agent_id': {'handle': 5}}]},
        'kernel_symbols': [{'kernel_id': 4, 'kernel_name': '_Z4gemmPf.kd',
                            'formatted_kernel_name': 'gemm(float*)'}],
        'strings': {'buffer_records': [
            {'kind': 'NONE', 'operations': []},
            {'kind': 'KERNEL_DISPATCH', 'operations': ['NONE', 'ENQUEUE', 'COMPLETE']},
            {'kind': 'HIP_RUNTIME_API', 'operations': ['NONE', 'hipLaunchKernel']},
            {'kind': 'MEMORY_COPY', 'operations': ['NONE', 'MEMORY_COPY_HOST_TO_DEVICE']}]}}]}


def flex():
    """IBM's Flex runtime: a bare array of begins and ends, and the device's clock in `attr`."""
    attr = {'TS1': '100', 'TS2': '100', 'TS3': '120', 'TS4': '150', 'TS5': '160', 'Power': '77'}
    events = []
    for name, tid, start, end in (('add_1 Cmpt Prep', 15514734831341844875, 10, 20),
                                  ('add_1 DmaI', 2009867741857745393, 21, 25),
                                  ('add_1 Cmpt Exec', 2009867741857745393, 25, 40.5)):
        for phase, ts in (('B', start), ('E', end)):
            events.append({'attr': attr, 'name': name, 'ph': phase, 'pid': 0, 'tid': tid, 'ts': ts})
    return events


def hatchet():
    """Two launches of a kernel with stall samples by line, time on the host, a custom metric."""
    def node(name, children=(), **metrics):
        return {'frame': {'name': name, 'type': 'function'}, 'metrics': metrics,
                'children': list(children)}
    lines = [
        node('/srv/app/k.py:17@gemm', num_samples=210, num_stalled_samples=150,
             stalled_long_scoreboard=120, stalled_wait=30),
        node('/srv/app/k.py:18@gemm', num_samples=5)]
    time = {'time (ns)': 61440, 'count': 3, 'device_id': '0', 'device_type': 'CUDA',
            'flops16': 6.0e9, 'bytes': 25165824, 'tokens': 12}
    hidden = node('__proton_launch_metadata', [
        node('helper', **{'time (ns)': 999, 'count': 1, 'device_id': '0',
                          'device_type': 'CUDA'})])
    step = node('/srv/app/train.py:42@step', [
        node('warmup', [node('gemm', lines, **time)], **{'cpu_time (ns)(exc)': 910000,
                                                        'loss': 0.25}),
        hidden])
    return [node('ROOT', [step], **{'time (ns)': 0, 'count': 0}),
            {'CUDA': {'0': {'arch': '90', 'clock_rate': 1980000, 'num_sms': 132}}}]


def folded():
    return ('app;main;run 10\n'
            'app;main;do_syscall_64_[k] 3\n'
            'app;py::step (train.py:14);clEnqueueNDRangeKernel;-;mm.cl:7_[G];mm_[G];'
            'send.ugm (32|M0)_[g];sbid_[g];0x1a0_[g] 5\n'
            'app;[idle: host late] 2\n')


def text(value):
    return json.dumps(value)


# What a strict parser refuses, and what it holds all the same: (name, text, kept, dropped, mended).
def malformed():
    good = text(span('a', 'x', 0, 10))
    other = text(span('b', 'x', 20, 10))
    return [
        ('not closed', '[' + good + ',' + other, 2, 0, 0),
        ('comma at the end', '[' + good + ',' + other + ',', 2, 0, 0),
        ('comma before the bracket', '[' + good + ',' + other + ',]', 2, 0, 1),
        ('cut in a string', '[' + good + ', {"ph": "X", "name": "f', 1, 1, 0),
        ('cut in a number', '[' + good + ', {"ph": "X", "ts": 12', 1, 1, 0),
        ('NaN', '[' + good + ',' + other.replace('"args": {}', '"args": {"x": NaN}') + ']', 2, 0, 1),
        ('inf', '[' + other.replace('"args": {}', '"args": {"x": [1, -inf]}') + ',' + good + ']',
         2, 0, 1),
        ('quotes', '[' + good + ',' + other.replace('"b"', '"f("b", 1)"') + ']', 2, 0, 1),
        ('a string without an end', '[' + other.replace('"b"', '"b') + ',' + good + ']', 2, 0, 1),
        ('backslash', '[' + good.replace('"a"', '"C:\\x\\y"') + ',' + other + ']', 2, 0, 1),
        ('control', '[' + good.replace('"a"', '"a\x01\tb"') + ',' + other + ']', 2, 0, 1),
        ('no comma', '[' + good + other + ']', 2, 0, 1),
        ('garbage between', '[' + good + ', @@@ ,' + other + ']', 2, 1, 0),
        # What stands between two events counts once.
        ('no object', '[' + good + ', 17, null, "x",' + other + ']', 2, 1, 0),
        ('an array', '[' + good + ', [[1], {"ph": "X", "ts": 2}],' + other + ']', 2, 1, 0),
        ('arrays that stay open', '[' + good + ', [[[' + other, 1, 1, 0),
        ('no phase', '[' + good + ', {"name": "c"},' + other + ']', 2, 1, 0),
        ('no time', '[' + good + ', {"ph": "X", "name": "c"},' + other + ']', 2, 1, 0),
        ('time is a word', '[' + good + ', {"ph": "X", "ts": "soon"},' + other + ']', 2, 1, 0),
        ('time beyond any clock', '[' + good + ',' + other + ', {"ph": "B", "ts": -9e15}, '
         '{"ph": "E", "ts": 9e15}]', 2, 2, 0),
        ('args are a string', '[' + good + ',' + other.replace('{}', '"none"') + ']', 2, 0, 0),
        ('args are an array', '[' + good + ',' + other.replace('{}', '[1, [2]]') + ']', 2, 0, 0),
        ('huge integer', '[' + good + ',' +
         other.replace('{}', '{"Comms Id": 99999999999999999999999}') + ']', 2, 0, 0),
        ('bytes that are not UTF-8', b'[' + good.replace('"a"', '"a?"').encode()
         .replace(b'?', b'\xff\xfe') + b',' + other.encode() + b']', 2, 0, 0),
        ('mark at the front', b'\xef\xbb\xbf[' + good.encode() + b',' + other.encode() + b']',
         2, 0, 0),
        ('bad metadata', '{"x": nope, "traceEvents": [' + good + ',' + other + ']}', 2, 1, 0),
        ('bad metadata behind', '{"traceEvents": [' + good + ',' + other + '], "x": nope}', 2, 1, 0),
        ('member order', '{"traceEvents": [' + good + ',' + other +
         '], "baseTimeNanoseconds": 5000000000}', 2, 0, 0),
        ('two arrays', '{"traceEvents": [' + good + ',' + other + '], "traceEvents": [' + good +
         ']}', 2, 0, 0),
        ('deep', '[' + good + ', {"ph": "X", "ts": 1, "args": {"x": ' + '[' * 100 + ']' * 100 +
         '}}, ' + other + ']', 2, 1, 0),
    ]
