#include "store/stats.h"

#include "base/array.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double stats_median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), compare);
	return n % 2 ? v[n / 2] : v[n / 2 - 1] + (v[n / 2] - v[n / 2 - 1]) / 2;
}

struct err *stats_median_y(const struct sample *v, size_t n, double *ret)
{
	ARRAY(double) y = {NULL};
	struct err *err = NULL;

	for (size_t i = 0; !err && i < n; i++)
		err = array_push(&y, v[i].y);
	if (!err && y.n)
		*ret = stats_median(y.v, y.n);
	array_free(&y);
	return err;
}

struct err *stats_slope(const struct sample *v, size_t n, bool *known, double *ret)
{
	ARRAY(double) slopes = {NULL};
	struct err *err = NULL;

	for (size_t i = 0; !err && i < n; i++)
		for (size_t k = 0; !err && k < i; k++)
			if (v[i].x != v[k].x)
				err = array_push(&slopes, (v[i].y - v[k].y) / (v[i].x - v[k].x));
	*known = !err && slopes.n;
	if (*known)
		*ret = stats_median(slopes.v, slopes.n);
	array_free(&slopes);
	return err;
}

size_t stats_grown(const struct sample *v, size_t n)
{
	size_t grown = 0;

	for (size_t i = 1; i < n; i++)
		grown += v[i].y > v[i - 1].y;
	return grown;
}
