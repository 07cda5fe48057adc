# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scans of PyTorch tensors that are split along a dimension over the ranks of a process group (context
parallelism): each rank holds a part, in the order of the ranks.

>>> import torch.distributed, kokkos_scan.torch.distributed as kd
>>> torch.distributed.init_process_group("nccl")       # or "gloo"
>>> y = kd.cumsum(x, 1)                                 # x: this rank's part of a (batch, steps, channels)

Each rank folds its part, one all-gather exchanges a few values for each line, and each rank scans its part from
what comes before it. Parts may have any length, also 0; all other sizes, and all other arguments, agree on all
ranks, and all ranks make the same calls in the same order, as with any collective of torch.distributed. An error in
the arguments of one rank is raised on that rank alone. Gradients are those of one process that holds all parts and
adds up the losses of all ranks; a backward pass is collective too.
"""

import torch
import torch.distributed as dist
from torch.autograd.function import once_differentiable

from .. import _arrays, _recurrences
from . import _checked_call, _counted
from . import cumsum as _cumsum
from . import linear_recurrence as _linear_recurrence

__all__ = ["cumsum", "linear_recurrence"]


def _gathered(x, group):
    """The tensors of all ranks, of one shape and type."""
    own = x.contiguous().view(-1).view(torch.uint8)  # Gloo knows few types
    if own.is_cuda and dist.get_backend(group) == "gloo":
        own = own.cpu()
    parts = [torch.empty_like(own) for _ in range(dist.get_world_size(group))]
    dist.all_gather(parts, own, group=group)
    return [part.to(x.device).view(x.dtype).view(x.shape) for part in parts]


def _before(rank, ranks, reverse):
    """The ranks before one in the order of the scan, from its beginning on."""
    return range(ranks - 1, rank, -1) if reverse else range(rank)


def _wide(dtype):
    """The type in which folds of parts are combined."""
    if dtype.is_complex:
        return torch.complex128
    return torch.float64 if dtype.is_floating_point else dtype


class _CumSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, dim, group, exclusive, reverse, dtype):
        ctx.call = dim, group, exclusive, reverse
        ctx.dtype = x.dtype
        if not (dtype.is_floating_point or dtype.is_complex):
            x = x.to(dtype)
        wide = _wide(dtype)
        totals = _gathered(x.sum(dim, dtype=wide), group)
        before = torch.zeros_like(totals[0])
        for rank in _before(dist.get_rank(group), len(totals), reverse):
            before += totals[rank]
        return _cumsum(x, dim, dtype=dtype, exclusive=exclusive, reverse=reverse, initial=before.to(dtype))

    @staticmethod
    def backward(ctx, grad):
        dim, group, exclusive, reverse = ctx.call
        of_x = _CumSum.apply(grad, dim, group, exclusive, not reverse, grad.dtype)
        return of_x.to(ctx.dtype), None, None, None, None, None


def cumsum(x, dim, group=None, *, exclusive=False, reverse=False, dtype=None):
    """The cumulative sum along a dimension that is split over ranks.

    y[k] = X[0] + ... + X[b+k], where X is all of x, the parts of all ranks one after the other along dim, and b is
    the number of elements before this rank's part: torch.cumsum(torch.cat(parts, dim), dim) without the other parts.

    Each element is read twice and each result stored once. Ranks gather one sum for each line, in float64 where the
    result is of a floating type. What comes before a part is rounded to the type of the result once, so a result of
    16 bits has one rounding more than on one process. Whole numbers have the bits of one process. Differentiable,
    also twice.

    Parameters
    ----------
    x : Tensor
        This rank's part, of at least one dimension.
    dim : int
        Negative counts from the end.
    group : ProcessGroup, optional
        The ranks, in the order of their parts. Default: all.
    exclusive : bool
        Without the element itself: y[k] = X[0] + ... + X[b+k-1].
    reverse : bool
        From the end of the last rank's part to the beginning of the first one's.
    dtype : torch.dtype, optional
        As in torch.cumsum.

    Returns
    -------
    Tensor
        Of the shape of x.

    Raises
    ------
    ValueError
        x has no dimension.
    IndexError
        dim is out of range.
    RuntimeError
        Of torch.distributed: there is no process group, or messages differ in size.
    """
    x, dim, dtype = _checked_call(x, dim, None, None, dtype, None)
    if x.dim() == 0:
        raise ValueError("kokkos_scan: x has no dimension to go along.")
    flag = _arrays.checked_flag
    exclusive, reverse = flag(exclusive, "exclusive"), flag(reverse, "reverse")
    if dtype is None:
        dtype = x.dtype if x.is_floating_point() or x.is_complex() else torch.int64
    return _CumSum.apply(x, _counted(dim, x), group, exclusive, reverse, dtype)


def _scanned(a, b, dim, group, initial, reverse, in_double):
    """This rank's states, and the one before them. `a` is a number or has the shape of b, and what is with the
    rank where the scan begins counts of `initial`."""
    rank, ranks = dist.get_rank(group), dist.get_world_size(group)
    n = b.shape[dim]
    lines = [*b.shape[:dim], *b.shape[dim + 1:]]
    wide = torch.float64
    if isinstance(a, torch.Tensor):
        of_a = a.prod(dim, dtype=wide)
    else:
        of_a = torch.full(lines, a**n, dtype=wide, device=b.device)
    if n == 0:
        last = torch.zeros(lines, dtype=wide, device=b.device)
    else:
        last = _linear_recurrence(a, b, dim, reverse=reverse, in_double=in_double)
        last = last.select(dim, 0 if reverse else n - 1).to(wide)
    start = torch.zeros(lines, dtype=wide, device=b.device) if initial is None else initial.to(wide)
    folds = _gathered(torch.stack([of_a, last, start]), group)
    before = folds[ranks - 1 if reverse else 0][2]
    for earlier in _before(rank, ranks, reverse):
        of_a, last, _ = folds[earlier]
        before = torch.where(of_a == 0, last, of_a * before + last)  # a coefficient of 0 forgets
    before = before.to(b.dtype)
    return _linear_recurrence(a, b, dim, before, reverse, in_double=in_double), before


class _LinearRecurrence(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b, initial, number, dim, group, reverse, in_double):
        states, before = _scanned(number if a is None else a, b, dim, group, initial, reverse, in_double)
        ctx.call = number, dim, group, reverse, in_double
        ctx.has_initial = initial is not None
        ctx.save_for_backward(a, states, before)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        # With g[k] the gradient of h[k] by itself, that of b[k] is s[k] = g[k] + a[k+1] s[k+1].
        a, states, before = ctx.saved_tensors
        number, dim, group, reverse, in_double = ctx.call
        rank, ranks = dist.get_rank(group), dist.get_world_size(group)
        n = grad.shape[dim]
        begin, end = (n - 1, 0) if reverse else (0, n - 1)
        after = number
        if a is not None:
            # The first coefficient of the next rank that has elements; there is no next one: any.
            shape = before.shape
            first = a.select(dim, begin) if n else torch.zeros(shape, dtype=a.dtype, device=a.device)
            firsts = _gathered(torch.stack([first, torch.full(shape, min(n, 1), dtype=a.dtype, device=a.device)]), group)
            next_one = torch.zeros_like(first)
            for later in _before(rank, ranks, not reverse):
                next_one = torch.where(firsts[later][1] > 0, firsts[later][0], next_one)
            if n:
                next_one = next_one.unsqueeze(dim)
                after = (torch.cat([next_one, a.narrow(dim, 0, n - 1)], dim) if reverse else
                         torch.cat([a.narrow(dim, 1, n - 1), next_one], dim))
            else:
                after = a
        of_b, _ = _scanned(after, grad.contiguous(), dim, group, None, not reverse, in_double)
        of_a = None
        if a is not None and ctx.needs_input_grad[0]:
            earlier = before.unsqueeze(dim)
            if n == 0:
                of_a = torch.zeros_like(a)
            elif reverse:
                of_a = of_b * torch.cat([states.narrow(dim, 1, n - 1), earlier], dim)
            else:
                of_a = of_b * torch.cat([earlier, states.narrow(dim, 0, n - 1)], dim)
        of_initial = None
        if ctx.has_initial:
            of_initial = _gradient_of_start(a, number, of_b, dim, group, begin, reverse)
        return of_a, of_b, of_initial, None, None, None, None, None


def _gradient_of_start(a, number, of_b, dim, group, begin, reverse):
    """a[0] s[0] of the first rank that has elements, on the rank on which the scan begins."""
    rank, ranks = dist.get_rank(group), dist.get_world_size(group)
    n = of_b.shape[dim]
    lines = [*of_b.shape[:dim], *of_b.shape[dim + 1:]]
    if n:
        mine = of_b.select(dim, begin)
        mine = mine * (number if a is None else a.select(dim, begin))
    else:
        mine = torch.zeros(lines, dtype=of_b.dtype, device=of_b.device)
    parts = _gathered(torch.stack([mine, torch.full_like(mine, min(n, 1))]), group)
    found = torch.zeros_like(mine)
    if rank == (ranks - 1 if reverse else 0):
        for r in (range(ranks) if reverse else range(ranks - 1, -1, -1)):
            found = torch.where(parts[r][1] > 0, parts[r][0], found)
    return found


def linear_recurrence(a, b, dim=-1, group=None, initial=None, reverse=False, *, in_double=None):
    """The states h of the recurrence h[k] = a[k] * h[k-1] + b[k] along a dimension that is split over ranks.

    The results are this rank's part of kokkos_scan.torch.linear_recurrence(torch.cat(parts of a), torch.cat(parts
    of b)): a state goes on from the end of one rank's part at the beginning of the next one's. It is rounded to the
    type of b there.

    Ranks gather three float64 for each line: the product of a part's coefficients, its last state from 0, and the
    initial state. a and b are read twice. Gradients flow to a, b and initial, once: by one recurrence over ranks in
    the other direction, and one all-gather of coefficients.

    Parameters
    ----------
    a : number or Tensor
        This rank's coefficients; a number is the same on all ranks. A tensor broadcasts to the shape of b and has
        its type and device.
    b : Tensor
        This rank's part, of float16, bfloat16, float32 or float64.
    dim : int
        Negative counts from the end.
    group : ProcessGroup, optional
        The ranks, in the order of their parts. Default: all.
    initial : number or Tensor, optional
        The state before the first step of all. That of the rank on which the scan begins counts (the first one,
        with reverse=True the last one), and it has the gradient; on the other ranks it is a state of the same shape
        whose gradient is 0. Default: 0.
    reverse : bool
        From the end of the last rank's part to the beginning of the first one's.
    in_double : bool, optional
        As in kokkos_scan.torch.linear_recurrence.

    Returns
    -------
    Tensor
        Of the shape and type of b.

    Raises
    ------
    TypeError, ValueError, IndexError
        As kokkos_scan.torch.linear_recurrence.
    RuntimeError
        Of torch.distributed: there is no process group, or messages differ in size.
    """
    if not isinstance(b, torch.Tensor):
        raise TypeError(f"kokkos_scan: b is a {type(b).__name__}, but expected is a Tensor.")
    dim = _counted(dim, b)
    is_number = not isinstance(a, torch.Tensor)
    if not is_number:
        a = _recurrences.coefficients_of(a, b)
    if b.dim():
        nothing = b.detach().narrow(dim, 0, 0)
        with torch.no_grad():  # the other checks, by a call without elements
            _linear_recurrence(a if is_number else a.detach().narrow(dim, 0, 0), nothing, dim, initial, reverse,
                               in_double=in_double)
    else:
        raise ValueError("kokkos_scan: b has no dimension to go along.")
    in_double = is_number if in_double is None else in_double
    if initial is not None:
        initial = _recurrences._value_of_lines(initial, b, dim, "initial", "b")
    number = float(a) if is_number else None
    return _LinearRecurrence.apply(None if is_number else a, b, initial, number, dim, group, reverse,
                                   in_double)
