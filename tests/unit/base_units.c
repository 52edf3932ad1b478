#include "base/units.h"

#include "support/test.h"

#define K ((i64)1024)

static void test_bytes(void **state)
{
	static const struct {
		i64 bytes;
		const char *text;
	} cases[] = {
		{0, "0 B"},
		{1, "1 B"},
		{-1, "-1 B"},
		{1023, "1023 B"},
		{1024, "1.00 KiB"},
		{1029, "1.00 KiB"},
		{1030, "1.01 KiB"},
		{-1536, "-1.50 KiB"},
		{10 * K - 6, "9.99 KiB"},
		{10 * K - 5, "10.0 KiB"},
		{10 * K, "10.0 KiB"},
		{100 * K - 52, "99.9 KiB"},
		{100 * K - 51, "100 KiB"},
		{1023 * K + 511, "1023 KiB"},
		{1023 * K + 512, "1.00 MiB"},
		{K * K, "1.00 MiB"},
		{1932735283, "1.80 GiB"},
		{60 * K * K * K, "60.0 GiB"},
		{K * K * K * K, "1.00 TiB"},
		{5 * K * K * K * K * K, "5.00 PiB"},
		{K * K * K * K * K * K, "1.00 EiB"},
		{INT64_MAX, "8.00 EiB"},
		{INT64_MIN, "-8.00 EiB"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		char buf[UNITS_BUF];

		assert_ptr_equal(units_bytes(cases[i].bytes, buf), buf);
		assert_string_equal(buf, cases[i].text);
	}
}

static void test_parse(void **state)
{
	static const struct {
		const char *text;
		u64 bytes;
	} cases[] = {
		{"0", 0},
		{"1048576", 1048576},
		{"17B", 17},
		{"512M", (u64)512 << 20},
		{"512MB", (u64)512 << 20},
		{"512MiB", (u64)512 << 20},
		{"2GiB", (u64)2 << 30},
		{"2gib", (u64)2 << 30},
		{"60G", (u64)60 << 30},
		{"1.5K", 1536},
		{"0.5k", 512},
		{"3T", (u64)3 << 40},
		{"4P", (u64)4 << 50},
		{"7E", (u64)7 << 60},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		u64 bytes = 99;

		assert_ok(units_parse_bytes(cases[i].text, &bytes));
		assert_int_equal(bytes, cases[i].bytes);
	}
}

static void test_parse_refuses(void **state)
{
	static const char *const bad[] = {
		"",      "M",    "-1",    "+1",   " 1",       "1 M",    "12X",  "12MX",
		"12MBB", "12iB", "12BB",  "inf",  "nan",      "1..5",   "1,5K", "1e999",
		"0x10",  "1e3",  "0x1p4", "1e3K", "infinity", "12KiBi",
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		u64 bytes = 99;
		struct err *err = units_parse_bytes(bad[i], &bytes);

		if (!err)
			fail_msg("'%s' was taken as %llu", bad[i], (unsigned long long)bytes);
		assert_err(err, ERR_USAGE, bad[i]);
		assert_int_equal(bytes, 99);
	}
}

static void test_parse_too_large(void **state)
{
	static const char *const bad[] = {"9E", "9500000000000000000", "99999999T"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		u64 bytes = 99;

		assert_err(units_parse_bytes(bad[i], &bytes), ERR_USAGE, bad[i]);
		assert_int_equal(bytes, 99);
	}
}

static void test_duration(void **state)
{
	static const struct {
		const char *text, *shown;
		u64 ns;
	} cases[] = {
		{"0s", "0 ms", 0},
		{"250ms", "250 ms", 250000000},
		{"1.5s", "1500 ms", 1500000000},
		{"90s", "90 s", 90000000000},
		{"3.5m", "3.5 min", 210000000000},
		{"10m", "10 min", 600000000000},
		{"1.5h", "90 min", 5400000000000},
		{"2d", "2.0 days", 172800000000000},
	};
	char buf[UNITS_BUF];
	u64 ns;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		assert_ok(units_parse_duration(cases[i].text, &ns));
		assert_int_equal(ns, cases[i].ns);
		assert_string_equal(units_duration(ns, buf), cases[i].shown);
	}
	assert_err(units_parse_duration("5", &ns), ERR_USAGE, "'5' is no duration");
	assert_err(units_parse_duration("-5s", &ns), ERR_USAGE, "no duration");
	assert_err(units_parse_duration("1e3s", &ns), ERR_USAGE, "no duration");
	assert_err(units_parse_duration("99999999999d", &ns), ERR_USAGE, "too long");
}

TEST_MAIN(TEST(test_duration), TEST(test_bytes), TEST(test_parse), TEST(test_parse_refuses),
	  TEST(test_parse_too_large))
