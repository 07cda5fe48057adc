# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every bad input gets one line on stderr that says which file, what was found and what was expected, and
exit status 2; all files stay as they were, byte for byte, and none is left behind.
"""
import os
import pty
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from support import Tool, np, raw_npy, save

TOOL = None

GOOD_HEADER = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }"


def snapshot(folder):
    """Everything in a folder: names, bytes, permissions and times."""
    result = {}
    for root, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(root, name)
            status = os.lstat(path)
            content = None
            if os.path.isfile(path) and os.access(path, os.R_OK):
                with open(path, "rb") as file:
                    content = file.read()
            changed = None if name in folders else status.st_mtime_ns
            result[os.path.relpath(path, folder)] = (content, status.st_mode, status.st_ino, changed)
    return result


class BadInput(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="kokkos-scan-test.")
        self.addCleanup(shutil.rmtree, self.folder)
        self.save("x.npy", np.arange(12, dtype=np.float32).reshape(3, 4))
        self.save("i.npy", np.arange(12, dtype=np.int8).reshape(3, 4))
        self.save("c.npy", np.ones((3, 4), np.complex64))
        self.save("m.npy", np.ones((3, 4), bool))
        self.write("out.npy", b"what was here before")
        self.write("totals.npy", b"what was here before as well")

    def path(self, name):
        return os.path.join(self.folder, name)

    def save(self, name, array):
        save(self.path(name), array)

    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content)

    def refused(self, arguments, *words, **options):
        """Runs the tool and checks all that every refusal promises; returns the line."""
        before = snapshot(self.folder)
        process = TOOL.run(*arguments, cwd=self.folder, **options)
        with self.subTest(arguments=arguments):
            self.assertEqual(process.returncode, 2, process)
            self.assertEqual(process.stdout, "")
            self.assertTrue(process.stderr.startswith("kokkos-scan: "), process.stderr)
            self.assertTrue(process.stderr.endswith("\n"), process.stderr)
            self.assertEqual(process.stderr.count("\n"), 1, process.stderr)
            for word in words:
                self.assertIn(word, process.stderr)
            self.assertEqual(snapshot(self.folder), before)
        return process.stderr

    def refused_scan(self, arguments, *words, **options):
        """The same for a scan from x.npy to out.npy."""
        return self.refused(["scan", *arguments, "x.npy", "out.npy"], *words, **options)

    def refused_file(self, content, *words):
        """The same for a file of these bytes, as the input and as the mask."""
        self.write("bad.npy", content)
        self.refused(["scan", "bad.npy", "out.npy"], "bad.npy: found ", *words)
        self.refused_scan(["--mask", "bad.npy"], "bad.npy: found ", *words)

    # ---- Files that cannot be read ----

    def test_missing(self):
        self.refused(["scan", "no.npy", "out.npy"], "no.npy", "No such file", "expected a .npy file")
        self.refused(["scan", "no/x.npy", "out.npy"], "no/x.npy", "No such file")
        self.refused(["scan", "", "out.npy"])
        self.refused_scan(["--mask", "no.npy"], "no.npy", "No such file")

    def test_not_a_regular_file(self):
        os.mkdir(self.path("folder"))
        os.mkfifo(self.path("pipe"))
        self.refused(["scan", "folder", "out.npy"], "folder: found a folder", "expected a .npy file")
        self.refused(["scan", "pipe", "out.npy"], "pipe: found", "not a regular", timeout=60)
        self.refused(["scan", "/dev/null", "out.npy"], "/dev/null: found", "not a regular")

    def test_not_npy(self):
        self.refused_file(b"", "0 bytes", "expected a .npy file")
        self.refused_file(b"\x93NUM", "4 bytes", "expected a .npy file")
        self.refused_file(b"1,2,3\n4,5,6\n", "does not begin with", "expected a .npy file")
        self.refused_file(b"PK\x03\x04" + bytes(100), "does not begin with")

    def test_version(self):
        self.refused_file(raw_npy(GOOD_HEADER, bytes(48), (4, 0)), "version 4.0", "1.0, 2.0 or 3.0")
        self.refused_file(raw_npy(GOOD_HEADER, bytes(48), (1, 1)), "version 1.1", "1.0, 2.0 or 3.0")
        self.refused_file(raw_npy(GOOD_HEADER, bytes(48), (0, 0)), "version 0.0", "1.0, 2.0 or 3.0")

    def test_every_truncation(self):
        whole = raw_npy(GOOD_HEADER, np.arange(12, dtype="<f4").tobytes())
        begin = len(whole) - 48
        for size in [*range(6, 14), 20, begin - 1]:
            self.refused_file(whole[:size], "a header cut off", f"{size} bytes")
        for size in (begin, begin + 1, begin + 47):
            self.refused_file(whole[:size], f"{size - begin} bytes of data",
                              "48 for shape (3, 4) of float32")
        for version in ((2, 0), (3, 0)):
            self.refused_file(raw_npy(GOOD_HEADER, bytes(47), version), "47 bytes of data", "48")

    def test_malformed_header(self):
        for text in ("", "{", "{}", "hello", "{'descr': '<f4'}", "[1, 2]", "{'descr': '<f4'",
                     GOOD_HEADER[:-1], GOOD_HEADER + "x", GOOD_HEADER.replace("False", "Maybe"),
                     GOOD_HEADER.replace("descr", "dtype"), GOOD_HEADER.replace("(3, 4)", "(3; 4)"),
                     GOOD_HEADER.replace("(3, 4)", "(3, -4)"), GOOD_HEADER.replace("(3, 4)", "12"),
                     GOOD_HEADER.replace("(3, 4)", "(3.5, 4)"), GOOD_HEADER.replace("(3, 4)", "(3,,4)"),
                     GOOD_HEADER.replace("(3, 4)", "(3, 99999999999999999999)"),
                     GOOD_HEADER.replace("'<f4'", "4"), GOOD_HEADER.replace("'<f4'", "'<f4"),
                     "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), 'more': 1}",
                     "{'descr': '\n\n', 'fortran_order': False, 'shape': (3, 4)}"):
            self.refused_file(raw_npy(text, bytes(48)), "expected")

    def test_dtype(self):
        for descr, found in (("'>f16'", 'dtype ">f16"'), ("'<float32'", 'dtype "<float32"'),
                             ("'bfloat16'", 'dtype "bfloat16"'), ("'|O'", 'object dtype "|O"'), ("'<U3'", 'dtype "<U3"'),
                             ("'|S4'", 'dtype "|S4"'), ("'<M8[ns]'", 'dtype "<M8[ns]"'),
                             ("'<f16'", 'dtype "<f16"'), ("'|V4'", 'dtype "|V4"'), ("''", 'dtype ""'),
                             ("[('a', '<f4'), ('b', '<i4')]", "a structured dtype"),
                             ("('<f4', (2,))", "a structured dtype")):
            self.refused_file(raw_npy(GOOD_HEADER.replace("'<f4'", descr), bytes(48)), found,
                              "expected bool, int8", "or complex128")

    def test_numpy_writes_what_is_refused(self):
        for array, found in ((np.array([("a", 1)], dtype=[("name", "U1"), ("n", "i4")]), "structured"),
                             (np.array([1, "a", None], dtype=object), "object dtype")):
            np.save(self.path("bad.npy"), array)
            self.refused(["scan", "bad.npy", "out.npy"], "bad.npy", found)

    def test_shape(self):
        self.save("bad.npy", np.float64(3))
        self.refused(["scan", "bad.npy", "out.npy"], "bad.npy", "rank 0", "rank 1 to 8", "no axis")
        self.save("bad.npy", np.zeros((1,) * 9))
        self.refused(["scan", "bad.npy", "out.npy"], "bad.npy", "rank 9", "rank 1 to 8")
        # Too many elements, or none in too many lines.
        for shape in ("(4611686018427387904, 2)", "(4294967296, 4294967296)", "(288230376151711745,)"):
            self.write("bad.npy", raw_npy(GOOD_HEADER.replace("(3, 4)", shape), bytes(48)))
            self.refused(["scan", "bad.npy", "out.npy"], "bad.npy: found shape " + shape,
                         "at most 2^58 elements")
        for shape, axis, lines in (("(0, 4611686018427387904, 4)", 0, "(4611686018427387904, 4)"),
                                   ("(4611686018427387904, 0, 4)", 1, "(4611686018427387904, 4)"),
                                   ("(2147483648, 0, 2147483648)", 1, "(2147483648, 2147483648)")):
            self.write("bad.npy", raw_npy(GOOD_HEADER.replace("(3, 4)", shape), b""))
            self.refused(["scan", f"--axis={axis}", "bad.npy", "out.npy"],
                         "bad.npy without the axis: found shape " + lines, "at most 2^58 elements")

    # ---- Options that do not fit ----

    def test_axis(self):
        for axis in ("2", "-3", "2147483647"):
            self.refused_scan([f"--axis={axis}"], "--axis", axis, "-2 to 1", "(3, 4)", "x.npy")
        for axis in ("one", "1.5", "99999999999999999999", ""):
            self.refused_scan(["--axis", axis], "--axis")

    def test_mask(self):
        self.refused_scan(["--mask", "i.npy"], "i.npy", "mask of int8", "expected bool")
        for shape in ((4, 3), (12,), (3, 4, 1), (3, 5)):
            self.save("bad.npy", np.ones(shape, bool))
            text = str(tuple(shape))
            self.refused_scan(["--mask", "bad.npy"], "bad.npy", text, "expected (3, 4)", "x.npy")

    def test_operator(self):
        self.refused_scan(["--op", "median"], "--op", '"median"', "sum, prod, min, max or logsumexp")
        self.refused_scan(["--op", ""], "--op", '""')
        self.refused_scan(["--op", "logsumexp", "--dtype", "int32"], "logsumexp", "int32", "float16, float32")
        self.refused(["scan", "--op", "logsumexp", "c.npy", "out.npy"], "c.npy", "logsumexp", "sum or prod")
        for op in ("min", "max"):
            self.refused(["scan", "--op", op, "c.npy", "out.npy"], "c.npy", op, "complex64", "sum or prod")
            self.refused_scan(["--op", op, "--dtype", "complex128"], op, "complex128", "x.npy")

    def test_dtype_option(self):
        for name in ("float", "f4", "float128", "object", ">f4", "Float32", ""):
            self.refused_scan(["--dtype", name], "--dtype", f'"{name}"', "float16, float32")
        for name in ("bool", "int8", "uint64", "float16", "float64"):
            self.refused(["scan", "--dtype", name, "c.npy", "out.npy"], "--dtype", name, "c.npy",
                         "complex64 or complex128")

    def test_include_total(self):
        self.refused_scan(["--include-total"], "--include-total", "--exclusive")

    def test_initial(self):
        def refused(dtype, *texts):
            for text in texts:
                self.refused_scan(["--dtype", dtype, "--initial", text], "--initial", f'"{text}"', dtype)

        refused("bool", "2", "yes", "", "-1", "0.0")
        refused("int8", "128", "-129", "1.5", "1e2", "x", "", " 1", "1 ", "0x10", "++1", "+-1", "True")
        refused("int16", "32768", "-32769")
        refused("int64", "9223372036854775808", "-9223372036854775809")
        refused("uint8", "256", "-1", "1+2j")
        refused("uint64", "18446744073709551616", "-1")
        refused("float16", "65520", "-1e6", "abc", "1,5", "", " 1", "1 ", "1e", "1j", "1.5.2", "--1")
        refused("float32", "1e39", "-1e39", "1e400", "infin")
        refused("float64", "1e400", "-1e400", "nanx")
        refused("complex64", "1e39", "1+1e39j", "1+2", "1+2i", "j", "1 + 2j", "1+2j+3", "(1+2j", "1j2")
        refused("complex128", "1e400j", "1+j2", "", "()")

    def test_space(self):
        line = self.refused_scan(["--space", "abacus"], "--space", '"abacus"')
        for name in TOOL.spaces():
            self.assertIn(name, line)
            self.refused_scan(["--space", name.upper()], name)
        self.refused(["demo", "--space", "abacus"], "--space", '"abacus"')

    def test_command_line(self):
        if os.path.basename(TOOL.command[0]) == "kokkos-scan":  # scripts/run runs the demo
            self.refused([], "ubcommand")
        self.refused(["frobnicate"])
        self.refused(["scan"], "required")
        self.refused(["scan", "x.npy"], "OUT", "required")
        self.refused(["scan", "x.npy", "out.npy", "more.npy"], "more.npy")
        self.refused_scan(["--frobnicate"], "--frobnicate")
        self.refused(["scan", "x.npy", "out.npy", "--axis"], "--axis")
        self.refused_scan(["--axis", "0", "--axis", "1"], "--axis")
        self.refused(["info", "more"], "more")
        self.refused(["info", "--axis", "0"], "--plan")
        self.refused(["--frobnicate"])

    def test_plan(self):
        for shape in ("", "x", "3x", "x3", "0x4", "-1x2", "3y4", "1.5x2", "2x2x2x2x2x2x2x2x2", "99999999x99999999"):
            self.refused(["info", f"--plan={shape}"], "--plan")
        self.refused(["info", "--plan", "3x4", "--axis", "2"], "--axis", "2", "-2 to 1")
        self.refused(["info", "--plan", "3x4", "--op", "median"], "--op", '"median"', "sum, prod, min or max")
        self.refused(["info", "--plan", "3x4", "--dtype", "complex64", "--op", "max"], "--op", '"max"', "sum or prod")
        self.refused(["info", "--plan", "3x4", "--dtype", "float17"], "--dtype", '"float17"')
        for device in ("abacus", "132", "132,", ",232448", "0,232448", "132,65536"):
            self.refused(["info", "--plan", "3x4", "--device", device], "--device", f'"{device}"')
        self.refused(["info", "--plan", "3x4", "--include-total"], "--include-total", "--exclusive")

    def test_demo(self):
        for option in ("--rows", "--cols"):
            for value in ("0", "-1"):
                self.refused(["demo", f"{option}={value}"], option, value, "1 or more")
            for value in ("many", "1.5", "99999999999999999999", ""):
                self.refused(["demo", option, value], option)
        self.refused(["demo", "--rows=4611686018427387904", "--cols=4"], "4611686018427387904", "2^60")
        self.refused(["demo", "--rows=1", "--cols=4611686018427387904"], "4611686018427387904", "2^60")
        # More than any memory, less than what is refused at sight.
        self.refused(["demo", "--rows=1048576", "--cols=1073741824"])

    def test_names_with_control_characters(self):
        self.refused(["scan", "no\nsuch\nfile.npy", "out.npy"], "file.npy")
        self.refused_scan(["--op", "a\nb"], "--op")

    # ---- Files that cannot be written ----

    def test_standard_streams(self):
        self.refused(["scan", "--mask=-", "-", "out.npy"], "--mask", "standard input, which is IN", input="")
        self.refused(["scan", "--totals=-", "x.npy", "-"], "--totals", "output file -", "another file")
        self.refused(["scan", "-", "out.npy"], "-: found", "a file of 0 bytes", "expected a .npy file", input="")
        self.refused(["scan", "-", "out.npy"], "-: found", "does not begin with", input="1,2,3 and more")
        own, other = pty.openpty()
        self.refused(["scan", "-", "out.npy"], "-: found a terminal", "a .npy file", stdin=other)
        process = TOOL.run("scan", "x.npy", "-", cwd=self.folder, capture_output=False, stdout=other,
                           stderr=subprocess.PIPE)
        self.assertEqual(process.returncode, 2)
        self.assertIn("-: found a terminal, expected a file or a pipe", process.stderr)
        os.close(own)
        os.close(other)
        with open("/dev/full", "w") as full:
            process = TOOL.run("scan", "x.npy", "-", cwd=self.folder, capture_output=False, stdout=full,
                               stderr=subprocess.PIPE)
        self.assertEqual((process.returncode, process.stderr),
                         (2, "kokkos-scan: -: found no way to write there (No space left on device), "
                             "expected a file that can be written.\n"))

    def test_unwritable_output(self):
        os.mkdir(self.path("folder"))
        os.mkfifo(self.path("pipe"))
        os.symlink("nowhere/y.npy", self.path("dangling"))
        os.symlink("loop", self.path("loop"))
        long_name = 300 * "y"
        for out, words in (("no/y.npy", ["No such file"]), ("x.npy/y.npy", ["Not a directory"]),
                           ("folder", ["a folder"]), ("folder/", ["a folder"]), ("new/", []), ("", []),
                           (".", ["a folder"]), ("pipe", ["not a regular file"]),
                           ("/dev/full", ["not a regular file"]), ("dangling", ["No such file"]),
                           ("loop", ["symbolic links"]), (long_name, ["too long"])):
            self.refused(["scan", "x.npy", out], f"kokkos-scan: {out}: found", "expected", *words)
            if out:
                self.refused_scan(["--totals", out], f"kokkos-scan: {out}: found", "expected", *words)

    def test_totals_is_the_output(self):
        os.symlink("out.npy", self.path("link.npy"))
        os.symlink(".", self.path("here"))
        for totals in ("out.npy", "./out.npy", "link.npy", "here/out.npy", self.path("out.npy")):
            self.refused_scan(["--totals", totals], "--totals", totals, "another file")
        os.remove(self.path("out.npy"))
        for totals in ("out.npy", "./out.npy", "link.npy", "here/out.npy", self.path("out.npy")):
            self.refused_scan(["--totals", totals], "--totals", totals, "another file")

    def test_what_is_read_is_not_replaced(self):
        """Nor by another name of it. (OUT may be IN.)"""
        self.save("mask.npy", np.ones((3, 4), bool))
        for name in ("x", "mask", "out"):
            os.symlink(f"{name}.npy", self.path(f"{name}-link.npy"))
            os.link(self.path(f"{name}.npy"), self.path(f"{name}-hard.npy"))
        os.symlink(".", self.path("here"))

        def names(name):
            return (f"{name}.npy", f"./{name}.npy", f"here/{name}.npy", f"{name}-link.npy", f"{name}-hard.npy",
                    self.path(f"{name}.npy"))

        for file in names("x"):
            self.refused(["scan", "--totals", file, "x.npy", "out.npy"], "--totals", "input file " + file,
                         "another file")
            self.refused(["scan", "--totals", "x.npy", file, "out.npy"], "--totals", "input file x.npy")
            self.refused(["scan", "--totals", "x.npy", "--memory=1M", file, file], "--totals", "x.npy")
        for file in names("mask"):
            self.refused(["scan", "--mask", "mask.npy", "x.npy", file], "OUT", "the mask mask.npy", "another file")
            self.refused(["scan", "--mask", file, "x.npy", "mask.npy"], "OUT", "the mask " + file)
            self.refused(["scan", "--mask", "mask.npy", "--totals", file, "x.npy", "out.npy"], "--totals",
                         "the mask mask.npy")
            self.refused(["scan", "--mask", file, "mask.npy", "mask.npy"], "OUT", "the mask " + file)
        for file in names("out"):
            self.refused(["scan", "--totals", file, "x.npy", "out.npy"], "--totals", "output file " + file)

    def test_disk_full(self):
        """A limit of the file size stands for a full disk: write() first writes less, then fails."""
        self.save("large.npy", np.ones((1000, 40)))

        def limited(size):
            return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        for size in (50, 1000, 200_000):
            self.refused(["scan", "large.npy", "out.npy"], "out.npy", "File too large",
                         preexec_fn=limited(size))
            self.refused(["scan", "--mask", "large.npy", "large.npy", "new.npy"], "large.npy")
        # The output fits, the totals do not: neither may change.
        self.save("empty.npy", np.ones((20_000, 0), np.int8))
        self.refused(["scan", "--totals", "totals.npy", "empty.npy", "out.npy"], "totals.npy",
                     "File too large", preexec_fn=limited(1000))

    def test_permissions(self):
        """Folders and files without write permission, and unreadable files; not even root reads as nobody."""
        options = {}
        if os.geteuid() == 0:
            options = {"user": 65534, "group": 65534, "extra_groups": []}
            try:
                usable = TOOL.run("--version", cwd="/", **options).returncode == 0
            except OSError:
                usable = False
            if not usable:
                self.skipTest("the command cannot be run as the user nobody")
        os.chmod(self.folder, 0o755)
        for name in os.listdir(self.folder):
            os.chmod(self.path(name), 0o644)
        os.mkdir(self.path("open"))
        os.chmod(self.path("open"), 0o777)
        self.write("open/fixed.npy", b"what was here before")
        os.chmod(self.path("open/fixed.npy"), 0o444)
        if os.geteuid() != 0:
            os.chmod(self.folder, 0o555)
        try:
            self.refused(["scan", "x.npy", "new.npy"], "new.npy", "Permission denied", **options)
            self.refused_scan([], "out.npy", "Permission denied", **options)
            self.refused(["scan", "x.npy", "open/fixed.npy"], "open/fixed.npy", "Permission denied",
                         **options)
        finally:
            os.chmod(self.folder, 0o755)
        os.chmod(self.path("x.npy"), 0)
        self.refused(["scan", "x.npy", "open/y.npy"], "x.npy", "Permission denied", **options)

    def test_killed(self):
        """Whenever a scan is stopped, the output is the old or the new one, and nothing is left."""
        self.save("large.npy", np.ones((2000, 2000)))
        TOOL.must("scan", "large.npy", "new.npy", cwd=self.folder)
        names = sorted(os.listdir(self.folder))
        with open(self.path("new.npy"), "rb") as file:
            new = file.read()
        with open(self.path("out.npy"), "rb") as file:
            old = file.read()
        generator = random.Random(1)
        stopped = 0
        for sent in 10 * [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]:
            process = subprocess.Popen([*TOOL.command, "scan", "large.npy", "out.npy"], cwd=self.folder,
                                       start_new_session=True, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            time.sleep(generator.uniform(0, 0.15))
            try:
                os.killpg(process.pid, sent)
            except ProcessLookupError:
                pass
            stopped += process.wait(60) != 0
            self.assertEqual(sorted(os.listdir(self.folder)), names)
            with open(self.path("out.npy"), "rb") as file:
                self.assertIn(file.read(), (old, new))
            self.write("out.npy", old)
        print(f"stopped {stopped} of 30 scans", file=sys.stderr)


if __name__ == "__main__":
    TOOL = Tool(sys.argv[1:])
    unittest.main(argv=sys.argv[:1])
