"""scripts/test: tests that fail run once more with --ci, and one that passes then is named at the end of the log."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "test"
# Fails as often as the file says, and leaves behind which tests did.
CTEST = """#!/bin/bash
while [ "$1" != --test-dir ]; do shift; done
mkdir -p "$2/Testing/Temporary"
left=$(cat "$2/fails" 2>/dev/null || echo 0)
[ "$left" -gt 0 ] || { echo "100% tests passed, 0 tests failed out of 9"; exit 0; }
echo $((left - 1)) > "$2/fails"
cp names "$2/Testing/Temporary/LastTestsFailed.log"
exit 8
"""


class Again(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="dtypecheck-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name, text in (("scripts/setup", "#!/bin/sh\n"), ("bin/cmake", "#!/bin/sh\n"), ("bin/ctest", CTEST),
                           ("build/asan/bin/fuzz_a", "#!/bin/sh\n"), ("tests/fuzz/a_fuzz.cpp", "")):
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o755)
        shutil.copy(SCRIPT, self.folder / "scripts/test")

    def run_script(self, *options, fails, names="3:cure\n7:trace\n"):
        (self.folder / "names").write_text(names)
        (self.folder / "build/fails").write_text(str(fails))
        environment = os.environ | {"PATH": f"{self.folder}/bin:{os.environ['PATH']}"}
        done = subprocess.run([self.folder / "scripts/test", *options], env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout.splitlines()

    def test_a_race_is_named_last(self):
        status, lines = self.run_script("--ci", fails=1)
        self.assertEqual((status, lines[-2:]), (0, ["100% tests passed, 0 tests failed out of 9",
                                                    "test: passed only when run once more, so each has a race: cure trace"]))

    def test_what_passes_at_once_has_none(self):
        status, lines = self.run_script("--ci", fails=0)
        self.assertEqual((status, lines[-1]), (0, "100% tests passed, 0 tests failed out of 9"))

    def test_what_fails_fails(self):
        self.assertEqual(self.run_script("--ci", fails=2)[0], 8)
        self.assertEqual(self.run_script(fails=1)[0], 1)  # somebody looks on
        self.assertEqual(self.run_script("--ci", fails=1, names="1:a\n2:b\n3:c\n4:d\n")[0], 1)


if __name__ == "__main__":
    unittest.main()
