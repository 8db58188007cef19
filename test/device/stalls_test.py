# SPDX-License-Identifier: Apache-2.0
"""Device samples with their reasons, in captures that stalls.c writes: annotate, the report and the picture must say
the same of them."""
import json
import os
import re
import shutil
import tempfile
import unittest

import objects

STALLS = os.environ["STALLS"]
IGA = shutil.which("iga64")

# Offsets in smooth() of nested-pvc.zebin: 0x198 is of line 5 and waits for $1, which 0x110 takes; 0x1a8 of line 12.
INTEL = [(0x198, "sbid", 78), (0x198, "active", 2), (0x1a8, "dist_acc", 10), (0x120, "send", 5),
         (0xa8, "sbid", 5)]
# Offsets in reduce() of nested-sm_120.cubin.
NVIDIA = [(0x40, "smsp__pcsamp_warps_issue_stalled_long_scoreboard", 60),
          (0x40, "smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued", 20),
          (0x50, "smsp__pcsamp_warps_issue_stalled_selected", 20)]


class Stalls(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.capture = os.path.join(folder.name, "capture")

    def write(self, kind, name, kernel, samples):
        objects.run(STALLS, self.capture, kind, objects.fixture(name), kernel,
                    *(str(x) for s in samples for x in s))

    def ask(self, command, *options):
        return objects.run(objects.ACCEL_PROF, command, "-i", self.capture, *options,
                           encoding="utf-8")

    def told(self):
        """(offset, reason) -> samples, by annotate's JSON."""
        found = {}
        for f in json.loads(self.ask("annotate", "--json"))["functions"]:
            for i in f["instructions"]:
                for reason, count in i["stalls"].items():
                    found[i["offset"] - f["offset"], reason] = count
        return found

    def test_intel(self):
        self.write("zebin", "nested-pvc.zebin", "smooth", INTEL)
        self.assertEqual(self.told(), {(o, r): c for o, r, c in INTEL})
        text = self.ask("annotate", "--source-path", objects.FIXTURES)
        # Lines, as zebin_test.py has them of their instructions.
        self.assertRegex(text, r"(?m)^ 80\.00 +80  > +5 .*return a \* b")
        self.assertRegex(text, r"(?m)^ 15\.00 +15  > +12 .*sum \+= scaled")
        self.assertRegex(text, r"(?m)^ 80\.00 +80  > +198:.*\[sbid 98%, active 2%")
        self.assertRegex(text, r"(?m)^ 83\.00 +83  sbid: waits for .*load earlier")
        if IGA:
            self.assertIn("; waits for 110 load.ugm", text)
            # Nobody waits for another instruction but by a scoreboard.
            self.assertNotRegex(text, r"(?m)^.* 1a8:.*waits for")

    def test_nvidia(self):
        self.write("cubin", "nested-sm_120.cubin", "_Z6reducePKfPf", NVIDIA)
        self.assertEqual(self.told(), {(o, r): c for o, r, c in NVIDIA})
        text = self.ask("annotate", "--stalls")
        self.assertEqual(len(re.findall(r"waits for global, local or texture memory", text)), 2)
        self.assertRegex(text, r"selected: issued: no stall")

    def test_one_answer(self):
        """The report's views and the picture name the same places."""
        self.write("zebin", "nested-pvc.zebin", "smooth", INTEL)
        stalls = json.loads(self.ask("report", "--view", "stalls", "--json"))["stalls"]
        self.assertEqual({(s["reason"], s["samples"]) for s in stalls},
                         {("sbid", 83), ("dist_acc", 10), ("send", 5), ("active", 2)})
        lines = json.loads(self.ask("report", "--view", "lines", "--json"))["lines"]
        self.assertEqual({l["line"]: l["samples"] for l in lines},
                         {"nested.cl:5": 80, "nested.cl:12": 15, "nested.cl:27": 5})
        folded = self.ask("flamegraph", "--format", "folded", "--metric", "device-samples")
        told = {}
        for line in folded.splitlines():
            path, count = line.rsplit(" ", 1)
            place = re.search(r"(0x[0-9a-f]+)(: .*)?_\[g\];(\w+)_\[g\]$", path)
            told[int(place[1], 16), place[3]] = int(count)
        self.assertEqual(told, self.told())
        instructions = json.loads(self.ask("report", "--view", "instructions", "--json"))
        texts = {i["offset"]: i["text"] for f in json.loads(self.ask("annotate", "--json"))["functions"]
                 for i in f["instructions"] if i["samples"] and "text" in i}
        for row in instructions["instructions"]:
            self.assertTrue(not texts or row["instruction"].endswith(tuple(texts.values())), row)


if __name__ == "__main__":
    unittest.main()
