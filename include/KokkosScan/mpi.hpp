// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Scans of arrays whose scan axis is distributed over the ranks of an MPI communicator. It needs
/// MPI: link `KokkosScan::MPI`.

#if !__has_include(<mpi.h>)
#error "KokkosScan/mpi.hpp needs MPI: link KokkosScan::MPI."
#endif

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>
#include <optional>
#include <type_traits>

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif
#include <KokkosScan/impl/mpi/scan.hpp>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

/// Scans whose lines are distributed over ranks.
namespace KokkosScan::mpi {

/// \defgroup mpi Scans over ranks
/// @{

/// A distributed scan that has been begun; made by Plan::begin_inclusive_scan() and
/// Plan::begin_exclusive_scan(). Views, functions and the plan must stay until it is finished.
template <class Exec, class Run>
class Pending {
 public:
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;
  /// Finishes the scan if nobody has, as the other ranks wait for this one; an error ends the
  /// program then.
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

  template <class In, class Out, class Lines, class Op>
  Pending(impl::mpi::Shared<Exec>& shared, impl::Function function, const In& in, const Out& out,
          const Lines& lines, const Op& op)
      : m_shared(shared) {
    impl::mpi::prepare(m_run, shared, function, in, out, lines, op);
    if (!m_run) return;
    m_run->begin();
    m_shared.is_busy = true;
  }

  impl::mpi::Shared<Exec>& m_shared;
  std::optional<Run> m_run;
};

/// What repeated scans over the ranks of a communicator share: a duplicate of it, and memory that
/// is kept from call to call, so that calls as large as earlier ones allocate nothing.
///
/// Its functions are those of this namespace without `exec` and `comm`. They are collective: all
/// ranks call the same ones in the same order. A plan ends before MPI and Kokkos do.
template <class Exec>
class Plan {
 public:
  /// Collective.
  ///
  /// \param exec     the execution space instance that scans
  /// \param comm     whose ranks hold the parts of the lines
  /// \param settings for tests and measurements
  /// \throws std::runtime_error if MPI reports an error
  Plan(const Exec& exec, MPI_Comm comm, const impl::mpi::Settings& settings = {})
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

  /// Begins an inclusive scan: agrees with the other ranks, folds, and sends the first messages,
  /// which travel until finish() of what is returned is called. In order, the rank on which the
  /// scan begins scans its part, and the others ask for messages. A plan has one such scan at a
  /// time.
  template <class In, class Out, class Lines = Along<>, class Op = Sum<>>
  [[nodiscard]] auto begin_inclusive_scan(const In& in, const Out& out,
                                          const Lines& lines = along(-1), const Op& op = {}) {
    return begin<impl::Function::inclusive_scan>(in, out, lines, op);
  }
  /// Begins an exclusive scan, likewise.
  template <class In, class Out, class Lines = Along<>, class Op = Sum<>>
  [[nodiscard]] auto begin_exclusive_scan(const In& in, const Out& out,
                                          const Lines& lines = along(-1), const Op& op = {}) {
    return begin<impl::Function::exclusive_scan>(in, out, lines, op);
  }

 private:
  template <impl::Function function, class In, class Out, class Lines, class Op>
  void scan(const In& in, const Out& out, const Lines& lines, const Op& op) {
    if constexpr (std::is_function_v<Op>) {
      scan<function>(in, out, lines, impl::kept_callable(op));
    } else if constexpr (impl::mpi::are_right<function, Exec, In, Out, Lines, Op>()) {
      impl::mpi::scan(m_shared, function, in, out, lines, op);
    }
  }
  template <impl::Function function, class In, class Out, class Lines, class Op>
  auto begin(const In& in, const Out& out, const Lines& lines, const Op& op) {
    if constexpr (std::is_function_v<Op>) {
      return begin<function>(in, out, lines, impl::kept_callable(op));
    } else if constexpr (impl::mpi::are_right<function, Exec, In, Out, Lines, Op>()) {
      using Run = typename impl::mpi::Types<Exec, In, Out, Lines, Op>::Run;
      return Pending<Exec, Run>(m_shared, function, in, out, lines, op);
    }
  }

  impl::mpi::Communicator m_comm;
  impl::mpi::Shared<Exec> m_shared;
};

/// Scans lines whose parts lie on the ranks of a communicator, in rank order: as
/// KokkosScan::inclusive_scan() would scan the parts of all ranks, one behind the other.
///
/// Each rank passes its part of the input and of the output: of any length along the axis, 0 too;
/// the other extents agree. Starting values are the same on all ranks. Totals are those of whole
/// lines, and are stored on every rank. With `.backward()` the scan goes from the end of the last
/// rank's part to the beginning of the first rank's. No workspace can be lent.
///
/// Collective: all ranks of `comm` call it. It returns when results are enqueued on `exec`, and
/// waits for kernels that fold, for messages, and on devices for its own results as well, which a
/// Plan does not. Messages travel on a duplicate of `comm`, which is made by the first call and
/// kept until `comm` is freed.
///
/// \param exec  the execution space instance that scans
/// \param comm  an intracommunicator
/// \param in    this rank's part: a View, masked(...) or elementwise(...)
/// \param out   a View of the same extents; it may be the input itself
/// \param lines as in KokkosScan::inclusive_scan(), without a workspace
/// \param op    an associative operator; it need not commute
///
/// \throws std::invalid_argument on all ranks, before anything is written, if one of them would
///         refuse its own part, or if ranks differ in what must agree
/// \throws std::runtime_error if MPI reports an error
///
/// \par Complexity
/// Each element is read twice and each result stored once. A rank sends and receives at most
/// ceil(log2 P) messages for each block of lines: an accumulator a line. With `.in_order()` each
/// element is read once, and a rank sends and receives a message for each block; the last rank
/// waits for P - 1 blocks.
///
/// \par Example
/// \snippet column_integral_mpi.cpp scan
template <class Exec, class In, class Out, class Lines = Along<>, class Op = Sum<>>
void inclusive_scan(const Exec& exec, MPI_Comm comm, const In& in, const Out& out,
                    const Lines& lines = along(-1), const Op& op = {}) {
  constexpr auto function = impl::Function::inclusive_scan;
  if constexpr (impl::mpi::are_right<function, Exec, In, Out, Lines, Op>()) {
    impl::mpi::Shared<Exec> shared(impl::mpi::duplicate_of(comm), exec, {});
    impl::mpi::scan(shared, function, in, out, lines, op);
  }
}

/// The same without the element itself: as KokkosScan::exclusive_scan() would scan the parts of all
/// ranks, one behind the other.
///
/// The output may hold one element more along the axis, the total, on the rank on which the scan
/// ends: the last rank, with `.backward()` the first. All else is as in mpi::inclusive_scan().
template <class Exec, class In, class Out, class Lines = Along<>, class Op = Sum<>>
void exclusive_scan(const Exec& exec, MPI_Comm comm, const In& in, const Out& out,
                    const Lines& lines = along(-1), const Op& op = {}) {
  constexpr auto function = impl::Function::exclusive_scan;
  if constexpr (impl::mpi::are_right<function, Exec, In, Out, Lines, Op>()) {
    impl::mpi::Shared<Exec> shared(impl::mpi::duplicate_of(comm), exec, {});
    impl::mpi::scan(shared, function, in, out, lines, op);
  }
}

/// @}

}  // namespace KokkosScan::mpi
