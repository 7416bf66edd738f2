"""dtypecheck report: inputs, formats, fail levels, suppressions, and what cannot be read."""

import json
import os
import pathlib
import re
import resource
import stat
import time
import unittest

import tool


class Report(tool.ToolTest):
    def setUp(self):
        super().setUp()
        self.write("mixed.trace", tool.MIXED)
        self.write("clean.trace", tool.CLEAN)
        self.write("promoted.trace", tool.PROMOTED)

    def findings(self, *arguments):
        result = self.run_tool("report", *arguments, "--format", "json")
        return json.loads(result.out)["findings"]

    def test_text(self):
        result = self.run_tool("report", "mixed.trace")
        self.assertEqual((result.status, result.err), (1, ""))
        for part in ("mixed-operands", "train.py:1065", "mat1", "Half"):
            self.assertIn(part, result.out)

    def test_clean(self):
        result = self.run_tool("report", "clean.trace", "--fail-on", "note")
        self.assertEqual((result.status, result.err), (0, ""))

    def test_json(self):
        (finding,) = self.findings("mixed.trace")
        self.assertEqual((finding["rule"], finding["severity"]), ("mixed-operands", "error"))
        self.assertEqual(finding["location"]["line"], 1065)

    def test_html(self):
        result = self.run_tool("report", "mixed.trace", "--format", "html")
        self.assertTrue(result.out.lstrip().lower().startswith("<!doctype html"))

    def test_lines_of_a_run_that_was_made_elsewhere(self):
        self.write("run/1.trace", tool.MIXED)
        lines = {"files": [{"path": "train.py", "hash": "0", "lines": {"1065": "  y = lin(\u202ex)"}}]}
        self.write("run/sources.json", json.dumps(lines))
        result = self.run_tool("report", "run")
        self.assertEqual((result.status, result.err), (1, ""))
        self.assertRegex(result.out, r"\by = lin\(.*x\)")
        self.assertNotIn("\u202e", result.out)
        self.write("run/sources.json", "[")
        result = self.run_tool("report", "run")
        self.assertIn("sources.json: are no source lines of a run", result.out)
        self.assertIn("mixed-operands", result.out)

    def test_fail_levels(self):
        levels = {"note": 1, "warning": 1, "error": 1, "never": 0}
        for level, status in levels.items():
            self.assertEqual(self.run_tool("report", "mixed.trace", "--fail-on", level).status, status, level)
        (finding,) = self.findings("promoted.trace")
        self.assertEqual(finding["severity"], "warning")
        levels = {"note": 1, "warning": 1, "error": 0, "never": 0}
        for level, status in levels.items():
            self.assertEqual(self.run_tool("report", "promoted.trace", "--fail-on", level).status, status, level)
        self.assertEqual(self.run_tool("report", "promoted.trace").status, 1)

    def test_causes_are_counted_and_consequences_stand_with_them(self):
        self.write("led.trace", tool.PROMOTED + (
            'op aten::conv2d input=Float[1,5,64,64]<#1 weight=Half[320,5,3,3]%unet.conv_in.weight bias=Half[320]'
            ' raised "Input type (float) and bias type (struct c10::Half) should be the same" at train.py:95'
            ' in unet.conv_in (Conv2d) phase forward\n'))
        text = self.run_tool("report", "led.trace").out
        self.assertTrue(text.startswith("error: aten::cat promotes"), text)
        self.assertIn("then error: Float input meets a Half weight", text)
        self.assertIn("1 cause (1 error), 1 consequence in 2 op calls", text)
        summary = json.loads(self.run_tool("report", "led.trace", "--format", "json").out)["summary"]
        self.assertEqual((summary["causes"], summary["errors"], summary["consequences"]), (1, 1, 1))
        sarif = json.loads(self.run_tool("report", "led.trace", "--format", "sarif").out)
        (result,) = sarif["runs"][0]["results"]
        (related,) = result["relatedLocations"]
        self.assertEqual((result["ruleId"], result["level"]), ("silent-promotion", "error"))
        self.assertIn("then error: Float input meets", related["message"]["text"])
        self.assertEqual(related["physicalLocation"]["region"]["startLine"], 95)

    def test_several_inputs_are_one_report(self):
        rules = {finding["rule"] for finding in self.findings("mixed.trace", "clean.trace", "promoted.trace")}
        self.assertEqual(rules, {"mixed-operands", "silent-promotion"})

    def test_newest_run_is_the_default(self):
        self.assert_one_line(self.run_tool("report"), "dtypecheck-runs", "dtypecheck trace")
        for name, text in (("20250101-000000-99", tool.MIXED), ("20250102-000000-7", tool.MIXED),
                           ("20250102-000000-12", tool.CLEAN)):
            self.write(f"dtypecheck-runs/{name}/run.json", "{}")
            self.write(f"dtypecheck-runs/{name}/one.trace", text)
        self.write("dtypecheck-runs/99999999-not-ours/one.trace", tool.MIXED)
        result = self.run_tool("report")
        self.assertEqual(result.status, 0, result.out + result.err)

    def test_a_name_that_begins_with_a_dash(self):
        self.write("-x.trace", tool.CLEAN)
        self.assertEqual(self.run_tool("report", "--", "-x.trace").status, 0)
        self.assert_one_line(self.run_tool("report", "--", "-y.trace"), "-y.trace", "No such file")
        self.assert_one_line(self.run_tool("report", "-x.trace"), "unknown option -x.trace")

    def test_output_file(self):
        result = self.run_tool("report", "mixed.trace", "--format", "json", "-o", "report.json")
        self.assertEqual((result.status, result.out, result.err), (1, "", ""))
        path = self.work / "report.json"
        umask = os.umask(0)
        os.umask(umask)
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o666 & ~umask)
        self.assertEqual(len(json.loads(path.read_text())["findings"]), 1)
        self.run_tool("report", "clean.trace", "--format", "json", "-o", "report.json")
        self.assertEqual(json.loads(path.read_text())["findings"], [])

    def test_output_file_that_cannot_be_written(self):
        self.assert_one_line(self.run_tool("report", "mixed.trace", "-o", "none/report.txt"), "none/report.txt", "-o")
        self.assert_one_line(self.run_tool("report", "mixed.trace", "-o", "/dev/full"), "/dev/full", "No space left")
        self.assert_one_line(self.run_tool("report", "mixed.trace", "-o", "."), "Is a directory")

    def run_with_room_for(self, size, *arguments):
        """A limit on the size of files is the disk that is full which needs no root."""
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        return self.run_tool(*arguments, preexec_fn=limit)

    def test_a_file_that_has_no_room_leaves_the_old_one(self):
        old = self.write("out.json", "the old one")
        for command in ("report", "lock", "dump"):
            form = ["--format", {"report": "json", "dump": "jsonl"}[command]] if command != "lock" else []
            result = self.run_with_room_for(16, command, "mixed.trace", *form, "-o", old)
            self.assert_one_line(result, "out.json", "File too large")
            self.assertEqual(old.read_text(), "the old one")
        self.assertEqual(list(self.work.glob("*.part")), [])

    def test_a_link_leads_to_what_is_written(self):
        old = self.write("reports/old.json", "the old one", 0o600)
        (self.work / "report.json").symlink_to("reports/old.json")
        self.run_tool("report", "mixed.trace", "--format", "json", "-o", "report.json")
        self.assertTrue((self.work / "report.json").is_symlink())
        self.assertEqual(len(json.loads(old.read_text())["findings"]), 1)
        self.assertEqual(stat.S_IMODE(old.stat().st_mode), 0o600)

    def test_a_pipe_is_written_as_it_is(self):
        os.mkfifo(self.work / "pipe")
        with self.start("report", "mixed.trace", "-o", "pipe") as process:
            text = (self.work / "pipe").read_text()
            self.assertEqual(process.wait(), 1)
        self.assertIn("1 error", text)
        self.assertTrue(stat.S_ISFIFO((self.work / "pipe").stat().st_mode))


