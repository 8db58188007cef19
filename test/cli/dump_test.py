# SPDX-License-Identifier: Apache-2.0
"""accel-prof dump on whole, damaged and foreign files, through files and pipes."""
import os
import signal
import subprocess
import tempfile
import unittest

from command import PROGRAM, run

MAKE_CAPTURE = os.environ['MAKE_CAPTURE']


class Dump(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, 'x.data')
        subprocess.run([MAKE_CAPTURE, 'every-type', self.path], check=True)
        with open(self.path, 'rb') as file:
            self.data = file.read()
        self.text = run('dump', self.path).stdout

    def dump_bytes(self, data):
        with open(self.path, 'wb') as file:
            file.write(data)
        return run('dump', self.path)

    def test_ways_to_name_the_file(self):
        self.assertIn('END time=', self.text)
        for args, kwargs in ((['-i', self.path], {}), ([f'--input={self.path}'], {}),
                             (['x.data'], {'cwd': self.folder.name})):
            done = run('dump', *args, **kwargs)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, self.text, ''))
        os.rename(self.path, os.path.join(self.folder.name, 'accel-prof.data'))
        done = run('dump', cwd=self.folder.name)
        self.assertEqual((done.returncode, done.stdout), (0, self.text))

    def test_pipe(self):
        for args in (['-'], ['-i', '-']):
            cat = subprocess.Popen(['cat', self.path], stdout=subprocess.PIPE)
            done = run('dump', *args, stdin=cat.stdout)
            cat.stdout.close()
            cat.wait()
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, self.text, ''))

    def test_two_files_are_a_usage_error(self):
        done = run('dump', 'a', 'b')
        self.assertEqual((done.returncode, done.stdout), (129, ''))
        self.assertIn('accel-prof dump: more than one file', done.stderr)

    def test_missing_file(self):
        done = run('dump', '/no/such/file')
        self.assertEqual((done.returncode, done.stdout), (1, ''))
        self.assertEqual(done.stderr, "accel-prof: cannot open '/no/such/file': "
                                      "No such file or directory\n")

    def test_foreign_file(self):
        done = self.dump_bytes(b'hello')
        self.assertEqual((done.returncode, done.stdout), (1, ''))
        self.assertEqual(done.stderr, f"accel-prof: '{self.path}' is neither a capture nor a trace "
                                      "of a known format\n")

    def test_trace_that_can_be_imported(self):
        done = self.dump_bytes(b'{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "multiply", '
                               b'"ts": 1, "dur": 2, "pid": 1, "tid": 1}]}')
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stderr, f"accel-prof: '{self.path}': no device work in the trace: "
                                      "host time only\n")
        self.assertIn('text="multiply"', done.stdout)

    def test_cut_off(self):
        lines = self.text.splitlines()
        for size in range(8, len(self.data), 7):
            done = self.dump_bytes(self.data[:size])
            self.assertEqual(done.returncode, 1)
            shown = done.stdout.splitlines()
            self.assertEqual(shown, lines[:len(shown)])
            self.assertRegex(done.stderr, rf"^accel-prof: '{self.path}': cut off at offset "
                                          r"0x[0-9a-f]+: no END record; what could be read is "
                                          r"shown\n$")

    def test_damaged(self):
        at = self.data.index(b'\x89APF', 8)
        done = self.dump_bytes(self.data[:at + 40] + b'x' + self.data[at + 41:])
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, rf"^accel-prof: '{self.path}': damaged at offset {at:#x} "
                                      r"\(1 chunk, \d+ bytes skipped\)\n$")
        lines = self.text.splitlines()
        for line in done.stdout.splitlines():
            self.assertIn(line, lines)
        self.assertIn('END', done.stdout)

    def test_full_stdout(self):
        with open('/dev/full', 'w') as full:
            done = subprocess.run([PROGRAM, 'dump', self.path], stdout=full,
                                  stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, 'accel-prof: cannot write to standard output: '
                                      'No space left on device\n')

    def test_broken_pipe(self):
        """Whoever reads no further wants no message; where SIGPIPE is ignored, it is an error."""
        for is_ignored in (False, True):
            read_end, write_end = os.pipe()
            os.close(read_end)
            done = subprocess.run([PROGRAM, 'dump', self.path], stdout=write_end,
                                  stderr=subprocess.PIPE, text=True,
                                  restore_signals=not is_ignored)
            os.close(write_end)
            if is_ignored:
                self.assertEqual(done.returncode, 1)
                self.assertEqual(done.stderr, 'accel-prof: cannot write to standard output: '
                                              'Broken pipe\n')
            else:
                self.assertEqual((done.returncode, done.stderr), (-signal.SIGPIPE, ''))


if __name__ == '__main__':
    unittest.main()
