/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a change is one: what differs between the sides against what differs within each. */
#include "cmd/diff.h"

#include <math.h>

/*
 * Welch's test. A report shows some ten changes, each with its chance to be taken for one by luck;
 * at four standard errors that is, with 20 steps each, one in 3,500.
 */
#define CERTAIN_ERRORS 4.0
/* The same where both sides are several runs: so unlikely by luck. There are two such tests. */
#define CERTAIN_LUCK 0.001
/* Two recordings of one program differ by more than their steps do: clocks, heat, neighbours. */
#define CERTAIN_PERCENT 0.5
/* One run on a busy machine differs from the next by more than its steps tell. More work also makes that
 * longer which was not disturbed, by at least this part of what the mean grew. */
#define FASTEST_SHARE 0.75
#define RUNS          5

static double mean(const double *values, size_t count)
{
	double sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += values[i];
	return count ? sum / (double)count : 0;
}

static double mean_step(const uint64_t *values, size_t count)
{
	double sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += (double)values[i];
	return count ? sum / (double)count : 0;
}

/* ---- one run on each side ---- */

/* Of the mean. */
static double error_squared(const uint64_t *values, size_t count, double middle)
{
	double sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += ((double)values[i] - middle) * ((double)values[i] - middle);
	return count > 1 ? sum / (double)(count - 1) / (double)count : 0;
}

/* The same by the means of stretches of steps: what disturbs steps that follow each other alike makes
 * them tell less than as many that are independent. */
static double error_squared_in_runs(const uint64_t *values, size_t count, double middle)
{
	size_t length = count / RUNS;
	double sum = 0;
	if (!length)
		return 0;
	for (size_t i = 0; i < RUNS; i++) {
		double difference = mean_step(values + i * length, length) - middle;
		sum += difference * difference;
	}
	return sum / (RUNS - 1) / RUNS;
}

static double error_of(const struct diff_values *v, double middle)
{
	double alone = error_squared(v->steps, v->step_count, middle);
	double in_runs = error_squared_in_runs(v->steps, v->step_count, middle);
	return in_runs > alone ? in_runs : alone;
}

static void test_steps(const struct diff_values v[MATCH_SIDES], struct diff_change *c)
{
	double difference = c->now - c->base;
	double error = error_of(&v[MATCH_BASE], c->base) + error_of(&v[MATCH_NEW], c->now);
	double fastest = mean(v[MATCH_NEW].fastest, v[MATCH_NEW].run_count) -
			 mean(v[MATCH_BASE].fastest, v[MATCH_BASE].run_count);

	c->error_percent = c->base > 0 ? 100 * sqrt(error) / c->base : 0;
	c->is_certain = difference * difference > CERTAIN_ERRORS * CERTAIN_ERRORS * error &&
			fastest * difference >= FASTEST_SHARE * difference * difference;
}

/* ---- several runs ---- */

/* How likely Student's t is at least so large, on either side: Abramowitz and Stegun, 26.7.3 and 26.7.4. */
static double luck_of(double t, unsigned freedom)
{
	double angle = atan(t / sqrt(freedom)), cosine = cos(angle), sine = sin(angle);
	bool is_odd = freedom % 2;
	double term = is_odd ? cosine : 1, sum = 0;

	for (unsigned k = is_odd ? 1 : 0; k + 2 <= freedom; k += 2) {
		sum += term;
		term *= cosine * cosine * (k + 1) / (k + 2);
	}
	return is_odd ? 1 - (angle + sine * sum) * 2 / M_PI : 1 - sine * sum;
}

static double variance(const double *values, size_t count)
{
	double middle = mean(values, count), sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += (values[i] - middle) * (values[i] - middle);
	return count > 1 ? sum / (double)(count - 1) : 0;
}

/* Welch's test of what each run has. A side of one run differs as the runs of the other do. */
static bool test_runs(const double *const values[MATCH_SIDES], const size_t counts[MATCH_SIDES],
		      double *ret_percent, double *ret_error_percent)
{
	double base = mean(values[MATCH_BASE], counts[MATCH_BASE]);
	double difference = mean(values[MATCH_NEW], counts[MATCH_NEW]) - base;
	double parts[MATCH_SIDES], error = 0, below = 0;

	for (int side = 0; side < MATCH_SIDES; side++) {
		int from = counts[side] > 1 ? side : !side;
		parts[side] = variance(values[from], counts[from]) / (double)counts[side];
		error += parts[side];
	}
	for (int side = 0; side < MATCH_SIDES; side++) {
		if (counts[side] > 1)
			below += parts[side] * parts[side] / (double)(counts[side] - 1);
	}
	if (counts[MATCH_BASE] == 1 || counts[MATCH_NEW] == 1) {
		size_t more = counts[counts[MATCH_BASE] == 1 ? MATCH_NEW : MATCH_BASE];
		below = error * error / (double)(more - 1);
	}
	*ret_percent = base > 0 ? 100 * difference / base : 0;
	*ret_error_percent = base > 0 ? 100 * sqrt(error) / base : 0;
	if (error <= 0)
		return difference != 0;
	double freedom = floor(error * error / below + 1e-9);
	return luck_of(fabs(difference) / sqrt(error), freedom < 1 ? 1 : (unsigned)freedom) <
	       CERTAIN_LUCK;
}

struct diff_change diff_change(const struct diff_values values[MATCH_SIDES])
{
	const struct diff_values *b = &values[MATCH_BASE], *n = &values[MATCH_NEW];
	const double *const means[] = { b->means, n->means };
	const double *const fastest[] = { b->fastest, n->fastest };
	const size_t runs[] = { b->run_count, n->run_count };
	struct diff_change c = {
		.base = mean_step(b->steps, b->step_count),
		.now = mean_step(n->steps, n->step_count),
		.counts = { b->step_count, n->step_count },
		.is_known = b->step_count >= DIFF_STEPS_MIN && n->step_count >= DIFF_STEPS_MIN,
		.has_runs = b->run_count > 1 || n->run_count > 1,
	};

	c.percent = c.base > 0  ? 100 * (c.now - c.base) / c.base
		    : c.now > 0 ? (double)INFINITY
				: 0.0;
	if (!c.is_known)
		return c;
	if (!c.has_runs) {
		test_steps(values, &c);
	} else {
		struct diff_change f = c;
		double percent;
		c.is_certain = test_runs(means, runs, &percent, &c.error_percent);
		f.is_fastest = test_runs(fastest, runs, &f.percent, &f.error_percent);
		f.is_certain = f.is_fastest;
		/* Where they are both certain, that of the whole is what counts. */
		if (!c.is_certain && f.is_certain)
			c = f;
	}
	c.is_certain &= fabs(c.percent) >= CERTAIN_PERCENT;
	return c;
}

void diff_add_percent(struct strbuf *out, const struct diff_change *c)
{
	if (c->base <= 0 && c->now > 0)
		strbuf_puts(out, "new");
	else if (c->base > 0 && c->now <= 0)
		strbuf_puts(out, "gone");
	else
		strbuf_printf(out, "%+.1f %%", c->percent);
}
