// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The general host kernels on random problems, bitwise compared with the generic backend: they have
// the combination tree in common, and nothing else. Recurrences from a state are scanned in order.
// KOKKOS_SCAN_RANDOM_CASES=N runs N cases of each kind, KOKKOS_SCAN_RANDOM_SEED=S sets the seed; a
// failure names seed and case. Regression classes: A, D aliasing, E strides, H alignment, K
// reverse.

#include <Kokkos_Core.hpp>

// Host-only functions.
#if !defined(KOKKOS_ENABLE_CUDA)

#include <gtest/gtest.h>

#include <KokkosScan/KokkosScan.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "backends.hpp"

namespace test {
namespace backends_host_general {

using Extents = std::array<std::int64_t, 3>;
template <class T>
using Box = Kokkos::View<T***, Kokkos::LayoutStride, Device, Kokkos::MemoryUnmanaged>;
template <class T>
using Sheet = Kokkos::View<T**, Kokkos::LayoutStride, Device, Kokkos::MemoryUnmanaged>;

std::size_t u(std::int64_t i) { return static_cast<std::size_t>(i); }

/// A struct of three words, which a user's operator adds.
struct Vector {
  float x, y, z;
};
struct AddVectors {
  KOKKOS_FUNCTION Vector operator()(Vector const& a, Vector const& b) const {
    return {a.x + b.x, a.y + b.y, a.z + b.z};
  }
  KOKKOS_FUNCTION static Vector identity() { return {0, 0, 0}; }
};

/// A result that is made of a map, not of its state.
struct Pair {
  float scale, shift;
  Pair() = default;
  Pair(float scale_, float shift_) : scale(scale_), shift(shift_) {}
  KOKKOS_FUNCTION explicit Pair(ks::AffineMap<float> const& map)
      : scale(map.scale), shift(map.shift) {}
};

/// A number whose sums and products are inexact.
template <class T>
T number(Random& random) {
  if constexpr (std::is_same_v<T, bool>) {
    return random.below(3) != 0;
  } else if constexpr (requires { T{}.scale; }) {
    using S = decltype(T{}.scale);
    return {number<S>(random), number<S>(random)};
  } else if constexpr (std::is_same_v<T, Vector>) {
    return {number<float>(random), number<float>(random), number<float>(random)};
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(random.next() >> 17);
  } else {
    return static_cast<T>(2 * random.unit() - 1);
  }
}

/// An array with random strides in its own memory, filled with numbers; its contents can be
/// recreated exactly.
template <class T>
class Memory {
  using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

 public:
  Memory(Random& random, Extents const& extents) : m_extents(extents) {
    std::array<int, 3> order{0, 1, 2};
    if (random.below(4) == 0) {
      for (int i = 2; i > 0; --i) std::swap(order[u(i)], order[u(random.below(i + 1))]);
    }
    std::int64_t size = random.below(4) == 0 ? 2 : 1;
    for (int i = 2; i >= 0; --i) {
      m_strides[u(order[u(i)])] = size;
      size *= std::max<std::int64_t>(1, extents[u(order[u(i)])]);
      if (random.below(4) == 0) size += random.below(9);
    }
    m_offset = random.below(20);
    for (std::int64_t i = 0; i < size + m_offset + 40; ++i) {
      values.push_back(static_cast<Stored>(number<T>(random)));
    }
  }
  /// The whole array, or a part of it with another origin.
  Box<T> box(Extents const& extents, Extents const& first = {}) {
    std::int64_t at = m_offset;
    for (std::size_t d = 0; d < 3; ++d) at += first[d] * m_strides[d];
    return Box<T>(reinterpret_cast<T*>(values.data()) + at,
                  Kokkos::LayoutStride(u(extents[0]), u(m_strides[0]), u(extents[1]),
                                       u(m_strides[1]), u(extents[2]), u(m_strides[2])));
  }
  Box<T> box() { return box(m_extents); }
  Extents const& strides() const { return m_strides; }

  std::vector<Stored> values;

