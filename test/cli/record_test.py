# SPDX-License-Identifier: Apache-2.0
"""Recording for real: shares of CPU time against what the workload says of itself, processes that
fork, exec and load libraries while they are recorded, and every way in which a recording ends."""
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

from command import PROGRAM, functions, run

SPLIT = os.path.join(os.environ['WORKLOAD_DIR'], 'split')
WAITS = os.path.join(os.environ['WORKLOAD_DIR'], 'waits')
# An emulated machine misses most ticks of a busy one.
EMULATED = bool(os.environ.get('EMULATED'))


class Capture:
    """What 'accel-prof dump' shows of a file, as far as these tests look at it."""

    def __init__(self, path):
        done = run('dump', '-i', path)
        self.status, self.text = done.returncode, done.stdout
        self.stacks, self.samples, self.threads, self.processes = {}, [], {}, {}
        for line in done.stdout.splitlines():
            kind, _, rest = line.partition(' ')
            if kind == 'STACK':
                self.stacks[self.field(rest, 'id')] = re.findall(
                    r'\d+:"([^"]*)"\+0x([0-9a-f]+)', rest)
            elif kind == 'CPU_SAMPLE':
                stack = self.stacks[self.field(rest, 'stack')]
                self.samples.append((self.field(rest, 'thread'), stack))
            elif kind == 'THREAD':
                # One that ended before its name could be read has none.
                name = re.search(r'name=\d+:"([^"]*)"', rest)
                self.threads[self.field(rest, 'id')] = (
                    self.field(rest, 'process'), name[1] if name else '')
            elif kind == 'PROCESS':
                self.processes[self.field(rest, 'id')] = rest

    @staticmethod
    def field(text, name):
        return int(re.search(rf'\b{name}=(\d+)', text)[1])

    def by_function(self, path):
        """How many samples have each function of the file at @path in their stack."""
        table = functions(path)
        name = os.path.basename(path)
        count = Counter()
        for _, stack in self.samples:
            offsets = [int(offset, 16) for module, offset in stack if module == name]
            count.update({f for start, end, f in table
                          if any(start <= offset < end for offset in offsets)})
        return count


def truth(output):
    """The share of often(), and the CPU time of both in seconds, as the workload measured them."""
    times = dict(re.findall(r'^(often|seldom) (\d+)$', output, re.MULTILINE))
    both = int(times['often']) + int(times['seldom'])
    return int(times['often']) / both, both / 1e9


