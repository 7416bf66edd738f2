"""A damaged trace beside a good one costs what is damaged, and is named; alone it is an error of one line."""

import json
import random
import shutil
import struct
import sys
import unittest

from traced import TracedTest, tool

VERSION_AT, ENDIAN_AT = 12, 8


class BadTraces(TracedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        program = "import torch\nl = torch.nn.Linear(2, 2)\nl(torch.ones(1, 2)).sum().backward()\nl.half()"
        cls.done = cls.traced_command([cls.interpreter, "-c", program])
        (cls.good,) = cls.done.run.files
        cls.bytes = cls.good.read_bytes()
        cls.signatures = len(cls.done.run.calls())

    def folder_with(self, damaged, beside_good=True):
        folder = self.folder / self.id().rpartition(".")[2]
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        if beside_good:
            shutil.copy(self.good, folder / "good.1.dtrace")
        (folder / "bad.2.dtrace").write_bytes(damaged)
        return folder

    def report(self, damaged):
        """The JSON report of a folder with the good trace and a damaged one; all of the good one is in it."""
        report = json.loads(tool("report", "--format", "json", self.folder_with(damaged)).stdout)
        good = [process for process in report["processes"]
                if process["file"].endswith("good.1.dtrace")]
        self.assertEqual([(p["complete"], p["signatures"]) for p in good],
                         [(True, self.signatures)])
        return report

    def assert_left_out(self, damaged, *parts):
        report = self.report(damaged)
        self.assertFalse(report["complete"])
        (line,) = report["left_out"]
        for part in ("bad.2.dtrace", *parts):
            self.assertIn(part, line)
        alone = tool("report", self.folder_with(damaged, beside_good=False), statuses=[2])
        self.assertEqual(alone.stdout, b"")
        (line,) = alone.stderr.decode().splitlines()
        for part in ("bad.2.dtrace", *parts):
            self.assertIn(part, line)

    def patched(self, offset, value):
        return self.bytes[:offset] + value + self.bytes[offset + len(value):]

    def test_another_version(self):
        (version,) = struct.unpack_from("<I", self.bytes, VERSION_AT)
        newer = self.patched(VERSION_AT, struct.pack("<I", version + 1))
        self.assert_left_out(newer, f"version {version + 1}, this build reads {version}",
                             "record it again")

    def test_wrong_endian(self):
        self.assert_left_out(self.patched(ENDIAN_AT, self.bytes[ENDIAN_AT:ENDIAN_AT + 4][::-1]),
                             "endian")

    def test_empty(self):
        self.assert_left_out(b"", "empty")

    def test_no_trace_at_all(self):
        self.assert_left_out(b"#!/bin/sh\necho no trace\n" * 40, "not a dtypecheck trace")

    def test_cut_short(self):
        for length in (300, len(self.bytes) // 2, len(self.bytes) - 1):
            report = self.report(self.bytes[:length])
            (bad,) = [process for process in report["processes"]
                      if process["file"].endswith("bad.2.dtrace")]
            self.assertFalse(report["complete"])
            self.assertIn("cut short", bad["damaged"])
            if length < len(self.bytes) - 1:
                self.assertLess(bad["signatures"], self.signatures)
            self.assertNotIn("exit.status", bad["facts"])  # what was written last

    def test_flipped_bits(self):
        """Any bits of it: what can be read is read, or the file is left out; never a crash, never a word of it on the good one."""
        seed = random.randrange(1 << 30)
        bits = random.Random(seed)
        for n in range(25):
            damaged = bytearray(self.bytes)
            for _ in range(1 + n):
                damaged[bits.randrange(len(damaged))] ^= 1 << bits.randrange(8)
            with self.subTest(seed=seed, n=n):
                self.report(bytes(damaged))


if __name__ == "__main__":
    unittest.main()
