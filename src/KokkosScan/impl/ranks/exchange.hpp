// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What a scan over ranks asks of a library that carries its messages: an *exchange*. There are
/// two, mpi::Exchange and nccl::Exchange. One belongs to a plan.
///
/// | member | meaning |
/// |---|---|
/// | name | in messages of errors and labels of kernels |
/// | is_enqueued | whether messages are enqueued like kernels, so that the host never waits for
/// them | | most_bytes | of a message | | rank(), size() | this rank, how many there are | |
/// reserve_staging(bytes) | makes room for the messages of a call | | reduce_to_largest(values,
/// count) | the maxima over all ranks, in host memory; the host waits | | broadcast(data, bytes,
/// root) | the same for bytes of one rank | | open(blocks, lengths) | a call begins, with the
/// lengths of all parts if is_enqueued | | mark(i), wait_for_mark(i) | what is posted after
/// wait_for_mark follows what exec got before mark | | stage(place, bytes), unstage(...) | enqueued
/// before a message is sent, after it is received | | begin_group(), end_group() | around messages
/// that may wait for each other | | send(b, place, bytes, to) | posts the message of block b; ranks
/// without values send 0 bytes | | receive(b, place, bytes, from, first) | its values are of the
/// ranks from ... first, or empty | | is_here(b) | whether the message of block b has arrived | |
/// finish_receive(b) | what exec gets next has the message; returns whether it had values | |
/// finish_send(b) | what exec gets next may overwrite what was sent | | share(place, bytes, root) |
/// in the order of exec, copies values of one rank to all | | close() | what exec gets next may use
/// all memory of messages again |

#include <cstddef>

namespace KokkosScan::impl::ranks {

/// Where the values of a message are: in memory of the execution space, and in staging memory.
struct Place {
  std::byte* data;
  std::size_t offset;
};

}  // namespace KokkosScan::impl::ranks
