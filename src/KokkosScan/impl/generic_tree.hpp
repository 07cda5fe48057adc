// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The combination tree of the generic backend and of the general host kernels: the order in which
/// the values of a line combine, whichever kernel computes them.
///
/// Elements combine left to right to chunks, chunk totals left to right to tiles, and tile totals
/// left to right to the line, counted from the element that is scanned first. With P the starting
/// value and all earlier tiles, q the earlier chunks of the tile, and c the elements of the chunk
/// so far,
///
///     B(k) = (P * q) * c    in the middle of a chunk,
///     B(k) = P * q          at the end of a chunk, where q includes it,
///
/// and empty parts are left out. So B(k) is one expression in the first k elements: it depends
/// neither on the length of the line nor on threads, teams, tiles in flight or other lines, and
/// inclusive results, exclusive results and totals agree bitwise.

#include <KokkosScan/impl/accumulate.hpp>
#include <Kokkos_Core.hpp>
#include <cstdint>

namespace KokkosScan::impl::generic_tree {

/// Elements of a chunk, which one thread combines.
inline constexpr std::int64_t chunk_length = 128;
/// Chunks of a tile, which one team combines.
inline constexpr std::int64_t chunks_of_tile = 128;
/// Elements of a tile.
inline constexpr std::int64_t tile_length = chunk_length * chunks_of_tile;

/// ceil(a / b)
KOKKOS_INLINE_FUNCTION constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// The prefix of a chunk in two parts: the earlier tiles, and the earlier chunks of its own tile.
template <class R>
struct Prefix {
  Maybe<R> tiles;
  Maybe<R> chunks;

  /// Both parts combined: the carry into the chunk.
  template <class Op>
  KOKKOS_FUNCTION Maybe<R> carry(const Op& op) const {
    return chunks.exists ? Maybe<R>(combine(op, tiles, chunks.value)) : tiles;
  }
  template <class Op>
  KOKKOS_FUNCTION void add_chunk(const Op& op, const R& total) {
    chunks = Maybe<R>(combine(op, chunks, total));
  }
  /// Completes the tile: its total joins the earlier tiles.
  template <class Op>
  KOKKOS_FUNCTION void add_tile(const Op& op) {
    tiles = carry(op);
    chunks = Maybe<R>();
  }
};

}  // namespace KokkosScan::impl::generic_tree
