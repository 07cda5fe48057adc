// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// kokkos_scan._torch: the PyTorch operators kokkos_scan::*, their gradients, and functions that
// call them without the overhead of torch.ops. _torch_fallback.py registers the same operators in
// Python.

#include <ATen/ATen.h>
#include <ATen/PythonTorchFunctionTLS.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/library.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/recurrence.hpp"
#include "kernels/request.hpp"
#include "kernels/workspaces.hpp"

#if defined(KOKKOS_SCAN_PYTHON_CUDA)
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#endif

namespace kokkos_scan_python {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;
using OptionalType = std::optional<at::ScalarType>;

/// The arguments that the operators have in common, except x and the axis.
struct Options {
  OptionalType dtype;
  bool include_initial = false;
  bool exclusive = false;
  bool reverse = false;
  OptionalTensor mask;
  OptionalTensor initial;
};

// ---- Types, shapes, memory ----------------------------------------------------------------------

DType dtype_of(at::ScalarType type) {
  switch (type) {
    case at::kBool:
      return DType::boolean;
    case at::kChar:
      return DType::int8;
    case at::kShort:
      return DType::int16;
    case at::kInt:
      return DType::int32;
    case at::kLong:
      return DType::int64;
    case at::kByte:
      return DType::uint8;
    case at::kUInt16:
      return DType::uint16;
    case at::kUInt32:
      return DType::uint32;
    case at::kUInt64:
      return DType::uint64;
    case at::kHalf:
      return DType::float16;
    case at::kBFloat16:
      return DType::bfloat16;
    case at::kFloat:
      return DType::float32;
    case at::kDouble:
      return DType::float64;
    case at::kComplexFloat:
      return DType::complex64;
    case at::kComplexDouble:
      return DType::complex128;
    default:
      TORCH_CHECK_TYPE(false, "kokkos_scan: x has type ", type, ", which cannot be scanned.");
  }
}

/// As in torch.cumsum and torch.cumprod, integers become int64. Minima and maxima keep the type.
at::ScalarType type_of_result(Operation operation, const Tensor& x, const OptionalType& dtype) {
  if (dtype) return *dtype;
  const bool is_order = operation == Operation::min || operation == Operation::max;
  return !is_order && at::isIntegralType(x.scalar_type(), true) ? at::kLong : x.scalar_type();
}

void check(Operation operation, const Tensor& x, std::int64_t dim, const Options& options) {
  const std::int64_t rank = x.dim();
  const std::int64_t least = rank == 0 ? 1 : rank;
  TORCH_CHECK_INDEX(-least <= dim && dim < least, "kokkos_scan: axis ", dim,
                    " is out of range for x of rank ", rank, ": allowed are ", -least, " to ",
                    least - 1, ".");
  TORCH_CHECK_VALUE(!(options.exclusive && options.include_initial),
                    "kokkos_scan: exclusive=True and include_initial=True say different things of "
                    "the result's shape: choose one.");
  const at::ScalarType type = type_of_result(operation, x, options.dtype);
  TORCH_CHECK_TYPE(!x.is_complex() || at::isComplexType(type),
                   "kokkos_scan: complex values do not convert to ", type, ".");
  const bool is_order = operation == Operation::min || operation == Operation::max;
  TORCH_CHECK_TYPE(operation != Operation::logsumexp || at::isFloatingType(type),
                   "kokkos_scan: logarithms of sums need a real floating type, but the result has "
                   "type ",
                   type, ".");
  TORCH_CHECK_TYPE(!is_order || !at::isComplexType(type),
                   "kokkos_scan: complex values have no order, so minima and maxima cannot combine "
                   "them.");
  if (options.mask) {
    TORCH_CHECK_TYPE(options.mask->scalar_type() == at::kBool, "kokkos_scan: mask has type ",
                     options.mask->scalar_type(), ": expected bool.");
    TORCH_CHECK_VALUE(options.mask->device() == x.device(), "kokkos_scan: mask is on ",
                      options.mask->device(), ", but x is on ", x.device(), ".");
  }
  if (options.initial) {
    TORCH_CHECK_TYPE(!options.initial->is_complex() || at::isComplexType(type),
                     "kokkos_scan: the initial value is complex, but the result has type ", type,
                     ".");
    TORCH_CHECK_VALUE(options.initial->device() == x.device() ||
                          (options.initial->dim() == 0 && options.initial->device().is_cpu()),
                      "kokkos_scan: initial is on ", options.initial->device(), ", but x is on ",
                      x.device(), ".");
  }
}

void check_rank(const Tensor& x) {
  TORCH_CHECK_VALUE(x.dim() <= max_rank, "kokkos_scan: x has ", x.dim(),
                    " dimensions: allowed are 1 to ", max_rank, ".");
}

/// The dimension, counted from the front. A zero-dimensional tensor is a line of one element.
std::int64_t counted(std::int64_t dim, const Tensor& x) { return dim < 0 ? dim + x.dim() : dim; }

std::vector<c10::SymInt> shape_of_lines(const Tensor& x, std::int64_t dim) {
  auto sizes = x.sym_sizes().vec();
  if (!sizes.empty()) sizes.erase(sizes.begin() + dim);
  return sizes;
}

/// An uninitialised result, with the strides of x, or row-major if it has n+1 results.
Tensor make_result(Operation operation, const Tensor& x, std::int64_t dim, const Options& options) {
  const auto type = x.options().dtype(type_of_result(operation, x, options.dtype));
  if (!options.include_initial) {
    return at::empty_like(x, type, at::MemoryFormat::Preserve);
  }
  TORCH_CHECK_VALUE(x.dim() > 0,
                    "kokkos_scan: x has no axis, so the result cannot have one "
                    "element more along it.");
  auto sizes = x.sym_sizes().vec();
  sizes[static_cast<std::size_t>(dim)] += 1;
  return at::empty_symint(sizes, type);
}

/// initial as one value per line, if it is not a number; checks its shape.
OptionalTensor starts_of(const Tensor& x, std::int64_t dim, const OptionalTensor& initial,
                         at::ScalarType type) {
  if (!initial) return std::nullopt;
  const auto lines = shape_of_lines(x, dim);
  if (initial->dim() == 0) return initial->to(x.device(), type).expand_symint(lines);
  TORCH_CHECK_VALUE(initial->sym_sizes() == c10::SymIntArrayRef(lines),
                    "kokkos_scan: initial has shape ", initial->sym_sizes(), ", but expected is ",
                    c10::SymIntArrayRef(lines), ", the shape of x without the axis.");
  return initial->to(type);
}

OptionalTensor mask_of(const Tensor& x, const OptionalTensor& mask) {
  if (!mask || mask->sym_sizes() == x.sym_sizes()) return mask;
  return mask->expand_symint(x.sym_sizes());
}

Array array_of(const Tensor& tensor) {
  Array array;
  array.exists = true;
  array.dtype = dtype_of(tensor.scalar_type());
  array.data = const_cast<void*>(tensor.const_data_ptr());
  const auto strides = tensor.strides();
  for (std::size_t d = 0; d < strides.size(); ++d) array.stride[d] = strides[d];
  if (strides.empty()) array.stride[0] = 1;
  return array;
}
Array array_of(const OptionalTensor& tensor) { return tensor ? array_of(*tensor) : Array{}; }

/// The stride of dimensions begin to end - 1 as one dimension, if they have one. That of a
/// dimension of one element does not matter.
std::optional<std::int64_t> merged_stride(const Tensor& tensor, std::int64_t begin,
                                          std::int64_t end) {
  std::optional<std::int64_t> stride;
  std::int64_t next = 0;
  for (std::int64_t d = end - 1; d >= begin; --d) {
    if (tensor.size(d) == 1) continue;
    if (stride && tensor.stride(d) != next) return std::nullopt;
    if (!stride) stride = tensor.stride(d);
    next = tensor.stride(d) * tensor.size(d);
  }
  return stride.value_or(1);
}

/// A tensor whose dimensions before `dim` are merged to one, as are those behind it; without dim,
/// if it has one value for each line. `tensor` becomes a copy if its strides do not allow that, or
/// if it is broadcast along dim on a GPU, where kernels read stride 0 slowly.
Array merged(Tensor& tensor, std::int64_t dim, bool has_one_of_line = false) {
  const std::int64_t behind = has_one_of_line || tensor.dim() == 0 ? dim : dim + 1;
  const bool has_dim = behind > dim;
  if (has_dim && tensor.is_cuda() && tensor.stride(dim) == 0) tensor = tensor.contiguous();
  if (!merged_stride(tensor, 0, dim) || !merged_stride(tensor, behind, tensor.dim())) {
    tensor = tensor.contiguous();
  }
  Array array;
  array.exists = true;
  array.dtype = dtype_of(tensor.scalar_type());
  array.data = const_cast<void*>(tensor.const_data_ptr());
  array.stride[0] = *merged_stride(tensor, 0, dim);
  array.stride[1] = has_dim ? tensor.stride(dim) : 1;
  array.stride[has_one_of_line ? 1 : 2] = *merged_stride(tensor, behind, tensor.dim());
  return array;
}
Array merged(OptionalTensor& tensor, std::int64_t dim, bool has_one_of_line = false) {
  return tensor ? merged(*tensor, dim, has_one_of_line) : Array{};
}

Place place_of([[maybe_unused]] const Tensor& tensor) {
  Place place;
#if defined(KOKKOS_SCAN_PYTHON_CUDA)
  if (tensor.is_cuda()) {
    place.is_cuda = true;
    place.device = tensor.device().index();
    place.stream = c10::cuda::getCurrentCUDAStream(tensor.device().index()).stream();
  }
#endif
  return place;
}

/// Fills in rank, axis and extents of a request.
template <class AnyRequest>
void describe(AnyRequest& request, const Tensor& x, std::int64_t dim, std::int64_t results) {
  request.rank = x.dim() == 0 ? 1 : static_cast<int>(x.dim());
  request.axis = static_cast<int>(x.dim() == 0 ? 0 : dim);
  request.extent[0] = 1;
  for (std::int64_t d = 0; d < x.dim(); ++d) request.extent[d] = x.size(d);
  request.output_length = x.dim() == 0 ? 1 : results;
  request.place = place_of(x);
}

/// The same of a request whose arrays have three dimensions: see merged().
template <class AnyRequest>
void describe_merged(AnyRequest& request, const Tensor& x, std::int64_t dim) {
  for (std::int64_t& extent : request.extent) extent = 1;
  for (std::int64_t d = 0; d < x.dim(); ++d) {
    request.extent[d < dim ? 0 : d == dim ? 1 : 2] *= x.size(d);
  }
  request.place = place_of(x);
}

/// initial as a number, if it can be read without synchronisation.
Number number_of(const OptionalTensor& initial) {
  Number number;
  if (!initial || initial->dim() != 0 || !initial->device().is_cpu()) return number;
  number.exists = true;
  const at::Scalar scalar = initial->item();
  if (scalar.isIntegral(true)) {
    number.is_integer = true;
    number.integer = scalar.isBoolean() ? (scalar.toBool() ? 1U : 0U)
                     : initial->scalar_type() == at::kUInt64
                         ? scalar.toUInt64()
                         : static_cast<std::uint64_t>(scalar.toLong());
    number.value = static_cast<double>(static_cast<std::int64_t>(number.integer));
  } else {
    const c10::complex<double> value = scalar.toComplexDouble();
    number.value = {value.real(), value.imag()};
  }
  return number;
}

/// Calls the kernels; their exceptions become Python errors.
template <class Call>
void run(const Call& call) {
  try {
    call();
  } catch (const TypeError& error) {
    TORCH_CHECK_TYPE(false, error.what());
  } catch (const std::invalid_argument& error) {
    TORCH_CHECK_VALUE(false, error.what());
  }
}

// ---- The operators ------------------------------------------------------------------------------

template <Operation operation>
Tensor scan_tensor(const Tensor& x, std::int64_t dim, OptionalType dtype, bool include_initial,
                   bool exclusive, bool reverse, const OptionalTensor& mask,
                   const OptionalTensor& initial) {
  const Options options{dtype, include_initial, exclusive, reverse, mask, initial};
  check(operation, x, dim, options);
  check_rank(x);
  const std::int64_t axis = counted(dim, x);
  Tensor result = make_result(operation, x, axis, options);
  Request request;
  request.operation = operation;
  request.form = exclusive || include_initial ? Form::exclusive : Form::inclusive;
  request.direction = reverse ? Direction::backward : Direction::forward;
  describe(request, x, axis, x.dim() == 0 ? 1 : result.size(axis));
  request.input = array_of(x);
  request.output = array_of(result);
  // They own the memory that the request points to.
  OptionalTensor chosen;
  OptionalTensor starts;
  if (mask) {
    chosen = mask_of(x, mask);
    request.mask = array_of(chosen);
  }
  if (initial) {
    request.start = number_of(initial);
    if (!request.start.exists) {
      starts = starts_of(x, axis, initial, result.scalar_type());
      request.starts = array_of(starts);
    }
  }
  run([&] { scan(request); });
  return result;
}

/// The same without data, for torch.compile and torch.export.
template <Operation operation>
Tensor scan_meta(const Tensor& x, std::int64_t dim, OptionalType dtype, bool include_initial,
                 bool exclusive, bool reverse, const OptionalTensor& mask,
                 const OptionalTensor& initial) {
  const Options options{dtype, include_initial, exclusive, reverse, mask, initial};
  check(operation, x, dim, options);
  check_rank(x);
  const std::int64_t axis = counted(dim, x);
  static_cast<void>(mask_of(x, mask));
  if (initial && initial->dim() != 0) {
    static_cast<void>(starts_of(x, axis, initial, initial->scalar_type()));
  }
  return make_result(operation, x, axis, options);
}

/// The gradients of a scan with respect to x and to the first result of each line. See
/// kernels/gradient.hpp.
std::tuple<Tensor, Tensor> scan_gradient_tensor(const Tensor& grad, const Tensor& x,
                                                const Tensor& result, std::int64_t dim,
                                                std::int64_t operation, bool exclusive,
                                                bool reverse, const OptionalTensor& mask,
                                                const OptionalTensor& initial) {
  Tensor gradient = at::empty_like(x, grad.options(), at::MemoryFormat::Preserve);
  Tensor of_lines = at::empty_symint(shape_of_lines(x, dim), grad.options());
  const std::int64_t results = grad.dim() == 0 ? 1 : grad.size(dim);
  if (gradient.numel() == 0 || (exclusive && results == 1)) of_lines.zero_();  // not written below
  if (gradient.numel() == 0) return {gradient, of_lines};
  GradientRequest request;
  request.operation = static_cast<Operation>(operation);
  request.form = exclusive ? Form::exclusive : Form::inclusive;
  request.direction = reverse ? Direction::backward : Direction::forward;
  describe(request, gradient, dim, results);
  request.input = array_of(x);
  request.result = array_of(result);
  // Stride 0 along the axis makes GPU kernels read slowly, so broadcast arrays are copied.
  const bool stands_still = grad.is_cuda() && grad.dim() > 0 && grad.stride(dim) == 0;
  const Tensor moving = stands_still ? grad.contiguous() : grad;
  request.gradient_of_result = array_of(moving);
  request.gradient_of_input = array_of(gradient);
  const bool has_16_bits = gradient.element_size() == 2;
  const Tensor by_element = at::empty_like(
      gradient, has_16_bits ? gradient.options().dtype(at::kFloat) : gradient.options());
  request.by_element = array_of(by_element);
  request.carried = array_of(of_lines);
  const OptionalTensor chosen = mask_of(gradient, mask);
  request.mask = array_of(chosen);
  request.start = number_of(initial);
  OptionalTensor starts;
  if (!request.start.exists) {
    starts = starts_of(gradient, dim, initial, grad.scalar_type());
    request.starts = array_of(starts);
  }
  run([&] { kokkos_scan_python::gradient(request); });
  return {gradient, of_lines};
}

std::tuple<Tensor, Tensor> scan_gradient_meta(const Tensor& grad, const Tensor& x, const Tensor&,
                                              std::int64_t dim, std::int64_t, bool, bool,
                                              const OptionalTensor&, const OptionalTensor&) {
  return {at::empty_like(x, grad.options(), at::MemoryFormat::Preserve),
          at::empty_symint(shape_of_lines(x, dim), grad.options())};
}

/// Minima or maxima and their indices.
std::tuple<Tensor, Tensor> extreme_tensor(const Tensor& x, std::int64_t dim, std::int64_t operation,
                                          bool reverse, const OptionalTensor& mask) {
  Options options;
  options.mask = mask;
  check(static_cast<Operation>(operation), x, dim, options);
  const std::int64_t axis = counted(dim, x);
  if (x.dim() > 0 && x.size(axis) > longest_line(x.element_size())) {
    const auto [extreme, index] = extreme_tensor(x.to(at::kDouble), dim, operation, reverse, mask);
    return {extreme.to(x.scalar_type()), index};
  }
  Tensor values = at::empty(x.sizes(), x.options());
  Tensor indices = at::empty(x.sizes(), x.options().dtype(at::kLong));
  if (x.numel() == 0) return {values, indices};
  ExtremeRequest request;
  request.operation = static_cast<Operation>(operation);
  request.direction = reverse ? Direction::backward : Direction::forward;
  describe_merged(request, x, axis);
  Tensor read = x;
  OptionalTensor chosen = mask_of(x, mask);
  request.input = merged(read, axis);
  request.mask = merged(chosen, axis);
  request.extreme = merged(values, axis);
  request.index = merged(indices, axis);
  run([&] { extreme(request); });
  return {values, indices};
}

/// The states of a recurrence, whose coefficients are a tensor or one number.
Tensor states_of(OptionalTensor a, double coefficient, Tensor b, std::int64_t dim,
                 OptionalTensor initial, bool reverse, bool include_initial, OptionalTensor reset,
                 bool in_double) {
  const at::ScalarType type = b.scalar_type();
  if (in_double && reset && type != at::kDouble) {  // there is no kernel for what is rare
    if (a) a = a->to(at::kDouble);
    if (initial) initial = initial->to(at::kDouble);
    return states_of(a, coefficient, b.to(at::kDouble), dim, initial, reverse, include_initial,
                     reset, false)
        .to(type);
  }
  auto sizes = b.sizes().vec();
  sizes[static_cast<std::size_t>(dim)] += include_initial ? 1 : 0;
  Tensor states = at::empty(sizes, b.options());
  if (states.numel() == 0) return states;
  RecurrenceRequest request;
  request.direction = reverse ? Direction::backward : Direction::forward;
  request.states = in_double ? States::in_double : States::like_loop;
  describe_merged(request, b, dim);
  request.a = merged(a, dim);
  request.coefficient = coefficient;
  request.b = merged(b, dim);
  request.reset = merged(reset, dim);
  request.starts = merged(initial, dim, true);
  request.output = merged(states, dim);
  request.output_length = states.size(dim);
  run([&] { recurrence(request); });
  return states;
}

/// The same as an operator: a coefficient of no dimension is a number.
Tensor recurrence_tensor(const Tensor& a, const Tensor& b, std::int64_t dim,
                         const OptionalTensor& initial, bool reverse, bool include_initial,
                         const OptionalTensor& reset, bool in_double) {
  const bool is_number = a.dim() == 0;
  return states_of(is_number ? OptionalTensor() : a, is_number ? a.item<double>() : 0, b, dim,
                   initial, reverse, include_initial, reset, in_double);
}

/// Advantages, and targets of values: see AdvantageRequest.
std::tuple<Tensor, Tensor> advantage_tensor(Tensor rewards, Tensor values, Tensor next_value,
                                            OptionalTensor done, OptionalTensor log_ratios,
                                            double gamma, double lambda, double rho_limit,
                                            double trace_limit, std::int64_t dim) {
  Tensor advantages = at::empty(rewards.sizes(), rewards.options());
  Tensor targets = at::empty(rewards.sizes(), rewards.options());
  if (rewards.numel() == 0) return {advantages, targets};
  AdvantageRequest request;
  describe_merged(request, rewards, dim);
  request.gamma = gamma;
  request.lambda = lambda;
  request.rho_limit = rho_limit;
  request.trace_limit = trace_limit;
  request.reward = merged(rewards, dim);
  request.value = merged(values, dim);
  request.log_ratio = merged(log_ratios, dim);
  request.done = merged(done, dim);
  request.next_value = merged(next_value, dim, true);
  request.advantage = merged(advantages, dim);
  request.target = merged(targets, dim);
  run([&] { advantage(request); });
  return {advantages, targets};
}

// ---- Calls through the dispatcher ---------------------------------------------------------------

using ScanSignature = Tensor(const Tensor&, std::int64_t, OptionalType, bool, bool, bool,
                             const OptionalTensor&, const OptionalTensor&);
using GradientSignature = std::tuple<Tensor, Tensor>(const Tensor&, const Tensor&, const Tensor&,
                                                     std::int64_t, std::int64_t, bool, bool,
                                                     const OptionalTensor&, const OptionalTensor&);

constexpr std::array<const char*, 5> names{
    "kokkos_scan::cumulative_sum", "kokkos_scan::cumulative_prod", "kokkos_scan::cumulative_min",
    "kokkos_scan::cumulative_max", "kokkos_scan::cumulative_logsumexp"};

template <Operation operation>
const auto& handle_of() {
  static const auto handle = c10::Dispatcher::singleton()
                                 .findSchemaOrThrow(names[static_cast<std::size_t>(operation)], "")
                                 .typed<ScanSignature>();
  return handle;
}

Tensor dispatch(Operation operation, const Tensor& x, std::int64_t dim, const Options& options) {
  const auto call = [&](const auto& handle) {
    return handle.call(x, dim, options.dtype, options.include_initial, options.exclusive,
                       options.reverse, options.mask, options.initial);
  };
  switch (operation) {
    case Operation::sum:
      return call(handle_of<Operation::sum>());
    case Operation::prod:
      return call(handle_of<Operation::prod>());
    case Operation::min:
      return call(handle_of<Operation::min>());
    case Operation::max:
      return call(handle_of<Operation::max>());
    case Operation::logsumexp:
      return call(handle_of<Operation::logsumexp>());
  }
  TORCH_INTERNAL_ASSERT(false, "an operation that is not known");
}

std::tuple<Tensor, Tensor> dispatch_gradient(const Tensor& grad, const Tensor& x,
                                             const Tensor& result, std::int64_t dim,
                                             Operation operation, bool exclusive, bool reverse,
                                             const OptionalTensor& mask,
                                             const OptionalTensor& initial) {
  static const auto handle = c10::Dispatcher::singleton()
                                 .findSchemaOrThrow("kokkos_scan::scan_gradient", "")
                                 .typed<GradientSignature>();
  return handle.call(grad, x, result, dim, static_cast<std::int64_t>(operation), exclusive, reverse,
                     mask, initial);
}

// ---- Autograd -----------------------------------------------------------------------------------

double identity_of(Operation operation) {
  const double infinity = std::numeric_limits<double>::infinity();
  switch (operation) {
    case Operation::sum:
      return 0;
    case Operation::prod:
      return 1;
    case Operation::min:
      return infinity;
    case Operation::max:
    case Operation::logsumexp:
      return -infinity;
  }
  TORCH_INTERNAL_ASSERT(false, "an operation that is not known");
}

/// The scan as a composition of PyTorch operators, which can be differentiated twice.
Tensor composed(Operation operation, const Tensor& x, std::int64_t dim, const Options& options) {
  Tensor values = x;
  if (options.reverse) values = values.flip({dim});
  const double identity = identity_of(operation);
  if (options.mask) {
    Tensor mask = *mask_of(x, options.mask);
    if (options.reverse) mask = mask.flip({dim});
    values = at::where(mask, values, at::scalar_tensor(identity, values.options()));
  }
  const bool has_first = options.initial || options.exclusive || options.include_initial;
  if (has_first) {
    const auto lines = shape_of_lines(x, dim);
    const OptionalTensor starts = starts_of(x, dim, options.initial, x.scalar_type());
    const Tensor first = starts ? *starts : at::full_symint(lines, identity, x.options());
    values = at::cat({first.unsqueeze(dim), values}, dim);
  }
  switch (operation) {
    case Operation::sum:
      values = values.cumsum(dim);
      break;
    case Operation::prod:
      values = values.cumprod(dim);
      break;
    case Operation::min:
      values = std::get<0>(values.cummin(dim));
      break;
    case Operation::logsumexp:
      values = values.logcumsumexp(dim);
      break;
    case Operation::max:
      values = std::get<0>(values.cummax(dim));
      break;
  }
  if (has_first && !options.include_initial) {
    values = values.narrow_symint(dim, options.exclusive ? 0 : 1, x.sym_size(dim));
  }
  return options.reverse ? values.flip({dim}) : values;
}

/// What a gradient needs to know about the call, packed into one number: PyTorch saves such values
/// by name, each with a noticeable overhead.
struct SavedCall {
  Operation operation;
  std::int64_t dim;
  at::ScalarType dtype;
  bool include_initial;
  bool exclusive;
  bool reverse;

