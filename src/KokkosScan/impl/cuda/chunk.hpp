// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How a thread folds and scans its chunk of a tile in shared memory, and how the chunks of a line
/// combine.
///
/// The combination tree is indexed in scan order. Up to four neighbours form a pack, which combines
/// by halves in the accumulator, or in the carried type for operators that use it throughout. The
/// rest combines in the carried type: packs of a chunk left to right, chunks of a warp with the
/// Kogge-Stone scheme, warps left to right, tiles as in carry.hpp. Let P be the fold of all before
/// a chunk, including the starting value, p that of its earlier packs, and x_1, x_2, ... the
/// elements of the pack. Then
///
///     B(k) = ((P * p) * x_1) * x_2 ...    within a pack, in the accumulator, to which P * p is
///                                         rounded (for log-sum-exp, to a sum in float),
///     B(k) = P * p                        at the end of a pack, where p includes it,
///     B(k) = P                            at the end of a chunk, where P includes it,
///
/// and empty parts are omitted. If the carried type is the accumulator, packs do not matter:
/// P * x_1 * x_2 ... combine left to right.

#include <KokkosScan/impl/cuda/pack.hpp>
#include <KokkosScan/impl/cuda/staged_inputs.hpp>
#include <KokkosScan/impl/cuda/tuning.hpp>
#include <KokkosScan/impl/cuda/warp.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::cuda {

/// The types of a problem, and the sizes that the kernels derive from them.
template <class P>
struct Types : Combination<P> {
  using Carrying = typename Combination<P>::Wide;
  using In = decltype(P::input);
  using Out = decltype(P::output);
  using Value = typename P::Value;
  using Total = std::remove_pointer_t<decltype(P::totals.data)>;

  /// Whether results overwrite elements in shared memory.
  static constexpr bool in_place = Stage<In>::template can_hold<Value>;
  /// Whether an element consists of values from several arrays.
  static constexpr bool has_several_arrays = Stage<In>::arrays > 1;
  /// Bytes of a result that has a slot of its own, else 0.
  static constexpr int bytes_of_result = in_place ? 0 : static_cast<int>(sizeof(Value));
  static constexpr ElementSize size{std::max<int>(Stage<In>::widest, sizeof(Value)),
                                    Stage<In>::bytes_of_element + bytes_of_result};
  /// The part of the size that the combination tree depends on.
  static constexpr ElementSize size_that_cuts{
      std::max<int>(cuda::size_that_cuts<In>.widest, sizeof(Value)),
      cuda::size_that_cuts<In>.all + bytes_of_result};
  static constexpr int pack = pack_length(size.widest);
  /// Whether whole lines are stored by bulk copies. These cannot keep up when more bytes are stored
  /// than loaded.
  static constexpr bool stores_in_bulk =
      !is_called<Out> && static_cast<int>(sizeof(Value)) <= Stage<In>::bytes_of_element;
  static constexpr bool has_packs =
      Stage<In>::template has_packs<pack> && is_one_move<sizeof(Value) * pack>;
  /// Whether unaligned packs are read as the words that contain them: not if these words may also
  /// contain results of other threads.
  static constexpr bool reads_words =
      Stage<In>::has_parts_of_words && !(in_place && is_part_of_word<Value>);
  /// Bytes of shared memory for a tile of lines.
  static constexpr int bytes_of_lines(int elements, int padding) {
    return Stage<In>::bytes(elements, padding) +
           (in_place ? 0 : bytes_of_slots<Value>(elements, padding));
  }
};

/// The results of a tile in shared memory: in the slots of its elements or, for n+1 results, with
/// room for one more in each line, so that the layout is that of global memory.
template <class Value>
struct Results {
  Slots<Value> slots;
  int pitch;      ///< from line to line
  int first;      ///< slot of a line's first result, in memory order
  bool are_wide;  ///< whether there is room for n+1

  /// The index of the slot of result e of a line, in memory order.
  [[nodiscard]] __device__ __forceinline__ int slot(int line, int e) const {
    return line * pitch + first + e;
  }
  /// The slot of a line's extra result, or null.
  [[nodiscard]] __device__ __forceinline__ Value* extra(int line) const {
    return are_wide ? &slots[line * pitch + (first == 1 ? 0 : pitch - 1)] : nullptr;
  }
};

