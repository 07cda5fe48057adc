// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// What a scan over ranks asks of a library that carries its messages: an *exchange*. There are
/// two, mpi::Exchange and nccl::Exchange. A plan has one.
///
/// - name: in messages of errors and labels of kernels
/// - is_enqueued: whether messages are enqueued like kernels, so that the host never waits for them
/// - most_bytes: of a message
/// - rank(), size(): this rank; how many there are
/// - reserve_staging(bytes): makes room for the messages of a call
/// - reduce_to_largest(values, count): maxima over all ranks, in host memory; the host waits
/// - broadcast(data, bytes, root): bytes of one rank, in host memory; the host waits
/// - open(blocks, lengths): a call begins; the lengths of all parts are known if is_enqueued
/// - mark(i), wait_for_mark(i): what is posted next follows what the instance got before the mark
/// - stage(place, bytes): enqueued before a message is sent; unstage(), after it is received
/// - begin_group(), end_group(): around messages that may wait for each other
/// - send(b, place, bytes, to): posts the message of a block; ranks without values send 0 bytes
/// - receive(b, place, bytes, from, first): the values are those of the ranks from ... first, or
///   there are none
/// - is_here(b): whether the message of a block has arrived
/// - finish_receive(b): what the instance gets next has the message; returns whether it has values
/// - finish_send(b): what the instance gets next may overwrite what was sent
/// - share(place, bytes, root): copies values of one rank to all, in the order of the instance
/// - close(): what the instance gets next may use the memory of messages again

#include <cstddef>

namespace KokkosScan::impl::ranks {

/// Where the values of a message are: in memory of the execution space, and in staging memory.
struct Place {
  std::byte* data;
  std::size_t offset;
};

}  // namespace KokkosScan::impl::ranks
