// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The scans of the group "random" as a library for other languages, on memory of theirs: peers.py
/// times them in turns with what it compares them with. nvcc alone builds it:
///
///     for f in perf_tests/cuda/random_*.cu perf_tests/cuda/device.cpp; do
///       nvcc -x cu -std=c++20 -O3 -arch=sm_90 -Xcompiler -fPIC -I unit_tests/cuda/annotations \
///         -I include -I src -c $f -o $(basename $f).o &
///     done; wait; nvcc -arch=sm_90 -shared random_*.o device.cpp.o -ldl -o librandom.so

#include <cstdint>
#include <exception>
#include <iostream>
#include <string>

#include "random.hpp"

namespace {

/// The kind with these names.
const perf::RandomKind* find(const char* type, const char* variant) {
  static const std::vector<perf::RandomKind> all = perf::random_kinds();
  for (const perf::RandomKind& kind : all) {
    if (std::string(kind.type) == type && std::string(kind.variant) == variant) return &kind;
  }
  return nullptr;
}

}  // namespace

/// Bytes of workspace that a scan along the middle of a dense array (outer, n, inner) needs.
///
/// \param type, variant as in the names of results: "float" and "/masked", say
/// \return -1 if there is no such kind
extern "C" std::int64_t random_workspace_bytes(const char* type, const char* variant,
                                               std::int64_t outer, std::int64_t n,
                                               std::int64_t inner) {
  const perf::RandomKind* const kind = find(type, variant);
  if (kind == nullptr) return -1;
  return static_cast<std::int64_t>(kind->workspace_bytes({outer, n, inner}));
}

/// Enqueues such a scan on the default stream.
///
/// \param mask null if the kind has none
/// \return 0, or 1 if it failed, with a message on stderr
extern "C" int random_scan(const char* type, const char* variant, std::int64_t outer,
                           std::int64_t n, std::int64_t inner, void* in, bool* mask, void* out,
                           std::byte* workspace) {
  try {
    find(type, variant)->scan({outer, n, inner}, {in, mask, out}, workspace);
    return 0;
  } catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
  }
}
