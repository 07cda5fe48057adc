# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cumulative sums, products, minima and maxima of arrays along any axis, each in one pass.

The functions take whatever speaks DLPack or the buffer protocol (NumPy, CuPy, PyTorch and JAX arrays
among others), of any strides and without copying it, and answer with an array of the same kind on
the same device. Lists, Series and all else of which numpy.asarray makes an array of numbers become one. They follow numpy.cumulative_sum, and fuse what one would compose around it:

>>> import numpy as np, kokkos_scan
>>> kokkos_scan.cumulative_sum(np.array([1, 2, 3]), reverse=True)
array([6, 5, 3])

kokkos_scan.torch has differentiable operators and modules for PyTorch.
"""

from ._core import configuration, tree_version
from ._functions import (
    compact,
    cummax,
    cummin,
    cumprod,
    cumsum,
    cumulative_logsumexp,
    cumulative_max,
    cumulative_min,
    cumulative_prod,
    cumulative_sum,
    discounted_sum,
    gae,
    lambda_return,
    linear_recurrence,
    logcumsumexp,
    nancumprod,
    nancumsum,
    vtrace,
)

#: The version of the package, which is that of the library it was built from.
__version__ = configuration().split(",")[0].split()[-1]

__all__ = [
    "__version__",
    "compact",
    "configuration",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "cumulative_logsumexp",
    "cumulative_max",
    "cumulative_min",
    "cumulative_prod",
    "cumulative_sum",
    "discounted_sum",
    "gae",
    "lambda_return",
    "linear_recurrence",
    "logcumsumexp",
    "nancumprod",
    "nancumsum",
    "tree_version",
    "vtrace",
]
