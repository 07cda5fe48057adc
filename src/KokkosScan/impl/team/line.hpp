// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// One line of a problem, scanned chunk by chunk along the combination tree (generic_tree.hpp).

#include <KokkosScan/impl/generic_tree.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <Kokkos_Core.hpp>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace KokkosScan::impl::team {

using generic_tree::chunk_length, generic_tree::chunks_of_tile, generic_tree::tile_length;
using generic_tree::divide_up, generic_tree::Prefix;

/// One line of a problem: reads elements and stores results, in the carried type R.
template <class P>
class Line {
 public:
  using A = typename P::A;
  using Op = typename Combination<P>::Wide;
  using R = typename Combination<P>::R;

  KOKKOS_FUNCTION Line(const P& problem, const Op& op, std::int64_t line)
      : Line(problem, op, problem.batch.coordinates(line)) {}

  /// The starting value.
  KOKKOS_FUNCTION Maybe<R> start() const {
    const Maybe<A> start = m_problem.start.at(m_coordinates);
    return start.exists ? Maybe<R>(static_cast<R>(start.value)) : Maybe<R>();
  }

  /// The fold of the elements begin to end - 1, of which there is at least one.
  KOKKOS_FUNCTION R fold(std::int64_t begin, std::int64_t end) const {
    R total = read(begin);
    for (std::int64_t k = begin + 1; k < end; ++k) total = m_op(total, read(k));
    return total;
  }

  /// Scans the elements begin to end - 1, at least one and all of one chunk, and stores their
  /// results. An element is read before its place may be written, and results are stored only in
  /// places of elements of this chunk, because a line may be its own output.
  ///
  /// \param prefix the prefix of the chunk
  /// \return the chunk's total
  KOKKOS_FUNCTION R scan_chunk(std::int64_t begin, std::int64_t end, Prefix<R> prefix) const {
    const Maybe<R> carry = prefix.carry(m_op);
    R chunk = read(begin);
    if (m_problem.form == Form::exclusive || (begin == 0 && m_problem.extra == Extra::first)) {
      store(begin, fold_of_none(carry));
    }
    for (std::int64_t k = begin + 1; k < end; ++k) {
      const R x = read(k);
      store(k, combine(m_op, carry, chunk));
      chunk = m_op(chunk, x);
    }
    const bool is_last = end == m_problem.n;
    if (m_problem.form == Form::exclusive && !is_last) return chunk;
    R result = combine(m_op, carry, chunk);
    if (end % chunk_length == 0) {
      prefix.add_chunk(m_op, chunk);
      result = prefix.carry(m_op).value;
    }
    if (m_problem.form == Form::inclusive || m_problem.extra == Extra::last) store(end, result);
    if (is_last) store_total(result);
    return chunk;
  }

 private:
  using InputLine = decltype(std::declval<P>().input.line(std::declval<Coordinates>()));
  using OutputLine = decltype(std::declval<P>().output.line(std::declval<Coordinates>()));

  KOKKOS_FUNCTION Line(const P& problem, const Op& op, const Coordinates& c)
      : m_problem(problem),
        m_op(op),
        m_coordinates(c),
        m_input(problem.input.line(c)),
        m_output(problem.output.line(c)) {}

  KOKKOS_FORCEINLINE_FUNCTION R read(std::int64_t k) const {
    return static_cast<R>(static_cast<A>(m_input(k)));
  }
  /// Stores B(k).
  KOKKOS_FORCEINLINE_FUNCTION void store(std::int64_t k, const R& value) const {
    m_output(m_problem.form == Form::inclusive ? k - 1 : k) = static_cast<typename P::Value>(value);
  }
  KOKKOS_FUNCTION void store_total(const R& value) const {
    using Total = std::remove_cvref_t<decltype(m_problem.totals.line(m_coordinates)(0))>;
    if (m_problem.totals.data == nullptr) return;
    m_problem.totals.line(m_coordinates)(0) = static_cast<Total>(value);
  }
  /// B(0). Dispatch guarantees that carry or identity exists wherever it is stored.
  KOKKOS_FUNCTION R fold_of_none(const Maybe<R>& carry) const {
    return carry.exists ? carry.value : static_cast<R>(m_problem.identity.value);
  }

  const P& m_problem;
  const Op& m_op;
  Coordinates m_coordinates;
  InputLine m_input;
  OutputLine m_output;
};

}  // namespace KokkosScan::impl::team
