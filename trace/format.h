// format.h: every record of a trace file, byte by byte.
//
// One process writes one file, "<host>.<pid>[.<n>][.r<rank>].dtrace", through a MAP_SHARED mapping,
// so that what was stored survives SIGKILL, abort and the OOM killer without a flush. The file
// grows in chunks that are really allocated (posix_fallocate), so a full disk is an error code and
// not a SIGBUS in the traced program.
//
//   0                    kHeaderBytes                                     FileHeader::used_bytes
//   +--------------------+---------+---------+-----------+ … +-----------+------------------+
//   | FileHeader         | Record  | Record  | Record    |   | Record    | zeros to the end |
//   +--------------------+---------+---------+-----------+ … +-----------+------------------+
//
// A record is reserved by advancing used_bytes after its size_bytes was written, filled in, and
// then committed by storing RecordHeader::state = kCommitted with release order. A reader skips
// what is not committed by its size and stops at the first size that cannot be: 0, no multiple of
// 8, or past the end of the file. It trusts nothing else either: ids that were not defined, counts
// that do not fit their record and numbers outside an enum are damage, and damage costs one record.
//
// Checksums are CRC-32C (checks.h). RecordHeader::check is of what never changes in a record, and
// stands there when it is committed; FileHeader::check is the same of the header. The rest,
// counters and what the first call returned, is sealed when the process ends: RecordHeader::seal,
// and FileHeader::seal last. So no bit of a trace whose process ended can change unnoticed, and of
// one that was killed none but those of counters, results and digests.
//
// All numbers are little-endian. Ids are per file, start at 1 and are dense per kind; 0 means none.
// Strings are UTF-8 by intention and any bytes in fact. Counters inside SignatureRecord go on
// changing after it was committed.
//
// This header is read by the tracer (C++17, either C++ ABI) and by the reader, so it holds plain
// structs alone.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace dtypecheck::trace {

// Raised by each change of this file, which states the difference here.
//  1: the first.
//  2: FileHeader::autocast_sites, where there were reserved zeros.
//  3: SignatureRecord::follows, where there was a reserved 0.
//  4: GpuWorkRecord.
//  5: LineRecord::address of a Python line, where there was a 0.
//  6: kFlagMerged; ProcessRecord, ProcessFactRecord and MadeByRecord.
//  7: CastCounters behind a signature that is a cast; OpTimeRecord and GpuTimeRecord;
//     kSignatureServed and kFlagFix.
//  8: GroupRecord.
//  9: RecordHeader::check and seal; FileHeader::records, check and seal; the members of
//     SignatureRecord stand in another order; kAbandoned; NonFiniteRecord::order, and further
//     flags.
// 10: CastCounters::looked, clipped and flushed; kNonFiniteIsRead and kNonFiniteIsAnswer.
// 11: InexactRecord::arrival, arrived_at and off.
// 12: DigestRecord and CallDigestsRecord; kFlagValues.
// 13: HealthRowRecord and HealthSampleRecord; kFlagHealth.
// 14: InexactRecord::rounded_at.
// 15: Arrival::kProduct; DigestRecord::cut.
// 16: DigestPageRecord, where there were DigestRecord and CallDigestsRecord.
// 17: DigestPageRecord::step, where each call had it; kDigestHasNotFinite; ThrowRecord::caller.
constexpr uint32_t kTraceVersion = 17;

constexpr char kMagic[8] = {'D', 'T', 'Y', 'P', 'E', 'T', 'R', 'C'};
constexpr uint32_t kEndianMark = 0x01020304;
constexpr uint32_t kHeaderBytes = 272;
// The mapping; a tracer that reaches its end records no further signature.
constexpr uint32_t kMaxFileBytes = 256u << 20;
constexpr uint32_t kGrowBytes = 128u << 10;  // what is allocated at a time
constexpr uint32_t kMaxStringBytes = 8192;   // longer ones are cut, and end in "…"
// Further ones are left out; OperandRecord::list_size tells.
constexpr uint32_t kMaxOperands = 32;
constexpr uint32_t kMaxResults = 8;
constexpr uint32_t kMaxScalars = 8;
constexpr uint32_t kMaxDims = 5;

