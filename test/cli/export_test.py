# SPDX-License-Identifier: Apache-2.0
"""accel-prof export: every format read back by what reads it, with the same sums to the last unit."""
import collections
import csv
import gzip
import io
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from chrome import step
from command import PROGRAM, SOURCE_DIR, run

TRACES = os.path.join(SOURCE_DIR, '..', 'shared', 'traces')
FLAMEGRAPH_PL = [path for path in ('/usr/share/perl5/Devel/NYTProf/flamegraph.pl',
                                   '/usr/bin/flamegraph.pl') if os.path.exists(path)]
DEEP = 300
HOSTILE = 'a"b\\c\td<&>\u202e%s,\x01'


def trace():
    events = step('Memcpy HtoD', begin=1000)
    events[-1].update(cat='gpu_memcpy', args={**events[-1]['args'], 'bytes': 4096})
    return json.dumps({'schemaVersion': 1,
                       'deviceProperties': [{'id': 0, 'name': 'Test GPU', 'numSms': 4}],
                       'cuda_runtime_version': 12000, 'traceEvents': events})


def strict_json(text):
    """As the standard has it: no NaN, and no key twice."""
    def pairs(items):
        keys = [key for key, _ in items]
        if len(set(keys)) != len(keys):
            raise ValueError(f'a key twice in {keys}')
        return dict(items)

    def refuse(word):
        raise ValueError(word)
    return json.loads(text, object_pairs_hook=pairs, parse_constant=refuse)


def folded(text):
    lines = collections.Counter()
    for line in text.splitlines():
        path, value = line.rsplit(' ', 1)
        # Kernels whose short names are equal are numbered as they come.
        lines[re.sub(r' #\d+(?=_\[G\])', '', path)] += int(value)
    return lines


# ---- pprof, by the rules of protocol buffers' encoding ----

def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 128:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            assert key & 7 == 2, key
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size
        yield key >> 3, value


def message(data):
    result = collections.defaultdict(list)
    for number, value in fields(data):
        result[number].append(value)
    return result


def packed(values):
    """Of a repeated number: packed, or one by one."""
    numbers = []
    for value in values:
        if isinstance(value, int):
            numbers.append(value)
            continue
        at = 0
        while at < len(value):
            number, at = varint(value, at)
            numbers.append(number)
    return numbers


class Pprof:
    """What pprof's own reader wants to be true (profile.CheckValid), and the samples by path."""

    def __init__(self, data):
        top = message(gzip.decompress(data))
        self.strings = [text.decode() for text in top[6]]
        assert self.strings[0] == ''
        self.types = [(self.text(t, 1), self.text(t, 2)) for t in map(message, top[1])]
        self.default = self.strings[top[14][0]]
        functions = {m[1][0]: m for m in map(message, top[5])}
        self.mappings = {m[1][0]: m for m in map(message, top[3])}
        locations = {m[1][0]: m for m in map(message, top[4])}
        assert len(functions) == len(top[5]) and len(locations) == len(top[4])
        assert 0 not in functions and 0 not in locations and 0 not in self.mappings
        names = {} # of a location: outermost first
        for number, location in locations.items():
            mapping = location.get(2, [0])[0]
            assert not mapping or mapping in self.mappings
            names[number] = [self.text(functions[message(line)[1][0]], 2)
                             for line in reversed(location[4])]
        self.inlined = [found for found in names.values() if len(found) > 1]
        self.samples = collections.defaultdict(lambda: [0] * len(self.types))
        self.labels = {}
        for sample in map(message, top[2]):
            values = packed(sample[2])
            assert len(values) == len(self.types)
            path = tuple(name for i in reversed(packed(sample[1])) for name in names[i])
            for i, value in enumerate(values):
                self.samples[path][i] += value
            self.labels[path] = {self.text(m, 1): self.text(m, 2) for m in map(message, sample[3])}

    def text(self, m, number):
        return self.strings[m.get(number, [0])[0]]

    def total(self, metric):
        index = [name for name, _ in self.types].index(metric)
        return sum(values[index] for values in self.samples.values())


