"""dtypecheck trace: the program is found, runs as if alone, and its end is reported. No LibTorch takes part here."""

import json
import os
import pathlib
import shutil
import stat
import subprocess
import unittest

import tool


class Programs(tool.ToolTest):
    def test_status_and_streams_are_the_programs_own(self):
        result = self.run_tool("trace", "--", "sh", "-c", "echo out; echo err >&2; exit 3")
        self.assertEqual((result.status, result.out), (3, "out\n"))
        self.assertTrue(result.err.startswith("err\n"))
        self.assertIn("no LibTorch op ran", result.err)

    def test_standard_input(self):
        read, write = os.pipe()
        os.write(write, b"hello\n")
        os.close(write)
        result = self.run_tool("trace", "cat", stdin=read)
        os.close(read)
        self.assertEqual(result.out, "hello\n")

    def test_arguments_arrive_as_they_are(self):
        script = 'printf "%s|" "$@"'
        result = self.run_tool("trace", "--", "bash", "-c", script, "--", "--out", "", "a b", "--", "--help", "-o")
        self.assertEqual(result.out, "--out||a b|--|--help|-o|")
        result = self.run_tool("trace", "--steady", "bash", "-c", script, "x", "--steady", "report")
        self.assertEqual(result.out, "--steady|report|")
        result = self.run_tool("trace", "bash", "-c", script, "x", b"\xff\xfe".decode("latin-1"))
        self.assertEqual(result.status, 0)

    def test_pipes_into_head(self):
        result = self.run_tool("trace", "--", "bash", "-c", "yes | head -1; echo ${PIPESTATUS[0]}")
        self.assertEqual(result.out, "y\n141\n")

    def test_signal_state_is_inherited(self):
        def state(*prefix):
            process = self.run_tool(*prefix[1:], "grep", "^Sig[BI]", "/proc/self/status", tool=prefix[0])
            return process.out

        self.assertEqual(state(tool.DTYPECHECK, "trace", "--"), state("env"))

    def test_environment(self):
        self.environment["LD_PRELOAD"] = "libm.so.6"
        result = self.run_tool("trace", "--steady", "--check-values", "env")
        variables = dict(line.split("=", 1) for line in result.out.splitlines() if "=" in line)
        stage1, before = variables["LD_PRELOAD"].split(":")
        self.assertTrue(stage1.endswith("/lib/libdtypecheck_preload.so") and os.path.exists(stage1))
        self.assertEqual(before, "libm.so.6")
        self.assertEqual(variables["DTYPECHECK_RUN"], str(self.only_run()))
        self.assertEqual(variables["DTYPECHECK_OPTIONS"], "steady,check-values")
        self.assertTrue(os.path.samefile(variables["DTYPECHECK_EXE"], tool.DTYPECHECK))
        hooks = pathlib.Path(variables["DTYPECHECK_HOOKS"])
        self.assertEqual(hooks.parent, self.folder / "cache/dtypecheck")
        self.assertEqual(stat.S_IMODE(hooks.stat().st_mode), 0o700)

    def test_a_traced_program_may_trace(self):
        result = self.run_tool("trace", "--", tool.DTYPECHECK, "trace", "--", "sh", "-c", "echo in; exit 5")
        self.assertEqual((result.status, result.out), (5, "in\n"))

    def test_killed(self):
        result = self.run_tool("trace", "--", "sh", "-c", "kill -9 $$")
        self.assertEqual(result.status, 128 + 9)
        self.assertIn("sh was killed by signal 9 (Killed)", result.err)
        self.assertEqual(json.loads((self.only_run() / "run.json").read_text())["signal"], 9)

    def test_address_sanitizer(self):
        """It ends a program whose first library it is not."""
        try:
            program = tool.compile_c("int main(void) { return 4; }", self.work / "sanitized", "-fsanitize=address")
        except subprocess.CalledProcessError:
            self.skipTest("this compiler has no address sanitizer")
        del self.environment["ASAN_OPTIONS"]
        self.assertEqual(self.run_tool("trace", program).status, 4)
        self.environment["ASAN_OPTIONS"] = "exitcode=9"
        result = self.run_tool("trace", "env")
        self.assertIn("ASAN_OPTIONS=exitcode=9:verify_asan_link_order=0\n", result.out)

    def test_script_without_a_first_line(self):
        self.write("script", "echo script $1\n", 0o755)
        result = self.run_tool("trace", "./script", "x")
        self.assertEqual((result.status, result.out), (0, "script x\n"))

    def test_fail_on_with_nothing_traced(self):
        for level in ("note", "warning", "error"):
            self.assertEqual(self.run_tool("trace", "--fail-on", level, "true").status, 2)
        self.assertEqual(self.run_tool("trace", "--fail-on", "never", "--", "sh", "-c", "exit 4").status, 4)


