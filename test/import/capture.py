# SPDX-License-Identifier: Apache-2.0
"""Runs the importer, and reads what 'accel-prof dump' shows of the result."""
import collections
import os
import re
import subprocess
import tempfile

PROGRAM = os.environ['ACCEL_PROF']
FIELD = re.compile(r'(\w+)=((?:\d+:)?"(?:[^"\\]|\\.)*"|\[[^\]"]*(?:"(?:[^"\\]|\\.)*"[^\]"]*)*\]|\S+)')
FRAME = re.compile(r'(\d+):"((?:[^"\\]|\\.)*)"\+0x([0-9a-f]+)')


def unquote(text):
    """The text behind 'NUMBER:"..."', as it was before dump escaped it."""
    text = text[text.index('"') + 1:-1]
    return re.sub(r'\\(.)', lambda m: {'n': '\n', 't': '\t'}.get(m.group(1), m.group(1)), text)


def ns(seconds):
    whole, fraction = seconds.split('.')
    return int(whole) * 10**9 + int(fraction)


class Capture:
    """The records of one capture: .records[TYPE] is a list of dicts of text."""

    def __init__(self, text):
        self.records = collections.defaultdict(list)
        self.objects, self.stacks = {}, {}
        # Stack numbers are given out again after a while: each record keeps its frames.
        for line in text.splitlines():
            kind, _, rest = line.partition(' ')
            record = dict(FIELD.findall(rest))
            if kind == 'OBJECT':
                self.objects[int(record['id'])] = record
            elif kind == 'STACK':
                frames = [(int(o), n, int(line, 16)) for o, n, line in FRAME.findall(record['frames'])]
                self.stacks[record['id']] = frames
            elif 'stack' in record:
                record['frames'] = self.stacks[record['stack']]
            self.records[kind].append(record)

    def info(self):
        return {unquote(r['key']): unquote(r['value']) for r in self.records['INFO'] if 'value' in r}

    def number(self, key):
        return int(self.info()['import.' + key])

    def kind(self, frame):
        return self.objects[frame[0]]['kind']

    def kernel_names(self):
        return {r['id']: unquote(r['name']) for r in self.records['KERNEL']}

    def work(self):
        """(correlation, name, kind, start, end) of each DISPATCH and COPY."""
        names = self.kernel_names()
        for r in self.records['DISPATCH']:
            name = names[r['kernel']] if 'kernel' in r else unquote(r['name'])
            yield r['correlation'], name, r['kind'], ns(r['start']), ns(r['end'])
        for r in self.records['COPY']:
            yield r['correlation'], unquote(r['name']), r['kind'], ns(r['start']), ns(r['end'])

    def launches(self):
        return {r['correlation']: r for r in self.records['LAUNCH']}


def run(*args, stdin=None):
    return subprocess.run([PROGRAM, *args], capture_output=True, stdin=stdin or subprocess.DEVNULL,
                          timeout=300)


def import_files(*args):
    """(finished process, Capture or None)"""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'out.data')
        done = run('import', '-o', path, *args)
        if done.returncode:
            return done, None
        shown = run('dump', path)
        if shown.returncode:
            raise AssertionError(shown.stderr)
        return done, Capture(shown.stdout.decode('utf-8', 'replace'))


def import_text(text, *args):
    with tempfile.NamedTemporaryFile(suffix='.json') as file:
        file.write(text if isinstance(text, bytes) else text.encode())
        file.flush()
        return import_files(*args, file.name)
