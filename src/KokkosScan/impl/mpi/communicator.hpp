// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A duplicate of the caller's communicator, which carries all messages, and MPI's errors.

#include <mpi.h>

#include <stdexcept>
#include <string>

namespace KokkosScan::impl::mpi {

/// Throws MPI's error text if a call has failed.
inline void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw std::runtime_error(std::string("KokkosScan::mpi: ") + call + ": " + text);
}

/// A duplicate of a communicator, freed with this object. MPI returns errors instead of aborting.
class Communicator {
 public:
  /// Collective.
  explicit Communicator(MPI_Comm comm) {
    int is_inter = 0;
    check(MPI_Comm_test_inter(comm, &is_inter), "MPI_Comm_test_inter");
    if (is_inter != 0) {
      throw std::invalid_argument(
          "KokkosScan::mpi: the ranks of an intercommunicator have no order.");
    }
    check(MPI_Comm_dup(comm, &m_comm), "MPI_Comm_dup");
    check(MPI_Comm_set_errhandler(m_comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Comm_rank(m_comm, &m_rank), "MPI_Comm_rank");
    check(MPI_Comm_size(m_comm, &m_size), "MPI_Comm_size");
  }
  ~Communicator() {
    int is_over = 0;
    MPI_Finalized(&is_over);
    if (is_over == 0 && m_comm != MPI_COMM_NULL) MPI_Comm_free(&m_comm);
  }
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] MPI_Comm get() const { return m_comm; }
  [[nodiscard]] int rank() const { return m_rank; }
  [[nodiscard]] int size() const { return m_size; }
  /// Leaves it to MPI to free the communicator.
  void release() { m_comm = MPI_COMM_NULL; }

 private:
  MPI_Comm m_comm = MPI_COMM_NULL;
  int m_rank = 0;
  int m_size = 0;
};

/// Called by MPI when a communicator is freed: frees its duplicate.
inline int free_duplicate(MPI_Comm comm, int, void* duplicate, void*) {
  auto* const communicator = static_cast<Communicator*>(duplicate);
  // Both live until MPI_Finalize, which frees the duplicate itself and allows no more calls.
  if (comm == MPI_COMM_WORLD || comm == MPI_COMM_SELF) communicator->release();
  delete communicator;
  return MPI_SUCCESS;
}

/// The duplicate of `comm`, cached as an attribute of `comm` until that is freed. The first call
/// creates it and is collective.
inline const Communicator& duplicate_of(MPI_Comm comm) {
  static const int key = [] {
    int made = MPI_KEYVAL_INVALID;
    check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &free_duplicate, &made, nullptr),
          "MPI_Comm_create_keyval");
    return made;
  }();
  void* duplicate = nullptr;
  int exists = 0;
  check(MPI_Comm_get_attr(comm, key, &duplicate, &exists), "MPI_Comm_get_attr");
  if (exists == 0) {
    duplicate = new Communicator(comm);
    check(MPI_Comm_set_attr(comm, key, duplicate), "MPI_Comm_set_attr");
  }
  return *static_cast<const Communicator*>(duplicate);
}

}  // namespace KokkosScan::impl::mpi
