#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""torch_ranks.py FOLDER [MS...]: ranks that compute for so many milliseconds and then reduce with
gloo, ten times, each traced by torch.profiler into FOLDER/rankN.json."""
import os
import socket
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def rank_main(rank, folder, port, milliseconds):
    os.environ.update(MASTER_ADDR='127.0.0.1', MASTER_PORT=str(port))
    torch.set_num_threads(1)
    dist.init_process_group('gloo', rank=rank, world_size=len(milliseconds))
    values = torch.ones(100000)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        for _ in range(10):
            with torch.profiler.record_function('compute'):
                time.sleep(milliseconds[rank] / 1000)
            dist.all_reduce(values)
    profiler.export_chrome_trace(f'{folder}/rank{rank}.json')


if __name__ == '__main__':
    with socket.socket() as found:
        found.bind(('127.0.0.1', 0))
        free = found.getsockname()[1]
    times = [float(ms) for ms in sys.argv[2:]]
    mp.spawn(rank_main, (sys.argv[1], free, times), nprocs=len(times))
