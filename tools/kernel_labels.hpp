// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Records which kernels a scan launches, as a profiler would.

#include <string>
#include <vector>

namespace scan_tool {

/// Records the labels of kokkos-scan's kernels during its lifetime, by Kokkos Tools callbacks. The
/// callbacks of a loaded profiler are restored afterwards. Only one object may exist at a time.
class KernelLabels {
 public:
  KernelLabels();
  ~KernelLabels();
  KernelLabels(const KernelLabels&) = delete;
  KernelLabels& operator=(const KernelLabels&) = delete;

  /// The bracketed parts of the labels, joined in order of appearance: "f [team/split fold]" and
  /// "f [team/split replay]" become "team/split fold + replay".
  [[nodiscard]] static std::string path();
};

}  // namespace scan_tool
