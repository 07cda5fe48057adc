# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The array functions."""

import inspect
import math

import numpy as np

from . import _arrays, _core

SUM, PROD, MIN, MAX, LOGSUMEXP = range(5)

_PARAMETERS = """
    Parameters
    ----------
    x : array
        Anything that speaks DLPack or the buffer protocol, of at most eight dimensions and any
        strides. It is not copied (NumPy arrays in another byte order, and such whose elements do
        not lie at multiples of their size, are). Lists, Series and the like become arrays of NumPy.
        NumPy's timedelta64 has sums, minima and maxima, and datetime64 minima and maxima.
    axis : int, optional
        The axis; negative counts from the end. May be left out where there is one only.
    dtype : optional
        The type of the result, into which elements are converted before they are combined. Default:
        {dtype}
    include_initial : bool
        The result has one element more along the axis: it begins with the initial value (the
        operation's identity where none is given) and ends with the total.
    out : array, optional
        Where the result is written; it may be x itself. It has the result's shape. As in NumPy, it
        may be of another type, to which results are converted; where no dtype is given, the type of
        x and out, as numpy.result_type has it, is combined in.
    exclusive : bool
        Each result leaves out the element itself and begins with the initial value.
    reverse : bool
        From the last element to the first.
    mask : array of bool, optional
        Elements count where it is true. Its shape broadcasts to that of x.
    initial : number or array, optional
        What each line starts with: a number, or an array of the shape of x without the axis. Where
        the result is an integer, it must be one that the type holds.
    return_totals : bool
        Return (result, totals); totals have the shape of x without the axis and what each whole
        line combines to, its initial value included.
    in_order : bool
        Combine one element after the other, rounding each time, as a serial loop does: the same
        bits on every device and for any number of threads, those of numpy.cumsum and numpy.cumprod
        for float32 and float64. A line is not shared between threads then.

    Returns
    -------
    array, or a pair of arrays
        Of the kind of x, on its device. PyTorch tensors are computed by kokkos_scan.torch, so they
        can be differentiated and promote as PyTorch does.
"""
_INDICES = """    return_indices : bool
        Return (values, indices): where the value stands, as int64. Of equal elements, and of NaNs,
        that is the last one in the order of the scan, as torch.cummin and torch.cummax have it; -1
        where the mask has been false so far.
"""
_NO_ORDER = ("kokkos_scan: complex values have no order, so minima and maxima cannot combine them.")
_SUM_DTYPE = """that of x, but int64 for bool and signed integers and uint64 for unsigned ones, as
        numpy.cumulative_sum has it."""
_ORDER_DTYPE = "that of x."
_LOGARITHM_DTYPE = "that of x, but float64 for whole numbers, as numpy.logaddexp has it."


def _default_code(operation, code):
    if operation == LOGSUMEXP:
        return code if code >= _arrays.FLOAT16 else _arrays.FLOAT64
    return code if operation >= MIN else _arrays.PROMOTED[code]


def _code_for_out(kind, operation, x, code, out, of_out):
    """The type in which elements combine whose results go to an array of another type: NumPy's for both.
    Whole numbers wrap alike in either, but for minima and maxima."""
    if _arrays.BFLOAT16 in (code, of_out) or (operation < MIN and _arrays.BOOL < min(code, of_out) and
                   max(code, of_out) < _arrays.FLOAT16):
        return of_out
    both = kind.code_of_dtype(np.result_type(x.dtype, out.dtype))
    return _default_code(operation, both) if operation == LOGSUMEXP else both


def _cumulate_times(operation, x, axis, dtype, include_initial, out, exclusive, reverse, mask,
                    initial, return_totals):
    """Scans of times and of their differences: those of whole numbers, and NaT where one came before."""
    kind = _arrays.kind_of(x)
    is_sum = operation == SUM and x.dtype.kind == "m"
    if not is_sum and operation not in (MIN, MAX):
        _arrays._refuse_dtype(x.dtype, "x")
    unit = x.dtype if dtype is None else kind.dtype(dtype)
    if unit.kind != x.dtype.kind:
        raise TypeError(f"kokkos_scan: {x.dtype} does not convert to {unit}.")
    values = x.astype(unit.newbyteorder("="), copy=False)
    if initial is not None:
        initial = np.asarray(initial)
        if initial.dtype.kind != unit.kind:
            raise TypeError(f"kokkos_scan: initial has type {initial.dtype}: expected {unit}.")
        initial = initial.astype(values.dtype, copy=False)
    options = include_initial, None, exclusive, reverse, mask
    results = _cumulate(operation, values.view("i8"), axis, None, *options,
                        None if initial is None else initial.view("i8"), True, False)
    results = [result.view(values.dtype) for result in results]
    is_nat = np.isnat(values)
    if is_nat.any() or (initial is not None and np.isnat(initial).any()):
        after_nat = _cumulate(MAX, is_nat, axis, None, *options,
                              None if initial is None else np.isnat(initial), True, False)
        for result, place in zip(results, after_nat):
            result[place] = "NaT"
    if out is not None:
        results[0] = _stored(out, results[0])
    return tuple(results) if return_totals else results[0]


