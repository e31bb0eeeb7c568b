"""The base model of a training: its folder, its digest, its tokenizer and weights. Nothing is downloaded without
permission. Only safetensors are read, and no code of a model is run, because a model's files are untrusted.
"""

import os
import re
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from platform import python_version
from typing import Any

from openclawbench.base.canonical_json import canonical_json, sha256_text
from openclawbench.base.resources import how_to_install_apart
from openclawbench.detect.training.recipe import Recipe
from openclawbench.errors import MissingExtra, UnreadableInput, UsageError
from openclawbench.storage.data_folder import sha256_file

PACKAGES = ("torch", "transformers", "peft", "trl", "accelerate", "datasets", "tokenizers", "safetensors")
NEEDED = ("torch", "transformers", "peft", "trl")
FILES = ("*.json", "*.safetensors", "*.jinja", "*.model", "*.txt")  # of a model's folder
OFFLINE = {  # settings of the Hub's libraries; they read them as they are imported
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TOKENIZERS_PARALLELISM": "false",
}


def require_packages() -> None:
    """Raises MissingExtra where the extra `train` is not installed."""
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        raise MissingExtra(f"detect train needs {', '.join(missing)}. {how_to_install_apart('train')}.")


def quiet_libraries() -> None:
    """Turn off the progress bars and warnings of the libraries. What matters is an error of this program."""
    import warnings

    from transformers.utils import logging

    warnings.filterwarnings("ignore", category=FutureWarning)
    logging.disable_progress_bar()
    logging.set_verbosity_error()


def versions() -> list[dict[str, str]]:
    """Python and the packages that decide the numbers."""
    return [
        {"name": "python", "version": python_version()},
        *({"name": name, "version": version(name)} for name in PACKAGES),
    ]


def find_base(name: str, may_download: bool) -> Path:
    """The folder of a base model: `name` itself, or the copy of a Hub's model on this machine, which is downloaded only
    if allowed. Raises UsageError and UnreadableInput."""
    folder = Path(name)
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            raise UnreadableInput(f"{folder}: has no config.json, so it is not a model. Name the folder of a model.")
        return folder
    if folder.is_absolute() or name.startswith(".") or name.count("/") != 1:
        raise UnreadableInput(f"--model {name}: there is no such folder. Name the folder of a model, or OWNER/NAME.")
    if not may_download:
        for setting, value in OFFLINE.items():
            os.environ.setdefault(setting, value)
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, allow_patterns=list(FILES), local_files_only=not may_download))
    except LocalEntryNotFoundError as error:
        raise UsageError(
            f"--model {name}: is not on this machine. Download it beforehand, or allow it: --allow-download."
        ) from error
    except (HfHubHTTPError, OSError) as error:
        first = str(error).partition("\n")[0]
        raise UnreadableInput(f"--model {name}: cannot be downloaded: {first}. Name a folder instead.") from error


def base_digest(folder: Path) -> str:
    """sha256 over names and digests of a model's files."""
    names = sorted({path.name for pattern in FILES for path in folder.glob(pattern)})
    return sha256_text(canonical_json([[name, sha256_file(folder / name)] for name in names]))


def load_tokenizer(folder: Path) -> Any:
    """The tokenizer of a model. Raises UnreadableInput."""
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise UnreadableInput(f"{folder}: its tokenizer cannot be read: {first_line(error)}") from error
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    if tokenizer.pad_token is None:
        raise UnreadableInput(f"{folder}: its tokenizer has neither a padding nor an end token, and one is needed.")
    return tokenizer


def load_model(folder: Path, dtype: str) -> Any:
    """The weights of a causal language model, on the accelerator if there is one. Raises UnreadableInput."""
    import torch
    from transformers import AutoModelForCausalLM

    from openclawbench.detect.training.trainer import DTYPES

    try:
        model = AutoModelForCausalLM.from_pretrained(
            folder, dtype=DTYPES[dtype], local_files_only=True, trust_remote_code=False, use_safetensors=True
        )
    except (OSError, ValueError, KeyError) as error:
        raise UnreadableInput(f"{folder}: its weights cannot be read: {first_line(error)}") from error
    if torch.cuda.is_available():
        model = model.to(torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0"))))
    return model


def with_new_adapter(model: Any, recipe: Recipe) -> Any:
    """The model with an untrained adapter. Raises UsageError where the recipe names modules that it does not have."""
    from peft import LoraConfig, get_peft_model
    from transformers import set_seed

    lora = recipe.lora
    excluded = [name for name, _ in model.named_modules() if re.fullmatch(lora.exclude_modules, name)]
    set_seed(recipe.balance.seed)
    config = LoraConfig(
        r=lora.r,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules=list(lora.target_modules),
        exclude_modules=lora.exclude_modules if excluded else None,
        task_type="CAUSAL_LM",
    )
    try:
        return get_peft_model(model, config)
    except ValueError as error:
        raise UsageError(f"lora.target_modules of the recipe do not fit the model: {first_line(error)}") from error


def with_adapter(model: Any, adapter: Path, is_trainable: bool) -> Any:
    """The model with a saved adapter."""
    from peft import PeftModel

    return PeftModel.from_pretrained(model, adapter, is_trainable=is_trainable, local_files_only=True)


def first_line(error: Exception) -> str:
    """The first line of a library's message, ended."""
    return str(error).strip().partition("\n")[0].rstrip(".") + "."
