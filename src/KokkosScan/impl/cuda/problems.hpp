// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Which problems the CUDA kernels take, and which kernel takes which: written for any execution
/// space with enqueue(), clear() and multiprocessors(), as launch.hpp has them for Kokkos::Cuda.

#include <KokkosScan/impl/cuda/columns.hpp>
#include <KokkosScan/impl/cuda/in_registers.hpp>
#include <KokkosScan/impl/cuda/launch.hpp>
#include <KokkosScan/impl/cuda/parts.hpp>
#include <KokkosScan/impl/cuda/tiles.hpp>
#include <KokkosScan/impl/cuda/tuning.hpp>
#include <KokkosScan/impl/memory.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>

namespace KokkosScan::impl::cuda {

/// How an operand lies in memory: whether lines follow neighbouring addresses, whether neighbouring
/// lines do, and whether packs of either are aligned.
template <class Operand>
struct OperandAccess;
template <class T>
struct OperandAccess<Array<T>> {
  static constexpr bool constructible = std::is_default_constructible_v<std::remove_const_t<T>>;
  static constexpr bool is_stored = true;  ///< in memory, not computed
  static bool is_contiguous(const Array<T>& in, std::int64_t n) {
    return n == 1 || in.strides.along == 1 || in.strides.along == -1;
  }
  static bool has_columns(const Array<T>& in, const Batch& batch) {
    return in.strides.batch[batch.rank - 1] == 1;
  }
  /// Whether neighbouring lines, over all n, are one run of memory.
  ///
  /// \param row elements from row to row then, in scan order
  static bool is_flat(const Array<T>& in, const Batch& batch, std::int64_t row) {
    return has_columns(in, batch) && in.strides.along == row;
  }
  /// Whether rows begin at sectors of memory.
  static bool has_aligned_rows(const Array<T>& in) {
    constexpr std::uintptr_t sector = 32;
    return reinterpret_cast<std::uintptr_t>(in.data) % sector == 0 &&
           static_cast<std::uintptr_t>(in.strides.along) * sizeof(T) % sector == 0;
  }
  template <int E>
  static bool has_aligned_packs(const Array<T>& in, const Batch& batch) {
    // The lowest address of the first pack; lines must keep its alignment.
    const T* lowest = in.strides.along < 0 ? in.data - (E - 1) : in.data;
    bool aligned = reinterpret_cast<std::uintptr_t>(lowest) % (sizeof(T) * E) == 0;
    for (int d = 0; d < batch.rank; ++d) aligned = aligned && in.strides.batch[d] % E == 0;
    return aligned;
  }
};
template <int Rank, class Function>
struct OperandAccess<Computed<Rank, Function>> {
  static constexpr bool constructible = true;
  static constexpr bool is_stored = false;
  static bool is_contiguous(const Computed<Rank, Function>&, std::int64_t) { return true; }
  static bool has_columns(const Computed<Rank, Function>&, const Batch&) { return true; }
  static bool is_flat(const Computed<Rank, Function>&, const Batch&, std::int64_t) { return true; }
  static bool has_aligned_rows(const Computed<Rank, Function>&) { return true; }
  template <int E>
  static bool has_aligned_packs(const Computed<Rank, Function>&, const Batch&) {
    return true;
  }
};
template <class A, class Values, class Mask>
struct OperandAccess<Selected<A, Values, Mask>> {
  using In = Selected<A, Values, Mask>;
  static constexpr bool constructible =
      OperandAccess<Values>::constructible && OperandAccess<Mask>::constructible;
  static constexpr bool is_stored =
      OperandAccess<Values>::is_stored && OperandAccess<Mask>::is_stored;
  static bool is_contiguous(const In& in, std::int64_t n) {
    return OperandAccess<Values>::is_contiguous(in.values, n) &&
           OperandAccess<Mask>::is_contiguous(in.mask, n);
  }
  static bool has_columns(const In& in, const Batch& batch) {
    return OperandAccess<Values>::has_columns(in.values, batch) &&
           OperandAccess<Mask>::has_columns(in.mask, batch);
  }
  static bool is_flat(const In& in, const Batch& batch, std::int64_t row) {
    return OperandAccess<Values>::is_flat(in.values, batch, row) &&
           OperandAccess<Mask>::is_flat(in.mask, batch, row);
  }
  static bool has_aligned_rows(const In& in) {
    return OperandAccess<Values>::has_aligned_rows(in.values) &&
           OperandAccess<Mask>::has_aligned_rows(in.mask);
  }
  template <int E>
  static bool has_aligned_packs(const In& in, const Batch& batch) {
    return OperandAccess<Values>::template has_aligned_packs<E>(in.values, batch) &&
           OperandAccess<Mask>::template has_aligned_packs<E>(in.mask, batch);
  }
};

/// The CUDA backend. Which kernel scans is a question of n and the strides along the lines, so that
/// a line's result does not depend on how many others there are and where they lie.
struct Backend {
  /// Whether values of these types can be kept in arrays.
  template <class... Values>
  static constexpr bool are_small() {
    return ((std::is_default_constructible_v<Values> && sizeof(Values) <= largest_value) && ...);
  }

