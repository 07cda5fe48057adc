#!/usr/bin/env python3
# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures scans of NumPy and PyTorch on a CPU.

    perf_tests/host_peers.py --out peers.json [--seconds 60] [--mib 256] [--threads N]
    perf_tests/host_peers.py --random FILE --out peers.json [--threads N]

Shapes, names and counters are those of perf_scan: medians, measured alternately with copies of the
same bytes by NumPy and PyTorch. NumPy uses one thread. With --random, it measures sums of PyTorch in
the shapes of a file written by perf_random, and compares fractions of a copy. If kokkos_scan can be
imported (scripts/python perf_tests/host_peers.py ...), it is measured alternately with PyTorch: the
ratio of times, with a given output and with new tensors.
"""

import argparse
import json
import os
import statistics
import time

import numpy as np
import torch

try:
    import kokkos_scan.torch
except ImportError:
    kokkos_scan = None


def cumsum_backward(x, axis):
    return torch.flip(torch.cumsum(torch.flip(x, [axis]), axis), [axis])


def scans(x, y, mask, axis):
    """{(variant, peer): a function that scans x}, with results in y if the peer supports that."""
    tx, ty = torch.from_numpy(x), torch.from_numpy(y)
    made = {
        ("", "numpy"): lambda: np.cumsum(x, axis=axis, out=y, dtype=y.dtype),
        ("", "torch"): lambda: torch.cumsum(tx, axis, out=ty, dtype=ty.dtype),
    }
    if mask is not None:
        tm = torch.from_numpy(mask)
        made |= {
            ("/prod", "numpy"): lambda: np.cumprod(x, axis=axis, out=y),
            ("/prod", "torch"): lambda: torch.cumprod(tx, axis, out=ty),
            ("/max", "numpy"): lambda: np.maximum.accumulate(x, axis=axis, out=y),
            ("/max", "torch"): lambda: torch.cummax(tx, axis),
            ("/backward", "torch"): lambda: cumsum_backward(tx, axis),
            ("/masked", "torch"): lambda: torch.cumsum(tx * tm, axis, out=ty),
        }
    return made


def seconds(work):
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def measure(work, copies, size):
    """The fields of a benchmark. `size` is the number of bytes that the work moves."""
    work()
    once = seconds(work)
    repeat = max(1, int(2e-4 / once))  # repeat short work
    rounds = min(max(int(0.3 / (once * repeat)), 1), 15)
    times, rates = [], [[] for _ in copies]
    for _ in range(rounds):
        times.append(seconds(lambda: [work() for _ in range(repeat)]) / repeat)
        for (copy, copied), way in zip(copies, rates):
            way.append(copied * repeat / seconds(lambda: [copy() for _ in range(repeat)]))
    rate = size / statistics.median(times)
    return {
        "real_time": statistics.median(times) * 1e3,
        "time_unit": "ms",
        "bytes_per_second": rate,
        "fraction_of_copy": rate / max(statistics.median(way) for way in rates),
        "rounds": rounds,
    }


def shapes(count):
    """(extents, axis, whether to measure variants), the most important first."""
    yield (count // 32768, 32768), 1, True
    yield (count // 32768, 32768), 0, True
    for n in (16, 8, 64, 1024, 4096, 2, 262144, 16777216, count):
        if n > count:
            continue
        yield ((count,), 0, False) if n == count else ((count // n, n), 1, False)
    yield (count // 8, 8), 0, False
    yield (512, 4096), 1, False


def print_quantiles(what, fractions):
    fractions = sorted(fractions)
    print(f"{what}: worst {fractions[0]:.3g}, tenth {fractions[len(fractions) // 10]:.3g}, "
          f"median {fractions[len(fractions) // 2]:.3g}")


def measure_random(path, threads):
    """The cases of a file of perf_random, each with seconds of PyTorch and of its copy."""
    with open(path, encoding="utf-8") as file:
        results = json.load(file)
    dtype = {"float": torch.float32, "double": torch.float64}.get(results["type"])
    dtype = dtype or getattr(torch, results["type"])
    if results["variant"] != "sum" or results["threads"] != threads:
        raise SystemExit(f"{path} is of {results['variant']} on {results['threads']} threads")
    for case in results["cases"]:
        x = torch.randint(-3, 4, case["shape"]).to(dtype)
        y = torch.zeros_like(x)
        ways = {
            "torch": lambda: torch.cumsum(x, 1, out=y, dtype=dtype),
            "torch_copy": lambda: y.copy_(x),
        }
        if kokkos_scan:
            ways |= {
                "torch_new": lambda: torch.cumsum(x, 1, dtype=dtype),
                "scan_new": lambda: kokkos_scan.torch.cumsum(x, 1),
                "scan_given": lambda: kokkos_scan.cumulative_sum(x, axis=1, out=y),
            }
        times = {way: [] for way in ways}
        for round_ in range(7):
            for way, work in ways.items():
                took = seconds(work)
                if round_ > 0:
                    times[way].append(took)
        case |= {way: min(of_way) for way, of_way in times.items()}
        print(case["shape"], end="")
        if kokkos_scan:
            case["times_torch"] = case["torch"] / case["scan_given"]
            case["times_torch_new"] = case["torch_new"] / case["scan_new"]
            print(f" {case['times_torch_new']:.2f} with new tensors,", end="")
        else:
            case["times_torch"] = (case["copy"] / case["scan"]) / (case["torch_copy"] / case["torch"])
        print(f" {case['times_torch']:.2f} times PyTorch", flush=True)
    print_quantiles("times PyTorch", [case["times_torch"] for case in results["cases"]])
    if kokkos_scan:
        print_quantiles("with new tensors", [case["times_torch_new"] for case in results["cases"]])
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True, help="the result file")
    parser.add_argument("--seconds", type=float, default=60, help="no case begins later")
    parser.add_argument("--mib", type=int, default=256, help="the size of the inputs")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--random", metavar="FILE", help="what perf_random --json wrote")
    arguments = parser.parse_args()

    torch.set_num_threads(arguments.threads)
    if arguments.random:
        results = measure_random(arguments.random, arguments.threads)
        with open(arguments.out, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
        return
    context = {"numpy": np.__version__, "torch": torch.__version__,
               "host_threads": str(arguments.threads)}
    benchmarks = []
    began = time.monotonic()
    random = np.random.default_rng(1)
    for extents, axis, with_variants in shapes(arguments.mib * 2**18):
        x = random.random(extents, dtype=np.float32)
        y = np.zeros_like(x)
        mask = random.random(extents, dtype=np.float32) < 0.5 if with_variants else None
        tx, ty = torch.from_numpy(x), torch.from_numpy(y)
        copies = [(lambda: np.copyto(y, x), 2 * x.nbytes), (lambda: ty.copy_(tx), 2 * x.nbytes)]
        for (variant, peer), work in scans(x, y, mask, axis).items():
            if time.monotonic() - began > arguments.seconds:
                break
            size = 2 * x.nbytes + (mask.nbytes if variant == "/masked" else 0)
            name = (f"inclusive_scan/OpenMP/float/{'x'.join(map(str, extents))}/axis:{axis}{variant}"
                    f"/peer:{peer}")
            benchmarks.append({"name": name, **measure(work, copies, size)})
            print(f"{name}: {benchmarks[-1]['fraction_of_copy']:.3f}", flush=True)
    with open(arguments.out, "w", encoding="utf-8") as file:
        json.dump({"context": context, "benchmarks": benchmarks}, file, indent=1)


if __name__ == "__main__":
    main()
