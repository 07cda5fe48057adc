// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Scans of random shapes on a host, measured alternately with a copy of the same bytes and with a
/// plain loop. Random shapes reveal cases that a library tuned on a list of shapes handles badly.

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "measure.hpp"

namespace perf {

namespace ks = KokkosScan;

/// The label of the last kernel that the library launched, which shows the path.
extern std::string last_kernel;

/// Lines of n elements in `outer` slabs of `inner` neighbouring lines. There may be a gap behind
/// each row (of inner elements, or of n elements if inner is 1), and an offset at the beginning.
struct Shape {
  std::int64_t outer, n, inner;
  std::int64_t gap = 0, offset = 0;

  /// The stride along a line.
  [[nodiscard]] std::int64_t along() const { return inner == 1 ? 1 : inner + gap; }
  /// The stride between slabs.
  [[nodiscard]] std::int64_t slab() const { return inner == 1 ? n + gap : n * along(); }
  /// The size of the array in elements, including gaps.
  [[nodiscard]] std::int64_t extent() const { return offset + outer * slab(); }
};

/// Draws random shapes, the same for a seed on every machine: u is uniform in [0, 1) from the upper
/// 53 bits of std::mt19937_64, and extents are log-uniform with a product of about `elements`. Case
/// i has rows (inner 1) if i mod 3 = 0, columns (outer 1) if 1, and a general shape if 2: the
/// logarithm of `elements` is cut at two uniform positions.
inline std::vector<Shape> random_shapes(std::uint64_t seed, int count, double elements) {
  std::mt19937_64 random(seed);
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  const auto power = [&](double u) {
    return std::max<std::int64_t>(1, std::llround(std::pow(elements, u)));
  };
  const auto rest = [&](std::int64_t a) {
    return std::max<std::int64_t>(1, std::llround(elements / static_cast<double>(a)));
  };
  std::vector<Shape> shapes;
  for (int i = 0; i < count; ++i) {
    const double u = uniform();
    if (i % 3 == 0) {
      shapes.push_back({power(u), rest(power(u)), 1});
    } else if (i % 3 == 1) {
      shapes.push_back({1, power(u), rest(power(u))});
    } else {
      const double v = uniform();
      const double low = std::min(u, v), high = std::max(u, v);
      shapes.push_back({power(low), power(high - low), power(1 - high)});
    }
  }
  return shapes;
}

/// All shapes of up to `elements` elements whose extents are powers of 4: rows at multiples of the
/// page size compete for the same cache sets, which is rare in random shapes.
inline std::vector<Shape> shapes_of_powers(double elements) {
  std::vector<Shape> shapes;
  int powers = 0;
  while (std::pow(4.0, powers + 1) <= elements) ++powers;
  for (int outer = 0; outer <= powers; ++outer) {
    for (int n = 0; outer + n <= powers; ++n) {
      const auto extent = [](int power) { return std::int64_t{1} << (2 * power); };
      shapes.push_back({extent(outer), extent(n), extent(powers - outer - n)});
    }
  }
  return shapes;
}

struct RandomOptions {
  std::uint64_t seed = 1;
  int count = 48;
  double elements = 1 << 24;
  std::string variant = "sum";  ///< sum, exclusive, backward, masked; any draws a form per shape
  bool is_of_user = false;      ///< whether the sum of numbers is an operator of the user's own
  std::vector<Shape> shapes;    ///< if not empty, measured instead of random shapes
  std::int64_t gap = 0, offset = 0;
};

struct RandomResult {
  Shape shape;
  std::string path;
  double scan, copy, plain;  ///< seconds
};

/// A sum that the library does not know.
template <class T>
struct UserSum {
  static T identity() { return 0; }
  T operator()(T a, T b) const { return a + b; }
};

/// A struct, which only a user's operator adds.
struct Vector {
  float x, y, z;

  Vector() = default;
  Vector(int value) : x(value), y(2 * value), z(-value) {}
  Vector& operator+=(const Vector& b) { return x += b.x, y += b.y, z += b.z, *this; }
  friend Vector operator+(Vector a, const Vector& b) { return a += b; }
};

/// A straightforward implementation: nested loops that accumulate floats in double, over rows of up
/// to 1024 neighbouring lines, parallel over slabs and rows.
template <class T>
struct PlainLoop {
  using Wide = std::conditional_t<std::is_same_v<T, float>, double, T>;
  static constexpr std::int64_t most = 1024;

