// flat_parameters.cpp: which parameters a FlatParameter of FullyShardedDataParallel is made of, and
// what this process holds of each. Its fields are torch's own and no promise (2.1 to 2.15 have
// them): where one is missing or not as expected, nothing is said.
#include <unordered_map>

#include "tracer/python/parameter_names.h"
#include "tracer/python/python_api.h"
#include "tracer/python/python_sites.h"
#include "tracer/python/tensors.h"
#include "tracer/python/text.h"

namespace dtypecheck::tracer::python {
namespace {

// A field of an object's own dictionary.
Ref field(Object* object, const char* name) {
  const Ref dict = object ? instance_dict(object) : Ref();
  return Ref::share(dict ? dict_item(dict.get(), name) : nullptr);
}

// Of a named tuple: neither its size nor its fields are the program's own code.
Ref named_item(Object* tuple, const char* name) {
  return is_instance(tuple, api.PyTuple_Type) ? attribute(tuple, name) : Ref();
}
long long named_number(Object* tuple, const char* name) {
  const Ref item = named_item(tuple, name);
  return as_integer(item.get(), -1);
}

// What this process holds of a parameter of `whole` elements; false where that cannot be.
bool read_shard(Object* shard, long long whole, bool is_in_order, FlatPart* part) {
  const Ref in_shard = named_item(shard, "in_shard");
  if (!in_shard || whole < 0) return false;
  part->cut = "Flat(" + std::to_string(whole) + ")";
  if (api.PyObject_IsTrue(in_shard.get()) != 1) return true;
  part->offset = named_number(shard, "offset_in_shard");
  part->count = named_number(shard, "numel_in_shard");
  const long long begin = named_number(shard, "intra_param_start_idx");
  if (part->offset < 0 || part->count < 0 || begin < 0 || begin + part->count > whole) return false;
  part->cut += "@" + std::to_string(begin) + "+" + std::to_string(part->count);
  if (!is_in_order) part->cut += " in the order of its strides";
  return true;
}

// The fields of a FlatParameter, by parameter; empty where they are not as expected.
struct FlatFields {
  explicit FlatFields(Object* flat)
      : infos(field(flat, "_param_infos")),
        shards(field(flat, "_shard_param_infos")),
        numels(field(flat, "_numels")),
        contiguities(field(flat, "_contiguities")),
        params(field(flat, "_params")),
        shared(field(flat, "_shared_param_infos")) {
    count = sequence_size(infos.get());
    if (sequence_size(shards.get()) != count || sequence_size(numels.get()) != count) count = 0;
  }

  bool read(std::ptrdiff_t i, FlatPart* part) const {
    const bool is_in_order = sequence_size(contiguities.get()) == count &&
                             api.PyObject_IsTrue(sequence_item(contiguities.get(), i)) == 1;
    return read_shard(sequence_item(shards.get(), i),
                      as_integer(sequence_item(numels.get(), i), -1), is_in_order, part);
  }

  Ref infos, shards, numels, contiguities, params, shared;
  std::ptrdiff_t count = 0;
};

// Names of what is in one tree: a parameter that several modules share has that of the first node.
class Names {
 public:
  explicit Names(const ParameterPlace& place) : place_(place) {
    for (size_t node = 0; node < place.tree->size(); ++node)
      nodes_.emplace((*place.tree)[node].module, node);
  }

  std::string name_of(Object* info, const FlatFields& fields) const {
    Best best;
    take(info, "module", "param_name", best);
    const Ref module = named_item(info, "module"), name = named_item(info, "param_name");
    for (std::ptrdiff_t i = 0; i < sequence_size(fields.shared.get()); ++i) {
      Object* shared = sequence_item(fields.shared.get(), i);
      const Ref prim_module = named_item(shared, "prim_module");
      const Ref prim_name = named_item(shared, "prim_param_name");
      if (prim_module.get() == module.get() && text_of(prim_name.get()) == text_of(name.get()))
        take(shared, "module", "param_name", best);
    }
    if (best.name.empty()) return std::string();
    return name_in_tree(*place_.root_name, *place_.tree, best.node, best.name);
  }

 private:
  struct Best {
    size_t node = ~size_t{0};
    std::string name;
  };

  void take(Object* info, const char* module_key, const char* name_key, Best& best) const {
    const Ref module = named_item(info, module_key), name = named_item(info, name_key);
    const auto found = nodes_.find(module.get());
    if (found == nodes_.end() || found->second >= best.node) return;
    best = {found->second, text_of(name.get())};
  }

  const ParameterPlace& place_;
  std::unordered_map<const Object*, size_t> nodes_;
};

std::vector<FlatPart> parts_of(const void* impl) {
  const ParameterPlace place = find_parameter(impl);
  if (!place.tree) return {};
  const FlatFields fields(const_cast<Object*>(place.tensor));
  if (fields.count == 0) return {};
  const Names names(place);
  std::vector<FlatPart> parts(static_cast<size_t>(fields.count));
  for (std::ptrdiff_t i = 0; i < fields.count; ++i) {
    FlatPart& part = parts[static_cast<size_t>(i)];
    part.name = names.name_of(sequence_item(fields.infos.get(), i), fields);
    if (part.name.empty() || !fields.read(i, &part)) return {};
  }
  return parts;
}

// The wrapper that flattened a parameter is the nearest above it that has it.
std::string cut_of(const void* impl) {
  const ParameterPlace place = find_parameter(impl);
  if (!place.tree) return std::string();
  for (int node = static_cast<int>(place.node); node >= 0;
       node = (*place.tree)[static_cast<size_t>(node)].parent) {
    const Ref handle = field((*place.tree)[static_cast<size_t>(node)].module, "_handle");
    const Ref flat = field(handle.get(), "flat_param");
    if (!is_tensor(flat.get())) continue;
    const FlatFields fields(flat.get());
    if (sequence_size(fields.params.get()) != fields.count) continue;
    for (std::ptrdiff_t i = 0; i < fields.count; ++i) {
      FlatPart part;
      if (sequence_item(fields.params.get(), i) == place.tensor && fields.read(i, &part))
        return part.cut;
    }
  }
  return std::string();
}

}  // namespace

std::vector<FlatPart> flat_parts(const void* impl) {
  return with_interpreter<std::vector<FlatPart>>([&] { return parts_of(impl); });
}

std::string flat_cut(const void* impl) {
  return with_interpreter<std::string>([&] { return cut_of(impl); });
}

}  // namespace dtypecheck::tracer::python
