# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors: comparison with torch on the same device, gradients, operators, compilation."""

import functools
import itertools
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hypothesis import given
from hypothesis import strategies as st

import kokkos_scan as ks
import kokkos_scan.torch as kt

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.cuda)]
FUNCTIONS = {"sum": kt.cumsum, "prod": kt.cumprod, "min": functools.partial(kt.cummin, return_indices=False),
             "max": functools.partial(kt.cummax, return_indices=False)}
TORCH = {"sum": torch.cumsum, "prod": torch.cumprod, "min": lambda x, d: torch.cummin(x, d)[0],
         "max": lambda x, d: torch.cummax(x, d)[0]}
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
WHOLE = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
COMPLEX = [torch.complex64, torch.complex128]
IS_FALLBACK = not hasattr(kt._torch, "__spec__") or "fallback" in kt._torch.__name__


def identity(operation, dtype):
    if operation in ("sum", "prod"):
        return 0 if operation == "sum" else 1
    if dtype.is_floating_point:
        return float("inf" if operation == "min" else "-inf")
    info = torch.iinfo(dtype)
    return info.max if operation == "min" else info.min


def composed(operation, x, dim, exclusive=False, include_initial=False, reverse=False, mask=None,
             initial=None):
    """The equivalent code with torch only."""
    if operation in ("sum", "prod") and not (x.is_floating_point() or x.is_complex()):
        x = x.to(torch.int64)
    if mask is not None:
        x = torch.where(mask, x, torch.tensor(identity(operation, x.dtype), dtype=x.dtype, device=x.device))
    if reverse:
        x = x.flip(dim)
    n = x.shape[dim]
    if exclusive or include_initial or initial is not None:
        first = identity(operation, x.dtype) if initial is None else initial
        shape = [extent for d, extent in enumerate(x.shape) if d != dim % x.dim()]
        first = torch.as_tensor(first).to(x.device, x.dtype).expand(shape).unsqueeze(dim)
        x = torch.cat([first, x], dim)
        y = TORCH[operation](x, dim)
        if not include_initial:
            y = y.narrow(dim, 0 if exclusive else 1, n)
    else:
        y = TORCH[operation](x, dim)
    return y.flip(dim) if reverse else y


def random(shape, dtype, device="cpu", seed=0):
    generator = torch.Generator().manual_seed(seed)
    if dtype.is_floating_point or dtype.is_complex:
        # Multiples of 1/4 whose sums are exact in float16.
        wide = torch.complex128 if dtype.is_complex else torch.float64
        x = torch.randint(-4, 5, shape, generator=generator).to(wide) / 4
        if dtype.is_complex:
            x = x + 1j * torch.randint(-4, 5, shape, generator=generator) / 4
        return x.to(device, dtype)
    high = 2 if dtype == torch.bool else 100
    return torch.randint(0, high, shape, generator=generator).to(device, dtype)


@pytest.mark.parametrize("device", DEVICES)
@given(st.data())
def test_values(device, data):
    operation = data.draw(st.sampled_from(sorted(FUNCTIONS)))
    dtypes = [*FLOATS, *WHOLE] + (COMPLEX if operation in ("sum", "prod") else [])
    if operation in ("min", "max"):
        dtypes.remove(torch.bool)
    dtype = data.draw(st.sampled_from(dtypes))
    rank = data.draw(st.integers(1, 4))
    shape = [data.draw(st.sampled_from([0, 1, 2, 3, 8])) for _ in range(rank)]
    dim = data.draw(st.integers(-rank, rank - 1))
    shape[dim] = data.draw(st.sampled_from([0, 1, 5, 33, 130] if operation != "prod" else [0, 1, 5]))
    seed = data.draw(st.integers(0, 2**31))
    # Any strides that PyTorch supports: permuted, stepped, expanded.
    x = random([2 * s + 1 for s in shape], dtype, device, seed)
    x = x[tuple(slice(1, None, 2) for _ in shape)]
    order = data.draw(st.permutations(range(rank)))
    back = [order.index(d) for d in range(rank)]
    x = x.permute(order).contiguous().permute(back)
    expand = data.draw(st.integers(-1, rank - 1))
    if expand >= 0 and x.shape[expand]:
        x = x.narrow(expand, 0, 1).expand(x.shape)
    options = {"reverse": data.draw(st.booleans())}
    form = data.draw(st.sampled_from(["inclusive", "exclusive", "include_initial"]))
    if form != "inclusive":
        options[form] = True
    if data.draw(st.booleans()):
        options["mask"] = torch.rand(x.shape, generator=torch.Generator().manual_seed(seed)).to(device) < 0.6
    start = data.draw(st.sampled_from(["none", "number", "lines"]))
    if start == "number":
        options["initial"] = 3
    elif start == "lines":
        lines = [s for d, s in enumerate(shape) if d != dim % rank]
        options["initial"] = random(lines, dtype, device, seed + 1)
    found = FUNCTIONS[operation](x, dim, **options)
    if x.shape[dim] == 0 and not (form != "inclusive" or start != "none"):
        assert found.shape == x.shape
        return
    wide = x
    if dtype in (torch.float16, torch.bfloat16):
        wide = x.float()  # as accumulated here
        if "initial" in options and start == "lines":
            options["initial"] = options["initial"].float()
    expected = composed(operation, wide, dim, **options)
    if dtype in (torch.float16, torch.bfloat16):
        expected = expected.to(dtype)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    assert found.device == x.device
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("dtype", [*WHOLE, *FLOATS, *COMPLEX])
def test_promotion_is_torchs(dtype):
    x = random((3, 4), dtype)
    assert kt.cumsum(x, 0).dtype == torch.cumsum(x, 0).dtype
    for result in (torch.float64, torch.complex64):
        torch.testing.assert_close(kt.cumsum(x, 0, dtype=result), torch.cumsum(x, 0, dtype=result)) \
            if result.is_complex or not dtype.is_complex else None


