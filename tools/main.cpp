// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kokkos-scan: scans .npy files with the library.

#include <CLI/CLI.hpp>
#include <KokkosScan/version.hpp>
#include <exception>
#include <iostream>
#include <new>
#include <string>

#include "cuda_plan.hpp"
#include "demo.hpp"
#include "error.hpp"
#include "info.hpp"
#include "ranks.hpp"
#include "scan_command.hpp"
#include "spaces.hpp"

namespace scan_tool {
namespace {

constexpr int status_refused = 2;

/// Prints a message as one line, whatever it contains.
void print(const std::string& message) {
  std::string line = "kokkos-scan: ";
  for (const char c : message) line += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  while (line.ends_with(' ')) line.pop_back();
  std::cerr << line + "\n";
}

/// Reports a user's mistake; only the first rank prints it.
int report(const Ranks& ranks, const std::string& message) {
  if (ranks.rank() != 0) return status_refused;
  print(message);
  return status_refused;
}

/// Reports an error that other ranks do not know about, so that they may wait for this one.
int fail(const Ranks& ranks, const std::string& message) {
  if (ranks.size() == 1) return report(ranks, message);
  print(message);
  ranks.abort(status_refused);
}

// Printed after CLI11's help and not by it: newer versions fold lines, older ones do not.
const char* const scan_footer = R"(
Examples:
  kokkos-scan scan x.npy y.npy                        running sum along the last axis
  kokkos-scan scan --axis 0 --op max x.npy y.npy      running maximum down the columns
  kokkos-scan scan --reverse --op prod x.npy y.npy    running product from the far end
  kokkos-scan scan --exclusive --include-total --initial 101325 dp.npy p.npy
                                                      layers to interfaces, from a start
  kokkos-scan scan --mask m.npy --totals t.npy x.npy y.npy
                                                      only where m is true; totals beside
  kokkos-scan scan --memory 2G x.npy y.npy            an array that is larger than memory
  producer | kokkos-scan scan - - | consumer          from standard input to standard output

The first one equals numpy.save("y.npy", numpy.cumulative_sum(numpy.load("x.npy"), axis=-1)).
OUT may be IN. It is replaced when all has succeeded and is untouched otherwise; then
there is one line on stderr, and the exit status is 2.
)";

const char* const demo_footer = R"(
Examples:
  kokkos-scan demo                                    sized to the machine
  kokkos-scan demo --rows 8192 --cols 32768           1 GiB
  kokkos-scan demo --json > result.json               for programs

The exit status is 1 if a result is further from the exact one than the library promises.
)";

const char* const info_footer = R"(
Examples:
  kokkos-scan info                                    this program and this machine
  kokkos-scan info --plan 8x2048x5120 --axis 1        the kernel that would scan such an array
  kokkos-scan info --plan 50257 --mask --device a100  another input, another GPU

A plan is for CUDA, and needs no GPU.
)";

const char* const main_footer = R"(
Examples:
  kokkos-scan scan --axis 0 x.npy y.npy
  kokkos-scan demo
  kokkos-scan scan --help
)";

/// CLI11 takes an empty text as the number 0.
std::string check_integer(const std::string& text) {
  return text.empty() ? "found \"\", expected an integer" : "";
}

void add_space(CLI::App& command, std::string& space) {
  command
      .add_option("--space", space,
                  "Execution space: " + one_of(space_names()) + " (default: " + space + ")")
      ->type_name("NAME");
}

CLI::App& add_scan(CLI::App& app, ScanOptions& options) {
  CLI::App& scan = *app.add_subcommand("scan", "Scan every line of a .npy array along an axis");
  scan.add_option("IN", options.input,
                  "Array to scan, a .npy file of rank 1 to 8; - is standard input")
      ->required()
      ->type_name("");
  scan.add_option("OUT", options.output,
                  "File for the result, in the order (C or Fortran) of IN; - is standard output")
      ->required()
      ->type_name("");
  scan.add_option("--axis", options.axis,
                  "Axis along which lines go; negative counts from the end (default: -1)")
      ->check(check_integer)
      ->type_name("A");
  scan.add_option("--op", options.operation,
                  "Operator: sum, prod, min, max or logsumexp; NaN propagates (default: sum)")
      ->type_name("OP");
  scan.add_flag("--exclusive", options.exclusive,
                "Leave each element out of its own result, which starts from the identity or "
                "--initial");
  scan.add_flag("--include-total", options.include_total,
                "With --exclusive: n+1 results, the total of the line as well");
  scan.add_flag("--reverse", options.reverse,
                "Scan from the last element of each line to the first");
  scan.add_option("--mask", options.mask,
                  "bool array of the shape of IN; elements where it is false contribute nothing")
      ->type_name("M.npy");
  scan.add_option("--initial", options.initial,
                  "Value combined before the first element of each line, such as 3, 1.5 or 1+2j")
      ->type_name("V");
  scan.add_flag(
      "--in-order", options.in_order,
      "Combine one element after the other, as a serial loop does: the same bits on every "
      "space, and those of numpy.cumsum and numpy.cumprod for float32 and float64");
  scan.add_option(
          "--totals", options.totals,
          "File for the total of each line, --initial included: IN's shape without the axis")
      ->type_name("T.npy");
  scan.add_option(
          "--dtype", options.dtype,
          "Type of the output, to which the input is converted first: bool, int8 ... int64, "
          "uint8 ... uint64, float16, float32, float64, complex64, complex128 (default: as "
          "numpy.cumulative_sum for sum and prod, that is int64 for bool and signed, uint64 "
          "for unsigned integers, else the input's; the input's for min and max; for logsumexp "
          "float64 for whole numbers)")
      ->type_name("D");
  scan.add_option("--memory", options.memory,
                  "Read, scan and write pieces that take so many bytes of memory, such as 500M or "
                  "2G (default: the whole array; with mpirun 1G a rank)")
      ->type_name("M");
  add_space(scan, options.space);
  return scan;
}

