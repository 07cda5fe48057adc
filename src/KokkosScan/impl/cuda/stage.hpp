// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What a block holds in shared memory: the elements of a tile, then its results.

#include <KokkosScan/impl/cuda/barrier.hpp>
#include <KokkosScan/impl/cuda/span.hpp>
#include <KokkosScan/impl/cuda/tuning.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace KokkosScan::impl::cuda {

/// The offset of a line if the batch has several dimensions: rare and expensive.
inline __device__ __noinline__ std::int64_t offset_of_line(const Batch& batch,
                                                           const Strides& strides,
                                                           std::int64_t line) {
  std::int64_t sum = 0;
  // Not unrolled, to have a single division: this is compiled into every kernel.
#pragma unroll 1
  for (int d = batch.rank - 1; d > 0; --d) {
    const Division at(line, batch.extent[d]);
    sum += at.remainder * strides.batch[d];
    line = at.quotient;
  }
  return sum + line * strides.batch[0];
}

/// A line identified by its index.
struct LineNumber {
  const Batch& batch;
  std::int64_t number;

  [[nodiscard]] __device__ __forceinline__ std::int64_t offset(const Strides& strides) const {
    return batch.rank <= 1 ? number * strides.batch[0] : offset_of_line(batch, strides, number);
  }
};

/// Whole lines, or a part of one line. Elements of a tile are numbered in memory order, line by
/// line.
struct Tile {
  const Batch& batch;
  std::int64_t first_line;
  std::int64_t begin;  ///< the first element of a line in the tile, in scan order
  int lines;
  int length;  ///< elements of a line in the tile
  bool backward;

  [[nodiscard]] __device__ __forceinline__ LineNumber line(int i) const {
    return {batch, first_line + i};
  }
  [[nodiscard]] __device__ __forceinline__ int elements() const { return lines * length; }
  /// Converts between scan order and memory order within a line's part.
  [[nodiscard]] __device__ __forceinline__ int in_memory_order(int k) const {
    return backward ? length - 1 - k : k;
  }
  /// The address of the tile's first element if its lines are contiguous with each other, else
  /// null.
  ///
  /// \param pitch elements of a line in memory
  template <class T>
  [[nodiscard]] __device__ __forceinline__ T* flat(const Array<T>& array, int pitch) const {
    if (lines > 1 && (batch.rank != 1 || array.strides.batch[0] != pitch)) return nullptr;
    T* const data = array.data + line(0).offset(array.strides);
    return backward ? data - (begin + length - 1) : data + begin;
  }
  template <class Value, int Rank, class Function>
  [[nodiscard]] __device__ __forceinline__ Value* flat(const Called<Value, Rank, Function>&,
                                                       int) const {
    return nullptr;
  }
};

/// Whether one instruction moves this many bytes.
template <int Bytes>
inline constexpr bool is_one_move = Bytes <= quad&& quad % Bytes == 0;

/// Reads or writes E neighbours, by one instruction if E > 1.
template <class T, int E>
__device__ __forceinline__ void move_pack(T (&x)[E], const std::byte* from) {
  if constexpr (E == 1) {
    x[0] = *reinterpret_cast<const T*>(from);
  } else {
    using Word = typename UnitOf<sizeof(T) * E>::type;
    const Word word = *reinterpret_cast<const Word*>(from);
    memcpy(static_cast<void*>(x), &word, sizeof(Word));
  }
}
template <class T, int E>
__device__ __forceinline__ void move_pack(std::byte* to, const T (&x)[E]) {
  if constexpr (E == 1) {
    *reinterpret_cast<T*>(to) = x[0];
  } else {
    using Word = typename UnitOf<sizeof(T) * E>::type;
    Word word;
    memcpy(&word, x, sizeof(Word));
    *reinterpret_cast<Word*>(to) = word;
  }
}

/// The unit in which values of type T are copied.
template <class T>
inline constexpr int unit_of = std::min<int>(alignof(T), quad);

/// Whether a word of shared memory holds several values of type T.
template <class T>
inline constexpr bool is_part_of_word = sizeof(T) < 4 && std::is_trivially_copyable_v<T>;

/// Values in shared memory.
template <class T>
struct Slots {
  Span span;

  [[nodiscard]] __device__ __forceinline__ T& operator[](int e) const {
    return *reinterpret_cast<T*>(span.at(e * static_cast<int>(sizeof(T))));
  }
  /// The values, if they are not padded.
  [[nodiscard]] __device__ __forceinline__ T* data() const {
    return reinterpret_cast<T*>(shared_memory() + span.offset + span.begin);
  }
  /// Reads E elements from e + i on, if slots are not padded. Small ones are extracted from the
  /// aligned words that contain them and the next word.
  ///
  /// \param i a multiple of E
  template <int E>
  __device__ __forceinline__ void get_neighbours(int e, int i, T (&x)[E]) const {
    constexpr int bytes = static_cast<int>(sizeof(T)) * E;
    if constexpr (is_part_of_word<T> && bytes % 4 == 0) {
      const int begin = span.begin + e * static_cast<int>(sizeof(T));
      const auto* const words = reinterpret_cast<const unsigned*>(
          shared_memory() + span.offset + (begin & ~3) + i * static_cast<int>(sizeof(T)));
      unsigned word[bytes / 4];
#pragma unroll
      for (int k = 0; k < bytes / 4; ++k) {
        word[k] = static_cast<unsigned>((std::uint64_t{words[k + 1]} << 32 | words[k]) >>
                                        (begin & 3) * 8);
      }
      memcpy(static_cast<void*>(x), word, bytes);
    } else {
#pragma unroll
      for (int k = 0; k < E; ++k) x[k] = data()[e + i + k];
    }
  }
};

