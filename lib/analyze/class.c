/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/class.h"

#include "base/cleanup.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* Packages that run tensors: what is called by models and not written by the people who profile. */
static const char *const frameworks[] = {
	"torch",
	"torchgen",
	"functorch",
	"triton",
	"torch_xla",
	"torch_npu",
	"torch_spyre",
	"torchao",
	"numpy",
	"scipy",
	"jax",
	"jaxlib",
	"flax",
	"optax",
	"tensorflow",
	"keras",
	"cupy",
	"cupyx",
	"numba",
	"llvmlite",
	"pyopencl",
	"pycuda",
	"cuda",
	"onnxruntime",
	"tensorrt",
	"mlx",
	"paddle",
	"mindspore",
	"apex",
	"transformer_engine",
	"intel_extension_for_pytorch",
	"oneccl_bindings_for_pytorch",
	"pybind11",
};

/* Packages that use them: models, servers, trainers. */
static const char *const models[] = {
	"transformers",
	"diffusers",
	"timm",
	"torchvision",
	"torchaudio",
	"torchtune",
	"torchtitan",
	"vllm",
	"sglang",
	"accelerate",
	"peft",
	"trl",
	"datasets",
	"tokenizers",
	"deepspeed",
	"megatron",
	"lightning",
	"pytorch_lightning",
	"sentence_transformers",
	"xformers",
	"flash_attn",
	"flashinfer",
	"fairseq",
	"fairscale",
	"detectron2",
	"mmcv",
	"ultralytics",
	"openai",
	"ray",
	"lm_eval",
	"auto_gptq",
	"bitsandbytes",
	"torchrec",
	"dgl",
	"torch_geometric",
};

/* Modules of Python's own library that appear without a path in traces. */
static const char *const stdlib[] = {
	"_collections_abc",
	"_weakrefset",
	"abc",
	"argparse",
	"ast",
	"asyncio",
	"base64",
	"bdb",
	"bisect",
	"codecs",
	"collections",
	"concurrent",
	"contextlib",
	"copy",
	"copyreg",
	"csv",
	"ctypes",
	"dataclasses",
	"datetime",
	"decimal",
	"dis",
	"email",
	"encodings",
	"enum",
	"fnmatch",
	"fractions",
	"functools",
	"genericpath",
	"getpass",
	"glob",
	"gzip",
	"hashlib",
	"heapq",
	"hmac",
	"html",
	"http",
	"importlib",
	"inspect",
	"io",
	"ipaddress",
	"json",
	"keyword",
	"linecache",
	"locale",
	"logging",
	"lzma",
	"mimetypes",
	"multiprocessing",
	"ntpath",
	"numbers",
	"opcode",
	"operator",
	"os",
	"pathlib",
	"pickle",
	"pkgutil",
	"platform",
	"posixpath",
	"pprint",
	"queue",
	"random",
	"re",
	"reprlib",
	"runpy",
	"selectors",
	"shlex",
	"shutil",
	"signal",
	"site",
	"socket",
	"sre_compile",
	"sre_parse",
	"ssl",
	"stat",
	"statistics",
	"string",
	"struct",
	"subprocess",
	"symtable",
	"sysconfig",
	"tarfile",
	"tempfile",
	"textwrap",
	"threading",
	"timeit",
	"token",
	"tokenize",
	"traceback",
	"types",
	"typing",
	"unittest",
	"urllib",
	"uuid",
	"warnings",
	"weakref",
	"xml",
	"zipfile",
	"zipimport",
};

static bool list_has(const char *const *list, size_t count, const char *name, size_t size)
{
	for (size_t i = 0; i < count; i++) {
		if (!strncmp(list[i], name, size) && !list[i][size])
			return true;
	}
	return false;
}

static enum frame_class class_of_package(const char *path)
{
	size_t size = strcspn(path, "/");
	if (!path[size] && size > 3 && !strncmp(path + size - 3, ".py", 3))
		size -= 3;
	if (list_has(frameworks, ARRAY_SIZE(frameworks), path, size))
		return FRAME_CLASS_FRAMEWORK;
	if (list_has(models, ARRAY_SIZE(models), path, size))
		return FRAME_CLASS_MODEL;
	if (list_has(stdlib, ARRAY_SIZE(stdlib), path, size))
		return FRAME_CLASS_STDLIB;
	return FRAME_CLASS_OWN;
}

/* What follows the last "/site-packages/" or the like, NULL when nothing does. */
static const char *package_path(const char *path)
{
	static const char *const roots[] = { "/site-packages/", "/dist-packages/" };
	const char *found = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		const char *at = path;
		while ((at = strstr(at, roots[i]))) {
			at += strlen(roots[i]);
			if (at > found)
				found = at;
		}
	}
	return found;
}

