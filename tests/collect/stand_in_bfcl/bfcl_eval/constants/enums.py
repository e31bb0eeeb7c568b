"""Styles of models."""

import enum


class ModelStyle(enum.Enum):
    OPENAI_COMPLETIONS = 1
