/* SPDX-License-Identifier: Apache-2.0 */
/* What an accelerator was doing, or waiting for, at a moment. */
#pragma once

enum account_state {
	ACCOUNT_BUSY,
	ACCOUNT_LATE,    /* the host had not launched the next work */
	ACCOUNT_FLIGHT,  /* it had, and the device had not started */
	ACCOUNT_SYNC,    /* the launching thread was in a call that waits for the device */
	ACCOUNT_COPY,    /* ... in a call that copies */
	ACCOUNT_BLOCKED, /* ... off the CPU */
	ACCOUNT_BEFORE,  /* the window begins before the first work */
	ACCOUNT_AFTER,   /* and ends after the last */
	ACCOUNT_UNKNOWN, /* nobody is known to have launched the next work */
	ACCOUNT_STATE_COUNT
};

/* "host late": what stands in [idle: ...]. */
const char *account_state_name(enum account_state state);
