/* The runtime's globals in a process whose executable has no DWARF, or is not here at all.
 *
 * Nothing in a stripped program names its variables, and the linker orders them anew in each
 * build. What is left is what they hold: each global is proved by a predicate over its own fields
 * and over what was proved before. A search that finds two different answers is an error, not a
 * guess. The order is that of the proofs:
 *
 *   firstmoduledata   bounds of the program's parts, and masks that are as long as these
 *   mheap_            points to itself, and knows the sizes of mspan and mcache
 *   memstats          two of mheap_'s allocators point into it
 *   all others        lie in the data and bss of that module (see the finders) */
#ifndef GORT_FIND_H
#define GORT_FIND_H

#include "gort/rt.h"

/* Fills rt->globals; image, version and slots must be set. A list that nobody could be found to
 * hang anything on is empty: its global stays 0, as do gcphase and what the heap profile needs,
 * whose values are derived instead (rt->gcphase, rt->profile). ERR_FORMAT says what was not found,
 * or found twice. */
struct err *find_globals(struct rt *rt) ERR_RESULT;

/* ERR_FORMAT when several Go runtimes are in the process, each with a heap of its own: a Go program
 * that has loaded a Go library (-buildmode=c-shared). A plugin is a module of the same runtime. */
struct err *find_single_runtime(struct rt *rt) ERR_RESULT;

#endif
