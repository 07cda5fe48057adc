// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What blocks that share columns publish in global memory.

#include <KokkosScan/impl/cuda/carry.hpp>
#include <KokkosScan/impl/cuda/column_tree.hpp>
#include <KokkosScan/impl/cuda/wide_column_plan.hpp>
#include <cstdint>

namespace KokkosScan::impl::cuda {

/// What blocks publish of their tiles: for rows of chunks and sections of a column, words that are
/// nonzero once available, contiguous across neighbouring columns. Nothing of its last tile.
///
/// A section has its inclusive prefix, which begins with the starting value, and its aggregate. A
/// row has its aggregate if blocks look back, else the last row of a tile that of its section up to
/// there.
template <class R>
struct PublishedRows {
  static constexpr int words = Published<R>::words;

  std::uint64_t* memory;
  std::int64_t inner;           ///< neighbouring columns
  std::int64_t rows, sections;  ///< of a column

  /// Bytes for columns of n elements: none if a column is a single row.
  static constexpr std::int64_t bytes(std::int64_t n, std::int64_t lines) {
    const std::int64_t values = rows_of_column(n) + 2 * sections_of_column(n);
    return rows_of_column(n) == 1 ? 0 : 16 + 8 * words * lines * values;
  }
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* tickets() const { return memory; }
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* row(const ColumnPlace& column,
                                                              std::int64_t row) const {
    return memory + 2 + (column.outer * (rows + 2 * sections) + row) * distance() + column.column;
  }
  /// The inclusive prefix of a section.
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* of_all(const ColumnPlace& column,
                                                                 std::int64_t section) const {
    return row(column, rows + 2 * section);
  }
  /// The aggregate of a section with this inclusive prefix.
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* own(std::uint64_t* of_all) const {
    return of_all + distance();
  }
  /// Words between rows.
  [[nodiscard]] __device__ __forceinline__ std::int64_t distance() const { return words * inner; }
  __device__ __forceinline__ void publish(std::uint64_t* at, const R& value) const {
    cuda::publish(at, value, inner);
  }
  [[nodiscard]] __device__ __forceinline__ Published<R> look(const std::uint64_t* at) const {
    return cuda::look<R>(at, inner);
  }
};

/// What has been published of a row or a section: the aggregate or, if it may be, the inclusive
/// prefix.
template <class R, bool may_be_of_all>
struct SeenFold {
  Published<R> own, of_all;

  __device__ __forceinline__ void look(const PublishedRows<R>& published, std::uint64_t* at) {
    if constexpr (may_be_of_all) of_all = published.look(at);
    own = published.look(may_be_of_all ? published.own(at) : at);
  }
  [[nodiscard]] __device__ __forceinline__ bool is_of_all() const {
    return may_be_of_all && is_there(of_all);
  }
  [[nodiscard]] __device__ __forceinline__ bool is_any_there() const {
    return is_there(own) || is_of_all();
  }
  __device__ __forceinline__ void get(R& value) const { (is_of_all() ? of_all : own).get(value); }
};

}  // namespace KokkosScan::impl::cuda
