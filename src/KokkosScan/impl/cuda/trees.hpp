// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What decides the bits of results on CUDA: the numbers of the combination trees. Whatever is in
/// tuning.hpp or decided by a plan changes no result.
///
/// The tree of columns, lines whose elements are not neighbours in memory, counts from the element
/// that is scanned first. 33 rows make a chunk, 8 chunks a tile, 16 tiles a section; all combine in
/// the carried type, left to right. With L the fold of the starting value and all earlier sections,
/// S that of the earlier tiles of the section, T that of the earlier chunks of the tile, and x the
/// elements so far of the chunk, one after the other,
///
///     B(k) = (L * (S * T)) * x_1 * x_2 ...    within a chunk,
///     B(k) = L * (S * T)                      at the end of a chunk, where T includes it,
///
/// and a part that is empty is left out.

#include <Kokkos_Macros.hpp>

namespace KokkosScan::impl::cuda {

/// Rows of a chunk of a column: 33 of up to four bytes, 17 of 8 ..., but not less than 3. An odd
/// number, so that lanes which have the same row of neighbouring chunks meet different banks of
/// shared memory however many columns lie side by side: 33 rows of m columns are m more than a
/// multiple of 32.
///
/// \param bytes of the accumulator
KOKKOS_FUNCTION constexpr int rows_of_chunk(int bytes) {
  int rows = 32;
  while (rows > 2 && rows * bytes > 128) rows /= 2;
  return rows + 1;
}
inline constexpr int chunks_of_tile = 8;
inline constexpr int tiles_of_section = 16;
inline constexpr int chunks_of_section = chunks_of_tile * tiles_of_section;

}  // namespace KokkosScan::impl::cuda
