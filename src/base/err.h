/* Errors as values: NULL is success, anything else owns a message and a code.
 *
 * Whoever receives an error either returns it (TRY), adds context (err_wrap), or ends it
 * (err_free). A read of target memory that misses returns one static object, so a miss in a hot
 * loop allocates nothing. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/types.h"

enum err_code {
	ERR_OS,          /* the operating system refused */
	ERR_FORMAT,      /* a file is not what it should be */
	ERR_FAULT,       /* target memory that the core does not have */
	ERR_MISSING,     /* a symbol, field or file that is needed is not there */
	ERR_UNSUPPORTED, /* a release or architecture that is not read */
	ERR_LIMIT,       /* a named limit, --max-memory included */
	ERR_USAGE,       /* what the user asked for makes no sense */
	ERR_BUG,         /* one of our own invariants broke */
};

struct err {
	enum err_code code;
	char *msg;
};

#define ERR_RESULT __attribute__((warn_unused_result))

/* A new error; the caller owns it. */
struct err *err_new(enum err_code code, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), returns_nonnull));

/* Same with ": strerror(errno)" at the end and ERR_OS. */
struct err *err_os(const char *fmt, ...) __attribute__((format(printf, 1, 2), returns_nonnull));

/* The static error of a missed read. Freeing it does nothing. */
struct err *err_fault(void) __attribute__((returns_nonnull));

/* Puts "context: " before the message; consumes err. NULL stays NULL. */
struct err *err_wrap(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

void err_free(struct err *err);

static inline void cleanup_err(struct err **err)
{
	err_free(*err);
}

#define AUTO_ERR __attribute__((cleanup(cleanup_err)))

/* Returns from the calling function when expr fails. The only control-flow macro. */
#define TRY(expr)                                                                                  \
	do {                                                                                       \
		struct err *try_err_ = (expr);                                                     \
		if (try_err_)                                                                      \
			return try_err_;                                                           \
	} while (0)

#endif
