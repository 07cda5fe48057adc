# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Resets of recurrences and the returns of reinforcement learning, compared with loops in float64."""

import numpy as np
import pytest

import kokkos_scan as ks

SHAPES = [((40, 6), 0), ((6, 40), 1), ((3, 300, 2), 1), ((1,), 0), ((0, 3), 0), ((5, 2000), -1)]
TYPES = ["float16", "float32", "float64"]
TOLERANCE = {"float16": 4e-3, "float32": 3e-6, "float64": 1e-12}


def steps(shape, axis, dtype, seed=1):
    """Random rewards, values, values behind the last step, ends of episodes and log ratios."""
    rng = np.random.default_rng(seed)
    lines = [n for d, n in enumerate(shape) if d != axis % len(shape)]
    return (*(rng.normal(size=s).astype(dtype) for s in (shape, shape, lines)), rng.random(shape) < 0.1,
            (0.3 * rng.normal(size=shape)).astype(dtype))


def along(axis, *arrays):
    """Copies in float64 with the axis first, and masks."""
    return [np.moveaxis(a if a.dtype == bool else a.astype("float64"), axis, 0).copy() for a in arrays]


def looped_gae(rewards, values, next_value, done, gamma, lam, axis):
    rewards, values, done = along(axis, rewards, values, done)
    advantage, value = np.zeros(rewards.shape[1:]), next_value.astype("float64")
    advantages = np.empty_like(rewards)
    for t in reversed(range(len(rewards))):
        goes_on = ~done[t]
        delta = rewards[t] + np.where(goes_on, gamma * value, 0) - values[t]
        advantages[t] = advantage = delta + np.where(goes_on, gamma * lam * advantage, 0)
        value = values[t]
    return np.moveaxis(advantages, 0, axis), np.moveaxis(advantages + values, 0, axis)


def looped_vtrace(log_ratios, rewards, values, next_value, done, gamma, lam, limits, axis):
    log_ratios, rewards, values, done = along(axis, log_ratios, rewards, values, done)
    value = target = next_value.astype("float64")
    targets, advantages = np.empty_like(rewards), np.empty_like(rewards)
    for t in reversed(range(len(rewards))):
        discount = np.where(done[t], 0, gamma)
        rho, c = (np.minimum(limit, np.exp(log_ratios[t])) for limit in limits)
        advantages[t] = rho * (rewards[t] + discount * target - values[t])
        targets[t] = values[t] + rho * (rewards[t] + discount * value - values[t]) + lam * c * discount * (target - value)
        value, target = values[t], targets[t]
    return np.moveaxis(targets, 0, axis), np.moveaxis(advantages, 0, axis)


def close(found, expected, dtype):
    assert found.dtype == dtype and found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=TOLERANCE[dtype], atol=8 * TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape, axis", SHAPES)
