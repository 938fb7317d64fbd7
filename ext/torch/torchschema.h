/* torchschema.h — the operators that were met, by torch's schema objects: stable texts such as
   "aten::add.Tensor", and later the whole schema. */
#ifndef KYMO_EXT_TORCHSCHEMA_H
#define KYMO_EXT_TORCHSCHEMA_H

#include <kymo/op.h>
#include <stddef.h>
#include <stdint.h>

/* One operator; never freed. */
struct kymo__torch_schema {
    const void *object;              /* torch's; another operator may get the same address later */
    const char *text;                /* name, or name.overload */
    size_t name_length;              /* of the name in it */
    size_t length;                   /* of the text */
    const char *whole;               /* its schema as torch prints it, or NULL */
    uint32_t session;                /* in which it was last met */
    struct kymo_op_site site;        /* of its name and text */
    struct kymo__torch_schema *next; /* the one met before */
};

/* A text of torch: a std::string begins with these. */
struct kymo__torch_text {
    const char *bytes;
    size_t length;
};

/* The operator NAME with OVERLOAD, whose schema is OBJECT; NULL if there is no room. Any thread,
   without the GIL; takes a lock only for new ones. */
struct kymo__torch_schema *kymo__torch_schema(const void *object, struct kymo__torch_text name,
                                              struct kymo__torch_text overload);

/* All of them, the last one first; a list linked by `next`. */
struct kymo__torch_schema *kymo__torch_schemas(void);

#endif
