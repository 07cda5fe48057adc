// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Which kernels a scan starts, as a profiler would see them.

#include <string>
#include <vector>

namespace scan_tool {

/// Records the labels of kokkos-scan's kernels while it lives, through Kokkos' tools interface; the
/// callbacks of a profiler that was loaded come back afterwards. One at a time.
class KernelLabels {
 public:
  KernelLabels();
  ~KernelLabels();
  KernelLabels(const KernelLabels&) = delete;
  KernelLabels& operator=(const KernelLabels&) = delete;

  /// The parts of the labels in brackets, in order of appearance and joined: for
  /// "f [team/split fold]" and "f [team/split replay]" it is "team/split fold + replay".
  [[nodiscard]] static std::string path();
};

}  // namespace scan_tool
