// Where an op was called, as people are shown it.
#include "core/site.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "core/installed.h"
#include "tests/files.h"

namespace dtypecheck {

static const std::string kHere = std::filesystem::current_path().string();

TEST_CASE("a file below the folder that we run in is shown relative to it") {
  CHECK(shown_path(kHere + "/pkg/train.py") == "pkg/train.py");
  CHECK(shown_path(kHere + "2/train.py") == kHere + "2/train.py");
  CHECK(shown_path("pkg/train.py") == "pkg/train.py");
  CHECK(path_below("/", "/train.py") == "train.py");
  CHECK(path_below("", "/train.py") == "/train.py");
}

TEST_CASE("a file of an installed package is shown from the package's name on") {
  CHECK(shown_path("/v/lib/python3/site-packages/peft/lora.py") == "peft/lora.py");
  CHECK(shown_path(kHere + "/.venv/lib/site-packages/peft/lora.py") == "peft/lora.py");
}

TEST_CASE("a file is installed where a RECORD beside its package lists it") {
  const test::TemporaryFolder folder;
  const std::string packages = folder.path();
  folder.write("peft-0.1.dist-info/RECORD",
               "peft/__init__.py,,\npeft/tuners/lora.py,sha256=xyz,12\n../../bin/peft,,\n");
  folder.write("mine.egg-info/RECORD", "mine/train.py,,\n");
  CHECK(is_installed(packages + "/peft/tuners/lora.py"));
  CHECK(shown_path(packages + "/peft/tuners/lora.py") == "peft/tuners/lora.py");
  for (const char* own : {"/peft/tuners/mine.py", "/mine/train.py", "/train.py", "/tuners/lora.py",
                          "/peft-0.1.dist-info/RECORD", "/other/peft/tuners/lora.py"})
    CHECK_FALSE(is_installed(packages + own));
  CHECK_FALSE(is_installed("peft/tuners/lora.py"));
  CHECK_FALSE(is_installed("/there/is/none/peft/tuners/lora.py"));
}

TEST_CASE("sentences name a file as it is shown") {
  Site site{.line = {kHere + "/pkg/train.py", 12, "main"},
            .inner = {"/usr/lib/python3/dist-packages/diffusers/models/unet.py", 7, "forward"}};
  CHECK(place(site) == "pkg/train.py:12");
  CHECK(recorded_place(site) == kHere + "/pkg/train.py:12");
  CHECK(at_place(site) == " at diffusers/models/unet.py:7, called from pkg/train.py:12");
  site.line = {};
  CHECK(place(site) == "diffusers/models/unet.py:7");
  CHECK(place(Site()).empty());
}

}  // namespace dtypecheck