/* ".../lib/python3.11/threading.py" */
static bool is_in_python_library(const char *path)
{
	const char *at = strstr(path, "/lib/python");
	if (!at)
		return false;
	at += strlen("/lib/python");
	size_t version = strspn(at, "0123456789.");
	return version && at[version] == '/';
}

enum frame_class class_of_python(const char *path)
{
	if (!path || !*path)
		return FRAME_CLASS_NONE;
	if (path[0] == '<') /* "<frozen importlib._bootstrap>", "<string>" */
		return strncmp(path, "<frozen", 7) ? FRAME_CLASS_NONE : FRAME_CLASS_STDLIB;
	const char *package = package_path(path);
	if (package) {
		enum frame_class class = class_of_package(package);
		/* Installed, so not the caller's own, whatever it is. */
		return class == FRAME_CLASS_OWN ? FRAME_CLASS_MODEL : class;
	}
	if (is_in_python_library(path))
		return FRAME_CLASS_STDLIB;
	return path[0] == '/' ? FRAME_CLASS_OWN : class_of_package(path);
}

/* Compilers' and languages' run-time libraries, without the digits and dashes at the end; NONE: other. */
static enum frame_class class_of_runtime(const char *path)
{
	static const char *const names[] = {
		"libc",     "libm",       "libpthread",     "libdl",    "librt",
		"ld-linux", "ld-linux-x", "libstdc++",      "libgcc_s", "libc++",
		"libgomp",  "libomp",     "ld-linux-aarch", "libiomp",  "ld-musl-x86_",
	};
	static const char *const interpreters[] = { "libpython", "python" };
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	size_t size = strcspn(base, ".");

	while (size && (isdigit((unsigned char)base[size - 1]) || base[size - 1] == '-'))
		size--;
	if (list_has(interpreters, ARRAY_SIZE(interpreters), base, size))
		return FRAME_CLASS_INTERPRETER;
	return list_has(names, ARRAY_SIZE(names), base, size) ? FRAME_CLASS_STDLIB
							      : FRAME_CLASS_NONE;
}

/* Frameworks' libraries where a distribution puts them: /usr/lib/.../libtorch_cpu.so.1.13. */
static bool is_framework_library(const char *path)
{
	static const char *const names[] = {
		"libtorch",
		"libtorch_cpu",
		"libtorch_cuda",
		"libtorch_hip",
		"libtorch_python",
		"libtorch_global_deps",
		"libc10",
		"libc10_cuda",
		"libc10_hip",
		"libonnxruntime",
		"libtensorflow_framework",
	};
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	return list_has(names, ARRAY_SIZE(names), base, strcspn(base, "."));
}

enum frame_class class_of_binary(const char *path)
{
	static const char *const systems[] = { "/usr/", "/lib/",  "/lib64/",
					       "/bin/", "/sbin/", "/opt/" };
	if (!path || path[0] != '/')
		return FRAME_CLASS_NONE;
	/* First: "libc10" is no version of libc. */
	if (is_framework_library(path))
		return FRAME_CLASS_FRAMEWORK;
	enum frame_class runtime = class_of_runtime(path);
	if (runtime != FRAME_CLASS_NONE)
		return runtime;
	const char *package = package_path(path);
	if (package) {
		enum frame_class class = class_of_package(package);
		return class == FRAME_CLASS_OWN ? FRAME_CLASS_MODEL : class;
	}
	if (is_in_python_library(path)) /* lib-dynload */
		return FRAME_CLASS_STDLIB;
	for (size_t i = 0; i < ARRAY_SIZE(systems); i++) {
		if (!strncmp(path, systems[i], strlen(systems[i])))
			return FRAME_CLASS_NONE;
	}
	return FRAME_CLASS_OWN;
}

enum frame_class class_of_function(const char *name, const char *path)
{
	static const char *const libraries[] = {
		"std::",    "__gnu_cxx::", "core::",      "alloc::",   "<core::",  "<std::",
		"<alloc::", "<str>::",     "hashbrown::", "__rustc::", "runtime.",
	};
	enum frame_class class = class_of_binary(path);
	/* std::thread's way to a lambda may have that inlined. */
	if (class != FRAME_CLASS_OWN || strstr(name, "{lambda"))
		return class;
	for (size_t i = 0; i < ARRAY_SIZE(libraries); i++) {
		if (!strncmp(name, libraries[i], strlen(libraries[i])))
			return FRAME_CLASS_STDLIB;
	}
	return class;
}

/* torch.profiler calls what Python's interpreter calls "<built-in method size of Tensor object>". */
enum frame_class class_of_native(const char *name)
{
	static const char *const torch[] = { "torch", "Tensor", "PyCapsule", " of type object" };
	if (strncmp(name, "<built-in", 9))
		return FRAME_CLASS_NONE;
	for (size_t i = 0; i < ARRAY_SIZE(torch); i++) {
		if (strstr(name, torch[i]))
			return FRAME_CLASS_FRAMEWORK;
	}
	return FRAME_CLASS_STDLIB;
}