class Baseline(tool.ToolTest):
    def setUp(self):
        super().setUp()
        self.write("mixed.trace", tool.MIXED)
        self.write("promoted.trace", tool.PROMOTED)

    def test_lines_that_lie_beside_a_trace_are_quoted(self):
        self.write("mixed.trace", tool.MIXED)
        self.write("mixed.trace.sources.json", json.dumps({"files": [
            {"path": "train.py", "hash": "0123456789abcdef", "lines": {"1065": "hidden = layer(half)"}}]}))
        self.assertIn("hidden = layer(half)", self.run_tool("report", "mixed.trace").out)

    def test_only_what_is_new(self):
        written = self.run_tool("report", "mixed.trace", "--baseline", "known", "--update-baseline")
        self.assertEqual((written.status, written.out), (0, ""))
        self.assertIn("1 finding in known;", written.err)
        known = self.run_tool("report", "mixed.trace", "--baseline", "known")
        self.assertEqual((known.status, known.err), (0, ""), known.out)
        self.assertIn("1 finding of known left out", known.out)
        self.write("moved.trace", tool.MIXED.replace("train.py:1065", "train.py:1070"))
        self.assertEqual(self.run_tool("report", "moved.trace", "--baseline", "known").status, 0)
        both = self.run_tool("report", "mixed.trace", "promoted.trace", "--baseline", "known")
        self.assertEqual(both.status, 1)
        self.assertIn("[silent-promotion]", both.out)
        self.assertNotIn("[mixed-operands]", both.out)

    def test_what_ended_the_program_was_accepted(self):
        message = "RuntimeError: mat1 and mat2 must have the same dtype"
        self.write("died.trace", tool.MIXED.replace("steps=1", f'steps=1 fact:uncaught="{message}"'))
        self.run_tool("report", "died.trace", "--baseline", "known", "--update-baseline")
        said = self.run_tool("report", "died.trace", "--baseline", "known").out
        self.assertNotIn("no finding explains what ended", said)
        self.assertIn(f"ended by an accepted error: {message}", " ".join(said.split()))
        self.write("other.trace", tool.CLEAN.replace("steps=1", f'steps=1 fact:uncaught="{message}"'))
        said = self.run_tool("report", "other.trace", "--baseline", "known").out
        self.assertIn("no finding explains what ended", said)

    def test_two_alike_have_their_own_lines(self):
        line = tool.MIXED.splitlines()[1]
        other = line.replace("mat1=Half", "mat1=BFloat16").replace("Half and Float", "BFloat16 and Float")
        self.write("two.trace", tool.MIXED + other.replace(":1065", ":1066") + "\n")
        self.run_tool("report", "two.trace", "--baseline", "known", "--update-baseline")
        self.assertEqual(self.run_tool("report", "two.trace", "--baseline", "known").status, 0)

    def test_what_did_not_come_again(self):
        self.run_tool("report", "mixed.trace", "--baseline", "known", "--update-baseline")
        result = self.run_tool("report", "promoted.trace", "--baseline", "known")
        self.assertIn("1 finding of known not found again", result.out)
        again = self.run_tool("report", "promoted.trace", "--baseline", "known", "--update-baseline")
        self.assertIn("1 new, 1 gone", again.err)
        self.assertEqual(self.run_tool("report", "promoted.trace", "--baseline", "known").status, 0)

    def test_bad_baselines(self):
        def refused(*arguments):
            return self.run_tool("report", "mixed.trace", *arguments)
        self.assert_one_line(refused("--baseline", "absent"), "absent", "--update-baseline")
        self.assert_one_line(refused("--update-baseline"), "--baseline FILE")
        self.write("later", "# dtypecheck baseline 2: findings\n")
        self.assert_one_line(refused("--baseline", "later"), "version 2", "this build reads 1")
        self.write("earlier", "# dtypecheck lint: findings that are accepted as they are; id, rule, place\n")
        self.assertEqual(refused("--baseline", "earlier").status, 1)
        self.write("text", "hello\n")
        self.assert_one_line(refused("--baseline", "text"), "text:1", "16 hexadecimal digits")
        self.assert_one_line(refused("--baseline", "none/known", "--update-baseline"), "none/known")


