#!/usr/bin/env python3
# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plots the speed of sums of floats along the last axis against the length of the lines.

    perf_tests/plot.py RESULT.json... --out docs/cuda_lengths.svg

Reads the results of perf_scan_cuda and peers.py, or of perf_scan and host_peers.py. If a case occurs several times,
the lowest figure counts.
"""

import argparse
import math

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

import report  # noqa: E402

OURS = "kokkos-scan"
# Variant of the name, label, colour, marker; drawn in this order.
PEERS = [
    ("peer:triton", "Triton, by hand", "#9467bd", "D"),
    ("peer:torch.compile", "torch.compile", "#d62728", "s"),
    ("peer:cub_flat", "CUB DeviceScan, one line", "#2ca02c", "*"),
    ("peer:cub_segmented", "CUB segmented", "#2ca02c", "o"),
    ("peer:cub_by_key", "CUB by key", "#8cc98c", "v"),
    ("peer:thrust_by_key", "Thrust by key", "#bcbd22", "^"),
    ("peer:torch", "PyTorch", "#ff7f0e", "o"),
    ("peer:cupy", "CuPy", "#e377c2", "P"),
    ("peer:kokkos_vector", "Kokkos, a warp a line", "#7f7f7f", "o"),
    ("peer:numpy", "NumPy", "#d62728", "s"),
    ("peer:std", "std::inclusive_scan a line", "#2ca02c", "o"),
    ("peer:team", "kokkos-scan, generic backend", "#9467bd", "D"),
    ("peer:kokkos_per_line", "Kokkos, a launch a line", "#b0b0b0", "s"),
    ("peer:kokkos_team", "Kokkos, a team a line", "#b0b0b0", "s"),
]


def curve(good, variant):
    """[(length, fraction)] of the lines of at least half of the largest array."""
    cases = {
        case: min(b["fraction_of_copy"] for b in benchmarks)
        for case, benchmarks in good.items()
        if case.function == "inclusive_scan"
        and case.type == "float"
        and case.variant == variant
        and case.axis == len(case.extents) - 1 <= 1
    }
    if not cases:
        return []
    largest = max(math.prod(case.extents) for case in cases)
    return sorted(
        (case.extents[-1], fraction)
        for case, fraction in cases.items()
        if math.prod(case.extents) > largest / 4
    )


def length_label(exponent):
    suffixes = {0: "", 10: " Ki", 20: " Mi", 30: " Gi"}
    base = exponent // 10 * 10
    return f"{2 ** (exponent - base)}{suffixes[base]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", nargs="+")
    parser.add_argument("--out", required=True, help="an .svg or .png file")
    arguments = parser.parse_args()

    good, _ = report.measured(arguments.results)
    contexts = [report.load(path)[0] for path in arguments.results]
    devices = {context.get("gpu", context.get("cpu")) for context in contexts} - {None}
    ours = curve(good, "")
    if not ours:
        parser.error("the files have no sums of floats along the last axis")

    plt.rcParams.update({"svg.hashsalt": "kokkos-scan", "font.size": 11})
    figure, axes = plt.subplots(figsize=(10, 5.6))
    axes.axhline(1, color="black", linewidth=1, linestyle=(0, (4, 3)))
    axes.annotate("a copy of the same bytes", (0, 1), (4, 5), color="black",
                  xycoords=("axes fraction", "data"), textcoords="offset points", fontsize=10)
    for variant, label, colour, marker in PEERS:
        points = curve(good, variant)
        if points:
            axes.plot(*zip(*points), color=colour, marker=marker, markersize=10 if marker == "*" else 5,
                      linewidth=1.3,
                      label=label)
    powers = [(n, fraction) for n, fraction in ours if n & (n - 1) == 0]
    others = [(n, fraction) for n, fraction in ours if n & (n - 1) != 0]
    if powers:
        axes.plot(*zip(*powers), color="#1f4e9c", marker="o", markersize=5, linewidth=3.2,
                  label=OURS, zorder=5)
    if others:
        axes.plot(*zip(*others), color="#1f4e9c", marker="x", markersize=7, linestyle="none",
                  markeredgewidth=2, label=f"{OURS}, any other length", zorder=5)

    exponents = range(0, int(math.log2(ours[-1][0])) + 1, 5)
    axes.set_xscale("log", base=2)
    axes.set_xticks([2**e for e in exponents], [length_label(e) for e in exponents])
    axes.set_ylim(0, 1.08)
    axes.set_xlabel("elements in a line")
    axes.set_ylabel("speed, as a fraction of a copy")
    total = max(math.prod(case.extents) for case in good if case.type == "float" and
                case.variant == "" and case.axis == len(case.extents) - 1 <= 1)
    axes.set_title(
        f"Running sums along lines of any length: 2^{round(math.log2(total))} floats"
        + (f", {' and '.join(sorted(devices))}" if devices else ""),
        loc="left", fontweight="bold",
    )
    axes.grid(alpha=0.25)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    handles, labels = axes.get_legend_handles_labels()
    first = [i for i, label in enumerate(labels) if label.startswith(OURS)]
    order = first + [i for i in range(len(labels)) if i not in first]
    axes.legend([handles[i] for i in order], [labels[i] for i in order], loc="center left",
                bbox_to_anchor=(1, 0.5), frameon=False)
    figure.tight_layout()
    figure.savefig(arguments.out, metadata={"Date": None} if arguments.out.endswith(".svg") else {},
                   dpi=150)


if __name__ == "__main__":
    main()
