// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Checks a scan before it is measured: every element is compared with a plain loop, on values
/// whose combinations are exact in any order.

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "measure.hpp"

namespace perf {

namespace ks = KokkosScan;

enum class Form { inclusive, exclusive };
enum class Direction { forward, backward };
enum class Placement { out_of_place, in_place };

/// What a scan computes. The output has `extra` more elements along the lines than the input.
struct Promise {
  Form form = Form::inclusive;
  Direction direction = Direction::forward;
  Placement placement = Placement::out_of_place;
  std::size_t extra = 0;
};

/// The accumulator of the plain loop.
template <class T>
using Wide = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;

// Independent implementations of the operators.
KOKKOS_INLINE_FUNCTION double plain(ks::Sum<>, double a, double b) { return a + b; }
KOKKOS_INLINE_FUNCTION double plain(ks::Prod<>, double a, double b) { return a * b; }
KOKKOS_INLINE_FUNCTION std::int64_t plain(ks::Sum<>, std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
KOKKOS_INLINE_FUNCTION std::int64_t plain(ks::Prod<>, std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
template <class W>
KOKKOS_INLINE_FUNCTION W plain(ks::Min<>, W a, W b) {
  return b < a ? b : a;
}
template <class W>
KOKKOS_INLINE_FUNCTION W plain(ks::Max<>, W a, W b) {
  return a < b ? b : a;
}
template <class W, class Op>
constexpr W neutral() {
  if constexpr (std::is_same_v<Op, ks::Min<>>) return std::numeric_limits<W>::max();
  if constexpr (std::is_same_v<Op, ks::Max<>>) return std::numeric_limits<W>::lowest();
  return std::is_same_v<Op, ks::Prod<>> ? W(1) : W(0);
}

/// Integers around 0 whose sums along a line stay below 2^24. Factors are powers of two of either
/// sign that cancel, or odd integers, whose products wrap and are never 0.
template <class T, class Op>
struct FillExact {
  T* values;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const std::uint64_t bits = static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15U;
    const int small = static_cast<int>(bits >> 57) - static_cast<int>(bits >> 50 & 127);
    if constexpr (!std::is_same_v<Op, ks::Prod<>>) {
      values[i] = static_cast<T>(small);
    } else if constexpr (std::is_integral_v<T>) {
      values[i] = static_cast<T>(2 * small + 1);
    } else {
      constexpr T factors[] = {T(2), T(0.5), T(-1), T(1)};
      values[i] = factors[bits >> 62];
    }
  }
};

/// A poison value that is no (likely) result.
template <class T>
struct FillPoison {
  T* values;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    values[i] = std::is_integral_v<T> ? static_cast<T>(0x5a5a5a5a) : static_cast<T>(1e30);
  }
};

/// Finds the first wrong element of several neighbouring lines, in memory order.
template <class T, class Op>
struct CompareLines {
  /// The number of lines that a host thread checks row by row.
  static constexpr std::int64_t most = 512;

  const T* in;
  const bool* mask;  ///< null if there is no mask
  const T* out;
  std::int64_t n, inner, width;
  Promise promise;
  Wide<T> first;

  KOKKOS_FUNCTION void operator()(std::int64_t unit, std::int64_t& wrong) const {
    const std::int64_t units_of_row = (inner + width - 1) / width;
    const std::int64_t outer = unit / units_of_row;
    const std::int64_t begin = unit % units_of_row * width;
    const std::int64_t count = inner - begin < width ? inner - begin : width;
    const auto extent = n + static_cast<std::int64_t>(promise.extra);
    const bool is_backward = promise.direction == Direction::backward;
    Wide<T> folds[most];
    for (std::int64_t w = 0; w < count; ++w) folds[w] = first;
    for (std::int64_t step = 0; step < extent; ++step) {
      const std::int64_t k = is_backward ? n - 1 - step : step;
      const std::int64_t row = (outer * n + k) * inner + begin;
      const std::int64_t to = (outer * extent + (is_backward ? extent - 1 - step : step)) * inner;
      for (std::int64_t w = 0; w < count; ++w) {
        const Wide<T> before = folds[w];
        if (step < n && (mask == nullptr || mask[row + w])) {
          folds[w] = plain(Op{}, before, static_cast<Wide<T>>(in[row + w]));
        }
        const Wide<T> expected = promise.form == Form::exclusive ? before : folds[w];
        const std::int64_t at = to + begin + w;
        if (!(out[at] == static_cast<T>(expected)) && at < wrong) wrong = at;
      }
    }
  }
};

/// Scans `in` to `out` once with `scan`. Returns a message about the first wrong element, or
/// nothing. Both arrays are overwritten.
template <class Op, class Exec, class T, class Scan>
std::string complaint(const Exec& exec, const Field<Exec, T>& in, const bool* mask,
                      const Field<Exec, T>& out, const Promise& promise, const Scan& scan) {
  const auto all = [&](const Field<Exec, T>& field) {
    return Range<Exec>(exec, 0, static_cast<std::int64_t>(field.size()));
  };
  // First touch: pages belong to the NUMA node of this thread.
  Kokkos::parallel_for("perf check", all(in), FillExact<T, Op>{in.data()});
  Kokkos::parallel_for("perf check", all(out), FillPoison<T>{out.data()});
  if (promise.placement == Placement::in_place) Kokkos::deep_copy(exec, out, in);
  scan();
  const auto n = static_cast<std::int64_t>(in.extent(1));
  const auto inner = static_cast<std::int64_t>(in.extent(2));
  using Compare = CompareLines<T, Op>;
  const std::int64_t width = is_host<Exec> ? std::min(inner, Compare::most) : 1;
  const std::int64_t units =
      static_cast<std::int64_t>(in.extent(0)) * ((inner + width - 1) / width);
  std::int64_t wrong = 0;
  Kokkos::parallel_reduce(
      "perf check", Range<Exec>(exec, 0, units),
      Compare{in.data(), mask, out.data(), n, inner, width, promise, neutral<Wide<T>, Op>()},
      Kokkos::Min<std::int64_t>(wrong));
  exec.fence();
  if (wrong == std::numeric_limits<std::int64_t>::max()) return "";
  return "element " + std::to_string(wrong) + " of the output is wrong";
}

}  // namespace perf
