#include "base/text.h"

#include <string.h>

bool text_line(struct text *t, struct text *line, bool *whole)
{
	const char *stop;

	if (text_is_end(*t))
		return false;
	stop = memchr(t->p, '\n', text_length(*t));
	*whole = stop != NULL;
	*line = (struct text){t->p, stop ? stop : t->end};
	t->p = stop ? stop + 1 : t->end;
	return true;
}

bool text_char(struct text *t, char c)
{
	if (text_is_end(*t) || *t->p != c)
		return false;
	t->p++;
	return true;
}

bool text_word(struct text *t, const char *word)
{
	size_t n = strlen(word);

	if (text_length(*t) < n || memcmp(t->p, word, n) != 0)
		return false;
	t->p += n;
	return true;
}

void text_blanks(struct text *t)
{
	while (text_char(t, ' ') || text_char(t, '\t'))
		;
}

unsigned text_digit(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : 16;
}

bool text_number(struct text *t, unsigned base, u64 *ret)
{
	const char *start = t->p;

	for (*ret = 0; t->p < t->end; t->p++) {
		unsigned digit = text_digit(*t->p);

		if (digit >= base)
			break;
		if (__builtin_mul_overflow(*ret, base, ret) ||
		    __builtin_add_overflow(*ret, digit, ret))
			return false;
	}
	return t->p > start;
}

bool text_has_nul(struct text t)
{
	return !text_is_end(t) && memchr(t.p, '\0', text_length(t));
}

size_t text_clean_bytes(const char *s)
{
	u8 lead = (u8)*s;
	size_t n = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;

	if (lead < 0x20 || (lead >= 0x7f && lead < 0xc2) || lead > 0xf4 ||
	    (lead == 0xc2 && (u8)s[1] < 0xa0))
		return 0;
	for (size_t i = 1; i < n; i++)
		if (((u8)s[i] & 0xc0) != 0x80)
			return 0;
	return n;
}
