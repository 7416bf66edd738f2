// hook.cpp: stage 2's entry. Stage 1 loads this library in the middle of the process' first op,
// which is then its first record.
#include <errno.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/launch.h"
#include "tracer/hook/autocast_regions.h"
#include "tracer/hook/clock.h"
#include "tracer/hook/describe.h"
#include "tracer/hook/digests.h"
#include "tracer/hook/facts.h"
#include "tracer/hook/gpu_samples.h"
#include "tracer/hook/gpu_work.h"
#include "tracer/hook/health.h"
#include "tracer/hook/looking.h"
#include "tracer/hook/op_table.h"
#include "tracer/hook/option_text.h"
#include "tracer/hook/phases.h"
#include "tracer/hook/pretended.h"
#include "tracer/hook/python_calls.h"
#include "tracer/hook/recorder.h"
#include "tracer/hook/requests.h"
#include "tracer/hook/shadows.h"
#include "tracer/hook/stand_ins.h"
#include "tracer/hook/thread_state.h"
#include "tracer/hook/throws.h"
#include "tracer/hook/tracer.h"
#include "tracer/hook/values.h"
#include "tracer/hook/weight_moves.h"
#include "tracer/keep_going/draws.h"
#include "tracer/keep_going/in_float.h"
#include "tracer/keep_going/keep_going.h"
#include "tracer/native/native_sites.h"
#include "tracer/preload/stage1.h"

