// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// perf_scan [--mib=M] [arguments of Google Benchmark]: measures scans of inputs of M MiB each
/// (default 256), also as a fraction of a copy that is measured alternately with the scan.

#include <benchmark/benchmark.h>

#include <KokkosScan/version.hpp>
#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "scan.hpp"

namespace {

/// The first line of `text` that contains `what`, trimmed; empty if there is none.
std::string line_with(std::istream& text, const std::string& what) {
  for (std::string line; std::getline(text, line);) {
    if (line.find(what) == std::string::npos) continue;
    const std::size_t begin = line.find_first_not_of(" \t");
    return line.substr(begin, line.find_last_not_of(" \t") + 1 - begin);
  }
  return "";
}

/// The context of the measurements: machine, compiler and settings.
void add_context() {
  using Exec = Kokkos::DefaultExecutionSpace;
  benchmark::AddCustomContext("kokkos_scan", KOKKOSSCAN_VERSION);
  benchmark::AddCustomContext("kokkos", std::to_string(KOKKOS_VERSION / 10000) + "." +
                                            std::to_string(KOKKOS_VERSION / 100 % 100) + "." +
                                            std::to_string(KOKKOS_VERSION % 100));
  benchmark::AddCustomContext("space", Exec::name());
  benchmark::AddCustomContext("host_space", Kokkos::DefaultHostExecutionSpace::name());
  benchmark::AddCustomContext("host_threads",
                              std::to_string(Kokkos::DefaultHostExecutionSpace().concurrency()));
  std::ifstream cpus("/proc/cpuinfo");
  const std::string cpu = line_with(cpus, "model name");
  if (!cpu.empty()) benchmark::AddCustomContext("cpu", cpu.substr(cpu.find(':') + 2));
  // Kokkos lists the GPUs in its configuration and marks its own.
  std::stringstream configuration;
  Exec().print_configuration(configuration, true);
  const std::string gpu = line_with(configuration, "Selected");
  if (!gpu.empty()) benchmark::AddCustomContext("gpu", gpu);
}

/// Removes --mib=M from the arguments; 0 if M is not a positive number.
std::size_t take_mib(int& argc, char** argv) {
  const std::string flag = "--mib=";
  std::size_t mib = 256;
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind(flag, 0) == 0) {
      mib = std::strtoull(argument.c_str() + flag.size(), nullptr, 10);
    } else {
      argv[kept++] = argv[i];
    }
  }
  argc = kept;
  return mib;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t mib = take_mib(argc, argv);
  if (mib == 0) {
    std::cerr << "perf_scan: --mib takes a number of MiB above 0\n";
    return 2;
  }
  // Defaults, which arguments override. Set here, they do not become part of benchmark names.
  std::string min_time = "--benchmark_min_time=0.2s";
  std::vector<char*> arguments(argv, argv + argc);
  arguments.insert(arguments.begin() + 1, min_time.data());
  arguments.push_back(nullptr);
  int count = argc + 1;
  benchmark::Initialize(&count, arguments.data());
  Kokkos::ScopeGuard kokkos(count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;
  add_context();
  perf::register_float(mib << 20);
  perf::register_double(mib << 20);
  perf::register_int32(mib << 20);
  perf::register_int64(mib << 20);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
