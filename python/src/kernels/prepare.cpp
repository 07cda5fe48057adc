// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "instances.hpp"
#include "kernels.hpp"
#include "scan_kernels.hpp"
#include "stored.hpp"

namespace kokkos_scan_python {
namespace {

/// Calls `visitor.template operator()<D>()` for the DType that is `dtype`.
template <class Visitor>
KOKKOS_FUNCTION auto visit(DType dtype, const Visitor& visitor) {
  switch (dtype) {
    case DType::boolean:
      return visitor.template operator()<DType::boolean>();
    case DType::int8:
      return visitor.template operator()<DType::int8>();
    case DType::int16:
      return visitor.template operator()<DType::int16>();
    case DType::int32:
      return visitor.template operator()<DType::int32>();
    case DType::int64:
      return visitor.template operator()<DType::int64>();
    case DType::uint8:
      return visitor.template operator()<DType::uint8>();
    case DType::uint16:
      return visitor.template operator()<DType::uint16>();
    case DType::uint32:
      return visitor.template operator()<DType::uint32>();
    case DType::uint64:
      return visitor.template operator()<DType::uint64>();
    case DType::float16:
      return visitor.template operator()<DType::float16>();
    case DType::bfloat16:
      return visitor.template operator()<DType::bfloat16>();
    case DType::float32:
      return visitor.template operator()<DType::float32>();
    case DType::float64:
      return visitor.template operator()<DType::float64>();
    case DType::complex64:
      return visitor.template operator()<DType::complex64>();
    default:
      return visitor.template operator()<DType::complex128>();
  }
}

enum class Extreme { least, greatest };
/// The least or the greatest value of a type.
template <DType D>
stored_t<D> extreme_of(Extreme extreme) {
  using T = stored_t<D>;
  const bool is_greatest = extreme == Extreme::greatest;
  if constexpr (is_complex<T>) {
    return {};  // refused before
  } else if constexpr (D == DType::boolean) {
    return is_greatest ? 1 : 0;
  } else if constexpr (std::is_integral_v<T>) {
    return is_greatest ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min();
  } else {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    return converted<D>(is_greatest ? infinity : -infinity);
  }
}
/// The identity of an operation among the values of a type.
template <DType D>
stored_t<D> identity(Operation operation) {
  switch (operation) {
    case Operation::sum:
      return converted<D>(0);
    case Operation::prod:
      return converted<D>(1);
    case Operation::min:
      return extreme_of<D>(Extreme::greatest);
    case Operation::max:
    case Operation::logsumexp:
      return extreme_of<D>(Extreme::least);
  }
  return {};  // unreachable
}

/// Copies an array of any type into one of type `To`, each of any strides.
template <DType To>
struct Convert {
  static constexpr std::int64_t most_elements = 4096;

  int rank = 0;
  std::int64_t extent[max_rank] = {};
  std::int64_t from_stride[max_rank] = {};
  std::int64_t mask_stride[max_rank] = {};
  std::int64_t to_stride[max_rank] = {};
  DType from_dtype = To;
  const void* from = nullptr;
  const Boolean* mask = nullptr;  ///< null if there is no mask
  stored_t<To>* to = nullptr;
  stored_t<To> masked = {};
  std::int64_t elements_of_part = 1;  ///< elements of a row (last dimension) per call
  std::int64_t parts_of_row = 1;

