// What a line is read as: each a statement, the op that it calls, and the text of an operand.
#include "rules/engine/call_text.h"

#include <catch2/catch.hpp>

using namespace dtypecheck;
using namespace dtypecheck::rules;

namespace {

OpCall call_of(const std::string& op, const std::vector<std::string>& operands) {
  OpCall call;
  call.op = "aten::" + op;
  for (const std::string& name : operands) {
    Operand operand;
    operand.name = name;
    operand.dtypes = Dtype::kHalf;
    call.operands.push_back(operand);
  }
  return call;
}

std::string operand_in(const std::string& text, const OpCall& call, const std::string& operand,
                       bool is_cpp = false) {
  const CodeLine line(text, is_cpp);
  const auto spans = operand_text(line, call, *call.operand(operand));
  return spans.empty() ? "" : std::string(line.text_of(spans.front()));
}

std::string suffixed(const std::string& text, const OpCall& call, const std::string& operand) {
  const CodeLine line(text, false);
  const auto spans = operand_text(line, call, *call.operand(operand));
  return spans.empty() ? "" : with_suffix(line, spans, ".half()").new_text;
}

std::string input_in(const std::string& text, const std::string& module,
                     const std::string& module_class = "Linear") {
  OpCall call = call_of("linear", {"input", "weight"});
  call.site.module = module;
  call.site.module_class = module_class;
  const CodeLine line(text, false);
  const auto input = module_input(line, call, call.operands.front());
  return input ? input->module + ": " + std::string(line.text_of(input->argument)) : "";
}

const OpCall kLoss = call_of("mse_loss", {"self", "target"});
const OpCall kProduct = call_of("matmul", {"self", "other"});

}  // namespace

TEST_CASE("call_text finds an argument by place or name") {
  CHECK(operand_in("loss = F.mse_loss(pred, batch[\"noise\"])", kLoss, "target") ==
        "batch[\"noise\"]");
  CHECK(operand_in("loss = F.mse_loss(target=noise, input=pred)", kLoss, "self") == "pred");
  CHECK(operand_in("F.mse_loss(\n    pred,\n    noise)", kLoss, "target") == "noise");
  CHECK(operand_in("auto l = torch::mse_loss(net->forward(x), y);", kLoss, "self", true) ==
        "net->forward(x)");
  const OpCall put = call_of("index_add_", {"self", "index", "source"});
  CHECK(operand_in("self.sums.index_add_(0, rows, self.k(x))", put, "source") == "self.k(x)");
  CHECK(operand_in("sums.index_add_(0, rows, values * 2)", put, "source") == "values * 2");
  CHECK(operand_in("sums.index_add_(dim, rows, values)", put, "self") == "sums");
  const OpCall cat = call_of("cat", {"tensors[0]", "tensors[1]"});
  CHECK(operand_in("h = torch.cat([h, skip.pop()], dim=1)", cat, "tensors[1]") == "skip.pop()");
}

TEST_CASE("call_text finds the sides of an operator and what is assigned") {
  CHECK(operand_in("scores = q @ k.transpose(-1, -2)", kProduct, "other") == "k.transpose(-1, -2)");
  CHECK(operand_in("y = a + b * c", call_of("add", {"self", "other"}), "other") == "b * c");
  CHECK(operand_in("if (a - b).sum() > 0:", call_of("sub", {"self", "other"}), "self") == "a");
  const OpCall put = call_of("index_put_", {"self", "indices[0]", "values"});
  CHECK(operand_in("cache[rows] = fresh", put, "values") == "fresh");
}

TEST_CASE("call_text casts what like calls of a line are all given") {
  const OpCall quantile = call_of("quantile", {"self"});
  CHECK(suffixed("s = torch.quantile(x, 0.9) - torch.quantile(x, 0.1)", quantile, "self") ==
        "torch.quantile(x.half(), 0.9) - torch.quantile(x.half(), 0.1)");
  CHECK(suffixed("s = x.quantile(0.9) - x.quantile(0.1)", quantile, "self") ==
        "x.half().quantile(0.9) - x.half().quantile(0.1)");
}

TEST_CASE("call_text names no operand that may be another") {
  CHECK(operand_in("F.mse_loss(a, b) + F.mse_loss(c, d)", kLoss, "self").empty());
  CHECK(operand_in("F.mse_loss(*pair)", kLoss, "target").empty());
  CHECK(operand_in("torch.cat(parts)", call_of("cat", {"tensors[0]", "tensors[1]"}), "tensors[0]")
            .empty());
  CHECK(operand_in("loss = criterion(pred, noise)", kLoss, "self").empty());
  CHECK(operand_in("# F.mse_loss(a, b)", kLoss, "self").empty());
  CHECK(operand_in("print('F.mse_loss(a, b)')", kLoss, "self").empty());
  CHECK(operand_in("F.mse_loss(pred,", kLoss, "self").empty());
}

