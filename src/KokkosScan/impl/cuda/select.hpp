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
#include <KokkosScan/impl/cuda/operand_access.hpp>
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

/// Quads per thread: elements stay in registers until they are counted.
template <class S>
inline constexpr int quads_of_thread = [] {
  const std::size_t size = std::max(sizeof(typename S::Element), sizeof(typename S::Value));
  return size <= 4 ? 4 : (size <= 8 ? 2 : 1);
}();

template <class S>
inline constexpr int length_of_selected_tile =
    threads_that_select* quads_of_thread<S>* quad_of_selection;

/// Whether the quads of an operand are aligned; those of a computed one always are.
template <class T>
bool are_quads(const Array<const T>& array, const Batch& batch) {
  return is_one_move<sizeof(T)> && array.strides.along == 1 &&
         OperandAccess<Array<const T>>::template has_aligned_packs<quad_of_selection>(array, batch);
}
template <class Other>
bool are_quads(const Other&, const Batch&) {
  return true;
}

/// Loads the quad of a line that begins at element k.
///
/// \param left elements of the line from k on; ignored if `whole`
template <bool whole, class Line, class T>
__device__ __forceinline__ void load_quad(const Line& line, std::int64_t k, int left,
                                          T (&x)[quad_of_selection]) {
  if constexpr (whole && is_one_move<sizeof(T)> && requires { line.data; }) {
    constexpr int E = sizeof(T) > 8 ? 1 : (sizeof(T) == 8 ? 2 : quad_of_selection);
    T pack[E];
#pragma unroll
    for (int i = 0; i < quad_of_selection; ++i) {
      if (i % E == 0) move_pack(pack, reinterpret_cast<const std::byte*>(line.data + k + i));
      x[i] = pack[i % E];
    }
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
    load_quad<whole>(input, k, left, x);
    kept = 0;
    if constexpr (is_predicate<typename S::Keep>) {
#pragma unroll
      for (int i = 0; i < quad_of_selection; ++i) {
        if ((whole || i < left) && is_kept(keep, 0, x[i])) kept |= 1u << i;
      }
    } else {
      std::remove_cvref_t<decltype(keep(k))> mask[quad_of_selection];
      load_quad<whole>(keep, k, left, mask);
#pragma unroll
      for (int i = 0; i < quad_of_selection; ++i) {
        if ((whole || i < left) && static_cast<bool>(mask[i])) kept |= 1u << i;
      }
    }
  }
  [[nodiscard]] __device__ __forceinline__ unsigned count() const {
    return (kept & 1) + (kept >> 1 & 1) + (kept >> 2 & 1) + (kept >> 3 & 1);
  }
  /// Calls keep(i, value) for the kept elements, from i on.
  template <class Keep>
  __device__ __forceinline__ void keep_from(int i, const Keep& keep) const {
#pragma unroll
    for (int e = 0; e < quad_of_selection; ++e) {
      if ((kept >> e & 1) != 0) keep(i++, stored_as<typename S::Value>(x[e]));
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

/// What the threads of a block share besides kept elements.
struct SelectionOfBlock {
  std::int64_t ticket;
  std::int64_t sums[warps_that_select];  ///< of the counts of earlier tiles
  unsigned counts[4 * warps_that_select];
};
inline constexpr int bytes_of_selection_of_block = 256;
static_assert(sizeof(SelectionOfBlock) <= bytes_of_selection_of_block);

/// A tile of a line.
struct SelectedTile {
  std::int64_t line;  ///< -1: none
  int tile;           ///< its index in the line, below 2^31
  int total;          ///< elements kept
};

/// Selects from tiles of lines.
///
/// \param memory a ticket counter in 16 bytes, and a word per tile; all 0
template <class S>
__global__ void __launch_bounds__(threads_that_select, blocks_that_select<S>)
    select_tiles(const __grid_constant__ S selection, std::int64_t tiles_of_line,
                 std::int64_t tiles, bool are_aligned, std::uint64_t* memory) {
  using Value = typename S::Value;
  constexpr int quads = quads_of_thread<S>;
  constexpr int length = length_of_selected_tile<S>;
  auto& shared = *reinterpret_cast<SelectionOfBlock*>(shared_memory());
  auto* const slots = reinterpret_cast<Value*>(shared_memory() + bytes_of_selection_of_block);
  const auto thread = static_cast<int>(threadIdx.x);
  const int warp = thread / lanes;
  const int lane = thread % lanes;
  const auto published = [&](const SelectedTile& of) {
    return memory + 2 + of.line * tiles_of_line + of.tile;
  };
  std::int64_t ticket = 0;
  take_ticket_if(thread == 0, memory, ticket);
  // The tile that waits in shared memory, and the number kept of its line before tile `known`.
  SelectedTile waiting{-1, 0, 0};
  int known = 0;
  std::int64_t before = 0;
  for (int turn = 0;; turn ^= 1) {
    if (thread == 0) shared.ticket = ticket;
    __syncthreads();
    const bool exists = shared.ticket < tiles;
    if (!exists && waiting.line < 0) return;
    const Division at(exists ? shared.ticket : 0, tiles_of_line);
    SelectedTile current{exists ? at.quotient : -1, static_cast<int>(at.remainder), 0};
    // This thread's share of the counts since the waiting tile, requested long before the sum.
    constexpr int at_once = 4;
    const std::uint64_t* const counts = published({waiting.line, known, 0}) + thread;
    const int missing = waiting.tile - known - thread;
    std::uint64_t words[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      words[i] = Published<unsigned>(0).word[0];
      load_word_if(i * threads_that_select < missing, counts + i * threads_that_select, words[i]);
    }

    SelectedQuad<S> elements[quads];
    const std::int64_t begin = at.remainder * length;
    const std::int64_t left = exists ? selection.n - begin : 0;
    const auto load = [&](auto whole) {
      const LineOfBatch place{at.quotient};
      const int limit = left < length ? static_cast<int>(left) : length;
#pragma unroll
      for (int q = 0; q < quads; ++q) {
        const int first = (thread + q * threads_that_select) * quad_of_selection;
        elements[q].template load<whole.value>(
            selection.input.line(place), selection.keep.line(place), begin + first, limit - first);
      }
    };
    are_aligned&& left >= length ? load(std::true_type{}) : load(std::false_type{});

    // The counts of a warp's quads, at most 128 each, packed into bytes.
    unsigned own = 0;
#pragma unroll
    for (int q = 0; q < quads; ++q) own |= elements[q].count() << 8 * q;
    const unsigned with = sum_lanes(own, lane, lanes);
    if (lane == lanes - 1) {
#pragma unroll
      for (int q = 0; q < quads; ++q) {
        shared.counts[q * warps_that_select + warp] = with >> 8 * q & 255;
      }
    }
    __syncthreads();
    // Each warp sums the counts of all warps.
    constexpr int all = quads * warps_that_select;
    const unsigned of_lane = lane < all ? shared.counts[lane] : 0u;
    const unsigned up_to = sum_lanes(of_lane, lane, lanes);
    const unsigned total = __shfl_sync(~0u, up_to, all - 1);
    current.total = static_cast<int>(total);
    if (thread == 0 && exists && current.tile < tiles_of_line - 1) {
      // A count says as well that the tile has been read.
      if (selection.is_in_place) __threadfence();
      publish(published(current), total);
    }
#pragma unroll
    for (int q = 0; q < quads; ++q) {
      const unsigned before_warp = __shfl_sync(~0u, up_to - of_lane, q * warps_that_select + warp);
      elements[q].keep_from(static_cast<int>(before_warp + ((with - own) >> 8 * q & 255)),
                            [&](int i, const Value& value) { slots[turn * length + i] = value; });
    }
    std::int64_t sum = 0;
    const auto add = [&](const std::uint64_t* from, std::uint64_t word) {
      while (word == 0) word = load_word(from);
      sum += static_cast<unsigned>(word);
    };
#pragma unroll
    for (int i = 0; i < at_once; ++i) add(counts + i * threads_that_select, words[i]);
    // The rest, if there are unusually many.
    for (int i = at_once * threads_that_select; i < missing; i += threads_that_select) {
      add(counts + i, 0);
    }
    if (selection.is_in_place) __threadfence();
#pragma unroll
    for (int distance = lanes / 2; distance > 0; distance /= 2) {
      sum += shuffle(sum, lane ^ distance);
    }
    if (lane == 0) shared.sums[warp] = sum;
    __syncthreads();
    take_ticket_if(thread == 0 && exists, memory, ticket);
    if (waiting.line >= 0) {
#pragma unroll
      for (int w = 0; w < warps_that_select; ++w) before += shared.sums[w];
      const LineOfBatch place{waiting.line};
      const auto output = selection.output.line(place);
      const Value* const from = slots + (turn ^ 1) * length;
      // Two conditions take fewer registers than their minimum.
      for (int i = thread; i < waiting.total && before + i < selection.capacity;
           i += threads_that_select) {
        output(before + i) = from[i];
      }
      before += waiting.total;
      known = waiting.tile + 1;
      if (thread == 0 && known == tiles_of_line) {
        selection.counts.line(place)(0) = static_cast<typename S::Count>(before);
      }
    }
    if (current.line != waiting.line) {
      before = 0;
      known = 0;
    }
    waiting = current;
  }
}

/// Selects from short lines, each by some lanes of a warp.
///
/// \param width     lanes of a line
/// \param are_whole whether all quads are aligned and have four elements
template <class S>
__global__ void __launch_bounds__(threads_that_select)
    select_lines(const __grid_constant__ S selection, int width, bool are_whole) {
  const std::int64_t index = std::int64_t{blockIdx.x} * threads_that_select + threadIdx.x;
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const int place = lane % width;
  const bool exists = index / width < selection.batch.count;
  const LineOfBatch line{exists ? index / width : 0};
  const auto output = selection.output.line(line);
  std::int64_t count = 0;  // of the line so far
  for (int begin = 0; begin < selection.n; begin += width * quad_of_selection) {
    const int k = begin + place * quad_of_selection;
    const int left = exists ? static_cast<int>(selection.n) - k : 0;
    SelectedQuad<S> elements;
    if (are_whole && left > 0) {
      elements.template load<true>(selection.input.line(line), selection.keep.line(line), k, left);
    } else {
      elements.template load<false>(selection.input.line(line), selection.keep.line(line), k, left);
    }
    const unsigned own = elements.count();
    const unsigned with = sum_lanes(own, place, width);
    const unsigned kept = __shfl_sync(~0u, with, lane | (width - 1));
    __syncwarp();  // in place, all lanes have read before one stores
    elements.keep_from(static_cast<int>(with - own), [&](int i, const typename S::Value& value) {
      if (count + i < selection.capacity) output(count + i) = value;
    });
    count += kept;
  }
  if (place == 0 && exists) {
    selection.counts.line(line)(0) = static_cast<typename S::Count>(count);
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
    return static_cast<std::size_t>(16 + 8 * lines * tiles_of_line<S>(n));
  }

  template <class Exec, class S>
  void select(const Exec& exec, const S& s, std::byte* workspace) const {
    const std::int64_t lines = s.batch.count;
    const bool are_aligned = are_quads(s.input, s.batch) && are_quads(s.keep, s.batch);
    if (s.n <= longest_short_selection) {
      int width = 1;
      while (width < lanes && quad_of_selection * width < s.n) width *= 2;
      const Launch launch{Function::select, "cuda/select_lines",
                          divide_up(lines * width, threads_that_select), threads_that_select, 0};
      return enqueue(exec, launch, select_lines<S>, s.n, lines, s, width,
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
