/* Verdicts: what stands out, in words, and which knob changes it. */
#ifndef REPORT_VERDICTS_H
#define REPORT_VERDICTS_H

#include "gort/mstats.h"
#include "report/report.h"

#define VERDICT_MAX 24
#define VERDICT_EVIDENCE 8

struct verdict {
	const char *id, *part; /* part: what the bytes are a part of; NULL: disjoint from others' */
	const char *brief;     /* "fragmentation" */
	u64 bytes;
	u64 gain;            /* what the remedy gives back at most; 0: nothing, or not known */
	u64 classes;         /* bit c: of enum category, where the bytes are */
	const char *summary; /* a clause: "20.3 MiB are free slots ..." */
	const char *remedy;  /* sentences */
	struct {
		const char *key;
		u64 value;
	} evidence[VERDICT_EVIDENCE];
	size_t evidence_count;
};

/* The id of the i-th kind of verdict; NULL beyond the last. */
const char *verdict_name(size_t i);

/* Judges the snapshot, which must have a Go heap; largest first. Strings live in the doc. */
struct err *verdicts_find(const struct snapshot *s, struct doc *d,
			  struct verdict ret[static VERDICT_MAX], size_t *n) ERR_RESULT;

#endif
