# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`kokkos-scan scan --in-order` writes the very bytes that NumPy does, in every execution space."""
import argparse
import os
import sys
import tempfile

from support import Tool, np

CUMULATE = {"sum": np.cumsum, "prod": np.cumprod}


def serial(x, axis, op, exclusive, reverse, mask, initial):
    """The loop itself; returns results and totals."""
    x = np.moveaxis(x, axis, 0)
    counts = np.ones(x.shape, bool) if mask is None else np.moveaxis(mask, axis, 0)
    order = range(len(x))[::-1] if reverse else range(len(x))
    identity = x.dtype.type(0 if op == "sum" else 1)
    acc = np.full(x.shape[1:], identity if initial is None else initial, x.dtype)
    exists = np.full(x.shape[1:], initial is not None)
    y = np.empty_like(x)
    for k in order:
        if exclusive:
            y[k] = acc
        step = acc + x[k] if op == "sum" else acc * x[k]
        acc = np.where(counts[k], np.where(exists, step, x[k]), acc)
        exists = exists | counts[k]
        if not exclusive:
            y[k] = acc
    return np.moveaxis(y, 0, axis), acc


def content(path):
    with open(path, "rb") as file:
        return file.read()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", nargs="+")
    tool = Tool(parser.parse_args().command)
    spaces = [space for space in ("serial", "openmp", "cuda")
              if tool.run("scan", "--space", space, "none", "none").stderr.find("none") >= 0]
    rng = np.random.default_rng(5)
    ran = 0
    with tempfile.TemporaryDirectory() as folder:
        path = {name: os.path.join(folder, name + ".npy") for name in "xymte"}
        for number in range(60):
            dtype = np.dtype(["float32", "float64", "complex64"][number % 3])
            op = "sum" if dtype.kind == "c" else ["sum", "prod"][rng.integers(2)]
            shape = [int(n) for n in rng.integers(1, 40, rng.integers(1, 4))]
            axis = int(rng.integers(len(shape)))
            x = rng.normal(size=shape)
            x = (x + 1j * rng.normal(size=shape) if dtype.kind == "c" else x).astype(dtype)
            x.flat[rng.integers(x.size)] = dtype.type(-0.0)
            exclusive, reverse = (bool(rng.random() < 0.4) for _ in range(2))
            mask = rng.random(shape) < 0.6 if rng.random() < 0.4 else None
            initial = 1.5 if rng.random() < 0.3 else None
            arguments = ["--axis", axis, "--op", op, "--in-order"]
            arguments += ["--exclusive"] * exclusive + ["--reverse"] * reverse
            if mask is not None:
                np.save(path["m"], mask)
                arguments += ["--mask", path["m"]]
            if initial is not None:
                arguments += ["--initial", initial]
            np.save(path["x"], x)
            y, totals = serial(x, axis, op, exclusive, reverse, mask, initial)
            if not exclusive and not reverse and mask is None and initial is None:
                y = CUMULATE[op](x, axis=axis)
            np.save(path["e"], np.ascontiguousarray(y))
            expected = content(path["e"])
            for space in spaces:
                with_totals = rng.random() < 0.5
                tool.must("scan", *arguments, "--space", space,
                          *(["--totals", path["t"]] if with_totals else []), path["x"], path["y"])
                assert content(path["y"]) == expected, (number, space, arguments, shape, dtype)
                if with_totals:
                    assert np.load(path["t"]).tobytes() == totals.tobytes(), (number, arguments)
                ran += 1
    assert ran >= 60, spaces
    print(f"{ran} scans have the bytes of NumPy's, in {', '.join(spaces)}")


if __name__ == "__main__":
    sys.exit(main())