@pytest.mark.parametrize("device", DEVICES)
def test_five_operators(device):
    x = torch.rand((1024, 32768), generator=torch.Generator().manual_seed(0)).to(device)
    mask = (torch.rand(x.shape, generator=torch.Generator().manual_seed(1)) < 0.5).to(device)
    close = dict(rtol=1e-5, atol=1e-5)
    # torch accumulates in float32, so the reference is torch in float64.
    wide = x.double()
    total = torch.cumsum(wide, 1)
    for module, arguments, expected in (
            (kt.CumSum(1), (x,), total),
            (kt.CumProd(1), (x,), torch.cumprod(x, 1)),
            (kt.ReverseCumSum(1), (x,), torch.cumsum(wide.flip(1), 1).flip(1)),
            (kt.ExclusiveCumSum(1), (x,), total - wide),
            (kt.MaskedCumSum(1), (x, mask), torch.cumsum(wide * mask, 1))):
        found = module(*arguments)
        assert found.dtype == torch.float32
        torch.testing.assert_close(found, expected.float(), **close)
        del found
    whole = (x * 100).int()
    assert torch.equal(kt.CumSum(1)(whole), torch.cumsum(whole, 1))
    assert torch.equal(kt.MaskedCumSum(1)(whole, mask), torch.cumsum(whole * mask, 1))


def test_modules():
    x = random((3, 4, 5), torch.float64)
    for dim in range(-3, 3):
        assert torch.equal(kt.CumSum(dim)(x), kt.cumsum(x, dim))
        assert torch.equal(kt.CumProd(dim=dim)(x), kt.cumprod(x, dim))
        assert torch.equal(kt.ReverseCumSum(dim)(x), kt.cumsum(x, dim, reverse=True))
        assert torch.equal(kt.ExclusiveCumSum(dim)(x), kt.cumsum(x, dim, exclusive=True))
        assert torch.equal(kt.MaskedCumSum(dim)(x, x > 0), kt.cumsum(x, dim, mask=x > 0))
    assert repr(kt.CumSum(1)) == "CumSum(dim=1)"


def test_shapes_without_elements_and_dimensions():
    for shape in ((0,), (0, 3), (3, 0), (2, 0, 4)):
        x = torch.empty(shape, requires_grad=True)
        for dim in range(len(shape)):
            for function in FUNCTIONS.values():
                y = function(x, dim)
                assert y.shape == torch.cumsum(x, dim).shape
                y.sum().backward()
            assert torch.equal(kt.cumprod(x, dim, include_initial=True),
                               composed("prod", x, dim, include_initial=True))
    x = torch.tensor(3.0, requires_grad=True)
    assert torch.equal(kt.cumsum(x, 0), torch.cumsum(x, 0)) and torch.equal(kt.cumsum(x, -1), x)
    (5 * kt.cumprod(x, 0, initial=2)).backward()
    assert x.grad == 10
    assert kt.cumsum(torch.tensor(3), 0, exclusive=True) == 0


def test_lazy_conjugates_and_subclasses():
    x = random((3, 4), torch.complex64)
    assert torch.equal(kt.cumsum(x.conj(), 0), torch.cumsum(x.conj(), 0))
    assert torch.equal(kt.cumsum(x.imag, 1), torch.cumsum(x.imag, 1))
    parameter = torch.nn.Parameter(torch.ones(3))
    assert kt.cumsum(parameter, 0).requires_grad
    meta = torch.empty((3, 4), device="meta")
    assert kt.cumsum(meta, 1, include_initial=True).shape == (3, 5)


# ---- Gradients -----------------------------------------------------------------------------------


def with_zeros(shape, seed=0):
    """Random numbers; lines have no zero, one, two, or only zeros."""
    x = torch.randn(shape, dtype=torch.double, generator=torch.Generator().manual_seed(seed))
    flat = x.view(-1)
    flat[::3] = 0
    x[..., 0] += 1
    x.select(1, 0)[0] = 0
    return x.requires_grad_()


FORMS = [{}, {"exclusive": True}, {"include_initial": True}]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("operation", sorted(FUNCTIONS))
@pytest.mark.parametrize("form, reverse, masked",
                         list(itertools.product(FORMS, [False, True], [False, True])))
