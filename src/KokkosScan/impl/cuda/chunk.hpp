// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// How a thread folds and scans its chunk of a tile in shared memory, and how the chunks of a line
/// combine.
///
/// The combination tree counts from the element that is scanned first. Up to four neighbours make a
/// pack, which combines by halves in the accumulator, or in the carried type what is carried
/// throughout; everything above combines in the carried type: the packs of a chunk left to right,
/// the chunks of a warp by the scheme of Kogge and Stone, warps left to right, tiles as carry.hpp
/// says. With P the fold of all before a chunk, which includes the starting value, p that of the
/// packs before the own one, and x_1, x_2, ... the elements of the pack,
///
///     B(k) = ((P * p) * x_1) * x_2 ...    within a pack, in the accumulator, to which P * p is
///                                         rounded (logarithms of sums as sums in float),
///     B(k) = P * p                        at the end of a pack, where p includes it,
///     B(k) = P                            at the end of a chunk, where P includes it,
///
/// and a part that is empty is left out. Where the carried type is the accumulator, packs do not
/// matter: P * x_1 * x_2 ... combine left to right.

#include <KokkosScan/impl/cuda/stage.hpp>
#include <KokkosScan/impl/cuda/tuning.hpp>
#include <KokkosScan/impl/cuda/warp.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::cuda {

/// What a problem's types are to the kernels.
template <class P>
struct Types : Combination<P> {
  using Carrying = typename Combination<P>::Wide;
  using In = decltype(P::input);
  using Out = decltype(P::output);
  using Value = typename P::Value;
  using Total = std::remove_pointer_t<decltype(P::totals.data)>;

  /// Whether results take the place of elements in shared memory.
  static constexpr bool in_place = reuses_slots<In, Value>;
  /// Whether elements lie in several arrays.
  static constexpr bool has_several_arrays = Stage<In>::bytes_of_element > Stage<In>::widest;
  /// Bytes of a result in a place of its own.
  static constexpr int bytes_of_result = in_place ? 0 : static_cast<int>(sizeof(Value));
  static constexpr ElementSize size{std::max<int>(Stage<In>::widest, sizeof(Value)),
                                    Stage<In>::bytes_of_element + bytes_of_result};
  /// In tiles of lines.
  static constexpr ElementSize size_in_lines{size.widest,
                                             InLines<In>::bytes_of_element + bytes_of_result};
  /// What of it has a say in the combination tree.
  static constexpr ElementSize size_that_cuts{
      std::max<int>(cuda::size_that_cuts<In>.widest, sizeof(Value)),
      cuda::size_that_cuts<In>.all + bytes_of_result};
  static constexpr int pack = pack_length(size.widest);
  /// Whether whole lines are stored by bulk copies. A multiprocessor's do not keep up where there
  /// are more bytes to store than to load: sums of int8 in int64 have 0.69 instead of 0.89 to 0.91.
  static constexpr bool stores_in_bulk =
      !is_called<Out> && static_cast<int>(sizeof(Value)) <= Stage<In>::bytes_of_element;
  static constexpr bool has_packs =
      Stage<In>::template has_packs<pack> && is_one_move<sizeof(Value) * pack>;
  /// Whether packs that are not aligned are read by the words in which they lie: not where these
  /// have results of others.
  static constexpr bool reads_words =
      Stage<In>::has_parts_of_words && !(in_place && is_part_of_word<Value>);
  /// Bytes of shared memory for a tile of columns, or one of lines.
  static constexpr int bytes_of_columns(int elements) {
    return Stage<In>::bytes(elements, 0, quad) + bytes_of_results(elements, 0, quad);
  }
  static constexpr int bytes_of_lines(int elements, int padding, int alignment = quad) {
    return InLines<In>::bytes(elements, padding, alignment) +
           bytes_of_results(elements, padding, alignment);
  }

 private:
  static constexpr int bytes_of_results(int elements, int padding, int alignment) {
    return in_place ? 0 : bytes_of_slots<Value>(elements, padding, alignment);
  }
};

/// Where the results of a tile are in shared memory: as its elements or, for n+1 results, with room
/// for one more in each line, so that they lie as in global memory.
template <class Value>
struct Results {
  Slots<Value> slots;
  int pitch;      ///< from line to line
  int first;      ///< place of a line's first result, in the order of memory
  bool are_wide;  ///< whether there is room for n+1

