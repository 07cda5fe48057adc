// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Selection on hosts. A part of a line is compacted into a buffer in L2 without branches: each
/// element is stored, and overwritten by the next one unless it is kept. Once the number of
/// elements kept before the part is known, the buffer is copied to its place. So the output is
/// written once, and threads that share a line only wait for each other's counts.

#include <KokkosScan/impl/host/launch.hpp>
#include <KokkosScan/impl/host/store_run.hpp>
#include <KokkosScan/impl/host/tuning.hpp>
#include <KokkosScan/impl/policy.hpp>
#include <KokkosScan/impl/select/selection.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>

namespace KokkosScan::impl::host {

/// Elements of a part: their results fill a quarter of a typical L2.
template <class Value>
inline constexpr std::int64_t length_of_selected_part =
    std::max<std::int64_t>(64, part_bytes / static_cast<std::int64_t>(sizeof(Value)));

/// State of the threads that share lines.
struct SelectChain : Turns {
  std::int64_t before = 0;  ///< elements kept before the part, in its line
};

/// Compacts parts of lines.
template <class S>
class SelectParts {
  using Value = typename S::Value;

 public:
  explicit SelectParts(const S& selection)
      : m_selection(selection),
        m_buffer(std::make_unique_for_overwrite<Slot[]>(static_cast<std::size_t>(
            std::min(length_of_selected_part<typename S::Value>, selection.n)))),
        m_streams(static_cast<double>(selection.n) * static_cast<double>(selection.batch.count) *
                      static_cast<double>(sizeof(Value)) >
                  streaming_bytes) {}
  SelectParts(const SelectParts&) = delete;
  SelectParts& operator=(const SelectParts&) = delete;
  ~SelectParts() {
    if (m_streams) end_streaming();
  }

  /// Compacts a part into the buffer; returns the number of elements that are kept.
  std::int64_t compact(std::int64_t line, std::int64_t begin, std::int64_t end) {
    const LineOfBatch at{line};
    const auto input = m_selection.input.line(at);
    const auto keep = m_selection.keep.line(at);
    // Contiguous lines have a path of their own, which is much faster.
    return with_pointer(input, [&](const auto& elements) {
      return with_pointer(keep, [&](const auto& kept) {
        Slot* const to = m_buffer.get();
        std::int64_t count = 0;
        for (std::int64_t k = begin; k < end; ++k) {
          const typename S::Element element = elements(k);
          to[count].value = stored_as<Value>(element);
          count += is_kept(kept, k, element) ? 1 : 0;
        }
        return count;
      });
    });
  }
  /// Stores the buffer behind the first `before` results of the line, as far as the line goes.
  void store(std::int64_t line, std::int64_t before, std::int64_t count) const {
    const auto output = m_selection.output.line(LineOfBatch{line});
    const Value* const from = &m_buffer[0].value;
    count = std::min(count, m_selection.capacity - before);
    if constexpr (is_elements<Value>) {
      for (std::int64_t i = 0; i < count; ++i) output(before + i) = from[i];
    } else if (count <= 0) {
      return;
    } else if (output.stride == 1 || count == 1) {
      Value* const to = output.data + before * output.stride;
      const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(Value);
      if (m_streams) {
        stream_bytes(from, bytes, to);
      } else {
        std::memcpy(static_cast<void*>(to), from, bytes);
      }
    } else {
      for (std::int64_t i = 0; i < count; ++i) output(before + i) = from[i];
    }
  }
  void store_count(std::int64_t line, std::int64_t count) const {
    m_selection.counts.line(LineOfBatch{line})(0) = static_cast<typename S::Count>(count);
  }

 private:
  // Leaves values uninitialised, although Value may have a constructor.
  union Slot {
    Slot() {}
    Value value;
  };
  static_assert(sizeof(Slot) == sizeof(Value));

