# SPDX-License-Identifier: Apache-2.0
"""accel-prof flamegraph: from a trace to a picture or folded lines, and what it refuses."""
import json
import os
import pty
import re
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

from chrome import span, step
from command import PROGRAM, run

SVG = '{http://www.w3.org/2000/svg}'


def trace():
    return json.dumps({'schemaVersion': 1, 'deviceProperties': [{'id': 0, 'name': 'GPU'}],
                       'traceEvents': step('copy_kernel')})


def folded(text):
    return {path: int(value) for path, value in
            (line.rsplit(' ', 1) for line in text.splitlines())}


class Flamegraph(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.trace = os.path.join(self.folder, 'trace.json')
        with open(self.trace, 'w', encoding='utf-8') as file:
            file.write(trace())

    def draw(self, *args):
        done = run('flamegraph', *args, self.trace)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        return done.stdout

    def lines(self, *args):
        return folded(self.draw('--format', 'folded', *args))

    def test_picture(self):
        picture = self.draw()
        root = xml.etree.ElementTree.fromstring(picture)
        self.assertEqual(root.tag, SVG + 'svg')
        texts = [text.text for text in root.iter(SVG + 'text')]
        self.assertEqual(texts[0], 'trace.json')
        self.assertEqual(texts[1], '300 µs: wall time of the device, busy and idle')
        self.assertIn('all (300 µs, 100 %)', [title.text for title in root.iter(SVG + 'title')])
        self.assertEqual(self.draw(), picture)

    def test_folded(self):
        lines = self.lines()
        self.assertEqual(sum(lines.values()), 300000)
        self.assertEqual(sum(v for k, v in lines.items() if k.endswith(';-;gemm_[G]')), 80000)
        self.assertEqual(sum(v for k, v in lines.items() if k.endswith(';-;copy_kernel_[G]')), 100000)
        self.assertEqual(sum(v for k, v in lines.items() if '[idle: ' in k), 120000)
        self.assertTrue(all(k.startswith('python3;') for k in lines), lines)
        self.assertEqual(sum(self.lines('--metric', 'launches').values()), 3)

    def test_filters(self):
        kernel = 'gemm_[G]'
        self.assertEqual({k.split(';')[-1] for k in self.lines('--focus', '^gemm$')}, {kernel})
        self.assertNotIn(kernel, {k.split(';')[-1] for k in self.lines('--ignore', '^gemm$')})
        self.assertEqual(self.lines('--root', '^gemm$'), {kernel: 80000})
        self.assertTrue(all(k.startswith(('gemm_[G];-;', 'copy_kernel_[G];-;', '[idle: '))
                            for k in self.lines('--reverse')))
        self.assertFalse([k for k in self.lines('--hide', '^cudaLaunchKernel$') if 'cudaLaunch' in k])
        self.assertEqual(sum(self.lines('--time', '50%,100%').values()) > 0, True)

    def test_parts_of_the_work(self):
        """Two steps on two devices in two processes; what each option leaves, by hand."""
        whole = json.loads(trace())
        for number, begin in (1, 70), (2, 170):
            whole['traceEvents'].append(span('user_annotation', f'ProfilerStep#{number}', begin, 100))
        other = span('kernel', 'scan', 250, 20, correlation=9, device=1, stream=7)
        launch = span('cuda_runtime', 'cudaLaunchKernel', 240, 5, correlation=9)
        other['pid'], launch['pid'], launch['tid'] = 1, 11, 11
        whole['traceEvents'] += [launch, other, {'ph': 'M', 'name': 'process_name', 'pid': 11, 'args': {'name': 'side'}}]
        whole['deviceProperties'].append({'id': 1, 'name': 'GPU'})
        with open(self.trace, 'w', encoding='utf-8') as file:
            json.dump(whole, file)

        def work(*args):
            left = self.lines('--metric', 'device-time', *args)
            return {name: sum(v for k, v in left.items() if f';{name}_[G]' in k) // 1000
                    for name in ('gemm', 'copy_kernel', 'scan')}

        self.assertEqual(work(), {'gemm': 80, 'copy_kernel': 100, 'scan': 20})
        self.assertEqual(work('--pid', '10'), {'gemm': 80, 'copy_kernel': 100, 'scan': 0})
        self.assertEqual(work('--pid', '11'), {'gemm': 0, 'copy_kernel': 0, 'scan': 20})
        self.assertEqual(work('--device', '0'), {'gemm': 80, 'copy_kernel': 100, 'scan': 0})
        self.assertEqual(work('--device', '1'), {'gemm': 0, 'copy_kernel': 0, 'scan': 20})
        self.assertEqual(work('--step', '1', '--pid', '10'), {'gemm': 50, 'copy_kernel': 0, 'scan': 0})
        self.assertEqual(work('--step', '2', '--pid', '10'), {'gemm': 30, 'copy_kernel': 0, 'scan': 0})

    def test_looks(self):
        """What only changes how the picture is first seen is in it, and takes nothing away."""
        def tops(*args):
            root = xml.etree.ElementTree.fromstring(self.draw(*args))
            frames = [(group.find(SVG + 'title').text, float(group.find(SVG + 'rect').get('y')))
                      for group in root.iter(SVG + 'g') if group.find(SVG + 'title') is not None]
            return [name.split(' (')[0] for name, _ in sorted(frames, key=lambda frame: frame[1])]

        self.assertEqual(tops()[-1], 'all')
        self.assertEqual(tops('--inverted')[0], 'all')
        self.assertEqual(sorted(tops()), sorted(tops('--inverted')))
        self.assertNotEqual(self.draw(), self.draw('--full'))
        self.assertEqual(tops(), tops('--full'))

    def test_output_file(self):
        path = os.path.join(self.folder, 'out.svg')
        self.assertEqual(self.draw('-o', path), '')
        with open(path, encoding='utf-8') as file:
            self.assertEqual(file.read(), self.draw())
        self.assertEqual(sorted(os.listdir(self.folder)), ['out.svg', 'trace.json'])
        mask = os.umask(0)
        os.umask(mask)
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o666 & ~mask)

    def test_failure_leaves_the_old_file(self):
        path = os.path.join(self.folder, 'out.svg')
        with open(path, 'w', encoding='utf-8') as file:
            file.write('old')
        done = run('flamegraph', '-o', path, '--focus', 'nothing', self.trace)
        self.assertEqual((done.returncode, done.stdout), (1, ''))
        self.assertEqual(done.stderr, 'accel-prof: nothing to draw: no sample and no launch is left\n')
        with open(path, encoding='utf-8') as file:
            self.assertEqual(file.read(), 'old')
        self.assertEqual(sorted(os.listdir(self.folder)), ['out.svg', 'trace.json'])
        done = run('flamegraph', '-o', os.path.join(self.folder, 'no', 'x.svg'), self.trace)
        self.assertEqual(done.returncode, 1)
        self.assertIn('No such file or directory', done.stderr)

    def test_html(self):
        page = self.draw('--format', 'html', '--title', 'a < b')
        self.assertTrue(page.startswith('<!DOCTYPE html>'))
        self.assertIn('<title>a &lt; b</title>', page)

    def test_width(self):
        self.assertIn('<svg xmlns="http://www.w3.org/2000/svg" width="640"', self.draw('--width', '640'))
        for bad in ('199', '100001', '-1', '10px', ''):
            done = run('flamegraph', '--width', bad, self.trace)
            self.assertEqual((done.returncode, done.stdout), (129, ''))
            self.assertIn('the width is a number of pixels', done.stderr)

    def test_mistakes(self):
        for args, status, text in [
                (['--metric', 'no'], 1, "there is no 'no' here, only "),
                (['--focus', 'a('], 1, "cannot use 'a(' as a regular expression"),
                (['--format', 'png'], 129, "no format 'png': svg, html or folded"),
                (['--leaf', 'none'], 129, 'leaf order'),
                (['--pid', 'x'], 1, 'pid')]:
            done = run('flamegraph', *args, self.trace)
            self.assertEqual((done.returncode, done.stdout), (status, ''), args)
            self.assertRegex(done.stderr, re.escape(text))

    def test_diff(self):
        old = os.path.join(self.folder, 'old.json')
        with open(old, 'w', encoding='utf-8') as file:
            # gemm took 20 us more, so that 20 us less were idle.
            file.write(trace().replace('"dur": 30', '"dur": 50').replace('train.py(9)', 'train.py(7)'))
        root = xml.etree.ElementTree.fromstring(self.draw('--diff', old))
        titles = [title.text for title in root.iter(SVG + 'title')]
        self.assertIn('gemm (80.0 µs, 26.7 %; was 100 µs, -20 %)', titles)
        self.assertIn('copy_kernel (100 µs, 33.3 %; was 100 µs, the same)', titles)
        texts = [text.text for text in root.iter(SVG + 'text')]
        self.assertEqual(texts[1], f"300 µs: what changed; +0.0 % in all since '{old}', drawn as if it were the same")
        for args, status, text in [([old + '2'], 1, 'No such file'),
                                   ([old, '--format', 'folded'], 129, 'cannot show a difference'),
                                   ([old, '--metric', 'no'], 1, "there is no 'no' here")]:
            done = run('flamegraph', self.trace, '--diff', *args)
            self.assertEqual((done.returncode, done.stdout), (status, ''))
            self.assertIn(text, done.stderr)

    def test_diff_of_folded_lines(self):
        """Half as many samples now: what was there before is scaled by that, so that a was 50, b 30, gone 20."""
        now, before, capture = (os.path.join(self.folder, name) for name in ('now.folded', 'before.folded', 'c.data'))
        with open(now, 'w', encoding='utf-8') as file:
            file.write('main;a 70\nmain;b 20\nmain;new 10\n')
        with open(before, 'w', encoding='utf-8') as file:
            file.write('main;a 100\nmain;b 60\nmain;gone 40\n')
        self.assertEqual(run('import', '-q', '-o', capture, before).returncode, 0)
        for base in before, capture:
            for form in 'svg', 'html':
                done = run('flamegraph', '--format', form, '--diff', base, now)
                self.assertEqual((done.returncode, done.stderr), (0, ''))
                svg = done.stdout[done.stdout.index('<svg'):done.stdout.index('</svg>') + 6]
                root = xml.etree.ElementTree.fromstring(svg)
                titles = [title.text for title in root.iter(SVG + 'title')]
                for title in ('main (100 samples, 100 %; was 100 samples, the same)',
                              'a (70 samples, 70.0 %; was 50 samples, +40 %)',
                              'b (20 samples, 20.0 %; was 30 samples, -33 %)',
                              'new (10 samples, 10.0 %; was 0 samples, new)',
                              'gone (0 samples, 0.0 %; was 20 samples, gone)'):
                    self.assertIn(title, titles)
                texts = [text.text for text in root.iter(SVG + 'text')]
                self.assertIn("100 samples: what changed; "
                              f"-50.0 % in all since '{base}', drawn as if it were the same", texts)

    def test_not_to_a_terminal(self):
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        done = subprocess.run([PROGRAM, 'flamegraph', self.trace], stdin=subprocess.DEVNULL,
                              stdout=theirs, stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual(done.returncode, 129)
        self.assertIn("add '> out.svg' or '-o out.svg'", done.stderr)
        done = subprocess.run([PROGRAM, 'flamegraph', '--format', 'folded', self.trace],
                              stdin=subprocess.DEVNULL, stdout=theirs, timeout=60)
        os.close(theirs)
        self.assertEqual(done.returncode, 0)
        self.assertIn(b'gemm_[G]', os.read(ours, 65536))

    def test_full_disk(self):
        with open('/dev/full', 'wb') as full:
            done = subprocess.run([PROGRAM, 'flamegraph', self.trace], stdin=subprocess.DEVNULL,
                                  stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn('No space left on device', done.stderr)


if __name__ == '__main__':
    unittest.main()
