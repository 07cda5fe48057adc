// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Suite `select`: kept elements, their positions and their number, compared with std::copy_if.
// cccl #1782: tiles that were stored in place before another block had read them.

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

// ---- Several arrays at once ---------------------------------------------------------------------

struct OwnColumn {
  KOKKOS_FUNCTION int operator()(std::int64_t, std::int64_t k) const { return static_cast<int>(k); }
};
/// Keeps what has an odd second element.
struct IsOddSecond {
  KOKKOS_FUNCTION bool operator()(float, std::int16_t b, double, int) const { return b % 2 != 0; }
};
/// How long the rows of the outputs are: as the input's, as the longest result, half of that, or
/// empty.
enum class Room { all, exact, half, none };

/// Selects from three arrays and their indices at once, into others or into themselves.
template <class Order, class Backend>
void check_zipped(Backend const& backend, std::int64_t lines, std::int64_t n, Kept kept,
                  bool by_mask, Room room, bool in_place) {
  auto const rows = static_cast<std::size_t>(lines), columns = static_cast<std::size_t>(n);
  Kokkos::View<float**, Order, Device> const a("a", rows, columns);
  Kokkos::View<std::int16_t**, Order, Device> const b("b", rows, columns);
  Kokkos::View<double**, Order, Device> const c("c", rows, columns);
  Kokkos::View<bool**, Order, Device> const mask("mask", rows, columns);
  auto const a_host = Kokkos::create_mirror(a);
  auto const b_host = Kokkos::create_mirror(b);
  auto const c_host = Kokkos::create_mirror(c);
  auto const mask_host = Kokkos::create_mirror(mask);
  Random random(static_cast<std::uint64_t>(n * 17 + lines));
  std::vector<std::vector<std::int64_t>> expected(rows);
  std::size_t longest = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t k = 0; k < columns; ++k) {
      bool const keeps = draw(kept, static_cast<std::int64_t>(k), random);
      a_host(i, k) = static_cast<float>(random.unit());
      b_host(i, k) =
          static_cast<std::int16_t>(2 * random.below(1000) + (keeps && !by_mask ? 1 : 0));
      c_host(i, k) = random.unit();
      mask_host(i, k) = keeps;
      if (keeps) expected[i].push_back(static_cast<std::int64_t>(k));
    }
    longest = std::max(longest, expected[i].size());
  }
  Kokkos::deep_copy(a, a_host);
  Kokkos::deep_copy(b, b_host);
  Kokkos::deep_copy(c, c_host);
  Kokkos::deep_copy(mask, mask_host);
  std::size_t const width = room == Room::all     ? columns
                            : room == Room::exact ? longest
                            : room == Room::half  ? longest / 2
                                                  : 0;
  auto const front = [&](auto const& view) {
    return Kokkos::subview(view, Kokkos::ALL, std::make_pair(std::size_t(0), width));
  };
  Kokkos::View<float**, Order, Device> const a_else("a else", rows, in_place ? 0 : width);
  Kokkos::View<std::int16_t**, Order, Device> const b_else("b else", rows, in_place ? 0 : width);
  Kokkos::View<double**, Order, Device> const c_else("c else", rows, in_place ? 0 : width);
  Kokkos::View<std::int64_t**, Order, Device> const places("places", rows, width);
  Kokkos::View<int*, Device> const counts("counts", rows);
  Kokkos::deep_copy(places, -1);
  auto const in = ks::zip(a, b, c, ks::elementwise({lines, n}, OwnColumn{}));
  auto const run = [&](auto const& a_out, auto const& b_out, auto const& c_out) {
    auto const out = ks::zip(a_out, b_out, c_out, places);
    if (by_mask) {
      ks::impl::select(Exec(), in, mask, out, counts, ks::None{}, backend);
    } else {
      ks::impl::select(Exec(), in, IsOddSecond{}, out, counts, ks::None{}, backend);
    }
    Exec().fence();
    std::string const what = std::to_string(lines) + " lines of " + std::to_string(n) + ", room " +
                             std::to_string(width) + (by_mask ? ", by mask" : "") +
                             (in_place ? ", in place" : "");
    auto const on_host = [](auto const& view) {
      auto const copy =
          Kokkos::View<typename std::decay_t<decltype(view)>::non_const_data_type,
                       Kokkos::LayoutRight, Device>("copy", view.extent(0), view.extent(1));
      Kokkos::deep_copy(copy, view);
      return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, copy);
    };
    auto const a_after = on_host(a_out);
    auto const b_after = on_host(b_out);
    auto const c_after = on_host(c_out);
    auto const places_after = on_host(places);
    auto const counts_after = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, counts);
    auto const a_whole = on_host(a);
    for (std::size_t i = 0; i < rows; ++i) {
      // Behind the last kept element, and behind the room.
      for (std::size_t k = std::min(in_place ? expected[i].size() : 0, width); k < columns; ++k) {
        ASSERT_EQ(a_whole(i, k), a_host(i, k)) << what << ": " << i << ", " << k;
      }
      ASSERT_EQ(counts_after(i), static_cast<int>(expected[i].size())) << what;
      for (std::size_t j = 0; j < width; ++j) {
        if (j >= expected[i].size()) {
          ASSERT_EQ(places_after(i, j), -1) << what;
          continue;
        }
        auto const k = static_cast<std::size_t>(expected[i][j]);
        ASSERT_EQ(places_after(i, j), expected[i][j]) << what << ": " << i << ", " << j;
        ASSERT_EQ(a_after(i, j), a_host(i, k)) << what << ": " << i << ", " << j;
        ASSERT_EQ(b_after(i, j), b_host(i, k)) << what << ": " << i << ", " << j;
        ASSERT_EQ(c_after(i, j), c_host(i, k)) << what << ": " << i << ", " << j;
      }
    }
  };
  if (in_place) {
    run(front(a), front(b), front(c));
  } else {
    run(a_else, b_else, c_else);
  }
}

template <class Backend>
void check_all_zipped(Backend const& backend, std::vector<std::int64_t> const& lengths,
                      bool works_in_place) {
  int turn = 0;
  for (std::int64_t const n : lengths) {
    for (std::int64_t const lines : {1, 3}) {
      for (auto const room : {Room::all, Room::exact, Room::half, Room::none}) {
        ++turn;
        check_zipped<Kokkos::LayoutRight>(backend, lines, n, all_kept[turn % 5], turn % 2 == 0,
                                          room, works_in_place && turn % 3 != 0);
        check_zipped<Kokkos::LayoutLeft>(backend, lines, n, all_kept[turn % 5], turn % 2 == 1, room,
                                         works_in_place && turn % 3 != 1);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

}  // namespace test::selection
