// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Which problems the CUDA kernels accept, and which kernel scans each. Works for any execution
/// space with enqueue(), clear(), multiprocessors() and shared_bytes_of_block(), as launch.hpp
/// defines them for Kokkos::Cuda. For one that only plans, no kernel is compiled.

#include <KokkosScan/impl/cuda/column_threads.hpp>
#include <KokkosScan/impl/cuda/in_registers.hpp>
#include <KokkosScan/impl/cuda/launch.hpp>
#include <KokkosScan/impl/cuda/narrow_columns.hpp>
#include <KokkosScan/impl/cuda/operand_access.hpp>
#include <KokkosScan/impl/cuda/parts.hpp>
#include <KokkosScan/impl/cuda/tiles.hpp>
#include <KokkosScan/impl/cuda/tuning.hpp>
#include <KokkosScan/impl/cuda/wide_columns.hpp>
#include <KokkosScan/impl/memory.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>

namespace KokkosScan::impl::cuda {

/// The CUDA backend. The kernel depends on n and the strides along the lines, so that the result of
/// a line does not depend on the number and place of the others.
struct Backend {
  /// Whether values of these types can be kept in arrays.
  template <class... Values>
  static constexpr bool are_small() {
    return ((std::is_default_constructible_v<Values> && sizeof(Values) <= largest_value) && ...);
  }

  /// Whether kernels exist for a type of problem.
  template <class P>
  static constexpr bool supports =
      are_small<typename P::A, typename Types<P>::R, typename Types<P>::Value>() &&
      OperandAccess<decltype(P::input)>::constructible;

  /// Whether the kernels accept a problem: no empty lines, and the numbers of columns and tiles
  /// must not overflow.
  template <class P>
  static bool accepts(const P& p) {
    return p.n > 0 &&
           (has_contiguous_lines(p) || (neighbours(p.batch) <= INT32_MAX &&
                                        p.n / chunk_of_column < INT32_MAX - chunks_of_section));
  }

  /// An upper bound for the workspace of a scan of `lines` lines of n elements; the strides, known
  /// later, determine the kernel.
  template <class P, class Exec>
  static std::size_t workspace_bytes(const Exec&, std::int64_t n, std::int64_t lines) {
    using R = typename Types<P>::R;
    if (n == 0) return 0;
    std::int64_t bytes =
        Carry<R>::bytes(lines, cut_line(n, Types<P>::size_that_cuts).tiles_of_line);
    constexpr NarrowColumnFacts types = narrow_column_types<P>();
    for (int stride = 1; stride <= widest_narrow_row(n); ++stride) {
      const NarrowCut cut =
          cut_narrow_column(n, stride, types.element_and_result, types.accumulator);
      bytes = std::max(bytes, PublishedNarrowTiles<R>::bytes(lines, cut.tiles));
    }
    bytes = std::max(bytes, PublishedRows<R>::bytes(n, lines));
    return static_cast<std::size_t>(bytes);
  }

  template <class Exec, class P>
  void scan(const Exec& exec, const P& p, std::byte* workspace) const {
    if (!has_contiguous_lines(p)) return scan_columns(exec, p, workspace);
    const Cut cut = cut_line(p.n, Types<P>::size_that_cuts);
    if constexpr (may_stay_in_registers<P>) {
      if (fits_registers(p.n, cut) && has_aligned_packs(p)) {
        return scan_lines_in_registers(exec, p, cut);
      }
    }
    scan(exec, p, workspace, cut);
  }

  /// The same with lines cut differently, for tests and measurements.
  template <class Exec, class P>
  void scan(const Exec& exec, const P& p, std::byte* workspace, const Cut& cut) const {
    if (cut.tiles_of_line == 1) {
      scan_whole_lines(exec, p, cut);
    } else {
      scan_parts(exec, p, workspace, cut);
    }
  }

  /// Scans narrow columns of up to longest_short_column elements, left to right in the carried
  /// type, so it also serves scans in order.
  template <class Exec, class P>
  static void scan_short_columns(const Exec& exec, const P& p) {
    scan_narrow_columns(exec, p, nullptr);
  }

