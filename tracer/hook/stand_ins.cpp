// stand_ins.cpp: see stand_ins.h.
#include "tracer/hook/stand_ins.h"

#include <cstring>
#include <deque>
#include <unordered_map>

#include "tracer/hook/describe.h"
#include "tracer/hook/tracer.h"
#include "tracer/keep_going/known_values.h"

namespace dtypecheck::tracer {
namespace {

constexpr size_t kMostBytesKept = 64 << 20;
constexpr size_t kMostToDo = 1 << 16;

struct StandIn {
  c10::weak_intrusive_ptr<c10::StorageImpl> storage;  // no other takes its address
  at::Tensor flat;
  int64_t begin;  // in the storage
};

struct ToDo {
  std::shared_ptr<Snapshot> snapshot;
  std::function<void()> act;
};

struct StandIns {
  std::unordered_map<const c10::StorageImpl*, StandIn> of;
  size_t bytes = 0;
  std::deque<ToDo> to_do;
};
StandIns* stand_ins = new StandIns;
std::atomic<size_t> things_to_do{0};

const c10::StorageImpl* storage_impl(const at::Tensor& tensor) {
  return tensor.storage().unsafeGetStorageImpl();
}

// Of a tensor that has none nothing else is asked: it may be a fake one, without sizes.
StandIn* find_stand_in(const at::Tensor& tensor) {
  if (!tensor.has_storage()) return nullptr;
  const auto found = stand_ins->of.find(storage_impl(tensor));
  if (found == stand_ins->of.end()) return nullptr;
  const StandIn& one = found->second;
  const Extent extent = extent_of(tensor);
  const bool holds = one.flat.scalar_type() == tensor.scalar_type() && one.begin == extent.begin &&
                     one.flat.numel() == extent.count;
  return holds ? &found->second : nullptr;
}

size_t bytes_of(const StandIn& one) { return one.flat.numel() * one.flat.element_size(); }

void keep_stand_in(const at::Tensor& on_gpu, const at::Tensor& flat, int64_t begin) {
  const c10::StorageImpl* storage = storage_impl(on_gpu);
  if (stand_ins->bytes >= kMostBytesKept) forget_dead_stand_ins();
  if (stand_ins->bytes >= kMostBytesKept) stand_ins->of.clear(), stand_ins->bytes = 0;
  forget_stand_in(storage);
  const StandIn one{on_gpu.storage().getWeakStorageImpl(), flat, begin};
  stand_ins->bytes += bytes_of(one);
  stand_ins->of.emplace(storage, one);
}

at::Tensor view_of(const at::Tensor& flat, int64_t begin, const at::Tensor& like) {
  return flat.as_strided(like.sizes(), like.strides(), like.storage_offset() - begin);
}

}  // namespace

Extent extent_of(const at::Tensor& tensor) {
  const auto all = static_cast<int64_t>(tensor.storage().nbytes() / tensor.element_size());
  if (all <= kMostStored) return {0, all};
  int64_t count = 1;
  for (int64_t i = 0; i < tensor.dim(); ++i) count += (tensor.size(i) - 1) * tensor.stride(i);
  return {tensor.storage_offset(), count};
}

const char* first_of(const at::Tensor& tensor, Extent extent) {
  return static_cast<const char*>(storage_impl(tensor)->data()) +
         extent.begin * static_cast<int64_t>(tensor.element_size());
}

bool can_be_copied(const c10::TensorImpl* impl) {
  return impl->device().is_cuda() &&
         (!tracer.options.pretended || keep_going::has_known_values(impl));
}

at::Tensor Snapshot::add(const at::Tensor& on_gpu, bool keep) {
  const Extent extent = extent_of(on_gpu);
  const int device = on_gpu.device().index();
  if (extent.count > kMostStored || (device_ >= 0 && device != device_)) return {};
  device_ = device;
  const StandIn* known = find_stand_in(on_gpu);
  at::Tensor flat = known ? known->flat : at::empty({extent.count}, on_gpu.scalar_type());
  const size_t bytes = static_cast<size_t>(extent.count) * on_gpu.element_size();
  parts_.push_back({first_of(on_gpu, extent), bytes, 1, bytes});
  flat_.push_back(flat);
  storages_.push_back(storage_impl(on_gpu));
  if (keep && !known) keep_stand_in(on_gpu, flat, extent.begin);
  return view_of(flat, extent.begin, on_gpu);
}

bool Snapshot::copy() {
  if (parts_.empty()) return arrival_->is_there = true;
  std::vector<size_t> sizes;
  for (const GpuPart& part : parts_) sizes.push_back(part.bytes());
  return copy_sample(
      device_, parts_,
      [sizes = std::move(sizes), arrival = arrival_](const std::vector<const char*>& arrived) {
        for (size_t i = 0; i < sizes.size(); ++i)
          arrival->parts.emplace_back(arrived[i], arrived[i] + sizes[i]);
        arrival->is_there = true;
      });
}

bool Snapshot::is_there() const { return arrival_->is_there; }
bool Snapshot::is_lost() const { return arrival_.use_count() == 1 && !arrival_->is_there; }

void Snapshot::arrive() {
  for (size_t i = 0; i < arrival_->parts.size(); ++i)
    std::memcpy(flat_[i].data_ptr(), arrival_->parts[i].data(), arrival_->parts[i].size());
}

bool has_stand_in(const at::Tensor& on_gpu) { return find_stand_in(on_gpu) != nullptr; }

at::Tensor stand_in_of(const at::Tensor& on_gpu) {
  const StandIn* known = find_stand_in(on_gpu);
  return known ? view_of(known->flat, known->begin, on_gpu) : at::Tensor();
}

void forget_stand_in(const c10::StorageImpl* on_gpu) {
  const auto found = stand_ins->of.find(on_gpu);
  if (found == stand_ins->of.end()) return;
  stand_ins->bytes -= bytes_of(found->second);
  stand_ins->of.erase(found);
}

void forget_dead_stand_ins() {
  std::vector<const c10::StorageImpl*> dead;
  for (const auto& [storage, one] : stand_ins->of)
    if (one.storage.expired()) dead.push_back(storage);
  for (const c10::StorageImpl* storage : dead) forget_stand_in(storage);
}

void do_later(std::shared_ptr<Snapshot> snapshot, std::function<void()> act) {
  if (stand_ins->to_do.size() >= kMostToDo) return;
  stand_ins->to_do.push_back({std::move(snapshot), std::move(act)});
  ++things_to_do;
}

void do_arrived() {
  while (!stand_ins->to_do.empty()) {
    Snapshot* snapshot = stand_ins->to_do.front().snapshot.get();
    const bool is_lost = snapshot && snapshot->is_lost();
    if (snapshot && !is_lost && !snapshot->is_there()) return;
    const ToDo next = std::move(stand_ins->to_do.front());
    stand_ins->to_do.pop_front();
    --things_to_do;
    if (is_lost) continue;
    try {
      if (snapshot) snapshot->arrive();
      next.act();
    } catch (...) {
    }
  }
}

bool is_more_to_do() { return things_to_do.load(std::memory_order_relaxed) > 0; }

void forget_stand_ins() {
  stand_ins = new StandIns;  // what a thread that is no more was about to do is never undone
  things_to_do = 0;
}

}  // namespace dtypecheck::tracer
