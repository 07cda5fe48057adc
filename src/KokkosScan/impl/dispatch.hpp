// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// From the arguments of a public function to a Problem for a backend: types are checked here,
/// shapes and memory in operands.hpp, each once and nowhere else.

#include <KokkosScan/concepts.hpp>
#include <KokkosScan/impl/accumulate.hpp>
#include <KokkosScan/impl/backend.hpp>
#include <KokkosScan/impl/operands.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <KokkosScan/inputs.hpp>
#include <KokkosScan/lines.hpp>
#include <KokkosScan/operators.hpp>
#include <Kokkos_Core.hpp>
#include <Kokkos_Profiling_ScopedRegion.hpp>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace KokkosScan::impl {

// ---- What the types tell ------------------------------------------------------------------------

/// The value type and rank of an input, how many arrays or functions it is made of, and whether
/// there are masks among them that are fit to be masks.
template <class In>
struct InputTraits {
  using Value = typename In::non_const_value_type;
  static constexpr int rank = static_cast<int>(In::rank());
  static constexpr int leaves = 1;
  static constexpr bool has_mask = false;
  static constexpr bool masks_have_rank = true;
  static constexpr bool masks_are_boolean = true;
  template <class Exec>
  static constexpr bool accessible =
      Kokkos::SpaceAccessibility<Exec, typename In::memory_space>::accessible;
};
template <class In, class Mask>
struct InputTraits<Masked<In, Mask>> {
  using Value = typename InputTraits<In>::Value;
  static constexpr int rank = InputTraits<In>::rank;
  static constexpr int leaves = InputTraits<In>::leaves + InputTraits<Mask>::leaves;
  static constexpr bool has_mask = true;
  static constexpr bool masks_have_rank = InputTraits<Mask>::rank == rank &&
                                          InputTraits<In>::masks_have_rank &&
                                          InputTraits<Mask>::masks_have_rank;
  static constexpr bool masks_are_boolean =
      std::is_constructible_v<bool, const typename InputTraits<Mask>::Value&> &&
      InputTraits<In>::masks_are_boolean && InputTraits<Mask>::masks_are_boolean;
  template <class Exec>
  static constexpr bool accessible =
      InputTraits<In>::template accessible<Exec>&& InputTraits<Mask>::template accessible<Exec>;
};
// A class, because nvcc drops the parameter of an alias that does not use it.
template <std::size_t>
struct IndexType {
  using type = std::int64_t;
};
template <std::size_t Rank, class F, class = std::make_index_sequence<Rank>>
struct ElementwiseValue;
template <std::size_t Rank, class F, std::size_t... D>
struct ElementwiseValue<Rank, F, std::index_sequence<D...>> {
  static_assert(std::is_invocable_v<const F&, typename IndexType<D>::type...>,
                "KokkosScan: the function of elementwise must be callable, as const, with one "
                "std::int64_t for each extent.");
  using type = std::remove_cvref_t<std::invoke_result_t<const F&, typename IndexType<D>::type...>>;
};
template <std::size_t Rank, class F>
struct InputTraits<Elementwise<Rank, F>> {
  using Value = typename ElementwiseValue<Rank, F>::type;
  static constexpr int rank = static_cast<int>(Rank);
  static constexpr int leaves = 1;
  static constexpr bool has_mask = false;
  static constexpr bool masks_have_rank = true;
  static constexpr bool masks_are_boolean = true;
  template <class Exec>
  static constexpr bool accessible = true;
};

template <class Op>
inline constexpr bool is_sum_or_product = false;
template <class T>
inline constexpr bool is_sum_or_product<Sum<T>> = true;
template <class T>
inline constexpr bool is_sum_or_product<Prod<T>> = true;
template <class Op>
inline constexpr bool is_min_or_max = false;
template <class T>
inline constexpr bool is_min_or_max<Min<T>> = true;
template <class T>
inline constexpr bool is_min_or_max<Max<T>> = true;
template <class T>
inline constexpr bool is_complex = false;
template <class T>
inline constexpr bool is_complex<Kokkos::complex<T>> = true;

