# SPDX-License-Identifier: Apache-2.0
"""What 'scripts/test --full' gets from Debian and PyPI, and keeps between runs."""
import os
import re
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


def kernel(suite, processor='amd64'):
    """The folder with boot/vmlinuz-* and the modules of a Debian release."""
    def make(folder):
        for name in ('lists/partial', 'cache/archives/partial'):
            os.makedirs(os.path.join(folder, name))
        with open(os.path.join(folder, 'sources.list'), 'w', encoding='ascii') as file:
            file.write('deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] '
                       f'http://deb.debian.org/debian {suite} main\n')
        with open(os.path.join(folder, 'status'), 'w', encoding='ascii'):
            pass

        def apt(tool, *args):
            options = {'Dir::State': folder, 'Dir::State::status': f'{folder}/status',
                       'Dir::Cache': f'{folder}/cache', 'Dir::Etc::sourcelist': f'{folder}/sources.list',
                       'Dir::Etc::sourceparts': '/dev/null', 'APT::Architecture': processor,
                       'APT::Architectures': processor, 'APT::Sandbox::User': 'root'}
            command = [tool, '-q', *(f'-o{key}={value}' for key, value in options.items()), *args]
            return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
        apt('apt-get', 'update')
        # The newest is what a package without a version in its name depends on.
        newest = re.search(r'Depends: (linux-image-\d\S*)',
                           apt('apt-cache', 'depends', f'linux-image-{processor}'))[1]
        for package in newest, 'busybox-static':
            apt('apt-get', 'download', package)
        for name in os.listdir(folder):
            if name.endswith('.deb'):
                subprocess.run(['dpkg', '-x', name, '.'], cwd=folder, check=True)
                os.unlink(os.path.join(folder, name))
        for name in 'lists', 'cache':
            shutil.rmtree(os.path.join(folder, name))
    return kept(f'kernel-{suite}-{processor}', make)


def cross(processor, tools, libraries):
    """The folder of a Debian 12 with @tools for this machine and @libraries for @processor."""
    def make(folder):
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        subprocess.run(['debootstrap', '--variant=minbase', '--include=' + ','.join(tools), 'bookworm',
                        folder], check=True, stdout=subprocess.DEVNULL)
        for command in (['dpkg', '--add-architecture', processor], ['apt-get', 'update', '-q'],
                        ['apt-get', 'install', '-q', '-y', '--no-install-recommends',
                         *(f'{name}:{processor}' for name in libraries)]):
            subprocess.run(['chroot', folder, *command], check=True, stdout=subprocess.DEVNULL,
                           env={**os.environ, 'DEBIAN_FRONTEND': 'noninteractive'})
    return kept(f'cross-{processor}', make)
