/* What became of one row over the snapshots of a history. */
#ifndef REPORT_TREND_H
#define REPORT_TREND_H

#include "out/doc.h"
#include "store/history.h"

/* Which row: "go.heap.live" is of level "class", "gaps:64" names its level, "total" is the whole.
 */
struct trend_key {
	const char *level; /* NULL: the whole */
	const char *key;
};

/* ERR_USAGE when there is no such level. Points into text. The level's name is copied into d. */
struct err *trend_key_parse(struct doc *d, const char *text, struct trend_key *ret) ERR_RESULT;

/* The figures that a series is about: resident bytes where all snapshots with the level know them,
 * else virtual ones, else the count. */
enum fact_column trend_measure(const struct history_series *s);

/* How the known points of a series run, by least squares over their places in the list. */
struct trend {
	size_t n; /* known points; nothing else is set when there are none */
	u64 first, last, least, most;
	size_t rises, falls; /* steps from one known point to the next */
	double slope;        /* per snapshot */
	double fit;          /* 0 to 1: how much of the spread the line explains */
};

struct trend trend_of(const struct history_series *s, enum fact_column measure);

/* Adds the answer and a chart with a line for each snapshot. */
void trend_report(struct doc *d, const char *name, const struct history_list *list,
		  const struct history_series *s);

#endif
