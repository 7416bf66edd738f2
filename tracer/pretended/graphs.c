/* graphs.c: streams, and the work that is captured in them. A graph's nodes are what was put into
 * the streams of its capture; a launch tells of each of them. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/pretended/launches.h"
#include "tracer/pretended/pretended.h"

struct node {
  struct work work;
  uint64_t id;
};
struct graph {
  struct node* nodes;
  size_t count, room;
  struct graph* next;
};

/* All that a program makes and has not destroyed; what it names otherwise is none of ours. */
static struct graph* graphs;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static struct graph* find_graph(const void* handle) {
  struct graph* graph = graphs;
  while (graph && graph != handle) graph = graph->next;
  return graph;
}
static struct graph* make_graph(void) {
  struct graph* made = calloc(1, sizeof *made);
  if (!made) return NULL;
  made->next = graphs;
  return graphs = made;
}
static uint64_t add_node(struct graph* graph, const struct work* work) {
  static uint64_t last;
  if (graph->count == graph->room) {
    const size_t room = graph->room ? 2 * graph->room : 64;
    struct node* more = realloc(graph->nodes, room * sizeof *more);
    if (!more) return 0;
    graph->nodes = more;
    graph->room = room;
  }
  graph->nodes[graph->count++] = (struct node){*work, ++last};
  return last;
}
static void drop_graph(const void* handle) {
  for (struct graph** at = &graphs; *at; at = &(*at)->next)
    if (*at == handle) {
      struct graph* graph = *at;
      *at = graph->next;
      free(graph->nodes);
      free(graph);
      return;
    }
}
static int destroy(void* handle) {
  pthread_mutex_lock(&mutex);
  drop_graph(handle);
  pthread_mutex_unlock(&mutex);
  return OK;
}

/* A stream's handle is its place here. One that is destroyed stays, and is given out again when the
 * others have been. */
enum { kMostStreams = 1 << 14, kDefaultStream = 7, kFirstStream = 13 };
static struct stream streams[kMostStreams];
static atomic_uint stream_count;

struct stream* stream_of(void* handle) {
  static __thread struct stream default_stream;
  struct stream* stream = handle;
  if (stream >= streams && stream < streams + kMostStreams) return stream;
  default_stream.device = current_device();
  default_stream.id = kDefaultStream;
  return &default_stream;
}
static int make_stream(void** made) {
  const unsigned number = atomic_fetch_add(&stream_count, 1);
  struct stream* stream = &streams[number % kMostStreams];
  *stream = (struct stream){.device = current_device(), .id = kFirstStream + number};
  return *made = stream, OK;
}
EXPORT int cudaStreamCreate(void** made) { return make_stream(made); }
EXPORT int cudaStreamCreateWithFlags(void** made) { return make_stream(made); }
EXPORT int cudaStreamCreateWithPriority(void** made) { return make_stream(made); }
EXPORT int cuStreamCreate(void** made) { return make_stream(made); }
EXPORT int cuStreamCreateWithPriority(void** made) { return make_stream(made); }
EXPORT int cudaStreamGetPriority(void* stream UNUSED, int* priority) { return *priority = 0, OK; }
EXPORT int cudaStreamGetDevice(void* stream, int* device) {
  return *device = stream_of(stream)->device, OK;
}

int capture_work(struct stream* stream, const struct work* work) {
  pthread_mutex_lock(&mutex);
  struct graph* graph = stream->capture ? find_graph(stream->capture) : NULL;
  const uint64_t node = graph ? add_node(graph, work) : 0;
  pthread_mutex_unlock(&mutex);
  if (node) note_node(NODE_CREATED, node, 0);
  return graph != NULL;
}

static int begin_capture(void* handle, struct graph* graph) {
  static atomic_ullong last;
  struct stream* stream = stream_of(handle);
  if (!graph) return set_error(NO_MEMORY);
  stream->capture = graph;
  stream->capture_id = atomic_fetch_add(&last, 1) + 1;
  return OK;
}
EXPORT int cudaStreamBeginCapture(void* stream) {
  pthread_mutex_lock(&mutex);
  struct graph* graph = make_graph();
  pthread_mutex_unlock(&mutex);
  return begin_capture(stream, graph);
}
EXPORT int cudaStreamBeginCaptureToGraph(void* stream, void* graph) {
  pthread_mutex_lock(&mutex);
  struct graph* into = find_graph(graph);
  if (!into) into = make_graph(); /* the body of a conditional node */
  pthread_mutex_unlock(&mutex);
  return begin_capture(stream, into);
}

/* An event that is recorded in a capture takes the streams that wait for it in. */
enum { kMostForks = 256 };
static struct {
  void* event;
  struct stream* from;
  unsigned long long capture_id;
} forks[kMostForks];
static unsigned fork_count;

EXPORT int cudaEventRecord(void* event, void* stream) {
  struct stream* from = stream_of(stream);
  if (!from->capture) return late_error();
  pthread_mutex_lock(&mutex);
  const unsigned at = fork_count++ % kMostForks;
  forks[at].event = event;
  forks[at].from = from;
  forks[at].capture_id = from->capture_id;
  pthread_mutex_unlock(&mutex);
  return OK;
}
EXPORT int cudaEventRecordWithFlags(void* event, void* stream) {
  return cudaEventRecord(event, stream);
}
EXPORT int cudaStreamWaitEvent(void* stream, void* event) {
  struct stream* into = stream_of(stream);
  pthread_mutex_lock(&mutex);
  for (unsigned i = 0; i < kMostForks && !into->capture; ++i) {
    const struct stream* from = forks[i].event == event ? forks[i].from : NULL;
    if (!from || !from->capture || from->capture_id != forks[i].capture_id) continue;
    into->capture = from->capture;
    into->capture_id = from->capture_id;
  }
  pthread_mutex_unlock(&mutex);
  return late_error();
}

