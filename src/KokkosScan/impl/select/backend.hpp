// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Chooses the selection kernels of an execution space.

#include <KokkosScan/impl/backend.hpp>
#include <KokkosScan/impl/host/select_lines.hpp>
#include <KokkosScan/impl/select/three_steps.hpp>
#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#if defined(KOKKOSSCAN_IMPL_HAS_CUDA_KERNELS)
#include <KokkosScan/impl/cuda/select.hpp>
#endif

namespace KokkosScan::impl {

/// The kernels for an execution space, chosen at compile time.
template <class Exec>
struct SelectBackendOf {
  using type = std::conditional_t<std::is_same_v<DefaultBackend<Exec>, HostOrTeam>,
                                  host::SelectBackend, ThreeSteps>;
};

#if defined(KOKKOSSCAN_IMPL_HAS_CUDA_KERNELS)
/// The CUDA kernels, with three steps for values that are too large for them.
struct CudaSelectOrThreeSteps {
  template <class S>
  using For = std::conditional_t<cuda::SelectBackend::supports<S>, cuda::SelectBackend, ThreeSteps>;
  template <class Exec, class S>
  static constexpr bool works_in_place = For<S>::template works_in_place<Exec, S>;

  template <class S, class Exec>
  std::size_t workspace_bytes(const Exec& exec, std::int64_t n, std::int64_t lines) const {
    return For<S>{}.template workspace_bytes<S>(exec, n, lines);
  }
  template <class Exec, class S>
  void select(const Exec& exec, const S& selection, std::byte* workspace) const {
    For<S>{}.select(exec, selection, workspace);
  }
};
template <>
struct SelectBackendOf<Kokkos::Cuda> {
  using type = CudaSelectOrThreeSteps;
};
#endif

/// Default argument for the backend: the kernels of the execution space.
struct SelectByDefault {
  template <class Exec, class S>
  static constexpr bool works_in_place =
      SelectBackendOf<Exec>::type::template works_in_place<Exec, S>;

  template <class S, class Exec>
  std::size_t workspace_bytes(const Exec& exec, std::int64_t n, std::int64_t lines) const {
    return typename SelectBackendOf<Exec>::type{}.template workspace_bytes<S>(exec, n, lines);
  }
  template <class Exec, class S>
  void select(const Exec& exec, const S& selection, std::byte* workspace) const {
    typename SelectBackendOf<Exec>::type{}.select(exec, selection, workspace);
  }
};

}  // namespace KokkosScan::impl
