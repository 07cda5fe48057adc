// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Zipped inputs in shared memory: each part is staged as if alone, and the function is called when
/// elements are read.

#include <KokkosScan/impl/cuda/operand_access.hpp>
#include <KokkosScan/impl/cuda/stage.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <KokkosScan/operators.hpp>
#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace KokkosScan::impl::cuda {

// ---- How parts lie in memory --------------------------------------------------------------------

/// One value per line suits any access pattern.
template <class T>
struct OperandAccess<ValueOfLine<T>> {
  using In = ValueOfLine<T>;
  static constexpr bool constructible = OperandAccess<Array<T>>::constructible;
  static constexpr bool is_stored = true;
  static bool is_contiguous(const In&, std::int64_t, std::int64_t) { return true; }
  static bool has_columns(const In&, const Batch&) { return true; }
  template <int E>
  static constexpr bool moves_columns = true;
  template <int E>
  static bool has_aligned_columns(const In&, const Batch&) {
    return true;
  }
  template <int E>
  static bool has_aligned_packs(const In&, const Batch&) {
    return true;
  }
};

/// Indices along the axis need no memory, so packs of any size are possible.
template <int Rank, class Index>
struct OperandAccess<Computed<Rank, IndexAlong<Index>>> : ComputedAccess {
  template <int E>
  static constexpr bool moves_columns = true;
};

template <class... Parts>
struct OperandAccess<List<Parts...>> {
  static constexpr bool constructible = true;
  static constexpr bool is_stored = true;
  static bool is_contiguous(const List<Parts...>&, std::int64_t, std::int64_t) { return true; }
  static bool has_columns(const List<Parts...>&, const Batch&) { return true; }
  template <int E>
  static constexpr bool moves_columns = true;
  template <int E>
  static bool has_aligned_columns(const List<Parts...>&, const Batch&) {
    return true;
  }
  template <int E>
  static bool has_aligned_packs(const List<Parts...>&, const Batch&) {
    return true;
  }
};
template <class First, class... Rest>
struct OperandAccess<List<First, Rest...>> {
  using Parts = List<First, Rest...>;
  using Access = OperandAccess<First>;
  using Others = OperandAccess<List<Rest...>>;

  static constexpr bool constructible = Access::constructible && Others::constructible;
  static constexpr bool is_stored = Access::is_stored && Others::is_stored;
  static bool is_contiguous(const Parts& parts, std::int64_t n, std::int64_t along) {
    return Access::is_contiguous(parts.first, n, along) &&
           Others::is_contiguous(parts.rest, n, along);
  }
  static bool has_columns(const Parts& parts, const Batch& batch) {
    return Access::has_columns(parts.first, batch) && Others::has_columns(parts.rest, batch);
  }
  template <int E>
  static constexpr bool moves_columns =
      Access::template moves_columns<E>&& Others::template moves_columns<E>;
  template <int E>
  static bool has_aligned_columns(const Parts& parts, const Batch& batch) {
    return Access::template has_aligned_columns<E>(parts.first, batch) &&
           Others::template has_aligned_columns<E>(parts.rest, batch);
  }
  template <int E>
  static bool has_aligned_packs(const Parts& parts, const Batch& batch) {
    return Access::template has_aligned_packs<E>(parts.first, batch) &&
           Others::template has_aligned_packs<E>(parts.rest, batch);
  }
};
template <class Function, class Parts>
struct OperandAccess<ZippedInput<Function, Parts>> {
  using In = ZippedInput<Function, Parts>;
  using Access = OperandAccess<Parts>;

  static constexpr bool constructible = Access::constructible;
  static constexpr bool is_stored = Access::is_stored;
  static constexpr bool is_zipped = true;
  static bool is_contiguous(const In& in, std::int64_t n, std::int64_t along) {
    return Access::is_contiguous(in.parts, n, along);
  }
  static bool has_columns(const In& in, const Batch& batch) {
    return Access::has_columns(in.parts, batch);
  }
  template <int E>
  static constexpr bool moves_columns = Access::template moves_columns<E>;
  template <int E>
  static bool has_aligned_columns(const In& in, const Batch& batch) {
    return Access::template has_aligned_columns<E>(in.parts, batch);
  }
  template <int E>
  static bool has_aligned_packs(const In& in, const Batch& batch) {
    return Access::template has_aligned_packs<E>(in.parts, batch);
  }
};

// ---- In shared memory ---------------------------------------------------------------------------

/// One value per line, copied to the slot of each element.
template <class T>
struct Stage<ValueOfLine<T>> : StagedValues<std::remove_const_t<T>> {
  using In = ValueOfLine<T>;
  using Element = std::remove_const_t<T>;
  static constexpr bool is_computed = true;
  static constexpr bool fills_lines = true;

