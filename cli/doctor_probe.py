# What dtypecheck doctor asks a Python: one JSON object on stdout. It imports no torch, which takes seconds and may fail.
import glob
import json
import os
import platform
import sys
import sysconfig


def lines_of(path):
    try:
        with open(path, errors="replace") as lines:
            return list(lines)
    except OSError:
        return []


folders = [os.path.join(entry, "torch") for entry in sys.path if entry]
cupti = [library for entry in sys.path if entry
         for pattern in ("nvidia/cuda_cupti/lib/libcupti.so.*", "nvidia/cu*/lib/libcupti.so.*")
         for library in glob.glob(os.path.join(glob.escape(entry), pattern))]
print(json.dumps({
    "version": platform.python_version(),
    "implementation": platform.python_implementation(),
    "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
    "executable": sys.executable,
    "torch": [folder for folder in folders if os.path.isfile(os.path.join(folder, "__init__.py"))],
    "cupti": cupti + glob.glob("/usr/local/cuda*/extras/CUPTI/lib64/libcupti.so.*"),
    "preloaded": any("libdtypecheck_preload" in line for line in lines_of("/proc/self/maps")),
}))
