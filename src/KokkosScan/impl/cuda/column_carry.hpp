// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How blocks that share columns obtain the prefixes of their tiles.
///
/// Blocks take the tiles of a strip by ticket, in scan order, and publish the total of each row of
/// chunks as soon as they have folded it (column_tree.hpp defines the words and the combination
/// tree). The block with the tile that ends a section publishes the section's total, for which it
/// reads those of the section's rows. A block keeps the prefix of each column from its tile to its
/// next of the same strip: it reads the totals of the sections in between, and of earlier rows of
/// the tile's section. There is no chain of prefixes, since each total depends on elements only. A
/// block only ever waits for blocks with lower tickets, so there is no deadlock.

#include <KokkosScan/impl/cuda/carry.hpp>
#include <KokkosScan/impl/cuda/tuning.hpp>
#include <KokkosScan/impl/cuda/warp.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace KokkosScan::impl::cuda {

/// The global memory through which blocks communicate: tickets, and entries that are published for
/// each column. Entry 0 is a copy of the starting value, since a total may overwrite that while
/// others still need it; entry 1 + s is the total of section s; the rows of chunks follow.
template <class R>
struct PublishedColumns {
  std::uint64_t* memory;
  std::int64_t columns;  ///< of all strips
  std::int64_t strips;
  std::int64_t sections;  ///< of a column

  static constexpr int words = Published<R>::words;

  static constexpr std::int64_t bytes(std::int64_t n, std::int64_t columns, std::int64_t strips) {
    const std::int64_t entries =
        1 + divide_up(n, elements_of_section) + divide_up(n, elements_of_row);
    return 8 * (1 + strips + columns * entries * words);
  }
  /// The same for narrow columns, with tiles and groups of tiles as rows and sections; all strips
  /// share one ticket counter, turns().
  static constexpr std::int64_t bytes_of_tiles(std::int64_t columns, std::int64_t tiles) {
    return 8 * (1 + columns * (1 + divide_up(tiles, tiles_of_narrow_group) + tiles) * words);
  }
  /// Counts the strips that blocks have begun after their first.
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* turns() const { return memory; }
  /// The ticket counter of a strip.
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* tickets(std::int64_t strip) const {
    return memory + 1 + strip;
  }
  [[nodiscard]] __device__ __forceinline__ std::int64_t entry_of_row(std::int64_t row) const {
    return 1 + sections + row;
  }
  /// \param column index among the columns of all strips
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* at(std::int64_t entry,
                                                             std::int64_t column) const {
    return memory + 1 + strips + (entry * columns + column) * words;
  }
  __device__ __forceinline__ void publish(std::int64_t entry, std::int64_t column,
                                          const R& value) const {
    cuda::publish(at(entry, column), value);
  }
};

/// Published words that a lane holds in registers at once.
inline constexpr int words_at_once = 8;

/// A fold of published entries for each column of a strip, which a warp carries from one tile of
/// its block to the next.
///
/// \tparam Op combines the totals
template <class Op, class R>
class CarriedColumns {
 public:
  using Value = R;
  /// Values that are read together into shared memory.
  static constexpr int values_at_once =
      lanes * std::max(1, words_at_once / PublishedColumns<R>::words);
  /// Bytes of shared memory.
  ///
  /// \param width the most columns of a strip
  __host__ __device__ static constexpr int bytes(int width) {
    return (values_at_once + width) * static_cast<int>(sizeof(R));
  }

  /// \param width the warp's columns in a whole strip
  __device__ __forceinline__ CarriedColumns(std::byte* memory, const PublishedColumns<R>& published,
                                            const Divisor& by_width, int width)
      : m_values(reinterpret_cast<R*>(memory)),
        m_folds(m_values + values_at_once),
        m_width(width),
        m_at_once(values_at_once / width) {
#pragma unroll
    for (int j = 0; j < values; ++j) {
      const int v = lane() + j * lanes;
      m_entry[j] = by_width.quotient(v);
      const int column = v - m_entry[j] * width;
      m_place[j] = (m_entry[j] * static_cast<int>(published.columns) + column) * words;
    }
  }

  /// The fold of a column, for the lane that has set it: lane column % lanes.
  [[nodiscard]] __device__ __forceinline__ R& operator[](int column) const {
    return m_folds[column];
  }

  /// Waits for published entries and appends them to the folds.
  ///
  /// \param exists       whether the folds are nonempty
  /// \param columns      how many of the warp's columns exist
  /// \param first_column index among the columns of all strips
  __device__ __forceinline__ void add(const Op& op, const PublishedColumns<R>& published,
                                      int columns, std::int64_t first_column, std::int64_t entry,
                                      int count, bool exists) const {
    while (count > 0) {
      const int now = count < m_at_once ? count : m_at_once;
      read(published.at(entry, first_column), columns, now);
      for (int c = lane(); c < columns; c += lanes) {
        Fold<Op, R> run = exists ? Fold<Op, R>(op, m_folds[c]) : Fold<Op, R>(op);
#pragma unroll 8
        for (int i = 0; i < now; ++i) {
          run = Fold<Op, R>(op, run.then(op, m_values[i * m_width + c]));
        }
        m_folds[c] = run.value();
      }
      __syncwarp();
      exists = true;
      entry += now;
      count -= now;
    }
  }

 private:
  static constexpr int words = PublishedColumns<R>::words;
  static constexpr int values = values_at_once / lanes;  ///< of a lane

  static __device__ __forceinline__ int lane() { return static_cast<int>(threadIdx.x) % lanes; }

  /// Reads entries into shared memory, in rows of `width`.
  ///
  /// \param from the first entry of the first column
  __device__ __forceinline__ void read(const std::uint64_t* from, int columns, int entries) const {
    Published<R> value[values];
    unsigned missing = 0;
#pragma unroll
    for (int j = 0; j < values; ++j) {
      const int column = lane() + j * lanes - m_entry[j] * m_width;
      missing |= m_entry[j] < entries && column < columns ? 1u << j : 0u;
#pragma unroll
      for (int w = 0; w < words; ++w) value[j].word[w] = 0;
    }
    // All loads are issued together to hide latency, and all lanes leave the loop together.
    while (!__all_sync(~0u, missing == 0)) {
#pragma unroll
      for (int j = 0; j < values; ++j) {
#pragma unroll
        for (int w = 0; w < words; ++w) {
          load_word_if((missing >> j & 1) != 0, from + m_place[j] + w, value[j].word[w]);
        }
      }
#pragma unroll
      for (int j = 0; j < values; ++j) {
        if (is_there(value[j])) missing &= ~(1u << j);
      }
      if (missing != 0) pause();
    }
#pragma unroll
    for (int j = 0; j < values; ++j) {
      R x;  // a local copy: get() would write to shared memory byte by byte
      value[j].get(x);
      m_values[lane() + j * lanes] = x;
    }
    __syncwarp();
  }

  R* m_values;
  R* m_folds;
  int m_width;
  int m_at_once;        ///< entries that are read together
  int m_entry[values];  ///< of the values that this lane reads
  int m_place[values];  ///< offset in words from the first value; an int suffices
};

}  // namespace KokkosScan::impl::cuda
