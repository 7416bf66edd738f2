#include "tracer/keep_going/draws.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "platform/hash.h"
#include "trace/draws.h"
#include "tracer/hook/describe.h"
#include "tracer/hook/facts.h"
#include "tracer/hook/option_text.h"
#include "tracer/hook/tracer.h"
#include "tracer/keep_going/quiet.h"

namespace dtypecheck::tracer::keep_going {
namespace {

struct Draws {
  std::mutex mutex;
  bool records = false, replays = false, is_begun = false;
  int file = -1;
  uint64_t written = 0;
  std::string bytes;  // of the other run's file
  struct Queue {
    std::vector<trace::Draw> draws;
    size_t next = 0;
  };
  std::map<uint64_t, Queue> queues;  // by key
  uint64_t given = 0, own = 0;
};
Draws* draws = new Draws;

void begin() {
  draws->is_begun = true;
  const std::string name = trace::draws_file(tracer.file.header()->rank);
  if (draws->records) {
    const std::string path = std::string(tracer.stage1->run_folder) + "/" + name;
    draws->file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (draws->file >= 0 && ::write(draws->file, trace::kDrawsMagic, trace::kDrawsMagicBytes) < 0)
      draws->file = -1;
  }
  if (!draws->replays) return;
  std::ifstream in(std::string(std::getenv("DTYPECHECK_REPLAY")) + "/" + name, std::ios::binary);
  draws->bytes.assign(std::istreambuf_iterator<char>(in), {});
  std::vector<trace::Draw> all;
  trace::parse_draws(draws->bytes, &all);
  for (const trace::Draw& draw : all) draws->queues[draw.header.key].draws.push_back(draw);
}

uint64_t key_of(const c10::OperatorHandle& op, const at::Tensor& drawn) {
  uint64_t key = fnv1a(op.schema().name());
  for (const int64_t size : drawn.sizes()) key = mix(key, static_cast<uint64_t>(size));
  return key;
}

void record(uint64_t key, const at::Tensor& drawn) {
  const at::Tensor whole = drawn.contiguous();
  const trace::DrawHeader header{key, static_cast<uint32_t>(whole.scalar_type()),
                                 static_cast<uint32_t>(whole.element_size()),
                                 static_cast<uint64_t>(whole.numel())};
  const uint64_t size = header.count * header.item_bytes;
  if (draws->file < 0 || draws->written + size > trace::kMostDrawBytes) return;
  std::string text(reinterpret_cast<const char*>(&header), sizeof header);
  text.append(static_cast<const char*>(whole.data_ptr()), size);
  text.resize(sizeof header + trace::padded(size));
  if (::write(draws->file, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    ::close(draws->file);  // a full disk: what is behind it would not be found
    draws->file = -1;
  }
  draws->written += size;
}

bool give(uint64_t key, const at::Tensor& drawn) {
  Draws::Queue& queue = draws->queues[key];
  if (queue.next == queue.draws.size()) return false;
  const trace::Draw& draw = queue.draws[queue.next++];
  const auto type = static_cast<c10::ScalarType>(draw.header.dtype);
  const bool is_known = draw.header.dtype < static_cast<uint32_t>(c10::ScalarType::QInt8) &&
                        c10::elementSize(type) == draw.header.item_bytes;
  if (!is_known || draw.header.count != static_cast<uint64_t>(drawn.numel())) return false;
  at::Tensor numbers = at::empty(drawn.sizes(), at::TensorOptions().dtype(type));
  std::memcpy(numbers.data_ptr(), draw.numbers, draw.header.count * draw.header.item_bytes);
  at::Tensor into = drawn;
  into.copy_(numbers);
  return true;
}

}  // namespace

bool read_draw_options(const char* options) {
  const char* folder = std::getenv("DTYPECHECK_REPLAY");
  draws->records = read_option(options, "record-draws");
  draws->replays = folder && *folder;
  return draws->records || draws->replays;
}

void run_draw(const c10::OperatorHandle& op, c10::DispatchKeySet below, torch::jit::Stack* stack,
              ThreadState* state) {
  op.redispatchBoxed(below, stack);
  const c10::IValue& result = stack->back();
  if (!result.isTensor() || !result.toTensor().defined()) return;
  const at::Tensor& drawn = result.toTensor();
  if (!drawn.is_cpu() || !is_plain(drawn.unsafeGetTensorImpl()) || drawn.layout() != at::kStrided ||
      drawn.numel() == 0)
    return;
  const Quiet quiet(state);
  const std::lock_guard<std::mutex> lock(draws->mutex);
  try {
    if (!draws->is_begun) begin();
    const uint64_t key = key_of(op, drawn);
    if (draws->records) record(key, drawn);
    if (draws->replays) ++(give(key, drawn) ? draws->given : draws->own);
  } catch (const std::exception&) {  // no memory: the program goes on with its own
    tracer.options.draws = false;
  }
}

void write_draw_fact() {
  if (draws->replays)
    write_fact(FactKey::kReplay,
               "given=" + std::to_string(draws->given) + " own=" + std::to_string(draws->own));
}

void forget_draws() {
  const bool was_on = draws->records || draws->replays;
  if (!was_on) return;
  draws = new Draws;  // another thread may have held the lock when the process forked
  tracer.options.draws = false;
}

}  // namespace dtypecheck::tracer::keep_going
