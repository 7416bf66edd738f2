"""Makes what the cases need, without a network: tiny models with random weights, and pictures of noise.

    make.py WHAT FOLDER MADE SOURCE    WHAT is a function of this file, FOLDER is empty, MADE has what was made before, and SOURCE is
                                       the case's repository
"""

import io
import json
import os
import shutil
import sys

VOCABULARY = ["p h", "c a", "ca t</w>", "o f</w>", "ph o"]


def tokenizer_files(folder):
    """The files of a byte-level CLIP tokenizer of a few merges."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = plain + [256 + i for i in range(256 - len(plain))]
    signs = [chr(code) for code in letters]
    words = signs + [s + "</w>" for s in signs] + [m.replace(" ", "") for m in VOCABULARY] + ["<|startoftext|>", "<|endoftext|>"]
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/vocab.json", "w", encoding="utf-8") as file:
        json.dump({word: i for i, word in enumerate(words)}, file)
    with open(f"{folder}/merges.txt", "w", encoding="utf-8") as file:
        file.write("#version: 0.2\n" + "\n".join(VOCABULARY) + "\n")
    with open(f"{folder}/tokenizer_config.json", "w", encoding="utf-8") as file:
        json.dump({"tokenizer_class": "CLIPTokenizer", "model_max_length": 77, "bos_token": "<|startoftext|>",
                   "eos_token": "<|endoftext|>", "unk_token": "<|endoftext|>", "pad_token": "<|endoftext|>"}, file)
    return len(words)


def clip_config(words, **more):
    from transformers import CLIPTextConfig
    sizes = dict(hidden_size=32, intermediate_size=37, num_hidden_layers=5, num_attention_heads=4, projection_dim=32, hidden_act="gelu")
    sizes.update(more)
    return CLIPTextConfig(vocab_size=words, bos_token_id=words - 2, eos_token_id=words - 1, pad_token_id=words - 1,
                          max_position_embeddings=77, **sizes)


def noise(count, size):
    import torch
    from PIL import Image
    for i in range(count):
        values = torch.rand(size, size, 3, generator=torch.Generator().manual_seed(i))
        yield Image.fromarray((values * 255).byte().numpy())


def tokenizer(out, made):
    tokenizer_files(out)


def pictures(out, made):
    """Three pictures, images/, and the same with captions, captioned/."""
    for folder in ("images", "captioned"):
        os.makedirs(f"{out}/{folder}")
        for i, picture in enumerate(noise(3, 96)):
            picture.save(f"{out}/{folder}/{i}.png")
    with open(f"{out}/captioned/metadata.jsonl", "w", encoding="utf-8") as file:
        for i in range(3):
            file.write(json.dumps({"file_name": f"{i}.png", "text": "a photo of a cat"}) + "\n")


def tables(out, made):
    """The same as tables: ctrl/ with a condition, ip2p/ edited, dpo/ in pairs; and kohya/10_cat/ with captions beside."""
    from datasets import Dataset, Features, Image, Value
    pairs = list(noise(3, 96))
    caption = ["a photo of a cat"] * 3

    def save(name, features, columns):
        os.makedirs(f"{out}/{name}")
        Dataset.from_dict(columns, features=Features(features)).to_parquet(f"{out}/{name}/train.parquet")

    save("ctrl", {"image": Image(), "conditioning_image": Image(), "text": Value("string")},
         {"image": pairs, "conditioning_image": pairs[::-1], "text": caption})
    save("ip2p", {"input_image": Image(), "edited_image": Image(), "edit_prompt": Value("string")},
         {"input_image": pairs, "edited_image": pairs[::-1], "edit_prompt": caption})

    def encoded(picture):
        file = io.BytesIO()
        picture.save(file, "PNG")
        return file.getvalue()

    save("dpo", {"jpg_0": Value("binary"), "jpg_1": Value("binary"), "label_0": Value("float64"), "caption": Value("string")},
         {"jpg_0": [encoded(p) for p in pairs], "jpg_1": [encoded(p) for p in pairs[::-1]], "label_0": [1.0, 0.0, 1.0], "caption": caption})
    os.makedirs(f"{out}/kohya/10_cat")
    for i, picture in enumerate(pairs):
        picture.resize((256, 256)).save(f"{out}/kohya/10_cat/{i}.png")
        with open(f"{out}/kohya/10_cat/{i}.txt", "w", encoding="utf-8") as file:
            file.write(caption[0])


def sdxl(out, made):
    """A tiny SDXL, model/, and side networks that fit it: controlnet/, adapter/."""
    import torch
    from diffusers import (AutoencoderKL, ControlNetModel, EulerDiscreteScheduler, StableDiffusionXLPipeline, T2IAdapter,
                           UNet2DConditionModel)
    from transformers import CLIPTextModel, CLIPTextModelWithProjection, CLIPTokenizer
    words = tokenizer_files(f"{out}/tokenizer")
    tok = CLIPTokenizer.from_pretrained(f"{out}/tokenizer")
    torch.manual_seed(0)
    unet = UNet2DConditionModel(
        block_out_channels=(32, 64), layers_per_block=2, sample_size=32, in_channels=4, out_channels=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        attention_head_dim=(2, 4), use_linear_projection=True, addition_embed_type="text_time", addition_time_embed_dim=8,
        transformer_layers_per_block=(1, 2), projection_class_embeddings_input_dim=80, cross_attention_dim=64)
    vae = AutoencoderKL(block_out_channels=(32, 64), in_channels=3, out_channels=3, latent_channels=4, sample_size=128,
                        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2, scaling_factor=0.13025,
                        force_upcast=True)
    scheduler = EulerDiscreteScheduler(beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear", steps_offset=1,
                                       timestep_spacing="leading")
    StableDiffusionXLPipeline(vae=vae, text_encoder=CLIPTextModel(clip_config(words)),
                              text_encoder_2=CLIPTextModelWithProjection(clip_config(words)), tokenizer=tok, tokenizer_2=tok, unet=unet,
                              scheduler=scheduler).save_pretrained(f"{out}/model")
    ControlNetModel.from_unet(unet, conditioning_embedding_out_channels=(16, 32)).save_pretrained(f"{out}/controlnet")
    T2IAdapter(in_channels=3, channels=(32, 64, 64, 64), num_res_blocks=2, downscale_factor=4,
               adapter_type="full_adapter_xl").save_pretrained(f"{out}/adapter")


def sd15(out, made):
    """A tiny Stable Diffusion 1.5."""
    import torch
    from diffusers import AutoencoderKL, DDPMScheduler, StableDiffusionPipeline, UNet2DConditionModel
    from transformers import CLIPTextModel, CLIPTokenizer
    words = tokenizer_files(f"{out}/tok")
    torch.manual_seed(0)
    unet = UNet2DConditionModel(
        block_out_channels=(32, 64), layers_per_block=2, sample_size=32, in_channels=4, out_channels=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=32, attention_head_dim=8)
    vae = AutoencoderKL(block_out_channels=(32, 64), in_channels=3, out_channels=3, latent_channels=4, sample_size=128,
                        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2)
    scheduler = DDPMScheduler(beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear", num_train_timesteps=1000, clip_sample=False)
    StableDiffusionPipeline(vae=vae, text_encoder=CLIPTextModel(clip_config(words)), tokenizer=CLIPTokenizer.from_pretrained(f"{out}/tok"),
                            unet=unet, scheduler=scheduler, safety_checker=None, feature_extractor=None,
                            requires_safety_checker=False).save_pretrained(f"{out}/model")


def unet(out, made):
    """The configuration of a tiny U-Net without a text."""
    from diffusers import UNet2DModel
    UNet2DModel(sample_size=32, in_channels=3, out_channels=3, layers_per_block=1, block_out_channels=(32, 64),
                down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D")).save_config(out)


def with_old_names(folder):
    """Text encoders as transformers before 5.6 wrote them: weights below text_model., and the files of a slow tokenizer."""
    from safetensors.torch import load_file, save_file
    for name in ("model", "model.fp16"):
        path = f"{folder}/text_encoder/{name}.safetensors"
        if os.path.exists(path):
            weights = {k if k.startswith("text_model.") else "text_model." + k: v for k, v in load_file(path).items()}
            save_file(weights, path, {"format": "pt"})
    for part in ("tokenizer", "tokenizer_2"):
        if os.path.exists(f"{folder}/{part}/tokenizer.json"):
            os.remove(f"{folder}/{part}/tokenizer.json")
        tokenizer_files(f"{folder}/{part}")


def sdxl_old(out, made):
    """The tiny SDXL as older versions of transformers wrote it, model/."""
    shutil.copytree(f"{made}/sdxl/model", f"{out}/model")
    with_old_names(f"{out}/model")


def kohya(out, made):
    """A narrow SDXL that the fixed U-Net of sd-scripts takes with MODEL_CHANNELS 64, and its tokenizers."""
    import torch
    from diffusers import AutoencoderKL, EulerDiscreteScheduler, StableDiffusionXLPipeline, UNet2DConditionModel
    from transformers import CLIPTextModel, CLIPTextModelWithProjection, CLIPTokenizer
    words = tokenizer_files(f"{out}/tok")
    tok = CLIPTokenizer.from_pretrained(f"{out}/tok")
    torch.manual_seed(0)
    unet = UNet2DConditionModel(
        block_out_channels=(64, 128, 256), layers_per_block=2, sample_size=32, in_channels=4, out_channels=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"), attention_head_dim=(1, 2, 4),
        use_linear_projection=True, addition_embed_type="text_time", addition_time_embed_dim=256, transformer_layers_per_block=(1, 2, 10),
        projection_class_embeddings_input_dim=2816, cross_attention_dim=2048)
    vae = AutoencoderKL(block_out_channels=(32,) * 4, in_channels=3, out_channels=3, latent_channels=4, sample_size=256,
                        scaling_factor=0.13025, down_block_types=("DownEncoderBlock2D",) * 4, up_block_types=("UpDecoderBlock2D",) * 4)

    def encoder(kind, hidden, layers, heads):
        return kind(clip_config(words, hidden_size=hidden, intermediate_size=64, num_hidden_layers=layers, num_attention_heads=heads,
                                projection_dim=hidden, hidden_act="quick_gelu"))

    pipe = StableDiffusionXLPipeline(vae=vae, text_encoder=encoder(CLIPTextModel, 768, 12, 12),
                                     text_encoder_2=encoder(CLIPTextModelWithProjection, 1280, 2, 20), tokenizer=tok, tokenizer_2=tok,
                                     unet=unet, scheduler=EulerDiscreteScheduler(beta_schedule="scaled_linear"))
    pipe.save_pretrained(f"{out}/model")
    pipe.to(torch.float16)
    pipe.save_pretrained(f"{out}/model", variant="fp16")
    with_old_names(f"{out}/model")
    for name in ("openai_clip-vit-large-patch14", "laion_CLIP-ViT-bigG-14-laion2B-39B-b160k"):
        tokenizer_files(f"{out}/tokenizers/{name}")


def gpt2(out, made):
    """A tiny GPT-2 with a tokenizer of bytes, in Float, Half and BFloat16, and rows to train it on."""
    import torch
    from tokenizers import ByteLevelBPETokenizer
    from transformers import GPT2Config, GPT2LMHeadModel, GPT2TokenizerFast
    text = "the cat sat on the mat and the dog ran to the cat. where is it? " * 200
    rows = {"text": [{"text": f"the cat sat on mat {i} and the dog ran to the cat"} for i in range(64)],
            "pairs": [{"prompt": f"where is cat {i}?", "chosen": "on the mat", "rejected": "the dog ran"} for i in range(32)],
            "alpaca": [{"instruction": f"where is cat {i}?", "input": "", "output": "on the mat"} for i in range(32)]}
    for name, all_rows in rows.items():
        os.makedirs(f"{out}/{name}")
        with open(f"{out}/{name}/train.jsonl", "w", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in all_rows)
    tokens = ByteLevelBPETokenizer()
    tokens.train_from_iterator([text], vocab_size=300, special_tokens=["<|endoftext|>"])
    tokens.save(f"{out}/tokens.json")
    fast = GPT2TokenizerFast(tokenizer_file=f"{out}/tokens.json", bos_token="<|endoftext|>", eos_token="<|endoftext|>",
                             unk_token="<|endoftext|>", pad_token="<|endoftext|>")
    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=len(fast), n_positions=512, n_embd=32, n_layer=2, n_head=2,
                                       bos_token_id=0, eos_token_id=0, pad_token_id=0))
    for name, dtype in (("float32", torch.float32), ("float16", torch.float16), ("bfloat16", torch.bfloat16)):
        model.to(dtype).save_pretrained(f"{out}/{name}")
        fast.save_pretrained(f"{out}/{name}")


def bert(out, made):
    """A tiny BERT with a tokenizer of words, and sentences of two classes, and pairs of them with a score."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "dog", "sat", "ran", "on", "mat", "good", "bad", "a", "was"]
    with open(f"{out}/vocab.txt", "w", encoding="utf-8") as file:
        file.write("\n".join(words))
    tok = BertTokenizerFast(vocab_file=f"{out}/vocab.txt")
    torch.manual_seed(0)
    model = BertForSequenceClassification(BertConfig(vocab_size=len(words), hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
                                                     intermediate_size=64, max_position_embeddings=64))
    for name, dtype in (("float32", torch.float32), ("float16", torch.float16), ("bfloat16", torch.bfloat16)):
        model.to(dtype).save_pretrained(f"{out}/{name}")
        tok.save_pretrained(f"{out}/{name}")
    for name in ("train", "dev"):
        with open(f"{out}/{name}.csv", "w", encoding="utf-8") as file:
            file.write("sentence1,label\n")
            for i in range(32):
                file.write(f"the {'cat' if i % 3 else 'dog'} was {'good' if i % 2 else 'bad'},{i % 2}\n")
        with open(f"{out}/{name}.pairs.csv", "w", encoding="utf-8") as file:
            file.write("sentence1,sentence2,score\n")
            for i in range(32):
                file.write(f"the cat was good,the dog was {'good' if i % 2 else 'bad'},{i % 2}.0\n")