class NotWhole(tool.ToolTest):
    """A run of which a part is missing is never called clean."""

    def status(self, head, *arguments, calls=tool.CLEAN):
        self.write("run.trace", calls.replace("process pid=1", f"process pid=1 {head}"))
        return self.run_tool("report", "run.trace", *arguments)

    def test_what_is_missing(self):
        for head, reason in (('damaged="cut short at byte 4096"', "cut short at byte 4096"),
                             ("signatures_lost=3", "3 signatures found no room"),
                             ("end=running", "no end was recorded of pid 1")):
            result = self.status(head)
            self.assertEqual(result.status, 2, head)
            self.assertEqual(result.err.count("\n"), 1, result.err)
            self.assertIn(reason, result.err)
            self.assertIn("no findings in what was recorded", result.out)
            self.assertEqual(self.status(head, "--fail-on", "never").status, 2, head)
            self.assertEqual(self.status(head, calls=tool.MIXED).status, 1, head)
            self.assertEqual(self.status(head, "--fail-on", "never", calls=tool.MIXED).status, 2, head)
            dumped = self.run_tool("dump", "run.trace")
            self.assertEqual(dumped.status, 2, head)
            self.assertIn(reason, dumped.err)
            json_report = json.loads(self.status(head, "--format", "json").out)
            self.assertFalse(json_report["complete"], head)

    def test_nothing_was_recorded(self):
        self.write("empty.trace", "process pid=1 libtorch=2.11.0\n")
        result = self.run_tool("report", "empty.trace")
        self.assertEqual(result.status, 2)
        self.assertIn("no op call was recorded", result.err)

    def test_one_of_several_files_cannot_be_read(self):
        self.write("clean.trace", tool.CLEAN)
        result = self.run_tool("report", "clean.trace", "none.trace")
        self.assertEqual(result.status, 2)
        self.assertIn("none.trace", result.err)

    def test_a_worker_is_a_loss_unless_the_program_ended_it(self):
        worker = tool.CLEAN.replace("pid=1", "pid=2 parent_pid=1 end=running")
        for fact, status in (("", 2), ('fact:"killed 2"="15"', 0)):
            self.write("run.trace", tool.CLEAN.replace("pid=1", f"pid=1 {fact}") + worker)
            self.assertEqual(self.run_tool("report", "run.trace").status, status)

    def test_a_program_that_left_by_os_exit_is_whole(self):
        self.write("run/1.trace", tool.CLEAN.replace("pid=1", "pid=1 file=run/1.trace end=running"))
        self.write("run/run.json", '{"pid": 1, "status": 0, "signal": null}')
        self.assertEqual(self.run_tool("report", "run").status, 0)
        self.write("run/run.json", '{"pid": 1, "status": null, "signal": 9}')
        result = self.run_tool("report", "run")
        self.assertEqual(result.status, 2)
        self.assertIn("killed by signal 9", result.err)


    def test_a_description_that_is_nothing_but_brackets(self):
        self.write("run/1.trace", tool.CLEAN.replace("pid=1", "pid=1 file=run/1.trace"))
        self.write("run/run.json", '{"pid": ' + "[" * 1000000 + "]" * 1000000 + "}")
        self.assertEqual(self.run_tool("report", "run").status, 0)
        self.write("run/cure.json", "[" * 1000000 + "]" * 1000000)
        self.assert_one_line(self.run_tool("cure", "--apply", "run"), "cure.json")


