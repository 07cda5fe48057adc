// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A measured problem: a shape, its strides, and a kind.

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace perf {

using Exec = Kokkos::DefaultExecutionSpace;
using Range = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
using Strides = Kokkos::Array<std::int64_t, 3>;

enum class Form { inclusive, exclusive, exclusive_with_total };
enum class Direction { forward, backward };

/// Lines of n elements along the middle of (outer, n, inner), to which any array and axis reduces.
/// Run-time numbers only, so that shapes, layouts and pitches cost no compile time.
struct Problem {
  std::int64_t outer, n, inner;
  Form form = Form::inclusive;
  Direction direction = Direction::forward;
  Strides in{}, out{};  ///< of an element

  [[nodiscard]] KOKKOS_FUNCTION std::int64_t outputs() const {
    return form == Form::exclusive_with_total ? n + 1 : n;
  }
  [[nodiscard]] KOKKOS_FUNCTION std::int64_t lines() const { return outer * inner; }
};

/// The number of elements from the first to the last, including gaps.
inline std::int64_t span(const Problem& p, std::int64_t n, const Strides& strides) {
  return 1 + (p.outer - 1) * strides[0] + (n - 1) * strides[1] + (p.inner - 1) * strides[2];
}
inline std::int64_t span_in(const Problem& p) { return span(p, p.n, p.in); }
inline std::int64_t span_out(const Problem& p) { return span(p, p.outputs(), p.out); }

/// Device memory: the input, a second input (mask or factors), the output, and scratch memory of
/// the reference.
struct Memory {
  const void* in;
  const void* second;
  void* out;
  void* scratch;
};

/// Exact data are small integers whose sums are exact in any order, so that every wrong element
/// shows. Natural data, which use all bits, are timed.
enum class Data { exact, natural };

/// The interface of a kind, an operator on a type, which one source file compiles.
struct Kind {
  std::string type;
  std::size_t in, second, out;  ///< element sizes in bytes; second is 0 if there is none
  std::function<void(const Exec&, const Memory&, std::int64_t elements, Data)> fill;
  std::function<void(const Exec&, const Problem&, const Memory&)> scan;
  /// The number of outputs whose error exceeds the promised bound.
  std::function<std::int64_t(const Exec&, const Problem&, const Memory&, Data)> wrong;
};

}  // namespace perf
