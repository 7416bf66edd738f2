// TorchScript programs from C++: what they are given and what they answer.
#pragma once

#include <map>
#include <string>
#include <unordered_map>

namespace c10 {
struct IValue;
template <typename Key, typename Value>
struct Dict {
  struct Entry {
    Key key() const;
    Value value() const;
  };
  Dict();
  const Value& at(const Key& key) const;
  template <typename K, typename V>
  void insert(K&& key, V&& value);
  template <typename K, typename V>
  void insert_or_assign(K&& key, V&& value);
  bool contains(const Key& key) const;
  Entry* begin() const;
  Entry* end() const;
  Entry* find(const Key& key) const;
  size_t size() const;
};
template <typename T>
struct List {
  List();
  void push_back(const T& one);
  T get(size_t position) const;
  T operator[](size_t position) const;
  std::vector<T> vec() const;
  size_t size() const;
  T* begin() const;
  T* end() const;
};
namespace ivalue {
struct Tuple {
  template <typename... Elements>
  static std::shared_ptr<Tuple> create(Elements&&... elements);
  const std::vector<IValue>& elements() const;
  size_t size() const;
};
}  // namespace ivalue
struct IValue {
  IValue();
  template <typename T>
  IValue(T&& value);
  at::Tensor toTensor() const;
  std::vector<at::Tensor> toTensorVector() const;
  List<at::Tensor> toTensorList() const;
  std::shared_ptr<ivalue::Tuple> toTuple() const;
  const ivalue::Tuple& toTupleRef() const;
  List<IValue> toList() const;
  ArrayRef<IValue> toListRef() const;
  Dict<IValue, IValue> toGenericDict() const;
  template <typename T>
  T to() const;
  template <typename T>
  intrusive_ptr<T> toCustomClass() const;
  double toDouble() const;
  int64_t toInt() const;
  bool toBool() const;
  const std::string& toStringRef() const;
  std::vector<int64_t> toIntVector() const;
  List<int64_t> toIntList() const;
  List<double> toDoubleList() const;
  List<bool> toBoolList() const;
  at::Scalar toScalar() const;
  at::Device toDevice() const;
  std::vector<double> toDoubleVector() const;
  bool isTensor() const;
  bool isTuple() const;
  bool isList() const;
  bool isTensorList() const;
  bool isGenericDict() const;
  bool isNone() const;
  bool isInt() const;
  bool isBool() const;
  bool isString() const;
  bool isScalar() const;
  bool isObject() const;
  bool isIntList() const;
  bool isDoubleList() const;
  bool isDouble() const;
  std::string tagKind() const;
};
}  // namespace c10

namespace torch {
using c10::Dict;
using c10::IValue;
using c10::List;
namespace jit {
using c10::IValue;
using torch::RegisterOperators;
using ExtraFilesMap = std::unordered_map<std::string, std::string>;
struct Method {
  template <typename... Arguments>
  IValue operator()(Arguments&&... arguments) const;
  IValue operator()(std::vector<IValue> inputs) const;
};
struct Module {
  IValue forward(std::vector<IValue> inputs);
  template <typename... Arguments>
  IValue operator()(Arguments&&... arguments);
  Method get_method(const std::string& name) const;
  template <typename... Arguments>
  IValue run_method(const std::string& name, Arguments&&... arguments);
  IValue attr(const std::string& name) const;
  template <typename Value>
  IValue attr(const std::string& name, Value&& otherwise) const;
  bool hasattr(const std::string& name) const;
  void setattr(const std::string& name, IValue value);
  void to(ScalarType type, bool non_blocking = false);
  void to(Device device, bool non_blocking = false);
  void to(Device device, ScalarType type, bool non_blocking = false);
  void train(bool on = true);
  void eval();
  bool is_training() const;
  void save(const std::string& file, const ExtraFilesMap& extra = {}) const;
  Module clone(bool inplace = false) const;
  Module deepcopy() const;
  std::vector<Tensor> parameters(bool recurse = true) const;
  std::vector<Tensor> buffers(bool recurse = true) const;
};
template <typename... Arguments>
Module load(Arguments&&... arguments);
template <typename... Arguments>
Module freeze(const Module& module, Arguments&&... arguments);
namespace script {
using jit::Module;
}
}  // namespace jit
}  // namespace torch
