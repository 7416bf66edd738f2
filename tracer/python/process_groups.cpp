// process_groups.cpp: whom a collective is with. The C++ object knows its size alone, and groups of
// one size are many: the ranks stand in two dictionaries of torch.distributed, by the Python object
// of the group, since torch 1.13.
#include <algorithm>
#include <vector>

#include "tracer/python/python_api.h"
#include "tracer/python/python_sites.h"
#include "tracer/python/text.h"

namespace dtypecheck::tracer::python {
namespace {

constexpr const char* kModule = "torch.distributed.distributed_c10d";

// Behind an object's header pybind11 has the address of what it wraps.
const void* wrapped(const Object* object) { return load<const void*>(object, 16); }

// The first entry that `fits`; nothing of a group's own is called, as a look-up would.
template <typename Fits>
Object* find_group(const char* dictionary, const Fits& fits) {
  for (const auto& [group, value] : Items(imported_item(kModule, dictionary)))
    if (fits(group, value)) return group;
  return nullptr;
}

std::string ranges_of(std::vector<long long> ranks) {
  std::sort(ranks.begin(), ranks.end());
  std::string text;
  for (size_t first = 0, last = 0; first < ranks.size(); first = ++last) {
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(ranks[first]);
    if (last > first) text += "-" + std::to_string(ranks[last]);
  }
  return text;
}

std::ptrdiff_t keys_count(Object* dictionary) {
  std::ptrdiff_t count = 0;
  for ([[maybe_unused]] const Item& item : Items(dictionary)) ++count;
  return count;
}

// Of {rank: its place in the group}.
std::string keys_of(Object* ranks) {
  std::vector<long long> all;
  for (const Item& rank : Items(ranks)) all.push_back(as_integer(rank.key, -1));
  return ranges_of(std::move(all));
}

template <typename Fits>
std::string ranks_where(const Fits& fits) {
  std::string ranks;
  find_group("_pg_group_ranks", [&](const Object* group, Object* value) {
    if (!fits(group)) return false;
    ranks = keys_of(value);
    return true;
  });
  return ranks;
}

// The group of all ranks is one that no other has more ranks than.
const Object* largest_group(long long* size) {
  const Object* largest = nullptr;
  find_group("_pg_group_ranks", [&](const Object* group, Object* ranks) {
    const auto count = static_cast<long long>(keys_count(ranks));
    if (count > *size) {
      largest = group;
      *size = count;
    }
    return false;
  });
  return largest;
}

// The ranks of "fake" and "threaded", which tests use, are no processes.
bool has_processes(const Object* group) {
  bool has = true;
  find_group("_pg_map", [&](const Object* each, Object* value) {
    const std::string backend = each == group ? text_of(sequence_item(value, 0)) : std::string();
    has = has && backend != "fake" && backend != "threaded";
    return false;
  });
  return has;
}

}  // namespace

World world() {
  World world;
  with_interpreter<std::string>([&] {
    long long size = 0;
    const Object* group = largest_group(&size);
    if (group == nullptr || !has_processes(group)) return std::string();
    // A function of C++, which looks at a number.
    const Ref ask = attribute(const_cast<Object*>(group), "rank");
    const Ref rank(ask ? api.PyObject_CallObject(ask.get(), nullptr) : nullptr);
    if (!rank) api.PyErr_Clear();
    const long long number = rank ? as_integer(rank.get(), -1) : -1;
    if (number >= 0 && number < size) world = {number, size};
    return std::string();
  });
  return world;
}

std::string ranks_of_group(const void* group) {
  if (group == nullptr) return std::string();
  return with_interpreter<std::string>(
      [&] { return ranks_where([&](const Object* each) { return wrapped(each) == group; }); });
}

std::string ranks_of_group(const std::string& name) {
  return with_interpreter<std::string>([&] {
    const Object* named = find_group(
        "_pg_names", [&](const Object*, Object* value) { return text_of(value) == name; });
    return named == nullptr ? std::string()
                            : ranks_where([&](const Object* each) { return each == named; });
  });
}

}  // namespace dtypecheck::tracer::python
