// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cuda_plan.hpp"

#include <KokkosScan/operators.hpp>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "error.hpp"

// Kernel headers are parsed, but no kernel is compiled: a host compiler only needs the names.
#if defined(__CUDACC__)
#include <KokkosScan/impl/cuda/backend.hpp>
#elif !defined(KOKKOS_ENABLE_CUDA) && !defined(KOKKOS_ENABLE_HIP) && !defined(KOKKOS_ENABLE_SYCL)
#include "cuda_names.hpp"
#define KOKKOSSCAN_IMPL_HAS_CUDA_KERNELS
#endif

#if defined(KOKKOSSCAN_IMPL_HAS_CUDA_KERNELS)
#include <KokkosScan/impl/cuda/problems.hpp>

namespace scan_tool {
namespace {

namespace ks = KokkosScan;
namespace impl = KokkosScan::impl;
namespace cuda = KokkosScan::impl::cuda;

/// The backend's plan.
struct Planned {
  std::string kernel;
  std::int64_t blocks = 0;
  int threads = 0;
  int shared_bytes = 0;
  std::string tile;  ///< in words
  std::string ring;  ///< or none
  std::size_t workspace = 0;
  std::size_t most_workspace = 0;
};

std::string number(std::int64_t n) { return std::to_string(n); }
std::string counted(std::int64_t n, const std::string& what) {
  return number(n) + " " + what + (n == 1 ? "" : "s");
}

/// The given device, as an execution space instance.
struct PlannedDevice {
  static constexpr bool only_plans = true;
  using memory_space = Kokkos::HostSpace;

  std::string_view name;
  int multiprocessors;
  int shared_bytes_of_block;
  Planned* planned = nullptr;

  template <class Shape>
  void would_launch(const cuda::Launch& launch, const Shape& shape) const {
    planned->kernel = launch.path;
    planned->blocks = launch.blocks;
    planned->threads = launch.threads;
    planned->shared_bytes = launch.shared_bytes;
    describe(shape);
  }

