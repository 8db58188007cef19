# SPDX-License-Identifier: Apache-2.0
"""Recording by perf events alone, for who is not root: the same records, as far as the kernel lets us see."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from command import PROGRAM, SOURCE_DIR, run
from record_test import SPLIT, Capture, truth

STACKS = os.path.join(os.environ['WORKLOAD_DIR'], 'stacks')
NOBODY = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']


def rooted(path):
    """How many samples, and how many per cent of them reach the thread's first function."""
    text = run('dump', '-i', path).stdout
    flags = dict(re.findall(r'^STACK id=(\d+) (?:flags=(\S+))?', text, re.MULTILINE))
    stacks = re.findall(r'^CPU_SAMPLE .*\bstack=(\d+)', text, re.MULTILINE)
    good = sum('rooted' in flags[stack].split('|') for stack in stacks)
    return len(stacks), 100.0 * good / max(1, len(stacks))


class Engine(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """The program and the workloads where nobody may run them: a build folder below /root is not."""
        global PROGRAM, SPLIT, STACKS
        folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, folder)
        os.chmod(folder, 0o755)
        for name in 'split', 'late.so', 'stacks':
            shutil.copy(os.path.join(os.environ['WORKLOAD_DIR'], name), folder)
        PROGRAM = shutil.copy(PROGRAM, folder)
        SPLIT, STACKS = os.path.join(folder, 'split'), os.path.join(folder, 'stacks')

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        os.chmod(self.folder, 0o777)
        self.data = os.path.join(self.folder, 'a.data')

    def as_nobody(self, *command):
        """Nothing of root's: no capabilities, and no more than perf_event_paranoid gives everyone."""
        with open('/proc/sys/kernel/perf_event_paranoid', encoding='ascii') as file:
            if int(file.read()) > 2:
                self.skipTest('perf_event_paranoid is above 2')
        done = subprocess.run([*NOBODY, *command], capture_output=True, text=True, timeout=60,
                              check=False)
        return done

    def record(self, *args):
        return self.as_nobody(PROGRAM, 'record', '-o', self.data, *args)

    def check_whole(self, least=100):
        count, share = rooted(self.data)
        self.assertGreater(count, least)
        self.assertGreaterEqual(share, 99)

    def test_native(self):
        """C++ without frame pointers."""
        done = self.record('-F', '999', '--', STACKS, 'leaf', '1', '2')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_whole()
        self.assertIn('By perf events', done.stderr)

    def test_signal_stack(self):
        """What a handler on a stack of its own interrupts is on another, of which there is no copy; not
        guessed, but said. Everything else is whole."""
        done = self.record('-F', '999', '--', STACKS, 'signals', '2', '1')
        self.assertEqual(done.returncode, 0, done.stderr)
        text = Capture(self.data).text
        flags = dict(re.findall(r'^STACK id=(\d+) (?:flags=(\S+))?', text, re.MULTILINE))
        stacks = [flags[stack] for stack in re.findall(r'^CPU_SAMPLE .*\bstack=(\d+)', text,
                                                       re.MULTILINE)]
        known = sum('rooted' in f.split('|') or 'ends:signal-stack' in f.split('|') for f in stacks)
        self.assertGreater(len(stacks), 100)
        self.assertGreaterEqual(known, 0.995 * len(stacks))
        self.assertIn('signal-stack', text)

    def test_little_memory(self):
        """No more locked memory than every kernel before 5.16 allows."""
        done = self.as_nobody('prlimit', '--memlock=65536', PROGRAM, 'record', '-o', self.data, '-F',
                              '999', '--', STACKS, 'leaf', '1', '1')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_whole()

    def test_python(self):
        script = os.path.join(SOURCE_DIR, 'test/workload/python_stacks.py')
        shutil.copy(script, self.folder)
        done = self.record('-F', '999', '--', '/usr/bin/python3', '-c',
                           'import time\n'
                           'def work(n):\n'
                           '    return sum(i * i for i in range(n))\n'
                           'end = time.process_time() + 0.6\n'
                           'while time.process_time() < end: work(1000)')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_whole()

    def test_share(self):
        """Children, threads and libraries loaded late are followed as ever."""
        for mode in ('plain', 'fork', 'threads', 'late'):
            done = self.record('-F', '999', '--', 'sh', '-c', f'{SPLIT} {mode} 300; exit 7')
            self.assertEqual(done.returncode, 7, done.stderr)
            capture = Capture(self.data)
            self.assertEqual(capture.status, 0)
            count = capture.by_function(SPLIT)
            both = count['often'] + count['seldom']
            share, _ = truth(done.stdout)
            self.assertGreater(both, 100, mode)
            self.assertAlmostEqual(count['often'] / both, share,
                                   delta=4 * (share * (1 - share) / both) ** 0.5 + 0.005, msg=mode)
            self.check_whole()
            self.assertTrue(any(f'"{SPLIT} {mode} 300"' in process
                                for process in capture.processes.values()), capture.processes)

    def test_running_process(self):
        script = (f'{SPLIT} threads 20000 > /dev/null & sleep 0.2; {PROGRAM} record -o {self.data} '
                  '-F 999 -p $! --duration 0.5; status=$?; kill $!; exit $status')
        done = self.as_nobody('sh', '-c', script)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_whole(least=50)
        names = {name for _, name in Capture(self.data).threads.values()}
        self.assertIn('often-3', names)

    def test_ends_with_its_target(self):
        script = (f'{SPLIT} threads 300 > /dev/null & sleep 0.1; {PROGRAM} record -o {self.data} -p $!')
        done = self.as_nobody('sh', '-c', script)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(Capture(self.data).status, 0)

    def test_no_children(self):
        done = self.record('-F', '999', '--no-children', '--', SPLIT, 'fork', '300')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLess(Capture(self.data).by_function(SPLIT)['burn'], 5)

    def test_what_is_not_seen_is_said(self):
        done = self.record('--', SPLIT, 'plain', '100')
        self.assertEqual(done.returncode, 0, done.stderr)
        text = Capture(self.data).text
        for key, value in (('engine', 'perf'), ('engine.why', 'cannot load BPF programs'),
                           ('missing.launches', 'imported trace'), ('missing.python', 'perf events'),
                           ('missing.blocked', 'perf events')):
            self.assertRegex(text, rf'(?m)^INFO key=\d+:"{re.escape(key)}" value=\d+:"[^"]*{value}')
        report = run('report', '-i', self.data).stdout
        self.assertIn('no launches', report)

    def test_others_are_not_ours(self):
        """Init is root's: nobody may not look, and is told what would help."""
        done = self.record('-p', '1', '--duration', '0.1')
        self.assertEqual(done.returncode, 1)
        self.assertIn("which is user 0's", done.stderr)
        self.assertEqual(os.listdir(self.folder), [])

    def test_as_root(self):
        """The kernel is seen too, and command lines that cannot be run are as ever."""
        done = run('record', '--engine', 'perf', '-F', '999', '-o', self.data, '--', 'dd',
                   'if=/dev/zero', 'of=/dev/null', 'bs=1M', 'count=8000')
        self.assertEqual(done.returncode, 0, done.stderr)
        text = Capture(self.data).text
        self.assertIn('"[kernel]"+', text)
        self.check_whole(least=20)
        done = run('record', '--engine', 'perf', '-o', self.data + '2', '--', '/no/such/command')
        self.assertEqual(done.returncode, 127)

    def test_no_btf(self):
        """A kernel without BTF: by itself the other engine."""
        done = subprocess.run(
            ['unshare', '-m', 'sh', '-c', 'mount -t tmpfs none /sys/kernel/btf && exec "$@"', 'sh',
             PROGRAM, 'record', '-F', '999', '-o', self.data, '--', SPLIT, 'plain', '300'],
            capture_output=True, text=True, check=False)
        if done.stderr.startswith('unshare:'):
            self.skipTest(done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_whole()
        self.assertIn('no BTF', Capture(self.data).text)


if __name__ == '__main__':
    if os.geteuid() != 0:
        print('not root: cannot become nobody')
        sys.exit(77)
    unittest.main()
