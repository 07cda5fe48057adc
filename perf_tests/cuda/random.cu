// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The group "random": scans of random shapes, compared with copies of the same bytes in the same
/// run. Built by nvcc, without Kokkos:
///
///     for f in perf_tests/cuda/random*.cu perf_tests/cuda/device.cpp; do
///       nvcc -x cu -std=c++20 -O3 -arch=sm_90 -I unit_tests/cuda/annotations -I include -I src \
///         -c $f -o $(basename $f).o &
///     done; wait; nvcc -arch=sm_90 random*.o device.cpp.o -ldl -o perf_random
///     ./perf_random --seed=1 --count=200 --type=float --out=random.json
///
/// --type=float, double, masked (floats), bytes (into int32), wide (floats in double), product (of
/// floats), computed (floats that a function reads), or several joined by commas;
/// --log2-elements=28; --first=N begins with shape number N of the seed;
/// --workload=FAMILY, several joined by commas, or all: shapes that people have (workloads.hpp), 12
/// of each family unless --count says how many; rows and slabs as many as --log2-elements hold.
/// --shape=OUTERxNxINNER, or several joined by commas, are the only shapes; --gap=N leaves N
/// elements out behind each row, --offset=N at the begin of arrays; --results=inclusive, exclusive,
/// extra (n+1), and --backward; --list prints the shapes and ends. Tune on one seed, report others.
///
/// Before a scan is timed, it runs on small integers into poisoned memory, and every result is
/// compared with a plain scan (random.hpp). The result of a case is the median of several launches
/// that alternate with copies. Prints worst, p10 and median of all cases, and the ten worst with
/// their kernels. The exit status is 1 if a result was wrong.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "device.hpp"
#include "random.hpp"
#include "workloads.hpp"

