// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "scan_command.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <complex>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "buffer.hpp"
#include "convert.hpp"
#include "error.hpp"
#include "kokkos_session.hpp"
#include "npy_input.hpp"
#include "npy_output.hpp"
#include "parse_value.hpp"
#include "progress.hpp"
#include "scan_in_pieces.hpp"
#include "scan_plan.hpp"
#include "scan_problem.hpp"
#include "spaces.hpp"

namespace scan_tool {
namespace {

/// Parses a number of bytes, such as 500M; K, M, G and T are powers of 1024.
std::int64_t parse_bytes(const std::string& option, const std::string& text) {
  constexpr std::string_view units = "KMGT";
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, value);
  const std::size_t unit = last < end ? units.find(*last) : std::string_view::npos;
  const int shift = unit == std::string_view::npos ? 0 : 10 * (static_cast<int>(unit) + 1);
  const bool is_whole = last + (shift > 0 ? 1 : 0) == end;
  if (error != std::errc() || !is_whole || value < 1 || value > (std::int64_t{1} << 58 >> shift) ||
      value << shift < least_memory) {
    refuse(option, quoted(text), "a number of bytes from 4K on, such as 500M or 2G");
  }
  return value << shift;
}

Operation operation_named(const std::string& name) {
  constexpr std::array<std::string_view, 5> names{"sum", "prod", "min", "max", "logsumexp"};
  const auto* const place = std::find(names.begin(), names.end(), name);
  if (place == names.end()) refuse("--op", quoted(name), one_of(names));
  return static_cast<Operation>(place - names.begin());
}

/// The axis counted from the front.
std::size_t checked_axis(const NpyInput& input, int axis) {
  const auto rank = static_cast<int>(input.header().shape.size());
  if (rank == 0) {
    refuse(input.path(), "an array of rank 0", "rank 1 to 8: a single number has no axis");
  }
  if (rank > 8) refuse(input.path(), "an array of rank " + std::to_string(rank), "rank 1 to 8");
  if (axis < -rank || axis >= rank) {
    refuse("--axis", std::to_string(axis),
           std::to_string(-rank) + " to " + std::to_string(rank - 1) + " for shape " +
               to_string(input.header().shape) + " of " + input.path());
  }
  return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
}

/// The type of the output.
DType output_dtype(const ScanOptions& options, const NpyInput& input, Operation operation) {
  const DType from = input.header().dtype;
  DType result = is_ordering(operation) ? from : numpy_sum_dtype(from);
  if (operation == Operation::logsumexp) result = numpy_logarithm_dtype(from);
  if (options.dtype) {
    const std::optional<DType> named = dtype_named(*options.dtype);
    if (!named) refuse("--dtype", quoted(*options.dtype), one_of(dtype_names()));
    result = *named;
  }
  const std::string name(info(result).name);
  if (info(from).kind == Kind::complex && info(result).kind != Kind::complex) {
    refuse("--dtype", name + " for " + input.path() + " of " + std::string(info(from).name),
           "complex64 or complex128: complex values have no real equivalent");
  }
  if (is_ordering(operation) && info(result).kind == Kind::complex) {
    refuse("--op", options.operation + " of " + name + " for " + input.path(),
           "sum or prod: complex values have no order");
  }
  if (operation == Operation::logsumexp && info(result).kind != Kind::real) {
    refuse(
        "--op", options.operation + " of " + name + " for " + input.path(),
        info(from).kind == Kind::complex ? "sum or prod" : "--dtype float16, float32 or float64");
  }
  return result;
}

void check_mask(const NpyInput& mask, const NpyInput& input) {
  if (mask.header().dtype != DType::boolean) {
    refuse(mask.path(), "a mask of " + std::string(info(mask.header().dtype).name), "bool");
  }
  if (mask.header().shape != input.header().shape) {
    refuse(mask.path(), "a mask of shape " + to_string(mask.header().shape),
           to_string(input.header().shape) + ", the shape of " + input.path());
  }
}

/// Refuses to overwrite input files. Only OUT may be IN.
void check_apart(const ScanOptions& options, const NpyOutput& output, const NpyOutput* totals) {
  const auto refuse_mask = [&](const std::string& what, const NpyOutput& written) {
    if (!options.mask || !written.replaces(*options.mask)) return;
    refuse(what, "the file of the mask " + *options.mask, "another file");
  };
  refuse_mask("OUT", output);
  if (totals == nullptr) return;
  refuse_mask("--totals", *totals);
  if ((totals->path() == standard_stream && output.is_standard_output()) ||
      (!output.is_standard_output() && totals->target() == output.target()) ||
      output.replaces(totals->target())) {
    refuse("--totals", "the output file " + *options.totals, "another file");
  }
  if (totals->replaces(options.input)) {
    refuse("--totals", "the input file " + *options.totals, "another file");
  }
}

/// Standard input can be read only once, and standard streams need a single rank.
void check_streams(const ScanOptions& options, const Ranks& ranks) {
  if (options.mask && *options.mask == standard_stream && options.input == standard_stream) {
    refuse("--mask", "standard input, which is IN", "a file");
  }
  if (ranks.size() == 1) return;
  for (const std::string& path :
       {options.input, options.output, options.mask.value_or(""), options.totals.value_or("")}) {
    if (path == standard_stream) refuse(path, "standard input or output", "a file for many ranks");
  }
}

Geometry geometry(const std::string& path, const NpyHeader& header, std::size_t axis) {
  const auto at = header.shape.begin() + static_cast<std::ptrdiff_t>(axis);
  const Shape before(header.shape.begin(), at);
  const Shape after(at + 1, header.shape.end());
  Shape lines = before;
  lines.insert(lines.end(), after.begin(), after.end());
  element_count(path + " without the axis", lines);  // also if the lines have no elements
  Geometry result{element_count(path, before), *at, element_count(path, after)};
  if (header.order == Order::fortran) std::swap(result.outer, result.inner);
  return result;
}

/// The bytes of `mask`, reordered to the element order `order`.
Buffer<std::uint8_t> reordered(const NpyInput& mask, Order order) {
  Buffer<std::uint8_t> result(mask.count());
  const auto* const source = reinterpret_cast<const std::uint8_t*>(mask.data().data());
  // From the slowest dimension of the result to the fastest; in the mask the order is reversed.
  Shape extents = mask.header().shape;
  if (order == Order::fortran) std::reverse(extents.begin(), extents.end());
  std::vector<std::int64_t> strides(extents.size());
  std::int64_t stride = 1;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    strides[d] = stride;
    stride *= extents[d];
  }
  std::vector<std::int64_t> index(extents.size(), 0);
  std::int64_t offset = 0;
  for (std::uint8_t& value : result.span()) {
    value = source[offset];
    for (std::size_t d = extents.size(); d-- > 0;) {
      offset += strides[d];
      if (++index[d] < extents[d]) break;
      offset -= strides[d] * extents[d];
      index[d] = 0;
    }
  }
  return result;
}

