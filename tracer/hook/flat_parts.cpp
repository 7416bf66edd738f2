#include "tracer/hook/flat_parts.h"

#include <mutex>
#include <unordered_map>
#include <utility>

#include "tracer/hook/describe.h"
#include "tracer/hook/tracer.h"
#include "tracer/python/python_sites.h"

namespace dtypecheck::tracer {
namespace {

constexpr size_t kMostFlat = 1u << 14;  // then all are forgotten

// The storage is not kept, but its address is: nothing else takes it.
struct FlatStorage {
  c10::weak_intrusive_ptr<c10::StorageImpl> storage;
  int64_t count = 0;
  FlatLayout layout;
};

struct FlatStorages {
  std::mutex mutex;
  std::unordered_map<const c10::StorageImpl*, FlatStorage> by_storage;
};
FlatStorages* flat_storages = new FlatStorages;

bool may_be_flat(const c10::TensorImpl* impl) {
  return is_plain(impl) && impl->dim() == 1 && impl->is_contiguous() && impl->unsafe_storage();
}

FlatLayout known_layout(const c10::TensorImpl* impl) {
  const std::lock_guard<std::mutex> lock(flat_storages->mutex);
  const auto found = flat_storages->by_storage.find(impl->unsafe_storage().unsafeGetStorageImpl());
  const bool is_known =
      found != flat_storages->by_storage.end() && found->second.count == impl->numel();
  return is_known ? found->second.layout : nullptr;
}

FlatLayout read_layout(const c10::TensorImpl* impl) {
  std::vector<FlatPartIds> parts;
  for (const python::FlatPart& part : python::flat_parts(impl)) {
    if (part.offset + part.count > impl->numel()) return nullptr;
    parts.push_back({intern(part.name), intern(part.cut), part.offset, part.count});
  }
  return parts.empty() ? nullptr
                       : std::make_shared<const std::vector<FlatPartIds>>(std::move(parts));
}

}  // namespace

FlatLayout layout_of(const c10::TensorImpl* impl) {
  if (!tracer.python || !may_be_flat(impl)) return nullptr;
  if (FlatLayout known = known_layout(impl)) return known;
  if (!is_leaf(impl)) return nullptr;
  FlatLayout layout = read_layout(impl);
  if (layout) note_layout(impl, layout);
  return layout;
}

void note_layout(const c10::TensorImpl* impl, const FlatLayout& layout) {
  if (!may_be_flat(impl)) return;
  const FlatPartIds& last = layout->back();
  if (last.offset + last.count > impl->numel()) return;
  const std::lock_guard<std::mutex> lock(flat_storages->mutex);
  auto& all = flat_storages->by_storage;
  if (all.size() >= kMostFlat) all.clear();
  all.insert_or_assign(
      impl->unsafe_storage().unsafeGetStorageImpl(),
      FlatStorage{impl->unsafe_storage().getWeakStorageImpl(), impl->numel(), layout});
}

c10::intrusive_ptr<c10::TensorImpl> part_of(const c10::TensorImpl* flat, const FlatPartIds& part) {
  auto impl = c10::make_intrusive<c10::TensorImpl>(c10::Storage(flat->unsafe_storage()),
                                                   flat->key_set(), flat->dtype());
  impl->set_storage_offset(flat->storage_offset() + part.offset);
  const int64_t sizes[] = {part.count};
  impl->set_sizes_contiguous(sizes);
  if (flat->version_counter().enabled()) impl->set_version_counter(flat->version_counter());
  return impl;
}

void forget_layouts() { flat_storages = new FlatStorages; }

}  // namespace dtypecheck::tracer