  [[nodiscard]] std::int64_t packed() const {
    const auto flags = static_cast<std::int64_t>(include_initial) * 4 +
                       static_cast<std::int64_t>(exclusive) * 2 +
                       static_cast<std::int64_t>(reverse);
    return ((static_cast<std::int64_t>(dtype) * 16 + dim) * 8 +
            static_cast<std::int64_t>(operation)) *
               8 +
           flags;
  }
  static SavedCall unpacked(std::int64_t number) {
    return {static_cast<Operation>(number / 8 % 8),
            number / 64 % 16,
            static_cast<at::ScalarType>(number / 1024),
            (number & 4) != 0,
            (number & 2) != 0,
            (number & 1) != 0};
  }
};

class Scan : public torch::autograd::Function<Scan> {
 public:
  static Tensor forward(torch::autograd::AutogradContext* context, Operation operation,
                        const Tensor& x, std::int64_t dim, const Options& options,
                        const OptionalTensor& initial) {
    Tensor result;
    {
      const at::AutoDispatchBelowADInplaceOrView below;
      result = dispatch(operation, x, dim, options);
    }
    // Sums are linear: their gradients do not depend on x.
    const bool is_sum = operation == Operation::sum;
    if (!is_sum || options.mask || initial) {
      context->save_for_backward({is_sum ? Tensor() : x, is_sum ? Tensor() : result,
                                  options.mask.value_or(Tensor()), initial.value_or(Tensor())});
    }
    context->saved_data["call"] =
        SavedCall{operation,         counted(dim, x), x.scalar_type(), options.include_initial,
                  options.exclusive, options.reverse}
            .packed();
    return result;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& grads) {
    auto saved = context->get_saved_variables();
    saved.resize(4);
    const auto call = SavedCall::unpacked(context->saved_data["call"].toInt());
    const Operation operation = call.operation;
    const std::int64_t dim = call.dim;
    Options options;
    options.include_initial = call.include_initial;
    options.exclusive = call.exclusive;
    options.reverse = call.reverse;
    auto sizes = grads[0].sym_sizes().vec();
    if (options.include_initial) {
      c10::SymInt& length = sizes[static_cast<std::size_t>(dim)];
      length = length - 1;
    }
    if (saved[2].defined()) options.mask = saved[2];
    if (saved[3].defined()) options.initial = saved[3];
    // initial is the second tensor argument, if it was given.
    const bool wants_initial = options.initial && context->needs_input_grad(1);

    Tensor of_x;
    Tensor of_initial;
    if (operation == Operation::sum) {
      std::tie(of_x, of_initial) = backward_of_sum(grads[0], sizes, dim, options, wants_initial);
    } else if (at::GradMode::is_enabled()) {
      std::tie(of_x, of_initial) =
          backward_of_composition(grads[0], operation, saved[0], dim, options, wants_initial);
    } else {
      std::tie(of_x, of_initial) = backward_of_order_or_product(
          grads[0], operation, saved[0], saved[1], sizes, dim, options, wants_initial);
    }
    if (of_x.defined()) of_x = of_x.to(call.dtype);
    if (of_initial.defined()) {
      if (options.initial->dim() == 0 && !sizes.empty()) of_initial = of_initial.sum();
      of_initial = of_initial.to(options.initial->device(), options.initial->scalar_type());
    }
    return {Tensor(), of_x, Tensor(), Tensor(), of_initial};
  }

