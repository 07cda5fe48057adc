#!/usr/bin/env python3
# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mpi_model.py: what a scan over ranks costs, by the model of docs/mpi.md.

It walks through the steps of the blocks, as impl/mpi/scan.hpp does, for a rank in the middle.
"""

import math

ELEMENT = 8  # bytes of an element and of an accumulator
COPY = 4.0e12  # bytes a second that a copy reads and writes on one GPU
BLOCK = 8 << 20  # default_block_bytes on devices
LINKS = {"NVLink": (5e-6, 400e9), "400 Gb/s": (5e-6, 45e9)}  # latency in s, bytes a second


def blocks_of(lines, part):
    """cut_into_blocks of tuning.hpp, for lines that are contiguous."""
    fit = BLOCK // part
    wanted = max(fit, -(-lines // 256)) if fit >= 16 else max(16, -(-lines // 8))
    return -(-lines // min(wanted, lines))


def time_of(ranks, lines, length, latency, bandwidth, reread):
    """Seconds. `reread` is the cost of the second read beside one from memory."""
    bytes_of_part = lines * length * ELEMENT
    fold = bytes_of_part / COPY
    scan = bytes_of_part * (1 + reread) / COPY
    rounds = math.ceil(math.log2(ranks))
    if rounds == 0:
        return 2 * bytes_of_part / COPY
    blocks = blocks_of(lines, length * ELEMENT)
    message = latency + lines / blocks * ELEMENT / bandwidth
    total = 2 * rounds * latency  # the agreement
    for step in range(blocks + rounds):
        work = (fold / blocks if step < blocks else 0) + (scan / blocks if step >= rounds else 0)
        travelling = min(step, blocks - 1) - max(0, step - rounds + 1) + 1
        total += max(work, message if travelling > 0 else 0, travelling * (message - latency))
    return total


for name, (lines, length) in {
    "131072 lines of 1024 a rank": (131072, 1024),
    "4096 lines of 32768 a rank": (4096, 32768),
    "1 line of 2^27 a rank": (1, 1 << 27),
}.items():
    print(f"\n{name}, doubles, 1 GiB a rank\n")
    print("| ranks | rounds | MB sent by a rank, at most | " + " | ".join(LINKS) + " |")
    print("|---|---|---|---|---|")
    for ranks in (4, 16, 64, 256, 1024, 4096):
        rounds = math.ceil(math.log2(ranks))
        alone = time_of(1, lines, length, 0, 1, 1)
        fractions = [alone / time_of(ranks, lines, length, *link, 1) for link in LINKS.values()]
        sent = rounds * lines * ELEMENT / 1e6
        print(f"| {ranks} | {rounds} | {sent:.6g} | " + " | ".join(f"{f:.2f}" for f in fractions) + " |")
