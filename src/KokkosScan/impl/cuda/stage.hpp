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

#if defined(__CUDACC__)
/// The dynamic shared memory of a launch.
__device__ __forceinline__ std::byte* shared_memory() {
  extern __shared__ __align__(128) std::byte memory[];
  return memory;
}
#endif

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
  /// The address of the first element of a line's part, in memory order.
  template <class T>
  [[nodiscard]] __device__ __forceinline__ T* first_in_memory(const Array<T>& array, int i) const {
    T* const data = array.data + line(i).offset(array.strides);
    return backward ? data - (begin + length - 1) : data + begin;
  }
  /// The address of the tile's first element if its lines are contiguous with each other, else
  /// null.
  ///
  /// \param pitch elements of a line in memory
  template <class T>
  [[nodiscard]] __device__ __forceinline__ T* flat(const Array<T>& array, int pitch) const {
    const bool are_one_run = lines == 1 || (batch.rank == 1 && array.strides.batch[0] == pitch);
    return are_one_run ? first_in_memory(array, 0) : nullptr;
  }
  template <class Value, int Rank, class Function>
  [[nodiscard]] __device__ __forceinline__ Value* flat(const Called<Value, Rank, Function>&,
                                                       int) const {
    return nullptr;
  }
  template <class Operand>
  [[nodiscard]] __device__ __forceinline__ auto* flat(const Operand& operand) const {
    return flat(operand, length);
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
    return reinterpret_cast<T*>(span.memory + span.begin);
  }
  /// Reads the aligned pack that begins at element e.
  template <int E>
  __device__ __forceinline__ void get_pack(int e, T (&x)[E]) const {
    if constexpr (is_one_move<sizeof(T) * E>) {
      move_pack(x, reinterpret_cast<const std::byte*>(&(*this)[e]));
    }
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
      const auto* const words = reinterpret_cast<const unsigned*>(span.memory + (begin & ~3)) +
                                i * static_cast<int>(sizeof(T)) / 4;
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
  template <int E>
  __device__ __forceinline__ void put_pack(int e, const T (&x)[E]) const {
    if constexpr (is_one_move<sizeof(T) * E>) {
      move_pack(reinterpret_cast<std::byte*>(&(*this)[e]), x);
    }
  }
};

/// Bytes of slots, including the word after the last element.
template <class T>
__host__ __device__ constexpr int bytes_of_slots(int elements, int padding, int alignment) {
  return bytes_of_span(elements * static_cast<int>(sizeof(T)) + (is_part_of_word<T> ? 4 : 0),
                       padding, alignment);
}

/// Whether results have the alignment of global memory and so can be stored in bulk.
template <class T>
__device__ __forceinline__ bool are_aligned(const Slots<T>& results, const T* to) {
  return misalignment(to) == results.span.begin;
}
/// Begins to store aligned results; wait_for_bulk_stores() completes it.
template <bool in_bulk = true, class T>
__device__ __forceinline__ void begin_store(const Slots<T>& results, T* to, int elements,
                                            const Threads& threads) {
  copy_out<unit_of<T>, in_bulk>(results.span, reinterpret_cast<std::byte*>(to),
                                elements * static_cast<int>(sizeof(T)), threads);
}
/// Stores results one at a time.
template <class T>
__device__ __forceinline__ void store_elements(const Slots<T>& results, T* to, int elements,
                                               const Threads& threads) {
#pragma unroll 4
  for (int e = threads.own; e < elements; e += threads.count) to[e] = results[e];
}

/// Whether values of types T and U may share slots. Threads write some while others still read, so
/// both must have the same size.
template <class T, class U>
inline constexpr bool may_share_slots = sizeof(T) == sizeof(U) && alignof(T) == alignof(U);

/// Allocates shared memory.
struct Region {
  std::byte* memory;
  int elements;  ///< each allocation is for so many
  int padding;
  /// Spans have the same offset in shared and global memory modulo this: 16, or 128, with which
  /// bulk loads are faster.
  int alignment = quad;

