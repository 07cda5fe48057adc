// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file
/// Each public header includes this before its other includes, and end_header.hpp at its end. They
/// shield the library from macros and warning flags of the including source. As the pair is
/// included many times, there is no `#pragma once`.

// Kernels index by signed integers and cast vectors as the compiler's own headers do. Clang warns
// about each loop that it was asked to vectorise and did not.
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wold-style-cast"
#if defined(__clang__)
#pragma GCC diagnostic ignored "-Wpass-failed"
#endif
#endif

// Macros of windows.h, X11 and sys/types.h whose names are used here.
#pragma push_macro("min")
#pragma push_macro("max")
#pragma push_macro("near")
#pragma push_macro("far")
#pragma push_macro("None")
#pragma push_macro("major")
#pragma push_macro("minor")
#undef min
#undef max
#undef near
#undef far
#undef None
#undef major
#undef minor
