"""Your own TRL script, made visible: the three lines at the end.

Two short steps on the default model with two of the dictionaries that come with Sonde. Everything
is written to the trainer's output_dir; `sonde serve` shows it while it grows.
"""

from pathlib import Path

from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from sonde.backends.torch.loading.load import load_model
from sonde.sae import shipped
from sonde.sae.load import load_autoencoder
from sonde.training import SidecarCallback

policy = load_model("smollm2", device="cpu")
prompts = ["The Eiffel Tower is in the city of", "The Colosseum is in the city of"]


def shortness(completions: list[str], **_: object) -> list[float]:
    """Any TRL reward function will do."""
    return [1 / (1 + len(completion.split())) for completion in completions]


trainer = GRPOTrainer(
    model=policy.model.requires_grad_(True),
    reward_funcs=shortness,
    args=GRPOConfig(
        output_dir="own-run",
        per_device_train_batch_size=4,
        num_generations=4,
        max_completion_length=8,
        max_steps=2,
        learning_rate=1e-5,
        bf16=False,
        use_cpu=True,
        gradient_checkpointing=False,
        report_to="none",
        save_strategy="no",
    ),
    train_dataset=Dataset.from_dict({"prompt": prompts}),
    processing_class=policy.tokenizer,
)

saes = {layer: load_autoencoder(shipped.find(str(layer))) for layer in (0, 15)}
sidecar = SidecarCallback(saes)
sidecar.attach(trainer)
trainer.train()

for path in sorted(Path("own-run").glob("*.jsonl")):
    print(f"{path}: {len(path.read_text().splitlines())} lines")
