# SPDX-License-Identifier: Apache-2.0
"""accel-prof annotate: bare files, offsets, sources only from where they may come, errors."""
import json
import os
import re
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
        for path in '/bin/true', '/etc/passwd':
            self.assertEqual(self.fails('--object', path),
                             "accel-prof: '%s' holds no accelerator code that is known here\n" % path)
        self.assertIn('bad offset', self.fails('--object', AMD, '--offset', 'x', status=129))
        self.assertIn('--offset needs --object', self.fails('--offset', '1', status=129))

    def test_capture_without_device_samples(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertIn('cannot open', self.fails('-i', os.path.join(folder, 'x')))


class Recorded(unittest.TestCase):
    """A matrix multiplication on POCL, recorded, then down to its lines."""

    @classmethod
    def setUpClass(cls):
        mm = os.path.join(os.environ['WORKLOAD_DIR'], 'mm')
        if os.geteuid() != 0 or not os.path.exists(mm):
            raise unittest.SkipTest('needs root, and OpenCL for the workload')
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.path = os.path.join(cls.folder.name, 'x.data')
        # POCL 3.1 gives lines to what is not optimised only.
        env = dict(os.environ, POCL_EXTRA_BUILD_FLAGS='-g -cl-opt-disable',
                   POCL_CACHE_DIR=os.path.join(cls.folder.name, 'cache'))
        # At perf's usual rate a loaded machine gives too few samples.
        done = run('record', '-F', '999', '-o', cls.path, '--', mm, '2', '64', env=env)
        if 'no OpenCL' in done.stderr or 'cannot load' in done.stderr:
            raise unittest.SkipTest(done.stderr)
        assert done.returncode == 0, done.stderr

    def test_json_adds_up(self):
        for kernel in ('mm_basic', 'mm_local', 'mm_tiled'):
            done = run('annotate', '-i', self.path, '--json', kernel)
            self.assertEqual((done.returncode, done.stderr), (0, ''))
            told = json.loads(done.stdout)
            self.assertEqual(told['kernel'], kernel)
            placed = [i for f in told['functions'] for i in f['instructions'] if i['samples']]
            self.assertGreater(told['samples'], 10)
            self.assertEqual(sum(i['samples'] for i in placed), told['samples'])
            with_lines = sum(i['samples'] for i in placed if i['lines'])
            self.assertGreater(with_lines, told['samples'] * 0.9)

    def test_source_comes_from_the_capture(self):
        done = run('annotate', '-i', self.path, '--source', 'mm_basic')
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        with open(os.path.join(SOURCE_DIR, 'test', 'workload', 'mm.cl'), encoding='utf-8') as file:
            source = file.read().expandtabs().splitlines()
        found = 0
        for line in done.stdout.splitlines():
            m = re.match(r'^ *[0-9.]+ +[0-9]+  [> ] +(\d+)  (.*)$', line)
            if m:
                self.assertEqual(m[2], source[int(m[1]) - 1])
                found += 1
        self.assertGreater(found, 0)
        self.assertIn('> ', done.stdout)

    def test_the_hottest_is_the_default(self):
        done = run('annotate', '-i', self.path)
        self.assertRegex(done.stdout, r'^kernel mm_')
        self.assertIn('the samples carry no reasons', done.stdout)

    def test_other_views_agree(self):
        lines = json.loads(run('report', '-i', self.path, '--view', 'lines', '--json').stdout)
        told = json.loads(run('annotate', '-i', self.path, '--json', 'mm_basic').stdout)
        self.assertEqual(sum(r['samples'] for r in lines['lines'] if r['kernel'] == 'mm_basic'),
                         told['samples'])
        folded = run('flamegraph', '--format', 'folded', '--metric', 'device-samples', '-i',
                     self.path).stdout
        self.assertEqual(sum(int(l.rsplit(' ', 1)[1]) for l in folded.splitlines()
                             if 'mm_basic_[G]' in l), told['samples'])
        self.assertRegex(folded, r'program\.cl:\d+_\[G\];0x[0-9a-f]+: [a-z]')


if __name__ == '__main__':
    unittest.main()