  template <class Line, class Visitor>
  static std::int64_t with_pointer(const Line& line, const Visitor& visitor) {
    if constexpr (requires {
                    line.data;
                    line.stride;
                  }) {
      if (line.stride == 1) {
        const auto* const data = line.data;
        return visitor([data](std::int64_t k) { return data[k]; });
      }
    }
    return visitor(line);
  }

  const S& m_selection;
  std::unique_ptr<Slot[]> m_buffer;
  bool m_streams;
};

/// Compacts the lines of one unit, on one thread.
template <class S>
struct SelectWholeLines {
  S selection;
  std::int64_t units;

  void operator()(std::int64_t unit) const {
    SelectParts<S> parts(selection);
    const std::int64_t lines = selection.batch.count;
    const std::int64_t end = begin_of_unit(lines, units, unit + 1);
    for (std::int64_t line = begin_of_unit(lines, units, unit); line < end; ++line) {
      std::int64_t before = 0;
      for (std::int64_t k = 0; k < selection.n; k += length_of_selected_part<typename S::Value>) {
        const std::int64_t count = parts.compact(
            line, k, std::min(k + length_of_selected_part<typename S::Value>, selection.n));
        parts.store(line, before, count);
        before += count;
      }
      parts.store_count(line, before);
    }
  }
};

/// Takes parts until none are left.
template <class S>
struct SelectSplitLines {
  S selection;
  SelectChain* chain;

  void operator()(std::int64_t) const {
    SelectParts<S> parts(selection);
    constexpr std::int64_t length = length_of_selected_part<typename S::Value>;
    const std::int64_t parts_of_line = (selection.n + length - 1) / length;
    const std::int64_t all = selection.batch.count * parts_of_line;
    for (std::int64_t part = chain->take(); part < all; part = chain->take()) {
      const std::int64_t line = part / parts_of_line;
      const std::int64_t begin = part % parts_of_line * length;
      const std::int64_t end = std::min(begin + length, selection.n);
      const std::int64_t count = parts.compact(line, begin, end);
      chain->wait_for(part);
      const std::int64_t before = begin == 0 ? 0 : chain->before;
      chain->before = before + count;
      chain->end(part);
      parts.store(line, before, count);
      if (end == selection.n) parts.store_count(line, before + count);
    }
  }
};

/// The host selection kernels. The member exists for tests.
struct SelectBackend {
  /// A part is stored where it and those before it have been read.
  template <class Exec, class S>
  static constexpr bool works_in_place = true;

  Sharing sharing = Sharing::automatic;

  template <class S, class Exec>
  std::size_t workspace_bytes(const Exec&, std::int64_t, std::int64_t) const {
    return 0;
  }

  /// Selects from at least one line of at least one element.
  template <class Exec, class S>
  void select(const Exec& exec, const S& selection, std::byte*) const {
    const std::int64_t lines = selection.batch.count;
    const std::int64_t threads = exec.concurrency();
    const bool is_even = lines >= 4 * threads || lines % threads == 0;
    const bool splits = sharing == Sharing::automatic
                            ? threads > 1 && !is_even && selection.n >= 2 * unit_elements
                            : sharing == Sharing::split_lines;
    if (splits) {
      SelectChain chain;
      for_each_index(exec, label_of(Function::select, "split_lines"), threads,
                     SelectSplitLines<S>{selection, &chain});
      // Launches on hosts block, so the chain outlives the threads' work.
      static_assert(std::is_same_v<typename Exec::memory_space, Kokkos::HostSpace>);
      return;
    }
    const std::int64_t of_unit = std::max<std::int64_t>(1, unit_elements / selection.n);
    const std::int64_t units =
        std::clamp<std::int64_t>(lines / of_unit, std::min(threads, lines), lines);
    for_each_index(exec, label_of(Function::select, "lines"), units,
                   SelectWholeLines<S>{selection, units});
  }
};

}  // namespace KokkosScan::impl::host
