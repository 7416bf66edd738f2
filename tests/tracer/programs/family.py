"""Children of a process that runs ops: forked ones that end in every way, threads, workers, other programs.

Prints a line "name pid wait-status" for each child.
"""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading

import torch


def run_op(size):
    return torch.ones(size) + 1  # <- op


def maps_of_libtorch():
    with open("/proc/self/maps") as maps:
        return sum("libtorch" in line for line in maps)


def finish(how):
    """What a forked child does once it ran its op."""
    if how == "os_exit":
        os._exit(4)
    if how == "sys_exit":
        sys.exit(3)
    if how == "exception":
        raise ValueError("on purpose")
    if how == "exec":
        os.execv("/bin/true", ["true"])
    if how == "exec_torch":
        os.execv(sys.executable, [sys.executable, "-c", "import torch; torch.ones(3).double()"])
    if how == "failed_exec":
        try:
            os.execv(os.path.join(os.path.dirname(__file__), "none"), ["none"])
        except OSError:
            torch.ones(2).double()
        os._exit(0)
    if how == "grandchild":
        fork("grandchild's", lambda: (run_op(2), os._exit(0)))
        os._exit(0)
    os.kill(os.getpid(), getattr(signal, how))


def fork(name, body):
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        body()
        os._exit(99)
    print(name, pid, os.waitpid(pid, 0)[1], flush=True)


def fork_and_finish(how):
    def body():
        run_op(2)
        finish(how)

    fork(how, body)


def spawned():
    run_op(6)


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return torch.full((2,), index).to(torch.bfloat16)  # <- row


def main():
    print("main", os.getpid())
    run_op(1)
    fork("idle", lambda: os._exit(0))
    for how in sys.argv[1:]:
        fork_and_finish(how)
    threads = [threading.Thread(target=run_op, args=(5,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("libtorch_in_sh", subprocess.check_output("grep -c libtorch /proc/self/maps; true", shell=True, text=True))
    # preexec_fn makes Python fork instead of vfork.
    subprocess.run(["gcc", "--version"], stdout=subprocess.DEVNULL, preexec_fn=lambda: None, check=True)
    os.system("true")
    rows = list(torch.utils.data.DataLoader(Rows(), num_workers=2))
    print("rows", len(rows))
    worker = multiprocessing.get_context("spawn").Process(target=spawned)
    worker.start()
    worker.join()
    print("spawned", worker.pid, worker.exitcode)


if __name__ == "__main__":
    main()
