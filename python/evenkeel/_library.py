# SPDX-License-Identifier: Apache-2.0
"""Loads the operators into torch, once.

EVENKEEL_OPS names the library of a build (`./ek python` sets it). Without it, it is the one of this package,
which is compiled for one version of torch.
"""
import os
import pathlib

VERSION = "0.2.0"
WANTED_TORCH = "2.13"
NAME = "libevenkeel_ops.so"


def check_torch(version: str, wanted: str = WANTED_TORCH) -> None:
    """Raises `ImportError` where a version of torch is not the one that the library was compiled for."""
    if version.split(".")[:2] != wanted.split("."):
        raise ImportError(f'evenkeel: wanted torch {wanted}, but found torch {version}; '
                          f'run: pip install "torch=={wanted}.*"')


def library() -> pathlib.Path:
    """The path of the operators. `ImportError` where the package has none."""
    named = os.environ.get("EVENKEEL_OPS")
    path = pathlib.Path(named) if named else pathlib.Path(__file__).with_name(NAME)
    if not path.is_file():
        raise ImportError(f"evenkeel: wanted the operators in {path}, but found no such file; "
                          "install the wheel, or start Python with ./ek python")
    return path


def load() -> None:
    """Makes `torch.ops.evenkeel` complete; a second call changes nothing."""
    try:
        import torch
    except (ImportError, OSError) as error:  # OSError: a library of torch is missing
        raise ImportError(f'evenkeel: wanted the package torch {WANTED_TORCH}, but importing it failed: {error}; '
                          f'run: pip install "torch=={WANTED_TORCH}.*"') from error
    if hasattr(torch.ops.evenkeel, "rms_norm"):
        return
    if not os.environ.get("EVENKEEL_OPS"):
        check_torch(torch.__version__)
    path = library()
    try:
        torch.ops.load_library(str(path))
    except OSError as error:
        reason = str(error).splitlines()[0]
        raise ImportError(f"evenkeel: {path} does not fit torch {torch.__version__}: {reason}") from error
