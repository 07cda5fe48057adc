// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Scans the memory of an mdspan on the host, through a View that is made from it without a copy.
// Needs a Kokkos that was built with mdspan, which is the default.
//
// Replaces:
//   for (int i = 0; i < rows; ++i)
//     for (int k = 1; k < columns; ++k) table[i, k] += table[i, k - 1];
//
// Prints:
//   row 0: 1 3 6
//   row 1: 4 9 15

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>
#include <cstdio>
#include <vector>

namespace ks = KokkosScan;

int main() {
  const Kokkos::ScopeGuard kokkos;
  const Kokkos::DefaultHostExecutionSpace exec;
  std::vector<int> memory = {1, 2, 3, 4, 5, 6};
  const Kokkos::mdspan<int, Kokkos::dextents<std::size_t, 2>> table(memory.data(), 2, 3);

  // An mdspan is row-major unless it says otherwise.
  using TableView = Kokkos::View<int**, Kokkos::LayoutRight, Kokkos::HostSpace,
                                 Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  const TableView view(table);
  ks::inclusive_scan(exec, view, view, 1);
  exec.fence();  // scans are asynchronous, and the vector does not know it

  for (int i = 0; i < 2; ++i) {
    std::printf("row %d: %d %d %d\n", i, memory[3 * i], memory[3 * i + 1], memory[3 * i + 2]);
  }
}