EXPORT int cudaStreamEndCapture(void* handle, void** graph) {
  struct stream* stream = stream_of(handle);
  *graph = stream->capture;
  const unsigned count = atomic_load(&stream_count);
  const unsigned long long id = stream->capture_id;
  *stream = (struct stream){.device = stream->device, .id = stream->id};
  for (unsigned i = 0; i < count && i < kMostStreams; ++i)
    if (streams[i].capture && streams[i].capture_id == id) streams[i].capture = NULL;
  return OK;
}
EXPORT int cudaStreamIsCapturing(void* stream, int* status) {
  return *status = stream_of(stream)->capture != NULL, OK;
}
EXPORT int cuStreamIsCapturing(void* stream, int* status) {
  return cudaStreamIsCapturing(stream, status);
}
static void capture_info(void* handle, int* status, unsigned long long* id, void** graph,
                         const void** nodes) {
  const struct stream* stream = stream_of(handle);
  *status = stream->capture != NULL;
  if (id) *id = stream->capture ? stream->capture_id : 0;
  if (graph) *graph = stream->capture;
  if (nodes) *nodes = NULL;
}
/* CUDA 13's; in CUDA 11 the name has three arguments, and in CUDA 12 it is not there. */
EXPORT int cudaStreamGetCaptureInfo(void* stream, int* status, unsigned long long* id, void** graph,
                                    const void** nodes, const void** edges, size_t* count) {
  if (major() < 13) return capture_info(stream, status, id, NULL, NULL), OK;
  capture_info(stream, status, id, graph, nodes);
  if (edges) *edges = NULL;
  if (count) *count = 0;
  return OK;
}
EXPORT int cudaStreamGetCaptureInfo_v2(void* stream, int* status, unsigned long long* id,
                                       void** graph, const void** nodes, void* count) {
  capture_info(stream, status, id, graph, nodes);
  return count ? *(size_t*)count = 0, OK : OK;
}

/* The nodes of an executable graph are others than those that it is made of. */
static int instantiate(void** executable, void* graph) {
  pthread_mutex_lock(&mutex);
  const struct graph* from = find_graph(graph);
  struct graph* made = make_graph();
  const size_t count = from && made ? from->count : 0;
  uint64_t(*pairs)[2] = calloc(count + 1, sizeof *pairs);
  for (size_t i = 0; pairs && i < count; ++i) {
    pairs[i][0] = add_node(made, &from->nodes[i].work);
    pairs[i][1] = from->nodes[i].id;
  }
  pthread_mutex_unlock(&mutex);
  for (size_t i = 0; pairs && i < count; ++i) note_node(NODE_CLONED, pairs[i][0], pairs[i][1]);
  free(pairs);
  return *executable = made, made ? OK : set_error(NO_MEMORY);
}
EXPORT int cudaGraphInstantiate(void** executable, void* graph) {
  return instantiate(executable, graph);
}
EXPORT int cudaGraphInstantiateWithFlags(void** executable, void* graph) {
  return instantiate(executable, graph);
}
EXPORT int cudaGraphDestroy(void* graph) { return destroy(graph); }
EXPORT int cudaGraphExecDestroy(void* executable) { return destroy(executable); }

EXPORT int cudaGraphLaunch(void* executable, void* stream) {
  if (late_error()) return late_error();
  struct stream* into = stream_of(stream);
  pthread_mutex_lock(&mutex);
  const struct graph* graph = find_graph(executable);
  const size_t count = graph ? graph->count : 0;
  struct node* nodes = malloc((count + 1) * sizeof *nodes);
  if (nodes && count) memcpy(nodes, graph->nodes, count * sizeof *nodes);
  pthread_mutex_unlock(&mutex);
  const uint32_t correlation = begin_call(CALL_GRAPH_LAUNCH, NULL);
  for (size_t i = 0; nodes && i < count; ++i)
    if (!capture_work(into, &nodes[i].work))
      note_work(&nodes[i].work, into, correlation, nodes[i].id);
  end_call(CALL_GRAPH_LAUNCH, correlation, OK);
  free(nodes);
  return OK;
}

/* At least one, for LibTorch warns of an empty graph: cuBLAS' and cuDNN's kernels are not known. */
EXPORT int cudaGraphGetNodes(void* handle_of_graph, void** nodes, size_t* count) {
  pthread_mutex_lock(&mutex);
  const struct graph* graph = find_graph(handle_of_graph);
  const size_t known = graph ? graph->count : 0;
  for (size_t i = 0; nodes && i < known && i < *count; ++i)
    nodes[i] = (void*)(uintptr_t)graph->nodes[i].id;
  if (nodes && !known && *count) nodes[0] = handle();
  *count = known ? known : 1;
  pthread_mutex_unlock(&mutex);
  return OK;
}
EXPORT int cudaUserObjectCreate(void** object) { return *object = handle(), OK; }
EXPORT int cudaGraphAddNode(void** node) { return *node = handle(), OK; }
