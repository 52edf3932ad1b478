/* Sizes for people: IEC units, and the numbers that options take. */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#include "base/err.h"

#define UNITS_BUF 40

/* "1.85 GiB", "512 B", "-3.2 MiB"; three significant digits. Returns buf. */
const char *units_bytes(i64 bytes, char buf[static UNITS_BUF]);

/* Parses "512M", "2GiB", "60G", "1048576"; decimal fractions allowed. ERR_USAGE otherwise. */
struct err *units_parse_bytes(const char *text, u64 *ret) ERR_RESULT;

/* "850 ms", "45 s", "3.5 min", "26 h", "5.2 days" of nanoseconds. Returns buf. */
const char *units_duration(u64 ns, char buf[static UNITS_BUF]);

#define UNITS_TIME_BUF 32

/* "2026-12-01 11:05:00" of a Unix time in nanoseconds, always UTC. Returns buf. */
const char *units_time(i64 ns, char buf[static UNITS_TIME_BUF]);

/* Parses "90s", "10m", "1.5h", "250ms", "2d"; into nanoseconds. ERR_USAGE otherwise. */
struct err *units_parse_duration(const char *text, u64 *ret) ERR_RESULT;

#endif