/// Bytes of slots at any offset, including the word after the last element.
template <class T>
__host__ __device__ constexpr int bytes_of_slots(int elements, int padding) {
  constexpr int alignment = bulk_alignment;
  const int bytes = elements * static_cast<int>(sizeof(T)) + (is_part_of_word<T> ? 4 : 0);
  return (bytes + 2 * (alignment - 1)) / alignment * alignment + (bytes / 128 + 2) * padding;
}

/// Begins to store results that are contiguous in global memory, in quads if they have its
/// alignment; wait_for_bulk_stores() completes it.
template <bool in_bulk = true, class T>
__device__ __forceinline__ void begin_store(const Slots<T>& results, T* to, int elements,
                                            const Threads& threads) {
  if (misalignment(to) == results.span.begin) {
    copy_out<unit_of<T>, in_bulk>(results.span, reinterpret_cast<std::byte*>(to),
                                  elements * static_cast<int>(sizeof(T)), threads);
  } else {
#pragma unroll 8
    for (int e = threads.own; e < elements; e += threads.count) to[e] = results[e];
  }
}

/// Whether values of types T and U may share slots. Threads write some while others still read, so
/// both must have the same size.
template <class T, class U>
inline constexpr bool may_share_slots = sizeof(T) == sizeof(U) && alignof(T) == alignof(U);

/// Allocates shared memory.
struct Region {
  int offset;    ///< of what is free
  int elements;  ///< each allocation is for so many
  int padding;

  /// \param origin where the values are in global memory, or null
  template <class T>
  [[nodiscard]] __device__ __forceinline__ Slots<T> take(const T* origin) {
    const int begin = misalignment(origin, bulk_alignment);
    const Slots<T> slots{{offset + begin / quad * quad, begin % quad, padding}};
    offset += bytes_of_slots<T>(elements, padding);
    return slots;
  }
};

/// The elements of an input in a tile.
///
/// - `place(in, tile, region, results)` allocates shared memory. If the results are contiguous from
///   `results` on in global memory, computed elements have the same alignment.
/// - `begin_load(in, tile, barrier, threads)` begins to load what is one run in global memory;
///   `load(in, tile, threads)` loads or computes the rest.
/// - `get_pack<are_aligned>(e, i, x)` reads loaded elements from e + i on, where i is a multiple of
///   the pack; `get(e)` reads one. Padded slots have aligned packs only.
template <class In>
struct Stage;

/// Elements that have slots of their own.
template <class T>
struct StagedValues {
  using Value = T;
  static constexpr int widest = sizeof(T);
  template <int E>
  static constexpr bool has_packs = is_one_move<sizeof(T) * E>;
  static constexpr bool has_parts_of_words = is_part_of_word<T>;
  static constexpr int bytes(int elements, int padding) {
    return bytes_of_slots<T>(elements, padding);
  }
  static constexpr int bytes_of_element = sizeof(T);
  static constexpr int arrays = 1;
  /// Whether results may take the place of elements.
  template <class Result>
  static constexpr bool can_hold = may_share_slots<T, Result>;

  Slots<T> slots;

  [[nodiscard]] __device__ __forceinline__ Span span() const { return slots.span; }
  [[nodiscard]] __device__ __forceinline__ T get(int e) const { return slots.data()[e]; }
  template <bool are_aligned, int E>
  __device__ __forceinline__ void get_pack(int e, int i, T (&x)[E]) const {
    if constexpr (are_aligned) {
      move_pack(x, reinterpret_cast<const std::byte*>(&slots[e + i]));
    } else {
      slots.get_neighbours(e, i, x);
    }
  }
};

/// Whether elements of type T can be copied asynchronously one at a time: the hardware requires at
/// least four bytes.
template <class T>
inline constexpr bool is_copied_apart = sizeof(T) >= bytes_of_word&& is_one_move<sizeof(T)> &&
                                        alignof(T) == sizeof(T);

