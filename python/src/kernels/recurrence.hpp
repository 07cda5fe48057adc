// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Recurrences as plain numbers; see request.hpp. Arrays have three dimensions, of which the second
/// is the axis.

#include <cstdint>

#include "request.hpp"

namespace kokkos_scan_python {

/// The type in which states are computed.
enum class States : std::uint8_t {
  like_loop,  ///< float for 16-bit floats, otherwise the type of the arrays
  in_double,
};

/// A linear recurrence h(k) = a(k) h(k-1) + b(k). All arrays but `reset` have the same real
/// floating type.
struct RecurrenceRequest {
  Direction direction = Direction::forward;
  States states = States::like_loop;
  std::int64_t extent[3] = {};
  Array a;                 ///< where it is absent, all coefficients are `coefficient`
  double coefficient = 0;  ///< is rounded only to the type of the states
  Array b;
  Array reset;   ///< of bool: where it is true, h(k) = b(k), whatever h(k-1) is. Not with in_double
  Array starts;  ///< h(-1) for each line, with the first and third dimension; 0 if absent
  Array output;
  /// Number of results per line: that of elements, or one more, which is h(-1).
  std::int64_t output_length = 0;
  Place place;
};

/// Enqueues the computation of a recurrence; one launch.
KOKKOS_SCAN_PYTHON_API void recurrence(const RecurrenceRequest& request);

/// The same for a type of the output.
template <DType D>
void recurrence_of(const RecurrenceRequest& request);

/// Advantages along time, from the last step to the first: with V(n) = next_value and c(k) = 0
/// where done(k) is true, otherwise gamma,
///   A(k) = rho(k) (reward(k) + c(k) V(k+1) - V(k)) + lambda trace(k) c(k) A(k+1), A(n) = 0,
/// where rho and trace are 1 or, of importance ratios exp(log_ratio(k)), at most rho_limit and
/// trace_limit. Where done is true, nothing of the steps behind it matters, even if it is NaN.
struct AdvantageRequest {
  std::int64_t extent[3] = {};
  double gamma = 1;
  double lambda = 1;
  double rho_limit = 1;
  double trace_limit = 1;
  Array reward;
  Array value;
  Array log_ratio;   ///< absent: rho and trace are 1
  Array done;        ///< of bool; absent: nowhere true
  Array next_value;  ///< one for each line
  Array advantage;   ///< written: row-major
  Array target;      ///< written: row-major; A(k) + V(k)
  Place place;
};

/// Enqueues the computation of advantages; one launch.
KOKKOS_SCAN_PYTHON_API void advantage(const AdvantageRequest& request);

}  // namespace kokkos_scan_python
