// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Scans inside a kernel, at every level, for teams of many sizes: each result, how often each is
// stored, and the order in which values combine.

#include "team.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace test {
namespace {

using Policy = Kokkos::TeamPolicy<Exec>;

std::vector<int> const team_sizes{1, 2, 3, 5, 7, 8, 32, 33, 64, 96, 256};
std::vector<int> const vector_lengths{1, 2, 4, 8, 32};
std::vector<int> const every_length{0,   1,   2,    3,    5,    31,   32,   33,   63,   64,  65,
                                    72,  95,  96,   97,   127,  128,  129,  255,  256,  257, 511,
                                    777, 999, 1000, 1023, 1024, 1025, 2049, 4095, 4097, 5000};
std::vector<int> const few_lengths{0, 1, 3, 32, 65, 128, 1025, 5000};

/// Calls test(policy) for teams of each size and vector length that the space has.
template <class Kernel, class Test>
void for_each_team(int league, Kernel const& kernel, Test const& test) {
  int const longest = Policy::vector_length_max();
  for (int const vector_length : vector_lengths) {
    if (vector_length > longest && vector_length > 1) continue;
    Policy const smallest(league, 1, vector_length);
    int const most = smallest.team_size_max(kernel, Kokkos::ParallelForTag{});
    std::vector<int> sizes;
    for (int const size : team_sizes) {
      if (size < most) sizes.push_back(size);
    }
    sizes.push_back(most);
    for (int const size : sizes) {
      Policy policy(league, size, vector_length);
      policy.set_scratch_size(
          0, Kokkos::PerTeam(ks::team::scratch_bytes<Interval, Exec>(size, vector_length)));
      test(policy,
           "teams of " + std::to_string(size) + ", vectors of " + std::to_string(vector_length));
    }
  }
}

template <class Level, Form form, bool has_start, bool has_mask, Order order>
void check_intervals(std::vector<int> const& lengths) {
  using Kernel = ScanIntervals<Level, form, has_start, has_mask, order>;
  int const league = 2;
  for_each_team(league, Kernel{}, [&](Policy const& policy, std::string const& teams) {
    int const lines = Level::is_of_thread ? league * policy.team_size() : league;
    Kokkos::View<std::uint32_t[2], Device> const faults("faults");
    for (int const n : lengths) {
      for (bool const is_backward : {false, true}) {
        int const begin = n % 4 == 1 ? 0 : 7;
        Kokkos::View<std::uint32_t*, Device> const calls("calls", lines * (n + 1));
        Kokkos::deep_copy(faults, 0u);
        Kokkos::parallel_for(
            policy,
            Kernel{n, begin, is_backward, {faults.data(), calls.data()}, faults.data() + 1});
        auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, faults);
        std::string const what = teams + ", " + std::to_string(n) + " elements from " +
                                 std::to_string(begin) + (is_backward ? " backward" : "");
        ASSERT_EQ(found(0), 0u) << what << ": wrong results or totals";
        ASSERT_EQ(found(1), 0u) << what << ": combines of values that are not neighbours";
        auto const count = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, calls);
        for (int i = 0; i < lines * (n + 1); ++i) {
          std::uint32_t const expected = i % (n + 1) < n || form == Form::exclusive ? 1 : 0;
          ASSERT_EQ(count(i), expected) << what << ": calls of element " << i;
        }
      }
    }
  });
}

template <class Level>
void check_level() {
  check_intervals<Level, Form::inclusive, false, false, Order::tree>(every_length);
  check_intervals<Level, Form::inclusive, true, false, Order::tree>(few_lengths);
  check_intervals<Level, Form::exclusive, false, false, Order::tree>(few_lengths);
  check_intervals<Level, Form::exclusive, true, false, Order::tree>(every_length);
  check_intervals<Level, Form::both, true, false, Order::tree>(few_lengths);
  check_intervals<Level, Form::inclusive, false, true, Order::tree>(few_lengths);
  check_intervals<Level, Form::exclusive, true, true, Order::tree>(few_lengths);
}
template <class Level>
void check_in_order() {
  check_intervals<Level, Form::inclusive, false, false, Order::in_order>(few_lengths);
  check_intervals<Level, Form::exclusive, true, false, Order::in_order>(few_lengths);
  check_intervals<Level, Form::both, false, true, Order::in_order>(few_lengths);
}

TEST(team, thread_range) { check_level<TeamThread>(); }
TEST(team, vector_range) { check_level<TeamVector>(); }
TEST(team, vector_range_of_a_thread) { check_level<ThreadVector>(); }
TEST(team, in_order) {
  check_in_order<TeamVector>();
  check_in_order<ThreadVector>();
}

// ---- Views --------------------------------------------------------------------------------------

/// The lines of a batch: contiguous, with a stride, and copies in scratch memory.
template <class T, class Op>
struct ScanViews {
  using Contiguous = Kokkos::View<T**, Kokkos::LayoutRight, Device>;
  using Strided = Kokkos::View<T**, Kokkos::LayoutLeft, Device>;
  using Scratch = Kokkos::View<T*, Exec::scratch_memory_space, Kokkos::MemoryUnmanaged>;

