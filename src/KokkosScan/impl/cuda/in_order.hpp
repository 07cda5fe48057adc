// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernels for scans in order: a thread a line, as each line waits for its last combination.
/// What remains is to have many elements on their way while threads wait.
///
/// - Columns: neighbouring threads have neighbouring lines. A thread loads the next elements of its
///   own into registers while it combines some.
/// - Rows: a warp has 32 lines and brings a tile of them through shared memory, so that global
///   memory is read and written along the lines; tiles that follow are on their way meanwhile.

#include <KokkosScan/impl/cuda/stage.hpp>
#include <KokkosScan/impl/in_order.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::cuda {

/// Threads of a block that scans columns in order.
inline constexpr int threads_of_columns_in_order = 128;
/// The same where there are so few columns that each block shall have a multiprocessor.
inline constexpr int threads_of_few_columns_in_order = 32;
/// Bytes of each of two chunks in registers: where columns are no longer than the first; where
/// there are threads enough to hide the latency of memory, or rows are not aligned and hit the
/// cache that neighbours fill; and where there are not.
inline constexpr int bytes_of_short_chunk_in_order = 16;
inline constexpr int bytes_of_chunk_in_order = 32;
inline constexpr int bytes_of_long_chunk_in_order = 128;
/// Columns for each multiprocessor from which chunks are not long, and below which elements travel
/// through shared memory.
inline constexpr int many_columns_in_order = 1024;
inline constexpr int few_columns_in_order = 96;

/// The most lines of a warp that scans rows in order, and the least.
inline constexpr int lines_of_warp_in_order = 32;
inline constexpr int least_lines_of_warp_in_order = 8;
/// Warps for each multiprocessor below which warps have fewer lines.
inline constexpr int wanted_warps_in_order = 4;

/// Lines of a warp: as many as it can have, unless there are few.
constexpr int lines_of_warp(std::int64_t lines, int multiprocessors) {
  int of_warp = lines_of_warp_in_order;
  while (of_warp > least_lines_of_warp_in_order &&
         lines < std::int64_t{of_warp} * wanted_warps_in_order * multiprocessors) {
    of_warp /= 2;
  }
  return of_warp;
}

/// Arrays of values, which may have a mask, as they are copied to shared memory.
template <class A>
__host__ __device__ const Array<const A>& values_of(const Array<const A>& in) {
  return in;
}
template <class A>
__host__ __device__ const Array<const A>& values_of(
    const Selected<A, Array<const A>, Array<const bool>>& in) {
  return in.values;
}

/// What the types of a problem are to these kernels.
template <class P>
struct InOrderTypes {
  using A = typename P::A;
  using In = std::remove_cv_t<decltype(P::input)>;
  using Value = std::remove_pointer_t<decltype(P::output.data)>;
  using Total = std::remove_pointer_t<decltype(P::totals.data)>;
  static constexpr bool is_masked = is_selected<In>;
  /// Whether elements can be copied to shared memory as they are, and results back.
  static constexpr bool is_copied =
      (std::is_same_v<In, Array<const A>> ||
       std::is_same_v<In, Selected<A, Array<const A>, Array<const bool>>>)&&std::is_same_v<Value,
                                                                                           A> &&
      is_copied_apart<A>;
  /// Elements that one instruction moves within shared memory.
  static constexpr int pack = is_copied ? quad / static_cast<int>(sizeof(A)) : 1;
};

/// B(k) of a line, of which nothing is known before an element counts.
template <class P>
struct RunningFold {
  using A = typename P::A;

  A value;
  bool exists;

  __device__ __forceinline__ explicit RunningFold(const Maybe<A>& start)
      : value(start.exists ? start.value : A{}), exists(start.exists) {}
  __device__ __forceinline__ void add(const P& p, const A& x) {
    value = exists ? static_cast<A>(p.op(value, x)) : x;
    exists = true;
  }
  [[nodiscard]] __device__ __forceinline__ A result(const P& p) const {
    return exists ? value : p.identity.value;
  }
  /// Combines elements, which become results.
  ///
  /// \param counts a bit for each, where there is a mask
  /// \param length how many there are
  template <bool masked, int N>
  __device__ __forceinline__ void scan(const P& p, A (&x)[N], [[maybe_unused]] unsigned counts,
                                       int length, bool is_exclusive) {
    if constexpr (!masked) {
      if (length >= N && exists) return scan_all(p, x, is_exclusive);
    }
#pragma unroll
    for (int i = 0; i < N; ++i) {
      if (i >= length) continue;
      const A next = x[i];
      if (is_exclusive) x[i] = result(p);
      if (!masked || (counts >> i & 1) != 0) add(p, next);
      if (!is_exclusive) x[i] = result(p);
    }
  }