 private:
  using Pair = std::pair<Tensor, Tensor>;

  /// The adjoint of a sum is the sum in the opposite direction.
  static Pair backward_of_sum(const Tensor& grad, const std::vector<c10::SymInt>& sizes,
                              std::int64_t dim, const Options& options, bool wants_initial) {
    Pair result;
    if (wants_initial) result.second = sizes.empty() ? grad : grad.sum(dim);
    Options other;
    other.reverse = !options.reverse;
    other.exclusive = options.exclusive;
    Tensor from = grad;
    if (options.include_initial) {
      // The result that is the initial value does not depend on x.
      from = grad.narrow_symint(dim, options.reverse ? 0 : 1, sizes[static_cast<std::size_t>(dim)]);
    }
    result.first = dispatch(Operation::sum, from, dim, other);
    if (options.mask) result.first = at::where(*options.mask, result.first, 0);
    return result;
  }

  static Pair backward_of_order_or_product(const Tensor& grad, Operation operation,
                                           const Tensor& saved_x, const Tensor& y,
                                           const std::vector<c10::SymInt>& sizes, std::int64_t dim,
                                           const Options& options, bool wants_initial) {
    const Tensor x = saved_x.to(y.scalar_type());
    const bool is_exclusive = options.exclusive || options.include_initial;
    auto [of_x, first] = dispatch_gradient(grad, x, y, dim, operation, is_exclusive,
                                           options.reverse, options.mask, options.initial);
    if (!wants_initial) return {of_x, Tensor()};
    const bool is_empty = !sizes.empty() && sizes[static_cast<std::size_t>(dim)] == 0;
    Tensor of_initial = first;
    const auto element = [&](const Tensor& t) {
      return t.dim() == 0 ? t : t.select_symint(dim, options.reverse ? t.sym_size(dim) - 1 : 0);
    };
    if (!is_empty) {
      const Tensor x_first = element(x);
      Tensor through;
      if (operation == Operation::prod) {
        through = first * x_first.conj();
      } else if (operation == Operation::logsumexp) {
        const Tensor start = *starts_of(x, dim, options.initial, y.scalar_type());
        through = first * (start - x_first).sigmoid();
      } else {
        const Tensor start = *starts_of(x, dim, options.initial, y.scalar_type());
        const Tensor stays = operation == Operation::min ? x_first > start : x_first < start;
        through = at::where(at::logical_or(stays, start.isnan()), first, 0);
      }
      of_initial =
          options.mask ? at::where(element(*mask_of(x, options.mask)), through, first) : through;
    }
    if (is_exclusive && !(options.exclusive && is_empty)) of_initial = of_initial + element(grad);
    return {of_x, of_initial};
  }

