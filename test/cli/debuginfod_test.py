# SPDX-License-Identifier: Apache-2.0
"""Names and lines from a debuginfod server, which here is Python's http.server on the loopback; and
inlined functions shown or left out."""
import ctypes
import http.server
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from command import run

SOURCE = '''#include <stdlib.h>
static inline __attribute__((always_inline)) unsigned inner(unsigned x)
{
	for (int i = 0; i < 1000; i++)
		x = x * SEED + (x >> 3);
	return x;
}
static __attribute__((noinline)) unsigned outer(unsigned x)
{
	return inner(x) ^ 1;
}
int main(int argc, char **argv)
{
	volatile unsigned x = argc;
	for (long n = atol(argv[1]); n; n--)
		x = outer(x);
	return 0;
}
'''


def missing():
    try:
        ctypes.CDLL('libdebuginfod.so.1')
    except OSError:
        return 'libdebuginfod.so.1'
    return next((tool for tool in ('gcc', 'objcopy', 'readelf') if not shutil.which(tool)), None)


def build(folder, name, seed):
    """A program without symbols, and its debug file: both paths, and the build-id."""
    path = os.path.join(folder, name)
    debug = path + '.only-debug'
    with open(path + '.c', 'w', encoding='ascii') as file:
        file.write(SOURCE)
    for command in (
            ['gcc', '-O1', '-g', '-fno-omit-frame-pointer', f'-DSEED={seed}u', '-Wl,--build-id=sha1',
             path + '.c', '-o', path],
            ['objcopy', '--only-keep-debug', path, debug],
            ['objcopy', '--strip-all', path]):
        subprocess.run(command, check=True)
    notes = subprocess.run(['readelf', '-n', path], capture_output=True, text=True, check=True).stdout
    return path, debug, re.search(r'Build ID: ([0-9a-f]+)', notes)[1]


class Server(http.server.ThreadingHTTPServer):
    """Serves .files by path, and remembers what was asked for; .wait: seconds before it answers."""
    daemon_threads = True
    block_on_close = False

    def __init__(self):
        super().__init__(('127.0.0.1', 0), Handler)
        self.files, self.asked, self.wait = {}, [], 0
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):  # noqa: N802 (the name that http.server calls)
        self.server.asked.append(self.path)
        time.sleep(self.server.wait)
        path = self.server.files.get(self.path)
        if not path:
            self.send_error(404)
            return
        with open(path, 'rb') as file:
            data = file.read()
        self.send_response(200)
        self.send_header('Content-Length', str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass


class Debuginfod(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.built = tempfile.TemporaryDirectory()
        cls.program, cls.debug, cls.build_id = build(cls.built.name, 'one', 1664525)
        _, cls.other_debug, other_id = build(cls.built.name, 'other', 22695477)
        assert cls.build_id != other_id

    @classmethod
    def tearDownClass(cls):
        cls.built.cleanup()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.data = os.path.join(folder.name, 'data')
        self.server = Server()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.url = f'/buildid/{self.build_id}/debuginfo'
        self.environment = {k: v for k, v in os.environ.items() if 'DEBUGINFOD' not in k}
        self.environment.update(DEBUGINFOD_CACHE_PATH=os.path.join(folder.name, 'cache'),
                                DEBUGINFOD_URLS=f'http://127.0.0.1:{self.server.server_port}',
                                no_proxy='127.0.0.1')

    def record(self, **environment):
        """What -v says, and what is known of the program: a line for each place, its functions outermost first."""
        done = run('record', '-v', '-F', '999', '-o', self.data, '--', self.program, '400000',
                   env=self.environment | environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        text = run('dump', '-i', self.data).stdout
        self.assertIn('CPU_SAMPLE', text)
        return done.stderr, re.findall(r'^SYMBOL object=\d+:"one" .*', text, re.MULTILINE)

    def test_names_and_lines(self):
        self.server.files[self.url] = self.debug
        log, symbols = self.record()
        self.assertEqual(self.server.asked.count(self.url), 1)
        self.assertRegex(log, r"debuginfod: '\S*/one': a file after \d+ ms")
        inlined = [s for s in symbols if '"outer"' in s and '"inner"' in s]
        self.assertTrue(inlined, symbols)
        self.assertIn('one.c"', inlined[0])

        def folded(*args):
            return run('flamegraph', '--format', 'folded', '--metric', 'cpu-samples', *args,
                       self.data).stdout
        self.assertIn('main;outer;inner ', folded())
        without = folded('--no-inline')
        self.assertIn('main;outer ', without)
        self.assertNotIn('inner', without)

        def total(text):
            return sum(int(line.rsplit(' ', 1)[1]) for line in text.splitlines())
        self.assertEqual(total(without), total(folded()))
        functions = ['report', '--view', 'functions', '--csv']
        self.assertIn('inner', run(*functions, self.data).stdout)
        without = run(*functions, '--no-inline', self.data).stdout
        self.assertIn('outer', without)
        self.assertNotIn('inner', without)

    def test_other_build_is_refused(self):
        self.server.files[self.url] = self.other_debug
        _, symbols = self.record()
        self.assertIn(self.url, self.server.asked)
        self.assertFalse([s for s in symbols if 'inner' in s or 'outer' in s], symbols)

    def test_no_elf_file_is_refused(self):
        self.server.files[self.url] = __file__
        _, symbols = self.record()
        self.assertIn(self.url, self.server.asked)
        self.assertFalse([s for s in symbols if 'inner' in s or 'outer' in s], symbols)

    def test_not_asked(self):
        self.record(DEBUGINFOD_URLS='')
        del self.environment['DEBUGINFOD_URLS']
        self.record()
        self.assertEqual(self.server.asked, [])

    def test_slow_server(self):
        """One second for a file, three in all; libdebuginfod looks once a second."""
        self.server.wait = 60
        begin = time.monotonic()
        log, symbols = self.record(DEBUGINFOD_TIMEOUT='1')
        self.assertLess(time.monotonic() - begin, 30)
        self.assertIn('debuginfod: asking for', log)
        self.assertLessEqual(len(self.server.asked), 5)
        self.assertFalse([s for s in symbols if 'inner' in s], symbols)

    def test_no_server(self):
        log, _ = self.record(DEBUGINFOD_URLS='http://127.0.0.1:1')
        self.assertRegex(log, r"debuginfod: '\S*/one': .* after")


if __name__ == '__main__':
    if os.geteuid() != 0:
        print('not root: nothing can be recorded')
        sys.exit(77)
    if missing():
        print(f'skipped: no {missing()} here')
        sys.exit(77)
    unittest.main()