template <class T>
requires ViewLike<T>
inline constexpr int view_rank = static_cast<int>(T::rank());

template <class Out>
using value_of = typename Out::non_const_value_type;

/// The lines argument as an Along.
template <class Start, class Totals, class Workspace>
const Along<Start, Totals, Workspace>& lines_of(const Along<Start, Totals, Workspace>& lines) {
  return lines;
}
template <std::integral Axis>
Along<> lines_of(Axis axis) {
  // An axis that no int holds is out of range, not another one.
  constexpr std::intmax_t least = std::numeric_limits<int>::min();
  constexpr std::intmax_t most = std::numeric_limits<int>::max();
  if (std::cmp_less(axis, least)) return along(static_cast<int>(least));
  return along(std::cmp_greater(axis, most) ? static_cast<int>(most) : static_cast<int>(axis));
}
template <class Lines>
using lines_of_t = std::remove_cvref_t<decltype(lines_of(std::declval<const Lines&>()))>;

template <class Lines>
struct LinesTraits;
template <class S, class T, class W>
struct LinesTraits<Along<S, T, W>> {
  using Start = S;
  using Totals = T;
  using Workspace = W;
};

/// Refuses, in a sentence, what the types of a call already tell to be wrong.
template <Function function, class Exec, class In, class Out, class Lines, class Op>
constexpr void check_types() {
  static_assert(Kokkos::is_execution_space<Exec>::value,
                "KokkosScan: the first argument must be a Kokkos execution space instance.");
  static_assert(ScanInput<In>,
                "KokkosScan: the input must be a Kokkos View, masked(...) or elementwise(...).");
  static_assert(ViewLike<Out>, "KokkosScan: the output must be a Kokkos View.");
  static_assert(
      ScanLines<Lines>,
      "KokkosScan: the argument after the output must be an axis or along(axis); an operator needs "
      "an explicit axis before it.");
  if constexpr (Kokkos::is_execution_space<Exec>::value && ScanInput<In> && ViewLike<Out> &&
                ScanLines<Lines>) {
    using I = InputTraits<In>;
    using L = LinesTraits<lines_of_t<Lines>>;
    using Value = value_of<Out>;
    using A = accumulator_of_t<Op, Value>;
    using Bound = bound_t<Op, A>;
    static_assert(I::rank >= 1 && I::rank <= 8, "KokkosScan: the input must have rank 1 to 8.");
    static_assert(static_cast<int>(Out::rank()) == I::rank,
                  "KokkosScan: input and output must have the same rank.");
    static_assert(!std::is_const_v<typename Out::value_type>,
                  "KokkosScan: the output must not be a View of const values.");
    static_assert(I::template accessible<Exec>,
                  "KokkosScan: the execution space cannot access the memory of the input.");
    static_assert(Kokkos::SpaceAccessibility<Exec, typename Out::memory_space>::accessible,
                  "KokkosScan: the execution space cannot access the memory of the output.");
    static_assert(!(is_sum_or_product<Bound> && std::is_same_v<A, bool>),
                  "KokkosScan: Sum and Prod of bool need an output of another type, or "
                  "an accumulator of another type, such as Sum<int>.");
    static_assert(!(is_min_or_max<Bound> && is_complex<A>),
                  "KokkosScan: complex values have no order, so Min and Max cannot combine them.");
    static_assert(std::is_trivially_copyable_v<A> && std::is_trivially_copyable_v<Value>,
                  "KokkosScan: values and accumulators must be trivially copyable.");
    static_assert(
        requires(const typename I::Value& x) { static_cast<A>(x); },
        "KokkosScan: the input's values must convert to the accumulator.");
    static_assert(
        requires(const carried_t<Bound, A>& a) { static_cast<Value>(a); },
        "KokkosScan: the accumulator must convert to the output's values.");
    if constexpr (!(is_min_or_max<Bound> && is_complex<A>)) {
      static_assert(
          OperatorOn<Bound, A>,
          "KokkosScan: the operator must be callable, as const, with two accumulators, and "
          "return what converts to the accumulator.");
    }
    constexpr bool has_start = !std::is_same_v<typename L::Start, None>;
    static_assert(!(function == Function::exclusive_scan) || has_start || HasIdentity<Bound, A>,
                  "KokkosScan: an exclusive scan needs an operator with an identity, or "
                  "along(...).starting_at(...).");
    static_assert(!I::has_mask || HasIdentity<Bound, A>,
                  "KokkosScan: a mask needs an operator with an identity.");
    static_assert(I::masks_have_rank, "KokkosScan: a mask must have the rank of what it masks.");
    static_assert(I::masks_are_boolean, "KokkosScan: the values of a mask must convert to bool.");
    if constexpr (ViewLike<typename L::Start>) {
      static_assert(view_rank<typename L::Start> == I::rank - 1,
                    "KokkosScan: a View of starting values must have one dimension less than the "
                    "input.");
      static_assert(
          Kokkos::SpaceAccessibility<Exec, typename L::Start::memory_space>::accessible,
          "KokkosScan: the execution space cannot access the memory of the starting values.");
      static_assert(
          requires(const value_of<typename L::Start>& s) { static_cast<A>(s); },
          "KokkosScan: starting values must convert to the accumulator.");
    } else if constexpr (has_start) {
      static_assert(
          requires(const typename L::Start& s) { static_cast<A>(s); },
          "KokkosScan: the starting value must convert to the accumulator.");
    }
    if constexpr (!std::is_same_v<typename L::Totals, None>) {
      static_assert(ViewLike<typename L::Totals>, "KokkosScan: totals must be a Kokkos View.");
      if constexpr (ViewLike<typename L::Totals>) {
        static_assert(view_rank<typename L::Totals> == I::rank - 1,
                      "KokkosScan: totals must have one dimension less than the input.");
        static_assert(!std::is_const_v<typename L::Totals::value_type>,
                      "KokkosScan: totals must not be a View of const values.");
        static_assert(
            Kokkos::SpaceAccessibility<Exec, typename L::Totals::memory_space>::accessible,
            "KokkosScan: the execution space cannot access the memory of the totals.");
        static_assert(
            requires(const carried_t<Bound, A>& a) {
              static_cast<value_of<typename L::Totals>>(a);
            },
            "KokkosScan: the accumulator must convert to the values of the totals.");
      }
    }
    if constexpr (!std::is_same_v<typename L::Workspace, None>) {
      static_assert(ViewLike<typename L::Workspace>,
                    "KokkosScan: the workspace must be a Kokkos View of std::byte of rank 1.");
      if constexpr (ViewLike<typename L::Workspace>) {
        static_assert(std::is_same_v<typename L::Workspace::value_type, std::byte> &&
                          view_rank<typename L::Workspace> == 1,
                      "KokkosScan: the workspace must be a Kokkos View of std::byte of rank 1.");
        static_assert(
            Kokkos::SpaceAccessibility<Exec, typename L::Workspace::memory_space>::accessible,
            "KokkosScan: the execution space cannot access the memory of the workspace.");
      }
    }
  }
}

