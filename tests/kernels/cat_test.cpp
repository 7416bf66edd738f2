#include "kernels/cat/cat.h"

#include "tests/kernels/numbers.h"

namespace dtypecheck::kernels {

struct CatCase {
  CatCase(int64_t rows, const std::vector<int64_t>& cols, Dtype of_y) : rows(rows), y(of_y, 0) {
    int64_t all = 0;
    for (const int64_t c : cols) {
      numbers.emplace_back(kDtypes[numbers.size() % 3], rows * c);
      numbers.back().fill_normal(0, 100, static_cast<unsigned>(numbers.size()));
      widths.push_back(c);
      all += c;
    }
    y = Numbers(of_y, rows * all, NAN);
  }
  Cat arguments() {
    pieces.clear();
    for (size_t i = 0; i < numbers.size(); ++i)
      pieces.push_back({numbers[i].input(), widths[i], widths[i]});
    return {rows, pieces, y.output()};
  }
  int64_t rows;
  std::vector<Numbers> numbers;
  std::vector<int64_t> widths;
  std::vector<CatPiece> pieces;
  Numbers y;
};

static void check_variants(CatCase c) {
  CatCase expected = c;
  cat_ref(expected.arguments());
  with_each_variant<Cat>(cat_variants(), c.arguments(), [&](auto variant) {
    CatCase found = c;
    variant(found.arguments());
    check_same(found.y, expected.y);
  });
}

TEST_CASE("cat: variants give the bits of the reference") {
  for (const Dtype y : kDtypes) {
    for (const int64_t size : kSizes) check_variants(CatCase(3, {size, 5, 17}, y));
    check_variants(CatCase(5, {1, 2, 3, 4, 5, 6}, y));
    check_variants(CatCase(2, {40000, 40001}, y));  // over several parts
    check_variants(CatCase(1, {}, y));
    check_variants(CatCase(0, {3, 4}, y));
    check_variants(CatCase(4, {0, 3, 0}, y));
  }
}

TEST_CASE("cat: the reference copies rows one after the other, and rounds once") {
  CatCase c(2, {2, 1}, Dtype::kHalf);
  const float left[] = {1, 65520, 2049, 1e-9f};
  c.numbers[0].fill([&](int64_t i) { return left[i]; });
  c.numbers[1].fill([](int64_t i) { return i ? NAN : -3.f; });
  cat_ref(c.arguments());
  const float expected[] = {1, INFINITY, -3, 2048, 0, NAN};
  for (int64_t i = 0; i < 6; ++i) CHECK(same_bits(c.y[i], expected[i]));
}

TEST_CASE("cat: rows of a piece may be apart") {
  CatCase c(2, {3}, Dtype::kFloat);
  Numbers apart(Dtype::kHalf, 7);
  apart.fill([](int64_t i) { return static_cast<float>(i); });
  const CatPiece piece{apart.input(), 3, 4};
  cat({2, {&piece, 1}, c.y.output()});
  for (int64_t i = 0; i < 6; ++i) CHECK(c.y[i] == static_cast<float>(i < 3 ? i : i + 1));
}

TEST_CASE("cat: arguments it cannot use") {
  using Catch::Matchers::Contains;
  CatCase c(2, {2, 1}, Dtype::kHalf);
  Cat a = c.arguments();
  c.pieces[1].x.dtype = Dtype::kLong;
  CHECK_THROWS_WITH(cat(a), Contains("cat: pieces[1] is Long"));
  c.pieces[1] = {{}, 1, 1};
  CHECK_THROWS_WITH(cat(a), Contains("cat: pieces[1] is null"));
  a = c.arguments();
  a.y.data = nullptr;
  CHECK_THROWS_WITH(cat(a), Contains("cat: y is null"));
  a.rows = -1;
  CHECK_THROWS_WITH(cat(a), Contains("rows of 0 or more"));
}

}  // namespace dtypecheck::kernels
