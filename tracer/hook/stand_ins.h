// stand_ins.h: tensors of the CPU that stand for tensors on a GPU, as those were when an op ran.
//
// The numbers are copied without a wait (gpu_samples.h). What is to be done with them is done when
// they have arrived, in the order in which it was asked for. A stand-in is kept for as long as
// something is known of its tensor, so that the next op call finds it again.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tracer/hook/gpu_samples.h"
#include "tracer/hook/torch_compat.h"

namespace dtypecheck::tracer {

// Elements of a storage.
struct Extent {
  int64_t begin, count;
};

constexpr int64_t kMostStored = 1 << 16;  // elements

// What a tensor has of its storage; of a small one all of it, so that other views of it are in it.
Extent extent_of(const at::Tensor& tensor);
const char* first_of(const at::Tensor& tensor, Extent extent);

// It may be copied now and here: of a pretended GPU's tensors those that have values.
bool can_be_copied(const c10::TensorImpl* impl);

// Tensors on one GPU as they are now.
class Snapshot {
 public:
  // A tensor of the CPU with its sizes, strides and dtype, the numbers of which come with the copy;
  // undefined where the tensor is too long, or on another device than the others.
  at::Tensor add(const at::Tensor& on_gpu, bool keep);

  // False where the copy is left out.
  bool copy();

  // Before what is done with it.
  void arrive();
  bool is_there() const;
  bool is_lost() const;  // it will not come

  // On the GPU, and what stands for each.
  const std::vector<const c10::StorageImpl*>& storages() const { return storages_; }
  const at::Tensor& flat(size_t i) const { return flat_[i]; }

 private:
  struct Arrival {
    std::vector<std::vector<char>> parts;
    std::atomic<bool> is_there{false};
  };
  int device_ = -1;
  std::vector<GpuPart> parts_;
  std::vector<at::Tensor> flat_;  // one a part
  std::vector<const c10::StorageImpl*> storages_;
  std::shared_ptr<Arrival> arrival_ = std::make_shared<Arrival>();
};

// All of these under the lock of the shadows (shadows.cpp), the only one who uses them.

bool has_stand_in(const at::Tensor& on_gpu);
at::Tensor stand_in_of(const at::Tensor& on_gpu);  // as it was last; undefined where there is none
void forget_stand_in(const c10::StorageImpl* on_gpu);
void forget_dead_stand_ins();  // of tensors that are no more

// `act` is called by do_arrived() when the snapshot and all before it are there; with null it waits
// for those before it alone. What is lost is left out.
void do_later(std::shared_ptr<Snapshot> snapshot, std::function<void()> act);
void do_arrived();
bool is_more_to_do();  // hot, and asked without the lock

void forget_stand_ins();  // all, and what was to be done

}  // namespace dtypecheck::tracer
