# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions of kokkos_scan.torch, compared with PyTorch or a loop: values, gradients, torch.compile."""

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

import kokkos_scan as ks
import kokkos_scan.torch as kt

FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.cuda)]


def equal(a, b):
    return torch.equal(torch.nan_to_num(a, 77), torch.nan_to_num(b, 77))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int16, torch.int32, torch.int64, *FLOATS])
def test_indices_are_those_of_torch(device, dtype):
    torch.manual_seed(1)
    x = torch.randint(0, 5, (3, 40, 4), device=device).to(dtype)
    if dtype.is_floating_point:
        x[torch.rand(x.shape, device=device) < 0.02] = float("nan")
        x[torch.rand(x.shape, device=device) < 0.1] = -0.0
    for ours, theirs in ((kt.cummax, torch.cummax), (kt.cummin, torch.cummin)):
        for dim in (0, 1, -1):
            for t in (x, x.transpose(0, 2), x[:, ::3]):
                values, index = ours(t, dim, return_indices=True)
                expected = theirs(t, dim)
                assert index.dtype == torch.int64
                assert equal(values, expected.values) and torch.equal(index, expected.indices)
                values, index = ours(t, dim, return_indices=True, reverse=True)
                expected = theirs(t.flip(dim), dim)
                assert equal(values, expected.values.flip(dim))
                assert torch.equal(index, t.shape[dim] - 1 - expected.indices.flip(dim))
    values, index = ks.cumulative_max(x[0, :, 0], return_indices=True)
    assert torch.equal(index, torch.cummax(x[0, :, 0], 0).indices)
    values, index = kt.cummax(torch.tensor(3.0), 0, return_indices=True)
    assert values.shape == index.shape == () and index == 0


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_gradient_of_values_beside_indices(device, dtype):
    for shape, dim in (((3, 20), 1), ((2, 30, 3), -2), ((), 0)):
        x = torch.randint(0, 4, shape, device=device).to(dtype).requires_grad_()
        g = torch.rand(shape, device=device).to(dtype)
        ours, = torch.autograd.grad(kt.cummax(x, dim, return_indices=True)[0], x, g)
        # PyTorch accumulates in the tensor's type.
        wide = x.detach().double().requires_grad_()
        theirs, = torch.autograd.grad(torch.cummax(wide, dim).values, wide, g.double())
        torch.testing.assert_close(ours, theirs.to(dtype))


def test_gradients_of_gradients_beside_indices():
    x = torch.rand(3, 20, dtype=torch.float64, requires_grad=True)
    mask = torch.rand(3, 20) < 0.5
    mask[0, :3] = False
    for reverse in (False, True):
        for function in (kt.cummax, kt.cummin):
            def values(x):
                found = function(x, 1, return_indices=True, reverse=reverse, mask=mask)[0]
                return torch.where(found.isfinite(), found, 0)

            assert torch.autograd.gradcheck(values, x)
            assert torch.autograd.gradgradcheck(values, x)


def test_indices_of_longer_lines_than_a_number_counts(monkeypatch):
    from kokkos_scan import _core

    x = torch.randint(0, 5, (3, 40), dtype=torch.int16)
    expected = torch.cummin(x, 1)
    monkeypatch.setattr(_core, "longest_line", lambda size: 2**62 if size == 8 else 39)
    values, index = kt.cummin(x, 1, return_indices=True)
    assert torch.equal(values, expected.values) and torch.equal(index, expected.indices)
    values, index = ks.cumulative_min(x.numpy(), axis=1, return_indices=True)
    assert values.dtype == np.int16 and (values == expected.values.numpy()).all()
    assert (index == expected.indices.numpy()).all()


def test_indices_refuse_what_has_no_order():
    with pytest.raises(TypeError, match="complex values have no order"):
        kt.cummax(torch.ones(3, dtype=torch.complex64), 0, return_indices=True)
    with pytest.raises(TypeError, match="mask has type torch.float32"):
        kt.cummax(torch.ones(3), 0, return_indices=True, mask=torch.ones(3))


