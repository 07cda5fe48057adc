// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "demo_run.hpp"

#include <unistd.h>

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <limits>
#include <utility>

#include "demo_data.hpp"
#include "kernel_labels.hpp"
#include "spaces.hpp"

namespace scan_tool {
namespace {

/// Writes the data of the demo.
struct Generate {
  float* values;
  DemoScan scan;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    const auto index = static_cast<std::uint64_t>(i);
    values[i] = scan == DemoScan::running_product ? demo_factor(index) : demo_value(index);
  }
};

/// Writes the mask of the demo.
struct GenerateMask {
  bool* values;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    values[i] = demo_mask(static_cast<std::uint64_t>(i));
  }
};

/// 16 bytes, which devices move most efficiently.
struct alignas(16) Quad {
  float values[4];
};

/// An element-wise copy.
template <class Word>
struct CopyWords {
  const Word* from;
  Word* to;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { to[i] = from[i]; }
};

/// A copy of blocks by memcpy, which uses non-temporal stores if that pays. Hosts only.
struct CopyBlocks {
  const float* from;
  float* to;
  std::int64_t count;
  std::int64_t blocks;
  void operator()(std::int64_t block) const {
    const std::int64_t begin = count / blocks * block;
    const std::int64_t end = block + 1 == blocks ? count : begin + count / blocks;
    std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin) * sizeof(float));
  }
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The data on a space, and its scans and copies.
template <class Exec>
class Demo {
 public:
  Demo(const Exec& exec, std::int64_t rows, std::int64_t columns)
      : m_exec(exec),
        m_rows(rows),
        m_columns(columns),
        m_input(allocate<float>("demo input")),
        m_output(allocate<float>("demo output")),
        m_mask(allocate<bool>("demo mask")) {
    Kokkos::parallel_for("demo mask", range(count()), GenerateMask{m_mask.data()});
  }

