"""dtypecheck lint: paths, databases, comments that accept, formats, exit statuses, bad input."""

import json
import pathlib
import re
import resource
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import tool  # noqa: E402

BAD = """\
#include <torch/extension.h>
void run(const float* x);
void scale(at::Tensor x) {
  run(x.data_ptr<float>());
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("scale", &scale); }
"""
GOOD = BAD.replace("  run(", "  TORCH_CHECK(x.scalar_type() == at::kFloat);\n  run(")


def github_hash(text, line):
    """The fingerprint of a line, computed the slow way: by its definition."""
    hashes = []
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    for first in range(len(lines)):
        rest = "\n".join(lines[first:]).replace(" ", "").replace("\t", "")
        window = ([ord(c) for c in rest] + [65535] + [0] * 100)[:100]
        value = 0
        for unit in window:
            value = (value * 37 + unit) % 2**64
        hashes.append(value)
    return f"{hashes[line - 1]:x}:{hashes[:line].count(hashes[line - 1])}"


class Linting:
    def lint(self, *arguments, **options):
        return self.run_tool("lint", "--torch", "bundled", *arguments, **options)


class Lint(Linting, tool.SharedCacheTest):
    def sarif(self, *arguments):
        return json.loads(self.lint("--format", "sarif", *arguments).out)["runs"][0]

    def test_a_fault_and_its_cure(self):
        self.write("bad.cpp", BAD)
        self.write("good.cpp", GOOD)
        bad, good = self.lint("bad.cpp"), self.lint("good.cpp")
        self.assertEqual((bad.status, bad.err), (1, ""))
        self.assertIn("x is read as float", bad.out)
        self.assertIn("bad.cpp:4", bad.out)
        self.assertIn("run(x.data_ptr<float>());", bad.out)
        self.assertEqual((good.status, good.err), (0, ""))
        self.assertIn("no findings in 1 file", good.out)

    def test_fail_on(self):
        self.write("bad.cpp", BAD)
        self.assertEqual(self.lint("--fail-on", "error", "bad.cpp").status, 0)
        self.assertEqual(self.lint("--fail-on", "never", "bad.cpp").status, 0)

    def test_a_folder_with_headers_of_its_own(self):
        self.write("setup.py", "")
        self.write("csrc/include/checks.h",
                   "#define CHECK_FLOAT(x) TORCH_CHECK(x.scalar_type() == at::kFloat)\n")
        self.write("csrc/ops/a.cpp", GOOD.replace("TORCH_CHECK(x.scalar_type() == at::kFloat)", "CHECK_FLOAT(x)")
                   .replace("void run", '#include "checks.h"\nvoid run'))
        self.write("csrc/ops/b.cu", BAD)
        self.write("csrc/notes.txt", "not C++")
        report = json.loads(self.lint("--format", "json", "csrc").out)
        self.assertEqual([(f["location"]["file"], f["rule"]) for f in report["findings"]],
                         [("csrc/ops/b.cu", "unchecked-data-ptr")])
        self.assertEqual((report["source"]["analysed"], report["source"]["partly"]), (2, 0))

    def test_headers_of_the_package_beside_it(self):
        """A package of a repository includes what its sibling has, by its own name or below the common folder's."""
        self.write(".git/HEAD", "")
        self.write("setup.py", "")
        self.write("engine/torch/setup.py", "")
        self.write("engine/common/include/engine/checks.h", "#define CHECK_FLOAT(x) TORCH_CHECK(x.scalar_type() == at::kFloat)\n")
        source = GOOD.replace("TORCH_CHECK(x.scalar_type() == at::kFloat)", "CHECK_FLOAT(x)")
        for file, name in (("a.cpp", "<engine/checks.h>"), ("b.cpp", '"common/include/engine/checks.h"')):
            self.write(f"engine/torch/{file}", source.replace("void run", f"#include {name}\nvoid run"))
        report = json.loads(self.lint("--format", "json", "engine/torch").out)
        self.assertEqual((report["findings"], len(report["remarks"]), report["source"]["partly"]), ([], 1, 0))  # which LibTorch

    def test_headers_of_a_tree_without_its_history(self):
        """As an archive of a repository is unpacked; what lies beside it is none of its own."""
        for tree in ("engine-1.0", "other-1.0"):
            self.write(f"{tree}/python/setup.py", "")
            self.write(f"{tree}/python/csrc/good.cpp", GOOD.replace("TORCH_CHECK(x.scalar_type() == at::kFloat)", "CHECK_FLOAT(x)")
                       .replace("void run", "#include <engine/checks.h>\nvoid run"))
        self.write("engine-1.0/CMakeLists.txt", "")
        self.write("engine-1.0/include/engine/checks.h", "#define CHECK_FLOAT(x) TORCH_CHECK(x.scalar_type() == at::kFloat)\n")
        self.assertNotIn("not found", self.lint("engine-1.0/python/csrc/good.cpp").out)
        self.assertIn("engine/checks.h: not found", self.lint("other-1.0/python/csrc/good.cpp").out)

    def test_headers_above_a_folder_that_is_no_project(self):
        """A folder of programs that share headers; of a project only its own are looked for."""
        good = GOOD.replace("TORCH_CHECK(x.scalar_type() == at::kFloat)", "CHECK_FLOAT(x)")
        checks = "#define CHECK_FLOAT(x) TORCH_CHECK(x.scalar_type() == at::kFloat)\n"
        for number, (header, name) in enumerate((("checks.h", "checks.h"), ("common/checks.h", "checks.h"),
                                                 ("include/all/checks.h", "all/checks.h"), ("shared/all/checks.h", "../all/checks.h"))):
            tree = f"tree{number}"
            self.write(f"{tree}/{header}", checks)
            self.write(f"{tree}/programs/one/good.cpp", f'#include "{name}"\n' + good)
            with self.subTest(header=header):
                found = self.lint(f"{tree}/programs/one/good.cpp")
                is_elsewhere = name.startswith("..")  # beside the file, and nowhere else
                self.assertEqual(f"{name}: not found" in found.out, is_elsewhere, found.out)
                self.assertEqual("CHECK_FLOAT" in found.out, is_elsewhere, found.out)  # is not declared
        self.write("tree1/programs/setup.py", "")
        self.assertIn("checks.h: not found", self.lint("tree1/programs/one/good.cpp").out)
        self.write("deep/checks.h", checks)
        self.write("deep/1/2/3/4/5/good.cpp", '#include "checks.h"\n' + good)
        self.assertIn("checks.h: not found", self.lint("deep/1/2/3/4/5/good.cpp").out)

    def test_the_standard_that_the_project_names(self):
        self.write("setup.py", "")
        self.write("bad.cpp", BAD + "template <typename T> concept Any = true;\n"
                   "template <Any T> void take(T, at::Tensor y) { run(y.data_ptr<float>()); }\n")
        self.assertIn("(1 in part)", self.lint("bad.cpp").out)
        self.write("setup.py", "extra_compile_args=['-O3', '-std=c++20']")
        self.assertNotIn("in part", self.lint("bad.cpp").out)

    def test_macros_of_the_build(self):
        """What setup.py and CMakeLists.txt define is defined; a macro that nobody names is not."""
        self.write("csrc/bad.cpp", "#ifdef WITH_SCALE\n" + BAD + "#endif\n")
        for name, text, is_seen in (
                ("setup.py", "define_macros = [('WITH_SCALE', None)]", True),
                ("setup.py", "extra_compile_args=['-O3', '-DWITH_SCALE=1']", True),
                ("setup.py", "if sys.platform == 'win32':\n    flags += ['-DWITH_SCALE']", True),  # tried either way
                ("setup.py", "# '-DWITH_SCALE'", False),
                ("setup.py", "flags = ['-DWITH_OTHER']", False),
                ("CMakeLists.txt", "target_compile_definitions(ops PRIVATE WITH_SCALE=1)", True),
                ("CMakeLists.txt", "if(WITH_OPS)\n  add_definitions(-DWITH_SCALE)\nendif()", True),
                ("CMakeLists.txt", "# add_definitions(-DWITH_SCALE)", False)):
            self.write("setup.py", "")
            self.write("CMakeLists.txt", "")
            self.write(name, text + "\n")
            self.assertEqual(self.lint("csrc/bad.cpp").status, 1 if is_seen else 0, text)

    def test_both_values_of_a_switch(self):
        self.write("setup.py", "if use_fast:\n    flags += ['-DFAST']\n")
        self.write("two.cpp", BAD.replace("void scale(", "#ifdef FAST\nvoid fast(at::Tensor y) {\n  run(y.data_ptr<float>());\n}\n"
                                          "#endif\nvoid scale("))
        findings = json.loads(self.lint("--all", "--format", "json", "two.cpp").out)["findings"]
        self.assertEqual(sorted(f["location"]["line"] for f in findings), [5, 9])
        # An SDK that is not here: with it on, less is understood, and nothing of that parse is taken.
        self.write("two.cpp", "#ifdef FAST\n#include <vendor_sdk.h>\nvendor_t handle;\n#endif\n" + BAD)
        report = json.loads(self.lint("--format", "json", "two.cpp").out)
        self.assertEqual((len(report["findings"]), report["source"]["analysed"], report["source"]["partly"]), (1, 1, 0))
        # On by the build files, and it does not compile: the file is what it is with the switch off.
        self.write("setup.py", "flags = ['-DFAST']\n")
        self.write("two.cpp", "#ifdef FAST\nint at = 0 1;\n#endif\n" + BAD)
        report = json.loads(self.lint("--format", "json", "two.cpp").out)
        self.assertEqual((len(report["findings"]), report["source"]["analysed"], report["source"]["partly"]), (1, 1, 0))

    def test_a_build_without_cuda_is_a_switch(self):
        self.write("setup.py", "kinds = {'cpu': ['-DCPU_ONLY']}\nif debug:\n    flags += ['-DDEBUG']\n")
        self.write("gpu.cpp", "#if defined(CPU_ONLY) || defined(DEBUG)\nint at = 0 1;\n#endif\n" + BAD)
        self.assertEqual(json.loads(self.lint("--format", "json", "gpu.cpp").out)["source"]["partly"], 0)

    def test_operators_of_half_under_their_macros(self):
        text = ("#include <torch/extension.h>\n#include <cuda_fp16.h>\n"
                "__global__ void add(__half* x) { x[0] = x[0] + x[1]; x[0] *= x[1]; }\n")
        self.write("add.cu", text)
        self.assertEqual(json.loads(self.lint("--format", "json", "add.cu").out)["source"]["partly"], 1)
        self.write("setup.py", "nvcc_flags = ['-U__CUDA_NO_HALF_OPERATORS__']\n")
        self.assertEqual(json.loads(self.lint("--format", "json", "add.cu").out)["source"]["partly"], 0)

    def test_headers_of_others(self):
        """What a vendored header has wrong is not the file's; what the file has wrong is."""
        self.write("setup.py", "")
        self.write("third_party/json/json.h", "#pragma once\nvendor_type broken();\n")
        self.write("ok.cpp", '#include "json/json.h"\n#include <nowhere/sdk.h>\n' + BAD)
        report = json.loads(self.lint("--format", "json", "ok.cpp").out)
        self.assertEqual((report["source"]["partly"], len(report["findings"])), (0, 1))
        self.write("ok.cpp", BAD + "void take(vendor_type v) { run(v.x.data_ptr<float>()); }\n")
        self.assertEqual(json.loads(self.lint("--format", "json", "ok.cpp").out)["source"]["partly"], 1)

    def test_compile_database(self):
        self.write("bad.cpp", "#ifdef IN_DATABASE\n" + BAD + "#endif\n")
        self.assertEqual(self.lint("bad.cpp").status, 0)
        command = "nvcc -DIN_DATABASE -gencode arch=compute_80,code=sm_80 --expt-relaxed-constexpr -c bad.cpp -o bad.o"
        self.write("build/compile_commands.json",
                   json.dumps([{"directory": str(self.work), "file": "bad.cpp", "command": command}]))
        self.assertEqual(self.lint("-p", "build", "bad.cpp").status, 1)
        self.assertEqual(self.lint("-p", "build").status, 1)

    def test_a_database_of_files_that_are_gone(self):
        self.write("bad.cpp", BAD)
        entries = [{"directory": str(self.work), "file": name, "command": f"c++ -c {name}"} for name in ("bad.cpp", "gone.cpp")]
        self.write("build/compile_commands.json", json.dumps(entries))
        result = self.lint("-p", "build")
        self.assertEqual(result.status, 1)
        self.assertIn("1 file not analysed", " ".join(result.out.split()))
        self.assertIn("gone.cpp", result.out)
        self.write("build/compile_commands.json", json.dumps(entries[1:]))
        self.assert_one_line(self.lint("-p", "build"), "nothing could be analysed", "gone.cpp")

    def test_accepted_in_the_source(self):
        for comment in ("// NOLINT", "// NOLINT(dtypecheck-unchecked-data-ptr)", "// NOLINT(dtypecheck-*)",
                        "// dtypecheck: allow(unchecked-data-ptr): cast by the binding"):
            self.write("bad.cpp", BAD.replace("<float>());", "<float>());  " + comment))
            result = self.lint("bad.cpp")
            self.assertEqual(result.status, 0, comment)
            self.assertIn("1 finding accepted by comments", result.out)
            self.assertEqual(self.lint("--all", "bad.cpp").status, 1)
        self.write("bad.cpp", BAD.replace("  run", "  // dtypecheck: allow(unchecked-data-ptr): cast before\n  run"))
        self.assertEqual(self.lint("bad.cpp").status, 0)

    def test_accepted_by_the_project(self):
        self.write("bad.cpp", BAD)
        self.write("dtypecheck.toml", '[[accept]]\nrule = "unchecked-data-ptr"\nfile = "bad.cpp"\nreason = "checked"\n')
        result = self.lint("bad.cpp")
        self.assertEqual(result.status, 0, result.out + result.err)
        self.assertIn("1 finding accepted by dtypecheck.toml", result.out)
        self.assertEqual(self.lint("--all", "bad.cpp").status, 1)
        self.assertEqual(self.lint("--no-config", "bad.cpp").status, 1)

    def test_an_unknown_rule_in_a_comment(self):
        self.write("bad.cpp", BAD.replace("<float>());", "<float>());  // dtypecheck: allow(unchecked-dat-ptr): typo"))
        result = self.lint("bad.cpp")
        self.assertEqual(result.status, 1)
        self.assertIn("there is no such rule; did you mean 'unchecked-data-ptr'?", " ".join(result.out.split()))

    def test_lines_and_annotations(self):
        self.write("bad.cpp", BAD)
        self.assertRegex(self.lint("--format", "lines", "bad.cpp").out, r"(?m)^bad\.cpp:\d+: warning: .* \[unchecked-data-ptr\]$")
        self.assertRegex(self.lint("--format", "github", "bad.cpp").out,
                         r"(?m)^::warning file=bad\.cpp,line=\d+,col=\d+,endColumn=\d+,title=unchecked-data-ptr::")

    def test_not_accepted(self):
        for comment in ("// NOLINT(dtypecheck-raw-cast)", "// NOLINT(bugprone-*)", f"// NOLINT({'*' * 98}x)", "// dtypecheck: allow(raw-cast): why"):
            self.write("bad.cpp", BAD.replace("<float>());", "<float>());  " + comment))
            self.assertEqual(self.lint("bad.cpp").status, 1, comment)
        self.write("bad.cpp", BAD.replace("<float>());", "<float>());  // dtypecheck: allow(unchecked-data-ptr)"))
        result = self.lint("bad.cpp")
        self.assertEqual(result.status, 1)
        self.assertIn("without a reason", result.out)

    def test_sarif_has_what_code_scanning_asks_for(self):
        self.write("a b/ünd.cpp", BAD.replace("const float* x", "const float* x, const float* y")
                   .replace("at::Tensor x", "at::Tensor x, at::Tensor y")
                   .replace("<float>()", "<float>(), y.data_ptr<float>()"))
        log = json.loads(self.lint("--format", "sarif", "a b/ünd.cpp").out)
        self.assertEqual(log["version"], "2.1.0")
        self.assertTrue(log["$schema"].endswith("sarif-2.1.0.json"))
        (run,) = log["runs"]
        driver = run["tool"]["driver"]
        self.assertEqual(driver["name"], "dtypecheck")
        for rule in driver["rules"]:
            for text in (rule["id"], rule["name"], rule["shortDescription"]["text"], rule["fullDescription"]["text"],
                         rule["help"]["text"], rule["help"]["markdown"]):
                self.assertTrue(text)
            self.assertIn(rule["defaultConfiguration"]["level"], ("note", "warning", "error"))
            self.assertLessEqual(len(rule["shortDescription"]["text"]), 1024)
        (result,) = run["results"]
        self.assertEqual(driver["rules"][result["ruleIndex"]]["id"], result["ruleId"])
        self.assertTrue(result["message"]["text"])
        places = [result["locations"][0], *result["relatedLocations"]]
        self.assertEqual(len(places), 2)
        for place in places:
            physical = place["physicalLocation"]
            self.assertEqual(physical["artifactLocation"]["uri"], "a%20b/%C3%BCnd.cpp")
            region = physical["region"]
            self.assertEqual((region["startLine"], region["endLine"]), (4, 4))
            self.assertLess(region["startColumn"], region["endColumn"])

    def test_fingerprints_are_githubs_and_stay_when_lines_move(self):
        for text in (BAD, BAD.replace("\n", "\r\n"), BAD.rstrip(), "// é 😀\n" * 3 + BAD):
            (self.work / "bad.cpp").write_bytes(text.encode())
            (result,) = self.sarif("bad.cpp")["results"]
            line = result["locations"][0]["physicalLocation"]["region"]["startLine"]
            if "😀" not in text:
                self.assertEqual(result["partialFingerprints"]["primaryLocationLineHash"], github_hash(text, line))
        self.write("bad.cpp", BAD)
        (before,) = self.sarif("bad.cpp")["results"]
        self.write("bad.cpp", "\n// a new first line\n\n" + BAD)
        (after,) = self.sarif("bad.cpp")["results"]
        self.assertEqual(before["partialFingerprints"], after["partialFingerprints"])

    def test_headers_anywhere_below_the_folder_that_is_named(self):
        """As an archive without build files is unpacked; of a project in it only its own are looked for."""
        self.write("tree/programs/one/good.cpp", '#include "checks.h"\n' + GOOD.replace(
            "TORCH_CHECK(x.scalar_type() == at::kFloat)", "CHECK_FLOAT(x)"))
        self.write("tree/utils/checks/include/checks.h", "#define CHECK_FLOAT(x) TORCH_CHECK(x.scalar_type() == at::kFloat)\n")
        self.assertNotIn("not found", self.lint("tree").out)
        self.assertIn("checks.h: not found", self.lint("tree/programs").out)
        self.write("tree/programs/setup.py", "")
        self.assertIn("checks.h: not found", self.lint("tree").out)

    NET = """\
#include <torch/torch.h>
#include "net.h"
void train(Net net, torch::Tensor x) {
  torch::optim::SGD optimizer(net->parameters(), 0.1);
  torch::mse_loss(net->forward(x), x).backward();
}
"""

    def test_too_little_seen_is_not_clean(self):
        """Without the header of its module nothing is known of a program: not of one file, nor of more than one in ten."""
        self.write("net/train.cpp", self.NET)
        self.write("net/net.cpp", '#include <torch/torch.h>\n#include "net.h"\ntorch::Tensor NetImpl::forward(torch::Tensor x) { return fc(x); }\n')
        for file in ("train.cpp", "net.cpp"):
            result = self.lint(f"net/{file}")
            said = "0 of 1 file seen whole, 1 in part; not found: net.h"
            self.assertEqual((result.status, result.err), (2, f"dtypecheck: too little was understood to call it clean: {said}\n"))
            self.assertTrue(result.out.startswith(said + "\n"), result.out)
            self.assertIn("no findings in what was seen of 1 file", result.out)
        for number in range(18):
            self.write(f"net/good{number}.cpp", GOOD)
        self.assertEqual((self.lint("net").status, self.lint("net").err), (0, ""))
        (self.work / "net/good17.cpp").unlink()
        self.assertEqual(self.lint("net").status, 2)
        self.assertEqual(json.loads(self.lint("net", "--format", "json").out)["source"]["mostly_lost"], 2)
        self.write("net/bad.cpp", BAD)
        self.assertEqual(self.lint("net").status, 1)

    def test_a_vendor_that_is_missing_is_enough_seen(self):
        self.write("vendor.cpp", GOOD.replace("void run(", "#include <vendor/net.h>\nvendor::Net run(")
                   .replace("  run(", "  vendor::forward(vendor::make(), x); run("))
        self.write("net.h", "struct Net { Net* operator->(); std::vector<torch::Tensor> parameters(); torch::Tensor forward(torch::Tensor); };")
        self.write("train.cpp", self.NET)
        result = self.lint("vendor.cpp", "train.cpp")
        self.assertEqual((result.status, result.err), (0, ""))
        self.assertNotIn("seen whole", result.out)

    def test_a_missing_header_costs_what_needs_it(self):
        self.write("bad.cpp", '#include "nowhere/parallel_hashmap.h"\n' + BAD + "phmap::map<int> m;\n")
        result = self.lint("bad.cpp")
        self.assertEqual(result.status, 1)
        self.assertIn("x is read as float", result.out)
        self.assertIn("nowhere/parallel_hashmap.h: not found", result.out)

    def test_another_libtorch_of_the_system_is_not_mixed_in(self):
        """Debian's libtorch-dev has this header, of which the bundled set has no file: its declarations would collide."""
        self.write("bad.cpp", "#include <ATen/TensorIterator.h>\n" + BAD)
        result = self.lint("--all", "bad.cpp")
        self.assertNotIn("not found", result.out)
        self.assertNotIn("analysed in part", result.out)
        self.assertIn("x is read as float", result.out)

    def test_what_is_no_cplusplus(self):
        self.write("text.cpp", "this is a letter, not a program\n" * 50)
        self.write("bytes.cpp", "")
        (self.work / "bytes.cpp").write_bytes(bytes(range(1, 256)) * 40)
        self.write("empty.cpp", "")
        for name, status in (("text.cpp", 2), ("bytes.cpp", 2), ("empty.cpp", 0)):
            self.assertEqual(self.lint(name).status, status, name)

    def test_an_op_in_source_has_no_step(self):
        self.write("op.cpp", "#include <torch/extension.h>\n"
                   "at::Tensor f(at::Tensor x) { return at::matmul(x.to(at::kHalf), at::ones({4, 4})); }\n")
        result = self.lint("op.cpp")
        self.assertIn("op.cpp:2\n", result.out)
        self.assertNotIn("step", result.out)

    def test_a_cure_in_source_names_its_line(self):
        self.write("op.cpp", "#include <torch/extension.h>\n"
                   "at::Tensor f(at::Tensor x) { return x.to(at::kHalf) + at::ones({4}); }\n")
        self.assertIn("cast the other of add to Half, op.cpp:2", self.lint("op.cpp").out)

    def test_a_module_is_said_to_be_one(self):
        body = "#include <torch/torch.h>\n{}void f(at::Tensor x) {{ torch::mm(x, torch::ones({{2, 2}}, torch::kInt).to(torch::kFloat)); }}\n"
        for before, between, count in (("module;\n", "export module net;\nexport ", 1), ("", "static int module;\n", 0)):
            self.write("net.cpp", before + body.format(between))
            self.assertEqual(self.lint("--alone", "net.cpp").out.count("a C++20 module"), count)
        (self.work / "net.cpp").rename(self.work / "net.cppm")
        self.assertIn("in 1 file", self.lint(".").out)

    def test_line_ends_of_windows(self):
        """They stand behind the \\ of a macro, a comment's reason and a cure."""
        source = ("#include <torch/torch.h>\n#define IS_FLOAT(x) \\\n  TORCH_CHECK(x.scalar_type() == torch::kFloat)\n"
                  "at::Tensor f(at::Tensor x, at::Tensor y) {\n  IS_FLOAT(x);\n  x.data_ptr<float>();\n"
                  "  // dtypecheck: allow(unchecked-data-ptr): its caller does\n  y.data_ptr<float>();\n"
                  "  return torch::mm(x, x.to(torch::kDouble));\n}\n")
        (self.work / "ends.cpp").write_bytes(source.replace("\n", "\r\n").encode())
        result = self.lint("ends.cpp")
        self.assertIn("1 error, 0 warnings", result.out)
        self.assertIn("1 finding accepted", result.out)
        self.assertEqual(self.lint("--fix", "ends.cpp").status, 0)
        self.assertEqual((self.work / "ends.cpp").read_bytes(),
                         source.replace("kDouble", "kFloat").replace("\n", "\r\n").encode())

    def test_blanks_and_utf8_in_every_path(self):
        self.write("ä b/setup.py", "")
        self.write("ä b/inc lude/checks.h", "#define CHECK_ALL(x) TORCH_CHECK(x.dim() == 1)\n")
        source = self.write("ä b/src/größe 1.cpp", BAD.replace("  run(", "  CHECK_ALL(x);\n  run(")
                            .replace("void run", "#include <checks.h>\nvoid run"))
        entry = {"directory": str(self.work / "ä b"), "file": "src/größe 1.cpp",
                 "arguments": ["c++", "-Iinc lude", "-c", "src/größe 1.cpp"]}
        self.write("ä b/compile_commands.json", json.dumps([entry]))
        for arguments in (["ä b"], [source], ["-p", "ä b"], ["-p", "ä b/compile_commands.json", "ä b/src"]):
            result = self.lint(*arguments)
            self.assertEqual(result.status, 1, result.err)
            self.assertIn("ä b/src/größe 1.cpp:6", result.out)
            self.assertNotIn("in part", result.out)

    def partly(self, name):
        return json.loads(self.lint("--format", "json", name).out)["source"]["partly"]

    def test_errors_that_cost_nothing(self):
        """What a vendor's SDK has is not known; what is given to it is."""
        self.write("sdk.cpp", BAD.replace("  run(", "  vendorLaunch("))
        result = self.lint("sdk.cpp")
        self.assertIn("x is read as float", result.out)
        self.assertIn("1 file has errors outside of what is judged", " ".join(result.out.split()))
        self.assertEqual(self.partly("sdk.cpp"), 0)
        self.write("sdk.cpp", BAD.replace("x.data", "vendorWrap(x).data"))
        self.assertEqual(self.partly("sdk.cpp"), 1)

    def test_errors_in_kernels(self):
        kernel = ("#include <torch/extension.h>\n#include <cuda_fp16.h>\n"
                  "__global__ void fill(__half* x) {\n  %s;\n}\n")
        self.write("fill.cu", kernel % "vendorFence(x)")
        self.assertEqual(self.partly("fill.cu"), 0)
        for statement, partly in (("x[0] = vendorLoad(x)", 0), ("vendorAtomicAdd(x, 1.f)", 1), ("x[0].vendor()", 1)):
            self.write("fill.cu", kernel % statement)
            self.assertEqual(self.partly("fill.cu"), partly, statement)
        self.write("fill.cu", (kernel % "x[0].vendor()").replace("__half", "float"))
        self.assertEqual(self.partly("fill.cu"), 0)

    def test_errors_in_templates_of_the_host(self):
        """Only loops are looked at there, for sums."""
        code = ("template <typename T> T total(T* x) {\n  %s\n  T sum = 0;\n"
                "  for (int i = 0; i < 9; ++i) {%s}\n  return sum;\n}\n")
        self.write("total.cpp", BAD + code % ("T first = sdk::load(x);", "sum += x[i];"))
        self.assertEqual(self.partly("total.cpp"), 0)
        self.write("total.cpp", BAD + code % ("", "sum += sdk::load(x);"))
        self.assertEqual(self.partly("total.cpp"), 0)
        self.write("total.cpp", BAD + code % ("", "sum += at::Tensor().sdk(x);"))
        self.assertEqual(self.partly("total.cpp"), 1)

    def test_a_check_that_nothing_declares(self):
        self.write("checked.cpp", BAD.replace("  run(", "  VENDOR_CHECK_FLOAT(x);\n  run("))
        self.assertNotIn("is read as float", self.lint("checked.cpp").out)
        self.write("checked.cpp", BAD.replace("  run(", "  VENDOR_CHECK_DEVICE(x);\n  run("))
        self.assertIn("is read as float", self.lint("checked.cpp").out)

    def test_a_cycle_of_headers(self):
        self.write("a.h", '#include "b.h"\n')
        self.write("b.h", '#include "a.h"\n')
        self.write("bad.cpp", '#include "a.h"\n' + BAD)
        result = self.lint("bad.cpp")
        self.assertIn("x is read as float", result.out)
        self.assertIn("nested too deeply", " ".join(result.out.split()))

    def test_include_cycle_and_depth(self):
        self.write("loop.cpp", '#include "loop.cpp"\n' + BAD)
        self.assertIn(self.lint("loop.cpp").status, (0, 1))
        self.write("deep.cpp", BAD + "int deep = " + "(" * 20_000 + "1" + ")" * 20_000 + ";\n")
        self.assertIn(self.lint("deep.cpp").status, (0, 1, 2))

    def test_what_cannot_be_analysed_costs_itself(self):
        self.write("bad.cpp", BAD)
        self.write("crash.cpp", BAD + "#pragma clang __debug crash\n")
        with open(self.work / "long.cpp", "wb") as file:
            file.truncate(50 << 20)
        result = self.lint(".")
        self.assertEqual(result.status, 1)
        self.assertIn("x is read as float", result.out)
        text = " ".join(result.out.split())
        self.assertIn("2 files not analysed", text)
        self.assertRegex(text, "crash.cpp: (the parser crashed on it|the parser's answer cannot be read)")
        self.assertIn("long.cpp: 50 MB; a source longer than 16 MB is assumed to be generated", text)
        self.assert_one_line(self.lint("crash.cpp"), "nothing could be analysed", "crash.cpp")

    def words(self, name, text):
        self.write(name, text)
        return " ".join(self.lint(name, "--all").out.split())

    def test_advice_names_what_stands_there(self):
        said = self.words("names.cpp", BAD.replace("(at::Tensor x)", "(at::Tensor x, at::Tensor weight, at::Tensor shift)")
                          .replace("  run(x.data_ptr<float>());", "  run(weight.data_ptr<float>()); run(shift.data_ptr<float>());"))
        self.assertIn("TORCH_CHECK(weight.scalar_type() == at::kFloat", said)
        self.assertIn("and the same of the others", said)
        self.assertNotIn("TORCH_CHECK(x.", said)
        one = self.words("one.cpp", BAD)
        self.assertIn("TORCH_CHECK(x.scalar_type() == at::kFloat", one)
        self.assertNotIn("of the others", one)

    def test_a_dispatch_is_told_what_it_lacks(self):
        def dispatch(types):
            return BAD.replace("run(x.data_ptr<float>());",
                               f'AT_DISPATCH_FLOATING_TYPES{types}(x.scalar_type(), "f", [&] {{ x.data_ptr<scalar_t>(); }});')
        one = self.words("one.cpp", dispatch("_AND_HALF"))
        self.assertIn("not implemented for 'BFloat16'", one)
        self.assertNotIn("for 'Half'", one)
        self.assertIn("not implemented for 'Half'", self.words("both.cpp", dispatch("")))

    def test_a_division_of_integers_in_place_is_told_once(self):
        source = BAD.replace("  run(x.data_ptr<float>());", "  at::Tensor n = at::zeros({4}, at::kLong);\n  n.div_(2);")
        self.write("division.cpp", source)
        found = json.loads(self.lint("--format", "json", "division.cpp").out)["findings"]
        self.assertEqual([(one["rule"], one["severity"]) for one in found], [("integer-division-in-place", "error")])
        self.assertNotIn("cast the input", found[0]["fix"])
        self.write("division.cpp", source.replace("at::kLong", "at::kFloat"))
        self.assertEqual(self.lint("division.cpp").status, 0)

    def test_what_always_throws_in_a_case_is_an_error(self):
        said = self.words("case.cpp", BAD.replace(
            "  run(x.data_ptr<float>());",
            '  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "f", [&] { run(x.data_ptr<float>()); });'))
        self.assertIn("error: this dispatches on x, but always reads x as float", said)

    def test_what_is_no_text_is_not_clean(self):
        good = "void f() {}\n"
        (self.work / "utf16.cpp").write_bytes(BAD.encode("utf-16"))
        (self.work / "object.cpp").write_bytes(bytes(range(256)) * 9)
        (self.work / "latin1.cpp").write_bytes(("// \u00e9\n" + good).encode("latin-1"))
        for name in ("utf16.cpp", "object.cpp"):
            self.assert_one_line(self.lint(name), "nothing could be analysed", name, "UTF-8")
        self.assertEqual(self.lint("latin1.cpp").status, 0)
        result = self.lint(".")
        self.assertIn("1 file, 1 function; 2 files not analysed", result.out)

    def test_functions_are_counted_as_they_are_written(self):
        self.write("helper.h", "#pragma once\ninline int in_a_header() { return 1; }\n")
        self.write("called.cpp", """\
#include <torch/extension.h>
#include "helper.h"
static int helper(int x) { return x + in_a_header(); }
template <typename T> T made(T x) { return helper(x); }
struct Net { int forward() { return made(1) + made<long>(2); } };
int used() { auto inner = [](int x) { return x; }; return inner(helper(3)) + Net().forward(); }
int declared();
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("used", &used); }
""")
        self.assertIn("no findings in 1 file, 4 functions", " ".join(self.lint("called.cpp").out.split()))

    def test_many_reads_of_one_tensor(self):
        """A walk over the function for each of them took minutes of the processor."""
        self.write("many.cpp", BAD.replace("  run(x.data_ptr<float>());\n", "  run(x.data_ptr<float>());\n" * 4000))
        result = self.lint("--timeout", "600", "many.cpp",
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (60, 60)))
        self.assertEqual(result.status, 1, result.err)

    def test_a_template_bomb_is_given_up(self):
        self.write("bomb.cpp", "template <int n, class T> struct Bomb {\n"
                   "  struct A {}; struct B {};\n"
                   "  static constexpr int value = Bomb<n - 1, A>::value + Bomb<n - 1, B>::value;\n};\n"
                   "template <class T> struct Bomb<0, T> { static constexpr int value = 1; };\n"
                   "int bomb = Bomb<28, int>::value;\n")
        self.assert_one_line(self.lint("--timeout", "2", "bomb.cpp"), "nothing could be analysed", "within 2 s")

    def test_no_such_file(self):
        self.assert_one_line(self.lint("absent.cpp"), "absent.cpp", "there is none")
        self.assert_one_line(self.lint(), "no file given")
        self.assert_one_line(self.lint("/dev/null"), "/dev/null", "neither")
        self.write("empty/notes.txt", "")
        self.assert_one_line(self.lint("empty"), "empty", "no .cpp")

    def test_bad_databases(self):
        self.write("bad.cpp", BAD)
        self.assert_one_line(self.lint("-p", "absent", "bad.cpp"), "absent", "no such compile database")
        for text, said in (("[]", "names no file"), ("{", "not a compile database"), ("[1]", "not a compile database"),
                           ('[{"file": "a"}]', "not a compile database")):
            self.write("db/compile_commands.json", text)
            self.assert_one_line(self.lint("-p", "db", "bad.cpp"), "compile_commands.json", said)

    def test_bad_torch(self):
        self.write("bad.cpp", BAD)
        self.assert_one_line(self.run_tool("lint", "--torch", "nowhere", "bad.cpp"), "nowhere", "no LibTorch")

    def test_pages(self):
        listed = self.run_tool("lint", "--list-checks").out
        rows = re.findall(r"^([a-z][a-z0-9-]+) {2,}(error|warning|note) +(.+)$", listed, re.M)
        self.assertIn("raw-cast", dict((row[0], row) for row in rows))
        table = "".join(f"| `{name}` | {severity} | {summary} |\n" for name, severity, summary in rows).replace("<", "\\<")
        page = (pathlib.Path(__file__).resolve().parents[2] / "docs/lint.md").read_text()
        self.assertIn(table, page, f"the table of docs/lint.md has to be:\n{table}")
        self.assert_one_line(self.run_tool("lint", "--explain", "raw-cats"), "did you mean 'raw-cast'?")

    def test_fix(self):
        text = ("#include <torch/extension.h>\n"
                "void run(const float* x, const float* w, long* i);\n"
                "void scale(at::Tensor x, at::Tensor w, at::Tensor i) {\n"
                "  TORCH_CHECK(i.scalar_type() == at::kLong);\n"
                "  run(x.data_ptr<float>(), w.data_ptr<float>(), i.data_ptr<long>());\n"
                "}\n"
                "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def(\"scale\", &scale); }\n")
        self.write("bad.cpp", text)
        (self.work / "bad.cpp").chmod(0o640)
        result = self.lint("--fix", "bad.cpp")
        self.assertEqual((result.status, result.err), (0, ""))
        self.assertIn("2 findings cured in 1 file", result.out)
        fixed = (self.work / "bad.cpp").read_text().splitlines()
        self.assertEqual(fixed[4:7], [
            '  TORCH_CHECK(x.scalar_type() == at::kFloat, "x must be Float, got ", x.scalar_type());',
            '  TORCH_CHECK(w.scalar_type() == at::kFloat, "w must be Float, got ", w.scalar_type());',
            "  run(x.data_ptr<float>(), w.data_ptr<float>(), i.data_ptr<int64_t>());"])
        self.assertEqual((self.work / "bad.cpp").stat().st_mode & 0o777, 0o640)
        self.assertIn("no findings in 1 file", self.lint("bad.cpp").out)

    def test_fix_in_a_dispatch(self):
        """The check compares with the dispatched tensor: one of a fixed dtype would refuse the other cases."""
        self.write("bad.cpp", "#include <torch/extension.h>\ntemplate <typename T>\nvoid run(T* q, T* k);\n"
                   "void attend(at::Tensor q, at::Tensor k) {\n"
                   "  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, q.scalar_type(), \"attend\", [&] {\n"
                   "    run((scalar_t*)q.data_ptr(), (scalar_t*)k.data_ptr());\n  });\n}\n")
        self.assertIn("1 finding cured in 1 file", self.lint("--fix", "bad.cpp").out)
        self.assertEqual((self.work / "bad.cpp").read_text().splitlines()[4],
                         '  TORCH_CHECK(k.scalar_type() == q.scalar_type(), "k must have the dtype of q, got ", k.scalar_type());')
        self.assertIn("no findings in 1 file", self.lint("bad.cpp").out)

    def test_a_cure_keeps_tabs(self):
        self.write("tabs.cpp", BAD.replace("  run(", "\trun("))
        self.assertIn("1 finding cured", self.lint("--fix", "tabs.cpp").out)
        lines = (self.work / "tabs.cpp").read_text().splitlines()
        at = next(i for i, line in enumerate(lines) if "\trun(" in line)
        self.assertTrue(lines[at].startswith("\trun("), lines[at])
        self.assertTrue(lines[at - 1].startswith("\tTORCH_CHECK("), lines[at - 1])

    def test_no_fix_where_a_check_would_run_on_another_way(self):
        self.write("bad.cpp", BAD.replace("  run(", "  if (x.defined()) run("))
        before = (self.work / "bad.cpp").read_text()
        self.assertEqual(self.lint("--fix", "bad.cpp").status, 1)
        self.assertEqual((self.work / "bad.cpp").read_text(), before)

    def test_fix_of_notes_is_asked_for(self):
        text = ("#include <torch/extension.h>\ntemplate <typename T>\nvoid run(T* x);\nvoid scale(at::Tensor x) {\n"
                "  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), \"scale\", [&] { run(x.data_ptr<scalar_t>()); });\n}\n")
        self.write("note.cpp", text)
        self.assertIn("0 findings cured", self.lint("--fix", "note.cpp").out)
        self.assertEqual((self.work / "note.cpp").read_text(), text)
        self.assertIn("1 finding cured", self.lint("--fix", "--fail-on", "note", "note.cpp").out)
        self.assertIn("AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type()",
                      (self.work / "note.cpp").read_text())
        self.assertIn("no findings", self.lint("note.cpp").out)

    def test_half_without_bfloat16(self):
        """On the CPU autocast wants BFloat16, on a GPU Half; there the project's other code says whether it is wanted."""
        text = ("#include <torch/extension.h>\ntemplate <typename T>\nvoid run(T* x);\nvoid scale(at::Tensor x) {\n"
                "  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), \"scale\", [&] { run(x.data_ptr<scalar_t>()); });\n}\n")
        self.write("setup.py", "# not bfloat16 yet\n")
        self.write("csrc/scale.cu", text)
        self.write("csrc/other.h", "// no bfloat16 here\n")
        self.write("third_party/cutlass/numeric.h", "struct bfloat16_t {};\n")
        self.write("csrc/cpu/other.cpp", "using b = at::BFloat16;\n")
        self.write("csrc/other_cpu.cpp", "using b = at::BFloat16;\n")
        self.assertIn("no findings", self.lint("csrc/scale.cu").out)
        for name, code in (("ops.py", "torch.bfloat16\n"), ("csrc/other.h", "using b = at::BFloat16;\n")):
            path = self.write(name, code)
            self.assertIn("has no BFloat16, which its project has elsewhere", self.lint("--all", "csrc/scale.cu").out)
            path.unlink()
        path = self.write("ops.py", "with torch.autocast('cuda', enabled=False):\n    # autocast()\n    pass\n")
        self.assertIn("no findings", self.lint("csrc/scale.cu").out)
        path.write_text("with torch.autocast('cuda'):\n    pass\n")
        self.assertIn("has no BFloat16, which its project's autocast may cast to", self.lint("--all", "csrc/scale.cu").out)
        self.write("csrc/scale.cpp", text)
        self.assertIn("has no BFloat16, which autocast casts to on the CPU", self.lint("--all", "csrc/scale.cpp").out)

    def test_one_habit_of_a_file_is_one_finding(self):
        unbound = "".join(f"void f{i}(at::Tensor x) {{ run(x.data_ptr<float>()); }}\n" for i in range(3))
        bound = "".join(f"void g{i}(at::Tensor y) {{ run(y.data_ptr<float>()); }}\n" for i in range(7))
        bindings = " ".join(f'm.def("g{i}", &g{i});' for i in range(7))
        self.write("notes.cpp", "#include <torch/extension.h>\nvoid run(const float* x);\n" + unbound + bound +
                   f"PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {{ {bindings} }}\n")
        out = self.lint("notes.cpp").out
        self.assertEqual((out.count("warning: "), out.count("note: ")), (1, 1))
        self.assertIn("warning: y is read as float, and nothing says that it is of that dtype; the same in 6 more functions",
                      " ".join(out.split()))
        found = json.loads(self.lint("--format", "json", "notes.cpp").out)["findings"]
        self.assertEqual([len(f["places"]) for f in found], [6, 2])
        everything = self.lint("--all", "notes.cpp").out
        self.assertEqual((everything.count("  why   "), everything.count("note: ")), (10, 3))

    def test_a_source_that_another_includes_is_judged_once(self):
        self.write("scale.cpp", "#include <torch/extension.h>\nvoid run(const float* x);\n"
                   "void f(at::Tensor x) { run(x.data_ptr<float>()); }\nvoid g(at::Tensor y) { run(y.data_ptr<float>()); }\n")
        self.write("all.cpp", '#include "scale.cpp"\nvoid h(at::Tensor z) { run(z.data_ptr<float>()); }\n')
        found = json.loads(self.lint("--format", "json", ".").out)["findings"]
        places = [(f["location"]["file"], [p["line"] for p in f["places"]]) for f in found]
        self.assertEqual(sorted(places), [("all.cpp", []), ("scale.cpp", [4])])

    def test_what_cures_a_dispatch_goes_by_how_it_is_written(self):
        self.write("ways.cpp", """\
#include <torch/extension.h>
#include <ATen/Dispatch_v2.h>
template <typename T>
void run(const T* x);
void by_name(at::Tensor x) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "by_name", [&] { run(x.data_ptr<scalar_t>()); });
}
void any_number(at::Tensor x) {
  AT_DISPATCH_V2(x.scalar_type(), "any", AT_WRAP([&] { run(x.data_ptr<scalar_t>()); }), AT_EXPAND(AT_FLOATING_TYPES));
}
void by_hand(at::Tensor x) {
  switch (x.scalar_type()) {
    case at::kFloat: return run(x.data_ptr<float>());
    case at::kDouble: return run(x.data_ptr<double>());
    default: TORCH_CHECK(false);
  }
}
""")
        found = json.loads(self.lint("--all", "--format", "json", "ways.cpp").out)["findings"]
        fixes = [f["fix"] for f in found if f["rule"] == "dispatch-missing-half"]
        self.assertEqual([fix.split(",")[0] for fix in fixes],
                         ["AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf", "Add Half and BFloat16 to the dtypes of AT_DISPATCH_V2",
                          "Add Half and BFloat16 to its branches"])

    def test_an_index_is_not_about_autocast(self):
        self.write("index.cpp", "#include <torch/extension.h>\nvoid run(const int64_t* x);\n"
                   "void f(at::Tensor index) { run(index.data_ptr<int64_t>()); }\n")
        finding = json.loads(self.lint("--format", "json", "index.cpp").out)["findings"][0]
        self.assertNotIn("autocast", finding["why"])
        self.assertIn("index.scalar_type() == at::kLong", finding["fix"])

    def test_what_is_parsed_did_not_run(self):
        self.write("mix.cpp", "#include <torch/extension.h>\nat::Tensor f(at::Tensor x) {\n"
                   "  return x.to(at::kHalf).matmul(at::ones({4, 4}));\n}\n")
        out = self.lint("mix.cpp").out
        self.assertIn("aten::matmul raises RuntimeError: expected", out)
        self.assertNotIn("raised", out)

    def test_remarks_in_a_pipe_keep_their_paths(self):
        folder = "a_folder_with_a_name_that_is_long/" * 4
        self.write(folder + "wrong.cpp", GOOD.replace("run(x", "runs(x"))
        self.assertRegex(self.lint(folder + "wrong.cpp").out, f"{folder}wrong.cpp:5: use of undeclared")

    def test_fixes_in_sarif(self):
        self.write("bad.cpp", BAD)
        (result,) = self.sarif("bad.cpp")["results"]
        ((change,),) = [fix["artifactChanges"] for fix in result["fixes"]]
        self.assertEqual(change["artifactLocation"]["uri"], "bad.cpp")
        (replacement,) = change["replacements"]
        self.assertEqual(replacement["deletedRegion"],
                         {"startLine": 4, "startColumn": 3, "endLine": 4, "endColumn": 3})
        self.assertTrue(replacement["insertedContent"]["text"].startswith("TORCH_CHECK(x.scalar_type() == at::kFloat"))

    def test_baseline(self):
        self.write("bad.cpp", BAD)
        written = self.lint("--baseline", "known", "--update-baseline", "bad.cpp")
        self.assertEqual(written.status, 0)
        self.assertIn("1 finding in known", written.err)
        self.assertIn("unchecked-data-ptr bad.cpp:4", (self.work / "known").read_text())
        self.write("bad.cpp", "// a line more\n" + BAD)
        result = self.lint("--baseline", "known", "bad.cpp")
        self.assertEqual(result.status, 0)
        self.assertIn("1 finding of known left out", result.out)
        more = BAD.replace("PYBIND11", "void more(at::Tensor y) { run(y.data_ptr<float>()); }\nPYBIND11")
        self.write("bad.cpp", more.replace("&scale);", "&scale); m.def(\"more\", &more);"))
        result = self.lint("--baseline", "known", "bad.cpp")
        self.assertEqual(result.status, 1)
        self.assertIn("y is read as float", result.out)
        self.assertNotIn("x is read as float", result.out)

    def test_bad_baselines(self):
        self.write("bad.cpp", BAD)
        self.assert_one_line(self.lint("--baseline", "absent", "bad.cpp"), "absent", "--update-baseline")
        self.write("known", "# a comment\nnot an id\n")
        self.assert_one_line(self.lint("--baseline", "known", "bad.cpp"), "known:2", "16 hexadecimal digits")

    def test_the_hook_of_pre_commit(self):
        text = (pathlib.Path(__file__).resolve().parents[2] / ".pre-commit-hooks.yaml").read_text()
        hook = dict(line.strip("- ").split(": ", 1) for line in text.splitlines())
        self.assertEqual(hook["language"], "system")
        self.write("bad.cpp", BAD)
        self.assertRegex("bad.cpp", hook["files"])
        self.assertRegex("csrc/bad.cu", hook["files"])
        self.assertNotRegex("bad.py", hook["files"])
        program, *arguments = hook["entry"].split()
        self.assertEqual(program, "dtypecheck")
        self.assertEqual(self.run_tool(*arguments, "--torch", "bundled", "bad.cpp").status, 1)

    def test_the_cmake_helper(self):
        cmake = shutil.which("cmake")
        helper = pathlib.Path(__file__).resolve().parents[2] / "cmake/DtypecheckLint.cmake"
        self.write("ops/bad.cpp", "#ifdef IN_TARGET\n" + BAD + "#endif\n")
        self.write("CMakeLists.txt", f"""\
cmake_minimum_required(VERSION 3.25)
project(ops LANGUAGES CXX)
set(DTYPECHECK_PROGRAM "{tool.DTYPECHECK}")
include("{helper}")
add_library(ops OBJECT ops/bad.cpp)
target_compile_definitions(ops PRIVATE IN_TARGET)
dtypecheck_lint(ops --torch bundled --format json -o "{self.work}/found.json")
""")
        for command in ([cmake, "-G", "Ninja", "-S", ".", "-B", "made"], [cmake, "--build", "made", "--target", "lint-ops"]):
            done = self.start(*command[1:], tool=command[0])
            out, err = tool.finish(done)
        self.assertNotEqual(done.returncode, 0)  # a finding fails the target
        findings = json.loads((self.work / "found.json").read_text())["findings"]
        self.assertEqual([finding["rule"] for finding in findings], ["unchecked-data-ptr"])

    def test_the_json_follows_its_schema(self):
        try:
            import jsonschema
        except ImportError:
            self.skipTest("this Python has no jsonschema")
        schema = json.loads((pathlib.Path(__file__).resolve().parents[2] / "docs/report-schema.json").read_text())
        self.write("bad.cpp", BAD)
        jsonschema.validate(json.loads(self.lint("--format", "json", "bad.cpp").out), schema)