_UFUNCS = (np.add, np.multiply, np.minimum, np.maximum, np.logaddexp)


def _wrapped(operation, x, results):
    """Results as the class of x has those of NumPy: matrices are matrices, and units stay."""
    empty = _UFUNCS[operation].accumulate(x[:0])  # or what the class refuses
    if type(empty) is np.ndarray:
        return results
    return tuple(empty.__array_wrap__(result) for result in results)


def _labelled(given, result):
    """The result with the labels of a Series, a DataFrame or an array of xarray, where it has their shape."""
    if result.shape != getattr(given, "shape", None):
        return result
    if hasattr(given, "__array_wrap__"):
        return given.__array_wrap__(result)
    if _arrays.is_instance(given, "pandas", "Series"):
        return given._constructor(result, index=given.index, name=given.name)
    if _arrays.is_instance(given, "pandas", "DataFrame"):
        return given._constructor(result, index=given.index, columns=given.columns)
    return result


def _stored(out, result):
    """out, with results in it that were computed elsewhere."""
    if out.shape != result.shape and (out.ndim or result.shape != (1,)):
        raise ValueError(f"kokkos_scan: out has shape {out.shape}, but expected is {result.shape}.")
    try:
        out[...] = result if out.ndim else result[0]
    except (TypeError, ValueError) as error:  # it is read-only, or its type another kind
        raise type(error)(f"kokkos_scan: out takes no results: {error}") from None
    return out