def check_nesting(test, document):
    """B and E pair up, spans of a line nest, times are in the order of the file for B and E."""
    open_frames, spans = collections.defaultdict(list), collections.defaultdict(list)
    last = {}
    for event in document['traceEvents']:
        line = event['pid'], event['tid']
        if event['ph'] in 'BE':
            test.assertGreaterEqual(event['ts'], last.get(line, event['ts']))
            last[line] = event['ts']
        if event['ph'] == 'B':
            open_frames[line].append(event)
        elif event['ph'] == 'E':
            test.assertGreaterEqual(event['ts'], open_frames[line].pop()['ts'])
        elif event['ph'] == 'X':
            spans[line].append((event['ts'], -event['dur']))
    test.assertFalse([f for f in open_frames.values() if f])
    test.assertFalse(set(open_frames) & set(spans))
    for line in spans.values():
        ends = []
        for start, duration in sorted(line):
            while ends and ends[-1] <= start + 1e-9:
                ends.pop()
            test.assertTrue(not ends or start - duration <= ends[-1] + 1e-6)
            ends.append(start - duration)


class Formats(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.trace = self.file('trace.json', trace())
        deep = ';'.join(['main'] + [f'f{i}' for i in range(DEEP)])
        self.hostile = self.file('hostile.folded', f'main;{HOSTILE} 7\n{deep} 5\nmain;b_[k] 3\n')

    def file(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        return path

    def export(self, form, *args, source=None):
        path = os.path.join(self.folder, 'out.' + form)
        done = run('export', '--format', form, '-o', path, *args, source or self.trace)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, '', ''))
        with open(path, 'rb') as file:
            return file.read()

    def totals(self, source=None):
        """Of each metric, by another command."""
        known = {}
        for metric in ('wall', 'device-time', 'launches', 'cpu-samples', 'cpu-time', 'bytes'):
            done = run('flamegraph', '--full', '--format', 'folded', '--metric', metric,
                       source or self.trace)
            if done.returncode == 0:
                known[metric] = sum(folded(done.stdout).values())
        return known

    def test_hand_calculated(self):
        self.assertEqual({k: v for k, v in self.totals().items() if k != 'cpu-time'},
                         {'wall': 300000, 'device-time': 180000, 'launches': 3, 'bytes': 4096})

    def test_pprof(self):
        profile = Pprof(self.export('pprof'))
        self.assertEqual(profile.default, 'wall')
        self.assertEqual(dict(profile.types)['device-time'], 'nanoseconds')
        self.assertEqual(dict(profile.types)['launches'], 'count')
        for metric, total in self.totals().items():
            self.assertEqual(profile.total(metric), total, metric)
        path = ('python3', 'py::main (train.py:3)', 'py::<step> (train.py:9)', 'cudaLaunchKernel',
                '-', 'gemm')
        index = [name for name, _ in profile.types].index('device-time')
        self.assertEqual(profile.samples[path][index], 80000)
        self.assertEqual(profile.labels[path],
                         {'kernel': 'gemm', 'process': 'python3', 'device': 'Test GPU',
                          'device-id': '0', 'stream': '7'})
        self.assertEqual(self.export('pprof'), self.export('pprof'))

    @unittest.skipUnless(shutil.which('go'), 'needs go')
    def test_go_reads_pprof(self):
        self.export('pprof')
        done = subprocess.run(['go', 'tool', 'pprof', '-sample_index=device-time', '-top', '-unit=ns',
                               os.path.join(self.folder, 'out.pprof')],
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r'of 180000ns total')
        self.assertRegex(done.stdout, r'100000ns .* Memcpy HtoD')

    def test_protobuf_reads_pprof(self):
        try:
            from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
        except ImportError:
            self.skipTest('needs python3-protobuf')
        if not shutil.which('protoc'):
            self.skipTest('needs protoc')
        proto = os.path.join(SOURCE_DIR, 'lib', 'export', 'pprof.proto')
        out = os.path.join(self.folder, 'pprof.set')
        subprocess.run(['protoc', '-I', os.path.dirname(proto), '-o', out, proto], check=True)
        pool = descriptor_pool.DescriptorPool()
        with open(out, 'rb') as file:
            for item in descriptor_pb2.FileDescriptorSet.FromString(file.read()).file:
                pool.Add(item)
        profile = message_factory.MessageFactory(pool).GetPrototype(
            pool.FindMessageTypeByName('pprof.Profile'))()
        profile.ParseFromString(gzip.decompress(self.export('pprof')))
        names = [profile.string_table[t.type] for t in profile.sample_type]
        self.assertEqual(sum(s.value[names.index('device-time')] for s in profile.sample), 180000)

    def check_speedscope(self, document):
        """https://www.speedscope.app/file-format-schema.json: what it requires, for this type."""
        self.assertEqual(document['$schema'], 'https://www.speedscope.app/file-format-schema.json')
        self.assertLessEqual(set(document), {'$schema', 'activeProfileIndex', 'exporter', 'name',
                                             'profiles', 'shared'})
        for frame in document['shared']['frames']:
            self.assertLessEqual(set(frame), {'name', 'file', 'line', 'col'})
            self.assertIsInstance(frame['name'], str)
            self.assertIsInstance(frame.get('line', 0), int)
        self.assertLess(document['activeProfileIndex'], len(document['profiles']))
        for profile in document['profiles']:
            self.assertEqual(set(profile), {'type', 'name', 'unit', 'startValue', 'endValue',
                                            'samples', 'weights'})
            self.assertEqual(profile['type'], 'sampled')
            self.assertIn(profile['unit'], {'bytes', 'microseconds', 'milliseconds', 'nanoseconds',
                                            'none', 'seconds'})
            self.assertEqual(len(profile['samples']), len(profile['weights']))
            self.assertEqual(sum(profile['weights']), profile['endValue'] - profile['startValue'])
            for sample in profile['samples']:
                self.assertTrue(all(0 <= i < len(document['shared']['frames']) for i in sample))

    def test_speedscope(self):
        document = strict_json(self.export('speedscope'))
        self.check_speedscope(document)
        totals = {p['name']: p['endValue'] for p in document['profiles']}
        for metric, total in self.totals().items():
            self.assertEqual(totals[metric], total)
        self.assertEqual(document['profiles'][document['activeProfileIndex']]['name'], 'wall')

    def test_chrome(self):
        document = strict_json(self.export('chrome'))
        check_nesting(self, document)
        events = document['traceEvents']
        work = [e for e in events if e.get('cat') in ('kernel', 'gpu_memcpy')]
        self.assertEqual([(e['name'], e['ts'], e['dur']) for e in work],
                         [('gemm', 100, 50), ('gemm', 200, 30), ('Memcpy HtoD', 300, 100)])
        self.assertEqual([e['args'].get('bytes') for e in work], [None, None, 4096])
        idle = [e for e in events if e.get('cat') == 'idle']
        self.assertEqual(sum(round(e['dur'] * 1000) for e in idle), 120000)
        starts = {e['id']: e['ts'] for e in events if e['ph'] == 's'}
        ends = {e['id']: e['ts'] for e in events if e['ph'] == 'f'}
        self.assertEqual(sorted((starts[i], ends[i]) for i in ends),
                         [(90, 100), (180, 200), (290, 300)])
        calls = {e['args']['correlation'] for e in events if e['ph'] == 'B' and 'args' in e}
        self.assertEqual(calls, {e['args']['correlation'] for e in work})

    def check_hatchet(self, document):
        self.assertEqual(len(document), 2)
        sums = collections.Counter()

        def visit(node):
            self.assertEqual(set(node), {'frame', 'metrics', 'children'})
            self.assertEqual(set(node['frame']), {'name', 'type'})
            for key, value in node['metrics'].items():
                self.assertIn(key, set(document[0]['metrics']) | {'device_id', 'device_type'})
                if isinstance(value, int):
                    sums[key] += value
            for child in node['children']:
                visit(child)
        visit(document[0])
        self.assertEqual(document[0]['frame']['name'], 'ROOT')
        self.assertEqual(set(document[0]['metrics'].values()), {0})
        return sums

    def test_hatchet(self):
        document = strict_json(self.export('hatchet'))
        sums = self.check_hatchet(document)
        self.assertEqual((sums['time (ns)'], sums['count'], sums['wall (ns)'], sums['bytes']),
                         (180000, 3, 300000, 4096))
        self.assertEqual(document[1], {'CUDA': {'0': {'arch': 'Test GPU', 'num_sms': 4}}})
        step = document[0]['children'][0]['children'][0]['children'][0]
        self.assertEqual(step['frame']['name'], 'train.py:9@<step>')
        kernel, = [n for n in step['children'][0]['children'] if n['frame']['name'] == 'gemm']
        self.assertEqual({k: v for k, v in kernel['metrics'].items() if k.startswith('device')},
                         {'device_id': '0', 'device_type': 'CUDA'})
        with open(os.path.join(self.folder, 'out.hatchet.meta.json'), encoding='utf-8') as file:
            meta = strict_json(file.read())
        kinds = {m['key']: (m['type'], m['total']) for m in meta['metrics']}
        self.assertEqual(kinds['time (ns)'], ('inclusive', 180000))

    def test_folded(self):
        text = self.export('folded', '--metric', 'device-time').decode()
        self.assertEqual(sum(folded(text).values()), 180000)
        self.assertIn('python3;py::main (train.py:3);py::<step> (train.py:9);cudaLaunchKernel;-;'
                      'gemm_[G] 80000', text.splitlines())
        self.assertEqual(sum(folded(self.export('folded').decode()).values()), 300000)

    @unittest.skipUnless(FLAMEGRAPH_PL and shutil.which('perl'), 'needs flamegraph.pl')
    def test_flamegraph_pl_reads_it(self):
        for source, total in ((self.trace, '300,000'), (self.hostile, '15')):
            lines = self.export('folded', source=source)
            done = subprocess.run(['perl', FLAMEGRAPH_PL[0]], input=lines, capture_output=True,
                                  timeout=60)
            self.assertEqual((done.returncode, done.stderr), (0, b''))
            self.assertIn(f'<title>all ({total} samples, 100%)</title>', done.stdout.decode())

    def test_perf_script(self):
        """The header by the Firefox Profiler's expression, frames by stackcollapse-perf.pl's."""
        header = re.compile(r'^\S.*?\s+(?:\d+/)?\d+\s+(?:\[\d+\]\s+)?[\d.]+:\s+(\d+)\s+(\S+):')
        frame = re.compile(r'^\s*(\w+)\s*(.+) \((.*)\)$')
        sums, stacks = collections.Counter(), collections.Counter()
        for block in self.export('perf-script').decode().split('\n\n'):
            if not block:
                continue
            lines = block.split('\n')
            value, event = header.match(lines[0]).groups()
            names = [frame.match(line).group(2) for line in lines[1:]]
            sums[event] += int(value)
            stacks[event, ';'.join(reversed(names))] += int(value)
        totals = self.totals()
        self.assertEqual(sums, {'launches': 3, 'device-time': 180000, 'cpu-time': totals['cpu-time']})
        self.assertEqual(stacks['device-time', 'py::main (train.py:3);py::<step> (train.py:9);'
                                'cudaLaunchKernel;-;gemm'], 80000)

    def test_tables(self):
        document = strict_json(self.export('json'))
        rows = list(csv.DictReader(io.StringIO(self.export('csv').decode(), newline='')))
        self.assertEqual(len(rows), len(document['nodes']))
        for metric, total in self.totals().items():
            self.assertEqual(sum(n.get('self', {}).get(metric, 0) for n in document['nodes']), total)
            self.assertEqual(document['nodes'][0]['total'][metric], total)
            self.assertEqual(sum(int(row[metric + ' self']) for row in rows), total)
            self.assertEqual(int(rows[0][metric + ' total']), total)
        self.assertEqual([row['name'] for row in rows], [n['name'] for n in document['nodes']])

    def test_hostile_names_and_depth(self):
        pprof = Pprof(self.export('pprof', source=self.hostile))
        self.assertEqual(pprof.total('cpu-samples'), 15)
        self.assertEqual(max(len(path) for path in pprof.samples), DEEP + 1)
        self.check_speedscope(strict_json(self.export('speedscope', source=self.hostile)))
        self.assertEqual(self.check_hatchet(strict_json(self.export('hatchet', source=self.hostile)))
                         ['cpu-samples'], 15)
        check_nesting(self, strict_json(self.export('chrome', source=self.hostile)))
        names = {n['name'] for n in strict_json(self.export('json', source=self.hostile))['nodes']}
        self.assertIn(HOSTILE, names)
        rows = list(csv.DictReader(io.StringIO(self.export('csv', source=self.hostile).decode())))
        self.assertEqual(sum(int(row['cpu-samples self']) for row in rows), 15)
        self.assertEqual(self.export('perf-script', source=self.hostile).decode().count('\n\n'), 3)

    def test_filters(self):
        lines = folded(self.export('folded', '--kernel', 'gemm', '--metric', 'device-time').decode())
        self.assertEqual(list(lines.values()), [80000])
        events = strict_json(self.export('chrome', '--kernel', 'gemm'))['traceEvents']
        self.assertEqual([e['name'] for e in events if e.get('cat') in ('kernel', 'gpu_memcpy')],
                         ['gemm', 'gemm'])

    def test_mistakes(self):
        for args, status, text in [
                ([], 129, 'which format? --format folded, pprof, speedscope'),
                (['--format', 'png'], 129, "no format 'png': folded, pprof"),
                (['--format', 'folded', '--metric', 'no'], 1, "unknown metric 'no'"),
                (['--format', 'json', '--metric', 'no'], 1, "nothing of 'no' to export"),
                (['--format', 'pprof', '--pid', '99'], 1, 'nothing to export'),
                (['--format', 'chrome', '--pid', 'x'], 1, 'pid')]:
            done = run('export', *args, self.trace)
            self.assertEqual((done.returncode, done.stdout), (status, ''), args)
            self.assertIn(text, done.stderr)
        for form in ('folded', 'speedscope', 'chrome', 'hatchet', 'perf-script', 'csv', 'json', 'pprof'):
            with open('/dev/full', 'wb') as full:
                done = subprocess.run([PROGRAM, 'export', '--format', form, self.trace],
                                      stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE,
                                      text=True, timeout=60)
            self.assertEqual(done.returncode, 1, form)
            self.assertIn('No space left on device', done.stderr, form)


