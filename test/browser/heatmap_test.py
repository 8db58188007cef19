# SPDX-License-Identifier: Apache-2.0
"""A heat map with its flame graph in a real browser: the range that is dragged over is what is drawn."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import webdriver



def trace():
    """Kernels of 50 and 30 ms, 0.01 and 8.01 s after the first launch, with which the map begins."""
    events = []
    for number, (kernel, start, duration) in enumerate(
            [("gemm", 1_000_000, 50_000), ("copy", 9_000_000, 30_000)], 1):
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 10, "tid": 10,
                       "ts": start - 10_000, "dur": 5, "args": {"correlation": number}})
        events.append({"ph": "X", "cat": "kernel", "name": kernel, "pid": 0, "tid": 7, "ts": start,
                       "dur": duration, "args": {"correlation": number, "device": 0, "stream": 7}})
    return json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU"}],
                       "traceEvents": events})


DRAG = """
    const grid = document.getElementById('pieces');
    const send = (type, [column, row]) => {
        const place = new DOMPoint((column + .5) * grid.dataset.column,
            (grid.dataset.rows - row - .5) * grid.dataset.row).matrixTransform(grid.getScreenCTM());
        grid.dispatchEvent(new PointerEvent(type, { clientX: place.x, clientY: place.y, pointerId: 1, bubbles: true }));
    };
    grid.setPointerCapture = () => {};
    send('pointerdown', arguments[0]);
    send('pointermove', arguments[1]);
    send('pointerup', arguments[1]);
"""
SEEN = """
    await window.heat;
    const app = await flame;
    return [document.getElementById('note').textContent,
        [...document.querySelectorAll('.canvas > g > g:not([visibility]) text')].map((t) => t.textContent)];
"""


class Heatmap(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        path = os.path.join(cls.folder.name, "trace.json")
        page = os.path.join(cls.folder.name, "page.html")
        with open(path, "w", encoding="utf-8") as out:
            out.write(trace())
        subprocess.run([os.environ["ACCEL_PROF"], "heatmap", "--format", "html", "-o", page, path], check=True)
        cls.browser = webdriver.Browser(1200, 900)
        cls.browser.open("file://" + page)

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__(None, None, None)
        cls.folder.cleanup()

    def seen(self):
        return self.browser.run_async(SEEN)

    def drag(self, start, end):
        self.browser.run(DRAG, start, end)
        return self.seen()

    def test_ranges(self):
        note, labels = self.seen()
        self.assertIn("80.0 ms", note)
        names = {label.split("  ")[0] for label in labels}
        self.assertLessEqual({"gemm", "copy"}, names)

        # Backwards in time and over a whole column.
        note, labels = self.drag([1, 3], [0, 2])
        self.assertIn("20.0 ms", note)
        self.assertIn("0.04 s to 1.08 s", note)
        self.assertIn("gemm", {label.split("  ")[0] for label in labels})
        self.assertNotIn("copy", {label.split("  ")[0] for label in labels})

        # One piece, and the same again: all.
        note, labels = self.drag([8, 0], [8, 0])
        self.assertIn("10.0 ms", note)
        self.assertIn("copy", {label.split("  ")[0] for label in labels})
        note, _ = self.drag([8, 0], [8, 0])
        self.assertIn("80.0 ms", note)

    def test_no_errors(self):
        self.assertEqual(self.browser.console(), [])


if __name__ == "__main__":
    if not webdriver.find_browser():
        print("no chromium with chromedriver", file=sys.stderr)
        sys.exit(77)
    unittest.main()