 private:
  void describe(const cuda::Shape& shape) const {
    planned->tile = counted(shape.lines_of_tile, "line") + " of " + number(shape.cut.tile_length) +
                    ", chunks of " + number(shape.cut.chunk) + ", " +
                    counted(shape.cut.threads_of_line, "thread") + " a line";
  }
  void describe(const cuda::RingShape& shape) const {
    describe(shape.shape);
    planned->ring = counted(shape.stages, "tile") + " at once";
  }
  void describe(const cuda::Cut&) const { planned->tile = "a line, in registers"; }
  /// Of a thread per column.
  void describe(bool) const {
    planned->tile = number(cuda::chunk_of_column) + " rows of " +
                    counted(cuda::threads_of_columns, "column") + " at a time";
  }
  void describe(const cuda::NarrowColumnPlan& plan) const {
    planned->tile = number(plan.rows) + " rows of " + counted(plan.columns, "column") + " of " +
                    counted(plan.slabs_of_tile, "slab") + ", chunks of " + number(plan.chunk);
    if (plan.steps > 1) {
      planned->ring = counted(plan.slabs, "slab") + " of " + counted(plan.steps, "tile");
    }
  }
  void describe(const cuda::WideColumnPlan& plan) const {
    planned->tile = number(std::int64_t{plan.quarters_of_tile} * cuda::elements_of_quarter) +
                    " rows of a strip of " + counted(plan.columns, "column");
    planned->ring = number(plan.strips) + " strips of " + counted(plan.tiles, "tile");
  }
};

int multiprocessors(const PlannedDevice& device) { return device.multiprocessors; }
int shared_bytes_of_block(const PlannedDevice& device) { return device.shared_bytes_of_block; }
void clear(const PlannedDevice& device, const cuda::Launch&, std::byte*, std::size_t bytes,
           std::int64_t, std::int64_t) {
  device.planned->workspace = bytes;
}

/// Multiprocessors, and bytes of shared memory that a block may ask for.
constexpr std::array<PlannedDevice, 7> devices{{{"a100", 108, 166912},
                                                {"rtx3090", 82, 101376},
                                                {"rtx4090", 128, 101376},
                                                {"l40s", 142, 101376},
                                                {"h100", 132, 232448},
                                                {"h200", 132, 232448},
                                                {"b200", 148, 232448}}};

/// Shared memory per block that all supported GPUs (compute capability 8.0 and later) provide.
constexpr int least_shared_bytes = 101376;

/// The number in `text` if the whole text is a number, else -1.
std::int64_t whole_number(std::string_view text) {
  std::int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : -1;
}

PlannedDevice device_of(const std::string& name) {
  std::vector<std::string_view> names;
  for (const PlannedDevice& device : devices) {
    if (device.name == name) return device;
    names.push_back(device.name);
  }
  const auto comma = name.find(',');
  if (comma != std::string::npos) {
    const std::int64_t count = whole_number(std::string_view(name).substr(0, comma));
    const std::int64_t bytes = whole_number(std::string_view(name).substr(comma + 1));
    if (count >= 1 && count <= 4096 && bytes >= least_shared_bytes && bytes <= 1 << 24) {
      return {name, static_cast<int>(count), static_cast<int>(bytes)};
    }
  }
  const std::string numbers = "MULTIPROCESSORS,BYTES of shared memory that a block may have, " +
                              number(least_shared_bytes) + " or more";
  names.push_back(numbers);
  refuse("--device", quoted(name), one_of(names));
}

/// A dense array in C order, scanned along one of its axes.
struct PlannedShape {
  std::vector<std::int64_t> extents;
  std::size_t axis;
  std::int64_t outer = 1, n = 1, inner = 1;
};
PlannedShape shape_of(const PlanOptions& options) {
  PlannedShape shape{};
  std::string_view rest = options.shape;
  double elements = 1;
  bool is_shape = true;
  while (is_shape) {
    const auto x = rest.find('x');
    shape.extents.push_back(whole_number(rest.substr(0, x)));
    is_shape = shape.extents.back() >= 1 && shape.extents.size() <= 8;
    elements *= static_cast<double>(shape.extents.back());
    if (x == std::string_view::npos) break;
    rest.remove_prefix(x + 1);
  }
  if (!is_shape || elements > 1e15) {
    refuse("--plan", quoted(options.shape),
           "one to eight extents, as 64x1024x3, with at most 1e15 elements");
  }
  const auto rank = static_cast<std::int64_t>(shape.extents.size());
  if (options.axis < -rank || options.axis >= rank) {
    refuse("--axis", number(options.axis),
           "an axis from " + number(-rank) + " to " + number(rank - 1));
  }
  shape.axis = static_cast<std::size_t>(options.axis < 0 ? options.axis + rank : options.axis);
  for (std::size_t d = 0; d < shape.extents.size(); ++d) {
    (d < shape.axis ? shape.outer : (d == shape.axis ? shape.n : shape.inner)) *= shape.extents[d];
  }
  return shape;
}

template <class Op, class Values, class Mask>
Planned plan_with(const PlanOptions& options, const PlannedShape& shape, PlannedDevice device) {
  using A = Values;
  constexpr bool masked = std::is_same_v<Mask, bool>;
  using Array = impl::Array<const A>;
  using In =
      std::conditional_t<masked, impl::Selected<A, Array, impl::Array<const impl::StoredBool>>,
                         Array>;
  using P = impl::Problem<A, Op, In, A, impl::CommonStart<A>, A>;

  const std::int64_t lines = shape.outer * shape.inner;
  const std::int64_t results = shape.n + (options.include_total ? 1 : 0);
  impl::Batch batch{lines, 0, {}};
  const auto strides = [&](std::int64_t n) {
    impl::Strides of{options.reverse ? -shape.inner : shape.inner, {}};
    int rank = 0;
    if (shape.outer > 1) of.batch[rank++] = n * shape.inner;
    if (shape.inner > 1) of.batch[rank++] = 1;
    return of;
  };
  for (const std::int64_t extent : {shape.outer, shape.inner}) {
    if (extent > 1) batch.extent[batch.rank++] = extent;
  }
  // Aligned like allocations; nothing is read or written there.
  const auto first = [&](auto* null, std::uintptr_t allocation, std::int64_t n) {
    constexpr std::uintptr_t apart = std::uintptr_t{1} << 56;
    using T = std::remove_pointer_t<decltype(null)>;
    const auto last = static_cast<std::uintptr_t>((n - 1) * shape.inner) * sizeof(T);
    return reinterpret_cast<T*>(allocation * apart + (options.reverse ? last : 0));
  };
  const Array values{first(static_cast<const A*>(nullptr), 1, shape.n), strides(shape.n)};
  const auto input = [&] {
    if constexpr (masked) {
      const impl::Array<const impl::StoredBool> mask{
          first(static_cast<const impl::StoredBool*>(nullptr), 2, shape.n), strides(shape.n)};
      return In{values, mask, Op::identity()};
    } else {
      return values;
    }
  }();
  // The first of n+1 results precedes that of the first element.
  A* to = first(static_cast<A*>(nullptr), 3, results);
  const P problem{
      options.exclusive ? impl::Function::exclusive_scan : impl::Function::inclusive_scan,
      shape.n,
      batch,
      options.exclusive ? impl::Form::exclusive : impl::Form::inclusive,
      options.include_total ? impl::Extra::last : impl::Extra::none,
      Op{},
      impl::Maybe<A>(Op::identity()),
      input,
      {to, strides(results)},
      {},
      {nullptr, {}}};
  Planned planned;
  device.planned = &planned;
  planned.most_workspace = cuda::Backend::workspace_bytes<P>(device, shape.n, lines);
  if (!cuda::Backend::accepts(problem)) {
    planned.kernel = "team/thread_per_line";
    return planned;
  }
  // The backend clears the workspace.
  std::byte workspace{};
  cuda::Backend{}.scan(device, problem, &workspace);
  return planned;
}

template <class Op, class Values>
Planned plan_for(const PlanOptions& options, const PlannedShape& shape,
                 const PlannedDevice& device) {
  return options.mask ? plan_with<Op, Values, bool>(options, shape, device)
                      : plan_with<Op, Values, void>(options, shape, device);
}

/// A plan depends on sizes, on whether values are carried in a wider type, and on which scans stay
/// in registers. So sums represent products, and maxima represent minima.
template <class A>
Planned plan_of_type(const PlanOptions& options, const PlannedShape& shape,
                     const PlannedDevice& device) {
  constexpr bool is_complex = !std::is_arithmetic_v<A>;
  const std::string& op = options.operation;
  if (op == "sum" || op == "prod") return plan_for<ks::Sum<A>, A>(options, shape, device);
  if constexpr (!is_complex) {
    if (op == "min" || op == "max") return plan_for<ks::Max<A>, A>(options, shape, device);
  }
  refuse("--op", quoted(op), is_complex ? "sum or prod" : "sum, prod, min or max");
}

Planned plan(const PlanOptions& options, const PlannedShape& shape, const PlannedDevice& device) {
  const std::string& type = options.dtype;
  const auto is_integer_of = [&](const char* bits) {
    return type == std::string("int") + bits || type == std::string("uint") + bits;
  };
  if (type == "float32") return plan_of_type<float>(options, shape, device);
  if (type == "float64") return plan_of_type<double>(options, shape, device);
  if (type == "complex64") return plan_of_type<Kokkos::complex<float>>(options, shape, device);
  if (type == "complex128") return plan_of_type<Kokkos::complex<double>>(options, shape, device);
  if (is_integer_of("8")) return plan_of_type<std::int8_t>(options, shape, device);
  if (is_integer_of("16")) return plan_of_type<std::int16_t>(options, shape, device);
  if (is_integer_of("32")) return plan_of_type<std::int32_t>(options, shape, device);
  if (is_integer_of("64")) return plan_of_type<std::int64_t>(options, shape, device);
  refuse("--dtype", quoted(type),
         "int8 to int64, uint8 to uint64, float32, float64, complex64 or complex128");
}

/// Why a kernel is chosen, as in docs/cuda-backend.md.
std::string reason(const Planned& planned, const PlannedShape& shape) {
  const std::string& kernel = planned.kernel;
  const std::string side_by_side = number(shape.inner) + " columns side by side";
  if (kernel == "cuda/lines") return "contiguous lines of which a tile holds whole ones";
  if (kernel == "cuda/in_registers") return "contiguous lines that a block holds in registers";
  if (kernel == "cuda/parts_of_lines") {
    return "contiguous lines that are too long for a tile: blocks share them";
  }
  if (kernel == "cuda/narrow_columns") {
    return shape.n <= cuda::longest_short_column
               ? "columns of at most " + number(cuda::longest_short_column) + " elements"
               : side_by_side + ", at most " + number(cuda::widest_narrow_row(shape.n));
  }
  if (kernel == "cuda/columns_by_threads") {
    return side_by_side + ", so short and so many that each thread has one";
  }
  if (kernel == "cuda/wide_columns") {
    return side_by_side +
           ": blocks take tiles of strips of them in the order of memory, into registers";
  }
  return "more columns than a number of 32 bits holds, or longer ones";
}

}  // namespace

void run_plan(const PlanOptions& options) {
  const PlannedShape shape = shape_of(options);
  const PlannedDevice device = device_of(options.device);
  if (options.include_total && !options.exclusive) {
    refuse("--include-total", "no --exclusive", "both");
  }
  const Planned planned = plan(options, shape, device);
  const auto row = [](const std::string& name, const std::string& value) {
    if (!value.empty()) std::cout << name << ": " << value << '\n';
  };
  row("device", std::string(device.name) + ", " +
                    counted(device.multiprocessors, "multiprocessor") + ", " +
                    number(device.shared_bytes_of_block) + " bytes of shared memory a block");
  row("lines", counted(shape.outer * shape.inner, "line") + " of " + counted(shape.n, "element") +
                   ": (outer, n, inner) = (" + number(shape.outer) + ", " + number(shape.n) + ", " +
                   number(shape.inner) + ")");
  row("kernel", planned.kernel);
  row("why", reason(planned, shape));
  if (planned.blocks > 0) {
    row("tile", planned.tile);
    row("in flight", planned.ring);
    row("blocks", number(planned.blocks) + " of " + counted(planned.threads, "thread"));
    row("shared memory", counted(planned.shared_bytes, "byte") + " a block");
  }
  row("workspace", counted(static_cast<std::int64_t>(planned.workspace), "byte") + ", at most " +
                       number(static_cast<std::int64_t>(planned.most_workspace)) +
                       " for so many lines of this length");
}

}  // namespace scan_tool

#else

namespace scan_tool {

void run_plan(const PlanOptions&) {
  throw UserError("--plan: this program is built for a GPU that has no CUDA kernels.");
}

}  // namespace scan_tool

#endif
