// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Calls the library and compares results with the oracle, element by element.

#include <gtest/gtest.h>

#include <KokkosScan/KokkosScan.hpp>

#include <optional>
#include <string>
#include <utility>

#include "array.hpp"
#include "oracle.hpp"

namespace test {

namespace ks = KokkosScan;

enum class Form {
  inclusive,
  exclusive,            ///< as many outputs as inputs
  exclusive_with_total  ///< one more output, the total
};
enum class Direction { forward, backward };

inline std::string to_text(Form form) {
  return form == Form::inclusive   ? "inclusive"
         : form == Form::exclusive ? "exclusive"
                                   : "exclusive n+1";
}
inline std::string to_text(Direction direction) {
  return direction == Direction::forward ? "forward" : "backward";
}

/// The lines and the direction of a scan.
struct Scan {
  Form form = Form::inclusive;
  int axis = 0;  // counted from the front
  Direction direction = Direction::forward;

  std::string text() const {
    return to_text(form) + " " + to_text(direction) + " along axis " + std::to_string(axis);
  }
};

/// ks::along(axis), with .backward() if the scan is backward.
inline auto lines_of(Scan const& scan) {
  auto lines = ks::along(scan.axis);
  return scan.direction == Direction::backward ? lines.backward() : lines;
}

/// Calls the library, then fences the instance.
template <class In, class Out, class Lines, class Op>
void call(Form form, Exec const& exec, In const& in, Out const& out, Lines const& lines, Op op) {
  if (form == Form::inclusive) {
    ks::inclusive_scan(exec, in, out, lines, op);
  } else {
    ks::exclusive_scan(exec, in, out, lines, op);
  }
  exec.fence();
}
template <class In, class Out, class Lines, class Op>
void call_inclusive(Exec const& exec, In const& in, Out const& out, Lines const& lines, Op op) {
  ks::inclusive_scan(exec, in, out, lines, op);
  exec.fence();
}
template <class In, class Out, class Lines, class Op>
void call_exclusive(Exec const& exec, In const& in, Out const& out, Lines const& lines, Op op) {
  ks::exclusive_scan(exec, in, out, lines, op);
  exec.fence();
}

/// Defaults of `expect_scan`: no mask, no start, no totals.
struct KeepAll {
  bool operator()(Index const&) const { return true; }
};
struct NoStart {
  template <class A>
  std::optional<A> get(Index const&) const {
    return std::nullopt;
  }
};
/// One start for every line.
template <class T>
struct StartValue {
  T value;
  template <class A>
  std::optional<A> get(Index const&) const {
    return static_cast<A>(value);
  }
};
/// A start for each line, from an array of the lines.
template <class T>
struct StartArray {
  Array<T> array;
  template <class A>
  std::optional<A> get(Index const& line) const {
    return static_cast<A>(array.before(line));
  }
};

/// Counts differences, and reports the first few of each call.
class Differences {
 public:
  explicit Differences(std::string what) : m_what(std::move(what)) {}
  Differences(Differences const&) = delete;
  Differences& operator=(Differences const&) = delete;
  ~Differences() {
    if (m_count > 0) ADD_FAILURE() << m_what << ": " << m_count << " differences:" << m_text;
  }
  void add(std::string const& where, Index const& index, int rank, std::string const& expected,
           std::string const& actual) {
    if (++m_count > 3) return;
    m_text += "\n  " + where + "(";
    for (int r = 0; r < rank; ++r) m_text += (r == 0 ? "" : ", ") + std::to_string(index[r]);
    m_text += ") is " + actual + ", expected " + expected;
  }

 private:
  std::string m_what;
  std::string m_text;
  std::int64_t m_count = 0;
};

/// Compares `out`, and `totals` if there are any, with the oracle.
/// \param extents  of the input
/// \param value    value(index) is the input's element before the call
/// \param keep     keep(index) says whether the mask keeps the element
/// \param start    start.get<A>(line index) is the starting value of the line, if any
template <class Op, class Out, class Value, class Keep = KeepAll, class Start = NoStart>
void expect_scan(std::string const& what, Scan const& scan, Shape const& extents,
                 Array<Out> const& out, Value const& value, Keep const& keep = {},
                 Start const& start = {}, Array<Out> const* totals = nullptr) {
  using A = oracle::accumulator_of<Op, Out>;
  using Ref = oracle::Reference<Op, A>;
  using State = typename Ref::State;

  std::int64_t const n = extents.extent[scan.axis];
  bool const backward = scan.direction == Direction::backward;
  bool const inclusive = scan.form == Form::inclusive;
  std::int64_t const outputs = scan.form == Form::exclusive_with_total ? n + 1 : n;
  Differences differences(what + ": " + scan.text() + ", input " + extents.text() + ", output " +
                          out.shape().text());

  for_each_index(extents.without(scan.axis), [&](Index const& line) {
    Index index{};
    for (int r = 0, l = 0; r < extents.rank; ++r) {
      if (r != scan.axis) index[r] = line[l++];
    }
    auto const input_index = [&](std::int64_t k) {
      index[scan.axis] = backward ? n - 1 - k : k;
      return index;
    };
    std::optional<State> first;
    if (auto const s = start.template get<A>(line)) first.emplace(Ref::state(*s));

    oracle::walk_line<Ref>(
        n, [&](std::int64_t k) { return static_cast<A>(value(input_index(k))); },
        [&](std::int64_t k) { return keep(input_index(k)); }, first,
        [&](std::int64_t k, std::optional<State> const& prefix) {
          if (totals != nullptr && k == n && prefix.has_value()) {
            Out const actual = totals->after(line);
            if (!Ref::matches(*prefix, actual)) {
              differences.add("total", line, extents.rank - 1, Ref::print(*prefix),
                              oracle::to_text(actual));
            }
          }
          std::int64_t const j = inclusive ? k - 1 : k;  // the output in scan order
          if (j < 0 || j >= outputs) return;
          index[scan.axis] = backward ? outputs - 1 - j : j;
          Out const actual = out.after(index);
          if (!prefix.has_value()) {
            differences.add("out", index, extents.rank, "nothing",
                            "the test asks for the identity");
          } else if (!Ref::matches(*prefix, actual)) {
            differences.add("out", index, extents.rank, Ref::print(*prefix),
                            oracle::to_text(actual));
          }
        });
  });
}

/// The input's values as an argument of `expect_scan`.
template <class T>
struct ValuesOf {
  Array<T> array;
  T operator()(Index const& index) const { return array.before(index); }
};
template <class T>
ValuesOf(Array<T>) -> ValuesOf<T>;

}  // namespace test
