# SPDX-License-Identifier: Apache-2.0
"""Disassemblers of NVIDIA's that are none."""
import os
import unittest

import objects


class Sass(unittest.TestCase):
    def test_hostile(self):
        """One that answers nonsense, too much, nothing or never: the mnemonics are there all the same."""
        path = objects.fixture("tile-sm_75.cubin")
        plain = objects.annotate(path, env={**os.environ, "NVDISASM": ""})
        for program in "/bin/false", "/usr/bin/yes", "/bin/true", "/nowhere", "/bin/cat":
            other = objects.annotate(path, env={**os.environ, "NVDISASM": program})
            self.assertEqual(other, plain, program)

    def test_script(self):
        """Only a program is run: what a script would start could be anything."""
        path = objects.fixture("tile-sm_75.cubin")
        plain = objects.annotate(path, env={**os.environ, "NVDISASM": ""})
        script = objects.fixture("make.sh")
        self.assertTrue(os.access(script, os.X_OK))
        self.assertEqual(objects.annotate(path, env={**os.environ, "NVDISASM": script}), plain)


if __name__ == "__main__":
    unittest.main()
