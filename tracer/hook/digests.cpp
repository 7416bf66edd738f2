// digests.cpp: hot with --values, and not called without. All of a tensor is read, once for each
// time that it changed: 1 ms a million elements. What was digested is found again by its address
// and shape, if its memory was not given back, and its version and the elements at the places are
// still the same.
#include "tracer/hook/digests.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <exception>
#include <list>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "core/codes.h"
#include "tracer/hook/describe.h"
#include "tracer/hook/flat_parts.h"
#include "tracer/hook/gpu_digests.h"
#include "tracer/hook/option_text.h"
#include "tracer/hook/tracer.h"
#include "tracer/python/python_sites.h"

namespace dtypecheck::tracer {
namespace {

constexpr size_t kMostTensors = 4096;  // of one call
constexpr int kMostDims = 16;
constexpr size_t kMostKnown = 1u << 16;  // tensors that are found again; see forget_gone()

StepList* digest_steps = new StepList;  // none: powers of two

struct KnownDigest {
  uint32_t id = 0;
  uint32_t version = 0;
  uint32_t shape = 0;
  uint32_t base = 0;
  std::array<double, trace::kDigestPlaces> places{};
  // Another tensor may have its address once it is gone, and be as equal: zero but in few elements.
  c10::optional<c10::weak_intrusive_ptr<c10::StorageImpl>> storage;
  // Of a tensor on a GPU, whose elements are not known yet: what writes to it past its version is
  // seen in the next step at the latest.
  uint32_t step = 0;
};

// The storage is not kept, but its address is: nothing else takes it.
struct WrittenStorage {
  c10::weak_intrusive_ptr<c10::StorageImpl> storage;
  uint32_t id = 0;
};

using Kept = c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;

// A collective returns before it has written its results. It is written down when one of them is
// read: the program has waited for it then.
struct Launched {
  struct Result {
    c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl> tensor;
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;
  };
  uint32_t signature = 0;
  uint32_t step = 0;
  const void* thread = nullptr;  // on the CPU others read them, too: they are at work on it
  std::vector<uint32_t> operands;
  std::vector<Result> results;

