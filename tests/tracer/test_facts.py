"""What a trace says of an op call: its line, module, parameters, autocast state, phase, step, origins and refusals."""

import unittest

from traced import TracedTest, line_of


class Facts(TracedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.done = cls.traced("facts.py")
        cls.run_ = cls.done.run

    def at(self, name, **wanted):
        return self.run_.calls(line=line_of("facts.py", name), **wanted)

    def one(self, name, **wanted):
        calls = self.at(name, **wanted)
        self.assertEqual(len(calls), 1, calls)
        return calls[0]

    def operand(self, call, name):
        (operand,) = [operand for operand in call["operands"] if operand["name"] == name]
        return operand

    def origin(self, operand):
        return self.run_.calls(id=operand["origin_id"])[0]

    def test_program_ran(self):
        self.assertEqual(self.done.status, 0, self.done.err)

    def test_module_paths(self):
        modules = {(call["module"], call["module_class"])
                   for call in self.at("block proj", op="aten::linear")}
        self.assertEqual(modules, {("net.blocks.0.proj", "Linear"),
                                   ("net.blocks.1.proj", "Linear")})
        modules = {call["module"] for call in self.at("block norm", op="aten::native_layer_norm")}
        self.assertEqual(modules, {"net.blocks.0.norm", "net.blocks.1.norm"})
        self.assertEqual(self.at("block norm", op="aten::mul")[0]["module"], "net.blocks.0")
        self.assertNotIn("module", self.at("clip")[0])

    def test_function_of_a_line(self):
        self.assertEqual(self.at("head")[0]["function"], "Net.forward")
        self.assertTrue(self.at("head")[0]["file"].endswith("/facts.py"))

    def test_parameter_names(self):
        call = self.at("head",
                       op="aten::addmm")[-1]  # without autocast: it gets the parameters themselves
        self.assertEqual(self.operand(call, "bias")["parameter"], "net.head.bias")
        self.assertEqual(self.operand(call, "mat2")["parameter"],
                         "net.head.weight")  # a transposed view of it
        self.assertNotIn("parameter", self.operand(call, "mat1"))

    def test_autocast_wrapper_and_inner_call(self):
        outer, inner = [call for call in self.at("head", op="aten::linear", phase="forward")
                        if call["last_step"] < 5]
        self.assertEqual(outer["autocast_call"], "wrapper")
        self.assertEqual(outer["autocast"], {"cpu": "BFloat16"})
        self.assertEqual({operand["dtype"] for operand in outer["operands"]}, {"Float"})
        self.assertEqual(inner["autocast_call"], "inner")
        self.assertEqual(inner["parent_id"], outer["id"])
        self.assertEqual({operand["dtype"] for operand in inner["operands"]}, {"BFloat16"})

    def test_autocast_regions(self):
        outer = self.one("inside", op="aten::matmul")
        self.assertEqual((outer["autocast"], outer["autocast_call"]),
                         ({"cpu": "BFloat16"}, "wrapper"))
        self.assertNotIn("autocast", self.one("disabled", op="aten::matmul"))
        self.assertEqual(self.one("float16", op="aten::matmul")["autocast"], {"cpu": "Half"})

    def test_casts_of_autocast_are_reported_apart(self):
        casts = [call for call in self.at("head", op="aten::_to_copy", phase="forward")]
        self.assertEqual({call["operands"][0].get("parameter") for call in casts},
                         {None, "net.head.weight", "net.head.bias"})
        addmm = [call for call in self.at("head", op="aten::addmm") if call["last_step"] < 5][0]
        self.assertEqual(self.origin(self.operand(addmm, "mat2"))["operands"][0]["parameter"],
                         "net.head.weight")
        self.assertNotIn("parameter", self.origin(self.operand(addmm, "mat1"))["operands"][0])

    def test_backward_carries_the_forward_line(self):
        norm = [call for call in self.at("block norm", op="aten::native_layer_norm_backward")]
        self.assertEqual({call["module"] for call in norm},
                         {"net.blocks.0.norm", "net.blocks.1.norm"})
        self.assertEqual({call["phase"] for call in norm}, {"backward"})
        self.assertTrue(self.at("block proj", op="aten::mm", phase="backward",
                                module="net.blocks.1.proj"))

    def test_sum_of_a_bias_gradient_belongs_to_its_layer(self):
        (call,) = self.at("head", op="aten::sum")
        self.assertEqual((call["phase"], call["module"]), ("backward", "net.head"))
        self.assertEqual({call["phase"] for call in self.at("backward")},
                         {"forward"})  # the 1 that backward begins with
        self.assertEqual({call["op"] for call in self.at("backward")}, {"aten::ones_like"})

    def test_optimizer(self):
        calls = self.at("step")
        self.assertEqual({call["phase"] for call in calls}, {"optimizer"})
        (call,) = [call for call in calls if call["op"] == "aten::add_"]
        self.assertEqual((call["step"], call["last_step"], call["count"]), (1, 4, 4 * 10))

    def test_second_model_is_no_optimizer_step(self):
        self.assertEqual({call["phase"] for call in self.at("mixed conv", op="aten::uniform_")},
                         {"forward"})

    def test_steps(self):
        (process,) = self.run_.processes.values()
        self.assertEqual((process["steps"], process["steps_traced"]), (4, 4))
        self.assertEqual(self.at("loss", op="aten::sum")[0]["count"], 4)
        self.assertEqual(self.one("eval", op="aten::zeros")["step"], 5)

    def test_data_loader(self):
        calls = self.at("row")
        self.assertEqual({call["phase"] for call in calls}, {"data"})
        self.assertIn("aten::_to_copy", {call["op"] for call in calls})

    def test_construction_is_load(self):
        phases = {call["phase"] for call in self.run_.calls(op="aten::uniform_")
                  if call["function"] == "Block.__init__"}
        self.assertEqual(phases, {"load"})

    def test_origin_through_a_view(self):
        origin = self.origin(self.operand(self.one("user of cast"), "self"))
        self.assertEqual((origin["op"], origin["line"]),
                         ("aten::_to_copy", line_of("facts.py", "cast")))
        self.assertEqual(self.origin(origin["operands"][0])["op"], "aten::ones")

    def test_checkpoint_recomputes_at_the_forward_line(self):
        calls = self.at("block proj", op="aten::linear", module="net.blocks.0.proj", step=5)
        self.assertTrue(any(call["operands"][0].get("leaf") for call in calls), calls)
        self.assertEqual({call["phase"] for call in calls}, {"forward"})

    def test_throw_in_a_composite_op(self):
        call = self.one("mixed matmul", op="aten::mm")
        self.assertEqual((call["outcome"], call["throws"], call["count"], call["error_type"]),
                         ("threw", 3, 3, "c10::Error"))
        self.assertEqual(call["error"],
                         "expected m1 and m2 to have the same dtype, but got: float != c10::Half")
        self.assertEqual(call["parent_id"], self.one("mixed matmul", op="aten::matmul")["id"])

    def test_one_finding_for_a_throw(self):
        found = [f for f in self.run_.findings("mixed-operands")
                 if f["location"]["line"] == line_of("facts.py", "mixed matmul")]
        self.assertEqual([(f["op"], f["count"]) for f in found], [("aten::mm", 3)])

    def test_throw_in_a_module(self):
        call = self.one("mixed conv", outcome="threw")
        self.assertEqual((call["op"], call["module_class"]), ("aten::conv2d", "Conv2d"))
        self.assertIn("Input type (float) and bias type (c10::Half) should be the same",
                      call["error"])

    def test_integers_that_do_not_fit(self):
        self.assertEqual(self.one("inexact", op="aten::_to_copy")["inexact"],
                         {"from": 1365, "to": 1368})
        self.assertEqual(self.one("inexact half", op="aten::_to_copy")["inexact"],
                         {"from": 2049, "to": 2048})
        self.assertNotIn("inexact", self.one("exact", op="aten::_to_copy"))
        self.assertNotIn("inexact", self.one("float", op="aten::_to_copy"))
        lines = {finding["location"]["line"]
                 for finding in self.run_.findings("low-precision-index")}
        self.assertEqual(lines, {line_of("facts.py", "inexact"),
                                 line_of("facts.py", "inexact half")})

    def test_roles(self):
        softmax = self.one("output is read", op="aten::_softmax_backward_data")
        self.assertEqual(self.operand(softmax, "output").get("role", "input"), "input")
        sort = self.at("values are written", op="aten::sort")[0]
        self.assertEqual(self.operand(sort, "values")["role"], "out")
        self.assertEqual(self.operand(sort, "indices")["role"], "out")

    def test_an_alias_is_recorded_as_what_it_calls(self):
        self.assertEqual([call["op"] for call in self.at("alias")], ["aten::mul"])


if __name__ == "__main__":
    unittest.main()
