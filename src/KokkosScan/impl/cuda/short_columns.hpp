// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernel for short columns: lines of few elements that are not neighbours in memory. A block
/// moves tiles of whole columns to shared memory, as runs of bytes where it can be, whatever their
/// alignment; a thread scans column after column, in place, and the block moves the tile back.
/// Elements combine in the carried type from left to right, behind the starting value.

#include <KokkosScan/impl/cuda/chunk.hpp>
#include <KokkosScan/impl/cuda/short_column_plan.hpp>
#include <KokkosScan/impl/cuda/short_column_tile.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::cuda {

/// What a tile holds of an input in shared memory: the elements of an array, and those of a mask.
/// Where elements are computed, each thread computes its own.
template <class A, class In>
struct ShortInput {
  using Value = std::byte;
  using Mask = std::byte;
  static constexpr bool is_staged = false;
  static constexpr bool is_run = false;
  static constexpr bool has_mask = false;
  static constexpr int bytes = 0;  ///< of an element
};
template <class A, class T>
struct ShortInput<A, Array<const T>> {
  using Value = T;
  using Mask = std::byte;
  static constexpr bool is_staged = true;
  /// Whether rows can be moved as runs of bytes.
  static constexpr bool is_run = is_one_move<sizeof(T)> && alignof(T) == sizeof(T);
  static constexpr bool has_mask = false;
  static constexpr int bytes = sizeof(T);

  static KOKKOS_FORCEINLINE_FUNCTION const Array<const T>& values(const Array<const T>& in) {
    return in;
  }
};
template <class A, class V, class M>
struct ShortInput<A, Selected<A, Array<const V>, Array<const M>>> {
  using Value = V;
  using Mask = M;
  using In = Selected<A, Array<const V>, Array<const M>>;
  static constexpr bool is_staged = true;
  static constexpr bool is_run =
      ShortInput<A, Array<const V>>::is_run && ShortInput<A, Array<const M>>::is_run;
  static constexpr bool has_mask = true;
  static constexpr int bytes = sizeof(V) + sizeof(M);

  static KOKKOS_FORCEINLINE_FUNCTION const Array<const V>& values(const In& in) {
    return in.values;
  }
  static KOKKOS_FORCEINLINE_FUNCTION const Array<const M>& mask(const In& in) { return in.mask; }
};

/// Whether results take the place of elements.
template <class Input, class Value>
inline constexpr bool short_in_place =
    Input::is_staged&& may_share_slots<typename Input::Value, Value>;

/// What a block keeps in shared memory besides tiles.
struct ShortColumnBlock {
  static constexpr int tiles_known = 3;

  Barrier loaded[2];
  ShortColumnTile tiles[tiles_known];
};
static_assert(sizeof(ShortColumnBlock) <= bytes_of_short_block);

/// A block: its threads, and a warp more that finds tiles and moves long runs.
template <class P>
class ShortColumnScan {
  using T = Types<P>;
  using A = typename T::A;
  using R = typename T::R;
  using Value = typename T::Value;
  using Carrying = typename T::Carrying;
  using Input = ShortInput<A, typename T::In>;
  using Loaded = typename Input::Value;
  using Mask = typename Input::Mask;
  static constexpr bool in_place = short_in_place<Input, Value>;
  static constexpr bool may_load_runs = Input::is_run;
  static constexpr bool may_store_runs = ShortInput<A, Array<const Value>>::is_run;

 public:
  __device__ __forceinline__ ShortColumnScan(const P& p, const ShortColumnPlan& plan)
      : m_p(p),
        m_plan(plan),
        m_thread(static_cast<int>(threadIdx.x)),
        m_loads_runs(may_load_runs && plan.loads == MoveRows::as_runs),
        m_loads_in_bulk(m_loads_runs &&
                        moves_in_bulk<std::conditional_t<Input::has_mask, Mask, Loaded>>(plan)),
        m_stores_in_bulk(moves_in_bulk<Value>(plan)) {}

