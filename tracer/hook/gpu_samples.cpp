// gpu_samples.cpp: see gpu_samples.h. The driver's functions are declared here as cuda.h has them,
// which a machine without a CUDA toolkit lacks.
#include "tracer/hook/gpu_samples.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <string>

#include "tracer/hook/describe.h"
#include "tracer/hook/facts.h"
#include "tracer/hook/gpu_digests.h"
#include "tracer/hook/gpu_work.h"
#include "tracer/hook/tracer.h"
#include "tracer/keep_going/known_values.h"

namespace dtypecheck::tracer {
namespace {

constexpr size_t kRingBytes = 16 << 20;  // of each device
constexpr size_t kAlignment = 64;
constexpr size_t kMostUnderWay = 4096;
constexpr int kMostDevices = 64;
constexpr size_t kMostPitch = (size_t{1} << 31) - 1;  // CU_DEVICE_ATTRIBUTE_MAX_PITCH
constexpr int kNotReady = 600;                        // CUDA_ERROR_NOT_READY
constexpr int kMostWaitsMs = 2000;

// CUDA_MEMCPY2D
struct Copy2D {
  size_t from_x = 0, from_y = 0;
  unsigned from_kind = 2;  // CU_MEMORYTYPE_DEVICE
  const void* from_host = nullptr;
  uintptr_t from_device = 0;
  void* from_array = nullptr;
  size_t from_pitch = 0;
  size_t to_x = 0, to_y = 0;
  unsigned to_kind = 1;  // CU_MEMORYTYPE_HOST
  void* to_host = nullptr;
  uintptr_t to_device = 0;
  void* to_array = nullptr;
  size_t to_pitch = 0;
  size_t row_bytes = 0, rows = 0;
};

using Event = void*;
using Stream = void*;
using Context = void*;

// c10::cuda::CUDAStream, which libtorch without CUDA has no header of.
struct TorchStream {
  int64_t device, id;
};

struct Driver {
  int (*retain)(Context*, int);  // cuDevicePrimaryCtxRetain
  int (*push)(Context);
  int (*pop)(Context*);
  int (*allocate)(void**, size_t, unsigned);  // cuMemHostAlloc
  int (*make_event)(Event*, unsigned);
  int (*record)(Event, Stream);
  int (*query)(Event);
  int (*copy)(const Copy2D*, Stream);
  int (*is_capturing)(Stream, int*);
  int (*exchange_capture_mode)(int*);
  TorchStream (*current_stream)(int8_t);
  Stream (*stream_of)(const TorchStream*);
};

// What is in the process: the driver that the program uses, and the c10 that it uses it by.
bool find_driver(Driver& driver) {
  void* cuda = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
  void* c10 = dlopen("libc10_cuda.so", RTLD_NOLOAD | RTLD_LAZY);
  if (!cuda) return false;
  if (!c10) c10 = RTLD_DEFAULT;
  return find_function(driver.retain, cuda, "cuDevicePrimaryCtxRetain") &&
         find_function(driver.push, cuda, "cuCtxPushCurrent_v2") &&
         find_function(driver.pop, cuda, "cuCtxPopCurrent_v2") &&
         find_function(driver.allocate, cuda, "cuMemHostAlloc") &&
         find_function(driver.make_event, cuda, "cuEventCreate") &&
         find_function(driver.record, cuda, "cuEventRecord") &&
         find_function(driver.query, cuda, "cuEventQuery") &&
         find_function(driver.copy, cuda, "cuMemcpy2DAsync_v2") &&
         find_function(driver.is_capturing, cuda, "cuStreamIsCapturing") &&
         find_function(driver.exchange_capture_mode, cuda, "cuThreadExchangeStreamCaptureMode") &&
         find_function(driver.current_stream, c10, "_ZN3c104cuda20getCurrentCUDAStreamEa") &&
         find_function(driver.stream_of, c10, "_ZNK3c104cuda10CUDAStream6streamEv");
}

struct UnderWay {
  Event event;
  size_t end;  // of its place in the ring, counted on without end
  const char* place;
  PlaceLook look;
};

// Pinned memory of one device, given out in order and given back in order.
struct Ring {
  Context context = nullptr;
  char* memory = nullptr;
  size_t begin = 0, end = 0;  // counted on without end
  std::deque<UnderWay> under_way;
  std::vector<Event> events;
};

struct Samples {
  std::mutex mutex;
  bool is_tried = false, is_off = false;
  Driver driver{};
  Ring rings[kMostDevices];
  uint64_t looked = 0, captured = 0;
  std::atomic<uint64_t> left_out{0};
  std::string why_off;
};
Samples* samples = new Samples;
std::atomic<uint32_t> under_way{0};
std::atomic<bool> is_taking{true};

// A thread may be captured with all others forbidden to do what could break it: this is not that.
class Relaxed {
 public:
  Relaxed() { samples->driver.exchange_capture_mode(&mode_); }
  ~Relaxed() { samples->driver.exchange_capture_mode(&mode_); }
  Relaxed(const Relaxed&) = delete;
  Relaxed& operator=(const Relaxed&) = delete;