struct FileHeader {
  char magic[8];             //   0
  uint32_t endian;           //   8  kEndianMark
  uint32_t version;          //  12  kTraceVersion
  uint32_t header_bytes;     //  16  kHeaderBytes
  uint32_t end_state;        //  20  EndState: 0 running or killed, 1 exited, 2 replaced by exec
  uint64_t used_bytes;       //  24  where the next record goes, from the start of the file
  int64_t pid;               //  32
  int64_t parent_pid;        //  40
  int64_t start_unix_ns;     //  48
  int64_t end_unix_ns;       //  56  0 while running
  uint64_t events;           //  64  dispatcher events seen, dropped ones included
  uint64_t steps;            //  72  optimizer steps, or backward passes without any
  uint64_t steps_traced;     //  80  fewer than steps with --steady
  uint64_t signatures_lost;  //  88  op calls of signatures whose record found no room
  int32_t rank;              //  96  -1: none
  uint32_t flags;            // 100  kFlag…
  char host[64];             // 104  zero-terminated
  char libtorch[24];         // 168  "2.11.0"
  char python[16];           // 192  "3.11.7", empty in a C++ program
  // Sites at which autocast regions were entered, in the order they were first seen; 0: none.
  // SignatureRecord::autocast counts them from 1.
  uint32_t autocast_sites[12];  // 208
  uint64_t records;             // 256  that were reserved
  uint32_t check;               // 264  checksum of bytes 0 to 19, 32 to 55 and 96 to 207
  uint32_t seal;                // 268  checksum of all before; 0 until the process ended
};
static_assert(sizeof(FileHeader) == kHeaderBytes, "the header's layout is part of the format");

constexpr uint32_t kMaxAutocastSites = 12;

constexpr uint32_t kFlagValuesChecked = 1u << 0;  // --check-values was on
constexpr uint32_t kFlagKeepGoing = 1u << 1;      // results of this run are not valid
// dtypecheck merge made it of the traces of many processes, equal op calls stored once. What the
// header says of a process means nothing then.
constexpr uint32_t kFlagMerged = 1u << 2;
constexpr uint32_t kFlagFix = 1u << 3;     // --fix was on
constexpr uint32_t kFlagValues = 1u << 4;  // --values was on
constexpr uint32_t kFlagHealth = 1u << 5;  // --health was on

// Every kind of record, from 1 on, with its struct below.
#define DTYPECHECK_RECORDS(RECORD)        \
  RECORD(kString, StringRecord)           \
  RECORD(kLine, LineRecord)               \
  RECORD(kSite, SiteRecord)               \
  RECORD(kSignature, SignatureRecord)     \
  RECORD(kThrow, ThrowRecord)             \
  RECORD(kFact, FactRecord)               \
  RECORD(kMapping, MappingRecord)         \
  RECORD(kInexact, InexactRecord)         \
  RECORD(kNonFinite, NonFiniteRecord)     \
  RECORD(kGpuWork, GpuWorkRecord)         \
  RECORD(kProcess, ProcessRecord)         \
  RECORD(kProcessFact, ProcessFactRecord) \
  RECORD(kMadeBy, MadeByRecord)           \
  RECORD(kOpTime, OpTimeRecord)           \
  RECORD(kGpuTime, GpuTimeRecord)         \
  RECORD(kGroup, GroupRecord)             \
  RECORD(kDigestPage, DigestPageRecord)   \
  RECORD(kHealthRow, HealthRowRecord)     \
  RECORD(kHealthSample, HealthSampleRecord)

enum class RecordKind : uint16_t {
  kNone,
#define RECORD(kind, type) kind,
  DTYPECHECK_RECORDS(RECORD)
#undef RECORD
      kEnd
};

