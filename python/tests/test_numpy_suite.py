# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NumPy's own tests of scans, which come with NumPy, pass with ours in their place."""

import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import kokkos_scan as ks
import numpy_suite

FOLDERS = ["lib", "_core", "matrixlib"]


def test_numpys_own_tests(tmp_path):
    root = pathlib.Path(np.__file__).parent
    files = [file for folder in FOLDERS for file in sorted((root / folder / "tests").glob("test_*.py"))]
    if not files:
        pytest.skip("NumPy came without its tests")
    files = [str(file) for file in files if re.search(r"\.accumulate|\b(nan)?cum(sum|prod)|cumulative_", file.read_text())]
    places = [str(pathlib.Path(__file__).parent), str(pathlib.Path(ks.__file__).absolute().parents[1])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places)}
    found = subprocess.run([sys.executable, "-B", "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider", "-p",
                            "numpy_suite", "-W", "ignore", "--tb=short", *files],
                           capture_output=True, text=True, env=environment, cwd=tmp_path, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
    passed, calls = (int(re.search(what, found.stdout)[1]) for what in (r"(\d+) passed", r"(\d+) calls of kokkos_scan"))
    assert passed > 100 and calls > 300, found.stdout


@pytest.mark.skipif("ARRAY_API_TESTS" not in os.environ, reason="ARRAY_API_TESTS names no checkout of array-api-tests")
def test_the_array_apis_own_tests(tmp_path):
    """Of cumulative_sum and cumulative_prod: no registry has them."""
    (tmp_path / "scans_of_kokkos.py").write_text(
        "from numpy import *\nfrom numpy import __array_api_version__, __array_namespace_info__, bool\n"
        "from kokkos_scan import cumulative_prod, cumulative_sum\n")
    places = [str(tmp_path), str(pathlib.Path(ks.__file__).absolute().parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places), "ARRAY_API_TESTS_MODULE": "scans_of_kokkos"}
    tests = [f"array_api_tests/test_{name}.py" for name in ("statistical_functions", "signatures")]
    found = subprocess.run([sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "cumulative", *tests],
                           capture_output=True, text=True, env=environment, cwd=os.environ["ARRAY_API_TESTS"], check=False)
    assert found.returncode == 0, found.stdout + found.stderr
    assert int(re.search(r"(\d+) passed", found.stdout)[1]) >= 4


def test_what_differs_is_in_the_table():
    page = (pathlib.Path(__file__).parents[2] / "docs/python.md").read_text()
    for reason in numpy_suite.DIFFERS.values():
        assert reason in page
