# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times the overhead of a call, on 1 x 8 elements, compared with PyTorch and NumPy:

    scripts/python python/perf_tests/overhead.py [--device cuda|cpu]

Prints microseconds per call, the best of several alternating rounds. On CUDA devices calls are
enqueued without waiting, so this is host time.
"""

import argparse
import time

import numpy as np
import torch

import kokkos_scan
import kokkos_scan.torch as kt


class TorchCumSum(torch.nn.Module):
    def forward(self, x):
        return torch.cumsum(x, 1)


def best(programs, synchronize, calls=5000, rounds=15):
    times = dict.fromkeys(programs, float("inf"))
    for _ in range(rounds):
        for name, program in programs.items():
            synchronize()
            began = time.perf_counter()
            for _ in range(calls):
                program()
            synchronize()
            times[name] = min(times[name], (time.perf_counter() - began) / calls)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    device = parser.parse_args().device
    synchronize = torch.cuda.synchronize if device == "cuda" else lambda: None
    x = torch.rand(1, 8, device=device)
    needed = x.clone().requires_grad_()
    mask = x > 0.5
    a = np.random.rand(1, 8).astype("float32")
    module, their_module = kt.CumSum(1), TorchCumSum()
    pairs = {
        "cumsum": (lambda: kt.cumsum(x, 1), lambda: torch.cumsum(x, 1)),
        "cumprod": (lambda: kt.cumprod(x, 1), lambda: torch.cumprod(x, 1)),
        "reversed cumsum": (lambda: kt.cumsum(x, 1, reverse=True),
                            lambda: torch.cumsum(x.flip(1), 1).flip(1)),
        "exclusive cumsum": (lambda: kt.cumsum(x, 1, exclusive=True), lambda: torch.cumsum(x, 1) - x),
        "masked cumsum": (lambda: kt.cumsum(x, 1, mask=mask), lambda: torch.cumsum(x * mask, 1)),
        "cumsum that is differentiated": (lambda: kt.cumsum(needed, 1),
                                          lambda: torch.cumsum(needed, 1)),
        "module": (lambda: module(x), lambda: their_module(x)),
    }
    if device == "cpu":
        pairs["NumPy array"] = (lambda: kokkos_scan.cumulative_sum(a, axis=1),
                                lambda: np.cumulative_sum(a, axis=1))
    print(f"1 x 8 float32 on {device}, microseconds a call\n")
    print("| call | kokkos_scan | PyTorch, NumPy | times as long |")
    print("|---|---|---|---|")
    for name, (ours, theirs) in pairs.items():
        found = best({"ours": ours, "theirs": theirs}, synchronize)
        print(f"| {name} | {1e6 * found['ours']:.2f} | {1e6 * found['theirs']:.2f} | "
              f"{found['ours'] / found['theirs']:.2f} |")


if __name__ == "__main__":
    main()
