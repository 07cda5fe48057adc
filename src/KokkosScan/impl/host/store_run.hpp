// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Stores results from a buffer in L1.

#include <KokkosScan/impl/host/instruction_sets.hpp>
#include <KokkosScan/impl/host/move.hpp>
#include <KokkosScan/impl/host/tuning.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace KokkosScan::impl::host {

/// Whether results are stored in the caches, or in memory with non-temporal stores; `automatic`
/// leaves that to the backend.
enum class Destination { automatic, caches, memory };

/// Whether accumulators are stored unconverted, which non-temporal stores require.
template <class A, class Value>
inline constexpr bool is_plain = std::is_same_v<A, Value>&& is_vectorized<A>;

/// A run of results in L1 that are written with non-temporal stores. The kernel that computes them
/// stores them soon after: all stores at once would stall loads of elements. They are stored in
/// whole cache lines; the few before and behind use non-temporal stores as well, and the processor
/// combines them with other stores to the same cache line.
template <class A>
class StreamedRun {
  static constexpr int line = cache_line / sizeof(A);

 public:
  StreamedRun() = default;
  /// \param to   the address of the first result in memory
  /// \param step the distance from there to the next: 1 or -1
  StreamedRun(const A* results, std::int64_t count, A* to, int step)
      : m_begin(results), m_end(results + count), m_to(to), m_step(step) {}

  /// Makes the buffer one page that is used again and again (see rewind()): results are computed in
  /// memory order, upwards or downwards, and only those not stored yet are kept.
  ///
  /// \param home the beginning of that page if results are computed upwards, else its end
  void rewinds_to(A* home) { m_home = home; }

  /// Stores results below `end`, as far as they fill cache lines.
  ///
  /// \tparam may_descend whether `step` may be -1
  template <int places, bool may_descend = false>
  [[gnu::always_inline]] void store_up_to(const A* end) {
    if (end > m_end) end = m_end;
    if constexpr (may_descend) {
      if (m_step < 0) return store_reversed(end);
    }
    for (; m_begin < end && !is_aligned<places>(m_to); ++m_begin, ++m_to) {
      stream_value(m_to, *m_begin);
    }
    constexpr int lanes = sizeof(Register<A, places>) / sizeof(A);
    while (end - m_begin >= lanes && !begins_line(m_to)) store_next<places>();
    KOKKOSSCAN_IMPL_ROLLED for (; end - m_begin >= line; m_begin += line, m_to += line) {
      stream_line<places>(m_to, m_begin);
    }
  }
  /// Stores results from `begin` on, from the last one down, as far as they fill cache lines.
  template <int places>
  [[gnu::always_inline]] void store_down_to(const A* begin) {
    if (begin < m_begin) begin = m_begin;
    A* to = m_to + (m_end - m_begin);
    constexpr int lanes = sizeof(Register<A, places>) / sizeof(A);
    while (m_end > begin && !is_aligned<places>(to)) stream_value(--to, *--m_end);
    while (m_end - begin >= lanes && !begins_line(to)) {
      m_end -= lanes;
      to -= lanes;
      stream_register(to, load_register<places>(m_end));
    }
    KOKKOSSCAN_IMPL_ROLLED for (; m_end - begin >= line;) {
      m_end -= line;
      to -= line;
      stream_line<places>(to, m_end);
    }
  }
  /// If `count` more results would not fit into the page, stores those below `end` (or from `end`
  /// on if computed downwards), and moves the rest of a cache line back to `home`.
  ///
  /// \return the distance of that move, by which later results must move too
  template <int places>
  [[gnu::always_inline]] std::int64_t rewind(const A* end, std::int64_t count, bool is_upwards) {
    constexpr int most = (page_bytes - 32) / sizeof(A);  // a register may exceed the last result
    if (m_home == nullptr || (is_upwards ? end - m_home : m_home - end) + count <= most) return 0;
    if (is_upwards) {
      store_up_to<places>(end);
      std::memcpy(m_home, m_begin, cache_line);
    } else {
      store_down_to<places>(end);
      std::memcpy(m_home - line, m_end - line, cache_line);
    }
    const std::int64_t shift = m_home - (is_upwards ? m_begin : m_end);
    m_begin += shift;
    m_end += shift;
    return shift;
  }
  /// Stores all remaining results.
  template <int places>
  [[gnu::always_inline]] void finish() const {
    call_apart<places>([run = *this]() __attribute__((always_inline)) {
      StreamedRun rest = run;  // a copy, which stores cannot alias
      rest.template store_up_to<places, true>(rest.m_end);
      constexpr int lanes = sizeof(Register<A, places>) / sizeof(A);
      while (rest.m_step > 0 && rest.m_end - rest.m_begin >= lanes) {
        rest.template store_next<places>();
      }
      while (rest.m_begin < rest.m_end) stream_value(rest.m_to, *rest.m_begin), rest.skip(1);
    });
  }
  void finish(Registers registers) const {
    call_with(
        registers, [run = *this](auto places)
                       __attribute__((always_inline)) { run.template finish<places>(); });
  }

 private:
  /// Stores one register to an aligned address.
  template <int places>
  [[gnu::always_inline]] void store_next() {
    constexpr int lanes = sizeof(Register<A, places>) / sizeof(A);
    stream_register(m_to, load_register<places>(m_begin));
    skip(lanes);
  }
  template <int places>
  [[gnu::always_inline]] static void stream_line(A* to, const A* from) {
    constexpr int lanes = sizeof(Register<A, places>) / sizeof(A);
    KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < line; i += lanes) {
      stream_register(to + i, load_register<places>(from + i));
    }
  }
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
  [[gnu::always_inline]] static bool begins_line(const A* to) {
    return reinterpret_cast<std::uintptr_t>(to) % cache_line == 0;
  }

  const A* m_begin = nullptr;  ///< the first result that is not stored yet
  const A* m_end = nullptr;    ///< one past the last, as if L1 held all of them
  A* m_to = nullptr;           ///< the destination of the first
  A* m_home = nullptr;         ///< null if the buffer holds all results
  int m_step = 1;
};

/// Copies results of any type with non-temporal stores of whole cache lines.
inline void stream_bytes(const void* results, std::size_t bytes, void* to) {
  const char* from = static_cast<const char*>(results);
  char* address = static_cast<char*>(to);
  const std::size_t before = -reinterpret_cast<std::uintptr_t>(to) % cache_line;
  const std::size_t head = before < bytes ? before : bytes;
  std::memcpy(address, from, head);
  std::size_t i = head;
  for (; i + cache_line <= bytes; i += cache_line) {
    KOKKOSSCAN_IMPL_UNROLL for (int j = 0; j < cache_line; j += 16) {
      std::int64_t lanes[2];
      std::memcpy(lanes, from + i + j, sizeof lanes);
      stream_register(reinterpret_cast<std::int64_t*>(address + i + j),
                      load_register(static_cast<const std::int64_t*>(lanes)));
    }
  }
  std::memcpy(address + i, from + i, bytes - i);
}

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
