#!/usr/bin/env python3
# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads result files of Google Benchmark and peers.py, and prints them as Markdown tables.

    perf_tests/report.py RESULT.json... [--filter=EXPRESSION] [--worst=N]

Several files with the same case (runs on several machines, say) show the lower fraction first.
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", nargs="+")
    parser.add_argument("--worst", type=int, help="only so many cases, the slowest first")
    parser.add_argument("--filter", default="", help="only names that this expression matches")
    arguments = parser.parse_args()

    for line in sorted({describe(load(path)[0]) for path in arguments.results}):
        print(line)
    good, bad = measured(arguments.results)
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
