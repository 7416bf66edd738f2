"""Ops that the operator database leaves out, or calls in other ways than programs do.

A task calls ops under the recorder, or names an op and its arguments: `op(recorder, "linear", x, w)`.
An op that this torch does not have is passed over.
"""
import warnings

import torch
import torch.nn.functional as F

import record
import replay

aten = torch.ops.aten
TASKS = []


def task(function):
    TASKS.append((function.__name__, function))
    return function


def t(*shape):
    return torch.randn(shape) * 0.5


def pos(*shape):
    return torch.rand(shape) * 0.5 + 0.25


def ix(*values):
    return torch.tensor(values)


def op(recorder, name, *args, **kwargs):
    record.add_composite(recorder, name, list(args), kwargs)


def train(recorder, function, *inputs):
    """Forward and backward under the recorder."""
    inputs = [x.requires_grad_() if replay.is_floating(x) else x for x in inputs]
    try:
        with recorder:
            outputs = function(*inputs)
        record.record_backward(recorder, outputs, inputs)
    except Exception:  # noqa: BLE001 - not in this torch
        pass


@task
def products(r):
    for x in (t(3, 4), t(2, 3, 4)):
        op(r, "linear", x, t(5, 4), t(5))
        op(r, "linear", x, t(5, 4))
        op(r, "matmul", x, t(4, 5))
    op(r, "matmul", t(2, 2, 3, 4), t(2, 2, 4, 5))
    op(r, "matmul", t(3, 4), t(4))
    op(r, "einsum", "bij,bjk->bik", [t(2, 3, 4), t(2, 4, 5)])
    op(r, "bilinear", t(2, 3), t(2, 3), t(4, 3, 3), t(4))
    op(r, "tensordot", t(2, 3), t(3, 2), [1], [0])
    op(r, "linalg_multi_dot", [t(2, 3), t(3, 4), t(4, 2)])
    op(r, "chain_matmul", [t(2, 3), t(3, 4)])
    op(r, "_addmm_activation", t(5), t(3, 4), t(4, 5))
    for name in ("addmm", "addmm_"):
        op(r, name, t(3, 5), t(3, 4), t(4, 5))
    op(r, "addmm", t(5), t(3, 4), t(4, 5))
    op(r, "baddbmm_", t(2, 3, 5), t(2, 3, 4), t(2, 4, 5))
    op(r, "addmv_", t(3), t(3, 4), t(4))


@task
def into_a_given_result(r):
    for name, args, shape in (
            ("mm", (t(3, 4), t(4, 5)), (3, 5)), ("bmm", (t(2, 3, 4), t(2, 4, 5)), (2, 3, 5)),
            ("addmm", (t(3, 5), t(3, 4), t(4, 5)), (3, 5)), ("add", (t(4), t(4)), (4,)),
            ("mul", (t(4), t(4)), (4,)), ("sub", (t(4), t(4)), (4,)), ("div", (t(4), t(4)), (4,)),
            ("gather", (t(4), 0, ix(0, 1)), (2,)), ("take", (t(4), ix(0, 1)), (2,)),
            ("index_select", (t(4), 0, ix(0, 1)), (2,)), ("_softmax", (t(4), 0, False), (4,)),
            ("cat", ([t(2), t(2)],), (4,)), ("stack", ([t(2), t(2)],), (2, 2)),
            ("sum", (t(4), [0]), ()), ("exp", (t(4),), (4,)), ("clamp", (t(4), 0.0), (4,)),
            ("linear", (t(3, 4), t(5, 4)), (3, 5)), ("matmul", (t(3, 4), t(4, 5)), (3, 5))):
        op(r, name, *args, out=torch.zeros(shape))