constexpr uint16_t kReserved = 0;  // RecordHeader::state while it is being filled in
constexpr uint16_t kCommitted = 1;
constexpr uint16_t kAbandoned = 0xa5a6;  // the process ended before it was filled in

// Every record begins so.
//   0        4      6       8       12     16
//   | size   | kind | state | check | seal | …
struct RecordHeader {
  uint32_t size_bytes;  // of the whole record, a multiple of 8
  uint16_t kind;
  uint16_t state;
  uint32_t check;  // of what never changes
  uint32_t seal;   // of what does, once the process ended; 0 before, and where nothing does
};
static_assert(sizeof(RecordHeader) == 16, "");

// A string; its id is the number of kString records up to and including this one, and is stored to
// be checked.
struct StringRecord {
  RecordHeader header;
  uint32_t id;
  uint32_t length_bytes;
  // char bytes[length_bytes], then zeros up to the multiple of 8
};
static_assert(sizeof(StringRecord) == 24, "");

// One source line (Python), or one return address (C++) that the reader turns into a line with the
// process' mappings. The innermost address of the program may lie in a function of a LibTorch
// header that was compiled into it (at::matmul, in a build without inlining); then the line is that
// of the nearest caller that has one.
struct LineRecord {
  RecordHeader header;
  uint32_t id;
  uint32_t file;      // string; 0 with an address
  uint32_t function;  // string; 0 when not known
  // 0 when not known; with an address, the id of the LineRecord of the caller's, a smaller id.
  int32_t line;
  // Return address in the traced process. Of a Python line: pack_extent() of the call there.
  uint64_t address;
};
static_assert(sizeof(LineRecord) == 40, "");

// 16 bits each, from the lowest: column, column of the end, lines between them; 0 when not known,
// or when one is out of range. Columns as in core/site.h.
constexpr uint64_t pack_extent(int column, int end_column, int more_lines) {
  return column > 0 && column <= 0xffff && end_column > 0 && end_column <= 0xffff &&
                 more_lines >= 0 && more_lines <= 0xffff
             ? static_cast<uint64_t>(column) | static_cast<uint64_t>(end_column) << 16 |
                   static_cast<uint64_t>(more_lines) << 32
             : 0;
}

struct SiteRecord {
  RecordHeader header;
  uint32_t id;
  uint32_t line;          // line id: the user's own line
  uint32_t inner;         // line id: the innermost line outside of torch; may equal `line`
  uint32_t module;        // string: "unet.conv_in"; 0 outside of modules
  uint32_t module_class;  // string: "Conv2d"
  uint32_t caller;  // line id: of Python, that called the extension or model with `line`; or 0
};
static_assert(sizeof(SiteRecord) == 40, "");

// One tensor that went in or came out.
//   flags: bit 0 requires_grad, 1 is_leaf, 2 is_written, 3 is_wrapped_number, 4 has_shape,
//   5 shape was cut to kMaxDims
struct OperandRecord {
  uint32_t name;       // string: the argument's name; 0 for a result
  uint32_t parameter;  // string: qualified parameter name; 0 when it is none
  uint32_t origin;     // signature id that gave the tensor its dtype; 0 when not seen
  uint16_t device;     // string: "cpu"
  uint16_t list_size;  // of the list it stands in, at most 65535; 0 outside of lists
  int16_t list_index;  // -1: not an element of a list
  uint8_t dtype;       // Dtype
  uint8_t kind;        // TensorKind
  uint8_t role;        // Role
  uint8_t flags;
  uint8_t dim_count;
  int8_t device_index;      // -1: none
  int32_t shape[kMaxDims];  // at most INT32_MAX
};
static_assert(sizeof(OperandRecord) == 44, "");
constexpr uint8_t kOperandRequiresGrad = 1, kOperandIsLeaf = 2, kOperandIsWritten = 4,
                  kOperandIsWrappedNumber = 8, kOperandHasShape = 16, kOperandShapeCut = 32;

