/* Facts of a file, whatever it is: a core in any form that a single run reads, or a document. */
#ifndef CLI_CORE_FACTS_H
#define CLI_CORE_FACTS_H

#include "cli/opts.h"
#include "store/facts.h"

/* Sees the analysed core before it is closed. */
typedef struct err *core_visitor(void *arg, const struct snapshot *s);

/* Analyses a core, with the files beside it and the options of the command line; or reads a
 * document (spanscope/snapshot/1), which `visit` (NULL: nobody) does not see. What was found on the
 * way is in head.partial. Errors are those of a single run. *ret must be zeroed; facts_fini is due
 * in any case. */
struct err *core_facts(const struct opts *o, const char *path, core_visitor *visit, void *arg,
		       struct facts *ret) ERR_RESULT;

/* Whether the file begins as a document does. */
bool file_is_document(const struct os_file *f);

#endif