@task
def convolutions(r):
    for dims in (1, 2, 3):
        x, w = t(1, 2, *[5] * dims), t(4, 2, *[3] * dims)
        ones, zeros = [1] * dims, [0] * dims
        for bias in (t(4), None):
            op(r, "conv%dd" % dims, x, w, bias, ones, zeros, ones, 1)
            op(r, "_convolution", x, w, bias, ones, zeros, ones, False, zeros, 1, False, False,
               True, True)
            train(r, getattr(F, "conv%dd" % dims), *[v for v in (x, w, bias) if v is not None])
        w = t(2, 4, *[3] * dims)
        for bias in (t(4), None):
            op(r, "conv_transpose%dd" % dims, x, w, bias, ones)
            train(r, getattr(F, "conv_transpose%dd" % dims),
                  *[v for v in (x, w, bias) if v is not None])
    train(r, lambda x, w, b: F.conv2d(x, w, b, groups=2), t(1, 2, 5, 5), t(2, 1, 3, 3), t(2))
    op(r, "_slow_conv2d_forward", t(1, 2, 5, 5), t(4, 2, 3, 3), [3, 3], t(4), [1, 1], [0, 0])
    op(r, "slow_conv3d_forward", t(1, 2, 5, 5, 5), t(4, 2, 3, 3, 3), [3] * 3, t(4), [1] * 3,
       [0] * 3)
    for bias in (t(4), None):
        op(r, "mkldnn_convolution", t(1, 2, 5, 5), t(4, 2, 3, 3), bias, [0, 0], [1, 1], [1, 1], 1)


@task
def norms(r):
    x = t(2, 4, 3, 3)
    for weight in (t(3), None):
        for bias in (t(3), None):
            op(r, "native_layer_norm", t(2, 3), [3], weight, bias, 1e-5)
            op(r, "layer_norm", t(2, 3), [3], weight, bias, 1e-5)
        op(r, "rms_norm", t(2, 3), [3], weight, 1e-5)
        op(r, "_fused_rms_norm", t(2, 3), [3], weight, 1e-5)
    for weight, bias in ((t(4), t(4)), (t(4), None), (None, None)):
        op(r, "native_group_norm", x, weight, bias, 2, 4, 9, 2, 1e-5)
        op(r, "group_norm", x, 2, weight, bias, 1e-5)
        op(r, "instance_norm", x, weight, bias, None, None, True, 0.1, 1e-5, False)
        for mean, var in ((t(4), pos(4)), (None, None)):
            op(r, "native_batch_norm", x, weight, bias, mean, var, True, 0.1, 1e-5)
            op(r, "batch_norm", x, weight, bias, mean, var, True, 0.1, 1e-5, False)
            op(r, "_native_batch_norm_legit", x, weight, bias, mean, var, True, 0.1, 1e-5)
        op(r, "native_batch_norm", x, weight, bias, t(4), pos(4), False, 0.1, 1e-5)
    train(r, lambda x, w, b: F.layer_norm(x, (3,), w, b), t(2, 3), t(3), t(3))
    train(r, lambda x: F.layer_norm(x, (3,)), t(2, 3))
    train(r, lambda x, w, b: F.group_norm(x, 2, w, b), t(2, 4, 3, 3), t(4), t(4))
    train(r, lambda x: F.group_norm(x, 2), t(2, 4, 3, 3))
    mean, var = torch.zeros(4), torch.ones(4)
    train(r, lambda x, w, b: F.batch_norm(x, mean, var, w, b, training=True), t(2, 4, 3, 3), t(4),
          t(4))
    train(r, lambda x, w, b: F.batch_norm(x, mean, var, w, b), t(2, 4, 3, 3), t(4), t(4))
    train(r, lambda x, w, b: F.instance_norm(x, weight=w, bias=b), t(2, 4, 3, 3), t(4), t(4))
    if hasattr(F, "rms_norm"):
        train(r, lambda x, w: F.rms_norm(x, (3,), w), t(2, 3), t(3))
    train(r, lambda x: F.normalize(x), t(2, 3))
    train(r, lambda w: torch._weight_norm(w, t(4, 1), 0), t(4, 3))


