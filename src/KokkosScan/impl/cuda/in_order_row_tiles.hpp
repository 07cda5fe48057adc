// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The tiles of rows that a warp scans in order: how they move between global and shared memory.

#include <KokkosScan/impl/cuda/in_order_fold.hpp>
#include <KokkosScan/impl/cuda/in_order_row_plan.hpp>
#include <KokkosScan/impl/cuda/stage.hpp>
#include <KokkosScan/impl/in_order.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::cuda {

/// The array of values, which may be masked, that is copied to shared memory.
template <class A>
__host__ __device__ const Array<const A>& values_of(const Array<const A>& in) {
  return in;
}
template <class A>
__host__ __device__ const Array<const A>& values_of(
    const Selected<A, Array<const A>, Array<const StoredBool>>& in) {
  return in.values;
}

/// Visits all units of all lines in memory order, one per lane at a time.
class WarpWalk {
 public:
  WarpWalk() = default;
  /// \param lines the lines of the warp
  /// \param units of each line
  __device__ __forceinline__ WarpWalk(int lane, int lines, int units)
      : line(lane / units),
        unit(lane % units),
        m_lines(lines),
        m_units(units),
        m_step_lines(32 / units),
        m_step_units(32 % units) {}
  [[nodiscard]] __device__ __forceinline__ bool is_done() const { return line >= m_lines; }
  __device__ __forceinline__ void advance() {
    line += m_step_lines;
    unit += m_step_units;
    if (unit >= m_units) {
      unit -= m_units;
      ++line;
    }
  }

  int line;
  int unit;

 private:
  int m_lines, m_units, m_step_lines, m_step_units;
};

/// The offset of a line in each operand that is copied, in elements.
struct RowOffsets {
  std::int64_t input, mask, output;
};

/// What a warp keeps in shared memory to locate each of its lines.
template <class P>
using PlaceOfRow = std::conditional_t<InOrderTypes<P>::is_copied, RowOffsets, Coordinates>;

/// The tiles of the lines of one warp, or of the three of a pipeline.
template <class P>
class TilesOfRows {
  using T = InOrderTypes<P>;
  using A = typename T::A;
  using Value = typename T::Value;
  static constexpr int size = sizeof(A);
  static constexpr int pack = T::pack;
  /// Loads of a lane that are in flight together.
  static constexpr int at_once = std::clamp(64 / size, 1, 8);
  static constexpr int copies_at_once = 4;

 public:
  __device__ __forceinline__ TilesOfRows(const P& problem, const RowsInOrder& shape,
                                         std::int64_t group, std::byte* memory)
      : p(problem),
        m_shape(shape),
        m_lane(static_cast<int>(threadIdx.x) % lanes),
        m_first(group * shape.lines),
        m_lines(static_cast<int>(p.batch.count - m_first < shape.lines ? p.batch.count - m_first
                                                                       : shape.lines)),
        m_memory(memory),
        m_packs(m_lane, m_lines, shape.length < pack ? 1 : shape.length / pack),
        m_elements(m_lane, m_lines, shape.length) {}

  [[nodiscard]] __device__ __forceinline__ bool has_line() const { return m_lane < m_lines; }
  /// Stores where the lines are, for all warps that share them.
  __device__ __forceinline__ void find_places() const {
    if (has_line()) {
      const Coordinates place = p.batch.coordinates(m_first + m_lane);
      if constexpr (T::is_copied) {
        RowOffsets offsets{};
        offsets.input = place.offset(values_of<A>(p.input).strides);
        if constexpr (T::is_masked) offsets.mask = place.offset(p.input.mask.strides);
        offsets.output = place.offset(p.output.strides);
        places()[m_lane] = offsets;
      } else {
        places()[m_lane] = place;
      }
    }
  }

