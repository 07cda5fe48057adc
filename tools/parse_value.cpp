// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "parse_value.hpp"

#include <charconv>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <type_traits>

#include "../elements/stored.hpp"
#include "convert.hpp"
#include "error.hpp"

namespace scan_tool {
namespace {

/// The expected kind of value, for messages.
std::string expectation(DType dtype) {
  const DTypeInfo& type = info(dtype);
  const std::string name(type.name);
  const auto bits = static_cast<unsigned>(8 * type.size);
  switch (type.kind) {
    case Kind::boolean:
      return "True, False, 1 or 0 for an output of " + name;
    case Kind::signed_integer:
      return "an integer from " +
             std::to_string(std::numeric_limits<std::int64_t>::min() >> (64 - bits)) + " to " +
             std::to_string(std::numeric_limits<std::int64_t>::max() >> (64 - bits)) +
             " for an output of " + name;
    case Kind::unsigned_integer:
      return "an integer from 0 to " +
             std::to_string(std::numeric_limits<std::uint64_t>::max() >> (64 - bits)) +
             " for an output of " + name;
    case Kind::real:
      return "a number in the range of " + name;
    default:
      return "a number like 1+2j in the range of " + name;
  }
}

bool is_in_range(std::int64_t value, DType dtype) {
  const auto bits = static_cast<unsigned>(8 * size_of(dtype));
  return value >= std::numeric_limits<std::int64_t>::min() >> (64 - bits) &&
         value <= std::numeric_limits<std::int64_t>::max() >> (64 - bits);
}

bool is_in_range(std::uint64_t value, DType dtype) {
  const auto bits = static_cast<unsigned>(8 * size_of(dtype));
  return value <= std::numeric_limits<std::uint64_t>::max() >> (64 - bits);
}

/// Parses all of `text`; false if it is not a value of `dtype`.
template <class Integer>
bool parse(std::string_view text, DType dtype, Integer& value) {
  if (dtype == DType::boolean) {
    value = text == "1" || text == "True" || text == "true" ? 1 : 0;
    return value != 0 || text == "0" || text == "False" || text == "false";
  }
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && last == end && is_in_range(value, dtype);
}

/// Parses a real number at the front of `text`; false if there is none or it overflows.
template <class Real>
bool take(const char*& text, DType dtype, Real& value) {
  // strtod would skip leading blanks.
  if (std::string_view("+-.0123456789infINF").find(*text) == std::string_view::npos) return false;
  char* end = nullptr;
  if constexpr (std::is_same_v<Real, float>) {
    value = std::strtof(text, &end);
  } else {
    value = std::strtod(text, &end);
  }
  const std::string_view number(text, static_cast<std::size_t>(end - text));
  const bool says_infinity = number.find_first_of("iI") != std::string_view::npos;
  const bool overflows =
      std::isinf(dtype == DType::float16
                     ? static_cast<Real>(static_cast<float>(array_elements::Half(value)))
                     : value) &&
      !says_infinity;
  text = end;
  return !number.empty() && !overflows;
}

bool parse(const std::string& text, DType dtype, float& value) {
  const char* rest = text.c_str();
  return take(rest, dtype, value) && rest == text.c_str() + text.size();
}

bool parse(const std::string& text, DType dtype, double& value) {
  const char* rest = text.c_str();
  return take(rest, dtype, value) && rest == text.c_str() + text.size();
}

template <class Real>
bool parse(std::string text, DType dtype, std::complex<Real>& value) {
  if (text.size() > 1 && text.front() == '(' && text.back() == ')') {
    text = text.substr(1, text.size() - 2);
  }
  const char* rest = text.c_str();
  const char* const end = rest + text.size();
  const auto is_imaginary_unit = [&] { return (*rest == 'j' || *rest == 'J') && rest + 1 == end; };
  Real first = 0;
  if (!take(rest, dtype, first)) return false;
  if (is_imaginary_unit()) {
    value = {0, first};
    return true;
  }
  Real second = 0;
  if (rest != end) {
    if (*rest != '+' && *rest != '-') return false;
    if (!take(rest, dtype, second) || !is_imaginary_unit()) return false;
  }
  value = {first, second};
  return true;
}

}  // namespace

template <class A>
A parse_value(const std::string& option, const std::string& text, DType dtype) {
  A value{};
  if (!parse(text, dtype, value)) refuse(option, quoted(text), expectation(dtype));
  return value;
}

template std::int64_t parse_value(const std::string&, const std::string&, DType);
template std::uint64_t parse_value(const std::string&, const std::string&, DType);
template float parse_value(const std::string&, const std::string&, DType);
template double parse_value(const std::string&, const std::string&, DType);
template std::complex<float> parse_value(const std::string&, const std::string&, DType);
template std::complex<double> parse_value(const std::string&, const std::string&, DType);

}  // namespace scan_tool
