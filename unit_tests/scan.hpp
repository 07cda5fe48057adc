// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Suite `scan`: types, operators, functions, ranks and pairs of layouts, in pairwise combinations
// (not the full product). Parameters that cost no compile time are tested exhaustively in each
// case: every axis, both directions, n and n+1 outputs, out of place and every legal alias.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "support/check.hpp"

namespace test::scan {

enum class Operator { sum, prod, min, max, user };
enum class Function { inclusive, exclusive };
/// The layouts of input and output.
enum class Layouts { left_left, right_right, stride_stride, left_right, stride_right, stride_left };
enum class Class { scalar, complex, record };

inline constexpr int type_count = 13;
inline constexpr int operator_count = 5;
inline constexpr int function_count = 2;
inline constexpr int layouts_count = 6;
inline constexpr int max_rank = 8;

/// The types, in the order of the files scan_*.cpp.
constexpr Class class_of(int type) {
  return type < 9 ? Class::scalar : type < 11 ? Class::complex : Class::record;
}

/// Complex numbers have no order, and structs only have their own operator.
constexpr bool is_valid(int type, Operator op) {
  switch (class_of(type)) {
    case Class::scalar:
      return true;
    case Class::complex:
      return op != Operator::min && op != Operator::max;
    default:
      return op == Operator::user;
  }
}

struct Case {
  int type;
  int rank;
  Operator op;
  Function function;
  Layouts layouts;
};

/// The case of a type and a rank. Each factor cycles through its levels with the rank, shifted from
/// type to type, which covers all pairs; the test `covers_every_pair` checks that.
constexpr Case case_of(int type, int rank) {
  Operator ops[operator_count] = {};
  int count = 0;
  for (int i = 0; i < operator_count; ++i) {
    if (is_valid(type, static_cast<Operator>(i))) ops[count++] = static_cast<Operator>(i);
  }
  return {type, rank, ops[(rank + 2 * type) % count],
          static_cast<Function>((rank / 2 + type + type / 2) % function_count),
          static_cast<Layouts>((rank + type) % layouts_count)};
}

template <Operator, class T>
struct OperatorOf {
  using type = user_operator_t<T>;
  static constexpr Data data = Data::often_zero;
};
template <class T>
struct OperatorOf<Operator::sum, T> {
  using type = ks::Sum<>;
  static constexpr Data data = Data::any;
};
template <class T>
struct OperatorOf<Operator::prod, T> {
  using type = ks::Prod<>;
  static constexpr Data data = Data::near_one;
};
template <class T>
struct OperatorOf<Operator::min, T> {
  using type = ks::Min<>;
  static constexpr Data data = Data::any;
};
template <class T>
struct OperatorOf<Operator::max, T> {
  using type = ks::Max<>;
  static constexpr Data data = Data::any;
};

template <Layouts layouts>
using InLayout = std::conditional_t<
    layouts == Layouts::left_left || layouts == Layouts::left_right, Kokkos::LayoutLeft,
    std::conditional_t<layouts == Layouts::right_right, Kokkos::LayoutRight, Kokkos::LayoutStride>>;
template <Layouts layouts>
using OutLayout =
    std::conditional_t<layouts == Layouts::left_left || layouts == Layouts::stride_left,
                       Kokkos::LayoutLeft,
                       std::conditional_t<layouts == Layouts::stride_stride, Kokkos::LayoutStride,
                                          Kokkos::LayoutRight>>;

template <class Layout>
Shape shape_of(std::vector<std::int64_t> const& extents, Random& random) {
  if constexpr (std::is_same_v<Layout, Kokkos::LayoutLeft>) return left(extents);
  if constexpr (std::is_same_v<Layout, Kokkos::LayoutRight>) return right(extents);
  return strided(extents, random);
}

/// The position of the input.
enum class Place {
  apart,
  same,          ///< exactly the output
  first_of_out,  ///< n+1 form: the first n elements of the output
  last_of_out    ///< n+1 form: the last n elements of the output
};

/// The runs of a case: the forms of its function, out of place and with every legal alias.
inline std::vector<std::pair<Form, Place>> runs_of(Case const& c) {
  bool const stride_in = c.layouts == Layouts::stride_stride ||
                         c.layouts == Layouts::stride_right || c.layouts == Layouts::stride_left;
  bool const may_be_same = c.layouts != Layouts::left_right;
  std::vector<std::pair<Form, Place>> runs;
  if (c.function == Function::inclusive) {
    runs.emplace_back(Form::inclusive, Place::apart);
    if (may_be_same) runs.emplace_back(Form::inclusive, Place::same);
  } else {
    runs.emplace_back(Form::exclusive, Place::apart);
    if (may_be_same) runs.emplace_back(Form::exclusive, Place::same);
    runs.emplace_back(Form::exclusive_with_total, Place::apart);
    // A part of an array is not contiguous, so it requires a strided View.
    if (stride_in) runs.emplace_back(Form::exclusive_with_total, Place::first_of_out);
    if (stride_in) runs.emplace_back(Form::exclusive_with_total, Place::last_of_out);
  }
  return runs;
}

/// A few hundred elements, with lines that sometimes need more than one chunk.
inline std::vector<std::int64_t> random_extents(int rank, int axis, Random& random) {
  std::vector<std::int64_t> extents;
  for (int r = 0; r < rank; ++r) extents.push_back(1 + random.below(rank <= 4 ? 4 : 3));
  std::int64_t const lengths[] = {1, 2, 3, 7, 31, 128, 130, 260};
  extents[static_cast<std::size_t>(axis)] = lengths[random.below(rank <= 3   ? 8
                                                                 : rank <= 6 ? 5
                                                                             : 4)];
  return extents;
}

template <class T, class Op, int rank, Layouts layouts, Function function>
void check_call(std::string const& what, Scan const& scan, Place place, Data data, Random& random) {
  using In = InLayout<layouts>;
  using Out = OutLayout<layouts>;
  auto extents = random_extents(rank, scan.axis, random);
  Shape const in_shape = shape_of<In>(extents, random);
  std::int64_t const n = extents[static_cast<std::size_t>(scan.axis)];
  if (scan.form == Form::exclusive_with_total) ++extents[static_cast<std::size_t>(scan.axis)];

  // Poisoned before each run; for aliases the input is part of the output (class D).
  Array<T> const out(shape_of<Out>(extents, random));
  Array<T> const in = place == Place::apart         ? Array<T>(in_shape)
                      : place == Place::last_of_out ? out.part(scan.axis, 1, n)
                                                    : out.part(scan.axis, 0, n);
  in.fill(random, data).upload();
  if (place == Place::apart) out.upload();

  // The axis counts from the front or from the end.
  int const axis = random.below(2) == 0 ? scan.axis : scan.axis - rank;
  auto const forward = ks::along(axis);
  auto const lines = scan.direction == Direction::backward ? forward.backward() : forward;
  if constexpr (function == Function::inclusive) {
    call_inclusive(Exec{}, const_view<rank, In>(in), view<rank, Out>(out), lines, Op{});
  } else {
    call_exclusive(Exec{}, const_view<rank, In>(in), view<rank, Out>(out), lines, Op{});
  }

  out.download();
  expect_scan<Op>(what, scan, in.shape(), out, ValuesOf{in});
  expect_untouched_except(what, out.memory(), out);
  if (place == Place::apart) {
    in.download();
    expect_untouched_except(what + ", input", in.memory());
  }
}

/// Classes D (in place and aliasing) and K (operand order backward).
template <class T, int type, int rank>
void check_case() {
  constexpr Case c = case_of(type, rank);
  using Op = typename OperatorOf<c.op, T>::type;
  std::string const what = "type " + std::to_string(type) + ", rank " + std::to_string(rank) +
                           ", operator " + std::to_string(static_cast<int>(c.op)) + ", layouts " +
                           std::to_string(static_cast<int>(c.layouts));
  Random random(1000 + 10 * type + rank);

  for (int i = 0; i < 6 * rank; ++i) {
    int const axis = i % rank;
    for (Direction const direction : {Direction::forward, Direction::backward}) {
      for (auto const& [form, place] : runs_of(c)) {
        check_call<T, Op, rank, c.layouts, c.function>(
            what + ", place " + std::to_string(static_cast<int>(place)),
            Scan{form, axis, direction}, place, OperatorOf<c.op, T>::data, random);
      }
    }
  }
}

template <class T, int type>
void check_type() {
  [&]<int... rank>(std::integer_sequence<int, rank...>) { (check_case<T, type, rank + 1>(), ...); }
  (std::make_integer_sequence<int, max_rank>{});
}

}  // namespace test::scan
