"""What `lint --fix` writes: where its checks stand, that it is done after one run, that the files compile.

usage: test_fixes.py [--real-torch]

--real-torch applies the cures of every case of this folder and compiles the files with the headers of .venv's LibTorch.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import unittest

from run_cases import HERE, ROOT, all_ids, skip, write_example

DTYPECHECK = os.environ["DTYPECHECK"]
IS_FLOAT = 'TORCH_CHECK({0}.scalar_type() == at::kFloat, "{0} must be Float, got ", {0}.scalar_type());'
HEAD = """#include <torch/extension.h>

#define CHECK_CPU(x) TORCH_CHECK(x.device().is_cpu(), #x " must be on the CPU")

void run(const float* x, const float* w, int64_t n);
void count(const int* x, int64_t n);
template <typename T>
void typed(const T* q, const T* k, const float* scale);
"""


def lint(*arguments):
    done = subprocess.run([DTYPECHECK, "lint", "--alone", "--torch", "bundled", *map(str, arguments)], capture_output=True,
                          text=True, timeout=600)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr)
    return done.stdout


def findings(path, level="warning"):
    found = json.loads(lint("--all", "--format", "json", path))["findings"]
    levels = ["note", "warning", "error"]
    return [f for f in found if levels.index(f["severity"]) >= levels.index(level)]


# A function f each, with the checks that are to be inserted as `+  [tensor]`.
CHECKS = {
    "one check serves all reads below it": """
at::Tensor f(at::Tensor x, at::Tensor w) {
  CHECK_CPU(x);
  CHECK_CPU(w);
+  [x]
+  [w]
  // how many rows
  const int64_t n = x.size(0);
  auto out = at::empty_like(x);
  for (int i = 0; i < 3; ++i) run(x.data_ptr<float>(), w.data_ptr<float>(), n);
  run(x.data_ptr<float>(), w.data_ptr<float>(), n);
  if (n > 3) {
    run(x.data_ptr<float>(), w.data_ptr<float>(), n);
  }
  return out;
}
""",
    "what leaves before the read is served": """
void f(at::Tensor x) {
  const int64_t n = x.numel();
  if (n == 0) return;
+  [x]
  run(x.data_ptr<float>(), x.data_ptr<float>(), n);
}
""",
    "the other branch serves all dtypes": """
void f(at::Tensor x, bool fast) {
  if (fast) {
+    [x]
    run(x.data_ptr<float>(), nullptr, 1);
  } else {
    count(nullptr, 1);
  }
}
""",
    "every case of the dispatch reads it": """
void f(at::Tensor q, at::Tensor scale) {
+  [scale]
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, q.scalar_type(), "f", [&] {
    typed(q.data_ptr<scalar_t>(), q.data_ptr<scalar_t>(), scale.data_ptr<float>());
  });
}
""",
    "one case of the dispatch reads it": """
void f(at::Tensor q, at::Tensor scale) {
  AT_DISPATCH_SWITCH(q.scalar_type(), "f", AT_DISPATCH_CASE(at::kFloat, [&] {
+    [scale]
    typed(q.data_ptr<scalar_t>(), q.data_ptr<scalar_t>(), scale.data_ptr<float>());
  }) AT_DISPATCH_CASE(at::kHalf, [&] {
    typed(q.data_ptr<scalar_t>(), q.data_ptr<scalar_t>(), nullptr);
  }) AT_DISPATCH_CASE(at::kBFloat16, [&] {
    typed(q.data_ptr<scalar_t>(), q.data_ptr<scalar_t>(), nullptr);
  }));
}
""",
    "the dtype is asked for further down": """
void f(at::Tensor x, at::Tensor y) {
  const auto* p = static_cast<const float*>(x.data_ptr());
  const bool is_half = x.scalar_type() == at::kHalf;
  if (is_half) count(nullptr, 1);
  if (!is_half) run(p, p, 1);
}
""",
    "the tensor is another one above": """
void f(at::Tensor x, at::Tensor w, bool cast) {
  if (cast) x = x.unsqueeze(0);
+  [x]
  run(x.data_ptr<float>(), nullptr, 1);
}
""",
    "a template's type is its callers'": """
