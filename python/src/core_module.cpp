// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// kokkos_scan._core: scans of arrays that support DLPack or the buffer protocol, as plain
// functions. The Python package resolves types, shapes and streams; here they become a Request.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "kernels/recurrence.hpp"
#include "kernels/request.hpp"

namespace nb = nanobind;

namespace kokkos_scan_python {
namespace {

using AnyArray = nb::ndarray<nb::ro>;
using WritableArray = nb::ndarray<>;

[[noreturn]] void refuse_type(const std::string& what) {
  throw nb::type_error(("kokkos_scan: " + what).c_str());
}

std::string type_name_of(nb::handle object) {
  return nb::cast<std::string>(nb::str(object.type().attr("__name__")));
}

/// The memory of an object, which stays alive with the result.
template <class NdArray>
NdArray memory_of(nb::handle object, const char* name) {
  NdArray array;
  if (nb::try_cast<NdArray>(object, array)) return array;
  if (std::is_same_v<NdArray, WritableArray> && nb::isinstance<AnyArray>(object)) {
    throw nb::value_error((std::string("kokkos_scan: ") + name + " is read-only.").c_str());
  }
  refuse_type(std::string(name) + " is a " + type_name_of(object) +
              ": expected an array that speaks DLPack or the buffer protocol.");
}

/// The DType for a name, for types that memory cannot express: NumPy stores bfloat16 differently.
DType dtype_of_memory(const nb::dlpack::dtype& type, const char* name, bool is_bfloat16) {
  std::optional<DType> dtype;
  if (type.lanes == 1) dtype = dtype_of(type.code, type.bits);
  if (is_bfloat16 && dtype == DType::uint16) dtype = DType::bfloat16;
  if (!dtype) {
    refuse_type(std::string(name) + " has elements of a type that cannot be scanned (DLPack code " +
                std::to_string(type.code) + ", " + std::to_string(type.bits) + " bits).");
  }
  return *dtype;
}

template <class NdArray>
Array array_of(const NdArray& memory, const char* name, bool is_bfloat16) {
  Array array;
  array.exists = true;
  array.dtype = dtype_of_memory(memory.dtype(), name, is_bfloat16);
  array.data = const_cast<void*>(static_cast<const void*>(memory.data()));
  std::int64_t dense = 1;
  for (int d = static_cast<int>(memory.ndim()) - 1; d >= 0; --d) {
    const auto at = static_cast<std::size_t>(d);
    // Without strides, the array is row-major.
    array.stride[d] = memory.stride_ptr() != nullptr ? memory.stride(at) : dense;
    dense *= static_cast<std::int64_t>(memory.shape(at));
  }
  return array;
}

std::string text_of(std::int64_t rank, const std::int64_t* extent) {
  std::string text = "(";
  for (std::int64_t d = 0; d < rank; ++d) text += (d == 0 ? "" : ", ") + std::to_string(extent[d]);
  return text + (rank == 1 ? ",)" : ")");
}

template <class NdArray>
void check_shape(const NdArray& memory, const char* name, std::int64_t rank,
                 const std::int64_t* extent) {
  bool same = static_cast<std::int64_t>(memory.ndim()) == rank;
  for (std::int64_t d = 0; same && d < rank; ++d) {
    same = static_cast<std::int64_t>(memory.shape(static_cast<std::size_t>(d))) == extent[d];
  }
  if (same) return;
  std::vector<std::int64_t> found;
  for (std::size_t d = 0; d < memory.ndim(); ++d) {
    found.push_back(static_cast<std::int64_t>(memory.shape(d)));
  }
  throw nb::value_error((std::string("kokkos_scan: ") + name + " has shape " +
                         text_of(static_cast<std::int64_t>(found.size()), found.data()) +
                         ", but expected is " + text_of(rank, extent) + ".")
                            .c_str());
}

constexpr int dlpack_cpu = 1;
constexpr int dlpack_cuda = 2;
constexpr int dlpack_cuda_host = 3;
constexpr int dlpack_cuda_managed = 13;

template <class NdArray>
void check_place(const NdArray& memory, const char* name, const Place& place) {
  const int type = memory.device_type();
  const bool is_cuda = type == dlpack_cuda || type == dlpack_cuda_managed;
  if (!is_cuda && type != dlpack_cpu && type != dlpack_cuda_host) {
    throw nb::value_error((std::string("kokkos_scan: ") + name +
                           " is neither in the memory of the host nor of a CUDA device.")
                              .c_str());
  }
  if (is_cuda == place.is_cuda && (!is_cuda || memory.device_id() == place.device)) return;
  throw nb::value_error(
      (std::string("kokkos_scan: ") + name + " is on another device than x.").c_str());
}

Number number_of(nb::handle object) {
  Number number;
  number.exists = true;
  if (PyLong_Check(object.ptr())) {
    number.is_integer = true;
    number.integer = PyLong_AsUnsignedLongLongMask(object.ptr());
    number.value = PyLong_AsDouble(object.ptr());
    PyErr_Clear();  // an integer that overflows double
    return number;
  }
  const Py_complex value = PyComplex_AsCComplex(object.ptr());
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  number.value = {value.real, value.imag};
  return number;
}

/// The library's error message with the names of Python's arguments.
std::string with_names(std::string message) {
  constexpr std::array<std::pair<const char*, const char*>, 5> names{
      {{"input \"\"", "x"},
       {"mask \"\"", "mask"},
       {"output \"\"", "out"},
       {"starting values \"\"", "initial"},
       {"totals \"\"", "totals"}}};
  for (const auto& [role, name] : names) {
    for (std::size_t at = message.find(role); at != std::string::npos; at = message.find(role)) {
      message.replace(at, std::char_traits<char>::length(role), name);
    }
  }
  return message;
}

/// Calls the kernels without the GIL.
template <class Call>
void without_gil(const Call& call) {
  try {
    const nb::gil_scoped_release release;
    call();
  } catch (const TypeError& error) {
    throw nb::type_error(with_names(error.what()).c_str());
  } catch (const std::invalid_argument& error) {
    throw nb::value_error(with_names(error.what()).c_str());
  }
}

/// Common to all arrays of a request.
struct Shape {
  int rank = 0;
  int axis = 0;
  std::array<std::int64_t, max_rank> extent{};
  std::array<std::int64_t, max_rank> lines{};

