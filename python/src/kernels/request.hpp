// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// A scan as plain numbers: the border between Python, PyTorch and the kernels. No header of
/// Kokkos, so that whatever calls the kernels compiles without it.

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

/// The most dimensions of an array.
inline constexpr int max_rank = 8;

enum class Operation : std::uint8_t { sum, prod, min, max, logsumexp };
enum class Form : std::uint8_t { inclusive, exclusive };
enum class Direction : std::uint8_t { forward, backward };
/// Which values combine first: as the backend likes, or as in a serial loop.
enum class Grouping : std::uint8_t { by_tree, in_order };

/// Memory that is read or written; its extents follow from the request. Absent where `exists` is
/// false.
struct Array {
  bool exists = false;
  DType dtype = DType::float32;
  void* data = nullptr;
  /// Distances in elements, negative where the array runs backwards. Starting values and totals
  /// have one for each dimension of the input but the axis.
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

/// Where arrays live and in what order work on them is done.
struct Place {
  bool is_cuda = false;
  int device = 0;
  /// A cudaStream_t.
  void* stream = nullptr;
};

/// What Python calls a TypeError.
class KOKKOS_SCAN_PYTHON_API TypeError : public std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

/// One scan. What must agree between the arrays is checked by the library.
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
  Number start;  ///< the same for all lines
  Array starts;  ///< one for each line, of the output's type
  /// The output's extent along the axis; the others are the input's.
  std::int64_t output_length = 0;
  Array output;
  Array totals;  ///< of the output's type
  Place place;
};

/// Enqueues a scan; on hosts it is done when this returns. Types convert as numpy.astype does,
/// before they are combined. May be called by several threads at once.
///
/// \throws TypeError if the types do not go together
/// \throws std::invalid_argument in the words of the library; nothing was written then
KOKKOS_SCAN_PYTHON_API void scan(const Request& request);

/// The gradient of a scan with respect to its input, see gradient.hpp. All arrays have the type of
/// the input, a floating type, and the input's shape where nothing else is said.
struct GradientRequest {
  Operation operation = Operation::prod;  ///< not a sum, whose gradient is the sum the other way
  Form form = Form::inclusive;
  Direction direction = Direction::forward;  ///< of the scan, not of its gradient
  int rank = 0;
  int axis = 0;
  std::int64_t extent[max_rank] = {};
  Array input;
  Array mask;    ///< of bool
  Number start;  ///< as in the scan; not read for exclusive scans
  Array starts;
  Array result;  ///< what the scan wrote, of its shape
  Array gradient_of_result;
  std::int64_t output_length = 0;  ///< of result and gradient_of_result
  Array gradient_of_input;         ///< written
  /// Memory that is written on the way, of float32 for 16-bit floats.
  Array by_element;
  /// Written, one for each line, where an element is in a result: the gradient with respect to the
  /// result of the first one.
  Array carried;
  Place place;
};

/// Enqueues the computation of a gradient; two launches.
KOKKOS_SCAN_PYTHON_API void gradient(const GradientRequest& request);

/// Minima or maxima and where they stand: of equal elements the last one, of NaNs, too, as
/// torch.cummin and torch.cummax have it. Arrays have three dimensions here and in a recurrence:
/// all before the axis as one, the axis, and all behind it as one.
struct ExtremeRequest {
  Operation operation = Operation::max;  ///< or min
  Direction direction = Direction::forward;
  std::int64_t extent[3] = {};
  Array input;
  Array mask;  ///< of bool
  /// Row-major, of the input's type, written; NaNs have any payload, and no zero is -0.0.
  Array extreme;
  /// Row-major, of int64, written: -1 where the mask has been false so far.
  Array index;
  Place place;
};

/// Enqueues the search; one launch.
KOKKOS_SCAN_PYTHON_API void extreme(const ExtremeRequest& request);

/// The most elements of a line for which extreme() takes types of a size. Shorter types than 8
/// bytes have values that float64 holds as they are.
constexpr std::int64_t longest_line(std::int64_t size) {
  return size < 8 ? 0xFFFF'FFFE : std::numeric_limits<std::int64_t>::max();
}

/// A linear recurrence h(k) = a(k) h(k-1) + b(k) along the second of three dimensions. All arrays
/// have the same type, a real floating one; it is computed in double.
struct RecurrenceRequest {
  Direction direction = Direction::forward;
  std::int64_t extent[3] = {};
  Array a;                 ///< where it is absent, all coefficients are `coefficient`
  double coefficient = 0;  ///< which is not rounded to the type of the arrays
  Array b;
  Array starts;  ///< h(-1) for each line, by the first and third dimension; 0 where absent
  Array output;
  /// Results of a line: as many as elements, or one more, h(-1).
  std::int64_t output_length = 0;
  Place place;
};

/// Enqueues the computation of a recurrence; one launch.
KOKKOS_SCAN_PYTHON_API void recurrence(const RecurrenceRequest& request);

/// What a mask keeps of each row of two dimensions, at the front of the row of the output; what is
/// behind stays as it was.
struct CompactRequest {
  std::int64_t rows = 0;
  std::int64_t length = 0;
  Array input;
  Array mask;    ///< of bool
  Array output;  ///< of the input's type, written
  Array index;   ///< of int64, written where it exists: where in their rows the elements were
  Array counts;  ///< of int64, contiguous, written: elements that were kept of each row
  Place place;
};

/// Enqueues the selection; a launch for the elements and one for the indices.
KOKKOS_SCAN_PYTHON_API void compact(const CompactRequest& request);

/// Ends Kokkos if it was started here, after all scans. Scans are refused from then on.
KOKKOS_SCAN_PYTHON_API void finalize();

/// Makes one stream wait for what has been enqueued on another.
KOKKOS_SCAN_PYTHON_API void wait(int device, void* waiting_stream, void* stream);

/// Memory of a CUDA device. Freeing it waits for the device.
KOKKOS_SCAN_PYTHON_API void* allocate(int device, std::size_t bytes);
KOKKOS_SCAN_PYTHON_API void deallocate(int device, void* data);

/// The configuration of the kernels for people: Kokkos' version and spaces.
KOKKOS_SCAN_PYTHON_API std::string configuration();
/// KOKKOSSCAN_TREE_VERSION.
KOKKOS_SCAN_PYTHON_API int tree_version();
/// Whether arrays in the memory of CUDA devices can be scanned.
KOKKOS_SCAN_PYTHON_API bool has_cuda();

}  // namespace kokkos_scan_python
