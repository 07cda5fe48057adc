// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How the tiles of a long line learn what comes before them.
///
/// Blocks take tiles by a ticket, in the order of memory, so whoever waits, waits for blocks that
/// have started: no tile needs another to be resident. A block publishes the total of its tile as
/// soon as it knows it. Each block reads the totals of all tiles, and keeps a prefix of its own
/// from its tile to its next: no chain of prefixes runs from block to block, as in a look-back.
/// (Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back", NVIDIA 2016,
/// has chains of inclusive prefixes instead.)
///
/// The prefix of a tile is one expression, whoever computes it: the tiles of a line form groups of
/// 32, within which totals combine by the scheme of Kogge and Stone; groups combine left to right.
/// The starting value is part of the first tile's total.

#include <KokkosScan/impl/cuda/barrier.hpp>
#include <KokkosScan/impl/cuda/warp.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace KokkosScan::impl::cuda {

/// How a value is written to global memory, where others wait for it: as 64-bit words that are not
/// zero once they are there. Each is read and written whole, so no order between them is needed.
/// Memory must be zero before. In general a word holds 32 bits of the value below a flag.
template <class R>
struct Published {
  static constexpr int words = Words<R>::count;

  std::uint64_t word[words];

  Published() = default;
  __device__ __forceinline__ explicit Published(const R& value) {
    const Words<R> bits(value);
#pragma unroll
    for (int w = 0; w < words; ++w) word[w] = (std::uint64_t{1} << 32) | bits.word[w];
  }
  __device__ __forceinline__ void get(R& value) const {
    Words<R> bits;
#pragma unroll
    for (int w = 0; w < words; ++w) bits.word[w] = static_cast<unsigned>(word[w]);
    bits.get(value);
  }
};

/// A double is one word, in which the bits of one NaN among many mean that it is not there.
template <>
struct Published<double> {
  static constexpr int words = 1;
  static constexpr std::uint64_t absent = 0x7FF8'0123'4567'89AB;
  static constexpr std::uint64_t usual_nan = 0x7FF8'0000'0000'0000;

  std::uint64_t word[1];

  Published() = default;
  __device__ __forceinline__ explicit Published(double value) {
    std::uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    word[0] = (bits == absent ? usual_nan : bits) ^ absent;
  }
  __device__ __forceinline__ void get(double& value) const {
    const std::uint64_t bits = word[0] ^ absent;
    memcpy(&value, &bits, sizeof bits);
  }
};

__device__ __forceinline__ void store_word(std::uint64_t* at, std::uint64_t word) {
#if defined(__CUDACC__)
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(at), "l"(word) : "memory");
#else
  *at = word;
#endif
}
/// \tparam Distance of the word from `at`: a constant, for which no register is needed
template <int Distance>
__device__ __forceinline__ std::uint64_t load_word(const std::uint64_t* at) {
#if defined(__CUDACC__)
  std::uint64_t word;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1 + %2];"
               : "=l"(word)
               : "l"(at), "n"(8 * Distance)
               : "memory");
  return word;
#else
  return at[Distance];
#endif
}

#if defined(__CUDACC__)
/// A word as it is now: 0 where it is not there yet.
__device__ __forceinline__ std::uint64_t look_at_word(const std::uint64_t* at) {
  return load_word<0>(at);
}
#endif

/// Loads a word if the condition holds, else leaves it as it is.
__device__ __forceinline__ void load_word_if(bool condition, const std::uint64_t* at,
                                             std::uint64_t& word) {
#if defined(__CUDACC__)
  asm volatile(
      "{\n\t"
      ".reg .pred p;\n\t"
      "setp.ne.u32 p, %2, 0;\n\t"
      "@p ld.relaxed.gpu.global.u64 %0, [%1];\n\t"
      "}"
      : "+l"(word)
      : "l"(at), "r"(static_cast<unsigned>(condition))
      : "memory");
#else
  if (condition) word = *at;
#endif
}

/// Takes the next ticket from a counter, if the condition holds. (With a branch the thread would
/// wait for the number at the end of the branch.)
__device__ __forceinline__ void take_ticket_if(bool condition, std::uint64_t* counter,
                                               std::int64_t& ticket) {
#if defined(__CUDACC__)
  asm volatile(
      "{\n\t"
      ".reg .pred p;\n\t"
      "setp.ne.u32 p, %2, 0;\n\t"
      "@p atom.relaxed.gpu.global.add.u64 %0, [%1], 1;\n\t"
      "}"
      : "+l"(ticket)
      : "l"(counter), "r"(static_cast<unsigned>(condition))
      : "memory");
#else
  if (condition) ticket = static_cast<std::int64_t>((*counter)++);
#endif
}

/// The memory through which blocks communicate: tickets, and the total of each tile.
template <class R>
struct Carry {
  std::uint64_t* memory;
  std::int64_t tiles_of_line;

  static constexpr std::int64_t bytes(std::int64_t lines, std::int64_t tiles_of_line) {
    return tiles_of_line <= 1 ? 0 : 16 + lines * tiles_of_line * Published<R>::words * 8;
  }

  /// Where the tiles that blocks have taken are counted.
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* tickets() const { return memory; }
  /// Where the total of a tile is published.
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* total(std::int64_t line,
                                                                std::int64_t tile) const {
    return memory + 2 + (line * tiles_of_line + tile) * Published<R>::words;
  }
  __device__ __forceinline__ void publish(std::int64_t line, std::int64_t tile,
                                          const R& total_of_tile) const {
    const Published<R> published(total_of_tile);
    std::uint64_t* const at = total(line, tile);
#pragma unroll
    for (int w = 0; w < Published<R>::words; ++w) store_word(at + w, published.word[w]);
  }
};

