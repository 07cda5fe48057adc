// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernel_labels.hpp"

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdint>
#include <string_view>

namespace scan_tool {
namespace {

/// The bracketed parts seen so far. Callbacks are plain functions, so there is one list.
std::vector<std::string> parts;
Kokkos::Tools::Experimental::EventSet before;

void record(const char* label, const std::uint32_t /*device*/, std::uint64_t* kernel) {
  *kernel = 0;
  const std::string_view text(label);
  if (!text.starts_with("KokkosScan::")) return;
  const std::size_t begin = text.find('[');
  const std::size_t end = text.rfind(']');
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return;
  std::string part(text.substr(begin + 1, end - begin - 1));
  if (std::find(parts.begin(), parts.end(), part) == parts.end()) parts.push_back(std::move(part));
}

void record_region(const char* label) {
  std::uint64_t unused = 0;
  record(label, 0, &unused);
}

}  // namespace

KernelLabels::KernelLabels() {
  namespace tools = Kokkos::Tools::Experimental;
  parts.clear();
  before = tools::get_callbacks();
  tools::set_begin_parallel_for_callback(record);
  tools::set_begin_parallel_reduce_callback(record);
  tools::set_begin_parallel_scan_callback(record);
  tools::set_push_region_callback(record_region);
}

KernelLabels::~KernelLabels() { Kokkos::Tools::Experimental::set_callbacks(before); }

std::string KernelLabels::path() {
  std::string text;
  std::string family;
  for (const std::string& part : parts) {
    const std::string head = part.substr(0, part.find(' '));
    if (text.empty()) {
      text = part;
    } else if (head == family && head.size() < part.size()) {
      text += " +" + part.substr(head.size());
    } else {
      text += " + " + part;
    }
    family = head;
  }
  return text.empty() ? "unknown" : text;
}

}  // namespace scan_tool
