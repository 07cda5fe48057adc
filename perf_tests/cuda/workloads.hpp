// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Shapes of what people scan, in families, drawn from a seed: for the option --workload of
/// random.cu.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "random.hpp"

namespace perf {

/// Draws from std::mt19937_64, so that a seed has the same shapes everywhere.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : m_random(seed) {}

  /// A whole number, as likely between 1 and 2 as between 2 and 4.
  std::int64_t log_uniform(double least, double most) {
    const double uniform = static_cast<double>(m_random() >> 11) * 0x1p-53;
    return std::llround(least * std::exp2(std::log2(most / least) * uniform));
  }
  template <class List>
  auto one_of(const List& list) {
    return list[m_random() % std::size(list)];
  }

 private:
  std::mt19937_64 m_random;
};

/// \param elements of a shape, where a family has a batch
using DrawShape = Shape (*)(Draw&, std::int64_t elements);

struct Workload {
  const char* name;  ///< --workload
  DrawShape draw;
};

/// Arrays (outer, n, inner), scanned along n, with as many slabs as there are elements for.
inline Shape batch_of(std::int64_t n, std::int64_t inner, std::int64_t elements) {
  return {std::max<std::int64_t>(1, elements / (n * inner)), n, inner};
}

inline const std::vector<Workload>& workloads() {
  static const std::vector<Workload> all = {
      // Rows: vocabularies and spectra, and short ones.
      {"vocabularies",
       [](Draw& draw, std::int64_t elements) {
         return batch_of(draw.log_uniform(20000, 400000), 1, elements);
       }},
      {"short_rows",
       [](Draw& draw, std::int64_t elements) {
         return batch_of(draw.log_uniform(2, 256), 1, elements);
       }},
      // Models of sequences (B, L, D), along L.
      {"sequences",
       [](Draw& draw, std::int64_t elements) {
         constexpr int widths[] = {64, 80, 96, 128, 256, 512, 768, 1024, 2048, 4096, 5120};
         const int width = draw.one_of(widths);
         const std::int64_t most = std::clamp<std::int64_t>(elements / width, 512, 262144);
         return batch_of(draw.log_uniform(512, static_cast<double>(most)), width, elements);
       }},
      // Returns of environments side by side, from the last step on.
      {"returns",
       [](Draw& draw, std::int64_t) {
         Shape shape{1, draw.log_uniform(16, 4096), draw.log_uniform(64, 65536)};
         shape.is_backward = true;
         return shape;
       }},
      // Levels of models of the atmosphere and the ocean, in both layouts, also at interfaces.
      {"levels",
       [](Draw& draw, std::int64_t elements) {
         const std::int64_t n = draw.log_uniform(30, 137);
         const auto most = static_cast<double>(std::max<std::int64_t>(elements / n, 20000));
         const std::int64_t columns = draw.log_uniform(1e4, std::min(1e7, most));
         constexpr bool or_not[] = {false, true};
         Shape shape = draw.one_of(or_not) ? Shape{1, n, columns} : Shape{columns, n, 1};
         if (draw.one_of(or_not)) shape.results = Results::extra;
         return shape;
       }},
      // Images (batch, H, W) and (batch, H, W, 3), along each axis of them.
      {"images",
       [](Draw& draw, std::int64_t elements) {
         const std::int64_t height = draw.log_uniform(256, 8192);
         const std::int64_t width = draw.log_uniform(256, 8192);
         constexpr int channels_of[] = {1, 3};
         const int channels = draw.one_of(channels_of);
         constexpr bool or_not[] = {false, true};
         return draw.one_of(or_not) ? batch_of(height, width * channels, elements)
                                    : batch_of(width, channels, elements);
       }},
      // Particles and maps of rows: one line, or three side by side.
      {"particles", [](Draw& draw, std::int64_t elements) {
         const std::int64_t n = draw.log_uniform(1e5, static_cast<double>(4 * elements));
         constexpr int components_of[] = {1, 3};
         const int components = draw.one_of(components_of);
         return Shape{1, components == 1 ? n : std::min(n, elements / 3), components};
       }}};
  return all;
}

/// Shapes of a family; those of another are others, although the seed is the same.
inline std::vector<Shape> workload_shapes(const Workload& workload, std::uint64_t seed, int count,
                                          std::int64_t elements) {
  for (const char* c = workload.name; *c != 0; ++c) seed = seed * 31 + static_cast<unsigned>(*c);
  Draw draw(seed);
  std::vector<Shape> shapes;
  for (int i = 0; i < count; ++i) shapes.push_back(workload.draw(draw, elements));
  return shapes;
}

}  // namespace perf
