// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// perf_random [--seed=S] [--count=N] [--elements=E]
/// [--type=float|double|int8|int16|int32|int64|vector]
///             [--variant=sum|exclusive|backward|masked|any] [--threads=T] [--json=FILE]
///             [--operator=library|user] [--shape=OUTERxNxINNER ...] [--powers] [--gap=N]
///             [--offset=N]
/// measures scans of random shapes, of the given shapes, or of all shapes whose extents are powers
/// of 4, compared with a copy and a plain loop. Prints worst, p10 and median, and the ten worst
/// cases with their paths. --gap and --offset are unused elements behind each row and before
/// arrays.

#include "random.hpp"

#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iomanip>
#include <map>

std::string perf::last_kernel;

namespace {

void remember(const char* name, std::uint32_t, std::uint64_t*) {
  const std::string text(name);
  const auto begin = text.find('['), end = text.find(']');
  if (end != std::string::npos) perf::last_kernel = text.substr(begin + 1, end - begin - 1);
}

using Fraction = std::function<double(const perf::RandomResult&)>;

double of_copy(const perf::RandomResult& r) { return r.copy / r.scan; }
double of_plain(const perf::RandomResult& r) { return r.plain / r.scan; }

void print_summary(std::vector<perf::RandomResult> results, const std::string& what,
                   const Fraction& fraction) {
  std::sort(results.begin(), results.end(),
            [&](const auto& a, const auto& b) { return fraction(a) < fraction(b); });
  std::cout << what << ": worst " << fraction(results[0]) << ", tenth "
            << fraction(results[results.size() / 10]) << ", median "
            << fraction(results[results.size() / 2]) << '\n';
  for (std::size_t i = 0; i < std::min<std::size_t>(10, results.size()); ++i) {
    const auto& r = results[i];
    std::cout << "  " << fraction(r) << "  (" << r.shape.outer << ", " << r.shape.n << ", "
              << r.shape.inner << ") " << r.path << ", copy " << r.copy * 1e3 << " ms, plain loop "
              << r.plain * 1e3 << " ms\n";
  }
}

}  // namespace

int main(int argc, char** argv) {
  perf::RandomOptions options;
  std::string type = "float", json;
  bool wants_powers = false;
  Kokkos::InitializationSettings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto equals = argument.find('=');
    const std::string flag = argument.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : argument.substr(equals + 1);
    if (flag == "--seed") {
      options.seed = std::stoull(value);
    } else if (flag == "--count") {
      options.count = std::stoi(value);
    } else if (flag == "--elements") {
      options.elements = std::stod(value);
    } else if (flag == "--type") {
      type = value;
    } else if (flag == "--variant") {
      options.variant = value;
    } else if (flag == "--operator") {
      options.is_of_user = value == "user";
    } else if (flag == "--threads") {
      settings.set_num_threads(std::stoi(value));
    } else if (flag == "--shape") {
      perf::Shape shape{};
      if (std::sscanf(value.c_str(), "%" SCNd64 "x%" SCNd64 "x%" SCNd64, &shape.outer, &shape.n,
                      &shape.inner) != 3) {
        std::cerr << "perf_random: --shape is OUTERxNxINNER\n";
        return 2;
      }
      options.shapes.push_back(shape);
    } else if (flag == "--powers") {
      wants_powers = true;
    } else if (flag == "--gap") {
      options.gap = std::stoll(value);
    } else if (flag == "--offset") {
      options.offset = std::stoll(value);
    } else if (flag == "--json") {
      json = value;
    } else {
      std::cerr << "perf_random: " << argument << " is unknown\n";
      return 2;
    }
  }
  const std::map<std::string, decltype(&perf::measure_random_float)> types{
      {"float", perf::measure_random_float},   {"double", perf::measure_random_double},
      {"int8", perf::measure_random_int8},     {"int16", perf::measure_random_int16},
      {"vector", perf::measure_random_vector}, {"int32", perf::measure_random_int32},
      {"int64", perf::measure_random_int64}};
  if (types.count(type) == 0 || options.count < 1) {
    std::cerr << "perf_random: no such --type, or --count below 1\n";
    return 2;
  }
  if (wants_powers) options.shapes = perf::shapes_of_powers(options.elements);
  Kokkos::ScopeGuard kokkos(settings);
  Kokkos::Tools::Experimental::set_begin_parallel_for_callback(remember);
  const auto results = types.at(type)(options);
  std::cout << std::setprecision(3) << results.size() << " shapes of "
            << (options.shapes.empty() ? "seed " + std::to_string(options.seed) : "a list") << ", "
            << type << ", " << options.variant
            << (options.is_of_user ? " by a user's operator, " : ", ")
            << Kokkos::DefaultHostExecutionSpace().concurrency() << " threads of "
            << Kokkos::DefaultHostExecutionSpace::name() << '\n';
  print_summary(results, "of a copy", of_copy);
  print_summary(results, "times a plain loop", of_plain);
  if (json.empty()) return 0;
  std::ofstream file(json);
  file << std::setprecision(6) << "{\"seed\": " << options.seed << ", \"type\": \"" << type
       << "\", \"variant\": \"" << options.variant << "\", \"gap\": " << options.gap
       << ", \"offset\": " << options.offset
       << ", \"threads\": " << Kokkos::DefaultHostExecutionSpace().concurrency()
       << ", \"cases\": [";
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto& r = results[i];
    file << (i == 0 ? "\n" : ",\n") << "  {\"shape\": [" << r.shape.outer << ", " << r.shape.n
         << ", " << r.shape.inner << "], \"path\": \"" << r.path << "\", \"scan\": " << r.scan
         << ", \"copy\": " << r.copy << ", \"plain\": " << r.plain << '}';
  }
  file << "\n]}\n";
  return file ? 0 : 1;
}
