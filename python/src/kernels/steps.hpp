// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Advantages along a short time on CUDA devices: the recurrence h(t) = a(t) h(t+1) + b(t) from the
/// last step to the first, where a and b are computed from rewards, values and flags when they are
/// loaded. A scan of composed maps needs four numbers an element for this; here two are enough for
/// a warp, which goes through a whole contiguous line, and the loop's one for a thread.

#include <KokkosScan/impl/arithmetic.hpp>
#include <KokkosScan/scan.hpp>
#include <Kokkos_Core.hpp>
#include <cstdint>
#include <type_traits>

#include "request.hpp"
#include "stored.hpp"
#include "three.hpp"

namespace kokkos_scan_python {

/// An array of three dimensions, the second of which is time; null if it is absent.
template <class T>
struct StepsOf {
  T* data;
  std::int64_t stride[3];

  explicit StepsOf(const Array& array)
      : data(array.exists ? static_cast<T*>(array.data) : nullptr),
        stride{array.stride[0], array.stride[1], array.stride[2]} {}
  /// The first step of a line.
  [[nodiscard]] KOKKOS_FUNCTION T* line(std::int64_t i, std::int64_t k) const {
    return data == nullptr ? nullptr : data + i * stride[0] + k * stride[2];
  }
};

/// The arrays and numbers of an AdvantageRequest.
template <DType D>
struct Steps {
  using T = stored_t<D>;
  using W = std::conditional_t<D == DType::float64, double, float>;

  std::int64_t extent[3];
  StepsOf<const T> reward;
  StepsOf<const T> value;
  StepsOf<const T> log_ratio;
  StepsOf<const std::uint8_t> done;
  StepsOf<const T> next_value;  ///< one for each line
  StepsOf<T> advantage;
  StepsOf<T> target;
  W gamma;
  W lambda;
  W rho_limit;
  W trace_limit;
};

/// A ratio, or the limit if it is above; NaN stays.
template <class W>
KOKKOS_INLINE_FUNCTION W limited(W ratio, W limit) {
  return ratio > limit ? limit : ratio;
}

#if defined(KOKKOS_ENABLE_CUDA)

/// The map h -> a h + b of a step, or h -> b if it is reset.
template <class W>
struct MapOfStep {
  W a;
  W b;
  bool reset;

  [[nodiscard]] __device__ __forceinline__ W operator()(W h) const {
    using namespace KokkosScan::impl;
    return reset ? b : add(b, multiply(a, h));
  }
};

/// Neighbours in a line that are moved at once.
template <class T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) PackOfSteps {
  T x[N];
};

/// Steps of a line in registers.
template <DType D, int N, bool has_ratio>
struct LoadedSteps {
  using T = stored_t<D>;
  using W = typename Steps<D>::W;

  T reward[N];
  T value[N];
  T log_ratio[has_ratio ? N : 1];
  std::uint8_t done[N];

  /// The map of step e, given the value of the step behind it.
  [[nodiscard]] __device__ __forceinline__ MapOfStep<W> map(const Steps<D>& steps, int e,
                                                            W next) const {
    using namespace KokkosScan::impl;
    const bool is_end = done[e] != 0;
    W rho = 1;
    W trace = 1;
    if constexpr (has_ratio) {
      const W ratio = Kokkos::exp(static_cast<W>(wide_value(log_ratio[e])));
      rho = limited(ratio, steps.rho_limit);
      trace = limited(ratio, steps.trace_limit);
    }
    const W own = multiply(rho, static_cast<W>(wide_value(reward[e])) - value_of(e));
    const W later = multiply(multiply(steps.gamma, rho), next);
    return {multiply(multiply(steps.lambda, steps.gamma), trace), is_end ? own : add(own, later),
            is_end};
  }
  [[nodiscard]] __device__ __forceinline__ W value_of(int e) const {
    return static_cast<W>(wide_value(value[e]));
  }
};

/// The arrays of a line.
template <DType D, bool has_ratio>
struct LineOfSteps {
  using T = stored_t<D>;
  using W = typename Steps<D>::W;

