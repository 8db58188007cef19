# SPDX-License-Identifier: Apache-2.0
"""Stands still with stacks that it tells of: "main IDENT" or "thread IDENT", then a line
"NAME|FILE|LINE" for each frame, innermost first, "end"; after both waits for its input to end."""
import sys
import threading
import time


def tell(title, frame, plus):
    sys.stdout.write('%s %d\n' % (title, threading.get_ident()))
    while frame:
        code = frame.f_code
        name = getattr(code, 'co_qualname', code.co_name)
        sys.stdout.write('%s|%s|%d\n' % (name, code.co_filename, frame.f_lineno + plus))
        frame, plus = frame.f_back, 0
    sys.stdout.write('end\n')
    sys.stdout.flush()


def stop():
    tell('main', sys._getframe(), 1)
    sys.stdin.read()


class Outer:
    def method(self):
        def inner(depth):
            if depth:
                return inner(depth - 1)
            return list(map(lambda x: stop(), [1]))
        return inner(20)


def generator():
    yield Outer().method()


def waiting(told):
    told.set(tell('thread', sys._getframe(), 1))
    time.sleep(1000)


class Told(threading.Event):
    def set(self, nothing=None):
        super().set()


def named(name, file, call):
    scope = {'call': call}
    exec(compile('\n\ndef %s():\n    return call()\n' % name, file, 'exec'), scope)
    return scope[name]


def main():
    told = Told()
    threading.Thread(target=waiting, args=(told,), daemon=True).start()
    told.wait()
    call = lambda: sum(x or 0 for x in next(generator()))
    # A character of one byte that is not ASCII, of two, of four.
    call = named('d\xe9j\xe0', '<d\xe9j\xe0>', call)
    call = named('\u0441\u043b\u043e\u0432\u043e', '<\u2603>', call)
    call = named('plain', '<\U0001d54f>', call)
    call()


sys.stdout = open(1, 'w', encoding='utf-8', closefd=False)
main()
