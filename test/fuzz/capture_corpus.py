#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""capture_corpus.py MAKE_CAPTURE FOLDER: the seeds of test/fuzz/corpus/capture.

The files called found-* there came from libFuzzer (a -merge of two minutes).

MAKE_CAPTURE is build/.../test/golden/make_capture. Each case becomes a file as it is, and one with
the content of its chunks, which the fuzz target packs into chunks again (see capture_fuzz.c).
"""
import os
import struct
import subprocess
import sys
import tempfile
import zlib

HEADER_BYTES = 32


def chunks(data):
    """The inflated payloads; the layout is that of lib/capture/FORMAT.md."""
    at = 0
    while at < len(data):
        inflated, stored = struct.unpack_from('<II', data, at + 16)
        payload = zlib.decompress(data[at + HEADER_BYTES:at + HEADER_BYTES + stored])
        assert len(payload) == inflated
        yield payload
        at += HEADER_BYTES + stored


def main():
    make_capture, folder = sys.argv[1:]
    make_capture = os.path.abspath(make_capture)
    os.makedirs(folder, exist_ok=True)
    for case in ('one-sample', 'every-type'):
        with tempfile.TemporaryDirectory() as scratch:
            path = os.path.join(scratch, 'x.data')
            subprocess.run([make_capture, case, path], check=True)
            with open(path, 'rb') as file:
                data = file.read()
        with open(os.path.join(folder, case + '.file'), 'wb') as file:
            file.write(data)
        with open(os.path.join(folder, case + '.content'), 'wb') as file:
            for payload in chunks(data):
                file.write(struct.pack('<H', len(payload)) + payload)


main()
