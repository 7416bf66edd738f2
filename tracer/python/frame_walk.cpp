// Hot: no allocation, no lock, no formatting, no GIL. Runs for every op.
#include "tracer/python/frame_walk.h"

#include <pthread.h>

#include <atomic>

#include "tracer/python/code_class.h"
#include "tracer/python/module_watch.h"
#include "tracer/python/python_sites.h"

namespace dtypecheck::tracer::python {

namespace {

constexpr int kMaxFrames = 512;  // a deeper recursion hides what lies outside of it

template <const Layout& At>
const char* own_innermost_frame() {
  const void* thread = api.PyGILState_GetThisThreadState();
  return thread == nullptr ? nullptr : innermost_frame<At>(thread);
}

// Seldom: code that is met for the first time.
__attribute__((noinline)) CodeClass class_of_new_code(const char* frame) {
  const char* caller = skip_internal(previous_frame(frame));
  return classify_code(frame_code(frame), caller == nullptr ? nullptr : frame_code(caller));
}

template <const Layout& At>
inline CodeClass class_of_frame(const char* frame, const Object* code) {
  const int known = known_class<At>(code);
  return __builtin_expect(known >= 0, 1) ? static_cast<CodeClass>(known) : class_of_new_code(frame);
}

inline uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 32;
}

template <const Layout& At>
inline uint64_t mix_code(uint64_t hash, const void* code, const void* instr) {
  if (code == nullptr) return hash;
  const auto* object = static_cast<const Object*>(code);
  return mix(mix(hash, word_of(code) ^ word_of(instr) << 20), code_check<At>(object));
}

template <const Layout& At>
inline uint64_t key_of(const FrameWalk& walk) {
  uint64_t hash = mix_code<At>(1, walk.user_code, walk.user_instr);
  if (walk.inner_code != walk.user_code || walk.inner_instr != walk.user_instr) {
    hash = mix_code<At>(hash + 2, walk.inner_code, walk.inner_instr);
  }
  if (walk.module != nullptr) {
    const auto* module = static_cast<const Object*>(walk.module);
    const uint64_t generation = module_generation(module);
    hash = mix(hash, (word_of(module) + generation) ^ word_of(type_of(module)) << 20);
  }
  return hash == 0 ? 1 : hash;
}

template <const Layout& At>
inline const Object* module_called(const char* frame, CodeClass code_class) {
  const Object* self = frame_local<At>(frame, self_slot_of(code_class));
  return is_exactly(self, api.PyCell_Type) ? load<Object*>(self, kCellContents) : self;
}

template <const Layout& At>
bool walk_with(FrameWalk* out) {
  const char* frame = skip_internal<At>(own_innermost_frame<At>());
  if (frame == nullptr) return false;
  const char* user = nullptr;
  const char* inner = nullptr;
  const char* standard_library = nullptr;
  const Object* module = nullptr;
  for (int i = 0; i < kMaxFrames && frame != nullptr; ++i) {
    const CodeClass code_class = class_of_frame<At>(frame, frame_code<At>(frame));
    switch (kind_of(code_class)) {
      case CodeKind::kUser:
        if (user == nullptr) user = frame;
        [[fallthrough]];
      case CodeKind::kLibrary:
        if (inner == nullptr) inner = frame;
        break;
      case CodeKind::kModuleCall:
        if (module == nullptr) module = module_called<At>(frame, code_class);
        break;
      case CodeKind::kStandardLibrary:
        if (standard_library == nullptr) standard_library = frame;
        break;
      default:
        break;
    }
    if (user != nullptr && module != nullptr) break;
    frame = skip_internal<At>(previous_frame<At>(frame));
  }
  if (inner == nullptr) inner = standard_library;
  if (user != nullptr)
    out->user_code = frame_code<At>(user), out->user_instr = frame_instr<At>(user);
  if (inner != nullptr)
    out->inner_code = frame_code<At>(inner), out->inner_instr = frame_instr<At>(inner);
  out->module = module;
  out->key = key_of<At>(*out);
  return true;
}

template <const Layout& At>
Top top_with() {
  const char* frame = own_innermost_frame<At>();
  return frame == nullptr ? Top{} : Top{frame, frame_instr<At>(frame)};
}

pthread_t g_thread;
std::atomic<bool (*)(FrameWalk*)> g_walk_in_thread{nullptr};
std::atomic<Top (*)()> g_top_in_thread{nullptr};

bool walk_in_thread(FrameWalk* out) {
  return pthread_equal(g_thread, pthread_self()) != 0 && g_walk_in_thread.load()(out);
}
Top top_in_thread() {
  return pthread_equal(g_thread, pthread_self()) != 0 ? g_top_in_thread.load()() : Top{};
}

bool no_walk(FrameWalk*) { return false; }
Top no_top() { return Top{}; }

std::atomic<bool (*)(FrameWalk*)> g_walk{no_walk};
std::atomic<Top (*)()> g_top{no_top};

template <const Layout& At>
bool walk_if_laid_out_so() {
  if (std::memcmp(&layout, &At, sizeof layout) != 0) return false;
  g_top = top_with<At>;
  g_walk = walk_with<At>;
  return true;
}

}  // namespace

void start_walking() {
  if (walk_if_laid_out_so<kLayout38>() || walk_if_laid_out_so<kLayout39>() ||
      walk_if_laid_out_so<kLayout310>() || walk_if_laid_out_so<kLayout311>() ||
      walk_if_laid_out_so<kLayout312>() || walk_if_laid_out_so<kLayout313>()) {
    return;
  }
  walk_if_laid_out_so<layout>();
}

void walk_only_in_this_thread() {
  if (g_walk_in_thread.load() != nullptr) return;
  g_thread = pthread_self();
  g_walk_in_thread = g_walk.load();
  g_top_in_thread = g_top.load();
  g_walk.store(walk_in_thread, std::memory_order_release);
  g_top.store(top_in_thread, std::memory_order_release);
}

void stop_walking() {
  g_top = no_top;
  g_walk = no_walk;
}

const Object* module_called_in(const char* frame, CodeClass code_class) {
  return module_called<layout>(frame, code_class);
}

Top top() { return g_top.load(std::memory_order_acquire)(); }

bool walk(FrameWalk* out) {
  *out = FrameWalk();
  return g_walk.load(std::memory_order_acquire)(out);
}

}  // namespace dtypecheck::tracer::python
