// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Suite `operators`: which values are combined, in which order, and in which type.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/check.hpp"

namespace test::operators {

/// The data of the suite: lines are rows or columns of a matrix.
struct Matrix2D {
  std::int64_t lines;
  std::int64_t n;
  bool rows;
};

inline std::vector<Matrix2D> const& matrices() {
  static std::vector<Matrix2D> const all{{1, 0, true},     {3, 1, true},     {5, 2, false},
                                         {4, 127, true},   {3, 128, false},  {2, 129, true},
                                         {33, 300, true},  {33, 300, false}, {1, 16384, true},
                                         {1, 16385, true}, {1, 40000, true}};
  return all;
}

inline std::vector<Form> const& all_forms() {
  static std::vector<Form> const forms{Form::inclusive, Form::exclusive,
                                       Form::exclusive_with_total};
  return forms;
}

/// Describes the scan without the starting value.
struct PlainLines {
  template <class Lines>
  auto operator()(Lines const& lines) const {
    return lines;
  }
};
template <class T>
struct LinesStartingAt {
  T value;
  template <class Lines>
  auto operator()(Lines const& lines) const {
    return lines.starting_at(value);
  }
};

/// Scans one matrix and compares.
/// \param start     the starting value for the oracle
/// \param add_start passes it to the library
template <class In, class Out, class Op, class Start = NoStart, class AddStart = PlainLines>
void check_matrix(std::string const& what, Form form, Direction direction, Matrix2D const& matrix,
                  Data data, Op const& op = {}, Start const& start = {},
                  AddStart const& add_start = {}) {
  Random random(static_cast<std::uint64_t>(31 * matrix.n + matrix.lines));
  Scan const scan{form, matrix.rows ? 1 : 0, direction};
  std::int64_t const outputs = matrix.n + (form == Form::exclusive_with_total ? 1 : 0);
  Array<In> const in(matrix.rows ? right({matrix.lines, matrix.n})
                                 : right({matrix.n, matrix.lines}));
  Array<Out> const out(matrix.rows ? right({matrix.lines, outputs})
                                   : right({outputs, matrix.lines}));
  in.fill(random, data).upload();
  out.upload();
  auto const input = const_view<2, Kokkos::LayoutRight>(in);
  auto const output = view<2, Kokkos::LayoutRight>(out);
  auto const lines = add_start(lines_of(scan));
  // Without an identity and a start there is no exclusive scan.
  if constexpr (requires { op.identity(); } || !std::is_same_v<Start, NoStart> ||
                std::is_same_v<Op, ks::Sum<>> || std::is_same_v<Op, ks::Prod<>> ||
                std::is_same_v<Op, ks::Min<>> || std::is_same_v<Op, ks::Max<>>) {
    call(form, Exec{}, input, output, lines, op);
  } else {
    call_inclusive(Exec{}, input, output, lines, op);
  }
  out.download();
  expect_scan<Op>(what, scan, in.shape(), out, ValuesOf{in}, KeepAll{}, start);
  expect_untouched_except(what, out.memory(), out);
}

/// All matrices, forms and directions.
template <class In, class Out, class Op, class Start = NoStart, class AddStart = PlainLines>
void check_all(std::string const& what, Data data = Data::any, Start const& start = {},
               AddStart const& add_start = {}, std::vector<Form> const& forms = all_forms()) {
  for (Matrix2D const& matrix : matrices()) {
    for (Form const form : forms) {
      for (Direction const direction : {Direction::forward, Direction::backward}) {
        check_matrix<In, Out>(what, form, direction, matrix, data, Op{}, start, add_start);
      }
    }
  }
}

}  // namespace test::operators
