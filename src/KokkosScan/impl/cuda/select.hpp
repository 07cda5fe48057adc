// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The kernels that select elements.
///
/// A block takes a tile of a line by a ticket, asks the predicate for each element, and publishes
/// how many are kept. While its warps put those beside each other in shared memory, one looks back
/// at the tiles before: it sums their counts up to the next one that knows all that comes before
/// it (Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back", NVIDIA
/// 2016). Counts are whole numbers, so the order in which they are summed does not matter. Tickets
/// follow memory, so whoever waits, waits for a block that runs.
///
/// Short lines, and lines that are many, have 1 to 32 lanes of a warp each, and nobody waits.

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

/// Neighbouring elements that a thread takes at once.
inline constexpr int quad_of_selection = 4;
/// Threads of a block.
inline constexpr int threads_that_select = 256;
inline constexpr int warps_that_select = threads_that_select / lanes;
/// Blocks of a multiprocessor, which go on with further tiles: as many as have registers for their
/// elements.
template <class S>
inline constexpr int blocks_that_select =
    sizeof(typename S::Element) <= 8 && is_predicate<typename S::Keep> ? 6 : 4;
/// Longest lines of which tiles are not worth it, and lines that keep all warps busy.
inline constexpr std::int64_t longest_short_selection = 1024;
inline constexpr std::int64_t warps_of_multiprocessor = 64;

/// Quads of a thread: its elements stay in registers.
template <class T>
inline constexpr int quads_of_thread = sizeof(T) <= 4 ? 4 : (sizeof(T) <= 8 ? 2 : 1);

template <class T>
inline constexpr int length_of_selected_tile =
    threads_that_select* quads_of_thread<T>* quad_of_selection;

/// Four neighbours, which are loaded together where they are aligned.
template <class T>
struct alignas(std::min<std::size_t>(16, sizeof(T) * quad_of_selection)) Quad {
  T x[quad_of_selection];
};
template <class T>
inline constexpr bool has_quads = sizeof(T) <= 8 && (sizeof(T) & (sizeof(T) - 1)) == 0;

/// Whether quads of an operand are aligned: those of a computed one always are.
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

/// What the threads of a block share besides the elements that are kept.
struct SelectionOfBlock {
  std::int64_t ticket;
  std::int64_t before;  ///< elements of the line that are kept before the tile
  int counts[4 * warps_that_select];
};
inline constexpr int bytes_of_selection_of_block = 256;
static_assert(sizeof(SelectionOfBlock) <= bytes_of_selection_of_block);