def test_indices_refuse_other_results():
    with pytest.raises(ValueError, match="indices go with the inclusive results alone, not with exclusive: give"):
        kt.cummax(torch.ones(3), 0, exclusive=True)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_logcumsumexp(device, dtype):
    torch.manual_seed(2)
    x = (5 * torch.randn(4, 60, 3, device=device)).to(dtype)
    x[0, :4] = -float("inf")
    wide = x.double()
    tolerance = {"rtol": 4 * torch.finfo(dtype).eps, "atol": 4 * torch.finfo(dtype).eps}
    for dim in (0, 1, 2):
        expected = torch.logcumsumexp(wide, dim).to(dtype)
        torch.testing.assert_close(kt.logcumsumexp(x, dim), expected, **tolerance)
        torch.testing.assert_close(kt.logcumsumexp(x.flip(dim), dim, reverse=True), expected.flip(dim),
                                   **tolerance)
    special = torch.tensor([-float("inf"), 1, float("inf"), 2, float("nan"), 0], device=device)
    assert equal(kt.logcumsumexp(special, 0), torch.logcumsumexp(special, 0))
    with pytest.raises(TypeError, match="need a real floating type"):
        kt.logcumsumexp(torch.arange(3, device=device), 0)


def test_gradient_of_logcumsumexp():
    torch.manual_seed(3)
    x = (3 * torch.randn(2, 9, 2, dtype=torch.float64)).requires_grad_()
    start = torch.randn(2, 2, dtype=torch.float64, requires_grad=True)
    mask = torch.rand(2, 9, 2) < 0.6
    assert gradcheck(lambda x: kt.logcumsumexp(x, 1), (x,))
    assert gradcheck(lambda x: kt.logcumsumexp(x, 0, reverse=True), (x,))
    for options in ({}, {"exclusive": True}, {"include_initial": True}, {"reverse": True},
                    {"mask": mask}):
        assert gradcheck(lambda x, s: kt.logcumsumexp(x, 1, initial=s, **options), (x, start)), options
    if "fallback" not in kt._torch.__name__:  # Python's operators are differentiated once
        assert gradgradcheck(lambda x, s: kt.logcumsumexp(x, 1, initial=s), (x, start))
    # Beside PyTorch, with elements that differ much.
    wide = (100 * torch.randn(3, 500, dtype=torch.float64)).requires_grad_()
    g = torch.randn(3, 500, dtype=torch.float64)
    ours, = torch.autograd.grad(kt.logcumsumexp(wide, 1), wide, g)
    theirs, = torch.autograd.grad(torch.logcumsumexp(wide, 1), wide, g)
    torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-9)
    # Nothing that is -infinity has a gradient.
    x = torch.full((4,), -float("inf"), dtype=torch.float64, requires_grad=True)
    (kt.logcumsumexp(x, 0)[1:] * torch.ones(3)).nan_to_num().sum().backward()
    assert not x.grad[1:].isnan().any()


@pytest.mark.parametrize("device", DEVICES)
def test_gradient_of_logcumsumexp_of_a_long_line(device):
    # Its weights k / (k + 1) are all but 1: were they rounded, their product would be wrong.
    n = 1 << 18
    g = torch.rand(n, device=device)
    x = torch.zeros(n, device=device, requires_grad=True)
    found, = torch.autograd.grad(kt.logcumsumexp(x, 0), x, g)
    k = torch.arange(1, n + 1, dtype=torch.float64, device=device)
    expected = (g.double() / k).flip(0).cumsum(0).flip(0)
    torch.testing.assert_close(found.double(), expected, rtol=2e-6, atol=0)
    # A gradient that stands still in memory.
    x = torch.rand(3, 40, device=device, dtype=torch.float64, requires_grad=True)
    found, = torch.autograd.grad(kt.logcumsumexp(x, 1).sum(), x)
    expected, = torch.autograd.grad(torch.logcumsumexp(x, 1).sum(), x)
    torch.testing.assert_close(found, expected)


def loop(a, b, dim, initial, reverse):
    """A differentiable loop."""
    h = torch.zeros_like(b.select(dim, 0)) if initial is None else initial
    states = []
    order = range(b.shape[dim])
    for k in reversed(order) if reverse else order:
        h = a.select(dim, k) * h + b.select(dim, k)
        states.append(h)
    return torch.stack(states[::-1] if reverse else states, dim)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("reverse", [False, True])
