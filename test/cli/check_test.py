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

    def nvidia(self, params='RmProfilingAdminOnly: 1', more='', prefix=''):
        """Where NVIDIA's driver is, as far as its files say."""
        version = 'NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  560.35.03  Release Build'
        return self.with_files(
            'mount -t tmpfs none /proc/driver; mkdir -p /proc/driver/nvidia/gpus/0000:01:00.0; '
            f'echo "{version}" > /proc/driver/nvidia/version; '
            f'printf "ModifyDeviceFiles: 1\\n{params}\\n" > /proc/driver/nvidia/params; '
            'mkdir dev; cp -a /dev/null /dev/zero /dev/urandom dev; touch dev/nvidiactl; '
            f'{more or ":"}; mount --bind dev /dev; {prefix or ":"}')[1]

    def test_nvidia(self):
        checks = self.nvidia()
        self.assertEqual(checks['NVIDIA GPU']['state'], 'yes')
        self.assertEqual(checks['NVIDIA GPU']['found'], 'driver 560.35.03, 1 GPU')
        self.assertEqual(checks['NVIDIA samples']['state'], 'yes') # of root's programs
        self.assertIn('is 1', checks['NVIDIA samples']['found'])
        self.assertEqual(checks['NVIDIA tools']['state'], 'none')
        self.assertIn('every', self.nvidia('RmProfilingAdminOnly: 0')['NVIDIA samples']['found'])
        self.assertIn('not told', self.nvidia('Other: 0')['NVIDIA samples']['found'])

    def test_nvidia_divided(self):
        checks = self.nvidia(more='mkdir -p /proc/driver/nvidia/capabilities/gpu0/mig/gi1 '
                                  '/proc/driver/nvidia/capabilities/gpu0/mig/gi2')
        self.assertEqual(checks['NVIDIA GPU']['state'], 'partly')
        self.assertIn('into 2 by MIG', checks['NVIDIA GPU']['found'])
        self.assertIn('nvidia-smi -mig 0', checks['NVIDIA GPU']['mend'])

    def test_nvidia_container(self):
        """The driver's files are there, and no device."""
        checks = self.nvidia(more='rm dev/nvidiactl')
        self.assertEqual(checks['NVIDIA GPU']['state'], 'partly')
        self.assertIn('--gpus', checks['NVIDIA GPU']['mend'])

    def test_nvidia_tools(self):
        """Others that count what the GPU does."""
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        engine = shutil.copy(shutil.which('sleep'), os.path.join(folder, 'nv-hostengine'))
        process = subprocess.Popen([engine, '100'])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        checks = self.nvidia()
        self.assertEqual(checks['NVIDIA tools']['state'], 'partly')
        self.assertIn("'nv-hostengine' runs", checks['NVIDIA tools']['found'])
        self.assertIn('dcgmi profile --pause', checks['NVIDIA tools']['mend'])

    def test_nvidia_not_root(self):
        """Times need no permission; what mends the rest is said."""
        checks = self.nvidia(prefix='set -- ' + ' '.join(NOBODY) + ' "$@"')
        self.assertEqual(checks['NVIDIA samples']['state'], 'partly')
        self.assertIn('times need nothing', checks['NVIDIA samples']['found'])
        self.assertIn('NVreg_RestrictProfilingToAdminUsers=0', checks['NVIDIA samples']['mend'])

    def test_other_tool(self):
        """One whose library CUDA loads, here and in a process."""
        fake = os.path.join(os.environ['WORKLOAD_DIR'], '../fake')
        other = {**os.environ, 'LD_LIBRARY_PATH': fake, 'CUDA_INJECTION64_PATH': '/opt/other.so'}
        cuda = os.path.join(os.environ['WORKLOAD_DIR'], 'cuda_calls')
        cubin = os.path.join(os.environ['SOURCE_DIR'], 'test/device/fixture/tile-sm_90.cubin')
        with subprocess.Popen([cuda, 'driver', '1', cubin, 'wait'], env=other, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            process.stdout.readline()
            report = json.loads(run('check', '--json', '-p', str(process.pid)).stdout)
            process.kill()
        check, = [check for check in report['checks'] if check['name'] == 'CUDA']
        self.assertEqual(check['state'], 'partly')
        self.assertIn('/opt/other.so', check['found'])
        self.assertIn('CUDA_INJECTION64_PATH', check['mend'])

    def test_container(self):
        done = subprocess.run(['unshare', '-p', '-f', '--mount-proc', PROGRAM, 'check', '--json'],
                              capture_output=True, text=True, check=False)
        if 'unshare' in done.stderr:
            self.skipTest(done.stderr)
        checks = {check['name']: check for check in json.loads(done.stdout)['checks']}
        self.assertEqual(checks['container']['state'], 'partly')
        self.assertIn('--pid=host', checks['container']['mend'])

    def test_no_sys(self):
        """A container without /sys: the mend is to mount it, and recording works as far as is said."""
        script = ('mount -t tmpfs none /sys && "$@" check --json && '
                  '"$@" record -o - -- true | "$@" report -i - >/dev/null')
        done = subprocess.run(['unshare', '-m', 'bash', '-c', f'set -o pipefail; {script}', 'bash', PROGRAM],
                              capture_output=True, text=True, check=False)
        if re.match('unshare:|mount:', done.stderr):
            self.skipTest(done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout)
        checks = {check['name']: check for check in told['checks']}
        for name in ('BTF', 'BPF programs', 'uprobes'):
            self.assertEqual((checks[name]['mend'], checks[name]['who']),
                             ('mount -t sysfs sysfs /sys', 'root'), name)
        self.assertEqual(told['engine'], 'perf')

    def test_others_process(self):
        """No is no: a process that may not be recorded, although others may."""
        done = self.as_nobody('check', '-p', '1')
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout.splitlines()[-1], 'recording this process does not work')
        self.assertEqual(self.as_nobody('record', '-q', '-o', '-', '-p', '1', '--duration', '0.1').returncode,
                         1)

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