def test_gradcheck(device, operation, form, reverse, masked):
    shape = (2, 3, 4)
    mask = torch.rand(shape, generator=torch.Generator().manual_seed(1)).to(device) < 0.6
    options = dict(form, reverse=reverse, mask=mask if masked else None)
    function = FUNCTIONS[operation]
    is_order = operation in ("min", "max")
    x = with_zeros(shape) if not is_order else torch.randn(
        shape, dtype=torch.double, generator=torch.Generator().manual_seed(2)).requires_grad_()
    x = x.detach().to(device).requires_grad_()
    for dim in (0, 1, -1):
        lines = [s for d, s in enumerate(shape) if d != dim % 3]
        initial = torch.randn(lines, dtype=torch.double, device=device, requires_grad=True)
        assert torch.autograd.gradcheck(
            lambda x, i: function(x, dim, initial=i, **options), (x, initial))
        if not is_order or (not form and not masked):  # results of infinity have no differences
            assert torch.autograd.gradcheck(lambda x: function(x, dim, **options), (x,))
    number = torch.tensor(0.7, dtype=torch.double, device=device, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, i: function(x, 1, initial=i, **options), (x, number))


@pytest.mark.parametrize("operation", ["sum", "prod"])
def test_gradcheck_of_complex_numbers_and_other_strides(operation):
    function = FUNCTIONS[operation]
    x = random((3, 4), torch.complex128).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: function(x, 1, reverse=True), (x,))
    initial = random((3,), torch.complex128, seed=9).requires_grad_()
    for form in FORMS:
        assert torch.autograd.gradcheck(lambda x, i: function(x, 1, initial=i, **form), (x, initial))
    y = with_zeros((3, 4, 2, 3))
    for dim in range(4):
        assert torch.autograd.gradcheck(
            lambda y: function(y.permute(2, 0, 3, 1)[:, ::2], dim, exclusive=True), (y,))


@pytest.mark.skipif(IS_FALLBACK, reason="Python's operators are differentiated once")
@pytest.mark.parametrize("operation, form, reverse", [
    *itertools.product(["sum", "prod"], FORMS, [False, True]), ("max", {}, True)])
def test_gradgradcheck(operation, form, reverse):
    x = torch.randn((2, 4), dtype=torch.double, generator=torch.Generator().manual_seed(3))
    if operation == "prod":
        x[0, 1] = 0
    x.requires_grad_()
    initial = torch.randn(2, dtype=torch.double, requires_grad=True)
    mask = torch.tensor([[True, True, False, True]] * 2)
    for m in (None, mask):
        assert torch.autograd.gradgradcheck(
            lambda x, i: FUNCTIONS[operation](x, 1, reverse=reverse, mask=m, initial=i, **form),
            (x, initial))


def test_gradients_of_products_agree_with_torch_in_every_type():
    for dtype in (*FLOATS, *COMPLEX):
        x = random((5, 12), dtype, seed=4)
        ours, theirs = x.clone().requires_grad_(), x.to(
            torch.complex128 if dtype.is_complex else torch.float64).requires_grad_()
        weight = random((5, 12), dtype, seed=5)
        kt.cumprod(ours, 1).backward(weight)
        torch.cumprod(theirs, 1).backward(weight.to(theirs.dtype))
        assert ours.grad.dtype == dtype
        torch.testing.assert_close(ours.grad, theirs.grad.to(dtype))


def test_gradient_where_products_overflow():
    # Results end in infinities, which the loss does not use: gradients must not be 0 * infinity.
    x = torch.full((1, 3000), 1.5, dtype=torch.double, requires_grad=True)
    y = kt.cumprod(x, 1)
    assert torch.isinf(y[0, -1])
    y[0, 5].backward()
    expected = torch.zeros(3000, dtype=torch.double)
    expected[:6] = 1.5**5
    torch.testing.assert_close(x.grad[0], expected)


@pytest.mark.parametrize("values", [[1.0, 3, 3, 2, 3], [1.0, float("nan"), 5, 0]])
def test_last_of_equal_elements_and_nan_have_the_gradient(values):
    x = torch.tensor(values)
    for ours, theirs in ((kt.cummax, torch.cummax), (kt.cummin, torch.cummin)):
        a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
        ours(a, 0).values.sum().backward()
        theirs(b, 0).values.sum().backward()
        assert torch.equal(a.grad, b.grad)


def test_types_convert_in_gradients():
    x = torch.rand(4, dtype=torch.float16, requires_grad=True)
    kt.cumprod(x, 0, dtype=torch.float64).sum().backward()
    assert x.grad.dtype == torch.float16
    whole = torch.ones(3, dtype=torch.int32)
    assert not kt.cumsum(whole, 0).requires_grad
    with torch.no_grad():
        assert not kt.cumsum(x, 0).requires_grad


# ---- As PyTorch sees the operators ---------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod", "cumulative_max"])
@pytest.mark.parametrize("options", [
    {}, {"dtype": torch.float64, "include_initial": True}, {"exclusive": True, "masked": True},
    {"reverse": True, "initial": True}])