  /// \param origin where the values are in global memory, or null
  template <class T>
  [[nodiscard]] __device__ __forceinline__ Slots<T> take(const T* origin) {
    const int begin = misalignment(origin, alignment);
    const Slots<T> slots{{memory + begin / quad * quad, begin % quad, padding}};
    memory += bytes_of_slots<T>(elements, padding, alignment);
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
  static constexpr int bytes(int elements, int padding, int alignment) {
    return bytes_of_slots<T>(elements, padding, alignment);
  }
  static constexpr int bytes_of_element = sizeof(T);
  /// The same in tiles of contiguous lines.
  static constexpr int bytes_in_lines(int elements, int padding, int alignment) {
    return bytes(elements, padding, alignment);
  }
  static constexpr int size_in_lines = bytes_of_element;
  /// Whether results may take the place of elements.
  template <class Result>
  static constexpr bool can_hold = may_share_slots<T, Result>;

  Slots<T> slots;

  [[nodiscard]] __device__ __forceinline__ Span span() const { return slots.span; }
  [[nodiscard]] __device__ __forceinline__ T get(int e) const { return slots.data()[e]; }
  template <bool are_aligned, int E>
  __device__ __forceinline__ void get_pack(int e, int i, T (&x)[E]) const {
    if constexpr (are_aligned) {
      slots.get_pack(e + i, x);
    } else {
      slots.get_neighbours(e, i, x);
    }
  }
};

/// Values of any places.
template <class T, int count>
struct Several {
  static constexpr int size = count;
  T* place[count];