class Mutants(unittest.TestCase):
    def test_each_operator_has_its_case(self):
        sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
        import lint_mutants
        cases = (pathlib.Path(__file__).parent / "ops/mutants.cpp").read_text()
        self.assertEqual([name for name, *_ in lint_mutants.OPERATORS if f" // {name}\n" not in cases], [])


class Cache(Linting, tool.ToolTest):
    def entries(self):
        return sorted((self.folder / "cache/dtypecheck/lint").glob("*.facts"))

    def test_the_cache_is_one_that_trace_trusts(self):
        """Where a group may write what its members make, the folder around both caches is its owner's alone."""
        self.write("bad.cpp", BAD)
        lint = (tool.DTYPECHECK, "lint", "--torch", "bundled", "bad.cpp")
        self.run_tool("-c", 'umask 002; exec "$@"', "sh", *lint, tool="sh")
        self.assertEqual(len(self.entries()), 1)
        result = self.run_tool("trace", "--", "true")
        self.assertNotIn("others can write it", result.err)

    def test_the_cache_knows_unchanged_files_only(self):
        self.write("setup.py", "")
        self.write("checks.h", "#define CHECK_FLOAT(x)\n")
        self.write("bad.cpp", GOOD.replace("TORCH_CHECK(x.scalar_type() == at::kFloat)", "CHECK_FLOAT(x)")
                   .replace("void run", '#include "checks.h"\n#include "later.h"\nvoid run'))
        first = self.lint("bad.cpp")
        (entry,) = self.entries()
        written = entry.stat().st_mtime_ns
        self.assertEqual(self.lint("bad.cpp").out, first.out)
        self.assertEqual(entry.stat().st_mtime_ns, written)  # it was not parsed again
        self.write("checks.h", "#define CHECK_FLOAT(x) TORCH_CHECK(x.scalar_type() == at::kFloat)\n")
        self.assertEqual((first.status, self.lint("bad.cpp").status), (1, 0))
        self.write("checks.h", "#define CHECK_FLOAT(x)\n")
        self.assertEqual(self.lint("bad.cpp").status, 1)
        self.write("later.h", "#undef CHECK_FLOAT\n#define CHECK_FLOAT(x) TORCH_CHECK(x.dtype() == at::kFloat)\n")
        self.assertEqual(self.lint("bad.cpp").status, 0)

    def test_a_damaged_cache_is_no_error(self):
        self.write("bad.cpp", BAD)
        whole = self.lint("bad.cpp")
        for text in (b"", b"dtypecheck facts 2\n", bytes(range(256)), b"dtypecheck facts 2\n0\n\n{}\n"):
            for entry in self.entries():
                entry.write_bytes(text)
            self.assertEqual(self.lint("bad.cpp").out, whole.out)
        result = self.lint("--no-cache", "bad.cpp")
        self.assertEqual(result.out, whole.out)


if __name__ == "__main__":
    unittest.main()
