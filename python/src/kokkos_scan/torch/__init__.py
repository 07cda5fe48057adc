# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scans of PyTorch tensors: fused, differentiable, for eager code and torch.compile.

>>> import torch, kokkos_scan.torch as kt
>>> x = torch.rand(4, 1000, requires_grad=True)
>>> y = kt.cumsum(x, 1, reverse=True)    # torch.cumsum(x.flip(1), 1).flip(1)

Whole numbers and bool add up in int64, as in torch.cumsum. Tensors of the host are scanned by Kokkos'
host space, those of CUDA devices on the current stream.
"""

import collections
import functools
import math
import numbers

import torch

from .. import _arrays, _core, _functions, _recurrences, _rules, _tensors
from .._recurrences import (_counted, _torch, discounted_sum, gae, lambda_return, linear_recurrence,
                            vtrace)

__all__ = ["CumProd", "CumSum", "ExclusiveCumSum", "MaskedCumSum", "ReverseCumSum", "cummax", "cummin",
           "compact", "cumprod", "cumsum", "cumulative_trapezoid", "discounted_sum", "ewm_mean", "gae",
           "lambda_return", "linear_recurrence", "logcumsumexp", "nancumprod", "nancumsum", "vtrace"]

_OPERATORS = tuple(getattr(torch.ops.kokkos_scan, f"cumulative_{name}").default
                   for name in ("sum", "prod", "min", "max", "logsumexp"))
_scan = _torch.scan
_is_compiling = torch.compiler.is_compiling
_level = torch._C._functorch.maybe_current_level
_forward_ad = torch.autograd.forward_ad


def _expected(operation, x, dim, dtype, include_initial, exclusive, reverse, mask, initial):
    """The result as a tensor without elements; all arguments are checked."""
    expected = _OPERATORS[operation](x.to("meta"), dim, dtype, include_initial, exclusive, reverse,
                                     None if mask is None else mask.to("meta"),
                                     None if initial is None else initial.to("meta"))
    for name, t in (("mask", mask), ("initial", initial)):
        if t is not None and t.device != x.device and (t.dim() or t.device.type != "cpu"):
            raise ValueError(f"kokkos_scan: {name} is on {t.device}, but x is on {x.device}.")
    return expected


def _scan_into(result, totals, operation, x, dim, include_initial, exclusive, reverse, mask,
               initial, in_order):
    """Scans into tensors of the expected shape and type, without gradients."""
    lines = list(x.shape)
    if lines:
        del lines[dim]
    stream = _tensors.stream_of(x)

    def exported(t):
        if t is None:
            return None
        t = t.detach()
        t = t.resolve_conj().resolve_neg()
        return _tensors.capsule_of(t, stream) if stream else t

    line = x.reshape(1) if x.dim() == 0 else x
    if mask is not None:
        mask = mask.to(x.device).expand(x.shape).reshape(line.shape)
    if initial is not None:
        initial = initial.to(x.device, result.dtype).expand(lines)
    _core.scan(operation, exported(line), exported(result), dim, include_initial, exclusive,
               reverse, exported(mask), exported(initial), exported(totals), stream, 0, in_order)


def _check_out(out, result):
    """Refuses an output that cannot hold a result, of which only what describes it counts."""
    if out.dtype != result.dtype:
        raise TypeError(f"kokkos_scan: out has type {out.dtype}, but the result has "
                        f"{result.dtype}.")
    if out.shape != result.shape:
        raise ValueError(f"kokkos_scan: out has shape {tuple(out.shape)}, but expected is "
                         f"{tuple(result.shape)}.")
    if torch.is_grad_enabled() and (result.requires_grad or out.requires_grad):
        raise RuntimeError("kokkos_scan: a result in out has no gradient: detach x, or leave out "
                           "away.")


def _may_be_written(out, inputs):
    """Whether results may go to out as they are computed; else they are copied there."""
    tensors = [out, *(t for t in inputs if t is not None)]
    # What wraps tensors sees operators alone.
    if (_is_compiling() or torch.autograd.forward_ad._current_level >= 0 or
            any(type(t) not in (torch.Tensor, torch.nn.Parameter) or t.layout != torch.strided
                for t in tensors)):
        return False
    try:
        storages = [t.untyped_storage().data_ptr() for t in tensors]
    except (RuntimeError, NotImplementedError):  # torch.func has wrapped them
        return False
    x = inputs[0]
    if (out.device != x.device or out.is_conj() or out.is_neg() or
            any(n > 1 and step == 0 for n, step in zip(out.shape, out.stride()))):
        return False

    def layout(t):
        return t.data_ptr(), t.dtype, t.shape, t.stride(), t.is_conj(), t.is_neg()

    # x itself may be scanned in place; all else that shares memory with the results is read before.
    return all(storage != storages[0] or (t is x and layout(x) == layout(out))
               for t, storage in zip(tensors[1:], storages[1:]))


# ---- Sums and products in order -----------------------------------------------------------------

_library = torch.library.Library("kokkos_scan", "FRAGMENT")
_ARGUMENTS = "ScalarType dtype, bool include_initial, bool exclusive, bool reverse, Tensor? mask, Tensor? initial"
for _name in ("sum", "prod"):
    _library.define(f"cumulative_{_name}_in_order(Tensor x, int dim, {_ARGUMENTS}) -> Tensor")


def _scan_in_order(operation, x, dim, dtype, include_initial, exclusive, reverse, mask, initial):
    shape = _expected(operation, x, dim, dtype, include_initial, exclusive, reverse, mask, initial).shape
    result = torch.empty(shape or [1], dtype=dtype, device=x.device)
    _scan_into(result, None, operation, x, dim, include_initial, exclusive, reverse, mask, initial, True)
    return result.reshape(shape)


def _in_order_fake(operation, x, dim, dtype, include_initial, exclusive, reverse, mask, initial):
    result = _OPERATORS[operation](x, dim, dtype, include_initial, exclusive, reverse, mask, initial)
    return torch.empty(result.shape, dtype=dtype, device=x.device)


def _in_order_backward(operation, ctx, grad):
    """That of the scan by default."""
    of_x, of_initial = _rules.backward(operation, ctx, grad)
    return of_x, None, None, None, None, None, None, of_initial


for _operation, _name in enumerate(("sum", "prod")):
    for _key in ("CPU", "CUDA"):
        _library.impl(f"cumulative_{_name}_in_order", functools.partial(_scan_in_order, _operation), _key)
    _name = f"kokkos_scan::cumulative_{_name}_in_order"
    torch.library.register_fake(_name, functools.partial(_in_order_fake, _operation), lib=_library)
    torch.library.register_autograd(_name, functools.partial(_in_order_backward, _operation), lib=_library,
                                    setup_context=functools.partial(_rules.setup_context, _operation))
_IN_ORDER = tuple(getattr(torch.ops.kokkos_scan, f"cumulative_{name}_in_order").default for name in ("sum", "prod"))


# ---- Rules of torch.func and forward mode --------------------------------------------------------


class _ScanRules(torch.autograd.Function):
    """A scan with the rules for batches and, as sums are linear, for their derivatives. Those of others
    are PyTorch's own: see _transformed."""

    @staticmethod
    def forward(x, mask, initial, operation, call, in_order):
        dim, dtype, include_initial, exclusive, reverse = call
        operators = _IN_ORDER if in_order else _OPERATORS
        return operators[operation](x, dim, dtype, include_initial, exclusive, reverse, mask, initial)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, mask, initial, _, call, _ = inputs
        ctx.call, ctx.sizes, ctx.dtype = call, x.shape, x.dtype
        ctx.is_on, ctx.result_dtype = x.device, output.dtype
        ctx.save_for_backward(mask, initial)
        ctx.save_for_forward(mask, initial)

    @staticmethod
    def backward(ctx, grad):
        mask, initial = ctx.saved_tensors
        dim, _, include_initial, exclusive, reverse = ctx.call
        rank = len(ctx.sizes)
        dim %= max(rank, 1)
        part = grad
        if include_initial:
            part = grad.narrow(dim, 0 if reverse else 1, ctx.sizes[dim])
        of_x = cumsum(part, dim, exclusive=exclusive, reverse=not reverse)
        if mask is not None:
            of_x = torch.where(mask, of_x, 0)
        of_initial = None
        if initial is not None:
            of_initial = grad.sum(dim) if rank else grad
            of_initial = of_initial if initial.dim() else of_initial.sum()
            of_initial = of_initial.to(initial.device, initial.dtype)
        return of_x.to(ctx.dtype), None, of_initial, None, None, None

    @staticmethod
    def jvp(ctx, of_x, of_mask, of_initial, *_):
        mask, initial = ctx.saved_tensors
        dim, _, include_initial, exclusive, reverse = ctx.call
        if of_x is None:
            of_x = torch.zeros(ctx.sizes, dtype=ctx.dtype, device=ctx.is_on)
        return cumsum(of_x, dim, dtype=ctx.result_dtype, include_initial=include_initial, exclusive=exclusive,
                      reverse=reverse, mask=mask, initial=of_initial)

    @staticmethod
    def vmap(info, in_dims, x, mask, initial, operation, call, in_order):
        dim, *options = call
        rank = x.dim() - (in_dims[0] is not None)
        x = _rules.to_front(x, in_dims[0], info.batch_size)
        if rank == 0:
            x = x.unsqueeze(1)
        if initial is not None and (in_dims[2] is not None or initial.dim()):
            lines = [n for d, n in enumerate(x.shape[1:]) if d != dim % max(rank, 1)]
            initial = _rules.of_lines(initial, in_dims[2], info.batch_size, lines)
        mask = _rules.to_front(mask, in_dims[1], info.batch_size, max(rank, 1))
        result = _apply(operation, x, dim % max(rank, 1) + 1, *options, mask, initial, in_order)
        return (result if rank else result.squeeze(1)), 0


