# SPDX-License-Identifier: Apache-2.0
"""python_inner.py SECONDS: an interpreter in the interpreter, on the same thread, that works for so many
seconds of CPU time. Exit status 77 is "this Python has none"."""
import sys

try:
    import _interpreters as interpreters
except ImportError:
    try:
        import _xxsubinterpreters as interpreters
    except ImportError:
        sys.exit(77)

INNER = '''
import time
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
def inner():
    burn(%s)
inner()
'''


def outer():
    number = interpreters.create()
    interpreters.run_string(number, INNER % sys.argv[1])


outer()