  static Pair backward_of_composition(const Tensor& grad, Operation operation, const Tensor& x,
                                      std::int64_t dim, const Options& options,
                                      bool wants_initial) {
    torch::autograd::variable_list inputs{x};
    if (wants_initial) inputs.push_back(*options.initial);
    const Tensor y = composed(operation, x.to(grad.scalar_type()), dim, options);
    const auto result = torch::autograd::grad({y}, inputs, {grad}, /*retain_graph=*/true,
                                              /*create_graph=*/true, /*allow_unused=*/true);
    return {result[0], wants_initial ? result[1] : Tensor()};
  }
};

template <Operation operation>
Tensor scan_autograd(const Tensor& x, std::int64_t dim, OptionalType dtype, bool include_initial,
                     bool exclusive, bool reverse, const OptionalTensor& mask,
                     const OptionalTensor& initial) {
  const auto is_needed = [](const Tensor& tensor) {
    return (at::GradMode::is_enabled() && tensor.requires_grad()) ||
           tensor._fw_grad(/*level=*/0).defined();
  };
  const Options options{dtype, include_initial, exclusive, reverse, mask, initial};
  if (!is_needed(x) && !(initial && is_needed(*initial))) {
    const at::AutoDispatchBelowADInplaceOrView below;
    return dispatch(operation, x, dim, options);
  }
  const at::ScalarType type = type_of_result(operation, x, dtype);
  if (!at::isFloatingType(type) && !at::isComplexType(type)) {
    // Integers have no gradient.
    const at::AutoDispatchBelowADInplaceOrView below;
    return dispatch(operation, x, dim, options);
  }
  // PyTorch only finds tensors that are arguments themselves, not members of arguments.
  return Scan::apply(operation, x, dim, options, initial);
}

/// Not used for gradients of gradients: see Scan::backward.
std::tuple<Tensor, Tensor> scan_gradient_autograd(const Tensor& grad, const Tensor& x,
                                                  const Tensor& result, std::int64_t dim,
                                                  std::int64_t operation, bool exclusive,
                                                  bool reverse, const OptionalTensor& mask,
                                                  const OptionalTensor& initial) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      !at::GradMode::is_enabled() ||
          !(grad.requires_grad() || x.requires_grad() || (initial && initial->requires_grad())),
      "kokkos_scan::scan_gradient is itself not differentiable.");
  const at::AutoDispatchBelowADInplaceOrView below;
  return dispatch_gradient(grad, x, result, dim, static_cast<Operation>(operation), exclusive,
                           reverse, mask, initial);
}

}  // namespace
}  // namespace kokkos_scan_python

