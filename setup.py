"""What pyproject.toml cannot say: files that stand beside the package in the checkout are within it in a wheel.

An editable installation reads them where they are (pipeline/openclawbench/base/resources.py looks in both places).
"""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

PACKAGE = "openclawbench"
ROOT = Path(__file__).parent
INSIDE = "_resources"
FOLDERS = {"prompts": ROOT / "prompts", "schemas": ROOT / "schemas", "example": ROOT / "data" / "example"}


class WithResources(build_py):
    """Copies the folders into the package that is built; one of a former build is not left beside them."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            inside = Path(self.build_lib) / PACKAGE / INSIDE
            shutil.rmtree(inside, ignore_errors=True)
            for name, folder in FOLDERS.items():
                shutil.copytree(folder, inside / name)

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        inside = Path(self.build_lib) / PACKAGE / INSIDE
        return [*super().get_outputs(include_bytecode), *(str(path) for path in inside.rglob("*") if path.is_file())]


setup(cmdclass={"build_py": WithResources})
