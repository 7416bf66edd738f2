"""trace --record-draws, and --replay: another run gets the same random numbers."""

import unittest

from traced import TracedTest, tool


class Replay(TracedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.recorded = cls.traced("drawn.py", "0", "float32", options=["--record-draws"])

    def replayed(self, *words):
        return self.traced("drawn.py", *words, options=["--replay", self.recorded.run.folder])

    def without_child(self, done):
        self.assertEqual(done.status, 0, done.err)
        printed = done.printed()
        return printed.pop("child"), printed

    def test_another_seed(self):
        child, printed = self.without_child(self.recorded)
        self.assertNotEqual(self.without_child(self.plain("drawn.py", "1", "float32"))[1], printed)
        done = self.replayed("1", "float32")
        own, again = self.without_child(done)
        self.assertEqual(again, printed)
        self.assertNotEqual(own, child)  # what a forked child draws is its own
        self.assertRegex(done.said, r"[1-9]\d* random ops got the numbers of \S+, 0 drew their own")
        self.assertIn("not those of the program", done.said)

    def test_recording_changes_nothing(self):
        self.assertEqual(self.plain("drawn.py", "0", "float32").out, self.recorded.out)

    def test_another_dtype(self):
        ours, theirs = (float(done.printed()["loss0"][0]) for done in (self.replayed("1", "bfloat16"), self.recorded))
        self.assertLess(abs(ours - theirs), 0.02 * theirs)
        self.assertNotEqual(ours, theirs)

    def test_draws_of_other_sizes_are_its_own(self):
        done = self.replayed("1", "float32", "more")
        self.assertEqual(self.without_child(done)[1], self.without_child(self.recorded)[1])
        self.assertIn(" 2 drew their own", done.said)

    def test_a_damaged_file(self):
        folder = self.folder / "damaged"
        folder.mkdir()
        whole = (self.recorded.run.folder / "draws.0").read_bytes()
        (folder / "draws.0").write_bytes(whole[:len(whole) // 2])
        done = self.traced("drawn.py", "1", "float32", options=["--replay", folder])
        self.assertEqual(done.status, 0, done.err)
        self.assertRegex(done.said, r"[1-9]\d* random ops got the numbers of \S+, [1-9]\d* drew their own")

    def test_a_run_without(self):
        done = tool("trace", "--replay", self.folder, "--", "python", "-c", "0", statuses=(2,))
        self.assertIn(b"no random numbers were recorded there", done.stderr)


if __name__ == "__main__":
    unittest.main()
