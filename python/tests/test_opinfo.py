# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The samples with which PyTorch tests its own functions (OpInfo), with ours: all shapes, types and arguments.
What differs on purpose stands in docs/python.md, "What differs from PyTorch"."""

import pytest

torch = pytest.importorskip("torch")
try:
    from torch.testing._internal.common_methods_invocations import op_db
except ImportError as missing:  # PyTorch's tests need packages that PyTorch does not
    pytest.skip(f"no OpInfo: {missing}", allow_module_level=True)

import kokkos_scan.torch as kt  # noqa: E402

OURS = {"cumsum": kt.cumsum, "cumprod": kt.cumprod, "cummax": kt.cummax, "cummin": kt.cummin,
        "logcumsumexp": kt.logcumsumexp, "cumulative_trapezoid": kt.cumulative_trapezoid,
        "masked.cumsum": kt.cumsum, "masked.cumprod": kt.cumprod}
INFOS = {op.name: op for op in op_db if op.name in OURS}
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.cuda)]
WIDE = [torch.float64, torch.complex128]

pytestmark = pytest.mark.parametrize("name", OURS)


def test_all_are_known(name):
    assert name in INFOS


def samples(name, dtype, device="cpu", **options):
    info = INFOS[name]
    if dtype not in info.supported_dtypes(device):
        return
    for sample in info.sample_inputs(device, dtype, **options):
        if name == "logcumsumexp" and dtype.is_complex:
            continue  # refused: see the page
        yield sample


def tensors(result):
    return tuple(result) if isinstance(result, tuple) else (result,)


def differentiable(result):
    return tuple(t for t in tensors(result) if t.is_floating_point() or t.is_complex())


def same(found, expected, **options):
    found, expected = tensors(found), tensors(expected)
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected):
        torch.testing.assert_close(ours, theirs, equal_nan=True, **options)


@pytest.mark.parametrize("device", DEVICES)
def test_forward(name, device):
    count = 0
    for dtype in sorted(INFOS[name].supported_dtypes(device), key=str):
        # PyTorch adds up 16-bit floats in 16 bits here and there.
        options = {"rtol": 0.05, "atol": 0.05} if dtype in (torch.float16, torch.bfloat16) else {}
        for sample in samples(name, dtype, device):
            expected = INFOS[name](sample.input, *sample.args, **sample.kwargs)
            if name.startswith("masked."):  # small whole numbers stay small there
                sample.kwargs["dtype"] = expected.dtype
            same(OURS[name](sample.input, *sample.args, **sample.kwargs), expected, **options)
            count += 1
    assert count > 5


def test_out(name):
    if name in ("cumulative_trapezoid", "masked.cumsum", "masked.cumprod"):
        pytest.skip("PyTorch has no out= here")
    for dtype in (torch.float32, torch.float64):
        for sample in samples(name, dtype):
            expected = INFOS[name](sample.input, *sample.args, **sample.kwargs)
            for shape in ("right", "empty"):
                out = [t.new_empty(t.shape if shape == "right" else 0) for t in tensors(expected)]
                given = out if isinstance(expected, tuple) else out[0]
                found = OURS[name](sample.input, *sample.args, **sample.kwargs, out=given)
                same(found, expected)
                assert all(t is o for t, o in zip(tensors(found), out))


def test_errors(name):
    for error in INFOS[name].error_inputs("cpu") if INFOS[name].error_inputs_func else ():
        sample = error.sample_input
        with pytest.raises((error.error_type, ValueError, TypeError, IndexError, RuntimeError)):
            OURS[name](sample.input, *sample.args, **sample.kwargs)


@pytest.mark.parametrize("dtype", WIDE)
def test_gradients(name, dtype):
    for sample in samples(name, dtype, requires_grad=True):
        gradients = []
        for function in (OURS[name], INFOS[name]):
            result = differentiable(function(sample.input, *sample.args, **sample.kwargs))[0]
            inputs = [t for t in (sample.input, *sample.args) if isinstance(t, torch.Tensor) and t.requires_grad]
            if not result.requires_grad:
                gradients.append(())
                continue
            weights = torch.linspace(0.5, 1.5, result.numel(), dtype=torch.float64).reshape(result.shape)
            gradients.append(torch.autograd.grad(result, inputs, weights.to(result.dtype)))
        same(gradients[0], gradients[1])


@pytest.mark.parametrize("dtype", WIDE)
def test_forward_mode(name, dtype):
    for sample in samples(name, dtype):
        x = sample.input
        tangent = torch.rand_like(x)
        derivatives = []
        for function in (OURS[name], INFOS[name]):
            def of_x(t):
                return differentiable(function(t, *sample.args, **sample.kwargs))[0]

            derivatives.append(torch.func.jvp(of_x, (x,), (tangent,)))
            with torch.autograd.forward_ad.dual_level():
                dual = of_x(torch.autograd.forward_ad.make_dual(x, tangent))
                by_dual = torch.autograd.forward_ad.unpack_dual(dual).tangent
                same(by_dual, derivatives[-1][1])
        same(derivatives[0], derivatives[1])


def test_transforms(name):
    for sample in samples(name, torch.float64):
        x = sample.input

        def ours(t):
            return tensors(OURS[name](t, *sample.args, **sample.kwargs))

        def weighted(function):
            def loss(t):
                result = differentiable(function(t, *sample.args, **sample.kwargs))[0]
                return (result * torch.linspace(0.5, 1.5, result.numel(), dtype=result.dtype).reshape(result.shape)
                        ).pow(2).sum()

            return loss

        batch = torch.stack([x, 2 * x, x.flip(0) if x.dim() else x])
        expected = [torch.stack(results) for results in zip(*(ours(t) for t in batch))]
        same(torch.vmap(ours)(batch), tuple(expected))
        same(torch.vmap(ours, x.dim())(batch.movedim(0, -1)), tuple(expected))
        gradient = torch.func.grad(weighted(INFOS[name]))(x)
        same(torch.func.grad(weighted(OURS[name]))(x), gradient)
        same(torch.vmap(torch.func.grad(weighted(OURS[name])))(batch)[0], gradient)
        if 0 < x.numel() <= 30:
            same(torch.func.hessian(weighted(OURS[name]))(x), torch.func.hessian(weighted(INFOS[name]))(x))


@pytest.mark.filterwarnings("ignore")
def test_compilation(name):
    for number, sample in enumerate(samples(name, torch.float64, requires_grad=True)):
        if number % 4:  # compiling takes time
            continue
        torch._dynamo.reset()

        def ours(t):
            return tensors(OURS[name](t, *sample.args, **sample.kwargs))

        found, expected = torch.compile(ours, fullgraph=True, backend="aot_eager")(sample.input), ours(sample.input)
        same(found, expected)
        if expected[0].requires_grad:
            same(torch.autograd.grad(found[0].sum(), sample.input), torch.autograd.grad(expected[0].sum(), sample.input))
