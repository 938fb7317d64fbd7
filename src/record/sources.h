/* sources.h — the registered sources and what they do during a session, for session.c.
   Everything here is called under the life lock, except the fork functions. */
#ifndef KYMO_SOURCES_H
#define KYMO_SOURCES_H

#include <kymo/source.h>

struct kymo_names;

/* Add SOURCE under the life lock, as kymo_source_register does. */
int kymo__source_add(const struct kymo_source *source, void *user);
int kymo__source_remove(const struct kymo_source *source);

/* Choose the sources that take part in the session that OPTIONS describe, before any of it
   exists. 0 or KYMO_ESOURCE. */
int kymo__sources_choose(const struct kymo_options *options);

/* Start the sources chosen for a session that is recording. COMMON describes it, without the
   options of a source; NAMES gets the list of sources. */
void kymo__sources_begin(struct kymo_names *names, const struct kymo_source_session *common);

/* The session is about to stop recording; it has stopped recording, on every thread. */
void kymo__sources_stop(void);
void kymo__sources_end(void);

/* End the threads of sources for a while, and start them again. */
void kymo__sources_rest(void);
void kymo__sources_work(void);

/* Let all of them record garbage collections. */
void kymo__sources_collections(void);

/* Around fork, as pthread_atfork calls them; FORKED is also for a child in which fork's handlers
   did not run. */
void kymo__sources_before_fork(void);
void kymo__sources_after_fork(void);
void kymo__sources_forked(void);

#endif