TEST_CASE("call_text casts an expression, or the call around it") {
  CHECK(suffixed("F.mse_loss(a - b, c)", kLoss, "self") == "(a - b).half()");
  CHECK(suffixed("F.mse_loss(x, y), x", kLoss, "self") == "F.mse_loss(x.half(), y)");
}

TEST_CASE("call_text finds what a module is called with") {
  CHECK(input_in("return self.b(self.a(x))", "m.b") == "m.b: self.a(x)");
  CHECK(input_in("def forward(self, x): return self.b(self.a(x))", "m.a") == "m.a: x");
  CHECK(input_in("out = unet(latents).sample", "unet.conv_in") == "unet: latents");
  CHECK(input_in("nn.Linear(4, 4)(batch)", "Linear") == "Linear: batch");
  CHECK(input_in("self.a(x) + self.a(y)", "m.a").empty());
  CHECK(input_in("self.fc = nn.Linear(4, 4)", "m.a").empty());
}

TEST_CASE("call_text rewrites what no cast replaces") {
  const CodeLine half("self.norm = nn.LayerNorm(16).half()", false);
  CHECK(other_dtype(half, Dtype::kHalf, Dtype::kFloat)->new_text == "nn.LayerNorm(16).float()");
  const CodeLine made("x = torch.zeros(2, dtype=torch.long)", false);
  CHECK(other_dtype(made, Dtype::kLong, Dtype::kFloat)->new_text ==
        "torch.zeros(2, dtype=torch.float32)");
  CHECK(!other_dtype(made, Dtype::kHalf, Dtype::kFloat));
  const CodeLine module("net->to(torch::kBFloat16);", true);
  CHECK(other_dtype(module, Dtype::kBFloat16, Dtype::kFloat)->new_text == "net->to(torch::kFloat)");
  const CodeLine sized("auto x = torch::zeros({2}, torch::kFloat16);", true);
  CHECK(other_dtype(sized, Dtype::kHalf, Dtype::kFloat)->new_text ==
        "torch::zeros({2}, torch::kFloat)");
  CHECK(!other_dtype(sized, Dtype::kFloat, Dtype::kHalf));  // "kFloat" is a part of "kFloat16"
  const CodeLine spelt("x = x.to(at::ScalarType::Half);", true);
  CHECK(other_dtype(spelt, Dtype::kHalf, Dtype::kFloat)->new_text == "x.to(at::ScalarType::Float)");
  const CodeLine divided("total /= n + 1", false);
  CHECK(not_in_place(divided, call_of("div_", {"self"}))->new_text == "total = total / (n + 1)");
  CHECK(python_path("net.2.attn.0") == "net[2].attn[0]");
}

TEST_CASE("the call that the interpreter names is meant, of several on the line") {
  // What `call` gets as `operand` in the statement, of which `focus` ran.
  const auto in_focus = [](const std::string& text, const std::string& focus, const OpCall& call,
                           const std::string& operand) {
    CodeLine line(text, false);
    const size_t at = text.find(focus);
    REQUIRE(at != text.npos);
    line.focus = {at, at + focus.size()};
    const auto spans = operand_text(line, call, *call.operand(operand));
    std::string all;
    for (const Span span : spans) all += std::string(line.text_of(span)) + ";";
    return all;
  };
  const std::string sum = "y = F.mse_loss(a, b) + F.mse_loss(c, d)";
  CHECK(in_focus(sum, "F.mse_loss(a, b)", kLoss, "target") == "b;");
  CHECK(in_focus(sum, "F.mse_loss(c, d)", kLoss, "target") == "d;");
  CHECK(in_focus("y = a @ b + c @ d", "c @ d", kProduct, "other") == "d;");
  CHECK(in_focus("y = f(x) @ torch.matmul(c, d)", "f(x) @ torch.matmul(c, d)", kProduct, "other") ==
        "torch.matmul(c, d);");
  // The same text in both has the same fault, and stays together.
  CHECK(in_focus("y = F.mse_loss(a, b) + F.mse_loss(c, b)", "F.mse_loss(c, b)", kLoss, "target") ==
        "b;b;");
  // A focus that is no call, operation or subscript tells nothing.
  CHECK(in_focus(sum, "a, b", kLoss, "target") == "");
}

TEST_CASE("a statement over several lines has the focus of the interpreter") {
  const auto text = [](const std::string&, int line) -> std::string {
    return line == 3 ? "    y = (F.mse_loss(a, b) +" : "         F.mse_loss(c, d))";
  };
  SourceLine line{"train.py", 3, ""};
  line.extent = {10, 3, 26};
  CHECK(CodeLine::at(text, line).focused()->calls.size() == 1);
  line.extent = {10, 4, 26};
  CHECK(CodeLine::at(text, line).focused()->operations.size() == 1);
  line.extent = {10, 9, 400};
  CHECK_FALSE(CodeLine::at(text, line).focused());
}