  __device__ __forceinline__ void run() {
    if (m_thread == threads_of_short_columns) {
#pragma unroll
      for (Barrier& barrier : block().loaded) barrier.initialize(2 * lanes);
      after_initialization();
    }
    std::int64_t number = blockIdx.x;
    if (moves()) {
      __syncwarp();
      find_tile(0, number);
      find_tile(1, number + gridDim.x);
    }
    __syncthreads();
    begin_load(block().tiles[0], 0);
    int buffer = 0;
    int turn = 0;
#pragma unroll 1
    for (;;) {
      const ShortColumnTile& tile = block().tiles[turn];
      if (!tile.exists) return;
      const int next = turn == ShortColumnBlock::tiles_known - 1 ? 0 : turn + 1;
      const int after_next = next == ShortColumnBlock::tiles_known - 1 ? 0 : next + 1;
      wait_for_elements(tile, buffer);
      __syncthreads();
      if (m_plan.buffers == 2) begin_load(block().tiles[next], 1 - buffer);
      number += gridDim.x;
      if (moves()) {
        find_tile(after_next, number + gridDim.x);
      } else {
        scan(tile, buffer);
        before_bulk_copies();
      }
      __syncthreads();
      store(tile, buffer);
      if (m_plan.buffers == 2) {
        buffer = 1 - buffer;
      } else {  // elements of the next tile are loaded, not in runs, when its turn comes
        if (moves()) wait_for_bulk_stores();
        __syncthreads();
      }
      turn = next;
    }
  }

 private:
  [[nodiscard]] __device__ __forceinline__ static ShortColumnBlock& block() {
    return *reinterpret_cast<ShortColumnBlock*>(shared_memory());
  }
  /// Whether this thread is of the warp that moves, and its lane then.
  [[nodiscard]] __device__ __forceinline__ bool moves() const {
    return m_thread >= threads_of_short_columns;
  }
  [[nodiscard]] __device__ __forceinline__ int lane() const {
    return m_thread - threads_of_short_columns;
  }
  // A buffer has the elements, then results that do not take their place, then the mask.
  /// Bytes of an operand in a buffer: 16 more, as it may begin anywhere between two multiples.
  [[nodiscard]] __device__ __forceinline__ int bytes_of(int size) const {
    return (m_plan.pitch_of_slab * m_plan.slabs_of_tile * size + quad + 127) / 128 * 128;
  }
  [[nodiscard]] __device__ __forceinline__ int begin_of(int buffer) const {
    return bytes_of_short_block + buffer * m_plan.bytes_of_buffer;
  }
  [[nodiscard]] __device__ __forceinline__ TileSlots<Loaded> elements(const ShortColumnTile& tile,
                                                                      int buffer) const {
    return {begin_of(buffer) + tile.shift};
  }
  [[nodiscard]] __device__ __forceinline__ TileSlots<Value> results(const ShortColumnTile& tile,
                                                                    int buffer) const {
    if constexpr (in_place) return {begin_of(buffer) + tile.shift};
    return {begin_of(buffer) + (Input::is_staged ? bytes_of(sizeof(Loaded)) : 0) +
            tile.shift_of_results};
  }
  [[nodiscard]] __device__ __forceinline__ TileSlots<Mask> mask(const ShortColumnTile& tile,
                                                                int buffer) const {
    return {begin_of(buffer) + bytes_of(sizeof(Loaded)) + (in_place ? 0 : bytes_of(sizeof(Value))) +
            tile.shift_of_mask};
  }

  __device__ __forceinline__ void find_tile(int to, std::int64_t number) const {
    ShortColumnTile tile(m_plan, number);
    if (tile.exists) {
      if constexpr (may_load_runs) {
        if (m_loads_runs) {
          tile.shift =
              misalignment(first_in_memory(m_p.batch, tile, Input::values(m_p.input), m_plan.n));
          if constexpr (Input::has_mask) {
            tile.shift_of_mask =
                misalignment(first_in_memory(m_p.batch, tile, Input::mask(m_p.input), m_plan.n));
          }
        }
      }
      if constexpr (may_store_runs) {
        if (m_plan.stores == MoveRows::as_runs) {
          const int shift = misalignment(first_in_memory(m_p.batch, tile, m_p.output, m_plan.n));
          if (!in_place) tile.shift_of_results = shift;
          if (in_place && !m_loads_runs) tile.shift = shift;
          // What took the place of elements may lie otherwise than in global memory.
          const std::int64_t more = magnitude(m_p.output.strides.along) - m_plan.pitch;
          tile.stores_runs =
              (!in_place || tile.shift == shift) &&
              (m_plan.is_one_run || more * static_cast<int>(sizeof(Value)) % quad == 0);
        }
      }
    }
    if (lane() == 0) block().tiles[to] = tile;
    __syncwarp();
  }

