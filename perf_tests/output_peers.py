#!/usr/bin/env python3
# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times other implementations of running maxima, logarithms of sums and recurrences on a GPU.

    perf_tests/output_peers.py [--seconds 60] [--log2-elements 28]

Shapes are those of cuda/outputs.cu, (outer, n, inner) with the scan along n, of floats: PyTorch's
cummax (with its int64 indices) and logcumsumexp, torch.associative_scan compiled, and a Triton
kernel like that of accelerated-scan: one program per line, which composes affine maps by
tl.associative_scan and carries the last state from block to block. Each time is the median of 7 in
microseconds, printed with that of a copy of as many bytes. Cases that would exceed the time limit,
for example in compilation, are omitted.
"""

import argparse
import signal
import statistics
import time

import torch

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

if triton is not None:

    @triton.jit
    def compose(a, b, c, d):
        """h -> c (a h + b) + d."""
        return a * c, b * c + d

    @triton.jit
    def recurrence_kernel(a, b, h, n, BLOCK: tl.constexpr):
        line = tl.program_id(0).to(tl.int64) * n
        state = 0.0
        for begin in range(0, n, BLOCK):
            k = begin + tl.arange(0, BLOCK)
            inside = k < n
            x = tl.load(a + line + k, mask=inside, other=1.0)
            y = tl.load(b + line + k, mask=inside, other=0.0)
            x, y = tl.associative_scan((x, y), 0, compose)
            result = x * state + y
            tl.store(h + line + k, result, mask=inside)
            state = tl.sum(tl.where(k - begin == BLOCK - 1, result, 0.0), 0)


def microseconds(work):
    """The median of 7."""
    work()
    times = []
    for _ in range(7):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        work()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1e3)
    return statistics.median(times)


def associative(a, b):
    from torch._higher_order_ops.associative_scan import associative_scan

    def combine(x, y):
        return x[0] * y[0], y[0] * x[1] + y[1]

    return associative_scan(combine, (a, b), dim=1, combine_mode="pointwise")[1]


def peers(a, b):
    """(what, bytes an element, function)"""
    yield "torch.cummax", 16, lambda: torch.cummax(b, 1)
    yield "torch.logcumsumexp", 8, lambda: torch.logcumsumexp(b, 1)
    compiled = torch.compile(associative)
    yield "recurrence, torch.associative_scan compiled", 12, lambda: compiled(a, b)
    if triton is not None and b.shape[2] == 1:
        n = b.shape[1]
        h = torch.empty_like(b)
        for block, warps in ((1024, 4), (4096, 8)):
            if block > 2 * triton.next_power_of_2(n):
                continue
            yield (f"recurrence, Triton, blocks of {block}", 12,
                   lambda block=block, warps=warps: recurrence_kernel[(b.shape[0],)](
                       a, b, h, n, BLOCK=block, num_warps=warps))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--log2-elements", type=int, default=28)
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    elements = 1 << options.log2_elements
    shapes = [(elements // 4096, 4096, 1), (elements >> 22, 1 << 20, 1), (8, 4096, elements >> 17),
              (1 << 20, 72, 1), (1, 72, 1 << 20)]

    def stop(*_):
        raise TimeoutError("out of time")

    signal.signal(signal.SIGALRM, stop)
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, Triton "
          f"{triton.__version__ if triton else 'none'}")
    print("| what | (outer, n, inner) | us | a copy of its bytes, us |\n|---|---|---|---|")
    for shape in shapes:
        a = torch.rand(shape, device="cuda") * 2 - 1
        b = torch.rand(shape, device="cuda") * 2 - 1
        for what, size, work in peers(a, b):
            left = end - time.monotonic()
            if left < 1:
                return
            signal.setitimer(signal.ITIMER_REAL, left)
            try:
                time_of_work = f"{microseconds(work):.1f}"
            except Exception as error:  # what fails is a result as well
                time_of_work = f"{type(error).__name__}: {str(error).splitlines()[0][:80]}"
            signal.setitimer(signal.ITIMER_REAL, 0)
            half = a.numel() * size // 2
            source = torch.empty(half, dtype=torch.uint8, device="cuda")
            to = torch.empty_like(source)
            copy = microseconds(lambda: to.copy_(source))
            print(f"| {what} | {shape} | {time_of_work} | {copy:.1f} |", flush=True)
            del source, to


if __name__ == "__main__":
    main()
