// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "npy_header.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>
#include <string_view>

#include "error.hpp"

static_assert(std::endian::native == std::endian::little,
              "kokkos-scan: arrays are written as little-endian memory.");

namespace scan_tool {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t alignment = 64;

/// Parses the Python dictionary in a header, with the subset of the language that .npy files use.
class HeaderParser {
 public:
  HeaderParser(const std::string& path, std::string_view text) : m_path(path), m_text(text) {}

  NpyHeader parse() {
    expect('{');
    while (!accept('}')) {
      const std::string_view key = string();
      expect(':');
      if (key == "descr") {
        m_dtype = dtype();
      } else if (key == "fortran_order") {
        m_order = order();
      } else if (key == "shape") {
        m_shape = shape();
      } else {
        malformed("the key " + quoted(key));
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (m_position != m_text.size()) malformed("text after the dictionary");
    if (!m_dtype || !m_order || !m_shape) malformed("a dictionary that lacks one of its keys");
    return {*m_dtype, *m_order, *m_shape, m_byte_order};
  }

 private:
  [[noreturn]] void malformed(const std::string& found) const {
    refuse(m_path, "a malformed header (" + found + ")",
           "a dictionary with 'descr', 'fortran_order' and 'shape'");
  }

  void skip_space() {
    while (m_position < m_text.size() &&
           std::string_view(" \t\r\n").find(m_text[m_position]) != std::string_view::npos) {
      ++m_position;
    }
  }

  bool accept(char c) {
    skip_space();
    if (m_position == m_text.size() || m_text[m_position] != c) return false;
    ++m_position;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) malformed("no '" + std::string(1, c) + "' where one belongs");
  }

  /// Reads letters and digits.
  std::string_view word() {
    skip_space();
    const std::size_t begin = m_position;
    while (m_position < m_text.size() && is_word(m_text[m_position])) ++m_position;
    return m_text.substr(begin, m_position - begin);
  }

  static bool is_word(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  }

  std::string_view string() {
    skip_space();
    const char quote = m_position < m_text.size() ? m_text[m_position] : '\0';
    if (quote != '\'' && quote != '"') malformed("no string where one belongs");
    const std::size_t begin = ++m_position;
    const std::size_t end = m_text.find(quote, begin);
    if (end == std::string_view::npos) malformed("a string without an end");
    m_position = end + 1;
    return m_text.substr(begin, end - begin);
  }

  DType dtype() {
    skip_space();
    if (m_position < m_text.size() && (m_text[m_position] == '[' || m_text[m_position] == '(')) {
      unusable("a structured dtype");
    }
    const std::string_view text = string();
    std::string_view code = text;
    char byte_order = '|';
    if (!code.empty() && std::string_view("<>|=").find(code[0]) != std::string_view::npos) {
      byte_order = code[0];
      code.remove_prefix(1);
    }
    std::optional<DType> result = dtype_coded(code);
    if (!result) result = dtype_of_character(code);
    if (!result && code == text) result = dtype_named(code);
    if (result) {
      if (byte_order == '>' && size_of(*result) > 1) m_byte_order = ByteOrder::swapped;
      return *result;
    }
    unusable((code.starts_with('O') ? "object dtype " : "dtype ") + quoted(text));
  }

  [[noreturn]] void unusable(const std::string& found) const {
    refuse(m_path, found, one_of(dtype_names()));
  }

  Order order() {
    const std::string_view text = word();
    if (text == "True") return Order::fortran;
    if (text == "False") return Order::c;
    malformed("fortran_order " + quoted(text));
  }

  Shape shape() {
    Shape result;
    expect('(');
    while (!accept(')')) {
      std::string_view text = word();
      if (text.ends_with('L')) text.remove_suffix(1);  // a long integer of Python 2
      std::int64_t extent = -1;
      const char* const end = text.data() + text.size();
      const auto [last, error] = std::from_chars(text.data(), end, extent);
      if (error != std::errc() || last != end || extent < 0) malformed("extent " + quoted(text));
      result.push_back(extent);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return result;
  }

  const std::string& m_path;
  std::string_view m_text;
  std::size_t m_position = 0;
  std::optional<DType> m_dtype;
  ByteOrder m_byte_order = ByteOrder::own;
  std::optional<Order> m_order;
  std::optional<Shape> m_shape;
};

std::string bytes(std::size_t n) { return std::to_string(n) + (n == 1 ? " byte" : " bytes"); }

}  // namespace

ParsedHeader parse_npy_header(const std::string& path, std::span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (!text.starts_with(magic)) {
    refuse(path,
           text.size() < magic.size() ? "a file of " + bytes(text.size())
                                      : "a file that does not begin with \\x93NUMPY",
           "a .npy file");
  }
  const auto byte_at = [&](std::size_t i) {
    if (i >= file.size()) refuse(path, "a header cut off at " + bytes(file.size()), "a .npy file");
    return std::to_integer<std::size_t>(file[i]);
  };
  const std::size_t major = byte_at(magic.size());
  const std::size_t minor = byte_at(magic.size() + 1);
  if (major < 1 || major > 3 || minor != 0) {
    refuse(path, ".npy version " + std::to_string(major) + "." + std::to_string(minor),
           "version 1.0, 2.0 or 3.0");
  }
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  std::size_t size = magic.size() + 2;
  std::size_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) length |= byte_at(size + i) << (8 * i);
  size += length_bytes;
  if (length > file.size() - size) {
    refuse(path, "a header cut off at " + bytes(file.size()), "one of " + bytes(size + length));
  }
  return {HeaderParser(path, text.substr(size, length)).parse(), size + length};
}

std::string format_npy_header(const NpyHeader& header) {
  const DTypeInfo& type = info(header.dtype);
  std::string text("{'descr': '");
  text.append(type.size == 1 ? "|" : "<").append(type.code);
  text.append("', 'fortran_order': ").append(header.order == Order::fortran ? "True" : "False");
  text.append(", 'shape': ").append(to_string(header.shape)).append(", }");
  const std::size_t before = magic.size() + 4;
  while ((before + text.size() + 1) % alignment != 0) text += ' ';
  text += '\n';
  std::string result(magic);
  result += '\x01';
  result += '\x00';
  result += static_cast<char>(text.size() & 0xffU);
  result += static_cast<char>(text.size() >> 8);
  return result + text;
}

void swap_bytes(DType dtype, std::span<std::byte> elements) {
  const std::size_t unit = size_of(dtype) / (info(dtype).kind == Kind::complex ? 2 : 1);
  for (std::byte* at = elements.data(); at != elements.data() + elements.size(); at += unit) {
    std::reverse(at, at + unit);
  }
}

std::string to_string(const Shape& shape) {
  std::string text = "(";
  for (std::size_t d = 0; d < shape.size(); ++d) {
    text += (d > 0 ? ", " : "") + std::to_string(shape[d]);
  }
  return text + (shape.size() == 1 ? ",)" : ")");
}

std::int64_t element_count(const std::string& path, const Shape& shape) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent > most_elements / count) {
      refuse(path, "shape " + to_string(shape), "at most 2^58 elements");
    }
    count *= extent;
  }
  return count;
}

}  // namespace scan_tool