def _transformed(operation, x, dim, dtype, include_initial, exclusive, reverse, mask, initial, in_order):
    """A scan within torch.func or forward mode."""
    if exclusive and include_initial or (mask is not None and mask.dtype != torch.bool):
        return _OPERATORS[operation](x, dim, dtype, include_initial, exclusive, reverse, mask, initial)  # an error
    result_dtype = _default_dtype(operation, x) if dtype is None else dtype
    dim = _counted(dim, x)
    if not (result_dtype.is_floating_point or result_dtype.is_complex):
        x = x.detach()
    elif operation != _functions.SUM and _rules.is_differentiated():
        if in_order:
            raise NotImplementedError("kokkos_scan: products in order have neither forward-mode derivatives nor "
                                      "those of torch.func: leave in_order=True away.")
        return _rules.composed(operation, x, dim, result_dtype, include_initial, exclusive, reverse, mask, initial)
    call = dim, result_dtype, include_initial, exclusive, reverse
    return _ScanRules.apply(x, mask, initial, operation, call, in_order)


def _as_tensor(initial, dtype):
    """A number as a tensor that keeps all its digits: PyTorch's default would be float32."""
    if initial is None or isinstance(initial, torch.Tensor):
        return initial
    if type(initial) is float and dtype.is_floating_point:  # the way of most calls
        return torch.tensor(initial, dtype=torch.float64)
    if not isinstance(initial, numbers.Number):
        raise TypeError(f"kokkos_scan: initial is a {type(initial).__name__}: expected a number or a "
                        "Tensor.")
    if isinstance(initial, numbers.Complex) and not isinstance(initial, numbers.Real):
        return torch.tensor(complex(initial), dtype=torch.complex128)
    initial = int(initial) if isinstance(initial, numbers.Integral) else float(initial)
    code = _arrays._CODES.get(str(dtype).removeprefix("torch."))
    if code is not None:
        initial = _arrays.checked_number(initial, code)
    if isinstance(initial, int):
        is_large = not -2**63 <= initial < 2**63
        if not is_large or dtype == torch.uint64:
            return torch.tensor(initial, dtype=torch.uint64 if is_large else torch.int64)
    return torch.tensor(initial, dtype=torch.float64)


