/* rules.h — cache of the rules for addresses, shared by all threads. */
#ifndef KYMO_RULES_H
#define KYMO_RULES_H

#include "ehframe.h"

/* The rule for the instruction at PC, as of VERSION of the modules (loader.h). Takes no lock and
   allocates nothing; any thread; signal-safe. */
struct kymo_rule kymo__rule_at(uint64_t pc, uint64_t version);

#endif
