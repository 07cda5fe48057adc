// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Bools with arbitrary bytes: image masks contain 0 and 255, and in NumPy and PyTorch any non-zero
// byte is true. Reading such a byte as a bool is undefined behaviour, so this tests all ways in
// which arrays of bool are read: as masks, as values, by users' functions, in order or not, on all
// backends of a space. (unit_tests/cuda/fuzz.hpp tests the CUDA kernels.)

#include <gtest/gtest.h>

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>

#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <utility>

#include "support/flat.hpp"
#include "support/types.hpp"
#include "support/values.hpp"

namespace test::masks {

template <class T>
using Matrix = Kokkos::View<T**, Kokkos::LayoutRight, Device>;
template <class T>
using Unmanaged = Kokkos::View<T**, Kokkos::LayoutRight, Device, Kokkos::MemoryUnmanaged>;

/// Bytes that are 0, or true in several ways.
Matrix<unsigned char> random_bytes(std::size_t rows, std::size_t columns) {
  unsigned char const bytes[] = {0, 1, 85, 255};
  Random random(rows * 1000 + columns);
  Matrix<unsigned char> const result("bytes", rows, columns);
  auto const host = Kokkos::create_mirror_view(result);
  for (std::size_t i = 0; i < host.size(); ++i) host.data()[i] = bytes[random.below(4)];
  Kokkos::deep_copy(result, host);
  return result;
}
/// The same memory as bools.
Unmanaged<bool> as_bools(Matrix<unsigned char> const& bytes) {
  return Unmanaged<bool>(reinterpret_cast<bool*>(bytes.data()), bytes.extent(0), bytes.extent(1));
}
/// Small integers, whose sums are exact in any order.
template <class T>
Matrix<T> random_numbers(std::size_t rows, std::size_t columns) {
  Random random(rows + columns * 1000);
  Matrix<T> const result("numbers", rows, columns);
  auto const host = Kokkos::create_mirror_view(result);
  for (std::size_t i = 0; i < host.size(); ++i) {
    host.data()[i] = static_cast<T>(static_cast<int>(random.below(7)) - 3);
  }
  Kokkos::deep_copy(result, host);
  return result;
}

/// Expects running sums of value(i, j) in `sums`.
template <class T, class Value>
void expect_sums(Matrix<T> const& sums, int axis, Value const& value) {
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, sums);
  std::size_t const lines = host.extent(axis == 0 ? 1 : 0), n = host.extent(axis == 0 ? 0 : 1);
  for (std::size_t l = 0; l < lines; ++l) {
    T sum(0);
    for (std::size_t k = 0; k < n; ++k) {
      std::size_t const i = axis == 0 ? k : l, j = axis == 0 ? l : k;
      sum += value(i, j);
      ASSERT_TRUE(host(i, j) == sum) << n << " elements of line " << l << " of " << lines
                                     << " along axis " << axis << ", element " << k;
    }
  }
}

/// Shapes for different kernels.
std::initializer_list<std::pair<std::size_t, std::size_t>> const shapes{
    {7, 501}, {501, 7}, {3000, 1}, {1, 3000}, {40, 200}, {100, 3}, {2100, 2}, {5, 5}};

/// Calls f(rows, columns, axis).
template <class F>
void for_each_shape(F const& f) {
  for (auto const& [rows, columns] : shapes) {
    for (int const axis : {0, 1}) f(rows, columns, axis);
    if (::testing::Test::HasFailure()) return;
  }
}

template <class T, class Lines, class... Backend>
void check_masks(Lines const& lines_of, Backend const&... backend) {
  for_each_shape([&](std::size_t rows, std::size_t columns, int axis) {
    auto const x = random_numbers<T>(rows, columns);
    auto const bytes = random_bytes(rows, columns);
    Matrix<T> const sums("sums", rows, columns);
    auto const x_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, x);
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, bytes);
    auto const expect = [&] {
      expect_sums(sums, axis, [&](std::size_t i, std::size_t j) {
        return host(i, j) != 0 ? x_host(i, j) : T(0);
      });
    };
    auto const scan = [&](auto const& mask) {
      if constexpr (sizeof...(Backend) == 0) {
        ks::inclusive_scan(Exec(), ks::masked(x, mask), sums, lines_of(axis));
      } else {
        ks::impl::scan(ks::impl::Function::inclusive_scan, Exec(), ks::masked(x, mask), sums,
                       lines_of(axis), ks::Sum<>{}, backend...);
      }
    };
    scan(as_bools(bytes));
    expect();
    scan(bytes);
    expect();
  });
}

