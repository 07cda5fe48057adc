// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Random scans and selections by the CUDA backend, without Kokkos, compared with a serial loop: on
// a GPU (fuzz.cu) and emulated (backends_cuda_fuzz.cpp). A case is determined by a seed and a
// number. All its arrays are in one block of memory. Afterwards every byte is compared: results,
// and memory that must not change between lines, around arrays, and in the input, mask and starting
// values.
//
// The backend (on a GPU, or emulated) must be included first.
//
// Kinds (types, operator, input, start) are cycled through. Random are: the number of lines, their
// length and batch dimensions; the order and directions of dimensions in memory, padding, and
// offsets from aligned addresses, for each array or common to all; direction, form, n+1 results,
// totals, totals that overwrite starting values, results in place; the density of masks; the size
// of the device.

#include <KokkosScan/affine.hpp>
#include <KokkosScan/impl/problem.hpp>
#include <KokkosScan/impl/select/selection.hpp>
#include <KokkosScan/operators.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace test {
namespace fuzz {

namespace ks = KokkosScan;
namespace impl = KokkosScan::impl;

/// Random numbers for a seed and the number of a case (SplitMix64).
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t number)
      : m_state(seed * 0x9E3779B97F4A7C15 + number * 0xD1B54A32D192ED03) {}
  std::uint64_t operator()() {
    m_state += 0x9E3779B97F4A7C15;
    std::uint64_t x = m_state;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
  }
  /// From `least` to `most`.
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return least +
           static_cast<std::int64_t>((*this)() % static_cast<std::uint64_t>(most - least + 1));
  }
  bool one_in(std::int64_t count) { return between(1, count) == 1; }
  /// From 0 to 1.
  double uniform() { return static_cast<double>((*this)() >> 11) * 0x1p-53; }
  /// Log-uniform from 1 to `most`.
  std::int64_t log_uniform(std::int64_t most) {
    auto const x =
        static_cast<std::int64_t>(std::exp(uniform() * std::log(static_cast<double>(most) + 1)));
    return std::clamp<std::int64_t>(x, 1, most);
  }

 private:
  std::uint64_t m_state;
};

/// A truth as it may lie in memory: as any byte but 0, or as 0.
inline impl::StoredBool truth(Random& random, bool value) {
  unsigned char const bytes[] = {1, 85, 255};
  impl::StoredBool stored(value);
  if (value) stored.byte = bytes[random.between(0, 2)];
  return stored;
}

// ---- What is combined -------------------------------------------------------------------------

/// Matrices {1 a c, 0 1 b, 0 0 1}: exact, and not commutative.
template <class T>
struct Heisenberg {
  T a, b, c;
};
template <class T>
struct MultiplyHeisenberg {
  KOKKOS_FUNCTION Heisenberg<T> operator()(Heisenberg<T> const& x, Heisenberg<T> const& y) const {
    return {static_cast<T>(x.a + y.a), static_cast<T>(x.b + y.b),
            static_cast<T>(x.c + x.a * y.b + y.c)};
  }
};
/// The same with an identity.
template <class T>
struct MultiplyHeisenbergFromOne : MultiplyHeisenberg<T> {
  static constexpr Heisenberg<T> identity() { return {0, 0, 0}; }
};
/// x -> scale * x + shift, composed from left to right.
struct Affine {
  std::uint64_t scale, shift;
};
struct Compose {
  KOKKOS_FUNCTION Affine operator()(Affine const& f, Affine const& g) const {
    return {f.scale * g.scale, f.shift * g.scale + g.shift};
  }
  static constexpr Affine identity() { return {1, 0}; }
};

/// Stores a result in an array. A second call for the same element stores another value; initially
/// all bits are set, which is no valid element.
template <class T>
struct Storing {
  T* data;
  std::int64_t strides[3];
  bool adds;

  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t j, std::int64_t k,
                                  T const& value) const {
    T& at = data[i * strides[0] + j * strides[1] + k * strides[2]];
    at = adds ? add(at, value) : value;
  }

 private:
  template <class U>
  KOKKOS_FUNCTION static U add(U const& before, U const& value) {
    return before + value + U(1);
  }
  template <class U>
  KOKKOS_FUNCTION static ks::Indexed<U, U> add(ks::Indexed<U, U> const& before,
                                               ks::Indexed<U, U> const& value) {
    return {add(before.value, value.value), add(before.index, value.index)};
  }
};

/// The stored type of a projected output: narrower than the accumulator.
struct Project {
  KOKKOS_FUNCTION std::uint32_t operator()(std::uint64_t value) const {
    return static_cast<std::uint32_t>(value >> 7 ^ value * 3);
  }
};

/// Computes an element from its indices.
template <class T>
struct Formula {
  std::uint32_t seed;

  KOKKOS_FUNCTION T operator()(std::int64_t i, std::int64_t j, std::int64_t k) const {
    std::uint32_t const x =
        seed + static_cast<std::uint32_t>(i * 7919 + j * 104729 + k * 1299709) * 2654435761u;
    return static_cast<T>(static_cast<std::int32_t>(x >> 20) - 2048);
  }
};

/// Neither associative nor commutative: only in-order scans have a unique result.
struct Hash12 {
  std::uint32_t a, b, c;
};
struct alignas(8) Hash8 {
  std::uint32_t a, b;
};
/// Of a size that divides no 16 bytes.
struct Hash3 {
  std::uint8_t a, b, c;
};
struct MixHashes {
  KOKKOS_FUNCTION Hash12 operator()(Hash12 const& x, Hash12 const& y) const {
    return {x.a * 31 + (y.a ^ 5), x.b * 7 + y.c, (x.c ^ y.b) + (x.a >> 3)};
  }
  KOKKOS_FUNCTION Hash8 operator()(Hash8 const& x, Hash8 const& y) const {
    return {x.a * 31 + (y.a ^ 5), (x.b ^ y.b) + (x.a >> 3)};
  }
  KOKKOS_FUNCTION Hash3 operator()(Hash3 const& x, Hash3 const& y) const {
    return {static_cast<std::uint8_t>(x.a * 31 + (y.a ^ 5)),
            static_cast<std::uint8_t>(x.b * 7 + y.c),
            static_cast<std::uint8_t>((x.c ^ y.b) + (x.a >> 3))};
  }
};
template <class T>
struct MixFromNothing : MixHashes {
  static constexpr T identity() { return {}; }
};

enum class Source {
  array,
  masked,
  computed,
  masked_computed,
  zipped,      ///< an array zipped with a computed input
  indexed,     ///< an array zipped with the indices along the axis
  maps,        ///< two arrays, and an array of one element a line
  masked_maps  ///< two arrays
};
enum class Start { common, of_each_line };
enum class Sink { array, function, projected };

/// An operator without InOrder.
template <class Op>
struct Unordered {
  using type = Op;
};
template <class Op>
struct Unordered<impl::InOrder<Op>> {
  using type = Op;
};

