// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A call of a scan over ranks: checked on all ranks, cut into blocks, run as tree or pipeline.

#include <KokkosScan/impl/in_order.hpp>
#include <KokkosScan/impl/ranks/local.hpp>
#include <KokkosScan/impl/ranks/pipeline.hpp>
#include <KokkosScan/impl/ranks/tree.hpp>
#include <Kokkos_Core.hpp>
#include <Kokkos_Profiling_ScopedRegion.hpp>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace KokkosScan::impl::ranks {

/// The types of a call.
template <class Exec, class Exchange, class In, class Out, class LinesOrAxis, class OpOrTransparent>
struct Types {
  using L = LinesTraits<lines_of_t<LinesOrAxis>>;
  using Totals = typename L::Totals;
  using A = accumulator_of_t<OpOrTransparent, value_of<Out>>;
  static constexpr bool is_in_order = L::grouping == Grouping::in_order;
  using Op = grouped_t<bound_t<OpOrTransparent, A>, A, is_in_order>;
  using R = carried_t<Op, A>;
  using OwnFolds = Folds<Exec, Out, R>;
  using OwnLines = Along<typename L::Start, OwnFolds, None, L::grouping>;
  using P = typename ProblemOf<In, Out, LinesTraits<OwnLines>, OpOrTransparent>::type;
  // An operator that associates exactly gives the same bits in a tree.
  static constexpr bool is_pipeline = scans_in_order<P>;
  static constexpr bool has_flags =
      is_selected<decltype(P::input)> && std::is_same_v<typename L::Start, None>;
  using Run = std::conditional_t<is_pipeline, Pipeline<Exec, Exchange, P, Totals, has_flags>,
                                 Tree<Exec, Exchange, P, Totals>>;
};

/// Agrees with the other ranks. Where messages are enqueued the host waits for that once: of a call
/// like an earlier one of the plan it is known what the others pass.
template <class Exec, class Exchange>
Agreement agreement_of(Shared<Exec, Exchange>& shared, Function function,
                       const std::optional<Local>& local, const std::string& refusal) {
  if constexpr (Exchange::is_enqueued) {
    // Others may take this call for a known one.
    if (!local && !shared.agreements.empty()) throw std::invalid_argument(refusal);
    for (const auto& [call, agreement] : shared.agreements) {
      if (local && call == *local) return agreement;
    }
  }
  Agreement agreement = agree(shared.exchange, function, local ? &*local : nullptr, refusal);
  if constexpr (Exchange::is_enqueued) shared.agreements.emplace_back(*local, agreement);
  return agreement;
}

/// Checks a call, compares it with those of the other ranks, and emplaces `run`, unless there are
/// no lines. An error on one rank is thrown on all.
template <class Exec, class Exchange, class In, class Out, class LinesOrAxis, class OpOrTransparent,
          class Run>
