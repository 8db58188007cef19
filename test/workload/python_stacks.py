# SPDX-License-Identifier: Apache-2.0
"""Work whose every Python stack is known: burn() takes the time, and writes down once who called it,
as the interpreter itself says.

    python_stacks.py TRUTH SECONDS [exec OTHER_PYTHON]

The seconds are of its own CPU time, so that there is as much to see on a busy machine.
A line of the file TRUTH is the frames above burn(), innermost first, "name|file|line" with tabs between
them. For Python 3.8 and later.
"""
import asyncio
import contextlib
import ctypes
import functools
import multiprocessing
import os
import re
import sys
import threading
import time

TRUTH = sys.argv[1] if len(sys.argv) > 1 else os.environ['PYTHON_STACKS_TRUTH']
SEEN = set()
STEPS = 30000


def burn(steps=STEPS):
    note(sys._getframe(1))
    total = 0
    for i in range(steps):
        total += i ^ 3
    return total


def note(frame):
    chain = []
    while frame:
        code = frame.f_code
        name = getattr(code, 'co_qualname', code.co_name)
        chain.append((name, code.co_filename, frame.f_lineno))
        frame = frame.f_back
    chain = tuple(chain)
    if chain in SEEN:
        return
    SEEN.add(chain)
    with open(TRUTH, 'a') as out:
        out.write('\t'.join('%s|%s|%d' % f for f in chain) + '\n')


def recursion(depth):
    if depth == 0:
        return burn()
    return 1 + recursion(depth - 1)


def deep():
    return recursion(300)


def generator(count):
    for _ in range(count):
        yield burn()


def delegating():
    yield from generator(2)


def generators():
    for _ in delegating():
        pass
    return sum(generator(2)) + sum(burn() for _ in range(2))


def thrown():
    def inner():
        try:
            yield 1
        except ValueError:
            burn()
            yield 2
    g = inner()
    next(g)
    g.throw(ValueError('x'))


async def leaf_coroutine():
    burn()
    await asyncio.sleep(0)
    return burn()


async def middle_coroutine():
    return await leaf_coroutine()


async def asynchronous_generator():
    for _ in range(2):
        yield burn()


async def tasks():
    await asyncio.gather(middle_coroutine(), middle_coroutine())
    async for _ in asynchronous_generator():
        pass


def coroutines():
    asyncio.run(tasks())


def decorator(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)
    return wrapper


@decorator
@decorator
def decorated(*args, **kwargs):
    return burn()


@functools.lru_cache(None)
def cached(key):
    return burn()


def decorators():
    decorated(1, key=2)
    cached(object())
    functools.partial(decorated, 1)(2)


def compare(a, b):
    burn(STEPS // 4)
    return (a > b) - (a < b)


def callbacks():
    list(map(lambda x: burn(), [1, 2]))
    sorted([3, 1, 2], key=lambda x: burn())
    sorted([3, 1, 2], key=functools.cmp_to_key(compare))
    re.sub('x', lambda m: str(burn()), 'axbx')
    max([1, 2], key=lambda x: [burn() for _ in range(2)][0])


QSORT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))


@QSORT
def from_c(a, b):
    burn(STEPS // 4)
    return (a[0] > b[0]) - (a[0] < b[0])


def foreign():
    array = (ctypes.c_int * 4)(4, 2, 3, 1)
    ctypes.CDLL(None).qsort(array, 4, 4, from_c)


def exceptions():
    try:
        try:
            raise KeyError('a')
        except KeyError:
            burn()
            raise ValueError('b')
        finally:
            burn()
    except ValueError:
        burn()


@contextlib.contextmanager
def managed():
    burn()
    yield
    burn()


def contexts():
    with managed():
        burn()
    with contextlib.ExitStack() as stack:
        stack.callback(burn)


class Meta(type):
    def __call__(cls, *args):
        burn()
        return super().__call__(*args)


class Thing(metaclass=Meta):
    def __init__(self, size):
        self.size = size
        burn()

    def __add__(self, other):
        burn()
        return self

    def __getattr__(self, name):
        burn()
        return name

    @property
    def prop(self):
        return burn()

    def __iter__(self):
        burn()
        return iter([1])

    def __enter__(self):
        burn()

    def __exit__(self, *exc):
        burn()

    def __eq__(self, other):
        burn()
        return True

    def __hash__(self):
        burn()
        return 1


class Plain:
    def __init__(self):
        burn()


class Finalised:
    def __del__(self):
        burn()


def holder():
    local = Finalised()
    return 1


def finalisers():
    holder()
    thing = Finalised()
    thing = None
    [Finalised() for _ in range(2)]
    return thing


def classes():
    a = Thing(1)
    a + a
    a.missing
    a.prop
    list(a)
    with a:
        pass
    {a: 1}[a]
    for _ in range(20):
        Plain()

    class Local:
        value = burn()
    return Local


def dynamic():
    exec('burn()\nx = 1\nburn()')
    eval('burn() + 1')
    scope = {'burn': burn}
    exec(compile('def made(n):\n    if n:\n        return made(n - 1)\n\n    return burn()\n'
                 'made(3)\n', '<made é ☃>', 'exec'), scope)
    scope['made'](2)


def comprehensions():
    [burn() for _ in range(2)]
    {i: burn() for i in range(2)}
    {burn() + i for i in range(2)}
    [[burn() for _ in range(1)] for _ in range(2)]


def long_lines(a=None):
    return burn(
        STEPS) + burn(STEPS) + (
            lambda: (
                burn()))()


def threads():
    ready = [threading.Thread(target=f, name=f.__name__)
             for f in (deep, generators, callbacks, coroutines)]
    for t in ready:
        t.start()
    burn()
    for t in ready:
        t.join()


def forks():
    child = os.fork()
    if not child:
        burn()
        callbacks()
        os._exit(0)
    burn()
    os.waitpid(child, 0)


def spawned():
    burn()
    callbacks()


def spawns():
    os.environ['PYTHON_STACKS_TRUTH'] = TRUTH
    child = multiprocessing.get_context('spawn').Process(target=spawned)
    child.start()
    burn()
    child.join()


ONE_BY_ONE = [deep, generators, thrown, coroutines, decorators, callbacks, foreign, exceptions, contexts,
              finalisers, classes, dynamic, comprehensions, long_lines]


def main():
    end = time.process_time() + float(sys.argv[2])
    spawns()
    while time.process_time() < end:
        for function in ONE_BY_ONE:
            function()
        threads()
        forks()
    if sys.argv[3:4] == ['exec']:
        os.execv(sys.argv[4], [sys.argv[4], sys.argv[0], TRUTH, sys.argv[2]])


if __name__ == '__main__':
    main()
