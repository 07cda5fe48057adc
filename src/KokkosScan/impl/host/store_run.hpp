// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Stores results that were computed in L1.

#include <KokkosScan/impl/host/instruction_sets.hpp>
#include <KokkosScan/impl/host/move.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace KokkosScan::impl::host {

/// Whether results stay in the caches or pass them by on their way to memory; `automatic` leaves
/// that to the backend.
enum class Destination { automatic, caches, memory };

/// Whether accumulators are stored as they are, and so can pass the caches by.
template <class A, class Value>
inline constexpr bool is_plain = std::is_same_v<A, Value>&& is_vectorized<A>;

/// A run of results in L1 that go past the caches. Whoever computes them stores them soon after:
/// all at once, they would keep elements from coming meanwhile (columns of 39 took 0.20 ns an
/// element instead of 0.16). The few before and behind whole registers go the same way: the
/// processor joins them with what else is stored to their cache lines.
template <class A>
class StreamedRun {
 public:
  StreamedRun() = default;
  /// \param to   where the first one belongs
  /// \param step where the next one does: 1 or -1 from there
  StreamedRun(const A* results, int count, A* to, int step)
      : m_begin(results), m_end(results + count), m_to(to), m_step(step) {}

  /// Stores those below `end` that fill registers.
  template <int places>
  [[gnu::always_inline]] void store_up_to(const A* end) {
    constexpr int lanes = sizeof(Register<A, places>) / sizeof(A);
    if (end > m_end) end = m_end;
    if (m_step < 0) return store_reversed(end);
    for (; m_begin < end && !is_aligned<places>(m_to); ++m_begin, ++m_to) {
      stream_value(m_to, *m_begin);
    }
    for (; end - m_begin >= lanes; m_begin += lanes, m_to += lanes) {
      stream_register(m_to, load_register<places>(m_begin));
    }
  }
  /// Stores those from `begin` on that fill registers, the last ones first; in the same order.
  template <int places>
  [[gnu::always_inline]] void store_down_to(const A* begin) {
    constexpr int lanes = sizeof(Register<A, places>) / sizeof(A);
    if (begin < m_begin) begin = m_begin;
    A* to = m_to + (m_end - m_begin);
    while (m_end > begin && !is_aligned<places>(to)) stream_value(--to, *--m_end);
    while (m_end - begin >= lanes) {
      m_end -= lanes;
      to -= lanes;
      stream_register(to, load_register<places>(m_end));
    }
  }
  /// Stores all that is left.
  template <int places>
  [[gnu::always_inline]] void finish() {
    store_up_to<places>(m_end);
    while (m_begin < m_end) stream_value(m_to, *m_begin), skip(1);
  }
  void finish(Registers registers) {
    call_with(
        registers, [run = *this](auto places) __attribute__((always_inline)) {
          StreamedRun rest = run;  // a copy, which stores cannot alias
          rest.template finish<places>();
        });
  }

 private:
  [[gnu::always_inline]] void store_reversed(const A* end) {
    constexpr int lanes = sizeof(Register<A>) / sizeof(A);
    while (m_begin < end && !is_aligned<1>(m_to + 1)) stream_value(m_to, *m_begin), skip(1);
    for (; end - m_begin >= lanes; skip(lanes)) {
      stream_register(m_to - (lanes - 1), reverse(load_register(m_begin)));
    }
  }
  [[gnu::always_inline]] void skip(int count) {
    m_begin += count;
    m_to += m_step * count;
  }
  template <int places>
  [[gnu::always_inline]] static bool is_aligned(const A* to) {
    return reinterpret_cast<std::uintptr_t>(to) % sizeof(Register<A, places>) == 0;
  }

  const A* m_begin = nullptr;  ///< the first that is not stored yet
  const A* m_end = nullptr;    ///< behind the last one
  A* m_to = nullptr;           ///< where the first one belongs
  int m_step = 1;
};

/// Stores results upwards (step 1) or downwards (step -1) from `to` on.
template <class A, class Value>
void store_run(bool streams, const A* results, int count, Value* to, int step = 1) {
  if constexpr (is_plain<A, Value>) {
    if (streams) return StreamedRun<A>(results, count, to, step).finish(widest_registers());
  }
  if (step < 0) {
    convert<-1>(results + (count - 1), count, to - (count - 1));
  } else if constexpr (is_plain<A, Value>) {
    std::memcpy(to, results, static_cast<std::size_t>(count) * sizeof(A));
  } else {
    convert(results, count, to);
  }
}

}  // namespace KokkosScan::impl::host
