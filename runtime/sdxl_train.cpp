// sdxl-train: trains SDXL from a diffusers folder.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "platform/error.h"
#include "runtime/check_model.h"
#include "runtime/make_tiny.h"
#include "runtime/train.h"

namespace dtypecheck::runtime {
namespace {

constexpr int kInterrupted = 130;  // as shells have it for a program that SIGINT ended
constexpr int kCouldNotDo = 2;

volatile std::sig_atomic_t interrupted = 0;

// The first SIGINT or SIGTERM ends training after the step; the second ends the process.
void watch_signals() {
  struct sigaction action{};
  action.sa_handler = [](int) { interrupted = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

std::string duration(double seconds) {
  const auto s = static_cast<int64_t>(seconds);
  return s < 3600 ? fmt::format("{}:{:02}", s / 60, s % 60)
                  : fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

// One line that renews itself on a terminal; elsewhere a line a step.
class ProgressLine {
 public:
  void show(const Progress& p) {
    if (first_ == 0) {  // which also reads and warms up
      first_ = p.step;
      started_ = Clock::now();
    }
    std::string line = fmt::format("step {}/{}  loss {:.9g}", p.step, p.steps, p.loss);
    if (!p.stepped) line += fmt::format("  left out, loss scale now {:g}", p.scale);
    if (p.step > first_) {
      const std::chrono::duration<double> passed = Clock::now() - started_;
      const double rate = static_cast<double>(p.step - first_) / passed.count();
      line += fmt::format("  {:.2f} steps/s  {} left", rate,
                          duration(static_cast<double>(p.steps - p.step) / rate));
    }
    fmt::print(stderr, "{}{}{}", is_terminal_ ? "\r" : "", line, is_terminal_ ? "\x1b[K" : "\n");
    open_ = is_terminal_;
  }
  void end() {
    if (open_) fmt::print(stderr, "\n");
    open_ = false;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point started_;
  int64_t first_ = 0;
  bool is_terminal_ = isatty(STDERR_FILENO), open_ = false;
};

int run_train(const TrainOptions& options) {
  ProgressLine line;
  watch_signals();
  int64_t steps = 0;
  try {
    steps = train(options, [&](const Progress& progress) {
      line.show(progress);
      return !interrupted;
    });
  } catch (...) {
    line.end();
    throw;
  }
  line.end();
  const std::string what = options.full ? "model" : fmt::format("LoRA of rank {}", options.rank);
  fmt::print("{}: {} after {} steps\n", options.out, what, steps);
  if (!options.validation_prompt.empty()) fmt::print("{}: image\n", validation_path(options));
  if (steps == options.steps) return 0;
  fmt::print("go on with the same options and --resume {}\n", checkpoint_path(options));
  return kInterrupted;
}

void add_policy_options(CLI::App& app, std::string& policy, bool& keep_broken) {
  app.add_option("--policy", policy,
                 fmt::format("dtypes: {}, or a .json file", fmt::join(policy_names(), ", ")))
      ->capture_default_str();
  app.add_flag("--keep-broken", keep_broken, "run a policy that cannot work all the same");
}

void add_train_options(CLI::App& app, TrainOptions& o) {
  app.add_option("--model", o.model, "diffusers folder of an SDXL model")->required();
  app.add_option("--images", o.images, "folder of .jpg and .png images")->required();
  app.add_option("--prompt", o.prompt,
                 "caption of all images (default: metadata.jsonl, or a.txt beside a.png)");
  add_policy_options(app, o.policy, o.keep_broken);
  app.add_option("--device", o.device, "cpu, cuda, or cuda:1 for the second")
      ->capture_default_str();
  app.add_option("--out", o.out,
                 o.full ? "diffusers folder to write" : "file to write, .safetensors")
      ->required();
  const auto number = [&](const std::string& name, int64_t& value, int64_t most,
                          const std::string& what) {
    app.add_option(name, value, what)->capture_default_str()->check(CLI::Range(int64_t{1}, most));
  };
  if (!o.full) {
    number("--rank", o.rank, 4096, "of the LoRA");
    app.add_flag("--kohya-names", o.kohya_names, "name the tensors as kohya's scripts do");
  }
  number("--steps", o.steps, int64_t{1} << 40, "how many");
  number("--resolution", o.resolution, 1 << 14, "pixels a side");
  number("--batch-size", o.batch_size, 4096, "images a step");
  app.add_option("--seed", o.seed, "the same seed gives the same LoRA")->capture_default_str();
  app.add_option("--learning-rate", o.learning_rate, "of AdamW")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 10.0));
  app.add_option("--adam-eps", o.adam_eps, "of AdamW")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--max-gradient-norm", o.most_gradient_norm, "gradients are clipped to it")
      ->capture_default_str()
      ->check(CLI::Range(1e-9, 1e9));
  app.add_flag("--gradient-checkpointing", o.recompute,
               "less memory, more time: the backward pass computes each block again");
  app.add_option(
         "--min-snr-gamma", o.min_snr_gamma,
         "weigh time steps by their signal-to-noise ratio up to this; 5 is usual, 0 turns it off")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e6));
  app.add_option("--ema-decay", o.ema_decay, "save an average of the weights; 0 turns it off")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 0.999999));
  app.add_option("--checkpoint-every", o.checkpoint_every,
                 "steps between states to resume from, in OUT.checkpoint; 0: only on SIGINT")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  app.add_option("--resume", o.resume, "go on from such a state, bit for bit");
  app.add_option("--validation-prompt", o.validation_prompt,
                 "when done, make an image of this: OUT.png");
  number("--validation-steps", o.validation_steps, 1000, "of that image");
  app.footer(
      fmt::format("example:\n  sdxl-train {} --model sdxl-base --images photos --prompt \"a photo "
                  "of a sks dog\" "
                  "--policy bf16-mixed --out {}\n\n"
                  "exit status: 0 trained, 2 could not be done, 130 interrupted and saved",
                  o.full ? "full" : "lora", o.full ? "sdxl-dog" : "dog.safetensors"));
}

