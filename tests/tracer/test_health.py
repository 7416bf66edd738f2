"""trace --health: numbers of modules over the run, what they foretell, and near misses that say nothing."""

import json
import os
import sys
import unittest

from traced import DTYPECHECK, PROGRAMS, TESTS, TracedTest, ended, line_of, tool

RULE = "overflow-ahead"


def rows(folder):
    """{(role, module, dtype): {step: (largest, zero, beyond)}} and {step: (skipped, left out, scale)}."""
    found, steps = {}, {}
    for line in tool("dump", folder).stdout.decode().splitlines():
        words = line.split()
        if words[:1] == ["health"]:
            numbers = [float(word) for word in words[5:]]
            points = {int(numbers[i]): tuple(numbers[i + 1:i + 4]) for i in range(0, len(numbers), 4)}
            found.setdefault((words[2], words[4], words[3]), {}).update(points)
        elif words[:1] == ["health-step"]:
            steps[int(words[1])] = int(words[2]), int(words[3]), float(words[4])
    return found, steps


class Health(TracedTest):
    def recorded(self, program, *arguments, health="--health", **more):
        done = self.traced(program, *arguments, options=[health], **more)
        self.assertEqual(done.status, 0, done.err + done.said)
        return done.run

    def messages(self, run):
        return [finding["message"] for finding in run.findings(RULE)]


class Foretold(Health):
    def test_before_it_comes(self):
        run = self.recorded("growing.py", "overflow", 80)  # it comes near step 115
        (finding,) = run.findings(RULE)
        self.assertRegex(finding["message"], r"^the largest activation of net\.mid doubled every (8|9|10) steps "
                         r"and passes 65504 near step 1[0-3]0$")
        self.assertEqual((finding["severity"], finding["location"]["line"]), ("warning", line_of("growing.py", "grows")))

    def test_when_it_came(self):
        run = self.recorded("growing.py", "overflow", 150)
        (message,) = self.messages(run)
        self.assertRegex(message, r"^the largest activation of net\.mid doubled every (8|9|10) steps and passed 65504 in step 1[01]\d$")
        _, steps = rows(run.folder)
        self.assertGreater(max(skipped for skipped, _, _ in steps.values()), 20)

    def test_on_a_pretended_gpu_as_on_a_cpu(self):
        messages = []
        for device, command in [("cpu", ["trace"]), ("cuda", ["preflight", "--let-write", "--steps", "1000"])]:
            out = self.folder / f"frozen-{device}"
            done = ended([DTYPECHECK, *command, "--health", "--out", out, "--", self.interpreter, PROGRAMS / "growing_frozen.py", "80",
                          device], cwd=self.folder, env=self.environment)
            if device == "cuda" and b"pretended GPU" in done.stderr and done.returncode == 2:
                self.skipTest(done.stderr.decode())
            found, _ = rows(out)
            messages.append([finding["message"] for finding in json.loads(tool("report", "--format", "json", out).stdout)["findings"]])
            self.assertAlmostEqual(found["weights", '""', "Float"][2][0], 0.326, delta=0.01)
            self.assertEqual(found["gradients", '""', "Float"][2], (0.25, 63 / 255, 0))
            self.assertEqual(found["states", '""', "Float"][3][0], 0.474609375)
        self.assertEqual(len(messages[0]), 1)
        self.assertEqual(messages[0], messages[1])


@unittest.skipIf("DTYPECHECK_TEST_FORKED" in os.environ, "takes a minute, and is left to the slow tests")
class OfALora(Health):
    def test_at_its_layer(self):
        made = self.execute([sys.executable, TESTS.parent / "examples" / "sdxl_lora" / "make_tiny_sdxl.py", self.folder / "tiny"])
        self.assertEqual(made.status, 0, made.err)
        run = self.recorded("growing_lora.py", self.folder / "tiny" / "model", 240, "cpu")  # it comes in step 383
        (message,) = self.messages(run)
        self.assertRegex(message, r"^the largest activation of unet\.mid_block\.attentions\.0\.transformer_blocks\.0\.attn1\.to_out\.0 "
                         r"doubled every 1[5-9] steps and passes 65504 near step (3[6-9]0|4[0-2]0)$")


