// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The combination tree of the host backend: in which order the values of a line combine.
///
/// It counts from the element that is scanned first. Four neighbours make a pack, whose prefixes
/// are x0, x0 * x1, (x0 * x1) * x2 and (x0 * x1) * (x2 * x3). Four packs make a chunk, and combine
/// left to right, in the accumulator. 64 chunks make a tile; chunks combine left to right to the
/// tile and tiles left to right to the line, in the carried type. With P the starting value and all
/// earlier tiles, q the earlier chunks of the tile, l the earlier packs of the chunk and x the
/// prefix in the pack,
///
///     B(k) = (P * q) * (l * x)
///
/// where P * q is rounded to the accumulator, and a part that is empty is left out: a neutral value
/// stands for it. So B(k) is one expression in the first k elements, whatever the strides, threads
/// and other lines are. Nothing else decides bits.

#include <KokkosScan/operators.hpp>
#include <type_traits>

namespace KokkosScan::impl::host {

/// The elements of a pack, the base of the combination tree.
inline constexpr int pack_length = 4;
/// Elements of a chunk.
inline constexpr int chunk_length = 4 * pack_length;
/// Elements of a tile, the least that one thread takes of a line that threads share.
inline constexpr int tile_length = 64 * chunk_length;

/// A value that leaves each one that it is combined with as it is: the identity, but that of a sum
/// of floats is -0, as 0 + (-0) is 0.
template <class T>
[[gnu::always_inline]] inline constexpr T neutral(const Sum<T>&) {
  if constexpr (std::is_floating_point_v<T>) return -T(0);
  return T(0);
}
template <class Op>
[[gnu::always_inline]] inline constexpr auto neutral(const Op&) {
  return Op::identity();
}

/// Whether vectors combine NaNs otherwise than the operator does.
template <class Op>
inline constexpr bool minds_nan = false;
template <class T>
inline constexpr bool minds_nan<Min<T>> = std::is_floating_point_v<T>;
template <class T>
inline constexpr bool minds_nan<Max<T>> = std::is_floating_point_v<T>;

}  // namespace KokkosScan::impl::host
