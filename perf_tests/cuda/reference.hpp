// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A plain scan in a wide type as reference for every output, and its data. Threads fold segments
/// of lines, one thread per line scans the segment totals, and threads replay the segments.

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "problem.hpp"

namespace perf {

/// Maps t -> slope * t + offset; the first is applied first.
struct Map {
  float slope, offset;
};
struct WideMap {
  double slope, offset;
};
struct Compose {
  KOKKOS_FUNCTION Map operator()(const Map& f, const Map& g) const {
    return {g.slope * f.slope, g.slope * f.offset + g.offset};
  }
  KOKKOS_FUNCTION static Map identity() { return {1, 0}; }
};

/// The finaliser of splitmix64.
KOKKOS_INLINE_FUNCTION std::uint64_t scramble(std::uint64_t i) {
  std::uint64_t z = (i + 1) * 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

template <class T>
inline constexpr bool is_half = sizeof(T) == 2 && !std::is_integral_v<T>;

/// Symmetric around 0: sums of 2^30 stay below 2^24, and a half's below its largest value.
template <class T>
KOKKOS_INLINE_FUNCTION float small_integer(std::uint64_t bits) {
  const std::uint64_t mask = is_half<T> ? 3 : 127;
  return static_cast<float>(bits & mask) - static_cast<float>(bits >> 8 & mask);
}

/// In [0, 1).
KOKKOS_INLINE_FUNCTION float uniform(std::uint64_t bits) {
  return static_cast<float>(bits >> 40) * 0x1p-24f;
}

/// Sums in Wide; the accumulator's error is a few times 2^-UnitBits of the summed magnitudes.
template <class Wide_, int UnitBits>
struct Sums {
  using Wide = Wide_;
  KOKKOS_FUNCTION static Wide identity() { return Wide(0); }
  KOKKOS_FUNCTION static Wide combine(const Wide& a, const Wide& b) { return a + b; }
  template <class T>
  KOKKOS_FUNCTION static T exact(std::uint64_t bits) {
    if constexpr (std::is_same_v<T, Kokkos::complex<double>>) {
      return T(small_integer<T>(bits), small_integer<T>(bits >> 20));
    } else {
      return static_cast<T>(small_integer<T>(bits));
    }
  }
  template <class T>
  KOKKOS_FUNCTION static T natural(std::uint64_t bits) {
    if constexpr (std::is_same_v<T, Kokkos::complex<double>>) {
      return T(uniform(bits), uniform(bits << 24));
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(bits >> 8);
    } else {
      // Values of one sign would soon overflow half.
      return static_cast<T>(uniform(bits) - (is_half<T> ? 0.5f : 0.0f));
    }
  }
  KOKKOS_FUNCTION static double tolerance(std::int64_t k, double) {
    return 8.0 / static_cast<double>(std::uint64_t{1} << UnitBits) * static_cast<double>(k + 1);
  }
};

struct Products {
  using Wide = double;
  KOKKOS_FUNCTION static Wide identity() { return 1; }
  KOKKOS_FUNCTION static Wide combine(Wide a, Wide b) { return a * b; }
  template <class T>
  KOKKOS_FUNCTION static T exact(std::uint64_t bits) {
    return (bits & 1) != 0 ? T(1) : T(-1);
  }
  /// Near 1, so that products of long lines neither vanish nor overflow.
  template <class T>
  KOKKOS_FUNCTION static T natural(std::uint64_t bits) {
    return 1 + (uniform(bits) - 0.5f) * 0x1p-9f;
  }
  KOKKOS_FUNCTION static double tolerance(std::int64_t k, double value) {
    return (8 + static_cast<double>(k)) * 0x1p-24 * value;
  }
};

struct Minima {
  using Wide = double;
  KOKKOS_FUNCTION static Wide identity() { return 2; }
  KOKKOS_FUNCTION static Wide combine(Wide a, Wide b) { return b < a ? b : a; }
  template <class T>
  KOKKOS_FUNCTION static T exact(std::uint64_t bits) {
    return uniform(bits);
  }
  template <class T>
  KOKKOS_FUNCTION static T natural(std::uint64_t bits) {
    return uniform(bits);
  }
  KOKKOS_FUNCTION static double tolerance(std::int64_t, double) { return 0; }
};
struct Maxima : Minima {
  KOKKOS_FUNCTION static Wide identity() { return -1; }
  KOKKOS_FUNCTION static Wide combine(Wide a, Wide b) { return a < b ? b : a; }
};

struct Compositions {
  using Wide = WideMap;
  KOKKOS_FUNCTION static Wide identity() { return {1, 0}; }
  KOKKOS_FUNCTION static Wide combine(const Wide& f, const Wide& g) {
    return {g.slope * f.slope, g.slope * f.offset + g.offset};
  }
  template <class T>
  KOKKOS_FUNCTION static T exact(std::uint64_t bits) {
    return {(bits >> 40 & 1) != 0 ? 1.0f : -1.0f, small_integer<float>(bits)};
  }
  template <class T>
  KOKKOS_FUNCTION static T natural(std::uint64_t bits) {
    return {1 - uniform(bits) * 0x1p-12f, uniform(bits << 24)};
  }
  KOKKOS_FUNCTION static double tolerance(std::int64_t, double value) { return 1e-4 * (1 + value); }
};

// ---- Comparing ----------------------------------------------------------------------------------

template <class Wide, class T>
KOKKOS_INLINE_FUNCTION Wide widen(const T& value) {
  if constexpr (std::is_same_v<Wide, WideMap>) {
    return {value.slope, value.offset};
  } else if constexpr (is_half<T>) {
    return static_cast<float>(value);
  } else {
    return static_cast<Wide>(value);
  }
}

/// The spacing of the values of a type that results are rounded to.
template <class T>
KOKKOS_INLINE_FUNCTION double spacing() {
  if constexpr (is_half<T>) return 0x1p-7;  // a bfloat16's
  return std::is_same_v<T, float> ? 0x1p-23 : 0x1p-50;
}

template <class Reference, class T>
KOKKOS_INLINE_FUNCTION bool differs(double result, double expected, std::int64_t k, Data data) {
  if (data == Data::exact) {
    if constexpr (is_half<T>) {
      return result != widen<double>(static_cast<T>(static_cast<float>(expected)));
    } else {
      return result != static_cast<double>(static_cast<T>(expected));
    }
  }
  const double value = Kokkos::abs(expected);
  // Negated so that NaN fails.
  return !(Kokkos::abs(result - expected) <= Reference::tolerance(k, value) + spacing<T>() * value);
}

template <class Reference, class T, class Wide>
KOKKOS_INLINE_FUNCTION bool is_wrong(const T& result, const Wide& expected, std::int64_t k,
                                     Data data) {
  if constexpr (std::is_same_v<Wide, std::uint64_t>) {
    return result != static_cast<T>(expected);
  } else if constexpr (std::is_same_v<Wide, WideMap>) {
    return differs<Reference, float>(result.slope, expected.slope, k, data) ||
           differs<Reference, float>(result.offset, expected.offset, k, data);
  } else if constexpr (std::is_same_v<Wide, double>) {
    return differs<Reference, T>(widen<double>(result), expected, k, data);
  } else {
    return differs<Reference, double>(result.real(), expected.real(), k, data) ||
           differs<Reference, double>(result.imag(), expected.imag(), k, data);
  }
}

// ---- The reference ------------------------------------------------------------------------------

/// Masks exclude elements; factors multiply them, and such scans start from a boundary value.
enum class Second { none, mask, factor };
constexpr int boundary = 3;

template <class In, class Out, class Reference_, Second second>
struct Checked {
  using Reference = Reference_;
  using Wide = typename Reference::Wide;
  using SecondValue = std::conditional_t<second == Second::mask, bool, In>;

  /// The length of a segment; for long lines, about the number of segments.
  static std::int64_t segment_length(const Problem& p) {
    return std::max<std::int64_t>(2048, std::llround(std::sqrt(static_cast<double>(p.n))));
  }
  static std::int64_t segments(const Problem& p) {
    return (p.n + segment_length(p) - 1) / segment_length(p);
  }

  struct Lines {
    Problem p;
    std::int64_t length, count;
    const In* in;
    const SecondValue* factors;
    Wide* totals;

    KOKKOS_FUNCTION std::int64_t line_start(std::int64_t line, const Strides& strides) const {
      return line / p.inner * strides[0] + line % p.inner * strides[2];
    }
    /// Neighbouring threads read neighbouring elements if lines are neighbours in memory.
    KOKKOS_FUNCTION std::int64_t line_of(std::int64_t i) const {
      return p.inner > 1 ? i % p.lines() : i / count;
    }
    KOKKOS_FUNCTION std::int64_t segment_of(std::int64_t i) const {
      return p.inner > 1 ? i / p.lines() : i % count;
    }
    /// Element k in scan order of the line that begins at `start`.
    KOKKOS_FUNCTION Wide element(std::int64_t start, std::int64_t k) const {
      const std::int64_t at =
          start + (p.direction == Direction::backward ? p.n - 1 - k : k) * p.in[1];
      const Wide value = widen<Wide>(in[at]);
      if constexpr (second == Second::mask) {
        return factors[at] ? value : Reference::identity();
      } else if constexpr (second == Second::factor) {
        return value * widen<Wide>(factors[at]);
      } else {
        return value;
      }
    }
    KOKKOS_FUNCTION std::int64_t end(std::int64_t segment) const {
      return (segment + 1) * length < p.n ? (segment + 1) * length : p.n;
    }
  };

  struct Fold : Lines {
    KOKKOS_FUNCTION void operator()(std::int64_t i) const {
      const std::int64_t line = this->line_of(i), segment = this->segment_of(i);
      const std::int64_t start = this->line_start(line, this->p.in);
      Wide total = Reference::identity();
      for (std::int64_t k = segment * this->length; k < this->end(segment); ++k) {
        total = Reference::combine(total, this->element(start, k));
      }
      this->totals[line * this->count + segment] = total;
    }
  };

  /// Replaces totals by prefixes.
  struct Prefixes : Lines {
    KOKKOS_FUNCTION void operator()(std::int64_t line) const {
      Wide prefix = Reference::identity();
      for (std::int64_t segment = 0; segment < this->count; ++segment) {
        const Wide total = this->totals[line * this->count + segment];
        this->totals[line * this->count + segment] = prefix;
        prefix = Reference::combine(prefix, total);
      }
    }
  };

  struct Compare : Lines {
    const Out* out;
    Data data;

    KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& wrong) const {
      const Problem& p = this->p;
      const std::int64_t line = this->line_of(i), segment = this->segment_of(i);
      const std::int64_t start = this->line_start(line, p.in);
      const std::int64_t out_start = this->line_start(line, p.out);
      Wide prefix = Reference::identity();
      if constexpr (second == Second::factor) prefix = Wide(boundary);
      if (this->count > 1) {
        prefix = Reference::combine(prefix, this->totals[line * this->count + segment]);
      }
      const auto compare = [&](std::int64_t k) {
        const std::int64_t at = p.direction == Direction::backward ? p.outputs() - 1 - k : k;
        if (is_wrong<Reference>(out[out_start + at * p.out[1]], prefix, k, data)) ++wrong;
      };
      for (std::int64_t k = segment * this->length; k < this->end(segment); ++k) {
        if (p.form != Form::inclusive) compare(k);
        prefix = Reference::combine(prefix, this->element(start, k));
        if (p.form == Form::inclusive) compare(k);
      }
      if (p.form == Form::exclusive_with_total && segment == this->count - 1) compare(p.n);
    }
  };

  static std::int64_t wrong(const Exec& exec, const Problem& p, const Memory& memory, Data data) {
    const Lines lines{p,
                      segment_length(p),
                      segments(p),
                      static_cast<const In*>(memory.in),
                      static_cast<const SecondValue*>(memory.second),
                      static_cast<Wide*>(memory.scratch)};
    const Range all(exec, 0, p.lines() * lines.count);
    if (lines.count > 1) {
      Kokkos::parallel_for("perf reference", all, Fold{lines});
      Kokkos::parallel_for("perf reference", Range(exec, 0, p.lines()), Prefixes{lines});
    }
    std::int64_t count = 0;
    Kokkos::parallel_reduce("perf reference", all,
                            Compare{lines, static_cast<const Out*>(memory.out), data}, count);
    return count;
  }

  struct Fill {
    In* in;
    SecondValue* factors;
    Data data;
    KOKKOS_FUNCTION void operator()(std::int64_t i) const {
      in[i] = value(scramble(static_cast<std::uint64_t>(i)));
      const std::uint64_t bits = scramble(static_cast<std::uint64_t>(i) ^ 0x5851F42D4C957F2DU);
      if constexpr (second == Second::mask) factors[i] = (bits & 3) != 0;
      if constexpr (second == Second::factor) factors[i] = value(bits);
    }
    KOKKOS_FUNCTION In value(std::uint64_t bits) const {
      return data == Data::exact ? Reference::template exact<In>(bits)
                                 : Reference::template natural<In>(bits);
    }
  };

  static void fill(const Exec& exec, const Memory& memory, std::int64_t elements, Data data) {
    Kokkos::parallel_for("perf fill", Range(exec, 0, elements),
                         Fill{static_cast<In*>(const_cast<void*>(memory.in)),
                              static_cast<SecondValue*>(const_cast<void*>(memory.second)), data});
  }
};

/// The largest Wide.
constexpr std::int64_t widest = 16;

/// The size in bytes of the scratch memory for `wrong`.
inline std::int64_t reference_bytes(const Problem& p) {
  using Any = Checked<float, float, Minima, Second::none>;
  return Any::segments(p) > 1 ? p.lines() * Any::segments(p) * widest : 0;
}

}  // namespace perf
