# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs_code.py CHECKOUT: the code in README.md, CONTRIBUTING.md and docs/ is compiled and run.

Each block of C++ is preceded by a comment that names a file of examples/ or unit_tests/,

    <!-- from examples/running_sum.cpp -->

which must contain the lines of the block consecutively, with any indentation. The same holds for
CMake, and for tables with C++ code, each cell of which must be a line of the file. Blocks of Python
refer to files of python/tests/ and of python/examples/, which tests run. Blocks of other languages may
refer to any file. The commands with which README.md installs are run by install.cmake.
"""

import pathlib
import re
import sys

FENCE = re.compile(r"\s*(```+|~~~+)\s*([^\s`]*)")
SOURCE = re.compile(r"\s*<!-- from (\S+) -->\s*$")
CELL = re.compile(r"\|\s*`(ks::[^`|]*)`\s*(?=\|)")
CPP = {"cpp", "c++", "cxx", "cc", "hpp", "cuda", "cu"}
PYTHON = {"python", "py", "python3", "pycon"}
# Where the code of a language is compiled or run.
TESTED = {**dict.fromkeys(CPP | {"cmake"}, ("examples/", "unit_tests/")), **dict.fromkeys(PYTHON, ("python/tests/", "python/examples/"))}


def blocks(lines):
    """Yields (line number, language, lines, name of the source or None) of each fenced block."""
    number = 0
    while number < len(lines):
        opening = FENCE.match(lines[number])
        if not opening:
            number += 1
            continue
        before = [line for line in lines[:number] if line.strip()]
        source = SOURCE.match(before[-1]) if before else None
        end = number + 1
        while end < len(lines) and not lines[end].strip().startswith(opening[1]):
            end += 1
        yield number + 1, opening[2].lower(), lines[number + 1 : end], source and source[1]
        number = end + 1


def occurs(block, lines):
    """Whether the lines of the block follow each other in lines, all indented by the same."""
    block = [line.rstrip() for line in block]
    lines = [line.rstrip() for line in lines]
    for start in range(len(lines) - len(block) + 1):
        indent = lines[start][: len(lines[start]) - len(block[0])]
        if not indent.strip() and all(
            found == (indent + line if line else "")
            for line, found in zip(block, lines[start:])
        ):
            return True
    return False


def tables(lines):
    """Yields (line number, cells with C++, name of the source or None) of each table that has some."""
    number = 0
    while number < len(lines):
        end = number
        while end < len(lines) and lines[end].startswith("|"):
            end += 1
        cells = [cell for line in lines[number:end] for cell in CELL.findall(line)]
        if cells:
            before = [line for line in lines[:number] if line.strip()]
            source = SOURCE.match(before[-1]) if before else None
            yield number + 1, cells, source and source[1]
        number = end + 1


def complaint(checkout, language, block, source):
    if source is None:
        return "no comment says from which file it is" if language in TESTED else None
    path = checkout / source
    if language in TESTED and not source.startswith(TESTED[language]):
        return f"{source} is not a file of {' or '.join(TESTED[language])}"
    if not path.is_file():
        return f"there is no {source}"
    if not any(line.strip() for line in block):
        return "it is empty"
    if not occurs(block, path.read_text(encoding="utf-8").splitlines()):
        return f"it does not occur in {source}"
    return None


def main():
    checkout = pathlib.Path(sys.argv[1])
    documents = [checkout / "README.md", checkout / "CONTRIBUTING.md"]
    documents += sorted((checkout / "docs").glob("**/*.md"))
    failures = 0
    for document in filter(pathlib.Path.is_file, documents):
        name = document.relative_to(checkout)
        count = 0
        for number, language, block, source in blocks(
            document.read_text(encoding="utf-8").splitlines()
        ):
            count += source is not None
            why = complaint(checkout, language, block, source)
            if why:
                print(f"{name}:{number}: {why}")
                failures += 1
        for number, cells, source in tables(document.read_text(encoding="utf-8").splitlines()):
            count += source is not None
            for cell in cells:
                why = complaint(checkout, "cpp", [cell], source)
                if why:
                    print(f"{name}:{number}: {cell}: {why}")
                    failures += 1
        print(f"{name}: {count} blocks are from files")
    sys.exit(failures != 0)


main()