  [[nodiscard]] __device__ __forceinline__ A* slots(int stage) const {
    return reinterpret_cast<A*>(m_memory + stage * m_shape.stage);
  }
  /// The flags of elements that count, which follow the slots.
  [[nodiscard]] __device__ __forceinline__ unsigned char* counts(int stage) const {
    return reinterpret_cast<unsigned char*>(slots(stage) + m_shape.lines * m_shape.pitch);
  }
  /// The number of elements of a line in a tile.
  [[nodiscard]] __device__ __forceinline__ int length_of(std::int64_t tile) const {
    const std::int64_t left = p.n - tile * m_shape.length;
    return left < m_shape.length ? static_cast<int>(left) : m_shape.length;
  }
  /// Whether tiles are in reverse scan order, since copied elements stay in memory order.
  [[nodiscard]] __device__ __forceinline__ bool is_backward() const {
    return T::is_copied && p.output.strides.along < 0;
  }

  __device__ __forceinline__ void load(std::int64_t tile, int stage) const {
    const std::int64_t k = tile * m_shape.length;
    const int length = length_of(tile);
    if constexpr (T::is_copied) {
      if (pack > 1 && m_shape.has_packs) {
        load_values<pack>(k, stage, length);
      } else {
        load_values<1>(k, stage, length);
      }
      if constexpr (T::is_masked) {
        switch (m_shape.mask_bytes) {
          case 16:
            return load_mask<16>(k, stage, length);
          case 4:
            return load_mask<4>(k, stage, length);
          default:
            return load_mask<1>(k, stage, length);
        }
      }
    } else {
      load_one_by_one(k, stage, length);
    }
  }
  __device__ __forceinline__ void store(std::int64_t tile, int stage) const {
    const std::int64_t k = tile * m_shape.length;
    const int length = length_of(tile);
    if constexpr (T::is_copied) {
      if (pack > 1 && m_shape.stores_packs) {
        store_values<pack>(k, stage, length);
      } else {
        store_values<1>(k, stage, length);
      }
    } else {
      const A* const from = slots(stage);
#pragma unroll 4
      for (WarpWalk walk = walk_of<1>(length); !walk.is_done(); walk.advance()) {
        p.output.line(places()[walk.line])(k + walk.unit) =
            static_cast<Value>(from[walk.line * m_shape.pitch + walk.unit]);
      }
    }
  }

 protected:
  const P& p;
  const RowsInOrder& m_shape;
  int m_lane;
  std::int64_t m_first;  ///< line
  int m_lines;

 private:
  [[nodiscard]] __device__ __forceinline__ PlaceOfRow<P>* places() const {
    return reinterpret_cast<PlaceOfRow<P>*>(m_memory + m_shape.pipeline.needed * m_shape.stage);
  }
  /// The offset of a tile's lowest element from the first element of its line.
  [[nodiscard]] __device__ __forceinline__ static std::int64_t lowest(std::int64_t k, int length,
                                                                      std::int64_t along) {
    return along < 0 ? -(k + length - 1) : k;
  }
  /// A walk through a tile, E elements at a time. Those of whole tiles are kept to avoid divisions.
  template <int E>
  [[nodiscard]] __device__ __forceinline__ WarpWalk walk_of(int length) const {
    if (length < m_shape.length) return WarpWalk(m_lane, m_lines, length / E);
    return E == pack ? m_packs : m_elements;
  }
  /// Calls address(line, unit) for several units and then move(addresses, exist), so that their
  /// shared memory latencies overlap. Past the last unit it uses line 0.
  template <class Address, class Move>
  __device__ __forceinline__ static void for_each_unit(WarpWalk walk, const Address& address,
                                                       const Move& move) {
#pragma unroll 1
    while (!walk.is_done()) {
      decltype(address(0, 0)) at[copies_at_once];
      bool exist[copies_at_once];
#pragma unroll
      for (int i = 0; i < copies_at_once; ++i) {
        exist[i] = !walk.is_done();
        at[i] = address(exist[i] ? walk.line : 0, walk.unit);
        walk.advance();
      }
      move(at, exist);
    }
  }
  template <class Global, class Shared>
  struct Addresses {
    Global* global;
    Shared* shared;
  };
  template <int bytes, class Of>
  __device__ __forceinline__ static void begin_copies(const Of (&at)[copies_at_once],
                                                      const bool (&exist)[copies_at_once]) {
#pragma unroll
    for (int i = 0; i < copies_at_once; ++i) {
      if (exist[i]) __pipeline_memcpy_async(at[i].shared, at[i].global, bytes);
    }
  }