void prepare(std::optional<Run>& run, Shared<Exec, Exchange>& shared, Function function,
             const In& in, const Out& out, const LinesOrAxis& lines_or_axis,
             const OpOrTransparent& op) {
  using T = Types<Exec, Exchange, In, Out, LinesOrAxis, OpOrTransparent>;
  using P = typename T::P;
  using A = typename T::A;
  using R = typename T::R;
  using Arrays = typename Run::Arrays;
  using Bound = bound_t<OpOrTransparent, A>;
  const auto& lines = lines_of(lines_or_axis);
  const bool is_forward = lines.direction() == Direction::forward;
  constexpr bool has_start = !std::is_same_v<typename T::L::Start, None>;
  constexpr bool has_totals = ViewLike<typename T::Totals>;

  std::optional<Local> local;
  std::string refusal;
  std::optional<Operands<In, typename T::L>> operands;
  std::int64_t count = 0;
  try {
    if (shared.is_busy) {
      throw std::logic_error(name_with_ranks<Exchange>(function) +
                             ": the plan's last scan is not finished yet.");
    }
    operands.emplace(function, in, out, lines);
    const int axis = operands->axis();
    const std::int64_t n = operands->length();
    check_memory(function, operands->all());
    check_overlaps(function, operands->all(), axis, operands->has_extra());
    count = count_lines(operands->input(), axis);
    const Arrays sizes(nullptr, shared.exec, n, count);
    if constexpr (Exchange::is_enqueued) {
      if (sizes.bytes() > shared.memory.bytes()) shared.exchange.expect_no_capture();
    }
    shared.memory.reserve(shared.exec, sizes.bytes());
    shared.exchange.reserve_staging(sizes.staging_bytes);

    local.emplace();
    const int last = is_forward ? shared.exchange.size() - 1 : 0;
    local->length = n;
    local->has_misplaced_extra = operands->has_extra() && shared.exchange.rank() != last;
    auto& facts = local->facts.value;
    const Operand& input = operands->input();
    facts[Facts::function] = function == Function::inclusive_scan ? 0 : 1;
    facts[Facts::direction] = is_forward ? 0 : 1;
    facts[Facts::rank] = input.rank;
    facts[Facts::axis] = axis;
    for (int d = 0; d < input.rank; ++d) {
      facts[static_cast<std::size_t>(Facts::extents + d)] = d == axis ? 0 : input.extent[d];
    }
    facts[Facts::has_start] = has_start ? 1 : 0;
    facts[Facts::has_totals] = has_totals ? 1 : 0;
    facts[Facts::accumulator] = sizeof(R);
    facts[Facts::grouping] = !T::is_pipeline ? 0 : T::has_flags ? 2 : 1;
    facts[Facts::order] = counts_left<Out> ? 1 : 0;
    facts[Facts::block_bytes] = shared.settings.block_bytes;
    facts[Facts::least_lines] = shared.settings.least_lines;
    facts[Facts::element_size] = sizeof(value_of<Out>);
  } catch (const std::exception& e) {
    local.reset();
    refusal = e.what();
  }
  const Agreement agreement = agreement_of(shared, function, local, refusal);
  const std::int64_t longest = agreement.longest;
  if (count == 0) return;

  const int axis = operands->axis();
  if (has_totals && longest == 0 && !has_start && !HasIdentity<Bound, A>) {
    throw std::invalid_argument(
        name_with_ranks<Exchange>(function) +
        ": totals of empty lines need an identity of the operator or a starting value.");
  }
  const std::int64_t unit = unit_of<counts_left<Out>>(operands->input(), axis, count);
  using Cut = BlockSizes<T::is_pipeline, launches_block<Exec>>;
  const std::int64_t block_bytes = shared.settings.block_bytes > 0 ? shared.settings.block_bytes
                                   : shared.exchange.size() == 2   ? Cut::bytes_of_two
                                                                   : Cut::bytes;
  constexpr auto element_size = static_cast<std::int64_t>(sizeof(value_of<Out>));
  const int fastest = counts_left<Out> ? 0 : operands->input().rank - 1;
  const std::int64_t least_lines = shared.settings.least_lines > 0
                                       ? shared.settings.least_lines
                                       : Cut::least_lines(axis == fastest, element_size);
  Blocks blocks = cut_into_blocks(count, unit, longest * element_size, block_bytes, least_lines,
                                  Cut::most_large_blocks);
  if (shared.exchange.size() == 1) blocks = {count, count, 1};
  if (static_cast<std::size_t>(blocks.lines_of_block) > Exchange::most_bytes / (sizeof(R) + 1)) {
    throw std::invalid_argument(name_with_ranks<Exchange>(function) + ": a message of " +
                                std::to_string(blocks.lines_of_block) +
                                " values would have more bytes than an int counts.");
  }
  shared.exchange.open(blocks.count, agreement.lengths);
  const Arrays arrays(shared.memory.data(), shared.exec, operands->length(), count);
  const typename T::OwnLines own_lines(
      lines.axis(), lines.direction(), lines.start(),
      folds_at<typename T::OwnFolds>(arrays.own, operands->input(), axis), None{});
  std::optional<P> problem;
  impl::scan(function, shared.exec, in, out, own_lines, op, Keep<P>{&problem});
  run.emplace(shared, *problem, blocks, arrays, lines.direction(), lines.totals(),
              counts_left<Out>);
}

/// A whole call.
template <class Exec, class Exchange, class In, class Out, class Lines, class Op>
void scan(Shared<Exec, Exchange>& shared, Function function, const In& in, const Out& out,
          const Lines& lines, const Op& op) {
  const Kokkos::Profiling::ScopedRegion region(name_with_ranks<Exchange>(function));
  std::optional<typename Types<Exec, Exchange, In, Out, Lines, Op>::Run> run;
  prepare(run, shared, function, in, out, lines, op);
  if (run) run->finish();
}

/// Whether the types of a call are right; if not, compilation fails with one sentence.
template <Function function, class Exec, class In, class Out, class Lines, class Op>
constexpr bool are_right() {
  constexpr Refusal refusal = refusal_of<function, Exec, In, Out, Lines, Op>();
  explain<refusal>();
  constexpr bool stores = ViewLike<Out>;
  static_assert(refusal != Refusal::none || stores,
                "KokkosScan: the results of a scan over ranks are stored in a Kokkos View as they "
                "are.");
  constexpr bool zips = is_zipped<In>;
  static_assert(refusal != Refusal::none || !zips,
                "KokkosScan: a scan over ranks does not take zipped inputs.");
  if constexpr (refusal == Refusal::none && stores && !zips) {
    constexpr bool lends =
        !std::is_same_v<typename LinesTraits<lines_of_t<Lines>>::Workspace, None>;
    static_assert(!lends, "KokkosScan: a scan over ranks takes no workspace; a Plan keeps memory.");
    return !lends;
  }
  return false;
}

}  // namespace KokkosScan::impl::ranks