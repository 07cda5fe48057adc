// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// On a GPU: calls captured in a graph and replayed; repeated scans with waiting blocks while
// another stream is busy. Regression class: A memory order and missing barriers (kokkos #2681,
// #8648).

#include <Kokkos_Core.hpp>

#if defined(KOKKOS_ENABLE_CUDA)

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <KokkosScan/KokkosScan.hpp>

#include <cstddef>
#include <cstring>
#include <random>
#include <vector>

namespace test {
namespace asynchrony_cuda {

namespace ks = KokkosScan;
using Rows = Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::Cuda, Kokkos::MemoryUnmanaged>;
using Bytes = Kokkos::View<std::byte*, Kokkos::Cuda, Kokkos::MemoryUnmanaged>;

std::vector<double> random_values(std::size_t count, double factor = 1) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(0, factor);
  std::vector<double> values(count);
  for (auto& value : values) value = uniform(random);
  return values;
}

void check(cudaError_t result) { ASSERT_EQ(result, cudaSuccess) << cudaGetErrorString(result); }

template <class T>
class Memory {
 public:
  explicit Memory(std::size_t count) { check(cudaMalloc(&m_data, count * sizeof(T) + 16)); }
  ~Memory() { cudaFree(m_data); }
  Memory(Memory const&) = delete;
  Memory& operator=(Memory const&) = delete;
  T* data() const { return m_data; }

 private:
  T* m_data = nullptr;
};

/// A stream, and an instance that runs on it.
struct Stream {
  cudaStream_t stream = make();
  Kokkos::Cuda exec{stream};

  Stream() = default;
  ~Stream() {
    exec = Kokkos::Cuda();
    cudaStreamDestroy(stream);
  }
  Stream(Stream const&) = delete;
  Stream& operator=(Stream const&) = delete;

  static cudaStream_t make() {
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
  }
};

/// Lines for each kernel: whole lines, split lines, columns, columns shared by blocks.
struct Shape {
  int rows, columns, axis;
};
constexpr Shape shapes[] = {
    {64, 1000, 1}, {2, 300'001, 1}, {1, 1'000'000, 1}, {500, 300, 0}, {50'000, 3, 0}};

struct Arrays {
  Shape shape;
  std::size_t count =
      static_cast<std::size_t>(shape.rows) * static_cast<std::size_t>(shape.columns);
  Memory<double> x{count}, y{count};
  Rows in{x.data(), shape.rows, shape.columns};
  Rows out{y.data(), shape.rows, shape.columns};

  explicit Arrays(Shape const& s) : shape(s) {}
  void set(std::vector<double> const& values) const {
    check(cudaMemcpy(x.data(), values.data(), count * sizeof(double), cudaMemcpyHostToDevice));
    check(cudaMemset(y.data(), 0xFF, count * sizeof(double)));
    check(cudaDeviceSynchronize());  // the streams do not synchronise with the default stream
  }
  std::vector<double> results() const {
    std::vector<double> values(count);
    check(cudaMemcpy(values.data(), y.data(), count * sizeof(double), cudaMemcpyDeviceToHost));
    return values;
  }
};

bool same_bits(std::vector<double> const& a, std::vector<double> const& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

TEST(asynchrony, cuda_graphs_replay_scans) {
  for (Shape const& shape : shapes) {
    SCOPED_TRACE(::testing::Message() << shape.rows << " x " << shape.columns);
    Stream const s;
    Arrays const arrays(shape);
    auto const bytes =
        ks::workspace_bytes(s.exec, arrays.in, arrays.out, ks::along(shape.axis), ks::Sum{});
    Memory<std::byte> const memory(bytes);
    auto const along = ks::along(shape.axis).workspace(Bytes(memory.data(), bytes));
    arrays.set(random_values(arrays.count));
    ks::inclusive_scan(s.exec, arrays.in, arrays.out, along);  // warm-up
    check(cudaStreamSynchronize(s.stream));

    cudaGraph_t graph = nullptr;
    cudaGraphExec_t replay = nullptr;
    check(cudaStreamBeginCapture(s.stream, cudaStreamCaptureModeThreadLocal));
    ks::inclusive_scan(s.exec, arrays.in, arrays.out, along);
    check(cudaStreamEndCapture(s.stream, &graph));
    check(cudaGraphInstantiate(&replay, graph, 0));
    for (int turn = 0; turn < 3; ++turn) {
      auto const values = random_values(arrays.count, turn + 2);
      arrays.set(values);
      check(cudaMemset(memory.data(), 0xA5, bytes));  // arbitrary contents
      check(cudaDeviceSynchronize());
      check(cudaGraphLaunch(replay, s.stream));
      check(cudaStreamSynchronize(s.stream));
      auto const replayed = arrays.results();
      arrays.set(values);
      ks::inclusive_scan(s.exec, arrays.in, arrays.out, ks::along(shape.axis));
      check(cudaStreamSynchronize(s.stream));
      EXPECT_TRUE(same_bits(replayed, arrays.results())) << "replay " << turn;
    }
    check(cudaGraphExecDestroy(replay));
    check(cudaGraphDestroy(graph));
  }
}

TEST(asynchrony, cuda_blocks_wait_for_each_other) {
  for (Shape const& shape : shapes) {
    SCOPED_TRACE(::testing::Message() << shape.rows << " x " << shape.columns);
    Stream const s, other;
    Arrays const arrays(shape);
    arrays.set(random_values(arrays.count));
    Arrays const busy({40, 1'000'000, 1});
    busy.set(std::vector<double>(busy.count, 1.0));
    ks::inclusive_scan(s.exec, arrays.in, arrays.out, shape.axis);
    check(cudaDeviceSynchronize());
    auto const expected = arrays.results();
    for (int turn = 0; turn < 1000; ++turn) {
      // From time to time the other stream occupies some multiprocessors, or all.
      if (turn % 16 == 0) ks::inclusive_scan(other.exec, busy.in, busy.out, turn % 32 == 0 ? 1 : 0);
      ks::inclusive_scan(s.exec, arrays.in, arrays.out, shape.axis);
      if (turn % 10 != 0) continue;
      check(cudaStreamSynchronize(s.stream));
      ASSERT_TRUE(same_bits(expected, arrays.results())) << "turn " << turn;
    }
    check(cudaDeviceSynchronize());
    EXPECT_TRUE(same_bits(expected, arrays.results()));
  }
}

}  // namespace asynchrony_cuda
}  // namespace test

#endif
