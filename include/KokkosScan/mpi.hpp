// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Scans of arrays whose scan axis is distributed over the ranks of an MPI communicator. Needs MPI:
/// link `KokkosScan::MPI`.

#if !__has_include(<mpi.h>)
#error "KokkosScan/mpi.hpp needs MPI: link KokkosScan::MPI."
#endif
#if !defined(__cpp_exceptions)
#error "KokkosScan/mpi.hpp needs exceptions: ranks agree on an error before each of them throws it."
#endif

#include <KokkosScan/impl/begin_header.hpp>

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>
#include <optional>
#include <type_traits>

#include <KokkosScan/impl/mpi/exchange.hpp>
#include <KokkosScan/impl/ranks/scan.hpp>

/// Scans whose lines are distributed over ranks.
namespace KokkosScan::mpi {

/// \defgroup mpi Scans over ranks
/// @{

/// A distributed scan that has begun. Made by Plan::begin_inclusive_scan() and
/// Plan::begin_exclusive_scan(). Views, functions and the plan must exist until it is finished.
template <class Exec, class Run>
class Pending {
 public:
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;
  /// Calls finish() if it has not been called, because other ranks wait for this one. An error then
  /// ends the program.
  ~Pending() {
    if (m_shared.is_busy && m_run) finish();
  }

  /// Waits for the messages of the other ranks and enqueues the scan; collective.
  ///
  /// \throws std::runtime_error if MPI reports an error
  void finish() {
    m_shared.is_busy = false;
    if (m_run) m_run->finish();
    m_run.reset();
  }

 private:
  template <class>
  friend class Plan;
  using Shared = impl::ranks::Shared<Exec, impl::mpi::Exchange<Exec>>;

  template <class In, class Out, class Lines, class Op>
  Pending(Shared& shared, impl::Function function, const In& in, const Out& out, const Lines& lines,
          const Op& op)
      : m_shared(shared) {
    impl::ranks::prepare(m_run, shared, function, in, out, lines, op);
    if (!m_run) return;
    m_run->begin();
    m_shared.is_busy = true;
  }

  Shared& m_shared;
  std::optional<Run> m_run;
};

/// Keeps what repeated scans over the ranks of a communicator need: a duplicate of the
/// communicator, and memory, so that calls no larger than earlier ones allocate nothing.
///
/// Its functions are those of this namespace without `exec` and `comm`. They are collective: all
/// ranks make the same calls in the same order. Destroy a plan before MPI and Kokkos are finalized.
template <class Exec>
class Plan {
 public:
  /// Duplicates the communicator. Collective.
  ///
  /// \param exec     the execution space instance that scans
  /// \param comm     an intracommunicator whose ranks hold the parts of the lines
  /// \param settings only for tests and measurements
  /// \throws std::runtime_error if MPI reports an error
  Plan(const Exec& exec, MPI_Comm comm, const impl::ranks::Settings& settings = {})
      : m_comm(comm), m_shared(m_comm, exec, settings) {}
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  /// As mpi::inclusive_scan().
  template <class In, class Out, class Lines = Along<>, class Op = Sum<>>
  void inclusive_scan(const In& in, const Out& out, const Lines& lines = along(-1),
                      const Op& op = {}) {
    scan<impl::Function::inclusive_scan>(in, out, lines, op);
  }
  /// As mpi::exclusive_scan().
  template <class In, class Out, class Lines = Along<>, class Op = Sum<>>
  void exclusive_scan(const In& in, const Out& out, const Lines& lines = along(-1),
                      const Op& op = {}) {
    scan<impl::Function::exclusive_scan>(in, out, lines, op);
  }

  /// Begins an inclusive scan: agrees with the other ranks on shapes, folds this rank's part, and
  /// sends the first messages. Call finish() on the returned object to complete it. In order, the
  /// rank on which the scan begins scans its part, and the others post receives. A plan can have
  /// one unfinished scan.
  template <class In, class Out, class Lines = Along<>, class Op = Sum<>>
  [[nodiscard]] auto begin_inclusive_scan(const In& in, const Out& out,
                                          const Lines& lines = along(-1), const Op& op = {}) {
    return begin<impl::Function::inclusive_scan>(in, out, lines, op);
  }
  /// Begins an exclusive scan, as begin_inclusive_scan().
  template <class In, class Out, class Lines = Along<>, class Op = Sum<>>
  [[nodiscard]] auto begin_exclusive_scan(const In& in, const Out& out,
                                          const Lines& lines = along(-1), const Op& op = {}) {
    return begin<impl::Function::exclusive_scan>(in, out, lines, op);
  }

 private:
  using Exchange = impl::mpi::Exchange<Exec>;