  [[nodiscard]] __device__ __forceinline__ T& operator[](int i) const { return *place[i]; }
};
/// Copies several values with overlapping loads.
template <class To, class From>
__device__ __forceinline__ void copy_several(const To& to, const From& from) {
  std::remove_cvref_t<decltype(to[0])> x[To::size];
#pragma unroll
  for (int i = 0; i < To::size; ++i) x[i] = from[i];
#pragma unroll
  for (int i = 0; i < To::size; ++i) to[i] = x[i];
}

/// Calls f(slots, addresses) for the elements of lines, several at a time, in memory order. The
/// threads share the elements.
template <class T, class F>
__device__ __forceinline__ void for_each_element(const Tile& tile, const Array<T>& array,
                                                 const Slots<std::remove_const_t<T>>& slots,
                                                 const Threads& threads, const F& f) {
  const Divisor by_length(tile.length);
  in_batches<2>(threads.own, tile.elements(), threads.count, [&](int first, auto count) {
    Several<std::remove_const_t<T>, count.value> slot;
    Several<T, count.value> at;
#pragma unroll
    for (int i = 0; i < count.value; ++i) {
      const int e = first + i * threads.count;
      const int line = by_length.quotient(e);
      slot.place[i] = &slots[e];
      at.place[i] = tile.first_in_memory(array, line) + (e - line * tile.length);
    }
    f(slot, at);
  });
}

/// Whether elements of type T can be copied asynchronously one at a time: the hardware requires at
/// least four bytes.
template <class T>
inline constexpr bool is_copied_apart = sizeof(T) >= bytes_of_word&& is_one_move<sizeof(T)> &&
                                        alignof(T) == sizeof(T);

/// Loads the elements of a tile that are not one run.
template <class T, class AnyTile>
__device__ __noinline__ void load_apart(const Array<const T>& in, const Slots<T> slots,
                                        const AnyTile tile, const Threads threads) {
  for_each_element(tile, in, slots, threads, [](const auto& to, const auto& from) {
    if constexpr (is_copied_apart<T>) {
      constexpr int size = std::remove_cvref_t<decltype(to)>::size;
#pragma unroll
      for (int i = 0; i < size; ++i) __pipeline_memcpy_async(&to[i], &from[i], sizeof(T));
    } else {
      copy_several(to, from);
    }
  });
  __pipeline_commit();
  __pipeline_wait_prior(0);
}
/// Stores such results.
template <class T, class AnyTile>
__device__ __noinline__ void store_apart(const Slots<T> results, const Array<T>& output,
                                         const AnyTile tile) {
  for_each_element(tile, output, results, threads_of_block(),
                   [](const auto& from, const auto& to) { copy_several(to, from); });
}

/// Lanes that share a line in a tile of several lines. Finding the start of a line takes divisions,
/// so each lane has a few elements.
///
/// \param at_once elements per lane that are worth the divisions
/// \param fewest  minimum, for coalescing, unless lines are shorter
__device__ __forceinline__ int lanes_of_line(const Tile& tile, int at_once, int fewest) {
  int count = 32;
  while (count > 1 && count * at_once > tile.length &&
         (count > fewest || count >= 2 * tile.length)) {
    count /= 2;
  }
  return count;
}

/// Calls a function for the results of lines, in memory order. The threads share the results.
template <class Value, int Rank, class Function>
__device__ __forceinline__ void call_for_results(const Slots<Value>& results,
                                                 const Called<Value, Rank, Function>& output,
                                                 const Tile& tile, const Threads& threads) {
  constexpr int at_once = 8;
  const int sharing = tile.lines == 1 ? threads.count : lanes_of_line(tile, at_once, 4);
#pragma unroll 1
  for (int i = threads.own / sharing; i < tile.lines; i += threads.count / sharing) {
    const auto line = output.line(tile.line(i));
    const std::int64_t along = line.of_indices.index_along(tile.begin + tile.in_memory_order(0));
    in_batches<at_once>(threads.own % sharing, tile.length, sharing, [&](int e, auto count) {
      Value x[count.value];
#pragma unroll
      for (int j = 0; j < count.value; ++j) x[j] = results[i * tile.length + e + j * sharing];
#pragma unroll
      for (int j = 0; j < count.value; ++j) line.call_at(along + (e + j * sharing), x[j]);
    });
  }
}
/// The same in place of a store.
template <bool in_bulk = true, class Value, int Rank, class Function, class AnyTile>
__device__ __forceinline__ void begin_store(const Slots<Value>& results,
                                            const Called<Value, Rank, Function>& output,
                                            const AnyTile& tile, Value*, int) {
  call_for_results(results, output, tile, threads_of_block());
}

/// Begins to store results that are contiguous from `flat` on or, if that is null, lie like the
/// tile's lines in global memory. Called by all threads of the block.
template <bool in_bulk = true, class T, class AnyTile>
__device__ __forceinline__ void begin_store(const Slots<T>& results, const Array<T>& output,
                                            const AnyTile& tile, T* flat, int elements) {
  if (flat == nullptr) {
    store_apart(results, output, tile);
  } else if (are_aligned(results, flat)) {
    begin_store<in_bulk>(results, flat, elements, threads_of_block());
  } else {
    store_elements(results, flat, elements, threads_of_block());
  }
}

/// An array: its bytes, unchanged.
template <class T>
struct Stage<Array<const T>> : StagedValues<T> {
  /// Whether load() does anything for parts of lines.
  static constexpr bool fills_lines = false;

  /// The address of the first element if they are contiguous as in the tile.
  const T* flat;

  template <class AnyTile, class Value>
  __device__ __forceinline__ void place(const Array<const T>& in, const AnyTile& tile,
                                        Region& region, const Value*) {
    flat = tile.flat(in);
    this->slots = region.take(flat);
  }
  __device__ __forceinline__ void begin_load(const Array<const T>&, const Tile& tile,
                                             Barrier& barrier, const Threads& threads,
                                             ToPadded to_padded = ToPadded::through_registers) {
    if (flat == nullptr) return;
    begin_copy_in(reinterpret_cast<const std::byte*>(flat), this->slots.span,
                  tile.elements() * static_cast<int>(sizeof(T)), barrier, threads, to_padded);
  }
  template <class AnyTile>
  __device__ __forceinline__ void load(const Array<const T>& in, const AnyTile& tile,
                                       const Threads& threads = threads_of_block()) {
    if (flat == nullptr) load_apart(in, this->slots, tile, threads);
  }
};

}  // namespace KokkosScan::impl::cuda