def test_linear_recurrence(device, dtype, reverse):
    torch.manual_seed(4)
    for shape, dim in (((3, 200, 2), 1), ((5, 7), 0), ((2, 3, 4, 5), -1), ((1,), 0)):
        a = (torch.rand(shape, device=device) * 2 - 1).to(dtype)
        b = torch.randn(shape, device=device).to(dtype)
        lines = list(shape)
        del lines[dim]
        initial = torch.randn(lines, device=device).to(dtype)
        # Double is what states are computed in, so it has more roundings.
        bound = (16 if dtype == torch.float64 else 2) * torch.finfo(dtype).eps
        tolerance = {"rtol": bound, "atol": bound}
        for start in (None, initial):
            expected = loop(a.double(), b.double(), dim, None if start is None else start.double(),
                            reverse).to(dtype)
            found = kt.linear_recurrence(a, b, dim, start, reverse)
            assert found.dtype == dtype
            torch.testing.assert_close(found, expected, **tolerance)
        # Transposed, and through the array functions.
        found = kt.linear_recurrence(a.movedim(dim, 0), b.movedim(dim, 0), 0, initial, reverse)
        torch.testing.assert_close(found.movedim(0, dim), expected, **tolerance)
        torch.testing.assert_close(
            ks.linear_recurrence(a, b, axis=dim, initial=initial, reverse=reverse), expected, **tolerance)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("include_initial", [False, True])
def test_gradient_of_linear_recurrence(reverse, include_initial):
    torch.manual_seed(5)
    a, b = (torch.randn(2, 7, 3, dtype=torch.float64, requires_grad=True) for _ in range(2))
    start = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)

    def call(a, b, start):
        return kt.linear_recurrence(a, b, 1, start, reverse, include_initial=include_initial)

    assert gradcheck(call, (a, b, start))
    assert gradgradcheck(call, (a, b, start))
    assert gradcheck(lambda a, b: call(a, b, None), (a, b))
    # One coefficient for all, one start for all, one step.
    scalar = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda a, b: kt.linear_recurrence(a, b, 1, a, reverse), (scalar, b))
    assert gradcheck(call, tuple(t.detach()[:, :1].requires_grad_() for t in (a, b)) + (start,))
    # No step, and gradients that stand still in memory.
    nothing = tuple(t.detach()[:, :0].requires_grad_() for t in (a, b))
    of_a, of_b, of_start = torch.autograd.grad(call(*nothing, start).sum(), (*nothing, start))
    assert of_a.shape == of_b.shape == (2, 0, 3)
    assert torch.equal(of_start, torch.full_like(start, 1 if include_initial else 0))
    ours = torch.autograd.grad(call(a, b, start).sum(), (a, b, start))
    weight = torch.ones_like(call(a, b, start)).requires_grad_()
    theirs = torch.autograd.grad((call(a, b, start) * weight).sum(), (a, b, start))
    torch.testing.assert_close(ours, theirs)


def test_gradient_of_linear_recurrence_in_bfloat16():
    torch.manual_seed(6)
    a = torch.rand(2, 64, 8).bfloat16().requires_grad_()
    b = torch.randn(2, 64, 8).bfloat16().requires_grad_()
    g = torch.randn(2, 64, 8).bfloat16()
    ours = torch.autograd.grad(kt.linear_recurrence(a, b, 1), (a, b), g)
    wide = [t.detach().double().requires_grad_() for t in (a, b)]
    theirs = torch.autograd.grad(loop(*wide, 1, None, False), wide, g.double())
    for found, expected in zip(ours, theirs):
        assert found.dtype == torch.bfloat16
        torch.testing.assert_close(found.double(), expected, rtol=0.02, atol=0.02)


