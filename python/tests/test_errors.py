# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors: type, message, and that nothing is written."""

import numpy as np
import pytest

import kokkos_scan as ks

X = np.arange(6.0).reshape(2, 3)
SENTENCES = [
    (IndexError, dict(axis=2), "axis 2 is out of range for x of rank 2: allowed are -2 to 1."),
    (IndexError, dict(axis=-3), "axis -3 is out of range for x of rank 2: allowed are -2 to 1."),
    (TypeError, dict(axis=1.0), "axis is a float: expected an int."),
    (ValueError, dict(), "x has 2 dimensions: axis must be given."),
    (ValueError, dict(axis=0, exclusive=True, include_initial=True),
     "exclusive=True and include_initial=True say different things of the result's shape: choose one."),
    (TypeError, dict(axis=0, dtype="datetime64[s]"),
     "the result has type datetime64[s]: expected one of bool, int8,"),
    (TypeError, dict(axis=0, mask=np.ones((2, 3))), "mask has type float64: expected bool."),
    (TypeError, dict(axis=0, mask=[1, 0, 1]), "mask has type int64: expected bool."),
    (TypeError, dict(axis=0, mask="yes"), "mask is a str: expected an array that speaks DLPack or"),
    (TypeError, dict(axis=0, dtype="float17"), "dtype is 'float17': expected one of bool, int8,"),
    (TypeError, dict(axis=0, out=[0.0]), "out is a list, but x is a numpy array."),
    (TypeError, dict(axis=0, reverse="yes"), "reverse is a str: expected a bool."),
    (TypeError, dict(axis=0, exclusive=None), "exclusive is a NoneType: expected a bool."),
    (TypeError, dict(axis=0, include_initial=[]), "include_initial is a list: expected a bool."),
    (TypeError, dict(axis=0, return_totals="no"), "return_totals is a str: expected a bool."),
    (TypeError, dict(axis=0, in_order=1.0), "in_order is a float: expected a bool."),
    (ValueError, dict(axis=0, mask=np.ones((3, 2), bool)),
     "mask has shape (3, 2), which does not broadcast to (2, 3), the shape of x."),
    (ValueError, dict(axis=0, initial=np.ones(2)),
     "initial has shape (2,), but expected is (3,), the shape of x without the axis."),
    (TypeError, dict(axis=0, initial="1"), "initial is a str: expected a number or a numpy array."),
    (TypeError, dict(axis=0, initial=1j),
     "the initial value is complex, but the result has type float64."),
    (TypeError, dict(axis=0, initial=np.array([1j, 2, 3])),
     "the initial value is complex, but the result has type float64."),
    (ValueError, dict(axis=0, out=np.zeros((2, 4))), "out has shape (2, 4), but expected is (2, 3)."),
    (ValueError, dict(axis=1, include_initial=True, out=np.zeros((2, 3))),
     "out has shape (2, 3), but expected is (2, 4)."),
    (ValueError, dict(axis=0, out=np.zeros((2, 4)), dtype="float32"),
     "out has shape (2, 4), but expected is (2, 3)."),
    (TypeError, dict(axis=0, out=np.zeros((2, 3), "M8[s]")), "out has type datetime64[s]: expected one of"),
    (ValueError, dict(axis=0, dtype="uint8", initial=-1), "initial is -1, which uint8 does not hold."),
    (ValueError, dict(axis=0, dtype="int64", initial=2**64 + 5),
     "initial is 18446744073709551621, which int64 does not hold."),
    (ValueError, dict(axis=0, dtype="int64", initial=0.5), "initial is 0.5, which int64 does not hold."),
    (ValueError, dict(axis=0, dtype="int64", initial=float("nan")), "initial is nan, which int64 does not"),
    (ValueError, dict(axis=0, dtype="int64", initial=1e30), "initial is 1e+30, which int64 does not hold."),
    (ValueError, dict(axis=0, dtype="uint64", initial=float("inf")), "initial is inf, which uint64 does not"),
    (ValueError, dict(axis=0, initial=10**400), ", which float64 does not hold."),
    (ValueError, dict(axis=0, dtype="uint8", initial=np.array([1, 2, 300])),
     "initial is 300, which uint8 does not hold."),
    (ValueError, dict(axis=0, dtype="int64", initial=np.array([1, 2.5, 3])),
     "initial is 2.5, which int64 does not hold."),
    (ValueError, dict(axis=0, dtype="uint64", initial=np.int64(-1)), "initial is -1, which uint64 does not"),
    (TypeError, dict(axis=0, initial=["a", "b", "c"]), "initial is a list: expected an array that speaks"),
]


