# SPDX-License-Identifier: Apache-2.0
"""Every command has a manual page, which names the same long options as its --help."""
import os
import re
import shutil
import subprocess
import unittest

from command import SOURCE_DIR, commands, run


def page(name):
    return os.path.join(SOURCE_DIR, 'cmd', 'man', name + '.1')


def options_of_page(path):
    """The long options that head an item of a list: '.It Fl i , Fl -input Ns = ...'."""
    with open(path, encoding='utf-8') as file:
        items = re.findall(r'^\.It (Fl .*)$', file.read(), re.MULTILINE)
    return {option for item in items for option in re.findall(r'\bFl -([a-z0-9-]+)', item)}


def options_of_help(text):
    """The long options in argp's list: '  -i, --input=FILE           Read ...'."""
    lines = re.findall(r'^ {2,6}(-.*)$', text, re.MULTILINE)
    return {option for line in lines
            for option in re.findall(r'--([a-z0-9-]+)', re.split(r' {2,}', line)[0])}


class Manuals(unittest.TestCase):
    def test_options_agree(self):
        self.assertTrue(commands())
        for name in commands():
            with self.subTest(command=name):
                shown = options_of_help(run(name, '--help').stdout)
                self.assertLessEqual({'help', 'usage'}, shown)
                self.assertEqual(shown, options_of_page(page('accel-prof-' + name)))

    def test_no_page_without_command(self):
        pages = {name for name in os.listdir(os.path.join(SOURCE_DIR, 'cmd', 'man'))
                 if name.endswith('.1')}
        self.assertEqual(pages, {'accel-prof.1'} | {f'accel-prof-{c}.1' for c in commands()})

    @unittest.skipUnless(shutil.which('groff'), 'needs groff')
    def test_pages_are_well_formed(self):
        for name in ['accel-prof'] + ['accel-prof-' + c for c in commands()]:
            done = subprocess.run(['groff', '-ww', '-mandoc', '-Tutf8', '-z', page(name)],
                                  capture_output=True, text=True)
            self.assertEqual((name, done.returncode, done.stderr), (name, 0, ''))


if __name__ == '__main__':
    unittest.main()
