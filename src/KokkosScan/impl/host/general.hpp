// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The host backend for any type and operator, and for scans in order: the general kernels.

#include <KokkosScan/impl/generic_tree.hpp>
#include <KokkosScan/impl/host/general_inputs.hpp>
#include <KokkosScan/impl/host/general_slabs.hpp>
#include <KokkosScan/impl/host/launch.hpp>
#include <KokkosScan/impl/host/tuning.hpp>
#include <KokkosScan/impl/in_order.hpp>
#include <KokkosScan/impl/policy.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::host {

/// The general kernels. The members exist for tests: results do not depend on them.
struct GeneralBackend {
  Destination destination = Destination::automatic;
  Registers registers = widest_registers();

  /// Whether a type of problem is supported: values that can be kept in arrays.
  template <class P>
  static constexpr bool supports =
      std::is_default_constructible_v<typename P::A>&& std::is_default_constructible_v<
          typename Combination<P>::R>&& std::is_default_constructible_v<typename P::Value>&&
          is_loaded_to_arrays<std::remove_cv_t<decltype(P::input)>> &&
      sizeof(typename Combination<P>::R) <= 64 && sizeof(typename P::Value) <= 64;

  /// Whether a problem is accepted: there must be enough lines for the threads, or short ones.
  template <class Exec, class P>
  static bool accepts(const Exec& exec, const P& p) {
    return scans_in_order<P> || scans_states_in_order(p) || p.batch.count >= exec.concurrency() ||
           p.n <= generic_tree::tile_length;
  }

  /// Scans a problem of at least one line and one element.
  template <class Exec, class P>
  void scan(const Exec& exec, const P& p) const {
    if constexpr (may_have_states<P>) {
      if (scans_states_in_order(p)) return scan_as<true>(exec, p);
    }
    scan_as<false>(exec, p);
  }

 private:
  template <bool from_states, class Exec, class P>
  void scan_as(const Exec& exec, const P& p) const {
    using Scanner = General<P, from_states>;
    const SlabsOfRows slabs = slabs_of<Scanner::most>(p, exec.concurrency());
    Destination results_go = Destination::caches;
    if constexpr (!is_called<decltype(P::output)>) results_go = destination_of(p, destination);
    // Single lines are taken several at a time.
    const std::int64_t work = slabs.width == 1 ? std::min(p.n, unit_elements / 8) : p.n;
    for_each_unit(exec, label_of(p.function, scans_in_order<P> ? "in_order" : "general"),
                  slabs.slabs * slabs.strips, work * slabs.width,
                  [=, in = registers](std::int64_t begin, std::int64_t end) {
                    Scanner(p, slabs, results_go, in).scan(begin, end);
                  });
  }
  template <std::int64_t most, class P>
  static SlabsOfRows slabs_of(const P& p, std::int64_t threads) {
    const Batch& batch = p.batch;
    const std::int64_t row = batch.rank > 0 ? batch.extent[batch.rank - 1] : 1;
    constexpr bool is_array = !is_called<decltype(P::output)>;
    const bool has_rows = row > 1 && has_columns(p.output, batch.rank) &&
                          (is_array || has_columns(p.input, batch.rank)) &&
                          (row >= wide_row || (has_dense_rows(p.output, batch.rank, row) &&
                                               has_dense_rows(p.input, batch.rank, row)));
    if (!has_rows) return {1, 1, 1, batch.count, batch.rank - 1};
    const std::int64_t slabs = batch.count / row;
    std::int64_t strips = (row + most - 1) / most;
    constexpr auto unit = std::max<std::int64_t>(1, least_strip_bytes / sizeof(typename P::Value));
    if (row >= 2 * unit && !shares_evenly(slabs * strips, threads)) {
      const std::int64_t for_all = (strips + threads - 1) / threads * threads;
      strips = std::max(strips, std::min(for_all, (4 * threads + slabs - 1) / slabs));
    }
    const auto width = std::min<std::int64_t>(most, strip_width(row, strips, unit));
    strips = (row + width - 1) / width;
    return {row, strips > 1 ? width : row, strips, slabs, batch.rank - 2};
  }
};

}  // namespace KokkosScan::impl::host
