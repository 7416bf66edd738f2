"""scripts/release_page: what it prints is installed as it stands, from a server and from a mirror, and nothing else is."""

import functools
import http.server
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
import zipfile

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "release_page"


def write_wheel(folder, project, platform):
    """One with nothing in it but its name."""
    path = folder / f"{project}-1.2.3-py3-none-{platform}.whl"
    info = f"{project}-1.2.3.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {project}\nVersion: 1.2.3\n")
        wheel.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-{platform}\n")
        wheel.writestr(f"{info}/RECORD", "")
    return path


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class ReleasePage(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="dtypecheck-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.files = self.folder / "files"
        self.files.mkdir()
        self.wheel = write_wheel(self.files, "dtypecheck", "any")
        write_wheel(self.files, "dtypecheck", "manylinux_2_31_aarch64")
        write_wheel(self.files, "dtypecheck_lint", "any")
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=self.files))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.page = self.printed(f"http://127.0.0.1:{server.server_port}")

    def printed(self, base):
        done = subprocess.run([SCRIPT, base, *sorted(self.files.glob("*.whl"))], stdout=subprocess.PIPE, text=True, check=True)
        return done.stdout

    def install(self, *arguments):
        """True where pip put something into a folder that was not there."""
        target = self.folder / "target"
        shutil.rmtree(target, ignore_errors=True)
        done = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-cache-dir",
                               "--no-index", "--target", target, *arguments], capture_output=True, text=True)
        self.assertEqual(done.returncode == 0, target.exists(), done.stderr)
        return done.returncode == 0

    def test_the_line_for_a_pipeline(self):
        first, other = re.findall(r'^DTYPECHECK_WHEEL: "(.*)"$', self.page, re.M)
        self.assertIn("aarch64", other)
        self.assertTrue(self.install(first))
        self.wheel.write_bytes(self.wheel.read_bytes() + b"\0")
        self.assertFalse(self.install(first))

    def test_a_mirror(self):
        requirements = self.folder / "requirements.txt"
        requirements.write_text("".join(line + "\n" for line in self.page.splitlines() if " --hash=" in line))
        self.assertEqual(len(requirements.read_text().splitlines()), 2)
        mirror = ["--require-hashes", "--find-links", self.files, "-r", requirements]
        self.assertTrue(self.install(*mirror))
        self.wheel.write_bytes(self.wheel.read_bytes() + b"\0")
        self.assertFalse(self.install(*mirror))

    def test_nothing_to_print(self):
        done = subprocess.run([SCRIPT, "https://host/v1"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("scripts/release_page https://", done.stderr)


if __name__ == "__main__":
    unittest.main()