  __device__ __forceinline__ void begin_load(const ShortColumnTile& tile, int buffer) const {
    if constexpr (may_load_runs) {
      if (!m_loads_runs || !tile.exists || m_loads_in_bulk != moves()) return;
      begin_load(tile, Input::values(m_p.input), elements(tile, buffer), buffer);
      if constexpr (Input::has_mask) {
        begin_load(tile, Input::mask(m_p.input), mask(tile, buffer), buffer);
      }
      if (m_loads_in_bulk) {
        block().loaded[buffer].arrive_after_copies();
        block().loaded[buffer].arrive();
      }
    }
  }
  template <class E>
  __device__ __forceinline__ void begin_load(const ShortColumnTile& tile,
                                             const Array<const E>& array, const TileSlots<E>& slots,
                                             int buffer) const {
    const TileRuns<E> runs(m_p.batch, m_plan, tile, array, slots);
    const auto load = [](const std::byte* global, std::byte* shared) {
      load_element<E>(global, shared);
    };
    if (m_loads_in_bulk) {
      runs.for_each_run(
          lane(),
          [&](const std::byte* global, std::byte* shared, int bytes) {
            block().loaded[buffer].begin_bulk_load(shared, global, bytes);
          },
          load);
    } else {
      runs.for_each_quad(
          m_plan,
          [](const std::byte* global, std::byte* shared) {
            __pipeline_memcpy_async(shared, global, quad);
          },
          load);
    }
  }
  __device__ __forceinline__ void wait_for_elements(const ShortColumnTile& tile, int buffer) {
    if (moves()) return wait_for_bulk_stores();
    if (m_loads_in_bulk) {
      block().loaded[buffer].wait(static_cast<int>(m_parities >> buffer & 1));
      m_parities ^= 1U << buffer;
    } else if (m_loads_runs) {
      __pipeline_commit();
      __pipeline_wait_prior(0);
    } else if constexpr (Input::is_staged) {
      const bool backward = m_p.output.strides.along < 0;
      load_one_by_one(m_p.batch, m_plan, tile, Input::values(m_p.input), backward,
                      elements(tile, buffer));
      if constexpr (Input::has_mask) {
        load_one_by_one(m_p.batch, m_plan, tile, Input::mask(m_p.input), backward,
                        mask(tile, buffer));
      }
    }
  }

