#SPDX - License - Identifier : Apache - 2.0
"""Writes the corpus of the import targets: import_corpus.py FOLDER (test/fuzz/corpus)."""
import gzip
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'import'))
import fixtures  # noqa: E402


def write(folder, name, data):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), 'wb') as file:
        file.write(data.encode() if isinstance(data, str) else data)


def main(root):
    chrome = os.path.join(root, 'import_chrome')
    for name in ('basic', 'backward', 'graph', 'proton', 'inside', 'flex'):
        write(chrome, name, fixtures.text(getattr(fixtures, name)()))
    write(chrome, 'backward_sequence', fixtures.text(fixtures.backward('sequence')))
    write(chrome, 'gzip', gzip.compress(fixtures.text(fixtures.basic()).encode(), mtime=0))
    for name, data, *_ in fixtures.malformed():
        write(chrome, 'malformed_' + re.sub(r'\W+', '_', name), data)
    write(os.path.join(root, 'import_hatchet'), 'tree', fixtures.text(fixtures.hatchet()))
    write(os.path.join(root, 'import_rocprof'), 'dispatch', fixtures.text(fixtures.rocprof()))
    write(os.path.join(root, 'import_folded'), 'stacks', fixtures.folded())
    write(os.path.join(root, 'import_folded'), 'odd', 'a 1\nb\n;; 2\n#c\na;b 3 4\nc 1.5\nd -1\n 5')


main(sys.argv[1])
