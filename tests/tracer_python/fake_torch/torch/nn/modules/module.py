import os


class Module:
    def __init__(self):
        object.__setattr__(self, "_parameters", {})
        object.__setattr__(self, "_buffers", {})
        object.__setattr__(self, "_modules", {})

    def __setattr__(self, name, value):
        if isinstance(value, Module):
            self.__dict__["_modules"][name] = value
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name):
        modules = self.__dict__["_modules"]
        if name in modules:
            return modules[name]
        raise AttributeError(name)

    def _wrapped_call_impl(self, *args, **kwargs):
        return self._call_impl(*args, **kwargs)

    def _call_impl(self, *args, **kwargs):
        def inner():  # captures self, which so lives in a cell, as in torch
            return self.forward(*args, **kwargs)

        return inner()

    if os.environ.get("FAKE_TORCH_VERSION") == "2.0":
        del _wrapped_call_impl
        __call__ = _call_impl
    else:
        __call__ = _wrapped_call_impl
