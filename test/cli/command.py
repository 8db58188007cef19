# SPDX-License-Identifier: Apache-2.0
"""What the tests of this folder share: run the program, and know its commands."""
import os
import re
import subprocess

PROGRAM = os.environ['ACCEL_PROF']
SOURCE_DIR = os.environ['SOURCE_DIR']


def run(*args, **kwargs):
    """The finished program: .returncode, .stdout, .stderr as text."""
    kwargs.setdefault('stdin', subprocess.DEVNULL)
    # Only for what would hang: on a busy machine everything takes ten times as long.
    kwargs.setdefault('timeout', 240)
    return subprocess.run([PROGRAM, *args], capture_output=True, text=True, **kwargs)


def commands():
    """The names that 'accel-prof --help' lists."""
    text = run('--help').stdout
    listed = text[text.index('Commands:\n'):].split('\n\n')[0]
    return re.findall(r'^  ([a-z-]+) ', listed, re.MULTILINE)
