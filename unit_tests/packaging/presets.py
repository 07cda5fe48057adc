# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""presets.py CHECKOUT: checks that CMakePresets.json sets existing options, and that without a preset
nothing is built that needs more than Kokkos."""

import json
import pathlib
import re
import sys

checkout = pathlib.Path(sys.argv[1])
presets = json.loads((checkout / "CMakePresets.json").read_text(encoding="utf-8"))
cmake = (checkout / "CMakeLists.txt").read_text(encoding="utf-8")
failures = 0


def same(what, found, expected):
    global failures
    if found != expected:
        print(f"{what}: {found}, expected is {expected}")
        failures += 1


for kind in ("configure", "build", "test"):
    names = [preset["name"] for preset in presets[f"{kind}Presets"]]
    same(f"{kind} presets", names, ["host", "cuda", "dev", "sanitize"])

options = dict(re.findall(r'^option\((\w+) "[^"]*" (\S+)\)', cmake, re.M))
same("options that are on by default", [name for name in options if options[name] != "OFF"], [])
for preset in presets["configurePresets"]:
    for name in preset["cacheVariables"]:
        same(f"{name} of preset {preset['name']} exists", name in options, not name.startswith("CMAKE_"))

print(f"{len(options)} options, {len(presets['configurePresets'])} presets; {failures} differences")
sys.exit(failures != 0)
