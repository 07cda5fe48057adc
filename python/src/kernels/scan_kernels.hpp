// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Calls the library for a Request. Each source file that includes this compiles one or two types,
/// so that they compile in parallel.

#include <KokkosScan/scan.hpp>
#include <Kokkos_Core.hpp>
#include <type_traits>

#include "instances.hpp"
#include "kernels.hpp"
#include "stored.hpp"
#include "views.hpp"

namespace kokkos_scan_python {

/// A number converted to a type, then to the type in which its values are combined.
template <DType D>
auto value_of(const Number& number) {
  using A = KokkosScan::accumulator_t<stored_t<D>>;
  if (number.is_integer) return static_cast<A>(converted<D>(number.integer));
  if constexpr (is_complex<A>) {
    return A(converted<D>(Kokkos::complex<double>(number.value)));
  } else {
    return static_cast<A>(converted<D>(number.value.real()));
  }
}

/// The type with which the library reads and writes elements; any non-zero byte of a bool is true.
template <DType D>
using element_t = std::conditional_t<D == DType::boolean, bool, stored_t<D>>;

/// The elements of a request.
inline std::int64_t elements_of(const Request& request) {
  std::int64_t count = 1;
  for (int d = 0; d < request.rank; ++d) count *= request.extent[d];
  return count;
}

/// The arrays of a request on a space, and the calls of the library.
///
/// \tparam D  the type of the output
template <class Exec, DType D, class Op, Grouping grouping = Grouping::by_tree>
class ScanRun {
  using T = element_t<D>;

 public:
  ScanRun(const Exec& exec, const Request& request) : m_exec(exec), m_request(request) {}

  template <class In>
  void run(const In& in) const {
    if (m_request.starts.exists) {
      with_totals(in, lines().starting_at(lines_view<const T, Exec>(m_request.starts, m_request)));
    } else {
      with_number(in);
    }
  }

  template <class In>
  void with_number(const In& in) const {
    if (m_request.start.exists) {
      with_totals(in, lines().starting_at(value_of<D>(m_request.start)));
    } else {
      with_totals(in, lines());
    }
  }

 private:
  [[nodiscard]] auto lines() const {
    const KokkosScan::Along<> forward = KokkosScan::along(m_request.axis);
    const KokkosScan::Along<> directed =
        m_request.direction == Direction::backward ? forward.backward() : forward;
    if constexpr (grouping == Grouping::in_order) {
      return directed.in_order();
    } else {
      return directed;
    }
  }

  template <class In, class Lines>
  void with_totals(const In& in, const Lines& lines) const {
    if (m_request.totals.exists) {
      call(in, lines.totals(lines_view<T, Exec>(m_request.totals, m_request)));
    } else {
      call(in, lines);
    }
  }

  template <class In, class Lines>
  void call(const In& in, const Lines& lines) const {
    const auto out = array_view<T, Exec>(m_request.output, m_request, m_request.output_length);
    if (m_request.form == Form::inclusive) {
      KokkosScan::inclusive_scan(m_exec, in, out, lines, Op{});
    } else {
      KokkosScan::exclusive_scan(m_exec, in, out, lines, Op{});
    }
  }

