// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cases.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <vector>

#include "kinds.hpp"
#include "measure.hpp"
#include "peers.hpp"

namespace perf {

namespace {

using Extents = std::vector<std::int64_t>;

/// A case of a dense array, modified by the functions below.
Case sums(const Kind& kind, const Extents& extents, int axis) {
  Case c{"inclusive_scan", "", "", kind, {1, 1, 1}};
  c.run = kind.scan;
  Problem& p = c.problem;
  for (int d = 0; d < static_cast<int>(extents.size()); ++d) {
    const std::int64_t extent = extents[static_cast<std::size_t>(d)];
    c.shape += (d == 0 ? "" : "x") + std::to_string(extent);
    (d < axis ? p.outer : d == axis ? p.n : p.inner) *= extent;
  }
  c.shape += "/axis:" + std::to_string(axis);
  p.in = p.out = {p.n * p.inner, p.inner, 1};
  return c;
}

Case with(Case c, const std::string& variant) {
  c.variant += "/" + variant;
  return c;
}
Case backward(Case c) {
  c.problem.direction = Direction::backward;
  return with(c, "backward");
}
Case exclusive(Case c) {
  c.function = "exclusive_scan";
  c.problem.form = Form::exclusive;
  return c;
}
/// n + 1 outputs, of a dense array.
Case with_total(Case c) {
  c = exclusive(c);
  c.problem.form = Form::exclusive_with_total;
  c.problem.out[0] = (c.problem.n + 1) * c.problem.inner;
  return with(c, "n+1");
}
Case in_place(Case c) {
  c.place = Place::same;
  return with(c, "in_place");
}
using Run = std::function<void(const Exec&, const Problem&, const Memory&)>;
Case peer(Case c, const std::string& name, Run run) {
  c.run = std::move(run);
  c.accuracy = Accuracy::any;
  return with(c, "peer:" + name);
}

/// A function of the CUDA toolkit as a peer.
Run on_lines(void (*function)(cudaStream_t, std::int64_t, std::int64_t, const float*, float*)) {
  return [=](const Exec& exec, const Problem& p, const Memory& memory) {
    function(exec.cuda_stream(), p.lines(), p.n, static_cast<const float*>(memory.in),
             static_cast<float*>(memory.out));
  };
}

std::int64_t power(std::int64_t base, int exponent) {
  return exponent == 0 ? 1 : base * power(base, exponent - 1);
}

/// Lines of n elements, about this many elements in all.
Extents lines_of(std::int64_t n, std::int64_t elements) {
  return {std::max<std::int64_t>(elements / n, 1), n};
}

/// Sums of floats along the last axis, compared with peers.
void add_lengths(std::int64_t elements) {
  const Kind kind = sum_float();
  Extents lengths;
  for (std::int64_t n = 1; n <= elements; n *= 2) lengths.push_back(n);
  for (const std::int64_t n :
       {3,    7,    33,    100,   1000,  1001,  1023,  1025,   1500,    2000,     2049,
        4097, 8191, 12001, 32767, 32769, 50257, 65537, 262145, 1000001, 100000007}) {
    if (n <= elements) lengths.push_back(n);
  }
  for (const std::int64_t n : lengths) add(sums(kind, lines_of(n, elements), 1));

  for (const std::int64_t n : {8L, 32L, 128L, 1024L, 4096L, 32768L, 1L << 20, 1L << 25, 1L << 30}) {
    if (n > elements) continue;
    const Case c = sums(kind, lines_of(n, elements), 1);
    if (n == elements) add(peer(c, "cub_flat", on_lines(cub_flat)));
    add(peer(c, "cub_by_key", on_lines(cub_by_key)));
    add(peer(c, "thrust_by_key", on_lines(thrust_by_key)));
    if (has_cub_segmented()) add(peer(c, "cub_segmented", on_lines(cub_segmented)));
    // A warp or a team per line takes seconds for a few long lines.
    if (n <= 32768) add(peer(c, "kokkos_vector", vector_per_line<float>));
    if (n <= 1 << 20) add(peer(c, "kokkos_team", team_per_line<float>));
    if (n <= 1 << 25) add(peer(c, "generic_backend", generic_backend));
  }
}

/// Forms and operators on floats.
void add_forms(std::int64_t elements) {
  const auto side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(elements)));
  const Kind kind = sum_float();
  for (const int axis : {1, 0}) {
    const auto square = [&](const Kind& k) { return sums(k, {side, side}, axis); };
    add(square(kind));
    add(exclusive(square(kind)));
    add(backward(square(kind)));
    add(with(square(prod_float()), "prod"));
    add(with(square(min_float()), "min"));
    add(with(square(max_float()), "max"));
    add(in_place(square(kind)));
    add(with(square(sum_float_masked()), "masked"));
    add(backward(with(square(sum_float_masked()), "masked")));
    add(with(square(sum_float_in_double()), "sum<double>"));
    add(with_total(square(kind)));
    add(backward(with_total(square(kind))));
    add(with_total(with(square(sum_float_of_products()), "computed")));
  }
  for (const std::int64_t n : {128L, 1024L, 4096L, 1L << 18, 1L << 22, 50257L}) {
    const Extents extents = lines_of(n, elements);
    add(exclusive(sums(kind, extents, 1)));
    add(backward(sums(kind, extents, 1)));
    add(with(sums(prod_float(), extents, 1), "prod"));
    add(with(sums(min_float(), extents, 1), "min"));
    add(with(sums(max_float(), extents, 1), "max"));
    add(with(sums(sum_float_masked(), extents, 1), "masked"));
    add(with(sums(sum_float_in_double(), extents, 1), "sum<double>"));
    add(with_total(sums(kind, extents, 1)));
  }
}

