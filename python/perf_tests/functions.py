# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times the functions of kokkos_scan.torch other than sums and products, and PyTorch's equivalents:

    scripts/python python/perf_tests/functions.py [--log2-elements 28] [--device cuda|cpu]
                                                  [--no-compile]

Each is float32 along dim 1 of shapes with long rows, very long rows and columns. Times are medians
in ms; the programs of a row alternate, so that clock changes affect all alike. A copy moves as many
bytes as the function must read and write. A dash means that PyTorch fails.
"""

import argparse

import torch

import kokkos_scan
import kokkos_scan.torch as kt
from operators import medians, with_gradient


def associative_scan(a, b):
    from torch._higher_order_ops.associative_scan import associative_scan as scan

    def then(x, y):
        return x[0] * y[0], y[0] * x[1] + y[1]

    mode = "pointwise" if a.is_cuda else "generic"
    return scan(then, (a, b), dim=1, combine_mode=mode)[1]


def nan_sum(x):
    return torch.cumsum(torch.nan_to_num(x), 1)


#: Bytes an element, of what is read and written, the function, and PyTorch's.
FUNCTIONS = {
    "cummax with indices": (16, lambda a, b: kt.cummax(b, 1, return_indices=True),
                            lambda a, b: torch.cummax(b, 1)),
    "logcumsumexp": (8, lambda a, b: kt.logcumsumexp(b, 1), lambda a, b: torch.logcumsumexp(b, 1)),
    "nancumsum": (8, lambda a, b: kt.nancumsum(b, 1), lambda a, b: nan_sum(b)),
    "cumulative_trapezoid": (8, lambda a, b: kt.cumulative_trapezoid(b, dim=1),
                             lambda a, b: torch.cumulative_trapezoid(b, dim=1)),
    "ewm_mean": (8, lambda a, b: kt.ewm_mean(b, 0.1, 1), None),
    "linear_recurrence": (12, lambda a, b: kt.linear_recurrence(a, b, 1), associative_scan),
}


def of_recurrence(a, b, weight):
    """A recurrence forward and backward: three streams, then five."""
    def call():
        a.grad = b.grad = None
        kt.linear_recurrence(a, b, 1).backward(weight)

    return call


def tried(program):
    """The program, or None if it fails."""
    try:
        program()
    except Exception:
        return None
    return program


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--log2-elements", type=int)
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    options = parser.parse_args()
    device = options.device
    elements = 1 << (options.log2_elements or (28 if device == "cuda" else 24))
    torch.manual_seed(0)
    name = torch.cuda.get_device_name() if device == "cuda" else f"{torch.get_num_threads()} threads"
    print(f"float32 along dim 1, {name}, PyTorch {torch.__version__}, {kokkos_scan.configuration()}, "
          f"medians of {options.repetitions}\n")
    print("| function | shape | ms | of a copy | PyTorch, ms | compiled, ms |\n|---|---|---|---|---|---|")

    def row(title, shape, size, programs):
        count = shape[0] * shape[1] * (shape[2] if len(shape) > 2 else 1)
        source = torch.zeros(size * count // 2, dtype=torch.uint8, device=device)
        to = torch.empty_like(source)
        programs = {key: program for key, program in programs.items() if program}
        ms = medians({"copy": lambda: to.copy_(source), **programs}, device, options.repetitions)
        text = {key: f"{ms[key]:.3f}" if key in ms else "-" for key in ("eager", "compiled")}
        print(f"| {title} | {' x '.join(map(str, shape))} | {ms['ours']:.3f} | "
              f"{ms['copy'] / ms['ours']:.3f} | {text['eager']} | {text['compiled']} |", flush=True)

    for shape in ((elements >> 12, 1 << 12), (max(1, elements >> 20), min(elements, 1 << 20)),
                  (8, 1 << 12, elements >> 15)):
        a = 2 * torch.rand(shape, device=device) - 1
        b = 2 * torch.rand(shape, device=device) - 1
        for title, (size, ours, peer) in FUNCTIONS.items():
            compiled = None
            if peer and not options.no_compile:
                torch.compiler.reset()
                of_peer = torch.compile(peer)
                compiled = tried(lambda: of_peer(a, b))
            row(title, shape, size, {"ours": lambda: ours(a, b),
                                     "eager": peer and tried(lambda: peer(a, b)),
                                     "compiled": compiled})
        weight = torch.rand_like(b)
        row("linear_recurrence and gradients", shape, 32,
            {"ours": of_recurrence(a.requires_grad_(), b.requires_grad_(), weight)})
        row("logcumsumexp and gradient", shape, 24, {
            "ours": with_gradient(lambda v: kt.logcumsumexp(v, 1), b, weight),
            "eager": tried(with_gradient(lambda v: torch.logcumsumexp(v, 1), b, weight))})
        del a, b, weight


if __name__ == "__main__":
    main()