def _cumulate(operation, x, axis, dtype, include_initial, out, exclusive, reverse, mask, initial,
              return_totals, in_order):
    # Most short calls: one of the kernels' functions does it all, or answers None.
    if (dtype is out is mask is initial is None and include_initial is return_totals is False and
            type(exclusive) is type(reverse) is type(in_order) is bool):
        result = _core.scan_quickly(operation, x, axis, exclusive, reverse, in_order)
        if result is not None:
            return result
    # One condition, as short calls count every tenth of a microsecond.
    if not (type(include_initial) is type(exclusive) is type(reverse) is type(return_totals) is
            type(in_order) is bool):
        flag = _arrays.checked_flag
        include_initial = flag(include_initial, "include_initial")
        exclusive, reverse = flag(exclusive, "exclusive"), flag(reverse, "reverse")
        return_totals, in_order = flag(return_totals, "return_totals"), flag(in_order, "in_order")
    if exclusive and include_initial:
        raise ValueError("kokkos_scan: exclusive=True and include_initial=True say different things "
                         "of the result's shape: choose one.")
    kind = _arrays.kind_of(x)
    if kind.is_torch:
        from . import torch

        return torch.cumulate(operation, x, axis, dtype, include_initial, out, exclusive, reverse,
                              mask, initial, return_totals, in_order)
    given = x
    x = kind.array(x, "x")
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"kokkos_scan: x has {x.ndim} dimensions: axis must be given.")
        axis = 0
    else:
        axis = _arrays.checked_axis(axis, x.ndim)
    if out is not None:
        seen = kind.output(out)
    if type(x) is np.ndarray and x.dtype.kind in "mM":
        return _cumulate_times(operation, x, axis, dtype, include_initial, out, exclusive, reverse,
                               mask, initial, return_totals)
    code = kind.code(x, "x")
    if dtype is not None:
        result_code = kind.code_of_dtype(dtype)
        out_code = result_code if out is None else kind.code(seen, "out")
    elif out is not None:
        result_code = out_code = kind.code(seen, "out")
        if out_code != code and kind.has_casts:
            result_code = _code_for_out(kind, operation, x, code, seen, out_code)
    else:
        result_code = _default_code(operation, code)
    if result_code < _arrays.COMPLEX64 <= code:
        raise TypeError(f"kokkos_scan: complex values do not convert to {_arrays.NAMES[result_code]}.")
    if operation == LOGSUMEXP and not _arrays.is_real_code(result_code):
        raise TypeError(f"kokkos_scan: logarithms of sums need a real floating type, but the result "
                        f"has {_arrays.NAMES[result_code]}.")
    if operation >= MIN and result_code >= _arrays.COMPLEX64:
        raise TypeError(_NO_ORDER)

    shape = x.shape
    if include_initial:
        shape = (*shape[:axis], shape[axis] + 1, *shape[axis + 1:])
    is_cast = out is not None and (out_code != result_code or (kind.has_casts and not kind.is_writable(seen)))
    if is_cast and (not kind.has_casts or out_code < _arrays.COMPLEX64 <= result_code):
        raise TypeError(f"kokkos_scan: out has type {_arrays.NAMES[out_code]}, but the result has "
                        f"{_arrays.NAMES[result_code]}.")
    if is_cast and seen.shape != shape:  # before all else is computed
        raise ValueError(f"kokkos_scan: out has shape {seen.shape}, but expected is {shape}.")
    if out is None or is_cast:
        result = kind.empty(x, shape, result_code)
    else:
        result = kind.writable(out, shape)
    lines = (*x.shape[:axis], *x.shape[axis + 1:])
    totals = kind.empty(x, lines, result_code) if return_totals else None
    if mask is not None:
        mask = kind.broadcast(mask, x.shape, "mask")
    if initial is not None:
        if not isinstance(initial, (bool, int, float, complex)):
            initial = kind.initial(initial, lines, result_code)
        elif isinstance(initial, complex) and result_code < _arrays.COMPLEX64:
            raise TypeError(f"kokkos_scan: the initial value is complex, but the result has type "
                            f"{_arrays.NAMES[result_code]}.")
        else:
            initial = _arrays.checked_number(initial, result_code)

    bfloat16 = (code == _arrays.BFLOAT16) + 2 * (result_code == _arrays.BFLOAT16)
    stream = kind.stream(x)
    _core.scan(operation, kind.exported(x, stream), kind.exported(result, stream), axis,
               include_initial, exclusive, reverse,
               None if mask is None else kind.exported(mask, stream),
               initial if initial is None or isinstance(initial, (int, float, complex))
               else kind.exported(initial, stream),
               None if totals is None else kind.exported(totals, stream), stream, bfloat16,
               in_order)
    if type(given) is not type(x):
        if not isinstance(given, np.ndarray):
            if out is None and kind is _arrays.NUMPY:
                result = _labelled(given, result)
        elif given.ndim:
            if out is None:
                result, *_ = _wrapped(operation, given, (result,))
            if return_totals:
                totals, *_ = _wrapped(operation, given, (totals,))
    if is_cast:
        result = _stored(out, result)
    else:
        result = out if out is not None else kind.finished(result, stream)
    return (result, kind.finished(totals, stream)) if return_totals else result


def _refuse(function, unknown):
    """For keywords that a function does not have."""
    names = [name for name, of in inspect.signature(function).parameters.items() if of.kind == of.KEYWORD_ONLY]
    raise TypeError(f"kokkos_scan: {function.__name__} has no argument {next(iter(unknown))}: it has "
                    f"{', '.join(names)}.")


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False, out=None, exclusive=False,
                   reverse=False, mask=None, initial=None, return_totals=False, in_order=False,
                   **unknown):
    if unknown:
        _refuse(cumulative_sum, unknown)
    return _cumulate(SUM, x, axis, dtype, include_initial, out, exclusive, reverse, mask, initial,
                     return_totals, in_order)


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False, out=None,
                    exclusive=False, reverse=False, mask=None, initial=None, return_totals=False, in_order=False,
                    **unknown):
    if unknown:
        _refuse(cumulative_prod, unknown)
    return _cumulate(PROD, x, axis, dtype, include_initial, out, exclusive, reverse, mask, initial,
                     return_totals, in_order)


