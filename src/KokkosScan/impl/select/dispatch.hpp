// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Turns the arguments of select() into a Selection and passes it to a backend.

#include <KokkosScan/impl/dispatch.hpp>
#include <KokkosScan/impl/empty_lines.hpp>
#include <KokkosScan/impl/operands.hpp>
#include <KokkosScan/impl/select/backend.hpp>
#include <KokkosScan/impl/select/check_types.hpp>
#include <KokkosScan/impl/select/selection.hpp>
#include <Kokkos_Core.hpp>
#include <Kokkos_Profiling_ScopedRegion.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

namespace KokkosScan::impl {

/// How many Views an output has, and what it stores.
template <class Out>
struct SelectOutputTraits {
  static constexpr int views = 1;
  using Value = value_of<Out>;
};
template <class... Views>
struct SelectOutputTraits<Zipped<Gather, Views...>> {
  static constexpr int views = sizeof...(Views);
  using Value = Elements<value_of<Views>...>;
};

/// The operands of a selection with their shapes checked: inputs, masks, outputs, counts,
/// workspace.
template <class In, class Keep, class Out>
class SelectOperands {
  static constexpr int leaves_of_keep() {
    if constexpr (ScanInput<Keep>) return InputTraits<Keep>::leaves;
    return 0;
  }
  static constexpr int m_output = InputTraits<In>::leaves + leaves_of_keep();
  static constexpr int m_counts = m_output + SelectOutputTraits<Out>::views;

 public:
  template <class Count>
  SelectOperands(Function function, const In& in, const Keep& keep, const Out& out,
                 const Count& count)
      : m_axis(InputTraits<In>::rank - 1) {
    Operand* next = m_operands.data();
    describe_input(Role::input, in, next);
    if constexpr (ScanInput<Keep>) describe_input(Role::mask, keep, next);
    describe_input(Role::output, out, next);
    *next = describe(Role::counts, count);
    // Outputs may be shorter than the input, but all alike.
    m_capacity = output().extent[m_axis];
    for (Operand& operand : outputs()) {
      check_extent(function, operand, m_axis, output(), m_axis, false);
    }
    if (m_capacity >= 0 && m_capacity < length()) {
      for (Operand& operand : outputs()) operand.extent[m_axis] = length();
    }
    check_shapes(function, shaped(), m_axis);
    for (Operand& operand : outputs()) operand.extent[m_axis] = m_capacity;
  }

  [[nodiscard]] int axis() const { return m_axis; }
  [[nodiscard]] const Operand& input() const { return m_operands[0]; }
  [[nodiscard]] const Operand& output() const { return m_operands[m_output]; }
  [[nodiscard]] const Operand& counts() const { return m_operands[m_counts]; }
  [[nodiscard]] std::int64_t length() const { return input().extent[m_axis]; }
  [[nodiscard]] std::int64_t capacity() const { return m_capacity; }
  [[nodiscard]] std::span<Operand> shaped() { return {m_operands.data(), m_counts + 1}; }
  [[nodiscard]] std::span<Operand> outputs() {
    return shaped().subspan(m_output, SelectOutputTraits<Out>::views);
  }
  /// All operands, including the workspace if there is one.
  template <class Workspace>
  [[nodiscard]] std::span<const Operand> with(const Workspace& workspace) {
    if constexpr (ViewLike<Workspace>) {
      m_operands.back() = describe(Role::workspace, workspace);
      return m_operands;
    } else {
      return shaped();
    }
  }

