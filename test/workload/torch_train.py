# SPDX-License-Identifier: Apache-2.0
"""Trains a small network on the CPU for some seconds, and says when it is
under way: python3 torch_train.py SECONDS"""
import sys
import time

import torch


def step(model, optimizer, x, y):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss


def main(seconds):
    torch.manual_seed(1)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(),
                                torch.nn.Linear(8 * 14 * 14, 64), torch.nn.ReLU(),
                                torch.nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = torch.randn(32, 3, 16, 16), torch.randint(0, 10, (32,))
    end = time.monotonic() + seconds
    steps = 0
    while time.monotonic() < end:
        step(model, optimizer, x, y)
        steps += 1
        if steps == 10:
            print("under way", flush=True)
    print(steps, "steps")


main(float(sys.argv[1]))
