// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Linear recurrences as scans: two arrays define affine maps h -> a h + b, which are composed.

#include <KokkosScan/scan.hpp>
#include <Kokkos_Core.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "instances.hpp"
#include "stored.hpp"
#include "three.hpp"

namespace kokkos_scan_python {

/// The map h -> a h + b. The composition so far is applied to 0, so b is the state.
struct Step {
  double a;
  double b;
};

/// Composes maps in scan order.
struct ComposeSteps {
  using accumulator_type = Step;
  KOKKOS_FUNCTION Step operator()(const Step& first, const Step& then) const {
    return {times(then.a, first.a), then.b + times(then.a, first.b)};
  }
};

}  // namespace kokkos_scan_python

#if defined(KOKKOS_ENABLE_CUDA)
template <>
inline constexpr bool KokkosScan::impl::cuda::is_harmless<kokkos_scan_python::ComposeSteps> = true;
#endif

namespace kokkos_scan_python {

/// A stored state.
template <DType D>
struct StoredState {
  stored_t<D> value;

  StoredState() = default;
  KOKKOS_FUNCTION explicit StoredState(const Step& step) : value(converted<D>(step.b)) {}
  /// The constant map to this state, with which a line begins.
  KOKKOS_FUNCTION explicit operator Step() const { return {0, wide_value(value)}; }
};

/// The map of a step, from its coefficient and its term.
template <class T>
struct StepOf {
  KOKKOS_FUNCTION Step operator()(const T& b, const T& a) const {
    return {wide_value(a), wide_value(b)};
  }
};

/// The same where all coefficients are one number.
template <class T>
struct StepOfNumber {
  double a;

  KOKKOS_FUNCTION Step operator()(const T& b) const { return {a, wide_value(b)}; }
};

template <DType D>
void recurrence_of(const RecurrenceRequest& request) {
  using T = stored_t<D>;
  using State = StoredState<D>;
  const auto& extent = request.extent;
  on_instance(request.place, extent[0] * extent[1] * extent[2], [&]<class Exec>(const Exec& exec) {
    const auto out = three_view<State, Exec>(request.output, extent, request.output_length);
    const auto view = [&](const Array& array) {
      return three_view<const T, Exec>(array, extent, extent[1]);
    };
    const auto scan = [&](const auto& in, const auto& lines) {
      if (request.output_length == extent[1]) {
        KokkosScan::inclusive_scan(exec, in, out, lines, ComposeSteps{});
      } else {
        KokkosScan::exclusive_scan(exec, in, out, lines, ComposeSteps{});
      }
    };
    const auto run = [&](const auto& lines) {
      const auto b = view(request.b);
      if (request.a.exists) {
        scan(KokkosScan::zip_transform(StepOf<T>{}, b, view(request.a)), lines);
      } else {
        scan(KokkosScan::zip_transform(StepOfNumber<T>{request.coefficient}, b), lines);
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

/// Calls f(dtype, as a constant) for the types of a recurrence.
template <class F>
void with_type(DType dtype, const F& f) {
  switch (dtype) {
    case DType::float16:
      return f(std::integral_constant<DType, DType::float16>{});
    case DType::bfloat16:
      return f(std::integral_constant<DType, DType::bfloat16>{});
    case DType::float32:
      return f(std::integral_constant<DType, DType::float32>{});
    case DType::float64:
      return f(std::integral_constant<DType, DType::float64>{});
    default:
      throw TypeError("kokkos_scan: a linear recurrence needs a real floating type, not " +
                      std::string(info(dtype).name) + ".");
  }
}

void recurrence(const RecurrenceRequest& request) {
  with_type(request.output.dtype, [&](auto dtype) { recurrence_of<dtype.value>(request); });
}

}  // namespace kokkos_scan_python