/// Other value types.
void add_types(std::int64_t elements) {
  for (const Kind& kind :
       {sum_double(), sum_int64(), sum_half(), sum_bfloat16(), sum_int16(), sum_int8(),
        sum_int32_to_int64(), sum_int8_to_int64(), sum_complex(), maps()}) {
    const std::int64_t count = kind.out > 8 ? elements / 2 : elements;
    for (const std::int64_t n : {128L, 1024L, 16384L, 32768L, 32767L, 1L << 22}) {
      add(sums(kind, lines_of(n, count), 1));
    }
    const auto side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(elements)));
    add(sums(kind, {count / side, side}, 0));
  }
}

/// Sums of floats along other axes, with pitches and changes of layout.
void add_axes(std::int64_t elements) {
  const Kind kind = sum_float();
  const auto add_if_fits = [&](const Extents& extents, int axis) {
    std::int64_t count = 1;
    for (const std::int64_t extent : extents) count *= extent;
    if (count <= elements + elements / 8) add(sums(kind, extents, axis));
  };
  add_if_fits({32767, 32769}, 0);
  add_if_fits({4, 16384, 16384}, 1);
  add_if_fits({64, 4096, 4096}, 1);
  add_if_fits({1024, 1024, 1024}, 1);
  add_if_fits({1000, 1000, 1001}, 1);
  add_if_fits({16384, 256, 256}, 1);
  add_if_fits({64, 32768, 512}, 1);
  add_if_fits({16384, 128, 512}, 1);
  add_if_fits({72, 10000000}, 0);
  add_if_fits({128, 8000001}, 0);
  add_if_fits({1 << 26, 16}, 0);
  add_if_fits({1 << 24, 64}, 0);
  for (const std::int64_t inner : {2, 3, 7, 8, 32}) add_if_fits({1 << 20, inner}, 0);
  for (const std::int64_t inner : {2, 3, 7, 8, 32}) add_if_fits({(1 << 30) / inner, inner}, 0);

  const auto side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(elements)));
  for (const int axis : {1, 0}) {
    for (const std::int64_t padding : {1, 32}) {
      Case c = with(sums(kind, {side, side}, axis), "pitch+" + std::to_string(padding));
      Strides& in = c.problem.in;
      in = axis == 1 ? Strides{side + padding, 1, 1} : Strides{1, side + padding, 1};
      c.problem.out = in;
      add(c);
    }
    Case c = with(sums(kind, {side, side}, axis), "left_to_right");
    c.problem.in = axis == 1 ? Strides{1, side, 1} : Strides{1, 1, side};
    add(c);
  }
}

