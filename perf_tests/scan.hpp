// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The benchmarks of one execution space and value type. Each source file that includes this
/// compiles one type.

#include <KokkosScan/KokkosScan.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "measure.hpp"

namespace perf {

namespace ks = KokkosScan;

/// Rows, columns and the axis of the lines.
struct Shape {
  std::size_t rows;
  std::size_t columns;
  int axis;
};

enum class Variant { plain, backward, masked, exclusive, n_plus_one };

inline std::string name_of(Variant variant) {
  switch (variant) {
    case Variant::backward:
      return "/backward";
    case Variant::masked:
      return "/masked";
    case Variant::n_plus_one:
      return "/n+1";
    default:
      return "";
  }
}

/// Fills with values in [0, 1) that do not repeat soon.
template <class T>
struct Fill {
  T* values;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const std::uint64_t bits = static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15U;
    values[i] = static_cast<T>(bits >> 40) * static_cast<T>(0x1p-24);
  }
};

/// Fills with about as much true as false.
struct FillMask {
  bool* values;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    values[i] = (static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15U >> 63) != 0;
  }
};

template <class Exec, class T>
Matrix<Exec, T> allocate(const Exec& exec, const std::string& label, std::size_t rows,
                         std::size_t columns) {
  return Matrix<Exec, T>(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, label), rows,
                         columns);
}

template <class Exec, class T>
void run(benchmark::State& state, Shape shape, Variant variant) {
  const Exec exec;
  const auto in = allocate<Exec, T>(exec, "in", shape.rows, shape.columns);
  const auto out = allocate<Exec, T>(exec, "out", shape.rows, shape.columns);
  const Range<Exec> elements(exec, 0, static_cast<std::int64_t>(in.size()));
  Kokkos::parallel_for("perf fill", elements, Fill<T>{in.data()});
  // Pages of a host belong to the thread that touches them first.
  Kokkos::parallel_for("perf fill", elements, Fill<T>{out.data()});
  const auto lines = ks::along(shape.axis);
  const std::size_t bytes = 2 * in.size() * sizeof(T);

  switch (variant) {
    case Variant::plain:
      return measure(state, exec, in, out, bytes,
                     [&] { ks::inclusive_scan(exec, in, out, lines); });
    case Variant::backward:
      return measure(state, exec, in, out, bytes,
                     [&] { ks::inclusive_scan(exec, in, out, lines.backward()); });
    case Variant::masked: {
      const auto mask = allocate<Exec, bool>(exec, "mask", shape.rows, shape.columns);
      Kokkos::parallel_for("perf fill", elements, FillMask{mask.data()});
      return measure(state, exec, in, out, bytes + mask.size(),
                     [&] { ks::inclusive_scan(exec, ks::masked(in, mask), out, lines); });
    }
    case Variant::exclusive:
      return measure(state, exec, in, out, bytes,
                     [&] { ks::exclusive_scan(exec, in, out, lines); });
    case Variant::n_plus_one: {
      const auto more = allocate<Exec, T>(exec, "out", shape.rows + (shape.axis == 0 ? 1 : 0),
                                          shape.columns + (shape.axis == 1 ? 1 : 0));
      return measure(state, exec, in, out, (in.size() + more.size()) * sizeof(T),
                     [&] { ks::exclusive_scan(exec, in, more, lines); });
    }
  }
}

template <class Exec, class T>
void register_one(const std::string& type, Shape shape, Variant variant) {
  const bool exclusive = variant == Variant::exclusive || variant == Variant::n_plus_one;
  const std::string name = std::string(exclusive ? "exclusive_scan" : "inclusive_scan") + "/" +
                           Exec::name() + "/" + type + "/" + std::to_string(shape.rows) + "x" +
                           std::to_string(shape.columns) + "/axis:" + std::to_string(shape.axis) +
                           name_of(variant);
  benchmark::RegisterBenchmark(name.c_str(), run<Exec, T>, shape, variant)
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

/// Registers the benchmarks of inputs of `bytes` bytes.
template <class Exec, class T>
void register_space(const std::string& type, std::size_t bytes) {
  const std::size_t count = bytes / sizeof(T);
  const Shape wide_rows{count / 32768, 32768, 1};
  const Shape wide_columns{count / 32768, 32768, 0};
  for (const Shape shape : {wide_rows, wide_columns}) {
    for (const Variant variant : {Variant::plain, Variant::backward, Variant::masked,
                                  Variant::exclusive, Variant::n_plus_one}) {
      register_one<Exec, T>(type, shape, variant);
    }
  }
  for (const Shape shape : {
           Shape{count / 72, 72, 1},  // as many levels as a climate model has
           Shape{72, count / 72, 0}, Shape{count / 1024, 1024, 1},
           Shape{count / 50257, 50257, 1},  // no power of two divides it
           Shape{1, count, 1},              // one long line
       }) {
    register_one<Exec, T>(type, shape, Variant::plain);
  }
}

/// The same on the default execution space, and on that of the host where it is another one.
template <class T>
void register_type(const std::string& type, std::size_t bytes) {
  using Device = Kokkos::DefaultExecutionSpace;
  using Host = Kokkos::DefaultHostExecutionSpace;
  register_space<Device, T>(type, bytes);
  if constexpr (!std::is_same_v<Device, Host>) register_space<Host, T>(type, bytes);
}

/// Defined in scan_float.cpp and scan_double.cpp.
void register_float(std::size_t bytes);
void register_double(std::size_t bytes);

}  // namespace perf