class Follow(tool.ToolTest):
    """A run that goes on: what is new comes as a line, and the end of the run is the end."""

    def append(self, name, text):
        with open(self.work / name, "a", encoding="utf-8") as file:
            file.write(text)

    def test_new_findings_come_as_lines(self):
        self.write("run/run.json", '{"pid": null, "status": null, "signal": null}')
        process = self.start("report", "--follow", "run")
        try:
            time.sleep(1.5)  # nothing is recorded yet
            self.write("run/1.part", tool.MIXED.replace("pid=1", "pid=1 end=running"))
            (self.work / "run/1.part").rename(self.work / "run/1.trace")
            self.assertIn(b"[mixed-operands]", process.stdout.readline())
            self.append("run/1.trace", tool.PROMOTED.splitlines()[1] + "\n")
            self.assertIn(b"[silent-promotion]", process.stdout.readline())
            self.assertIsNone(process.poll())
            self.write("run/run.json", '{"pid": 1, "status": 0, "signal": null}')
            out, err = tool.finish(process)
            self.assertEqual((process.returncode, out), (1, b""))
            self.assertIn(b"1 error, 1 warning", err)
        finally:
            process.kill()

    def test_what_has_not_grown_is_not_read_again(self):
        head, call = tool.CLEAN.strip().splitlines()
        lines = [call.replace("train.py:3", f"train.py:{line}") for line in range(1, 20000)]
        self.write("run/run.json", '{"pid": null, "status": null, "signal": null}')
        text = "\n".join([head + " end=running", *lines]) + "\n"
        self.write("run/1.trace", text)
        self.write("run/2.trace", tool.CLEAN.replace("pid=1", "pid=2 end=running"))
        process = self.start("report", "--follow", "run")

        def bytes_read():
            told = pathlib.Path(f"/proc/{process.pid}/io").read_text()
            return int(re.search(r"rchar: (\d+)", told).group(1))

        try:
            end = time.monotonic() + tool.PATIENCE_S
            while bytes_read() < len(text) and time.monotonic() < end:
                time.sleep(0.1)
            time.sleep(3)
            before = bytes_read()
            time.sleep(3)
            self.assertLess(bytes_read() - before, len(text) / 10)
            self.append("run/2.trace", tool.PROMOTED.splitlines()[1] + "\n")
            self.assertIn(b"[silent-promotion]", process.stdout.readline())
            self.append("run/1.trace", tool.MIXED.splitlines()[1] + "\n")
            self.assertIn(b"[mixed-operands]", process.stdout.readline())
        finally:
            process.kill()
            tool.finish(process)

    def test_a_run_that_is_over(self):
        self.write("clean.trace", tool.CLEAN)
        result = self.run_tool("report", "--follow", "clean.trace")
        self.assertEqual((result.status, result.out), (0, ""))
        self.assertIn("no findings in 1 op call", result.err)

    def test_what_is_no_run(self):
        self.assert_one_line(self.run_tool("report", "--follow", "none"), "none")


