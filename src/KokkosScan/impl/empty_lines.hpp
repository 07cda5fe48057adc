// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Results of lines without elements, on every execution space. Backends never see such lines, and
/// no input or operator is compiled for them.

#include <KokkosScan/impl/accumulate.hpp>
#include <KokkosScan/impl/policy.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <Kokkos_Core.hpp>
#include <cstdint>
#include <string>

namespace KokkosScan::impl {

/// Stores B(0), the starting value or else the identity, as the extra element and as the total.
///
/// \tparam A the accumulator
/// \tparam R the carried type, through which results pass
/// \tparam Out as in Problem
template <class A, class R, class Start, class Out, class Total>
struct EmptyLines {
  using Value = typename OutputOf<Out>::Value;

  Batch batch;
  Maybe<A> identity;
  Start start;
  output_of_t<Out> output;  ///< does not exist if there is no extra element
  Array<Total> totals;      ///< data is null if no totals are wanted

  KOKKOS_FUNCTION void operator()(std::int64_t line) const {
    const Coordinates at = batch.coordinates(line);
    // A total may alias the start. Dispatch guarantees that the start or the identity exists.
    const Maybe<A> first = start.at(at);
    const R fold = static_cast<R>(first.exists ? first.value : identity.value);
    if (exists(output)) output.line(at)(0) = static_cast<Value>(fold);
    if (totals.data != nullptr) totals.line(at)(0) = static_cast<Total>(fold);
  }
};

template <class Exec, class Lines>
void empty_lines(const Exec& exec, const std::string& label, const Lines& lines) {
  for_each_index(exec, label + " [empty_lines]", lines.batch.count, lines);
}

}  // namespace KokkosScan::impl