def _extreme(operation, x, axis, dtype, include_initial, out, exclusive, reverse, mask, initial,
             return_totals, in_order, return_indices):
    if return_indices is False or not _arrays.checked_flag(return_indices, "return_indices"):
        return _cumulate(operation, x, axis, dtype, include_initial, out, exclusive, reverse, mask,
                         initial, return_totals, in_order)
    if exclusive or include_initial or return_totals or initial is not None:
        raise ValueError("kokkos_scan: return_indices=True goes with the inclusive results alone: "
                         "not with exclusive, include_initial, initial or return_totals.")
    if dtype is not None:
        raise ValueError("kokkos_scan: return_indices=True compares x itself: leave dtype away.")
    kind = _arrays.kind_of(x)
    if kind.is_torch:
        from . import torch

        if axis is None and x.ndim > 1:
            raise ValueError(f"kokkos_scan: x has {x.ndim} dimensions: axis must be given.")
        if out is not None:
            raise ValueError("kokkos_scan: return_indices=True has no out for tensors.")
        function = torch.cummin if operation == MIN else torch.cummax
        return function(x, 0 if axis is None else axis, reverse=reverse, mask=mask,
                        return_indices=True)
    if not kind.has_reshape:
        raise TypeError(f"kokkos_scan: return_indices=True takes arrays of NumPy, CuPy and PyTorch, "
                        f"not a {type(x).__name__}.")
    seen = kind.array(x, "x")
    axis = 0 if axis is None and seen.ndim == 1 else axis
    if axis is None:
        raise ValueError(f"kokkos_scan: x has {seen.ndim} dimensions: axis must be given.")
    axis = _arrays.checked_axis(axis, seen.ndim)
    code = kind.code(seen, "x")
    if out is not None:
        given = kind.output(out)
        if kind.code(given, "out") != code:
            raise TypeError(f"kokkos_scan: out has type {_arrays.NAMES[kind.code(given, 'out')]}, but "
                            f"the result has {_arrays.NAMES[code]}.")
        if given.shape != seen.shape:
            raise ValueError(f"kokkos_scan: out has shape {given.shape}, but expected is {seen.shape}.")
    values = kind.empty_rows(seen, seen.shape, code)
    index = kind.empty_rows(seen, seen.shape, _arrays.INT64)
    if mask is not None:
        mask = kind.broadcast(mask, seen.shape, "mask")
    if code >= _arrays.COMPLEX64:
        raise TypeError(_NO_ORDER)
    if seen.shape[axis] > _core.longest_line(seen.itemsize):
        wide, index = _extreme(operation, seen.astype("float64"), axis, None, False, None, False,
                               reverse, mask, None, False, in_order, True)
        values[...] = wide
    elif index.size:
        stream = kind.stream(seen)
        three = _arrays.ThreeDimensions(seen.shape, axis)
        _core.extreme(operation,
                      *(kind.exported(three.of(array), stream) for array in (seen, values, index)),
                      reverse, None if mask is None else kind.exported(three.of(mask), stream),
                      stream, code == _arrays.BFLOAT16)
    if out is not None:
        # It may be x, or a part of it.
        given[...] = values
        values = out
    return values, index


def cumulative_min(x, /, *, axis=None, dtype=None, include_initial=False, out=None, exclusive=False,
                   reverse=False, mask=None, initial=None, return_totals=False, in_order=False,
                   return_indices=False, **unknown):
    if unknown:
        _refuse(cumulative_min, unknown)
    return _extreme(MIN, x, axis, dtype, include_initial, out, exclusive, reverse, mask, initial,
                    return_totals, in_order, return_indices)


def cumulative_max(x, /, *, axis=None, dtype=None, include_initial=False, out=None, exclusive=False,
                   reverse=False, mask=None, initial=None, return_totals=False, in_order=False,
                   return_indices=False, **unknown):
    if unknown:
        _refuse(cumulative_max, unknown)
    return _extreme(MAX, x, axis, dtype, include_initial, out, exclusive, reverse, mask, initial,
                    return_totals, in_order, return_indices)


def cumulative_logsumexp(x, /, *, axis=None, dtype=None, include_initial=False, out=None,
                         exclusive=False, reverse=False, mask=None, initial=None,
                         return_totals=False, **unknown):
    if unknown:
        _refuse(cumulative_logsumexp, unknown)
    return _cumulate(LOGSUMEXP, x, axis, dtype, include_initial, out, exclusive, reverse, mask,
                     initial, return_totals, False)


def _without_nan(x, mask):
    """A mask that is false where x is NaN; None where nothing is."""
    kind = _arrays.kind_of(x)
    if not kind.is_torch:
        if not kind.has_reshape:
            raise TypeError(f"kokkos_scan: NaNs are skipped in arrays of NumPy, CuPy and PyTorch, "
                            f"not in a {type(x).__name__}.")
        x = kind.array(x, "x")
        if x.dtype.kind in "mM" or kind.code(x, "x") < _arrays.FLOAT16:
            return mask
    elif not (x.is_floating_point() or x.is_complex()):
        return mask
    elif x.ndim == 0:
        x = x.reshape(1)
    numbers = x == x
    return numbers if mask is None else numbers & mask


