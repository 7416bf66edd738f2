// requests.cpp: see requests.h.
#include "tracer/hook/requests.h"

#include <mutex>
#include <set>
#include <string>

#include "tracer/hook/describe.h"
#include "tracer/hook/facts.h"
#include "tracer/hook/tracer.h"
#include "tracer/python/requests.h"

namespace dtypecheck::tracer {
namespace {

constexpr size_t kMostRequests = 48;

struct Requests {
  std::mutex mutex;
  std::set<std::string> written;
};
Requests* requests = new Requests;

const char* name_of_16_bits(c10::ScalarType dtype) {
  return dtype == c10::ScalarType::Half       ? "Half"
         : dtype == c10::ScalarType::BFloat16 ? "BFloat16"
                                              : nullptr;
}

void write_request(const std::string& what, const std::string& text) {
  if (text.empty()) return;
  {
    const std::lock_guard<std::mutex> lock(requests->mutex);
    if (requests->written.size() >= kMostRequests || !requests->written.insert(what).second) return;
  }
  write_fact(FactKey::kAsked, what, text);
}

void on_default_dtype() {
  if (!tracer.on.load()) return;
  const char* name = name_of_16_bits(c10::typeMetaToScalarType(c10::get_default_dtype()));
  std::string place;
  if (name) write_request(std::string("default ") + name, python::requests_here(&place));
}

}  // namespace

c10::ScalarType asked_dtype(const OpInfo& op, c10::ArrayRef<const c10::IValue> inputs) {
  if (op.dtypes.empty()) return c10::ScalarType::Undefined;
  const c10::IValue& dtype = inputs[op.dtypes.front().index];
  if (dtype.isInt()) return static_cast<c10::ScalarType>(dtype.toInt());
  return op.tensors.empty() ? c10::typeMetaToScalarType(c10::get_default_dtype())
                            : c10::ScalarType::Undefined;
}

// model.to(dtype) of what is trained, as a pipeline does that is made for a validation, and of the
// copy that an average begins with.
static bool may_lower_weights(c10::ArrayRef<const c10::IValue> inputs) {
  if (inputs.empty() || !inputs[0].isTensor()) return false;
  const at::Tensor& tensor = inputs[0].toTensor();
  return tensor.defined() && tensor.is_leaf() && !c10::GradMode::is_enabled();
}

void note_request(const Frame& frame, c10::ArrayRef<const c10::IValue> inputs, bool in_autocast) {
  if (!tracer.python || in_autocast) return;
  if (tracer.trained.load(std::memory_order_relaxed) && !may_lower_weights(inputs)) return;
  try {
    const char* name = name_of_16_bits(asked_dtype(*frame.op, inputs));
    if (!name) return;
    std::string place;
    const std::string text = python::requests_here(&place);
    if (!place.empty()) write_request(std::string(name) + " " + place, text);
  } catch (...) {  // no memory: nothing is said of it
  }
}

void watch_default_dtype() {
  static std::atomic<bool> done{false};
  if (!tracer.python || done.load(std::memory_order_relaxed)) return;
  done.store(python::watch_default_dtype(on_default_dtype));
}

void forget_requests() { requests = new Requests; }

}  // namespace dtypecheck::tracer
