"""trace --values and diff: the op that was planted is the first that is named, and near misses name nothing."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from test_launchers import torchrun
from traced import DTYPECHECK, PROGRAMS, TESTS, TracedTest, line_of, tool

SCHEMA = TESTS.parent / "docs" / "values-schema.json"


class Digests(TracedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.runs_of = {}

    @classmethod
    def run_of(cls, plant, option="--values"):
        if (plant, option) not in cls.runs_of:
            options = [option] if option else []
            cls.runs_of[plant, option] = cls.traced("parting.py", plant, options=options)
        return cls.runs_of[plant, option]

    def compared(self, plant, status, base="plain"):
        folders = self.run_of(base).run.folder, self.run_of(plant).run.folder
        done = tool("diff", "--json", *folders)
        result = json.loads(done.stdout)
        self.assertEqual(done.returncode, status, result)
        self.assertEqual(result["apart"], status == 1)
        check(self, result, json.loads(SCHEMA.read_text()))
        return result

    def first(self, plant):
        return self.compared(plant, 1)["places"][0]

    def assert_only_rounding(self, plant):
        result = self.compared(plant, 0)
        self.assertEqual(result["places"], [])
        self.assertTrue(result["inputs"]["agree"])
        self.assertGreater(result["op_calls"]["agree"], 300)
        return result


class Planted(Digests):
    def test_epsilon(self):
        place = self.first("eps")
        self.assertEqual((place["module"], place["op"], place["phase"], place["step"], place["given"]),
                         ("net.blocks.1.norm", "aten::native_layer_norm", "forward", 1, 0))

    def test_states_of_the_optimizer(self):
        states = [named for named in self.compared("eps", 1)["named"] if named["of"] == "states"]
        self.assertEqual([named["distance"] == 0 for named in states], [True, False])  # what step 1 began with
        self.assertEqual(states[1]["first"], "net.blocks.1.norm.weight by addcmul")

    def test_gelu(self):
        place = self.first("gelu")
        self.assertEqual((place["module"], place["op"]), ("net.blocks.1.act", "aten::gelu"))

    def test_mask(self):
        place = self.first("mask")
        self.assertEqual((place["op"], place["cause"]), ("aten::masked_fill", "adds"))
        self.assertTrue(place["place"].endswith(f"parting.py:{line_of('parting.py', 'mask')}"), place)

    def test_clamp_stands_between(self):
        place = self.first("clamp")
        self.assertEqual((place["op"], place["cause"], place["only_before"]), ("aten::softmax", "between", []))
        (between,) = place["only_after"]
        self.assertTrue(between.startswith("aten::clamp at "), between)
        self.assertTrue(between.endswith(f"parting.py:{line_of('parting.py', 'clamp')}"), between)

    def test_nan_in_one_run(self):
        place = self.first("nan")
        self.assertEqual(place["distance"], "infinity")
        self.assertIn("net.blocks.1", place["module"])
        text = tool("diff", self.run_of("plain").run.folder, self.run_of("nan").run.folder).stdout.decode()
        self.assertIn(" tensors, not finite in one run alone: ", text)

    def test_changed_reduction(self):
        place = self.first("sum")
        self.assertIn("aten::mean", place["only_before"][0])
        self.assertIn("aten::sum", place["only_after"][0])

    def test_a_layer_in_another_precision(self):
        result = self.assert_only_rounding("layer")
        self.assertEqual(result["rounding"][0]["module"], "net.blocks.1.act")
        self.assertIn(f"aten::linear at {PROGRAMS / 'parting.py'}:{line_of('parting.py', 'layer')}",
                      result["rounding"][0]["only_after"])

    def test_ema_in_another_dtype(self):
        place = self.assert_only_rounding("ema")["rounding"][0]
        self.assertEqual(place["dtypes"], ["Float", "BFloat16"])
        self.assertTrue(place["place"].endswith(f"parting.py:{line_of('parting.py', 'ema')}"), place)


class NearMisses(Digests):
    def test_the_same_run(self):
        result = self.assert_only_rounding("plain")
        self.assertEqual((result["rounding"], result["op_calls"]["not_judged"], result["without_digest"]), ([], 0, 0))
        self.assertEqual({named["distance"] for named in result["named"]}, {0})
        self.assertEqual([(named["of"], named["count"]) for named in result["named"]],
                         [("weights", 24), ("gradients", 24), ("states", 48)] * 2)

    def test_nan_in_both(self):
        self.compared("nan", 0, base="nan")

    def test_autocast(self):
        result = self.assert_only_rounding("autocast")
        self.assertEqual(result["rounding"][0]["dtypes"], ["Float", "BFloat16"])

    def test_threads(self):
        self.assertEqual(self.assert_only_rounding("threads")["rounding"], [])

    def test_memory_that_is_used_again(self):
        self.assertEqual(self.assert_only_rounding("keeps")["rounding"], [])

    def test_optimizer_one_by_one(self):
        states = [named for named in self.assert_only_rounding("loop")["named"] if named["of"] == "states"]
        self.assertEqual([(named["count"], named["distance"]) for named in states], [(48, 0)] * 2)

    def test_a_run_that_stops(self):
        result = self.assert_only_rounding("stops")
        self.assertEqual(result["steps"], [1, 2])
        [note] = result["notes"]
        self.assertRegex(note, r"has no digests of steps? .*which the other run has")


class OtherInputs(Digests):
    def test_seed(self):
        inputs = self.compared("seed", 1)["inputs"]
        self.assertEqual(inputs["weights"], 24)
        self.assertGreater(inputs["weights_apart"], 12)

    def test_order(self):
        inputs = self.compared("order", 1)["inputs"]
        self.assertEqual((inputs["weights_apart"], inputs["first_tensor_of"]), (0, "aten::linear"))
        text = tool("diff", self.run_of("plain").run.folder, self.run_of("order").run.folder).stdout.decode()
        self.assertTrue(text.startswith("inputs differ: what aten::linear is given"), text)
        self.assertNotIn("first apart", text)


class NotComparable(Digests):
    def refused(self, *arguments):
        done = tool("diff", *arguments, statuses=(2,))
        self.assertEqual(done.stdout, b"")
        return done.stderr.decode()

    def test_without_values(self):
        plain, without = self.run_of("plain").run.folder, self.run_of("plain", None).run.folder
        self.assertIn(f"{without}: no digests of values; record it with --values",
                      self.refused("--values", plain, without))
        done = tool("diff", plain, without)
        self.assertEqual(done.returncode, 0)
        self.assertIn(f"{without}: no digests of values, so that dtypes alone are compared", done.stderr.decode())
        self.assertEqual(tool("diff", without, without).stderr, b"")
        self.assertEqual(tool("diff", "--dtypes", plain, without).stderr, b"")

    def test_older_format(self):
        plain, old = self.run_of("plain").run.folder, self.folder / "old"
        shutil.copytree(plain, old)
        for trace in old.glob("*.dtrace"):
            header = bytearray(trace.read_bytes())
            header[12:16] = (10).to_bytes(4, "little")
            trace.write_bytes(header)
        said = self.refused("--values", plain, old)
        self.assertIn("version 10, this build reads ", said)
        self.assertIn("record it again", said)

    def test_steps_that_both_have(self):
        plain = self.run_of("plain").run.folder
        third = self.run_of("plain", "--values=3").run.folder
        self.assertIn("have no step in common that was digested", self.refused(plain, third))

    def test_merged(self):
        plain = self.run_of("plain").run.folder
        merged = self.folder / "all.dtrace"
        tool("merge", "-o", merged, plain)
        self.assertIn("a merged trace has no digests of values", self.refused("--values", plain, merged))

    def test_another_program(self):
        other = self.traced_command([sys.executable, "-c", OTHER], options=["--values"]).run.folder
        self.assertIn("have no op call in common", self.refused(self.run_of("plain").run.folder, other))

    def test_steps_that_are_none(self):
        done = self.execute([DTYPECHECK, "trace", "--values=0,x", "--", "true"])
        self.assertEqual(done.status, 2)
        self.assertIn("--values=0,x: expected steps counted from 1, as in --values=1,2,95-100", done.said)


class NothingChanged(Digests):
    def test_each_bit(self):
        for plant in ("plain", "autocast", "nan"):
            self.assertEqual(self.run_of(plant).out, self.plain("parting.py", plant).out)

    def test_every_kind_of_tensor(self):
        untraced, done = self.plain("everything.py"), self.traced("everything.py", options=["--values"])
        self.assertEqual((done.status, done.out), (untraced.status, untraced.out))

    def test_size(self):
        """Two steps of 350 op calls."""
        with_values, without = (sum(file.stat().st_size for file in self.run_of("plain", option).run.files)
                                for option in ("--values", None))
        self.assertLess((with_values - without) / 700, 400)
        self.assertGreater((with_values - without) / 700, 40)


class Reported(TracedTest):
    """What the maintainers of three public reports named in the end is named first."""

    def first(self, case, *options):
        runs = [self.traced("reported.py", case, dtype, options=["--values"]) for dtype in ("float32", "float16")]
        return json.loads(tool("diff", "--json", *options, *(run.run.folder for run in runs), statuses=(1,)).stdout)

    def test_t5_wo(self):
        place = self.first("t5")["places"][0]
        self.assertEqual((place["module"], place["op"], place["distance"]),
                         ("model.encoder.block.1.layer.1.DenseReluDense.wo", "aten::linear", "infinity"))

    def test_normalize(self):
        result = self.first("normalize", "--bisect")
        place = result["places"][0]
        self.assertEqual((place["module"], place["op"], place["distance"]), ("model.2", "aten::div", "infinity"))
        self.assertTrue(place["place"].endswith(f"reported.py:{line_of('reported.py', 'normalize')}"), place)
        self.assertEqual(result["bisection"]["keep_in_float"], ["model.2"])

    def test_sana_attention(self):
        result = self.first("sana", "--bisect")
        place = result["places"][0]
        self.assertEqual((place["module"], place["op"], place["distance"]), ("model.to_out.0", "aten::linear", "infinity"))
        self.assertEqual(result["bisection"]["keep_in_float"], [])  # it clips what was Half at its begin


class Ranks(TracedTest):
    def compared(self, words, status):
        done = self.traced_command([*torchrun(2), PROGRAMS / "rank.py", *words], options=["--values"])
        return json.loads(tool("diff", "--json", done.run.folder, done.run.folder, statuses=(status,)).stdout)

    def test_a_replica_that_drifts(self):
        (drift,) = self.compared(["drifts"], 1)["drifts_before"]
        self.assertEqual((drift["rank"], drift["step"], drift["count"], drift["first"]), (1, 2, 1, "model.bias"))
        self.assertLess(abs(drift["distance"] - 0.01), 0.005)

    def split(self, words, status):
        one = self.traced("split_batch.py", options=["--values"])
        two = self.traced_command([*torchrun(2), PROGRAMS / "split_batch.py", *words], options=["--values"])
        return json.loads(tool("diff", "--json", one.run.folder, two.run.folder, statuses=(status,)).stdout)

    def test_one_process_and_two_ranks(self):
        for words in ([], ["fsdp"], ["layers"]):
            with self.subTest(words):
                result = self.split(words, 0)
                self.assertEqual((result["inputs"]["weights"], result["places"], result["rounding"]), (4, [], []))
                self.assertIn("2 ranks of ", result["notes"][0])
                self.assertGreater(result["op_calls"]["agree"], 20)
                self.assertEqual(len(result["named"]), 6)
                for named in result["named"]:
                    self.assertEqual(named["count"], 8 if named["of"] == "states" else 4)
                    self.assertLess(named["distance"], 1e-3)

    def test_an_op_of_two_ranks(self):
        for words in ([], ["fsdp"], ["layers"]):
            with self.subTest(words):
                place = self.split(["slope", *words], 1)["places"][0]
                self.assertEqual((place["module"], place["op"], place["step"]), ("model.1", "aten::leaky_relu", 1))

    def test_gradients_that_are_summed_in_bfloat16(self):
        result = self.split(["fsdp", "bf16"], 0)
        ops = [op.split(" at ")[0] for op in result["rounding"][0]["only_after"]]
        self.assertIn("c10d::_reduce_scatter_base_", ops)
        self.assertIn("aten::_to_copy to BFloat16", ops)

    def test_a_collective_is_digested_when_it_is_done(self):
        """What the first rank brings is equal, and what it gets is not."""
        for word, op in (("reduced", "c10d::allreduce_"), ("functional", "_c10d_functional::all_reduce")):
            with self.subTest(word):
                runs = [self.traced_command([*torchrun(2), PROGRAMS / "split_batch.py", *words], options=["--values"]).run.folder
                        for words in ([word], [word, "louder"])]
                place = json.loads(tool("diff", "--json", *runs, statuses=(1,)).stdout)["places"][0]
                self.assertEqual((place["op"], place["given"]), (op, 0))

    def test_sharded_runs(self):
        plain, same, low = (self.traced_command([*torchrun(2), PROGRAMS / "split_batch.py", "fsdp", *words], options=["--values"]).run.folder
                            for words in ([], [], ["bf16"]))
        result = json.loads(tool("diff", "--json", plain, same).stdout)
        self.assertEqual((result["places"], result["rounding"], result["op_calls"]["not_judged"], result["drifts_before"]), ([], [], 0, []))
        self.assertEqual({named["distance"] for named in result["named"]}, {0})
        result = json.loads(tool("diff", "--json", plain, low).stdout)
        self.assertIn("aten::_to_copy to BFloat16", result["rounding"][0]["only_after"][0])

    def test_a_loss_that_is_summed(self):
        place = self.split(["sum"], 1)["places"][0]
        self.assertEqual((place["op"], place["phase"]), ("aten::mse_loss_backward", "backward"))

    def test_replicas(self):
        self.assertEqual(self.compared([], 0)["drifts_before"], [])


class Gradients(TracedTest):
    """What one run alone computes in its backward pass, where forward passes agree."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.runs_of = {}

    def run_of(self, words):
        if words not in self.runs_of:
            self.runs_of[words] = self.traced("detached.py", *words, options=["--values"]).run.folder
        return self.runs_of[words]

    def compared(self, before, after, status):
        result = json.loads(tool("diff", "--json", self.run_of(before), self.run_of(after), statuses=(status,)).stdout)
        check(self, result, json.loads(SCHEMA.read_text()))
        return result

    def first(self, before, after):
        place = self.compared(before, after, 1)["places"][0]
        self.assertEqual((place["cause"], place["phase"], place["step"], place["op"]), ("gradient", "backward", 1, "aten::mm"))
        return place

    def test_a_branch_that_one_run_detaches(self):
        place = self.first((), ("branch",))
        self.assertEqual((place["module"], place["parameter"], place["parameters"]), ("net.deep.0", "net.embed.bias", 2))
        self.assertLess(abs(place["distance"] - 0.35), 0.05)
        self.assertEqual(self.first(("branch",), ())["module"], "net.deep.0")

    def test_gradients_that_one_run_has_not(self):
        for words in (("whole",), ("unrecorded",)):
            with self.subTest(words):
                place = self.first((), words)
                self.assertEqual((place["module"], place["distance"], place["parameters"]), ("net.head", "infinity", 8))
                self.assertTrue(place["place"].endswith(f"detached.py:{line_of('detached.py', 'head')}"), place)

    def test_a_layer_that_one_run_freezes(self):
        place = self.first((), ("frozen",))
        self.assertEqual((place["parameter"], place["parameters"]), ("net.embed.bias", 2))

    def test_the_same_gradients(self):
        for before, after in (((), ("checkpointed",)), ((), ("compiled",)), (("frozen",), ("frozen", "checkpointed")), (("branch",), ("branch",))):
            with self.subTest((before, after)):
                self.assertEqual(self.compared(before, after, 0)["places"], [])