  const T* x;
  const bool* mask;  ///< null if there is no mask
  T* y;
  Shape shape;
  std::int64_t width;
  bool is_exclusive, is_backward;

  [[nodiscard]] std::int64_t rows_of_slab() const { return (shape.inner + width - 1) / width; }
  void operator()(std::int64_t unit) const {
    // Avoid the division if each slab is one unit.
    const bool is_slab = width == shape.inner;
    const std::int64_t begin = is_slab ? 0 : unit % rows_of_slab() * width;
    const std::int64_t slab = is_slab ? unit : unit / rows_of_slab();
    const std::int64_t first = shape.offset + slab * shape.slab() + begin;
    const std::int64_t along = shape.along();
    const std::int64_t count = std::min(width, shape.inner - begin);
    if (is_exclusive || is_backward || mask != nullptr) return scan_some_way(first, count);
    if (count == 1) {
      Wide sum = 0;
      for (std::int64_t k = 0; k < shape.n; ++k) {
        sum += x[first + k * along];
        y[first + k * along] = static_cast<T>(sum);
      }
      return;
    }
    Wide sums[most];
    for (std::int64_t i = 0; i < count; ++i) sums[i] = 0;
    for (std::int64_t k = 0; k < shape.n; ++k) {
      const T* from = x + first + k * along;
      T* to = y + first + k * along;
      for (std::int64_t i = 0; i < count; ++i) {
        sums[i] += from[i];
        to[i] = static_cast<T>(sums[i]);
      }
    }
  }

