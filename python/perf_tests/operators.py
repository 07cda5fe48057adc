# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times the five operators of kokkos_scan.torch, PyTorch eager and compiled, calls of the kernels
without PyTorch, and a copy:

    scripts/python python/perf_tests/operators.py [--rows R] [--cols C] [--device cuda|cpu]
                                                  [--backward] [--no-compile]

Each row is a median; the programs of a row alternate, so that clock changes affect all alike.
GB/s count the bytes that must be read and written: 8 per element, 9 with a mask. Results are compared
with PyTorch's in float64, a few lines at a time. Each gradient is timed with its forward scan.
"""

import argparse
import platform
import statistics
import time

import torch

import kokkos_scan
import kokkos_scan.torch as kt
from kokkos_scan import _core

OPERATORS = {
    "cumsum": (kt.CumSum(1), lambda x: torch.cumsum(x, 1), (0, False, False, False)),
    "cumprod": (kt.CumProd(1), lambda x: torch.cumprod(x, 1), (1, False, False, False)),
    "reversed cumsum": (kt.ReverseCumSum(1), lambda x: torch.cumsum(x.flip(1), 1).flip(1),
                        (0, False, True, False)),
    "exclusive cumsum": (kt.ExclusiveCumSum(1), lambda x: torch.cumsum(x, 1) - x,
                         (0, True, False, False)),
    "masked cumsum": (kt.MaskedCumSum(1), lambda x, m: torch.cumsum(x * m, 1),
                      (0, False, False, True)),
}


def timer(device):
    """A function that runs a program and returns its milliseconds."""
    if device == "cpu":
        def milliseconds(program):
            began = time.perf_counter()
            program()
            return 1e3 * (time.perf_counter() - began)
    else:
        def milliseconds(program):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            program()
            end.record()
            end.synchronize()
            return begin.elapsed_time(end)
    return milliseconds


def medians(programs, device, repetitions):
    """The median time of each program; they take turns, after one untimed turn each."""
    milliseconds = timer(device)
    times = {name: [] for name in programs}
    for program in programs.values():
        program()
    for _ in range(repetitions):
        for name, program in programs.items():
            times[name].append(milliseconds(program))
    return {name: statistics.median(values) for name, values in times.items()}


def largest_error(module, arguments, composed):
    """The largest |found - exact| / (atol + rtol |exact|) with both tolerances 1e-5."""
    worst = 0.0
    found = module(*arguments)
    for rows in torch.arange(found.shape[0]).split(1024):
        part = slice(int(rows[0]), int(rows[-1]) + 1)
        x = arguments[0][part].double()
        exact = composed(x, *(m[part] for m in arguments[1:]))
        worst = max(worst, ((found[part] - exact).abs() / (1e-5 + 1e-5 * exact.abs())).max().item())
    return worst


def kernel_call(form, x, mask, out, device):
    """The kernels, called without PyTorch's dispatcher or a new tensor."""
    operation, exclusive, reverse, is_masked = form
    stream = (torch.cuda.current_stream().cuda_stream or 1) if device == "cuda" else 0

    def given(t):
        return t.__dlpack__(stream=stream) if stream else t

    def call():
        _core.scan(operation, given(x), given(out), 1, False, exclusive, reverse,
                   given(mask) if is_masked else None, None, None, stream, 0)

    return call


def with_gradient(program, x, weight):
    def call():
        x.grad = None
        program(x).backward(weight)

    return call


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--cols", type=int, default=32768)
    parser.add_argument("--repetitions", type=int, default=15)
    parser.add_argument("--backward", action="store_true", help="forward and gradient")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    options = parser.parse_args()
    device = options.device
    rows = options.rows or (32768 if device == "cuda" else 1024)
    torch.manual_seed(0)
    name = torch.cuda.get_device_name() if device == "cuda" else (
        f"{platform.processor() or platform.machine()}, {torch.get_num_threads()} threads")
    print(f"{rows} x {options.cols} float32 along dim 1, {name}, PyTorch {torch.__version__}, "
          f"{kokkos_scan.configuration()}, medians of {options.repetitions}\n")
    x = torch.rand(rows, options.cols, device=device)
    mask = torch.rand(rows, options.cols, device=device) < 0.5
    out = torch.empty_like(x)
    print("| operator | ms | GB/s | of the copy | kernel call, ms | of its speed | eager, ms | compiled, ms "
          "| error / tolerance |")
    print("|---|---|---|---|---|---|---|---|---|")
    for title, (module, composed, form) in OPERATORS.items():
        values = x
        arguments = (values, mask) if form[3] else (values,)
        programs = {"copy": lambda: out.copy_(values),
                    "kernel": kernel_call(form, values, mask, out, device),
                    "ours": lambda: module(*arguments),
                    "eager": lambda: composed(*arguments)}
        compiled = None if options.no_compile else torch.compile(composed)
        if compiled:
            programs["compiled"] = lambda: compiled(*arguments)
        if options.backward:
            weight = torch.rand_like(values)
            needed = values.clone().requires_grad_()
            rest = arguments[1:]
            programs = {
                "copy": programs["copy"], "kernel": programs["kernel"],
                "ours": with_gradient(lambda v: module(v, *rest), needed, weight),
                "eager": with_gradient(lambda v: composed(v, *rest), needed, weight)}
            if compiled:
                programs["compiled"] = with_gradient(lambda v: compiled(v, *rest), needed, weight)
        ms = medians(programs, device, options.repetitions)
        size = (9 if form[3] else 8) * values.numel()
        of_copy = ms["copy"] * size / (8 * values.numel()) / ms["ours"]
        compiled_ms = f"{ms['compiled']:.3f}" if compiled else "-"
        error = largest_error(module, arguments, composed)
        print(f"| {title} | {ms['ours']:.3f} | {size / ms['ours'] / 1e6:.0f} | {of_copy:.3f} | "
              f"{ms['kernel']:.3f} | {ms['kernel'] / ms['ours']:.3f} | {ms['eager']:.3f} | "
              f"{compiled_ms} | {error:.2f} |", flush=True)


if __name__ == "__main__":
    main()
