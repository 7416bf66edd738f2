"""A disk that is full, now or later, costs records and never the program: its output and its status stay its own."""

import subprocess
import sys
import unittest

from traced import PROGRAMS, TracedTest


class NoRoom(TracedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.untraced = cls.plain("many_lines.py")

    def tmpfs(self, options):
        """A mounted tmpfs of this test's own; skips where this user may not mount one."""
        folder = self.folder / self.id().rpartition(".")[2]
        folder.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", folder],
                                 stderr=subprocess.PIPE, text=True)
        if mounted.returncode != 0:
            self.skipTest(f"needs to mount a tmpfs: {mounted.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", folder], check=True)
        return folder

    def assert_program_unharmed(self, done):
        self.assertEqual((done.status, done.out, done.err),
                         (7, self.untraced.out, self.untraced.err))

    def assert_partial(self, run):
        (process,) = run.processes.values()
        self.assertFalse(process["complete"])
        self.assertFalse(run.report["complete"])
        self.assertGreater(process["signatures"], 100)
        self.assertGreater(process["signatures_lost"], 100)
        self.assertEqual(process["end"], "exited")
        self.assertIn("found no room on the disk", run.text())

    def test_disk_fills_up(self):
        done = self.traced("many_lines.py", out=self.tmpfs("size=240k") / "run")
        self.assert_program_unharmed(done)
        self.assert_partial(done.run)

    def test_file_size_limit(self):
        shell = 'ulimit -f "$1"; shift; exec "$@"'  # in units of 1024 bytes, in bash
        done = self.traced_command(["bash", "-c", shell, "bash", "200", sys.executable,
                                    PROGRAMS / "many_lines.py"])
        self.assert_program_unharmed(done)
        self.assert_partial(done.run)

    def test_disk_is_full(self):
        full = self.tmpfs("size=64k")
        done = self.traced("many_lines.py", out=full / "run")
        self.assert_program_unharmed(done)
        self.assertIn("no trace file can be made here: No space left on device", done.said)
        self.assertIn("nothing was recorded", done.said)
        self.assertEqual(done.run.processes, {})

    def test_disk_is_full_and_a_result_was_asked_for(self):
        full = self.tmpfs("size=64k")
        done = self.traced("many_lines.py", out=full / "run", options=["--fail-on", "error"])
        self.assertEqual((done.status, done.out), (2, self.untraced.out))

    def test_folder_goes_away(self):
        done = self.traced("many_lines.py", "gone", out=self.folder / "gone")
        self.assert_program_unharmed(done)
        self.assertIn(str(self.folder / "gone"), done.said)

    def test_folder_that_cannot_be_written(self):
        """Told before the program runs."""
        folder = self.tmpfs("ro")
        done = self.traced("many_lines.py", out=folder / "run")
        self.assertEqual((done.status, done.out), (2, ""))
        self.assertEqual(done.err, "")
        self.assertIn(f"{folder}/run", done.said)
        self.assertIn("Read-only file system", done.said)


if __name__ == "__main__":
    unittest.main()
