// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// More elements, lines and bytes than 32 bits can count. 8-bit outputs and computed inputs keep the
// memory below 5 GB; if that much is not available, tests are skipped with a message.
// Regression classes: B index overflow (pytorch #167086, cupy #10268, cccl #8803), C limits of the
// grid.

#include <gtest/gtest.h>

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include "support/flat.hpp"
#include "support/types.hpp"

namespace test {
namespace big {

constexpr std::int64_t two_to_31 = std::int64_t(1) << 31;
constexpr std::int64_t two_to_32 = std::int64_t(1) << 32;

/// Number of bytes that can be allocated safely.
std::int64_t available_bytes() {
#if defined(KOKKOS_ENABLE_CUDA)
  if constexpr (std::is_same_v<Exec, Kokkos::Cuda>) {
    std::size_t available = 0;
    std::size_t total = 0;
    return cudaMemGetInfo(&available, &total) == cudaSuccess ? static_cast<std::int64_t>(available)
                                                             : 0;
  }
#endif
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::string unit;
  std::int64_t amount = 0;
  while (file >> name >> amount) {
    std::getline(file, unit);
    if (name == "MemAvailable:") return amount * 1024;
  }
  return 0;
}

/// The reason to skip a test that needs `bytes`, or nothing.
std::string reason_to_skip(std::int64_t bytes) {
  std::int64_t const margin = std::int64_t(1) << 30;
  std::int64_t const available = available_bytes();
  if (available >= bytes + margin) return "";
  return "needs " + std::to_string(bytes >> 20) + " MiB and " + std::to_string(margin >> 20) +
         " MiB to spare, but " + std::to_string(available >> 20) + " MiB are available";
}

/// A value that depends on all bits of its index.
struct Value {
  KOKKOS_FUNCTION std::uint8_t operator()(std::int64_t i) const {
    auto const u = static_cast<std::uint64_t>(i);
    return static_cast<std::uint8_t>(u + 3 * (u >> 31) + 5 * (u >> 32));
  }
  /// The sum of the first k values, modulo 2^64.
  KOKKOS_FUNCTION static std::uint64_t sum_of_first(std::int64_t k) {
    auto const u = static_cast<std::uint64_t>(k);
    std::uint64_t const from_31 = k > two_to_31 ? u - static_cast<std::uint64_t>(two_to_31) : 0;
    std::uint64_t const from_32 = k > two_to_32 ? u - static_cast<std::uint64_t>(two_to_32) : 0;
    std::uint64_t const half = u % 2 == 0 ? u / 2 * (u - 1) : (u - 1) / 2 * u;
    return half + 3 * (from_31 + from_32) + 5 * from_32;
  }
};

/// Finds the first wrong element.
template <class Expected>
struct Compare {
  Flat<std::uint8_t const> actual;
  Expected expected;
  Kokkos::View<std::int64_t, Device> first;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    if (actual.data()[i] != expected(i)) Kokkos::atomic_min(first.data(), i);
  }
};

template <class Expected>
void expect_all(Flat<std::uint8_t> const& actual, Expected const& expected) {
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  auto const size = static_cast<std::int64_t>(actual.extent(0));
  Kokkos::View<std::int64_t, Device> const first("first");
  fill(first, size);
  Kokkos::parallel_for("compare", Policy(0, size), Compare<Expected>{actual, expected, first});
  EXPECT_EQ(to_host(Flat<std::int64_t>(first.data(), 1))[0], size) << "the first that is wrong";
}

struct PrefixSum {
  KOKKOS_FUNCTION std::uint8_t operator()(std::int64_t i) const {
    return static_cast<std::uint8_t>(Value::sum_of_first(i + 1));
  }
};

/// One line of more than 2^32 elements, split or not as the library chooses.
void one_line() {
  std::int64_t const n = two_to_32 + 100'003;
  auto const y = uninitialized<std::uint8_t>("y", static_cast<std::size_t>(n));
  Kokkos::View<std::uint8_t, Device> const total("total");
  std::array<std::int64_t, 1> const extents{n};
  ks::inclusive_scan(Exec(), ks::elementwise(extents, Value{}), y, ks::along(0).totals(total));
  expect_all(y, PrefixSum{});
  std::uint8_t host = 0;
  Kokkos::deep_copy(host, total);
  EXPECT_EQ(host, static_cast<std::uint8_t>(Value::sum_of_first(n)));
}

TEST(big, one_line_of_more_than_2_to_32_elements) {
  auto const reason = reason_to_skip(two_to_32);
  if (!reason.empty()) GTEST_SKIP() << reason;
  one_line();
}

struct Fill {
  Flat<std::uint8_t> data;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { data.data()[i] = Value{}(i); }
};

/// Element i is the first or the second of a line of two.
struct PairSum {
  KOKKOS_FUNCTION std::uint8_t operator()(std::int64_t i) const {
    return static_cast<std::uint8_t>(Value{}(i) + (i % 2 == 0 ? 0 : Value{}(i - 1)));
  }
};

// C: more lines than an int counts.
void lines_of_two() {
  std::int64_t const lines = two_to_31 + 1;
  auto const x = uninitialized<std::uint8_t>("x", static_cast<std::size_t>(2 * lines));
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for("fill", Policy(0, 2 * lines), Fill{x});
  auto const in_place = rows(x, lines, 2);
  ks::inclusive_scan(Exec(), in_place, in_place, 1);
  expect_all(x, PairSum{});
}

TEST(big, more_than_2_to_31_lines_of_two) {
  auto reason = reason_to_skip(2 * (two_to_31 + 1));
  if (Exec().concurrency() == 1 && std::getenv("KOKKOS_SCAN_TEST_SLOW") == nullptr) {
    reason = "takes minutes on one thread; KOKKOS_SCAN_TEST_SLOW=1 runs it";
  }
  if (!reason.empty()) GTEST_SKIP() << reason;
  lines_of_two();
}

struct Place {
  std::int64_t line_stride, stride;
  KOKKOS_FUNCTION std::int64_t operator()(std::int64_t l, std::int64_t k) const {
    return l * line_stride + k * stride;
  }
};

template <class T>
struct FillSparse {
  T* data;
  Place place;
  std::int64_t n;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    data[place(i / n, i % n)] = static_cast<T>(i + 1);
  }
};
template <class T>
struct Collect {
  T const* data;
  Place place;
  std::int64_t n;
  Flat<T> result;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { result(i) = data[place(i / n, i % n)]; }
};

