// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "demo.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <limits>
#include <vector>

#include "demo_run.hpp"
#include "error.hpp"
#include "kokkos_session.hpp"
#include "spaces.hpp"

namespace scan_tool {
namespace {

constexpr std::int64_t default_columns = 32768;

std::string formatted(const char* format, double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

/// A number in JSON, which has neither infinity nor NaN.
std::string json_number(double value) {
  return std::isfinite(value) ? formatted("%.6g", value) : "null";
}

std::string json_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

void print_json(const std::vector<DemoResult>& results, std::string_view space, std::int64_t rows,
                std::int64_t columns) {
  std::cout << "[";
  const char* separator = "\n";
  for (const DemoResult& result : results) {
    std::cout << separator << "  {\"scan\": " << json_string(name_of(result.scan))
              << ", \"space\": " << json_string(space) << ", \"path\": " << json_string(result.path)
              << ", \"rows\": " << rows << ", \"cols\": " << columns
              << ", \"ms\": " << json_number(result.milliseconds)
              << ", \"gb_per_s\": " << json_number(result.gigabytes_per_second)
              << ", \"fraction_of_copy\": " << json_number(result.fraction_of_copy)
              << ", \"error_u\": " << json_number(result.worst.error) << "}";
    separator = ",\n";
  }
  std::cout << "\n]\n";
}

/// Prints a table with numbers right-aligned.
void print_aligned(const std::vector<std::vector<std::string>>& table, std::size_t text_columns) {
  std::vector<std::size_t> widths(table.front().size());
  for (const auto& row : table) {
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  for (const auto& row : table) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string fill(widths[c] - row[c].size(), ' ');
      line += (c > 0 ? "  " : "") + (c < text_columns ? row[c] + fill : fill + row[c]);
    }
    std::cout << line << '\n';
  }
}

void print_table(const std::vector<DemoResult>& results, const std::string& space,
                 std::int64_t rows, std::int64_t columns) {
  const double mebibytes = static_cast<double>(rows) * static_cast<double>(columns) * 4 / (1 << 20);
  std::cout << "Scans along axis 1 of " << rows << " x " << columns << " float32 ("
            << formatted("%.4g", mebibytes)
            << " MiB), uniform in [0, 1); the product's factors are\nuniform around 1. Times are "
               "medians; a copy moves 8 bytes an element, so does a scan, with a mask 9.\n"
               "error: the largest in units of u * sum|x|, u = 2^-24 (product: of u * |exact|), "
               "where 8 is allowed,\nof all elements against long double on the host.\n\n";
  std::vector<std::vector<std::string>> table{
      {"scan", "space", "path", "ms", "GB/s", "of copy", "error"}};
  for (const DemoResult& result : results) {
    table.push_back(
        {std::string(name_of(result.scan)), space, result.path,
         formatted("%.3f", result.milliseconds), formatted("%.1f", result.gigabytes_per_second),
         formatted("%.2f", result.fraction_of_copy), formatted("%.2f", result.worst.error)});
  }
  print_aligned(table, 3);
}

/// The rows and columns to use.
struct Size {
  std::int64_t rows;
  std::int64_t columns;
};

Size demo_size(const DemoOptions& options) {
  const auto check = [](const char* option, std::int64_t value) {
    if (value < 1) refuse(option, std::to_string(value), "1 or more");
    return value;
  };
  const std::int64_t columns = check("--cols", options.columns.value_or(default_columns));
  const std::int64_t row_bytes =
      columns > std::numeric_limits<std::int64_t>::max() / 8 ? columns : 4 * columns;
  const std::int64_t rows = check("--rows", options.rows.value_or(std::max<std::int64_t>(
                                                1, default_demo_bytes(options.space) / row_bytes)));
  if (rows > std::numeric_limits<std::int64_t>::max() / 8 / columns) {
    refuse("--rows and --cols", std::to_string(rows) + " and " + std::to_string(columns),
           "fewer than 2^60 elements");
  }
  return {rows, columns};
}

}  // namespace

int run_demo(const DemoOptions& options) {
  check_space(options.space);
  const KokkosSession session;
  const Size size = demo_size(options);
  const std::vector<DemoResult> results = measure_demo(options.space, size.rows, size.columns);
  if (options.json) {
    print_json(results, options.space, size.rows, size.columns);
  } else {
    print_table(results, options.space, size.rows, size.columns);
  }
  std::cout.flush();
  int status = 0;
  for (const DemoResult& result : results) {
    if (!result.worst.exceeded) continue;
    std::cerr << "kokkos-scan: the " << name_of(result.scan) << " on " << options.space
              << " has an error of " << formatted("%.3g", result.worst.error) << " u at row "
              << result.worst.row << ", column " << result.worst.column << ", but "
              << formatted("%.6g", result.worst.bound) << " is allowed.\n";
    status = 1;
  }
  return status;
}

}  // namespace scan_tool
