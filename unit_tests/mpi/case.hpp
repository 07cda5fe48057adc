// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// A scan over ranks, compared with the same scan on one process, which each rank runs for itself.
// Include ranks.hpp before it.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "support/array.hpp"
#include "support/check.hpp"
#include "support/types.hpp"
#include "support/values.hpp"

namespace test {

/// The parameters of a case, the same on all ranks.
struct Case {
  int ranks = 1;
  Partition partition;
  std::vector<std::int64_t> extents;  // that of the axis is filled in
  Scan scan;
  bool in_place = false;
  bool has_plan = false;
  bool begins = false;  // whether begin and finish are separate calls
  ks::impl::ranks::Settings settings;
  std::uint64_t seed = 0;

  std::string text() const {
    std::string s = scan.text() + " on " + std::to_string(ranks) + " ranks with";
    for (auto const n : partition.length) s += " " + std::to_string(n);
    s += " of";
    for (auto const e : extents) s += " " + std::to_string(e);
    return s + (in_place ? " in place" : "") + (has_plan ? begins ? ", begun" : ", planned" : "") +
           ", blocks of " + std::to_string(settings.block_bytes) + " bytes, seed " +
           std::to_string(seed);
  }
};

template <int rank>
Case random_case(Random& random) {
  Case c;
  c.seed = random.next();
  c.ranks = 1 + static_cast<int>(random.below(most_ranks));
  c.partition = random_partition(random, c.ranks, random.below(3) == 0 ? 700 : 12);
  for (int d = 0; d < rank; ++d) {
    c.extents.push_back(random.below(16) == 0 ? 0 : 1 + random.below(rank == 2 ? 90 : 9));
  }
  c.scan.axis = static_cast<int>(random.below(rank));
  c.scan.form = static_cast<Form>(random.below(3));
  c.scan.direction = static_cast<Direction>(random.below(2));
  c.in_place = random.below(3) == 0;
  c.has_plan = random.below(2) == 0;
  c.begins = random.below(2) == 0;
  c.settings.staging =
      random.below(2) == 0 ? ks::impl::ranks::Staging::always : ks::impl::ranks::Staging::automatic;
  c.settings.block_bytes = random.below(2) == 0 ? 0 : 8 << random.below(12);
  c.settings.least_lines = 1 + random.below(20);
  return c;
}

/// A function of the index in the whole array, of which this rank has a part.
template <class T>
struct Generated {
  int axis;
  std::int64_t begin;

  template <class... Index>
  KOKKOS_FUNCTION T operator()(Index... index) const {
    std::uint64_t bits = 17;
    int d = 0;
    ((bits = (bits ^ static_cast<std::uint64_t>(index + (d++ == axis ? begin : 0))) *
             0x9E3779B97F4A7C15u),
     ...);
    bits ^= bits >> 31;
    if constexpr (std::is_same_v<T, bool>) {
      return bits % 3 != 0;
    } else if constexpr (std::is_same_v<T, Affine>) {
      return {static_cast<std::uint32_t>(bits) | 1u, static_cast<std::uint32_t>(bits >> 32)};
    } else if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(bits % 1000) / T(7);
    } else {
      return static_cast<T>(bits % 1000);
    }
  }
};

// The inputs, made from a View of elements and a View of the mask.
struct ReadView {
  template <class X, class M>
  static auto input(X const& x, M const&, int, std::int64_t) {
    return x;
  }
};
struct ReadMasked {
  template <class X, class M>
  static auto input(X const& x, M const& m, int, std::int64_t) {
    return ks::masked(x, m);
  }
};
struct ReadComputed {
  template <class X, class M>
  static auto input(X const& x, M const&, int axis, std::int64_t begin) {
    using T = typename X::non_const_value_type;
    return ks::masked(ks::elementwise(x, Generated<T>{axis, begin}),
                      ks::elementwise(x, Generated<bool>{axis, begin}));
  }
};

// The starting values, made from a View of one value per line.
struct StartNowhere {
  template <class Lines, class S>
  static auto add(Lines const& lines, S const&) {
    return lines;
  }
};
struct StartAtView {
  template <class Lines, class S>
  static auto add(Lines const& lines, S const& s) {
    return lines.starting_at(s);
  }
};
/// The same value for all lines.
template <class T>
struct StartAtValue {
  template <class Lines, class S>
  static auto add(Lines const& lines, S const&) {
    Random random(99);
    return lines.starting_at(random_value<T>(random));
  }
};

// The order of combination, and whether results must be bitwise those of one process.
struct ByTree {
  static constexpr bool has_all_bits = false;
  template <class Lines>
  static auto apply(Lines const& lines) {
    return lines;
  }
};
struct InOrder {
  static constexpr bool has_all_bits = true;
  template <class Lines>
  static auto apply(Lines const& lines) {
    return lines.in_order();
  }
};

template <bool has_all_bits, class T>
bool agrees(T const& expected, T const& actual) {
  if constexpr (std::is_floating_point_v<T> && !has_all_bits) {
    // 8 u on one process, and 9 over ranks.
    return std::abs(expected - actual) <= T(8.5) * std::numeric_limits<T>::epsilon() * expected;
  } else {
    return std::memcmp(&expected, &actual, sizeof(T)) == 0;
  }
}

