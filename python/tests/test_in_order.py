# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scans with in_order=True are bitwise equal to numpy.cumsum, numpy.cumprod and a serial loop."""

import numpy as np
import pytest

import kokkos_scan as ks

FUNCTION = {"sum": ks.cumulative_sum, "prod": ks.cumulative_prod}
CUMULATE = {"sum": np.cumsum, "prod": np.cumprod}
# Operations that NumPy accumulates in the type itself, except products of complex numbers.
CASES = [("float32", "sum"), ("float64", "sum"), ("complex64", "sum"), ("complex128", "sum"),
         ("float32", "prod"), ("float64", "prod")]


def values(rng, shape, dtype):
    x = rng.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.normal(size=shape)
    return x.astype(dtype)


def same_bits(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("dtype,operation", CASES)
def test_equals_numpy(dtype, operation):
    rng = np.random.default_rng(3)
    for _ in range(60):
        shape = rng.integers(1, 50, rng.integers(1, 5))
        if rng.random() < 0.3:
            shape[rng.integers(len(shape))] = 700
        x = values(rng, shape[:3], dtype)
        x = x.transpose(rng.permutation(x.ndim))
        axis = int(rng.integers(x.ndim))
        expected = CUMULATE[operation](x, axis=axis)
        assert same_bits(FUNCTION[operation](x, axis=axis, in_order=True), expected)
        backward = FUNCTION[operation](np.flip(x, axis), axis=axis, in_order=True, reverse=True)
        assert same_bits(np.ascontiguousarray(np.flip(backward, axis)), expected)
        with_initial = FUNCTION[operation](x, axis=axis, in_order=True, include_initial=True)
        # The first result is the identity, but it is not combined with the first element.
        rest = np.moveaxis(with_initial, axis, 0)[1:]
        assert same_bits(np.ascontiguousarray(np.moveaxis(rest, 0, axis)), expected)


def test_masks_starts_and_totals():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(40, 60)).astype("float32")
    x[3, 5] = -0.0
    mask = rng.random(x.shape) < 0.5
    mask[7] = False
    for initial in (None, 0.25, rng.normal(size=40).astype("float32")):
        y, totals = ks.cumulative_sum(x, axis=1, mask=mask, initial=initial, return_totals=True,
                                      in_order=True)
        exists = np.full(40, initial is not None)
        acc = np.full(40, 0 if initial is None else initial, "float32")
        for k in range(60):
            acc = np.where(mask[:, k], np.where(exists, acc + x[:, k], x[:, k]), acc)
            exists |= mask[:, k]
            assert same_bits(np.ascontiguousarray(y[:, k]), acc)
        assert same_bits(totals, acc)


def test_elements_are_converted_before_they_are_combined():
    x = np.random.default_rng(5).normal(size=(30, 90))
    mask = x > -0.5
    y = ks.cumulative_sum(x, axis=0, dtype="float32", in_order=True)
    assert same_bits(y, np.cumsum(x.astype("float32"), axis=0))
    y = ks.cumulative_sum(x, axis=0, dtype="float32", mask=mask, in_order=True)
    expected = ks.cumulative_sum(x.astype("float32"), axis=0, mask=mask, in_order=True)
    assert same_bits(y, expected)


def test_pieces_have_the_same_bits():
    x = np.random.default_rng(6).normal(size=(10, 500)).astype("float32")
    at_once = ks.cumulative_sum(x, axis=1, in_order=True)
    carry, pieces = None, []
    for begin, end in ((0, 1), (1, 300), (300, 500)):
        y, carry = ks.cumulative_sum(x[:, begin:end], axis=1, initial=carry, return_totals=True,
                                     in_order=True)
        pieces.append(y)
    assert same_bits(np.concatenate(pieces, axis=1), at_once)


def test_whole_numbers_and_minima_are_as_always():
    x = np.random.default_rng(7).integers(-50, 50, (20, 30))
    assert same_bits(ks.cumulative_sum(x, axis=0, in_order=True), np.cumsum(x, axis=0))
    assert same_bits(ks.cumulative_min(x, axis=0, in_order=True), np.minimum.accumulate(x, axis=0))


def test_torch():
    torch = pytest.importorskip("torch")
    from kokkos_scan import torch as kt

    x = torch.randn(20, 300, generator=torch.Generator().manual_seed(8))
    expected = np.cumsum(x.numpy(), axis=1)
    assert same_bits(kt.cumsum(x, 1, in_order=True).numpy(), expected)
    assert same_bits(ks.cumulative_sum(x, axis=1, in_order=True).numpy(), expected)
    assert kt.cumsum(torch.tensor(2.0), 0, in_order=True).shape == ()
    with pytest.raises(ValueError):
        kt.cumsum(x, 1, initial=torch.zeros(3), in_order=True)
    # Gradients are those of the default scan.
    for function in (kt.cumsum, kt.cumprod):
        y = x.double().requires_grad_()
        initial = torch.full((20,), 1.25, dtype=torch.float64, requires_grad=True)
        weights = torch.linspace(0.5, 1.5, 300, dtype=torch.float64)
        (function(y[:, :20], 1, initial=initial, in_order=True) * weights[:20]).sum().backward()
        gradients = y.grad.clone(), initial.grad.clone()
        y.grad = initial.grad = None
        (function(y[:, :20], 1, initial=initial) * weights[:20]).sum().backward()
        assert torch.allclose(gradients[0], y.grad) and torch.allclose(gradients[1], initial.grad)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_that_overflow_between(dtype):
    """Every running sum is finite. Out of order, sums of neighbours may not be: docs/accuracy.md says when."""
    rng = np.random.default_rng(5)
    largest = float(np.finfo(dtype).max)
    m = largest * 0.9
    x = np.array([0, m, -m, -m, m, 1], dtype)
    assert same_bits(ks.cumulative_sum(x, in_order=True), np.cumsum(x))
    for n in [*range(1, 40), 1000, 5000]:
        signs = rng.choice([-1.0, 1.0], n)
        # Magnitudes whose sum is in range: nothing overflows.
        x = (signs * rng.random(n) * (largest / n)).astype(dtype)
        assert np.isfinite(ks.cumulative_sum(x)).all()
        # Running sums that are, with steps that together are not.
        sums = rng.choice([-0.9, -0.4, 0.0, 0.4, 0.9], n) * largest
        x = np.diff(sums / 2, prepend=0).astype(dtype)
        with np.errstate(over="ignore"):
            expected = np.cumsum(x)
        assert np.isfinite(expected).all() and same_bits(ks.cumulative_sum(x, in_order=True), expected)
        if dtype == "float32":
            # Sums of two to four neighbours alone count.
            found = ks.cumulative_sum(x.astype("float64"), dtype="float64").astype(dtype)
            quads = np.pad(x.astype("float64"), (0, -n % 4)).reshape(-1, 4)
            parts = [quads[:, i:j].sum(1) for i in range(4) for j in range(i + 2, 5)]
            if max(np.abs(part).max() for part in parts) <= largest:
                np.testing.assert_allclose(ks.cumulative_sum(x), found, rtol=1e-5, atol=largest * 1e-5)
