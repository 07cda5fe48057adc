# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Help, version, info and demo; and the files of scan beyond what random arrays cover: formats that NumPy
reads but no longer writes, conversions, NaN, names, links and permissions.
"""
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from support import Tool, np, raw_npy, save

TOOL = None
RANDOM = random.Random(7)

SCANS = ["running sum", "running product", "backward sum", "exclusive sum", "masked sum"]


class Commands(unittest.TestCase):
    def test_version(self):
        self.assertRegex(TOOL.must("--version"), r"^kokkos-scan \d+\.\d+\.\d+\n$")

    def test_help(self):
        text = TOOL.must("--help")
        for word in ("scan", "demo", "info", "Examples:", "--version"):
            self.assertIn(word, text)
        text = TOOL.must("scan", "--help")
        for word in ("--axis", "--op", "--exclusive", "--include-total", "--reverse", "--mask", "--initial",
                     "--totals", "--dtype", "--memory", "--space", "IN", "OUT", "Examples:", "numpy.cumulative_sum",
                     "exit status is 2", *TOOL.spaces()):
            self.assertIn(word, text)
        text = TOOL.must("demo", "--help")
        for word in ("--rows", "--cols", "--space", "--json", "fraction_of_copy", "Examples:"):
            self.assertIn(word, text)
        text = TOOL.must("info", "--help")
        for word in ("versions", "--plan", "--axis", "--op", "--dtype", "--mask", "--exclusive", "--include-total",
                     "--reverse", "--device", "Examples:"):
            self.assertIn(word, text)

    def test_examples_of_the_help(self):
        """Every example of `scan --help` runs, and the first equals what the help says."""
        lines = [line for line in TOOL.must("scan", "--help").splitlines()
                 if line.startswith("  kokkos-scan scan ")]
        self.assertEqual(len(lines), 6)
        with tempfile.TemporaryDirectory() as folder:
            x = np.random.default_rng(1).random((5, 6))
            for name, array in (("x", x), ("dp", x), ("m", x < 0.5)):
                save(os.path.join(folder, f"{name}.npy"), array)
            for line in lines:
                arguments = re.split(r"\s{2,}", line.strip())[0].split()[1:]
                TOOL.must(*arguments, cwd=folder)
                if arguments == ["scan", "x.npy", "y.npy"]:
                    found = np.load(os.path.join(folder, "y.npy"))
                    np.testing.assert_allclose(found, np.cumsum(x, axis=-1), rtol=1e-14)

    def test_info(self):
        text = TOOL.must("info")
        for pattern in (r"^kokkos-scan \d+\.\d+\.\d+$", r"^Kokkos \d+\.\d+\.\d+$", r"^spaces:$",
                        r"^  \w+: concurrency \d+, memory \w+", r", the default$", r"^devices: ",
                        r"^configuration of Kokkos:$"):
            self.assertRegex(text, re.compile(pattern, re.MULTILINE))

    def plan(self, *arguments):
        """The rows of a plan as a dictionary."""
        rows = dict(line.split(": ", 1) for line in TOOL.must("info", "--plan", *arguments).splitlines())
        for row in ("device", "lines", "kernel", "why", "tile", "blocks", "shared memory", "workspace"):
            self.assertIn(row, rows)
        return rows

    def test_plan(self):
        """Each kernel, for a shape that docs/cuda-backend.md gives to it."""
        for arguments, kernel in ((["1000000x72"], "cuda/lines"), (["4096x32768"], "cuda/in_registers"),
                                  (["4096x32768", "--op", "max"], "cuda/parts_of_lines"),
                                  (["4096x32768", "--dtype", "float64"], "cuda/parts_of_lines"),
                                  (["33554432"], "cuda/parts_of_lines"),
                                  (["10x1000000", "--axis", "0"], "cuda/narrow_columns"),
                                  (["1000000x100x3", "--axis", "1"], "cuda/narrow_columns"),
                                  (["100000000x3", "--axis", "0"], "cuda/narrow_columns"),
                                  (["8x2048x5120", "--axis=1"], "cuda/wide_columns"),
                                  (["8x2048x5123", "--axis=1"], "cuda/wide_columns"),
                                  (["72x1000001", "--axis=0"], "cuda/columns_by_threads"),
                                  (["1048576x64", "--axis=-2"], "cuda/wide_columns"),
                                  (["1048576x256", "--axis=-2"], "cuda/wide_columns")):
            self.assertEqual(self.plan(*arguments)["kernel"], kernel, arguments)
        rows = self.plan("3x1000x5x7", "--axis", "1")
        self.assertIn("105 lines of 1000 elements: (outer, n, inner) = (3, 1000, 35)", rows["lines"])
        # Where lines share nothing, each has one block or more lines do, and nothing else is needed.
        rows = self.plan("4096x32768")
        self.assertEqual((rows["blocks"].split()[0], rows["workspace"].split()[0]), ("4096", "0"))
        self.assertNotEqual(self.plan("33554432")["workspace"].split()[0], "0")

    def test_plan_fits_the_device(self):
        for _ in range(30):
            extents = [int(2 ** RANDOM.uniform(0, 11)) for _ in range(3)]
            axis = RANDOM.randrange(-3, 3)
            arguments = ["x".join(map(str, extents)), f"--axis={axis}",
                         "--dtype", RANDOM.choice(["int8", "uint16", "float32", "float64", "complex128"])]
            arguments += [flag for flag in ("--mask", "--reverse", "--exclusive") if RANDOM.random() < 0.5]
            for device, most in (("a100", 166912), ("l40s", 101376), ("h200", 232448), ("20,101376", 101376)):
                rows = self.plan(*arguments, "--device", device)
                self.assertLessEqual(int(rows["shared memory"].split()[0]), most, (arguments, device))
                blocks, _, threads, *_ = rows["blocks"].split()
                self.assertTrue(1 <= int(blocks) <= 2**31 - 1 and 32 <= int(threads) <= 1024, (arguments, device))

    def test_standard_output_that_cannot_be_written(self):
        with open("/dev/full", "w") as full:
            for arguments in (["info"], ["--help"], ["--version"]):
                process = TOOL.run(*arguments, capture_output=False, stdout=full, stderr=subprocess.PIPE)
                self.assertEqual(process.returncode, 2)
                self.assertEqual(process.stderr, "kokkos-scan: standard output cannot be written.\n")

    def test_demo_json(self):
        for space in TOOL.spaces():
            # Lines that fit one thread, and one that is split; a single element; no multiple of four.
            for rows, columns in ((37, 1001), (1, 1), (2, 200_003), (4096, 16)):
                results = json.loads(TOOL.must("demo", "--json", "--space", space, f"--rows={rows}",
                                               f"--cols={columns}"))
                self.assertEqual([result["scan"] for result in results], SCANS)
                for result in results:
                    self.assertEqual(list(result), ["scan", "space", "path", "rows", "cols", "ms",
                                                    "gb_per_s", "fraction_of_copy", "error_u"])
                    self.assertEqual((result["space"], result["rows"], result["cols"]),
                                     (space, rows, columns))
                    self.assertRegex(result["path"], r"^\w+/\w+")
                    for key in ("ms", "gb_per_s", "fraction_of_copy"):
                        self.assertGreater(result[key], 0)
                    # Bandwidth is that of 8 bytes an element, with a mask 9.
                    size = 9 if result["scan"] == "masked sum" else 8
                    self.assertAlmostEqual(
                        result["gb_per_s"] * result["ms"] * 1e6 / (rows * columns * size), 1, delta=1e-3)
                    bound = columns if result["scan"] == "running product" else 8
                    self.assertGreaterEqual(result["error_u"], 0)
                    self.assertLessEqual(result["error_u"], bound)
                    # Rounding to float alone leaves some error where there are many elements.
                    if rows * columns > 1000:
                        self.assertGreater(result["error_u"], 0.1)

    def test_demo_table(self):
        text = TOOL.must("demo", "--rows", 12, "--cols", 345)
        self.assertIn("12 x 345 float32", text)
        self.assertIn("u * sum|x|", text)
        table = text[text.index("scan "):].splitlines()
        table = table[next(i for i, line in enumerate(table) if line.startswith("scan  ")):]
        self.assertEqual(table[0].split()[:3], ["scan", "space", "path"])
        self.assertEqual([line.split("  ")[0].strip() for line in table[1:]], SCANS)
        self.assertEqual(len({len(line) for line in table}), 1, "the columns are aligned")


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="kokkos-scan-test.")
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def scan(self, array, *arguments):
        """The result for an array, or for a file's bytes."""
        if isinstance(array, bytes):
            with open(self.path("x.npy"), "wb") as file:
                file.write(array)
        else:
            save(self.path("x.npy"), array)
        TOOL.must("scan", *arguments, "x.npy", "y.npy", cwd=self.folder)
        return np.load(self.path("y.npy"))

    def equal(self, found, expected, dtype):
        expected = np.array(expected, dtype)
        self.assertEqual(found.dtype, expected.dtype)
        np.testing.assert_array_equal(found, expected, strict=True)

    # ---- Formats ----

    def test_headers_that_numpy_reads(self):
        data = np.arange(1, 5, dtype="<i4").tobytes()
        for header in ("{'descr': '<i4', 'fortran_order': False, 'shape': (4,), }",
                       "{'descr': '<i4', 'fortran_order': False, 'shape': (4,)}",
                       "{'shape': (4,), 'fortran_order': True, 'descr': '<i4'}",
                       '{"descr": "<i4", "fortran_order": False, "shape": (4L,), }',
                       "  {  'descr':'<i4' ,'fortran_order':False,'shape':( 4 , ) }  \n",
                       "{'descr': '=i4', 'fortran_order': False, 'shape': (4,), }",
                       "{'descr': 'i4', 'fortran_order': False, 'shape': (4,), }"):
            for version in ((1, 0), (2, 0), (3, 0)):
                # Without the padding that aligns the data, at every alignment.
                for blanks in range(4):
                    found = self.scan(raw_npy(header + blanks * " ", data, version), "--dtype=int32")
                    self.equal(found, [1, 3, 6, 10], np.int32)
        for descr, data in (("int32", data), ("i", data), ("<i", data), ("l", np.arange(1, 5).tobytes()),
                            ("float64", np.arange(1.0, 5).tobytes()), ("<d", np.arange(1.0, 5).tobytes()),
                            (">d", np.arange(1, 5, dtype=">f8").tobytes()), ("?", b"\1\2\0\377"),
                            (">F", np.arange(1, 5, dtype=">c8").tobytes()), ("e", np.ones(4, "f2").tobytes())):
            file = raw_npy(f"{{'descr': '{descr}', 'fortran_order': False, 'shape': (4,)}}", data)
            found = self.scan(file)
            expected = np.load(self.path("x.npy"))
            expected = np.cumulative_sum(expected, dtype=expected.dtype.newbyteorder("=")
                                         if expected.dtype.kind in "fc" else None)
            self.equal(found, expected, expected.dtype)
        for descr in (">i1", "<i1", "|i1", "i1"):
            header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': (3,), }}"
            self.equal(self.scan(raw_npy(header, b"\1\2\3")), [1, 3, 6], np.int64)

    def test_unaligned_data(self):
        for dtype in ("float32", "float64", "int64", "complex64", "complex128", "float16"):
            data = np.arange(1, 5, dtype=dtype)
            header = f"{{'descr': '{data.dtype.str}', 'fortran_order': False, 'shape': (4,)}}"
            for blanks in range(17):
                found = self.scan(raw_npy(header + blanks * " ", data.tobytes()))
                self.equal(found, [1, 3, 6, 10], dtype)

    def test_data_after_the_array_is_ignored(self):
        save(self.path("x.npy"), np.arange(4.0))
        with open(self.path("x.npy"), "rb") as file:
            self.equal(self.scan(file.read() + b"more"), [0, 1, 3, 6], np.float64)

    def test_output_is_the_file_that_numpy_writes(self):
        """But for the blanks by which some versions leave room for growth."""
        for array in (np.arange(6.0), np.arange(6.0).reshape(2, 3), np.asfortranarray(np.ones((2, 3))),
                      np.zeros((0, 3)), np.ones(2, np.complex64), np.ones((1, 1, 1), np.float16)):
            self.scan(array, "--op=prod")
            with open(self.path("y.npy"), "rb") as file:
                found = file.read()
            expected = np.multiply.accumulate(array, axis=-1)
            if not array.flags.c_contiguous:
                expected = np.asfortranarray(expected)
            save(self.path("z.npy"), expected)
            with open(self.path("z.npy"), "rb") as file:
                written = file.read()
            self.assertEqual((len(found) - expected.nbytes) % 64, 0)
            self.assertEqual(found[:8], written[:8])
            self.assertEqual(found[10:].replace(b" ", b""), written[10:].replace(b" ", b""))

    # ---- Values ----

    def test_nan_in_min_and_max(self):
        nan, inf = np.nan, np.inf
        x = [[3, 1, nan, 0], [nan, 1, 2, 3], [1, inf, -inf, 2]]
        for dtype in ("float16", "float32", "float64"):
            array = np.array(x, dtype)
            self.equal(self.scan(array, "--op=min"), np.minimum.accumulate(array, axis=-1), dtype)
            self.equal(self.scan(array, "--op=max"), np.maximum.accumulate(array, axis=-1), dtype)
            self.equal(self.scan(array, "--op=max", "--reverse"),
                       np.maximum.accumulate(array[:, ::-1], axis=-1)[:, ::-1], dtype)
            # A masked-out NaN contributes nothing, where the line begins with it as well.
            save(self.path("m.npy"), ~np.isnan(array))
            self.equal(self.scan(array, "--op=min", "--mask=m.npy"),
                       [[3, 1, 1, 0], [inf, 1, 1, 1], [1, 1, -inf, -inf]], dtype)
            self.equal(self.scan(array, "--op=sum", "--mask=m.npy"),
                       [[3, 4, 4, 4], [0, 1, 3, 6], [1, inf, nan, nan]], dtype)

    def test_identities_of_min_and_max(self):
        for dtype in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
            low, high = (False, True) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
            array = np.ones(2, dtype)
            for op, identity in (("min", high), ("max", low)):
                both = [identity, *[1] * 2]
                self.equal(self.scan(array, "--op", op, "--exclusive"), both[:2], dtype)
                self.equal(self.scan(array, "--op", op, "--exclusive", "--include-total"), both, dtype)
                save(self.path("m.npy"), np.zeros(2, bool))
                self.equal(self.scan(array, "--op", op, "--mask=m.npy", "--totals=t.npy"),
                           [identity] * 2, dtype)
                self.equal(np.load(self.path("t.npy")), identity, dtype)
                self.scan(np.zeros((2, 0), dtype), "--op", op, "--totals=t.npy")
                self.equal(np.load(self.path("t.npy")), [identity] * 2, dtype)
        for dtype in ("float16", "float32", "float64"):
            for op, identity in (("min", np.inf), ("max", -np.inf)):
                self.equal(self.scan(np.ones(2, dtype), "--op", op, "--exclusive"), [identity, 1], dtype)

    def test_logsumexp(self):
        x = [[1000.0, 1001, -np.inf, 3], [-np.inf, -np.inf, -1000, -1000.5], [np.inf, 0, np.nan, 1]]
        for dtype in ("float16", "float32", "float64"):
            array = np.array(x, dtype)
            with np.errstate(all="ignore"):
                expected = np.logaddexp.accumulate(array.astype(np.float64), axis=-1)
            self.scan(array, "--op=logsumexp")
            found = np.load(self.path("y.npy"))
            self.assertEqual(found.dtype, dtype)
            np.testing.assert_allclose(found, expected, rtol=4 * np.finfo(dtype).eps)
            self.equal(self.scan(array[:, :1], "--op=logsumexp", "--exclusive"), [[-np.inf]] * 3, dtype)
        self.scan(np.arange(5), "--op=logsumexp", "--in-order")
        found = np.load(self.path("y.npy"))
        self.assertEqual(found.dtype, np.float64)
        np.testing.assert_allclose(found, np.logaddexp.accumulate(np.arange(5.0)), rtol=1e-14)

    def test_conversions_equal_astype(self):
        """Lines of one element: nothing but the conversion, for all 14 x 14 pairs."""
        rng = np.random.default_rng(5)
        kinds = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
                 "float16", "float32", "float64", "complex64", "complex128"]
        for source in kinds:
            dtype = np.dtype(source)
            if dtype.kind in "iu":
                limits = np.iinfo(dtype)
                x = rng.integers(limits.min, limits.max, 500, dtype, endpoint=True)
                x[:3] = limits.min, limits.max, 0
            elif dtype.kind == "b":
                x = rng.random(500) < 0.5
            else:
                x = rng.normal(size=500) * 2.0 ** rng.integers(-30, 20, 500)
                # Ties, subnormals and the largest values of float16.
                x[:12] = [0, 1 + 2**-11, 1 + 3 * 2**-11, 65504, 65519.9, 65520, 2**-24, 2**-25,
                          3 * 2**-25, 2**-14 - 2**-26, np.inf, np.nan]
                if source == "float64":
                    x[12:14] = [1 + 2**-11 + 2**-40, 2**-25 + 2**-70]  # rounded twice, these are wrong
                if dtype.kind == "c":
                    x = np.stack([x, x[::-1]], axis=-1).view(complex)[:, 0]
                with np.errstate(all="ignore"):
                    x = x.astype(dtype)
            for target in kinds:
                to = np.dtype(target)
                if dtype.kind == "c" and to.kind != "c":
                    continue
                values = x
                if dtype.kind == "f" and to.kind in "iu":  # what else NumPy leaves to the processor
                    low, high = max(np.iinfo(to).min, -2.0**53), min(np.iinfo(to).max, 2.0**53)
                    values = x[(x.astype(float) >= low) & (x.astype(float) <= high)]
                with np.errstate(all="ignore"):
                    expected = values.astype(to)
                with self.subTest(source=source, target=target):
                    found = self.scan(values.reshape(-1, 1), "--dtype", target)
                    self.equal(found, expected.reshape(-1, 1), target)

    def test_floats_out_of_range_of_integers(self):
        x = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, -1.5, 300.7, 2.0**63]).reshape(-1, 1)
        low, high = -2**63, 2**63 - 1
        self.equal(self.scan(x, "--dtype=int64"),
                   np.reshape([0, high, low, high, low, -1, 300, high], (-1, 1)), "int64")
        self.equal(self.scan(x, "--dtype=int8"), np.reshape([0, -1, 0, -1, 0, -1, 44, -1], (-1, 1)), "int8")
        self.equal(self.scan(x, "--dtype=uint64").ravel(),
                   np.array([0, 2**64 - 1, 2**63, 2**64 - 1, 2**63, 2**64 - 1, 300, 2**63], np.uint64),
                   "uint64")
        self.equal(self.scan(x, "--dtype=bool"), np.ones((8, 1)), "bool")

    def test_masks_of_other_bytes_than_0_and_1(self):
        header = "{'descr': '|b1', 'fortran_order': False, 'shape': (4,), }"
        with open(self.path("m.npy"), "wb") as file:
            file.write(raw_npy(header, b"\0\2\1\xff"))
        self.equal(self.scan(np.array([1, 2, 4, 8]), "--mask=m.npy"), [0, 2, 6, 14], "int64")
        self.equal(self.scan(raw_npy(header, b"\0\2\1\xff")), [0, 1, 2, 3], "int64")

    def test_initial(self):
        one = np.ones(2)
        for text, value in (("1.5", 1.5), ("-2", -2), ("+3", 3), ("1e-3", 1e-3), (".5", 0.5),
                            ("inf", np.inf), ("-inf", -np.inf), ("nan", np.nan), ("0x1p-3", 0.125),
                            ("1e-400", 0)):
            for arguments in (["--initial", text], [f"--initial={text}"]):
                self.equal(self.scan(one, *arguments), [value + 1, value + 2], "float64")
        for text, value in (("1+2j", 1 + 2j), ("(1+2j)", 1 + 2j), ("-1-2j", -1 - 2j), ("3j", 3j), ("-3J", -3j),
                            ("2", 2), ("1.5e1-2e-1j", 15 - 0.2j), ("1.+2.j", 1 + 2j)):
            found = self.scan(one.astype(complex), "--initial", text, "--exclusive")
            self.equal(found, [value, value + 1], "complex128")
        found = self.scan(one.astype(complex), "--initial", "inf-nanj", "--exclusive")
        self.assertTrue(np.isposinf(found[0].real) and np.isnan(found[0].imag))
        for text, value in (("True", 1), ("False", 0), ("true", 1), ("0", 0), ("1", 1)):
            found = self.scan(np.zeros(2, bool), "--initial", text, "--dtype=bool")
            self.equal(found, [value, value], "bool")
        self.equal(self.scan(np.ones(1, np.int8), "--initial=-128", "--op=min"), [-128], "int8")
        self.equal(self.scan(np.ones(1, np.uint64), "--initial=18446744073709551615"), [0], "uint64")

    def test_float16_is_rounded_only_when_stored(self):
        x = np.ones(5000, np.float16)  # numpy.cumsum stays at 2048
        self.equal(self.scan(x), np.arange(1, 5001), "float16")
        self.assertTrue(np.isposinf(self.scan(np.full(3, 60000, np.float16))[-1]))

    def test_bool_output(self):
        """The sum of bools is "or", however many are true; every byte is 0 or 1."""
        x = np.ones(1000, bool)
        self.equal(self.scan(x, "--dtype=bool").view(np.uint8), np.ones(1000), "uint8")
        x[500] = False
        found = self.scan(x, "--dtype=bool", "--op=prod")
        self.equal(found.view(np.uint8), np.arange(1000) < 500, "uint8")

    def test_empty(self):
        for shape, axis in (((0,), 0), ((3, 0), 0), ((3, 0), 1), ((0, 3), 1), ((2, 0, 4), 2)):
            array = np.zeros(shape, np.float32)
            lines = shape[:axis] + shape[axis + 1:]
            self.equal(self.scan(array, f"--axis={axis}", "--totals=t.npy", "--initial=2"), array, "float32")
            self.equal(np.load(self.path("t.npy")), np.full(lines, 0 if 0 in lines else 2), "float32")
            found = self.scan(array, f"--axis={axis}", "--exclusive", "--include-total", "--op=prod")
            self.equal(found, np.ones(shape[:axis] + (shape[axis] + 1,) + shape[axis + 1:]), "float32")

    def test_spaces(self):
        rng = np.random.default_rng(3)
        x = rng.integers(-100, 100, (7, 300, 5))
        mask = rng.random(x.shape) < 0.5
        save(self.path("m.npy"), mask)
        for space in TOOL.spaces():
            found = self.scan(x, "--space", space, "--axis=1", "--mask=m.npy", "--totals=t.npy")
            expected = np.cumsum(np.where(mask, x, 0), axis=1)
            self.equal(found, expected, "int64")
            self.equal(np.load(self.path("t.npy")), expected[:, -1], "int64")

    # ---- Names ----

    def names(self):
        return sorted(os.listdir(self.folder))

    def test_output_may_be_the_input(self):
        x, mask = np.arange(6.0), np.arange(6) % 2 == 0
        save(self.path("x.npy"), x)
        save(self.path("m.npy"), mask)
        TOOL.must("scan", "x.npy", "x.npy", cwd=self.folder)
        self.equal(np.load(self.path("x.npy")), np.cumsum(x), "float64")
        os.link(self.path("x.npy"), self.path("hard.npy"))
        os.symlink("x.npy", self.path("link.npy"))
        TOOL.must("scan", "--mask=m.npy", "hard.npy", "link.npy", cwd=self.folder)
        self.equal(np.load(self.path("x.npy")), np.cumsum(np.cumsum(x) * mask), "float64")
        self.equal(np.load(self.path("hard.npy")), np.cumsum(x), "float64")
        TOOL.must("scan", "--mask=m.npy", "m.npy", "y.npy", cwd=self.folder)
        self.equal(np.load(self.path("y.npy")), np.cumsum(mask), "int64")
        self.assertEqual(self.names(), ["hard.npy", "link.npy", "m.npy", "x.npy", "y.npy"])

    def test_standard_input_and_output(self):
        x = np.random.default_rng(3).integers(0, 100, (50, 1000))
        save(self.path("x.npy"), x)
        save(self.path("m.npy"), x < 50)
        TOOL.must("scan", "--mask=m.npy", "--totals=t.npy", "x.npy", "y.npy", cwd=self.folder)

        def content(name):
            with open(self.path(name), "rb") as file:
                return file.read()

        expected, totals = content("y.npy"), content("t.npy")

        def run(*arguments, given="x.npy", **options):
            # By a pipe, which is read to its end, and as a file.
            for as_file in (False, True):
                with open(self.path(given), "rb") as file:
                    source = {"stdin": file} if as_file else {"input": content(given)}
                    process = TOOL.run("scan", *arguments, cwd=self.folder, text=False, **source, **options)
                self.assertEqual((process.returncode, process.stderr), (0, b""))
                yield process.stdout

        for memory in ([], ["--memory=16K"]):
            for out in run(*memory, "--mask=m.npy", "-", "-"):
                self.assertEqual(out, expected)
            for out in run(*memory, "--mask=-", "x.npy", "-", given="m.npy"):
                self.assertEqual(out, expected)
            for out in run(*memory, "--mask=m.npy", "--totals=-", "-", "z.npy"):
                self.assertEqual(out, totals)
                self.assertEqual(content("z.npy"), expected)
        self.assertFalse(os.path.exists(self.path("-")))
        # A file of that name.
        TOOL.must("scan", "x.npy", "./-", cwd=self.folder)
        self.assertTrue(os.path.exists(self.path("-")))
        # Nothing stays behind, whether or not anybody reads.
        folder = self.path("temporary")
        os.mkdir(folder)
        environment = {**os.environ, "TMPDIR": folder}
        for out in run("--mask=m.npy", "-", "-", env=environment):
            self.assertEqual(out, expected)
        read, write = os.pipe()
        os.close(read)
        process = TOOL.run("scan", "x.npy", "-", cwd=self.folder, capture_output=False, stdout=write,
                           stderr=subprocess.PIPE, env=environment)
        os.close(write)
        self.assertNotEqual(process.returncode, 0)
        self.assertEqual(os.listdir(folder), [])

    def test_links_are_followed(self):
        os.mkdir(self.path("data"))
        save(self.path("data/y.npy"), np.zeros(3))
        for target, link in (("data/y.npy", "link.npy"), ("link.npy", "link2.npy"),
                             ("data/new.npy", "dangling.npy")):
            os.symlink(target, self.path(link))
        save(self.path("x.npy"), np.ones(3))
        for link, target in (("link2.npy", "data/y.npy"), ("dangling.npy", "data/new.npy")):
            TOOL.must("scan", "x.npy", link, cwd=self.folder)
            self.assertTrue(os.path.islink(self.path(link)))
            self.equal(np.load(self.path(target)), [1, 2, 3], "float64")
        self.assertEqual(sorted(os.listdir(self.path("data"))), ["new.npy", "y.npy"])

    def test_permissions_are_kept(self):
        save(self.path("x.npy"), np.ones(3))
        save(self.path("y.npy"), np.ones(3))
        os.chmod(self.path("y.npy"), 0o604)
        TOOL.must("scan", "x.npy", "y.npy", cwd=self.folder)
        self.assertEqual(os.stat(self.path("y.npy")).st_mode & 0o7777, 0o604)
        mask = os.umask(0o027)
        try:
            TOOL.must("scan", "x.npy", "new.npy", cwd=self.folder)
        finally:
            os.umask(mask)
        self.assertEqual(os.stat(self.path("new.npy")).st_mode & 0o7777, 0o640)

    def test_odd_names(self):
        save(self.path("-x y.npy"), np.ones(3))
        TOOL.must("scan", "--op=prod", "--", "-x y.npy", "ü\n'$.npy", cwd=self.folder)
        self.equal(np.load(self.path("ü\n'$.npy")), [1, 1, 1], "float64")
        os.mkdir(self.path("folder"))
        TOOL.must("scan", "../-x y.npy", self.path("y.npy"), cwd=self.path("folder"))
        TOOL.must("scan", "./../folder/../-x y.npy", "z", cwd=self.path("folder"))
        self.assertEqual(self.names(), ["-x y.npy", "folder", "y.npy", "ü\n'$.npy"])


if __name__ == "__main__":
    TOOL = Tool(sys.argv[1:])
    unittest.main(argv=sys.argv[:1])
