"""cures/replace: who reads an original gets its replacement, and nothing is left of that."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

LIBRARY = sys.argv.pop()


class ReplaceTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        (self.folder / "pkg").mkdir()
        self.write("pkg/__init__.py", "")
        self.write("pkg/model.py", "VALUE = 'original'\n")
        self.write("main.py", "import pkg.model\nprint('original', pkg.model.VALUE)\n")

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def replaced(self, *pairs):
        (self.folder / "list").write_bytes(b"".join(os.fsencode(self.folder / name) + b"\0" for name in pairs))

    def run_python(self, *arguments, preload=True, **options):
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "DTYPECHECK"))}
        if preload:
            environment |= {"LD_PRELOAD": LIBRARY, "DTYPECHECK_REPLACE": str(self.folder / "list")}
        done = subprocess.run([sys.executable, *arguments], cwd=self.folder, env=environment, capture_output=True, text=True,
                              timeout=900, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def compiled(self):
        return {path: path.read_bytes() for path in self.folder.rglob("*.pyc")}

    def test_a_module_and_its_compiled_code(self):
        self.assertEqual(self.run_python("main.py", preload=False), "original original")
        before = self.compiled()
        self.assertTrue(any(path.name.startswith("model.") for path in before))
        self.write("changed.py", "VALUE = 'changed'\n")
        self.replaced("pkg/model.py", "changed.py")
        self.assertEqual(self.run_python("main.py"), "original changed")
        self.assertEqual(self.compiled(), before)
        self.assertEqual(self.run_python("main.py", preload=False), "original original")

    def test_no_compiled_code_is_left_where_there_was_none(self):
        self.write("changed.py", "VALUE = 'changed'\n")
        self.replaced("pkg/model.py", "changed.py")
        self.run_python("main.py")
        self.assertFalse([path for path in self.compiled() if path.name.startswith("model.")])

    def test_the_main_program_by_whatever_name(self):
        self.write("changed.py", "print('changed')\n")
        self.replaced("main.py", "changed.py")
        (self.folder / "link.py").symlink_to("main.py")
        for arguments in (["main.py"], ["./pkg/../main.py"], [str(self.folder / "main.py")], ["-m", "main"],
                          ["-c", "import subprocess, sys; subprocess.run([sys.executable, 'main.py'])"]):
            self.assertEqual(self.run_python(*arguments), "changed", arguments)

    def test_another_file_of_the_same_name(self):
        (self.folder / "other").mkdir()
        self.write("other/main.py", "print('other')\n")
        self.write("changed.py", "print('changed')\n")
        self.replaced("main.py", "changed.py")
        self.assertEqual(self.run_python("other/main.py"), "other")

    def test_what_is_written_is_the_original(self):
        self.write("changed.py", "print('changed')\n")
        self.replaced("main.py", "changed.py")
        self.run_python("-c", "open('main.py', 'a').write('# more\\n'); import os; os.open('main.py', os.O_RDWR)")
        self.assertTrue((self.folder / "main.py").read_text().endswith("# more\n"))
        self.assertEqual((self.folder / "changed.py").read_text(), "print('changed')\n")

    def test_the_words_for_errors_are_those_of_the_change(self):
        self.write("changed.py", "import inspect, sys\nprint(inspect.getsource(sys.modules['__main__']).split()[0])\n")
        self.replaced("main.py", "changed.py")
        self.assertEqual(self.run_python("main.py"), "import")

    def test_lists_of_no_use(self):
        for data in (b"", b"\0", b"main.py", b"none/none\0changed.py\0", b"x\0" * 100, b"a" * 200000):
            (self.folder / "list").write_bytes(data)
            self.assertEqual(self.run_python("main.py"), "original original")
        (self.folder / "list").unlink()
        self.assertEqual(self.run_python("main.py"), "original original")


if __name__ == "__main__":
    unittest.main()
