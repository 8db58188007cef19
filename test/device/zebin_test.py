# SPDX-License-Identifier: Apache-2.0
"""Intel's kernels: lines as eu-readelf has them, instructions as iga64 has them, and the same from the
compiler's file and from the one that the driver linked."""
import re
import shutil
import tempfile
import unittest

import objects

READELF = shutil.which("eu-readelf")
IGA = shutil.which("iga64")
NAMES = "tile", "nested"


def functions(name):
    return {f["name"]: f for o in objects.annotate(objects.fixture(name)) for f in o["functions"]}


def chain(i):
    return [(l["function"], l["file"], l["line"], l["column"]) for l in i["lines"]]


def line_rows(path):
    """The line table, which is all that other tools get out of these files: (address, file, line, ...)."""
    rows = []
    file = None
    out = objects.run(READELF, "--debug-dump=decodedline", path, encoding="utf-8")
    for line in out.split("\n"):
        m = re.match(r"^  (\S.*) \(mtime: ", line)
        if m:
            file = m[1]
        m = re.match(r"^\s+(\d+):(\d+)\s(.*?)0x([0-9a-f]+)", line)
        if m:
            rows.append((int(m[4], 16), file, int(m[1]), int(m[2]), "*" in m[3]))
    return rows


def targets(text, at):
    """iga64 writes how far branches go, annotate where to."""
    if not re.search(r"\b(jmpi|goto|call|if|else|endif|while|join|brc|brd)\b", text):
        return text
    return " ".join("0x%x" % (at + int(t)) if re.fullmatch(r"-?\d+", t) else t
                    for t in text.split())


def disassemble(code, platform):
    """Offset -> instruction."""
    rows = {}
    with tempfile.NamedTemporaryFile() as file:
        file.write(code)
        file.flush()
        out = objects.run(IGA, "-d", "-p=" + platform, "-Xprint-pc", "-n", file.name,
                          encoding="utf-8")
    for line in out.split("\n"):
        m = re.match(r"^/\* \[([0-9A-Fa-f]+)\]\s*\*/\s*(.*?)\s*(?://.*)?$", line)
        if m:
            rows[int(m[1], 16)] = targets(re.sub(r"\s+", " ", m[2]), int(m[1], 16))
    return rows