 private:
  template <int N>
  __device__ __forceinline__ void scan_all(const P& p, A (&x)[N], bool is_exclusive) {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const A next = static_cast<A>(p.op(value, x[i]));
      x[i] = is_exclusive ? value : next;
      value = next;
    }
  }
};

/// Waits until at most so many tiles are on their way.
__device__ __forceinline__ void wait_for_copies(int tiles) {
  switch (tiles) {
    case 0:
      return __pipeline_wait_prior(0);
    case 1:
      return __pipeline_wait_prior(1);
    case 2:
      return __pipeline_wait_prior(2);
    case 3:
      return __pipeline_wait_prior(3);
    case 4:
      return __pipeline_wait_prior(4);
    case 5:
      return __pipeline_wait_prior(5);
    case 6:
      return __pipeline_wait_prior(6);
    default:
      return __pipeline_wait_prior(7);
  }
}

// ---- Columns ------------------------------------------------------------------------------------

/// Neighbours in a line, in registers.
template <class A, int N, bool masked>
struct ChunkInOrder {
  A x[N];
  unsigned counts = 0;

  /// Loads elements from k on. Behind the end of the line the last is loaded again: a condition
  /// would make each load wait for the one before.
  template <class Line>
  __device__ __forceinline__ void load(const Line& line, std::int64_t k, std::int64_t n) {
    if constexpr (masked) counts = 0;
    if (k + N <= n) {
#pragma unroll
      for (int i = 0; i < N; ++i) load_one(line, k + i, i);
    } else {
#pragma unroll
      for (int i = 0; i < N; ++i) load_one(line, k + i < n ? k + i : n - 1, i);
    }
  }

 private:
  template <class Line>
  __device__ __forceinline__ void load_one(const Line& line, std::int64_t k, int i) {
    x[i] = element<A>(line, k);
    if constexpr (masked) counts |= static_cast<unsigned>(impl::counts(line, k)) << i;
  }
};

/// Elements of a chunk of so many bytes.
template <class A>
constexpr int length_of_chunk_in_order(int bytes) {
  return std::max(1, bytes / static_cast<int>(sizeof(A)));
}

/// Scans lines of any layout, of which each thread has one.
///
/// \tparam N elements of a chunk
template <int N, class P>
__global__ void __launch_bounds__(threads_of_columns_in_order)
    scan_columns_in_order(const __grid_constant__ P p) {
  using T = InOrderTypes<P>;
  using A = typename T::A;
  using Value = typename T::Value;
  const std::int64_t number = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (number >= p.batch.count) return;
  const Coordinates place = p.batch.coordinates(number);
  const auto input = p.input.line(place);
  const auto output = p.output.line(place);
  const bool is_exclusive = p.form == Form::exclusive;
  const std::int64_t n = p.n;

  ChunkInOrder<A, N, T::is_masked> next;
  next.load(input, 0, n);
  RunningFold<P> fold(p.start.at(place));
  if (p.extra == Extra::first) output(-1) = static_cast<Value>(fold.result(p));
  for (std::int64_t k = 0; k < n; k += N) {
    ChunkInOrder<A, N, T::is_masked> chunk = next;
    if (k + N < n) next.load(input, k + N, n);
    const int length = n - k < N ? static_cast<int>(n - k) : N;
    fold.template scan<T::is_masked>(p, chunk.x, chunk.counts, length, is_exclusive);
    if (length == N) {
#pragma unroll
      for (int i = 0; i < N; ++i) output(k + i) = static_cast<Value>(chunk.x[i]);
    } else {
#pragma unroll
      for (int i = 0; i < N; ++i) {
        if (i < length) output(k + i) = static_cast<Value>(chunk.x[i]);
      }
    }
  }
  if (p.extra == Extra::last) output(n) = static_cast<Value>(fold.result(p));
  if (p.totals.data != nullptr) {
    p.totals.line(place)(0) = static_cast<typename T::Total>(fold.result(p));
  }
}

