#include "base/err.h"

#include "base/mem.h"

#include <errno.h>
#include <stdarg.h>

static struct err fault_error = {ERR_FAULT, (char[]){"address is not in the core"}};

static struct err *err_vnew(enum err_code code, const char *fmt, va_list ap)
{
	struct err *err = xcalloc(1, sizeof(*err));

	err->code = code;
	err->msg = xvasprintf(fmt, ap);
	return err;
}

struct err *err_new(enum err_code code, const char *fmt, ...)
{
	va_list ap;
	struct err *err;

	va_start(ap, fmt);
	err = err_vnew(code, fmt, ap);
	va_end(ap);
	return err;
}

struct err *err_os(const char *fmt, ...)
{
	int saved = errno;
	va_list ap;
	struct err *err;
	char *msg;

	va_start(ap, fmt);
	err = err_vnew(ERR_OS, fmt, ap);
	va_end(ap);
	msg = err->msg;
	err->msg = xasprintf("%s: %s", msg, strerror(saved));
	free(msg);
	return err;
}

struct err *err_fault(void)
{
	return &fault_error;
}

struct err *err_wrap(struct err *err, const char *fmt, ...)
{
	va_list ap;
	char *context;
	struct err *wrapped;

	if (!err)
		return NULL;
	va_start(ap, fmt);
	context = xvasprintf(fmt, ap);
	va_end(ap);
	wrapped = err_new(err->code, "%s: %s", context, err->msg);
	free(context);
	err_free(err);
	return wrapped;
}

void err_free(struct err *err)
{
	if (!err || err == &fault_error)
		return;
	free(err->msg);
	free(err);
}