namespace perf {
namespace {

/// Shape number i of a seed: 2^log2 elements or somewhat fewer. In turn rows (inner 1), axis 0
/// (outer 1) and anything; extents are powers of two with random exponents that are no integers,
/// evenly spread: of rows and of axis 0 that of n, of the others two cuts of the exponent into
/// three. Of two shapes one has neighbours, n or inner, in a multiple of 32, if there are so many.
std::vector<Shape> random_shapes(std::uint64_t seed, int count, int log2) {
  std::mt19937_64 random(seed);
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  const auto total = static_cast<double>(std::int64_t{1} << log2);
  std::vector<Shape> shapes;
  for (int i = 0; i < count; ++i) {
    const double a = uniform(), b = uniform();
    const bool is_aligned = uniform() < 0.5;
    const int turn = i % 3;
    const auto [first_cut, second_cut] = std::minmax(a, b);
    double n = std::exp2(log2 * (second_cut - first_cut));
    double inner = std::exp2(log2 * (1 - second_cut));
    if (turn < 2) {
      n = std::max(std::round(std::exp2(log2 * a)), 2.0);
      inner = turn == 0 ? 1 : total / n;
    }
    const auto extent = [&](double x, bool are_neighbours) {
      const auto whole = std::max<std::int64_t>(std::llround(x), 1);
      return is_aligned && are_neighbours && whole >= 32 ? whole / 32 * 32 : whole;
    };
    Shape shape{1, 0, turn == 0 ? 1 : extent(inner, true)};
    shape.n = std::max<std::int64_t>(extent(n, shape.inner == 1), 2);
    if (turn != 1) {
      shape.outer =
          std::max<std::int64_t>(static_cast<std::int64_t>(total) / (shape.n * shape.inner), 1);
    }
    shapes.push_back(shape);
  }
  return shapes;
}

struct Result {
  std::string name;
  std::string path;   ///< of the kernel
  std::string error;  ///< or none
  double ms = 0, copy_ms = 0, fraction = 0, clock = 0, empty_ms = 0;
  std::size_t bytes = 0;
  int rounds = 0;
  bool is_capped = false;
};

/// Below this many bytes, the cache would keep much of the data from launch to launch.
constexpr std::size_t evict_below = std::size_t{1} << 30;

Result measure(const RandomKind& kind, const Shape& shape) {
  static Buffer in, mask, out, reference, workspace, cold;
  Result result;
  result.name = std::string(shape.results == Results::exclusive ? "exclusive" : "inclusive") +
                "_scan/Cuda/" + kind.type + "/" + std::to_string(shape.outer) + "x" +
                std::to_string(shape.n) + "x" + std::to_string(shape.inner) + "/axis:1" +
                (shape.gap > 0 ? "/gap:" + std::to_string(shape.gap) : "") +
                (shape.offset > 0 ? "/offset:" + std::to_string(shape.offset) : "") +
                (shape.extra() > 0 ? "/extra" : "") + (shape.is_backward ? "/backward" : "") +
                kind.variant + "/random";
  const auto elements = static_cast<std::size_t>(shape.extent());
  const auto results = static_cast<std::size_t>(shape.of_results().extent());
  result.bytes = static_cast<std::size_t>(shape.elements()) * (kind.in + kind.mask) +
                 static_cast<std::size_t>(shape.of_results().elements()) * kind.out;
  const std::size_t copied = std::max<std::size_t>(result.bytes / 2 / 16 * 16, 16);
  // Copies read only initialised memory: zeros would be faster.
  const std::size_t filled = std::max(elements, copied / kind.in + 1);
  const Arrays arrays{in.reserve(filled * kind.in),
                      static_cast<bool*>(mask.reserve(filled * kind.mask + 1)),
                      out.reserve(std::max(copied, results * kind.out))};
  auto* const work = static_cast<std::byte*>(workspace.reserve(kind.workspace_bytes(shape) + 16));

  kind.fill(arrays, static_cast<std::int64_t>(filled), Data::exact);
  check(cudaMemset(arrays.out, 0xff, results * kind.out));
  kind.scan(shape, arrays, work);
  result.path = test::last_path();
  check(cudaDeviceSynchronize());
  const std::int64_t wrong =
      kind.wrong(shape, arrays, reference.reserve(kind.reference_bytes(shape)));
  if (wrong > 0) {
    result.error = std::to_string(wrong) + " wrong results of exact data";
    return result;
  }

  kind.fill(arrays, static_cast<std::int64_t>(filled), Data::natural);
  void* const evicting = result.bytes < evict_below ? cold.reserve(evicting_bytes) : nullptr;
  const auto evict_if_small = [&] {
    if (evicting != nullptr) evict(nullptr, evicting);
  };
  const Copy& copy = best_kernel(nullptr, arrays.in, arrays.out, copied);
  const Copy& plain = copies().front();
  const auto scan = [&] { kind.scan(shape, arrays, work); };
  double once = 0;
  {
    Timer timer(nullptr);
    timer.time("run", scan);
    once = timer.median("run");
  }
  result.rounds = static_cast<int>(std::clamp(60 / once, 3.0, once < 0.2 ? 31.0 : 15.0));
  Timer timer(nullptr);
  for (int round = 0; round < result.rounds; ++round) {
    for (const Copy* way : {&copy, &plain}) {
      evict_if_small();
      timer.time(way->name, [&] { way->run(nullptr, arrays.in, arrays.out, copied); });
    }
    evict_if_small();
    timer.time("run", scan);
  }
  result.is_capped = is_power_capped();  // while the work is running
  result.clock = sm_clock_mhz(nullptr);
  result.ms = timer.median("run");
  result.copy_ms = std::min(timer.median(copy.name), timer.median(plain.name));
  result.fraction = result.copy_ms / result.ms * static_cast<double>(result.bytes) /
                    (2.0 * static_cast<double>(copied));
  return result;
}

/// Writes results in Google Benchmark's format; the file is valid if the program is killed.
class Json {
 public:
  Json(const std::string& path, std::uint64_t seed) {
    if (path.empty()) return;
    m_file.open(path);
    if (!m_file) throw std::runtime_error("cannot write " + path);
    const std::time_t now = std::time(nullptr);
    char date[32];
    std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S+00:00", std::gmtime(&now));
    m_file << "{\n  \"context\": {\n    \"date\": \"" << date << "\",\n    \"seed\": \"" << seed
           << '"';
    for (const auto& [name, value] : describe_device()) {
      m_file << ",\n    \"" << name << "\": \"" << value << '"';
    }
    if (const char* revision = std::getenv("REVISION")) {
      m_file << ",\n    \"revision\": \"" << revision << '"';
    }
    m_file << "\n  },\n  \"benchmarks\": [";
  }
  ~Json() {
    if (m_file.is_open()) m_file << "\n  ]\n}\n";
  }
  Json(const Json&) = delete;
  Json& operator=(const Json&) = delete;