 private:
  std::array<Operand, m_counts + 2> m_operands{};
  int m_axis;
  std::int64_t m_capacity;
};

/// Refuses operands that share memory, except an output that is an input; returns whether one is.
[[gnu::noinline]] inline bool check_selection_apart(Function function,
                                                    std::span<const Operand> operands, int axis) {
  bool is_in_place = false;
  for (const Operand& a : operands) {
    if (is_written(a.role) && may_overlap_itself(a)) {
      refuse(function, {"two elements of ", a, " share memory."});
    }
    for (const Operand* b = operands.data(); b != &a; ++b) {
      const bool both_are_read =
          !is_written(b->role) && !is_written(a.role) && a.role != Role::workspace;
      if (both_are_read || !may_overlap(a, *b)) continue;
      if (a.role != Role::output || b->role != Role::input || !coincide(*b, a, axis, 0)) {
        refuse(function, {a, " and ", *b, " overlap."});
      }
      is_in_place = true;
    }
  }
  return is_in_place;
}

/// The arrays of an output.
template <class View>
auto build_selected(const View& view, const Operand*& next) {
  return array_of(*next++, view.data());
}
inline List<> build_selected(const InputList<>&, const Operand*&) { return {}; }
template <class First, class... Rest>
auto build_selected(const InputList<First, Rest...>& views, const Operand*& next) {
  auto first = build_selected(views.first, next);
  auto rest = build_selected(views.rest, next);
  return with_first(first, rest);
}
template <class... Views>
auto build_selected(const Zipped<Gather, Views...>& out, const Operand*& next) {
  using Value = typename SelectOutputTraits<Zipped<Gather, Views...>>::Value;
  return typename SelectedOutput<Value>::type{build_selected(out.inputs, next)};
}

/// The mask or predicate of a Selection.
template <class Keep>
auto build_keep(const Keep& keep, int axis, const Operand*& next) {
  if constexpr (ScanInput<Keep>) {
    return build_mask(keep, axis, Direction::forward, next);
  } else {
    return Predicate<Keep>{keep};
  }
}

/// The type of the Selection of a call.
template <class In, class Keep, class Out, class Count>
using selection_of_t =
    Selection<decltype(build_input<int>(std::declval<const In&>(),
                                        std::declval<const InputContext<int>&>(),
                                        std::declval<const Operand*&>())),
              decltype(build_keep(std::declval<const Keep&>(), 0, std::declval<const Operand*&>())),
              typename SelectOutputTraits<Out>::Value, value_of<Count>>;

/// select(), after the types have been checked.
template <class Exec, class In, class Keep, class Out, class Count, class Workspace, class Backend>
void select(const Exec& exec, const In& in, const Keep& keep, const Out& out, const Count& count,
            const Workspace& lent, const Backend& backend) {
  constexpr Function function = Function::select;
  const Kokkos::Profiling::ScopedRegion region(name(function));
  using S = selection_of_t<In, Keep, Out, Count>;
  SelectOperands<In, Keep, Out> operands(function, in, keep, out, count);
  const int axis = operands.axis();
  const std::int64_t n = operands.length();
  const std::int64_t lines = count_lines(operands.input(), axis);
  check_memory(function, operands.with(lent));
  const bool is_in_place = check_selection_apart(function, operands.with(lent), axis);
  if (is_in_place && !Backend::template works_in_place<Exec, S>) {
    refuse(function, {operands.output(),
                      " is the input, which the kernels for values of this size "
                      "and this execution space do not allow."});
  }
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<typename S::Count>::max());
  if (static_cast<std::uint64_t>(n) > most) {
    refuse(function,
           {operands.counts(), " hold at most ", most, ", but a line has ", n, " elements."});
  }
  const std::size_t needed = backend.template workspace_bytes<S>(exec, n, lines);
  std::byte* workspace = nullptr;
  if constexpr (ViewLike<Workspace>) {
    check_workspace(function, operands.with(lent).back(), needed);
    workspace = lent.data();
  }
  if (lines == 0) return;

  for (Operand& operand : operands.shaped()) {
    if (operand.type == nullptr) address_computed(operand, axis);
  }
  const Batch batch = reduce(operands.shaped(), operands.output(), axis, Direction::forward);
  const auto counts = array_of<typename S::Count>(operands.counts(), count.data());
  if (n == 0) {
    // The count of a line without elements is a fold of no elements, 0.
    using Number = std::int64_t;
    using Empty = EmptyLines<Number, Number, CommonStart<Number>, Number, typename S::Count>;
    return empty_lines(exec, name(function),
                       Empty{batch, Maybe<Number>(0), CommonStart<Number>{}, {}, counts});
  }
  const Operand* next = &operands.input();
  const auto input =
      build_input<int>(in, InputContext<int>{Maybe<int>(), axis, Direction::forward}, next);
  const auto kept = build_keep(keep, axis, next);
  next = &operands.output();
  const auto output = build_selected(out, next);
  const S selection{n, batch, input, kept, output, counts, operands.capacity(), is_in_place};
  backend.select(exec, selection, workspace);
}

/// select_workspace_bytes(), after the types have been checked.
template <class Exec, class In, class Keep, class Out, class Count, class Backend>
std::size_t select_workspace_bytes(const Exec& exec, const In& in, const Keep& keep, const Out& out,
                                   const Count& count, const Backend& backend) {
  const SelectOperands<In, Keep, Out> operands(Function::select_workspace_bytes, in, keep, out,
                                               count);
  return backend.template workspace_bytes<selection_of_t<In, Keep, Out, Count>>(
      exec, operands.length(), count_lines(operands.input(), operands.axis()));
}

}  // namespace KokkosScan::impl