TEST_CASE("a refusal in Python names the variable that the line reads") {
  OpCall assigned = call_of("x", {"m", "p.grad"});
  assigned.op = "python::step";
  CHECK(operand_in("m.grad = p.grad", assigned, "p.grad") == "p.grad");
  CHECK(operand_in("p.grad = m.grad", assigned, "p.grad") == "");
  CHECK(operand_in("m.grad = p.grad + p.grad", assigned, "p.grad") == "");
  CHECK(operand_in("m.grad = p.grad.data", assigned, "p.grad") == "");
}

TEST_CASE("a list may be given one by one") {
  const OpCall sum = call_of("einsum", {"tensors[0]", "tensors[1]"});
  CHECK(operand_in("y = torch.einsum(\"bi,ij->bj\", x, self.w)", sum, "tensors[1]") == "self.w");
  CHECK(operand_in("y = torch.einsum(\"bi,ij->bj\", [x, w])", sum, "tensors[1]") == "w");
  CHECK(operand_in("y = torch.einsum(\"bi,ij->bj\", *both)", sum, "tensors[1]") == "");
}

TEST_CASE("what a line reads once more") {
  const auto again = [](const std::string& text, const std::string& operand) {
    const CodeLine line(text, false);
    return stands_again(line, operand_text(line, kProduct, *kProduct.operand(operand)));
  };
  CHECK(again("return torch.matmul(g, w), x.T + g", "self"));
  CHECK_FALSE(again("return torch.matmul(g, w), x.T + g.T", "self"));
  CHECK_FALSE(again("return torch.matmul(g, w), x.T + go", "other"));
}

TEST_CASE("names that a line binds") {
  const auto bound = [](const char* text) { return names_bound(CodeLine(text, false)); };
  using Names = std::vector<std::string>;
  CHECK(bound("    for features, prices in loader:") == Names{"features", "prices"});
  CHECK(bound("x, y = next(batches)") == Names{"x", "y"});
  CHECK(bound("for (x, y) in loader:") == Names{"x", "y"});
  CHECK(bound("loss = f(x)") == Names{"loss"});
  CHECK(bound("self.x, y = next(batches)").empty());
  CHECK(bound("for i, (x, y) in enumerate(loader):") == Names{"x", "y"});
  CHECK(bound("for (a, b), (c, d) in zip(one, other):").empty());
  CHECK(bound("for i, (x, (y, z)) in enumerate(loader):").empty());
  CHECK(bound("f(x)").empty());
}

TEST_CASE("what a line inverts") {
  const auto inverted_on = [](const char* text) {
    const CodeLine line(text, false);
    const auto span = inverted(line);
    return span ? std::string(line.text_of(*span)) : "";
  };
  CHECK(inverted_on("score = score.masked_fill(~mask, -1e9)") == "mask");
  CHECK(inverted_on("x = ~batch['mask'].view(1, -1) & other") == "batch['mask'].view(1, -1)");
  CHECK(inverted_on("x = ~(a > b)") == "(a > b)");
  CHECK(inverted_on("x = ~a & ~b").empty());  // which of them it was is not known
  CHECK(inverted_on("x = a ^ b").empty());
}

TEST_CASE("the only variable that the line bound which made the operand") {
  const CodeLine line("pred = unet(noisy(x), t, added=classes)", false);
  OpCall call = call_of("embedding", {"indices"});
  call.site.module = "unet.class_embedding";
  const auto input = [&](const std::vector<std::string>& made) {
    const auto found = module_input(line, call, call.operands.front(), made);
    return found ? std::string(line.text_of(found->argument)) : "";
  };
  CHECK(input({"images", "classes"}) == "classes");
  CHECK(input({"t", "classes"}).empty());
  CHECK(input({}).empty());
}

TEST_CASE("the keyword that a model hands to a part of it") {
  const auto handed = [](const char* text, const char* module, const char* operand) {
    const CodeLine line(text, false);
    OpCall call = call_of("embedding", {operand});
    call.site.module = module;
    const auto found = module_input(line, call, call.operands.front());
    return found ? std::string(line.text_of(found->argument)) : "";
  };
  constexpr const char* kLine = "pred = unet(noisy(x), t, class_labels=classes)";
  CHECK(handed(kLine, "unet.class_embedding", "indices") == "classes");
  CHECK(handed(kLine, "unet.time_embedding", "indices").empty());
  CHECK(handed(kLine, "unet.class_embedding", "weight").empty());
  CHECK(handed("loss = m(input_ids=x, labels=y).loss", "m.loss", "target") == "y");
}
