# SPDX-License-Identifier: Apache-2.0
"""check: where recording works it says so, and without privileges each 'no' tells what mends it."""
import os
import re
import subprocess
import unittest

from command import PROGRAM, run


class Check(unittest.TestCase):
    def test_here(self):
        done = run('check')
        self.assertEqual(done.stderr, '')
        lines = done.stdout.splitlines()
        self.assertIn(lines[-1], ('recording works', 'recording does not work'))
        self.assertEqual(done.returncode, 0 if lines[-1] == 'recording works' else 1)
        self.assertIn(os.uname().release, lines[0])
        if os.geteuid() == 0:
            can = subprocess.run([PROGRAM, 'record', '-o', '-', '--', 'true'], stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
            self.assertEqual(can.returncode, done.returncode)

    def test_as_nobody(self):
        if os.geteuid() != 0:
            self.skipTest('not root: cannot become nobody')
        done = subprocess.run(['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', PROGRAM,
                               'check'], capture_output=True, text=True)
        if 'failed to execute' in done.stderr:
            self.skipTest('nobody cannot run the program in its build folder')
        self.assertEqual(done.returncode, 1)
        lines = done.stdout.splitlines()
        missing = [i for i, line in enumerate(lines) if re.match(r'\S.{14} no ', line)]
        self.assertGreaterEqual(len(missing), 3)
        for i in missing:
            self.assertRegex(lines[i + 1], r'^ +mend: \S')
        self.assertEqual(lines[-1], 'recording does not work')


if __name__ == '__main__':
    unittest.main()
