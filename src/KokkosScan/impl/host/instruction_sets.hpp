// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Chooses the instruction set of kernels at run time.

#include <KokkosScan/impl/host/registers.hpp>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::host {

/// The width of the registers that kernels use. Results are bitwise the same with all of them.
enum class Registers { of_16_bytes, of_32_bytes };

/// The narrowest registers that kernels are compiled for. If compiler flags such as Kokkos' own for
/// a processor guarantee AVX2, these have 32 bytes, as kernels for others would never run.
#if defined(KOKKOSSCAN_IMPL_AVX2) && defined(__AVX2__)
inline constexpr Registers least_registers = Registers::of_32_bytes;
#else
inline constexpr Registers least_registers = Registers::of_16_bytes;
#endif

/// The widest registers of this processor.
inline Registers widest_registers() {
#if defined(KOKKOSSCAN_IMPL_AVX2)
  if (__builtin_cpu_supports("avx2")) return Registers::of_32_bytes;
#endif
  return least_registers;
}

/// Resets the x87 registers at the end of its scope. GCC 12 and 13 sometimes load pairs of doubles
/// through MMX registers (movq2dq), which alias x87: long doubles would be NaN afterwards.
struct EmptiesX87 {
  EmptiesX87() = default;
  EmptiesX87(const EmptiesX87&) = delete;
  EmptiesX87& operator=(const EmptiesX87&) = delete;
  [[gnu::always_inline]] ~EmptiesX87() {
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
    asm volatile("emms" ::
                     : "mm0", "mm1", "mm2", "mm3", "mm4", "mm5", "mm6", "mm7", "st", "st(1)",
                       "st(2)", "st(3)", "st(4)", "st(5)", "st(6)", "st(7)");
#endif
  }
};

#if defined(KOKKOSSCAN_IMPL_AVX2)
/// Calls f(2), compiled for AVX2.
template <class F>
[[gnu::target("avx2")]] auto call_with_avx2(const F& f) {
  return f(std::integral_constant<int, 2>{});
}
/// Calls f(1) on processors without AVX2, which are rare: compiled for size, as it takes a third of
/// the time that all kernels take to compile.
template <class F>
[[gnu::cold, gnu::noinline]] auto call_without_avx2(const F& f) {
  return f(std::integral_constant<int, 1>{});
}
#endif

/// Calls f(places): 1 for registers of 16 bytes, 2 for registers of 32 bytes, which the processor
/// must support.
///
/// f and everything that it calls with registers is always inlined, so it is compiled for both.
///
/// \param registers least_registers or wider
template <class F>
[[gnu::always_inline]] inline auto call_with([[maybe_unused]] Registers registers, const F& f) {
  const EmptiesX87 at_end;
#if defined(KOKKOSSCAN_IMPL_AVX2)
  if constexpr (least_registers == Registers::of_32_bytes) {
    return call_with_avx2(f);
  } else {
    return registers == Registers::of_32_bytes ? call_with_avx2(f) : call_without_avx2(f);
  }
#else
  return f(std::integral_constant<int, 1>{});
#endif
}

/// A compile-time value as a function argument.
template <auto value>
inline constexpr std::integral_constant<std::remove_const_t<decltype(value)>, value> constant{};

/// Converts `count` neighbours, upwards (step 1) or downwards (step -1), in a vectorised loop.
template <int step = 1, class To, class From>
[[gnu::noinline]] void convert(const From* from, int count, To* to) {
  call_with(
      widest_registers(), [=](auto) __attribute__((always_inline)) {
        // Copies, which stores of bytes cannot alias.
        const From* const x = from;
        To* const y = to;
        const int n = count;
        for (int i = 0; i < n; ++i) y[i] = static_cast<To>(x[step * i]);
      });
}

/// Rows of one element of each line, in several slabs.
template <class T>
struct SlabsOf {
  T* data;            ///< the first row
  std::int64_t row;   ///< distance between rows
  std::int64_t slab;  ///< distance between slabs

  /// Row i of line j of the first slab, or of the first line of slab j.
  [[gnu::always_inline]] T& operator()(std::int64_t i, std::int64_t j, bool of_slab) const {
    return data[i * row + j * (of_slab ? slab : 1)];
  }
  void move(int slabs, int lines) { data += slabs * slab + lines; }
  void take_neighbours() { slab = 1; }
};

/// Converts rows of `length` neighbours in one call.
template <class To, class From>
void convert_rows(const SlabsOf<From>& from, int slabs, int rows, int length,
                  const SlabsOf<To>& to) {
  call_with(
      widest_registers(), [=](auto) __attribute__((always_inline)) {
        for (int s = 0; s < slabs; ++s) {
          From* x = from.data + s * from.slab;
          To* y = to.data + s * to.slab;
          for (int r = 0; r < rows; ++r, x += from.row, y += to.row) {
            for (int i = 0; i < length; ++i) y[i] = static_cast<To>(x[i]);
          }
        }
      });
}

}  // namespace KokkosScan::impl::host
