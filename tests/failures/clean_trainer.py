# transformers' Trainer in Float, and under autocast in BFloat16 with Float weights: nothing to find.
# EXIT 0
import tempfile

import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments


class Sentences(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, index):
        ids = torch.randint(0, 60, (7,), generator=torch.Generator().manual_seed(index))
        return {"input_ids": ids, "attention_mask": (ids > 5).long(), "labels": torch.tensor(index % 3)}


config = BertConfig(vocab_size=60, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
                    max_position_embeddings=16, num_labels=3)
for bf16 in (False, True):
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(folder, use_cpu=True, bf16=bf16, max_steps=3, per_device_train_batch_size=2,
                                      gradient_accumulation_steps=2, eval_strategy="steps", eval_steps=2,
                                      logging_steps=1, save_strategy="no", report_to=[], disable_tqdm=True)
        trainer = Trainer(model=BertForSequenceClassification(config), args=arguments, train_dataset=Sentences(),
                          eval_dataset=Sentences())
        print(trainer.train().training_loss)
