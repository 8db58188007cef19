# SPDX-License-Identifier: Apache-2.0
"""accel-prof heatmap: from a trace to a picture of its time, and what it refuses."""
import json
import os
import re
import tempfile
import unittest
import xml.etree.ElementTree

from chrome import span
from command import run

SVG = '{http://www.w3.org/2000/svg}'


def trace():
    """Two kernels of 50 ms and 30 ms, launched 10 ms before they start: the first thing that is
    known is the first launch, so they start 0.01 and 8.01 s later."""
    events = [{'ph': 'M', 'name': 'process_name', 'pid': 10, 'args': {'name': 'python3'}},
              span('python_function', 'train.py(3): main', 0, 10_000_000, **{'Python id': 1})]
    for number, (kernel, start, duration) in enumerate(
            [('gemm', 1_000_000, 50_000), ('copy<T>', 9_000_000, 30_000)], 1):
        events.append(span('cuda_runtime', 'cudaLaunchKernel', start - 10_000, 5, correlation=number))
        events.append(span('kernel', kernel, start, duration, correlation=number, device=0, stream=7))
    return json.dumps({'schemaVersion': 1, 'deviceProperties': [{'id': 0, 'name': 'GPU'}],
                       'traceEvents': events})


def cells(svg):
    """What the tooltips of the pieces say."""
    root = xml.etree.ElementTree.fromstring(svg)
    return [title.text for title in root.findall(f".//{SVG}g[@id='pieces']/{SVG}rect/{SVG}title")]


class Heatmap(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, 'trace.json')
        with open(self.path, 'w', encoding='utf-8') as out:
            out.write(trace())

    def drawn(self, *options):
        done = run('heatmap', *options, self.path)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        return done.stdout

    def test_device_time_first(self):
        svg = self.drawn()
        self.assertEqual(cells(svg), [
            '0 s to 0.02 s: 10.0 ms, 50.0 %', '0.02 s to 0.04 s: 20.0 ms, 100 %',
            '0.04 s to 0.06 s: 20.0 ms, 100 %', '8 s to 8.02 s: 10.0 ms, 50.0 %',
            '8.02 s to 8.04 s: 20.0 ms, 100 %'])
        self.assertEqual(svg, self.drawn())

    def test_metrics(self):
        # Idle is 7.95 s, from 0.06 s on: 397 whole pieces, then half of one.
        idle = cells(self.drawn('--metric', 'idle'))
        self.assertEqual(len(idle), 398)
        self.assertEqual(idle[0], '0.06 s to 0.08 s: 20.0 ms, 100 %')
        self.assertEqual(idle[-1], '8 s to 8.02 s: 10.0 ms, 50.0 %')
        self.assertEqual(cells(self.drawn('--metric', 'launches')), [
            '0 s to 0.02 s: 1 launches', '8 s to 8.02 s: 1 launches'])

    def test_filters(self):
        self.assertEqual(len(cells(self.drawn('--kernel', 'gemm'))), 3)

    def test_page(self):
        page = self.drawn('--format', 'html', '--title', '</title><script>')
        self.assertTrue(page.startswith('<!DOCTYPE html>'))
        self.assertIn('&lt;/title&gt;&lt;script&gt;', page)
        self.assertNotIn('</title><script>', page)
        self.assertEqual(re.findall('data-count="([0-9]+)"', page), ['5'])

    def test_refusals(self):
        for options, status, text in [
                (('--metric', 'nonsense'), 129, "no metric 'nonsense'"),
                (('--format', 'png'), 129, "no format 'png'"),
                (('--metric', 'cpu-samples'), 1, 'nothing to draw: there is no cpu-samples here'),
                (('--time', '1,x'), 1, "'1,x'")]:
            done = run('heatmap', *options, self.path)
            self.assertEqual((done.returncode, done.stdout), (status, ''))
            self.assertIn(text, done.stderr)


if __name__ == '__main__':
    unittest.main()