  /// The number of the slot of result e of a line, in the order of memory.
  [[nodiscard]] __device__ __forceinline__ int slot(int line, int e) const {
    return line * pitch + first + e;
  }
  /// The slot of a line's extra result, or null.
  [[nodiscard]] __device__ __forceinline__ Value* extra(int line) const {
    return are_wide ? &slots[line * pitch + (first == 1 ? 0 : pitch - 1)] : nullptr;
  }
};

/// Where the results of a tile are in shared memory, whose elements have their place.
///
/// \param flat their address in global memory, if they follow each other there
template <class P>
__device__ __forceinline__ auto place_results(const typename Types<P>::Value* flat, Region& region,
                                              const Stage<typename Types<P>::In>& input) {
  if constexpr (Types<P>::in_place) {
    return Slots<typename Types<P>::Value>{span_of(input)};
  } else {
    return region.take(flat);
  }
}

/// How a thread reaches the elements of its chunk: packs of them or single ones, in the order of
/// memory or against it.
struct Access {
  bool packs;
  bool backward;
};

/// The fold of a pack, by halves, in type T.
template <class T, int First, int Count, class A, class Op, int E>
__device__ __forceinline__ T fold_pack(const Op& op, const A (&x)[E]) {
  if constexpr (Count == 1) {
    return static_cast<T>(x[First]);
  } else {
    return op(fold_pack<T, First, (Count + 1) / 2>(op, x),
              fold_pack<T, First + (Count + 1) / 2, Count / 2>(op, x));
  }
}

/// In which type the elements of a pack combine.
template <class Op, class A>
using packed_t = std::conditional_t<is_carried_throughout<Op, A>, carried_t<Op, A>, A>;

/// The operator by which they do.
template <class A, class Op>
__device__ __forceinline__ decltype(auto) packing(const Op& op) {
  if constexpr (is_carried_throughout<Op, A>) {
    return carrying(op);
  } else {
    return (op);
  }
}

/// Sums of the exponentials of a pack up to and with each, in float, by one scale for all.
template <int E>
struct ExponentialsOfPack {
  float scale;
  float sums[E];

  __device__ __forceinline__ explicit ExponentialsOfPack(const float (&x)[E]) {
    float largest = x[0];
#pragma unroll
    for (int i = 1; i < E; ++i) largest = Kokkos::fmax(largest, x[i]);
    scale = ScaledSum::scale_of(largest);
#pragma unroll
    for (int i = 0; i < E; ++i) {
      const float exponential = Kokkos::exp(x[i] - 64 * scale);
      sums[i] = i == 0 ? exponential : add(sums[i - 1], exponential);
    }
  }
  [[nodiscard]] __device__ __forceinline__ ScaledSum fold() const { return {scale, sums[E - 1]}; }
  /// The logarithms of these sums and of what is before the pack, from the elements.
  __device__ __forceinline__ void take_logarithms(const ScaledSum& before, float (&x)[E]) const {
    // By the scale of a larger element, those before it lose digits, or are nothing.
    if (before.scale < scale && !(x[0] - 64 * scale >= -32)) {
      ScaledSum sum = before;
#pragma unroll
      for (int i = 0; i < E; ++i) {
        sum = AddScaled{}(sum, ScaledSum(x[i]));
        x[i] = static_cast<float>(sum);
      }
      return;
    }
    const float highest = Kokkos::fmax(before.scale, scale);
    const auto factor = [&](float from) {
      return static_cast<float>(ScaledSum::factor(highest - from));
    };
    const float of_before = multiply(factor(before.scale), static_cast<float>(before.sum));
    const float of_pack = factor(scale);
#pragma unroll
    for (int i = 0; i < E; ++i) {
      x[i] = 64 * highest + Kokkos::log(multiply_add(of_pack, sums[i], of_before));
    }
  }
};

/// The fold of a pack, in the carried type.
template <class Op, class A, int E>
__device__ __forceinline__ carried_t<Op, A> carried_pack(const Op& op, const A (&x)[E]) {
  if constexpr (sums_exponentials<Op, A>) {
    return ExponentialsOfPack<E>(x).fold();
  } else {
    return static_cast<carried_t<Op, A>>(fold_pack<packed_t<Op, A>, 0, E>(packing<A>(op), x));
  }
}

