// The front end: modules, their options and functional forms, initialization.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace torch {
using c10::AnyArgument;

// A number, or one for each dimension.
template <size_t dimensions, typename T = int64_t>
struct ExpandingArray {
  ExpandingArray(T one);
  ExpandingArray(ArrayRef<T> all);
  ExpandingArray(std::vector<T> all);
  ExpandingArray(std::initializer_list<T> all);
  ExpandingArray(std::array<T, dimensions> all);
  std::array<T, dimensions>& operator*();
  std::array<T, dimensions>* operator->();
  T& operator[](size_t at) const;
  size_t size() const;
  operator ArrayRef<T>() const;
};

template <typename Key, typename Value>
struct OrderedDict {
  struct Item {
    const Key& key() const;
    Value& value() const;
    Value* operator->() const;
    Value& operator*() const;
    const Key& first;
    Value& second;
  };
  OrderedDict();
  OrderedDict(std::initializer_list<std::pair<Key, Value>> items);
  Value& operator[](const Key& key) const;
  Item& operator[](size_t position) const;
  Value* find(const Key& key) const;
  bool contains(const Key& key) const;
  Value& insert(Key key, Value value);
  std::vector<Key> keys() const;
  std::vector<Value> values() const;
  std::vector<Item> items() const;
  std::vector<std::pair<Key, Value>> pairs() const;
  size_t size() const;
  bool is_empty() const;
  Item* begin() const;
  Item* end() const;
};

// What names an activation, a reduction, a mode of padding or of interpolation.
namespace enumtype {
#define DTYPECHECK_ENUM(X)                                                                      \
  X(Linear) X(Conv1D) X(Conv2D) X(Conv3D) X(ConvTranspose1D) X(ConvTranspose2D)                 \
  X(ConvTranspose3D) X(Sigmoid) X(Tanh) X(ReLU) X(GELU) X(SiLU) X(Mish) X(LeakyReLU) X(FanIn)   \
  X(FanOut) X(Constant) X(Reflect) X(Replicate) X(Circular) X(Nearest) X(Bilinear) X(Bicubic)   \
  X(Trilinear) X(Area) X(NearestExact) X(Sum) X(Mean) X(Max) X(None) X(BatchMean) X(Zeros)      \
  X(Border) X(Reflection) X(RNN_TANH) X(RNN_RELU) X(LSTM) X(GRU) X(Valid) X(Same)
#define DTYPECHECK_NAME(name) struct k##name {};
DTYPECHECK_ENUM(DTYPECHECK_NAME)
#undef DTYPECHECK_NAME
}  // namespace enumtype
#define DTYPECHECK_NAME(name) constexpr enumtype::k##name k##name;
DTYPECHECK_ENUM(DTYPECHECK_NAME)
#undef DTYPECHECK_NAME
#undef DTYPECHECK_ENUM

namespace serialize {
struct InputArchive;
struct OutputArchive;
}  // namespace serialize