def test_recurrence_refuses():
    b = torch.ones(2, 3)
    with pytest.raises(ValueError, match="a has shape .4,., which does not broadcast to .2, 3."):
        kt.linear_recurrence(torch.ones(4), b)
    with pytest.raises(TypeError, match="a has type torch.float64"):
        kt.linear_recurrence(torch.ones(3, dtype=torch.float64), b)
    with pytest.raises(TypeError, match="needs a real floating type"):
        kt.linear_recurrence(1, torch.arange(3))
    with pytest.raises(ValueError, match="initial has shape .3,., but expected is .2,."):
        kt.linear_recurrence(1, b, initial=torch.ones(3))
    with pytest.raises(IndexError, match="axis 2 is out of range"):
        kt.linear_recurrence(1, b, 2)


@pytest.mark.parametrize("dtype", FLOATS)
def test_sums_without_nan(dtype):
    torch.manual_seed(7)
    x = torch.randn(3, 50).to(dtype)
    x[torch.rand(x.shape) < 0.2] = float("nan")
    torch.testing.assert_close(kt.nancumsum(x, 1), kt.cumsum(x.nan_to_num(0), 1))
    torch.testing.assert_close(kt.nancumprod(x, 1), kt.cumprod(torch.where(x.isnan(), 1, x), 1))
    x = x.double().requires_grad_()
    kt.nancumsum(x, 1).sum().backward()
    assert (x.grad[x.isnan()] == 0).all() and not x.grad.isnan().any()
    assert torch.equal(kt.nancumsum(torch.arange(4), 0), torch.arange(4).cumsum(0))


def test_cumulative_trapezoid():
    torch.manual_seed(8)
    y = torch.randn(3, 20, 2, dtype=torch.float64, requires_grad=True)
    for dim in (0, 1, -1):
        torch.testing.assert_close(kt.cumulative_trapezoid(y, dim=dim),
                                   torch.cumulative_trapezoid(y, dim=dim))
        torch.testing.assert_close(kt.cumulative_trapezoid(y, dx=0.3, dim=dim),
                                   torch.cumulative_trapezoid(y, dx=0.3, dim=dim))
    x = torch.rand(20, dtype=torch.float64).cumsum(0).requires_grad_()
    torch.testing.assert_close(kt.cumulative_trapezoid(y, x, dim=1),
                               torch.cumulative_trapezoid(y, x.reshape(1, 20, 1).expand(3, 20, 2), dim=1))
    places = torch.rand(3, 20, 2, dtype=torch.float64).cumsum(1)
    torch.testing.assert_close(kt.cumulative_trapezoid(y, places, dim=1),
                               torch.cumulative_trapezoid(y, places, dim=1))
    assert gradcheck(lambda y, x: kt.cumulative_trapezoid(y, x, dim=1), (y, x))
    with pytest.raises(RuntimeError, match="x has 19 elements, but y has 20"):
        kt.cumulative_trapezoid(y, x[1:], dim=1)
    assert kt.cumulative_trapezoid(torch.ones(1)).shape == (0,)


def test_ewm_mean():
    torch.manual_seed(9)
    x = torch.randn(2, 100, dtype=torch.float64, requires_grad=True)
    for alpha in (0.1, 0.7, 1.0):
        for adjust in (False, True):
            expected = torch.empty_like(x)
            for i in range(2):
                total = weight = 0.0
                for k in range(100):
                    if adjust:  # as the definition has it
                        total = total * (1 - alpha) + x[i, k].item()
                        weight = weight * (1 - alpha) + 1
                    else:
                        total = x[i, 0].item() if k == 0 else (1 - alpha) * total + alpha * x[i, k].item()
                        weight = 1
                    expected.data[i, k] = total / weight
            torch.testing.assert_close(kt.ewm_mean(x, alpha, adjust=adjust), expected)
            assert gradcheck(lambda x: kt.ewm_mean(x, alpha, 1, adjust=adjust), (x[:, :8],))
    with pytest.raises(ValueError, match="alpha is 0, but must satisfy"):
        kt.ewm_mean(x, 0)


