// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How a thread of the kernel for wide columns (wide_columns.hpp) finds its part of a tile, and how
/// it loads and stores it.

#include <KokkosScan/impl/cuda/column_tree.hpp>
#include <KokkosScan/impl/cuda/operand_access.hpp>
#include <KokkosScan/impl/cuda/span.hpp>
#include <KokkosScan/impl/cuda/stage.hpp>
#include <KokkosScan/impl/cuda/tuning.hpp>
#include <KokkosScan/impl/cuda/warp.hpp>
#include <KokkosScan/impl/cuda/wide_column_plan.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <cstddef>
#include <cstdint>

namespace KokkosScan::impl::cuda {

/// A tile. Found by one thread, as that takes divisions.
struct WideColumnTile {
  std::int64_t outer;
  std::int64_t number;     ///< in the strip
  std::int64_t first_row;  ///< of chunks
  int first_column;        ///< of the strip
  int columns;             ///< of the strip that exist
  bool exists;

  /// \param ticket index among the tiles of all strips
  static __device__ __forceinline__ WideColumnTile find(const WideColumnPlan& plan,
                                                        std::int64_t ticket) {
    const Division at(ticket, plan.strips);
    const Division strip(at.remainder, plan.strips_of_row);
    const int first_column = static_cast<int>(strip.remainder) * plan.columns;
    const int left = plan.inner - first_column;
    return {strip.quotient,
            at.quotient,
            at.quotient * plan.rows_of_tile(),
            first_column,
            left < plan.columns ? left : plan.columns,
            at.quotient < plan.tiles};
  }
  /// The section, and the first row in it.
  [[nodiscard]] __device__ __forceinline__ std::int64_t section() const {
    return first_row / rows_of_section;
  }
  [[nodiscard]] __device__ __forceinline__ int row() const {
    return static_cast<int>(first_row % rows_of_section);
  }
};

/// This thread's part of a tile: E quarters of rows of chunks, side by side or, in strips too
/// narrow for that, one below the other.
template <int E>
struct WideColumnPart {
  std::int64_t outer;
  std::int64_t k;      ///< the first element of quarter 0
  int first_column;    ///< of the strip
  int column;          ///< of quarter 0, in the strip
  int quarter;         ///< the number of quarter 0 in the tile
  int column_of_warp;  ///< of quarter 0 of its first lane, in the strip
  int columns;         ///< of the strip
  std::int64_t n;
  int beside;     ///< columns from one quarter to the next
  int below;      ///< rows from one quarter to the next
  int length[E];  ///< elements of each quarter, none if it does not exist