@task
def attention(r):
    q, k, v = (t(1, 2, 4, 8) for _ in range(3))
    masks = (None, t(4, 4), torch.ones(4, 4, dtype=torch.bool))
    for mask in masks:
        op(r, "scaled_dot_product_attention", q, k, v, mask)
        op(r, "_scaled_dot_product_attention_math", q, k, v, mask)
        op(r, "_scaled_dot_product_flash_attention_for_cpu", q, k, v, 0.0, False, attn_mask=mask)
        if hasattr(F, "scaled_dot_product_attention"):
            train(r, lambda q, k, v: F.scaled_dot_product_attention(q, k, v, mask),
                  *[t(1, 2, 4, 8) for _ in range(3)])
    op(r, "_scaled_dot_product_attention", q, k, v)
    op(r, "_native_multi_head_attention", t(2, 3, 8), t(2, 3, 8), t(2, 3, 8), 8, 2, t(24, 8), t(24),
       t(8, 8), t(8))
    op(r, "_transformer_encoder_layer_fwd", t(2, 3, 8), 8, 2, t(24, 8), t(24), t(8, 8), t(8), False,
       False, 1e-5, t(8), t(8), t(8), t(8), t(16, 8), t(16), t(8, 16), t(8))
    layer = torch.nn.MultiheadAttention(8, 2)
    train(r, lambda x: layer(x, x, x)[0], t(3, 1, 8))


@task
def losses(r):
    x, y = t(4, 3), t(4, 3)
    for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss",
                 "kl_div",
                 "binary_cross_entropy_with_logits", "poisson_nll_loss"):
        for reduction in (1, 0):
            extra = (False, False, 1e-8) if name == "poisson_nll_loss" else ()
            extra = (None, None) if name == "binary_cross_entropy_with_logits" else extra
            op(r, name, x, y, *extra, reduction)
    op(r, "binary_cross_entropy", pos(4), pos(4))
    op(r, "binary_cross_entropy", pos(4), pos(4), pos(4))
    op(r, "binary_cross_entropy_with_logits", t(4), pos(4), None, pos(4))
    op(r, "binary_cross_entropy_with_logits", t(4), pos(4), pos(4))
    for weight in (None, pos(3)):
        op(r, "cross_entropy_loss", x, ix(0, 1, 2, 0), weight)
        op(r, "cross_entropy_loss", x, pos(4, 3), weight)
        op(r, "nll_loss", x, ix(0, 1, 2, 0), weight)
        op(r, "nll_loss_nd", x, ix(0, 1, 2, 0), weight)
        op(r, "multi_margin_loss", x, ix(0, 1, 2, 0), 1, 1.0, weight)
        train(r, lambda x: F.cross_entropy(x, ix(0, 1, 2, 0), weight), t(4, 3))
    op(r, "nll_loss2d", t(2, 3, 2, 2), torch.zeros(2, 2, 2, dtype=torch.long))
    op(r, "cosine_similarity", x, y)
    op(r, "cosine_embedding_loss", x, y, torch.ones(4))
    op(r, "margin_ranking_loss", t(4), t(4), torch.ones(4))
    op(r, "triplet_margin_loss", x, y, t(4, 3))
    op(r, "hinge_embedding_loss", x, torch.ones(4, 3))
    op(r, "pairwise_distance", x, y)
    op(r, "cdist", x, y)
    for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss",
                 "kl_div",
                 "binary_cross_entropy_with_logits", "poisson_nll_loss", "gaussian_nll_loss"):
        args = [t(4, 3), t(4, 3)] + ([pos(4, 3)] if name == "gaussian_nll_loss" else [])
        train(r, getattr(F, name), *args)
    train(r, F.binary_cross_entropy, pos(4), pos(4))
    train(r, F.cosine_similarity, t(4, 3), t(4, 3))
    train(r, lambda x: F.ctc_loss(F.log_softmax(x, 2), ix(1, 2).view(1, 2), ix(5), ix(2)),
          t(5, 1, 4))


