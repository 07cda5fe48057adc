// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Inputs of several parts, and lines of them: masked ones, of values and a mask, and zipped ones.
/// Some elements of each part are loaded, and then combined in a loop that compilers vectorise.

#include <KokkosScan/impl/host/instruction_sets.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace KokkosScan::impl::host {

/// The parts of an input, or of a line.
template <class A, class Values, class Mask>
List<const Values&, const Mask&> parts_of(const Selected<A, Values, Mask>& in) {
  return {in.values, {in.mask, {}}};
}
template <class A, class Values, class Mask>
List<const Values&, const Mask&> parts_of(const SelectedLine<A, Values, Mask>& line) {
  return {line.values, {line.mask, {}}};
}
template <class Function, class Parts>
const Parts& parts_of(const ZippedInput<Function, Parts>& in) {
  return in.parts;
}
template <class Function, class Lines>
const Lines& parts_of(const ZippedLine<Function, Lines>& line) {
  return line.lines;
}
template <class In>
concept HasParts = requires(const In& in) {
  parts_of(in);
};
template <class In>
concept IsMasked = HasParts<In> && requires(const In& in) {
  in.mask;
};

/// Whether f(part) is true for some part. Calls f for all of them.
template <class F>
bool any_of(const List<>&, const F&) {
  return false;
}
template <class F, class First, class... Rest>
bool any_of(const List<First, Rest...>& parts, const F& f) {
  const bool of_first = f(parts.first);
  return any_of(parts.rest, f) || of_first;
}

/// The type of the elements of an input, or of a line.
template <class In>
auto element_of(const In& in) {
  if constexpr (requires { in.line(Coordinates{}); }) {
    return in.line(Coordinates{})(0);
  } else {
    return in(0);
  }
}
template <class In>
using element_t = decltype(element_of(std::declval<const In&>()));

/// The widest unsigned integer of which `bytes` bytes are a whole number.
template <std::size_t bytes>
using word_of_t = std::conditional_t<
    bytes % 8 == 0, std::uint64_t,
    std::conditional_t<bytes % 4 == 0, std::uint32_t,
                       std::conditional_t<bytes % 2 == 0, std::uint16_t, std::uint8_t>>>;

/// Blends values and `identity` by a mask, without branches, which random masks would mispredict.
template <class A>
void blend(const StoredBool* selected, const A* values, A identity, int count, A* x) {
  call_with(
      widest_registers(), [=](auto) __attribute__((always_inline)) {
        const StoredBool* const mask = selected;
        const A* const from = values;
        A* const to = x;
        const int n = count;
        static_assert(std::is_trivially_copyable_v<A>);
        using Bits = word_of_t<sizeof(A)>;
        constexpr int words = sizeof(A) / sizeof(Bits);
        Bits other[words], bits[words];
        __builtin_memcpy(other, &identity, sizeof other);
        for (int i = 0; i < n; ++i) {
          __builtin_memcpy(bits, from + i, sizeof bits);
          const Bits truth =
              static_cast<Bits>(Bits{0} - static_cast<Bits>(static_cast<bool>(mask[i])));
          KOKKOSSCAN_IMPL_UNROLL for (int w = 0; w < words; ++w) {
            bits[w] = static_cast<Bits>(other[w] ^ ((other[w] ^ bits[w]) & truth));
          }
          __builtin_memcpy(to + i, bits, sizeof bits);
        }
      });
}

/// x[i] = function(element i of each part).
template <int Most, class Load, class Function, class A, class... Loaded>
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
template <int Most, class Load, class Function, class A, class First, class... Rest,
          class... Loaded>
bool load_parts(const List<First, Rest...>& parts, const Load& load, const Function& function,
                int count, A* x, const Loaded*... loaded) {
  element_t<First> own[Most];
  const element_t<First>* const first = load(parts.first, own);
  return first != nullptr &&
         load_parts<Most>(parts.rest, load, function, count, x, loaded..., first);
}

/// Loads some elements of an input, or of a line, of several parts.
///
/// \param load load(part, to) loads elements of a part and returns their address, or null
/// \return whether all parts could be loaded
template <int Most, class Load, class In, class A>
bool load_parts(const In& in, const Load& load, int count, A* x) {
  if constexpr (IsMasked<In>) {
    StoredBool own[Most];
    const A* const values = load(in.values, x);
    const StoredBool* const mask = values == nullptr ? nullptr : load(in.mask, own);
    if (mask != nullptr) blend(mask, values, static_cast<A>(in.identity), count, x);
    return mask != nullptr;
  } else {
    return load_parts<Most>(parts_of(in), load, in.function, count, x);
  }
}

}  // namespace KokkosScan::impl::host
