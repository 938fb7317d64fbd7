/* pages.h — the pages of HTML that viewer/ has the sources of, each as what stands before its
   data and what stands behind it. */
#ifndef KYMO_PAGES_H
#define KYMO_PAGES_H

extern const char kymo__flame_before[], kymo__flame_after[];
extern const char kymo__diff_before[], kymo__diff_after[];

#endif
