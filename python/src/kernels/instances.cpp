// SPDX-FileCopyrightText: kokkos-scan contributors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "instances.hpp"

#include <KokkosScan/version.hpp>
#include <Kokkos_Core.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "workspaces.hpp"
#if defined(__unix__)
#include <pthread.h>
#endif
#if defined(KOKKOS_ENABLE_CUDA)
#include <KokkosScan/impl/cuda/memory.hpp>
#endif

namespace kokkos_scan_python {
namespace {

/// Unused instances of the host space.
struct HostInstances {
  std::mutex mutex;
  std::vector<HostSpace*> single;
  std::vector<HostSpace*> parallel;
};

/// State that outlives a call. Never destroyed, because Python threads may outlive static objects.
struct State {
  /// Locked shared by scans, and exclusively while Kokkos is initialised or finalised.
  std::shared_mutex lifetime;
  bool is_started = false;
  bool is_ended = false;
  bool is_ours = false;
  HostInstances host;
  /// Where workspaces on CUDA devices come from, if it is not the package's pool.
  void* (*allocate)(std::size_t bytes, void* stream) = nullptr;
  void (*deallocate)(void* data) = nullptr;
};

State* g_state = new State;
/// Whether this process was forked from one that had initialised Kokkos. It has no OpenMP threads
/// then, so scans use one thread.
bool g_is_forked = false;

#if defined(__unix__)
void after_fork() {
  // Locks may be held by threads that do not exist in this process.
  auto* const state = new State;
  state->is_started = g_state->is_started;
  state->is_ended = g_state->is_ended;
  g_is_forked = g_is_forked || state->is_started;
  g_state = state;
}
const int g_registered = pthread_atfork(nullptr, nullptr, after_fork);
#endif

#if defined(KOKKOS_ENABLE_CUDA)
void set_pool();
#else
void set_pool() {}
#endif

void start(const Place& place) {
  const std::unique_lock lock(g_state->lifetime);
  if (g_state->is_started || g_state->is_ended) return;
  if (Kokkos::is_finalized()) {
    throw std::runtime_error("kokkos_scan: Kokkos was finalised by another part of this program.");
  }
  if (!Kokkos::is_initialized()) {
    Kokkos::InitializationSettings settings;
    // Suppress the advice on OMP_PROC_BIND, which is for programs that own the process.
    settings.set_disable_warnings(true);
    if (place.is_cuda) settings.set_device_id(place.device);
    Kokkos::initialize(settings);
    g_state->is_ours = true;
  }
  set_pool();
  g_state->is_started = true;
}

/// A new instance. Only OpenMP supports instances with fewer threads.
HostSpace* make_host_instance([[maybe_unused]] bool is_single) {
#if defined(KOKKOS_ENABLE_OPENMP)
  return new HostSpace(is_single ? 1 : HostSpace().concurrency());
#elif defined(KOKKOS_ENABLE_SERIAL)
  return new HostSpace(Kokkos::NewInstance{});
#else
  return new HostSpace;
#endif
}

}  // namespace

Session::Session(const Place& place) {
  if (place.is_cuda && !has_cuda()) {
    throw std::invalid_argument(
        "kokkos_scan: the array is in the memory of a CUDA device, but this package was built with "
        "a Kokkos without CUDA.");
  }
  m_lock = std::shared_lock(g_state->lifetime);
  if (!g_state->is_started && !g_state->is_ended) {
    m_lock.unlock();
    start(place);
    m_lock = std::shared_lock(g_state->lifetime);
  }
  if (g_state->is_ended) {
    throw std::runtime_error("kokkos_scan: nothing can be scanned while Python is shutting down.");
  }
}

void take_workspaces_from(void* (*allocate)(std::size_t bytes, void* stream),
                          void (*deallocate)(void* data)) {
  // No scan is between its allocation and the deallocation then.
  const std::unique_lock lock(g_state->lifetime);
  g_state->allocate = allocate;
  g_state->deallocate = deallocate;
}

void finalize() {
  // After fork(), Kokkos belongs to the parent process.
  if (g_is_forked) return;
  const std::unique_lock lock(g_state->lifetime);
  g_state->is_ended = true;
  const auto end = [](std::vector<HostSpace*>& instances) {
    for (HostSpace* instance : instances) delete instance;
    instances.clear();
  };
  end(g_state->host.single);
  end(g_state->host.parallel);
  if (g_state->is_ours && Kokkos::is_initialized() && !Kokkos::is_finalized()) Kokkos::finalize();
}

HostInstance::HostInstance(std::int64_t elements) {
  // Waking other threads takes as long as scanning this many elements.
  constexpr std::int64_t worth_waking = 1 << 15;
  m_is_single = g_is_forked || elements < worth_waking;
  HostInstances& host = g_state->host;
  std::vector<HostSpace*>& idle = m_is_single ? host.single : host.parallel;
  {
    const std::lock_guard lock(host.mutex);
    if (!idle.empty()) {
      m_space = idle.back();
      idle.pop_back();
      return;
    }
  }
  m_space = make_host_instance(m_is_single);
}

HostInstance::~HostInstance() {
  HostInstances& host = g_state->host;
  const std::lock_guard lock(host.mutex);
  (m_is_single ? host.single : host.parallel).push_back(m_space);
}

#if defined(KOKKOS_ENABLE_CUDA)

namespace {

void check(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // the exception reports it; later calls must not
  throw std::runtime_error(std::string("kokkos_scan: ") + what + ": " + cudaGetErrorString(result) +
                           ".");
}

bool is_capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &status), "asking whether a stream is being captured");
  return status != cudaStreamCaptureStatusNone;
}

