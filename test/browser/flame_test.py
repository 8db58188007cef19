# SPDX-License-Identifier: Apache-2.0
"""A flame graph in a real browser: what a reader sees after clicks and keys, against the tree."""

import collections
import itertools
import os
import re
import subprocess
import sys
import tempfile
import unittest

import webdriver

PICTURE = os.environ["PICTURE"]
HERE = os.path.dirname(os.path.abspath(__file__))
# How long one would wait for two frames on the screen; the slowest machine of a test has half a core.
FRAMES = "const frames = () => new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)));"


def run_picture(lines, *options):
    return subprocess.run([PICTURE, *options], input=lines, stdout=subprocess.PIPE, check=True).stdout


class Page:
    """One picture, open in the browser."""

    def __init__(self, browser, lines, *options, suffix=".svg"):
        self.browser = browser
        self.lines = lines
        with tempfile.NamedTemporaryFile(suffix=suffix, delete=False) as out:
            out.write(run_picture(lines, *options))
        self.path = out.name
        self.open("")

    def open(self, fragment):
        self.browser.open("about:blank")
        self.browser.console()
        self.browser.open("file://" + self.path + fragment)
        if not self.browser.run_async("return Boolean(await window.flame)"):
            raise AssertionError("the script did not start")

    def close(self):
        os.unlink(self.path)

    def app(self, expression):
        return self.browser.run_async(FRAMES + f"const app = await flame; return {expression};")

    def text(self, identifier):
        return self.browser.run("return document.getElementById(arguments[0]).textContent", identifier)

    def labels(self):
        """What is written on frames, from the root's row on, as the reader sees it."""
        return self.browser.run("""
            return [...document.querySelectorAll('.canvas > g > g:not([visibility]) text')]
                .map((t) => [t.textContent, Number(t.getAttribute('y')), Number(t.getAttribute('x')),
                             t.parentNode.getAttribute('class')])
                .filter((row) => row[0])""")

    def names(self):
        return {re.sub(r"  [0-9.< ]+ %$", "", row[0]) for row in self.labels()}

    def shown(self):
        """The names of all frames that are drawn, labelled or not."""
        return set(self.app("app.picture.boxes.filter((b) => !b.count).map((b) => app.nameOf(b.v))"))

    def place(self, name):
        """The middle of the frame with this name, in the window."""
        where = self.app("""(() => {
            const box = app.picture.boxes.filter((b) => !b.count && app.nameOf(b.v) === %s)
                .sort((a, b) => b.width - a.width)[0];
            app.scrollTo(box.v);
            const canvas = app.page.canvas.getBoundingClientRect();
            return [canvas.left + box.x + box.width / 2, canvas.top + app.picture.y(box.row) + 8];
        })()""" % repr(name))
        return where

    def click(self, name):
        self.browser.mouse(*self.place(name), click=True)

    def focused(self):
        return self.app("app.nameOf(app.focused)")

    def zoomed(self):
        return self.app("app.nameOf(app.zoom)")

    def search(self, text):
        self.browser.keys("/")
        self.browser.run("document.getElementById('search').value = ''")
        self.browser.type(text)

    def share(self):
        found = re.match(r"Matched: (<? ?[0-9.]+) %", self.text("matched"))
        return found and found.group(1)


def exact_share(lines, metric, pattern, *options):
    """By awk, over the folded lines of the same tree."""
    folded = run_picture(lines, "--folded", "--metric", metric, *options)
    program = ('{ total += $NF; $NF = ""; if ($0 ~ pattern) sum += value } '
               .replace("total += $NF;", "value = $NF; total += value;") +
               'END { printf "%.1f", 100 * sum / total }')
    return subprocess.run(["awk", "-v", "pattern=" + pattern, program], input=folded,
                          stdout=subprocess.PIPE, check=True).stdout.decode()


class FlameTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = webdriver.Browser(1200, 800)
        cls.addClassCleanup(cls.browser.close)
        with open(os.path.join(HERE, "train.lines"), "rb") as lines:
            cls.train = lines.read()

    def page(self, lines, *options, **more):
        page = Page(self.browser, lines, *options, **more)
        self.addCleanup(page.close)
        return page

    def tearDown(self):
        # What the page under a strict policy is refused may be told when the next one is there.
        messages = [m["message"] for m in self.browser.console()
                    if m["level"] == "SEVERE" and "script-src 'none'" not in m["message"]]
        self.assertEqual(messages, [], "the script failed")

    # The tree that the browser unpacks.

    def test_whole_tree(self):
        """Every path and value of the tree, read back in the browser, is what folded lines say."""
        page = self.page(self.train)
        for number, metric in enumerate(["wall", "launches", "device-samples", "cpu-samples"]):
            got = page.app("""(() => {
                const t = app.tree, self = t.self(%d), out = [];
                for (let i = 0; i < t.count; i++) {
                    if (!self[i])
                        continue;
                    const path = [];
                    for (let j = i; j > 0; j = t.parent[j])
                        path.unshift(t.names[t.frame[j]]);
                    out.push(path.join(';') + ' ' + self[i]);
                }
                return out;
            })()""" % number)
            folded = run_picture(self.train, "--folded", "--metric", metric).decode()
            want = [re.sub(r"_\[[kgG]\]", "", line) for line in folded.splitlines()]
            # The folded form must write "step_0" where the tree says "step 0".
            self.assertEqual([re.sub(r";step (\d)", r";step_\1", line) for line in got], want)

    def test_first_look_folds_as_the_library_does(self):
        """Framework runs and layers are folded twice, in C for the still picture and in the script."""
        modules = (b"s samples 3 z boot;z run;y a.py;S Net_0;Y _call_impl;Y inner;S Linear_1;Y _call_impl;z with;Y mm\n"
                   b"s samples 2 z boot;y a.py;S Net_0;Y _call_impl;y forward;s mine;Y mm;N gemm\n")
        interpreter = (b"s samples 3 P _start;n main;P run;y a.py;P call;Y mm;P call;Y impl;N gemm\n"
                       b"s samples 2 P _start;n main;P run;P more\ns samples 1 z with;P call;z next;n c;P f\n")
        for lines in self.train, modules, interpreter:
            self.compare_first_look(lines)

    def compare_first_look(self, lines):
        page = self.page(lines)
        got = page.app("""(() => {
            const v = app.view, lines = [], todo = [[0, []]];
            while (todo.length) {
                const [node, path] = todo.pop();
                const own = v.own(node);
                if (own)
                    lines.push(path.join(';') + ' ' + own);
                const first = v.column('kids')[node], end = first + v.column('kidCount')[node];
                for (let kid = end - 1; kid >= first; kid--)
                    todo.push([kid, [...path, app.nameOf(kid)]]);
            }
            return lines;
        })()""")
        folded = run_picture(lines, "--folded", "--first-look").decode()
        self.assertEqual(got, [re.sub(r"_\[[kgG]\]", "", line) for line in folded.splitlines()])

    # What is there at first.

    def test_first_look(self):
        page = self.page(self.train, "--title", "python3 train.py", "--note", "3 steps")
        self.assertEqual(self.browser.run("return document.title"), "python3 train.py")
        # 975.2 ms by hand: 3 * (33.3 + 0.3 ...) is in the lines; the shares add up to 100.
        note = page.text("note")
        self.assertRegex(note, r"^975 ms: wall time of the device, busy and idle \(busy [0-9.]+ %")
        self.assertTrue(note.endswith("; 3 steps"))
        self.assertAlmostEqual(sum(float(x) for x in re.findall(r"([0-9.]+) %", note)), 100, delta=0.2)
        names = page.names()
        self.assertIn("all", names)
        self.assertIn("[idle: host late]", names)
        self.assertIn("step *", names)
        self.assertIn("py::_wrapped_call_impl (module.py:1553)", names)
        self.assertNotIn("step 0", names)
        self.assertFalse(any("_call_impl (module.py:1562)" in name for name in names))
        # Hatched and crossed frames are told apart without colour.
        classes = {row[0]: row[3] for row in page.labels()}
        self.assertTrue([c for n, c in classes.items() if n.startswith("[idle: blocked") and "idle" in c])
        self.assertEqual(self.browser.run("return document.getElementById('still')"), None)

    def test_widest_tower(self):
        """Named at the top, with the code that it is in; found here over the folded lines."""
        page = self.page(self.train)
        paths = [(line.rsplit(" ", 1)[0].split(";"), int(line.rsplit(" ", 1)[1]))
                 for line in run_picture(self.train, "--folded", "--first-look").decode().splitlines()]
        kernels = collections.Counter()
        for names, value in paths:
            if "-" in names:
                kernels[tuple(names[:names.index("-") + 2])] += value
        (path, value), total = kernels.most_common(1)[0], sum(value for _, value in paths)
        self.assertEqual(page.text("widest"), "widest: py::tokenize (data.py:31) \u203a "
                         f"{path[-1]}, {100 * value / total:.1f} %")
        self.assertIn("py::tokenize (data.py:31)", path)
        self.browser.keys("w")
        self.assertEqual(page.zoomed(), path[-1])
        self.browser.keys("Escape")
        self.browser.click("#widest")
        self.assertEqual(page.zoomed(), path[-1])
        # Not in the widest function, whose work is in three parts.
        parts = b"".join(b"s samples 20 p python3;y many;- -;G k%d\n" % i for i in range(3))
        page = self.page(parts + b"s samples 40 p python3;y one;- -;G gemm\n")
        self.assertEqual(page.text("widest"), "widest: one \u203a gemm, 40.0 %")
        # What is called as what calls it is said once.
        page = self.page(b"s samples 9 n main;n f;n f\n")
        self.assertEqual(page.text("widest"), "widest: f, 100 %")
        # Of many that are as wide, none is the tower.
        even = b"".join(b"s samples 1 p python3;y f%d\n" % i for i in range(20))
        page = self.page(even)
        self.assertEqual(page.text("widest"), "widest: python3, 100 %")
        # A tower whose kernels are many thin ones ends below the border.
        many = b"".join(b"s samples 1 p python3;y f;n cudaLaunchKernel;- -;G k%d\n" % i for i in range(20))
        page = self.page(many)
        self.assertEqual(page.text("widest"), "widest: f \u203a cudaLaunchKernel, 100 %")
        # By leaf there are no towers.
        self.browser.keys("b")
        self.assertFalse(self.browser.run("return document.getElementById('widest').offsetWidth"))
        # Nor where all that ends is below a thousandth.
        thin = "".join("s samples 1 " + ";".join(f"n f{i}" for i in path) + "\n"
                       for path in itertools.product(range(3), repeat=7))
        page = self.page(thin.encode())
        self.assertFalse(self.browser.run("return document.getElementById('widest').offsetWidth"))

    def test_folded_tower_says_so(self):
        page = self.page(b"s samples 300 p python3;y train;Y linear;C at::linear;C gemm\n"
                         b"s samples 200 p python3;y train;N libtorch.so+0x10;C at::add\n"
                         b"s samples 500 p python3;y train;N libtorch.so+0x22;n memcpy\n")
        self.assertEqual(sorted(row[0] for row in page.labels()),
                         ["all", "libtorch.so  70.0 %", "linear \u2026  30.0 %", "memcpy  50.0 %", "python3", "train"])
        self.browser.keys("f")
        self.assertLessEqual({"libtorch.so+0x10  20.0 %", "libtorch.so+0x22  50.0 %", "at::add  20.0 %", "at::linear"},
                             {row[0] for row in page.labels()})

    def test_own_code_stands_out(self):
        """One's own Python is bold, and only that; the legend says so where there is any."""
        page = self.page(self.train)
        weights = self.browser.run("""return [...document.querySelectorAll('#canvas g text')]
            .filter((t) => t.textContent && t.parentNode.getAttribute('visibility') !== 'hidden')
            .map((t) => [t.textContent, getComputedStyle(t).fontWeight])""")
        bold = {re.sub("  [0-9.]+ %$", "", name) for name, weight in weights if weight == "700"}
        self.assertIn("py::main (train.py:61)", bold)
        self.assertFalse([name for name in bold if "module.py" in name or not name.startswith("py::")], bold)
        legend = "return document.querySelector('.legend').textContent"
        self.assertIn("(own code)", self.browser.run(legend))
        self.page(b"s samples 1 z threading;n c\n")
        self.assertNotIn("own code", self.browser.run(legend))

    def test_instructions_say_what_they_do(self):
        page = self.page(b"s samples 12 G gemm;I 0x1a0: send.ugm (32) r23\ns samples 188 n f\n")
        self.assertIn("send.u", [label[:6] for label, *_ in page.labels()])
        page.click("gemm")
        self.assertIn("0x1a0: send.ugm (32) r23", [label[:24] for label, *_ in page.labels()])

    def test_numbers_of_many_bytes(self):
        """Levels up and frame numbers beyond one byte, by their ends: 400 names, 250 rows."""
        page = self.page(b"".join(b"s samples %d n f%03d\n" % (i + 1, i) for i in range(400)) +
                         b"s samples 5000000000 n f100;" + b";".join(b"n f%03d" % (399 - i) for i in range(250)) + b"\n")
        self.assertEqual(page.app("app.tree.count"), 651)
        self.assertEqual(page.app("app.view.total"), 5000000000 + 400 * 401 // 2)
        self.assertEqual(page.app("Math.max(...app.tree.frame)"), 400)
        first = "app.tree.frame.findIndex((f) => app.tree.names[f] === '%s')"
        self.assertEqual(page.app(f"app.tree.end[{first % 'f100'}] - {first % 'f100'}"), 251)
        self.assertEqual(page.app(f"app.tree.parent[{first % 'f101'}]"), 0)

    def test_fills_the_window(self):
        page = self.page(self.train)
        for width in (1200, 700, 1600):
            self.browser.emulate(width, 800)
            self.addCleanup(self.browser.emulate, 1200, 800)
            self.assertEqual(page.app("await frames(), app.picture.width"), width)
            self.assertEqual(page.app("app.picture.boxOf(0).width"), width)

    def test_fixed_width(self):
        page = self.page(self.train, "--width", "640")
        self.assertEqual(page.app("app.picture.width"), 640)

    # Zoom.

    def test_zoom_and_reset(self):
        page = self.page(self.train)
        page.click("py::next_batch (data.py:19)")
        self.assertEqual(page.zoomed(), "py::next_batch (data.py:19)")
        self.assertEqual(page.app("app.picture.boxOf(app.zoom).width"), 1200)
        self.assertEqual(page.app("app.picture.boxOf(0).width"), 1200)
        self.assertIn("py::tokenize (data.py:31)", page.names())
        self.assertNotIn("py::train_step (trainer.py:140)", page.names())
        crumbs = self.browser.run("return [...document.querySelectorAll('#crumbs button')].map(b => b.textContent)")
        self.assertEqual(crumbs, ["all", "python3 (4242)", "py::<module> (train.py:88)",
                                  "py::main (train.py:61)", "step *", "py::next_batch (data.py:19)"])
        self.browser.click("#crumbs button:nth-of-type(4)")
        self.assertEqual(page.zoomed(), "py::main (train.py:61)")
        self.browser.click("#unzoom")
        self.assertEqual(page.zoomed(), "all")
        self.assertIn("py::train_step (trainer.py:140)", page.names())
        # The browser's own way back.
        self.browser.run("history.back()")
        self.assertEqual(page.app("await frames(), app.nameOf(app.zoom)"), "py::main (train.py:61)")

    def test_click_on_a_frame_below_unzooms(self):
        page = self.page(self.train)
        page.click("py::next_batch (data.py:19)")
        page.click("py::main (train.py:61)")
        self.assertEqual(page.zoomed(), "py::main (train.py:61)")

    def test_thin_frames_are_reached(self):
        """A quarter of a pixel each: drawn as runs, which can be zoomed into."""
        lines = b"".join(b"s samples 1 n main;n f%06d;n g\n" % i for i in range(5000))
        page = self.page(lines)
        self.assertEqual(page.app("app.picture.boxes.length"), 4)
        # To what the run stands on, then into the run, whose frames are wide enough in parts.
        self.browser.mouse(600, page.place("main")[1] - 16, click=True)
        self.assertEqual(page.zoomed(), "main")
        self.browser.mouse(600, page.place("main")[1] - 16, click=True)
        self.assertEqual(page.zoomed(), "5,000 thin frames")
        page.app("app.zoomTo(app.view.makeRun(app.view.column('kids')[app.zoom] + 700, 20))")
        self.assertEqual({n for n in page.names() if n.startswith("f")}, {"f%06d" % i for i in range(700, 720)})
        page.search("f00071[0-4]")
        self.assertEqual(page.text("matched"), "Matched: 0.1 % (5 samples)")

    # Search.

    def test_search_is_exact(self):
        page = self.page(self.train)
        for metric in ("wall", "device-samples", "cpu-samples"):
            self.browser.run("const m = document.getElementById('metric'); m.value = [...m.options]"
                             ".find(o => o.text === arguments[0]).value; m.dispatchEvent(new Event('change'))", metric)
            for pattern in ("gemm", "idle: (host|sync)", "barrier", "forward", "module.py:15[56]", "^py::", "nothing"):
                page.search(pattern)
                # Anchors are for a frame's name, where awk has lines.
                want = exact_share(self.train, metric, pattern.replace("^", "(^|;)"))
                got = page.share()
                self.assertEqual("0.0" if got == "< 0.1" else got, want if want != "100.0" else "100", (metric, pattern))

    def test_search_marks_and_steps(self):
        page = self.page(self.train)
        self.browser.keys("Control+f")
        self.browser.type("IDLE: B")
        self.assertEqual(page.share(), exact_share(self.train, "wall", "idle: b"))
        self.assertEqual([row[0].split("  ")[0] for row in page.labels() if "match" in row[3]], ["[idle: blocked]"])
        self.browser.click("#ignorecase")
        self.assertEqual(page.share(), "0.0")
        self.browser.click("#ignorecase")
        self.browser.keys("F3")
        self.assertEqual(self.browser.run("return document.activeElement.id"), "search")
        page.search("idle")
        self.browser.keys("Enter")
        # The widest first.
        self.assertEqual(page.focused(), "[idle: host late]")
        self.assertTrue(page.text("matched").endswith("[1/5]"))
        self.browser.keys("Enter")
        self.assertEqual(page.focused(), "[idle: blocked]")
        self.browser.keys("Shift+Enter")
        self.assertEqual(page.focused(), "[idle: host late]")
        self.browser.keys("Escape")
        self.assertEqual(page.text("matched"), "")

    def test_search_finds_what_is_too_thin(self):
        page = self.page(b"s samples 1 n main;n needle\ns samples 100000 n main;n hay\n")
        page.search("needle")
        self.assertEqual(page.text("matched"), "Matched: < 0.1 % (1 samples)")
        self.browser.keys("Enter")
        self.assertEqual(page.focused(), "needle")
        self.assertGreaterEqual(page.app("app.picture.boxOf(app.focused).width"), 60)

    def test_overlaps_count_once(self):
        page = self.page(b"s samples 30 n a1;n b;n a2\ns samples 50 n c;n a3;n a3\ns samples 20 n c\n")
        page.search("a")
        self.assertEqual(page.share(), "80.0")

    def test_bad_expression_is_plain_text(self):
        page = self.page(b"s samples 3 c operator()(int);n x\ns samples 1 n y\n")
        page.search("operator()(")
        self.assertEqual(page.share(), "75.0")
        self.assertEqual(self.browser.run("return document.getElementById('search').getAttribute('aria-invalid')"), "true")

    # Tooltip.

    def test_tooltip(self):
        page = self.page(b"time ns 600 n main;Y py::f (a.py:3) @/usr/a.py:3 #pkg.a =longer name\n"
                         b"time ns 200 n main;Y py::f (a.py:3) @/usr/a.py:3 #pkg.a =longer name;n g\n"
                         b"time ns 200 n main;n h\ntime ns 1000 n other\n")
        self.browser.mouse(*page.place("py::f (a.py:3)"))
        tip = self.browser.run("return [...document.querySelectorAll('.tip b, .tip div, .tip td')].map(e => e.textContent)")
        self.assertEqual(tip, ["py::f (a.py:3)", "longer name", "/usr/a.py:3", "pkg.a", "Python, framework",
                               "value", "800 ns", "of all", "40.0 %", "of caller", "80.0 %",
                               "itself", "600 ns, 30.0 %"])
        self.assertEqual(page.text("details"), "py::f (a.py:3) (800 ns, 40.0 %)")
        box = self.browser.run("const b = document.querySelector('.tip').getBoundingClientRect(); return [b.left, b.right, b.top, b.bottom]")
        self.assertTrue(0 <= box[0] <= box[1] <= 1200 and 0 <= box[2] <= box[3] <= 800, box)
        # Where the mouse rests, another frame is now.
        self.browser.keys("i")
        self.assertTrue(self.browser.run("return document.querySelector('.tip').hidden"))

    # Keyboard.

    def test_keyboard(self):
        page = self.page(b"s samples 5 n main;n left;n x\ns samples 9 n main;n middle;n y\n"
                         b"s samples 6 n main;n right;n z\n")
        walk = [("Up", "main"), ("Up", "middle"), ("Left", "left"), ("Left", "left"), ("Right", "middle"),
                ("Right", "right"), ("Up", "z"), ("Left", "y"), ("Left", "x"), ("Down", "left"), ("Home", "all")]
        for key, name in walk:
            self.browser.keys(key)
            self.assertEqual((key, page.focused()), (key, name))
            self.assertTrue(page.text("details").startswith(name))
        self.browser.keys("Up", "Up", "Enter")
        self.assertEqual(page.zoomed(), "middle")
        self.assertEqual(page.names(), {"all", "main", "middle", "y"})
        self.browser.keys("Escape")
        self.assertEqual(page.zoomed(), "all")
        # With the root on top, away from it is down.
        self.browser.keys("i", "Down")
        self.assertEqual(page.focused(), "main")

    def test_every_control_is_reached_by_tab(self):
        page = self.page(self.train)
        self.browser.run("document.getElementById('unzoom').focus()")
        seen = []
        for _ in range(40):
            self.browser.call("POST", self.browser.session + "/actions", {"actions": [
                {"type": "key", "id": "k", "actions": [{"type": "keyDown", "value": "\ue004"}, {"type": "keyUp", "value": "\ue004"}]}]})
            seen.append(self.browser.run("const e = document.activeElement; return e && (e.id || e.dataset.layer || e.localName)"))
        for control in ("icicle", "byleaf", "framework", "everything", "metric", "search", "ignorecase", "idle", "os", "canvas"):
            self.assertIn(control, seen)

    def test_accessibility(self):
        page = self.page(self.train)
        tree = self.browser.devtools("Accessibility.getFullAXTree")["nodes"]
        named = {(n["role"]["value"], n["name"]["value"]) for n in tree if "name" in n and "role" in n}
        for wanted in [("button", "Icicle"), ("button", "Show everything"), ("searchbox", "Search frames by regular expression"),
                       ("combobox", "What the width means"), ("button", "idle"), ("button", "Next match"),
                       ("button", "Match upper and lower case")]:
            self.assertIn(wanted, named)
        self.assertTrue([n for r, n in named if r == "tree" and "Arrow keys" in n])
        self.browser.keys("Up")
        focus = self.browser.run("""const f = document.getElementById(document.getElementById('canvas')
            .getAttribute('aria-activedescendant')); return [f.getAttribute('role'), f.getAttribute('aria-label'), f.getAttribute('aria-level')]""")
        self.assertEqual(focus[0], "treeitem")
        self.assertTrue(focus[1].startswith("python3 (4242) ("))
        self.assertEqual(focus[2], "2")
        page = self.page(b"s samples 3 n a;n b\ns samples 2 n a;n c\ns samples 1 n a;n d\n")
        self.browser.keys("Up", "Up", "Right")
        self.assertEqual(self.browser.run("""const f = document.getElementById('flame-focus');
            return ['label', 'level', 'posinset', 'setsize'].map(a => f.getAttribute('aria-' + a))"""),
                         ["c (2 samples, 33.3 %)", "3", "2", "3"])

    # Layers, metrics, views.

    def test_legend(self):
        page = self.page(self.train)
        before = page.text("note")
        self.browser.click("[data-layer=os]")
        self.assertNotIn("do_sys_poll", page.shown())
        self.assertIn("[idle: blocked]", page.shown())
        self.assertEqual(page.text("note"), before)
        # Without idle time, shares are of the rest.
        self.browser.click("[data-layer=idle]")
        self.assertFalse([n for n in page.names() if "idle" in n])
        self.assertNotIn("idle", page.text("note").replace("busy and idle", ""))
        want = run_picture(self.train, "--folded", "--metric", "wall").decode().splitlines()
        busy = sum(int(line.rsplit(" ", 1)[1]) for line in want if "[idle" not in line)
        self.assertEqual(page.app("app.view.total"), busy)
        pressed = self.browser.run("return document.querySelector('[data-layer=idle]').getAttribute('aria-pressed')")
        self.assertEqual(pressed, "false")
        self.browser.click("#everything")
        self.assertIn("step 0", page.names())
        self.assertIn("do_sys_poll", page.shown())
        self.assertTrue(self.browser.run("return document.getElementById('everything').disabled"))

    def test_framework(self):
        page = self.page(self.train)
        deepest = """app.view.path(app.view.find(app.tree.frame.findIndex((f, i) =>
            app.tree.names[f].startsWith('softmax') && app.view.totals[i]))).length"""
        # By hand from the lines: three of _call_impl, softmax's operator and dispatcher are folded.
        folded = page.app(deepest)
        self.browser.click("#framework")
        self.assertIn("step 1", page.names())
        self.assertEqual(page.app(deepest), folded + 6)
        self.browser.click("#framework")
        self.assertIn("step *", page.names())

    def test_hidden_layer_keeps_values(self):
        page = self.page(b"s samples 4 n a;k x\ns samples 3 n a;k x;k y\ns samples 2 n a;k z\ns samples 1 n b\n")
        self.browser.click("[data-layer=os]")
        self.assertEqual(page.names(), {"all", "a", "b"})
        self.assertEqual(page.app("app.view.own(app.view.kidWithFrame(0, app.tree.names.indexOf('a')))"), 9)

    def test_metrics(self):
        page = self.page(self.train)
        self.assertEqual(self.browser.run("return [...document.querySelectorAll('#metric option')].map(o => o.text)"),
                         ["wall", "launches", "device-samples", "cpu-samples"])
        page.click("py::main (train.py:61)")
        self.browser.run("const m = document.getElementById('metric'); m.value = 1; m.dispatchEvent(new Event('change'))")
        self.assertIn("launches, not time", page.text("note"))
        self.assertEqual(page.zoomed(), "py::main (train.py:61)")
        self.assertNotIn("[idle: host late]", page.names())

    def test_by_leaf(self):
        page = self.page(b"s samples 5 n a;G k;R sbid\ns samples 3 n b;G k;R sbid\ns samples 2 n b;G j;R send\n")
        self.browser.click("#byleaf")
        rows = {row[0].split("  ")[0]: row[1] for row in page.labels()}
        self.assertEqual(sorted(rows), ["a", "all", "b", "b", "j", "k", "sbid", "send"][0:3] + ["j", "k", "sbid", "send"])
        self.assertGreater(rows["all"], rows["sbid"])
        self.assertGreater(rows["sbid"], rows["k"])
        self.assertGreater(rows["k"], rows["a"])
        width = page.app("app.picture.boxes.filter(b => app.nameOf(b.v) === 'sbid')[0].width")
        # 8 of 10 samples, 1,200 pixels.
        self.assertAlmostEqual(width, 960)
        page.search("sbid")
        self.assertEqual(page.share(), "80.0")
        page.search("^[ab]$")
        self.assertEqual(page.share(), "100")
        for name, width in (("a", 600), ("b", 360), ("b", 240), ("a", 600)):
            self.browser.keys("Enter")
            self.assertEqual((page.focused(), round(page.app("app.picture.boxOf(app.focused).width"))), (name, width))

    def test_by_leaf_adds_up(self):
        page = self.page(self.train, "--metric", "device-samples")
        self.browser.click("#byleaf")
        got = dict(page.app("""(() => { const v = app.view; v.expand(0); const out = [];
            for (let k = v.column('kids')[0]; k < v.column('kids')[0] + v.column('kidCount')[0]; k++)
                out.push([app.nameOf(k), v.column('value')[k]]);
            return out; })()"""))
        want = {}
        for line in run_picture(self.train, "--folded", "--metric", "device-samples").decode().splitlines():
            path, value = line.rsplit(" ", 1)
            leaf = path.rsplit(";", 1)[1].replace("_[g]", "")
            want[leaf] = want.get(leaf, 0) + int(value)
        self.assertEqual(got, want)

    def test_icicle(self):
        page = self.page(self.train)
        def ys():
            rows = {row[0].split("  ")[0]: row[1] for row in page.labels()}
            return rows["all"], rows["step *"]
        self.assertGreater(*ys())
        self.browser.click("#icicle")
        self.assertLess(*ys())
        page = self.page(self.train, "--inverted")
        self.assertLess(*ys())

    # What changed.

    def test_diff(self):
        """10 samples before, 20 now, so before counts double: a 12 -> 10, b 4 -> 0, c 4 -> 4, d 0 -> 6."""
        with tempfile.NamedTemporaryFile(suffix=".lines") as base:
            base.write(b"s samples 6 n a;n x\ns samples 2 n b\ns samples 2 n c\n")
            base.flush()
            page = self.page(b"s samples 10 n a;n x\ns samples 4 n c\ns samples 6 n d\n", "--diff", base.name)
        looks = dict(page.app("app.picture.boxes.map((b) => [app.nameOf(b.v), [b.look, Math.round(b.width)]])"))
        # Drawn is the larger of both: 12 + 4 + 4 + 6 of 26, on 1,200 pixels.
        self.assertEqual(looks, {"all": ["r0", 1200], "a": ["q1", 554], "x": ["q1", 554], "b": ["q7 gone", 185],
                                 "c": ["r0", 185], "d": ["p7 new", 277]})
        self.assertEqual({row[0] for row in page.labels()},
                         {"all", "a  -17 %", "x  -17 %", "b  gone", "c", "d  new"})
        self.assertEqual(page.text("widest"), "changed most: d, new")
        self.browser.mouse(*page.place("x"))
        tip = self.browser.run("return [...document.querySelectorAll('.tip td')].map(e => e.textContent)")
        self.assertEqual(tip, ["now", "10 samples, 50.0 %", "before", "12 samples, 60.0 %", "change", "-2 samples, -17 %"])
        page.search("^[ad]$")
        self.assertEqual(page.text("matched"), "Matched: 80.0 % (16 samples)")
        self.browser.keys("Escape")
        self.browser.click("#byleaf")
        looks = dict(page.app("app.picture.boxes.map((b) => [app.nameOf(b.v), [b.look, Math.round(b.width)]])"))
        self.assertEqual(looks["x"], ["q1", 554])
        self.assertEqual(looks["d"], ["p7 new", 277])

    # The address.

    def test_link_restores(self):
        page = self.page(self.train)
        page.click("py::train_step (trainer.py:140)")
        page.click("layers.*")
        page.search("gemm|softmax")
        self.browser.keys("Escape")
        page.search("gemm")
        self.browser.click("[data-layer=os]")
        self.browser.click("#icicle")
        def state():
            return page.app("[app.nameOf(app.zoom), app.state.text, app.state.hidden, app.state.inverted, app.state.metric,"
                            "app.picture.boxes.map((b) => [b.x, b.row, b.look])]")
        before = state()
        self.assertEqual(before[0], "layers.*")
        fragment = self.browser.run("return location.hash")
        self.assertRegex(fragment, r"^#icicle=1&hide=os&search=gemm&at=[0-9a-z.]+$")
        page.open(fragment)
        self.assertEqual(state(), before)
        # By path, not by place: the same link in a window of another width, and for another metric.
        self.browser.emulate(900, 600)
        self.addCleanup(self.browser.emulate, 1200, 800)
        page.open(fragment + "&metric=device-samples")
        self.assertEqual(page.zoomed(), "layers.*")
        page.open("#at=zzz.1&metric=no&hide=none,os&view=leaf")
        self.assertEqual(page.zoomed(), "all")

    # Themes, other viewers.

    def test_dark_and_light(self):
        page = self.page(self.train)
        def colours():
            return self.browser.run("""const get = (e, p) => getComputedStyle(e)[p]; return [
                get(document.querySelector('.page'), 'backgroundColor'), get(document.querySelector('.canvas text'), 'fill'),
                get(document.querySelector('.canvas g.f1, .canvas g.f2, .canvas g.f3, .canvas g.f4, .canvas g.f5, .canvas g.f6, .canvas g.f7, .canvas g.f0'), 'color')]""")
        light = colours()
        self.browser.emulate(1200, 800, dark=True)
        self.addCleanup(self.browser.emulate, 1200, 800)
        dark = colours()
        def brightness(colour):
            return sum(int(x) for x in re.findall(r"\d+", colour)[:3])
        self.assertGreater(brightness(light[0]), 700)
        self.assertLess(brightness(dark[0]), 120)
        self.assertLess(brightness(light[1]), 100)
        self.assertGreater(brightness(dark[1]), 650)
        self.assertLess(brightness(dark[2]), brightness(light[2]))

    def test_html_page(self):
        page = self.page(self.train, "--html", "--title", "a < b", suffix=".html")
        self.assertEqual(self.browser.run("return document.title"), "a < b")
        page.click("py::next_batch (data.py:19)")
        page.search("idle")
        self.assertEqual(page.share(), exact_share(self.train, "wall", "idle"))

    def test_image_is_still(self):
        page = self.page(self.train)
        with tempfile.NamedTemporaryFile("w", suffix=".html", delete=False) as out:
            out.write(f'<img src="file://{page.path}">')
        self.addCleanup(os.unlink, out.name)
        self.browser.open("file://" + out.name)
        size = self.browser.run_async("const i = document.querySelector('img'); await i.decode(); return [i.naturalWidth, i.naturalHeight]")
        self.assertEqual(size[0], 1200)
        self.assertGreater(size[1], 300)
        with tempfile.NamedTemporaryFile(suffix=".png") as shot:
            self.browser.screenshot(shot.name)

    def test_strict_policy_shows_the_still_picture(self):
        page = self.page(self.train)
        with open(page.path, encoding="utf-8") as picture:
            body = picture.read().split("?>", 1)[1]
        with tempfile.NamedTemporaryFile("w", suffix=".html", delete=False) as out:
            out.write('<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="script-src \'none\'">' + body)
        self.addCleanup(os.unlink, out.name)
        self.browser.open("file://" + out.name)
        self.assertGreater(self.browser.run("return document.querySelectorAll('#still rect').length"), 20)
        self.assertIn("violates", " ".join(m["message"] for m in self.browser.console()))

    def test_without_decompression(self):
        page = self.page(self.train)
        script = self.browser.devtools("Page.addScriptToEvaluateOnNewDocument", source="delete window.DecompressionStream")
        try:
            self.browser.open("file://" + page.path)
            self.assertIsNone(self.browser.run_async("return await flame"))
            self.assertIn("no DecompressionStream", self.browser.run("return document.getElementById('still').textContent"))
        finally:
            self.browser.devtools("Page.removeScriptToEvaluateOnNewDocument", identifier=script["identifier"])

    # Names are hostile.

    HOSTILE = ["</title><script>window.hacked=1</script>", "]]></script><script>window.hacked=1</script>",
               "\"'&amp;<&>", "\\x1b[31m", "a\\xe2\\x80\\xaeb", "\\xff\\xfe", "<img src=x onerror=window.hacked=1>",
               "javascript:window.hacked=1", "__proto__", "constructor", "${window.hacked=1}", " 12", "%s%n",
               "\\xef\\xbf\\xbf", "\\xed\\xa0\\x80", "a\\x3bb"]

    def test_hostile_names(self):
        lines = "".join(f"s samples {i + 1} n {name} @{name}:1 #{name} ={name};n {name}\n" for i, name in enumerate(n.replace(";", "\\x3b") for n in self.HOSTILE))
        lines = lines.encode() + b"s samples 99 n " + b"long<" * 200000 + b"\n"
        for suffix, options in ((".svg", []), (".html", ["--html"])):
            page = self.page(lines, *options, "--title", self.HOSTILE[0], "--note", self.HOSTILE[1], suffix=suffix)
            self.assertEqual(self.browser.run("return document.title"), self.HOSTILE[0])
            for name in ("]]></script><script>window.hacked=1</script>", "<img src=x onerror=window.hacked=1>"):
                page.click(name)
                self.browser.mouse(*page.place(name))
                self.assertEqual(page.zoomed(), name)
                self.browser.keys("Escape")
            self.browser.mouse(*page.place("long<" * 200000))
            tip = self.browser.run("return document.querySelector('.tip b').textContent")
            self.assertTrue(tip.endswith("(1,000,000 characters)"), tip[-40:])
            self.assertLess(len(tip), 2100)
            page.search("<script>")
            names = page.app("app.tree.names")
            self.assertIn("a\ufffdb", names)
            self.assertIn("\ufffd[31m", names)
            self.assertFalse([n for n in names if re.search("[\x00-\x1f\x7f-\x9f\u202e\ud800-\udfff\uffff]", n)])
            self.assertIsNone(self.browser.run("return window.hacked || null"))
            self.assertEqual(self.browser.run("return document.querySelectorAll('script').length"), 1)
            self.assertEqual(self.browser.run("return document.querySelectorAll('img').length"), 0)

    # Speed, loosely: test/bench measures.

    def test_deep_stack(self):
        lines = b"s samples 1 " + b";".join(b"n f%d" % i for i in range(250)) + b"\n"
        page = self.page(lines)
        self.assertEqual(page.app("app.picture.rows.length"), 251)
        # The root is what one sees first.
        self.assertTrue(page.app("app.page.main.scrollTop + app.page.main.clientHeight >= app.picture.height - 1"))

    def test_page_is_as_high_as_its_picture(self):
        page = self.page(b"s samples 3 n a;n b;n c\ns samples 1 n a;n d\n")
        high = "app.page.main.clientHeight"
        self.assertEqual(page.app(high), page.app("app.picture.height"))
        # And does not shrink when there is less to be seen.
        page.app("app.zoomTo(app.view.path(app.picture.boxes.find((b) => app.nameOf(b.v) === 'd').v).pop())")
        self.assertEqual(page.app("app.picture.rows.length"), 3)
        self.assertEqual(page.app(high), 4 * 16)


if __name__ == "__main__":
    if not webdriver.find_browser():
        print("skipped: needs chromium and chromedriver (Debian: chromium, chromium-driver)")
        sys.exit(77)
    unittest.main()
