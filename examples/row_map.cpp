// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The offsets of the rows of a sparse structure, from the number of entries in each row. The total
// stays on the device, so the next kernel can be enqueued at once.
//
// Replaces:
//   std::size_t sum = 0;
//   Kokkos::parallel_scan(rows + 1, KOKKOS_LAMBDA(int i, std::size_t& sum, bool final) {
//     if (final) row_map(i) = sum;
//     if (i < rows) sum += counts(i);
//   }, sum);  // waits for the device
//
// Prints:
//   row map: 0 3 3 4 8 10
//   entries: 10
//   mean entries of a row: 2

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdio>

namespace ks = KokkosScan;

struct MeanOfRows {
  Kokkos::View<const std::size_t> entries;
  Kokkos::View<double> mean;
  int rows;
  KOKKOS_FUNCTION void operator()(int) const { mean() = static_cast<double>(entries()) / rows; }
};

int main() {
  const Kokkos::ScopeGuard kokkos;
  const Kokkos::DefaultExecutionSpace exec;
  const int rows = 5;
  const Kokkos::View<int*> counts("counts", rows);
  const Kokkos::View<std::size_t*> row_map("row map", rows + 1);
  const Kokkos::View<std::size_t> entries("entries");
  const Kokkos::View<double> mean("mean");

  const auto counts_host = Kokkos::create_mirror_view(counts);
  const int numbers[] = {3, 0, 1, 4, 2};
  for (int i = 0; i < rows; ++i) counts_host(i) = numbers[i];
  Kokkos::deep_copy(counts, counts_host);

  //! [totals]
  ks::exclusive_scan(exec, counts, row_map, ks::along(0).totals(entries));
  Kokkos::parallel_for(Kokkos::RangePolicy(exec, 0, 1), MeanOfRows{entries, mean, rows});
  //! [totals]

  const auto row_map_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, row_map);
  const auto entries_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, entries);
  const auto mean_host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, mean);
  std::printf("row map:");
  for (int i = 0; i <= rows; ++i) std::printf(" %zu", row_map_host(i));
  std::printf("\nentries: %zu\nmean entries of a row: %g\n", entries_host(), mean_host());
}
