// Names are folded into few that stand for the same, and no others.
#include "reports/judging/folded_names.h"

#include <catch2/catch.hpp>

#include "platform/error.h"

namespace dtypecheck::judging {
namespace {

using Names = std::vector<std::string>;

std::set<std::string> all_of(const Names& folded) {
  std::set<std::string> names;
  for (const std::string& name : folded) {
    const Names some = unfold_name(name);
    names.insert(some.begin(), some.end());
  }
  return names;
}

TEST_CASE("blocks that are repeated are one name") {
  std::set<std::string> names;
  for (int block = 0; block < 11; ++block) {
    for (const char* part : {"to_k", "to_q"})
      names.insert("unet.blocks." + std::to_string(block) + ".attn." + part);
  }
  CHECK(fold_names(names) == Names{"unet.blocks.{0-10}.attn.{to_k,to_q}"});
  CHECK(all_of(fold_names(names)) == names);
}

TEST_CASE("one that is missing is not made up") {
  const std::set<std::string> names = {"m.0.a", "m.0.b", "m.1.a", "m.3.a", "m.3.b", "m.10.b"};
  CHECK(all_of(fold_names(names)) == names);
}

TEST_CASE("models stay apart, and so does what is no name of a module") {
  CHECK(fold_names({"unet.x", "vae.x"}) == Names{"unet.x", "vae.x"});
  const std::set<std::string> odd = {"a.{0,1}", "a.b c", "a..b", "train.py:main", ""};
  const Names folded = fold_names(odd);
  CHECK(std::set<std::string>(folded.begin(), folded.end()) == odd);
}

TEST_CASE("a part with a leading zero is no number") {
  const std::set<std::string> names = {"m.00", "m.01", "m.0", "m.1"};
  CHECK(all_of(fold_names(names)) == names);
}

TEST_CASE("a star stands for all there are") {
  const std::set<std::string> all = {"m.0.a", "m.1.a", "m.2.a", "m.0.b"};
  CHECK(starred_names({"m.0.a", "m.1.a", "m.2.a"}, all) == Names{"m.*.a (3 modules)"});
  CHECK(starred_names({"m.0.a", "m.1.a"}, all) == Names{"m.{0,1}.a (2 modules)"});
}

TEST_CASE("what is no folded name is refused") {
  for (const char* name :
       {"m.{0-99999999999}", "m.{3-1}", "m.{0-1", "m.{0-1048576}", "m.{0-2000}.{0-2000}"}) {
    CHECK_THROWS_AS(unfold_name(name), InputError);
  }
}

}  // namespace
}  // namespace dtypecheck::judging
