# SPDX-License-Identifier: Apache-2.0
"""Whom, when and on what: -a, -C, -t, -G, -e, -c, -D, --control and SIGUSR2, by both engines."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from command import PROGRAM, run
from record_test import SPLIT, Capture, truth

ENGINES = ('bpf', 'perf')
IS_FULL = bool(os.environ.get('ACCEL_PROF_TEST_FULL'))
WRITES = 'i=0; while [ $i -lt 300 ]; do echo x; i=$((i+1)); done'
CGROUPS = ('/sys/fs/cgroup', '/sys/fs/cgroup/unified')


def cgroup_root():
    with open('/proc/mounts', encoding='ascii') as file:
        mounts = {(line.split()[1], line.split()[2]) for line in file}
    return next((root for root in CGROUPS if (root, 'cgroup2') in mounts), None)


class Targets(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.data = os.path.join(self.folder, 'a.data')

    def record(self, *args, **kwargs):
        done = run('record', '-o', self.data, *args, **kwargs)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def busy(self, mode='threads'):
        process = subprocess.Popen([SPLIT, mode, '60000'], stdout=subprocess.DEVNULL,
                                   start_new_session=True)
        self.addCleanup(process.wait)
        self.addCleanup(os.killpg, process.pid, signal.SIGKILL)
        time.sleep(0.3)
        return process

    def cpus(self):
        return {int(cpu) for cpu in re.findall(r'^CPU_SAMPLE .*\bcpu=(\d+)', Capture(self.data).text,
                                               re.MULTILINE)}

    def test_everything(self):
        """A process that nobody named, and the recorder's own command."""
        other = self.busy()
        for engine in ENGINES:
            self.record('--engine', engine, '-a', '-F', '499', '--', SPLIT, 'plain', '200')
            capture = Capture(self.data)
            pids = {Capture.field(process, 'pid') for process in capture.processes.values()}
            self.assertIn(other.pid, pids, engine)
            self.assertTrue(any('plain 200' in process for process in capture.processes.values()))
            self.assertGreater(capture.by_function(SPLIT)['burn'], 20, engine)

    def test_short_processes(self):
        """Each lives a millisecond; none is missed, and what they execute has names. (Files of others on
        the machine may be gone before they are opened.)"""
        done = self.record('-a', '-F', '999', '--', 'sh', '-c',
                           'i=0; while [ $i -lt 400 ]; do /bin/true; i=$((i+1)); done')
        self.assertNotRegex(done.stderr, r'Lost [\d,]+ (cpu-sample|process) events')
        capture = Capture(self.data)
        self.assertGreater(sum('"true"' in process for process in capture.processes.values()), 20)

    def test_cpus(self):
        self.busy()
        allowed = sorted(os.sched_getaffinity(0))
        for engine in ENGINES:
            self.record('--engine', engine, '-C', str(allowed[-1]), '--duration', '0.3', '-F', '499')
            self.assertEqual(self.cpus(), {allowed[-1]}, engine)

    def test_threads(self):
        process = self.busy()
        tids = sorted(int(tid) for tid in os.listdir(f'/proc/{process.pid}/task'))
        for engine in ENGINES:
            self.record('--engine', engine, '-t', f'{tids[1]},{tids[3]}', '--duration', '0.5', '-F',
                        '499')
            found = set(re.findall(r'^THREAD .*tid=(\d+)', Capture(self.data).text, re.MULTILINE))
            self.assertEqual(found, {str(tids[1]), str(tids[3])}, engine)

    def test_until_a_command_ends(self):
        """As with perf: -p PID -- sleep 10."""
        process = self.busy('plain')
        for engine in ENGINES:
            for option, status in (('-p', 0), ('-t', 3)):
                done = run('record', '-o', self.data, '--engine', engine, '-F', '999', option,
                           str(process.pid), '--', 'sh', '-c', f'{SPLIT} plain 200; exit {status}')
                self.assertEqual(done.returncode, status, done.stderr)
                capture = Capture(self.data)
                self.assertEqual({Capture.field(p, 'pid') for p in capture.processes.values()},
                                 {process.pid}, (engine, option))
                self.assertGreater(capture.by_function(SPLIT)['burn'], 20, (engine, option))

    def test_command_beside_is_left_alone(self):
        """What only says when to end gets no library and no variable of ours."""
        process = self.busy('plain')
        shown = subprocess.run(['sh', '-c', 'env'], capture_output=True, text=True, check=True).stdout
        done = self.record('-p', str(process.pid), '--', 'sh', '-c', 'env')
        self.assertEqual(done.stdout, shown)

    def test_target_ends_before_the_command(self):
        for engine in ENGINES:
            with subprocess.Popen([SPLIT, 'plain', '600'], stdout=subprocess.DEVNULL) as process:
                done = self.record('--engine', engine, '-p', str(process.pid), '--', 'sleep', '1000')
            self.assertIn('Captured and wrote', done.stderr)

    def test_cgroup(self):
        """By its name and by its path, with a group inside; another's processes are not recorded."""
        root = cgroup_root()
        name = f'accel-prof-test-{os.getpid()}'
        path = f'{root}/{name}'
        try:
            os.makedirs(f'{path}/inner')
        except OSError as error:
            self.skipTest(f'no control group can be made: {error}')
        inside = self.busy('fork')
        self.busy('fork')  # in another group
        with open(f'/proc/{inside.pid}/task/{inside.pid}/children', encoding='ascii') as file:
            children = file.read().split()

        def remove():
            os.killpg(inside.pid, signal.SIGKILL)
            for folder in (f'{path}/inner', path):
                for _ in range(500):
                    try:
                        os.rmdir(folder)
                        break
                    except OSError:  # somebody in it is still dying
                        time.sleep(0.01)
        self.addCleanup(remove)
        for pid in (inside.pid, *children):
            with open(f'{path}/inner/cgroup.procs', 'w', encoding='ascii') as file:
                file.write(str(pid))
        for engine, ways in zip(ENGINES, ((name, f'/{name}/inner'), (path,))):
            for way in ways:
                self.record('--engine', engine, '-G', way, '--duration', '0.3', '-F', '499')
                capture = Capture(self.data)
                self.assertGreater(len(capture.samples), 3, (engine, way))
                busy = {Capture.field(capture.processes[capture.threads[thread][0]], 'pid')
                        for thread, _ in capture.samples}
                self.assertEqual(busy, {int(pid) for pid in children}, (engine, way))

    def test_no_such_cgroup(self):
        if not cgroup_root():
            self.skipTest('no control groups of version 2')
        done = run('record', '-o', self.data, '-G', 'no-such-group-here', '--duration', '0.1')
        self.assertEqual(done.returncode, 1)
        self.assertIn("no control group, and so no container, 'no-such-group-here'", done.stderr)
        self.assertEqual(os.listdir(self.folder), [])

    def test_tracepoint(self):
        """Each write of a shell is one sample, or each tenth."""
        script = ('mount -t tracefs none /sys/kernel/tracing || exit 99; '
                  f'{PROGRAM} record -o "$@" -- sh -c \'{WRITES}\' >/dev/null')
        for engine in ENGINES:
            for period in (1, 10):
                done = subprocess.run(
                    ['unshare', '-m', 'sh', '-c', script, 'sh', self.data, '--engine', engine, '-e',
                     'syscalls:sys_enter_write', '-c', str(period)], capture_output=True, text=True,
                    check=False)
                if done.returncode == 99 or 'unshare' in done.stderr:
                    self.skipTest('no tracefs here')
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(self.taken_and_lost(), 300 // period, (engine, period, done.stderr))

    def taken_and_lost(self):
        text = Capture(self.data).text
        return (len(re.findall('^CPU_SAMPLE', text, re.MULTILINE)) +
                sum(int(n) for n in re.findall(r'^LOST .*"cpu-sample".* count=(\d+)', text,
                                               re.MULTILINE)))

    def test_events(self):
        """Page faults are counted, and stand for no time; a clock by its period does."""
        script = 'import mmap; m = mmap.mmap(-1, 4096 * 2000)\nfor i in range(2000): m[4096 * i] = 1'
        for engine in ENGINES:
            self.record('--engine', engine, '-e', 'page-faults', '-c', '10', '--', '/usr/bin/python3',
                        '-c', script)
            # Faults come faster than their stacks can be taken away.
            self.assertGreaterEqual(self.taken_and_lost(), 100, engine)
            self.assertIn("no 'cpu-time'", run('flamegraph', '--metric', 'cpu-time', '-i', self.data)
                          .stderr)
            done = self.record('--engine', engine, '-e', 'cpu-clock:u', '-c', '2000000', '--', SPLIT,
                               'plain', '400')
            self.assertIn('often', done.stdout)
            self.assertGreater(len(Capture(self.data).samples), 100, engine)

    def test_several_events(self):
        """Each sample says which it was taken on; of each event there is a metric."""
        script = 'import mmap; m = mmap.mmap(-1, 4096 * 2000)\nfor i in range(2000): m[4096 * i] = 1'
        for engine in ENGINES:
            self.record('--engine', engine, '-e', 'page-faults,minor-faults', '-e', 'context-switches',
                        '-c', '10', '--', '/usr/bin/python3', '-c', script)
            samples = re.findall(r'^CPU_SAMPLE (.*)$', Capture(self.data).text, re.MULTILINE)
            named = [re.search(r'\bevent=\d+:"([^"]*)"', sample) for sample in samples]
            faults = sum(bool(name) and name[1] == 'minor-faults' for name in named)
            for metric, count in (('cpu-samples', named.count(None)), ('event:minor-faults', faults)):
                self.assertGreater(count, 10, engine)  # faults come faster than they are taken
                done = run('export', '--format', 'folded', '--metric', metric, '-i', self.data)
                lines = [line.rpartition(' ') for line in done.stdout.splitlines()
                         if not line.startswith('[lost]')]
                self.assertEqual(sum(int(n) for _, _, n in lines), count, (engine, metric))
                self.assertGreater(sum(int(n) for stack, _, n in lines if ';mmap.cpython' in stack),
                                   count / 5, (engine, metric))

    def test_too_many_events(self):
        done = run('record', '-e', ','.join(['page-faults'] * 9), '-o', self.data, '--', 'true')
        self.assertEqual(done.returncode, 129)
        self.assertIn('8 events at most', done.stderr)

    def test_what_cannot_be(self):
        """Numbers beyond what there is."""
        for option, value, text in (('-C', '4000', 'there is no CPU 4000'),
                                    ('-c', str(2**64 - 1), 'no number of events')):
            done = run('record', option, value, '-o', self.data, '--', 'true')
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(text, done.stderr)

    def test_no_such_event(self):
        done = run('record', '-e', 'nonsense', '-o', self.data, '--', 'true')
        self.assertEqual(done.returncode, 1)
        self.assertIn("no event 'nonsense'", done.stderr)
        self.assertEqual(os.listdir(self.folder), [])

    def times(self):
        """Seconds of all samples after the recording's first clock."""
        text = Capture(self.data).text
        start = float(re.search(r'^CLOCK time=([\d.]+)', text, re.MULTILINE)[1])
        return [float(t) - start for t in re.findall(r'^CPU_SAMPLE time=([\d.]+)', text, re.MULTILINE)]

    def test_delay(self):
        for engine in ENGINES:
            self.record('--engine', engine, '-D', '300', '-F', '999', '--', SPLIT, 'plain', '800')
            times = self.times()
            self.assertGreater(len(times), 20, engine)
            self.assertGreaterEqual(min(times), 0.3, engine)

    def test_ranges(self):
        """Between the windows there is nothing. On a busy machine a window may find nothing to sample, or
        the recorder may open and close it late: not three times in a row."""
        for _ in range(3):
            done = self.record('-D', '100-200,500-600', '-F', '999', '--', SPLIT, 'threads', '1500')
            self.assertIn('in 2 windows', done.stderr)
            times = sorted(self.times())
            widest, at = max(((b - a, a) for a, b in zip(times, times[1:])), default=(0, 0))
            if (len(times) > 5 and widest > 0.29 and at - times[0] < 0.11 and
                    times[-1] - at - widest < 0.11):
                return
        self.fail((times, widest, at))

    def test_control(self):
        """Lines through a pipe, each answered; 'stop' ends it and the command goes on to its end."""
        orders, answers = (os.path.join(self.folder, name) for name in ('orders', 'answers'))
        os.mkfifo(orders)
        os.mkfifo(answers)
        process = self.busy()
        with subprocess.Popen([PROGRAM, 'record', '-o', self.data, '-D', '-1', '--control',
                               f'fifo:{orders},{answers}', '-F', '999', '-p', str(process.pid)],
                              stderr=subprocess.PIPE, text=True) as recorder:
            with open(orders, 'w', encoding='ascii') as out, open(answers, encoding='ascii') as back:
                def order(text):
                    out.write(text + '\n')
                    out.flush()
                    self.assertEqual(back.readline(), 'ack\n')
                order('ping')
                time.sleep(0.3)
                before = time.clock_gettime(time.CLOCK_MONOTONIC)
                order('enable')
                time.sleep(0.4)
                order('disable')
                after = time.clock_gettime(time.CLOCK_MONOTONIC)
                order('nonsense')
                time.sleep(0.3)
                order('stop')
            _, told = recorder.communicate(timeout=20)
        self.assertEqual(recorder.returncode, 0, told)
        self.assertIn("'nonsense' is none of", told)
        self.assertIn('Recording is on', told)
        times = [float(t) for t in re.findall(r'^CPU_SAMPLE time=([\d.]+)', Capture(self.data).text,
                                              re.MULTILINE)]
        self.assertGreater(len(times), 20)
        self.assertGreaterEqual(min(times), before)
        self.assertLessEqual(max(times), after)

    def test_signal(self):
        """SIGUSR2 begins a window and ends it, and does not reach the command."""
        process = self.busy()
        with subprocess.Popen([PROGRAM, 'record', '-o', self.data, '-D', '-1', '-F', '999', '-p',
                               str(process.pid)], stderr=subprocess.PIPE, text=True) as recorder:
            while not os.path.exists(self.data):
                time.sleep(0.01)
            time.sleep(0.3)
            times = []
            for _ in range(2):
                times.append(time.clock_gettime(time.CLOCK_MONOTONIC))
                recorder.send_signal(signal.SIGUSR2)
                time.sleep(0.3)
            recorder.send_signal(signal.SIGINT)
            _, told = recorder.communicate(timeout=20)
        self.assertEqual(recorder.returncode, 0, told)
        taken = [float(t) for t in re.findall(r'^CPU_SAMPLE time=([\d.]+)', Capture(self.data).text,
                                              re.MULTILINE)]
        self.assertGreater(len(taken), 10)
        self.assertGreaterEqual(min(taken), times[0])
        # The recorder may be woken late.
        self.assertLess(max(taken), times[1] + 0.29)

    def parts(self):
        return sorted(name for name in os.listdir(self.folder)
                      if re.fullmatch(r'a\.data\.\d{8}T\d{8}', name))

    def test_switch_output(self):
        """A file a second, each whole, without a gap; the command's status at the end."""
        for engine in ENGINES if IS_FULL else ENGINES[:1]:
            done = run('record', '--engine', engine, '-o', self.data, '--switch-output=1s', '-F', '999',
                       '--', 'sh', '-c', f'{SPLIT} plain 2500; exit 7')
            self.assertEqual(done.returncode, 7, done.stderr)
            _, seconds = truth(done.stdout)
            parts = self.parts()
            self.assertGreaterEqual(len(parts), 2, engine)
            count = 0
            for part in parts:
                path = os.path.join(self.folder, part)
                capture = Capture(path)
                self.assertEqual(capture.status, 0, part)
                count += capture.by_function(SPLIT)['burn']
                os.unlink(path)
            # What is around a switch is in both files.
            self.assertGreater(count, 0.9 * 999 * seconds, engine)

    def test_switch_by_signal(self):
        process = self.busy()
        with subprocess.Popen([PROGRAM, 'record', '-o', self.data, '--switch-output',
                               '--switch-max-files', '2', '-p', str(process.pid)],
                              stderr=subprocess.PIPE, text=True) as recorder:
            seen = set()
            for count in range(1, 4):
                for _ in range(2000):
                    seen.update(self.parts())
                    if len(seen) == count:
                        break
                    time.sleep(0.01)
                time.sleep(0.2)
                recorder.send_signal(signal.SIGUSR2 if count < 3 else signal.SIGINT)
            _, told = recorder.communicate(timeout=20)
        self.assertEqual(recorder.returncode, 0, told)
        self.assertEqual(told.count('Captured and wrote'), 3, told)
        self.assertEqual(len(seen), 3, told)
        self.assertEqual(self.parts(), sorted(seen)[1:])
        for part in self.parts():
            self.assertEqual(Capture(os.path.join(self.folder, part)).status, 0)

    def test_bad_control(self):
        for text in ('nonsense', 'fifo:/no/such/pipe', 'fd:999', 'fifo:/etc/passwd'):
            done = run('record', '--control', text, '-o', self.data, '--', 'true')
            self.assertEqual(done.returncode, 1, text)
            self.assertNotIn('root', done.stderr)
        self.assertIn("'/etc/passwd' is no FIFO", done.stderr)
        self.assertEqual(os.listdir(self.folder), [])

    def test_usage(self):
        for args in (['-a', '-p', '1'], ['-G', 'x', '-t', '1'], ['-p', '1', '-t', '1'], ['-C', 'x'],
                     ['-C', '3-1'], ['-F', '99', '-c', '10', 'true'], ['-c', '0', 'true'],
                     ['-D', 'x', 'true'], ['-D', '20-10', 'true'], ['-D', '10-20,15-30', 'true'],
                     ['-D', '10,20', 'true'], ['--switch-output=x', 'true'],
                     ['--switch-output', '-o', '-', 'true'], ['--switch-output', '-D', '5', 'true'], ['-z10', 'true'], ['--engine', 'x', 'true'], ['-t', '0']):
            done = run('record', *args, cwd=self.folder)
            self.assertEqual((done.returncode, done.stdout), (129, ''), args)

    def test_compression(self):
        """Harder is smaller, and says the same."""
        sizes = {}
        pipe = {}
        for level in ('1', '9'):
            self.record('-F', '4000', f'-z{level}', '--', 'sh', '-c',
                        'i=0; while [ $i -lt 100 ]; do ls / >/dev/null; i=$((i+1)); done')
            capture = Capture(self.data)
            self.assertEqual(capture.status, 0)
            sizes[level] = os.path.getsize(self.data) / max(1, len(capture.text))
            pipe[level] = capture
        self.assertLess(sizes['9'], sizes['1'])

    def test_pipe(self):
        """record -o - | report -i -, and flamegraph of the same bytes: nothing needs to seek."""
        command = (f'{PROGRAM} record -q -F 999 -o - -- sh -c "{SPLIT} plain 300 >&2" | tee {self.data} '
                   f'| {PROGRAM} report -i -')
        done = subprocess.run(['bash', '-c', f'set -o pipefail; {command}'], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('burn', done.stdout)
        self.assertEqual(run('report', '-i', self.data).stdout, done.stdout)
        done = subprocess.run(['bash', '-c', f'set -o pipefail; {PROGRAM} flamegraph -i - < {self.data}'],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('burn', done.stdout)
        done = subprocess.run(
            ['bash', '-c', f'{PROGRAM} record -q -o - -- true | head -c 300 | {PROGRAM} report -i -'],
            capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1, done.stdout)


if __name__ == '__main__':
    if os.geteuid() != 0:
        print('not root: nothing can be recorded')
        sys.exit(77)
    unittest.main()