  template <int E>
  __device__ __forceinline__ void load_values(std::int64_t k, int stage, int length) const {
    const Array<const A>& values = values_of<A>(p.input);
    const A* const from = values.data + lowest(k, length, values.strides.along);
    A* const to = slots(stage);
    for_each_unit(
        walk_of<E>(length),
        [&](int line, int unit) {
          return Addresses<const A, A>{from + places()[line].input + unit * E,
                                       to + line * m_shape.pitch + unit * E};
        },
        [](const auto& at, const auto& exist) { begin_copies<E * size>(at, exist); });
  }
  template <int B>
  __device__ __forceinline__ void load_mask(std::int64_t k, int stage, int length) const {
    const auto& mask = p.input.mask;
    const StoredBool* const from = mask.data + lowest(k, length, mask.strides.along);
    unsigned char* const to = counts(stage);
    for_each_unit(
        WarpWalk(m_lane, m_lines, length / B),
        [&](int line, int unit) {
          return Addresses<const StoredBool, unsigned char>{
              from + places()[line].mask + unit * B, to + line * m_shape.mask_pitch + unit * B};
        },
        [](const auto& at, const auto& exist) {
          if constexpr (B > 1) {
            begin_copies<B>(at, exist);
          } else {
            bool counted[copies_at_once];
#pragma unroll
            for (int i = 0; i < copies_at_once; ++i) counted[i] = *at[i].global;
#pragma unroll
            for (int i = 0; i < copies_at_once; ++i) {
              if (exist[i]) *at[i].shared = counted[i] ? 1 : 0;
            }
          }
        });
  }
  template <int E>
  __device__ __forceinline__ void store_values(std::int64_t k, int stage, int length) const {
    A* const to = p.output.data + lowest(k, length, p.output.strides.along);
    const A* const from = slots(stage);
    for_each_unit(
        walk_of<E>(length),
        [&](int line, int unit) {
          return Addresses<A, const A>{to + places()[line].output + unit * E,
                                       from + line * m_shape.pitch + unit * E};
        },
        [](const auto& at, const auto& exist) {
          A x[copies_at_once][E];
#pragma unroll
          for (int i = 0; i < copies_at_once; ++i) {
            move_pack(x[i], reinterpret_cast<const std::byte*>(at[i].shared));
          }
#pragma unroll
          for (int i = 0; i < copies_at_once; ++i) {
            if (exist[i]) move_pack(reinterpret_cast<std::byte*>(at[i].global), x[i]);
          }
        });
  }

  /// Loads a tile through registers, in scan order.
  __device__ __forceinline__ void load_one_by_one(std::int64_t k, int stage, int length) const {
    A* const to = slots(stage);
    for (WarpWalk walk = walk_of<1>(length); !walk.is_done();) {
      A x[at_once];
      [[maybe_unused]] bool counted[at_once];
      int slot[at_once];
      [[maybe_unused]] int mask_slot[at_once];
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        slot[i] = walk.is_done() ? -1 : walk.line * m_shape.pitch + walk.unit;
        mask_slot[i] = walk.line * m_shape.mask_pitch + walk.unit;
        if (slot[i] >= 0) {
          const auto line = p.input.line(places()[walk.line]);
          x[i] = element<A>(line, k + walk.unit);
          if constexpr (T::is_masked) counted[i] = impl::counts(line, k + walk.unit);
        }
        walk.advance();
      }
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        if (slot[i] < 0) continue;
        to[slot[i]] = x[i];
        if constexpr (T::is_masked) counts(stage)[mask_slot[i]] = counted[i] ? 1 : 0;
      }
    }
  }

  std::byte* m_memory;
  WarpWalk m_packs, m_elements;  ///< through whole tiles
};

}  // namespace KokkosScan::impl::cuda