 private:
  /// Enqueues a kernel, or only says how it would be launched.
  ///
  /// \param kernel returns the kernel for a type of problem: none is compiled for plans alone
  /// \param shape  the kernel's first argument after the problem
  template <class Exec, class P, class Kernel, class Shape, class... Arguments>
  static void start(const Exec& exec, const Launch& launch, const P& p, const Kernel& kernel,
                    const Shape& shape, const Arguments&... arguments) {
    if constexpr (OnlyPlans<Exec>) {
      exec.would_launch(launch, shape);
    } else {
      enqueue(exec, launch, kernel(p), p.n, p.batch.count, p, shape, arguments...);
    }
  }

  /// Lines that are consecutive in the last dimension of the batch.
  static std::int64_t neighbours(const Batch& batch) {
    return batch.rank == 0 ? 1 : batch.extent[batch.rank - 1];
  }
  /// Whether neighbouring lines are neighbours in memory.
  template <class Operand>
  static bool has_columns(const Operand& operand, const Batch& batch) {
    return batch.rank > 0 && OperandAccess<Operand>::has_columns(operand, batch);
  }
  template <class P>
  static bool has_columns(const P& p) {
    return has_columns(p.output, p.batch) && has_columns(p.input, p.batch);
  }
  /// Whether long lines are kept in registers, if they fit: those of sums and products of 4 bytes
  /// in memory. Other operators and sizes are slower so on an H200.
  template <class P>
  static constexpr bool may_stay_in_registers = [] {
    using Op = typename Types<P>::Op;
    using A = typename P::A;
    constexpr bool is_array = requires(const P& p) { p.input.data; };
    constexpr bool has_mask_of_bytes = requires(const P& p) {
      requires sizeof(*p.input.values.data) > 0 && sizeof(*p.input.mask.data) == 1;
    };
    return (is_array || has_mask_of_bytes) && !is_called<decltype(P::output)> &&
           Types<P>::size.widest == 4 && sizeof(A) == 4 &&
           (std::is_same_v<Op, Sum<A>> || std::is_same_v<Op, Prod<A>>);
  }();
  /// Whether the packs of an operand's lines are aligned, or those of both operands.
  template <class Operand, class P>
  static bool has_aligned_packs(const Operand& operand, const P& p) {
    constexpr int E = Types<P>::pack;
    return Types<P>::has_packs && p.n % E == 0 &&
           OperandAccess<Operand>::template has_aligned_packs<E>(operand, p.batch);
  }
  template <class P>
  static bool has_aligned_packs(const P& p) {
    return has_aligned_packs(p.input, p) && has_aligned_packs(p.output, p);
  }

  /// Whether the n+1 results of each line in a tile are contiguous with those of the next. Lines of
  /// one element count as contiguous whatever their stride; two results need not be.
  template <class P>
  static bool has_wide_results(const P& p, int lines_of_tile) {
    if constexpr (is_called<decltype(P::output)>) {
      return false;
    } else {
      const Strides& strides = p.output.strides;
      const bool are_one_run = lines_of_tile == 1 || p.batch.rank == 0 ||
                               (p.batch.rank == 1 && strides.batch[0] == p.n + 1);
      return p.extra != Extra::none && magnitude(strides.along) == 1 && are_one_run;
    }
  }
  template <class Exec, class P>
  static void scan_whole_lines(const Exec& exec, const P& p, const Cut& cut) {
    using Value = typename Types<P>::Value;
    const Shape shape = shape_launch(cut, Types<P>::size);
    const bool may_be_wide = has_wide_results(p, shape.lines_of_tile);
    const int elements = shape.lines_of_tile * cut.tile_length;
    const int bytes_of_results = bytes_of_slots<Value>(elements + shape.lines_of_tile, 0);
    const bool are_wide =
        may_be_wide && Types<P>::bytes_of_lines(elements, bytes_of_padding) + bytes_of_results <=
                           shared_bytes_of_block(exec);
    const bool has_packs =
        has_aligned_packs(p.input, p) && (are_wide || has_aligned_packs(p.output, p));
    const bool pads = has_packs && pads_slots(shape, Types<P>::size);
    const int padding = pads ? bytes_of_padding : 0;
    const int bytes =
        Types<P>::bytes_of_lines(elements, padding) + (are_wide ? bytes_of_results : 0);
    const Launch launch{p.function, "cuda/lines", divide_up(p.batch.count, shape.lines_of_tile),
                        shape.threads, bytes};
    start(
        exec, launch, p, []<class Q>(const Q&) { return cuda::scan_lines<Q>; }, shape, has_packs,
        padding, are_wide);
  }

