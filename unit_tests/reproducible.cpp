// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The same line gives the same bits in every run, whatever other lines there are, at any address.
// Regression classes: K operand order with reverse (triton #2359, #4362), L determinism
// (pytorch #75240, #180150).

#include <gtest/gtest.h>

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <vector>

#include "support/flat.hpp"
#include "support/types.hpp"
#include "support/values.hpp"

namespace test {

/// t -> slope * t + offset in floats: rounds, and does not commute.
struct FloatAffine {
  float slope, offset;
};

struct ComposeFloatAffine {
  KOKKOS_FUNCTION FloatAffine operator()(FloatAffine const& f, FloatAffine const& g) const {
    return {ks::impl::multiply(g.slope, f.slope),
            ks::impl::add(ks::impl::multiply(g.slope, f.offset), g.offset)};
  }
  KOKKOS_FUNCTION static FloatAffine identity() { return {1, 0}; }
};

template <>
inline FloatAffine random_value<FloatAffine>(Random& random, Data) {
  float const slope = random_value<float>(random, Data::near_one);
  return {slope, random_value<float>(random)};
}

namespace reproducible {

template <class T>
std::vector<T> random_values(std::int64_t size, std::uint64_t seed, Data data) {
  Random random(seed);
  std::vector<T> values(static_cast<std::size_t>(size));
  for (T& value : values) value = random_value<T>(random, data);
  return values;
}

// Each case is a type, an operator, and data whose results depend on the order of combination.
struct SumFloat {
  using Value = float;
  using Op = ks::Sum<>;
  static constexpr Data data = Data::any;
};
struct ProdFloat {
  using Value = float;
  using Op = ks::Prod<>;
  static constexpr Data data = Data::near_one;
};
struct SumDouble {
  using Value = double;
  using Op = ks::Sum<>;
  static constexpr Data data = Data::any;
};
struct Affinities {
  using Value = FloatAffine;
  using Op = ComposeFloatAffine;
  static constexpr Data data = Data::any;
};

template <class Case>
Job<typename Case::Value> job(std::int64_t lines, std::int64_t n, std::uint64_t seed = 1) {
  return {random_values<typename Case::Value>(lines * n, seed, Case::data), lines, n};
}

template <class Case>
Job<typename Case::Value> lines_of(Job<typename Case::Value> const& all, std::int64_t first,
                                   std::int64_t count) {
  auto some = all;
  some.lines = count;
  some.values.assign(all.values.begin() + first * all.n,
                     all.values.begin() + (first + count) * all.n);
  return some;
}

template <class Case>
void ten_runs_are_equal(std::int64_t lines, std::int64_t n) {
  auto const all = job<Case>(lines, n);
  auto const first = run(all, typename Case::Op{});
  for (int repetition = 1; repetition < 10; ++repetition) {
    ASSERT_TRUE(run(all, typename Case::Op{}) == first)
        << lines << " lines of " << n << ", repetition " << repetition;
  }
}

TEST(reproducible, ten_runs_are_bitwise_equal) {
  ten_runs_are_equal<SumFloat>(1, 1'000'003);
  ten_runs_are_equal<SumFloat>(2, 300'007);
  ten_runs_are_equal<SumFloat>(600, 1001);
  ten_runs_are_equal<SumFloat>(30'011, 17);
  ten_runs_are_equal<SumDouble>(1, 500'009);
  ten_runs_are_equal<ProdFloat>(1, 500'009);
  ten_runs_are_equal<Affinities>(1, 300'007);
  ten_runs_are_equal<Affinities>(500, 700);
}

template <class Case>
void forced_runs_are_equal(std::int64_t lines, std::int64_t n) {
  auto const all = job<Case>(lines, n);
  auto const reference = run(all, typename Case::Op{}, TeamBackend{});
  for (Regime const regime : forced_regimes) {
    for (int repetition = 0; repetition < 3; ++repetition) {
      ASSERT_TRUE(run(all, typename Case::Op{}, forced(regime)) == reference)
          << lines << " lines of " << n << ", " << to_text(regime);
    }
  }
}

TEST(reproducible, every_regime_gives_the_same_bits) {
  for (std::int64_t const n : {1, 2, 127, 128, 129, 1000, 16383, 16384, 16385, 50257, 100'003}) {
    forced_runs_are_equal<SumFloat>(3, n);
    forced_runs_are_equal<Affinities>(2, n);
  }
  forced_runs_are_equal<SumDouble>(2, 50257);
  forced_runs_are_equal<ProdFloat>(2, 50257);
  forced_runs_are_equal<SumFloat>(3000, 37);
}

template <class Case>
void permuted_lines_give_permuted_results(std::int64_t lines, std::int64_t n) {
  auto const all = job<Case>(lines, n);
  std::vector<std::int64_t> order(static_cast<std::size_t>(lines));
  std::iota(order.begin(), order.end(), 0);
  Random random(7);
  for (std::int64_t i = lines - 1; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
  auto permuted = all;
  for (std::int64_t l = 0; l < lines; ++l) {
    std::copy_n(all.values.begin() + order[l] * n, n, permuted.values.begin() + l * n);
  }
  auto const a = run(all, typename Case::Op{});
  auto const b = run(permuted, typename Case::Op{});
  for (std::int64_t l = 0; l < lines; ++l) {
    ASSERT_EQ(first_difference(b.line(l), a.line(order[l]), n), -1)
        << "line " << l << " of " << lines << ", n " << n;
    ASSERT_EQ(first_difference(&b.totals[l], &a.totals[order[l]], 1), -1);
  }
}

TEST(reproducible, permuting_the_lines_permutes_the_results) {
  permuted_lines_give_permuted_results<SumFloat>(1000, 333);
  permuted_lines_give_permuted_results<SumFloat>(5, 50257);
  permuted_lines_give_permuted_results<Affinities>(300, 1025);
  permuted_lines_give_permuted_results<ProdFloat>(70'000, 5);
}

/// A single line uses another regime than the same line among a million. As strides differ then,
/// placements other than rows are compared on one backend only.
template <class Case, class Backend = Automatic>
void line_alone_is_line_among_many(std::int64_t lines, std::int64_t n,
                                   Placement placement = Placement::rows,
                                   Backend const& backend = {}) {
  auto all = job<Case>(lines, n);
  all.placement = placement;
  auto const among = run(all, typename Case::Op{}, backend);
  for (std::int64_t const l :
       {std::int64_t(0), std::int64_t(1), lines / 3, lines / 2 + 1, lines - 2, lines - 1}) {
    for (std::int64_t const count : {1, 2, 33}) {
      if (l + count > lines) continue;
      auto const alone = run(lines_of<Case>(all, l, count), typename Case::Op{}, backend);
      ASSERT_EQ(first_difference(alone.line(0), among.line(l), count * n), -1)
          << count << " lines from " << l << " of " << lines << ", n " << n;
      ASSERT_EQ(first_difference(&alone.totals[0], &among.totals[l], count), -1);
    }
  }
}

TEST(reproducible, one_line_alone_equals_the_same_line_among_a_million) {
  line_alone_is_line_among_many<SumFloat>(1'000'000, 5);
  line_alone_is_line_among_many<SumFloat>(20'000, 300);
  line_alone_is_line_among_many<SumFloat>(2000, 1030);
  line_alone_is_line_among_many<SumFloat>(2000, 1030, Placement::columns, TeamBackend{});
  line_alone_is_line_among_many<SumFloat>(90, 40'000);
  line_alone_is_line_among_many<SumDouble>(40, 33'000);
  line_alone_is_line_among_many<ProdFloat>(90, 20'000);
  line_alone_is_line_among_many<Affinities>(100'000, 9);
  line_alone_is_line_among_many<Affinities>(64, 33'000);
}

/// B(k), the fold of the first k elements, is one expression: inclusive[k] = B(k+1),
/// exclusive[k] = B(k), total = B(n).
template <class Case, class Backend>
void prefix_is_one_expression(std::int64_t n, Direction direction, Backend const& backend) {
  auto all = job<Case>(2, n);
  all.direction = direction;
  auto const inclusive = run(all, typename Case::Op{}, backend);
  all.form = Form::exclusive;
  auto const exclusive = run(all, typename Case::Op{}, backend);
  all.form = Form::exclusive_with_total;
  auto const both = run(all, typename Case::Op{}, backend);
  bool const forward = direction == Direction::forward;
  for (std::int64_t l = 0; l < 2; ++l) {
    // In memory, a backward scan begins at the end.
    auto const* const i = inclusive.line(l);
    auto const* const e = exclusive.line(l);
    auto const* const b = both.line(l);
    SCOPED_TRACE(::testing::Message()
                 << "n " << n << ", line " << l << (forward ? ", forward" : ", backward"));
    ASSERT_EQ(first_difference(e + (forward ? 1 : 0), i + (forward ? 0 : 1), n - 1), -1);
    ASSERT_EQ(first_difference(b + (forward ? 1 : 0), i, n), -1);
    ASSERT_EQ(first_difference(b + (forward ? 0 : 1), e, n), -1);
    auto const* const total = &inclusive.totals[l];
    ASSERT_EQ(first_difference(total, i + (forward ? n - 1 : 0), 1), -1);
    ASSERT_EQ(first_difference(total, &exclusive.totals[l], 1), -1);
    ASSERT_EQ(first_difference(total, &both.totals[l], 1), -1);
    ASSERT_EQ(first_difference(total, b + (forward ? n : 0), 1), -1);
  }
}

template <class Case>
void prefixes_are_one_expression() {
  for (std::int64_t const n : {1, 2, 31, 127, 128, 129, 257, 4097, 16383, 16384, 16385, 32769}) {
    for (auto const direction : {Direction::forward, Direction::backward}) {
      prefix_is_one_expression<Case>(n, direction, Automatic{});
      for (Regime const regime : forced_regimes) {
        prefix_is_one_expression<Case>(n, direction, forced(regime));
      }
    }
  }
}

TEST(reproducible, inclusive_exclusive_and_totals_agree_bitwise) {
  prefixes_are_one_expression<SumFloat>();
  prefixes_are_one_expression<Affinities>();
  prefix_is_one_expression<SumFloat>(700'001, Direction::forward, Automatic{});
}

template <class Case>
void backward_is_flip_scan_flip(std::int64_t lines, std::int64_t n, Form form) {
  auto all = job<Case>(lines, n);
  all.form = form;
  auto flipped = all;
  for (std::int64_t l = 0; l < lines; ++l) {
    std::reverse(flipped.values.begin() + l * n, flipped.values.begin() + (l + 1) * n);
  }
  all.direction = Direction::backward;
  auto const backward = run(all, typename Case::Op{});
  auto forward = run(flipped, typename Case::Op{});
  for (std::int64_t l = 0; l < lines; ++l) {
    std::reverse(forward.out.begin() + l * forward.extent,
                 forward.out.begin() + (l + 1) * forward.extent);
  }
  ASSERT_TRUE(backward == forward) << lines << " lines of " << n << ", first difference at "
                                   << first_difference(backward.out, forward.out);
}

template <class Case>
void backwards_are_flip_scan_flip(std::int64_t lines, std::int64_t n) {
  backward_is_flip_scan_flip<Case>(lines, n, Form::inclusive);
  backward_is_flip_scan_flip<Case>(lines, n, Form::exclusive);
  backward_is_flip_scan_flip<Case>(lines, n, Form::exclusive_with_total);
}

// K: operand order with reverse (triton #2359, #4362).
TEST(reproducible, backward_equals_flip_scan_flip) {
  for (std::int64_t const n : {1, 2, 127, 128, 129, 130, 1000, 16383, 16385, 50257}) {
    backwards_are_flip_scan_flip<SumFloat>(3, n);
    backwards_are_flip_scan_flip<Affinities>(3, n);
  }
  backwards_are_flip_scan_flip<SumFloat>(1, 600'011);
  backwards_are_flip_scan_flip<ProdFloat>(3000, 45);
}

// An additional guarantee of the generic backend: its tree depends neither on the length of a line
// nor on strides.

template <class Case>
void longer_line_begins_as_shorter(std::int64_t longer, std::int64_t shorter) {
  auto const all = job<Case>(1, longer);
  auto const part =
      Job<typename Case::Value>{{all.values.begin(), all.values.begin() + shorter}, 1, shorter};
  auto const a = run(all, typename Case::Op{}, TeamBackend{});
  auto const b = run(part, typename Case::Op{}, TeamBackend{});
  ASSERT_EQ(first_difference(a.line(0), b.line(0), shorter), -1)
      << "first " << shorter << " of " << longer;
}

TEST(reproducible, the_length_of_a_line_does_not_change_its_beginning) {
  for (std::int64_t const shorter : {1, 5, 128, 200, 1000, 16384, 16400, 100'000, 500'000}) {
    longer_line_begins_as_shorter<SumFloat>(1'000'000, shorter);
  }
  longer_line_begins_as_shorter<Affinities>(300'000, 20'000);
}

template <class Case, class Backend>
void placements_agree(Job<typename Case::Value> all, std::initializer_list<Placement> placements,
                      Backend const& backend) {
  auto const reference = run(all, typename Case::Op{}, backend);
  for (auto const placement : placements) {
    all.placement = placement;
    ASSERT_TRUE(run(all, typename Case::Op{}, backend) == reference)
        << all.lines << " lines of " << all.n << ", placement " << static_cast<int>(placement);
  }
}

template <class Case>
void placement_does_not_matter(std::int64_t lines, std::int64_t n, Form form) {
  auto all = job<Case>(lines, n);
  all.form = form;
  placements_agree<Case>(all, {Placement::shifted, Placement::in_place}, Automatic{});
  placements_agree<Case>(all, {Placement::columns, Placement::gaps, Placement::rows_to_columns},
                         TeamBackend{});
}

TEST(reproducible, strides_and_alignment_do_not_change_the_bits) {
  for (auto const form : {Form::inclusive, Form::exclusive, Form::exclusive_with_total}) {
    placement_does_not_matter<SumFloat>(1, 400'001, form);
    placement_does_not_matter<SumFloat>(5, 20'011, form);
    placement_does_not_matter<SumFloat>(2003, 77, form);
    placement_does_not_matter<Affinities>(7, 5003, form);
  }
}

}  // namespace reproducible
}  // namespace test
