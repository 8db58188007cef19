/* SPDX-License-Identifier: Apache-2.0 */
/* Devices, queues and lists. */
#include "accel/ze.h"

#include "accel/info.h"
#include "base/span.h"

#include <errno.h>
#include <string.h>

/* ze_device_properties_t. */
#define PROPERTIES_VENDOR 20
#define PROPERTIES_NAME   112
#define VENDOR_INTEL      0x8086
/* ze_pci_ext_properties_t.address. */
#define PCI_ADDRESS 16

/* The device of a handle; NULL: there are too many, or no memory. */
static struct ze_device *find_device(struct ze_process *p, uint64_t handle)
{
	vec_for_each(&p->devices, it)
		if (it->handle == handle)
			return it;
	if (p->devices.len >= ZE_DEVICES_MAX ||
	    vec_push(&p->devices, (struct ze_device){ .handle = handle }) < 0)
		return NULL;
	return vec_last(&p->devices);
}

int ze_device_told(struct ze *z, struct ze_process *p, const struct accel_event *e)
{
	struct ze_device *device;
	uint32_t vendor;
	size_t length;
	int rc;

	if ((uint32_t)e->value[2] != 0 || e->text_size < ZE_DEVICE_BYTES)
		return 0;
	device = find_device(p, e->value[0]);
	if (!device || device->name)
		return 0;
	length = strnlen(e->text + PROPERTIES_NAME, e->text_size - PROPERTIES_NAME);
	memcpy(&vendor, e->text + PROPERTIES_VENDOR, sizeof(vendor));
	if (!length)
		return 0;
	rc = capture_writer_bytes(z->host.writer, e->text + PROPERTIES_NAME, length, &device->name);
	if (rc == 0 && vendor == VENDOR_INTEL)
		rc = capture_writer_string(z->host.writer, "Intel", &device->vendor);
	return rc;
}

int ze_device_pci_told(struct ze_process *p, const struct accel_event *e)
{
	struct ze_device *device;
	uint32_t address[4]; /* domain, bus, device, function */

	if ((uint32_t)e->value[2] != 0 || e->text_size < PCI_ADDRESS + sizeof(address))
		return 0;
	device = find_device(p, e->value[0]);
	memcpy(address, e->text + PCI_ADDRESS, sizeof(address));
	if (device && address[0] <= UINT16_MAX && address[1] <= UINT8_MAX && address[2] < 32 &&
	    address[3] < 8)
		device->pci = address[0] << 16 | address[1] << 8 | address[2] << 3 | address[3];
	return 0;
}

/* The DEVICE record, one for all processes that see a device of this name at this place. */
int ze_device(struct ze *z, struct ze_process *p, uint64_t handle, uint32_t *ret)
{
	struct ze_device none = { 0 };
	struct ze_device *device =
		!handle && p->devices.len == 1 ? p->devices.data : find_device(p, handle);
	struct record_device record = { 0 };
	uint64_t *known;
	uint32_t index;
	int rc = 0;

	if (!device)
		device = &none;
	*ret = device->record;
	if (device->record)
		return 0;
	index = device == &none ? 0 : (uint32_t)(device - p->devices.data);
	known = hash_get(&z->devices, hash_pair(device->name, index));
	if (known) {
		*ret = device->record = (uint32_t)*known;
		return 0;
	}
	record.index = index;
	record.name = device->name;
	record.vendor = device->vendor;
	if (!device->name)
		rc = capture_writer_string(z->host.writer, "Level Zero device", &record.name);
	if (rc == 0)
		rc = accel_device(&z->host, &record, "levelzero", NULL);
	if (rc == 0)
		rc = hash_set(&z->devices, hash_pair(device->name, index), record.id);
	*ret = device->record = record.id;
	return rc;
}

static int add_queue(struct ze *z, struct ze_process *p, uint64_t device, uint64_t handle,
		     struct ze_queue *ret)
{
	int rc = ze_device(z, p, device, &ret->device);

	return rc < 0 ? rc
		      : accel_queue(&z->host, p->process, ret->device,
				    handle == device ? 0 : handle, &ret->record);
}

/* A queue that was made at @handle; what was there before is gone. */
static int set_queue(struct ze *z, struct ze_process *p, uint64_t device, uint64_t handle,
		     struct ze_queue *ret)
{
	uint64_t *known = hash_get(&p->queue_index, handle);
	int rc;

	if (!known && p->queues.len >= ZE_QUEUES_MAX) {
		*ret = (struct ze_queue){ 0 };
		return 0;
	}
	rc = add_queue(z, p, device, handle, ret);
	if (rc < 0)
		return rc;
	if (known) {
		p->queues.data[*known] = *ret;
		return 0;
	}
	if (vec_push(&p->queues, *ret) < 0)
		return -ENOMEM;
	return hash_set(&p->queue_index, handle, p->queues.len - 1);
}

int ze_queue_created(struct ze *z, struct ze_process *p, const struct accel_event *e)
{
	struct ze_queue queue;

	if ((uint32_t)e->value[3] != 0 || !e->value[2])
		return 0;
	return set_queue(z, p, e->value[0], e->value[2], &queue);
}

int ze_queue(struct ze *z, struct ze_process *p, uint64_t handle, struct ze_queue *ret)
{
	uint64_t *known = hash_get(&p->queue_index, handle);

	if (!known)
		return set_queue(z, p, 0, handle, ret);
	*ret = p->queues.data[*known];
	return 0;
}

int ze_list(struct ze_process *p, uint64_t handle, struct ze_list **ret)
{
	uint64_t *known = hash_get(&p->list_index, handle);
	int rc;

	*ret = known ? &p->lists.data[*known] : NULL;
	if (known || p->lists.len >= ZE_LISTS_MAX)
		return 0;
	if (vec_push(&p->lists, (struct ze_list){ .handle = handle }) < 0)
		return -ENOMEM;
	rc = hash_set(&p->list_index, handle, p->lists.len - 1);
	*ret = vec_last(&p->lists);
	return rc;
}

static void empty(struct ze_process *p, struct ze_list *list)
{
	p->kept -= list->work.len;
	vec_release(&list->work);
	list->executed = 0;
	list->is_cut = false;
}

int ze_list_created(struct ze *z, struct ze_process *p, const struct accel_event *e)
{
	struct ze_list *list;
	uint64_t *known;
	int rc;

	if ((uint32_t)e->value[3] != 0 || !e->value[2])
		return 0;
	rc = ze_list(p, e->value[2], &list);
	if (rc < 0 || !list)
		return rc;
	empty(p, list);
	list->is_immediate = e->site->id == SITE_LIST_IMMEDIATE;
	/* One that is not immediate may be executed by any queue: until then it has that of all such lists of the
	 * device, which goes by the device's handle. */
	if (list->is_immediate)
		return set_queue(z, p, e->value[0], e->value[2], &list->queue);
	known = hash_get(&p->queue_index, e->value[0]);
	if (!known)
		return set_queue(z, p, e->value[0], e->value[0], &list->queue);
	list->queue = p->queues.data[*known];
	return 0;
}

void ze_list_emptied(struct ze_process *p, uint64_t handle)
{
	uint64_t *known = hash_get(&p->list_index, handle);

	if (known)
		empty(p, &p->lists.data[*known]);
}