  void add(const Result& result) {
    if (!m_file.is_open()) return;
    m_file << (m_is_first ? "" : ",") << "\n    {\n      \"name\": \"" << result.name << '"';
    m_is_first = false;
    if (!result.error.empty()) {
      m_file << ",\n      \"error_occurred\": true,\n      \"error_message\": \"" << result.error
             << '"';
    } else {
      m_file.precision(6);
      m_file << ",\n      \"real_time\": " << result.ms << ",\n      \"time_unit\": \"ms\""
             << ",\n      \"bytes_per_second\": "
             << static_cast<double>(result.bytes) / result.ms * 1e3
             << ",\n      \"fraction_of_copy\": " << result.fraction
             << ",\n      \"copy_ms\": " << result.copy_ms
             << ",\n      \"sm_clock_mhz\": " << result.clock
             << ",\n      \"power_capped\": " << (result.is_capped ? 1 : 0)
             << ",\n      \"launches\": " << result.rounds << ",\n      \"label\": \""
             << result.path << '"';
    }
    m_file << "\n    }";
    m_file.flush();
  }

 private:
  std::ofstream m_file;
  bool m_is_first = true;
};

void print(const Result& result) {
  if (!result.error.empty()) {
    std::cout << "  " << result.error << ": " << result.name << '\n';
    return;
  }
  char text[64];
  std::snprintf(text, sizeof text, "  %.3f  %8.4g ms  ", result.fraction, result.ms);
  std::cout << text << result.name << "  [" << result.path << "]\n";
}

/// Prints worst, p10, median and the ten worst cases.
void summarize(const std::string& what, std::uint64_t seed, std::vector<Result> results) {
  results.erase(std::remove_if(results.begin(), results.end(),
                               [](const Result& r) { return !r.error.empty(); }),
                results.end());
  if (results.empty()) return;
  std::sort(results.begin(), results.end(),
            [](const Result& a, const Result& b) { return a.fraction < b.fraction; });
  char text[160];
  std::snprintf(text, sizeof text,
                "%s, seed %llu, %zu shapes: worst %.3f, tenth %.3f, median %.3f of a copy; "
                "%.0f MHz at the end\n",
                what.c_str(), static_cast<unsigned long long>(seed), results.size(),
                results.front().fraction, results[results.size() / 10].fraction,
                results[results.size() / 2].fraction, sm_clock_mhz(nullptr));
  std::cout << text;
  for (std::size_t i = 0; i < std::min<std::size_t>(results.size(), 10); ++i) print(results[i]);
}

struct Options {
  std::uint64_t seed = 1;
  int first = 0, count = 0, log2 = 28;
  std::string type = "float", workload, out;
  std::vector<Shape> shapes;
  std::int64_t gap = 0, offset = 0;
  Results results = Results::inclusive;
  bool is_backward = false, is_list = false;
};
Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : argument.substr(equals + 1);
    if (name == "--seed") {
      options.seed = std::strtoull(value.c_str(), nullptr, 10);
    } else if (name == "--first") {
      options.first = std::atoi(value.c_str());
    } else if (name == "--count") {
      options.count = std::atoi(value.c_str());
    } else if (name == "--log2-elements") {
      options.log2 = std::atoi(value.c_str());
    } else if (name == "--type") {
      options.type = value;
    } else if (name == "--workload") {
      options.workload = value;
    } else if (name == "--gap") {
      options.gap = std::atoll(value.c_str());
    } else if (name == "--offset") {
      options.offset = std::atoll(value.c_str());
    } else if (name == "--results") {
      if (value == "exclusive") {
        options.results = Results::exclusive;
      } else if (value == "extra") {
        options.results = Results::extra;
      } else if (value != "inclusive") {
        throw std::invalid_argument("--results are inclusive, exclusive or extra");
      }
    } else if (argument == "--backward") {
      options.is_backward = true;
    } else if (name == "--out") {
      options.out = value;
    } else if (argument == "--list") {
      options.is_list = true;
    } else if (name == "--shape") {
      std::istringstream all(value);
      for (std::string text; std::getline(all, text, ',');) {
        Shape shape{0, 0, 0};
        char x = 0;
        std::istringstream(text) >> shape.outer >> x >> shape.n >> x >> shape.inner;
        if (shape.elements() < 1) throw std::invalid_argument("a shape is OUTERxNxINNER");
        options.shapes.push_back(shape);
      }
    } else {
      throw std::invalid_argument("unknown: " + argument +
                                  "; options are at the head of random.cu");
    }
  }
  if (options.log2 < 10 || options.log2 > 32 || options.count < 0 || options.first < 0 ||
      options.gap < 0 || options.offset < 0) {
    throw std::invalid_argument(
        "--log2-elements is from 10 to 32, --count, --gap and --offset at least 0");
  }
  return options;
}

