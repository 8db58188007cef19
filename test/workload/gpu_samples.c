/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_samples CUBIN SECONDS
 *
 * What test/gpu/samples.cu does and prints, on the mocks of test/fake, whose device needs
 * FAKE_CUDA_NS nanoseconds (1000) for anything: so that test/gpu/run can be tried without a GPU.
 */
#include "../fake/cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static CUstream stream;

static void check(int rc, const char *what)
{
	if (rc == CUDA_SUCCESS)
		return;
	fprintf(stderr, "gpu_samples: %s: error %d\n", what, rc);
	exit(1);
}

static void *read_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	long size;

	if (!file || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0) {
		perror(path);
		exit(1);
	}
	rewind(file);
	void *bytes = malloc((size_t)size);
	if (!bytes || fread(bytes, 1, (size_t)size, file) != (size_t)size)
		exit(1);
	fclose(file);
	return bytes;
}

static void launch(CUfunction function, int blocks, int threads)
{
	check(cuLaunchKernel(function, (unsigned int)blocks, 1, 1, (unsigned int)threads, 1, 1, 0,
			     stream, NULL, NULL),
	      "launch");
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	CUfunction compute, move, tiny;
	CUgraphExec replay;
	CUcontext context;
	CUmodule module;
	CUgraph graph;
	int rounds = 0;

	if (argc != 3)
		return 2;
	double seconds = atof(argv[2]);
	const char *text = getenv("FAKE_CUDA_NS");
	double each_ms = (text ? atof(text) : 1000) * 1e-6;
	check(cuInit(0), "init");
	check(cuDevicePrimaryCtxRetain(&context, 0), "context");
	check(cuCtxSetCurrent(context), "context");
	check(cuStreamCreate(&stream, 0), "stream");
	check(cuModuleLoadData(&module, read_file(argv[1])), "module");
	check(cuModuleGetFunction(&compute, module, "_Z7computePfi"), "compute");
	check(cuModuleGetFunction(&move, module, "_Z4movePfPKfm"), "move");
	check(cuModuleGetFunction(&tiny, module, "_Z4tinyPf"), "tiny");
	check(cuStreamBeginCapture_v2(stream, 0), "capture");
	for (int i = 0; i < 20; i++)
		launch(tiny, 1, 32);
	check(cuStreamEndCapture(stream, &graph), "capture");
	check(cuGraphInstantiateWithFlags(&replay, graph, 0), "graph");

	double start = now(), passed;
	do {
		launch(compute, 1024, 256);
		launch(move, 4096, 256);
		check(cuGraphLaunch(replay, stream), "graph");
		for (int i = 0; i < 100; i++)
			launch(tiny, 1, 32);
		check(cuStreamSynchronize(stream), "wait");
		rounds++;
		passed = now() - start;
	} while (passed < seconds);

	printf("compute %d %.3f\n", rounds, rounds * each_ms);
	printf("move %d %.3f\n", rounds, rounds * each_ms);
	printf("rounds %d tiny %d\n", rounds, rounds * 120);
	printf("wall_ms_per_round %.4f\n", passed * 1e3 / rounds);
	return 0;
}
