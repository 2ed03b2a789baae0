"""Metric files and printed tables of trainers that log memory: Transformers, Lightning, TensorBoard.

usage: trainers.py FOLDER
"""
import sys

import torch
from torch import nn


def transformers_trainer(folder):
    from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

    class Rows(torch.utils.data.Dataset):
        def __len__(self):
            return 64

        def __getitem__(self, at):
            ids = torch.randint(0, 1000, (128,))
            return {"input_ids": ids, "labels": ids}

    model = GPT2LMHeadModel(GPT2Config(vocab_size=1000, n_embd=256, n_layer=4, n_head=4))
    args = TrainingArguments(output_dir=folder + "/hf", max_steps=10, per_device_train_batch_size=8, logging_steps=2,
                             skip_memory_metrics=False, report_to=[], save_strategy="no")
    trainer = Trainer(model=model, args=args, train_dataset=Rows(), eval_dataset=Rows())
    result = trainer.train()
    trainer.log_metrics("train", result.metrics)
    trainer.save_metrics("train", result.metrics)
    metrics = trainer.evaluate()
    trainer.log_metrics("eval", metrics)
    trainer.save_metrics("eval", metrics)


def lightning(folder):
    import lightning
    from lightning.pytorch.callbacks import DeviceStatsMonitor
    from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger

    class Small(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 1024))

        def training_step(self, batch, index):
            loss = self.net(batch[0]).square().mean()
            self.log("train_loss", loss)
            return loss

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters())

    rows = torch.utils.data.TensorDataset(torch.randn(2048, 1024))
    trainer = lightning.Trainer(max_steps=12, log_every_n_steps=2, callbacks=[DeviceStatsMonitor()],
                                logger=[CSVLogger(folder, name="csv"), TensorBoardLogger(folder, name="tb")],
                                enable_checkpointing=False, enable_progress_bar=False)
    trainer.fit(Small(), torch.utils.data.DataLoader(rows, batch_size=128))


def torch_profiler(folder):
    from torch.profiler import ProfilerActivity, profile
    net = nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 1024)).cuda()
    optimizer = torch.optim.AdamW(net.parameters())
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], profile_memory=True, record_shapes=True,
                 with_stack=True) as prof:
        for _ in range(3):
            optimizer.zero_grad()
            net(torch.randn(512, 1024, device="cuda")).sum().backward()
            optimizer.step()
            prof.step()
    prof.export_chrome_trace(folder + "/kineto.json.gz")
    prof.export_memory_timeline(folder + "/timeline.raw.json.gz", device="cuda:0")
    print(prof.key_averages().table(sort_by="self_cuda_memory_usage", row_limit=10))


def main():
    for job in (transformers_trainer, lightning, torch_profiler):
        try:
            job(sys.argv[1])
        except Exception as error:  # the others are wanted all the same
            print(f"# {job.__name__}: {type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