  Contiguous x, inclusive, longer;
  Strided backward, in_place;
  T start;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    int const i = member.league_rank(), n = static_cast<int>(x.extent(1));
    auto const line = [&](auto const& view) { return Kokkos::subview(view, i, Kokkos::ALL); };
    Scratch const copy(member.team_scratch(0), n);
    ks::team::inclusive_scan(Kokkos::TeamThreadRange(member, n), line(x), copy, Op{});
    auto const y = line(inclusive);
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member, n), [&](int k) { y(k) = copy(k); });
    ks::team::inclusive_scan(member, line(x), line(backward), ks::team::backward(), Op{});
    ks::team::inclusive_scan(Kokkos::TeamVectorRange(member, n), line(in_place), line(in_place),
                             ks::team::starting_at(start), Op{});
    // The last n elements are the input.
    auto const all = line(longer);
    ks::team::exclusive_scan(member, Kokkos::subview(all, Kokkos::pair<int, int>(1, n + 1)), all,
                             ks::team::starting_at(start), Op{});
  }
};

template <class T, class Op, class Make>
void check_views(Make const& make) {
  using Kernel = ScanViews<T, Op>;
  for (int const n : {1, 31, 72, 128, 300, 1025, 3000}) {
    int const lines = 3;
    if (n * sizeof(T) > 28000) continue;  // what fits into scratch memory everywhere
    Kernel kernel{typename Kernel::Contiguous("x", lines, n),
                  typename Kernel::Contiguous("inclusive", lines, n),
                  typename Kernel::Contiguous("longer", lines, n + 1),
                  typename Kernel::Strided("backward", lines, n),
                  typename Kernel::Strided("in place", lines, n),
                  make(1, 1)};
    auto const x = Kokkos::create_mirror(kernel.x);
    auto const longer = Kokkos::create_mirror(kernel.longer);
    auto const in_place = Kokkos::create_mirror(kernel.in_place);
    for (int i = 0; i < lines; ++i) {
      for (int k = 0; k < n; ++k) x(i, k) = longer(i, k + 1) = in_place(i, k) = make(i, k);
    }
    for_each_team(lines, kernel, [&](Policy policy, std::string const& teams) {
      Kokkos::deep_copy(kernel.x, x);
      Kokkos::deep_copy(kernel.longer, longer);
      Kokkos::deep_copy(kernel.in_place, in_place);
      auto const bytes = ks::team::scratch_bytes<T>(policy) + Kernel::Scratch::shmem_size(n);
      policy.set_scratch_size(0, Kokkos::PerTeam(bytes));
      Kokkos::parallel_for(policy, kernel);
      auto const host = [](auto const& view) {
        return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, view);
      };
      auto const inclusive = host(kernel.inclusive), with_total = host(kernel.longer);
      auto const backward = host(kernel.backward), started = host(kernel.in_place);
      Op const op;
      for (int i = 0; i < lines; ++i) {
        T sum = x(i, 0), from_start = op(kernel.start, x(i, 0)), back = x(i, n - 1);
        ASSERT_EQ(with_total(i, 0), kernel.start) << teams << ", " << n;
        for (int k = 0; k < n; ++k) {
          if (k > 0) {
            sum = op(sum, x(i, k));
            from_start = op(from_start, x(i, k));
          }
          ASSERT_EQ(inclusive(i, k), sum) << teams << ", " << n << " elements, " << k;
          ASSERT_EQ(started(i, k), from_start) << teams << ", " << n << " elements, " << k;
          ASSERT_EQ(with_total(i, k + 1), from_start) << teams << ", " << n << " elements, " << k;
        }
        for (int k = n - 1; k >= 0; --k) {
          if (k < n - 1) back = op(back, x(i, k));
          ASSERT_EQ(backward(i, k), back) << teams << ", " << n << " elements, " << k;
        }
      }
    });
  }
}

/// Equal if all bits are.
struct BigStruct {
  std::uint32_t words[15];

  KOKKOS_FUNCTION friend bool operator==(BigStruct const& a, BigStruct const& b) {
    for (int w = 0; w < 15; ++w) {
      if (a.words[w] != b.words[w]) return false;
    }
    return true;
  }
};
/// Not commutative, and without an identity: each word is a Heisenberg matrix with its neighbours.
struct CombineBig {
  KOKKOS_FUNCTION BigStruct operator()(BigStruct const& a, BigStruct const& b) const {
    BigStruct c{};
    for (int w = 0; w < 15; w += 3) {
      c.words[w] = a.words[w] + b.words[w];
      c.words[w + 1] = a.words[w + 1] + b.words[w + 1];
      c.words[w + 2] = a.words[w + 2] + b.words[w + 2] + a.words[w] * b.words[w + 1];
    }
    return c;
  }
};