def test_opcheck(device, name, options):
    options = dict(options)
    x = torch.rand((3, 4), device=device, requires_grad=True)
    if options.pop("masked", False):
        options["mask"] = x.detach() > 0.5
    if options.get("initial"):
        options["initial"] = torch.rand(3, device=device)
    operator = getattr(torch.ops.kokkos_scan, name).default
    torch.library.opcheck(operator, (x, 1), options)
    torch.library.opcheck(operator, (torch.rand((2, 3, 4), device=device).permute(2, 0, 1), -2))


def test_opcheck_of_the_gradient():
    x = torch.rand(3, 4)
    torch.library.opcheck(
        torch.ops.kokkos_scan.scan_gradient.default,
        (torch.rand(3, 4), x, torch.cumprod(x, 1), 1, 1, False, False, x > 0.5, torch.rand(3)))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dynamic", [False, True])
def test_compile(device, dynamic):
    def model(x, mask):
        y = kt.cumsum(x * 2, 1, reverse=True) + kt.CumProd(0)(x)
        return y.sin() + kt.MaskedCumSum(1)(x, mask) + kt.cumsum(x, 1, exclusive=True, initial=2)

    torch._dynamo.reset()
    # The whole graph is traced, including gradients; code generation is left to PyTorch's tests.
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True, dynamic=dynamic)
    for n in (4, 7):
        x = torch.rand((3, n), device=device, requires_grad=True)
        again = x.detach().clone().requires_grad_()
        mask = x.detach() > 0.5
        found, expected = compiled(x, mask), model(again, mask)
        torch.testing.assert_close(found, expected)
        found.sum().backward()
        expected.sum().backward()
        torch.testing.assert_close(x.grad, again.grad)


def test_array_functions_take_tensors():
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    found, totals = ks.cumulative_sum(x, axis=1, exclusive=True, return_totals=True)
    assert torch.equal(found, torch.tensor([[0.0, 0, 1], [0, 3, 7]]))
    assert torch.equal(totals, x.detach().sum(1))
    totals.sum().backward()
    assert torch.equal(x.grad, torch.ones(2, 3))
    for options in ({}, {"reverse": True}, {"include_initial": True}, {"initial": 5}):
        _, totals = ks.cumulative_prod(x.detach() + 1, axis=0, return_totals=True, **options)
        assert torch.equal(totals, (x.detach() + 1).prod(0) * options.get("initial", 1))
    _, totals = ks.cumulative_sum(torch.empty(0, 3), axis=0, initial=2, return_totals=True)
    assert torch.equal(totals, torch.full((3,), 2.0))
    out = torch.empty(2, 3)
    assert ks.cumulative_sum(x.detach(), axis=0, out=out) is out
    assert torch.equal(out, x.detach().cumsum(0))
    assert torch.equal(ks.cumsum(torch.tensor(2), 0), torch.tensor([2]))
    assert torch.equal(ks.cumulative_max(torch.tensor([1, 3, 2])), torch.tensor([1, 3, 3]))


@pytest.mark.parametrize("options", [{}, {"exclusive": True}, {"reverse": True}, {"initial": 2},
                                     {"include_initial": True}, {"in_order": True}])
@pytest.mark.parametrize("axis", [0, -1])
def test_out_holds_results(options, axis):
    x = torch.randn(40, 50)
    mask = torch.rand(50) < 0.7
    for scan in (ks.cumulative_sum, ks.cumulative_max):
        expected, expected_totals = scan(x, axis=axis, mask=mask, return_totals=True, **options)
        memory = torch.full((expected.shape[0], 2 * expected.shape[1]), 7.0)
        out = memory[:, ::2]
        found, totals = scan(x, axis=axis, mask=mask, return_totals=True, out=out, **options)
        assert found is out and torch.equal(out, expected)
        assert torch.equal(totals, expected_totals)
        assert torch.equal(memory[:, 1::2], torch.full_like(memory[:, 1::2], 7.0))
        totals.zero_()
        assert torch.equal(out, expected)


def test_out_may_share_memory():
    for x in (torch.randn(30, 31), torch.randn(30, 31).t()):
        expected = ks.cumulative_sum(x, axis=1)
        assert torch.equal(ks.cumulative_sum(x, axis=1, out=x), expected)
    memory = torch.randn(31, 30)
    expected = ks.cumulative_sum(memory[:-1], axis=0)
    assert torch.equal(ks.cumulative_sum(memory[:-1], axis=0, out=memory[1:]), expected)
    x = torch.randn(3, 4, dtype=torch.complex64)
    expected = ks.cumulative_sum(x.conj(), axis=1)
    assert torch.equal(ks.cumulative_sum(x.conj(), axis=1, out=x), expected)
    with pytest.raises(RuntimeError):
        ks.cumulative_sum(memory, axis=0, out=torch.empty(31, 1).expand(31, 30))


