"""Where an operand's dtype came from: the line that made, cast or loaded a parameter, and what
torch.tensor and its like were given."""

import unittest

from traced import TracedTest, line_of


class Origins(TracedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = cls.folder / "states"
        folder.mkdir()
        cls.untraced = cls.plain("origins.py", folder)
        cls.done = cls.traced("origins.py", folder)

    def read_at(self, name, op):
        (call,) = self.done.run.calls(line=line_of("origins.py", name), op=op)
        return call["operands"][0]

    def origin_at(self, name, op="aten::add"):
        (call,) = self.done.run.calls(id=self.read_at(name, op)["origin_id"])
        return call

    def assert_parameter(self, name, line, op):
        operand = self.read_at(name, "aten::add_")
        self.assertTrue(operand["parameter"].endswith(".weight"), operand)
        origin = self.origin_at(name, "aten::add_")
        self.assertEqual((origin["op"], origin["line"]), (op, line_of("origins.py", line)))
        self.assertEqual(origin["results"][0]["dtype"], operand["dtype"])

    def assert_made(self, name, op, scalars, dtype):
        origin = self.origin_at(name)
        self.assertEqual((origin["op"], origin["line"], origin.get("scalars", {})),
                         (op, line_of("origins.py", name), scalars))
        self.assertEqual([result["dtype"] for result in origin["results"]], [dtype])

    def test_program_did_not_notice(self):
        self.assertEqual(self.done.status, 0, self.done.err)
        self.assertEqual((self.done.out, self.done.err), (self.untraced.out, self.untraced.err))
        self.assertIn("True from_numpy", self.done.out)

    def test_a_view_in_another_dtype(self):
        """It is an origin of its own, and its base keeps the one that it had."""
        self.assertEqual(self.origin_at("read parts")["op"], "aten::view_as_real")
        self.assertEqual(self.origin_at("read spectrum")["op"], "aten::fft_rfft")

    def test_a_sparse_tensor_has_the_dtype_of_its_values(self):
        for name, line, op in (("read graph", "values", "python::torch.from_numpy"),
                               ("read single", "single", "aten::_to_copy")):
            with self.subTest(name):
                origin = self.origin_at(name, "aten::_sparse_mm")
                self.assertEqual((origin["op"], origin["line"]), (op, line_of("origins.py", line)))

    def test_one_line_that_is_given_tensors_of_two_makers(self):
        for name, op in (("scores", "aten::randn"), ("labels", "aten::zeros")):
            with self.subTest(name):
                (maker,) = self.done.run.calls(id=self.origin_at("read " + name)["operands"][0]["origin_id"])
                self.assertEqual((maker["op"], maker["line"]), (op, line_of("origins.py", name)))
        counts = [call["count"] for call in self.done.run.calls(line=line_of("origins.py", "chosen"), op="aten::index")]
        self.assertEqual(sorted(counts), [1, 2])  # what is computed of the scores has their maker

    def test_parameters(self):
        for name, line, op in (("step half", "half", "aten::_to_copy"),
                               ("step to", "to", "aten::_to_copy"),
                               ("step handed", "handed", "aten::_to_copy"),
                               ("step asking", "own to", "aten::_to_copy"),
                               ("step made", "made", "aten::empty"),
                               ("step data", "data", "aten::_to_copy"),
                               ("step copied", "copied", "aten::empty"),
                               ("step assigned", "load", "aten::set_"),
                               ("step safe", "safetensors", "aten::view")):
            with self.subTest(name):
                self.assert_parameter(name, line, op)

    def test_finding_of_the_optimizer_names_the_line(self):
        # One finding a process, at its first step.
        found = {finding["location"]["line"]: finding["operands"][0]["origin"]
                 for finding in self.done.run.findings("fp16-trainable")}
        self.assertEqual(found.keys(), {line_of("origins.py", "step half"),
                                        line_of("origins.py", "step in child")})
        self.assertEqual(found[line_of("origins.py", "step half")][0]["line"],
                         line_of("origins.py", "half"))
        self.assertEqual(found[line_of("origins.py", "step in child")], [])

    def test_parameter_from_before_the_trace(self):
        operand = self.read_at("step in child", "aten::add_")
        self.assertNotIn("origin_id", operand)

    def test_data_loader(self):
        origin = self.origin_at("read row")
        self.assertEqual((origin["op"], origin["line"]),
                         ("aten::set_", line_of("origins.py", "load row")))
        self.assertNotIn("origin_id", self.read_at("read sent", "aten::add"))

    def test_sources(self):
        for name, function, scalars, dtype in (
                ("floats", "tensor", {"list[float]": "Double"}, "Float"),
                ("numpy floats", "tensor", {"list[float64]": "Double"}, "Double"),
                ("integers", "tensor", {"list[int]": "Long"}, "Long"),
                ("mixed", "tensor", {}, "Float"),
                ("copied array", "tensor", {"ndarray": "Double"}, "Double"),
                ("number", "tensor", {"float": "Double"}, "Half"),
                ("as_tensor", "as_tensor", {"ndarray": "Float"}, "Float"),
                ("asarray", "asarray", {"ndarray": "Short"}, "Short"),
                ("from_numpy", "from_numpy", {"ndarray": "Double"}, "Double"),
                ("recarray", "from_numpy", {"ndarray": "Double"}, "Double"),
                ("frombuffer", "frombuffer", {}, "Double"),
                ("class of the program", "tensor", {}, "Float"),
                ("in a mode", "tensor", {"list[float]": "Double"}, "Float")):
            with self.subTest(name):
                self.assert_made(name, "python::torch." + function, scalars, dtype)

    def test_allocations_inside_are_not_recorded(self):
        calls = self.done.run.calls(line=line_of("origins.py", "floats"))
        self.assertEqual([call["op"] for call in calls], ["python::torch.tensor", "aten::add"])

    def test_first_call_of_libtorch(self):
        origin = self.origin_at("read first")
        self.assertEqual(origin["line"], line_of("origins.py", "first"))

    def test_tensor_keeps_its_own_origin(self):
        origin = self.origin_at("read as_tensor")
        self.assertEqual((origin["op"], origin["line"]),
                         ("aten::_to_copy", line_of("origins.py", "cast")))
        origin = self.origin_at("cast by as_tensor")
        self.assertEqual(origin["op"], "aten::_to_copy")

    def test_refused(self):
        (call,) = self.done.run.calls(line=line_of("origins.py", "refused"))
        self.assertEqual(call["error"], "too many dimensions 'str'")

    def test_old_tensors_are_remembered(self):
        (call,) = self.done.run.calls(line=line_of("origins.py", "read old"))
        self.assertEqual(len(call["operands"]), 8)
        lines = [self.done.run.calls(id=operand.get("origin_id"))[0]["line"]
                 for operand in call["operands"] if operand.get("origin_id")]
        self.assertEqual(lines, [line_of("origins.py", "old")] * 8)


class FirstCall(TracedTest):
    """The tracer begins inside of it."""

    def test_what_it_is_made_of(self):
        for name, ops, scalars in (
                ("tensor", ["aten::_to_copy", "python::torch.tensor", "aten::mul"], {"ndarray": "Double"}),
                ("cast", ["aten::_to_copy", "python::torch.tensor", "aten::mul"], {"ndarray": "Double"}),
                ("loop", ["aten::_to_copy", "python::torch.tensor", "aten::mul"], {"ndarray": "Double"}),
                ("as_tensor", ["python::torch.as_tensor", "aten::mul"], {"ndarray": "Double"}),
                ("from_numpy", ["python::torch.from_numpy", "aten::_to_copy", "aten::add", "aten::mul"], {"ndarray": "Double"}),
                ("list", ["python::torch.tensor", "aten::mul"], {"list[float]": "Double"}),
                ("empty", ["aten::empty", "aten::mul"], {}), ("handed", ["aten::empty", "aten::mul"], {}),
                ("refused", ["aten::empty", "aten::mul"], {})):
            with self.subTest(name):
                done = self.traced("first_call.py", name)
                self.assertEqual((done.status, done.err), (0, ""))
                calls = done.run.calls()
                self.assertEqual([call["op"] for call in calls], ops)
                made = calls[ops.index(ops[-2])]
                self.assertEqual(calls[-1]["operands"][0]["origin_id"], made["id"])
                if scalars:
                    (call,) = [call for call in calls if call["op"].startswith("python::")]
                    self.assertEqual((call["scalars"], call["count"]), (scalars, 3 if name == "loop" else 1))


if __name__ == "__main__":
    unittest.main()
