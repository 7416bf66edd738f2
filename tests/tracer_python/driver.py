"""The driver library, from Python."""
import ctypes
import json
import os

_PATH = os.environ["DRIVER"]
_ROOM = 1 << 18


class Driver:
    def __init__(self, loader):
        self._library = loader(_PATH)
        self._library.dc_parameter.argtypes = [ctypes.c_uint64, ctypes.c_char_p, ctypes.c_size_t]

    def ask(self, name, *arguments):
        buffer = ctypes.create_string_buffer(_ROOM)
        getattr(self._library, name)(*arguments, buffer, ctypes.c_size_t(_ROOM))
        return json.loads(buffer.value.decode("utf-8", "replace"))

    def time(self, rounds):
        """Nanoseconds of top(), walk(), and walk() with resolve()."""
        times = [ctypes.c_double() for _ in range(3)]
        self._library.dc_time(rounds, *[ctypes.byref(time) for time in times])
        return [time.value for time in times]


released = Driver(ctypes.CDLL)  # the GIL is released around a call
held = Driver(ctypes.PyDLL)


def start():
    return released.ask("dc_start")


def site():
    return released.ask("dc_site")


def walk():
    return released.ask("dc_walk")
