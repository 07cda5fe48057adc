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
/// them. So totals are published as early as possible, and only memory is waited for. (A second
/// carrying warp does not pay off: more loads in flight slow down memory.)
///
/// A tile only ever waits for tiles with lower tickets, and only running blocks take tickets. So
/// there is no deadlock, even if not all blocks are resident.

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
    const std::int64_t tiles = cut.tiles_of_line;
    const std::int64_t line = number / tiles;
    const std::int64_t tile = number - line * tiles;
    const std::int64_t begin = tile * cut.tile_length;
    const std::int64_t left = n - begin;
    return {line,      tile,
            begin,     static_cast<int>(left < cut.tile_length ? left : cut.tile_length),
            tile == 0, tile == tiles - 1};
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
  /// Threads that call functions: of computed elements, or else of results.
  [[nodiscard]] __host__ __device__ constexpr int calling_threads() const {
    return groups_that_call * shape.threads;
  }
  /// Threads of a block: two groups, one warp each to load, carry and store, and those that call
  /// functions.
  [[nodiscard]] constexpr int threads(bool has_callers) const {
    return 2 * shape.threads + 3 * lanes + (has_callers ? calling_threads() : 0);
  }
};

template <bool has_callers>
inline constexpr int most_threads_of_ring =
    (2 + (has_callers ? groups_that_call : 0)) * most_threads_of_part + 3 * lanes;

/// Whether extra threads only call the function of elements or, if none are computed, of results.
/// If there are both, the threads that scan call that of results.
template <class P>
inline constexpr bool computes_apart = Stage<typename Types<P>::In>::fills_lines;
template <class P>
inline constexpr bool calls_apart = !computes_apart<P> && is_called<typename Types<P>::Out>;
template <class P>
inline constexpr bool has_callers = computes_apart<P> || calls_apart<P>;

/// What the warps of a block share besides tiles. Each stage has its own barriers; their phases
/// follow the tiles that the stage holds in turn.
template <class R>
struct Ring {
  Barrier loaded[most_stages];     ///< the part is known and its elements have arrived
  Barrier computed[most_stages];   ///< so have computed elements
  Barrier folded[most_stages];     ///< the totals of warps are ready
  Barrier published[most_stages];  ///< the total of the part is ready
  Barrier carried[most_stages];    ///< the prefixes are ready
  Barrier scanned[most_stages];    ///< the results are ready
  Barrier stored[most_stages];     ///< the stage is free
  Part parts[most_stages];
  // Bytes, as R may have a constructor.
  alignas(16) std::byte memory_of_totals[most_stages][most_threads / lanes][sizeof(R)];
  alignas(16) std::byte memory_of_total[most_stages][sizeof(R)];
  alignas(16) std::byte memory_of_prefixes[most_stages][2][sizeof(R)];

  [[nodiscard]] __device__ __forceinline__ R* totals(int stage) {
    return reinterpret_cast<R*>(memory_of_totals[stage]);
  }
  [[nodiscard]] __device__ __forceinline__ R& total(int stage) {
    return *reinterpret_cast<R*>(memory_of_total[stage]);
  }
  [[nodiscard]] __device__ __forceinline__ R* prefixes(int stage) {
    return reinterpret_cast<R*>(memory_of_prefixes[stage]);
  }
  /// Called by one thread before all others use it.
  ///
  /// \param storing warps that take part in storing results
  __device__ __forceinline__ void initialize(int stages, int warps, int storing) {
    for (int s = 0; s < stages; ++s) {
      loaded[s].initialize(2 * lanes);
      computed[s].initialize(groups_that_call * warps);
      folded[s].initialize(warps);
      published[s].initialize(1);
      carried[s].initialize(1);
      scanned[s].initialize(warps);
      stored[s].initialize(storing);
    }
    after_initialization();
  }
};

/// Bytes of a ring before its stages.
template <class R>
inline constexpr int bytes_of_ring = (static_cast<int>(sizeof(Ring<R>)) + 127) / 128 * 128;

/// The shared memory of a part.
template <class P>
struct PartInStage {
  Stage<typename Types<P>::In> input;
  Results<typename Types<P>::Value> results;