/// Elements of a column that are copied together.
template <class A>
inline constexpr int rows_of_group_in_order = bytes_of_long_chunk_in_order /
                                              static_cast<int>(sizeof(A));

/// The same for columns so few that registers cannot hold what must be on its way: elements travel
/// to slots in shared memory, of which each thread has its own, so that no thread waits for
/// another.
///
/// \param groups groups of elements that there are slots for
/// \tparam P      a problem whose elements are copied, without a mask
template <class P>
__global__ void __launch_bounds__(threads_of_few_columns_in_order)
    scan_few_columns_in_order(const __grid_constant__ P p, const int groups) {
  using T = InOrderTypes<P>;
  using A = typename T::A;
  constexpr int N = rows_of_group_in_order<A>;
  constexpr int width = threads_of_few_columns_in_order;
  const std::int64_t number = std::int64_t{blockIdx.x} * width + threadIdx.x;
  if (number >= p.batch.count) return;
  const Coordinates place = p.batch.coordinates(number);
  const A* from = p.input.line(place).data;
  A* to = p.output.line(place).data;
  const std::int64_t in_along = p.input.strides.along;
  const std::int64_t out_along = p.output.strides.along;
  const bool is_exclusive = p.form == Form::exclusive;
  A* const slots = reinterpret_cast<A*>(shared_memory()) + threadIdx.x;

  std::int64_t left_to_load = p.n;
  int group_to_load = 0;
  const auto load_next = [&] {
    A* const group = slots + group_to_load * (N * width);
    if (left_to_load >= N) {
#pragma unroll
      for (int i = 0; i < N; ++i) {
        __pipeline_memcpy_async(group + i * width, from, sizeof(A));
        from += in_along;
      }
    } else {
#pragma unroll 1
      for (int i = 0; i < left_to_load; ++i) {
        __pipeline_memcpy_async(group + i * width, from, sizeof(A));
        from += in_along;
      }
    }
    __pipeline_commit();
    left_to_load = left_to_load >= N ? left_to_load - N : 0;
    group_to_load = group_to_load + 1 == groups ? 0 : group_to_load + 1;
  };
  for (int i = 1; i < groups; ++i) load_next();
  RunningFold<P> fold(p.start.at(place));
  if (p.extra == Extra::first) to[-out_along] = fold.result(p);
  int group = 0;
  for (std::int64_t left = p.n; left > 0; left -= N) {
    load_next();
    wait_for_copies(groups - 1);
    A* const own = slots + group * (N * width);
    group = group + 1 == groups ? 0 : group + 1;
    // Half at a time, in registers.
    constexpr int half = N > 1 ? N / 2 : 1;
#pragma unroll
    for (int begin = 0; begin < N; begin += half) {
      if (begin >= left) continue;
      A x[half];
#pragma unroll
      for (int i = 0; i < half; ++i) x[i] = own[(begin + i) * width];
      const int length = left - begin < half ? static_cast<int>(left - begin) : half;
      fold.template scan<false>(p, x, 0, length, is_exclusive);
      if (length == half) {
#pragma unroll
        for (int i = 0; i < half; ++i) {
          *to = x[i];
          to += out_along;
        }
      } else {
#pragma unroll
        for (int i = 0; i < half; ++i) {
          if (i >= length) continue;
          *to = x[i];
          to += out_along;
        }
      }
    }
  }
  if (p.extra == Extra::last) *to = fold.result(p);
  if (p.totals.data != nullptr) {
    p.totals.line(place)(0) = static_cast<typename T::Total>(fold.result(p));
  }
}

// ---- Rows ---------------------------------------------------------------------------------------

/// How a warp takes its lines through shared memory.
struct RowsInOrder {
  int lines;       ///< of a warp
  int length;      ///< elements of a line in a tile
  int pitch;       ///< from line to line in shared memory, in elements
  int stages;      ///< tiles that are there at once
  int stage;       ///< bytes of a tile
  int warp;        ///< bytes of a warp
  int mask_pitch;  ///< from line to line in shared memory, of whether elements count
  int mask_bytes;  ///< of a mask that are copied at once: 16, or 4, or 1 without copies
  bool has_packs;  ///< whether 16 bytes of the input are copied at once
  bool stores_packs;
};

