// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "measure.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "device.hpp"
#include "reference.hpp"

namespace perf {

namespace {

/// Below this many bytes, the cache would keep much of the data from launch to launch.
constexpr std::size_t evict_below = std::size_t{1} << 30;

std::size_t bytes_of(std::int64_t elements, std::size_t size) {
  return static_cast<std::size_t>(elements) * size;
}

class Measurement {
 public:
  explicit Measurement(const Case& c)
      : m_case(c), m_stream(m_exec.cuda_stream()), m_timer(m_stream) {
    static Buffer in, second, out, scratch, cold;
    const Problem& p = c.problem;
    const std::int64_t elements = p.lines() * p.n;
    m_bytes = bytes_of(elements, c.kind.in + c.kind.second) +
              bytes_of(p.lines() * p.outputs(), c.kind.out);
    m_copied = std::max<std::size_t>(m_bytes / 2 / 16 * 16, 16);
    m_out_bytes = bytes_of(span_out(p), c.kind.out);
    // Copies read only initialised memory: zeros would be faster.
    m_filled = std::max(span_in(p), static_cast<std::int64_t>(m_copied / c.kind.in) + 1);
    m_memory.in = in.reserve(bytes_of(m_filled, c.kind.in));
    m_memory.second = second.reserve(bytes_of(m_filled, c.kind.second));
    m_memory.out = out.reserve(std::max(m_copied, m_out_bytes));
    m_memory.scratch = scratch.reserve(static_cast<std::size_t>(reference_bytes(p)));
    if (m_bytes < evict_below) m_cold = cold.reserve(evicting_bytes);
  }

  /// Fills the state's time and counters.
  void run(benchmark::State& state) {
    m_case.kind.fill(m_exec, m_memory, m_filled, Data::exact);
    check(cudaMemsetAsync(m_memory.out, 0xff, m_out_bytes, m_stream));
    run_once();
    compare(Data::exact);

    m_case.kind.fill(m_exec, m_memory, m_filled, Data::natural);
    const Copy& copy = best_kernel(m_stream, m_memory.in, m_memory.out, m_copied);
    const Copy& plain = copies().front();
    const int rounds = choose_rounds();
    for (int round = 0; round < rounds; ++round) {
      for (const Copy* way : {&copy, &plain}) {
        evict_if_small();
        m_timer.time(way->name, [&] { way->run(m_stream, m_memory.in, m_memory.out, m_copied); });
      }
      evict_if_small();
      m_timer.time("empty", [&] { launch_empty(m_stream); });
      restore_input();
      evict_if_small();
      m_timer.time("run", [&] { call(); });
    }
    const bool capped = is_power_capped();  // while the work is running
    const double clock = sm_clock_mhz(m_stream);
    const double ms = m_timer.median("run");
    // Copies have left inputs in the output, so unwritten results are wrong.
    if (m_case.accuracy == Accuracy::promised) compare(Data::natural);

    const double copy_ms = std::min(m_timer.median(copy.name), m_timer.median(plain.name));
    state.SetIterationTime(ms / 1e3);
    state.SetBytesProcessed(static_cast<std::int64_t>(m_bytes));
    state.counters["fraction_of_copy"] =
        copy_ms / ms * static_cast<double>(m_bytes) / (2.0 * static_cast<double>(m_copied));
    state.counters["copy_ms"] = copy_ms;
    state.counters["sm_clock_mhz"] = clock;
    state.counters["power_capped"] = capped ? 1 : 0;
    state.counters["launches"] = rounds;
    if (m_bytes < evict_below) state.counters["empty_ms"] = m_timer.median("empty");
    state.SetLabel(copy_ms < m_timer.median(copy.name) ? plain.name : copy.name);
  }

 private:
  void call() {
    Memory memory = m_memory;
    if (m_case.place == Place::same) memory.in = memory.out;
    m_case.run(m_exec, m_case.problem, memory);
  }

  /// Scans in place work on a copy of the input.
  void restore_input() {
    if (m_case.place == Place::other) return;
    check(cudaMemcpyAsync(m_memory.out, m_memory.in, m_out_bytes, cudaMemcpyDeviceToDevice,
                          m_stream));
  }

  void run_once() {
    restore_input();
    call();
    check(cudaStreamSynchronize(m_stream));
    check(cudaGetLastError());
  }

  void evict_if_small() {
    if (m_bytes < evict_below) evict(m_stream, m_cold);
  }

  /// The number of launches for about 60 ms: 3 to 15, more if they are short, 1 if very long.
  int choose_rounds() {
    Timer timer(m_stream);
    restore_input();
    timer.time("run", [&] { call(); });
    const double ms = timer.median("run");
    return static_cast<int>(std::clamp(60 / ms, ms > 300 ? 1.0 : 3.0, ms < 0.2 ? 31.0 : 15.0));
  }

  void compare(Data data) {
    const std::int64_t wrong = m_case.kind.wrong(m_exec, m_case.problem, m_memory, data);
    if (wrong == 0) return;
    throw std::runtime_error(std::to_string(wrong) + " wrong results of " +
                             (data == Data::exact ? "exact" : "natural") + " data");
  }

  const Case& m_case;
  Exec m_exec;
  cudaStream_t m_stream;
  Timer m_timer;
  Memory m_memory{};
  std::size_t m_bytes, m_copied, m_out_bytes;
  std::int64_t m_filled;
  void* m_cold = nullptr;
};

}  // namespace

void add(const Case& c) {
  const std::string name =
      c.function + "/" + Exec::name() + "/" + c.kind.type + "/" + c.shape + c.variant;
  // One iteration, whose time is the median of several launches that alternate with copies.
  benchmark::RegisterBenchmark(
      name.c_str(),
      [c](benchmark::State& state) {
        for ([[maybe_unused]] auto _ : state) {
          try {
            Measurement(c).run(state);
          } catch (const std::exception& e) {
            // Remove the source path at the end of Kokkos' messages.
            const std::string message = e.what();
            state.SkipWithError(message.substr(0, message.find(" /")).c_str());
            break;
          }
        }
      })
      ->UseManualTime()
      ->Iterations(1)
      ->Unit(benchmark::kMillisecond);
}

}  // namespace perf