  typename Types<P>::R* folds;  ///< inclusive folds of chunks within a warp

  __device__ __forceinline__ PartInStage(const P& problem, const RingShape& ring, const Tile& tile,
                                         int stage)
      : results() {
    using R = typename Types<P>::R;
    std::byte* const memory = shared_memory() + bytes_of_ring<R> + stage * ring.bytes_of_stage;
    folds = reinterpret_cast<R*>(memory + ring.bytes_of_tile);
    Region region{memory, ring.shape.cut.tile_length, 0, bulk_alignment};
    const auto* const flat = tile.flat(problem.output);
    input.place(problem.input, tile, region, flat);
    results = {place_results<P>(flat, region, input), 0, 0, false};
  }
};

/// The task of one warp: takes tiles and begins to load them.
template <class P, class R>
__device__ __forceinline__ void load_parts(const P& problem, const RingShape& shape,
                                           const Carry<R>& carry, Ring<R>& ring) {
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  Turn turn;
  for (bool exists = true; exists; turn.advance(shape.stages)) {
    const int s = turn.stage;
    // Request the ticket while the previous tile of the stage is stored: later would expose the
    // latency, earlier would load tiles out of ticket order, which slows down memory. Waiting for
    // the phase before the first returns at once, so unused stages do not block.
    ring.scanned[s].wait(turn.parity ^ 1);
    std::int64_t ticket = 0;
    take_ticket_if(lane == 0, carry.tickets(), ticket);
    ring.stored[s].wait(turn.parity ^ 1);
    ticket = shuffle(ticket, 0);
    exists = ticket < shape.tiles;
    if (exists) {
      const Part part = Part::find(problem.n, shape.shape.cut, ticket);
      if (lane == 0) ring.parts[s] = part;
      const Tile tile = part.tile(problem);
      PartInStage<P> memory(problem, shape, tile, s);
      memory.input.begin_load(problem.input, tile, ring.loaded[s], Threads{lane, lanes});
    } else if (lane == 0) {
      ring.parts[s].length = 0;
    }
    ring.loaded[s].arrive_after_copies();
    ring.loaded[s].arrive();
  }
}

/// The task of the threads that compute elements.
///
/// \param thread index among them
template <class P, class R>
__device__ __forceinline__ void compute_parts(const P& problem, const RingShape& shape,
                                              Ring<R>& ring, int thread) {
  for (Turn turn;; turn.advance(shape.stages)) {
    const int s = turn.stage;
    ring.loaded[s].wait(turn.parity);
    const Part& part = ring.parts[s];
    if (!part.exists()) return;
    const Tile tile = part.tile(problem);
    PartInStage<P> memory(problem, shape, tile, s);
    memory.input.fill(problem.input, tile, {thread, shape.calling_threads()});
    __syncwarp();
    if (thread % lanes == 0) ring.computed[s].arrive();
  }
}

/// The task of the threads that call the function of results.
///
/// \param thread index among them
template <class P, class R>
__device__ __forceinline__ void call_for_parts(const P& problem, const RingShape& shape,
                                               Ring<R>& ring, int thread) {
  for (Turn turn;; turn.advance(shape.stages)) {
    const int s = turn.stage;
    ring.loaded[s].wait(turn.parity);
    const Part& part = ring.parts[s];
    if (!part.exists()) return;
    ring.scanned[s].wait(turn.parity);
    const Tile tile = part.tile(problem);
    const PartInStage<P> memory(problem, shape, tile, s);
    call_for_results(memory.results.slots, problem.output, tile,
                     Threads{thread, shape.calling_threads()});
    __syncwarp();
    if (thread % lanes == 0) ring.stored[s].arrive();
  }
}

