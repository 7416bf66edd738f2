"""pytest --dtypecheck, as a user runs it."""

import os
import pathlib
import re
import shutil
import sys
import tempfile
import textwrap
import unittest

try:
    import pytest  # noqa: F401
except ImportError:
    print("pytest is not installed; scripts/setup installs it")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from fork_server import run_python  # noqa: E402

SUITE = """
import pytest
import torch


def mix():
    return torch.ones(2, 2) @ torch.ones(2, 2).half()


def promote():
    return torch.ones(4, 4).half() + torch.ones(4, 4)


def test_clean():
    assert (torch.ones(2) + 1).sum() == 4


def test_no_torch():
    assert 1 + 1 == 2


def test_promotes():
    promote()


def test_raises():
    mix()


def test_expects_the_exception():
    with pytest.raises(RuntimeError, match="same dtype"):
        mix()


def test_its_own_failure():
    promote()
    assert 1 == 2


@pytest.mark.skip
def test_skipped():
    promote()


@pytest.mark.dtypecheck(expect="silent-promotion")
def test_expected():
    promote()


@pytest.mark.dtypecheck(expect=["silent-promotion", "mixed-operands"])
def test_expected_and_missing():
    promote()


@pytest.mark.dtypecheck(allow="silent-*")
def test_allowed():
    promote()


@pytest.mark.dtypecheck(fail_on="error")
def test_below_its_level():
    promote()


@pytest.mark.dtypecheck(fail_on="never")
def test_not_recorded():
    promote()


@pytest.fixture
def half():
    return torch.ones(4, 4).half()


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_parameters(half, dtype):
    half + torch.ones(4, 4, dtype=dtype)
"""
FAILED = {"test_promotes", "test_raises", "test_its_own_failure", "test_expected_and_missing", "test_parameters[dtype1]"}


class Plugin(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dtypecheck-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.write("test_suite.py", SUITE)

    def write(self, name, text):
        (self.folder / name).write_text(textwrap.dedent(text))

    def pytest(self, *arguments, **environment):
        environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **environment}
        done = run_python(["-m", "pytest", "-p", "dtypecheck.pytest_plugin", "-p", "no:cacheprovider", "-rA", *arguments],
                          cwd=self.folder, env=environment)
        self.out, self.err = done.stdout, done.stderr
        return done.returncode

    def outcomes(self, outcome):
        return set(re.findall(rf"(?m)^{outcome} test_suite\.py::(\S+)", self.out))

    def section(self, test):
        """What stands below the test's name among the failures."""
        return re.split(r"(?m)^_{3,} ", self.out.split(f"__ {test} __", 1)[1])[0]

    def check_suite(self):
        self.assertEqual(self.outcomes("FAILED"), FAILED, self.out + self.err)
        self.assertEqual(len(self.outcomes("PASSED")), 8, self.out)
        self.assertEqual(self.outcomes("ERROR"), set())

    def test_the_finding_is_the_message(self):
        self.assertEqual(self.pytest("--dtypecheck"), 1)
        self.check_suite()
        promoted = self.section("test_promotes")
        self.assertIn("warning: aten::add promotes self from Half to Float", promoted)
        self.assertIn("test_suite.py:11", promoted)
        self.assertIn("return torch.ones(4, 4).half() + torch.ones(4, 4)", promoted)
        self.assertNotIn("Traceback", promoted)
        self.assertNotIn("pytest_plugin.py", promoted)
        self.assertIn("test_suite.py::test_promotes - warning: aten::add", self.out)
        # A test that fails by itself keeps its own failure, with what was found below it.
        for test, own, found in (("test_raises", "RuntimeError", "[mixed-operands]"),
                                 ("test_its_own_failure", "assert 1 == 2", "[silent-promotion]")):
            self.assertIn(own, self.section(test))
            self.assertIn(found, self.section(test))
        self.assertIn("expected mixed-operands, which was not found", self.section("test_expected_and_missing"))

    def test_without_the_option_nothing_is_recorded(self):
        self.assertEqual(self.pytest(), 1)
        self.assertEqual(self.outcomes("FAILED"), {"test_raises", "test_its_own_failure"})
        self.assertNotIn("dtypecheck:", self.out)

    def test_configuration_of_the_suite(self):
        self.write("pytest.ini", "[pytest]\ndtypecheck = true\ndtypecheck_fail_on = error\n")
        self.pytest()
        self.assertIn("dtypecheck: fails on error", self.out)
        self.assertEqual(self.outcomes("FAILED"), {"test_raises", "test_its_own_failure", "test_expected_and_missing"})
        self.write("pytest.ini", "[pytest]\ndtypecheck = true\ndtypecheck_fail_on = always\n")
        self.assertEqual(self.pytest(), 4)
        self.assertIn("dtypecheck_fail_on: 'always' is none of note, warning, error, never", self.err)

    def test_several_processes(self):
        try:
            import xdist  # noqa: F401
        except ImportError:
            self.skipTest("pytest-xdist is not installed")
        self.assertEqual(self.pytest("--dtypecheck", "-p", "xdist", "-n", "2"), 1)
        self.check_suite()
        self.assertIn("warning: aten::add promotes self from Half to Float", self.section("test_promotes"))

    def test_an_unknown_argument_of_the_mark(self):
        self.write("test_suite.py", "import pytest\n@pytest.mark.dtypecheck(alow='x')\ndef test_it(): pass\n")
        self.assertNotEqual(self.pytest("--dtypecheck"), 0)
        self.assertIn("mark dtypecheck: unknown argument alow; there are allow, expect, fail_on", self.out + self.err)

    def test_without_the_tool_tests_pass_and_say_so(self):
        self.write("test_suite.py", "import torch\ndef test_it(): torch.ones(1).half() + torch.ones(1)\n")
        self.assertEqual(self.pytest("--dtypecheck", DTYPECHECK=str(self.folder / "none")), 0)
        self.assertIn(f"{self.folder}/none: is no program", self.out)


if __name__ == "__main__":
    unittest.main()
