"""What is measured: torch's own operator database, and by hand what it lacks."""
import sys
import types
import unittest

import torch

import hand_written
import record

MAX_SAMPLES = 24


def all_tasks():
    """(name, function of a recorder), each of which calls ops for the recorder to see."""
    tasks = [("hand " + name, task) for name, task in hand_written.TASKS]
    for i, op in enumerate(op_database()):
        for dtype in (torch.float32, torch.int64):  # the second only of what takes no floating one
            if dtype in op.supported_dtypes("cpu"):
                tasks.append(("%s#%d" % (op.name, i), lambda recorder, op=op, dtype=dtype:
                              run_op_info(op, dtype, recorder)))
                break
    return tasks


def op_database():
    try:
        import expecttest  # noqa: F401
    except ImportError:  # a base class of torch's own tests, of which the database needs the name
        stand_in = types.ModuleType("expecttest")
        stand_in.TestCase = unittest.TestCase
        sys.modules["expecttest"] = stand_in
    from torch.testing._internal.common_methods_invocations import op_db
    return op_db


def run_op_info(op, dtype, recorder):
    wants_grad = op.supports_autograd and dtype.is_floating_point
    samples = op.sample_inputs("cpu", dtype, requires_grad=wants_grad)
    names = [op.aten_name] if op.aten_name else []
    for count, sample in enumerate(samples):
        if count >= MAX_SAMPLES:
            break
        arguments = [sample.input] + list(sample.args)
        for name in names:
            record.add_composite(recorder, name, detached(arguments), detached(sample.kwargs))
        try:
            with recorder:
                outputs = op(sample.input, *sample.args, **sample.kwargs)
            record.record_backward(recorder, outputs, arguments + list(sample.kwargs.values()))
        except Exception:  # noqa: BLE001 - a sample that does not run says nothing
            continue
        if count < 4 and op.get_inplace() is not None:
            run_inplace(op, sample, recorder)


def run_inplace(op, sample, recorder):
    if not isinstance(sample.input, torch.Tensor) or sample.broadcasts_input:
        return
    try:
        with torch.no_grad(), recorder:
            op.get_inplace()(sample.input.detach().clone(), *sample.args, **sample.kwargs)
    except Exception:  # noqa: BLE001
        pass


def detached(value):
    if isinstance(value, torch.Tensor):
        return value.detach()
    if isinstance(value, dict):
        return {k: detached(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [detached(v) for v in value]
    return value
