// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Checks that the combination trees are those of KOKKOSSCAN_TREE_VERSION: sums that round at each
// step must have the recorded hashes, also with gaps between rows of results. The test is compiled
// again with other tuning numbers, which must not matter (trees.cmake). A failure means that
// results have changed. If that is intended, raise KOKKOSSCAN_TREE_VERSION, mention it in
// CHANGELOG.md and replace the hashes by those that the test prints.

#include <Kokkos_Core.hpp>

#include <gtest/gtest.h>

#if !defined(KOKKOS_ENABLE_CUDA)
#include "support/emulated_cuda.hpp"
#endif

#include <KokkosScan/KokkosScan.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "support/flat.hpp"
#include "support/types.hpp"
#include "support/values.hpp"

namespace test {
namespace trees {

static_assert(KOKKOSSCAN_TREE_VERSION == 6, "The hashes below are those of another version.");

/// Lines and columns for each kernel and each way to cut a line.
struct Shape {
  std::int64_t outer;
  std::int64_t n;
  std::int64_t inner;
};
constexpr Shape shapes[] = {
    // Lines for one thread, part of a warp, a warp, a block, several tiles.
    {300, 7, 1},
    {100, 17, 1},
    {100, 30, 1},
    {90, 45, 1},
    {60, 100, 1},
    {20, 257, 1},
    {9, 1000, 1},
    {5, 1500, 1},
    {4, 2049, 1},
    {3, 4096, 1},
    {2, 8192, 1},
    {2, 20'001, 1},
    {2, 24'000, 1},
    {1, 70'000, 1},
    {1, 300'000, 1},
    // Columns: short, narrow, tiles, strips, shared between blocks.
    {30, 12, 40},
    {20, 300, 5},
    {2, 4000, 31},
    {3, 100, 64},
    {2, 700, 90},
    {1, 5000, 264},
    {1, 9000, 240},
    // Long narrow columns: one tile, several, more than a group of 16.
    {3, 4300, 2},
    {2, 9000, 20},
    {1, 20'000, 31},
    {1, 100'000, 3},
    {1, 66'000, 33},
    // Others of more than a section.
    {1, 5000, 64},
    {2, 9000, 40},
    {1, 3000, 224},
};

/// The hash FNV-1a (Fowler, Noll, Vo).
class Hash {
 public:
  template <class T>
  void add(T const& x) {
    unsigned char bytes[sizeof(T)];
    std::memcpy(bytes, &x, sizeof(T));
    for (unsigned char const byte : bytes) m_value = (m_value ^ byte) * 0x100'0000'01B3u;
  }
  [[nodiscard]] std::uint64_t value() const { return m_value; }

 private:
  std::uint64_t m_value = 0xCBF2'9CE4'8422'2325u;
};

/// A user-defined sum, which is carried in its own type, so it rounds at each step.
struct Plus {
  template <class T>
  KOKKOS_FUNCTION T operator()(T a, T b) const {
    return a + b;
  }
};

/// \param gap unused elements behind each row of results, or behind each line
template <class T, class Op, class Backend>
std::uint64_t hash_of_sums(Backend const& backend, std::int64_t gap) {
  Hash hash;
  for (Shape const& shape : shapes) {
    Random random(7);
    auto const size = static_cast<std::size_t>(shape.outer * shape.n * shape.inner);
    std::vector<T> values(size);
    // Cancelling large values expose the rounding of each step, even in a carried double.
    T large = static_cast<T>(0x1p40);
    for (T& x : values) {
      x = static_cast<T>(2 * random.unit() - 1);
      if (random.below(16) != 0) continue;
      x = large;
      large = -large;
    }
    auto const x = to_device("x", values);
    std::int64_t const row = shape.inner == 1 ? 1 : shape.inner + gap;
    std::int64_t const slab = shape.n * row + (shape.inner == 1 ? gap : 0);
    T const untouched = static_cast<T>(-77);
    auto const y =
        to_device("y", std::vector<T>(static_cast<std::size_t>(shape.outer * slab), untouched));
    auto const u = [](std::int64_t i) { return static_cast<std::size_t>(i); };
    Kokkos::View<T***, Kokkos::LayoutRight, Exec> const in(x.data(), u(shape.outer), u(shape.n),
                                                           u(shape.inner));
    Kokkos::LayoutStride const places(u(shape.outer), u(slab), u(shape.n), u(row), u(shape.inner),
                                      std::size_t{1});
    Kokkos::View<T***, Kokkos::LayoutStride, Exec> const out(y.data(), places);
    ks::impl::scan(ks::impl::Function::inclusive_scan, Exec(), in, out, ks::along(1), Op{},
                   backend);
    std::int64_t i = 0;
    for (T const result : to_host(y)) {
      bool const is_gap = i % slab >= shape.n * row || i % slab % row >= shape.inner;
      if (is_gap) {
        EXPECT_EQ(result, untouched) << i << " of " << shape.n << " x " << shape.inner;
      } else {
        hash.add(result);
      }
      ++i;
    }
  }
  return hash.value();
}

/// The recorded hashes.
struct Recorded {
  std::uint64_t of_floats;
  std::uint64_t of_doubles;
  std::uint64_t of_the_user;
};
constexpr Recorded generic{4435658063205511931u, 5484479199520535581u, 13504077218773177714u};
[[maybe_unused]] constexpr Recorded of_hosts{17557884098344863344u, 4216546223260222935u,
                                             generic.of_the_user};
constexpr Recorded of_cuda{8067085270974720934u, 3689545559150809767u, 8157261397147174626u};

template <class Backend>
void expect_recorded(Recorded const& recorded, Backend const& backend) {
  for (std::int64_t const gap : {0, 1}) {
    EXPECT_EQ((hash_of_sums<float, ks::Sum<>>(backend, gap)), recorded.of_floats) << gap;
    EXPECT_EQ((hash_of_sums<double, ks::Sum<>>(backend, gap)), recorded.of_doubles) << gap;
    EXPECT_EQ((hash_of_sums<float, Plus>(backend, gap)), recorded.of_the_user) << gap;
  }
}

TEST(trees, of_the_generic_backend) {
  for (Regime const regime : forced_regimes) expect_recorded(generic, forced(regime));
}
#if defined(KOKKOS_ENABLE_CUDA)
TEST(trees, of_cuda) { expect_recorded(of_cuda, Automatic{}); }
#else
TEST(trees, of_hosts) { expect_recorded(of_hosts, Automatic{}); }
TEST(trees, of_emulated_cuda) {
  expect_recorded(of_cuda, emulated::Backend{});
  // Blocks that share columns; less shared memory.
  expect_recorded(of_cuda, emulated::Backend{4});
}
#endif

}  // namespace trees
}  // namespace test
