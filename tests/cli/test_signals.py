"""dtypecheck trace and signals: what was sent to it alone reaches the program once; Ctrl-C reaches it once too."""

import os
import pty
import signal
import sys
import time
import unittest

import tool

# Says when it is ready, then how often which signal came, and ends half a second after the first.
COUNTING = """
import collections, signal, sys, time
seen = collections.Counter()
for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2):
    signal.signal(s, lambda number, frame: seen.update([signal.Signals(number).name]))
print("ready", flush=True)
end = time.monotonic() + 60
while not seen and time.monotonic() < end:
    time.sleep(0.01)
end = time.monotonic() + 0.5
while time.monotonic() < end:
    time.sleep(0.01)
print(dict(seen), flush=True)
sys.exit(9)
"""


class Signals(tool.ToolTest):
    def start_counting(self):
        self.write("counting.py", COUNTING)
        process = self.start("trace", "--", sys.executable, "counting.py")
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def test_signal_to_the_tool_alone_is_passed_on(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2):
            process = self.start_counting()
            process.send_signal(number)
            out, err = tool.finish(process)
            self.assertEqual(out.decode(), f"{{'{number.name}': 1}}\n")
            self.assertEqual(process.returncode, 9, err)

    def test_program_that_dies_of_it(self):
        process = self.start("trace", "--", "sh", "-c", "echo ready; exec sleep 60")
        process.stdout.readline()
        process.terminate()
        _, err = tool.finish(process)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        self.assertIn(b"sh was killed by signal 15", err)

    def test_control_c_on_a_terminal_arrives_once(self):
        self.write("counting.py", COUNTING)
        pid, terminal = self.pseudo_terminal(pty.fork)
        if pid == 0:
            os.chdir(self.work)
            os.execve(tool.DTYPECHECK, ["dtypecheck", "trace", "--", sys.executable, "counting.py"], self.environment)
        text = os.read(terminal, 65536)
        self.assertIn(b"ready", text)
        os.write(terminal, b"\x03")
        text += self.read_to_end(terminal)
        _, status = os.waitpid(pid, 0)
        self.assertIn(b"{'SIGINT': 1}", text)
        self.assertEqual(os.waitstatus_to_exitcode(status), 9)

    def test_ignored_signals_stay_ignored(self):
        process = self.start("trace", "--", "sh", "-c", "echo ready; sleep 0.5; echo done",
                             preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        process.stdout.readline()
        process.send_signal(signal.SIGHUP)
        out, _ = tool.finish(process)
        self.assertEqual((process.returncode, out), (0, b"done\n"))

    def test_storm(self):
        """Signals around the start and the end of short programs neither kill the tool nor hang it."""
        for delay in [n / 2000 for n in range(20)]:
            process = self.start("trace", "--", "sleep", "0.01")
            time.sleep(delay)
            for _ in range(20):
                process.send_signal(signal.SIGUSR1)
            tool.finish(process)
            # Before the tool has its handler the signal kills it, as it would the program.
            self.assertIn(process.returncode, (0, 128 + signal.SIGUSR1, -signal.SIGUSR1))


if __name__ == "__main__":
    unittest.main()