  KOKKOS_FUNCTION void operator()(std::int64_t part) const {
    const std::int64_t row_length = extent[rank - 1];
    const std::int64_t first = part % parts_of_row * elements_of_part;
    std::int64_t row = part / parts_of_row;
    std::int64_t from_offset = 0;
    std::int64_t mask_offset = 0;
    std::int64_t to_offset = 0;
    for (int d = rank - 2; d >= 0; --d) {
      const std::int64_t index = row % extent[d];
      row /= extent[d];
      from_offset += index * from_stride[d];
      mask_offset += index * mask_stride[d];
      to_offset += index * to_stride[d];
    }
    const std::int64_t end =
        first + elements_of_part < row_length ? first + elements_of_part : row_length;
    visit(from_dtype, [&]<DType From>() {
      const auto* const source = static_cast<const stored_t<From>*>(from) + from_offset;
      for (std::int64_t k = first; k < end; ++k) {
        const bool is_chosen =
            mask == nullptr || mask[mask_offset + k * mask_stride[rank - 1]] != 0;
        auto element = source[k * from_stride[rank - 1]];
        if constexpr (From == DType::boolean) element = element != 0 ? 1 : 0;
        to[to_offset + k * to_stride[rank - 1]] = is_chosen ? converted<To>(element) : masked;
      }
    });
  }
};

/// The first byte of an array of the given extents, and one past its last.
std::pair<std::intptr_t, std::intptr_t> bytes_of(const Array& array, int rank,
                                                 const std::int64_t* extent) {
  auto low = reinterpret_cast<std::intptr_t>(array.data);
  auto high = low + info(array.dtype).size;
  for (int d = 0; d < rank; ++d) {
    if (extent[d] == 0) return {low, low};
    const std::int64_t reach = array.stride[d] * (extent[d] - 1) * info(array.dtype).size;
    (reach < 0 ? low : high) += reach;
  }
  return {low, high};
}

/// Whether two arrays of the same extents are the same elements.
bool is_same(const Array& a, const Array& b, int rank, const std::int64_t* extent) {
  bool same = a.data == b.data && info(a.dtype).size == info(b.dtype).size;
  for (int d = 0; d < rank; ++d) same = same && (extent[d] <= 1 || a.stride[d] == b.stride[d]);
  return same;
}

void refuse_overlap(const Request& request, const Array& read, const char* name,
                    const Array& place) {
  const auto [low, high] = bytes_of(read, request.rank, request.extent);
  const auto [out_low, out_high] = bytes_of(place, request.rank, request.extent);
  if (low == high || high <= out_low || out_high <= low) return;
  if (is_same(read, place, request.rank, request.extent)) return;
  throw std::invalid_argument(
      std::string("kokkos_scan: ") + name +
      " \"\" and output \"\" overlap in memory without being the same elements.");
}

/// Whether the mask is left to the scan: in order, masked-out elements must not be replaced.
bool keeps_mask(const Request& request) {
  const Kind kind = info(request.output.dtype).kind;
  const bool is_sum = request.operation == Operation::sum || request.operation == Operation::prod;
  return request.grouping == Grouping::in_order && is_sum &&
         (kind == Kind::real || kind == Kind::bfloat || kind == Kind::complex);
}

template <DType To>
void convert(const Request& request, const Array& place) {
  Convert<To> convert;
  for (int d = 0; d < request.rank; ++d) {
    if (request.extent[d] == 0) return;
    if (request.extent[d] == 1) continue;
    const int r = convert.rank++;
    convert.extent[r] = request.extent[d];
    convert.from_stride[r] = request.input.stride[d];
    convert.mask_stride[r] = request.mask.exists ? request.mask.stride[d] : 0;
    convert.to_stride[r] = place.stride[d];
  }
  if (convert.rank == 0) convert.extent[convert.rank++] = 1;
  // Rows are the dimension that is contiguous in the output.
  int row = 0;
  for (int r = 1; r < convert.rank; ++r) {
    if (std::abs(convert.to_stride[r]) <= std::abs(convert.to_stride[row])) row = r;
  }
  const int last = convert.rank - 1;
  const auto to_the_end = [&](std::int64_t* numbers) {
    std::rotate(numbers + row, numbers + row + 1, numbers + last + 1);
  };
  to_the_end(convert.extent);
  to_the_end(convert.from_stride);
  to_the_end(convert.mask_stride);
  to_the_end(convert.to_stride);
  convert.from_dtype = request.input.dtype;
  convert.from = request.input.data;
  convert.mask = keeps_mask(request) ? nullptr : static_cast<const Boolean*>(request.mask.data);
  convert.to = static_cast<stored_t<To>*>(place.data);
  convert.masked = identity<To>(request.operation);
  on_instance(request.place, elements_of(request), [&]<class Exec>(const Exec& exec) {
    // A GPU thread takes one element, so that accesses are coalesced.
    constexpr bool is_host = std::is_same_v<Exec, HostSpace>;
    auto work = convert;
    const std::int64_t row_length = work.extent[last];
    work.elements_of_part = is_host ? std::min(row_length, Convert<To>::most_elements) : 1;
    work.parts_of_row = (row_length + work.elements_of_part - 1) / work.elements_of_part;
    const std::int64_t rows = elements_of(request) / row_length;
    Kokkos::parallel_for("kokkos_scan: convert",
                         Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(
                             exec, 0, rows * work.parts_of_row),
                         work);
  });
}

}  // namespace

Request prepared(const Request& request) {
  Request next = request;
  if (!keeps_mask(request)) next.mask = {};
  next.input = request.output;
  // With n+1 results the elements are copied to the last n places in scan order: a result is stored
  // there only after the element has been read.
  const bool has_extra = request.output_length != request.extent[request.axis];
  if (has_extra && request.direction == Direction::forward) {
    next.input.data = static_cast<std::byte*>(next.input.data) +
                      next.input.stride[request.axis] * info(next.input.dtype).size;
  }
  refuse_overlap(request, request.input, "input", next.input);
  if (request.mask.exists) refuse_overlap(request, request.mask, "mask", next.input);
  visit(next.input.dtype, [&]<DType To>() { convert<To>(request, next.input); });
  return next;
}

}  // namespace kokkos_scan_python
