// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Rows in order: groups of up to 32 lines pass through shared memory tile by tile, so that
/// accesses to global memory are coalesced along the lines. One warp combines a group, a line per
/// lane, while others load the next tiles and store the one before: a single warp would stall on
/// the latency of its own instructions.

#include <KokkosScan/impl/cuda/in_order_fold.hpp>
#include <KokkosScan/impl/cuda/stage.hpp>
#include <KokkosScan/impl/cuda/tuning.hpp>
#include <KokkosScan/impl/cuda/warp.hpp>
#include <KokkosScan/impl/in_order.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace KokkosScan::impl::cuda {

/// The most lines of a group, and the fewest.
inline constexpr int most_rows_in_order = 32;
inline constexpr int least_rows_in_order = 8;
inline constexpr int most_unaligned_rows_in_order = 16;
/// With fewer groups than this for two multiprocessors, groups get fewer lines.
inline constexpr int wanted_groups_in_order = 3;
/// The bytes of a tile, and of a line in it, of which there are not many more.
inline constexpr int bytes_of_tile_in_order = 16384;
inline constexpr int most_bytes_of_row_in_order = 1024;
/// Elements of a line in a tile have a multiple of this many slots.
inline constexpr int slots_of_row_in_order = 16;
/// Tiles in shared memory: two are loaded, one is combined, one is stored.
inline constexpr int tiles_ahead_in_order = 2;
inline constexpr int stages_in_order = tiles_ahead_in_order + 2;
/// The warps that load, and those that store: for packs, and for single elements.
inline constexpr int movers_of_packs = 1;
inline constexpr int movers_of_elements = 2;
inline constexpr int threads_of_rows_in_order = (1 + 2 * movers_of_elements) * lanes;
/// Bytes of shared memory for all blocks of a multiprocessor, and how many there are at most: as
/// many as are resident, or the last would begin when the first end.
inline constexpr int shared_bytes_in_order = 180 * 1024;
inline constexpr int most_blocks_of_packs = 4;
inline constexpr int most_blocks_of_elements = 3;

/// How groups of lines pass through shared memory, which does not affect results.
struct RowsInOrder {
  int lines;       ///< of a group
  int length;      ///< elements of a line in a tile
  int slots;       ///< for them
  int pitch;       ///< from line to line in shared memory, in elements
  int mask_pitch;  ///< the same of the mask, at the end of a tile: aligned for any size of elements
  int stage;       ///< bytes of a tile
  int movers;
  bool loads_packs;  ///< whether 16 bytes are moved at once
  bool loads_packs_of_mask;
  bool stores_packs;

  [[nodiscard]] constexpr int threads() const { return (1 + 2 * movers) * lanes; }
  [[nodiscard]] constexpr int shared_bytes() const { return stages_in_order * stage; }
  [[nodiscard]] constexpr std::int64_t blocks(std::int64_t count, int multiprocessors) const {
    const int resident =
        std::clamp(shared_bytes_in_order / shared_bytes(), 1,
                   movers == movers_of_packs ? most_blocks_of_packs : most_blocks_of_elements);
    return std::min(divide_up(count, lines), std::int64_t{resident} * std::max(1, multiprocessors));
  }
};

/// \param size of an element
/// \param pack elements of 16 bytes, or 1
/// \param are_packs whether tiles are moved by packs
constexpr RowsInOrder plan_rows_in_order(std::int64_t n, std::int64_t count, int size, int pack,
                                         bool is_masked, bool are_packs, int multiprocessors) {
  const auto round = [](std::int64_t x, int unit) {
    return static_cast<int>(divide_up(x, unit) * unit);
  };
  RowsInOrder shape{};
  shape.lines = are_packs ? most_rows_in_order : most_unaligned_rows_in_order;
  shape.movers = are_packs ? movers_of_packs : movers_of_elements;
  const auto halve_while = [&](const auto& condition) {
    while (shape.lines > least_rows_in_order && condition()) shape.lines /= 2;
  };
  halve_while([&] {
    return 2 * count < std::int64_t{shape.lines} * wanted_groups_in_order * multiprocessors;
  });
  const int bytes = size + (is_masked ? 1 : 0);
  const int most =
      std::max(slots_of_row_in_order,
               std::min(bytes_of_tile_in_order / shape.lines, most_bytes_of_row_in_order) / bytes);
  const std::int64_t tiles = divide_up(n, most / slots_of_row_in_order * slots_of_row_in_order);
  shape.slots = round(divide_up(n, tiles), slots_of_row_in_order);
  shape.length = static_cast<int>(std::min<std::int64_t>(n, shape.slots));
  halve_while([&] { return shape.lines * shape.slots * bytes > bytes_of_tile_in_order; });
  // An odd number of packs, so that lanes that read down their lines have no bank conflicts.
  shape.pitch = (shape.slots / pack | 1) * pack;
  shape.mask_pitch = is_masked ? shape.slots | quad : 0;
  shape.stage = round(shape.lines * (shape.pitch * size + shape.mask_pitch), quad);
  return shape;
}