namespace ks = kokkos_scan_python;

TORCH_LIBRARY(kokkos_scan, library) {
  for (const char* name : {"sum", "prod", "min", "max", "logsumexp"}) {
    library.def((std::string("cumulative_") + name +
                 "(Tensor x, int dim, ScalarType? dtype=None, bool include_initial=False, bool "
                 "exclusive=False, bool reverse=False, Tensor? mask=None, Tensor? initial=None) -> "
                 "Tensor")
                    .c_str());
  }
  library.def(
      "scan_gradient(Tensor grad, Tensor x, Tensor result, int dim, int operation, bool exclusive, "
      "bool reverse, Tensor? mask, Tensor? initial) -> (Tensor, Tensor)");
  // What they are for torch.compile and their gradients are registered in Python.
  library.def(
      "cumulative_extreme(Tensor x, int dim, int operation, bool reverse, Tensor? mask) -> "
      "(Tensor, "
      "Tensor)");
  library.def(
      "linear_recurrence(Tensor a, Tensor b, int dim, Tensor? initial, bool reverse, bool "
      "include_initial, Tensor? reset=None, bool in_double=False) -> Tensor");
  library.def(
      "advantage(Tensor rewards, Tensor values, Tensor next_value, Tensor? done, Tensor? "
      "log_ratios, float gamma, float lam, float rho_limit, float trace_limit, int dim) -> "
      "(Tensor, "
      "Tensor)");
}

