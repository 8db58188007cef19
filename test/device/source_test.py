# SPDX-License-Identifier: Apache-2.0
"""Which source texts are shown: those that are known to be what was compiled, or that lie where the user says."""
import os
import shutil
import subprocess
import tempfile
import unittest

import objects

CLANG = objects.need("clang-14", "clang-15", "clang")
SOURCE = """/* named as POCL names its functions, so that it is accelerator code */
void _pocl_kernel_k_workgroup(float *x)
{
	x[0] = x[1] * 2.0f; /* the line */
}
"""
SHOWN = "/* the line */"


class Source(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.realpath(folder.name)
        self.source = os.path.join(self.folder, "k.c")
        self.object = os.path.join(self.folder, "k.so")

    def write(self, text):
        with open(self.source, "w", encoding="utf-8") as file:
            file.write(text)

    def compile(self, *options):
        self.write(SOURCE)
        subprocess.run([CLANG, "-O1", "-g", *options, "-fPIC", "-shared", "-nostdlib", "-o",
                        self.object, self.source], check=True)

    def show(self, path=None, *options):
        return objects.run(objects.ACCEL_PROF, "annotate", "--object", path or self.object,
                           "--source", *options, encoding="utf-8", timeout=60)

    def test_checksum(self):
        """DWARF 5: the file is shown where it lies if it is the one, and not otherwise."""
        self.compile("-gdwarf-5")
        self.assertIn(SHOWN, self.show())
        self.write("// other\n" + SOURCE)
        text = self.show()
        self.assertNotIn(SHOWN, text)
        self.assertIn("not the one that was compiled", text)
        text = self.show(None, "--source-path", self.folder)
        self.assertIn(SHOWN, text)
        self.assertIn("differs from the one that was compiled", text)
        self.write(SOURCE)
        self.assertNotIn("differs", self.show(None, "--source-path", self.folder))

    def test_no_checksum(self):
        """DWARF 4 does not say: only --source-path opens it, and nobody can tell whether it is the one."""
        self.compile("-gdwarf-4")
        text = self.show()
        self.assertNotIn(SHOWN, text)
        self.assertIn("--source-path", text)
        text = self.show(None, "--source-path", self.folder)
        self.assertIn(SHOWN, text)
        self.assertNotIn("differs", text)

    def test_embedded(self):
        self.compile("-gdwarf-5", "-gembed-source")
        os.unlink(self.source)
        text = self.show()
        self.assertIn(SHOWN, text)
        self.assertNotIn("differs", text)

    def test_no_file(self):
        """What is there is no file: it is not waited for, and not read."""
        self.compile("-gdwarf-5")
        os.unlink(self.source)
        os.mkfifo(self.source)
        self.assertIn("--source-path", self.show())
        os.unlink(self.source)
        os.mkdir(self.source)
        self.assertIn("--source-path", self.show())

    def test_amd(self):
        """clang's checksum of fixture/tile.cl, which make.sh compiled under another name."""
        path = objects.fixture("amd-gfx90a.co")
        text = self.show(path, "--source-path", objects.FIXTURES)
        self.assertIn("sum += dot_row(left, right, y, x);", text)
        self.assertNotIn("differs", text)
        with open(objects.fixture("tile.cl"), encoding="utf-8") as file:
            changed = file.read().replace("4", "5")
        with open(os.path.join(self.folder, "tile.cl"), "w", encoding="utf-8") as file:
            file.write(changed)
        self.assertIn("differs", self.show(path, "--source-path", self.folder))

    def test_nvidia(self):
        """NVIDIA's compiler writes the size."""
        path = objects.fixture("tile-sm_90.cubin")
        self.assertNotIn("differs", self.show(path, "--source-path", objects.FIXTURES))
        shutil.copy(objects.fixture("tile.cu"), self.folder)
        with open(os.path.join(self.folder, "tile.cu"), "a", encoding="utf-8") as file:
            file.write("\n")
        self.assertIn("differs", self.show(path, "--source-path", self.folder))


if __name__ == "__main__":
    unittest.main()