/// A line of a warp. The coordinates of its lines are in shared memory where they are not trivial.
struct RowPlace {
  const Batch& batch;
  std::int64_t number;
  const Coordinates* coordinates;

  [[nodiscard]] __device__ __forceinline__ std::int64_t offset(const Strides& strides) const {
    return batch.rank <= 1 ? number * strides.batch[0] : coordinates->offset(strides);
  }
};

/// Goes through all units of all lines, a lane each, in the order of memory.
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

/// Some lines of a warp, in shared memory.
template <class P>
class WarpOfRows {
  using T = InOrderTypes<P>;
  using A = typename T::A;
  using Value = typename T::Value;
  static constexpr int size = sizeof(A);
  static constexpr int pack = T::pack;
  /// Packs that a lane loads while it combines as many.
  static constexpr int packs = std::max(1, 64 / (pack * size));
  /// Loads of a lane that wait together.
  static constexpr int at_once = std::clamp(64 / size, 1, 8);

 public:
  __device__ __forceinline__ WarpOfRows(const P& problem, const RowsInOrder& shape)
      : p(problem),
        m_shape(shape),
        m_lane(static_cast<int>(threadIdx.x) % 32),
        m_memory(shared_memory() + static_cast<int>(threadIdx.x) / 32 * shape.warp) {
    const std::int64_t warp =
        std::int64_t{blockIdx.x} * (blockDim.x / 32) + static_cast<int>(threadIdx.x) / 32;
    m_first = warp * shape.lines;
    const std::int64_t left = p.batch.count - m_first;
    m_lines = left < shape.lines ? static_cast<int>(left) : shape.lines;
    m_packs = WarpWalk(m_lane, m_lines, shape.length / pack > 0 ? shape.length / pack : 1);
    m_elements = WarpWalk(m_lane, m_lines, shape.length);
  }

  __device__ __forceinline__ void scan() {
    if (m_lines <= 0) return;
    if (p.batch.rank > 1) {
      if (m_lane < m_lines) {
        coordinates()[m_lane] = p.batch.coordinates(m_first + m_lane);
      }
      __syncwarp();
    }
    const bool has_line = m_lane < m_lines;
    RunningFold<P> fold(has_line ? p.start.at(place(m_lane)) : Maybe<A>());
    if (has_line && p.extra == Extra::first) {
      p.output.line(place(m_lane))(-1) = static_cast<Value>(fold.result(p));
    }
    const int stages = m_shape.stages;
    std::int64_t loaded = 0;
    int stage_to_load = 0;
    const auto load_next = [&] {
      if (loaded < p.n) load(loaded, stage_to_load);
      if constexpr (T::is_copied) __pipeline_commit();
      loaded += m_shape.length;
      stage_to_load = stage_to_load + 1 == stages ? 0 : stage_to_load + 1;
    };
    for (int i = 1; i < stages; ++i) load_next();
    int stage = 0;
    for (std::int64_t k = 0; k < p.n; k += m_shape.length) {
      load_next();
      if constexpr (T::is_copied) wait_for_copies(stages - 1);
      __syncwarp();
      const int length = length_at(k);
      if (has_line) combine(fold, slots(stage) + m_lane * m_shape.pitch, counts(stage), length);
      __syncwarp();
      store(k, stage, length);
      __syncwarp();
      stage = stage + 1 == stages ? 0 : stage + 1;
    }
    if (!has_line) return;
    if (p.extra == Extra::last) {
      p.output.line(place(m_lane))(p.n) = static_cast<Value>(fold.result(p));
    }
    if (p.totals.data != nullptr) {
      p.totals.line(place(m_lane))(0) = static_cast<typename T::Total>(fold.result(p));
    }
  }

