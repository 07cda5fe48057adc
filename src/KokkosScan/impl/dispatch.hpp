// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Turns the arguments of a public function into a Problem and passes it to a backend. Types are
/// checked in check_types.hpp, shapes and memory in operands.hpp, and nowhere else.

#include <KokkosScan/concepts.hpp>
#include <KokkosScan/impl/accumulate.hpp>
#include <KokkosScan/impl/backend.hpp>
#include <KokkosScan/impl/check_types.hpp>
#include <KokkosScan/impl/empty_lines.hpp>
#include <KokkosScan/impl/instances.hpp>
#include <KokkosScan/impl/operands.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <KokkosScan/inputs.hpp>
#include <KokkosScan/lines.hpp>
#include <KokkosScan/operators.hpp>
#include <KokkosScan/outputs.hpp>
#include <Kokkos_Core.hpp>
#include <Kokkos_Profiling_ScopedRegion.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace KokkosScan::impl {

// ---- Arguments to operands ----------------------------------------------------------------------

template <class View>
Operand describe(Role role, const View& view) {
  using T = typename View::non_const_value_type;
  Operand operand{};
  operand.role = role;
  operand.view = &view;
  operand.label = [](const void* v) -> std::string { return static_cast<const View*>(v)->label(); };
  operand.data = reinterpret_cast<const std::byte*>(view.data());
  operand.element_size = sizeof(T);
  operand.type = &type_tag<T>;
  operand.rank = static_cast<int>(View::rank());
  for (int d = 0; d < operand.rank; ++d) {
    operand.extent[d] = static_cast<std::int64_t>(view.extent(d));
    operand.stride[d] = static_cast<std::int64_t>(view.stride(d));
  }
  return operand;
}

template <class View>
void describe_input(Role role, const View& view, Operand*& next) {
  *next++ = describe(role, view);
}
/// The operand of a function of indices.
template <std::size_t Rank>
Operand describe(Role role, const std::array<std::int64_t, Rank>& extents,
                 std::string (*label)(const void*)) {
  Operand operand{};
  operand.role = role;
  operand.label = label;
  operand.rank = static_cast<int>(Rank);
  for (std::size_t d = 0; d < Rank; ++d) operand.extent[d] = extents[d];
  return operand;
}
template <std::size_t Rank, class F>
void describe_input(Role role, const Elementwise<Rank, F>& input, Operand*& next) {
  *next++ = describe(role, input.extents, [](const void*) -> std::string { return "elementwise"; });
}
template <class View>
void describe_input(Role, const OfEachLine<View>& input, Operand*& next) {
  *next++ = describe(Role::of_each_line, input.values);
}
template <class Values, class Mask>
void describe_input(Role role, const Masked<Values, Mask>& input, Operand*& next) {
  describe_input(role, input.values, next);
  describe_input(Role::mask, input.mask, next);
}

inline void describe_inputs(Role, const InputList<>&, Operand*&) {}
template <class First, class... Rest>
void describe_inputs(Role role, const InputList<First, Rest...>& inputs, Operand*& next) {
  describe_input(role, inputs.first, next);
  describe_inputs(role, inputs.rest, next);
}
template <class Function, class... Inputs>
void describe_input(Role role, const Zipped<Function, Inputs...>& input, Operand*& next) {
  describe_inputs(role, input.inputs, next);
}

/// Refuses indexed(...) elements whose indices count along another axis than the scan's.
template <class In>
void check_indices(Function, const In&, int) {}
template <std::size_t Rank, class Index>
void check_indices(Function function, const Elementwise<Rank, IndexAlong<Index>>& input, int axis) {
  if (input.function.axis == axis) return;
  refuse(function, {"the scan is along axis ", axis, ", but indexed(...) counts along axis ",
                    input.function.axis, "."});
}
template <class Values, class Mask>
void check_indices(Function function, const Masked<Values, Mask>& input, int axis) {
  check_indices(function, input.values, axis);
}
template <class First, class... Rest>
void check_indices(Function function, const InputList<First, Rest...>& inputs, int axis) {
  check_indices(function, inputs.first, axis);
  check_indices(function, inputs.rest, axis);
}
template <class F, class... Inputs>
void check_indices(Function function, const Zipped<F, Inputs...>& input, int axis) {
  check_indices(function, input.inputs, axis);
}

template <class View>
Operand describe_output(const View& view) {
  return describe(Role::output, view);
}
template <class View, class F>
Operand describe_output(const Projected<View, F>& output) {
  return describe(Role::output, output.view);
}
template <std::size_t Rank, class F, class Result>
Operand describe_output(const ForEachResult<Rank, F, Result>& output) {
  return describe(Role::output, output.extents,
                  [](const void*) -> std::string { return "for_each_result"; });
}

// ---- Operands to parts of a Problem -------------------------------------------------------------

