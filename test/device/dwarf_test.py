# SPDX-License-Identifier: Apache-2.0
"""Lines and inlined calls of every instruction: llvm-symbolizer must say the same."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import objects

SYMBOLIZER = objects.need("llvm-symbolizer-19", "llvm-symbolizer-15", "llvm-symbolizer-14", "llvm-symbolizer")

DWARFDUMP = shutil.which("llvm-dwarfdump-15") or shutil.which("llvm-dwarfdump-14")


def symbolize(path, offsets):
    """For each offset the chain, outermost first, of (function, file, line)."""
    text = "".join("0x%x\n" % o for o in offsets)
    out = subprocess.run([SYMBOLIZER, "--obj=" + path, "--inlines", "--no-demangle",
                          "--functions=linkage"], input=text, stdout=subprocess.PIPE,
                         check=True, text=True).stdout
    for block in out.split("\n\n")[:len(offsets)]:
        lines = block.strip().split("\n")
        chain = []
        for name, place in zip(lines[::2], lines[1::2]):
            file, line, _ = place.rsplit(":", 2)
            # POCL compiles from a copy with a name of no use to anyone.
            file = re.sub(r"^tempfile_\w+\.cl$", "program.cl", os.path.basename(file))
            chain.insert(0, (name, file, int(line)))
        yield chain


class Dwarf(unittest.TestCase):
    def compare(self, path, least):
        found = [(f, i) for _, f, i in objects.instructions(objects.annotate(path))]
        # A stretch that is not an instruction would make the comparison meaningless.
        self.assertTrue(all(i["length"] for _, i in found))
        self.assertGreaterEqual(len(found), least)
        inlined = 0
        for (f, i), theirs in zip(found, symbolize(path, [i["offset"] for _, i in found])):
            ours = [(l["function"], os.path.basename(l["file"]), l["line"]) for l in i["lines"]]
            if theirs[-1][1] == "??" or (theirs[-1][2] == 0 and not ours):
                self.assertFalse(ours, hex(i["offset"]))
                continue
            # POCL's wrappers around the kernel are not shown.
            while len(theirs) > 1 and theirs[1][0].startswith("_pocl_kernel_"):
                theirs.pop(0)
            names = [t[0] for t in theirs]
            names[0] = f["name"] if names[0].startswith("_pocl_kernel_") else names[0]
            self.assertEqual([o[0] for o in ours], names, hex(i["offset"]))
            for o, t in zip(ours, theirs):
                if t[2]:  # where they say 0 ours is the last line before
                    self.assertEqual(o[1:], t[1:], hex(i["offset"]))
            inlined += len(ours) > 1
        return inlined

    def test_amd(self):
        for name in "amd-gfx90a.co", "amd-gfx1030.co":
            self.assertGreater(self.compare(objects.fixture(name), 80), 5)

    @unittest.skipUnless(DWARFDUMP, "no llvm-dwarfdump")
    def test_rows(self):
        """AMD's line table, row by row."""
        for name in "amd-gfx90a.co", "amd-gfx1030.co":
            path = objects.fixture(name)
            text = objects.run(DWARFDUMP, "--debug-line", path, encoding="utf-8")
            rows = [(int(m[1], 16), int(m[2]), int(m[3]), "end_sequence" in m[4]) for m in
                    re.finditer(r"^(0x[0-9a-f]{16}) +(\d+) +(\d+) +\d+ +\d+ +\d+ +(.*)$", text, re.M)]
            self.assertGreater(len(rows), 30)
            compared = 0
            for _, _, i in objects.instructions(objects.annotate(path)):
                # Of several rows at one address the last one counts.
                at = [r for r in rows if r[0] <= i["offset"]][-1]
                if at[1] and not at[3]:
                    last = i["lines"][-1]
                    self.assertEqual((last["line"], last["column"]), at[1:3], hex(i["offset"]))
                    compared += 1
            self.assertGreater(compared, 50)

    @unittest.skipUnless(SYMBOLIZER.endswith("-19"), "no llvm-19")
    def test_new_amd(self):
        with tempfile.TemporaryDirectory() as folder:
            for path in objects.amd_objects(folder):
                self.assertGreater(self.compare(path, 50), 5)

    def test_pocl(self):
        self.compare(objects.fixture("pocl-debug.so"), 100)
        self.assertGreater(self.compare(objects.fixture("pocl-lines.so"), 1000), 5)


if __name__ == "__main__":
    unittest.main()
