// From a walk's pointers to names. Cold: once for each new site.
#include <algorithm>
#include <unordered_set>

#include "tracer/python/frames.h"
#include "tracer/python/module_names.h"
#include "tracer/python/notebook_cells.h"
#include "tracer/python/parameter_names.h"
#include "tracer/python/python_sites.h"
#include "tracer/python/site_of_frames.h"
#include "tracer/python/step_frames.h"

namespace dtypecheck::tracer::python {

namespace {

constexpr size_t kMaxKeptCode = 16384;

// Keeps the code of a site alive, so that no other code gets its address and with it the site.
// Bounded, for programs that compile new code in every step.
void keep_code(Object* code) {
  static auto* kept = new std::unordered_set<Object*>;
  if (kept->size() < kMaxKeptCode && kept->insert(code).second) api.Py_IncRef(code);
}

bool is_frame(const PythonFrame* frame, const void* code, const void* instr) {
  if (frame == nullptr) return code == nullptr;
  return frame->code == code && frame->instr == instr;
}

// The user's line that called what runs in the frame.
Line line_around(const Frames& frames, size_t frame) {
  const auto around =
      std::find_if(frames.begin() + static_cast<std::ptrdiff_t>(frame), frames.end(),
                   [](const PythonFrame& f) { return f.kind() == CodeKind::kUser; });
  return around == frames.end() ? Line() : line_of(*around);
}

}  // namespace

Site site_of(const Frames& frames) {
  Site site;
  const KeyFrames key = key_frames(frames);
  if (key.inner != nullptr) site.inner = line_of(*key.inner);
  site.line = key.user != nullptr ? line_of(*key.user) : site.inner;
  const ModuleName module = name_innermost_module(frames);
  if (key.user != nullptr && &frames[module.outermost] > key.user)
    site.caller = line_around(frames, module.outermost);
  site.module = module.path;
  site.module_class = module.class_name;
  site.work = work_of(frames);
  site.new_cells = take_new_cells();
  return site;
}

bool resolve(const FrameWalk& walk, Site* out) {
  return with_interpreter<bool>([&] {
    const Frames frames = own_frames();
    const KeyFrames key = key_frames(frames);
    if (!is_frame(key.user, walk.user_code, walk.user_instr)) return false;
    if (!is_frame(key.inner, walk.inner_code, walk.inner_instr)) return false;
    *out = site_of(frames);
    if (key.user != nullptr) keep_code(key.user->code);
    if (key.inner != nullptr) keep_code(key.inner->code);
    return true;
  });
}

std::string parameter_name(const void* impl) {
  return with_interpreter<std::string>([&] { return find_parameter_name(impl); });
}

}  // namespace dtypecheck::tracer::python
