/* SPDX-License-Identifier: Apache-2.0 */
#include "base/io.h"

#include "base/cleanup.h"
#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int io_write_all(int fd, const void *data, size_t size)
{
	const char *p = data;
	while (size) {
		ssize_t n = write(fd, p, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		size -= (size_t)n;
	}
	return 0;
}

int64_t io_read_full(int fd, void *data, size_t size)
{
	size_t done = 0;
	while (done < size) {
		ssize_t n = read(fd, (char *)data + done, size - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		done += (size_t)n;
	}
	return (int64_t)done;
}

int64_t io_pread_full(int fd, void *data, size_t size, uint64_t offset)
{
	size_t done = 0;
	while (done < size) {
		ssize_t n = pread(fd, (char *)data + done, size - done, (off_t)(offset + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		done += (size_t)n;
	}
	return (int64_t)done;
}

int io_read_all(int fd, size_t max, char **ret, size_t *ret_size)
{
	CLEANUP_FREE char *data = NULL;
	size_t cap = 0, len = 0;

	for (;;) {
		if (len + 1 >= cap && vec_grow(&data, &cap, len + 4096, 1) < 0)
			return -ENOMEM;
		int64_t n = io_read_full(fd, data + len, cap - len - 1);
		if (n < 0)
			return (int)n;
		if (!n)
			break;
		len += (size_t)n;
		if (len > max)
			return -EFBIG;
	}
	data[len] = '\0';
	*ret = TAKE(data);
	*ret_size = len;
	return 0;
}

int io_read_file(const char *path, size_t max, char **ret, size_t *ret_size)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	return io_read_all(fd, max, ret, ret_size);
}
