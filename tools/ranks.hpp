// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The MPI ranks of the program: a single one, unless mpirun has started it and the library was
/// configured with MPI.

#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <span>
#include <string>

#include "error.hpp"

namespace scan_tool {

/// An error that all ranks throw and one of them reports.
class AgreedError : public UserError {
 public:
  using UserError::UserError;
};

/// MPI is initialised during this object's lifetime.
class Ranks {
 public:
  /// Initialises MPI if an MPI launcher has started the program.
  Ranks(int* argc, char*** argv);
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  [[nodiscard]] int rank() const { return m_rank; }
  [[nodiscard]] int size() const { return m_size; }

  /// Calls a function that may fail on each rank; collective.
  /// \throws AgreedError on all ranks if it fails on any, with the message of the first such rank
  template <class F>
  void attempt(const F& f) {
    std::optional<std::string> error;
    try {
      f();
    } catch (const std::bad_alloc&) {
      error = "not enough memory for these arrays.";
    } catch (const std::exception& e) {
      error = e.what();
    }
    agree(error);
  }

  /// Broadcasts the text of rank 0; collective.
  [[nodiscard]] std::string from_first(std::string text);

  /// Sets each byte to whether it is non-zero on any rank; collective.
  void unite(std::span<std::uint8_t> flags);

  /// Aborts the program on all ranks.
  [[noreturn]] void abort(int status) const;

 private:
  void agree(const std::optional<std::string>& error);

  int m_rank = 0;
  int m_size = 1;
  bool m_has_mpi = false;
};

}  // namespace scan_tool
