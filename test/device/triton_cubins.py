# SPDX-License-Identifier: Apache-2.0
"""usage: triton_cubins.py FOLDER: kernels compiled by Triton for several architectures, without a GPU."""
import os
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def silu(x):
    return x * tl.sigmoid(x)


@triton.jit
def gated(x_ptr, y_ptr, o_ptr, n, SIZE: tl.constexpr):
    at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    mask = at < n
    x = tl.load(x_ptr + at, mask=mask)
    y = tl.load(y_ptr + at, mask=mask)
    tl.store(o_ptr + at, silu(x) + y, mask=mask)


@triton.jit
def softmax(x_ptr, y_ptr, n, SIZE: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, SIZE)
    x = tl.load(x_ptr + row * n + at, mask=at < n, other=-float("inf"))
    x = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * n + at, x / tl.sum(x, axis=0), mask=at < n)


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, n, SIZE: tl.constexpr):
    rows = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    columns = tl.program_id(1) * SIZE + tl.arange(0, SIZE)
    inner = tl.arange(0, SIZE)
    c = tl.zeros((SIZE, SIZE), dtype=tl.float32)
    for k in range(0, n, SIZE):
        a = tl.load(a_ptr + rows[:, None] * n + (k + inner)[None, :])
        b = tl.load(b_ptr + (k + inner)[:, None] * n + columns[None, :])
        c += tl.dot(a, b)
    tl.store(c_ptr + rows[:, None] * n + columns[None, :], silu(c))


KERNELS = {
    gated: ({"x_ptr": "*fp32", "y_ptr": "*fp32", "o_ptr": "*fp32", "n": "i32"}, 256),
    softmax: ({"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32"}, 1024),
    matmul: ({"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp32", "n": "i32"}, 64),
}

for kernel, (signature, size) in KERNELS.items():
    for sm in 75, 80, 89, 90, 100, 120:
        source = ASTSource(fn=kernel, signature={**signature, "SIZE": "constexpr"},
                           constexprs={"SIZE": size})
        made = triton.compile(source, target=GPUTarget("cuda", sm, 32))
        path = os.path.join(sys.argv[1], "%s-%d.cubin" % (kernel.__name__, sm))
        with open(path, "wb") as file:
            file.write(made.asm["cubin"])