@task
def indexing(r):
    for name in ("index_put", "index_put_", "_index_put_impl_"):
        op(r, name, t(4), [ix(0, 1)], t(2))
        op(r, name, t(4), [ix(0, 1)], t(2), True)
        op(r, name, t(4, 2), [torch.tensor([True, False, True, False])], t(2, 2))
    for name in ("index_copy", "index_add"):
        for suffix in ("", "_"):
            op(r, name + suffix, t(4), 0, ix(0, 1), t(2))
    op(r, "index_reduce_", t(4), 0, ix(0, 1), t(2), "prod")
    for name in ("scatter", "scatter_", "scatter_add", "scatter_add_"):
        op(r, name, t(4), 0, ix(0, 1), t(2))
    for name in ("scatter_reduce", "scatter_reduce_"):
        op(r, name, t(4), 0, ix(0, 1), t(2), "sum")
    mask = torch.tensor([True, True, False, False])
    for suffix in ("", "_"):
        op(r, "masked_scatter" + suffix, t(4), mask, t(4))
        op(r, "masked_fill" + suffix, t(4), mask, t())
        op(r, "index_fill" + suffix, t(4), 0, ix(0), t())
        op(r, "put" + suffix, t(4), ix(0, 1), t(2))
    op(r, "select_scatter", t(4, 2), t(2), 0, 0)
    op(r, "slice_scatter", t(4), t(2), 0, 0, 2)
    op(r, "diagonal_scatter", t(3, 3), t(3))
    op(r, "where", mask, t(4), t(4))
    op(r, "where", mask, t(4), t())
    for name in ("copy_", "_copy_from"):
        op(r, name, t(4), t(4))
    for name in ("cat", "stack", "hstack", "vstack", "concat", "block_diag", "meshgrid",
                 "column_stack",
                 "cartesian_prod", "broadcast_tensors", "_stack"):
        op(r, name, [t(4), t(4)])
    op(r, "cat", [t(1, 4, 3), t(1, 1, 3)], 1)
    op(r, "embedding", t(4, 3), ix(0, 1))
    offsets = ix(0)
    for weights in (None, t(2)):
        for name in ("embedding_bag", "_embedding_bag", "_embedding_bag_forward_only"):
            op(r, name, t(4, 3), ix(0, 1), offsets, False, 0, False, weights)
        train(r, lambda w: F.embedding_bag(ix(0, 1), w, offsets, mode="sum",
                                           per_sample_weights=None if weights is None else t(2)),
                                           t(4, 3))
    train(r, lambda x: x[ix(0, 1)], t(4, 3))


@task
def activations(r):
    for name in ("relu", "relu_", "silu", "silu_", "gelu", "mish", "hardswish", "leaky_relu", "elu",
                 "softplus", "sigmoid", "tanh", "log_sigmoid", "glu", "hardtanh", "softshrink",
                 "selu",
                 "celu", "relu6", "hardsigmoid"):
        op(r, name, t(4))
    for name in ("softmax", "log_softmax", "_softmax", "_log_softmax"):
        op(r, name, t(2, 3), -1, *([False] if name[0] == "_" else []))
    for name in ("dropout", "alpha_dropout", "feature_dropout"):
        op(r, name, t(4, 3), 0.5, True)
        op(r, name, t(4, 3), 0.5, False)
    op(r, "prelu", t(2, 3), pos(3))
    op(r, "prelu", t(2, 3), pos(1))
    train(r, F.prelu, t(2, 3), pos(3))
    op(r, "rrelu", t(4))
    for function in (F.silu, F.gelu, F.mish, F.relu, F.elu, F.softplus, F.logsigmoid, F.glu,
                     F.hardswish, F.leaky_relu, torch.sigmoid, torch.tanh):
        train(r, function, t(4, 4))


