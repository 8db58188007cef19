# SPDX-License-Identifier: Apache-2.0
"""Python's frames among the native ones, for each CPython on this machine: every stack of
test/workload/python_stacks.py is known, as the interpreter itself tells it."""
import glob
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from collections import Counter

from command import PROGRAM, SOURCE_DIR, run

sys.path.append(os.path.join(SOURCE_DIR, 'test'))
import full

WORKLOAD = os.path.join(SOURCE_DIR, 'test/workload/python_stacks.py')
SECONDS = '2'


def version_of(path):
    text = subprocess.run([path, '-c', 'import sys; print("%d.%d" % sys.version_info[:2])'],
                          capture_output=True, text=True)
    return text.stdout.strip()


def find_pythons():
    """(version, path): the system's, pyenv's, and what $PYTHONS names."""
    paths = ['/usr/bin/python3']
    paths += sorted(glob.glob(os.path.expanduser('~/.pyenv/versions/*/bin/python3')))
    paths += os.environ.get('PYTHONS', '').split()
    found = []
    for path in paths:
        version = version_of(path) if os.path.exists(path) else ''
        if version and tuple(map(int, version.split('.'))) >= (3, 8):
            found.append((version, path))
    return found


def unquote(text):
    return re.sub(r'\\x([0-9a-f]{2})|\\(.)', lambda m: chr(int(m[1], 16)) if m[1] else m[2], text)


class Capture:
    """Samples of a file as [(time, flags, thread, frames)], innermost frame first; a frame is ('py', name,
    file, line), ('native', module, symbol) or ('missing', text)."""

    def __init__(self, path):
        objects, symbols, stacks, raw, launches = {}, {}, {}, [], []
        for line in run('dump', '-i', path).stdout.splitlines():
            kind, _, rest = line.partition(' ')
            if kind == 'OBJECT':
                o = re.match(r'id=(\d+) kind=(\S+)(?: flags=\S+)? name=\d+:"((?:[^"\\]|\\.)*)"'
                             r'(?: path=\d+:"((?:[^"\\]|\\.)*)")?', rest)
                objects[o[1]] = (o[2], unquote(o[3]), unquote(o[4] or ''))
            elif kind == 'SYMBOL':
                s = re.match(r'object=(\d+)\S* offset=0x([0-9a-f]+).*?"((?:[^"\\]|\\.)*)"', rest)
                if s:
                    symbols[s[1], int(s[2], 16)] = s[3]
            elif kind == 'STACK':
                number = re.match(r'id=(\d+)', rest)[1]
                flags = re.search(r' flags=(\S*)', rest)
                stacks[number] = (flags[1] if flags else '', [
                    (a, int(b, 16)) for a, b in
                    re.findall(r'(\d+):"(?:[^"\\]|\\.)*"\+0x([0-9a-f]+)', rest)])
            elif kind == 'LAUNCH':
                launches.append(stacks[re.search(r' stack=(\d+)', rest)[1]])
            elif kind == 'CPU_SAMPLE':
                raw.append((float(re.search(r'time=([\d.]+)', rest)[1]),
                            re.search(r' thread=(\d+)', rest)[1],
                            *stacks[re.search(r' stack=(\d+)', rest)[1]]))
        def named(frames):
            found = []
            for number, offset in frames:
                kind, name, path_ = objects[number]
                if kind == 'python':
                    found.append(('py', name, path_, offset))
                elif kind == 'missing':
                    found.append(('missing', name))
                else:
                    found.append(('native', name, symbols.get((number, offset), '')))
            return found
        self.samples = [(when, flags, thread, named(frames)) for when, thread, flags, frames in raw]
        self.launches = [(flags, named(frames)) for flags, frames in launches]

    def settled(self, seconds=0.5):
        begin = self.samples[0][0] if self.samples else 0
        return [s for s in self.samples if s[0] - begin >= seconds]


def read_truth(path):
    chains = set()
    with open(path, encoding='utf-8') as lines:
        for line in lines:
            chain = []
            for part in line.rstrip('\n').split('\t'):
                name, file, number = part.rsplit('|', 2)
                chain.append((name, file, int(number)))
            chains.add(tuple(chain))
    return chains


def wait_for(path, lines=1, process=None):
    """Until @path has so many lines."""
    for _ in range(2400):
        if os.path.exists(path):
            with open(path, encoding='utf-8') as text:
                if len(text.readlines()) >= lines:
                    return
        if process and process.poll() is not None:
            break
        time.sleep(0.05)
    raise AssertionError('%s has never had %d lines' % (path, lines))


