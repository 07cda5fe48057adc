// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernel for lines that are contiguous in memory and longer than a tile.
///
/// One persistent block per multiprocessor keeps several tiles in flight, each in a stage of shared
/// memory. Its warps are specialised. One takes tickets for tiles and begins to load them; extra
/// warps compute elements, if any are computed. A group of warps folds tiles as they arrive and
/// publishes their totals. One warp carries the prefix from tile to tile (carry.hpp). A second
/// group scans tiles with known prefixes (chunk.hpp has the combination tree), and one warp stores
/// them, or extra warps call the function of results. So totals are published as early as possible,
/// and only memory is waited for. (A second carrying warp does not pay off: more loads in flight
/// slow down memory.)

#include <KokkosScan/impl/cuda/barrier.hpp>
#include <KokkosScan/impl/cuda/carry.hpp>
#include <KokkosScan/impl/cuda/chunk.hpp>
#include <KokkosScan/impl/cuda/staged_inputs.hpp>
#include <KokkosScan/impl/cuda/tuning.hpp>
#include <KokkosScan/impl/cuda/warp.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::cuda {

/// A tile of a long line; its length is 0 if there are no more tiles.
struct Part {
  std::int64_t line;
  std::int64_t tile_of_line;
  std::int64_t begin;  ///< the first element in the line, in scan order
  int length;
  bool is_first;
  bool is_last;

  /// \param number of the tile among all tiles, in memory order
  static __device__ __forceinline__ Part find(std::int64_t n, const Cut& cut, std::int64_t number) {
    const Division at(number, cut.tiles_of_line);
    const std::int64_t begin = at.remainder * cut.tile_length;
    const std::int64_t left = n - begin;
    return {at.quotient, at.remainder,
            begin,       static_cast<int>(left < cut.tile_length ? left : cut.tile_length),
            begin == 0,  left <= cut.tile_length};
  }
  [[nodiscard]] __device__ __forceinline__ bool exists() const { return length > 0; }
  template <class P>
  [[nodiscard]] __device__ __forceinline__ Tile tile(const P& problem) const {
    return {problem.batch, line, begin, 1, length, is_backward(problem.output)};
  }
};

/// The launch shape for parts of lines.
struct RingShape {
  Shape shape;  ///< of a tile; its threads are those of one group
  std::int64_t tiles;
  int stages;
  int bytes_of_tile;
  int bytes_of_stage;

  [[nodiscard]] __host__ __device__ constexpr int warps() const { return shape.threads / lanes; }
};

/// Whether elements are computed, and whether results go to a function.
template <class P>
inline constexpr bool are_computed = Stage<typename Types<P>::In>::fills_lines;
template <class P>
inline constexpr bool are_called = is_called<typename Types<P>::Out>;
/// Groups that compute, and groups that call the function of results.
template <class P>
inline constexpr int groups_apart = are_computed<P>&& are_called<P> ? 1 : groups_that_call;

/// The threads of a block by task, of groups of `group`: one folds, one scans, a warp each carries
/// and loads, others store or call, and compute if need be.
template <class P>
struct RingThreads {
  int group;
  int storing = are_called<P> ? groups_apart<P> * group : lanes;
  int computing = are_computed<P> ? groups_apart<P> * group : 0;

  [[nodiscard]] KOKKOS_FUNCTION constexpr int count() const {
    return 2 * group + 2 * lanes + storing + computing;
  }
};

/// What the warps of a block share of a part besides its tile. The phases of the barriers follow
/// the parts that a stage holds in turn.
template <class R>
struct SharedPart {
  Barrier loaded;     ///< the part is known and its elements have arrived
  Barrier computed;   ///< so have computed elements
  Barrier folded;     ///< the totals of warps are ready
  Barrier published;  ///< the total of the part is ready
  Barrier carried;    ///< the prefixes are ready
  Barrier scanned;    ///< the results are ready
  Barrier stored;     ///< the stage is free
  Part part;
  WarpTotals<R> totals;
  Uninitialised<R, 1> total;
  Uninitialised<R, 2> prefixes;  ///< of the part and of the next one
};

/// Bytes of shared memory before the stages.
template <class R>
inline constexpr int bytes_of_ring = (most_stages * static_cast<int>(sizeof(SharedPart<R>)) + 127) /
                                     128 * 128;

/// A part in shared memory.
template <class P>
struct PartInStage : StagedTile<P> {
  using R = typename Types<P>::R;

  SharedPart<R>& shared;
  const Part& part;
  R* folds;  ///< inclusive folds of chunks within a warp

