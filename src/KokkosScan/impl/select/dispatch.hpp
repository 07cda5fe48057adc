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

/// The operands of a selection with their shapes checked: input, mask, output, counts, workspace.
template <class Keep>
class SelectOperands {
  static constexpr bool has_mask = ScanInput<Keep>;
  static constexpr int m_output = has_mask ? 2 : 1;

 public:
  template <class In, class Out, class Count>
  SelectOperands(Function function, const In& in, const Keep& keep, const Out& out,
                 const Count& count)
      : m_axis(InputTraits<In>::rank - 1) {
    Operand* next = m_operands.data();
    describe_input(Role::input, in, next);
    if constexpr (has_mask) describe_input(Role::mask, keep, next);
    *next++ = describe(Role::output, out);
    *next++ = describe(Role::counts, count);
    check_shapes(function, shaped(), m_axis);
  }

  [[nodiscard]] int axis() const { return m_axis; }
  [[nodiscard]] const Operand& input() const { return m_operands[0]; }
  [[nodiscard]] const Operand& output() const { return m_operands[m_output]; }
  [[nodiscard]] const Operand& counts() const { return m_operands[m_output + 1]; }
  [[nodiscard]] std::int64_t length() const { return input().extent[m_axis]; }
  [[nodiscard]] std::span<Operand> shaped() { return {m_operands.data(), m_output + 2}; }
  /// All operands, including the workspace if there is one.
  template <class Workspace>
  [[nodiscard]] std::span<const Operand> with(const Workspace& workspace) {
    if constexpr (ViewLike<Workspace>) {
      m_operands[m_output + 2] = describe(Role::workspace, workspace);
      return {m_operands.data(), m_output + 3};
    } else {
      return shaped();
    }
  }

 private:
  std::array<Operand, 5> m_operands{};
  int m_axis;
};

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
              value_of<Out>, value_of<Count>>;

/// select(), after the types have been checked.
template <class Exec, class In, class Keep, class Out, class Count, class Workspace, class Backend>
void select(const Exec& exec, const In& in, const Keep& keep, const Out& out, const Count& count,
            const Workspace& lent, const Backend& backend) {
  constexpr Function function = Function::select;
  const Kokkos::Profiling::ScopedRegion region(name(function));
  using S = selection_of_t<In, Keep, Out, Count>;
  SelectOperands<Keep> operands(function, in, keep, out, count);
  const int axis = operands.axis();
  const std::int64_t n = operands.length();
  const std::int64_t lines = count_lines(operands.input(), axis);
  check_memory(function, operands.with(lent));
  check_apart(function, operands.with(lent));
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
  const S selection{
      n, batch, input, kept, array_of<typename S::Value>(operands.output(), out.data()), counts};
  backend.select(exec, selection, workspace);
}

/// select_workspace_bytes(), after the types have been checked.
template <class Exec, class In, class Keep, class Out, class Count, class Backend>
std::size_t select_workspace_bytes(const Exec& exec, const In& in, const Keep& keep, const Out& out,
                                   const Count& count, const Backend& backend) {
  const SelectOperands<Keep> operands(Function::select_workspace_bytes, in, keep, out, count);
  return backend.template workspace_bytes<selection_of_t<In, Keep, Out, Count>>(
      exec, operands.length(), count_lines(operands.input(), operands.axis()));
}

}  // namespace KokkosScan::impl
