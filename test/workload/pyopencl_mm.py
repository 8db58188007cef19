# SPDX-License-Identifier: Apache-2.0
"""pyopencl_mm.py FILE ROUNDS [wait]: what intel_mm does, from Python functions; and where the driver says the code is.
With "wait" it waits for a line or the end of its input then."""
import ctypes
import sys

try:
    import numpy
    import pyopencl as cl
except ImportError:
    print('no pyopencl')
    sys.exit(0)

SIZE, TILE = 64, 16


def multiply_basic(kernels, queue, arguments):
    kernels['mm_basic'](queue, (SIZE, SIZE), (TILE, TILE), *arguments)


def multiply_local(kernels, queue, arguments):
    kernels['mm_local'](queue, (SIZE, SIZE), (TILE, TILE), *arguments)


def multiply_tiled(kernels, queue, arguments):
    kernels['mm_tiled'](queue, (SIZE // 4, SIZE), (TILE, TILE), *arguments)


def main(file, rounds):
    context = cl.Context(cl.get_platforms()[0].get_devices())
    queue = cl.CommandQueue(context)
    with open(file, 'rb') as content:
        content = content.read()
    if content.startswith(b'\177ELF'):
        program = cl.Program(context, context.devices, [content]).build()
    else:
        program = cl.Program(context, content.decode()).build(['-g'])
    kernels = {k.function_name: k for k in program.all_kernels()}
    memory = [cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 * SIZE * SIZE) for _ in range(3)]
    arguments = (numpy.int32(SIZE), *memory)
    for _ in range(rounds):
        multiply_basic(kernels, queue, arguments)
        multiply_local(kernels, queue, arguments)
        multiply_tiled(kernels, queue, arguments)
        queue.finish()
    for name, kernel in kernels.items():
        address = ctypes.c_uint64()
        # CL_KERNEL_BINARY_GPU_ADDRESS_INTEL, which PyOpenCL does not know.
        ctypes.CDLL('libOpenCL.so.1').clGetKernelInfo(
            ctypes.c_void_p(kernel.int_ptr), 0x10010, ctypes.c_size_t(8), ctypes.byref(address),
            None)
        print('kernel', name, 'address', address.value)


main(sys.argv[1], int(sys.argv[2]))
sys.stdout.flush()
if len(sys.argv) > 3:
    sys.stdin.readline()
