// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Calls the library for a ScanProblem. Each source file that includes this compiles one
/// accumulator, so that they compile in parallel.

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>
#include <complex>
#include <cstddef>
#include <type_traits>

#include "scan_problem.hpp"
#include "spaces.hpp"

namespace scan_tool {

/// The value type for the library: Kokkos' own if the std type does not work on devices.
template <class A>
struct KernelType {
  using type = A;
  static constexpr bool ordered = true;
};
template <class T>
struct KernelType<std::complex<T>> {
  using type = Kokkos::complex<T>;
  static constexpr bool ordered = false;
  static_assert(sizeof(type) == sizeof(std::complex<T>));
};

/// The functions of the library on one process.
struct OnOneProcess {
  static constexpr bool has_whole_lines = true;

  template <class Exec, class... Arguments>
  static void inclusive_scan(const Exec& exec, const Arguments&... arguments) {
    KokkosScan::inclusive_scan(exec, arguments...);
  }
  template <class Exec, class... Arguments>
  static void exclusive_scan(const Exec& exec, const Arguments&... arguments) {
    KokkosScan::exclusive_scan(exec, arguments...);
  }
};

/// The Views of a ScanProblem on a space, and the calls of the library.
///
/// \tparam Library OnOneProcess, or the same over ranks that have parts of lines
template <class Exec, class A, class Library>
class ScanRun {
 public:
  ScanRun(const Exec& exec, const ScanProblem<A>& problem) : m_exec(exec), m_problem(problem) {}

  void run() {
    switch (m_problem.operation) {
      case Operation::sum:
        return with_input(KokkosScan::Sum{});
      case Operation::prod:
        return with_input(KokkosScan::Prod{});
      case Operation::min:
        if constexpr (KernelType<A>::ordered) return with_input(KokkosScan::Min{});
        break;
      case Operation::max:
        if constexpr (KernelType<A>::ordered) return with_input(KokkosScan::Max{});
        break;
      case Operation::logsumexp:
        if constexpr (std::is_floating_point_v<A>) return with_input(KokkosScan::LogSumExp{});
        break;
    }
    Kokkos::abort("kokkos-scan: what has no order or logarithm is refused before.");
  }

 private:
  using Value = typename KernelType<A>::type;
  template <class Data>
  using HostView = Kokkos::View<Data, Kokkos::LayoutRight, Kokkos::HostSpace,
                                Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  template <class Op>
  void with_input(const Op& op) {
    const ScanProblem<A>& p = m_problem;
    const auto input =
        on_device(HostView<const Value***>(reinterpret_cast<const Value*>(p.input), extent(p.outer),
                                           extent(p.length), extent(p.inner)));
    if (p.mask == nullptr) return with_output(op, input);
    const auto mask = on_device(HostView<const std::uint8_t***>(p.mask, extent(p.outer),
                                                                extent(p.length), extent(p.inner)));
    with_output(op, KokkosScan::masked(input, mask));
  }

  template <class Op, class In>
  void with_output(const Op& op, const In& input) {
    const ScanProblem<A>& p = m_problem;
    const HostView<Value***> host_output(reinterpret_cast<Value*>(p.output), extent(p.outer),
                                         extent(p.output_length), extent(p.inner));
    const HostView<Value**> host_totals(reinterpret_cast<Value*>(p.totals),
                                        extent(p.has_totals() ? p.outer : 0),
                                        extent(p.has_totals() ? p.inner : 0));
    const auto output = place_for(host_output);
    const auto totals = place_for(host_totals);
    const KokkosScan::Along<> forward = KokkosScan::along(1);
    const KokkosScan::Along<> lines =
        p.direction == Direction::backward ? forward.backward() : forward;
    if (p.grouping == Grouping::in_order) {
      in_order(op, input, output, totals, lines);
    } else {
      by_tree(op, input, output, totals, lines);
    }
    Kokkos::deep_copy(m_exec, host_output, output);
    Kokkos::deep_copy(m_exec, host_totals, totals);
    m_exec.fence("kokkos-scan: results have arrived");
  }

