/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Power of the devices, as counters tell, and the energy that it comes to. Between two readings it is
 * taken to go evenly from one to the other; before the first and after the last nothing is known.
 * Private to this module.
 */
#pragma once

#include "analyze/tables.h"
#include "base/cleanup.h"

struct power;

/* NULL where no counter tells of power. 0 or -ENOMEM. */
int power_new(struct power **ret, const struct analysis *a);
void power_free(struct power *p);
DEFINE_CLEANUP(power_free, struct power *)
bool power_any(const struct analysis *a);

/* Watts of a device (row) over a time, in the mean; 0 where nothing is known. */
double power_mean(const struct power *p, uint32_t device, uint64_t begin_ns, uint64_t end_ns);

/* Microjoules; of times that are nonsense, as many as there can be. */
static inline uint64_t power_energy(double watts, uint64_t ns)
{
	double uj = watts * (double)ns / 1000 + 0.5;
	return uj < 1e18 ? (uint64_t)uj : (uint64_t)1e18;
}
