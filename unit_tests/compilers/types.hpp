// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Sums and operators of each kind of value.

#include "forms.hpp"

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#if defined(__CUDACC__)
#include <cuda_fp16.h>
#endif

namespace forms {

/// Maps t -> slope * t + offset, whose composition does not commute.
struct Map {
  std::uint32_t slope, offset;
  KOKKOS_FUNCTION friend bool operator==(const Map& a, const Map& b) {
    return a.slope == b.slope && a.offset == b.offset;
  }
};
struct Compose {
  KOKKOS_FUNCTION Map operator()(const Map& f, const Map& g) const {
    return {g.slope * f.slope, g.slope * f.offset + g.offset};
  }
  KOKKOS_FUNCTION static Map identity() { return {1, 0}; }
};
struct MakeMap {
  template <class I, class K>
  Map operator()(I i, K k) const {
    return {static_cast<std::uint32_t>(number(i, k)), static_cast<std::uint32_t>(number(k, i))};
  }
};

/// A real 16-bit float: Kokkos' own half_t is an alias of float in many builds.
#if defined(__CUDACC__)
using Half = __half;
#elif defined(__FLT16_MANT_DIG__) && (__GNUC__ >= 13 || !defined(__aarch64__) || defined(__clang__))
__extension__ typedef _Float16 Half;
#else
using Half = float;
#endif

enum class Level : std::int16_t {};

template <class Exec>
void integers() {
  sums<Exec, std::int32_t>("int32_t");
  sums<Exec, std::int64_t>("int64_t");
  sums<Exec, long long>("long long");
  sums<Exec, unsigned long>("unsigned long");
  sums<Exec, unsigned long long>("unsigned long long");
  sums<Exec, std::int8_t>("int8_t");
}

/// Those that nobody counts with, but that fill Views all the same, and the rest of the widths.
template <class Exec>
void more_integers() {
  sums<Exec, char32_t>("char32_t");
  sums<Exec, wchar_t>("wchar_t");
  sums<Exec, std::uint16_t>("uint16_t");
  sums<Exec, std::uint32_t>("uint32_t");
  sums<Exec, char>("char");
  sums<Exec, char16_t>("char16_t");
  sums<Exec, bool, std::int32_t>("bool into int32_t");
  sums<Exec, std::uint8_t, long long>("uint8_t into long long");
  sums<Exec, Level, std::int32_t>("an enumeration into int32_t");
}

template <class Exec>
void floats() {
  sums<Exec, float>("float");
  sums<Exec, double>("double");
  sums<Exec, Kokkos::complex<double>>("complex<double>");
  sums<Exec, Kokkos::complex<float>>("complex<float>");
  sums<Exec, float, double>("float into double");
  sums<Exec, Kokkos::Experimental::half_t, float>("half_t into float");
  sums<Exec, Half, float>("a 16-bit float into float");
}

template <class Exec>
void operators() {
  const Exec exec;
  const auto x = numbers<Exec, double>();
  const Array<Exec, double> y("y", rows, columns);
  const auto value = [](int i, int k) { return static_cast<double>(number(i, k)); };
  const Lines lines;

  ks::inclusive_scan(exec, x, y, 1, ks::Min{});
  exec.fence();
  compare<>(
      "Min", lines, y, value, [](double a, double b) { return std::min(a, b); },
      std::optional<double>{});
  ks::inclusive_scan(exec, x, y, 1, ks::Max{});
  exec.fence();
  compare<>(
      "Max", lines, y, value, [](double a, double b) { return std::max(a, b); },
      std::optional<double>{});
  const auto sign = [](int i, int k) { return is_kept(i, k) ? 1.0 : -1.0; };
  ks::inclusive_scan(exec, filled<Exec, double>(sign), y, 1, ks::Prod{});
  exec.fence();
  compare<>("Prod", lines, y, sign, std::multiplies<double>{}, std::optional<double>{});
  const Array<Exec, float> floats("floats", rows, columns);
  ks::inclusive_scan(exec, filled<Exec, float>(sign), floats, 1, ks::Prod{});
  exec.fence();
  compare<>("Prod of floats", lines, floats, sign, std::multiplies<double>{},
            std::optional<double>{});
  ks::inclusive_scan(exec, x, y, 1, ks::LogSumExp{});
  exec.fence();
  const auto logarithms = Kokkos::create_mirror_view(y);
  Kokkos::deep_copy(logarithms, y);
  check(std::abs(logarithms(0, 1) - std::log(std::exp(1.0) + std::exp(6.0))) < 1e-12, "LogSumExp",
        0, 1);

  const Array<Exec, ks::Indexed<double, std::int32_t>> largest("largest", rows, columns);
  ks::inclusive_scan(exec, ks::indexed<std::int32_t>(x), largest, 1, ks::ArgMax{});
  exec.fence();
  const auto places = Kokkos::create_mirror_view(largest);
  Kokkos::deep_copy(places, largest);
  check(places(0, 0).index == 0 && places(0, columns - 1).value == 7.0, "ArgMax", 0, columns - 1);

  const auto maps = filled<Exec, Map>(MakeMap{});
  const Array<Exec, Map> composed("composed", rows, columns);
  ks::inclusive_scan(exec, maps, composed, 1, Compose{});
  exec.fence();
  compare<>("an operator of one's own", lines, composed, MakeMap{}, Compose{},
            std::optional<Map>{});
  ks::inclusive_scan(exec, maps, composed, ks::along(0).backward().in_order(), Compose{});
  exec.fence();
  compare<>("in order, of one's own", {0, true}, composed, MakeMap{}, Compose{},
            std::optional<Map>{});
#if !defined(__CUDACC__) && !defined(__HIPCC__)  // not for a device
  const Array<Exec, int> sum("sum", rows, columns);
  ks::inclusive_scan(exec, numbers<Exec, int>(), sum, 1, std::plus<>{});
  exec.fence();
  compare<>("std::plus<>", lines, sum, number, std::plus<>{}, std::optional<int>{});
#endif
}

}  // namespace forms