/// The package's pool of the current device, which keeps up to 64 MiB that are not in use.
cudaMemPool_t own_pool() {
  static auto* const mutex = new std::mutex;
  static auto* const pools = new std::map<int, cudaMemPool_t>;
  int device = 0;
  check(cudaGetDevice(&device), "asking for the current device");
  const std::lock_guard lock(*mutex);
  cudaMemPool_t& pool = (*pools)[device];
  if (pool == nullptr) {
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = device;
    cudaMemPool_t made = nullptr;
    check(cudaMemPoolCreate(&made, &properties), "making a pool of memory");
    std::uint64_t kept = std::uint64_t{64} << 20;
    check(cudaMemPoolSetAttribute(made, cudaMemPoolAttrReleaseThreshold, &kept),
          "setting what a pool of memory keeps");
    pool = made;
  }
  return pool;
}

/// Whether CUDA makes memory a part of a graph. Other allocators would not know of the capture, and
/// a pool cannot be made during one.
bool is_captured(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (cudaStreamIsCapturing(stream, &status) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());  // of the default stream, while another is captured
    return true;
  }
  return status != cudaStreamCaptureStatusNone;
}

void set_pool() {
  KokkosScan::impl::cuda::pool = {[](void** data, std::size_t bytes, cudaStream_t stream) {
                                    if (is_captured(stream))
                                      return cudaMallocAsync(data, bytes, stream);
                                    if (g_state->allocate == nullptr) {
                                      return cudaMallocFromPoolAsync(data, bytes, own_pool(),
                                                                     stream);
                                    }
                                    *data = g_state->allocate(bytes, stream);
                                    return cudaSuccess;
                                  },
                                  [](void* data, cudaStream_t stream) {
                                    if (g_state->allocate == nullptr || is_captured(stream))
                                      return cudaFreeAsync(data, stream);
                                    g_state->deallocate(data);
                                    return cudaSuccess;
                                  }};
}

/// Instances by device and stream. Never destroyed: the destructor would wait for the stream, which
/// its owner may have destroyed already.
struct CudaInstances {
  std::mutex mutex;
  std::map<std::pair<int, void*>, Kokkos::Cuda*> kept;
  /// Each instance has its own memory, so their number is limited for programs that keep creating
  /// streams.
  static constexpr std::size_t most = 256;
};
CudaInstances* g_cuda = new CudaInstances;

/// Makes a device current during this object's lifetime.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device) {
    check(cudaGetDevice(&m_before), "asking for the current device");
    check(cudaSetDevice(device), "choosing a device");
  }
  ~CurrentDevice() { static_cast<void>(cudaSetDevice(m_before)); }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int m_before = 0;
};

}  // namespace