@task
def pooling_and_resizing(r):
    for dims in (1, 2, 3):
        x = t(1, 2, *[4] * dims)
        two = [2] * dims
        for name in ("max_pool%dd", "avg_pool%dd", "adaptive_avg_pool%dd",
                     "max_pool%dd_with_indices"):
            op(r, name % dims, x, two)
        op(r, "adaptive_max_pool%dd" % dims, x, two)
        for function in ("max_pool%dd", "avg_pool%dd", "adaptive_avg_pool%dd",
                         "adaptive_max_pool%dd"):
            train(r, lambda x: getattr(F, function % dims)(x, 2), t(1, 2, *[4] * dims))
    modes = (("nearest", 3), ("nearest", 4), ("nearest", 5), ("linear", 3), ("bilinear", 4),
             ("bicubic", 4), ("trilinear", 5), ("nearest-exact", 4), ("area", 4))
    for mode, rank in modes:
        train(r, lambda x: F.interpolate(x, scale_factor=2, mode=mode), t(1, 2, *[3] * (rank - 2)))
    for name in ("upsample_nearest2d", "upsample_bilinear2d", "upsample_bicubic2d"):
        corners = () if "nearest" in name else (False,)
        op(r, name, t(1, 2, 3, 3), None, *corners, [2.0, 2.0])
    train(r, lambda x: F.interpolate(x, scale_factor=2, mode="bilinear", antialias=True),
          t(1, 2, 3, 3))
    for mode in ("bilinear", "nearest", "bicubic"):
        train(r, lambda x, g: F.grid_sample(x, g, mode=mode, align_corners=False), t(1, 1, 4, 4),
              pos(1, 2, 2, 2))
    op(r, "grid_sampler", t(1, 1, 4, 4), pos(1, 2, 2, 2), 0, 0, False)
    train(r, lambda x: F.pad(x, (1, 1), mode="reflect"), t(1, 2, 4))
    train(r, lambda x: F.pad(x, (1, 1, 1, 1), mode="replicate"), t(1, 2, 4, 4))
    train(r, lambda x: F.pixel_shuffle(x, 2), t(1, 4, 2, 2))
    train(r, lambda x: F.unfold(x, 2), t(1, 2, 4, 4))


@task
def recurrent(r):
    gates = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
    for name, count in gates.items():
        weights = [t(4 * count, 4), t(4 * count, 4), t(4 * count), t(4 * count)]
        hidden = [t(1, 2, 4), t(1, 2, 4)] if name == "lstm" else t(1, 2, 4)
        op(r, name, t(3, 2, 4), hidden, weights, True, 1, 0.0, False, False, False)
        cell = [t(2, 4), t(2, 4)] if name == "lstm" else t(2, 4)
        op(r, name + "_cell", t(2, 4), cell, *weights)
    for module in (torch.nn.LSTM(4, 4), torch.nn.GRU(4, 4), torch.nn.RNN(4, 4)):
        train(r, lambda x: module(x)[0], t(3, 2, 4))
    for module in (torch.nn.LSTMCell(4, 4), torch.nn.GRUCell(4, 4), torch.nn.RNNCell(4, 4)):
        train(r, module, t(2, 4))


@task
def grad_scaler(r):
    grads = [t(4), t(4)]
    op(r, "_amp_foreach_non_finite_check_and_unscale_", grads, torch.zeros(1), torch.ones(1))
    op(r, "_amp_update_scale_", torch.ones(1), torch.zeros(1, dtype=torch.int32), torch.zeros(1),
       2.0, 0.5, 2000)


def fused_arguments(name):
    params, grads, states = [t(4)], [t(4)], [pos(4)]
    numbers = dict(lr=1e-3, weight_decay=0.0, maximize=False)
    if name.startswith("_fused_sgd"):
        return (params, grads, states), dict(numbers, momentum=0.9, dampening=0.0, nesterov=False,
                                             is_first_step=False)
    if name.startswith("_fused_adagrad"):
        return (params, grads, states, [torch.ones(())]), dict(numbers, lr_decay=0.0, eps=1e-8)
    return ((params, grads, states, [pos(4)], [], [torch.ones(())]),
            dict(numbers, beta1=0.9, beta2=0.99, eps=1e-8, amsgrad=False))


@task
def fused_optimizers(r):
    for name in ("_fused_adam_", "_fused_adamw_", "_fused_sgd_", "_fused_adagrad_"):
        args, kwargs = fused_arguments(name)
        op(r, name, *args, **kwargs)
        op(r, name, *args, grad_scale=torch.ones(1), found_inf=torch.zeros(1), **kwargs)


OPTIMIZERS = ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam")


@task
def optimizers(r):
    for name in OPTIMIZERS:
        for options in ({"foreach": False}, {"foreach": True}):
            extra = {"momentum": 0.9} if name == "SGD" else {}
            run_optimizer(r, name, weight_decay=0.01, **dict(options, **extra))
            if name in ("SGD", "AdamW"):
                run_optimizer(r, name, weight_decay=0.0, **dict(options, **extra))