 private:
  [[nodiscard]] __device__ __forceinline__ Coordinates* coordinates() const {
    return reinterpret_cast<Coordinates*>(m_memory + m_shape.stages * m_shape.stage);
  }
  [[nodiscard]] __device__ __forceinline__ RowPlace place(int line) const {
    return {p.batch, m_first + line, coordinates() + line};
  }
  [[nodiscard]] __device__ __forceinline__ A* slots(int stage) const {
    return reinterpret_cast<A*>(m_memory + stage * m_shape.stage);
  }
  /// Whether elements count, behind the slots.
  [[nodiscard]] __device__ __forceinline__ unsigned char* counts(int stage) const {
    return reinterpret_cast<unsigned char*>(slots(stage) + m_shape.lines * m_shape.pitch);
  }
  [[nodiscard]] __device__ __forceinline__ int length_at(std::int64_t k) const {
    const std::int64_t left = p.n - k;
    return left < m_shape.length ? static_cast<int>(left) : m_shape.length;
  }
  /// What is copied lies in the order of memory, all else in scan order.
  [[nodiscard]] __device__ __forceinline__ bool is_backward() const {
    return T::is_copied && p.output.strides.along < 0;
  }
  /// The distance of a tile's lowest element from the first of its line.
  [[nodiscard]] __device__ __forceinline__ static std::int64_t lowest(std::int64_t k, int length,
                                                                      std::int64_t along) {
    return along < 0 ? -(k + length - 1) : k;
  }

  /// Through a tile, E elements at a time. It takes divisions, so that of whole tiles is kept.
  template <int E>
  [[nodiscard]] __device__ __forceinline__ WarpWalk walk_of(int length) const {
    if (length < m_shape.length) return WarpWalk(m_lane, m_lines, length / E);
    return E == pack ? m_packs : m_elements;
  }

  __device__ __forceinline__ void load(std::int64_t k, int stage) const {
    const int length = length_at(k);
    A* const to = slots(stage);
    if constexpr (T::is_copied) {
      const Array<const A>& values = values_of<A>(p.input);
      const std::int64_t begin = lowest(k, length, values.strides.along);
      const auto copy = [&](auto elements) {
        constexpr int E = decltype(elements)::value;
#pragma unroll 4
        for (WarpWalk walk = walk_of<E>(length); !walk.is_done(); walk.advance()) {
          const A* const from = values.line(place(walk.line)).data + begin;
          __pipeline_memcpy_async(to + walk.line * m_shape.pitch + walk.unit * E,
                                  from + walk.unit * E, E * size);
        }
      };
      if (pack > 1 && m_shape.has_packs) {
        copy(std::integral_constant<int, pack>{});
      } else {
        copy(std::integral_constant<int, 1>{});
      }
      if constexpr (T::is_masked) load_mask(k, stage, length);
    } else {
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
            const auto line = p.input.line(place(walk.line));
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
  }

  /// Loads the mask of a tile that is copied.
  __device__ __forceinline__ void load_mask(std::int64_t k, int stage, int length) const {
    const auto& mask = p.input.mask;
    const std::int64_t begin = lowest(k, length, mask.strides.along);
    unsigned char* const to = counts(stage);
    const auto copy = [&](auto bytes) {
      constexpr int B = decltype(bytes)::value;
#pragma unroll 4
      for (WarpWalk walk(m_lane, m_lines, length / B); !walk.is_done(); walk.advance()) {
        const bool* const from = mask.line(place(walk.line)).data + begin + walk.unit * B;
        unsigned char* const at = to + walk.line * m_shape.mask_pitch + walk.unit * B;
        if constexpr (B > 1) {
          __pipeline_memcpy_async(at, from, B);
        } else {
          *at = *from ? 1 : 0;
        }
      }
    };
    switch (m_shape.mask_bytes) {
      case 16:
        return copy(std::integral_constant<int, 16>{});
      case 4:
        return copy(std::integral_constant<int, 4>{});
      default:
        return copy(std::integral_constant<int, 1>{});
    }
  }

  /// Some packs of a line.
  struct Chunk {
    A x[packs * pack];
    unsigned counts;
  };
  /// Reads those from pack number `first` on, in scan order.
  __device__ __forceinline__ void get(Chunk& chunk, const A* line,
                                      [[maybe_unused]] const unsigned char* counted, int first,
                                      int all, bool backward) const {
    chunk.counts = 0;
#pragma unroll
    for (int i = 0; i < packs; ++i) {
      if (first + i >= all) continue;
      const int at = (backward ? all - 1 - (first + i) : first + i) * pack;
      A raw[pack];
      move_pack(raw, reinterpret_cast<const std::byte*>(line + at));
#pragma unroll
      for (int e = 0; e < pack; ++e) chunk.x[i * pack + e] = backward ? raw[pack - 1 - e] : raw[e];
      if constexpr (T::is_masked) {
        const unsigned char* const flags = counted + m_lane * m_shape.mask_pitch + at;
#pragma unroll
        for (int e = 0; e < pack; ++e) {
          const unsigned flag = flags[backward ? pack - 1 - e : e];
          chunk.counts |= flag << (i * pack + e);
        }
      }
    }
  }
  __device__ __forceinline__ void put(const Chunk& chunk, A* line, int first, int all,
                                      bool backward) const {
#pragma unroll
    for (int i = 0; i < packs; ++i) {
      if (first + i >= all) continue;
      const int at = (backward ? all - 1 - (first + i) : first + i) * pack;
      A raw[pack];
#pragma unroll
      for (int e = 0; e < pack; ++e) {
        raw[e] = backward ? chunk.x[i * pack + pack - 1 - e] : chunk.x[i * pack + e];
      }
      move_pack(reinterpret_cast<std::byte*>(line + at), raw);
    }
  }
  /// Combines a lane's line of a tile. The next chunk is read before the results of one are
  /// written.
  __device__ __forceinline__ void combine(RunningFold<P>& fold, A* line,
                                          const unsigned char* counted, int length) const {
    const bool is_exclusive = p.form == Form::exclusive;
    const bool backward = is_backward();
    int all = length / pack;
    const int odd = length - all * pack;
    // Elements that are no whole pack are the last in memory.
    if (backward && odd > 0) combine_odd(fold, line, counted, all * pack, odd, is_exclusive, true);
    Chunk next;
    get(next, line, counted, 0, all, backward);
    for (int first = 0; first < all; first += packs) {
      Chunk chunk = next;
      if (first + packs < all) get(next, line, counted, first + packs, all, backward);
      const int left = (all - first) * pack;
      fold.template scan<T::is_masked>(p, chunk.x, chunk.counts, left, is_exclusive);
      put(chunk, line, first, all, backward);
    }
    if (!backward && odd > 0)
      combine_odd(fold, line, counted, all * pack, odd, is_exclusive, false);
  }
  __device__ __forceinline__ void combine_odd(RunningFold<P>& fold, A* line,
                                              [[maybe_unused]] const unsigned char* counted,
                                              int first, int count, bool is_exclusive,
                                              bool backward) const {
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
      const int at = first + (backward ? count - 1 - i : i);
      A x[1] = {line[at]};
      unsigned counts = 1;
      if constexpr (T::is_masked) counts = counted[m_lane * m_shape.mask_pitch + at];
      fold.template scan<T::is_masked>(p, x, counts, 1, is_exclusive);
      line[at] = x[0];
    }
  }

