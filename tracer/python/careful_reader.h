// careful_reader.h: memory that may not be there is read through a pipe: a bad address then is an
// error, and not the end of the traced program.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include "tracer/python/python_api.h"

namespace dtypecheck::tracer::python {

class CarefulReader {
 public:
  CarefulReader() {
    if (pipe2(pipe_, O_CLOEXEC | O_NONBLOCK) != 0) pipe_[0] = pipe_[1] = -1;
  }
  ~CarefulReader() {
    if (pipe_[0] >= 0) close(pipe_[0]);
    if (pipe_[1] >= 0) close(pipe_[1]);
  }
  CarefulReader(const CarefulReader&) = delete;
  CarefulReader& operator=(const CarefulReader&) = delete;

  bool readable(const void* address, size_t size) const {
    char copy[512];
    return size <= sizeof copy && write(pipe_[1], address, size) == static_cast<ssize_t>(size) &&
           read(pipe_[0], copy, sizeof copy) == static_cast<ssize_t>(size);
  }
  bool readable_object(const Object* object, const Object* type) const {
    return readable(object, 64) && type_of(object) == type;
  }
  bool is_object(const Object* address) const {
    return readable(address, 16) && readable(type_of(address), 64) &&
           readable(type_of(type_of(address)), 64) && is_type(type_of(address));
  }

 private:
  int pipe_[2];
};

}  // namespace dtypecheck::tracer::python