namespace nn {
struct Module : std::enable_shared_from_this<Module> {
  explicit Module(std::string name);
  Module();
  virtual ~Module();
  const std::string& name() const;
  virtual void to(Device device, ScalarType type, bool non_blocking = false);
  virtual void to(ScalarType type, bool non_blocking = false);
  virtual void to(Device device, bool non_blocking = false);
  virtual void train(bool on = true);
  void eval();
  virtual bool is_training() const noexcept;
  virtual void zero_grad(bool set_to_none = true);
  virtual void save(serialize::OutputArchive& archive) const;
  virtual void load(serialize::InputArchive& archive);
  virtual void pretty_print(std::ostream& stream) const;
  virtual bool is_serializable() const;
  virtual void reset();
  virtual std::shared_ptr<Module> clone(const optional<Device>& device = nullopt) const;
  template <typename F>
  void apply(const F& function, const std::string& prefix = "");
  std::vector<Tensor> parameters(bool recurse = true) const;
  OrderedDict<std::string, Tensor> named_parameters(bool recurse = true) const;
  std::vector<Tensor> buffers(bool recurse = true) const;
  OrderedDict<std::string, Tensor> named_buffers(bool recurse = true) const;
  std::vector<std::shared_ptr<Module>> modules(bool self = true) const;
  OrderedDict<std::string, std::shared_ptr<Module>> named_modules(
      const std::string& prefix = "", bool self = true) const;
  std::vector<std::shared_ptr<Module>> children() const;
  OrderedDict<std::string, std::shared_ptr<Module>> named_children() const;
  template <typename T>
  T register_module(std::string name, T module);
  template <typename T>
  T replace_module(const std::string& name, T module);
  void unregister_module(const std::string& name);
  Tensor& register_parameter(std::string name, Tensor tensor, bool requires_grad = true);
  Tensor& register_buffer(std::string name, Tensor tensor);
  template <typename T>
  typename T::ContainedType* as() noexcept;
  template <typename T>
  const typename T::ContainedType* as() const noexcept;
  template <typename T, typename = std::enable_if_t<std::is_base_of_v<Module, T>>>
  T* as() noexcept;
  template <typename T, typename = std::enable_if_t<std::is_base_of_v<Module, T>>>
  const T* as() const noexcept;
};
std::ostream& operator<<(std::ostream& stream, const Module& module);
template <typename Derived>
struct Cloneable : virtual Module {
  using Module::Module;
};

template <typename Impl>
struct ModuleHolder {
  using ContainedType = Impl;
  ModuleHolder();
  ModuleHolder(std::nullptr_t);
  ModuleHolder(std::shared_ptr<Impl> module);
  template <typename First, typename... More,
            typename = std::enable_if_t<!std::is_base_of_v<ModuleHolder, std::decay_t<First>>>>
  explicit ModuleHolder(First&& first, More&&... more);
  explicit operator bool() const noexcept;
  Impl* operator->();
  const Impl* operator->() const;
  Impl& operator*();
  const Impl& operator*() const;
  const std::shared_ptr<Impl>& ptr() const;
  Impl* get();
  const Impl* get() const;
  bool is_empty() const noexcept;
  template <typename... Arguments, typename Module = Impl>
  auto operator()(Arguments&&... arguments)
      -> decltype(std::declval<Module&>().forward(std::forward<Arguments>(arguments)...));
  template <typename Position, typename Module = Impl>
  auto operator[](Position&& position) -> decltype(std::declval<Module&>()[position]);
};
template <typename Impl>
std::ostream& operator<<(std::ostream& stream, const ModuleHolder<Impl>& module);
template <typename Impl>
serialize::OutputArchive& operator<<(serialize::OutputArchive& to, const ModuleHolder<Impl>& module);
template <typename Impl>
serialize::InputArchive& operator>>(serialize::InputArchive& from, ModuleHolder<Impl>& module);

struct AnyModule {
  AnyModule();
  template <typename M>
  AnyModule(const M& module);
  template <typename T = Tensor, typename... Arguments>
  T forward(Arguments&&... arguments);
  template <typename T>
  T& get();
  std::shared_ptr<Module> ptr() const;
};

// Each option of any module: what it is set to does not matter here, and what is asked for is a
// number.
#define DTYPECHECK_EACH_OPTION(X)                                                                \
  X(in_channels) X(out_channels) X(kernel_size) X(stride) X(padding) X(output_padding)           \
  X(dilation) X(groups) X(bias) X(padding_mode) X(transposed) X(in_features) X(out_features)     \
  X(in1_features) X(in2_features) X(num_features) X(num_groups) X(num_channels) X(eps)           \
  X(momentum) X(affine) X(track_running_stats) X(normalized_shape) X(elementwise_affine)         \
  X(num_embeddings) X(embedding_dim) X(padding_idx) X(max_norm) X(norm_type)                     \
  X(scale_grad_by_freq) X(sparse) X(mode) X(include_last_offset) X(_weight) X(p) X(inplace)      \
  X(input_size) X(hidden_size) X(num_layers) X(batch_first) X(dropout) X(bidirectional)          \
  X(proj_size) X(nonlinearity) X(num_chunks) X(negative_slope) X(alpha) X(beta) X(lambda)        \
  X(lower) X(upper) X(min_val) X(max_val) X(dim) X(start_dim) X(end_dim) X(num_parameters)       \
  X(init) X(threshold) X(value) X(approximate) X(output_size) X(ceil_mode)                       \
  X(count_include_pad) X(divisor_override) X(return_indices) X(size) X(scale_factor)             \
  X(align_corners) X(recompute_scale_factor) X(antialias) X(upscale_factor) X(downscale_factor)  \
  X(weight) X(reduction) X(ignore_index) X(label_smoothing) X(pos_weight) X(log_target)          \
  X(margin) X(delta) X(blank) X(zero_infinity) X(log_input) X(full) X(swap) X(keepdim)           \
  X(embed_dim) X(num_heads) X(add_bias_kv) X(add_zero_attn) X(kdim) X(vdim) X(d_model) X(nhead)  \
  X(dim_feedforward) X(activation) X(norm) X(num_encoder_layers) X(num_decoder_layers)           \
  X(custom_encoder) X(custom_decoder) X(encoder_layer) X(decoder_layer) X(unflattened_size)      \
  X(cutoffs) X(div_value) X(head_bias) X(k) X(freeze) X(training) X(pad) X(running_mean)         \
  X(running_var) X(output_ratio) X(q) X(lr) X(betas) X(weight_decay) X(amsgrad) X(dampening)     \
  X(nesterov) X(lr_decay) X(initial_accumulator_value) X(max_iter) X(max_eval)                   \
  X(tolerance_grad) X(tolerance_change) X(history_size) X(line_search_fn) X(centered)            \
  X(batch_size) X(workers) X(max_jobs) X(timeout) X(enforce_ordering) X(drop_last)               \
  X(prefetcher_threads) X(preloader_count) X(cache_size)
template <typename Self>
struct AnyOptions {
  AnyOptions();
#define DTYPECHECK_OPTION(name)             \
  Self& name(const AnyArgument& value);     \
  int64_t& name() const;
  DTYPECHECK_EACH_OPTION(DTYPECHECK_OPTION)
#undef DTYPECHECK_OPTION
};
#undef DTYPECHECK_EACH_OPTION
// Those of one kind of module: an instance of a template, which costs nothing until it is used.
template <typename Kind>
struct OptionsOf : AnyOptions<OptionsOf<Kind>> {
  OptionsOf(const AnyArgument& a = {}, const AnyArgument& b = {}, const AnyArgument& c = {},
            const AnyArgument& d = {}, const AnyArgument& e = {}, const AnyArgument& f = {},
            const AnyArgument& g = {});
  // MaxPool2dOptions({2, 2}) is no copy of one.
  OptionsOf(std::initializer_list<AnyArgument> a, const AnyArgument& b = {},
            const AnyArgument& c = {});
};
#define DTYPECHECK_OPTIONS_OF(name) using name = OptionsOf<struct name##Kind>;
DTYPECHECK_OPTIONS_OF(BatchNormOptions)
DTYPECHECK_OPTIONS_OF(InstanceNormOptions)
// ConvOptions<2> is Conv2dOptions.
#define DTYPECHECK_OPTIONS_IN(name)                                                  \
  template <size_t dimensions>                                                       \
  using name##Options = OptionsOf<std::conditional_t<                                \
      dimensions == 1, struct name##1dOptionsKind,                                   \
      std::conditional_t<dimensions == 2, struct name##2dOptionsKind, struct name##3dOptionsKind>>>;
DTYPECHECK_OPTIONS_IN(Conv)
DTYPECHECK_OPTIONS_IN(ConvTranspose)
DTYPECHECK_OPTIONS_IN(MaxPool)
DTYPECHECK_OPTIONS_IN(AvgPool)
#undef DTYPECHECK_OPTIONS_IN

// A module of these fields with a forward() of its own.
#define DTYPECHECK_MODULE_OF(name, ...)                                                       \
  DTYPECHECK_OPTIONS_OF(name##Options)                                                        \
  struct name##Impl : Cloneable<name##Impl> {                                                 \
    explicit name##Impl(const AnyArgument& a = {}, const AnyArgument& b = {},                 \
                        const AnyArgument& c = {}, const AnyArgument& d = {});                \
    name##Options& options;                                                                   \
    __VA_ARGS__                                                                               \
  };                                                                                          \
  struct name : ModuleHolder<name##Impl> {                                                    \
    using Impl = name##Impl;                                                                  \
    name(std::nullptr_t);                                                                     \
    name(std::shared_ptr<name##Impl> module);                                                 \
    explicit name(const name##Options& options);                                              \
    explicit name(std::initializer_list<AnyArgument> options);                                \
    explicit name(const AnyArgument& a = {}, const AnyArgument& b = {},                       \
                  const AnyArgument& c = {}, const AnyArgument& d = {});                      \
    static name from_pretrained(const Tensor& embeddings, const AnyArgument& options = {});   \
  };

#define DTYPECHECK_EACH_OF_ONE(X)                                                             \
  X(Linear) X(Conv1d) X(Conv2d) X(Conv3d) X(LayerNorm) X(GroupNorm) X(BatchNorm1d)            \
  X(BatchNorm2d) X(BatchNorm3d) X(InstanceNorm1d) X(InstanceNorm2d) X(InstanceNorm3d)         \
  X(Embedding) X(PReLU) X(ConvTranspose1d) X(ConvTranspose2d) X(ConvTranspose3d)
#define DTYPECHECK_MODULE(name)                                                               \
  DTYPECHECK_MODULE_OF(name, Tensor weight, bias, running_mean, running_var;                  \
                       Tensor forward(const Tensor& input, const AnyArgument& output_size = {}); \
                       void reset_parameters();)
DTYPECHECK_EACH_OF_ONE(DTYPECHECK_MODULE)
#undef DTYPECHECK_MODULE
#undef DTYPECHECK_EACH_OF_ONE

// Without parameters.
#define DTYPECHECK_MODULE(name)                                                            \
  DTYPECHECK_MODULE_OF(name, Tensor forward(const Tensor& input);                            \
                       std::tuple<Tensor, Tensor> forward_with_indices(const Tensor& input);)
#define DTYPECHECK_EACH_WITHOUT(X)                                                              \
  X(Identity) X(Dropout) X(Dropout2d) X(Dropout3d) X(AlphaDropout) X(FeatureAlphaDropout)       \
  X(ReLU) X(ReLU6) X(RReLU) X(ELU) X(CELU) X(SELU) X(GELU) X(GLU) X(SiLU) X(Mish) X(Sigmoid)    \
  X(Tanh) X(Tanhshrink) X(Softmax) X(Softmax2d) X(Softmin) X(LogSoftmax) X(LogSigmoid)          \
  X(Softplus) X(Softshrink) X(Softsign) X(Hardshrink) X(Hardtanh) X(LeakyReLU) X(Threshold)     \
  X(Flatten) X(Unflatten) X(MaxPool1d) X(MaxPool2d) X(MaxPool3d) X(AvgPool1d) X(AvgPool2d)      \
  X(AvgPool3d) X(AdaptiveMaxPool1d) X(AdaptiveMaxPool2d) X(AdaptiveMaxPool3d)                   \
  X(AdaptiveAvgPool1d) X(AdaptiveAvgPool2d) X(AdaptiveAvgPool3d) X(LPPool1d) X(LPPool2d)        \
  X(FractionalMaxPool2d) X(FractionalMaxPool3d) X(ReflectionPad1d) X(ReflectionPad2d)           \
  X(ReflectionPad3d) X(ReplicationPad1d) X(ReplicationPad2d) X(ReplicationPad3d) X(ZeroPad1d)   \
  X(ZeroPad2d) X(ZeroPad3d) X(ConstantPad1d) X(ConstantPad2d) X(ConstantPad3d) X(PixelShuffle)  \
  X(PixelUnshuffle) X(Upsample) X(Fold) X(Unfold) X(LocalResponseNorm) X(CrossMapLRN2d)
DTYPECHECK_EACH_WITHOUT(DTYPECHECK_MODULE)
#undef DTYPECHECK_MODULE
#undef DTYPECHECK_EACH_WITHOUT

#define DTYPECHECK_MODULE(name) \
  DTYPECHECK_MODULE_OF(name, Tensor weight; Tensor forward(const Tensor& input, const Tensor& target);)
#define DTYPECHECK_EACH_LOSS(X)                                                                \
  X(L1Loss) X(MSELoss) X(BCELoss) X(BCEWithLogitsLoss) X(NLLLoss) X(CrossEntropyLoss)          \
  X(KLDivLoss) X(SmoothL1Loss) X(HuberLoss) X(HingeEmbeddingLoss) X(MultiMarginLoss)           \
  X(MultiLabelMarginLoss) X(SoftMarginLoss) X(MultiLabelSoftMarginLoss) X(PoissonNLLLoss)
DTYPECHECK_EACH_LOSS(DTYPECHECK_MODULE)
#undef DTYPECHECK_MODULE
#undef DTYPECHECK_EACH_LOSS
DTYPECHECK_MODULE_OF(CosineEmbeddingLoss, Tensor forward(const Tensor& a, const Tensor& b, const Tensor& target);)
DTYPECHECK_MODULE_OF(MarginRankingLoss, Tensor forward(const Tensor& a, const Tensor& b, const Tensor& target);)
DTYPECHECK_MODULE_OF(TripletMarginLoss, Tensor forward(const Tensor& a, const Tensor& b, const Tensor& c);)
DTYPECHECK_MODULE_OF(CTCLoss, Tensor forward(const Tensor& log_probs, const Tensor& targets,
                                             const Tensor& input_lengths, const Tensor& target_lengths);)

DTYPECHECK_MODULE_OF(Bilinear, Tensor weight, bias; Tensor forward(const Tensor& a, const Tensor& b);)
#define DTYPECHECK_MODULE(name)                                                            \
  DTYPECHECK_MODULE_OF(name, Tensor forward(const Tensor& input, const Tensor& indices,      \
                                            const AnyArgument& output_size = {});)
DTYPECHECK_MODULE(MaxUnpool1d)
DTYPECHECK_MODULE(MaxUnpool2d)
DTYPECHECK_MODULE(MaxUnpool3d)
#undef DTYPECHECK_MODULE
DTYPECHECK_MODULE_OF(CosineSimilarity, Tensor forward(const Tensor& a, const Tensor& b);)
DTYPECHECK_MODULE_OF(PairwiseDistance, Tensor forward(const Tensor& a, const Tensor& b);)
DTYPECHECK_MODULE_OF(EmbeddingBag, Tensor weight;
                     Tensor forward(const Tensor& input, const Tensor& offsets = {},
                                    const Tensor& per_sample_weights = {});)
DTYPECHECK_MODULE_OF(MultiheadAttention, Tensor in_proj_weight, in_proj_bias; Linear out_proj{nullptr};
                     std::tuple<Tensor, Tensor> forward(
                         const Tensor& query, const Tensor& key, const Tensor& value,
                         const Tensor& key_padding_mask = {}, bool need_weights = true,
                         const Tensor& attn_mask = {}, bool average_attn_weights = true);)
DTYPECHECK_MODULE_OF(TransformerEncoderLayer,
                     Tensor forward(const Tensor& src, const Tensor& src_mask = {},
                                    const Tensor& src_key_padding_mask = {});)
DTYPECHECK_MODULE_OF(TransformerEncoder,
                     Tensor forward(const Tensor& src, const Tensor& src_mask = {},
                                    const Tensor& src_key_padding_mask = {});)
DTYPECHECK_MODULE_OF(TransformerDecoderLayer,
                     Tensor forward(Tensor tgt, const Tensor& memory, const Tensor& tgt_mask = {},
                                    const Tensor& memory_mask = {}, const Tensor& tgt_key_padding_mask = {},
                                    const Tensor& memory_key_padding_mask = {});)
DTYPECHECK_MODULE_OF(TransformerDecoder,
                     Tensor forward(const Tensor& tgt, const Tensor& memory, const Tensor& tgt_mask = {},
                                    const Tensor& memory_mask = {}, const Tensor& tgt_key_padding_mask = {},
                                    const Tensor& memory_key_padding_mask = {});)
DTYPECHECK_MODULE_OF(Transformer, AnyModule encoder, decoder;
                     Tensor forward(const Tensor& src, const Tensor& tgt, const Tensor& src_mask = {},
                                    const Tensor& tgt_mask = {}, const Tensor& memory_mask = {},
                                    const Tensor& src_key_padding_mask = {},
                                    const Tensor& tgt_key_padding_mask = {},
                                    const Tensor& memory_key_padding_mask = {});)

DTYPECHECK_MODULE_OF(RNN, void flatten_parameters(); std::vector<Tensor> all_weights() const;
                     std::tuple<Tensor, Tensor> forward(const Tensor& input, Tensor hx = {});)
DTYPECHECK_MODULE_OF(GRU, void flatten_parameters(); std::vector<Tensor> all_weights() const;
                     std::tuple<Tensor, Tensor> forward(const Tensor& input, Tensor hx = {});)
DTYPECHECK_MODULE_OF(LSTM, void flatten_parameters(); std::vector<Tensor> all_weights() const;
                     std::tuple<Tensor, std::tuple<Tensor, Tensor>> forward(
                         const Tensor& input, optional<std::tuple<Tensor, Tensor>> hx_opt = {});)
DTYPECHECK_MODULE_OF(RNNCell, Tensor weight_ih, weight_hh, bias_ih, bias_hh;
                     Tensor forward(const Tensor& input, const Tensor& hx = {});)
DTYPECHECK_MODULE_OF(GRUCell, Tensor weight_ih, weight_hh, bias_ih, bias_hh;
                     Tensor forward(const Tensor& input, const Tensor& hx = {});)
DTYPECHECK_MODULE_OF(LSTMCell, Tensor weight_ih, weight_hh, bias_ih, bias_hh;
                     std::tuple<Tensor, Tensor> forward(const Tensor& input,
                                                        optional<std::tuple<Tensor, Tensor>> hx_opt = {});)
DTYPECHECK_OPTIONS_OF(EmbeddingFromPretrainedOptions)

struct NamedAnyModule {
  template <typename M>
  NamedAnyModule(std::string name, const M& module);
  AnyModule& module();
};
struct SequentialImpl : Cloneable<SequentialImpl> {
  SequentialImpl();
  template <typename... Modules>
  explicit SequentialImpl(Modules&&... modules);
  SequentialImpl(std::initializer_list<NamedAnyModule> modules);
  template <typename T = Tensor, typename... Arguments>
  T forward(Arguments&&... arguments);
  template <typename M>
  void push_back(std::string name, M&& module);
  template <typename M>
  void push_back(M&& module);
  template <typename All>
  void extend(const All& modules);
  template <typename T>
  T& at(size_t position);
  std::shared_ptr<Module> ptr(size_t position) const;
  std::shared_ptr<Module> operator[](size_t position) const;
  size_t size() const noexcept;
  bool is_empty() const noexcept;
  AnyModule* begin() const;
  AnyModule* end() const;
};
struct Sequential : ModuleHolder<SequentialImpl> {
  using Impl = SequentialImpl;
  Sequential(std::nullptr_t);
  Sequential(std::shared_ptr<SequentialImpl> module);
  Sequential();
  template <typename First, typename... Modules,
            typename = std::enable_if_t<!std::is_base_of_v<Sequential, std::decay_t<First>>>>
  explicit Sequential(First&& first, Modules&&... modules);
  Sequential(std::initializer_list<NamedAnyModule> modules);
};
struct ModuleListImpl : Cloneable<ModuleListImpl> {
  ModuleListImpl();
  template <typename... Modules>
  explicit ModuleListImpl(Modules&&... modules);
  template <typename M>
  void push_back(M&& module);
  template <typename All>
  void extend(const All& modules);
  template <typename T>
  T& at(size_t position);
  std::shared_ptr<Module> ptr(size_t position) const;
  template <typename T>
  std::shared_ptr<T> ptr(size_t position) const;
  std::shared_ptr<Module> operator[](size_t position) const;
  size_t size() const noexcept;
  bool is_empty() const noexcept;
  std::shared_ptr<Module>* begin() const;
  std::shared_ptr<Module>* end() const;
};
struct ModuleList : ModuleHolder<ModuleListImpl> {
  using Impl = ModuleListImpl;
  using ModuleHolder<ModuleListImpl>::ModuleHolder;
  ModuleList();
};
struct ModuleDictImpl : Cloneable<ModuleDictImpl> {
  ModuleDictImpl();
  template <typename All>
  void update(const All& modules);
  template <typename T>
  T& at(const std::string& name);
  std::shared_ptr<Module> operator[](const std::string& name) const;
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> items() const;
  bool contains(const std::string& name) const;
  size_t size() const noexcept;
};
struct ModuleDict : ModuleHolder<ModuleDictImpl> {
  using Impl = ModuleDictImpl;
  using ModuleHolder<ModuleDictImpl>::ModuleHolder;
  ModuleDict();
};
struct ParameterListImpl : Cloneable<ParameterListImpl> {
  ParameterListImpl();
  void append(Tensor parameter);
  Tensor& operator[](size_t position);
  size_t size() const noexcept;
  Tensor* begin() const;
  Tensor* end() const;
};
struct ParameterList : ModuleHolder<ParameterListImpl> {
  using ModuleHolder<ParameterListImpl>::ModuleHolder;
  ParameterList();
};
struct FunctionalImpl : Cloneable<FunctionalImpl> {
  template <typename F, typename... Arguments>
  explicit FunctionalImpl(F&& function, Arguments&&... arguments);
  Tensor forward(Tensor input);
};
struct Functional : ModuleHolder<FunctionalImpl> {
  template <typename F, typename... Arguments>
  explicit Functional(F&& function, Arguments&&... arguments);
  // What names several functions, each of which may be meant.
  explicit Functional(Tensor (*function)(const Tensor&), const AnyArgument& a = {},
                      const AnyArgument& b = {}, const AnyArgument& c = {});
};

#define TORCH_MODULE_IMPL(name, Implementation)                                        \
  struct name : torch::nn::ModuleHolder<Implementation> {                              \
    using torch::nn::ModuleHolder<Implementation>::ModuleHolder;                       \
    using Impl = Implementation;                                                       \
    name(std::nullptr_t);                                                              \
    name(std::shared_ptr<Implementation> module);                                      \
    name();                                                                            \
  }
#define TORCH_MODULE(name) TORCH_MODULE_IMPL(name, name##Impl)

namespace init {
enum class NonlinearityType {};
#define DTYPECHECK_INIT(name) \
  Tensor name(Tensor tensor, const AnyArgument& a = {}, const AnyArgument& b = {}, const AnyArgument& c = {});
DTYPECHECK_INIT(constant_)
DTYPECHECK_INIT(dirac_)
DTYPECHECK_INIT(eye_)
DTYPECHECK_INIT(normal_)
DTYPECHECK_INIT(ones_)
DTYPECHECK_INIT(orthogonal_)
DTYPECHECK_INIT(sparse_)
DTYPECHECK_INIT(uniform_)
DTYPECHECK_INIT(kaiming_normal_)
DTYPECHECK_INIT(kaiming_uniform_)
DTYPECHECK_INIT(xavier_normal_)
DTYPECHECK_INIT(xavier_uniform_)
DTYPECHECK_INIT(zeros_)
#undef DTYPECHECK_INIT
double calculate_gain(const AnyArgument& nonlinearity, double param = 0.01);
}  // namespace init

namespace utils {
double clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm, double norm_type = 2,
                       bool error_if_nonfinite = false);
double clip_grad_norm_(Tensor parameter, double max_norm, double norm_type = 2);
void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value);
Tensor parameters_to_vector(const std::vector<Tensor>& parameters);
void vector_to_parameters(const Tensor& vec, const std::vector<Tensor>& parameters);
namespace rnn {
struct PackedSequence {
  const Tensor& data() const;
  const Tensor& batch_sizes() const;
};
PackedSequence pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first = false,
                                    bool enforce_sorted = true);
