// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Stores results: a Writer takes them in order, holds them in L1 and stores whole cache lines.

#include <KokkosScan/impl/host/simd.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace KokkosScan::impl::host {

/// Whether results stay in the caches or pass them by on their way to memory; `automatic` leaves
/// that to the backend.
enum class Destination { automatic, caches, memory };

/// Stores results upwards and past the caches, as many as make whole registers, and those before;
/// returns how many.
template <class A>
int stream_aligned(const A* results, int count, A* to) {
  constexpr int lanes = Pack<A>::lanes;
  int i = 0;
  for (; i < count && reinterpret_cast<std::uintptr_t>(to + i) % 16 != 0; ++i) {
    stream_value(to + i, results[i]);
  }
  for (; i + lanes <= count; i += lanes) stream_register(to + i, load_register(results + i));
  return i;
}

/// Stores a sequence of accumulators as values that lie `stride` apart.
///
/// The writer holds results back: until it has `Batch` of them, and those of a cache line until
/// that is full, so that each line of memory is stored at once, whatever its alignment. Holding
/// back is also what lets a line be its own output: nothing is stored before the element in its
/// place has been loaded.
///
/// \tparam Batch results that are worth storing
/// \tparam Room  the most results that are added at once; a multiple of those of a cache line
template <class A, class Value, int Batch, int Room>
class Writer {
  static constexpr int of_line = cache_line / sizeof(Value);
  static constexpr int lanes = 16 / sizeof(Value);
  static constexpr int apart_bytes = 2048;

 public:
  /// Whether whole registers can be stored as they are.
  static constexpr bool is_plain = std::is_same_v<A, Value> && is_vectorized<A>;

  explicit Writer(Destination destination)
      : m_streams(is_plain && can_stream && destination == Destination::memory) {}
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() {
    flush_all();
    if (m_streams) end_streaming();
  }

  /// The next result is stored at `to`; an earlier sequence ends, unless this continues it.
  void seek(Value* to, std::int64_t stride) {
    if (to == m_to + m_held * m_stride && stride == m_stride) return;
    flush_all();
    m_to = to;
    m_stride = stride;
    m_results = place();
  }

  /// Where to put up to Room results, and four places more that may be overwritten.
  [[nodiscard]] A* next() { return m_results + m_held; }

  /// The results at next() are `count` more than before. Those behind them keep their place there.
  void add(int count) {
    m_held += count;
    if (m_held >= Batch) flush();
  }

  /// Where to put `count` results, at most Room, which are stored at `to` and on: in front of the
  /// earlier ones, or an earlier sequence ends. The Room places before may be overwritten.
  [[nodiscard]] A* next_below(Value* to, int count) {
    if (to + count != m_to || m_stride != 1 || m_held == 0) {
      flush_all();
      m_to = to + count;
      m_stride = 1;
      m_results = place() + 2 * Room;
    }
    return m_results - count;
  }

  /// The results at next_below() are `count` more than before.
  void add_below(int count) {
    m_to -= count;
    m_results -= count;
    m_held += count;
    if (m_held >= Batch) flush_below();
  }

  /// Whether whole chunks of results may be stored at `to` and on without the writer.
  [[nodiscard]] bool may_bypass(const Value* to, std::int64_t stride) const {
    if (!is_plain || (stride != 1 && stride != -1)) return false;
    const Value* aligned = stride == 1 ? to : to + 1;
    return !m_streams || reinterpret_cast<std::uintptr_t>(aligned) % 16 == 0;
  }

  [[nodiscard]] bool streams() const { return m_streams; }

  /// Stores results upwards, at once; where the writer streams, `to` is the begin of a cache line.
  void store_now(const A* results, int count, Value* to) const {
    int i = 0;
    if constexpr (is_plain) {
      for (; m_streams && i + of_line <= count; i += of_line) {
        for (int j = 0; j < of_line; j += lanes) {
          stream_register(to + i + j, load_register(results + i + j));
        }
      }
    }
    copy(results + i, count - i, to + i);
  }

 private:
  void flush() {
    int done = m_held;
    if (m_stride == 1) {
      done = m_streams ? stream_up() : copy(m_results, m_held, m_to);
    } else if (m_stride == -1) {
      if (is_plain) {
        done = down();
      } else if (m_held > 0) {
        convert<-1>(m_results + (m_held - 1), m_held, m_to - (m_held - 1));
      }
    } else {
      for (int i = 0; i < m_held; ++i) m_to[i * m_stride] = static_cast<Value>(m_results[i]);
    }
    m_to += done * m_stride;
    m_held -= done;
    // At most a cache line is held back; one result more may wait at next().
    A* const to = place();
    if (m_held == 0) {
      to[0] = m_results[done];
    } else {
      std::memmove(to, m_results + done, static_cast<std::size_t>(m_held + 1) * sizeof(A));
    }
    m_results = to;
  }

