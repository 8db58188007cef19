# SPDX-License-Identifier: Apache-2.0
"""EU stalls of an Intel GPU down to source lines: the code and its addresses are the driver's own, made of the demo's
three multiplications; the stalls are replayed, and must come out as they went in."""
import json
import os
import re
import subprocess
import tempfile
import unittest

import objects

REPLAY = os.environ["XE_REPLAY"]
CAPTURE = os.environ["XE_CAPTURE"]
OBJECT = objects.fixture("mm-pvc-linked.zebin")

# Of 100,000 samples: which kernel has how many, and how many of these are "sbid".
SAMPLES = {"mm_basic": (72000, 60000), "mm_local": (21000, 15400), "mm_tiled": (6000, 3000)}
UNKNOWN = 1000


class Xe(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kernels = {f["name"]: f for o in objects.annotate(OBJECT) for f in o["functions"]}

    def counts(self):
        """(address, reason) -> samples: spread over each kernel's instructions."""
        counts = {}
        for name, (all_samples, sbid) in SAMPLES.items():
            places = [i["offset"] for i in self.kernels[name]["instructions"]][5::7]
            for n in range(all_samples // 100):
                reason = "sbid" if n < sbid // 100 else ("send", "dist_acc", "active")[n % 3]
                at = places[n * n % len(places)], reason
                counts[at] = counts.get(at, 0) + 100
        counts[0x8000deadbee8, "sync"] = UNKNOWN
        return counts

    def record(self, layout, folder, counts, rate, twice=()):
        path = os.path.join(folder, layout)
        text = "".join("%x %s %d\n" % (address, reason, count)
                       for (address, reason), count in counts.items())
        replay = subprocess.Popen([REPLAY, layout, str(rate), "1000"], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE)
        command = [CAPTURE, layout, path, OBJECT]
        for name in SAMPLES:
            f = self.kernels[name]
            command += [name + "+" * (name in twice), "%x" % f["offset"], str(f["size"])]
        capture = subprocess.Popen(command, stdin=replay.stdout, stdout=subprocess.PIPE, text=True)
        replay.stdout.close()
        replay.stdin.write(text.encode())
        replay.stdin.close()
        said = capture.communicate(timeout=120)[0]
        self.assertEqual((replay.wait(), capture.returncode), (0, 0))
        self.assertEqual(said, "99000 placed, 1000 unknown, 0 of several\n")
        return path

    def check(self, path, counts):
        folded = objects.run(objects.ACCEL_PROF, "flamegraph", "-i", path, "--format", "folded",
                             "--metric", "device-samples", encoding="utf-8")
        by_kernel = {}
        reasons = {}
        places = {}
        for line in folded.splitlines():
            frames, count = line.rsplit(" ", 1)
            frames = frames.split(";")
            count = int(count)
            name = frames[frames.index("-") + 1].replace("_[G]", "")
            by_kernel[name] = by_kernel.get(name, 0) + count
            reason = frames[-1].replace("_[g]", "")
            reasons[reason] = reasons.get(reason, 0) + count
            if name in SAMPLES:
                # Under the function that launched it, at a line, with the text of the instruction.
                self.assertIn("launch_" + name, frames)
                self.assertTrue(any(re.match(r"mm\.cl:\d+_\[G\]", f) for f in frames), line)
                offset = int(re.match(r"0x([0-9a-f]+)", frames[-2])[1], 16)
                places[self.kernels[name]["offset"] + offset, reason] = count
        self.assertEqual({n: by_kernel[n] for n in SAMPLES}, {n: s[0] for n, s in SAMPLES.items()})
        self.assertEqual(by_kernel["[unknown GPU code at 0x%x]" % (0xdeadbee8 & ~0xffff)], UNKNOWN)
        self.assertEqual(reasons["sbid"], 78400)
        self.assertEqual(places, {k: v for k, v in counts.items() if k[0] != 0x8000deadbee8})

    def test_picture(self):
        counts = self.counts()
        with tempfile.TemporaryDirectory() as folder:
            for layout in "pvc", "xe2":
                self.check(self.record(layout, folder, counts, 0), counts)
            path = self.record("pvc", folder, counts, 2000)
            told = json.loads(objects.run(objects.ACCEL_PROF, "annotate", "-i", path, "--json"))
            self.assertEqual((told["kernel"], told["kernel_samples"], told["all_samples"]),
                             ("mm_basic", 72000, 100000))
            source = objects.run(objects.ACCEL_PROF, "annotate", "-i", path, "--source",
                                 "--source-path", os.path.join(objects.FIXTURES, "../../workload"),
                                 encoding="utf-8")
            self.assertRegex(source, r"(?m)^ *\d+\.\d\d +\d+  > +\d+ .*sum \+= ")

    def test_overlap(self):
        """Two launches of a kernel that run side by side share what is sampled then, by time."""
        with tempfile.TemporaryDirectory() as folder:
            path = self.record("xe2", folder, self.counts(), 0, ["mm_basic"])
            dump = objects.run(objects.ACCEL_PROF, "dump", "-i", path, encoding="utf-8")
            kernel = re.search(r'KERNEL id=(\d+) .*"mm_basic"', dump)[1]
            wanted = {"launch": 0.0, "again": 0.0}
            for begin, length, count in re.findall(
                    r"PC_SAMPLE time=([\d.]+) interval_ns=(\d+) .*kernel=%s .*count=(\d+)" % kernel,
                    dump):
                begin = round(float(begin) * 1e9)
                part = max(0, begin + int(length) - max(begin, 24500))
                wanted["again"] += int(count) * part / (int(length) + part)
                wanted["launch"] += int(count) * int(length) / (int(length) + part)
            self.assertGreater(wanted["again"], 1000)
            folded = objects.run(objects.ACCEL_PROF, "flamegraph", "-i", path, "--format",
                                 "folded", "--metric", "device-samples", encoding="utf-8")
            got = {"launch": 0, "again": 0}
            places = 0
            for who, count in re.findall(r"(?m);(launch|again)_mm_basic;-;.* (\d+)$", folded):
                got[who] += int(count)
                places += 1
            self.assertEqual(sum(got.values()), SAMPLES["mm_basic"][0])
            # Each place is rounded by itself.
            for who in got:
                self.assertAlmostEqual(got[who], wanted[who], delta=places / 2)


if __name__ == "__main__":
    unittest.main()
