# SPDX-License-Identifier: Apache-2.0
"""What the interpreter that runs this says of the lines of its own standard library's code objects:

    oracle.py OUT [FILES]

For each code object: first line, size of its line table, the table, number of (offset, line), those; all
numbers are 32 bits, little endian; line 0: none."""
import dis
import glob
import marshal
import os
import struct
import sys
import sysconfig
import types


def starts(code):
    if hasattr(code, 'co_lines'):
        found = []
        for start, end, line in code.co_lines():
            if end > start:
                found.append((start, line or 0))
                found.append((end - 2, line or 0))
        return found
    return list(dis.findlinestarts(code))


def put(out, code):
    table = code.co_linetable if hasattr(code, 'co_linetable') else code.co_lnotab
    lines = starts(code)
    out.write(struct.pack('<II', code.co_firstlineno, len(table)) + table)
    out.write(struct.pack('<I', len(lines)))
    out.write(b''.join(struct.pack('<II', *pair) for pair in lines))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            put(out, constant)


def main():
    folder = sysconfig.get_paths()['stdlib']
    names = sorted(glob.glob(os.path.join(folder, '*.py')) + glob.glob(os.path.join(folder, '*/*.py')))
    with open(sys.argv[1], 'wb') as out:
        for name in names[:int(sys.argv[2]) if len(sys.argv) > 2 else None]:
            try:
                with open(name, 'rb') as source:
                    put(out, compile(source.read(), name, 'exec'))
            except (SyntaxError, ValueError): # tests of the compiler
                pass


main()