class RoundTrip(unittest.TestCase):
    """Exported and imported again, a tree is the same."""

    def fold(self, path, metric):
        done = run('flamegraph', '--full', '--format', 'folded', '--metric', metric, path)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        return folded(done.stdout)

    def there_and_back(self, source, *, with_wall=True):
        with tempfile.TemporaryDirectory() as folder:
            for form, metrics in (('chrome', ['device-time', 'launches'] + ['wall'] * with_wall),
                                  ('hatchet', ['device-time', 'launches'])):
                out, back = os.path.join(folder, form), os.path.join(folder, 'back')
                done = run('export', '--format', form, '-o', out, source)
                self.assertEqual((done.returncode, done.stderr), (0, ''))
                done = run('import', '-o', back, out)
                self.assertEqual(done.returncode, 0, done.stderr)
                for metric in metrics:
                    with self.subTest(format=form, metric=metric):
                        self.assertEqual(self.fold(back, metric), self.fold(source, metric))
            out = os.path.join(folder, 'lines')
            run('export', '--format', 'folded', '--metric', 'device-time', '-o', out, source)
            self.assertEqual(self.fold(out, 'cpu-samples'), self.fold(source, 'device-time'))

    def test_small(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'trace.json')
            with open(path, 'w', encoding='utf-8') as file:
                file.write(trace())
            self.there_and_back(path)

    def test_real_traces(self):
        for name in ('h100_bert_small', 'b200_vllm_eager', 'h100_qwen_launched_before_window',
                     'mi300_resnet_backward_thread', 'mi210_gpu_only', 'torch_compile_triton'):
            path = os.path.join(TRACES, 'torch', name + '.json.gz')
            if not os.path.exists(path):
                self.skipTest(f'{path} is missing')
            with self.subTest(trace=name):
                self.there_and_back(path)

    def test_real_traces_nest(self):
        for name in ('diff_control', 'mi300_sglang_decode_graph'):
            path = os.path.join(TRACES, 'torch', name + '.json.gz')
            if not os.path.exists(path):
                self.skipTest(f'{path} is missing')
            done = run('export', '--format', 'chrome', path)
            self.assertEqual(done.returncode, 0, done.stderr)
            check_nesting(self, strict_json(done.stdout))


if __name__ == '__main__':
    unittest.main()