  bool writes(const c10::StorageImpl* to) const {
    return std::any_of(results.begin(), results.end(), [&](const Result& result) {
      return result.storage._unsafe_get_target() == to;
    });
  }
};
constexpr size_t kMostLaunched = 1024;

// The file's entries, across threads.
struct Page {
  std::mutex mutex;
  char* at = nullptr;
  size_t left_bytes = 0;
  uint32_t step = 0;
  uint32_t last_id = 0;  // of a digest
};

struct Digests {
  std::mutex mutex;
  Page page;
  std::list<Launched> launched;
  std::unordered_map<const c10::StorageImpl*, WrittenStorage> written;
  std::unordered_map<uint64_t, KnownDigest> known;
  std::unordered_map<uint64_t, uint64_t> of_elements;  // by elements_key_of(), a key of the former
  std::unordered_map<const c10::TensorImpl*, uint32_t> gradients;  // of a weight: last step
};
Digests* digests = new Digests;

// The op that this thread is in. Never destroyed: ops run while threads end, too.
struct DigestedCall {
  const void* op = nullptr;
  uint32_t step = 0;
  bool is_optimizer = false;
  // Of flat tensors, by the place that these have in their argument's list.
  std::vector<FlatLayout> layouts;
  std::vector<uint32_t> operands;
  // What an op without results writes, kept alive until it has.
  std::vector<Kept> written;
  // Operands that were not there yet, by their places: the op itself waits for them.
  std::vector<std::pair<size_t, Kept>> awaited;
};
thread_local DigestedCall* digested_call = nullptr;

bool is_wanted(uint32_t step) {
  if (step == 0) return false;
  return digest_steps->empty() ? (step & (step - 1)) == 0 : digest_steps->contains(step);
}

Kept kept(const c10::TensorImpl* impl) {
  return Kept::unsafe_reclaim_from_nonowning(const_cast<c10::TensorImpl*>(impl));
}

enum class Collective : uint8_t { kNone, kLaunches, kWaits, kWraps };
Collective collective_of(const OpInfo& op) {
  const std::string_view name = op.name;
  const bool is_functional = name.find("c10d_functional::") != name.npos;
  if (!is_functional && name.substr(0, 6) != "c10d::") return Collective::kNone;
  if (name.find("wait_tensor") != name.npos) return Collective::kWaits;
  return name.find("_wrap_") != name.npos ? Collective::kWraps : Collective::kLaunches;
}

// Room that the op fills: what stands there before means nothing.
bool is_room(const OpInfo& op, const Argument& argument) {
  if (argument.name == "out") return argument.is_written;
  if (op.name == "aten::copy_") return argument.is_written;
  if (op.name == "fsdp::all_gather_copy_in") return argument.name == "all_gather_output";
  return collective_of(op) != Collective::kNone && argument.name.rfind("output_tensor", 0) == 0;
}

// A thread of gloo: its ops are what a collective is made of.
bool is_of_collective() {
  thread_local const bool is = [] {
    char name[16] = {};
    return pthread_getname_np(pthread_self(), name, sizeof name) == 0 &&
           std::string_view(name).substr(0, 7) == "pt_gloo";
  }();
  return is;
}

bool is_digested(const c10::TensorImpl* impl) {
  if (!is_plain(impl) || impl->layout() != c10::Layout::Strided || impl->is_quantized())
    return false;
  if (!impl->device().is_cpu() && (!impl->device().is_cuda() || tracer.options.pretended))
    return false;
  return impl->dim() <= kMostDims && (impl->numel() == 0 || data_of(impl));
}

// The element as a number. Only what is listed here has digests.
template <typename Visit>
bool with_type(uint8_t dtype, const Visit& visit) {
  switch (static_cast<Dtype>(dtype)) {
    case Dtype::kDouble:
      return visit(double()), true;
    case Dtype::kFloat:
      return visit(float()), true;
    case Dtype::kHalf:
      return visit(c10::Half()), true;
    case Dtype::kBFloat16:
      return visit(c10::BFloat16()), true;
    case Dtype::kLong:
      return visit(int64_t()), true;
    case Dtype::kInt:
      return visit(int32_t()), true;
    case Dtype::kShort:
      return visit(int16_t()), true;
    case Dtype::kChar:
      return visit(int8_t()), true;
    case Dtype::kByte:
      return visit(uint8_t()), true;
    case Dtype::kBool:
      return visit(uint8_t()), true;
    default:
      return false;
  }
}

bool is_wide(uint8_t dtype) {
  const Dtype of = static_cast<Dtype>(dtype);
  return of == Dtype::kDouble || of == Dtype::kLong || of == Dtype::kInt;
}

int64_t offset_of(const c10::TensorImpl* impl, int64_t element) {
  const auto sizes = impl->sizes();
  const auto strides = impl->strides();
  int64_t offset = 0;
  for (size_t dim = sizes.size(); dim-- > 0;) {
    offset += element % sizes[dim] * strides[dim];
    element /= sizes[dim];
  }
  return offset;
}

int place_count(int64_t count) {
  return static_cast<int>(std::min<int64_t>(count, trace::kDigestPlaces));
}

template <typename Number>
void read_places(const c10::TensorImpl* impl, double* places) {
  const auto* data = reinterpret_cast<const Number*>(first_byte(impl));
  const int64_t count = impl->numel();
  const int all = place_count(count);
  for (int i = 0; i < all; ++i) {
    const auto element = static_cast<int64_t>(static_cast<double>(count) / all * i);
    places[i] = static_cast<double>(data[offset_of(impl, element)]);
  }
}

void add(DigestSums& sums, double value) {
  if (!std::isfinite(value)) return;
  ++sums.finite;
  sums.zeros += value == 0 ? 1 : 0;
  sums.sum += value;
  sums.squares += value * value;
  sums.largest = std::max(sums.largest, std::fabs(value));
}

template <typename Number>
DigestSums sums_of(const Number* data, int64_t count) {
  DigestSums sums;
  for (int64_t i = 0; i < count; ++i) add(sums, static_cast<double>(data[i]));
  return sums;
}

template <typename Number>
DigestSums sums_of(const c10::TensorImpl* impl) {
  DigestSums sums;
  const auto* data = reinterpret_cast<const Number*>(first_byte(impl));
  const int64_t count = impl->numel();
  if (impl->is_contiguous()) return sums_of(data, count);
  // In the order of the sizes, so that strides change nothing, not even how sums are rounded.
  const auto sizes = impl->sizes();
  const auto strides = impl->strides();
  int64_t at[kMostDims] = {};
  int64_t offset = 0;
  const int last = static_cast<int>(sizes.size()) - 1;
  for (int64_t i = 0; i < count; ++i) {
    add(sums, static_cast<double>(data[offset]));
    for (int dim = last; dim >= 0; --dim) {
      offset += strides[dim];
      if (++at[dim] < sizes[dim]) break;
      offset -= strides[dim] * sizes[dim];
      at[dim] = 0;
    }
  }
  return sums;
}

uint32_t shape_of(const c10::TensorImpl* impl) {
  uint64_t hash = impl->dim() + 1;
  for (const int64_t size : impl->sizes()) hash = mix(hash, static_cast<uint64_t>(size));
  return static_cast<uint32_t>(hash >> 32 ^ hash);
}

uint32_t version_of(const c10::TensorImpl* impl) {
  const c10::VariableVersion& version = impl->version_counter();
  return version.enabled() ? version.current_version() : 0;
}

uint64_t key_of(const c10::TensorImpl* impl) {
  uint64_t key = mix(reinterpret_cast<uint64_t>(first_byte(impl)), dtype_of(impl));
  for (const int64_t stride : impl->strides()) key = mix(key, static_cast<uint64_t>(stride));
  return mix(key, shape_of(impl));
}

// Of tensors whose elements are the same, one behind the other, whatever the sizes. 0: they lie
// apart, or there is but a handful.
uint64_t elements_key_of(const c10::TensorImpl* impl) {
  if (!impl->is_contiguous() || impl->numel() <= trace::kDigestPlaces) return 0;
  const uint64_t key = mix(reinterpret_cast<uint64_t>(first_byte(impl)), dtype_of(impl));
  return mix(key, ~static_cast<uint64_t>(impl->numel()));
}

bool has_digest_room() {
  const uint64_t used = __atomic_load_n(&tracer.file.header()->used_bytes, __ATOMIC_RELAXED);
  return used < trace::kMostDigestFileBytes;
}

// Null: the file has no room.
char* new_page(size_t room, uint32_t step) {
  if (!has_digest_room()) return nullptr;
  auto* record = tracer.file.reserve<trace::DigestPageRecord>(trace::RecordKind::kDigestPage, room);
  if (!record) return nullptr;
  record->room_bytes = static_cast<uint32_t>(room);
  record->first_id = digests->page.last_id + 1;
  record->step = step;
  tracer.file.commit(record->header);
  return reinterpret_cast<char*>(record + 1);
}

// Its header is filled in, the rest is 0. Null: the file has no room. `id`: of a digest.
template <typename Entry>
Entry* new_entry(uint8_t what, uint8_t flags, size_t bytes_behind, uint32_t step,
                 uint32_t* id = nullptr) {
  const size_t size = (sizeof(Entry) + bytes_behind + 3) / 4 * 4;
  Page& page = digests->page;
  const std::lock_guard<std::mutex> lock(page.mutex);
  Entry* entry = nullptr;
  if (size > trace::kDigestPageBytes / 4) {  // a call: no digest, whose id its page gives
    entry = reinterpret_cast<Entry*>(new_page((size + 7) / 8 * 8, step));
  } else {
    if (size > page.left_bytes || step != page.step) {
      page.at = new_page(trace::kDigestPageBytes, step);
      page.left_bytes = page.at ? trace::kDigestPageBytes : 0;
      page.step = step;
    }
    entry = reinterpret_cast<Entry*>(page.at);
    if (entry) page.at += size, page.left_bytes -= size;
  }
  if (!entry) return nullptr;
  if (id) *id = ++page.last_id;
  entry->header.what = what;
  entry->header.flags = flags;
  __atomic_store_n(&entry->header.size_bytes, static_cast<uint16_t>(size), __ATOMIC_RELEASE);
  return entry;
}

// From then on readers see it.
void commit(trace::EntryHeader& header) {
  const auto flags = static_cast<uint8_t>(header.flags | trace::kEntryIsCommitted);
  __atomic_store_n(&header.flags, flags, __ATOMIC_RELEASE);
}

template <typename T>
char* put(char* to, const T& value) {
  std::memcpy(to, &value, sizeof value);
  return to + sizeof value;
}

template <typename Number>
char* put_numbers(char* to, const DigestSums& sums) {
  const double finite = static_cast<double>(std::max<uint64_t>(sums.finite, 1));
  to = put(to, static_cast<Number>(std::sqrt(sums.squares / finite)));
  to = put(to, static_cast<Number>(sums.sum / finite));
  return put(to, static_cast<Number>(sums.largest));
}

// What was read of it, at its place in the entry.
void fill_digest(trace::DigestEntry* entry, char* to, uint64_t count, const DigestSums& sums,
                 const double* places) {
  const bool is_wide = (entry->header.flags & trace::kDigestIsWide) != 0;
  if ((entry->header.flags & trace::kDigestHasNotFinite) != 0)
    to = put(to, static_cast<uint32_t>(std::min<uint64_t>(count - sums.finite, ~uint32_t{0})));
  if (count > trace::kDigestPlaces)
    to = is_wide ? put_numbers<double>(to, sums) : put_numbers<float>(to, sums);
  with_type(entry->header.what, [&](auto number) {
    using Number = decltype(number);
    using Stored = std::conditional_t<std::is_same_v<Number, int64_t>, double, Number>;
    for (int i = 0; i < place_count(static_cast<int64_t>(count)); ++i)
      to = put(to, static_cast<Stored>(places[i]));
  });
  commit(entry->header);
}

// What is known of a tensor before it is looked at.
struct Owned {
  uint32_t parameter = 0;  // its name, or that of the weight whose gradient it is
  uint32_t cut = 0;
  bool is_gradient = false;
  const FlatPartIds* part = nullptr;  // of a flat tensor, whose parts need not have a name
  bool is_weight = false;             // it is given as one
};

size_t bytes_behind(const c10::TensorImpl* impl, uint8_t flags) {
  const size_t name = (flags & trace::kDigestHasName) != 0 ? sizeof(trace::DigestName) : 0;
  const size_t base = ((flags & trace::kDigestHasBase) != 0 ? sizeof(uint32_t) : 0) +
                      ((flags & trace::kDigestIsHuge) != 0 ? sizeof(uint32_t) : 0);
  if ((flags & trace::kDigestIsSame) != 0) return name + base + sizeof(uint32_t);
  const size_t number = (flags & trace::kDigestIsWide) != 0 ? sizeof(double) : sizeof(float);
  const size_t not_finite = (flags & trace::kDigestHasNotFinite) != 0 ? sizeof(uint32_t) : 0;
  const size_t numbers = impl->numel() > trace::kDigestPlaces ? 3 * number : 0;
  return name + base + not_finite + numbers + place_count(impl->numel()) * impl->dtype().itemsize();
}

// `same`: the digest of the same elements in the same order; 0: none.
uint32_t write_digest(const c10::TensorImpl* impl, const KnownDigest& known, const Owned& owned,
                      uint32_t same) {
  const uint8_t dtype = dtype_of(impl);
  uint8_t flags = owned.is_gradient ? trace::kDigestIsGradient : 0;
  if (owned.parameter != 0 || owned.cut != 0) flags |= trace::kDigestHasName;
  if (known.base != 0) flags |= trace::kDigestHasBase;
  if (same != 0) flags |= trace::kDigestIsSame;
  // The parts of a whole are summed up again.
  if (is_wide(dtype) || owned.cut != 0) flags |= trace::kDigestIsWide;
  const auto count = static_cast<uint64_t>(impl->numel());
  const auto upper = static_cast<uint32_t>(count >> 32);
  if (upper != 0) flags |= trace::kDigestIsHuge;
  const bool on_gpu = impl->device().is_cuda() && count > 0;
  DigestSums sums;
  if (same == 0 && !on_gpu)
    with_type(dtype, [&](auto number) { sums = sums_of<decltype(number)>(impl); });
  // How many are not finite on a GPU is not known yet.
  if (same == 0 && count > trace::kDigestPlaces && (on_gpu || sums.finite < count))
    flags |= trace::kDigestHasNotFinite;
  uint32_t id = 0;
  auto* entry = new_entry<trace::DigestEntry>(dtype, flags, bytes_behind(impl, flags),
                                              digested_call->step, &id);
  if (!entry) return 0;
  entry->shape = known.shape;
  entry->count = static_cast<uint32_t>(count);
  char* to = reinterpret_cast<char*>(entry + 1);
  if (upper != 0) to = put(to, upper);
  if ((flags & trace::kDigestHasName) != 0)
    to = put(to, trace::DigestName{owned.parameter, owned.cut});
  if (known.base != 0) to = put(to, known.base);
  if (same != 0) {
    put(to, same);
    commit(entry->header);
    return id;
  }
  if (on_gpu) {
    const auto look = [entry, to, count](const DigestSums& sums, const double* elements) {
      fill_digest(entry, to, count, sums, elements);
    };
    return digest_on_gpu(impl, place_count(impl->numel()), look) ? id : 0;
  }
  fill_digest(entry, to, count, sums, known.places.data());
  return id;
}

bool same_places(const KnownDigest& a, const KnownDigest& b, int count) {
  return std::memcmp(a.places.data(), b.places.data(), count * sizeof(double)) == 0;
}

// Nothing has changed since, of elements that lie alike.
bool is_as_digested(const KnownDigest& known, const KnownDigest& now, const c10::TensorImpl* impl) {
  if (known.version != now.version) return false;
  if (!known.storage || known.storage->expired() ||
      known.storage->_unsafe_get_target() != impl->unsafe_storage().unsafeGetStorageImpl())
    return false;
  if (impl->device().is_cuda()) return known.step == now.step;
  return same_places(known, now, place_count(impl->numel()));
}

uint32_t known_digest(uint64_t key, const KnownDigest& now, const c10::TensorImpl* impl) {
  const auto found = digests->known.find(key);
  const bool is_known = found != digests->known.end() && is_as_digested(found->second, now, impl);
  return is_known ? found->second.id : 0;
}

uint32_t digest_of_elements(uint64_t elements, const KnownDigest& now,
                            const c10::TensorImpl* impl) {
  const auto key = digests->of_elements.find(elements);
  return key == digests->of_elements.end() ? 0 : known_digest(key->second, now, impl);
}

// What is left of a step's tensors is its weights and the optimizer's states.
void forget_gone() {
  auto& known = digests->known;
  for (auto at = known.begin(); at != known.end();)
    at = !at->second.storage || at->second.storage->expired() ? known.erase(at) : std::next(at);
  if (known.size() > kMostKnown / 2) known.clear();
  auto& elements = digests->of_elements;
  for (auto at = elements.begin(); at != elements.end();)
    at = known.count(at->second) == 0 ? elements.erase(at) : std::next(at);
}

void note_known(uint64_t key, uint64_t elements, KnownDigest now) {
  if (digests->known.size() >= kMostKnown) forget_gone();
  if (elements != 0) digests->of_elements[elements] = key;
  digests->known.insert_or_assign(key, std::move(now));
}

uint32_t base_of(const c10::TensorImpl* impl) {
  if (!impl->unsafe_storage()) return 0;
  const std::lock_guard<std::mutex> lock(digests->mutex);
  const auto found = digests->written.find(impl->unsafe_storage().unsafeGetStorageImpl());
  return found == digests->written.end() ? 0 : found->second.id;
}

void note_written(const c10::TensorImpl* impl, uint32_t id) {
  if (id == 0 || !impl->unsafe_storage()) return;
  const std::lock_guard<std::mutex> lock(digests->mutex);
  if (digests->written.size() >= kMostKnown) digests->written.clear();
  const auto [at, is_new] =
      digests->written.try_emplace(impl->unsafe_storage().unsafeGetStorageImpl(),
                                   WrittenStorage{impl->unsafe_storage().getWeakStorageImpl(), id});
  if (!is_new) at->second.id = id;
}

bool is_subclass(const c10::TensorImpl* impl) {
  return tracer.python && impl->key_set().has(c10::DispatchKey::Python);
}

void write_if_launched(const c10::TensorImpl* impl);

// Of a parameter. A module of FullyShardedDataParallel is given views of a flat one.
uint32_t name_of(const c10::TensorImpl* impl, bool is_weight = false) {
  if (!is_subclass(impl)) return parameter_name(impl, is_weight || is_leaf(impl));
  return is_leaf(impl) ? intern(python::parameter_name(impl)) : 0;
}

// Of a parameter that is a view of a flat one.
uint32_t cut_of_view(const c10::TensorImpl* impl) {
  if (!digested_call->is_optimizer || !is_plain(impl) || !is_leaf(impl)) return 0;
  return intern(python::flat_cut(impl));
}

// The id of its digest: of one that was written, if nothing has changed since.
uint32_t digest(const c10::TensorImpl* whole, const Owned& owned = {}) {
  const c10::TensorImpl* impl = whole;
  uint32_t cut = owned.cut;
  if (is_subclass(whole)) {
    const python::LocalPart part = python::local_part(python_object(whole));
    if (!part.impl) return 0;
    impl = static_cast<const c10::TensorImpl*>(part.impl);
    cut = intern(part.cut);
  }
  if (!is_digested(impl)) return 0;
  write_if_launched(impl);
  KnownDigest now;
  const bool on_gpu = impl->device().is_cuda();
  const bool is_known_type = with_type(dtype_of(impl), [&](auto number) {
    if (impl->numel() > 0 && !on_gpu) read_places<decltype(number)>(impl, now.places.data());
  });
  if (!is_known_type) return 0;
  now.version = version_of(impl);
  now.shape = shape_of(impl);
  now.step = digested_call->step;
  if (impl->unsafe_storage()) now.storage = impl->unsafe_storage().getWeakStorageImpl();
  const uint64_t key =
      mix(mix(key_of(impl), is_subclass(whole) ? cut : 0), owned.part ? owned.part->parameter : 0);
  const uint64_t elements = elements_key_of(impl);
  uint32_t same = 0;
  {
    const std::lock_guard<std::mutex> lock(digests->mutex);
    const uint32_t known = owned.is_gradient ? 0 : known_digest(key, now, impl);
    if (known != 0) return known;
    same = digest_of_elements(elements, now, impl);
  }
  // May take the GIL: before the lock.
  const bool has_name = owned.is_gradient || owned.part;
  const uint32_t parameter = has_name ? owned.parameter : name_of(whole, owned.is_weight);
  if (parameter != 0 && cut == 0) cut = cut_of_view(whole);
  now.base = base_of(impl);
  now.id = write_digest(impl, now, {parameter, cut, owned.is_gradient}, same);
  if (now.id == 0) return 0;
  const uint32_t id = now.id;
  const std::lock_guard<std::mutex> lock(digests->mutex);
  note_known(key, elements, std::move(now));
  return id;
}

// Each part of a flat tensor. A state's have no names of their own.
template <typename Take>
void digest_parts(const c10::TensorImpl* flat, const std::vector<FlatPartIds>& parts,
                  bool is_gradient, const Take& take) {
  const bool has_names = is_gradient || is_leaf(flat);
  for (const FlatPartIds& part : parts) {
    const Kept impl = part_of(flat, part);
    take(digest(impl.get(), {has_names ? part.parameter : 0, part.cut, is_gradient, &part}));
  }
}

// In an optimizer's op that is given flat tensors.
template <typename Take>
void digest_with_parts(const c10::TensorImpl* impl, const std::vector<FlatLayout>& layouts,
                       bool is_weight, const Take& take) {
  const FlatLayout layout = layouts.empty() ? nullptr : layout_of(impl);
  if (layout) return digest_parts(impl, *layout, /*is_gradient=*/false, take);
  take(digest(impl, {0, 0, false, nullptr, is_weight}));
}

// A state of an optimizer lies at the place of its flat parameter.
void note_layout_at(size_t place, const c10::TensorImpl* impl) {
  const auto& layouts = digested_call->layouts;
  if (place < layouts.size() && layouts[place] && !layout_of(impl))
    note_layout(impl, layouts[place]);
}

// What the optimizer is about to apply, once a step.
void digest_gradient(const c10::TensorImpl* weight) {
  if ((!is_plain(weight) && !is_subclass(weight)) || !is_leaf(weight)) return;
  const at::Tensor& gradient = weight->grad();
  if (!gradient.defined()) return;
  {
    const std::lock_guard<std::mutex> lock(digests->mutex);
    uint32_t& last = digests->gradients[weight];
    if (last == digested_call->step) return;
    last = digested_call->step;
  }
  const c10::TensorImpl* of = gradient.unsafeGetTensorImpl();
  if (const FlatLayout layout = layout_of(weight)) {
    note_layout(of, layout);
    if (layout_of(of)) digest_parts(of, *layout, /*is_gradient=*/true, [](uint32_t) {});
    return;
  }
  const uint32_t name = name_of(weight);
  if (name != 0) digest(of, {name, cut_of_view(weight), true});
}

// In an op on lists, and in one that has no lists, what stands at one place belongs together: a
// weight, its gradient and the optimizer's states of it.
void note_layouts(const Frame& frame, c10::ArrayRef<const c10::IValue> inputs) {
  std::vector<std::pair<size_t, const c10::TensorImpl*>> all;
  for (const Argument& argument : frame.op->tensors) {
    size_t place = 0;
    for_each_tensor(inputs[argument.index], [&](const c10::TensorImpl* impl) {
      all.emplace_back(place++, impl);
      if (FlatLayout layout = layout_of(impl)) {
        if (digested_call->layouts.size() < place) digested_call->layouts.resize(place);
        digested_call->layouts[place - 1] = std::move(layout);
      }
    });
  }
  for (const auto& [place, impl] : all) note_layout_at(place, impl);
}

void digest_all(const Frame& frame, c10::ArrayRef<const c10::IValue> inputs) {
  const bool is_step = digested_call->is_optimizer;
  if (collective_of(*frame.op) == Collective::kWaits) return;
  if (is_step) note_layouts(frame, inputs);
  for (const Argument& argument : frame.op->tensors) {
    const c10::IValue& given = inputs[argument.index];
    const bool is_none = given.isTensor() && !given.toTensor().defined();  // no weight, say
    if (is_none || is_room(*frame.op, argument)) continue;
    const auto role = static_cast<Role>(argument.role);
    const bool is_weight = role == Role::kWeight || role == Role::kBias;
    for_each_tensor(given, [&](const c10::TensorImpl* impl) {
      if (is_step) digest_gradient(impl);
      digest_with_parts(impl, digested_call->layouts, is_weight, [&](uint32_t id) {
        if (digested_call->operands.size() >= kMostTensors) return;
        if (id == 0 && is_subclass(impl))
          digested_call->awaited.emplace_back(digested_call->operands.size(), kept(impl));
        digested_call->operands.push_back(id);
      });
    });
  }
}

void keep_written(const Frame& frame, c10::ArrayRef<const c10::IValue> inputs) {
  if (frame.op->result_room > 0) return;
  for (const Argument& argument : frame.op->tensors) {
    if (!argument.is_written) continue;
    for_each_tensor(inputs[argument.index], [](const c10::TensorImpl* impl) {
      if (digested_call->written.size() < kMostTensors)
        digested_call->written.push_back(kept(impl));
    });
  }
}

void write_call(uint32_t signature, uint32_t step, const std::vector<uint32_t>& operands,
                const std::vector<Kept>& results, const std::vector<FlatLayout>& layouts) {
  std::vector<uint32_t> all = operands;
  for (const Kept& result : results) {
    const size_t first = all.size();
    digest_with_parts(result.get(), layouts, false, [&](uint32_t id) {
      if (all.size() - operands.size() < kMostTensors) all.push_back(id);
    });
    if (first < all.size()) note_written(result.get(), all[first]);
  }
  auto* entry = new_entry<trace::DigestedCallEntry>(trace::kEntryIsCall, 0,
                                                    all.size() * sizeof(uint32_t), step);
  if (!entry) return;
  entry->signature = signature;
  entry->operand_count = static_cast<uint16_t>(operands.size());
  entry->result_count = static_cast<uint16_t>(all.size() - operands.size());
  std::memcpy(entry + 1, all.data(), all.size() * sizeof(uint32_t));
  commit(entry->header);
}

// Takes no lock on a tensor while it holds ours: letting go of it may run the program's own code.
void write_if_launched(const c10::TensorImpl* impl) {
  if (!impl->unsafe_storage()) return;
  Launched done;
  {
    const std::lock_guard<std::mutex> lock(digests->mutex);
    auto& launched = digests->launched;
    const auto* storage = impl->unsafe_storage().unsafeGetStorageImpl();
    const auto at = std::find_if(launched.begin(), launched.end(), [&](const Launched& one) {
      return (one.thread == digested_call || !impl->device().is_cpu()) && one.writes(storage);
    });
    if (at == launched.end()) return;
    done = std::move(*at);
    launched.erase(at);
  }
  std::vector<Kept> results;
  for (const Launched::Result& result : done.results) results.push_back(result.tensor.lock());
  write_call(done.signature, done.step, done.operands, results, {});
}

// What was digested before is no more. Those whose results are gone were not read.
void note_launched(uint32_t signature, const std::vector<Kept>& results) {
  Launched begun{signature, digested_call->step, digested_call, digested_call->operands, {}};
  for (const Kept& result : results)
    if (result.defined() && result->unsafe_storage())
      begun.results.push_back({Launched::Result{decltype(Launched::Result::tensor)(result),
                                                result->unsafe_storage().getWeakStorageImpl()}});
  const std::lock_guard<std::mutex> lock(digests->mutex);
  for (auto at = digests->known.begin(); at != digests->known.end();) {
    const auto& storage = at->second.storage;
    at = storage && begun.writes(storage->_unsafe_get_target()) ? digests->known.erase(at)
                                                                : std::next(at);
  }
  auto& launched = digests->launched;
  launched.remove_if([](const Launched& one) {
    return std::all_of(one.results.begin(), one.results.end(),
                       [](const Launched::Result& result) { return result.tensor.expired(); });
  });
  if (launched.size() < kMostLaunched) launched.push_back(std::move(begun));
}

// Gloo copies what it received as the program waits.
bool ends_collective(const Frame& frame, c10::ArrayRef<const c10::IValue> inputs) {
  if (frame.op->name != "aten::copy_" || !inputs[0].isTensor()) return false;
  const c10::TensorImpl* to = inputs[0].unsafeToTensorImpl();
  if (!is_plain(to) || !to->unsafe_storage()) return false;
  const auto* storage = to->unsafe_storage().unsafeGetStorageImpl();
  const std::lock_guard<std::mutex> lock(digests->mutex);
  return std::any_of(digests->launched.begin(), digests->launched.end(),
                     [&](const Launched& one) { return one.writes(storage); });
}

void end_call(const Frame& frame, const std::vector<c10::IValue>& outputs) {
  for (const auto& [place, operand] : digested_call->awaited)
    digested_call->operands[place] = digest(operand.get());
  digested_call->awaited.clear();
  std::vector<Kept> results = std::move(digested_call->written);
  digested_call->written.clear();
  // Behind what it copies in is room for what others have.
  const size_t most = frame.op->name == "fsdp::all_gather_copy_in" ? 1 : kMostTensors;
  for (const c10::IValue& value : outputs)
    for_each_tensor(value, [&](const c10::TensorImpl* impl) {
      if (results.size() < most) results.push_back(kept(impl));
    });
  const bool is_one_each = results.size() == digested_call->layouts.size();
  for (size_t i = 0; is_one_each && i < results.size(); ++i) note_layout_at(i, results[i].get());
  if (collective_of(*frame.op) != Collective::kLaunches)
    return write_call(frame.signature->id, digested_call->step, digested_call->operands, results,
                      digested_call->layouts);
  note_launched(frame.signature->id, results);
}

}  // namespace

bool start_digests(const char* options) {
  std::string steps;
  if (!read_option(options, "values", &steps)) return false;
  *digest_steps = StepList(steps);
  return true;
}

bool digest_sums(const c10::TensorImpl* impl, DigestSums& sums) {
  if (!impl->device().is_cpu() || !is_digested(impl)) return false;
  return with_type(dtype_of(impl), [&](auto number) { sums = sums_of<decltype(number)>(impl); });
}

DigestSums digest_sums(uint8_t dtype, const char* data, int64_t count) {
  DigestSums sums;
  with_type(dtype, [&](auto number) {
    sums = sums_of(reinterpret_cast<const decltype(number)*>(data), count);
  });
  return sums;
}

void digest_operands(ThreadState* state, const Frame& frame,
                     c10::ArrayRef<const c10::IValue> inputs) {
  if (!digested_call) digested_call = new (std::nothrow) DigestedCall;
  if (!digested_call) return;
  digested_call->op = nullptr;
  const uint32_t step = tracer.current_step();
  if (!is_wanted(step) || frame.op->makes_garbage || is_of_collective()) return;
  if (collective_of(*frame.op) == Collective::kWraps) return;
  BusyScope busy(state);
  digested_call->step = step;
  digested_call->is_optimizer = frame.phase == static_cast<uint8_t>(Phase::kOptimizer);
  digested_call->layouts.clear();
  digested_call->operands.clear();
  digested_call->written.clear();
  digested_call->awaited.clear();
  try {
    if (ends_collective(frame, inputs)) return;
    digest_all(frame, inputs);
    keep_written(frame, inputs);
    digested_call->op = frame.record;
  } catch (const std::exception&) {  // memory is out: this call has none
  }
}

void digest_results(ThreadState* state, const Frame& frame,
                    const std::vector<c10::IValue>& outputs) {
  if (!digested_call || digested_call->op != frame.record) return;
  BusyScope busy(state);
  digested_call->op = nullptr;
  try {
    end_call(frame, outputs);
  } catch (const std::exception&) {  // as above
  }
}

void forget_digests() {
  digests = new Digests;  // the old one may have been locked by a thread that is no more
  forget_layouts();
  if (digested_call) digested_call->op = nullptr;
}

}  // namespace dtypecheck::tracer
