/* Markdown: the text's lines and tables, for a ticket or a pull request. */
#include "base/text.h"
#include "out/render.h"

#include <string.h>

/* Names out of a core may hold anything: what Markdown or HTML would take for their own is escaped,
 * and what is not clean replaced. */
static void put_text(const char *s, FILE *f)
{
	while (*s) {
		size_t n = text_clean_bytes(s);

		if (n && strchr("\\`*_[]<>|#~", *s))
			fputc('\\', f);
		if (n)
			(void)fwrite(s, 1, n, f); /* errors are asked for at the end */
		else
			fputc('?', f);
		s += n ? n : 1;
	}
}

static void put_heads(const struct doc_table *t, FILE *f)
{
	fputs("\n|", f);
	for (size_t c = 0; c < t->column_count; c++)
		if (render_shows(t, c)) {
			fputc(' ', f);
			put_text(t->columns[c].title, f);
			fputs(" |", f);
		}
	fputs("\n|", f);
	for (size_t c = 0; c < t->column_count; c++)
		if (render_shows(t, c))
			fputs(render_is_number(t, c) ? " ---: |" : " --- |", f);
	fputc('\n', f);
}

static void put_table(const struct doc_table *t, const struct render_options *o, FILE *f)
{
	char buf[RENDER_CELL];
	bool any = false;

	for (size_t r = 0; r < t->hidden.n; r++) {
		if (t->hidden.v[r])
			continue;
		if (!any && t->title)
			fprintf(f, "\n### %s\n", t->title);
		if (!any)
			put_heads(t, f);
		any = true;
		fputc('|', f);
		for (size_t c = 0; c < t->column_count; c++)
			if (render_shows(t, c)) {
				fputc(' ', f);
				put_text(render_value(&t->cells.v[r * t->column_count + c], o, buf),
					 f);
				fputs(" |", f);
			}
		fputc('\n', f);
	}
}

static void put_object(const struct doc_object *ob, const struct render_options *o, FILE *f)
{
	char buf[RENDER_CELL];

	fprintf(f, "\n### %s\n\n", ob->title);
	for (size_t i = 0; i < ob->fields.n; i++) {
		fputs("- ", f);
		put_text(ob->fields.v[i].title ? ob->fields.v[i].title : ob->fields.v[i].key, f);
		fputs(": ", f);
		put_text(render_value(&ob->fields.v[i].value, o, buf), f);
		fputc('\n', f);
	}
}

struct err *render_md(const struct doc *d, const struct render_options *o, FILE *f)
{
	bool first = true;

	for (size_t i = 0; i < d->items.n; i++) {
		const struct doc_item *item = &d->items.v[i];

		if (item->type == ITEM_TEXT) {
			if (*item->text && !first)
				fputc('\n', f); /* each line is a paragraph */
			first = false;
			put_text(item->text, f);
			if (*item->text)
				fputc('\n', f);
		} else if (item->type == ITEM_OBJECT && item->object->title) {
			put_object(item->object, o, f);
		} else if (item->type == ITEM_TABLE && item->table->column_count &&
			   (item->table->title || !item->table->key)) {
			put_table(item->table, o, f);
		}
	}
	return ferror(f) ? err_os("the result cannot be written") : NULL;
}
