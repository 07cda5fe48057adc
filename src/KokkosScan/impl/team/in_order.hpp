// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// In-order scans with one thread per line: the serial loop.

#include <KokkosScan/impl/in_order.hpp>
#include <KokkosScan/impl/policy.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <Kokkos_Core.hpp>
#include <cstdint>
#include <string>
#include <type_traits>

namespace KokkosScan::impl::team {

template <class P>
struct LineInOrder {
  using A = typename P::A;
  using Value = typename P::Value;
  using Total = std::remove_pointer_t<decltype(P::totals.data)>;

  P problem;

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    const P& p = problem;
    const Coordinates c = p.batch.coordinates(index);
    const auto input = p.input.line(c);
    const auto output = p.output.line(c);
    const bool is_exclusive = p.form == Form::exclusive;
    Maybe<A> fold = p.start.at(c);
    const auto store = [&](std::int64_t k) {
      output(k) = static_cast<Value>(or_identity(fold, p.identity));
    };
    if (p.extra == Extra::first) store(-1);
    for (std::int64_t k = 0; k < p.n; ++k) {
      // Read an element before a result is written in its place: a line may be its own output.
      Maybe<A> x;
      if (counts(input, k)) x = Maybe<A>(element<A>(input, k));
      if (is_exclusive) store(k);
      if (x.exists) fold = Maybe<A>(combine(p.op, fold, x.value));
      if (!is_exclusive) store(k);
    }
    if (p.extra == Extra::last) store(p.n);
    if (p.totals.data != nullptr) {
      p.totals.line(c)(0) = static_cast<Total>(or_identity(fold, p.identity));
    }
  }
};

template <class Exec, class P>
void scan_in_order(const Exec& exec, const std::string& label, const P& problem) {
  for_each_index(exec, label + " [team/in_order]", problem.batch.count, LineInOrder<P>{problem});
}

}  // namespace KokkosScan::impl::team
