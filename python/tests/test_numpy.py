# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NumPy arrays: comparison with NumPy for random shapes, strides, axes, types and options."""

import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kokkos_scan as ks
import oracle

FUNCTION = {"sum": ks.cumulative_sum, "prod": ks.cumulative_prod, "min": ks.cumulative_min,
            "max": ks.cumulative_max}
ALL = ["bool", *oracle.INTEGERS, *oracle.REALS, *oracle.COMPLEX]


def values(rng, shape, dtype):
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    if dtype.kind == "c":
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    return rng.normal(size=shape).astype(dtype)


@st.composite
def arrays(draw, dtypes=ALL):
    """An array of any strides: a part of a larger one, steps, reversed and permuted axes."""
    rank = draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape = [draw(st.integers(0, 6)) for _ in range(rank)]
    shape[draw(st.integers(0, rank - 1))] = draw(st.sampled_from([0, 1, 2, 5, 17, 65, 300]))
    steps = [draw(st.sampled_from([1, 1, -1, 2, -2])) for _ in range(rank)]
    order = draw(st.permutations(range(rank)))
    base = values(rng, [abs(step) * extent + 1 for step, extent in zip(steps, shape)],
                  draw(st.sampled_from(dtypes)))
    index = tuple(slice(0, abs(step) * extent, abs(step)) for step, extent in zip(steps, shape))
    x = base[index][tuple(slice(None, None, -1 if step < 0 else 1) for step in steps)]
    return x.transpose(order), rng


@given(arrays(), st.sampled_from(sorted(FUNCTION)), st.data())
def test_values(array, operation, data):
    x, rng = array
    if operation in ("min", "max") and x.dtype.kind == "c":
        operation = "sum"
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    form = data.draw(st.sampled_from(["inclusive", "exclusive", "include_initial"]))
    options = {"reverse": data.draw(st.booleans())}
    if form != "inclusive":
        options[form] = True
    if data.draw(st.booleans()):
        options["mask"] = rng.random(x.shape) < 0.6
    dtype = data.draw(st.sampled_from([None, None, *ALL]))
    if dtype is not None:
        kinds = x.dtype.kind + np.dtype(dtype).kind
        # Undefined in C and NumPy, or meaningless.
        real_to_integer = kinds[0] == "f" and kinds[1] in "iu"
        if kinds[0] == "c" != kinds[1] or real_to_integer or (kinds[1] == "c" and operation in (
                "min", "max")):
            dtype = None
    result_type = oracle.promoted(x.dtype, operation) if dtype is None else np.dtype(dtype)
    if dtype is not None:
        options["dtype"] = dtype
    start = data.draw(st.sampled_from(["none", "number", "lines"]))
    lines = np.delete(x.shape, axis)
    if start == "number":
        options["initial"] = values(rng, (), result_type)[()].item()
    elif start == "lines":
        options["initial"] = values(rng, lines, result_type)
    before = x.copy()
    totals = data.draw(st.booleans())
    found = FUNCTION[operation](x, axis=axis, return_totals=totals, **options)
    expected, expected_totals = oracle.scan(operation, x, axis, **options)
    np.testing.assert_array_equal(x, before)  # the input is unchanged
    scale = None
    if operation == "sum":
        scale = np.append(x.astype(result_type).ravel(), options.get("initial", 0))
    if operation == "prod" and result_type.kind in "fc":
        return  # the tolerance is per factor; see test_products
    if totals:
        found, found_totals = found
        oracle.assert_close(found_totals, expected_totals, scale)
    oracle.assert_close(found, expected, scale)


@pytest.mark.parametrize("dtype", [*oracle.REALS, *oracle.COMPLEX])
@pytest.mark.parametrize("exclusive, reverse", list(itertools.product([False, True], repeat=2)))
def test_products(dtype, exclusive, reverse):
    rng = np.random.default_rng(1)
    x = (1 + values(rng, (7, 200), dtype) / 64).astype(dtype)
    mask = rng.random(x.shape) < 0.7
    found, totals = ks.cumulative_prod(x, axis=1, exclusive=exclusive, reverse=reverse, mask=mask,
                                       initial=2, return_totals=True)
    expected, expected_totals = oracle.scan("prod", x, 1, exclusive=exclusive, reverse=reverse,
                                            mask=mask, initial=2)
    eps = np.finfo(dtype).eps
    accumulated = np.finfo("float32").eps if dtype == "float16" else eps
    rtol = 2 * eps + 4 * 200 * accumulated
    np.testing.assert_allclose(found, expected, rtol=rtol)
    np.testing.assert_allclose(totals, expected_totals, rtol=rtol)


@given(arrays(["int8", "int32", "float32", "float64"]), st.integers(0, 3), st.booleans(),
       st.sampled_from(sorted(FUNCTION)))
