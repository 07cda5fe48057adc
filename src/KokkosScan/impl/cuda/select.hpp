// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernels that select elements.
///
/// Persistent blocks take tiles of lines by ticket, in memory order. A block applies the predicate
/// to each element, publishes the number that is kept, and compacts the kept elements in shared
/// memory. They stay there while the next tile is loaded. By then the counts of all tiles since the
/// block's last one have usually arrived; the block sums them in parallel and stores. So no chain
/// of prefixes runs from tile to tile, as in decoupled look-back (carry.hpp), and there is hardly
/// any waiting. Counts are integers, so the order of summation does not matter. A block publishes
/// its own count before it waits for others, so there is no deadlock.
///
/// Short lines have 1 to 32 lanes of a warp each and need no communication between warps.

#include <KokkosScan/impl/cuda/barrier.hpp>
#include <KokkosScan/impl/cuda/carry.hpp>
#include <KokkosScan/impl/cuda/launch.hpp>
#include <KokkosScan/impl/cuda/memory.hpp>
#include <KokkosScan/impl/cuda/stage.hpp>
#include <KokkosScan/impl/cuda/tuning.hpp>
#include <KokkosScan/impl/cuda/warp.hpp>
#include <KokkosScan/impl/select/selection.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

namespace KokkosScan::impl::cuda {

/// Neighbouring elements that a thread processes at once.
inline constexpr int quad_of_selection = 4;
/// Threads of a block.
inline constexpr int threads_that_select = 256;
inline constexpr int warps_that_select = threads_that_select / lanes;
/// Persistent blocks per multiprocessor: as many as have registers for their elements.
template <class S>
inline constexpr int blocks_that_select =
    sizeof(typename S::Element) <= 8 && is_predicate<typename S::Keep> ? 5 : 3;
/// Longest lines for which tiles are not worthwhile.
inline constexpr std::int64_t longest_short_selection = 1024;

/// Bytes of the largest value: two tiles must fit in shared memory.
inline constexpr std::size_t largest_selected_value = 48;

constexpr int quads_of_size(std::size_t size) { return size <= 4 ? 4 : (size <= 8 ? 2 : 1); }
/// Quads per thread: elements stay in registers until they are counted.
template <class S>
inline constexpr int quads_of_thread = quads_of_size(std::max(sizeof(typename S::Element),
                                                              sizeof(typename S::Value)));

template <class S>
inline constexpr int length_of_selected_tile =
    threads_that_select* quads_of_thread<S>* quad_of_selection;

/// Four neighbours, loaded together where they are aligned.
template <class T>
struct alignas(std::min<std::size_t>(16, sizeof(T) * quad_of_selection)) Quad {
  T x[quad_of_selection];
};
template <class T>
inline constexpr bool has_quads = sizeof(T) <= 8 && (sizeof(T) & (sizeof(T) - 1)) == 0;

/// Whether the quads of an operand are aligned; those of a computed one always are.
template <class T>
bool are_quads(const Array<const T>& array, const Batch& batch) {
  if constexpr (!has_quads<T>) {
    return false;
  } else {
    bool aligned = array.strides.along == 1 &&
                   reinterpret_cast<std::uintptr_t>(array.data) % alignof(Quad<T>) == 0;
    for (int d = 0; d < batch.rank; ++d) {
      aligned = aligned && array.strides.batch[d] % quad_of_selection == 0;
    }
    return aligned;
  }
}
template <class Other>
bool are_quads(const Other&, const Batch&) {
  return true;
}

/// What the threads of a block share besides kept elements.
struct SelectionOfBlock {
  std::int64_t ticket;
  std::int64_t sums[warps_that_select];  ///< of the counts of earlier tiles
  int counts[4 * warps_that_select];
};
inline constexpr int bytes_of_selection_of_block = 256;
static_assert(sizeof(SelectionOfBlock) <= bytes_of_selection_of_block);

/// Loads the quad of a line that begins at element k.
///
/// \param left elements of the line from k on; ignored if `whole`
template <bool whole, class Line, class T>
__device__ __forceinline__ void load_quad(const Line& line, std::int64_t k, int left,
                                          T (&x)[quad_of_selection]) {
  if constexpr (whole && has_quads<T> && requires { line.data; }) {
    const Quad<T> loaded = *reinterpret_cast<const Quad<T>*>(line.data + k);
#pragma unroll
    for (int i = 0; i < quad_of_selection; ++i) x[i] = loaded.x[i];
  } else {
#pragma unroll
    for (int i = 0; i < quad_of_selection; ++i) {
      if (whole || i < left) x[i] = static_cast<T>(line(k + i));
    }
  }
}

/// A quad of a line: its elements, and a bit for each that is kept.
template <class S>
struct SelectedQuad {
  static constexpr bool is_asked = is_predicate<typename S::Keep>;