/// What comes before a tile, and what comes before the next.
template <class Op, class R>
struct Prefixes {
  Fold<Op, R> before;
  R with;  ///< meaningless for the last tile of a line
};

/// The prefix that a warp carries from tile to tile of its block, in ascending order.
template <class Op, class R>
class CarriedPrefix {
 public:
  __device__ __forceinline__ explicit CarriedPrefix(const Op& op) : m_groups(op) {}

  /// Waits for the totals before a tile.
  ///
  /// \param total of the tile, in the first tile with the starting value before it; the last tile
  ///              of a line has none that another would need
  __device__ __forceinline__ Prefixes<Op, R> move_to(const Op& op, const Carry<R>& carry,
                                                     std::int64_t line, std::int64_t tile,
                                                     const R& total) {
    if (line != m_line) {
      m_line = line;
      m_group = 0;
      m_groups = Fold<Op, R>(op);
    }
    const bool has_total = tile < carry.tiles_of_line - 1;
    Prefixes<Op, R> prefixes{Fold<Op, R>(op), total};
    for (std::int64_t left = tile - m_group * lanes;; left -= at_once * lanes) {
      // What takes long to combine is not combined for groups that are not there.
      const bool is_found = !is_eager<Op> && left < lanes
                                ? look<1>(op, carry, left, has_total, total, prefixes)
                                : look<at_once>(op, carry, left, has_total, total, prefixes);
      if (is_found) return prefixes;
    }
  }

 private:
  /// Groups whose totals registers hold at once. Usually a block moves on by one tile for each
  /// multiprocessor, so that it meets up to 6 groups with 132.
  static constexpr int at_once = sizeof(R) <= 8 ? 6 : (sizeof(R) <= 16 ? 2 : 1);

  /// Combines the totals of some groups, from the present one on.
  ///
  /// \param left tiles before the own one, from the first of these groups on
  /// \return whether the own tile is in one of these groups; then the prefixes are known
  template <int groups>
  __device__ __forceinline__ bool look(const Op& op, const Carry<R>& carry, std::int64_t left,
                                       bool has_total, const R& total, Prefixes<Op, R>& prefixes) {
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    const std::uint64_t* const at = carry.total(m_line, m_group * lanes + lane);
    // All that is needed is asked for at once, as it takes long to be answered.
    Published<R> totals[groups];
    unsigned missing = 0;
#pragma unroll
    for (int row = 0; row < groups; ++row) {
      missing |= row * lanes + lane < left ? 1u << row : 0u;
    }
    // All lanes leave together: where they do not, each shuffle of a warp becomes a long detour.
    while (!__all_sync(~0u, missing == 0)) {
      read(at, totals, missing, std::make_integer_sequence<int, groups>{});
      if (missing != 0) pause();
    }
    // Several scans at once, as each step of one waits for the last.
    R folds[groups];
#pragma unroll
    for (int row = 0; row < groups; ++row) {
      const std::int64_t before = left - row * lanes;
      R value = total;
      if (lane < before) totals[row].get(value);
      folds[row] = scan_lanes(op, value, lane, lane < before || (lane == before && has_total));
    }
    bool is_found = false;
#pragma unroll
    for (int row = 0; row < groups; ++row) {
      const std::int64_t before = left - row * lanes;
      if (is_found) continue;
      if (before < lanes) {
        const int own = static_cast<int>(before);
        prefixes.before = m_groups;
        if (own > 0) {
          const R of_group = shuffle(folds[row], own - 1);
          prefixes.before = Fold<Op, R>(op, m_groups.then(op, of_group));
        }
        // The last tile of a line has no total that an operator of a user may see.
        prefixes.with = shuffle(folds[row], own);
        if (is_eager<Op> || has_total) prefixes.with = m_groups.then(op, prefixes.with);
        is_found = true;
      } else {
        const R of_group = shuffle(folds[row], lanes - 1);
        m_groups = Fold<Op, R>(op, m_groups.then(op, of_group));
        ++m_group;
      }
    }
    return is_found;
  }

  /// Reads the totals that are missing, one of each group.
  template <int groups, int... Row>
  static __device__ __forceinline__ void read(const std::uint64_t* at,
                                              Published<R> (&totals)[groups], unsigned& missing,
                                              std::integer_sequence<int, Row...>) {
    (..., read<Row>(at, totals[Row], missing, std::make_integer_sequence<int, words>{}));
    (..., check<Row>(totals[Row], missing));
  }
  template <int Row, int... W>
  static __device__ __forceinline__ void read(const std::uint64_t* at, Published<R>& total,
                                              unsigned missing, std::integer_sequence<int, W...>) {
    if ((missing >> Row & 1) == 0) return;
    (..., (total.word[W] = load_word<Row * lanes * words + W>(at)));
  }
  template <int Row>
  static __device__ __forceinline__ void check(const Published<R>& total, unsigned& missing) {
    bool is_there = true;
#pragma unroll
    for (int w = 0; w < words; ++w) is_there = is_there && total.word[w] != 0;
    if (is_there) missing &= ~(1u << Row);
  }
  static constexpr int words = Published<R>::words;

  Fold<Op, R> m_groups;  ///< before the group
  std::int64_t m_line = -1;
  std::int64_t m_group = 0;
};

}  // namespace KokkosScan::impl::cuda