/// From the elements of a pack to B after each of them. `run`, all before the pack, becomes all
/// with it if it is full.
///
/// \param valid   elements that there are
/// \param is_full whether to go on as if all were there: results behind them are thrown away
template <class Op, class Carrying, class R, class A, int E>
__device__ __forceinline__ void scan_pack(const Op& op, const Carrying& carrying_op,
                                          Fold<Carrying, R>& run, A (&x)[E], int valid,
                                          bool is_full) {
  if constexpr (sums_exponentials<Op, A>) {
    // What is not there may be too large for the scale of the others.
#pragma unroll
    for (int i = 0; i < E; ++i) x[i] = i < valid ? x[i] : neutral<A>(op);
    const ExponentialsOfPack<E> pack(x);
    pack.take_logarithms(run.value(), x);
    if (is_full) run = Fold<Carrying, R>(carrying_op, run.then(carrying_op, pack.fold()));
  } else {
    Fold<Op, A> in_pack =
        run.exists() ? Fold<Op, A>(op, static_cast<A>(run.value())) : Fold<Op, A>(op);
    if (is_full) run = Fold<Carrying, R>(carrying_op, run.then(carrying_op, carried_pack(op, x)));
#pragma unroll
    for (int i = 0; i < E - 1; ++i) {
      if (!is_full && i >= valid) continue;
      x[i] = in_pack.then(op, x[i]);
      in_pack = Fold<Op, A>(op, x[i]);
    }
  }
  if (is_full) x[E - 1] = static_cast<A>(run.value());
}

// ---- A chunk ------------------------------------------------------------------------------------

/// The chunk of a thread.
template <class P>
class Chunk {
  using T = Types<P>;
  using A = typename T::A;
  using R = typename T::R;
  using Op = typename T::Op;
  using Packed = packed_t<Op, A>;
  using Carrying = typename T::Carrying;
  using Value = typename T::Value;
  using Input = Stage<typename T::In>;
  static constexpr int pack = T::pack;

 public:
  /// \param line   of the tile
  /// \param e      number of the first element in the line, in the order of memory
  /// \param length at least 1
  __device__ __forceinline__ Chunk(const P& problem, const Input& input,
                                   const Results<Value>& results, const Tile& tile, int line, int e,
                                   int length)
      : m_problem(problem),
        m_op(carrying(problem.op)),
        m_input(input),
        m_results(results),
        m_slot(line * tile.length + e),
        m_result_slot(results.slot(line, e)),
        m_length(length) {}

  /// The fold of the chunk.
  template <bool packs, bool backward>
  [[nodiscard]] __device__ __forceinline__ R fold() const {
    int i = 0;
    Fold<Carrying, R> total(m_op);
#pragma unroll 4
    for (; i + pack <= m_length; i += pack) {
      A x[pack];
      read<packs, backward>(i, x);
      total = Fold<Carrying, R>(m_op, total.then(m_op, carried_pack(m_problem.op, x)));
    }
    if (!packs && i < m_length) {
      Packed rest = static_cast<Packed>(element<backward>(i));
      for (++i; i < m_length; ++i) {
        rest = packing<A>(m_problem.op)(rest, static_cast<Packed>(element<backward>(i)));
      }
      total = Fold<Carrying, R>(m_op, total.then(m_op, static_cast<R>(rest)));
    }
    return total.value();
  }

  /// Scans the chunk and writes its results to their slots.
  ///
  /// \tparam at_once packs that are read before the first of them is scanned, if there are so many
  /// \param before all that comes before the chunk
  /// \param first  B at the begin of the chunk
  /// \return B at the end of the chunk
  template <int at_once, bool packs, bool backward>
  [[nodiscard]] __device__ __forceinline__ A scan(const Fold<Carrying, R>& before,
                                                  const A& first) const {
    const bool inclusive = m_problem.form == Form::inclusive;
    Fold<Carrying, R> run = before;
    A last = first;
    int i = 0;
    const auto scan_packs = [&](auto count) {
      A x[count.value][pack];
#pragma unroll
      for (int c = 0; c < count.value; ++c) read<packs, backward>(i + c * pack, x[c]);
#pragma unroll
      for (int c = 0; c < count.value; ++c) {
        scan_pack<true>(run, x[c], pack);
        Value y[pack];
#pragma unroll
        for (int j = 0; j < pack; ++j) {
          y[j] = static_cast<Value>(inclusive ? x[c][j] : (j == 0 ? last : x[c][j - 1]));
        }
        write<packs, backward>(i + c * pack, y);
        last = x[c][pack - 1];
      }
      i += count.value * pack;
    };
    if constexpr (at_once > 1) {
#pragma unroll 1
      while (i + at_once * pack <= m_length) scan_packs(std::integral_constant<int, at_once>{});
    }
#pragma unroll(at_once > 1 ? 1 : 2)
    while (i + pack <= m_length) scan_packs(std::integral_constant<int, 1>{});
    if (!packs && i < m_length) {
      const int valid = m_length - i;
      A x[pack];
#pragma unroll
      for (int j = 0; j < pack; ++j) x[j] = element<backward>(j < valid ? i + j : i);
      scan_pack<false>(run, x, valid);
#pragma unroll
      for (int j = 0; j < pack - 1; ++j) {
        if (j >= valid) continue;
        result<backward>(i + j) = static_cast<Value>(inclusive ? x[j] : last);
        last = x[j];
      }
    }
    return last;
  }