def run_optimizer(recorder, name, **options):
    params = [torch.nn.Parameter(t(4)), torch.nn.Parameter(t(2, 2))]
    try:
        optimizer = getattr(torch.optim, name)(params, lr=1e-3, **options)
        for _ in range(2):
            for param in params:
                param.grad = torch.rand_like(param)
            with recorder:
                optimizer.step()
        with recorder:
            torch.nn.utils.clip_grad_norm_(params, 1.0)
    except Exception:  # noqa: BLE001 - not in this torch
        pass


@task
def foreach(r):
    """Every aten::_foreach_ op, with arguments made up from its schema."""
    for name in sorted({s.name for s in torch._C._jit_get_all_schemas()
                        if s.name.startswith("aten::_foreach_")}):
        packet = getattr(torch.ops.aten, name[6:])
        for overload in packet.overloads():
            if overload.endswith("out"):
                continue
            call = made_up(getattr(packet, overload))
            call = None if call is None else r.if_new(call)
            if call is not None:
                r.calls.append(call.kept())


def made_up(op):
    values = {"Tensor[]": lambda: [pos(3), pos(3)], "List[Tensor]": lambda: [pos(3), pos(3)],
              "Tensor": lambda: pos(), "number": lambda: 0.5, "Scalar": lambda: 0.5,
              "List[number]": lambda: [0.5, 0.5], "bool": lambda: False}
    args, kwargs = [], {}
    for argument in op._schema.arguments:
        if argument.has_default_value():
            break
        value = values.get(str(argument.type))
        if value is None:
            return None
        if op._schema.overload_name == "Tensor" and argument.name == "scalars":
            args.append(pos(2))
        else:
            args.append(value())
    return replay.call_of(op, args, kwargs)


@task
def arithmetic(r):
    for name in ("add", "sub", "mul", "div", "maximum", "minimum", "pow", "atan2", "fmod",
                 "remainder",
                 "copysign", "hypot", "dist", "isclose", "allclose", "heaviside", "complex",
                 "polar",
                 "outer", "cross", "linalg_cross", "dot", "vdot", "linalg_vecdot", "kron", "inner"):
        vectors = name in ("outer", "dot", "vdot", "kron", "inner")
        shape = (3,) if vectors else (2, 3)
        op(r, name, pos(*shape), pos(*shape))
        if not vectors:
            op(r, name, pos(*shape), pos())
            op(r, name, pos(*shape), 2.0)
            op(r, name + "_", pos(*shape), pos(*shape))
            op(r, name + "_", pos(*shape), pos())
            op(r, name + "_", pos(*shape), 2.0)
    for name in ("add", "mul", "div", "sub"):
        op(r, name, pos(), pos())
        op(r, name, pos(), pos(3))
    for name in ("addcmul", "addcdiv"):
        op(r, name, pos(3), pos(3), pos(3))
        op(r, name + "_", pos(3), pos(3), pos(3))
    for name in ("lerp", "lerp_"):
        op(r, name, pos(3), pos(3), 0.5)
        op(r, name, pos(3), pos(3), pos(3))
    op(r, "clamp", t(3), t(3), t(3))
    op(r, "clamp", t(3), t(3))
    op(r, "quantile", t(4), pos(1))
    op(r, "histogram", t(4), torch.linspace(-1, 1, 3))
    op(r, "histc", t(4))
    op(r, "multinomial", pos(4), 2)
    op(r, "normal", t(4), pos(4))
    op(r, "bincount", ix(0, 1), pos(2))
    op(r, "trapezoid", t(4))
    op(r, "nan_to_num", t(4))
    op(r, "linalg_solve", t(3, 3) + 4 * torch.eye(3), t(3, 2))
    op(r, "linalg_inv", t(3, 3) + 4 * torch.eye(3))
    op(r, "linalg_det", t(3, 3) + 4 * torch.eye(3))
    op(r, "linalg_norm", t(3))
    op(r, "norm", t(3))
    op(r, "std", t(3))
    op(r, "var", t(3))
    op(r, "stft", t(16), 8, None, None, torch.ones(8), False, True, True)
    op(r, "fft_fft", t(8))
    op(r, "fft_rfft", t(8))


warnings.filterwarnings("ignore")
