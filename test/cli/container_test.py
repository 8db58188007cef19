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

    def test_by_inner_number(self):
        """A process is meant by the number that it has in there with -G, and told of without."""
        root = cgroup_root()
        path = f'{root}/accel-prof-test-inner-{os.getpid()}'
        try:
            os.makedirs(path)
        except (OSError, TypeError) as error:
            self.skipTest(f'no control group can be made: {error}')
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
            for _ in range(500):
                with contextlib.suppress(OSError):
                    os.rmdir(path)
                    return
                time.sleep(0.01)
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
            done = run('record', '-o', data, '-F', '999', '-G', os.path.basename(path), '-p',
                       str(inner + 1), '--duration', '0.4')
            self.assertEqual(done.returncode, 0, done.stderr)
            capture = Capture(data)
            self.assertEqual({(Capture.field(p, 'pid'), Capture.field(p, 'ns_pid'))
                              for p in capture.processes.values()}, {(splits[1], inner + 1)})
            self.assertGreater(len(capture.samples), 10)
            done = run('record', '-o', data, '-G', os.path.basename(path), '-p', '999')
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"no process of '{os.path.basename(path)}' calls itself 999", done.stderr)
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
