"""scripts/demo: the first time its program is built while the Python environment is fetched, and what fails ends it."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "demo"
# Each writes what it was called for. The environment is there when the program is built, and not before.
SETUP = """#!/bin/bash
echo "setup $*" >> calls
[ "$1" = --no-packages ] && [ ! -e .venv ] || exit 0
for _ in $(seq 600); do [ ! -e program ] || break; sleep 0.1; done
[ -e program ] && [ ! -e no-network ] || exit 3
touch .venv
"""
CMAKE = """#!/bin/bash
echo "cmake $*" >> calls
case "$1 $*" in
  *TRACER=ON*) [ -e .venv ] || exit 4; echo > build/CMakeCache.txt ;;
  --preset*) touch build/build.ninja; echo DTYPECHECK_TRACER:BOOL=OFF > build/CMakeCache.txt ;;
  --build*) [ ! -e no-compiler ] || exit 5; touch program ;;
esac
"""


class Demo(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="dtypecheck-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name, text in (("scripts/setup", SETUP), ("bin/cmake", CMAKE), ("build/bin/dtypecheck", "#!/bin/sh\necho shown $*\n")):
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o755)
        shutil.copy(SCRIPT, self.folder / "scripts/demo")

    def run_script(self, *files):
        for name in files:
            (self.folder / name).touch()
        environment = os.environ | {"PATH": f"{self.folder}/bin:{os.environ['PATH']}"}
        done = subprocess.run([self.folder / "scripts/demo"], env=environment, stdout=subprocess.PIPE, text=True, timeout=300)
        return done.returncode, done.stdout.splitlines()[-1], (self.folder / "calls").read_text().splitlines()

    def test_the_first_time(self):
        status, last, calls = self.run_script()
        self.assertEqual((status, last.split()[:2]), (0, ["shown", "demo"]), calls)
        configured = [call.split("TRACER=")[1].split()[0] for call in calls if "TRACER=" in call]
        self.assertEqual(configured, ["OFF", "ON"])
        self.assertEqual(calls[0], "setup --demo-packages")

    def test_what_is_there_is_not_configured_again(self):
        status, last, calls = self.run_script("build/build.ninja", ".venv", "program")
        self.assertEqual((status, last.split()[0]), (0, "shown"))
        self.assertFalse([call for call in calls if "--preset" in call])

    def test_an_environment_that_cannot_be_made(self):
        status, last, _ = self.run_script("no-network")
        self.assertEqual((status, last.split()[0]), (3, "demo:"))
        (self.folder / "no-network").unlink()
        status, last, calls = self.run_script()  # and then it goes on
        self.assertEqual((status, last.split()[0]), (0, "shown"))
        self.assertEqual(len([call for call in calls if "TRACER=ON" in call]), 1)

    def test_a_program_that_cannot_be_built(self):
        status, last, _ = self.run_script("no-compiler")
        self.assertEqual((status, last.split()[0]), (5, "demo:"))


if __name__ == "__main__":
    unittest.main()