def test_in_place(array, axis, reverse, operation):
    x, _ = array
    axis %= x.ndim
    with np.errstate(all="ignore"):
        expected, _ = oracle.scan(operation, x, axis, dtype=x.dtype, reverse=reverse)
    out = x
    found = FUNCTION[operation](x, axis=axis, out=out, reverse=reverse)
    assert found is out
    if operation == "sum" or x.dtype.kind == "i":
        oracle.assert_close(out, expected, np.append(expected, x))


def test_out_of_another_array():
    x = np.arange(12, dtype="int32").reshape(3, 4)
    out = np.full((6, 8), -1, "int64")
    part = out[::2, ::-2]
    assert ks.cumulative_sum(x, axis=0, out=part) is part
    np.testing.assert_array_equal(part, np.cumulative_sum(x, axis=0))
    assert (out[1::2] == -1).all() and (out[:, ::2] == -1).all()
    # As in NumPy, out determines the type of the result.
    small = np.empty((3, 4), "int16")
    ks.cumulative_sum(x, axis=1, out=small)
    np.testing.assert_array_equal(small, np.cumulative_sum(x, axis=1, dtype="int16"))


@pytest.mark.parametrize("dtype", ALL)
def test_promotion_is_numpys(dtype):
    x = np.ones(3, dtype)
    for ours, theirs in ((ks.cumulative_sum, np.cumulative_sum),
                         (ks.cumulative_prod, np.cumulative_prod)):
        found = ours(x)
        assert found.dtype == theirs(x).dtype
        np.testing.assert_array_equal(found, theirs(x))
    if np.dtype(dtype).kind != "c":
        assert ks.cumulative_max(x).dtype == x.dtype


@pytest.mark.parametrize("x", [np.float32(3), np.array(3), np.array([4]), np.empty(0),
                               np.empty((0, 3)), np.empty((3, 0)), np.empty((2, 0, 4))])
@pytest.mark.parametrize("include_initial", [False, True])
def test_shapes_as_numpy(x, include_initial):
    for axis in [None] if x.ndim < 2 else range(-x.ndim, x.ndim):
        found = ks.cumulative_sum(x, axis=axis, include_initial=include_initial)
        expected = np.cumulative_sum(x, axis=axis, include_initial=include_initial)
        assert found.shape == expected.shape and found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_axis_may_be_left_out_of_one_only():
    x = np.ones((2, 3))
    with pytest.raises(ValueError, match="axis must be given"):
        ks.cumulative_sum(x)
    with pytest.raises(ValueError):
        np.cumulative_sum(x)


@pytest.mark.parametrize("order", ["C", "F"])
def test_result_lies_in_memory_as_x(order):
    x = np.asarray(np.ones((5, 6, 7), "float32"), order=order)
    assert ks.cumulative_sum(x, axis=1).flags[f"{order}_CONTIGUOUS"]


def test_aliases_take_the_axis_second():
    x = np.array([[3.0, 1.0], [2.0, 4.0]])
    for alias, function in ((ks.cumsum, ks.cumulative_sum), (ks.cumprod, ks.cumulative_prod),
                            (ks.cummin, ks.cumulative_min), (ks.cummax, ks.cumulative_max)):
        np.testing.assert_array_equal(alias(x, 0), function(x, axis=0))
        np.testing.assert_array_equal(alias(x, -1, reverse=True),
                                      function(x, axis=1, reverse=True))


def test_mask_broadcasts_and_hides_nan():
    x = np.array([[1.0, np.nan, 2.0], [3.0, np.inf, 4.0]])
    found = ks.cumulative_sum(x, axis=1, mask=np.array([True, False, True]))
    np.testing.assert_array_equal(found, [[1, 1, 3], [3, 3, 7]])


def test_nan_propagates_in_orders():
    x = np.array([2.0, np.nan, 1.0])
    np.testing.assert_array_equal(ks.cumulative_min(x), [2, np.nan, np.nan])
    np.testing.assert_array_equal(ks.cumulative_max(x), np.maximum.accumulate(x))


def test_bool_results_are_logical():
    x = np.array([True, True, False, True])
    np.testing.assert_array_equal(ks.cumulative_prod(x, dtype=bool), [True, True, False, False])
    np.testing.assert_array_equal(ks.cumulative_sum(~x, dtype=bool), [False, False, True, True])
    np.testing.assert_array_equal(ks.cumulative_min(x, exclusive=True), [True, True, True, False])
    np.testing.assert_array_equal(ks.cumulative_sum(np.array([0, 7]), dtype=bool), [False, True])


