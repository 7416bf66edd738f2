// inject.h: has a running program call a function of stage 1 by itself, at its next op.
//
// A debugger that stops a thread anywhere and calls dlopen() in it may wait for ever: the thread
// may hold the allocator's or the loader's lock. So nothing is called in a stopped thread. One
// thread is stopped for some microseconds to make two pages of memory and to change one pointer,
// the slot through which LibTorch asks at the start of each op who watches it. The program's own
// thread comes there when it is between two ops, holds no such lock, and loads the library: that is
// the place where a program that was started under `dtypecheck trace` loads its tracer, too.
// Whatever becomes of this tool meanwhile, the program goes on.
#pragma once

#include <string>
#include <vector>

#include "tracer/attach/running_process.h"
#include "tracer/attach/stub.h"

namespace dtypecheck::attaching {

class Injection {
 public:
  // `library` and `function` of it, an offset from where it is loaded; where `address` is not 0 the
  // function is there already. At most four arguments, texts. Throws InputError where the process
  // does not let itself be stopped, in which case nothing has changed.
  Injection(const RunningProcess& process, const std::string& library, uint64_t offset,
            uint64_t address, const std::vector<std::string>& arguments);

  // How far it is; the state stays where the process has ended.
  StubState state();
  int result() const { return static_cast<int>(data_.result); }  // once it has returned
  // LibTorch calls what it called before. Does nothing where somebody else took the slot.
  void take_back();

 private:
  const RunningProcess process_;
  uint64_t page_ = 0;  // in the process: the code, and behind it the data
  StubData data_{};
};

}  // namespace dtypecheck::attaching