  [[nodiscard]] std::array<std::int64_t, max_rank> with_length(std::int64_t length) const {
    auto result = extent;
    result[static_cast<std::size_t>(axis)] = length;
    return result;
  }
};

template <class NdArray>
Shape shape_of(const NdArray& memory, int axis) {
  if (memory.ndim() < 1 || memory.ndim() > static_cast<std::size_t>(max_rank)) {
    throw nb::value_error(("kokkos_scan: x has " + std::to_string(memory.ndim()) +
                           " dimensions: allowed are 1 to " + std::to_string(max_rank) + ".")
                              .c_str());
  }
  Shape shape;
  shape.rank = static_cast<int>(memory.ndim());
  shape.axis = axis < 0 ? axis + shape.rank : axis;
  if (shape.axis < 0 || shape.axis >= shape.rank) {
    throw nb::index_error(("kokkos_scan: axis " + std::to_string(axis) +
                           " is out of range for x of rank " + std::to_string(shape.rank) +
                           ": allowed are " + std::to_string(-shape.rank) + " to " +
                           std::to_string(shape.rank - 1) + ".")
                              .c_str());
  }
  std::size_t next = 0;
  for (std::size_t d = 0; d < memory.ndim(); ++d) {
    shape.extent[d] = static_cast<std::int64_t>(memory.shape(d));
    if (static_cast<int>(d) != shape.axis) shape.lines[next++] = shape.extent[d];
  }
  return shape;
}

template <class NdArray>
Place place_of(const NdArray& memory, std::uintptr_t stream) {
  const bool is_cuda =
      memory.device_type() == dlpack_cuda || memory.device_type() == dlpack_cuda_managed;
  return {is_cuda, is_cuda ? static_cast<int>(memory.device_id()) : 0,
          // NOLINTNEXTLINE(performance-no-int-to-ptr): a stream's address
          reinterpret_cast<void*>(stream)};
}

/// Scans x into out.
///
/// initial: None, a number, or an array of one value per line; totals: None or such an array.
/// is_bfloat16: x and the results are arrays of uint16 that hold the bits of bfloat16.
void scan_arrays(int operation, nb::handle x, nb::handle out, int axis, bool include_initial,
                 bool exclusive, bool reverse, nb::handle mask, nb::handle initial,
                 nb::handle totals, std::uintptr_t stream, int is_bfloat16, bool in_order) {
  const bool x_is_bfloat16 = (is_bfloat16 & 1) != 0;
  const bool out_is_bfloat16 = (is_bfloat16 & 2) != 0;
  const auto x_memory = memory_of<AnyArray>(x, "x");
  const Shape shape = shape_of(x_memory, axis);
  Request request;
  request.operation = static_cast<Operation>(operation);
  request.form = exclusive || include_initial ? Form::exclusive : Form::inclusive;
  request.direction = reverse ? Direction::backward : Direction::forward;
  request.grouping = in_order ? Grouping::in_order : Grouping::by_tree;
  request.rank = shape.rank;
  request.axis = shape.axis;
  std::copy(shape.extent.begin(), shape.extent.end(), request.extent);
  request.place = place_of(x_memory, stream);
  check_place(x_memory, "x", request.place);
  request.input = array_of(x_memory, "x", x_is_bfloat16);

  const auto out_memory = memory_of<WritableArray>(out, "out");
  check_place(out_memory, "out", request.place);
  const std::int64_t length = shape.extent[static_cast<std::size_t>(shape.axis)];
  request.output_length = length + (include_initial ? 1 : 0);
  check_shape(out_memory, "out", shape.rank, shape.with_length(request.output_length).data());
  request.output = array_of(out_memory, "out", out_is_bfloat16);

  AnyArray mask_memory;
  if (!mask.is_none()) {
    mask_memory = memory_of<AnyArray>(mask, "mask");
    check_place(mask_memory, "mask", request.place);
    check_shape(mask_memory, "mask", shape.rank, shape.extent.data());
    request.mask = array_of(mask_memory, "mask", false);
    if (request.mask.dtype != DType::boolean) {
      refuse_type("mask has elements of type " + std::string(info(request.mask.dtype).name) +
                  ": expected bool.");
    }
  }
  AnyArray initial_memory;
  if (PyNumber_Check(initial.ptr()) != 0 && !nb::hasattr(initial, "__dlpack__")) {
    request.start = number_of(initial);
  } else if (!initial.is_none()) {
    initial_memory = memory_of<AnyArray>(initial, "initial");
    check_place(initial_memory, "initial", request.place);
    check_shape(initial_memory, "initial", shape.rank - 1, shape.lines.data());
    request.starts = array_of(initial_memory, "initial", out_is_bfloat16);
    if (request.starts.dtype != request.output.dtype) {
      refuse_type("initial has elements of type " + std::string(info(request.starts.dtype).name) +
                  ", but the results are of type " + std::string(info(request.output.dtype).name) +
                  ".");
    }
  }
  WritableArray totals_memory;
  if (!totals.is_none()) {
    totals_memory = memory_of<WritableArray>(totals, "totals");
    check_place(totals_memory, "totals", request.place);
    check_shape(totals_memory, "totals", shape.rank - 1, shape.lines.data());
    request.totals = array_of(totals_memory, "totals", out_is_bfloat16);
    if (request.totals.dtype != request.output.dtype) {
      refuse_type("totals have elements of type " + std::string(info(request.totals.dtype).name) +
                  ", but the results are of type " + std::string(info(request.output.dtype).name) +
                  ".");
    }
  }
  without_gil([&] { kokkos_scan_python::scan(request); });
}

// ---- Short calls from NumPy ---------------------------------------------------------------------

/// NumPy's, which live as long as the process.
struct {
  PyObject* ndarray = nullptr;
  PyObject* empty = nullptr;
  std::array<PyObject*, dtype_table.size()> dtypes{};  ///< null where NumPy lacks the type
} numpy;

void use_numpy(nb::handle ndarray, nb::handle empty, const nb::list& dtypes) {
  numpy.ndarray = ndarray.inc_ref().ptr();
  numpy.empty = empty.inc_ref().ptr();
  for (std::size_t code = 0; code < numpy.dtypes.size(); ++code) {
    if (!dtypes[code].is_none()) numpy.dtypes[code] = dtypes[code].inc_ref().ptr();
  }
}

/// The memory of an array by the buffer protocol, which costs a fraction of DLPack.
class Buffer {
 public:
  Buffer(PyObject* array, int flags) : m_exists(PyObject_GetBuffer(array, &m_buffer, flags) == 0) {
    if (!m_exists) PyErr_Clear();
  }
  ~Buffer() {
    if (m_exists) PyBuffer_Release(&m_buffer);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  [[nodiscard]] bool exists() const { return m_exists; }
  [[nodiscard]] const Py_buffer& operator*() const { return m_buffer; }

 private:
  Py_buffer m_buffer{};
  bool m_exists;
};

/// The DType for a format of the buffer protocol in the machine's byte order.
std::optional<DType> dtype_of_format(const char* format, std::int64_t size) {
  const auto number = [size](Kind kind) {
    return dtype_of(static_cast<std::uint8_t>(kind), static_cast<std::uint8_t>(8 * size));
  };
  const bool is_complex = format[0] == 'Z';
  const char letter = format[is_complex ? 1 : 0];
  if (letter == 0 || format[is_complex ? 2 : 1] != 0) return std::nullopt;
  switch (letter) {
    case '?':
      return DType::boolean;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
      return number(Kind::signed_integer);
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
      return number(Kind::unsigned_integer);
    case 'e':
    case 'f':
    case 'd':
      return number(is_complex ? Kind::complex : Kind::real);
    default:
      return std::nullopt;
  }
}

/// The type of the results of an operation; see _default_code() in _functions.py.
std::optional<DType> default_result(Operation operation, DType dtype) {
  const Kind kind = info(dtype).kind;
  const bool is_sum = operation == Operation::sum || operation == Operation::prod;
  const bool is_whole = kind != Kind::real && kind != Kind::complex;
  if (!is_sum && kind == Kind::complex) return std::nullopt;
  if (operation == Operation::logsumexp) return is_whole ? DType::float64 : dtype;
  if (!is_sum || !is_whole) return dtype;
  return kind == Kind::unsigned_integer ? DType::uint64 : DType::int64;
}

/// Scans a row-major array of NumPy into a new one with all else left at its default: what short
/// calls mostly are. None for everything that is unusual or an error, which is then resolved in
/// Python.
nb::object scan_quickly(int operation, nb::handle x, nb::handle axis, bool exclusive, bool reverse,
                        bool in_order) {
  if (x.type().ptr() != numpy.ndarray) return nb::none();
  const Buffer given(x.ptr(), PyBUF_C_CONTIGUOUS | PyBUF_FORMAT);
  if (!given.exists()) return nb::none();
  const Py_buffer& from = *given;
  if (from.ndim < 1 || from.ndim > max_rank) return nb::none();
  const auto dtype = dtype_of_format(from.format, from.itemsize);
  if (!dtype || reinterpret_cast<std::uintptr_t>(from.buf) % from.itemsize != 0) return nb::none();
  const auto result_dtype = default_result(static_cast<Operation>(operation), *dtype);
  if (!result_dtype) return nb::none();
  Request request;
  request.rank = from.ndim;
  if (axis.is_none()) {
    if (from.ndim > 1) return nb::none();
  } else {
    if (!PyLong_CheckExact(axis.ptr())) return nb::none();
    const long counted = PyLong_AsLong(axis.ptr());
    if (counted < -from.ndim || counted >= from.ndim) {
      PyErr_Clear();
      return nb::none();
    }
    request.axis = static_cast<int>(counted < 0 ? counted + from.ndim : counted);
  }
  const nb::object shape = x.attr("shape");
  PyObject* const arguments[] = {shape.ptr(),
                                 numpy.dtypes[static_cast<std::size_t>(*result_dtype)]};
  nb::object result = nb::steal(PyObject_Vectorcall(numpy.empty, arguments, 2, nullptr));
  if (!result.is_valid()) throw nb::python_error();
  const Buffer made(result.ptr(), PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE);
  if (!made.exists()) return nb::none();
  request.operation = static_cast<Operation>(operation);
  request.form = exclusive ? Form::exclusive : Form::inclusive;
  request.direction = reverse ? Direction::backward : Direction::forward;
  request.grouping = in_order ? Grouping::in_order : Grouping::by_tree;
  request.input.exists = request.output.exists = true;
  request.input.dtype = *dtype;
  request.output.dtype = *result_dtype;
  request.input.data = from.buf;
  request.output.data = (*made).buf;
  std::int64_t elements = 1;
  for (int d = from.ndim - 1; d >= 0; --d) {
    request.extent[d] = from.shape[d];
    request.input.stride[d] = request.output.stride[d] = elements;
    elements *= from.shape[d];
  }
  request.output_length = request.extent[request.axis];
  // Other threads are let in where that is worth its time.
  constexpr std::int64_t few = 4096;
  if (elements <= few) {
    kokkos_scan_python::scan(request);
  } else {
    without_gil([&] { kokkos_scan_python::scan(request); });
  }
  return result;
}

void expect_dtype(const Array& array, const char* name, DType dtype) {
  if (!array.exists || array.dtype == dtype) return;
  refuse_type(std::string(name) + " has elements of type " + std::string(info(array.dtype).name) +
              ": expected " + std::string(info(dtype).name) + ".");
}

/// The gradient of a scan with respect to x. See GradientRequest.
void gradient_of_arrays(int operation, nb::handle grad, nb::handle x, nb::handle result,
                        nb::handle out, nb::handle by_element, int axis, bool exclusive,
                        bool reverse, nb::handle mask, nb::handle initial, nb::handle carried,
                        std::uintptr_t stream) {
  const auto out_memory = memory_of<WritableArray>(out, "out");
  const Shape shape = shape_of(out_memory, axis);
  GradientRequest request;
  request.operation = static_cast<Operation>(operation);
  request.form = exclusive ? Form::exclusive : Form::inclusive;
  request.direction = reverse ? Direction::backward : Direction::forward;
  request.rank = shape.rank;
  request.axis = shape.axis;
  std::copy(shape.extent.begin(), shape.extent.end(), request.extent);
  request.place = place_of(out_memory, stream);
  request.gradient_of_input = array_of(out_memory, "out", false);

  std::vector<AnyArray> alive;
  const auto checked = [&](const auto& memory, const char* name, std::int64_t rank,
                           const std::int64_t* extent, DType dtype) {
    check_place(memory, name, request.place);
    check_shape(memory, name, rank, extent);
    const Array array = array_of(memory, name, false);
    expect_dtype(array, name, dtype);
    return array;
  };
  const auto read = [&](nb::handle object, const char* name, std::int64_t rank,
                        const std::int64_t* extent, DType dtype) {
    if (object.is_none()) return Array{};
    alive.push_back(memory_of<AnyArray>(object, name));
    return checked(alive.back(), name, rank, extent, dtype);
  };
  const DType dtype = request.gradient_of_input.dtype;
  // Only once: a capsule can be consumed only once.
  const auto grad_memory = memory_of<AnyArray>(grad, "grad");
  const std::int64_t length = shape.extent[static_cast<std::size_t>(shape.axis)];
  const bool has_extra = exclusive && static_cast<int>(grad_memory.ndim()) == shape.rank &&
                         static_cast<std::int64_t>(
                             grad_memory.shape(static_cast<std::size_t>(shape.axis))) == length + 1;
  request.output_length = length + (has_extra ? 1 : 0);
  const auto results = shape.with_length(request.output_length);
  request.gradient_of_result = checked(grad_memory, "grad", shape.rank, results.data(), dtype);
  request.input = read(x, "x", shape.rank, shape.extent.data(), dtype);
  request.result = read(result, "result", shape.rank, results.data(), dtype);
  request.mask = read(mask, "mask", shape.rank, shape.extent.data(), DType::boolean);
  if (PyNumber_Check(initial.ptr()) != 0 && !nb::hasattr(initial, "__dlpack__")) {
    request.start = number_of(initial);
  } else {
    request.starts = read(initial, "initial", shape.rank - 1, shape.lines.data(), dtype);
  }
  const auto by_element_memory = memory_of<WritableArray>(by_element, "by_element");
  request.by_element = checked(by_element_memory, "by_element", shape.rank, shape.extent.data(),
                               info(dtype).size == 2 ? DType::float32 : dtype);
  const auto carried_memory = memory_of<WritableArray>(carried, "carried");
  request.carried = checked(carried_memory, "carried", shape.rank - 1, shape.lines.data(), dtype);
  without_gil([&] { kokkos_scan_python::gradient(request); });
}

/// Common to the functions on three dimensions: reads their arrays, whose extents must agree.
class ThreeDimensions {
 public:
  explicit ThreeDimensions(std::uintptr_t stream) : m_stream(stream) {}