def linear_recurrence(a, b, /, *, axis=None, initial=None, reverse=False, include_initial=False, reset=None,
                      in_double=None, **unknown):
    """The states h of the recurrence h[k] = a[k] * h[k-1] + b[k] along an axis.

    Parameters
    ----------
    a : number or array
        The coefficients; an array broadcasts to the shape of b and has its type.
    b : array
        Of float16, bfloat16, float32 or float64: an array of NumPy, CuPy or PyTorch.
    axis : int, optional
        The axis; negative counts from the end. May be left out where there is one only.
    initial : number or array, optional
        h[-1], the state before the first step: a number, or an array of the shape of b without the
        axis. Default: 0.
    reverse : bool
        From the last element to the first: h[k] = a[k] * h[k+1] + b[k].
    include_initial : bool
        The result has one element more along the axis: it begins with the initial state (with
        reverse=True it ends with it).
    reset : array of bool, optional
        Where it is true, h[k] = b[k], whatever the state before is, even NaN: sequences in one line.
        Its shape broadcasts to that of b.
    in_double : bool, optional
        Compute states in float64, so that they are exact but for the last rounding. Default: where a is a
        number, which is not rounded to float32 then (0.9999 is another number there), and there is no reset.

    Returns
    -------
    array
        Of the kind, the type and the device of b. With coefficients in an array, states are computed in
        float32 for 16-bit floats and in the type of b otherwise, as a loop does, and rounded to the type of b
        once: the error is a few roundings of the sum of magnitudes of the terms, weighted as in the states.
        A coefficient of 0 forgets the state before it, even an infinite one; NaN stays.
    """
    if unknown:
        _refuse(linear_recurrence, unknown)
    kind = _arrays.kind_of(b)
    reverse = _arrays.checked_flag(reverse, "reverse")
    include_initial = _arrays.checked_flag(include_initial, "include_initial")
    if in_double is not None:
        in_double = _arrays.checked_flag(in_double, "in_double")
    if kind.is_torch:
        if axis is None and b.ndim > 1:
            raise ValueError(f"kokkos_scan: b has {b.ndim} dimensions: axis must be given.")
        from . import torch

        return torch.linear_recurrence(a, b, -1 if axis is None else axis, initial, reverse,
                                       include_initial=include_initial, reset=reset, in_double=in_double)
    b, axis, code = _checked_line(kind, b, axis, "b", "linear_recurrence", "a linear recurrence needs")
    a = kind.coefficients(a, b)
    if in_double is None:
        in_double = isinstance(a, float) and reset is None
    lines = (*b.shape[:axis], *b.shape[axis + 1:])
    shape = list(b.shape)
    shape[axis] += 1 if include_initial else 0
    result = kind.empty_rows(b, tuple(shape), code)
    if initial is not None:
        initial = _value_of_lines(kind, initial, lines, code)
    if reset is not None:
        reset = kind.broadcast(reset, b.shape, "reset")
    if in_double and reset is not None and code != _arrays.FLOAT64:
        # There is no kernel for what is rare.
        wide = [t if t is None or isinstance(t, float) else t.astype("float64") for t in (a, b, initial)]
        result[...] = linear_recurrence(*wide[:2], axis=axis, initial=wide[2], reverse=reverse,
                                        include_initial=include_initial, reset=reset)
    elif result.size:
        three = _arrays.ThreeDimensions(b.shape, axis)
        stream = kind.stream(b)
        _core.recurrence(a if isinstance(a, float) else kind.exported(three.of(a), stream),
                         kind.exported(three.of(b), stream),
                         kind.exported(three.of(result, shape[axis]), stream), include_initial,
                         reverse, None if initial is None else
                         kind.exported(three.of_lines(initial), stream), stream,
                         code == _arrays.BFLOAT16,
                         None if reset is None else kind.exported(three.of(reset), stream), in_double)
    return result


def _checked_line(kind, x, axis, name, function, needs):
    """An array of real floating numbers, its axis counted from the front, and its type."""
    if not kind.has_reshape:
        raise TypeError(f"kokkos_scan: {function} takes arrays of NumPy, CuPy and PyTorch, not "
                        f"a {type(x).__name__}.")
    x = kind.array(x, name)
    if axis is None and x.ndim > 1:
        raise ValueError(f"kokkos_scan: {name} has {x.ndim} dimensions: axis must be given.")
    axis = 0 if axis is None else _arrays.checked_axis(axis, x.ndim)
    code = kind.code(x, name)
    if not _arrays.is_real_code(code):
        raise TypeError(f"kokkos_scan: {needs} a real floating type, not {_arrays.NAMES[code]}.")
    return x, axis, code


