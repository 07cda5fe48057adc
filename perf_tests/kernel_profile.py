#!/usr/bin/env python3
# SPDX-FileCopyrightText: kokkos-scan contributors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Profiles cases of perf_scan_cuda with Nsight Compute, and prints a Markdown table of the bottlenecks
of their kernels.

    perf_tests/kernel_profile.py PROGRAM CASE...

PROGRAM is perf_scan_cuda, a CASE the name of one of its cases, such as
inclusive_scan/Cuda/float/32768x32768/axis:1. Profiles the first launch of a kernel of this library, with the clocks
that Nsight Compute sets. Needs ncu and the permission to read performance counters.
"""

import argparse
import csv
import re
import subprocess

STALLS = ("long_scoreboard short_scoreboard mio_throttle lg_throttle math_pipe_throttle barrier "
          "membar sleeping wait drain branch_resolving dispatch_stall no_instruction not_selected").split()
METRICS = {
    "DRAM": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "L2": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "L1 and shared memory": "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "issue slots": "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "warps": "sm__warps_active.avg.pct_of_peak_sustained_active",
}
REGISTERS = "launch__registers_per_thread"
INSTRUCTIONS = "smsp__inst_executed.sum"


def stall(name):
    return f"smsp__average_warps_issue_stalled_{name}_per_issue_active.ratio"


def profile(program, case):
    """The kernel's name and {metric: value}."""
    metrics = [*METRICS.values(), REGISTERS, INSTRUCTIONS, *map(stall, STALLS)]
    command = ["ncu", "--csv", "--metrics", ",".join(metrics), "--kernel-name-base", "demangled",
               "-k", "regex:KokkosScan::impl::cuda::scan", "-c", "1", program,
               f"--benchmark_filter=^{re.escape(case)}/iterations"]
    printed = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             check=False).stdout.splitlines()
    begins = [i for i, line in enumerate(printed) if line.startswith('"ID"')]
    if not begins:
        raise SystemExit(f"{case}: no kernel was profiled\n" + "\n".join(printed[-5:]))
    rows = [row for row in csv.DictReader(printed[begins[0]:]) if row.get("Metric Name")]
    values = {}
    for row in rows:
        try:
            values[row["Metric Name"]] = float(row["Metric Value"].replace(",", ""))
        except ValueError:
            pass
    return re.search(r"scan_\w+", rows[0]["Kernel Name"]).group(), values


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("program")
    parser.add_argument("cases", nargs="+")
    options = parser.parse_args()
    columns = ["case", "kernel", *(f"{name}, %" for name in METRICS), "registers", "instructions",
               "longest stalls, cycles an instruction"]
    print("|", " | ".join(columns), "|")
    print("|---" * len(columns) + "|")
    for case in options.cases:
        kernel, values = profile(options.program, case)
        stalls = sorted(((values.get(stall(name), 0.0), name) for name in STALLS), reverse=True)[:3]
        print("|", " | ".join([
            case,
            kernel,
            *(f"{values.get(metric, float('nan')):.0f}" for metric in METRICS.values()),
            f"{values.get(REGISTERS, float('nan')):.0f}",
            f"{values.get(INSTRUCTIONS, float('nan')):.3g}",
            ", ".join(f"{name.replace('_', ' ')} {cycles:.1f}" for cycles, name in stalls),
        ]), "|", flush=True)


if __name__ == "__main__":
    main()