  __device__ __forceinline__ WideColumnPart(const WideColumnTile& tile, const WideColumnPlan& plan,
                                            std::int64_t n)
      : outer(tile.outer), first_column(tile.first_column), columns(tile.columns), n(n) {
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    const int warp = static_cast<int>(threadIdx.x) / lanes;
    const bool is_stacked = plan.is_stacked;
    const int quarters = is_stacked ? E : 1;  // of the thread, in a column
    beside = is_stacked ? 0 : (plan.are_packs ? 1 : lanes);
    below = is_stacked ? elements_of_quarter : 0;
    const int warps = plan.quarters_of_tile / quarters;
    const int across = warp / warps;
    quarter = (warp - across * warps) * quarters;
    column_of_warp = across * (is_stacked ? 1 : E) * lanes;
    column = column_of_warp + (plan.are_packs ? lane * E : lane);
    k = tile.first_row * elements_of_row + quarter * elements_of_quarter;
#pragma unroll
    for (int e = 0; e < E; ++e) {
      const std::int64_t left = column + e * beside < tile.columns ? n - k - e * below : 0;
      length[e] = left <= 0 ? 0 : (left < elements_of_quarter ? left : elements_of_quarter);
    }
    if (length[0] == 0) column = 0;
  }
  [[nodiscard]] __device__ __forceinline__ bool exists(int e) const { return length[e] > 0; }
  [[nodiscard]] __device__ __forceinline__ int column_of(int e) const {
    return column + e * beside;
  }
  [[nodiscard]] __device__ __forceinline__ int quarter_of(int e) const {
    return below > 0 ? quarter + e : quarter;
  }
  [[nodiscard]] __device__ __forceinline__ std::int64_t first(int e) const { return k + e * below; }
  [[nodiscard]] __device__ __forceinline__ ColumnPlace place(const Batch& batch, int e = 0) const {
    return {batch, outer, first_column + column_of(e)};
  }
  /// Elements in memory from one quarter to the next, in rows `along` apart.
  [[nodiscard]] __device__ __forceinline__ std::int64_t distance(std::int64_t along) const {
    return beside + below * along;
  }
};

/// Loads the quarters of a thread: x[v][e] becomes the v-th element of quarter e, or A{} behind its
/// end. Nothing is computed before the last load is requested, as that would wait for the first.
template <class In, int E, class A, int V>
__device__ __forceinline__ void load_quarters(const In& in, const Batch& batch,
                                              const WideColumnPart<E>& at, A (&x)[V][E]) {
#pragma unroll
  for (int e = 0; e < E; ++e) {
    const auto line = in.line(at.place(batch, at.exists(e) ? e : 0));
    if (at.length[e] == V) {
#pragma unroll
      for (int v = 0; v < V; ++v) x[v][e] = static_cast<A>(line(at.first(e) + v));
    } else {
#pragma unroll
      for (int v = 0; v < V; ++v) {
        x[v][e] = v < at.length[e] ? static_cast<A>(line(at.first(e) + v)) : A{};
      }
    }
  }
}
template <class T, int E, class A, int V>
__device__ __forceinline__ void load_quarters(const Array<const T>& in, const Batch& batch,
                                              const WideColumnPart<E>& at, A (&x)[V][E]) {
  const std::int64_t along = in.strides.along;
  const T* row = in.line(at.place(batch)).data + at.k * along;
  if constexpr (E > 1 && is_one_move<static_cast<int>(sizeof(T)) * E>) {
    if (at.beside == 1) {
      using Word = typename UnitOf<sizeof(T) * E>::type;
      Word words[V];
#pragma unroll
      for (int v = 0; v < V; ++v, row += along) {
        words[v] = v < at.length[0] ? *reinterpret_cast<const Word*>(row) : Word{};
      }
#pragma unroll
      for (int v = 0; v < V; ++v) {
        T raw[E];
        memcpy(static_cast<void*>(raw), &words[v], sizeof(Word));
#pragma unroll
        for (int e = 0; e < E; ++e) x[v][e] = static_cast<A>(raw[e]);
      }
      return;
    }
  }
  const std::int64_t apart = at.distance(along);
  T raw[V][E];
#pragma unroll
  for (int v = 0; v < V; ++v, row += along) {
#pragma unroll
    for (int e = 0; e < E; ++e) raw[v][e] = v < at.length[e] ? row[e * apart] : T{};
  }
#pragma unroll
  for (int v = 0; v < V; ++v) {
#pragma unroll
    for (int e = 0; e < E; ++e) x[v][e] = static_cast<A>(raw[v][e]);
  }
}

/// The mask of the quarters of a warp, as bits: loading it like values would take as many
/// instructions and registers as these. Each lane reads the bytes of a row, as whole quads: bytes
/// before and behind them are not used.
template <class T, int E>
class MaskOfQuarters {
 public:
  /// Begins to load.
  __device__ __forceinline__ MaskOfQuarters(const Array<const T>& mask, const Batch& batch,
                                            const WideColumnPart<E>& at) {
#pragma unroll
    for (int e = 0; e < E; ++e) {
      const int column = at.column_of_warp + (at.below > 0 ? 0 : e * lanes);
      const std::int64_t k = at.first(e) + lane();
      const auto* const row = reinterpret_cast<const std::byte*>(
          mask.line(ColumnPlace{batch, at.outer, at.first_column + column}).data +
          k * mask.strides.along);
      m_before[e] = misalignment(row, quad);
      const auto* const from = reinterpret_cast<const Quad*>(row - m_before[e]);
      const int left = at.columns - column;
      const int end = k < at.n ? m_before[e] + (left < lanes ? left : lanes) : 0;
#pragma unroll
      for (int i = 0; i < quads; ++i) m_quad[e][i] = i * quad < end ? from[i] : Quad{};
    }
  }
  /// Replaces elements that are not selected.
  template <class A>
  __device__ __forceinline__ void apply(const WideColumnPart<E>& at, const A& identity,
                                        A (&x)[elements_of_quarter][E]) const {
    unsigned bits[E];
#pragma unroll
    for (int e = 0; e < E; ++e) bits[e] = bits_of(e);
    if constexpr (E == 2) {
      if (at.beside == 1) separate(bits[0], bits[1]);
    }
#pragma unroll
    for (int v = 0; v < elements_of_quarter; ++v) {
#pragma unroll
      for (int e = 0; e < E; ++e) {
        if ((shuffle(bits[e], v) >> lane() & 1) == 0) x[v][e] = identity;
      }
    }
  }

 private:
  static_assert(sizeof(T) == 1 && elements_of_quarter == lanes && E <= 2);
  using Quad = typename UnitOf<quad>::type;
  static constexpr int quads = lanes / quad + 1;

