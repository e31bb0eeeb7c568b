"""Is each of the six symbols a single token of a model's tokenizer (paper section 5: a single-token label)?"""

from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openclawbench.base.resources import how_to_install
from openclawbench.detect.settings import DetectRules
from openclawbench.errors import MissingExtra, UnreadableInput

if TYPE_CHECKING:
    from collections.abc import Callable

FILE = "tokenizer.json"


@dataclass(frozen=True)
class SymbolTokens:
    """The tokens that a symbol becomes: where it begins an answer, and with a blank before it, as some chat templates
    leave one."""

    symbol: str
    label: str
    tokens: list[int]
    after_blank: list[int]

    @property
    def is_single(self) -> bool:
        """True if it is one token where it begins an answer."""
        return len(self.tokens) == 1


@dataclass(frozen=True)
class TokenizerCheck:
    """The result for a tokenizer. `alike`: symbols whose first token another symbol has too, so that the probability of
    the first token cannot tell them apart."""

    path: Path
    symbols: list[SymbolTokens]
    alike: list[str]

    @property
    def is_good(self) -> bool:
        """True if every symbol is a single token of its own."""
        return not self.alike and all(symbol.is_single for symbol in self.symbols)

    @property
    def sentence(self) -> str:
        """The result in words."""
        split_symbols = [row.symbol for row in self.symbols if not row.is_single]
        parts = [f"{' '.join(split_symbols)}: not a single token"] if split_symbols else []
        parts += [f"{' '.join(self.alike)}: begin with the same token"] if self.alike else []
        if not parts:
            return "each of the six symbols is a single token of its own"
        return (
            f"{'; '.join(parts)}. The probabilities of the first token do not tell the labels apart: take --protocol "
            "json, or other symbols in detect.toml."
        )

    def data(self) -> dict[str, Any]:
        """The check as plain data."""
        rows = [{**asdict(symbol), "is_single": symbol.is_single} for symbol in self.symbols]
        return {"tokenizer": str(self.path), "is_good": self.is_good, "symbols": rows, "alike": self.alike}


def tokenizer_file(path: Path) -> Path:
    """The file that a path means: itself, or the tokenizer of a model's folder."""
    return path / FILE if path.is_dir() else path


def load_tokenizer(path: Path) -> Any:
    """The tokenizer in a tokenizer.json, or in the folder that holds one. Raises MissingExtra and UnreadableInput."""
    if find_spec("tokenizers") is None:
        raise MissingExtra(f"tokenizers is not installed. {how_to_install('detect')}.")
    from tokenizers import Tokenizer

    file = tokenizer_file(path)
    if not file.is_file():
        raise UnreadableInput(f"{file}: does not exist. Name a {FILE}, or the folder of a model that has one.")
    try:
        return Tokenizer.from_buffer(file.read_bytes())
    except (OSError, ValueError) as error:
        raise UnreadableInput(f"{file}: is not a tokenizer: {error}. Name a {FILE}.") from error


def token_counter(tokenizer: Any) -> "Callable[[str], int]":
    """A counter of a text's tokens, for packets."""
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


def check_tokenizer(path: Path, rules: DetectRules) -> TokenizerCheck:
    """Check the symbols against a tokenizer. Raises as load_tokenizer does."""
    tokenizer = load_tokenizer(path)

    def ids(text: str) -> list[int]:
        return list(tokenizer.encode(text, add_special_tokens=False).ids)

    symbols = [SymbolTokens(symbol, label, ids(symbol), ids(f" {symbol}")) for symbol, label in rules.symbols.items()]
    first = [symbol.tokens[0] for symbol in symbols if symbol.tokens]
    alike = [symbol.symbol for symbol in symbols if symbol.tokens and first.count(symbol.tokens[0]) > 1]
    return TokenizerCheck(path, symbols, alike)
