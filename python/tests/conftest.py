# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os

import hypothesis
import pytest

# JAX takes three quarters of a GPU's memory for itself otherwise, and tests may run side by side.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

# The same examples in every run, so that a failure is caused by a change.
hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None,
                                     max_examples=int(os.environ.get("KOKKOS_SCAN_EXAMPLES", 400)),
                                     suppress_health_check=list(hypothesis.HealthCheck))
hypothesis.settings.load_profile("repeatable")


def pytest_configure(config):
    config.addinivalue_line("markers", "cuda: needs a CUDA device")


def has_cuda():
    import kokkos_scan._core

    try:
        import torch
    except ImportError:
        return False
    return kokkos_scan._core.has_cuda() and torch.cuda.is_available()


def pytest_collection_modifyitems(items):
    skipped = None
    for item in items:
        if item.get_closest_marker("cuda"):
            if skipped is None:
                skipped = False if has_cuda() else pytest.mark.skip(reason="no CUDA device")
            if skipped:
                item.add_marker(skipped)
