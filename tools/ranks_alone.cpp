// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The program without MPI. Programs that link MPI can take long to start, so there are two
// executables, and this one executes the other if an MPI launcher started it.

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "launcher.hpp"
#include "ranks.hpp"
#include "scan_problem.hpp"

namespace scan_tool {

Ranks::Ranks(int*, char*** argv) {
  if (!has_launcher()) return;
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return;
  // If there is none, each rank does everything by itself.
  const std::filesystem::path other = self.parent_path() / "kokkos-scan-mpi";
  ::execv(other.c_str(), *argv);
}
Ranks::~Ranks() = default;

void Ranks::agree(const std::optional<std::string>& error) {
  if (error) throw AgreedError(*error);
}
std::string Ranks::from_first(std::string text) { return text; }
void Ranks::unite(std::span<std::uint8_t>) {}
void Ranks::abort(int status) const { std::_Exit(status); }

template <class A>
void scan_over_ranks(const ScanProblem<A>&, std::string_view) {
  std::abort();  // there are no other ranks
}
template void scan_over_ranks(const ScanProblem<std::int64_t>&, std::string_view);
template void scan_over_ranks(const ScanProblem<std::uint64_t>&, std::string_view);
template void scan_over_ranks(const ScanProblem<float>&, std::string_view);
template void scan_over_ranks(const ScanProblem<double>&, std::string_view);
template void scan_over_ranks(const ScanProblem<std::complex<float>>&, std::string_view);
template void scan_over_ranks(const ScanProblem<std::complex<double>>&, std::string_view);

}  // namespace scan_tool
