"""What is recorded of a process, by the launchers and on the ways that there are: each fact that a rule may ask for."""

import sys
import unittest

from recorded import RecordedTest
from test_launchers import torchrun
from traced import PROGRAMS, TESTS


class Recorded(RecordedTest):
    def test_torchrun(self):
        processes = self.hold("torchrun", self.traced_command([*torchrun(2), PROGRAMS / "rank.py"]))
        self.assertEqual(sorted(facts["env.RANK"] for facts in processes), ["0", "1"])
        self.assertEqual({facts["env.WORLD_SIZE"] for facts in processes}, {"2"})
        self.assertEqual(sorted(facts["distributed.rank"] for facts in processes), ["0", "1"])

    def test_accelerate(self):
        launcher = [sys.executable, "-m", "accelerate.commands.launch", "--cpu", "--num_processes", "1", "--num_machines", "1",
                    "--mixed_precision", "bf16", "--dynamo_backend", "no"]
        (facts,) = self.hold("accelerate", self.traced_command([*launcher, PROGRAMS / "accelerated.py"]))
        self.assertEqual((facts["accelerate.mixed_precision"], facts["accelerate.distributed_type"]), ("bf16", "NO"))
        self.assertEqual(facts["env.ACCELERATE_MIXED_PRECISION"], "bf16")

    def test_half_weights(self):
        for options in (("--precision", "bf16-true"), ("--default",)):
            (facts,) = self.hold("half", self.traced("half_weights.py", *options))
            self.assertEqual(facts["optimizer"], "SGD")

    def test_what_raises(self):
        program = "import torch\ntorch.ones(2) + 1\nraise ValueError('on purpose')"
        fixed, kept_going = (self.traced_command([self.interpreter, "-c", program], [option]) for option in ("--fix", "--keep-going"))
        for (facts,) in (self.hold("fix", fixed, status=1), self.hold("keep_going", kept_going, status=1)):
            self.assertEqual((facts["uncaught"], facts["exit.status"]), ("ValueError: on purpose", "1"))

    def test_in_float(self):
        (facts,) = self.hold("in_float", self.traced("in_float.py", "bfloat16", options=["--in-float", "net.head"]))
        self.assertEqual(facts["in-float"], "net.head")

    def test_replay(self):
        recorded = self.traced("drawn.py", "0", "float32", options=["--record-draws"])
        self.hold("replay", self.traced("drawn.py", "0", "float32", options=["--replay", recorded.run.folder]))

    def test_preflight(self):
        (facts,) = self.hold("preflight", self.preflown(TESTS / "preflight" / "programs" / "clean.py", "bf16"))
        self.assertEqual(facts["pretended.gpu"], "sm_80 (A100)")


if __name__ == "__main__":
    unittest.main()
