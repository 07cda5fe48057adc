// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Folds of whole lines: that of the execution space, and the generic one.

#include <gtest/gtest.h>

#include <KokkosScan/mpi.hpp>

#include <cstring>
#include <optional>

#include "support/array.hpp"
#include "support/types.hpp"
#include "support/values.hpp"

namespace test {
namespace {

namespace impl = KokkosScan::impl;
using Affines = Kokkos::View<Affine**, Kokkos::LayoutRight, Device>;
using Folds = Kokkos::View<Affine*, Device>;

/// The folds of lines along an axis, by the fold of the space, then by the generic one.
template <class P>
void fold_twice(P const& problem, P const& other) {
  using Generic = impl::team::LineFold<impl::team::FoldLines<P>>;
  Exec const exec;
  std::size_t const bytes =
      std::max(impl::fold_workspace_bytes<P>(exec, problem.n, problem.batch.count),
               Generic::template workspace_bytes<P>(exec, problem.n, problem.batch.count));
  Kokkos::View<std::byte*, Device> const workspace("workspace", bytes);
  impl::fold_by_default(exec, problem, workspace.data());
  Generic::fold(exec, other, workspace.data());
  exec.fence();
}

void check(std::size_t rows, std::size_t columns, int axis) {
  SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns) + " along " +
               std::to_string(axis));
  Affines const x("x", rows, columns);
  Affines const y("y", rows, columns);
  auto const host = Kokkos::create_mirror_view(x);
  Random random(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) host(i, j) = random_value<Affine>(random);
  }
  Kokkos::deep_copy(x, host);
  std::size_t const lines = axis == 0 ? columns : rows;
  Folds const of_space("of the space", lines);
  Folds const generic("generic", lines);
  auto const problem_with = [&](Folds const& totals) {
    using Lines = decltype(KokkosScan::along(axis).totals(totals));
    using P =
        typename impl::ProblemOf<Affines, Affines, impl::LinesTraits<Lines>, ComposeAffine>::type;
    std::optional<P> problem;
    impl::scan(impl::Function::inclusive_scan, Exec(), x, y, KokkosScan::along(axis).totals(totals),
               ComposeAffine{}, impl::ranks::Keep<P>{&problem});
    return *problem;
  };
  fold_twice(problem_with(of_space), problem_with(generic));
  auto const a = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, of_space);
  auto const b = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, generic);
  for (std::size_t line = 0; line < lines; ++line) {
    Affine fold = ComposeAffine::identity();
    for (std::size_t k = 0; k < (axis == 0 ? rows : columns); ++k) {
      fold = ComposeAffine{}(fold, axis == 0 ? host(k, line) : host(line, k));
    }
    ASSERT_EQ(std::memcmp(&fold, &a(line), sizeof fold), 0) << "line " << line;
    ASSERT_EQ(std::memcmp(&fold, &b(line), sizeof fold), 0) << "line " << line << ", generic";
  }
}

}  // namespace

TEST(mpi_folds, of_any_length_and_number) {
  for (int const axis : {0, 1}) {
    for (std::size_t const n : {1, 2, 5, 255, 256, 257, 1000, 5000, 20001}) {
      for (std::size_t const lines : {1, 2, 3, 70, 600}) {
        if (n * lines > 500000) continue;
        axis == 0 ? check(n, lines, axis) : check(lines, n, axis);
      }
    }
  }
}

}  // namespace test
