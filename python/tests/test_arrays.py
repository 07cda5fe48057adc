# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of other libraries: results have the kind of the input."""

import array
import sys

import numpy as np
import pytest

import kokkos_scan as ks


@pytest.mark.parametrize("x", [array.array("d", [1, 2, 3]), memoryview(np.array([1.0, 2.0, 3.0])),
                               memoryview(np.array([[1.0, 2.0, 3.0]]).T)[:, 0]
                               if sys.version_info >= (3, 99) else memoryview(np.arange(1.0, 4.0))])
def test_buffer_protocol(x):
    found = ks.cumulative_sum(x)
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, [1, 3, 6])


def test_bytes_are_unsigned_integers():
    found = ks.cumulative_sum(b"\xff\x01")
    assert found.dtype == np.uint64 and found.tolist() == [255, 256]


class OnlyDlpack:
    """An array that supports only DLPack."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()

    def __array_namespace__(self, api_version=None):
        class Namespace:
            @staticmethod
            def from_dlpack(x):
                return OnlyDlpack(np.from_dlpack(x))

        return Namespace


def test_any_dlpack_array():
    base = np.arange(24, dtype="int32").reshape(4, 6)
    x = OnlyDlpack(base[::-1, ::2])
    found, totals = ks.cumulative_sum(x, axis=0, mask=OnlyDlpack(base[::-1, ::2] % 3 > 0),
                                      initial=OnlyDlpack(np.array([1, 2, 3])), return_totals=True)
    assert isinstance(found, OnlyDlpack) and isinstance(totals, OnlyDlpack)
    x = base[::-1, ::2]
    expected = np.cumsum(np.where(x % 3 > 0, x, 0), 0) + [1, 2, 3]
    np.testing.assert_array_equal(found.values, expected)
    np.testing.assert_array_equal(totals.values, expected[-1])


def test_capsules_are_taken_once():
    # Like arrays of CUDA devices: each capsule can be consumed once.
    from kokkos_scan import _core

    grad, x = np.array([[1.0, 2, 3], [4, 5, 6]]), np.array([[1.0, 3, 2], [0, 1, 0.5]])
    out = np.full_like(x, np.nan)
    result = np.maximum.accumulate(x, 1)
    maximum = 3
    _core.gradient(maximum, grad.__dlpack__(), x.__dlpack__(), result.__dlpack__(), out,
                   np.empty_like(x), 1, False, False, None, None, np.empty(2), 0)
    np.testing.assert_array_equal(out, [[1, 5, 0], [4, 11, 0]])
    given_on, shape, code = _core.imported(x.__dlpack__(), "x")
    assert shape == (2, 3) and _core.dtype_names[code] == "float64"
    np.testing.assert_array_equal(np.from_dlpack(given_on), x)


def test_array_api_strict():
    xp = pytest.importorskip("array_api_strict")
    x = xp.asarray([[1, 2], [3, 4]])
    found = ks.cumulative_sum(x, axis=1, include_initial=True)
    assert type(found) is type(x)
    np.testing.assert_array_equal(np.from_dlpack(found), [[0, 1, 3], [0, 3, 7]])


def test_jax():
    jax = pytest.importorskip("jax")
    jnp = jax.numpy
    x = jnp.arange(12.0, dtype="float32").reshape(3, 4)
    found = ks.cumulative_sum(x, axis=1, reverse=True)
    assert isinstance(found, jax.Array) and found.devices() == x.devices()
    np.testing.assert_array_equal(found, jnp.cumsum(x[:, ::-1], 1)[:, ::-1])
    half = ks.cumulative_prod(x.astype(jnp.bfloat16), axis=0)
    assert half.dtype == jnp.bfloat16
    with pytest.raises((TypeError, ValueError)):
        ks.cumulative_sum(x, axis=1, out=jnp.zeros((3, 4)))  # immutable


class Labelled:
    """As an array of xarray: its __array_wrap__ gives results its labels."""

    def __init__(self, values):
        self.values, self.shape, self.ndim = values, values.shape, values.ndim

    def __array__(self, dtype=None, copy=None):
        return self.values

    def __array_wrap__(self, array, context=None, return_scalar=False):
        return Labelled(array)


def test_labels_stay():
    x = Labelled(np.array([[1.0, 2, 3], [4, 5, 6]]))
    for found in (ks.cumsum(x, 1), ks.cumulative_max(x, axis=0), ks.nancumsum(x, 0)):
        assert type(found) is Labelled and found.shape == (2, 3)
    np.testing.assert_array_equal(ks.cumsum(x, 1).values, [[1, 3, 6], [4, 9, 15]])
    for found in (ks.cumulative_sum(x, axis=1, include_initial=True), ks.cumsum(x)):
        assert type(found) is np.ndarray  # of another shape, as NumPy's are
    out = np.zeros((2, 3))
    assert ks.cumsum(x, 1, out=out) is out


def test_pandas():
    pandas = pytest.importorskip("pandas")
    series = pandas.Series([1.0, np.nan, 3], index=["a", "b", "c"], name="n")
    pandas.testing.assert_series_equal(ks.cumsum(series), pandas.Series([1, np.nan, np.nan], series.index, name="n"))
    pandas.testing.assert_series_equal(ks.nancumsum(series), pandas.Series([1.0, 1, 4], series.index, name="n"))
    frame = pandas.DataFrame({"u": [1.0, 2], "v": [3.5, 4]}, index=[7, 8])
    for axis in (0, 1):
        pandas.testing.assert_frame_equal(ks.cumsum(frame, axis), frame.cumsum(axis=axis))
        pandas.testing.assert_frame_equal(ks.cumulative_prod(frame, axis=axis), frame.cumprod(axis=axis))
    assert type(ks.cumulative_sum(series, include_initial=True)) is np.ndarray
    with pytest.raises(TypeError, match="kokkos_scan: x is a DataFrame"):
        ks.cumsum(pandas.DataFrame({"u": [1], "t": ["text"]}), 0)


def test_xarray():
    xarray = pytest.importorskip("xarray")
    x = xarray.DataArray([[1.0, 2], [3, 4]], dims=("t", "x"), coords={"t": [5, 6]})
    xarray.testing.assert_equal(ks.cumsum(x, 0), x.cumsum("t").assign_coords(t=[5, 6]))


def test_dask():
    dask = pytest.importorskip("dask.array")
    np.testing.assert_array_equal(ks.cumsum(dask.arange(10, chunks=3)), np.cumsum(np.arange(10)))


@pytest.mark.parametrize("x", ["text", None, ["text"], {1: 2}, object(), [[1], [2, 3]], iter([1])])
def test_what_is_no_array(x):
    with pytest.raises(TypeError, match="expected an array that speaks DLPack or the buffer"):
        ks.cumulative_sum(x)
