// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Calls that must compile; calls that must not are in concepts/refused.cpp.
// Regression class: I wrong accumulator (thrust #1896).

#include <gtest/gtest.h>

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "support/flat.hpp"
#include "support/types.hpp"

namespace test {
namespace concepts {

using ks::impl::Function;
template <class T>
using View = Kokkos::View<T, Device>;

/// Instantiates the checks of a call, not its kernels. Fails to compile if the call is refused.
template <class In, class Out, class Lines = ks::Along<>, class Op = ks::Sum<>>
constexpr bool inclusive_accepts() {
  ks::impl::explain<ks::impl::refusal_of<Function::inclusive_scan, Exec, In, Out, Lines, Op>()>();
  ks::impl::explain<ks::impl::refusal_of<Function::workspace_bytes, Exec, In, Out, Lines, Op>()>();
  return true;
}
template <class In, class Out, class Lines = ks::Along<>, class Op = ks::Sum<>>
constexpr bool accepts() {
  ks::impl::explain<ks::impl::refusal_of<Function::exclusive_scan, Exec, In, Out, Lines, Op>()>();
  return inclusive_accepts<In, Out, Lines, Op>();
}

struct Explicit {
  explicit operator float() const;
};
struct AddFloats {
  KOKKOS_FUNCTION float operator()(float a, float b) const { return a + b; }
};
struct ReturnsDouble {
  KOKKOS_FUNCTION double operator()(double a, double b) const { return a + b; }
  KOKKOS_FUNCTION static int identity() { return 0; }
};
struct Generic {
  template <class T>
  KOKKOS_FUNCTION T const& operator()(T const& a, T const&) const {
    return a;
  }
};
struct And {
  KOKKOS_FUNCTION bool operator()(bool a, bool b) const { return a && b; }
  KOKKOS_FUNCTION static bool identity() { return true; }
};
struct Wider {
  using accumulator_type = double;
  KOKKOS_FUNCTION double operator()(double a, double b) const { return a + b; }
  double zero = 0;
  KOKKOS_FUNCTION double identity() const { return zero; }
};
struct OneIndex {
  KOKKOS_FUNCTION float operator()(std::int64_t i) const { return static_cast<float>(i); }
};
struct IntIndices {
  KOKKOS_FUNCTION int operator()(int i, int j) const { return i + j; }
};

// Ranks 1 to 8, const and unmanaged inputs, layouts.
static_assert(accepts<View<float*>, View<float*>>());
static_assert(accepts<View<float********>, View<float********>>());
static_assert(accepts<View<float const**>, View<float**>>());
static_assert(accepts<View<float**>, Kokkos::View<float**, Kokkos::LayoutStride, Device>>());
static_assert(accepts<Kokkos::View<float const**, Kokkos::LayoutLeft, Device,
                                   Kokkos::MemoryTraits<Kokkos::Unmanaged>>,
                      Kokkos::View<float**, Kokkos::LayoutRight, Device>>());
static_assert(accepts<View<float[3][4]>, View<float* [4]>>());

// Types: bool as input, widening, narrowing, complex, structs, an operator's own accumulator.
static_assert(accepts<View<bool*>, View<int*>>());
static_assert(accepts<View<bool*>, View<bool*>, int, ks::Min<>>());
static_assert(accepts<View<bool*>, View<bool*>, int, ks::Max<>>());
static_assert(accepts<View<bool*>, View<bool*>, int, And>());
static_assert(accepts<View<bool*>, View<bool*>, int, ks::Sum<int>>());
static_assert(accepts<View<int*>, View<std::int64_t*>>());
static_assert(accepts<View<double*>, View<float*>>());
static_assert(accepts<View<float*>, View<Kokkos::complex<double>*>, int, ks::Prod<>>());
static_assert(accepts<View<Explicit*>, View<float*>>());
static_assert(accepts<View<Struct24*>, View<Struct24*>, int, MultiplyHeisenberg<std::uint64_t>>());
static_assert(accepts<View<float*>, View<float*>, int, ks::Sum<double>>());
static_assert(accepts<View<float*>, View<float*>, int, Wider>());
static_assert(accepts<View<float*>, View<float*>, int, ReturnsDouble>());
static_assert(inclusive_accepts<View<float*>, View<float*>, int, AddFloats>());
static_assert(inclusive_accepts<View<Affine*>, View<Affine*>, int, Generic>());

// Lines: any integer, along() with all options.
using Lines = decltype(ks::along(0)
                           .backward()
                           .starting_at(View<double const*>())
                           .totals(View<float*>())
                           .workspace(View<std::byte*>()));
static_assert(accepts<View<float**>, View<float**>, int>());
static_assert(accepts<View<float**>, View<float**>, std::int64_t>());
static_assert(accepts<View<float**>, View<float**>, short>());
static_assert(accepts<View<float**>, View<float**>, Lines>());
using WithStart = decltype(ks::along(0).starting_at(1));
static_assert(accepts<View<float*>, View<float*>, WithStart, AddFloats>());
using WithTotal = decltype(ks::along(0).totals(View<double>()));
static_assert(accepts<View<float*>, View<float*>, WithTotal>());

// Inputs, nested.
using Line = ks::Elementwise<1, OneIndex>;
using Table = ks::Elementwise<2, IntIndices>;
static_assert(accepts<Line, View<float*>>());
static_assert(accepts<Table, View<float**>>());
static_assert(accepts<ks::Masked<Table, View<bool const**>>, View<float**>>());
static_assert(accepts<ks::Masked<ks::Masked<View<float**>, Table>, ks::Masked<Table, Table>>,
                      View<float**>>());

// The concepts by themselves.
static_assert(ks::ScanInput<Line> && ks::ScanInput<View<int*>> &&
              ks::ScanInput<ks::Masked<View<int*>, Line>>);
static_assert(!ks::ScanInput<std::vector<int>> && !ks::ScanInput<int> &&
              !ks::ScanInput<ks::Masked<View<int*>, std::vector<bool>>>);
static_assert(ks::ScanLines<int> && ks::ScanLines<unsigned char> && ks::ScanLines<Lines>);
static_assert(!ks::ScanLines<bool> && !ks::ScanLines<double> && !ks::ScanLines<ks::Sum<>>);
static_assert(ks::OperatorOn<AddFloats, float> && ks::OperatorOn<ks::Sum<>, double> &&
              ks::OperatorOn<ReturnsDouble, float>);
static_assert(!ks::OperatorOn<AddFloats, Affine> && !ks::OperatorOn<OneIndex, float>);
static_assert(ks::HasIdentity<ks::Sum<float>, float> && ks::HasIdentity<Wider, double> &&
              ks::HasIdentity<ComposeAffine, Affine> && ks::HasIdentity<MultiplyMatrices, Matrix>);
static_assert(!ks::HasIdentity<AddFloats, float> &&
              !ks::HasIdentity<ComposeAffineWithoutIdentity, Affine>);

// The accumulator.
static_assert(std::is_same_v<ks::accumulator_t<int const>, int>);
static_assert(std::is_same_v<ks::accumulator_t<Kokkos::complex<float>>, Kokkos::complex<float>>);
static_assert(std::is_same_v<ks::impl::accumulator_of_t<ks::Sum<>, std::int64_t>, std::int64_t>);
static_assert(std::is_same_v<ks::impl::accumulator_of_t<ks::Sum<double>, float>, double>);
static_assert(std::is_same_v<ks::impl::accumulator_of_t<Wider, float>, double>);

// Return types.
static_assert(std::is_void_v<decltype(ks::inclusive_scan(Exec(), View<int*>(), View<int*>()))>);
static_assert(
    std::is_void_v<decltype(ks::exclusive_scan(Exec(), View<int*>(), View<int*>(), 0, ks::Max{}))>);
static_assert(
    std::is_same_v<std::size_t, decltype(ks::workspace_bytes(Exec(), View<int*>(), View<int*>()))>);

/// Runs some unusual calls: accepted types must also instantiate their kernels.
void unusual_calls_run() {
  View<float const**> const x = [] {
    View<float**> const ones("x", 2, 3);
    fill(ones, 1.0f);
    return ones;
  }();
  View<double**> const y("y", 2, 3);
  View<float*> const totals("totals", 2);
  View<int const*> const starts = View<int*>("starts", 2);
  ks::exclusive_scan(Exec(), x, y, ks::along(std::int8_t(-1)).starting_at(starts).totals(totals),
                     ReturnsDouble{});
  auto const host = to_host(Flat<float>(totals));
  EXPECT_EQ(host[0], 3);
  EXPECT_EQ(host[1], 3);
  View<bool*> const flags("flags", 5);
  fill(flags, true);
  ks::inclusive_scan(Exec(), flags, flags, std::int64_t(0), And{});
  View<std::int64_t*> const count("count", 5);
  ks::inclusive_scan(Exec(), flags, count);
  EXPECT_EQ(to_host(Flat<std::int64_t>(count))[4], 5);
  // An identity that depends on the object; a call with only temporaries.
  ks::exclusive_scan(Exec(), ks::masked(ks::elementwise(count, OneIndex{}), flags), count, 0,
                     Wider{.zero = 0});
  EXPECT_EQ(to_host(Flat<std::int64_t>(count))[4], 6);
}

TEST(concepts, unusual_calls_run) { unusual_calls_run(); }

}  // namespace concepts
}  // namespace test
