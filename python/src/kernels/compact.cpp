// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The elements of each row that a mask keeps. Elements are moved as bits, so kernels depend on
// their size only.

#include <KokkosScan/select.hpp>
#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "instances.hpp"
#include "request.hpp"

namespace kokkos_scan_python {
namespace {

/// An element of complex128.
struct Bits128 {
  std::uint64_t low, high;
};

struct IndexOfRow {
  KOKKOS_FUNCTION std::int64_t operator()(std::int64_t, std::int64_t index) const { return index; }
};

template <class T, class Exec>
auto rows_of(const Array& array, const CompactRequest& request) {
  const auto number = [](std::int64_t value) { return static_cast<std::size_t>(value); };
  using View = Kokkos::View<T**, Kokkos::LayoutStride, typename Exec::memory_space,
                            Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  return View(static_cast<T*>(array.data),
              Kokkos::LayoutStride(number(request.rows), number(array.stride[0]),
                                   number(request.length), number(array.stride[1])));
}

template <class Bits>
void compact_bits(const CompactRequest& request) {
  on_instance(request.place, request.rows * request.length, [&]<class Exec>(const Exec& exec) {
    using Counts = Kokkos::View<std::int64_t*, typename Exec::memory_space,
                                Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
    const auto mask = rows_of<const bool, Exec>(request.mask, request);
    const Counts counts(static_cast<std::int64_t*>(request.counts.data),
                        static_cast<std::size_t>(request.rows));
    KokkosScan::select(exec, rows_of<const Bits, Exec>(request.input, request), mask,
                       rows_of<Bits, Exec>(request.output, request), counts);
    if (!request.index.exists) return;
    KokkosScan::select(exec, KokkosScan::elementwise({request.rows, request.length}, IndexOfRow{}),
                       mask, rows_of<std::int64_t, Exec>(request.index, request), counts);
  });
}

}  // namespace

void compact(const CompactRequest& request) {
  switch (info(request.input.dtype).size) {
    case 1:
      return compact_bits<std::uint8_t>(request);
    case 2:
      return compact_bits<std::uint16_t>(request);
    case 4:
      return compact_bits<std::uint32_t>(request);
    case 8:
      return compact_bits<std::uint64_t>(request);
    default:
      return compact_bits<Bits128>(request);
  }
}

}  // namespace kokkos_scan_python
