// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The operator only ever combines initialised neighbours, without omission or repetition.
// Classes G (uninitialised operands reach the operator), K (order backward), D (aliasing).
// Inclusive scans without start at every length are in suite `lengths`.

#include <algorithm>

#include "operators.hpp"
#include "support/intervals.hpp"

namespace test::operators {

/// The position of the input: separate, or at one end of the output.
enum class Place { apart, first, last };

using TeamBackend = ks::impl::team::Backend;
using ks::impl::team::Regime;

/// A start for each line; exclusive with and without extra element, and inclusive; with totals.
void check_started(Matrix2D const& matrix, Form form, Direction direction, Place place,
                   TeamBackend const& backend) {
  Scan const scan{form, matrix.rows ? 1 : 0, direction};
  std::int64_t const outputs = matrix.n + (form == Form::exclusive_with_total ? 1 : 0);
  auto const shape = [&](std::int64_t n) {
    return matrix.rows ? right({matrix.lines, n}) : right({n, matrix.lines});
  };
  Array<Interval> const out(shape(outputs));
  Array<Interval> const in = place == Place::apart ? Array<Interval>(shape(matrix.n))
                             : place == Place::first
                                 ? out.part(scan.axis, 0, matrix.n)
                                 : out.part(scan.axis, outputs - matrix.n, matrix.n);
  Array<Interval> const starts(right({matrix.lines}));
  Array<Interval> const totals(right({matrix.lines}));
  FaultCounter const faults;
  fill_intervals(in, scan.axis, direction);
  fill_starts(starts);
  out.upload();
  in.upload();
  starts.upload();
  totals.upload();
  auto const input = const_view<2>(in);
  auto const output = view<2>(out);
  auto const lines = lines_of(scan).starting_at(const_view<1>(starts)).totals(view<1>(totals));
  if (backend.regime == Regime::automatic) {
    call(form, Exec{}, input, output, lines, faults.join_intervals());
  } else {
    auto const function = form == Form::inclusive ? ks::impl::Function::inclusive_scan
                                                  : ks::impl::Function::exclusive_scan;
    ks::impl::scan(function, Exec{}, input, output, lines, faults.join_intervals(), backend);
    Exec{}.fence();
  }
  out.download();
  totals.download();
  std::string const what = "started intervals, place " + std::to_string(static_cast<int>(place));
  expect_scan<JoinIntervals>(what, scan, in.shape(), out, ValuesOf{in}, KeepAll{},
                             StartArray<Interval>{starts}, &totals);
  expect_untouched_except(what, out.memory(), out);
  expect_untouched_except(what, totals.memory(), totals);
  faults.expect_none(what + " " + scan.text() + ", " + in.shape().text());
}

void check_all_started() {
  // Every alias in every regime: in place, elements must be read before they are overwritten.
  for (Regime const regime :
       {Regime::automatic, Regime::thread_per_line, Regime::team_per_line, Regime::split_lines}) {
    TeamBackend backend{};
    backend.regime = regime;
    backend.team_size = regime == Regime::automatic ? 0 : std::min(Exec{}.concurrency(), 4);
    for (Matrix2D const& matrix : matrices()) {
      for (Form const form : all_forms()) {
        for (Direction const direction : {Direction::forward, Direction::backward}) {
          check_started(matrix, form, direction, Place::apart, backend);
          check_started(matrix, form, direction, Place::first, backend);
          if (form == Form::exclusive_with_total) {
            check_started(matrix, form, direction, Place::last, backend);
          }
        }
      }
    }
  }
}

/// Keeps elements by a hash of their index.
struct KeepHashed {
  KOKKOS_FUNCTION bool operator()(std::int64_t i, std::int64_t j) const {
    return ((static_cast<std::uint64_t>(i * 7919 + j) * 0x9E3779B97F4A7C15u) >> 62) != 0;
  }
  bool operator()(Index const& index) const { return (*this)(index[0], index[1]); }
};

/// Masked, without a start: masked-out elements have no effect, also in the exclusive form.
void check_masked(Matrix2D const& matrix, Form form, Direction direction) {
  Scan const scan{form, matrix.rows ? 1 : 0, direction};
  std::int64_t const outputs = matrix.n + (form == Form::exclusive_with_total ? 1 : 0);
  auto const shape = [&](std::int64_t n) {
    return matrix.rows ? right({matrix.lines, n}) : right({n, matrix.lines});
  };
  Array<Interval> const in(shape(matrix.n));
  Array<Interval> const out(shape(outputs));
  FaultCounter const faults;
  fill_intervals(in, scan.axis, direction);
  // Masked-out elements are poisoned, so they are no valid intervals.
  for_each_index(in.shape(), [&](Index const& index) {
    if (!KeepHashed{}(index)) in.set(index, Interval(7, 3, 999));
  });
  in.upload();
  out.upload();
  auto const values = const_view<2>(in);
  call(form, Exec{}, ks::masked(values, ks::elementwise(values, KeepHashed{})), view<2>(out),
       lines_of(scan), faults.join_ascending());
  out.download();
  expect_scan<JoinAscending>("masked intervals", scan, in.shape(), out, ValuesOf{in}, KeepHashed{});
  expect_untouched_except("masked intervals", out.memory(), out);
  faults.expect_none("masked intervals " + scan.text() + ", " + in.shape().text());
}

void check_all_masked() {
  for (Matrix2D const& matrix : matrices()) {
    for (Form const form : all_forms()) {
      for (Direction const direction : {Direction::forward, Direction::backward}) {
        check_masked(matrix, form, direction);
      }
    }
  }
}

}  // namespace test::operators

TEST(operators, started_intervals) { test::operators::check_all_started(); }
TEST(operators, masked_intervals) { test::operators::check_all_masked(); }
