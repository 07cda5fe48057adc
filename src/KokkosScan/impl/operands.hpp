// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The arguments of a scan as plain numbers: shapes, strides and memory of all operands, checked
/// and reduced to a batch of lines. Nothing here is a template over the caller's types, so it is
/// compiled once instead of being inlined into each call.

#include <KokkosScan/impl/problem.hpp>
#include <KokkosScan/impl/raise.hpp>
#include <KokkosScan/lines.hpp>
#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <locale>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

namespace KokkosScan::impl {

/// The role of an operand in the scan, for messages.
enum class Role { input, of_each_line, mask, output, start, totals, counts, workspace };

constexpr bool is_written(Role role) {
  return role == Role::output || role == Role::totals || role == Role::counts;
}

inline const char* name(Role role) {
  switch (role) {
    case Role::input:
      return "input";
    case Role::of_each_line:
      return "input of one value a line";
    case Role::mask:
      return "mask";
    case Role::output:
      return "output";
    case Role::start:
      return "starting values";
    case Role::totals:
      return "totals";
    case Role::counts:
      return "counts";
    default:
      return "workspace";
  }
}

inline std::string name(Function function) {
  switch (function) {
    case Function::inclusive_scan:
      return "KokkosScan::inclusive_scan";
    case Function::exclusive_scan:
      return "KokkosScan::exclusive_scan";
    case Function::linear_recurrence:
      return "KokkosScan::linear_recurrence";
    case Function::select:
      return "KokkosScan::select";
    case Function::select_workspace_bytes:
      return "KokkosScan::select_workspace_bytes";
    default:
      return "KokkosScan::workspace_bytes";
  }
}

/// An address that identifies a type.
template <class T>
inline constexpr char type_tag = 0;

/// One operand. Operands with one value per line have one dimension less than the input until
/// insert_axis() adds a dimension of extent 1 for the axis.
struct Operand {
  Role role;
  const void* view;  ///< the argument of label()
  std::string (*label)(const void*);
  const std::byte* data;  ///< null for a function, and possibly for an empty View
  std::int64_t element_size;
  const void* type;  ///< null for a function
  int rank;
  std::int64_t extent[max_batch_rank + 1];
  std::int64_t stride[max_batch_rank + 1];  ///< in elements; meaningless if the extent is 1

  // Filled in by reduce().
  Strides strides;
  std::int64_t first;  ///< offset of the element that is scanned first, in elements

  [[nodiscard]] bool empty() const {
    return std::any_of(extent, extent + rank, [](std::int64_t e) { return e == 0; });
  }
  void insert_axis(int axis) {
    for (int d = rank; d > axis; --d) {
      extent[d] = extent[d - 1];
      stride[d] = stride[d - 1];
    }
    extent[axis] = 1;
    stride[axis] = 0;
    ++rank;
  }
};

/// A part of a message: a text, a number, or an operand's role and label.
class MessagePart {
 public:
  MessagePart(const char* text) : m_text(text) {}
  template <std::integral T>
  MessagePart(T number) : m_number(static_cast<std::int64_t>(number)) {}
  MessagePart(const Operand& operand) : m_operand(&operand) {}

  friend std::ostream& operator<<(std::ostream& out, const MessagePart& part) {
    if (part.m_text != nullptr) return out << part.m_text;
    if (part.m_operand == nullptr) return out << part.m_number;
    const Operand& operand = *part.m_operand;
    return out << name(operand.role) << " \"" << operand.label(operand.view) << '"';
  }