@pytest.mark.skipif(IS_FALLBACK, reason="vmap needs the C++ operators")
def test_out_under_vmap():
    x = torch.randn(5, 6, 7)
    out = torch.empty_like(x)

    def scan(x, out):
        return ks.cumulative_sum(x, axis=1, out=out)

    assert torch.equal(torch.vmap(scan)(x, out), ks.cumulative_sum(x, axis=2))


def test_gradients_notice_what_out_has_overwritten():
    x, out = torch.randn(4, 5), torch.randn(4, 5)
    weight = torch.ones(4, 5, requires_grad=True)
    loss = (out * weight).sum()
    ks.cumulative_sum(x, axis=0, out=out)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_out_needs_no_memory(monkeypatch):
    x = torch.randn(100, 100)
    out = torch.empty_like(x)
    monkeypatch.setattr(torch.Tensor, "copy_", None)
    ks.cumulative_sum(x, axis=0, out=out)
    ks.cumulative_sum(x, axis=0, out=x)
    monkeypatch.undo()
    assert torch.equal(out, x)


def test_errors_are_pythons():
    x = torch.rand(2, 3)
    for kind, call, sentence in [
            (IndexError, lambda: kt.cumsum(x, 2),
             "axis 2 is out of range for x of rank 2: allowed are -2 to 1."),
            (ValueError, lambda: ks.cumulative_sum(x), "x has 2 dimensions: axis must be given."),
            (ValueError, lambda: kt.cumsum(x, 0, exclusive=True, include_initial=True), "choose one"),
            (ValueError, lambda: kt.cumsum(x, 0, initial=torch.ones(2)), "initial has shape"),
            (TypeError, lambda: kt.cumsum(x, 0, mask=x), "mask has type"),
            (TypeError, lambda: kt.cumsum(x * 1j, 0, dtype=torch.float32), "do not convert"),
            (TypeError, lambda: kt.cummax(x * 1j, 0), "complex values have no order"),
            (ValueError, lambda: kt.cumsum(torch.ones((1,) * 9), 0), "x has 9 dimensions"),
            (TypeError, lambda: ks.cumulative_sum(x, axis=0, out=torch.empty(2, 3).int(),
                                                  dtype=torch.float32), "out has type"),
            (ValueError, lambda: ks.cumulative_sum(x, axis=0, out=torch.empty(3)), "out has shape")]:
        with pytest.raises(kind, match=sentence.replace(".", "[.]")):
            call()


def test_arguments_have_a_sentence_each():
    x = torch.rand(2, 3)
    for function in (*FUNCTIONS.values(), kt.logcumsumexp):
        for kind, call, sentence in [
                (TypeError, lambda f: f([1.0], 0), "x is a list: expected a Tensor."),
                (TypeError, lambda f: f(), "x is a NoneType: expected a Tensor."),
                (TypeError, lambda f: f(torch.eye(3).to_sparse(), 0), "x has the layout torch.sparse_coo: expected"),
                (TypeError, lambda f: f(x, 0.0), "dim is a float: expected an int."),
                (TypeError, lambda f: f(x, 1, axis=1), "axis and dim are two names of one argument"),
                (ValueError, lambda f: f(x), "x has 2 dimensions: dim must be given."),
                (TypeError, lambda f: f(x, 0, dtype="float64"), "dtype is 'float64': expected a torch.dtype."),
                (TypeError, lambda f: f(x, 0, mask=[True]), "mask is a list: expected a Tensor."),
                (TypeError, lambda f: f(x, 0, initial="1"), "initial is a str: expected a number or a Tensor."),
                (TypeError, lambda f: f(x, 0, reverse="yes"), "reverse is a str: expected a bool."),
                (TypeError, lambda f: f(x, 0, exclusive=None), "exclusive is a NoneType: expected a bool."),
                (TypeError, lambda f: f(x, 0, out=[1]), "out is a list, but x is a Tensor."),
                (ValueError, lambda f: f(x, 0, out=torch.empty(5)), "out has shape (5,), but expected is (2, 3).")]:
            with pytest.raises(kind, match="kokkos_scan: " + re.escape(sentence)):
                call(function)
    for kind, call, sentence in [
            (TypeError, lambda: kt.cummax(x, 0, return_indices="yes"), "return_indices is a str: expected a bool."),
            (TypeError, lambda: kt.cummax([1], 0, return_indices=True), "x is a list: expected a Tensor."),
            (TypeError, lambda: kt.nancumsum([1.0], 0), "x is a list: expected a Tensor."),
            (TypeError, lambda: kt.ewm_mean([1.0], 0.5), "x is a list: expected a Tensor."),
            (TypeError, lambda: kt.ewm_mean(x, "0.5"), "alpha is a str: expected a number."),
            (TypeError, lambda: kt.cumulative_trapezoid([1.0]), "y is a list: expected a Tensor."),
            (TypeError, lambda: kt.cumulative_trapezoid(x, [1.0]), "x is a list: expected a Tensor."),
            (TypeError, lambda: kt.linear_recurrence(0.5, x, 1.0), "dim is a float: expected an int."),
            (TypeError, lambda: ks.cumulative_sum(x, axis=0, initial="1"), "initial is a str: expected a number"),
            (TypeError, lambda: ks.cumulative_sum(x, axis=0, mask=[True]), "mask is a list: expected a Tensor."),
            (ValueError, lambda: kt.cumsum(x.int(), 0, initial=0.5), "initial is 0.5, which int64 does not hold."),
            (ValueError, lambda: kt.cumsum(x, 0, dtype=torch.uint8, initial=-1), "initial is -1, which uint8 does")]:
        with pytest.raises(kind, match="kokkos_scan: " + re.escape(sentence)):
            call()


