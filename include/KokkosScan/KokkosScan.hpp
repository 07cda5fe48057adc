// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Includes all of kokkos-scan except mpi.hpp and nccl.hpp.
#include <KokkosScan/affine.hpp>
#include <KokkosScan/concepts.hpp>
#include <KokkosScan/inputs.hpp>
#include <KokkosScan/lines.hpp>
#include <KokkosScan/operators.hpp>
#include <KokkosScan/outputs.hpp>
#include <KokkosScan/recurrence.hpp>
#include <KokkosScan/scan.hpp>
#include <KokkosScan/select.hpp>
#include <KokkosScan/version.hpp>