// ---- The operands as plain numbers --------------------------------------------------------------

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
template <std::size_t Rank, class F>
void describe_input(Role role, const Elementwise<Rank, F>& input, Operand*& next) {
  Operand operand{};
  operand.role = role;
  operand.label = [](const void*) -> std::string { return "elementwise"; };
  operand.rank = static_cast<int>(Rank);
  for (std::size_t d = 0; d < Rank; ++d) operand.extent[d] = input.extents[d];
  *next++ = operand;
}
template <class Values, class Mask>
void describe_input(Role role, const Masked<Values, Mask>& input, Operand*& next) {
  describe_input(role, input.values, next);
  describe_input(Role::mask, input.mask, next);
}

// ---- The operands as a backend reads them -------------------------------------------------------

template <class T>
Array<T> array_of(const Operand& operand, T* data) {
  return {data == nullptr ? nullptr : data + operand.first, operand.strides};
}

/// What the parts of an input share: the value where a mask is false, and the way along the axis.
template <class A>
struct InputContext {
  Maybe<A> identity;
  int axis;
  Direction direction;
};

template <class A, class View>
auto build_input(const View& view, const InputContext<A>&, const Operand*& next) {
  using T = const typename View::non_const_value_type;
  return array_of<T>(*next++, view.data());
}
template <class A, std::size_t Rank, class F>
auto build_input(const Elementwise<Rank, F>& input, const InputContext<A>& context,
                 const Operand*& next) {
  const Operand& operand = *next++;
  const bool backward = context.direction == Direction::backward;
  Computed<static_cast<int>(Rank), F> computed{
      input.function,    {},
      context.axis,      backward ? operand.extent[context.axis] - 1 : 0,
      backward ? -1 : 1, operand.strides};
  for (std::size_t d = 0; d < Rank; ++d) computed.extent[d] = operand.extent[d];
  return computed;
}
template <class A, class Values, class Mask>
auto build_input(const Masked<Values, Mask>& input, const InputContext<A>& context,
                 const Operand*& next) {
  auto values = build_input<A>(input.values, context, next);
  // A mask that is masked itself is false where its own mask is.
  const InputContext<bool> of_mask{Maybe<bool>(false), context.axis, context.direction};
  auto mask = build_input<bool>(input.mask, of_mask, next);
  return Selected<A, decltype(values), decltype(mask)>{values, mask, context.identity.value};
}

