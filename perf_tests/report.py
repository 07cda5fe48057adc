#!/usr/bin/env python3
# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads result files of Google Benchmark and peers.py, and prints them as Markdown tables.

    perf_tests/report.py RESULT.json... [--filter=EXPRESSION] [--worst=N | --types]

If several files have the same case (for example from several machines), the lower fraction comes first.
With --types each case of float is a row, with the fractions of the other types and the speedup over each peer in
bytes per second.
"""

import argparse
import collections
import json
import pathlib
import re


def load(path):
    """The context and the benchmarks of a file, also of one whose program was killed."""
    text = pathlib.Path(path).read_text(encoding="utf-8")
    try:
        data = json.loads(text)
    except json.JSONDecodeError:
        complete = text[: text.rfind("\n    }") + len("\n    }")]
        try:
            data = json.loads(complete + "]}")
        except json.JSONDecodeError:  # killed before the first case was done
            return {}, []
    return data["context"], data["benchmarks"]


Case = collections.namedtuple("Case", "function space type extents axis variant")


def parse(name):
    """function/space/type/RxC.../axis:A[/variant]"""
    name = re.sub(r"(/(iterations|min_time):[\d.]+)?(/manual_time)?$", "", name)
    function, space, kind, extents, axis, *variant = name.split("/")
    return Case(
        function,
        space,
        kind,
        tuple(int(extent) for extent in extents.split("x")),
        int(axis.removeprefix("axis:")),
        "/".join(variant),
    )


def measured(paths):
    """{Case: [benchmark, ...]} of cases without errors, and [(name, message)] of the others."""
    good, bad = collections.defaultdict(list), []
    for path in paths:
        for benchmark in load(path)[1]:
            if benchmark.get("error_occurred"):
                bad.append((benchmark["name"], benchmark.get("error_message", "")))
            else:
                good[parse(benchmark["name"])].append(benchmark)
    return good, bad


def describe(context):
    names = ("gpu", "cpu", "host_threads", "driver", "cuda", "kokkos", "numpy", "torch", "triton", "cupy", "revision", "date")
    return ", ".join(f"{name} {context[name]}" for name in names if name in context)


def title_of(case):
    extents = " x ".join(str(extent) for extent in case.extents)
    name = f"{case.function.removesuffix('_scan')} {case.type}, {extents}, axis {case.axis}"
    return name + (f", {case.variant.replace('/', ', ')}" if case.variant else "")


SIZES = {"float": 4, "double": 8, "int32": 4, "int64": 8}


def same_bytes(case, other):
    """Whether an array of floats and one of another type have as many bytes, by one extent or none."""
    scale = SIZES[other.type] / SIZES[case.type]
    ratios = [a / b for a, b in zip(case.extents, other.extents)]
    if len(case.extents) != len(other.extents):
        return False
    different = [ratio for ratio in ratios if ratio != 1]
    return len(different) <= 1 and all(abs(ratio / scale - 1) < 2e-3 for ratio in different)


def print_types(good):
    """A row for each case of float that is no peer's."""
    lowest = {case: min(b["fraction_of_copy"] for b in good[case]) for case in good}
    speed = {case: max(b["bytes_per_second"] for b in good[case]) for case in good}
    types = [kind for kind in SIZES if any(case.type == kind for case in good)]
    print("\n| case | " + " | ".join(types) + " | times as fast as |")
    print("|---" * (len(types) + 2) + "|")
    for case in good:
        if case.type != "float" or "peer:" in case.variant:
            continue
        cells, peers = [], []
        for kind in types:
            alike = [
                other
                for other in good
                if other._replace(type="float", extents=case.extents) == case
                and other.type == kind
                and same_bytes(case, other)
            ]
            # Lines of the same length come first: 4 x 16 floats are beside 2 x 16 doubles, not 4 x 8.
            alike.sort(key=lambda other: other.extents[case.axis] != case.extents[case.axis])
            cells.append(f"{lowest[alike[0]]:.2f}" if alike else "")
        variant = case.variant + "/" if case.variant else ""
        for other in good:
            peer = other.variant.removeprefix(variant).removeprefix("peer:")
            if other == case._replace(variant=f"{variant}peer:{peer}"):
                peers.append(f"{peer} {speed[case] / speed[other]:.1f}")
        title = title_of(case).replace(" float", "", 1)
        print(f"| {title} | {' | '.join(cells)} | {', '.join(peers)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", nargs="+")
    parser.add_argument("--worst", type=int, help="only so many cases, the slowest first")
    parser.add_argument("--filter", default="", help="only names that this expression matches")
    parser.add_argument("--types", action="store_true", help="a column for each type of hosts")
    arguments = parser.parse_args()

    for line in sorted({describe(load(path)[0]) for path in arguments.results}):
        print(line)
    good, bad = measured(arguments.results)
    if arguments.types:
        print_types({case: b for case, b in good.items() if re.search(arguments.filter, b[0]["name"])})
        return
    rows = []
    for case, benchmarks in good.items():
        if not re.search(arguments.filter, benchmarks[0]["name"]):
            continue
        benchmarks.sort(key=lambda b: b["fraction_of_copy"])
        rows.append((benchmarks[0]["fraction_of_copy"], case, benchmarks))
    if arguments.worst:
        rows = sorted(rows)[: arguments.worst]
    # Those of hosts have no clock.
    on_gpu = any("sm_clock_mhz" in b for _, _, benchmarks in rows for b in benchmarks)
    print("\n| case | of the copy | ms |" + (" copy, ms | SM MHz |" if on_gpu else ""))
    print("|---|---|---|" + ("---|---|" if on_gpu else ""))
    for _, case, benchmarks in rows:
        fractions = ", ".join(f"{b['fraction_of_copy']:.3f}" for b in benchmarks)
        b = benchmarks[0]
        row = f"| {title_of(case)} | {fractions} | {b['real_time']:.4g} |"
        if "sm_clock_mhz" in b:
            capped = " (power cap)" if b.get("power_capped") else ""
            row += f" {b['copy_ms']:.4g} | {b['sm_clock_mhz']:.0f}{capped} |"
        print(row)
    for name, message in bad:
        if re.search(arguments.filter, name):
            print(f"\nnot measured: {name}: {message}")


if __name__ == "__main__":
    main()
