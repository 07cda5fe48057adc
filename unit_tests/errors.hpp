// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// \file
/// Shared by the tests of errors.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <exception>
#include <stdexcept>
#include <string>

#include "support/flat.hpp"
#include "support/types.hpp"

namespace test::errors {

// All Views of a kind have the same type, so that each call is instantiated once.
template <class T>
using Field = Kokkos::View<T**, Kokkos::LayoutStride, Device>;
template <class T>
using LineField = Kokkos::View<T*, Kokkos::LayoutStride, Device>;
using Bytes = Kokkos::View<std::byte*, Device>;

inline constexpr float poison = 12345.0f;

template <class T>
Field<T> field(std::string const& label, std::size_t rows, std::size_t columns, T value) {
  Kokkos::View<T**, Kokkos::LayoutRight, Device> const f(label, rows, columns);
  fill(f, value);
  return f;
}
template <class T>
LineField<T> line_field(std::string const& label, std::size_t size, T value) {
  Flat<T> const f(label, size);
  fill(f, value);
  return f;
}

/// Whether every element of a contiguous View is `value`.
template <class View>
bool is_all(View const& view, typename View::non_const_value_type value) {
  Flat<typename View::non_const_value_type> const flat(view.data(), view.size());
  for (auto const element : to_host(flat)) {
    if (element != value) return false;
  }
  return true;
}

/// The message of the exception that call() throws.
template <class Call>
std::string refusal(Call const& call) {
  try {
    call();
    Exec().fence();
  } catch (std::invalid_argument const& error) {
    return error.what();
  } catch (std::exception const& error) {
    return std::string("not std::invalid_argument: ") + error.what();
  }
  return "nothing was thrown";
}

}  // namespace test::errors