// ---- A call -------------------------------------------------------------------------------------

/// The operands of a call, described and shaped, in the order: the input's leaves, output, starting
/// values, totals, workspace.
template <class In, class L>
class Operands {
  static constexpr bool has_start = ViewLike<typename L::Start>;
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
    *next++ = describe(Role::output, out);
    if constexpr (has_start) *next++ = describe(Role::start, lines.start());
    if constexpr (has_totals) *next++ = describe(Role::totals, lines.totals());
    if constexpr (has_workspace) *next++ = describe(Role::workspace, lines.workspace());
    m_axis = checked_axis(function, input(), lines.axis());
    check_shapes(function, shaped(), m_axis);
  }

  [[nodiscard]] int axis() const { return m_axis; }
  [[nodiscard]] const Operand& input() const { return m_operands[0]; }
  [[nodiscard]] const Operand& output() const { return m_operands[m_output]; }
  [[nodiscard]] const Operand& start() const { return m_operands[m_start]; }
  [[nodiscard]] const Operand& totals() const { return m_operands[m_totals]; }
  [[nodiscard]] const Operand& workspace() const { return m_operands[m_count]; }
  /// The leaves of the input, the output, starting values and totals: what has lines.
  [[nodiscard]] std::span<Operand> shaped() { return {m_operands.data(), m_count}; }
  /// The same and the workspace.
  [[nodiscard]] std::span<const Operand> all() const {
    return {m_operands.data(), m_count + (has_workspace ? 1 : 0)};
  }
  [[nodiscard]] std::int64_t length() const { return input().extent[m_axis]; }
  [[nodiscard]] bool has_extra() const { return output().extent[m_axis] != length(); }

 private:
  // One more than m_count, which serves as the workspace's place.
  std::array<Operand, m_count + 1> m_operands{};
  int m_axis;
};

/// Starting values as a backend reads them.
template <class A, class Start>
auto build_start(const Start& start, const Operand& operand) {
  if constexpr (std::is_same_v<Start, None>) {
    return CommonStart<A>{};
  } else if constexpr (ViewLike<Start>) {
    using T = typename Start::non_const_value_type;
    return StartOfEachLine<A, T>{array_of<const T>(operand, start.data())};
  } else {
    return CommonStart<A>{Maybe<A>(static_cast<A>(start))};
  }
}

/// The type of the totals: that of the results where none are wanted.
template <class Totals, class Value>
struct TotalOf {
  using type = Value;
};
template <ViewLike Totals, class Value>
struct TotalOf<Totals, Value> {
  using type = value_of<Totals>;
};

/// The type of the problem that a call becomes.
template <class In, class Out, class L, class OpOrTransparent>
struct ProblemOf {
  using Value = value_of<Out>;
  using A = accumulator_of_t<OpOrTransparent, Value>;
  using Input =
      decltype(build_input<A>(std::declval<const In&>(), std::declval<const InputContext<A>&>(),
                              std::declval<const Operand*&>()));
  using Start = decltype(build_start<A>(std::declval<const typename L::Start&>(),
                                        std::declval<const Operand&>()));
  using type = Problem<A, bound_t<OpOrTransparent, A>, Input, Value, Start,
                       typename TotalOf<typename L::Totals, Value>::type>;
};