def pandas_ewm_mean(x, alpha, adjust, ignore_na):
    """One line as pandas computes it: pandas/_libs/window/aggregations.pyx, with its defaults."""
    mean, old_weight = x[0], 1.0
    means = [mean]
    for value in x[1:]:
        is_number = value == value
        if mean == mean:
            if is_number or not ignore_na:
                old_weight *= 1 - alpha
            if is_number:
                new_weight = 1.0 if adjust else alpha
                mean = (old_weight * mean + new_weight * value) / (old_weight + new_weight)
                old_weight = old_weight + 1 if adjust else 1.0
        elif is_number:
            mean = value
        means.append(mean)
    return means


NAN = float("nan")


@pytest.mark.parametrize("adjust", [True, False])
@pytest.mark.parametrize("ignore_na", [True, False])
def test_ewm_mean_leaves_nan_out(adjust, ignore_na):
    """As pandas does. Its own function is asked as well where there is one."""
    try:
        import pandas
    except ImportError:
        pandas = None
    torch.manual_seed(11)
    lines = [[1, NAN, 5], [NAN] * 3, [NAN, NAN, 2, 4], [1, NAN, NAN, NAN], [1.0], [NAN], [3, NAN, 4, NAN, NAN, 5, 6],
             [2, *[NAN] * 3000, 7]]
    lines += [torch.where(torch.rand(50) < p, NAN, torch.randn(50).double()).tolist() for p in (0.1, 0.5, 0.95)]
    for line in lines:
        for alpha in (0.01, 0.5, 0.9, 1.0):
            expected = pandas_ewm_mean([float(value) for value in line], alpha, adjust, ignore_na)
            expected = torch.tensor(expected, dtype=torch.float64)
            x = torch.tensor(line, dtype=torch.float64)
            found = kt.ewm_mean(x, alpha, adjust=adjust, ignore_na=ignore_na)
            torch.testing.assert_close(found, expected, equal_nan=True)
            for dtype in (torch.float32, torch.bfloat16):
                found = kt.ewm_mean(x.to(dtype), alpha, adjust=adjust, ignore_na=ignore_na)
                assert found.dtype == dtype
                of_rounded = pandas_ewm_mean(x.to(dtype).tolist(), alpha, adjust, ignore_na)
                torch.testing.assert_close(found, torch.tensor(of_rounded, dtype=torch.float64).to(dtype), equal_nan=True)
            # pandas 3.0 to 3.1 compute another mean for 0.5 alone: pandas-dev/pandas#66521.
            if pandas is not None and (alpha != 0.5 or adjust or ignore_na):
                of_pandas = pandas.Series(line, dtype=float).ewm(alpha=alpha, adjust=adjust, ignore_na=ignore_na).mean()
                torch.testing.assert_close(expected, torch.tensor(of_pandas.to_numpy()), equal_nan=True)
    # Along any dimension, and differentiable in what is a number.
    x = torch.where(torch.rand(3, 12, 2) < 0.3, NAN, torch.randn(3, 12, 2)).double()
    found = kt.ewm_mean(x, 0.3, 1, adjust=adjust, ignore_na=ignore_na)
    for i in range(3):
        for j in range(2):
            expected = pandas_ewm_mean(x[i, :, j].tolist(), 0.3, adjust, ignore_na)
            torch.testing.assert_close(found[i, :, j], torch.tensor(expected, dtype=torch.float64), equal_nan=True)
    is_number = ~x.isnan()
    values = x[is_number].requires_grad_()
    assert gradcheck(lambda values: kt.ewm_mean(torch.full_like(x, NAN).masked_scatter(is_number, values), 0.3, 1,
                                                adjust=adjust, ignore_na=ignore_na).nan_to_num(), (values,))


def test_ewm_mean_of_one_nan_in_traced_code():
    x = torch.tensor([1.0, NAN, 5.0], dtype=torch.float64)
    compiled = torch.compile(lambda x: kt.ewm_mean(x, 0.5), fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x), torch.tensor([1.0, 1.0, 4.2], dtype=torch.float64))
    torch.testing.assert_close(kt.ewm_mean(x, 0.5, adjust=False), torch.tensor([1, 1, 11 / 3], dtype=torch.float64))
    with pytest.raises(TypeError, match="kokkos_scan: ignore_na is a str: expected a bool"):
        kt.ewm_mean(x, 0.5, ignore_na="yes")


