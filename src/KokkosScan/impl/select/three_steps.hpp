// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Selection on any execution space, in three steps: evaluate the mask or predicate and pack 64
/// results into a word; count the bits of each word and scan the counts; store the kept elements of
/// each word. With a predicate, elements are read (or computed) twice.

#include <KokkosScan/impl/dispatch.hpp>
#include <KokkosScan/impl/memory.hpp>
#include <KokkosScan/impl/policy.hpp>
#include <KokkosScan/impl/select/selection.hpp>
#include <KokkosScan/inputs.hpp>
#include <KokkosScan/lines.hpp>
#include <KokkosScan/operators.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace KokkosScan::impl {

inline constexpr std::int64_t bits_of_word = 64;

/// Step 1: one bit for each element, set if it is kept.
template <class S>
struct AskElements {
  S selection;
  std::int64_t words_of_line;
  std::uint64_t* words;

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    const Division at(index, words_of_line);
    const LineOfBatch place{at.quotient};
    const auto input = selection.input.line(place);
    const auto keep = selection.keep.line(place);
    const std::int64_t begin = at.remainder * bits_of_word;
    const std::int64_t end =
        begin + bits_of_word < selection.n ? begin + bits_of_word : selection.n;
    std::uint64_t word = 0;
    for (std::int64_t k = begin; k < end; ++k) {
      bool kept;
      if constexpr (is_predicate<typename S::Keep>) {
        kept = is_kept(keep, k, typename S::Element(input(k)));
      } else {
        kept = static_cast<bool>(keep(k));
      }
      word |= std::uint64_t{kept} << (k - begin);
    }
    words[index] = word;
  }
};

/// The number of elements that a word keeps, for step 2.
struct CountBits {
  const std::uint64_t* words;
  std::int64_t words_of_line;

  KOKKOS_FUNCTION std::int64_t operator()(std::int64_t line, std::int64_t word) const {
    std::uint64_t x = words[line * words_of_line + word];
    // std::popcount() is not available in device code of all compilers.
    x = x - ((x >> 1) & 0x5555'5555'5555'5555);
    x = (x & 0x3333'3333'3333'3333) + ((x >> 2) & 0x3333'3333'3333'3333);
    x = (x + (x >> 4)) & 0x0F0F'0F0F'0F0F'0F0F;
    return static_cast<std::int64_t>((x * 0x0101'0101'0101'0101) >> 56);
  }
};

/// Step 3: store the elements.
template <class S>
struct StoreElements {
  S selection;
  std::int64_t words_of_line;
  const std::uint64_t* words;
  const std::int64_t* before;  ///< for each word, the number of elements kept before it in its line

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    const std::uint64_t word = words[index];
    if (word == 0) return;
    const Division at(index, words_of_line);
    const LineOfBatch place{at.quotient};
    const auto input = selection.input.line(place);
    const auto output = selection.output.line(place);
    const std::int64_t begin = at.remainder * bits_of_word;
    std::int64_t next = before[index];
    for (std::int64_t bit = 0; bit < bits_of_word; ++bit) {
      if ((word >> bit & 1) == 0) continue;
      if (next >= selection.capacity) return;
      output(next++) = stored_as<typename S::Value>(typename S::Element(input(begin + bit)));
    }
  }
};

/// Selection by three kernels, for any execution space.
struct ThreeSteps {
  /// Threads that store do not wait for those that read.
  template <class Exec, class S>
  static constexpr bool works_in_place = false;

  template <class S, class Exec>
  std::size_t workspace_bytes(const Exec& exec, std::int64_t n, std::int64_t lines) const {
    const std::int64_t words = words_of(n);
    // One word and one count each, and the workspace of the scan of the counts.
    return static_cast<std::size_t>(lines * words * 16) +
           ByDefault{}.workspace_bytes<CountsProblem<typename S::Count>>(exec, words, lines);
  }

  template <class Exec, class S>
  void select(const Exec& exec, const S& selection, std::byte* workspace) const {
    using Count = typename S::Count;
    using Unmanaged = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
    using Space = typename Exec::memory_space;
    const std::string label = name(Function::select) + " [three_steps ";
    const std::int64_t lines = selection.batch.count;
    const std::int64_t words_of_line = words_of(selection.n);
    const std::int64_t all = lines * words_of_line;
    const std::size_t bytes = workspace_bytes<S>(exec, selection.n, lines);
    std::optional<Temporary<Exec>> memory;
    if (workspace == nullptr) workspace = memory.emplace(exec, bytes).data();
    auto* const words = reinterpret_cast<std::uint64_t*>(workspace);
    auto* const before = reinterpret_cast<std::int64_t*>(workspace + 8 * all);

    for_each_index(exec, label + "ask]", all, AskElements<S>{selection, words_of_line, words});

    const auto number = [](std::int64_t value) { return static_cast<std::size_t>(value); };
    const Kokkos::View<std::int64_t**, Kokkos::LayoutRight, Space, Unmanaged> offsets(
        before, number(lines), number(words_of_line));
    const CountsView<Count, Space> counts(
        selection.counts.data,
        Kokkos::LayoutStride(number(lines), number(selection.counts.strides.batch[0])));
    const Kokkos::View<std::byte*, Space, Unmanaged> rest(workspace + 16 * all,
                                                          bytes - number(16 * all));
    scan(Function::exclusive_scan, exec,
         elementwise({lines, words_of_line}, CountBits{words, words_of_line}), offsets,
         along(1).totals(counts).workspace(rest), Sum<std::int64_t>{}, ByDefault{});

    for_each_index(exec, label + "store]", all,
                   StoreElements<S>{selection, words_of_line, words, before});
  }

 private:
  template <class Count, class Space>
  using CountsView =
      Kokkos::View<Count*, Kokkos::LayoutStride, Space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  template <class Count>
  using CountsProblem = Problem<std::int64_t, Sum<std::int64_t>, Computed<2, CountBits>,
                                std::int64_t, CommonStart<std::int64_t>, Count>;

  static std::int64_t words_of(std::int64_t n) { return (n + bits_of_word - 1) / bits_of_word; }
};

}  // namespace KokkosScan::impl
