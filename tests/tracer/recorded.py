"""Runs whose facts are held to core/process_facts.inc."""

import sys

from traced import DTYPECHECK, TESTS, Run, TracedTest

sys.path.insert(0, str(TESTS / "core"))
from process_facts import FACTS, fact_of, faults  # noqa: E402


class RecordedTest(TracedTest):
    def hold(self, name, done, status=0):
        """The facts of a run are as the list says, and those are there that it says this run has. Gives them, by process."""
        self.assertEqual(done.status, status, done.said + done.err)
        # A reader makes members of two.
        processes = [process["facts"] | {"argv": process["command"], "executable": process["executable"]}
                     for process in done.run.report["processes"]]
        self.assertEqual([fault for facts in processes for fault in faults(facts)], [])
        recorded = {fact_of(key).name for facts in processes for key in facts}
        self.assertEqual({fact.name for fact in FACTS if fact.recorded == name} - recorded, set())
        return processes

    @classmethod
    def preflown(cls, *program):
        out = cls.folder / "preflight"
        done = cls.execute([DTYPECHECK, "preflight", "--let-write", "--out", out, "--", cls.interpreter, *program])
        done.run = Run(out)
        return done