struct ScalarRecord {
  uint32_t name;     // string
  uint8_t is_dtype;  // 1: value is a Dtype number
  uint8_t reserved[3];
  double value;
};
static_assert(sizeof(ScalarRecord) == 16, "");

// A function of torch that makes a tensor of what is none is an op call without operands,
// "python::torch.from_numpy". What it was given stands among its scalars, as a type and the dtype
// of its values: ndarray := Double, list[float64] := Double. There is no such scalar where the
// values are not all of one type.
//
// An op call without its count: equal calls share one record and add to its counters. A parent's
// record stands before its children's.
//   autocast: bit 0 on for cpu, bit 1 on for cuda, bit 2 this is autocast's wrapper call, bit 3 the
//   inner call of one, bits 4 to 7 the innermost region (one that switches autocast off, too), as
//   its place in FileHeader::autocast_sites + 1
struct SignatureRecord {
  RecordHeader header;
  uint32_t id;
  uint32_t op;        // string: "aten::addmm", "compiled::…", "python::…"
  uint32_t overload;  // string; 0 for none
  uint32_t site;      // site id; 0 when not known
  uint32_t parent;    // signature id; 0 for none
  uint32_t first_step;
  uint16_t operand_count;
  uint16_t scalar_count;
  uint16_t result_room;   // OperandRecords reserved for results
  uint8_t phase;          // Phase
  uint8_t autocast_cpu;   // Dtype
  uint8_t autocast_cuda;  // Dtype
  // What follows changes: the wrapper's bit of autocast, and all else.
  uint8_t autocast;
  uint16_t result_count;  // filled in when the first call returned; <= result_room
  uint32_t last_step;
  uint64_t count;   // calls begun
  uint64_t throws;  // calls that threw
  uint32_t flags;   // kSignature…
  // Of a repaired call, the signature of the repair that its operands came from; 0: none.
  uint32_t follows;
  // OperandRecord operands[operand_count]; ScalarRecord scalars[scalar_count]; OperandRecord
  // results[result_room]; then zeros up to the multiple of 8, and with kSignatureCast a
  // CastCounters. Scalars may stand at any multiple of 4.
};
static_assert(sizeof(SignatureRecord) == 80, "");
constexpr uint8_t kAutocastCpu = 1, kAutocastCuda = 2, kAutocastWrapper = 4, kAutocastInner = 8;
constexpr int kAutocastSiteShift = 4;
constexpr uint32_t kSignatureRepaired = 1, kSignatureServed = 2, kSignatureInCompiled = 4,
                   kSignatureCast = 8;
// The tracer's own, which mean nothing to a reader: the results are written down, or there are
// none; it was seen to call an op that is recorded.
constexpr uint32_t kSignatureResultsKnown = 1u << 31, kSignatureCallsOthers = 1u << 30;

// What an op that may change a dtype (_to_copy, copy_) moved: the last bytes of its record. Shapes
// are no part of a signature, so that only a sum over its calls tells.
struct CastCounters {
  uint64_t elements;  // changes: of all calls
  uint64_t timed;     // changes: calls that were timed; most are not
  uint64_t time_ns;   // changes: of these, in the calling thread
  // What a cast to Half or to 8 bits loses, or one to integers; all change. Of a sample of its
  // calls and elements:
  uint64_t looked;   // numbers other than 0, infinities, NaN and what only a mask holds
  uint64_t clipped;  // … beyond the largest number of the dtype; with a fraction, beyond 1
  uint64_t flushed;  // … that are 0 in it
};
static_assert(sizeof(CastCounters) == 48, "");

