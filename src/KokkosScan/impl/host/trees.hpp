// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The combination tree of the host backend: the order in which the values of a line combine.
///
/// Positions count from the element that is scanned first. Four neighbours make a pack, whose
/// prefixes are x0, x0 * x1, (x0 * x1) * x2 and (x0 * x1) * (x2 * x3). Four packs make a chunk;
/// they combine left to right, in the accumulator. 64 chunks make a tile; chunks combine left to
/// right to the tile, and tiles left to right to the line, in the carried type. With P the starting
/// value and all earlier tiles, q the earlier chunks of the tile, l the earlier packs of the chunk
/// and x the prefix in the pack,
///
///     B(k) = (P * q) * (l * x)
///
/// where P * q is rounded to the accumulator, and empty parts are left out or replaced by a neutral
/// value. So B(k) is one expression in the first k elements, whatever the strides, threads and
/// other lines are. Nothing else determines the bits of results.

#include <KokkosScan/operators.hpp>
#include <type_traits>

namespace KokkosScan::impl::host {

/// The elements of a pack, the base of the combination tree.
inline constexpr int pack_length = 4;
/// Elements of a chunk.
inline constexpr int chunk_length = 4 * pack_length;
/// Elements of a tile, the smallest part of a line that one thread takes if threads share it.
inline constexpr int tile_length = 64 * chunk_length;

/// A value that changes no other value that it is combined with: the identity, except for sums of
/// floating-point numbers, where it is -0, as x + (-0) is x even for x = -0.
template <class T>
[[gnu::always_inline]] inline constexpr T neutral(const Sum<T>&) {
  if constexpr (std::is_floating_point_v<T>) return -T(0);
  return T(0);
}
template <class Op>
[[gnu::always_inline]] inline constexpr auto neutral(const Op&) {
  return Op::identity();
}

/// Whether vector instructions combine NaNs differently from the operator.
template <class Op>
inline constexpr bool minds_nan = false;
template <class T>
inline constexpr bool minds_nan<Min<T>> = std::is_floating_point_v<T>;
template <class T>
inline constexpr bool minds_nan<Max<T>> = std::is_floating_point_v<T>;

}  // namespace KokkosScan::impl::host
