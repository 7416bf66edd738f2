// Cold, see writer.h: no formatting beyond the file's name, no exception, no iostream.
#include "trace/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "platform/hash.h"
#include "trace/checks.h"

namespace dtypecheck::trace {
namespace {

constexpr uint64_t kSmallestMapping = 4u << 20;  // where RLIMIT_AS allows no more
constexpr uint32_t kFirstStringPlaces = 1024;
constexpr int kNamesTried = 10000;
constexpr char kCutMark[] = "…";
constexpr uint32_t kCutMarkBytes = sizeof(kCutMark) - 1;

class Guard {
 public:
  explicit Guard(SpinLock& lock) : lock_(lock) { lock_.lock(); }
  ~Guard() { lock_.unlock(); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  SpinLock& lock_;
};

uint64_t rounded_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

int64_t unix_ns() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<int64_t>(now.tv_sec) * 1000000000 + now.tv_nsec;
}

const char* bytes_of(const StringRecord* record) {
  return reinterpret_cast<const char*>(record + 1);
}

// Writes the beginning of `text` and "…" to `to`, not splitting a UTF-8 character; returns the
// length.
uint32_t cut_text(const char* text, char (&to)[kMaxStringBytes]) {
  uint32_t length_bytes = kMaxStringBytes - kCutMarkBytes;
  const uint32_t earliest = length_bytes - 3;
  while (length_bytes > earliest &&
         (static_cast<unsigned char>(text[length_bytes]) & 0xc0) == 0x80) {
    --length_bytes;
  }
  memcpy(to, text, length_bytes);
  memcpy(to + length_bytes, kCutMark, kCutMarkBytes);
  return length_bytes + kCutMarkBytes;
}

bool exceeds_file_size_limit(uint64_t bytes) {
  rlimit limit;
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
         bytes > limit.rlim_cur;
}

int allocate(int fd, uint64_t bytes) {
  if (exceeds_file_size_limit(bytes)) return EFBIG;
  int error = EINTR;
  while (error == EINTR) error = posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  return error;
}

// A host's name as a part of a file name.
void copy_host(char* to, size_t room, const char* host) {
  size_t length = 0;
  for (; host[length] != '\0' && length + 1 < room; ++length) {
    const unsigned char c = static_cast<unsigned char>(host[length]);
    to[length] = c <= ' ' || c == '/' || c == 0x7f ? '_' : static_cast<char>(c);
  }
  to[length] = '\0';
}

bool has_id(RecordKind kind) {
  return kind == RecordKind::kString || kind == RecordKind::kLine || kind == RecordKind::kSite ||
         kind == RecordKind::kSignature || kind == RecordKind::kHealthRow;
}

}  // namespace

void SpinLock::lock() {
  for (int spins = 0; __atomic_test_and_set(&taken_, __ATOMIC_ACQUIRE); ++spins) {
    if (spins > 100) sched_yield();  // the holder may be growing the file, or not be running
  }
}

void SpinLock::unlock() { __atomic_clear(&taken_, __ATOMIC_RELEASE); }

int TraceFile::create(const char* folder, const char* host, int64_t pid, int32_t rank) {
  if (strlen(folder) >= kPathBytes) return ENAMETOOLONG;
  strcpy(folder_, folder);
  copy_host(host_, sizeof(host_), host);
  return create_file(pid, rank);
}

int TraceFile::create_file(int64_t pid, int32_t rank) {
  char rank_part[16] = "";
  if (rank >= 0) snprintf(rank_part, sizeof(rank_part), ".r%d", static_cast<int>(rank));
  int fd = -1;
  for (int n = 0; fd < 0 && n < kNamesTried; ++n) {
    char n_part[16] = "";
    if (n > 0) snprintf(n_part, sizeof(n_part), ".%d", n);
    const int length = snprintf(path_, sizeof(path_), "%s/%s.%lld%s%s.dtrace", folder_, host_,
                                static_cast<long long>(pid), n_part, rank_part);
    if (length < 0 || length >= static_cast<int>(sizeof(path_))) return ENAMETOOLONG;
    fd = open(path_, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 && errno != EEXIST && errno != EINTR) return errno;
  }
  if (fd < 0) return EEXIST;
  const int error = map_file(fd);
  ::close(fd);
  if (error != 0) {
    unlink(path_);
    return error;
  }
  fill_header(pid, rank);
  return 0;
}

int TraceFile::map_file(int fd) {
  struct stat status;
  if (fstat(fd, &status) != 0) return errno;
  if (const int error = allocate(fd, kGrowBytes)) return error;
  void* base = MAP_FAILED;
  uint64_t bytes = kMaxFileBytes;
  for (; base == MAP_FAILED && bytes >= kSmallestMapping; bytes /= 4) {
    base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (base != MAP_FAILED) mapped_bytes_ = bytes;
  }
  if (base == MAP_FAILED) return errno;
  header_ = static_cast<FileHeader*>(base);
  allocated_bytes_ = kGrowBytes;
  device_ = status.st_dev;
  inode_ = status.st_ino;
  owner_pid_ = getpid();
  return 0;
}

void TraceFile::fill_header(int64_t pid, int32_t rank) {
  FileHeader& header = *header_;
  header.endian = kEndianMark;
  header.version = kTraceVersion;
  header.header_bytes = kHeaderBytes;
  header.pid = pid;
  header.parent_pid = getppid();
  header.start_unix_ns = unix_ns();
  header.rank = rank;
  memcpy(header.host, host_, sizeof(header.host));
  __atomic_store_n(&header.used_bytes, uint64_t{kHeaderBytes}, __ATOMIC_RELEASE);
  memcpy(header.magic, kMagic, sizeof(kMagic));
  commit_header();
}

void TraceFile::commit_header() {
  __atomic_store_n(&header_->check, check_of(*header_), __ATOMIC_RELAXED);
}

void TraceFile::commit(RecordHeader& record) {
  record.check = check_of(reinterpret_cast<const char*>(&record));
  __atomic_store_n(&record.state, kCommitted, __ATOMIC_RELEASE);
}

int TraceFile::last_error() const { return __atomic_load_n(&last_error_, __ATOMIC_RELAXED); }

void* TraceFile::reserve(RecordKind kind, size_t size_bytes) {
  if (header_ == nullptr || size_bytes > kGrowBytes) return nullptr;
  const Guard guard(lock_);
  return reserve_locked(kind, static_cast<uint32_t>(rounded_up(size_bytes, 8)));
}

void* TraceFile::reserve_locked(RecordKind kind, uint32_t size_bytes) {
  const uint64_t begin = header_->used_bytes;
  const uint64_t end = begin + size_bytes;
  int error = is_finished_ ? ESHUTDOWN : 0;
  if (error == 0 && end > allocated_bytes_) error = grow_to(rounded_up(end, kGrowBytes));
  if (error != 0) {
    __atomic_store_n(&last_error_, error, __ATOMIC_RELAXED);
    return nullptr;
  }
  auto* record = reinterpret_cast<RecordHeader*>(reinterpret_cast<char*>(header_) + begin);
  record->kind = static_cast<uint16_t>(kind);
  if (has_id(kind))
    reinterpret_cast<StringRecord*>(record)->id = ++last_ids_[static_cast<int>(kind)];
  __atomic_store_n(&record->size_bytes, size_bytes, __ATOMIC_RELEASE);
  __atomic_store_n(&header_->records, header_->records + 1, __ATOMIC_RELAXED);
  __atomic_store_n(&header_->used_bytes, end, __ATOMIC_RELEASE);
  return record;
}

int TraceFile::grow_to(uint64_t bytes) {
  if (bytes > mapped_bytes_) return EFBIG;
  const int fd = open_again();
  if (fd < 0) return -fd;
  const int error = allocate(fd, bytes);
  ::close(fd);
  if (error == 0) allocated_bytes_ = bytes;
  return error;
}

// The file descriptor, or minus an errno number: the path may lead to another file by now.
int TraceFile::open_again() const {
  const int fd = open(path_, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return -errno;
  struct stat status;
  if (fstat(fd, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_) return fd;
  ::close(fd);
  return -ESTALE;
}

uint32_t TraceFile::intern(const char* text, size_t length_bytes) {
  if (header_ == nullptr || length_bytes == 0) return 0;
  if (length_bytes <= kMaxStringBytes)
    return intern_whole(text, static_cast<uint32_t>(length_bytes));
  char cut[kMaxStringBytes];
  const uint32_t cut_bytes = cut_text(text, cut);
  return intern_whole(cut, cut_bytes);
}

uint32_t TraceFile::intern_whole(const char* text, uint32_t length_bytes) {
  const uint64_t hash = fnv1a({text, length_bytes});
  const Guard guard(intern_lock_);
  if (!make_room_for_string()) return 0;
  InternedString* place = find_place(strings_, string_places_, hash, text, length_bytes);
  if (place->record != nullptr) return place->record->id;
  auto* record = reserve<StringRecord>(RecordKind::kString, length_bytes);
  if (record == nullptr) return 0;
  record->length_bytes = length_bytes;
  memcpy(record + 1, text, length_bytes);
  commit(record->header);
  *place = {hash, record};
  ++string_count_;
  return record->id;
}

// Where the text is, or the free place that it would take.
TraceFile::InternedString* TraceFile::find_place(InternedString* places, uint32_t place_count,
                                                 uint64_t hash, const char* text,
                                                 uint32_t length_bytes) {
  uint32_t index = static_cast<uint32_t>(hash ^ hash >> 32) & (place_count - 1);
  while (places[index].record != nullptr) {
    const InternedString& known = places[index];
    if (known.hash == hash && known.record->length_bytes == length_bytes &&
        memcmp(bytes_of(known.record), text, length_bytes) == 0) {
      break;
    }
    index = (index + 1) & (place_count - 1);
  }
  return &places[index];
}

// Keeps the table at most half full.
bool TraceFile::make_room_for_string() {
  if (string_count_ < string_places_ / 2) return true;
  const uint32_t place_count = string_places_ == 0 ? kFirstStringPlaces : string_places_ * 2;
  auto* places = static_cast<InternedString*>(calloc(place_count, sizeof(InternedString)));
  if (places == nullptr) return false;
  for (uint32_t i = 0; i < string_places_; ++i) {
    const InternedString& known = strings_[i];
    if (known.record == nullptr) continue;
    *find_place(places, place_count, known.hash, bytes_of(known.record),
                known.record->length_bytes) = known;
  }
  free(strings_);
  strings_ = places;
  string_places_ = place_count;
  return true;
}

int TraceFile::reopen_in_child() {
  if (header_ == nullptr) return EBADF;
  const FileHeader parent = *header_;
  if (const int error = leave_parents_file()) return error;
  // Whoever held the locks is not in this process.
  lock_ = SpinLock();
  intern_lock_ = SpinLock();
  forget_ids();
  if (const int error = create_file(getpid(), parent.rank)) return error;
  header_->flags = parent.flags;
  memcpy(header_->libtorch, parent.libtorch, sizeof(parent.libtorch));
  memcpy(header_->python, parent.python, sizeof(parent.python));
  commit_header();
  return 0;
}

void TraceFile::forget_ids() {
  memset(last_ids_, 0, sizeof(last_ids_));
  if (string_places_ != 0) memset(strings_, 0, string_places_ * sizeof(InternedString));
  string_count_ = 0;
  is_finished_ = false;
  last_error_ = 0;
}

int TraceFile::move_to(const char* folder) {
  if (header_ == nullptr) return EBADF;
  if (strlen(folder) >= kPathBytes) return ENAMETOOLONG;
  const Guard strings(intern_lock_), records(lock_);
  FileHeader* const before = header_;
  const FileHeader last = *before;
  const uint64_t last_mapped_bytes = mapped_bytes_;
  strcpy(folder_, folder);
  if (const int error = create_file(getpid(), last.rank)) return error;
  header_->flags = last.flags;
  memcpy(header_->libtorch, last.libtorch, sizeof(last.libtorch));
  memcpy(header_->python, last.python, sizeof(last.python));
  commit_header();
  forget_ids();
  leave_file(before, last.used_bytes, last_mapped_bytes);
  return 0;
}

// What was handed out stays readable, as zeros that nobody reads; the rest of the address space
// goes back, so that a program may do this for each of its thousand tests.
void TraceFile::leave_file(FileHeader* file, uint64_t used_bytes, uint64_t mapped_bytes) {
  const uint64_t kept_bytes = rounded_up(used_bytes, static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
  mmap(file, kept_bytes, PROT_READ | PROT_WRITE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (mapped_bytes > kept_bytes)
    munmap(reinterpret_cast<char*>(file) + kept_bytes, mapped_bytes - kept_bytes);
}

// Memory of our own takes the place of the mapping, so that pointers kept elsewhere stay harmless.
// It costs address space only.
int TraceFile::leave_parents_file() {
  void* base = mmap(header_, mapped_bytes_, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  header_ = nullptr;
  return base == MAP_FAILED ? errno : 0;
}

void TraceFile::finish(uint32_t end_state) {
  if (header_ == nullptr || getpid() != owner_pid_) return;
  const Guard guard(lock_);
  is_finished_ = true;
  const int fd = open_again();
  if (fd < 0 || !seal_file(fd, end_state)) {
    header_->end_unix_ns = unix_ns();
    header_->end_state = end_state;
  }
  if (fd < 0) return;
  if (ftruncate(fd, static_cast<off_t>(header_->used_bytes)) == 0)
    allocated_bytes_ = header_->used_bytes;
  ::close(fd);
}

// Threads may count on while a process ends. What they have the file mapped at becomes a copy of
// their own first, so that nothing changes behind its checksum.
bool TraceFile::seal_file(int fd, uint32_t end_state) {
  const uint64_t used_bytes = header_->used_bytes;
  void* file = mmap(nullptr, used_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (file == MAP_FAILED) return false;
  const bool is_copy = mmap(header_, mapped_bytes_, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED, fd, 0) != MAP_FAILED;
  if (is_copy) {
    auto* header = static_cast<FileHeader*>(file);
    char* bytes = static_cast<char*>(file);
    seal_records(bytes + kHeaderBytes, bytes + used_bytes);
    header->end_unix_ns = unix_ns();
    header->end_state = end_state;
    header->check = check_of(*header);
    __atomic_store_n(&header->seal, seal_of(*header), __ATOMIC_RELEASE);
  }
  munmap(file, used_bytes);
  return is_copy;
}

void TraceFile::resume() {
  if (header_ == nullptr || getpid() != owner_pid_) return;
  const Guard guard(lock_);
  const int fd = open_again();
  if (fd < 0) return;
  if (mmap(header_, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED,
           fd, 0) != MAP_FAILED) {
    header_->seal = 0;
    header_->end_unix_ns = 0;
    header_->end_state = 0;
    is_finished_ = false;
  }
  ::close(fd);
}

void TraceFile::close() {
  if (header_ != nullptr) munmap(header_, mapped_bytes_);
  free(strings_);
  *this = TraceFile();
}

}  // namespace dtypecheck::trace