  template <class AnyTile, class Value>
  __device__ __forceinline__ void place(const In&, const AnyTile&, Region& region, const Value*) {
    this->slots = region.template take<Element>(nullptr);
  }
  template <int all = 0, class AnyTile>
  __device__ __forceinline__ Loaded load(const In& in, const AnyTile& tile, int) {
    fill(in, tile, threads_of_block());
    return {};
  }
  __device__ __forceinline__ void begin_load(const In&, const Tile&, Barrier&, const Threads&) {}
  template <class AnyTile>
  __device__ __forceinline__ void fill(const In& in, const AnyTile& tile, const Threads& threads) {
    fill_columns(this->slots, in, tile, threads);
  }
  __device__ __forceinline__ void fill(const In& in, const Tile& tile, const Threads& threads) {
    for (int i = 0; i < tile.lines; ++i) {
      const Element value = in.line(tile.line(i))(0);
      for (int e = threads.own; e < tile.length; e += threads.count) {
        this->slots[i * tile.length + e] = value;
      }
    }
  }
};

/// Indices along lines. In tiles of lines they are computed when read; in tiles of columns they
/// have slots.
template <int Rank, class Index>
struct Stage<Computed<Rank, IndexAlong<Index>>> : StagedComputed<Rank, IndexAlong<Index>> {
  using In = Computed<Rank, IndexAlong<Index>>;
  using Base = StagedComputed<Rank, IndexAlong<Index>>;
  static constexpr bool fills_lines = false;

  using Base::place;
  template <class Value>
  __device__ __forceinline__ void place(const In& in, const Tile& tile, Region&, const Value*) {
    m_step = tile.backward ? -in.step : in.step;
    m_length = tile.length;
    m_by_length = Divisor(tile.length);
    m_first = static_cast<Index>(in.index_along(tile.begin + tile.in_memory_order(0)));
  }
  template <int all = 0, class AnyTile>
  __device__ __forceinline__ Loaded load(const In& in, const AnyTile& tile, int elements) {
    return m_length == 0 ? Base::load(in, tile, elements) : Loaded{};
  }
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

/// The parts of a zipped input.
template <class... Parts>
struct StagedParts {
  static constexpr int widest = 1;
  template <int E>
  static constexpr bool has_packs = true;
  static constexpr bool has_parts_of_words = false;
  static constexpr int bytes(int, int, int) { return 0; }
  static constexpr int bytes_of_element = 0;
  static constexpr bool is_computed = false;
  static constexpr bool fills_lines = false;

  template <class AnyTile, class Value>
  __device__ __forceinline__ void place(const List<>&, const AnyTile&, Region&, const Value*) {}
  template <int all, class AnyTile>
  __device__ __forceinline__ Loaded load(const List<>&, const AnyTile&, int) {
    return {};
  }
  __device__ __forceinline__ void begin_load(const List<>&, const Tile&, Barrier&, const Threads&) {
  }
  template <class AnyTile>
  __device__ __forceinline__ void fill(const List<>&, const AnyTile&, const Threads&) {}

  template <class Get, class Function, class... Elements>
  __device__ __forceinline__ auto call(const Get&, const Function& function,
                                       const Elements&... elements) const {
    return rounded(function(as_argument(elements)...));
  }
  template <class Get, class Function, class A, int E, class... Packs>
  __device__ __forceinline__ void call_for_packs(const Get&, const Function& function, A (&x)[E],
                                                 const Packs&... packs) const {
#pragma unroll
    for (int i = 0; i < E; ++i) x[i] = static_cast<A>(rounded(function(as_argument(packs[i])...)));
  }
};
template <class First, class... Rest>
struct StagedParts<First, Rest...> {
  using Parts = List<First, Rest...>;
  using Others = StagedParts<Rest...>;
  static constexpr int widest = std::max(Stage<First>::widest, Others::widest);
  template <int E>
  static constexpr bool has_packs =
      Stage<First>::template has_packs<E>&& Others::template has_packs<E>;
  static constexpr bool has_parts_of_words =
      Stage<First>::has_parts_of_words || Others::has_parts_of_words;
  static constexpr int bytes(int elements, int padding, int alignment) {
    return Stage<First>::bytes(elements, padding, alignment) +
           Others::bytes(elements, padding, alignment);
  }
  static constexpr int bytes_of_element = Stage<First>::bytes_of_element + Others::bytes_of_element;
  static constexpr bool is_computed = Stage<First>::is_computed || Others::is_computed;
  static constexpr bool fills_lines = Stage<First>::fills_lines || Others::fills_lines;

  Stage<First> first;
  Others rest;

