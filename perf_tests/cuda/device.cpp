// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <stdexcept>

namespace perf {

namespace {

template <int Quads, bool Streams>
__global__ void copy_quads(const float4* from, float4* to, std::int64_t count) {
  const std::int64_t first = std::int64_t{blockIdx.x} * blockDim.x * Quads + threadIdx.x;
  float4 quads[Quads];
#pragma unroll
  for (int i = 0; i < Quads; ++i) {
    const std::int64_t at = first + std::int64_t{i} * blockDim.x;
    if (at < count) quads[i] = Streams ? __ldcs(from + at) : from[at];
  }
#pragma unroll
  for (int i = 0; i < Quads; ++i) {
    const std::int64_t at = first + std::int64_t{i} * blockDim.x;
    if (at >= count) continue;
    if constexpr (Streams) {
      __stcs(to + at, quads[i]);
    } else {
      to[at] = quads[i];
    }
  }
}

/// Never stores anything, but the compiler cannot know that and has to load.
__global__ void read_quads(float4* memory, std::int64_t count) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const float4 quad = memory[i];
  if (quad.x + quad.y + quad.z + quad.w == 0x1.2345p-77f) memory[0] = quad;
}

__global__ void do_nothing() {}

__device__ std::int64_t nanoseconds() {
  std::int64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

__global__ void sample_clock(std::int64_t* cycles_and_ns) {
  const std::int64_t begin = nanoseconds(), first = clock64();
  while (nanoseconds() - begin < 50000) {
  }
  cycles_and_ns[0] = clock64() - first;
  cycles_and_ns[1] = nanoseconds() - begin;
}

template <int Quads, bool Streams>
Copy copy_kernel(int threads) {
  return {"copy of " + std::to_string(Quads) + " float4, " + std::to_string(threads) + " threads" +
              (Streams ? ", streamed" : ""),
          [=](cudaStream_t stream, const void* from, void* to, std::size_t bytes) {
            const auto count = static_cast<std::int64_t>(bytes / sizeof(float4));
            const std::int64_t block = std::int64_t{threads} * Quads;
            const auto blocks = static_cast<unsigned>((count + block - 1) / block);
            copy_quads<Quads, Streams><<<blocks, threads, 0, stream>>>(
                static_cast<const float4*>(from), static_cast<float4*>(to), count);
          }};
}

/// libnvidia-ml, loaded at run time: header and library need not be installed.
class Management {
 public:
  using Device = void*;

  Management() {
    m_library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    int number = 0;
    char bus[32];
    if (m_library == nullptr || cudaGetDevice(&number) != cudaSuccess ||
        cudaDeviceGetPCIBusId(bus, sizeof bus, number) != cudaSuccess || call("nvmlInit_v2") != 0) {
      return;
    }
    if (call("nvmlDeviceGetHandleByPciBusId_v2", static_cast<const char*>(bus), &m_device) != 0) {
      m_device = nullptr;
    }
  }

  /// The function's result; 0 is success.
  template <class... Arguments>
  int call(const char* function, Arguments... arguments) const {
    void* symbol = m_library == nullptr ? nullptr : dlsym(m_library, function);
    return symbol == nullptr ? -1 : reinterpret_cast<int (*)(Arguments...)>(symbol)(arguments...);
  }
  [[nodiscard]] Device device() const { return m_device; }

 private:
  void* m_library = nullptr;
  Device m_device = nullptr;
};

const Management& management() {
  static const Management instance;
  return instance;
}

std::string version(int number) {
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

}  // namespace

void check(cudaError_t result) {
  if (result != cudaSuccess) throw std::runtime_error(cudaGetErrorString(result));
}

void* Buffer::reserve(std::size_t bytes) {
  if (bytes > m_bytes) {
    check(cudaFree(m_data));
    m_data = nullptr;
    m_bytes = 0;
    check(cudaMalloc(&m_data, bytes));
    m_bytes = bytes;
  }
  return m_data;
}

Timer::~Timer() {
  for (const auto& [name, pairs] : m_events) {
    for (const auto& [begin, end] : pairs) {
      cudaEventDestroy(begin);
      cudaEventDestroy(end);
    }
  }
}

void Timer::time(const std::string& name, const std::function<void()>& work) {
  auto& [begin, end] = m_events[name].emplace_back();
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  check(cudaEventRecord(begin, m_stream));
  work();
  check(cudaEventRecord(end, m_stream));
}

double Timer::median(const std::string& name) {
  check(cudaStreamSynchronize(m_stream));
  std::vector<float> times;
  for (const auto& [begin, end] : m_events.at(name)) {
    check(cudaEventElapsedTime(&times.emplace_back(), begin, end));
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

const std::vector<Copy>& copies() {
  static const std::vector<Copy> all = [] {
    std::vector<Copy> ways{
        {"cudaMemcpyAsync", [](cudaStream_t stream, const void* from, void* to, std::size_t bytes) {
           check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream));
         }}};
    for (const int threads : {128, 256, 512, 1024}) {
      ways.push_back(copy_kernel<1, true>(threads));
      ways.push_back(copy_kernel<2, true>(threads));
      ways.push_back(copy_kernel<4, true>(threads));
    }
    ways.push_back(copy_kernel<1, false>(128));
    ways.push_back(copy_kernel<4, false>(256));
    return ways;
  }();
  return all;
}

const Copy& best_kernel(cudaStream_t stream, const void* from, void* to, std::size_t bytes) {
  static std::map<int, std::size_t> best;  // by the binary logarithm of the bytes
  int size = 0;
  while ((bytes >> size) > 1) ++size;
  if (best.count(size) == 0) {
    Timer timer(stream);
    for (int round = 0; round < 5; ++round) {
      for (const Copy& copy : copies()) {
        timer.time(copy.name, [&] { copy.run(stream, from, to, bytes); });
      }
    }
    std::size_t fastest = 1;
    for (std::size_t i = 1; i < copies().size(); ++i) {
      if (timer.median(copies()[i].name) < timer.median(copies()[fastest].name)) fastest = i;
    }
    best[size] = fastest;
  }
  return copies()[best[size]];
}

void evict(cudaStream_t stream, void* memory) {
  const auto count = static_cast<std::int64_t>(evicting_bytes / sizeof(float4));
  read_quads<<<static_cast<unsigned>(count / 256), 256, 0, stream>>>(static_cast<float4*>(memory),
                                                                     count);
}

void launch_empty(cudaStream_t stream) { do_nothing<<<1, 32, 0, stream>>>(); }

double sm_clock_mhz(cudaStream_t stream) {
  static Buffer buffer;
  auto* sample = static_cast<std::int64_t*>(buffer.reserve(2 * sizeof(std::int64_t)));
  sample_clock<<<1, 1, 0, stream>>>(sample);
  std::int64_t host[2];
  check(cudaMemcpyAsync(host, sample, sizeof host, cudaMemcpyDeviceToHost, stream));
  check(cudaStreamSynchronize(stream));
  return 1e3 * static_cast<double>(host[0]) / static_cast<double>(host[1]);
}

std::map<std::string, std::string> describe_device() {
  std::map<std::string, std::string> facts;
  int device = 0, runtime = 0;
  cudaDeviceProp properties{};
  check(cudaGetDevice(&device));
  check(cudaGetDeviceProperties(&properties, device));
  check(cudaRuntimeGetVersion(&runtime));
  facts["gpu"] = properties.name;
  facts["multiprocessors"] = std::to_string(properties.multiProcessorCount);
  facts["cuda"] = version(runtime);
  char driver[96];
  if (management().call("nvmlSystemGetDriverVersion", static_cast<char*>(driver),
                        static_cast<unsigned>(sizeof driver)) == 0) {
    facts["driver"] = driver;
  }
  unsigned milliwatts = 0;
  if (management().call("nvmlDeviceGetEnforcedPowerLimit", management().device(), &milliwatts) ==
      0) {
    facts["power_limit_watts"] = std::to_string(milliwatts / 1000);
  }
  return facts;
}

bool is_power_capped() {
  constexpr unsigned long long power_cap = 0x4, power_brake = 0x80;
  unsigned long long reasons = 0;
  return management().call("nvmlDeviceGetCurrentClocksThrottleReasons", management().device(),
                           &reasons) == 0 &&
         (reasons & (power_cap | power_brake)) != 0;
}

}  // namespace perf