def test_gae_and_lambda_return(shape, axis, dtype):
    rewards, values, next_value, done, _ = steps(shape, axis, dtype)
    for gamma, lam in ((0.99, 0.95), (1, 1), (0.9, 0)):
        expected = looped_gae(rewards, values, next_value, done, gamma, lam, axis)
        found = ks.gae(rewards, values, next_value, done=done, gamma=gamma, lam=lam, axis=axis)
        close(found[0], expected[0], dtype), close(found[1], expected[1], dtype)
        close(ks.lambda_return(rewards, values, next_value, done=done, gamma=gamma, lam=lam, axis=axis), expected[1],
              dtype)
        expected = looped_gae(rewards, values, next_value, np.zeros_like(done), gamma, lam, axis)
        close(ks.gae(rewards, values, next_value, gamma=gamma, lam=lam, axis=axis)[0], expected[0], dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape, axis", SHAPES)
def test_vtrace(shape, axis, dtype):
    rewards, values, next_value, done, log_ratios = steps(shape, axis, dtype)
    for lam, limits in ((1, (1, 1)), (0.9, (2, 0.5))):
        for ends in (done, np.zeros_like(done)):
            expected = looped_vtrace(log_ratios, rewards, values, next_value, ends, 0.97, lam, limits, axis)
            found = ks.vtrace(log_ratios, rewards, values, next_value, done=ends if ends.any() else None, gamma=0.97,
                              lam=lam, rho_limit=limits[0], c_limit=limits[1], axis=axis)
            close(found[0], expected[0], dtype), close(found[1], expected[1], dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape, axis", SHAPES)
def test_discounted_sum_and_resets(shape, axis, dtype):
    x, a, initial, reset, _ = steps(shape, axis, dtype)
    a = np.tanh(a)
    for in_double in (False, True):
        for reverse in (False, True):
            for coefficient in (0.97, a):
                b, decay, resets = along(axis, x, np.broadcast_to(coefficient, x.shape), reset)
                order = range(len(b))
                state, states = initial.astype("float64"), np.empty_like(b)
                for k in reversed(order) if reverse else order:
                    states[k] = state = b[k] + np.where(resets[k], 0, decay[k] * state)
                found = ks.linear_recurrence(coefficient, x, axis=axis, initial=initial, reverse=reverse,
                                             reset=reset, in_double=in_double)
                close(found, np.moveaxis(states, 0, axis), dtype)
                longer = ks.linear_recurrence(coefficient, x, axis=axis, initial=initial, reverse=reverse,
                                              reset=reset, include_initial=True, in_double=in_double)
                assert np.array_equal(np.delete(longer, -1 if reverse else 0, axis), found)
    assert np.array_equal(ks.discounted_sum(x, 0.97, axis=axis, done=reset, initial=initial),
                          ks.linear_recurrence(0.97, x, axis=axis, initial=initial, reverse=True, reset=reset))


def test_a_reset_forgets_all_that_was_before():
    for dtype in ("float32", "float64"):
        x = np.ones(4000, dtype)
        x[[5, 1000, 2222]] = np.nan, np.inf, -np.inf
        reset = np.zeros(4000, bool)
        reset[[7, 1001, 2300, 3000]] = True
        for a in (-1.0, 1e30, np.full(4000, -0.0, dtype), np.full(4000, -1e-30, dtype)):
            h = ks.linear_recurrence(a, x, reset=reset)
            assert np.isnan(h[5:7]).all() and h[7] == h[1001] == h[2300] == h[3000] == 1
        # What is not reset keeps NaN, also where products of coefficients vanish and have either sign.
        for a in (-0.5, 0.5, np.full(4000, -0.0, dtype)):
            assert np.isnan(ks.linear_recurrence(a, x, reset=np.zeros(4000, bool))[5:]).all()
        rewards, values = np.ones(50, dtype), np.ones(50, dtype)
        done = np.zeros(50, bool)
        done[[10, 30]] = True
        rewards[31:40] = values[35] = np.nan
        advantages, _ = ks.gae(rewards, values, np.nan, done=done)
        assert np.isfinite(advantages[:31]).all() and np.isnan(advantages[31:36]).all() and advantages[10] == 0


def test_accuracy_of_states():
    rng = np.random.default_rng(3)
    x = rng.normal(size=20000).astype("float32")
    for a in (0.9, 0.999):
        expected = ks.linear_recurrence(float(np.float32(a)), x.astype("float64"))
        magnitude = ks.linear_recurrence(float(np.float32(a)), abs(x).astype("float64"))
        for coefficients in (np.full(20000, a, "float32"), a):
            found = ks.linear_recurrence(coefficients, x, in_double=False)
            assert (abs(found - expected) <= 16 * 2.0**-24 * magnitude).all()
        exact = ks.linear_recurrence(a, x.astype("float64"))
        assert np.array_equal(ks.linear_recurrence(a, x), exact.astype("float32"))
        assert np.array_equal(ks.linear_recurrence(np.full(20000, a), x.astype("float64")).astype("float32"),
                              ks.linear_recurrence(a, x, in_double=True))


def test_arguments_have_a_sentence_each():
    x, next_value = np.ones((4, 3)), np.ones(3)
    for kind, call, sentence in [
            (ValueError, lambda: ks.gae(x, x, next_value), "rewards has 2 dimensions: axis must be given"),
            (TypeError, lambda: ks.gae(x, x[:2], next_value, axis=0), "values has type float64 and shape"),
            (TypeError, lambda: ks.gae(x.astype(int), x, next_value, axis=0), "rewards need a real floating type"),
            (ValueError, lambda: ks.gae(x, x, x, axis=0), "initial has shape"),
            (TypeError, lambda: ks.gae(x, x, 0, done=x, axis=0), "done has type float64: expected bool"),
            (ValueError, lambda: ks.linear_recurrence(1, x, axis=0, reset=np.zeros(5, bool)), "reset has shape"),
            (TypeError, lambda: ks.linear_recurrence(1, x, axis=0, in_double="no"), "in_double is a str")]:
        with pytest.raises(kind, match=f"kokkos_scan: .*{sentence}"):
            call()


# ---- PyTorch -------------------------------------------------------------------------------------

torch = pytest.importorskip("torch")
import kokkos_scan.torch as kt  # noqa: E402

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.cuda)]


# Lines that CUDA kernels take in other ways: aligned or not, long and longer.
LONG_SHAPES = [((70, 256), 1), ((70, 257), 1), ((33, 1001, 3), 1), ((300, 67), 0), ((4200, 5), 0), ((2, 16500), 1)]


@pytest.mark.parametrize("is_transposed", [False, True])
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", TYPES)
def test_tensors(device, dtype, is_transposed):
    for shape, axis in SHAPES + LONG_SHAPES:
        arrays = steps(shape, axis, dtype)
        rewards, values, next_value, done, log_ratios = (torch.from_numpy(np.asarray(a)).to(device) for a in arrays)
        if is_transposed:
            rewards, values, log_ratios = (t.T.contiguous().T if t.dim() == 2 else t for t in (rewards, values, log_ratios))
        expected = looped_gae(*arrays[:4], 0.99, 0.95, axis)
        for found, right in zip(kt.gae(rewards, values, next_value, done, dim=axis), expected):
            close(found.cpu().numpy(), right, dtype)
        expected = looped_vtrace(arrays[4], *arrays[:4], 0.99, 1, (1, 1), axis)
        for found, right in zip(kt.vtrace(log_ratios, rewards, values, next_value, done, dim=axis), expected):
            close(found.cpu().numpy(), right, dtype)
        found = kt.discounted_sum(rewards, 0.9, axis, done, next_value).cpu().numpy()
        close(found, ks.discounted_sum(arrays[0].astype("float64"), 0.9, axis=axis, done=arrays[3],
                                       initial=arrays[2].astype("float64")), dtype)


