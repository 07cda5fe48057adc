// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Folds of whole lines by the CUDA kernels, emulated on a host: equal to a serial loop for lines of
// any length, number and strides, and for non-commutative operators.

#include <Kokkos_Core.hpp>

// In builds with CUDA, unit_tests/mpi/folds.cpp runs the kernels on the GPU.
#if !defined(KOKKOS_ENABLE_CUDA)

#include <gtest/gtest.h>

#include "support/emulated_cuda.hpp"

#include <KokkosScan/KokkosScan.hpp>

#include <cstdint>
#include <cstring>
#include <vector>

#include "support/types.hpp"
#include "support/values.hpp"

namespace test {
namespace {

namespace ks = KokkosScan;
namespace cuda = KokkosScan::impl::cuda;

/// Only folds.
struct FoldBackend {
  int multiprocessors;

  template <class P, class Exec>
  std::size_t workspace_bytes(Exec const&, std::int64_t, std::int64_t) const {
    return 0;
  }
  template <class Exec, class P>
  void scan(Exec const&, P const& problem, std::byte*) const {
    emulated::Space const space{multiprocessors};
    std::size_t const bytes =
        cuda::LineFold::workspace_bytes<P>(space, problem.n, problem.batch.count);
    constexpr std::size_t canary = 64;
    std::vector<std::byte> workspace(bytes + canary, std::byte{0xA5});
    cuda::LineFold::fold(space, problem, workspace.data());
    for (std::size_t i = bytes; i < bytes + canary; ++i) {
      ASSERT_EQ(workspace[i], std::byte{0xA5});
    }
  }
};

/// The place of an element in memory.
struct Walk {
  std::int64_t line, along;
  std::int64_t begin = 0;
};

/// Contiguous or interleaved lines, forward and backward, with a mask.
template <class T, class Op>
void check(std::int64_t lines, std::int64_t n, Op const& op, int multiprocessors) {
  using View = Kokkos::View<T**, Kokkos::LayoutStride, Kokkos::HostSpace>;
  using Mask = Kokkos::View<bool**, Kokkos::LayoutStride, Kokkos::HostSpace>;
  Random random(static_cast<std::uint64_t>(lines * 1000003 + n));
  auto const count = static_cast<std::size_t>(lines * n);
  std::vector<T> values(2 * count);
  for (auto& value : values) value = random_value<T>(random);
  std::vector<std::uint8_t> flags(2 * count);
  for (auto& flag : flags) flag = random.below(3) == 0 ? 0 : 1;
  std::vector<T> results(2 * count);
  std::vector<T> folds(static_cast<std::size_t>(lines));
  Kokkos::View<T*, Kokkos::HostSpace> const totals(folds.data(), folds.size());
  // Rows, columns, and neither.
  for (Walk const walk : {Walk{n, 1}, Walk{1, lines}, Walk{2, 2 * lines}}) {
    Kokkos::LayoutStride const layout(
        static_cast<std::size_t>(lines), static_cast<std::size_t>(walk.line),
        static_cast<std::size_t>(n), static_cast<std::size_t>(walk.along));
    View const x(values.data(), layout);
    View const y(results.data(), layout);
    Mask const mask(reinterpret_cast<bool*>(flags.data()), layout);
    for (bool const is_masked : {false, true}) {
      for (bool const backward : {false, true}) {
        SCOPED_TRACE(::testing::Message()
                     << lines << " lines of " << n << ", " << walk.line << " and " << walk.along
                     << " apart" << (is_masked ? ", masked" : "")
                     << (backward ? ", backward" : ""));
        std::memset(static_cast<void*>(folds.data()), 0x5A, folds.size() * sizeof(T));
        auto const all = ks::along(1).totals(totals);
        auto const way = backward ? all.backward() : all;
        FoldBackend const backend{multiprocessors};
        constexpr auto function = ks::impl::Function::inclusive_scan;
        Exec const exec;
        if (is_masked) {
          ks::impl::scan(function, exec, ks::masked(x, mask), y, way, op, backend);
        } else {
          ks::impl::scan(function, exec, x, y, way, op, backend);
        }
        for (std::int64_t l = 0; l < lines; ++l) {
          T fold = Op::identity();
          for (std::int64_t i = 0; i < n; ++i) {
            std::int64_t const k = backward ? n - 1 - i : i;
            if (is_masked && !mask(l, k)) continue;
            fold = op(fold, x(l, k));
          }
          ASSERT_EQ(std::memcmp(&fold, &folds[static_cast<std::size_t>(l)], sizeof(T)), 0)
              << "line " << l;
        }
      }
    }
  }
}

}  // namespace

TEST(backends, emulated_cuda_folds_lines_of_any_length_and_number) {
  for (std::int64_t const n : {1, 2, 3, 5, 16, 17, 63, 64, 65, 128, 129, 600, 1023, 5000}) {
    for (std::int64_t const lines : {1, 3, 33, 300}) {
      if (n * lines > 60000) continue;
      check<Affine>(lines, n, ComposeAffine{}, 2);
    }
  }
}

TEST(backends, emulated_cuda_folds_lines_in_parts) {
  // A single line has parts for 132 multiprocessors, unless they would be too short.
  check<Affine>(1, 70001, ComposeAffine{}, 132);
  check<std::int64_t>(3, 20011, ks::Sum<std::int64_t>{}, 132);
  check<std::int64_t>(70, 3000, ks::Sum<std::int64_t>{}, 1);
}

TEST(backends, emulated_cuda_folds_values_of_any_size) {
  for (std::int64_t const n : {1, 7, 40, 700}) {
    check<Struct24>(9, n, MultiplyHeisenberg<std::uint64_t>{}, 1);
    check<std::uint8_t>(9, n, ks::Max<std::uint8_t>{}, 1);
  }
}

}  // namespace test

#endif