/// The values of the input as accumulators of `dtype`, copied only if necessary.
template <class A>
class Values {
 public:
  Values(const NpyInput& input, DType dtype) {
    if (input.header().byte_order == ByteOrder::swapped) {
      load_swapped(input, dtype);
      return;
    }
    const std::byte* const bytes = input.data().data();
    const bool same = input.header().dtype == dtype && size_of(dtype) == sizeof(A) &&
                      info(dtype).kind != Kind::boolean;
    if (same && reinterpret_cast<std::uintptr_t>(bytes) % 16 == 0) {
      m_data = reinterpret_cast<const A*>(bytes);
      return;
    }
    m_copy = Buffer<A>(input.count());
    load<A>(input.data(), input.header().dtype, dtype, m_copy.span());
    m_data = m_copy.data();
  }

  [[nodiscard]] const A* data() const { return m_data; }
  /// The memory if it may be overwritten, else nullptr.
  [[nodiscard]] A* scratch() const { return m_copy.data(); }

 private:
  void load_swapped(const NpyInput& input, DType dtype) {
    const DType from = input.header().dtype;
    m_copy = Buffer<A>(input.count());
    std::vector<std::byte> bytes(std::min<std::size_t>(1 << 16, m_copy.span().size()) *
                                 size_of(from));
    std::int64_t first = 0;
    for (std::span<A> rest = m_copy.span(); !rest.empty();) {
      const std::size_t count = std::min<std::size_t>(1 << 16, rest.size());
      const std::span<std::byte> part(bytes.data(), count * size_of(from));
      input.read(first, part);
      load<A>(part, from, dtype, rest.first(count));
      first += static_cast<std::int64_t>(count);
      rest = rest.subspan(count);
    }
    m_data = m_copy.data();
  }

  Buffer<A> m_copy;
  const A* m_data = nullptr;
};

template <class A>
void write(NpyOutput& file, const NpyHeader& header, std::span<const A> values) {
  constexpr std::size_t block = 1 << 16;
  file.write_header(header);
  Progress progress(static_cast<std::int64_t>(values.size_bytes()),
                    Progress::Shown::where_stderr_is_a_terminal);
  std::vector<std::byte> bytes(std::min(block, values.size()) * size_of(header.dtype));
  while (!values.empty()) {
    const std::size_t count = std::min(block, values.size());
    const std::span<std::byte> part(bytes.data(), count * size_of(header.dtype));
    store<A>(values.first(count), header.dtype, part);
    file.write(part);
    progress.add(static_cast<std::int64_t>(count * sizeof(A)));
    values = values.subspan(count);
  }
  file.finish();
}

