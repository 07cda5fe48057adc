# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scans of PyTorch tensors: fused, differentiable, for eager code and torch.compile.

>>> import torch, kokkos_scan.torch as kt
>>> x = torch.rand(4, 1000, requires_grad=True)
>>> y = kt.cumsum(x, 1, reverse=True)    # torch.cumsum(x.flip(1), 1).flip(1)

Whole numbers and bool add up in int64, as in torch.cumsum. Tensors of the host are scanned by Kokkos'
host space, those of CUDA devices on the current stream.
"""

import torch

from . import _core, _functions

try:
    import kokkos_scan._torch as _torch
except ModuleNotFoundError:  # built where PyTorch's headers were not
    from . import _torch_fallback as _torch

__all__ = ["CumProd", "CumSum", "ExclusiveCumSum", "MaskedCumSum", "ReverseCumSum", "cummax", "cummin",
           "cumprod", "cumsum"]

_OPERATORS = tuple(getattr(torch.ops.kokkos_scan, f"cumulative_{name}").default
                   for name in ("sum", "prod", "min", "max"))
_scan = _torch.scan
_is_compiling = torch.compiler.is_compiling


class _InOrder(torch.autograd.Function):
    """A sum or product in order. Its gradient is that of the scan by default."""

    @staticmethod
    def forward(ctx, operation, x, dim, dtype, include_initial, exclusive, reverse, mask, initial):
        ctx.save_for_backward(x, mask, initial)
        ctx.call = operation, dim, dtype, include_initial, exclusive, reverse
        # The shape and all checks are those of the scan by default, which computes nothing here.
        shape = _OPERATORS[operation](x.to("meta"), dim, dtype,
                                      include_initial, exclusive, reverse,
                                      None if mask is None else mask.to("meta"),
                                      None if initial is None else initial.to("meta")).shape
        for name, t in (("mask", mask), ("initial", initial)):
            if t is not None and t.device != x.device and (t.dim() or t.device.type != "cpu"):
                raise ValueError(f"kokkos_scan: {name} is on {t.device}, but x is on {x.device}.")
        result = torch.empty(shape or [1], dtype=dtype, device=x.device)
        lines = list(x.shape)
        if lines:
            del lines[dim]
        stream = (torch.cuda.current_stream(x.device).cuda_stream or 1) if x.is_cuda else 0

        def exported(t):
            if t is None:
                return None
            t = t.detach()
            t = t.resolve_conj().resolve_neg()
            return t.__dlpack__(stream=stream) if stream else t

        line = x.reshape(1) if x.dim() == 0 else x
        if mask is not None:
            mask = mask.expand(x.shape).reshape(line.shape)
        if initial is not None:
            initial = initial.to(x.device, dtype).expand(lines)
        _core.scan(operation, exported(line), exported(result), dim, include_initial, exclusive,
                   reverse, exported(mask), exported(initial), None, stream, 0, True)
        return result.reshape(shape)

    @staticmethod
    def backward(ctx, grad):
        x, mask, initial = ctx.saved_tensors
        operation, dim, dtype, include_initial, exclusive, reverse = ctx.call
        with torch.enable_grad():
            inputs = [t if t is None else t.detach().requires_grad_(needed)
                      for t, needed in ((x, ctx.needs_input_grad[1]),
                                        (initial, ctx.needs_input_grad[8]))]
            result = _OPERATORS[operation](inputs[0], dim, dtype, include_initial, exclusive,
                                           reverse, mask, inputs[1])
            wanted = [t for t in inputs if t is not None and t.requires_grad]
            gradients = iter(torch.autograd.grad(result, wanted, grad))
        of_x, of_initial = (next(gradients) if t is not None and t.requires_grad else None
                            for t in inputs)
        return None, of_x, None, None, None, None, None, None, of_initial


def _apply(operation, x, dim, dtype, include_initial, exclusive, reverse, mask, initial,
           in_order=False):
    if initial is not None and not isinstance(initial, torch.Tensor):
        initial = torch.tensor(initial)
    if in_order and operation < _functions.MIN:
        result_dtype = x.dtype if dtype is None else dtype
        # Whole numbers have the same bits in any order.
        if result_dtype.is_floating_point or result_dtype.is_complex:
            return _InOrder.apply(operation, x, dim, result_dtype, include_initial, exclusive,
                                  reverse, mask, initial)
    return _OPERATORS[operation](x, dim, dtype, include_initial, exclusive, reverse, mask, initial)


def _function(operation, name, what, torch_name):
    def function(x, dim, *, dtype=None, include_initial=False, exclusive=False, reverse=False,
                 mask=None, initial=None, in_order=False):
        if dtype is None and initial is None and not (include_initial or in_order or
                                                      _is_compiling()):
            # Half of the time of a call through torch.ops.
            result = _scan(operation, x, dim, exclusive, reverse, mask)
            if result is not NotImplemented:
                return result
        return _apply(operation, x, dim, dtype, include_initial, exclusive, reverse, mask, initial,
                      in_order)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""The cumulative {what} of the elements along a dimension; {torch_name}

    Parameters
    ----------
    x : Tensor
        Of at most eight dimensions and any strides.
    dim : int
        Negative counts from the end.
    dtype : torch.dtype, optional
        The type of the result, into which elements are converted before they are combined.
    include_initial : bool
        The result has one element more along the dimension: it begins with the initial value (the
        operation's identity where none is given) and ends with the total.
    exclusive : bool
        Each result leaves out the element itself and begins with the initial value.
    reverse : bool
        From the last element to the first.
    mask : Tensor of bool, optional
        Elements count where it is true. Its shape broadcasts to that of x.
    initial : number or Tensor, optional
        What each line starts with: one value, or a tensor of the shape of x without the dimension.
    in_order : bool
        Combine one element after the other, as a serial loop does: the same bits on every device.

    Gradients flow to x and to initial."""
    return function


