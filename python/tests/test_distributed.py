# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scans over the ranks of a process group, by Gloo between processes, compared with one process."""
import datetime
import sys
import tempfile
import time

import numpy as np
import pytest

torch = pytest.importorskip("torch")
dist = pytest.importorskip("torch.distributed")
if not dist.is_available() or not dist.is_gloo_available():
    pytest.skip("PyTorch has no Gloo", allow_module_level=True)

import kokkos_scan.torch as kt  # noqa: E402
import kokkos_scan.torch.distributed as kd  # noqa: E402

SECONDS = 120


def parts_of(whole, dim, lengths):
    return whole.split(lengths, dim)


def random_lengths(random, ranks):
    """Uneven parts, some of them empty."""
    return [int(n) for n in np.where(random.random(ranks) < 0.25, 0, random.integers(0, 40, ranks))]


def random_tensor(random, shape, dtype):
    values = torch.from_numpy(random.standard_normal(shape))
    if dtype.is_complex:
        return torch.complex(values, torch.from_numpy(random.standard_normal(shape))).to(dtype)
    return values.to(dtype) if dtype.is_floating_point else (values * 100).to(dtype)


def shape_of(random, dim, rank, lengths):
    shape = [int(n) for n in random.integers(1, 6, rank)]
    shape[dim] = sum(lengths)
    return shape


def check_close(found, expected, what):
    assert found.dtype == expected.dtype and found.shape == expected.shape, what
    if not (found.is_floating_point() or found.is_complex()):
        assert torch.equal(found, expected), what
        return
    bound = {torch.bfloat16: 3e-2, torch.float16: 4e-3, torch.float32: 1e-5,
             torch.complex64: 1e-5}.get(found.dtype, 1e-12)
    scale = expected.abs().max().item() if expected.numel() else 0
    wrong = (found - expected).abs().max().item() if found.numel() else 0
    assert wrong <= bound * max(scale, 1), f"{what}: off by {wrong} of {scale}"


# What ranks do: functions of this module, which each process finds by its name.


def sums(rank, ranks, group, device):
    random = np.random.default_rng(1)
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.int32, torch.complex64, torch.bool):
        for _ in range(8):
            lengths = random_lengths(random, ranks)
            dims = int(random.integers(1, 4))
            dim = int(random.integers(0, dims))
            whole = random_tensor(random, shape_of(random, dim, dims, lengths), dtype).to(device)
            options = {"exclusive": bool(random.integers(2)), "reverse": bool(random.integers(2))}
            what = f"{dtype}, {lengths} along {dim} of {tuple(whole.shape)}, {options}"
            expected = parts_of(kt.cumsum(whole, dim, **options), dim, lengths)[rank]
            check_close(kd.cumsum(parts_of(whole, dim, lengths)[rank], dim - dims, group, **options), expected, what)


def gradients_of_sums(rank, ranks, group, device):
    random = np.random.default_rng(2)
    for reverse in (False, True):
        lengths = random_lengths(random, ranks)
        whole = random_tensor(random, (3, sum(lengths)), torch.float64).to(device)
        weight = random_tensor(random, whole.shape, torch.float64).to(device)
        one = whole.clone().requires_grad_()
        (kt.cumsum(one, 1, reverse=reverse).sin() * weight).sum().backward()
        part = parts_of(whole, 1, lengths)[rank].clone().requires_grad_()
        result = kd.cumsum(part, 1, group, reverse=reverse)
        (result.sin() * parts_of(weight, 1, lengths)[rank]).sum().backward()
        check_close(part.grad, parts_of(one.grad, 1, lengths)[rank], f"gradient, {lengths}")
        # Twice.
        one.grad = None
        first, = torch.autograd.grad((kt.cumsum(one, 1, reverse=reverse) ** 3).sum(), one, create_graph=True)
        (first * weight).sum().backward()
        part.grad = None
        mine, = torch.autograd.grad((kd.cumsum(part, 1, group, reverse=reverse) ** 3).sum(), part, create_graph=True)
        (mine * parts_of(weight, 1, lengths)[rank]).sum().backward()
        check_close(part.grad, parts_of(one.grad, 1, lengths)[rank], f"second gradient, {lengths}")


def recurrences(rank, ranks, group, device):
    random = np.random.default_rng(3)
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        for case in range(12):
            lengths = random_lengths(random, ranks)
            dims = int(random.integers(1, 4))
            dim = int(random.integers(0, dims))
            shape = shape_of(random, dim, dims, lengths)
            lines = [n for d, n in enumerate(shape) if d != dim]
            reverse = bool(random.integers(2))
            a = torch.from_numpy(random.uniform(-1, 1, shape))
            a[torch.from_numpy(random.random(shape) < 0.05)] = 0
            a = a.to(device, dtype)
            b = random_tensor(random, shape, dtype).to(device)
            initial = random_tensor(random, lines, dtype).to(device)
            has_initial = case % 3 != 0
            weight = random_tensor(random, shape, dtype).to(device)
            what = f"{dtype}, {lengths} along {dim} of {shape}, reverse={reverse}, case {case}"

            def gradients(function, a, b, weight, initial):
                leaves = [t.detach().clone().requires_grad_() for t in (a, b, initial)]
                if case % 4 == 3:
                    leaves[0] = 0.9
                h = function(leaves[0], leaves[1], dim, leaves[2] if has_initial else None)
                (h * weight).sum().backward()
                return [h.detach(), *(t.grad for t in leaves if isinstance(t, torch.Tensor))]

            whole = gradients(lambda a, b, dim, start: kt.linear_recurrence(a, b, dim, start, reverse), a, b, weight,
                              initial)
            mine = gradients(lambda a, b, dim, start: kd.linear_recurrence(a, b, dim, group, start, reverse),
                             *(parts_of(t, dim, lengths)[rank] for t in (a, b, weight)), initial)
            of_initial, expected = mine.pop(), whole.pop()
            for found, all_of_it in zip(mine, whole):
                check_close(found, parts_of(all_of_it, dim, lengths)[rank], what)
            if has_initial:
                begins = rank == (ranks - 1 if reverse else 0)
                check_close(of_initial, expected if begins else torch.zeros_like(expected), what)


