"""dtypecheck lint: paths, databases, comments that accept, formats, exit statuses, bad input."""

import json
import pathlib
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


class Lint(tool.ToolTest):
    def lint(self, *arguments, **options):
        return self.run_tool("lint", "--torch", "bundled", *arguments, **options)

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

    def test_compile_database(self):
        self.write("bad.cpp", "#ifdef IN_DATABASE\n" + BAD + "#endif\n")
        self.assertEqual(self.lint("bad.cpp").status, 0)
        command = "nvcc -DIN_DATABASE -gencode arch=compute_80,code=sm_80 --expt-relaxed-constexpr -c bad.cpp -o bad.o"
        self.write("build/compile_commands.json",
                   json.dumps([{"directory": str(self.work), "file": "bad.cpp", "command": command}]))
        self.assertEqual(self.lint("-p", "build", "bad.cpp").status, 1)

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

    def test_not_accepted(self):
        for comment in ("// NOLINT(dtypecheck-raw-cast)", "// NOLINT(bugprone-*)", "// dtypecheck: allow(raw-cast): why"):
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

    def test_a_missing_header_costs_what_needs_it(self):
        self.write("bad.cpp", '#include "nowhere/parallel_hashmap.h"\n' + BAD + "phmap::map<int> m;\n")
        result = self.lint("bad.cpp")
        self.assertEqual(result.status, 1)
        self.assertIn("x is read as float", result.out)
        self.assertIn("nowhere/parallel_hashmap.h: not found", result.out)

    def test_what_is_no_cplusplus(self):
        self.write("text.cpp", "this is a letter, not a program\n" * 50)
        self.write("bytes.cpp", "")
        (self.work / "bytes.cpp").write_bytes(bytes(range(256)) * 40)
        self.write("empty.cpp", "")
        for name in ("text.cpp", "bytes.cpp", "empty.cpp"):
            self.assertEqual(self.lint(name).status, 0, name)

    def test_include_cycle_and_depth(self):
        self.write("loop.cpp", '#include "loop.cpp"\n' + BAD)
        self.assertIn(self.lint("loop.cpp").status, (0, 1))
        self.write("deep.cpp", BAD + "int deep = " + "(" * 20_000 + "1" + ")" * 20_000 + ";\n")
        self.assertIn(self.lint("deep.cpp").status, (0, 1, 2))

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
        self.assertIn("raw-cast", self.run_tool("lint", "--list-checks").out)
        self.assert_one_line(self.run_tool("lint", "--explain", "raw-cats"), "did you mean 'raw-cast'?")

    def test_the_json_follows_its_schema(self):
        try:
            import jsonschema
        except ImportError:
            self.skipTest("this Python has no jsonschema")
        schema = json.loads((pathlib.Path(__file__).resolve().parents[2] / "docs/report-schema.json").read_text())
        self.write("bad.cpp", BAD)
        jsonschema.validate(json.loads(self.lint("--format", "json", "bad.cpp").out), schema)


if __name__ == "__main__":
    unittest.main()