/// The array of values, which may be masked, that is copied to shared memory.
template <class P>
__host__ __device__ const auto& values_of(const P& p) {
  if constexpr (InOrderTypes<P>::is_masked) {
    return p.input.values;
  } else {
    return p.input;
  }
}

/// The tiles of a block, one after the other, as one of its warps sees them. Elements have the
/// order of memory. The last tile of a backward line is at the end of its slots.
template <class P>
class RowsOfBlock {
  using T = InOrderTypes<P>;
  using A = typename T::A;
  using Value = typename T::Value;
  static constexpr int size = sizeof(A);
  /// Elements that a lane combines at once: the next are read from shared memory meanwhile.
  static constexpr int chunk = std::min<int>(std::bit_floor(64u / size), slots_of_row_in_order);
  static_assert(slots_of_row_in_order % chunk == 0);

 public:
  /// \param threads of the warps that move tiles together with this one
  __device__ __forceinline__ RowsOfBlock(const P& problem, const RowsInOrder& rows,
                                         const Threads& threads)
      : p(problem),
        m_shape(rows),
        m_threads(threads),
        m_lane(static_cast<int>(threadIdx.x) % lanes),
        m_backward(is_backward(p.output)),
        m_stage(0) {
    begin_group(std::int64_t{blockIdx.x} * m_shape.lines);
  }

  [[nodiscard]] __device__ __forceinline__ bool are_left() const { return m_lines > 0; }
  __device__ __forceinline__ void advance() {
    m_stage = m_stage + 1 == stages_in_order ? 0 : m_stage + 1;
    m_k += m_shape.length;
    if (m_k >= p.n) begin_group(m_first + std::int64_t{gridDim.x} * m_shape.lines);
  }

  __device__ __forceinline__ void load() const {
    if constexpr (T::is_copied) {
      m_shape.loads_packs ? load_values<T::pack>() : load_values<1>();
      if constexpr (T::is_masked) m_shape.loads_packs_of_mask ? load_mask<quad>() : load_mask<1>();
    } else {
      load_elements();
    }
  }
  /// Replaces the elements of a line by its results.
  __device__ __forceinline__ void combine(RunningFold<P>& fold) const {
    if (m_lane >= m_lines) return;
    const Ends<P> ends{p};
    if (m_k == 0) {
      fold = RunningFold<P>(p.start.at(line(m_lane)));
      ends.store_begin(line(m_lane), fold.result(p));
    }
    // Branches here, once per tile, instead of once per element.
    const bool is_exclusive = p.form == Form::exclusive;
    if (m_backward) {
      is_exclusive ? combine<true>(fold, Known<true>()) : combine<true>(fold, Known<false>());
    } else {
      is_exclusive ? combine<false>(fold, Known<true>()) : combine<false>(fold, Known<false>());
    }
    if (m_k + m_shape.length >= p.n) ends.store_end(line(m_lane), fold.result(p));
  }
  __device__ __forceinline__ void store() const {
    if constexpr (T::is_copied) {
      if (m_shape.stores_packs) return store_values<T::pack>();
    }
    store_values<1>();
  }

 private:
  __device__ __forceinline__ void begin_group(std::int64_t first) {
    m_first = first;
    m_k = 0;
    const std::int64_t left = p.batch.count - first;
    m_lines = static_cast<int>(left < m_shape.lines ? left : m_shape.lines);
  }
  [[nodiscard]] __device__ __forceinline__ LineNumber line(int number) const {
    return {p.batch, m_first + number};
  }
  /// The number of elements of a line in this tile.
  [[nodiscard]] __device__ __forceinline__ int length() const {
    const std::int64_t left = p.n - m_k;
    return left < m_shape.length ? static_cast<int>(left) : m_shape.length;
  }
  [[nodiscard]] __device__ __forceinline__ int first_slot() const {
    return m_backward ? m_shape.slots - length() : 0;
  }
  /// The slot of an element, or its flag in the mask.
  [[nodiscard]] __device__ __forceinline__ A* slot(int line, int e) const {
    return reinterpret_cast<A*>(shared_memory() + m_stage * m_shape.stage) + line * m_shape.pitch +
           e;
  }
  [[nodiscard]] __device__ __forceinline__ unsigned char* flag(int line, int e) const {
    return reinterpret_cast<unsigned char*>(shared_memory() + (m_stage + 1) * m_shape.stage) -
           (m_shape.lines - line) * m_shape.mask_pitch + e;
  }
  /// The address of the first element in memory of this lane's line in the tile. Lanes get those of
  /// other lines with a shuffle.
  template <class V>
  [[nodiscard]] __device__ __forceinline__ V* address(const Array<V>& array) const {
    const LineNumber own = line(m_lane < m_lines ? m_lane : 0);
    return array.line(own).data + (m_backward ? -(m_k + length() - 1) : m_k);
  }

