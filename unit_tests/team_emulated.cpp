// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Scans by the warps of a team, on emulated warps: teams of up to 1024 threads, and vectors of up
// to 32 lanes.

#include <Kokkos_Core.hpp>

// A build for GPUs tests the warps themselves.
#if !defined(KOKKOS_ENABLE_CUDA) && !defined(KOKKOS_ENABLE_HIP)

#include "support/emulated_cuda.hpp"

// The tests that it emulates.
#include "team.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace test {
namespace {

namespace team_range = ks::impl::team_range;

/// Lanes of an emulated warp. All its lanes take part, as parts of it do the same.
template <bool is_whole>
struct EmulatedLanes {
  static constexpr bool is_whole_warp = is_whole;
  int lane, count, first;

  template <class T>
  T of(T const& value, int source) const {
    team_range::Words<T> words(value);
    for (unsigned& word : words.word) word = __shfl_sync(~0u, word, first + source);
    T result = value;
    words.get(result);
    return result;
  }
  template <class T>
  T up(T const& value, int distance) const {
    team_range::Words<T> words(value);
    for (unsigned& word : words.word) word = __shfl_up_sync(~0u, word, distance);
    T result = value;
    words.get(result);
    return result;
  }
};
struct EmulatedBarrier {
  void barrier() const { __syncthreads(); }
};
/// Scans a range by the threads of a block, or by each of its vectors.
template <class Work, class Lanes>
Interval scan_by(Work const& work, Lanes const& lanes, int threads, int vector_length,
                 Interval* scratch) {
  if (vector_length > 0) return team_range::scan_by_lanes(work, lanes);
  int const warps = threads < 32 ? 1 : threads / 32;
  return team_range::scan_by_team_of_warps(
      work,
      team_range::Warps<Lanes, EmulatedBarrier>{
          lanes, static_cast<int>(threadIdx.x) / 32, warps, threads, {}},
      scratch);
}
template <class Work>
Interval scan(Work const& work, int threads, int vector_length, Interval* scratch) {
  int const thread = static_cast<int>(threadIdx.x);
  int const width = vector_length > 0 ? vector_length : threads;
  if (width >= 32) {
    return scan_by(work, EmulatedLanes<true>{thread % 32, 32, 0}, threads, vector_length, scratch);
  }
  return scan_by(work, EmulatedLanes<false>{thread % width, width, thread / width * width % 32},
                 threads, vector_length, scratch);
}

/// \param vector_length 0: all threads scan a line together; else each vector has a line
template <Form form, bool has_start, bool has_mask, Order order>
void check(int threads, int vector_length, std::vector<int> const& lengths) {
  using Result = team_range::Result;
  constexpr Result result = form == Form::inclusive   ? Result::inclusive
                            : form == Form::exclusive ? Result::exclusive
                                                      : Result::both;
  using Op = std::conditional_t<has_mask || (!has_start && form != Form::inclusive), JoinAscending,
                                JoinIntervals>;
  using C = team_range::Combining<Interval, Op, order == Order::in_order>;
  using Start = std::conditional_t<has_start, Interval, ks::None>;
  using X = std::conditional_t<has_mask, ks::Masked<IntervalLine, KeptPlaces>, IntervalLine>;
  int const lines = vector_length == 0 ? 1 : threads / vector_length;
  for (int const n : lengths) {
    for (bool const is_backward : {false, true}) {
      std::string const what = std::to_string(threads) + " threads, vectors of " +
                               std::to_string(vector_length) + ", " + std::to_string(n) +
                               " elements" + (is_backward ? " backward" : "");
      std::uint32_t faults[2] = {0, 0};
      std::vector<std::uint32_t> calls(static_cast<std::size_t>(lines * (n + 1)));
      std::vector<std::byte> scratch(64 * sizeof(Interval), std::byte{0xA5});
      Checks const checks{faults, calls.data()};
      blockDim.x = static_cast<unsigned>(threads);
      std::function<void()> const body = [&] {
        int const thread = static_cast<int>(threadIdx.x);
        int const number = vector_length == 0 ? 0 : thread / vector_length;
        IntervalLine const line{7,           n,
                                is_backward, has_start,
                                has_mask,    17u + 10007u * static_cast<std::uint32_t>(number)};
        CheckResults<form> const y{line, checks, number * (n + 1)};
        X const x = [&] {
          if constexpr (has_mask) {
            return ks::masked(line, KeptPlaces{line});
          } else {
            return line;
          }
        }();
        Start const start = [&] {
          if constexpr (has_start) {
            return line.start();
          } else {
            return ks::None{};
          }
        }();
        team_range::Work<C, result, X, CheckResults<form>, Start, int> const work{
            x,
            y,
            C{Op{faults + 1}},
            start,
            is_backward ? ks::Direction::backward : ks::Direction::forward,
            form == Form::exclusive ? ks::impl::Extra::last : ks::impl::Extra::none,
            7,
            n};
        Interval const total =
            scan(work, threads, vector_length, reinterpret_cast<Interval*>(scratch.data()));
        if (n > 0 || has_start) checks.expect(total, line.fold(n));
      };
      emulated::Block(threads, body);
      ASSERT_EQ(faults[0], 0u) << what << ": wrong results or totals";
      ASSERT_EQ(faults[1], 0u) << what << ": combines of values that are not neighbours";
      for (std::size_t i = 0; i < calls.size(); ++i) {
        bool const is_extra = static_cast<int>(i) % (n + 1) == n;
        ASSERT_EQ(calls[i], is_extra && form != Form::exclusive ? 0u : 1u) << what << ", " << i;
      }
    }
  }
}

std::vector<int> const lengths{0, 1, 2, 31, 32, 33, 72, 128, 129, 777, 1025, 5000};

void check_all(int threads, int vector_length) {
  check<Form::inclusive, false, false, Order::tree>(threads, vector_length, lengths);
  check<Form::exclusive, true, false, Order::tree>(threads, vector_length, lengths);
  check<Form::both, false, true, Order::tree>(threads, vector_length, {0, 1, 72, 1025});
  check<Form::inclusive, false, false, Order::in_order>(threads, vector_length, {0, 1, 33, 300});
  check<Form::both, true, true, Order::in_order>(threads, vector_length, {0, 1, 33, 300});
}

TEST(team_emulated, warps) {
  for (int const threads : {1, 2, 3, 5, 7, 8, 20, 32, 33, 40, 64, 66, 96, 224, 256, 1024}) {
    check_all(threads, 0);
  }
}
TEST(team_emulated, vectors) {
  for (int const vector_length : {1, 2, 4, 8, 32}) check_all(64, vector_length);
}

}  // namespace
}  // namespace test

#endif