  const Exec& m_exec;
  const Request& m_request;
};

/// Whether masks are applied during the scan. That doubles the number of kernels, so for rare types
/// masks take an additional pass instead.
template <class Op, class T>
inline constexpr bool fuses_masks = (std::is_same_v<Op, KokkosScan::Sum<>> ||
                                     std::is_same_v<Op, KokkosScan::Prod<>>)&&(sizeof(T) >= 4 ||
                                                                               is_16_bit_float<T>);

/// One operation in order. Masks are always applied during the scan, because masked-out elements
/// must not be combined with anything.
template <DType D, class Op>
void scan_in_order(const Request& request) {
  on_instance(request.place, elements_of(request), [&]<class Exec>(const Exec& exec) {
    const ScanRun<Exec, D, Op, Grouping::in_order> scan(exec, request);
    const std::int64_t length = request.extent[request.axis];
    const auto in = array_view<const stored_t<D>, Exec>(request.input, request, length);
    if (request.mask.exists) {
      scan.run(KokkosScan::masked(in, array_view<const bool, Exec>(request.mask, request, length)));
    } else {
      scan.run(in);
    }
  });
}

/// One operation on an input whose elements have the C++ type In.
template <DType D, class Op, class In>
bool scan_input(const Request& request) {
  using A = KokkosScan::accumulator_t<stored_t<D>>;
  using KokkosScan::impl::associates_exactly, KokkosScan::impl::bound_t;
  if constexpr (!associates_exactly<bound_t<Op, A>, A> && std::is_same_v<In, stored_t<D>>) {
    if (request.grouping == Grouping::in_order) {
      scan_in_order<D, Op>(request);
      return true;
    }
  }
  constexpr bool fuses = fuses_masks<Op, stored_t<D>> && std::is_same_v<In, stored_t<D>>;
  if (request.mask.exists && (!fuses || request.starts.exists)) return false;
  on_instance(request.place, elements_of(request), [&]<class Exec>(const Exec& exec) {
    const ScanRun<Exec, D, Op> scan(exec, request);
    const std::int64_t length = request.extent[request.axis];
    const auto in = array_view<const In, Exec>(request.input, request, length);
    if constexpr (fuses) {
      if (request.mask.exists) {
        const auto mask = array_view<const bool, Exec>(request.mask, request, length);
        return scan.with_number(KokkosScan::masked(in, mask));
      }
    }
    scan.run(in);
  });
  return true;
}

/// Whether the elements of a type have the same bytes as those of `D`, and the same meaning in
/// sums.
template <DType D>
bool is_summed_as(DType dtype) {
  constexpr Kind kind = info(D).kind;
  if (kind != Kind::signed_integer) return dtype == D;
  return info(dtype).size == info(D).size &&
         (info(dtype).kind == kind || info(dtype).kind == Kind::unsigned_integer);
}

template <DType D>
bool scan_sums(const Request& request) {
  using KokkosScan::Prod, KokkosScan::Sum;
  using T = stored_t<D>;
  const bool is_sum = request.operation == Operation::sum;
  if (is_summed_as<D>(request.input.dtype)) {
    return is_sum ? scan_input<D, Sum<>, T>(request) : scan_input<D, Prod<>, T>(request);
  }
  if constexpr (D == DType::int64) {
    // Counts, and what NumPy and PyTorch widen by default.
    if (is_sum && request.input.dtype == DType::boolean) return scan_input<D, Sum<>, bool>(request);
    if (is_sum && request.input.dtype == DType::uint8) {
      return scan_input<D, Sum<>, std::uint8_t>(request);
    }
    if (is_sum && request.input.dtype == DType::int32) {
      return scan_input<D, Sum<>, std::int32_t>(request);
    }
  }
  return false;
}

/// Logarithms of sums of exponentials; masks are left to prepared().
template <DType D>
bool scan_logarithms(const Request& request) {
  if (request.input.dtype != D || request.mask.exists) return false;
  on_instance(request.place, elements_of(request), [&]<class Exec>(const Exec& exec) {
    const std::int64_t length = request.extent[request.axis];
    ScanRun<Exec, D, KokkosScan::LogSumExp<>>(exec, request)
        .run(array_view<const stored_t<D>, Exec>(request.input, request, length));
  });
  return true;
}

template <DType D>
bool scan_orders(const Request& request) {
  if (request.input.dtype != D) return false;
  using T = element_t<D>;
  return request.operation == Operation::min ? scan_input<D, KokkosScan::Min<>, T>(request)
                                             : scan_input<D, KokkosScan::Max<>, T>(request);
}

}  // namespace kokkos_scan_python
