// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Random scans on a GPU, without Kokkos, compared with a serial loop (fuzz.hpp says what is
// random).
//
//   for f in unit_tests/cuda/fuzz*.cu; do
//     nvcc -std=c++20 -O3 -arch=sm_90 -I unit_tests/cuda/annotations -I include -I src \
//       -c $f -o $(basename $f .cu).o &
//   done; wait; nvcc -arch=sm_90 fuzz*.o -o fuzz && ./fuzz --seed=1 --count=100000
//
//   --seed=N --first=N --count=N   cases N ... of a seed; --seed=S --first=N --count=1 is one case
//   --seconds=N                    ends after so many seconds
//   --type=NAME                    only the cases of a kind; --type=help names them
//   --elements=N                   of the largest cases
//   --verbose                      says which case comes next, for what hangs
//
// Its exit status is 0 if all passed, 1 if not, 77 where there is no GPU.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "fuzz_gpu.hpp"

namespace {

namespace fuzz = test::fuzz;

struct Options {
  std::uint64_t seed = 1, first = 0, count = 100'000;
  double seconds = 1e9;
  std::string type;
  fuzz::Limits limits;
  bool is_verbose = false;
};

/// Whether the argument is --NAME=VALUE.
bool is_option(char const* argument, char const* name, char const*& value) {
  std::size_t const length = std::strlen(name);
  if (std::strncmp(argument, name, length) != 0 || argument[length] != '=') return false;
  value = argument + length + 1;
  return true;
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    char const* value = nullptr;
    if (is_option(argv[i], "--seed", value)) {
      options.seed = std::strtoull(value, nullptr, 10);
    } else if (is_option(argv[i], "--first", value)) {
      options.first = std::strtoull(value, nullptr, 10);
    } else if (is_option(argv[i], "--count", value)) {
      options.count = std::strtoull(value, nullptr, 10);
    } else if (is_option(argv[i], "--seconds", value)) {
      options.seconds = std::atof(value);
    } else if (is_option(argv[i], "--type", value)) {
      options.type = value;
    } else if (is_option(argv[i], "--elements", value)) {
      options.limits.most_elements = std::atoll(value);
    } else if (std::strcmp(argv[i], "--verbose") == 0) {
      options.is_verbose = true;
    } else {
      std::fprintf(stderr, "unknown: %s; options are at the head of fuzz.cu\n", argv[i]);
      std::exit(2);
    }
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  Options const options = parse(argc, argv);
  fuzz::Runners<fuzz::Gpu> runners;
  fuzz::add_floats(runners);
  fuzz::add_doubles(runners);
  fuzz::add_operators(runners);
  fuzz::add_wider(runners);
  fuzz::add_small(runners);
  fuzz::add_computed(runners);
  fuzz::add_structs(runners);
  fuzz::add_outputs(runners);
  bool is_known = options.type.empty();
  for (auto const& runner : runners) {
    if (runner.run == nullptr) {
      std::fprintf(stderr, "a kind of fuzz.hpp is in no file\n");
      return 2;
    }
    is_known = is_known || options.type == runner.name;
  }
  if (!is_known) {
    for (auto const& runner : runners) std::printf("%s\n", runner.name);
    return 2;
  }
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("no GPU\n");
    return 77;
  }

  fuzz::Gpu gpu;
  using Clock = std::chrono::steady_clock;
  auto const begin = Clock::now();
  auto const seconds = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  std::uint64_t ran = 0;
  int failed = 0;
  constexpr int most_failures = 10;
  for (std::uint64_t number = options.first; number < options.first + options.count; ++number) {
    auto const& runner = runners[number % fuzz::AllKinds::size];
    if (!options.type.empty() && options.type != runner.name) continue;
    if (seconds() > options.seconds) break;
    if (options.is_verbose) {
      std::printf("case %llu\n", static_cast<unsigned long long>(number));
      std::fflush(stdout);
    }
    std::string const wrong = runner.run(gpu, options.seed, number, options.limits);
    ++ran;
    if (wrong.empty()) continue;
    std::printf("%s\n", wrong.c_str());
    std::fflush(stdout);
    if (++failed == most_failures) break;
    // An error that destroys the context fails all later cases.
    if (cudaDeviceSynchronize() != cudaSuccess) break;
  }
  std::printf("%llu cases of seed %llu in %.0f s: %d failed\n",
              static_cast<unsigned long long>(ran), static_cast<unsigned long long>(options.seed),
              seconds(), failed);
  return failed == 0 && ran > 0 ? 0 : 1;
}
