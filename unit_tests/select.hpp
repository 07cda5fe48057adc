// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Suite `select`: kept elements, their positions and their number, compared with std::copy_if.

#include <gtest/gtest.h>

#include <KokkosScan/select.hpp>
#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "support/array.hpp"
#include "support/values.hpp"

namespace test::selection {

namespace ks = KokkosScan;

/// The memory layout of an array.
enum class Layout { rows, columns, strided, shifted };
inline Layout const layouts[] = {Layout::rows, Layout::columns, Layout::strided, Layout::shifted};

inline Shape shape_of(Layout layout, std::int64_t lines, std::int64_t n, Random& random) {
  if (layout == Layout::columns) return left({lines, n});
  if (layout == Layout::strided) return strided({lines, n}, random);
  Shape shape = right({lines, n});
  if (layout == Layout::shifted) shape.stride[0] += 1;  // misaligns all quads of the second row
  return shape;
}

/// Which elements are kept.
enum class Kept { none, all, half, few, runs };
inline Kept const all_kept[] = {Kept::none, Kept::all, Kept::half, Kept::few, Kept::runs};

inline bool draw(Kept kept, std::int64_t k, Random& random) {
  switch (kept) {
    case Kept::none:
      return false;
    case Kept::all:
      return true;
    case Kept::half:
      return random.unit() < 0.5;
    case Kept::few:
      return random.unit() < 0.01;
    default:
      return k / 37 % 2 == 0;
  }
}

/// A random value whose lowest bit says whether it is kept.
template <class T>
T marked(bool kept, Random& random) {
  T value;
  auto* const bytes = reinterpret_cast<unsigned char*>(&value);
  for (std::size_t b = 0; b < sizeof(T); ++b) {
    bytes[b] = static_cast<unsigned char>(random.below(256));
  }
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0xFE) | (kept ? 1 : 0));
  return value;
}
template <class T>
struct IsMarked {
  KOKKOS_FUNCTION bool operator()(T const& value) const {
    return (reinterpret_cast<unsigned char const*>(&value)[0] & 1) != 0;
  }
};

/// Selects from an array and compares the whole output, including what follows the last result.
///
/// \param by_mask whether a mask decides, independently of the values
template <class T, class Backend>
void check(Backend const& backend, std::int64_t lines, std::int64_t n, Layout layout, Kept kept,
           bool by_mask) {
  Random random(static_cast<std::uint64_t>(n * 131 + lines * 7 + static_cast<int>(kept)));
  Array<T> const in(shape_of(layout, lines, n, random));
  Array<T> const out(shape_of(layout == Layout::rows ? Layout::shifted : layout, lines, n, random));
  Array<bool> const mask(shape_of(layout, lines, n, random));
  Array<std::int64_t> const counts(strided({lines}, random));
  for_each_index(in.shape(), [&](Index const& index) {
    bool const keeps = draw(kept, index[1], random);
    in.set(index, marked<T>(by_mask ? random.unit() < 0.5 : keeps, random));
    mask.set(index, keeps);
  });
  in.upload();
  out.upload();
  mask.upload();
  counts.upload();
  Exec const exec;
  auto const run = [&](auto const& keep) {
    ks::impl::select(exec, const_view<2>(in), keep, view<2>(out), view<1>(counts), ks::None{},
                     backend);
  };
  by_mask ? run(const_view<2>(mask)) : run(IsMarked<T>{});
  exec.fence();
  out.download();
  counts.download();
  std::string const what = std::to_string(lines) + " lines of " + std::to_string(n) + ", layout " +
                           std::to_string(static_cast<int>(layout)) + ", kept " +
                           std::to_string(static_cast<int>(kept)) + (by_mask ? ", by mask" : "");
  auto const same = [](T const& a, T const& b) { return std::memcmp(&a, &b, sizeof(T)) == 0; };
  for (std::int64_t line = 0; line < lines; ++line) {
    std::int64_t count = 0;
    for (std::int64_t k = 0; k < n; ++k) {
      T const value = in.before({line, k});
      if (!(by_mask ? mask.before({line, k}) : IsMarked<T>{}(value))) continue;
      ASSERT_TRUE(same(out.after({line, count}), value)) << what << ": " << line << ", " << count;
      ++count;
    }
    ASSERT_EQ(counts.after({line}), count) << what << ": line " << line;
    for (std::int64_t k = count; k < n; ++k) {
      ASSERT_TRUE(same(out.after({line, k}), out.before({line, k})))
          << what << ": behind the last of line " << line << ", " << k;
    }
  }
}

/// Shapes around the boundaries of words, quads, tiles and parts, each with some layouts and some
/// patterns of kept elements.
template <class T, class Backend>
void check_all(Backend const& backend, std::vector<std::int64_t> const& lengths,
               std::vector<std::int64_t> const& numbers_of_lines) {
  int turn = 0;
  for (std::int64_t const n : lengths) {
    for (std::int64_t const lines : numbers_of_lines) {
      for (int i = 0; i < 3; ++i, ++turn) {
        check<T>(backend, lines, n, layouts[turn % 4], all_kept[turn % 5], turn % 3 == 0);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

}  // namespace test::selection
