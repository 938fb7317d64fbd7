/* unwind_chain.h — 128 functions that call each other in a row, in frames of various sizes, so
   that a stack of any depth has mostly different return addresses. Compiled with frame pointers
   and without. */
#ifndef KYMO_UNWIND_CHAIN_H
#define KYMO_UNWIND_CHAIN_H

/* What is at the end: with the stack so deep, run it. */
typedef int chain_leaf(void);

int chain_fp(int depth, chain_leaf *leaf);
int chain_nofp(int depth, chain_leaf *leaf);

/* The same, but at each of the last LEVELS levels three calls, one after the other. */
int chain_tree_fp(int depth, int levels, chain_leaf *leaf);
int chain_tree_nofp(int depth, int levels, chain_leaf *leaf);

#endif
