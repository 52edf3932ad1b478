/* Any bytes as /proc/PID/smaps. */
#include "fuzz/fuzz.h"

#include "image/smaps.h"

void fuzz_one(const u8 *data, size_t n)
{
	struct smaps s = {0};
	struct err *err = smaps_parse(&s, (const char *)data, n);
	va_t end = 0;

	assert_always(!err || err->code == ERR_FORMAT);
	for (size_t i = 0; i < s.vmas.n; i++) {
		const struct smaps_vma *v = &s.vmas.v[i];
		u64 size = v->hi - v->lo;

		assert_always(end <= v->lo && v->lo < v->hi);
		assert_always(v->rss <= size && v->anonymous <= size && v->swap <= size);
		assert_always(v->lazyfree <= size && v->anon_huge <= size);
		assert_always(smaps_find(&s, v->lo) == v && smaps_find(&s, v->hi - 1) == v);
		assert_always(strlen(v->path) < n);
		end = v->hi;
	}
	assert_always(err || (s.vmas.n && smaps_rss(&s) <= end));
	err_free(err);
	smaps_fini(&s);
	assert_always(mem_used() == 0);
}
