# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The loss of proximal policy optimisation (PPO) of a batch of steps, with advantages from one kernel."""

import torch

import kokkos_scan.torch as kt

torch.manual_seed(1)
steps, environments = 128, 64
policy, critic = torch.nn.Linear(4, 2), torch.nn.Linear(4, 1)

# What was collected: observations, also of the state behind the last step, actions, rewards, ends of episodes.
observations = torch.randn(steps + 1, environments, 4)
with torch.no_grad():
    actors = torch.distributions.Categorical(logits=policy(observations[:-1]))
    actions = actors.sample()
    old_log_prob = actors.log_prob(actions)
    values = critic(observations)[..., 0]
rewards = observations[:-1, :, 0] * (2 * actions - 1)
done = torch.rand(steps, environments) < 0.02

advantages, returns = kt.gae(rewards, values[:-1], values[-1], done, gamma=0.99, lam=0.95)
advantages = (advantages - advantages.mean()) / advantages.std()

log_prob = torch.distributions.Categorical(logits=policy(observations[:-1])).log_prob(actions)
ratio = (log_prob - old_log_prob).exp()
loss = -torch.min(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages).mean()
loss = loss + 0.5 * (critic(observations[:-1])[..., 0] - returns).square().mean()
loss.backward()

# The loop that everybody writes.
advantage, expected = torch.zeros(environments), []
for t in reversed(range(steps)):
    goes_on = 1 - done[t].float()
    delta = rewards[t] + 0.99 * goes_on * values[t + 1] - values[t]
    advantage = delta + 0.99 * 0.95 * goes_on * advantage
    expected.insert(0, advantage)
torch.testing.assert_close(returns, torch.stack(expected) + values[:-1], rtol=1e-4, atol=1e-4)
print(f"the kernel is the loop; loss {loss:.3f}")