@pytest.mark.parametrize("kind, options, sentence", SENTENCES)
@pytest.mark.parametrize("function", [ks.cumulative_sum, ks.cumulative_max])
def test_sentences(function, kind, options, sentence):
    out = options.get("out")
    before = np.array(out)
    with pytest.raises(kind) as error:
        function(X, **options)
    assert sentence in str(error.value)
    np.testing.assert_array_equal(np.array(out), before)


def test_types_of_x():
    for dtype in ("datetime64[s]", "U3", object, "longdouble"):
        with pytest.raises(TypeError, match="x has type"):
            ks.cumulative_sum(np.zeros(2, dtype))
    with pytest.raises(TypeError, match="complex values do not convert to float32"):
        ks.cumulative_sum(np.ones(2, "complex64"), dtype="float32")
    with pytest.raises(TypeError, match="complex values have no order"):
        ks.cumulative_max(np.ones(2, "complex64"))
    with pytest.raises(TypeError, match="masked array: give its data as x and ~x.mask as mask"):
        ks.cumulative_sum(np.ma.array([1, 2], mask=[True, False]))
    with pytest.raises(ValueError, match="x has 9 dimensions: allowed are 1 to 8"):
        ks.cumulative_sum(np.ones((1,) * 9), axis=0)


def test_read_only_out():
    out = np.zeros(3)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="out is read-only"):
        ks.cumulative_sum(np.ones(3), out=out)


OVERLAP = "out and x overlap in memory without being the same elements|x and out overlap in memory"


@pytest.mark.parametrize("options", [{}, {"dtype": "float64"}, {"initial": 3}])
def test_overlaps(options):
    for dtype in ("float64", "int64"):
        base = np.ones(10, dtype)
        options["dtype"] = dtype
        with pytest.raises(ValueError, match=OVERLAP):
            ks.cumulative_sum(base[:-1], out=base[1:], **options)
        assert (base == 1).all()
    # Converted before the scan.
    base = np.ones(10, "int64")
    with pytest.raises(ValueError, match=OVERLAP):
        ks.cumulative_sum(base[:-1], out=base.view("float64")[1:])
    assert (base == 1).all()
    mask = np.ones(8, bool)
    with pytest.raises(ValueError, match="mask and out overlap"):
        ks.cumulative_max(np.ones(8, "int8"), mask=mask, out=mask.view("int8")[::-1])
    with pytest.raises(ValueError, match="two elements of out share memory"):
        ks.cumulative_sum(np.ones(3), out=np.lib.stride_tricks.as_strided(np.ones(1), (3,), (0,)))


def test_an_error_leaves_the_package_usable():
    with pytest.raises(IndexError):
        ks.cumulative_sum(X, axis=7)
    np.testing.assert_array_equal(ks.cumulative_sum(X, axis=0), np.cumsum(X, 0))


@pytest.mark.parametrize("function", [getattr(ks, name) for name in ks.__all__ if name.startswith(("cum", "nan", "log"))] +
                         [lambda x, **options: ks.linear_recurrence(0.5, x, **options),
                          lambda x, **options: ks.compact(x, x > 0, **options)])
def test_unknown_arguments(function):
    with pytest.raises(TypeError, match=r"^kokkos_scan: \w+ has no argument keepdims: it has axis, .*\.$"):
        function(np.ones(3), keepdims=True)
