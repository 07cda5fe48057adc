# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times the returns and recurrences of kokkos_scan.torch, and what they replace:

    scripts/python python/perf_tests/returns.py [--device cuda|cpu] [--no-peers]

float32, with ends of episodes; (time, environments) and (environments, time). The peers of gae() are the loop over
time, that loop by torch.compile where it has 64 steps (it is unrolled), and a kernel in Triton, tuned for each shape.
Times are medians in us of calls that alternate, between events on CUDA; "enqueued" is the time of a call among many
that nobody waits for. A copy moves as many bytes as the function must read and write.
"""

import argparse
import time

import torch

import kokkos_scan
import kokkos_scan.torch as kt
from operators import medians

RETURNS = [(64, 64), (64, 1024), (64, 8192), (2048, 8192), (128, 65536), (4096, 4096)]
RECURRENCES = [((8, 2048, 5120), 1), ((1, 131072, 1024), 1), ((32, 4096, 128), 1), ((4096, 128256), 1),
               ((16384, 50304), 1), ((64, 1024, 64), 1), ((65536, 64), 0)]


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


def triton_gae():
    """The same by Triton: programs take some environments and go backward over tiles of steps."""
    import triton
    import triton.language as tl

    @triton.jit
    def then(a, b, later_a, later_b):
        return a * later_a, later_a * b + later_b

    configs = [triton.Config({"STEPS": steps, "WIDTH": width}, num_warps=warps)
               for steps, width, warps in ((8, 32, 1), (16, 32, 2), (32, 32, 4), (64, 32, 4), (32, 64, 4), (128, 8, 4),
                                           (512, 1, 2), (1024, 1, 4), (2048, 1, 4), (256, 4, 4))]

    @triton.autotune(configs, key=["steps", "width", "step"])
    @triton.jit
    def kernel(rewards, values, next_value, done, advantages, returns, steps, width, step, line, gamma, lam,
               STEPS: tl.constexpr, WIDTH: tl.constexpr):
        of_line = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)[None, :]
        is_line = of_line < width
        k = tl.arange(0, STEPS)[:, None]
        carry = tl.zeros((1, WIDTH), tl.float32)
        last = tl.load(next_value + of_line, mask=is_line, other=0.0)
        for begin in range((steps - 1) // STEPS * STEPS, -1, -STEPS):
            t = begin + k
            inside = (t < steps) & is_line
            at = t.to(tl.int64) * step + of_line.to(tl.int64) * line
            v = tl.load(values + at, mask=inside, other=0.0)
            later = tl.load(values + at + step, mask=inside & (t + 1 < steps), other=0.0)
            later = tl.where(t + 1 == steps, last, later)
            c = tl.where(tl.load(done + at, mask=inside, other=0) != 0, 0.0, gamma)
            b = tl.where(inside, tl.load(rewards + at, mask=inside, other=0.0) + c * later - v, 0.0)
            a = tl.where(inside, lam * c, 1.0)
            a, b = tl.associative_scan((a, b), 0, then, reverse=True)
            b += a * carry
            tl.store(advantages + at, b, mask=inside)
            tl.store(returns + at, b + v, mask=inside)
            carry = tl.sum(tl.where(k == 0, b, 0.0), 0, keep_dims=True)

    def call(rewards, values, next_value, done, dim):
        advantages, returns = torch.empty_like(rewards), torch.empty_like(rewards)
        steps, width = rewards.shape[dim], rewards.shape[1 - dim]
        kernel[lambda of: (triton.cdiv(width, of["WIDTH"]),)](
            rewards, values, next_value, done.view(torch.int8), advantages, returns, steps, width,
            rewards.stride(dim), rewards.stride(1 - dim), 0.99, 0.95)
        return advantages, returns

    return call


def enqueued(program, device, calls=300):
    """Microseconds of a call among many that nobody waits for."""
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    best = float("inf")
    for _ in range(5):
        wait()
        began = time.perf_counter()
        for _ in range(calls):
            program()
        wait()
        best = min(best, (time.perf_counter() - began) / calls)
    return 1e6 * best


def copy_of(size, device):
    source = torch.zeros(size // 2, dtype=torch.uint8, device=device)
    to = torch.empty_like(source)
    return lambda: to.copy_(source)


def agrees(program, expected):
    """The program, if its results are right."""
    for found, right in zip(program(), expected):
        torch.testing.assert_close(found, right, rtol=1e-4, atol=1e-4)
    return program


def returns(device, repetitions, has_peers):
    triton = triton_gae() if has_peers and device == "cuda" else None
    print("| function | shape, dim of time | us | of a copy | enqueued, us | loop, us | compiled, us | Triton, us |\n"
          "|---|---|---|---|---|---|---|---|")
    for shape in RETURNS:
        for dim in (0, 1):
            size = shape if dim == 0 else shape[::-1]
            rewards, values = torch.randn(size, device=device), torch.randn(size, device=device)
            next_value = torch.randn(shape[1], device=device)
            done = torch.rand(size, device=device) < 0.01
            of_time = [t.movedim(dim, 0) for t in (rewards, values)]
            programs = {"gae": (17, lambda: kt.gae(rewards, values, next_value, done, dim=dim)),
                        "discounted_sum": (9, lambda: kt.discounted_sum(rewards, 0.99, dim, done))}
            for title, (bytes_of_element, ours) in programs.items():
                timed = {"ours": ours, "copy": copy_of(bytes_of_element * rewards.numel(), device)}
                if title == "gae" and has_peers:
                    def of_loop(which=loop):
                        return [t.movedim(0, dim) for t in which(*of_time, next_value, done.movedim(dim, 0))]

                    expected = of_loop()
                    timed["ours"] = agrees(ours, expected)
                    timed["loop"] = of_loop
                    if triton:
                        timed["Triton"] = agrees(lambda: triton(rewards, values, next_value, done, dim), expected)
                    if shape[0] <= 64 and dim == 0:
                        torch.compiler.reset()
                        compiled = torch.compile(loop)
                        timed["compiled"] = agrees(lambda: of_loop(compiled), expected)
                ms = medians(timed, device, repetitions)
                peers = " | ".join(f"{1000 * ms[name]:.0f}" if name in ms else "-"
                                   for name in ("loop", "compiled", "Triton"))
                print(f"| {title} | {size}, {dim} | {1000 * ms['ours']:.1f} | {ms['copy'] / ms['ours']:.2f} | "
                      f"{enqueued(ours, device):.1f} | {peers} |", flush=True)


def recurrences(device, repetitions):
    print("\n| linear_recurrence of floats, dim | us | of a copy | enqueued, us | in_double, of a copy |\n|---|---|---|---|---|")
    for shape, dim in RECURRENCES:
        a, b = torch.rand(shape, device=device), torch.randn(shape, device=device)
        timed = {"ours": lambda: kt.linear_recurrence(a, b, dim),
                 "double": lambda: kt.linear_recurrence(a, b, dim, in_double=True),
                 "copy": copy_of(12 * a.numel(), device)}
        ms = medians(timed, device, repetitions)
        calls = max(3, min(300, (1 << 31) // a.numel()))
        print(f"| {shape}, {dim} | {1000 * ms['ours']:.1f} | {ms['copy'] / ms['ours']:.2f} | "
              f"{enqueued(timed['ours'], device, calls):.1f} | {ms['copy'] / ms['double']:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--no-peers", action="store_true", help="leave the loop, torch.compile and Triton out")
    options = parser.parse_args()
    device = options.device
    name = torch.cuda.get_device_name() if device == "cuda" else f"{torch.get_num_threads()} threads"
    print(f"{name}, PyTorch {torch.__version__}, {kokkos_scan.configuration()}, medians of {options.repetitions}\n")
    returns(device, options.repetitions, not options.no_peers)
    recurrences(device, options.repetitions)


if __name__ == "__main__":
    main()