/// Finds room for the results of a tile in shared memory: that of its elements, or behind them.
///
/// \param flat     their address in global memory, if they are contiguous there
/// \param in_place false if they need slots of their own in any case
template <class P, class Value = typename Types<P>::Value>
__device__ __forceinline__ Slots<Value> place_results(const Value* flat, Region& region,
                                                      const Stage<typename Types<P>::In>& input,
                                                      bool in_place = true) {
  if constexpr (Types<P>::in_place) {
    if (in_place) return {input.span()};
  }
  return region.take(flat);
}

/// A tile of lines in shared memory.
template <class P>
struct StagedTile {
  const P& problem;
  const Shape& shape;
  bool packs_are_aligned;  ///< in all operands but wide results
  Tile tile;
  Stage<typename Types<P>::In> input;
  Results<typename Types<P>::Value> results;

  /// Calls f(packs, backward) with constants: whether threads access elements as packs or one by
  /// one, and whether backward in memory.
  template <class F>
  __device__ __forceinline__ auto with_access(const F& f) const {
    if constexpr (Types<P>::has_packs) {
      if (packs_are_aligned) {
        return tile.backward ? f(std::true_type{}, true) : f(std::true_type{}, false);
      }
    }
    return tile.backward ? f(std::false_type{}, true) : f(std::false_type{}, false);
  }
};

/// Stores what a line has besides its n results: B(0) before an inclusive output, B(n) after an
/// exclusive one, and the total.
template <class P>
struct Ends {
  using Value = typename Types<P>::Value;

  const P& problem;

  [[nodiscard]] __device__ __forceinline__ bool exist() const {
    return problem.extra != Extra::none || problem.totals.data != nullptr;
  }
  /// \param extra the slot of the line's extra result, or null if it is stored to global memory
  template <class Line>
  __device__ __forceinline__ void store_begin(const Line& line, const typename P::A& value,
                                              Value* extra = nullptr) const {
    if (problem.extra == Extra::first) store_extra(line, -1, static_cast<Value>(value), extra);
  }
  template <class Line>
  __device__ __forceinline__ void store_end(const Line& line, const typename P::A& value,
                                            Value* extra = nullptr) const {
    using Total = typename Types<P>::Total;
    if (problem.extra == Extra::last) {
      store_extra(line, problem.n, static_cast<Value>(value), extra);
    }
    if (problem.totals.data != nullptr) {
      problem.totals.line(line)(0) = static_cast<Total>(value);
    }
  }

 private:
  template <class Line>
  __device__ __forceinline__ void store_extra(const Line& line, std::int64_t k, const Value& value,
                                              Value* extra) const {
    if (extra != nullptr) {
      *extra = value;
    } else {
      problem.output.line(line)(k) = value;
    }
  }
};

/// The starting value in the carried type.
template <class R, class Op, class A>
__device__ __forceinline__ Fold<Op, R> fold_of_start(const Op& op, const Maybe<A>& start) {
  return start.exists ? Fold<Op, R>(op, static_cast<R>(start.value)) : Fold<Op, R>(op);
}
/// Values in shared memory, where no constructor may run.
template <class R, int count>
struct Uninitialised {
  alignas(16) std::byte memory[count][sizeof(R)];

  [[nodiscard]] __device__ __forceinline__ R* data() { return reinterpret_cast<R*>(memory); }
  [[nodiscard]] __device__ __forceinline__ R& operator[](int i) { return data()[i]; }
};
/// The totals of a block's warps.
template <class R>
using WarpTotals = Uninitialised<R, most_threads / lanes>;

/// The fold of the totals of warps first ... end - 1.
template <class Op, class R>
__device__ __forceinline__ Fold<Op, R> fold_warps(const Op& op, const R* totals, int first,
                                                  int end) {
  Fold<Op, R> fold(op);
  for (int w = first; w < end; ++w) fold = Fold<Op, R>(op, fold.then(op, totals[w]));
  return fold;
}

/// What the fold of a tile passes on to its scan.
template <class R>
struct FoldedChunk {
  R folds;         ///< of the lanes of the line up to and including this one
  R folds_before;  ///< excluding this one
};

/// The chunk of a thread.
template <class P>
class Chunk {
  using T = Types<P>;
  using A = typename T::A;
  using R = typename T::R;
  using Op = typename T::Op;
  using Carrying = typename T::Carrying;
  using Value = typename T::Value;
  using Input = Stage<typename T::In>;
  static constexpr int pack = T::pack;

 public:
  int length;  ///< elements; 0 if the thread has no chunk

