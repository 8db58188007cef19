# SPDX-License-Identifier: Apache-2.0
"""accel-prof annotate: bare files, offsets, sources only from where they may come, errors."""
import json
import os
import shutil
import subprocess
import tempfile
import unittest

from command import SOURCE_DIR, run

FIXTURES = os.path.join(SOURCE_DIR, 'test', 'device', 'fixture')
AMD = os.path.join(FIXTURES, 'amd-gfx90a.co')


class Annotate(unittest.TestCase):
    def ok(self, *args):
        done = run('annotate', *args)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        return done.stdout

    def fails(self, *args, status=1):
        done = run('annotate', *args)
        self.assertEqual((done.returncode, done.stdout), (status, ''))
        return done.stderr

    def test_list(self):
        text = self.ok('--object', AMD)
        self.assertIn('gfx90a', text)
        self.assertRegex(text, r'kernel\s+tile_product')
        self.assertRegex(text, r'kernel\s+scale')

    def test_offset(self):
        functions = json.loads(self.ok('--object', AMD, '--json', 'scale'))[0]['functions']
        self.assertEqual([f['name'] for f in functions], ['scale'])
        one = functions[0]['instructions'][1]
        for offset in (str(one['offset']), hex(one['offset'])):
            text = self.ok('--object', AMD, '--offset', offset)
            self.assertIn('scale+0x%x\n' % (one['offset'] - functions[0]['offset']), text)
            self.assertIn('tile.cl:%d:' % one['lines'][-1]['line'], text)

    def test_source_only_below_its_folder(self):
        without = self.ok('--object', AMD, '--source', 'scale')
        self.assertIn('--source-path', without)
        self.assertNotIn('x[i] * factor', without)
        # tile.cl stands in the object as /tmp/tmp.XXX/tile.cl, of which the end is found.
        text = self.ok('--object', AMD, '--source', '--source-path', FIXTURES, 'scale')
        self.assertIn('x[i] = x[i] * factor + 1.0f;', text)
        with tempfile.TemporaryDirectory() as folder:
            inside = os.path.join(folder, 'inside')
            os.mkdir(inside)
            shutil.copy(os.path.join(FIXTURES, 'tile.cl'), folder)
            os.symlink('../tile.cl', os.path.join(inside, 'tile.cl'))
            text = self.ok('--object', AMD, '--source', '--source-path', inside, 'scale')
            self.assertNotIn('x[i] * factor', text)

    def test_assembly_only(self):
        text = self.ok('--object', AMD, '--asm', 'scale')
        self.assertRegex(text, r'\d+ registers.* of 8 waves of a SIMD run')
        self.assertNotIn('tile_product', text)

    @unittest.skipUnless(shutil.which('objcopy'), 'needs objcopy')
    def test_inside_programs(self):
        """Sections as hipcc and nvcc put them into programs, two containers in one."""
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, 'program')
            fatbin = os.path.join(folder, 'fatbin')
            with open(fatbin, 'wb') as out:
                for name in ('nested-size.fatbin', 'nested-none.fatbin'):
                    with open(os.path.join(FIXTURES, name), 'rb') as file:
                        data = file.read()
                    out.write(data + bytes(-len(data) % 8))
            subprocess.run(['objcopy',
                            '--add-section', '.hip_fatbin=' + os.path.join(FIXTURES, 'amd.bundle'),
                            '--add-section', '.nv_fatbin=' + fatbin, '/bin/true', program],
                           check=True)
            text = self.ok('--object', program)
            for arch, count in (('gfx90a', 1), ('gfx1030', 1), ('sm_80', 2), ('sm_90', 2)):
                self.assertEqual(text.count(': ' + arch + '\n'), count, arch)

    def test_errors(self):
        self.assertIn("no kernel 'nothing'", self.fails('--object', AMD, '--asm', 'nothing'))
        self.assertIn('no code at 0x1', self.fails('--object', AMD, '--offset', '1'))
        self.assertIn('cannot read', self.fails('--object', '/no/such/file'))
        self.assertIn('no accelerator code', self.fails('--object', '/bin/true'))
        self.assertIn('bad offset', self.fails('--object', AMD, '--offset', 'x', status=129))
        self.assertIn('--offset needs --object', self.fails('--offset', '1', status=129))

    def test_capture_without_device_samples(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertIn('cannot open', self.fails('-i', os.path.join(folder, 'x')))


if __name__ == '__main__':
    unittest.main()
