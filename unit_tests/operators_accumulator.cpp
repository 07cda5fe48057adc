// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The accumulator type. Class I: a wrong accumulator or identity.

#include "operators.hpp"

namespace test::operators {

/// A user-defined 16-bit float: the upper half of a float, rounded to nearest even.
struct Brain16 {
  std::uint16_t bits;

  Brain16() = default;
  KOKKOS_FUNCTION explicit Brain16(float value) {
    auto const wide = Kokkos::bit_cast<std::uint32_t>(value);
    bits = static_cast<std::uint16_t>((wide + 0x7FFFu + ((wide >> 16) & 1u)) >> 16);
  }
  KOKKOS_FUNCTION explicit operator float() const {
    return Kokkos::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
};

/// A sum with a user-defined accumulator type.
struct CountInInt64 {
  using accumulator_type = std::int64_t;
  KOKKOS_FUNCTION std::int64_t operator()(std::int64_t a, std::int64_t b) const { return a + b; }
  KOKKOS_FUNCTION static std::int64_t identity() { return 0; }
};

struct ExclusiveOr {
  KOKKOS_FUNCTION bool operator()(bool a, bool b) const { return a != b; }
  KOKKOS_FUNCTION static bool identity() { return false; }
};

}  // namespace test::operators

template <>
struct KokkosScan::accumulator<test::operators::Brain16> {
  using type = float;
};

namespace test::operators {

static_assert(std::is_same_v<ks::accumulator_t<Brain16>, float>);
static_assert(std::is_same_v<ks::accumulator_t<std::int8_t>, std::int8_t>);
static_assert(std::is_same_v<ks::accumulator_t<double const>, double>);
#if defined(KOKKOS_SCAN_TEST_HAS_HALF)
static_assert(std::is_same_v<ks::accumulator_t<Half>, float>);
#endif

/// Ones: a 16-bit accumulator stops at 256 (bfloat16) or 2048 (half), where x + 1 rounds to x.
template <class T>
void check_ones(float limit) {
  Array<T> const in(right({2, 9000}));
  Array<T> const out(in.shape());
  for_each_index(in.shape(), [&](Index const& index) { in.set(index, T(1.0f)); });
  in.upload();
  out.upload();
  call_inclusive(Exec{}, const_view<2>(in), view<2>(out), 1, ks::Sum{});
  out.download();
  for_each_index(in.shape(), [&](Index const& index) {
    T const expected = static_cast<T>(static_cast<float>(index[1] + 1));
    ASSERT_TRUE(oracle::same_bits(out.after(index), expected)) << index[1];
  });
  EXPECT_GT(static_cast<float>(out.after({1, 8999})), 2 * limit);
}

/// thrust #1896: an int literal as start must not change the accumulator to int, and 0.5 must not
/// be truncated to 0.
template <class In, class Out, class T>
void check_start(std::string const& what, T start) {
  check_all<In, Out, ks::Sum<>>(what, Data::any, StartValue<T>{start}, LinesStartingAt<T>{start},
                                {Form::inclusive, Form::exclusive_with_total});
}

/// Sums beyond 2^24 in float, 2^31 in int, and 2^53 in double.
template <class In, class Out, class Op = ks::Sum<>>
void check_sum(std::string const& what) {
  check_all<In, Out, Op>(what);
}

}  // namespace test::operators

using namespace test;  // NOLINT: a test file

TEST(operators, bool_to_int32) { operators::check_sum<bool, std::int32_t>("bool to int32"); }
TEST(operators, int8_to_int64) { operators::check_sum<std::int8_t, std::int64_t>("int8 to int64"); }
TEST(operators, uint8_to_uint32) {
  operators::check_sum<std::uint8_t, std::uint32_t>("uint8 to uint32");
}
TEST(operators, int16) { operators::check_sum<std::int16_t, std::int16_t>("int16"); }
TEST(operators, uint16) {
  operators::check_all<std::uint16_t, std::uint16_t, ks::Prod<>>("product of uint16");
}
TEST(operators, int64_to_int8) { operators::check_sum<std::int64_t, std::int8_t>("int64 to int8"); }
TEST(operators, float_to_double) { operators::check_sum<float, double>("float to double"); }
TEST(operators, double_to_float) { operators::check_sum<double, float>("double to float"); }
TEST(operators, int32_to_float) { operators::check_sum<std::int32_t, float>("int32 to float"); }
TEST(operators, float_in_double) {
  operators::check_sum<float, float, ks::Sum<double>>("float in double");
}
TEST(operators, int32_to_float_in_int64) {
  operators::check_sum<std::int32_t, float, operators::CountInInt64>("int32 to float in int64");
}
TEST(operators, any_and_all) {
  operators::check_all<bool, bool, ks::Max<>>("any");
  operators::check_all<bool, bool, ks::Min<>>("all");
  operators::check_all<bool, bool, operators::ExclusiveOr>("parity");
}
TEST(operators, brain16_in_float) { operators::check_ones<operators::Brain16>(256); }
#if defined(KOKKOS_SCAN_TEST_HAS_HALF)
TEST(operators, half_in_float) {
  operators::check_ones<Half>(2048);
  operators::check_all<Half, float, ks::Sum<>>("half to float");
}
#endif
TEST(operators, start_of_another_type) {
  operators::check_start<double, double>("double from an int literal", 1);
  operators::check_start<float, float>("float from 0.5", 0.5);
  operators::check_start<std::int32_t, std::int64_t>("int64 from 2^40", std::int64_t{1} << 40);
}
