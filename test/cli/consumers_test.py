# SPDX-License-Identifier: Apache-2.0
"""accel-prof export: read by the tools of PyPI that the formats are for, with the same sums."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

from command import SOURCE_DIR, run

DEVICE = os.path.join(SOURCE_DIR, 'test', 'device')
os.environ.setdefault('FIXTURES', os.path.join(DEVICE, 'fixture')) # for what is imported
sys.path.insert(0, DEVICE)
import objects # pylint: disable=wrong-import-position

TRACE = os.path.join(SOURCE_DIR, '..', 'shared', 'traces', 'torch', 'h100_bert_small.json.gz')

HATCHET = '''
import hatchet, json, sys
frame = hatchet.GraphFrame.from_literal(json.load(open(sys.argv[1]))[:1]).dataframe
print(json.dumps({name: int(frame[name].sum()) for name in ('time (ns)', 'count', 'wall (ns)')}))
'''

PERFETTO = '''
import json, sys
from perfetto.trace_processor import TraceProcessor
try:
    reader = TraceProcessor(trace=sys.argv[1])
except Exception as error: # its program is fetched when it is first used
    print(error, file=sys.stderr)
    sys.exit(77)
def ask(text):
    return [row.n for row in reader.query(text)][0]
print(json.dumps({
    'errors': ask("select ifnull(sum(value), 0) n from stats where severity in ('error', 'data_loss')"),
    'kernel_ns': ask("select sum(dur) n from slice where category in ('kernel', 'gpu_memcpy', 'gpu_memset')"),
    'idle_ns': ask("select sum(dur) n from slice where category = 'idle'"),
    'open': ask("select count(*) n from slice where dur < 0"),
    'flows': ask("select count(*) n from flow")}))
'''


@unittest.skipUnless(os.environ.get('ACCEL_PROF_TEST_FULL') and os.path.exists(TRACE),
                     'packages from PyPI, and the real traces: scripts/test --full')
class Consumers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bin = os.path.join(objects.venv('consumers', 'llnl-hatchet', 'triton', 'perfetto'), 'bin')
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name

    def export(self, form):
        path = os.path.join(self.folder, 'out.' + form)
        done = run('export', '--format', form, '-o', path, TRACE)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        return path

    def total(self, metric):
        done = run('export', '--format', 'folded', '--metric', metric, TRACE)
        return sum(int(line.rsplit(' ', 1)[1]) for line in done.stdout.splitlines())

    def python(self, script, path):
        done = subprocess.run([os.path.join(self.bin, 'python'), '-c', script, path],
                              capture_output=True, text=True, timeout=300)
        if done.returncode == 77:
            self.skipTest(done.stderr.strip().splitlines()[-1])
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_hatchet(self):
        self.assertEqual(self.python(HATCHET, self.export('hatchet')),
                         {'time (ns)': self.total('device-time'), 'count': self.total('launches'),
                          'wall (ns)': self.total('wall')})

    def test_proton_viewer(self):
        done = subprocess.run([os.path.join(self.bin, 'proton-viewer'), '-m', 'time/ns,count',
                               self.export('hatchet')], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        text = re.sub(r'\x1b\[[0-9;]*m', '', done.stdout)
        root = re.search(r'^([\d.]+) ([\d.]+) ROOT$', text, re.MULTILINE)
        self.assertEqual((float(root[1]), float(root[2])),
                         (self.total('device-time'), self.total('launches')))

    def test_perfetto(self):
        found = self.python(PERFETTO, self.export('chrome'))
        self.assertEqual((found['errors'], found['open']), (0, 0))
        self.assertEqual(found['kernel_ns'], self.total('device-time'))
        idle = sum(int(line.rsplit(' ', 1)[1])
                   for line in run('export', '--format', 'folded', TRACE).stdout.splitlines()
                   if '[idle: ' in line)
        self.assertEqual(found['idle_ns'], idle)
        self.assertGreater(found['flows'], 0)


if __name__ == '__main__':
    unittest.main()