 private:
  void scan_some_way(std::int64_t first, std::int64_t count) const {
    Wide sums[most];
    for (std::int64_t i = 0; i < count; ++i) sums[i] = 0;
    for (std::int64_t step = 0; step < shape.n; ++step) {
      const std::int64_t k = is_backward ? shape.n - 1 - step : step;
      const std::int64_t row = first + k * shape.along();
      for (std::int64_t i = 0; i < count; ++i) {
        const Wide before = sums[i];
        if (mask == nullptr || mask[row + i]) sums[i] += x[row + i];
        y[row + i] = static_cast<T>(is_exclusive ? before : sums[i]);
      }
    }
  }
};

/// Checks with a serial loop that `y` is the scan of `x`, and that gaps are unchanged. Exact, since
/// values are small integers.
template <class T>
bool is_scan(const PlainLoop<T>& loop, const std::vector<T>& expected, const T* y) {
  PlainLoop<T> serial = loop;
  serial.y = const_cast<T*>(expected.data());
  serial.width = std::min(loop.shape.inner, PlainLoop<T>::most);
  const std::int64_t units = serial.rows_of_slab() * serial.shape.outer;
  for (std::int64_t unit = 0; unit < units; ++unit) serial(unit);
  return std::memcmp(expected.data(), y, expected.size() * sizeof(T)) == 0;
}

/// Measures all cases of a type; throws if a scan is wrong.
template <class T>
std::vector<RandomResult> measure_random(const RandomOptions& options) {
  using Exec = Kokkos::DefaultHostExecutionSpace;
  const Exec exec;
  const bool is_any = options.variant == "any";
  std::mt19937_64 of_forms(options.seed);
  std::vector<RandomResult> results;
  std::vector<Shape> shapes = options.shapes.empty()
                                  ? random_shapes(options.seed, options.count, options.elements)
                                  : options.shapes;
  for (Shape& shape : shapes) {
    shape.gap = options.gap;
    shape.offset = options.offset;
    const std::uint64_t form = is_any ? of_forms() >> 32 : 0;
    const bool is_masked = options.variant == "masked" || form % 3 == 1;
    const bool is_exclusive = options.variant == "exclusive" || form / 3 % 2 == 1;
    const bool is_backward = options.variant == "backward" || form / 6 % 2 == 1;
    const auto u = [](std::int64_t i) { return static_cast<std::size_t>(i); };
    using Memory = Kokkos::View<T*, Exec>;
    const Memory memory(Kokkos::view_alloc("x", Kokkos::WithoutInitializing), u(shape.extent()));
    const Memory results_memory("y", u(shape.extent()));
    const Kokkos::View<bool*, Exec> mask_memory("mask", u(is_masked ? shape.extent() : 0));
    const Kokkos::LayoutStride layout(u(shape.outer), u(shape.slab()), u(shape.n), u(shape.along()),
                                      u(shape.inner), 1);
    const auto lines_of = [&](auto* data) {
      return Kokkos::View<std::remove_pointer_t<decltype(data)>***, Kokkos::LayoutStride, Exec>(
          data + (data == nullptr ? 0 : shape.offset), layout);
    };
    T* const values = memory.data();
    bool* const selected = mask_memory.data();
    const auto x = lines_of(values), y = lines_of(results_memory.data());
    const auto mask = lines_of(selected);
    Kokkos::parallel_for("fill", Range<Exec>(exec, 0, shape.extent()), [=](std::int64_t i) {
      // Integers in -3 ... 3, whose sums stay exact.
      const std::uint64_t bits = static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15U >> 40;
      values[i] = static_cast<T>(static_cast<int>(bits % 7) - 3);
      if (is_masked) selected[i] = (bits / 7) % 3 != 0;
    });
    const auto along = is_backward ? ks::along(1).backward() : ks::along(1);
    const auto scan_by = [&](const auto& op, const auto& elements) {
      if (is_exclusive) {
        ks::exclusive_scan(exec, elements, y, along, op);
      } else {
        ks::inclusive_scan(exec, elements, y, along, op);
      }
    };
    const auto scan_elements = [&](const auto& elements) {
      if constexpr (std::is_arithmetic_v<T>) {
        if (!options.is_of_user) return scan_by(ks::Sum<>{}, elements);
      }
      scan_by(UserSum<T>{}, elements);
    };
    const auto scan = [&] { is_masked ? scan_elements(ks::masked(x, mask)) : scan_elements(x); };
    const std::int64_t threads = exec.concurrency();
    std::int64_t width = std::min(shape.inner, PlainLoop<T>::most);
    if (shape.outer * ((shape.inner + width - 1) / width) < threads) {
      width = std::min(width, std::max<std::int64_t>(1, shape.inner / threads));
    }
    const PlainLoop<T> loop{values,
                            is_masked ? selected : nullptr,
                            results_memory.data(),
                            shape,
                            width,
                            is_exclusive,
                            is_backward};
    const std::int64_t units = loop.rows_of_slab() * shape.outer;
    const auto plain = [&] { Kokkos::parallel_for("plain", Range<Exec>(exec, 0, units), loop); };
    const std::string shown = std::to_string(shape.outer) + " x " + std::to_string(shape.n) +
                              " x " + std::to_string(shape.inner);
    scan();
    exec.fence();
    const std::string path = last_kernel;
    if (!is_scan(loop, std::vector<T>(u(shape.extent())), results_memory.data())) {
      throw std::runtime_error("the scan of " + shown + " is wrong");
    }
    const auto dense = [&](T* data) {
      return Field<Exec, T>(data, u(shape.outer), u(shape.n), u(shape.inner));
    };
    const auto ways = copies(exec, dense(values), dense(results_memory.data()));
    std::vector<double> scans, plains;
    std::vector<std::vector<double>> copied(ways.size());
    for (int round = 0; round < 9; ++round) {
      scans.push_back(seconds(exec, scan));
      for (std::size_t i = 0; i < ways.size(); ++i) copied[i].push_back(seconds(exec, ways[i]));
      plains.push_back(seconds(exec, plain));
    }
    // The minimum of each time: other load can only increase it.
    const auto least = [](const std::vector<double>& times) {
      return *std::min_element(times.begin(), times.end());
    };
    double copy = least(copied[0]);
    for (const auto& way : copied) copy = std::min(copy, least(way));
    results.push_back({shape, path, least(scans), copy, least(plains)});
    std::cerr << shown << ": " << copy / results.back().scan << " of a copy, "
              << results.back().plain / results.back().scan << " times a plain loop\n";
  }
  return results;
}

std::vector<RandomResult> measure_random_float(const RandomOptions& options);
std::vector<RandomResult> measure_random_double(const RandomOptions& options);
std::vector<RandomResult> measure_random_int8(const RandomOptions& options);
std::vector<RandomResult> measure_random_int16(const RandomOptions& options);
std::vector<RandomResult> measure_random_vector(const RandomOptions& options);
std::vector<RandomResult> measure_random_int32(const RandomOptions& options);
std::vector<RandomResult> measure_random_int64(const RandomOptions& options);

}  // namespace perf