  template <class Exec, class P>
  static void scan_lines_in_registers(const Exec& exec, const P& p, const Cut& cut) {
    const auto warps = static_cast<int>(divide_up(p.n, lanes * cut.chunk));
    const int shared = bytes_of_warp_totals<typename Types<P>::R> + warps * bytes_of_folds<P>;
    const Launch launch{p.function, "cuda/in_registers", p.batch.count, warps * lanes, shared};
    start(
        exec, launch, p, []<class Q>(const Q&) { return cuda::scan_in_registers<Q>; }, cut);
  }

  /// Whether the rows of all arrays consist of aligned packs, those of E columns.
  template <class P, int E = Types<P>::pack>
  static bool has_aligned_rows(const P& p) {
    return neighbours(p.batch) % E == 0 &&
           OperandAccess<decltype(P::input)>::template has_aligned_columns<E>(p.input, p.batch) &&
           OperandAccess<decltype(P::output)>::template has_aligned_columns<E>(p.output, p.batch);
  }
  template <class Exec, class P>
  static void scan_narrow_columns(const Exec& exec, const P& p, std::byte* workspace) {
    using Published = PublishedNarrowTiles<typename Types<P>::R>;
    const NarrowColumnPlan plan = plan_narrow_columns(narrow_column_facts(exec, p));
    const Launch launch{p.function, "cuda/narrow_columns", plan.blocks, threads_of_narrow_columns,
                        plan.shared_bytes};
    std::optional<Temporary<Exec>> memory;
    if (plan.steps > 1) {
      const auto needed = static_cast<std::size_t>(Published::bytes(p.batch.count, plan.steps));
      if (workspace == nullptr) workspace = memory.emplace(exec, needed).data();
      clear(exec, launch, workspace, needed, p.n, p.batch.count);
    }
    const Published published(workspace, plan.steps);
    start(
        exec, launch, p, []<class Q>(const Q&) { return cuda::scan_narrow_columns<Q>; }, plan,
        published);
  }
  template <class Exec, class P>
  static void scan_columns(const Exec& exec, const P& p, std::byte* workspace) {
    if (are_narrow_columns(p)) return scan_narrow_columns(exec, p, workspace);
    if constexpr (Types<P>::size.widest <= bytes_of_threads) {
      if (has_columns(p) &&
          !(has_rows_of_sectors(p) && OperandAccess<decltype(P::input)>::is_stored) &&
          takes_threads(p.n, neighbours(p.batch), p.batch.count, multiprocessors(exec))) {
        return scan_columns_by_threads(exec, p);
      }
    }
    scan_wide_columns(exec, p, workspace);
  }

