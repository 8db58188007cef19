# SPDX-License-Identifier: Apache-2.0
"""HolisticTraceAnalysis' idle time and overlap on the shared traces, and ours.

With ACCEL_PROF_TEST_FULL=1 only: it is installed from PyPI into an environment of its own, kept in
the user's cache. Where the two differ, it is said why, and that it is so is checked, too.
"""
import gzip
import json
import math
import os
import subprocess
import sys
import unittest

from command import SOURCE_DIR, run

TRACES = os.path.join(SOURCE_DIR, '..', 'shared', 'traces', 'torch')
CACHE = os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache')
HOME = os.path.join(CACHE, 'accel-prof-test', 'hta-0.5.0')
NAMES = ('ranks_0_of_2', 'ranks_1_of_2', 'h100_bert_small', 'mi300_bert_small', 'diff_control',
         'diff_test', 'ns_resolution_19_digits', 'legacy_2021_categories', 'b200_vllm_eager')

# Neither is the last step left out, nor are times cut to whole microseconds.
SCRIPT = '''
import json, logging, sys, warnings
warnings.filterwarnings('ignore')
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
found = {}
for path in sys.argv[2:]:
    analysis = TraceAnalysis(trace_files={0: path}, include_last_profiler_step=True)
    times = analysis.get_temporal_breakdown(visualize=False).to_dict('records')[0]
    overlap = analysis.get_comm_comp_overlap(visualize=False).to_dict('records')[0]
    found[path] = [float(times['idle_time(us)']), float(times['kernel_time(us)']),
                   float(overlap['comp_comm_overlap_pctg'])]
with open(sys.argv[1], 'w') as file:
    json.dump(found, file)
'''


def install():
    """The interpreter of the environment, or None without network."""
    python = os.path.join(HOME, 'bin', 'python')
    check = [python, '-c', 'import hta.trace_analysis']
    if os.path.exists(python) and not subprocess.run(check, capture_output=True,
                                                     check=False).returncode:
        return python
    for command in ([sys.executable, '-m', 'venv', '--clear', HOME],
                    [python, '-m', 'pip', 'install', '-q', 'HolisticTraceAnalysis==0.5.0']):
        if subprocess.run(command, capture_output=True, check=False, timeout=600).returncode:
            return None
    return python


def device_work(path):
    """[(start, end, whether the trace has its launch)] in us."""
    with gzip.open(path, 'rt', encoding='utf-8') as file:
        events = json.load(file)['traceEvents']
    launches = {e['args'].get('correlation') for e in events
                if str(e.get('cat')).lower() in ('cuda_runtime', 'cuda_driver', 'runtime')}
    return [(e['ts'], e['ts'] + e['dur'], e['args'].get('correlation') in launches)
            for e in events if str(e.get('cat')).lower() in
            ('kernel', 'gpu_memcpy', 'gpu_memset', 'memcpy', 'memset')]


def union(spans):
    busy, until = 0, -math.inf
    for start, end in sorted(spans):
        busy += max(0, end - max(start, until))
        until = max(until, end)
    return busy


@unittest.skipUnless(os.environ.get('ACCEL_PROF_TEST_FULL') == '1',
                     'only with ACCEL_PROF_TEST_FULL=1')
@unittest.skipUnless(os.path.isdir(TRACES), f'needs the traces in {TRACES}')
class Hta(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        python = install()
        if not python:
            raise unittest.SkipTest('needs HolisticTraceAnalysis from PyPI, and a network for it')
        result = os.path.join(HOME, 'result.json')
        paths = [os.path.join(TRACES, name + '.json.gz') for name in NAMES]
        subprocess.run([python, '-c', SCRIPT, result, *paths], check=True, capture_output=True,
                       timeout=280, env={**os.environ, 'HTA_DISABLE_NS_ROUNDING': '1'})
        with open(result, encoding='utf-8') as file:
            cls.found = dict(zip(NAMES, json.load(file).values()))

    def ours(self, name, *args):
        done = run('report', os.path.join(TRACES, name + '.json.gz'), '--json', *args)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        return json.loads(done.stdout)

    def test_idle(self):
        for name in NAMES:
            with self.subTest(trace=name):
                idle, length, _ = self.found[name]
                device = self.ours(name, '--time', '0%-100%')['devices'][0]
                work = device_work(os.path.join(TRACES, name + '.json.gz'))
                # It adds up floating-point microseconds since 1970.
                error = 1 + len(work) * math.ulp(max(float(end) for _, end, _ in work))
                if length - idle > sum(end - start for start, end, _ in work) + error:
                    # More than the sum of all durations: with nanoseconds in its times it loses
                    # digits, and finds pieces that overlap one after the other.
                    self.assertAlmostEqual(idle, length - device['busy_ns'] / 1000,
                                           delta=0.01 * idle)
                    continue
                linked = [(start, end) for start, end, is_linked in work if is_linked]
                if len(linked) == len(work):
                    between = sum(ns for key, ns in device.items() if key.startswith('idle_') and
                                  key not in ('idle_before_first_ns', 'idle_after_last_ns'))
                    self.assertAlmostEqual(between / 1000, idle, delta=error)
                    continue
                # It leaves out what was launched before the trace: its busy time is that of the
                # rest. Ours is that of all.
                self.assertAlmostEqual(union(linked), length - idle, delta=error)
                self.assertAlmostEqual(union([w[:2] for w in work]), device['busy_ns'] / 1000,
                                       delta=error)

    def test_overlap(self):
        for name in NAMES:
            with self.subTest(trace=name):
                share = self.found[name][2]
                rows = {r['what']: r['share'] for r in
                        self.ours(name, '--view', 'overlap', '--time', '0%-100%')['overlap']}
                ours = rows.get('of communication, behind kernels')
                if math.isnan(share):
                    self.assertIn(ours, (None, 0))
                elif name != 'diff_test': # as above
                    self.assertAlmostEqual(ours * 100, share, delta=0.01)


if __name__ == '__main__':
    unittest.main()