  /// Whether the kernels exist for a type of problem.
  template <class P>
  static constexpr bool supports =
      are_small<typename P::A, typename Types<P>::R, typename Types<P>::Value>() &&
      OperandAccess<decltype(P::input)>::constructible;

  /// Whether the kernels take a problem: all but empty lines, and more columns than a number holds.
  template <class P>
  static bool accepts(const P& p) {
    return p.n > 0 && (is_contiguous(p) || neighbours(p.batch) <= INT32_MAX);
  }

  /// Bytes that a scan of `lines` lines of n elements needs at most: strides decide later which
  /// kernel runs.
  template <class P, class Exec>
  static std::size_t workspace_bytes(const Exec& exec, std::int64_t n, std::int64_t lines) {
    using R = typename Types<P>::R;
    if (n == 0) return 0;
    std::int64_t bytes = 0;
    if (!stays_in_registers<P>(n)) {
      bytes = Carry<R>::bytes(lines, cut_line(n, Types<P>::size).tiles_of_line);
    }
    constexpr int accumulator = sizeof(typename P::A);
    if (may_share_columns(n, lines, accumulator, multiprocessors(exec))) {
      bytes = std::max(bytes,
                       bytes_to_share_columns(n, lines, accumulator, Published<R>::words));
    }
    return static_cast<std::size_t>(bytes);
  }

  template <class Exec, class P>
  void scan(const Exec& exec, const P& p, std::byte* workspace) const {
    if (!is_contiguous(p)) return scan_columns(exec, p, workspace);
    if constexpr (may_stay_in_registers<P>) {
      if (stays_in_registers<P>(p.n)) return scan_lines_in_registers(exec, p);
    }
    scan(exec, p, workspace, cut_line(p.n, Types<P>::size));
  }

  /// The same with lines cut in another way, for tests and measurements.
  template <class Exec, class P>
  void scan(const Exec& exec, const P& p, std::byte* workspace, const Cut& cut) const {
    if (cut.tiles_of_line == 1) {
      scan_whole_lines(exec, p, cut);
    } else {
      scan_parts(exec, p, workspace, cut);
    }
  }

 private:
  template <class P>
  static bool is_contiguous(const P& p) {
    return OperandAccess<decltype(P::output)>::is_contiguous(p.output, p.n) &&
           OperandAccess<decltype(P::input)>::is_contiguous(p.input, p.n);
  }
  /// Lines that follow each other in the batch's last dimension.
  static std::int64_t neighbours(const Batch& batch) {
    return batch.rank == 0 ? 1 : batch.extent[batch.rank - 1];
  }
  /// Whether neighbouring lines are neighbours in memory.
  template <class P>
  static bool has_columns(const P& p) {
    return p.batch.rank > 0 && OperandAccess<decltype(P::output)>::has_columns(p.output, p.batch) &&
           OperandAccess<decltype(P::input)>::has_columns(p.input, p.batch);
  }
  /// Whether lines are kept in registers, if they fit: those of sums and products of 4 bytes that
  /// are in memory. (32768 floats: 0.985 instead of 0.92; but 0.69
  /// instead of 0.93 for maxima, 0.55 instead of 0.93 for 16 bits, 0.84 instead of 0.93 for
  /// doubles.)
  template <class P>
  static constexpr bool may_stay_in_registers =
      Types<P>::size.widest == 4 &&
      sizeof(typename P::A) == 4 && OperandAccess<decltype(P::input)>::is_stored &&
      (std::is_same_v<typename Types<P>::Op, Sum<typename P::A>> ||
       std::is_same_v<typename Types<P>::Op, Prod<typename P::A>>);
  template <class P>
  static bool stays_in_registers(std::int64_t n) {
    return may_stay_in_registers<P> && fits_registers(n, Types<P>::size, sizeof(typename P::A));
  }
  /// \param of_input_only whether those of the output do not matter
  template <class P>
  static bool has_aligned_packs(const P& p, bool of_input_only = false) {
    constexpr int E = Types<P>::pack;
    return Types<P>::has_packs && p.n % E == 0 &&
           OperandAccess<decltype(P::input)>::template has_aligned_packs<E>(p.input, p.batch) &&
           (of_input_only ||
            OperandAccess<decltype(P::output)>::template has_aligned_packs<E>(p.output, p.batch));
  }

