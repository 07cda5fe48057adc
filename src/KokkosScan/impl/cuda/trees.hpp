// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What decides the bits of results on CUDA: the numbers of the combination trees. Whatever is in
/// tuning.hpp or decided by a plan changes no result.
///
/// The tree of columns, lines whose elements are not neighbours in memory, counts from the element
/// that is scanned first. Rows make chunks, 8 chunks a tile, 16 tiles a section. Within a chunk of a
/// carried type that is wider than the accumulator, 4 rows make a group, which combines in the
/// accumulator; groups, and everything above, combine in the carried type, all left to right. With
/// L the fold of the starting value and all earlier sections, S that of the earlier tiles of the
/// section, T that of the earlier chunks of the tile, g that of the earlier groups of the chunk, and
/// x the elements so far of the group,
///
///     B(k) = ((L * (S * T)) * g) * x    within a group, what is in front being rounded to the
///                                       accumulator,
///     B(k) = (L * (S * T)) * g          at the end of a group, where g includes it,
///     B(k) = L * (S * T)                at the end of a chunk, where T includes it,
///
/// and a part that is empty is left out. Where the carried type is the accumulator, a chunk is one
/// group, whose last element does not stand for it: within a chunk B(k) = (L * (S * T)) * x.

#include <Kokkos_Macros.hpp>

namespace KokkosScan::impl::cuda {

/// Rows of a chunk of a column: as many as 32 registers hold, but not less than 2.
///
/// \param bytes of the accumulator
KOKKOS_FUNCTION constexpr int rows_of_chunk(int bytes) {
  int rows = 32;
  while (rows > 2 && rows * bytes > 128) rows /= 2;
  return rows;
}
/// Rows that combine in the accumulator, where the carried type is wider.
inline constexpr int rows_of_group = 4;
inline constexpr int chunks_of_tile = 8;
inline constexpr int tiles_of_section = 16;
inline constexpr int chunks_of_section = chunks_of_tile * tiles_of_section;

}  // namespace KokkosScan::impl::cuda