  __device__ __forceinline__ void store(std::int64_t k, int stage, int length) const {
    const A* const from = slots(stage);
    if constexpr (T::is_copied) {
      const std::int64_t begin = lowest(k, length, p.output.strides.along);
      const auto copy = [&](auto elements) {
        constexpr int E = decltype(elements)::value;
#pragma unroll 4
        for (WarpWalk walk = walk_of<E>(length); !walk.is_done(); walk.advance()) {
          A x[E];
          move_pack(x, reinterpret_cast<const std::byte*>(from + walk.line * m_shape.pitch +
                                                          walk.unit * E));
          move_pack(reinterpret_cast<std::byte*>(p.output.line(place(walk.line)).data + begin +
                                                 walk.unit * E),
                    x);
        }
      };
      if (pack > 1 && m_shape.stores_packs) {
        copy(std::integral_constant<int, pack>{});
      } else {
        copy(std::integral_constant<int, 1>{});
      }
    } else {
#pragma unroll 4
      for (WarpWalk walk = walk_of<1>(length); !walk.is_done(); walk.advance()) {
        p.output.line(place(walk.line))(k + walk.unit) =
            static_cast<Value>(from[walk.line * m_shape.pitch + walk.unit]);
      }
    }
  }

  const P& p;
  const RowsInOrder& m_shape;
  int m_lane;
  int m_lines;
  std::int64_t m_first;
  std::byte* m_memory;
  WarpWalk m_packs, m_elements;  ///< through whole tiles
};

