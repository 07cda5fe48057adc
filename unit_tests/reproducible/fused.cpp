// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// If a compiler contracts the product of a computed input with the sum, results differ from those
// of a stored product. reproducible.cmake compiles this twice: with the usual flags, and for hosts
// with FMA. Regression class: L determinism.

#include <gtest/gtest.h>

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>

#include <array>
#include <cstdint>
#include <vector>

#include "support/flat.hpp"
#include "support/types.hpp"
#include "support/values.hpp"

namespace test {
namespace fused {

template <class T>
std::vector<T> random_values(std::int64_t size, std::uint64_t seed) {
  Random random(seed);
  std::vector<T> values(static_cast<std::size_t>(size));
  for (T& value : values) value = random_value<T>(random);
  return values;
}

template <class T>
struct ProductAt {
  Flat<T const> a, b;
  KOKKOS_FUNCTION T operator()(std::int64_t i) const { return a(i) * b(i); }
};

template <class T>
struct StoredAt {
  Flat<T const> a;
  KOKKOS_FUNCTION T operator()(std::int64_t i) const { return a(i); }
};

template <class T>
void computed_is_stored(std::int64_t n) {
  auto const x = random_values<T>(n, 11);
  auto const z = random_values<T>(n, 12);
  std::vector<T> product(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    T volatile const rounded = x[i] * z[i];
    product[i] = rounded;
  }
  Exec const exec;
  auto const fused = uninitialized<T>("fused", x.size());
  auto const stored = uninitialized<T>("stored", x.size());
  std::array<std::int64_t, 1> const extents{n};
  ProductAt<T> const computed{to_device("x", x), to_device("z", z)};
  ks::inclusive_scan(exec, ks::elementwise(extents, computed), fused);
  StoredAt<T> const loaded{to_device("product", product)};
  ks::inclusive_scan(exec, ks::elementwise(extents, loaded), stored);
  ASSERT_EQ(first_difference(to_host(fused), to_host(stored)), -1) << "n " << n;
}

TEST(reproducible, computed_inputs_are_not_fused_with_the_operator) {
#if defined(__FMA__)
  if (!__builtin_cpu_supports("fma")) GTEST_SKIP() << "this processor does not fuse";
#endif
  computed_is_stored<float>(4001);
  computed_is_stored<double>(4001);
  computed_is_stored<double>(200'003);
}

}  // namespace fused
}  // namespace test
