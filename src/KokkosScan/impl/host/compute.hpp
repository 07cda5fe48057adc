// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Evaluates computed inputs at neighbouring indices, in loops that the compiler can vectorise.

#include <KokkosScan/impl/host/chunks.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace KokkosScan::impl::host {

/// How the function's indices differ between lines that are neighbours in a dimension of the batch:
/// one index changes by `step`, until its extent ends.
struct Neighbours {
  int dimension = 0;
  std::int64_t step = 0;

  template <int Rank, class Function>
  Neighbours(const Computed<Rank, Function>& indices, int of_batch) {
    if (of_batch < 0) return;
    const int outermost = indices.axis == 0 ? 1 : 0;
    dimension = indices.axis == Rank - 1 ? Rank - 2 : Rank - 1;
    step = indices.strides.batch[of_batch];
    if constexpr (Rank > 1) {  // avoids a GCC warning about an index out of range
      while (dimension > outermost && step % indices.extent[dimension] == 0) {
        step /= indices.extent[dimension];
        dimension -= dimension - 1 == indices.axis ? 2 : 1;
      }
    }
  }
  /// The number of lines, at most `most`, from a line to the end of that extent.
  template <int Rank, class Function>
  [[nodiscard]] int count(const Computed<Rank, Function>& indices,
                          const ComputedLine<Rank, Function>& line, int most) const {
    if (step == 0) return 1;
    const std::int64_t at = line.index[dimension];
    const std::int64_t left = step > 0 ? indices.extent[dimension] - 1 - at : at;
    const std::int64_t magnitude = step > 0 ? step : -step;
    return left >= most * magnitude
               ? most
               : static_cast<int>(std::min<std::int64_t>(most, left / magnitude + 1));
  }
};

/// Calls f with the dimension as a compile-time constant.
template <int Rank, class F>
void with_dimension(int dimension, const F& f) {
  const auto call = [&]<int... D>(std::integer_sequence<int, D...>) {
    ((D == dimension ? f(constant<D>) : void()), ...);
  };
  call(std::make_integer_sequence<int, Rank>{});
}

/// x[i] = function(index...) at `count` places that are `step` apart in one dimension. The
/// dimension is a template parameter, so the loop is one that a user would write over arrays. As x
/// does not alias the function (`__restrict__`), its members stay in registers. Not inlined:
/// arithmetic values are rounded when they are stored, and rounded() would prevent vectorisation.
template <int moving, class A, class Function, int... D>
[[gnu::noinline]] void compute_along(const Function& __restrict__ function,
                                     const std::int64_t* index, std::int64_t step, int count,
                                     A* __restrict__ x, std::integer_sequence<int, D...>) {
  const std::int64_t at[] = {index[D]...};
  const auto element = [&](std::int64_t place) {
    const auto value = function((D == moving ? place : at[D])...);
    if constexpr (std::is_arithmetic_v<A>) {
      return static_cast<A>(value);
    } else {
      return static_cast<A>(rounded(value));
    }
  };
  if (step == 1) {
    for (int i = 0; i < count; ++i) x[i] = element(at[moving] + i);
  } else {
    for (int i = 0; i < count; ++i) x[i] = element(at[moving] + i * step);
  }
}
template <class A, int Rank, class Function>
void compute_along(const ComputedLine<Rank, Function>& line, int moving, std::int64_t step,
                   int count, A* x) {
  with_dimension<Rank>(moving, [&](auto dimension) {
    compute_along<dimension>(line.function, line.index, step, count, x,
                             std::make_integer_sequence<int, Rank>{});
  });
}

}  // namespace KokkosScan::impl::host
