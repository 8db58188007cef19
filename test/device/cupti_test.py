# SPDX-License-Identifier: Apache-2.0
"""Lines of cubins: CUPTI, which reads the same tables, must say the same of every instruction.

Needs libcupti and no GPU. With nvcc it also builds cubins for many architectures and options."""
import concurrent.futures
import ctypes
import os
import shutil
import tempfile
import unittest

import objects

CUDA = os.environ.get("CUDA_HOME", "/usr/local/cuda")
NVCC = shutil.which("nvcc") or shutil.which(os.path.join(CUDA, "bin", "nvcc"))


class Params(ctypes.Structure):
    """CUpti_GetSassToSourceCorrelationParams of cupti_pcsampling.h."""
    _fields_ = [("size", ctypes.c_size_t), ("cubin", ctypes.c_char_p),
                ("function", ctypes.c_char_p), ("cubin_size", ctypes.c_size_t),
                ("line", ctypes.c_uint32), ("pc", ctypes.c_uint64),
                ("file", ctypes.c_void_p), ("folder", ctypes.c_void_p)]


def load():
    for name in (os.path.join(CUDA, "lib64/libcupti.so"), "libcupti.so",
                 os.path.join(CUDA, "extras/CUPTI/lib64/libcupti.so")):
        try:
            return ctypes.CDLL(name)
        except OSError:
            pass
    objects.skip("no libcupti")


CUPTI = load()
LIBC = ctypes.CDLL(None)


def text(pointer):
    if not pointer:
        return ""
    value = ctypes.string_at(pointer).decode()
    LIBC.free(ctypes.c_void_p(pointer))
    return value


def ask(cubin, function, pc):
    p = Params(ctypes.sizeof(Params), cubin, function.encode(), len(cubin), 0, pc, None, None)
    if CUPTI.cuptiGetSassToSourceCorrelation(ctypes.byref(p)):
        return None
    file = text(p.file)
    folder = text(p.folder)
    return os.path.normpath(os.path.join(folder, file)) if file else "", p.line


# Architectures and options that CUDA 13 has.
ARCHES = "75", "80", "86", "87", "89", "90", "90a", "100", "103", "110", "120"
OPTIONS = {"lineinfo": ["-lineinfo"], "debug": ["-G"]}


def build(job):
    name, folder, arch, options = job
    out = os.path.join(folder, "%s-%s-%s.cubin" % (name, arch, "".join(options)))
    objects.run(NVCC, "-arch=sm_" + arch, *options, "-cubin", "-o", out,
                objects.fixture(name + ".cu"))
    return out


def build_rdc(job):
    """A linked cubin out of two objects, of which the linker leaves parts out."""
    folder, arch = job
    out = os.path.join(folder, "rdc-%s.cubin" % arch)
    objects.run(NVCC, "-arch=sm_" + arch, "-lineinfo", "-rdc=true", "-dlink", "-cubin", "-o", out,
                objects.fixture("tile.cu"), objects.fixture("nested.cu"))
    return out


class Cupti(unittest.TestCase):
    def compare(self, path):
        with open(path, "rb") as file:
            cubin = file.read()
        count = 0
        for o in objects.annotate(path):
            kernels = {f["name"]: f["offset"] for f in o["functions"] if f["is_kernel"]}
            for f in o["functions"]:
                # CUPTI knows kernels, and what lies in their sections.
                if f["kernel"] not in kernels:
                    continue
                for i in f["instructions"]:
                    theirs = ask(cubin, f["kernel"], i["offset"] - kernels[f["kernel"]])
                    ours = ("", 0)
                    if i["lines"]:
                        last = i["lines"][-1]
                        ours = os.path.normpath(last["file"]), last["line"]
                    self.assertEqual(ours, theirs, (path, f["name"], hex(i["offset"])))
                    count += bool(ours[1])
        return count

    def test_fixtures(self):
        for path in objects.fixtures("*.cubin"):
            self.assertGreater(self.compare(path), 50, path)

    @unittest.skipUnless(NVCC, "no nvcc")
    def test_built(self):
        with tempfile.TemporaryDirectory() as folder, \
                concurrent.futures.ThreadPoolExecutor(2) as pool:
            jobs = [(name, folder, arch, options) for arch in ARCHES
                    for name, options in (("nested", OPTIONS["lineinfo"]),
                                          ("tile", OPTIONS["lineinfo"]))]
            jobs += [("nested", folder, arch, OPTIONS["debug"]) for arch in ("75", "90", "120")]
            paths = list(pool.map(build, jobs))
            paths += list(pool.map(build_rdc, [(folder, arch) for arch in ("80", "90", "100")]))
            total = 0
            for path in paths:
                count = self.compare(path)
                self.assertGreater(count, 20, path)
                total += count
            print("%d cubins, %d instructions with lines" % (len(paths), total))

    @unittest.skipUnless(objects.is_full(), "only with ACCEL_PROF_TEST_FULL")
    def test_triton(self):
        """Its line tables come from LLVM, and its sources are Python's."""
        with tempfile.TemporaryDirectory() as folder:
            paths = objects.triton_cubins(folder)
            self.assertEqual(len(paths), 18)
            total = sum(self.compare(path) for path in paths)
            self.assertGreater(total, 18 * 20)
            for path in paths:
                files = {os.path.basename(l["file"])
                         for _, _, i in objects.instructions(objects.annotate(path))
                         for l in i["lines"]}
                self.assertIn("triton_cubins.py", files)
            print("%d cubins of Triton, %d instructions with lines" % (len(paths), total))


if __name__ == "__main__":
    unittest.main()