  typename S::Element x[quad_of_selection];
  unsigned kept = 0;  ///< from a mask when it is loaded, from a predicate when it is applied

  /// Loads the elements and the mask.
  ///
  /// \tparam whole whether the quad is aligned in memory and has four elements
  template <bool whole, class Input, class Keep>
  __device__ __forceinline__ void load(const Input& input, [[maybe_unused]] const Keep& keep,
                                       std::int64_t k, int left) {
    if constexpr (!is_asked) {
      std::remove_cvref_t<decltype(keep(k))> mask[quad_of_selection];
      load_quad<whole>(keep, k, left, mask);
      kept = 0;
#pragma unroll
      for (int i = 0; i < quad_of_selection; ++i) {
        if ((whole || i < left) && static_cast<bool>(mask[i])) kept |= 1u << i;
      }
    }
    load_quad<whole>(input, k, left, x);
  }
  /// Applies the predicate to existing elements, or clears the mask beyond the end of the line.
  template <bool whole>
  __device__ __forceinline__ void ask(const typename S::Keep& keep, int left) {
    if constexpr (is_asked) {
      kept = 0;
#pragma unroll
      for (int i = 0; i < quad_of_selection; ++i) {
        if ((whole || i < left) && is_kept(keep, 0, x[i])) kept |= 1u << i;
      }
    } else if (!whole && left <= 0) {
      kept = 0;
    }
  }
  [[nodiscard]] __device__ __forceinline__ unsigned count() const {
    return (kept & 1) + (kept >> 1 & 1) + (kept >> 2 & 1) + (kept >> 3 & 1);
  }
  /// Stores the kept elements from `place` on.
  template <class Line>
  __device__ __forceinline__ void store(const Line& line, std::int64_t place) const {
#pragma unroll
    for (int i = 0; i < quad_of_selection; ++i) {
      if ((kept >> i & 1) != 0) line(place++) = stored_as<typename S::Value>(x[i]);
    }
  }
};

/// Inclusive prefix sums over `width` lanes of counts, several of which may be packed into bytes.
__device__ __forceinline__ unsigned sum_lanes(unsigned counts, int place, int width) {
  for (int distance = 1; distance < width; distance *= 2) {
    const unsigned before = __shfl_up_sync(~0u, counts, distance);
    if (place >= distance) counts += before;
  }
  return counts;
}

/// Publishes the count of a tile plus one, as 0 means "absent".
__device__ __forceinline__ void publish_count(unsigned* at, int count) {
  const auto word = static_cast<unsigned>(count) + 1;
#if defined(__CUDACC__)
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(at), "r"(word) : "memory");
#else
  *at = word;
#endif
}
__device__ __forceinline__ unsigned load_count(const unsigned* at) {
#if defined(__CUDACC__)
  unsigned word;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(word) : "l"(at) : "memory");
  return word;
#else
  return *at;
#endif
}

/// This thread's share of the counts of earlier tiles, requested long before they are needed.
class CountsBefore {
 public:
  __device__ __forceinline__ void ask(const unsigned* published, int first, int end) {
    m_at = first + static_cast<int>(threadIdx.x);
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const int tile = m_at + i * threads_that_select;
      m_words[i] = tile < end ? load_count(published + tile) : 1;
    }
  }
  /// Waits for counts that are not published yet.
  [[nodiscard]] __device__ __forceinline__ std::int64_t sum(const unsigned* published, int end) {
    std::int64_t sum = 0;
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      const unsigned* const at = published + m_at + i * threads_that_select;
      while (m_words[i] == 0) m_words[i] = load_count(at);
      sum += m_words[i] - 1;
    }
    // The rest, if there are unusually many.
    for (int t = m_at + at_once * threads_that_select; t < end; t += threads_that_select) {
      unsigned word = 0;
      while (word == 0) word = load_count(published + t);
      sum += word - 1;
    }
    return sum;
  }

 private:
  static constexpr int at_once = 4;
  int m_at;
  unsigned m_words[at_once];
};