class NearMisses(Health):
    def test_bounded_noisy_and_steady(self):
        for plant in ("bounded", "noisy", "steady"):
            with self.subTest(plant):
                self.assertEqual(self.messages(self.recorded("growing.py", plant, 130)), [])

    def test_two_steps(self):
        run = self.recorded("growing.py", "overflow", 2)
        self.assertEqual(self.messages(run), [])
        self.assertGreater(len(rows(run.folder)[0]), 5)

    def test_no_step(self):
        run = self.recorded("growing.py", "overflow", 0)
        self.assertEqual((self.messages(run), rows(run.folder)), ([], ({}, {})))
        self.assertNotIn(b'id="health"', tool("report", "--format", "html", run.folder).stdout)

    def test_without_it_nothing_is_recorded(self):
        done = self.traced("growing.py", "overflow", 2)
        self.assertEqual(rows(done.run.folder), ({}, {}))


class Recorded(Health):
    def test_rows_and_intervals(self):
        run = self.recorded("growing.py", "steady", 60)
        found, steps = rows(run.folder)
        self.assertEqual(list(steps)[:24], list(range(1, 25)))
        self.assertIn(27, steps)
        self.assertNotIn(26, steps)
        for key in [("activations", "net.mid", "Half"), ("gradients", "net.mid.inner", "Float"), ("weights", "net.last", "Float"),
                    ("states", "net.norm", "Float")]:
            self.assertIn(key, found)
        self.assertGreater(found["activations", "net", "Half"][1][1], 0.2)  # a ReLU's zeros

    def test_each_so_many_steps(self):
        run = self.recorded("growing.py", "steady", 45, health="--health=10")
        self.assertEqual(sorted(rows(run.folder)[1])[-3:], [20, 30, 40])

    def test_results_are_the_same(self):
        plain = self.plain("growing.py", "overflow", 20)
        traced = self.traced("growing.py", "overflow", 20, options=["--health"])
        self.assertEqual(traced.out, plain.out)

    def test_it_is_thinned_out_when_it_is_full(self):
        program = self.folder / "wide.py"
        program.write_text("import torch\n"
                           "net = torch.nn.Sequential(*[torch.nn.Linear(1, 1) for _ in range(400)])\n"
                           "optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)\n"
                           "for step in range(250):\n"
                           "    net(torch.ones(1, 1)).sum().backward()\n"
                           "    optimizer.step()\n")
        done = self.traced_command([self.interpreter, program], options=["--health=1"])
        found, steps = rows(done.run.folder)
        kept = sorted(steps)
        self.assertGreater(len(found), 1100)
        self.assertLess(len(found) * 4 * len(kept), 1 << 20)
        self.assertGreater(kept[-1], 240)
        self.assertGreater(len(kept), 60)
        self.assertEqual([step for step in kept if step > 70], list(range(71, kept[-1] + 1)))  # old ones go first
        self.assertEqual(kept[0], 1)

    def test_weights_that_stand_still(self):
        program = self.folder / "still.py"
        program.write_text("import torch\n"
                           "net = torch.nn.Linear(64, 1).to(torch.bfloat16)\n"
                           "optimizer = torch.optim.SGD(net.parameters(), lr=1e-8)\n"
                           "for step in range(4):\n"
                           "    net(torch.ones(8, 64, dtype=torch.bfloat16)).sum().backward()\n"
                           "    optimizer.step()\n")
        done = self.traced_command([self.interpreter, program], options=["--health"])
        found, _ = rows(done.run.folder)
        self.assertEqual(found["weights", "net", "BFloat16"][2][1], 1)
        self.assertEqual(done.status, 0)


