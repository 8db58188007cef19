# SPDX-License-Identifier: Apache-2.0
"""Containers, made of what every Linux has: namespaces and a root folder of its own. Stacks and names are
right from outside and from inside, by both engines."""
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from command import PROGRAM, run
from record_test import SPLIT, Capture
from targets_test import cgroup_root

WAITS = os.path.join(os.environ['WORKLOAD_DIR'], 'waits')
# Runs in a container: a recording with most options each, of a process that was there before and of
# commands; what each says goes into NAME.err, and a failure ends it.
OPTIONS = r"""
set -e
cd /tmp
/split plain 60000 >split.out & T=$!
trap 'echo "last: $N $(/cat "$N.err")" >&2; kill $T' EXIT
r() { N=$1; shift; /accel-prof record -F 499 -o "$N.data" "$@" >$N.out 2>$N.err; }
r all -a --duration 0.3
r cpu -C "$2" -- /sleep 0.3
r thread -t $T --duration 0.3
r timer -p $T -- /sleep 0.3
r perf --engine perf -p $T --duration 0.3
r delay -D 200 -p $T --duration 0.6
r event -e cpu-clock:u,page-faults -p $T --duration 0.3
N=period; /accel-prof record -c 2000000 -o period.data -p $T --duration 0.3 2>period.err
r group -G "$1" --duration 0.3
r level -z9 -- /split fork 200
r size --max-size 2K -F 2000 -- /split threads 60000
r waits --off-cpu -- /waits plain 1
N=parts; /accel-prof record -F 499 -o parts.data --switch-output=300ms -- /split plain 1000 >parts.out 2>parts.err
N=pipe; /accel-prof record -F 499 -o - -p $T --duration 0.3 2>pipe.err | /cat >pipe.data
N=control; /accel-prof record -F 499 -o control.data -D -1 --control fifo:orders,answers -p $T \
    2>control.err & R=$!
exec 5<>orders 6<>answers
echo enable >&5; read answer <&6; /sleep 0.3
echo stop >&5; read answer <&6
wait $R
trap - EXIT
kill $T
"""


def first():
    """So that a busy machine lets it run within the short time that it is looked at."""
    with contextlib.suppress(PermissionError):
        os.nice(-15)


def children(pid):
    with open(f'/proc/{pid}/task/{pid}/children', encoding='ascii') as file:
        return [int(child) for child in file.read().split()]


def copy_program(path, root, name):
    """A program as /@name of the root folder, with the libraries that it needs where it looks for them."""
    shutil.copy(path, os.path.join(root, name))
    told = subprocess.run(['ldd', path], capture_output=True, text=True, check=True).stdout
    for library in re.findall(r'(/\S+) \(0x', told):
        to = root + library
        if not os.path.exists(to):
            os.makedirs(os.path.dirname(to), exist_ok=True)
            shutil.copy(library, to)


