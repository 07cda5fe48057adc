// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Stores results from a buffer in L1.

#include <KokkosScan/impl/host/instruction_sets.hpp>
#include <KokkosScan/impl/host/move.hpp>
#include <KokkosScan/impl/host/tuning.hpp>
#include <algorithm>
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
inline constexpr bool is_plain = std::is_same_v<A, Value>&& std::is_trivially_copyable_v<A>;

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

/// Whether results of a type may be written with non-temporal stores.
template <class Value>
inline constexpr bool may_stream =
    can_stream&& cache_line % sizeof(Value) == 0 &&
    std::is_trivially_copyable_v<Value>&& std::is_default_constructible_v<Value>;

/// Stores results upwards (step 1) or downwards (step -1) from `to` on. Not inlined:
/// where GCC sees how many they are, memcpy() becomes a slow string instruction.
template <class A, class Value>
[[gnu::noinline]] void store_run(bool streams, const A* results, int count, Value* to,
                                 int step = 1) {
  const auto size = static_cast<std::size_t>(count);
  if constexpr (is_plain<A, Value>) {
    if (step > 0 && streams) return stream_bytes(results, size * sizeof(A), to);
    if (step > 0) return static_cast<void>(std::memcpy(to, results, size * sizeof(A)));
  }
  if constexpr (may_stream<Value>) {
    // Values are put into memory order first, for whole cache lines.
    Value values[block_length];
    for (int i = 0; i < count && streams; i += block_length) {
      const int length = std::min(count - i, block_length);
      step > 0 ? convert(results + i, length, values)
               : convert<-1>(results + (i + length - 1), length, values);
      stream_bytes(values, static_cast<std::size_t>(length) * sizeof(Value),
                   step > 0 ? to + i : to - (i + length - 1));
    }
    if (streams) return;
  }
  step > 0 ? convert(results, count, to)
           : convert<-1>(results + (count - 1), count, to - (count - 1));
}

/// Dense results in L1: rows of `width` neighbours in each of several slabs.
template <class A>
struct DenseRows {
  const A* data;
  std::int64_t distance;  ///< between slabs
  int slabs, rows, width;
};
/// Stores rows in memory order, `along` (or its negative) and `slab` apart, from `to` on.
template <class A, class Value>
void store_rows(bool streams, const DenseRows<A>& from, std::int64_t slab, std::int64_t along,
                Value* to) {
  const std::int64_t row = along < 0 ? -along : along;
  const bool are_runs = from.rows == 1 || row == from.width;
  const int rows = are_runs ? 1 : from.rows;
  const int length = are_runs ? from.rows * from.width : from.width;
  if (rows == 1 && (from.slabs == 1 || (from.distance == length && slab == length))) {
    return store_run(streams, from.data, from.slabs * length, to);
  }
  if (length * static_cast<int>(sizeof(A)) < streamed_row_bytes) {
    return convert_rows(SlabsOf<const A>{from.data, from.width, from.distance}, from.slabs, rows,
                        length, SlabsOf<Value>{to, row, slab});
  }
  for (int s = 0; s < from.slabs; ++s) {
    for (int i = 0; i < rows; ++i) {
      store_run(streams, from.data + s * from.distance + i * from.width, length,
                to + s * slab + i * row);
    }
  }
}

}  // namespace KokkosScan::impl::host