  __device__ __forceinline__ PartInStage(const P& p, bool are_aligned, const RingShape& ring,
                                         SharedPart<R>& of_stage, const Part& found, int stage)
      : StagedTile<P>{p, ring.shape, are_aligned, found.tile(p), {}, {}},
        shared(of_stage),
        part(found) {
    const int offset = bytes_of_ring<R> + stage * ring.bytes_of_stage;
    folds = reinterpret_cast<R*>(shared_memory() + offset + ring.bytes_of_tile);
    Region region{offset, ring.shape.cut.tile_length, 0};
    const auto* const flat = this->tile.flat(p.output, found.length);
    this->input.place(p.input, this->tile, region, flat);
    this->results.slots = place_results<P>(flat, region, this->input);
  }
};

/// Arrives once for all threads of a warp.
__device__ __forceinline__ void arrive_for_warp(Barrier& barrier) {
  __syncwarp();
  if (threadIdx.x % lanes == 0) barrier.arrive();
}

/// The tasks of the warps of a block.
template <class P>
struct PartTasks {
  using R = typename Types<P>::R;
  using Carrying = typename Types<P>::Carrying;
  using InStage = PartInStage<P>;

  const P& problem;
  const RingShape& shape;
  const Carry<R>& carry;
  bool packs_are_aligned;
  SharedPart<R>* ring = reinterpret_cast<SharedPart<R>*>(shared_memory());

  /// Called by one thread before all others use the ring.
  __device__ __forceinline__ void initialize() const {
    const int warps = shape.warps();
    const RingThreads<P> threads{shape.shape.threads};
    for (int s = 0; s < shape.stages; ++s) {
      SharedPart<R>& shared = ring[s];
      shared.loaded.initialize(2 * lanes);
      shared.computed.initialize(are_computed<P> ? threads.computing / lanes : 1);
      shared.folded.initialize(warps);
      shared.published.initialize(1);
      shared.carried.initialize(1);
      shared.scanned.initialize(warps);
      shared.stored.initialize(threads.storing / lanes);
    }
    after_initialization();
  }

  /// Calls f(part, parity) for each part of the block once it is loaded.
  template <class F>
  __device__ __forceinline__ void for_each_part(const F& f) const {
    for (Turn turn;; turn.advance(shape.stages)) {
      SharedPart<R>& shared = ring[turn.stage];
      shared.loaded.wait(turn.parity);
      if (!shared.part.exists()) return;
      f(InStage(problem, packs_are_aligned, shape, shared, shared.part, turn.stage), turn.parity);
    }
  }

  /// One warp takes tiles and begins to load them.
  __device__ __forceinline__ void load() const {
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    Turn turn;
    for (bool exists = true; exists; turn.advance(shape.stages)) {
      SharedPart<R>& shared = ring[turn.stage];
      // Request the ticket while the previous tile of the stage is stored: later would expose the
      // latency, earlier would load tiles out of ticket order, which slows down memory. Waiting for
      // the phase before the first returns at once, so unused stages do not block.
      shared.scanned.wait(turn.parity ^ 1);
      std::int64_t ticket = 0;
      take_ticket_if(lane == 0, carry.tickets(), ticket);
      shared.stored.wait(turn.parity ^ 1);
      ticket = shuffle(ticket, 0);
      exists = ticket < shape.tiles;
      if (exists) {
        const Part part = Part::find(problem.n, shape.shape.cut, ticket);
        if (lane == 0) shared.part = part;
        InStage in(problem, packs_are_aligned, shape, shared, part, turn.stage);
        in.input.begin_load(problem.input, in.tile, shared.loaded, Threads{lane, lanes});
      } else if (lane == 0) {
        shared.part.length = 0;
      }
      shared.loaded.arrive_after_copies();
      shared.loaded.arrive();
    }
  }

  /// Some threads compute elements.
  __device__ __forceinline__ void compute(const Threads& threads) const {
    for_each_part([&](InStage&& in, int) {
      in.input.load(problem.input, in.tile, threads);
      arrive_for_warp(in.shared.computed);
    });
  }

  /// A group folds tiles and publishes their totals.
  ///
  /// \param thread index in the group
  __device__ __forceinline__ void fold(int thread) const {
    const auto op = carrying(problem.op);
    const int warp = thread / lanes;
    const int lane = thread % lanes;
    for_each_part([&](const InStage& in, int parity) {
      SharedPart<R>& shared = in.shared;
      const Part& part = in.part;
      if constexpr (are_computed<P>) shared.computed.wait(parity);
      const FoldedChunk<R> folded = Chunk<P>(in, 0, thread).fold();
      in.folds[thread] = folded.folds;
      if (lane == lanes - 1) shared.totals[warp] = folded.folds;
      arrive_for_warp(shared.folded);
      if (warp != 0) return;
      if (!part.is_last) {
        shared.folded.wait(parity);
        R total = fold_warps(op, shared.totals.data(), 0, shape.warps()).value();
        if (part.is_first && problem.start.exists()) {
          // Read early: the last part may later store the total in its place.
          const R start = static_cast<R>(problem.start.at(in.tile.line(0)).value);
          if (lane == 0) shared.prefixes[0] = start;
          total = op(start, total);
        }
        if (lane == 0) {
          publish(carry.total(part.line, part.tile_of_line), total);
          shared.total[0] = total;
        }
      }
      if (lane == 0) shared.published.arrive();
      __syncwarp();
    });
  }