def test_bfloat16():
    rewards, values, next_value, done, _ = (torch.from_numpy(a) for a in steps((20, 3), 0, "float64"))
    small = [t.bfloat16() for t in (rewards, values, next_value)]
    expected = kt.gae(*(t.double() for t in small), done)
    for found, right in zip(kt.gae(*small, done), expected):
        torch.testing.assert_close(found, right.bfloat16())


def test_gradients():
    rewards, values, next_value, done, log_ratios = (torch.from_numpy(a) for a in steps((9, 2), 0, "float64"))
    for t in (rewards, values, next_value):
        t.requires_grad_()
    for ends in (None, done):
        for dim in (0, 1):
            behind = next_value if dim == 0 else torch.rand(9, dtype=torch.double, requires_grad=True)

            def both(rewards, values, behind):
                return kt.gae(rewards, values, behind, ends, 0.9, 0.8, dim)

            assert torch.autograd.gradcheck(both, (rewards, values, behind), check_forward_ad=True)
            assert torch.autograd.gradgradcheck(both, (rewards, values, behind))

            def sums(x, gamma, initial):
                return kt.discounted_sum(x, gamma, dim, ends, initial)

            assert torch.autograd.gradcheck(sums, (rewards, values, behind), check_forward_ad=True)
            assert torch.autograd.gradgradcheck(sums, (rewards, values, behind))
    targets, advantages = kt.vtrace(log_ratios, rewards, values, next_value, done)
    assert not targets.requires_grad and not advantages.requires_grad


def test_transforms_and_compilation():
    rewards, values, next_value, done, log_ratios = (torch.from_numpy(a) for a in steps((9, 4), 0, "float64"))
    whole = kt.gae(rewards, values, next_value, done)
    for found, right in zip(torch.vmap(kt.gae, (1, 1, 0, 1), 1)(rewards, values, next_value, done), whole):
        torch.testing.assert_close(found, right)
    whole = kt.vtrace(log_ratios, rewards, values, next_value, done)
    for found, right in zip(torch.vmap(kt.vtrace, (1, 1, 1, 0, 1), 1)(log_ratios, rewards, values, next_value, done),
                            whole):
        torch.testing.assert_close(found, right)

    def loss(values):
        advantages, returns = kt.gae(rewards, values, next_value, done)
        return (advantages**2).sum() + returns.prod()

    values.requires_grad_()
    loss(values).backward()
    torch.testing.assert_close(torch.func.grad(loss)(values.detach()), values.grad)
    hessian = torch.func.hessian(loss)(values.detach())
    torch.testing.assert_close(hessian, torch.autograd.functional.hessian(loss, values.detach()))
    gradient = values.grad.clone()
    values.grad = None
    torch.compile(loss, fullgraph=True, backend="aot_eager")(values).backward()
    torch.testing.assert_close(values.grad, gradient)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8"])
def test_segments(dtype):
    rng = np.random.default_rng(5)
    x = torch.from_numpy(rng.integers(1, 5, (3, 50)).astype(dtype))
    reset, mask = (torch.from_numpy(rng.random((3, 50)) < p) for p in (0.2, 0.7))
    for reverse in (False, True):
        for function, theirs, identity in ((kt.cumsum, torch.cumsum, 0), (kt.cumprod, torch.cumprod, 1)):
            if function is kt.cumprod and not x.is_floating_point():
                with pytest.raises(TypeError, match="reset goes with sums of real numbers"):
                    function(x, 1, reset=reset)
                continue
            for chosen in (None, mask):
                kept = x if chosen is None else torch.where(chosen, x, identity)
                expected = torch.empty_like(theirs(x, 1))
                for row in range(3):
                    ends = reset[row].flip(0) if reverse else reset[row]
                    line = kept[row].flip(0) if reverse else kept[row]
                    pieces = torch.tensor_split(line, ends.nonzero()[:, 0])
                    pieces = [theirs(piece, 0) for piece in pieces]
                    if function is kt.cumsum:
                        pieces[0] += 2
                    else:
                        pieces[0] *= 2
                    expected[row] = torch.cat(pieces).flip(0) if reverse else torch.cat(pieces)
                found = function(x, 1, reset=reset, reverse=reverse, mask=chosen, initial=2)
                assert found.dtype == expected.dtype
                torch.testing.assert_close(found, expected)
    with pytest.raises(ValueError, match="reset goes with reverse, mask, initial and dtype alone"):
        kt.cumsum(x, 1, reset=reset, exclusive=True)
    with pytest.raises(ValueError, match="reset goes with sums and products"):
        kt.cummax(x, 1, reset=reset, return_indices=False)
