# SPDX-License-Identifier: Apache-2.0
"""Instructions of AMD's and POCL's objects: llvm-objdump must see the same, at the same places."""
import re
import tempfile
import unittest

import objects

OBJDUMP = objects.need("llvm-objdump-19", "llvm-objdump-15", "llvm-objdump-14", "llvm-objdump")
ROW = re.compile(r"^\s*([0-9a-f]+):\s+(\S.*?)\s*(?:(?://|#).*)?$")
AMD_ROW = re.compile(r"^\s+(\S.*?)\s*// ([0-9A-F]+):.*?((?:<.*>)?)$")
TARGET = re.compile(r"<(.*?)(?:\+(0x[0-9a-f]+))?>")


def words(text):
    """Without what differs in writing: blanks, targets of branches, and no offset at all, which is
    "0x0" up to LLVM 14 and "null" from 15 on: objdump's version need not be the library's."""
    return re.sub(r", null$", ", 0x0", re.sub(r"\s+", " ", text.strip()))


def disassemble(path, *options):
    if OBJDUMP.endswith("-19"):
        options += "--no-print-imm-hex",
    out = objects.run(OBJDUMP, "-d", "--no-show-raw-insn", *options, path, encoding="utf-8")
    rows = {}
    for line in out.split("\n"):
        m = AMD_ROW.match(line)
        if m:
            rows[int(m[2], 16)] = words(m[1]) + m[3]
            continue
        m = ROW.match(line)
        if m and not line.endswith(">:"):
            rows[int(m[1], 16)] = words(m[2])
    return rows


class Text(unittest.TestCase):
    def compare(self, path, *options):
        theirs = disassemble(path, *options)
        count = branches = 0
        for o, f, i in objects.instructions(objects.annotate(path)):
            want = theirs[i["offset"]]
            self.assertIn("text", i, hex(i["offset"]))
            ours = words(i["text"])
            # Branches: "jne 0x1bd0 <kernel+0x9c0>", or "s_branch 1<kernel+0x16c>".
            target = TARGET.search(want)
            if target and re.match(r"s_cbranch|s_branch|j|call", want):
                where = target[2] or "0x0"
                self.assertEqual(ours.split()[0], want.split()[0])
                self.assertIn(ours.split()[-1], (where, f["name"] + "+" + where, target[1]))
                branches += 1
                continue
            if "rip" in want or "<" in want:
                ours, want = ours.split()[0], want.split()[0]
            self.assertEqual(ours, want, hex(i["offset"]))
            count += 1
        self.assertGreater(branches, 0)
        return count

    def test_amd(self):
        self.assertGreater(self.compare(objects.fixture("amd-gfx90a.co")), 80)
        self.assertGreater(self.compare(objects.fixture("amd-gfx1030.co")), 80)

    @unittest.skipUnless(OBJDUMP.endswith("-19"), "no llvm-19")
    def test_new_amd(self):
        with tempfile.TemporaryDirectory() as folder:
            for path in objects.amd_objects(folder):
                self.assertGreater(self.compare(path), 50)

    def test_pocl(self):
        self.assertGreater(self.compare(objects.fixture("pocl-lines.so")), 1000)


if __name__ == "__main__":
    unittest.main()