/// A kind of scan: one instantiation of the backend, two for masked sums of floats.
template <class A_, class Op_, class Element_, class Value_, Source source_, Start start_,
          Sink sink_ = Sink::array>
struct Kind {
  using A = A_;
  using Op = Op_;
  using Element = Element_;
  using Value = Value_;
  static constexpr Source source = source_;
  static constexpr Start start = start_;
  static constexpr Sink sink = sink_;
  static constexpr bool is_masked = source == Source::masked || source == Source::masked_computed ||
                                    source == Source::masked_maps;
  static constexpr bool is_computed =
      source == Source::computed || source == Source::masked_computed;
  static constexpr bool is_zipped = source == Source::zipped;
  static constexpr bool is_indexed = source == Source::indexed;
  static constexpr bool has_maps = source == Source::maps || source == Source::masked_maps;
  static constexpr bool is_called = sink == Sink::function;
  /// The element type of the results.
  using Result = std::conditional_t<sink == Sink::projected,
                                    impl::ProjectedValue<std::uint32_t, A, Project>, Value>;
  /// Whether a function has three indices.
  static constexpr bool has_formula = is_computed || is_zipped || is_indexed || is_called;
  /// The operator itself.
  using Combines = typename Unordered<Op>::type;
  static constexpr bool is_in_order = impl::is_in_order<Op>;
  static constexpr bool is_sum = std::is_same_v<Combines, ks::Sum<A>>;
  static constexpr bool is_product = std::is_same_v<Combines, ks::Prod<A>>;
  /// Whether results depend on an unspecified order of combination.
  static constexpr bool is_inexact =
      std::is_floating_point_v<A> && (is_sum || is_product) && !is_in_order;
  static constexpr bool has_identity = requires { Combines::identity(); };
};

// Cases cycle through these kinds, so changing their number changes the cases of a seed.
struct FloatSum : Kind<float, ks::Sum<float>, float, float, Source::array, Start::common> {
  static constexpr char const* name = "float-sum";
};
struct MaskedFloatSum : Kind<float, ks::Sum<float>, float, float, Source::masked, Start::common> {
  static constexpr char const* name = "masked-float-sum";
};
struct FloatProduct
    : Kind<float, ks::Prod<float>, float, float, Source::array, Start::of_each_line> {
  static constexpr char const* name = "float-product";
};
struct DoubleSum : Kind<double, ks::Sum<double>, double, double, Source::array, Start::common> {
  static constexpr char const* name = "double-sum";
};
struct MaskedDoubleSum
    : Kind<double, ks::Sum<double>, double, double, Source::masked, Start::common> {
  static constexpr char const* name = "masked-double-sum";
};
struct DoubleMax
    : Kind<double, ks::Max<double>, double, double, Source::array, Start::of_each_line> {
  static constexpr char const* name = "double-max";
};
struct FloatSumInDouble
    : Kind<double, ks::Sum<double>, float, float, Source::array, Start::common> {
  static constexpr char const* name = "float-sum-in-double";
};
struct BytesIntoInt : Kind<std::int32_t, ks::Sum<std::int32_t>, std::int8_t, std::int32_t,
                           Source::array, Start::common> {
  static constexpr char const* name = "bytes-into-int32";
};
struct MaskedByteSum : Kind<std::uint8_t, ks::Sum<std::uint8_t>, std::uint8_t, std::uint8_t,
                            Source::masked, Start::of_each_line> {
  static constexpr char const* name = "masked-byte-sum";
};
struct ShortMin : Kind<std::int16_t, ks::Min<std::int16_t>, std::int16_t, std::int16_t,
                       Source::array, Start::of_each_line> {
  static constexpr char const* name = "int16-min";
};
struct BytesIntoLong : Kind<std::int64_t, ks::Sum<std::int64_t>, std::int8_t, std::int64_t,
                            Source::array, Start::common> {
  static constexpr char const* name = "bytes-into-int64";
};
struct ComputedLongSum : Kind<std::int64_t, ks::Sum<std::int64_t>, std::int32_t, std::int64_t,
                              Source::computed, Start::of_each_line> {
  static constexpr char const* name = "computed-int64-sum";
};
struct MaskedComputedSum : Kind<std::uint32_t, ks::Sum<std::uint32_t>, std::uint32_t, std::uint32_t,
                                Source::masked_computed, Start::common> {
  static constexpr char const* name = "masked-computed-sum";
};
/// Combines an array element with a computed one.
struct Mix {
  KOKKOS_FUNCTION std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const {
    return 3 * a + b;
  }
};
struct ZippedSum : Kind<std::uint32_t, ks::Sum<std::uint32_t>, std::uint32_t, std::uint32_t,
                        Source::zipped, Start::of_each_line> {
  static constexpr char const* name = "zipped-sum";
};
/// The maps of a recurrence, and the same with a term for each line.
struct MapOf {
  using Map = ks::AffineMap<std::uint32_t>;
  KOKKOS_FUNCTION Map operator()(std::uint32_t b, std::uint32_t a) const { return {a, b}; }
  KOKKOS_FUNCTION Map operator()(std::uint32_t b, std::uint32_t a, std::uint32_t c) const {
    return {a, b + c};
  }
};
struct Recurrence : Kind<ks::AffineMap<std::uint32_t>, ks::ComposeAffine<std::uint32_t>,
                         std::uint32_t, std::uint32_t, Source::maps, Start::of_each_line> {
  static constexpr char const* name = "recurrence";
};
struct CalledRecurrence
    : Kind<ks::AffineMap<std::uint32_t>, ks::ComposeAffine<std::uint32_t>, std::uint32_t,
           std::uint32_t, Source::masked_maps, Start::common, Sink::function> {
  static constexpr char const* name = "called-masked-recurrence";
};
struct CalledSum : Kind<std::uint64_t, ks::Sum<std::uint64_t>, std::uint64_t, std::uint64_t,
                        Source::array, Start::of_each_line, Sink::function> {
  static constexpr char const* name = "called-sum";
};
struct CalledComputedSum : Kind<std::uint32_t, ks::Sum<std::uint32_t>, std::uint32_t, std::uint32_t,
                                Source::computed, Start::common, Sink::function> {
  static constexpr char const* name = "called-computed-sum";
};
struct ProjectedSum : Kind<std::uint64_t, ks::Sum<std::uint64_t>, std::uint32_t, std::uint64_t,
                           Source::array, Start::of_each_line, Sink::projected> {
  static constexpr char const* name = "projected-sum";
};
using IndexedWord = ks::Indexed<std::uint32_t, std::uint32_t>;
struct BesideIndex {
  KOKKOS_FUNCTION IndexedWord operator()(std::uint32_t value, std::uint32_t index) const {
    return {value % 64, index};  // many are equal
  }
};
struct CalledArgMax : Kind<IndexedWord, ks::ArgMax<ks::Ties::last, IndexedWord>, std::uint32_t,
                           IndexedWord, Source::indexed, Start::common, Sink::function> {
  static constexpr char const* name = "called-arg-max";
};
struct Struct12
    : Kind<Heisenberg<std::uint32_t>, MultiplyHeisenberg<std::uint32_t>, Heisenberg<std::uint32_t>,
           Heisenberg<std::uint32_t>, Source::array, Start::of_each_line> {
  static constexpr char const* name = "struct12";
};
struct Struct24
    : Kind<Heisenberg<std::uint64_t>, MultiplyHeisenbergFromOne<std::uint64_t>,
           Heisenberg<std::uint64_t>, Heisenberg<std::uint64_t>, Source::array, Start::common> {
  static constexpr char const* name = "struct24";
};
struct Struct3
    : Kind<Heisenberg<std::uint8_t>, MultiplyHeisenbergFromOne<std::uint8_t>,
           Heisenberg<std::uint8_t>, Heisenberg<std::uint8_t>, Source::masked, Start::common> {
  static constexpr char const* name = "masked-struct3";
};
struct MaskedAffine : Kind<Affine, Compose, Affine, Affine, Source::masked, Start::common> {
  static constexpr char const* name = "masked-affine";
};