class Zebin(unittest.TestCase):
    def test_forms_agree(self):
        for name in NAMES:
            one = functions(name + "-pvc.zebin")
            two = functions(name + "-pvc-linked.zebin")
            self.assertEqual(one.keys(), two.keys())
            for f, g in zip(map(one.get, one), map(two.get, one)):
                self.assertGreater(len(f["instructions"]), 20)
                self.assertEqual((f["simd"], f["registers"]), (32, 128))
                for i, k in zip(f["instructions"], g["instructions"]):
                    self.assertEqual(i["offset"] - f["offset"], k["offset"] - g["offset"])
                    self.assertEqual(i["length"], k["length"])
                    self.assertEqual(chain(i), chain(k))
                    self.assertTrue(i["lines"])

    @unittest.skipUnless(READELF, "no eu-readelf")
    def test_lines(self):
        for name in NAMES:
            path = objects.fixture(name + "-pvc-linked.zebin")
            rows = line_rows(path)
            self.assertGreater(len(rows), 20)
            for _, _, i in objects.instructions(objects.annotate(path)):
                at, file, line, column, is_end = max(r for r in rows if r[0] <= i["offset"])
                self.assertFalse(is_end)
                last = i["lines"][-1]
                self.assertEqual((last["file"], last["line"], last["column"]),
                                 (file, line, column), hex(i["offset"]))

    def test_inlined(self):
        """By hand, from the source: line 5 is in scaled(), which product() calls in line 21."""
        product = functions("nested-pvc.zebin")["product"]
        deep = [chain(i) for i in product["instructions"] if i["lines"][-1]["line"] == 5]
        self.assertTrue(deep)
        for c in deep:
            self.assertEqual([(n, l) for n, _, l, _ in c], [("product", 21), ("scaled", 5)])
        smooth = functions("nested-pvc.zebin")["smooth"]
        deep = [chain(i) for i in smooth["instructions"] if i["lines"][-1]["line"] == 5]
        self.assertTrue(deep)
        for c in deep:
            self.assertEqual([(n, l) for n, _, l, _ in c],
                             [("smooth", 28), ("window", 12), ("scaled", 5)])

    def test_called(self):
        """By hand, from `readelf -s`: helper() is called, and lies at 0x2f8 of the kernel's section."""
        found = functions("calls-pvc.zebin")
        helper, caller = found["helper"], found["caller"]
        self.assertEqual((helper["kernel"], helper["is_kernel"]), ("caller", False))
        self.assertEqual(helper["offset"] - caller["offset"], 0x2f8)
        self.assertEqual((helper["size"], caller["size"]), (464, 1224))
        for f, first, last in (helper, 3, 9), (caller, 11, 15):
            for i in f["instructions"]:
                self.assertEqual([n for n, _, _, _ in chain(i)], [f["name"]])
                self.assertTrue(first <= i["lines"][0]["line"] <= last, i)
        if IGA:
            call, = (i["text"] for i in caller["instructions"] if "call " in i["text"])
            self.assertIn(" helper ", call)
        # What is the helper's is not the kernel's, too.
        self.assertFalse({i["offset"] for i in helper["instructions"]} &
                         {i["offset"] for i in caller["instructions"]})

    def test_not_inlined(self):
        """By hand: a place of product() or smooth() is in a function whose lines hold it, and called from one."""
        bounds = {"scaled": (3, 6), "window": (8, 14), "product": (16, 23), "smooth": (25, 29)}
        for name in "product", "smooth":
            for i in functions("nested-pvc.zebin")[name]["instructions"]:
                for function, _, line, _ in chain(i):
                    first, last = bounds[function]
                    self.assertTrue(first <= line <= last, (name, i))

    @unittest.skipUnless(IGA, "no iga64")
    def test_text(self):
        for name in NAMES:
            path = objects.fixture(name + "-pvc.zebin")
            with open(path, "rb") as file:
                data = file.read()
            for f in functions(name + "-pvc.zebin").values():
                theirs = disassemble(data[f["offset"]:f["offset"] + f["size"]], "xehpc")
                self.assertEqual(len(theirs), len(f["instructions"]))
                for i in f["instructions"]:
                    want = theirs[i["offset"] - f["offset"]]
                    ours = i["text"].split(" //")[0]
                    # A send is written by its memory operation where the writer knows it.
                    if "send" in want or re.match(r"(load|store)", ours):
                        continue
                    self.assertEqual(ours, want, hex(i["offset"]))


    @unittest.skipUnless(IGA, "no iga64")
    def test_other_devices(self):
        """The archive that ocloc makes for several devices; iga64 by the name of each."""
        path = objects.fixture("nested.ar")
        with open(path, "rb") as file:
            data = file.read()
        found = objects.annotate(path)
        self.assertEqual({o["arch"] for o in found}, {"pvc", "tgl", "dg2"})
        for o in found:
            member = data.index(b"\177ELF", data.index(o["object"].split()[-1].encode()))
            platform = {"pvc": "xehpc", "tgl": "xe", "dg2": "xehpg"}[o["arch"]]
            for f in o["functions"]:
                start = member + f["offset"]
                theirs = disassemble(data[start:start + f["size"]], platform)
                self.assertGreater(len(theirs), 20)
                self.assertEqual(sorted(theirs), [i["offset"] - f["offset"]
                                                  for i in f["instructions"]])
                for i in f["instructions"]:
                    want = theirs[i["offset"] - f["offset"]]
                    ours = i["text"].split(" //")[0]
                    # What sends do is written in several ways.
                    if not re.search(r"send|load|store", want + ours):
                        self.assertEqual(ours, want)


if __name__ == "__main__":
    unittest.main()
