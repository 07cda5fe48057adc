// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "info.hpp"

#include <KokkosScan/version.hpp>
#include <Kokkos_Core.hpp>
#include <iostream>
#include <sstream>
#include <string>
#include <tuple>

#include "kokkos_session.hpp"
#include "spaces.hpp"

namespace scan_tool {
namespace {

template <class Exec>
void print_space(const NamedSpace<Exec>& space) {
  const Exec exec{};
  std::cout << "  " << space.name << ": concurrency " << exec.concurrency() << ", memory "
            << Exec::memory_space::name() << (space.name == default_space() ? ", the default" : "")
            << '\n';
}

}  // namespace

void run_info() {
  const KokkosSession session;
  std::cout << "kokkos-scan " << KOKKOSSCAN_VERSION << '\n'
            << "combination trees: version " << KOKKOSSCAN_TREE_VERSION << '\n'
            << "Kokkos " << KOKKOS_VERSION / 10000 << '.' << KOKKOS_VERSION / 100 % 100 << '.'
            << KOKKOS_VERSION % 100 << '\n'
            << "spaces:\n";
  std::apply([](const auto&... space) { (print_space(space), ...); }, spaces);
  // Without a device space Kokkos returns -1.
  if (Kokkos::num_devices() < 0) {
    std::cout << "devices: none\n";
  } else {
    std::cout << "devices: " << Kokkos::num_devices() << ", of which number " << Kokkos::device_id()
              << " is used\n";
  }
  std::cout << "configuration of Kokkos:\n";
  std::ostringstream configuration;
  Kokkos::print_configuration(configuration);
  std::istringstream lines(configuration.str());
  for (std::string line; std::getline(lines, line);) std::cout << "  " << line << '\n';
}

}  // namespace scan_tool