namespace dtypecheck::tracer {

std::aligned_storage_t<sizeof(Tracer), 64> tracer_room;
[[maybe_unused]] static Tracer* const made = new (&tracer_room) Tracer;

namespace {

// Ids start anew in another file; what was remembered by the ids of the one before is forgotten.
void forget_file() {
  tracer.signatures.clear();
  tracer.parameters.clear();
  tracer.origins.clear();
  forget_steps();
  forget_sites();
  forget_messages();
  forget_values();
  forget_digests();
  forget_health();
  forget_facts();
  forget_requests();
  forget_weight_moves();
  forget_autocast_regions();
  start_timeline();
  keep_going::forget();
  for (ThreadState* state = first_thread_state(); state; state = state->next) {
    state->sequences = nullptr;
    state->expectations.forget();
  }
}

void read_options(const char* options) {
  tracer.options.steady = read_option(options, "steady");
  const char* after = tracer.options.steady ? std::getenv("DTYPECHECK_LOOK_AWAY_AFTER") : nullptr;
  tracer.options.look_away_after = after ? std::atoi(after) : -1;
  tracer.options.check_values = read_value_checks(options);
  tracer.options.values = start_digests(options);
  tracer.options.health = start_health(options);
  tracer.options.fix = read_option(options, "fix");
  tracer.options.keep_going = tracer.options.fix || read_option(options, "keep-going");
  tracer.options.nudge = read_option(options, "nudge");
  tracer.options.seeds = read_option(options, "seed");
  tracer.options.seed = number_of_option(options, "seed");
  tracer.options.draws = keep_going::read_draw_options(options);
  tracer.options.in_float = keep_going::read_in_float(options);
  tracer.options.pretended = read_option(options, "pretended");
  tracer.options.most_steps = number_of_option(options, "most-steps");
  tracer.options.timeline_steps = number_of_option(options, "timeline");
  tracer.options.leave_after = number_of_option(options, "leave-after");
}

int rank_of_process() {
  for (const LauncherVariables& launcher : kLaunchers) {
    const char* rank = std::getenv(launcher.rank);
    if (rank && *rank) return std::atoi(rank);
  }
  return -1;
}

void fill_header() {
  trace::FileHeader* header = tracer.file.header();
  std::snprintf(header->libtorch, sizeof header->libtorch, "%s", TORCH_VERSION);
  std::snprintf(header->python, sizeof header->python, "%s",
                tracer.python ? python::version() : "");
  header->flags = tracer.options.check_values ? trace::kFlagValuesChecked : 0;
  if (tracer.options.values) header->flags |= trace::kFlagValues;
  if (tracer.options.health) header->flags |= trace::kFlagHealth;
  if (tracer.options.keep_going && keep_going::on.load())
    header->flags |= tracer.options.fix ? trace::kFlagFix : trace::kFlagKeepGoing;
  header->rank = rank_of_process();
  tracer.file.commit_header();
}

bool open_file() {
  char host[64] = "localhost";
  gethostname(host, sizeof host - 1);
  const int error =
      tracer.file.create(tracer.stage1->run_folder, host, getpid(), rank_of_process());
  if (error == 0) return true;
  const std::string what =
      std::string(tracer.stage1->run_folder) + ": no trace file can be made here: ";
  tracer.stage1->complain(
      (what + std::strerror(error) + "; this process runs on untraced").c_str());
  return false;
}

void start_keep_going() {
  std::string why_not;
  if (!keep_going::start(&why_not)) return tracer.stage1->complain(why_not.c_str());
  *tracer.stage1->on_thread_start = keep_going::arm;
}

// Later nothing can be computed any more.
void compute_the_last() {
  ThreadState* state = tracer.on ? thread_state() : nullptr;
  if (!state || !is_more_to_do()) return;
  wait_for_samples();
  compute_arrived(state);
}

// The first op is about to run. What the program has seeded itself stays: a seed that nobody gave
// is 64 random bits, and one that a person writes is none of these.
void seed_random_numbers() {
  constexpr uint64_t kLargestByHand = uint64_t{1} << 53;
  at::Generator generator = at::globalContext().defaultGenerator(at::kCPU);
  const std::lock_guard<std::mutex> lock(generator.mutex());
  if (generator.current_seed() <= kLargestByHand) return;
  const int rank = rank_of_process();  // ranks drew different numbers
  generator.set_current_seed(tracer.options.seed + static_cast<uint64_t>(rank < 0 ? 0 : rank));
}

void start_python() {
  std::string why_not;
  tracer.python = python::start(&why_not);
  if (tracer.python) {
    python::watch_uncaught(on_uncaught);
    python::watch_end(compute_the_last);
  } else if (!why_not.empty()) {
    tracer.stage1->complain((why_not + "; ops are recorded without Python lines").c_str());
  }
}

// In the child of a fork, its only thread. The parent's file is the parent's, so nothing is written
// before begin_in_child().
void on_fork_child() {
  if (!tracer.on.exchange(false) && !tracer.forked.load()) return;
  free_describe();
  forget_first_call();
  free_shadows();
  free_op_table();
  for (ThreadState* state = first_thread_state(); state; state = state->next) {
    if (state != existing_thread_state()) state->in_use = false;
    state->depth = 0;
    state->flushed = state->events.load();
  }
  restart_quiet_steps();
  look_in_child();
  tracer.forked = true;
}

void on_exec(int failed) {
  if (!tracer.on.load()) return;
  flush_all_events();
  failed ? tracer.file.resume() : tracer.file.finish(2);
}

// What exit() was called with; -1 where the process ends in another way. Together with the fact
// "uncaught" it tells whether an exception ended the program or was caught in it.
std::atomic<int> exit_status{-1};

void note_exit_status(int status, void*) { exit_status = status; }

// Before the file ends: what is written at a step's end, and what is under way.
void write_what_is_left() {
  end_first_call();
  finish_last_step();
  write_kills();
  finish_samples();
  settle_shadows(/*at_end=*/true);
  write_weight_moves();
  write_health();
}

void on_exit() {
  if (!tracer.on.exchange(false)) return;
  python::stop();
  if (exit_status >= 0) write_fact(FactKey::kExitStatus, std::to_string(exit_status.load()));
  write_what_is_left();
  note_pretended_peak();
  keep_going::write_draw_fact();
  finish_gpu_work();
  flush_all_events();
  tracer.file.finish(1);
}

}  // namespace

// Threads that come while this goes on run untraced, but they do not wait.
bool Tracer::begin_in_child() {
  if (!forked.exchange(false)) return false;
  if (const int error = file.reopen_in_child()) {
    const std::string what = "no trace file can be made for this child: ";
    stage1->complain((what + std::strerror(error) + "; it runs on untraced").c_str());
    return false;
  }
  forget_file();
  forget_gpu_work();
  forget_samples();
  fill_header();
  write_facts_at_start();
  data_worker = python::in_data_worker();
  on = true;
  return true;
}

}  // namespace dtypecheck::tracer