/// An instance with a stream of its own, one for each device.
struct CudaInstance::Spare {
  Spare() {
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event");
    space = new Kokkos::Cuda(stream);
  }
  /// Makes `next` wait for all work on `earlier`.
  void order(cudaStream_t earlier, cudaStream_t next) const {
    check(cudaEventRecord(event, earlier), "recording an event");
    check(cudaStreamWaitEvent(next, event, 0), "waiting for an event");
  }

  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  Kokkos::Cuda* space = nullptr;
  /// Held from the fork to the join.
  std::mutex busy;
};

CudaInstance::CudaInstance(const Place& place) : m_place(place) {
  static auto* const spares = new std::map<int, Spare*>;
  const CurrentDevice current(place.device);
  const auto stream = static_cast<cudaStream_t>(place.stream);
  {
    const std::lock_guard lock(g_cuda->mutex);
    const auto kept = g_cuda->kept.find({place.device, place.stream});
    if (kept != g_cuda->kept.end()) {
      m_space = kept->second;
      return;
    }
    Spare*& spare = (*spares)[place.device];
    if (!is_capturing(stream)) {
      if (spare == nullptr) spare = new Spare;
      if (g_cuda->kept.size() < CudaInstances::most) {
        auto* const space = new Kokkos::Cuda(stream);
        g_cuda->kept[{place.device, place.stream}] = space;
        m_space = space;
        return;
      }
    }
    if (spare == nullptr) {
      throw std::runtime_error(
          "kokkos_scan: the stream is being captured, but nothing has been scanned on this device "
          "yet: scan once before the capture.");
    }
    m_spare = spare;
  }
  std::unique_lock busy(m_spare->busy);
  if (is_capturing(m_spare->stream) && !is_capturing(stream)) {
    throw std::runtime_error(
        "kokkos_scan: too many streams were used for each to have an instance of Kokkos::Cuda, and "
        "the one that they share is part of a capture.");
  }
  m_spare->order(stream, m_spare->stream);
  m_space = m_spare->space;
  busy.release();
}

void CudaInstance::join() {
  if (m_spare == nullptr) return;
  const CurrentDevice current(m_place.device);
  m_spare->order(m_spare->stream, static_cast<cudaStream_t>(m_place.stream));
}

CudaInstance::~CudaInstance() {
  if (m_spare != nullptr) m_spare->busy.unlock();
}

void wait(int device, void* waiting_stream, void* stream) {
  if (waiting_stream == stream) return;
  const CurrentDevice current(device);
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event");
  cudaError_t result = cudaEventRecord(event, static_cast<cudaStream_t>(stream));
  if (result == cudaSuccess) {
    result = cudaStreamWaitEvent(static_cast<cudaStream_t>(waiting_stream), event, 0);
  }
  static_cast<void>(cudaEventDestroy(event));  // takes effect when the event has completed
  check(result, "ordering two streams");
}

void* allocate(int device, std::size_t bytes) {
  const CurrentDevice current(device);
  void* data = nullptr;
  check(cudaMalloc(&data, bytes == 0 ? 1 : bytes), "allocating memory");
  return data;
}

void deallocate(int device, void* data) {
  // Waits for the device, so that nothing on any stream still uses the memory.
  const CurrentDevice current(device);
  static_cast<void>(cudaFree(data));
}

bool has_cuda() { return true; }

#else

void wait(int, void*, void*) {}

void* allocate(int, std::size_t) { return nullptr; }

void deallocate(int, void*) {}

bool has_cuda() { return false; }

#endif

int tree_version() { return KOKKOSSCAN_TREE_VERSION; }

std::string configuration() {
  std::ostringstream text;
  text << "kokkos-scan " << KOKKOSSCAN_VERSION << ", Kokkos " << KOKKOS_VERSION / 10000 << '.'
       << KOKKOS_VERSION / 100 % 100 << '.' << KOKKOS_VERSION % 100 << ", " << HostSpace::name();
#if defined(KOKKOS_ENABLE_CUDA)
  text << ", " << Kokkos::Cuda::name();
#endif
  return text.str();
}

}  // namespace kokkos_scan_python