/// Problems that take microseconds, with a cold cache.
void add_small(std::int64_t elements) {
  const Kind kind = sum_float();
  for (std::int64_t total = elements / 16; total >= elements / 1024; total /= 4) {
    for (const std::int64_t n : {std::int64_t{1024}, std::int64_t{32768}, total}) {
      add(sums(kind, {total / n, n}, 1));
    }
    add(sums(kind, {1024, total / 1024}, 0));
  }
  add(sums(kind, {64, 1024}, 1));
  add(sums(kind, {64, 1024}, 0));
}

/// Shapes of real codes, compared with the two usual hand-written implementations.
void add_hpc(std::int64_t) {
  const auto add_columns = [](const Kind& kind, const Run& team, const Run& thread) {
    for (const std::int64_t levels : {72, 128}) {
      for (const std::int64_t columns : {10000, 100000, 1000000}) {
        for (const int axis : {1, 0}) {
          const Extents extents = axis == 1 ? Extents{columns, levels} : Extents{levels, columns};
          const Case c = with_total(with(sums(kind, extents, axis), "computed"));
          add(c);
          add(peer(c, "kokkos_team", team));
          add(peer(c, "thread_per_column", thread));
        }
      }
    }
  };
  add_columns(sum_float_of_products(), team_per_column<float>, thread_per_column<float>);
  add_columns(sum_double_of_products(), team_per_column<double>, thread_per_column<double>);

  const auto add_with_peers = [](const Case& c, const Run& team, const Run& thread) {
    add(c);
    add(peer(c, "kokkos_team", team));
    add(peer(c, "thread_per_column", thread));
  };
  for (const int axis : {0, 2}) {
    const Extents optical_depth = axis == 0 ? Extents{60, 6, 10000} : Extents{10000, 6, 60};
    add_with_peers(backward(sums(sum_float(), optical_depth, axis)), team_per_line<float>,
                   thread_per_line<float>);
    add_with_peers(backward(sums(sum_double(), optical_depth, axis)), team_per_line<double>,
                   thread_per_line<double>);
  }
  for (const int axis : {0, 1, 2, 3}) {
    add_with_peers(sums(sum_float(), {550, 100, 72, 50}, axis), team_per_line<float>,
                   thread_per_line<float>);
  }
  const Case offsets = with_total(sums(sum_int32_to_int64(), {10000000}, 0));
  add(offsets);
  add(peer(offsets, "kokkos_parallel_scan", flat_offsets));
  add(peer(offsets, "cub_flat", [](const Exec& exec, const Problem& p, const Memory& memory) {
    cub_offsets(exec.cuda_stream(), p.n, static_cast<const std::int32_t*>(memory.in),
                static_cast<std::int64_t*>(memory.out));
  }));
}

/// All (outer, n, inner) of powers of 4, 5 and 7 with about a quarter of the elements.
void add_sweep(std::int64_t elements) {
  const Kind kind = sum_float();
  for (const int base : {4, 5, 7}) {
    const int sum =
        static_cast<int>(std::log(static_cast<double>(elements / 4)) / std::log(base) + 0.1);
    for (int i = 0; i <= sum; ++i) {
      for (int k = 0; i + k <= sum; ++k) {
        const Extents extents{power(base, i), power(base, k), power(base, sum - i - k)};
        add(with(sums(kind, extents, 1), "sweep"));
      }
    }
  }
}

}  // namespace

const std::map<std::string, void (*)(std::int64_t elements)>& groups() {
  static const std::map<std::string, void (*)(std::int64_t)> all{
      {"lengths", add_lengths}, {"forms", add_forms}, {"types", add_types}, {"axes", add_axes},
      {"small", add_small},     {"hpc", add_hpc},     {"sweep", add_sweep}};
  return all;
}

}  // namespace perf
