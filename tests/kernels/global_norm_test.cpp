#include "kernels/global_norm/global_norm.h"

#include "kernels/threads.h"
#include "tests/kernels/numbers.h"

namespace dtypecheck::kernels {

// Gradients of a model: of all three dtypes and sizes, with one that is not written.
struct Model {
  explicit Model(std::initializer_list<int64_t> sizes) {
    for (const int64_t n : sizes) {
      x.emplace_back(kDtypes[x.size() % 3], n);
      x.back().fill_normal(0, 1, static_cast<unsigned>(x.size()));
      y.emplace_back(Dtype::kFloat, n, 7);
    }
  }
  GlobalNorm arguments() {
    gradients.clear();
    for (size_t i = 0; i < x.size(); ++i)
      gradients.push_back({x[i].size(), x[i].input(), i == 1 ? nullptr : y[i].floats()});
    return {gradients, 1 / 1024.f, &norm};
  }
  std::vector<Numbers> x, y;
  std::vector<Gradient> gradients;
  double norm = -1;
};

static void check_variants(Model given) {
  Model expected = given;
  global_norm_ref(expected.arguments());
  with_each_variant<GlobalNorm>(global_norm_variants(), given.arguments(), [&](auto variant) {
    Model found = given;
    variant(found.arguments());
    if (std::isfinite(expected.norm)) {
      CHECK(found.norm == Approx(expected.norm).epsilon(kGlobalNormTolerance));
    } else {
      CHECK(!std::isfinite(found.norm));
    }
    for (size_t i = 0; i < found.y.size(); ++i) check_same(found.y[i], expected.y[i]);
  });
}

TEST_CASE("global_norm: variants give what the reference gives") {
  check_variants(Model({}));
  check_variants(Model({0, 0}));
  check_variants(Model({1, 7, 8, 9, 0, 16, 33, 1283, 40000, 5, 100001}));
}

TEST_CASE("global_norm: the reference is the norm of all, and leaves what it is not to write") {
  Model m({1, 1, 1});
  m.x[0].set(0, 1024 * 2);
  m.x[1].set(0, 1024 * 3);
  m.x[2].set(0, 1024 * -6);
  global_norm_ref(m.arguments());
  CHECK(m.norm == 7);
  CHECK(m.y[0][0] == 2);
  CHECK(m.y[1][0] == 7);  // as it was
}

TEST_CASE("global_norm: finite exactly when every gradient is") {
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    for (const size_t where : {0, 2}) {
      Model m({50, 3, 40000});
      m.x[where].set(m.x[where].size() - 1, bad);
      check_variants(m);
      global_norm(m.arguments());
      CHECK(!std::isfinite(m.norm));
    }
  }
  Model large({3, 3, 3});
  large.x[0].fill([](int64_t) { return 3e38f; });  // whose squares no Float holds
  large.x[2].fill([](int64_t) { return 1e-40f; });
  check_variants(large);
  global_norm(large.arguments());
  CHECK(std::isfinite(large.norm));
}

TEST_CASE("global_norm: the same bits on any threads") {
  Model one({100000, 3, 70000}), many = one;
  set_parallel_for(in_order);
  global_norm(one.arguments());
  set_parallel_for(nullptr);
  global_norm(many.arguments());
  CHECK(many.norm == one.norm);
}

TEST_CASE("global_norm: arguments it cannot use") {
  using Catch::Matchers::Contains;
  Model m({3, 3});
  GlobalNorm a = m.arguments();
  m.gradients[1].x.dtype = Dtype::kDouble;
  CHECK_THROWS_WITH(global_norm(a), Contains("gradients[1].x is Double"));
  m.gradients[1].x = {};
  CHECK_THROWS_WITH(global_norm(a), Contains("gradients[1].x is null"));
  a.norm = nullptr;
  CHECK_THROWS_WITH(global_norm(a), Contains("a place for the norm"));
}

}  // namespace dtypecheck::kernels
