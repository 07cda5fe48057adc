# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reference scans by NumPy, in the widest type, element by element along the axis."""

import numpy as np

UFUNC = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum}
INTEGERS = [f"{u}int{bits}" for u in ("", "u") for bits in (8, 16, 32, 64)]
REALS = ["float16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]


def promoted(dtype, operation):
    """The result type of numpy.cumulative_sum."""
    dtype = np.dtype(dtype)
    if operation in ("min", "max"):
        return dtype
    return np.cumulative_sum(np.zeros(1, dtype)).dtype


def identity(operation, dtype):
    dtype = np.dtype(dtype)
    if operation in ("sum", "prod"):
        return dtype.type(operation == "prod")
    if dtype == np.bool_:
        return dtype.type(operation == "min")
    if dtype.kind in "iu":
        return np.iinfo(dtype).max if operation == "min" else np.iinfo(dtype).min
    return dtype.type(np.inf if operation == "min" else -np.inf)


def wide(dtype):
    return {"f": np.longdouble, "c": np.clongdouble}.get(np.dtype(dtype).kind, dtype)


def scan(operation, x, axis, *, dtype=None, include_initial=False, exclusive=False, reverse=False,
         mask=None, initial=None):
    """(result, totals)"""
    x = np.asarray(x)
    dtype = promoted(x.dtype, operation) if dtype is None else np.dtype(dtype)
    ufunc = UFUNC[operation]
    values = np.moveaxis(x.astype(dtype).astype(wide(dtype)), axis, 0)
    if mask is not None:
        mask = np.moveaxis(np.broadcast_to(mask, x.shape), axis, 0)
    if reverse:
        values = values[::-1]
        mask = None if mask is None else mask[::-1]
    first = identity(operation, dtype) if initial is None else np.asarray(initial).astype(dtype)
    before = np.broadcast_to(first, values.shape[1:]).astype(wide(dtype))
    results = [before]
    with np.errstate(all="ignore"):
        for k, value in enumerate(values):
            after = ufunc(results[-1], value) if k or initial is not None else value
            if mask is not None:
                if k == 0 and initial is None:
                    after = np.where(mask[k], value, before)
                else:
                    after = np.where(mask[k], after, results[-1])
            results.append(after.astype(wide(dtype)))
    total = results[-1]
    if not include_initial:
        results = results[:-1] if exclusive else results[1:]
    result = np.stack(results) if results else np.empty((0, *values.shape[1:]), wide(dtype))
    if reverse:
        result = result[::-1]
    with np.errstate(all="ignore"):
        return np.moveaxis(result.astype(dtype), 0, axis), total.astype(dtype)


def assert_close(found, expected, x=None):
    """Integers must be equal, other values close relative to the sum of magnitudes."""
    found = np.asarray(found)
    assert found.shape == expected.shape, (found.shape, expected.shape)
    assert found.dtype == expected.dtype, (found.dtype, expected.dtype)
    if expected.dtype.kind in "biu":
        np.testing.assert_array_equal(found, expected)
    else:
        # 16 ulp: 8 are promised, and the oracle rounds once.
        rtol = 16 * np.finfo(expected.dtype).eps
        scale = np.abs(x[np.isfinite(x)]).sum() if x is not None and x.size else 1
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(found, expected, rtol=rtol, atol=float(rtol * scale))
