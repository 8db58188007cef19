/* SPDX-License-Identifier: Apache-2.0 */
/* c = a * b for square matrices of n * n floats, row by row, in three ways. */

#define TILE   16
#define COLUMNS 4

/* Each work item reads a whole row of a and a whole column of b. */
kernel void mm_basic(const int n, global const float *a, global const float *b, global float *c)
{
	const int column = get_global_id(0);
	const int row = get_global_id(1);
	float sum = 0.0f;

	for (int k = 0; k < n; k++)
		sum += a[row * n + k] * b[k * n + column];
	c[row * n + column] = sum;
}

static inline float row_times_column(local const float *row, local const float *column)
{
	float sum = 0.0f;

	for (int k = 0; k < TILE; k++)
		sum += row[k] * column[k * TILE];
	return sum;
}

/* A work group shares tiles of both matrices in local memory. */
kernel void mm_local(const int n, global const float *a, global const float *b, global float *c)
{
	local float tile_a[TILE * TILE], tile_b[TILE * TILE];
	const int x = get_local_id(0), y = get_local_id(1);
	const int column = get_global_id(0), row = get_global_id(1);
	float sum = 0.0f;

	for (int at = 0; at < n; at += TILE) {
		tile_a[y * TILE + x] = a[row * n + at + x];
		tile_b[y * TILE + x] = b[(at + y) * n + column];
		barrier(CLK_LOCAL_MEM_FENCE);
		sum += row_times_column(tile_a + y * TILE, tile_b + x);
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	c[row * n + column] = sum;
}

/* And each work item makes COLUMNS results of what it has read once. */
kernel void mm_tiled(const int n, global const float *a, global const float *b, global float *c)
{
	local float tile_a[TILE * TILE], tile_b[TILE * TILE * COLUMNS];
	const int x = get_local_id(0), y = get_local_id(1);
	const int row = get_group_id(1) * TILE + y;
	const int first = get_group_id(0) * TILE * COLUMNS + x;
	float sum[COLUMNS] = { 0.0f };

	for (int at = 0; at < n; at += TILE) {
		tile_a[y * TILE + x] = a[row * n + at + x];
		for (int i = 0; i < COLUMNS; i++)
			tile_b[(y * COLUMNS + i) * TILE + x] = b[(at + y) * n + first + i * TILE];
		barrier(CLK_LOCAL_MEM_FENCE);
		for (int k = 0; k < TILE; k++)
			for (int i = 0; i < COLUMNS; i++)
				sum[i] += tile_a[y * TILE + k] * tile_b[(k * COLUMNS + i) * TILE + x];
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	for (int i = 0; i < COLUMNS; i++)
		c[row * n + first + i * TILE] = sum[i];
}