/// The most threads of a block that scans rows in order.
inline constexpr int threads_of_rows_in_order = 128;

/// Scans lines whose elements are neighbours in memory, 32 a warp.
template <class P>
__global__ void __launch_bounds__(threads_of_rows_in_order)
    scan_rows_in_order(const __grid_constant__ P p, const __grid_constant__ RowsInOrder shape) {
  WarpOfRows<P>(p, shape).scan();
}

// ---- The choice of a shape ----------------------------------------------------------------------

/// Bytes of a line in a tile, unless the line has less than the second number.
inline constexpr int bytes_of_row_in_order = 256;
inline constexpr int bytes_of_short_row_in_order = 512;
/// The most tiles of a warp that are on their way.
inline constexpr int most_stages_in_order = 8;
/// Bytes of shared memory that blocks on a multiprocessor may have together, and warps there that
/// are worth it.
inline constexpr int shared_bytes_in_order = 200 * 1024;
inline constexpr int warps_in_order = 10;

/// Tiles of a warp that are there at once.
///
/// \param bytes  of a tile
/// \param others that a warp has
constexpr int stages_in_order(std::int64_t tiles, std::int64_t warps, int bytes, int others,
                              int multiprocessors, int shared_bytes_of_block) {
  const std::int64_t resident =
      std::clamp<std::int64_t>((warps + multiprocessors - 1) / multiprocessors, 1, warps_in_order);
  const auto room = static_cast<int>(
      std::min<std::int64_t>(shared_bytes_in_order / resident, shared_bytes_of_block));
  return static_cast<int>(
      std::min<std::int64_t>(tiles, std::clamp((room - others) / bytes, 2, most_stages_in_order)));
}

struct RowsPlan {
  RowsInOrder shape;
  std::int64_t blocks;
  int threads;
  int shared_bytes;
};
/// \param size      bytes of an accumulator
/// \param is_copied whether tiles are copied without registers
constexpr RowsPlan plan_rows_in_order(std::int64_t n, std::int64_t lines, int size, bool is_copied,
                                      bool is_masked, bool has_coordinates, int multiprocessors,
                                      int shared_bytes_of_block) {
  RowsPlan plan{};
  RowsInOrder& shape = plan.shape;
  const int pack = is_copied ? quad / size : 1;
  const std::int64_t usual = is_copied ? bytes_of_row_in_order / size : size <= 8 ? 32 : 16;
  shape.length = static_cast<int>(
      is_copied && n * size <= bytes_of_short_row_in_order ? n : std::min(n, usual));
  shape.lines = lines_of_warp(lines, multiprocessors);
  // An odd number of units: lanes that read their lines side by side meet all banks.
  shape.pitch = ((shape.length + pack - 1) / pack | 1) * pack;
  const auto round = [](int bytes) { return (bytes + quad - 1) / quad * quad; };
  // Masks of lines begin at multiples of 16 bytes, and in different banks.
  shape.mask_pitch = is_masked ? round(shape.length) | quad : 0;
  shape.stage = round(shape.lines * (shape.pitch * size + shape.mask_pitch));
  const int others =
      has_coordinates ? round(shape.lines * static_cast<int>(sizeof(Coordinates))) : 0;
  const std::int64_t warps = (lines + shape.lines - 1) / shape.lines;
  const std::int64_t tiles = (n + shape.length - 1) / shape.length;
  shape.stages = 1;
  if (is_copied && tiles > 1) {
    shape.stages =
        stages_in_order(tiles, warps, shape.stage, others, multiprocessors, shared_bytes_of_block);
  }
  shape.warp = shape.stages * shape.stage + others;
  // Several warps in a block only where blocks would be many and small.
  int warps_of_block = 1;
  while (warps_of_block < threads_of_rows_in_order / 32 &&
         2 * warps_of_block * shape.warp <= 8192 &&
         warps / (2 * warps_of_block) >= 4 * multiprocessors) {
    warps_of_block *= 2;
  }
  plan.blocks = (warps + warps_of_block - 1) / warps_of_block;
  plan.threads = 32 * warps_of_block;
  plan.shared_bytes = warps_of_block * shape.warp;
  return plan;
}

}  // namespace KokkosScan::impl::cuda
