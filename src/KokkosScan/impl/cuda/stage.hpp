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
  static constexpr bool may_be_flat = true;

  const Batch& batch;
  std::int64_t first_line;
  std::int64_t begin;  ///< the first element of a line in the tile, in scan order
  int lines;
  int length;  ///< elements of a line in the tile
  bool backward;
  /// Alignment, in elements, that a flat copy requires.
  int aligned = 1;

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
  /// The address of the tile's first element if its lines are contiguous and sufficiently aligned;
  /// else null.
  template <class T>
  [[nodiscard]] __device__ __forceinline__ T* flat(const Array<T>& array) const {
    if (lines > 1 && (batch.rank > 1 || array.strides.batch[0] != length)) return nullptr;
    T* const first = first_in_memory(array, 0);
    const bool begins_well =
        aligned == 1 || misalignment(first, aligned * static_cast<int>(sizeof(T))) == 0;
    return begins_well ? first : nullptr;
  }
  template <class Value, int Rank, class Function>
  [[nodiscard]] __device__ __forceinline__ Value* flat(const Called<Value, Rank, Function>&) const {
    return nullptr;
  }
};

/// Calls f(indices in the tile, addresses in an array) for all elements, in memory order: two at a
/// time, to overlap memory latencies, then one. The threads of the block share the elements.
template <class T, class F>
__device__ __forceinline__ void for_each_element(const Tile& tile, const Array<T>& array,
                                                 const F& f) {
  const Divisor by_length(tile.length);
  const int elements = tile.elements();
  const int step = static_cast<int>(blockDim.x);
  int first = static_cast<int>(threadIdx.x);
  const auto some = [&](auto count) {
    int e[count.value];
    T* at[count.value];
#pragma unroll
    for (int i = 0; i < count.value; ++i) {
      e[i] = first + i * step;
      const int line = by_length.quotient(e[i]);
      at[i] = tile.first_in_memory(array, line) + (e[i] - line * tile.length);
    }
    f(e, at);
    first += count.value * step;
  };
#pragma unroll 1
  while (first + step < elements) some(std::integral_constant<int, 2>{});
#pragma unroll 1
  while (first < elements) some(std::integral_constant<int, 1>{});
}

/// Whether one instruction moves this many bytes.
template <int Bytes>
inline constexpr bool is_one_move =
    Bytes == 1 || Bytes == 2 || Bytes == 4 || Bytes == 8 || Bytes == 16;

/// Whether one asynchronous copy moves this many bytes: the hardware requires at least four.
template <int Bytes>
inline constexpr bool is_one_copy = Bytes == 4 || Bytes == 8 || Bytes == 16;

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