def test_names_and_flags_of_both_libraries():
    x = torch.tensor([[1.0, 2, 3], [6, 5, 4]])
    for function in (*FUNCTIONS.values(), kt.logcumsumexp, kt.nancumsum, kt.nancumprod):
        expected = function(x, 1)
        for found in (function(x, dim=1), function(x, axis=1), function(input=x, dim=-1)):
            assert torch.equal(found, expected)
        assert torch.equal(function(x[0]), expected[0])
        for out in (torch.empty(2, 3), torch.empty(0)):
            assert function(x, 1, out=out) is out and torch.equal(out, expected)
        for true in (1, np.True_):
            assert torch.equal(function(x, 1, reverse=true), function(x, 1, reverse=True))
    values, indices = kt.cummax(input=x, axis=1, return_indices=1)
    assert torch.equal(values, x.cummax(1).values) and torch.equal(indices, x.cummax(1).indices)
    assert torch.equal(kt.cumsum(x, 0, dtype=float), x.double().cumsum(0))
    out = torch.zeros(3, dtype=torch.int64)
    assert torch.equal(kt.cumsum(torch.tensor([0.5, 1.5, 2]), 0, out=out), torch.tensor([0, 1, 3]))


def test_numbers_that_start_keep_their_digits():
    for initial in (0.1, 1e300, 1 / 3):
        x = torch.zeros(2, dtype=torch.float64)
        for found in (kt.cumsum(x, 0, initial=initial), ks.cumulative_sum(x, initial=initial),
                      kt.cumprod(x + 1, 0, initial=initial), kt.cumsum(x, 0, initial=initial, in_order=True)):
            assert found[0].item() == initial
    z = torch.zeros(1, dtype=torch.complex128)
    assert kt.cumsum(z, 0, initial=0.1 + 0.2j).item() == 0.1 + 0.2j
    assert kt.cumsum(z, 0, initial=0.1).item() == 0.1
    large = torch.zeros(1, dtype=torch.uint64)
    assert kt.cumsum(large, 0, dtype=torch.uint64, initial=2**64 - 1).item() == 2**64 - 1
    assert kt.cumsum(large.long(), 0, initial=2**62 + 1).item() == 2**62 + 1


@pytest.mark.skipif(IS_FALLBACK, reason="PyTorch drops tangents of operators in Python")
def test_forward_mode_and_transforms():
    torch.manual_seed(7)
    x, initial = (torch.rand(shape, dtype=torch.float64, requires_grad=True) for shape in ((3, 5), (3,)))
    mask = torch.rand(3, 5) < 0.7
    for name, function in {**FUNCTIONS, "logsumexp": kt.logcumsumexp}.items():
        for flags in ({}, {"exclusive": True}, {"include_initial": True}, {"reverse": True}, {"mask": mask},
                      {"mask": mask[0], "reverse": True, "include_initial": True}, {"in_order": True}):
            if "in_order" in flags and name != "sum":
                continue

            def scan(x, initial):
                return function(x, 1, initial=initial, **flags)

            assert torch.autograd.gradcheck(scan, (x, initial), check_forward_ad=True, check_backward_ad=False)
            loss = lambda x, initial: scan(x, initial).pow(2).sum()  # noqa: E731
            torch.testing.assert_close(torch.func.grad(loss, (0, 1))(x.detach(), initial.detach()),
                                       torch.autograd.grad(loss(x, initial), (x, initial)))
            if flags.get("mask") is not mask:
                rows = torch.vmap(lambda x, initial: function(x, 0, initial=initial, **flags))
                torch.testing.assert_close(rows(x, initial), scan(x, initial))
    batched = torch.vmap(lambda x, mask: kt.cumsum(x, 0, mask=mask, initial=2), (0, 0))
    torch.testing.assert_close(batched(x, mask), kt.cumsum(x, 1, mask=mask, initial=2))
    with pytest.raises(NotImplementedError, match="products in order have neither forward-mode"):
        torch.func.grad(lambda x: kt.cumprod(x, 0, in_order=True).sum())(x[0].detach())
    whole = torch.arange(6).reshape(2, 3)
    assert torch.equal(torch.vmap(lambda t: kt.cumsum(t, 0))(whole), whole.cumsum(1))


