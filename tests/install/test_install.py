"""What `cmake --install` gives: a program that finds its parts beside itself, and a package for CMake."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

BUILD = os.environ["DTYPECHECK_BUILD"]
CMAKE = os.environ["CMAKE"]


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="dtypecheck-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.prefix = cls.folder / "prefix"
        cls.run_it(CMAKE, "--install", BUILD, "--prefix", cls.prefix)

    @classmethod
    def run_it(cls, *command, status=0):
        environment = {**os.environ, "XDG_CACHE_HOME": str(cls.folder / "cache")}
        done = subprocess.run(list(map(str, command)), cwd=cls.folder, env=environment, capture_output=True, text=True,
                              check=False)
        if done.returncode != status:
            raise AssertionError(f"{command}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def test_parts(self):
        for part in ("bin/dtypecheck", "lib/libdtypecheck_preload.so", "lib/libdtypecheck_replace.so",
                     "libexec/dtypecheck/hooks.txt", "share/dtypecheck/src/tracer/hook/sources.txt",
                     "share/dtypecheck/probe/measure.py", "lib/cmake/dtypecheck/dtypecheckConfig.cmake"):
            self.assertTrue((self.prefix / part).is_file(), part)
        for line in (self.prefix / "libexec/dtypecheck/hooks.txt").read_text().splitlines():
            self.assertTrue((self.prefix / "libexec/dtypecheck" / line.split()[2]).is_file(), line)

    def test_program(self):
        self.assertRegex(self.run_it(self.prefix / "bin/dtypecheck", "--version"), r"^dtypecheck \d")
        variables = self.run_it(self.prefix / "bin/dtypecheck", "trace", "--out", "run", "--", "env")
        self.assertIn(f"LD_PRELOAD={self.prefix}/lib/libdtypecheck_preload.so", variables)

    def test_find_package(self):
        source = pathlib.Path(__file__).parent / "consumer"
        build = self.folder / "consumer"
        self.run_it(CMAKE, "-S", source, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}")
        self.run_it(CMAKE, "--build", build)
        self.assertRegex(self.run_it(build / "consumer"), r"^[1-9]\d* variants\n$")
        self.assertIn("lint-consumer", self.run_it(CMAKE, "--build", build, "--target", "help"))

    def test_operators(self):
        libtorch = os.environ.get("LIBTORCH")
        if not libtorch or not (self.prefix / "libexec/dtypecheck/operators.txt").is_file():
            self.skipTest("this build has no operators of LibTorch")
        abi = (self.prefix / "libexec/dtypecheck/operators.txt").read_text().split()[1]
        build = self.folder / "operators"
        self.run_it(CMAKE, "-S", pathlib.Path(__file__).parent / "operators", "-B", build, f"-DLIBTORCH={libtorch}",
                    f"-DABI={abi}", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        self.run_it(CMAKE, "--build", build)
        self.assertIn("CPUHalfType{2,1}", self.run_it(build / "consumer"))


if __name__ == "__main__":
    unittest.main()
