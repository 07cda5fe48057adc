// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Compiles the scans of one operator on one type. Each source file that includes this has few of
/// them, because they take long to compile.

#include <KokkosScan/KokkosScan.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "problem.hpp"
#include "reference.hpp"

namespace perf {

namespace ks = KokkosScan;

template <class T>
using Field =
    Kokkos::View<T***, Kokkos::LayoutStride, Exec, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

template <class T>
Field<T> field(T* data, const Problem& p, std::int64_t n, const Strides& strides) {
  const auto size = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  return Field<T>(data, Kokkos::LayoutStride(size(p.outer), size(strides[0]), size(n),
                                             size(strides[1]), size(p.inner), size(strides[2])));
}

template <class T>
struct Multiply {
  Field<const T> a, b;
  KOKKOS_FUNCTION T operator()(std::int64_t i, std::int64_t k, std::int64_t j) const {
    return a(i, k, j) * b(i, k, j);
  }
};

template <class In, class Out, class Op, Second second>
void scan(const Exec& exec, const Problem& p, const Memory& memory) {
  const auto in = field(static_cast<const In*>(memory.in), p, p.n, p.in);
  const auto out = field(static_cast<Out*>(memory.out), p, p.outputs(), p.out);
  const auto call = [&](const auto& input, const auto& forward) {
    const auto lines = p.direction == Direction::backward ? forward.backward() : forward;
    if (p.form == Form::inclusive) {
      ks::inclusive_scan(exec, input, out, lines, Op{});
    } else {
      ks::exclusive_scan(exec, input, out, lines, Op{});
    }
  };
  if constexpr (second == Second::mask) {
    const auto mask = field(static_cast<const bool*>(memory.second), p, p.n, p.in);
    call(ks::masked(in, mask), ks::along(1));
  } else if constexpr (second == Second::factor) {
    const auto factors = field(static_cast<const In*>(memory.second), p, p.n, p.in);
    call(ks::elementwise(std::array<std::int64_t, 3>{p.outer, p.n, p.inner},
                         Multiply<In>{in, factors}),
         ks::along(1).starting_at(Out(boundary)));
  } else {
    call(in, ks::along(1));
  }
}

template <class In, class Out, class Op, class Reference, Second second = Second::none>
Kind make_kind(const std::string& type) {
  using C = Checked<In, Out, Reference, second>;
  static_assert(sizeof(typename C::Wide) <= widest);
  return {type,        sizeof(In), second == Second::none ? 0 : sizeof(typename C::SecondValue),
          sizeof(Out), C::fill,    scan<In, Out, Op, second>,
          C::wrong};
}

}  // namespace perf