def _value_of_lines(kind, value, lines, code):
    if isinstance(value, (bool, int, float)):
        value = np.float64(value)
    return kind.initial(value, lines, code)


def discounted_sum(x, gamma, /, *, axis=None, done=None, initial=None):
    """Discounted sums of what is still to come: y[t] = x[t] + gamma[t] * y[t+1], where y[t+1] counts as 0
    if done[t]; initial is y behind the last step.

    ``linear_recurrence(gamma, x, axis=axis, initial=initial, reverse=True, reset=done)``, computed as a loop
    does: the returns of
    R. S. Sutton, A. G. Barto, Reinforcement Learning (2018), 3.3."""
    return linear_recurrence(gamma, x, axis=axis, initial=initial, reverse=True, reset=done, in_double=False)


def _advantage(function, rewards, values, next_value, done, log_ratios, numbers, axis):
    """Advantages and targets of arrays, and what they were computed from."""
    kind = _arrays.kind_of(rewards)
    rewards, axis, code = _checked_line(kind, rewards, axis, "rewards", function, "rewards need")
    others = {"values": values} if log_ratios is None else {"values": values, "log_ratios": log_ratios}
    for name, other in others.items():
        other = others[name] = kind.array(other, name)
        if kind.code(other, name) != code or other.shape != rewards.shape:
            raise TypeError(f"kokkos_scan: {name} has type {other.dtype} and shape {other.shape}, but rewards have "
                            f"{rewards.dtype} and {rewards.shape}.")
    next_value = _value_of_lines(kind, next_value, (*rewards.shape[:axis], *rewards.shape[axis + 1:]), code)
    if done is not None:
        done = kind.broadcast(done, rewards.shape, "done")
    advantages = kind.empty_rows(rewards, rewards.shape, code)
    targets = kind.empty_rows(rewards, rewards.shape, code)
    if rewards.size:
        three = _arrays.ThreeDimensions(rewards.shape, axis)
        stream = kind.stream(rewards)

        def of_steps(array):
            return None if array is None else kind.exported(three.of(array), stream)

        _core.advantage(of_steps(rewards), of_steps(others["values"]),
                        kind.exported(three.of_lines(next_value), stream), of_steps(advantages), of_steps(targets),
                        of_steps(done), of_steps(others.get("log_ratios")), numbers, stream,
                        code == _arrays.BFLOAT16)
    return advantages, targets, (kind, rewards, others, next_value, done, axis)


def gae(rewards, values, next_value, /, *, done=None, gamma=0.99, lam=0.95, axis=None):
    """Generalised advantage estimates, and the returns that values should predict.

    With V the values, V[T] = next_value, and c[t] = gamma, or 0 where done[t]:

        A[t] = rewards[t] + c[t] * V[t+1] - V[t] + lam * c[t] * A[t+1],    A[T] = 0,
        returns[t] = A[t] + V[t].

    Equation 16 of J. Schulman et al., High-dimensional continuous control using generalized advantage
    estimation (arXiv:1506.02438). One kernel reads rewards, values and done once and writes both results.
    States are of float32 for 16-bit floats, else of the type of the rewards. What is behind the end of an
    episode does not matter, even if it is NaN.

    Parameters
    ----------
    rewards, values : array
        Of one shape and one real floating type, in any layout: arrays of NumPy, CuPy or PyTorch.
    next_value : number or array
        The value behind the last step: of the shape of rewards without the axis.
    done : array of bool, optional
        Whether the episode ended with step t.
    gamma, lam : float
        The discount, and the weight of longer sums.
    axis : int, optional
        Time. May be left out where there is one axis only.

    Returns
    -------
    (advantages, returns), of the shape and the type of rewards
    """
    if _arrays.kind_of(rewards).is_torch:
        from . import torch

        return torch.gae(rewards, values, next_value, done, gamma, lam, 0 if axis is None else axis)
    numbers = (float(gamma), float(lam), 1.0, 1.0)
    return _advantage("gae", rewards, values, next_value, done, None, numbers, axis)[:2]


def lambda_return(rewards, values, next_value, /, *, done=None, gamma=0.99, lam=0.95, axis=None):
    """Returns that mix all numbers of steps:

        G[t] = rewards[t] + c[t] * ((1 - lam) * V[t+1] + lam * G[t+1]),    G[T] = V[T] = next_value,

    with c[t] = gamma, or 0 where done[t]. R. S. Sutton, A. G. Barto, Reinforcement Learning (2018), 12.1.
    They are the returns of gae(), whose arguments it takes."""
    return gae(rewards, values, next_value, done=done, gamma=gamma, lam=lam, axis=axis)[1]


