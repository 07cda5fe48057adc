// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// Arrays of any rank and strides in poisoned device memory, with host copies from before and after
// the call. Rank and strides are run-time values here, so that only the View that is passed to the
// library is a template instance.

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "types.hpp"
#include "values.hpp"

namespace test {

using Index = std::array<std::int64_t, 8>;

/// Extents and strides, both counted in elements.
struct Shape {
  int rank = 0;
  Index extent{};
  Index stride{};

  std::int64_t size() const {
    std::int64_t n = 1;
    for (int r = 0; r < rank; ++r) n *= extent[r];
    return n;
  }
  /// Number of elements from the first to the last in memory, including gaps.
  std::int64_t span() const {
    if (size() == 0) return 0;
    std::int64_t n = 1;
    for (int r = 0; r < rank; ++r) n += (extent[r] - 1) * (extent[r] == 1 ? 0 : stride[r]);
    return n;
  }
  std::int64_t offset(Index const& index) const {
    std::int64_t n = 0;
    for (int r = 0; r < rank; ++r) n += index[r] * stride[r];
    return n;
  }
  /// The shape of the lines: without one axis.
  Shape without(int axis) const {
    Shape s;
    for (int r = 0; r < rank; ++r) {
      if (r == axis) continue;
      s.extent[s.rank] = extent[r];
      s.stride[s.rank++] = stride[r];
    }
    return s;
  }
  std::string text() const {
    std::string s;
    for (int r = 0; r < rank; ++r) {
      s += (r == 0 ? "(" : ", ") + std::to_string(extent[r]) + ":" + std::to_string(stride[r]);
    }
    return s.empty() ? "()" : s + ")";
  }
};

/// Contiguous, the last index fastest (LayoutRight).
inline Shape right(std::vector<std::int64_t> const& extents) {
  Shape s;
  s.rank = static_cast<int>(extents.size());
  std::int64_t stride = 1;
  for (int r = s.rank - 1; r >= 0; --r) {
    s.extent[r] = extents[static_cast<std::size_t>(r)];
    s.stride[r] = stride;
    stride *= s.extent[r];
  }
  return s;
}

/// Contiguous, the first index fastest (LayoutLeft).
inline Shape left(std::vector<std::int64_t> const& extents) {
  Shape s = right(extents);
  std::int64_t stride = 1;
  for (int r = 0; r < s.rank; ++r) {
    s.stride[r] = stride;
    stride *= s.extent[r];
  }
  return s;
}

/// Dimensions in random order in memory, with random gaps between elements (LayoutStride).
inline Shape strided(std::vector<std::int64_t> const& extents, Random& random) {
  Shape s = right(extents);
  std::array<int, 8> order{};
  std::iota(order.begin(), order.end(), 0);
  for (int r = s.rank - 1; r > 0; --r) {
    std::swap(order[r], order[static_cast<std::size_t>(random.below(r + 1))]);
  }
  std::int64_t stride = 1 + random.below(3);
  for (int i = 0; i < s.rank; ++i) {
    s.stride[order[i]] = stride;
    stride = stride * std::max<std::int64_t>(s.extent[order[i]], 1) + random.below(3);
  }
  return s;
}

/// Calls f(index) for every index of the shape.
template <class F>
void for_each_index(Shape const& shape, F&& f) {
  if (shape.size() == 0) return;
  Index index{};
  while (true) {
    f(static_cast<Index const&>(index));
    int r = shape.rank - 1;
    while (r >= 0 && ++index[r] == shape.extent[r]) index[r--] = 0;
    if (r < 0) return;
  }
}

/// Bytes in device memory and their host copies. Initially filled with poison.
class Memory {
 public:
  Memory(std::int64_t bytes, unsigned char poison)
      : m_device(Kokkos::view_alloc(Kokkos::WithoutInitializing, "test memory"),
                 static_cast<std::size_t>(bytes)),
        m_before(static_cast<std::size_t>(bytes), poison),
        m_after(m_before) {}

  /// Memory that is owned elsewhere.
  Memory(void* device, std::size_t bytes, unsigned char poison)
      : m_device(static_cast<unsigned char*>(device), bytes),
        m_before(bytes, poison),
        m_after(m_before) {}

  unsigned char* device() const { return m_device.data(); }
  std::vector<unsigned char>& before() { return m_before; }
  std::vector<unsigned char>& after() { return m_after; }

  /// Copies `before` to the device. Blocks.
  void upload() { Kokkos::deep_copy(m_device, Host(m_before.data(), m_before.size())); }
  /// Copies the device memory to `after`. Blocks.
  void download() { Kokkos::deep_copy(Host(m_after.data(), m_after.size()), m_device); }

 private:
  using Host = Kokkos::View<unsigned char*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>;
  Kokkos::View<unsigned char*, Device> m_device;
  std::vector<unsigned char> m_before;
  std::vector<unsigned char> m_after;
};

/// A strided array of T somewhere in a Memory.
template <class T>
class Array {
 public:
  static constexpr std::int64_t guard = 256;  // bytes of poison before and after

  /// New memory; the first element is `shift` elements after a fully aligned address.
  explicit Array(Shape const& shape, std::int64_t shift = 0)
      : Array(std::make_shared<Memory>(2 * guard + (shape.span() + shift) * size, poison_byte<T>()),
              guard + shift * size, shape) {}