#define KOKKOS_SCAN_IMPLEMENT(function, gradient)                               \
  library.impl("cumulative_sum", ks::function<ks::Operation::sum>);             \
  library.impl("cumulative_prod", ks::function<ks::Operation::prod>);           \
  library.impl("cumulative_min", ks::function<ks::Operation::min>);             \
  library.impl("cumulative_max", ks::function<ks::Operation::max>);             \
  library.impl("cumulative_logsumexp", ks::function<ks::Operation::logsumexp>); \
  library.impl("scan_gradient", ks::gradient)

namespace {

void implement(torch::Library& library) {
  KOKKOS_SCAN_IMPLEMENT(scan_tensor, scan_gradient_tensor);
  library.impl("cumulative_extreme", ks::extreme_tensor);
  library.impl("linear_recurrence", ks::recurrence_tensor);
  library.impl("advantage", ks::advantage_tensor);
}

}  // namespace

TORCH_LIBRARY_IMPL(kokkos_scan, CPU, library) { implement(library); }
#if defined(KOKKOS_SCAN_PYTHON_CUDA)
TORCH_LIBRARY_IMPL(kokkos_scan, CUDA, library) { implement(library); }
#endif
TORCH_LIBRARY_IMPL(kokkos_scan, Meta, library) {
  KOKKOS_SCAN_IMPLEMENT(scan_meta, scan_gradient_meta);
}
TORCH_LIBRARY_IMPL(kokkos_scan, Autograd, library) {
  KOKKOS_SCAN_IMPLEMENT(scan_autograd, scan_gradient_autograd);
}
#undef KOKKOS_SCAN_IMPLEMENT

