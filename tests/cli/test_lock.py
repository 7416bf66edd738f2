"""dtypecheck lock and diff: what modules compute in, what of it changed, and what cannot be compared."""

import json
import unittest

import tool


def run_of(dtypes, device="cpu", libtorch="2.11.0", result=None, head="pid=1", names=("to_q", "to_k")):
    """Two blocks of two projections, each in the dtype that `dtypes` says."""
    suffix = "" if device == "cpu" else f"@{device}"
    lines = [f"process {head} libtorch={libtorch} steps=1"]
    for block, dtype in enumerate(dtypes):
        for name in names:
            module = f"unet.blocks.{block}.{name}"
            lines.append(
                f"op aten::linear input={dtype}[2,4]{suffix} weight={dtype}[4,4]{suffix}%{module}.weight"
                f" -> {result or dtype}[2,4]{suffix} at train.py:9 main in {module} (Linear) phase forward step 1")
    return "\n".join(lines) + "\n"


class Lock(tool.ToolTest):
    def setUp(self):
        super().setUp()
        self.write("half.trace", run_of(["Half", "Half"]))
        self.write("float.trace", run_of(["Half", "Float"]))

    def lock(self, *arguments):
        result = self.run_tool("lock", *arguments)
        self.assertEqual((result.status, result.err), (0, ""))
        return result.out

    def diff(self, *arguments, status=1):
        result = self.run_tool("diff", *arguments)
        self.assertEqual((result.status, result.err), (status, ""), result.out)
        return result.out

    def test_modules_that_are_alike_stand_together(self):
        self.assertEqual(self.lock("half.trace"), """\
# dtypecheck lock 1
# LibTorch 2.11.0, cpu
unet.blocks.{0,1}.{to_k,to_q}
  forward aten::linear input=Half weight=Half -> Half @cpu
  parameters weight=Half
""")

    def test_order_counts_and_steps_are_no_difference(self):
        head, *calls = run_of(["Half", "Half"]).splitlines()
        again = [head, *(call.replace("train.py:9", "train.py:30").replace("step 1", "step 1-9 count 70")
                         for call in reversed(calls))]
        self.write("again.trace", "\n".join(again) + "\n")
        self.assertEqual(self.lock("again.trace"), self.lock("half.trace"))
        self.assertEqual(self.diff("half.trace", "again.trace", status=0), "no dtype differs in 4 modules\n")

    def test_what_changed(self):
        self.lock("half.trace", "-o", "dtype.lock")
        self.assertEqual(self.diff("dtype.lock", "float.trace"), """\
unet.blocks.1.* (2 modules)
  weight: Half → Float
  forward aten::linear input: Half → Float
  forward aten::linear result: Half → Float

2 modules changed, 2 the same
""")

    def test_all_blocks_are_a_star(self):
        self.write("all.trace", run_of(["Float", "Float"]))
        self.assertIn("unet.blocks.*.* (4 modules)\n  weight: Half → Float\n", self.diff("half.trace", "all.trace"))

    def test_json(self):
        self.write("less.trace", run_of(["Half", "Float"], names=["to_q"]))
        diff = json.loads(self.diff("half.trace", "less.trace", "--json"))
        self.assertEqual(diff["changes"], [{"modules": ["unet.blocks.1.to_q"], "differences": [
            {"what": "weight", "before": "Half", "after": "Float"},
            {"what": "forward aten::linear input", "before": "Half", "after": "Float"},
            {"what": "forward aten::linear result", "before": "Half", "after": "Float"}]}])
        self.assertEqual(diff["only_before"], ["unet.blocks.*.to_k (2 modules)"])
        self.assertEqual(diff["modules"], {"changed": 1, "only_before": 2, "only_after": 0, "same": 1})
        self.assertEqual((diff["before"], diff["after"], diff["same"]), ("half.trace", "less.trace", False))
        same = json.loads(self.diff("half.trace", "half.trace", "--json", status=0))
        self.assertEqual((same["changes"], same["same"], same["runtime"]), ([], True, None))

    def test_json_of_calls_and_autocast(self):
        call = "op aten::linear input=Float[2,4] weight=Float[4,4] -> Float[2,4] at t.py:9 main in net phase forward"
        self.write("plain.trace", f"process pid=1\n{call}\n")
        self.write("cast.trace", f"process pid=1\n{call} autocast cpu:BFloat16 inner\n"
                   "op aten::relu self=Half[2,4] -> Half[2,4] at t.py:10 main in net phase forward\n")
        differences = json.loads(self.diff("plain.trace", "cast.trace", "--json"))["changes"][0]["differences"]
        self.assertIn({"what": "autocast", "before": "none", "after": "BFloat16"}, differences)
        self.assertIn({"what": "op call", "before": None, "after": "forward aten::relu self=Half -> Half @cpu"}, differences)

    def test_two_lockfiles_and_the_way_back(self):
        self.lock("half.trace", "-o", "a.lock")
        self.lock("float.trace", "-o", "b.lock")
        self.assertIn("weight: Half → Float", self.diff("a.lock", "b.lock"))
        self.assertIn("weight: Float → Half", self.diff("b.lock", "a.lock"))
        self.diff("a.lock", "a.lock", status=0)

    def test_another_device_and_another_libtorch_are_reported_once(self):
        self.write("cuda.trace", run_of(["Half", "Half"], device="cuda:0", libtorch="2.6.0"))
        self.assertEqual(self.diff("half.trace", "cuda.trace", status=0), """\
LibTorch 2.11.0, cpu → LibTorch 2.6.0, cuda
compared without the device: cpu → cuda
no dtype differs in 4 modules
""")

    def test_many_changes_are_folded_to_a_screen(self):
        dtypes = ["Half", "Float", "BFloat16", "Double"]

        def run(offset):
            lines = ["process pid=1 libtorch=2.11.0 steps=1"]
            for block in range(60):
                before, after = dtypes[(block + offset) % 4], dtypes[(block // 4 + offset) % 4]
                lines.append(f"op aten::linear input={before}[2,4] weight={after}[4,4]%b.{block}.name{block}.weight -> "
                             f"{after}[2,4] at train.py:9 main in b.{block}.name{block} (Linear) phase forward step 1")
            return "\n".join(lines) + "\n"

        self.write("a.trace", run(0))
        self.write("b.trace", run(1))
        folded = self.diff("a.trace", "b.trace")
        self.assertLess(len(folded.splitlines()), 36, folded)
        self.assertIn("--all lists them", folded)
        whole = self.diff("a.trace", "b.trace", "--all")
        self.assertEqual(whole.splitlines()[-1], folded.splitlines()[-1])
        self.assertGreater(len(whole.splitlines()), 60)
        self.assertNotIn("…", whole)

    def test_marks_that_turn_the_reading_order_are_escaped(self):
        name = "unet.\u202eko.\u2066q"
        self.write("odd.trace", "process pid=1 libtorch=2.11.0\n"
                   f'op aten::linear input=Half[2] weight=Half[2]%"{name}.weight" -> Half[2] at "train\u202e.py":9 in "{name}" phase forward\n')
        lock = self.lock("odd.trace")
        for text in (lock, self.run_tool("dump", "odd.trace").out, self.run_tool("dump", "odd.trace", "--format", "jsonl").out):
            self.assertNotRegex(text, "[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
            self.assertRegex(text, r"\\(xe2|u202e)")
        self.write("odd.lock", lock)
        self.assertIn("no dtype differs", self.diff("odd.lock", "odd.trace", status=0))
        self.write("again.trace", self.run_tool("dump", "odd.trace").out)
        self.assertEqual(self.lock("again.trace"), lock)

    def test_an_eager_and_a_compiled_run(self):
        def run(model, facts, calls):
            return "\n".join([f"process pid=1 libtorch=2.15.0 steps=1{facts}", *(
                f"op {call} at net.py:9 forward in {model}.up (Up) phase forward step 1" for call in calls)]) + "\n"
        weight = "weight=BFloat16[4,4]%{}.up.weight"
        self.write("eager.trace", run("net", "", [
            f"aten::linear input=BFloat16[2,4] {weight.format('net')} -> BFloat16[2,4]",
            "aten::mul.Tensor self=BFloat16[2,4] other=Double[]$ other:=1.1 -> BFloat16[2,4]",
            "aten::exp self=Float[2,4] -> Float[2,4]"]))
        region = f"compiled::inductor_forward_0 inputs[0]=BFloat16[2,4] {weight.format('net._orig_mod')} -> BFloat16[2,4]"
        fact = ' fact:compiled.inductor_forward_0="{}"'
        ops = "aten::addmm BFloat16 BFloat16 BFloat16;aten::permute BFloat16 BFloat16 Float;aten::mul BFloat16 BFloat16 {};" \
              "aten::exp Float Float Float"
        self.write("compiled.trace", run("net._orig_mod", fact.format(ops.format("Float")), [region]))
        self.assertEqual(self.diff("eager.trace", "compiled.trace"), """\
torch.compile computes in another dtype, and rounds what a kernel stores
  forward: BFloat16 in eager, Float in compiled: aten::mul

0 modules changed, 1 the same
""")
        self.assertEqual(json.loads(self.diff("eager.trace", "compiled.trace", "--json"))["compiled"],
                         ["forward: BFloat16 in eager, Float in compiled: aten::mul"])
        self.assertIn("  forward aten::mul inputs=BFloat16 computed=Float -> BFloat16 @cpu\n", self.lock("compiled.trace"))
        # It rounds as eager does, with emulate_precision_casts; and what cannot be read says nothing.
        for facts in (fact.format(ops.format("BFloat16")), fact.format("aten::mul BFloat16;;x"), ""):
            self.write("rounds.trace", run("net._orig_mod", facts, [region]))
            self.assertEqual(self.diff("eager.trace", "rounds.trace", status=0), "no dtype differs in 1 module\n")

    ENGINE = """\
# dtypecheck lock 1
runner.model.model.layers.{{0,1}}
  forward aten::add self={residual} other={residual} -> {residual} @cuda
runner.model.model.layers.{{0,1}}.self_attn.qkv_proj
  parameters weight=BFloat16
runner.model.model.layers.{{0,1}}.mlp.down_proj
  forward aten::linear input=BFloat16 weight={weight} -> BFloat16 @cuda
  parameters weight={weight}
runner.model.lm_head
  parameters weight=BFloat16
sampler.py:forward
  forward aten::multinomial self=Float -> Long @cuda
"""
    TRAINER = """\
# dtypecheck lock 1
actor.model.layers.{0,1}
  forward aten::add self=BFloat16 other=BFloat16 -> BFloat16 @cuda
actor.model.layers.{0,1}.self_attn.{q_proj,k_proj,v_proj}
  parameters weight=BFloat16
actor.model.layers.{0,1}.mlp.down_proj
  forward aten::linear input=BFloat16 weight=BFloat16 -> BFloat16 @cuda
  parameters weight=BFloat16
actor.lm_head
  parameters weight=BFloat16
train.py:loss
  forward aten::_log_softmax self=Float -> Float @cuda
"""

    def test_a_trainer_and_an_engine(self):
        self.write("trainer.lock", self.TRAINER)
        self.write("engine.lock", self.ENGINE.format(residual="Float", weight="Float8_e4m3fn"))
        self.assertEqual(self.diff("trainer.lock", "engine.lock"), """\
actor.model.layers.* (2 modules)
  forward aten::add self: BFloat16 → Float
  forward aten::add other: BFloat16 → Float
  forward aten::add result: BFloat16 → Float
actor.model.layers.*.mlp.down_proj (2 modules)
  weight: BFloat16 → Float8_e4m3fn
only in trainer.lock
  actor.model.layers.{0,1}.self_attn.{k_proj,q_proj,v_proj} (6 modules)
  train.py:loss
only in engine.lock
  actor.model.layers.*.self_attn.qkv_proj (2 modules)
  sampler.py:forward

compared as one: actor.* → runner.model.*
4 modules changed, 7 only in trainer.lock, 3 only in engine.lock, 1 the same
""")
        # Two models that share the name of a module, and no more.
        self.write("other.lock", "# dtypecheck lock 1\n" + "".join(f"net.{name}\n  parameters weight=Half\n" for name in ("lm_head", "a", "b", "c")))
        self.assert_one_line(self.run_tool("diff", "trainer.lock", "other.lock"), "no module in common")

    def test_modules_of_one_side(self):
        self.write("less.trace", run_of(["Half", "Half"], names=["to_q"]))
        text = self.diff("half.trace", "less.trace")
        self.assertIn("only in half.trace\n  unet.blocks.*.to_k (2 modules)\n", text)

    def test_calls_outside_of_modules_and_odd_names(self):
        text = self.lock(self.write("odd.trace", """\
process pid=1 libtorch=2.11.0 steps=1
op aten::cat tensors=Half[1],Float[1] -> Float[2] at /home/me/train.py:91 main phase forward
op aten::mm self=Half[1,1] mat2=Half[1,1] -> Half[1,1] in "a {0} name" phase forward
op aten::linear input=Float[1,1] weight=Half[1,1] -> Float[1,1] in net phase forward autocast cpu:BFloat16 wrapper
op aten::linear input=BFloat16[1,1] weight=BFloat16[1,1] -> BFloat16[1,1] in net phase forward autocast cpu:BFloat16 inner parent #3
op aten::addmm mat1=BFloat16[1,1] mat2=BFloat16[1,1] -> BFloat16[1,1] in net phase forward parent #4
op aten::normal_ self=Float[1] -> Float[1] at train.py:1 main phase load
"""))
        self.assertIn("train.py:main\n  forward aten::cat tensors=Half|Float -> Float @cpu\n", text)
        self.assertIn('"a {0} name"\n  forward aten::mm', text)
        self.assertIn("net\n  forward aten::linear input=BFloat16 weight=BFloat16 -> BFloat16 @cpu autocast BFloat16\n",
                      text)
        self.assertEqual(text.count("net\n"), 1)
        self.assertNotIn("addmm", text)
        self.assertNotIn("normal_", text)
        self.write("odd.lock", text)
        self.diff("odd.lock", "odd.trace", status=0)

    def test_a_run_that_is_not_whole(self):
        self.write("cut.trace", run_of(["Half", "Half"], head='pid=1 damaged="cut short at byte 4096"'))
        result = self.run_tool("lock", "cut.trace", "-o", "dtype.lock")
        self.assertEqual(result.status, 2)
        self.assertEqual(result.err.count("\n"), 1)
        self.assertIn("cut short at byte 4096", result.err)
        self.assertTrue((self.work / "dtype.lock").exists())
        same = self.run_tool("diff", "half.trace", "cut.trace")
        self.assertEqual(same.status, 2)
        self.assertIn("a part of the run of cut.trace is missing", same.err)
        self.assertEqual(self.run_tool("diff", "float.trace", "cut.trace").status, 1)

    def test_bad_input(self):
        self.write("other.trace", tool.CLEAN)
        self.assert_one_line(self.run_tool("diff", "half.trace", "other.trace"), "no module in common")
        self.write("text.lock", "hello\n")
        self.assert_one_line(self.run_tool("diff", "text.lock", "half.trace"), "text.lock", "not a lockfile")
        self.write("new.lock", "# dtypecheck lock 2\n")
        self.assert_one_line(self.run_tool("diff", "new.lock", "half.trace"), "version 2", "this build reads 1")
        self.write("broken.lock", "# dtypecheck lock 1\nnet\n  forward\n")
        self.assert_one_line(self.run_tool("diff", "broken.lock", "half.trace"), "broken.lock:3", "an op")
        self.write("many.lock", "# dtypecheck lock 1\nnet.{0-9999999}\n")
        self.assert_one_line(self.run_tool("diff", "many.lock", "half.trace"), "many.lock:2")
        self.assert_one_line(self.run_tool("diff", "none.lock", "half.trace"), "none.lock")
        self.assert_one_line(self.run_tool("diff", "half.trace"), "NEW")
        self.assert_one_line(self.run_tool("lock", "half.trace", "-o", "none/dtype.lock"), "none/dtype.lock")


if __name__ == "__main__":
    unittest.main()