class Judge:
    """Is a stack one that the interpreter told of?"""

    def __init__(self, chains, workload=WORKLOAD):
        self.chains = chains
        self.workload = workload
        self.callers = {c[i:] for c in chains for i in range(len(c))}
        self.outermost = {c[-1][:2] for c in chains}
        with open(WORKLOAD, encoding='utf-8') as source:
            text = source.read().splitlines()
        self.burn_first = 1 + next(i for i, l in enumerate(text) if l.startswith('def burn'))
        self.burn_last = self.burn_first + 5

    def verdict(self, frames):
        python = [f[1:] for f in frames if f[0] == 'py']
        # Where native frames were lost, Python's are all there and in order nevertheless.
        if any(f[0] == 'missing' and f[1] != '[truncated]' for f in frames):
            return 'missing'
        loops = [i for i, f in enumerate(frames)
                 if f[0] == 'native' and f[2].startswith('_PyEval_EvalFrameDefault')]
        if not python: # before, after, between
            return 'no python' if loops else 'native'
        first = next(i for i, f in enumerate(frames) if f[0] == 'py')
        if any(i > first for i in loops):
            return 'loop left over'
        burning = next((i for i, f in enumerate(python) if f[0] == 'burn'), None)
        if burning is not None:
            name, file, line = python[burning]
            if tuple(python[burning + 1:]) not in self.chains:
                return 'wrong callers'
            if file != self.workload or not self.burn_first <= line <= self.burn_last:
                return 'wrong line'
            return 'burn'
        # Between two burns, in a library's function, or in one that is on its way to burn().
        if len(python) == 1:
            return 'way' if python[0][:2] in self.outermost else 'edge'
        if any(tuple(python[i:]) in self.callers for i in range(1, len(python))):
            return 'way'
        # What the interpreter itself calls: import of site, finalisers at exit; and our imports.
        if python[-1][:2] == ('<module>', self.workload) and python[-1][2] < self.burn_first:
            return 'edge'
        return 'unknown' if any(f[1] == self.workload for f in python) else 'edge'


def explain(frames):
    return '\n    '.join('%s (%s:%d)' % f[1:] if f[0] == 'py' else ' '.join(f[:3]) for f in frames)


