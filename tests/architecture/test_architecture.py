"""ARCHITECTURE.md's table of folders: each folder has a row, and includes what its row names and nothing else."""

import re
import unittest

from sources import ROOT, sources

ROW = re.compile(r"^\| (`[^|]*/`[^|]*) \|[^|]*\| ?([^|]*?) ?\|$", re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
NO_ROOMS = ("tests/", "bench/", "examples/", "docs/")  # they may include everything


def rows(text):
    """Each folder of the table, with the folders that its row lets it include."""
    table = {}
    for names, includes in ROW.findall(text):
        for name in re.findall(r"`([^`]+)/`", names):
            table[name] = {other.strip() for other in includes.split(",") if other.strip()}
    return table


def room_of(path, table):
    """The nearest folder above a path that has a row; None where there is none."""
    while "/" in path:
        path = path.rsplit("/", 1)[0]
        if path in table:
            return path
    return None


def faults(table, includes):
    """What `includes`, pairs of a file and what it includes, has that the table does not, and the other way round."""
    found, used = set(), set()
    for file, included in includes:
        room, other = room_of(file, table), room_of(included, table)
        if room is None:
            found.add(f"{file}: no row of ARCHITECTURE.md's table has its folder; add one")
        elif other is not None and other != room:
            used.add((room, other))
            if other not in table[room]:
                found.add(f"{file} includes {included}: the row of {room}/ in ARCHITECTURE.md does not name {other}; include "
                          "something nearer, move what both need to core/, or add it to the row")
    for room, others in table.items():
        found |= {f"the row of {room}/ in ARCHITECTURE.md names {other}, which nothing there includes; take it out"
                  for other in others if (room, other) not in used}
    return sorted(found)


def unread(files):
    """Of {CMakeLists.txt in tests/: its text} those that no other adds, and that are no project of their own. tests/CMakeLists.txt
    adds its folders."""
    def is_read(path, text):
        folder, _, name = path.rpartition("/")[0].rpartition("/")
        return (folder in ("", "tests") or re.search(r"^project\(", text, re.MULTILINE) or
                f"add_subdirectory({name})" in files.get(f"{folder}/CMakeLists.txt", ""))
    return [path for path, text in files.items() if not is_read(path, text)]


class Architecture(unittest.TestCase):
    maxDiff = None

    def test_the_tree(self):
        table = rows((ROOT / "ARCHITECTURE.md").read_text())
        self.assertIn("core", table)
        pairs = [(path, included) for path in sources() if not path.startswith(NO_ROOMS)
                 for included in INCLUDE.findall((ROOT / path).read_text(errors="replace")) or [""]]
        self.assertEqual(faults(table, pairs), [])

    def test_folders_of_the_top_level(self):
        table = rows((ROOT / "ARCHITECTURE.md").read_text())
        top = {path.split("/")[0] for path in sources() if "/" in path}
        self.assertEqual(sorted(top - set(table)), [])
        self.assertEqual([name for name in table if not (ROOT / name).is_dir()], [])

    def test_folders_of_tests(self):
        files = {path.relative_to(ROOT).as_posix(): path.read_text() for path in (ROOT / "tests").rglob("CMakeLists.txt")}
        self.assertIn("tests/kernels/torch/CMakeLists.txt", files)
        self.assertEqual(unread(files), [])
        inner = {"tests/a/CMakeLists.txt": "add_subdirectory(b)", "tests/a/b/CMakeLists.txt": "", "tests/a/own/CMakeLists.txt": "project(own)"}
        self.assertEqual(unread(inner), [])
        self.assertEqual(unread({**inner, "tests/a/CMakeLists.txt": "add_subdirectory(bc)"}), ["tests/a/b/CMakeLists.txt"])

    def test_what_is_a_fault(self):
        table = rows("| `a/` | what a has | b |\n| `a/inner/` | more | |\n| `b/` | what b has | |\n")
        self.assertEqual(table, {"a": {"b"}, "a/inner": set(), "b": set()})
        self.assertEqual(faults(table, [("a/x.cpp", "b/y.h"), ("a/x.cpp", "a/z.h"), ("a/x.cpp", "z.h")]), [])
        arrow_back = faults(table, [("a/x.cpp", "b/y.h"), ("b/y.cpp", "a/x.h")])
        self.assertEqual(len(arrow_back), 1)
        self.assertIn("b/y.cpp includes a/x.h", arrow_back[0])
        self.assertIn("a/x.cpp includes a/inner/y.h", faults(table, [("a/x.cpp", "a/inner/y.h"), ("a/x.cpp", "b/y.h")])[0])
        self.assertIn("c/x.cpp: no row", faults(table, [("c/x.cpp", ""), ("a/x.cpp", "b/y.h")])[0])
        self.assertIn("names b, which nothing there includes", faults(table, [("a/x.cpp", "")])[0])


if __name__ == "__main__":
    unittest.main()