  /// \param line  index in the tile
  /// \param chunk index in the line
  __device__ __forceinline__ Chunk(const StagedTile<P>& staged, int line, int chunk)
      : m_staged(staged), m_problem(staged.problem), m_op(carrying(m_problem.op)) {
    const Cut& cut = staged.shape.cut;
    m_line = line;
    m_chunk = chunk;
    m_k = m_chunk * cut.chunk;
    const Tile& tile = staged.tile;
    const int left = line < tile.lines && m_k < tile.length ? tile.length - m_k : 0;
    length = left < cut.chunk ? left : cut.chunk;
    const int e = tile.in_memory_order(m_k);
    m_slot = line * tile.length + e;
    m_result_slot = staged.results.slot(line, e);
  }

  /// Folds the chunk, and scans the folds of the warp's lanes.
  [[nodiscard]] __device__ __forceinline__ FoldedChunk<R> fold() const {
    R total{};
    if (length > 0) {
      total = m_staged.with_access(
          [&](auto packs, bool backward) { return fold_elements<packs.value>(backward); });
    }
    const R folds = scan_lanes(m_op, total, m_chunk % lanes, length > 0);
    return {folds, shuffle_up(folds, 1)};
  }

  /// Scans the chunk, writes its results, and stores the ends of its line.
  ///
  /// \param before_tile  the prefix of the tile
  /// \param warps_before the fold of the warps of the line before this one in the tile
  /// \param next_tile    the prefix of the next tile, for the last thread if there is a next one
  __device__ __forceinline__ void scan(bool is_first_tile, bool is_last_tile,
                                       const FoldedChunk<R>& folded,
                                       const Fold<Carrying, R>& before_tile,
                                       const Fold<Carrying, R>& warps_before,
                                       const R* next_tile = nullptr) const {
    using Prefix = Fold<Carrying, R>;
    if (length == 0) return;
    const Cut& cut = m_staged.shape.cut;
    const bool ends_warp = cut.threads_of_line > lanes && threadIdx.x % lanes == lanes - 1;
    const bool is_begin = is_first_tile && m_chunk == 0;
    const Prefix before_warp = join(m_op, before_tile, warps_before);
    const Prefix lanes_before =
        m_chunk % lanes > 0 ? Prefix(m_op, folded.folds_before) : Prefix(m_op);
    const Prefix before = join(m_op, before_warp, lanes_before);
    const A first = is_begin && !m_problem.start.exists() ? m_problem.identity.value
                                                          : static_cast<A>(before.value());
    A last = m_staged.with_access([&](auto packs, bool backward) {
      return scan_elements<packs.value>(backward, before, first);
    });
    if (length == cut.chunk) {
      // B at the beginning of the next chunk, bit for bit.
      if (next_tile != nullptr) {
        last = static_cast<A>(*next_tile);
      } else if (ends_warp) {
        last = static_cast<A>(before_tile.then(m_op, warps_before.then(m_op, folded.folds)));
      } else {
        last = static_cast<A>(before_warp.then(m_op, folded.folds));
      }
      if (m_problem.form == Form::inclusive) {
        const int in_memory = m_staged.tile.backward ? 1 - length : length - 1;
        m_staged.results.slots[m_result_slot + in_memory] = static_cast<Value>(last);
      }
    }
    const Ends<P> ends{m_problem};
    if (ends.exist()) {
      const LineNumber number = m_staged.tile.line(m_line);
      Value* const extra = m_staged.results.extra(m_line);
      if (is_begin) ends.store_begin(number, first, extra);
      if (is_last_tile && m_k + length == m_staged.tile.length) ends.store_end(number, last, extra);
    }
  }

  /// The fold of the chunk.
  template <bool packs>
  [[nodiscard]] __device__ __forceinline__ R fold_elements(bool backward) const {
    int i = 0;
    Fold<Carrying, R> total(m_op);
#pragma unroll 4
    for (; i + pack <= length; i += pack) {
      A x[pack];
      read<packs>(backward, i, x);
      total = Fold<Carrying, R>(m_op, total.then(m_op, carried_pack(m_problem.op, x)));
    }
    if (!packs && i < length) {
      auto rest = static_cast<packed_t<Op, A>>(element(backward, i));
      for (++i; i < length; ++i) {
        rest = packing<A>(m_problem.op)(rest, static_cast<packed_t<Op, A>>(element(backward, i)));
      }
      total = Fold<Carrying, R>(m_op, total.then(m_op, static_cast<R>(rest)));
    }
    return total.value();
  }