// ---- The functions of the module ----------------------------------------------------------------

namespace {

// They are for calls of plain tensors, since parsing arguments takes half of the time of a short
// torch.ops call. They return NotImplemented if something overrides PyTorch's functions, so that
// torch.ops must be called.

/// Whether an argument is a tensor of no subclass, which might override PyTorch's functions.
bool is_exact(PyObject* argument) { return THPVariable_CheckExact(argument); }

/// scan(operation, x, dim, exclusive, reverse, mask), without initial value or dtype.
PyObject* scan_plain(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 6) {
    PyErr_SetString(PyExc_TypeError, "kokkos_scan._torch.scan takes 6 arguments.");
    return nullptr;
  }
  const bool has_mask = arguments[5] != Py_None;
  if (!is_exact(arguments[1]) || !PyLong_CheckExact(arguments[2]) || !PyBool_Check(arguments[3]) ||
      !PyBool_Check(arguments[4]) || (has_mask && !is_exact(arguments[5])) ||
      at::impl::torch_function_mode_enabled()) {
    Py_RETURN_NOTIMPLEMENTED;
  }
  const long operation = PyLong_AsLong(arguments[0]);
  const long long dim = PyLong_AsLongLong(arguments[2]);
  if (PyErr_Occurred() != nullptr) return nullptr;
  ks::Options options;
  options.exclusive = arguments[3] == Py_True;
  options.reverse = arguments[4] == Py_True;
  HANDLE_TH_ERRORS
  const at::Tensor& x = THPVariable_Unpack(arguments[1]);
  if (has_mask) options.mask = THPVariable_Unpack(arguments[5]);
  at::Tensor result;
  {
    const pybind11::gil_scoped_release release;
    result = ks::dispatch(static_cast<ks::Operation>(operation), x, dim, options);
  }
  return THPVariable_Wrap(std::move(result));
  END_HANDLE_TH_ERRORS
}

/// Whether all are tensors for which the operators' implementations may be called without the
/// dispatcher, or absent: no gradient is needed, and they are on a device that has kernels.
bool are_plain(std::initializer_list<PyObject*> arguments) {
  if (at::impl::torch_function_mode_enabled() || c10::impl::TorchDispatchModeTLS::any_modes_set()) {
    return false;
  }
  for (PyObject* argument : arguments) {
    if (argument == Py_None) continue;
    if (!is_exact(argument)) return false;
    const at::Tensor& tensor = THPVariable_Unpack(argument);
#if defined(KOKKOS_SCAN_PYTHON_CUDA)
    const bool has_kernels = tensor.is_cpu() || tensor.is_cuda();
#else
    const bool has_kernels = tensor.is_cpu();
#endif
    if (!has_kernels || tensor.layout() != at::kStrided || tensor.is_neg() ||
        (at::GradMode::is_enabled() && tensor.requires_grad())) {
      return false;
    }
  }
  return true;
}

at::Tensor tensor_of(PyObject* argument) { return THPVariable_Unpack(argument); }
ks::OptionalTensor optional_of(PyObject* argument) {
  return argument == Py_None ? ks::OptionalTensor() : tensor_of(argument);
}

PyObject* pair_of(std::tuple<at::Tensor, at::Tensor>&& tensors) {
  PyObject* first = THPVariable_Wrap(std::move(std::get<0>(tensors)));
  PyObject* second = THPVariable_Wrap(std::move(std::get<1>(tensors)));
  PyObject* pair = first && second ? PyTuple_Pack(2, first, second) : nullptr;
  Py_XDECREF(first);
  Py_XDECREF(second);
  return pair;
}

/// Whether an argument is absent or a tensor like `x`: of its device, this type and these sizes.
bool is_like(PyObject* argument, const at::Tensor& x, at::ScalarType type, at::IntArrayRef sizes) {
  if (argument == Py_None) return true;
  const at::Tensor& tensor = THPVariable_Unpack(argument);
  return tensor.scalar_type() == type && tensor.device() == x.device() && tensor.sizes() == sizes;
}
/// The dimension, counted from the front, if it exists.
std::optional<std::int64_t> dim_of(PyObject* argument, const at::Tensor& x) {
  if (!PyLong_CheckExact(argument)) return std::nullopt;
  int overflows = 0;
  const long long dim = PyLong_AsLongLongAndOverflow(argument, &overflows);
  if (overflows != 0 || dim < -x.dim() || dim >= x.dim()) return std::nullopt;
  return ks::counted(dim, x);
}
/// Sizes without a dimension.
c10::SmallVector<std::int64_t, 8> sizes_of_lines(const at::Tensor& x, std::int64_t dim) {
  c10::SmallVector<std::int64_t, 8> sizes(x.sizes().begin(), x.sizes().end());
  sizes.erase(sizes.begin() + dim);
  return sizes;
}

/// extreme(x, dim, operation, reverse, mask)
PyObject* extreme_plain(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  HANDLE_TH_ERRORS
  if (count != 5 || !are_plain({arguments[0], arguments[4]})) Py_RETURN_NOTIMPLEMENTED;
  const long long dim = PyLong_AsLongLong(arguments[1]);
  const long long operation = PyLong_AsLongLong(arguments[2]);
  if (PyErr_Occurred() != nullptr) return nullptr;
  const at::Tensor x = tensor_of(arguments[0]);
  const ks::OptionalTensor mask = optional_of(arguments[4]);
  std::tuple<at::Tensor, at::Tensor> found;
  {
    const pybind11::gil_scoped_release release;
    const at::AutoDispatchBelowADInplaceOrView below;
    found = ks::extreme_tensor(x, dim, operation, arguments[3] == Py_True, mask);
  }
  return pair_of(std::move(found));
  END_HANDLE_TH_ERRORS
}