auto const by_tree = [](int axis) { return ks::along(axis); };
auto const in_order = [](int axis) { return ks::along(axis).in_order(); };

TEST(lines, masks_of_any_bytes) {
  check_masks<float>(by_tree);
  check_masks<double>(by_tree);
  check_masks<std::int32_t>(by_tree);
  check_masks<std::int16_t>(by_tree);
  check_masks<Kokkos::complex<float>>(by_tree);
}
TEST(lines, masks_of_any_bytes_in_order) {
  check_masks<float>(in_order);
  check_masks<double>(in_order);
  check_masks<Kokkos::complex<double>>(in_order);
}
TEST(lines, masks_of_any_bytes_for_the_generic_backend) {
  for (Regime const regime : forced_regimes) check_masks<float>(by_tree, forced(regime));
}

/// A mask of integers is true where they are non-zero, even if their lowest byte is 0.
TEST(lines, masks_of_wider_integers) {
  for_each_shape([&](std::size_t rows, std::size_t columns, int axis) {
    auto const x = random_numbers<double>(rows, columns);
    Matrix<int> const mask("mask", rows, columns);
    auto const mask_host = Kokkos::create_mirror_view(mask);
    int const values[] = {0, 256, -1, 1 << 30};
    Random random(5);
    for (std::size_t i = 0; i < mask_host.size(); ++i) {
      mask_host.data()[i] = values[random.below(4)];
    }
    Kokkos::deep_copy(mask, mask_host);
    Matrix<double> const sums("sums", rows, columns);
    ks::inclusive_scan(Exec(), ks::masked(x, mask), sums, axis);
    auto const x_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, x);
    expect_sums(sums, axis, [&](std::size_t i, std::size_t j) {
      return mask_host(i, j) != 0 ? x_host(i, j) : 0.0;
    });
  });
}

struct AddBools {
  template <class A, class B>
  KOKKOS_FUNCTION int operator()(A const& a, B const& b) const {
    static_assert(std::is_same_v<A, bool> && std::is_same_v<B, bool>);
    return static_cast<int>(a) + static_cast<int>(b);
  }
};

/// Bools as values are 0 and 1, also for users' functions.
TEST(lines, bools_of_any_bytes_as_values) {
  for_each_shape([&](std::size_t rows, std::size_t columns, int axis) {
    auto const bytes = random_bytes(rows, columns);
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, bytes);
    auto const is_true = [&](std::size_t i, std::size_t j) { return host(i, j) != 0 ? 1 : 0; };
    Matrix<int> const sums("sums", rows, columns);
    ks::inclusive_scan(Exec(), as_bools(bytes), sums, axis);
    expect_sums(sums, axis, is_true);
    ks::inclusive_scan(Exec(), ks::masked(as_bools(bytes), as_bools(bytes)), sums, axis);
    expect_sums(sums, axis, is_true);
    ks::inclusive_scan(Exec(), ks::zip_transform(AddBools{}, as_bools(bytes), as_bools(bytes)),
                       sums, axis);
    expect_sums(sums, axis, [&](std::size_t i, std::size_t j) { return 2 * is_true(i, j); });
  });
}
TEST(lines, masks_of_any_bytes_that_are_masked) {
  for_each_shape([&](std::size_t rows, std::size_t columns, int axis) {
    auto const x = random_numbers<float>(rows, columns);
    auto const bytes = random_bytes(rows, columns);
    Matrix<float> const sums("sums", rows, columns);
    auto const mask = as_bools(bytes);
    ks::inclusive_scan(Exec(), ks::masked(x, ks::masked(mask, mask)), sums, axis);
    auto const x_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, x);
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, bytes);
    expect_sums(sums, axis, [&](std::size_t i, std::size_t j) {
      return host(i, j) != 0 ? x_host(i, j) : 0.0F;
    });
  });
}

