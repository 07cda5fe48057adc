// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The host backend: equal to the oracle and to the generic backend for exact types. Floats have the
// bits of its combination tree, which is reimplemented here, for all strides, thread counts, ways
// to share lines, and ways to store results. Regression classes: A (orderings between threads), D
// aliasing, E strides, H alignment, L.

#include <Kokkos_Core.hpp>

// Host-only functions.
#if !defined(KOKKOS_ENABLE_CUDA)

#include <gtest/gtest.h>

#include <KokkosScan/KokkosScan.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "backends.hpp"

namespace test {
namespace backends_host {

namespace host = ks::impl::host;
using backends::expect_oracle;
using backends::random_values;
using HostBackend = ks::impl::HostOrTeam;

constexpr bool is_host = std::is_same_v<ks::impl::DefaultBackend<Exec>, HostBackend>;

#define SKIP_WITHOUT_HOST() \
  if (!is_host) GTEST_SKIP() << "the default execution space has another backend"

/// The register widths of this processor.
std::vector<host::Registers> all_registers() {
  std::vector<host::Registers> all{host::least_registers};
  if (host::widest_registers() != all[0]) all.push_back(host::widest_registers());
  return all;
}

/// Calls f(backend) for everything that can be forced.
template <class F>
void for_each_backend(F const& f) {
  for (auto const sharing : {host::Sharing::whole_lines, host::Sharing::split_lines}) {
    for (auto const destination : {host::Destination::caches, host::Destination::memory}) {
      for (auto const registers : all_registers()) {
        SCOPED_TRACE(::testing::Message() << "sharing " << static_cast<int>(sharing)
                                          << ", destination " << static_cast<int>(destination)
                                          << ", registers " << static_cast<int>(registers));
        f(HostBackend{{sharing, destination, registers}});
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

/// Instances of 1, 2, 3 and 7 threads, as far as the space has them.
template <class Space = Exec>
std::vector<Space> instances() {
#if defined(KOKKOS_ENABLE_OPENMP)
  if constexpr (std::is_same_v<Space, Kokkos::OpenMP>) {
    std::vector<Space> all;
    for (int const threads : {1, 2, 3, 7}) {
      if (threads <= Space().concurrency()) all.push_back(Space(threads));
    }
    return all;
  }
#endif
  return {Space()};
}

constexpr Form forms[] = {Form::inclusive, Form::exclusive, Form::exclusive_with_total};
constexpr Direction directions[] = {Direction::forward, Direction::backward};
constexpr Placement placements[] = {Placement::rows,     Placement::columns,
                                    Placement::gaps,     Placement::shifted,
                                    Placement::in_place, Placement::rows_to_columns};

/// Lengths around packs, chunks, blocks, tiles and the parts of split lines.
std::vector<std::int64_t> lengths() {
  std::vector<std::int64_t> all;
  for (std::int64_t n = 1; n <= 18; ++n) all.push_back(n);
  for (std::int64_t const n : {31, 32, 33, 42, 63, 64, 100, 255, 256, 257, 258, 1023, 1024, 1025,
                               1040, 4097, 20'000, 33'000, 70'001}) {
    all.push_back(n);
  }
  return all;
}

// ---- against the oracle -------------------------------------------------------------------------

/// Cycles through forms, directions, placements and numbers of lines.
template <class T, class Op>
void equals_oracle_and_team(Op const& op) {
  SKIP_WITHOUT_HOST();
  backends::Sample sample(7, 2 * sizeof(T) + std::is_signed_v<T>);
  int turn = 0;
  for (Exec const& exec : instances()) {
    for_each_backend([&](HostBackend const& backend) {
      for (std::int64_t const n : lengths()) {
        for (int i = 0; i < 2; ++i) {
          ++turn;
          if (!sample.takes()) continue;
          constexpr std::int64_t counts[] = {1, 3, 5, 70, 144};
          std::int64_t const lines = n > 2000 ? counts[turn % 3] : counts[turn % 5];
          Job<T> job{random_values<T>(lines * n), lines, n};
          job.form = forms[turn % 3];
          job.direction = directions[turn / 3 % 2];
          job.placement = placements[turn / 6 % 6];
          auto const scanned = run(job, op, backend, exec);
          expect_oracle<Op>(job, scanned);
          ASSERT_TRUE(scanned == run(job, op, TeamBackend{}))
              << lines << " lines of " << n << ", placement " << static_cast<int>(job.placement);
          if (::testing::Test::HasFailure()) return;
        }
      }
    });
  }
}

TEST(backends_host, sums_of_int32) { equals_oracle_and_team<std::int32_t>(ks::Sum{}); }
TEST(backends_host, sums_of_uint64) { equals_oracle_and_team<std::uint64_t>(ks::Sum{}); }
TEST(backends_host, products_of_int64) { equals_oracle_and_team<std::int64_t>(ks::Prod{}); }
TEST(backends_host, products_of_uint32) { equals_oracle_and_team<std::uint32_t>(ks::Prod{}); }
TEST(backends_host, minima_of_int32) { equals_oracle_and_team<std::int32_t>(ks::Min{}); }
TEST(backends_host, maxima_of_uint64) { equals_oracle_and_team<std::uint64_t>(ks::Max{}); }
TEST(backends_host, sums_of_int8) { equals_oracle_and_team<std::int8_t>(ks::Sum{}); }
TEST(backends_host, products_of_uint16) { equals_oracle_and_team<std::uint16_t>(ks::Prod{}); }
TEST(backends_host, minima_of_uint8) { equals_oracle_and_team<std::uint8_t>(ks::Min{}); }
TEST(backends_host, maxima_of_int16) { equals_oracle_and_team<std::int16_t>(ks::Max{}); }
TEST(backends_host, minima_of_float) { equals_oracle_and_team<float>(ks::Min{}); }
TEST(backends_host, maxima_of_double) { equals_oracle_and_team<double>(ks::Max{}); }

// ---- NaN and zeros ------------------------------------------------------------------------------

/// Minima and maxima associate exactly, with NaNs, infinities and both zeros at random positions.
template <class T, class Op>
void special_values(Op const& op) {
  SKIP_WITHOUT_HOST();
  T const special[] = {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity(),
                       -std::numeric_limits<T>::infinity(), T(0), -T(0)};
  for_each_backend([&](HostBackend const& backend) {
    for (std::int64_t const n : {1, 3, 7, 16, 18, 40, 300, 3000, 9000}) {
      for (auto const placement : {Placement::rows, Placement::columns, Placement::in_place}) {
        // Columns whose rows are whole cache lines are stored without a buffer.
        std::int64_t const lines = placement == Placement::columns ? 144 : 21;
        Job<T> job{random_values<T>(lines * n), lines, n};
        job.placement = placement;
        job.direction = directions[n % 2];
        Random random(static_cast<std::uint64_t>(n));
        for (std::int64_t l = 0; l < lines; ++l) {
          // The first lines contain only zeros, so that their signs show.
          for (std::int64_t k = 0; k < n && l < 7; ++k) {
            job.values[static_cast<std::size_t>(l * n + k)] = special[3 + random.below(2)];
          }
          if (l % 2 == 0) continue;
          job.values[static_cast<std::size_t>(l * n + random.below(n))] = special[random.below(5)];
        }
        ASSERT_TRUE(run(job, op, backend) == run(job, op, TeamBackend{})) << "n " << n;
      }
    }
  });
}

TEST(backends_host, special_values_in_minima_and_maxima) {
  special_values<float>(ks::Min{});
  special_values<float>(ks::Max{});
  special_values<double>(ks::Min{});
  special_values<double>(ks::Max{});
}

/// The first result of a line is its first element, even if it is -0: 0 + -0 would be 0.
TEST(backends_host, negative_zero_stays) {
  SKIP_WITHOUT_HOST();
  for_each_backend([&](HostBackend const& backend) {
    for (std::int64_t const n : {1, 2, 4, 5, 16, 17, 300, 2000}) {
      for (auto const placement : {Placement::rows, Placement::columns}) {
        Job<float> job{std::vector<float>(static_cast<std::size_t>(5 * n), -0.0f), 5, n};
        job.placement = placement;
        auto const scanned = run(job, ks::Sum{}, backend);
        for (float const y : scanned.out) ASSERT_TRUE(y == 0 && std::signbit(y)) << "n " << n;
      }
    }
  });
}

// ---- the combination tree -----------------------------------------------------------------------

/// B(1) ... B(n) as described in docs/host-backend.md: A within a chunk, R above.
template <class A, class R, class Op>
std::vector<A> as_documented(std::vector<A> const& x, std::int64_t begin, std::int64_t n,
                             Op const& op) {
  std::vector<A> b;
  bool has_tiles = false, has_chunks = false;
  R tiles{}, chunks{};
  auto const wide = [&](bool has, R left, R right) { return has ? R(op(left, right)) : right; };
  for (std::int64_t chunk = 0; chunk < n; chunk += 16) {
    bool const has_carry = has_tiles || has_chunks;
    R const both = !has_chunks ? tiles : wide(has_tiles, tiles, chunks);
    A const carry = static_cast<A>(both);
    A packs{};  // the earlier packs of the chunk, then with the prefix of the pack
    A fold{};
    for (std::int64_t k = chunk; k < std::min(chunk + 16, n); ++k) {
      A const* const p = x.data() + begin + k / 4 * 4;
      A prefix = p[0];
      if (k % 4 == 1) prefix = op(p[0], p[1]);
      if (k % 4 == 2) prefix = op(A(op(p[0], p[1])), p[2]);
      if (k % 4 == 3) prefix = op(A(op(p[0], p[1])), A(op(p[2], p[3])));
      if (k % 4 == 0) packs = fold;
      fold = k - chunk < 4 ? prefix : A(op(packs, prefix));
      b.push_back(has_carry ? A(op(carry, fold)) : fold);
    }
    chunks = wide(has_chunks, chunks, static_cast<R>(fold));
    has_chunks = true;
    if ((chunk + 16) % 1024 == 0) {
      tiles = wide(has_tiles, tiles, chunks);
      has_tiles = true;
      has_chunks = false;
    }
  }
  return b;
}

/// T is stored, A is combined in chunks.
template <class T, class R, class A = T, class Op>
void follows_the_documented_tree(Op const& op, Data data) {
  SKIP_WITHOUT_HOST();
  struct Plain {
    double operator()(double a, double b) const { return is_sum ? a + b : a * b; }
    float operator()(float a, float b) const { return is_sum ? a + b : a * b; }
    bool is_sum;
  };
  Plain const plain{std::is_same_v<Op, ks::Sum<>>};
  backends::Sample sample(4, sizeof(T));
  int turn = 0;
  for (Exec const& exec : instances()) {
    for_each_backend([&](HostBackend const& backend) {
      for (std::int64_t const n : lengths()) {
        constexpr std::int64_t counts[] = {1, 2, 5, 67, 130};
        ++turn;
        if (!sample.takes()) continue;
        std::int64_t const lines = n > 2000 ? counts[turn % 3] : counts[turn % 5];
        Job<T> job{{}, lines, n};
        Random random(static_cast<std::uint64_t>(turn));
        for (std::int64_t i = 0; i < lines * n; ++i) {
          job.values.push_back(random_value<T>(random, data));
        }
        job.form = forms[turn % 3];
        job.placement = placements[turn / 3 % 6];
        auto const scanned = run(job, op, backend, exec);
        for (std::int64_t l = 0; l < lines; ++l) {
          auto const exact =
              as_documented<A, R>({job.values.begin(), job.values.end()}, l * n, n, plain);
          std::vector<T> const expected(exact.begin(), exact.end());
          std::int64_t const shift = job.form == Form::inclusive ? 0 : 1;
          std::int64_t const count = std::min(n, scanned.extent - shift);
          ASSERT_EQ(first_difference(scanned.line(l) + shift, expected.data(),
                                     static_cast<std::size_t>(count)),
                    -1)
              << "line " << l << " of " << lines << ", n " << n << ", placement "
              << static_cast<int>(job.placement) << ", form " << to_text(job.form);
          ASSERT_EQ(scanned.totals[static_cast<std::size_t>(l)], expected.back());
        }
      }
    });
  }
}

TEST(backends_host, sums_follow_the_documented_tree) {
  follows_the_documented_tree<float, double>(ks::Sum{}, Data::any);
  follows_the_documented_tree<double, double>(ks::Sum{}, Data::any);
}
TEST(backends_host, products_follow_the_documented_tree) {
  follows_the_documented_tree<float, double, double>(ks::Prod{}, Data::near_one);
  follows_the_documented_tree<double, double>(ks::Prod{}, Data::near_one);
}

// ---- the same bits ------------------------------------------------------------------------------

/// Everything that must not matter, on the same values.
template <class T>
void nothing_else_matters(std::int64_t lines, std::int64_t n) {
  SKIP_WITHOUT_HOST();
  backends::Sample sample(7, static_cast<std::uint64_t>(lines * n));
  for (auto const form : forms) {
    Job<T> job{random_values<T>(lines * n), lines, n};
    job.form = form;
    auto const reference = run(job, ks::Sum{}, HostBackend{});
    auto flipped = job;
    for (std::int64_t l = 0; l < lines; ++l) {
      std::reverse(flipped.values.begin() + l * n, flipped.values.begin() + (l + 1) * n);
    }
    flipped.direction = Direction::backward;
    for (Exec const& exec : instances()) {
      for_each_backend([&](HostBackend const& backend) {
        for (auto const placement : placements) {
          if (!sample.takes()) continue;
          job.placement = flipped.placement = placement;
          ASSERT_TRUE(run(job, ks::Sum{}, backend, exec) == reference)
              << lines << " lines of " << n << ", " << to_text(form) << ", placement "
              << static_cast<int>(placement) << ", threads " << exec.concurrency();
          auto scanned = run(flipped, ks::Sum{}, backend, exec);
          for (std::int64_t l = 0; l < lines; ++l) {
            std::reverse(scanned.out.begin() + l * scanned.extent,
                         scanned.out.begin() + (l + 1) * scanned.extent);
          }
          ASSERT_TRUE(scanned == reference)
              << lines << " lines of " << n << ", " << to_text(form) << " backward, placement "
              << static_cast<int>(placement) << ", threads " << exec.concurrency();
        }
      });
    }
  }
}

TEST(backends_host, strides_threads_and_sharing_do_not_change_the_bits) {
  nothing_else_matters<float>(1, 140'003);
  nothing_else_matters<float>(3, 40'000);
  nothing_else_matters<float>(200, 45);
  nothing_else_matters<float>(208, 45);
  nothing_else_matters<float>(70, 1030);
  nothing_else_matters<double>(2, 35'001);
  nothing_else_matters<float>(8, 1045);
  nothing_else_matters<double>(67, 9);
  // Rows that are stored four at a time: the longest, and some that are no multiple of a cache
  // line.
  nothing_else_matters<float>(128, 70);
  nothing_else_matters<float>(101, 45);
  nothing_else_matters<double>(64, 45);
  nothing_else_matters<double>(50, 70);
  nothing_else_matters<double>(4, 70);
  nothing_else_matters<double>(136, 70);
}

/// Rows of 32 bytes, which use non-temporal stores without a buffer if they are aligned to 16.
TEST(backends_host, short_rows_of_any_alignment) {
  SKIP_WITHOUT_HOST();
  std::int64_t const n = 500, lines = 8;
  auto const x = to_device("x", random_values<std::int32_t>(lines * n));
  auto const expected = uninitialized<std::int32_t>("expected", x.size());
  auto const scan = [&](auto const& out, auto const& backend) {
    ks::impl::scan(ks::impl::Function::inclusive_scan, Exec(), rows(x, n, lines), out, 0, ks::Sum{},
                   backend);
    Kokkos::fence();
  };
  scan(rows(expected, n, lines), TeamBackend{});
  for_each_backend([&](HostBackend const& backend) {
    for (std::int64_t offset = 0; offset <= 4; ++offset) {
      auto const y = uninitialized<std::int32_t>("y", x.size() + 4);
      scan(plane(y, offset, n, lines, lines, 1), backend);
      ASSERT_EQ(first_difference(y.data() + offset, expected.data(), expected.size()), -1)
          << "offset " << offset;
    }
  });
}

/// A result may overwrite a following element, but not before that has been loaded.
TEST(backends_host, slabs_of_narrow_rows_in_place) {
  SKIP_WITHOUT_HOST();
  using Slabs = Kokkos::View<std::int32_t***, Kokkos::LayoutRight, Device>;
  backends::Sample sample(3, 11);
  for (std::size_t const width : {2, 3, 6, 8, 12, 16, 24, 40}) {
    for (std::size_t const n : {2, 3, 5, 16, 17, 40}) {
      std::size_t const slabs = 9000 / (n * width);
      auto const values = to_device("values", random_values<std::int32_t>(slabs * n * width));
      Slabs const x(values.data(), slabs, n, width);
      Slabs const expected("expected", slabs, n, width), y("y", slabs, n, width);
      auto const scan = [&](auto function, Slabs const& in, Slabs const& out, auto direction,
                            auto const& backend) {
        auto const along =
            direction == Direction::backward ? ks::along(1).backward() : ks::along(1);
        ks::impl::scan(function, Exec(), in, out, along, ks::Sum{}, backend);
        Kokkos::fence();
      };
      for (auto const function :
           {ks::impl::Function::inclusive_scan, ks::impl::Function::exclusive_scan}) {
        for (auto const direction : directions) {
          scan(function, x, expected, direction, TeamBackend{});
          for_each_backend([&](HostBackend const& backend) {
            if (!sample.takes()) return;
            Kokkos::deep_copy(y, x);
            scan(function, y, y, direction, backend);
            ASSERT_EQ(first_difference(y.data(), expected.data(), expected.size()), -1)
                << slabs << " slabs of " << n << " x " << width << ", function "
                << static_cast<int>(function) << ", direction " << static_cast<int>(direction);
          });
        }
      }
    }
  }
}

// ---- masks, computed inputs, starting values, totals --------------------------------------------

/// The value at (i, j), which may be masked out.
struct ValueAt {
  std::int64_t columns;
  KOKKOS_FUNCTION std::int64_t operator()(std::int64_t i, std::int64_t j) const {
    return (i * columns + j) * 7919 % 1001 - 500;
  }
};

/// Rows and columns of a (rows, columns) array with a mask, and a starting value per line that is
/// overwritten by the total.
template <class Value>
void starts_totals_and_masks(std::int64_t rows, std::int64_t columns, int axis) {
  SKIP_WITHOUT_HOST();
  std::int64_t const n = axis == 0 ? rows : columns;
  std::int64_t const lines = axis == 0 ? columns : rows;
  auto const u = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  Kokkos::View<bool**, Kokkos::LayoutRight, Device> const mask("mask", u(rows), u(columns));
  Random random(9);
  for (std::int64_t i = 0; i < rows * columns; ++i) mask.data()[i] = random.below(3) != 0;
  ValueAt const value{columns};
  for_each_backend([&](HostBackend const& backend) {
    for (auto const direction : directions) {
      Kokkos::View<Value**, Kokkos::LayoutRight, Device> const out("out", u(rows), u(columns));
      Kokkos::View<Value*, Device> const ends("ends", u(lines));
      for (std::int64_t l = 0; l < lines; ++l) ends(u(l)) = static_cast<Value>(1000 * l + 1);
      auto const along = ks::along(axis).starting_at(ends).totals(ends);
      auto const x = ks::masked(ks::elementwise(out, value), mask);
      ks::impl::scan(ks::impl::Function::exclusive_scan, Exec(), x, out,
                     direction == Direction::backward ? along.backward() : along, ks::Sum{},
                     backend);
      Kokkos::fence();
      for (std::int64_t l = 0; l < lines; ++l) {
        auto prefix = static_cast<Value>(1000 * l + 1);
        for (std::int64_t step = 0; step < n; ++step) {
          std::int64_t const k = direction == Direction::backward ? n - 1 - step : step;
          auto const [i, j] = axis == 0 ? std::pair(k, l) : std::pair(l, k);
          ASSERT_EQ(out(u(i), u(j)), prefix)
              << "line " << l << " of " << lines << ", element " << k;
          if (mask(u(i), u(j))) prefix += static_cast<Value>(value(i, j));
        }
        ASSERT_EQ(ends(u(l)), prefix) << "total of line " << l;
      }
    }
  });
}

TEST(backends_host, starting_values_totals_and_masks) {
  for (int const axis : {0, 1}) {
    starts_totals_and_masks<std::int64_t>(7, 5, axis);
    starts_totals_and_masks<std::int32_t>(300, 70, axis);
    starts_totals_and_masks<std::int64_t>(5, 5000, axis);
    starts_totals_and_masks<double>(20'000, 3, axis);
    starts_totals_and_masks<float>(65, 1300, axis);  // exact: sums stay below 2^24
  }
}

/// The choice between ordinary and non-temporal stores.
struct Rows {
  std::int64_t n;
  ks::impl::Batch batch;
  ks::impl::Array<const float> input;
  ks::impl::Array<float> output;
};

TEST(backends_host, results_pass_the_caches_where_they_are_many_and_not_in_place) {
  float x = 0, y = 0;  // only their addresses matter
  const auto destination = [&](std::int64_t rows, const float* from, host::Destination wanted) {
    constexpr std::int64_t n = 1024;
    const ks::impl::Strides strides{1, {n}};
    return host::destination_of(Rows{n, {rows, 1, {rows}}, {from, strides}, {&y, strides}}, wanted);
  };
  EXPECT_EQ(destination(1025, &x, host::Destination::automatic), host::Destination::memory);
  EXPECT_EQ(destination(1024, &x, host::Destination::automatic), host::Destination::caches);
  EXPECT_EQ(destination(1025, &y, host::Destination::automatic), host::Destination::caches);
  EXPECT_EQ(destination(1025, &x, host::Destination::caches), host::Destination::caches);
  EXPECT_EQ(destination(1, &x, host::Destination::memory), host::Destination::memory);
}

// Lines of one element are copied, apart from starting values and totals.
TEST(backends_host, lines_of_one_element_have_starts_and_totals) {
  SKIP_WITHOUT_HOST();
  for (int const count : {1, 2, 3, 40, 1000}) {
    for (int const axis : {0, 1}) {
      auto const lines = static_cast<std::size_t>(count);
      auto const rows = axis == 0 ? 1 : lines, columns = axis == 0 ? lines : 1;
      Kokkos::View<float**, Kokkos::LayoutRight, Device> const x("x", rows, columns);
      for (std::size_t i = 0; i < lines; ++i) x.data()[i] = static_cast<float>(i + 2);
      for_each_backend([&](HostBackend const& backend) {
        for (auto const function :
             {ks::impl::Function::inclusive_scan, ks::impl::Function::exclusive_scan}) {
          Kokkos::View<float**, Kokkos::LayoutRight, Device> const y("y", rows, columns);
          Kokkos::View<float*, Device> const totals("totals", lines);
          Kokkos::deep_copy(y, -1);
          Kokkos::deep_copy(totals, -1);
          ks::impl::scan(function, Exec(), x, y,
                         ks::along(axis).starting_at(1000.0f).totals(totals), ks::Sum{}, backend);
          Kokkos::fence();
          for (std::size_t i = 0; i < lines; ++i) {
            float const with = 1000.0f + x.data()[i];
            ASSERT_EQ(y.data()[i], function == ks::impl::Function::inclusive_scan ? with : 1000.0f)
                << "line " << i << " of " << lines;
            ASSERT_EQ(totals(i), with) << "line " << i << " of " << lines;
          }
        }
      });
    }
  }
}

/// Masks that are applied within kernels: results have the same bits as those of an array with
/// identities in place of masked-out elements. Some values are NaN, masked out or not.
template <class T, class Op>
void masks_replace_elements(std::int64_t slabs, std::int64_t rows, std::int64_t columns, int axis) {
  SKIP_WITHOUT_HOST();
  using Box = Kokkos::View<T***, Kokkos::LayoutRight, Device>;
  auto const u = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  Kokkos::View<bool***, Kokkos::LayoutRight, Device> const mask("mask", u(slabs), u(rows),
                                                                u(columns));
  Box const x("x", u(slabs), u(rows), u(columns));
  Box const selected("selected", u(slabs), u(rows), u(columns));
  Random random(23);
  for (std::int64_t i = 0; i < slabs * rows * columns; ++i) {
    x.data()[i] = random_value<T>(random);
    if (is_float<T> && random.below(97) == 0) x.data()[i] = std::numeric_limits<T>::quiet_NaN();
    mask.data()[i] = random.below(3) != 0;
    selected.data()[i] = mask.data()[i] ? x.data()[i] : Op::identity();
  }
  std::string const what = std::to_string(slabs) + " slabs of " + std::to_string(rows) + " x " +
                           std::to_string(columns) + " along axis " + std::to_string(axis);
  for_each_backend([&](HostBackend const& backend) {
    for (auto const function :
         {ks::impl::Function::inclusive_scan, ks::impl::Function::exclusive_scan}) {
      for (auto const direction : directions) {
        auto const scan = [&](auto const& input, Box const& out, auto const& by) {
          auto const along = ks::along(axis);
          ks::impl::scan(function, Exec(), input, out,
                         direction == Direction::backward ? along.backward() : along, Op{}, by);
          Kokkos::fence();
        };
        Box const expected("expected", u(slabs), u(rows), u(columns));
        Box const out("out", u(slabs), u(rows), u(columns));
        scan(selected, expected, backend);
        if (std::is_integral_v<T> || host::minds_nan<Op>) {  // associative to the bit
          scan(selected, out, TeamBackend{});
          ASSERT_EQ(first_difference(out.data(), expected.data(), out.size()), -1)
              << what << " without a mask";
        }
        scan(ks::masked(x, mask), out, backend);
        ASSERT_EQ(first_difference(out.data(), expected.data(), out.size()), -1) << what;
        Kokkos::deep_copy(out, x);
        scan(ks::masked(out, mask), out, backend);
        ASSERT_EQ(first_difference(out.data(), expected.data(), out.size()), -1)
            << what << " in place";
      }
    }
  });
}

TEST(backends_host, masks_replace_elements) {
  for (int const axis : {1, 2}) {
    masks_replace_elements<float, ks::Sum<float>>(1, 37, 300, axis);
    masks_replace_elements<float, ks::Min<float>>(1, 300, 272, axis);
    masks_replace_elements<double, ks::Max<double>>(1, 40, 2100, axis);
    masks_replace_elements<float, ks::Max<float>>(1, 500, 8, axis);
    masks_replace_elements<std::int64_t, ks::Prod<std::int64_t>>(1, 2100, 70, axis);
    // Several slabs of wide rows.
    masks_replace_elements<double, ks::Min<double>>(31, 3, 45, axis);
    masks_replace_elements<float, ks::Sum<float>>(6, 9, 1100, axis);
  }
}

// ---- integers of 1 and 2 bytes ------------------------------------------------------------------

/// B(0) ... B(n) of (rows, columns) values, most of which overflow T, with a mask and starting
/// values that overflow as well.
template <class T, class Op>
void values_are_converted_first(std::int64_t rows, std::int64_t columns, int axis) {
  SKIP_WITHOUT_HOST();
  std::int64_t const n = axis == 0 ? rows : columns;
  std::int64_t const lines = axis == 0 ? columns : rows;
  auto const u = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  Kokkos::View<bool**, Kokkos::LayoutRight, Device> const mask("mask", u(rows), u(columns));
  Random random(19);
  for (std::int64_t i = 0; i < rows * columns; ++i) mask.data()[i] = random.below(7) != 0;
  Kokkos::View<T**, Kokkos::LayoutRight, Device> const out("out", u(rows + (axis == 0 ? 1 : 0)),
                                                           u(columns + (axis == 1 ? 1 : 0)));
  Kokkos::View<T*, Device> const ends("ends", u(lines));
  Kokkos::View<std::int32_t*, Device> const starts("starts", u(lines));
  for (std::int64_t l = 0; l < lines; ++l) starts(u(l)) = static_cast<std::int32_t>(7919 * l - 99);
  ValueAt const value{columns};
  auto const expect_prefixes = [&](bool is_masked, auto const& start_of) {
    for (std::int64_t l = 0; l < lines; ++l) {
      auto prefix = static_cast<T>(start_of(l));
      for (std::int64_t k = 0; k <= n; ++k) {
        auto const [i, j] = axis == 0 ? std::pair(k, l) : std::pair(l, k);
        ASSERT_EQ(out(u(i), u(j)), prefix) << "line " << l << " of " << lines << ", element " << k;
        if (k == n || (is_masked && !mask(u(i), u(j)))) continue;
        prefix = Op{}(prefix, static_cast<T>(value(i, j)));
      }
      ASSERT_EQ(ends(u(l)), prefix) << "total of line " << l;
    }
  };
  for_each_backend([&](HostBackend const& backend) {
    auto const scan = [&](auto const& x, auto const& along) {
      ks::impl::scan(ks::impl::Function::exclusive_scan, Exec(), x, out, along.totals(ends), Op{},
                     backend);
      Kokkos::fence();
    };
    auto const values = ks::elementwise(mask, value);
    scan(values, ks::along(axis).starting_at(starts));
    expect_prefixes(false, [&](std::int64_t l) { return starts(u(l)); });
    scan(ks::masked(values, mask), ks::along(axis).starting_at(70'001));
    expect_prefixes(true, [](std::int64_t) { return 70'001; });
    scan(values, ks::along(axis));
    expect_prefixes(false, [](std::int64_t) { return Op::identity(); });
  });
}

TEST(backends_host, values_become_narrow_before_they_combine) {
  for (int const axis : {0, 1}) {
    values_are_converted_first<std::int8_t, ks::Sum<std::int8_t>>(300, 70, axis);
    values_are_converted_first<std::uint8_t, ks::Max<std::uint8_t>>(7, 5, axis);
    values_are_converted_first<std::int8_t, ks::Min<std::int8_t>>(65, 5000, axis);
    values_are_converted_first<std::uint16_t, ks::Prod<std::uint16_t>>(2000, 3, axis);
  }
}

/// Results and totals of a wider type than the accumulator.
TEST(backends_host, narrow_sums_wrap_before_they_are_stored) {
  SKIP_WITHOUT_HOST();
  std::size_t const n = 100;
  Kokkos::View<std::int8_t*, Device> const x("x", n);
  Kokkos::View<std::int32_t*, Device> const y("y", n);
  Kokkos::View<std::int8_t*, Device> const narrow("narrow", n);
  Kokkos::View<std::int32_t, Device> const total("total");
  for (std::size_t i = 0; i < n; ++i) x(i) = static_cast<std::int8_t>(100 - i);
  for (bool const stores_narrow : {false, true}) {
    auto const lines = ks::along(0).totals(total);
    if (stores_narrow) {
      ks::inclusive_scan(Exec(), x, narrow, lines, ks::Sum<std::int8_t>{});
    } else {
      ks::inclusive_scan(Exec(), x, y, lines, ks::Sum<std::int8_t>{});
    }
    Kokkos::fence();
    std::int8_t sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      sum = static_cast<std::int8_t>(sum + x(i));
      ASSERT_EQ(stores_narrow ? narrow(i) : y(i), sum) << "element " << i;
    }
    ASSERT_EQ(total(), sum);
  }
}

}  // namespace backends_host
}  // namespace test

#endif
