// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Measures a scan, or a competing implementation, alternately with copies of the same bytes.

#include <functional>
#include <string>

#include "problem.hpp"

namespace perf {

enum class Place { other, same };
/// Compare with the promised bounds, or require exact results on exact data.
enum class Accuracy { promised, any };

struct Case {
  std::string function;  ///< in the name: inclusive_scan or exclusive_scan
  std::string shape;     ///< in the name: extents and axis
  std::string variant;   ///< in the name: empty or "/variant"
  Kind kind;
  Problem problem;
  Place place = Place::other;  ///< of the result; the input's for a scan in place
  Accuracy accuracy = Accuracy::promised;
  /// The measured function: the kind's scan, or a peer.
  std::function<void(const Exec&, const Problem&, const Memory&)> run;
};

/// Registers a case with Google Benchmark.
void add(const Case& c);

}  // namespace perf
