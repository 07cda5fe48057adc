// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How a scan of a problem is launched on a host: where its results go, and in how many units.

#include <KokkosScan/impl/host/load.hpp>
#include <KokkosScan/impl/host/store_run.hpp>
#include <KokkosScan/impl/host/tuning.hpp>
#include <algorithm>
#include <cstdint>

namespace KokkosScan::impl::host {

/// Where the results of a problem go, if that is left to the backend.
template <class P>
Destination destination_of(const P& p, Destination wanted) {
  if (wanted != Destination::automatic) return wanted;
  const auto bytes = static_cast<double>(p.n) * static_cast<double>(p.batch.count) *
                     static_cast<double>(sizeof(*p.output.data));
  // What has just been loaded is in the cache, and stored there.
  return bytes > streaming_bytes && !is_in_place(p.input, p.output.data) ? Destination::memory
                                                                         : Destination::caches;
}

/// Units of the policy: each of some pieces of work, but one for each thread if there are so many.
inline std::int64_t units_of_work(std::int64_t pieces, std::int64_t elements_of_piece,
                                  std::int64_t threads) {
  return std::clamp<std::int64_t>(
      pieces / std::max<std::int64_t>(1, unit_elements / elements_of_piece),
      std::min(threads, pieces), pieces);
}

}  // namespace KokkosScan::impl::host
