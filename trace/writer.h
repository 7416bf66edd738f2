// writer.h: the trace file of this process, written through a shared mapping (format.h has the
// bytes). For what is seen for the first time: reserve() and intern() take a lock, commit()
// computes a checksum; none of them formats or throws.
//
// It runs inside the traced program, so it never aborts and prints nothing. What goes wrong comes
// back as an errno number, after which reserve() gives null: the caller drops that record and
// counts it. No file descriptor is kept open, because programs that become daemons close what they
// do not know, and the number would then belong to a file of theirs: the file is opened by its path
// for the moment in which it grows, and only grows when it is still the same inode. RLIMIT_FSIZE is
// obeyed beforehand, as growing beyond it would raise SIGXFSZ in the traced program.
//
// C++17, either C++ ABI, the C library alone.
#pragma once

#include "trace/format.h"

namespace dtypecheck::trace {

class SpinLock {
 public:
  void lock();
  void unlock();

 private:
  bool taken_ = false;
};

// For static storage: needs no constructor at run time, and has no destructor, as threads may go on
// writing during exit().
class TraceFile {
 public:
  // Makes "<folder>/<host>.<pid>[.<n>][.r<rank>].dtrace", mode 0600, n = 1, 2, … when the name is
  // taken, and fills in the header's constant fields, pid, parent, host, rank and start. rank -1:
  // none. 0, or why not, as an errno number; then there is no file.
  int create(const char* folder, const char* host, int64_t pid, int32_t rank);

  // Lives in the mapping: store counters there. Null before create(), and after it failed.
  FileHeader* header() const { return header_; }
  const char* path() const { return path_; }
  // Why reserve() gave null the last time: ENOSPC, EFBIG (kMaxFileBytes or RLIMIT_FSIZE), ENOENT,
  // ESTALE, ESHUTDOWN …
  int last_error() const;

  // Room for a record of `size_bytes` (rounded up to a multiple of 8): zeros, but for the header,
  // which is filled in, and the id of strings, lines, sites and signatures, which is stored where
  // their structs have it. Thread-safe.
  void* reserve(RecordKind kind, size_t size_bytes);
  template <typename Record>
  Record* reserve(RecordKind kind, size_t bytes_behind = 0) {
    return static_cast<Record*>(reserve(kind, sizeof(Record) + bytes_behind));
  }

  // To be called once the record is filled in; from then on readers see it. What format.h says of
  // may change later.
  static void commit(RecordHeader& record);

  // To be called once the header's constant fields are filled in: the versions and the flags.
  void commit_header();

  // The id of the string record with this text, which is written when there is none yet; 0 for no
  // text and when there is no room. Longer than kMaxStringBytes: cut. Thread-safe.
  uint32_t intern(const char* text, size_t length_bytes);

  // In a forked child, while it has one thread: the child goes on with a file of its own, whose
  // header takes over the versions and flags, and ids start again. Pointers into the parent's file
  // then lead to memory that nobody reads: harmless, but to be forgotten. 0 or an errno number.
  int reopen_in_child();

  // After finish(): from now on a file of its own in `folder`, with the same versions and flags;
  // ids start again. Pointers into the file before lead to memory that nobody reads. 0, or an errno
  // number: then there is no room for anything, as before. Other threads may read and count
  // meanwhile.
  int move_to(const char* folder);

  // Notes how the process ends, seals what was recorded and gives back the room beyond the last
  // record. Does nothing in a vfork()ed child. There will be no new records; what is stored in old
  // ones from now on does not reach the file. Where the file cannot be opened again (its folder was
  // moved) it stays unsealed.
  void finish(uint32_t end_state);
  // Takes finish() back: exec() failed and the program goes on. Where the file cannot be opened
  // again there is no room for anything any more.
  void resume();
  // Unmaps the file and frees what it took, for tests: nobody may hold a pointer into it any more.
  void close();

 private:
  struct InternedString {
    uint64_t hash;
    StringRecord* record;  // null: a free place
  };

  int create_file(int64_t pid, int32_t rank);
  int map_file(int fd);
  void fill_header(int64_t pid, int32_t rank);
  int grow_to(uint64_t bytes);
  int open_again() const;
  void* reserve_locked(RecordKind kind, uint32_t size_bytes);
  uint32_t intern_whole(const char* text, uint32_t length_bytes);
  static InternedString* find_place(InternedString* places, uint32_t place_count, uint64_t hash,
                                    const char* text, uint32_t length_bytes);
  bool make_room_for_string();
  int leave_parents_file();
  void forget_ids();
  bool seal_file(int fd, uint32_t end_state);
  static void leave_file(FileHeader* file, uint64_t used_bytes, uint64_t mapped_bytes);

  static constexpr uint32_t kPathBytes = 4096;
  static constexpr int kKindCount = static_cast<int>(RecordKind::kEnd);

  FileHeader* header_ = nullptr;  // where the file is mapped
  uint64_t mapped_bytes_ = 0;     // address space, most of it beyond the file's end
  uint64_t allocated_bytes_ = 0;  // of the file
  uint64_t device_ = 0, inode_ = 0;
  int64_t owner_pid_ = 0;  // getpid(), whatever create() was given
  SpinLock lock_;          // guards growth, used_bytes, ids and is_finished_
  bool is_finished_ = false;
  int last_error_ = 0;
  uint32_t last_ids_[kKindCount] = {};
  SpinLock intern_lock_;  // guards the table; taken before lock_
  InternedString* strings_ = nullptr;
  uint32_t string_places_ = 0;  // a power of two
  uint32_t string_count_ = 0;
  char folder_[kPathBytes] = {};
  char host_[64] = {};
  char path_[kPathBytes] = {};
};

}  // namespace dtypecheck::trace