  const T* reward;
  const T* value;
  const T* log_ratio;
  const std::uint8_t* done;
  T* advantage;
  T* target;
  W next_value;

  __device__ __forceinline__ LineOfSteps(const Steps<D>& steps, std::int64_t i, std::int64_t k)
      : reward(steps.reward.line(i, k)),
        value(steps.value.line(i, k)),
        log_ratio(steps.log_ratio.line(i, k)),
        done(steps.done.line(i, k)),
        advantage(steps.advantage.line(i, k)),
        target(steps.target.line(i, k)),
        // It has no time: its second dimension is the third of the others.
        next_value(static_cast<W>(wide_value(
            steps.next_value
                .data[i * steps.next_value.stride[0] + k * steps.next_value.stride[1]]))) {}
  template <int N>
  __device__ __forceinline__ void load(LoadedSteps<D, N, has_ratio>& to, int e,
                                       const Steps<D>& steps, std::int64_t t) const {
    to.reward[e] = reward[t * steps.reward.stride[1]];
    to.value[e] = value[t * steps.value.stride[1]];
    if constexpr (has_ratio) to.log_ratio[e] = log_ratio[t * steps.log_ratio.stride[1]];
    to.done[e] = done == nullptr ? std::uint8_t{0} : done[t * steps.done.stride[1]];
  }
};

inline constexpr int threads_of_steps = 64;

/// A place in an array, from which a thread goes back in time. (A multiplication for each address
/// would take most of the time.)
template <class T>
struct Back {
  T* at;
  std::int64_t stride;

  __device__ __forceinline__ void step() { at -= stride; }
};

/// A thread goes through a line, in any layout: neighbouring threads take neighbouring lines. It
/// loads the next steps before it computes those in registers.
template <DType D, bool has_ratio>
__global__ void __launch_bounds__(threads_of_steps)
    steps_by_threads(const __grid_constant__ Steps<D> steps, const bool neighbours_are_first) {
  using T = stored_t<D>;
  using W = typename Steps<D>::W;
  constexpr int N = has_ratio || sizeof(W) == 8 ? 16 : 32;
  using Loaded = LoadedSteps<D, N, has_ratio>;
  const std::int64_t number = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (number >= steps.extent[0] * steps.extent[2]) return;
  const std::int64_t inner = neighbours_are_first ? steps.extent[0] : steps.extent[2];
  const std::int64_t slow = number / inner;
  const std::int64_t fast = number - slow * inner;
  const LineOfSteps<D, has_ratio> line(steps, neighbours_are_first ? fast : slow,
                                       neighbours_are_first ? slow : fast);
  const std::int64_t last = steps.extent[1] - 1;
  const auto from = [&](auto* data, const auto& array) {
    return Back<std::remove_pointer_t<decltype(data)>>{data + last * array.stride[1],
                                                       array.stride[1]};
  };
  const bool has_done = line.done != nullptr;
  auto reward = from(line.reward, steps.reward);
  auto value = from(line.value, steps.value);
  auto log_ratio = from(line.log_ratio, steps.log_ratio);
  auto done = from(line.done, steps.done);
  auto advantage = from(line.advantage, steps.advantage);
  auto target = from(line.target, steps.target);

  // Steps before the first are not there: the first is loaded again.
  const auto load_steps = [&](Loaded& to, const auto& exists) {
#pragma unroll
    for (int e = 0; e < N; ++e) {
      to.reward[e] = *reward.at;
      to.value[e] = *value.at;
      if constexpr (has_ratio) to.log_ratio[e] = *log_ratio.at;
      to.done[e] = has_done ? *done.at : std::uint8_t{0};
      if (!exists(e + 1)) continue;
      reward.step();
      value.step();
      if constexpr (has_ratio) log_ratio.step();
      done.step();
    }
  };
  const auto load = [&](Loaded& to, int left) {
    if (left > N) {
      load_steps(to, [](int) { return true; });
    } else {
      load_steps(to, [=](int e) { return e < left; });
    }
  };
  W h = 0;
  W next = line.next_value;
  const auto compute_steps = [&](const Loaded& of, const auto& exists) {
#pragma unroll
    for (int e = 0; e < N; ++e) {
      if (!exists(e)) continue;
      h = of.map(steps, e, next)(h);
      next = of.value_of(e);
      *advantage.at = converted<D>(h);
      *target.at = converted<D>(KokkosScan::impl::add(h, next));
      advantage.step();
      target.step();
    }
  };
  const auto compute = [&](const Loaded& of, int left) {
    if (left >= N) {
      compute_steps(of, [](int) { return true; });
    } else {
      compute_steps(of, [=](int e) { return e < left; });
    }
  };
  Loaded first;
  Loaded second;
  auto left = static_cast<int>(steps.extent[1]);
  load(first, left);
  for (; left > 0; left -= 2 * N) {
    if (left > N) load(second, left - N);
    compute(first, left);
    if (left <= N) return;
    if (left > 2 * N) load(first, left - 2 * N);
    compute(second, left - N);
  }
}

