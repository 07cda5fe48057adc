// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The elements of inputs that are no arrays, in shared memory (stage.hpp).

#include <KokkosScan/impl/cuda/composed.hpp>
#include <KokkosScan/impl/cuda/stage.hpp>
#include <KokkosScan/impl/cuda/tuning.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace KokkosScan::impl::cuda {

template <class In>
using ElementOf = std::remove_cvref_t<decltype(std::declval<In>().line(Coordinates{})(0))>;

/// An input that is not in memory element by element: its values, each evaluated once.
template <class In>
struct StagedComputed : StagedValues<ElementOf<In>> {
  using T = ElementOf<In>;
  static constexpr bool fills_lines = true;
  static constexpr int at_once = sizeof(T) <= 8 ? 8 : 2;

  template <class AnyTile, class Value>
  __device__ __forceinline__ void place(const In&, const AnyTile&, Region& region,
                                        [[maybe_unused]] const Value* results) {
    const T* origin = nullptr;
    if constexpr (may_share_slots<T, Value>) origin = reinterpret_cast<const T*>(results);
    this->slots = region.template take<T>(origin);
  }
  __device__ __forceinline__ void begin_load(const In&, const Tile&, Barrier&, const Threads&,
                                             ToPadded = {}) {}
  template <class AnyTile>
  __device__ __forceinline__ void load(const In& in, const AnyTile& tile,
                                       const Threads& threads = threads_of_block()) {
    fill_columns(this->slots, in, tile, threads);
  }
  __device__ __forceinline__ void load(const In& in, const Tile& tile,
                                       const Threads& threads = threads_of_block()) {
    // At least four lanes read neighbours, 16 bytes or more in total.
    const int sharing = tile.lines == 1 ? threads.count : lanes_of_line(tile, at_once / 2, 4);
    const Threads of_line{threads.own % sharing, sharing};
    const int apart = threads.count / sharing;
    int i = threads.own / sharing;
    for (; i + apart < tile.lines; i += 2 * apart) {
      fill_some_lines(in, tile, of_line, i, apart, std::integer_sequence<int, 0, 1>{});
    }
    if (i < tile.lines) {
      fill_some_lines(in, tile, of_line, i, apart, std::integer_sequence<int, 0>{});
    }
  }

 private:
  /// Computes one or two lines of a tile. With two, memory latencies overlap: rows of two to five
  /// elements have a third more of a copy.
  ///
  /// \param apart from a line to the next
  template <int... J>
  __device__ __forceinline__ void fill_some_lines(const In& in, const Tile& tile,
                                                  const Threads& of_line, int first, int apart,
                                                  std::integer_sequence<int, J...>) {
    constexpr int L = sizeof...(J);
    using Line = decltype(in.line(tile.line(0)));
    const Line lines[] = {in.line(tile.line(first + J * apart))...};
    constexpr bool has_indices = requires(const Line& line) { line.step; };  // or one value
    // The index along the axis of the first element in memory order, and the step to its neighbour:
    // -1 if the strides of a View are negative.
    std::int64_t along = 0;
    int step = 0;
    if constexpr (has_indices) {
      along = lines[0].index_along(tile.begin + tile.in_memory_order(0));
      step = static_cast<int>(tile.backward ? -lines[0].step : lines[0].step);
    }
    const auto element = [&](const auto& line, int e) {
      if constexpr (has_indices) return line.at(along + step * e);
      return line(0);
    };
    const int begin = first * tile.length;
    in_batches<at_once / L>(of_line.own, tile.length, of_line.count, [&](int e, auto count) {
      T x[L][count.value];
#pragma unroll
      for (int j = 0; j < L; ++j) {
#pragma unroll
        for (int i = 0; i < count.value; ++i) {
          x[j][i] = element(lines[j], e + i * of_line.count);
        }
      }
#pragma unroll
      for (int j = 0; j < L; ++j) {
#pragma unroll
        for (int i = 0; i < count.value; ++i) {
          this->slots[begin + j * apart * tile.length + e + i * of_line.count] = x[j][i];
        }
      }
    });
  }
};

template <int Rank, class Function>
struct Stage<Computed<Rank, Function>> : StagedComputed<Computed<Rank, Function>> {};

/// One value per line.
template <class T>
struct Stage<ValueOfLine<T>> : StagedComputed<ValueOfLine<T>> {
  template <class Result>
  static constexpr bool can_hold = false;
};