// The message of a throw; one for each new (signature, message).
struct ThrowRecord {
  RecordHeader header;
  // The op call that it was thrown in, and those around it; 0: none (no finding by itself).
  uint32_t signature;
  uint32_t message;  // string
  uint32_t type;     // string: demangled C++ type or Python type name
  uint32_t step;
  // Line id, as SiteRecord::caller: who called then. The site is that of the first call of its
  // line, which another line may have made. 0: not known, or none.
  uint32_t caller;
  uint32_t reserved;
};
static_assert(sizeof(ThrowRecord) == 40, "");

// Something about the program: key and value, as core/process_facts.inc has them. Later records of
// a key win.
struct FactRecord {
  RecordHeader header;
  uint32_t key;    // string
  uint32_t value;  // string
};
static_assert(sizeof(FactRecord) == 24, "");

// A file mapped executable in a C++ program: turns addresses into lines when the report is made.
struct MappingRecord {
  RecordHeader header;
  uint64_t begin;  // addresses [begin, end)
  uint64_t end;
  uint64_t file_offset;  // of begin
  uint32_t path;         // string
  uint32_t reserved;
};
static_assert(sizeof(MappingRecord) == 48, "");

// A conversion of an integer tensor to a floating dtype that cannot hold one of its values; or an
// add_ to a running sum of one element, where that is a count that its dtype cannot hold, or past
// the end of its dtype (`to` is an infinity); or a difference of bytes that wrapped. `from` is what
// it would be. Of sin and cos in 16 bits `from` is the largest angle, and `to` the next that the
// dtype has, where they are coarse. Of the op that begins a backward pass `to` is a loss in 16
// bits, and `from` in how many of the steps it was the number of the step before, as a share.
struct InexactRecord {
  RecordHeader header;
  uint32_t signature;
  uint32_t step;
  double from;
  double to;
  uint32_t arrival;     // Arrival
  uint32_t arrived_at;  // signature id of the op that it arrived at; 0: none
  double off;
  uint32_t rounded_at;  // signature id of the cast or factory that rounded it; 0: not known
  uint32_t reserved;
};
static_assert(sizeof(InexactRecord) == 64, "");

// With value checks: the first time that a signature's result had inf, and the first that it had
// NaN. Without them too: the first time that the loss which backward() was called on had one, with
// the signature of the op that begins the backward pass; and the first time that the program itself
// read one (item(), bool()), or yes or no, with the signature of the op that gave what it read.
struct NonFiniteRecord {
  RecordHeader header;
  uint32_t signature;
  uint32_t step;
  uint32_t flags;   // kNonFinite…
  uint32_t result;  // index of the result
  uint32_t order;   // among these of the process, from 1
  uint32_t reserved;
};
static_assert(sizeof(NonFiniteRecord) == 40, "");
constexpr uint32_t kNonFiniteIsNan = 1, kNonFiniteOperandsWereFinite = 2,
                   kNonFiniteOperandsHadNoNan = 4, kNonFiniteIsLoss = 8, kNonFiniteIsRead = 16,
                   kNonFiniteIsAnswer = 32;

// What a GPU did for an op: one for each (signature, kind, kernel, device).
struct GpuWorkRecord {
  RecordHeader header;
  uint32_t signature;  // 0: launched outside of every op
  uint32_t name;       // string: of the kernel, mangled; 0 of copies and fills
  uint8_t kind;        // GpuWorkKind
  uint8_t device;      // as CUDA counts them
  uint16_t reserved16;
  uint32_t reserved32;
  uint64_t count;    // changes
  uint64_t time_ns;  // changes: of the GPU
  uint64_t bytes;    // changes: copied or filled
};
static_assert(sizeof(GpuWorkRecord) == 56, "");

// In a merged trace: one of its processes. They are counted from 0, in the order of the file.
struct ProcessRecord {
  RecordHeader header;
  uint32_t file;     // string: the trace that it wrote
  uint32_t damaged;  // string: why that was partial; 0 where it was whole
  uint32_t devices;  // string: "cpu,cuda"
  uint32_t reserved;
  unsigned char file_header[kHeaderBytes];  // the FileHeader of that trace
};
static_assert(sizeof(ProcessRecord) == 32 + kHeaderBytes, "");

