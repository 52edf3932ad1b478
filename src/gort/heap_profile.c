#include "gort/buckets.h"

#include "gort/sites.h"

/* Adding up what is scaled may go beyond all bounds where buckets are damaged. */
static u64 plus(u64 a, u64 b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static struct err *add_site(void *arg, const struct site *s)
{
	struct heap_profile *p = arg;
	struct scaled inuse = site_scaled(s->inuse_objects, s->inuse_bytes, p->rate);

	p->sites += s->inuse_objects && s->inuse_bytes;
	p->inuse_objects = plus(p->inuse_objects, inuse.objects);
	p->inuse_bytes = plus(p->inuse_bytes, inuse.bytes);
	return NULL;
}

struct err *heap_profile_read(const struct rt *rt, struct heap_profile *ret)
{
	struct sampling sampling;

	TRY(sampling_read(rt, &sampling));
	*ret = (struct heap_profile){.rate = sampling.rate};
	return sites_visit(rt, &sampling, add_site, ret);
}