  DemoResult measure(DemoScan scan) {
    Kokkos::parallel_for("demo data", range(count()), Generate{m_input.data(), scan});
    Kokkos::deep_copy(m_exec, m_output, std::numeric_limits<float>::quiet_NaN());
    DemoResult result;
    result.scan = scan;
    {
      const KernelLabels labels;
      call(scan);
      m_exec.fence();
      result.path = KernelLabels::path();
    }
    {
      const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, m_output);
      result.worst = check_demo(scan, host.data(), m_rows, m_columns);
    }
    time(result);
    return result;
  }

 private:
  template <class T>
  using Matrix = Kokkos::View<T**, Kokkos::LayoutRight, Exec>;
  using Range = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;

  template <class T>
  Matrix<T> allocate(const std::string& label) const {
    return Matrix<T>(Kokkos::view_alloc(m_exec, Kokkos::WithoutInitializing, label),
                     static_cast<std::size_t>(m_rows), static_cast<std::size_t>(m_columns));
  }

  [[nodiscard]] std::int64_t count() const { return m_rows * m_columns; }
  Range range(std::int64_t count) const { return Range(m_exec, 0, count); }

  void call(DemoScan scan) const {
    namespace ks = KokkosScan;
    switch (scan) {
      case DemoScan::running_sum:
        return ks::inclusive_scan(m_exec, m_input, m_output, 1);
      case DemoScan::running_product:
        return ks::inclusive_scan(m_exec, m_input, m_output, 1, ks::Prod{});
      case DemoScan::backward_sum:
        return ks::inclusive_scan(m_exec, m_input, m_output, ks::along(1).backward());
      case DemoScan::exclusive_sum:
        return ks::exclusive_scan(m_exec, m_input, m_output, 1);
      case DemoScan::masked_sum:
        return ks::inclusive_scan(m_exec, ks::masked(m_input, m_mask), m_output, 1);
    }
  }

  /// Several ways to copy the input to the output; which is fastest depends on the machine.
  enum class Copy { deep_copy, words, quads, blocks };
  static constexpr int copies = runs_on_host<Exec> ? 4 : 3;

  void copy(Copy form) const {
    const float* const from = m_input.data();
    float* const to = m_output.data();
    switch (form) {
      case Copy::deep_copy:
        return Kokkos::deep_copy(m_exec, m_output, m_input);
      case Copy::words:
        return Kokkos::parallel_for("copy words", range(count()), CopyWords<float>{from, to});
      case Copy::quads: {
        // Omits up to three elements at the end.
        const CopyWords<Quad> body{reinterpret_cast<const Quad*>(from),
                                   reinterpret_cast<Quad*>(to)};
        return Kokkos::parallel_for("copy quads", range(count() / 4), body);
      }
      case Copy::blocks:
        if constexpr (runs_on_host<Exec>) {
          const auto blocks = static_cast<std::int64_t>(m_exec.concurrency());
          const CopyBlocks body{from, to, count(), blocks};
          return Kokkos::parallel_for("copy blocks", range(blocks), body);
        }
    }
  }

  template <class Work>
  double milliseconds(const Work& work) const {
    m_exec.fence();
    const auto begin = std::chrono::steady_clock::now();
    work();
    m_exec.fence();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
        .count();
  }

  /// Medians of the scan and of each copy, run alternately so that clock changes affect all alike.
  void time(DemoResult& result) const {
    constexpr std::size_t most = 25;
    constexpr std::size_t fewest = 5;
    constexpr double patience = 1500;  // milliseconds
    std::vector<double> scans;
    std::vector<std::vector<double>> copied(copies);
    double spent = 0;
    for (std::size_t i = 0; i <= most && (i <= fewest || spent < patience); ++i) {
      const double scan = milliseconds([&] { call(result.scan); });
      spent += scan;
      if (i > 0) scans.push_back(scan);  // the first is a warm-up
      for (int form = 0; form < copies; ++form) {
        const double once = milliseconds([&] { copy(static_cast<Copy>(form)); });
        spent += once;
        if (i > 0) copied[static_cast<std::size_t>(form)].push_back(once);
      }
    }
    result.milliseconds = median(scans);
    double fastest = std::numeric_limits<double>::infinity();
    for (const std::vector<double>& form : copied) fastest = std::min(fastest, median(form));
    const double bytes_per_element = result.scan == DemoScan::masked_sum ? 9 : 8;
    const double elements = static_cast<double>(count());
    result.gigabytes_per_second = bytes_per_element * elements / result.milliseconds * 1e-6;
    result.fraction_of_copy = result.gigabytes_per_second / (8 * elements / fastest * 1e-6);
  }

  Exec m_exec;
  std::int64_t m_rows;
  std::int64_t m_columns;
  Matrix<float> m_input;
  Matrix<float> m_output;
  Matrix<bool> m_mask;
};

}  // namespace

std::vector<DemoResult> measure_demo(std::string_view space, std::int64_t rows,
                                     std::int64_t columns) {
  std::vector<DemoResult> results;
  visit_space(space, [&]<class Exec>(const Exec& exec) {
    Demo<Exec> demo(exec, rows, columns);
    for (const DemoScan scan :
         {DemoScan::running_sum, DemoScan::running_product, DemoScan::backward_sum,
          DemoScan::exclusive_sum, DemoScan::masked_sum}) {
      results.push_back(demo.measure(scan));
    }
  });
  return results;
}

std::int64_t default_demo_bytes(std::string_view space) {
  constexpr std::int64_t mebibyte = 1 << 20;
  std::int64_t bytes = 256 * mebibyte;
  visit_space(space, [&]<class Exec>(const Exec&) {
    if (!runs_on_host<Exec>) bytes = 1024 * mebibyte;
  });
  // The output has the same size, the mask a quarter; device results are copied to the host.
  const std::int64_t available = static_cast<std::int64_t>(::sysconf(_SC_AVPHYS_PAGES)) *
                                 static_cast<std::int64_t>(::sysconf(_SC_PAGESIZE));
  return std::max(mebibyte, std::min(bytes, available / 4));
}

}  // namespace scan_tool