class ProgramsThatCannotRun(tool.ToolTest):
    def assert_refused(self, program, *parts):
        result = self.run_tool("trace", "--", program)
        self.assert_one_line(result, *parts)
        self.assertFalse((self.work / "dtypecheck-runs").exists())

    def test_none(self):
        self.assert_one_line(self.run_tool("trace"), "no program to trace", "dtypecheck trace -- ")
        self.assert_one_line(self.run_tool("trace", "--steady", "--"), "no program to trace")
        self.assert_refused("", "name is empty")

    def test_not_found(self):
        self.assert_refused("no-such-program", "no-such-program", "PATH")
        self.assert_refused("./none", "./none", "No such file")
        self.assert_refused("/etc/passwd/x", "/etc/passwd/x", "Not a directory")

    def test_in_this_folder_and_not_in_path(self):
        self.write("program", "#!/bin/sh\n", 0o755)
        self.assert_refused("program", "./program")
        self.write("train.py", "")
        self.assert_refused("train.py", "python train.py")

    def test_not_executable(self):
        self.write("train.py", "")
        self.assert_refused("./train.py", "not executable", "python ./train.py")
        self.write("program", "")
        self.assert_refused("./program", "not executable", "chmod +x ./program")

    def test_folder(self):
        self.assert_refused(".", "folder")
        self.assert_refused("./", "folder")

    def test_interpreter_missing(self):
        self.write("script", f"#!{self.work}/none\n", 0o755)
        self.assert_one_line(self.run_tool("trace", "./script"), "./script", "No such file")

    def test_another_processor(self):
        header = bytearray(64)
        header[:7] = b"\x7fELF\x02\x01\x01"
        header[18:20] = (0xF3).to_bytes(2, "little")  # RISC-V
        (self.work / "riscv").write_bytes(header)
        (self.work / "riscv").chmod(0o755)
        self.assert_refused("./riscv", "another processor", "243")

    def test_broken_elf_is_not_given_to_a_shell(self):
        (self.work / "broken").write_bytes(pathlib.Path("/proc/self/exe").read_bytes()[:80])
        (self.work / "broken").chmod(0o755)
        result = self.run_tool("trace", "./broken")
        self.assertEqual(result.status, 2)
        self.assertNotIn("/bin/sh", result.err)


class ProgramsThatCannotBeTraced(tool.ToolTest):
    MAIN = "int main(void) { return 6; }"

    def assert_runs_untraced(self, program, reason):
        result = self.run_tool("trace", program)
        self.assertEqual(result.status, 6, result.err)
        self.assertIn(reason, result.err.splitlines()[0])
        self.assertEqual(self.run_tool("trace", "--fail-on", "error", program).status, 2)

    def test_static(self):
        program = tool.compile_c(self.MAIN, self.work / "static", "-static")
        self.assert_runs_untraced(program, "statically linked")

    def test_musl(self):
        """Its loader ends a program whose LD_PRELOAD it cannot relocate: nothing is preloaded. The loader here is named like it."""
        loader = self.work / "ld-musl-x86_64.so.1"
        loader.symlink_to("/lib64/ld-linux-x86-64.so.2")
        if not loader.exists():
            self.skipTest("the loader of this system is another one")
        program = tool.compile_c("""
#include <stdio.h>
#include <stdlib.h>
int main(void) { puts(getenv("LD_PRELOAD") ? "preloaded" : "alone"); return 6; }
""", self.work / "musl", f"-Wl,--dynamic-linker={loader}")
        self.assert_runs_untraced(program, "linked to musl")
        self.assertEqual(self.run_tool("trace", program).out, "alone\n")

    def test_musl_child(self):
        """What a traced shell starts gets its LD_PRELOAD, musl's programs too."""
        program = self.work / "musl"
        try:
            tool.compile_c(self.MAIN, program, compiler="musl-gcc")
        except FileNotFoundError:
            self.skipTest("no musl-gcc; Debian's musl-tools has it")
        result = self.run_tool("trace", "--", "sh", "-c", f"{program}; exit $?")
        self.assertEqual(result.status, 6, result.err)

    def test_set_user_id(self):
        if os.getuid() != 0:
            self.skipTest("only root can make a file another user's")
        program = tool.compile_c(self.MAIN, self.work / "suid")
        self.folder.chmod(0o755)
        os.chown(program, 65534, 65534)
        program.chmod(0o4755)
        self.assert_runs_untraced(program, "set-user-id")

    def test_32_bit(self):
        header = bytearray(pathlib.Path(tool.compile_c(self.MAIN, self.work / "dynamic")).read_bytes()[:4096])
        header[4] = 1
        header[18:20] = (3).to_bytes(2, "little")
        (self.work / "old").write_bytes(header)
        (self.work / "old").chmod(0o755)
        self.assertIn("32-bit", self.run_tool("trace", "./old").err)


