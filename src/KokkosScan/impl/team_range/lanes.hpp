// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The lanes of a GPU's warp that scan together, and how they exchange values of any type.

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <cstring>

#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
#define KOKKOSSCAN_IMPL_UNROLL_ON_GPU _Pragma("unroll")
#else
#define KOKKOSSCAN_IMPL_UNROLL_ON_GPU
#endif

namespace KokkosScan::impl::team_range {

/// Lanes of a warp.
#if defined(KOKKOS_ENABLE_HIP)
inline constexpr int warp_lanes = Kokkos::Impl::HIPTraits::WarpSize;
#else
inline constexpr int warp_lanes = 32;
#endif

/// A trivially copyable value as 32-bit words.
template <class T>
struct Words {
  static constexpr int count = (sizeof(T) + 3) / 4;
  unsigned word[count];

  KOKKOS_FORCEINLINE_FUNCTION explicit Words(const T& value) {
    if constexpr (sizeof(T) % 4 != 0) word[count - 1] = 0;
    memcpy(word, &value, sizeof(T));
  }
  KOKKOS_FORCEINLINE_FUNCTION void get(T& value) const {
    memcpy(static_cast<void*>(&value), word, sizeof(T));
  }
};

/// All lanes of a warp, where a kernel knows nothing else.
struct WholeWarp {
  static constexpr bool is_whole_warp = true;
  static constexpr int count = warp_lanes;
  static constexpr int first = 0;
  static constexpr unsigned mask = ~0u;
  int lane;
};

/// Neighbouring lanes of one warp.
struct SomeLanes {
  static constexpr bool is_whole_warp = false;
  int lane;       ///< of the calling thread, among them
  int count;      ///< 1 to warp_lanes
  int first;      ///< the number in the warp of lane 0
  unsigned mask;  ///< a bit for each, by its number in the warp (CUDA)

  KOKKOS_FORCEINLINE_FUNCTION SomeLanes(int lane_, int count_, int first_)
      : lane(lane_),
        count(count_),
        first(first_),
        mask(static_cast<unsigned>((~std::uint64_t(0) >> (64 - count_)) << first_)) {}
};

/// Lanes that exchange values. All of them call each function together.
template <class Which>
struct Lanes : Which {
  KOKKOS_FORCEINLINE_FUNCTION Lanes(const Which& lanes) : Which(lanes) {}

  /// The value of the lane `distance` below; any value where there is none.
  template <class T>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION T up(const T& value, int distance) const {
    Words<T> words(value);
    KOKKOSSCAN_IMPL_UNROLL_ON_GPU
    for (int w = 0; w < Words<T>::count; ++w) {
      words.word[w] = word_up(words.word[w], static_cast<unsigned>(distance));
    }
    T result = value;
    words.get(result);
    return result;
  }
  /// The value of one lane.
  template <class T>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION T of(const T& value, int source) const {
    Words<T> words(value);
    KOKKOSSCAN_IMPL_UNROLL_ON_GPU
    for (int w = 0; w < Words<T>::count; ++w) words.word[w] = word_of(words.word[w], source);
    T result = value;
    words.get(result);
    return result;
  }
  /// Waits for all of them; what each stored before is visible to all after.
  KOKKOS_FORCEINLINE_FUNCTION void barrier() const {
#if defined(__CUDA_ARCH__)
    __syncwarp(Which::mask);
#elif defined(__HIP_DEVICE_COMPILE__)
    __threadfence_block();
#endif
  }

 private:
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION unsigned word_up(
      unsigned word, [[maybe_unused]] unsigned distance) const {
#if defined(__CUDA_ARCH__)
    return __shfl_up_sync(Which::mask, word, distance);
#elif defined(__HIP_DEVICE_COMPILE__)
    return __shfl_up(word, distance, warp_lanes);
#else
    return word;
#endif
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION unsigned word_of(unsigned word,
                                                             [[maybe_unused]] int source) const {
#if defined(__CUDA_ARCH__)
    return __shfl_sync(Which::mask, word, Which::first + source);
#elif defined(__HIP_DEVICE_COMPILE__)
    return __shfl(word, Which::first + source, warp_lanes);
#else
    return word;
#endif
  }
};

/// The warps of a team. Threads beyond the last whole warp only wait; in a team of fewer threads
/// than that, there is one warp of SomeLanes.
///
/// \tparam Team has barrier()
template <class LanesOfWarp, class Team>
struct Warps {
  LanesOfWarp lanes;
  int warp, warps, threads;
  Team team;
};

/// The calling thread's place in its block, as Kokkos lays teams out.
struct PlaceInBlock {
  int lane = 0, vector_length = 1, thread = 0, threads = 1;

  KOKKOS_FORCEINLINE_FUNCTION PlaceInBlock() {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
    lane = static_cast<int>(threadIdx.x);
    vector_length = static_cast<int>(blockDim.x);
    thread = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
    threads = static_cast<int>(blockDim.x * blockDim.y);
#endif
  }
};

}  // namespace KokkosScan::impl::team_range