class Suppressions(tool.ToolTest):
    def setUp(self):
        super().setUp()
        self.write("mixed.trace", tool.MIXED)

    def test_file_in_the_current_folder(self):
        self.write(".dtypecheck-suppressions", "mixed-operands train.py:1065  # known, see the README\n")
        result = self.run_tool("report", "mixed.trace")
        self.assertEqual(result.status, 0, result.out)
        self.assertNotIn("must have the same dtype", result.out)
        self.assertIn("1 finding accepted by .dtypecheck-suppressions", result.out)

    def test_all_shows_them(self):
        self.write(".dtypecheck-suppressions", "mixed-operands  # known\n")
        result = self.run_tool("report", "mixed.trace", "--all")
        self.assertEqual(result.status, 1)
        self.assertIn("train.py:1065", result.out)

    def test_named_file(self):
        self.write("accepted.txt", "mixed-operands train.py  # known\nsilent-promotion other.py  # long gone\n")
        result = self.run_tool("report", "mixed.trace", "--suppress", "accepted.txt")
        self.assertEqual(result.status, 0, result.out)
        self.assertIn("accepted.txt:2: nothing matches silent-promotion", result.out)

    def test_another_line_is_not_accepted(self):
        self.write(".dtypecheck-suppressions", "mixed-operands train.py:1066  # known\n")
        self.assertEqual(self.run_tool("report", "mixed.trace").status, 1)

    def test_bad_files(self):
        self.assert_one_line(self.run_tool("report", "mixed.trace", "--suppress", "none.txt"), "none.txt")
        self.write("bad.txt", "# fine\nmixed-operands\n")
        self.assert_one_line(self.run_tool("report", "mixed.trace", "--suppress", "bad.txt"), "bad.txt:2", "reason")


