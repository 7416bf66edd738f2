"""Ops that an extension of a Python program calls: their lines are C++, and who called is told."""

import os
import pathlib
import shutil
import subprocess
import unittest

from traced import TracedTest, line_of

LIBRARY = pathlib.Path(os.environ["DTYPECHECK_TEST_CACHE"], "libtraced_extension.so")


class Extension(TracedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        bare = shutil.copy(LIBRARY, cls.folder / "libbare.so")
        subprocess.run(["strip", "--strip-debug", bare], check=True)
        cls.untraced = cls.plain("extension.py", LIBRARY)
        cls.done = cls.traced("extension.py", LIBRARY)
        cls.bare = cls.traced("extension.py", bare)

    def call(self, op, of=None):
        return (of or self.done).run.calls(op=op)[-1]

    def test_program_did_not_notice(self):
        self.assertEqual((self.done.status, self.done.out), (0, self.untraced.out), self.done.err)
        self.assertIn("refused", self.done.out)

    def test_the_line_is_cpp_and_the_caller_python(self):
        for op, name in (("aten::zeros", "factory"), ("aten::index_add_", "refused")):
            with self.subTest(op):
                call = self.call(op)
                self.assertEqual((pathlib.Path(call["file"]).name, call["line"]), ("extension.cpp", line_of("extension.cpp", name)))
                self.assertIn("pooled", call["function"])
                self.assertEqual(call["caller"]["line"], line_of("extension.py", "call"))

    def test_what_python_calls_itself_has_no_caller(self):
        for op, name in (("aten::sum", "before"), ("rows::pooled", "call")):
            with self.subTest(op):
                call = self.done.run.calls(op=op)[0]
                self.assertEqual((pathlib.Path(call["file"]).name, call["line"]), ("extension.py", line_of("extension.py", name)))
                self.assertNotIn("caller", call)

    def test_without_debug_information_the_function_is_told(self):
        call = self.call("aten::index_add_", self.bare)
        self.assertEqual((pathlib.Path(call["file"]).name, call["line"]), ("extension.py", line_of("extension.py", "call")))
        self.assertIn("libbare.so: pooled", call["inner"]["function"])

    def test_the_finding_names_both(self):
        (finding,) = self.done.run.findings("mixed-operands")
        (made,) = [cure for cure in finding["cures"] if cure["text"].startswith("cast the result of zeros to BFloat16")]
        self.assertEqual(made["line"], line_of("extension.cpp", "factory"))
        text = self.done.run.text()
        self.assertIn(f"extension.cpp:{line_of('extension.cpp', 'refused')}", text)
        self.assertRegex(text, rf"called from \S*extension.py:{line_of('extension.py', 'call')}")


if __name__ == "__main__":
    unittest.main()