  /// The first array determines the extents.
  template <class NdArray>
  Array read(nb::handle object, const char* name, std::vector<std::int64_t> shape,
             bool is_bfloat16) {
    auto memory = memory_of<NdArray>(object, name);
    if (m_alive.empty() && m_written.empty()) {
      if (memory.ndim() != 3) refuse_type(std::string(name) + " must have three dimensions.");
      for (std::size_t d = 0; d < 3; ++d) extent[d] = static_cast<std::int64_t>(memory.shape(d));
      place = place_of(memory, m_stream);
      shape = {extent[0], extent[1], extent[2]};
    }
    check_place(memory, name, place);
    check_shape(memory, name, static_cast<std::int64_t>(shape.size()), shape.data());
    const Array array = array_of(memory, name, is_bfloat16);
    if constexpr (std::is_same_v<NdArray, AnyArray>) {
      m_alive.push_back(std::move(memory));
    } else {
      m_written.push_back(std::move(memory));
    }
    return array;
  }

  std::array<std::int64_t, 3> extent{};
  Place place;

 private:
  std::uintptr_t m_stream;
  std::vector<AnyArray> m_alive;
  std::vector<WritableArray> m_written;
};

/// Minima or maxima with their indices. See ExtremeRequest.
void extreme_of_arrays(std::int64_t operation, nb::handle x, nb::handle values, nb::handle index,
                       bool reverse, nb::handle mask, std::uintptr_t stream, bool is_bfloat16) {
  ThreeDimensions all(stream);
  ExtremeRequest request;
  request.operation = static_cast<Operation>(operation);
  request.direction = reverse ? Direction::backward : Direction::forward;
  request.input = all.read<AnyArray>(x, "x", {}, is_bfloat16);
  std::copy(all.extent.begin(), all.extent.end(), request.extent);
  request.place = all.place;
  const std::vector<std::int64_t> shape(all.extent.begin(), all.extent.end());
  request.extreme = all.read<WritableArray>(values, "out", shape, is_bfloat16);
  expect_dtype(request.extreme, "out", request.input.dtype);
  request.index = all.read<WritableArray>(index, "indices", shape, false);
  expect_dtype(request.index, "indices", DType::int64);
  if (!mask.is_none()) request.mask = all.read<AnyArray>(mask, "mask", shape, false);
  expect_dtype(request.mask, "mask", DType::boolean);
  without_gil([&] { kokkos_scan_python::extreme(request); });
}

/// The elements of each row that a mask keeps. See CompactRequest.
void compact_of_arrays(nb::handle x, nb::handle mask, nb::handle out, nb::handle index,
                       nb::handle counts, std::uintptr_t stream, bool is_bfloat16) {
  CompactRequest request;
  const auto x_memory = memory_of<AnyArray>(x, "x");
  if (x_memory.ndim() != 2) refuse_type("x must have two dimensions.");
  request.rows = static_cast<std::int64_t>(x_memory.shape(0));
  request.length = static_cast<std::int64_t>(x_memory.shape(1));
  request.place = place_of(x_memory, stream);
  check_place(x_memory, "x", request.place);
  request.input = array_of(x_memory, "x", is_bfloat16);
  const std::array<std::int64_t, 2> shape{request.rows, request.length};
  const auto checked = [&](const auto& memory, const char* name, std::int64_t rank, DType dtype,
                           bool may_be_bfloat16) {
    check_place(memory, name, request.place);
    check_shape(memory, name, rank, shape.data());
    const Array array = array_of(memory, name, may_be_bfloat16);
    expect_dtype(array, name, dtype);
    return array;
  };
  const auto mask_memory = memory_of<AnyArray>(mask, "mask");
  request.mask = checked(mask_memory, "mask", 2, DType::boolean, false);
  const auto out_memory = memory_of<WritableArray>(out, "out");
  request.output = checked(out_memory, "out", 2, request.input.dtype, is_bfloat16);
  const auto counts_memory = memory_of<WritableArray>(counts, "counts");
  request.counts = checked(counts_memory, "counts", 1, DType::int64, false);
  WritableArray index_memory;
  if (!index.is_none()) {
    index_memory = memory_of<WritableArray>(index, "indices");
    request.index = checked(index_memory, "indices", 2, DType::int64, false);
  }
  without_gil([&] { kokkos_scan_python::compact(request); });
}

/// h(k) = a(k) h(k-1) + b(k). See RecurrenceRequest.
void recurrence_of_arrays(nb::handle a, nb::handle b, nb::handle out, bool include_initial,
                          bool reverse, nb::handle initial, std::uintptr_t stream, bool is_bfloat16,
                          nb::handle reset, bool in_double) {
  ThreeDimensions all(stream);
  RecurrenceRequest request;
  request.direction = reverse ? Direction::backward : Direction::forward;
  request.states = in_double ? States::in_double : States::like_loop;
  request.b = all.read<AnyArray>(b, "b", {}, is_bfloat16);
  std::copy(all.extent.begin(), all.extent.end(), request.extent);
  request.place = all.place;
  std::vector<std::int64_t> shape(all.extent.begin(), all.extent.end());
  if (nb::isinstance<nb::float_>(a)) {
    request.coefficient = nb::cast<double>(a);
  } else {
    request.a = all.read<AnyArray>(a, "a", shape, is_bfloat16);
  }
  if (!reset.is_none()) request.reset = all.read<AnyArray>(reset, "reset", shape, false);
  shape[1] += include_initial ? 1 : 0;
  request.output_length = shape[1];
  request.output = all.read<WritableArray>(out, "out", shape, is_bfloat16);
  if (!initial.is_none()) {
    request.starts = all.read<AnyArray>(initial, "initial", {shape[0], shape[2]}, is_bfloat16);
  }
  expect_dtype(request.a, "a", request.b.dtype);
  expect_dtype(request.output, "out", request.b.dtype);
  expect_dtype(request.starts, "initial", request.b.dtype);
  expect_dtype(request.reset, "reset", DType::boolean);
  without_gil([&] { kokkos_scan_python::recurrence(request); });
}

/// Advantages and what values should be. See AdvantageRequest.
void advantage_of_arrays(nb::handle rewards, nb::handle values, nb::handle next_value,
                         nb::handle advantages, nb::handle targets, nb::handle done,
                         nb::handle log_ratios, const std::array<double, 4>& numbers,
                         std::uintptr_t stream, bool is_bfloat16) {
  ThreeDimensions all(stream);
  AdvantageRequest request;
  request.reward = all.read<AnyArray>(rewards, "rewards", {}, is_bfloat16);
  std::copy(all.extent.begin(), all.extent.end(), request.extent);
  request.place = all.place;
  request.gamma = numbers[0];
  request.lambda = numbers[1];
  request.rho_limit = numbers[2];
  request.trace_limit = numbers[3];
  const std::vector<std::int64_t> shape(all.extent.begin(), all.extent.end());
  request.value = all.read<AnyArray>(values, "values", shape, is_bfloat16);
  request.next_value =
      all.read<AnyArray>(next_value, "next_value", {shape[0], shape[2]}, is_bfloat16);
  if (!done.is_none()) request.done = all.read<AnyArray>(done, "done", shape, false);
  if (!log_ratios.is_none()) {
    request.log_ratio = all.read<AnyArray>(log_ratios, "log_ratios", shape, is_bfloat16);
  }
  request.advantage = all.read<WritableArray>(advantages, "advantages", shape, is_bfloat16);
  request.target = all.read<WritableArray>(targets, "targets", shape, is_bfloat16);
  const DType dtype = request.reward.dtype;
  expect_dtype(request.value, "values", dtype);
  expect_dtype(request.next_value, "next_value", dtype);
  expect_dtype(request.log_ratio, "log_ratios", dtype);
  expect_dtype(request.done, "done", DType::boolean);
  expect_dtype(request.advantage, "advantages", dtype);
  expect_dtype(request.target, "targets", dtype);
  without_gil([&] { kokkos_scan_python::advantage(request); });
}

/// A new array in the memory of a CUDA device.
nb::ndarray<nb::array_api> device_array(int device, const std::vector<std::size_t>& shape,
                                        int dtype) {
  const DTypeInfo& row = dtype_table.at(static_cast<std::size_t>(dtype));
  std::size_t bytes = static_cast<std::size_t>(row.size);
  for (const std::size_t extent : shape) bytes *= extent;
  struct Memory {
    int device;
    void* data;
    ~Memory() { deallocate(device, data); }
  };
  auto* const memory = new Memory{device, nullptr};
  const nb::capsule owner(memory, [](void* m) noexcept { delete static_cast<Memory*>(m); });
  memory->data = allocate(device, bytes);
  return {memory->data,
          shape.size(),
          shape.data(),
          owner,
          nullptr,
          {static_cast<std::uint8_t>(row.kind), static_cast<std::uint8_t>(8 * row.size), 1},
          dlpack_cuda,
          device};
}

/// The memory of a DLPack capsule as an array that can be exported again, with its shape and type.
nb::tuple imported(nb::handle capsule, const std::string& name) {
  auto memory = memory_of<AnyArray>(capsule, name.c_str());
  const DType dtype = dtype_of_memory(memory.dtype(), name.c_str(), false);
  nb::list shape;
  for (std::size_t d = 0; d < memory.ndim(); ++d) shape.append(memory.shape(d));
  // By reference: the array takes over the ownership of the capsule, and is never copied.
  return nb::make_tuple<nb::rv_policy::reference>(nb::ndarray<nb::array_api, nb::ro>(memory),
                                                  nb::tuple(shape), static_cast<int>(dtype));
}

}  // namespace
}  // namespace kokkos_scan_python

NB_MODULE(_core, module) {
  namespace ks = kokkos_scan_python;
  module.doc() = "The kernels of kokkos_scan.";
  nb::list names;
  for (const ks::DTypeInfo& row : ks::dtype_table) names.append(nb::str(row.name.data()));
  module.attr("dtype_names") = nb::tuple(names);
  module.def("scan", &ks::scan_arrays, nb::arg("operation"), nb::arg("x"), nb::arg("out"),
             nb::arg("axis"), nb::arg("include_initial"), nb::arg("exclusive"), nb::arg("reverse"),
             nb::arg("mask").none(), nb::arg("initial").none(), nb::arg("totals").none(),
             nb::arg("stream"), nb::arg("is_bfloat16"), nb::arg("in_order") = false);
  module.def("use_numpy", &ks::use_numpy);
  module.def("scan_quickly", &ks::scan_quickly, nb::arg("operation"), nb::arg("x").none(),
             nb::arg("axis").none(), nb::arg("exclusive"), nb::arg("reverse"), nb::arg("in_order"));
  module.def("gradient", &ks::gradient_of_arrays, nb::arg("operation"), nb::arg("grad"),
             nb::arg("x"), nb::arg("result"), nb::arg("out"), nb::arg("by_element"),
             nb::arg("axis"), nb::arg("exclusive"), nb::arg("reverse"), nb::arg("mask").none(),
             nb::arg("initial").none(), nb::arg("carried"), nb::arg("stream"));
  module.def("extreme", &ks::extreme_of_arrays, nb::arg("operation"), nb::arg("x"),
             nb::arg("values"), nb::arg("indices"), nb::arg("reverse"), nb::arg("mask").none(),
             nb::arg("stream"), nb::arg("is_bfloat16"));
  module.def("compact", &ks::compact_of_arrays, nb::arg("x"), nb::arg("mask"), nb::arg("out"),
             nb::arg("indices").none(), nb::arg("counts"), nb::arg("stream"),
             nb::arg("is_bfloat16"));
  module.attr("tree_version") = ks::tree_version();
  module.def("longest_line", &ks::longest_line);
  module.def("recurrence", &ks::recurrence_of_arrays, nb::arg("a"), nb::arg("b"), nb::arg("out"),
             nb::arg("include_initial"), nb::arg("reverse"), nb::arg("initial").none(),
             nb::arg("stream"), nb::arg("is_bfloat16"), nb::arg("reset").none(),
             nb::arg("in_double"));
  module.def("advantage", &ks::advantage_of_arrays, nb::arg("rewards"), nb::arg("values"),
             nb::arg("next_value"), nb::arg("advantages"), nb::arg("targets"),
             nb::arg("done").none(), nb::arg("log_ratios").none(), nb::arg("numbers"),
             nb::arg("stream"), nb::arg("is_bfloat16"));
  module.def("device_array", &ks::device_array);
  module.def("imported", &ks::imported);
  module.def("wait", [](int device, std::uintptr_t waiting, std::uintptr_t stream) {
    ks::wait(device, reinterpret_cast<void*>(waiting), reinterpret_cast<void*>(stream));
  });
  module.def("configuration", &ks::configuration);
  module.def("has_cuda", &ks::has_cuda);
  // Python calls this before it unloads modules; scans of other threads are waited for.
  module.def("finalize", [] {
    const nb::gil_scoped_release release;
    ks::finalize();
  });
  nb::module_::import_("atexit").attr("register")(module.attr("finalize"));
}