  /// Whether rows of results are whole sectors.
  template <class P>
  static bool has_rows_of_sectors(const P& p) {
    return has_columns(p) && has_aligned_rows(p) &&
           neighbours(p.batch) * static_cast<std::int64_t>(sizeof(typename P::Value)) %
                   bytes_of_sector ==
               0;
  }
  template <class Exec, class P>
  static void scan_columns_by_threads(const Exec& exec, const P& p) {
    const Launch launch{p.function, "cuda/columns_by_threads",
                        divide_up(p.batch.count, threads_of_columns), threads_of_columns, 0};
    start(
        exec, launch, p, []<class Q>(const Q&) { return cuda::scan_columns_by_threads<Q>; },
        !has_rows_of_sectors(p));
  }
  template <class Exec, class P>
  static void scan_wide_columns(const Exec& exec, const P& p, std::byte* workspace) {
    using R = typename Types<P>::R;
    const std::int64_t inner = neighbours(p.batch);
    constexpr int bytes = sizeof(KeptType<P>);
    bool has_packs = false;
    if constexpr (has_wide_packs<P>)
      has_packs = has_columns(p) && has_aligned_rows<P, quarters_of_wide_thread(bytes)>(p);
    WideColumnPlan plan =
        plan_wide_columns(p.n, inner, p.batch.count / inner, bytes, has_rows_of_sectors(p),
                          has_packs, multiprocessors(exec));
    const std::int64_t tiles = plan.strips * plan.tiles;
    const std::int64_t resident =
        std::int64_t{std::max(1, multiprocessors(exec))} * blocks_of_wide_columns(bytes);
    int shared =
        sizeof(WideColumnBlock<P>) - (plan.tiles == 1 ? sizeof(WideColumnBlock<P>::found) : 0);
    const auto lies_across = [&](const auto& array) { return !lies_along_lines(array, p.batch); };
    if (!for_all_arrays(p.input, lies_across) || !for_all_arrays(p.output, lies_across)) {
      plan.bytes_of_exchange = quarters_of_wide_thread(bytes) * apart_of_exchange *
                               std::min(bytes_of_exchanged, Types<P>::size.widest);
      plan.bytes_before_exchange = static_cast<int>(divide_up(shared, quad) * quad);
      shared = plan.bytes_before_exchange + plan.threads / lanes * plan.bytes_of_exchange;
    }
    const Launch launch{p.function, "cuda/wide_columns",
                        plan.tiles == 1 ? tiles : std::min(tiles, resident), plan.threads, shared};
    std::optional<Temporary<Exec>> memory;
    if (plan.tiles > 1) {
      const auto needed = static_cast<std::size_t>(PublishedRows<R>::bytes(p.n, p.batch.count));
      if (workspace == nullptr) workspace = memory.emplace(exec, needed).data();
      clear(exec, launch, workspace, needed, p.n, p.batch.count);
    }
    const PublishedRows<R> published{reinterpret_cast<std::uint64_t*>(workspace), plan.inner,
                                     rows_of_column(p.n), sections_of_column(p.n)};
    start(
        exec, launch, p, []<class Q>(const Q&) { return cuda::scan_wide_columns<Q>; }, plan,
        published);
  }

