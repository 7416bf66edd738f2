"""`pytest --dtypecheck`: each test is recorded, and one with a finding (`dtypecheck rules`) fails with it as its message.
Not every mix of dtypes is one: docs/python.md says which are not.

    @pytest.mark.dtypecheck(expect="mixed-operands")     the test is there to show it: fails when it is not found
    @pytest.mark.dtypecheck(allow="silent-promotion")    accepted in this test; several: a list, all: "*"
    @pytest.mark.dtypecheck(fail_on="error")             another level for this test; "never" records nothing
"""

import fnmatch

import pytest

from dtypecheck._findings import at_least
from dtypecheck._recording import ReportFailed, is_preloaded, trace
from dtypecheck._tool import ToolMissing

_KNOWN = {"expect", "allow", "fail_on"}
_LEVELS = ("note", "warning", "error", "never")


def pytest_addoption(parser):
    group = parser.getgroup("dtypecheck", "dtype faults")
    group.addoption("--dtypecheck", action="store_true", default=False,
                    help="record each test's op calls, and fail a test in which a dtype fault is found")
    group.addoption("--dtypecheck-fail-on", choices=_LEVELS, default=None, metavar="LEVEL",
                    help="the lowest severity that fails a test: note, warning, error or never; default: warning")
    parser.addini("dtypecheck", "record each test, as --dtypecheck does", type="bool", default=False)
    parser.addini("dtypecheck_fail_on", "as --dtypecheck-fail-on", default="warning")


def pytest_configure(config):
    config.addinivalue_line("markers", "dtypecheck(expect=None, allow=None, fail_on=None): the rules that this test is to"
                            " break or may break, by id or pattern; only with --dtypecheck")
    if config.getoption("--dtypecheck") or config.getini("dtypecheck"):
        level = config.getoption("--dtypecheck-fail-on") or config.getini("dtypecheck_fail_on")
        if level not in _LEVELS:
            raise pytest.UsageError(f"dtypecheck_fail_on: {level!r} is none of {', '.join(_LEVELS)}")
        config.pluginmanager.register(_Plugin(level), "dtypecheck-recording")


class DtypeFault(Exception):
    """A test's findings; what is shown of it is its text."""


def _patterns(value):
    return [value] if isinstance(value, str) else list(value or ())


def _matches(rule, patterns):
    return any(fnmatch.fnmatchcase(rule, pattern) for pattern in patterns)


class _Wishes:
    """What the marks of a test say, the nearest first."""

    def __init__(self, item, level):
        self.expected, self.allowed, self.level = [], [], level
        for mark in reversed(list(item.iter_markers("dtypecheck"))):
            unknown = set(mark.kwargs) - _KNOWN
            if unknown or mark.args:
                what = f"unknown argument {sorted(unknown)[0]}" if unknown else "arguments have names"
                raise pytest.UsageError(f"{item.nodeid}: mark dtypecheck: {what}; there are {', '.join(sorted(_KNOWN))}")
            self.expected += _patterns(mark.kwargs.get("expect"))
            self.allowed += _patterns(mark.kwargs.get("allow"))
            self.level = mark.kwargs.get("fail_on", self.level)
        if self.level not in _LEVELS:
            raise pytest.UsageError(f"{item.nodeid}: mark dtypecheck: fail_on={self.level!r} is none of {', '.join(_LEVELS)}")

    @property
    def records(self):
        return self.level != "never" or bool(self.expected)

    def faults(self, findings):
        return [finding for finding in findings if at_least(finding.severity, self.level)
                and not _matches(finding.rule, self.expected + self.allowed)]

    def missing(self, findings):
        return [pattern for pattern in self.expected if not any(_matches(finding.rule, [pattern]) for finding in findings)]


class _Plugin:
    def __init__(self, level):
        self.level = level
        self.problem = None

    def pytest_sessionstart(self):
        if is_preloaded():
            self.problem = "this process is traced by dtypecheck trace already, whose report has the findings"
            return
        try:
            import torch  # noqa: F401  a test that imports it is then recorded from its first line
        except ImportError:
            self.problem = "torch cannot be imported; tests are not recorded"

    def pytest_report_header(self):
        return f"dtypecheck: {self.problem or 'fails on ' + self.level}"

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item):
        wishes = _Wishes(item, self.level)
        run = trace() if self.problem is None and wishes.records else None
        if run is not None:
            run.start()
        outcome = yield
        if run is None:
            return
        error = outcome.excinfo[1] if outcome.excinfo else None
        is_skip = error is not None and isinstance(error, pytest.skip.Exception)
        run.stop(None if is_skip else error)
        if run.problem is not None:
            self.problem = run.problem  # said once, in the header of the next section
            item.add_report_section("call", "dtypecheck", run.problem)
            return
        if not is_skip:
            self._judge(item, run, wishes, outcome, error)

    def _judge(self, item, run, wishes, outcome, error):
        try:
            findings = run.findings
            missing, faults = wishes.missing(findings), wishes.faults(findings)
            if not missing and not faults:
                return
            text = run.report()
        except (ReportFailed, ToolMissing, OSError) as failure:
            item.add_report_section("call", "dtypecheck", f"the test could not be judged: {failure}")
            return
        if missing:
            text = f"expected {', '.join(missing)}, which was not found\n\n{text}"
        if error is None:
            outcome.force_exception(DtypeFault(text))
        else:  # the test's own failure stays what it is
            item.add_report_section("call", "dtypecheck", text)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        outcome = yield
        if call.excinfo is not None and isinstance(call.excinfo.value, DtypeFault):
            outcome.get_result().longrepr = str(call.excinfo.value)