// ---- Kinds that are scanned in order ------------------------------------------------------------

struct FloatSumInOrder
    : Kind<float, impl::InOrder<ks::Sum<float>>, float, float, Source::array, Start::common> {
  static constexpr char const* name = "float-sum-in-order";
};
struct MaskedFloatSumInOrder
    : Kind<float, impl::InOrder<ks::Sum<float>>, float, float, Source::masked, Start::common> {
  static constexpr char const* name = "masked-float-sum-in-order";
};
struct FloatProductInOrder : Kind<float, impl::InOrder<ks::Prod<float>>, float, float,
                                  Source::masked, Start::of_each_line> {
  static constexpr char const* name = "float-product-in-order";
};
struct DoubleSumInOrder : Kind<double, impl::InOrder<ks::Sum<double>>, double, double,
                               Source::array, Start::of_each_line> {
  static constexpr char const* name = "double-sum-in-order";
};
struct FloatSumInDoubleInOrder
    : Kind<double, impl::InOrder<ks::Sum<double>>, float, double, Source::array, Start::common> {
  static constexpr char const* name = "float-sum-in-double-in-order";
};
struct DoubleSumToFloatInOrder
    : Kind<double, impl::InOrder<ks::Sum<double>>, double, float, Source::masked, Start::common> {
  static constexpr char const* name = "double-sum-to-float-in-order";
};
struct MaskedComputedSumInOrder : Kind<float, impl::InOrder<ks::Sum<float>>, float, float,
                                       Source::masked_computed, Start::of_each_line> {
  static constexpr char const* name = "masked-computed-sum-in-order";
};
struct Hash12InOrder : Kind<Hash12, impl::InOrder<MixFromNothing<Hash12>>, Hash12, Hash12,
                            Source::masked, Start::common> {
  static constexpr char const* name = "hash12-in-order";
};
struct Hash8InOrder
    : Kind<Hash8, impl::InOrder<MixHashes>, Hash8, Hash8, Source::array, Start::of_each_line> {
  static constexpr char const* name = "hash8-in-order";
};
struct Hash3InOrder : Kind<Hash3, impl::InOrder<MixFromNothing<Hash3>>, Hash3, Hash3,
                           Source::masked, Start::common> {
  static constexpr char const* name = "hash3-in-order";
};
/// More elements of a chunk than a mask has bits would fit in its bytes.
struct MaskedByteSumInOrder : Kind<std::uint8_t, impl::InOrder<ks::Sum<std::uint8_t>>, std::uint8_t,
                                   std::uint8_t, Source::masked, Start::common> {
  static constexpr char const* name = "masked-byte-sum-in-order";
};

// ---- Kinds of selections ------------------------------------------------------------------------

/// A kind of selection: one instantiation of the selection kernels.
template <class Element_, class Value_, class Count_, bool is_masked_>
struct SelectionKind {
  using Element = Element_;
  using Value = Value_;
  using Count = Count_;
  static constexpr bool is_masked = is_masked_;
};
struct SelectWords : SelectionKind<std::uint32_t, std::uint32_t, std::int32_t, false> {
  static constexpr char const* name = "select-words";
};
struct SelectMaskedBytes : SelectionKind<std::uint8_t, std::uint16_t, std::int64_t, true> {
  static constexpr char const* name = "select-masked-bytes";
};
struct SelectMaskedStructs : SelectionKind<Hash12, Hash12, std::uint32_t, true> {
  static constexpr char const* name = "select-masked-structs";
};
template <class K>
inline constexpr bool is_selection = requires {
  typename K::Count;
};

template <class... Kinds>
struct List {
  static constexpr int size = sizeof...(Kinds);
  /// The place of a kind.
  template <class K>
  static constexpr int number() {
    int place = 0, found = -1;
    ((found = std::is_same_v<K, Kinds> ? place : found, ++place), ...);
    return found;
  }
};
using AllKinds =
    List<FloatSum, MaskedFloatSum, FloatProduct, DoubleSum, MaskedDoubleSum, DoubleMax,
         FloatSumInDouble, BytesIntoInt, MaskedByteSum, ShortMin, BytesIntoLong, ComputedLongSum,
         MaskedComputedSum, Struct12, Struct24, MaskedAffine, ZippedSum, Recurrence,
         CalledRecurrence, CalledSum, CalledComputedSum, ProjectedSum, CalledArgMax, SelectWords,
         SelectMaskedBytes, SelectMaskedStructs, Struct3>;
using KindsInOrder =
    List<FloatSumInOrder, MaskedFloatSumInOrder, FloatProductInOrder, DoubleSumInOrder,
         FloatSumInDoubleInOrder, DoubleSumToFloatInOrder, MaskedComputedSumInOrder, Hash12InOrder,
         Hash8InOrder, MaskedByteSumInOrder, Hash3InOrder>;

// ---- The serial loop --------------------------------------------------------------------------

/// Exact types are folded by the operator itself.
template <class K, bool is_inexact = K::is_inexact>
struct Fold {
  using A = typename K::A;
  A value;

  explicit Fold(A const& first) : value(first) {}
  void combine(A const& next) { value = static_cast<A>(typename K::Op{}(value, next)); }
  template <class T>
  bool matches(T const& actual) const {
    auto const expected = static_cast<T>(value);
    return std::memcmp(&actual, &expected, sizeof expected) == 0;
  }
  std::string text() const { return to_text(static_cast<typename K::Value>(value)); }

  template <class T>
  static std::string to_text(T const& x) {
    char text[64];
    if constexpr (std::is_arithmetic_v<T>) {
      std::snprintf(text, sizeof text, "%.17g", static_cast<double>(x));
    } else {
      unsigned words[4] = {};
      std::memcpy(words, &x, std::min(sizeof x, sizeof words));
      std::snprintf(text, sizeof text, "{%x %x %x ...}", words[0], words[1], words[2]);
    }
    return text;
  }
};
/// Sums of floats in the widest type there is, with a correction (Neumaier); products in that type.
template <class K>
struct Fold<K, true> {
  using A = typename K::A;
  long double value, correction = 0;
  long double magnitudes;
  double factors = 1;

