// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Every public form on the space Kokkos::SPACE; FEWER_TYPES leaves out integers that hardly anybody
// scans. scripts/check-compilers says which compilers compile it.

#include "inputs.hpp"
#include "team.hpp"
#include "types.hpp"

#include <Kokkos_Core.hpp>
#include <cstdio>

#if !defined(SPACE)
#define SPACE DefaultExecutionSpace
#endif
using Exec = Kokkos::SPACE;

int main(int argc, char** argv) {
  const Kokkos::ScopeGuard kokkos(argc, argv);
  forms::integers<Exec>();
#if !defined(FEWER_TYPES)
  forms::more_integers<Exec>();
#endif
  forms::floats<Exec>();
  forms::operators<Exec>();
  forms::inputs<Exec>();
  forms::outputs<Exec>();
  forms::lines<Exec>();
  forms::recurrences<Exec>();
  forms::selections<Exec>();
  forms::teams<Exec>();
  std::printf("%s: %d results, %d of them wrong\n", Exec::name(), forms::checks, forms::failures);
  return forms::failures == 0 ? 0 : 1;
}