 private:
  Extents m_extents, m_strides{};
  std::int64_t m_offset;
};

/// Stores results, and counts calls.
template <class T>
struct StoreAndCount {
  Box<T> box;
  Box<std::uint8_t> calls;
  template <class Result>
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t j, std::int64_t k,
                                  Result const& result) const {
    box(i, j, k) = static_cast<T>(result);
    ++calls(i, j, k);
  }
};
struct Negated {
  template <class T>
  KOKKOS_FUNCTION float operator()(T const& result) const {
    return -static_cast<float>(result);
  }
};
struct Scale {
  KOKKOS_FUNCTION float operator()(ks::AffineMap<float> const& map) const { return map.scale; }
};
template <class T>
struct ElementOf {
  Box<T> box;
  KOKKOS_FUNCTION T operator()(std::int64_t i, std::int64_t j, std::int64_t k) const {
    return box(i, j, k);
  }
};

struct Arrays {
  Box<float> a, b;
  Box<bool> mask;
  Sheet<float> of_lines;
};

// Kinds: the input, the type of results, the operator.
enum class Sink { array, projected, called };
struct StructsInPlace {
  using Stored = ks::AffineMap<double>;
  using Start = Stored;
  using Op = ks::ComposeAffine<double>;
  static constexpr Sink sink = Sink::array;
  static constexpr bool in_place = true;
};
struct VectorsInPlace {
  using Stored = Vector;
  using Start = Vector;
  using Op = AddVectors;
  static constexpr Sink sink = Sink::array;
  static constexpr bool in_place = true;
};
struct MaskedVectorsInPlace : VectorsInPlace {
  static constexpr bool is_masked = true;
};
struct Recurrence {
  using Stored = float;
  using Start = float;
  using Op = ks::ComposeAffine<float>;
  static constexpr Sink sink = Sink::array;
  static constexpr bool in_place = false;
  static auto input(Arrays const& x) { return ks::impl::maps_of<float>(x.a, x.b); }
};
struct RecurrenceInOrder : Recurrence {
  static constexpr bool in_order = true;
};
struct ProjectedRecurrence : Recurrence {
  static constexpr Sink sink = Sink::projected;
  using Projection = Negated;
  static auto input(Arrays const& x) { return ks::impl::maps_of<float>(x.of_lines, x.b); }
};
// Maps from maps that are not constant: their scales are products.
struct ProjectedScale : Recurrence {
  static constexpr Sink sink = Sink::projected;
  using Projection = Scale;
  using Start = ks::AffineMap<float>;
};
struct Pairs : Recurrence {
  using Stored = Pair;
  using Start = ks::AffineMap<float>;
};
struct CalledRecurrence : Recurrence {
  static constexpr Sink sink = Sink::called;
};
struct CalledSum {
  using Stored = float;
  using Start = float;
  using Op = ks::Sum<float>;
  static constexpr Sink sink = Sink::called;
  static constexpr bool in_place = false;
  static auto input(Arrays const& x) { return x.a; }
};
struct CalledMaskedSum : CalledSum {
  static auto input(Arrays const& x) { return ks::masked(x.a, x.mask); }
};
struct CalledComputedMaximum : CalledSum {
  using Op = ks::Max<float>;
  static auto input(Arrays const& x) { return ks::elementwise(x.a, ElementOf<float>{x.a}); }
};
struct CalledSumInOrder : CalledSum {
  static constexpr bool in_order = true;
};
struct CalledMaskedSumInOrder : CalledMaskedSum {
  static constexpr bool in_order = true;
};
struct MaskedLogSumExp : CalledSum {
  using Op = ks::LogSumExp<float>;
  static constexpr Sink sink = Sink::array;
  static auto input(Arrays const& x) {
    return ks::masked(ks::elementwise(x.a, ElementOf<float>{x.a}), x.mask);
  }
};

template <class Kind>
inline constexpr bool in_order = requires {
  Kind::in_order;
};

/// The general kernels, or the generic backend.
struct Either {
  bool is_general;
  ks::impl::host::Destination destination;
  ks::impl::host::Registers registers;

  template <class P, class E>
  std::size_t workspace_bytes(E const&, std::int64_t, std::int64_t) const {
    return 0;
  }
  template <class E, class P>
  void scan(E const& exec, P const& problem, std::byte*) const {
    static_assert(ks::impl::host::GeneralBackend::supports<P>);
    if (is_general) {
      ks::impl::host::GeneralBackend{destination, registers}.scan(exec, problem);
    } else if (ks::impl::host::scans_states_in_order(problem)) {
      ks::impl::team::Backend{}.scan(exec, in_order_of(problem), nullptr);
    } else {
      ks::impl::team::Backend{}.scan(exec, problem, nullptr);
    }
  }

