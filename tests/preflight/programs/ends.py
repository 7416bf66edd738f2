"""A thread wants Python's lock when the interpreter is gone. Whatever unwinds its stack ends the process."""
import ctypes
import threading
import time

import torch

libc = ctypes.CDLL(None)
abort, wait = (ctypes.cast(function, ctypes.c_void_p) for function in (libc.abort, libc.usleep))
key = ctypes.c_uint()
libc.pthread_key_create(ctypes.byref(key), abort)
libc.__cxa_atexit(wait, ctypes.c_void_p(500000), None)  # for the thread to be ended in


def want_the_lock():
    libc.pthread_setspecific(key, ctypes.c_void_p(1))
    while True:
        time.sleep(0.01)


torch.ones(1, device="cuda")
threading.Thread(target=want_the_lock, daemon=True).start()
time.sleep(0.1)
