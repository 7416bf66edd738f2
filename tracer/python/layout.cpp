#include "tracer/python/layout.h"

#include <cstdlib>

namespace dtypecheck::tracer::python {

Layout layout;

namespace {

struct Version {
  int major = 0;
  int minor = 0;
  std::string text;  // "3.11.7"
  bool released = false;
};

Version running_version() {
  Version v;
  const std::string full = api.Py_GetVersion();
  v.text = full.substr(0, full.find(' '));
  const size_t dot = v.text.find('.');
  v.major = std::atoi(v.text.c_str());
  v.minor = dot == std::string::npos ? 0 : std::atoi(v.text.c_str() + dot + 1);
  v.released = v.text.find_first_not_of("0123456789.+") == std::string::npos;
  return v;
}

bool refuse(const Version& v, const std::string& reason, std::string* why_not) {
  *why_not = "CPython " + v.text + " " + reason + "; Python lines are not recorded";
  return false;
}

const PublishedIndices* published_indices(const Version& v) {
  for (const PublishedIndices& known : kPublished) {
    if (known.minor == v.minor) return &known;
  }
  return nullptr;
}

bool read_published(const Version& v, std::string* why_not) {
  const PublishedIndices* at = published_indices(v);
  if (api.runtime == nullptr || std::memcmp(api.runtime, kPublishedCookie, 8) != 0) {
    return refuse(v, "does not publish where its frames lie", why_not);
  }
  const auto word = [](size_t index) { return load<uint64_t>(api.runtime, 8 * index); };
  if (word(kPublishedVersion) >> 16 != (0x300u | static_cast<unsigned>(v.minor))) {
    return refuse(v, "publishes the frames of another version", why_not);
  }
  if (word(kPublishedFreeThreaded) != 0) {
    return refuse(v, "is a free-threaded build, where other threads may change what is read",
                  why_not);
  }
  const auto offset = [&word](size_t index) { return static_cast<uint16_t>(word(index)); };
  layout = Layout{};
  layout.chain = FrameChain::kCurrent;
  layout.minor = at->minor;
  layout.thread_frame = offset(at->thread_current_frame);
  layout.frame_previous = offset(at->frame_previous);
  layout.frame_code = offset(at->frame_executable);
  layout.frame_instr = offset(at->frame_instr);
  layout.frame_localsplus = offset(at->frame_localsplus);
  layout.frame_owner = offset(at->frame_owner);
  layout.frame_globals = kPublishedFrameGlobals;
  layout.frame_locals = kPublishedFrameLocals;
  layout.object_frame = kPublishedObjectFrame;
  layout.code_filename = offset(at->code_filename);
  layout.code_name = offset(at->code_name);
  layout.code_flags = kPublishedCodeFlags;
  layout.code_instructions = offset(at->code_instructions);
  layout.text_state = offset(at->text_state);
  layout.text_length = offset(at->text_length);
  layout.text_ascii_size = offset(at->text_ascii_size);
  return true;
}

}  // namespace

bool is_known_version(std::string* why_not) {
  const Version v = running_version();
  if (v.major != 3) return refuse(v, "is not a CPython 3", why_not);
  if (v.minor < 8) return refuse(v, "is older than 3.8", why_not);
  if (v.minor < 13 && !v.released) return refuse(v, "is a preview release", why_not);
  if (v.minor >= 13 && published_indices(v) == nullptr) {
    return refuse(v, "is newer than this build knows", why_not);
  }
  return true;
}

bool choose_layout(std::string* why_not) {
  static_assert(sizeof(void*) == 8, "the offsets are those of 64-bit builds");
  const Version v = running_version();
  switch (v.minor) {
    case 8:
      return layout = kLayout38, true;
    case 9:
      return layout = kLayout39, true;
    case 10:
      return layout = kLayout310, true;
    case 11:
      return layout = kLayout311, true;
    case 12:
      return layout = kLayout312, true;
    default:
      return read_published(v, why_not);
  }
}

int instruction_offset(const Object* code, const void* instr) {
  const intptr_t at = reinterpret_cast<intptr_t>(instr);
  if (layout.chain != FrameChain::kFrameObjects) {
    return static_cast<int>(at - reinterpret_cast<intptr_t>(code) - layout.code_instructions);
  }
  return static_cast<int>(layout.minor < 10 ? at : 2 * at);  // 3.10 counts in instructions
}

}  // namespace dtypecheck::tracer::python
