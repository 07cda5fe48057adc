// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Advantages as one scan. The map of a step needs the value of the step behind it, which belongs to
// another map; so maps act on pairs (A, V), and each replaces V by the value of its own step.

#include <KokkosScan/scan.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>

#include "instances.hpp"
#include "recurrence.hpp"
#include "recurrence_kernels.hpp"
#include "steps.hpp"
#include "stored.hpp"
#include "three.hpp"

namespace kokkos_scan_python {
namespace {

/// The map (A, V) -> (a A + c V + b, v), or (b, v) where c is marked as a is then: see reset_mark.
/// The composition so far is applied to (0, 0), so b is the advantage.
template <class W>
struct Advance {
  W a;
  W c;
  W b;
  W v;
};

/// Composes maps from the last step to the first.
template <class W>
struct ComposeAdvances {
  using accumulator_type = Advance<W>;
  KOKKOS_FUNCTION Advance<W> operator()(const Advance<W>& f, const Advance<W>& g) const {
    using KokkosScan::impl::add;
    using KokkosScan::impl::multiply;
    // Products with a mark are the mark.
    return {multiply(g.a, f.a), multiply(g.a, f.c),
            is_reset(g.c) ? g.b : add(add(g.b, multiply(g.c, f.v)), multiply(g.a, f.b)), g.v};
  }
};

}  // namespace
}  // namespace kokkos_scan_python

#if defined(KOKKOS_ENABLE_CUDA)
template <class W>
inline constexpr bool KokkosScan::impl::cuda::is_harmless<kokkos_scan_python::ComposeAdvances<W>> =
    true;
#endif

namespace kokkos_scan_python {
namespace {

/// A value behind the last step.
template <DType D, class W>
struct NextValue {
  stored_t<D> value;

  KOKKOS_FUNCTION explicit operator Advance<W>() const {
    return {0, 0, 0, static_cast<W>(wide_value(value))};
  }
};

/// The map of a step.
template <class T, class W>
struct AdvanceOf {
  W gamma;
  W lambda;
  W rho_limit;
  W trace_limit;

  KOKKOS_FUNCTION Advance<W> operator()(const T& reward, const T& value, bool done = false) const {
    return of(reward, value, 1, 1, done);
  }
  KOKKOS_FUNCTION Advance<W> operator()(const T& reward, const T& value, const T& log_ratio,
                                        bool done = false) const {
    const W ratio = Kokkos::exp(static_cast<W>(wide_value(log_ratio)));
    return of(reward, value, limited(ratio, rho_limit), limited(ratio, trace_limit), done);
  }

 private:
  KOKKOS_FUNCTION Advance<W> of(const T& reward, const T& value, W rho, W trace, bool done) const {
    const W v = static_cast<W>(wide_value(value));
    const W b = rho * (static_cast<W>(wide_value(reward)) - v);
    if (done) return {reset_mark<W>(), reset_mark<W>(), b, v};
    const W c = gamma * rho;
    // A factor that is not a number counts as a mark, and must reach the result.
    return {lambda * gamma * trace, c, is_reset(c) ? c : b, v};
  }
};

/// Writes a result to the two row-major arrays.
template <DType D, class W>
struct StoreAdvantage {
  stored_t<D>* advantage;
  stored_t<D>* target;
  std::int64_t slab;  ///< number of elements in the second and third dimension
  std::int64_t row;   ///< number of elements in the third dimension

  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t j, std::int64_t k,
                                  const Advance<W>& result) const {
    const std::int64_t at = i * slab + j * row + k;
    advantage[at] = converted<D>(result.b);
    target[at] = converted<D>(result.b + result.v);
  }
};

template <DType D>
void advantage_of(AdvantageRequest request) {
  using T = stored_t<D>;
  using W = std::conditional_t<D == DType::float64, double, float>;
  auto& extent = request.extent;
#if defined(KOKKOS_ENABLE_CUDA)
  const Steps<D> steps{{extent[0], extent[1], extent[2]},
                       StepsOf<const T>(request.reward),
                       StepsOf<const T>(request.value),
                       StepsOf<const T>(request.log_ratio),
                       StepsOf<const std::uint8_t>(request.done),
                       StepsOf<const T>(request.next_value),
                       StepsOf<T>(request.advantage),
                       StepsOf<T>(request.target),
                       static_cast<W>(request.gamma),
                       static_cast<W>(request.lambda),
                       static_cast<W>(request.rho_limit),
                       static_cast<W>(request.trace_limit)};
  if (request.place.is_cuda && have_short_time(steps)) {
    on_instance(request.place, 0, [&]<class Exec>(const Exec& exec) {
      if constexpr (std::is_same_v<Exec, Kokkos::Cuda>) {
        request.log_ratio.exists ? enqueue_steps<D, true>(exec, steps)
                                 : enqueue_steps<D, false>(exec, steps);
      }
    });
    return;
  }
#endif
  // Iterate over the last dimension, so that compilers see contiguous results.
  const int axis = extent[2] == 1 ? 2 : 1;
  if (axis == 2) {
    for (auto* of_dimensions : {extent, request.reward.stride, request.value.stride,
                                request.log_ratio.stride, request.done.stride}) {
      std::rotate(of_dimensions, of_dimensions + 2, of_dimensions + 3);
    }
  }
  const std::int64_t columns = axis == 2 ? extent[1] : extent[2];
  on_instance(request.place, extent[0] * extent[1] * extent[2], [&]<class Exec>(const Exec& exec) {
    const auto view = [&]<class Element>(const Array& array, Element) {
      return three_view<const Element, Exec>(array, extent, extent[1]);
    };
    const AdvanceOf<T, W> map{static_cast<W>(request.gamma), static_cast<W>(request.lambda),
                              static_cast<W>(request.rho_limit),
                              static_cast<W>(request.trace_limit)};
    const StoreAdvantage<D, W> store{static_cast<T*>(request.advantage.data),
                                     static_cast<T*>(request.target.data), extent[1] * extent[2],
                                     extent[2]};
    Array starts = request.next_value;
    if (axis == 2) std::swap(starts.stride[0], starts.stride[1]);
    const auto next = two_view<const NextValue<D, W>, Exec>(starts, extent[0], columns);
    const auto scan = [&](const auto&... arrays) {
      const auto reward = view(request.reward, T{});
      KokkosScan::inclusive_scan(
          exec, KokkosScan::zip_transform(map, reward, view(request.value, T{}), arrays...),
          KokkosScan::for_each_result(reward, store),
          KokkosScan::along(axis).backward().starting_at(next), ComposeAdvances<W>{});
    };
    if (request.log_ratio.exists && request.done.exists) {
      scan(view(request.log_ratio, T{}), view(request.done, bool{}));
    } else if (request.log_ratio.exists) {
      scan(view(request.log_ratio, T{}));
    } else if (request.done.exists) {
      scan(view(request.done, bool{}));
    } else {
      scan();
    }
  });
}

}  // namespace

void advantage(const AdvantageRequest& request) {
  switch (request.reward.dtype) {
    case DType::float16:
      return advantage_of<DType::float16>(request);
    case DType::bfloat16:
      return advantage_of<DType::bfloat16>(request);
    case DType::float32:
      return advantage_of<DType::float32>(request);
    case DType::float64:
      return advantage_of<DType::float64>(request);
    default:
      throw TypeError("kokkos_scan: advantages need a real floating type, not " +
                      std::string(info(request.reward.dtype).name) + ".");
  }
}

}  // namespace kokkos_scan_python