  /// One warp finds the prefix of each tile.
  __device__ __forceinline__ void carry_prefixes() const {
    const auto op = carrying(problem.op);
    CarriedPrefix<Carrying, R> prefix(op);
    for_each_part([&](const InStage& in, int parity) {
      SharedPart<R>& shared = in.shared;
      const Part part = in.part;
      // By then most totals of other blocks have arrived. Polling earlier would compete with their
      // stores.
      shared.published.wait(parity);
      R total{};
      if (!part.is_last) total = shared.total[0];
      const auto found = prefix.move_to(op, carry, part.line, part.tile_of_line, total);
      if (threadIdx.x % lanes == 0) {
        if (!part.is_first) shared.prefixes[0] = found.before.value();
        shared.prefixes[1] = found.with;
        shared.carried.arrive();
      }
      __syncwarp();
    });
  }

  /// A group scans tiles.
  ///
  /// \param thread index in the group
  __device__ __forceinline__ void scan(int thread) const {
    using Prefix = Fold<Carrying, R>;
    const auto op = carrying(problem.op);
    const Threads threads{thread, shape.shape.threads};
    const int warp = thread / lanes;
    const int lane = thread % lanes;
    for_each_part([&](const InStage& in, int parity) {
      SharedPart<R>& shared = in.shared;
      const Part& part = in.part;
      const Chunk<P> chunk(in, 0, thread);
      shared.folded.wait(parity);
      const FoldedChunk<R> folded{in.folds[thread], in.folds[lane > 0 ? thread - 1 : thread]};
      const Prefix warps_before =
          fold_warps(op, shared.totals.data(), 0, chunk.length > 0 ? warp : 0);
      shared.carried.wait(parity);
      const bool is_begin = part.is_first && !problem.start.exists();
      const Prefix before_tile = is_begin ? Prefix(op) : Prefix(op, shared.prefixes[0]);
      const bool ends_tile = !part.is_last && thread == threads.count - 1;
      chunk.scan(part.is_first, part.is_last, folded, before_tile, warps_before,
                 ends_tile ? &shared.prefixes[1] : nullptr);
      before_bulk_copies();
      arrive_for_warp(shared.scanned);
    });
  }

  /// One warp stores results, or some threads call the function of results.
  __device__ __forceinline__ void store(const Threads& threads) const {
    for_each_part([&](const InStage& in, int parity) {
      in.shared.scanned.wait(parity);
      if constexpr (are_called<P>) {
        store_each(in.results.slots, problem.output, in.tile, threads);
      } else {
        begin_store(in.results.slots, in.tile.flat(problem.output, in.part.length), in.part.length,
                    threads);
        wait_for_bulk_stores();
      }
      arrive_for_warp(in.shared.stored);
    });
  }
};

/// Scans lines of several tiles.
///
/// \param packs_are_aligned whether packs are aligned in all operands
template <class P>
__global__ void __launch_bounds__(RingThreads<P>{most_threads_of_part}.count(), 1)
    scan_parts_of_lines(const __grid_constant__ P problem, const __grid_constant__ RingShape shape,
                        bool packs_are_aligned,
                        const __grid_constant__ Carry<typename Types<P>::R> carry) {
  const PartTasks<P> tasks{problem, shape, carry, packs_are_aligned};
  if (threadIdx.x == 0) tasks.initialize();
  __syncthreads();

  const RingThreads<P> threads{shape.shape.threads};
  int thread = static_cast<int>(threadIdx.x);
  if (thread < threads.group) return tasks.fold(thread);
  if ((thread -= threads.group) < threads.group) return tasks.scan(thread);
  if ((thread -= threads.group) < lanes) return tasks.carry_prefixes();
  if ((thread -= lanes) < lanes) return tasks.load();
  if ((thread -= lanes) < threads.storing) return tasks.store({thread, threads.storing});
  if constexpr (are_computed<P>) tasks.compute({thread - threads.storing, threads.computing});
}

}  // namespace KokkosScan::impl::cuda
