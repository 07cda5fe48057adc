// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The host kernels with and without split lines, and the emulated CUDA kernels.

#include <Kokkos_Core.hpp>

// In builds with CUDA the suite runs the kernels on the GPU.
#if !defined(KOKKOS_ENABLE_CUDA)

#include "support/emulated_cuda.hpp"

#include "select.hpp"

using namespace test;             // NOLINT: a test file
using namespace test::selection;  // NOLINT

TEST(select, host_kernels_equal_copy_if) {
  using ks::impl::host::SelectBackend, ks::impl::host::Sharing;
  std::int64_t const part = ks::impl::host::length_of_selected_part<std::int32_t>;
  for (auto const sharing : {Sharing::whole_lines, Sharing::split_lines}) {
    check_all<std::int32_t>(SelectBackend{sharing},
                            {1, 5, 1000, part - 1, part, part + 1, 3 * part + 7}, {1, 3});
  }
}

TEST(select, emulated_cuda_equals_copy_if) {
  // Tiles have 4096 elements of 4 bytes.
  check_all<std::int32_t>(emulated::SelectBackend{},
                          {1, 3, 4, 5, 127, 128, 129, 1024, 1025, 4095, 4096, 4097, 8193}, {1, 3});
  // More tiles than the 32 of one look-back step.
  check_all<std::int32_t>(emulated::SelectBackend{}, {4096 * 70 + 5}, {1});
  // Few blocks with many tiles each.
  check_all<std::int32_t>(emulated::SelectBackend{1}, {50'000}, {2});
}
TEST(select, emulated_cuda_equals_copy_if_for_other_sizes) {
  check_all<std::uint8_t>(emulated::SelectBackend{}, {5, 1025, 5000}, {2});
  check_all<double>(emulated::SelectBackend{}, {5, 1025, 5000}, {2});
}
TEST(select, emulated_cuda_takes_many_lines) {
  for (std::int64_t const n : {1, 2, 4, 5, 9, 33, 200}) {
    check<std::int32_t>(emulated::SelectBackend{}, 70, n, Layout::rows, Kept::half, n % 2 == 0);
    check<std::int32_t>(emulated::SelectBackend{}, 70, n, Layout::columns, Kept::half, n % 2 == 1);
  }
}

TEST(select, several_arrays_at_once_on_each_backend) {
  using ks::impl::host::SelectBackend, ks::impl::host::Sharing;
  for (auto const sharing : {Sharing::whole_lines, Sharing::split_lines}) {
    check_all_zipped(SelectBackend{sharing}, {1, 5, 1000, 30'000}, true);
  }
  check_all_zipped(emulated::SelectBackend{}, {1, 5, 33, 1000, 1025, 5000}, true);
  check_all_zipped(emulated::SelectBackend{1}, {20'000}, true);
}

#endif