/// Scans the parts and the whole array.
///
/// \tparam T the type of elements, results and totals
template <class T, int rank, class Layout, class Read, class Start, class Order = ByTree, class Op>
void check_case(Case const& c, Op const& op, Data data = Data::any) {
  Comm const comm = first_ranks(c.ranks);
  if (comm == no_comm) return;
  SCOPED_TRACE(c.text());
  int const me = rank_in(comm);
  int const axis = c.scan.axis;
  std::int64_t const begin = c.partition.begin(me);
  std::int64_t const mine = c.partition.length[static_cast<std::size_t>(me)];
  bool const backward = c.scan.direction == Direction::backward;
  bool const has_extra = c.scan.form == Form::exclusive_with_total;
  bool const is_last = me == (backward ? 0 : c.ranks - 1);
  std::int64_t const extra = has_extra && is_last ? 1 : 0;

  // The whole array, the same on all ranks.
  Random random(c.seed);
  auto extents = c.extents;
  extents[static_cast<std::size_t>(axis)] = c.partition.all();
  Shape const whole = right(extents);
  Array<T> x(whole);
  Array<bool> mask(whole);
  Shape const lines_shape = right([&] {
    auto e = extents;
    e.erase(e.begin() + axis);
    return e;
  }());
  Array<T> starts(lines_shape);
  x.fill(random, data).upload();
  mask.fill(random).upload();
  starts.fill(random, data).upload();
  extents[static_cast<std::size_t>(axis)] += has_extra ? 1 : 0;
  Array<T> y(right(extents));
  Array<T> totals(lines_shape);
  y.upload();
  totals.upload();

  Exec const exec;
  auto const lines = Order::apply(lines_of(c.scan));
  call(c.scan.form, exec, Read::input(const_view<rank>(x), const_view<rank>(mask), axis, 0),
       view<rank>(y), Start::add(lines, view<rank - 1>(starts)).totals(view<rank - 1>(totals)), op);
  y.download();
  totals.download();

  // This rank's part, with its own memory layout.
  Random own(c.seed + 1 + static_cast<std::uint64_t>(me));
  auto part_extents = c.extents;
  part_extents[static_cast<std::size_t>(axis)] = mine + extra;
  auto const shape = [&] {
    if constexpr (std::is_same_v<Layout, Kokkos::LayoutLeft>) return left(part_extents);
    if constexpr (std::is_same_v<Layout, Kokkos::LayoutRight>) return right(part_extents);
    return own.below(2) == 0 ? right(part_extents) : strided(part_extents, own);
  }();
  Array<T> part_y(shape);
  part_extents[static_cast<std::size_t>(axis)] = mine;
  bool const in_place = c.in_place && !std::is_same_v<Read, ReadComputed>;
  Array<T> part_x = in_place ? part_y.part(axis, own.below(extra + 1), mine)
                             : Array<T>(strided(part_extents, own));
  Array<bool> part_mask(right(part_extents));
  for_each_index(part_x.shape(), [&](Index index) {
    Index at = index;
    at[static_cast<std::size_t>(axis)] += begin;
    part_x.set(index, x.before(at));
    part_mask.set(index, mask.before(at));
  });
  part_x.upload();
  part_mask.upload();
  part_y.upload();
  Array<T> part_totals(strided(
      [&] {
        std::vector<std::int64_t> e(lines_shape.extent.begin(),
                                    lines_shape.extent.begin() + lines_shape.rank);
        return e;
      }(),
      own));
  part_totals.upload();

  auto const in = Read::input(const_view<rank>(part_x), const_view<rank>(part_mask), axis, begin);
  auto const out = view<rank, Layout>(part_y);
  auto const part_lines =
      Start::add(lines, view<rank - 1>(starts)).totals(view<rank - 1>(part_totals));
  bool const is_inclusive = c.scan.form == Form::inclusive;
  if (!c.has_plan) {
    if (is_inclusive) {
      library::inclusive_scan(exec, comm, in, out, part_lines, op);
    } else {
      library::exclusive_scan(exec, comm, in, out, part_lines, op);
    }
  } else {
    library::Plan plan(exec, comm, c.settings);
    if (c.begins && is_inclusive) {
      auto pending = plan.begin_inclusive_scan(in, out, part_lines, op);
      pending.finish();
    } else if (c.begins) {
      auto pending = plan.begin_exclusive_scan(in, out, part_lines, op);
      pending.finish();
    } else if (is_inclusive) {
      plan.inclusive_scan(in, out, part_lines, op);
    } else {
      plan.exclusive_scan(in, out, part_lines, op);
    }
  }
  exec.fence();
  part_y.download();
  part_totals.download();

  Differences differences(c.text() + ", rank " + std::to_string(me));
  for_each_index(shape, [&](Index index) {
    Index at = index;
    // With backward() the total comes first.
    at[static_cast<std::size_t>(axis)] += begin + (has_extra && backward && !is_last ? 1 : 0);
    if (!agrees<Order::has_all_bits>(y.after(at), part_y.after(index))) {
      differences.add("output", index, rank, std::to_string(me), "something else");
    }
  });
  for_each_index(lines_shape, [&](Index const& index) {
    if (!agrees<Order::has_all_bits>(totals.after(index), part_totals.after(index))) {
      differences.add("totals", index, rank - 1, "the whole's", "something else");
    }
  });
  expect_untouched_except(c.text(), part_y.memory(), part_y);
  expect_untouched_except(c.text(), part_totals.memory(), part_totals);
}

}  // namespace test