class FlatParameters(TracedTest):
    """FullyShardedDataParallel, whose parameters lie in flat tensors."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.runs_of = {}

    def run_of(self, *words):
        if words not in self.runs_of:
            ranks = torchrun(2) if {"flat", "fsdp", "halves"} & {*words} else [sys.executable]
            self.runs_of[words] = self.traced_command([*ranks, PROGRAMS / "split_batch.py", *words], options=["--values"]).run.folder
        return self.runs_of[words]

    def compared(self, before, after, status=0):
        return json.loads(tool("diff", "--json", self.run_of(*before), self.run_of(*after), statuses=(status,)).stdout)

    def assert_agree(self, result, parameters=4):
        self.assertEqual((result["places"], result["rounding"], result["inputs"]["agree"]), ([], [], True))
        self.assertEqual([(named["of"], named["count"]) for named in result["named"]],
                         [("weights", parameters), ("gradients", parameters), ("states", 2 * parameters)] * 2)
        for named in result["named"]:
            self.assertLess(named["distance"], 1e-6)

    def test_one_process(self):
        for words in (("flat",), ("flat", "original", "nested"), ("flat", "nested", "SHARD_GRAD_OP"), ("flat", "original", "NO_SHARD")):
            with self.subTest(words):
                self.assert_agree(self.compared([], words))

    def test_shared_and_frozen_parameters(self):
        self.assert_agree(self.compared(("shared",), ("flat", "shared")), 7)
        self.assert_agree(self.compared(("shared", "frozen"), ("flat", "original", "shared", "frozen")), 5)

    def test_a_torch_without_a_field(self):
        result = self.compared([], ("flat", "nested", "older"))
        self.assertEqual(result["places"], [])
        self.assertNotIn("weights", [named["of"] for named in result["named"]])
        self.assertGreater(result["op_calls"]["agree"], 10)

    def test_two_ranks_of_another_kind(self):
        for before, after in ((("fsdp",), ("flat",)), (("halves",), ("flat", "original", "nested")),
                              (("flat",), ("flat", "original", "nested"))):
            with self.subTest((before, after)):
                self.assert_agree(self.compared(before, after))

    def test_an_op(self):
        place = self.compared([], ("flat", "nested", "slope"), 1)["places"][0]
        self.assertEqual((place["module"], place["op"], place["step"]), ("model.1", "aten::leaky_relu", 1))

    def test_gradients_that_are_summed_in_bfloat16(self):
        for before in ((), ("flat",), ("fsdp",)):
            with self.subTest(before):
                result = self.compared(before, ("flat", "bf16"))
                self.assertEqual((result["places"], result["inputs"]["agree"]), ([], True))
                ops = [op.split(" at ")[0] for op in result["rounding"][0]["only_after"]]
                self.assertIn("aten::_to_copy to BFloat16", ops)

    def test_an_epsilon_of_the_optimizer(self):
        for after in (("flat", "epsilon"), ("flat", "original", "epsilon")):
            with self.subTest(after):
                place = self.compared([], after, 1)["places"][0]
                self.assertEqual((place["op"], place["phase"], place["step"]), ("aten::add_", "optimizer", 1))

    def test_a_layer_of_one_rank_in_bfloat16(self):
        place = self.compared((), ("flat", "low"))["rounding"][0]
        self.assertIn("aten::_to_copy to BFloat16", [op.split(" at ")[0] for op in place["only_after"]])

    def test_nothing_changed(self):
        words = [*torchrun(2), PROGRAMS / "split_batch.py", "flat", "said"]
        traced, plain = self.traced_command(words, options=["--values"]), self.execute(words)
        self.assertEqual(sorted(traced.out.split()), sorted(plain.out.split()))
        self.assertGreater(len(traced.out.split()), 2)


class Examples(Digests):
    def test_each_of_the_help(self):
        place = self.folder / "examples"
        place.mkdir()
        one = self.traced("split_batch.py", options=["--values"])
        two = self.traced_command([*torchrun(2), PROGRAMS / "split_batch.py"], options=["--values"])
        for name, done in (("run1", self.run_of("plain")), ("run2", self.run_of("eps")), ("run-in-float", self.run_of("plain")),
                           ("run-in-bf16", self.run_of("autocast")), ("one-process", one), ("eight-ranks", two)):
            (place / name).symlink_to(done.run.folder)
        tool("lock", place / "run1", "-o", place / "dtype.lock")
        text = tool("diff", "--help").stdout.decode()
        examples = re.findall(r"(?m)^  dtypecheck (diff .*?) +# (.*)$", text[text.index("examples:"):])
        self.assertEqual(len(examples), 7)
        statuses = {"where do their numbers part?": 1, "… module by module": 1, "… for a program": 1}
        for example, question in examples:
            with self.subTest(example):
                done = subprocess.run([DTYPECHECK, *example.split()], cwd=place, capture_output=True, check=False)
                self.assertEqual((done.returncode, done.stderr), (statuses.get(question, 0), b""), done.stdout)


    def test_commands_of_the_document(self):
        """Those of docs/compare.md are run as they stand there, each block in a folder of its own."""
        text = (TESTS.parent / "docs" / "compare.md").read_text()
        blocks = [re.findall(r"(?m)^dtypecheck (.*)$", block) for block in re.findall(r"(?s)```(.*?)```", text)]
        blocks = [block for block in blocks if block]
        blocks[0] += re.findall(r"`dtypecheck (diff [^`]*)`", text)
        self.assertEqual([len(block) for block in blocks], [5, 2, 3])
        for number, block in enumerate(blocks):
            place = self.folder / f"commands{number}"
            place.mkdir()
            (place / "train.py").write_text(TRAIN)
            (place / "run").symlink_to("before")
            for command in block:
                with self.subTest(command):
                    words = [sys.executable if word == "python" else word for word in command.split()]
                    done = self.execute([DTYPECHECK, *words], cwd=place, env={**self.environment, "PROGRAMS": str(PROGRAMS)})
                    differs = words[0] == "diff" and "run" not in words
                    self.assertEqual(done.status, 1 if differs else 0, done.said)


class Page(Digests):
    def page(self, plant):
        folders = self.run_of("plain").run.folder, self.run_of(plant).run.folder
        return tool("diff", "--format", "html", *folders).stdout.decode()

    def test_modules_by_how_far_apart(self):
        page = self.page("eps")
        rows = dict(re.findall(r'<th class="depth\d" scope="row"><a href="#module-\d+">(\w+)</a></th>(.*?)</tr>', page))
        self.assertIn(" adds</td>", rows["norm"])
        self.assertTrue(rows["embed"].startswith('<td class="shade none">=</td>'), rows["embed"])
        self.assertIn('<h3>net.blocks.1.norm</h3>', page)

    def test_equal_runs(self):
        page = self.page("plain")
        self.assertEqual(set(re.findall(r'<td class="shade (\w+)">', page)), {"none"})


class Bisect(TracedTest):
    def bisected(self, before, after, status, option="--json"):
        runs = [self.traced("in_float.py", *words, options=["--values"]) for words in (before, after)]
        done = tool("diff", "--bisect", option, *(run.run.folder for run in runs), statuses=(status,))
        return done

    def test_lost_digits(self):
        result = json.loads(self.bisected(["float32", "digits"], ["bfloat16", "digits"], 1).stdout)
        check(self, result, json.loads(SCHEMA.read_text()))
        found = result["bisection"]
        self.assertEqual(found["keep_in_float"], ["net.blocks.1.gate"])
        self.assertEqual(found["op"], "aten::mse_loss")
        self.assertLessEqual(found["left"], found["rounding"])
        self.assertGreater(found["distance"], found["rounding"])
        self.assertLess(found["share_of_op_calls"], 0.3)
        self.assertNotIn("share_of_time", found)
        self.assertEqual(found["runs"][0]["in_float"], ["net.blocks.1.gate"])

    def test_rounding_alone(self):
        found = json.loads(self.bisected(["float32"], ["bfloat16"], 0).stdout)["bisection"]
        self.assertEqual((found["runs"], found["keep_in_float"]), ([], []))

    def steps_of_runs(self, steps, command):
        """That the runs of a bisection of this program made, each where it would make so many."""
        if self.execute([DTYPECHECK, "trace", "--no-report", "--discard-writes", "--out", self.folder / "covered", "--", "true"]).status:
            self.skipTest("no overlay here, so that runs go to their end")
        self.addCleanup(shutil.rmtree, self.folder / "covered", ignore_errors=True)
        runs = [self.traced("in_float.py", "float32", "digits", options=["--values=1"]), self.traced_command(command, options=["--values=1"])]
        with tempfile.TemporaryDirectory() as place:
            mark = pathlib.Path(place) / "steps"
            done = self.execute([DTYPECHECK, "diff", "--bisect", "--json", *(run.run.folder for run in runs)],
                                env={**self.environment, "STEPS": str(steps), "MARK": str(mark)})
            self.assertEqual(done.status, 1, done.said)
            self.assertEqual(json.loads(done.out)["bisection"]["keep_in_float"], ["net.blocks.1.gate"])
            return mark.read_text().split()

    def test_a_run_ends_behind_the_step(self):
        made = self.steps_of_runs(4000, [sys.executable, PROGRAMS / "in_float.py", "bfloat16", "digits"])
        self.assertNotIn("3999", made)

    def test_runs_of_two_processes_go_to_their_end(self):
        words = f"{sys.executable} {PROGRAMS / 'in_float.py'} bfloat16 digits"
        made = self.steps_of_runs(4, ["bash", "-c", f"{words} && {words}"])
        self.assertEqual(made.count("3"), made.count("0"))

    def test_share_of_time(self):
        runs = [self.traced("in_float.py", dtype, "digits", options=["--values", "--timeline", "3"]) for dtype in ("float32", "bfloat16")]
        result = json.loads(tool("diff", "--bisect", "--json", *(run.run.folder for run in runs), statuses=(1,)).stdout)
        check(self, result, json.loads(SCHEMA.read_text()))
        self.assertGreater(result["bisection"]["share_of_time"], 0)
        self.assertLess(result["bisection"]["share_of_time"], 1)

    def test_nothing_in_16_bits(self):
        self.assertIn(b"no module computes in 16 bits", self.bisected(["float32"], ["float32"], 2).stderr)


TRAIN = """
import os, runpy, sys
options = {"--new_option": ["parting.py", "eps"], "no": ["in_float.py", "float32", "digits"],
           "fp16": ["in_float.py", "bfloat16", "digits"]}
sys.argv = options.get(sys.argv[-1], ["parting.py"])
runpy.run_path(os.path.join(os.environ["PROGRAMS"], sys.argv[0]), run_name="__main__")
"""

OTHER = """
import torch
layer = torch.nn.Conv1d(2, 2, 1)
def other():
    out = layer(torch.ones(1, 2, 8)).sum()
    out.backward()
other()
"""


def check(test, value, schema):
    """The little of JSON Schema that the schema uses."""
    if "anyOf" in schema:
        return test.assertTrue(any(fits(value, one) for one in schema["anyOf"]), (value, schema))
    test.assertTrue(fits(value, schema), (value, schema))
    if isinstance(value, dict):
        test.assertLessEqual(set(value), set(schema["properties"]))
        test.assertLessEqual(set(schema["required"]), set(value))
        for name, one in value.items():
            check(test, one, schema["properties"][name])
    if isinstance(value, list) and "items" in schema:
        for one in value:
            check(test, one, schema["items"])


def fits(value, schema):
    types = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool}
    is_type = isinstance(value, types[schema["type"]]) and (schema["type"] == "boolean" or not isinstance(value, bool))
    return is_type and value in schema.get("enum", [value])


if __name__ == "__main__":
    unittest.main()
