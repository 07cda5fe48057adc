// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// The end of each public header; see begin_header.hpp.

#pragma pop_macro("min")
#pragma pop_macro("max")
#pragma pop_macro("near")
#pragma pop_macro("far")
#pragma pop_macro("None")
#pragma pop_macro("major")
#pragma pop_macro("minor")

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
