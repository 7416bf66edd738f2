"""Runs the tests of several files in one process, so that their programs are forked from one Python (traced.py).

    run_tests.py NAME…    test_NAME.py
"""

import sys
import unittest

if __name__ == "__main__":
    unittest.main(module=None, argv=[sys.argv[0], *(f"test_{name}" for name in sys.argv[1:])])
