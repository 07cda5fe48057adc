// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The version of kokkos-scan. CMake reads it from here.

/// The version as text, MAJOR.MINOR.PATCH.
#define KOKKOSSCAN_VERSION "0.1.0"
/// Changes where a call of an earlier version may no longer compile or mean the same.
#define KOKKOSSCAN_VERSION_MAJOR 0
/// Changes where something was added.
#define KOKKOSSCAN_VERSION_MINOR 1
/// Changes where something was mended.
#define KOKKOSSCAN_VERSION_PATCH 0

/// The version of the combination trees, a whole number: changes where a scan may combine values in
/// another order, so that results which round may differ in their last bits.
#define KOKKOSSCAN_TREE_VERSION 3
