# SPDX-License-Identifier: Apache-2.0
"""Traces as torch.profiler writes them, for tests of this folder."""


def span(category, name, start, duration, pid=10, **args):
    """Microseconds. Kernels are on the device's stream, the rest is on the one thread."""
    place = (0, 7) if category == 'kernel' else (pid, pid)
    return {'ph': 'X', 'cat': category, 'name': name, 'pid': place[0], 'tid': place[1],
            'ts': round(start, 3), 'dur': round(duration, 3), 'args': args}


def step(copy, begin=0):
    """The device's window is 100 to 400 us: gemm 50 + 30, @copy 100, idle 120."""
    events = [{'ph': 'M', 'name': 'process_name', 'pid': 10, 'args': {'name': 'python3'}},
              span('python_function', 'train.py(3): main', begin, 500, **{'Python id': 1}),
              span('python_function', 'train.py(9): <step>', begin + 80, 250,
                   **{'Python id': 2, 'Python parent id': 1})]
    for number, (launch, kernel, start, duration) in enumerate(
            [(90, 'gemm', 100, 50), (180, 'gemm', 200, 30), (290, copy, 300, 100)], 1):
        events.append(span('cuda_runtime', 'cudaLaunchKernel', begin + launch, 5,
                           correlation=number))
        events.append(span('kernel', kernel, begin + start, duration, correlation=number, device=0,
                           stream=7))
    return events
