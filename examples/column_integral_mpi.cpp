// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The mass of air above each interface between layers, and of whole columns. The layers of a column
// are distributed over ranks; the first rank has those at the top.
//
// Replaces, for each column i, a loop that every rank but the first has to wait for:
//   if (rank > 0) MPI_Recv(&above, ..., rank - 1, ...);
//   for (int k = 0; k < layers; ++k) {
//     mass(k, i) = above;
//     above += rho(k, i) * dz(k, i);
//   }
//   if (rank + 1 < ranks) MPI_Send(&above, ..., rank + 1, ...);
//   MPI_Bcast(&above, ..., ranks - 1, ...);  // the column's mass
//
// Prints:
//   column 0: 0 2 6 12 20 30 42 56, in all 72
//   column 1: 0 4 12 24 40 60 84 112, in all 144
//   column 2: 0 6 18 36 60 90 126 168, in all 216

#include <KokkosScan/mpi.hpp>
#include <Kokkos_Core.hpp>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace ks = KokkosScan;
using Exec = Kokkos::DefaultExecutionSpace;
using Layers = Kokkos::View<double**, Kokkos::LayoutRight, Exec>;
using Columns = Kokkos::View<double*, Exec>;

//! [function]
/// What a layer adds to the mass of its column.
struct MassOfLayer {
  Layers rho, dz;
  KOKKOS_FUNCTION double operator()(std::int64_t k, std::int64_t i) const {
    return rho(k, i) * dz(k, i);
  }
};
//! [function]

/// Layer k of all has density 2 (i + 1) in column i and is k + 1 thick.
struct Fill {
  Layers rho, dz;
  int first;
  KOKKOS_FUNCTION void operator()(int k) const {
    for (std::size_t i = 0; i < rho.extent(1); ++i) {
      rho(k, i) = 2 * (static_cast<double>(i) + 1);
      dz(k, i) = first + k + 1;
    }
  }
};

void integrate(MPI_Comm comm) {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  const int columns = 3;
  const int all = 8;
  const int first = all * rank / ranks;
  const int layers = all * (rank + 1) / ranks - first;
  const Exec exec;
  const Layers rho("density", layers, columns);
  const Layers dz("thickness", layers, columns);
  const Layers mass("mass above", layers, columns);
  const Columns total("mass of the column", columns);
  Kokkos::parallel_for(Kokkos::RangePolicy<Exec>(exec, 0, layers), Fill{rho, dz, first});

  //! [scan]
  ks::mpi::exclusive_scan(exec, comm, ks::elementwise(rho, MassOfLayer{rho, dz}), mass,
                          ks::along(0).totals(total));
  //! [scan]

  // Rank 0 prints what all have.
  const auto mine = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, mass);
  const auto of_columns = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, total);
  std::vector<int> counts, offsets;
  for (int r = 0; r < ranks; ++r) {
    offsets.push_back(all * r / ranks * columns);
    counts.push_back(all * (r + 1) / ranks * columns - offsets.back());
  }
  std::vector<double> masses(static_cast<std::size_t>(all * columns));
  MPI_Gatherv(mine.data(), layers * columns, MPI_DOUBLE, masses.data(), counts.data(),
              offsets.data(), MPI_DOUBLE, 0, comm);
  for (int i = 0; rank == 0 && i < columns; ++i) {
    std::printf("column %d:", i);
    for (int k = 0; k < all; ++k) {
      std::printf(" %g", masses[static_cast<std::size_t>(k * columns + i)]);
    }
    std::printf(", in all %g\n", of_columns(i));
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    const Kokkos::ScopeGuard kokkos;
    integrate(MPI_COMM_WORLD);
  }
  MPI_Finalize();
}
