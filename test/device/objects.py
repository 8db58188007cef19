# SPDX-License-Identifier: Apache-2.0
"""What the tests of accelerator code share: the program's answer, and other tools' on their own."""
import glob
import json
import os
import shutil
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), '..'))
from full import is_full, venv

ACCEL_PROF = os.environ["ACCEL_PROF"]
FIXTURES = os.environ["FIXTURES"]


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def need(*names):
    """The first of these tools that is here."""
    for name in names:
        found = shutil.which(name)
        if found:
            return found
    skip("no " + " or ".join(names))


def run(*command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, **options).stdout


def annotate(path, *options, **how):
    """All code objects in the file, as `annotate --json` tells them."""
    return json.loads(run(ACCEL_PROF, "annotate", "--object", path, "--json", *options, **how))


def fixture(name):
    return os.path.join(FIXTURES, name)


def fixtures(pattern):
    found = sorted(glob.glob(fixture(pattern)))
    assert found, pattern
    return found


def triton_cubins(folder):
    """Those of triton_cubins.py, made into @folder."""
    python = os.path.join(venv("triton", "triton", "numpy"), "bin/python")
    script = os.path.join(os.path.dirname(os.path.realpath(__file__)), "triton_cubins.py")
    subprocess.run([python, script, folder], check=True,
                   env={**os.environ, "TRITON_CACHE_DIR": os.path.join(folder, "cache")})
    return sorted(glob.glob(os.path.join(folder, "*.cubin")))


def amd_objects(folder):
    """Kernels for processors that only newer compilers know, made into @folder; none where there is no compiler."""
    made = []
    for cpu in "gfx942", "gfx1100", "gfx1200":
        path = os.path.join(folder, cpu + ".co")
        if shutil.which("clang-19") and subprocess.run(
                ["clang-19", "-target", "amdgcn-amd-amdhsa", "-mcpu=" + cpu, "-x", "cl", "-nogpulib",
                 "-g", "-O2", "-o", path, fixture("amd.cl")], stderr=subprocess.DEVNULL,
                check=False).returncode == 0:
            made.append(path)
    return made


def instructions(objects):
    for o in objects:
        for f in o["functions"]:
            for i in f["instructions"]:
                yield o, f, i
