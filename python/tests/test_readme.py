# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Python code of docs/python.md, whose code blocks are lines of this file, and the examples."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest


def test_arrays():
    import numpy as np
    import kokkos_scan as ks

    x = np.arange(12.0).reshape(3, 4)
    y = ks.cumulative_sum(x, axis=1)                             # as np.cumulative_sum
    y = ks.cumulative_sum(x[:, ::-1], axis=0, reverse=True)      # any strides, no copies
    y, totals = ks.cumulative_prod(x, axis=1, exclusive=True, initial=2, return_totals=True)

    np.testing.assert_array_equal(totals, 2 * x.prod(1))
    np.testing.assert_array_equal(y[:, 0], [2, 2, 2])


def test_torch():
    torch = pytest.importorskip("torch")
    x = torch.rand(4, 100, dtype=torch.double, requires_grad=True)
    expected = torch.cumsum(x.flip(1), 1).flip(1)

    import kokkos_scan.torch as kt

    y = kt.cumsum(x, 1, reverse=True)  # torch.cumsum(x.flip(1), 1).flip(1)

    state, decay = torch.ones(4, dtype=torch.double), 0.5

    h = kt.linear_recurrence(decay, x, 1, initial=state)         # (batch, steps, channels)
    highest, where = kt.cummax(x, 1)

    torch.testing.assert_close(h[:, 1], 0.5 * (0.5 + x[:, 0]) + x[:, 1])
    assert torch.equal(where, torch.cummax(x, 1).indices)
    torch.testing.assert_close(y, expected)
    y.sum().backward()
    np.testing.assert_allclose(x.grad, np.broadcast_to(np.arange(1, 101), (4, 100)))


@pytest.mark.parametrize("name", ["state_space", "ppo_advantage"])
def test_examples(name):
    pytest.importorskip("torch")
    file = pathlib.Path(__file__).parents[1] / "examples" / f"{name}.py"
    process = subprocess.run([sys.executable, file], capture_output=True, text=True, timeout=300)
    assert process.returncode == 0, process.stderr[-2000:]
    assert "is the loop" in process.stdout
