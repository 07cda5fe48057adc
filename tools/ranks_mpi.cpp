// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ranks.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "launcher.hpp"

namespace scan_tool {

namespace {

void check(int code) {
  if (code != MPI_SUCCESS) throw std::runtime_error("MPI reports an error.");
}

}  // namespace

Ranks::Ranks(int* argc, char*** argv) {
  if (!has_launcher()) return;
  check(MPI_Init(argc, argv));
  m_has_mpi = true;
  check(MPI_Comm_rank(MPI_COMM_WORLD, &m_rank));
  check(MPI_Comm_size(MPI_COMM_WORLD, &m_size));
}

Ranks::~Ranks() {
  if (m_has_mpi) MPI_Finalize();
}

void Ranks::agree(const std::optional<std::string>& error) {
  if (m_size == 1) {
    if (error) throw AgreedError(*error);
    return;
  }
  int largest = error ? m_size - m_rank : 0;
  check(MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
  if (largest == 0) return;
  const int first = m_size - largest;
  std::string text = error.value_or("");
  int length = static_cast<int>(text.size());
  check(MPI_Bcast(&length, 1, MPI_INT, first, MPI_COMM_WORLD));
  text.resize(static_cast<std::size_t>(length));
  check(MPI_Bcast(text.data(), length, MPI_CHAR, first, MPI_COMM_WORLD));
  throw AgreedError(first == 0 ? text : "rank " + std::to_string(first) + ": " + text);
}

std::string Ranks::from_first(std::string text) {
  if (m_size == 1) return text;
  int length = static_cast<int>(text.size());
  check(MPI_Bcast(&length, 1, MPI_INT, 0, MPI_COMM_WORLD));
  text.resize(static_cast<std::size_t>(length));
  check(MPI_Bcast(text.data(), length, MPI_CHAR, 0, MPI_COMM_WORLD));
  return text;
}

void Ranks::unite(std::span<std::uint8_t> flags) {
  if (m_size == 1) return;
  constexpr std::size_t most = std::size_t{1} << 30;
  for (std::size_t at = 0; at < flags.size(); at += most) {
    const auto count = static_cast<int>(std::min(most, flags.size() - at));
    check(MPI_Allreduce(MPI_IN_PLACE, flags.data() + at, count, MPI_UINT8_T, MPI_MAX,
                        MPI_COMM_WORLD));
  }
}

void Ranks::abort(int status) const {
  if (m_has_mpi) MPI_Abort(MPI_COMM_WORLD, status);
  std::_Exit(status);
}

}  // namespace scan_tool