int small(int i, int k) { return (i * 31 + k * 17) % 23 - 7; }
double small_double(int i, int k) { return small(i, k); }
short small_short(int i, int k) { return static_cast<short>(small(i, k)); }
BigStruct big(int i, int k) {
  BigStruct value{};
  for (int w = 0; w < 15; ++w) value.words[w] = static_cast<std::uint32_t>(small(i + w, k));
  return value;
}

TEST(team, views_of_numbers) {
  check_views<double, ks::Sum<double>>(small_double);
  check_views<int, ks::Max<int>>(small);
  check_views<short, ks::Sum<short>>(small_short);
}
TEST(team, views_of_structs) { check_views<BigStruct, CombineBig>(big); }

// ---- Bits ---------------------------------------------------------------------------------------

using Doubles = Kokkos::View<double*, Device>;
using Floats = Kokkos::View<float*, Device>;

/// One line of random values: by the tree twice, in order, and a recurrence in order.
struct ScanBits {
  Doubles x, once, again, exclusive, in_order, h;
  Floats single, single_sums;
  Kokkos::View<double[4], Device> totals;

  template <class Member>
  KOKKOS_FUNCTION void operator()(Member const& member) const {
    int const n = static_cast<int>(x.extent(0));
    auto const range = Kokkos::TeamVectorRange(member, n);
    double const total = ks::team::inclusive_scan(range, x, once);
    ks::team::inclusive_scan(range, x, again);
    double const same = ks::team::exclusive_scan(range, x, exclusive, ks::team::with_total());
    double const looped = ks::team::inclusive_scan(range, x, in_order, ks::team::in_order());
    double const last =
        ks::team::linear_recurrence(range, 0.75, x, h, ks::team::starting_at(2.0).in_order());
    ks::team::inclusive_scan(range, single, single_sums);
    Kokkos::single(Kokkos::PerTeam(member), [&]() {
      totals(0) = total;
      totals(1) = same;
      totals(2) = looped;
      totals(3) = last;
    });
  }
};

TEST(team, bits) {
  for (int const n : {1, 72, 128, 1000, 5000}) {
    ScanBits kernel{Doubles("x", n),
                    Doubles("once", n),
                    Doubles("again", n),
                    Doubles("exclusive", n + 1),
                    Doubles("in order", n),
                    Doubles("h", n),
                    Floats("single", n),
                    Floats("single sums", n),
                    {}};
    kernel.totals = Kokkos::View<double[4], Device>("totals");
    auto const x = Kokkos::create_mirror_view(kernel.x);
    auto const single = Kokkos::create_mirror_view(kernel.single);
    std::uint32_t state = 1;
    for (int k = 0; k < n; ++k) {
      state = state * 1664525u + 1013904223u;
      x(k) = state / 4294967296.0;
      single(k) = static_cast<float>(x(k));
    }
    Kokkos::deep_copy(kernel.x, x);
    Kokkos::deep_copy(kernel.single, single);
    for_each_team(1, kernel, [&](Policy policy, std::string const& teams) {
      auto const bytes = ks::team::scratch_bytes<ks::AffineMap<double>>(policy);
      policy.set_scratch_size(0, Kokkos::PerTeam(bytes));
      Kokkos::parallel_for(policy, kernel);
      auto const host = [](auto const& view) {
        return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, view);
      };
      auto const once = host(kernel.once), again = host(kernel.again), h = host(kernel.h);
      auto const exclusive = host(kernel.exclusive), in_order = host(kernel.in_order);
      auto const totals = host(kernel.totals);
      auto const single_sums = host(kernel.single_sums);
      double sum = 0, of_single = 0, state_of_loop = 2;
      for (int k = 0; k < n; ++k) {
        sum = k == 0 ? x(0) : sum + x(k);
        of_single += single(k);
        state_of_loop = ks::impl::multiply_add(0.75, state_of_loop, double(x(k)));
        ASSERT_EQ(in_order(k), sum) << teams << ", " << n << " elements, " << k;
        ASSERT_NEAR(h(k), state_of_loop, 1e-14 * state_of_loop) << teams << ", " << k;
        ASSERT_EQ(once(k), again(k)) << teams << ", " << n << " elements, " << k;
        ASSERT_EQ(once(k), exclusive(k + 1)) << teams << ", " << n << " elements, " << k;
        ASSERT_NEAR(once(k), sum, 1e-13 * sum) << teams << ", " << n << " elements, " << k;
        ASSERT_NEAR(single_sums(k), of_single, 4.8e-7 * of_single) << teams << ", " << k;
      }
      ASSERT_EQ(exclusive(0), 0.0);
      ASSERT_EQ(totals(0), once(n - 1));
      ASSERT_EQ(totals(1), once(n - 1));
      ASSERT_EQ(totals(2), in_order(n - 1));
      ASSERT_EQ(totals(3), h(n - 1));
    });
  }
}

}  // namespace
}  // namespace test