template <class T>
Array<T> array_of(const Operand& operand, T* data) {
  return {data == nullptr ? nullptr : data + operand.first, operand.strides};
}

/// The same for read-only arrays; bools are read as StoredBool.
template <class Read, class T>
Array<const Read> read_array_of(const Operand& operand, const T* data) {
  return array_of(operand, reinterpret_cast<const Read*>(data));
}

/// Shared by all parts of an input: the value of masked-out elements, the axis and the direction.
template <class A>
struct InputContext {
  Maybe<A> identity;
  int axis;
  Direction direction;
};

/// A function of indices, as an input or an output.
template <std::size_t Rank, class F>
auto computed(const F& function, const Operand& operand, int axis, Direction direction) {
  const bool backward = direction == Direction::backward;
  Computed<static_cast<int>(Rank), F> computed{
      function,       {}, axis, backward ? operand.extent[axis] - 1 : 0, backward ? -1 : 1,
      operand.strides};
  for (std::size_t d = 0; d < Rank; ++d) computed.extent[d] = operand.extent[d];
  return computed;
}

template <class A, class View>
auto build_input(const View& view, const InputContext<A>&, const Operand*& next) {
  return read_array_of<read_as_t<typename View::non_const_value_type>>(*next++, view.data());
}
template <class A, class View>
auto build_input(const OfEachLine<View>& input, const InputContext<A>&, const Operand*& next) {
  using T = read_as_t<typename View::non_const_value_type>;
  return ValueOfLine<const T>{read_array_of<T>(*next++, input.values.data())};
}
template <class A, std::size_t Rank, class F>
auto build_input(const Elementwise<Rank, F>& input, const InputContext<A>& context,
                 const Operand*& next) {
  return computed<Rank>(input.function, *next++, context.axis, context.direction);
}
/// The mask of an input.
template <class Mask>
auto build_mask(const Mask& mask, int axis, Direction direction, const Operand*& next) {
  if constexpr (ViewLike<Mask>) {
    return read_array_of<mask_read_as_t<typename Mask::non_const_value_type>>(*next++, mask.data());
  } else {
    // A masked mask is false where its own mask is false.
    return build_input<bool>(mask, InputContext<bool>{Maybe<bool>(false), axis, direction}, next);
  }
}
template <class A, class Values, class Mask>
auto build_input(const Masked<Values, Mask>& input, const InputContext<A>& context,
                 const Operand*& next) {
  auto values = build_input<A>(input.values, context, next);
  auto mask = build_mask(input.mask, context.axis, context.direction, next);
  return Selected<A, decltype(values), decltype(mask)>{values, mask, context.identity.value};
}

template <class A>
List<> build_inputs(const InputList<>&, const InputContext<A>&, const Operand*&) {
  return {};
}
template <class A, class First, class... Rest>
auto build_inputs(const InputList<First, Rest...>& inputs, const InputContext<A>& context,
                  const Operand*& next) {
  auto first = build_input<A>(inputs.first, context, next);
  auto rest = build_inputs(inputs.rest, context, next);
  return with_first(first, rest);
}
template <class A, class Function, class... Inputs>
auto build_input(const Zipped<Function, Inputs...>& input, const InputContext<A>& context,
                 const Operand*& next) {
  auto parts = build_inputs(input.inputs, context, next);
  return ZippedInput<Function, decltype(parts)>{input.function, parts};
}

// ---- The call -----------------------------------------------------------------------------------

/// The operands of a call with their shapes checked, in this order: the leaves of the input,
/// output, starting values, totals, workspace.
template <class In, class L>
class Operands {
  static constexpr bool has_start = is_start_of_each_line<typename L::Start>;
  static constexpr bool has_totals = ViewLike<typename L::Totals>;
  static constexpr bool has_workspace = ViewLike<typename L::Workspace>;
  static constexpr int m_output = InputTraits<In>::leaves;
  static constexpr int m_start = m_output + 1;
  static constexpr int m_totals = m_start + (has_start ? 1 : 0);
  static constexpr int m_count = m_totals + (has_totals ? 1 : 0);

 public:
  template <class Out, class Lines>
  Operands(Function function, const In& in, const Out& out, const Lines& lines) {
    Operand* next = m_operands.data();
    describe_input(Role::input, in, next);
    *next++ = describe_output(out);
    if constexpr (has_start) describe_input(Role::start, lines.start(), next);
    if constexpr (has_totals) *next++ = describe(Role::totals, lines.totals());
    if constexpr (has_workspace) *next++ = describe(Role::workspace, lines.workspace());
    m_axis = checked_axis(function, input(), lines.axis());
    check_shapes(function, shaped(), m_axis);
    check_indices(function, in, m_axis);
  }

