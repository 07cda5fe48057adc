#!/usr/bin/env python3
# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures scans of PyTorch, torch.compile, a hand-written Triton kernel and CuPy on a GPU.

    perf_tests/peers.py --out peers.json [--seconds 150] [--log2-elements 30]
    perf_tests/peers.py --out peers.json --shapes random-2.json... [--library librandom.so] [--worst 10]

With --shapes, it measures PyTorch and torch.compile on the slowest cases of each type in result files
of the group "random" (cuda/random.cu), and prints a table that compares them with the library: with
--library (cuda/random_library.cu) measured alternately with them, otherwise from the files.

Shapes, names and counters are those of perf_scan_cuda: medians of CUDA events, measured alternately
with copies of the same bytes. Cases that fail or exceed the time limit are recorded as errors.
"""

import argparse
import contextlib
import ctypes
import datetime
import json
import itertools
import math
import pathlib
import re
import signal
import statistics
import time

import torch

import report

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None
try:
    import cupy
except ImportError:
    cupy = None

DEVICE = "cuda"


# ---- Triton -------------------------------------------------------------------------------------

if triton is not None:

    @triton.jit
    def copy_kernel(x, y, count, BLOCK: tl.constexpr):
        at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + at, tl.load(x + at, mask=at < count), mask=at < count)

    @triton.jit
    def scan_kernel(x, mask, y, lines, n, KIND: tl.constexpr, LINES: tl.constexpr,
                    BLOCK: tl.constexpr, PARTS: tl.constexpr):
        """LINES lines a program, each in PARTS parts of BLOCK elements one after another."""
        line = tl.program_id(0).to(tl.int64) * LINES + tl.arange(0, LINES)
        carry = tl.full((LINES,), 1.0 if KIND == "cumprod" else 0.0, tl.float32)
        for part in range(PARTS):
            if KIND == "reversed":
                k = (PARTS - 1 - part) * BLOCK + tl.arange(0, BLOCK)
            else:
                k = part * BLOCK + tl.arange(0, BLOCK)
            at = line[:, None] * n + k[None, :]
            inside = (line[:, None] < lines) & (k[None, :] < n)
            value = tl.load(x + at, mask=inside, other=0.0)
            if KIND == "masked":
                value = tl.where(tl.load(mask + at, mask=inside, other=0) != 0, value, 0.0)
            if KIND == "cumprod":
                result = carry[:, None] * tl.cumprod(value, 1)
            elif KIND == "reversed":
                result = carry[:, None] + tl.cumsum(value, 1, reverse=True)
            else:
                result = carry[:, None] + tl.cumsum(value, 1)
            if KIND == "exclusive":
                tl.store(y + at + 1, result, mask=inside & (k[None, :] + 1 < n))
                if part == 0:
                    tl.store(y + at, tl.zeros_like(result), mask=inside & (k[None, :] == 0))
            else:
                tl.store(y + at, result, mask=inside)
            if PARTS > 1:
                # The last result. (carry += tl.sum(value, 1) breaks the compiler of Triton 3.6.)
                last = 0 if KIND == "reversed" else BLOCK - 1
                carry = tl.sum(tl.where(k[None, :] % BLOCK == last, result, 0.0), 1)


def triton_scan(kind, x, mask, y):
    """A function that scans the rows of x, with the fastest of a few shapes of blocks."""
    lines, n = x.shape
    largest = 32768
    block = min(triton.next_power_of_2(n), largest)
    parts = triton.cdiv(n, block)
    rows = max(1, 4096 // block)
    choices = (16, 32) if block > 8192 else (4, 8, 16)
    mask = mask.view(torch.uint8) if kind == "masked" else x

    def run(warps):
        scan_kernel[(triton.cdiv(lines, rows),)](
            x, mask, y, lines, n, KIND=kind, LINES=rows, BLOCK=block, PARTS=parts,
            num_warps=warps)

    def seconds(warps):
        run(warps)
        return min(milliseconds([lambda: run(warps)] * 3))

    best = min(choices, key=seconds)
    return lambda: run(best)


# ---- Time ---------------------------------------------------------------------------------------


def milliseconds(works):
    """The time of each work, all enqueued before the first is read."""
    events = []
    for work in works:
        begin = torch.cuda.Event(enable_timing=True)
        end = torch.cuda.Event(enable_timing=True)
        begin.record()
        work()
        end.record()
        events.append((begin, end))
    torch.cuda.synchronize()
    return [begin.elapsed_time(end) for begin, end in events]


def copies(count):
    """Ways to copy count bytes."""
    source = BUFFERS.flat("from", count)
    to = BUFFERS.flat("to", count)
    ways = [lambda: to.copy_(source)]
    if triton is not None:
        words = count // 4
        source32, to32 = source.view(torch.int32), to.view(torch.int32)
        for block, warps in ((512, 4), (1024, 4), (2048, 8)):
            ways.append(lambda block=block, warps=warps: copy_kernel[(triton.cdiv(words, block),)](
                source32, to32, words, BLOCK=block, num_warps=warps))
    return ways


@contextlib.contextmanager
def at_most(seconds):
    """Interrupts what takes longer, a compilation, say; a kernel that runs is not interrupted."""

    def interrupt(*_):
        raise TimeoutError(f"takes more than {seconds} s")

    signal.signal(signal.SIGALRM, interrupt)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


# ---- Data ---------------------------------------------------------------------------------------


class Buffers:
    """Device memory that is allocated once and filled with values in use of all their bits."""

    def __init__(self):
        self.memory = {}

    def flat(self, name, count):
        if name not in self.memory or self.memory[name].numel() < count:
            self.memory.pop(name, None)
            words = torch.randint(-(2**62), 2**62, (count // 8 + 2,), device=DEVICE)
            self.memory[name] = words.view(torch.uint8)
        return self.memory[name][: count // 8 * 8]


BUFFERS = Buffers()


def uniform(shape, dtype, kind):
    x = torch.empty(shape, device=DEVICE, dtype=dtype)
    if not dtype.is_floating_point:
        return x.random_(-128, 128)
    if kind == "cumprod":  # near 1, so that products neither vanish nor overflow
        return x.uniform_(1 - 2**-10, 1 + 2**-10)
    return x.uniform_(-0.5, 0.5) if dtype == torch.float16 else x.uniform_(0, 1)


def torch_scan(kind, axis):
    """What one writes in PyTorch; the last argument is the output, where it can be given."""

    def cumsum(x, mask, y):
        return torch.cumsum(x, axis, dtype=y.dtype, out=y)

    def cumprod(x, mask, y):
        return torch.cumprod(x, axis, dtype=y.dtype, out=y)

    def reversed_sum(x, mask, y):
        return torch.flip(torch.cumsum(torch.flip(x, [axis]), axis, dtype=y.dtype), [axis])

    def exclusive(x, mask, y):
        sums = torch.cumsum(x, axis, dtype=y.dtype).narrow(axis, 0, x.shape[axis] - 1)
        return torch.cat([torch.zeros_like(x.narrow(axis, 0, 1)), sums], axis)

    def masked(x, mask, y):
        return torch.cumsum(x * mask, axis, dtype=y.dtype)

    def wide(x, mask, y):
        return torch.cumsum(x, axis, dtype=torch.float64).to(y.dtype)

    return {"cumsum": cumsum, "cumprod": cumprod, "reversed": reversed_sum,
            "exclusive": exclusive, "masked": masked, "wide": wide}[kind]


def compiled_scan(kind, axis, dtype):
    """The same without an output argument, which would be one more copy."""
    scans = {
        "cumsum": lambda x, mask: torch.cumsum(x, axis, dtype=dtype),
        "cumprod": lambda x, mask: torch.cumprod(x, axis),
        "reversed": lambda x, mask: torch.flip(torch.cumsum(torch.flip(x, [axis]), axis), [axis]),
        "exclusive": lambda x, mask: torch.cat(
            [torch.zeros_like(x.narrow(axis, 0, 1)),
             torch.cumsum(x, axis).narrow(axis, 0, x.shape[axis] - 1)], axis),
        "masked": lambda x, mask: torch.cumsum(x * mask, axis),
        "wide": lambda x, mask: torch.cumsum(x, axis, dtype=torch.float64).to(dtype),
    }
    torch._dynamo.reset()
    return torch.compile(scans[kind], dynamic=False)


def cupy_scan(kind, axis, x, mask, y):
    cx, cy = cupy.from_dlpack(x), cupy.from_dlpack(y)
    stream = cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream)
    if kind == "masked":
        cm = cupy.from_dlpack(mask.view(torch.uint8)).view(cupy.bool_)

    def run():
        with stream:
            if kind == "cumsum":
                cupy.cumsum(cx, axis=axis, dtype=cy.dtype, out=cy)
            elif kind == "cumprod":
                cupy.cumprod(cx, axis=axis, dtype=cy.dtype, out=cy)
            elif kind == "reversed":
                cy[...] = cupy.flip(cupy.cumsum(cupy.flip(cx, axis), axis=axis), axis)
            elif kind == "exclusive":
                cy[:, :1] = 0
                cy[:, 1:] = cupy.cumsum(cx[:, :-1], axis=axis)
            else:
                cupy.cumsum(cx * cm, axis=axis, out=cy)

    return run


# ---- A case -------------------------------------------------------------------------------------


def expected(kind, x, mask):
    """In double, along the last axis."""
    x = x.double()
    if kind == "masked":
        x = x * mask
    if kind == "cumprod":
        return torch.cumprod(x, -1)
    if kind == "reversed":
        return torch.flip(torch.cumsum(torch.flip(x, [-1]), -1), [-1])
    sums = torch.cumsum(x, -1)
    return torch.cat([torch.zeros_like(x[..., :1]), sums[..., :-1]], -1) if kind == "exclusive" \
        else sums


def some_lines(x, axis, span):
    """The first and the last line along an axis and one between, a part of each."""
    x = x.movedim(axis, -1)
    picked = []
    count = math.prod(x.shape[:-1])
    for line in sorted({0, count // 3, count - 1}):
        index = []
        for extent in reversed(x.shape[:-1]):
            line, at = divmod(line, extent)
            index.insert(0, at)
        picked.append(x[tuple(index)][span])
    return torch.stack(picked)


def check(kind, axis, x, mask, y):
    """Compares some lines with double precision; of very long ones the beginning."""
    n = x.shape[axis]
    span = slice(max(0, n - 2**22), n) if kind == "reversed" else slice(0, 2**22)
    reference = expected(kind, some_lines(x, axis, span),
                         some_lines(mask, axis, span) if mask is not None else None)
    result = some_lines(y, axis, span).double()
    if not x.dtype.is_floating_point:
        reference = reference.long().to(y.dtype).double()
    error = (result - reference).norm() / reference.norm().clamp_min(1e-300)
    tolerance = 2e-2 if x.dtype == torch.float16 else 1e-3
    if not error.item() <= tolerance:
        raise ValueError(f"wrong results: relative error {error.item():.1e}")


class Library:
    """The scans of cuda/random_library.cu."""

    def __init__(self, path):
        integer, pointer, text = ctypes.c_int64, ctypes.c_void_p, ctypes.c_char_p
        library = ctypes.CDLL(str(pathlib.Path(path).resolve()))
        self.bytes_of, self.scan = library.random_workspace_bytes, library.random_scan
        self.bytes_of.argtypes, self.bytes_of.restype = [text, text, *[integer] * 3], integer
        self.scan.argtypes = [text, text, *[integer] * 3, *[pointer] * 4]

    def work(self, case, x, mask, y):
        """A function that scans x as the named case says: sums along the middle of three axes."""
        variant = variant_of(case)
        names = (case.type.encode(), f"/{variant}".encode() if variant else b"")
        outer, n, inner = case.extents
        count = self.bytes_of(*names, outer, n, inner)
        if count < 0:
            raise ValueError(f"the library has no scan of {case.type} {variant}")
        workspace = torch.empty(count + 16, device=DEVICE, dtype=torch.uint8)
        at = [None if a is None else a.data_ptr() for a in (x, mask, y, workspace)]

        def run():
            if self.scan(*names, outer, n, inner, *at) != 0:
                raise RuntimeError(f"the library failed at {case}")
            return workspace  # which lives as long as this function

        return run


def measure(name, peer, kind, shape, axis, dtype, out_dtype, library=None):
    """The result of a peer; of a library, too, as `library` and `library_of_copy`."""
    x = uniform(shape, dtype, kind)
    y = torch.empty(shape, device=DEVICE, dtype=out_dtype)
    mask = torch.rand(shape[-1], device=DEVICE).lt(0.75).expand(shape).contiguous() \
        if kind == "masked" else None
    if mask is not None:  # not the same in each row
        rows = mask.view(-1, shape[-1])
        rows ^= (torch.arange(rows.shape[0], device=DEVICE) % 3 == 0)[:, None]
    count = x.numel() * (x.element_size() + y.element_size() + (kind == "masked"))

    results = []
    if peer == "torch":
        scan = torch_scan(kind, axis)
        work = lambda: results.append(scan(x, mask, y))  # noqa: E731
    elif peer == "torch.compile":
        scan = compiled_scan(kind, axis, out_dtype)
        work = lambda: results.append(scan(x, mask))  # noqa: E731
    elif peer == "triton":
        scan = triton_scan(kind, x, mask, y)
        work = lambda: (scan(), results.append(y))  # noqa: E731
    else:
        scan = cupy_scan(kind, axis, x, mask, y)
        work = lambda: (scan(), results.append(y))  # noqa: E731

    def call():
        results.clear()  # so that PyTorch uses the memory of the last result again
        work()

    call()
    y.fill_(7)
    call()
    torch.cuda.synchronize()
    check(kind, axis, x, mask, results[0])
    once = milliseconds([call])[0]
    rounds = int(min(max(60 / once, 3 if once < 300 else 1), 15))
    ways = copies(count // 2)
    for way in ways:
        way()
    ours = []
    if library is not None:
        y.fill_(7)
        ours.append(library.work(report.parse(name), x, mask, y))
        ours[0]()
        torch.cuda.synchronize()
        check(kind, axis, x, mask, y)
    times = [milliseconds([call, *ours, *ways]) for _ in range(rounds)]
    clock = torch.cuda.clock_rate()
    median = [statistics.median(column) for column in zip(*times)]
    copy = min(median[1 + len(ours):])
    result = {"library_of_copy": copy / median[1]} if ours else {}
    return result | {
        "name": name,
        "real_time": median[0],
        "time_unit": "ms",
        "bytes_per_second": count / median[0] * 1e3,
        "fraction_of_copy": copy / median[0],
        "copy_ms": copy,
        "sm_clock_mhz": clock,
        "launches": rounds,
    }


def cases(elements):
    """(peer, kind, shape, axis, dtype, dtype of the output), the most important first."""
    side = math.isqrt(elements)
    float32 = torch.float32
    peers = ["torch", "triton", "cupy", "torch.compile"]
    for kind in ("cumsum", "cumprod", "reversed", "exclusive", "masked"):
        for peer in peers:
            yield peer, kind, (side, side), 1, float32, float32
    lengths = [n for n in (8, 32, 128, 1024, 4096, 2**20, 2**25, 2**30) if n <= elements]
    for peer in peers[:2]:
        for n in lengths:
            if peer != "triton" or n <= 2**20:  # a program a line takes seconds
                yield peer, "cumsum", (elements // n, n), 1, float32, float32
    yield "torch", "cumsum", (side, side), 0, float32, float32
    yield "torch.compile", "cumsum", (side, side), 0, float32, float32
    for dtype, out in ((torch.float64, torch.float64), (torch.float16, torch.float16),
                       (torch.int8, torch.int8), (torch.int8, torch.int64)):
        yield "torch", "cumsum", (side, side), 1, dtype, out
    for peer in peers[2:]:
        for n in (1024, 128, 4096, 2**20, 32, 8):
            if n <= elements:
                yield peer, "cumsum", (elements // n, n), 1, float32, float32
    yield "cupy", "cumsum", (side, side), 0, float32, float32


TYPE_NAMES = {torch.float32: "float", torch.float64: "double", torch.float16: "half",
              torch.int8: "int8", torch.int32: "int32", torch.int64: "int64"}
VARIANTS = {"cumsum": "", "cumprod": "/prod", "reversed": "/backward", "exclusive": "",
            "masked": "/masked", "wide": "/sum<double>"}


def name_of(peer, kind, shape, axis, dtype, out):
    function = "exclusive_scan" if kind == "exclusive" else "inclusive_scan"
    types = TYPE_NAMES[dtype] + ("" if dtype == out else f"-{TYPE_NAMES[out]}")
    return (f"{function}/Cuda/{types}/{shape[0]}x{shape[1]}/axis:{axis}{VARIANTS[kind]}"
            f"/peer:{peer}")


def variant_of(case):
    """What a name of the group "random" has behind the axis, but for the group and a peer."""
    return re.sub(r"/?random(/peer:.*)?$", "", case.variant)


def slowest(paths, worst):
    """(name, case) of PyTorch and torch.compile for the slowest cases of each type in some files."""
    dtypes = {name: dtype for dtype, name in TYPE_NAMES.items()}
    kinds = {variant.removeprefix("/"): kind for kind, variant in VARIANTS.items() if variant}
    benchmarks = [b for path in paths for b in report.load(path)[1] if not b.get("error_occurred")]
    by_type = {}
    for benchmark in sorted(benchmarks, key=lambda b: b["fraction_of_copy"]):
        case = report.parse(benchmark["name"])
        by_type.setdefault((case.type, variant_of(case)), []).append((benchmark["name"], case))
    for (types, variant), named in by_type.items():
        first, _, last = types.partition("-")
        kind = kinds.get(variant, "cumsum")
        # PyTorch has a faster way for the last axis, which extents of 1 behind it would hide.
        for (name, case), peer in itertools.product(named[:worst], ("torch", "torch.compile")):
            kept = [d for d, extent in enumerate(case.extents) if extent > 1 or d == case.axis]
            shape = tuple(case.extents[d] for d in kept)
            yield f"{name}/peer:{peer}", (peer, kind, shape, kept.index(case.axis), dtypes[first],
                                          dtypes[last or first])


def compare(paths, results):
    """A table of the cases of --shapes beside the library, and how many peers are ahead of it."""
    of_files = {b["name"]: b["fraction_of_copy"] for path in paths for b in report.load(path)[1]
                if "fraction_of_copy" in b}
    rows = {}
    for result in results:
        name, _, peer = result["name"].partition("/peer:")
        row = rows.setdefault(name, {})
        row[peer] = result.get("fraction_of_copy")
        if "library_of_copy" in result:  # the lower of two
            row["library"] = min(result["library_of_copy"], row.get("library", math.inf))
    peers = ("torch", "torch.compile")
    behind = 0
    print("| case | library | " + " | ".join(peers) + " | |\n|---|---|---|---|---|")
    for name, row in rows.items():
        ours = row.get("library", of_files.get(name))
        others = [row.get(peer) for peer in peers]
        is_behind = any(other is not None and other > ours for other in others)
        behind += is_behind
        print(f"| {name} | {ours:.3f} | "
              + " | ".join("" if other is None else f"{other:.3f}" for other in others)
              + f" | {'behind' if is_behind else ''} |")
    print(f"behind a peer: {behind} of {len(rows)}")


def context():
    facts = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "gpu": torch.cuda.get_device_name(),
        "cuda": torch.version.cuda,
        "torch": torch.__version__,
    }
    if triton is not None:
        facts["triton"] = triton.__version__
    if cupy is not None:
        facts["cupy"] = cupy.__version__
    with contextlib.suppress(Exception):
        import pynvml

        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByIndex(torch.cuda.current_device())
        driver = pynvml.nvmlSystemGetDriverVersion()
        facts["driver"] = driver if isinstance(driver, str) else driver.decode()
        facts["power_limit_watts"] = str(pynvml.nvmlDeviceGetEnforcedPowerLimit(handle) // 1000)
    return facts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True, help="the result file")
    parser.add_argument("--seconds", type=float, default=150, help="no case begins later")
    parser.add_argument("--log2-elements", type=int, default=30)
    parser.add_argument("--filter", default="", help="only names that contain this")
    parser.add_argument("--shapes", nargs="+", help="result files of the group \"random\"")
    parser.add_argument("--worst", type=int, default=10, help="so many of their cases of each type")
    parser.add_argument("--library", help="what cuda/random_library.cu was built to")
    arguments = parser.parse_args()
    library = None
    if arguments.library:
        if not arguments.shapes:
            parser.error("--library needs --shapes")
        library = Library(arguments.library)
    if arguments.shapes:
        named_cases = slowest(arguments.shapes, arguments.worst)
    else:
        named_cases = ((name_of(*case), case) for case in cases(2**arguments.log2_elements))

    began = time.monotonic()
    data = {"context": context(), "benchmarks": []}
    for name, case in named_cases:
        if arguments.filter not in name:
            continue
        began_case = time.monotonic()
        left = arguments.seconds - (began_case - began)
        try:
            if left <= 0:
                raise TimeoutError("no time left")
            if (case[0], triton) == ("triton", None) or (case[0], cupy) == ("cupy", None):
                raise ImportError(f"{case[0]} is not installed")
            with at_most(min(40, math.ceil(left))):
                result = measure(name, *case, library)
        except Exception as error:  # whatever a peer throws is a result
            message = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
            result = {"name": name, "error_occurred": True, "error_message": message}
        data["benchmarks"].append(result)
        with open(arguments.out, "w", encoding="utf-8") as file:
            json.dump(data, file, indent=1)
        took = time.monotonic() - began_case
        print(f"{name}: {result.get('fraction_of_copy', result.get('error_message'))}"
              f" ({took:.1f} s)", flush=True)
    if arguments.shapes:
        compare(arguments.shapes, data["benchmarks"])


if __name__ == "__main__":
    main()
