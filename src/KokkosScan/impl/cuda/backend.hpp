// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The CUDA backend: which problems it takes, and their launch. Launchers exist only where Kokkos
/// has CUDA; the kernels know no execution space.

#include <Kokkos_Core.hpp>

#if defined(KOKKOS_ENABLE_CUDA)

#include <KokkosScan/impl/cuda/device.hpp>
#include <KokkosScan/impl/cuda/tuning.hpp>
#include <KokkosScan/impl/cuda/whole_lines.hpp>
#include <KokkosScan/impl/operands.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace KokkosScan::impl::cuda {

/// How an operand lies in memory: the bytes of its widest array element, whether an instruction
/// moves a pack of E, whether lines follow neighbouring addresses, and whether packs are aligned.
template <class Operand>
struct OperandAccess;
template <class T>
struct OperandAccess<Array<T>> {
  static constexpr int bytes = sizeof(T);
  static constexpr bool constructible = std::is_default_constructible_v<std::remove_const_t<T>>;
  template <int E>
  static constexpr bool has_packs = is_one_instruction(E* bytes);
  static bool is_contiguous(const Array<T>& in, std::int64_t n) {
    return n == 1 || in.strides.along == 1 || in.strides.along == -1;
  }
  template <int E>
  static bool is_aligned(const Array<T>& in, const Batch& batch) {
    // The lowest address of the first pack; lines must keep its alignment.
    const T* lowest = in.strides.along < 0 ? in.data - (E - 1) : in.data;
    bool aligned = reinterpret_cast<std::uintptr_t>(lowest) % (sizeof(T) * E) == 0;
    for (int d = 0; d < batch.rank; ++d) aligned = aligned && in.strides.batch[d] % E == 0;
    return aligned;
  }
};
template <int Rank, class Function>
struct OperandAccess<Computed<Rank, Function>> {
  static constexpr int bytes = 1;  // no memory of its own, so that other operands decide
  static constexpr bool constructible = true;
  template <int E>
  static constexpr bool has_packs = true;
  static bool is_contiguous(const Computed<Rank, Function>&, std::int64_t) { return true; }
  template <int E>
  static bool is_aligned(const Computed<Rank, Function>&, const Batch&) {
    return true;
  }
};
template <class A, class Values, class Mask>
struct OperandAccess<Selected<A, Values, Mask>> {
  using In = Selected<A, Values, Mask>;
  static constexpr int bytes = std::max(OperandAccess<Values>::bytes, OperandAccess<Mask>::bytes);
  static constexpr bool constructible =
      OperandAccess<Values>::constructible && OperandAccess<Mask>::constructible;
  template <int E>
  static constexpr bool has_packs =
      OperandAccess<Values>::template has_packs<E>&& OperandAccess<Mask>::template has_packs<E>;
  static bool is_contiguous(const In& in, std::int64_t n) {
    return OperandAccess<Values>::is_contiguous(in.values, n) &&
           OperandAccess<Mask>::is_contiguous(in.mask, n);
  }
  template <int E>
  static bool is_aligned(const In& in, const Batch& batch) {
    return OperandAccess<Values>::template is_aligned<E>(in.values, batch) &&
           OperandAccess<Mask>::template is_aligned<E>(in.mask, batch);
  }
};

/// One kernel with the numbers of its launch.
struct Launch {
  Function function;
  const char* path;  ///< behind the function in labels
  std::int64_t blocks;
  int threads;
  int shared_bytes;

  /// What Kokkos Tools and errors call it; made only where one of them asks.
  [[nodiscard]] std::string label() const { return name(function) + " [" + path + "]"; }
};

/// Enqueues a kernel on the instance's stream, on its device, and reports a launch that fails.
template <class Kernel, class... Arguments>
void enqueue(const Kokkos::Cuda& exec, const Launch& launch, Kernel kernel, std::int64_t n,
             std::int64_t lines, const Arguments&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(launch.blocks));
  config.blockDim = dim3(static_cast<unsigned>(launch.threads));
  config.dynamicSmemBytes = static_cast<std::size_t>(launch.shared_bytes);
  config.stream = exec.cuda_stream();
  std::uint64_t id = 0;
  const bool has_tools = Kokkos::Tools::profileLibraryLoaded();
  if (has_tools) {
    Kokkos::Tools::beginParallelFor(launch.label(), Kokkos::Tools::Experimental::device_id(exec),
                                    &id);
  }
  // Its own return code: cudaGetLastError() would also tell of what failed before.
  const cudaError_t result = on_device(
      exec.cuda_device(), [&] { return cudaLaunchKernelEx(&config, kernel, arguments...); });
  if (has_tools) Kokkos::Tools::endParallelFor(id);
  if (result != cudaSuccess) {
    static_cast<void>(cudaGetLastError());  // the exception reports it; later calls must not
    throw std::runtime_error(launch.label() + ": the launch for " + std::to_string(lines) +
                             " lines of " + std::to_string(n) +
                             " elements failed: " + cudaGetErrorString(result) + ".");
  }
}

