# SPDX-License-Identifier: Apache-2.0
"""What the registers of AMD's kernels let run, and what was spilled: clang writes it when it compiles."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import objects

CPUS = ["gfx900", "gfx90a", "gfx1010", "gfx1030"]
# What clang 15 knows of these is not yet so.
NEW_CPUS = ["gfx942", "gfx1100", "gfx1151", "gfx1200"]
if objects.is_full():
    CPUS += ["gfx803", "gfx906", "gfx908", "gfx1102", "gfx1103"]
    NEW_CPUS += ["gfx1101", "gfx1150", "gfx1201"]
REGISTERS = 15, 24, 40, 63, 64, 71, 84, 95, 103, 127, 128, 167, 191, 254

SOURCE = "".join('__kernel void k%d(__global int *x) { __asm__ volatile("" ::: "v%d"); x[0] = 1; }\n'
                 % (n, n) for n in REGISTERS)
# More values than registers, all alive at once.
SPILLS = """__attribute__((amdgpu_waves_per_eu(10, 10))) __kernel void spills(__global float *x)
{
	float v[64];
#pragma unroll
	for (int i = 0; i < 64; i++) {
		v[i] = x[i * 64];
		__asm__ volatile("" : "+v"(v[i]));
	}
#pragma unroll
	for (int i = 0; i < 64; i++)
		x[i] = v[63 - i];
}
"""


def compile_to(clang, cpu, source, out, *options):
    done = subprocess.run([clang, "-target", "amdgcn-amd-amdhsa", "-mcpu=" + cpu, "-x", "cl",
                           "-nogpulib", "-O2", *options, "-o", out, "-"], input=source, text=True,
                          stderr=subprocess.DEVNULL, check=False)
    return done.returncode == 0


def can_link(clang):
    return shutil.which(clang) and compile_to(clang, "gfx900", "__kernel void k() {}", "/dev/null")


CLANGS = [c for c in ("clang-15", "clang-19") if can_link(c)] or objects.skip("no clang, or no lld")


class Amd(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.assembly = os.path.join(self.folder.name, "a.s")
        self.object = os.path.join(self.folder.name, "a.co")

    def compare(self, clang, cpu, *options):
        if not compile_to(clang, cpu, SOURCE, self.assembly, "-S", *options):
            return 0
        self.assertTrue(compile_to(clang, cpu, SOURCE, self.object, *options))
        with open(self.assembly, encoding="utf-8") as file:
            text = file.read()
        theirs = dict(zip(re.findall(r"^(k\d+):", text, re.M),
                          map(int, re.findall(r"^; Occupancy: (\d+)", text, re.M))))
        ours = {f["name"]: f["occupancy"]["possible"] for o in objects.annotate(self.object)
                for f in o["functions"] if f["is_kernel"]}
        self.assertEqual(len(ours), len(REGISTERS))
        self.assertEqual(ours, theirs, (clang, cpu, options))
        return 1

    def test_occupancy(self):
        count = 0
        for cpu in CPUS:
            count += self.compare(CLANGS[-1], cpu)
            if cpu.startswith("gfx1"):
                count += self.compare(CLANGS[-1], cpu, "-mwavefrontsize64")
        self.assertGreater(count, 4)

    @unittest.skipUnless("clang-19" in CLANGS, "no clang-19")
    def test_new_occupancy(self):
        for cpu in NEW_CPUS:
            self.assertTrue(self.compare("clang-19", cpu), cpu)
            if cpu.startswith("gfx1"):
                self.assertTrue(self.compare("clang-19", cpu, "-mwavefrontsize64"), cpu)

    def test_spills(self):
        clang = CLANGS[0]
        self.assertTrue(compile_to(clang, "gfx900", SPILLS, self.assembly, "-S"))
        self.assertTrue(compile_to(clang, "gfx900", SPILLS, self.object))
        with open(self.assembly, encoding="utf-8") as file:
            theirs = int(re.search(r"\.vgpr_spill_count: (\d+)", file.read())[1])
        f, = (f for o in objects.annotate(self.object) for f in o["functions"] if f["is_kernel"])
        self.assertGreater(theirs, 0)
        self.assertEqual(f["spill_bytes"], 4 * theirs)


if __name__ == "__main__":
    unittest.main()
