# Says what start() answers in a Python that it does not know; runs in Python 2.7 as well.
import ctypes
import sys

library = ctypes.CDLL(sys.argv[1])
answer = ctypes.create_string_buffer(4096)
library.dc_start(answer, ctypes.c_size_t(4096))
site = ctypes.create_string_buffer(65536)
library.dc_site(site, ctypes.c_size_t(65536))
assert b'"found":false' in site.value, site.value
print(answer.value.decode())