def test_every_float16_survives():
    bits = np.arange(2**16, dtype="uint16").view("float16")[:, None]
    found = ks.cumulative_max(bits, axis=1)
    np.testing.assert_array_equal(found, bits)
    nan = np.isnan(bits)
    np.testing.assert_array_equal(ks.cumulative_sum(bits, axis=1, dtype="float32")[~nan],
                                  bits.astype("float32")[~nan])
    # Rounding to float16 as in NumPy, at every number and halfway between neighbours.
    x = np.arange(0, 2**31 - 2**23, 2**11, dtype="uint32").view("float32")[:, None]
    # Rounds once: through float32, a double next to halfway would first be rounded to halfway.
    neighbours = np.arange(0x7c00, dtype="uint16").view("float16").astype("float64")[:, None]
    middle = (neighbours[1:] + neighbours[:-1]) / 2
    for y in (x, -x, np.nextafter(x, 0), np.nextafter(x, np.inf),
              middle, -middle, np.nextafter(middle, 0), np.nextafter(middle, np.inf)):
        with np.errstate(over="ignore"):
            expected = y.astype("float16")
        np.testing.assert_array_equal(ks.cumulative_sum(y, axis=1, dtype="float16").view("uint16"),
                                      expected.view("uint16"))


def test_float16_adds_up_in_float32():
    x = np.ones(5000, "float16")  # in float16, the sum would stop at 2048
    np.testing.assert_array_equal(ks.cumulative_sum(x)[-3:], np.array([4998, 4999, 5000], "float16"))


def test_bfloat16_of_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.array([1, 2, 3.5], ml_dtypes.bfloat16)
    found = ks.cumulative_sum(x)
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found.astype("float32"), [1, 3, 6.5])
    np.testing.assert_array_equal(ks.cumulative_sum(x, dtype="float64"), [1, 3, 6.5])


def test_unusual_memory():
    x = np.arange(5, dtype=">i4")
    np.testing.assert_array_equal(ks.cumulative_sum(x), np.cumulative_sum(x))
    packed = np.zeros(4, np.dtype([("a", "i1"), ("b", "f8")]))
    packed["b"] = [1, 2, 3, 4]
    np.testing.assert_array_equal(ks.cumulative_sum(packed["b"]), [1, 3, 6, 10])
    # Aligned, but between multiples of an element's size.
    between = np.zeros(3, np.dtype([("a", "f8"), ("z", "c16")]))
    between["z"] = [1, 2j, 3]
    np.testing.assert_array_equal(ks.cumulative_sum(between["z"]), [1, 1 + 2j, 4 + 2j])
    unaligned = np.frombuffer(bytes(8 * 3 + 1), "f8", offset=1, count=3)
    np.testing.assert_array_equal(ks.cumulative_sum(unaligned), [0, 0, 0])
    # Outputs as well: results are copied there.
    for out in (packed["b"], np.zeros(4, ">f8"), np.frombuffer(bytearray(8 * 4 + 1), "f8", offset=1, count=4)):
        found, total = ks.cumulative_sum(np.ones(4), out=out, return_totals=True)
        assert found is out and total == 4
        np.testing.assert_array_equal(out, [1, 2, 3, 4])
    swapped = np.arange(4, dtype=">i4")
    assert ks.cumulative_sum(swapped, out=swapped) is swapped and swapped.tolist() == [0, 1, 3, 6]
    read_only = np.ones(3)
    read_only.flags.writeable = False
    np.testing.assert_array_equal(ks.cumulative_sum(read_only), [1, 2, 3])
    assert ks.cumulative_sum(np.ones((1,) * 8), axis=3).shape == (1,) * 8


def test_input_is_not_copied():
    base = np.ones((1000, 2000), "float32")
    mask = np.ones((1000, 2000), bool)
    out = np.empty((1000, 1000))
    tracemalloc.start()
    for x in (base[:, ::2], base[::-1, ::-2], base[:, 1000:]):
        ks.cumulative_sum(x, axis=0, out=out)  # converted to float64 as well
        ks.cumulative_max(x, axis=1, mask=mask[:, :1000], out=out)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < base[:, ::2].nbytes / 10
    # Any strides, including 0: a copy of this array would not fit into memory.
    huge = np.broadcast_to(np.float32(1), (2**30, 2**20))
    assert ks.cumulative_sum(huge[: 2**18, : 2**10 : 2**8], axis=1)[-1].tolist() == [1, 2, 3, 4]


def test_long_lines_of_both_regimes():
    rng = np.random.default_rng(3)
    for shape, axis in (((3, 100_003), 1), ((70_001, 5), 0), ((1, 2**20), 1)):
        x = rng.random(shape, "float32")
        oracle.assert_close(ks.cumulative_sum(x, axis=axis),
                            np.cumulative_sum(x, axis=axis, dtype="float64").astype("float32"), x)
        i = rng.integers(-9, 9, shape, "int32")
        np.testing.assert_array_equal(ks.cumulative_sum(i, axis=axis), np.cumsum(i, axis=axis))
