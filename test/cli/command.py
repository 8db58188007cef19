# SPDX-License-Identifier: Apache-2.0
"""What the tests of this folder share: run the program, and know its commands."""
import contextlib
import os
import re
import signal
import subprocess
import tempfile
import time
import unittest

PROGRAM = os.environ['ACCEL_PROF']
SOURCE_DIR = os.environ['SOURCE_DIR']


def run(*args, **kwargs):
    """The finished program: .returncode, .stdout, .stderr as text."""
    kwargs.setdefault('stdin', subprocess.DEVNULL)
    # Only for what would hang: on a busy machine everything takes ten times as long.
    kwargs.setdefault('timeout', 240)
    return subprocess.run([PROGRAM, *args], capture_output=True, text=True, **kwargs)


@contextlib.contextmanager
def everywhere():
    """While another recorder listens to all that runs here."""
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, 'a.data')
        with subprocess.Popen([PROGRAM, 'record', '-aq', '-o', data], stdin=subprocess.DEVNULL) as recorder:
            # The file takes its name when the recording has started.
            while not os.path.exists(data) and recorder.poll() is None:
                time.sleep(0.05)
            try:
                yield
            finally:
                recorder.send_signal(signal.SIGTERM)
        if recorder.returncode:
            raise AssertionError(f'the other recorder ends with {recorder.returncode}')


def commands():
    """The names that 'accel-prof --help' lists."""
    text = run('--help').stdout
    listed = text[text.index('Commands:\n'):].split('\n\n')[0]
    return re.findall(r'^  ([a-z-]+) ', listed, re.MULTILINE)


def functions(path):
    """[(start, end, name)] of the functions in an ELF file, by nm."""
    out = subprocess.run(['nm', '-S', path], capture_output=True, text=True, check=True).stdout
    found = []
    for line in out.splitlines():
        words = line.split()
        if len(words) == 4 and words[2] in 'tT':
            start = int(words[0], 16)
            found.append((start, start + int(words[1], 16), words[3]))
    return found


class FolderTest(unittest.TestCase):
    """With a folder of its own, and files in it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.count = 0

    def file(self, text):
        self.count += 1
        path = os.path.join(self.folder, f'{self.count}.json')
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        return path