/// A few elements far apart, so only their pages are touched. In place, forward and backward.
template <class T>
void far_apart(std::int64_t lines, std::int64_t line_stride, std::int64_t n, std::int64_t stride,
               Direction direction) {
  SCOPED_TRACE(::testing::Message() << lines << ":" << line_stride << " x " << n << ":" << stride
                                    << " of " << sizeof(T) << " bytes, " << to_text(direction));
  std::int64_t const size = (lines - 1) * line_stride + (n - 1) * stride + 1;
  auto const memory = uninitialized<T>("x", static_cast<std::size_t>(size));
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  Place const place{line_stride, stride};
  Kokkos::parallel_for("fill", Policy(0, lines * n), FillSparse<T>{memory.data(), place, n});
  auto const x = plane(memory, 0, lines, line_stride, n, stride);
  for (Regime const regime : forced_regimes) {
    // Each regime scans the results of the one before.
    auto const before = uninitialized<T>("before", static_cast<std::size_t>(lines * n));
    auto const after = uninitialized<T>("after", static_cast<std::size_t>(lines * n));
    Kokkos::parallel_for("collect", Policy(0, lines * n),
                         Collect<T>{memory.data(), place, n, before});
    auto const along = ks::along(1);
    ks::impl::scan(ks::impl::Function::inclusive_scan, Exec(), x, x,
                   direction == Direction::backward ? along.backward() : along, ks::Sum{},
                   forced(regime));
    Kokkos::parallel_for("collect", Policy(0, lines * n),
                         Collect<T>{memory.data(), place, n, after});
    auto const values = to_host(before);
    auto const sums = to_host(after);
    for (std::int64_t l = 0; l < lines; ++l) {
      T sum(0);
      for (std::int64_t k = 0; k < n; ++k) {
        auto const i =
            static_cast<std::size_t>(l * n + (direction == Direction::forward ? k : n - 1 - k));
        sum = static_cast<T>(sum + values[i]);
        ASSERT_EQ(sums[i], sum) << to_text(regime) << ", line " << l << ", element " << k;
      }
    }
  }
}

template <class T>
void far_apart_both_ways(std::int64_t lines, std::int64_t line_stride, std::int64_t n,
                         std::int64_t stride) {
  far_apart<T>(lines, line_stride, n, stride, Direction::forward);
  far_apart<T>(lines, line_stride, n, stride, Direction::backward);
}

// B: index overflow (pytorch #167086, cupy #10268, cccl #8803).
TEST(big, element_offsets_beyond_2_to_31_and_2_to_32) {
  // Not touched, but device memory is not allocated lazily.
  auto const reason = reason_to_skip(two_to_32 + (1 << 20));
  if (!reason.empty()) GTEST_SKIP() << reason;
  far_apart_both_ways<std::uint8_t>(3, two_to_31 + 7, 300, 2);
  far_apart_both_ways<std::uint8_t>(2, 1, 5, (two_to_32 >> 2) + 11);
}
TEST(big, byte_offsets_beyond_4_gib) {
  auto const reason = reason_to_skip(two_to_32 + (1 << 20));
  if (!reason.empty()) GTEST_SKIP() << reason;
  far_apart_both_ways<double>(3, 260, 257, (two_to_32 >> 11) + 1);
  far_apart_both_ways<double>(2, (two_to_32 >> 3) + 3, 300, 1);
}

}  // namespace big
}  // namespace test