def test_compiled():
    torch.manual_seed(10)
    a, b = (torch.rand(2, 30, 3, requires_grad=True) for _ in range(2))

    def call(a, b):
        h = kt.linear_recurrence(a, b, 1, 0.5)
        values, index = kt.cummax(h, 1, return_indices=True)
        return kt.logcumsumexp(values, 1) + index

    compiled = torch.compile(call, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(a, b), call(a, b))
    found = torch.autograd.grad(compiled(a, b).sum(), (a, b))
    expected = torch.autograd.grad(call(a, b).sum(), (a, b))
    torch.testing.assert_close(found, expected)


def test_operators_are_registered_as_they_should_be():
    a, b = (torch.rand(2, 5, 3, requires_grad=True) for _ in range(2))
    start = torch.rand(2, 3, requires_grad=True)
    for arguments in ((a, b, 1, start, False, False), (a, b, 1, None, True, True)):
        torch.library.opcheck(torch.ops.kokkos_scan.linear_recurrence, arguments)
    a = a.detach()
    x = torch.rand(2, 5)
    torch.library.opcheck(torch.ops.kokkos_scan.cumulative_extreme,
                          (x.requires_grad_(), 1, ks._functions.MAX, False, x > 0.3))
    torch.library.opcheck(torch.ops.kokkos_scan.cumulative_logsumexp, (a, 1))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_numbers_as_coefficients_keep_their_digits(dtype):
    for alpha in (0.01, 0.001):
        for adjust in (True, False):
            found = kt.ewm_mean(torch.ones(20000, dtype=dtype), alpha, adjust=adjust)
            assert found.dtype == dtype
            torch.testing.assert_close(found, torch.ones_like(found), rtol=max(1e-12, 2 * torch.finfo(dtype).eps),
                                       atol=0)
    b = torch.randn(3, 40, dtype=torch.float64, requires_grad=True)
    initial = torch.randn(3, dtype=torch.float64, requires_grad=True)
    for options in ({}, {"reverse": True}, {"include_initial": True}):
        found = kt.linear_recurrence(0.75, b, 1, initial, **options)
        expected = kt.linear_recurrence(torch.full_like(b, 0.75), b, 1, initial, **options)
        assert torch.equal(found, expected)
        assert torch.autograd.gradcheck(lambda b, h: kt.linear_recurrence(0.75, b, 1, h, **options), (b, initial))
        assert torch.autograd.gradgradcheck(lambda b, h: kt.linear_recurrence(0.75, b, 1, h, **options), (b, initial))
    with pytest.raises(TypeError, match="kokkos_scan: a is a str: expected a number or a Tensor"):
        kt.linear_recurrence("0.5", b)


def test_whole_numbers_have_means():
    found = kt.ewm_mean(torch.arange(4), 0.5)
    torch.testing.assert_close(found, kt.ewm_mean(torch.arange(4.0, dtype=torch.float64), 0.5))


def test_trapezoids_as_in_torch():
    y = torch.rand(2, 3, 5, dtype=torch.float64)
    for dim in (0, 1, 2, -1):
        n = y.shape[dim]
        for shape in {(n,), tuple(y.shape), tuple(n if d == dim % 3 else 1 for d in range(3)), (3, 5), (1, 5), (1, 1, 5)}:
            x = torch.rand(shape, dtype=torch.float64)
            try:
                expected = torch.cumulative_trapezoid(y, x, dim=dim)
            except RuntimeError:
                continue
            if expected.shape == torch.cumulative_trapezoid(y, dim=dim).shape:
                torch.testing.assert_close(kt.cumulative_trapezoid(y, x, dim=dim), expected)
    for call in (lambda: kt.cumulative_trapezoid(torch.tensor([True, True])),
                 lambda: kt.cumulative_trapezoid(torch.ones(2), torch.tensor([True, False]))):
        with pytest.raises(RuntimeError, match="kokkos_scan: the trapezoidal rule needs numbers"):
            call()
    with pytest.raises(RuntimeError, match="does not broadcast"):
        kt.cumulative_trapezoid(y, torch.rand(3, 4, dtype=torch.float64))