  template <class AnyTile, class Value>
  __device__ __forceinline__ void place(const Parts& parts, const AnyTile& tile, Region& region,
                                        const Value* results) {
    first.place(parts.first, tile, region, results);
    rest.place(parts.rest, tile, region, static_cast<const Value*>(nullptr));
  }
  template <int all, class AnyTile>
  __device__ __forceinline__ auto load(const Parts& parts, const AnyTile& tile,
                                       int elements_of_thread) {
    auto of_first = first.template load<all>(parts.first, tile, elements_of_thread);
    auto of_rest = rest.template load<all>(parts.rest, tile, elements_of_thread);
    return BothLoads<decltype(of_first), decltype(of_rest)>{of_first, of_rest};
  }
  __device__ __forceinline__ void begin_load(const Parts& parts, const Tile& tile, Barrier& barrier,
                                             const Threads& threads) {
    first.begin_load(parts.first, tile, barrier, threads);
    rest.begin_load(parts.rest, tile, barrier, threads);
  }
  template <class AnyTile>
  __device__ __forceinline__ void fill(const Parts& parts, const AnyTile& tile,
                                       const Threads& threads) {
    first.fill(parts.first, tile, threads);
    rest.fill(parts.rest, tile, threads);
  }

  /// function(elements..., get(each part)).
  template <class Get, class Function, class... Elements>
  __device__ __forceinline__ auto call(const Get& get, const Function& function,
                                       const Elements&... elements) const {
    return rest.call(get, function, elements..., get(first));
  }
  /// The same for packs, which get(part, pack) reads.
  template <class Get, class Function, class A, int E, class... Packs>
  __device__ __forceinline__ void call_for_packs(const Get& get, const Function& function,
                                                 A (&x)[E], const Packs&... packs) const {
    typename Stage<First>::Value pack[E];
    get(first, pack);
    rest.call_for_packs(get, function, x, packs..., pack);
  }
};

template <class Function, class... Parts>
struct Stage<ZippedInput<Function, List<Parts...>>> : StagedParts<Parts...> {
  using In = ZippedInput<Function, List<Parts...>>;
  using Base = StagedParts<Parts...>;
  using Value = std::remove_cvref_t<decltype(std::declval<In>().line(Coordinates{})(0))>;

  KeptFunction<Function> kept;

  template <class AnyTile, class Result>
  __device__ __forceinline__ void place(const In& in, const AnyTile& tile, Region& region,
                                        const Result* results) {
    kept.keep(in.function);
    Base::place(in.parts, tile, region, results);
  }
  template <int all = Base::bytes_of_element, class AnyTile>
  __device__ __forceinline__ auto load(const In& in, const AnyTile& tile, int elements_of_thread) {
    return Base::template load<all>(in.parts, tile, elements_of_thread);
  }
  __device__ __forceinline__ void begin_load(const In& in, const Tile& tile, Barrier& barrier,
                                             const Threads& threads) {
    Base::begin_load(in.parts, tile, barrier, threads);
  }
  template <class AnyTile>
  __device__ __forceinline__ void fill(const In& in, const AnyTile& tile, const Threads& threads) {
    Base::fill(in.parts, tile, threads);
  }
  [[nodiscard]] __device__ __forceinline__ Value get(int e) const {
    return this->call([=](const auto& part) { return part.get(e); }, kept.function);
  }
  template <bool are_aligned, int E>
  __device__ __forceinline__ void get_pack(int e, int i, Value (&x)[E]) const {
    this->call_for_packs(
        [=](const auto& part, auto& pack) { part.template get_pack<are_aligned>(e, i, pack); },
        kept.function, x);
  }
};

template <int Rank, class Index>
struct InLines<Computed<Rank, IndexAlong<Index>>> {
  static constexpr int bytes_of_element = 0;
  static constexpr int bytes(int, int, int) { return 0; }
};
template <class Function, class... Parts>
struct InLines<ZippedInput<Function, List<Parts...>>> {
  static constexpr int bytes_of_element = (0 + ... + InLines<Parts>::bytes_of_element);
  static constexpr int bytes(int elements, int padding, int alignment) {
    return (0 + ... + InLines<Parts>::bytes(elements, padding, alignment));
  }
};

/// The slots of the first part: a thread reads all parts of its elements before it writes results.
template <class Function, class First, class... Rest, class Value>
inline constexpr bool reuses_slots<ZippedInput<Function, List<First, Rest...>>, Value> =
    reuses_slots<First, Value>;
template <class Function, class... Parts>
__device__ __forceinline__ Span span_of(const Stage<ZippedInput<Function, List<Parts...>>>& stage) {
  return span_of(stage.first);
}
template <class T>
__device__ __forceinline__ Span span_of(const Stage<ValueOfLine<T>>& stage) {
  return stage.slots.span;
}

}  // namespace KokkosScan::impl::cuda