  /// Moves units of all lines, several at once so that latencies overlap: what read(line, unit)
  /// returns to whole warps, also where there is no unit, goes to write(line, unit, ...).
  template <class Read, class Write>
  __device__ __forceinline__ void move(int units, const Read& read, const Write& write) const {
    using Unit = decltype(read(0, 0));
    constexpr int at_once = 4;
    int log2_width = 5;  // of the lanes that share a line
    while (log2_width > 0 && 1 << (log2_width - 1) >= units) --log2_width;
    const int step = m_threads.count >> log2_width;
    const int own_line = m_threads.own >> log2_width;
    const int own_unit = m_threads.own & ((1 << log2_width) - 1);
    for (int first_unit = 0; first_unit < units; first_unit += 1 << log2_width) {
      const int unit = first_unit + own_unit;
#pragma unroll 1
      for (int first = 0; first < m_lines; first += at_once * step) {
        Unit x[at_once];
#pragma unroll
        for (int i = 0; i < at_once; ++i) {
          const int line = first + own_line + i * step;
          x[i] = read(line < m_lines ? line : 0, unit < units ? unit : 0);
        }
#pragma unroll
        for (int i = 0; i < at_once; ++i) {
          const int line = first + own_line + i * step;
          if (line < m_lines && unit < units) write(line, unit, x[i]);
        }
      }
    }
  }
  template <int E>
  __device__ __forceinline__ void load_values() const {
    const A* const from = address(values_of(p));
    const int first = first_slot();
    move(
        length() / E, [&](int line, int unit) { return shuffle(from, line) + unit * E; },
        [&](int line, int unit, const A* at) {
          __pipeline_memcpy_async(slot(line, first + unit * E), at, size * E);
        });
  }
  template <int E>
  __device__ __forceinline__ void load_mask() const {
    const int first = first_slot();
    const StoredBool* const from = address(p.input.mask);
    const auto at = [&](int line, int unit) { return shuffle(from, line) + unit * E; };
    if constexpr (E > 1) {
      move(length() / E, at, [&](int line, int unit, const StoredBool* unit_of_mask) {
        __pipeline_memcpy_async(flag(line, first + unit * E), unit_of_mask, E);
      });
    } else {
      move(
          length(), [&](int line, int e) -> bool { return *at(line, e); },
          [&](int line, int e, bool counts) { *flag(line, first + e) = counts ? 1 : 0; });
    }
  }
  /// Evaluates or converts elements.
  __device__ __forceinline__ void load_elements() const {
    struct Element {
      A value;
      bool counts;
    };
    const int first = first_slot(), last = length() - 1;
    move(
        length(),
        [&](int number, int e) {
          const auto elements = p.input.line(line(number));
          const std::int64_t k = m_k + (m_backward ? last - e : e);
          return Element{element<A>(elements, k), impl::counts(elements, k)};
        },
        [&](int line, int e, const Element& x) {
          *slot(line, first + e) = x.value;
          if constexpr (T::is_masked) *flag(line, first + e) = x.counts ? 1 : 0;
        });
  }
  template <int E>
  __device__ __forceinline__ void store_values() const {
    struct Pack {
      Value* to;
      A x[E];
    };
    Value* const to = address(p.output);
    const int first = first_slot();
    move(
        length() / E,
        [&](int line, int unit) {
          Pack pack;
          pack.to = shuffle(to, line) + unit * E;
          move_pack(pack.x, reinterpret_cast<const std::byte*>(slot(line, first + unit * E)));
          return pack;
        },
        [](int, int, const Pack& pack) {
          if constexpr (E > 1) {
            move_pack(reinterpret_cast<std::byte*>(pack.to), pack.x);
          } else {
            *pack.to = static_cast<Value>(pack.x[0]);
          }
        });
  }

