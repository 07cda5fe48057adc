# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A thousand random arrays through `kokkos-scan scan` equal NumPy: bitwise for integers and bool, exactly
for min and max, within the contract's bound for sums and products of floats.

Random, from one seed: shape, rank, type, order, format version, axis, operator, mask, direction, exclusive,
n+1, initial value, totals, output type, execution space, in place.
"""
import argparse
import collections
import concurrent.futures
import os
import sys
import tempfile

from support import Tool, is_fortran, np, save

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
REALS = ["float16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
UFUNC = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum}


# ---- One case ------------------------------------------------------------------------------------


class Case:
    """One array and one command line, drawn from a generator."""

    def __init__(self, seed, number, spaces):
        rng = self.rng = np.random.default_rng([seed, number])
        self.number = number
        self.space = spaces[rng.integers(len(spaces))] if rng.random() < 0.5 else None
        self.op = str(rng.choice(["sum", "prod", "min", "max"], p=[0.4, 0.2, 0.2, 0.2]))
        kinds = ["bool", *INTEGERS, *REALS, *(COMPLEX if self.op in ("sum", "prod") else [])]
        self.dtype = np.dtype(str(rng.choice(kinds)))
        self.named_dtype = None
        if rng.random() < 0.4:
            targets = COMPLEX if self.dtype.kind == "c" else kinds
            self.named_dtype = np.dtype(str(rng.choice(targets)))
        self.out_dtype = self.named_dtype or self.default_dtype()
        self.shape = self.random_shape()
        self.axis = int(rng.integers(len(self.shape)))
        self.is_fortran = bool(rng.random() < 0.35)
        self.version = [(1, 0), (2, 0), (3, 0)][rng.integers(3)]
        self.array = self.random_values()
        self.exclusive = bool(rng.random() < 0.5)
        self.include_total = self.exclusive and bool(rng.random() < 0.5)
        self.reverse = bool(rng.random() < 0.4)
        self.mask = rng.random(self.shape) < rng.choice([0, 0.1, 0.5, 0.9, 1]) \
            if rng.random() < 0.35 else None
        self.mask_is_fortran = bool(rng.random() < 0.5)
        self.initial = self.random_initial() if rng.random() < 0.3 else None
        self.totals = bool(rng.random() < 0.3)
        self.in_place = bool(rng.random() < 0.15)
        self.is_big_endian = bool(rng.random() < 0.2)

    def default_dtype(self):
        if self.op in ("min", "max"):
            return self.dtype
        if self.dtype.kind in "bi":
            return np.dtype("int64")
        return np.dtype("uint64") if self.dtype.kind == "u" else self.dtype

    def random_shape(self):
        """Mostly small, of any rank; sometimes with lines that are split between threads."""
        rng = self.rng
        draw = rng.random()
        if draw < 0.03:
            return (int(rng.integers(100_000, 400_000)),)
        if draw < 0.06:
            shape = [int(rng.integers(1, 4)), int(rng.integers(10_000, 60_000))]
            rng.shuffle(shape)
            return tuple(shape)
        if draw < 0.09:
            shape = [int(rng.integers(2000, 9000)), int(rng.integers(1, 20))]
            rng.shuffle(shape)
            return tuple(shape)
        rank = int(rng.integers(1, 9))
        longest = {1: 3000, 2: 150, 3: 24, 4: 9, 5: 6, 6: 4, 7: 4, 8: 3}[rank]
        shape = [int(rng.integers(1, longest + 1)) for _ in range(rank)]
        if rng.random() < 0.05:
            shape[rng.integers(rank)] = 0
        if rng.random() < 0.1:
            shape[rng.integers(rank)] = 1
        return tuple(shape)

    def random_values(self):
        rng, shape, kind = self.rng, self.shape, self.dtype.kind
        to_float = self.out_dtype.kind in "fc"
        if kind == "b":
            return rng.random(shape) < 0.5
        if kind in "iu":
            limits = np.iinfo(self.dtype)
            if to_float and self.op == "prod":
                return rng.integers(1, 2, shape, dtype=self.dtype, endpoint=True)
            if to_float or rng.random() < 0.3:
                return rng.integers(max(limits.min, -9), 9, shape, dtype=self.dtype)
            return rng.integers(limits.min, limits.max, shape, dtype=self.dtype, endpoint=True)
        if not to_float:  # truncated: NumPy leaves undefined what is out of range
            low = 0 if self.out_dtype.kind == "u" else -100
            return rng.uniform(low, 100, shape).astype(self.dtype)
        values = self.random_reals()
        if kind == "c":
            values = values + 1j * self.random_reals()
            if self.op == "prod":
                values = np.exp(0.1 * rng.normal(size=shape) + 1j * rng.uniform(-3, 3, shape))
        elif self.op != "prod" and rng.random() < 0.15 and values.size:
            values.flat[rng.integers(values.size)] = rng.choice([np.nan, np.inf, -np.inf])
        return values.astype(self.dtype)

    def random_reals(self):
        rng, shape = self.rng, self.shape
        if self.op == "prod":  # neither overflows nor underflows
            return rng.choice([-1.0, 1.0], shape) * np.exp(rng.uniform(-0.03, 0.03, shape))
        draw = rng.random()
        if draw < 0.3:
            return rng.random(shape)
        if draw < 0.6:
            return rng.normal(size=shape)
        if draw < 0.8:
            return np.exp(2 * rng.normal(size=shape))
        return rng.integers(-5, 5, shape).astype(float)

    def random_initial(self):
        """The text of --initial."""
        rng, kind = self.rng, self.out_dtype.kind
        if kind == "b":
            return str(rng.choice(["True", "False", "0", "1"]))
        if kind in "iu":
            limits = np.iinfo(self.out_dtype)
            return str(rng.integers(limits.min, limits.max, dtype=self.out_dtype, endpoint=True))
        if kind == "f":
            return repr(float(rng.uniform(0.5, 2) if self.op == "prod" else rng.normal()))
        return str(complex(*rng.uniform(0.5, 2, 2)))

    # ---- The command line ------------------------------------------------------------------------

    def arguments(self):
        rng, result = self.rng, []
        axis = self.axis - len(self.shape) if rng.random() < 0.5 else self.axis
        if axis != -1 or rng.random() < 0.5:
            result += [f"--axis={axis}"] if rng.random() < 0.5 else ["--axis", axis]
        if self.op != "sum" or rng.random() < 0.5:
            result += ["--op", self.op]
        for flag, given in (("--exclusive", self.exclusive), ("--reverse", self.reverse),
                            ("--include-total", self.include_total)):
            if given:
                result.append(flag)
        if self.mask is not None:
            result += ["--mask", "mask.npy"]
        if self.initial is not None:
            result += ["--initial", self.initial]
        if self.totals:
            result += ["--totals", "totals.npy"]
        if self.named_dtype is not None:
            result += ["--dtype", self.named_dtype.name]
        if self.space is not None:
            result += ["--space", self.space]
        return result

    def __str__(self):
        order = "F" if self.is_fortran else "C"
        return (f"case {self.number}: {self.dtype} {self.shape} {order}, axis {self.axis}, "
                f"{self.op} to {self.out_dtype}")

    def run(self, tool, folder):
        """Runs the tool; raises AssertionError if the result is not right."""
        ordered = np.asfortranarray if self.is_fortran else np.ascontiguousarray
        array = ordered(self.array)
        path = os.path.join(folder, "in.npy")
        if self.is_big_endian:
            array = array.astype(array.dtype.newbyteorder(">"))
        save(path, array, self.version)
        fortran = bool(not array.flags.c_contiguous and array.flags.f_contiguous)
        if self.mask is not None:
            mask_order = np.asfortranarray if self.mask_is_fortran else np.ascontiguousarray
            save(os.path.join(folder, "mask.npy"), mask_order(self.mask))
        out = "in.npy" if self.in_place else "out.npy"
        arguments = ["scan", *self.arguments(), "in.npy", out]
        try:
            tool.must(*arguments, cwd=folder)
            expected = Expectation(self)
            expected.check("output", np.load(os.path.join(folder, out)), expected.output())
            assert is_fortran(os.path.join(folder, out)) == fortran, "the order changed"
            if self.totals:
                expected.check("totals", np.load(os.path.join(folder, "totals.npy")),
                               expected.totals())
        except AssertionError as error:
            raise AssertionError(f"{self}\n  {' '.join(map(str, arguments))}\n  {error}") from None


# ---- The oracle ----------------------------------------------------------------------------------


class Expectation:
    """All folds P[0], ..., P[n] of each line by NumPy, in scan order along the last axis.

    Exact types are NumPy's own accumulate in the output's type. Sums and products of floats are
    in long double, with what |result - P| may be.
    """

    def __init__(self, case):
        self.case = case
        self.is_exact = case.op in ("min", "max") or case.out_dtype.kind in "biu"
        self.magnitudes = None
        values = self.lined_up(case.array.astype(case.out_dtype))
        mask = None if case.mask is None else self.lined_up(case.mask)
        work = case.out_dtype
        if not self.is_exact:
            work = np.dtype(np.clongdouble if case.out_dtype.kind == "c" else np.longdouble)
        values = values.astype(work)
        identity = self.identity()
        if mask is not None:
            values = np.where(mask, values, np.array(identity, work))
        first = np.full(values.shape[:-1] + (1,), self.start(identity), work)
        values = np.concatenate([first, values], axis=-1)
        with np.errstate(all="ignore"):
            self.folds = UFUNC[case.op].accumulate(values, axis=-1, dtype=work)
            if not self.is_exact:
                self.magnitudes = self.allowed(values)

    def lined_up(self, array):
        """The axis last, in scan order."""
        array = np.moveaxis(array, self.case.axis, -1)
        return array[..., ::-1] if self.case.reverse else array

    def identity(self):
        op, dtype = self.case.op, self.case.out_dtype
        if op in ("sum", "prod"):
            return 0 if op == "sum" else 1
        if dtype.kind == "f":
            return np.inf if op == "min" else -np.inf
        if dtype.kind == "b":
            return op == "min"
        return np.iinfo(dtype).max if op == "min" else np.iinfo(dtype).min

    def start(self, identity):
        text, kind = self.case.initial, self.case.out_dtype.kind
        if text is None:
            return identity
        if kind == "b":
            return text in ("True", "1")
        if kind in "iu":
            return int(text)
        accumulator = {"float16": np.float32}.get(self.case.out_dtype.name, self.case.out_dtype.type)
        return accumulator(complex(text) if kind == "c" else float(text))

    def allowed(self, values):
        """How far each fold may be from the exact one."""
        is_single = self.case.out_dtype.name in ("float16", "float32", "complex64")
        u = 2.0**-24 if is_single else 2.0**-53
        count = np.arange(values.shape[-1])
        if self.case.op == "prod":
            # The contract says 8 u for float; in double each factor rounds once, a complex one three
            # times.
            each = 3 if values.dtype.kind == "c" else 1
            return (8 if is_single else each * (count + 1)) * u * abs(self.folds)
        # The contract says 8 u times the sum of magnitudes for float; any order of summation of
        # k + 1 values in double has an error of at most k u.
        factor = 8 * u if is_single else count * u
        if values.dtype.kind == "c":
            sums = (np.add.accumulate(abs(part), axis=-1) for part in (values.real, values.imag))
            return factor * np.sqrt(sum(s * s for s in sums))
        return factor * np.add.accumulate(abs(values), axis=-1)

    def output(self):
        """The part of the folds that the output holds."""
        if self.case.include_total:
            return np.s_[..., :]
        return np.s_[..., :-1] if self.case.exclusive else np.s_[..., 1:]

    def totals(self):
        return np.s_[..., -1]

    def check(self, what, found, part):
        """Compares what was found with a part of the folds."""
        assert found.dtype == self.case.out_dtype, f"{what} of {found.dtype}"
        expected = self.folds[part]
        if expected.ndim == self.folds.ndim:
            shape = list(self.case.shape)
            shape[self.case.axis] = expected.shape[-1]
            assert found.shape == tuple(shape), f"{what} of shape {found.shape}"
            found = self.lined_up(found)
        assert found.shape == expected.shape, f"{what} of shape {found.shape}"
        if found.dtype == np.bool_:  # every other byte than 0 and 1 is wrong, too
            good = found.view(np.uint8) == expected.view(np.uint8)
        elif self.is_exact:
            good = (found == expected) | ((found != found) & (expected != expected))
        else:
            good = self.is_close(found, expected, self.magnitudes[part])
        if not np.all(good):
            place = tuple(map(int, np.argwhere(~good)[0])) if good.ndim else ()
            raise AssertionError(
                f"{what} in scan order at {place}: found {found[place]!r}, expected "
                f"{expected[place]!r} ({np.count_nonzero(~good)} of {good.size} differ)")

    def is_close(self, found, expected, allowed):
        with np.errstate(all="ignore"):
            if found.dtype.kind == "c":
                regular = np.isfinite(expected)
                same = self.same_part(found.real, expected.real) & \
                    self.same_part(found.imag, expected.imag)
                return np.where(regular, abs(found - expected) <= allowed, same)
            if found.dtype == np.float16:  # rounded once more when it is stored
                low, high = ((expected + sign * allowed).astype(np.float16) for sign in (-1, 1))
                close = (low <= found) & (found <= high)
            else:
                close = abs(found - expected) <= allowed
            return np.where(np.isfinite(expected), close, self.same_part(found, expected))

    @staticmethod
    def same_part(found, expected):
        """Where a part of the exact result is infinite or NaN, so is that of the result."""
        return np.isfinite(expected) | (found == expected) | (np.isnan(found) & np.isnan(expected))


# ---- All cases -----------------------------------------------------------------------------------


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=20240601)
    parser.add_argument("--only", type=int, help="the number of one case")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    tool = Tool(options.command)
    spaces = tool.spaces()
    numbers = range(options.count) if options.only is None else [options.only]

    def run(number):
        case = Case(options.seed, number, spaces)
        with tempfile.TemporaryDirectory() as folder:
            try:
                case.run(tool, folder)
            except AssertionError as error:
                return case, error
        return case, None

    failures, seen = [], collections.Counter()
    workers = min(4, os.cpu_count() or 1)
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for case, error in pool.map(run, numbers):
            seen.update([case.op, case.out_dtype.name, f"rank {len(case.shape)}"])
            if error is not None:
                failures.append(error)
                print(error, flush=True)
    print(f"{len(numbers)} arrays, {len(failures)} wrong, spaces {', '.join(spaces)}:",
          ", ".join(f"{name} {count}" for name, count in sorted(seen.items())))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
