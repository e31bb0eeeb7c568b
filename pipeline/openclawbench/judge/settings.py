"""Settings of asking: how a language model is asked. No setting changes an answer or is part of a key."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeFloat, PositiveFloat, PositiveInt, ValidationError

from openclawbench.errors import UsageError

Transport = Literal["aiohttp", "openai"]


class AskingSettings(BaseModel):
    """Settings of asking; None if nothing is set."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    base_url: str | None = None
    concurrency: PositiveInt | None = None
    rpm: PositiveFloat | None = None
    tpm: PositiveFloat | None = None
    budget_usd: NonNegativeFloat | None = None
    budget_tokens: Annotated[int, Field(ge=0)] | None = None
    price_in: NonNegativeFloat | None = None
    price_out: NonNegativeFloat | None = None
    price_cached: NonNegativeFloat | None = None
    transport: Transport | None = None
    batch: bool | None = None
    batch_files: Path | None = None

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "AskingSettings":
        """Checked settings. Raises UsageError with the name of an invalid one."""
        try:
            return cls.model_validate({name: value for name, value in values.items() if value is not None})
        except ValidationError as error:
            first = error.errors()[0]
            name = ".".join(map(str, first["loc"]))
            raise UsageError(f"{name} {first['input']!r}: {first['msg']}. Correct the setting.") from error
