// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Random in-order scans, bitwise compared with a serial loop: by the host kernels with all register
// widths and thread counts, by the generic backend, and by the emulated CUDA kernels. The cases are
// those of cuda/fuzz.hpp. KOKKOS_SCAN_RANDOM_CASES=N runs N cases of each kind.

#include <Kokkos_Core.hpp>

// In builds with CUDA all suites run on the GPU; unit_tests/cuda/fuzz.cu runs these cases there.
#if !defined(KOKKOS_ENABLE_CUDA)

#include <gtest/gtest.h>

#include "support/emulated_cuda.hpp"

#include <KokkosScan/KokkosScan.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

#include "cuda/fuzz.hpp"
#include "support/host_memory.hpp"

namespace test {
namespace in_order_random {
namespace {

namespace host = KokkosScan::impl::host;
namespace team = KokkosScan::impl::team;
using Exec = Kokkos::DefaultExecutionSpace;

std::uint64_t cases() {
  char const* const text = std::getenv("KOKKOS_SCAN_RANDOM_CASES");
  return text == nullptr ? 600 : std::strtoull(text, nullptr, 10);
}

/// Scans on 1, 2 or 7 host threads, with registers of 16 or 32 bytes, ordinary or non-temporal
/// stores, by the host kernels or by the generic backend.
class Host : public HostMemory {
 public:
  struct Choice {
    Exec exec;
    bool is_generic;
    host::GeneralBackend backend;
  };
  static Choice space(fuzz::Random& random) {
    Choice choice{Exec(), random.one_in(8), {}};
#if defined(KOKKOS_ENABLE_OPENMP)
    if constexpr (std::is_same_v<Exec, Kokkos::OpenMP>) {
      int const threads[] = {1, 2, 7};
      int const wanted = threads[random.between(0, 2)];
      if (wanted <= Exec().concurrency()) choice.exec = Exec(wanted);
    }
#endif
    if (random.one_in(2)) choice.backend.registers = host::least_registers;
    choice.backend.destination =
        random.one_in(2) ? host::Destination::memory : host::Destination::caches;
    return choice;
  }
  template <class P>
  void scan(Choice const& choice, P const& problem) const {
    if (choice.is_generic) {
      team::Backend{}.scan(choice.exec, problem, nullptr);
    } else {
      choice.backend.scan(choice.exec, problem);
    }
    choice.exec.fence();
  }
};

/// Scans on an emulated GPU: a large one, or one with few multiprocessors.
class Gpu : public HostMemory {
 public:
  static emulated::Space space(fuzz::Random& random) {
    emulated::Space space;
    space.multiprocessors = random.one_in(2) ? 132 : static_cast<int>(random.between(1, 8));
    if (random.one_in(3)) space.shared_bytes_of_block = 101376;
    return space;
  }
  template <class P>
  void scan(emulated::Space const& space, P const& problem) const {
    KokkosScan::impl::cuda::InOrderBackend{}.scan(space, problem);
  }
};

template <class Machine, class... Kinds>
void run(fuzz::List<Kinds...>, fuzz::Limits const& limits) {
  Machine machine;
  auto const run_kind = [&](auto kind) {
    using K = typename decltype(kind)::type;
    for (std::uint64_t number = 0; number < cases(); ++number) {
      ASSERT_EQ(fuzz::run_case<K>(machine, 1, number, limits), "");
    }
  };
  (run_kind(std::type_identity<Kinds>{}), ...);
}

TEST(in_order, hosts_pass_random_cases) { run<Host>(fuzz::KindsInOrder{}, {1 << 12, 1 << 16}); }

TEST(in_order, emulated_cuda_passes_random_cases) {
  run<Gpu>(fuzz::KindsInOrder{}, {1 << 12, 1 << 15});
}

/// Dense arrays, which random strides rarely produce. Aligned rows and columns are moved 16 bytes
/// at a time. Unaligned ones: warps share columns, unless in place. Short rows.
///
/// \tparam has_starts whether lines have starts, which totals may overwrite
template <class A, bool has_starts>
std::string scan_dense(fuzz::Random& random, bool is_aligned) {
  namespace impl = KokkosScan::impl;
  bool const has_rows = random.one_in(2);
  auto const unit = is_aligned ? (has_rows ? 4 : 32) : 1;
  auto const n = has_rows ? unit * random.between(1, (random.one_in(3) ? 16 : 800) / unit)
                          : random.between(2, 300);
  auto const inner = has_rows ? 1 : unit * random.between(1, 500 / unit);
  auto const outer = has_rows ? random.between(1, 70) : random.between(1, 3);
  auto const offset = is_aligned ? 0 : random.between(0, 7);
  bool const is_backward = random.one_in(2), is_exclusive = random.one_in(2);
  bool const is_in_place = random.one_in(3);
  std::vector<A> x(static_cast<std::size_t>(outer * n * inner)), expected(x.size());
  for (A& element : x) {
    element = random.one_in(8) ? A(-0.0) : static_cast<A>(random.between(-999, 999)) / 7;
  }
  auto const size = x.size() * sizeof(A);
  auto const allocated = size + 8 * sizeof(A);
  auto* const in_memory = static_cast<A*>(::operator new (allocated, std::align_val_t{64}));
  auto* const to_memory = static_cast<A*>(::operator new (allocated, std::align_val_t{64}));
  std::memset(to_memory, 0xEE, allocated);
  auto* const in = in_memory + offset;
  auto* const to = to_memory + offset;
  std::memcpy(in, x.data(), size);
  A* const out = is_in_place ? in : to;
  auto const along = is_backward ? -inner : inner;
  auto const first = is_backward ? (n - 1) * inner : 0;
  impl::Strides const strides{along, {n * inner, 1}};
  auto const lines = static_cast<std::size_t>(outer * inner);
  std::vector<A> starts(lines);
  for (A& start : starts) start = static_cast<A>(random.between(-999, 999)) / 3;
  std::vector<A> totals = starts;
  impl::Strides const of_lines{0, {inner, 1}};
  bool const has_totals = random.one_in(2);
  using Start = std::conditional_t<has_starts, impl::StartOfEachLine<A, A>, impl::CommonStart<A>>;
  Start start{};
  if constexpr (has_starts) start.values = {totals.data(), of_lines};
  using Problem =
      impl::Problem<A, impl::InOrder<KokkosScan::Sum<A>>, impl::Array<A const>, A, Start, A>;
  Problem const problem{impl::Function::inclusive_scan,
                        n,
                        {outer * inner, has_rows ? 1 : 2, {outer, inner}},
                        is_exclusive ? impl::Form::exclusive : impl::Form::inclusive,
                        impl::Extra::none,
                        {},
                        impl::Maybe<A>(A(0)),
                        {in + first, strides},
                        {out + first, strides},
                        start,
                        {has_totals ? totals.data() : nullptr, of_lines}};
  impl::cuda::InOrderBackend{}.scan(Gpu::space(random), problem);
  for (std::int64_t line = 0; line < outer * inner; ++line) {
    std::int64_t const begin = line / inner * n * inner + line % inner + first;
    A& sum = starts[static_cast<std::size_t>(line)];
    if (!has_starts) sum = 0;
    for (std::int64_t k = 0; k < n; ++k) {
      auto const at = static_cast<std::size_t>(begin + k * along);
      A const before = sum;
      sum = k == 0 && !has_starts ? x[at] : sum + x[at];
      expected[at] = is_exclusive ? before : sum;
    }
  }
  bool const has_right_totals =
      !has_totals || std::memcmp(starts.data(), totals.data(), lines * sizeof(A)) == 0;
  bool const is_right = std::memcmp(expected.data(), out, size) == 0;
  ::operator delete (in_memory, std::align_val_t{64});
  ::operator delete (to_memory, std::align_val_t{64});
  if (is_right && has_right_totals) return "";
  return std::to_string(outer) + " x " + std::to_string(n) + " x " + std::to_string(inner);
}
TEST(in_order, emulated_cuda_moves_dense_lines) {
  fuzz::Random random(7, 0);
  for (int i = 0; i < 300; ++i) {
    ASSERT_EQ((scan_dense<float, false>(random, i % 2 == 0)), "") << i;
    ASSERT_EQ((scan_dense<double, true>(random, i % 2 == 0)), "") << i;
  }
}

}  // namespace
}  // namespace in_order_random
}  // namespace test

#endif
