"""What else is around a program: another's LD_PRELOAD, two PyTorchs, folders that cannot be written or run from. The program
prints what it prints untraced, and is recorded."""

import glob
import importlib.util
import os
import pathlib
import shutil
import sys
import unittest

from traced import DTYPECHECK, PROGRAMS, Run, TracedTest


def library(pattern):
    """A library of this system; '' when it has none."""
    folders = ("/usr/lib/*-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/lib/gcc/*-linux-gnu/*")
    return next((path for folder in folders for path in sorted(glob.glob(f"{folder}/{pattern}"))), "")


class Surroundings(TracedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.untraced = cls.plain("other.py")

    def assert_unharmed(self, done):
        self.assertEqual((done.status, done.out, done.err), (0, self.untraced.out, self.untraced.err), done.said)

    def assert_recorded(self, run):
        (process,) = run.processes.values()
        self.assertTrue(process["complete"])
        self.assertEqual(len(run.calls(op="aten::native_layer_norm")), 2)

    def check_preloaded(self, *patterns, **settings):
        libraries = [library(pattern) for pattern in patterns]
        if not all(libraries):
            self.skipTest(f"this system has no {' and '.join(patterns)}")
        done = self.traced("other.py", env=self.environment | {"LD_PRELOAD": " ".join(libraries)} | settings)
        self.assert_unharmed(done)
        self.assert_recorded(done.run)

    def test_tcmalloc(self):
        self.check_preloaded("libtcmalloc_minimal.so.*")

    def test_jemalloc(self):
        self.check_preloaded("libjemalloc.so.*")

    def test_address_sanitizer(self):
        """With the C++ library beside it: without, it ends a Python that throws an exception, traced or not."""
        self.check_preloaded("libasan.so.*", "libstdc++.so.6", ASAN_OPTIONS="detect_leaks=0")

    def test_nothing_can_be_written_or_run(self):
        """Read-only home, no /dev/shm, and nothing under the temporary folder, the run's own either, may be executed."""
        prepare = """
set -e
mount --bind "$1" "$1"
mount -o remount,bind,noexec,nosuid "$1"
mount -t tmpfs -o ro none "$1/home"
umount -l /dev/shm 2>/dev/null || true
! mountpoint -q /dev/shm
shift
exec "$@"
"""
        home, out = self.folder / "home", self.folder / "run"
        home.mkdir()
        shell = ["unshare", "--mount", "--propagation", "private", "sh", "-c", prepare, "sh", self.folder]
        can = self.execute([*shell, "true"])
        if can.status != 0:
            self.skipTest(f"needs to mount: {can.err.strip()}")
        environment = {k: v for k, v in self.environment.items() if k != "XDG_CACHE_HOME"} | {"HOME": str(home)}
        done = self.execute([*shell, DTYPECHECK, "trace", "--no-report", "--out", out, "--", sys.executable,
                             PROGRAMS / "other.py"], env=environment)
        self.assert_unharmed(done)
        self.assertIn("Read-only file system; this run keeps its tracer in", done.said)
        self.assert_recorded(Run(out))

    def test_two_torches(self):
        """The one that the program loads is traced, and doctor names both."""
        second = self.folder / "second/torch"
        first = pathlib.Path(importlib.util.find_spec("torch").submodule_search_locations[0])
        shutil.copytree(first, second, copy_function=os.symlink)
        (second.parent / "nvidia").symlink_to(first.parent / "nvidia")
        environment = self.environment | {"PYTHONPATH": str(second.parent)}
        done = self.traced("other.py", env=environment)
        self.assert_unharmed(done)
        self.assert_recorded(done.run)
        doctor = self.execute([DTYPECHECK, "doctor", "--python", sys.executable], env=environment)
        self.assertIn(f"{second}\n", doctor.out)
        self.assertIn(f"{first} is another", doctor.out)


if __name__ == "__main__":
    unittest.main()