 private:
  int mode_ = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED
};

class InContext {
 public:
  explicit InContext(const Ring& ring) { samples->driver.push(ring.context); }
  ~InContext() {
    Context before;
    samples->driver.pop(&before);
  }
  InContext(const InContext&) = delete;
  InContext& operator=(const InContext&) = delete;
};

void give_up(const char* what, int error) {
  if (samples->is_off) return;
  samples->is_off = true;
  samples->why_off = std::string(what) + "=" + std::to_string(error);
}

bool has_context(Ring& ring, int device) {
  if (ring.context) return true;
  const int error = samples->driver.retain(&ring.context, device);
  if (error) give_up("cuDevicePrimaryCtxRetain", error);
  return error == 0;
}

bool has_memory(Ring& ring) {
  if (ring.memory) return true;
  void* memory = nullptr;
  const int error = samples->driver.allocate(&memory, kRingBytes, /*flags=*/0);
  if (error) return give_up("cuMemHostAlloc", error), false;
  ring.memory = static_cast<char*>(memory);
  return true;
}

size_t rounded_up(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// So many bytes in one piece; null where the ring is full.
char* take_place(Ring& ring, size_t bytes) {
  const size_t at = ring.end % kRingBytes;
  const size_t skipped = at + bytes > kRingBytes ? kRingBytes - at : 0;
  if (ring.end + skipped + bytes > ring.begin + kRingBytes) return nullptr;
  ring.end += skipped + bytes;
  return ring.memory + (ring.end - bytes) % kRingBytes;
}

bool take_event(Ring& ring, Event& event) {
  if (!ring.events.empty()) {
    event = ring.events.back();
    ring.events.pop_back();
    return true;
  }
  constexpr unsigned kDisableTiming = 2;  // CU_EVENT_DISABLE_TIMING
  const int error = samples->driver.make_event(&event, kDisableTiming);
  if (error) give_up("cuEventCreate", error);
  return error == 0;
}

// Where each of them is to lie; the last is their end.
std::vector<size_t> places_of(const std::vector<GpuPart>& parts) {
  std::vector<size_t> places = {0};
  for (const GpuPart& part : parts) places.push_back(places.back() + rounded_up(part.bytes()));
  return places;
}

int copy_part(Stream stream, const GpuPart& part, char* place) {
  Copy2D copy;
  copy.from_device = reinterpret_cast<uintptr_t>(part.begin);
  copy.from_pitch = part.pitch_bytes;
  copy.to_host = place;
  copy.to_pitch = copy.row_bytes = part.row_bytes;
  copy.rows = part.rows;
  return samples->driver.copy(&copy, stream);
}

// False: the oldest one is not there yet.
bool look_at_oldest(Ring& ring) {
  UnderWay& oldest = ring.under_way.front();
  const int error = samples->driver.query(oldest.event);
  if (error == kNotReady) return false;
  if (error) give_up("cuEventQuery", error);
  if (!samples->is_off) {
    try {
      oldest.look(oldest.place);
    } catch (...) {
    }
    ++samples->looked;
  }
  ring.begin = oldest.end;
  ring.events.push_back(oldest.event);
  ring.under_way.pop_front();
  under_way.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

void look_at_all_arrived() {
  const Relaxed relaxed;
  for (Ring& ring : samples->rings) {
    if (ring.under_way.empty()) continue;
    const InContext scope(ring);
    while (!ring.under_way.empty() && look_at_oldest(ring)) {
    }
  }
}

bool is_ready() {
  if (samples->is_off) return false;
  if (!samples->is_tried) {
    samples->is_tried = true;
    if (!find_driver(samples->driver)) give_up("dlsym", 0);
  }
  return !samples->is_off;
}

// Null where samples are off.
Ring* ring_of(int device) {
  if (device < 0 || device >= kMostDevices || !is_ready()) return nullptr;
  Ring& ring = samples->rings[device];
  return has_context(ring, device) ? &ring : nullptr;
}

Stream current_stream(int device) {
  const TorchStream current = samples->driver.current_stream(static_cast<int8_t>(device));
  return samples->driver.stream_of(&current);
}

// One that cannot be asked counts as captured.
bool is_captured(Stream stream) {
  int capturing = 0;
  return samples->driver.is_capturing(stream, &capturing) != 0 || capturing != 0;
}

bool is_wanted_now() { return is_taking.load(std::memory_order_relaxed) && gpu_is_looked_at(); }

enum class Put { kDone, kBusy, kFull, kImpossible };

// `look` is taken over where it is done.
Put try_to_put(int device, size_t bytes, const char* name, const PutOnStream& put,
               PlaceLook& look) {
  std::unique_lock<std::mutex> lock(samples->mutex, std::try_to_lock);
  if (!lock) return Put::kBusy;
  Ring* found = ring_of(device);
  if (!found) return Put::kImpossible;
  Ring& ring = *found;
  const Relaxed relaxed;
  const InContext scope(ring);
  const Stream stream = current_stream(device);
  if (is_captured(stream)) return ++samples->captured, Put::kImpossible;
  if (!has_memory(ring)) return Put::kImpossible;
  UnderWay next;
  char* place = ring.under_way.size() < kMostUnderWay ? take_place(ring, bytes) : nullptr;
  if (!place) return Put::kFull;
  if (!take_event(ring, next.event)) return ++samples->left_out, Put::kImpossible;
  {
    const OwnGpuWork own;
    if (const int error = put(stream, place)) give_up(name, error);
  }
  const int error = samples->driver.record(next.event, stream);
  if (error) give_up("cuEventRecord", error);
  next.end = ring.end;
  next.place = place;
  next.look = std::move(look);
  ring.under_way.push_back(std::move(next));
  under_way.fetch_add(1, std::memory_order_relaxed);
  return Put::kDone;
}

void write_counts() {
  if (!samples->is_off && samples->looked + samples->left_out + samples->captured == 0) return;
  std::string text = "looked=" + std::to_string(samples->looked) +
                     " left_out=" + std::to_string(samples->left_out.load()) +
                     " captured=" + std::to_string(samples->captured);
  if (samples->is_off) text += " off " + samples->why_off;
  if (const char* why_not = why_no_gpu_digests()) text += std::string(" no digests: ") + why_not;
  write_fact(FactKey::kGpuSamples, text);
}

}  // namespace

bool are_under_way() { return under_way.load(std::memory_order_relaxed) > 0; }

bool is_on_gpu(const c10::TensorImpl* impl) {
  return is_plain(impl) && impl->device().is_cuda() && impl->is_non_overlapping_and_dense() &&
         impl->numel() > 0 && data_of(impl) &&
         (!tracer.options.pretended || keep_going::has_known_values(impl));
}

GpuPart gpu_part(const c10::TensorImpl* impl, int64_t elements, int64_t pieces) {
  const size_t size = impl->dtype().itemsize();
  const char* begin = first_byte(impl);
  const auto count = static_cast<size_t>(impl->numel()), most = static_cast<size_t>(elements);
  const auto rows = static_cast<size_t>(pieces);
  if (count <= most) return {begin, count * size, 1, count * size};
  return {begin, most / rows * size, rows, count / rows * size};
}

bool is_device_captured(int device) {
  const std::lock_guard<std::mutex> lock(samples->mutex);
  Ring* ring = ring_of(device);
  if (!ring) return false;
  const InContext scope(*ring);
  return is_captured(current_stream(device));
}

bool copy_sample(int device, const std::vector<GpuPart>& parts, SampleLook look) {
  if (!is_wanted_now()) return false;
  if (std::any_of(parts.begin(), parts.end(),
                  [](const GpuPart& part) { return part.pitch_bytes > kMostPitch; }))
    return ++samples->left_out, false;
  const std::vector<size_t> places = places_of(parts);
  const auto copy = [&](Stream stream, char* place) {
    int error = 0;
    for (size_t i = 0; i < parts.size() && error == 0; ++i)
      error = copy_part(stream, parts[i], place + places[i]);
    return error;
  };
  const auto look_at_parts = [places, look = std::move(look)](const char* place) {
    std::vector<const char*> arrived;
    for (size_t i = 0; i + 1 < places.size(); ++i) arrived.push_back(place + places[i]);
    look(arrived);
  };
  return put_sample(device, places.back(), "cuMemcpy2DAsync", copy, look_at_parts,
                    /*may_wait=*/false);
}

bool put_sample(int device, size_t bytes, const char* name, const PutOnStream& put, PlaceLook look,
                bool may_wait) {
  constexpr int kMostTries = 100;
  if (!is_wanted_now()) return false;
  Put how = try_to_put(device, bytes, name, put, look);
  for (int i = 1; may_wait && i < kMostTries && (how == Put::kFull || how == Put::kBusy); ++i) {
    ::usleep(100);
    look_at_arrived();
    how = try_to_put(device, bytes, name, put, look);
  }
  if (how == Put::kFull) ++samples->left_out;
  return how == Put::kDone;
}

void look_at_arrived() {
  if (!are_under_way()) return;
  const std::unique_lock<std::mutex> lock(samples->mutex, std::try_to_lock);
  if (lock) look_at_all_arrived();
}

void wait_for_samples() {
  constexpr int kWithoutSleep = 100;
  for (int i = 0; i < kWithoutSleep + kMostWaitsMs && are_under_way(); ++i) {
    look_at_arrived();
    if (are_under_way() && i >= kWithoutSleep) ::usleep(1000);
  }
}

void finish_samples() {
  wait_for_samples();
  const std::lock_guard<std::mutex> lock(samples->mutex);
  for (Ring& ring : samples->rings) samples->left_out += ring.under_way.size();
  write_counts();
}

void take_samples(bool on) { is_taking = on; }

void forget_samples() {
  samples = new Samples;
  under_way = 0;
}

}  // namespace dtypecheck::tracer