/// Starting values, one value per line, and minima and maxima, which are bools again.
TEST(lines, bools_of_any_bytes_of_each_line) {
  std::size_t const rows = 9, columns = 40;
  Kokkos::View<unsigned char*, Device> const starts("starts", rows);
  auto const starts_host = Kokkos::create_mirror_view(starts);
  for (std::size_t i = 0; i < rows; ++i) starts_host(i) = static_cast<unsigned char>(85 * (i % 4));
  Kokkos::deep_copy(starts, starts_host);
  using Bools = Kokkos::View<bool*, Device, Kokkos::MemoryUnmanaged>;
  Bools const of_lines(reinterpret_cast<bool*>(starts.data()), rows);
  auto const bytes = random_bytes(rows, columns);
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, bytes);
  Matrix<int> const sums("sums", rows, columns);
  ks::inclusive_scan(Exec(), as_bools(bytes), sums, ks::along(1).starting_at(of_lines));
  auto const first = [&](std::size_t i) { return starts_host(i) != 0 ? 1 : 0; };
  auto const is_true = [&](std::size_t i, std::size_t j) { return host(i, j) != 0 ? 1 : 0; };
  expect_sums(sums, 1, [&](std::size_t i, std::size_t j) {
    return is_true(i, j) + (j == 0 ? first(i) : 0);
  });
  ks::inclusive_scan(
      Exec(), ks::zip_transform(AddBools{}, as_bools(bytes), ks::impl::OfEachLine<Bools>{of_lines}),
      sums, 1);
  expect_sums(sums, 1, [&](std::size_t i, std::size_t j) { return is_true(i, j) + first(i); });

  auto const as_bytes = [](auto const& bools) {
    return Kokkos::create_mirror_view_and_copy(
        Kokkos::HostSpace{},
        Unmanaged<unsigned char>(reinterpret_cast<unsigned char*>(bools.data()), bools.extent(0),
                                 bools.extent(1)));
  };
  Matrix<bool> const most("most", rows, columns);
  ks::inclusive_scan(Exec(), as_bools(bytes), most, 1, ks::Max<>{});
  // Also in place.
  ks::inclusive_scan(Exec(), as_bools(bytes), as_bools(bytes), 1, ks::Max<>{});
  auto const of_most = as_bytes(most), of_place = as_bytes(as_bools(bytes));
  for (std::size_t i = 0; i < rows; ++i) {
    bool any = false;
    for (std::size_t j = 0; j < columns; ++j) {
      any = any || host(i, j) != 0;
      ASSERT_EQ(of_most(i, j), any ? 1 : 0) << i << ' ' << j;
      ASSERT_EQ(of_place(i, j), any ? 1 : 0) << i << ' ' << j;
    }
  }
}

struct IsTrue {
  KOKKOS_FUNCTION bool operator()(bool value) const { return value; }
};

TEST(lines, selections_by_bools_of_any_bytes) {
  std::size_t const rows = 5, columns = 3000;
  auto const bytes = random_bytes(rows, columns);
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, bytes);
  auto const x = random_numbers<int>(rows, columns);
  auto const x_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, x);
  Matrix<int> const kept("kept", rows, columns);
  Matrix<bool> const trues("trues", rows, columns);
  Kokkos::View<int*, Device> const count("count", rows), count_of_trues("count of trues", rows);
  ks::select(Exec(), x, as_bools(bytes), kept, count);
  ks::select(Exec(), as_bools(bytes), IsTrue{}, trues, count_of_trues);
  auto const kept_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, kept);
  auto const counts = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, count);
  auto const other_counts =
      Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, count_of_trues);
  for (std::size_t i = 0; i < rows; ++i) {
    std::size_t next = 0;
    for (std::size_t j = 0; j < columns; ++j) {
      if (host(i, j) == 0) continue;
      ASSERT_EQ(kept_host(i, next), x_host(i, j)) << i << ' ' << j;
      ++next;
    }
    EXPECT_EQ(counts(i), static_cast<int>(next));
    EXPECT_EQ(other_counts(i), static_cast<int>(next));
  }
}

}  // namespace test::masks
