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
    (TypeError, dict(axis=0, mask=[True]), "mask is a list, but x is a numpy array."),
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
    (TypeError, dict(axis=0, out=np.zeros((2, 3)), dtype="float32"),
     "out has type float64, but the result has float32."),
]


@pytest.mark.parametrize("kind, options, sentence", SENTENCES)
@pytest.mark.parametrize("function", [ks.cumulative_sum, ks.cumulative_max])
def test_sentences(function, kind, options, sentence):
    out = options.get("out")
    if out is not None:
        out[...] = 7
    with pytest.raises(kind) as error:
        function(X, **options)
    assert sentence in str(error.value)
    assert out is None or (out == 7).all()


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
