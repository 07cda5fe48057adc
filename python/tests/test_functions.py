# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Indices of minima and maxima, logarithms of sums, recurrences and NaN-skipping sums of arrays, compared
with NumPy and plain loops."""

import pathlib
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kokkos_scan as ks

TYPES = ["bool", "int8", "uint16", "int32", "uint64", "int64", "float16", "float32", "float64"]
EXTREMES = [(ks.cumulative_min, np.minimum), (ks.cumulative_max, np.maximum)]


def random_array(rng, shape, dtype):
    """Few different values, so that many are equal; floats include NaN and zeros of both signs."""
    x = rng.integers(0, 6, shape).astype(dtype)
    if x.dtype.kind == "f" and x.size:
        x[rng.random(shape) < 0.05] = np.nan
        x[rng.random(shape) < 0.1] = -0.0
        x[rng.random(shape) < 0.05] = -np.inf
    return x


def last_of_equals(ufunc, line, keep):
    """The index of the extreme, by a loop: the last of equal values or NaNs."""
    best, found = -1, []
    for k, value in enumerate(line):
        if keep[k]:
            is_better = best < 0 or value != value or (
                line[best] == line[best] and ufunc(value, line[best]) == value)
            if is_better:
                best = k
        found.append(best)
    return found


@given(st.integers(0, 2**32), st.sampled_from(TYPES), st.sampled_from(EXTREMES), st.booleans(),
       st.booleans())
def test_indices(seed, dtype, functions, reverse, has_mask):
    function, ufunc = functions
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 9, rng.integers(1, 4)))
    axis = int(rng.integers(len(shape)))
    x = random_array(rng, shape, dtype)
    if rng.random() < 0.5:
        x = np.asfortranarray(x)
    if rng.random() < 0.3:
        x = x[..., ::-1]
    mask = rng.random(shape) < 0.6 if has_mask else None
    values, index = function(x, axis=axis, reverse=reverse, mask=mask, return_indices=True)
    assert index.dtype == np.int64 and index.shape == x.shape
    np.testing.assert_array_equal(values, function(x, axis=axis, reverse=reverse, mask=mask))
    lines = np.moveaxis(x, axis, -1).reshape(-1, shape[axis])
    keeps = (np.moveaxis(mask, axis, -1).reshape(lines.shape) if has_mask
             else np.ones(lines.shape, bool))
    found = np.moveaxis(index, axis, -1).reshape(lines.shape)
    for line, keep, of_line in zip(lines, keeps, found):
        if reverse:
            expected = last_of_equals(ufunc, line[::-1], keep[::-1])
            expected = [k if k < 0 else len(line) - 1 - k for k in expected][::-1]
        else:
            expected = last_of_equals(ufunc, line, keep)
        assert of_line.tolist() == expected


def test_indices_of_nothing_and_of_long_lines():
    values, index = ks.cumulative_max(np.zeros((0, 3)), axis=0, return_indices=True)
    assert values.shape == index.shape == (0, 3)
    x = np.random.default_rng(1).random(300_000).astype(np.float32)
    values, index = ks.cummax(x, 0, return_indices=True)
    np.testing.assert_array_equal(x[index], np.maximum.accumulate(x))
    assert (np.diff(index) >= 0).all()


def test_indices_among_nans_of_any_payload():
    x = np.array([0x3F800000, 0x7FC00001, 0xFFC00000, 0x7F800001, 0x40000000], np.uint32).view(np.float32)
    for function, _ in EXTREMES:
        values, index = function(x, return_indices=True)
        assert index.tolist() == [0, 1, 2, 3, 3]
        assert values[0] == 1 and np.isnan(values[1:]).all()


def test_indices_into_an_array_that_is_given():
    x = np.random.default_rng(2).integers(0, 9, (5, 30)).astype(np.uint8)
    expected = np.maximum.accumulate(x, axis=1)
    for out in (np.empty_like(x), np.empty((5, 60), np.uint8)[:, ::2], x):
        values, index = ks.cumulative_max(x, axis=1, out=out, return_indices=True)
        assert values is out
        np.testing.assert_array_equal(values, expected)
    x = np.arange(3.0)
    with pytest.raises(TypeError, match="out has type float32, but the result has float64"):
        ks.cumulative_max(x, out=np.empty(3, np.float32), return_indices=True)
    with pytest.raises(ValueError, match="out has shape"):
        ks.cumulative_max(x, out=np.empty(4), return_indices=True)


def test_indices_refuse_other_results():
    x = np.arange(3.0)
    for options in ({"exclusive": True}, {"include_initial": True}, {"return_totals": True},
                    {"initial": 2}):
        with pytest.raises(ValueError, match="return_indices=True goes with the inclusive results"):
            ks.cumulative_max(x, return_indices=True, **options)
    with pytest.raises(ValueError, match="leave dtype away"):
        ks.cumulative_max(x, return_indices=True, dtype="float32")
    with pytest.raises(TypeError, match="no order"):
        ks.cumulative_max(x.astype(complex), return_indices=True)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_logsumexp(dtype):
    rng = np.random.default_rng(5)
    x = (10 * rng.normal(size=(4, 50, 3))).astype(dtype)
    x[0, :5] = -np.inf
    x[1, 20, 1] = np.nan
    x[2, 10, 2] = np.inf
    wide = x.astype(np.float64)
    tolerance = 4 * np.finfo(dtype).eps
    with np.errstate(all="ignore"):
        expected = np.logaddexp.accumulate(wide, axis=1)
    np.testing.assert_allclose(ks.cumulative_logsumexp(x, axis=1), expected, tolerance, tolerance)
    np.testing.assert_allclose(ks.logcumsumexp(x[:, ::-1], 1, reverse=True), expected[:, ::-1],
                               tolerance, tolerance)
    # With a start, n+1 results, and a mask.
    start = rng.normal(size=(4, 3)).astype(dtype)
    mask = rng.random(x.shape) < 0.5
    found = ks.cumulative_logsumexp(x, axis=1, initial=start, include_initial=True, mask=mask)
    begun = np.concatenate([start[:, None].astype(np.float64), np.where(mask, wide, -np.inf)], 1)
    with np.errstate(all="ignore"):
        expected = np.logaddexp.accumulate(begun, axis=1)
    np.testing.assert_allclose(found, expected, tolerance, tolerance)
    assert found.dtype == dtype
    empty = ks.cumulative_logsumexp(x, axis=1, exclusive=True)
    assert (empty[:, 0] == -np.inf).all()


def test_logsumexp_of_other_types():
    found = ks.cumulative_logsumexp(np.arange(4))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, np.logaddexp.accumulate(np.arange(4.0)), 1e-15)
    for options in ({"dtype": "int32"}, {"dtype": "complex64"}):
        with pytest.raises(TypeError, match="logarithms of sums need a real floating type"):
            ks.cumulative_logsumexp(np.arange(4.0), **options)


def test_sums_without_nan():
    rng = np.random.default_rng(6)
    for dtype in ("float16", "float32", "float64", "complex64", "int32"):
        x = rng.integers(1, 4, (5, 40)).astype(dtype)
        if x.dtype.kind in "fc":
            x[rng.random(x.shape) < 0.3] = np.nan
        for axis in (0, 1):
            np.testing.assert_allclose(ks.nancumsum(x, axis=axis), np.nancumsum(x, axis=axis), 1e-3)
    x = np.array([2, np.nan, 3])
    np.testing.assert_array_equal(ks.nancumprod(x), np.nancumprod(x))
    np.testing.assert_array_equal(ks.nancumprod(x, reverse=True), [6, 3, 3])
    np.testing.assert_array_equal(ks.nancumsum(x, mask=np.array([False, True, True])), [0, 0, 3])


def loop(a, b, start, reverse):
    """The recurrence along axis 1 in double."""
    n = b.shape[1]
    states = np.empty((b.shape[0], n + 1, b.shape[2]))
    h = states[:, n if reverse else 0] = start
    for k in range(n)[::-1] if reverse else range(n):
        h = a[:, k].astype(np.float64) * h + b[:, k].astype(np.float64)
        states[:, k if reverse else k + 1] = h
    return states


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", [1, 2, 130, 3000])
def test_linear_recurrence(dtype, reverse, n):
    rng = np.random.default_rng(n)
    a = rng.uniform(-1, 1, (3, n, 2)).astype(dtype)
    a[rng.random(a.shape) < 0.05] = 0
    b = rng.normal(size=(3, n, 2)).astype(dtype)
    start = rng.normal(size=(3, 2)).astype(dtype)
    expected = loop(a, b, start.astype(np.float64), reverse)
    # States are computed in double, so double results have more rounding errors.
    tolerance = (16 if dtype == "float64" else 2) * np.finfo(dtype).eps
    found = ks.linear_recurrence(a, b, axis=1, initial=start, reverse=reverse, include_initial=True)
    np.testing.assert_allclose(found, expected, tolerance, tolerance)
    assert found.dtype == dtype
    inner = expected[:, :-1] if reverse else expected[:, 1:]
    found = ks.linear_recurrence(a, b, axis=1, initial=start, reverse=reverse)
    np.testing.assert_allclose(found, inner, tolerance, tolerance)
    # Other strides, no start, one coefficient.
    moved = np.moveaxis(np.moveaxis(b, 1, 0).copy(), 0, 1)[::-1]
    found = ks.linear_recurrence(0.5, moved, axis=1, reverse=reverse)
    full = loop(np.full(b.shape, 0.5, dtype), moved, np.zeros((3, 2)), reverse)
    np.testing.assert_allclose(found, full[:, :-1] if reverse else full[:, 1:], tolerance, tolerance)


def test_recurrence_overflows_only_where_the_loop_does():
    # Products of coefficients exceed the range of double, but states do not.
    a = np.full((1, 2000, 1), 1e30)
    b = np.zeros((1, 2000, 1))
    a[0, 1500] = 0
    b[0, 1500:] = 1e-30
    a[0, 1501:] = 0.5
    found = ks.linear_recurrence(a, b, axis=1)
    np.testing.assert_allclose(found, loop(a, b, np.zeros((1, 1)), False)[:, 1:], 1e-14)


def test_recurrence_refuses():
    b = np.ones((2, 3))
    with pytest.raises(ValueError, match="a has shape .4,., which does not broadcast to .2, 3."):
        ks.linear_recurrence(np.ones(4), b, axis=1)
    with pytest.raises(TypeError, match="a has type float32, but b has float64"):
        ks.linear_recurrence(np.ones(3, np.float32), b, axis=1)
    with pytest.raises(TypeError, match="needs a real floating type, not int64"):
        ks.linear_recurrence(1, np.arange(3))
    with pytest.raises(ValueError, match="initial has shape .3,., but expected is .2,."):
        ks.linear_recurrence(1, b, axis=1, initial=np.ones(3))
    with pytest.raises(ValueError, match="axis must be given"):
        ks.linear_recurrence(1, b)
    with pytest.raises(IndexError, match="axis 2 is out of range"):
        ks.linear_recurrence(1, b, axis=2)


def test_versions():
    header = pathlib.Path(__file__).parents[2] / "include/KokkosScan/version.hpp"
    version = re.search(r"TREE_VERSION (\d+)", header.read_text())[1]
    assert ks.tree_version == int(version)
    assert "Kokkos " in ks.configuration()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_numbers_as_coefficients_keep_their_digits(dtype):
    # 0.9999 is 1 in float16: the states grew without end.
    state = 0.0
    for _ in range(20000):
        state = 0.9999 * state + 1
    found = ks.linear_recurrence(0.9999, np.ones(20000, dtype))
    assert found.dtype == dtype
    np.testing.assert_allclose(found[-1], np.float64(state).astype(dtype), rtol=1e-12)
    assert ks.linear_recurrence(0.9999, np.ones(20000, dtype), reverse=True, include_initial=True)[0] == found[-1]


def test_infinite_states_are_forgotten_and_nan_stays():
    a = np.array([0.5, 0.5, 0.0, 0.5])
    np.testing.assert_array_equal(ks.linear_recurrence(a, np.array([1, np.inf, 1, 1])), [1, np.inf, 1, 1.5])
    np.testing.assert_array_equal(ks.linear_recurrence(a, np.array([1, np.nan, 1, 1])), [1, np.nan, np.nan, np.nan])