cumsum = _function(_functions.SUM, "cumsum", "sum", "torch.cumsum and what is composed with it.")
cumprod = _function(_functions.PROD, "cumprod", "product",
                    "torch.cumprod and what is composed with it.")
cummin = _function(_functions.MIN, "cummin", "minimum",
                   "the values of torch.cummin, without indices.")
cummax = _function(_functions.MAX, "cummax", "maximum",
                   "the values of torch.cummax, without indices.")


def cumulate(operation, x, axis, dtype, include_initial, out, exclusive, reverse, mask, initial,
             return_totals, in_order=False):
    """kokkos_scan.cumulative_sum and its siblings for tensors."""
    if axis is None:
        if x.ndim > 1:
            raise ValueError(f"kokkos_scan: x has {x.ndim} dimensions: axis must be given.")
        axis = 0
    if x.ndim == 0:
        x = x.reshape(1)
    if out is not None:
        if not isinstance(out, torch.Tensor):
            raise TypeError(f"kokkos_scan: out is a {type(out).__name__}, but x is a Tensor.")
        dtype = out.dtype if dtype is None else dtype
    # Totals are the last of n+1 results.
    with_total = include_initial or (return_totals and exclusive)
    result = _apply(operation, x, axis, dtype, with_total,
                    exclusive and not with_total, reverse, mask, initial, in_order)
    total = None
    length = x.shape[axis]
    if return_totals:
        if result.shape[axis]:
            total = result.select(axis, 0 if reverse else result.shape[axis] - 1)
        else:
            # The initial value or the identity.
            total = _apply(operation, x, axis, dtype, True, False, reverse, mask,
                           initial, in_order).select(axis, 0)
        if exclusive:
            result = result.narrow(axis, 1 if reverse else 0, length)
    if out is not None:
        if out.dtype != result.dtype:
            raise TypeError(f"kokkos_scan: out has type {out.dtype}, but the result has "
                            f"{result.dtype}.")
        if out.shape != result.shape:
            raise ValueError(f"kokkos_scan: out has shape {tuple(out.shape)}, but expected is "
                             f"{tuple(result.shape)}.")
        if torch.is_grad_enabled() and (result.requires_grad or out.requires_grad):
            raise RuntimeError("kokkos_scan: a result in out has no gradient: detach x, or leave out "
                               "away.")
        result = out.copy_(result)
    return (result, total) if return_totals else result


class _Scan(torch.nn.Module):
    """A scan along a dimension."""

    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def extra_repr(self):
        return f"dim={self.dim}"


class CumSum(_Scan):
    """torch.cumsum(x, dim)."""

    def forward(self, x):
        return cumsum(x, self.dim)


class CumProd(_Scan):
    """torch.cumprod(x, dim)."""

    def forward(self, x):
        return cumprod(x, self.dim)


class ReverseCumSum(_Scan):
    """torch.cumsum(x.flip(dim), dim).flip(dim)."""

    def forward(self, x):
        return cumsum(x, self.dim, reverse=True)


class ExclusiveCumSum(_Scan):
    """The sum of all elements before each one: torch.cumsum(x, dim) - x, but not rounded twice."""

    def forward(self, x):
        return cumsum(x, self.dim, exclusive=True)


class MaskedCumSum(_Scan):
    """torch.cumsum(x * mask, dim), but what is masked out may be infinite or NaN."""

    def forward(self, x, mask):
        return cumsum(x, self.dim, mask=mask)
