# SPDX-License-Identifier: Apache-2.0
"""Whatever names are in a tree, the picture is well-formed XML with only the elements of a picture."""

import os
import re
import subprocess
import sys
import unittest
import xml.parsers.expat

PICTURE = os.environ["PICTURE"]
ELEMENTS = {"svg", "title", "style", "defs", "pattern", "rect", "path", "g", "text", "metadata", "script"}

# Each as \xNN bytes, since a line of the input cannot hold all of them.
NAMES = [bytes([i]) * 3 for i in range(1, 256)] + [
    b"<script>alert(1)</script>", b"]]>", b"<![CDATA[", b"<!--", b"-->", b"&#0;", b"&amp;", b"\"'<>&",
    b"\xef\xbf\xbe", b"\xef\xbf\xbf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\xaf", b"\xe2\x80\xae",
    "\u2066x\u2069".encode(), "\U0001f600".encode(), b"x" * 1_000_000, b"\xf0\x9f\x98" * 1000, b" 12", b" ",
]


def lines():
    text = []
    for i, name in enumerate(NAMES):
        escaped = "".join(f"\\x{byte:02x}" for byte in name) if len(name) < 5000 else name.decode()
        for kind in "pnG!i":
            text.append(f"s samples {i + 1} {kind} {escaped};y {escaped} @{escaped}:1 #{escaped} ={escaped}")
    return "\n".join(text).encode() + b"\n"


class WellFormed(unittest.TestCase):
    def picture(self, *options):
        return subprocess.run([PICTURE, *options], input=lines(), stdout=subprocess.PIPE, check=True).stdout

    def parse(self, data):
        elements, text = {}, []
        parser = xml.parsers.expat.ParserCreate()
        parser.StartElementHandler = lambda name, _: elements.update({name: elements.get(name, 0) + 1})
        parser.CharacterDataHandler = text.append
        parser.Parse(data, True)
        return elements, "".join(text)

    def test_svg(self):
        data = self.picture("--title", "<b>&\"'\x1b[31m", "--note", "]]><script/>", "--width", "100000")
        elements, text = self.parse(data)
        self.assertLessEqual(set(elements), ELEMENTS)
        self.assertEqual(elements["script"], 1)
        self.assertGreater(elements["rect"], 9 * len(NAMES))
        self.assertFalse(re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text))
        self.assertIn("<script>alert(1)</script>", text)

    def test_html(self):
        data = self.picture("--html", "--title", "</title><script>").decode("utf-8")
        self.assertEqual(len(re.findall("<script", data)), 1)
        self.assertNotIn("</title><script", data)

    def test_same_bytes(self):
        self.assertEqual(self.picture(), self.picture())

    def test_no_outside(self):
        """Nothing is fetched: the only addresses are names of XML namespaces."""
        data = self.picture().decode("utf-8")
        self.assertEqual(set(re.findall(r"https?://[^\"' ]*", data)),
                         {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml"})
        for loader in ("@import", "href=", "src=", "fetch(", "XMLHttpRequest", "import(", "eval("):
            self.assertNotIn(loader, data)


if __name__ == "__main__":
    sys.exit(unittest.main())
