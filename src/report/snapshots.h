/* What reports about sets of snapshots say in the same way. */
#ifndef REPORT_SNAPSHOTS_H
#define REPORT_SNAPSHOTS_H

#include "out/doc.h"
#include "store/history.h"

/* A figure of a fact: bytes or a number; null where it is not known. */
struct doc_value snapshots_figure(u64 v, bool bytes);

/* The base name of the program's executable; NULL where it is not known. */
const char *snapshots_program(const struct facts_head *h);

/* Adds a table of the files of a history that could not be analysed. Fails as the history does. */
struct err *snapshots_failures(struct doc *d, struct history *h) ERR_RESULT;

#endif