CLI::App& add_demo(CLI::App& app, DemoOptions& options) {
  CLI::App& demo = *app.add_subcommand(
      "demo", "Run five scans of generated data, each checked and timed beside a copy");
  demo.add_option("--rows", options.rows,
                  "Number of lines (default: 1 GiB of data on a device, 256 MiB on a host)")
      ->check(check_integer)
      ->type_name("R");
  demo.add_option("--cols", options.columns, "Length of a line (default: 32768)")
      ->check(check_integer)
      ->type_name("N");
  add_space(demo, options.space);
  demo.add_flag("--json", options.json,
                "Print a list of {scan, space, path, rows, cols, ms, gb_per_s, fraction_of_copy, "
                "error_u}");
  return demo;
}

CLI::App& add_info(CLI::App& app, PlanOptions& options) {
  CLI::App& info = *app.add_subcommand(
      "info", "Print versions, Kokkos' configuration, execution spaces and devices, or a plan");
  CLI::Option* const plan =
      info.add_option("--plan", options.shape,
                      "Print how CUDA would scan a C-ordered array of this shape, as 64x1024x3")
          ->type_name("SHAPE");
  info.add_option("--axis", options.axis,
                  "Axis along which lines go; negative counts from the end (default: -1)")
      ->check(check_integer)
      ->type_name("A")
      ->needs(plan);
  info.add_option("--op", options.operation, "Operator: sum, prod, min or max (default: sum)")
      ->type_name("OP")
      ->needs(plan);
  info.add_option("--dtype", options.dtype,
                  "Type of input and output: int8 ... int64, uint8 ... uint64, float32, float64, "
                  "complex64, complex128 (default: float32)")
      ->type_name("D")
      ->needs(plan);
  info.add_flag("--mask", options.mask, "With a mask of bool")->needs(plan);
  info.add_flag("--exclusive", options.exclusive, "An exclusive scan")->needs(plan);
  info.add_flag("--include-total", options.include_total, "With --exclusive: n+1 results")
      ->needs(plan);
  info.add_flag("--reverse", options.reverse, "From the last element of each line to the first")
      ->needs(plan);
  info.add_option("--device", options.device,
                  "a100, rtx3090, rtx4090, l40s, h100, h200, b200, or numbers of its "
                  "multiprocessors and of the bytes of shared memory that a block may have, as "
                  "132,232448 (default: h200)")
      ->type_name("GPU")
      ->needs(plan);
  return info;
}

/// The exit status, after flushing the output.
int finished(int status) {
  if (!std::cout.flush()) throw UserError("standard output cannot be written.");
  return status;
}

int run(int argc, char** argv, Ranks& ranks) {
  CLI::App app(
      "kokkos-scan: running sums, products, minima and maxima of .npy arrays along any axis, with "
      "Kokkos.",
      "kokkos-scan");
  app.set_version_flag("--version", std::string("kokkos-scan ") + KOKKOSSCAN_VERSION,
                       "Print the version and exit");
  app.require_subcommand(1);

  ScanOptions scan_options;
  DemoOptions demo_options;
  scan_options.space = demo_options.space = default_space();
  const CLI::App& scan = add_scan(app, scan_options);
  const CLI::App& demo = add_demo(app, demo_options);
  PlanOptions plan_options;
  const CLI::App& information = add_info(app, plan_options);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (dynamic_cast<const CLI::CallForHelp*>(&error) != nullptr) {
      std::cout << app.help();
      std::cout << (scan.parsed()          ? scan_footer
                    : demo.parsed()        ? demo_footer
                    : information.parsed() ? info_footer
                                           : main_footer);
      return finished(0);
    }
    if (error.get_exit_code() == 0) {  // the version
      app.exit(error);
      return finished(0);
    }
    const std::string command = scan.parsed()          ? "scan "
                                : demo.parsed()        ? "demo "
                                : information.parsed() ? "info "
                                                       : "";
    return report(ranks,
                  std::string(error.what()) + " (kokkos-scan " + command + "--help says more)");
  }
  int status = 0;
  if (scan.parsed()) run_scan(scan_options, ranks);
  if (demo.parsed()) status = run_demo(demo_options);
  if (information.parsed()) {
    information.count("--plan") == 0 ? run_info() : run_plan(plan_options);
  }
  return finished(status);
}

}  // namespace
}  // namespace scan_tool

int main(int argc, char** argv) {
  scan_tool::Ranks ranks(&argc, &argv);
  try {
    return scan_tool::run(argc, argv, ranks);
  } catch (const scan_tool::AgreedError& error) {
    return scan_tool::report(ranks, error.what());
  } catch (const std::bad_alloc&) {
    return scan_tool::fail(ranks, "not enough memory for these arrays.");
  } catch (const std::exception& error) {
    return scan_tool::fail(ranks, error.what());
  }
}
