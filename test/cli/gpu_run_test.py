# SPDX-License-Identifier: Apache-2.0
"""test/gpu/run, which needs a GPU, on mocks of what it calls: that it finds what it looks for, says so
when it is wrong, and has no faults of its own."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from command import SOURCE_DIR

WORKLOADS = os.environ['WORKLOAD_DIR']
BUILD = os.path.join(WORKLOADS, '../..')
SCRIPT = os.path.join(SOURCE_DIR, 'test/gpu/run')
CUBIN = os.path.join(SOURCE_DIR, 'test/device/fixture/samples-sm_90.cubin')

# compute: FFMAs of line 26, marked HOT, at 130 and 150, at 140 an IADD3 of line 25. move: STG of 34 at 1f0.
PCS = ('_Z7computePfi:130:wait:5,_Z7computePfi:150:wait:4,_Z7computePfi:140:selected:2,'
       '_Z4movePfPKfm:1f0:long_scoreboard:7')
NVCC = """#!/bin/sh
# The program that it is asked to build is one of the mocks; the code is what nvcc made of it once.
for word; do [ "$last" = -o ] && to=$word; last=$word; done
case " $* " in
*" -cubin "*) exec cp {cubin} "$to" ;;
esac
printf '#!/bin/sh\\nexec {samples} {cubin} "$@"\\n' > "$to"
chmod +x "$to"
"""


class Run(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.tool('nvidia-smi', '#!/bin/sh\necho "GPU 0: Mock"\n')
        self.tool('nvcc', NVCC.format(cubin=CUBIN, samples=os.path.join(WORKLOADS, 'gpu_samples')))

    def tool(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        os.chmod(path, 0o755)

    def try_it(self, **environment):
        done = subprocess.run(
            [sys.executable, SCRIPT, '--rounds', '1', '--seconds', '0.5', BUILD],
            capture_output=True, text=True, timeout=300, check=False,
            env={**os.environ, 'PATH': f'{self.folder}:/usr/bin:/bin:/usr/sbin:/sbin',
                 'LD_LIBRARY_PATH': os.path.join(WORKLOADS, '../fake'), 'FAKE_CUPTI_PCS': PCS,
                 # So that all tiers have times of a device that is not idle.
                 'FAKE_CUDA_NS': '20000', **environment})
        found = re.findall(r'(?m)^(launches|shares|graphs|lines|text) +(ok|FAIL) ', done.stdout)
        return done, found

    def test_works(self):
        done, found = self.try_it()
        self.assertEqual(done.stderr, '')
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual([what for what, _ in found],
                         ['launches', 'shares', 'launches', 'shares', 'graphs', 'lines', 'lines'])
        self.assertRegex(done.stdout, r'compute: 81\.8% of \d+ samples at line 26')
        self.assertEqual(len(re.findall(r'(?m)^overhead ', done.stdout)), 3)
        self.assertIn('NVIDIA', done.stdout) # check's lines

    def test_says_so(self):
        """Times that are lost, and samples of another line."""
        done, found = self.try_it(FAKE_CUPTI_DROP='3', FAKE_CUPTI_PCS='_Z7computePfi:140:selected:2')
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertLessEqual({('shares', 'FAIL'), ('graphs', 'FAIL'), ('lines', 'FAIL')}, set(found))

    def test_no_gpu(self):
        self.tool('nvidia-smi', '#!/bin/sh\nexit 9\n')
        done, _ = self.try_it()
        self.assertEqual(done.returncode, 77)
        self.assertIn('no GPU', done.stdout)


if __name__ == '__main__':
    if os.geteuid() != 0:
        print('needs root')
        sys.exit(77)
    unittest.main()
