# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The wheel, if scripts/build-wheel has built one next to the package under test."""

import os
import pathlib
import subprocess
import sys
import zipfile

import pytest

import kokkos_scan

BUILD = pathlib.Path(kokkos_scan.__file__).parent.parent
WHEELS = sorted((BUILD / "wheel").glob("*.whl"))


@pytest.mark.skipif(not WHEELS, reason="no wheel beside the package")
def test_wheel_has_the_package_and_nothing_else():
    names = zipfile.ZipFile(WHEELS[-1]).namelist()
    assert {name.split("/")[0] for name in names} == {
        "kokkos_scan", f"kokkos_scan-{WHEELS[-1].name.split('-')[1]}.dist-info"}
    sources = {path.name for path in (BUILD / "kokkos_scan").glob("*.py")}
    assert sources <= {name.split("/")[-1] for name in names}
    assert any("libkokkos_scan_kernels" in name for name in names)


@pytest.mark.skipif(not (BUILD / "site").exists(), reason="no unpacked wheel beside the package")
def test_unpacked_wheel_works_from_anywhere(tmp_path):
    # Moved, so that nothing depends on the build location.
    (BUILD / "site").rename(BUILD / "moved")
    try:
        out = subprocess.run(
            [sys.executable, "-c", "import numpy, kokkos_scan;"
             "print(kokkos_scan.__file__, kokkos_scan.cumulative_sum(numpy.arange(4)))"],
            cwd=tmp_path, text=True, capture_output=True, check=True,
            env={**os.environ, "PYTHONPATH": str(BUILD / "moved")}).stdout
    finally:
        (BUILD / "moved").rename(BUILD / "site")
    assert str(BUILD / "moved") in out and "[0 1 3 6]" in out
