# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's operators in Python, where the package was built without PyTorch's headers: the same
operators as those of src/torch_module.cpp, several times as slow to call.
"""

import functools
import math

import torch

from . import _core, _rules, _tensors
from ._functions import LOGSUMEXP, MAX, MIN

_NAMES = ("sum", "prod", "min", "max", "logsumexp")
_library = torch.library.Library("kokkos_scan", "DEF")
for _name in _NAMES:
    _library.define(
        f"cumulative_{_name}(Tensor x, int dim, ScalarType? dtype=None, "
        "bool include_initial=False, bool exclusive=False, bool reverse=False, Tensor? mask=None, "
        "Tensor? initial=None) -> Tensor")
_library.define(
    "scan_gradient(Tensor grad, Tensor x, Tensor result, int dim, int operation, bool exclusive, "
    "bool reverse, Tensor? mask, Tensor? initial) -> (Tensor, Tensor)")
_library.define("cumulative_extreme(Tensor x, int dim, int operation, bool reverse, Tensor? mask) -> "
                "(Tensor, Tensor)")
_library.define("linear_recurrence(Tensor a, Tensor b, int dim, Tensor? initial, bool reverse, bool "
                "include_initial, Tensor? reset=None, bool in_double=False) -> Tensor")
_library.define("advantage(Tensor rewards, Tensor values, Tensor next_value, Tensor? done, Tensor? log_ratios, "
                "float gamma, float lam, float rho_limit, float trace_limit, int dim) -> (Tensor, Tensor)")


def _no_way_around(*_):
    """There is no fast path around torch.ops."""
    return NotImplemented


scan = extreme = recurrence = advantage = _no_way_around


def _lines(sizes, dim):
    return [*sizes[:dim], *sizes[dim + 1:]]


def _result(operation, x, dim, dtype, include_initial, exclusive, mask, initial):
    """An uninitialised result, and the dimension counted from the front."""
    rank = max(x.dim(), 1)
    if not -rank <= dim < rank:
        raise IndexError(f"kokkos_scan: axis {dim} is out of range for x of rank {x.dim()}: allowed "
                         f"are {-rank} to {rank - 1}.")
    if exclusive and include_initial:
        raise ValueError("kokkos_scan: exclusive=True and include_initial=True say different things "
                         "of the result's shape: choose one.")
    dim %= rank
    if dtype is None:
        is_whole = not (x.is_floating_point() or x.is_complex())
        dtype = torch.int64 if operation not in (MIN, MAX) and is_whole else x.dtype
    if x.is_complex() and not dtype.is_complex:
        raise TypeError(f"kokkos_scan: complex values do not convert to {dtype}.")
    if operation == LOGSUMEXP and not dtype.is_floating_point:
        raise TypeError(f"kokkos_scan: logarithms of sums need a real floating type, but the result "
                        f"has type {dtype}.")
    if dtype.is_complex and operation >= MIN:
        raise TypeError("kokkos_scan: complex values have no order, so minima and maxima cannot "
                        "combine them.")
    if mask is not None and mask.dtype != torch.bool:
        raise TypeError(f"kokkos_scan: mask has type {mask.dtype}: expected bool.")
    if mask is not None and mask.device != x.device:
        raise ValueError(f"kokkos_scan: mask is on {mask.device}, but x is on {x.device}.")
    if initial is not None and initial.device != x.device and (
            initial.dim() or initial.device.type != "cpu"):
        raise ValueError(f"kokkos_scan: initial is on {initial.device}, but x is on {x.device}.")
    if initial is not None and initial.dim() and initial.shape != torch.Size(_lines(x.shape, dim)):
        raise ValueError(f"kokkos_scan: initial has shape {tuple(initial.shape)}, but expected is "
                         f"{tuple(_lines(x.shape, dim))}, the shape of x without the axis.")
    if not include_initial:
        return torch.empty_like(x, dtype=dtype), dim
    sizes = list(x.shape)
    sizes[dim] += 1
    return x.new_empty(sizes, dtype=dtype), dim


def _line(x):
    """A zero-dimensional tensor is scanned as a line of one element."""
    return x.reshape(1) if x is not None and x.dim() == 0 else x


def _starts(x, dim, initial, dtype):
    if initial is None:
        return None
    return initial.to(x.device, dtype).expand(_lines(x.shape, dim))


def _scan(operation, x, dim, dtype=None, include_initial=False, exclusive=False, reverse=False,
          mask=None, initial=None):
    result, dim = _result(operation, x, dim, dtype, include_initial, exclusive, mask, initial)
    stream = _tensors.stream_of(x)
    if mask is not None:
        mask = mask.expand(x.shape)
    starts = _starts(x, dim, initial, result.dtype)
    _core.scan(operation, _tensors.exported(_line(x), stream), _tensors.exported(_line(result), stream), dim,
               include_initial, exclusive, reverse, _tensors.exported(_line(mask), stream),
               _tensors.exported(starts, stream), None, stream, 0)
    return result


def _scan_fake(operation, x, dim, dtype=None, include_initial=False, exclusive=False, reverse=False,
               mask=None, initial=None):
    return _result(operation, x, dim, dtype, include_initial, exclusive, mask, initial)[0]


def _gradient_fake(grad, x, result, dim, operation, exclusive, reverse, mask, initial):
    return torch.empty_like(x, dtype=grad.dtype), grad.new_empty(_lines(x.shape, dim))


def _gradient(grad, x, result, dim, operation, exclusive, reverse, mask, initial):
    gradient, of_lines = _gradient_fake(grad, x, result, dim, operation, exclusive, reverse, mask,
                                        initial)
    if not gradient.numel() or (exclusive and (not grad.dim() or grad.shape[dim] == 1)):
        of_lines.zero_()  # not written below
    if gradient.numel():
        stream = _tensors.stream_of(grad)
        if mask is not None:
            mask = mask.expand(x.shape)
        starts = _starts(gradient, dim, initial, grad.dtype)
        by_element = torch.empty_like(
            gradient, dtype=torch.float32 if gradient.element_size() == 2 else None)
        grad = _tensors.along_lines(_line(grad), dim)
        _core.gradient(operation, _tensors.exported(grad, stream), _tensors.exported(_line(x), stream),
                       _tensors.exported(_line(result), stream), _tensors.exported(_line(gradient), stream),
                       _tensors.exported(_line(by_element), stream), dim, exclusive, reverse,
                       _tensors.exported(_line(mask), stream), _tensors.exported(starts, stream),
                       _tensors.exported(of_lines, stream), stream)
    return gradient, of_lines


def _three(x, dim, length):
    """The dimensions before dim as one, dim, and those behind it as one."""
    return x.reshape(math.prod(x.shape[:dim]), length, math.prod(x.shape[dim + 1:]))


def _extreme(x, dim, operation, reverse, mask):
    values, index = x.new_empty(x.shape), x.new_empty(x.shape, dtype=torch.int64)
    if x.numel() == 0:
        return values, index
    length = x.shape[dim] if x.dim() else 1
    if length > _core.longest_line(x.element_size()):
        wide, index = _extreme(x.double(), dim, operation, reverse, mask)
        return wide.to(x.dtype), index
    dim %= max(x.dim(), 1)
    stream = _tensors.stream_of(x)
    if mask is not None:
        mask = _three(mask.expand(x.shape), dim, length)
    _core.extreme(operation, *(_tensors.exported(_three(t, dim, length), stream) for t in (x, values, index)),
                  reverse, _tensors.exported(mask, stream), stream, x.dtype == torch.bfloat16)
    return values, index


def _along(t, dim, stream):
    """A tensor of steps as the kernels read it, if there is one."""
    if t is None:
        return None
    return _tensors.exported(_three(_tensors.along_lines(t, dim), dim, t.shape[dim]), stream)


def _recurrence(a, b, dim, initial, reverse, include_initial, reset=None, in_double=False):
    if in_double and reset is not None and b.dtype != torch.float64:
        # There is no kernel for what is rare.
        wide = [t if t is None else t.double() for t in (a, b, initial)]
        return _recurrence(*wide[:2], dim, wide[2], reverse, include_initial, reset).to(b.dtype)
    shape = list(b.shape)
    shape[dim] += 1 if include_initial else 0
    states = b.new_empty(shape)
    if states.numel():
        stream = _tensors.stream_of(b)
        before, behind = math.prod(b.shape[:dim]), math.prod(b.shape[dim + 1:])
        _core.recurrence(
            float(a) if a.dim() == 0 else _along(a, dim, stream), _along(b, dim, stream), _along(states, dim, stream),
            include_initial, reverse,
            None if initial is None else _tensors.exported(initial.reshape(before, behind), stream), stream,
            b.dtype == torch.bfloat16, _along(reset, dim, stream), in_double)
    return states


def _advantage(rewards, values, next_value, done, log_ratios, gamma, lam, rho_limit, trace_limit, dim):
    advantages, targets = rewards.new_empty(rewards.shape), rewards.new_empty(rewards.shape)
    if rewards.numel():
        stream = _tensors.stream_of(rewards)
        before, behind = math.prod(rewards.shape[:dim]), math.prod(rewards.shape[dim + 1:])
        _core.advantage(_along(rewards, dim, stream), _along(values, dim, stream),
                        _tensors.exported(next_value.reshape(before, behind), stream),
                        *(_along(t, dim, stream) for t in (advantages, targets, done, log_ratios)),
                        (gamma, lam, rho_limit, trace_limit), stream, rewards.dtype == torch.bfloat16)
    return advantages, targets


def _backward(operation, ctx, grad):
    of_x, of_initial = _rules.backward(operation, ctx, grad)
    return of_x, None, None, None, None, None, None, of_initial


for _operation, _name in enumerate(_NAMES):
    for _key in ("CPU", "CUDA"):
        _library.impl(f"cumulative_{_name}", functools.partial(_scan, _operation), _key)
    _operator = f"kokkos_scan::cumulative_{_name}"
    torch.library.register_fake(_operator, functools.partial(_scan_fake, _operation), lib=_library)
    torch.library.register_autograd(
        _operator, functools.partial(_backward, _operation), lib=_library,
        setup_context=functools.partial(_rules.setup_context, _operation))
for _key in ("CPU", "CUDA"):
    for _name, _kernel in (("scan_gradient", _gradient), ("cumulative_extreme", _extreme),
                           ("linear_recurrence", _recurrence), ("advantage", _advantage)):
        _library.impl(_name, _kernel, _key)
torch.library.register_fake("kokkos_scan::scan_gradient", _gradient_fake, lib=_library)
