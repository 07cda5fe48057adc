// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Linear recurrences as scans: two arrays define affine maps h -> a h + b, which are composed.

#include <KokkosScan/affine.hpp>
#include <KokkosScan/scan.hpp>
#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "instances.hpp"
#include "recurrence.hpp"
#include "stored.hpp"
#include "three.hpp"

namespace kokkos_scan_python {

/// The map h -> a h + b. The composition so far is applied to 0, so b is the state.
template <class W>
struct Step {
  W a;
  W b;
};

// Maps that forget the state before them are marked as the library marks them.
using KokkosScan::impl::is_reset, KokkosScan::impl::reset_mark;

/// Composes maps in scan order.
template <class W>
struct ComposeSteps {
  using accumulator_type = Step<W>;
  KOKKOS_FUNCTION Step<W> operator()(const Step<W>& first, const Step<W>& then) const {
    return {times(then.a, first.a), KokkosScan::impl::add(then.b, times(then.a, first.b))};
  }
};

/// The same where some maps are marked: they forget what was before.
template <class W>
struct ComposeStepsOrReset {
  using accumulator_type = Step<W>;
  KOKKOS_FUNCTION Step<W> operator()(const Step<W>& first, const Step<W>& then) const {
    // The product with a mark is the mark.
    return {KokkosScan::impl::multiply(then.a, first.a),
            is_reset(then.a) ? then.b : KokkosScan::impl::add(then.b, times(then.a, first.b))};
  }
};

/// The map of a step that may be reset, as the library has it.
template <class W>
KOKKOS_INLINE_FUNCTION Step<W> step_of(W a, W b, bool reset) {
  const auto map = KokkosScan::impl::map_of(a, b, reset);
  return {map.scale, map.shift};
}

}  // namespace kokkos_scan_python

#if defined(KOKKOS_ENABLE_CUDA)
template <class W>
inline constexpr bool KokkosScan::impl::cuda::is_harmless<kokkos_scan_python::ComposeSteps<W>> =
    true;
template <class W>
inline constexpr bool
    KokkosScan::impl::cuda::is_harmless<kokkos_scan_python::ComposeStepsOrReset<W>> = true;
#endif

namespace kokkos_scan_python {

/// A stored state.
template <DType D, class W>
struct StoredState {
  stored_t<D> value;

  StoredState() = default;
  KOKKOS_FUNCTION explicit StoredState(const Step<W>& step) : value(converted<D>(step.b)) {}
  /// The constant map to this state, with which a line begins.
  KOKKOS_FUNCTION explicit operator Step<W>() const {
    return {0, static_cast<W>(wide_value(value))};
  }
};

/// The map of a step, from its term, its coefficient and, if there is a third array, whether it is
/// reset.
template <class T, class W>
struct StepOf {
  KOKKOS_FUNCTION Step<W> operator()(const T& b, const T& a) const {
    return {static_cast<W>(wide_value(a)), static_cast<W>(wide_value(b))};
  }
  KOKKOS_FUNCTION Step<W> operator()(const T& b, const T& a, bool reset) const {
    return step_of(static_cast<W>(wide_value(a)), static_cast<W>(wide_value(b)), reset);
  }
};

/// The same where all coefficients are one number.
template <class T, class W>
struct StepOfNumber {
  W a;

  KOKKOS_FUNCTION Step<W> operator()(const T& b) const {
    return {a, static_cast<W>(wide_value(b))};
  }
  KOKKOS_FUNCTION Step<W> operator()(const T& b, bool reset) const {
    return step_of(a, static_cast<W>(wide_value(b)), reset);
  }
};

template <DType D, class W>
void recurrence_in(const RecurrenceRequest& request) {
  using T = stored_t<D>;
  using State = StoredState<D, W>;
  // All types have the kernels that compute as a loop does; what is asked for rarely has fewer.
  constexpr bool may_reset = std::is_same_v<T, double> || !std::is_same_v<W, double>;
  const auto& extent = request.extent;
  on_instance(request.place, extent[0] * extent[1] * extent[2], [&]<class Exec>(const Exec& exec) {
    const auto out = three_view<State, Exec>(request.output, extent, request.output_length);
    const auto view = [&]<class Element>(const Array& array, Element) {
      return three_view<const Element, Exec>(array, extent, extent[1]);
    };
    const KokkosScan::Along<> forward = KokkosScan::along(1);
    const auto along = request.direction == Direction::backward ? forward.backward() : forward;
    const auto scan = [&](const auto& in, const auto& op) {
      const auto run = [&](const auto& lines) {
        if (request.output_length == extent[1]) {
          KokkosScan::inclusive_scan(exec, in, out, lines, op);
        } else {
          KokkosScan::exclusive_scan(exec, in, out, lines, op);
        }
      };
      if (request.starts.exists) {
        run(along.starting_at(two_view<const State, Exec>(request.starts, extent[0], extent[2])));
      } else {
        run(along.starting_at(Step<W>{0, 0}));
      }
    };
    const auto b = view(request.b, T{});
    const StepOfNumber<T, W> of_number{static_cast<W>(request.coefficient)};
    if (!request.reset.exists) {
      if (request.a.exists) {
        scan(KokkosScan::zip_transform(StepOf<T, W>{}, b, view(request.a, T{})), ComposeSteps<W>{});
      } else {
        scan(KokkosScan::zip_transform(of_number, b), ComposeSteps<W>{});
      }
    } else if constexpr (may_reset) {
      const auto reset = view(request.reset, bool{});
      if (request.a.exists) {
        scan(KokkosScan::zip_transform(StepOf<T, W>{}, b, view(request.a, T{}), reset),
             ComposeStepsOrReset<W>{});
      } else {
        scan(KokkosScan::zip_transform(of_number, b, reset), ComposeStepsOrReset<W>{});
      }
    } else {
      throw TypeError("kokkos_scan: a recurrence in double of narrower types has no reset.");
    }
  });
}

template <DType D>
void recurrence_of(const RecurrenceRequest& request) {
  using State = std::conditional_t<D == DType::float64, double, float>;
  if (request.states == States::in_double) {
    recurrence_in<D, double>(request);
  } else {
    recurrence_in<D, State>(request);
  }
}

}  // namespace kokkos_scan_python