 private:
  const char* m_text = nullptr;
  const Operand* m_operand = nullptr;
  std::int64_t m_number = 0;
};

[[noreturn, gnu::noinline]] inline void refuse(Function function,
                                               std::initializer_list<MessagePart> parts) {
  std::ostringstream message;
  message.imbue(std::locale::classic());
  message << name(function) << ": ";
  for (const MessagePart& part : parts) message << part;
  raise<std::invalid_argument>(message.str());
}

/// The axis counted from the front.
inline int checked_axis(Function function, const Operand& input, int axis) {
  const int counted = axis < 0 ? axis + input.rank : axis;
  if (counted < 0 || counted >= input.rank) {
    refuse(function, {"axis ", axis, " is out of range for ", input, " of rank ", input.rank,
                      ": allowed are ", -input.rank, " to ", input.rank - 1, "."});
  }
  return counted;
}

/// Compares an extent of an operand with that of the input.
inline void check_extent(Function function, const Operand& operand, int d, const Operand& input,
                         int input_d, bool may_have_extra) {
  const std::int64_t own = operand.extent[d], expected = input.extent[input_d];
  if (own == expected || (may_have_extra && own == expected + 1)) return;
  if (may_have_extra) {
    refuse(function, {"extent ", d, " of ", operand, " is ", own, ", but extent ", input_d, " of ",
                      input, " is ", expected, ": expected ", expected, ", or ", expected + 1,
                      " to hold the total."});
  }
  refuse(function, {"extent ", d, " of ", operand, " is ", own, ", but extent ", input_d, " of ",
                    input, " is ", expected, "."});
}

/// Checks every shape against that of the input, which is the first operand, and inserts the axis
/// into operands with one value per line.
[[gnu::noinline]] inline void check_shapes(Function function, std::span<Operand> operands,
                                           int axis) {
  const Operand& input = operands.front();
  for (const Operand& operand : operands) {
    for (int d = 0; d < operand.rank; ++d) {
      if (operand.extent[d] < 0) {
        refuse(function, {"extent ", d, " of ", operand, " is ", operand.extent[d],
                          ", but an extent must not be negative."});
      }
    }
  }
  for (Operand& operand : operands.subspan(1)) {
    const bool of_lines = operand.role == Role::start || operand.role == Role::totals ||
                          operand.role == Role::counts || operand.role == Role::of_each_line;
    for (int d = 0; d < operand.rank; ++d) {
      const bool may_hold_total =
          operand.role == Role::output && d == axis &&
          (function == Function::exclusive_scan || function == Function::workspace_bytes);
      check_extent(function, operand, d, input, d + (of_lines && d >= axis ? 1 : 0),
                   may_hold_total);
    }
    if (of_lines) operand.insert_axis(axis);
  }
}

/// Checks a View of bytes passed as workspace.
[[gnu::noinline]] inline void check_workspace(Function function, const Operand& workspace,
                                              std::size_t needed) {
  if (workspace.extent[0] > 1 && workspace.stride[0] != 1) {
    refuse(function, {workspace, " has stride ", workspace.stride[0], ", but must be contiguous."});
  }
  if (static_cast<std::size_t>(workspace.extent[0]) < needed) {
    refuse(function,
           {workspace, " has ", workspace.extent[0], " bytes, but ", needed, " are needed."});
  }
  if (reinterpret_cast<std::uintptr_t>(workspace.data) % 16 != 0) {
    refuse(function, {workspace, " begins at an address that is not a multiple of 16."});
  }
}

/// A stable insertion sort. (std::stable_sort() adds 6 KB of code to each source that calls it.)
template <class T, class IsBefore>
void sort_few(T* values, int count, const IsBefore& is_before) {
  for (int i = 1; i < count; ++i) {
    const T value = values[i];
    int to = i;
    for (; to > 0 && is_before(value, values[to - 1]); --to) values[to] = values[to - 1];
    values[to] = value;
  }
}

/// A sum of strides times integers from `low` to `high`, and whether it can fall into an open
/// interval: the core of the overlap check.
class ReachableOffsets {
 public:
  [[gnu::noinline]] void add(std::int64_t stride, std::int64_t low, std::int64_t high) {
    if (stride < 0) {
      stride = -stride;
      std::swap(low, high);
      low = -low;
      high = -high;
    }
    if (stride != 0 && low != high) m_terms[m_count++] = {stride, low, high, 0, 0};
  }

  /// Whether origin + (some reachable offset) lies in (below, above). Exact, unless the search
  /// exceeds its budget: then the answer is yes.
  [[nodiscard]] bool reaches(std::int64_t origin, std::int64_t below, std::int64_t above) {
    prepare();
    m_budget = 10000;
    return search(0, origin, below, above);
  }

  /// Whether two different choices of the integers give offsets closer than `size`. Here the bounds
  /// are those of differences of indices.
  [[nodiscard]] bool meets_itself(std::int64_t size) {
    prepare();
    // The usual case is quick: each stride exceeds what the smaller ones span.
    std::int64_t span = size;
    bool nested = true;
    for (int t = m_count - 1; t >= 0; --t) {
      nested = nested && m_terms[t].stride >= span;
      span += m_terms[t].stride * m_terms[t].high;
    }
    if (nested) return false;
    m_budget = 10000;
    for (int t = 0; t < m_count; ++t) {  // the first difference; assume it is positive
      const std::int64_t high = std::min<std::int64_t>(m_terms[t].high, 4096);
      if (high < m_terms[t].high) return true;
      for (std::int64_t i = 1; i <= high; ++i) {
        if (search(t + 1, i * m_terms[t].stride, -size, size)) return true;
      }
    }
    return false;
  }

 private:
  struct Term {
    std::int64_t stride, low, high;
    std::int64_t rest_low, rest_high;  // the range of the sum of the later terms
  };

  static std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
    return a / b - (a % b != 0 && a < 0 ? 1 : 0);
  }