  explicit Fold(A const& first) : value(first), magnitudes(std::abs(value)) {}
  void combine(A const& next) {
    long double const x = next;
    factors += 1;
    if constexpr (K::is_product) {
      value *= x;
      magnitudes *= std::abs(x);
    } else {
      long double const sum = value + x;
      correction += std::abs(value) >= std::abs(x) ? (value - sum) + x : (x - sum) + value;
      value = sum;
      magnitudes += std::abs(x);
    }
  }
  /// The promised bound: 8 u of the sum of magnitudes, and of the exact product of floats; u for
  /// each factor of doubles; plus one rounding to the type of the result.
  bool matches(typename K::Value const& actual) const {
    long double const u = std::numeric_limits<A>::epsilon() / 2;
    long double const u_of_value = std::numeric_limits<typename K::Value>::epsilon() / 2;
    long double const exact = value + correction;
    constexpr bool grows = K::is_product && !std::is_same_v<A, float>;
    long double allowed = (grows ? factors + 1 : 8) * u * magnitudes;
    if (u_of_value > u) allowed += u_of_value * (std::abs(exact) + allowed);
    return std::abs(static_cast<long double>(actual) - exact) <= allowed;
  }
  std::string text() const { return to_text(value + correction); }
  static std::string to_text(long double x) {
    char text[64];
    std::snprintf(text, sizeof text, "%.17Lg", x);
    return text;
  }
};

/// A random element.
template <class K, class T>
T random_element(Random& random) {
  if constexpr (K::is_product && std::is_floating_point_v<T>) {
    return static_cast<T>((random.one_in(2) ? 1 : -1) * (1 + (random.uniform() - 0.5) / 16384));
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>((random.uniform() - 0.4) * std::exp2(random.between(-3, 3)));
  } else {
    T value;
    std::uint64_t words[(sizeof(T) + 7) / 8];
    for (auto& word : words) word = random();
    std::memcpy(static_cast<void*>(&value), words, sizeof value);
    return value;
  }
}

// ---- A case -----------------------------------------------------------------------------------

/// The maximum size of cases.
struct Limits {
  std::int64_t usual_elements = 1 << 13;
  std::int64_t most_elements = 1 << 20;
};

/// The position of an array in the block of memory.
struct Place {
  std::size_t offset = 0;   ///< bytes before element 0
  std::int64_t extent = 0;  ///< along the lines
  impl::Strides strides{};  ///< of elements, forward
};

/// Whether lines of both are contiguous with the same direction, or of neither.
inline bool lies_alike(Place const& a, Place const& b) {
  auto const is_contiguous = [](Place const& place) { return std::abs(place.strides.along) == 1; };
  return is_contiguous(a) == is_contiguous(b) &&
         (!is_contiguous(a) || a.strides.along == b.strides.along);
}

/// One case: its parameters, its memory, and the expected contents.
template <class K>
class Case {
 public:
  Case(std::uint64_t seed, std::uint64_t number, Limits const& limits) : m_random(seed, number) {
    choose_shape(limits);
    choose_mode();
    place_arrays();
    fill();
  }

  /// Scans on the machine and compares. Returns an error message, or nothing.
  template <class Machine>
  std::string run(Machine& machine) {
    auto const space = machine.space(m_random);
    std::vector<std::byte> const first =
        scan(machine, space, [&](std::byte* block) { return problem<K::is_masked>(block); });
    std::string wrong = compare(first);
    if constexpr (K::is_inexact) {
      if (wrong.empty() && !K::has_formula) wrong = compare_some_lines(machine, space, first);
      if constexpr (K::source == Source::masked) {
        // Masks with the same layout as the values may have their own kernels.
        if (wrong.empty() && m_selects == Selects::all &&
            lies_alike(m_mask, m_in_place ? m_output : m_input)) {
          auto const second =
              scan(machine, space, [&](std::byte* block) { return problem<false>(block); });
          if (!same_lines(first, second, 0, m_batch.count)) {
            wrong = "an all-true mask changes bits";
          }
        }
      }
    }
    return wrong;
  }

  [[nodiscard]] std::string text() const {
    std::string text = std::string(K::name) + ", lines of " + std::to_string(m_n) + ", batch (";
    for (int d = 0; d < m_batch.rank; ++d) {
      text += (d > 0 ? ", " : "") + std::to_string(m_batch.extent[d]);
    }
    text += m_backward ? "), backward" : "), forward";
    text += m_form == impl::Form::inclusive ? ", inclusive" : ", exclusive";
    if (m_extra != impl::Extra::none) text += m_extra == impl::Extra::first ? " + 1" : " 1 +";
    if (m_has_start) text += starts_each_line ? ", a start for each line" : ", a start";
    if (m_has_totals) text += m_totals_are_starts ? ", totals replace starts" : ", totals";
    if (m_in_place) text += ", in place";
    if (K::is_masked) {
      text += m_selects == Selects::all    ? ", mask all true"
              : m_selects == Selects::none ? ", mask all false"
                                           : ", mask";
    }
    if (K::has_formula) text += ", axis " + std::to_string(m_axis_of_formula);
    if (!K::is_computed && !m_in_place) text += "\n  input: " + text_of(m_input);
    if (K::has_maps) text += "\n  coefficients: " + text_of(m_coefficients);
    if (K::source == Source::maps) text += "\n  of lines: " + text_of(m_of_lines);
    if (K::is_masked) text += "\n  mask: " + text_of(m_mask);
    text += "\n  output: " + text_of(m_output);
    if (starts_each_line) text += "\n  starts: " + text_of(m_starts);
    if (m_has_totals && !m_totals_are_starts) text += "\n  totals: " + text_of(m_totals);
    return text;
  }

 private:
  using A = typename K::A;
  using Op = typename K::Op;
  using Element = typename K::Element;
  using Value = typename K::Value;
  using Result = typename K::Result;
  static constexpr bool starts_each_line = K::start == Start::of_each_line;
  static constexpr int most_dimensions = 4;
  static constexpr int axis = -1;  ///< stands for the axis among dimensions of the batch
  static constexpr std::byte poison{0xFF};
  static constexpr std::size_t alignment = 256;
  enum class Selects { all, none, some };