/// Indices along lines. In tiles of lines they are computed when read; in tiles of columns they
/// have slots.
template <int Rank, class Index>
struct Stage<Computed<Rank, IndexAlong<Index>>>
    : StagedComputed<Computed<Rank, IndexAlong<Index>>> {
  using In = Computed<Rank, IndexAlong<Index>>;
  using Base = StagedComputed<In>;
  static constexpr bool fills_lines = false;
  static constexpr int size_in_lines = 0;
  static constexpr int bytes_in_lines(int, int, int) { return 0; }

  using Base::place;
  template <class Value>
  __device__ __forceinline__ void place(const In& in, const Tile& tile, Region&, const Value*) {
    m_step = tile.backward ? -in.step : in.step;
    m_length = tile.length;
    m_by_length = Divisor(tile.length);
    m_first = static_cast<Index>(in.index_along(tile.begin + tile.in_memory_order(0)));
  }
  using Base::load;
  __device__ __forceinline__ void load(const In&, const Tile&, const Threads& = {}) {}
  [[nodiscard]] __device__ __forceinline__ Index get(int e) const {
    if (m_length == 0) return Base::get(e);
    const int in_line = e - m_by_length.quotient(e) * m_length;
    return static_cast<Index>(m_first + m_step * in_line);
  }
  /// Packs lie within a line.
  template <bool are_aligned, int E>
  __device__ __forceinline__ void get_pack(int e, int i, Index (&x)[E]) const {
    if (m_length == 0) return Base::template get_pack<are_aligned>(e, i, x);
    const Index first = get(e + i);
#pragma unroll
    for (int k = 0; k < E; ++k) x[k] = static_cast<Index>(first + m_step * k);
  }

 private:
  Index m_first = 0;
  int m_step = 0;    ///< between neighbours
  int m_length = 0;  ///< of lines; 0 if indices have slots
  Divisor m_by_length{};
};

/// An input that is made of others: each part is staged as if alone, and elements are combined when
/// they are read.
template <class In, class... Parts>
struct Stage<Composition<In, Parts...>> {
  using Value = typename Composition<In, Parts...>::Value;
  static constexpr int widest = std::max({Stage<Parts>::widest...});
  template <int E>
  static constexpr bool has_packs = (... && Stage<Parts>::template has_packs<E>);
  static constexpr bool has_parts_of_words = (... || Stage<Parts>::has_parts_of_words);
  static constexpr int bytes(int elements, int padding, int alignment) {
    return (0 + ... + Stage<Parts>::bytes(elements, padding, alignment));
  }
  static constexpr int bytes_in_lines(int elements, int padding, int alignment) {
    return (0 + ... + Stage<Parts>::bytes_in_lines(elements, padding, alignment));
  }
  static constexpr int bytes_of_element = (0 + ... + Stage<Parts>::bytes_of_element);
  static constexpr int size_in_lines = (0 + ... + Stage<Parts>::size_in_lines);
  static constexpr bool fills_lines = (... || Stage<Parts>::fills_lines);
  /// Of the first part: a thread reads all parts of its elements before it writes results.
  template <class Result>
  static constexpr bool can_hold =
      Stage<typename Composition<In, Parts...>::First>::template can_hold<Result>;

  Each<Stage<Parts>...> parts;
  const In* input;  ///< of the kernel's arguments

  template <class AnyTile, class Result>
  __device__ __forceinline__ void place(const In& in, const AnyTile& tile, Region& region,
                                        const Result* results) {
    input = &in;
    parts.visit(parts_of(in), [&](auto& stage, const auto& part) {
      stage.place(part, tile, region, results);
      results = nullptr;  // only the first part may have their alignment
    });
  }
  __device__ __forceinline__ void begin_load(const In& in, const Tile& tile, Barrier& barrier,
                                             const Threads& threads, ToPadded = {}) {
    parts.visit(parts_of(in), [&](auto& stage, const auto& part) {
      stage.begin_load(part, tile, barrier, threads, ToPadded::asynchronously);
    });
  }
  template <class AnyTile>
  __device__ __forceinline__ void load(const In& in, const AnyTile& tile,
                                       const Threads& threads = threads_of_block()) {
    parts.visit(parts_of(in),
                [&](auto& stage, const auto& part) { stage.load(part, tile, threads); });
  }
  [[nodiscard]] __device__ __forceinline__ Span span() const { return parts.first.span(); }
  [[nodiscard]] __device__ __forceinline__ Value get(int e) const {
    return parts.call([=](const auto& part) { return part.get(e); },
                      [&](const auto&... x) { return combine(function_of(*input), x...); });
  }
  template <bool are_aligned, int E>
  __device__ __forceinline__ void get_pack(int e, int i, Value (&x)[E]) const {
    combine_some(parts, function_of(*input), x, [=](const auto& part, auto& pack) {
      part.template get_pack<are_aligned>(e, i, pack);
    });
  }
};
template <class In>
requires is_composed<In>
struct Stage<In> : Stage<composition_t<In>> {
};

/// Bytes of an input's elements as far as they affect the combination tree. A mask does not count,
/// as one that selects everything must not change results, unless it is wider than the values:
/// tiles of many narrow values would not fit beside it.
template <class In>
inline constexpr ElementSize size_that_cuts = {Stage<In>::widest, Stage<In>::size_in_lines};
template <class A, class Values, class Mask>
inline constexpr ElementSize size_that_cuts<Selected<A, Values, Mask>> =
    Stage<Mask>::widest > Stage<Values>::widest
        ? ElementSize{Stage<Mask>::widest, Stage<Selected<A, Values, Mask>>::size_in_lines}
        : size_that_cuts<Values>;

}  // namespace KokkosScan::impl::cuda