/// A tile of a line.
struct SelectedTile {
  std::int64_t line;
  int tile;   ///< its index in the line, below 2^31
  int total;  ///< elements kept
};

/// Selects from tiles of lines.
///
/// \param memory a ticket counter in 16 bytes, and a 4-byte word per tile; all 0
template <class S>
__global__ void __launch_bounds__(threads_that_select, blocks_that_select<S>)
    select_tiles(const __grid_constant__ S selection, std::int64_t tiles_of_line,
                 std::int64_t tiles, bool are_aligned, std::uint64_t* memory) {
  using Value = typename S::Value;
  constexpr int quads = quads_of_thread<S>;
  constexpr int length = length_of_selected_tile<S>;
  constexpr int length_of_row = threads_that_select * quad_of_selection;
  auto& shared = *reinterpret_cast<SelectionOfBlock*>(shared_memory());
  auto* const slots = reinterpret_cast<Value*>(shared_memory() + bytes_of_selection_of_block);
  const auto thread = static_cast<int>(threadIdx.x);
  const int warp = thread / lanes;
  const int lane = thread % lanes;
  auto* const counts = reinterpret_cast<unsigned*>(memory + 2);
  std::int64_t ticket = 0;
  take_ticket_if(thread == 0, memory, ticket);
  // The tile that waits in shared memory, and the number kept of its line before it.
  SelectedTile waiting{-1, 0, 0};
  bool waits = false;
  int first_unknown = 0;
  std::int64_t before = 0;
  for (int turn = 0;; turn ^= 1) {
    if (thread == 0) shared.ticket = ticket;
    __syncthreads();
    const std::int64_t number = shared.ticket;
    const bool exists = number < tiles;
    if (!exists && !waits) return;
    CountsBefore counts_before;
    const unsigned* const of_waiting = counts + waiting.line * tiles_of_line;
    if (waits) counts_before.ask(of_waiting, first_unknown, waiting.tile);

    SelectedQuad<S> elements[quads];
    SelectedTile current{0, 0, 0};
    if (exists) {
      const Division at(number, tiles_of_line);
      current.line = at.quotient;
      current.tile = static_cast<int>(at.remainder);
      const std::int64_t begin = at.remainder * length;
      const LineOfBatch place{current.line};
      const auto input = selection.input.line(place);
      const auto keep = selection.keep.line(place);
      const std::int64_t left = selection.n - begin;
      const int in_tile = thread * quad_of_selection;
      if (are_aligned && left >= length) {
#pragma unroll
        for (int q = 0; q < quads; ++q) {
          elements[q].template load<true>(input, keep, begin + (in_tile + q * length_of_row), 0);
          elements[q].template ask<true>(selection.keep, 0);
        }
      } else {
        const int limit = left < length ? static_cast<int>(left) : length;
#pragma unroll
        for (int q = 0; q < quads; ++q) {
          const int first = in_tile + q * length_of_row;
          elements[q].template load<false>(input, keep, begin + first, limit - first);
          elements[q].template ask<false>(selection.keep, limit - first);
        }
      }
    }

    // The counts of a warp's quads, at most 128 each, packed into bytes.
    unsigned own = 0;
    unsigned with = 0;
    if (exists) {
#pragma unroll
      for (int q = 0; q < quads; ++q) own |= elements[q].count() << 8 * q;
      with = sum_lanes(own, lane, lanes);
      if (lane == lanes - 1) {
#pragma unroll
        for (int q = 0; q < quads; ++q) {
          shared.counts[q * warps_that_select + warp] = static_cast<int>(with >> 8 * q & 255);
        }
      }
    }
    __syncthreads();
    if (exists) {
      // Each warp sums the counts of all warps.
      constexpr int all = quads * warps_that_select;
      const unsigned of_lane = lane < all ? static_cast<unsigned>(shared.counts[lane]) : 0u;
      const unsigned up_to = sum_lanes(of_lane, lane, lanes);
      current.total = static_cast<int>(__shfl_sync(~0u, up_to, all - 1));
      if (thread == 0 && current.tile < tiles_of_line - 1) {
        // A count says as well that the tile has been read.
        if (selection.is_in_place) __threadfence();
        publish_count(counts + current.line * tiles_of_line + current.tile, current.total);
      }
      Value* const to = slots + turn * length;
#pragma unroll
      for (int q = 0; q < quads; ++q) {
        const auto before_warp = __shfl_sync(~0u, up_to - of_lane, q * warps_that_select + warp);
        const unsigned in_tile = before_warp + ((with - own) >> 8 * q & 255);
        elements[q].store([=](std::int64_t i) -> Value& { return to[i]; }, in_tile);
      }
    }
    if (waits) {
      std::int64_t sum = counts_before.sum(of_waiting, waiting.tile);
      if (selection.is_in_place) __threadfence();
#pragma unroll
      for (int distance = lanes / 2; distance > 0; distance /= 2) {
        sum += shuffle(sum, lane ^ distance);
      }
      if (lane == 0) shared.sums[warp] = sum;
    }
    __syncthreads();
    take_ticket_if(thread == 0 && exists, memory, ticket);
    if (waits) {
#pragma unroll
      for (int w = 0; w < warps_that_select; ++w) before += shared.sums[w];
      const auto output = selection.output.line(LineOfBatch{waiting.line});
      const Value* const from = slots + (turn ^ 1) * length;
      // Two conditions take fewer registers than their minimum.
      for (int i = thread; i < waiting.total && before + i < selection.capacity;
           i += threads_that_select) {
        output(before + i) = from[i];
      }
      before += waiting.total;
      first_unknown = waiting.tile + 1;
      if (thread == 0 && waiting.tile == tiles_of_line - 1) {
        selection.counts.line(LineOfBatch{waiting.line})(0) =
            static_cast<typename S::Count>(before);
      }
    }
    waits = exists;
    if (current.line != waiting.line) {
      before = 0;
      first_unknown = 0;
    }
    waiting = current;
  }
}