extern "C" __attribute__((visibility("default"))) int dtypecheck_hook_start(
    const DtypecheckStage1* stage1) {
  using namespace dtypecheck::tracer;
  if (stage1->abi != DTYPECHECK_STAGE1_ABI) return 1;
  tracer.stage1 = stage1;
  try {
    read_options(stage1->options);
    start_timeline();
    start_threads(stage1->thread_slot);
    start_python();
    tracer.python ? native::start_below_python() : native::start();
    if (!open_file()) return 1;
    if (tracer.options.keep_going || tracer.options.in_float || tracer.options.draws ||
        tracer.options.pretended)
      start_keep_going();
    fill_header();
    write_facts_at_start();
    tracer.data_worker = python::in_data_worker();
    start_looking();
    if (tracer.options.seeds) seed_random_numbers();
  } catch (const std::exception& error) {
    stage1->complain(error.what());
    return 1;
  }
  ::on_exit(note_exit_status, nullptr);
  *stage1->on_throw = on_throw;
  *stage1->on_observer = make_room_for_observer;
  *stage1->on_autocast = on_autocast;
  *stage1->on_fork_child = on_fork_child;
  *stage1->on_exec = on_exec;
  *stage1->on_exit = on_exit;
  tracer.on = true;
  return 0;
}

namespace dtypecheck::tracer {
namespace {

bool other_threads_ran_ops() {
  const ThreadState* first = first_thread_state();
  return first && first->next;
}

// Recording was off since suspend(), and whoever was in the middle of an op then is done with our
// tables after this long, as a rule. One that is not counts into memory that nobody reads.
constexpr useconds_t kGraceUs = 2000;

int resume() {
  if (tracer.on.load() || tracer.forked.load()) return EBUSY;
  if (other_threads_ran_ops()) usleep(kGraceUs);
  read_options(tracer.stage1->options);
  forget_file();
  begin_gpu_turn();
  python::forget_cells();
  if (const int error = tracer.file.move_to(tracer.stage1->run_folder)) return error;
  expect_room();
  fill_header();
  tracer.trained = tracer.forward_seen = false;
  if (ThreadState* state = existing_thread_state()) state->depth = 0;
  write_facts_at_start();
  leave(false);
  tracer.on = true;
  return 0;
}

}  // namespace

void suspend(const char* uncaught) {
  compute_the_last();
  if (!tracer.on.exchange(false)) return;
  leave(true);
  write_what_is_left();
  if (uncaught && *uncaught) write_fact(FactKey::kUncaught, uncaught);
  write_fact(FactKey::kExitStatus, uncaught && *uncaught ? "1" : "0");
  finish_gpu_work();
  flush_all_events();
  tracer.file.finish(1);
}

}  // namespace dtypecheck::tracer

// Recording in turns, for a program that asks for it itself (python/dtypecheck): off, with the
// exception that ended the turn or ""; and on again, into a file of its own in the folder that
// stage 1 names now. The latter gives an errno number where there can be none.
extern "C" __attribute__((visibility("default"))) void dtypecheck_hook_suspend(
    const char* uncaught) {
  dtypecheck::tracer::suspend(uncaught);
}
extern "C" __attribute__((visibility("default"))) int dtypecheck_hook_resume(void) {
  return dtypecheck::tracer::resume();
}

// For benchmarks: looks away, or again.
extern "C" __attribute__((visibility("default"))) void dtypecheck_hook_pause(int paused) {
  dtypecheck::tracer::restart_quiet_steps();
  dtypecheck::tracer::set_recording(paused == 0);
}

// For benchmarks: away altogether, or back.
extern "C" __attribute__((visibility("default"))) void dtypecheck_hook_leave(int out) {
  dtypecheck::tracer::leave(out != 0);
}

// For benchmarks: no samples of tensors on a GPU, or again.
extern "C" __attribute__((visibility("default"))) void dtypecheck_hook_sample(int on) {
  dtypecheck::tracer::take_samples(on != 0);
}

// For tests: as if a tensor on a GPU had been seen.
extern "C" __attribute__((visibility("default"))) void dtypecheck_hook_see_gpu() {
  dtypecheck::tracer::saw_gpu();
}