class Record(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.data = os.path.join(self.folder, 'a.data')

    def record(self, *args, **kwargs):
        return run('record', '-o', self.data, *args, **kwargs)

    def wait_for_start(self):
        """The file has its name when recording has begun."""
        for _ in range(2000):
            if os.path.exists(self.data):
                return
            time.sleep(0.01)
        self.fail('recording does not begin')

    def check_share(self, capture, output):
        """The share is binomial: 4 standard deviations, and half a point for edges. The number of
        samples is that of the CPU time; on a virtual machine that has to wait some are missing."""
        count = capture.by_function(SPLIT)
        both = count['often'] + count['seldom']
        share, seconds = truth(output)
        self.assertGreater(both, (0.1 if EMULATED else 0.5) * 999 * seconds)
        self.assertLess(both, 1.1 * 999 * seconds)
        self.assertAlmostEqual(count['often'] / both, share,
                               delta=4 * (share * (1 - share) / both) ** 0.5 + 0.005)
        return count

    def test_no_btf(self):
        """A kernel without BTF, as far as a process can tell: its own view of /sys has none."""
        done = subprocess.run(
            ['unshare', '-m', 'sh', '-c', 'mount -t tmpfs none /sys/kernel/btf && exec "$@"', 'sh',
             PROGRAM, 'record', '--engine', 'bpf', '-o', self.data, '--', 'true'],
            capture_output=True, text=True, check=False)
        if done.stderr.startswith('unshare:'):
            self.skipTest(done.stderr)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, 'accel-prof: cannot load BPF programs: this kernel has no BTF '
                                      '(/sys/kernel/btf/vmlinux); it needs '
                                      'CONFIG_DEBUG_INFO_BTF=y: Operation not supported\n')
        self.assertFalse(os.path.exists(self.data))

    def test_command_has_our_standing(self):
        """The recorder asks for priority and descriptors; the command gets what it would have."""
        show = ['sh', '-c', 'nice; ulimit -Sn; ulimit -Hn']
        bare = subprocess.run(show, capture_output=True, text=True, check=True).stdout
        done = self.record('-q', '--', *show)
        self.assertEqual(done.stdout, bare)

    def test_share(self):
        done = self.record('-F', '999', '--', SPLIT, 'plain', '1000')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r'(?m)^\[ accel-prof record: Captured and wrote '
                                      r'\d+\.\d{3} MB \S+ \([\d,]+ samples\) \]$')
        self.assertNotIn('Lost', done.stderr)
        capture = Capture(self.data)
        self.assertEqual(capture.status, 0)
        count = self.check_share(capture, done.stdout)
        self.check_names(capture)
        # Every stack of the busy loop goes all the way up.
        self.assertGreaterEqual(count['main'], 0.99 * count['burn'])
        self.assertEqual(os.stat(self.data).st_mode & 0o777, 0o600)

    def check_names(self, capture):
        """The names in the file are nm's, and every address in the program and the kernel has one."""
        table = functions(SPLIT)
        named = re.findall(r'^SYMBOL object=\d+:"split" offset=0x([0-9a-f]+) .*lines=\[\d+:"([^"]*)"',
                           capture.text, re.MULTILINE)
        hit = {int(offset, 16) for _, stack in capture.samples for module, offset in stack
               if module == 'split'}
        self.assertEqual({int(offset, 16) for offset, _ in named}, hit)
        for offset, name in named:
            self.assertIn(name, [f for start, end, f in table if start <= int(offset, 16) < end])
        kernel = {offset for _, stack in capture.samples for module, offset in stack
                  if module == '[kernel]'}
        with open('/proc/sys/kernel/kptr_restrict', encoding='ascii') as file:
            if file.read().strip() != '2':
                names = set(re.findall(r'^SYMBOL object=\d+:"\[kernel\]" offset=0x([0-9a-f]+)',
                                       capture.text, re.MULTILINE))
                self.assertEqual(names, kernel)

    def test_shell_and_fork(self):
        """The caller of the recorded program is a shell; its child burns the time."""
        done = self.record('-F', '999', '--', 'sh', '-c', f'{SPLIT} fork 800; exit 7')
        self.assertEqual(done.returncode, 7, done.stderr)
        capture = Capture(self.data)
        self.check_share(capture, done.stdout)
        busy = Counter(capture.threads[thread][0] for thread, _ in capture.samples)
        child = capture.processes[busy.most_common(1)[0][0]]
        self.assertIn('comm=', child)
        parent = capture.processes[Capture.field(child, 'parent')]
        self.assertIn('"split"', parent)
        grandparent = capture.processes[Capture.field(parent, 'parent')]
        self.assertIn('"sh"', grandparent)

    def test_no_children(self):
        done = self.record('-F', '999', '--no-children', '--', SPLIT, 'fork', '300')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLess(Capture(self.data).by_function(SPLIT)['burn'], 5)

    def test_threads(self):
        done = self.record('-F', '999', '--', SPLIT, 'threads', '300')
        capture = Capture(self.data)
        self.check_share(capture, done.stdout)
        busy = Counter(capture.threads[thread][1] for thread, _ in capture.samples)
        for number in range(4):
            self.assertGreater(busy[f'often-{number}'], 100)

    def test_late_library(self):
        done = self.record('-F', '999', '--', SPLIT, 'late', '500')
        capture = Capture(self.data)
        self.check_share(capture, done.stdout)
        late = os.path.join(os.path.dirname(SPLIT), 'late.so')
        self.assertGreater(capture.by_function(late)['late_burn'], 100)

    def test_code_without_a_file(self):
        """What a JIT compiler makes is named by the map that it writes for perf."""
        done = self.record('-F', '999', '--', SPLIT, 'jit', '300')
        self.assertEqual(done.returncode, 0, done.stderr)
        capture = Capture(self.data)
        for process in capture.processes.values():
            self.addCleanup(os.unlink, f'/tmp/perf-{Capture.field(process, "pid")}.map')
        self.check_share(capture, done.stdout)
        named = set(re.findall(r'^SYMBOL object=\d+:"\[anon\]" offset=0x([0-9a-f]+) .*lines='
                               r'\[\d+:"jit::burn in memory"', capture.text, re.MULTILINE))
        jit = sum(any(module == '[anon]' and offset in named for module, offset in stack)
                  for _, stack in capture.samples)
        self.assertGreater(jit, 0.9 * len(capture.samples))

    def test_running_process(self):
        with subprocess.Popen([SPLIT, 'threads', '3000'], stdout=subprocess.DEVNULL) as process:
            time.sleep(0.2)
            done = self.record('-F', '999', '-p', str(process.pid), '--duration', '0.5')
            process.kill()
        self.assertEqual(done.returncode, 0, done.stderr)
        capture = Capture(self.data)
        count = capture.by_function(SPLIT)
        self.assertGreater(count['burn'], 20)
        self.assertGreaterEqual(count['work'], 0.99 * count['burn'])
        names = {name for _, name in capture.threads.values()}
        self.assertIn('often-3', names)

    def objects(self):
        return [line for line in run('dump', '-i', self.data).stdout.splitlines()
                if line.startswith('OBJECT')]

    def test_other_root(self):
        """A program at a path that exists in its own mount namespace only."""
        script = ('mount -t tmpfs none /mnt && cp "$1" /mnt/hidden && exec /mnt/hidden plain 400')
        done = self.record('-F', '999', '--', 'unshare', '-m', 'sh', '-c', script, 'sh', SPLIT)
        if 'unshare' in done.stderr or 'mount' in done.stderr:
            self.skipTest('no mount namespaces here')
        self.assertEqual(done.returncode, 0, done.stderr)
        found = [line for line in self.objects() if '"/mnt/hidden"' in line]
        self.assertEqual(len(found), 1)
        self.assertIn('build_id=', found[0])
        self.assertIn(f'size={os.path.getsize(SPLIT)} ', found[0])

    def test_pid_namespace(self):
        """A recorder in a container: its processes have other numbers than the machine knows."""
        script = (f'{SPLIT} fork 10000 > /dev/null & sleep 0.2; '
                  f'{PROGRAM} record -F 999 -o {self.data}.p -p $! --duration 0.5 && '
                  f'{PROGRAM} record -F 999 -o {self.data} -- sh -c "{SPLIT} fork 400"; '
                  'exit $?')  # the kernel ends what is left in there
        done = subprocess.run(['unshare', '-p', '-f', '--mount-proc', 'sh', '-c', script],
                              capture_output=True, text=True)
        if 'unshare' in done.stderr:
            self.skipTest('no pid namespaces here')
        self.assertEqual(done.returncode, 0, done.stderr)
        capture = Capture(self.data)
        self.check_share(capture, done.stdout)
        self.assertLess(max(Capture.field(process, 'pid') for process in capture.processes.values()),
                        100)
        self.assertGreater(Capture(self.data + '.p').by_function(SPLIT)['burn'], 3)

    def test_deleted_program(self):
        path = os.path.join(self.folder, 'gone')
        shutil.copy(SPLIT, path)
        with subprocess.Popen([path, 'plain', '3000'], stdout=subprocess.DEVNULL) as process:
            time.sleep(0.1)
            os.unlink(path)
            done = self.record('-F', '999', '-p', str(process.pid), '--duration', '0.3')
            process.kill()
        self.assertEqual(done.returncode, 0, done.stderr)
        found = [line for line in self.objects() if f'"{path}"' in line]
        self.assertEqual(len(found), 1)
        self.assertIn('build_id=', found[0])
        self.assertIn('flags=deleted', found[0])

    def test_losses_are_told(self):
        """A ring of one page, and a recorder that is kept from looking at it."""
        with subprocess.Popen([SPLIT, 'threads', '20000'], stdout=subprocess.DEVNULL) as process:
            with subprocess.Popen([PROGRAM, 'record', '-o', self.data, '-F', '999', '-m', '1', '-p',
                                   str(process.pid)], stderr=subprocess.PIPE, text=True) as recorder:
                self.wait_for_start()
                time.sleep(0.2)
                recorder.send_signal(signal.SIGSTOP)
                time.sleep(0.5)
                recorder.send_signal(signal.SIGCONT)
                time.sleep(0.2)
                recorder.send_signal(signal.SIGINT)
                _, told = recorder.communicate(timeout=240)
            process.kill()
        lost = re.search(r'Lost ([\d,]+) cpu-sample events: ring full', told)
        self.assertIsNotNone(lost, told)
        capture = Capture(self.data)
        counted = sum(int(n) for n in re.findall(r'^LOST .*what=\d+:"cpu-sample".* count=(\d+)',
                                                 capture.text, re.MULTILINE))
        self.assertEqual(counted, int(lost[1].replace(',', '')))
        self.assertGreater(counted, 0)
        self.assertRegex(capture.text, rf'(?m)^END .*lost={counted}\b')

    def test_target_ends_or_is_killed(self):
        for how in (signal.SIGTERM, signal.SIGKILL):
            with subprocess.Popen([SPLIT, 'plain', '20000'], stdout=subprocess.DEVNULL) as process:
                with subprocess.Popen([PROGRAM, 'record', '-o', self.data, '-F', '999', '-p',
                                       str(process.pid)], stderr=subprocess.PIPE,
                                      text=True) as recorder:
                    self.wait_for_start()
                    time.sleep(0.4)
                    process.send_signal(how)
                    _, told = recorder.communicate(timeout=240)
            self.assertEqual(recorder.returncode, 0, told)
            capture = Capture(self.data)
            self.assertEqual(capture.status, 0)
            self.assertGreater(capture.by_function(SPLIT)['burn'], 0)
            os.unlink(self.data)

    def test_status_is_the_commands(self):
        self.assertEqual(self.record('--', 'true').returncode, 0)
        self.assertEqual(self.record('--', 'sh', '-c', 'exit 3').returncode, 3)
        self.assertEqual(self.record('--', 'sh', '-c', 'kill -9 $$').returncode, 137)
        self.assertEqual(self.record('--', 'sh', '-c', 'kill -TERM $$').returncode, 143)

    def test_command_that_cannot_run(self):
        """And an older recording stays what it was."""
        self.assertEqual(self.record('--', 'true').returncode, 0)
        with open(self.data, 'rb') as file:
            before = file.read()
        done = self.record('--', '/no/such/command')
        self.assertEqual(done.returncode, 127)
        self.assertEqual(done.stderr, "accel-prof: cannot run '/no/such/command': No such file or "
                                      "directory\n")
        done = self.record('--', '/etc/passwd')
        self.assertEqual(done.returncode, 126)
        self.assertIn("cannot run '/etc/passwd': Permission denied", done.stderr)
        with open(self.data, 'rb') as file:
            self.assertEqual(file.read(), before)
        self.assertEqual(os.listdir(self.folder), ['a.data'])

    def test_no_such_process(self):
        done = self.record('-p', '999999')
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, 'accel-prof: no process 999999 to record: No such process\n')
        self.assertEqual(os.listdir(self.folder), [])

    def test_usage(self):
        for args in ([], ['-p', 'x', '--', 'true'], ['-F', '0', 'true'],
                     ['--duration', 'x', 'true'], ['-o', '%z', 'true']):
            done = run('record', *args, cwd=self.folder)
            self.assertEqual((done.returncode, done.stdout), (129, ''), args)

    def waits(self, path):
        """{function of the workload: ns} and the whole, by the metric."""
        done = run('export', '--format', 'folded', '--metric', 'blocked', '-i', path)
        self.assertEqual(done.returncode, 0, done.stderr)
        times = Counter()
        for line in done.stdout.splitlines():
            stack, _, ns = line.rpartition(' ')
            frames = stack.split(';')
            times.update({name: int(ns) for name in set(frames)})
            self.assertIn(frames[-1], ('__schedule_[k]', 'schedule_[k]'), line)
        return times

    def check_waits(self, *args):
        """{function: ns}, each within 2 % of what the program measured. One of its threads may lose its
        CPU between its look at the clock and its wait: not three times in a row."""
        for attempt in range(3):
            done = self.record(*args)
            if done.returncode == 77:
                self.skipTest('no libOpenCL.so.1')
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn('Lost', done.stderr)
            times = self.waits(self.data)
            told = {name: int(ns) for name, ns in
                    re.findall(r'^(wait_\w+) (\d+)$', done.stdout, re.MULTILINE)}
            self.assertEqual(list(told), ['wait_lock', 'wait_sleep', 'wait_read', 'wait_futex'])
            wrong = {name: (times[name], ns) for name, ns in told.items()
                     if abs(times[name] - ns) > 0.02 * ns + 100000}
            if not wrong:
                return times
        self.fail(wrong)

    def test_waits(self):
        """What threads wait for, and how long: a lock, sleep, a pipe and a futex."""
        times = self.check_waits('--off-cpu', '--', WAITS, 'plain', '8')
        # The other thread waits for orders, or keeps the first one waiting.
        self.assertGreater(times['serve'], 8 * 90e6)

    def test_waits_not_asked_for(self):
        """Only of what uses an accelerator, unless asked."""
        for args in ([], ['--no-off-cpu']):
            done = self.record(*args, '--', WAITS, 'plain', '1')
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn('\nBLOCKED', Capture(self.data).text)

    def test_waits_of_what_launches(self):
        self.check_waits('--', WAITS, 'launch', '8')

    def test_too_many_waits(self):
        """Not each gets a stack; their time is there all the same."""
        done = self.record('--off-cpu', '--', WAITS, 'often', '40000')
        self.assertEqual(done.returncode, 0, done.stderr)
        text = Capture(self.data).text
        records = [line for line in text.splitlines() if line.startswith('BLOCKED')]
        self.assertLess(len(records), 40000)
        self.assertTrue(any('others_ns=' in line for line in records))
        self.assertRegex(text, rf'"blocked.waits" value=\d+:"{len(records)} with stacks, ')
        pong = int(re.search(r'^wait_pong (\d+)$', done.stdout, re.MULTILINE)[1])
        # Two threads take turns: most of the time at least one of them waits, and never both.
        times = self.waits(self.data)
        both = times['wait_pong'] + times['serve']
        self.assertGreater(both, 0.5 * pong)
        self.assertLess(times['wait_pong'], 1.02 * pong)

    def test_interrupt(self):
        """The file is complete, and the command has been told to end too."""
        for how, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with subprocess.Popen([PROGRAM, 'record', '-o', self.data, '-F', '999', '--', SPLIT,
                                   'plain', '20000'], stderr=subprocess.PIPE,
                                  stdout=subprocess.DEVNULL, text=True) as recorder:
                self.wait_for_start()
                time.sleep(0.4)
                recorder.send_signal(how)
                _, told = recorder.communicate(timeout=240)
            self.assertEqual(recorder.returncode, status, told)
            capture = Capture(self.data)
            self.assertEqual(capture.status, 0)
            self.assertGreater(capture.by_function(SPLIT)['burn'], 0)
            os.unlink(self.data)

    def test_interrupt_in_the_background(self):
        """A script's 'record ... & ... kill -INT $!': shells let background jobs ignore it."""
        with subprocess.Popen(['sh', '-c', f'{PROGRAM} record -o {self.data} -F 999 -p $$ & exec {SPLIT} '
                               'plain 20000'], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
                              text=True) as process:
            self.wait_for_start()
            with open(f'/proc/{process.pid}/task/{process.pid}/children', encoding='ascii') as file:
                recorder = int(file.read())
            time.sleep(0.4)
            os.kill(recorder, signal.SIGINT)
            self.assertIn('Captured and wrote', process.stderr.readline())
            process.kill()
        self.assertEqual(Capture(self.data).status, 0)

    def test_reader_goes_away(self):
        """Half of a pipe is no place where what was recorded could be found."""
        done = subprocess.run(['bash', '-c', f'{PROGRAM} record -o - -F 999 -- {SPLIT} plain 2000 | '
                               'head -c 1 >/dev/null; exit ${PIPESTATUS[0]}'], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("accel-prof: cannot write to 'standard output': Broken pipe\n", done.stderr)

    def test_killed_recorder(self):
        """What was there until the last second is readable, and it is said that the end is missing."""
        with subprocess.Popen([SPLIT, 'plain', '20000'], stdout=subprocess.DEVNULL) as process:
            recorder = subprocess.Popen([PROGRAM, 'record', '-o', self.data, '-F', '999', '-p',
                                         str(process.pid)], stderr=subprocess.DEVNULL)
            self.wait_for_start()
            time.sleep(2.3)
            recorder.kill()
            recorder.wait()
            process.kill()
        done = run('dump', '-i', self.data)
        self.assertEqual(done.returncode, 1)
        self.assertNotEqual(done.stderr, '')
        self.assertGreater(done.stdout.count('\nCPU_SAMPLE'), 20)

    def test_full_disk(self):
        """The command runs on; what was written is readable."""
        disk = os.path.join(self.folder, 'disk')
        os.mkdir(disk)
        mounted = subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=64k', 'none', disk])
        if mounted.returncode != 0:
            self.skipTest('cannot mount a small file system')
        self.addCleanup(subprocess.run, ['umount', '-l', disk])
        self.data = os.path.join(disk, 'a.data')
        # 40 KiB of the 64 are taken, and samples of a shell that forks fill the rest soon.
        with open(os.path.join(disk, 'fill'), 'wb') as file:
            file.write(bytes(48 << 10))
        done = self.record('-F', '4000', '--', 'sh', '-c',
                           'i=0; while [ $i -lt 1500 ]; do i=$((i+1)); ls / >/dev/null; done; '
                           'echo done')
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(done.stdout, 'done\n')
        self.assertIn('No space left on device', done.stderr)
        dump = run('dump', '-i', self.data)
        self.assertEqual(dump.returncode, 1)
        self.assertIn('HEADER', dump.stdout)

    def test_max_size(self):
        done = self.record('-F', '4000', '--max-size', '20K', '--', 'sh', '-c',
                           'while :; do ls / >/dev/null; done')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('Size limit reached', done.stderr)
        self.assertEqual(Capture(self.data).status, 0)

    def test_pipe(self):
        done = subprocess.run([PROGRAM, 'record', '-o', '-', '--', 'sh', '-c', f'{SPLIT} plain 200 '
                               '>/dev/null'], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 0, done.stderr)
        path = os.path.join(self.folder, 'pipe.data')
        with open(path, 'wb') as file:
            file.write(done.stdout)
        capture = Capture(path)
        self.assertEqual(capture.status, 0)
        self.assertGreater(len(capture.samples), 0)

    def test_not_root(self):
        os.chmod(self.folder, 0o777)
        done = subprocess.run(['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups',
                               PROGRAM, 'record', '--engine', 'bpf', '-o', self.data, '--', 'true'],
                              capture_output=True, text=True)
        if 'failed to execute' in done.stderr:
            self.skipTest('nobody cannot run the program in its build folder')
        self.assertEqual(done.returncode, 1)
        self.assertIn('run as root', done.stderr)
        self.assertEqual(os.listdir(self.folder), [])

    def test_name_pattern(self):
        done = run('record', '-o', os.path.join(self.folder, 'x-%h-%r-%%.data'), '--', 'true',
                   env={**os.environ, 'SLURM_PROCID': '12'})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(os.listdir(self.folder), [f'x-{os.uname().nodename}-12-%.data'])


if __name__ == '__main__':
    if os.geteuid() != 0:
        print('not root: nothing can be recorded')
        sys.exit(77)
    unittest.main()
