// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Blends of registers by masks.

#include <KokkosScan/impl/host/move.hpp>
#include <KokkosScan/impl/host/registers.hpp>
#include <KokkosScan/impl/stored_bool.hpp>
#include <cstdint>
#include <type_traits>

namespace KokkosScan::impl::host {

/// The type of comparison results for values of type T: all bits of a lane are set, or none.
template <class T>
using truth_t = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

/// Duplicates each lane of the lower or upper half of each place, which converts the truths of a
/// type to those of a type that is twice as wide.
template <bool upper, int places>
[[gnu::always_inline]] inline Register<std::int16_t, places> widen(
    const Register<std::int8_t, places>& r) {
  constexpr int i = upper ? 8 : 0;
  return (native_t<std::int16_t, places>)
      shuffle<i, i, i + 1, i + 1, i + 2, i + 2, i + 3, i + 3, i + 4, i + 4, i + 5, i + 5, i + 6,
              i + 6, i + 7, i + 7>(r, r)
          .lanes;
}
template <bool upper, int places>
[[gnu::always_inline]] inline Register<std::int32_t, places> widen(
    const Register<std::int16_t, places>& r) {
  constexpr int i = upper ? 4 : 0;
  return (native_t<std::int32_t, places>)shuffle<i, i, i + 1, i + 1, i + 2, i + 2, i + 3, i + 3>(r,
                                                                                                 r)
      .lanes;
}
template <bool upper, int places>
[[gnu::always_inline]] inline Register<std::int64_t, places> widen(
    const Register<std::int32_t, places>& r) {
  constexpr int i = upper ? 2 : 0;
  return (native_t<std::int64_t, places>)shuffle<i, i, i + 1, i + 1>(r, r).lanes;
}

/// The truths of four packs: 16 neighbouring bools for each place, places being `distance` apart.
template <class T, int places>
struct Truths {
  Register<truth_t<T>, places> of_pack[4][Pack<T>::parts];

  [[gnu::always_inline]] explicit Truths(const StoredBool* selected, std::int64_t distance = 0) {
    Register<std::int8_t, places> bytes;
    KOKKOSSCAN_IMPL_UNROLL for (int place = 0; place < places; ++place) {
      __builtin_memcpy(reinterpret_cast<char*>(&bytes.lanes) + 16 * place,
                       selected + place * distance, 16);
    }
    bytes.lanes = bytes.lanes != 0;
    const auto low = widen<false>(bytes), high = widen<true>(bytes);
    const Register<std::int32_t, places> packs[] = {widen<false>(low), widen<true>(low),
                                                    widen<false>(high), widen<true>(high)};
    KOKKOSSCAN_IMPL_UNROLL for (int i = 0; i < 4; ++i) {
      if constexpr (sizeof(T) == 4) {
        of_pack[i][0] = packs[i];
      } else {
        of_pack[i][0] = widen<false>(packs[i]);
        of_pack[i][1] = widen<true>(packs[i]);
      }
    }
  }
};

#if defined(KOKKOSSCAN_IMPL_AVX2)
typedef std::int8_t eight_bytes __attribute__((vector_size(8)));
typedef std::int8_t four_bytes __attribute__((vector_size(4)));
#endif

/// The truths of one register, from `selected` for the first place and `of_second` for the second.
template <class T, int places>
[[gnu::always_inline]] inline Register<truth_t<T>, places> truths_of_lanes(
    const StoredBool* selected, [[maybe_unused]] const StoredBool* of_second) {
  using Word = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int16_t>;
  const auto word = [](const StoredBool* from) __attribute__((always_inline)) {
    Word bools;
    __builtin_memcpy(&bools, from, sizeof bools);
    return bools;
  };
  if constexpr (places == 1) {
    Register<std::int8_t> bytes;
    bytes.lanes = (native_t<std::int8_t>)native_t<std::int32_t>{word(selected), 0, 0, 0};
    bytes.lanes = bytes.lanes != 0;
    const auto truths = widen<false>(widen<false>(bytes));
    if constexpr (sizeof(T) == 4) {
      return truths;
    } else {
      return widen<false>(truths);
    }
  } else {
#if defined(KOKKOSSCAN_IMPL_AVX2)
    using Bytes = std::conditional_t<sizeof(T) == 4, eight_bytes, four_bytes>;
    Bytes bytes;
    if (of_second == selected + sizeof(Word)) {
      __builtin_memcpy(&bytes, selected, sizeof bytes);
    } else {
      typedef Word pair __attribute__((vector_size(2 * sizeof(Word))));
      bytes = (Bytes)pair{word(selected), word(of_second)};
    }
    return __builtin_convertvector(bytes != 0, native_t<truth_t<T>, 2>);
#endif
  }
}

/// Blends two registers: `values` where the truth is all bits, `other` where it is none.
template <class T, int places>
[[gnu::always_inline]] inline Register<T, places> blend(const Register<truth_t<T>, places>& truth,
                                                        const Register<T, places>& values,
                                                        const Register<T, places>& other) {
  if constexpr (places == 2) {
    return truth.lanes < 0 ? values.lanes : other.lanes;  // a single AVX instruction
  } else {
    using Bits = native_t<truth_t<T>, places>;
    return (native_t<T, places>)(((Bits)values.lanes & truth.lanes) |
                                 ((Bits)other.lanes & ~truth.lanes));
  }
}

}  // namespace KokkosScan::impl::host
