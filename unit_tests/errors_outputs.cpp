// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The exact text of messages about zipped inputs and computing outputs; nothing is called or
// written when one is thrown.

#include <gtest/gtest.h>

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

#include "errors.hpp"
#include "support/flat.hpp"
#include "support/types.hpp"

namespace test {
namespace errors {
namespace {

struct Negative {
  KOKKOS_FUNCTION float operator()(float x) const { return -x; }
};
struct Count {
  Flat<int> calls;
  KOKKOS_FUNCTION void operator()(std::int64_t, std::int64_t, float) const {
    Kokkos::atomic_inc(&calls(0));
  }
};

void shapes_of_zipped_inputs() {
  auto const a = field("a", 3, 4, 0.0f);
  auto const b = field("b", 3, 5, 0.0f);
  EXPECT_EQ(refusal([&] { ks::linear_recurrence(Exec(), b, a, a); }),
            "KokkosScan::linear_recurrence: extent 1 of input \"b\" is 5, but extent 1 of input "
            "\"a\" is 4.");
  LineField<float> const c("c", Kokkos::LayoutStride(4, 1));
  EXPECT_EQ(refusal([&] { ks::linear_recurrence(Exec(), c, a, a); }),
            "KokkosScan::linear_recurrence: extent 0 of input of one value a line \"c\" is 4, but "
            "extent 0 of input \"a\" is 3.");
  EXPECT_EQ(refusal([&] { ks::linear_recurrence(Exec(), c, a, a, 0); }), "nothing was thrown");
}

void overlaps_of_zipped_inputs() {
  auto const all = field("all", 3, 8, 0.0f);
  auto const front = Field<float>(Kokkos::subview(all, Kokkos::ALL, std::pair<int, int>(0, 4)));
  auto const middle = Field<float>(Kokkos::subview(all, Kokkos::ALL, std::pair<int, int>(2, 6)));
  auto const back = Field<float>(Kokkos::subview(all, Kokkos::ALL, std::pair<int, int>(4, 8)));
  std::string const overlap =
      ": output \"all\" and input \"all\" overlap in memory without being the same elements.";
  EXPECT_EQ(refusal([&] { ks::linear_recurrence(Exec(), back, front, middle); }),
            "KokkosScan::linear_recurrence" + overlap);
  EXPECT_EQ(refusal([&] { ks::linear_recurrence(Exec(), front, back, back); }),
            "nothing was thrown");
  EXPECT_EQ(refusal([&] { ks::linear_recurrence(Exec(), front, back, front); }),
            "nothing was thrown");
  auto const row = LineField<float>(Kokkos::subview(all, 1, std::pair<int, int>(0, 3)));
  EXPECT_EQ(refusal([&] { ks::linear_recurrence(Exec(), row, back, front); }),
            "KokkosScan::linear_recurrence: output \"all\" and input of one value a line \"all\" "
            "overlap in memory without being the same elements.");
  EXPECT_EQ(
      refusal([&] { ks::inclusive_scan(Exec(), front, ks::projected(middle, Negative{}), 1); }),
      "KokkosScan::inclusive_scan" + overlap);
}

void extents_of_functions() {
  auto const x = field("x", 3, 4, 0.0f);
  Flat<int> const calls("calls", 1);
  Count const count{calls};
  EXPECT_EQ(refusal([&] {
              ks::inclusive_scan(Exec(), x, ks::for_each_result({3, 5}, count), 1);
            }),
            "KokkosScan::inclusive_scan: extent 1 of output \"for_each_result\" is 5, but extent 1 "
            "of input \"x\" is 4.");
  EXPECT_EQ(refusal([&] {
              ks::exclusive_scan(Exec(), x, ks::for_each_result({3, 6}, count), 1);
            }),
            "KokkosScan::exclusive_scan: extent 1 of output \"for_each_result\" is 6, but extent 1 "
            "of input \"x\" is 4: expected 4, or 5 to hold the total.");
  EXPECT_EQ(refusal([&] {
              ks::inclusive_scan(Exec(), x, ks::for_each_result({3, -4}, count), 1);
            }),
            "KokkosScan::inclusive_scan: extent 1 of output \"for_each_result\" is -4, but an "
            "extent must not be negative.");
  EXPECT_EQ(to_host(calls)[0], 0);
  EXPECT_EQ(refusal([&] {
              ks::exclusive_scan(Exec(), x, ks::for_each_result({3, 5}, count), 1);
            }),
            "nothing was thrown");
  EXPECT_EQ(to_host(calls)[0], 15);
}

}  // namespace
}  // namespace errors
}  // namespace test

TEST(errors, shapes_of_zipped_inputs) { test::errors::shapes_of_zipped_inputs(); }
TEST(errors, overlaps_of_zipped_inputs) { test::errors::overlaps_of_zipped_inputs(); }
TEST(errors, extents_of_functions_for_results) { test::errors::extents_of_functions(); }