/// The task of a group: folds tiles and publishes their totals.
///
/// \param thread index in the group
template <class P, class R>
__device__ __forceinline__ void fold_parts(const P& problem, const RingShape& shape, Access access,
                                           const Carry<R>& carry, Ring<R>& ring, int thread) {
  const auto op = carrying(problem.op);
  const int warp = thread / lanes;
  const int lane = thread % lanes;
  for (Turn turn;; turn.advance(shape.stages)) {
    const int s = turn.stage;
    ring.loaded[s].wait(turn.parity);
    const Part& part = ring.parts[s];
    if (!part.exists()) return;
    if constexpr (computes_apart<P>) ring.computed[s].wait(turn.parity);
    const Tile tile = part.tile(problem);
    const PartInStage<P> memory(problem, shape, tile, s);
    const Place place(shape.shape, 1, part.length, thread);
    const Chunk<P> chunk(problem, memory.input, memory.results, tile, 0,
                         tile.in_memory_order(place.k), place.length);
    const FoldedChunk<P> folded = fold_chunks(problem, access, chunk, place);
    memory.folds[thread] = folded.folds;
    if (lane == lanes - 1) ring.totals(s)[warp] = folded.folds;
    __syncwarp();
    if (lane == 0) ring.folded[s].arrive();
    if (warp == 0) {
      if (!part.is_last) {
        ring.folded[s].wait(turn.parity);
        R total = fold_warps(op, ring.totals(s), 0, shape.warps()).value();
        if (part.is_first && problem.start.exists()) {
          // Read early: the last part may later store the total in its place.
          const R start = static_cast<R>(problem.start.at(tile.line(0)).value);
          if (lane == 0) ring.prefixes(s)[0] = start;
          total = op(start, total);
        }
        if (lane == 0) {
          publish(carry.total(part.line, part.tile_of_line), total);
          ring.total(s) = total;
        }
      }
      if (lane == 0) ring.published[s].arrive();
      __syncwarp();
    }
  }
}

/// The task of one warp: finds the prefix of each tile.
template <class P, class R>
__device__ __forceinline__ void carry_prefixes(const P& problem, const RingShape& shape,
                                               const Carry<R>& carry, Ring<R>& ring) {
  const auto op = carrying(problem.op);
  CarriedPrefix<typename Types<P>::Carrying, R> prefix(op);
  for (Turn turn;; turn.advance(shape.stages)) {
    const int s = turn.stage;
    ring.loaded[s].wait(turn.parity);
    const Part part = ring.parts[s];
    if (!part.exists()) return;
    // By then most totals of other blocks have arrived. Polling earlier would compete with their
    // stores.
    ring.published[s].wait(turn.parity);
    R total{};
    if (!part.is_last) total = ring.total(s);
    const auto found = prefix.move_to(op, carry, part.line, part.tile_of_line, total);
    if (threadIdx.x % lanes == 0) {
      if (!part.is_first) ring.prefixes(s)[0] = found.before.value();
      ring.prefixes(s)[1] = found.with;
      ring.carried[s].arrive();
    }
    __syncwarp();
  }
}

/// The task of one warp: stores the results.
template <class P, class R>
__device__ __forceinline__ void store_parts(const P& problem, const RingShape& shape,
                                            Ring<R>& ring) {
  using Value = typename Types<P>::Value;
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  for (Turn turn;; turn.advance(shape.stages)) {
    const int s = turn.stage;
    ring.loaded[s].wait(turn.parity);
    const Part& part = ring.parts[s];
    if (!part.exists()) return;
    ring.scanned[s].wait(turn.parity);
    const Tile tile = part.tile(problem);
    const PartInStage<P> memory(problem, shape, tile, s);
    Value* const to = tile.flat(problem.output);
    if (are_aligned(memory.results.slots, to)) {
      begin_store(memory.results.slots, to, part.length, Threads{lane, lanes});
      wait_for_bulk_stores();
    }
    __syncwarp();
    if (lane == 0) ring.stored[s].arrive();
  }
}

