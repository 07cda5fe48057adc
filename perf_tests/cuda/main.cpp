// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// perf_scan_cuda [--groups=NAME,...] [--log2-elements=30] [arguments of Google Benchmark]:
/// measures scans on a GPU, compared with copies and peers. Groups are in cases.cpp; the default is
/// all.

#include <benchmark/benchmark.h>

#include <KokkosScan/version.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "cases.hpp"
#include "device.hpp"

namespace {

/// A JSON reporter that writes only the necessary context, and whose file is valid up to the last
/// case if the program is killed.
class JsonReporter : public benchmark::JSONReporter {
 public:
  bool ReportContext(const Context& context) override {
    std::ostream& file = GetOutputStream();
    std::ostringstream text;
    SetOutputStream(&text);
    const bool goes_on = JSONReporter::ReportContext(context);
    SetOutputStream(&file);
    std::istringstream lines(text.str());
    for (std::string line; std::getline(lines, line);) {
      const auto names = [&](const char* word) { return line.find(word) != std::string::npos; };
      if (names("\"host_name\"") || names("\"executable\"") || names("\"load_avg\"")) continue;
      file << line << '\n';
    }
    return goes_on;
  }
  void ReportRuns(const std::vector<Run>& runs) override {
    std::vector<Run> named = runs;
    for (Run& run : named) {  // remove what is the same in all cases
      run.run_name.iterations.clear();
      run.run_name.time_type.clear();
    }
    JSONReporter::ReportRuns(named);
    GetOutputStream().flush();
  }
};

/// Removes --NAME=VALUE from the arguments.
std::string take(int& argc, char** argv, const std::string& name, std::string value) {
  const std::string flag = "--" + name + "=";
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind(flag, 0) == 0) {
      value = argument.substr(flag.size());
    } else {
      argv[kept++] = argv[i];
    }
  }
  argc = kept;
  return value;
}

void add_context() {
  benchmark::AddCustomContext("kokkos_scan", KOKKOSSCAN_VERSION);
  benchmark::AddCustomContext("kokkos", std::to_string(KOKKOS_VERSION / 10000) + "." +
                                            std::to_string(KOKKOS_VERSION / 100 % 100) + "." +
                                            std::to_string(KOKKOS_VERSION % 100));
  for (const auto& [name, value] : perf::describe_device()) {
    benchmark::AddCustomContext(name, value);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string all;
  for (const auto& [name, unused] : perf::groups()) all += name + ",";
  std::istringstream chosen(take(argc, argv, "groups", all));
  const int log2 = std::atoi(take(argc, argv, "log2-elements", "30").c_str());
  if (log2 < 16 || log2 > 32) {
    std::cerr << "perf_scan_cuda: --log2-elements takes a number from 16 to 32\n";
    return 2;
  }
  const std::vector<std::string> arguments(argv, argv + argc);
  const bool writes_file = std::any_of(
      arguments.begin(), arguments.end(),
      [](const std::string& argument) { return argument.rfind("--benchmark_out=", 0) == 0; });
  benchmark::Initialize(&argc, argv);
  Kokkos::ScopeGuard kokkos(argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  for (std::string name; std::getline(chosen, name, ',');) {
    if (perf::groups().count(name) == 0) {
      std::cerr << "perf_scan_cuda: no group \"" << name << "\": there are " << all << '\n';
      return 2;
    }
    perf::groups().at(name)(std::int64_t{1} << log2);
  }
  add_context();
  JsonReporter json;
  // Google Benchmark requires a file for a file reporter.
  benchmark::RunSpecifiedBenchmarks(nullptr, writes_file ? &json : nullptr);
  benchmark::Shutdown();
  return 0;
}
