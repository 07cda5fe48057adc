// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Scans of arrays whose scan axis is distributed over the ranks of an NCCL communicator. Needs
/// NCCL: link `KokkosScan::NCCL`.

#if !__has_include(<nccl.h>)
#error "KokkosScan/nccl.hpp needs NCCL: link KokkosScan::NCCL."
#endif
#if !defined(__cpp_exceptions)
#error \
    "KokkosScan/nccl.hpp needs exceptions: ranks agree on an error before each of them throws it."
#endif

#include <KokkosScan/impl/begin_header.hpp>

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>
#include <optional>
#include <type_traits>

#include <KokkosScan/impl/nccl/exchange.hpp>
#include <KokkosScan/impl/ranks/scan.hpp>

/// Scans whose lines are distributed over GPUs.
namespace KokkosScan::nccl {

/// \defgroup nccl Scans over GPUs
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

  /// Enqueues the scan, behind the messages of the other ranks; collective.
  ///
  /// \throws std::runtime_error if NCCL reports an error
  void finish() {
    m_shared.is_busy = false;
    if (m_run) m_run->finish();
    m_run.reset();
  }

 private:
  template <class>
  friend class Plan;
  using Shared = impl::ranks::Shared<Exec, impl::nccl::Exchange<Exec>>;

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

/// Keeps what repeated scans over the ranks of a communicator need: memory, a stream for messages,
/// and what the ranks have agreed on.
///
/// Its functions are those of this namespace without `exec` and `comm`. They are collective: all
/// ranks make the same calls in the same order. The host waits where a rank makes a call that the
/// plan has not seen before: ranks agree on shapes, and memory grows. All other calls enqueue
/// everything on the stream of the instance and one of the plan, which events tie to it: the host
/// waits for nothing, and they can be captured in a CUDA graph, which the plan must outlive.
///
/// Of a call like an earlier one, a plan takes it that the other ranks pass what they passed then.
/// Where the length of a part changes on one rank and not on another, make a new plan.
template <class Exec>
class Plan {
 public:
  /// \param exec     the execution space instance that scans
  /// \param comm     a communicator of the same device, whose ranks hold the parts of the lines; it
  ///                 must outlive the plan
  /// \param settings only for tests and measurements
  /// \throws std::invalid_argument if the communicator is of another device
  Plan(const Exec& exec, ncclComm_t comm, const impl::ranks::Settings& settings = {})
      : m_shared(comm, exec, settings) {}
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  /// As nccl::inclusive_scan().
  template <class In, class Out, class Lines = Along<>, class Op = Sum<>>
  void inclusive_scan(const In& in, const Out& out, const Lines& lines = along(-1),
                      const Op& op = {}) {
    scan<impl::Function::inclusive_scan>(in, out, lines, op);
  }
  /// As nccl::exclusive_scan().
  template <class In, class Out, class Lines = Along<>, class Op = Sum<>>
  void exclusive_scan(const In& in, const Out& out, const Lines& lines = along(-1),
                      const Op& op = {}) {
    scan<impl::Function::exclusive_scan>(in, out, lines, op);
  }

  /// Begins an inclusive scan: enqueues the folds of this rank's part and the first messages. Call
  /// finish() on the returned object to complete it. A plan can have one unfinished scan.
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
  using Exchange = impl::nccl::Exchange<Exec>;

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

  impl::ranks::Shared<Exec, Exchange> m_shared;
};

/// Scans lines whose parts lie on the ranks of a communicator, in rank order. The results are those
/// of KokkosScan::inclusive_scan() on the concatenated parts of all ranks.
///
/// Arguments, results and complexity are those of KokkosScan::mpi::inclusive_scan(), with NCCL
/// carrying the messages from GPU to GPU. Collective: all ranks of `comm` call it. It allocates
/// memory, agrees with the other ranks, and returns when the results are complete; a Plan does
/// without all three.
///
/// \param exec  the execution space instance that scans
/// \param comm  a communicator of the device of `exec`
/// \param in    this rank's part: a View, masked() or elementwise()
/// \param out   a View of the same extents; it may be the input itself
/// \param lines as in KokkosScan::inclusive_scan(), without a workspace
/// \param op    an associative operator; it need not commute
///
/// \throws std::invalid_argument on all ranks, before anything is written, if the arguments of one
///         rank are wrong or if ranks differ in what must agree
/// \throws std::runtime_error if NCCL reports an error
///
template <class Exec, class In, class Out, class Lines = Along<>, class Op = Sum<>>
void inclusive_scan(const Exec& exec, ncclComm_t comm, const In& in, const Out& out,
                    const Lines& lines = along(-1), const Op& op = {}) {
  Plan<Exec>(exec, comm).inclusive_scan(in, out, lines, op);
}

/// The same without the element itself. The results are those of KokkosScan::exclusive_scan() on
/// the concatenated parts of all ranks.
///
/// On the rank on which the scan ends (the last, with `.backward()` the first), the output may have
/// one element more along the axis, the total. Otherwise as nccl::inclusive_scan().
template <class Exec, class In, class Out, class Lines = Along<>, class Op = Sum<>>
void exclusive_scan(const Exec& exec, ncclComm_t comm, const In& in, const Out& out,
                    const Lines& lines = along(-1), const Op& op = {}) {
  Plan<Exec>(exec, comm).exclusive_scan(in, out, lines, op);
}

/// @}

}  // namespace KokkosScan::nccl

#include <KokkosScan/impl/end_header.hpp>