  /// A part of memory that other arrays may share.
  Array(std::shared_ptr<Memory> memory, std::int64_t first_byte, Shape const& shape)
      : m_memory(std::move(memory)), m_first(first_byte), m_shape(shape) {}

  Shape const& shape() const { return m_shape; }
  std::shared_ptr<Memory> const& memory() const { return m_memory; }
  std::int64_t first_byte() const { return m_first; }

  /// An alias: n elements along the axis, beginning at `first`.
  Array part(int axis, std::int64_t first, std::int64_t n) const {
    Shape s = m_shape;
    s.extent[axis] = n;
    return Array(m_memory, m_first + first * s.stride[axis] * size, s);
  }

  T* data() const { return reinterpret_cast<T*>(m_memory->device() + m_first); }

  T before(Index const& index) const { return get(m_memory->before(), index); }
  T after(Index const& index) const { return get(m_memory->after(), index); }
  void set(Index const& index, T const& value) const {
    std::memcpy(m_memory->before().data() + byte(index), &value, sizeof(T));
  }
  /// Fills all elements with random values, in index order.
  Array const& fill(Random& random, Data data = Data::any) const {
    for_each_index(m_shape, [&](Index const& i) { set(i, random_value<T>(random, data)); });
    return *this;
  }
  Array const& upload() const {
    m_memory->upload();
    return *this;
  }
  Array const& download() const {
    m_memory->download();
    return *this;
  }
  /// Marks the bytes of the elements.
  void mark(std::vector<char>& bytes) const {
    for_each_index(m_shape,
                   [&](Index const& i) { std::memset(bytes.data() + byte(i), 1, sizeof(T)); });
  }

 private:
  static constexpr std::int64_t size = static_cast<std::int64_t>(sizeof(T));

  std::size_t byte(Index const& index) const {
    return static_cast<std::size_t>(m_first + m_shape.offset(index) * size);
  }
  T get(std::vector<unsigned char> const& bytes, Index const& index) const {
    alignas(T) unsigned char value[sizeof(T)];
    std::memcpy(value, bytes.data() + byte(index), sizeof(T));
    return *reinterpret_cast<T const*>(value);
  }

  std::shared_ptr<Memory> m_memory;
  std::int64_t m_first;
  Shape m_shape;
};

template <class T, int Rank>
struct AddPointers {
  using type = typename AddPointers<T, Rank - 1>::type*;
};
template <class T>
struct AddPointers<T, 0> {
  using type = T;
};

/// A View of an array. LayoutLeft and LayoutRight need a shape that is contiguous in that order.
template <int Rank, class Layout = Kokkos::LayoutStride, class T>
auto view_of(Array<std::remove_const_t<T>> const& array) {
  Layout layout;
  for (int r = 0; r < Rank; ++r) {
    layout.dimension[r] = static_cast<std::size_t>(array.shape().extent[r]);
    if constexpr (std::is_same_v<Layout, Kokkos::LayoutStride>) {
      layout.stride[r] = static_cast<std::size_t>(array.shape().stride[r]);
    }
  }
  return Kokkos::View<typename AddPointers<T, Rank>::type, Layout, Device, Kokkos::MemoryUnmanaged>(
      array.data(), layout);
}
template <int Rank, class Layout = Kokkos::LayoutStride, class T>
auto view(Array<T> const& array) {
  return view_of<Rank, Layout, T>(array);
}
template <int Rank, class Layout = Kokkos::LayoutStride, class T>
auto const_view(Array<T> const& array) {
  return view_of<Rank, Layout, T const>(array);
}

/// The shape of a View.
template <class View>
Shape shape_of_view(View const& v) {
  Shape s;
  s.rank = static_cast<int>(View::rank());
  for (int r = 0; r < s.rank; ++r) {
    s.extent[r] = static_cast<std::int64_t>(v.extent(r));
    s.stride[r] = static_cast<std::int64_t>(v.stride(r));
  }
  return s;
}
/// The elements of a subview of an array's View, as an array of the same memory.
template <class View, class T>
Array<T> array_of_subview(View const& subview, Array<T> const& whole) {
  return Array<T>(
      whole.memory(),
      whole.first_byte() + (subview.data() - whole.data()) * static_cast<std::int64_t>(sizeof(T)),
      shape_of_view(subview));
}
/// The elements of a View that owns its memory, including padding. The View must outlive this.
template <class View>
auto array_of_view(View const& v) {
  using T = typename View::non_const_value_type;
  auto memory = std::make_shared<Memory>(v.data(), v.span() * sizeof(T), poison_byte<T>());
  return Array<T>(std::move(memory), 0, shape_of_view(v));
}

/// Checks that only elements of the given arrays have changed in `memory`. Call download() first.
template <class... T>
void expect_untouched_except(std::string const& what, std::shared_ptr<Memory> const& memory,
                             Array<T> const&... arrays) {
  std::vector<char> written(memory->before().size(), 0);
  (
      [&] {
        if (arrays.memory() == memory) arrays.mark(written);
      }(),
      ...);
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (written[i] == 0 && memory->before()[i] != memory->after()[i]) {
      ADD_FAILURE() << what << ": byte " << i << " of " << written.size()
                    << " changed, which belongs to no output";
      return;
    }
  }
}

}  // namespace test
