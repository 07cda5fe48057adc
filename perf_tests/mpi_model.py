#!/usr/bin/env python3
# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mpi_model.py: the time of a scan over ranks, by the model of docs/mpi.md.

For the tree it simulates the steps of impl/ranks/tree.hpp for a rank in the middle. In order, the last rank waits for
as many blocks as there are ranks before it (impl/ranks/pipeline.hpp).
"""

import math

ELEMENT = 8  # size of an element and of an accumulator in bytes
COPY = 4.0e12  # bytes per second that a copy reads and writes on one GPU
STEP = 20e-6  # overhead of a step in seconds: kernel launches (docs/limits.md)
IN_ORDER = 0.9  # speed of an in-order scan of many lines, as a fraction of a copy
LINKS = {"NVLink": (5e-6, 400e9), "400 Gb/s": (5e-6, 45e9)}  # latency in s, bytes per second


def blocks_of(lines, part, in_order=False, ranks=4):
    """cut_into_blocks of tuning.hpp with the BlockSizes of devices, for lines that are contiguous."""
    block, least, few = (64 << 20, 32768, 256) if in_order else ((64 if ranks == 2 else 256) << 20, 16, 8)
    fit = block // part
    wanted = max(fit, -(-lines // 256)) if fit >= least else max(least, -(-lines // few))
    return -(-lines // min(wanted, lines))


def time_of(ranks, lines, length, latency, bandwidth, reread):
    """Seconds. `reread` is the cost of the second read beside one from memory."""
    bytes_of_part = lines * length * ELEMENT
    fold = bytes_of_part / COPY
    scan = bytes_of_part * (1 + reread) / COPY
    rounds = math.ceil(math.log2(ranks))
    if rounds == 0:
        return 2 * bytes_of_part / COPY
    blocks = blocks_of(lines, length * ELEMENT, ranks=ranks)
    message = latency + lines / blocks * ELEMENT / bandwidth
    if ranks == 2 and blocks >= 4:  # a chain, without folds
        return 2 * latency + (blocks + 1) * (STEP + max(scan / blocks, message))
    total = 2 * rounds * latency  # the agreement
    for step in range(blocks + rounds):
        work = (fold / blocks if step < blocks else 0) + (scan / blocks if step >= rounds else 0)
        travelling = min(step, blocks - 1) - max(0, step - rounds + 1) + 1
        total += STEP + max(work, message if travelling > 0 else 0, travelling * (message - latency))
    return total


def time_in_order(ranks, lines, length, latency, bandwidth):
    """Seconds."""
    bytes_of_part = lines * length * ELEMENT
    blocks = blocks_of(lines, length * ELEMENT, in_order=True)
    scan = 2 * bytes_of_part / COPY / IN_ORDER / blocks
    message = latency + lines / blocks * ELEMENT / bandwidth
    rounds = math.ceil(math.log2(ranks))
    return 2 * rounds * latency + (blocks + ranks - 1) * (STEP + max(scan, message))


for name, (lines, length) in {
    "4194304 lines of 32 a rank": (1 << 22, 32),
    "131072 lines of 1024 a rank": (131072, 1024),
    "4096 lines of 32768 a rank": (4096, 32768),
    "1 line of 2^27 a rank": (1, 1 << 27),
}.items():
    print(f"\n{name}, doubles, 1 GiB a rank\n")
    blocks = blocks_of(lines, length * ELEMENT)
    print(f"{blocks} blocks by a tree, {blocks_of(lines, length * ELEMENT, in_order=True)} in order\n")
    print("| ranks | rounds | MB sent by a rank, at most | " + " | ".join(LINKS)
          + " | MB sent in order | " + " | ".join(f"in order, {link}" for link in LINKS) + " |")
    print("|---|---|---|---|---|---|---|---|")
    for ranks in (2, 4, 16, 64, 256, 1024, 4096):
        rounds = math.ceil(math.log2(ranks))
        alone = time_of(1, lines, length, 0, 1, 1)
        fractions = [alone / time_of(ranks, lines, length, *link, 1) for link in LINKS.values()]
        sent = rounds * lines * ELEMENT / 1e6
        # Fewer lines than that have the rate of the chain, which the model knows nothing of.
        in_order = [alone / time_in_order(ranks, lines, length, *link) if lines >= 32768 else math.nan
                    for link in LINKS.values()]
        print(f"| {ranks} | {rounds} | {sent:.3g} | " + " | ".join(f"{f:.2f}" for f in fractions)
              + f" | {lines * ELEMENT / 1e6:.3g} | " + " | ".join(f"{f:.3f}" for f in in_order) + " |")
