"""Three steps of Lightning with weights in BFloat16, which its Trainer was asked for."""
import lightning
import torch


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def training_step(self, batch, _):
        x, y = batch
        return torch.nn.functional.mse_loss(self.layer(x.to(self.layer.weight.dtype)).float(), y.float())

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-6)


rows = torch.utils.data.TensorDataset(torch.randn(12, 4), torch.randn(12, 1))
lightning.Trainer(accelerator="cpu", precision="bf16-true", max_epochs=1, logger=False, enable_checkpointing=False,
                  enable_progress_bar=False, enable_model_summary=False).fit(Model(), torch.utils.data.DataLoader(rows, batch_size=4))