class Rules(tool.ToolTest):
    def setUp(self):
        super().setUp()
        self.write("both.trace", tool.MIXED + tool.PROMOTED.splitlines()[1] + "\n")

    def rules(self, *options):
        result = self.run_tool("report", *options, "both.trace", "--format", "json")
        report = json.loads(result.out)
        return result.status, {finding["rule"] for finding in report["findings"]}, report["remarks"]

    def test_select_and_ignore(self):
        both = {"mixed-operands", "silent-promotion"}
        self.assertEqual(self.rules()[:2], (1, both))
        self.assertEqual(self.rules("--select", "silent-promotion"),
                         (1, {"silent-promotion"}, ["1 finding left out by --select"]))
        self.assertEqual(self.rules("--ignore", "silent-promotion")[1], {"mixed-operands"})
        self.assertEqual(self.rules("--ignore", "mixed-operands", "--ignore", "silent-promotion")[:2], (0, set()))
        self.assertEqual(self.rules("--select", "mixed-operands,silent-promotion")[1], both)
        self.assertEqual(self.rules("--select", "cast-churn")[:2], (0, set()))

    def test_a_rule_that_is_none(self):
        for option in ("--select", "--ignore"):
            self.assert_one_line(self.run_tool("report", option, "mixed-operand", "both.trace"), option, "mixed-operands")

    def test_in_the_configuration(self):
        self.write("dtypecheck.toml", 'ignore = "mixed-operands,silent-promotion"\n')
        self.assertEqual(self.rules()[:2], (0, set()))
        self.assertEqual(self.rules("--no-config")[0], 1)


class BadInput(tool.ToolTest):
    """A clear line, the rest where there is some, and 2 where there is none."""

    def test_nothing_there(self):
        self.assert_one_line(self.run_tool("report", "none"), "none")
        self.assert_one_line(self.run_tool("report", "none.dtrace"), "none.dtrace")
        self.assert_one_line(self.run_tool("report", "none.trace"), "none.trace", "No such file")

    def test_folder_without_traces(self):
        self.write("run/run.json", "{}")
        self.assert_one_line(self.run_tool("report", "run"), "run")

    def test_folder_whose_processes_were_not_traced(self):
        self.write("run/run.json", "{}")
        self.write("run/untraced.42.txt", "dtypecheck: no compiler was found\x1b[31m\n")
        result = self.run_tool("report", "run")
        self.assert_one_line(result, "process 42: no compiler was found")
        self.assertNotIn("\x1b", result.err)

    def test_garbage(self):
        cases = {"empty": b"", "zeros": bytes(4096), "text": b"hello\n" * 100, "magic": b"DTYPETRC",
                 "endian": b"DTYPETRC" + b"\x01\x02\x03\x04" + bytes(500)}
        for name, content in cases.items():
            with self.subTest(name):
                path = self.work / f"{name}.dtrace"
                path.write_bytes(content)
                self.assert_one_line(self.run_tool("report", path.name), path.name)

    def test_another_version(self):
        (self.work / "new.dtrace").write_bytes(
            b"DTYPETRC" + (0x01020304).to_bytes(4, "little") + (99).to_bytes(4, "little") + bytes(500))
        self.assert_one_line(self.run_tool("report", "new.dtrace"), "new.dtrace", "99")

    def test_the_rest_is_judged(self):
        self.write("mixed.trace", tool.MIXED)
        (self.work / "bad.dtrace").write_bytes(b"hello")
        result = self.run_tool("report", "bad.dtrace", "mixed.trace", "none.trace")
        self.assertEqual(result.status, 1)
        self.assertIn("train.py:1065", result.out)
        for name in ("bad.dtrace", "none.trace"):
            self.assertIn(name, result.out)

    def test_unreadable(self):
        path = self.write("secret.trace", tool.MIXED, 0)
        if os.access(path, os.R_OK):
            self.skipTest("root can read everything")
        self.assert_one_line(self.run_tool("report", "secret.trace"), "secret.trace", "permissions")

    def test_a_pipe_or_device_does_not_hang(self):
        self.assert_one_line(self.run_tool("report", "/dev/null"), "/dev/null")


if __name__ == "__main__":
    unittest.main()
