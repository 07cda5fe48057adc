// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The benchmarks of one execution space and value type. Each source file that includes this
/// compiles one type.

#include <KokkosScan/KokkosScan.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include "check.hpp"
#include "measure.hpp"

namespace perf {

/// An array and the scan axis: the name shows both, the numbers are those after reduction.
struct Shape {
  std::string extents;
  int axis;
  std::size_t outer, n, inner;
};

/// Extents of any rank, and an axis.
inline Shape shape(const std::vector<std::size_t>& extents, int axis) {
  Shape s{"", axis, 1, 1, 1};
  for (int d = 0; d < static_cast<int>(extents.size()); ++d) {
    s.extents += (d == 0 ? "" : "x") + std::to_string(extents[d]);
    (d < axis ? s.outer : d == axis ? s.n : s.inner) *= extents[d];
  }
  return s;
}

/// Fills with values in [0, 1) that do not repeat soon, or integers of all sizes.
template <class T>
struct Fill {
  T* values;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const std::uint64_t bits = static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15U;
    if constexpr (std::is_integral_v<T>) {
      values[i] = static_cast<T>(bits >> 32);
    } else {
      values[i] = static_cast<T>(bits >> 40) * static_cast<T>(0x1p-24);
    }
  }
};

/// Fills with true and false in equal parts.
struct FillMask {
  bool* values;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    values[i] = (static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15U >> 63) != 0;
  }
};

template <class Exec, class T>
Field<Exec, T> allocate(const Exec& exec, const std::string& label, const Shape& s,
                        std::size_t extra = 0) {
  return Field<Exec, T>(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, label), s.outer,
                        s.n + extra, s.inner);
}

/// What a benchmark is given.
template <class Exec, class T>
struct Arrays {
  Exec exec;
  Field<Exec, T> in, out;
  std::size_t bytes;  ///< minimum number of bytes that a scan moves

  Arrays(const Shape& s, std::size_t extra)
      : in(allocate<Exec, T>(exec, "in", s)),
        out(allocate<Exec, T>(exec, "out", s, extra)),
        bytes((in.size() + out.size()) * sizeof(T)) {}

  void fill() const {
    const auto all = [&](const Field<Exec, T>& field) {
      return Range<Exec>(exec, 0, static_cast<std::int64_t>(field.size()));
    };
    Kokkos::parallel_for("perf fill", all(in), Fill<T>{in.data()});
    Kokkos::parallel_for("perf fill", all(out), Fill<T>{out.data()});
  }
};

/// Calls `scan` once to check its results, then measures it.
///
/// \param mask   null if there is no mask
/// \param copied destination of copies
/// \param bytes  minimum number of bytes that a scan moves
template <class Op, class Exec, class T, class Scan>
void check_and_measure(benchmark::State& state, const Arrays<Exec, T>& a, const bool* mask,
                       const Promise& promise, const Field<Exec, T>& copied, std::size_t bytes,
                       const Scan& scan) {
  const std::string wrong = complaint<Op>(a.exec, a.in, mask, a.out, promise, scan);
  if (!wrong.empty()) return state.SkipWithError(wrong.c_str());
  a.fill();
  measure(state, a.exec, a.in, copied, bytes, scan);
}

/// The name of a benchmark: function/space/type/RxC.../axis:A[/variant].
template <class Exec>
std::string name_of(const Promise& promise, const std::string& type, const Shape& s,
                    const std::string& variant) {
  const std::string function =
      promise.form == Form::exclusive ? "exclusive_scan/" : "inclusive_scan/";
  return function + Exec::name() + "/" + type + "/" + s.extents +
         "/axis:" + std::to_string(s.axis) + variant;
}