  [[gnu::noinline]] void prepare() {
    sort_few(m_terms, m_count, [](const Term& a, const Term& b) { return a.stride > b.stride; });
    std::int64_t low = 0;
    std::int64_t high = 0;
    for (int t = m_count - 1; t >= 0; --t) {
      m_terms[t].rest_low = low;
      m_terms[t].rest_high = high;
      low += m_terms[t].stride * m_terms[t].low;
      high += m_terms[t].stride * m_terms[t].high;
    }
  }

  [[gnu::noinline]] bool search(int t, std::int64_t offset, std::int64_t below,
                                std::int64_t above) {
    if (--m_budget < 0) return true;
    if (t == m_count) return below < offset && offset < above;
    const Term& term = m_terms[t];
    // Only integers from which the later terms can still reach the interval.
    const std::int64_t low =
        std::max(term.low, -floor_divide(-(below + 1 - offset - term.rest_high), term.stride));
    const std::int64_t high =
        std::min(term.high, floor_divide(above - 1 - offset - term.rest_low, term.stride));
    for (std::int64_t i = low; i <= high; ++i) {
      if (search(t + 1, offset + i * term.stride, below, above)) return true;
    }
    return false;
  }

  Term m_terms[2 * (max_batch_rank + 1)];
  int m_count = 0;
  int m_budget = 0;
};

/// The first byte of a non-empty operand, and one past its last.
inline std::pair<std::intptr_t, std::intptr_t> bytes_of(const Operand& a) {
  auto low = reinterpret_cast<std::intptr_t>(a.data);
  auto high = low + a.element_size;
  for (int d = 0; d < a.rank; ++d) {
    if (a.extent[d] == 1) continue;
    const std::int64_t reach = a.stride[d] * (a.extent[d] - 1) * a.element_size;
    (reach < 0 ? low : high) += reach;
  }
  return {low, high};
}

/// Whether elements of a and b share a byte. Exact, or yes if that cannot be decided cheaply.
[[gnu::noinline]] inline bool may_overlap(const Operand& a, const Operand& b) {
  if (a.data == nullptr || b.data == nullptr || a.empty() || b.empty()) return false;
  const auto [a_low, a_high] = bytes_of(a);
  const auto [b_low, b_high] = bytes_of(b);
  if (a_high <= b_low || b_high <= a_low) return false;
  if (a.rank != b.rank) return true;  // a workspace: all its bytes are used
  ReachableOffsets offsets;
  for (int d = 0; d < a.rank; ++d) {
    const std::int64_t a_stride = a.stride[d] * a.element_size;
    const std::int64_t b_stride = b.stride[d] * b.element_size;
    if (a_stride == b_stride) {
      offsets.add(a_stride, 1 - b.extent[d], a.extent[d] - 1);
    } else {
      if (a.extent[d] > 1) offsets.add(a_stride, 0, a.extent[d] - 1);
      if (b.extent[d] > 1) offsets.add(-b_stride, 0, b.extent[d] - 1);
    }
  }
  return offsets.reaches(
      reinterpret_cast<std::intptr_t>(a.data) - reinterpret_cast<std::intptr_t>(b.data),
      -a.element_size, b.element_size);
}

/// Whether two elements of a share a byte, or that cannot be ruled out cheaply.
[[gnu::noinline]] inline bool may_overlap_itself(const Operand& a) {
  if (a.data == nullptr || a.empty()) return false;
  ReachableOffsets offsets;
  for (int d = 0; d < a.rank; ++d) {
    if (a.extent[d] == 1) continue;
    if (a.stride[d] == 0) return true;
    offsets.add(a.stride[d] * a.element_size, 1 - a.extent[d], a.extent[d] - 1);
  }
  return offsets.meets_itself(a.element_size);
}

/// Whether each element of a is that of b at the same index, shifted by `shift` along the axis.
inline bool coincide(const Operand& a, const Operand& b, int axis, std::int64_t shift) {
  if (a.type == nullptr || a.type != b.type || a.rank != b.rank) return false;
  if (shift != 0 && a.data != b.data + shift * b.stride[axis] * b.element_size) return false;
  if (shift == 0 && a.data != b.data) return false;
  for (int d = 0; d < a.rank; ++d) {
    if (a.extent[d] > 1 && a.stride[d] != b.stride[d]) return false;
  }
  return true;
}

/// Refuses Views that have elements but a null pointer.
[[gnu::noinline]] inline void check_memory(Function function, std::span<const Operand> operands) {
  for (const Operand& operand : operands) {
    if (operand.type != nullptr && operand.data == nullptr && !operand.empty()) {
      refuse(function, {operand, " has elements, but its data is null."});
    }
  }
}

