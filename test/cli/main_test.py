# SPDX-License-Identifier: Apache-2.0
"""The command line without a command: help, version, what is wrong and with which exit status."""
import os
import re
import subprocess
import unittest

from command import PROGRAM, commands, run


class Main(unittest.TestCase):
    def test_help_goes_to_stdout(self):
        for args in (['--help'], ['-h'], ['help']):
            done = run(*args)
            self.assertEqual(done.returncode, 0)
            self.assertEqual(done.stderr, '')
            self.assertIn('dump', done.stdout)
        self.assertIn('dump', commands())

    def test_no_command(self):
        done = run()
        self.assertEqual((done.returncode, done.stdout), (129, ''))
        self.assertIn('Usage: accel-prof', done.stderr)

    def test_unknown_command(self):
        done = run('foo')
        self.assertEqual((done.returncode, done.stdout), (129, ''))
        self.assertEqual(done.stderr, "accel-prof: 'foo' is not an accel-prof command. "
                                      "See 'accel-prof --help'.\n")

    def test_names_cannot_control_the_terminal(self):
        done = run('\x1b[2Jfoo')
        self.assertEqual(done.returncode, 129)
        self.assertIn("'\ufffd[2Jfoo'", done.stderr)

    def test_unknown_option(self):
        done = run('--foo')
        self.assertEqual((done.returncode, done.stdout), (129, ''))
        self.assertIn("unknown option '--foo'", done.stderr)

    def test_help_of_each_command(self):
        for name in commands():
            texts = set()
            for args in ([name, '--help'], [name, '-h'], ['help', name]):
                done = run(*args)
                self.assertEqual((name, done.returncode, done.stderr), (name, 0, ''))
                texts.add(done.stdout)
            self.assertEqual(len(texts), 1)
            self.assertIn(f'Usage: accel-prof {name}', texts.pop())

    def test_unknown_option_of_each_command(self):
        for name in commands():
            done = run(name, '--no-such-option')
            self.assertEqual((name, done.returncode, done.stdout), (name, 129, ''))
            self.assertIn(f'accel-prof {name}:', done.stderr)
            self.assertIn('no-such-option', done.stderr)

    def test_version(self):
        done = run('--version')
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        self.assertEqual(done.stdout, run('version').stdout)
        self.assertRegex(done.stdout, r'^accel-prof \d+\.\d+\.\d+')
        for library in ('compiler', 'libbpf', 'elfutils', 'zlib'):
            self.assertTrue(re.search(rf'^{library} .*\d', done.stdout, re.MULTILINE), library)

    def test_full_stdout_is_an_error(self):
        with open('/dev/full', 'w') as full:
            done = subprocess.run([PROGRAM, '--help'], stdout=full, stderr=subprocess.PIPE,
                                  text=True)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, 'accel-prof: cannot write to standard output: '
                                      'No space left on device\n')

    def test_closed_stdout_is_an_error(self):
        done = subprocess.run([PROGRAM, '--help'], stderr=subprocess.PIPE, text=True,
                              preexec_fn=lambda: os.close(1))
        self.assertEqual(done.returncode, 1)
        self.assertIn('cannot write to standard output', done.stderr)


if __name__ == '__main__':
    unittest.main()
