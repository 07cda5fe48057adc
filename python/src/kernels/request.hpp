// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A scan as plain numbers: the interface between Python or PyTorch and the kernels. It includes no
/// Kokkos header, so callers of the kernels compile without Kokkos.

#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include "dtype.hpp"

#if defined(_WIN32)
#define KOKKOS_SCAN_PYTHON_API
#else
#define KOKKOS_SCAN_PYTHON_API __attribute__((visibility("default")))
#endif

namespace kokkos_scan_python {

/// The maximum number of dimensions of an array.
inline constexpr int max_rank = 8;

enum class Operation : std::uint8_t { sum, prod, min, max, logsumexp };
enum class Form : std::uint8_t { inclusive, exclusive };
enum class Direction : std::uint8_t { forward, backward };
/// The order of combination: the backend's, or that of a serial loop.
enum class Grouping : std::uint8_t { by_tree, in_order };

/// An array that is read or written; its extents follow from the request. Absent if `exists` is
/// false.
struct Array {
  bool exists = false;
  DType dtype = DType::float32;
  void* data = nullptr;
  /// Strides in elements; may be negative. Starting values and totals have a stride for each
  /// dimension of the input except the axis.
  std::int64_t stride[max_rank] = {};
};

/// A number from Python.
struct Number {
  bool exists = false;
  bool is_integer = false;
  /// The integer modulo 2^64.
  std::uint64_t integer = 0;
  std::complex<double> value = 0;
};

/// The memory space of arrays and the stream that orders work on them.
struct Place {
  bool is_cuda = false;
  int device = 0;
  /// A cudaStream_t.
  void* stream = nullptr;
};

/// Becomes a TypeError in Python.
class KOKKOS_SCAN_PYTHON_API TypeError : public std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

/// One scan. The library checks that the arrays agree.
struct Request {
  Operation operation = Operation::sum;
  Form form = Form::inclusive;
  Direction direction = Direction::forward;
  Grouping grouping = Grouping::by_tree;
  int rank = 0;  ///< 1 to 8
  int axis = 0;  ///< counted from the front
  std::int64_t extent[max_rank] = {};
  Array input;
  Array mask;    ///< of bool
  Number start;  ///< common to all lines
  Array starts;  ///< one for each line, of the output's type
  /// The output's extent along the axis; its other extents are those of the input.
  std::int64_t output_length = 0;
  Array output;
  Array totals;  ///< of the output's type
  Place place;
};

/// Enqueues a scan; on hosts it is done on return. Values are converted like numpy.astype does
/// before they are combined. Thread-safe.
///
/// \throws TypeError if the types are not supported
/// \throws std::invalid_argument with the library's message; nothing is written then
KOKKOS_SCAN_PYTHON_API void scan(const Request& request);

/// The gradient of a scan with respect to its input; see gradient.hpp. Unless stated otherwise,
/// arrays have the type of the input, which is a floating type, and its shape.
struct GradientRequest {
  Operation operation = Operation::prod;  ///< not sum, whose gradient is a sum as well
  Form form = Form::inclusive;
  Direction direction = Direction::forward;  ///< of the scan, not of its gradient
  int rank = 0;
  int axis = 0;
  std::int64_t extent[max_rank] = {};
  Array input;
  Array mask;    ///< of bool
  Number start;  ///< that of the scan; not read for exclusive scans
  Array starts;
  Array result;  ///< the results of the scan, with their shape
  Array gradient_of_result;
  std::int64_t output_length = 0;  ///< of result and gradient_of_result
  Array gradient_of_input;         ///< written
  /// Scratch memory; float32 for 16-bit floats.
  Array by_element;
  /// Written, one value per line, if any element is in a result: the gradient with respect to the
  /// result of the first element.
  Array carried;
  Place place;
};

/// Enqueues the computation of a gradient; two launches.
KOKKOS_SCAN_PYTHON_API void gradient(const GradientRequest& request);

/// Minima or maxima with their indices: the last of equal elements or NaNs, as in torch.cummin and
/// torch.cummax. Arrays have three dimensions here: all before the axis merged,
/// the axis, and all behind it merged.
struct ExtremeRequest {
  Operation operation = Operation::max;  ///< or min
  Direction direction = Direction::forward;
  std::int64_t extent[3] = {};
  Array input;
  Array mask;  ///< of bool
  /// Written: row-major, of the input's type. NaNs may have any payload; zeros are never -0.0.
  Array extreme;
  /// Written: row-major, int64; -1 where the mask has been false so far.
  Array index;
  Place place;
};

/// Enqueues the search; one launch.
KOKKOS_SCAN_PYTHON_API void extreme(const ExtremeRequest& request);

/// The maximum length of lines that extreme() takes, for types of a size. (Values of types shorter
/// than 8 bytes can be converted to float64 exactly.)
constexpr std::int64_t longest_line(std::int64_t size) {
  return size < 8 ? 0xFFFF'FFFE : std::numeric_limits<std::int64_t>::max();
}

/// Compacts the elements that a mask keeps to the front of each row of a two-dimensional output.
/// The rest of a row is unchanged.
struct CompactRequest {
  std::int64_t rows = 0;
  std::int64_t length = 0;
  Array input;
  Array mask;    ///< of bool
  Array output;  ///< of the input's type, written
  Array index;   ///< of int64, written if it exists: indices of the kept elements in their rows
  Array counts;  ///< of int64, contiguous, written: number of kept elements in each row
  Place place;
};

/// Enqueues the compaction: one launch for the elements, one for the indices.
KOKKOS_SCAN_PYTHON_API void compact(const CompactRequest& request);

/// Finalises Kokkos if it was initialised here, after all scans. Later scans are refused.
KOKKOS_SCAN_PYTHON_API void finalize();

/// Makes one stream wait for the work enqueued on another.
KOKKOS_SCAN_PYTHON_API void wait(int device, void* waiting_stream, void* stream);

/// Memory of a CUDA device. Freeing it waits for the device.
KOKKOS_SCAN_PYTHON_API void* allocate(int device, std::size_t bytes);
KOKKOS_SCAN_PYTHON_API void deallocate(int device, void* data);

/// A human-readable configuration of the kernels: Kokkos' version and spaces.
KOKKOS_SCAN_PYTHON_API std::string configuration();
/// KOKKOSSCAN_TREE_VERSION.
KOKKOS_SCAN_PYTHON_API int tree_version();
/// Whether arrays in the memory of CUDA devices can be scanned.
KOKKOS_SCAN_PYTHON_API bool has_cuda();

}  // namespace kokkos_scan_python
