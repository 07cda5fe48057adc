// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How the operands of a problem lie in memory.

#include <KokkosScan/impl/cuda/composed.hpp>
#include <KokkosScan/impl/cuda/stage.hpp>
#include <KokkosScan/impl/cuda/tuning.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::cuda {

/// Calls f for the arrays that an operand consists of, until it is false for one.
///
/// \return whether it was true for all
template <class Operand, class F>
bool for_all_arrays(const Operand& operand, const F& f);
template <class T, class F>
bool for_all_arrays(const Array<T>& array, const F& f) {
  return f(array);
}
template <class F>
bool for_all_arrays(const List<>&, const F&) {
  return true;
}
template <class First, class... Rest, class F>
bool for_all_arrays(const List<First, Rest...>& parts, const F& f) {
  return for_all_arrays(parts.first, f) && for_all_arrays(parts.rest, f);
}
template <class Operand, class F>
bool for_all_arrays(const Operand& operand, const F& f) {
  if constexpr (is_composed<Operand>) {
    return for_all_arrays(parts_of(operand), f);
  } else {
    return true;
  }
}

/// What the type of an operand says. This is for operands without elements in memory: computed
/// ones, and functions of results, which take them one at a time.
template <class Operand>
struct AccessOfType {
  static constexpr bool constructible = true;
  static constexpr bool is_stored = false;  ///< in memory, not computed
  static constexpr bool is_zipped = false;
  /// Whether one instruction moves E columns.
  template <int E>
  static constexpr bool moves_columns = false;
};
template <class T>
struct AccessOfType<Array<T>> {
  static constexpr bool constructible = std::is_default_constructible_v<std::remove_const_t<T>>;
  static constexpr bool is_stored = true;
  static constexpr bool is_zipped = false;
  template <int E>
  static constexpr bool moves_columns = is_one_move<sizeof(T) * E>;
};
/// Indices along the axis need no memory, so packs of any size are possible.
template <int Rank, class Index>
struct AccessOfType<Computed<Rank, IndexAlong<Index>>> : AccessOfType<void> {
  template <int E>
  static constexpr bool moves_columns = true;
};
/// One value per line.
template <class T>
struct AccessOfType<ValueOfLine<T>> : AccessOfType<Array<T>> {
  template <int E>
  static constexpr bool moves_columns = true;
};
template <class In, class... Parts>
struct AccessOfType<Composition<In, Parts...>> {
  static constexpr bool constructible = (... && AccessOfType<Parts>::constructible);
  static constexpr bool is_stored = (... && AccessOfType<Parts>::is_stored);
  static constexpr bool is_zipped = is_zipped_input<In> || (... || AccessOfType<Parts>::is_zipped);
  template <int E>
  static constexpr bool moves_columns = (... && AccessOfType<Parts>::template moves_columns<E>);
};
template <class In>
requires is_composed<In>
struct AccessOfType<In> : AccessOfType<composition_t<In>> {
};

/// How an operand lies in memory: whether the elements of a line are contiguous, whether
/// neighbouring lines are, and whether packs in either direction are aligned.
template <class Operand>
struct OperandAccess : AccessOfType<Operand> {
  /// \param along the stride of contiguous lines, 1 or -1
  static bool is_contiguous(const Operand& in, std::int64_t n, std::int64_t along) {
    return for_all_arrays(
        in, [=](const auto& array) { return n == 1 || array.strides.along == along; });
  }
  static bool has_columns(const Operand& in, const Batch& batch) {
    return for_all_arrays(
        in, [&](const auto& array) { return array.strides.batch[batch.rank - 1] == 1; });
  }
  /// Whether packs of E columns are aligned and, if they are less than a word, rows consist of
  /// aligned words.
  template <int E>
  static bool has_aligned_columns(const Operand& in, const Batch& batch) {
    return for_all_arrays(in, [&](const auto& array) {
      constexpr int unit = std::max(E, bytes_of_word / static_cast<int>(sizeof *array.data));
      bool aligned = misalignment(array.data, static_cast<int>(sizeof *array.data) * unit) == 0 &&
                     array.strides.along % unit == 0 && batch.extent[batch.rank - 1] % unit == 0;
      for (int d = 0; d < batch.rank - 1; ++d) {
        aligned = aligned && array.strides.batch[d] % unit == 0;
      }
      return aligned;
    });
  }
  template <int E>
  static bool has_aligned_packs(const Operand& in, const Batch& batch) {
    return for_all_arrays(in, [&](const auto& array) {
      // The lowest address of the first pack; all lines must preserve its alignment.
      const auto* lowest = array.strides.along < 0 ? array.data - (E - 1) : array.data;
      bool aligned = misalignment(lowest, static_cast<int>(sizeof *lowest) * E) == 0;
      for (int d = 0; d < batch.rank; ++d) aligned = aligned && array.strides.batch[d] % E == 0;
      return aligned;
    });
  }
};

/// Whether the lines of all operands are contiguous, in the direction of the output. (Views may
/// have negative strides, each its own.)
template <class P>
bool has_contiguous_lines(const P& p) {
  const std::int64_t along = is_backward(p.output) ? -1 : 1;
  return OperandAccess<decltype(P::output)>::is_contiguous(p.output, p.n, along) &&
         OperandAccess<decltype(P::input)>::is_contiguous(p.input, p.n, along);
}

}  // namespace KokkosScan::impl::cuda