/// Calls f(line, k, slot, step, count) for the elements of lines in memory order, up to `at_once`
/// at a time: element i of `count` is at k(i) in the line, which is an index along the axis if it
/// has indices, and in slot + i * step. The threads share the elements, `lanes_of_line` each of
/// several lines: few, as finding a line takes divisions.
template <int at_once, class Operand, class F>
__device__ __forceinline__ void for_each_batch(const Operand& operand, const Tile& tile,
                                               const Threads& threads, int lanes_of_line,
                                               const F& f) {
  const int sharing = tile.lines == 1 ? threads.count : lanes_of_line;
#pragma unroll 1
  for (int i = threads.own / sharing; i < tile.lines; i += threads.count / sharing) {
    const auto line = operand.line(tile.line(i));
    std::int64_t first = tile.begin + tile.in_memory_order(0);
    int direction = tile.backward ? -1 : 1;
    if constexpr (requires { line.step; }) {
      first = line.index_along(first);
      direction *= static_cast<int>(line.step);
    } else if constexpr (requires { line.of_indices; }) {
      first = line.of_indices.index_along(first);
      direction = 1;
    }
    in_batches<at_once>(threads.own % sharing, tile.length, sharing, [&](int e, auto count) {
      const auto k = [&](int j) { return first + direction * (e + j * sharing); };
      f(line, k, i * tile.length + e, sharing, count);
    });
  }
}
/// Loads or computes the elements of a tile, each by itself.
template <class T, class In>
__device__ __forceinline__ void load_each(const In& in, const Slots<T>& slots, const Tile& tile,
                                          const Threads& threads) {
  constexpr int at_once = sizeof(T) <= 8 ? 8 : 2;
  // Eight elements each, or more: with fewer, lanes wait for memory more often.
  const int lanes_of_line = tile.length < 16 ? 1 : tile.length < 32 ? 2 : tile.length < 64 ? 4 : 8;
  for_each_batch<at_once>(in, tile, threads, lanes_of_line,
                          [&](const auto& line, const auto& k, int slot, int step, auto count) {
                            T x[count.value];
#pragma unroll
                            for (int j = 0; j < count.value; ++j) {
                              if constexpr (requires { line.at(0); }) {
                                x[j] = line.at(k(j));
                              } else {
                                x[j] = line(k(j));
                              }
                            }
#pragma unroll
                            for (int j = 0; j < count.value; ++j) slots[slot + j * step] = x[j];
                          });
}
/// Stores the results of a tile, each by itself, or calls a function for them.
template <class Value, class Out>
__device__ __forceinline__ void store_each(const Slots<Value>& results, const Out& output,
                                           const Tile& tile, const Threads& threads) {
  // 16 bytes or more of neighbours: what is less than a sector takes as long to store as a sector.
  const int lanes_of_line = tile.length < 32 ? 4 : 8;
  for_each_batch<8>(output, tile, threads, lanes_of_line,
                    [&](const auto& line, const auto& k, int slot, int step, auto count) {
                      Value x[count.value];
#pragma unroll
                      for (int j = 0; j < count.value; ++j) x[j] = results[slot + j * step];
#pragma unroll
                      for (int j = 0; j < count.value; ++j) {
                        if constexpr (is_called<Out>) {
                          line.call_at(k(j), x[j]);
                        } else {
                          line(k(j)) = x[j];
                        }
                      }
                    });
}
/// The same for arrays whose lines are not one run: rare, so not inlined.
template <class T>
__device__ __noinline__ void load_apart(const Array<const T>& in, const Slots<T> slots,
                                        const Tile tile, const Threads threads) {
  load_each(in, slots, tile, threads);
}
template <class T>
__device__ __noinline__ void store_apart(const Slots<T> results, const Array<T>& output,
                                         const Tile tile) {
  store_each(results, output, tile, threads_of_block());
}

/// Begins to store the results of lines, which are contiguous from `flat` on unless that is null,
/// or calls a function for them. Called by all threads of the block.
template <bool in_bulk, class Value, class Out>
__device__ __forceinline__ void begin_store(const Slots<Value>& results, const Out& output,
                                            const Tile& tile, Value* flat, int elements) {
  if constexpr (is_called<Out>) {
    store_each(results, output, tile, threads_of_block());
  } else if (flat == nullptr) {
    store_apart(results, output, tile);
  } else {
    begin_store<in_bulk>(results, flat, elements, threads_of_block());
  }
}

/// An array: its bytes, unchanged.
template <class T>
struct Stage<Array<const T>> : StagedValues<T> {
  /// Whether load() does anything for parts of lines.
  static constexpr bool fills_lines = false;

  /// The address of the first element if they are contiguous as in the tile.
  const T* flat;

  template <class Value>
  __device__ __forceinline__ void place(const Array<const T>& in, const Tile& tile, Region& region,
                                        const Value*) {
    flat = tile.flat(in, tile.length);
    this->slots = region.take(flat);
  }
  __device__ __forceinline__ void begin_load(const Array<const T>&, const Tile& tile,
                                             Barrier& barrier, const Threads& threads) {
    if (flat == nullptr) return;
    begin_copy_in(reinterpret_cast<const std::byte*>(flat), this->slots.span,
                  tile.elements() * static_cast<int>(sizeof(T)), barrier, threads);
  }
  __device__ __forceinline__ void load(const Array<const T>& in, const Tile& tile,
                                       const Threads& threads) {
    if (flat == nullptr) load_apart(in, this->slots, tile, threads);
  }
};

}  // namespace KokkosScan::impl::cuda
