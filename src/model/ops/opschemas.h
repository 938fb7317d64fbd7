/* opschemas.h — the whole schemas of operators.

   An operator is recorded with the name of its overload, "aten::mm". What that stands for,
   "aten::mm(Tensor self, Tensor mat2) -> Tensor", comes once, in a payload "operator.schema" at the
   end of the session. */
#ifndef KYMO_OPSCHEMAS_H
#define KYMO_OPSCHEMAS_H

#include "capture.h"

struct kymo_op_schemas {
    char **whole; /* by key of the overload's name; NULL: not known. NULL if none is known */
    size_t count;
};

/* Find the schemas of CAPTURE. Returns 0 or a negative code; call fini in either case. */
int kymo__op_schemas_read(struct kymo_op_schemas *schemas, struct kymo_capture *capture);
void kymo__op_schemas_fini(struct kymo_op_schemas *schemas);

/* The schema of the overload with the name KEY, or NULL. */
static inline const char *kymo__op_schema(const struct kymo_op_schemas *schemas, uint64_t key)
{
    return key < schemas->count ? schemas->whole[key] : NULL;
}

#endif