def vtrace(log_ratios, rewards, values, next_value, /, *, done=None, gamma=0.99, lam=1.0, rho_limit=1.0,
           c_limit=1.0, axis=None):
    """V-trace targets and the advantages of policy gradients that belong to them.

    With ratio[t] = exp(log_ratios[t]) of the policy that is learned to the one that acted, V the values,
    V[T] = next_value, c[t] = gamma, or 0 where done[t], and rho[t] = min(rho_limit, ratio[t]):

        delta[t] = rho[t] * (rewards[t] + c[t] * V[t+1] - V[t]),
        v[t] = V[t] + delta[t] + lam * min(c_limit, ratio[t]) * c[t] * (v[t+1] - V[t+1]),    v[T] = V[T],
        advantages[t] = rho[t] * (rewards[t] + c[t] * v[t+1] - V[t]).

    Section 4 of L. Espeholt et al., IMPALA: scalable distributed deep-RL with importance weighted
    actor-learner architectures (arXiv:1802.01561). Targets are one kernel; advantages are elementwise
    operations after it. log_ratios has the shape and the type of rewards; the other arguments are those
    of gae(). Returns (targets, advantages)."""
    if _arrays.kind_of(rewards).is_torch:
        from . import torch

        return torch.vtrace(log_ratios, rewards, values, next_value, done, gamma, lam, rho_limit, c_limit,
                            0 if axis is None else axis)
    numbers = (float(gamma), float(lam), float(rho_limit), float(c_limit))
    _, targets, (kind, rewards, others, next_value, done, axis) = _advantage(
        "vtrace", rewards, values, next_value, done, log_ratios, numbers, axis)
    module = kind._module
    later = module.concatenate([targets, module.expand_dims(next_value, axis)], axis)
    later = later[(slice(None),) * axis + (slice(1, None),)]
    if done is not None:
        later = module.where(done, later.dtype.type(0), later)
    ratio = module.minimum(module.exp(others["log_ratios"]), rewards.dtype.type(rho_limit))
    return targets, ratio * (rewards + rewards.dtype.type(gamma) * later - others["values"])


def compact(x, mask, /, *, axis=None, return_indices=False, fill_value=0, **unknown):
    """The elements where a mask is true, beside each other: x[mask], or that of each line.

    Parameters
    ----------
    x : array
        An array of NumPy, CuPy or PyTorch, or of what numpy.asarray makes one.
    mask : array of bool
        Its shape broadcasts to that of x.
    axis : int, optional
        Of each line along this axis the elements that are kept come to its front. Default: those of
        all x, in the order of C, as x[mask] and torch.masked_select have them.
    return_indices : bool
        Return where the elements were as well, as int64: along the axis, or in x.reshape(-1).
    fill_value : number
        What is behind them in each line, where there is an axis.

    Returns
    -------
    Without an axis, the elements: an array of one dimension of the length that they have. With an
    axis (values, counts): an array of the shape of x, and how many of each line were kept, of the
    shape of x without the axis. Indices come behind the values; they are -1 behind those of a line.
    """
    if unknown:
        _refuse(compact, unknown)
    kind = _arrays.kind_of(x)
    return_indices = _arrays.checked_flag(return_indices, "return_indices")
    if kind.is_torch:
        from . import torch

        return torch.compact(x, mask, axis=axis, return_indices=return_indices, fill_value=fill_value)
    if not kind.has_reshape:
        raise TypeError(f"kokkos_scan: compact takes arrays of NumPy, CuPy and PyTorch, not a "
                        f"{type(x).__name__}.")
    if axis is not None and not isinstance(fill_value, (bool, int, float, complex, np.generic)):
        raise TypeError(f"kokkos_scan: fill_value is a {type(fill_value).__name__}: expected a number.")
    x = kind.array(x, "x")
    code = kind.code(x, "x")
    mask = kind.broadcast(mask, x.shape, "mask")
    module = kind._module
    if axis is None:
        rows, of_rows = x.reshape(1, -1), mask.reshape(1, -1)
    else:
        axis = _arrays.checked_axis(axis, x.ndim)
        x, mask = module.moveaxis(x, axis, -1), module.moveaxis(mask, axis, -1)
        two = (math.prod(x.shape[:-1]), x.shape[-1])
        rows, of_rows = x.reshape(two), mask.reshape(two)
    values = kind.empty_rows(rows, rows.shape, code)
    index = kind.empty_rows(rows, rows.shape, _arrays.INT64) if return_indices else None
    counts = kind.empty_rows(rows, rows.shape[:1], _arrays.INT64)
    if axis is not None:
        values[...] = fill_value
        if return_indices:
            index[...] = -1
    if rows.size:
        stream = kind.stream(rows)
        _core.compact(kind.exported(rows, stream), kind.exported(of_rows, stream),
                      kind.exported(values, stream),
                      None if index is None else kind.exported(index, stream),
                      kind.exported(counts, stream), stream, code == _arrays.BFLOAT16)
    else:
        counts[...] = 0
    found = [values] if index is None else [values, index]
    if axis is None:
        count = int(counts[0])
        # Not a small part of much memory.
        found = [a[0, :count] if 2 * count > a.size else a[0, :count].copy() for a in found]
        return tuple(found) if return_indices else found[0]
    found = [module.moveaxis(a.reshape(x.shape), -1, axis) for a in found]
    return (*found, counts.reshape(x.shape[:-1]))