/// A warp goes through a contiguous line, 128 steps at a time: each lane folds the
/// maps of its steps, the lanes exchange the composed maps (Kogge, Stone 1973), and each computes
/// its states with the state behind them.
template <DType D, bool has_ratio>
__global__ void __launch_bounds__(4 * threads_of_steps)
    steps_by_warps(const __grid_constant__ Steps<D> steps, const bool are_aligned) {
  using namespace KokkosScan::impl;
  using T = stored_t<D>;
  using W = typename Steps<D>::W;
  constexpr int N = 4;
  constexpr int lanes = 32;
  constexpr unsigned all = 0xFFFF'FFFFU;
  using Loaded = LoadedSteps<D, N, has_ratio>;
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const std::int64_t number = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / lanes;
  if (number >= steps.extent[0]) return;
  const LineOfSteps<D, has_ratio> line(steps, number, 0);
  const std::int64_t n = steps.extent[1];
  W h = 0;                   // the state behind the steps of this warp
  W next = line.next_value;  // and its value

  const auto load = [&](Loaded& to, std::int64_t t) {
    const auto load_pack = [&](auto* pack, const auto* from) {
      using Pack = PackOfSteps<std::remove_pointer_t<decltype(pack)>, N>;
      const Pack loaded = *reinterpret_cast<const Pack*>(from + t);
#pragma unroll
      for (int e = 0; e < N; ++e) pack[e] = loaded.x[e];
    };
    if (are_aligned && t + N <= n) {
      load_pack(to.reward, line.reward);
      load_pack(to.value, line.value);
      if constexpr (has_ratio) load_pack(to.log_ratio, line.log_ratio);
      if (line.done != nullptr) {
        load_pack(to.done, line.done);
      } else {
#pragma unroll
        for (int e = 0; e < N; ++e) to.done[e] = 0;
      }
    } else {
#pragma unroll
      for (int e = 0; e < N; ++e) line.load(to, e, steps, t + e < n ? t + e : n - 1);
    }
  };
  std::int64_t begin = (n - 1) / (lanes * N) * (lanes * N);
  Loaded ahead;
  load(ahead, begin + lane * N);
  for (; begin >= 0; begin -= lanes * N) {
    const std::int64_t t = begin + lane * N;
    const Loaded own = ahead;
    if (begin > 0) load(ahead, t - lanes * N);

    // The value behind the lane's steps is the next lane's first.
    const W of_lane = t < n ? own.value_of(0) : next;
    W behind = __shfl_down_sync(all, of_lane, 1);
    if (lane == lanes - 1) behind = next;
    next = __shfl_sync(all, of_lane, 0);
    MapOfStep<W> map[N];
#pragma unroll
    for (int e = N - 1; e >= 0; --e) {
      map[e] = own.map(steps, e, behind);
      if (t + e >= n) {
        map[e] = {W(1), W(0), false};
      } else {
        behind = own.value_of(e);
      }
    }
    MapOfStep<W> fold = map[N - 1];
#pragma unroll
    for (int e = N - 2; e >= 0; --e) {
      fold = {multiply(map[e].a, fold.a), map[e](fold.b), fold.reset || map[e].reset};
    }
#pragma unroll
    for (int distance = 1; distance < lanes; distance *= 2) {
      const W a = __shfl_down_sync(all, fold.a, distance);
      const W b = __shfl_down_sync(all, fold.b, distance);
      const bool reset = __shfl_down_sync(all, static_cast<int>(fold.reset), distance) != 0;
      if (lane + distance < lanes) fold = {multiply(fold.a, a), fold(b), fold.reset || reset};
    }
    const W of_all = fold(h);
    W state = __shfl_down_sync(all, of_all, 1);
    if (lane == lanes - 1) state = h;
    h = __shfl_sync(all, of_all, 0);

    T advantages[N];
    T targets[N];
#pragma unroll
    for (int e = N - 1; e >= 0; --e) {
      state = map[e](state);
      advantages[e] = converted<D>(state);
      targets[e] = converted<D>(add(state, own.value_of(e)));
    }
    const auto store_pack = [&](T* to, const T(&x)[N]) {
      if (are_aligned && t + N <= n) {
        PackOfSteps<T, N> pack;
#pragma unroll
        for (int e = 0; e < N; ++e) pack.x[e] = x[e];
        *reinterpret_cast<PackOfSteps<T, N>*>(to + t) = pack;
      } else {
#pragma unroll
        for (int e = 0; e < N; ++e) {
          if (t + e < n) to[t + e] = x[e];
        }
      }
    };
    store_pack(line.advantage, advantages);
    store_pack(line.target, targets);
  }
}

