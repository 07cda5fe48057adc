# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""spack_recipe.py CHECKOUT: checks that the Spack recipe agrees with CMakeLists.txt.

This does not need Spack, so it does not check that Spack accepts the recipe.
"""

import ast
import pathlib
import re
import sys

checkout = pathlib.Path(sys.argv[1])
repo = checkout / "spack/spack_repo/kokkos_scan"
cmake = (checkout / "CMakeLists.txt").read_text(encoding="utf-8")
tree = ast.parse((repo / "packages/kokkos_scan/package.py").read_text(encoding="utf-8"))
failures = 0


def same(what, recipe, other):
    global failures
    if recipe != other:
        print(f"{what}: the recipe has {recipe}, expected is {other}")
        failures += 1


def calls(name):
    """The literal positional arguments of each call of a function or method."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and name in (
            getattr(node.func, "id", None),
            getattr(node.func, "attr", None),
        ):
            yield [arg.value for arg in node.args if isinstance(arg, ast.Constant)]


# The layout of a repository: the folder, the namespace and the class go by one name.
settings = dict(re.findall(r"^ +(\w+): *(\S+)", (repo / "repo.yaml").read_text(), re.M))
same("namespace", settings.get("namespace"), "kokkos_scan")
same("repository layout", settings.get("api", "")[:3], "v2.")
classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
same("classes", [node.name for node in classes], ["KokkosScan"])
bases = {base.id for base in classes[0].bases}
same("base classes", bases, {"CMakePackage", "CudaPackage", "ROCmPackage"})

# The options of CMake, each given once.
given = [args[0] for name in ("define", "define_from_variant") for args in calls(name)]
options = re.findall(r"option\((\w+)", cmake)
same("options", sorted(name for name in given if "_ENABLE_" in name), sorted(options))
variants = {args[0] for args in calls("variant") if args}
for name, variant in calls("define_from_variant"):
    same(f"the variant of {name}", variant in variants, True)
    same(f"the name of the variant of {name}", variant, name.rpartition("ENABLE_")[2].lower())

# The versions of what it depends on.
specs = [args[0].partition("@") for args in calls("depends_on") if args]
needed = {name: version for name, _, version in specs}
oldest, major, minor = re.search(r"KOKKOS_VERSIONS ([\d.]+)\.\.\.<(\d+)\.(\d+)\)", cmake).groups()
same("kokkos", needed["kokkos"], f"{oldest}:{major}.{int(minor) - 1}")
oldest = re.search(r"cmake_minimum_required\(VERSION ([\d.]+)\)", cmake)[1]
same("cmake", needed["cmake"], f"{oldest}:")

# What "spack test run" builds.
copied = [args[0] for args in calls("cache_extra_test_sources")]
same("examples", [(checkout / name / "CMakeLists.txt").is_file() for name in copied], [True])

# What README.md tells to type.
readme = (checkout / "README.md").read_text(encoding="utf-8")
added = re.search(r"^\$ spack repo add (\S+)$", readme, re.M)[1]
same("the repository in README.md", checkout / added, repo)
name = re.search(r"^\$ spack install (\S+)$", readme, re.M)[1]
same("the package in README.md", (repo / "packages" / name.replace("-", "_")).is_dir(), True)

print(f"the recipe gives {len(options)} options; {failures} differences")
sys.exit(failures != 0)
