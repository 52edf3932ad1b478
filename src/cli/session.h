/* One run over one core: owns everything that is read, in the order in which it is needed. */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include "cli/opts.h"
#include "image/sidecar.h"

struct session {
	struct diags diags;
	struct image image;
	struct sidecar sidecar;
	struct binary binary;
	struct gort gort;
	bool has_gort;
	struct ledger ledger;
};

/* Reads what the command needs. An error ends the run (its code tells the status); everything
 * less is in the diagnostics. session_close is due in any case. */
struct err *session_open(struct session *s, const struct opts *o) ERR_RESULT;
void session_close(struct session *s);

/* The last step of session_open: claims and sweeps all that the others have read. */
struct err *session_build_ledger(struct session *s) ERR_RESULT;

/* What the reports see. */
struct snapshot session_snapshot(const struct session *s);

#endif
