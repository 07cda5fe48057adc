// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The CUDA kernels, emulated on a host: equal to the oracle at the size limits of every kernel, in
// every mode and placement, for types of all sizes and operators of all kinds.

#include <Kokkos_Core.hpp>

// In builds with CUDA all suites run the kernels on the GPU.
#if !defined(KOKKOS_ENABLE_CUDA)

#include <gtest/gtest.h>

#include "support/emulated_cuda.hpp"

#include <KokkosScan/KokkosScan.hpp>

#include <array>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "backends.hpp"

namespace test {
namespace backends {
namespace {

namespace cuda = KokkosScan::impl::cuda;

constexpr Form forms[] = {Form::inclusive, Form::exclusive, Form::exclusive_with_total};
constexpr Placement placements[] = {
    Placement::rows, Placement::in_place,        Placement::columns, Placement::shifted,
    Placement::gaps, Placement::rows_to_columns, Placement::rows};

/// Lengths around packs, chunks, warps, tiles and what registers hold.
std::vector<std::int64_t> lengths(int bytes) {
  int const chunk = cuda::bytes_of_chunk({bytes, bytes}) / bytes;
  return {1,
          2,
          3,
          4,
          5,
          7,
          8,
          31,
          32,
          33,
          chunk - 1,
          chunk,
          chunk + 1,
          2 * chunk + 1,
          100,
          4 * chunk,
          8 * chunk,
          257,
          32 * chunk,
          32 * chunk + 1,
          33 * chunk,
          1000,
          64 * chunk + 3,
          256 * chunk,
          256 * chunk + 1,
          256 * chunk + 4};
}

template <class T, class Op>
void equals_oracle(Op const& op, std::int64_t lines) {
  int turn = 0;
  for (std::int64_t const n : lengths(sizeof(T))) {
    // Each length in some modes, cycling through all of them.
    for (int i = 0; i < 4; ++i, ++turn) {
      Job<T> job{random_values<T>(lines * n), lines, n};
      job.form = forms[turn % 3];
      job.placement = placements[turn % 7];
      job.direction = turn % 2 == 0 ? Direction::forward : Direction::backward;
      SCOPED_TRACE(::testing::Message() << "placement " << turn % 7);
      expect_oracle<Op>(job, run(job, op, emulated::Backend{}));
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(backends, emulated_cuda_equals_the_oracle) {
  equals_oracle<float>(ks::Sum{}, 3);
  equals_oracle<std::int64_t>(ks::Sum{}, 2);
}
TEST(backends, emulated_cuda_equals_the_oracle_for_small_types) {
  equals_oracle<std::int8_t>(ks::Min{}, 5);
  equals_oracle<std::uint8_t>(ks::Sum{}, 3);
}
TEST(backends, emulated_cuda_equals_the_oracle_for_users_operators) {
  equals_oracle<Affine>(ComposeAffine{}, 3);
  equals_oracle<Struct24>(MultiplyHeisenberg<std::uint64_t>{}, 2);
}
// Rows of columns begin at any byte, also those that are eight apart.
TEST(backends, emulated_cuda_equals_the_oracle_for_elements_of_three_bytes) {
  equals_oracle<Struct3>(MultiplyHeisenberg<std::uint8_t>{}, 3);
  Job<Struct3> job{random_values<Struct3>(41 * 4100), 41, 4100};
  job.placement = Placement::columns;
  expect_oracle<MultiplyHeisenberg<std::uint8_t>>(
      job, run(job, MultiplyHeisenberg<std::uint8_t>{}, emulated::Backend{}));
}
TEST(backends, emulated_cuda_equals_the_oracle_for_doubles_and_complex) {
  equals_oracle<double>(ks::Max{}, 3);
  equals_oracle<Kokkos::complex<float>>(ks::Sum{}, 2);
}

TEST(backends, emulated_cuda_scans_many_lines) {
  for (std::int64_t const n : {1, 3, 4, 7, 16, 33, 100}) {
    for (std::int64_t const lines : {31, 32, 33, 1000}) {
      Job<std::int32_t> job{random_values<std::int32_t>(lines * n), lines, n};
      for (auto const placement : placements) {
        job.placement = placement;
        expect_oracle<ks::Sum<>>(job, run(job, ks::Sum{}, emulated::Backend{}));
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

// Several groups of tiles, with look-back between them; columns with and without shared blocks.
TEST(backends, emulated_cuda_carries_over_many_tiles) {
  std::int64_t const tile = cuda::cut_line(1'000'001, {8, 8}).tile_length;
  Job<std::uint64_t> job{random_values<std::uint64_t>(2 * (300 * tile + 5)), 2, 300 * tile + 5};
  job.form = Form::exclusive_with_total;
  expect_oracle<ks::Sum<>>(job, run(job, ks::Sum{}, emulated::Backend{}));
  // More than two groups of tiles.
  Job<std::uint64_t> columns{random_values<std::uint64_t>(3 * 50'011), 3, 50'011};
  columns.placement = Placement::columns;
  for (int const multiprocessors : {0, 132}) {
    for (auto const form : forms) {
      columns.form = form;
      expect_oracle<ks::Sum<>>(columns,
                               run(columns, ks::Sum{}, emulated::Backend{multiprocessors}));
    }
  }
  Job<std::uint64_t> wider{random_values<std::uint64_t>(33 * 9'011), 33, 9'011};
  wider.placement = Placement::columns;
  for (int const multiprocessors : {0, 132}) {
    for (auto const form : forms) {
      wider.form = form;
      expect_oracle<ks::Sum<>>(wider, run(wider, ks::Sum{}, emulated::Backend{multiprocessors}));
    }
  }
}

/// Gives scans the workspace that the backend requests for n and the number of lines.
struct WithWorkspace : emulated::Backend {
  template <class Exec, class P>
  void scan(Exec const& exec, P const& problem, std::byte*) const {
    exec.fence();
    emulated::Space const space{};
    std::size_t const bytes =
        cuda::Backend::workspace_bytes<P>(space, problem.n, problem.batch.count);
    constexpr std::size_t behind = 1024;
    std::byte constexpr untouched{0x5A};
    std::vector<std::byte> memory(bytes + behind, untouched);
    cuda::Backend{}.scan(space, problem, memory.data());
    for (std::size_t b = bytes; b < memory.size(); ++b) {
      ASSERT_EQ(memory[b], untouched) << "n " << problem.n << ", lines " << problem.batch.count;
    }
  }
};
template <class T, class Op>
void fits_workspace(Op const& op) {
  for (std::int64_t const n : {100, 447, 449, 661, 4096, 4097, 9000, 30'000}) {
    for (std::int64_t const lines : {1, 5, 31, 32, 40, 63, 100}) {
      if (n * lines > 400'000) continue;
      for (auto const placement : {Placement::rows, Placement::columns}) {
        Job<T> job{random_values<T>(lines * n), lines, n};
        job.placement = placement;
        expect_oracle<Op>(job, run(job, op, WithWorkspace{}));
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}
// These two numbers do not determine the kernel: the bound must cover all candidates.
TEST(backends, emulated_cuda_needs_no_more_workspace_than_it_says) {
  fits_workspace<float>(ks::Max{});
  fits_workspace<Heisenberg<std::uint32_t>>(MultiplyHeisenberg<std::uint32_t>{});
}
/// Short lines need none, however many there are.
struct WithoutWorkspace : emulated::Backend {
  template <class Exec, class P>
  void scan(Exec const& exec, P const& problem, std::byte* workspace) const {
    for (std::int64_t const n : {1, 2, 16, 100}) {
      EXPECT_EQ(cuda::Backend::workspace_bytes<P>(emulated::Space{}, n, 1'000'000), 0u) << n;
    }
    emulated::Backend::scan(exec, problem, workspace);
  }
};
TEST(backends, emulated_cuda_needs_no_workspace_for_short_lines) {
  Job<float> job{random_values<float>(8), 2, 4};
  run(job, ks::Sum{}, WithoutWorkspace{});
  run(job, ks::Max{}, WithoutWorkspace{});
}

// One, two and three tiles of lines in flight instead of six.
TEST(backends, emulated_cuda_needs_little_shared_memory) {
  Job<std::uint64_t> job{random_values<std::uint64_t>(2 * 40'003), 2, 40'003};
  for (int const shared_bytes : {40'000, 80'000, 120'000}) {
    for (auto const form : forms) {
      job.form = form;
      expect_oracle<ks::Sum<>>(job, run(job, ks::Sum{}, emulated::Backend{132, shared_bytes}));
    }
  }
  Job<float> columns{random_values<float>(256 * 1001), 256, 1001};
  columns.placement = Placement::columns;
  for (int const shared_bytes : {60'000, 101'376, 232'448}) {
    expect_oracle<ks::Sum<>>(columns, run(columns, ks::Sum{}, emulated::Backend{0, shared_bytes}));
  }
}

// A single column, as a View of rank 1, has the same bits as among its neighbours.
TEST(backends, emulated_cuda_columns_do_not_depend_on_neighbours) {
  for (std::int64_t const n : {7, 100, 9000}) {
    std::int64_t const lines = 5;
    auto const x = to_device("x", random_values<double>(n * lines));
    auto const y = uninitialized<double>("y", static_cast<std::size_t>(n * lines));
    auto const z = uninitialized<double>("z", static_cast<std::size_t>(n * lines));
    ks::impl::scan(ks::impl::Function::inclusive_scan, Exec(), rows(x, n, lines), rows(y, n, lines),
                   ks::along(0), ks::Sum{}, emulated::Backend{});
    for (std::int64_t l = 0; l < lines; ++l) {
      auto const alone = [&](Flat<double> const& flat) {
        return Kokkos::subview(rows(flat, n, lines), Kokkos::ALL, static_cast<int>(l));
      };
      ks::impl::scan(ks::impl::Function::inclusive_scan, Exec(), alone(x), alone(z), ks::along(0),
                     ks::Sum{}, emulated::Backend{});
    }
    EXPECT_EQ(first_difference(to_host(y), to_host(z)), -1) << n;
  }
}

// Lines of one element: the two results of n+1 are placed by the output's stride.
TEST(backends, emulated_cuda_stores_two_results_of_one_element) {
  for (auto const direction : {Direction::forward, Direction::backward}) {
    Kokkos::View<int**, Kokkos::LayoutRight, Exec> const x("x", 1, 5);
    Kokkos::View<int**, Kokkos::LayoutRight, Exec> const y("y", 2, 5);
    Kokkos::deep_copy(x, 7);
    Kokkos::deep_copy(y, -1);
    auto const lines = direction == Direction::forward ? ks::along(0) : ks::along(0).backward();
    ks::impl::scan(ks::impl::Function::exclusive_scan, Exec(), Kokkos::subview(x, Kokkos::ALL, 3),
                   Kokkos::subview(y, Kokkos::ALL, 3), lines, ks::Sum{}, emulated::Backend{});
    bool const is_forward = direction == Direction::forward;
    for (int k = 0; k < 2; ++k) {
      for (int j = 0; j < 5; ++j) {
        EXPECT_EQ(y(k, j), j != 3 ? -1 : (k == 1) == is_forward ? 7 : 0) << k << ' ' << j;
      }
    }
  }
}

// Elements that convert only where the kernels ask for it, as the 16-bit floats of the Python
// package do, narrower than what they are summed in.
struct Explicit {
  std::uint16_t value;
  Explicit() = default;
  KOKKOS_FUNCTION explicit Explicit(std::uint32_t from) : value(static_cast<std::uint16_t>(from)) {}
  KOKKOS_FUNCTION explicit operator std::uint32_t() const { return value; }
};
template <class Lines>
void converts_explicitly(Lines const& along, bool is_backward, int axis, int lines, int n) {
  for (int const extra : {0, 1}) {
    SCOPED_TRACE(::testing::Message() << lines << " lines of " << n << " along axis " << axis
                                      << ", backward " << is_backward << ", " << extra);
    int const rows = axis == 0 ? n : lines, columns = axis == 0 ? lines : n;
    using Matrix = Kokkos::View<Explicit**, Kokkos::LayoutRight, Exec>;
    Matrix const x("x", rows, columns);
    Matrix const y("y", rows + (axis == 0 ? extra : 0), columns + (axis == 1 ? extra : 0));
    Kokkos::View<Explicit*, Exec> const starts("starts", lines), totals("totals", lines);
    auto const at = [&](Matrix const& matrix, int line, int k) -> Explicit& {
      return axis == 0 ? matrix(k, line) : matrix(line, k);
    };
    auto const value = [&](int line, int k) {
      return static_cast<std::uint32_t>(31 * line + 70'007 * k) % 60'000;
    };
    for (int line = 0; line < lines; ++line) {
      starts(line) = Explicit(value(line, 5));
      for (int k = 0; k < n; ++k) at(x, line, k) = Explicit(value(line, k));
    }
    ks::impl::scan(ks::impl::Function::exclusive_scan, Exec(), x, y,
                   along.starting_at(starts).totals(totals), ks::Sum<std::uint32_t>{},
                   emulated::Backend{});
    for (int line = 0; line < lines; ++line) {
      auto sum = static_cast<std::uint32_t>(starts(line));
      for (int step = 0; step < n + extra; ++step) {
        int const k = is_backward ? n - 1 - step : step;
        ASSERT_EQ(at(y, line, is_backward ? k + extra : k).value, Explicit(sum).value)
            << line << ' ' << k;
        if (step < n) sum += value(line, k);
      }
      ASSERT_EQ(totals(line).value, Explicit(sum).value) << line;
    }
  }
}
TEST(backends, emulated_cuda_converts_elements_explicitly) {
  // Rows that share a warp, in registers and in parts; short, narrow and wide columns.
  for (auto const [lines, n] :
       {std::array{37, 9}, {5, 1000}, {2, 10'000}, {1, 50'001}, {800, 20}}) {
    converts_explicitly(ks::along(1), false, 1, lines, n);
    converts_explicitly(ks::along(1).backward(), true, 1, lines, n);
  }
  for (auto const [lines, n] :
       {std::array{70, 300}, {65, 9000}, {3, 5000}, {800, 20}, {17, 70'000}}) {
    converts_explicitly(ks::along(0), false, 0, lines, n);
    converts_explicitly(ks::along(0).backward(), true, 0, lines, n);
  }
  for (int const axis : {0, 1}) {
    converts_explicitly(ks::along(axis).in_order(), false, axis, 40, 700);
  }
}

// Lines of computed elements, as wide as the results or not: several per tile, one, and parts.
template <class T>
void computes_lines() {
  auto const value = [](std::int64_t i, std::int64_t k) {
    return static_cast<T>((i * 31 + k * 7) % 101);
  };
  for (int const n : {1, 3, 8, 17, 40, 72, 129, 1000, 1025, 30'001}) {
    for (int const lines : {1, 6, 37}) {
      if (n > 1025 && lines > 6) continue;
      for (bool const backward : {false, true}) {
        for (int const extra : {0, 1}) {
          SCOPED_TRACE(::testing::Message()
                       << lines << " lines of " << n << ", backward " << backward << ", " << extra);
          std::array<std::int64_t, 2> const extents{lines, n};
          Kokkos::View<std::uint32_t**, Kokkos::LayoutRight, Exec> const y("y", lines, n + extra);
          Kokkos::deep_copy(y, 0xDEADBEEF);
          ks::impl::scan(
              ks::impl::Function::exclusive_scan, Exec(), ks::elementwise(extents, value), y,
              backward ? ks::along(1).backward() : ks::along(1), ks::Sum{}, emulated::Backend{});
          for (int i = 0; i < lines; ++i) {
            std::uint32_t sum = 0;
            for (int step = 0; step < n + extra; ++step) {
              int const k = backward ? n - 1 - step : step;
              ASSERT_EQ(y(i, backward ? k + extra : k), sum) << i << ' ' << k;
              if (step < n) sum += static_cast<std::uint32_t>(value(i, k));
            }
          }
        }
      }
    }
  }
}
TEST(backends, emulated_cuda_computes_lines) {
  computes_lines<std::uint32_t>();
  computes_lines<std::uint8_t>();
}

// Long lines whose packs are aligned fit into registers; others are scanned in parts.
TEST(backends, emulated_cuda_lines_in_registers_have_the_bits_of_parts) {
  std::int64_t const tile = cuda::cut_line(16'128, {4, 4}).tile_length;
  ASSERT_EQ(16'128 % tile, 0);
  for (std::int64_t const n : {9'220, 10'000, 16'128, 32'768, 34'560}) {
    for (auto const form : forms) {
      for (auto const direction : {Direction::forward, Direction::backward}) {
        Job<float> job{random_values<float>(2 * n), 2, n};
        job.form = form;
        job.direction = direction;
        auto const in_registers = run(job, ks::Sum{}, emulated::Backend{});
        job.placement = Placement::shifted;
        EXPECT_TRUE(run(job, ks::Sum{}, emulated::Backend{}) == in_registers) << n;
      }
    }
  }
}

// Unaligned rows with gaps between them, which must not change: in one tile, in registers and in
// parts, with and without a mask.
void scans_rows(int n, int pad, int offset, bool is_masked, bool backward) {
  SCOPED_TRACE(::testing::Message() << n << " elements, " << pad << " between rows, from " << offset
                                    << ", masked " << is_masked << ", backward " << backward);
  using Rows = Kokkos::View<std::uint32_t**, Kokkos::LayoutStride, Exec>;
  int const rows = n > 1000 ? 3 : 21;
  int const pitch = n + pad;
  std::uint32_t const untouched = 0xDEADBEEF;
  auto const size = static_cast<std::size_t>(offset + rows * pitch);
  Kokkos::View<std::uint32_t*, Exec> const x("x", size);
  Kokkos::View<std::uint32_t*, Exec> const y("y", size);
  Kokkos::View<bool*, Exec> const mask("mask", size);
  Kokkos::deep_copy(y, untouched);
  std::mt19937 random(static_cast<unsigned>(n));
  for (std::size_t i = 0; i < size; ++i) {
    x(i) = static_cast<std::uint32_t>(random());
    mask(i) = random() % 3 != 0;
  }
  Kokkos::LayoutStride const layout(rows, pitch, n, 1);
  auto const in = Rows(x.data() + offset, layout);
  auto const out = Rows(y.data() + offset, layout);
  auto const lines = backward ? ks::along(1).backward() : ks::along(1);
  auto const scan = [&](auto const& input) {
    ks::impl::scan(ks::impl::Function::inclusive_scan, Exec(), input, out, lines, ks::Sum{},
                   emulated::Backend{});
  };
  if (is_masked) {
    scan(ks::masked(
        in, Kokkos::View<bool**, Kokkos::LayoutStride, Exec>(mask.data() + offset, layout)));
  } else {
    scan(in);
  }
  for (int i = 0; i < rows; ++i) {
    auto const place = [&](int k) { return static_cast<std::size_t>(offset + i * pitch + k); };
    std::uint32_t sum = 0;
    for (int step = 0; step < n; ++step) {
      std::size_t const at = place(backward ? n - 1 - step : step);
      if (!is_masked || mask(at)) sum += x(at);
      ASSERT_EQ(y(at), sum) << i << ' ' << step;
    }
    for (int k = n; k < pitch; ++k) ASSERT_EQ(y(place(k)), untouched) << i << ' ' << k;
  }
}
TEST(backends, emulated_cuda_scans_rows_that_begin_anywhere) {
  for (int const n : {1, 2, 5, 8, 16, 63, 64, 128, 1000, 2049, 2052, 4096, 9220}) {
    for (int const pad : {0, 1, 4}) {
      for (int const offset : {0, 1}) {
        for (bool const is_masked : {false, true}) {
          scans_rows(n, pad, offset, is_masked, false);
          scans_rows(n, pad, offset, is_masked, true);
        }
      }
    }
  }
}

using Cube = Kokkos::View<std::uint32_t***, Kokkos::LayoutRight, Exec>;
using Middle = Kokkos::View<std::uint32_t***, Kokkos::LayoutStride, Exec>;

// Sums along the middle axis wrap around, so they are exact.
void expect_sums_along_middle(Middle const& x, Middle const& y, Direction direction, bool exclusive,
                              int multiprocessors) {
  auto const lines = direction == Direction::forward ? ks::along(1) : ks::along(1).backward();
  auto const function =
      exclusive ? ks::impl::Function::exclusive_scan : ks::impl::Function::inclusive_scan;
  ks::impl::scan(function, Exec(), x, y, lines, ks::Sum{}, emulated::Backend{multiprocessors});
  auto const n = static_cast<int>(x.extent(1));
  for (int i = 0; i < static_cast<int>(x.extent(0)); ++i) {
    for (int j = 0; j < static_cast<int>(x.extent(2)); ++j) {
      std::uint32_t sum = 0;
      for (int step = 0; step < n; ++step) {
        int const k = direction == Direction::forward ? step : n - 1 - step;
        std::uint32_t const before = sum;
        sum += x(i, k, j);
        ASSERT_EQ(y(i, k, j), exclusive ? before : sum) << i << ' ' << k << ' ' << j;
      }
    }
  }
}

// Columns for each kernel: few and many, aligned and unaligned, one or several tiles; row gaps.
TEST(backends, emulated_cuda_scans_columns_of_every_shape) {
  int turn = 0;
  for (int const inner : {2, 4, 7, 31, 33, 49, 128, 131, 300}) {
    for (int const n : {2, 7, 8, 9, 20, 65, 72, 129, 600, 4100}) {
      for (int const outer : {1, 3}) {
        if (outer * n * inner > 600'000) continue;
        for (int const gap : {0, 1}) {
          SCOPED_TRACE(::testing::Message()
                       << outer << " x " << n << " x " << inner << ", gap " << gap);
          Cube const x("x", static_cast<std::size_t>(outer), static_cast<std::size_t>(n),
                       static_cast<std::size_t>(inner + gap));
          Cube const y("y", x.extent(0), x.extent(1), x.extent(2));
          Kokkos::deep_copy(y, 0xDEADBEEF);
          auto const values = random_values<std::uint32_t>(static_cast<std::int64_t>(x.size()));
          std::copy(values.begin(), values.end(), x.data());
          auto const columns = Kokkos::make_pair(0, inner);
          Middle const from = Kokkos::subview(x, Kokkos::ALL, Kokkos::ALL, columns);
          Middle const to = Kokkos::subview(y, Kokkos::ALL, Kokkos::ALL, columns);
          ++turn;
          expect_sums_along_middle(from, to,
                                   turn % 2 == 0 ? Direction::forward : Direction::backward,
                                   turn / 2 % 2 == 0, turn / 4 % 2 == 0 ? 0 : 132);
          for (int i = 0; gap > 0 && i < outer; ++i) {
            ASSERT_EQ(y(i, n - 1, inner), 0xDEADBEEF) << "a gap was written to";
          }
          if (::testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

// Slabs of few columns, to arrays and to functions: of one quarter of a row of chunks and of
// several in a block, in which a thread has two quarters of a column, the last of them partial.
TEST(backends, emulated_cuda_quarters_of_a_thread_are_stacked) {
  for (int const n : {17, 77, 139, 395, 513, 1000}) {
    int const outer = 40, inner = 32;
    SCOPED_TRACE(::testing::Message() << outer << " x " << n << " x " << inner);
    Cube const x("x", static_cast<std::size_t>(outer), static_cast<std::size_t>(n),
                 static_cast<std::size_t>(inner));
    Cube const y("y", x.extent(0), x.extent(1), x.extent(2));
    auto const values = random_values<std::uint32_t>(static_cast<std::int64_t>(x.size()));
    std::copy(values.begin(), values.end(), x.data());
    auto const scan = [&](auto const& output) {
      Kokkos::deep_copy(y, 0xDEADBEEF);
      ks::impl::scan(ks::impl::Function::inclusive_scan, Exec(), x, output, ks::along(1), ks::Sum{},
                     emulated::Backend{2});
      for (int i = 0; i < outer; ++i) {
        for (int j = 0; j < inner; ++j) {
          std::uint32_t sum = 0;
          for (int k = 0; k < n; ++k) {
            sum += x(i, k, j);
            ASSERT_EQ(y(i, k, j), sum) << i << ' ' << k << ' ' << j;
          }
        }
      }
    };
    scan(y);
    if (HasFatalFailure()) return;
    scan(ks::for_each_result(
        x, [=](int i, int k, int j, std::uint32_t value) { y(i, k, j) = value; }));
    if (HasFatalFailure()) return;
  }
}

// Rows at every offset from multiples of 16 bytes, with or without neighbours that scans must not
// touch.
template <class T>
void scans_unaligned_rows() {
  constexpr int n = 4300;
  int turn = 0;
  for (int const inner : {33, 64, 131}) {
    for (int const first : {0, 1, 5}) {
      for (bool const is_masked : {false, true}) {
        ++turn;
        bool const in_place = turn % 3 == 0;
        bool const backward = turn % 2 == 0;
        SCOPED_TRACE(::testing::Message() << inner << " columns from number " << first
                                          << ", masked " << is_masked << ", in place " << in_place);
        Kokkos::View<T**, Kokkos::LayoutRight, Exec> const x("x", n, first + inner);
        Kokkos::View<T**, Kokkos::LayoutRight, Exec> const other("y", n, first + inner);
        Kokkos::View<bool**, Kokkos::LayoutRight, Exec> const mask("mask", n, first + inner);
        auto const values = random_values<T>(static_cast<std::int64_t>(x.size()));
        std::copy(values.begin(), values.end(), x.data());
        std::copy(values.begin(), values.end(), other.data());
        for (std::size_t i = 0; i < values.size(); ++i) mask.data()[i] = i % 7 < 4;
        auto const columns = Kokkos::make_pair(first, first + inner);
        auto const from = Kokkos::subview(x, Kokkos::ALL, columns);
        auto const y = in_place ? x : other;
        auto const to = Kokkos::subview(y, Kokkos::ALL, columns);
        auto const lines = backward ? ks::along(0).backward() : ks::along(0);
        auto const scan = [&](auto const& input) {
          ks::impl::scan(ks::impl::Function::inclusive_scan, Exec(), input, to, lines, ks::Sum{},
                         emulated::Backend{132});
        };
        if (is_masked) {
          scan(ks::masked(from, Kokkos::subview(mask, Kokkos::ALL, columns)));
        } else {
          scan(from);
        }
        for (int j = 0; j < first + inner; ++j) {
          T sum{};
          for (int step = 0; step < n; ++step) {
            int const k = backward ? n - 1 - step : step;
            auto const i = static_cast<std::size_t>(k * (first + inner) + j);
            if (!is_masked || mask(k, j)) sum = static_cast<T>(sum + values[i]);
            ASSERT_EQ(y(k, j), j < first ? values[i] : sum) << "element " << k << ", column " << j;
          }
        }
      }
    }
  }
}
TEST(backends, emulated_cuda_scans_unaligned_rows) {
  scans_unaligned_rows<std::uint8_t>();
  scans_unaligned_rows<std::uint16_t>();
  scans_unaligned_rows<std::uint64_t>();
}

// A column has the same bits in every kernel, except narrow columns, which have another combination
// tree; they are tested below.
TEST(backends, emulated_cuda_columns_have_the_same_bits_in_every_kernel) {
  for (int const n : {60, 128, 300, 2400, 4096, 4200, 4300, 13'000}) {
    auto const values = random_values<float>(n);
    std::vector<float> expected;
    for (int const inner : {4, 6, 7, 33, 40, 64, 101, 128, 129, 225, 256}) {
      if (cuda::are_narrow_columns(n, inner)) continue;
      for (auto const& backend :
           {emulated::Backend{0}, emulated::Backend{132}, emulated::Backend{132, 166'912},
            emulated::Backend{132, 101'376}}) {
        Kokkos::View<float**, Kokkos::LayoutRight, Exec> const x("x", n, inner);
        Kokkos::View<float**, Kokkos::LayoutRight, Exec> const y("y", n, inner);
        for (int k = 0; k < n; ++k) {
          for (int j = 0; j < inner; ++j) x(k, j) = values[static_cast<std::size_t>(k)];
        }
        ks::impl::scan(ks::impl::Function::inclusive_scan, Exec(), x, y, ks::along(0), ks::Sum{},
                       backend);
        if (expected.empty()) {
          for (int k = 0; k < n; ++k) expected.push_back(y(k, 0));
        }
        for (int k = 0; k < n; ++k) {
          for (int j = 0; j < inner; ++j) {
            ASSERT_EQ(y(k, j), expected[static_cast<std::size_t>(k)])
                << "n " << n << ", inner " << inner << ", element " << k << ", column " << j;
          }
        }
      }
    }
  }
}

// Long columns that are not neighbours have the same bits as neighbours; memory between them must
// not change.
TEST(backends, emulated_cuda_columns_with_gaps_have_the_same_bits) {
  constexpr int gap = 2;
  for (int const n : {4200, 4352}) {
    for (int const inner : {113, 128}) {
      emulated::Backend const backend{132};
      // The distance of rows is that of the rows with gaps, because the tree depends on it.
      Kokkos::View<float**, Kokkos::LayoutRight, Exec> const wide_x("x", n, inner * gap);
      Kokkos::View<float**, Kokkos::LayoutRight, Exec> const wide_y("y", n, inner * gap);
      auto const columns = std::pair(0, inner);
      auto const x = Kokkos::subview(wide_x, Kokkos::ALL, columns);
      auto const expected = Kokkos::subview(wide_y, Kokkos::ALL, columns);
      Kokkos::View<float**, Kokkos::LayoutRight, Exec> const all_x("x", n, inner * gap);
      Kokkos::View<float**, Kokkos::LayoutRight, Exec> const all_y("y", n, inner * gap);
      auto const values = random_values<float>(n * inner);
      for (int k = 0; k < n; ++k) {
        for (int j = 0; j < inner; ++j) {
          x(k, j) = all_x(k, j * gap) = values[static_cast<std::size_t>(k * inner + j)];
          all_y(k, j * gap + 1) = 7;
        }
      }
      using Gaps = Kokkos::View<float**, Kokkos::LayoutStride, Exec>;
      Kokkos::LayoutStride const layout(n, inner * gap, inner, gap);
      Gaps const with_gaps(all_x.data(), layout), results(all_y.data(), layout);
      ks::impl::scan(ks::impl::Function::inclusive_scan, Exec(), with_gaps, results, ks::along(0),
                     ks::Sum{}, backend);
      ks::impl::scan(ks::impl::Function::inclusive_scan, Exec(), x, expected, ks::along(0),
                     ks::Sum{}, backend);
      for (int k = 0; k < n; ++k) {
        for (int j = 0; j < inner; ++j) {
          ASSERT_EQ(results(k, j), expected(k, j)) << "element " << k << ", column " << j;
          ASSERT_EQ(all_y(k, j * gap + 1), 7);
        }
      }
    }
  }
}

// Wide columns have the same bits in all kernels for them, which are chosen by number, alignment
// and multiprocessors. A mask that is true everywhere changes no bit.
TEST(backends, emulated_cuda_wide_columns_have_the_same_bits_in_every_kernel) {
  for (int const n : {60, 100, 300, 2400, 4200, 13'000}) {
    auto const values = random_values<float>(n);
    std::vector<float> expected;
    for (int const inner : {257, 260, 301, 388}) {
      Kokkos::View<float**, Kokkos::LayoutRight, Exec> const x("x", n, inner);
      Kokkos::View<float**, Kokkos::LayoutRight, Exec> const y("y", n, inner);
      Kokkos::View<bool**, Kokkos::LayoutRight, Exec> const mask("mask", n, inner);
      Kokkos::deep_copy(mask, true);
      for (int k = 0; k < n; ++k) {
        for (int j = 0; j < inner; ++j) x(k, j) = values[static_cast<std::size_t>(k)];
      }
      auto const check = [&](auto const& input, int multiprocessors) {
        Kokkos::deep_copy(y, -1);
        ks::impl::scan(ks::impl::Function::inclusive_scan, Exec(), input, y, ks::along(0),
                       ks::Sum{}, emulated::Backend{multiprocessors});
        if (expected.empty()) {
          for (int k = 0; k < n; ++k) expected.push_back(y(k, 0));
        }
        for (int k = 0; k < n; ++k) {
          for (int j = 0; j < inner; ++j) {
            ASSERT_EQ(y(k, j), expected[static_cast<std::size_t>(k)])
                << "n " << n << ", inner " << inner << ", element " << k << ", column " << j;
          }
        }
      };
      for (int const multiprocessors : {0, 132}) {
        check(x, multiprocessors);
        check(ks::masked(x, mask), multiprocessors);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// One column per thread, in every form and direction. With 0 multiprocessors, any number of columns
// is enough for that kernel.
template <class T>
void threads_scan_columns() {
  for (std::int64_t const n : {17, 23, 24, 25, 63, 64, 65, 100, 128}) {
    for (int i = 0; i < 6; ++i) {
      std::int64_t const lines = 33 + 8 * i;
      Job<T> job{random_values<T>(lines * n), lines, n};
      job.form = forms[i % 3];
      job.placement = Placement::columns;
      job.direction = i < 3 ? Direction::forward : Direction::backward;
      expect_oracle<ks::Sum<>>(job, run(job, ks::Sum{}, emulated::Backend{0}));
      if (::testing::Test::HasFailure()) return;
    }
  }
}
TEST(backends, emulated_cuda_threads_scan_columns) {
  threads_scan_columns<float>();
  threads_scan_columns<double>();
}

/// Sums of a short or narrow column of floats by its combination tree: elements combine to chunks,
/// chunks to tiles, tiles to groups, groups to sets, all left to right in double.
std::vector<float> sums_of_narrow_column(std::vector<float> const& values, int stride) {
  auto const n = static_cast<int>(values.size());
  cuda::NarrowCut const cut = cuda::cut_narrow_column(n, stride, sizeof(float), sizeof(float));
  int const chunks = (n + cut.chunk - 1) / cut.chunk;
  std::vector<float> sums;
  double sets = 0, groups = 0, tiles = 0, before = 0;
  auto const prefix = [&] { return (sets + (groups + tiles)) + before; };
  auto const end = [](double& of_parts, double& of_whole) {
    of_whole += of_parts;
    of_parts = 0;
  };
  for (int c = 0; c < chunks; ++c) {
    double run = prefix();
    double total = 0;
    for (int k = c * cut.chunk; k < std::min(n, (c + 1) * cut.chunk); ++k) {
      run += values[static_cast<std::size_t>(k)];
      total += values[static_cast<std::size_t>(k)];
      sums.push_back(static_cast<float>(run));
    }
    before += total;
    int const parts[] = {cut.chunks, cuda::tiles_of_narrow_group, cuda::groups_of_narrow_set};
    if ((c + 1) % parts[0] == 0) end(before, tiles);
    if ((c + 1) % (parts[0] * parts[1]) == 0) end(tiles, groups);
    if ((c + 1) % (parts[0] * parts[1] * parts[2]) == 0) end(groups, sets);
    if (c + 1 < chunks) sums.back() = static_cast<float>(prefix());
  }
  return sums;
}

// Short and narrow columns combine by one tree in the carried type, whatever their number and
// position. A mask that is true everywhere changes no bit.
TEST(backends, emulated_cuda_short_and_narrow_columns_have_one_tree) {
  std::vector<int> lengths{17, 32, 33, 34, 66, 67, 100, 181, 217, 528, 1057, 2815};
  for (int n = 1; n <= cuda::longest_short_column; ++n) lengths.push_back(n);
  int turn = 0;
  for (int const n : lengths) {
    auto const values = random_values<float>(n);
    for (int const inner : {2, 4, 5, 8, cuda::widest_narrow_row(1), 33, 1200}) {
      if (n > cuda::longest_short_column && !cuda::are_narrow_columns(n, inner)) continue;
      std::vector<float> const expected = sums_of_narrow_column(values, inner);
      for (int const outer : {1, 3, 40, 500}) {
        if (outer > 1 && outer * inner * n > 40'000) continue;
        if (inner * n > 300'000) continue;
        Kokkos::View<float***, Kokkos::LayoutRight, Exec> const x("x", outer, n, inner);
        Kokkos::View<bool***, Kokkos::LayoutRight, Exec> const mask("mask", outer, n, inner);
        Kokkos::deep_copy(mask, true);
        for (int i = 0; i < outer * n * inner; ++i) {
          x.data()[i] = values[static_cast<std::size_t>(i / inner % n)];
        }
        for (bool const is_masked : {false, true}) {
          // Few multiprocessors have larger tiles than many.
          Kokkos::View<float***, Kokkos::LayoutRight, Exec> const y("y", outer, n, inner);
          bool const has_bulk_copies = ++turn % 2 == 0;
          emulated::Backend const backend{turn / 2 % 2 == 0 ? 1 : 132, 232448, has_bulk_copies};
          if (is_masked) {
            ks::impl::scan(ks::impl::Function::inclusive_scan, Exec(), ks::masked(x, mask), y,
                           ks::along(1), ks::Sum{}, backend);
          } else {
            ks::impl::scan(ks::impl::Function::inclusive_scan, Exec(), x, y, ks::along(1),
                           ks::Sum{}, backend);
          }
          for (int i = 0; i < outer * n * inner; ++i) {
            ASSERT_EQ(y.data()[i], expected[static_cast<std::size_t>(i / inner % n)])
                << outer << " x " << n << " x " << inner << ", element " << i;
          }
        }
      }
    }
  }
}

// The tree of long narrow columns depends only on n and on the distance of their elements: not on
// the number of columns or blocks, nor on a mask.
TEST(backends, emulated_cuda_long_narrow_columns_have_one_tree) {
  struct Case {
    int outer, n, row, inner;
  };
  for (Case const& c : {Case{1, 140'000, 2, 2}, Case{1, 4225, 31, 31}, Case{40, 219, 31, 31},
                        Case{3, 6000, 2, 2}, Case{2, 9000, 17, 17}, Case{3, 8448, 3, 3},
                        Case{1, 20'001, 24, 24}, Case{2, 30'000, 5, 3}, Case{1, 50'000, 11, 1},
                        Case{2, 6000, 12, 12}, Case{1, 60'001, 31, 31}, Case{1, 66'000, 63, 63}}) {
    auto const values = random_values<float>(c.n);
    std::vector<float> const expected = sums_of_narrow_column(values, c.row);
    Kokkos::View<float***, Kokkos::LayoutRight, Exec> const all("x", c.outer, c.n, c.row);
    Kokkos::View<float***, Kokkos::LayoutRight, Exec> const results("y", c.outer, c.n, c.row);
    Kokkos::View<bool***, Kokkos::LayoutRight, Exec> const masks("mask", c.outer, c.n, c.row);
    Kokkos::deep_copy(masks, true);
    for (std::size_t i = 0; i < all.size(); ++i) {
      all.data()[i] = values[i / static_cast<std::size_t>(c.row) % values.size()];
    }
    auto const columns = [&](auto const& view) {
      return Kokkos::subview(view, Kokkos::ALL, Kokkos::ALL, std::pair{0, c.inner});
    };
    int turn = 0;
    for (emulated::Backend const& backend :
         {emulated::Backend{}, emulated::Backend{1, 232448, false},
          emulated::Backend{132, 166'912, true}, emulated::Backend{7, 101'376, true}}) {
      Kokkos::deep_copy(results, -1);
      if (++turn % 2 == 0) {
        ks::impl::scan(ks::impl::Function::inclusive_scan, Exec(),
                       ks::masked(columns(all), columns(masks)), columns(results), ks::along(1),
                       ks::Sum{}, backend);
      } else {
        ks::impl::scan(ks::impl::Function::inclusive_scan, Exec(), columns(all), columns(results),
                       ks::along(1), ks::Sum{}, backend);
      }
      for (std::size_t i = 0; i < all.size(); ++i) {
        bool const is_result = static_cast<int>(i % static_cast<std::size_t>(c.row)) < c.inner;
        float const value =
            is_result ? expected[i / static_cast<std::size_t>(c.row) % values.size()] : -1;
        ASSERT_EQ(results.data()[i], value)
            << c.outer << " x " << c.n << " x " << c.row << ", element " << i << ", turn " << turn;
      }
    }
  }
}

// Short and narrow columns whose output has another row layout than the input, and inputs of which
// only the mask, or nothing, can be moved in contiguous runs.
TEST(backends, emulated_cuda_scans_narrow_columns_of_every_layout) {
  int turn = 0;
  for (std::int64_t const n : {1, 2, 3, 5, 8, 15, 16, 34, 70, 1000}) {
    for (std::int64_t const lines : {1, 7, 64, 200, 333, 2001}) {
      if (lines * n > 100'000) continue;
      for (int i = 0; i < 5; ++i, ++turn) {
        Job<float> job{random_values<float>(lines * n), lines, n};
        job.form = forms[turn % 3];
        job.placement = placements[2 + turn % 4];
        job.direction = turn % 2 == 0 ? Direction::forward : Direction::backward;
        expect_oracle<ks::Sum<>>(job, run(job, ks::Sum{}, emulated::Backend{}));
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

// Few of many columns, of several arrays: a row takes more shared memory than its elements.
TEST(backends, emulated_cuda_scans_few_masked_columns_of_wide_rows) {
  int const n = 4100, row = 300;
  Kokkos::View<float**, Kokkos::LayoutRight, Exec> const x("x", n, row);
  Kokkos::View<bool**, Kokkos::LayoutRight, Exec> const mask("mask", n, row);
  Kokkos::View<float**, Kokkos::LayoutRight, Exec> const y("y", n, row);
  for (int i = 0; i < n * row; ++i) {
    x.data()[i] = static_cast<float>(i % 5);
    mask.data()[i] = i % 7 < 4;
  }
  for (int const shared_bytes : {101'376, 166'912, 232'448}) {
    for (int const inner : {1, 2, 3}) {
      auto const columns = [&](auto const& view) {
        return Kokkos::subview(view, Kokkos::ALL, std::pair(0, inner));
      };
      ks::impl::scan(ks::impl::Function::inclusive_scan, Exec(),
                     ks::masked(columns(x), columns(mask)), columns(y), ks::along(0), ks::Sum{},
                     emulated::Backend{132, shared_bytes});
      for (int j = 0; j < inner; ++j) {
        float sum = 0;
        for (int k = 0; k < n; ++k) {
          if (mask(k, j)) sum += x(k, j);
          ASSERT_EQ(y(k, j), sum) << "element " << k << " of column " << j << " of " << inner;
        }
      }
    }
  }
}

// With the same strides, the choice of kernel must not show: columns with or without shared blocks.
TEST(backends, emulated_cuda_columns_have_the_same_bits_when_shared) {
  for (std::int64_t const columns : {5, 40}) {
    Job<double> job{random_values<double>(columns * 9000), columns, 9000};
    job.placement = Placement::columns;
    EXPECT_TRUE(run(job, ks::Sum{}, emulated::Backend{0}) ==
                run(job, ks::Sum{}, emulated::Backend{132}))
        << columns;
  }
}

// inclusive[k] = B(k + 1), exclusive[k] = B(k) and totals = B(n), bit for bit.
template <class T>
void forms_agree(Placement placement) {
  for (std::int64_t const n : lengths(sizeof(T))) {
    Job<T> job{random_values<T>(2 * n), 2, n};
    job.placement = placement;
    auto const inclusive = run(job, ks::Sum{}, emulated::Backend{});
    job.form = Form::exclusive_with_total;
    auto const longer = run(job, ks::Sum{}, emulated::Backend{});
    for (std::int64_t l = 0; l < 2; ++l) {
      EXPECT_EQ(
          first_difference(inclusive.line(l), longer.line(l) + 1, static_cast<std::size_t>(n)), -1)
          << n;
    }
    EXPECT_EQ(first_difference(inclusive.totals, longer.totals), -1) << n;
  }
}
TEST(backends, emulated_cuda_forms_agree_bit_for_bit) {
  for (auto const placement : {Placement::rows, Placement::columns}) {
    forms_agree<float>(placement);
    forms_agree<double>(placement);
  }
}

// A single line, at any alignment, has the same bits as among others.
TEST(backends, emulated_cuda_is_batch_invariant) {
  for (std::int64_t const n : lengths(sizeof(double))) {
    Job<double> const many{random_values<double>(5 * n), 5, n};
    auto const all = run(many, ks::Sum{}, emulated::Backend{});
    for (std::int64_t l = 0; l < 5; ++l) {
      Job<double> const one{{many.values.begin() + l * n, many.values.begin() + (l + 1) * n}, 1, n};
      auto const alone = run(one, ks::Sum{}, emulated::Backend{});
      EXPECT_EQ(first_difference(all.line(l), alone.line(0), static_cast<std::size_t>(n)), -1)
          << "line " << l << " of " << n;
    }
  }
}

/// Like Interval, with the default constructor that these kernels need: [0, 1) joins nothing.
struct DefaultInterval {
  std::uint32_t begin = 0;
  std::uint32_t end = 1;
};
/// Counts combinations of values that are not neighbours in ascending order.
struct JoinDefaultIntervals {
  std::uint32_t* faulty;

  DefaultInterval operator()(DefaultInterval const& a, DefaultInterval const& b) const {
    if (a.end != b.begin) ++*faulty;
    return {a.begin, b.end};
  }
};

void combines_only_neighbours(std::int64_t n, std::int64_t lines, int turn) {
  std::uint32_t faulty = 0;
  Job<DefaultInterval> job{{}, lines, n};
  // Lines are far apart, so that values of different lines never join; backward they descend.
  bool const is_forward = turn / 2 == 0;
  auto const begin_of = [](std::int64_t l) {
    return static_cast<std::uint32_t>(l * 40'000'000 + 7);
  };
  for (std::int64_t l = 0; l < lines; ++l) {
    for (std::int64_t k = 0; k < n; ++k) {
      auto const begin = begin_of(l) + 3 * static_cast<std::uint32_t>(is_forward ? k : n - 1 - k);
      job.values.push_back({begin, begin + 3});
    }
  }
  job.placement = turn % 2 == 0 ? Placement::rows : Placement::columns;
  job.direction = is_forward ? Direction::forward : Direction::backward;
  auto const scanned = run(job, JoinDefaultIntervals{&faulty}, emulated::Backend{});
  ASSERT_EQ(faulty, 0u) << "combines of strangers, n " << n << ", turn " << turn;
  for (std::int64_t l = 0; l < lines; ++l) {
    for (std::int64_t k = 0; k < n; ++k) {
      auto const& actual = scanned.line(l)[is_forward ? k : n - 1 - k];
      ASSERT_EQ(actual.begin, begin_of(l)) << "element " << k << " of " << n << ", turn " << turn;
      ASSERT_EQ(actual.end, begin_of(l) + 3 * (static_cast<std::uint32_t>(k) + 1));
    }
    ASSERT_EQ(scanned.totals[static_cast<std::size_t>(l)].end,
              begin_of(l) + 3 * static_cast<std::uint32_t>(n));
  }
}

// G: uninitialised operands reach the operator (cccl #458, cudf #8705).
TEST(backends, emulated_cuda_combines_only_neighbours) {
  for (std::int64_t const n : lengths(sizeof(DefaultInterval))) {
    for (int turn = 0; turn < 4; ++turn) combines_only_neighbours(n, 3, turn);
  }
  // Strips, and runs of columns in tiles of quarters of rows.
  for (std::int64_t const n : {300, 1003, 4300}) {
    for (std::int64_t const lines : {57, 64}) {
      for (int const turn : {1, 3}) combines_only_neighbours(n, lines, turn);
    }
  }
  // A line with more than one group of tiles, whose last tile has no total.
  constexpr int bytes = sizeof(DefaultInterval);
  std::int64_t const tile = cuda::cut_line(1'000'001, {bytes, bytes}).tile_length;
  for (int const turn : {0, 2}) combines_only_neighbours(40 * tile + 5, 1, turn);
}

// Masks, starting values, and totals that overwrite them.
TEST(backends, emulated_cuda_starts_totals_and_masks) {
  for (std::int64_t const n : {1L, 30L, 300L, 5000L, 30'000L}) {
    for (int const axis : {1, 0}) {
      starts_and_totals_in_one_view<Affine, ComposeAffine>(n, axis, emulated::Backend{});
      starts_and_totals_in_one_view<std::uint64_t, ks::Sum<>>(n, axis, emulated::Backend{});
    }
  }
  starts_and_totals_in_one_view<std::uint32_t, ks::Sum<>>(90, 0, emulated::Backend{0}, 40);
  // Narrow columns, and wider ones.
  starts_and_totals_in_one_view<std::uint32_t, ks::Sum<>>(2500, 0, emulated::Backend{}, 9);
  starts_and_totals_in_one_view<std::uint32_t, ks::Sum<>>(2500, 0, emulated::Backend{}, 41);
  starts_and_totals_in_one_view<Affine, ComposeAffine>(2500, 0, emulated::Backend{}, 37);
  // As wide as a warp and with too few rows to be shared, but more bytes than a tile has usually.
  starts_and_totals_in_one_view<std::uint8_t, ks::Sum<>>(449, 0, emulated::Backend{}, 32);
  // Of few rows of chunks.
  starts_and_totals_in_one_view<std::uint32_t, ks::Sum<>>(270, 0, emulated::Backend{}, 101);
  starts_and_totals_in_one_view<Affine, ComposeAffine>(330, 0, emulated::Backend{}, 57);
  // Packs where few columns fit; narrow ones of which one tile does; runs of packs.
  starts_and_totals_in_one_view<Affine, ComposeAffine>(5000, 0, emulated::Backend{132, 40'000}, 32);
  starts_and_totals_in_one_view<Affine, ComposeAffine>(5000, 0, emulated::Backend{132, 60'000}, 6);
  starts_and_totals_in_one_view<std::uint32_t, ks::Sum<>>(5000, 0, emulated::Backend{}, 36);
}

}  // namespace
}  // namespace backends
}  // namespace test

#endif
