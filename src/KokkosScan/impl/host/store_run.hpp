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

/// Stores results upwards and past the caches, as many as make whole registers, and those before;
/// returns how many.
template <class A>
int stream_aligned(const A* results, int count, A* to) {
  return call_with(
      widest_registers(), [=](auto places) __attribute__((always_inline)) {
        constexpr int lanes = sizeof(Register<A, places>) / sizeof(A);
        int i = 0;
        for (; i < count && reinterpret_cast<std::uintptr_t>(to + i) % (16 * places) != 0; ++i) {
          stream_value(to + i, results[i]);
        }
        for (; i + lanes <= count; i += lanes) {
          stream_register(to + i, load_register<places>(results + i));
        }
        return i;
      });
}

/// Stores results upwards from `to`. Past the caches the few before and behind whole registers go
/// the same way: the processor joins them with what else is stored to their cache lines.
template <class A, class Value>
void store_run(bool streams, const A* results, int count, Value* to) {
  if constexpr (is_plain<A, Value>) {
    if (streams) {
      for (int i = stream_aligned(results, count, to); i < count; ++i) {
        stream_value(to + i, results[i]);
      }
    } else {
      std::memcpy(to, results, static_cast<std::size_t>(count) * sizeof(A));
    }
  } else {
    convert(results, count, to);
  }
}

}  // namespace KokkosScan::impl::host
