# SPDX-License-Identifier: Apache-2.0
"""check: where recording works it says so; each 'no' tells what mends it and who can; what cannot be had
here is played by other files in the places that are looked at."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest

from command import PROGRAM, run

WAITS = os.path.join(os.environ['WORKLOAD_DIR'], 'waits')
NOBODY = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
WORKS, BY_PERF, NOTHING = ('recording works',
                           'recording works for your own programs, by perf events alone: no launches, '
                           'no Python frames, no waits', 'recording does not work')


class Check(unittest.TestCase):
    def test_here(self):
        done = run('check')
        self.assertEqual(done.stderr, '')
        lines = done.stdout.splitlines()
        self.assertIn(lines[-1], (WORKS, BY_PERF, NOTHING))
        self.assertEqual(done.returncode, lines[-1] == NOTHING)
        self.assertIn(os.uname().release, lines[0])
        if os.geteuid() == 0:
            can = subprocess.run([PROGRAM, 'record', '-o', '-', '--', 'true'], stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL, check=False)
            self.assertEqual(can.returncode, done.returncode)

    def as_nobody(self, *args):
        if os.geteuid() != 0:
            self.skipTest('not root: cannot become nobody')
        done = subprocess.run([*NOBODY, PROGRAM, *args], capture_output=True, text=True,
                              errors='replace', check=False)
        if 'failed to execute' in done.stderr:
            self.skipTest('nobody cannot run the program in its build folder')
        return done

    def test_as_nobody(self):
        """What it says is so: recording works just as far."""
        done = self.as_nobody('check')
        lines = done.stdout.splitlines()
        missing = [i for i, line in enumerate(lines) if re.match(r'\S.{14} no ', line)]
        self.assertGreaterEqual(len(missing), 3)
        for i in missing:
            self.assertRegex(lines[i + 1], r'^ +mend \((you|root|who runs the machine)\): \S')
        self.assertIn(lines[-1], (BY_PERF, NOTHING))
        self.assertEqual(done.returncode, lines[-1] == NOTHING)
        for engine, works in (('bpf', False), ('perf', lines[-1] == BY_PERF)):
            can = self.as_nobody('record', '-q', '--engine', engine, '-o', '-', '--', 'true')
            self.assertEqual(can.returncode == 0, works, engine)

    def test_json(self):
        """The same as the lines, and in order."""
        text, done = run('check'), run('check', '--json')
        self.assertEqual(done.returncode, text.returncode)
        report = json.loads(done.stdout)
        lines = [line for line in text.stdout.splitlines()[:-1] if not line.startswith(' ')]
        self.assertEqual([f'{c["name"]:15} {c["state"]:7} {c["found"]}' for c in report['checks']], lines)
        for check in report['checks']:
            self.assertIn(check['state'], ('yes', 'partly', 'no', 'none'))
            self.assertIn(check['group'], ('machine', 'runtime', 'process'))
            self.assertEqual('mend' in check, 'who' in check)
            if check['state'] in ('no', 'partly'):
                self.assertNotEqual(check['mend'], '', check)
        self.assertEqual(report['works'], report['engine'] != 'none')

    def with_files(self, script):
        """check --json in a mount namespace of its own, where @script has put things."""
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        done = subprocess.run(['unshare', '-m', 'sh', '-ec', f'cd {folder}; {script}; exec "$@"', 'sh',
                               PROGRAM, 'check', '--json'], capture_output=True, text=True, check=False)
        if 'unshare' in done.stderr or 'mount' in done.stderr:
            self.skipTest(done.stderr)
        report = json.loads(done.stdout)
        return report, {check['name']: check for check in report['checks']}

    def test_lockdown(self):
        report, checks = self.with_files(
            'mount -t tmpfs none /sys/kernel/security; '
            'echo "none integrity [confidentiality]" > /sys/kernel/security/lockdown')
        self.assertEqual(checks['lockdown']['state'], 'no')
        self.assertEqual(checks['lockdown']['who'], 'who runs the machine')
        self.assertEqual(report['engine'], 'perf')

    def test_no_btf(self):
        report, checks = self.with_files('mount -t tmpfs none /sys/kernel/btf')
        self.assertEqual(checks['BTF']['state'], 'no')
        self.assertEqual(checks['BPF programs']['state'], 'no')
        self.assertEqual(report['engine'], 'perf')

    def test_names_hidden(self):
        _, checks = self.with_files('echo 2 > two; mount --bind two /proc/sys/kernel/kptr_restrict; '
                                    'touch none; mount --bind none /proc/kallsyms')
        self.assertEqual(checks['kernel symbols']['state'], 'partly')
        self.assertEqual(checks['kernel symbols']['mend'], 'sudo sysctl kernel.kptr_restrict=1')

    def test_container(self):
        done = subprocess.run(['unshare', '-p', '-f', '--mount-proc', PROGRAM, 'check', '--json'],
                              capture_output=True, text=True, check=False)
        if 'unshare' in done.stderr:
            self.skipTest(done.stderr)
        checks = {check['name']: check for check in json.loads(done.stdout)['checks']}
        self.assertEqual(checks['container']['state'], 'partly')
        self.assertIn('--pid=host', checks['container']['mend'])

    def test_process(self):
        """The runtimes that are in it, not those of the machine."""
        with subprocess.Popen([WAITS, 'launch', '1000'], stdout=subprocess.PIPE) as process:
            self.addCleanup(process.kill)
            time.sleep(0.3)
            if process.poll() == 77:
                self.skipTest('no libOpenCL.so.1')
            checks = {check['name']: check for check in
                      json.loads(run('check', '--json', '-p', str(process.pid)).stdout)['checks']}
            process.kill()
        self.assertEqual(checks['process']['state'], 'yes')
        self.assertIn(f"{process.pid} 'waits'", checks['process']['found'])
        self.assertIn('libOpenCL.so', checks['OpenCL']['found'])
        self.assertIn(checks['OpenCL']['state'], ('yes', 'partly'))
        for name in ('CUDA', 'HIP', 'Level Zero'):
            self.assertEqual(checks[name]['found'], 'not in this process')

    def test_no_process(self):
        done = run('check', '-p', '999999')
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, 'accel-prof: no process 999999: No such process\n')
        self.assertEqual(run('check', '-p', 'x').returncode, 129)


if __name__ == '__main__':
    unittest.main()