/// Calls f for each array that has steps, and exists.
template <DType D, class F>
void for_each_array(const Steps<D>& steps, const F& f) {
  const auto call = [&](const auto& array) {
    if (array.data != nullptr) f(array);
  };
  call(steps.reward);
  call(steps.value);
  call(steps.log_ratio);
  call(steps.done);
  call(steps.advantage);
  call(steps.target);
}
/// Whether all lines are contiguous.
template <DType D>
bool are_rows(const Steps<D>& steps) {
  bool are = steps.extent[2] == 1;
  for_each_array(steps, [&](const auto& array) { are = are && array.stride[1] == 1; });
  return are;
}
/// Whether time is short enough for a thread, or for a warp if lines are contiguous: composed maps
/// are faster for few long lines.
template <DType D>
bool have_short_time(const Steps<D>& steps) {
  return steps.extent[1] <= (are_rows(steps) ? 16384 : 512);
}

/// Enqueues the computation; there are elements.
template <DType D, bool has_ratio>
void enqueue_steps(const Kokkos::Cuda& exec, const Steps<D>& steps) {
  namespace cuda = KokkosScan::impl::cuda;
  constexpr auto function = KokkosScan::impl::Function::inclusive_scan;
  const std::int64_t n = steps.extent[1];
  const std::int64_t lines = steps.extent[0] * steps.extent[2];
  const auto blocks = [](std::int64_t items, std::int64_t of_block) {
    return (items + of_block - 1) / of_block;
  };
  if (are_rows(steps)) {
    bool are_aligned = true;
    for_each_array(steps, [&](const auto& array) {
      constexpr std::int64_t pack = 4;
      are_aligned =
          are_aligned && array.stride[0] % pack == 0 &&
          reinterpret_cast<std::uintptr_t>(array.data) % (pack * sizeof(*array.data)) == 0;
    });
    constexpr int threads = 4 * threads_of_steps;
    const cuda::Launch launch{function, "python/steps_by_warps", blocks(lines * 32, threads),
                              threads, 0};
    cuda::enqueue(exec, launch, steps_by_warps<D, has_ratio>, n, lines, steps, are_aligned);
  } else {
    // Few lines are spread over all multiprocessors.
    const bool are_few = lines <= std::int64_t{threads_of_steps} * cuda::multiprocessors(exec);
    const int threads = are_few ? threads_of_steps / 2 : threads_of_steps;
    const cuda::Launch launch{function, "python/steps_by_threads", blocks(lines, threads), threads,
                              0};
    cuda::enqueue(exec, launch, steps_by_threads<D, has_ratio>, n, lines, steps,
                  steps.extent[2] == 1);
  }
}

#endif

}  // namespace kokkos_scan_python