  [[nodiscard]] int axis() const { return m_axis; }
  [[nodiscard]] const Operand& input() const { return m_operands[0]; }
  [[nodiscard]] const Operand& output() const { return m_operands[m_output]; }
  [[nodiscard]] const Operand& start() const { return m_operands[m_start]; }
  [[nodiscard]] const Operand& totals() const { return m_operands[m_totals]; }
  [[nodiscard]] const Operand& workspace() const { return m_operands[m_count]; }
  /// All operands that have lines: everything except the workspace.
  [[nodiscard]] std::span<Operand> shaped() { return {m_operands.data(), m_count}; }
  /// All operands, including the workspace.
  [[nodiscard]] std::span<const Operand> all() const {
    return {m_operands.data(), m_count + (has_workspace ? 1 : 0)};
  }
  [[nodiscard]] std::int64_t length() const { return input().extent[m_axis]; }
  [[nodiscard]] bool has_extra() const { return output().extent[m_axis] != length(); }

 private:
  // One more than m_count, for the workspace.
  std::array<Operand, m_count + 1> m_operands{};
  int m_axis;
};

/// Starting values that a function computes from the indices of the batch.
template <std::size_t Rank, class F>
auto computed_start(const Elementwise<Rank, F>& start, const Operand& operand) {
  Computed<static_cast<int>(Rank), F> computed{start.function, {}, -1, 0, 0, operand.strides};
  for (std::size_t d = 0; d < Rank; ++d) computed.extent[d] = start.extents[d];
  return computed;
}

/// The starting values of a Problem.
template <class A, class Start>
auto build_start(const Start& start, const Operand& operand) {
  if constexpr (std::is_same_v<Start, None>) {
    return CommonStart<A>{};
  } else if constexpr (ViewLike<Start>) {
    using T = read_as_t<typename Start::non_const_value_type>;
    return StartOfEachLine<A, T>{read_array_of<T>(operand, start.data())};
  } else if constexpr (is_elementwise<Start>) {
    return StartOfEachLine<A, decltype(computed_start(start, operand))>{
        computed_start(start, operand)};
  } else {
    return CommonStart<A>{Maybe<A>(static_cast<A>(start))};
  }
}

/// The type of the totals; that of the results if no totals are wanted.
template <class Totals, class Value>
struct TotalOf {
  using type = Value;
};
template <ViewLike Totals, class Value>
struct TotalOf<Totals, Value> {
  using type = value_of<Totals>;
};

/// The output of a Problem.
template <class A, class View>
auto build_output(const View& view, const Operand& operand, int, Direction) {
  return array_of<value_of<View>>(operand, view.data());
}
template <class A, class View, class F>
auto build_output(const Projected<View, F>& output, const Operand& operand, int, Direction) {
  using Value = ProjectedValue<value_of<View>, A, F>;
  static_assert(sizeof(Value) == sizeof(value_of<View>));
  return array_of<Value>(operand, reinterpret_cast<Value*>(output.view.data()));
}
template <class A, std::size_t Rank, class F, class Result>
auto build_output(const ForEachResult<Rank, F, Result>& output, const Operand& operand, int axis,
                  Direction direction) {
  return typename OutputTraits<ForEachResult<Rank, F, Result>>::template Stored<A>{
      computed<Rank>(output.function, operand, axis, direction)};
}

/// The type of the Problem of a call.
template <class In, class Out, class L, class OpOrTransparent>
struct ProblemOf {
  using A = accumulator_of_call_t<In, Out, OpOrTransparent>;
  using Output = typename OutputTraits<Out>::template Stored<A>;
  using Value = typename OutputOf<Output>::Value;
  using Input =
      decltype(build_input<A>(std::declval<const In&>(), std::declval<const InputContext<A>&>(),
                              std::declval<const Operand*&>()));
  using Start = decltype(build_start<A>(std::declval<const typename L::Start&>(),
                                        std::declval<const Operand&>()));
  using Op = grouped_t<bound_t<OpOrTransparent, A>, A, L::grouping == Grouping::in_order>;
  using type =
      Problem<A, Op, Input, Output, Start, typename TotalOf<typename L::Totals, Value>::type>;
};

/// The operator of a Problem.
template <class Grouped, class Op>
Grouped grouped(const Op& op) {
  if constexpr (is_in_order<Grouped>) {
    return Grouped{op};
  } else {
    return op;
  }
}