  template <impl::Function function, class In, class Out, class Lines, class Op>
  void scan(const In& in, const Out& out, const Lines& lines, const Op& op) {
    if constexpr (std::is_function_v<Op>) {
      scan<function>(in, out, lines, impl::kept_callable(op));
    } else if constexpr (impl::ranks::are_right<function, Exec, In, Out, Lines, Op>()) {
      impl::ranks::scan(m_shared, function, in, out, lines, op);
    }
  }
  template <impl::Function function, class In, class Out, class Lines, class Op>
  auto begin(const In& in, const Out& out, const Lines& lines, const Op& op) {
    if constexpr (std::is_function_v<Op>) {
      return begin<function>(in, out, lines, impl::kept_callable(op));
    } else if constexpr (impl::ranks::are_right<function, Exec, In, Out, Lines, Op>()) {
      using Run = typename impl::ranks::Types<Exec, Exchange, In, Out, Lines, Op>::Run;
      return Pending<Exec, Run>(m_shared, function, in, out, lines, op);
    }
  }

  impl::mpi::Communicator m_comm;
  impl::ranks::Shared<Exec, Exchange> m_shared;
};

/// Scans lines whose parts lie on the ranks of a communicator, in rank order. The results are those
/// of KokkosScan::inclusive_scan() on the concatenated parts of all ranks.
///
/// Each rank passes its part of the input and of the output. A part may have any length along the
/// axis, also 0; the other extents agree on all ranks, and so do the starting values. Totals are
/// those of whole lines, stored on every rank. With `.backward()` the scan goes from the end of the
/// last rank's part to the beginning of the first rank's. No workspace can be lent.
///
/// Collective: all ranks of `comm` call it. It waits for its folds and for messages, and returns
/// when the results are enqueued on `exec`; on devices it also waits for the results, which a Plan
/// does not. Messages use a duplicate of `comm`, which the first call makes and which is freed with
/// `comm`.
///
/// \param exec  the execution space instance that scans
/// \param comm  an intracommunicator
/// \param in    this rank's part: a View, masked() or elementwise()
/// \param out   a View of the same extents; it may be the input itself
/// \param lines as in KokkosScan::inclusive_scan(), without a workspace
/// \param op    an associative operator; it need not commute
///
/// \throws std::invalid_argument on all ranks, before anything is written, if the arguments of one
///         rank are wrong or if ranks differ in what must agree
/// \throws std::runtime_error if MPI reports an error
///
/// \par Complexity
/// Each element is read twice and each result stored once. On P ranks, a rank sends and receives at
/// most ceil(log2 P) messages for each block of lines, with one accumulator per line. With
/// `.in_order()` each element is read once and there is one message per block; the last rank waits
/// for P - 1 blocks.
///
/// \par Example
/// \snippet column_integral_mpi.cpp scan
template <class Exec, class In, class Out, class Lines = Along<>, class Op = Sum<>>
void inclusive_scan(const Exec& exec, MPI_Comm comm, const In& in, const Out& out,
                    const Lines& lines = along(-1), const Op& op = {}) {
  constexpr auto function = impl::Function::inclusive_scan;
  if constexpr (std::is_function_v<Op>) {
    inclusive_scan(exec, comm, in, out, lines, impl::kept_callable(op));
  } else if constexpr (impl::ranks::are_right<function, Exec, In, Out, Lines, Op>()) {
    impl::ranks::Shared<Exec, impl::mpi::Exchange<Exec>> shared(impl::mpi::duplicate_of(comm), exec,
                                                                {});
    impl::ranks::scan(shared, function, in, out, lines, op);
  }
}

/// The same without the element itself. The results are those of KokkosScan::exclusive_scan() on
/// the concatenated parts of all ranks.
///
/// On the rank on which the scan ends (the last, with `.backward()` the first), the output may have
/// one element more along the axis, the total. Otherwise as mpi::inclusive_scan().
template <class Exec, class In, class Out, class Lines = Along<>, class Op = Sum<>>
void exclusive_scan(const Exec& exec, MPI_Comm comm, const In& in, const Out& out,
                    const Lines& lines = along(-1), const Op& op = {}) {
  constexpr auto function = impl::Function::exclusive_scan;
  if constexpr (std::is_function_v<Op>) {
    exclusive_scan(exec, comm, in, out, lines, impl::kept_callable(op));
  } else if constexpr (impl::ranks::are_right<function, Exec, In, Out, Lines, Op>()) {
    impl::ranks::Shared<Exec, impl::mpi::Exchange<Exec>> shared(impl::mpi::duplicate_of(comm), exec,
                                                                {});
    impl::ranks::scan(shared, function, in, out, lines, op);
  }
}

/// @}

}  // namespace KokkosScan::mpi

#include <KokkosScan/impl/end_header.hpp>