class Container(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.root)
        os.chmod(cls.root, 0o755)
        for folder in ('proc', 'sys', 'tmp', 'dev', 'old'):
            os.mkdir(os.path.join(cls.root, folder))
        copy_program(SPLIT, cls.root, 'split')
        copy_program('/bin/sh', cls.root, 'sh')
        copy_program(PROGRAM, cls.root, 'accel-prof')
        copy_program(WAITS, cls.root, 'waits')
        for name in ('sleep', 'cat'):
            copy_program(f'/bin/{name}', cls.root, name)

    def inside(self, *command):
        """How to run a command in there: namespaces for mounts, processes, host name and IPC."""
        mounts = ('mount --bind "$0" "$0" && cd "$0" && mount -t proc none proc && '
                  'mount --rbind /sys sys && mount --bind /dev dev && pivot_root . old && '
                  'exec old/usr/sbin/chroot . "$@"')
        return ['unshare', '-m', '-p', '-f', '-u', '-i', 'sh', '-c', mounts, self.root, *command]

    def skip_without(self, stderr):
        if re.search(r'^(unshare|mount|pivot_root|chroot):', stderr, re.MULTILINE):
            self.skipTest(stderr)

    def check(self, path, least=50):
        capture = Capture(path)
        self.assertEqual(capture.status, 0)
        count = capture.by_function(SPLIT)
        self.assertGreater(count['burn'], least)
        self.assertGreaterEqual(count['work'], 0.99 * count['burn'])
        named = set(re.findall(r'^SYMBOL object=\d+:"split" .*lines=\[\d+:"([^"]*)"', capture.text,
                               re.MULTILINE))
        self.assertIn('burn', named)
        if count['burn'] > 50:
            self.assertIn('often', named)
        self.assertIsNotNone(re.search(r'^OBJECT .*path=\d+:"/split"', capture.text, re.MULTILINE))
        return capture

    def test_from_outside(self):
        with subprocess.Popen(self.inside('/split', 'plain', '60000'), stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
            try:
                time.sleep(1)
                if process.poll() is not None:
                    self.skip_without(process.stderr.read())
                for engine in ('bpf', 'perf'):
                    with tempfile.NamedTemporaryFile(suffix='.data') as data:
                        os.unlink(data.name)
                        done = run('record', '--engine', engine, '-o', data.name, '-F', '999', '-p',
                                   str(process.pid), '--duration', '0.6')
                        self.assertEqual(done.returncode, 0, done.stderr)
                        capture = self.check(data.name)
                        shutil.copy(data.name, data.name + '.kept')
                        os.rename(data.name + '.kept', data.name)
                    inner = [p for p in capture.processes.values() if '"split"' in p]
                    # It calls itself by another number.
                    self.assertTrue(any(Capture.field(p, 'ns_pid') < 10 < Capture.field(p, 'pid')
                                        for p in inner), inner)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, 9)

    def group(self):
        root = cgroup_root()
        name = f'accel-prof-test-container-{os.getpid()}'
        try:
            os.makedirs(f'{root}/{name}')
        except (OSError, TypeError) as error:
            self.skipTest(f'no control group can be made: {error}')

        def end():
            for _ in range(500):
                with contextlib.suppress(OSError):
                    os.rmdir(f'{root}/{name}')
                    return
                time.sleep(0.01)
        self.addCleanup(end)
        return f'{root}/{name}', name

    def test_options_inside(self):
        """Who records in there has all options, and sees what he would see outside."""
        path, name = self.group()
        for fifo in ('orders', 'answers'):
            os.mkfifo(f'{self.root}/tmp/{fifo}')
        script, cpus = f'echo $$ >{path}/cgroup.procs;{OPTIONS}', f'0-{os.cpu_count() - 1}'
        done = subprocess.run(self.inside('/sh', '-c', script, 'sh', name, cpus), capture_output=True,
                              text=True, check=False, preexec_fn=first)
        self.skip_without(done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        folder = f'{self.root}/tmp'
        for part in ('all', 'cpu', 'thread', 'timer', 'perf', 'delay', 'event', 'period', 'group', 'level',
                     'size', 'pipe', 'control'):
            with self.subTest(option=part):
                capture = self.check(f'{folder}/{part}.data', least=0)
                # Numbers are those of in there, where nobody else is.
                self.assertLess(max(Capture.field(p, 'pid') for p in capture.processes.values()
                                    if '"split"' in p), 1000)
        parts = [name for name in os.listdir(folder) if name.startswith('parts.data.')]
        self.assertGreaterEqual(len(parts), 2)
        for part in parts:
            self.assertEqual(Capture(f'{folder}/{part}').status, 0)
        folded = run('export', '--format', 'folded', '--metric', 'blocked', '-i', f'{folder}/waits.data')
        for wait in ('wait_lock', 'wait_sleep', 'wait_read', 'wait_futex'):
            self.assertIn(f';{wait};', folded.stdout)
        with open(f'{folder}/size.err', encoding='utf-8') as file:
            self.assertIn('Size limit reached', file.read())

    def test_options_outside(self):
        """By a thread's number and a group; a program that is gone, one in whose place is another, and
        code that is named by a file which only they see, by a number that only they have."""
        path, name = self.group()
        for program in ('gone', 'replaced', 'jit'):
            shutil.copy(f'{self.root}/split', f'{self.root}/{program}')
        script = (f'echo $$ >{path}/cgroup.procs; for p in gone replaced; do /$p plain 60000 & done; '
                  '/jit jit 60000 & wait')
        with subprocess.Popen(self.inside('/sh', '-c', script), stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, start_new_session=True,
                              preexec_fn=first) as process:
            try:
                self.check_outside(process, name)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, 9)

    def check_outside(self, process, name):
        programs = {}
        for _ in range(1000):
            if process.poll() is not None:
                self.skip_without(process.stderr.read())
            for shell in children(process.pid):
                for pid in children(shell):
                    with open(f'/proc/{pid}/comm', encoding='ascii') as file:
                        programs[file.read().strip()] = pid
            if {'gone', 'replaced', 'jit'} <= set(programs) and os.listdir(f'{self.root}/tmp'):
                break
            time.sleep(0.01)
        os.unlink(f'{self.root}/gone')
        shutil.copy(f'{self.root}/sh', f'{self.root}/new')
        os.rename(f'{self.root}/new', f'{self.root}/replaced')
        with tempfile.TemporaryDirectory() as folder:
            data = os.path.join(folder, 'a.data')
            for engine in ('bpf', 'perf'):
                for target in (('-t', f'{programs["gone"]},{programs["replaced"]}'), ('-G', name)):
                    done = run('record', '--engine', engine, '-o', data, '-F', '999', *target,
                               '--duration', '0.6')
                    self.assertEqual(done.returncode, 0, done.stderr)
                    text = Capture(data).text
                    for program in ('gone', 'replaced'):
                        self.assertRegex(text, rf'(?m)^SYMBOL object=\d+:"{program}" .*lines='
                                               r'\[\d+:"burn"')
                        self.assertRegex(text, rf'(?m)^OBJECT .*path=\d+:"/{program}" .*build_id=')
                    if target[0] == '-G':
                        self.assertIn('"jit::burn in memory"', text)

    def test_by_inner_number(self):
        """A process is meant by the number that it has in there with -G, and told of without."""
        path, name = self.group()
        # Two that follow each other, and that nobody has outside.
        inner = next(n for n in range(31000, 1000, -1)
                     if not os.path.exists(f'/proc/{n}') and not os.path.exists(f'/proc/{n + 1}'))
        process = subprocess.Popen(
            ['unshare', '--pid', '--fork', 'sh', '-c',
             f'echo {inner - 1} >/proc/sys/kernel/ns_last_pid; {SPLIT} plain 60000 & '
             f'{SPLIT} plain 60000 & wait'], stdout=subprocess.DEVNULL, start_new_session=True)

        def end():
            os.killpg(process.pid, 9)
            process.wait()
        self.addCleanup(end)
        shells, splits = [], []
        for _ in range(500):
            shells = children(process.pid)
            splits = children(shells[0]) if shells else []
            if len(splits) == 2:
                break
            time.sleep(0.01)
        for pid in (*shells, *splits):
            with open(f'{path}/cgroup.procs', 'w', encoding='ascii') as file:
                file.write(str(pid))
        with tempfile.TemporaryDirectory() as folder:
            data = os.path.join(folder, 'a.data')
            done = run('record', '-o', data, '-F', '999', '-G', name, '-p',
                       str(inner + 1), '--duration', '0.4')
            self.assertEqual(done.returncode, 0, done.stderr)
            capture = Capture(data)
            self.assertEqual({(Capture.field(p, 'pid'), Capture.field(p, 'ns_pid'))
                              for p in capture.processes.values()}, {(splits[1], inner + 1)})
            self.assertGreater(len(capture.samples), 10)
            done = run('record', '-o', data, '-G', name, '-p', '999')
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"no process of '{name}' calls itself 999", done.stderr)
            done = run('record', '-o', data, '-p', str(inner))
            self.assertEqual(done.returncode, 1)
            self.assertIn(f'{splits[0]} calls itself so inside its container: use -p {splits[0]}',
                          done.stderr)

    def test_from_inside(self):
        for engine in ('bpf', 'perf'):
            done = subprocess.run(
                self.inside('/accel-prof', 'record', '--engine', engine, '-F', '999', '-o',
                            '/tmp/a.data', '--', '/sh', '-c', '/split fork 400; exit 5'),
                capture_output=True, text=True, check=False)
            self.skip_without(done.stderr)
            self.assertEqual(done.returncode, 5, done.stderr)
            capture = self.check(os.path.join(self.root, 'tmp/a.data'))
            self.assertTrue(all(Capture.field(p, 'pid') < 100 for p in capture.processes.values()))

    def test_running_inside(self):
        """A process that was there before, from a recorder in its container."""
        script = ('/split plain 60000 >/dev/null & /accel-prof record -F 999 -o /tmp/b.data -p $! '
                  '--duration 2')
        done = subprocess.run(self.inside('/sh', '-c', script), capture_output=True, text=True,
                              check=False)
        self.skip_without(done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check(os.path.join(self.root, 'tmp/b.data'), least=5)


if __name__ == '__main__':
    if os.geteuid() != 0:
        print('not root: no containers can be made')
        sys.exit(77)
    unittest.main()