std::tuple<Tensor, Tensor> pad_packed_sequence(PackedSequence sequence, bool batch_first = false,
                                               double padding_value = 0);
Tensor pad_sequence(ArrayRef<Tensor> sequences, bool batch_first = false, double padding_value = 0);
}  // namespace rnn
}  // namespace utils

namespace functional {
#define DTYPECHECK_EACH_FUNCTIONAL(X)                                                           \
  X(adaptive_avg_pool1d, AdaptiveAvgPool1d) X(adaptive_avg_pool2d, AdaptiveAvgPool2d)           \
  X(adaptive_avg_pool3d, AdaptiveAvgPool3d) X(adaptive_max_pool1d, AdaptiveMaxPool1d)           \
  X(adaptive_max_pool2d, AdaptiveMaxPool2d) X(alpha_dropout, AlphaDropout)                      \
  X(avg_pool1d, AvgPool1d) X(avg_pool2d, AvgPool2d) X(avg_pool3d, AvgPool3d) X(celu, CELU)      \
  X(dropout, Dropout) X(dropout2d, Dropout2d) X(dropout3d, Dropout3d) X(elu, ELU)               \
  X(fold, Fold) X(gelu, GELU) X(glu, GLU) X(hardshrink, Hardshrink) X(hardtanh, Hardtanh)       \
  X(instance_norm, InstanceNorm) X(interpolate, Interpolate) X(leaky_relu, LeakyReLU)           \
  X(local_response_norm, LocalResponseNorm) X(log_softmax, LogSoftmax)                          \
  X(logsigmoid, LogSigmoid) X(max_pool1d, MaxPool1d) X(max_pool2d, MaxPool2d)                   \
  X(max_pool3d, MaxPool3d) X(mish, Mish) X(normalize, Normalize) X(pad, Pad)                    \
  X(pixel_shuffle, PixelShuffle) X(pixel_unshuffle, PixelUnshuffle) X(relu, ReLU)               \
  X(relu6, ReLU6) X(rrelu, RReLU) X(selu, SELU) X(silu, SiLU) X(softmax, Softmax)               \
  X(softmin, Softmin) X(softplus, Softplus) X(softshrink, Softshrink) X(softsign, Softsign)     \
  X(tanhshrink, Tanhshrink) X(threshold, Threshold) X(unfold, Unfold)
#define DTYPECHECK_FUNCTIONAL(name, options)                     \
  DTYPECHECK_OPTIONS_OF(options##FuncOptions)                    \
  Tensor name(const Tensor& input, const AnyArgument& a = {}, const AnyArgument& b = {}, \
              const AnyArgument& c = {});
DTYPECHECK_EACH_FUNCTIONAL(DTYPECHECK_FUNCTIONAL)
#undef DTYPECHECK_FUNCTIONAL
#undef DTYPECHECK_EACH_FUNCTIONAL
#define DTYPECHECK_FUNCTIONAL(name, options)                                                  \
  DTYPECHECK_OPTIONS_OF(options##FuncOptions)                                                 \
  Tensor name(const Tensor& input, const Tensor& weight, const Tensor& bias,                  \
              const AnyArgument& options = {});                                               \
  Tensor name(const Tensor& input, const Tensor& weight, const AnyArgument& options = {});
DTYPECHECK_FUNCTIONAL(conv1d, Conv1d)
DTYPECHECK_FUNCTIONAL(conv2d, Conv2d)
DTYPECHECK_FUNCTIONAL(conv3d, Conv3d)
DTYPECHECK_FUNCTIONAL(conv_transpose1d, ConvTranspose1d)
DTYPECHECK_FUNCTIONAL(conv_transpose2d, ConvTranspose2d)
DTYPECHECK_FUNCTIONAL(conv_transpose3d, ConvTranspose3d)
DTYPECHECK_FUNCTIONAL(linear, Linear)
#undef DTYPECHECK_FUNCTIONAL
#define DTYPECHECK_FUNCTIONAL(name, options)                 \
  DTYPECHECK_OPTIONS_OF(options##FuncOptions)                \
  Tensor name(const Tensor& input, const Tensor& target, const AnyArgument& options = {});
DTYPECHECK_FUNCTIONAL(binary_cross_entropy, BinaryCrossEntropy)
DTYPECHECK_FUNCTIONAL(binary_cross_entropy_with_logits, BinaryCrossEntropyWithLogits)
DTYPECHECK_FUNCTIONAL(cross_entropy, CrossEntropy)
DTYPECHECK_FUNCTIONAL(huber_loss, HuberLoss)
DTYPECHECK_FUNCTIONAL(kl_div, KLDiv)
DTYPECHECK_FUNCTIONAL(l1_loss, L1Loss)
DTYPECHECK_FUNCTIONAL(mse_loss, MSELoss)
DTYPECHECK_FUNCTIONAL(multi_margin_loss, MultiMarginLoss)
DTYPECHECK_FUNCTIONAL(multilabel_soft_margin_loss, MultilabelSoftMarginLoss)
DTYPECHECK_FUNCTIONAL(nll_loss, NLLLoss)
DTYPECHECK_FUNCTIONAL(poisson_nll_loss, PoissonNLLLoss)
DTYPECHECK_FUNCTIONAL(smooth_l1_loss, SmoothL1Loss)
DTYPECHECK_FUNCTIONAL(soft_margin_loss, SoftMarginLoss)
#undef DTYPECHECK_FUNCTIONAL
DTYPECHECK_OPTIONS_OF(GridSampleFuncOptions)
DTYPECHECK_OPTIONS_OF(BatchNormFuncOptions)
DTYPECHECK_OPTIONS_OF(LayerNormFuncOptions)
DTYPECHECK_OPTIONS_OF(GroupNormFuncOptions)
DTYPECHECK_OPTIONS_OF(EmbeddingFuncOptions)
DTYPECHECK_OPTIONS_OF(CosineSimilarityFuncOptions)
Tensor grid_sample(const Tensor& input, const Tensor& grid, const AnyArgument& options = {});
Tensor affine_grid(const Tensor& theta, IntArrayRef size, bool align_corners = false);
Tensor batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
                  const AnyArgument& options = {});
Tensor layer_norm(const Tensor& input, const AnyArgument& options);
Tensor group_norm(const Tensor& input, const AnyArgument& options);
Tensor embedding(const Tensor& input, const Tensor& weight, const AnyArgument& options = {});
Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, const AnyArgument& options = {});
Tensor one_hot(const Tensor& tensor, int64_t num_classes = -1);
Tensor tanh(const Tensor& input);
Tensor sigmoid(const Tensor& input);
}  // namespace functional
#undef DTYPECHECK_MODULE_OF
}  // namespace nn
}  // namespace torch
