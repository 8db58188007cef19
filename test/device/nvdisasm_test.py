# SPDX-License-Identifier: Apache-2.0
"""Instructions of SASS: NVIDIA's disassembler must say the same of every one.

Needs nvdisasm of CUDA 13, in $NVDISASM or $PATH; with ACCEL_PROF_TEST_FULL it is fetched from PyPI."""
import glob
import os
import re
import shutil
import tempfile
import unittest

import objects

ROW = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+((?:@!?U?P\w+\s+)?)([A-Z][A-Z0-9_]*)([^;]*)")
BANNER = re.compile(r"^\.text\.(\S+):")


def find():
    here = os.environ.get("NVDISASM") or shutil.which("nvdisasm")
    if here or not objects.is_full():
        return here
    folder = objects.venv("nvdisasm", "nvidia-cuda-nvdisasm")
    found = glob.glob(os.path.join(folder, "lib/**/nvdisasm"), recursive=True)
    os.chmod(found[0], 0o755)
    return found[0]


NVDISASM = find() or objects.skip("no nvdisasm")


def disassemble(path):
    """(section's function, address) -> (predicate, mnemonic, operands)"""
    rows = {}
    name = None
    out = objects.run(NVDISASM, "-c", path, encoding="utf-8")
    for line in out.split("\n"):
        m = BANNER.match(line)
        if m:
            name = m[1]
        m = ROW.match(line)
        if m and name:
            rows[name, int(m[1], 16)] = m[2].strip(), m[3], " ".join(m[4].split())
    return rows


def same_operands(ours, theirs):
    """But for what nvdisasm writes as a label, or as a symbol that the loader fills in."""
    ours, theirs = ours.split(", "), theirs.split(", ")
    return len(ours) == len(theirs) and all(
        a == b or "`" in b or re.search(r"\d+@|fun_|\(\*", b) for a, b in zip(ours, theirs))


class Nvdisasm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.paths = objects.fixtures("*.cubin") + os.environ.get("CUBINS", "").split()
        if objects.is_full():
            cls.paths += objects.triton_cubins(cls.folder.name)

    def rows(self, nvdisasm):
        """What annotate says of each instruction with this $NVDISASM, and what nvdisasm does."""
        for path in self.paths:
            theirs = disassemble(path)
            for o in objects.annotate(path, env={**os.environ, "NVDISASM": nvdisasm}):
                kernels = {f["name"]: f["offset"] for f in o["functions"] if f["is_kernel"]}
                for f in o["functions"]:
                    if f["kernel"] not in kernels:
                        continue
                    for i in f["instructions"]:
                        want = theirs.get((f["kernel"], i["offset"] - kernels[f["kernel"]]))
                        if want:  # nvdisasm leaves out the padding
                            yield (path, o["arch"], f["name"], hex(i["offset"])), i, want

    def test_mnemonics(self):
        """Our own table."""
        count = unknown = 0
        for where, i, want in self.rows(""):
            count += 1
            if "text" not in i:
                unknown += 1
                print("unknown:", where[1], want)
                continue
            ours = i["text"].split()
            self.assertEqual(ours[-1], want[1], where)
            if not want[0].startswith(("@UP", "@!UP")):
                self.assertEqual(ours[:-1], want[0].split(), where)
        print("%d instructions, %d without a name" % (count, unknown))
        self.assertGreater(count, 1000)
        self.assertLess(unknown * 1000, count)

    def test_operands(self):
        """Its own words, by way of the child process that it runs in."""
        count = 0
        for where, i, want in self.rows(NVDISASM):
            ours = re.match(r"(@\S+ )?([A-Z][A-Z0-9_]*)(.*)", i["text"])
            self.assertEqual(((ours[1] or "").strip(), ours[2]), want[:2], where)
            self.assertTrue(same_operands(ours[3].strip(), want[2]), (where, ours[3], want[2]))
            count += 1
        self.assertGreater(count, 1000)

    def test_targets(self):
        """By hand, from `nvdisasm -c`: a loop's end, and a call of a function in the same section."""
        path = objects.fixture("tile-sm_90.cubin")
        text = {i["offset"] - f["offset"]: i["text"]
                for o in objects.annotate(path, env={**os.environ, "NVDISASM": NVDISASM})
                for f in o["functions"] if f["name"].startswith("_Z12tile_product")
                for i in f["instructions"]}
        self.assertEqual(text[0x610], "@!P0 BRA 0x220")
        self.assertEqual(text[0x650], "CALL.REL.NOINC _Z9slow_rootf")


if __name__ == "__main__":
    unittest.main()
