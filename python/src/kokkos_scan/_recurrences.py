# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's operators on three dimensions: extremes with indices, recurrences, and advantages. What computes them
is in _torch; here are their gradients, what torch.compile and torch.func need, and the functions."""

import math
import numbers
import operator

import torch

from . import _arrays, _functions, _rules

try:
    import kokkos_scan._torch as _torch
except ModuleNotFoundError:  # built where PyTorch's headers were not
    from . import _torch_fallback as _torch

_library = torch.library.Library("kokkos_scan", "FRAGMENT")
_is_compiling = torch.compiler.is_compiling


def checked_dim(dim):
    try:
        return operator.index(dim)
    except TypeError:
        raise TypeError(f"kokkos_scan: dim is a {type(dim).__name__}: expected an int.") from None


def _counted(dim, x):
    dim = checked_dim(dim)
    rank = max(x.dim(), 1)
    if not -rank <= dim < rank:
        raise IndexError(f"kokkos_scan: axis {dim} is out of range for x of rank {x.dim()}: allowed "
                         f"are {-rank} to {rank - 1}.")
    return dim % rank


def checked_mask(mask, x, name):
    """A mask of the shape of x."""
    if not isinstance(mask, torch.Tensor):
        raise TypeError(f"kokkos_scan: {name} is a {type(mask).__name__}: expected a Tensor.")
    if mask.dtype != torch.bool:
        raise TypeError(f"kokkos_scan: {name} has type {mask.dtype}: expected bool.")
    if mask.device != x.device:
        raise ValueError(f"kokkos_scan: {name} is on {mask.device}, but expected is {x.device}.")
    if mask.shape == x.shape:
        return mask
    try:
        return mask.expand(x.shape)
    except RuntimeError:
        raise ValueError(f"kokkos_scan: {name} has shape {tuple(mask.shape)}, which does not broadcast to "
                         f"{tuple(x.shape)}.") from None


# ---- Extremes with indices -----------------------------------------------------------------------


def _extreme_fake(x, dim, operation, reverse, mask):
    _counted(dim, x)
    if x.is_complex():
        raise TypeError(_functions._NO_ORDER)
    if mask is not None and mask.dtype != torch.bool:
        raise TypeError(f"kokkos_scan: mask has type {mask.dtype}: expected bool.")
    if mask is not None and mask.device != x.device:
        raise ValueError(f"kokkos_scan: mask is on {mask.device}, but x is on {x.device}.")
    return x.new_empty(x.shape), x.new_empty(x.shape, dtype=torch.int64)


def _setup_extreme(ctx, inputs, output):
    x, dim, operation, reverse, mask = inputs
    values, index = output
    ctx.mark_non_differentiable(index)
    ctx.save_for_backward(x, mask, values, index)
    ctx.call = _counted(dim, x), operation, reverse


def _extreme_backward(ctx, grad, _):
    x, mask, values, index = ctx.saved_tensors
    dim, operation, reverse = ctx.call
    if torch.is_grad_enabled():  # by what has a gradient itself
        of_x = _scattered(grad, dim, index)
    else:
        of_x = torch.ops.kokkos_scan.scan_gradient(grad, x, values, dim, operation, False, reverse,
                                                   mask, None)[0]
    return of_x, None, None, None, None


def _scattered(grad, dim, index):
    return torch.zeros_like(grad).scatter_add(dim, index.clamp(min=0), torch.where(index < 0, 0, grad))


class _Extreme(torch.autograd.Function):
    """The rules of torch.func and forward mode."""

    @staticmethod
    def forward(x, mask, dim, operation, reverse):
        return torch.ops.kokkos_scan.cumulative_extreme(x, dim, operation, reverse, mask)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(output[1])
        ctx.save_for_forward(output[1])
        ctx.dim = inputs[2]

    @staticmethod
    def backward(ctx, grad, _):
        index, = ctx.saved_tensors
        return _scattered(grad, ctx.dim, index), None, None, None, None

    @staticmethod
    def jvp(ctx, of_x, *_):
        index, = ctx.saved_tensors
        return torch.where(index < 0, 0, of_x.gather(ctx.dim, index.clamp(min=0))), None

    @staticmethod
    def vmap(info, in_dims, x, mask, dim, operation, reverse):
        rank = x.dim() - (in_dims[0] is not None)
        x = _rules.to_front(x, in_dims[0], info.batch_size)
        mask = _rules.to_front(mask, in_dims[1], info.batch_size, max(rank, 1))
        found = extreme(x if rank else x.unsqueeze(1), dim + 1, operation, reverse, mask)
        return tuple(t if rank else t.squeeze(1) for t in found), (0, 0)


def extreme(x, dim, operation, reverse, mask):
    """Values and indices."""
    if _rules.is_transformed():
        return _Extreme.apply(x, mask, _counted(dim, x), operation, reverse)
    if not _is_compiling():
        found = _torch.extreme(x, dim, operation, reverse, mask)
        if found is not NotImplemented:
            return found
    return torch.ops.kokkos_scan.cumulative_extreme(x, dim, operation, reverse, mask)


# ---- Recurrences ---------------------------------------------------------------------------------


def _recurrence_fake(a, b, dim, initial, reverse, include_initial, reset=None, in_double=False):
    shape = list(b.shape)
    shape[dim] += 1 if include_initial else 0
    return b.new_empty(shape)


def _forgotten(reset, t):
    """What of t passes a reset."""
    return t if reset is None else torch.where(reset, 0, t)


def _before(states, dim, initial, reverse, include_initial):
    """The state before each step."""
    length = states.shape[dim] - (1 if include_initial else 0)
    if include_initial:
        return states.narrow(dim, 1 if reverse else 0, length)
    if length == 0:
        return states
    start = (torch.zeros_like(states.select(dim, 0)) if initial is None else initial).unsqueeze(dim)
    kept = states.narrow(dim, 1 if reverse else 0, length - 1)
    return torch.cat([kept, start] if reverse else [start, kept], dim)


def _recurrence_gradients(a, states, grad, dim, initial, reverse, wants_a, reset, in_double):
    """The gradients of a, if wanted, b and the initial state, given those of the states, by operators that have
    gradients themselves. With g the gradient of the states, r[k] = g[k] + a[k+1] r[k+1] is a
    recurrence the other way: r is the gradient of b, r[k] h[k-1] that of a, and a[0] r[0] that of the
    initial state. A coefficient at a reset counts as 0."""
    length = states.shape[dim]
    # The last state's own gradient starts the recurrence, so that no array is shifted.
    end, rest, shifted = (0, 1, 0) if reverse else (length - 1, 0, 1)
    r = solve(
        a.narrow(dim, shifted, length - 1) if a.dim() else a, grad.narrow(dim, rest, length - 1), dim,
        grad.select(dim, end), not reverse, True,
        None if reset is None else reset.narrow(dim, shifted, length - 1), in_double)
    begin = length - 1 if reverse else 0
    of_initial = _forgotten(None if reset is None else reset.select(dim, begin),
                            (a.select(dim, begin) if a.dim() else a) * r.select(dim, begin))
    if not wants_a:
        return None, r, of_initial
    if torch.is_grad_enabled():
        of_a = r * _before(states, dim, initial, reverse, False)
    else:  # has no gradient, and needs no array of the states before
        start = (torch.zeros_like(states.select(dim, 0)) if initial is None else initial).unsqueeze(dim)
        of_a = torch.empty_like(r)
        torch.mul(r.narrow(dim, begin, 1), start, out=of_a.narrow(dim, begin, 1))
        torch.mul(r.narrow(dim, shifted, length - 1), states.narrow(dim, rest, length - 1),
                  out=of_a.narrow(dim, shifted, length - 1))
    return _forgotten(reset, of_a), r, of_initial


def _gradients_of_call(a, initial, states, reset, grad, call, wants_a):
    dim, reverse, include_initial, in_double = call
    length = states.shape[dim] - (1 if include_initial else 0)
    first = 1 if include_initial and not reverse else 0
    if length:
        of_a, of_b, of_initial = _recurrence_gradients(
            a, states.narrow(dim, first, length), grad.narrow(dim, first, length), dim, initial,
            reverse, wants_a, reset, in_double)
    else:
        of_a = of_b = grad.narrow(dim, 0, 0)
        of_initial = of_b.sum(dim)
    if initial is None:
        of_initial = None
    elif include_initial:
        of_initial = of_initial + grad.select(dim, length if reverse else 0)
    return of_a, of_b, of_initial


def _setup_recurrence(ctx, inputs, output):
    a, b, dim, initial, reverse, include_initial, reset, in_double = inputs
    ctx.save_for_backward(a, initial, output, reset)
    ctx.call = dim, reverse, include_initial, in_double


def _recurrence_backward(ctx, grad):
    a, initial, states, reset = ctx.saved_tensors
    of_a, of_b, of_initial = _gradients_of_call(a, initial, states, reset, grad, ctx.call, ctx.needs_input_grad[0])
    return of_a, of_b, None, of_initial, None, None, None, None


class _Recurrence(torch.autograd.Function):
    """The rules of torch.func and forward mode."""

    @staticmethod
    def forward(a, b, initial, reset, call):
        dim, reverse, include_initial, in_double = call
        return torch.ops.kokkos_scan.linear_recurrence(a, b, dim, initial, reverse, include_initial, reset, in_double)

    @staticmethod
    def setup_context(ctx, inputs, output):
        a, b, initial, reset, ctx.call = inputs
        ctx.save_for_backward(a, initial, output, reset)
        ctx.save_for_forward(a, initial, output, reset)

    @staticmethod
    def backward(ctx, grad):
        a, initial, states, reset = ctx.saved_tensors
        of_a, of_b, of_initial = _gradients_of_call(a, initial, states, reset, grad, ctx.call, a.dim() > 0)
        return of_a, of_b, of_initial, None, None

    @staticmethod
    def jvp(ctx, of_a, of_b, of_initial, *_):
        a, initial, states, reset = ctx.saved_tensors
        dim, reverse, include_initial, in_double = ctx.call
        term = of_b
        if of_a is not None:
            through = _forgotten(reset, of_a * _before(states, dim, initial, reverse, include_initial))
            term = through if term is None else term + through
        if term is None:
            term = torch.zeros_like(states.narrow(dim, 0, states.shape[dim] - (1 if include_initial else 0)))
        return solve(a, term, dim, of_initial, reverse, include_initial, reset, in_double)

    @staticmethod
    def vmap(info, in_dims, a, b, initial, reset, call):
        dim, *options = call
        size = info.batch_size
        b = _rules.to_front(b, in_dims[1], size)
        if a.dim():
            a = _rules.to_front(a, in_dims[0], size)
        return solve(a, b, dim + 1, _rules.to_front(initial, in_dims[2], size), *options[:2],
                     _rules.to_front(reset, in_dims[3], size), options[2]), 0


def coefficients_of(a, b):
    """A tensor of coefficients in the shape of b."""
    try:
        return a if a.shape == b.shape else a.expand(b.shape)
    except RuntimeError:
        raise ValueError(f"kokkos_scan: a has shape {tuple(a.shape)}, which does not broadcast to "
                         f"{tuple(b.shape)}, the shape of b.") from None


def solve_quickly(a, b, dim, initial, reverse, include_initial, reset, in_double):
    """The states if a call is one of plain tensors that fit and need no gradient, which most of the time of a short
    call would be spent on finding out; otherwise NotImplemented."""
    if _is_compiling() or _rules.is_transformed():
        return NotImplemented
    if in_double is None:
        in_double = type(a) is float and reset is None
    return _torch.recurrence(a, b, dim, initial, reverse, include_initial, reset, in_double)


def solve(a, b, dim, initial, reverse, include_initial, reset, in_double):
    """The operator, with all its rules. Coefficients are a tensor or a number."""
    states = solve_quickly(a, b, dim, initial, reverse, include_initial, reset, in_double)
    if states is not NotImplemented:
        return states
    if not isinstance(a, torch.Tensor):
        # Of no dimension: the kernel takes it as a number, which is not rounded to the type of b.
        a = torch.tensor(a, dtype=torch.float64)
    if _rules.is_transformed():
        return _Recurrence.apply(a, b, initial, reset, (dim, reverse, include_initial, in_double))
    return torch.ops.kokkos_scan.linear_recurrence(a, b, dim, initial, reverse, include_initial, reset, in_double)


def linear_recurrence(a, b, dim=-1, initial=None, reverse=False, *, include_initial=False, reset=None,
                      in_double=None):
    """The states h of the recurrence h[k] = a[k] * h[k-1] + b[k] along a dimension.

    With coefficients in a tensor, states are computed in float32 for 16-bit floats and in the type of b
    otherwise, as a loop does, and rounded to the type of b once: the error is a few roundings of the sum of
    magnitudes of the terms, weighted as in the states. A coefficient of 0 forgets the state before it, even
    an infinite one; NaN stays. Gradients flow to a, b and initial, by one recurrence in the other direction.

    Parameters
    ----------
    a : number or Tensor
        The coefficients; a tensor broadcasts to the shape of b and has its type and device.
    b : Tensor
        Of float16, bfloat16, float32 or float64.
    dim : int
        Negative counts from the end.
    initial : number or Tensor, optional
        h[-1], the state before the first step: one value, or a tensor of the shape of b without the
        dimension. Default: 0.
    reverse : bool
        From the last element to the first: h[k] = a[k] * h[k+1] + b[k].
    include_initial : bool
        The result has one element more along the dimension: it begins with the initial state (with
        reverse=True it ends with it).
    reset : Tensor of bool, optional
        Where it is true, h[k] = b[k], whatever the state before is, even NaN: sequences in one line.
        Its shape broadcasts to that of b.
    in_double : bool, optional
        Compute states in float64, so that they are exact but for the last rounding. On GPUs this takes up to
        three times as long. Default: where a is a number, which is not rounded to float32 then (0.9999 is
        another number there), and there is no reset.
    """
    quick = solve_quickly(a, b, dim, initial, reverse, include_initial, reset, in_double)
    if quick is not NotImplemented:
        return quick
    if not isinstance(b, torch.Tensor):
        raise TypeError(f"kokkos_scan: b is a {type(b).__name__}, but expected is a Tensor.")
    if not b.is_floating_point():
        raise TypeError(f"kokkos_scan: a linear recurrence needs a real floating type, not {b.dtype}.")
    dim = _counted(dim, b)
    if b.dim() == 0:
        raise ValueError("kokkos_scan: b has no dimension to go along.")
    flag = _arrays.checked_flag
    reverse, include_initial = flag(reverse, "reverse"), flag(include_initial, "include_initial")
    is_number = not isinstance(a, torch.Tensor)
    in_double = is_number and reset is None if in_double is None else flag(in_double, "in_double")
    if is_number:
        if not isinstance(a, numbers.Real):
            raise TypeError(f"kokkos_scan: a is a {type(a).__name__}: expected a number or a Tensor.")
        a = float(a)
    for name, t in (("a", None if is_number else a), ("initial", initial)):
        if isinstance(t, torch.Tensor) and (t.dtype != b.dtype or t.device != b.device):
            raise TypeError(f"kokkos_scan: {name} has type {t.dtype} on {t.device}, but b has "
                            f"{b.dtype} on {b.device}.")
    if initial is not None:
        initial = _value_of_lines(initial, b, dim, "initial", "b")
    if reset is not None:
        reset = checked_mask(reset, b, "reset")
    if not is_number:
        a = coefficients_of(a, b)
    return solve(a, b, dim, initial, reverse, include_initial, reset, in_double)


def _value_of_lines(value, x, dim, name, name_of_x):
    """A number or a tensor as one value for each line."""
    lines = [*x.shape[:dim], *x.shape[dim + 1:]]
    if not isinstance(value, torch.Tensor):
        value = torch.full((), value, dtype=x.dtype, device=x.device)
    if list(value.shape) == lines:
        return value
    if value.dim():
        raise ValueError(f"kokkos_scan: {name} has shape {tuple(value.shape)}, but expected is "
                         f"{tuple(lines)}, the shape of {name_of_x} without the axis.")
    return value.expand(lines)


# ---- Returns -------------------------------------------------------------------------------------


def _advantage_fake(rewards, values, next_value, done, log_ratios, gamma, lam, rho_limit, trace_limit, dim):
    return rewards.new_empty(rewards.shape), rewards.new_empty(rewards.shape)


def _advantage_gradients(done, call, of_advantages, of_targets):
    """With g the sum of both gradients and c[t] = gamma, or 0 where done: r[t] = g[t] + lam c[t-1] r[t-1] is
    the gradient of the temporal difference, rewards[t] + c[t] values[t+1] - values[t]."""
    gamma, lam, dim = call
    grad = of_advantages + of_targets
    length = grad.shape[dim]
    if length == 0:
        return grad, grad, grad.sum(dim)
    r = solve(gamma * lam, grad.narrow(dim, 1, length - 1), dim, grad.select(dim, 0), False, True,
              None if done is None else done.narrow(dim, 0, length - 1), False)
    behind = gamma * _forgotten(done, r)
    shifted = torch.cat([torch.zeros_like(r.narrow(dim, 0, 1)), behind.narrow(dim, 0, length - 1)], dim)
    return r, of_targets - r + shifted, behind.select(dim, length - 1)


def _setup_advantage(ctx, inputs, output):
    _, _, _, done, log_ratios, gamma, lam, _, _, dim = inputs
    ctx.save_for_backward(done)
    ctx.call = gamma, lam, dim
    if log_ratios is not None:  # V-trace's targets count as constants
        ctx.mark_non_differentiable(*output)


def _advantage_backward(ctx, of_advantages, of_targets):
    done, = ctx.saved_tensors
    return (*_advantage_gradients(done, ctx.call, of_advantages, of_targets), *[None] * 7)


class _Advantage(torch.autograd.Function):
    """The rules of torch.func and forward mode."""

    @staticmethod
    def forward(rewards, values, next_value, done, log_ratios, numbers, dim):
        return torch.ops.kokkos_scan.advantage(rewards, values, next_value, done, log_ratios, *numbers, dim)

    @staticmethod
    def setup_context(ctx, inputs, output):
        rewards, _, next_value, done, log_ratios, ctx.numbers, ctx.dim = inputs
        ctx.call = *ctx.numbers[:2], ctx.dim
        ctx.save_for_backward(done)
        ctx.save_for_forward(rewards, next_value, done)
        if log_ratios is not None:
            ctx.mark_non_differentiable(*output)

    @staticmethod
    def backward(ctx, of_advantages, of_targets):
        done, = ctx.saved_tensors
        return (*_advantage_gradients(done, ctx.call, of_advantages, of_targets), *[None] * 4)

    @staticmethod
    def jvp(ctx, of_rewards, of_values, of_next, *_):
        rewards, next_value, done = ctx.saved_tensors
        zeros = torch.zeros_like(rewards)
        return advantage(zeros if of_rewards is None else of_rewards, zeros if of_values is None else of_values,
                         torch.zeros_like(next_value) if of_next is None else of_next, done, None, ctx.numbers,
                         ctx.dim)

    @staticmethod
    def vmap(info, in_dims, rewards, values, next_value, done, log_ratios, numbers, dim):
        tensors = (_rules.to_front(t, at, info.batch_size)
                   for t, at in zip((rewards, values, next_value, done, log_ratios), in_dims))
        return advantage(*tensors, numbers, dim + 1), (0, 0)


def advantage_quickly(rewards, values, next_value, done, log_ratios, numbers, dim):
    """As solve_quickly()."""
    if _is_compiling() or _rules.is_transformed():
        return NotImplemented
    return _torch.advantage(rewards, values, next_value, done, log_ratios, numbers, dim)


def advantage(rewards, values, next_value, done, log_ratios, numbers, dim):
    """The operator, with all its rules."""
    found = advantage_quickly(rewards, values, next_value, done, log_ratios, numbers, dim)
    if found is not NotImplemented:
        return found
    if _rules.is_transformed():
        if log_ratios is not None:
            rewards, values, next_value, log_ratios = (t.detach() for t in (rewards, values, next_value, log_ratios))
        return _Advantage.apply(rewards, values, next_value, done, log_ratios, numbers, dim)
    return torch.ops.kokkos_scan.advantage(rewards, values, next_value, done, log_ratios, *numbers, dim)


def _checked_steps(rewards, values, next_value, done, dim):
    """The arguments of returns, as the operator takes them."""
    if not isinstance(rewards, torch.Tensor):
        raise TypeError(f"kokkos_scan: rewards is a {type(rewards).__name__}: expected a Tensor.")
    if not rewards.is_floating_point():
        raise TypeError(f"kokkos_scan: rewards need a real floating type, not {rewards.dtype}.")
    dim = _counted(dim, rewards)
    if rewards.dim() == 0:
        raise ValueError("kokkos_scan: rewards have no dimension to go along.")
    values = _like_rewards(values, rewards, "values")
    if isinstance(next_value, torch.Tensor) and (next_value.dtype, next_value.device) != (rewards.dtype, rewards.device):
        raise TypeError(f"kokkos_scan: next_value has type {next_value.dtype} on {next_value.device}, but rewards "
                        f"have {rewards.dtype} on {rewards.device}.")
    next_value = _value_of_lines(next_value, rewards, dim, "next_value", "rewards")
    return values, next_value, None if done is None else checked_mask(done, rewards, "done"), dim


def _like_rewards(t, rewards, name):
    if not isinstance(t, torch.Tensor):
        raise TypeError(f"kokkos_scan: {name} is a {type(t).__name__}: expected a Tensor.")
    if (t.dtype, t.device) != (rewards.dtype, rewards.device):
        raise TypeError(f"kokkos_scan: {name} has type {t.dtype} on {t.device}, but rewards have "
                        f"{rewards.dtype} on {rewards.device}.")
    if t.shape != rewards.shape:
        raise ValueError(f"kokkos_scan: {name} has shape {tuple(t.shape)}, but rewards have "
                         f"{tuple(rewards.shape)}.")
    return t


def discounted_sum(x, gamma, dim=0, done=None, initial=None):
    """Discounted sums of what is still to come: y[t] = x[t] + gamma[t] * y[t+1], where y[t+1] counts as 0
    if done[t].

    The returns of reinforcement learning, R. S. Sutton, A. G. Barto, Reinforcement Learning (2018), 3.3. It
    is one recurrence, computed as a loop does: see linear_recurrence() for its accuracy and gradients.

    Parameters
    ----------
    x : Tensor
        What is summed, such as rewards: real floating numbers in any layout.
    gamma : number or Tensor
        The discount; a tensor broadcasts to the shape of x and has its type.
    dim : int
        Time. Default: the first dimension, as in (steps, environments).
    done : Tensor of bool, optional
        Whether the episode ended with step t; broadcasts to the shape of x.
    initial : number or Tensor, optional
        y behind the last step, such as the value of the state there: of the shape of x without the dimension.
    """
    return linear_recurrence(gamma, x, dim, initial, True, reset=done, in_double=False)


def gae(rewards, values, next_value, done=None, gamma=0.99, lam=0.95, dim=0):
    """Generalised advantage estimates, and the returns that values should predict.

    With V the values, V[T] = next_value, and c[t] = gamma, or 0 where done[t]:

        A[t] = rewards[t] + c[t] * V[t+1] - V[t] + lam * c[t] * A[t+1],    A[T] = 0,
        returns[t] = A[t] + V[t].

    Equation 16 of J. Schulman et al., High-dimensional continuous control using generalized advantage
    estimation (arXiv:1506.02438). One kernel reads rewards, values and done once and writes both results.
    States are of float32 for 16-bit floats, else of the type of the rewards. What is behind the end of an
    episode does not matter, even if it is NaN. Gradients flow to rewards, values and next_value.

    Parameters
    ----------
    rewards, values : Tensor
        Of one shape and one real floating type, in any layout.
    next_value : number or Tensor
        The value behind the last step: of the shape of rewards without the dimension.
    done : Tensor of bool, optional
        Whether the episode ended with step t.
    gamma, lam : float
        The discount, and the weight of longer sums.
    dim : int
        Time. Default: the first dimension, as in (steps, environments).

    Returns
    -------
    (advantages, returns), of the shape and the type of rewards
    """
    numbers = float(gamma), float(lam), 1.0, 1.0
    quick = advantage_quickly(rewards, values, next_value, done, None, numbers, dim)
    if quick is not NotImplemented:
        return quick
    values, next_value, done, dim = _checked_steps(rewards, values, next_value, done, dim)
    return advantage(rewards, values, next_value, done, None, numbers, dim)


def lambda_return(rewards, values, next_value, done=None, gamma=0.99, lam=0.95, dim=0):
    """Returns that mix all numbers of steps:

        G[t] = rewards[t] + c[t] * ((1 - lam) * V[t+1] + lam * G[t+1]),    G[T] = V[T] = next_value,

    with c[t] = gamma, or 0 where done[t]. R. S. Sutton, A. G. Barto, Reinforcement Learning (2018), 12.1.
    They are the returns of gae(), whose arguments it takes: one kernel and the same accuracy and gradients."""
    return gae(rewards, values, next_value, done, gamma, lam, dim)[1]


def vtrace(log_ratios, rewards, values, next_value, done=None, gamma=0.99, lam=1.0, rho_limit=1.0, c_limit=1.0,
           dim=0):
    """V-trace targets and the advantages of policy gradients that belong to them.

    With ratio[t] = exp(log_ratios[t]) of the policy that is learned to the one that acted, V the values,
    V[T] = next_value, c[t] = gamma, or 0 where done[t], and rho[t] = min(rho_limit, ratio[t]):

        delta[t] = rho[t] * (rewards[t] + c[t] * V[t+1] - V[t]),
        v[t] = V[t] + delta[t] + lam * min(c_limit, ratio[t]) * c[t] * (v[t+1] - V[t+1]),    v[T] = V[T],
        advantages[t] = rho[t] * (rewards[t] + c[t] * v[t+1] - V[t]).

    Section 4 of L. Espeholt et al., IMPALA: scalable distributed deep-RL with importance weighted
    actor-learner architectures (arXiv:1802.01561). Targets are one kernel; advantages are elementwise
    operations after it. Both are constants for gradients, as in the paper.

    Parameters
    ----------
    log_ratios, rewards, values : Tensor
        Of one shape and one real floating type, in any layout.
    next_value, done, gamma, lam, dim
        As in gae().
    rho_limit, c_limit : float
        What importance ratios count as at most.

    Returns
    -------
    (targets, advantages), of the shape and the type of rewards
    """
    values, next_value, done, dim = _checked_steps(rewards, values, next_value, done, dim)
    log_ratios = _like_rewards(log_ratios, rewards, "log_ratios")
    with torch.no_grad():
        numbers = (float(gamma), float(lam), float(rho_limit), float(c_limit))
        targets = advantage(rewards, values, next_value, done, log_ratios, numbers, dim)[1]
        length = rewards.shape[dim]
        if length == 0:
            return targets, torch.empty_like(targets)
        later = torch.cat([targets.narrow(dim, 1, length - 1), next_value.unsqueeze(dim)], dim)
        advantages = log_ratios.exp().clamp(max=rho_limit) * (rewards + gamma * _forgotten(done, later) - values)
    return targets.detach(), advantages.detach()


torch.library.register_fake("kokkos_scan::cumulative_extreme", _extreme_fake, lib=_library)
torch.library.register_fake("kokkos_scan::linear_recurrence", _recurrence_fake, lib=_library)
torch.library.register_fake("kokkos_scan::advantage", _advantage_fake, lib=_library)
torch.library.register_autograd("kokkos_scan::cumulative_extreme", _extreme_backward, lib=_library,
                                setup_context=_setup_extreme)
torch.library.register_autograd("kokkos_scan::linear_recurrence", _recurrence_backward, lib=_library,
                                setup_context=_setup_recurrence)
torch.library.register_autograd("kokkos_scan::advantage", _advantage_backward, lib=_library,
                                setup_context=_setup_advantage)