/// inclusive_scan and exclusive_scan, after the types have been checked.
template <class Exec, class In, class Out, class LinesOrAxis, class OpOrTransparent, class Backend>
void scan(Function function, const Exec& exec, const In& in, const Out& out,
          const LinesOrAxis& lines_or_axis, const OpOrTransparent& op_or_transparent,
          const Backend& backend) {
  const Kokkos::Profiling::ScopedRegion region(name(function));
  using P =
      typename ProblemOf<In, Out, LinesTraits<lines_of_t<LinesOrAxis>>, OpOrTransparent>::type;
  using A = typename P::A;
  using Op = bound_t<OpOrTransparent, A>;
  const Op op = bind<A>(op_or_transparent);
  const auto& lines = lines_of(lines_or_axis);
  using L = LinesTraits<lines_of_t<LinesOrAxis>>;
  constexpr bool has_start = !std::is_same_v<typename L::Start, None>;
  constexpr bool has_totals = ViewLike<typename L::Totals>;

  Maybe<A> identity;
  if constexpr (HasIdentity<Op, A>) identity = Maybe<A>(static_cast<A>(op.identity()));

  // All checks precede the first write.
  Operands<In, L> operands(function, in, out, lines);
  const int axis = operands.axis();
  const std::int64_t n = operands.length();
  const std::int64_t count = count_lines(operands.input(), axis);
  const bool is_empty = n == 0 && !takes_empty_lines<Backend>;
  check_memory(function, operands.all());
  check_overlaps(function, operands.all(), axis, operands.has_extra());
  const Extra extra = operands.has_extra()
                          ? extra_of(operands.all(), operands.output(), axis, lines.direction())
                          : Extra::none;
  if (has_totals && is_empty && count > 0 && !has_start && !identity.exists) {
    refuse(function, {operands.totals(),
                      " of empty lines need an identity of the operator or a starting value."});
  }
  const std::size_t needed = backend.template workspace_bytes<P>(exec, n, count);
  std::byte* workspace = nullptr;
  if constexpr (ViewLike<typename L::Workspace>) {
    check_workspace(function, operands.workspace(), needed);
    workspace = lines.workspace().data();
  }
  if (count == 0 || (is_empty && extra == Extra::none && !has_totals)) return;

  // The problem, without rank, layout, axis and direction.
  for (Operand& operand : operands.shaped()) {
    if (operand.type == nullptr) address_computed(operand, axis);
  }
  const Operand& fastest = fastest_operand(operands.input(), operands.output());
  const Batch batch = reduce(operands.shaped(), fastest, axis, lines.direction());
  auto output = build_output<A>(out, operands.output(), axis, lines.direction());
  auto start = build_start<A>(lines.start(), operands.start());
  using Total = typename TotalOf<typename L::Totals, typename P::Value>::type;
  Array<Total> totals{};
  if constexpr (has_totals) totals = array_of<Total>(operands.totals(), lines.totals().data());
  if (is_empty) {
    if (extra == Extra::none) leave_out(output);
    using Empty = EmptyLines<A, carried_t<Op, A>, decltype(start), typename P::Out, Total>;
    return empty_lines(exec, name(function), Empty{batch, identity, start, output, totals});
  }
  const Operand* next = &operands.input();
  auto input = build_input<A>(in, InputContext<A>{identity, axis, lines.direction()}, next);
  if (extra == Extra::first) move_along(output, 1);
  // The n+1 results starting with B(0) are the inclusive ones, preceded by B(0).
  const Form form = function != Function::exclusive_scan || extra == Extra::first ? Form::inclusive
                                                                                  : Form::exclusive;
  const P problem{function, n,     batch,  form,  extra, grouped<decltype(P::op)>(op),
                  identity, input, output, start, totals};
  if constexpr (std::is_same_v<Backend, ByDefault>) {
    scan_by_default(exec, problem, workspace);
  } else {
    backend.scan(exec, problem, workspace);
  }
}

/// Checks the types, then scans; refused types get a static_assert.
template <Function function, class Exec, class In, class Out, class Lines, class Op>
void checked_scan(const Exec& exec, const In& in, const Out& out, const Lines& lines,
                  const Op& op) {
  constexpr Refusal refusal =
      refusal_of<function, Exec, In, Out, Lines, decltype(kept_callable(op))>();
  explain<refusal>();
  if constexpr (refusal == Refusal::none) {
    scan(function, exec, in, out, lines, kept_callable(op), ByDefault{});
  }
}

/// workspace_bytes, after the types have been checked.
template <class Exec, class In, class Out, class LinesOrAxis, class OpOrTransparent, class Backend>
std::size_t workspace_bytes(const Exec& exec, const In& in, const Out& out,
                            const LinesOrAxis& lines_or_axis, const OpOrTransparent&,
                            const Backend& backend) {
  using L = LinesTraits<lines_of_t<LinesOrAxis>>;
  const auto& lines = lines_of(lines_or_axis);
  const Operands<In, L> operands(Function::workspace_bytes, in, out, lines);
  return backend.template workspace_bytes<typename ProblemOf<In, Out, L, OpOrTransparent>::type>(
      exec, operands.length(), count_lines(operands.input(), operands.axis()));
}

}  // namespace KokkosScan::impl