// In a merged trace: a fact, as in FactRecord, of one process.
struct ProcessFactRecord {
  RecordHeader header;
  uint32_t process;
  uint32_t key;    // string
  uint32_t value;  // string
  uint32_t reserved;
};
static_assert(sizeof(ProcessFactRecord) == 32, "");

// In a merged trace: processes that made an op call, and how often each of them did: at least
// `least` and at most `most` times. Those of a signature are in the order of the processes.
struct MadeByRecord {
  RecordHeader header;
  uint32_t signature;
  uint32_t first;  // process
  uint32_t last;   // process
  uint32_t reserved;
  uint64_t least;
  uint64_t most;
};
static_assert(sizeof(MadeByRecord) == 48, "");

// With a time line (trace --timeline): one op call, when it returned.
struct OpTimeRecord {
  RecordHeader header;
  uint32_t signature;
  uint32_t thread;  // as LibTorch numbers them
  uint32_t step;
  uint32_t reserved;
  uint64_t begin_unix_ns;
  uint64_t time_ns;
};
static_assert(sizeof(OpTimeRecord) == 48, "");

// With a time line: one piece of work of a GPU.
struct GpuTimeRecord {
  RecordHeader header;
  uint32_t signature;  // 0: launched outside of every op
  uint32_t name;       // string: of the kernel, mangled; 0 of copies and fills
  uint8_t kind;        // GpuWorkKind
  uint8_t device;
  uint16_t reserved;
  uint32_t stream;  // as CUDA counts them
  uint64_t begin_unix_ns;
  uint64_t time_ns;
};
static_assert(sizeof(GpuTimeRecord) == 48, "");

// Which process group a collective is of; it stands behind the collective's signature.
struct GroupRecord {
  RecordHeader header;
  uint32_t signature;
  uint32_t ranks;  // string: "0-2,5"
};
static_assert(sizeof(GroupRecord) == 24, "");

// With digests of values (trace --values): a page of entries, one behind the other, up to its end
// or to the first whose size is 0. Each is a DigestEntry or a DigestedCallEntry. A full-size UNet
// makes tens of thousands of them in a step, so that they have no header and checksum of their own.
struct DigestPageRecord {
  RecordHeader header;
  uint32_t room_bytes;  // for entries; a multiple of 8
  uint32_t first_id;    // of the first DigestEntry; that of the next one is one more, and so on
  uint32_t step;        // of its calls
  uint32_t reserved;
};
static_assert(sizeof(DigestPageRecord) == 32, "");
constexpr uint32_t kDigestPageBytes = 8192;  // a larger entry has a page of its own
// No digests are written from there on: the rest is the signatures'.
constexpr uint64_t kMostDigestFileBytes = 192u << 20;

struct EntryHeader {
  uint16_t size_bytes;  // of the whole entry, a multiple of 4
  uint8_t what;         // of a digest, its Dtype; kEntryIsCall
  uint8_t flags;        // without kEntryIsCommitted it is skipped
};
static_assert(sizeof(EntryHeader) == 4, "");
constexpr uint8_t kEntryIsCall = 255;
constexpr uint8_t kEntryIsCommitted = 128;

