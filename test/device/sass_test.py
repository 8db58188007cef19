# SPDX-License-Identifier: Apache-2.0
"""Disassemblers of NVIDIA's that are none."""
import os
import shutil
import subprocess
import tempfile
import unittest

import objects


CC = shutil.which("cc")
PROGRAM = r"""
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <unistd.h>
int main(void)
{
	setvbuf(stdout, NULL, _IOFBF, 4096);
	printf("/*0000*/ COULD");
	if (open("/proc/self/fd/4", O_RDONLY) >= 0)
		printf(" read");
	if (open("%s/made", O_WRONLY | O_CREAT, 0666) >= 0)
		printf(" write");
	if (socket(AF_INET, SOCK_STREAM, 0) >= 0)
		printf(" connect");
	if (kill(getppid(), 0) == 0)
		printf(" kill");
	if (fcntl(5, F_GETFD) >= 0)
		printf(" use descriptors");
	if (getauxval(AT_EUID) == 0)
		printf(" be root");
	printf(" ;\n");
	fflush(stdout);
	if (fork() >= 0)
		printf("/*0010*/ FORKED ;\n");
	return 0;
}
"""


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

    @unittest.skipUnless(CC, "no compiler")
    def test_without_rights(self):
        """One that tries what it may not, and says in the first instruction what of it went."""
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o777)
            program = os.path.join(folder, "nvdisasm")
            subprocess.run([CC, "-x", "c", "-o", program, "-"], input=PROGRAM % folder, text=True,
                           check=True)
            os.chmod(program, 0o755)
            found = objects.annotate(objects.fixture("tile-sm_75.cubin"),
                                     env={**os.environ, "NVDISASM": program})
            first = found[0]["functions"][0]["instructions"][0]
            self.assertEqual(first["text"], "COULD read")
            self.assertEqual(os.listdir(folder), ["nvdisasm"])


if __name__ == "__main__":
    unittest.main()