struct CheckOptions {
  std::string model;
  bool values = false;
};

void add_check_options(CLI::App& app, CheckOptions& o) {
  app.add_option("--model", o.model, "diffusers folder of an SDXL model")->required();
  app.add_flag("--values", o.values,
               "read every number too, and name the tensor that has NaN or inf");
  app.footer("example:\n  sdxl-train check --model tiny/model --values");
}

int run_check(const CheckOptions& o) {
  for (const CheckedPart& part : check_model(o.model, o.values)) {
    fmt::print("{}: {} tensors, {} numbers in {}, {:.1f} MiB\n", part.name, part.tensors,
               part.numbers, fmt::join(part.dtypes, " and "),
               static_cast<double>(part.size_bytes) / (1 << 20));
  }
  fmt::print("{}: has every tensor that its configs ask for, in its shape, and no other{}\n",
             o.model, o.values ? "; all numbers are finite" : "");
  return 0;
}

struct T5Options {
  std::string model, policy = "fp32";
  std::vector<int64_t> tokens;
  bool keep_broken = false;
};

void add_t5_options(CLI::App& app, T5Options& o) {
  app.add_option("--model", o.model, "folder of transformers' T5EncoderModel")->required();
  app.add_option("--tokens", o.tokens, "token ids, separated by commas")
      ->required()
      ->delimiter(',')
      ->check(CLI::NonNegativeNumber);
  add_policy_options(app, o.policy, o.keep_broken);
  app.footer("example:\n  sdxl-train t5 --model tiny/t5 --tokens 100,3,35,1 --policy bf16-mixed");
}

int run_t5(const T5Options& o) {
  fmt::print("{}\n", encode_t5(o.model, o.tokens, o.policy, o.keep_broken));
  return 0;
}

struct TinyOptions {
  std::string out;
  int64_t unet_channels = 4;
  uint64_t seed = 0;
};

void add_tiny_options(CLI::App& app, TinyOptions& o) {
  app.add_option("OUT", o.out, "folder to make")->required();
  app.add_option("--unet-channels", o.unet_channels, "4, or 9 for inpainting")
      ->capture_default_str()
      ->check(CLI::IsMember({4, 9}));
  app.add_option("--seed", o.seed, "the same seed gives the same bytes")->capture_default_str();
  app.footer("example:\n  sdxl-train tiny tiny");
}

int run_tiny(const TinyOptions& o) {
  make_tiny(o.out, o.unet_channels, o.seed);
  fmt::print("{}: model, t5 and images\n", o.out);
  return 0;
}

int run(int argc, char** argv) {
  CLI::App app{"sdxl-train: trains SDXL from a diffusers folder", "sdxl-train"};
  app.require_subcommand(1);
  TrainOptions lora_options, full_options{.full = true};
  add_train_options(*app.add_subcommand("lora", "train a LoRA of the UNet's attention"),
                    lora_options);
  CLI::App& full = *app.add_subcommand("full", "train the whole UNet");
  add_train_options(full, full_options);
  CheckOptions check_options;
  CLI::App& check =
      *app.add_subcommand("check", "see whether a model is whole, without training it");
  add_check_options(check, check_options);
  T5Options t5_options;
  CLI::App& t5 = *app.add_subcommand("t5", "encode tokens with a T5 text encoder");
  add_t5_options(t5, t5_options);
  TinyOptions tiny_options;
  CLI::App& tiny = *app.add_subcommand("tiny", "make an SDXL in miniature to try things on");
  add_tiny_options(tiny, tiny_options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    throw InputError(fmt::format("{}; see sdxl-train --help", error.what()));
  }
  if (check.parsed()) return run_check(check_options);
  if (t5.parsed()) return run_t5(t5_options);
  if (tiny.parsed()) return run_tiny(tiny_options);
  return run_train(full.parsed() ? full_options : lora_options);
}

// Threads that wait for each other spin, which is as slow as it gets where cores are shared. OpenMP
// reads how to wait when it is loaded, before main, so the program starts itself once more.
void wait_passively(char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  setenv("OMP_WAIT_POLICY", "passive", 0);
  std::error_code none;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe", none).string();
  if (!self.empty()) execv(self.c_str(), argv);  // where that fails, it waits as ever
}

int say(const std::string& text) {
  fmt::print(stderr, "sdxl-train: {}\n", text);
  return kCouldNotDo;
}

}  // namespace
}  // namespace dtypecheck::runtime

int main(int argc, char** argv) {
  using namespace dtypecheck::runtime;
  wait_passively(argv);
  try {
    return run(argc, argv);
  } catch (const dtypecheck::InputError& error) {
    return say(error.what());
  } catch (const std::bad_alloc&) {
    return say("out of memory");
  } catch (const std::exception& error) {
    return say(fmt::format("internal error: {}", error.what()));
  }
}