class Stacks(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.data = os.path.join(self.folder, 'a.data')
        self.truth = os.path.join(self.folder, 'truth')

    def judge(self, samples, title, least=99.9, workload=WORKLOAD):
        judge = Judge(read_truth(self.truth), workload)
        verdicts = Counter()
        examples = {}
        for when, flags, thread, frames in samples:
            verdict = judge.verdict(frames)
            # The recorder says itself that it had not found the interpreter by then.
            if 'python-late' in flags:
                verdict = 'early' if verdict == 'no python' else 'early with Python'
            verdicts[verdict] += 1
            examples.setdefault(verdict, (flags, frames))
        right = sum(verdicts[v] for v in ('burn', 'way', 'native', 'edge'))
        count = len(samples) - verdicts['early']
        share = 100.0 * right / count if count else 0
        print('%s: %d of %d stacks as expected, %.2f %%; %s' %
              (title, right, count, share, dict(verdicts)), flush=True)
        wrong = '\n'.join('%s, %s:\n    %s' % (v, f, explain(s)) for v, (f, s) in examples.items()
                          if v not in ('burn', 'way', 'native', 'edge', 'early'))
        if wrong:
            print(wrong, flush=True)
        self.assertGreater(count, 100)
        self.assertGreater(count, verdicts['early'])
        # 99.9 %; of few samples, all but one.
        self.assertLessEqual(count - right, max(1, (100 - least) / 100 * count))
        self.assertGreater(verdicts['burn'], 0.3 * count, verdicts)

    def test_each_version(self):
        for version, path in find_pythons():
            with self.subTest(python=path):
                if os.path.exists(self.truth):
                    os.unlink(self.truth)
                done = run('record', '-o', self.data, '-F', '499', '--', path, WORKLOAD, self.truth,
                           SECONDS)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.judge(Capture(self.data).settled(), path)



    def test_attached(self):
        """In the middle of it, to all of its threads."""
        for version, path in find_pythons():
            with self.subTest(python=path):
                if os.path.exists(self.truth):
                    os.unlink(self.truth)
                with subprocess.Popen([path, WORKLOAD, self.truth, SECONDS]) as target:
                    wait_for(self.truth, 50, target)
                    done = run('record', '-o', self.data, '-F', '499', '-p', str(target.pid))
                self.assertEqual(done.returncode, 0, done.stderr)
                self.judge(Capture(self.data).samples, 'attached to ' + path)

    def test_exec(self):
        """From one interpreter into another."""
        pythons = find_pythons()
        if len(pythons) < 2:
            self.skipTest('one Python only')
        done = run('record', '-o', self.data, '-F', '499', '--', pythons[0][1], WORKLOAD, self.truth,
                   '1.5', 'exec', pythons[-1][1])
        self.assertEqual(done.returncode, 0, done.stderr)
        capture = Capture(self.data)
        self.judge(capture.settled(), 'exec')
        self.check_told(capture)
        # Both had their turn.
        libraries = {f[2].rsplit('/', 1)[0] for s in capture.samples for f in s[3]
                     if f[0] == 'py' and f[2].endswith('/threading.py')}
        self.assertEqual(len(libraries), 2, libraries)

    def check_told(self, capture):
        """The report counts what came before an interpreter was found. How many those are."""
        late = sum('python-late' in s[1] for s in capture.samples)
        rows = json.loads(run('report', '--view', 'quality', '--json', self.data).stdout)
        told = [r['count'] for r in rows['quality'] if r['what'] == 'Python not yet found']
        self.assertEqual(told, [late] if late else [])
        return late

    def test_found_late(self):
        """A recorder that sleeps while an interpreter starts says so of each sample of it."""
        script = ('import time\n'
                  'def burn(seconds):\n'
                  '    end = time.process_time() + seconds\n'
                  '    while time.process_time() < end: pass\n'
                  'burn(0.5)\n'
                  'print("half", flush=True)\n'
                  'input()\n'
                  'burn(1)\n')
        with subprocess.Popen([PROGRAM, 'record', '-o', self.data, '-F', '199', '--', 'sh', '-c',
                               'echo here; read x; exec %s -c "$0"' % find_pythons()[-1][1], script],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as recorder:
            self.assertEqual(recorder.stdout.readline(), 'here\n')
            recorder.send_signal(signal.SIGSTOP)
            recorder.stdin.write('go\n')
            recorder.stdin.flush()
            self.assertEqual(recorder.stdout.readline(), 'half\n')
            recorder.send_signal(signal.SIGCONT)
            _, errors = recorder.communicate('go\n', timeout=240)
        self.assertEqual(recorder.returncode, 0, errors)
        capture = Capture(self.data)
        late = self.check_told(capture)
        self.assertGreater(late, 20)
        with_python = [any(f[0] == 'py' for f in s[3]) for s in capture.samples]
        self.assertGreater(sum(with_python), 20)
        # Not one of the interpreter's samples is without both.
        for (_, flags, _, frames), has_python in zip(capture.samples, with_python):
            if any(f[0] == 'native' and f[2].startswith('_PyEval_EvalFrameDefault') for f in frames):
                self.assertNotEqual('python-late' in flags, has_python, (flags, explain(frames)))
        self.assertIn('Python not yet found in', run('report', self.data).stdout)

    def test_inner_interpreter(self):
        """A thread that is in two interpreters has the frames of both, each where it was called."""
        script = os.path.join(SOURCE_DIR, 'test/workload/python_inner.py')
        with open(script, encoding='utf-8') as source:
            calls = [i for i, l in enumerate(source.read().splitlines(), 1)
                     if l.lstrip().startswith(('interpreters.run_string', 'outer()'))]
        expected = [('inner', '<string>', 8), ('<module>', '<string>', 9), ('outer', script, calls[0]),
                    ('<module>', script, calls[1])]
        for version, path in find_pythons():
            with self.subTest(python=path):
                done = run('record', '-o', self.data, '-F', '499', '--', path, script, '1')
                if done.returncode == 77:
                    continue
                self.assertEqual(done.returncode, 0, done.stderr)
                stacks = [[f[1:] for f in s[3] if f[0] == 'py'] for s in Capture(self.data).samples]
                inside = [s for s in stacks if any(f[0] == 'burn' for f in s)]
                right = [s for s in inside if s[0][0] == 'burn' and s[1:] == expected]
                print('inner %s: %d of %d' % (path, len(right), len(inside)), flush=True)
                self.assertGreater(len(inside), 20)
                self.assertLessEqual(len(inside) - len(right), max(1, 0.001 * len(inside)),
                                     [s for s in inside if s not in right][:1])

    def test_finalising(self):
        """An interpreter that ends: what runs at its exit, beside a thread that is not waited for, and
        what runs when it is taken down."""
        script = os.path.join(self.folder, 'ending.py')
        with open(script, 'w', encoding='utf-8') as out:
            out.write('import atexit, sys, threading, time\n'
                      'def burn(seconds, now=time.process_time):\n'
                      '    end = now() + seconds\n'
                      '    while now() < end: pass\n'
                      'def spin():\n'
                      '    while True: burn(0.01)\n'
                      'def ending(): burn(0.3)\n'
                      'class Last:\n'
                      '    def __del__(self, burn=burn): burn(0.2)\n'
                      'atexit.register(ending)\n'
                      'if sys.argv[1] == "thread":\n'
                      '    threading.Thread(target=spin, daemon=True).start()\n'
                      'else: last = Last()\n')
        for (version, path), how in itertools.product(find_pythons(), ('thread', 'last')):
            with self.subTest(python=path, how=how):
                done = run('record', '-o', self.data, '-F', '499', '--', path, script, how)
                self.assertEqual(done.returncode, 0, done.stderr)
                seen = Counter()
                for _, flags, _, frames in Capture(self.data).samples:
                    ours = [(f[1].split('.')[-1], f[3]) for f in frames if f[0] == 'py' and f[2] == script]
                    if ours and ours[0][0] == 'burn':
                        seen[tuple(ours[1:])] += 1
                expected = {(('ending', 7),), (('spin', 6),) if how == 'thread' else (('__del__', 9),)}
                self.assertEqual({chain for chain, count in seen.items() if count > 20}, expected, seen)
                self.assertLessEqual(sum(seen.values()) - sum(seen[e] for e in expected), 1, seen)

    def test_renamed(self):
        """A static interpreter without symbols, under a name that says nothing, which is deleted."""
        system = os.path.realpath('/usr/bin/python3')
        renamed = os.path.join(self.folder, 'worker')
        shutil.copy(system, renamed)
        env = dict(os.environ, PYTHONHOME='/usr', PYTHONPLATLIBDIR='lib')
        with subprocess.Popen([renamed, WORKLOAD, self.truth, SECONDS], env=env) as target:
            # It has spawned another of itself by then.
            wait_for(self.truth, 50, target)
            os.unlink(renamed)
            done = run('record', '-o', self.data, '-F', '499', '-p', str(target.pid))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.judge(Capture(self.data).samples, 'renamed')

    def other_roots(self):
        paths = os.environ.get('PYTHON_ROOTS', '').split()
        if not paths and full.is_full():
            try:
                folder = full.debian('sid', 'python3')
            except (OSError, subprocess.CalledProcessError) as error:
                self.skipTest('no newer Debian: %s' % error)
            paths = glob.glob(os.path.join(folder, 'usr/bin/python3.[0-9]*[0-9]'))
        if not paths:
            self.skipTest('not --full, and $PYTHON_ROOTS is not set')
        return paths

    def test_other_root(self):
        """Pythons of other systems, whose folders $PYTHON_ROOTS names: "ROOT/usr/bin/python3.14 ..."; each
        runs in its own root, as in a container, and with the compiler that CPython has where it has."""
        for path, jit in itertools.product(self.other_roots(), '01'):
            with self.subTest(python=path, jit=jit):
                if os.path.exists(self.truth):
                    os.unlink(self.truth)
                root, inside = re.match(r'(.*?)(/usr/bin/.*)', path).groups()
                folder = tempfile.mkdtemp(dir=os.path.join(root, 'tmp'))
                self.addCleanup(shutil.rmtree, folder)
                shutil.copy(WORKLOAD, folder)
                self.truth = os.path.join(folder, 'truth')
                there = '/' + os.path.relpath(folder, root)
                workload = there + '/' + os.path.basename(WORKLOAD)
                done = run('record', '-o', self.data, '-F', '499', '--', 'chroot', root, inside,
                           workload, there + '/truth', SECONDS, env={**os.environ, 'PYTHON_JIT': jit})
                self.assertEqual(done.returncode, 0, done.stderr)
                self.judge(Capture(self.data).settled(), path, workload=workload)

    def test_hostile(self):
        """Something that looks like an interpreter and leads astray costs little, and is told of."""
        hostile = os.path.join(os.environ['WORKLOAD_DIR'], 'python_hostile')
        for how, found in (('threads', {0}), ('frames', {1024}), ('nowhere', {2}), ('huge', {2}),
                           ('flicker', {2})):
            with self.subTest(how=how):
                done = run('record', '-o', self.data, '-F', '499', '--', hostile, '1.5', how)
                self.assertEqual(done.returncode, 0, done.stderr)
                samples = Capture(self.data).settled(0.3)
                self.assertGreater(len(samples), 20)
                ours = [[f for f in s[3] if f[0] in ('py', 'missing') and f[1] != '[truncated]']
                        for s in samples]
                self.assertEqual({len(frames) for frames in ours}, found)
                if how in ('nowhere', 'huge'):
                    self.assertEqual({f[1] for frames in ours for f in frames}, {'[python code gone]'})
                spent = float(re.search(r'([\d.]+) s \([\d.]+%', done.stderr)[1])
                self.assertLess(spent / len(samples), 0.002)

    def peers(self):
        """{name: function of a process id that gives its frames, innermost first}"""
        pystack = os.environ.get('PYSTACK') or shutil.which('pystack')
        spy = os.environ.get('PY_SPY') or shutil.which('py-spy')
        if full.is_full() and not (pystack and spy):
            folder = full.venv('python-peers', 'pystack', 'py-spy')
            pystack, spy = (os.path.join(folder, 'bin', name) for name in ('pystack', 'py-spy'))
        if not pystack and not spy:
            self.skipTest('no pystack or py-spy (PyPI; --full, or set $PYSTACK, $PY_SPY)')

        def by_pystack(pid):
            text = subprocess.run([pystack, 'remote', str(pid)], capture_output=True, text=True).stdout
            return [(n, f, int(l)) for f, l, n in
                    re.findall(r'File "(.*)", line (\d+), in (\S+)', text)][::-1]

        def by_spy(pid):
            text = subprocess.run([spy, 'dump', '--json', '--nonblocking', '-p', str(pid)],
                                  capture_output=True, text=True).stdout
            return [(f['name'].split('.')[-1], f['filename'], f['line'])
                    for f in json.loads(text)[0]['frames']]
        return ({'pystack': by_pystack} if pystack else {}) | ({'py-spy': by_spy} if spy else {})

    def test_beside_peers(self):
        """A process that goes round in its innermost frame, then stands still: others' view and ours."""
        peers = self.peers()
        code = ('def leaf():\n print("there", flush=True)\n while True: pass\n'
                'def rec(d, f):\n return f() if d == 0 else rec(d - 1, f)\n'
                'def gen():\n yield rec(5, leaf)\n'
                'def main():\n return list(map(lambda x: next(gen()), [1]))\nmain()\n')
        script = os.path.join(self.folder, 'round.py')
        with open(script, 'w', encoding='utf-8') as out:
            out.write(code)
        for version, path in find_pythons():
            with self.subTest(python=path):
                with subprocess.Popen([path, script], stdout=subprocess.PIPE) as target:
                    target.stdout.readline()
                    run('record', '-o', self.data, '-p', str(target.pid), '--duration', '1')
                    os.kill(target.pid, signal.SIGSTOP)
                    theirs = {name: look(target.pid) for name, look in peers.items()}
                    target.kill()
                samples = Capture(self.data).samples
                self.assertTrue(samples)
                for name, frames in theirs.items():
                    self.assertEqual(len(frames), 11, (name, frames))
                    for _, _, _, stack in samples:
                        ours = [(f[1].split('.')[-1], f[2], f[3]) for f in stack if f[0] == 'py']
                        self.assertEqual(ours[1:], frames[1:], name)
                        self.assertEqual(ours[0][:2], frames[0][:2], name)

    def python_frames(self, frames, folder):
        return [(f[1], f[3]) for f in frames if f[0] == 'py' and f[2].startswith(folder)]

    def test_launches(self):
        """From a line of Python over PyOpenCL and OpenCL to the kernel, in one stack."""
        script = os.path.join(SOURCE_DIR, 'test/workload/pyopencl_scale.py')
        done = run('record', '-o', self.data, '--', '/usr/bin/python3', script, '3000')
        if done.returncode == 77:
            self.skipTest('no PyOpenCL (package python3-pyopencl) or no POCL')
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(script, encoding='utf-8') as source:
            lines = [l.strip() for l in source.read().splitlines()]

        def line(text):
            return 1 + next(i for i, l in enumerate(lines) if l.startswith(text))
        expected = {('forth', line('program.twice(')): ('<module>', line('forth(program')),
                    ('back', line('cl.enqueue_nd')): ('<module>', line('back(kernels'))}
        verdicts = Counter()
        for flags, frames in Capture(self.data).launches:
            ours = self.python_frames(frames, script)
            right = len(ours) == 2 and expected.get(ours[0]) == ours[1]
            verdicts[right] += 1
            if right and 'rooted' in flags:
                at = next(i for i, f in enumerate(frames) if f[0] == 'py')
                native = [f[1] for f in frames[:at]]
                self.assertTrue(native[0].startswith('libOpenCL') and
                                native[1].startswith('_cl.cpython'), native)
                verdicts['one tower'] += 1
        print('launches with the right lines: %s' % dict(verdicts), flush=True)
        self.assertGreaterEqual(verdicts[True], 6000)
        self.assertLessEqual(verdicts[False], 1) # reading the result
        self.assertGreater(verdicts['one tower'], 5000)
        self.check_report({'twice': 'forth', 'half_of': 'back'}, lines)

    def check_report(self, launchers, lines):
        """Each kernel, and the device's idle time, under the line of Python that it is due to."""
        report = json.loads(run('report', '--json', self.data).stdout)
        kernels = {k['kernel']: k['callers'] for k in report['kernels']}
        code = {c['code']: c for c in report['code']}
        for kernel, name in launchers.items():
            line = {'forth': 'program.twice(', 'back': 'cl.enqueue_nd'}[name]
            place = '%s (pyopencl_scale.py:%d)' % (
                name, 1 + next(i for i, l in enumerate(lines) if l.startswith(line)))
            # Beside it, on a busy machine: "1 outlier of 8.52 ms".
            callers = [c['text'] for c in kernels[kernel] if 'outlier' not in c['text']]
            self.assertEqual(len(callers), 1, kernels)
            self.assertTrue(callers[0].startswith(place + ' < <module> ('), kernels)
            self.assertEqual(code[place]['launches'], 3000)
            self.assertGreater(code[place]['idle_ns'], 0)
        idle = sum(c['idle_ns'] for c in code.values())
        ours = sum(c['idle_ns'] for name, c in code.items() if '(pyopencl_scale.py:' in name)
        self.assertGreater(ours, 0.9 * idle, code)

    def test_torch(self):
        """Debian's"""
        if subprocess.run(['/usr/bin/python3', '-c', 'import torch'], stderr=subprocess.DEVNULL
                          ).returncode:
            self.skipTest('no PyTorch (package python3-torch)')
        self.check_torch('/usr/bin/python3')

    def test_torch_wheel(self):
        """PyPI's: 5 GB"""
        python = os.environ.get('TORCH_PYTHON')
        if not python and not full.is_full():
            self.skipTest('not --full, and $TORCH_PYTHON is not set')
        self.check_torch(python or os.path.join(full.venv('torch', 'torch'), 'bin/python'))

    def check_torch(self, python):
        script = os.path.join(SOURCE_DIR, 'test/workload/torch_train.py')
        with subprocess.Popen([python, script, '240'], stdout=subprocess.PIPE) as target:
            self.assertEqual(target.stdout.readline(), b'under way\n')
            done = run('record', '-o', self.data, '-F', '499', '-p', str(target.pid), '--duration', '5')
            target.kill()
        self.assertEqual(done.returncode, 0, done.stderr)
        samples = Capture(self.data).samples
        with open(script, encoding='utf-8') as source:
            lines = [l.strip() for l in source.read().splitlines()]
        seen, rooted = Counter(), 0
        for _, flags, _, frames in samples:
            ours = self.python_frames(frames, script)
            names = [n for n, _ in ours[-3:]]
            rooted += 'rooted' in flags and names[-2:] == ['main', '<module>']
            for name, number in ours:
                if name == 'step':
                    seen[lines[number - 1]] += 1
        print('torch of %s: %d of %d rooted with Python merged, lines of step(): %s' %
              (python, rooted, len(samples), dict(seen)), flush=True)
        self.assertGreater(len(samples), 100)
        self.assertGreaterEqual(rooted, 0.99 * len(samples))
        self.assertGreater(sum(seen.values()), 0.9 * len(samples))
        for line in ('loss = torch.nn', 'loss.backward()', 'optimizer.step()'):
            self.assertTrue(any(l.startswith(line) for l in seen), line)


if __name__ == '__main__':
    if os.geteuid() != 0:
        print('skipped: needs root')
        sys.exit(77)
    unittest.main()