  /// Scans the chunk and writes its results to their slots.
  ///
  /// \param before the fold of everything before the chunk
  /// \param first  B at the beginning of the chunk
  /// \return B at the end of the chunk
  template <bool packs>
  [[nodiscard]] __device__ __forceinline__ A scan_elements(bool backward,
                                                           const Fold<Carrying, R>& before,
                                                           const A& first) const {
    const bool inclusive = m_problem.form == Form::inclusive;
    Fold<Carrying, R> run = before;
    A last = first;
    // Several packs are read before the first is scanned.
    in_batches<elements_at_once / pack>(0, length - pack + 1, pack, [&](int first_of, auto count) {
      A x[count.value][pack];
#pragma unroll
      for (int c = 0; c < count.value; ++c) read<packs>(backward, first_of + c * pack, x[c]);
#pragma unroll
      for (int c = 0; c < count.value; ++c) {
        scan_pack<true>(run, x[c], pack);
        Value y[pack];
#pragma unroll
        for (int j = 0; j < pack; ++j) {
          y[j] = static_cast<Value>(inclusive ? x[c][j] : (j == 0 ? last : x[c][j - 1]));
        }
        write<packs>(backward, first_of + c * pack, y);
        last = x[c][pack - 1];
      }
    });
    const int i = length / pack * pack;
    if (!packs && i < length) {
      const int valid = length - i;
      A x[pack];
#pragma unroll
      for (int j = 0; j < pack; ++j) x[j] = element(backward, j < valid ? i + j : i);
      scan_pack<false>(run, x, valid);
#pragma unroll
      for (int j = 0; j < pack - 1; ++j) {
        if (j >= valid) continue;
        result(backward, i + j) = static_cast<Value>(inclusive ? x[j] : last);
        last = x[j];
      }
    }
    return last;
  }

 private:
  [[nodiscard]] __device__ __forceinline__ A element(bool backward, int i) const {
    return static_cast<A>(m_staged.input.get(m_slot + (backward ? -1 : 1) * i));
  }
  [[nodiscard]] __device__ __forceinline__ Value& result(bool backward, int i) const {
    return m_staged.results.slots.data()[m_result_slot + (backward ? -1 : 1) * i];
  }
  template <bool packs>
  __device__ __forceinline__ void read(bool backward, int i, A (&x)[pack]) const {
    if constexpr (packs || T::reads_words) {
      typename Input::Value raw[pack];
      m_staged.input.template get_pack<packs>(backward ? m_slot - (pack - 1) : m_slot,
                                              backward ? -i : i, raw);
#pragma unroll
      for (int j = 0; j < pack; ++j) x[j] = static_cast<A>(backward ? raw[pack - 1 - j] : raw[j]);
    } else {
#pragma unroll
      for (int j = 0; j < pack; ++j) x[j] = element(backward, i + j);
    }
  }
  template <bool packs>
  __device__ __forceinline__ void write(bool backward, int i, const Value (&y)[pack]) const {
    if constexpr (packs) {
      if (m_staged.results.are_wide) return write<false>(backward, i, y);
      Value raw[pack];
#pragma unroll
      for (int j = 0; j < pack; ++j) raw[j] = backward ? y[pack - 1 - j] : y[j];
      const int first = m_result_slot + (backward ? 1 - pack - i : i);
      move_pack(reinterpret_cast<std::byte*>(&m_staged.results.slots[first]), raw);
    } else {
#pragma unroll
      for (int j = 0; j < pack; ++j) result(backward, i + j) = y[j];
    }
  }

  /// Replaces elements by B after each of them, and extends `run` by the pack.
  template <bool full>
  __device__ __forceinline__ void scan_pack(Fold<Carrying, R>& run, A (&x)[pack], int valid) const {
    if constexpr (std::is_same_v<A, R>) {
#pragma unroll
      for (int j = 0; j < pack; ++j) {
        if (!full && j >= valid) continue;
        x[j] = run.then(m_op, x[j]);
        run = Fold<Carrying, R>(m_op, x[j]);
      }
    } else {
      cuda::scan_pack(m_problem.op, m_op, run, x, valid, full);
    }
  }

  const StagedTile<P>& m_staged;
  const P& m_problem;
  const Carrying m_op;
  int m_line;         ///< index in the tile
  int m_chunk;        ///< index in the line
  int m_k;            ///< the first element, in scan order within the tile
  int m_slot;         ///< of the first element
  int m_result_slot;  ///< of its result
};

}  // namespace KokkosScan::impl::cuda
