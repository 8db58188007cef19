# SPDX-License-Identifier: Apache-2.0
"""Intel's own driver, Level Zero and OpenCL, in the mode in which it needs no GPU and writes what it would do into a
file: launches, kernels and their addresses are real, but nothing is computed."""
import contextlib
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import time
import unittest
from collections import Counter

from command import PROGRAM, SOURCE_DIR, everywhere, run
from launch_test import Capture, functions

WORKLOAD = os.path.join(os.environ['WORKLOAD_DIR'], 'intel_mm')
TEXT = os.path.join(SOURCE_DIR, 'test/workload/mm.cl')
BUILD = os.path.dirname(os.environ['WORKLOAD_DIR'])
PYTHON = os.path.join(SOURCE_DIR, 'test/workload/pyopencl_mm.py')
ICD = '/etc/OpenCL/vendors/intel.icd'

# A Ponte Vecchio. Without EnableTimestampPacket=0 clFinish() waits for what never comes; the last one makes the
# compiler of that age write zebins for OpenCL, as later ones do.
DRIVER = {'NEOReadDebugKeys': '1', 'SetCommandStreamReceiver': '1', 'ProductFamilyOverride': 'pvc',
          'HardwareInfoOverride': '2x8x8', 'EnableTimestampPacket': '0', 'OCL_ICD_VENDORS': ICD,
          'IGC_EnableZEBinary': '1', 'PYOPENCL_NO_CACHE': '1',
          'ASAN_OPTIONS': os.environ.get('ASAN_OPTIONS', '') + ':verify_asan_link_order=0'}
CALLERS = {'multiply_basic': 'mm_basic', 'multiply_local': 'mm_local',
           'multiply_tiled': 'mm_tiled'}


