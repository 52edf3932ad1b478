/* A heap profile that the user has: whether it fits the core. */
#ifndef REPORT_GIVEN_PROFILE_H
#define REPORT_GIVEN_PROFILE_H

#include "out/pprof.h"
#include "report/report.h"

/* Reports what makes the profile one of another build, or of another time than the core. */
void given_profile_doubt(const struct report *r, const struct pprof_heap *p);

#endif