/// Shapes that are measured together.
struct Group {
  std::string name;  ///< or none
  std::vector<Shape> shapes;
};
/// What the options ask for.
std::vector<Group> groups_of(const Options& options) {
  std::vector<Group> groups;
  if (!options.shapes.empty()) {
    groups.push_back({"", options.shapes});
  } else if (options.workload.empty()) {
    const int count = options.count > 0 ? options.count : 60;
    groups.push_back({"", random_shapes(options.seed, options.first + count, options.log2)});
    auto& shapes = groups.back().shapes;
    shapes.erase(shapes.begin(), shapes.begin() + options.first);
  }
  const std::string wanted = "," + options.workload + ",";
  for (const Workload& workload : workloads()) {
    if (options.workload != "all" &&
        wanted.find(std::string(",") + workload.name + ",") == std::string::npos) {
      continue;
    }
    const int count = options.count > 0 ? options.count : 12;
    groups.push_back({workload.name, workload_shapes(workload, options.seed, count,
                                                     std::int64_t{1} << options.log2)});
  }
  if (groups.empty()) throw std::invalid_argument("no workload " + options.workload);
  for (Group& group : groups) {
    for (Shape& shape : group.shapes) {
      shape.gap = options.gap;
      shape.offset = options.offset;
      if (options.results != Results::inclusive) shape.results = options.results;
      shape.is_backward = shape.is_backward || options.is_backward;
    }
  }
  return groups;
}

int run(const Options& options) {
  const std::vector<RandomKind> all = random_kinds();
  const std::vector<Group> groups = groups_of(options);
  if (options.is_list) {
    for (const Group& group : groups) {
      for (const Shape& shape : group.shapes) {
        std::cout << shape.outer << 'x' << shape.n << 'x' << shape.inner << '\n';
      }
    }
    return 0;
  }
  Json json(options.out, options.seed);
  int status = 0;
  std::istringstream types(options.type);
  for (std::string type; std::getline(types, type, ',');) {
    const auto kind =
        std::find_if(all.begin(), all.end(), [&](const RandomKind& k) { return type == k.option; });
    if (kind == all.end()) throw std::invalid_argument("no type " + type);
    for (const Group& group : groups) {
      std::vector<Result> results;
      for (const Shape& shape : group.shapes) {
        results.push_back(measure(*kind, shape));
        json.add(results.back());
        if (!results.back().error.empty()) {
          print(results.back());
          status = 1;
        }
      }
      summarize(kind->option + (group.name.empty() ? "" : " " + group.name), options.seed, results);
    }
  }
  return status;
}

}  // namespace
}  // namespace perf

int main(int argc, char** argv) {
  try {
    return perf::run(perf::parse(argc, argv));
  } catch (const std::exception& e) {
    std::cerr << "perf_random: " << e.what() << '\n';
    return 2;
  }
}
