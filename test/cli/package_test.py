# SPDX-License-Identifier: Apache-2.0
"""scripts/package: what it makes runs from where it is unpacked, and needs of the system what it says."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from command import SOURCE_DIR


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        subprocess.run([os.path.join(SOURCE_DIR, 'scripts/package'), cls.folder], check=True)

    def find(self, suffix):
        return next(os.path.join(self.folder, name) for name in os.listdir(self.folder)
                    if name.endswith(suffix))

    def check_runs(self, program):
        bare = {'PATH': '/usr/bin:/bin'}
        done = subprocess.run([program, 'version'], capture_output=True, text=True, env=bare,
                              check=True)
        self.assertRegex(done.stdout, r'^accel-prof \d')
        if os.geteuid() == 0:
            data = os.path.join(self.folder, 'x.data')
            subprocess.run([program, 'record', '-q', '-o', data, '--', 'true'], env=bare, check=True)
            subprocess.run([program, 'report', '-i', data], env=bare, check=True,
                           stdout=subprocess.DEVNULL)
            os.unlink(data)

    def test_tarball(self):
        path = self.find('.tar.gz')
        subprocess.run(['tar', '-C', self.folder, '-xf', path], check=True)
        root = path.removesuffix('.tar.gz')
        program = os.path.join(root, 'bin/accel-prof')
        self.check_runs(program)
        told = subprocess.run(['ldd', program], capture_output=True, text=True, check=True).stdout
        for name, where in re.findall(r'(\S+) => (\S+)', told):
            inside = os.path.realpath(where).startswith(os.path.realpath(root) + '/')
            is_glibc = re.match(r'(libc|libm|libpthread|libdl|librt)\.so', name)
            self.assertNotEqual(inside, bool(is_glibc), name)
        for folder, _, names in os.walk(root):
            for name in names:
                if name == 'accel-prof' and folder.endswith('bin') or '.so' in name:
                    symbols = subprocess.run(['objdump', '-T', os.path.join(folder, name)],
                                             capture_output=True, text=True, check=True).stdout
                    versions = [int(v) for v in re.findall(r'GLIBC_2\.(\d+)', symbols)]
                    self.assertLessEqual(max(versions), 34, name)

    def test_debian(self):
        path = self.find('.deb')
        root = os.path.join(self.folder, 'deb')
        subprocess.run(['dpkg-deb', '-x', path, root], check=True)
        self.check_runs(os.path.join(root, 'usr/bin/accel-prof'))
        depends = subprocess.run(['dpkg-deb', '-f', path, 'Depends'], capture_output=True, text=True,
                                 check=True).stdout
        told = subprocess.run(['ldd', os.path.join(root, 'usr/bin/accel-prof')], capture_output=True,
                              text=True, check=True).stdout
        # Each library is of one package; some packages have two of them.
        packages = {word.split()[0] for word in depends.strip().split(', ')}
        for library in ('libbpf', 'libdw', 'libelf', 'libunwind', 'zlib', 'libseccomp'):
            self.assertTrue(any(package.startswith(library) for package in packages), library)
        self.assertLessEqual(len(packages), told.count('=>') + 1)
        self.assertTrue(os.path.exists(os.path.join(root, 'usr/share/man/man1/accel-prof-record.1.gz')))


if __name__ == '__main__':
    if not os.environ.get('ACCEL_PROF_TEST_FULL'):
        print('builds everything anew: only with ACCEL_PROF_TEST_FULL=1 (scripts/test --full)')
        sys.exit(77)
    if not shutil.which('dpkg-deb'):
        print('no dpkg-deb here')
        sys.exit(77)
    unittest.main()
