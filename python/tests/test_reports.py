# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults that were reported of scans in other libraries, each with its report."""

import threading

import numpy as np
import pytest

import kokkos_scan as ks

INF, NAN = np.inf, np.nan


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_logarithms_of_infinite_sums(dtype):
    """tensorflow/tensorflow#115610, tinygrad/tinygrad#17853: infinities, and only -infinity so far."""
    for x in ([INF, INF, 1, -INF], [1, INF, INF], [-INF, -INF, 0, -INF], [-INF] * 5, [-INF, INF, -INF]):
        x = np.array(x, dtype)
        np.testing.assert_allclose(ks.logcumsumexp(x), np.logaddexp.accumulate(x), rtol=1e-3)
    found = ks.cumulative_logsumexp(np.array([-INF, -INF, 2], dtype), include_initial=True)
    np.testing.assert_array_equal(found, np.array([-INF, -INF, -INF, 2], dtype))


def test_reversed_sums_of_small_values_behind_large_ones():
    """fla-org/flash-linear-attention#1095: the total less what came before."""
    x = np.repeat(np.array([1e8, 1], "float32"), 32)
    found = ks.cumulative_sum(x, reverse=True)
    np.testing.assert_array_equal(found[32:], np.arange(32, 0, -1))
    np.testing.assert_allclose(found[:32], np.cumsum(x[::-1].astype("float64"))[::-1][:32], rtol=1e-6)


@pytest.mark.parametrize("name", ["min", "max"])
def test_extremes_of_views(name):
    """numpy/numpy#15597, pytorch/pytorch#42363: reversed, transposed, expanded and strided."""
    rng = np.random.default_rng(1)
    ufunc = {"min": np.minimum, "max": np.maximum}[name]
    base = rng.integers(0, 10, (10, 12)).astype("float32")
    for x in (base[::-1], base.T, base[:, ::-2], base[1::3, 5], np.broadcast_to(base[0], (4, 12)), base[::-1, ::-1].T):
        for axis in range(x.ndim):
            expected = ufunc.accumulate(x, axis=axis)
            np.testing.assert_array_equal(getattr(ks, f"cumulative_{name}")(x, axis=axis), expected)
            values, where = getattr(ks, f"cumulative_{name}")(x, axis=axis, return_indices=True)
            np.testing.assert_array_equal(values, expected)
            np.testing.assert_array_equal(np.take_along_axis(x, where, axis), expected)
            out = np.full((*x.shape[:-1], 2 * x.shape[-1]), NAN, "float32")[..., ::-2]
            getattr(ks, f"cumulative_{name}")(x, axis=axis, out=out)
            np.testing.assert_array_equal(out, expected)


def test_indices_of_nan():
    """flagos-ai/FlagGems#790: a NaN is the extreme from where it stands."""
    values, where = ks.cummax(np.array([1, NAN, 3, NAN, 2]), return_indices=True)
    np.testing.assert_array_equal(values, [1, NAN, NAN, NAN, NAN])
    assert where[0] == 0 and where[1] == 1 and where[-1] == 3


def test_out_of_wrong_shape_or_kind():
    """numpy/numpy#32545: reads beyond an output, and uninitialised types in the message."""
    for name in ("cumsum", "cumprod", "cummin", "cummax", "cumulative_sum", "nancumsum"):
        for x in (np.arange(5), np.arange(5.0), np.zeros(5, "m8[D]")):
            if x.dtype.kind == "m" and "prod" in name:
                continue
            for out in (np.zeros(3, x.dtype), np.zeros(3), np.zeros((5, 1), x.dtype), np.zeros(6, ">f8")):
                before = out.copy()
                with pytest.raises((ValueError, TypeError), match="^kokkos_scan: |^KokkosScan::"):
                    getattr(ks, name)(x, out=out)
                np.testing.assert_array_equal(out, before)
    with pytest.raises(TypeError, match="^kokkos_scan: x has type"):
        ks.cumsum(np.array(b"1"), dtype="timedelta64[D]", out=np.empty(1))


def test_integers_into_floats():
    """pytorch/pytorch#117623: sums of int16 into an output of float32."""
    x = np.random.default_rng(2).integers(-32768, 32767, (8, 300)).astype("int16")
    out = np.empty(x.shape, "float32")
    ks.cumsum(x, 1, out=out)
    np.testing.assert_allclose(out, np.cumsum(x, 1, out=np.empty(x.shape, "float32")), rtol=1e-5, atol=1)


def test_products_of_negative_values():
    """luminal-ai/luminal#419: products by logarithms."""
    np.testing.assert_array_equal(ks.cumprod(np.array([-1.0, 2, -3, 4, 0, -5])), [-1, -2, 6, 24, 0, -0.0])


def test_chunks_of_float32():
    """pydata/xarray#11262: sums of chunks and of the whole drift apart."""
    x = (1000 * np.random.default_rng(3).random((20, 1500))).astype("float32")
    found = ks.cumsum(x, 1)
    np.testing.assert_allclose(found, np.cumsum(x.astype("float64"), 1), rtol=3e-7)
    carried, parts = None, []
    for part in np.split(x, 3, 1):
        result, carried = ks.cumulative_sum(part, axis=1, initial=carried, return_totals=True)
        parts.append(result)
    np.testing.assert_allclose(np.concatenate(parts, 1), found, rtol=5e-7)


def test_bools_into_bytes():
    """NVIDIA/thrust#701: counts of more than a byte holds."""
    x = np.random.default_rng(4).random(100_000) < 0.5
    np.testing.assert_array_equal(ks.cumsum(x), np.cumsum(x))
    np.testing.assert_array_equal(ks.cumsum(x, dtype="int8"), np.cumsum(x, dtype="int8"))


def test_one_element():
    """nv-legate/cupynumeric#584."""
    for dtype in ("int64", "bool", "float16", "complex64"):
        for function in (ks.cumsum, ks.cumprod):
            assert function(np.zeros(1, dtype)).tolist() == [0]


def test_threads_with_arrays_of_their_own():
    """kokkos/kokkos#9291: scans of several threads at once."""
    failed = []

    def scan(seed):
        x = np.random.default_rng(seed).integers(0, 100, 50_000 + 1000 * seed)
        for _ in range(20):
            if not np.array_equal(ks.cumsum(x), np.cumsum(x)):
                failed.append(seed)

    threads = [threading.Thread(target=scan, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