  /// Where the result that belongs at m_to is held.
  ///
  /// A load waits for an earlier store to an address with the same low 12 bits, and stores past the
  /// caches take long. So results on their way there are held half of that from where they go, or a
  /// quarter if they go down; and at as many bytes after the begin of a cache line.
  A* place() {
    if (!m_streams) return m_buffer;
    const auto to = reinterpret_cast<std::uintptr_t>(m_to);
    const auto held = reinterpret_cast<std::uintptr_t>(m_buffer);
    const auto apart = static_cast<std::uintptr_t>(m_stride < 0 ? apart_bytes / 2 : apart_bytes);
    return m_buffer + (to + apart - held) % (2 * apart_bytes) / sizeof(A);
  }

  /// Stores all but those of the lowest cache line, of which some are still to come.
  void flush_below() {
    const int waiting = m_streams ? std::min(to_line(m_to), m_held) : 0;
    int i = waiting;
    if constexpr (is_plain) {
      if (m_streams) {
        i += (m_held - i) / of_line * of_line;
        store_now(m_results + waiting, i - waiting, m_to + waiting);
        for (; i < m_held; ++i) stream_value(m_to + i, m_results[i]);
      }
    }
    copy(m_results + i, m_held - i, m_to + i);
    A* const to = place() + 2 * Room;
    std::memmove(to, m_results, static_cast<std::size_t>(waiting) * sizeof(A));
    m_held = waiting;
    m_results = to;
  }

  void flush_all() {
    flush();
    store_some(m_held);
    m_held = 0;
  }

  /// The first `count` results, less than a cache line. Where it streams, they bypass the caches
  /// as well: the processor joins them with what is stored to the rest of the line before or after,
  /// while an ordinary store would have to wait for that.
  void store_some(int count) {
    for (int i = 0; i < count; ++i) {
      if constexpr (is_plain) {
        if (m_streams) {
          stream_value(m_to + i * m_stride, m_results[i]);
          continue;
        }
      }
      m_to[i * m_stride] = static_cast<Value>(m_results[i]);
    }
  }

  static int copy(const A* from, int count, Value* to) {
    int i = 0;
    if constexpr (is_plain) {
      for (; i + of_line <= count; i += of_line) {
        for (int j = 0; j < of_line; j += lanes) {
          store_register(to + i + j, load_register(from + i + j));
        }
      }
    }
    convert(from + i, count - i, to + i);
    return count;
  }

  /// The elements from `to` on to the next address that is a multiple of a cache line.
  static int to_line(const Value* to) {
    const auto odd = reinterpret_cast<std::uintptr_t>(to) % cache_line;
    return odd == 0 ? 0 : static_cast<int>((cache_line - odd) / sizeof(Value));
  }

  /// Streams whole cache lines upwards; returns how many results that stored.
  int stream_up() {
    if constexpr (is_plain) {
      int i = to_line(m_to);
      if (m_held < i) return 0;
      store_some(i);
      const int whole = i + (m_held - i) / of_line * of_line;
      store_now(m_results + i, whole - i, m_to + i);
      return whole;
    }
    return 0;
  }

  /// Stores downwards, whole cache lines where it streams; returns how many results that stored.
  int down() {
    if constexpr (is_plain) {
      int i = 0;
      if (m_streams) {
        const int above_line = (of_line - to_line(m_to + 1)) % of_line;
        if (m_held < above_line) return 0;
        store_some(above_line);
        i = above_line;
      }
      for (; i + of_line <= m_held; i += of_line) {
        for (int j = 0; j < of_line; j += lanes) {
          const Register<A> v = reverse(load_register(m_results + i + j));
          Value* low = m_to - i - j - (lanes - 1);
          if (m_streams) {
            stream_register(low, v);
          } else {
            store_register(low, v);
          }
        }
      }
      if (!m_streams) {
        for (; i < m_held; ++i) m_to[-i] = m_results[i];
      }
      return i;
    }
    return 0;
  }

  bool m_streams;
  int m_held = 0;
  Value* m_to = nullptr;
  std::int64_t m_stride = 0;
  alignas(cache_line) A m_buffer[(is_plain ? 2 * apart_bytes / static_cast<int>(sizeof(A)) : 0) +
                                 Batch + 3 * Room + of_line + 2 * pack_length];
  A* m_results = m_buffer;  ///< those that are held
};

}  // namespace KokkosScan::impl::host