/// How warps are divided among short lines.
struct ShortLines {
  int log2_width;     ///< log2 of the lanes of a line
  int steps_of_line;  ///< iterations of a quad per lane
  int lines_of_lane;  ///< in turn
};

/// Selects from whole lines, each by some lanes of a warp. Kept elements are compacted in shared
/// memory, so that stores are coalesced.
///
/// \param are_whole whether all quads are aligned and have four elements
template <class S>
__global__ void __launch_bounds__(threads_that_select)
    select_lines(const __grid_constant__ S selection, ShortLines shape, bool are_whole) {
  using Value = typename S::Value;
  constexpr int quads = quads_of_thread<S>;
  auto* const all_slots = reinterpret_cast<Value*>(shared_memory());
  const auto thread = static_cast<int>(threadIdx.x);
  const int lane = thread % lanes;
  const int width = 1 << shape.log2_width;
  const int place = lane & (width - 1);
  const int own_line = lane >> shape.log2_width;  // of those side by side
  const int lines_of_step = lanes >> shape.log2_width;
  const int elements_of_step = width * quad_of_selection;  // of a line
  Value* const slots = all_slots + (thread - lane) * quad_of_selection;
  const std::int64_t warp = (std::int64_t{blockIdx.x} * threads_that_select + thread) / lanes;
  const int steps = shape.steps_of_line * shape.lines_of_lane;

  std::int64_t next_lines = warp * lines_of_step * shape.lines_of_lane;
  int step_of_line = 0;
  int count = 0;  // of the line so far
  for (int begin = 0; begin < steps; begin += quads) {
    // Load as many quads as registers hold, unconditionally, so that loads overlap. Where there is
    // no quad, load the first.
    SelectedQuad<S> elements[quads];
    std::int64_t first_lines[quads];
    int left[quads];
    bool ends_lines[quads];
#pragma unroll
    for (int q = 0; q < quads; ++q) {
      first_lines[q] = next_lines;
      const std::int64_t line = next_lines + own_line;
      const int k = step_of_line * elements_of_step + place * quad_of_selection;
      const bool exists = begin + q < steps && line < selection.batch.count && k < selection.n;
      left[q] = exists ? static_cast<int>(selection.n) - k : 0;
      if (are_whole) {
        const LineOfBatch at{exists ? line : 0};
        elements[q].template load<true>(selection.input.line(at), selection.keep.line(at),
                                        exists ? k : 0, quad_of_selection);
      } else if (exists) {
        const LineOfBatch at{line};
        elements[q].template load<false>(selection.input.line(at), selection.keep.line(at), k,
                                         left[q] < quad_of_selection ? left[q] : quad_of_selection);
      }
      ends_lines[q] = ++step_of_line == shape.steps_of_line;
      if (ends_lines[q]) {
        step_of_line = 0;
        next_lines += lines_of_step;
      }
    }
#pragma unroll
    for (int q = 0; q < quads; ++q) {
      if (begin + q >= steps) break;
      elements[q].template ask<false>(selection.keep, left[q]);
      const unsigned own = elements[q].count();
      const unsigned with = sum_lanes(own, place, width);
      const int kept = static_cast<int>(__shfl_sync(~0u, with, lane | (width - 1)));
      elements[q].store([=](std::int64_t i) -> Value& { return slots[i]; },
                        own_line* elements_of_step + static_cast<int>(with - own));
      __syncwarp();
#pragma unroll
      for (int i = 0; i < quad_of_selection; ++i) {
        const int slot = i * lanes + lane;
        const int in_line = slot & (elements_of_step - 1);
        const int line = slot / quad_of_selection >> shape.log2_width;
        const int kept_of_line = __shfl_sync(~0u, kept, line << shape.log2_width);
        const int before = __shfl_sync(~0u, count, line << shape.log2_width);
        if (in_line < kept_of_line && before + in_line < selection.capacity) {
          selection.output.line(LineOfBatch{first_lines[q] + line})(before + in_line) = slots[slot];
        }
      }
      __syncwarp();
      count += kept;
      if (ends_lines[q]) {
        const std::int64_t line = first_lines[q] + own_line;
        if (place == 0 && line < selection.batch.count) {
          selection.counts.line(LineOfBatch{line})(0) = static_cast<typename S::Count>(count);
        }
        count = 0;
      }
    }
  }
}

