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

namespace {

/// Selects on one thread, which stores results in the output at once, and compares the whole output
/// with that of a plain loop.
template <int words>
void check_one_thread(std::size_t n, Kept kept, bool in_place) {
  using Value = Kokkos::Array<std::int32_t, words>;
  Kokkos::View<Value*, Kokkos::HostSpace> const in("in", n),
      out = in_place ? in : Kokkos::View<Value*, Kokkos::HostSpace>("out", n);
  Kokkos::View<std::int64_t, Kokkos::HostSpace> const count("count");
  Random random(n + words);
  for (std::size_t k = 0; k < n; ++k) {
    in(k) = marked<Value>(draw(kept, static_cast<std::int64_t>(k), random), random);
  }
  for (std::size_t const room : {n, n / 3, n / 2}) {
    std::vector<Value> expected(out.data(), out.data() + n);
    std::size_t number = 0;
    for (std::size_t k = 0; k < n; ++k) {
      if (!IsMarked<Value>{}(in(k))) continue;
      if (number < room) expected[number] = in(k);
      ++number;
    }
#if defined(KOKKOS_ENABLE_OPENMP)
    Kokkos::OpenMP const exec(1);
#else
    Kokkos::DefaultHostExecutionSpace const exec;
#endif
    ks::impl::select(exec, in, IsMarked<Value>{},
                     Kokkos::subview(out, std::pair(std::size_t{0}, room)), count, ks::None{},
                     ks::impl::host::SelectBackend{});
    exec.fence();
    ASSERT_EQ(count(), static_cast<std::int64_t>(number));
    ASSERT_EQ(std::memcmp(out.data(), expected.data(), n * sizeof(Value)), 0)
        << words << " words, n " << n << ", room " << room << (in_place ? ", in place" : "");
  }
}

}  // namespace

TEST(select, one_thread_equals_a_plain_loop) {
  int turn = 0;
  for (std::size_t const n : {1, 63, 64, 1000, 10'007}) {
    for (Kept const kept : all_kept) {
      bool const in_place = ++turn % 2 == 0;
      check_one_thread<1>(n, kept, in_place);
      check_one_thread<3>(n, kept, !in_place);
      check_one_thread<8>(n, kept, in_place);
      check_one_thread<14>(n, kept, !in_place);
    }
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
