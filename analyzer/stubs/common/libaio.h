// libaio's types and calls, where its package is not installed.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <time.h>

typedef struct io_context* io_context_t;
struct iocb {
  void* data;
  struct {
    struct {
      void* buf;
      unsigned long nbytes;
      long long offset;
    } c;
  } u;
};
struct io_event {
  void* data;
  struct iocb* obj;
  unsigned long res, res2;
};
extern "C" {
int io_setup(int most, io_context_t* context);
int io_destroy(io_context_t context);
int io_submit(io_context_t context, long count, struct iocb** requests);
int io_getevents(io_context_t context, long least, long most, struct io_event* events,
                 struct timespec* timeout);
int io_pgetevents(io_context_t context, long least, long most, struct io_event* events,
                  struct timespec* timeout, void* signals);
int io_queue_init(int most, io_context_t* context);
int io_queue_release(io_context_t context);
}
void io_prep_pread(struct iocb* request, int file, void* to, size_t bytes, long long offset);
void io_prep_pwrite(struct iocb* request, int file, void* from, size_t bytes, long long offset);