/// `scan` is called with the arrays of the shape.
template <class Exec, class T, class Op = ks::Sum<>, class Scan>
void add(const Promise& promise, const std::string& type, const Shape& s,
         const std::string& variant, const Scan& scan) {
  benchmark::RegisterBenchmark(
      name_of<Exec>(promise, type, s, variant).c_str(),
      [=](benchmark::State& state) {
        const Arrays<Exec, T> a(s, promise.extra);
        const auto copied = promise.extra == 0 ? a.out : allocate<Exec, T>(a.exec, "copied", s);
        check_and_measure<Op>(state, a, nullptr, promise, copied, a.bytes, [&] { scan(a); });
      })
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

template <class Exec, class T>
void add_masked(const std::string& type, const Shape& s) {
  benchmark::RegisterBenchmark(
      name_of<Exec>({}, type, s, "/masked").c_str(),
      [=](benchmark::State& state) {
        const Arrays<Exec, T> a(s, 0);
        const auto mask = allocate<Exec, bool>(a.exec, "mask", s);
        Kokkos::parallel_for("perf fill",
                             Range<Exec>(a.exec, 0, static_cast<std::int64_t>(mask.size())),
                             FillMask{mask.data()});
        check_and_measure<ks::Sum<>>(state, a, mask.data(), {}, a.out, a.bytes + mask.size(), [&] {
          ks::inclusive_scan(a.exec, ks::masked(a.in, mask), a.out, 1);
        });
      })
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

template <class Exec, class T, class Op>
void add_operator(const std::string& type, const Shape& s, const std::string& variant,
                  const Op& op) {
  add<Exec, T, Op>({}, type, s, variant,
                   [=](const auto& a) { ks::inclusive_scan(a.exec, a.in, a.out, 1, op); });
}

template <class Exec, class T>
void add_plain(const std::string& type, const Shape& s) {
  add_operator<Exec, T>(type, s, "", ks::Sum{});
}

/// Forms and operators.
template <class Exec, class T>
void add_variants(const std::string& type, const Shape& s) {
  add<Exec, T>({.direction = Direction::backward}, type, s, "/backward", [](const auto& a) {
    ks::inclusive_scan(a.exec, a.in, a.out, ks::along(1).backward());
  });
  add<Exec, T>({.placement = Placement::in_place}, type, s, "/in_place",
               [](const auto& a) { ks::inclusive_scan(a.exec, a.out, a.out, 1); });
  const auto exclusive = [](const auto& a) { ks::exclusive_scan(a.exec, a.in, a.out, 1); };
  add<Exec, T>({.form = Form::exclusive}, type, s, "", exclusive);
  add<Exec, T>({.form = Form::exclusive, .extra = 1}, type, s, "/n+1", exclusive);
  add_masked<Exec, T>(type, s);
  add_operator<Exec, T>(type, s, "/prod", ks::Prod{});
  add_operator<Exec, T>(type, s, "/min", ks::Min{});
  add_operator<Exec, T>(type, s, "/max", ks::Max{});
}

/// A line by std::inclusive_scan if it is contiguous, else by a serial loop.
template <class T>
struct StandardScan {
  const T* in;
  T* out;
  std::int64_t n, inner;

  void operator()(std::int64_t line) const {
    const std::int64_t first = line / inner * n * inner + line % inner;
    if (inner == 1) {
      std::inclusive_scan(in + first, in + first + n, out + first);
      return;
    }
    T sum = 0;
    for (std::int64_t k = 0; k < n; ++k) out[first + k * inner] = sum += in[first + k * inner];
  }
};

/// A line by Kokkos::parallel_scan.
template <class T>
struct KokkosLine {
  const T* in;
  T* out;
  std::int64_t stride;
  KOKKOS_FUNCTION void operator()(std::int64_t k, T& sum, bool is_final) const {
    sum += in[k * stride];
    if (is_final) out[k * stride] = sum;
  }
};

/// Alternatives to the library, on the same arrays.
template <class Exec, class T>
void add_peers(const std::string& type, const Shape& s) {
  add<Exec, T>({}, type, s, "/peer:team", [](const auto& a) {
    ks::impl::scan(ks::impl::Function::inclusive_scan, a.exec, a.in, a.out, 1, ks::Sum{},
                   ks::impl::team::Backend{});
  });
  const auto n = static_cast<std::int64_t>(s.n);
  const auto inner = static_cast<std::int64_t>(s.inner);
  const auto lines = static_cast<std::int64_t>(s.outer * s.inner);
  if constexpr (is_host<Exec>) {
    add<Exec, T>({}, type, s, "/peer:std", [=](const auto& a) {
      Kokkos::parallel_for("perf peer", Range<Exec>(a.exec, 0, lines),
                           StandardScan<T>{a.in.data(), a.out.data(), n, inner});
    });
  }
  if (lines > 5000) return;  // they launch once per line
  add<Exec, T>({}, type, s, "/peer:kokkos_per_line", [=](const auto& a) {
    for (std::int64_t line = 0; line < lines; ++line) {
      const std::int64_t first = line / inner * n * inner + line % inner;
      Kokkos::parallel_scan("perf peer", Range<Exec>(a.exec, 0, n),
                            KokkosLine<T>{a.in.data() + first, a.out.data() + first, inner});
    }
  });
}

/// Registers the benchmarks of inputs of `bytes` bytes.
template <class Exec, class T>
void register_space(const std::string& type, std::size_t bytes) {
  const std::size_t count = bytes / sizeof(T);
  const Shape rows = shape({count / 32768, 32768}, 1);
  const Shape columns = shape({count / 32768, 32768}, 0);
  for (const Shape& s : {rows, columns}) {
    add_plain<Exec, T>(type, s);
    add_variants<Exec, T>(type, s);
    add_peers<Exec, T>(type, s);
  }
  // Lengths from short to a single line, some of them odd.
  std::vector<std::size_t> lengths{2, 3, 5, 7, 8, 10, 16, 31, 50, 63, 64, 72, 100, 257, 1000};
  for (std::size_t n = 1024; n < count; n *= 4) lengths.push_back(n);
  lengths.push_back(50257);
  for (const std::size_t n : lengths) add_plain<Exec, T>(type, shape({count / n, n}, 1));
  if constexpr (std::is_same_v<T, float>) {  // for the plot
    for (const std::size_t n : {2, 8, 64, 1024, 4096, 262144}) {
      add_peers<Exec, T>(type, shape({count / n, n}, 1));
    }
  }
  add_plain<Exec, T>(type, shape({count}, 0));
  add_peers<Exec, T>(type, shape({count}, 0));
  add_peers<Exec, T>(type, shape({count / 16, 16}, 1));
  // Long columns side by side; levels of a model; four dimensions of a model's output.
  add_plain<Exec, T>(type, shape({count / 8, 8}, 0));
  add_peers<Exec, T>(type, shape({count / 8, 8}, 0));
  add_plain<Exec, T>(type, shape({1048576, 8}, 0));
  add_plain<Exec, T>(type, shape({72, count / 72}, 0));
  add_plain<Exec, T>(type, shape({count / 64 / 50, 64, 50}, 1));
  for (int axis = 0; axis < 4; ++axis) {
    add_plain<Exec, T>(type, shape({550, 100, 72, 50 * sizeof(float) / sizeof(T)}, axis));
  }
  // Arrays that fit the caches.
  add_plain<Exec, T>(type, shape({512, 4096}, 1));
  add_plain<Exec, T>(type, shape({512, 4096}, 0));
}

/// Registers the benchmarks of the default execution space, and of the host space if it differs.
template <class T>
void register_type(const std::string& type, std::size_t bytes) {
  using Device = Kokkos::DefaultExecutionSpace;
  using Host = Kokkos::DefaultHostExecutionSpace;
  register_space<Device, T>(type, bytes);
  if constexpr (!std::is_same_v<Device, Host>) register_space<Host, T>(type, bytes);
}

/// Each in a file of its own, scan_TYPE.cpp.
void register_float(std::size_t bytes);
void register_double(std::size_t bytes);
void register_int32(std::size_t bytes);
void register_int64(std::size_t bytes);

}  // namespace perf
