# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a mask keeps, of arrays and of tensors, beside NumPy's and PyTorch's indexing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kokkos_scan as ks
import test_bytes
import test_numpy


def of_lines(x, mask, axis, fill):
    """(values, indices, counts), line by line."""
    x, mask = np.moveaxis(x, axis, -1), np.moveaxis(mask, axis, -1)
    values, index = np.full(x.shape, fill).astype(x.dtype), np.full(x.shape, -1)
    for line in np.ndindex(x.shape[:-1]):
        kept = np.flatnonzero(mask[line])
        values[line][:kept.size] = x[line][kept]
        index[line][:kept.size] = kept
    return np.moveaxis(values, -1, axis), np.moveaxis(index, -1, axis), np.count_nonzero(mask, -1)


@given(test_numpy.arrays(), st.data())
def test_values(array, data):
    x, rng = array
    mask, same = test_bytes.bools(rng, x.shape)
    np.testing.assert_array_equal(ks.compact(x, mask), x[same])
    values, index = ks.compact(x, mask, return_indices=True)
    assert values.dtype == x.dtype and index.dtype == np.int64
    np.testing.assert_array_equal(values, x[same])
    np.testing.assert_array_equal(index, np.flatnonzero(same))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    expected = of_lines(x, same, axis, 1)
    found = ks.compact(x, mask, axis=axis, return_indices=True, fill_value=1)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b, strict=a.dtype == x.dtype)
    values, counts = ks.compact(x, mask, axis=axis)
    np.testing.assert_array_equal(values, of_lines(x, same, axis, 0)[0])
    np.testing.assert_array_equal(counts, expected[2])


def test_long_lines():
    rng = np.random.default_rng(1)
    x = rng.random(1_000_003)
    for density in (0, 0.01, 0.7, 1):
        mask = rng.random(x.size) < density
        np.testing.assert_array_equal(ks.compact(x, mask), x[mask])
    # A few of many do not keep all memory.
    few = ks.compact(x, x < 1e-3)
    assert few.base is None or few.base.size == few.size


def test_what_is_taken_and_what_is_not():
    np.testing.assert_array_equal(ks.compact([1, 2, 3], [True, False, True]), [1, 3])
    np.testing.assert_array_equal(ks.compact(np.arange(6).reshape(2, 3), [True, False, True]), [0, 2, 3, 5])
    np.testing.assert_array_equal(ks.compact(5, True), [5])
    x = np.ones((2, 3))
    for kind, call, sentence in [
            (TypeError, lambda: ks.compact(x, np.ones((2, 3))), "mask has type float64: expected bool"),
            (ValueError, lambda: ks.compact(x, np.ones(2, bool)), "mask has shape"),
            (TypeError, lambda: ks.compact("text", True), "x is a str: expected an array"),
            (IndexError, lambda: ks.compact(x, x > 0, axis=2), "axis 2 is out of range"),
            (TypeError, lambda: ks.compact(x, x > 0, axis=0, fill_value="0"), "fill_value is a str"),
            (TypeError, lambda: ks.compact(x, x > 0, return_indices="no"), "return_indices is a str"),
            (TypeError, lambda: ks.compact(np.array(["a"]), [True]), "x has type <U1")]:
        with pytest.raises(kind, match="kokkos_scan: " + sentence):
            call()


def test_tensors():
    torch = pytest.importorskip("torch")
    kt = pytest.importorskip("kokkos_scan.torch")
    rng = np.random.default_rng(2)
    for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.int8, torch.complex128, torch.bool):
        for shape in ((), (7,), (4, 0), (5, 6), (3, 4, 300)):
            x = torch.from_numpy(np.asarray(rng.integers(-9, 9, shape), float)).to(dtype)
            mask = torch.from_numpy(np.asarray(rng.random(shape) < 0.5))
            assert torch.equal(kt.compact(x, mask), torch.masked_select(x, mask))
            assert torch.equal(ks.compact(x, mask), torch.masked_select(x, mask))
            values, index = kt.compact(x, mask, return_indices=True)
            assert torch.equal(x.reshape(-1)[index], values)
            for dim in range(len(shape)):
                found = kt.compact(x, mask, dim=dim, return_indices=True)
                as_floats = x.to(torch.complex128).numpy()
                expected = of_lines(as_floats, mask.numpy(), dim, 0)
                for a, b in zip(found, expected, strict=True):
                    np.testing.assert_array_equal(a.to(torch.complex128).numpy(), b)
    x = torch.randn(4, 50, dtype=torch.float64, requires_grad=True)
    mask = torch.rand(4, 50) < 0.5
    weight = torch.randn(4, 50, dtype=torch.float64)
    (kt.compact(x, mask) * weight.reshape(-1)[:int(mask.sum())]).sum().backward()
    expected = torch.zeros_like(weight)
    expected[mask] = weight.reshape(-1)[:int(mask.sum())]
    assert torch.equal(x.grad, expected)
    assert torch.autograd.gradcheck(lambda x: kt.compact(x, mask, dim=0)[0], x)
    for kind, call, sentence in [
            (TypeError, lambda: kt.compact([1], mask), "x is a list: expected a Tensor"),
            (TypeError, lambda: kt.compact(x, x), "mask has type torch.float64: expected bool"),
            (ValueError, lambda: kt.compact(x, mask[:, :3]), "mask has shape"),
            (TypeError, lambda: kt.compact(x, mask, dim=1.0), "dim is a float"),
            (TypeError, lambda: kt.compact(x, mask, dim=0, fill_value="0"), "fill_value is a str")]:
        with pytest.raises(kind, match="kokkos_scan: " + sentence):
            call()