template <typename T>
void g(at::Tensor x) {
  typed(x.data_ptr<T>(), x.data_ptr<T>(), nullptr);
}
void f(at::Tensor x, at::Tensor y) {
  g<float>(x);
  g<double>(y);
}
""",
    "one side is not evaluated": """
void f(at::Tensor x, at::Tensor w, bool has) {
  run(nullptr, has ? w.data_ptr<float>() : nullptr, 1);
  if (has && x.data_ptr<float>()[0] == 0) count(nullptr, 0);
  const bool is_zero = has && x.data_ptr<float>()[0] == 0;
  if (is_zero) count(nullptr, 1);
}
""",
    "an optional is asked where it is there": """
void f(at::Tensor x, c10::optional<at::Tensor> b) {
+  [x]
  const float* bias = nullptr;
  if (b.has_value()) {
+    [b.value()]
    bias = b.value().data_ptr<float>();
  }
  run(x.data_ptr<float>(), bias, 1);
}
""",
    "another build reads another dtype": """
void f(at::Tensor x) {
  const int64_t n = x.numel();
#ifdef WITH_DOUBLE
  typed(x.data_ptr<double>(), x.data_ptr<double>(), nullptr);
#else
+  [x]
  run(x.data_ptr<float>(), nullptr, n);
#endif
}
""",
    "one check serves all branches": """
void f(at::Tensor x, at::Tensor w, bool fast, int64_t n) {
+  [x]
  if (fast) {
    // vectors
    if (n > 3) {
+      [w]
      run(x.data_ptr<float>(), w.data_ptr<float>(), 4);
    } else {
      run(x.data_ptr<float>(), nullptr, n);
    }
  } else if (n > 100) {
    run(x.data_ptr<float>(), nullptr, 100);
  } else {
    n += 1;
    run(x.data_ptr<float>(), nullptr, n);
  }
}
""",
    "a branch that is not there serves all dtypes": """
void f(at::Tensor x, bool fast, int64_t n) {
  if (fast) {
+    [x]
    run(x.data_ptr<float>(), nullptr, n);
  } else if (n > 100) {
+    [x]
    run(x.data_ptr<float>(), nullptr, 100);
  }
}
""",
    "a check in a loop stands before it, above its pragmas": """
void f(at::Tensor x, at::Tensor w, int64_t n) {
+  [x]
#pragma omp parallel for
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      const float* row = x.data_ptr<float>() + i;
      run(row, nullptr, j);
    }
  }
  for (at::Tensor y = w; n > 0; --n) {
+    [y]
    run(y.data_ptr<float>(), nullptr, n);
  }
}
""",
    "tabs": """
void f(at::Tensor x) {
\tif (x.dim() > 1) {
+\t\t[x]
\t\trun(x.data_ptr<float>(), nullptr, 1);
\t}
}
""",
}


class Fixes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="dtypecheck-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def test_where_checks_stand(self):
        paths, wanted = {}, {}
        for number, (case, body) in enumerate(CHECKS.items()):
            lines = [line for line in body.splitlines() if not line.startswith("+")]
            with_checks = []
            for line in body.splitlines():
                if line.startswith("+"):
                    indent, name = line[1:].rstrip("]").split("[")
                    line = indent + IS_FLOAT.format(name)
                with_checks.append(line)
            tail = "\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def(\"f\", &f); }\n"
            paths[case] = self.file(f"case{number}.cpp", HEAD + "\n".join(lines) + tail)
            wanted[case] = (HEAD + "\n".join(with_checks) + tail).splitlines()
        lint("--fix", *paths.values())
        for case, path in paths.items():
            with self.subTest(case):
                self.assertEqual(path.read_text().splitlines(), wanted[case])
        self.assertIn("0 findings cured", lint("--fix", *paths.values()))

    def test_casts_of_what_a_model_is_given(self):
        """The dtype that is written, or one that the model has; what is written twice, or behind a macro, stays."""
        lines = {
            "net->forward(images.to(torch::kDouble));": "net->forward(images.to(torch::kFloat));",
            "net(torch::zeros({2, 4}, torch::kDouble));": "net(torch::zeros({2, 4}, torch::kFloat));",
            "net->forward(wide);": "net->forward(wide.to(net->weight.dtype()));",
            "net->forward(wide * 2);": "net->forward((wide * 2).to(net->weight.dtype()));",
            "layers->forward(wide);": "layers->forward(wide.to(layers->parameters()[0].dtype()));",
            "torch::nll_loss(scores, labels);": "torch::nll_loss(scores, labels.to(torch::kLong));",
            "torch::nll_loss(scores, labels.to(torch::kByte).to(at::kInt));":
                "torch::nll_loss(scores, labels.to(torch::kByte).to(at::kLong));",
            "scores.index_select(0, ids);": "scores.index_select(0, ids.to(torch::kLong));",
            "scores.gather(1, torch::zeros({2, 1}));": "scores.gather(1, torch::zeros({2, 1}).to(torch::kLong));",
            "torch::mm(narrow, wide);": "torch::mm(narrow, wide.to(narrow.dtype()));",
            "torch::mm(narrow * 2, wide);": "torch::mm(narrow * 2, wide.to(torch::kFloat));",
            "ONCE(net->forward(wide)), run(nullptr, nullptr, 0), net->forward(wide);": None,
        }
        head = HEAD + """
