# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bools of any bytes: as NumPy and PyTorch have it, any byte but 0 is true. A mask of an image is 0 and
255, seen as bool without a copy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kokkos_scan as ks
import oracle
import test_numpy

BYTES = [0, 1, 85, 255]


def bools(rng, shape):
    """Bools of any bytes, and the same of bytes 0 and 1."""
    found = rng.choice(np.array(BYTES, np.uint8), shape)
    return found.view(bool), found != 0


@given(test_numpy.arrays(), st.sampled_from(sorted(test_numpy.FUNCTION)), st.data())
def test_masks(array, operation, data):
    x, rng = array
    if operation in ("min", "max") and x.dtype.kind == "c":
        operation = "sum"
    axis = data.draw(st.integers(0, x.ndim - 1))
    options = {name: data.draw(st.booleans()) for name in ("exclusive", "reverse", "in_order")}
    if data.draw(st.booleans()):
        options["dtype"] = oracle.promoted(x.dtype, operation)
    if data.draw(st.booleans()):
        options["initial"] = np.ones(np.delete(x.shape, axis),
                                     options.get("dtype", oracle.promoted(x.dtype, operation)))
    mask, same = bools(rng, x.shape)
    function = test_numpy.FUNCTION[operation]
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(function(x, axis=axis, mask=mask, **options),
                                      function(x, axis=axis, mask=same, **options))


@pytest.mark.parametrize("shape", [(7, 501), (501, 7), (3000, 1), (1, 3000), (40, 200), (100, 3),
                                   (20000, 2)])
@pytest.mark.parametrize("dtype", [*oracle.INTEGERS, *oracle.REALS, *oracle.COMPLEX])
def test_masks_of_all_kernels(shape, dtype):
    rng = np.random.default_rng(0)
    x = rng.integers(1, 4, shape).astype(dtype)
    mask, same = bools(rng, shape)
    for axis in (0, 1):
        for in_order in (False, True):
            np.testing.assert_array_equal(
                ks.cumulative_sum(x, axis=axis, mask=mask, in_order=in_order),
                ks.cumulative_sum(x, axis=axis, mask=same, in_order=in_order))
    if not np.iscomplexobj(x):
        values, where = ks.cumulative_max(x, axis=1, mask=mask, return_indices=True)
        of_same, where_of_same = ks.cumulative_max(x, axis=1, mask=same, return_indices=True)
        np.testing.assert_array_equal(values, of_same)
        np.testing.assert_array_equal(where, where_of_same)


@given(st.integers(0, 2**32), st.sampled_from(sorted(test_numpy.FUNCTION)),
       st.sampled_from([None, "bool", *oracle.INTEGERS, *oracle.REALS, *oracle.COMPLEX]), st.data())
def test_values(seed, operation, dtype, data):
    """Bools count as 0 and 1, and results that are bools have these bytes."""
    if operation in ("min", "max") and dtype in oracle.COMPLEX:
        dtype = None
    rng = np.random.default_rng(seed)
    x, same = bools(rng, (3, data.draw(st.integers(0, 300))))
    options = {name: data.draw(st.booleans()) for name in ("exclusive", "reverse")}
    result_type = oracle.promoted(x.dtype, operation) if dtype is None else dtype
    if result_type == "bool" and data.draw(st.booleans()):
        options["initial"] = bools(rng, 3)[0]
    if data.draw(st.booleans()):
        options["mask"] = bools(rng, x.shape)[0]
    found = test_numpy.FUNCTION[operation](x, axis=1, dtype=dtype, **options)
    expected, _ = oracle.scan(operation, same, 1, dtype=dtype, **options)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    if found.dtype == bool:
        assert (found.view(np.uint8) <= 1).all()


def test_values_with_indices():
    rng = np.random.default_rng(4)
    for function in (ks.cumulative_min, ks.cumulative_max):
        x, same = bools(rng, (9, 70))
        for axis in (0, 1):
            for options in ({}, {"mask": bools(rng, x.shape)[0]}):
                values, where = function(x, axis=axis, return_indices=True, **options)
                of_same, where_of_same = function(same, axis=axis, return_indices=True, **options)
                np.testing.assert_array_equal(values.view(np.uint8), of_same.view(np.uint8))
                np.testing.assert_array_equal(where, where_of_same)


def test_tensors():
    torch = pytest.importorskip("torch")
    kt = pytest.importorskip("kokkos_scan.torch")
    rng = np.random.default_rng(5)
    for shape in ((7, 501), (501, 7), (20, 3)):
        mask, same = (torch.from_numpy(m) for m in bools(rng, shape))
        for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64,
                      torch.complex128, torch.int32):
            x = torch.from_numpy(rng.integers(1, 4, shape)).to(dtype)
            for dim in (0, 1):
                assert torch.equal(kt.cumsum(x, dim, mask=mask), kt.cumsum(x, dim, mask=same))
                assert torch.equal(kt.cumsum(x, dim, mask=mask, in_order=True),
                                   kt.cumsum(x, dim, mask=same))
                if dtype in (torch.float32, torch.float64, torch.complex64):
                    gradients = []
                    for m in (mask, same):
                        leaf = x.clone().requires_grad_()
                        kt.cumprod(leaf / 2, dim, mask=m).abs().sum().backward()
                        gradients.append(leaf.grad)
                    torch.testing.assert_close(*gradients, equal_nan=True)
        for function, theirs in ((kt.cumsum, torch.cumsum), (kt.cumprod, torch.cumprod)):
            assert torch.equal(function(mask, 1), theirs(same, 1))
        for function, theirs in ((kt.cummax, torch.cummax), (kt.cummin, torch.cummin)):
            found, expected = function(mask, 1, return_indices=True), theirs(same, 1)
            assert all(map(torch.equal, found, expected))