def test_recurrences_in_forward_mode_and_transforms():
    torch.manual_seed(8)
    a, b = (torch.rand(3, 5, dtype=torch.float64, requires_grad=True) for _ in range(2))
    initial = torch.rand(3, dtype=torch.float64, requires_grad=True)
    reset = torch.rand(3, 5) < 0.3
    for options in ({}, {"reverse": True}, {"include_initial": True}, {"reset": reset},
                    {"reset": reset, "reverse": True, "include_initial": True}, {"in_double": True}):
        def states(a, b, initial):
            return kt.linear_recurrence(a, b, 1, initial, **options)

        assert torch.autograd.gradcheck(states, (a, b, initial), check_forward_ad=True)
        assert torch.autograd.gradgradcheck(states, (a, b, initial))
        assert torch.autograd.gradcheck(lambda b: states(0.5, b, None), b, check_forward_ad=True)
        loss = lambda *inputs: states(*inputs).pow(2).sum()  # noqa: E731
        inputs = [t.detach() for t in (a, b, initial)]
        torch.testing.assert_close(torch.func.grad(loss, (0, 1, 2))(*inputs), torch.autograd.grad(loss(a, b, initial), (a, b, initial)))
        if "reset" not in options:
            rows = torch.vmap(lambda a, b, initial: kt.linear_recurrence(a, b, 0, initial, **options))
            torch.testing.assert_close(rows(a, b, initial), states(a, b, initial))
            one = torch.vmap(lambda a: kt.linear_recurrence(a, b[0], 0, **options))
            torch.testing.assert_close(one(a[:, 0])[1], kt.linear_recurrence(a[1, 0], b[0], 0, **options))
    torch.testing.assert_close(torch.vmap(lambda b, reset: kt.linear_recurrence(0.5, b, 0, reset=reset))(b, reset),
                               kt.linear_recurrence(0.5, b, 1, reset=reset))


@pytest.mark.cuda
def test_device_that_is_not_current():
    if torch.cuda.device_count() < 2:
        pytest.skip("one CUDA device")
    x = torch.rand(3, 1000, dtype=torch.float64, device="cuda:1")
    assert torch.cuda.current_device() == 0
    for function in (lambda t: kt.cumsum(t, 1), lambda t: ks.cumulative_sum(t, axis=1), lambda t: kt.cummax(t, 1)[1],
                     lambda t: kt.cumsum(t, 1, out=torch.empty_like(t)), lambda t: kt.linear_recurrence(t, t, 1),
                     lambda t: kt.compact(t, t > 0.5), lambda t: kt.cumsum(t, 1, in_order=True),
                     lambda t: kt.gae(t, t, 0)[0], lambda t: kt.gae(t, t, 0, dim=1)[1]):
        found = function(x)
        assert found.device == x.device
        torch.testing.assert_close(found.cpu(), function(x.cpu()))
    assert torch.cuda.current_device() == 0


@pytest.mark.cuda
def test_workspaces_are_pytorchs_memory():
    x = torch.rand(64, 1024, 64, device="cuda")  # blocks share lines
    for call in range(3):
        expected = torch.cumsum(x.double(), 1)
        before = torch.cuda.memory_stats()["allocation.all.allocated"]
        found = kt.cumsum(x, 1)
        allocated = torch.cuda.memory_stats()["allocation.all.allocated"] - before
        assert allocated >= 1  # the result, and a workspace where the device is large enough to need one
        torch.cuda.synchronize()
        torch.testing.assert_close(found, expected.float(), rtol=1e-5, atol=1e-5)
    free, _ = torch.cuda.mem_get_info()
    for _ in range(100):
        kt.cumsum(x, 1)
        torch.cuda.synchronize()
    assert torch.cuda.mem_get_info()[0] >= free - (64 << 20)


