# SPDX-License-Identifier: Apache-2.0
"""scripts/completion: each shell is offered the commands and options that --help lists."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from command import PROGRAM, SOURCE_DIR, commands, run
from man_test import options_of_help

ASK = r'''
source "$1"
compopt() { :; }
COMP_WORDS=(accel-prof "${@:2}")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_accel_prof
printf '%s\n' "${COMPREPLY[@]}"
'''


def completion(shell):
    done = subprocess.run([os.path.join(SOURCE_DIR, 'scripts', 'completion'), PROGRAM, shell],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Completion(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, 'completion')
        self.options = {name: options_of_help(run(name, '--help').stdout) for name in commands()}

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

    def test_fish(self):
        text = completion('fish')
        for name, options in self.options.items():
            found = set(re.findall(rf"__fish_seen_subcommand_from {name}' -l ([a-z0-9-]+)", text))
            self.assertEqual(found, options, name)
        if shutil.which('fish'):
            subprocess.run(['fish', '--no-execute', self.file('fish')], check=True)

    def test_zsh(self):
        text = completion('zsh')
        for name, options in self.options.items():
            part = re.search(rf'^{name}\)\n(.*?);;', text, re.MULTILINE | re.DOTALL).group(1)
            self.assertEqual(set(re.findall(r"^\t\t'--([a-z0-9-]+)", part, re.MULTILINE)), options)
        if shutil.which('zsh'):
            subprocess.run(['zsh', '-n', self.file('zsh')], check=True)


if __name__ == '__main__':
    unittest.main()
