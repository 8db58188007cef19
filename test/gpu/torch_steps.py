# SPDX-License-Identifier: Apache-2.0
"""A small training and a decode loop with a CUDA graph, for test/gpu/run. Prints milliseconds a step."""
import sys
import time

import torch

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 5


def timed(name, step):
    for _ in range(10):
        step()
    torch.cuda.synchronize()
    start, count = time.time(), 0
    while time.time() - start < SECONDS:
        step()
        count += 1
    torch.cuda.synchronize()
    print(f'{name}_ms_per_step {(time.time() - start) * 1e3 / count:.4f}', flush=True)


def train():
    model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(),
                                torch.nn.Linear(4096, 1024)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    x = torch.randn(512, 1024, device='cuda')

    def step():
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()

    timed('train', step)


def decode():
    layers = [torch.nn.Linear(2048, 2048, bias=False).cuda().half() for _ in range(16)]
    x = torch.randn(1, 2048, device='cuda', dtype=torch.half)

    def forward():
        y = x
        for layer in layers:
            y = torch.nn.functional.gelu(layer(y))
        return y

    with torch.no_grad():
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            forward()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            forward()
        timed('decode', graph.replay)


train()
decode()
