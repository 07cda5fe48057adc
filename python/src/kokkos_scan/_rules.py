# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the operators of kokkos_scan need beside gradients: whether torch.func or forward-mode
differentiation is around a call, batch dimensions, and gradients that can be differentiated again."""

import torch

from ._functions import LOGSUMEXP, MAX, MIN, PROD, SUM

_functorch = torch._C._functorch
_forward_ad = torch.autograd.forward_ad
_is_compiling = torch.compiler.is_compiling


def is_transformed():
    """Whether a call needs a rule of torch.func or of forward mode, which operators lack."""
    return not _is_compiling() and (_functorch.maybe_current_level() is not None or
                                    _forward_ad._current_level >= 0)


def is_differentiated():
    """Whether such a rule is one of differentiation."""
    if _forward_ad._current_level >= 0:
        return True
    stack = _functorch.get_interpreter_stack() or ()
    return any(level.key() in (_functorch.TransformType.Grad, _functorch.TransformType.Jvp) for level in stack)


def to_front(t, at, size, rank=None):
    """A tensor whose batch dimension, which may be missing, is the first; of `rank` further dimensions."""
    if t is None:
        return None
    t = t.unsqueeze(0).expand(size, *t.shape) if at is None else t.movedim(at, 0)
    if rank is not None and t.dim() <= rank:
        t = t.reshape(t.shape[0], *[1] * (rank + 1 - t.dim()), *t.shape[1:])
    return t


def of_lines(t, at, size, lines):
    """The same of a value for each line, of which there may be one for all."""
    if t is None:
        return None
    t = to_front(t, at, size)
    return t.reshape(size, *[1] * len(lines)).expand(size, *lines) if t.dim() == 1 else t


def _identity(operation, dtype):
    if operation == SUM:
        return 0
    if operation == PROD:
        return 1
    if dtype.is_floating_point:
        return float("inf") if operation == MIN else -float("inf")
    if dtype == torch.bool:
        return operation == MIN
    return torch.iinfo(dtype).max if operation == MIN else torch.iinfo(dtype).min


_TORCH = {SUM: torch.cumsum, PROD: torch.cumprod, LOGSUMEXP: torch.logcumsumexp,
          MIN: lambda x, dim: torch.cummin(x, dim)[0], MAX: lambda x, dim: torch.cummax(x, dim)[0]}


def composed(operation, x, dim, dtype, include_initial, exclusive, reverse, mask, initial):
    """A scan as a composition of PyTorch's functions, which has all derivatives."""
    values = x.to(dtype)
    identity = _identity(operation, dtype)
    if x.dim() == 0 and not (exclusive or include_initial or initial is not None):
        return _TORCH[operation](values if mask is None else torch.where(mask, values, identity), dim)
    line = values.reshape(1) if x.dim() == 0 else values
    dim %= line.dim()
    if mask is not None:
        line = torch.where(mask, line, torch.full((), identity, dtype=dtype, device=x.device))
    length = line.shape[dim]
    if reverse:
        line = line.flip(dim)
    lines = [*line.shape[:dim], *line.shape[dim + 1:]]
    has_first = initial is not None or exclusive or include_initial
    if has_first:
        first = (torch.full(lines, identity, dtype=dtype, device=x.device) if initial is None
                 else initial.to(x.device, dtype).expand(lines))
        line = torch.cat([first.unsqueeze(dim), line], dim)
    line = _TORCH[operation](line, dim)
    if has_first and not include_initial:
        line = line.narrow(dim, 0 if exclusive else 1, length)
    if reverse:
        line = line.flip(dim)
    return line.reshape(()) if x.dim() == 0 else line


# ---- Gradients in reverse mode, of operators that are registered in Python ------------------------


def setup_context(operation, ctx, inputs, output):
    x, dim, dtype, include_initial, exclusive, reverse, mask, initial = inputs
    is_sum = operation == SUM
    ctx.save_for_backward(None if is_sum else x, None if is_sum else output, mask, initial)
    ctx.call = dim % max(x.dim(), 1), x.dtype, include_initial, exclusive, reverse
    ctx.wants_initial = initial is not None and initial.requires_grad


def backward(operation, ctx, grad):
    """The gradients of x and initial."""
    x, result, mask, initial = ctx.saved_tensors
    dim, dtype, include_initial, exclusive, reverse = ctx.call
    sizes = list(grad.shape)
    if include_initial:
        sizes[dim] -= 1
    of_initial = None
    if operation == SUM:
        if ctx.wants_initial:
            of_initial = grad.sum(dim)
        # The adjoint of a sum is the sum in the opposite direction.
        part = grad.narrow(dim, 0 if reverse else 1, sizes[dim]) if include_initial else grad
        of_x = torch.ops.kokkos_scan.cumulative_sum(part, dim, None, False, exclusive, not reverse)
        if mask is not None:
            of_x = torch.where(mask, of_x, 0)
    elif torch.is_grad_enabled():  # by what has a gradient itself
        inputs = [x, initial] if ctx.wants_initial else [x]
        again = composed(operation, x, dim, result.dtype, include_initial, exclusive, reverse, mask, initial)
        gradients = torch.autograd.grad(again, inputs, grad, create_graph=True, allow_unused=True)
        return gradients[0], gradients[1] if ctx.wants_initial else None
    else:
        of_x, first = torch.ops.kokkos_scan.scan_gradient(
            grad, x.to(result.dtype), result, dim, operation, exclusive or include_initial, reverse,
            mask, initial)
        if ctx.wants_initial:
            of_initial = _gradient_of_initial(operation, ctx, grad, first, sizes)
    if of_initial is not None:
        if initial.dim() == 0:
            of_initial = of_initial.sum()
        of_initial = of_initial.to(initial.device, initial.dtype)
    return of_x.to(dtype), of_initial


def _gradient_of_initial(operation, ctx, grad, first, sizes):
    """From the gradient with respect to what the initial value and the first element give."""
    x, result, mask, initial = ctx.saved_tensors
    dim, _, include_initial, exclusive, reverse = ctx.call

    def element(t):
        return t if t.dim() == 0 else t.select(dim, t.shape[dim] - 1 if reverse else 0)

    of_initial = first
    is_empty = bool(sizes) and sizes[dim] == 0
    if not is_empty:
        x_first = element(x.to(result.dtype))
        if operation == PROD:
            of_initial = first * x_first.conj()
        else:
            start = initial.to(x.device, result.dtype).expand([*x.shape[:dim], *x.shape[dim + 1:]])
            if operation == LOGSUMEXP:
                of_initial = first * (start - x_first).sigmoid()
            else:
                stays = x_first > start if operation == MIN else x_first < start
                of_initial = torch.where(stays | start.isnan(), first, 0)
        if mask is not None:
            of_initial = torch.where(element(mask.expand(x.shape)), of_initial, first)
    if include_initial or (exclusive and not is_empty):
        of_initial = of_initial + element(grad)
    return of_initial