/// The kernels for selections.
struct SelectBackend {
  /// Whether the kernels accept a type of selection.
  template <class S>
  static constexpr bool supports =
      sizeof(typename S::Element) <= largest_selected_value &&
      sizeof(typename S::Value) <=
          largest_selected_value&& std::is_default_constructible_v<typename S::Element>;

  template <class Exec, class S>
  static constexpr bool works_in_place = true;

  template <class S, class Exec>
  std::size_t workspace_bytes(const Exec&, std::int64_t n, std::int64_t lines) const {
    if (n <= longest_short_selection) return 0;
    return static_cast<std::size_t>(16 + 4 * lines * tiles_of_line<S>(n));
  }

  template <class Exec, class S>
  void select(const Exec& exec, const S& s, std::byte* workspace) const {
    const std::int64_t lines = s.batch.count;
    const bool are_aligned = are_quads(s.input, s.batch) && are_quads(s.keep, s.batch);
    if (s.n <= longest_short_selection) {
      ShortLines shape{0, 1, 1};
      std::int64_t elements_of_step = quad_of_selection;
      for (; 1 << shape.log2_width < lanes && elements_of_step < s.n; elements_of_step *= 2) {
        ++shape.log2_width;
      }
      shape.steps_of_line = static_cast<int>(divide_up(s.n, elements_of_step));
      shape.lines_of_lane = std::max(1, quads_of_thread<S> / shape.steps_of_line);
      const std::int64_t threads = divide_up(lines, shape.lines_of_lane) << shape.log2_width;
      const Launch launch{
          Function::select, "cuda/select_lines", divide_up(threads, threads_that_select),
          threads_that_select,
          threads_that_select * quad_of_selection * static_cast<int>(sizeof(typename S::Value))};
      return enqueue(exec, launch, select_lines<S>, s.n, lines, s, shape,
                     are_aligned && s.n % quad_of_selection == 0);
    }
    const std::int64_t tiles = tiles_of_line<S>(s.n);
    const std::size_t bytes = workspace_bytes<S>(exec, s.n, lines);
    constexpr int length = length_of_selected_tile<S>;
    const std::int64_t resident =
        std::int64_t{blocks_that_select<S>} * std::max(1, multiprocessors(exec));
    const Launch launch{
        Function::select, "cuda/select_tiles", std::min(lines * tiles, resident),
        threads_that_select,
        bytes_of_selection_of_block + 2 * length * static_cast<int>(sizeof(typename S::Value))};
    std::optional<Temporary<Exec>> memory;
    if (workspace == nullptr) workspace = memory.emplace(exec, bytes).data();
    clear(exec, launch, workspace, bytes, s.n, lines);
    enqueue(exec, launch, select_tiles<S>, s.n, lines, s, tiles, lines * tiles, are_aligned,
            reinterpret_cast<std::uint64_t*>(workspace));
  }

 private:
  template <class S>
  static std::int64_t tiles_of_line(std::int64_t n) {
    return divide_up(n, length_of_selected_tile<S>);
  }
};

}  // namespace KokkosScan::impl::cuda
