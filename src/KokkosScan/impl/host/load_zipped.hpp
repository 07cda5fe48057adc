// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Loads zipped inputs: some elements of each part are loaded, then the function is applied.

#include <KokkosScan/impl/host/load.hpp>
#include <cstdint>

namespace KokkosScan::impl::host {

/// Loads some elements of each part of a zipped input, then applies the function.
///
/// \tparam Value Value<Part> is the type of a part's elements
/// \param  load  load(part, to) loads elements of a part and returns their address, or null
template <int Most, template <class> class Value, class Load, class Function, class A,
          class... Loaded>
bool load_parts(const List<>&, const Load&, const Function& function, int count, A* x,
                const Loaded*... loaded) {
  call_with(
      widest_registers(), [=](auto) __attribute__((always_inline)) {
        A* const to = x;
        const int n = count;
        for (int i = 0; i < n; ++i) to[i] = static_cast<A>(function(as_argument(loaded[i])...));
      });
  return true;
}
template <int Most, template <class> class Value, class Load, class Function, class A, class First,
          class... Rest, class... Loaded>
bool load_parts(const List<First, Rest...>& parts, const Load& load, const Function& function,
                int count, A* x, const Loaded*... loaded) {
  Value<First> own[Most];
  const Value<First>* const first = load(parts.first, own);
  return first != nullptr &&
         load_parts<Most, Value>(parts.rest, load, function, count, x, loaded..., first);
}
/// Calls f(part) for all parts.
template <class F>
bool for_each_part(const List<>&, const F&) {
  return false;
}
/// \return whether any call returned true
template <class F, class First, class... Rest>
bool for_each_part(const List<First, Rest...>& parts, const F& f) {
  const bool of_first = f(parts.first);
  return for_each_part(parts.rest, f) || of_first;
}

template <int Most, class A, class Function, class Lines>
void load_along(const ZippedLine<Function, Lines>& line, std::int64_t k, int count, A* x) {
  const auto load = [&]<class Part, class T>(const Part& part, T* to) -> const T* {
    if (const T* const stored = as_stored<T>(part, 1); stored != nullptr) return stored + k;
    load_along<Most>(part, k, count, to);
    return to;
  };
  load_parts<Most, value_of_line>(line.lines, load, line.function, count, x);
}
template <class Function, class Lines>
void add_ahead(const ZippedLine<Function, Lines>& line, std::int64_t k, Prefetches& ahead) {
  for_each_part(line.lines, [&](const auto& part) { return add_ahead(part, k, ahead), false; });
}
template <int Most, class A, class Function, class Parts>
void load_across(const ZippedInput<Function, Parts>& in, const Coordinates& c, std::int64_t k,
                 int count, A* x) {
  const auto load = [&]<class Part, class T>(const Part& part, T* to) -> const T* {
    if (const ArrayLine<const T> line = as_stored<T>(part, c); line.data != nullptr) {
      // Hardware prefetching does not follow, because rows are loaded a short piece at a time.
      prefetch(&line(k + 1), count);
      return &line(k);
    }
    load_across<Most>(part, c, k, count, to);
    return to;
  };
  load_parts<Most, value_of_input>(in.parts, load, in.function, count, x);
}
template <class Function, class Parts, class Value>
bool is_in_place(const ZippedInput<Function, Parts>& in, const Value* out) {
  return for_each_part(in.parts, [&](const auto& part) { return is_in_place(part, out); });
}
template <class Function, class Parts>
int direction_of_run(const ZippedInput<Function, Parts>& in) {
  return direction_of_run(in.parts.first);
}
template <int Most, class A, class Function, class Parts>
bool load_run(const ZippedInput<Function, Parts>& in, const Rectangle& r, A* x) {
  const int direction = direction_of_run(in);
  const auto load = [&]<class Part, class T>(const Part& part, T* to) -> const T* {
    if (direction_of_run(part) != direction) return nullptr;
    if (const T* const stored = as_stored_run<T>(part, r); stored != nullptr) return stored;
    return load_run<Most>(part, r, to) ? to : nullptr;
  };
  return load_parts<Most, value_of_input>(in.parts, load, in.function, r.size(), x);
}

}  // namespace KokkosScan::impl::host
