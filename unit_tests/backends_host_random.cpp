// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The host backend on random problems, bitwise compared with a serial loop, to find what lists of
// cases miss. KOKKOS_SCAN_RANDOM_CASES=N runs N cases of each type, KOKKOS_SCAN_RANDOM_SEED=S sets
// the seed; a failure names seed and case.
// Regression classes: A, D aliasing, E strides, H alignment, K reverse.

#include <Kokkos_Core.hpp>

// Host-only functions.
#if !defined(KOKKOS_ENABLE_CUDA)

#include <gtest/gtest.h>

#include <KokkosScan/KokkosScan.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include "backends.hpp"

namespace test {
namespace backends_host_random {

namespace host = ks::impl::host;
using HostBackend = ks::impl::HostOrTeam;
template <class T>
using Box = Kokkos::View<T***, Kokkos::LayoutStride, Device, Kokkos::MemoryUnmanaged>;
template <class T>
using Sheet = Kokkos::View<T**, Kokkos::LayoutStride, Device, Kokkos::MemoryUnmanaged>;
using Extents = std::array<std::int64_t, 3>;

std::int64_t from_environment(char const* name, std::int64_t otherwise) {
  char const* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

/// Memory that is poisoned except for the elements of arrays.
template <class T>
class Memory {
 public:
  /// An array of these extents with random strides: dense, or in half of the cases with padding or
  /// a random order of dimensions.
  Box<T> place(Random& random, Extents const& extents) {
    std::array<int, 3> order{0, 1, 2};
    bool const is_dense = random.below(2) == 0;
    if (!is_dense && random.below(2) == 0) {
      for (int i = 2; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
    }
    Extents strides{};
    std::int64_t size = !is_dense && random.below(3) == 0 ? 1 + random.below(2) : 1;
    for (int i = 2; i >= 0; --i) {
      strides[order[i]] = size;
      size *= std::max<std::int64_t>(1, extents[order[i]]);
      if (!is_dense && random.below(3) == 0) size += random.below(9);
    }
    std::int64_t const offset = random.below(20);
    m_values.assign(static_cast<std::size_t>(size + offset + 40), poisoned<T>());
    auto const u = [](std::int64_t i) { return static_cast<std::size_t>(i); };
    return Box<T>(m_values.data() + offset,
                  Kokkos::LayoutStride(u(extents[0]), u(strides[0]), u(extents[1]), u(strides[1]),
                                       u(extents[2]), u(strides[2])));
  }
  std::vector<T>& values() { return m_values; }

 private:
  std::vector<T> m_values;
};

/// Values whose results do not depend on the order of combination: small sums, products of powers
/// of two, integers that wrap.
template <class T, class Op>
T value(Random& random) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(random.next() >> 17);
  } else if constexpr (std::is_same_v<Op, ks::Prod<>>) {
    T const factors[] = {T(2), T(0.5), T(-1), T(1)};
    return factors[random.below(4)];
  } else {
    return static_cast<T>(random.below(15) - 7);
  }
}

/// A computed input that reads the elements of an array.
template <class T>
struct ElementOf {
  Box<T> box;
  KOKKOS_FUNCTION T operator()(std::int64_t i, std::int64_t j, std::int64_t k) const {
    return box(i, j, k);
  }
};

enum class Inputs { array, masked, computed };

/// Case `number` of a seed.
template <class T, class Op, Inputs kind, bool starts_each>
void scan_case(std::uint64_t seed, std::int64_t number) {
  using Operator = ks::impl::bound_t<Op, T>;
  Random random(seed * 1'000'003 + static_cast<std::uint64_t>(number));
  auto const u = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  // Extents are log-uniform; some are next to powers of two.
  Extents extents{};
  std::int64_t most = 1 << (4 + random.below(13));
  std::array<int, 3> dimensions{0, 1, 2};
  for (int i = 2; i > 0; --i) std::swap(dimensions[i], dimensions[random.below(i + 1)]);
  for (int const d : dimensions) {
    std::int64_t extent = std::llround(std::pow(static_cast<double>(most), random.unit()));
    if (random.below(3) == 0) extent = (std::int64_t{1} << random.below(8)) + random.below(3) - 1;
    extents[d] = std::clamp<std::int64_t>(extent, 1, most);
    most = std::max<std::int64_t>(1, most / extents[d]);
  }
  int axis = static_cast<int>(random.below(3));
  // Slabs of a few elements, and rows that are cut into pieces, of any register count.
  std::int64_t const kind_of_shape = random.below(8);
  if (kind_of_shape < 2) {
    std::int64_t const width = random.below(2) == 0 ? 1 << random.below(6) : 1 + random.below(18);
    extents = {1 + random.below(700), 1 + random.below(5), width};
    axis = 1;
  } else if (kind_of_shape == 2) {
    extents = {1 + random.below(2), 1 + random.below(40), 1020 + random.below(3200)};
    axis = 1;
  } else if (kind_of_shape == 3) {
    // Columns of several tiles, which threads may share, with narrow and with wider rows.
    std::int64_t const width = 1 + random.below(random.below(2) == 0 ? 20 : 300);
    extents = {1 + random.below(2), 1020 + random.below(60'000 / width + 10), width};
    axis = 1;
  }
  std::int64_t const n = extents[axis];
  bool const is_exclusive = random.below(2) == 0;
  bool const has_extra = is_exclusive && random.below(3) == 0;
  bool const is_backward = random.below(2) == 0;
  bool const in_place = kind != Inputs::computed && random.below(4) == 0;
  bool const has_totals = random.below(3) == 0;
  bool const has_start = starts_each || random.below(3) == 0;
  Extents out_extents = extents;
  if (has_extra) ++out_extents[axis];

  Memory<T> in_memory, out_memory, starts_memory, totals_memory;
  Memory<std::uint8_t> mask_memory;
  Box<T> const out = out_memory.place(random, out_extents);
  Box<T> x = in_memory.place(random, extents);
  if (in_place) {
    // The first n elements of n+1, or the last.
    std::int64_t const first = has_extra ? random.below(2) : 0;
    std::array<std::size_t, 3> at{};
    at[axis] = u(first);
    x = Box<T>(&out(at[0], at[1], at[2]),
               Kokkos::LayoutStride(u(extents[0]), out.stride(0), u(extents[1]), out.stride(1),
                                    u(extents[2]), out.stride(2)));
  }
  Box<std::uint8_t> const mask = mask_memory.place(random, extents);
  std::array<std::int64_t, 2> others{};
  for (int d = 0, i = 0; d < 3; ++d) {
    if (d != axis) others[i++] = extents[d];
  }
  std::vector<T> starts(u(others[0] * others[1])), totals(starts.size(), poisoned<T>());
  for (T& start : starts) start = value<T, Op>(random);
  if (!starts_each) std::fill(starts.begin(), starts.end(), starts[0]);
  Kokkos::LayoutStride const of_lines(u(others[0]), u(others[1]), u(others[1]), 1);
  Sheet<T> const starts_view(starts.data(), of_lines), totals_view(totals.data(), of_lines);
  for (std::int64_t i = 0; i < extents[0]; ++i) {
    for (std::int64_t j = 0; j < extents[1]; ++j) {
      for (std::int64_t k = 0; k < extents[2]; ++k) {
        x(u(i), u(j), u(k)) = value<T, Op>(random);
        // Any byte but 0 is true.
        std::uint8_t const truths[] = {0, 1, 255};
        mask(u(i), u(j), u(k)) = truths[random.below(3)];
      }
    }
  }

  // The expected memory.
  std::vector<T> expected = out_memory.values(), expected_totals = totals;
  // Products of float may leave the range of float between results.
  using R = ks::impl::carried_t<Operator, T>;
  auto const op = ks::impl::carrying(Operator{});
  for (std::int64_t a = 0; a < others[0]; ++a) {
    for (std::int64_t b = 0; b < others[1]; ++b) {
      R fold = has_start ? starts[u(a * others[1] + b)] : Operator::identity();
      bool has_fold = has_start;
      for (std::int64_t step = 0; step < n + (has_extra ? 1 : 0); ++step) {
        auto const at = [&](std::int64_t k) {
          return axis == 0   ? std::array{u(k), u(a), u(b)}
                 : axis == 1 ? std::array{u(a), u(k), u(b)}
                             : std::array{u(a), u(b), u(k)};
        };
        R const before = fold;
        if (step < n) {
          auto const e = at(is_backward ? n - 1 - step : step);
          bool const selected = kind != Inputs::masked || mask(e[0], e[1], e[2]) != 0;
          T const element = selected ? x(e[0], e[1], e[2]) : Operator::identity();
          fold = has_fold ? R(op(fold, static_cast<R>(element))) : static_cast<R>(element);
          has_fold = true;
        }
        auto const r = at(is_backward ? out_extents[axis] - 1 - step : step);
        expected[u(&out(r[0], r[1], r[2]) - out_memory.values().data())] =
            static_cast<T>(is_exclusive ? before : fold);
      }
      if (has_totals) expected_totals[u(a * others[1] + b)] = static_cast<T>(fold);
    }
  }

  HostBackend backend{};
  backend.host.sharing = static_cast<host::Sharing>(random.below(3));
  backend.host.destination = static_cast<host::Destination>(random.below(3));
  if (random.below(2) == 0) backend.host.registers = host::least_registers;
  Exec const exec = backends::instance_of_threads(1 + random.below(4));
  std::string const what =
      "seed " + std::to_string(seed) + ", case " + std::to_string(number) + ": (" +
      std::to_string(extents[0]) + ", " + std::to_string(extents[1]) + ", " +
      std::to_string(extents[2]) + ") along " + std::to_string(axis) +
      (is_exclusive ? has_extra ? ", n+1" : ", exclusive" : ", inclusive") +
      (is_backward ? ", backward" : "") + (in_place ? ", in place" : "") +
      (has_totals ? ", totals" : "") + (has_start ? ", start" : "") + ", strides " +
      std::to_string(out.stride(0)) + " " + std::to_string(out.stride(1)) + " " +
      std::to_string(out.stride(2)) + ", sharing " +
      std::to_string(static_cast<int>(backend.host.sharing)) + ", destination " +
      std::to_string(static_cast<int>(backend.host.destination)) + ", registers " +
      std::to_string(static_cast<int>(backend.host.registers)) + ", threads " +
      std::to_string(exec.concurrency());

  auto const function =
      is_exclusive ? ks::impl::Function::exclusive_scan : ks::impl::Function::inclusive_scan;
  auto const scan = [&](auto const& input) {
    auto const along = is_backward ? ks::along(axis).backward() : ks::along(axis);
    auto const call = [&](auto const& lines) {
      ks::impl::scan(function, exec, input, out, lines, Op{}, backend);
    };
    auto const with_totals = [&](auto const& lines) {
      has_totals ? call(lines.totals(totals_view)) : call(lines);
    };
    if constexpr (starts_each) {
      call(along.starting_at(starts_view).totals(totals_view));
    } else {
      has_start ? with_totals(along.starting_at(starts[0])) : with_totals(along);
    }
  };
  if constexpr (kind == Inputs::masked) {
    scan(ks::masked(x, Box<bool>(reinterpret_cast<bool*>(mask.data()), mask.layout())));
  } else if constexpr (kind == Inputs::computed) {
    scan(ks::elementwise(x, ElementOf<T>{x}));
  } else {
    scan(x);
  }
  exec.fence();
  // It would be NaN if kernels left the x87 registers in MMX state.
  volatile long double one = 1;
  ASSERT_EQ(one + one, 2) << what << ", then a sum of long double";
  std::int64_t const wrong =
      first_difference(out_memory.values().data(), expected.data(), expected.size());
  ASSERT_EQ(wrong, -1) << what << ", element " << wrong - (out.data() - out_memory.values().data())
                       << " of memory is "
                       << oracle::to_text(out_memory.values()[u(std::max<std::int64_t>(0, wrong))])
                       << ", expected "
                       << oracle::to_text(expected[u(std::max<std::int64_t>(0, wrong))]);
  if (has_totals || starts_each) {
    for (std::size_t l = 0; l < totals.size() && has_totals; ++l) {
      ASSERT_TRUE(totals[l] == expected_totals[l]) << what << ", total of line " << l;
    }
  }
}

template <class T, class Op, Inputs kind, bool starts_each>
void random_cases() {
  if (!std::is_same_v<ks::impl::DefaultBackend<Exec>, HostBackend>) {
    GTEST_SKIP() << "the default execution space has another backend";
  }
  auto const seed = static_cast<std::uint64_t>(from_environment("KOKKOS_SCAN_RANDOM_SEED", 1));
  std::int64_t const first = from_environment("KOKKOS_SCAN_RANDOM_FIRST", 0);
  std::int64_t const count = from_environment("KOKKOS_SCAN_RANDOM_CASES", 1000);
  for (std::int64_t number = first; number < first + count; ++number) {
    scan_case<T, Op, kind, starts_each>(seed, number);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(backends_host_random, sums_of_float) {
  random_cases<float, ks::Sum<>, Inputs::array, false>();
}
TEST(backends_host_random, sums_of_float_from_starts) {
  random_cases<float, ks::Sum<>, Inputs::array, true>();
}
TEST(backends_host_random, masked_sums_of_float) {
  random_cases<float, ks::Sum<>, Inputs::masked, false>();
}
TEST(backends_host_random, sums_of_double) {
  random_cases<double, ks::Sum<>, Inputs::array, false>();
}
TEST(backends_host_random, computed_sums_of_double) {
  random_cases<double, ks::Sum<>, Inputs::computed, true>();
}
TEST(backends_host_random, products_of_float) {
  random_cases<float, ks::Prod<>, Inputs::masked, true>();
}
TEST(backends_host_random, minima_of_double) {
  random_cases<double, ks::Min<>, Inputs::masked, false>();
}
TEST(backends_host_random, products_of_int64) {
  random_cases<std::int64_t, ks::Prod<>, Inputs::array, true>();
}
TEST(backends_host_random, sums_of_int16) {
  random_cases<std::int16_t, ks::Sum<>, Inputs::masked, false>();
}
TEST(backends_host_random, maxima_of_uint8) {
  random_cases<std::uint8_t, ks::Max<>, Inputs::array, true>();
}

}  // namespace backends_host_random
}  // namespace test

#endif
