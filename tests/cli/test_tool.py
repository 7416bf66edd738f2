"""What a test says of a program that does not end."""

import sys
import unittest

import tool

STUCK = """\
import subprocess, sys, time
def wait_for_ever():
    print("waiting", flush=True)
    time.sleep(600)
if sys.argv[1:]:
    wait_for_ever()
else:
    subprocess.run([sys.executable, __file__, "below"])
"""


class GivingUp(tool.ToolTest):
    def test_stacks_of_all_processes(self):
        script = self.write("stuck.py", STUCK)
        process = self.start(script, tool=sys.executable)
        self.assertEqual(process.stdout.readline(), b"waiting\n")
        with self.assertRaises(AssertionError) as caught:
            tool.finish(process, patience_s=0)
        self.assertIn("in wait_for_ever", str(caught.exception))
        self.assertIn('stuck.py", line 8 in <module>', str(caught.exception))  # of the one that waits for it


if __name__ == "__main__":
    unittest.main()