#define ONCE(x) (void)(x)
void f(torch::nn::Linear net, torch::nn::Sequential layers, at::Tensor images) {
  at::Tensor wide = torch::ones({2, 4}, torch::kDouble);
  at::Tensor scores = torch::rand({2, 3}), narrow = images.to(torch::kFloat);
  at::Tensor labels = torch::zeros({2}, torch::kInt);
  at::Tensor ids = torch::rand({2});
"""
        self.file("setup.py", "")
        path = self.file("a.cpp", head + "".join(f"  {line}\n" for line in lines) + "}\n")
        with_neighbours = subprocess.run([DTYPECHECK, "lint", "--torch", "bundled", "--fix", path], capture_output=True, text=True)
        self.assertIn(f"{len(lines) - 1} findings cured", with_neighbours.stdout)
        fixed = [line.strip() for line in path.read_text().splitlines()[len(head.splitlines()):-1]]
        self.assertEqual(fixed, [after or before for before, after in lines.items()])
        again = subprocess.run([DTYPECHECK, "lint", "--torch", "bundled", "--all", "--format", "json", path], capture_output=True, text=True)
        self.assertEqual({f["location"]["line"] for f in json.loads(again.stdout)["findings"] if f["severity"] == "error"},
                         {len(head.splitlines()) + len(lines)})

    def test_the_dtype_of_a_factory(self):
        """A tensor that is seen where it is made says it, and cures what follows; one whose dtype is written is cast where it is used."""
        head = HEAD + ("at::Tensor made_elsewhere() {\n  return torch::zeros({4, 4});\n}\n"
                       "void f() {\n  at::Tensor x = torch::ones({4, 4}, torch::kHalf);\n  { at::Tensor inner = x; }\n")
        tail = "  at::Tensor scores = x * 2 + mask;\n  torch::matmul(scores.softmax(-1), x);\n}\n"
        for made, fixed in (("torch::zeros({4, 4})", "torch::zeros({4, 4}, x.options())"),
                            ("torch::zeros({4, 4}, torch::kFloat)", None), ("made_elsewhere()", None)):
            path = self.file("a.cpp", f"{head}  at::Tensor mask = {made};\n{tail}")
            command = [DTYPECHECK, "lint", "--torch", "bundled", "--format", "json", path]
            found = json.loads(subprocess.run(command, capture_output=True, text=True).stdout)["findings"]
            cause, refusal = sorted(found, key=lambda finding: finding["location"]["line"])
            self.assertEqual([refusal["follows"], refusal["severity"], cause["severity"]], [cause["id"], "error", "error"])
            self.assertEqual(cause["fix"].startswith("give zeros x.options(), "), fixed is not None, cause["fix"])
            subprocess.run([*command, "--fix"], capture_output=True)
            self.assertEqual(path.read_text(), f"{head}  at::Tensor mask = {fixed or made};\n{tail}")
            left = json.loads(subprocess.run(command, capture_output=True, text=True).stdout)["findings"]
            self.assertEqual(len(left), 0 if fixed else 2, left)

    def test_two_cures_in_one_place(self):
        path = self.file("a.cpp", HEAD + """
void f(at::Tensor q, at::Tensor k, at::Tensor scale) {
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, q.scalar_type(), "f", [&] {
    typed((scalar_t*)q.data_ptr(), (scalar_t*)k.data_ptr(), scale.data_ptr<float>());
  });
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("f", &f); }
""")
        self.assertIn("2 findings cured", lint("--fix", path))
        self.assertEqual(findings(path), [])

    def test_no_line_ends_in_a_blank(self):
        path = self.file("a.cpp", HEAD + """
