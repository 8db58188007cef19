# SPDX-License-Identifier: Apache-2.0
"""pyopencl_scale.py COUNT: launches a kernel COUNT times each from two Python functions."""
import sys

try:
    import numpy
    import pyopencl as cl
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(77)

SOURCE = """
kernel void twice(global float *x) { x[get_global_id(0)] *= 2.0f; }
kernel void half_of(global float *x) { x[get_global_id(0)] *= 0.5f; }
"""


def pocl():
    for platform in cl.get_platforms():
        if platform.name == 'Portable Computing Language':
            return platform.get_devices()
    sys.exit(77)


def forth(program, queue, data):
    program.twice(queue, (1024,), (64,), data)


def back(kernel, queue, data):
    # A kernel of all_kernels(), which OpenCL makes without being told a name.
    kernel.set_args(data)
    cl.enqueue_nd_range_kernel(queue, kernel, (1024,), None)


count = int(sys.argv[1])
context = cl.Context(pocl())
queue = cl.CommandQueue(context)
program = cl.Program(context, SOURCE).build()
kernels = {kernel.function_name: kernel for kernel in program.all_kernels()}
host = numpy.ones(1024, dtype=numpy.float32)
data = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=host)
for _ in range(count):
    forth(program, queue, data)
    back(kernels['half_of'], queue, data)
cl.enqueue_copy(queue, host, data)
assert (host == 1.0).all()
