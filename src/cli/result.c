#include "cli/result.h"

#include "out/pprof.h"
#include "out/render.h"

struct err *result_render(const struct doc *d, const struct samples *samples, const struct opts *o,
			  FILE *f)
{
	const struct render_options options = {.exact_bytes = o->exact_bytes};

	switch (o->format) {
	case FORMAT_TEXT:
		return render_text(d, &options, f);
	case FORMAT_JSON:
		return render_json(d, f);
	case FORMAT_MD:
		return render_md(d, &options, f);
	case FORMAT_JUNIT:
		return render_junit(d, "spanscope.check", f);
	case FORMAT_GITHUB:
		return render_github(d, f);
	case FORMAT_PPROF:
		return pprof_write(samples, f);
	case FORMAT_FOLDED:
		return samples_write_folded(samples, samples->default_type, f);
	case FORMAT_DEFAULT:
	case FORMAT_CSV:
		break;
	}
	return render_csv(d, f);
}
