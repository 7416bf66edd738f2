"""The project's configuration, and comments that accept a finding of a run."""

import json
import unittest

import tool

ACCEPT = '[[tool.dtypecheck.accept]]\nrule = "silent-promotion"\nfile = "train.py"\nline = 91\nreason = "the mask"\n'


class Config(tool.ToolTest):
    def setUp(self):
        super().setUp()
        self.write("promoted.trace", tool.PROMOTED)
        (self.work / "sub").mkdir()

    def report(self, *arguments, **options):
        return self.run_tool("report", self.work / "promoted.trace", *arguments, **options)

    def test_fail_level_of_the_project(self):
        self.assertEqual(self.report().status, 1)
        self.write("pyproject.toml", '[project]\nname = "x"\n[tool.dtypecheck]\nfail-on = "error"\n')
        self.assertEqual(self.report().status, 0)
        self.assertEqual(self.report(cwd=self.work / "sub").status, 0)
        self.assertEqual(self.report("--fail-on", "warning").status, 1)
        self.assertEqual(self.report("--no-config").status, 1)

    def test_a_file_of_its_own_goes_first(self):
        self.write("pyproject.toml", '[tool.dtypecheck]\nfail-on = "error"\n')
        self.write("dtypecheck.toml", '[report]\nformat = "lines"\n[trace]\nsteady = true\n')
        result = self.report()
        self.assertEqual(result.status, 1)
        self.assertRegex(result.out, r"^train\.py:91: warning: .*\[silent-promotion\]\n$")
        self.write("dtypecheck.toml", '[trace]\nformat = "lines"\n')
        self.assertNotRegex(self.report().out, r"^train\.py:91: ")

    def test_options_are_those_of_the_command_line(self):
        self.write("dtypecheck.toml", 'target = "cpu:1.13"\nsuppress = "accepted.txt"\nall = false\n')
        self.write("accepted.txt", "silent-promotion  # known\n")
        result = self.report(cwd=self.work / "sub")  # paths begin where the file lies
        self.assertEqual(result.status, 0, result.err)
        self.assertIn("target cpu:1.13", result.out)
        self.assertIn("1 finding accepted by", result.out)
        self.assertIn("[silent-promotion]", self.report("--all").out)

    def test_the_command_line_wins_where_two_exclude_each_other(self):
        self.write("dtypecheck.toml", "[trace]\nsteady = true\n")
        result = self.run_tool("trace", "--keep-going", "--", "true")
        self.assertEqual((result.status, result.out), (0, ""), result.err)

    def test_accepted(self):
        self.write("pyproject.toml", ACCEPT)
        result = self.report()
        self.assertEqual(result.status, 0)
        self.assertIn("1 finding accepted by pyproject.toml; --all shows it", result.out)
        self.assertEqual(self.report("--all").status, 1)
        self.write("pyproject.toml", ACCEPT.replace("91", "92"))
        self.assertEqual(self.report().status, 1)

    def test_letters_beyond_ascii(self):
        self.write("pyproject.toml", '# \u00e9\n[project]\nauthors = ["\u017borka", \'\u4e2d\']\n' +
                   ACCEPT.replace("the mask", "die \u00c4nderung"))
        self.assertEqual(self.report().status, 0)

    def test_a_parent_repository_is_not_asked(self):
        self.write("pyproject.toml", '[tool.dtypecheck]\nfail-on = "error"\n')
        (self.work / "sub/.git").mkdir()
        self.assertEqual(self.report(cwd=self.work / "sub").status, 1)

    def test_what_is_wrong_is_said_with_its_line(self):
        for text, *parts in (
                ('fail_on = "error"\n', "dtypecheck.toml:1", "unknown key fail_on; did you mean 'fail-on'?"),
                ('[report]\nsteady = true\n', "dtypecheck.toml:2", "unknown key steady"),
                ('[tracing]\nsteady = true\n', "dtypecheck.toml:2", "unknown table tracing"),
                ('\nfail-on = "always"\n', "dtypecheck.toml:2", "always", "note"),
                ('fail-on = ["error"]\n', "dtypecheck.toml:1", "expected a text, a number, true or false"),
                ('fail-on = "error\n', "dtypecheck.toml:1"),
                ('[[&accept]]\n', "dtypecheck.toml:1", "saw '&'"),
                ('accept = 3\n', "dtypecheck.toml:1", "expected a list of tables"),
                ('[[accept]]\nrule = "silent-promotoin"\nreason = "x"\n', "did you mean 'silent-promotion'?"),
                ('[[accept]]\nrule = "silent-promotion"\n', "give rule and reason"),
                ('[[accept]]\nrule = "silent-promotion"\nreason = "x"\npath = "y"\n', "dtypecheck.toml:4", "unknown key path"),
                ('[[accept]]\nrule = "silent-promotion"\nreason = "x"\nline = 3\n', "a line needs its file"),
                ('fail-on = \u00e9\n', "dtypecheck.toml:1"),
                ('"fa\u00efl-on" = "error"\n', "unknown key fa\u00efl-on"),
                ('target = "tpu:3"\n', "tpu")):
            with self.subTest(text):
                self.write("dtypecheck.toml", text)
                self.assert_one_line(self.report(), *parts)
                self.assertEqual(self.run_tool("rules").status, 0)

    def test_no_config_of_ours_in_a_project(self):
        self.write("pyproject.toml", '[project]\nname = "x"\n')
        self.assertEqual(self.report().status, 1)


class Comments(tool.ToolTest):
    def report(self, comment, above="", *arguments):
        self.write("run/1.trace", tool.PROMOTED)
        lines = {"90": above, "91": f"    x = torch.cat([a, mask]){comment}"}
        self.write("run/sources.json", json.dumps({"files": [{"path": "train.py", "hash": "0", "lines": lines}]}))
        return self.run_tool("report", "run", *arguments)

    def test_on_the_line_and_above_it(self):
        for given in (("  # dtypecheck: allow(silent-promotion): the mask is Float on purpose",),
                      ("", "    # dtypecheck: allow(silent-promotion): on purpose"),
                      ("  // dtypecheck: allow(silent-promotion): in C++ too",),
                      ("  # dtypecheck: allow(mixed-operands, silent-promotion): both",)):
            with self.subTest(given):
                result = self.report(*given)
                self.assertEqual(result.status, 0, result.out)
                self.assertIn("1 finding accepted by comments in the source; --all shows it", result.out)
        self.assertEqual(self.report(given[0], "", "--all").status, 1)

    def test_near_misses(self):
        for given in (("  # dtypecheck: allow(mixed-operands): another rule",),
                      ("", "    y = 1  # dtypecheck: allow(silent-promotion): of the line above"),
                      ("  # noqa",), ("  # NOLINT",)):
            with self.subTest(given):
                self.assertEqual(self.report(*given).status, 1)

    def test_without_a_reason_or_rule_it_allows_nothing_and_says_so(self):
        result = self.report("  # dtypecheck: allow(silent-promotion)")
        self.assertEqual(result.status, 1)
        self.assertIn("train.py:91: allow() without a reason accepts nothing", result.out)
        result = self.report("  # dtypecheck: allow(silent-promotoin): typo")
        self.assertEqual(result.status, 1)
        self.assertIn("train.py:91: allow(silent-promotoin): there is no such rule; did you mean 'silent-promotion'?", result.out)


if __name__ == "__main__":
    unittest.main()
