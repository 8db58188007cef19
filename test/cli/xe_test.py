# SPDX-License-Identifier: Apache-2.0
"""Stalls of Intel GPUs as 'record' takes them, with the kernel's driver played by test/fake/xe_driver.c: the program is
the one that ships, and what it is told, it keeps."""
import fcntl
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time
import unittest
from collections import Counter

import intel_test
from command import PROGRAM, run
from launch_test import Capture

BUILD = os.path.dirname(os.environ['WORKLOAD_DIR'])
DRIVER = os.path.join(BUILD, 'fake/libfake_xe_driver.so')
REPLAY = os.path.join(BUILD, 'fake/xe_replay')
UNKNOWN = '[unknown GPU code at 0x10000]'


def order(error):
    """What makes the driver's next read fail."""
    return struct.pack('<QI', 2**64 - 1, error).ljust(64, b'\0')


def records(layout, counts):
    """{(address, reason): samples} as the hardware writes it."""
    text = ''.join(f'{address:x} {reason} {count}\n' for (address, reason), count in counts.items())
    return subprocess.run([REPLAY, layout, '0', '4096'], input=text.encode(), capture_output=True,
                          timeout=60, check=True).stdout


class Driver(unittest.TestCase):
    """A folder with a GPU in it."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.data = os.path.join(self.folder, 'a.data')
        os.mkfifo(self.path('stream'))
        # Held open, so that nothing that is written is gone when one side closes it.
        self.stream = os.open(self.path('stream'), os.O_RDWR)
        self.addCleanup(os.close, self.stream)
        self.environment = {**os.environ, 'LD_PRELOAD': DRIVER, 'XE_DRIVER': self.folder,
                            'ASAN_OPTIONS': os.environ.get('ASAN_OPTIONS', '') +
                                            ':verify_asan_link_order=0'}

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, *arguments, **how):
        """A recorder that samples."""
        if os.path.exists(self.path('period')):
            os.unlink(self.path('period'))
        recorder = subprocess.Popen([PROGRAM, 'record', '-o', self.data, *arguments],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                    env=self.environment, **how)
        self.addCleanup(recorder.stdout.close)
        self.addCleanup(recorder.stderr.close)
        self.addCleanup(recorder.wait)
        self.addCleanup(recorder.kill)
        self.wait(lambda: os.path.exists(self.path('period')) or recorder.poll() is not None)
        return recorder

    def wait(self, condition):
        until = time.monotonic() + 200
        while not condition():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)

    def wait_taken(self):
        """Until all that was written has been read."""
        self.wait(lambda: not any(fcntl.ioctl(self.stream, termios.FIONREAD, bytes(4))))

    def write(self, data):
        # Whole records go in at once.
        for at in range(0, len(data), 4096):
            os.write(self.stream, data[at:at + 4096])

    def finish(self, recorder):
        """Its status is the command's, which it ends with itself."""
        recorder.send_signal(signal.SIGINT)
        said = recorder.communicate(timeout=200)[1]
        self.assertIn('Captured and wrote', said)
        return said

    def samples(self, path=None):
        """{(kernel, offset, reason): samples}"""
        capture = Capture(path or self.data)
        found = {}
        for r in capture.records['PC_SAMPLE']:
            key = capture.kernels[r.number('kernel')], int(r['offset'], 16), r['reason']
            found[key] = found.get(key, 0) + r.number('count')
        return found, capture


