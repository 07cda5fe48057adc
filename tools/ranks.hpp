// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// The ranks of MPI that run the program side by side: one, unless mpirun has started it and the
/// library was configured with MPI.

#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <span>
#include <string>

#include "error.hpp"

namespace scan_tool {

/// An error that all ranks throw: one of them reports it for all.
class AgreedError : public UserError {
 public:
  using UserError::UserError;
};

/// MPI is usable while this lives.
class Ranks {
 public:
  /// Initialises MPI if a launcher of ranks has started the program.
  Ranks(int* argc, char*** argv);
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  [[nodiscard]] int rank() const { return m_rank; }
  [[nodiscard]] int size() const { return m_size; }

  /// Does something on each rank that may fail; collective.
  /// \throws AgreedError on all ranks if it has failed on one, with the words of the first of them
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

  /// The text of the first rank, on all; collective.
  [[nodiscard]] std::string from_first(std::string text);

  /// Stores in each byte whether it is not zero on some rank; collective.
  void unite(std::span<std::uint8_t> flags);

  /// Ends the program on all ranks.
  [[noreturn]] void abort(int status) const;

 private:
  void agree(const std::optional<std::string>& error);

  int m_rank = 0;
  int m_size = 1;
  bool m_has_mpi = false;
};

}  // namespace scan_tool
