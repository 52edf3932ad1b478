#include "base/units.h"

#include <ctype.h>
#include <errno.h>
#include <strings.h>
#include <time.h>

static const char unit_letters[] = "BKMGTPE";

const char *units_bytes(i64 bytes, char buf[static UNITS_BUF])
{
	u64 magnitude = bytes < 0 ? -(u64)bytes : (u64)bytes;
	double value = (double)magnitude;
	unsigned unit = 0;

	/* 1023.5 KiB would print as 1024: step up before rounding shows it. */
	while (value >= 1023.5 && unit < 6) {
		value /= 1024;
		unit++;
	}
	if (unit == 0)
		snprintf(buf, UNITS_BUF, "%s%llu B", bytes < 0 ? "-" : "",
			 (unsigned long long)magnitude);
	else
		snprintf(buf, UNITS_BUF, "%s%.*f %ciB", bytes < 0 ? "-" : "",
			 value < 9.995   ? 2
			 : value < 99.95 ? 1
					 : 0,
			 value, unit_letters[unit]);
	return buf;
}

/* Shift of a unit suffix ("", "K", "KB", "KiB"), or -1. */
static int unit_shift(const char *suffix)
{
	const char *letter;

	if (!*suffix || !strcasecmp(suffix, "B"))
		return 0;
	letter = strchr(unit_letters, toupper((unsigned char)*suffix));
	if (!letter || letter == unit_letters)
		return -1;
	suffix++;
	if (*suffix && strcasecmp(suffix, "B") != 0 && strcasecmp(suffix, "iB") != 0)
		return -1;
	return (int)(letter - unit_letters) * 10;
}

struct err *units_parse_bytes(const char *text, u64 *ret)
{
	char *end;
	double value;
	int shift;

	errno = 0;
	value = strtod(text, &end);
	shift = unit_shift(end);
	/* strtod takes more than a decimal fraction: signs, exponents, 0x, inf. */
	if (!isdigit((unsigned char)*text) || end != text + strspn(text, "0123456789.") || errno ||
	    shift < 0 || value > 9.0e18)
		return err_new(ERR_USAGE, "'%s' is no size; write it like 512M or 2GiB", text);
	value *= (double)((u64)1 << shift);
	if (value > 9.0e18)
		return err_new(ERR_USAGE, "'%s' is too large a size", text);
	*ret = (u64)value;
	return NULL;
}

static const struct {
	const char *suffix, *name;
	double ns;
} durations[] = {
	{"d", "days", 86400e9}, {"h", "h", 3600e9}, {"m", "min", 60e9},
	{"s", "s", 1e9},        {"ms", "ms", 1e6},
};

const char *units_duration(u64 ns, char buf[static UNITS_BUF])
{
	size_t i = 0;
	double value;

	/* Two of a unit at least, so that what is shown is no rougher than a fifth. */
	while (i < COUNT_OF(durations) - 1 && (double)ns < 2 * durations[i].ns)
		i++;
	value = (double)ns / durations[i].ns;
	snprintf(buf, UNITS_BUF, "%.*f %s", value < 9.95 && i < 3 ? 1 : 0, value,
		 durations[i].name);
	return buf;
}

const char *units_time(i64 ns, char buf[static UNITS_TIME_BUF])
{
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm tm = {.tm_year = 0};

	gmtime_r(&seconds, &tm);
	if (!strftime(buf, UNITS_TIME_BUF, "%Y-%m-%d %H:%M:%S", &tm))
		*buf = '\0';
	return buf;
}

struct err *units_parse_duration(const char *text, u64 *ret)
{
	char *end;
	double value = strtod(text, &end);

	if (isdigit((unsigned char)*text) && end == text + strspn(text, "0123456789."))
		for (size_t i = 0; i < COUNT_OF(durations); i++) {
			if (strcmp(end, durations[i].suffix) != 0)
				continue;
			if (value * durations[i].ns > 9.0e18)
				return err_new(ERR_USAGE, "'%s' is too long", text);
			*ret = (u64)(value * durations[i].ns);
			return NULL;
		}
	return err_new(ERR_USAGE, "'%s' is no duration; write it like 90s, 10m or 2h", text);
}
