// What trains a module: data, optimizers, files, devices.
#pragma once

#include <chrono>
#include <iterator>

namespace torch {
namespace serialize {
struct InputArchive {
  template <typename... Arguments>
  void read(Arguments&&... arguments);
  template <typename... Arguments>
  bool try_read(Arguments&&... arguments);
  template <typename... Arguments>
  void load_from(Arguments&&... arguments);
};
struct OutputArchive {
  template <typename... Arguments>
  void write(Arguments&&... arguments);
  void save_to(const std::string& file);
};
}  // namespace serialize
template <typename Value, typename... Arguments>
void save(const Value& value, Arguments&&... to);
template <typename Value, typename... Arguments>
void load(Value& value, Arguments&&... from);
std::vector<char> pickle_save(const IValue& value);
IValue pickle_load(const std::vector<char>& data);

namespace data {
template <typename Data = Tensor, typename Target = Tensor>
struct Example {
  using DataType = Data;
  using TargetType = Target;
  Example() = default;
  Example(Data data, Target target);
  Data data;
  Target target;
};
namespace example {
using NoTarget = void;
}
template <typename Data>
struct Example<Data, void> {
  using DataType = Data;
  Example() = default;
  Example(Data data);
  operator Data&();
  Data data;
};
using TensorExample = Example<Tensor, void>;

namespace transforms {
template <typename Input, typename Output>
struct BatchTransform {
  using InputBatchType = Input;
  using OutputBatchType = Output;
  virtual ~BatchTransform();
  virtual Output apply_batch(Input batch);
};
template <typename Input, typename Output>
struct Transform : BatchTransform<std::vector<Input>, std::vector<Output>> {
  using InputType = Input;
  using OutputType = Output;
  virtual Output apply(Input input);
};
template <typename Batch, typename Examples = std::vector<Example<>>>
struct Collation : BatchTransform<Examples, Batch> {};
template <typename Input, typename Output = Input>
struct Lambda : Transform<Input, Output> {
  explicit Lambda(std::function<Output(Input)> function);
};
template <typename Input, typename Output = Input>
struct BatchLambda : BatchTransform<Input, Output> {
  explicit BatchLambda(std::function<Output(Input)> function);
};
template <typename Target = Tensor>
struct TensorTransform : Transform<Example<Tensor, Target>, Example<Tensor, Target>> {
  virtual Tensor operator()(Tensor input);
};
template <typename Target = Tensor>
struct TensorLambda : TensorTransform<Target> {
  explicit TensorLambda(std::function<Tensor(Tensor)> function);
};
template <typename Target = Tensor>
struct Normalize : TensorTransform<Target> {
  Normalize(ArrayRef<double> mean, ArrayRef<double> stddev);
};
template <typename E = Example<>>
struct Stack : Collation<E, std::vector<E>> {};
}  // namespace transforms

namespace datasets {
template <typename D, typename T>
struct MapDataset;
template <typename Self, typename Batch, typename Request = ArrayRef<size_t>>
struct BatchDataset {
  using SelfType = Self;
  using BatchType = Batch;
  using BatchRequestType = Request;
  virtual ~BatchDataset();
  virtual Batch get_batch(Request request);
  virtual optional<size_t> size() const;
  template <typename T>
  MapDataset<Self, std::decay_t<T>> map(T&& transform) &;
  template <typename T>
  MapDataset<Self, std::decay_t<T>> map(T&& transform) &&;
};
template <typename Self, typename SingleExample = Example<>>
struct Dataset : BatchDataset<Self, std::vector<SingleExample>> {
  using ExampleType = SingleExample;
  virtual ExampleType get(size_t index);
};
template <typename Self, typename Batch = std::vector<Example<>>>
struct StreamDataset : BatchDataset<Self, Batch, size_t> {};
template <typename Self, typename Batch>
struct StatefulDataset : BatchDataset<Self, Batch, size_t> {
  virtual void reset();
};
template <typename D, typename T>
struct MapDataset : BatchDataset<MapDataset<D, T>, typename T::OutputBatchType> {
  using DatasetType = D;
  using TransformType = T;
  const D& dataset() const;
  const T& transform() const;
};
struct MNIST : Dataset<MNIST> {
  enum class Mode { kTrain, kTest };
  explicit MNIST(const std::string& root, Mode mode = Mode::kTrain);
  bool is_train() const;
  const Tensor& images() const;
  const Tensor& targets() const;
};
struct TensorDataset : Dataset<TensorDataset, TensorExample> {
  explicit TensorDataset(const std::vector<Tensor>& tensors);
  explicit TensorDataset(Tensor tensor);
  Tensor tensor;
};
template <typename D>
std::shared_ptr<D> make_shared_dataset(D dataset);
}  // namespace datasets
using datasets::BatchDataset;
using datasets::Dataset;
using datasets::StatefulDataset;
using datasets::StreamDataset;

namespace samplers {
template <typename Request = std::vector<size_t>>
struct Sampler {
  virtual ~Sampler();
  virtual void reset(optional<size_t> size);
  virtual optional<Request> next(size_t size);
};
#define DTYPECHECK_SAMPLER(name)                                  \
  struct name : Sampler<> {                                       \
    explicit name(size_t size = 0, const AnyArgument& a = {}, const AnyArgument& b = {}, \
                  const AnyArgument& c = {});                     \
    void set_epoch(size_t epoch);                                 \
  };
DTYPECHECK_SAMPLER(RandomSampler)
DTYPECHECK_SAMPLER(SequentialSampler)
DTYPECHECK_SAMPLER(StreamSampler)
DTYPECHECK_SAMPLER(DistributedRandomSampler)
DTYPECHECK_SAMPLER(DistributedSequentialSampler)
#undef DTYPECHECK_SAMPLER
}  // namespace samplers

struct DataLoaderOptions : nn::AnyOptions<DataLoaderOptions> {
  DataLoaderOptions(size_t batch_size = 1);
};
template <typename Batch>
struct Iterator {
  using iterator_category = std::input_iterator_tag;
  using difference_type = std::ptrdiff_t;
  using value_type = Batch;
  using pointer = Batch*;
  using reference = Batch&;
  Iterator& operator++();
  Iterator operator++(int);
  bool operator==(const Iterator& other) const;
  bool operator!=(const Iterator& other) const;
  Batch& operator*();
  Batch* operator->();
};
template <typename D, typename S = samplers::RandomSampler>
struct StatelessDataLoader {
  Iterator<typename D::BatchType> begin();
  Iterator<typename D::BatchType> end();
  void join();
  const DataLoaderOptions& options() const;
};
template <typename S = samplers::RandomSampler, typename D>
std::unique_ptr<StatelessDataLoader<D, S>> make_data_loader(D dataset, DataLoaderOptions options = {});
template <typename D, typename S, typename = std::enable_if_t<std::is_class_v<S>>>
std::unique_ptr<StatelessDataLoader<D, S>> make_data_loader(D dataset, S sampler,
                                                            DataLoaderOptions options = {});
}  // namespace data

namespace optim {
struct OptimizerOptions {
  virtual ~OptimizerOptions();
  virtual double get_lr() const;
  virtual void set_lr(double rate);
};
struct OptimizerParamGroup {
  OptimizerParamGroup(std::vector<Tensor> parameters);
  OptimizerParamGroup(std::vector<Tensor> parameters, std::unique_ptr<OptimizerOptions> options);
  bool has_options() const;
  OptimizerOptions& options() const;
  void set_options(std::unique_ptr<OptimizerOptions> options);
  std::vector<Tensor>& params() const;
};
struct Optimizer {
  using LossClosure = std::function<Tensor()>;
  virtual ~Optimizer();
  virtual Tensor step(LossClosure closure = nullptr);
  void zero_grad(bool set_to_none = true);
  void add_param_group(const OptimizerParamGroup& group);
  void add_parameters(const std::vector<Tensor>& parameters);
  const std::vector<Tensor>& parameters() const;
  std::vector<OptimizerParamGroup>& param_groups() const;
  OptimizerOptions& defaults();
  size_t size() const;
};
#define DTYPECHECK_OPTIMIZER(name)                                                           \
  struct name##Options : OptimizerOptions, nn::AnyOptions<name##Options> {                   \
    name##Options(double rate = 1e-3);                                                       \
  };                                                                                         \
  struct name : Optimizer {                                                                  \
    explicit name(std::vector<Tensor> parameters, name##Options options = {});               \
    explicit name(std::vector<OptimizerParamGroup> groups, name##Options options = {});      \
  };
DTYPECHECK_OPTIMIZER(Adagrad)
DTYPECHECK_OPTIMIZER(Adam)
DTYPECHECK_OPTIMIZER(AdamW)
DTYPECHECK_OPTIMIZER(LBFGS)
DTYPECHECK_OPTIMIZER(RMSprop)
DTYPECHECK_OPTIMIZER(SGD)
#undef DTYPECHECK_OPTIMIZER
struct LRScheduler {
  explicit LRScheduler(Optimizer& optimizer);
  virtual ~LRScheduler();
  void step();
  Optimizer& optimizer_;
  unsigned step_count_;

 protected:
  virtual std::vector<double> get_lrs() = 0;
  std::vector<double> get_current_lrs() const;
};
struct StepLR : LRScheduler {
  StepLR(Optimizer& optimizer, unsigned step_size, double gamma = 0.1);

 private:
  std::vector<double> get_lrs() override;
};
struct ReduceLROnPlateauScheduler {
  enum SchedulerMode { min, max };
  enum ThresholdMode { rel, abs };
  ReduceLROnPlateauScheduler(Optimizer& optimizer, const AnyArgument& a = {}, const AnyArgument& b = {},
                             const AnyArgument& c = {}, const AnyArgument& d = {},
                             const AnyArgument& e = {}, const AnyArgument& f = {},
                             const AnyArgument& g = {});
  void step(float metric);
};
}  // namespace optim

namespace autograd {
std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& grad_outputs = {}, const AnyArgument& retain = {},
                         bool create_graph = false, bool allow_unused = false);
void backward(const std::vector<Tensor>& tensors, const std::vector<Tensor>& grads = {},
              const AnyArgument& retain = {}, bool create_graph = false);
struct AnomalyMode {
  static void set_enabled(bool on, bool check_nan = true);
};
struct DetectAnomalyGuard {
  DetectAnomalyGuard(bool check_nan = true);
};
}  // namespace autograd

namespace cuda {
using namespace at::cuda;
bool cudnn_is_available();
void manual_seed(uint64_t seed);
void manual_seed_all(uint64_t seed);
void synchronize(int64_t device = -1);
}  // namespace cuda
namespace mps {
bool is_available();
}
namespace Reduction {
enum Reduction { None, Mean, Sum, END };
}
void manual_seed(uint64_t seed);
void set_num_threads(int count);
int get_num_threads();
void set_num_interop_threads(int count);
void set_default_dtype(caffe2::TypeMeta type);
caffe2::TypeMeta get_default_dtype();
bool hasCUDA();
void print(std::ostream& out, const Tensor& tensor, int64_t width);
}  // namespace torch
namespace at {
namespace Reduction = torch::Reduction;
}
#undef DTYPECHECK_OPTIONS_OF
