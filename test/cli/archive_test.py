# SPDX-License-Identifier: Apache-2.0
"""accel-prof archive: one file that stands for the machine, and takes nothing that it may not."""
import os
import shutil
import subprocess
import tempfile
import unittest

from command import SOURCE_DIR, run

MAKE_CAPTURE = os.environ['MAKE_CAPTURE']
FIXTURES = os.path.join(SOURCE_DIR, 'test', 'device', 'fixture')
BUILD_ID = 'c0ffee0123456789c0ffee0123456789c0ffee01'
LINE = 'x[i] = x[i] * factor + 1.0f;'
SCALE = 7680 # in the fixture: what `annotate --object` says of it


def read(path):
    with open(path, 'rb') as file:
        return file.read()


@unittest.skipUnless(shutil.which('cc'), 'needs a compiler')
class Archive(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.binary = self.compile('program', BUILD_ID)
        self.data = os.path.join(self.folder, 'data')
        environment = dict(os.environ, BINARY=self.binary, BUILD_ID=BUILD_ID, OFFSET=str(SCALE + 8),
                           CODE_OBJECT=os.path.join(FIXTURES, 'amd-gfx90a.co'))
        subprocess.run([MAKE_CAPTURE, 'with-files', self.data], env=environment, check=True)

    def compile(self, name, build_id):
        path = os.path.join(self.folder, name)
        subprocess.run(['cc', '-x', 'c', '-', '-o', path, f'-Wl,--build-id=0x{build_id}'],
                       input=b'int main(void) { return 0; }', check=True)
        return path

    def archive(self, *args, name='archive'):
        path = os.path.join(self.folder, name)
        done = run('archive', '-o', path, *args, self.data)
        self.assertEqual((done.returncode, done.stdout), (0, ''), done.stderr)
        return path, done.stderr

    def extract(self, archive):
        folder = os.path.join(self.folder, 'files')
        done = run('archive', '--extract', folder, archive)
        self.assertEqual((done.returncode, done.stdout), (0, ''), done.stderr)
        return {os.path.relpath(os.path.join(root, name), folder): read(os.path.join(root, name))
                for root, _, names in os.walk(folder) for name in names}

    def test_reads_like_the_capture(self):
        archive, _ = self.archive()
        for args in (['report', '--full'], ['report', '--view', 'quality'],
                     ['export', '--format', 'json'],
                     ['flamegraph', '--format', 'folded', '--metric', 'device-samples']):
            one, two = run(*args, self.data), run(*args, archive)
            self.assertEqual((one.returncode, one.stdout.replace(self.data, '')),
                             (0, two.stdout.replace(archive, '')), args)

    def test_binary(self):
        archive, told = self.archive()
        self.assertIn('1 binaries, 0 debug files, 0 source files', told)
        content = read(self.binary)
        os.unlink(self.binary)
        self.assertEqual(self.extract(archive), {f'.build-id/{BUILD_ID[:2]}/{BUILD_ID[2:]}': content})
        self.assertEqual(run('report', archive).returncode, 0)

    def test_another_binary_is_not_taken(self):
        self.compile('program', BUILD_ID[::-1])
        archive, told = self.archive()
        self.assertIn('0 binaries, ', told)
        self.assertIn('1 binaries are not here, or not those that were recorded', told)
        self.assertEqual(self.extract(archive), {})
        os.unlink(self.binary)
        os.mkfifo(self.binary)
        self.assertIn('0 binaries, ', self.archive(name='2')[1])

    def test_sources(self):
        """The fixture was compiled from /tmp/tmp.XXX/tile.cl; main.c has no checksum."""
        archive, told = self.archive()
        self.assertIn('0 source files', told)
        self.assertIn('2 source files are not here, or nothing says that they are the right ones', told)
        self.assertNotIn(LINE, run('annotate', '--source', '-i', archive, 'scale').stdout)
        sources = os.path.join(self.folder, 'sources')
        os.mkdir(sources)
        shutil.copy(os.path.join(FIXTURES, 'tile.cl'), sources)
        archive, told = self.archive('--source-path', sources, name='with-sources')
        self.assertIn('1 source files', told)
        shutil.rmtree(sources)
        shown = run('annotate', '--source', '-i', archive, 'scale')
        self.assertEqual((shown.returncode, shown.stderr), (0, ''))
        self.assertIn(LINE, shown.stdout)
        files = self.extract(archive)
        source, = [text for name, text in files.items() if name.endswith('/tile.cl')]
        self.assertEqual(source, read(os.path.join(FIXTURES, 'tile.cl')))
        self.assertTrue(all(name.startswith(('source/', '.build-id/')) for name in files))

    def test_nothing_is_replaced_or_followed(self):
        archive, _ = self.archive()
        folder = os.path.join(self.folder, 'files')
        outside = os.path.join(self.folder, 'outside')
        os.mkdir(folder)
        os.mkdir(outside)
        os.symlink(outside, os.path.join(folder, '.build-id'))
        done = run('archive', '--extract', folder, archive)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(os.listdir(outside), [])

    def test_of_an_archive(self):
        """Files that it has are neither taken again nor said to be missing."""
        once, _ = self.archive('--source-path', self.folder)
        files = self.extract(once)
        shutil.rmtree(os.path.join(self.folder, 'files'))
        os.unlink(self.binary)
        twice = os.path.join(self.folder, 'twice')
        done = run('archive', '-o', twice, once)
        self.assertEqual((done.returncode, done.stdout), (0, ''), done.stderr)
        self.assertIn('1 binaries, ', done.stderr)
        self.assertNotIn('binaries are not here', done.stderr)
        self.assertEqual(self.extract(twice), files)
        self.assertEqual(run('dump', once).stdout.count('\nFILE '), run('dump', twice).stdout.count('\nFILE '))

    def test_archives_can_be_merged(self):
        archive, _ = self.archive()
        both = os.path.join(self.folder, 'both')
        self.assertEqual(run('merge', '-q', '-o', both, archive, archive).returncode, 0)
        self.assertEqual(len(self.extract(both)), 1)

    def test_damage_and_mistakes(self):
        cut = os.path.join(self.folder, 'cut')
        with open(cut, 'wb') as file:
            file.write(read(self.data)[:-10])
        out = os.path.join(self.folder, 'out')
        for args, status, text in [
                (['-o', out, cut], 1, 'cut off'),
                (['-o', out, os.path.join(self.folder, 'none')], 1, 'No such file'),
                (['-o', out, '-'], 129, 'it must be a file'),
                (['--extract', out, '-o', out, self.data], 129, '--extract goes with neither'),
                (['--source-path', out + 'x', '-o', out, self.data], 1, 'cannot open')]:
            done = run('archive', *args)
            self.assertEqual((done.returncode, done.stdout), (status, ''), args)
            self.assertIn(text, done.stderr)


if __name__ == '__main__':
    unittest.main()
