/* The claimers: each knows one kind of memory and claims it. */
#ifndef LEDGER_CLAIM_H
#define LEDGER_CLAIM_H

#include "image/binary.h"
#include "ledger/ledger.h"

/* Mappings by what backs them: files, shared memory, the kernel's pages, the main stack. */
struct err *claim_mappings(struct ledger *l, const struct binary *bin) ERR_RESULT;

/* The executable by its segments and, with a runtime, by its modules' bounds. */
struct err *claim_binary(struct ledger *l, const struct binary *bin) ERR_RESULT;

/* Shared libraries' zero-initialised data, which is anonymous memory. */
struct err *claim_libraries(struct ledger *l, const struct binary *bin) ERR_RESULT;

/* Stacks of threads that C libraries made, from the threads' registers. */
struct err *claim_threads(struct ledger *l) ERR_RESULT;

/* The Go heap's arenas, its stacks and the runtime's structures. */
struct err *claim_go(struct ledger *l) ERR_RESULT;

/* Marks as unread what claim_go and claim_binary could not claim for, when a Go runtime that is
 * there was not read, or not all of it. */
void claim_unread(struct ledger *l, const struct binary *bin);

/* Signal stacks of C's that Ms adopted, as far as no structure known otherwise has their bytes:
 * after all other claims. */
struct err *claim_signal_stacks(struct ledger *l) ERR_RESULT;

#endif
