// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Shared by the sources of suite in_order: in-order scans through the public functions, whose
// results must be bitwise those of a serial loop that is compiled without contraction
// (in_order.cmake). Types are distributed over several sources, because calls with CUDA take long
// to compile.

#include <gtest/gtest.h>

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include "support/types.hpp"
#include "support/values.hpp"

namespace test {
namespace in_order {

namespace ks = KokkosScan;

/// An operator that is neither associative nor commutative, on a struct.
struct Hash {
  std::uint32_t a, b, c;
};
struct MixHashes {
  KOKKOS_FUNCTION Hash operator()(Hash const& x, Hash const& y) const {
    return {x.a * 31 + (y.a ^ 5), x.b * 7 + y.c, (x.c ^ y.b) + (x.a >> 3)};
  }
  static Hash identity() { return {1, 2, 3}; }
};
/// A smoothed value: floating-point, and not associative. Its product is exact, so that contraction
/// to an FMA does not change the result.
struct Smooth {
  using accumulator_type = double;
  KOKKOS_FUNCTION double operator()(double const& x, double const& y) const { return 0.5 * x + y; }
  static double identity() { return 0; }
};

template <class T>
T element_of(Random& random) {
  if constexpr (std::is_same_v<T, Hash>) {
    auto const word = [&] { return static_cast<std::uint32_t>(random.next() >> 20); };
    return {word(), word(), word()};
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(random.next() >> 17);
  } else if constexpr (ks::impl::is_complex<T>) {
    using Part = typename T::value_type;
    return {element_of<Part>(random), element_of<Part>(random)};
  } else {
    if (random.below(16) == 0) return static_cast<T>(-0.0F);
    return static_cast<T>((random.unit() - 0.5) * std::exp2(random.below(9)));
  }
}

/// A host copy of a View's elements, with the same strides.
template <class View>
auto host_copy(View const& view) {
  auto const mirror = Kokkos::create_mirror(view);
  Kokkos::deep_copy(mirror, view);
  return mirror;
}
template <class View>
void fill(View const& view, Random& random) {
  auto const mirror = Kokkos::create_mirror(view);
  for (std::size_t i = 0; i < mirror.span(); ++i) {
    mirror.data()[i] = element_of<typename View::non_const_value_type>(random);
  }
  Kokkos::deep_copy(view, mirror);
}

/// The options of a call besides the axis.
enum class Form { inclusive, exclusive, exclusive_with_total };
struct Options {
  int axis;
  Form form;
  bool backward;
};

/// Calls f(first, ...) for each line with an offset for each View: of the line's first element in
/// scan order, or of its only element in Views without the axis.
template <class View, class F>
void for_each_line(View const& shape, int axis, F const& f) {
  constexpr int rank = static_cast<int>(View::rank());
  std::array<std::size_t, 8> index{};
  while (true) {
    f(index);
    int d = rank - 1;
    for (; d >= 0; --d) {
      if (d == axis) continue;
      if (++index[d] < shape.extent(d)) break;
      index[d] = 0;
    }
    if (d < 0) return;
  }
}
template <class View>
auto* line_of(View const& view, std::array<std::size_t, 8> const& index) {
  auto* at = view.data();
  for (std::size_t d = 0; d < View::rank(); ++d) at += index[d] * view.stride(d);
  return at;
}
/// The same for a View without the axis.
template <class View>
auto* element_without(View const& view, std::array<std::size_t, 8> const& index, int axis) {
  auto* at = view.data();
  for (int d = 0; d < static_cast<int>(View::rank()); ++d) {
    at += index[static_cast<std::size_t>(d >= axis ? d + 1 : d)] * view.stride(d);
  }
  return at;
}

template <class T>
bool same_bits(T const& a, T const& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

/// The reference loop. Returns the position of a result that differs from its own.
///
/// \param start null if there is none
/// \param mask  null if there is none
template <class A, class Op, class T>
std::string compare_line(Op const& op, T const* x, std::int64_t x_stride, bool const* mask,
                         std::int64_t mask_stride, T const* y, std::int64_t y_stride,
                         std::int64_t n, Form form, T const* start, T const* total) {
  bool exists = start != nullptr;
  A acc = exists ? static_cast<A>(*start) : A{};
  auto const result = [&] {
    if constexpr (requires { op.identity(); }) {
      return static_cast<T>(exists ? acc : static_cast<A>(op.identity()));
    } else {
      return static_cast<T>(acc);
    }
  };
  for (std::int64_t k = 0; k < n; ++k) {
    if (form != Form::inclusive && !same_bits(y[k * y_stride], result())) {
      return "result " + std::to_string(k);
    }
    if (mask == nullptr || mask[k * mask_stride]) {
      A const next = static_cast<A>(x[k * x_stride]);
      acc = exists ? static_cast<A>(op(acc, next)) : next;
      exists = true;
    }
    if (form == Form::inclusive && !same_bits(y[k * y_stride], result())) {
      return "result " + std::to_string(k);
    }
  }
  if (form == Form::exclusive_with_total && !same_bits(y[n * y_stride], result())) return "B(n)";
  if (total != nullptr && !same_bits(*total, result())) return "total";
  return "";
}

template <class In, class Out, class Lines, class Op>
void scan(Form form, In const& in, Out const& out, Lines const& lines, Op const& op) {
  if (form == Form::inclusive) {
    ks::inclusive_scan(Exec(), in, out, lines, op);
  } else {
    ks::exclusive_scan(Exec(), in, out, lines, op);
  }
  Kokkos::fence();
}

/// T***...
template <class T, int rank>
struct Data {
  using type = typename Data<T, rank - 1>::type*;
};
template <class T>
struct Data<T, 0> {
  using type = T;
};
template <class T, int rank, class Layout>
using ViewOf = Kokkos::View<typename Data<T, rank>::type, Layout, Device>;

template <class View>
View view_of(std::vector<std::size_t> const& extents) {
  std::array<std::size_t, 8> all;
  all.fill(KOKKOS_IMPL_CTOR_DEFAULT_ARG);
  std::copy(extents.begin(), extents.end(), all.begin());
  return View("v", all[0], all[1], all[2], all[3], all[4], all[5], all[6], all[7]);
}

/// The scans of one shape along one axis, in all forms and both directions: plain, with start and
/// totals, masked, and in two pieces.
template <class T, int rank, class Op, class Layout = Kokkos::LayoutRight>
void check(std::vector<std::size_t> const& extents, int axis) {
  using View = ViewOf<T, rank, Layout>;
  using Lower = ViewOf<T, rank - 1, Layout>;
  using A = ks::impl::accumulator_of_t<Op, T>;
  Op const op{};
  auto const plain = ks::impl::bind<A>(op);
  Random random(7 + extents.size() + static_cast<std::uint64_t>(axis));
  auto lower_extents = extents;
  lower_extents.erase(lower_extents.begin() + axis);
  auto const x = view_of<View>(extents);
  auto const mask = view_of<ViewOf<bool, rank, Layout>>(extents);
  auto const starts = view_of<Lower>(lower_extents);
  auto const totals = view_of<Lower>(lower_extents);
  fill(x, random);
  fill(starts, random);
  auto const mask_mirror = Kokkos::create_mirror(mask);
  for (std::size_t i = 0; i < mask_mirror.span(); ++i) mask_mirror.data()[i] = random.below(3) > 0;
  Kokkos::deep_copy(mask, mask_mirror);
  auto const hx = host_copy(x);
  auto const hm = host_copy(mask);
  auto const hs = host_copy(starts);
  T const start = element_of<T>(random);
  auto const n = static_cast<std::int64_t>(x.extent(static_cast<std::size_t>(axis)));

  for (Form const form : {Form::inclusive, Form::exclusive, Form::exclusive_with_total}) {
    auto out_extents = extents;
    if (form == Form::exclusive_with_total) ++out_extents[static_cast<std::size_t>(axis)];
    for (bool const backward : {false, true}) {
      auto const expect = [&](View const& y, bool masked, auto const& start_of, bool has_totals,
                              char const* what) {
        auto const hy = host_copy(y);
        auto const ht = host_copy(totals);
        std::string wrong;
        for_each_line(hx, axis, [&](auto const& index) {
          auto const begin = [&](auto const& view) {
            auto const a = static_cast<std::size_t>(axis);
            return line_of(view, index) + (backward ? (view.extent(a) - 1) * view.stride(a) : 0);
          };
          auto const along = [&](auto const& view) {
            auto const stride =
                static_cast<std::int64_t>(view.stride(static_cast<std::size_t>(axis)));
            return backward ? -stride : stride;
          };
          if (!wrong.empty()) return;
          wrong = compare_line<A>(plain, begin(hx), along(hx), masked ? begin(hm) : nullptr,
                                  along(hm), begin(hy), along(hy), n, form, start_of(index),
                                  has_totals ? element_without(ht, index, axis) : nullptr);
        });
        EXPECT_EQ(wrong, "") << what << ", axis " << axis << ", n " << n << ", form "
                             << static_cast<int>(form) << (backward ? ", backward" : "");
      };
      auto const direct = [&](auto const& lines) { return backward ? lines.backward() : lines; };
      auto const lines = direct(ks::along(axis).in_order());
      auto const none = [](auto const&) -> T const* { return nullptr; };

      auto const y = view_of<View>(out_extents);
      scan(form, x, y, lines, op);
      expect(y, false, none, false, "plain");
      scan(form, x, y, lines.starting_at(start).totals(totals), op);
      expect(
          y, false, [&](auto const&) { return &start; }, true, "with a start");
      Kokkos::deep_copy(totals, starts);
      scan(form, ks::masked(x, mask), y, lines.starting_at(totals).totals(totals), op);
      expect(
          y, true, [&](auto const& index) { return element_without(hs, index, axis); }, true,
          "masked, with starts");
      scan(form, ks::masked(x, mask), y, lines, op);
      expect(y, true, none, false, "masked");
      if (form != Form::exclusive_with_total) {
        Kokkos::deep_copy(y, x);
        scan(form, y, y, lines, op);
        expect(y, false, none, false, "in place");
      }
    }
  }
}

}  // namespace in_order
}  // namespace test