 private:
  template <class A, class Op, class In, class Out, class Start, class Total>
  static auto in_order_of(ks::impl::Problem<A, Op, In, Out, Start, Total> const& p) {
    return ks::impl::Problem<A, ks::impl::InOrder<Op>, In, Out, Start, Total>{
        p.function, p.n,     p.batch,  p.form,  p.extra, {p.op},
        p.identity, p.input, p.output, p.start, p.totals};
  }
};

template <class Kind>
void scan_case(std::uint64_t seed, std::int64_t index) {
  using Stored = typename Kind::Stored;
  using Op = typename Kind::Op;
  Random random(seed * 1'000'003 + static_cast<std::uint64_t>(index));
  Extents extents{};
  std::int64_t most = std::int64_t{1} << (4 + random.below(13));
  std::array<std::size_t, 3> dimensions{0, 1, 2};
  for (int i = 2; i > 0; --i) std::swap(dimensions[u(i)], dimensions[u(random.below(i + 1))]);
  for (std::size_t const d : dimensions) {
    std::int64_t extent = std::llround(std::pow(static_cast<double>(most), random.unit()));
    if (random.below(3) == 0) extent = (std::int64_t{1} << random.below(9)) + random.below(3) - 1;
    extents[d] = std::clamp<std::int64_t>(extent, 1, most);
    most = std::max<std::int64_t>(1, most / extents[d]);
  }
  auto const axis = random.below(3);
  bool const is_exclusive = random.below(2) == 0;
  bool const has_extra = is_exclusive && random.below(3) == 0;
  bool const is_backward = random.below(2) == 0;
  bool const has_start = random.below(2) == 0;
  int const starts = has_start ? static_cast<int>(random.below(2)) : -1;  // common, or per line
  Extents out_extents = extents;
  if (has_extra) ++out_extents[u(axis)];
  Extents first{};
  if (has_extra) first[u(axis)] = random.below(2);

  std::array<std::int64_t, 2> others{};
  for (std::int64_t d = 0, i = 0; d < 3; ++d) {
    if (d != axis) others[u(i++)] = extents[u(d)];
  }
  std::int64_t const lines = others[0] * others[1];
  Kokkos::LayoutStride const of_lines(u(others[0]), u(others[1]), u(others[1]), 1);
  Memory<float> a(random, extents), b(random, extents), coefficients(random, {1, 1, lines});
  Memory<bool> mask(random, extents);
  Memory<typename Kind::Start> start(random, {1, 1, lines});
  Memory<Stored> const out(random, out_extents);
  Arrays const x{a.box(), b.box(), mask.box(), Sheet<float>(coefficients.values.data(), of_lines)};

  Exec const exec = backends::instance_of_threads(1 + random.below(4));
  auto const registers =
      random.below(2) == 0 ? ks::impl::host::widest_registers() : ks::impl::host::least_registers;
  auto const destination = random.below(2) == 0 ? ks::impl::host::Destination::memory
                                                : ks::impl::host::Destination::caches;
  std::vector<Stored> results[2], totals[2];
  std::vector<std::uint8_t> calls;
  for (bool const is_general : {false, true}) {
    Memory<Stored> memory = out;
    std::vector<Stored> total(u(lines));
    Random of_poison(7);
    for (Stored& t : total) t = number<Stored>(of_poison);
    Box<Stored> const box = memory.box();
    calls.assign(u(out_extents[0] * out_extents[1] * out_extents[2]), 0);
    Box<std::uint8_t> const counts(
        calls.data(),
        Kokkos::LayoutStride(u(out_extents[0]), u(out_extents[1] * out_extents[2]),
                             u(out_extents[1]), u(out_extents[2]), u(out_extents[2]), 1));
    Either const backend{is_general, destination, registers};
    auto const scan = [&](auto const& input, auto const& lines_of_scan) {
      auto const function =
          is_exclusive ? ks::impl::Function::exclusive_scan : ks::impl::Function::inclusive_scan;
      if constexpr (Kind::sink == Sink::called) {
        auto const sink = ks::for_each_result(box, StoreAndCount<Stored>{box, counts});
        ks::impl::scan(function, exec, input, sink, lines_of_scan, Op{}, backend);
      } else if constexpr (Kind::sink == Sink::projected) {
        ks::impl::scan(function, exec, input, ks::projected(box, typename Kind::Projection{}),
                       lines_of_scan, Op{}, backend);
      } else {
        ks::impl::scan(function, exec, input, box, lines_of_scan, Op{}, backend);
      }
    };
    auto const scan_input = [&](auto const& lines_of_scan) {
      if constexpr (requires { Kind::is_masked; }) {
        scan(ks::masked(memory.box(extents, first), x.mask), lines_of_scan);
      } else if constexpr (Kind::in_place) {
        scan(memory.box(extents, first), lines_of_scan);
      } else {
        scan(Kind::input(x), lines_of_scan);
      }
    };
    auto const by_groups = is_backward ? ks::along(static_cast<int>(axis)).backward()
                                       : ks::along(static_cast<int>(axis));
    auto const along = [&] {
      if constexpr (in_order<Kind>) {
        return by_groups.in_order();
      } else {
        return by_groups;
      }
    }();
    auto const with_totals = along.totals(Sheet<Stored>(total.data(), of_lines));
    if (starts < 0) {
      scan_input(with_totals);
    } else if (starts == 0) {
      scan_input(with_totals.starting_at(start.values[0]));
    } else {
      scan_input(
          with_totals.starting_at(Sheet<typename Kind::Start>(start.values.data(), of_lines)));
    }
    exec.fence();
    results[is_general] = memory.values;
    totals[is_general] = total;
  }
  std::string const what =
      "seed " + std::to_string(seed) + ", case " + std::to_string(index) + ": (" +
      std::to_string(extents[0]) + ", " + std::to_string(extents[1]) + ", " +
      std::to_string(extents[2]) + ") along " + std::to_string(axis) +
      (is_exclusive ? has_extra ? ", n+1" : ", exclusive" : ", inclusive") +
      (is_backward ? ", backward" : "") + ", start " + std::to_string(starts) + ", strides " +
      std::to_string(out.strides()[0]) + " " + std::to_string(out.strides()[1]) + " " +
      std::to_string(out.strides()[2]) + ", threads " + std::to_string(exec.concurrency());
  for (std::size_t i = 0; i < results[0].size(); ++i) {
    ASSERT_EQ(std::memcmp(&results[0][i], &results[1][i], sizeof(Stored)), 0)
        << what << ", element " << i << " of memory is " << oracle::to_text(results[1][i])
        << ", expected " << oracle::to_text(results[0][i]);
  }
  for (std::size_t l = 0; l < totals[0].size(); ++l) {
    ASSERT_EQ(std::memcmp(&totals[0][l], &totals[1][l], sizeof(Stored)), 0)
        << what << ", total of line " << l;
  }
  for (std::size_t i = 0; i < calls.size() && Kind::sink == Sink::called; ++i) {
    ASSERT_EQ(int{calls[i]}, 1) << what << ", calls for result " << i;
  }
}

std::int64_t from_environment(char const* name, std::int64_t otherwise) {
  char const* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

template <class Kind>
void random_cases() {
  auto const seed = static_cast<std::uint64_t>(from_environment("KOKKOS_SCAN_RANDOM_SEED", 1));
  std::int64_t const first = from_environment("KOKKOS_SCAN_RANDOM_FIRST", 0);
  std::int64_t const count = from_environment("KOKKOS_SCAN_RANDOM_CASES", 200);
  for (std::int64_t index = first; index < first + count; ++index) {
    scan_case<Kind>(seed, index);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(backends_host_general, structs_in_place) { random_cases<StructsInPlace>(); }
TEST(backends_host_general, structs_of_users_in_place) {
  random_cases<VectorsInPlace>();
  random_cases<MaskedVectorsInPlace>();
}
TEST(backends_host_general, recurrences) {
  random_cases<Recurrence>();
  random_cases<RecurrenceInOrder>();
}
TEST(backends_host_general, projected_recurrences) { random_cases<ProjectedRecurrence>(); }
TEST(backends_host_general, recurrences_whose_maps_are_stored) {
  random_cases<ProjectedScale>();
  random_cases<Pairs>();
}
TEST(backends_host_general, called_recurrences) { random_cases<CalledRecurrence>(); }
TEST(backends_host_general, called_sums) { random_cases<CalledSum>(); }
TEST(backends_host_general, called_masked_sums) { random_cases<CalledMaskedSum>(); }
TEST(backends_host_general, called_sums_in_order) {
  random_cases<CalledSumInOrder>();
  random_cases<CalledMaskedSumInOrder>();
}
TEST(backends_host_general, called_computed_maxima) { random_cases<CalledComputedMaximum>(); }
TEST(backends_host_general, masked_computed_logarithms) { random_cases<MaskedLogSumExp>(); }

// The last result of a line that is scanned by a plain loop, or ends with a chunk, is its total.
TEST(backends_host_general, totals_at_the_ends_of_chunks) {
  Random random(5);
  for (int const n : {1, 11, 12, 13, 126, 127, 128, 129, 255, 256, 257}) {
    constexpr int lines = 3;
    Kokkos::View<Vector**, Kokkos::LayoutRight, Device> const x("x", lines, n);
    Kokkos::View<Vector*, Device> const totals("totals", lines);
    for (int k = 0; k < lines * n; ++k) x.data()[k] = number<Vector>(random);
    Either const backend{true, ks::impl::host::Destination::caches,
                         ks::impl::host::widest_registers()};
    ks::impl::scan(ks::impl::Function::inclusive_scan, Exec(), x, x, ks::along(1).totals(totals),
                   AddVectors{}, backend);
    for (int line = 0; line < lines; ++line) {
      EXPECT_EQ(std::memcmp(&totals(line), &x(line, n - 1), sizeof(Vector)), 0) << n;
    }
  }
}

}  // namespace backends_host_general
}  // namespace test

#endif