/// Loads a quad of a line from element k on.
///
/// \param left elements of the line from k on; of no meaning where all quads are aligned and whole
template <bool whole, class Line, class T>
__device__ __forceinline__ void load_quad(const Line& line, std::int64_t k, int left,
                                          T (&x)[quad_of_selection]) {
  if constexpr (whole && has_quads<T> && requires { line.data; }) {
    const Quad<T> quad = *reinterpret_cast<const Quad<T>*>(line.data + k);
#pragma unroll
    for (int i = 0; i < quad_of_selection; ++i) x[i] = quad.x[i];
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
  typename S::Element x[quad_of_selection];
  unsigned kept;

  /// \tparam whole whether the quad is aligned in memory and has four elements
  template <bool whole, class Input, class Keep>
  __device__ __forceinline__ void load(const Input& input, const Keep& keep, std::int64_t k,
                                       int left) {
    kept = 0;
    if constexpr (is_predicate<typename S::Keep>) {
      load_quad<whole>(input, k, left, x);
#pragma unroll
      for (int i = 0; i < quad_of_selection; ++i) {
        if ((whole || i < left) && is_kept(keep, k + i, x[i])) kept |= 1u << i;
      }
    } else {
      std::remove_cvref_t<decltype(keep(k))> mask[quad_of_selection];
      load_quad<whole>(keep, k, left, mask);
#pragma unroll
      for (int i = 0; i < quad_of_selection; ++i) {
        if ((whole || i < left) && static_cast<bool>(mask[i])) kept |= 1u << i;
      }
      load_quad<whole>(input, k, left, x);
    }
  }
  [[nodiscard]] __device__ __forceinline__ unsigned count() const {
    return (kept & 1) + (kept >> 1 & 1) + (kept >> 2 & 1) + (kept >> 3 & 1);
  }
  /// Stores those that are kept from a place on.
  template <class Line>
  __device__ __forceinline__ void store(const Line& line, std::int64_t place) const {
#pragma unroll
    for (int i = 0; i < quad_of_selection; ++i) {
      if ((kept >> i & 1) != 0) line(place++) = static_cast<typename S::Value>(x[i]);
    }
  }
};

/// The counts of lanes up to and with the own, of `width` neighbours; several in the bytes of one.
__device__ __forceinline__ unsigned sum_lanes(unsigned counts, int place, int width) {
  for (int distance = 1; distance < width; distance *= 2) {
    const unsigned before = __shfl_up_sync(~0u, counts, distance);
    if (place >= distance) counts += before;
  }
  return counts;
}

/// How a tile's count is published: two bits say what it counts, none that it is not there.
enum class CountOf : unsigned { tile = 1, all = 2 };
__device__ __forceinline__ void publish_count(std::uint64_t* at, std::int64_t count, CountOf what) {
  store_word(at, static_cast<std::uint64_t>(count) << 2 | static_cast<unsigned>(what));
}

/// The elements kept before a tile of a line, for one warp; the tile is not the first.
///
/// \param published where the counts of the line's tiles are
__device__ __forceinline__ std::int64_t count_before(const std::uint64_t* published,
                                                     std::int64_t tile) {
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  std::int64_t before = 0;
  for (std::int64_t last = tile - 1;; last -= lanes) {
    const std::int64_t at = last - lane;
    std::uint64_t word = 0;
    while (!__all_sync(~0u, at < 0 || word != 0)) {
      if (at >= 0 && word == 0) word = load_word<0>(published + at);
    }
    const bool is_of_all = (word & 3) == static_cast<unsigned>(CountOf::all);
    const unsigned of_all = __ballot_sync(~0u, is_of_all);
    const int nearest = of_all == 0 ? lanes : __ffs(static_cast<int>(of_all)) - 1;
    auto count = static_cast<std::int64_t>(lane <= nearest ? word >> 2 : 0);
#pragma unroll
    for (int distance = lanes / 2; distance > 0; distance /= 2) {
      count += shuffle(count, lane ^ distance);
    }
    before += count;
    if (of_all != 0) return before;
  }
}

/// Selects from tiles of lines.
///
/// \param memory a counter of tickets and a word for each tile, all 0
template <class S>
__global__ void __launch_bounds__(threads_that_select, blocks_that_select<S>)
    select_tiles(const __grid_constant__ S selection, std::int64_t tiles_of_line,
                 std::int64_t tiles, bool are_aligned, std::uint64_t* memory) {
  using Value = typename S::Value;
  constexpr int quads = quads_of_thread<typename S::Element>;
  constexpr int length = length_of_selected_tile<typename S::Element>;
  constexpr int length_of_row = threads_that_select * quad_of_selection;
  auto& shared = *reinterpret_cast<SelectionOfBlock*>(shared_memory());
  auto* const slots = reinterpret_cast<Value*>(shared_memory() + bytes_of_selection_of_block);
  const auto thread = static_cast<int>(threadIdx.x);
  const int warp = thread / lanes;
  const int lane = thread % lanes;
  std::int64_t ticket = 0;
  take_ticket_if(thread == 0, memory, ticket);
  for (;;) {
    if (thread == 0) shared.ticket = ticket;
    __syncthreads();
    const std::int64_t number = shared.ticket;
    if (number >= tiles) return;
    const std::int64_t line = number / tiles_of_line;
    const std::int64_t tile = number - line * tiles_of_line;
    const std::int64_t begin = tile * length;
    const Coordinates place = selection.batch.coordinates(line);
    const auto input = selection.input.line(place);
    const auto keep = selection.keep.line(place);
    SelectedQuad<S> elements[quads];
    const std::int64_t left = selection.n - begin;
    const int in_tile = thread * quad_of_selection;
    if (are_aligned && left >= length) {
#pragma unroll
      for (int q = 0; q < quads; ++q) {
        elements[q].template load<true>(input, keep, begin + (in_tile + q * length_of_row), 0);
      }
    } else {
      const int limit = left < length ? static_cast<int>(left) : length;
#pragma unroll
      for (int q = 0; q < quads; ++q) {
        const int at = in_tile + q * length_of_row;
        elements[q].template load<false>(input, keep, begin + at, limit - at);
      }
    }
    // It takes a while; nobody waits for a later ticket.
    take_ticket_if(thread == 0, memory, ticket);

    // The counts of a warp's quads, at most 128 each, in the bytes of one number.
    unsigned own = 0;
#pragma unroll
    for (int q = 0; q < quads; ++q) own |= elements[q].count() << 8 * q;
    const unsigned with = sum_lanes(own, lane, lanes);
    if (lane == lanes - 1) {
#pragma unroll
      for (int q = 0; q < quads; ++q) {
        shared.counts[q * warps_that_select + warp] = static_cast<int>(with >> 8 * q & 255);
      }
    }
    __syncthreads();
    // Each warp sums those of all.
    constexpr int all = quads * warps_that_select;
    const unsigned of_lane = lane < all ? static_cast<unsigned>(shared.counts[lane]) : 0u;
    const unsigned up_to = sum_lanes(of_lane, lane, lanes);
    const auto total = static_cast<int>(__shfl_sync(~0u, up_to, all - 1));
    std::uint64_t* const published = memory + 2 + line * tiles_of_line;
    if (thread == 0) {
      publish_count(published + tile, total, tile == 0 ? CountOf::all : CountOf::tile);
    }
#pragma unroll
    for (int q = 0; q < quads; ++q) {
      const auto before_warp = __shfl_sync(~0u, up_to - of_lane, q * warps_that_select + warp);
      const unsigned before = before_warp + ((with - own) >> 8 * q & 255);
      elements[q].store([=](std::int64_t i) -> Value& { return slots[i]; }, before);
    }
    if (warp == 0) {
      std::int64_t before = 0;
      if (tile > 0) {
        before = count_before(published, tile);
        if (lane == 0) publish_count(published + tile, before + total, CountOf::all);
      }
      if (lane == 0) {
        shared.before = before;
        if (tile == tiles_of_line - 1) {
          selection.counts.line(place)(0) = static_cast<typename S::Count>(before + total);
        }
      }
    }
    __syncthreads();
    const std::int64_t before = shared.before;
    const auto output = selection.output.line(place);
    for (int i = thread; i < total; i += threads_that_select) output(before + i) = slots[i];
  }
}

/// Selects from whole lines, each by `width` lanes of a warp.
template <class S>
__global__ void __launch_bounds__(threads_that_select)
    select_lines(const __grid_constant__ S selection, int width, bool are_aligned) {
  const auto thread = static_cast<int>(threadIdx.x);
  const int place_in_line = thread % width;
  const std::int64_t line = (std::int64_t{blockIdx.x} * threads_that_select + thread) / width;
  const bool exists = line < selection.batch.count;
  const Coordinates place = selection.batch.coordinates(exists ? line : 0);
  const auto input = selection.input.line(place);
  const auto keep = selection.keep.line(place);
  const auto output = selection.output.line(place);
  const std::int64_t n = exists ? selection.n : 0;
  std::int64_t count = 0;
  for (std::int64_t k = place_in_line * quad_of_selection;
       k - place_in_line * quad_of_selection < selection.n; k += width * quad_of_selection) {
    SelectedQuad<S> quad;
    const std::int64_t left = n - k;
    if (are_aligned && left >= quad_of_selection) {
      quad.template load<true>(input, keep, k, 0);
    } else {
      quad.template load<false>(
          input, keep, k, left < quad_of_selection ? static_cast<int>(left) : quad_of_selection);
    }
    const unsigned own = quad.count();
    const unsigned with = sum_lanes(own, place_in_line, width);
    quad.store(output, count + (with - own));
    count += __shfl_sync(~0u, with, thread % lanes - place_in_line + width - 1);
  }
  if (exists && place_in_line == 0) {
    selection.counts.line(place)(0) = static_cast<typename S::Count>(count);
  }
}

/// The kernels for selections.
struct SelectBackend {
  /// Whether the kernels take a type of selection.
  template <class S>
  static constexpr bool supports =
      sizeof(typename S::Element) <= largest_value &&
      sizeof(typename S::Value) <=
          largest_value&& std::is_default_constructible_v<typename S::Element>;

  template <class S, class Exec>
  std::size_t workspace_bytes(const Exec& exec, std::int64_t n, std::int64_t lines) const {
    if (!takes_tiles(n, lines, multiprocessors(exec))) return 0;
    return static_cast<std::size_t>(16 + 8 * lines * tiles_of_line<S>(n));
  }

  template <class Exec, class S>
  void select(const Exec& exec, const S& s, std::byte* workspace) const {
    const std::int64_t lines = s.batch.count;
    const bool are_aligned = are_quads(s.input, s.batch) && are_quads(s.keep, s.batch);
    if (!takes_tiles(s.n, lines, multiprocessors(exec))) {
      int width = 1;
      while (width < lanes && width * quad_of_selection < s.n) width *= 2;
      const Launch launch{Function::select, "cuda/select_lines",
                          divide_up(lines * width, threads_that_select), threads_that_select, 0};
      return enqueue(exec, launch, select_lines<S>, s.n, lines, s, width, are_aligned);
    }
    const std::int64_t tiles = tiles_of_line<S>(s.n);
    const std::size_t bytes = workspace_bytes<S>(exec, s.n, lines);
    constexpr int length = length_of_selected_tile<typename S::Element>;
    const std::int64_t resident =
        std::int64_t{blocks_that_select<S>} * std::max(1, multiprocessors(exec));
    const Launch launch{
        Function::select, "cuda/select_tiles", std::min(lines * tiles, resident),
        threads_that_select,
        bytes_of_selection_of_block + length * static_cast<int>(sizeof(typename S::Value))};
    std::optional<Temporary<Exec>> memory;
    if (workspace == nullptr) workspace = memory.emplace(exec, bytes).data();
    clear(exec, launch, workspace, bytes, s.n, lines);
    enqueue(exec, launch, select_tiles<S>, s.n, lines, s, tiles, lines * tiles, are_aligned,
            reinterpret_cast<std::uint64_t*>(workspace));
  }

 private:
  static bool takes_tiles(std::int64_t n, std::int64_t lines, int multiprocessors) {
    return n > longest_short_selection && lines < warps_of_multiprocessor * multiprocessors;
  }
  template <class S>
  static std::int64_t tiles_of_line(std::int64_t n) {
    return divide_up(n, length_of_selected_tile<typename S::Element>);
  }
};

}  // namespace KokkosScan::impl::cuda
