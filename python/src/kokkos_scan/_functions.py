# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The array functions."""

from . import _arrays, _core

SUM, PROD, MIN, MAX = range(4)

_PARAMETERS = """
    Parameters
    ----------
    x : array
        Anything that speaks DLPack or the buffer protocol, of at most eight dimensions and any
        strides. It is not copied (NumPy arrays in another byte order, and such whose elements do
        not lie at multiples of their size, are).
    axis : int, optional
        The axis; negative counts from the end. May be left out where there is one only.
    dtype : optional
        The type of the result, into which elements are converted before they are combined. Default:
        {dtype}
    include_initial : bool
        The result has one element more along the axis: it begins with the initial value (the
        operation's identity where none is given) and ends with the total.
    out : array, optional
        Where the result is written; it may be x itself. It has the result's shape and type.
    exclusive : bool
        Each result leaves out the element itself and begins with the initial value.
    reverse : bool
        From the last element to the first.
    mask : array of bool, optional
        Elements count where it is true. Its shape broadcasts to that of x.
    initial : number or array, optional
        What each line starts with: a number, or an array of the shape of x without the axis.
    return_totals : bool
        Return (result, totals); totals have the shape of x without the axis and what each whole
        line combines to, its initial value included.
    in_order : bool
        Combine one element after the other, rounding each time, as a serial loop does: the same
        bits on every device and for any number of threads, those of numpy.cumsum and numpy.cumprod
        for float32 and float64. A line is not shared between threads then.

    Returns
    -------
    An array of the kind of x on its device, or a pair of them. PyTorch tensors are computed by
    kokkos_scan.torch, so they can be differentiated and promote as PyTorch does.
"""
_SUM_DTYPE = """that of x, but int64 for bool and signed integers and uint64 for unsigned ones, as
        numpy.cumulative_sum has it."""
_ORDER_DTYPE = "that of x."


def _cumulate(operation, x, axis, dtype, include_initial, out, exclusive, reverse, mask, initial,
              return_totals, in_order):
    if exclusive and include_initial:
        raise ValueError("kokkos_scan: exclusive=True and include_initial=True say different things "
                         "of the result's shape: choose one.")
    kind = _arrays.kind_of(x)
    if kind.is_torch:
        from . import torch

        return torch.cumulate(operation, x, axis, dtype, include_initial, out, exclusive, reverse,
                              mask, initial, return_totals, in_order)
    x = kind.array(x, "x")
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"kokkos_scan: x has {x.ndim} dimensions: axis must be given.")
        axis = 0
    else:
        axis = _arrays.checked_axis(axis, x.ndim)
    code = kind.code(x, "x")
    if dtype is not None:
        result_code = kind.code_of_dtype(dtype)
    elif out is not None:
        result_code = kind.code(kind.array(out, "out"), "out")
    else:
        result_code = code if operation >= MIN else _arrays.PROMOTED[code]
    if result_code < _arrays.COMPLEX64 <= code:
        raise TypeError(f"kokkos_scan: complex values do not convert to {_arrays.NAMES[result_code]}.")
    if operation >= MIN and result_code >= _arrays.COMPLEX64:
        raise TypeError("kokkos_scan: complex values have no order, so minima and maxima cannot "
                        "combine them.")

    shape = x.shape
    if include_initial:
        shape = (*shape[:axis], shape[axis] + 1, *shape[axis + 1:])
    if out is None:
        result = kind.empty(x, shape, result_code)
    else:
        if kind.code(kind.array(out, "out"), "out") != result_code:
            raise TypeError(f"kokkos_scan: out has type {_arrays.NAMES[kind.code(out, 'out')]}, but "
                            f"the result has {_arrays.NAMES[result_code]}.")
        result = kind.writable(out, shape)
    lines = (*x.shape[:axis], *x.shape[axis + 1:])
    totals = kind.empty(x, lines, result_code) if return_totals else None
    if mask is not None:
        mask = kind.broadcast(mask, x.shape, "mask")
    if initial is not None and not isinstance(initial, (bool, int, float, complex)):
        initial = kind.initial(initial, lines, result_code)
    if isinstance(initial, complex) and result_code < _arrays.COMPLEX64:
        raise TypeError(f"kokkos_scan: the initial value is complex, but the result has type "
                        f"{_arrays.NAMES[result_code]}.")

    bfloat16 = (code == _arrays.BFLOAT16) + 2 * (result_code == _arrays.BFLOAT16)
    stream = kind.stream(x)
    _core.scan(operation, kind.exported(x, stream), kind.exported(result, stream), axis,
               include_initial, exclusive, reverse,
               None if mask is None else kind.exported(mask, stream),
               initial if initial is None or isinstance(initial, (int, float, complex))
               else kind.exported(initial, stream),
               None if totals is None else kind.exported(totals, stream), stream, bfloat16,
               in_order)
    result = out if out is not None else kind.finished(result, stream)
    return (result, kind.finished(totals, stream)) if return_totals else result


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False, out=None, exclusive=False,
                   reverse=False, mask=None, initial=None, return_totals=False, in_order=False):
    return _cumulate(SUM, x, axis, dtype, include_initial, out, exclusive, reverse, mask, initial,
                     return_totals, in_order)


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False, out=None,
                    exclusive=False, reverse=False, mask=None, initial=None, return_totals=False, in_order=False):
    return _cumulate(PROD, x, axis, dtype, include_initial, out, exclusive, reverse, mask, initial,
                     return_totals, in_order)


def cumulative_min(x, /, *, axis=None, dtype=None, include_initial=False, out=None, exclusive=False,
                   reverse=False, mask=None, initial=None, return_totals=False, in_order=False):
    return _cumulate(MIN, x, axis, dtype, include_initial, out, exclusive, reverse, mask, initial,
                     return_totals, in_order)


def cumulative_max(x, /, *, axis=None, dtype=None, include_initial=False, out=None, exclusive=False,
                   reverse=False, mask=None, initial=None, return_totals=False, in_order=False):
    return _cumulate(MAX, x, axis, dtype, include_initial, out, exclusive, reverse, mask, initial,
                     return_totals, in_order)


def _alias(function, name):
    """A function that is called as PyTorch's: the axis is the second argument."""

    def alias(x, dim, **options):
        return function(x, axis=dim, **options)

    alias.__name__ = alias.__qualname__ = name
    alias.__doc__ = f"``{function.__name__}(x, axis=dim, **options)``."
    return alias


for _function, _what, _dtype in (
        (cumulative_sum, "sum", _SUM_DTYPE), (cumulative_prod, "product", _SUM_DTYPE),
        (cumulative_min, "minimum", _ORDER_DTYPE), (cumulative_max, "maximum", _ORDER_DTYPE)):
    _function.__doc__ = f"The cumulative {_what} of the elements along an axis.\n" + _PARAMETERS.replace(
        "{dtype}", _dtype)

cumsum = _alias(cumulative_sum, "cumsum")
cumprod = _alias(cumulative_prod, "cumprod")
cummin = _alias(cumulative_min, "cummin")
cummax = _alias(cumulative_max, "cummax")
