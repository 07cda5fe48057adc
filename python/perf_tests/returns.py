# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times the returns of kokkos_scan.torch, and the loop over time that they replace:

    scripts/python python/perf_tests/returns.py [--device cuda|cpu] [--no-loop]

float32, with ends of episodes; (time, environments) and (environments, time). Times are medians in us of calls that
alternate. A copy moves as many bytes as the function must read and write.
"""

import argparse

import torch

import kokkos_scan
import kokkos_scan.torch as kt
from operators import medians

SHAPES = [(64, 64), (64, 8192), (2048, 8192), (128, 65536), (4096, 4096)]


def loop(rewards, values, next_value, done):
    """Generalised advantage estimates, step by step along the first dimension."""
    goes_on = 1 - done.to(rewards.dtype)
    advantages = torch.empty_like(rewards)
    advantage, value = torch.zeros_like(next_value), next_value
    for t in range(len(rewards) - 1, -1, -1):
        delta = rewards[t] + 0.99 * goes_on[t] * value - values[t]
        advantages[t] = advantage = delta + 0.99 * 0.95 * goes_on[t] * advantage
        value = values[t]
    return advantages, advantages + values


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--no-loop", action="store_true", help="leave the loop out")
    options = parser.parse_args()
    device = options.device
    name = torch.cuda.get_device_name() if device == "cuda" else f"{torch.get_num_threads()} threads"
    print(f"{name}, PyTorch {torch.__version__}, {kokkos_scan.configuration()}, medians of {options.repetitions}\n")
    print("| function | shape, dim of time | us | of a copy | the loop, us |\n|---|---|---|---|---|")
    for shape in SHAPES:
        for dim in (0, 1):
            size = shape if dim == 0 else shape[::-1]
            rewards, values = torch.randn(size, device=device), torch.randn(size, device=device)
            next_value = torch.randn(shape[1], device=device)
            done = torch.rand(size, device=device) < 0.01
            programs = {"gae": (17, lambda: kt.gae(rewards, values, next_value, done, dim=dim)),
                        "discounted_sum": (9, lambda: kt.discounted_sum(rewards, 0.99, dim, done))}
            for title, (bytes_of_element, ours) in programs.items():
                source = torch.zeros(bytes_of_element * rewards.numel() // 2, dtype=torch.uint8, device=device)
                to = torch.empty_like(source)
                timed = {"ours": ours, "copy": lambda: to.copy_(source)}
                if title == "gae" and dim == 0 and not options.no_loop:
                    timed["loop"] = lambda: loop(rewards, values, next_value, done)
                ms = medians(timed, device, options.repetitions)
                of_loop = f"{1000 * ms['loop']:.0f}" if "loop" in ms else "-"
                print(f"| {title} | {size}, {dim} | {1000 * ms['ours']:.1f} | {ms['copy'] / ms['ours']:.2f} | "
                      f"{of_loop} |", flush=True)


if __name__ == "__main__":
    main()