class Driver(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        # The driver writes into the current folder.
        cls.place = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.place)
        # With debug information for several kernels this one aborts, when the file is there.
        subprocess.run(['ocloc', 'compile', '-file', TEXT, '-device', 'pvc', '-options', '-g',
                        '--format', 'zebin', '-output', 'mm', '-out_dir', cls.place],
                       cwd=cls.place, capture_output=True, check=False, timeout=300,
                       env={**os.environ, 'IGC_UseMTInLLD': '1'})
        cls.zebin = next(os.path.join(cls.place, name) for name in os.listdir(cls.place)
                         if name.endswith('.bin'))
        cls.data = os.path.join(cls.place, 'a.data')
        cls.environment = {**os.environ, **DRIVER}

    def command(self, api, rounds, *how):
        return [WORKLOAD, api, self.zebin if api == 'ze' else TEXT, str(rounds), *how]

    def record(self, *command, options=(), **environment):
        done = subprocess.run([PROGRAM, 'record', '-q', *options, '-o', self.data, '--', *command],
                              capture_output=True, text=True, timeout=300, check=False,
                              cwd=self.place, env={**self.environment, **environment})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout, Capture(self.data)

    def attached(self, *command, options=(), pause=0):
        """The capture of a program that had made its kernels before."""
        if os.path.exists(self.data):
            os.unlink(self.data)
        with subprocess.Popen([*command, 'wait'], cwd=self.place, env=self.environment,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as target:
            self.assertEqual(target.stdout.readline(), 'ready\n')
            with subprocess.Popen([PROGRAM, 'record', '-q', *options, '-o', self.data, '-p',
                                   str(target.pid)], stdin=subprocess.DEVNULL) as recorder:
                # The file takes its name when the recording has started.
                while not os.path.exists(self.data) and recorder.poll() is None:
                    time.sleep(0.05)
                time.sleep(pause)
                output, _ = target.communicate('go\n', timeout=300)
                self.assertEqual(recorder.wait(timeout=300), 0)
        self.assertEqual(target.returncode, 0)
        return output, Capture(self.data)

    def callers(self, capture, launches=None):
        """Kernel launches by their kernel and the workload's own function that made them."""
        table = functions(WORKLOAD)
        count = Counter()
        for launch in capture.launches if launches is None else launches:
            found = next((name for module, offset in launch.stack if module == 'intel_mm'
                          for start, end, name in table if start <= offset < end), None)
            count[capture.kernels[launch.number('kernel')], found] += \
                max(1, launch.number('count'))
        return count

    def truth(self, output):
        """What the program says of itself: {(kernel, function): launches}, {kernel: address}."""
        lines = re.findall(r'^launched (\w+) (\w+) (\d+) address (0x[0-9a-f]+)$', output,
                           re.MULTILINE)
        self.assertEqual({(line[0], line[1]) for line in lines}, set(CALLERS.items()))
        return ({(kernel, function): int(count) for function, kernel, count, _ in lines},
                {kernel: int(address, 16) for _, kernel, _, address in lines})


class Outside(Driver):
    """With nothing in the process."""

    def outside(self, *command):
        return self.record(*command, options=['--no-inject'])

    def test_level_zero(self):
        for how in 'list', 'immediate':
            output, capture = self.outside(*self.command('ze', 6, how))
            self.assertEqual(self.callers(capture), self.truth(output)[0])
            self.assertEqual(capture.lost(), [])
            self.assertEqual({(d['name'], d['vendor'], d['runtime'])
                              for d in capture.records['DEVICE']},
                             {('Intel(R) Graphics [0x0bd5]', 'Intel', 'levelzero')})
            # The code as the program gave it, whole.
            self.assertEqual([r.number('total_bytes') for r in capture.records['CODE_OBJECT']],
                             [os.path.getsize(self.zebin)])
            self.assertEqual({capture.kernels[r.number('kernel')]: r['grid']
                              for r in capture.launches},
                             {'mm_basic': '4,4,1', 'mm_local': '4,4,1', 'mm_tiled': '1,4,1'})
        self.assertIn('launches, not time', run('flamegraph', '-i', self.data).stdout)

    def test_replay(self):
        """Once by who appends, and each further time by who executes."""
        _, capture = self.outside(*self.command('ze', 6, 'replay'))
        again = [r for r in capture.launches if r.get('flags') == 'replay']
        first = [r for r in capture.launches if r.get('flags') != 'replay']
        self.assertEqual(self.callers(capture, first),
                         {(kernel, function): 1 for function, kernel in CALLERS.items()})
        self.assertEqual(self.callers(capture, again),
                         {(kernel, 'execute'): 5 for kernel in CALLERS.values()})
        self.assertEqual([r['name'] for r in capture.records['SYNC']],
                         ['zeCommandQueueSynchronize'] * 6)

    def test_calls(self):
        """One of each, those of newer loaders on a mock of them."""
        output, capture = self.attached(
            os.path.join(os.environ['WORKLOAD_DIR'], 'ze_calls'), self.zebin,
            os.path.join(BUILD, 'fake/libze_loader-newer.so'))
        seen = [' '.join((r.get('name') or capture.kernels[r.number('kernel')],
                          r.get('bytes', '0'), r.get('grid', ''), r.get('block', ''))).rstrip()
                for r in sorted(capture.records['LAUNCH'], key=lambda r: r.ns('time'))]
        self.assertEqual(seen, [line.rstrip() for line in output.splitlines()])
        self.assertEqual(len(seen), 11)
        for r in capture.records['LAUNCH']:
            self.assertIn('ze_calls', {module for module, _ in r.stack})

    def test_attached(self):
        """Launches have callers; OpenCL's kernels have their names from memory, Level Zero's none."""
        expected = {('', function): 6 for function in CALLERS}
        _, capture = self.attached(*self.command('ze', 6, 'list'))
        self.assertEqual(self.callers(capture), expected)
        _, capture = self.attached(*self.command('cl', 6, 'list'))
        count = Counter()
        for (_, function), number in self.callers(capture).items():
            count[function] += number
        self.assertEqual(count, {function: 6 for function in CALLERS})


class Located(Driver):
    """With our libraries in it."""

    def check_code(self, output, capture, addresses=None):
        """Where each kernel's code is, as the driver says it to the program itself."""
        where = {r['name']: int(re.fullmatch('address=(0x[0-9a-f]+)', r['metadata'])[1], 16)
                 for r in capture.records['KERNEL']}
        self.assertEqual(where, addresses or self.truth(output)[1])

    def check_modules(self, capture):
        """One file of all kernels, as the driver has made it: each kernel is as large as its section in what the
        compiler made."""
        code, = [r for r in capture.records['CODE_OBJECT'] if r['kind'] == 'zebin']
        self.assertEqual({r['code_object'] for r in capture.records['KERNEL']}, {code['id']})
        self.assertEqual({r['name']: r.number('size') for r in capture.records['KERNEL']},
                         self.sizes())

    def sizes(self):
        sections = subprocess.run(['readelf', '-SW', self.zebin], capture_output=True, text=True,
                                  check=True).stdout
        return {name: int(size, 16) for name, size in re.findall(
            r' \.text\.(mm_\w+) +PROGBITS +[0-9a-f]+ [0-9a-f]+ ([0-9a-f]+) ', sections)}

    def check(self, output, capture):
        self.assertEqual(self.callers(capture), self.truth(output)[0])
        self.assertEqual(capture.lost(), [])
        self.check_code(output, capture)


class Inside(Located):
    """From its start."""

    def test_level_zero(self):
        for how in 'list', 'immediate':
            output, capture = self.record(*self.command('ze', 6, how))
            self.check(output, capture)
            self.check_modules(capture)
            # It passes launches on without a frame of its own.
            self.assertNotIn('libaccel-prof', str([r.stack for r in capture.launches]))

    def test_opencl(self):
        output, capture = self.record(*self.command('cl', 6))
        self.check(output, capture)
        self.check_modules(capture)

    def test_pyopencl(self):
        output, capture = self.record('/usr/bin/python3', PYTHON, TEXT, '5')
        if 'no pyopencl' in output:
            self.skipTest('no pyopencl (package python3-pyopencl)')
        self.assertEqual(Counter(capture.kernels[r.number('kernel')] for r in capture.launches),
                         {kernel: 5 for kernel in CALLERS.values()})
        self.check_code(output, capture,
                        {name: int(address) for name, address in re.findall(
                            r'^kernel (\w+) address (\d+)$', output, re.MULTILINE)})
        self.check_modules(capture)
        folded = run('flamegraph', '-i', self.data, '--format', 'folded').stdout
        for function, kernel in CALLERS.items():
            self.assertRegex(folded, rf'(?m);py::{function} .*;{kernel}_')

    def test_times(self):
        """A driver without a GPU has none, and does all else as ever."""
        for api, how in ('ze', 'list'), ('ze', 'immediate'), ('ze', 'replay'), ('cl', 'list'):
            with self.subTest(how):
                runtime = 'levelzero' if api == 'ze' else 'opencl'
                output, capture = self.record(*self.command(api, 6, how),
                                              options=['--accel', runtime + ':times'])
                made = self.callers(capture)
                self.assertEqual(sum(made.values()), 18)
                if how != 'replay':
                    self.assertEqual(made, self.truth(output)[0])
                self.check_code(output, capture)
                self.assertEqual(capture.records['DISPATCH'], [])
                self.assertIn('18', capture.info['missing.device-time'])

    def test_next_file(self):
        """What was made while the first file was written has its name and its code in the second one."""
        for api in 'ze', 'cl':
            with self.subTest(api), tempfile.TemporaryDirectory() as folder, subprocess.Popen(
                    [PROGRAM, 'record', '-q', '--switch-output', '-o', os.path.join(folder, 'd'),
                     '--', *self.command(api, 6, 'list', 'wait')], cwd=self.place, text=True,
                    env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as target:
                self.assertEqual(target.stdout.readline(), 'ready\n')
                target.send_signal(signal.SIGUSR2)
                # When the second has its name the first one is still being finished.
                while len([f for f in os.listdir(folder) if '.tmp' not in f]) < 2:
                    time.sleep(0.05)
                    self.assertIsNone(target.poll())
                output, _ = target.communicate('go\n', timeout=300)
                self.assertEqual(target.returncode, 0)
                first, second = (Capture(os.path.join(folder, f))
                                 for f in sorted(os.listdir(folder)))
                self.assertEqual(len(first.launches), 0)
                self.check(output, second)
                self.check_modules(second)

    def test_without_debug_information(self):
        """What it was built without is not needed to know where it is."""
        output, capture = self.record(*self.command('cl', 2), INTEL_MM_BUILD='')
        self.check(output, capture)

    def test_old_format(self):
        """Programs that the compiler gives in its format of before 2023: kernels and their sizes, no file."""
        output, capture = self.record(*self.command('cl', 2), IGC_EnableZEBinary='0')
        self.check(output, capture)
        self.assertEqual([r['kind'] for r in capture.records['CODE_OBJECT']], ['source'])
        for r in capture.records['KERNEL']:
            self.assertGreater(r.number('size'), 100)

    def test_other_tools(self):
        """Another library before the loader's, and the loader's own layers: each sees all that it saw alone."""
        tool = os.path.join(os.environ['WORKLOAD_DIR'], 'ze_tool.so')
        for environment in {'LD_PRELOAD': tool}, {'ZE_ENABLE_TRACING_LAYER': '1'}, \
                {'ZE_ENABLE_VALIDATION_LAYER': '1', 'ZE_ENABLE_PARAMETER_VALIDATION': '1'}:
            with self.subTest(environment):
                output, capture = self.record(*self.command('ze', 6), **environment)
                self.check(output, capture)
                if 'LD_PRELOAD' in environment:
                    self.assertIn('tool: 3 kernels, 18 launches\n', output)

    def test_sanitizer(self):
        """A program that wants to be loaded before all others."""
        source = os.path.join(self.place, 'plain.c')
        with open(source, 'w', encoding='ascii') as file:
            file.write('int main(void) { return 0; }\n')
        done = subprocess.run(['cc', '-fsanitize=address', source, '-o', source[:-2]],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            self.skipTest(f'no AddressSanitizer here: {done.stderr}')
        done = subprocess.run([PROGRAM, 'record', '-q', '-o', self.data, '--', source[:-2]],
                              capture_output=True, text=True, timeout=200, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ''))

    def test_other_driver(self):
        """Where no Intel driver is the program is as it was."""
        mm = os.path.join(os.environ['WORKLOAD_DIR'], 'launches')
        output, capture = self.record(mm, '-n', '100', OCL_ICD_VENDORS='/etc/OpenCL/vendors')
        if not capture.records['DISPATCH']:
            self.skipTest('no POCL (package pocl-opencl-icd)')
        self.assertIn('total 100', output)
        self.assertEqual(len(capture.launches), 101)
        self.assertNotIn('opencl.located-kernels', capture.info)
        if not os.path.exists('/dev/dri'):
            self.assertNotIn('missing.device-samples', capture.info)


class Inserted(Located):
    """Put into a program that runs."""

    def inserted(self, *command):
        # It leads calls within a tenth of a second.
        return self.attached(*command, options=['--inject'], pause=1)

    def test_opencl(self):
        output, capture = self.inserted(*self.command('cl', 6, 'list'))
        self.check(output, capture)
        self.check_modules(capture)

    def test_level_zero(self):
        """Of modules from before only kernels can be found, until a kernel is made of them."""
        output, capture = self.inserted(*self.command('ze', 6, 'list'))
        self.check(output, capture)
        for how in 'late', 'anew':
            output, capture = self.inserted(*self.command('ze', 6, how))
            self.check(output, capture)
            self.check_modules(capture)

    def state(self, target):
        """What may be left behind: threads, mappings of ours, and all mappings."""
        with open(f'/proc/{target.pid}/maps', encoding='ascii') as file:
            maps = file.read().splitlines()
        with open(f'/proc/{target.pid}/statm', encoding='ascii') as file:
            size = int(file.read().split()[0])
        return (len(os.listdir(f'/proc/{target.pid}/task')),
                sum('accel-prof' in line for line in maps), len(maps), size)

    def gone(self, target):
        """Its state when our libraries have left it."""
        for _ in range(1200):
            state = self.state(target)
            if state[1] == 0 and state[0] == 1:
                return state
            time.sleep(0.1)
        self.fail(f'still there: {state}')
        return None

    def waiting(self, api):
        return subprocess.Popen([*self.command(api, 6, 'list'), 'wait'], cwd=self.place,
                                env=self.environment, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True)

    def test_left(self):
        """Attached to again and again: nothing of it is left, and the program does what it would have done."""
        times = 100 if os.environ.get('ACCEL_PROF_TEST_FULL') else 10
        with self.waiting('cl') as target:
            self.assertEqual(target.stdout.readline(), 'ready\n')
            states = []
            for _ in range(times):
                done = run('record', '-q', '--inject', '-o', self.data, '-p', str(target.pid),
                           '--duration', '0.3')
                self.assertEqual(done.returncode, 0, done.stderr)
                if len(states) < 2:
                    states.append(self.gone(target))
            # The C library keeps a thread's stack for the next, after the first time.
            self.assertEqual(self.gone(target)[1:], states[1][1:])
            output, _ = target.communicate('go\n', timeout=300)
            self.assertEqual(target.returncode, 0)
            self.truth(output)

    def test_recorder_dies(self):
        with self.waiting('ze') as target:
            self.assertEqual(target.stdout.readline(), 'ready\n')
            with subprocess.Popen([PROGRAM, 'record', '-q', '--inject', '-o', self.data + '2', '-p',
                                   str(target.pid)], stdin=subprocess.DEVNULL) as recorder:
                while not os.path.exists(self.data + '2') and recorder.poll() is None:
                    time.sleep(0.05)
                self.assertGreater(self.state(target)[1], 0)
                recorder.kill()
            output, _ = target.communicate('go\n', timeout=300)
            self.assertEqual(target.returncode, 0)
            self.truth(output)

    def test_another_recorder(self):
        """In a program that was started with the libraries: each is told of all that is used, whoever came first."""
        layer = os.path.join(BUILD, '../lib/inject/libaccel-prof-opencl.so')
        first = os.path.join(BUILD, '../lib/inject/libaccel-prof-ze.so')
        self.environment = {**self.environment, 'OPENCL_LAYERS': os.path.realpath(layer),
                            'LD_PRELOAD': os.path.realpath(first)}
        for api in 'ze', 'cl':
            for first in contextlib.nullcontext(), everywhere():
                with self.subTest(api=api, first=first), first:
                    output, capture = self.inserted(*self.command(api, 4, 'list'))
                    self.check(output, capture)
                    self.check_modules(capture)


class Stalls(Located):
    """The whole way: kernels at the driver's own addresses, and a stream of stalls there, as the hardware would write it,
    by a stand-in for the kernel's driver."""

    FAKE = os.path.join(BUILD, 'fake')
    # 72.0, 21.6 and 6.4 % of the samples in the kernels; 78.4 % wait for the scoreboard.
    SHARES = {'mm_basic': 72.0, 'mm_local': 21.6, 'mm_tiled': 6.4}
    SBID = 78.4
    COUNTS = {'mm_basic': (('sbid', 40000), ('sbid', 18000), ('active', 9000), ('send', 5000)),
              'mm_local': (('sbid', 16000), ('sync', 4000), ('active', 1600)),
              'mm_tiled': (('sbid', 4400), ('pipestall', 1200), ('inst_fetch', 800))}

    def setUp(self):
        if not shutil.which('iga64') or not shutil.which('eu-readelf'):
            self.skipTest('no iga64 or eu-readelf (packages libigc-tools, elfutils)')
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        os.mkfifo(os.path.join(self.folder, 'stream'))
        self.stream = os.open(os.path.join(self.folder, 'stream'), os.O_RDWR)
        self.addCleanup(os.close, self.stream)
        self.dump = os.path.join(self.folder, 'dump.elf')

    def instructions(self):
        """By other tools, of the file that the driver gave the program itself: {kernel: [(offset, text)]}"""
        with open(self.dump, 'rb') as file:
            image = file.read()
        found = {}
        for name, offset, size in re.findall(
                r' \.text\.(mm_\w+) +PROGBITS +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+) ',
                subprocess.run(['readelf', '-SW', self.dump], capture_output=True, text=True,
                               check=True).stdout):
            path = os.path.join(self.folder, name)
            with open(path, 'wb') as file:
                file.write(image[int(offset, 16):int(offset, 16) + int(size, 16)])
            text = subprocess.run(['iga64', '-d', '-p=xehpc', '-Xprint-pc', '-n', path],
                                  capture_output=True, text=True, check=False).stdout
            found[name] = [(int(pc, 16), ' '.join(rest.split('//')[0].split())) for pc, rest in
                           re.findall(r'^/\* \[([0-9A-F]+)\] +\*/ (.*)$', text, re.MULTILINE)]
        return found

    def lines(self):
        """{address: line} where a line begins."""
        text = subprocess.run(['eu-readelf', '--debug-dump=decodedline', self.dump],
                              capture_output=True, text=True, check=True).stdout
        return {int(address, 16): int(line) for line, address in re.findall(
            r'^ +(\d+):\d+ .* (0x[0-9a-f]+) <', text, re.MULTILINE)}

    def line_at(self, lines, address):
        return lines[max(a for a in lines if a <= address)]

    def chosen(self, instructions):
        """Stalls of a kernel: {(offset, reason): count}, those of the scoreboard where an instruction waits for it."""
        stalls = {}
        for kernel, counts in self.COUNTS.items():
            waiting = [pc for pc, text in instructions[kernel]
                       if re.search(r'\$\d+\.dst', text) and 'sync' not in text]
            others = [pc for pc, text in instructions[kernel]
                      if re.match(r'(\(W\) )?(add|mad|mul|shl) ', text) and '$' not in text]
            for reason, count in counts:
                pc = waiting.pop() if reason == 'sbid' else others.pop()
                stalls[kernel, pc, reason] = count
        return stalls

    def recorded(self, *command):
        return subprocess.Popen(
            [PROGRAM, 'record', '-q', '-o', self.data, '--accel', 'xe,levelzero,opencl', '--',
             *command], cwd=self.place, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**self.environment, 'XE_DRIVER': self.folder, 'XE_VERSION': '12.60',
                 'LD_PRELOAD': os.path.join(self.FAKE, 'libfake_xe_driver.so'),
                 'INTEL_MM_DUMP': self.dump})

    def send(self, stalls, addresses):
        """As the hardware would, until all is read."""
        stream = subprocess.run(
            [os.path.join(self.FAKE, 'xe_replay'), 'pvc', '0', '4096'], check=True,
            capture_output=True, timeout=60,
            input=''.join(f'{addresses[kernel] + pc:x} {reason} {count}\n' for
                          (kernel, pc, reason), count in stalls.items()).encode()).stdout
        for at in range(0, len(stream), 4096):
            os.write(self.stream, stream[at:at + 4096])
        while any(fcntl.ioctl(self.stream, termios.FIONREAD, bytes(4))):
            time.sleep(0.01)

    def record_stalls(self, api):
        """The program's stalls, and what it says."""
        with self.recorded(WORKLOAD, api, self.zebin, '3', 'list', 'wait') as target:
            self.assertEqual(target.stdout.readline(), 'ready\n')
            target.stdin.write('go\n')
            target.stdin.flush()
            output = ''.join(target.stdout.readline() for _ in CALLERS)
            addresses = self.truth(output)[1]
            stalls = self.chosen(self.instructions())
            self.send(stalls, addresses)
            target.stdin.close()
            self.assertEqual(target.wait(timeout=300), 0)
        return output, stalls, addresses

    def check_picture(self, output, stalls, addresses):
        """To the tenth of a percent, and each stack to the sample."""
        capture = Capture(self.data)
        self.check(output, capture)
        instructions = {k: dict(v) for k, v in self.instructions().items()}
        lines = self.lines()
        folded = run('flamegraph', '-i', self.data, '--format', 'folded', '--metric',
                     'device-samples').stdout
        expected = {}
        for (kernel, pc, reason), count in stalls.items():
            function = next(f for f, k in CALLERS.items() if k == kernel)
            line = self.line_at(lines, addresses[kernel] + pc)
            # What stands between frames does not stand in them.
            text = instructions[kernel][pc].replace(';', ':')
            expected[function, kernel, f'mm.cl:{line}', pc, text, reason] = count
        found = {}
        for stack, count in re.findall(r'^(.*) (\d+)$', folded, re.MULTILINE):
            frames = stack.split(';')
            if '-' not in frames:
                continue
            cut = frames.index('-')
            self.assertEqual(frames[0], 'intel_mm')
            self.assertIn('main', frames[:cut])
            pc, text = frames[-2].removesuffix('_[g]').split(': ', 1)
            key = (frames[cut - 2], frames[cut + 1].removesuffix('_[G]'),
                   frames[-3].removesuffix('_[G]'), int(pc, 16), text,
                   frames[-1].removesuffix('_[g]'))
            found[key] = found.get(key, 0) + int(count)
        self.assertEqual(found, expected)
        svg = run('flamegraph', '-i', self.data, '--metric', 'device-samples').stdout
        for kernel, share in self.SHARES.items():
            count = sum(c for (k, _, _), c in stalls.items() if k == kernel)
            self.assertIn(f'<title>{kernel} ({count:,} samples, {share} %)', svg)
        sbid = sum(c for key, c in found.items() if key[-1] == 'sbid')
        self.assertEqual(round(100 * sbid / sum(found.values()), 1), self.SBID)

    def check_blame(self, stalls):
        """Which instruction sets what an instruction waits for: the last one before with the token that is neither
        .dst nor .src."""
        instructions = self.instructions()
        for kernel, pc, reason in stalls:
            if reason != 'sbid':
                continue
            text = run('annotate', '-i', self.data, kernel).stdout
            of = dict(instructions[kernel])[pc]
            token = re.search(r'\$(\d+)\.dst', of)[1]
            producer = max(at for at, other in instructions[kernel]
                           if at < pc and re.search(rf'\${token}(?![\d.])', other))
            self.assertRegex(text, rf'(?m)^.* {pc:x}:  .*\[sbid 100%; waits for {producer:x} .*\]$',
                             kernel)

    def test_level_zero(self):
        told = self.record_stalls('ze')
        self.check_picture(*told)
        self.check_blame(told[1])

    def test_opencl(self):
        self.check_picture(*self.record_stalls('cl'))

    def test_pyopencl(self):
        """Below the Python functions that launched."""
        self.dump = self.zebin
        with self.recorded('/usr/bin/python3', PYTHON, self.zebin, '3', 'wait') as target:
            output = [target.stdout.readline() for _ in CALLERS]
            if 'no pyopencl' in output[0]:
                self.skipTest('no pyopencl (package python3-pyopencl)')
            addresses = {line.split()[1]: int(line.split()[3]) for line in output}
            stalls = self.chosen(self.instructions())
            self.send(stalls, addresses)
            target.stdin.close()
            self.assertEqual(target.wait(timeout=300), 0)
        folded = run('flamegraph', '-i', self.data, '--format', 'folded', '--metric',
                     'device-samples').stdout
        found = {}
        for function, kernel, pc, reason, count in re.findall(
                r'^python3;.*;py::(multiply_\w+) .*;-;(mm_\w+)_\[G\];.*;0x([0-9a-f]+): .*;'
                r'(\w+)_\[g\] (\d+)$', folded, re.MULTILINE):
            self.assertEqual(CALLERS[function], kernel)
            found[kernel, int(pc, 16), reason] = int(count)
        self.assertEqual(found, stalls)


if __name__ == '__main__':
    if not os.path.exists(WORKLOAD) or not os.path.exists(ICD) or not shutil.which('ocloc'):
        print("no Intel driver (packages intel-opencl-icd, libze1, libze-dev)")
        sys.exit(77)
    if os.geteuid() != 0:
        print('needs root')
        sys.exit(77)
    unittest.main()
