// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Each macro REFUSED_... enables one call that must not compile; concepts.cmake lists them with the
// sentence that the compiler must print. Without any macro, this file compiles.

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ks = KokkosScan;

using Exec = Kokkos::DefaultExecutionSpace;
template <class T>
using View = Kokkos::View<T, Exec>;

struct Pair {
  std::uint32_t a, b;
};
/// Not constructible from a number, not even as an aggregate (in C++20, 1.0f casts to a Pair).
class Opaque {
  std::uint32_t m_bits;
};
struct JoinPairs {
  KOKKOS_FUNCTION Pair operator()(Pair const& l, Pair const& r) const { return {l.a, r.b}; }
};
struct AsPairs {
  using accumulator_type = Pair;
  KOKKOS_FUNCTION Pair operator()(Pair const& l, Pair const& r) const { return {l.a, r.b}; }
};
struct Unary {
  KOKKOS_FUNCTION float operator()(float a) const { return a; }
};
struct NotConst {
  KOKKOS_FUNCTION float operator()(float a, float b) { return a + b; }
};
struct ReturnsNothing {
  KOKKOS_FUNCTION void operator()(float, float) const {}
};
struct WithoutIdentity {
  KOKKOS_FUNCTION float operator()(float a, float b) const { return a + b; }
};
struct WithUselessIdentity {
  KOKKOS_FUNCTION float operator()(float a, float b) const { return a + b; }
  static Pair identity() { return {}; }
};
struct Copied {
  float value;
  Copied() = default;
  KOKKOS_FUNCTION Copied(Copied const& other) : value(other.value) {}
};
struct WithConstMember {
  std::int32_t const value;
};
struct AddConstMembers {
  KOKKOS_FUNCTION WithConstMember operator()(WithConstMember const& a,
                                             WithConstMember const& b) const {
    return {a.value + b.value};
  }
};
struct WithAddressOf {
  std::int32_t value;
  int operator&() const { return value; }  // NOLINT
};
struct AddWithAddressOf {
  KOKKOS_FUNCTION WithAddressOf operator()(WithAddressOf const& a, WithAddressOf const& b) const {
    return {a.value + b.value};
  }
};
struct AddCopied {
  KOKKOS_FUNCTION Copied operator()(Copied const& a, Copied const&) const { return a; }
};
struct OneIndex {
  KOKKOS_FUNCTION float operator()(std::int64_t) const { return 1; }
};
struct IsPositive {
  KOKKOS_FUNCTION bool operator()(float x) const { return x > 0; }
};
struct NoPlus {
  float value;
};
struct Affine {
  double a, b;
};
struct ComposeAffine {
  KOKKOS_FUNCTION Affine operator()(Affine const& f, Affine const& g) const {
    return {g.a * f.a, g.a * f.b + g.b};
  }
};
struct Mat2 {
  double a, b, c, d;
  friend KOKKOS_FUNCTION Mat2 operator*(Mat2 const& l, Mat2 const& r) {
    return {l.a * r.a + l.b * r.c, l.a * r.b + l.b * r.d, l.c * r.a + l.d * r.c,
            l.c * r.b + l.d * r.d};
  }
  friend KOKKOS_FUNCTION Mat2 operator+(Mat2 const& l, Mat2 const& r) {
    return {l.a + r.a, l.b + r.b, l.c + r.c, l.d + r.d};
  }
};
struct ValueAndIndex {
  double value;
  int index;
};
struct Largest {
  using accumulator_type = ValueAndIndex;
  KOKKOS_FUNCTION ValueAndIndex operator()(ValueAndIndex const& l, ValueAndIndex const& r) const {
    return l.value < r.value ? r : l;
  }
};
enum UnscopedAxis { rows, columns };
struct TwoIndices {
  KOKKOS_FUNCTION float operator()(std::int64_t, std::int64_t) const { return 1; }
};
struct OneIndexNotConst {
  KOKKOS_FUNCTION float operator()(std::int64_t) { return 1; }
};

