// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Stream compaction: select() and select_workspace_bytes().

#include <KokkosScan/impl/begin_header.hpp>

#include <KokkosScan/concepts.hpp>
#include <KokkosScan/inputs.hpp>
#include <KokkosScan/lines.hpp>
#include <Kokkos_Core.hpp>
#include <cstddef>

#include <KokkosScan/impl/select/dispatch.hpp>

namespace KokkosScan {

/// \defgroup selections Selections
/// @{

/// Stores the elements that a predicate or a mask keeps, contiguously and in order, and their
/// number.
///
/// An input of rank 1 is one line. For an input of rank 2, each row is compacted to the front of
/// its row of the output, and the rest of that row is not changed. The work is enqueued on `exec`;
/// the call does not fence, and the counts stay in the memory of `count`.
///
/// Input and mask may be computed by elementwise(), also from their indices. To get the indices of
/// the kept elements, select from the input whose element i is i.
///
/// Several arrays are compacted in one pass as zip(a, b, ...) into zip(a_kept, b_kept, ...), of up
/// to 8 each. An elementwise() among the inputs gives the indices beside the values.
///
/// \param exec  the execution space instance that selects
/// \param x     a View of rank 1 or 2, elementwise(), or zip() of these
/// \param keep  a predicate, callable as const on `exec` with a value of `x`, or with one of each
///              zipped input, which is called once per element; or a mask: an input of the shape of
///              `x` whose values convert to bool
/// \param out   a View, or a zip() of as many Views as `x` has. Values are converted to its type.
/// It
///              has the extents of `x`, or fewer along the last dimension: elements for which there
///              is no place are counted, but not stored. It may be an input, or begin as one (same
///              data, type and strides), except where values are read twice (see Complexity);
///              otherwise it shares no memory with inputs
/// \param count a View for the number of kept elements: of rank 0, or with one number per row
/// \param workspace None, or a rank-1 View of std::byte, aligned to 16 bytes, with
///              select_workspace_bytes() elements: then nothing is allocated
///
/// \throws std::invalid_argument if extents do not match, Views overlap, the data of a View with
///         elements is null, a count may be too large for its type, or the workspace is too small
///         or misaligned. Nothing has been written
/// \throws std::bad_alloc if a workspace could not be allocated
/// \throws std::runtime_error if a workspace could not be allocated or a kernel not be launched
///
/// \par Complexity
/// O(n) for a line of n elements. On hosts and on CUDA, one kernel reads each element and writes
/// each result once. Values of more than 48 bytes on CUDA, and all values on other execution
/// spaces, are read twice, in three kernels.
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

/// The size of a workspace with which select() of these arguments allocates nothing: an upper bound
/// that depends on the types, the extents and the concurrency of `exec`.
///
/// \returns a number of bytes; 0 on hosts
/// \throws std::invalid_argument as select() does, for the extents
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

#include <KokkosScan/impl/end_header.hpp>