  template <class Op, class In, class Out, class Totals>
  void by_tree(const Op& op, const In& input, const Out& output, const Totals& totals,
               const KokkosScan::Along<>& lines) {
    const ScanProblem<A>& p = m_problem;
    if (p.starts != nullptr) {
      // If the carried type is wider than Value, parts of lines are scanned in order or widened.
      using Bound = KokkosScan::impl::bound_t<Op, Value>;
      if constexpr (std::is_same_v<KokkosScan::impl::carried_t<Bound, Value>, Value>) {
        return call(input, output, lines.starting_at(starts()).totals(totals), op);
      }
    } else if constexpr (Library::has_whole_lines) {
      // The plain call is the common one; all others share one instantiation, for compile time.
      if (!p.start) return call(input, output, lines, op);
      return call(input, output, lines.starting_at(Value(*p.start)).totals(totals), op);
    }
    Kokkos::abort("kokkos-scan: a problem that nobody asks for.");
  }

  /// Integers, minima and maxima have the same bits in any order.
  template <class Op, class In, class Out, class Totals>
  void in_order(const Op& op, const In& input, const Out& output, const Totals& totals,
                const KokkosScan::Along<>& lines) {
    constexpr bool is_exact = std::is_integral_v<Value> || KokkosScan::impl::is_min_or_max<Op>;
    const ScanProblem<A>& p = m_problem;
    if constexpr (Library::has_whole_lines) {
      const auto with_totals = [&] {
        if constexpr (is_exact) {
          return lines.totals(totals);
        } else {
          return lines.in_order().totals(totals);
        }
      }();
      if (p.start) return call(input, output, with_totals.starting_at(Value(*p.start)), op);
      if (p.starts == nullptr) return call(input, output, with_totals, op);
    }
    if constexpr (!is_exact) {
      const auto with_totals = lines.in_order().totals(totals);
      if (p.starts == nullptr) return call(input, output, with_totals, op);
      return call(input, output, with_totals.starting_at(starts()), op);
    }
    Kokkos::abort("kokkos-scan: a problem that nobody asks for.");
  }

  auto starts() const {
    const ScanProblem<A>& p = m_problem;
    return on_device(HostView<const Value**>(reinterpret_cast<const Value*>(p.starts),
                                             extent(p.outer), extent(p.inner)));
  }

  template <class In, class Out, class Lines, class Op>
  void call(const In& input, const Out& output, const Lines& lines, const Op& op) {
    if (m_problem.mode == Mode::inclusive) {
      Library::inclusive_scan(m_exec, input, output, lines, op);
    } else {
      Library::exclusive_scan(m_exec, input, output, lines, op);
    }
  }

  static std::size_t extent(std::int64_t value) { return static_cast<std::size_t>(value); }

  /// The View itself if the space can access host memory, else a copy.
  template <class View>
  auto on_device(const View& host) const {
    if constexpr (runs_on_host<Exec>) {
      return host;
    } else {
      const auto copy = place_for(host);
      Kokkos::deep_copy(m_exec, copy, host);
      return Kokkos::View<typename View::const_data_type, Kokkos::LayoutRight, Exec>(copy);
    }
  }

  /// The View itself if the space can access host memory, else a new View of its shape.
  template <class View>
  auto place_for(const View& host) const {
    if constexpr (runs_on_host<Exec>) {
      return host;
    } else {
      using Place = Kokkos::View<typename View::non_const_data_type, Kokkos::LayoutRight, Exec>;
      return Place(Kokkos::view_alloc(m_exec, Kokkos::WithoutInitializing, "array"), host.layout());
    }
  }

  Exec m_exec;
  const ScanProblem<A>& m_problem;
};

template <class Library, class A>
void scan_by(const ScanProblem<A>& problem, std::string_view space) {
  visit_space(
      space, [&]<class Exec>(const Exec& exec) { ScanRun<Exec, A, Library>(exec, problem).run(); });
}

template <class A>
void scan(const ScanProblem<A>& problem, std::string_view space) {
  scan_by<OnOneProcess>(problem, space);
}

}  // namespace scan_tool
