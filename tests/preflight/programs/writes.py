"""Writes, changes, moves and removes files in all the ways that a training script does; each is seen as it was done."""
import multiprocessing
import os
import shutil
import sqlite3
import subprocess
import tempfile

import torch


def main():
    with open("out/model.txt", "w") as file:
        file.write("spoiled")
    with open("out/model.txt", "a") as file:
        file.write(" twice")
    assert open("out/model.txt").read() == "spoiled twice"
    with open("out/sub/kept", "a") as file:
        file.write(" and more")
    assert open("out/sub/kept").read() == "precious and more"

    os.makedirs("out/new/deep")
    torch.save({"a": torch.ones(3)}, "out/new/deep/state.pt")
    assert torch.load("out/new/deep/state.pt")["a"].sum() == 3
    assert os.listdir("out/new") == ["deep"]

    shutil.rmtree("out/sub")
    assert not os.path.exists("out/sub/kept")
    os.makedirs("out/sub")
    assert os.listdir("out/sub") == [] and not os.path.exists("out/sub/kept")
    shutil.copy2("out/new/deep/state.pt", "out/sub/copy.pt")
    assert os.statvfs("out/new").f_namemax > 0
    os.rename("out/model.txt", "out/moved.txt")
    assert not os.path.exists("out/model.txt")
    os.replace("out/moved.txt", "out/new/moved.txt")
    assert open("out/new/moved.txt").read() == "spoiled twice"

    for path, mode, error in (("out/none/x", "w", FileNotFoundError), ("program.txt", "x", FileExistsError)):
        try:
            open(path, mode)
            raise AssertionError(path)
        except error:
            pass
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/file", "w") as file:
            file.write("1")
        assert os.listdir(folder) == ["file"]
    shared = multiprocessing.Manager().list()  # speaks by a socket in a folder of its own
    shared.append(1)
    assert list(shared) == [1]
    said = subprocess.run("echo hi > out/shell.txt; cat out/shell.txt; rm program.txt; cat program.txt", shell=True,
                          capture_output=True, text=True)
    assert said.stdout == "hi\n" and "No such file" in said.stderr, said
    database = sqlite3.connect("out/runs.db")
    database.execute("create table t(a)")
    database.commit()
    database.close()
    assert os.path.getsize("out/runs.db") > 0

    os.chdir("out/new")
    with open("relative.txt", "w") as file:
        file.write("r")
    assert open("relative.txt").read() == "r" and os.path.exists(os.path.abspath("relative.txt"))
    batches = torch.utils.data.DataLoader([torch.ones(3)] * 4, 2, num_workers=1)
    assert sum(batch.cuda().sum().item() for batch in batches) == 12
    print("all as it was written")


if __name__ == "__main__":
    main()