void f(at::Tensor x) {
  AT_DISPATCH_FLOATING_TYPES(
      x.scalar_type(), "f", [&] { typed(x.data_ptr<scalar_t>(), x.data_ptr<scalar_t>(), nullptr); });
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("f", &f); }
""")
        self.assertIn("1 finding cured", lint("--fix", path))
        self.assertIn("  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16,\n      x.scalar_type()", path.read_text())

    def test_a_cure_that_does_not_compile_is_taken_back(self):
        """The kernel has no overload for Half: with the wider dispatch the file would be broken."""
        text = HEAD + """
void scale(float* x);
void scale(double* x);
void f(at::Tensor x, at::Tensor w) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "f", [&] { scale(x.data_ptr<scalar_t>()); });
  run(w.data_ptr<float>(), nullptr, 1);
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("f", &f); }
"""
        path = self.file("a.cpp", text)
        out = lint("--fix", path)
        self.assertIn("1 finding cured", out)
        self.assertIn("a.cpp:13: not cured: the file would not compile with the cure", " ".join(out.split()))
        fixed = path.read_text()
        self.assertIn("AT_DISPATCH_FLOATING_TYPES(x", fixed)
        self.assertIn(IS_FLOAT.format("w"), fixed)


def compile_all(paths, folder):
    """Those that do not compile with LibTorch's own headers."""
    torch = next(iter(sorted(ROOT.glob(".venv/lib/python3*/site-packages/torch"))), None)
    clang = shutil.which("clang++-19")
    if torch is None or clang is None:
        skip("no torch in .venv, or no clang++-19")
    include = torch / "include"
    command = [clang, "-std=c++20", "-w", "-DTORCH_EXTENSION_NAME=cases", "-isystem", include, "-isystem",
               include / "torch/csrc/api/include", "-isystem", sysconfig.get_paths()["include"]]
    pch = pathlib.Path(folder) / "torch.pch"
    if not pch.exists():
        subprocess.run([*command, "-x", "c++-header", include / "torch/extension.h", "-o", pch], check=True)
    broken = {}
    for path in paths:
        done = subprocess.run([*command, "-fsyntax-only", "-include-pch", pch, path], capture_output=True, text=True)
        if done.returncode != 0:
            broken[path] = done.stderr
    return broken


def fix_and_compile():
    with tempfile.TemporaryDirectory(prefix="dtypecheck-test-") as folder:
        paths = [pathlib.Path(folder) / f"{case.parent.name}.{case.name}" for case in sorted(HERE.glob("*/*.cpp"))]
        for case, path in zip(sorted(HERE.glob("*/*.cpp")), paths):
            path.write_text(case.read_text())
        paths += [path for path in (write_example(rule, folder) for rule in all_ids()) if path.suffix == ".cpp"]
        before = {path: path.read_text() for path in paths}
        lint("--fix", "--fail-on", "note", *paths)
        changed = [path for path in paths if path.read_text() != before[path]]
        broken = compile_all(changed, folder)
        for path in broken:
            path.with_suffix(".before.cpp").write_text(before[path])
        # A few cases name what no header declares.
        as_before = compile_all([path.with_suffix(".before.cpp") for path in broken], folder)
        broken = {path: errors for path, errors in broken.items() if path.with_suffix(".before.cpp") not in as_before}
        for path, errors in broken.items():
            print(f"{path.name} does not compile with its cures:\n{errors}")
        if broken:
            return False
        if "0 findings cured" not in lint("--fix", "--fail-on", "note", *paths):
            print("a second run finds more to cure")
            return False
        print(f"{len(changed)} of {len(paths)} files changed, and all of these compile")
        return len(changed) > 5


if __name__ == "__main__":
    if "--real-torch" in sys.argv:
        sys.exit(0 if fix_and_compile() else 1)
    unittest.main()