def broadcasts_and_infinite_states(rank, ranks, group, device):
    b = torch.ones(2, 3 * ranks, device=device)
    mine = parts_of(b, 1, [3] * ranks)[rank]
    a = torch.tensor([[0.5], [0.25]], device=device, requires_grad=True)
    whole = a.detach().clone().requires_grad_()
    kt.linear_recurrence(whole, b, 1).sum().backward()
    kd.linear_recurrence(a, mine, 1, group).sum().backward()
    total = a.grad.clone()
    host = total.cpu() if dist.get_backend(group) == "gloo" else total
    dist.all_reduce(host, group=group)
    check_close(host.to(device), whole.grad, "the gradient of what is broadcast")
    # A coefficient of 0 forgets an infinite state of another rank.
    a = torch.ones(2, 3 * ranks, device=device)
    a[:, 3 * ranks - 2] = 0
    b[:, 0] = float("inf")
    found = kd.linear_recurrence(parts_of(a, 1, [3] * ranks)[rank], parts_of(b, 1, [3] * ranks)[rank], 1, group)
    assert torch.equal(found, parts_of(kt.linear_recurrence(a, b, 1), 1, [3] * ranks)[rank])


def groups(rank, ranks, group, device):
    """Two ranks of four, and their order."""
    some = dist.new_group([1, 3])
    if rank in (1, 3):
        x = torch.arange(5.0, device=device) + rank
        whole = torch.cat([torch.arange(5.0) + 1, torch.arange(5.0) + 3]).to(device).cumsum(0)
        check_close(kd.cumsum(x, 0, some), whole.split(5)[rank // 2], "a group")


def page(rank, ranks, group, device):
    """The call of docs/python.md."""
    x = torch.rand(2, 4 * ranks, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).to(device)
    part = x.split(4, 1)[rank]
    decay = torch.full_like(part, 0.9)
    h = kd.linear_recurrence(decay, part, 1, group)  # this rank's steps of (batch, steps, channels)
    check_close(h, kt.linear_recurrence(torch.full_like(x, 0.9), x, 1).split(4, 1)[rank], "of the page")


def errors(rank, ranks, group, device):
    x = torch.ones(3, 4, device=device)
    for error, words, call in (
            (IndexError, "axis 2 is out of range", lambda: kd.cumsum(x, 2, group)),
            (ValueError, "no dimension", lambda: kd.cumsum(x[0, 0], 0, group)),
            (TypeError, "expected an int", lambda: kd.cumsum(x, 0.5, group)),
            (TypeError, "reverse", lambda: kd.cumsum(x, 0, group, reverse="no")),
            (TypeError, "real floating type", lambda: kd.linear_recurrence(0.5, x.int(), 0, group)),
            (ValueError, "does not broadcast", lambda: kd.linear_recurrence(x[:, :2], x, 0, group)),
            (TypeError, "a has type", lambda: kd.linear_recurrence(x.double(), x, 0, group)),
            (ValueError, "initial has shape", lambda: kd.linear_recurrence(x, x, 0, group, x)),
            (ValueError, "no dimension", lambda: kd.linear_recurrence(0.5, x[0, 0], 0, group))):
        with pytest.raises(error, match=words):
            call()


CHECKS = (sums, gradients_of_sums, recurrences, broadcasts_and_infinite_states, groups, page, errors)


def run(rank, file, backend, ranks):
    device = "cpu"
    if backend == "nccl":
        device = f"cuda:{rank}"
        torch.cuda.set_device(rank)
    torch.set_num_threads(1)
    dist.init_process_group(backend, init_method=f"file://{file}", rank=rank, world_size=ranks,
                            timeout=datetime.timedelta(seconds=SECONDS))
    for check in CHECKS:
        if check is not groups or ranks >= 4:
            check(rank, ranks, None, device)
            dist.barrier()
    dist.destroy_process_group()


def start(backend, ranks):
    """Runs all checks on all ranks; an error of one ends the others. Processes start slowly, so once."""
    import torch.multiprocessing as processes

    with tempfile.TemporaryDirectory() as folder:
        context = processes.spawn(run, (f"{folder}/ranks", backend, ranks), ranks, join=False)
        deadline = time.monotonic() + SECONDS
        while not context.join(timeout=1):
            if time.monotonic() > deadline:
                for process in context.processes:
                    process.kill()
                pytest.fail(f"ranks have not ended after {SECONDS} s")


def test_over_ranks():
    start("gloo", 4)


@pytest.mark.cuda
@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_over_gpus():
    start("nccl", torch.cuda.device_count())


if __name__ == "__main__":  # test_distributed.py BACKEND RANKS
    start(sys.argv[1], int(sys.argv[2]))
