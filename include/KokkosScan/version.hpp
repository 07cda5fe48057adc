// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The version of kokkos-scan. CMake reads it from here.

/// The version as text, MAJOR.MINOR.PATCH.
#define KOKKOSSCAN_VERSION "0.1.0"
/// Raised if a call of an earlier version may no longer compile or change its meaning.
#define KOKKOSSCAN_VERSION_MAJOR 0
/// Raised if features were added.
#define KOKKOSSCAN_VERSION_MINOR 1
/// Raised if only errors were corrected.
#define KOKKOSSCAN_VERSION_PATCH 0

/// The version of the combination trees, an integer. It is raised if a scan may combine values in
/// another order, so that rounded results may differ in their last bits.
#define KOKKOSSCAN_TREE_VERSION 6