def _default_dtype(operation, x):
    is_whole = not (x.dtype.is_floating_point or x.dtype.is_complex)
    return torch.int64 if is_whole and operation not in (_functions.MIN, _functions.MAX) else x.dtype


def _checked_tensor(x, name):
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"kokkos_scan: {name} is a {type(x).__name__}: expected a Tensor.")
    return x


def _checked_call(x, dim, axis, input, dtype, mask):
    """The tensor, the dimension and the type, by whatever name they were given."""
    x = _checked_tensor(input if x is None else x, "x")
    if x.layout != torch.strided:
        raise TypeError(f"kokkos_scan: x has the layout {x.layout}: expected torch.strided.")
    if axis is not None:
        if dim is not None:
            raise TypeError("kokkos_scan: axis and dim are two names of one argument: choose one.")
        dim = axis
    if dim is None:
        if x.dim() > 1:
            raise ValueError(f"kokkos_scan: x has {x.dim()} dimensions: dim must be given.")
        dim = 0
    if dtype is not None and not isinstance(dtype, torch.dtype):
        named = {float: torch.float64, int: torch.int64, bool: torch.bool, complex: torch.complex128}
        if dtype not in named:
            raise TypeError(f"kokkos_scan: dtype is {dtype!r}: expected a torch.dtype.")
        dtype = named[dtype]
    if mask is not None:
        _checked_tensor(mask, "mask")
    return x, _recurrences.checked_dim(dim), dtype


