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

from . import _functions

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


def _apply(operation, x, dim, dtype, include_initial, exclusive, reverse, mask, initial):
    if initial is not None and not isinstance(initial, torch.Tensor):
        initial = torch.tensor(initial)
    return _OPERATORS[operation](x, dim, dtype, include_initial, exclusive, reverse, mask, initial)


def _function(operation, name, what, torch_name):
    def function(x, dim, *, dtype=None, include_initial=False, exclusive=False, reverse=False,
                 mask=None, initial=None):
        if dtype is None and initial is None and not include_initial and not _is_compiling():
            # Half of the time of a call through torch.ops.
            result = _scan(operation, x, dim, exclusive, reverse, mask)
            if result is not NotImplemented:
                return result
        return _apply(operation, x, dim, dtype, include_initial, exclusive, reverse, mask, initial)

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
             return_totals):
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
                    exclusive and not with_total, reverse, mask, initial)
    total = None
    length = x.shape[axis]
    if return_totals:
        if result.shape[axis]:
            total = result.select(axis, 0 if reverse else result.shape[axis] - 1)
        else:
            # The initial value or the identity.
            total = _apply(operation, x, axis, dtype, True, False, reverse, mask,
                           initial).select(axis, 0)
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
