"""Numbers of rule files and their ranges; a number outside its range is an error."""

from typing import Annotated

from pydantic import Field

UnitInterval = Annotated[float, Field(ge=0, le=1)]
Amount = Annotated[float, Field(ge=0)]  # seconds, USD, tokens per byte: never negative
Count = Annotated[int, Field(ge=0)]
AtLeastOne = Annotated[int, Field(ge=1)]
MoreThanNothing = Annotated[float, Field(gt=0)]
ExitStatus = Annotated[int, Field(ge=-(2**31), lt=2**32)]  # negative: a signal; Windows has large ones
HttpStatus = Annotated[int, Field(ge=100, le=599)]
