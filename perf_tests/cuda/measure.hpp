// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Measures a scan, or a peer of it, beside copies of the same bytes, in turns.

#include <functional>
#include <string>

#include "problem.hpp"

namespace perf {

enum class Place { other, same };
/// What this library promises, or that exact data have exact results.
enum class Accuracy { promised, any };

struct Case {
  std::string function;  ///< of the name: inclusive_scan or exclusive_scan
  std::string shape;     ///< of the name: extents and axis
  std::string variant;   ///< of the name, empty or "/variant"
  Kind kind;
  Problem problem;
  Place place = Place::other;  ///< of the result: the input's for a scan in place
  Accuracy accuracy = Accuracy::promised;
  /// What is measured: the kind's scan, or a peer.
  std::function<void(const Exec&, const Problem&, const Memory&)> run;
};

/// Registers a case with Google Benchmark.
void add(const Case& c);

}  // namespace perf
