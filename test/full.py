# SPDX-License-Identifier: Apache-2.0
"""What 'scripts/test --full' gets from Debian and PyPI, and keeps between runs."""
import os
import shutil
import subprocess
import sys


def is_full():
    """Also what takes long, or large packages."""
    return bool(os.environ.get('ACCEL_PROF_TEST_FULL'))


def kept(name, make):
    """The folder of this name, which @make(folder) has filled, now or in an earlier run."""
    cache = os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache')
    folder = os.path.join(cache, 'accel-prof-test', name)
    mark = os.path.join(folder, 'complete')
    if not os.path.exists(mark):
        shutil.rmtree(folder, ignore_errors=True)
        make(folder)
        with open(mark, 'w', encoding='utf-8'):
            pass
    return folder


def venv(name, *packages):
    """The folder of a virtual environment with these packages of PyPI."""
    def make(folder):
        subprocess.run([sys.executable, '-m', 'venv', folder], check=True)
        subprocess.run([os.path.join(folder, 'bin/pip'), 'install', '-q', *packages], check=True)
    return kept(name, make)


def debian(suite, *packages):
    """The folder of a small Debian system of another release."""
    def make(folder):
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        subprocess.run(['debootstrap', '--variant=minbase', '--include=' + ','.join(packages), suite,
                        folder], check=True, stdout=subprocess.DEVNULL)
    return kept('debian-' + suite, make)