  using Elements = impl::Array<Element const>;
  using OfFormula = impl::Computed<3, Formula<Element>>;
  using Indices = impl::Computed<3, impl::IndexAlong<std::uint32_t>>;
  using Zipped = std::conditional_t<K::is_indexed,
                                    impl::ZippedInput<BesideIndex, impl::List<Elements, Indices>>,
                                    impl::ZippedInput<Mix, impl::List<Elements, OfFormula>>>;
  using Maps = impl::ZippedInput<
      MapOf, std::conditional_t<K::is_masked, impl::List<Elements, Elements>,
                                impl::List<Elements, Elements, impl::ValueOfLine<Element const>>>>;
  using Values = std::conditional_t<
      K::has_maps, Maps,
      std::conditional_t<K::is_zipped || K::is_indexed, Zipped,
                         std::conditional_t<K::is_computed, OfFormula, Elements>>>;
  using Results = impl::Called<Value, 3, Storing<Value>>;
  static constexpr bool is_in_place_possible =
      !K::is_computed && (std::is_same_v<Element, Value> ||
                          (K::sink == Sink::projected && sizeof(Element) == sizeof(Result)));
  using Mask = impl::Array<impl::StoredBool const>;
  template <bool masked>
  using InputOf = std::conditional_t<masked, impl::Selected<A, Values, Mask>, Values>;
  using StartValue =
      std::conditional_t<starts_each_line, impl::StartOfEachLine<A, Value>, impl::CommonStart<A>>;

  // -- Choices --

  void choose_shape(Limits const& limits) {
    // Most cases are not tiny, and some are large.
    std::int64_t const most = m_random.one_in(16) ? limits.most_elements : limits.usual_elements;
    std::int64_t const elements =
        m_random.one_in(4) ? m_random.log_uniform(most) : most / m_random.log_uniform(64);
    m_batch.rank = static_cast<int>(
        m_random.one_in(2) ? 1 : m_random.between(0, K::has_formula ? 2 : most_dimensions - 1));
    m_n = m_batch.rank == 0 ? elements : m_random.log_uniform(elements);
    std::int64_t left = elements / m_n;
    m_batch.count = 1;
    for (int d = 0; d < m_batch.rank; ++d) {
      m_batch.extent[d] = d == m_batch.rank - 1 ? left : m_random.log_uniform(left);
      left /= m_batch.extent[d];
      m_batch.count *= m_batch.extent[d];
    }
    // Outermost first: as the batch has them, with the axis somewhere between, or in any order.
    int const place = static_cast<int>(m_random.between(0, m_batch.rank));
    for (int d = 0; d < m_batch.rank; ++d) m_order.push_back(d);
    m_order.insert(m_order.begin() + place, axis);
    if (m_random.one_in(8)) shuffle(m_order);
    m_are_alike = m_random.one_in(2);
    for (auto& pad : m_pads) pad = random_pad(m_random.one_in(2));
    for (auto& runs_down : m_run_down) runs_down = m_random.one_in(8);
  }
  void choose_mode() {
    m_backward = m_random.one_in(2);
    m_has_start = starts_each_line || m_random.one_in(2);
    m_start = random_element<K, A>(m_random);
    m_form = m_random.one_in(2) ? impl::Form::inclusive : impl::Form::exclusive;
    if (m_random.one_in(4)) {
      m_extra = m_form == impl::Form::inclusive ? impl::Extra::first : impl::Extra::last;
    }
    if (!K::has_identity && !m_has_start) {
      m_form = impl::Form::inclusive;
      m_extra = impl::Extra::none;
    }
    m_has_totals = m_random.one_in(2);
    m_totals_are_starts = starts_each_line && m_has_totals && m_random.one_in(3);
    m_in_place = is_in_place_possible && m_random.one_in(3);
    std::int64_t const selects = m_random.between(1, 8);
    m_selects = selects <= 2 ? Selects::all : selects == 3 ? Selects::none : Selects::some;
    m_formula.seed = static_cast<std::uint32_t>(m_random());
    m_axis_of_formula = static_cast<int>(m_random.between(0, 2));
  }
  std::int64_t random_pad(bool exists) {
    if (!exists || m_random.one_in(2)) return 0;
    return m_random.one_in(3) ? 16 * m_random.between(1, 4) : m_random.between(1, 9);
  }
  void shuffle(std::vector<int>& x) {
    for (std::size_t i = x.size(); i > 1; --i) {
      std::swap(x[i - 1],
                x[static_cast<std::size_t>(m_random.between(0, static_cast<std::int64_t>(i) - 1))]);
    }
  }

  // -- Memory --

  /// Allocates an array behind all others.
  template <class T>
  Place place(std::int64_t extent, bool has_lines) {
    Place place;
    place.extent = extent;
    std::vector<int> order = m_order;
    if (!m_are_alike && m_random.one_in(4)) shuffle(order);
    std::int64_t size = !m_are_alike && m_random.one_in(8) ? m_random.between(2, 3) : 1;
    std::int64_t first = 0;  // elements of the array before element 0
    for (std::size_t i = order.size(); i-- > 0;) {
      int const d = order[i];
      if (d == axis && !has_lines) continue;
      std::int64_t const length = d == axis ? extent : m_batch.extent[d];
      auto& stride = d == axis ? place.strides.along : place.strides.batch[d];
      stride = size;
      size = size * length + (m_are_alike ? m_pads[i] : random_pad(m_random.one_in(3)));
      if (m_are_alike ? m_run_down[i] : m_random.one_in(8)) {
        first += (length - 1) * stride;
        stride = -stride;
      }
    }
    // A guard of at least 64 bytes, then an aligned address or any that suits the type.
    m_bytes = (m_bytes + 64 + alignment - 1) / alignment * alignment;
    place.offset = m_bytes;
    if (m_random.one_in(2)) {
      place.offset += sizeof(T) * static_cast<std::size_t>(m_random.between(0, 33));
    }
    m_bytes = place.offset + sizeof(T) * static_cast<std::size_t>(size);
    place.offset += sizeof(T) * static_cast<std::size_t>(first);
    // Strides of dimensions with one element have no meaning: make them random.
    for (int d = 0; d < m_batch.rank; ++d) {
      if (m_batch.extent[d] == 1 && m_random.one_in(4)) {
        place.strides.batch[d] = m_random.between(0, 1000);
      }
    }
    if (extent == 1 && m_random.one_in(4)) place.strides.along = m_random.between(-1000, 1000);
    return place;
  }
  void place_arrays() {
    m_output = place<Result>(m_n + (m_extra == impl::Extra::none ? 0 : 1), true);
    if (!K::is_computed && !m_in_place) {
      m_input = place<Element>(m_n, true);
      share_one_line(m_input);
    }
    if (K::has_maps) m_coefficients = place<Element>(m_n, true);
    if (K::source == Source::maps) m_of_lines = place<Element>(1, false);
    if (K::is_masked) {
      m_mask = place<impl::StoredBool>(m_n, true);
      share_one_line(m_mask);
    }
    if (starts_each_line) m_starts = place<Value>(1, false);
    if (m_has_totals) m_totals = m_totals_are_starts ? m_starts : place<Value>(1, false);
    m_bytes += 64;
  }
  /// Sometimes read-only arrays are broadcast along a dimension.
  void share_one_line(Place& place) {
    if (m_batch.rank > 0 && m_random.one_in(12)) {
      place.strides.batch[m_random.between(0, m_batch.rank - 1)] = 0;
    }
  }

