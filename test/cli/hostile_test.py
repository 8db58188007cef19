# SPDX-License-Identifier: Apache-2.0
"""What strangers do: files that are made to cost a reader what it has, and programs that are made to cost
whoever records them, or everyone else, something."""
import gzip
import json
import os
import re
import resource
import struct
import subprocess
import tempfile
import time
import unittest
import zlib

from command import PROGRAM, run

SANITIZED = os.environ.get('SANITIZED') == '1'
# Numbers of record types: lib/capture/FORMAT.md.
HEADER, LAUNCH, DISPATCH = 1, 16, 17
MAGIC = b'\x89APF\r\n\x1a\n'


def uleb(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def capture(payloads):
    """A file of these chunks."""
    out = b''
    for number, payload in enumerate(payloads):
        stored = zlib.compress(payload, 9)
        header = MAGIC + struct.pack('<HHIIII', 1, number == 0, number, len(payload), len(stored),
                                     zlib.crc32(stored))
        out += header + struct.pack('<I', zlib.crc32(header)) + stored
    return out


def empty_records(kind, count):
    """All of their fields are 0, which takes no columns."""
    return uleb(count) + uleb(1) + uleb(kind) + uleb(0) + bytes([kind]) * count


class Captures(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, 'bomb.data')

    def test_bomb(self):
        """Two million launches and as many dispatches in five kilobytes: more than these 100 MB hold."""
        with open(self.path, 'wb') as file:
            file.write(capture([empty_records(HEADER, 1)] +
                               [empty_records(kind, 1000000) for kind in (LAUNCH, DISPATCH) * 2]))
        self.assertLess(os.path.getsize(self.path), 6000)
        if SANITIZED:
            self.skipTest('a sanitizer takes more than that by itself')
        limit = 100 << 20
        for command in ('report',), ('flamegraph', '-o', '/dev/null'), ('export', '--format', 'chrome'):
            done = run(*command, self.path,
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)))
            self.assertEqual(done.returncode, 1, (command, done.stderr))
            self.assertIn('Cannot allocate memory', done.stderr, command)

    @unittest.skipIf(SANITIZED, 'a sanitizer takes terabytes of addresses')
    def test_memory_is_bounded(self):
        """By what there is: whoever asks for more gets an error instead."""
        with subprocess.Popen([PROGRAM, 'report', '-'], stdin=subprocess.PIPE,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as reader:
            with open('/proc/meminfo', encoding='ascii') as file:
                text = file.read()
            total = sum(int(re.search(rf'{name}: +(\d+)', text)[1]) << 10
                        for name in ('MemTotal', 'SwapTotal'))
            for _ in range(1000):
                with open(f'/proc/{reader.pid}/limits', encoding='ascii') as file:
                    soft = re.search(r'Max data size +(\S+)', file.read())[1]
                if soft != 'unlimited':
                    break
                time.sleep(0.02)
            reader.stdin.close()
        self.assertNotEqual(soft, 'unlimited')
        self.assertLessEqual(int(soft), total)

    def test_names_that_are_orders(self):
        """No view gives any to a terminal, as a table or as its lines; JSON has the name as it is."""
        order = 'a\033]0;b\a\u202e'
        events = [{'ph': 'X', 'name': order, 'cat': cat, 'pid': 1, 'tid': 1, 'ts': 10, 'dur': 5,
                   'args': {'device': 0, 'stream': 7, 'correlation': 1}}
                  for cat in ('cpu_op', 'kernel', 'user_annotation', 'python_function')]
        with open(self.path, 'w', encoding='ascii') as file:
            json.dump({'traceEvents': events}, file)
        for view in 'kernels', 'code', 'functions', 'tree', 'ops', 'steps', 'processes', 'where':
            for form in [], ['--csv']:
                done = run('report', '--view', view, *form, self.path)
                self.assertNotRegex(done.stdout, '[\x00-\x08\x0b\x0c\x0e-\x1f\u202e]', (view, form))
        rows = json.loads(run('report', '--view', 'kernels', '--json', self.path).stdout)
        self.assertIn(json.dumps(order)[1:-1], json.dumps(rows))

    def test_name_without_end(self):
        """In a trace of 100 KB: looked at once, not again and again as it comes."""
        for text in ('{"traceEvents":[{"ph":"X","name":"', '{"x":"', '[{"frame":{"name":"',
                     '{"rocprofiler-sdk-tool":[{"metadata":{"pid":1,"x":"'):
            with gzip.open(self.path, 'wb', 1) as file:
                file.write(text.encode())
                for _ in range(24):
                    file.write(b'a' * (1 << 20))
                file.write(b'"}]}')
            done = run('report', self.path)
            self.assertEqual(done.returncode, 1, text)
            self.assertIn('a name or value of more than 16 MB', done.stderr, text)


def open_comm(pid):
    with open(f'/proc/{pid}/comm', encoding='ascii') as file:
        return file.read()


class Programs(unittest.TestCase):
    """One that does what it can, beside one that works."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.data = os.path.join(self.folder, 'a.data')

    def record(self, *args):
        """What was said on stderr, and the most memory that the recorder had."""
        with tempfile.TemporaryFile('w+', errors='replace') as errors:
            # Of the command it is known by its own children only.
            recorder = subprocess.Popen([PROGRAM, 'record', '-o', self.data, '-F', '499', *args],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=errors)
            peak = 0
            while recorder.poll() is None:
                try:
                    with open(f'/proc/{recorder.pid}/status', encoding='ascii', errors='replace') as file:
                        found = re.search(r'VmHWM:\s+(\d+)', file.read())
                    peak = max(peak, int(found[1]) if found else 0)
                except OSError:
                    pass
                time.sleep(0.1)
            errors.seek(0)
            text = errors.read()
        if recorder.returncode == 77:
            self.skipTest(text)
        self.assertEqual(recorder.returncode, 0, text)
        return text, peak << 10

    def check(self, said, peak):
        # It takes some 40 MB.
        if not SANITIZED:
            self.assertLess(peak, 200 << 20)
        done = subprocess.run([PROGRAM, 'report', self.data], stdin=subprocess.DEVNULL,
                              capture_output=True)
        self.assertEqual((done.returncode, done.stderr), (0, b''))
        for text in said.encode(errors='surrogateescape'), done.stdout:
            self.assertNotRegex(text, rb'[\x00-\x08\x0b-\x1f\x7f]')
        done.stdout.decode()  # is UTF-8
        table = run('report', self.data, '--json')
        functions = {f['function'] for f in json.loads(table.stdout)['functions']}
        self.assertIn('often', functions, done.stdout.decode())
        self.assertNotIn('root:', run('dump', self.data).stdout)

    def test_beside_another(self):
        """The names of who works, and all of its samples, are there whatever the other does."""
        programs = os.environ['WORKLOAD_DIR']
        for how in 'link', 'fifo', 'map':
            with self.subTest(how=how):
                said, peak = self.record(
                    '--', 'sh', '-c', f'{programs}/hostile 0.8 {self.folder} {how} & '
                    f'{programs}/split plain 300; wait')
                link = os.path.join(self.folder, 'map')
                self.assertTrue(os.path.lexists(os.readlink(link)))
                os.unlink(os.readlink(link))
                self.check(said, peak)

    def test_check(self):
        """A program's own name is shown, and is no order."""
        path = os.path.join(self.folder, 'a\033]0;b\a')
        os.symlink('/bin/sleep', path)
        with subprocess.Popen([path, '600']) as program:
            self.addCleanup(program.kill)
            while 'a' not in open_comm(program.pid):
                time.sleep(0.02)
            done = run('check', '-p', str(program.pid))
            program.kill()
        self.assertIn(f"{program.pid} 'a\ufffd]0;b\ufffd'", done.stdout)
        self.assertNotIn('\033', done.stdout)

    def test_control(self):
        """Answers go into a FIFO, not into what somebody has put into its place."""
        path = os.path.join(self.folder, 'precious')
        with open(path, 'w', encoding='ascii') as file:
            file.write('precious')
        os.mkfifo(os.path.join(self.folder, 'orders'))
        done = run('record', '-o', self.data, '--control', f'fifo:{self.folder}/orders,{path}', 'true')
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('precious\' is no FIFO', done.stderr)
        with open(path, encoding='ascii') as file:
            self.assertEqual(file.read(), 'precious')


if __name__ == '__main__':
    unittest.main()
