# SPDX-License-Identifier: Apache-2.0
"""What strangers do: files that are made to cost a reader what it has, and programs that are made to cost
whoever records them, or everyone else, something."""
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


if __name__ == '__main__':
    unittest.main()
