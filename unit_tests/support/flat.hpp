// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Flat device arrays that are scanned as (lines, n) Views of any strides, and a runner that scans
// the same values in many ways, so that suites can compare the bits of results. All runs of one
// type and operator share one instantiation of the library.

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "check.hpp"

namespace test {

/// The backend that the library chooses, in the regime that it chooses.
using Automatic = ks::impl::ByDefault;
using TeamBackend = ks::impl::team::Backend;
using ks::impl::team::Regime;

inline constexpr Regime forced_regimes[] = {Regime::thread_per_line, Regime::team_per_line,
                                            Regime::split_lines};

inline TeamBackend forced(Regime regime, int team_size = 0) {
  TeamBackend backend{};
  backend.regime = regime;
  backend.team_size = team_size;
  return backend;
}

inline std::string to_text(Regime regime) {
  return regime == Regime::thread_per_line ? "thread per line"
         : regime == Regime::team_per_line ? "team per line"
         : regime == Regime::split_lines   ? "split lines"
                                           : "automatic";
}

/// The two functions of the library, as types.
struct Inclusive {
  static constexpr char const* name = "KokkosScan::inclusive_scan";
  template <class... Args>
  static void scan(Args const&... args) {
    ks::inclusive_scan(args...);
  }
};
struct Exclusive {
  static constexpr char const* name = "KokkosScan::exclusive_scan";
  template <class... Args>
  static void scan(Args const&... args) {
    ks::exclusive_scan(args...);
  }
};

/// A value with all bits set: NaN if T is a float. T may lack a default constructor.
template <class T>
T poisoned() {
  std::array<unsigned char, sizeof(T)> bytes;
  bytes.fill(0xFF);
  return std::bit_cast<T>(bytes);
}

template <class T>
using Flat = Kokkos::View<T*, Device>;
/// An unmanaged rank-2 View of any strides.
template <class T>
using Plane = Kokkos::View<T**, Kokkos::LayoutStride, Device, Kokkos::MemoryUnmanaged>;

template <class T>
Flat<T> uninitialized(std::string const& label, std::size_t size) {
  return Flat<T>(Kokkos::view_alloc(Kokkos::WithoutInitializing, label), size);
}

template <class T>
struct FillWith {
  T* data;
  T value;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { data[i] = value; }
};

/// Sets all elements of a contiguous View. Not Kokkos::deep_copy, which writes out of bounds in
/// Kokkos 4.6.99 with nvcc 13.
template <class View>
void fill(Exec const& exec, View const& view, typename View::non_const_value_type value) {
  using T = typename View::non_const_value_type;
  Kokkos::parallel_for("fill",
                       Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(
                           exec, 0, static_cast<std::int64_t>(view.size())),
                       FillWith<T>{view.data(), value});
}
template <class View>
void fill(View const& view, typename View::non_const_value_type value) {
  fill(Exec(), view, value);
  Kokkos::fence();
}

template <class T>
Flat<T> to_device(std::string const& label, std::vector<T> const& values) {
  auto const flat = uninitialized<T>(label, values.size());
  using Host = Kokkos::View<T const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>;
  Kokkos::deep_copy(flat, Host(values.data(), values.size()));
  return flat;
}

/// Waits for everything enqueued so far.
template <class T>
std::vector<std::remove_const_t<T>> to_host(Flat<T> const& flat) {
  using Value = std::remove_const_t<T>;
  Kokkos::fence();
  auto const mirror = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, flat);
  Value const* const begin = mirror.data();
  return std::vector<Value>(begin, begin + mirror.extent(0));
}

/// (lines, n): element (l, k) is flat[offset + l * line_stride + k * stride].
template <class T>
Plane<T> plane(Flat<T> const& flat, std::int64_t offset, std::int64_t lines,
               std::int64_t line_stride, std::int64_t n, std::int64_t stride) {
  auto const u = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  return Plane<T>(flat.data() + offset,
                  Kokkos::LayoutStride(u(lines), u(line_stride), u(n), u(stride)));
}

/// Contiguous along axis 1.
template <class T>
Plane<T> rows(Flat<T> const& flat, std::int64_t lines, std::int64_t n) {
  return plane(flat, 0, lines, n, n, 1);
}