  [[nodiscard]] __device__ __forceinline__ const Results<Value>& results() const {
    return m_results;
  }
  /// Writes the last result of the chunk.
  __device__ __forceinline__ void write_last(bool backward, const A& value) const {
    m_results.slots[backward ? m_result_slot - (m_length - 1) : m_result_slot + (m_length - 1)] =
        static_cast<Value>(value);
  }

 private:
  template <bool backward>
  [[nodiscard]] __device__ __forceinline__ A element(int i) const {
    return static_cast<A>(m_input.get(backward ? m_slot - i : m_slot + i));
  }
  template <bool backward>
  [[nodiscard]] __device__ __forceinline__ Value& result(int i) const {
    return m_results.slots.data()[backward ? m_result_slot - i : m_result_slot + i];
  }
  template <bool packs, bool backward>
  __device__ __forceinline__ void read(int i, A (&x)[pack]) const {
    if constexpr (packs || T::reads_words) {
      typename Input::Value raw[pack];
      m_input.template get_pack<packs>(backward ? m_slot - (pack - 1) : m_slot, backward ? -i : i,
                                       raw);
#pragma unroll
      for (int j = 0; j < pack; ++j) x[j] = static_cast<A>(raw[backward ? pack - 1 - j : j]);
    } else {
#pragma unroll
      for (int j = 0; j < pack; ++j) x[j] = element<backward>(i + j);
    }
  }
  template <bool packs, bool backward>
  __device__ __forceinline__ void write(int i, const Value (&y)[pack]) const {
    if (packs && !m_results.are_wide) {
      Value raw[pack];
#pragma unroll
      for (int j = 0; j < pack; ++j) raw[j] = y[backward ? pack - 1 - j : j];
      m_results.slots.put_pack(backward ? m_result_slot - i - (pack - 1) : m_result_slot + i, raw);
    } else {
#pragma unroll
      for (int j = 0; j < pack; ++j) result<backward>(i + j) = y[j];
    }
  }

  /// From elements to B after each of them; `run`, all before the pack, becomes all with it.
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

  const P& m_problem;
  const Carrying m_op;
  const Input& m_input;
  const Results<Value>& m_results;
  int m_slot;
  int m_result_slot;
  int m_length;
};

/// Calls f with the access of a problem as constants.
template <class P, class F>
__device__ __forceinline__ auto with_access(Access access, const F& f) {
  using T = Types<P>;
  using Yes = std::true_type;
  using No = std::false_type;
  if constexpr (T::has_packs) {
    if (access.packs) return access.backward ? f(Yes{}, Yes{}) : f(Yes{}, No{});
  }
  return access.backward ? f(No{}, Yes{}) : f(No{}, No{});
}
// ---- The chunks of a line -----------------------------------------------------------------------

/// Stores what the ends of a line have besides the results: B(0) before an inclusive output, B(n)
/// behind an exclusive one, and the total.
template <class P>
struct Ends {
  using Value = typename Types<P>::Value;

  const P& problem;

  [[nodiscard]] __device__ __forceinline__ bool exist() const {
    return problem.extra != Extra::none || problem.totals.data != nullptr;
  }
  /// \param extra the slot of the line's extra result, or null where it goes to global memory
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

/// A starting value in the carried type.
template <class R, class Op, class A>
__device__ __forceinline__ Fold<Op, R> fold_of_start(const Op& op, const Maybe<A>& start) {
  return start.exists ? Fold<Op, R>(op, static_cast<R>(start.value)) : Fold<Op, R>(op);
}
/// The fold of the warps from `first` to before `end`.
template <class Op, class R>
__device__ __forceinline__ Fold<Op, R> fold_warps(const Op& op, const R* totals, int first,
                                                  int end) {
  Fold<Op, R> fold(op);
  for (int w = first; w < end; ++w) fold = Fold<Op, R>(op, fold.then(op, totals[w]));
  return fold;
}

/// The chunk of a thread among those of its line.
struct Place {
  int line;           ///< of the tile
  int chunk;          ///< of the line
  int place_in_warp;  ///< among the lanes of the same line
  int k;              ///< the first element, in scan order within the tile
  int length;         ///< 0 where there is nothing to do

