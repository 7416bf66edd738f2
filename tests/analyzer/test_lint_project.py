"""dtypecheck lint over the files of a project: checks in other files, headers in other folders.

usage: test_lint_project.py [--real-torch], which takes the LibTorch of .venv instead of the bundled one
"""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import tool  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
TORCH = "bundled"

KERNEL = """\
#include <torch/extension.h>
#include "scale.h"
void run(const float* x);
void scale_impl(at::Tensor x) {
  run(x.data_ptr<float>());
}
"""
HEADER = "#pragma once\n#include <torch/extension.h>\nvoid scale_impl(at::Tensor x);\nvoid forward_on(at::Tensor x);\n"
BINDING = """\
#include "scale.h"
void scale(at::Tensor x) {
  scale_impl(x);
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("scale", &scale); }
"""
CHECKED = BINDING.replace("  scale_impl", "  TORCH_CHECK(x.scalar_type() == at::kFloat);\n  scale_impl")
SUMS = """\
#pragma once
template <typename T>
__device__ void total(const T* x, T* out, int n) {
  T sum = 0;
  for (int i = 0; i < n; ++i) sum += x[i];
  *out = sum;
}
"""
LAUNCH = """\
#include <torch/extension.h>
#include "sums.cuh"
template <typename T>
__global__ void NAME(const T* x, T* out, int n) { total(x, out, n); }
void launch_NAME(at::Tensor x, at::Tensor out) {
  TORCH_CHECK(x.scalar_type() == out.scalar_type());
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "NAME", [&] {
    NAME<scalar_t><<<1, 1>>>(x.data_ptr<scalar_t>(), out.data_ptr<scalar_t>(), x.numel());
  });
}
"""

LAYER = """\
#pragma once
#include <torch/extension.h>
class Layer {
 public:
  explicit Layer(at::Tensor w);
  void set(at::Tensor w);
  void forward();
 private:
  at::Tensor weight_;
};
struct Params { at::Tensor weight; };
struct Config { at::ScalarType dtype = at::kFloat; };
"""
FORWARD = '#include "layer.h"\nvoid run(const float* x);\nvoid Layer::forward() { run(weight_.data_ptr<float>()); }\n'
MADE = '#include "layer.h"\nLayer::Layer(at::Tensor w) : weight_(w.to(at::kFloat)) {}\n'
SET = '#include "layer.h"\nvoid Layer::set(at::Tensor w) {\n  TORCH_CHECK(w.scalar_type() == at::kFloat);\n  weight_ = w;\n}\n'
READ_PARAMS = ('#include "layer.h"\nvoid run(const float* x);\n'
               "void apply(const Params& params) { run(params.weight.data_ptr<float>()); }\n")
FILL_PARAMS = '#include "layer.h"\nvoid fill(Params& params) { params.weight = at::zeros({1}, at::kHalf); }\n'