  /// An array in scan order.
  template <class T, class Byte>
  impl::Array<T> array(Place const& place, Byte* block) const {
    impl::Array<T> array{reinterpret_cast<T*>(block + place.offset), place.strides};
    if (m_backward) {
      array.data += (place.extent - 1) * place.strides.along;
      array.strides.along = -place.strides.along;
    }
    return array;
  }
  /// The output; element 0 is the first result, after an extra element if that comes first.
  template <class T, class Byte>
  impl::Array<T> output(Byte* block) const {
    auto output = array<T>(m_output, block);
    if (m_extra == impl::Extra::first) output.data += output.strides.along;
    return output;
  }
  template <class T, class Byte>
  impl::Array<T> input(Byte* block) const {
    // In place: results overwrite their elements.
    return m_in_place ? output<T>(block) : array<T>(m_input, block);
  }
  [[nodiscard]] impl::Computed<3, Formula<Element>> computed() const {
    return of_indices(m_formula, m_n);
  }
  /// A function of indices, of which that along the lines has an extent.
  template <class F>
  [[nodiscard]] impl::Computed<3, F> of_indices(F const& f, std::int64_t extent) const {
    impl::Computed<3, F> in{f, {}, m_axis_of_formula, 0, 1, {}};
    if (m_backward) {
      in.first = extent - 1;
      in.step = -1;
    }
    // Of fewer dimensions than the function has, the others have one index.
    int d = 0;
    for (int i = 0; i < 3; ++i) {
      in.extent[i] = i == m_axis_of_formula ? extent : d < m_batch.rank ? m_batch.extent[d++] : 1;
    }
    std::int64_t stride = 1;
    for (d = m_batch.rank - 1; d >= 0; --d) {
      in.strides.batch[d] = stride;
      stride *= m_batch.extent[d];
    }
    return in;
  }
  /// The output of a problem: the array, or a function that stores there.
  auto results(std::byte* block) const {
    if constexpr (K::is_called) {
      Storing<Value> store{reinterpret_cast<Value*>(block + m_output.offset), {}, !m_in_place};
      int d = 0;
      for (int i = 0; i < 3; ++i) {
        if (i == m_axis_of_formula) {
          store.strides[i] = m_output.strides.along;
        } else if (d < m_batch.rank) {
          store.strides[i] = m_output.strides.batch[d++];
        }
      }
      Results called{of_indices(store, m_output.extent)};
      if (m_extra == impl::Extra::first) impl::move_along(called, 1);
      return called;
    } else {
      return output<Result>(block);
    }
  }
  template <bool masked>
  auto problem(std::byte* block) const {
    InputOf<masked> in;
    if constexpr (masked) {
      in = {values(block), array<impl::StoredBool const>(m_mask, block), K::Combines::identity()};
    } else {
      in = values(block);
    }
    StartValue start;
    if constexpr (starts_each_line) {
      start.values = array<Value const>(m_starts, block);
    } else if (m_has_start) {
      start.value = impl::Maybe<A>(m_start);
    }
    impl::Maybe<A> identity;
    if constexpr (K::has_identity) identity = impl::Maybe<A>(K::Combines::identity());
    impl::Array<Value> totals{nullptr, {}};
    if (m_has_totals) totals = array<Value>(m_totals, block);
    using Out = std::conditional_t<K::is_called, Results, Result>;
    return impl::Problem<A, Op, InputOf<masked>, Out, StartValue, Value>{
        impl::Function::inclusive_scan,
        m_n,
        m_batch,
        m_form,
        m_extra,
        Op{},
        identity,
        in,
        results(block),
        start,
        totals};
  }
  template <class Byte>
  Values values([[maybe_unused]] Byte* block) const {
    if constexpr (K::is_computed) {
      return computed();
    } else if constexpr (K::is_zipped) {
      return {{}, {input<Element const>(block), {computed(), {}}}};
    } else if constexpr (K::is_indexed) {
      auto const indices = of_indices(impl::IndexAlong<std::uint32_t>{m_axis_of_formula}, m_n);
      return {{}, {input<Element const>(block), {indices, {}}}};
    } else if constexpr (K::source == Source::maps) {
      auto const coefficients = array<Element const>(m_coefficients, block);
      auto const of_lines = array<Element const>(m_of_lines, block);
      return {{}, {input<Element const>(block), {coefficients, {{of_lines}, {}}}}};
    } else if constexpr (K::source == Source::masked_maps) {
      auto const coefficients = array<Element const>(m_coefficients, block);
      return {{}, {input<Element const>(block), {coefficients, {}}}};
    } else {
      return input<Element const>(block);
    }
  }

  void fill() {
    m_before.assign(m_bytes, poison);
    bool const hides_poison = m_random.one_in(2);
    double const density = m_random.uniform();
    std::byte* const block = m_before.data();
    for (std::int64_t l = 0; l < m_batch.count; ++l) {
      auto const c = m_batch.coordinates(l);
      if (starts_each_line) {
        array<Value>(m_starts, block).line(c)(0) = random_element<K, Value>(m_random);
      }
      if constexpr (K::source == Source::maps) {
        array<Element>(m_of_lines, block).line(c)(0) = random_element<K, Element>(m_random);
      }
      for (std::int64_t k = 0; k < m_n; ++k) {
        bool selected = true;
        if constexpr (K::has_maps) {
          array<Element>(m_coefficients, block).line(c)(k) = random_element<K, Element>(m_random);
        }
        if constexpr (K::is_masked) {
          selected = m_selects == Selects::all ||
                     (m_selects == Selects::some && m_random.uniform() < density);
          array<impl::StoredBool>(m_mask, block).line(c)(k) = truth(m_random, selected);
        }
        if constexpr (!K::is_computed) {
          if (selected || !hides_poison) {
            input<Element>(block).line(c)(k) = random_element<K, Element>(m_random);
          }
        }
      }
    }
    // With a broadcast mask, lines see the values written last, so all elements need values.
    if constexpr (K::is_masked && !K::is_computed) {
      for (std::int64_t l = 0; l < m_batch.count; ++l) {
        auto const c = m_batch.coordinates(l);
        for (std::int64_t k = 0; k < m_n; ++k) {
          auto& element = input<Element>(block).line(c)(k);
          if (array<impl::StoredBool>(m_mask, block).line(c)(k) && is_poison(element)) {
            element = random_element<K, Element>(m_random);
          }
        }
      }
    }
  }
  template <class T>
  static bool is_poison(T const& x) {
    auto const* const bytes = reinterpret_cast<std::byte const*>(&x);
    return std::all_of(bytes, bytes + sizeof x, [](std::byte b) { return b == poison; });
  }

  // -- Scanning and comparing --

