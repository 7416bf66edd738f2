"""dtypecheck lint: what a file says does not change with a precompiled header, whatever is wrong with it.

usage: test_precompiled_headers.py [--real-torch]     on the LibTorch of .venv instead of the bundled one
"""

import json
import os
import pathlib
import resource
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import tool  # noqa: E402

import run_cases  # noqa: E402

STUBS = run_cases.ROOT / "analyzer/stubs/torch"
FILE = """\
#include <torch/extension.h>
#include <vector>
void run(const float* x);
void scale(at::Tensor x) {
  TORCH_CHECK(x.dim() == 1);
  run(x.data_ptr<float>());
}
at::Tensor twice(at::Tensor x) { return x.to(at::kHalf) + at::ones({4}); }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("scale", &scale); }
"""
CASES = ["raw-cast", "unchecked-data-ptr", "half-accumulation", "dispatch-missing-half"]


class PrecompiledHeaders(tool.ToolTest):
    def setUp(self):
        super().setUp()
        self.cache = self.folder / "cache/dtypecheck/lint"
        self.write("setup.py", "")

    def lint(self, *arguments, torch="bundled", **options):
        result = self.run_tool("lint", "--torch", torch, "-j", "1", "--format", "json", *arguments, **options)
        self.assertIn(result.status, (0, 1), result.err)
        self.assertEqual(result.err, "")
        return json.loads(result.out)["findings"]

    def pchs(self):
        return sorted((self.cache / "pch").glob("*.pch"))

    def forget_findings(self):
        for entry in self.cache.glob("*.facts"):
            entry.unlink()

    def is_used(self, run):
        """Whether `run` looked for the one precompiled header there is, and took it."""
        (pch,) = self.pchs()
        os.utime(pch, (1, 1))
        run()
        return self.pchs() == [pch] and pch.stat().st_mtime > 1

    def make_pch(self, name="a.cpp", text=FILE):
        """The findings of a file, and a precompiled header of what it begins with."""
        self.write(name, text)
        whole = self.lint("--no-cache", name)
        for _ in range(2):
            self.assertEqual(self.lint(name), whole)
            self.forget_findings()
        self.assertEqual(len(self.pchs()), 1)
        return whole

    def test_it_is_made_where_more_files_begin_alike_than_there_are_workers(self):
        torch = self.other_torch().parent
        for name in "abc":
            self.write(f"{name}.cpp", FILE.replace("scale", "scale_" + name))
        whole = self.lint("--no-cache", ".", torch=torch)
        self.assertEqual(len(whole), 6)
        self.assertEqual(self.pchs(), [])
        self.assertEqual(self.lint(".", torch=torch), whole)
        (pch,) = self.pchs()
        self.assertEqual(pch.stat().st_mode & 0o777, 0o600)
        self.assertEqual(list((self.cache / "pch").glob("*.draft")), [])
        self.forget_findings()
        self.assertTrue(self.is_used(lambda: self.assertEqual(self.lint(".", torch=torch), whole)))

    def test_one_file_alone_pays_the_second_time(self):
        torch = self.other_torch().parent
        self.write("a.cpp", FILE)
        first = self.lint("a.cpp", torch=torch)
        self.assertEqual(self.pchs(), [])
        self.write("a.cpp", FILE + "\n// changed\n")
        self.assertEqual(self.lint("a.cpp", torch=torch), first)
        self.assertEqual(len(self.pchs()), 1)

    def test_the_bundled_headers_pay_at_once(self):
        self.write("a.cpp", FILE)
        whole = self.lint("--no-cache", "a.cpp")
        self.assertEqual(self.pchs(), [])
        self.assertEqual(self.lint("a.cpp"), whole)
        self.assertEqual(len(self.pchs()), 1)

    def test_checks_see_the_same(self):
        for case in CASES:
            self.write(f"{case}.cpp", run_cases.example(case))
        whole = self.lint("--no-cache", ".")
        self.assertGreater(len(whole), 3)
        self.assertEqual(self.lint("."), whole)
        self.assertGreater(len(self.pchs()), 0)

    def test_cuda(self):
        text = FILE.replace("<vector>", "<cuda_fp16.h>") + """
template <typename scalar_t>
__global__ void add_up(const scalar_t* x, scalar_t* out, int n) {
  scalar_t sum = 0;
  for (int i = 0; i < n; ++i) sum += x[i];
  out[0] = sum;
}
void launch(at::Tensor x, at::Tensor out) {
  add_up<at::Half><<<1, 1>>>((at::Half*)x.data_ptr(), (at::Half*)out.data_ptr(), 4);
}
"""
        self.assertGreater(len(self.make_pch("a.cu", text)), 2)
        self.assertTrue(self.is_used(lambda: self.lint("a.cu")))

    def test_a_damaged_one_is_not_used(self):
        whole = self.make_pch()
        (pch,) = self.pchs()
        good = pch.read_bytes()
        flipped = bytearray(good)
        flipped[len(good) // 2] ^= 1
        for bad in (b"", good[: len(good) // 2], bytes(range(256)) * 100, bytes(flipped)):
            pch.write_bytes(bad)
            self.assertEqual(self.lint("a.cpp"), whole)
            self.forget_findings()
            self.assertEqual(self.lint("a.cpp"), whole)  # made anew
            self.forget_findings()
            self.assertEqual([path.stat().st_size for path in self.pchs()], [len(good)])

    def test_one_of_another_compiler_is_not_used(self):
        """It is what it says it is, but no precompiled header of this Clang."""
        whole = self.make_pch()
        (pch,) = self.pchs()
        (list_file,) = (self.cache / "pch").glob("*.headers")
        key = pch.name.split("-")[0]
        empty = pch.with_name(f"{key}-2d06800538d394c2.pch")  # the hash of nothing
        empty.write_bytes(b"")
        list_file.write_text(list_file.read_text().replace(pch.name, empty.name))
        self.assertEqual(self.lint("a.cpp"), whole)

    def test_a_damaged_list_of_headers(self):
        whole = self.make_pch()
        (list_file,) = (self.cache / "pch").glob("*.headers")
        text = list_file.read_text()
        for bad in ("", "dtypecheck headers 1\n", text[: len(text) // 2], text.replace("\t", " "), "\n" * 9,
                    text.replace(self.pchs()[0].name, "../../../../etc/passwd")):
            list_file.write_text(bad)
            self.assertEqual(self.lint("a.cpp"), whole)
            self.forget_findings()

    def other_torch(self):
        """A LibTorch outside of the project: the bundled one under names by which nobody takes it for that."""
        torch = self.folder / "libtorch/include"
        shutil.copytree(STUBS, torch)
        for path in [path for path in torch.rglob("*") if path.is_file()]:
            text = path.read_text().replace("dtypecheck_", "small_")
            path.unlink()
            path.with_name(path.name.replace("dtypecheck_", "small_")).write_text(text)
        (torch / "ATen/core").mkdir()
        (torch / "ATen/core/Tensor.h").write_text("#include <small_torch.h>\n")
        return torch

    def test_a_header_that_changed(self):
        torch = self.other_torch()
        self.write("a.cpp", FILE.replace("TORCH_CHECK(x.dim() == 1)", "EXTRA(x)"))
        header = torch / "torch/extension.h"
        original = header.read_text()
        header.write_text(original + "#define EXTRA(x) TORCH_CHECK(x.dim() == 1)\n")
        for _ in range(3):
            before = self.lint("a.cpp", torch=torch.parent)
            self.forget_findings()
        self.assertIn("unchecked-data-ptr", [finding["rule"] for finding in before])
        (old,) = self.pchs()
        os.utime(header)  # the same content at another time
        self.assertEqual(self.lint("a.cpp", torch=torch.parent), before)
        self.assertEqual(self.pchs(), [old])
        header.write_text(original + "#define EXTRA(x) TORCH_CHECK(x.scalar_type() == at::kFloat)\n")
        after = self.lint("a.cpp", torch=torch.parent)
        self.assertNotIn("unchecked-data-ptr", [finding["rule"] for finding in after])
        self.assertNotEqual(self.pchs(), [old])

    def test_errors_in_headers_of_others(self):
        """As those of CUDA's beside Clang's own: what a parse passes over is passed over in a precompiled header too."""
        torch = self.other_torch()
        header = torch / "torch/extension.h"
        header.write_text(header.read_text() + "static int declared_twice();\nint declared_twice();\nlong declared_twice();\n")
        self.write("a.cpp", FILE)
        for _ in range(3):
            found = self.lint("a.cpp", torch=torch.parent)
            self.forget_findings()
        self.assertEqual([finding["rule"] for finding in found].count("unchecked-data-ptr"), 1)
        self.assertTrue(self.is_used(lambda: self.assertEqual(self.lint("a.cpp", torch=torch.parent), found)))

    def test_what_stands_before_the_header(self):
        """A macro may change what the header says: such a file is parsed whole."""
        torch = self.other_torch().parent
        self.write("a.cpp", FILE)
        for _ in range(2):
            self.lint("a.cpp", torch=torch)
            self.forget_findings()
        self.write("b.cpp", "#define HERE 1\n" + FILE)
        self.assertFalse(self.is_used(lambda: self.lint("b.cpp", torch=torch)))
        self.write("b.cpp", "#include <map>\n" + FILE)
        self.assertTrue(self.is_used(lambda: self.lint("b.cpp", torch=torch)))

    def test_nothing_changes_what_the_bundled_headers_say(self):
        """They come first whatever stands before them, in the source or in a header of the project."""
        whole = self.make_pch()
        self.write("own.h", "#define HERE 1\n#include <of_others.h>\n#include <torch/extension.h>\n")
        for before in ("#define HERE 1\n", '#include "own.h"\n', "#include <of_others.h>\nint first;\n"):
            self.write("a.cpp", before + FILE)
            self.assertTrue(self.is_used(lambda: self.assertEqual(
                [finding["message"] for finding in self.lint("a.cpp")], [finding["message"] for finding in whole])))
            self.assertEqual(self.lint("--no-cache", "a.cpp"), self.lint("a.cpp"))
        self.write("b.cpp", "#include <vector>\nint first;\n")
        self.assertFalse(self.is_used(lambda: self.lint("b.cpp")))

    def large_header(self, files, says):
        """Files that include a large header of the project, as one of JSON; the lines of the precompiled headers that they want."""
        self.write("json.hpp", f"#pragma once\n#include <map>\n{says}\n" + "\n" * 150_000)
        for name in files:
            self.write(f"{name}.cpp", FILE.replace("<vector>", '"json.hpp"').replace("TORCH_CHECK(x.dim() == 1)", "EXTRA(x)"))
        whole = self.lint("--no-cache", ".")
        self.assertEqual(self.lint("."), whole)
        self.forget_findings()
        self.assertEqual(self.lint("."), whole)
        return {finding["rule"] for finding in whole}, {path.read_text() for path in (self.cache / "pch").glob("*.cpp")}

    def test_a_large_header_of_the_project(self):
        """It is a part of the precompiled one where five files include it; what it says counts as it is now."""
        checks = "#define EXTRA(x) TORCH_CHECK(x.scalar_type() == at::kFloat)"
        rules, lines = self.large_header("abcd", "#define EXTRA(x)")
        self.assertIn("unchecked-data-ptr", rules)
        self.assertEqual([line for line in lines if "json.hpp" in line], [])
        rules, lines = self.large_header("abcde", "#define EXTRA(x)")
        self.assertIn("unchecked-data-ptr", rules)
        self.assertEqual(len([line for line in lines if "json.hpp" in line]), 1)
        rules, lines = self.large_header("abcde", checks)
        self.assertNotIn("unchecked-data-ptr", rules)
        self.assertEqual(len(self.pchs()), 2)

    def test_a_large_header_with_an_error(self):
        """No precompiled one can be made of it: the next run does with the others."""
        rules, lines = self.large_header("abcde", "#define EXTRA(x)\nint wrong = ;")
        self.assertIn("unchecked-data-ptr", rules)
        self.assertEqual(len(self.pchs()), 1)

    def test_a_folder_of_the_project_named_as_one_of_the_bundled_set(self):
        self.make_pch()
        self.write("include/torch/mine.h", "#define MINE\n")
        self.write("b.cpp", '#include "torch/mine.h"\n' + FILE)
        before = self.lint("--no-cache", "b.cpp")
        (pch,) = self.pchs()
        pch.write_bytes(b"")  # whoever takes it removes it
        self.assertEqual(self.lint("b.cpp"), before)
        self.assertEqual(self.pchs(), [pch])

    def test_a_header_of_the_project_that_comes_first(self):
        self.make_pch()
        self.write("include/debug/mine.h", "#define MINE\n")
        self.write("b.cpp", FILE.replace("<vector>", "<debug/mine.h>"))
        before = self.lint("--no-cache", "b.cpp")
        (pch,) = self.pchs()
        pch.write_bytes(b"")  # whoever takes it removes it
        self.assertEqual(self.lint("b.cpp"), before)
        self.assertEqual(self.pchs(), [pch])

    def test_a_file_that_asks_about_a_switch(self):
        """Each of its two parses has the precompiled header of its own macros."""
        self.write("setup.py", "import os\nargs = []\nif os.environ.get('FAST'):\n    args += ['-DFAST']\n"
                               "CppExtension('a', ['a.cpp'], extra_compile_args=args)\n")
        self.make_pch_of_each("#ifdef FAST\n#define CHECK(x) TORCH_CHECK(x.scalar_type() == at::kFloat)\n#else\n#define CHECK(x)\n#endif\n"
                              "void fast(at::Tensor x) { CHECK(x); run(x.data_ptr<float>()); }\n")

    def make_pch_of_each(self, text):
        self.write("a.cpp", FILE + text)
        whole = self.lint("--no-cache", "a.cpp")
        for _ in range(3):
            self.assertEqual(self.lint("a.cpp"), whole)
            self.forget_findings()
        self.assertEqual(len(self.pchs()), 2)

    def test_flags_that_differ(self):
        self.make_pch()
        for number, flag in enumerate(("-DNDEBUG", "-std=c++20", "-UNDEBUG")):
            command = f"c++ {flag} -c a.cpp"
            entry = {"directory": str(self.work), "file": "a.cpp", "command": command}
            self.write("build/compile_commands.json", json.dumps([entry]))
            for _ in range(2):
                self.lint("-p", "build", "a.cpp")
                self.forget_findings()
            self.assertEqual(len(self.pchs()), number + 2)

    def test_a_folder_that_cannot_be_written(self):
        self.write("a.cpp", FILE)
        whole = self.lint("--no-cache", "a.cpp")
        self.cache.mkdir(parents=True)
        (self.cache / "pch").write_text("not a folder")
        for _ in range(3):
            self.assertEqual(self.lint("a.cpp"), whole)
            self.forget_findings()

    def test_a_disk_that_is_full(self):
        self.write("a.cpp", FILE)
        whole = self.lint("--no-cache", "a.cpp")
        for _ in range(3):
            limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))}
            self.assertEqual(self.lint("a.cpp", **limit), whole)
            self.forget_findings()
        self.assertEqual(self.pchs(), [])

    def test_several_at_once(self):
        for name in "abcd":
            self.write(f"{name}.cpp", FILE.replace("scale", "scale_" + name))
        whole = self.lint("--no-cache", ".")
        command = ("lint", "--torch", "bundled", "-j", "3", "--format", "json", ".")
        running = [self.start(*command) for _ in range(3)]
        for process in running:
            out, err = tool.finish(process)
            self.assertEqual(err, b"")
            self.assertEqual(json.loads(out)["findings"], whole)
        self.forget_findings()
        self.assertEqual(self.lint("."), whole)


class RealTorch(tool.ToolTest):
    """On the headers of a real LibTorch: what is found, and what it depends on, stays the same."""

    def test_findings_are_the_same(self):
        found = sorted(run_cases.ROOT.glob(".venv/lib/python3*/site-packages/torch"))
        if not found:
            self.skipTest("no torch in .venv; scripts/setup puts it there")
        for case in CASES:
            self.write(f"{case}.cpp", run_cases.example(case))
        self.write("a.cpp", FILE)
        command = ("lint", "--torch", found[0], "-j", "1", "--format", "json", ".")
        whole = json.loads(self.run_tool(*command, "--no-cache").out)
        kept = json.loads(self.run_tool(*command).out)
        self.assertEqual(kept, whole)
        self.assertGreater(len(whole["findings"]), 5)
        self.assertEqual(whole["source"]["partly"], 0)
        cache = self.folder / "cache/dtypecheck/lint"
        self.assertEqual(len(list((cache / "pch").glob("*.pch"))), 1)
        # The files that a file's findings are kept for are those of a whole parse.
        lists = {entry.read_text().splitlines()[1] for entry in cache.glob("*.facts")}
        with_pch = [set((cache / f"{name}.headers").read_text().splitlines()) for name in lists]
        for entry in cache.glob("*.facts"):
            entry.unlink()
        shutil.rmtree(cache / "pch")
        (cache / "pch").write_text("none")
        self.run_tool(*command)
        lists = {entry.read_text().splitlines()[1] for entry in cache.glob("*.facts")}
        for name in lists:
            without = set((cache / f"{name}.headers").read_text().splitlines())
            self.assertTrue(any(without <= headers for headers in with_pch))


if __name__ == "__main__":
    real = "--real-torch" in sys.argv
    sys.argv = [argument for argument in sys.argv if argument != "--real-torch"]
    unittest.main(defaultTest="RealTorch" if real else "PrecompiledHeaders")
