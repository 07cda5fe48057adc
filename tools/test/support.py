# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests of the command line share: they need Python and NumPy only.

Every test takes the command to test as its arguments, a program or a script with first arguments:
    python3 test_numpy.py build/tools/kokkos-scan
    python3 test_numpy.py ./scripts/run
"""
import os
import subprocess
import sys

SKIPPED = 77  # what ctest takes for "skipped"

try:
    import numpy as np
except ImportError:
    print("skipped: the tests of the command line need NumPy (Debian: apt install python3-numpy)")
    sys.exit(SKIPPED)


class Tool:
    """The command under test."""

    def __init__(self, command):
        self.command = [os.path.abspath(command[0]), *command[1:]]

    def run(self, *arguments, **options):
        """Runs it; returns the finished process with its output as text."""
        options = {"capture_output": True, "text": True, "timeout": 600, **options}
        return subprocess.run([*self.command, *map(str, arguments)], **options)

    def must(self, *arguments, **options):
        """Runs it and insists on success without a word on stderr; returns its stdout."""
        process = self.run(*arguments, **options)
        if process.returncode != 0 or process.stderr:
            raise AssertionError(f"{arguments}: exit status {process.returncode}, "
                                 f"stdout {process.stdout!r}, stderr {process.stderr!r}")
        return process.stdout

    def spaces(self):
        """The execution spaces that `info` lists."""
        lines = self.must("info").splitlines()
        begin = lines.index("spaces:") + 1
        names = []
        for line in lines[begin:]:
            if not line.startswith("  "):
                break
            names.append(line.split(":")[0].strip())
        assert names, lines
        return names


def save(path, array, version=None):
    """numpy.save with a choice of the format's version."""
    with open(path, "wb") as file:
        np.lib.format.write_array(file, array, version=version)


def is_fortran(path):
    """The flag fortran_order in a file's header."""
    with open(path, "rb") as file:
        version = np.lib.format.read_magic(file)
        read = {(1, 0): np.lib.format.read_array_header_1_0,
                (2, 0): np.lib.format.read_array_header_2_0}[version]
        return read(file)[1]


def raw_npy(header, data=b"", version=(1, 0)):
    """The bytes of a file with a header of any text, as it is."""
    text = header.encode()
    return (b"\x93NUMPY" + bytes(version) +
            len(text).to_bytes(2 if version[0] == 1 else 4, "little") + text + data)
