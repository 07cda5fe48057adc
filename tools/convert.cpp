// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert.hpp"

#include <cstring>
#include <type_traits>
#include <utility>

#include "../elements/stored.hpp"

namespace scan_tool {
namespace {

using array_elements::converted;
using array_elements::is_complex;
using array_elements::stored_t;

/// The accumulator of `D`.
template <DType D>
using AccumulatorOf = typename AccumulatorType<accumulator_of(D)>::type;

template <DType From, DType To>
void load_all(const std::byte* place, std::span<AccumulatorOf<To>> values) {
  for (auto& value : values) {
    stored_t<From> stored;
    std::memcpy(&stored, place, sizeof stored);
    place += sizeof stored;
    if constexpr (From == DType::boolean) stored = stored != 0 ? 1 : 0;
    value = static_cast<AccumulatorOf<To>>(converted<To>(stored));
  }
}

template <DType To>
void store_all(std::span<const AccumulatorOf<To>> values, std::byte* place) {
  for (const auto& value : values) {
    stored_t<To> stored;
    if constexpr (is_complex<stored_t<To>>) {
      stored = value;
    } else {
      stored = converted<To>(value);
    }
    std::memcpy(place, &stored, sizeof stored);
    place += sizeof stored;
  }
}

/// Calls `visitor.template operator()<D>()` for the DType that is `dtype`.
template <class Visitor>
void visit(DType dtype, const Visitor& visitor) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    constexpr auto dtypes = dtypes_of_numpy();
    ((dtypes[I] == dtype ? visitor.template operator()<dtypes[I]>() : void()), ...);
  }
  (std::make_index_sequence<numpy_dtypes>{});
}

}  // namespace

template <class A>
void load(std::span<const std::byte> file, DType from, DType to, std::span<A> values) {
  visit(to, [&]<DType To>() {
    if constexpr (std::is_same_v<AccumulatorOf<To>, A>) {
      visit(from, [&]<DType From>() { load_all<From, To>(file.data(), values); });
    }
  });
}

template <class A>
void store(std::span<const A> values, DType to, std::span<std::byte> file) {
  visit(to, [&]<DType To>() {
    if constexpr (std::is_same_v<AccumulatorOf<To>, A>) store_all<To>(values, file.data());
  });
}

#define SCAN_TOOL_INSTANTIATE(A)                                                 \
  template void load<A>(std::span<const std::byte>, DType, DType, std::span<A>); \
  template void store<A>(std::span<const A>, DType, std::span<std::byte>);
SCAN_TOOL_INSTANTIATE(std::int64_t)
SCAN_TOOL_INSTANTIATE(std::uint64_t)
SCAN_TOOL_INSTANTIATE(float)
SCAN_TOOL_INSTANTIATE(double)
SCAN_TOOL_INSTANTIATE(std::complex<float>)
SCAN_TOOL_INSTANTIATE(std::complex<double>)
#undef SCAN_TOOL_INSTANTIATE

}  // namespace scan_tool