/// inclusive_scan and exclusive_scan, after check_types().
template <class Exec, class In, class Out, class LinesOrAxis, class OpOrTransparent, class Backend>
void scan(Function function, const Exec& exec, const In& in, const Out& out,
          const LinesOrAxis& lines_or_axis, const OpOrTransparent& op_or_transparent,
          const Backend& backend) {
  const Kokkos::Profiling::ScopedRegion region(name(function));
  using Value = value_of<Out>;
  using A = accumulator_of_t<OpOrTransparent, Value>;
  using Op = bound_t<OpOrTransparent, A>;
  const Op op = bind<A>(op_or_transparent);
  const auto& lines = lines_of(lines_or_axis);
  using L = LinesTraits<lines_of_t<LinesOrAxis>>;
  constexpr bool has_start = !std::is_same_v<typename L::Start, None>;
  constexpr bool has_totals = ViewLike<typename L::Totals>;

  Maybe<A> identity;
  if constexpr (HasIdentity<Op, A>) identity = Maybe<A>(static_cast<A>(op.identity()));

  // Checks; nothing is written before they have passed.
  Operands<In, L> operands(function, in, out, lines);
  const int axis = operands.axis();
  const std::int64_t n = operands.length();
  const std::int64_t count = count_lines(operands.input(), axis);
  const Extra extra =
      check_overlaps(function, operands.all(), axis, lines.direction(), operands.has_extra());
  if (has_totals && n == 0 && count > 0 && !has_start && !identity.exists) {
    refuse(function, operands.totals().named() +
                         " of empty lines need an identity of the operator or a starting value.");
  }
  using P = typename ProblemOf<In, Out, L, OpOrTransparent>::type;
  const std::size_t needed = backend.template workspace_bytes<P>(exec, n, count);
  std::byte* workspace = nullptr;
  if constexpr (ViewLike<typename L::Workspace>) {
    const auto& view = lines.workspace();
    workspace = view.data();
    if (view.extent(0) > 1 && view.stride(0) != 1) {
      refuse(function, operands.workspace().named() + " has stride " +
                           std::to_string(view.stride(0)) + ", but must be contiguous.");
    }
    if (view.extent(0) < needed) {
      refuse(function, operands.workspace().named() + " has " + std::to_string(view.extent(0)) +
                           " bytes, but " + std::to_string(needed) + " are needed.");
    }
    if (reinterpret_cast<std::uintptr_t>(workspace) % 16 != 0) {
      refuse(function,
             operands.workspace().named() + " begins at an address that is not a multiple of 16.");
    }
  }
  if (count == 0 || (n == 0 && extra == Extra::none && !has_totals)) return;

  // The problem, without rank, layout, axis and direction.
  for (Operand& operand : operands.shaped()) {
    if (operand.type == nullptr) address_computed(operand, axis);
  }
  const Batch batch = reduce(operands.shaped(), operands.output(), axis, lines.direction());
  const Operand* next = &operands.input();
  auto input = build_input<A>(in, InputContext<A>{identity, axis, lines.direction()}, next);
  auto output = array_of<Value>(operands.output(), out.data());
  if (extra == Extra::first) output.data += output.strides.along;
  auto start = build_start<A>(lines.start(), operands.start());
  using Total = typename TotalOf<typename L::Totals, Value>::type;
  Array<Total> totals{};
  if constexpr (has_totals) totals = array_of<Total>(operands.totals(), lines.totals().data());
  // The n+1 results that begin with B(0) are the inclusive ones with B(0) before them.
  const Form form = function == Function::inclusive_scan || extra == Extra::first ? Form::inclusive
                                                                                  : Form::exclusive;
  backend.scan(exec, P{function, n, batch, form, extra, op, identity, input, output, start, totals},
               workspace);
}

/// workspace_bytes, after check_types().
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
