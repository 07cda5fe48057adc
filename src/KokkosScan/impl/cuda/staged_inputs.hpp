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

  template <class Value>
  __device__ __forceinline__ void place(const In&, const Tile&, Region& region,
                                        [[maybe_unused]] const Value* results) {
    const T* origin = nullptr;
    if constexpr (may_share_slots<T, Value>) origin = reinterpret_cast<const T*>(results);
    this->slots = region.template take<T>(origin);
  }
  __device__ __forceinline__ void begin_load(const In&, const Tile&, Barrier&, const Threads&) {}
  __device__ __forceinline__ void load(const In& in, const Tile& tile, const Threads& threads) {
    load_each(in, this->slots, tile, threads);
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

/// Indices along lines have no slots: they are computed when read.
template <int Rank, class Index>
struct Stage<Computed<Rank, IndexAlong<Index>>> : StagedValues<Index> {
  using In = Computed<Rank, IndexAlong<Index>>;
  static constexpr int bytes(int, int) { return 0; }
  static constexpr int bytes_of_element = 0;
  static constexpr bool fills_lines = false;
  template <class Result>
  static constexpr bool can_hold = false;

  template <class Result>
  __device__ __forceinline__ void place(const In& in, const Tile& tile, Region&, const Result*) {
    m_step = tile.backward ? -in.step : in.step;
    m_length = tile.length;
    m_by_length = Divisor(tile.length);
    m_first = static_cast<Index>(in.index_along(tile.begin + tile.in_memory_order(0)));
  }
  __device__ __forceinline__ void begin_load(const In&, const Tile&, Barrier&, const Threads&) {}
  __device__ __forceinline__ void load(const In&, const Tile&, const Threads&) {}
  [[nodiscard]] __device__ __forceinline__ Index get(int e) const {
    const int in_line = e - m_by_length.quotient(e) * m_length;
    return static_cast<Index>(m_first + m_step * in_line);
  }
  /// Packs lie within a line.
  template <bool are_aligned, int E>
  __device__ __forceinline__ void get_pack(int e, int i, Index (&x)[E]) const {
    const Index first = get(e + i);
#pragma unroll
    for (int k = 0; k < E; ++k) x[k] = static_cast<Index>(first + m_step * k);
  }

 private:
  Index m_first;
  int m_step;    ///< between neighbours
  int m_length;  ///< of lines
  Divisor m_by_length;
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
  static constexpr int bytes(int elements, int padding) {
    return (0 + ... + Stage<Parts>::bytes(elements, padding));
  }
  static constexpr int bytes_of_element = (0 + ... + Stage<Parts>::bytes_of_element);
  static constexpr int arrays = (0 + ... + Stage<Parts>::arrays);
  static constexpr bool fills_lines = (... || Stage<Parts>::fills_lines);
  /// Of the first part: a thread reads all parts of its elements before it writes results.
  template <class Result>
  static constexpr bool can_hold =
      Stage<typename Composition<In, Parts...>::First>::template can_hold<Result>;

  Each<Stage<Parts>...> parts;
  const In* input;  ///< of the kernel's arguments

  template <class Result>
  __device__ __forceinline__ void place(const In& in, const Tile& tile, Region& region,
                                        const Result* results) {
    input = &in;
    parts.visit(parts_of(in), [&](auto& stage, const auto& part) {
      stage.place(part, tile, region, results);
      results = nullptr;  // only the first part may have their alignment
    });
  }
  __device__ __forceinline__ void begin_load(const In& in, const Tile& tile, Barrier& barrier,
                                             const Threads& threads) {
    parts.visit(parts_of(in), [&](auto& stage, const auto& part) {
      stage.begin_load(part, tile, barrier, threads);
    });
  }
  __device__ __forceinline__ void load(const In& in, const Tile& tile, const Threads& threads) {
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
inline constexpr ElementSize size_that_cuts = {Stage<In>::widest, Stage<In>::bytes_of_element};
template <class A, class Values, class Mask>
inline constexpr ElementSize size_that_cuts<Selected<A, Values, Mask>> =
    Stage<Mask>::widest > Stage<Values>::widest
        ? ElementSize{Stage<Mask>::widest, Stage<Selected<A, Values, Mask>>::bytes_of_element}
        : size_that_cuts<Values>;

}  // namespace KokkosScan::impl::cuda
