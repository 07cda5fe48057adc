// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How a tile of a long line obtains its prefix.
///
/// Blocks take tiles by ticket, in memory order. A block only ever waits for blocks with lower
/// tickets, which have started, so there is no deadlock even if not all blocks are resident. Each
/// block publishes the total of its tile as soon as it is known. It reads the totals of all tiles
/// and keeps a running prefix from its tile to its next, so no chain of prefixes runs from block
/// to block, as it does in decoupled look-back (Merrill and Garland, "Single-pass Parallel Prefix
/// Scan with Decoupled Look-back", NVIDIA 2016).
///
/// A tile's prefix is the same expression in every block: the tiles of a line form groups of 32,
/// within which totals combine with the Kogge-Stone scheme; groups combine left to right. The
/// starting value is part of the first tile's total.

#include <KokkosScan/impl/cuda/barrier.hpp>
#include <KokkosScan/impl/cuda/warp.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace KokkosScan::impl::cuda {

/// How a value is published in global memory: as 64-bit words that are nonzero once present. Each
/// word is read and written atomically, so no fences are needed. The memory must be cleared before.
/// In general a word holds 32 bits of the value and a flag above them.
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

/// A double is published as one word, in which one of the many NaNs means "absent".
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
__device__ __forceinline__ std::uint64_t load_word(const std::uint64_t* at) {
#if defined(__CUDACC__)
  std::uint64_t word;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(at) : "memory");
  return word;
#else
  return *at;
#endif
}

/// Publishes a value.
///
/// \param distance between its words
template <class R>
__device__ __forceinline__ void publish(std::uint64_t* at, const R& value,
                                        std::int64_t distance = 1) {
  const Published<R> published(value);
#pragma unroll
  for (int w = 0; w < Published<R>::words; ++w) store_word(at + w * distance, published.word[w]);
}
/// Whether all words of a value have been seen.
template <class R>
[[nodiscard]] __device__ __forceinline__ bool is_there(const Published<R>& seen) {
  bool all = true;
#pragma unroll
  for (int w = 0; w < Published<R>::words; ++w) all = all && seen.word[w] != 0;
  return all;
}

#if defined(__CUDACC__)
/// The current value of a word, 0 if it has not been published yet.
__device__ __forceinline__ std::uint64_t look_at_word(const std::uint64_t* at) {
  return load_word(at);
}
#endif

/// What has been published of a value. Latency is high: issue all reads before testing any of them.
///
/// \param distance between its words
template <class R>
[[nodiscard]] __device__ __forceinline__ Published<R> look(const std::uint64_t* at,
                                                           std::int64_t distance = 1) {
  Published<R> seen;
#pragma unroll
  for (int w = 0; w < Published<R>::words; ++w) seen.word[w] = look_at_word(at + w * distance);
  return seen;
}

/// Loads a word if the condition holds, else leaves `word` unchanged.
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

/// Takes the next ticket from a counter if the condition holds. Predicated, since with a branch the
/// thread would wait for the ticket at the end of the branch.
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

/// The global memory through which blocks communicate: tickets, and the total of each tile.
template <class R>
struct Carry {
  std::uint64_t* memory;
  std::int64_t tiles_of_line;

  static constexpr std::int64_t bytes(std::int64_t lines, std::int64_t tiles_of_line) {
    return tiles_of_line <= 1 ? 0 : 16 + lines * tiles_of_line * Published<R>::words * 8;
  }

  /// The ticket counter.
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* tickets() const { return memory; }
  /// Where the total of a tile is published.
  [[nodiscard]] __device__ __forceinline__ std::uint64_t* total(std::int64_t line,
                                                                std::int64_t tile) const {
    return memory + 2 + (line * tiles_of_line + tile) * Published<R>::words;
  }
};

/// The prefix of a tile, and that of the next tile.
template <class Op, class R>
struct Prefixes {
  Fold<Op, R> before;
  R with;  ///< undefined for the last tile of a line
};

/// The prefix that a warp carries from one tile of its block to the next, in ascending order.
template <class Op, class R>
class CarriedPrefix {
 public:
  __device__ __forceinline__ explicit CarriedPrefix(const Op& op) : m_groups(op) {}

  /// Waits for the totals of earlier tiles and returns the prefixes.
  ///
  /// \param total of the tile, which in the first tile includes the starting value; the last tile
  ///              of a line has none, as no other tile needs it
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
    while (!take_groups(op, carry, tile - m_group * lanes, has_total, total, prefixes)) {
    }
    return prefixes;
  }

 private:
  /// Groups whose totals are held in registers at once. Usually a block advances by one tile per
  /// multiprocessor, so with 132 multiprocessors it meets up to 6 groups.
  static constexpr int at_once = sizeof(R) <= 8 ? 6 : (sizeof(R) <= 16 ? 2 : 1);

  /// Combines the totals of several groups, beginning with the current one.
  ///
  /// \param left number of tiles from the first of these groups to this block's tile
  /// \return whether this block's tile is in one of these groups, so that the prefixes are known
  __device__ __forceinline__ bool take_groups(const Op& op, const Carry<R>& carry,
                                              std::int64_t left, bool has_total, const R& total,
                                              Prefixes<Op, R>& prefixes) {
    const int lane = static_cast<int>(threadIdx.x) % lanes;
    const std::uint64_t* const at = carry.total(m_line, m_group * lanes + lane);
    // All loads are issued together to hide their latency.
    Published<R> totals[at_once];
    unsigned missing = 0;
#pragma unroll
    for (int row = 0; row < at_once; ++row) {
      missing |= row * lanes + lane < left ? 1u << row : 0u;
    }
    // All lanes leave the loop together: in divergent code every shuffle is slow.
    while (!__all_sync(~0u, missing == 0)) {
#pragma unroll
      for (int row = 0; row < at_once; ++row) {
        if ((missing >> row & 1) != 0)
          totals[row] = look<R>(at + row * lanes * Published<R>::words);
      }
#pragma unroll
      for (int row = 0; row < at_once; ++row) {
        if (is_there(totals[row])) missing &= ~(1u << row);
      }
      if (missing != 0) pause();
    }
    // Interleaves several scans, since each step of a scan depends on the one before.
    R folds[at_once];
#pragma unroll
    for (int row = 0; row < at_once; ++row) {
      const std::int64_t before = left - row * lanes;
      // Operators that are slow to combine are not applied to groups that do not exist.
      if (!is_eager<Op> && before < 0) continue;
      R value = total;
      if (lane < before) totals[row].get(value);
      folds[row] = scan_lanes(op, value, lane, lane < before || (lane == before && has_total));
    }
    bool is_found = false;
#pragma unroll
    for (int row = 0; row < at_once; ++row) {
      const std::int64_t before = left - row * lanes;
      if (is_found) continue;
      if (before < lanes) {
        const int own = static_cast<int>(before);
        prefixes.before = m_groups;
        if (own > 0) {
          const R of_group = shuffle(folds[row], own - 1);
          prefixes.before = Fold<Op, R>(op, m_groups.then(op, of_group));
        }
        // The last tile of a line has no total, so it must not be passed to a user's operator.
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

  Fold<Op, R> m_groups;  ///< of earlier groups
  std::int64_t m_line = -1;
  std::int64_t m_group = 0;
};

}  // namespace KokkosScan::impl::cuda