class Folder(Health):
    """A run that was resumed, another run's folder, and traces that are cut."""

    def test_a_resumed_run_goes_on(self):
        out = self.folder / "resumed"
        for steps in ("40", "30"):  # not forked: one launcher would start both
            self.traced_command([sys.executable, PROGRAMS / "growing.py", "steady", steps], options=["--health"], out=out)
        page = tool("report", "--format", "html", out).stdout.decode()
        self.assertIn("The run was resumed behind step 3", page)  # a GradScaler left some out
        self.assertIn("between step 1 and 6", page)

    def test_another_program(self):
        out = self.folder / "other"
        self.recorded("growing.py", "steady", 2, out=out)
        done = self.execute([DTYPECHECK, "trace", "--health", "--out", out, "--", self.interpreter, PROGRAMS / "values.py"])
        self.assertEqual(done.status, 2)
        self.assertIn("and this is one of", done.said)
        done = self.execute([DTYPECHECK, "trace", "--out", out, "--", self.interpreter, PROGRAMS / "growing.py", "steady", "2"])
        self.assertEqual(done.status, 2)  # only --health goes on
        self.assertIn("holds the traces of an earlier run", done.said)

    def test_a_cut_trace(self):
        run = self.recorded("growing.py", "overflow", 80)
        whole = run.files[0].read_bytes()
        run.files[0].write_bytes(whole[:len(whole) * 9 // 10])
        found, steps = rows(run.folder)
        self.assertGreater(len(steps), 5)
        self.assertGreater(len(found), 10)

    def test_a_killed_run_keeps_what_was_written(self):
        program = self.folder / "killed.py"
        program.write_text((PROGRAMS / "growing.py").read_text() + "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
        done = self.traced_command([self.interpreter, program, "overflow", "80"], options=["--health"])
        self.assertRegex("".join(self.messages(done.run)), "doubled every (8|9|10) steps")

    def test_wrong_options(self):
        for every in ("0", "x", "-1", "1,2"):
            done = self.execute([DTYPECHECK, "trace", f"--health={every}", "--", self.interpreter, "-c", ""])
            self.assertEqual(done.status, 2)
            self.assertIn(f"--health={every}: expected each how many steps to look", done.said)


# As the tensorboard package has it, as far as it is used.
TENSORBOARD = """
import json
class Event:
    def __init__(self, **fields): self.fields = fields
class Summary:
    class Value:
        def __init__(self, tag, simple_value): self.tag, self.value = tag, simple_value
    def __init__(self, value): self.value = value
class EventFileWriter:
    def __init__(self, folder): self.file = open(folder + ".events", "w")
    def add_event(self, event):
        (value,) = event.fields["summary"].value
        self.file.write(json.dumps([value.tag, event.fields["step"], value.value]) + "\\n")
    def close(self): self.file.close()
"""


class TensorBoard(Health):
    def dump(self, folder, *options, path=""):
        return self.execute([DTYPECHECK, "dump", folder, "--format", "tensorboard", *options],
                            env=self.environment | {"PYTHONPATH": str(path)})

    def test_event_files(self):
        run = self.recorded("growing.py", "overflow", 20)
        for module, names in {"tensorboard": [], "tensorboard.compat": [], "tensorboard.compat.proto": [],
                              "tensorboard.compat.proto.event_pb2": ["Event"], "tensorboard.compat.proto.summary_pb2": ["Summary"],
                              "tensorboard.summary": [], "tensorboard.summary.writer": [],
                              "tensorboard.summary.writer.event_file_writer": ["EventFileWriter"]}.items():
            path = self.folder / "fake" / module.replace(".", "/") / "__init__.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(TENSORBOARD if names else "")
        done = self.dump(run.folder, "-o", self.folder / "logs", "--python", sys.executable, path=self.folder / "fake")
        self.assertEqual((done.status, done.said), (0, ""))
        events = [json.loads(line) for line in (self.folder / "logs.events").read_text().splitlines()]
        self.assertIn("largest activations/net.mid [Half]", {event[0] for event in events})
        self.assertIn("loss scale", {event[0] for event in events})
        found, _ = rows(run.folder)
        for step, (largest, _, _) in found["activations", "net.mid", "Half"].items():
            self.assertIn(["largest activations/net.mid [Half]", step, largest], events)

    def test_what_is_missing(self):
        run = self.recorded("growing.py", "overflow", 2)
        empty = self.folder / "empty" / "tensorboard.py"  # no package
        empty.parent.mkdir(exist_ok=True)
        empty.write_text("")
        done = self.dump(run.folder, "-o", self.folder / "logs", "--python", sys.executable, path=empty.parent)
        self.assertEqual(done.status, 2)
        self.assertIn("pip install tensorboard", done.said)
        self.assertIn("name one with -o", self.dump(run.folder).said)
        without = self.traced("growing.py", "overflow", 2).run
        self.assertIn("record the run with trace --health", self.dump(without.folder, "-o", self.folder / "logs").said)


if __name__ == "__main__":
    unittest.main()
