// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A sparse matrix of Kokkos Kernels from the number of entries in each row: the counts become its
// row map, and the total says on the host how much to allocate.
//
// Replaces a hand-written Kokkos::parallel_scan of counts, as in row_map.cpp.
//
// Prints:
//   row map: 0 2 5 8 10
//   second difference of squares: 1 2 2 -14

#include <KokkosScan/KokkosScan.hpp>
#include <KokkosSparse_CrsMatrix.hpp>
#include <KokkosSparse_spmv.hpp>
#include <Kokkos_Core.hpp>
#include <array>
#include <cstdint>
#include <cstdio>

namespace ks = KokkosScan;
using Exec = Kokkos::DefaultExecutionSpace;
using Matrix = KokkosSparse::CrsMatrix<double, int, Exec, void, int>;
using Vector = Kokkos::View<double*, Exec>;

struct CountEntries {
  int rows;
  KOKKOS_FUNCTION int operator()(std::int64_t i) const { return 1 + (i > 0) + (i < rows - 1); }
};

/// Row i holds 1 -2 1 around its diagonal.
struct FillRows {
  int rows;
  Matrix::row_map_type::non_const_type row_map;
  Matrix::index_type columns;
  Matrix::values_type values;
  KOKKOS_FUNCTION void operator()(int i) const {
    int place = row_map(i);
    for (int k = Kokkos::max(i - 1, 0); k < Kokkos::min(i + 2, rows); ++k, ++place) {
      columns(place) = k;
      values(place) = k == i ? -2 : 1;
    }
  }
};

struct Squares {
  Vector x;
  KOKKOS_FUNCTION void operator()(int i) const { x(i) = i * i; }
};

int main() {
  const Kokkos::ScopeGuard kokkos;
  const Exec exec;
  const int rows = 4;
  const Matrix::row_map_type::non_const_type row_map("row map", rows + 1);
  const Kokkos::View<int, Exec> total("total");
  const std::array<std::int64_t, 1> extents{rows};
  ks::exclusive_scan(exec, ks::elementwise(extents, CountEntries{rows}), row_map,
                     ks::along(0).totals(total));

  int entries = 0;
  Kokkos::deep_copy(exec, entries, total);
  exec.fence();
  const Matrix::index_type::non_const_type columns("columns", entries);
  const Matrix::values_type values("values", entries);
  const Kokkos::RangePolicy<Exec> all_rows(exec, 0, rows);
  Kokkos::parallel_for(all_rows, FillRows{rows, row_map, columns, values});
  const Matrix matrix("second difference", rows, rows, entries, values, row_map, columns);

  const Vector x("x", rows), y("y", rows);
  Kokkos::parallel_for(all_rows, Squares{x});
  KokkosSparse::spmv(exec, "N", 1.0, matrix, x, 0.0, y);

  const auto row_map_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, row_map);
  const auto y_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, y);
  std::printf("row map:");
  for (int i = 0; i <= rows; ++i) std::printf(" %d", row_map_host(i));
  std::printf("\nsecond difference of squares:");
  for (int i = 0; i < rows; ++i) std::printf(" %g", y_host(i));
  std::printf("\n");
}
