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

/// How an operand lies in memory: whether the elements of a line are contiguous, whether
/// neighbouring lines are, and whether packs in either direction are aligned.
template <class Operand>
struct OperandAccess;
template <class T>
struct OperandAccess<Array<T>> {
  static constexpr bool constructible = std::is_default_constructible_v<std::remove_const_t<T>>;
  static constexpr bool is_stored = true;  ///< in memory, not computed
  static constexpr bool is_zipped = false;
  /// \param along the stride of contiguous lines, 1 or -1
  static bool is_contiguous(const Array<T>& in, std::int64_t n, std::int64_t along) {
    return n == 1 || in.strides.along == along;
  }
  static bool has_columns(const Array<T>& in, const Batch& batch) {
    return in.strides.batch[batch.rank - 1] == 1;
  }
  /// Whether one instruction moves E columns.
  template <int E>
  static constexpr bool moves_columns = is_one_move<sizeof(T) * E>;
  /// Whether packs of E columns are aligned and, if they are less than a word, rows consist of
  /// aligned words.
  template <int E>
  static bool has_aligned_columns(const Array<T>& in, const Batch& batch) {
    constexpr int unit = std::max(E, bytes_of_word / static_cast<int>(sizeof(T)));
    bool aligned = reinterpret_cast<std::uintptr_t>(in.data) % (sizeof(T) * unit) == 0 &&
                   in.strides.along % unit == 0 && batch.extent[batch.rank - 1] % unit == 0;
    for (int d = 0; d < batch.rank - 1; ++d) aligned = aligned && in.strides.batch[d] % unit == 0;
    return aligned;
  }
  template <int E>
  static bool has_aligned_packs(const Array<T>& in, const Batch& batch) {
    // The lowest address of the first pack; all lines must preserve its alignment.
    const T* lowest = in.strides.along < 0 ? in.data - (E - 1) : in.data;
    bool aligned = reinterpret_cast<std::uintptr_t>(lowest) % (sizeof(T) * E) == 0;
    for (int d = 0; d < batch.rank; ++d) aligned = aligned && in.strides.batch[d] % E == 0;
    return aligned;
  }
};
/// For what suits any access pattern.
struct AnyAccess {
  static constexpr bool constructible = true;
  static constexpr bool is_stored = false;
  static constexpr bool is_zipped = false;
  template <class Operand>
  static bool is_contiguous(const Operand&, std::int64_t, std::int64_t) {
    return true;
  }
  template <class Operand>
  static bool has_columns(const Operand&, const Batch&) {
    return true;
  }
  template <int E>
  static constexpr bool moves_columns = false;
  template <int E, class Operand>
  static bool has_aligned_columns(const Operand&, const Batch&) {
    return true;
  }
  template <int E, class Operand>
  static bool has_aligned_packs(const Operand&, const Batch&) {
    return true;
  }
};
template <int Rank, class Function>
struct OperandAccess<Computed<Rank, Function>> : AnyAccess {};
/// A function of results takes them one at a time.
template <class Value, int Rank, class Function>
struct OperandAccess<Called<Value, Rank, Function>> : AnyAccess {};
/// Indices along the axis need no memory, so packs of any size are possible.
template <int Rank, class Index>
struct OperandAccess<Computed<Rank, IndexAlong<Index>>> : AnyAccess {
  template <int E>
  static constexpr bool moves_columns = true;
};
/// One value per line.
template <class T>
struct OperandAccess<ValueOfLine<T>> : AnyAccess {
  static constexpr bool constructible = OperandAccess<Array<T>>::constructible;
  static constexpr bool is_stored = true;
  template <int E>
  static constexpr bool moves_columns = true;
};

/// Whether f(access, part) holds for all parts of an input.
template <class F>
bool holds_for_all(const List<>&, const F&) {
  return true;
}
template <class Parts, class F>
bool holds_for_all(const Parts& parts, const F& f) {
  using Access = OperandAccess<std::remove_cvref_t<decltype(parts.first)>>;
  return f(Access{}, parts.first) && holds_for_all(parts.rest, f);
}
template <class In, class... Parts>
struct OperandAccess<Composition<In, Parts...>> {
  static constexpr bool constructible = (... && OperandAccess<Parts>::constructible);
  static constexpr bool is_stored = (... && OperandAccess<Parts>::is_stored);
  static constexpr bool is_zipped = is_zipped_input<In> || (... || OperandAccess<Parts>::is_zipped);
  static bool is_contiguous(const In& in, std::int64_t n, std::int64_t along) {
    return holds_for_all(parts_of(in), [&](auto access, const auto& part) {
      return access.is_contiguous(part, n, along);
    });
  }
  static bool has_columns(const In& in, const Batch& batch) {
    return holds_for_all(parts_of(in), [&](auto access, const auto& part) {
      return access.has_columns(part, batch);
    });
  }
  template <int E>
  static constexpr bool moves_columns = (... && OperandAccess<Parts>::template moves_columns<E>);
  template <int E>
  static bool has_aligned_columns(const In& in, const Batch& batch) {
    return holds_for_all(parts_of(in), [&](auto access, const auto& part) {
      return access.template has_aligned_columns<E>(part, batch);
    });
  }
  template <int E>
  static bool has_aligned_packs(const In& in, const Batch& batch) {
    return holds_for_all(parts_of(in), [&](auto access, const auto& part) {
      return access.template has_aligned_packs<E>(part, batch);
    });
  }
};
template <class In>
requires is_composed<In>
struct OperandAccess<In> : OperandAccess<composition_t<In>> {
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
