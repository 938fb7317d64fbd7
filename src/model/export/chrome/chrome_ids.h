/* chrome_ids.h — numbers of events without gaps, as Kineto gives them.

   A call is known by its thread and by which enter of the thread it was. Kineto numbers what it
   shows: calls of functions from 1 on, and all events from 0 on, operators and spans first. What is
   shown is only known when all has been read, so this reads everything once before it is written. It
   takes two bits for every enter; a number is found by counting those before it. */
#ifndef KYMO_CHROME_IDS_H
#define KYMO_CHROME_IDS_H

#include "chrome_parts.h"

/* Number what OPTIONS select of CAPTURE, thread by thread. C has its heads. Returns 0 or a negative
   code; free *IDS in either case. */
int kymo__chrome_ids_new(const struct kymo_chrome *c, struct kymo_capture *capture,
                         const struct kymo_export_options *options, struct kymo_chrome_ids **ids);
void kymo__chrome_ids_free(struct kymo_chrome_ids *ids);

/* The `Python id` of the call that was enter NUMBER of THREAD. */
uint64_t kymo__chrome_python_id(const struct kymo_chrome_ids *ids, uint32_t thread,
                                uint64_t number);

/* The `Ev Idx` of enter NUMBER of THREAD: a call of a function if CALL, else a span or an operator. */
uint64_t kymo__chrome_index(const struct kymo_chrome_ids *ids, uint32_t thread, uint64_t number,
                            bool call);

#endif
