# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments as NumPy and PyTorch take them: names, missing axes, lists, outputs of another type, times,
numbers at the edge of a type."""

import pathlib
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kokkos_scan as ks
import oracle

SUMS = {"cumsum": np.cumsum, "cumprod": np.cumprod, "nancumsum": np.nancumsum, "nancumprod": np.nancumprod,
        "cumulative_sum": np.cumulative_sum, "cumulative_prod": np.cumulative_prod}
TYPES = ["bool", *oracle.INTEGERS, *oracle.REALS, *oracle.COMPLEX]


def test_version():
    header = pathlib.Path(__file__).parents[2] / "include/KokkosScan/version.hpp"
    assert ks.__version__ == re.search('KOKKOSSCAN_VERSION "([0-9.]+)"', header.read_text())[1]


@given(st.sampled_from(sorted(SUMS)), st.sampled_from(TYPES), st.sampled_from(TYPES), st.data())
def test_out_of_another_type(name, x_type, out_type, data):
    """With and without a dtype. (NumPy combines in the type of both, and converts what comes out.)"""
    kinds = np.dtype(x_type).kind, np.dtype(out_type).kind
    if kinds[0] == "c" != kinds[1]:
        out_type = x_type  # NumPy warns, and drops the imaginary parts
    # Exact in every order and in the smallest of the types.
    halves = np.array(data.draw(st.lists(st.sampled_from([0, 0.5, 1, 1.5]), min_size=1, max_size=6)))
    x = halves.astype(x_type)
    options = {}
    dtype = data.draw(st.sampled_from([None, None, x_type, "float64"]))
    if dtype is not None and not (kinds[0] == "c" and dtype == "float64"):
        options["dtype"] = dtype
    if np.dtype(options.get("dtype", "f8")).kind == "c" and np.dtype(out_type).kind != "c":
        del options["dtype"]
    out, expected = np.full(x.shape, 7).astype(out_type), np.full(x.shape, 7).astype(out_type)
    SUMS[name](x, out=expected, **options)
    assert getattr(ks, name)(x, out=out, **options) is out
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("operation", ["min", "max"])
def test_extremes_into_another_type(operation):
    x = np.array([300, 2, -5, 1.5])
    out, expected = np.zeros(4, "int16"), np.zeros(4, "int16")
    oracle.UFUNC[operation].accumulate(x, out=expected)
    getattr(ks, f"cumulative_{operation}")(x, out=out)
    np.testing.assert_array_equal(out, expected)
    narrow = np.zeros(4, "uint8")
    getattr(ks, f"cumulative_{operation}")(np.array([300, 2, 257, 1]), out=narrow)
    np.testing.assert_array_equal(narrow, oracle.UFUNC[operation].accumulate([300, 2, 257, 1]).astype("uint8"))


def test_out_of_another_type_may_be_the_input():
    x = np.array([[0.5, 0.5], [0.75, 1.5]], "float32")
    expected = np.cumsum(x, axis=1, dtype="float64").astype("float32")
    ks.cumulative_sum(x, axis=1, dtype="float64", out=x)
    np.testing.assert_array_equal(x, expected)
    out = np.zeros(3, "int64")
    ks.cumulative_sum([0.5, 0.5], include_initial=True, out=out, return_totals=True)
    assert out.tolist() == [0, 0, 1]


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "nancumsum", "nancumprod"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_no_axis_flattens(name, order):
    x = np.asarray([[1.0, 2, np.nan], [3, 0.5, 4]], order=order)
    if not name.startswith("nan"):
        x = np.asarray(np.nan_to_num(x, nan=7), order=order)
    np.testing.assert_array_equal(getattr(ks, name)(x), SUMS[name](x))
    np.testing.assert_array_equal(getattr(ks, name)(x, None, "float32"), SUMS[name](x, None, "float32"))
    out = np.zeros(6)
    assert getattr(ks, name)(x, out=out) is out
    np.testing.assert_array_equal(out, SUMS[name](x))
    mask = np.array([True, False, True])
    np.testing.assert_array_equal(getattr(ks, name)(x, mask=mask), getattr(ks, name)(
        x.ravel(), mask=np.tile(mask, 2)))
    np.testing.assert_array_equal(getattr(ks, name)(x[0]), SUMS[name](x[0]))
    np.testing.assert_array_equal(getattr(ks, name)(3), SUMS[name](3))


def test_other_names():
    """That flatten nothing: neither NumPy nor PyTorch has them for arrays so."""
    x = np.ones((2, 3))
    for function in (ks.cummin, ks.cummax, ks.logcumsumexp):
        with pytest.raises(ValueError, match="axis must be given"):
            function(x)
        np.testing.assert_array_equal(function(x[0]), function(x[0], 0))


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummin", "cummax", "logcumsumexp", "nancumsum", "nancumprod"])
def test_names_of_arguments(name):
    x = np.array([[1.0, 2, 3], [6, 5, 4]])
    function = getattr(ks, name)
    expected = function(x, 1)
    for found in (function(x, axis=1), function(x, dim=1), function(a=x, axis=1), function(input=x, dim=-1)):
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(TypeError, match="kokkos_scan: axis and dim are two names of one argument"):
        function(x, 1, dim=1)
    with pytest.raises(TypeError, match="kokkos_scan: x is a NoneType: expected"):
        function()


class Column:
    """As a Series of pandas: no DLPack, no buffer, but an array to NumPy."""

    def __init__(self, values):
        self._values = np.asarray(values)
        self.dtype, self.shape = self._values.dtype, self._values.shape

    def __array__(self, dtype=None, copy=None):
        return self._values


@pytest.mark.parametrize("kind", [list, tuple, Column])
def test_what_numpy_makes_arrays_of(kind):
    x = kind([1, 2, 3])
    np.testing.assert_array_equal(ks.cumulative_sum(x), [1, 3, 6])
    assert ks.cumulative_sum(x).dtype == np.cumulative_sum([1, 2, 3]).dtype
    np.testing.assert_array_equal(ks.cumulative_sum(np.arange(3), mask=kind([True, False, True])), [0, 0, 2])
    np.testing.assert_array_equal(
        ks.cumulative_sum(np.ones((2, 3)), axis=0, initial=kind([1, 2, 3])), [[2, 3, 4], [3, 4, 5]])
    np.testing.assert_array_equal(ks.linear_recurrence(0.5, kind([1.0, 1, 1])), [1, 1.5, 1.75])
    values, where = ks.cumulative_max(x, return_indices=True)
    assert values.tolist() == [1, 2, 3] and where.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(ks.nancumsum(kind([1, np.nan, 2])), [1, 1, 3])
    with pytest.raises(TypeError, match="x has type <U1|x is a (list|tuple)"):
        ks.cumulative_sum(kind(["a", "b"]))


def test_flags_of_other_types():
    x = np.arange(4)
    for true in (1, np.True_, True):
        assert ks.cumulative_sum(x, exclusive=true, reverse=true).tolist() == [6, 5, 3, 0]


def times(data, kind, count):
    ticks = data.draw(st.lists(st.integers(-1000, 1000) | st.just(np.iinfo("i8").min), min_size=count,
                               max_size=count))
    return np.array(ticks, "i8").view(f"{kind}8[s]")


@given(st.data(), st.booleans())
def test_times(data, reverse):
    shape = data.draw(st.sampled_from([(5,), (3, 4), (2, 0), (1, 7)]))
    axis = data.draw(st.integers(0, len(shape) - 1))
    x = times(data, "m", int(np.prod(shape))).reshape(shape)
    if data.draw(st.booleans()):
        x = x.astype(">m8[s]")
    way = np.flip if reverse else lambda array, axis: array
    for name, ufunc in (("sum", np.add), ("min", np.minimum), ("max", np.maximum)):
        found = getattr(ks, f"cumulative_{name}")(x, axis=axis, reverse=reverse)
        expected = way(ufunc.accumulate(way(x, axis), axis=axis), axis)
        assert found.dtype == np.dtype("m8[s]")
        np.testing.assert_array_equal(found, expected)
    found = ks.cumulative_sum(x, axis=axis, include_initial=True)
    np.testing.assert_array_equal(found, np.cumulative_sum(x, axis=axis, include_initial=True))
    np.testing.assert_array_equal(ks.cumsum(x), np.cumsum(x))
    out, expected = (np.zeros(shape, "m8[ms]") for _ in range(2))
    assert ks.cumulative_sum(x, axis=axis, out=out) is out
    np.testing.assert_array_equal(out, np.cumulative_sum(x, axis=axis, out=expected))
    dates = times(data, "M", 6)
    np.testing.assert_array_equal(ks.cumulative_max(dates), np.maximum.accumulate(dates))
    np.testing.assert_array_equal(ks.cumulative_min(dates), np.minimum.accumulate(dates))


def test_times_with_masks_and_starts():
    x = np.array([1, "NaT", 3, 4], "m8[s]")
    mask = np.array([True, False, True, True])
    assert ks.cumulative_sum(x, mask=mask, initial=np.timedelta64(1, "m")).astype(int).tolist() == [61, 61, 64, 68]
    found, total = ks.cumulative_sum(x, exclusive=True, return_totals=True)
    assert np.isnat(found).tolist() == [False, False, True, True] and np.isnat(total)
    assert np.isnat(ks.cumulative_sum(x, mask=mask, initial=np.timedelta64("NaT"))).all()
    for refused in (ks.cumulative_prod, ks.cumulative_logsumexp):
        with pytest.raises(TypeError, match="kokkos_scan: x has type timedelta64"):
            refused(x)
    with pytest.raises(TypeError, match="kokkos_scan: x has type datetime64"):
        ks.cumulative_sum(np.zeros(2, "M8[s]"))
    with pytest.raises(TypeError, match="kokkos_scan: initial has type int64: expected timedelta64"):
        ks.cumulative_sum(x, initial=1)
    with pytest.raises(TypeError, match="does not convert to float64"):
        ks.cumulative_sum(x, dtype=float)


@given(st.sampled_from(oracle.INTEGERS),
       st.integers(-2**70, 2**70) | st.floats() | st.sampled_from([-1, 2**63, 2**64, 0.5, 2.0**63, 2.0**64, -2.0**63]))
def test_integers_that_start(dtype, initial):
    limits = np.iinfo(dtype)
    fits = initial == initial and limits.min <= initial <= limits.max and initial == int(initial)
    for given_as in ("number", "array"):
        start = initial if given_as == "number" else np.asarray(initial)
        if given_as == "array" and start.dtype == object:
            continue  # no type of NumPy holds it
        if fits:
            assert ks.cumulative_sum(np.zeros(1, dtype), dtype=dtype, initial=start)[0] == int(initial)
        else:
            with pytest.raises(ValueError, match=f"kokkos_scan: initial is .*, which {dtype} does not hold"):
                ks.cumulative_sum(np.zeros(1, dtype), dtype=dtype, initial=start)


class Length(np.ndarray):
    """An array with a unit, as those of astropy are; products have none."""

    def __array_finalize__(self, other):
        self.unit = getattr(other, "unit", "m")

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        if ufunc is np.multiply:
            raise TypeError("products of lengths are no lengths")
        result = getattr(ufunc, method)(*(np.asarray(x) for x in inputs), **options)
        result = result.view(Length)
        result.unit = self.unit
        return result


def test_subclasses_of_arrays():
    x = np.array([[1.0, 2], [3, 4]]).view(Length)
    x.unit = "km"
    for found in (ks.cumulative_sum(x, axis=1), ks.cumsum(x), ks.cumulative_max(x, axis=0, reverse=True),
                  *ks.cumulative_sum(x, axis=0, return_totals=True)):
        assert type(found) is Length and found.unit == "km"
    np.testing.assert_array_equal(np.asarray(ks.cumsum(x)), [1, 3, 6, 10])
    with pytest.raises(TypeError, match="products of lengths"):
        ks.cumulative_prod(x, axis=0)
    out = np.zeros((2, 2))
    assert ks.cumulative_sum(x, axis=1, out=out) is out and out[1, 1] == 7
    matrix = np.matrix([[1, 2], [3, 4]])
    found = ks.cumulative_sum(matrix, axis=0)
    assert type(found) is np.matrix and found.tolist() == [[1, 2], [4, 6]]