def _flat(x, mask):
    """What NumPy's names scan without an axis: all elements, in the order of C."""
    kind = _arrays.kind_of(x)
    if kind.is_torch or not kind.has_reshape:
        return x, mask  # one axis needs no name; of others it is said that they do
    seen = kind.array(x, "x")
    if seen.ndim > 1:
        if mask is not None:
            mask = kind.broadcast(mask, seen.shape, "mask").reshape(-1)
        flat = x.reshape(-1) if isinstance(x, np.ndarray) else seen.reshape(-1)
        x = flat if flat.ndim == 1 else seen.reshape(-1)  # matrices have two dimensions always
    return x, mask


def _alias(function, name, operation, *, flattens=False, skips_nan=False):
    """A function that is called as NumPy's or PyTorch's of that name."""

    def alias(x=None, axis=None, dtype=None, out=None, *, dim=None, a=None, input=None, mask=None,
              **options):
        if dim is not None:
            if axis is not None:
                raise TypeError("kokkos_scan: axis and dim are two names of one argument: choose one.")
            axis = dim
        if x is None:
            x = input if a is None else a
        elif not options and dtype is out is mask is None and not skips_nan:
            result = _core.scan_quickly(operation, x, axis, False, False, False)
            if result is not None:
                return result
        if skips_nan:
            mask = _without_nan(x, mask)
        if axis is None and flattens:
            x, mask = _flat(x, mask)
        return function(x, axis=axis, dtype=dtype, out=out, mask=mask, **options)

    alias.__name__ = alias.__qualname__ = name
    what = " of the elements that are not NaN, as the others are masked out" if skips_nan else ""
    alias.__doc__ = (f"``{function.__name__}(x, axis=axis, **options)``{what}; ``dim`` is another name of "
                     "the axis." + (f"\n\nAs in numpy.{name}, all elements of arrays are scanned as one "
                                    "line where there is no axis." if flattens else ""))
    return alias


for _function, _what, _dtype in (
        (cumulative_sum, "sum", _SUM_DTYPE), (cumulative_prod, "product", _SUM_DTYPE),
        (cumulative_min, "minimum", _ORDER_DTYPE), (cumulative_max, "maximum", _ORDER_DTYPE),
        (cumulative_logsumexp, "logarithm of the sum of exponentials", _LOGARITHM_DTYPE)):
    _text = _PARAMETERS.replace("{dtype}", _dtype)
    if _function is cumulative_logsumexp:
        _text = _text[:_text.index("    in_order : bool")] + _text[_text.index("\n    Returns"):]
    if _dtype is _ORDER_DTYPE:
        _text = _text.replace("\n    Returns", _INDICES + "\n    Returns")
    _function.__doc__ = f"The cumulative {_what} of the elements along an axis.\n" + _text

cumsum = _alias(cumulative_sum, "cumsum", SUM, flattens=True)
cumprod = _alias(cumulative_prod, "cumprod", PROD, flattens=True)
nancumsum = _alias(cumulative_sum, "nancumsum", SUM, flattens=True, skips_nan=True)
nancumprod = _alias(cumulative_prod, "nancumprod", PROD, flattens=True, skips_nan=True)
cummin = _alias(cumulative_min, "cummin", MIN)
cummax = _alias(cumulative_max, "cummax", MAX)
logcumsumexp = _alias(cumulative_logsumexp, "logcumsumexp", LOGSUMEXP)