class RunFolders(tool.ToolTest):
    def test_default(self):
        self.run_tool("trace", "--", "sh", "-c", "exit 3")
        run = self.only_run()
        self.assertRegex(run.name, r"^\d{8}-\d{6}-\d+$")
        self.assertEqual(stat.S_IMODE(run.stat().st_mode), 0o700)
        self.assertEqual(stat.S_IMODE((run / "run.json").stat().st_mode), 0o600)
        description = json.loads((run / "run.json").read_text())
        self.assertEqual(description["command"], ["sh", "-c", "exit 3"])
        self.assertEqual((description["status"], description["signal"]), (3, None))
        self.assertRegex(description["end"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertLessEqual(description["start"], description["end"])

    def test_runs_are_kept_out_of_git(self):
        self.run_tool("trace", "true")
        ignored = self.work / "dtypecheck-runs/.gitignore"
        self.assertEqual(ignored.read_text(), "*\n")
        ignored.write_text("mine\n")
        self.run_tool("trace", "true")
        self.assertEqual(ignored.read_text(), "mine\n")
        self.run_tool("trace", "--out", "named/run", "true")
        self.assertFalse((self.work / "named/.gitignore").exists())

    def test_folders_around_it_have_the_users_mode(self):
        self.addCleanup(os.umask, os.umask(0o027))
        self.run_tool("trace", "--out", "around/run", "true")
        self.assertEqual(stat.S_IMODE((self.work / "around").stat().st_mode), 0o750)
        self.assertEqual(stat.S_IMODE((self.work / "around/run").stat().st_mode), 0o700)

    def test_description_is_there_while_it_runs(self):
        result = self.run_tool("trace", "--", "sh", "-c", "cat dtypecheck-runs/*/run.json")
        description = json.loads(result.out)
        self.assertEqual((description["end"], description["status"]), (None, None))

    def test_named(self):
        for name in ("new", "deep/er/new"):
            self.assertEqual(self.run_tool("trace", "--out", name, "true").status, 0)
            self.assertTrue((self.work / name / "run.json").exists())

    def test_empty_folder_is_taken(self):
        (self.work / "empty").mkdir(mode=0o755)
        self.assertEqual(self.run_tool("trace", "--out", "empty", "true").status, 0)
        self.assertEqual(stat.S_IMODE((self.work / "empty").stat().st_mode), 0o700)

    def test_run_that_recorded_nothing_is_taken_again(self):
        self.run_tool("trace", "--out", "run", "true")
        self.write("run/untraced.1.txt", "old")
        self.assertEqual(self.run_tool("trace", "--out", "run", "true").status, 0)
        self.assertFalse((self.work / "run/untraced.1.txt").exists())

    def test_earlier_run_is_kept(self):
        self.run_tool("trace", "--out", "run", "true")
        self.write("run/host.1.dtrace", "")
        result = self.run_tool("trace", "--out", "run", "--", "touch", "ran")
        self.assert_one_line(result, "run", "earlier run", "--out", "rm -r")
        self.assertFalse((self.work / "ran").exists())

    def test_foreign_folder_is_kept(self):
        self.write("data/precious.txt", "")
        result = self.run_tool("trace", "--out", "data", "--", "touch", "ran")
        self.assert_one_line(result, "data", "not a run of dtypecheck", "--out")
        self.assertFalse((self.work / "ran").exists())
        self.assertEqual(os.listdir(self.work / "data"), ["precious.txt"])

    def test_unwritable(self):
        self.write("file", "")
        for out, parts in {"file": ["file, not a folder"], "file/run": ["Not a directory"], "/proc/run": ["/proc/run"],
                           "/proc/self/fd": ["not a run"]}.items():
            result = self.run_tool("trace", "--out", out, "--", "touch", "ran")
            self.assert_one_line(result, "--out", *parts)
        self.assertFalse((self.work / "ran").exists())

    def test_no_permission(self):
        if os.getuid() == 0:
            self.skipTest("root may write everywhere")
        self.work.chmod(0o500)
        self.addCleanup(self.work.chmod, 0o700)
        self.assert_one_line(self.run_tool("trace", "true"), "Permission denied", "--out")

    def test_report_options_are_checked_first(self):
        result = self.run_tool("trace", "--suppress", "none.txt", "--", "touch", "ran")
        self.assert_one_line(result, "none.txt")
        result = self.run_tool("trace", "-o", "none/report.txt", "--", "touch", "ran")
        self.assert_one_line(result, "none/report.txt")
        self.assertFalse((self.work / "ran").exists())


class Reports(tool.ToolTest):
    """A program that leaves a trace of its own making, as text, in place of a real one."""

    def trace(self, text, *options, status=0):
        self.write("text", text)
        script = f'cp text "$DTYPECHECK_RUN/made.trace"; exit {status}'
        return self.run_tool("trace", *options, "--", "sh", "-c", script)

    def test_an_older_report_is_there_until_the_new_one(self):
        self.write("report.json", "the old one")
        result = self.run_tool("trace", "--format", "json", "-o", "report.json", "--", "cat", "report.json")
        self.assertEqual((result.status, result.out), (0, "the old one"))

    def test_what_cannot_be_noted_costs_no_report(self):
        result = self.run_tool("trace", "--out", "run", "--", "sh", "-c", "rm run/run.json; mkdir run/run.json; exit 3")
        self.assertEqual(result.status, 3)
        self.assertIn("run: the run folder cannot be written: Is a directory", result.err)
        self.assertIn("no LibTorch op ran", result.err)

    def test_report_is_on_standard_error(self):
        result = self.trace(tool.MIXED, status=7)
        self.assertEqual((result.status, result.out), (7, ""))
        self.assertTrue(result.err.startswith("\n"))
        self.assertIn("train.py:1065", result.err)
        self.assertIn(f"the trace is in dtypecheck-runs/{self.only_run().name}", result.err)

    def test_no_report(self):
        result = self.trace(tool.MIXED, "--no-report")
        self.assertNotIn("train.py", result.err)
        self.assertIn("the trace is in", result.err)

    def test_no_report_has_no_file(self):
        result = self.run_tool("trace", "--no-report", "-o", "report.txt", "--", "true")
        self.assertEqual(result.status, 2)
        self.assertIn("--no-report writes no findings, and --output names report.txt", result.err)
        self.assertFalse((self.folder / "report.txt").exists())

    def test_fail_on(self):
        self.assertEqual(self.trace(tool.MIXED, "--fail-on", "error", status=7).status, 1)
        self.assertEqual(self.trace(tool.MIXED, "--fail-on", "never", status=7).status, 7)
        self.assertEqual(self.trace(tool.PROMOTED, "--fail-on", "warning").status, 1)
        self.assertEqual(self.trace(tool.PROMOTED, "--fail-on", "error").status, 0)
        self.assertEqual(self.trace(tool.CLEAN, "--fail-on", "note").status, 0)
        self.assertEqual(self.trace(tool.CLEAN, "--fail-on", "note", status=7).status, 7)
        self.assertEqual(self.trace(tool.MIXED, "--fail-on", "error", "--no-report").status, 1)

    def test_output_file(self):
        result = self.trace(tool.MIXED, "-o", "report.txt")
        self.assertNotIn("train.py", result.err)
        self.assertIn("train.py:1065", (self.work / "report.txt").read_text())

    def test_output_to_standard_output(self):
        result = self.trace(tool.MIXED, "-o", "-")
        self.assertIn("train.py:1065", result.out)

    def test_document_goes_into_the_run(self):
        result = self.trace(tool.MIXED, "--format", "json")
        path = self.only_run() / "report.json"
        self.assertEqual(len(json.loads(path.read_text())["findings"]), 1)
        self.assertIn(f"the report is in {path.relative_to(self.work)}", result.err)

    def test_program_keeps_its_status_when_its_trace_is_damaged(self):
        self.assertEqual(self.trace("no trace at all", status=7).status, 7)
        self.assertEqual(self.trace("no trace at all", "--fail-on", "error", status=7).status, 2)

    def test_notes_of_untraced_processes(self):
        script = 'echo "dtypecheck: no compiler" > "$DTYPECHECK_RUN/untraced.5.txt"'
        result = self.run_tool("trace", "--", "sh", "-c", script)
        self.assertEqual(result.status, 0)
        self.assertIn("dtypecheck: process 5: no compiler\n", result.err)
        self.assertNotIn("no LibTorch op ran", result.err)


class Cache(tool.ToolTest):
    def hooks(self, **options):
        result = self.run_tool("trace", "--", "sh", "-c", "echo $DTYPECHECK_HOOKS", **options)
        return pathlib.Path(result.out.strip()), result.err

    def test_falls_back_to_the_run(self):
        self.write("file", "")
        self.environment["XDG_CACHE_HOME"] = str(self.work / "file")
        hooks, err = self.hooks()
        self.assertEqual(hooks, self.only_run() / "hooks")
        self.assertIn("this run keeps its tracer in", err)

    def test_read_only_home(self):
        home = self.folder / "home"
        home.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "none", home], capture_output=True, text=True, check=False)
        if mounted.returncode != 0:
            self.skipTest(f"needs to mount a tmpfs: {mounted.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", home], check=True)
        del self.environment["XDG_CACHE_HOME"]
        self.environment["HOME"] = str(home)
        hooks, err = self.hooks()
        self.assertEqual(hooks, self.only_run() / "hooks")
        self.assertIn("Read-only file system; this run keeps its tracer in", err)

    def test_folder_that_others_can_write_is_not_trusted(self):
        hooks, err = self.hooks()
        self.assertNotIn("keeps its tracer", err)
        hooks.chmod(0o777)
        again, err = self.hooks()
        self.assertNotEqual(again, hooks)
        self.assertIn("others can write it", err)

    def test_install_folder_with_a_space(self):
        """LD_PRELOAD is split at spaces."""
        prefix = self.folder / "my programs"
        for name in ("bin/dtypecheck", "lib/libdtypecheck_preload.so"):
            (prefix / name).parent.mkdir(parents=True)
            shutil.copy2(pathlib.Path(tool.DTYPECHECK).parents[1] / name, prefix / name)
        result = self.run_tool("trace", "--", "sh", "-c", "echo $LD_PRELOAD", tool=prefix / "bin/dtypecheck")
        self.assertEqual(result.status, 0, result.err)
        self.assertNotIn("my programs", result.out)
        self.assertTrue(os.path.samefile(result.out.strip(), prefix / "lib/libdtypecheck_preload.so"))

    def test_changed_source_has_a_folder_of_its_own(self):
        prefix = self.folder / "prefix"
        for name in ("bin/dtypecheck", "lib/libdtypecheck_preload.so"):
            (prefix / name).parent.mkdir(parents=True)
            shutil.copy2(pathlib.Path(tool.DTYPECHECK).parents[1] / name, prefix / name)
        source = prefix / "share/dtypecheck/src"
        met = set()
        for file in ("tracer/hook/sources.txt", "core/a.h", "ops/a.h", "platform/a.h", "trace/a.h", "tracer/python/a.h"):
            (source / file).parent.mkdir(parents=True, exist_ok=True)
            (source / file).write_text(file)
            hooks, _ = self.hooks(tool=prefix / "bin/dtypecheck")
            self.assertNotIn(hooks, met, file)
            met.add(hooks)
            self.assertEqual(self.hooks(tool=prefix / "bin/dtypecheck")[0], hooks)

    def test_home(self):
        del self.environment["XDG_CACHE_HOME"]
        hooks, _ = self.hooks()
        self.assertEqual(hooks.parent, self.folder / ".cache/dtypecheck")


if __name__ == "__main__":
    unittest.main()
