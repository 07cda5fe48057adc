// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The kernels that a scan enqueues, as seen by Kokkos Tools: their instance and labels, and that
// scans neither fence nor allocate. Scans that share a workspace; scans from two host threads.
// Regression class: A memory order and missing barriers (kokkos #2681, #8648).

#include <gtest/gtest.h>

#include <KokkosScan/KokkosScan.hpp>
#include <Kokkos_Core.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/flat.hpp"
#include "support/types.hpp"
#include "support/values.hpp"

namespace test {
namespace asynchrony {

namespace tools = Kokkos::Tools::Experimental;
using Bytes = Kokkos::View<std::byte*, Device>;

// ---- the listener -------------------------------------------------------------------------------

struct Launch {
  std::string label;
  std::uint32_t device;
};

/// The events that a listener has seen.
struct Events {
  std::vector<std::string> fences;
  std::vector<std::string> allocations;
  std::vector<std::string> deallocations;
  std::vector<Launch> launches;
  std::vector<std::string> copies;
  std::vector<std::string> regions;
};

std::mutex events_mutex;
Events events;

void on_fence(char const* name, std::uint32_t, std::uint64_t* handle) {
  *handle = 0;
  std::lock_guard const lock(events_mutex);
  events.fences.emplace_back(name);
}
void on_allocation(Kokkos_Profiling_SpaceHandle, char const* name, void const*,
                   std::uint64_t size) {
  // Kokkos on CUDA reports an allocation of 0 bytes for each launch of teams.
  if (size == 0) return;
  std::lock_guard const lock(events_mutex);
  events.allocations.emplace_back(name);
}
void on_deallocation(Kokkos_Profiling_SpaceHandle, char const* name, void const*, std::uint64_t) {
  std::lock_guard const lock(events_mutex);
  events.deallocations.emplace_back(name);
}
void on_launch(char const* name, std::uint32_t device, std::uint64_t* handle) {
  *handle = 0;
  std::lock_guard const lock(events_mutex);
  events.launches.push_back({name, device});
}
void on_copy(Kokkos_Profiling_SpaceHandle, char const* name, void const*,
             Kokkos_Profiling_SpaceHandle, char const*, void const*, std::uint64_t) {
  std::lock_guard const lock(events_mutex);
  events.copies.emplace_back(name);
}
void on_region(char const* name) {
  std::lock_guard const lock(events_mutex);
  events.regions.emplace_back(name);
}

/// Kokkos fences around each launch for a tool with launch callbacks, unless the tool says before
/// Kokkos is initialised that it does not need fences.
void on_settings(std::uint32_t, Kokkos_Tools_ToolSettings* settings) {
  settings->requires_global_fencing = false;
}
struct WithoutGlobalFences {
  WithoutGlobalFences() { tools::set_request_tool_settings_callback(on_settings); }
};
WithoutGlobalFences const without_global_fences;

/// Calls `call` and returns the events.
template <class Call>
Events listen(Call const& call) {
  Kokkos::fence();
  auto const before = tools::get_callbacks();
  events = {};
  tools::set_begin_fence_callback(on_fence);
  tools::set_allocate_data_callback(on_allocation);
  tools::set_deallocate_data_callback(on_deallocation);
  tools::set_begin_parallel_for_callback(on_launch);
  tools::set_begin_parallel_reduce_callback(on_launch);
  tools::set_begin_parallel_scan_callback(on_launch);
  tools::set_begin_deep_copy_callback(on_copy);
  tools::set_push_region_callback(on_region);
  call();
  tools::set_callbacks(before);
  Kokkos::fence();
  return events;
}

struct Nothing {
  KOKKOS_FUNCTION void operator()(int) const {}
};

/// The listener sees all events, and causes none itself.
void listener_hears() {
  auto const launch = listen(
      [] { Kokkos::parallel_for("a kernel", Kokkos::RangePolicy<Exec>(Exec(), 0, 1), Nothing{}); });
  ASSERT_EQ(launch.launches.size(), 1u);
  EXPECT_EQ(launch.launches[0].label, "a kernel");
  EXPECT_EQ(launch.fences.size(), 0u) << launch.fences[0];
  auto const fence = listen([] { Exec().fence("a fence"); });
  ASSERT_EQ(fence.fences.size(), 1u);
  EXPECT_EQ(fence.fences[0], "a fence");
  auto const allocation = listen([] { Flat<float> const view("a view", 3); });
  ASSERT_EQ(allocation.allocations.size(), 1u);
  EXPECT_EQ(allocation.allocations[0], "a view");
  EXPECT_EQ(allocation.deallocations.size(), 1u);
}

TEST(asynchrony, listener_hears) { listener_hears(); }

// ---- one call -----------------------------------------------------------------------------------

/// Every path that a call can take, chosen by a shape or by force.
struct Path {
  Regime regime;
  std::vector<std::string> kernels;
};

std::vector<Path> paths() {
  return {{Regime::thread_per_line, {"[team/thread_per_line]"}},
          {Regime::team_per_line, {"[team/team_per_line]"}},
          {Regime::split_lines,
           {"[team/split_lines fold]", "[team/split_lines prefix]", "[team/split_lines replay]"}}};
}

ks::impl::Function function_of(Form form) {
  return form == Form::inclusive ? ks::impl::Function::inclusive_scan
                                 : ks::impl::Function::exclusive_scan;
}

void expect_quiet(Events const& seen) {
  EXPECT_EQ(seen.fences.size(), 0u) << "the first: " << seen.fences[0];
  EXPECT_EQ(seen.allocations.size(), 0u) << "the first: " << seen.allocations[0];
  EXPECT_EQ(seen.deallocations.size(), 0u) << "the first: " << seen.deallocations[0];
  EXPECT_EQ(seen.copies.size(), 0u) << "the first: " << seen.copies[0];
}

void forced_calls_are_quiet() {
  std::int64_t const n = 40'000;
  Exec const exec;
  Flat<float> const x("x", n);
  Flat<float> const y("y", n + 1);
  fill(x, 1.0f);
  for (Path const& path : paths()) {
    auto const backend = forced(path.regime);
    auto const bytes = ks::impl::workspace_bytes(exec, x, x, 0, ks::Sum{}, backend);
    EXPECT_EQ(bytes > 0, path.regime == Regime::split_lines);
    Bytes const workspace("workspace", bytes);
    for (auto const form : {Form::inclusive, Form::exclusive, Form::exclusive_with_total}) {
      SCOPED_TRACE(to_text(path.regime) + ", " + to_text(form));
      Flat<float> const out(y.data(), form == Form::exclusive_with_total ? n + 1 : n);
      auto const call = [&] {
        ks::impl::scan(function_of(form), exec, x, out, ks::along(0).workspace(workspace),
                       ks::Sum{}, backend);
      };
      call();  // warm-up: Kokkos may resize its scratch memory
      auto const seen = listen(call);
      expect_quiet(seen);
      // The label has the function and the path.
      std::string const function =
          form == Form::inclusive ? "KokkosScan::inclusive_scan" : "KokkosScan::exclusive_scan";
      ASSERT_EQ(seen.launches.size(), path.kernels.size());
      for (std::size_t i = 0; i < path.kernels.size(); ++i) {
        EXPECT_EQ(seen.launches[i].label, function + " " + path.kernels[i]);
        EXPECT_EQ(seen.launches[i].device, tools::device_id(exec));
      }
      ASSERT_EQ(seen.regions.size(), 1u);
      EXPECT_EQ(seen.regions[0], function);
    }
  }
}

TEST(asynchrony, no_fence_and_no_allocation_in_any_regime) { forced_calls_are_quiet(); }

/// The library's own choices, through the public functions.
void public_calls_are_quiet() {
  Exec const exec;
  for (std::int64_t const n : {0, 1, 100, 1000, 100'000}) {
    for (std::int64_t const lines : {0, 1, 3, 200}) {
      if (n * lines > 1'000'000) continue;
      SCOPED_TRACE(::testing::Message() << lines << " lines of " << n);
      Flat<float> const x("x", static_cast<std::size_t>(n * lines));
      Flat<float> const y("y", static_cast<std::size_t>(n * lines));
      Flat<float> const totals("totals", static_cast<std::size_t>(lines));
      auto const in = rows(x, lines, n);
      auto const out = rows(y, lines, n);
      Bytes const workspace("workspace", ks::workspace_bytes(exec, in, out, 1));
      auto const inclusive = [&] {
        ks::inclusive_scan(exec, in, out, ks::along(1).totals(totals).workspace(workspace));
      };
      inclusive();
      expect_quiet(listen(inclusive));
      auto const exclusive = [&] {
        ks::exclusive_scan(exec, in, out, ks::along(1).totals(totals).workspace(workspace));
      };
      exclusive();
      auto const seen = listen(exclusive);
      expect_quiet(seen);
      for (Launch const& launch : seen.launches) {
        EXPECT_EQ(launch.label.rfind("KokkosScan::exclusive_scan [", 0), 0u) << launch.label;
        // No backend sees lines without elements.
        EXPECT_EQ(launch.label == "KokkosScan::exclusive_scan [empty_lines]", n == 0);
      }
      EXPECT_LE(seen.launches.size(), 3u);
    }
  }
}

TEST(asynchrony, no_fence_and_no_allocation_in_public_calls) { public_calls_are_quiet(); }

/// A single launch and no workspace if nothing is communicated between blocks.
void most_calls_are_one_launch() {
  Exec const exec;
  auto const lines = static_cast<std::int64_t>(exec.concurrency());
  for (std::int64_t const n : {1, 100, 20'000}) {
    if (lines * n > 100'000'000) continue;
    SCOPED_TRACE(::testing::Message() << lines << " lines of " << n);
    Flat<float> const x("x", static_cast<std::size_t>(lines * n));
    auto const in_place = rows(x, lines, n);
    EXPECT_EQ(ks::workspace_bytes(exec, in_place, in_place, 1), 0u);
    ks::inclusive_scan(exec, in_place, in_place, 1);
    auto const seen = listen([&] { ks::inclusive_scan(exec, in_place, in_place, 1); });
    expect_quiet(seen);  // without a workspace
    EXPECT_EQ(seen.launches.size(), 1u);
  }
}

TEST(asynchrony, one_launch_and_no_workspace_where_lines_fill_the_machine) {
  most_calls_are_one_launch();
}

/// Without a workspace a split line does not fence either, since its memory is no View.
void split_without_workspace() {
  Exec const exec;
  Flat<float> const x("x", 40'000);
  auto const call = [&] {
    ks::impl::scan(ks::impl::Function::inclusive_scan, exec, x, x, 0, ks::Sum{},
                   forced(Regime::split_lines));
  };
  call();
  auto const seen = listen(call);
#if defined(KOKKOS_ENABLE_CUDA)
  constexpr bool has_stream_ordered_memory = true;
#else
  constexpr bool has_stream_ordered_memory = false;
#endif
  if (has_stream_ordered_memory || ks::impl::launches_block<Exec>) expect_quiet(seen);
  EXPECT_EQ(seen.launches.size(), 3u);
}

TEST(asynchrony, no_fence_where_a_line_is_split_without_a_workspace) { split_without_workspace(); }

/// A refused call launches nothing, allocates nothing, fences nothing.
void refused_calls_do_nothing() {
  Flat<float> const x("x", 10);
  Flat<float> const y("y", 11);
  auto const seen = listen([&] {
    EXPECT_THROW(ks::inclusive_scan(Exec(), x, y), std::invalid_argument);
    EXPECT_THROW(ks::inclusive_scan(Exec(), x, x, 1), std::invalid_argument);
  });
  expect_quiet(seen);
  EXPECT_EQ(seen.launches.size(), 0u);
}

TEST(asynchrony, refused_calls_do_nothing) { refused_calls_do_nothing(); }

// ---- instances ----------------------------------------------------------------------------------

void launches_carry_the_instance() {
  auto const instances = Kokkos::Experimental::partition_space(Exec(), 1, 1);
  Flat<float> const x("x", 40'000);
  for (auto const& instance : instances) {
    for (Path const& path : paths()) {
      auto const call = [&] {
        ks::impl::scan(ks::impl::Function::inclusive_scan, instance, x, x, 0, ks::Sum{},
                       forced(path.regime));
      };
      call();
      auto const seen = listen(call);
      ASSERT_EQ(seen.launches.size(), path.kernels.size());
      for (Launch const& launch : seen.launches) {
        EXPECT_EQ(launch.device, tools::device_id(instance)) << launch.label;
      }
      instance.fence();
    }
  }
}

TEST(asynchrony, every_launch_is_on_the_instance_given) { launches_carry_the_instance(); }

#if defined(KOKKOS_ENABLE_OPENMP)
/// Counts calls from all threads except one.
struct CountForeignThreads {
  std::thread::id own;
  int* count;
  int operator()(std::int64_t, std::int64_t) const {
    if (std::this_thread::get_id() != own) Kokkos::atomic_inc(count);
    return 1;
  }
};

/// All OpenMP instances have the same id, but with an instance of one thread, work on other threads
/// shows a launch on another instance.
template <class Host>
void nothing_runs_beside_the_instance(Host const& instance) {
  int count = 0;
  std::array<std::int64_t, 2> const extents{40, 20'000};
  auto const x = ks::elementwise(extents, CountForeignThreads{std::this_thread::get_id(), &count});
  Kokkos::View<int**, Host> const y("y", 40, 20'000);
  for (Path const& path : paths()) {
    ks::impl::scan(ks::impl::Function::inclusive_scan, instance, x, y, 1, ks::Sum{},
                   forced(path.regime));
    instance.fence();
    EXPECT_EQ(count, 0) << "elements read by another thread, " << to_text(path.regime);
  }
}

TEST(asynchrony, nothing_runs_beside_the_instance) {
  if (Kokkos::OpenMP().concurrency() == 1) GTEST_SKIP() << "there is only one thread";
  nothing_runs_beside_the_instance(Kokkos::OpenMP(1));
}
#endif

/// Scans `repetitions` times on one instance and compares each result.
struct Worker {
  Exec instance;
  Regime regime;
  std::int64_t n;
  int repetitions;
  int wrong = 0;

  template <class T>
  static bool as_expected(std::vector<T> const& out) {
    for (std::size_t k = 0; k < out.size(); ++k) {
      if (out[k] != static_cast<T>(3 * (k + 1))) return false;
    }
    return true;
  }

  void operator()() {
    auto const size = static_cast<std::size_t>(n);
    auto const x = uninitialized<std::int64_t>("x", size);
    auto const y = uninitialized<std::int64_t>("y", size);
    auto const host = Kokkos::create_mirror_view(y);
    fill(instance, x, 3);
    for (int i = 0; i < repetitions; ++i) {
      fill(instance, y, -1);
      ks::impl::scan(ks::impl::Function::inclusive_scan, instance, x, y, 0, ks::Sum{},
                     forced(regime));
      Kokkos::deep_copy(instance, host, y);
      instance.fence();
      if (!as_expected(std::vector<std::int64_t>(host.data(), host.data() + size))) ++wrong;
    }
  }
};

void two_host_threads() {
  auto const instances = Kokkos::Experimental::partition_space(Exec(), 1, 1);
  for (Path const& path : paths()) {
    Worker first{instances[0], path.regime, 50'003, 30};
    Worker second{instances[1], path.regime, 33'001, 30};
    std::thread one(std::ref(first));
    std::thread two(std::ref(second));
    one.join();
    two.join();
    EXPECT_EQ(first.wrong, 0) << to_text(path.regime);
    EXPECT_EQ(second.wrong, 0) << to_text(path.regime);
  }
}

TEST(asynchrony, two_host_threads_scan_on_two_instances) { two_host_threads(); }

// ---- the workspace ------------------------------------------------------------------------------

/// Successive scans in one workspace, without fences between them. The first one finds garbage in
/// it, the others what their predecessors left.
void shared_workspace() {
  Exec const exec;
  auto const backend = forced(Regime::split_lines);
  std::int64_t const n = 100'003;
  Flat<std::int64_t> const x("x", n);
  fill(x, 3);
  auto const bytes = ks::impl::workspace_bytes(exec, x, x, 0, ks::Sum{}, backend);
  for (unsigned char const garbage : {0x00, 0xFF, 0xA5}) {
    Bytes const workspace("workspace", bytes);
    fill(workspace, std::byte(garbage));
    std::vector<Flat<std::int64_t>> results;
    for (int i = 0; i < 6; ++i) results.push_back(uninitialized<std::int64_t>("y", n));
    Kokkos::fence();
    for (std::size_t i = 0; i < results.size(); ++i) {
      // With different lengths, directions and functions.
      std::int64_t const length = n - 17 * static_cast<std::int64_t>(i) * (n / 200);
      Flat<std::int64_t> const in(x.data(), static_cast<std::size_t>(length));
      Flat<std::int64_t> const out(results[i].data(), static_cast<std::size_t>(length));
      auto const lines = ks::along(0).workspace(workspace);
      ks::impl::scan(
          i % 2 == 0 ? ks::impl::Function::inclusive_scan : ks::impl::Function::exclusive_scan,
          exec, in, out, i >= 3 ? lines.backward() : lines, ks::Sum{}, backend);
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      auto const length =
          static_cast<std::size_t>(n - 17 * static_cast<std::int64_t>(i) * (n / 200));
      auto const host = to_host(results[i]);
      std::int64_t wrong = 0;
      for (std::size_t k = 0; k < length; ++k) {
        std::size_t const place = i >= 3 ? length - 1 - k : k;
        wrong += host[place] != static_cast<std::int64_t>(3 * (i % 2 == 0 ? k + 1 : k));
      }
      EXPECT_EQ(wrong, 0) << "scan " << i << ", workspace first full of " << int(garbage);
    }
  }
}

TEST(asynchrony, scans_share_a_workspace_back_to_back) { shared_workspace(); }

/// One bound holds for both functions, both directions and the n+1 form; no byte beyond it is used.
template <class T, class Op>
void one_bound_serves_all(std::int64_t lines, std::int64_t n, Op const& op) {
  Exec const exec;
  auto const backend = forced(Regime::split_lines);
  Flat<T> const x("x", static_cast<std::size_t>(lines * n));
  auto const y = uninitialized<T>("y", static_cast<std::size_t>(lines * (n + 1)));
  auto const in = rows(x, lines, n);
  auto const out = rows(y, lines, n);
  auto const with_total = rows(y, lines, n + 1);
  auto const bytes = ks::impl::workspace_bytes(exec, in, out, 1, op, backend);
  ASSERT_EQ(ks::impl::workspace_bytes(exec, in, out, ks::along(1).backward(), op, backend), bytes);
  ASSERT_GT(bytes, 0u);
  std::size_t const guard = 4096;
  Bytes const memory("memory", bytes + 2 * guard);
  auto const call = [&](Form form, Direction direction, std::size_t size) {
    Bytes const workspace(memory.data() + guard, size);
    auto const lines_of_call = ks::along(1).workspace(workspace);
    ks::impl::scan(
        function_of(form), exec, in, form == Form::exclusive_with_total ? with_total : out,
        direction == Direction::backward ? lines_of_call.backward() : lines_of_call, op, backend);
  };
  for (auto const form : {Form::inclusive, Form::exclusive, Form::exclusive_with_total}) {
    for (auto const direction : {Direction::forward, Direction::backward}) {
      SCOPED_TRACE(::testing::Message() << lines << " lines of " << n << ", " << to_text(form)
                                        << ", " << to_text(direction));
      fill(memory, std::byte(0x5A));
      EXPECT_NO_THROW(call(form, direction, bytes));
      auto const after = to_host(Flat<std::byte>(memory));
      for (std::size_t i = 0; i < guard; ++i) {
        ASSERT_EQ(after[i], std::byte(0x5A)) << i << " bytes from the start of the guard";
        ASSERT_EQ(after[guard + bytes + i], std::byte(0x5A)) << i << " bytes behind the workspace";
      }
      EXPECT_THROW(call(form, direction, bytes - 1), std::invalid_argument);
    }
  }
}

TEST(asynchrony, one_workspace_bound_serves_both_functions) {
  for (std::int64_t const n : {1, 128, 129, 16384, 16385, 50'000}) {
    one_bound_serves_all<float>(3, n, ks::Sum{});
  }
  one_bound_serves_all<Struct12>(2, 20'000, MultiplyHeisenberg<std::uint32_t>{});
}

/// Types with a larger alignment than the workspace.
struct alignas(32) Wide {
  std::uint32_t value;
};
struct AddWide {
  KOKKOS_FUNCTION Wide operator()(Wide const& a, Wide const& b) const {
    return Wide{a.value + b.value};
  }
  KOKKOS_FUNCTION static Wide identity() { return Wide{0}; }
};

TEST(asynchrony, workspace_of_an_overaligned_type) {
  one_bound_serves_all<Wide>(1, 20'000, AddWide{});
}

}  // namespace asynchrony
}  // namespace test