  /// Scans and returns the block of memory.
  template <class Machine, class Space, class ProblemIn>
  std::vector<std::byte> scan(Machine& machine, Space const& space, ProblemIn const& problem_in) {
    using P = decltype(problem_in(nullptr));
    if constexpr (requires { machine.scan(space, std::declval<P>()); }) {
      std::vector<std::byte> bytes = m_before;
      machine.scan(space, problem_in(machine.upload(bytes)));
      machine.download(bytes);
      return bytes;
    } else {
      return scan_by_tree<P>(machine, space, problem_in);
    }
  }
  template <class P, class Machine, class Space, class ProblemIn>
  std::vector<std::byte> scan_by_tree(Machine& machine, Space const& space,
                                      ProblemIn const& problem_in) {
    namespace cuda = impl::cuda;
    std::size_t const of_workspace = cuda::Backend::workspace_bytes<P>(space, m_n, m_batch.count);
    std::size_t const workspace = (m_bytes + alignment - 1) / alignment * alignment;
    std::vector<std::byte> bytes = m_before;
    bytes.resize(workspace + of_workspace + 64, std::byte{0x5A});
    std::byte* const block = machine.upload(bytes);
    P const p = problem_in(block);
    if (!cuda::Backend::accepts(p)) throw std::logic_error("the backend does not take it");
    cuda::Backend{}.scan(space, p, block + workspace);
    machine.download(bytes);
    for (std::size_t i = bytes.size() - 64; i < bytes.size(); ++i) {
      if (bytes[i] != std::byte{0x5A}) throw std::logic_error("behind the workspace is written to");
    }
    bytes.resize(m_bytes);
    return bytes;
  }
  /// Compares all bytes with a serial loop and the previous contents.
  std::string compare(std::vector<std::byte> const& after) const {
    std::vector<std::byte> expected = m_before;
    auto const in = values(m_before.data());
    for (std::int64_t l = 0; l < m_batch.count; ++l) {
      auto const c = m_batch.coordinates(l);
      std::optional<Fold<K>> prefix;
      if constexpr (starts_each_line) {
        prefix.emplace(static_cast<A>(array<Value const>(m_starts, m_before.data()).line(c)(0)));
      } else if (m_has_start) {
        prefix.emplace(m_start);
      }
      std::string wrong;
      auto const check = [&]<class T>(impl::Array<T const> const& results, std::int64_t at) {
        std::optional<Fold<K>> fold = prefix;
        if constexpr (K::has_identity) {
          if (!fold) fold.emplace(K::Combines::identity());
        }
        T const& actual = results.line(c)(at);
        if (wrong.empty() && !fold->matches(actual)) {
          wrong = Fold<K>::to_text(actual) + " instead of that of " + fold->text() + " is result " +
                  std::to_string(at) + " of line " + std::to_string(l);
        }
        std::memcpy(expected.data() + (reinterpret_cast<std::byte const*>(&actual) - after.data()),
                    &actual, sizeof actual);
      };
      auto const results = output<Result const>(after.data());
      // Result number j of the inclusive form is the fold of j + 1 elements.
      std::int64_t const first = m_form == impl::Form::inclusive ? 1 : 0;
      auto const line = in.line(c);
      for (std::int64_t k = 0; k <= m_n; ++k) {
        if ((k >= first || m_extra == impl::Extra::first) &&
            (k < m_n + first || m_extra == impl::Extra::last)) {
          check(results, k - first);
        }
        if (k == m_n) break;
        A next = static_cast<A>(line(k));
        if constexpr (K::is_masked) {
          if (!array<impl::StoredBool const>(m_mask, m_before.data()).line(c)(k)) {
            if (K::is_in_order) continue;
            next = K::Combines::identity();
          }
        }
        prefix ? prefix->combine(next) : static_cast<void>(prefix.emplace(next));
      }
      if (!wrong.empty()) return wrong;
      if (m_has_totals) check(array<Value const>(m_totals, after.data()), 0);
      if (!wrong.empty()) return wrong + "'s total";
    }
    for (std::size_t i = 0; i < m_bytes; ++i) {
      if (expected[i] != after[i]) {
        return "byte " + std::to_string(i) + ", which is no result, is written to";
      }
    }
    return "";
  }
  /// Scans some of the lines without the others.
  template <class Machine, class Space>
  std::string compare_some_lines(Machine& machine, Space const& space,
                                 std::vector<std::byte> const& all) {
    std::int64_t const first = m_random.between(0, m_batch.count - 1);
    std::int64_t const count =
        m_batch.rank == 1 && m_random.one_in(2) ? m_random.log_uniform(m_batch.count - first) : 1;
    auto const some = scan(machine, space, [&](std::byte* block) {
      auto p = problem<K::is_masked>(block);
      auto const c = m_batch.coordinates(first);
      auto const advance = [&](auto& array) { array.data += c.offset(array.strides); };
      if constexpr (K::is_masked) {
        advance(p.input.values);
        advance(p.input.mask);
      } else {
        advance(p.input);
      }
      advance(p.output);
      if constexpr (starts_each_line) advance(p.start.values);
      if (p.totals.data != nullptr) advance(p.totals);
      p.batch = {count, count > 1 ? 1 : 0, {count}};
      return p;
    });
    if (same_lines(all, some, first, count)) return "";
    return "lines " + std::to_string(first) + " to " + std::to_string(first + count - 1) +
           " have other bits without the others";
  }
  [[nodiscard]] bool same_lines(std::vector<std::byte> const& a, std::vector<std::byte> const& b,
                                std::int64_t first, std::int64_t count) const {
    for (std::int64_t l = first; l < first + count; ++l) {
      auto const c = m_batch.coordinates(l);
      for (std::int64_t j = 0; j < m_output.extent; ++j) {
        auto const& x = array<Result const>(m_output, a.data()).line(c)(j);
        auto const& y = array<Result const>(m_output, b.data()).line(c)(j);
        if (std::memcmp(&x, &y, sizeof x) != 0) return false;
      }
    }
    return true;
  }

  [[nodiscard]] std::string text_of(Place const& place) const {
    std::string text = "byte " + std::to_string(place.offset) + ", strides along " +
                       std::to_string(place.strides.along) + ", batch";
    for (int d = 0; d < m_batch.rank; ++d) text += " " + std::to_string(place.strides.batch[d]);
    return text;
  }

  Random m_random;
  std::int64_t m_n = 0;
  impl::Batch m_batch{};
  std::vector<int> m_order;
  bool m_are_alike = true;
  std::int64_t m_pads[most_dimensions] = {};
  bool m_run_down[most_dimensions] = {};  ///< of the places in m_order

  bool m_backward = false;
  bool m_has_start = false;
  A m_start{};
  impl::Form m_form = impl::Form::inclusive;
  impl::Extra m_extra = impl::Extra::none;
  bool m_has_totals = false;
  bool m_totals_are_starts = false;
  bool m_in_place = false;
  Selects m_selects = Selects::all;
  Formula<Element> m_formula{};
  int m_axis_of_formula = 0;

  Place m_output, m_input, m_coefficients, m_of_lines, m_mask, m_starts, m_totals;
  std::size_t m_bytes = 0;
  std::vector<std::byte> m_before;
};

// ---- Selections ---------------------------------------------------------------------------------

/// Keeps elements up to a limit.
template <class Element>
struct IsBelow {
  std::uint32_t limit;
  KOKKOS_FUNCTION bool operator()(Element const& x) const {
    return static_cast<std::uint32_t>(x) <= limit;
  }
};