/// The CUDA backend, for lines that are contiguous in memory and fit into registers.
struct Backend {
  template <class P>
  static constexpr int pack = pack_length(OperandAccess<decltype(P::input)>::bytes,
                                          sizeof(typename Types<P>::Value), sizeof(typename P::A));

  /// Whether values of these types can be kept in arrays, and exchanged in rows.
  template <class... Values>
  static constexpr bool are_small() {
    return ((std::is_default_constructible_v<Values> && sizeof(Values) <= largest_value) && ...);
  }

  /// Whether the kernels exist for a type of problem.
  template <class P>
  static constexpr bool supports =
      are_small<typename P::A, typename Types<P>::R, typename Types<P>::Value>() &&
      OperandAccess<decltype(P::input)>::constructible;

  /// Whether a problem is one of these: a question of the length and the strides along the lines.
  /// No memory holds more long lines than a grid has blocks.
  template <class P>
  static bool accepts(const P& p) {
    return p.n > 0 && choose_layout(p.n, pack<P>, sizeof(typename P::A)).fits &&
           OperandAccess<decltype(P::output)>::is_contiguous(p.output, p.n) &&
           OperandAccess<decltype(P::input)>::is_contiguous(p.input, p.n);
  }

  template <class P>
  void scan(const Kokkos::Cuda& exec, const P& p) const {
    constexpr int E = pack<P>;
    using In = OperandAccess<decltype(P::input)>;
    using Out = OperandAccess<decltype(P::output)>;
    // The instantiation with packs must not exist where no instruction moves one.
    if constexpr (In::template has_packs<E> && Out::template has_packs<E>) {
      if (p.n % E == 0 && In::template is_aligned<E>(p.input, p.batch) &&
          Out::template is_aligned<E>(p.output, p.batch)) {
        return scan_with<Access::packs>(exec, p);
      }
    }
    scan_with<Access::stripes>(exec, p);
  }

 private:
  template <Access access, class P>
  static void scan_with(const Kokkos::Cuda& exec, const P& p) {
    const Layout layout = choose_layout(p.n, pack<P>, sizeof(typename P::A));
    if (layout.short_lines) return short_lines<access>(exec, p);
    switch (layout.size) {
      case Size::small:
        return whole_lines<access, Size::small>(exec, p, layout);
      case Size::medium:
        return whole_lines<access, Size::medium>(exec, p, layout);
      case Size::large:
        return whole_lines<access, Size::large>(exec, p, layout);
    }
  }

  template <Access access, class P>
  static void short_lines(const Kokkos::Cuda& exec, const P& p) {
    constexpr int E = pack<P>;
    constexpr int V = rows_of_warp(Size::small, E, sizeof(typename P::A));
    constexpr int most = short_line_threads;
    const int packs = static_cast<int>((p.n + E - 1) / E);
    const int lines_of_row = lanes / packs;
    const std::int64_t lines_of_block = std::int64_t{lines_of_row} * V * (most / lanes);
    const int shared = access == Access::stripes ? most / lanes * bytes_of_row<P, E> : 0;
    const Launch launch{p.function, "cuda/short_lines",
                        (p.batch.count + lines_of_block - 1) / lines_of_block, most, shared};
    enqueue(exec, launch, scan_short_lines<P, V, E, access, most>, p.n, p.batch.count, p, packs,
            lines_of_row);
  }

  template <Access access, Size size, class P>
  static void whole_lines(const Kokkos::Cuda& exec, const P& p, const Layout& layout) {
    using R = typename Types<P>::R;
    constexpr int E = pack<P>;
    constexpr int V = rows_of_warp(size, E, sizeof(typename P::A));
    constexpr int most = most_threads(size);
    const std::int64_t lines_of_block =
        std::max(1, usual_threads(size) / lanes / layout.warps_of_line);
    const int warps = static_cast<int>(lines_of_block) * layout.warps_of_line;
    int shared = (warps * static_cast<int>(sizeof(R)) + 15) / 16 * 16;
    if (access == Access::stripes) shared += warps * bytes_of_row<P, E>;
    const Launch launch{p.function, "cuda/whole_lines",
                        (p.batch.count + lines_of_block - 1) / lines_of_block, warps * lanes,
                        shared};
    enqueue(exec, launch, scan_whole_lines<P, V, E, access, most>, p.n, p.batch.count, p,
            layout.warps_of_line);
  }
};

}  // namespace KokkosScan::impl::cuda

#endif