/// Computes elements e, e + of_line.count, ... of a line's part into the slots from `begin` on:
/// `at_once` together while that many are left, then half as many, and so on. Behind conditions
/// they would wait for each other's loads.
///
/// \param of_line threads that share the line
/// \param along   index of element 0, in memory order, along the axis
/// \param step    from there to the index of its neighbour in memory
template <int at_once, class T, class Line>
__device__ __forceinline__ void fill_line(const Slots<T>& slots, int begin, int e, int length,
                                          const Threads& of_line, const Line& line,
                                          std::int64_t along, int step) {
  for (; e + (at_once - 1) * of_line.count < length; e += at_once * of_line.count) {
    T x[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i) x[i] = line.at(along + step * (e + i * of_line.count));
#pragma unroll
    for (int i = 0; i < at_once; ++i) slots[begin + e + i * of_line.count] = x[i];
  }
  if constexpr (at_once > 1) {
    fill_line<at_once / 2>(slots, begin, e, length, of_line, line, along, step);
  }
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
/// - `load(in, tile, ...)` loads through registers; finish() of the returned object completes it.
/// - `begin_load(in, tile, barrier, threads)` begins to load a part of one line asynchronously.
/// - `fill(in, tile, threads)` evaluates computed elements.
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

  Slots<T> slots;

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

/// Whether elements of type T can be copied asynchronously one at a time.
template <class T>
inline constexpr bool is_copied_apart = is_one_copy<sizeof(T)> && alignof(T) == sizeof(T);

/// Loads the elements of lines that are not contiguous with each other.
template <class T>
__device__ __noinline__ void load_apart(const Array<const T>& in, const Slots<T> slots,
                                        const Tile tile) {
  for_each_element(tile, in, [&](const auto& e, auto& from) {
    constexpr int count = std::extent_v<std::remove_cvref_t<decltype(e)>>;
    if constexpr (is_copied_apart<T>) {
#pragma unroll
      for (int i = 0; i < count; ++i) __pipeline_memcpy_async(&slots[e[i]], from[i], sizeof(T));
    } else {
      T x[count];
#pragma unroll
      for (int i = 0; i < count; ++i) x[i] = *from[i];
#pragma unroll
      for (int i = 0; i < count; ++i) slots[e[i]] = x[i];
    }
  });
  __pipeline_commit();
  __pipeline_wait_prior(0);
}
/// Copies several values with overlapping loads.
template <class To, class From>
__device__ __forceinline__ void copy_several(const To& to, const From& from) {
  std::remove_cvref_t<decltype(to[0])> x[To::size];
#pragma unroll
  for (int i = 0; i < To::size; ++i) x[i] = from[i];
#pragma unroll
  for (int i = 0; i < To::size; ++i) to[i] = x[i];
}

/// Begins to load the elements of columns asynchronously if possible; otherwise loads them.
template <class T, class AnyTile>
__device__ __forceinline__ void begin_load_apart(const Array<const T>& in, const Slots<T>& slots,
                                                 const AnyTile& tile, const Threads& threads) {
  for_each_element(tile, in, slots, threads, [](const auto& to, const auto& from) {
    if constexpr (is_copied_apart<T>) {
      constexpr int size = std::remove_cvref_t<decltype(to)>::size;
#pragma unroll
      for (int i = 0; i < size; ++i) __pipeline_memcpy_async(&to[i], &from[i], sizeof(T));
    } else {
      copy_several(to, from);
    }
  });
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

/// Calls a function for the results e, e + of_line.count, ... of a line's part, in the slots from
/// `begin` on. Batches as in fill_line(), as a function may wait for what it reads.
///
/// \param of_line threads that share the line
/// \param along   index of result 0, in memory order, along the axis
template <int at_once, class Value, class Line>
__device__ __forceinline__ void call_for_line(const Slots<Value>& results, int begin, int e,
                                              int length, const Threads& of_line, const Line& line,
                                              std::int64_t along) {
  for (; e + (at_once - 1) * of_line.count < length; e += at_once * of_line.count) {
    Value x[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i) x[i] = results[begin + e + i * of_line.count];
#pragma unroll
    for (int i = 0; i < at_once; ++i) line.call_at(along + (e + i * of_line.count), x[i]);
  }
  if constexpr (at_once > 1) {
    call_for_line<at_once / 2>(results, begin, e, length, of_line, line, along);
  }
}
/// Calls a function for the results of lines, in memory order. The threads share the results.
template <class Value, int Rank, class Function>
__device__ __forceinline__ void call_for_results(const Slots<Value>& results,
                                                 const Called<Value, Rank, Function>& output,
                                                 const Tile& tile, const Threads& threads) {
  constexpr int at_once = 8;
  const int sharing = tile.lines == 1 ? threads.count : lanes_of_line(tile, at_once, 4);
  const Threads of_line{threads.own % sharing, sharing};
#pragma unroll 1
  for (int i = threads.own / sharing; i < tile.lines; i += threads.count / sharing) {
    const auto line = output.line(tile.line(i));
    call_for_line<at_once>(results, i * tile.length, of_line.own, tile.length, of_line, line,
                           line.of_indices.index_along(tile.begin + tile.in_memory_order(0)));
  }
}
/// The same in place of a store.
template <bool in_bulk = true, class Value, int Rank, class Function, class AnyTile>
__device__ __forceinline__ void begin_store(const Slots<Value>& results,
                                            const Called<Value, Rank, Function>& output,
                                            const AnyTile& tile, Value*, int) {
  call_for_results(results, output, tile, threads_of_block());
}

/// Stores the results of lines that are not contiguous with each other.
template <class T>
__device__ __noinline__ void store_apart(const Slots<T> results, const Array<T>& output,
                                         const Tile tile) {
  for_each_element(tile, output, [&](const auto& e, auto& to) {
    constexpr int count = std::extent_v<std::remove_cvref_t<decltype(e)>>;
    T x[count];
#pragma unroll
    for (int i = 0; i < count; ++i) x[i] = results[e[i]];
#pragma unroll
    for (int i = 0; i < count; ++i) *to[i] = x[i];
  });
}
template <class T, class AnyTile>
__device__ __forceinline__ void store_apart(const Slots<T>& results, const Array<T>& output,
                                            const AnyTile& tile,
                                            const Threads& threads = threads_of_block()) {
  for_each_element(tile, output, results, threads,
                   [](const auto& from, const auto& to) { copy_several(to, from); });
}
/// Begins to store results that are contiguous from `flat` on or, if that is null, lie like the
/// tile's lines in global memory. Called by all threads of the block.
template <bool in_bulk = true, class T, class AnyTile>
__device__ __forceinline__ void begin_store(const Slots<T>& results, const Array<T>& output,
                                            const AnyTile& tile, T* flat, int elements) {
  if constexpr (!AnyTile::may_be_flat) return store_apart(results, output, tile);
  if (flat == nullptr) {
    store_apart(results, output, tile);
  } else if (are_aligned(results, flat)) {
    begin_store<in_bulk>(results, flat, elements, threads_of_block());
  } else {
    store_elements(results, flat, elements, threads_of_block());
  }
}

/// Quads of an array of T that a thread loads into registers: none if several arrays of lines are
/// loaded together. Columns do not use this copy; one quad minimises its registers.
///
/// \tparam all bytes of an element in all arrays that are loaded together
template <class AnyTile, class T, int all>
inline constexpr int quads_at_once = 1;
template <class T, int all>
inline constexpr int quads_at_once<Tile, T, all> = all > static_cast<int>(sizeof(T)) ? 0 : 8;

/// The load of an array, through registers if it is one run of bytes.
///
/// \tparam at_once quads that a thread keeps in registers
template <class T, int at_once, class AnyTile>
struct LoadArray {
  const Array<const T>& in;
  const AnyTile& tile;
  Slots<T> slots;
  CopyIn<unit_of<T>, at_once> copy;
  bool is_flat;

  __device__ __forceinline__ LoadArray(const Array<const T>& array, const AnyTile& of,
                                       const Slots<T>& to, const T* flat, int elements_of_thread)
      : in(array),
        tile(of),
        slots(to),
        copy(reinterpret_cast<const std::byte*>(flat), to.span,
             flat == nullptr ? 0 : of.elements() * static_cast<int>(sizeof(T)),
             elements_of_thread * static_cast<int>(sizeof(T))),
        is_flat(flat != nullptr) {
    if constexpr (!AnyTile::may_be_flat) begin_load_apart(in, slots, tile, threads_of_block());
  }
  __device__ __forceinline__ void finish() {
    if constexpr (!AnyTile::may_be_flat) {
      __pipeline_commit();
      __pipeline_wait_prior(0);
    } else {
      copy.finish();
      if (!is_flat) load_apart(in, slots, tile);
    }
  }
};

/// An array: its bytes, unchanged.
template <class T>
struct Stage<Array<const T>> : StagedValues<T> {
  /// Whether fill() does anything for lines.
  static constexpr bool fills_lines = false;

  /// The address of the first element if they are contiguous as in the tile.
  const T* flat;

  template <class AnyTile, class Value>
  __device__ __forceinline__ void place(const Array<const T>& in, const AnyTile& tile,
                                        Region& region, const Value*) {
    flat = tile.flat(in);
    this->slots = region.take(flat);
  }
  /// \tparam all bytes of an element in all arrays that are loaded together
  /// \param elements_of_thread at least those of the tile divided by the number of threads
  template <int all = sizeof(T), class AnyTile>
  __device__ __forceinline__ LoadArray<T, quads_at_once<AnyTile, T, all>, AnyTile> load(
      const Array<const T>& in, const AnyTile& tile, int elements_of_thread) {
    return {in, tile, this->slots, flat, elements_of_thread};
  }
  __device__ __forceinline__ void begin_load(const Array<const T>&, const Tile& tile,
                                             Barrier& barrier, const Threads& threads) {
    begin_copy_in(reinterpret_cast<const std::byte*>(flat), this->slots.span,
                  tile.elements() * static_cast<int>(sizeof(T)), barrier, threads);
  }
  __device__ __forceinline__ void fill(const Array<const T>&, const Tile&, const Threads&) {}
};

}  // namespace KokkosScan::impl::cuda
