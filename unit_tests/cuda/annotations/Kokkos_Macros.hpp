// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// The annotations and names that the CUDA kernels need, for compilation without Kokkos.

#include <cmath>
#include <cstddef>
#include <type_traits>

#define KOKKOS_FUNCTION __host__ __device__
#define KOKKOS_INLINE_FUNCTION __host__ __device__ inline
#define KOKKOS_FORCEINLINE_FUNCTION __host__ __device__ __forceinline__
#define KOKKOS_IMPL_STRIP(...) __VA_ARGS__
#if defined(__CUDA_ARCH__)
#define KOKKOS_IF_ON_DEVICE(code) \
  { KOKKOS_IMPL_STRIP code }
#define KOKKOS_IF_ON_HOST(code)
#else
#define KOKKOS_IF_ON_DEVICE(code)
#define KOKKOS_IF_ON_HOST(code) \
  { KOKKOS_IMPL_STRIP code }
#endif

namespace Kokkos {

template <class T>
struct is_view : std::false_type {};

using std::copysign, std::exp, std::fabs, std::fmax, std::fmin, std::log, std::log1p;

struct HostSpace {};
template <class Space, class Label>
void* kokkos_malloc(Label const&, std::size_t);
template <class Space>
void kokkos_free(void*);

template <class T>
class complex {
 public:
  complex() = default;
  KOKKOS_FUNCTION complex(T real, T imag = T()) : m_real(real), m_imag(imag) {}
  [[nodiscard]] KOKKOS_FUNCTION T real() const { return m_real; }
  [[nodiscard]] KOKKOS_FUNCTION T imag() const { return m_imag; }

 private:
  T m_real, m_imag;
};

}  // namespace Kokkos
