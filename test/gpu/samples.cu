// SPDX-License-Identifier: Apache-2.0
//
// Kernels whose times are known by CUDA's own events: one that computes, one that moves memory, many
// tiny ones, and a graph of the tiny ones. For test/gpu/run; without errors its last lines are
//
//	compute 40 123.456        name, launches, milliseconds by events
//	wall_ms_per_round 12.345
//
#include <cstdio>
#include <cstdlib>
#include <chrono>

#define CHECK(call)                                                                          \
	do {                                                                                 \
		cudaError_t code = (call);                                                   \
		if (code != cudaSuccess) {                                                   \
			fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(code));        \
			exit(1);                                                             \
		}                                                                            \
	} while (0)

__global__ void compute(float *out, int rounds)
{
	float x = threadIdx.x, y = 0.5f;
	for (int i = 0; i < rounds; i++)
		x = x * y + 0.25f; // HOT compute
	out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

__global__ void move(float *to, const float *from, size_t count)
{
	size_t step = (size_t)gridDim.x * blockDim.x;
	for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
		to[i] = from[i] * 2.0f; // HOT move
}

__global__ void tiny(float *out)
{
	if (threadIdx.x == 0)
		out[blockIdx.x] += 1.0f;
}

struct timed {
	const char *name;
	int launches;
	float ms;
};

static cudaEvent_t begin, end;

template <typename Launch> static void run(timed &t, int launches, cudaStream_t stream, Launch launch)
{
	float ms;
	CHECK(cudaEventRecord(begin, stream));
	launch();
	CHECK(cudaGetLastError());
	CHECK(cudaEventRecord(end, stream));
	CHECK(cudaEventSynchronize(end));
	CHECK(cudaEventElapsedTime(&ms, begin, end));
	t.launches += launches;
	t.ms += ms;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 5;
	const size_t count = 64u << 20;
	timed times[] = { { "compute", 0, 0 }, { "move", 0, 0 } };
	timed graphs = { "graph", 0, 0 };
	float *a, *b;
	cudaStream_t stream;
	cudaGraph_t graph;
	cudaGraphExec_t replay;
	int rounds = 0;

	CHECK(cudaMalloc(&a, count * sizeof(*a)));
	CHECK(cudaMalloc(&b, count * sizeof(*b)));
	CHECK(cudaMemset(a, 0, count * sizeof(*a)));
	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaEventCreate(&begin));
	CHECK(cudaEventCreate(&end));
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	for (int i = 0; i < 20; i++)
		tiny<<<1, 32, 0, stream>>>(a);
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiate(&replay, graph, 0));

	auto start = std::chrono::steady_clock::now();
	double passed;
	do {
		run(times[0], 1, stream, [&] { compute<<<1024, 256, 0, stream>>>(a, 20000); });
		run(times[1], 1, stream, [&] { move<<<4096, 256, 0, stream>>>(b, a, count); });
		run(graphs, 20, stream, [&] { CHECK(cudaGraphLaunch(replay, stream)); });
		for (int i = 0; i < 100; i++)
			tiny<<<1, 32, 0, stream>>>(a);
		CHECK(cudaStreamSynchronize(stream));
		rounds++;
		passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
	} while (passed < seconds);

	for (const timed &t : times)
		printf("%s %d %.3f\n", t.name, t.launches, t.ms);
	printf("rounds %d tiny %d\n", rounds, rounds * 120);
	printf("wall_ms_per_round %.4f\n", passed * 1e3 / rounds);
	return 0;
}