  template <class Exec, class P>
  static void scan_whole_lines(const Exec& exec, const P& p, const Cut& cut) {
    using Value = typename Types<P>::Value;
    const Shape shape = shape_launch(cut, Types<P>::size);
    // Lines of one element count as contiguous whatever their stride, two results need not be.
    const std::int64_t along = p.output.strides.along;
    const bool are_wide = p.extra != Extra::none && (along == 1 || along == -1) &&
                          (shape.lines_of_tile == 1 || p.batch.rank == 0 ||
                           (p.batch.rank == 1 && p.output.strides.batch[0] == p.n + 1));
    const bool has_packs = has_aligned_packs(p, are_wide);
    const int padding = has_packs && pads_slots(shape, Types<P>::size) ? bytes_of_padding : 0;
    const int elements = shape.lines_of_tile * cut.tile_length;
    int bytes = Types<P>::bytes_of_tile(elements, padding);
    if (are_wide) {
      bytes += bytes_of_span((elements + shape.lines_of_tile) * static_cast<int>(sizeof(Value)), 0);
    }
    const Launch launch{p.function, "cuda/lines", divide_up(p.batch.count, shape.lines_of_tile),
                        shape.threads, bytes};
    const auto scan = [&](auto most) {
      enqueue(exec, launch, are_wide ? scan_lines<most, true, P> : scan_lines<most, false, P>, p.n,
              p.batch.count, p, shape, has_packs, padding);
    };
    const bool stores_more = are_wide || !Types<P>::stores_in_bulk;
    switch (most_threads_of_tile(shape, Types<P>::size, stores_more)) {
      case 32:
        return scan(std::integral_constant<int, 32>{});
      case 64:
        return scan(std::integral_constant<int, 64>{});
      default:
        return scan(std::integral_constant<int, most_threads>{});
    }
  }

  template <class Exec, class P>
  static void scan_lines_in_registers(const Exec& exec, const P& p) {
    if constexpr (Types<P>::has_packs) {
      if (has_aligned_packs(p)) return scan_lines_in_registers<PackAccess::whole>(exec, p);
      if (has_aligned_packs(p, true))
        return scan_lines_in_registers<PackAccess::striped_results>(exec, p);
    }
    scan_lines_in_registers<PackAccess::striped>(exec, p);
  }
  template <PackAccess access, class Exec, class P>
  static void scan_lines_in_registers(const Exec& exec, const P& p) {
    const std::int64_t warps =
        divide_up(p.n, std::int64_t{lanes} * Types<P>::pack * rows_of_warp<P>);
    int shared = bytes_of_warp_totals<typename Types<P>::R>;
    if (access != PackAccess::whole) shared += static_cast<int>(warps) * bytes_of_row<P>;
    const Launch launch{p.function, "cuda/in_registers", p.batch.count,
                        static_cast<int>(warps) * lanes, shared};
    enqueue(exec, launch, scan_in_registers<access, P>, p.n, p.batch.count, p);
  }

  template <class Exec, class P>
  static void scan_columns(const Exec& exec, const P& p, std::byte* workspace) {
    scan_columns(exec, p, workspace,
                 plan_columns(column_facts(p, multiprocessors(exec), shared_bytes_of_block(exec))));
  }