  static __device__ __forceinline__ int lane() { return static_cast<int>(threadIdx.x) % lanes; }
  /// One bit for each byte of a row.
  [[nodiscard]] __device__ __forceinline__ unsigned bits_of(int e) const {
    std::uint64_t bits = 0;
#pragma unroll
    for (int i = 0; i < quads; ++i) {
      unsigned words[quad / bytes_of_word];
      memcpy(words, &m_quad[e][i], quad);
#pragma unroll
      for (int j = 0; j < quad / bytes_of_word; ++j) {
        unsigned bytes = words[j];
        bytes |= bytes >> 4;
        bytes |= bytes >> 2;
        bytes |= bytes >> 1;
        // The product has the lowest bit of each byte side by side.
        const unsigned four = (bytes & 0x01010101U) * 0x01020408U >> 24 & 15U;
        bits |= std::uint64_t{four} << (quad * i + bytes_of_word * j);
      }
    }
    return static_cast<unsigned>(bits >> m_before[e]);
  }
  /// Separates the even bits of 64 from the odd ones. (Hacker's Delight, 7-2.)
  static __device__ __forceinline__ void separate(unsigned& low, unsigned& high) {
    std::uint64_t x = std::uint64_t{high} << 32 | low;
    constexpr std::uint64_t masks[] = {0x2222222222222222U, 0x0C0C0C0C0C0C0C0CU,
                                       0x00F000F000F000F0U, 0x0000FF000000FF00U,
                                       0x00000000FFFF0000U};
#pragma unroll
    for (int i = 0; i < 5; ++i) {
      const std::uint64_t t = (x ^ x >> (1 << i)) & masks[i];
      x ^= t ^ t << (1 << i);
    }
    low = static_cast<unsigned>(x);
    high = static_cast<unsigned>(x >> 32);
  }

  int m_before[E];  ///< bytes of the first quad before the row
  Quad m_quad[E][quads];
};
template <class A, class Values, class Mask, int E, int V>
__device__ __forceinline__ void load_quarters(const Selected<A, Values, Array<const Mask>>& in,
                                              const Batch& batch, const WideColumnPart<E>& at,
                                              A (&x)[V][E]) {
  const MaskOfQuarters<Mask, E> mask(in.mask, batch, at);
  load_quarters(in.values, batch, at, x);
  mask.apply(at, in.identity, x);
}

/// Stores the quarters of a thread.
///
///     store(batch, at, shift, x)  stores x[v][e] as the element `shift` behind the v-th of quarter
///                                 e, unless that is behind the quarter
///
template <class Out, int E>
struct WideResults;
template <class Value, int E>
struct WideResults<Array<Value>, E> {
  Value* const data;
  const std::int64_t along, apart;

  __device__ __forceinline__ WideResults(const Array<Value>& out, const Batch& batch,
                                         const WideColumnPart<E>& at)
      : data(out.line(at.place(batch)).data + at.k * out.strides.along),
        along(out.strides.along),
        apart(at.distance(along)) {}
  template <class A, int V>
  __device__ __forceinline__ void store(const Batch&, const WideColumnPart<E>& at, int shift,
                                        const A (&x)[V][E]) const {
    Value* to = data + shift * along;
    if (at.beside == 1) {
      if constexpr (E > 1 && is_one_move<static_cast<int>(sizeof(Value)) * E>) {
        const int count = at.length[0] - shift;
#pragma unroll
        for (int v = 0; v < V; ++v, to += along) {
          Value y[E];
#pragma unroll
          for (int e = 0; e < E; ++e) y[e] = static_cast<Value>(x[v][e]);
          if (v < count) move_pack(reinterpret_cast<std::byte*>(to), y);
        }
      }
      return;
    }
#pragma unroll
    for (int v = 0; v < V; ++v, to += along) {
#pragma unroll
      for (int e = 0; e < E; ++e) {
        if (v < at.length[e] - shift) to[e * apart] = static_cast<Value>(x[v][e]);
      }
    }
  }
};
/// A function, called quarter by quarter, as each has its own indices.
template <class Value, int Rank, class Function, int E>
struct WideResults<Called<Value, Rank, Function>, E> {
  const Called<Value, Rank, Function>& out;

  __device__ __forceinline__ WideResults(const Called<Value, Rank, Function>& of, const Batch&,
                                         const WideColumnPart<E>&)
      : out(of) {}
  template <class A, int V>
  __device__ __forceinline__ void store(const Batch& batch, const WideColumnPart<E>& at, int shift,
                                        const A (&x)[V][E]) const {
#pragma unroll
    for (int e = 0; e < E; ++e) {
      if (!at.exists(e)) continue;
      const auto line = out.line(at.place(batch, e));
      const int count = V == 1 ? 1 : at.length[e] - shift;
#pragma unroll
      for (int v = 0; v < V; v += chunk_of_column) {
        call_for_chunk(line, at.first(e) + shift + v, count - v, x, e, v);
      }
    }
  }
};

/// Whether one instruction moves the neighbouring columns of a thread, if they are aligned.
template <class P>
inline constexpr bool has_wide_packs = [] {
  constexpr int E = quarters_of_wide_thread(sizeof(typename P::A));
  return E > 1 && OperandAccess<decltype(P::input)>::is_stored &&
         OperandAccess<decltype(P::input)>::template moves_columns<E> &&
         OperandAccess<decltype(P::output)>::template moves_columns<E>;
}();

}  // namespace KokkosScan::impl::cuda