  /// \param lines  of the tile
  /// \param length of each in the tile
  /// \param thread number among those of the tile
  __device__ __forceinline__ Place(const Shape& shape, int lines, int length_of_line, int thread) {
    const int lane = thread % lanes;
    const int threads_of_line = shape.cut.threads_of_line;
    bool exists = true;
    if (threads_of_line <= lanes) {
      const int lines_of_warp = shape.quotient(lanes);
      const int line_of_warp = shape.quotient(lane);
      line = thread / lanes * lines_of_warp + line_of_warp;
      chunk = place_in_warp = lane - line_of_warp * threads_of_line;
      exists = line_of_warp < lines_of_warp;
    } else {
      line = shape.quotient(thread);
      chunk = thread - line * threads_of_line;
      place_in_warp = lane;
    }
    k = chunk * shape.cut.chunk;
    const int left = exists && line < lines ? length_of_line - k : 0;
    length = left < shape.cut.chunk ? (left > 0 ? left : 0) : shape.cut.chunk;
  }
};

/// What the first half of the scan of a tile, which folds, leaves to the second, which scans.
template <class P>
struct FoldedChunk {
  using R = typename Types<P>::R;
  R folds;         ///< of the lanes of the line up to and with this one
  R folds_before;  ///< without this one
};

/// Folds the chunk of this thread, and those of the lanes before it.
template <class P>
__device__ __forceinline__ FoldedChunk<P> fold_chunks(const P& problem, Access access,
                                                      const Chunk<P>& chunk, const Place& place) {
  using R = typename Types<P>::R;
  const auto op = carrying(problem.op);
  R total{};
  if (place.length > 0) {
    total = with_access<P>(access, [&](auto packs, auto backward) {
      return chunk.template fold<packs.value, backward.value>();
    });
  }
  const R folds = scan_lanes(op, total, place.place_in_warp, place.length > 0);
  return {folds, shuffle_up(folds, 1)};
}

/// Scans the chunk of this thread, writes its results, and stores what the ends of its line need.
///
/// \param before_warp what comes before the warp or, where lines share one, before the line
/// \param with_warp   what comes before the next warp
template <class P, class R, class Prefix>
__device__ __forceinline__ void scan_chunk(const P& problem, const Shape& shape, Access access,
                                           const Tile& tile, bool is_first_tile, bool is_last_tile,
                                           const Chunk<P>& chunk, const Place& place,
                                           const FoldedChunk<P>& folded, const Prefix& before_warp,
                                           const R& with_warp) {
  using A = typename P::A;
  if (place.length == 0) return;
  const auto op = carrying(problem.op);
  constexpr int at_once = elements_at_once / Types<P>::pack;
  const bool ends_warp = shape.cut.threads_of_line > lanes && threadIdx.x % lanes == lanes - 1;
  const bool is_begin = is_first_tile && place.chunk == 0;
  const Prefix lanes_before =
      place.place_in_warp > 0 ? Prefix(op, folded.folds_before) : Prefix(op);
  const Prefix before = join(op, before_warp, lanes_before);
  const A first =
      is_begin && !problem.start.exists() ? problem.identity.value : static_cast<A>(before.value());
  A last = with_access<P>(access, [&](auto packs, auto backward) {
    return chunk.template scan<at_once, packs.value, backward.value>(before, first);
  });
  if (place.length == shape.cut.chunk) {
    // What the next chunk has before it.
    last = static_cast<A>(ends_warp ? with_warp : before_warp.then(op, folded.folds));
    if (problem.form == Form::inclusive) chunk.write_last(access.backward, last);
  }
  const Ends<P> ends{problem};
  if (ends.exist()) {
    const LineNumber line = tile.line(place.line);
    auto* const extra = chunk.results().extra(place.line);
    if (is_begin) ends.store_begin(line, first, extra);
    if (is_last_tile && place.k + place.length == tile.length) ends.store_end(line, last, extra);
  }
}

/// Bytes of the totals of a block's warps.
template <class R>
inline constexpr int bytes_of_totals = sizeof(R) * (most_threads / lanes);

}  // namespace KokkosScan::impl::cuda
