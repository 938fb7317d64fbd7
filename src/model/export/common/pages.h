/* pages.h — the HTML pages built from viewer/, each split into the text before its data and the
   text after it. */
#ifndef KYMO_PAGES_H
#define KYMO_PAGES_H

extern const char kymo__flame_before[], kymo__flame_after[];
extern const char kymo__flame_between[]; /* after the data; the timeline may follow */
extern const char kymo__diff_before[], kymo__diff_after[];
extern const char kymo__timeline_before[], kymo__timeline_after[];

/* The content-security policies of the pages, for a server's header. */
extern const char kymo__flame_policy[], kymo__diff_policy[], kymo__timeline_policy[];

#endif
