// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The base class of the in-order scanners of lines and of strips: masks, stores and totals.

#include <KokkosScan/impl/host/in_order_kernels.hpp>
#include <KokkosScan/impl/host/load.hpp>
#include <KokkosScan/impl/host/store_run.hpp>
#include <KokkosScan/impl/host/trees.hpp>
#include <KokkosScan/impl/host/tuning.hpp>
#include <KokkosScan/impl/in_order.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace KokkosScan::impl::host {

/// An input without its masks.
template <class In>
const In& without_masks(const In& in) {
  return in;
}
template <class A, class Values, class Mask>
const auto& without_masks(const Selected<A, Values, Mask>& in) {
  return without_masks(in.values);
}

/// Loads the mask of `count` elements: neighbours in a line, or one of each of several lines.
/// Nested masks are combined; an input without a mask changes nothing.
template <int Most, bool across, class In>
void load_counts(const In&, const Coordinates&, std::int64_t, int, bool*, bool) {}
template <int Most, bool across, class A, class Values, class Mask>
void load_counts(const Selected<A, Values, Mask>& in, const Coordinates& c, std::int64_t k,
                 int count, bool* selected, bool is_outermost = true) {
  bool loaded[Most];
  bool* const to = is_outermost ? selected : loaded;
  if constexpr (across) {
    load_across<Most>(in.mask, c, k, count, to);
  } else {
    load_along<Most>(in.mask.line(c), k, count, to);
  }
  if (!is_outermost) {
    for (int i = 0; i < count; ++i) selected[i] = selected[i] && loaded[i];
  }
  load_counts<Most, across>(in.values, c, k, count, selected, false);
}

/// The mask of the line at `c` in place, if its neighbours along the line (or across lines) are
/// contiguous; else data is null. Nested masks have to be loaded.
template <bool across, class In>
ArrayLine<const StoredBool> counts_as_stored(const In&, const Coordinates&) {
  return {nullptr, 0};
}
template <bool across, class A, class Values, class Mask>
ArrayLine<const StoredBool> counts_as_stored(const Selected<A, Values, Mask>& in,
                                             const Coordinates& c) {
  if constexpr (is_selected<Values>) {
    return {nullptr, 0};
  } else if constexpr (across) {
    return as_stored<StoredBool>(in.mask, c);
  } else {
    return {as_stored<StoredBool>(in.mask.line(c), 1), 1};
  }
}

/// A problem that is scanned in order.
template <class P>
class InOrderScanner {
 public:
  using A = typename P::A;
  using Op = std::remove_cv_t<decltype(P::op)>;
  using Value = std::remove_pointer_t<decltype(P::output.data)>;
  using Total = std::remove_pointer_t<decltype(P::totals.data)>;
  static constexpr bool is_masked = is_selected<std::remove_cv_t<decltype(P::input)>>;

  InOrderScanner(const P& problem, Destination destination, Registers registers)
      : m_problem(problem),
        m_registers(registers),
        m_streams(is_plain<A, Value> && can_stream && destination == Destination::memory) {}
  InOrderScanner(const InOrderScanner&) = delete;
  InOrderScanner& operator=(const InOrderScanner&) = delete;
  ~InOrderScanner() {
    if (m_streams) end_streaming();
  }

 protected:
  /// Combines an unmasked element.
  void add(A& fold, bool& exists, const A& x) const {
    fold = exists ? m_problem.op(fold, x) : x;
    exists = true;
  }
  /// B(k), as it is stored.
  [[nodiscard]] A result(const A& fold, bool exists) const {
    return exists ? fold : m_problem.identity.value;
  }
  /// Sets the fold to the starting value, if there is one.
  void start(const Coordinates& c, A& fold, bool& exists) const {
    const Maybe<A> start = m_problem.start.at(c);
    exists = start.exists;
    if (exists) fold = start.value;
  }
  void store_total(const Coordinates& c, const A& fold, bool exists) const {
    if (m_problem.totals.data == nullptr) return;
    m_problem.totals.line(c)(0) = static_cast<Total>(result(fold, exists));
  }

  const P& m_problem;
  Registers m_registers;
  bool m_streams;
};

}  // namespace KokkosScan::impl::host