// What one tensor held at one time. A tensor that did not change between two ops has one. Of a
// boolean or an integer its values are numbers.
struct DigestEntry {
  EntryHeader header;
  uint32_t shape;  // a hash of the sizes, from the first; strides are no part of it
  uint32_t count;  // elements
  // Behind it, in this order:
  //   with kDigestIsHuge: uint32_t, the upper half of the count
  //   with kDigestHasName: DigestName
  //   with kDigestHasBase: uint32_t, the digest that was last written of the same memory, where an
  //   op gave that: of what this is a view of, as a rule
  //   with kDigestIsSame: uint32_t, the digest of the same elements in the same order; no more
  //   with kDigestHasNotFinite: uint32_t, how many are not finite (0xffffffff: at least so many)
  //   of more than kDigestPlaces elements, of those that are finite: root mean square, mean,
  //   largest magnitude, as floats, with kDigestIsWide as doubles, 0 where there are none elements
  //   i * count / places, in the order of the sizes whatever the strides, as the tensor has them,
  //   those of Long as doubles: places = count, at most kDigestPlaces; then zeros
};
static_assert(sizeof(DigestEntry) == 12, "");
constexpr uint8_t kDigestIsGradient = 1;  // not the parameter's values, but its gradient's
constexpr uint8_t kDigestHasName = 2, kDigestHasBase = 4, kDigestIsSame = 8, kDigestIsWide = 16;
constexpr uint8_t kDigestIsHuge = 32;
constexpr uint8_t kDigestHasNotFinite = 64;  // of more than kDigestPlaces elements
constexpr uint32_t kDigestPlaces = 16;

struct DigestName {
  uint32_t parameter;  // string: the qualified name of the parameter that it is; 0: none
  // string: of which whole this is a part, by its placements on each dimension of the mesh of its
  // DTensor: "Replicate, Shard(0)@1", "Partial"; 0: of none. Of a parameter that
  // FullyShardedDataParallel keeps in a flat tensor: "Flat(78)@47+31", of 78 elements the 31 from
  // 47 on, and "Flat(78)", none. An optimizer's op that is given flat tensors has an operand for
  // each of their parts, and those of an optimizer's state have no name.
  uint32_t cut;
};

// One op call that the program, or a node of the backward pass, made; what the op called itself has
// none. They are in the order in which the calls returned.
struct DigestedCallEntry {
  EntryHeader header;
  uint32_t signature;
  uint16_t operand_count;  // tensors among the arguments, the elements of lists one by one
  uint16_t result_count;   // of an op that gives none: the tensors that it wrote
  // uint32_t digests[operand_count + result_count]: ids of DigestEntries; 0: a tensor that was not
  // digested, for a CUDA graph was captured, say.
};
static_assert(sizeof(DigestedCallEntry) == 12, "");

// With the health of a run (trace --health): numbers of one module, or of one line outside of
// modules, that are followed over the run.
struct HealthRowRecord {
  RecordHeader header;
  uint32_t id;
  uint32_t name;  // string: of the module, as the site's or the parameter's name has it; 0: none
  uint32_t signature;  // that gave, or stepped, the first of them: where it has no name, its line
  uint8_t role;        // HealthRole
  uint8_t dtype;       // Dtype
  uint16_t reserved;
};
static_assert(sizeof(HealthRowRecord) == 32, "");

// With the health of a run: what its rows were in one step. All but the number of points changes:
// once these records are as many as may be, some are used again for later steps, and the step of
// such a one is 0 meanwhile. They are in no order.
struct HealthSampleRecord {
  RecordHeader header;
  uint32_t point_count;  // room for as many; rows that came later have none
  uint32_t step;         // 0: none
  uint32_t skipped;      // steps that a GradScaler left out until then
  uint32_t left_out;     // tensors of this step that were not looked at
  double scale;          // of a GradScaler's loss; 0: there is none
  // HealthPoint points[point_count], by the id of their row - 1; then zeros up to the multiple of 8
};
static_assert(sizeof(HealthSampleRecord) == 40, "");

struct HealthPoint {
  uint16_t largest;  // magnitude of the finite ones, a BFloat16; kNoPoint: nothing was looked at
  uint8_t zero;      // share that is 0, of weights in 16 bits that did not move; in 255ths
  uint8_t beyond;    // share that is NaN or infinite, the same
};
static_assert(sizeof(HealthPoint) == 4, "");
constexpr uint16_t kNoPoint = 0xffff;
// Of all records of both kinds.
constexpr uint64_t kMostHealthBytes = 1u << 20;

}  // namespace dtypecheck::trace