class AcrossFiles(tool.SharedCacheTest):
    def findings(self, *paths):
        done = self.run_tool("lint", "--torch", TORCH, "--format", "json", *(paths or ["."]))
        self.assertIn(done.status, (0, 1), done.err)
        return sorted((f["location"]["file"], f["location"]["line"], f["severity"], f["rule"])
                      for f in json.loads(done.out)["findings"])

    def project(self, **files):
        self.write("setup.py", "")
        self.write("csrc/scale.h", HEADER)
        self.write("csrc/scale.cpp", KERNEL)
        for name, text in files.items():
            self.write(f"csrc/{name}.cpp", text)

    def test_a_check_in_the_caller(self):
        self.project(binding=CHECKED)
        self.assertEqual(self.findings(), [])
        self.assertEqual(self.findings("csrc/scale.cpp"), [])  # its caller is looked up

    def test_callers_of_a_file_that_is_named_alone(self):
        self.project()
        self.assertEqual(self.findings("csrc/scale.cpp"), [("csrc/scale.cpp", 5, "note", "unchecked-data-ptr")])
        self.project(binding=BINDING)
        self.assertEqual(self.findings("csrc/scale.cpp"), [("csrc/scale.cpp", 5, "warning", "unchecked-data-ptr")])

    def test_a_pointer_that_another_file_casts(self):
        run = ("#include <cuda_fp16.h>\nvoid kernel(const __half* x, const float* w);\n"
               "void run(const void* x, const void* w) {\n  kernel((const __half*)x, (const float*)w);\n}\n")
        op = ("#include <torch/extension.h>\nvoid run(const void* x, const void* w);\nvoid op(at::Tensor x, at::Tensor w) {\n"
              "  TORCH_CHECK(w.scalar_type() == at::kFloat);\n  run(x.data_ptr(), w.data_ptr());\n}\n"
              'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("op", &op); }\n')
        self.write("setup.py", "")
        self.write("csrc/op.cpp", op)
        self.write("csrc/run.cpp", run)
        self.assertEqual(self.findings("csrc/op.cpp"), [("csrc/op.cpp", 5, "error", "raw-cast")])
        self.write("csrc/op.cpp", op.replace("TORCH_CHECK(", "TORCH_CHECK(x.scalar_type() == at::kHalf && "))
        self.assertEqual(self.findings("csrc/op.cpp"), [])

    def test_a_caller_that_does_not_check(self):
        self.project(binding=BINDING)
        self.assertEqual(self.findings(), [("csrc/scale.cpp", 5, "warning", "unchecked-data-ptr")])

    def test_one_of_two_callers_checks(self):
        self.project(binding=CHECKED, other=BINDING.replace("scale(at", "other(at").replace("&scale", "&other"))
        self.assertEqual(self.findings(), [("csrc/scale.cpp", 5, "warning", "unchecked-data-ptr")])

    def test_bound_in_another_file(self):
        self.project(binding='#include "scale.h"\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("scale", &scale_impl); }\n')
        self.assertEqual(self.findings(), [("csrc/scale.cpp", 5, "warning", "unchecked-data-ptr")])

    def test_a_wrapper_that_forwards(self):
        wrapper = '#include "scale.h"\nvoid forward_on(at::Tensor y) { scale_impl(y.contiguous()); }\n'
        self.project(wrapper=wrapper, binding=CHECKED.replace("  scale_impl", "  forward_on"))
        self.assertEqual(self.findings(), [])
        self.write("csrc/binding.cpp", BINDING.replace("  scale_impl", "  forward_on"))
        self.assertEqual(self.findings(), [("csrc/scale.cpp", 5, "warning", "unchecked-data-ptr")])

    def test_two_tensors_of_one_dtype(self):
        header = "#pragma once\n#include <torch/extension.h>\nvoid add_impl(at::Tensor x, at::Tensor y);\n"
        kernel = ('#include "add.h"\ntemplate <typename T>\nvoid run(T* x, T* y);\nvoid add_impl(at::Tensor x, at::Tensor y) {\n'
                  '  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "add", [&] {\n'
                  "    run(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>());\n  });\n}\n")
        binding = ('#include "add.h"\nvoid add(at::Tensor a, at::Tensor b) {\n  CHECK\n  add_impl(a, b);\n}\n'
                   'PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("add", &add); }\n')
        self.write("setup.py", "")
        self.write("add.h", header)
        self.write("add.cpp", kernel)
        self.write("binding.cpp", binding.replace("CHECK", "TORCH_CHECK(a.scalar_type() == b.scalar_type());"))
        self.assertEqual(self.findings(), [])
        self.write("binding.cpp", binding.replace("CHECK", "TORCH_CHECK(a.dim() == b.dim());"))
        self.assertEqual(self.findings(), [("add.cpp", 6, "warning", "dispatch-other-tensor-unchecked")])

    def test_headers_of_the_project_are_judged_once(self):
        self.write("setup.py", "")
        self.write("csrc/common/cuda/sums.cuh", SUMS)
        for name in ("first", "second"):
            self.write(f"csrc/ops/{name}.cu", LAUNCH.replace("NAME", name))
        self.assertEqual(self.findings(), [("csrc/common/cuda/sums.cuh", 5, "warning", "half-accumulation")])

    def test_headers_of_others_are_not(self):
        self.write("setup.py", "")
        self.write("third_party/cuda/sums.cuh", SUMS)
        self.write("csrc/ops/first.cu", LAUNCH.replace("NAME", "first"))
        self.assertEqual(self.findings("csrc"), [])

    def test_a_function_of_a_header_is_judged_in_its_callers(self):
        self.write("setup.py", "")
        self.write("util/read.h", "#pragma once\n#include <torch/extension.h>\n"
                                  "inline const float* floats(at::Tensor x) { return x.data_ptr<float>(); }\n")
        self.write("a.cpp", '#include "util/read.h"\nvoid run(const float* x);\nvoid a(at::Tensor x) {\n'
                            "  TORCH_CHECK(x.scalar_type() == at::kFloat);\n  run(floats(x));\n}\n")
        self.write("b.cpp", '#include "util/read.h"\nint b() { return 1; }\n')
        self.assertEqual(self.findings(), [])
        self.write("a.cpp", '#include "util/read.h"\nint a() { return 1; }\n')
        self.assertEqual(self.findings(), [("util/read.h", 3, "note", "unchecked-data-ptr")])

    def layer(self, **files):
        self.write("setup.py", "")
        self.write("layer.h", LAYER)
        for name, text in files.items():
            self.write(f"{name}.cpp", text)

    def test_a_field_that_each_file_checks(self):
        self.layer(forward=FORWARD, made=MADE, set=SET)
        self.assertEqual(self.findings(), [])

    def test_a_field_that_one_file_does_not_check(self):
        self.layer(forward=FORWARD, made=MADE, set=SET.replace("  TORCH_CHECK(w.scalar_type() == at::kFloat);\n", ""))
        self.assertEqual(self.findings(), [("forward.cpp", 3, "note", "unchecked-data-ptr")])

    def test_a_field_of_another_dtype(self):
        self.layer(forward=FORWARD, made=MADE.replace("kFloat", "kHalf"), set=SET.replace("kFloat", "kHalf"))
        self.assertEqual(self.findings(), [("forward.cpp", 3, "error", "unchecked-data-ptr")])

    def test_a_method_that_is_not_in_the_run(self):
        self.layer(forward=FORWARD, made=MADE.replace("kFloat", "kHalf"))
        self.assertEqual(self.findings(), [("forward.cpp", 3, "note", "unchecked-data-ptr")])

    def test_a_struct_that_one_file_fills(self):
        self.layer(read=READ_PARAMS, fill=FILL_PARAMS)
        self.assertEqual(self.findings(), [("read.cpp", 3, "error", "unchecked-data-ptr")])
        self.write("other/more.cpp", "int more() { return 1; }\n")
        self.assertEqual(self.findings("read.cpp", "fill.cpp"), [("read.cpp", 3, "note", "unchecked-data-ptr")])

    def test_a_struct_that_python_may_fill(self):
        bind = ('#include "layer.h"\nvoid set_by_python(at::Tensor Params::*field);\n'
                "void bind() { set_by_python(&Params::weight); }\n")
        self.layer(read=READ_PARAMS, fill=FILL_PARAMS, bind=bind)
        self.assertEqual(self.findings(), [("read.cpp", 3, "note", "unchecked-data-ptr")])

    def test_options_that_another_file_sets(self):
        make = ('#include "layer.h"\nvoid run(const float* x);\nvoid make(const Config& config) {\n'
                "  at::Tensor x = at::empty({1}, config.dtype);\n  run(x.data_ptr<float>());\n}\n")
        self.layer(make=make.replace("float", "at::Half"))
        self.assertEqual(self.findings(), [("make.cpp", 5, "error", "unchecked-data-ptr")])
        self.layer(set='#include "layer.h"\nvoid set(Config& config, at::ScalarType dtype) { config.dtype = dtype; }\n')
        self.assertEqual(self.findings(), [])

    def test_a_module_that_another_file_casts(self):
        net = ('#include "net.h"\nvoid run(const float* x);\n'
               "void Net::forward() { run(table_.data_ptr<float>()); }\n")
        self.write("setup.py", "")
        self.write("net.h", "#pragma once\n#include <torch/extension.h>\nstruct Net : torch::nn::Module {\n"
                            '  Net() { table_ = register_buffer("table", torch::zeros({4}, at::kHalf)); }\n'
                            "  void forward();\n  at::Tensor table_;\n};\n")
        self.write("net.cpp", net)
        self.assertEqual(self.findings(), [("net.cpp", 3, "error", "unchecked-data-ptr")])
        self.write("cast.cpp", '#include "net.h"\nvoid cast(Net& net) { net.to(torch::kFloat); }\n')
        self.assertEqual(self.findings(), [("net.cpp", 3, "note", "unchecked-data-ptr")])

    def model(self, forward="return fc2(torch::relu(fc1(x)));", before="", given="torch::ones({2, 4})"):
        """A module, its body and its caller, a file each."""
        self.write("setup.py", "")
        self.write("net.h", "#pragma once\n#include <torch/torch.h>\nstruct NetImpl : torch::nn::Module {\n"
                            "  NetImpl();\n  torch::Tensor forward(torch::Tensor x);\n"
                            "  torch::nn::Linear fc1, fc2;\n};\nTORCH_MODULE(Net);\n")
        self.write("net.cpp", f'#include "net.h"\nNetImpl::NetImpl() : fc1(4, 4), fc2(4, 4) {{}}\n'
                              f"torch::Tensor NetImpl::forward(torch::Tensor x) {{\n  {forward}\n}}\n")
        self.write("main.cpp", f'#include "net.h"\nint main() {{\n  Net net;\n  {before}\n  net->forward({given});\n}}\n')

    def test_what_a_layer_in_another_file_is_given(self):
        self.model()
        self.assertEqual(self.findings(), [])
        self.model(given="torch::ones({2, 4}, torch::kDouble)")
        self.assertEqual(self.findings(), [("net.cpp", 4, "error", "mixed-operands")])
        self.model(before="net->to(torch::kDouble);")
        self.assertEqual(self.findings(), [("net.cpp", 4, "error", "mixed-operands")])
        self.model(before="net->to(torch::kDouble);", given="torch::ones({2, 4}, torch::kDouble)")
        self.assertEqual(self.findings(), [])

    def test_an_object_that_runs_a_model_in_another_file(self):
        """Its header has no guard; what main() gives its constructor is known in its functions."""
        self.write("setup.py", "")
        self.write("agent.h", "#include <torch/torch.h>\nstruct Agent {\n  explicit Agent(torch::Dtype dtype);\n  void learn();\n"
                              "  torch::Tensor seen;\n  torch::nn::Linear net;\n};\n")
        self.write("agent.cpp", '#include "agent.h"\nAgent::Agent(torch::Dtype dtype) : seen(torch::zeros({4, 4}, dtype)), net(4, 4) {}\n'
                                "void Agent::learn() {\n  net->forward(seen);\n}\n")
        for dtype, found in (("kHalf", [("agent.cpp", 4, "error", "mixed-operands")]), ("kFloat", [])):
            self.write("main.cpp", f'#include "agent.h"\nint main() {{\n  Agent agent(torch::{dtype});\n  agent.learn();\n}}\n')
            self.assertEqual(self.findings(), found)

    def test_what_a_forward_in_another_file_makes(self):
        """Told once, where it stands, with the call that leads there; of two programs, too."""
        bf16 = {"before": "net->to(torch::kBFloat16);", "given": "torch::ones({2, 4}, torch::kBFloat16)"}
        self.model(forward="return fc2(fc1(x) + torch::zeros({2, 4}));", **bf16)
        self.write("eval.cpp", (self.work / "main.cpp").read_text())
        done = self.run_tool("lint", "--torch", TORCH, "--format", "json", ".")
        found = json.loads(done.out)["findings"]
        self.assertEqual([f["location"]["line"] for f in found if f["severity"] == "error"], [4])
        self.assertIn(("eval.cpp", 5), [(p["file"], p["line"]) for f in found for p in f["places"]])
        self.model(forward="return fc2(fc1(x) + torch::zeros({2, 4}, x.options()));", **bf16)
        self.write("eval.cpp", (self.work / "main.cpp").read_text())
        self.assertEqual(self.findings(), [])

    def test_what_a_cast_loses_of_what_another_file_gives(self):
        for given, found in (("torch::rand({2, 4})", [("net.cpp", 4, "warning", "float-literal-tensor-promotion")]),
                             ("torch::rand({2, 4}).round()", [])):
            self.model(forward="return fc2(fc1(x + x.to(torch::kInt) * 0.5));", given=given)
            self.assertEqual(self.findings(), found)

    def test_the_file_that_makes_a_model_by_itself(self):
        """The body of the model's functions is looked up in the project."""
        for given, found in (("torch::ones({2, 4})", [("net.cpp", 4, "error", "mixed-operands")]),
                             ("torch::ones({2, 4}, torch::kBFloat16)", [])):
            self.model(before="net->to(torch::kBFloat16);", given=given)
            self.assertEqual(self.findings("main.cpp"), found)
            self.assertEqual(self.findings("--alone", "main.cpp"), [])

    def is_parsed(self, name):
        known = [path.read_text() for path in pathlib.Path(self.cache, "dtypecheck/lint").glob("*.facts")]
        return any(f"\t{self.work}/{name}\n" in text for text in known)

    def test_a_file_that_only_calls_what_is_looked_for(self):
        """It is not parsed, unless it may cast a model, has a body of the class, or calls the named file."""
        use = '#include "net.h"\nvoid use_NAME(NetImpl& net) {\n  net.forward(torch::ones({2, 4}));\n}\n'
        self.model()
        self.write("main.cpp", (self.work / "main.cpp").read_text() + "int count() { return 1; }\n")
        for name, text, found in (("calls", use, False), ("casts", use.replace("net.f", "net.to(torch::kDouble);\n  net.f"), True),
                                  ("body", use + "int NetImpl::more() { return 1; }\n", True), ("made", use + "int NetImpl() { return 1; }\n", True),
                                  ("back", use.replace("  net", "  count();\n  net"), True)):
            self.write(f"{name}.cpp", text.replace("NAME", name))
            self.findings("main.cpp")
            self.assertEqual(self.is_parsed(f"{name}.cpp"), found, name)

    def test_a_model_that_another_file_makes(self):
        for given, found in ((", torch::kDouble", []), ("", [("net.cpp", 4, "error", "mixed-operands")])):
            self.model()
            self.write("make.cpp", '#include "net.h"\nNet make() {\n  Net net;\n  net->to(torch::kDouble);\n  return net;\n}\n')
            self.write("main.cpp", '#include "net.h"\nNet make();\nint main() {\n  auto net = make();\n'
                                   f"  net->forward(torch::ones({{2, 4}}{given}));\n}}\n")
            self.assertEqual(self.findings(), found)

    def test_inputs_that_another_file_makes(self):
        for options, found in (("", []), (", torch::kDouble", [("net.cpp", 4, "error", "mixed-operands")])):
            self.model()
            self.write("load.cpp", f'#include "net.h"\ntorch::Tensor load() {{ return torch::ones({{2, 4}}{options}); }}\n')
            self.write("main.cpp", '#include "net.h"\ntorch::Tensor load();\nint main() {\n  Net net;\n  net->forward(load());\n}\n')
            self.assertEqual(self.findings(), found)

    def test_a_program_of_tensors_alone(self):
        """What runs no module is read as one too where it is a program: a library's callers are not known."""
        self.write("use.h", "#pragma once\n#include <torch/torch.h>\ntorch::Tensor use(torch::Tensor x);\ntorch::Tensor load();\n")
        self.write("use.cpp", '#include "use.h"\ntorch::Tensor use(torch::Tensor x) {\n'
                              "  return torch::mm(x, torch::ones({4, 4}, torch::kHalf));\n}\n")
        error = [("use.cpp", 3, "error", "mixed-operands")]
        for dtype, function, found in (("kHalf", "main", []), ("kDouble", "main", error), ("kDouble", "run", [])):
            self.write("load.cpp", f'#include "use.h"\ntorch::Tensor load() {{ return torch::ones({{2, 4}}, torch::{dtype}); }}\n')
            self.write("main.cpp", f'#include "use.h"\nint {function}() {{\n  use(load());\n  return 0;\n}}\n')
            self.assertEqual(self.findings(), found)

    def test_programs_of_one_repository_whose_models_have_one_name(self):
        for name, cast in (("one", "torch::kHalf"), ("two", "torch::kFloat")):
            self.model(forward=f"return fc2(fc1(x).to({cast}));", given="torch::ones({2, 4}, torch::kFloat)")
            for file in ("net.h", "net.cpp", "main.cpp"):
                self.write(f"{name}/{file}", (self.work / file).read_text())
        for file in ("net.h", "net.cpp", "main.cpp"):
            (self.work / file).unlink()
        self.assertEqual(self.findings(), [("one/net.cpp", 4, "error", "mixed-operands")])

    def test_a_program_beside_one_whose_model_has_its_name(self):
        """What the other one does with its own model is not looked up; one that includes the first one's header is a part of it."""
        for of_model, found in (('"net.h"', []), ('"../one/net.h"', [("one/net.cpp", 4, "error", "mixed-operands")])):
            self.model()
            for file in ("net.h", "net.cpp"):
                for folder in ("one", "two"):
                    self.write(f"{folder}/{file}", (self.work / file).read_text())
                (self.work / file).unlink()
            (self.work / "main.cpp").unlink()
            self.write("two/cast.cpp", f"#include {of_model}\nvoid cast(Net net) {{ net->to(torch::kHalf); }}\n")
            self.write("one/main.cpp", '#include "net.h"\nvoid cast(Net net);\nint main() {\n  Net net;\n  cast(net);\n'
                                       "  net->forward(torch::ones({2, 4}));\n}\n")
            self.assertEqual(self.findings("one/main.cpp"), found)

    def test_files_that_cannot_be_read_as_one(self):
        """A helper of one name each is no reason; a macro that one leaves behind is: what the call gives is judged at the call."""
        self.model(given="torch::ones({2, 4}, torch::kDouble)")
        for file in ("net.cpp", "main.cpp"):
            self.write(file, (self.work / file).read_text() +
                       "static int helper() { return 1; }\nnamespace { struct Own {}; const int kOwn = 2; }\n")
        self.assertEqual(self.findings(), [("net.cpp", 4, "error", "mixed-operands")])
        net, main = ((self.work / file).read_text() for file in ("net.cpp", "main.cpp"))
        self.write("net.cpp", net + "#define unused 1 +\n")
        self.assertEqual(self.findings(), [("net.cpp", 4, "error", "mixed-operands")])
        self.write("net.cpp", net + "#define main 1 +\n")
        self.assertEqual(self.findings(), [("main.cpp", 5, "error", "mixed-operands")])
        self.write("main.cpp", main.replace("kDouble", "kFloat"))
        self.assertEqual(self.findings(), [])

    def test_a_forward_that_casts_what_it_is_given(self):
        self.model(forward="return fc1(x.to(torch::kFloat));", given="torch::ones({2, 4}, torch::kDouble)")
        self.assertEqual(self.findings(), [])

    def test_a_cast_inside_a_forward_whose_module_is_made_elsewhere(self):
        self.model(forward="return fc2(fc1(x).to(torch::kHalf));")
        self.assertEqual(self.findings(), [("net.cpp", 4, "error", "mixed-operands")])
        self.model(forward="return fc2(fc1(x).to(torch::kHalf));", before="net->fc2->to(torch::kHalf);")
        self.assertEqual(self.findings(), [])
        self.model(forward="return fc2(fc1(x).to(torch::kHalf));")
        self.assertEqual(self.findings("--alone", "net.cpp"), [])

    def test_a_module_that_comes_from_outside_where_a_file_casts_one(self):
        self.model(before="train(net);")
        self.write("train.cpp", '#include "net.h"\nvoid train(Net& net) { net->fc1(torch::ones({2, 4}, torch::kHalf)); }\n')
        self.assertEqual(self.findings(), [("train.cpp", 2, "error", "mixed-operands")])
        self.assertEqual(self.findings("--alone", "train.cpp"), [])
        for cast in ("net->to(torch::kHalf);", "torch::set_default_dtype(torch::scalarTypeToTypeMeta(torch::kHalf));",
                     "auto type = torch::kHalf; net->to(torch::kCPU, type);"):
            self.model(before=cast)
            self.assertEqual([f for f in self.findings() if f[0] == "train.cpp"], [], cast)
        self.model(before="net->to(torch::kFloat);")
        self.assertEqual(self.findings(), [("train.cpp", 2, "error", "mixed-operands")])

    def test_the_default_dtype_of_a_program(self):
        """Modules that no file casts have it; two of them, and one that is not known, say nothing."""
        for default, found in (("torch::scalarTypeToTypeMeta(torch::kDouble)", True), ("caffe2::TypeMeta::Make<double>()", True),
                               ("caffe2::TypeMeta::Make<float>()", False), ("chosen()", None)):
            self.model()
            self.write("main.cpp", f'#include "net.h"\nint main() {{\n  torch::set_default_dtype({default});\n  Net net;\n  train(net);\n}}\n')
            self.write("net.h", (self.work / "net.h").read_text() + "caffe2::TypeMeta chosen();\nvoid train(Net& net);\n")
            self.write("train.cpp", '#include "net.h"\nvoid train(Net& net) {\n  net->fc1(torch::ones({2, 4}, torch::kDouble));\n'
                                    "  net->fc1(torch::ones({2, 4}, torch::kHalf));\n"
                                    "  net->fc1(torch::ones({2, 4}, torch::kFloat));\n}\n")
            lines = {None: [], True: [4, 5], False: [3, 4]}[found]
            self.write("number.cpp", '#include "net.h"\ntorch::Tensor number(double x) { return torch::tensor(x); }\n')
            self.assertEqual("number.cpp" in {f[0] for f in self.findings()}, not found, default)
            self.assertEqual(sorted({f[1] for f in self.findings() if f[0] == "train.cpp"}), lines, default)

    def test_a_file_that_changes_what_a_field_holds(self):
        self.layer(forward=FORWARD, made=MADE, set=SET)
        for text, found in ((MADE, []), (MADE.replace("kFloat", "kHalf"), ["note"]), (MADE, [])):
            self.write("made.cpp", text)
            self.assertEqual([severity for _, _, severity, _ in self.findings()], found)


if __name__ == "__main__":
    if "--real-torch" in sys.argv:
        sys.argv.remove("--real-torch")
        found = sorted(ROOT.glob(".venv/lib/python3*/site-packages/torch"))
        if not found:
            print("skipped: no torch in .venv; scripts/setup puts it there")
            sys.exit(77)
        TORCH = str(found[0])
    unittest.main()
