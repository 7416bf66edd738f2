// What the measurement says of an op by its name alone.
#include <catch2/catch.hpp>

#include "rules/contracts/contracts.h"
#include "table_text.h"

using namespace dtypecheck;
using namespace dtypecheck::contracts;

namespace {

const Contracts& shipped() { return Contracts::shipped(); }

Contracts contracts_of(const std::string& rows, const std::string& runtime = "cpu 2.11.0") {
  Contracts made;
  const auto is_row = [](const std::string& line) {
    return line.starts_with("plain") || line.starts_with("backward");
  };
  size_t count = 0;
  for (size_t at = 0; at < rows.size(); at = rows.find('\n', at) + 1)
    count += is_row(rows.substr(at));
  made.add("dtypecheck contracts 1\nruntime 0 " + runtime +
               " measured 2026-11-21 modes=plain\n"
               "message 0 RuntimeError they differ\n" +
               rows + "end " + std::to_string(count) + "\n",
           "a.contracts");
  return made;
}

Behaviour behaviour_of(const std::string& rows, std::string_view op = "aten::op") {
  return contracts_of(rows).behaviour(op);
}

const std::string kPromoted = "plain * f=ff,fh,fb,hf,hb,bf,bh d=* h=hh b=bb\n";

}  // namespace

TEST_CASE("it promotes where every mix is answered in the promoted dtype") {
  CHECK(behaviour_of("op aten::op self,other\n" + kPromoted).promotes);
  CHECK(behaviour_of("op aten::op self,other\nplain * m0=fh f=* d=dd h=hh b=bb\n").promotes ==
        false);
  CHECK(behaviour_of("op aten::op self,other\nplain * h=hf f=ff,fh,fb,hb,bf,bh d=* h=hh b=bb\n")
            .promotes == false);
  CHECK(behaviour_of("op aten::op self\nplain * f=f h=h b=b d=d\n").promotes == false);
}

TEST_CASE("a kernel that is missing in one dtype is no refusal of a mix") {
  CHECK(behaviour_of("op aten::op self,other\nplain * f=ff,fh,fb,hf,hb,bf,bh d=* m0=hh b=bb\n")
            .promotes);
}

TEST_CASE("one overload that refuses is enough") {
  const std::string rows = "op aten::op.Tensor self,other\n" + kPromoted +
                           "op aten::op.weight self,weight\nplain * f=ff h=hh b=bb d=dd m0=*\n";
  CHECK_FALSE(behaviour_of(rows).promotes);
  CHECK(behaviour_of(rows, "aten::op.Tensor").promotes);
  CHECK_FALSE(behaviour_of(rows, "aten::op.weight").promotes);
}

TEST_CASE("neither a tensor without dimensions nor one to write into says that it does not") {
  CHECK(behaviour_of("op aten::op self,other\n" + kPromoted +
                     "op aten::op self,other()\nplain * f=ff,fh,fb,fd h=hf,hh,hb,hd b=* "
                     "d=df,dh,db,dd\n"
                     "op aten::op.out self,out\nplain * f=ff,hf h=fh,hh b=bb d=dd\n")
            .promotes);
  CHECK_FALSE(behaviour_of("op aten::op self,other()\nplain * f=ff,fh,fb,fd h=hf,hh,hb,hd b=* "
                           "d=df,dh,db,dd\n")
                  .promotes);
}

TEST_CASE("a list that is joined promotes, one whose tensors are answered each does not") {
  CHECK(
      behaviour_of("op aten::op tensors[]\nplain * f=f,fh,fb,hf,hb,bf,bh h=h b=b d=*\n").promotes);
  const Behaviour each = behaviour_of(
      "op aten::op self[]\nplain * f=f h=h b=b d=d fh=fh fb=fb fd=fd hf=hf hb=hb hd=hd bf=bf bh=bh "
      "bd=bd df=df dh=dh db=db\n");
  CHECK_FALSE(each.promotes);
  CHECK(each.passes_dtype_on);
}

TEST_CASE("it passes the dtype on, or answers in one of its own") {
  CHECK(behaviour_of("op aten::op self\nplain * f=f m0=h b=b d=d\n").passes_dtype_on);
  CHECK_FALSE(behaviour_of("op aten::op self\nplain * f=f,h b=b d=d\n").passes_dtype_on);
  const Behaviour indices = behaviour_of("op aten::op self\nplain * l=*\n");
  CHECK_FALSE(indices.passes_dtype_on);
  CHECK(indices.always == Dtype::kLong);
  CHECK(behaviour_of("op aten::op self\nplain * fl=f hl=h bl=b dl=d\n").passes_dtype_on);
}

TEST_CASE("one measured dtype does not tell what the others would give") {
  CHECK(behaviour_of("op aten::op self\nplain * f=f m0=*\n").always == std::nullopt);
  CHECK(behaviour_of("op aten::op self\nplain * f=f ?=*\n").always == std::nullopt);
  CHECK(behaviour_of("op aten::op self\nplain * fl=f m0=*\n").always_in(1) == std::nullopt);
}

TEST_CASE("what is not there is not known") {
  CHECK_FALSE(behaviour_of("op aten::op self,other\n" + kPromoted, "aten::other").is_known);
  const Contracts cuda = contracts_of("op aten::op self,other\n" + kPromoted, "cuda 2.11.0");
  CHECK_FALSE(cuda.promotes("aten::op"));  // the CPU's newest answers, and there is none
  CHECK(cuda.behaviour("aten::op", 0).promotes);
  CHECK_FALSE(cuda.behaviour("aten::op", 1).is_known);
}

TEST_CASE("the shipped tables know which ops promote") {
  for (const char* op : {"aten::kron", "aten::hypot", "aten::max.other", "aten::max", "aten::ldexp",
                         "aten::nextafter", "aten::add", "aten::cat", "aten::where",
                         "aten::addcmul", "aten::clamp", "aten::_foreach_add"}) {
    CAPTURE(op);
    CHECK(shipped().promotes(op));
  }
  // Into what is there, in Double always, refused, of one operand, of indices.
  for (const char* op : {"aten::add_", "aten::float_power", "aten::mm", "aten::lerp", "aten::exp",
                         "aten::argmax", "aten::slice_scatter", "aten::nothing"}) {
    CAPTURE(op);
    CHECK_FALSE(shipped().promotes(op));
  }
}

TEST_CASE("a second name of an op is answered as the op") {
  CHECK(shipped().promotes("aten::multiply"));
  CHECK(shipped().behaviour("aten::greater").always == Dtype::kBool);
  CHECK_FALSE(shipped().promotes("aten::multiply_"));
}

TEST_CASE("the shipped tables know results that have a dtype of their own") {
  CHECK(shipped().behaviour("aten::argmax").always == Dtype::kLong);
  CHECK(shipped().behaviour("aten::nonzero").always == Dtype::kLong);
  CHECK(shipped().behaviour("aten::eq").always == Dtype::kBool);
  CHECK(shipped().behaviour("aten::eq.Tensor").always == Dtype::kBool);
  CHECK(shipped().behaviour("aten::sort").always == std::nullopt);
  for (const char* op : {"aten::sort", "aten::topk", "aten::max", "aten::min.dim"}) {
    CAPTURE(op);
    CHECK(shipped().behaviour(op).always_in(1) == Dtype::kLong);
  }
  CHECK(shipped().behaviour("aten::aminmax").always_in(1) == std::nullopt);
  CHECK(shipped().behaviour("aten::argmax").always_in(1) == std::nullopt);
  CHECK(shipped().passes_dtype_on("aten::exp"));
  CHECK_FALSE(shipped().passes_dtype_on("aten::float_power"));
}