/// Index of the first element that differs bitwise, or -1.
template <class T>
std::int64_t first_difference(T const* a, T const* b, std::size_t size) {
  if (size == 0 || std::memcmp(a, b, size * sizeof(T)) == 0) return -1;
  for (std::size_t i = 0; i < size; ++i) {
    if (std::memcmp(a + i, b + i, sizeof(T)) != 0) return static_cast<std::int64_t>(i);
  }
  return -1;
}
template <class T>
std::int64_t first_difference(std::vector<T> const& a, std::vector<T> const& b) {
  if (a.size() != b.size())
    return static_cast<std::int64_t>(a.size() < b.size() ? a.size() : b.size());
  return first_difference(a.data(), b.data(), a.size());
}

/// The memory layouts of the (lines, n) input and output.
enum class Placement {
  rows,             ///< contiguous along the lines
  columns,          ///< neighbours of a line are `lines` elements apart
  gaps,             ///< rows, every third element
  shifted,          ///< rows that begin one element off any alignment
  rows_to_columns,  ///< rows in, columns out
  in_place
};

/// Results ordered by line: element k of line l is at l * extent + k.
template <class T>
struct Scanned {
  std::vector<T> out;
  std::vector<T> totals;
  std::int64_t extent;

  bool operator==(Scanned const& other) const {
    return extent == other.extent && first_difference(out, other.out) < 0 &&
           first_difference(totals, other.totals) < 0;
  }
  T const* line(std::int64_t l) const { return out.data() + l * extent; }
};

/// The runner's configuration.
template <class T>
struct Job {
  std::vector<T> values;  ///< ordered by line
  std::int64_t lines;
  std::int64_t n;
  Form form = Form::inclusive;
  Direction direction = Direction::forward;
  Placement placement = Placement::rows;
};

struct PlacedPlane {
  std::int64_t size, offset, line_stride, stride;
};

inline PlacedPlane place(Placement placement, std::int64_t lines, std::int64_t n) {
  switch (placement) {
    case Placement::columns:
      return {lines * n, 0, 1, lines};
    case Placement::gaps:
      return {lines * n * 3, 0, n * 3, 3};
    case Placement::shifted:
      return {lines * n + 1, 1, n, 1};
    default:
      return {lines * n, 0, n, 1};
  }
}

/// Scans with totals, on the given backend and instance. The output is poisoned first.
template <class T, class Op, class Backend = Automatic>
Scanned<T> run(Job<T> const& job, Op const& op, Backend const& backend = {},
               Exec const& exec = Exec()) {
  auto const [lines, n] = std::pair(job.lines, job.n);
  std::int64_t const extent = n + (job.form == Form::exclusive_with_total ? 1 : 0);
  bool const in_place = job.placement == Placement::in_place;
  Placement const out_placement =
      job.placement == Placement::rows_to_columns ? Placement::columns : job.placement;
  PlacedPlane const from = place(job.placement, lines, in_place ? extent : n);
  PlacedPlane const to = place(out_placement, lines, extent);

  std::vector<T> staged(static_cast<std::size_t>(from.size), poisoned<T>());
  for (std::int64_t l = 0; l < lines; ++l) {
    for (std::int64_t k = 0; k < n; ++k) {
      staged[static_cast<std::size_t>(from.offset + l * from.line_stride + k * from.stride)] =
          job.values[static_cast<std::size_t>(l * n + k)];
    }
  }
  Flat<T> const input = to_device("input", staged);
  if (!in_place) staged.assign(static_cast<std::size_t>(to.size), poisoned<T>());
  Flat<T> const output = in_place ? input : to_device("output", staged);
  auto const totals = uninitialized<T>("totals", static_cast<std::size_t>(lines));

  auto const x = plane(input, from.offset, lines, from.line_stride, n, from.stride);
  auto const y = plane(output, to.offset, lines, to.line_stride, extent, to.stride);
  auto const along = ks::along(1).totals(totals);
  ks::impl::scan(job.form == Form::inclusive ? ks::impl::Function::inclusive_scan
                                             : ks::impl::Function::exclusive_scan,
                 exec, x, y, job.direction == Direction::backward ? along.backward() : along, op,
                 backend);

  Scanned<T> scanned{std::vector<T>(static_cast<std::size_t>(lines * extent), poisoned<T>()),
                     to_host(totals), extent};
  staged = to_host(output);
  for (std::int64_t l = 0; l < lines; ++l) {
    for (std::int64_t k = 0; k < extent; ++k) {
      scanned.out[static_cast<std::size_t>(l * extent + k)] =
          staged[static_cast<std::size_t>(to.offset + l * to.line_stride + k * to.stride)];
    }
  }
  return scanned;
}

}  // namespace test
