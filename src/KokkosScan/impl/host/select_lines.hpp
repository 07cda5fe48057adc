// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Selection on hosts, part by part of each line, without branches: each element is stored, as the
/// next result or where it is overwritten. One thread stores large results in the output at once,
/// so that loads and stores keep memory busy in turn. Otherwise parts are compacted into buffers in
/// L2 and copied past the caches once it is known how many elements are kept before. So threads
/// that share a line only wait for each other's counts.

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
#include <string>
#include <type_traits>

namespace KokkosScan::impl::host {

/// Elements of a part: their results fill a quarter of a typical L2; those of one thread fill L1.
template <class Value, std::int64_t bytes = part_bytes>
inline constexpr std::int64_t length_of_selected_part =
    std::max<std::int64_t>(64, bytes / static_cast<std::int64_t>(sizeof(Value)));

/// State of the threads that share lines.
struct SelectChain : Turns {
  std::int64_t before = 0;  ///< elements kept before the part, in its line
};

/// Space for a result, which is not initialised, although its type may have a constructor.
template <class Value>
union SelectSlot {
  SelectSlot() {}
  Value value;
};

/// Selects from lines, or from parts of them that no other thread has taken.
template <class S>
struct SelectLines {
  using Value = typename S::Value;
  /// Small results cost more to be placed one by one than to be copied from a buffer.
  static constexpr bool is_small = sizeof(Value) < 8;
  S selection;
  SelectChain* chain;  ///< of threads that share lines; otherwise null
  bool is_alone;       ///< whether there is one thread, which knows what comes before each part
  bool streams;        ///< whether the buffer is copied with non-temporal stores

  void operator()(std::int64_t begin_line, std::int64_t end_line) const {
    const std::int64_t n = selection.n;
    const std::int64_t length = std::min(
        n, is_alone ? length_of_selected_part<Value, block_bytes> : length_of_selected_part<Value>);
    const std::int64_t of_line = (n + length - 1) / length;
    const auto slots =
        std::make_unique_for_overwrite<SelectSlot<Value>[]>(static_cast<std::size_t>(length));
    Value* const buffer = &slots[0].value;
    std::int64_t before = 0;  // elements kept before the part, in its line
    for (std::int64_t part = chain ? chain->take() : begin_line * of_line;
         part < end_line * of_line; part = chain ? chain->take() : part + 1) {
      const std::int64_t line = of_line == 1 ? part : part / of_line;
      const std::int64_t begin = (part - line * of_line) * length;
      const std::int64_t end = std::min(begin + length, n);
      if (begin == 0) before = 0;
      Value* const to = is_alone ? place(line, before, end - begin, buffer) : buffer;
      const std::int64_t count = compact(line, begin, end, buffer, to);
      if (chain) {
        chain->wait_for(part);
        before = begin == 0 ? 0 : chain->before;
        chain->before = before + count;
        chain->end(part);
      }
      if (to == buffer) store(buffer, line, before, count);
      before += count;
      if (end < n) continue;
      selection.counts.line(LineOfBatch{line})(0) = static_cast<typename S::Count>(before);
    }
    end_streaming();
  }

 private:
  /// The output behind `before` results of the line if it has room for a part, or the buffer.
  Value* place(std::int64_t line, std::int64_t before, std::int64_t length, Value* buffer) const {
    if constexpr (!is_elements<Value>) {
      const auto output = selection.output.line(LineOfBatch{line});
      const bool has_room = before + length <= selection.capacity;
      if (output.stride == 1 && has_room) return output.data + before;
    }
    return buffer;
  }
  /// Compacts a part to `to`, which may be the input; returns the number of elements that are kept.
  std::int64_t compact(std::int64_t line, std::int64_t begin, std::int64_t end, Value* buffer,
                       Value* to) const {
    std::int64_t count = 0;
    // What is not kept goes to the buffer: in the output, it would change what follows.
    Value* const places[2] = {buffer, to};
    const auto compact_to = [&](const auto& elements, const auto& keep, auto is_direct) {
      std::int64_t before = 0;
      for (std::int64_t k = begin; k < end; ++k) {
        const typename S::Element& element = elements(k);
        std::int64_t kept = is_kept(keep, k, element) ? 1 : 0;
        // Otherwise GCC computes it twice, in a register that waits for the load of the place.
        if constexpr (!is_small) asm("" : "+r"(kept));
        (is_direct ? places[kept] : buffer)[before] = stored_as<Value>(element);
        before += kept;
      }
      count = before;
    };
    // Contiguous lines have a path of their own, which is much faster.
    with_pointer(selection.input.line(LineOfBatch{line}), [&](const auto& elements) {
      with_pointer(selection.keep.line(LineOfBatch{line}), [&](const auto& keep) {
        to == buffer ? compact_to(elements, keep, std::false_type{})
                     : compact_to(elements, keep, std::true_type{});
      });
    });
    return count;
  }
  template <class Line, class Visitor>
  static void with_pointer(const Line& line, const Visitor& visitor) {
    if constexpr (requires { line.data[line.stride]; }) {
      if (line.stride == 1) {
        return visitor([data = line.data](std::int64_t k) -> const auto& { return data[k]; });
      }
    }
    return visitor(line);
  }
  /// Stores results behind the first `before` of the line, as far as the line goes.
  void store(const Value* from, std::int64_t line, std::int64_t before, std::int64_t count) const {
    const auto output = selection.output.line(LineOfBatch{line});
    count = std::min(count, selection.capacity - before);
    if constexpr (!is_elements<Value>) {
      if (output.stride == 1 && count > 0) {
        const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(Value);
        void* const to = output.data + before;
        return streams ? stream_bytes(from, bytes, to)
                       : static_cast<void>(std::memcpy(to, from, bytes));
      }
    }
    for (std::int64_t i = 0; i < count; ++i) output(before + i) = from[i];
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
    const auto bytes = static_cast<double>(sizeof(typename S::Value)) * static_cast<double>(lines) *
                       static_cast<double>(selection.n);
    SelectChain chain;
    const SelectLines<S> work{selection, splits ? &chain : nullptr,
                              !SelectLines<S>::is_small && !splits && threads == 1,
                              bytes > streaming_bytes};
    const std::string label = label_of(Function::select, splits ? "split_lines" : "lines");
    if (!splits) return for_each_unit(exec, label, lines, selection.n, work);
    for_each_index(exec, label, threads, [&](std::int64_t) { work(0, lines); });
    // Launches on hosts block, so the chain outlives the threads' work.
    static_assert(std::is_same_v<typename Exec::memory_space, Kokkos::HostSpace>);
  }
};

}  // namespace KokkosScan::impl::host