/// Refuses operands that share memory, unless an output coincides exactly with an input, or with
/// n+1 elements, its first or last n along the axis do.
[[gnu::noinline]] inline void check_overlaps(Function function, std::span<const Operand> operands,
                                             int axis, bool has_extra) {
  const auto refuse_pair = [&](const Operand& a, const Operand& b) {
    refuse(function, {a, " and ", b, " overlap in memory without being the same elements."});
  };
  // Whether all inputs coincide with the front or with the back of an output of n+1 elements.
  bool at_front = true;
  bool at_back = true;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Operand& a = operands[i];
    const bool written = is_written(a.role);
    if (written && may_overlap_itself(a)) {
      refuse(function, {"two elements of ", a, " share memory."});
    }
    if (!written && a.role != Role::workspace) continue;
    for (std::size_t j = 0; j < operands.size(); ++j) {
      const Operand& b = operands[j];
      const bool b_written = is_written(b.role) || b.role == Role::workspace;
      if (i == j || (b_written && j > i) || !may_overlap(a, b)) continue;
      const bool is_input = b.role == Role::input || b.role == Role::mask;
      if (a.role == Role::output && is_input) {
        const bool front = coincide(b, a, axis, 0);
        const bool back = has_extra && coincide(b, a, axis, 1);
        at_front = at_front && front;
        at_back = at_back && back;
        if (at_front || at_back) continue;
      } else if (a.role == Role::totals && b.role == Role::start && coincide(b, a, axis, 0)) {
        continue;
      }
      refuse_pair(a, b);
    }
  }
}

/// The way to store n+1 values in which each result replaces the element it has just consumed,
/// after check_overlaps(). If the input is the back of the output in scan order, these are the
/// inclusive results, otherwise the exclusive ones.
[[gnu::noinline]] inline Extra extra_of(std::span<const Operand> operands, const Operand& output,
                                        int axis, Direction direction) {
  const std::int64_t back = direction == Direction::forward ? 1 : 0;
  for (const Operand& input : operands) {
    const bool is_read = input.role == Role::input || input.role == Role::mask;
    if (is_read && coincide(input, output, axis, back)) return Extra::first;
  }
  return Extra::last;
}

/// The operand whose strides determine the order of dimensions: the output, or the input if only
/// the output is a function.
inline const Operand& fastest_operand(const Operand& input, const Operand& output) {
  return output.type == nullptr && input.type != nullptr ? input : output;
}

/// Gives a function's operand the strides that Computed::line() expects: dense, without the axis.
[[gnu::noinline]] inline void address_computed(Operand& operand, int axis) {
  std::int64_t stride = 1;
  for (int d = operand.rank - 1; d >= 0; --d) {
    operand.stride[d] = d == axis ? 0 : stride;
    if (d != axis) stride *= operand.extent[d];
  }
}

/// The number of lines of an input.
inline std::int64_t count_lines(const Operand& input, int axis) {
  std::int64_t count = 1;
  for (int d = 0; d < input.rank; ++d) {
    if (d == axis) continue;
    if (input.extent[d] == 0) return 0;
    // Lines without elements may be more than an integer holds; none of them is visited.
    if (input.extent[axis] > 0 || count < INT64_MAX / input.extent[d]) count *= input.extent[d];
  }
  return count;
}

/// Computes the batch of lines and the strides of each operand in it: dimensions of extent 1 are
/// dropped, the others are ordered by the strides of `fastest`, and neighbouring dimensions that
/// every operand can merge are merged. A backward scan becomes a negative stride.
[[gnu::noinline]] inline Batch reduce(std::span<Operand> operands, const Operand& fastest, int axis,
                                      Direction direction) {
  const Operand& input = operands.front();
  int dimensions[max_batch_rank];
  int count = 0;
  Batch batch{count_lines(input, axis), 0, {}};
  for (int d = 0; d < input.rank; ++d) {
    if (d != axis && input.extent[d] != 1) dimensions[count++] = d;
  }
  sort_few(dimensions, count,
           [&](int a, int b) { return std::abs(fastest.stride[a]) > std::abs(fastest.stride[b]); });

  for (Operand& operand : operands) {
    const bool moves = operand.extent[axis] > 1;
    const std::int64_t stride = moves ? operand.stride[axis] : 0;
    const bool backward = direction == Direction::backward;
    operand.first = backward && moves ? (operand.extent[axis] - 1) * stride : 0;
    operand.strides = {backward ? -stride : stride, {}};
  }
  for (int i = 0; i < count; ++i) {
    const int d = dimensions[i];
    const std::int64_t extent = input.extent[d];
    const auto continues = [&](const Operand& operand) {
      return operand.strides.batch[batch.rank - 1] == operand.stride[d] * extent;
    };
    if (batch.rank > 0 && std::all_of(operands.begin(), operands.end(), continues)) {
      batch.extent[batch.rank - 1] *= extent;
      for (Operand& operand : operands) operand.strides.batch[batch.rank - 1] = operand.stride[d];
    } else {
      for (Operand& operand : operands) operand.strides.batch[batch.rank] = operand.stride[d];
      batch.extent[batch.rank++] = extent;
    }
  }
  return batch;
}

}  // namespace KokkosScan::impl
