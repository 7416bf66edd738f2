"""Forks children that train, each step on a line of its own and so with signatures of its own, and kills them at random.

A child says through a pipe which line it completed; it is killed some time after a line of the parent's choice, so that
kills come at all moments of a step however fast the machine is. Prints "child pid lines" for each; the first one is not killed.
"""

import os
import random
import signal
import sys
import time

import torch

LINES = 200
STEP = "optimizer.zero_grad(); model(torch.ones(2, 3)).sum().backward(); optimizer.step(); completed({line})"


def train(pipe, steps):
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    names = {"torch": torch, "model": model, "optimizer": optimizer}
    os.write(pipe, bytes(4))
    names["completed"] = lambda line: os.write(pipe, line.to_bytes(4, "little"))
    exec(steps, names)


def lines_completed(pipe):
    data = b""
    while chunk := os.read(pipe, 65536):
        data += chunk
    os.close(pipe)
    return int.from_bytes(data[-4:], "little")


def fork_and_kill(steps, line, delay_s):
    """Kills the child `delay_s` after it completed the line, or waits for its end where the line is None."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        train(theirs, steps)
        if line is not None:
            signal.pause()
        os._exit(0)
    os.close(theirs)
    os.read(ours, 4)  # it is about to begin
    if line is not None:
        while line > 0 and int.from_bytes(os.read(ours, 4), "little") < line:
            pass
        time.sleep(delay_s)
        os.kill(pid, signal.SIGKILL)
    lines = max(line or 0, lines_completed(ours))
    os.waitpid(pid, 0)
    print("child", pid, lines, flush=True)


def main():
    children = int(sys.argv[1])
    steps = compile("\n".join(STEP.format(line=n) for n in range(1, LINES + 1)), sys.argv[2], "exec")
    few = compile("\n".join(STEP.format(line=n) for n in range(1, 9)), sys.argv[2], "exec")
    _, unread = os.pipe()
    train(unread, few)  # imports what the first step imports
    random.seed(int(sys.argv[3]))
    fork_and_kill(few, None, 0)
    for _ in range(children):
        fork_and_kill(steps, random.randrange(LINES * 9 // 10), random.uniform(0, 0.001))


if __name__ == "__main__":
    main()
