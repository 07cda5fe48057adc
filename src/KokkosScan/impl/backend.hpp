// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Chooses the backend of an execution space. This is the only file that knows all backends.

#include <KokkosScan/impl/cuda/backend.hpp>
#include <KokkosScan/impl/cuda/memory.hpp>
#include <KokkosScan/impl/host/backend.hpp>
#include <KokkosScan/impl/host/fold.hpp>
#include <KokkosScan/impl/host/general.hpp>
#include <KokkosScan/impl/in_order.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <KokkosScan/impl/team/backend.hpp>
#include <KokkosScan/impl/team/fold.hpp>
#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl {

/// Whether a backend's kernels exist for a type of problem.
template <class Kernels, class P>
concept Takes = Kernels::template supports<P>;

/// The backend for an execution space, chosen at compile time.
template <class Exec>
struct BackendOf {
  using type = team::Backend;
};

#if defined(KOKKOSSCAN_IMPL_HAS_CUDA_KERNELS)
/// The CUDA kernels, with the generic backend for problems that they do not support.
struct CudaOrTeam {
  /// Whether the default (not in-order) kernels exist for a type of problem.
  template <class P>
  static constexpr bool has_default_kernels = !scans_in_order<P> && Takes<cuda::Backend, P>;

  /// The workspace of the CUDA kernels. The fallback below needs none, as it does not split lines.
  template <class P, class Exec>
  std::size_t workspace_bytes(const Exec& exec, std::int64_t n, std::int64_t lines) const {
    if constexpr (has_default_kernels<P>) {
      return cuda::Backend::workspace_bytes<P>(exec, n, lines);
    } else {
      return team::Backend{}.workspace_bytes<P>(exec, n, lines);
    }
  }
  template <class Exec, class P>
  void scan(const Exec& exec, const P& problem, [[maybe_unused]] std::byte* workspace) const {
    if constexpr (scans_in_order<P> && Takes<cuda::InOrderBackend, P>) {
      cuda::InOrderBackend{}.scan(exec, problem);
    } else {
      if constexpr (has_default_kernels<P>) {
        if (cuda::Backend::accepts(problem)) return cuda::Backend{}.scan(exec, problem, workspace);
        // The number or length of the columns overflows the kernels' indices: one thread per line,
        // because every call has to compile this fallback and it is the smallest.
        team::thread_per_line(exec, name(problem.function), problem);
      } else {
        team::Backend{}.scan(exec, problem, workspace);
      }
    }
  }
};
template <>
struct BackendOf<Kokkos::Cuda> {
  using type = CudaOrTeam;
};
#endif

/// The host kernels, with the generic backend for problems that they do not support.
struct HostOrTeam {
  host::Backend host = {};

  template <class P, class Exec>
  std::size_t workspace_bytes(const Exec& exec, std::int64_t n, std::int64_t lines) const {
    return team::Backend{}.workspace_bytes<P>(exec, n, lines);
  }
  template <class Exec, class P>
  void scan(const Exec& exec, const P& problem, [[maybe_unused]] std::byte* workspace) const {
    if constexpr (!scans_in_order<P> && Takes<host::Backend, P>) {
      host.scan(exec, problem);
    } else {
      if constexpr (Takes<host::GeneralBackend, P>) {
        const host::GeneralBackend general{host.destination, host.registers};
        if (general.accepts(exec, problem)) return general.scan(exec, problem);
      }
      team::Backend{}.scan(exec, problem, workspace);
    }
  }
};
#if defined(KOKKOS_ENABLE_SERIAL)
template <>
struct BackendOf<Kokkos::Serial> {
  using type = HostOrTeam;
};
#endif
#if defined(KOKKOS_ENABLE_OPENMP)
template <>
struct BackendOf<Kokkos::OpenMP> {
  using type = HostOrTeam;
};
#endif
#if defined(KOKKOS_ENABLE_THREADS)
template <>
struct BackendOf<Kokkos::Threads> {
  using type = HostOrTeam;
};
#endif

template <class Exec>
using DefaultBackend = typename BackendOf<Exec>::type;

/// Default argument for the backend: that of the execution space, in its default state.
struct ByDefault {
  template <class P, class Exec>
  std::size_t workspace_bytes(const Exec& exec, std::int64_t n, std::int64_t lines) const {
    return DefaultBackend<Exec>{}.template workspace_bytes<P>(exec, n, lines);
  }
};

/// Whether the backend takes lines without elements too; otherwise empty_lines.hpp handles them.
template <class Backend>
inline constexpr bool takes_empty_lines = false;

/// Everything that is compiled for a type of problem. It is a separate function so that a library
/// can hold instances of it (instances.hpp).
template <class Exec, class P>
void scan_by_default(const Exec& exec, const P& problem, std::byte* workspace) {
  DefaultBackend<Exec>{}.scan(exec, problem, workspace);
}

/// The class that folds lines on an execution space, chosen like the backend.
template <class Exec, class P>
struct FoldsOf {
  using type = team::LineFold<team::FoldLines<P>>;
};
template <class Exec, class P>
requires(std::is_same_v<DefaultBackend<Exec>, HostOrTeam>) struct FoldsOf<Exec, P> {
  using type =
      team::LineFold<host::FoldsOfStrips<P, typename Combination<P>::Wide, team::FoldResults<P>>>;
};
#if defined(KOKKOSSCAN_IMPL_HAS_CUDA_KERNELS)
template <class P>
requires(cuda::Backend::supports<P>) struct FoldsOf<Kokkos::Cuda, P> {
  using type = cuda::LineFold;
};
#endif

/// An upper bound of the bytes that fold_by_default() needs for up to `lines` lines of n elements.
template <class P, class Exec>
std::size_t fold_workspace_bytes(const Exec& exec, std::int64_t n, std::int64_t lines) {
  return FoldsOf<Exec, P>::type::template workspace_bytes<P>(exec, n, lines);
}

/// Stores the fold of each line, in the carried type, in the problem's totals. Lines must have
/// elements; starting values are ignored, and nothing else is stored.
template <class Exec, class P>
void fold_by_default(const Exec& exec, const P& problem, std::byte* workspace) {
  FoldsOf<Exec, P>::type::fold(exec, problem, workspace);
}

}  // namespace KokkosScan::impl
