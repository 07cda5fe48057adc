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

/// What blocks publish of their tiles: for each row of chunks and each section of a column, words
/// that are nonzero once available, contiguous across neighbouring columns.
///
/// Each has two values: its aggregate and, at the end of a tile, its inclusive prefix. The prefix
/// of a row begins with its section, that of a section with the starting value. The aggregates of
/// rows are always published, those of sections unless their inclusive prefix is known at once,
/// nothing of a column's last tile.
template <class R>
struct PublishedRows {
  static constexpr int words = Published<R>::words;

  std::uint64_t* memory;
  std::int64_t inner;           ///< neighbouring columns
  std::int64_t rows, sections;  ///< of a column

  /// Bytes for columns of n elements: none if a column is a single row.
  static constexpr std::int64_t bytes(std::int64_t n, std::int64_t lines) {
    return rows_of_column(n) == 1
               ? 0
               : 16 + 16 * words * lines * (rows_of_column(n) + sections_of_column(n));
  }
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* tickets() const { return memory; }
  /// Where the aggregate of a row, that of a section, and the inclusive prefix are.
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* row(const ColumnPlace& column,
                                                              std::int64_t row) const {
    return memory + 2 + (column.outer * (rows + sections) + row) * distance() + column.column;
  }
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* section(const ColumnPlace& column,
                                                                  std::int64_t section) const {
    return row(column, rows + section);
  }
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* of_all(std::uint64_t* own) const {
    return own + words * inner;
  }
  /// Words between rows.
  [[nodiscard]] __device__ __forceinline__ std::int64_t distance() const {
    return 2 * words * inner;
  }
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
    own = published.look(at);
    if constexpr (may_be_of_all) of_all = published.look(published.of_all(at));
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
