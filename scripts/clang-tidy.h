/* What clang-tidy's analyzer cannot see for itself; force-included by scripts/lint.
 *
 * Clang 14 does not read returns_nonnull, and would follow paths on which a new error is NULL,
 * hence success. It believes _Nonnull when the first declaration has it and the last one is in a
 * system header: so each stands here twice, around the real one. */
enum err_code;
struct err *_Nonnull err_new(enum err_code code, const char *fmt, ...);
struct err *_Nonnull err_os(const char *fmt, ...);
struct err *_Nonnull err_fault(void);

#include "base/err.h"

#pragma GCC system_header

struct err *_Nonnull err_new(enum err_code code, const char *fmt, ...);
struct err *_Nonnull err_os(const char *fmt, ...);
struct err *_Nonnull err_fault(void);