  /// Elements in scan order, and a bit for each that counts.
  struct Chunk {
    A x[chunk];
    unsigned counts;
  };
  /// \param flags of the same elements, if there is a mask
  template <bool backward>
  [[nodiscard]] __device__ __forceinline__ static Chunk get(
      const A* from, [[maybe_unused]] const unsigned char* flags) {
    Chunk to;
    to.counts = 0;
#pragma unroll
    for (int i = 0; i < chunk; i += T::pack) {
      A x[T::pack];
      move_pack(x, reinterpret_cast<const std::byte*>(from + i));
#pragma unroll
      for (int j = 0; j < T::pack; ++j) to.x[backward ? chunk - 1 - i - j : i + j] = x[j];
    }
    if constexpr (T::is_masked) {
      unsigned char counts[chunk];
      move_pack(counts, reinterpret_cast<const std::byte*>(flags));
#pragma unroll
      for (int i = 0; i < chunk; ++i) {
        // The bytes of a mask that are copied are unchanged: any nonzero byte counts.
        const bool is_counted = counts[backward ? chunk - 1 - i : i] != 0;
        to.counts |= static_cast<unsigned>(is_counted) << i;
      }
    }
    return to;
  }
  template <bool backward>
  __device__ __forceinline__ static void put(A* to, const Chunk& from) {
#pragma unroll
    for (int i = 0; i < chunk; i += T::pack) {
      A x[T::pack];
#pragma unroll
      for (int j = 0; j < T::pack; ++j) x[j] = from.x[backward ? chunk - 1 - i - j : i + j];
      move_pack(reinterpret_cast<std::byte*>(to + i), x);
    }
  }
  template <bool backward, class IsExclusive>
  __device__ __forceinline__ void combine(RunningFold<P>& fold, IsExclusive is_exclusive) const {
    constexpr int step = backward ? -chunk : chunk;
    const int begin = backward ? m_shape.slots - chunk : 0;
    A* at = slot(m_lane, begin);
    const unsigned char* flags = flag(m_lane, begin);
    int left = length();
    Chunk next = get<backward>(at, flags);
#pragma unroll 2
    for (; left > chunk; left -= chunk) {
      Chunk now = next;
      // Before the stores, which the compiler must assume to alias the next elements.
      next = get<backward>(at + step, flags += step);
      fold.template scan<T::is_masked>(p, now.x, chunk, now.counts, is_exclusive);
      put<backward>(at, now);
      at += step;
    }
    fold.template scan<T::is_masked>(p, next.x, left, next.counts, is_exclusive);
    put<backward>(at, next);
  }

  const P& p;
  const RowsInOrder& m_shape;
  Threads m_threads;
  int m_lane;
  bool m_backward;
  int m_stage;
  int m_lines;           ///< of the group
  std::int64_t m_first;  ///< line of the group
  std::int64_t m_k;      ///< the first element of each line in the tile, in scan order
};

/// Scans rows: a block takes every gridDim.x-th group of lines.
template <class P>
__global__ void __launch_bounds__(threads_of_rows_in_order, 3)
    scan_rows_in_order(const __grid_constant__ P p, const __grid_constant__ RowsInOrder shape) {
  const int movers = shape.movers * lanes;
  const int thread = static_cast<int>(threadIdx.x);
  const bool combines = thread < lanes;
  const bool loads = !combines && thread < lanes + movers;
  RowsOfBlock<P> tiles(p, shape,
                       {combines ? thread : (thread - lanes) % movers, combines ? lanes : movers});
  RunningFold<P> fold(Maybe<typename P::A>{});
  const auto load_next = [&] {
    if (tiles.are_left()) {
      tiles.load();
      tiles.advance();
    }
    __pipeline_commit();
  };
  const std::int64_t groups = (p.batch.count + shape.lines - 1) / shape.lines;
  const std::int64_t own = (groups - blockIdx.x + gridDim.x - 1) / gridDim.x;
  const std::int64_t count = own * ((p.n + shape.length - 1) / shape.length);
  if (loads) {
    for (int i = 1; i < tiles_ahead_in_order; ++i) load_next();
  }
  // A tile is combined one step after it has arrived, and stored one step later.
  const int behind = combines ? 1 : 2;
#pragma unroll 1
  for (std::int64_t step = 0; step < count + 2; ++step) {
    if (loads) {
      load_next();  // into the stage of a tile that has been stored
      __pipeline_wait_prior(tiles_ahead_in_order - 1);
    } else if (step >= behind && tiles.are_left()) {
      combines ? tiles.combine(fold) : tiles.store();
      tiles.advance();
    }
    __syncthreads();
  }
}

}  // namespace KokkosScan::impl::cuda