/// The task of a group: scans tiles.
///
/// \param thread index in the group
template <class P, class R>
__device__ __forceinline__ void scan_parts(const P& problem, const RingShape& shape, Access access,
                                           Ring<R>& ring, int thread) {
  using Prefix = Fold<typename Types<P>::Carrying, R>;
  const auto op = carrying(problem.op);
  const int threads = shape.shape.threads;
  const int warp = thread / lanes;
  const int lane = thread % lanes;
  const bool ends_warp = lane == lanes - 1;
  for (Turn turn;; turn.advance(shape.stages)) {
    const int s = turn.stage;
    ring.loaded[s].wait(turn.parity);
    const Part& part = ring.parts[s];
    if (!part.exists()) return;
    const Tile tile = part.tile(problem);
    const PartInStage<P> memory(problem, shape, tile, s);
    const Place place(shape.shape, 1, part.length, thread);
    const Chunk<P> chunk(problem, memory.input, memory.results, tile, 0,
                         tile.in_memory_order(place.k), place.length);
    const bool is_begin = part.is_first && !problem.start.exists();
    ring.folded[s].wait(turn.parity);
    const FoldedChunk<P> folded{memory.folds[thread], memory.folds[lane > 0 ? thread - 1 : thread]};
    const Prefix warps_before = fold_warps(op, ring.totals(s), 0, place.length > 0 ? warp : 0);
    ring.carried[s].wait(turn.parity);
    const Prefix before_tile = is_begin ? Prefix(op) : Prefix(op, ring.prefixes(s)[0]);
    R with_warp = folded.folds;
    if (ends_warp && place.length > 0) {
      with_warp = part.is_last || warp < shape.warps() - 1
                      ? before_tile.then(op, warps_before.then(op, folded.folds))
                      : ring.prefixes(s)[1];  // must be bit-identical in the next tile
    }
    scan_chunk(problem, shape.shape, access, tile, part.is_first, part.is_last, chunk, place,
               folded, join(op, before_tile, warps_before), with_warp);
    before_bulk_copies();
    __syncwarp();
    if (lane == 0) ring.scanned[s].arrive();
    if constexpr (calls_apart<P>) continue;
    if constexpr (is_called<typename Types<P>::Out>) {
      ring.scanned[s].wait(turn.parity);
      call_for_results(memory.results.slots, problem.output, tile, Threads{thread, threads});
      __syncwarp();
    } else if (auto* const to = tile.flat(problem.output); !are_aligned(memory.results.slots, to)) {
      ring.scanned[s].wait(turn.parity);
      store_elements(memory.results.slots, to, part.length, Threads{thread, threads});
      __syncwarp();
    }
    if (lane == 0) ring.stored[s].arrive();
  }
}

/// Scans lines of several tiles.
///
/// \param packs_are_aligned whether packs are aligned in all operands
template <class P>
__global__ void __launch_bounds__(most_threads_of_ring<has_callers<P>>, 1)
    scan_parts_of_lines(const __grid_constant__ P problem, const __grid_constant__ RingShape shape,
                        bool packs_are_aligned,
                        const __grid_constant__ Carry<typename Types<P>::R> carry) {
  using R = typename Types<P>::R;
  auto& ring = *reinterpret_cast<Ring<R>*>(shared_memory());
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = shape.shape.threads;
  // The warps that arrive at `stored`.
  constexpr bool calls = is_called<typename Types<P>::Out>;
  const int storing =
      calls_apart<P> ? groups_that_call * shape.warps() : shape.warps() + (calls ? 0 : 1);
  if (thread == 0) ring.initialize(shape.stages, shape.warps(), storing);
  __syncthreads();

  const Access access{packs_are_aligned, is_backward(problem.output)};
  if (thread < threads) {
    fold_parts(problem, shape, access, carry, ring, thread);
  } else if (thread < 2 * threads) {
    scan_parts(problem, shape, access, ring, thread - threads);
  } else if (thread < 2 * threads + lanes) {
    carry_prefixes(problem, shape, carry, ring);
  } else if (thread < 2 * threads + 2 * lanes) {
    load_parts(problem, shape, carry, ring);
  } else if (thread < 2 * threads + 3 * lanes) {
    if constexpr (!calls) store_parts<P, R>(problem, shape, ring);
  } else {
    const int caller = thread - (2 * threads + 3 * lanes);
    if constexpr (computes_apart<P>) compute_parts(problem, shape, ring, caller);
    if constexpr (calls_apart<P>) call_for_parts(problem, shape, ring, caller);
  }
}

}  // namespace KokkosScan::impl::cuda
