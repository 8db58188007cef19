# SPDX-License-Identifier: Apache-2.0
"""scripts/completion: each shell is offered the commands and options that --help lists."""
import functools
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from command import PROGRAM, SOURCE_DIR, commands, run
from man_test import options_of_help

FORMATS = {'folded', 'pprof', 'speedscope', 'chrome', 'hatchet', 'perf-script', 'csv', 'json'}
ASK = r'''
source "$1"
compopt() { :; }
COMP_WORDS=(accel-prof "${@:2}")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_accel_prof
printf '%s\n' "${COMPREPLY[@]}"
'''


@functools.lru_cache
def completion(shell):
    done = subprocess.run([os.path.join(SOURCE_DIR, 'scripts', 'completion'), PROGRAM, shell],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@functools.lru_cache
def all_options():
    return {name: options_of_help(run(name, '--help').stdout) for name in commands()}


class Completion(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, 'completion')
        self.options = all_options()

    def file(self, shell):
        with open(self.path, 'w', encoding='utf-8') as file:
            file.write(completion(shell))
        return self.path

    def ask(self, *words):
        done = subprocess.run(['bash', '-uc', ASK, 'bash', self.path, *words], capture_output=True,
                              text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        return set(done.stdout.split())

    @unittest.skipUnless(shutil.which('bash'), 'needs bash')
    def test_bash(self):
        self.file('bash')
        self.assertEqual(self.ask(''), set(commands()) | {'--help', '--version'})
        self.assertEqual(self.ask('exp'), {'export'})
        for name, options in self.options.items():
            offered = {word.strip('-=') for word in self.ask(name, '--')}
            self.assertEqual(offered, options, name)
        self.assertEqual(self.ask('export', '--form'), {'--format='})
        self.assertEqual(self.ask('export', 'file'), set())
        # bash takes "--format=x" apart.
        self.assertEqual(self.ask('export', '--format', '='), FORMATS)
        self.assertEqual(self.ask('export', '--format', '=', 'p'), {'pprof', 'perf-script'})
        self.assertEqual(self.ask('export', '--format', 'cs'), {'csv'})
        self.assertEqual(self.ask('record', '--control', '='), set()) # its quotes are of other words

    def test_fish(self):
        text = completion('fish')
        for name, options in self.options.items():
            found = set(re.findall(rf"__fish_seen_subcommand_from {name}' -l ([a-z0-9-]+)", text))
            self.assertEqual(found, options, name)

    @unittest.skipUnless(shutil.which('fish'), 'needs fish: scripts/setup full')
    def test_in_fish(self):
        self.file('fish')
        for line, offered in (('accel-prof ', set(commands())),
                              ('accel-prof merge --align=', {'--align=clock', '--align=start', '--align=auto'}),
                              ('accel-prof export --form', {'--format'}),
                              ('accel-prof export --format ', FORMATS)):
            done = subprocess.run(['fish', '-c', 'source $argv[1]; complete -C $argv[2]', self.path, line],
                                  capture_output=True, text=True, timeout=60, cwd=os.path.dirname(self.path),
                                  env=dict(os.environ, HOME=os.path.dirname(self.path)))
            found = {word.split('\t')[0] for word in done.stdout.splitlines()}
            self.assertEqual(found - {os.path.basename(self.path)}, offered, (line, done.stderr))

    def test_zsh(self):
        text = completion('zsh')
        for name, options in self.options.items():
            part = re.search(rf'^{name}\)\n(.*?);;', text, re.MULTILINE | re.DOTALL).group(1)
            self.assertEqual(set(re.findall(r"^\t\t'--([a-z0-9-]+)", part, re.MULTILINE)), options)

    def press(self, terminal, keys, words):
        """Type @keys and wait for all of @words on the screen, but not for ever."""
        os.write(terminal, keys.encode())
        text, deadline = '', time.monotonic() + 120
        while not all(word in text for word in words):
            self.assertLess(time.monotonic(), deadline, (keys, text))
            if select.select([terminal], [], [], 1)[0]:
                text += os.read(terminal, 65536).decode(errors='replace')

    @unittest.skipUnless(shutil.which('zsh'), 'needs zsh: scripts/setup full')
    def test_in_zsh(self):
        self.file('zsh')
        folder = os.path.dirname(self.path)
        os.rename(self.path, os.path.join(folder, '_accel-prof'))
        pid, terminal = pty.fork()
        if not pid:
            os.environ.update(HOME=folder, TERM='dumb', PS1='> ', LINES='100', COLUMNS='200')
            os.chdir(folder)
            os.execlp('zsh', 'zsh', '-f', '-i')
        try:
            self.press(terminal, 'fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -D; '
                                      'print rea""dy\r', ['ready'])
            self.press(terminal, 'accel-prof \t', commands())
            self.press(terminal, '\x15accel-prof export --format=\t', FORMATS)
            self.press(terminal, '\x15accel-prof diff --fa\t', ['--fail-on='])
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(terminal)


if __name__ == '__main__':
    unittest.main()
