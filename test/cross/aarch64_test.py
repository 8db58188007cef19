# SPDX-License-Identifier: Apache-2.0
"""aarch64: everything builds; what reads captures and traces does it as here, on an emulated processor; and an
emulated machine makes a recording, with stacks by frame pointers."""
import glob
import os
import subprocess
import sys
import tempfile
import unittest

SOURCE_DIR = os.environ['SOURCE_DIR']
sys.path[1:1] = [os.path.join(SOURCE_DIR, 'test', folder) for folder in ('', 'kernel', 'cli')]
import full  # noqa: E402
import machine  # noqa: E402
from record_test import Capture, truth  # noqa: E402

EMULATOR = '/usr/bin/qemu-aarch64-static'
TOOLS = ('gcc-aarch64-linux-gnu', 'g++-aarch64-linux-gnu', 'cmake', 'ninja-build', 'pkg-config',
         'clang-14', 'bpftool', 'protobuf-c-compiler', 'python3-minimal')
LIBRARIES = ('libc6-dev', 'libbpf-dev', 'libelf-dev', 'libdw-dev', 'libunwind-dev', 'zlib1g-dev',
             'libzstd-dev', 'liblzma-dev', 'libiberty-dev', 'libseccomp-dev', 'libyajl-dev',
             'liblz4-dev', 'libprotobuf-c-dev', 'libcmocka-dev')
# What needs no more of a processor than that it computes; the others start what is for this machine.
MODULES = ('base', 'capture', 'proc', 'dwarf', 'profile', 'analyze', 'import', 'export', 'flame')

# In a mount namespace of its own: the source, read-only, and as much of the system as a build needs.
INSIDE = '''set -e
mount --bind "$1" "$2/src" && mount -o remount,bind,ro "$2/src"
mount -t proc none "$2/proc"
exec chroot "$2" sh -ec "$3"
'''
BUILD = '''cmake -S /src -B /build -G Ninja -DACCEL_PROF_WERROR=ON \
	-DCMAKE_TOOLCHAIN_FILE=/src/scripts/cmake/aarch64.cmake >/build/log
ninja -C /build >>/build/log || { tail -n 60 /build/log; exit 1; }'''


class Aarch64(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = full.cross('arm64', TOOLS, LIBRARIES)
        for name in 'src', 'build':
            os.makedirs(os.path.join(cls.root, name), exist_ok=True)
        cls.inside(BUILD)

    @classmethod
    def inside(cls, script):
        done = subprocess.run(['unshare', '-m', 'sh', '-c', INSIDE, 'sh', SOURCE_DIR, cls.root, script],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        return done.stdout

    def test_units(self):
        emulator = os.path.join(self.root, 'build/emulator')
        subprocess.run(['cp', EMULATOR, emulator], check=True)
        names = [name for module in MODULES for name in glob.glob(
            os.path.join(self.root, f'build/test/test_{module}_*_test'))]
        self.assertGreater(len(names), 30)
        for name in names:
            with self.subTest(os.path.basename(name)):
                self.inside(f'/build/emulator /build/test/{os.path.basename(name)}')

    def test_golden(self):
        """A capture of this machine, read on the other."""
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, 'accel-prof')
            with open(program, 'w', encoding='utf-8') as file:
                file.write(f'#!/bin/sh\nexec {EMULATOR} -L {self.root} -0 accel-prof '
                           f'{self.root}/build/cmd/accel-prof "$@"\n')
            os.chmod(program, 0o755)
            golden = os.path.join(SOURCE_DIR, 'test/golden')
            for case in sorted(os.path.basename(os.path.dirname(path))
                               for path in glob.glob(f'{golden}/*/commands')):
                done = subprocess.run([sys.executable, '-B', f'{golden}/golden_test.py', case],
                                      env={**os.environ, 'ACCEL_PROF': program}, capture_output=True,
                                      text=True, check=False)
                self.assertEqual(done.returncode, 0, (case, done.stdout, done.stderr))

    def test_recording(self):
        for engine in 'bpf', 'perf':
            with self.subTest(engine), tempfile.TemporaryDirectory() as share:
                output, status = machine.boot(
                    full.kernel('bookworm', 'arm64'), share, 'chroot /mnt /build/cmd/accel-prof record '
                    f'--engine {engine} -F 499 -o /tmp/share/a.data -- /build/test/workload/split '
                    'late 1000', root=self.root, processor='arm64')
                print(output)
                self.assertEqual(status, 0, output)
                capture = Capture(os.path.join(share, 'a.data'))
                program = os.path.join(self.root, 'build/test/workload/split')
                count = capture.by_function(program)
                both = count['often'] + count['seldom']
                share_often, _ = truth(output)
                self.assertGreater(both, 100)
                self.assertAlmostEqual(count['often'] / both, share_often, delta=4 * (
                    share_often * (1 - share_often) / both) ** 0.5 + 0.005)
                self.assertGreater(count['main'], 0.95 * both)


if __name__ == '__main__':
    if not full.is_full():
        print('another processor: with scripts/test --full only')
        sys.exit(77)
    if os.geteuid() != 0:
        print('not root: no other Debian can be installed')
        sys.exit(77)
    unittest.main(verbosity=2)