def test_what_overrides_functions_sees_operators():
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Seen(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            seen.append(str(function))
            return function(*args, **(kwargs or {}))

    x = torch.rand(4, 5)
    with Seen():
        kt.linear_recurrence(x, x, 1)
        kt.gae(x, x, 0.0)
    assert "kokkos_scan.linear_recurrence.default" in seen and "kokkos_scan.advantage.default" in seen
    with FakeTensorMode():
        assert kt.linear_recurrence(torch.empty(4, 5), torch.empty(4, 5), 1).shape == (4, 5)


def test_compact_in_forward_mode():
    x = torch.rand(6, dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([True, False, True, True, False, True])
    assert torch.autograd.gradcheck(lambda x: kt.compact(x, mask), x, check_forward_ad=True)


@pytest.mark.filterwarnings("ignore")
def test_compilation_of_all_functions():
    x = torch.rand(3, 20, dtype=torch.float64, requires_grad=True)
    reset = torch.rand(3, 20) < 0.2
    for function in (lambda x: kt.cumsum(x, 1, in_order=True), lambda x: kt.cumprod(x, 1, in_order=True, initial=2.0),
                     lambda x: kt.cumsum(x, 1, in_order=True, include_initial=True),
                     lambda x: kt.cummax(x, 1)[0], lambda x: kt.cummin(x, 1, return_indices=False),
                     lambda x: kt.linear_recurrence(x, x, 1, reset=reset), lambda x: kt.discounted_sum(x, 0.9, 1, reset),
                     lambda x: kt.ewm_mean(x, 0.5), lambda x: kt.cumsum(x, 1, reset=reset)):
        torch._dynamo.reset()
        compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
        torch.testing.assert_close(compiled(x), function(x))
        gradients = [torch.autograd.grad(f(x).square().sum(), x)[0] for f in (compiled, function)]
        torch.testing.assert_close(*gradients)


@pytest.mark.skipif(IS_FALLBACK, reason="this is the run without the C++ operators")
def test_operators_in_python_where_cpp_is_missing(tmp_path):
    # Runs files again with a package that lacks the module of C++ operators.
    package = tmp_path / "kokkos_scan"
    package.mkdir()
    for file in pathlib.Path(ks.__file__).parent.iterdir():
        if not file.name.startswith("_torch."):
            (package / file.name).symlink_to(file)
    program = ("import kokkos_scan.torch as kt, pytest, sys\n"
               "assert 'fallback' in kt._torch.__name__\n"
               f"sys.exit(pytest.main([{__file__!r}, 'test_torch_functions.py', 'test_returns.py', '-q', '-x', "
               "'-p', 'no:cacheprovider']))")
    environment = {**os.environ, "KOKKOS_SCAN_EXAMPLES": "40", "PYTHONPATH": os.pathsep.join(
        [str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                             timeout=600, env=environment)
    assert process.returncode == 0, process.stdout[-3000:] + process.stderr[-1000:]


# ---- CUDA ----------------------------------------------------------------------------------------


@pytest.mark.cuda
def test_side_streams():
    x = torch.rand(512, 4096, device="cuda")
    expected = torch.cumsum(x.double(), 1).float()
    streams = [torch.cuda.Stream() for _ in range(3)]
    torch.cuda.synchronize()
    results = []
    for stream in streams:
        with torch.cuda.stream(stream):
            torch.cuda._sleep(10_000_000)  # later work must wait for it
            y = x.clone()
            results.append(kt.cumsum(y, 1))
            y.fill_(float("nan"))  # after the scan has read it
    torch.cuda.synchronize()
    for result in results:
        torch.testing.assert_close(result, expected)


@pytest.mark.cuda
def test_calls_are_asynchronous():
    x = torch.rand(1024, 4096, device="cuda")
    kt.cumsum(x, 1)
    torch.cuda.synchronize()
    torch.cuda._sleep(2_000_000_000)
    kt.cumsum(x, 1)
    assert not torch.cuda.current_stream().query()
    torch.cuda.synchronize()


@pytest.mark.cuda
@pytest.mark.parametrize("shape, dim", [((64, 1000), 1), ((1000, 64), 0), ((2, 2**22), 1)])
def test_graph_capture(shape, dim):
    x = torch.rand(shape, device="cuda")
    kt.cumsum(x, dim)  # on the default stream; the capture uses another stream, which the package has not seen
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = kt.cumsum(x, dim)
        z = kt.cumprod(y * 0 + 1, dim)
    for seed in range(3):
        x.copy_(random(shape, torch.float32, "cuda", seed))
        graph.replay()
        torch.testing.assert_close(y, torch.cumsum(x, dim))
        assert (z == 1).all()


@pytest.mark.cuda
def test_cupy():
    cupy = pytest.importorskip("cupy")
    x = cupy.arange(12, dtype="float32").reshape(3, 4)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        found, totals = ks.cumulative_sum(x[::-1, ::-1], axis=1, mask=x > 2, return_totals=True)
    stream.synchronize()
    expected = cupy.cumsum(cupy.where(x > 2, x[::-1, ::-1], 0), 1)
    assert isinstance(found, cupy.ndarray)
    cupy.testing.assert_array_equal(found, expected)
    cupy.testing.assert_array_equal(totals, expected[:, -1])


@pytest.mark.cuda
def test_jax_on_cuda():
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX sees no GPU")
    x = jax.numpy.arange(12.0).reshape(3, 4)
    found = ks.cumulative_sum(x, axis=1)
    assert found.devices() == x.devices()
    assert jax.numpy.array_equal(found, jax.numpy.cumsum(x, 1))


def test_devices_do_not_mix():
    x = torch.ones(3)
    with pytest.raises(ValueError, match="mask is on meta, but x is on cpu"):
        kt.cumsum(x, 0, mask=torch.ones(3, dtype=torch.bool, device="meta"))
    with pytest.raises(ValueError, match="initial is on meta, but x is on cpu"):
        kt.cumsum(x[None], 0, initial=torch.ones(3, device="meta"))


@pytest.mark.cuda
def test_host_and_device_do_not_mix():
    with pytest.raises(ValueError, match="mask is on cpu"):
        kt.cumsum(torch.ones(3, device="cuda"), 0, mask=torch.ones(3, dtype=torch.bool))
    # A zero-dimensional host tensor is a number.
    x = torch.ones(3, device="cuda")
    assert kt.cumsum(x, 0, initial=torch.tensor(2.0)).tolist() == [3, 4, 5]
    assert kt.cumsum(x, 0, initial=torch.tensor(2.0, device="cuda")).tolist() == [3, 4, 5]
