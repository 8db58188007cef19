# SPDX-License-Identifier: Apache-2.0
"""Mnemonics of SASS: NVIDIA's disassembler must say the same of every instruction.

Needs nvdisasm of CUDA 13, in $NVDISASM or $PATH; with ACCEL_PROF_TEST_FULL it is fetched from PyPI."""
import glob
import os
import re
import shutil
import subprocess
import tempfile
import unittest
import venv

import objects

ROW = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+((?:@!?U?P\w+\s+)?)([A-Z][A-Z0-9_]*)")
BANNER = re.compile(r"^\.text\.(\S+):")


def find(folder):
    here = os.environ.get("NVDISASM") or shutil.which("nvdisasm")
    if here or not os.environ.get("ACCEL_PROF_TEST_FULL"):
        return here
    venv.create(folder, with_pip=True)
    subprocess.run([os.path.join(folder, "bin/pip"), "install", "-q", "nvidia-cuda-nvdisasm"],
                   check=True)
    found = glob.glob(os.path.join(folder, "lib/**/nvdisasm"), recursive=True)
    os.chmod(found[0], 0o755)
    return found[0]


FOLDER = tempfile.TemporaryDirectory()
NVDISASM = find(FOLDER.name) or objects.skip("no nvdisasm")


def disassemble(path):
    """(section's function, address) -> (predicate, mnemonic)"""
    rows = {}
    name = None
    out = objects.run(NVDISASM, "-c", path, encoding="utf-8")
    for line in out.split("\n"):
        m = BANNER.match(line)
        if m:
            name = m[1]
        m = ROW.match(line)
        if m and name:
            rows[name, int(m[1], 16)] = m[2].strip(), m[3]
    return rows


class Nvdisasm(unittest.TestCase):
    def test_mnemonics(self):
        paths = objects.fixtures("*.cubin") + os.environ.get("CUBINS", "").split()
        count = unknown = 0
        for path in paths:
            theirs = disassemble(path)
            for o in objects.annotate(path):
                for f in o["functions"]:
                    if not f["is_kernel"]:
                        continue
                    for i in f["instructions"]:
                        want = theirs.get((f["name"], i["offset"] - f["offset"]))
                        if not want:
                            continue  # nvdisasm leaves out the padding
                        count += 1
                        if "text" not in i:
                            unknown += 1
                            print("unknown:", o["arch"], want)
                            continue
                        ours = i["text"].split()
                        self.assertEqual(ours[-1], want[1], (path, f["name"], i["offset"]))
                        if not want[0].startswith(("@UP", "@!UP")):
                            self.assertEqual(ours[:-1], want[0].split(), (path, i["offset"]))
        print("%d instructions, %d without a name" % (count, unknown))
        self.assertGreater(count, 1000)
        self.assertLess(unknown * 1000, count)


if __name__ == "__main__":
    unittest.main()