  __device__ __forceinline__ void scan(const ShortColumnTile& tile, int buffer) const {
    const bool backward = m_p.output.strides.along < 0;
    const int lines = tile.slabs * m_plan.columns;
#pragma unroll 1
    for (int line = m_thread; line < lines; line += threads_of_short_columns) {
      const int slab = m_plan.slabs_of_tile == 1 ? 0 : m_plan.by_columns.quotient(line);
      const int column = line - slab * m_plan.columns;
      if (column >= tile.columns) continue;
      const int first =
          slab * m_plan.pitch_of_slab + column + (backward ? (m_plan.n - 1) * m_plan.pitch : 0);
      const int stride = backward ? -m_plan.pitch : m_plan.pitch;
      Value* const out = &results(tile, buffer)[first];
      if constexpr (Input::is_staged) {
        const Loaded* in = &elements(tile, buffer)[first];
        if constexpr (Input::has_mask) {
          const Mask* selected = &mask(tile, buffer)[first];
          scan_line(tile, slab, column, out, stride, [&](int k) {
            const A value = static_cast<A>(in[k * stride]);
            return static_cast<bool>(selected[k * stride]) ? value : m_p.input.identity;
          });
        } else {
          scan_line(tile, slab, column, out, stride,
                    [&](int k) { return static_cast<A>(in[k * stride]); });
        }
      } else {
        const auto in = m_p.input.line(tile.place(m_p.batch, slab, column));
        scan_line(tile, slab, column, out, stride, [&](int k) { return static_cast<A>(in(k)); });
      }
    }
  }
  /// Scans a line.
  ///
  /// \param out    the first result in shared memory
  /// \param stride from result to result
  /// \param get    gives element k
  template <class Get>
  __device__ __forceinline__ void scan_line(const ShortColumnTile& tile, int slab, int column,
                                            Value* out, int stride, const Get& get) const {
    const Carrying op = carrying(m_p.op);
    Fold<Carrying, R> run(op);
    A previous = m_p.identity.value;
    if (m_p.start.exists()) {
      previous = m_p.start.at(tile.place(m_p.batch, slab, column)).value;
      run = Fold<Carrying, R>(op, static_cast<R>(previous));
    }
    const Ends<P> ends{m_p};
    if (ends.exist()) ends.store_begin(tile.place(m_p.batch, slab, column), previous);
    const bool inclusive = m_p.form == Form::inclusive;
    int k = 0;
    const auto scan_some = [&](auto count) {
      // Without conditions, which would make each load wait for the last.
      R x[count.value];
#pragma unroll
      for (int i = 0; i < count.value; ++i) x[i] = static_cast<R>(get(k + i));
#pragma unroll
      for (int i = 0; i < count.value; ++i) {
        run = Fold<Carrying, R>(op, run.then(op, x[i]));
        const A b = static_cast<A>(run.value());
        out[i * stride] = static_cast<Value>(inclusive ? b : previous);
        previous = b;
      }
      k += count.value;
      out += count.value * stride;
    };
#pragma unroll 1
    while (k + 8 <= m_plan.n) scan_some(std::integral_constant<int, 8>{});
    if ((m_plan.n & 4) != 0) scan_some(std::integral_constant<int, 4>{});
    if ((m_plan.n & 2) != 0) scan_some(std::integral_constant<int, 2>{});
    if ((m_plan.n & 1) != 0) scan_some(std::integral_constant<int, 1>{});
    if (ends.exist()) ends.store_end(tile.place(m_p.batch, slab, column), previous);
  }

  __device__ __forceinline__ void store(const ShortColumnTile& tile, int buffer) const {
    const TileSlots<Value> slots = results(tile, buffer);
    if constexpr (may_store_runs) {
      if (tile.stores_runs) {
        if (m_stores_in_bulk != moves()) return;
        const TileRuns<Value> runs(m_p.batch, m_plan, tile, m_p.output, slots);
        const auto store = [](std::byte* global, const std::byte* shared) {
          store_element<Value>(global, shared);
        };
        if (m_stores_in_bulk) {
          runs.for_each_run(
              lane(),
              [](std::byte* global, const std::byte* shared, int bytes) {
                begin_bulk_store(global, shared, bytes);
              },
              store);
        } else {
          runs.for_each_quad(
              m_plan,
              [](std::byte* global, const std::byte* shared) {
                *reinterpret_cast<uint4*>(global) = *reinterpret_cast<const uint4*>(shared);
              },
              store);
        }
        return;
      }
    }
    if (!moves()) store_one_by_one(m_p.batch, m_plan, tile, m_p.output, slots);
  }

  const P& m_p;
  const ShortColumnPlan& m_plan;
  int m_thread;
  bool m_loads_runs, m_loads_in_bulk, m_stores_in_bulk;
  unsigned m_parities = 0;
};

/// Scans short columns.
template <class P>
__global__ void __launch_bounds__(threads_of_short_columns + lanes, blocks_of_short_columns)
    scan_short_columns(const __grid_constant__ P problem,
                       const __grid_constant__ ShortColumnPlan plan) {
  ShortColumnScan<P>(problem, plan).run();
}

}  // namespace KokkosScan::impl::cuda
