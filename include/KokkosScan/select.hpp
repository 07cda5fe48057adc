// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Compaction: the elements that a predicate or a mask keeps, one after the other.

#include <KokkosScan/concepts.hpp>
#include <KokkosScan/inputs.hpp>
#include <KokkosScan/lines.hpp>
#include <Kokkos_Core.hpp>
#include <cstddef>

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif
#include <KokkosScan/impl/select/dispatch.hpp>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

namespace KokkosScan {

/// \defgroup selections Selections
/// @{

/// Stores the elements of a line that are kept, in their order and one after the other, from the
/// beginning of the line of the output, and how many they are.
///
/// An input of rank 1 is one line. One of rank 2 has a line for each row: each is compacted to the
/// front of its row of the output, and what is behind stays as it was. Work is enqueued on `exec`
/// and nothing is fenced; the counts stay where `count` is.
///
/// Where an index decides, or is wanted, the arguments say so: a mask may be elementwise(...), and
/// so may the input. The indices of the elements that are kept are selected from the input whose
/// element i is i.
///
/// \param exec  the execution space instance that selects
/// \param x     a View of rank 1 or 2, or elementwise(...)
/// \param keep  a predicate, callable as const on `exec` with a value of `x`, which is asked once
///              for each element; or a mask, an input of the shape of `x` whose values convert to
///              bool
/// \param out   a View of the extents of `x`; its values are converted from those of `x`. It shares
///              no memory with `x` or a mask
/// \param count a View of the number of elements kept: of rank 0, or of one number for each row
/// \param workspace None, or a View of rank 1 of std::byte, aligned to 16 bytes, of
///              select_workspace_bytes(): then nothing is allocated
///
/// \throws std::invalid_argument if extents do not match, Views overlap, a View with elements has
///         null as data, a count may be too large for its type, or the workspace is too small or
///         misaligned; nothing was written then
/// \throws std::bad_alloc if a workspace was needed and could not be had
/// \throws std::runtime_error the same, or a kernel could not be launched
///
/// \par Complexity
/// O(n) for a line of n elements. On hosts and on CUDA each element is read once and each result is
/// written once, in one kernel; values of more than 32 bytes on CUDA, and all values on other
/// execution spaces, are read twice, in three kernels.
///
/// \par Example
/// \snippet select.cpp select
template <class Exec, class In, class Keep, class Out, class Count, class Workspace = None>
void select(const Exec& exec, const In& x, const Keep& keep, const Out& out, const Count& count,
            const Workspace& workspace = {}) {
  constexpr impl::SelectRefusal refusal =
      impl::refusal_of_select<Exec, In, decltype(impl::kept_callable(keep)), Out, Count,
                              Workspace>();
  impl::explain<refusal>();
  if constexpr (refusal == impl::SelectRefusal::none) {
    impl::select(exec, x, impl::kept_callable(keep), out, count, workspace,
                 impl::SelectByDefault{});
  }
}

/// The bytes of workspace with which select() of these arguments allocates nothing: an upper bound,
/// which depends on the types, the extents and the concurrency of `exec`.
///
/// \returns a number of bytes; 0 on hosts
/// \throws std::invalid_argument as select() does for the extents
template <class Exec, class In, class Keep, class Out, class Count>
[[nodiscard]] std::size_t select_workspace_bytes(const Exec& exec, const In& x, const Keep& keep,
                                                 const Out& out, const Count& count) {
  constexpr impl::SelectRefusal refusal =
      impl::refusal_of_select<Exec, In, decltype(impl::kept_callable(keep)), Out, Count, None>();
  impl::explain<refusal>();
  if constexpr (refusal == impl::SelectRefusal::none) {
    return impl::select_workspace_bytes(exec, x, impl::kept_callable(keep), out, count,
                                        impl::SelectByDefault{});
  } else {
    return 0;
  }
}

/// @}

}  // namespace KokkosScan