/// A case of a selection.
template <class K>
class SelectionCase {
 public:
  SelectionCase(std::uint64_t seed, std::uint64_t number, Limits const& limits)
      : m_random(seed, number) {
    std::int64_t const most = m_random.one_in(8) ? limits.most_elements : limits.usual_elements;
    m_n = m_random.log_uniform(most);
    m_lines = std::max<std::int64_t>(1, most / m_n / m_random.log_uniform(16));
    m_is_one_line = m_lines == 1 && m_random.one_in(2);
    m_input = place<Element>(m_n);
    if (K::is_masked) m_mask = place<impl::StoredBool>(m_n);
    m_output = place<Value>(m_n);
    m_counts = place<Count>(1);
    m_bytes += 64;
    double const density = m_random.one_in(4) ? (m_random.one_in(2) ? 1 : 0) : m_random.uniform();
    m_keep.limit = static_cast<std::uint32_t>(density * 0xFFFFFFFF);
    m_before.resize(m_bytes);
    for (auto& byte : m_before) byte = static_cast<std::byte>(m_random());
    for (std::int64_t i = 0; i < m_lines && K::is_masked; ++i) {
      for (std::int64_t k = 0; k < m_n; ++k) {
        array<impl::StoredBool>(m_mask, m_before.data()).line(at(i))(k) =
            truth(m_random, m_random.uniform() < density);
      }
    }
  }

  template <class Machine>
  std::string run(Machine& machine) {
    auto const space = machine.space(m_random);
    impl::cuda::SelectBackend const backend;
    using S = decltype(selection(nullptr));
    std::size_t const of_workspace = backend.template workspace_bytes<S>(space, m_n, m_lines);
    std::size_t const workspace = (m_bytes + alignment - 1) / alignment * alignment;
    std::vector<std::byte> bytes = m_before;
    bytes.resize(workspace + of_workspace + 64, std::byte{0x5A});
    std::byte* const block = machine.upload(bytes);
    backend.select(space, selection(block), block + workspace);
    machine.download(bytes);
    for (std::size_t i = bytes.size() - 64; i < bytes.size(); ++i) {
      if (bytes[i] != std::byte{0x5A}) return "behind the workspace is written to";
    }
    bytes.resize(m_bytes);
    std::vector<std::byte> expected = m_before;
    auto const s = selection(expected.data());
    for (std::int64_t i = 0; i < m_lines; ++i) {
      auto const keep = s.keep.line(at(i));
      std::int64_t kept = 0;
      for (std::int64_t k = 0; k < m_n; ++k) {
        Element const element = s.input.line(at(i))(k);
        if (impl::is_kept(keep, k, element)) {
          s.output.line(at(i))(kept++) = static_cast<Value>(element);
        }
      }
      s.counts.line(at(i))(0) = static_cast<Count>(kept);
    }
    for (std::size_t i = 0; i < m_bytes; ++i) {
      if (bytes[i] != expected[i]) return "byte " + std::to_string(i) + " is wrong";
    }
    return "";
  }
  [[nodiscard]] std::string text() const {
    auto const of = [](Place const& place) {
      return " byte " + std::to_string(place.offset) + ", lines apart by " +
             std::to_string(place.strides.batch[0]) + ";";
    };
    return std::string(K::name) + ", " + std::to_string(m_lines) + " lines of " +
           std::to_string(m_n) + (m_is_one_line ? ", no batch" : "") + "; input:" + of(m_input) +
           (K::is_masked ? " mask:" + of(m_mask) : "") + " output:" + of(m_output) +
           " counts:" + of(m_counts);
  }

 private:
  using Element = typename K::Element;
  using Value = typename K::Value;
  using Count = typename K::Count;
  static constexpr std::size_t alignment = 256;

  using Keep = std::conditional_t<K::is_masked, impl::Array<impl::StoredBool const>,
                                  impl::Predicate<IsBelow<Element>>>;

  static impl::LineOfBatch at(std::int64_t line) { return {line}; }
  /// Takes memory for lines behind all others, as Case does.
  template <class T>
  Place place(std::int64_t extent) {
    Place place;
    place.extent = extent;
    std::int64_t const pad = m_random.one_in(2) ? 0 : m_random.between(1, 9);
    place.strides.along = 1;
    place.strides.batch[0] = extent + pad;
    m_bytes = (m_bytes + 64 + alignment - 1) / alignment * alignment;
    place.offset = m_bytes;
    if (m_random.one_in(2)) {
      place.offset += sizeof(T) * static_cast<std::size_t>(m_random.between(0, 33));
    }
    m_bytes = place.offset + sizeof(T) * static_cast<std::size_t>(m_lines * (extent + pad));
    return place;
  }
  template <class T>
  static impl::Array<T> array(Place const& place, std::byte* block) {
    return {reinterpret_cast<T*>(block + place.offset), place.strides};
  }
  auto selection(std::byte* block) const {
    Keep keep;
    if constexpr (K::is_masked) {
      keep = array<impl::StoredBool const>(m_mask, block);
    } else {
      keep = {m_keep};
    }
    return impl::Selection<impl::Array<Element const>, Keep, Value, Count>{
        m_n,
        {m_lines, m_is_one_line ? 0 : 1, {m_lines}},
        array<Element const>(m_input, block),
        keep,
        array<Value>(m_output, block),
        array<Count>(m_counts, block)};
  }

  Random m_random;
  std::int64_t m_n = 0, m_lines = 0;
  bool m_is_one_line = false;
  IsBelow<Element> m_keep{};
  Place m_input, m_mask, m_output, m_counts;
  std::size_t m_bytes = 0;
  std::vector<std::byte> m_before;
};

struct Scanning {
  template <class K>
  using type = Case<K>;
};
struct Selecting {
  template <class K>
  using type = SelectionCase<K>;
};
/// Runs a case. Returns nothing, or a description of the case and the error.
template <class K, class Machine>
std::string run_case(Machine& machine, std::uint64_t seed, std::uint64_t number,
                     Limits const& limits) {
  using CaseOf =
      typename std::conditional_t<is_selection<K>, Selecting, Scanning>::template type<K>;
  CaseOf random_case(seed, number, limits);
  std::string wrong;
  try {
    wrong = random_case.run(machine);
  } catch (std::exception const& e) {
    wrong = e.what();
  }
  if (wrong.empty()) return "";
  return "seed " + std::to_string(seed) + ", case " + std::to_string(number) + ": " +
         random_case.text() + "\n  " + wrong;
}

/// The kinds that a program has compiled, indexed among all.
template <class Machine>
struct Runner {
  char const* name = nullptr;
  std::string (*run)(Machine&, std::uint64_t, std::uint64_t, Limits const&) = nullptr;
};
template <class Machine>
using Runners = Runner<Machine>[AllKinds::size];
template <class K, class Machine>
void add(Runners<Machine>& runners) {
  runners[AllKinds::number<K>()] = {K::name, run_case<K, Machine>};
}

}  // namespace fuzz
}  // namespace test
