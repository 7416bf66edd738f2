"""Runs the tests with every CPython that is here: run.py DRIVER_LIBRARY [--torch-python PYTHON] [--preload LIBRARY].

pyenv's versions and python3.x on the PATH are tried; those that are not here are named. The tests with the real torch run
with the environment that scripts/setup makes.
"""
import argparse
import glob
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
KNOWN = ["3.%d" % minor for minor in range(8, 15)]
REFUSED = ["2.7", "3.6", "3.7"]


def find_pythons():
    """Version, as "3.11", to an interpreter of it."""
    found = {}
    candidates = glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python"))
    candidates += [path for path in (shutil.which("python" + v) for v in KNOWN) if path]
    candidates.append(sys.executable)
    for path in candidates:
        asked = subprocess.run([path, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               universal_newlines=True)
        if asked.returncode == 0:
            found.setdefault(asked.stdout.strip(), path)
    return found


def run(title, command, environment):
    print("-- %s" % title, flush=True)
    return subprocess.run(command, env=environment).returncode == 0


def refuses(python, version, library, environment, reason):
    done = subprocess.run([python, os.path.join(HERE, "refused.py"), library], env=environment,
                          stdout=subprocess.PIPE, universal_newlines=True)
    print("-- %s: %s" % (version, done.stdout.strip()), flush=True)
    if done.returncode != 0:
        return False
    answer = json.loads(done.stdout)
    why_not = answer["why_not"]
    return not answer["started"] and why_not.startswith("CPython " + version) and reason in why_not


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--wrong-library", help="the driver with a table of offsets that is wrong")
    parser.add_argument("--torch-python",
                        help="a Python that has torch, diffusers, peft and accelerate")
    parser.add_argument("--preload", metavar="LIBRARY",
                        help="a sanitizer's run time: tests with the oldest and the newest CPython only, without torch")
    options = parser.parse_args()
    environment = dict(os.environ, DRIVER=os.path.abspath(options.library), HF_HUB_OFFLINE="1",
                       PYTHONDONTWRITEBYTECODE="1")
    if options.preload:
        environment["LD_PRELOAD"] = options.preload
        environment["ASAN_OPTIONS"] = "detect_leaks=0"  # Python itself keeps memory until the end
        environment["TSAN_OPTIONS"] = "report_thread_leaks=0:suppressions=" + os.path.join(HERE,
                                                                                           "tsan.supp")
        options.torch_python = None
    pythons = find_pythons()
    here = [version for version in KNOWN if version in pythons]
    chosen = here if not options.preload else sorted({here[0], here[-1]}, key=here.index)
    results = {}
    for version in KNOWN:
        if version in chosen:
            command = [pythons[version], os.path.join(HERE, "test_sites.py")]
            results[version] = run("CPython " + version, command, environment)
    for version in REFUSED:
        if version in pythons:
            results[version] = refuses(pythons[version], version, environment["DRIVER"],
                                       environment, " is ")
    if options.wrong_library:
        for version in chosen:
            results[version + " with a wrong table"] = refuses(
                pythons[version], version, options.wrong_library, environment,
                "not laid out as known")
    if options.torch_python and os.path.exists(options.torch_python):
        command = [options.torch_python, os.path.join(HERE, "test_torch.py")]
        results["torch"] = run("the real torch", command, environment)
    else:
        print("-- not tested: the real torch")
    for version in KNOWN:
        if version not in chosen:
            why = "left out with a sanitizer" if version in pythons else "not on this machine"
            print("-- not tested: CPython %s, %s" % (version, why))
    failed = sorted(name for name, passed in results.items() if not passed)
    print("failed: %s" % ", ".join(failed) if failed else "passed: %s" % ", ".join(sorted(results)))
    return 1 if failed or not results else 0


if __name__ == "__main__":
    sys.exit(main())
