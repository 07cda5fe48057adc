// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// All ranks run all tests; a test may use only the first few.

#include <gtest/gtest.h>

#include <array>
#include <cstdio>

#include "ranks.hpp"

namespace test {
namespace {
std::array<MPI_Comm, most_ranks + 1> comms;
}
MPI_Comm first_ranks(int ranks) { return comms[static_cast<std::size_t>(ranks)]; }
}  // namespace test

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int result = 0;
  {
    Kokkos::ScopeGuard const guard(argc, argv);
    ::testing::InitGoogleTest(&argc, argv);
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < test::most_ranks) {
      std::fprintf(stderr, "These tests need %d ranks.\n", test::most_ranks);
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (int ranks = 1; ranks <= test::most_ranks; ++ranks) {
      MPI_Comm_split(MPI_COMM_WORLD, rank < ranks ? 0 : MPI_UNDEFINED, rank,
                     &test::comms[static_cast<std::size_t>(ranks)]);
    }
    // Each rank reports its failures; one reports progress.
    if (rank != 0) {
      auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
      struct Failures : ::testing::EmptyTestEventListener {
        void OnTestPartResult(::testing::TestPartResult const& part) override {
          if (!part.failed()) return;
          std::fprintf(stderr, "%s:%d: %s\n", part.file_name(), part.line_number(), part.message());
        }
      };
      delete listeners.Release(listeners.default_result_printer());
      listeners.Append(new Failures);
    }
    result = RUN_ALL_TESTS();
    for (int ranks = 1; ranks <= test::most_ranks; ++ranks) {
      MPI_Comm& comm = test::comms[static_cast<std::size_t>(ranks)];
      if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
    }
  }
  MPI_Finalize();
  return result;
}