 public:
  /// What the plan for columns depends on.
  template <class P>
  static ColumnFacts column_facts(const P& p, int multiprocessors, int shared_bytes) {
    using A = typename P::A;
    using In = decltype(P::input);
    using Value = typename Types<P>::Value;
    using Loaded = typename LoadedFrom<A, In>::type;
    constexpr bool in_place = may_share_slots<Loaded, Value>;
    const std::int64_t inner = neighbours(p.batch);
    const std::int64_t row = p.output.strides.along < 0 ? -inner : inner;
    const auto is_run = [&](const auto& operand, bool may_be) {
      return may_be && p.batch.rank > 0 &&
             OperandAccess<std::remove_cvref_t<decltype(operand)>>::has_columns(operand, p.batch);
    };
    const auto is_flat = [&](const auto& operand) {
      return p.batch.rank > 0 &&
             OperandAccess<std::remove_cvref_t<decltype(operand)>>::is_flat(operand, p.batch, row);
    };
    const std::int64_t slab = p.n * inner;
    ColumnFacts facts{};
    facts.n = p.n;
    facts.lines = p.batch.count;
    facts.inner = inner;
    facts.loads_in_bulk = is_run(p.input, LoadedFrom<A, In>::is_run);
    facts.stores_in_bulk = is_run(p.output, LoadedFrom<A, Array<const Value>>::is_run);
    facts.loads_flat = !facts.loads_in_bulk || is_flat(p.input);
    facts.stores_flat = facts.stores_in_bulk && is_flat(p.output);
    facts.flat_slabs = has_flat_slabs(p.input, p.batch, slab) &&
                       has_flat_slabs(p.output, p.batch, slab);
    facts.are_apart = is_along(p.batch, p.output) || is_along(p.batch, p.input);
    facts.element = static_cast<int>(sizeof(Loaded) + (in_place ? 0 : sizeof(Value)));
    facts.unit = static_cast<int>(std::min(sizeof(Loaded), sizeof(Value)));
    facts.row = p.batch.rank == 0 ? 1 : row_of_runs(p);
    facts.accumulator = sizeof(A);
    facts.carried = sizeof(typename Types<P>::R);
    facts.multiprocessors = multiprocessors;
    facts.shared_bytes = shared_bytes;
    return facts;
  }
  /// The same with a given plan, for tests and measurements.
  template <class Exec, class P>
  static void scan_columns(const Exec& exec, const P& p, std::byte* workspace,
                           const ColumnPlan& plan) {
    using R = typename Types<P>::R;
    constexpr int bytes = sizeof(typename P::A);
    const Launch launch{p.function, "cuda/columns", plan.blocks, threads_of_column_block,
                        shared_bytes(plan, sizeof(R))};
    SharedColumns<R> shared{nullptr, 0, 0, 0};
    std::optional<Temporary<Exec>> memory;
    if (plan.shares) {
      constexpr std::int64_t rows = rows_of_chunk(bytes);
      const auto needed = static_cast<std::size_t>(
          bytes_to_share_columns(p.n, p.batch.count, bytes, Published<R>::words));
      if (workspace == nullptr) workspace = memory.emplace(exec, needed).data();
      clear(exec, launch, workspace, needed, p.n, p.batch.count);
      shared = {reinterpret_cast<std::uint64_t*>(workspace), p.batch.count,
                divide_up(p.n, rows * chunks_of_tile), divide_up(p.n, rows * chunks_of_section)};
    }
    enqueue(exec, launch, cuda::scan_columns<P>, p.n, p.batch.count, p, plan, shared);
  }

 private:
  /// Elements from row to row of what is copied as runs of memory: of the input, if it is.
  template <class P>
  static std::int64_t row_of_runs(const P& p) {
    std::int64_t along = p.output.strides.along;
    if constexpr (LoadedFrom<typename P::A, decltype(P::input)>::is_run) {
      if (OperandAccess<decltype(P::input)>::has_columns(p.input, p.batch)) {
        along = p.input.strides.along;
      }
    }
    return along < 0 ? -along : along;
  }
  /// Whether slabs, all lines that are neighbours, follow each other in memory.
  template <class T>
  static bool has_flat_slabs(const Array<T>& operand, const Batch& batch, std::int64_t slab) {
    return batch.rank == 1 || (batch.rank == 2 && operand.strides.batch[0] == slab);
  }
  template <class In>
  static bool has_flat_slabs(const In&, const Batch&, std::int64_t) {
    return true;
  }
  template <class Exec, class P>
  static void scan_parts(const Exec& exec, const P& p, std::byte* workspace, const Cut& cut) {
    using R = typename Types<P>::R;
    const std::int64_t lines = p.batch.count;
    const std::int64_t tiles = lines * cut.tiles_of_line;
    const Shape of_tile = shape_launch(cut, Types<P>::size);
    const int bytes_of_tile = Types<P>::bytes_of_tile(cut.tile_length, 0, bulk_alignment);
    const int bytes_of_folds = of_tile.threads * static_cast<int>(sizeof(R));
    const int bytes = bytes_of_tile + (bytes_of_folds + 127) / 128 * 128;
    const int stages =
        std::clamp((shared_bytes_of_block(exec) - bytes_of_ring<R>) / bytes, 1, most_stages);
    const RingShape shape{of_tile, tiles, stages, bytes_of_tile, bytes};
    const Launch launch{
        p.function, "cuda/parts_of_lines", std::min<std::int64_t>(tiles, multiprocessors(exec)),
        shape.threads(Stage<decltype(P::input)>::is_computed), bytes_of_ring<R> + stages * bytes};
    const auto needed = static_cast<std::size_t>(Carry<R>::bytes(lines, cut.tiles_of_line));
    std::optional<Temporary<Exec>> memory;
    if (workspace == nullptr) workspace = memory.emplace(exec, needed).data();
    clear(exec, launch, workspace, needed, p.n, lines);
    const Carry<R> carry{reinterpret_cast<std::uint64_t*>(workspace), cut.tiles_of_line};
    enqueue(exec, launch, scan_parts_of_lines<P>, p.n, lines, p, shape, has_aligned_packs(p),
            carry);
  }
};

}  // namespace KokkosScan::impl::cuda
