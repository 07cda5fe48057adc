# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A plugin of pytest that runs NumPy's own tests of scans with the functions of kokkos_scan in the place of NumPy's:
``python -m pytest -p numpy_suite --pyargs numpy.lib.tests numpy._core.tests``, as test_numpy_suite.py does."""

import inspect
import re

import numpy as np
import pytest

import kokkos_scan as ks

FUNCTIONS = ["cumsum", "cumprod", "cumulative_sum", "cumulative_prod", "nancumsum", "nancumprod"]
UFUNCS = {"add": ks.cumulative_sum, "multiply": ks.cumulative_prod, "minimum": ks.cumulative_min,
          "maximum": ks.cumulative_max, "logaddexp": ks.cumulative_logsumexp}
#: What differs on purpose, as the table in docs/python.md has it: which tests, and why.
DIFFERS = {
    r"(add|multiply|minimum|maximum|logaddexp)-g\]|test_allnans.*-[gG]-|CumSumProd::test_dtype_from": "no long double",
    r"test_object_array|test_stringdtype|out_dtype_resolution_failure": "no arrays of objects or text",
    r"accumulate_fuzz": "an output that overlaps the input without being it is refused, not copied",
    r"logaddexp-[efd]\]": "logarithms of sums are rounded less often",
    r"test_ufunc_override(?!_reduction_not)": "protocols of what is no array are not called",
    r"matrices_general": "matrices without an axis become arrays of one dimension",
}

calls = 0


def _counted(function):
    def counted(*args, **options):
        global calls
        calls += 1
        return function(*args, **options)

    counted.__name__ = function.__name__
    return counted


class _Ufunc:
    """One of NumPy's whose accumulate() is ours."""

    def __init__(self, ufunc, function):
        self._ufunc, self._function = ufunc, _counted(function)

    def __call__(self, *args, **options):
        return self._ufunc(*args, **options)

    def __getattr__(self, name):
        return getattr(self._ufunc, name)

    def __repr__(self):
        return repr(self._ufunc)

    def accumulate(self, array, axis=0, dtype=None, out=None):
        if isinstance(out, tuple):
            (out,) = out
        return self._function(array, axis=axis, dtype=dtype, out=out)


_ufuncs = {name: _Ufunc(getattr(np, name), function) for name, function in UFUNCS.items()}
_plain = {name: getattr(np, name) for name in UFUNCS}
_USED = re.compile("|".join([rf"\b{name}\b" for name in FUNCTIONS] +
                            [rf"np\.({'|'.join(UFUNCS)})\.accumulate", r"ufunc\.accumulate"]))


def pytest_configure():
    for name in FUNCTIONS:
        setattr(np, name, _counted(getattr(ks, name)))


def pytest_collection_modifyitems(items):
    chosen = []
    for item in items:
        source = inspect.getsource(item.function)
        if "self.nanfuncs" in source:
            source += repr([f.__name__ for f in getattr(item.cls, "nanfuncs", [])])
        if _USED.search(source):
            chosen.append(item)
            for which, reason in DIFFERS.items():
                if re.search(which, item.nodeid):
                    item.add_marker(pytest.mark.xfail(reason=f"on purpose: {reason}", strict=True))
    items[:] = chosen


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    for argument, value in item.funcargs.items():
        for name, ufunc in _plain.items():
            if value is ufunc:
                item.funcargs[argument] = _ufuncs[name]
    for name, ufunc in _ufuncs.items():
        setattr(np, name, ufunc)
    try:
        return (yield)
    finally:
        for name, ufunc in _plain.items():
            setattr(np, name, ufunc)


def pytest_sessionfinish(session):
    print(f"\n{calls} calls of kokkos_scan")
