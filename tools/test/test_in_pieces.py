# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`kokkos-scan scan --memory` and `mpirun kokkos-scan scan` write what a scan of the whole array does: the very
bytes with --in-order, for integers, minima and maxima, and within the contract's bound otherwise. Memory stays
bounded, and mistakes end all ranks.

    python3 test_in_pieces.py build/tools/kokkos-scan [--launcher mpirun --oversubscribe -n]
"""
import argparse
import os
import pty
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from support import Tool, np

TOOL = None
LAUNCHER = None
FLOATS = ["float16", "float32", "float64", "complex64", "complex128"]


def content(path):
    with open(path, "rb") as file:
        return file.read()


class Case:
    """A random array and a random command line."""

    def __init__(self, seed):
        rng = self.rng = np.random.default_rng(seed)
        self.dtype = np.dtype(str(rng.choice(FLOATS + ["bool", "int16", "int64", "uint8"])))
        is_complex = self.dtype.kind == "c"
        self.op = str(rng.choice(["sum", "prod"] if is_complex else ["sum", "prod", "min", "max"]))
        rank = int(rng.integers(1, 4))
        self.shape = [int(n) for n in rng.integers(1, {1: 9000, 2: 120, 3: 24}[rank], rank)]
        if rng.random() < 0.05:
            self.shape[rng.integers(rank)] = 0
        self.axis = int(rng.integers(rank))
        order = "F" if rng.random() < 0.3 else "C"
        if self.dtype.kind in "fc":
            x = rng.normal(size=self.shape) if self.op != "prod" else np.exp(rng.uniform(-.02, .02, self.shape))
            x = x * np.exp(1j * rng.uniform(-3, 3, self.shape)) if is_complex else x
        else:
            x = rng.integers(0, 2 if self.dtype.kind == "b" else 100, self.shape)
        self.x = np.asarray(x.astype(self.dtype), order=order)
        if self.x.size and self.dtype.kind == "f":
            self.x.flat[rng.integers(self.x.size)] = -0.0
        self.in_order = bool(rng.random() < 0.5)
        self.mask = np.asarray(rng.random(self.shape) < rng.choice([0, 0.02, 0.6]), order=order) \
            if rng.random() < 0.4 else None
        self.arguments = ["--axis", self.axis, "--op", self.op]
        self.arguments += ["--in-order"] * self.in_order
        self.arguments += ["--reverse"] * bool(rng.random() < 0.4)
        if rng.random() < 0.5:
            self.arguments += ["--exclusive"] + ["--include-total"] * bool(rng.random() < 0.5)
        if rng.random() < 0.3:
            self.arguments += ["--initial", 1]
        if rng.random() < 0.2:
            self.arguments += ["--dtype", "complex128" if is_complex else "float32"]

    def write(self, folder):
        big_endian = self.x.dtype.newbyteorder(">")
        np.save(os.path.join(folder, "x.npy"), self.x.astype(big_endian) if self.rng.random() < 0.2 else self.x)
        if self.mask is not None:
            np.save(os.path.join(folder, "m.npy"), self.mask)
            self.arguments += ["--mask", "m.npy"]

    def compare(self, folder, what):
        """y.npy and t.npy with those of the whole array."""
        for name in "yt":
            whole = os.path.join(folder, f"{name}_whole.npy")
            pieces = os.path.join(folder, f"{name}.npy")
            expected = np.load(whole)
            kind = expected.dtype.kind
            if kind not in "fc" or self.in_order or self.op in ("min", "max"):
                assert content(pieces) == content(whole), (what, name, self.shape, self.dtype)
                continue
            found = np.load(pieces)
            assert found.dtype == expected.dtype and found.shape == expected.shape, (what, name)
            assert np.isfortran(found) == np.isfortran(expected), (what, name)
            size = np.abs(self.x.astype("complex128")).sum() + 1 if self.op == "sum" else np.abs(expected) * 1000
            error = np.abs(found.astype("complex128") - expected.astype("complex128"))
            assert np.all(error <= 16 * np.finfo(expected.dtype).eps * size), (what, name, self.shape, self.dtype)


class InPieces(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="kokkos-scan-test.")
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def launch(self, ranks, *arguments, wrapper=()):
        command = [*LAUNCHER, str(ranks), *wrapper, *TOOL.command, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=self.folder)

    def check(self, case, run, what):
        case.write(self.folder)
        TOOL.must("scan", *case.arguments, "--totals", "t_whole.npy", "x.npy", "y_whole.npy", cwd=self.folder)
        run("scan", *case.arguments, "--totals", "t.npy", "x.npy", "y.npy")
        case.compare(self.folder, (what, case.arguments))
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith(".")], [])

    def test_progress_on_a_terminal(self):
        """A line that goes away; elsewhere not a word, as all other tests see."""
        np.save(self.path("x.npy"), np.ones(400_000))
        for arguments in (["--memory=4K"], ["--memory=1G"]):
            own, other = pty.openpty()
            begin = time.monotonic()
            process = subprocess.Popen([*TOOL.command, "scan", *arguments, "x.npy", "y.npy"], cwd=self.folder,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=other)
            os.close(other)
            seen = b""
            while True:
                try:
                    seen += os.read(own, 4096)
                except OSError:  # the other end is closed
                    break
                if not seen:
                    break
            os.close(own)
            self.assertEqual((process.wait(), process.stdout.read()), (0, b""))
            process.stdout.close()
            if time.monotonic() - begin > 2:
                self.assertRegex(seen, rb"\[[#.]{20}\] \d+ % of 3.2 MB, [\d.]+ [kM]?B/s, \d+ s left")
            if seen:
                self.assertTrue(seen.endswith(b"\r\033[K"), seen)

    def test_one_process(self):
        for seed in range(150):
            case = Case([1, seed])
            memory = int(2 ** case.rng.uniform(12, 17))
            with self.subTest(seed=seed, memory=memory):
                self.check(case, lambda *a: TOOL.must(*a, "--memory", memory, cwd=self.folder), seed)

    def test_in_place(self):
        x = np.random.default_rng(2).random((300, 70))
        np.save(self.path("x.npy"), x)
        TOOL.must("scan", "--axis", 0, "--memory", "8K", "--in-order", "x.npy", "x.npy", cwd=self.folder)
        np.testing.assert_array_equal(np.load(self.path("x.npy")), np.cumsum(x, axis=0), strict=True)

    def test_accuracy_does_not_depend_on_the_number_of_pieces(self):
        """A running sum of a million ones and tenths in float32, whose serial loop is far off."""
        x = np.tile(np.float32([1, 0.1]), 500_000)
        np.save(self.path("x.npy"), x)
        TOOL.must("scan", "--memory", "4K", "x.npy", "y.npy", cwd=self.folder)
        exact = np.cumsum(x.astype("float64"))
        np.testing.assert_array_less(np.abs(np.load(self.path("y.npy")) - exact), 2.0 ** -23 * exact + 1e-30)

    def peak(self, *arguments):
        """The largest resident memory of a scan, in bytes."""
        # A process begins with the peak of the one that it was forked from: a small one, not this one.
        measure = ("import os, subprocess, sys; p = subprocess.Popen(sys.argv[1:]); "
                   "_, status, usage = os.wait4(p.pid, 0); print(status, usage.ru_maxrss)")
        output = subprocess.run([sys.executable, "-S", "-c", measure, *TOOL.command, "scan", *map(str, arguments)],
                                cwd=self.folder, env={**os.environ, "OMP_NUM_THREADS": "2"}, check=True,
                                capture_output=True, text=True).stdout
        status, peak = map(int, output.split())
        self.assertEqual(status, 0)
        return peak * 1024

    def test_memory_is_bounded(self):
        """Arrays of 80 MB along any axis, converted and not, in 4 MB; the whole takes more than 80."""
        np.save(self.path("small.npy"), np.ones(10))
        base = self.peak("--memory", "4M", "small.npy", "y.npy")
        rng = np.random.default_rng(3)
        for shape, axis in (((10_000_000,), 0), ((2, 5_000_000), 0), ((2, 5_000_000), 1), ((1000, 100, 100), 1)):
            np.save(self.path("x.npy"), rng.random(shape))
            for options in ([], ["--in-order"], ["--dtype", "float32"], ["--exclusive", "--include-total"]):
                used = self.peak("--memory", "4M", "--axis", axis, *options, "x.npy", "y.npy") - base
                self.assertLess(used, 6 << 20, (shape, axis, options))
        self.assertGreater(self.peak("x.npy", "y.npy") - base, 80_000_000)

    def test_what_is_no_memory(self):
        np.save(self.path("x.npy"), np.ones(3))
        for text in ("2", "4095", "1g", "2.5G", "-4K", "G", "4KB", "99999999999G", "0"):
            process = TOOL.run("scan", f"--memory={text}", "x.npy", "y.npy", cwd=self.folder)
            self.assertEqual(process.returncode, 2, text)
            self.assertIn("--memory", process.stderr)
            self.assertEqual(process.stderr.count("\n"), 1, process.stderr)
        np.save(self.path("m.npy"), np.asfortranarray(np.ones((3, 2), bool)))
        np.save(self.path("x.npy"), np.ones((3, 2)))
        process = TOOL.run("scan", "--memory=1M", "--mask=m.npy", "x.npy", "y.npy", cwd=self.folder)
        self.assertEqual(process.returncode, 2)
        self.assertIn("m.npy: found a mask in the other order", process.stderr)
        self.assertFalse(os.path.exists(self.path("y.npy")))

    def test_a_full_disk(self):
        np.save(self.path("x.npy"), np.ones(100_000))
        with open(self.path("y.npy"), "wb") as file:
            file.write(b"what was here")

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

        process = TOOL.run("scan", "--memory=16K", "x.npy", "y.npy", cwd=self.folder, preexec_fn=limit)
        self.assertEqual(process.returncode, 2)
        self.assertIn("y.npy: found no way to write there (File too large)", process.stderr)
        self.assertEqual(content(self.path("y.npy")), b"what was here")
        self.assertEqual(sorted(os.listdir(self.folder)), ["x.npy", "y.npy"])

    # ---- Over ranks ----

    def over_ranks(self, ranks, *arguments):
        process = self.launch(ranks, *arguments)
        self.assertEqual(process.returncode, 0, process)
        self.assertNotIn("kokkos-scan:", process.stderr)

    def test_ranks(self):
        if LAUNCHER is None:
            self.skipTest("no --launcher was named")
        for seed in range(24):
            case = Case([2, seed])
            ranks = 2 + seed % 3
            memory = [] if seed % 2 else ["--memory", int(2 ** case.rng.uniform(12, 17))]
            with self.subTest(seed=seed, ranks=ranks, memory=memory):
                self.check(case, lambda *a: self.over_ranks(ranks, *a, *memory), (seed, ranks))

    def test_ranks_share_the_axis(self):
        """One line, and columns, in order: the bytes of NumPy's serial loop for any number of ranks."""
        if LAUNCHER is None:
            self.skipTest("no --launcher was named")
        rng = np.random.default_rng(4)
        for shape, dtype in (((100_003,), "float32"), ((501, 60), "float64")):
            x = rng.normal(size=shape).astype(dtype)
            np.save(self.path("x.npy"), x)
            np.save(self.path("expected.npy"), np.cumsum(x, axis=0))
            for ranks in (1, 2, 4):
                self.over_ranks(ranks, "scan", "--axis=0", "--in-order", "x.npy", "y.npy")
                self.assertEqual(content(self.path("y.npy")), content(self.path("expected.npy")), (shape, ranks))

    def test_mistakes_end_all_ranks(self):
        if LAUNCHER is None:
            self.skipTest("no --launcher was named")
        np.save(self.path("x.npy"), np.ones(10_000_000))
        np.save(self.path("m.npy"), np.ones(3, bool))
        with open(self.path("y.npy"), "wb") as file:
            file.write(b"what was here")
        # The messages of MPI may go through files of some 20 MB, which a limit must leave alone.
        limited = ["sh", "-c", 'ulimit -f 120000; exec "$0" "$@"']
        for arguments, words, wrapper in (
                (["--mask", "m.npy"], "m.npy: found a mask of shape (3,)", []),
                (["--axis", 7], "--axis: found 7", []),
                (["--frobnicate"], "--frobnicate", []),
                (["--memory", "4M"], "y.npy: found no way to write there (File too large)", limited)):
            process = self.launch(3, "scan", *arguments, "x.npy", "y.npy", wrapper=wrapper)
            self.assertNotEqual(process.returncode, 0, arguments)
            self.assertEqual(process.stderr.count("kokkos-scan: "), 1, process.stderr)
            self.assertIn(words, process.stderr)
            self.assertEqual(content(self.path("y.npy")), b"what was here")
            self.assertEqual(sorted(os.listdir(self.folder)), ["m.npy", "x.npy", "y.npy"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("command")
    parser.add_argument("--launcher", nargs=argparse.REMAINDER)
    parsed = parser.parse_args()
    TOOL = Tool([parsed.command])
    LAUNCHER = parsed.launcher
    unittest.main(argv=sys.argv[:1])
