# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A selective state-space layer (Mamba): its scan, compared with a loop, and a step of training."""

import torch
from torch.nn.functional import softplus

import kokkos_scan.torch as kt


class SelectiveStateSpace(torch.nn.Module):
    """A. Gu, T. Dao, Mamba: linear-time sequence modeling with selective state spaces (arXiv:2312.00752), without
    the convolution and the gate around it."""

    def __init__(self, channels, states=16):
        super().__init__()
        self.log_rates = torch.nn.Parameter(torch.arange(1.0, states + 1).log().repeat(channels, 1))
        self.to_delta = torch.nn.Linear(channels, channels)
        self.to_b_and_c = torch.nn.Linear(channels, 2 * states)
        self.skip = torch.nn.Parameter(torch.ones(channels))

    def forward(self, x, begins=None):
        """x: (batch, steps, channels); begins: (batch, steps), true where another document begins."""
        delta = softplus(self.to_delta(x))
        b, c = self.to_b_and_c(x).chunk(2, -1)
        decay = torch.exp(-delta[..., None] * self.log_rates.exp())  # (batch, steps, channels, states)
        inputs = (delta * x)[..., None] * b[..., None, :]
        reset = None if begins is None else begins[..., None, None]
        h = kt.linear_recurrence(decay, inputs, dim=1, reset=reset)
        return (h * c[..., None, :]).sum(-1) + self.skip * x


def looped(layer, x, begins):
    """The same, step by step."""
    delta = softplus(layer.to_delta(x))
    b, c = layer.to_b_and_c(x).chunk(2, -1)
    h, results = 0, []
    for t in range(x.shape[1]):
        h = torch.where(begins[:, t, None, None], 0, h) if t else 0
        h = torch.exp(-delta[:, t, :, None] * layer.log_rates.exp()) * h + (delta * x)[:, t, :, None] * b[:, t, None]
        results.append((h * c[:, t, None]).sum(-1) + layer.skip * x[:, t])
    return torch.stack(results, 1)


torch.manual_seed(1)
layer = SelectiveStateSpace(channels=8)
x = torch.randn(2, 300, 8)
begins = torch.rand(2, 300) < 0.02
y = layer(x, begins)
torch.testing.assert_close(y, looped(layer, x, begins), rtol=1e-4, atol=1e-4)

optimizer = torch.optim.SGD(layer.parameters(), lr=0.01)
loss = (y - x.roll(1, 1)).square().mean()
loss.backward()
optimizer.step()
print(f"the scan is the loop; loss {loss:.3f}, then {(layer(x, begins) - x.roll(1, 1)).square().mean():.3f}")