def many(out, made):
    """A hundred small pictures."""
    for i, picture in enumerate(noise(100, 32)):
        picture.save(f"{out}/{i}.png")


def folders(out, made):
    """Pictures in a folder for each of two classes, train/ and val/."""
    for part in ("train", "val"):
        for name in ("cat", "dog"):
            os.makedirs(f"{out}/{part}/{name}")
            for i, picture in enumerate(noise(8, 64)):
                picture.save(f"{out}/{part}/{name}/{i}.png")


def digits(out, count):
    """Pictures of noise in MNIST's files, as many as MNIST has where count is None."""
    import numpy
    os.makedirs(f"{out}/MNIST/raw")
    for part, size in (("train", count or 60000), ("t10k", (count or 40000) // 4)):
        values = numpy.random.default_rng(size)
        for name, shape in (("images-idx3", (size, 28, 28)), ("labels-idx1", (size,))):
            data = values.integers(0, 256 if len(shape) > 1 else 10, shape).astype("uint8")
            head = bytes([0, 0, 8, len(shape)]) + b"".join(n.to_bytes(4, "big") for n in shape)
            with open(f"{out}/MNIST/raw/{part}-{name}-ubyte", "wb") as file:
                file.write(head + data.tobytes())


def mnist(out, made):
    digits(out, None)


def mnist_small(out, made):
    digits(out, 256)


def words(out, made):
    """A text in three parts, as word_language_model reads it, and input.txt."""
    text = "the cat sat on the mat and the dog ran to the cat .\n" * 40
    for name in ("train", "valid", "test"):
        with open(f"{out}/{name}.txt", "w", encoding="utf-8") as file:
            file.write(text)
    with open(f"{out}/input.txt", "w", encoding="utf-8") as file:
        file.write(text)


def tokens(out, made):
    """A text as nanoGPT's trainer reads it."""
    import numpy
    for part in ("train", "val"):
        numpy.random.default_rng(0).integers(0, 64, 20000).astype("uint16").tofile(f"{out}/{part}.bin")


def apex_norm(out, made, source):
    """Apex' fused norms, compiled by NVIDIA's compiler from PyPI. They run on a pretended GPU, so any architecture serves."""
    import nvidia.cu13
    homes = list(nvidia.cu13.__path__)
    home = next(path for path in homes if os.path.exists(f"{path}/bin/nvcc"))
    os.makedirs(f"{out}/lib")
    os.symlink(f"{home}/lib/libcudart.so.13", f"{out}/lib/libcudart.so")
    os.environ.update(CUDA_HOME=home, TORCH_CUDA_ARCH_LIST="8.0", MAX_JOBS="1")
    from torch.utils.cpp_extension import load
    load("fused_layer_norm_cuda", [f"{source}/csrc/layer_norm_cuda.cpp", f"{source}/csrc/layer_norm_cuda_kernel.cu"],
         extra_include_paths=[f"{path}/{part}" for path in homes for part in ("include", "include/cccl")],
         extra_cuda_cflags=["-O1"], extra_ldflags=[f"-L{out}/lib"], build_directory=out, is_python_module=False)


def pixart(out, made):
    """A tiny PixArt pipeline, with a T5 and its tokenizer, in pixart/."""
    import sentencepiece
    import torch
    from diffusers import AutoencoderKL, DPMSolverMultistepScheduler, PixArtAlphaPipeline, PixArtTransformer2DModel
    from transformers import T5Config, T5EncoderModel, T5Tokenizer
    with open(f"{out}/text", "w", encoding="utf-8") as file:
        file.write("a photo of a cat on a mat in the shade of a tree\n" * 50)
    sentencepiece.SentencePieceTrainer.train(input=f"{out}/text", model_prefix=f"{out}/t5", vocab_size=40, hard_vocab_limit=False,
                                             pad_id=0, eos_id=1, unk_id=2, bos_id=-1, minloglevel=2)
    torch.manual_seed(0)
    text_encoder = T5EncoderModel(T5Config(vocab_size=128, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4,
                                           feed_forward_proj="gated-gelu"))
    transformer = PixArtTransformer2DModel(
        sample_size=32, num_layers=2, patch_size=2, attention_head_dim=8, num_attention_heads=4, caption_channels=32, in_channels=4,
        cross_attention_dim=32, out_channels=8, activation_fn="gelu-approximate", norm_type="ada_norm_single",
        norm_elementwise_affine=False)
    blocks = dict(block_out_channels=(8,) * 4, down_block_types=("DownEncoderBlock2D",) * 4, up_block_types=("UpDecoderBlock2D",) * 4)
    vae = AutoencoderKL(latent_channels=4, norm_num_groups=4, sample_size=256, **blocks)
    PixArtAlphaPipeline(tokenizer=T5Tokenizer(f"{out}/t5.model", extra_ids=0), text_encoder=text_encoder, transformer=transformer,
                        vae=vae, scheduler=DPMSolverMultistepScheduler()).save_pretrained(f"{out}/pixart")


if __name__ == "__main__":
    what = globals()[sys.argv[1].replace("-", "_")]
    what(*sys.argv[2:2 + what.__code__.co_argcount])