  /// Elements between neighbours of a line, of values without their mask, so that one which selects
  /// everything changes no bit. A function of results counts as a contiguous array of its extents;
  /// computed and zipped inputs do not count.
  template <class T>
  static std::int64_t stride_along(const Array<T>& array) {
    return magnitude(array.strides.along);
  }
  template <class Value, int Rank, class Function>
  static std::int64_t stride_along(const Called<Value, Rank, Function>& output) {
    std::int64_t row = 1;
    for (int d = output.indices.axis + 1; d < Rank; ++d) row *= output.indices.extent[d];
    return row;
  }
  template <class A, class Values, class Mask>
  static std::int64_t stride_along(const Selected<A, Values, Mask>& in) {
    return stride_along(in.values);
  }
  template <class In>
  static std::int64_t stride_along(const In&) {
    return 0;
  }
  /// Whether a kernel for narrow columns runs.
  template <class P>
  static bool are_narrow_columns(const P& p) {
    const std::int64_t input = stride_along(p.input);
    const std::int64_t output = stride_along(p.output);
    return cuda::are_narrow_columns(p.n, stride_of_columns(p)) ||
           cuda::are_short_columns(p.n, input > 0 ? std::min(input, output) : output,
                                   narrow_column_types<P>().element_and_result);
  }
  /// The stride that decides how columns combine: that of the input, so that gaps in the output do
  /// not matter, unless only the output has columns.
  template <class P>
  static std::int64_t stride_of_columns(const P& p) {
    const std::int64_t stride = stride_along(p.input);
    return stride > 1 ? stride : stride_along(p.output);
  }
  /// What the types contribute to the plan for narrow columns.
  template <class P>
  static constexpr NarrowColumnFacts narrow_column_types() {
    using Input = NarrowInput<typename P::A, decltype(P::input)>;
    using Value = typename Types<P>::Value;
    constexpr int besides = narrow_in_place<Input, Value> ? 0 : sizeof(Value);
    NarrowColumnFacts facts{};
    facts.element = Input::bytes + besides;
    facts.element_and_result = sizeof(typename Input::Value) + besides;
    facts.accumulator = sizeof(typename P::A);
    facts.carried = sizeof(typename Types<P>::R);
    return facts;
  }
  /// The facts that determine the plan for narrow columns.
  template <class Exec, class P>
  static NarrowColumnFacts narrow_column_facts(const Exec& exec, const P& p) {
    using Input = NarrowInput<typename P::A, decltype(P::input)>;
    using Value = typename Types<P>::Value;
    NarrowColumnFacts facts = narrow_column_types<P>();
    facts.n = p.n;
    facts.lines = p.batch.count;
    facts.neighbours = static_cast<int>(neighbours(p.batch));
    const auto rows_of = [&](const auto& array) -> RowsInMemory {
      const bool are_rows = facts.neighbours == 1 || has_columns(p);
      // All operands must have rows in the same order, as rows have one order in shared memory.
      const bool are_alike = p.n == 1 || (array.strides.along < 0) == is_backward(p.output);
      if (!are_rows || !are_alike) return {};
      const std::int64_t row = magnitude(array.strides.along);
      const int rank = p.batch.rank;
      return {true, row, rank <= 1 ? p.n * row : (rank == 2 ? array.strides.batch[0] : 0)};
    };
    if constexpr (!is_called<decltype(P::output)> &&
                  NarrowInput<typename P::A, Array<const Value>>::is_run) {
      facts.output = rows_of(p.output);
    }
    if constexpr (Input::is_run) {
      facts.input = rows_of(Input::values(p.input));
      if constexpr (Input::has_mask) {
        if (rows_of(p.input.mask) != facts.input) facts.input = {};
      }
    }
    facts.stride = stride_of_columns(p);
    facts.multiprocessors = multiprocessors(exec);
    return facts;
  }

  template <class Exec, class P>
  static void scan_parts(const Exec& exec, const P& p, std::byte* workspace, const Cut& cut) {
    using R = typename Types<P>::R;
    const std::int64_t lines = p.batch.count;
    const std::int64_t tiles = lines * cut.tiles_of_line;
    const Shape of_tile = shape_launch(cut, Types<P>::size);
    const int bytes_of_tile = Types<P>::bytes_of_lines(cut.tile_length, 0);
    const int bytes_of_folds = of_tile.threads * static_cast<int>(sizeof(R));
    const int bytes = bytes_of_tile + (bytes_of_folds + 127) / 128 * 128;
    const int stages =
        std::clamp((shared_bytes_of_block(exec) - bytes_of_ring<R>) / bytes, 1, most_stages);
    const RingShape shape{of_tile, tiles, stages, bytes_of_tile, bytes};
    const Launch launch{p.function, "cuda/parts_of_lines",
                        std::min<std::int64_t>(tiles, multiprocessors(exec)),
                        RingThreads<P>{of_tile.threads}.count(), bytes_of_ring<R> + stages * bytes};
    const auto needed = static_cast<std::size_t>(Carry<R>::bytes(lines, cut.tiles_of_line));
    std::optional<Temporary<Exec>> memory;
    if (workspace == nullptr) workspace = memory.emplace(exec, needed).data();
    clear(exec, launch, workspace, needed, p.n, lines);
    const Carry<R> carry{reinterpret_cast<std::uint64_t*>(workspace), cut.tiles_of_line};
    start(
        exec, launch, p, []<class Q>(const Q&) { return cuda::scan_parts_of_lines<Q>; }, shape,
        has_aligned_packs(p), carry);
  }
};

}  // namespace KokkosScan::impl::cuda