def _apply(operation, x, dim, dtype, include_initial, exclusive, reverse, mask, initial,
           in_order=False):
    initial = _as_tensor(initial, _default_dtype(operation, x) if dtype is None else dtype)
    if in_order:
        result_dtype = x.dtype if dtype is None else dtype
        # Minima, maxima and whole numbers have the same bits in any order.
        in_order = operation < _functions.MIN and (result_dtype.is_floating_point or result_dtype.is_complex)
    if _rules.is_transformed():
        return _transformed(operation, x, dim, dtype, include_initial, exclusive, reverse, mask, initial, in_order)
    if in_order:
        return _IN_ORDER[operation](x, dim, result_dtype, include_initial, exclusive, reverse, mask, initial)
    return _OPERATORS[operation](x, dim, dtype, include_initial, exclusive, reverse, mask, initial)


def _function(operation, name, what, torch_name):
    def function(x=None, dim=None, *, dtype=None, include_initial=False, exclusive=False,
                 reverse=False, mask=None, initial=None, in_order=False, out=None, axis=None,
                 input=None, reset=None):
        if reset is not None:
            return _segments(operation, input if x is None else x, axis if dim is None else dim, reset, dtype,
                             reverse, mask, initial, include_initial or exclusive or in_order or out is not None)
        if dtype is initial is out is axis is input is None and not (
                include_initial or in_order or _is_compiling() or _level() is not None or
                _forward_ad._current_level >= 0):
            # Half of the time of a call through torch.ops.
            try:
                result = _scan(operation, x, dim, exclusive, reverse, mask)
            except NotImplementedError:  # what follows says why, if it knows
                result = NotImplemented
            if result is not NotImplemented:
                return result
        if not (type(include_initial) is type(exclusive) is type(reverse) is type(in_order) is bool):
            flag = _arrays.checked_flag
            include_initial, exclusive = flag(include_initial, "include_initial"), flag(exclusive, "exclusive")
            reverse, in_order = flag(reverse, "reverse"), flag(in_order, "in_order")
        x, dim, dtype = _checked_call(x, dim, axis, input, dtype, mask)
        if out is not None:
            return cumulate(operation, x, dim, dtype, include_initial, out, exclusive, reverse, mask,
                            initial, False, in_order)
        return _apply(operation, x, dim, dtype, include_initial, exclusive, reverse, mask, initial,
                      in_order)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""The cumulative {what} of the elements along a dimension: {torch_name}

    Gradients flow to x and to initial.

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
    out : Tensor, optional
        Where the result is written; it may be x. Its type is the result's where no dtype is given.
    reset : Tensor of bool, optional
        Begin anew at each element where it is true, as at the beginning of a line without initial
        value. For sums and products; of the shape of x, or one that broadcasts to it.

    ``axis`` and ``input`` are other names of dim and x; a tensor of one dimension needs no dim."""
    return function


cumsum = _function(_functions.SUM, "cumsum", "sum", "torch.cumsum and what is composed with it.")
cumprod = _function(_functions.PROD, "cumprod", "product",
                    "torch.cumprod and what is composed with it.")
_cummin = _function(_functions.MIN, "cummin", "minimum",
                    "torch.cummin and what is composed with it.")
_cummax = _function(_functions.MAX, "cummax", "maximum",
                    "torch.cummax and what is composed with it.")


def _with_indices(operation, values_of, name):
    of_torch = getattr(torch.return_types, name, None)
    of_compiled = collections.namedtuple(name, ["values", "indices"])

    def function(x=None, dim=None, *, return_indices=True, reverse=False, mask=None, in_order=False, out=None,
                 axis=None, input=None, **options):
        if return_indices is False or not _arrays.checked_flag(return_indices, "return_indices"):
            return values_of(x, dim, reverse=reverse, mask=mask, in_order=in_order, out=out, axis=axis,
                             input=input, **options)
        x, dim, _ = _checked_call(x, dim, axis, input, None, mask)
        if options:
            raise ValueError(f"kokkos_scan: indices go with the inclusive results alone, not with "
                             f"{', '.join(sorted(options))}: give return_indices=False for the values.")
        reverse = _arrays.checked_flag(reverse, "reverse")
        if mask is not None:
            mask = _recurrences.checked_mask(mask, x, "mask")
        found = _recurrences.extreme(x, dim, operation, reverse, mask)
        if out is not None:
            if not isinstance(out, (tuple, list)) or len(out) != 2:
                raise TypeError(f"kokkos_scan: out is a {type(out).__name__}: expected two tensors, for values "
                                "and indices.")
            for given, result in zip(out, found):
                if given.numel() == 0 and given.shape != result.shape:
                    given.resize_(result.shape)  # as PyTorch has it
                _check_out(given, result)
            found = [given.copy_(result) for given, result in zip(out, found)]
        return of_compiled(*found) if _is_compiling() else of_torch(found)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = values_of.__doc__.replace("""
    ``axis``""", """    return_indices : bool
        Return the named tuple (values, indices), as PyTorch does; that is the default. Indices are int64:
        of equal elements, and of NaNs, the last one in the order of the scan; -1 where the mask has
        been false so far. out is a pair then. False: the values alone, which may be exclusive, too.

    ``axis``""")
    return function


cummin = _with_indices(_functions.MIN, _cummin, "cummin")
cummax = _with_indices(_functions.MAX, _cummax, "cummax")


def logcumsumexp(x=None, dim=None, *, dtype=None, include_initial=False, exclusive=False,
                 reverse=False, mask=None, initial=None, out=None, axis=None, input=None):
    """The cumulative logarithm of the sum of exponentials, as torch.logcumsumexp.

    Its arguments are those of cumsum. Nothing overflows, and a line starts with -infinity."""
    flag = _arrays.checked_flag
    call = (flag(include_initial, "include_initial"), flag(exclusive, "exclusive"), flag(reverse, "reverse"))
    x, dim, dtype = _checked_call(x, dim, axis, input, dtype, mask)
    if out is not None:
        return cumulate(_functions.LOGSUMEXP, x, dim, dtype, call[0], out, *call[1:], mask, initial, False)
    return _apply(_functions.LOGSUMEXP, x, dim, dtype, *call, mask, initial)


def nancumsum(x=None, dim=None, *, mask=None, input=None, **options):
    """cumsum of the elements that are not NaN; the others are masked out and have no gradient."""
    x = _checked_tensor(input if x is None else x, "x")
    return cumsum(x, dim, mask=_functions._without_nan(x, mask), **options)


def nancumprod(x=None, dim=None, *, mask=None, input=None, **options):
    """cumprod of the elements that are not NaN; the others are masked out and have no gradient."""
    x = _checked_tensor(input if x is None else x, "x")
    return cumprod(x, dim, mask=_functions._without_nan(x, mask), **options)


def _segments(operation, x, dim, reset, dtype, reverse, mask, initial, others):
    """Sums and products that begin anew where reset is true."""
    if others:
        raise ValueError("kokkos_scan: reset goes with reverse, mask, initial and dtype alone.")
    if operation > _functions.PROD:
        raise ValueError("kokkos_scan: reset goes with sums and products.")
    x, dim, dtype = _checked_call(x, dim, None, None, dtype, mask)
    dtype = _default_dtype(operation, x) if dtype is None else dtype
    reset = _recurrences.checked_mask(reset, x, "reset")
    dim = _counted(dim, x)
    if x.dim() == 0:
        raise ValueError("kokkos_scan: x has no dimension to go along.")
    x = x.to(dtype)
    is_sum = operation == _functions.SUM
    if mask is not None:
        x = torch.where(mask, x, torch.full((), 0 if is_sum else 1, dtype=dtype, device=x.device))
    initial = _as_tensor(initial, dtype)
    if initial is not None:
        initial = initial.to(x.device, dtype)
    if dtype.is_floating_point:
        if is_sum:
            return linear_recurrence(1, x, dim, initial, reverse, reset=reset, in_double=False)
        # A product is a recurrence in which a new one begins with its element as the term.
        first = torch.ones((), dtype=dtype, device=x.device) if initial is None else initial
        return linear_recurrence(x, torch.where(reset, x, 0), dim, first, reverse, reset=reset)
    if not is_sum or dtype.is_complex:
        raise TypeError(f"kokkos_scan: reset goes with sums of real numbers and products of real floating "
                        f"ones, not with {dtype}.")
    # What was before the last reset is subtracted: whole numbers wrap, so nothing is lost.
    sums = cumsum(x, dim, dtype=dtype, reverse=reverse, initial=initial)
    before = torch.where(reset, sums - x, 0)
    place = torch.arange(x.shape[dim], device=x.device).reshape([-1 if d == dim else 1 for d in range(x.dim())])
    place = torch.where(reset, place, x.shape[dim] if reverse else -1)
    last = (cummin if reverse else cummax)(place.expand(x.shape), dim, reverse=reverse, return_indices=False)
    found = (last >= 0) & (last < x.shape[dim])
    return sums - torch.where(found, before.gather(dim, torch.where(found, last, 0)), 0)


def _may_have_nan(x):
    """Whether some are NaN; yes, too, where asking is impossible: in traced code and captured graphs."""
    if torch.compiler.is_compiling() or (x.is_cuda and torch.cuda.is_current_stream_capturing()):
        return True
    try:
        return bool(x.detach().isnan().any())
    except RuntimeError:  # in transforms of torch.func
        return True


def _ewm_mean_of_numbers(x, alpha, dim, adjust, ignore_na):
    """The mean in float64 of what is not NaN. Where a NaN stands, the mean before it is repeated: its
    decay waits for the next number, so that it does not underflow."""
    is_number = ~x.isnan()
    x = torch.where(is_number, x, 0.0)
    one = torch.ones((), dtype=torch.float64, device=x.device)
    zero = torch.zeros_like(one)
    steps = is_number.to(torch.int64) if ignore_na else torch.ones_like(is_number, dtype=torch.int64)
    place = steps.cumsum(dim)
    before = torch.where(is_number, place, 0).cummax(dim).values  # the last number's, none: 0
    first = before.narrow(dim, 0, 1) * 0
    before = torch.cat([first, before.narrow(dim, 0, max(x.shape[dim] - 1, 0))], dim)
    is_first = is_number & (before == 0)
    decay = torch.where(is_number, (one - alpha) ** (place - before), one)
    if adjust:
        total = linear_recurrence(decay, x, dim)
        weight = linear_recurrence(decay, torch.where(is_number, one, zero), dim)
        return total / weight  # 0 / 0 before the first number
    weight = decay + alpha
    mean = linear_recurrence(torch.where(is_first, zero, torch.where(is_number, decay / weight, one)),
                             torch.where(is_number & ~is_first, x * (alpha / weight), x), dim)
    return torch.where(is_number.cumsum(dim) == 0, torch.nan, mean)


def ewm_mean(x, alpha, dim=-1, *, adjust=True, ignore_na=False):
    """The exponentially weighted mean, as pandas.DataFrame.ewm(alpha=alpha, adjust=adjust,
    ignore_na=ignore_na).mean().

    With adjust=True, sum(w[i] x[k-i]) / sum(w[i]) over i = 0 ... k with w[i] = (1 - alpha)**i. With
    adjust=False, y[0] = x[0] and y[k] = (1 - alpha) y[k-1] + alpha x[k]. 0 < alpha <= 1. Whole numbers
    count as float64. A NaN is left out: the mean before it is repeated, and what came before decays as
    over any other step; with ignore_na=True as if the NaN were not there. Gradients flow to x."""
    _checked_tensor(x, "x")
    if not isinstance(alpha, numbers.Real):
        raise TypeError(f"kokkos_scan: alpha is a {type(alpha).__name__}: expected a number.")
    if not 0 < alpha <= 1:
        raise ValueError(f"kokkos_scan: alpha is {alpha}, but must satisfy 0 < alpha <= 1.")
    adjust = _arrays.checked_flag(adjust, "adjust")
    ignore_na = _arrays.checked_flag(ignore_na, "ignore_na")
    if not (x.is_floating_point() or x.is_complex()):
        x = x.double()  # as pandas
    dim = _counted(dim, x)
    if x.is_floating_point() and x.numel() and _may_have_nan(x):
        return _ewm_mean_of_numbers(x.double(), alpha, dim, adjust, ignore_na).to(x.dtype)
    decay = 1 - alpha
    if not adjust:
        # The first element counts whole: it is where the mean starts.
        start = x.select(dim, 0) if x.shape[dim] else None
        return linear_recurrence(decay, x * alpha, dim, start, in_double=True)
    k = torch.arange(1, x.shape[dim] + 1, dtype=torch.float64, device=x.device)
    weight = alpha / (1 - decay**k) if decay > 0 else torch.ones_like(k)
    shape = [1] * x.dim()
    shape[dim] = -1
    return linear_recurrence(decay, x, dim, in_double=True) * weight.to(x.dtype).reshape(shape)


def cumulative_trapezoid(y, x=None, *, dx=1, dim=-1):
    """The cumulative integral by the trapezoidal rule, as torch.cumulative_trapezoid.

    There are n - 1 results for n samples y at the places x (of one dimension, or that broadcast to y),
    or at distances dx. Gradients flow to y and x."""
    _checked_tensor(y, "y")
    if x is not None:
        _checked_tensor(x, "x")
    if y.dtype == torch.bool or (x is not None and x.dtype == torch.bool):
        raise RuntimeError("kokkos_scan: the trapezoidal rule needs numbers, not truth values.")
    dim = _counted(dim, y)
    n = y.shape[dim]
    if n == 0:
        return y.clone()
    pairs = y.narrow(dim, 1, n - 1) + y.narrow(dim, 0, n - 1)
    if x is None:
        return cumsum(pairs * (dx / 2), dim)
    if x.dim() == 1 and y.dim() > 1:
        if x.shape[0] != n:
            raise RuntimeError(f"kokkos_scan: x has {x.shape[0]} elements, but y has {n} along the "
                               f"axis.")
        shape = [1] * y.dim()
        shape[dim] = n
        x = x.reshape(shape)
    else:
        x = x.reshape([1] * (y.dim() - x.dim()) + list(x.shape))
        if x.dim() != y.dim() or any(of_x not in (1, of_y) for of_x, of_y in zip(x.shape, y.shape)):
            raise RuntimeError(f"kokkos_scan: x has shape {tuple(x.shape)}, which does not broadcast to "
                               f"{tuple(y.shape)}, the shape of y.")
        if x.shape[dim] != n:
            x = x.expand(*x.shape[:dim], n, *x.shape[dim + 1:])
    return cumsum(pairs * x.diff(dim=dim), dim) / 2  # whole numbers wrap as PyTorch's


def cumulate(operation, x, axis, dtype, include_initial, out, exclusive, reverse, mask, initial,
             return_totals, in_order=False):
    """kokkos_scan.cumulative_sum and its siblings for tensors."""
    if axis is None:
        if x.ndim > 1:
            raise ValueError(f"kokkos_scan: x has {x.ndim} dimensions: axis must be given.")
        axis = 0
    x, axis, dtype = _checked_call(x, axis, None, None, dtype, mask)
    if x.ndim == 0:
        x = x.reshape(1)
        if isinstance(out, torch.Tensor) and not return_totals and (out.dim() == 0 or out.shape == (0,)):
            out.resize_(())
            cumulate(operation, x, axis, dtype, include_initial, out.view(1), exclusive, reverse, mask, initial,
                     False, in_order)
            return out
    if out is not None:
        if not isinstance(out, torch.Tensor):
            raise TypeError(f"kokkos_scan: out is a {type(out).__name__}, but x is a Tensor.")
        dtype = out.dtype if dtype is None else dtype
        initial = _as_tensor(initial, dtype)
        if out.dim() == 1 and out.numel() == 0 and x.numel():
            # As PyTorch has it: an empty tensor becomes one of the result's shape.
            sizes = list(x.shape)
            sizes[_counted(axis, x)] += 1 if include_initial else 0
            out.resize_(sizes)
        if _may_be_written(out, (x, mask, initial)):
            _check_out(out, _expected(operation, x, axis, dtype, include_initial, exclusive,
                                      reverse, mask, initial))
            total = None
            if return_totals:
                total = x.new_empty([*x.shape[:axis], *x.shape[axis:][1:]], dtype=out.dtype)
            _scan_into(out, total, operation, x, axis, include_initial, exclusive, reverse, mask,
                       initial, in_order)
            if not out.is_inference():
                torch.autograd.graph.increment_version(out)  # gradients may need what was there
            return (out, total) if return_totals else out
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
        _check_out(out, result)
        result = out.copy_(result)
    return (result, total) if return_totals else result


def compact(x, mask, *, axis=None, dim=None, return_indices=False, fill_value=0):
    """The elements where a mask is true, beside each other: torch.masked_select, or, with a
    dimension, that of each line. Its arguments and results are those of kokkos_scan.compact.
    Gradients flow to x."""
    _checked_tensor(x, "x")
    if _checked_tensor(mask, "mask").dtype != torch.bool:
        raise TypeError(f"kokkos_scan: mask has type {mask.dtype}: expected bool.")
    if mask.device != x.device:
        raise ValueError(f"kokkos_scan: mask is on {mask.device}, but x is on {x.device}.")
    if not isinstance(fill_value, numbers.Number):
        raise TypeError(f"kokkos_scan: fill_value is a {type(fill_value).__name__}: expected a number.")
    return_indices = _arrays.checked_flag(return_indices, "return_indices")
    dim = axis if dim is None else dim
    line = x.reshape(1) if x.dim() == 0 else x
    try:
        mask = mask.expand(x.shape).reshape(line.shape)
    except RuntimeError:
        raise ValueError(f"kokkos_scan: mask has shape {tuple(mask.shape)}, which does not broadcast to "
                         f"{tuple(x.shape)}, the shape of x.") from None
    if dim is None:
        line, mask = line.reshape(1, -1), mask.reshape(1, -1)
    else:
        dim = _counted(dim, x)
        line, mask = line.movedim(dim, -1), mask.movedim(dim, -1)
    with torch.no_grad():
        rows = line.reshape(math.prod(line.shape[:-1]), line.shape[-1]).resolve_conj().resolve_neg()
        has_gradient = x.requires_grad or _rules.is_transformed()
        values = rows.new_full(rows.shape, fill_value)
        index = rows.new_full(rows.shape, -1, dtype=torch.int64) if return_indices or has_gradient else None
        counts = rows.new_zeros(rows.shape[0], dtype=torch.int64)
        if rows.numel():
            stream = _tensors.stream_of(rows)
            _core.compact(*(_tensors.exported(t, stream)
                            for t in (rows, mask.reshape(rows.shape), values, index, counts)), stream,
                          x.dtype == torch.bfloat16)
    if has_gradient and (torch.is_grad_enabled() or _rules.is_transformed()):  # by what has a gradient
        gathered = line.reshape(rows.shape).gather(1, index.clamp(min=0)) if rows.numel() else line.reshape(rows.shape)
        values = torch.where(index < 0, values, gathered)
    found = [values, index] if return_indices else [values]
    if dim is None:
        count = int(counts[0])
        found = [t[0, :count] if 2 * count > t.numel() else t[0, :count].clone() for t in found]
        return tuple(found) if return_indices else found[0]
    found = [t.reshape(line.shape).movedim(-1, dim) for t in found]
    return (*found, counts.reshape(line.shape[:-1]))


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
