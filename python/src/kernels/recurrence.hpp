// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Linear recurrences as scans of the maps h -> a h + b, which two arrays give and which compose.

#include <KokkosScan/scan.hpp>
#include <Kokkos_Core.hpp>
#include <array>
#include <cstddef>
#include <cstdint>

#include "gradient.hpp"
#include "instances.hpp"
#include "stored.hpp"
#include "three.hpp"

namespace kokkos_scan_python {

/// The map h -> a h + b. What has been composed is applied to 0, so b is the state.
struct Step {
  double a;
  double b;
};

/// Composes maps in the order of the scan.
struct ComposeSteps {
  using accumulator_type = Step;
  KOKKOS_FUNCTION Step operator()(const Step& first, const Step& then) const {
    return {times(then.a, first.a), then.b + times(then.a, first.b)};
  }
};

/// A state as it is stored.
template <DType D>
struct StoredState {
  stored_t<D> value;

  StoredState() = default;
  KOKKOS_FUNCTION explicit StoredState(const Step& step) : value(converted<D>(step.b)) {}
  /// The map to this state, with which a line begins.
  KOKKOS_FUNCTION explicit operator Step() const { return {0, wide_value(value)}; }
};

template <DType D>
struct ReadSteps {
  Three<const stored_t<D>> a, b;

  KOKKOS_FUNCTION Step operator()(std::int64_t i, std::int64_t k, std::int64_t j) const {
    return {wide_value(a(i, k, j)), wide_value(b(i, k, j))};
  }
};

template <DType D>
void recurrence_of(const RecurrenceRequest& request) {
  using T = stored_t<D>;
  using State = StoredState<D>;
  const auto& extent = request.extent;
  on_instance(request.place, extent[0] * extent[1] * extent[2], [&]<class Exec>(const Exec& exec) {
    const auto out = three_view<State, Exec>(request.output, extent, request.output_length);
    const auto in =
        KokkosScan::elementwise({extent[0], extent[1], extent[2]},
                                ReadSteps<D>{Three<const T>(request.a), Three<const T>(request.b)});
    const auto run = [&](const auto& lines) {
      if (request.output_length == extent[1]) {
        KokkosScan::inclusive_scan(exec, in, out, lines, ComposeSteps{});
      } else {
        KokkosScan::exclusive_scan(exec, in, out, lines, ComposeSteps{});
      }
    };
    const KokkosScan::Along<> forward = KokkosScan::along(1);
    const auto lines = request.direction == Direction::backward ? forward.backward() : forward;
    if (request.starts.exists) {
      run(lines.starting_at(two_view<const State, Exec>(request.starts, extent[0], extent[2])));
    } else {
      run(lines.starting_at(Step{0, 0}));
    }
  });
}

}  // namespace kokkos_scan_python
