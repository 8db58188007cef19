# SPDX-License-Identifier: Apache-2.0
"""Golden outputs: CASE/commands says what is run on the capture that make_capture makes.

A line 'FILE: ARGS' of CASE/commands means that 'accel-prof ARGS', run where accel-prof.data is that
capture, prints exactly the bytes of CASE/FILE. Expected files are checked by hand against
make_capture.c when they are made; UPDATE=1 in the environment writes them anew.
"""
import os
import shlex
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.environ['ACCEL_PROF']
MAKE_CAPTURE = os.environ['MAKE_CAPTURE']
UPDATE = os.environ.get('UPDATE') == '1'


class Golden(unittest.TestCase):
    maxDiff = None

    def check(self, case):
        with open(os.path.join(HERE, case, 'commands'), encoding='utf-8') as file:
            lines = [line for line in file.read().splitlines() if line and line[0] != '#']
        self.assertTrue(lines)
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([MAKE_CAPTURE, case, 'accel-prof.data'], cwd=folder, check=True)
            for line in lines:
                name, args = line.split(': ', 1)
                done = subprocess.run([PROGRAM, *shlex.split(args)], cwd=folder,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, timeout=60)
                self.assertEqual((args, done.returncode, done.stderr), (args, 0, b''))
                path = os.path.join(HERE, case, name)
                if UPDATE:
                    with open(path, 'wb') as file:
                        file.write(done.stdout)
                with open(path, 'rb') as file:
                    expected = file.read()
                self.assertEqual(expected.decode().splitlines(), done.stdout.decode().splitlines(),
                                 f'accel-prof {args}')
                self.assertEqual(expected, done.stdout)


if __name__ == '__main__':
    name = sys.argv.pop(1)
    setattr(Golden, 'test_' + name.replace('-', '_'), lambda self: self.check(name))
    unittest.main()
