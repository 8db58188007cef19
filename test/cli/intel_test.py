# SPDX-License-Identifier: Apache-2.0
"""Intel's own driver, Level Zero and OpenCL, in the mode in which it needs no GPU and writes what it would do into a
file: launches, kernels and their addresses are real, but nothing is computed."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from collections import Counter

from command import PROGRAM, SOURCE_DIR, run
from launch_test import Capture, functions

WORKLOAD = os.path.join(os.environ['WORKLOAD_DIR'], 'intel_mm')
TEXT = os.path.join(SOURCE_DIR, 'test/workload/mm.cl')
PYTHON = os.path.join(SOURCE_DIR, 'test/workload/pyopencl_mm.py')
ICD = '/etc/OpenCL/vendors/intel.icd'

# A Ponte Vecchio. Without EnableTimestampPacket=0 clFinish() waits for what never comes; the last one makes the
# compiler of that age write zebins for OpenCL, as later ones do.
DRIVER = {'NEOReadDebugKeys': '1', 'SetCommandStreamReceiver': '1', 'ProductFamilyOverride': 'pvc',
          'HardwareInfoOverride': '2x8x8', 'EnableTimestampPacket': '0', 'OCL_ICD_VENDORS': ICD,
          'IGC_EnableZEBinary': '1'}
CALLERS = {'multiply_basic': 'mm_basic', 'multiply_local': 'mm_local',
           'multiply_tiled': 'mm_tiled'}


class Driver(unittest.TestCase):
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

    def test_opencl(self):
        output, capture = self.outside(*self.command('cl', 6))
        self.assertEqual(self.callers(capture), self.truth(output)[0])
        self.assertEqual(capture.lost(), [])

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

    def test_pyopencl(self):
        output, capture = self.outside('/usr/bin/python3', PYTHON, TEXT, '10')
        if 'no pyopencl' in output:
            self.skipTest('no pyopencl (package python3-pyopencl)')
        self.assertEqual(Counter(capture.kernels[r.number('kernel')] for r in capture.launches),
                         {kernel: 10 for kernel in CALLERS.values()})
        folded = run('flamegraph', '-i', self.data, '--format', 'folded').stdout
        for function, kernel in CALLERS.items():
            self.assertRegex(folded, rf'(?m);py::{function} .*;{kernel}_')


if __name__ == '__main__':
    if not os.path.exists(WORKLOAD) or not os.path.exists(ICD) or not shutil.which('ocloc'):
        print("no Intel driver (packages intel-opencl-icd, libze1, libze-dev)")
        sys.exit(77)
    if os.geteuid() != 0:
        print('needs root')
        sys.exit(77)
    unittest.main()
