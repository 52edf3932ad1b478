/* Reading lines of text from the front: what is left gets shorter, nothing is copied. For files
 * that others wrote, so every step says whether it was there. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/types.h"

/* What is left. */
struct text {
	const char *p, *end;
};

/* Takes the next line, without its line feed. False at the end; *whole says whether the line had a
 * line feed, without which it may be cut off. */
bool text_line(struct text *t, struct text *line, bool *whole);

bool text_char(struct text *t, char c);
bool text_word(struct text *t, const char *word);
void text_blanks(struct text *t); /* blanks and tabs, as many as there are */

/* Digits of base 10 or 16 (small letters), as many as there are; false without one, and when they
 * do not fit. */
bool text_number(struct text *t, unsigned base, u64 *ret);

/* The value of a digit of base 16, 16 for anything else. */
unsigned text_digit(char c);

/* Whether it has a NUL, which no text has. */
bool text_has_nul(struct text t);

/* Bytes of the UTF-8 character at s; 0 for a control character and for what is no UTF-8, which a
 * terminal may take for a control character of another encoding. */
size_t text_clean_bytes(const char *s);

static inline size_t text_length(struct text t)
{
	return (size_t)(t.end - t.p);
}

static inline bool text_is_end(struct text t)
{
	return t.p == t.end;
}

#endif