/// recurrence(a, b, dim, initial, reverse, include_initial, reset, in_double), where a may be a
/// float. NotImplemented, too, if an argument does not fit.
PyObject* recurrence_plain(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  HANDLE_TH_ERRORS
  if (count != 8 || !is_exact(arguments[1])) Py_RETURN_NOTIMPLEMENTED;
  const bool is_number = PyFloat_CheckExact(arguments[0]);
  if (!are_plain({is_number ? Py_None : arguments[0], arguments[1], arguments[3], arguments[6]}) ||
      arguments[0] == Py_None || !PyBool_Check(arguments[4]) || !PyBool_Check(arguments[5]) ||
      !PyBool_Check(arguments[7])) {
    Py_RETURN_NOTIMPLEMENTED;
  }
  const at::Tensor b = tensor_of(arguments[1]);
  const std::optional<std::int64_t> dim = dim_of(arguments[2], b);
  const at::ScalarType type = b.scalar_type();
  if (!dim || !at::isFloatingType(type) ||
      !(is_number || is_like(arguments[0], b, type, b.sizes())) ||
      !is_like(arguments[3], b, type, sizes_of_lines(b, *dim)) ||
      !is_like(arguments[6], b, at::kBool, b.sizes())) {
    Py_RETURN_NOTIMPLEMENTED;
  }
  const double coefficient = is_number ? PyFloat_AS_DOUBLE(arguments[0]) : 0;
  const ks::OptionalTensor a = is_number ? ks::OptionalTensor() : tensor_of(arguments[0]);
  const ks::OptionalTensor initial = optional_of(arguments[3]);
  const ks::OptionalTensor reset = optional_of(arguments[6]);
  const bool is_backward = arguments[4] == Py_True;
  const bool include_initial = arguments[5] == Py_True;
  const bool in_double = arguments[7] == Py_True;
  at::Tensor states;
  {
    const pybind11::gil_scoped_release release;
    const at::AutoDispatchBelowADInplaceOrView below;
    states = ks::states_of(a, coefficient, b, *dim, initial, is_backward, include_initial, reset,
                           in_double);
  }
  return THPVariable_Wrap(std::move(states));
  END_HANDLE_TH_ERRORS
}

/// advantage(rewards, values, next_value, done, log_ratios, (four numbers), dim). NotImplemented,
/// too, if an argument does not fit.
PyObject* advantage_plain(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  HANDLE_TH_ERRORS
  if (count != 7 || !PyTuple_CheckExact(arguments[5]) || PyTuple_GET_SIZE(arguments[5]) != 4 ||
      !is_exact(arguments[0]) || !is_exact(arguments[1]) || !is_exact(arguments[2]) ||
      !are_plain({arguments[0], arguments[1], arguments[2], arguments[3], arguments[4]})) {
    Py_RETURN_NOTIMPLEMENTED;
  }
  std::array<double, 4> numbers{};
  for (std::size_t k = 0; k < 4; ++k) {
    PyObject* const number = PyTuple_GET_ITEM(arguments[5], static_cast<Py_ssize_t>(k));
    if (!PyFloat_CheckExact(number)) Py_RETURN_NOTIMPLEMENTED;
    numbers[k] = PyFloat_AS_DOUBLE(number);
  }
  const at::Tensor rewards = tensor_of(arguments[0]);
  const std::optional<std::int64_t> dim = dim_of(arguments[6], rewards);
  const at::ScalarType type = rewards.scalar_type();
  if (!dim || !at::isFloatingType(type) || !is_like(arguments[1], rewards, type, rewards.sizes()) ||
      !is_like(arguments[2], rewards, type, sizes_of_lines(rewards, *dim)) ||
      !is_like(arguments[3], rewards, at::kBool, rewards.sizes()) ||
      !is_like(arguments[4], rewards, type, rewards.sizes())) {
    Py_RETURN_NOTIMPLEMENTED;
  }
  const at::Tensor values = tensor_of(arguments[1]);
  const at::Tensor next_value = tensor_of(arguments[2]);
  const ks::OptionalTensor done = optional_of(arguments[3]);
  const ks::OptionalTensor log_ratios = optional_of(arguments[4]);
  std::tuple<at::Tensor, at::Tensor> found;
  {
    const pybind11::gil_scoped_release release;
    const at::AutoDispatchBelowADInplaceOrView below;
    found = ks::advantage_tensor(rewards, values, next_value, done, log_ratios, numbers[0],
                                 numbers[1], numbers[2], numbers[3], *dim);
  }
  return pair_of(std::move(found));
  END_HANDLE_TH_ERRORS
}

template <PyObject* function(PyObject*, PyObject* const*, Py_ssize_t)>
PyMethodDef method(const char* name) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)),
          METH_FASTCALL, nullptr};
}

PyMethodDef methods[] = {
    method<scan_plain>("scan"),
    method<extreme_plain>("extreme"),
    method<recurrence_plain>("recurrence"),
    method<advantage_plain>("advantage"),
    {nullptr, nullptr, 0, nullptr},
};
PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "_torch",
                          "PyTorch's operators kokkos_scan::*.",
                          -1,
                          methods,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__torch() {
#if defined(KOKKOS_SCAN_PYTHON_CUDA)
  // PyTorch keeps memory by stream, and the same stream uses it again.
  ks::take_workspaces_from(
      [](std::size_t bytes, void* stream) {
        return c10::cuda::CUDACachingAllocator::raw_alloc_with_stream(
            bytes, static_cast<cudaStream_t>(stream));
      },
      [](void* data) { c10::cuda::CUDACachingAllocator::raw_delete(data); });
#endif
  return PyModule_Create(&definition);
}