class Xe(Driver):
    def test_record(self):
        recorder = self.start('--gpu-period', '300', '--accel', 'xe', '--', 'sleep', '1000')
        self.write(records('xe2', {(0x800000012348, 'sbid'): 1000, (0x800000012350, 'send'): 30}))
        self.write(order(5))
        os.unlink(self.path('period'))
        self.write(order(19)) # a reset; then it goes on
        self.wait(lambda: os.path.exists(self.path('period')))
        self.write(records('xe2', {(0x800000012348, 'sbid'): 7}))
        self.wait_taken()
        said = self.finish(recorder)
        self.assertIn("Lost 1 gpu-buffer events: the GPU's buffer was full: each time some samples",
                      said)
        self.assertIn('Lost 1 gpu-buffer events: the GPU was reset: what its buffer had is gone',
                      said)
        found, capture = self.samples()
        self.assertEqual(found, {(UNKNOWN, 0x2348, 'sbid'): 1007, (UNKNOWN, 0x2350, 'send'): 30})
        with open(self.path('period'), encoding='ascii') as file:
            self.assertEqual(file.read(), '251\n')
        self.assertEqual(sorted(r['what'] for r in capture.records['LOST']),
                         ['gpu-buffer', 'gpu-buffer'])
        for r in capture.records['PC_SAMPLE']:
            self.assertLessEqual(r.number('interval_ns'), 1e9)
        report = run('report', '-i', self.data)
        self.assertEqual(report.returncode, 0, report.stderr)
        self.assertRegex(report.stdout, r'trust +1,0\d\d samples, 2 GPU buffers lost,')
        folded = run('flamegraph', '-i', self.data, '--format', 'folded', '--metric',
                     'device-samples')
        self.assertRegex(folded.stdout, re.escape(UNKNOWN) + r'.*sbid_\[g\] 1007\n')

    def test_only_where_it_is_used(self):
        """No program that has nothing to do with Intel's driver keeps the GPU awake."""
        done = subprocess.run([PROGRAM, 'record', '-o', self.data, 'true'], env=self.environment,
                              capture_output=True, text=True, timeout=200, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(os.path.exists(self.path('period')))
        shutil.copy(os.path.join(BUILD, 'workload/late.so'), self.path('libze_intel_gpu.so.1'))
        recorder = self.start('--', 'python3', '-c', 'import ctypes, sys, time\n'
                              'ctypes.CDLL(sys.argv[1]); time.sleep(1000)',
                              self.path('libze_intel_gpu.so.1'))
        self.write(records('xe2', {(0x12348, 'sbid'): 9}))
        self.wait_taken()
        self.finish(recorder)
        self.assertEqual(self.samples()[0], {(UNKNOWN, 0x2348, 'sbid'): 9})

    def test_refused(self):
        for error, why in (13, 'CAP_PERFMON'), (16, 'sampled already'), (19, 'or is gone'):
            with open(self.path('refuse'), 'w', encoding='ascii') as file:
                file.write(str(error))
            recorder = self.start('--accel', 'xe', '--', 'true')
            said = recorder.communicate(timeout=200)[1]
            self.assertEqual(recorder.returncode, 1)
            self.assertIn(why, said)

    def check(self, **environment):
        """What 'check' says of Intel's GPUs: state, what is there, and how to mend it."""
        done = run('check', '--json', env={**self.environment, **environment})
        self.assertIn(done.returncode, (0, 1), done.stderr)
        found, = (c for c in json.loads(done.stdout)['checks'] if c['name'] == 'Intel GPU')
        return found['state'], found['found'], found.get('mend')

    def test_check(self):
        state, found, _ = self.check()
        self.assertEqual(state, 'yes')
        self.assertIn('/dev/dri/renderD128: stalls each 251 to 1757 cycles', found)
        with open(self.path('refuse'), 'w', encoding='ascii') as file:
            file.write('13')
        state, found, mend = self.check()
        self.assertEqual(state, 'no')
        self.assertIn('not allowed', found)
        self.assertIn('dev.xe.observation_paranoid=0', mend)
        for version, why in ('12.70', 'not known here: 12.70'), ('i915', 'run by the i915 driver'):
            state, found, mend = self.check(XE_VERSION=version)
            self.assertEqual(state, 'no')
            self.assertIn(why, found + ': ' + (mend or ''))
        state, found, _ = self.check(XE_DRIVER='')
        self.assertEqual((state, found), ('none', 'none that the xe driver runs'))

    def test_switch_output(self):
        """The stream goes from one file to the next."""
        recorder = self.start('--accel', 'xe', '--switch-output', '--', 'sleep', '1000')
        with open(self.path('refuse'), 'w', encoding='ascii') as file:
            file.write('16')
        self.write(records('xe2', {(0x12348, 'sbid'): 100}))
        self.wait_taken()
        recorder.send_signal(signal.SIGUSR2)
        self.wait(lambda: len(self.files()) == 2)
        self.write(records('xe2', {(0x12348, 'sbid'): 20}))
        self.wait_taken()
        self.finish(recorder)
        first, second = self.files()
        self.assertEqual(self.samples(first)[0], {(UNKNOWN, 0x2348, 'sbid'): 100})
        found, capture = self.samples(second)
        self.assertEqual(found, {(UNKNOWN, 0x2348, 'sbid'): 20})
        # The second recorder begins with all that the first one has open.
        self.assertNotIn('missing.names', capture.info)

    def files(self):
        return sorted(os.path.join(self.folder, f) for f in os.listdir(self.folder)
                      if re.fullmatch(r'a\.data\.\d{8}T[\d.-]+', f))

    def files(self):
        return sorted(os.path.join(self.folder, f) for f in os.listdir(self.folder)
                      if re.fullmatch(r'a\.data\.\d{8}T[\d.-]+', f))


# Of 100,000 samples: which kernel has how many, and how many of these are "sbid".
SAMPLES = {'mm_basic': (72000, 60000), 'mm_local': (21000, 15400), 'mm_tiled': (6000, 3000)}
# The result of an instruction that takes this token is waited for.
TOKEN = re.compile(r'\$(\d+)\.dst')
ELSEWHERE = 0x8000deadbee8 # nobody's code: 1 % of the samples, in "sync"


class Truth(Driver):
    """The driver of Intel's that programs use is the real one; only the GPU's answers are played."""

    @classmethod
    def setUpClass(cls):
        if not shutil.which('ocloc') or not os.path.exists(intel_test.ICD):
            raise unittest.SkipTest("no driver of Intel's (package intel-opencl-icd)")
        if not os.path.exists(intel_test.WORKLOAD):
            raise unittest.SkipTest('no Level Zero headers when this was built (package libze-dev)')
        cls.real = type('Real', (intel_test.Driver,), {})
        cls.real.setUpClass()
        cls.addClassCleanup(cls.real.doClassCleanups)

    def setUp(self):
        super().setUp()
        self.environment.update(intel_test.DRIVER, XE_VERSION='12.60')

    def command(self, api):
        return [intel_test.WORKLOAD, api,
                self.real.zebin if api == 'ze' else intel_test.TEXT, '6', 'list']

    def addresses(self, api):
        """Where the driver puts each kernel: at the same place each time."""
        done = subprocess.run(self.command(api), cwd=self.folder, env=self.environment,
                              capture_output=True, text=True, timeout=200, check=True)
        return {kernel: int(address, 16) for kernel, address in
                re.findall(r'(?m)^launched \w+ (\w+) \d+ address (\w+)$', done.stdout)}

    def counts(self, addresses, functions):
        """{(address, reason): samples}, spread over each kernel's instructions."""
        counts = {(ELSEWHERE, 'sync'): 1000}
        for name, (all_samples, sbid) in SAMPLES.items():
            instructions = functions[name]['instructions']
            places = {'sbid': [i for i in instructions if TOKEN.search(i['text'])] or instructions}
            for n in range(all_samples // 100):
                reason = 'sbid' if n < sbid // 100 else ('send', 'dist_acc', 'active')[n % 3]
                among = places.get(reason, instructions[5::7])
                offset = among[n * n % len(among)]['offset'] - functions[name]['offset']
                at = addresses[name] + offset, reason
                counts[at] = counts.get(at, 0) + 100
        return counts

    def record(self, api):
        """What was sampled of a program of which nothing was known before; and its functions."""
        addresses = self.addresses(api)
        functions = {f['name']: f for o in json.loads(run('annotate', '--object', self.real.zebin,
                                                         '--json').stdout)
                     for f in o['functions']}
        counts = self.counts(addresses, functions)
        recorder = self.start('--', *self.command(api), 'wait', stdin=subprocess.PIPE,
                              cwd=self.folder)
        self.assertEqual(recorder.stdout.readline(), 'ready\n')
        self.write(records('pvc', counts))
        self.wait_taken()
        output, said = recorder.communicate('go\n', timeout=200)
        self.assertEqual(recorder.returncode, 0, said)
        self.assertIn(', 18 launches, 100,000 device samples)', said)
        for kernel, address in addresses.items():
            self.assertRegex(output, rf'(?m)^launched \w+ {kernel} 6 address {address:#x}$')
        return counts, addresses, functions

    def folded(self):
        """{kernel: samples}, {reason: samples}, [(frames, samples)] of the picture."""
        done = run('flamegraph', '-i', self.data, '--format', 'folded', '--metric',
                   'device-samples')
        self.assertEqual(done.returncode, 0, done.stderr)
        kernels, reasons, paths = Counter(), Counter(), []
        for line in done.stdout.splitlines():
            frames, count = line.rsplit(' ', 1)
            frames = re.sub(r'_\[[Gg]\]', '', frames).split(';')
            kernels[frames[frames.index('-') + 1]] += int(count)
            reasons[frames[-1]] += int(count)
            paths.append((frames, int(count)))
        return kernels, reasons, paths

    def check_shares(self, kernels, reasons):
        self.assertEqual({k: n for k, n in kernels.items() if n},
                         {**{k: n for k, (n, _) in SAMPLES.items()},
                          '[unknown GPU code at 0xdead0000]': 1000})
        self.assertEqual(reasons['sbid'], 78400)
        report = run('report', '-i', self.data).stdout
        for kernel, percent in ('mm_basic', '72.0'), ('mm_local', '21.0'), ('mm_tiled', '6.0'):
            self.assertRegex(report, rf'(?m)^{kernel} +6 +[\d,]+ +{percent}$')
        self.assertRegex(run('report', '-i', self.data, '--view', 'stalls').stdout,
                         r'(?m)^sbid +78,400 +78\.4\b')

    def test_level_zero(self):
        counts, addresses, functions = self.record('ze')
        kernels, reasons, paths = self.folded()
        self.check_shares(kernels, reasons)
        places = {}
        for frames, count in paths:
            kernel = frames[frames.index('-') + 1]
            if kernel not in SAMPLES:
                continue
            # Under the function that launched it, at a line, with the text of the instruction.
            self.assertIn(kernel.replace('mm_', 'multiply_'), frames)
            self.assertTrue(any(re.fullmatch(r'mm\.cl:\d+', f) for f in frames), frames)
            offset, text = re.match(r'0x([0-9a-f]+): *(\S+.*)', frames[-2]).groups()
            self.assertRegex(text, r'^(\(.*?\) *)*[a-z]')
            places[addresses[kernel] + int(offset, 16), frames[-1]] = count
        self.assertEqual(places, {k: v for k, v in counts.items() if k[0] != ELSEWHERE})
        self.check_sources(functions['mm_basic'])

    def check_sources(self, function):
        """What a scoreboard is waited for is the last instruction before that takes the same token."""
        text = run('annotate', '-i', self.data, function['name']).stdout
        instructions = function['instructions']
        for at, waiter in enumerate(instructions):
            token = TOKEN.search(waiter['text'])
            shown = re.search(rf'(?m)^ .*> +{waiter["offset"] - function["offset"]:x}:.*sbid.*$', text)
            if not token or not shown:
                continue
            source = next((i for i in reversed(instructions[:at])
                           if re.search(rf'\${token[1]}(?![\d.])', i['text'])), None)
            if source:
                self.assertIn(f'; waits for {source["offset"] - function["offset"]:x} ', shown[0])
        self.assertIn('; waits for ', text)

    def test_two_programs(self):
        """Both have their kernels at the same places: whose a sample is, nobody can know while both are there."""
        counts = {(address + 16, 'sbid'): 10 for address in self.addresses('ze').values()}
        os.mkfifo(self.path('first'))
        first = os.open(self.path('first'), os.O_RDWR)
        self.addCleanup(os.close, first)
        one = ' '.join(self.command('ze')) + ' wait'
        recorder = self.start('--', 'sh', '-c', f'({one} < first; echo gone) & {one}; wait',
                              stdin=subprocess.PIPE, cwd=self.folder)
        for _ in range(2):
            self.assertEqual(recorder.stdout.readline(), 'ready\n')
        data = records('pvc', counts)
        self.write(data)
        self.wait_taken()
        os.write(first, b'go\nend\n')
        for line in iter(recorder.stdout.readline, 'gone\n'):
            self.assertTrue(line, 'the recorder has ended')
        # The first of these may be of an interval that began before it was gone.
        for _ in range(5):
            self.write(data)
            self.wait_taken()
            time.sleep(0.02)
        recorder.communicate('go\n', timeout=200)
        kernels = self.folded()[0]
        several = kernels.pop('[code of one of several processes]')
        self.assertGreaterEqual(several, 30)
        self.assertEqual(set(kernels), set(SAMPLES))
        self.assertEqual(several + sum(kernels.values()), 6 * 30)

    def test_opencl(self):
        self.record('cl')
        self.check_shares(*self.folded()[:2])


if __name__ == '__main__':
    unittest.main()
