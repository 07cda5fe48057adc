// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How a thread of the kernel for wide columns (wide_columns.hpp) loads masked elements.

#include <KokkosScan/impl/cuda/span.hpp>
#include <KokkosScan/impl/cuda/warp.hpp>
#include <KokkosScan/impl/cuda/wide_column_elements.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace KokkosScan::impl::cuda {

/// The mask of the quarters of a warp, as bits: loading it like values would take as many
/// instructions and registers as these. Each lane reads the bytes of a row, as whole quads: bytes
/// before and behind them are not used. Where columns are no neighbours in memory, it reads those
/// of its column, and the warp exchanges them.
template <class T, int E>
class MaskOfQuarters {
 public:
  /// Begins to load.
  __device__ __forceinline__ MaskOfQuarters(const Array<const T>& mask, const Batch& batch,
                                            const WideColumnPart<E>& at) {
    if (stride_of_columns(batch, mask.strides) != 1) {
      load_columns(mask, batch, at);
      return;
    }
#pragma unroll
    for (int e = 0; e < E; ++e) {
      const int column = at.first_column_of_warp(e);
      const std::int64_t k = at.first(e) + lane();
      const auto* const row = reinterpret_cast<const std::byte*>(
          mask.line(ColumnPlace{batch, at.tile.outer, at.tile.first_column + column}).data +
          k * mask.strides.along);
      m_before[e] = misalignment(row, quad);
      const auto* const from = reinterpret_cast<const Quad*>(row - m_before[e]);
      const int left = at.tile.columns - column;
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
      if (at.beside() == 1) separate(bits[0], bits[1]);
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
  /// Reads bytes of this thread's column.
  ///
  /// \return in lane v one bit for each byte of row v of the warp
  static __device__ __noinline__ unsigned bits_of_columns(const T* from, std::int64_t along,
                                                          int length) {
    bool selects[elements_of_quarter];
#pragma unroll
    for (int v = 0; v < elements_of_quarter; ++v, from += along) {
      selects[v] = v < length && static_cast<bool>(*from);
    }
    unsigned bits = 0;
#pragma unroll
    for (int v = 0; v < elements_of_quarter; ++v) {
      const unsigned row = __ballot_sync(~0U, selects[v]);
      if (lane() == v) bits = row;
    }
    return bits;
  }
  __device__ __forceinline__ void load_columns(const Array<const T>& mask, const Batch& batch,
                                               const WideColumnPart<E>& at) {
    const std::int64_t along = mask.strides.along;
    const T* from = mask.line(at.place(batch)).data + at.k * along;
#pragma unroll
    for (int e = 0; e < E; ++e, from += at.distance(batch, mask.strides)) {
      const unsigned bits = bits_of_columns(from, along, at.length[e]);
      unsigned words[quads * quad / bytes_of_word] = {};
#pragma unroll
      for (int i = 0; i < lanes / bytes_of_word; ++i) {
        words[i] = (bits >> (bytes_of_word * i) & 15U) * 0x00204081U & 0x01010101U;
      }
      memcpy(m_quad[e], words, sizeof words);
      m_before[e] = 0;
    }
  }
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
requires(sizeof(Mask) == 1) __device__ __forceinline__
    void load_quarters(const Selected<A, Values, Array<const Mask>>& in, const Batch& batch,
                       const WideColumnPart<E>& at, A (&x)[V][E]) {
  const MaskOfQuarters<Mask, E> mask(in.mask, batch, at);
  load_quarters(in.values, batch, at, x);
  mask.apply(at, in.identity, x);
}

}  // namespace KokkosScan::impl::cuda