struct Negative {
  KOKKOS_FUNCTION float operator()(float x) const { return -x; }
};
struct NegativeNotConst {
  KOKKOS_FUNCTION float operator()(float x) { return -x; }
};
struct Scaled {
  float factor;
  KOKKOS_FUNCTION float operator()(float x) const { return factor * x; }
};
struct OfPair {
  KOKKOS_FUNCTION float operator()(Pair const& x) const { return static_cast<float>(x.a); }
};
struct ToPair {
  KOKKOS_FUNCTION Pair operator()(float) const { return {}; }
};
struct UseResult {
  KOKKOS_FUNCTION void operator()(std::int64_t, std::int64_t, float) const {}
};
struct UsePair {
  KOKKOS_FUNCTION void operator()(std::int64_t, std::int64_t, Pair const&) const {}
};
struct UseNotConst {
  KOKKOS_FUNCTION void operator()(std::int64_t, std::int64_t, float) {}
};
struct UseNothing {
  KOKKOS_FUNCTION void operator()(float) const {}
};
struct SumOfTwo {
  KOKKOS_FUNCTION float operator()(float a, float b) const { return a + b; }
};

void calls() {
  Exec const exec;
  View<float**> const x("x", 3, 4);
  View<float**> const y("y", 3, 4);
  View<bool**> const mask("mask", 3, 4);
  View<float*> const line("line", 3);
  std::array<std::int64_t, 1> const extent{3};
  std::array<std::int64_t, 2> const extents{3, 4};
  // Each of these differs from an accepted call below in a single respect.
#if defined(REFUSED_no_execution_space)
  ks::inclusive_scan(x, x, y);
#elif defined(REFUSED_input_of_another_kind)
  ks::inclusive_scan(exec, std::vector<float>(), line);
#elif defined(REFUSED_output_of_another_kind)
  ks::inclusive_scan(exec, line, std::vector<float>());
#elif defined(REFUSED_operator_without_axis)
  ks::inclusive_scan(exec, x, y, ks::Prod{});
#elif defined(REFUSED_boolean_as_axis)
  ks::inclusive_scan(exec, x, y, true);
#elif defined(REFUSED_character_as_axis)
  ks::inclusive_scan(exec, x, y, 'a');
#elif defined(REFUSED_number_as_axis)
  ks::inclusive_scan(exec, x, y, 1.7);
#elif defined(REFUSED_enumeration_as_axis)
  ks::inclusive_scan(exec, x, y, columns);
#elif defined(REFUSED_number_as_axis_of_along)
  ks::inclusive_scan(exec, x, y, ks::along(1.7));
#elif defined(REFUSED_character_as_axis_of_along)
  ks::inclusive_scan(exec, x, y, ks::along('a'));
#elif defined(REFUSED_range_policy)
  ks::inclusive_scan(Kokkos::RangePolicy<Exec>(exec, 0, 3), x, y);
#elif defined(REFUSED_workspace_bytes_of_a_range_policy)
  (void)ks::workspace_bytes(Kokkos::RangePolicy<Exec>(exec, 0, 3), x, y);
#elif defined(REFUSED_lambda_as_mask)
  ks::inclusive_scan(exec, ks::masked(x, [](int, int) { return true; }), y);
#elif defined(REFUSED_lambda_as_inner_mask)
  ks::inclusive_scan(exec, ks::masked(ks::masked(x, [](int, int) { return true; }), mask), y);
#elif defined(REFUSED_struct_without_plus)
  ks::inclusive_scan(exec, View<NoPlus*>("z", 3), View<NoPlus*>("z", 3));
#elif defined(REFUSED_struct_without_times)
  ks::inclusive_scan(exec, View<NoPlus*>("z", 3), View<NoPlus*>("z", 3), 0, ks::Prod{});
#elif defined(REFUSED_struct_without_less)
  ks::inclusive_scan(exec, View<NoPlus*>("z", 3), View<NoPlus*>("z", 3), 0, ks::Max{});
#elif defined(REFUSED_input_that_fills_an_aggregate)
  ks::inclusive_scan(exec, View<double*>("x", 3), View<ValueAndIndex*>("z", 3), 0, Largest{});
#elif defined(REFUSED_computed_input_that_fills_an_aggregate)
  ks::inclusive_scan(exec, ks::elementwise({3}, OneIndex{}), View<ValueAndIndex*>("z", 3), 0,
                     Largest{});
#elif defined(REFUSED_output_that_is_filled)
  ks::inclusive_scan(exec, View<double*>("x", 3), View<ValueAndIndex*>("z", 3), 0,
                     ks::Sum<double>{});
#elif defined(REFUSED_totals_that_are_filled)
  ks::inclusive_scan(exec, x, y, ks::along(1).totals(View<ValueAndIndex*>("t", 3)));
#elif defined(REFUSED_starts_that_fill_an_aggregate)
  ks::inclusive_scan(exec, View<Affine**>("z", 3, 4), View<Affine**>("z", 3, 4),
                     ks::along(1).starting_at(View<double*>("s", 3)), ComposeAffine{});
#elif defined(REFUSED_start_that_fills_an_aggregate)
  ks::inclusive_scan(exec, View<Affine**>("z", 3, 4), View<Affine**>("z", 3, 4),
                     ks::along(1).starting_at(50.0), ComposeAffine{});
#elif defined(REFUSED_computed_starts_that_fill_an_aggregate)
  ks::inclusive_scan(exec, View<Affine**>("z", 3, 4), View<Affine**>("z", 3, 4),
                     ks::along(1).starting_at(ks::elementwise({3}, OneIndex{})), ComposeAffine{});
#elif defined(REFUSED_product_identity_of_an_aggregate)
  ks::exclusive_scan(exec, View<Mat2*>("z", 3), View<Mat2*>("z", 3), 0, ks::Prod{});
#elif defined(REFUSED_sum_identity_of_an_aggregate)
  ks::inclusive_scan(exec, ks::masked(View<Mat2*>("z", 3), View<bool*>("m", 3)),
                     View<Mat2*>("z", 3), 0, ks::Sum{});
#elif defined(REFUSED_computed_starts_of_another_rank)
  ks::inclusive_scan(exec, x, y, ks::along(0).starting_at(ks::elementwise(extents, TwoIndices{})));
#elif defined(REFUSED_computed_starts_that_cannot_be_called)
  ks::inclusive_scan(exec, x, y, ks::along(0).starting_at(ks::elementwise({4}, TwoIndices{})));
#elif defined(REFUSED_masked_start)
  ks::inclusive_scan(exec, x, y, ks::along(1).starting_at(ks::masked(line, line)));
#elif defined(REFUSED_rank_0)
  ks::inclusive_scan(exec, View<float>("zero"), View<float>("zero"));
#elif defined(REFUSED_output_of_another_rank)
  ks::inclusive_scan(exec, x, line);
#elif defined(REFUSED_const_output)
  ks::inclusive_scan(exec, x, View<float const**>(y));
#elif defined(REFUSED_const_output_workspace_bytes)
  (void)ks::workspace_bytes(exec, x, View<float const**>(y));
#elif defined(REFUSED_sum_of_bool)
  ks::inclusive_scan(exec, mask, mask);
#elif defined(REFUSED_product_of_bool)
  ks::exclusive_scan(exec, x, mask, 0, ks::Prod{});
#elif defined(REFUSED_sum_in_bool)
  ks::inclusive_scan(exec, x, y, 0, ks::Sum<bool>{});
#elif defined(REFUSED_minimum_of_complex)
  View<Kokkos::complex<float>**> const z("z", 3, 4);
  ks::inclusive_scan(exec, z, z, 0, ks::Min{});
#elif defined(REFUSED_maximum_of_complex)
  View<Kokkos::complex<double>**> const z("z", 3, 4);
  ks::exclusive_scan(exec, x, z, 0, ks::Max{});
#elif defined(REFUSED_logarithm_of_integers)
  ks::inclusive_scan(exec, x, View<int**>("z", 3, 4), 0, ks::LogSumExp{});
#elif defined(REFUSED_index_of_plain_values)
  ks::inclusive_scan(exec, ks::indexed(x), y, 0, ks::ArgMax{});
#elif defined(REFUSED_selection_of_a_masked_input)
  ks::select(exec, ks::masked(x, mask), mask, y, View<int*>("count", 3));
#elif defined(REFUSED_selection_into_too_few_outputs)
  ks::select(exec, ks::zip(x, x, x), mask, ks::zip(y, y), View<int*>("count", 3));
#elif defined(REFUSED_selection_by_a_predicate_of_one_of_two)
  ks::select(exec, ks::zip(x, x), IsPositive{}, ks::zip(y, y), View<int*>("count", 3));
#elif defined(REFUSED_selection_of_rank_3)
  ks::select(exec, View<float***>("z", 3, 4, 5), IsPositive{}, View<float***>("z", 3, 4, 5),
             View<int**>("count", 3, 4));
#elif defined(REFUSED_selection_without_predicate)
  ks::select(exec, x, 3, y, View<int*>("count", 3));
#elif defined(REFUSED_selection_by_mask_of_another_rank)
  ks::select(exec, x, View<bool*>("mask", 3), y, View<int*>("count", 3));
#elif defined(REFUSED_selection_with_a_count_of_another_rank)
  ks::select(exec, x, IsPositive{}, y, View<int>("count"));
#elif defined(REFUSED_selection_with_a_count_of_float)
  ks::select(exec, x, IsPositive{}, y, line);
#elif defined(REFUSED_selection_into_another_type)
  ks::select(exec, x, IsPositive{}, View<Pair**>("z", 3, 4), View<int*>("count", 3));
#elif defined(REFUSED_values_that_are_not_trivially_copyable)
  View<Copied*> const z("z", 3);
  ks::inclusive_scan(exec, z, z, 0, AddCopied{});
#elif defined(REFUSED_values_with_a_const_member)
  Kokkos::View<WithConstMember*, Exec, Kokkos::MemoryUnmanaged> const z(nullptr, 0);
  ks::inclusive_scan(exec, z, z, 0, AddConstMembers{});
#elif defined(REFUSED_values_with_an_address_of)
  Kokkos::View<WithAddressOf*, Exec, Kokkos::MemoryUnmanaged> const z(nullptr, 0);
  ks::inclusive_scan(exec, z, z, 0, AddWithAddressOf{});
#elif defined(REFUSED_selected_values_with_a_const_member)
  Kokkos::View<WithConstMember*, Exec, Kokkos::MemoryUnmanaged> const z(nullptr, 0);
  ks::select(exec, z, View<bool*>("mask", 0), z, View<int>("count"));
#elif defined(REFUSED_start_as_operator)
  ks::exclusive_scan(exec, x, y, 1, 0.0f);
#elif defined(REFUSED_integer_start_as_operator)
  (void)ks::workspace_bytes(exec, x, y, 1, 0);
#elif defined(REFUSED_start_as_axis)
  ks::exclusive_scan(exec, x, y, 0.0f);
#elif defined(REFUSED_input_that_does_not_convert)
  ks::inclusive_scan(exec, View<Pair**>("z", 3, 4), y);
#elif defined(REFUSED_accumulator_that_does_not_convert)
  ks::inclusive_scan(exec, View<Pair**>("z", 3, 4), y, 0, AsPairs{});
#elif defined(REFUSED_operator_of_one_argument)
  ks::inclusive_scan(exec, x, y, 0, Unary{});
#elif defined(REFUSED_operator_that_is_not_const)
  ks::inclusive_scan(exec, x, y, 0, NotConst{});
#elif defined(REFUSED_operator_that_returns_nothing)
  ks::inclusive_scan(exec, x, y, 0, ReturnsNothing{});
#elif defined(REFUSED_exclusive_without_identity)
  ks::exclusive_scan(exec, x, y, 0, WithoutIdentity{});
#elif defined(REFUSED_exclusive_with_an_identity_of_another_type)
  ks::exclusive_scan(exec, x, y, 0, WithUselessIdentity{});
#elif defined(REFUSED_mask_without_identity)
  ks::inclusive_scan(exec, ks::masked(x, mask), y, 0, WithoutIdentity{});
#elif defined(REFUSED_start_does_not_replace_the_identity_for_a_mask)
  ks::inclusive_scan(exec, ks::masked(x, mask), y, ks::along(0).starting_at(1.0f),
                     WithoutIdentity{});
#elif defined(REFUSED_mask_of_another_rank)
  ks::inclusive_scan(exec, ks::masked(x, View<bool*>("mask", 3)), y);
#elif defined(REFUSED_mask_of_structs)
  ks::inclusive_scan(exec, ks::masked(x, View<Pair**>("mask", 3, 4)), y);
#elif defined(REFUSED_swapped_mask_and_values)
  ks::inclusive_scan(exec, ks::masked(mask, x), y);
#elif defined(REFUSED_mask_that_computes_numbers)
  ks::inclusive_scan(exec, ks::masked(x, ks::elementwise(extents, TwoIndices{})), y);
#elif defined(REFUSED_selection_by_numbers)
  ks::select(exec, x, x, y, View<int*>("count", 3));
#elif defined(REFUSED_inner_mask_of_another_rank)
  ks::inclusive_scan(exec, ks::masked(ks::masked(x, View<bool*>("mask", 3)), mask), y);
#elif defined(REFUSED_starting_values_of_another_rank)
  ks::inclusive_scan(exec, x, y, ks::along(0).starting_at(x));
#elif defined(REFUSED_starting_values_that_do_not_convert)
  ks::inclusive_scan(exec, x, y, ks::along(1).starting_at(View<Pair*>("s", 3)));
#elif defined(REFUSED_starting_value_that_does_not_convert)
  ks::inclusive_scan(exec, x, y, ks::along(0).starting_at(Pair{}));
#elif defined(REFUSED_totals_of_another_rank)
  ks::inclusive_scan(exec, x, y, ks::along(0).totals(View<float>("t")));
#elif defined(REFUSED_const_totals)
  ks::inclusive_scan(exec, x, y, ks::along(0).totals(View<float const*>(line)));
#elif defined(REFUSED_totals_that_do_not_convert)
  ks::inclusive_scan(exec, x, y, ks::along(1).totals(View<Opaque*>("t", 3)));
#elif defined(REFUSED_totals_of_another_kind)
  ks::inclusive_scan(exec, x, y, ks::along(0).totals(3.0f));
#elif defined(REFUSED_workspace_of_another_kind)
  ks::inclusive_scan(exec, x, y, ks::along(0).workspace(nullptr));
#elif defined(REFUSED_workspace_of_char)
  ks::inclusive_scan(exec, x, y, ks::along(0).workspace(View<char*>("w", 16)));
#elif defined(REFUSED_elementwise_without_extents)
  ks::inclusive_scan(exec, ks::elementwise(std::array<std::int64_t, 0>{}, OneIndex{}), line);
#elif defined(REFUSED_elementwise_of_another_rank)
  ks::inclusive_scan(exec, ks::elementwise(extents, OneIndex{}), y);
#elif defined(REFUSED_elementwise_that_is_not_const)
  ks::inclusive_scan(exec, ks::elementwise(extent, OneIndexNotConst{}), line);
#elif defined(REFUSED_projected_array)
  ks::inclusive_scan(exec, x, ks::projected(std::vector<float>(), Negative{}));
#elif defined(REFUSED_projection_with_members)
  ks::inclusive_scan(exec, x, ks::projected(y, Scaled{2}));
#elif defined(REFUSED_projection_that_captures)
  float const factor = 2;
  ks::inclusive_scan(exec, x, ks::projected(y, [factor](float v) { return factor * v; }));
#elif defined(REFUSED_projection_of_another_type)
  ks::inclusive_scan(exec, x, ks::projected(y, OfPair{}));
#elif defined(REFUSED_projection_to_another_type)
  ks::inclusive_scan(exec, x, ks::projected(y, ToPair{}));
#elif defined(REFUSED_projection_that_is_not_const)
  ks::inclusive_scan(exec, x, ks::projected(y, NegativeNotConst{}));
#elif defined(REFUSED_result_function_without_value)
  ks::inclusive_scan(exec, x, ks::for_each_result(y, TwoIndices{}));
#elif defined(REFUSED_result_function_of_another_rank)
  ks::inclusive_scan(exec, line, ks::for_each_result({3}, UseResult{}));
#elif defined(REFUSED_result_function_of_another_type)
  ks::inclusive_scan(exec, x, ks::for_each_result(y, UsePair{}));
#elif defined(REFUSED_result_function_that_is_not_const)
  ks::inclusive_scan(exec, x, ks::for_each_result(y, UseNotConst{}));
#elif defined(REFUSED_for_each_result_without_extents)
  ks::inclusive_scan(exec, x, ks::for_each_result(std::array<std::int64_t, 0>{}, UseNothing{}));
#elif defined(REFUSED_for_each_result_of_another_rank)
  ks::inclusive_scan(exec, line, ks::for_each_result(y, UseResult{}));
#elif defined(REFUSED_zip_of_another_rank)
  ks::inclusive_scan(exec, ks::zip_transform(SumOfTwo{}, x, line), y);
#elif defined(REFUSED_zip_of_masked)
  ks::inclusive_scan(exec, ks::zip_transform(SumOfTwo{}, x, ks::masked(x, mask)), y);
#elif defined(REFUSED_zip_function)
  ks::inclusive_scan(exec, ks::zip_transform(Negative{}, x, x), y);
#elif defined(REFUSED_zip_without_constructor)
  ks::inclusive_scan(exec, ks::zip(x, x), y);
#elif defined(REFUSED_coefficient_of_another_type)
  ks::linear_recurrence(exec, Pair{}, x, y);
#elif defined(REFUSED_coefficient_with_fraction)
  ks::linear_recurrence(exec, 0.5, View<int**>("b", 3, 4), View<int**>("h", 3, 4));
#elif defined(REFUSED_recurrence_of_masked)
  ks::linear_recurrence(exec, 0.5, ks::masked(x, mask), y);
#elif defined(REFUSED_recurrence_into_nothing)
  ks::linear_recurrence(exec, x, x, std::vector<float>());
#else
  ks::inclusive_scan(exec, x, ks::projected(y, Negative{}));
  ks::inclusive_scan(exec, x, ks::for_each_result(y, UseResult{}));
  ks::inclusive_scan(exec, ks::masked(ks::zip_transform(SumOfTwo{}, x, x), mask), y);
  ks::linear_recurrence(exec, x, x, y);
  ks::inclusive_scan(exec, x, y);
  ks::inclusive_scan(exec, x, y, 0, ks::Prod{});
  ks::inclusive_scan(exec, x, y, 0, WithoutIdentity{});
  ks::exclusive_scan(exec, x, y, ks::along(0).starting_at(1.0f), WithoutIdentity{});
  ks::inclusive_scan(exec, ks::masked(ks::masked(x, mask), mask), y,
                     ks::along(1).starting_at(line).totals(line));
  ks::inclusive_scan(exec, View<Pair*>("z", 3), View<Pair*>("z", 3), 0, JoinPairs{});
  ks::inclusive_scan(exec, ks::elementwise(extent, OneIndex{}), line,
                     ks::along(0).workspace(View<std::byte*>("w", 16)));
  ks::exclusive_scan(exec, ks::indexed(x), View<ks::Indexed<float>**>("z", 3, 4), 1, ks::ArgMax{});
  ks::inclusive_scan(exec, View<int**>("z", 3, 4), y, 0, ks::LogSumExp{});
  ks::select(exec, x, IsPositive{}, y, View<int*>("count", 3));
  ks::select(exec, line, View<int*>("mask", 3), View<double*>("z", 3), View<std::size_t>("count"));
  // Aggregates, where nothing is made of a number.
  ks::inclusive_scan(exec, View<Affine**>("z", 3, 4), View<Affine**>("z", 3, 4),
                     ks::along(1).starting_at(View<Affine*>("s", 3)), ComposeAffine{});
  ks::exclusive_scan(exec, View<Mat2*>("z", 3), View<Mat2*>("z", 3),
                     ks::along(0).starting_at(Mat2{1, 0, 0, 1}), ks::Prod{});
  ks::inclusive_scan(exec, ks::elementwise({3, std::size_t{4}}, TwoIndices{}), y,
                     ks::along(std::size_t{1}).starting_at(ks::elementwise({3}, OneIndex{})));
  (void)extents;
#endif
}
