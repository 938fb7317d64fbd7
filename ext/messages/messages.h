/* messages.h — arrows between processes for the messages of multiprocessing. */
#ifndef KYMO_EXT_MESSAGES_H
#define KYMO_EXT_MESSAGES_H

#include "compat.h"

extern PyMethodDef kymo__messages_methods[];

#endif