template <class A>
void execute(const ScanPlan& plan) {
  const ScanOptions& options = plan.options;
  ScanProblem<A> problem;
  problem.operation = plan.operation;
  problem.mode = options.exclusive ? Mode::exclusive : Mode::inclusive;
  problem.direction = options.reverse ? Direction::backward : Direction::forward;
  // The order of combination does not matter for minima and maxima.
  const bool in_order = options.in_order && !is_ordering(plan.operation);
  if (in_order) problem.grouping = Grouping::in_order;
  problem.outer = plan.geometry.outer;
  problem.length = plan.geometry.length;
  problem.inner = plan.geometry.inner;
  problem.output_length = problem.length + (options.include_total ? 1 : 0);
  // Results of min and max may be the identity, which must be that of the output's type.
  const bool shows_identity = is_ordering(plan.operation) && (options.exclusive || options.mask);
  if (options.initial) {
    problem.start = parse_value<A>("--initial", *options.initial, plan.dtype);
  } else if (!in_order && (plan.totals || shows_identity)) {
    problem.start = identity<A>(plan.operation, plan.dtype);
  }

  const NpyHeader out = output_header(plan);
  const Values<A> values(plan.input, plan.dtype);
  problem.input = values.data();
  Buffer<std::uint8_t> reordered_mask;
  if (plan.mask != nullptr) {
    problem.mask = reinterpret_cast<const std::uint8_t*>(plan.mask->data().data());
    if (plan.mask->header().order != out.order) {
      reordered_mask = reordered(*plan.mask, out.order);
      problem.mask = reordered_mask.data();
    }
  }
  const std::int64_t out_count = element_count(plan.output->path(), out.shape);
  const bool in_place = values.scratch() != nullptr && !options.include_total;
  const Buffer<A> result = in_place ? Buffer<A>() : Buffer<A>(out_count);
  problem.output = in_place ? values.scratch() : result.data();
  const Buffer<A> totals(problem.has_totals() ? problem.outer * problem.inner : 0);
  problem.totals = totals.data();

  scan(problem, options.space);

  write<A>(*plan.output, out, {problem.output, static_cast<std::size_t>(out_count)});
  if (plan.totals) write<A>(*plan.totals, totals_header(plan), totals.span());
}

void execute_in(Accumulator accumulator, const ScanPlan& plan) {
  switch (accumulator) {
    case Accumulator::int64:
      return execute<std::int64_t>(plan);
    case Accumulator::uint64:
      return execute<std::uint64_t>(plan);
    case Accumulator::float32:
      return execute<float>(plan);
    case Accumulator::float64:
      return execute<double>(plan);
    case Accumulator::complex64:
      return execute<std::complex<float>>(plan);
    case Accumulator::complex128:
      return execute<std::complex<double>>(plan);
  }
}

}  // namespace

void run_scan(const ScanOptions& options, Ranks& ranks) {
  std::optional<NpyInput> input;
  std::optional<NpyInput> mask;
  std::optional<NpyOutput> output;
  std::optional<NpyOutput> totals;
  std::optional<ScanPlan> plan;
  std::optional<std::int64_t> memory;
  std::string temporary_output;
  std::string temporary_totals;

  ranks.attempt([&] {
    const Operation operation = operation_named(options.operation);
    check_space(options.space);
    if (options.include_total && !options.exclusive) {
      refuse("--include-total", "no --exclusive",
             "--exclusive: the last value of an inclusive scan is the total");
    }
    if (options.memory) memory = parse_bytes("--memory", *options.memory);
    check_streams(options, ranks);
    input.emplace(options.input);
    const std::size_t axis = checked_axis(*input, options.axis);
    const DType dtype = output_dtype(options, *input, operation);
    const Geometry cut = geometry(input->path(), input->header(), axis);
    if (options.mask) {
      mask.emplace(*options.mask);
      check_mask(*mask, *input);
      if ((memory || ranks.size() > 1) && mask->header().order != input->header().order) {
        refuse(mask->path(), "a mask in the other order (C or Fortran)",
               "that of " + input->path() + ", as it is read in pieces");
      }
    }
    if (ranks.rank() == 0) {
      output.emplace(options.output);
      temporary_output = output->temporary();
      if (options.totals) {
        totals.emplace(*options.totals);
        temporary_totals = totals->temporary();
      }
      check_apart(options, *output, totals ? &*totals : nullptr);
    }
    plan.emplace(ScanPlan{options, *input, mask ? &*mask : nullptr, output, totals, operation, axis,
                          dtype, cut});
  });
  temporary_output = ranks.from_first(temporary_output);
  temporary_totals = ranks.from_first(temporary_totals);
  ranks.attempt([&] {
    if (ranks.rank() == 0) return;
    output.emplace(options.output, temporary_output);
    if (options.totals) totals.emplace(*options.totals, temporary_totals);
  });

  std::optional<KokkosSession> session;
  ranks.attempt([&] { session.emplace(); });
  if (memory || ranks.size() > 1) {
    scan_in_pieces(*plan, memory.value_or(default_memory), ranks);
  } else {
    execute_in(accumulator_of(plan->dtype), *plan);
  }
  session.reset();
  // Totals first: if that fails, the output is unchanged.
  ranks.attempt([&] {
    if (totals) totals->commit();
    output->commit();
  });
}

}  // namespace scan_tool
