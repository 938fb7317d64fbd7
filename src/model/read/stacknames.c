/* stacknames.c — see stacknames.h. The only user of the symbolizer here. */
#include "stacknames.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "stacks.h"

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* Copy TEXT, lent until fini; NULL if memory is short. */
static const char *keep_name(struct kymo_stack_names *n, const char *text)
{
    int added;
    int64_t id = kymo__strtab_add(&n->made, text, strlen(text), &added);
    return id < 0 ? NULL : kymo__strtab_get(&n->made, (uint32_t)id)->text;
}

/* ---- queries ---- */

struct asking {
    struct kymo_place *places;
    uint32_t *frame_of; /* by place */
    size_t *first;      /* by place, plus the end */
    size_t count;
    uint8_t (*build_ids)[KYMO__MODULE_ID_MOST]; /* by module */
    uint32_t *build_id_bytes;
};

uint32_t kymo__build_id(const char *text, uint8_t *bytes)
{
    uint32_t count = 0;
    for (; text[0] && text[1] && count < KYMO__MODULE_ID_MOST; text += 2) {
        unsigned byte;
        if (sscanf(text, "%2x", &byte) != 1)
            return 0;
        bytes[count++] = (uint8_t)byte;
    }
    return *text ? 0 : count;
}

static int ask_symbolizer(struct asking *a, const struct kymo_reader *r)
{
    const struct kymo_reader_stacks *s = &r->stacks;
    a->places = kymo__alloc((s->frame_count + 1) * sizeof(*a->places));
    a->frame_of = kymo__alloc((s->frame_count + 1) * sizeof(*a->frame_of));
    a->first = kymo__alloc_zeroed((s->frame_count + 1) * sizeof(*a->first));
    a->build_ids = kymo__alloc((s->module_count + 1) * sizeof(*a->build_ids));
    a->build_id_bytes = kymo__alloc((s->module_count + 1) * sizeof(*a->build_id_bytes));
    if (!a->places || !a->frame_of || !a->first || !a->build_ids || !a->build_id_bytes)
        return -ENOMEM;
    for (size_t i = 0; i < s->module_count; i++)
        a->build_id_bytes[i] =
            kymo__build_id(kymo__reader_string(r, s->modules[i].build_id), a->build_ids[i]);
    for (uint32_t i = 0; i < s->frame_count; i++) {
        const struct kymo_reader_frame *frame = &s->frames[i];
        if (frame->kind != KYMO_FRAME_NATIVE || !frame->module)
            continue;
        uint32_t module = frame->module - 1;
        a->frame_of[a->count] = i;
        a->places[a->count++] = (struct kymo_place){
            .path = kymo__reader_string(r, s->modules[module].path),
            .build_id = a->build_id_bytes[module] ? a->build_ids[module] : NULL,
            .build_id_bytes = a->build_id_bytes[module],
            .offset = frame->address - (frame->address > 0), /* inside the call, not after it */
        };
    }
    return 0;
}

static void asked(struct asking *a)
{
    kymo__free(a->places);
    kymo__free(a->frame_of);
    kymo__free(a->first);
    kymo__free(a->build_ids);
    kymo__free(a->build_id_bytes);
}

/* ---- results ---- */

static struct kymo_named_frame name_managed(const struct kymo_reader *r,
                                            const struct kymo_reader_frame *frame)
{
    struct kymo_named_frame named = {.kind = frame->kind, .file = "", .module = "", .build_id = ""};
    const struct kymo_reader_key *key = frame->key < r->key_count ? &r->keys[frame->key] : NULL;
    named.name = key && key->name ? kymo__reader_string(r, key->name) : "";
    named.file = key ? kymo__reader_string(r, key->file) : "";
    named.first_line = key ? key->line : 0;
    named.line = frame->line;
    if (!*named.name)
        named.name = "(unknown)";
    return named;
}

/* Without a function name, use the file's. */
static const char *name_module(struct kymo_stack_names *n, const char *path)
{
    char text[320];
    snprintf(text, sizeof(text), "[%.300s]", *path ? base_name(path) : "program");
    return keep_name(n, text);
}

static int name_generated(struct kymo_stack_names *n, const struct kymo_reader_frame *frame,
                          struct kymo_named_frame *named)
{
    const struct kymo_reader *r = n->capture->reader;
    struct kymo_symbol symbol = {.name = "", .file = ""};
    *named = (struct kymo_named_frame){.kind = frame->kind,
                                       .name = "[generated code]",
                                       .file = "",
                                       .module = "",
                                       .build_id = "",
                                       .address = frame->address};
    /* In a merged capture nothing says which process the code was in. */
    if (r->process_count < 2 &&
        kymo_symbolize_generated(n->symbolizer, r->header.pid,
                                 frame->address - (frame->address > 0), &symbol) > 0 &&
        *symbol.name) {
        named->name = symbol.name;
        named->file = symbol.file;
        named->line = symbol.line;
    }
    return 0;
}

static int name_native(struct kymo_stack_names *n, const struct kymo_symbol *symbol,
                       const struct kymo_reader_frame *frame, struct kymo_named_frame *named)
{
    const struct kymo_reader *r = n->capture->reader;
    const struct kymo_reader_module *module = &r->stacks.modules[frame->module - 1];
    const char *path = kymo__reader_string(r, module->path);
    *named = (struct kymo_named_frame){
        .kind = KYMO_FRAME_NATIVE,
        .inlined = symbol->inlined != 0,
        .name = *symbol->name ? symbol->name : name_module(n, path),
        .file = symbol->file,
        .line = symbol->line,
        .module = path,
        .build_id = kymo__reader_string(r, module->build_id),
        .address = frame->address,
    };
    return named->name ? 0 : -ENOMEM;
}

/* Store the results by frame. */
static int stacknames_take(struct kymo_stack_names *n, const struct asking *a,
                           const struct kymo_symbol *symbols)
{
    const struct kymo_reader *r = n->capture->reader;
    const struct kymo_reader_stacks *s = &r->stacks;
    size_t place = 0, all = s->frame_count + a->first[a->count] - a->count, at = 0;
    n->named = kymo__alloc((all + 1) * sizeof(*n->named));
    n->first = kymo__alloc((s->frame_count + 1) * sizeof(*n->first));
    int rc = n->named && n->first ? 0 : -ENOMEM;
    for (size_t i = 0; rc == 0 && i < s->frame_count; i++) {
        const struct kymo_reader_frame *frame = &s->frames[i];
        n->first[i] = at;
        if (place < a->count && a->frame_of[place] == i) {
            for (size_t j = a->first[place]; rc == 0 && j < a->first[place + 1]; j++)
                rc = name_native(n, &symbols[j], frame, &n->named[at++]);
            place++;
        } else if (frame->kind == KYMO_FRAME_NATIVE) {
            rc = name_generated(n, frame, &n->named[at++]);
        } else if (frame->kind == KYMO_FRAME_MANAGED) {
            n->named[at++] = name_managed(r, frame);
            n->managed = true;
        } else {
            n->named[at++] = (struct kymo_named_frame){.kind = KYMO_FRAME_UNKNOWN,
                                                       .name = "(unknown)",
                                                       .file = "",
                                                       .module = "",
                                                       .build_id = ""};
        }
    }
    if (rc == 0)
        n->first[s->frame_count] = at;
    return rc;
}

/* ---- the interpreter ---- */

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Is NAME, or with WHOLE not set its beginning, one of the WORDS, which spaces separate? */
static bool among(const char *words, const char *name, bool whole)
{
    for (const char *at = words; *at;) {
        size_t length = strcspn(at, " ");
        if (length && strncmp(name, at, length) == 0 && (!whole || name[length] == '\0'))
            return true;
        at += length + (at[length] == ' ');
    }
    return false;
}

bool kymo__stack_collects(const struct kymo_stack_names *n, const struct kymo_named_frame *named)
{
    return named->kind == KYMO_FRAME_NATIVE && among(n->collector, named->name, true);
}

/* Captures from before sources described their interpreter have frames of CPython, if any. */
static const char older_machinery[] =
    "_PyEval_ PyEval_ _PyFunction_ PyObject_Call _PyObject_Call PyObject_Vectorcall "
    "_PyObject_Vectorcall _PyVectorcall_ PyVectorcall_ _PyObject_MakeTpCall "
    "_PyObject_FastCall method_vectorcall cfunction_vectorcall cfunction_call vectorcall_ "
    "slot_tp_ _TAIL_CALL_ Py_BytesMain Py_RunMain Py_Main pymain_ _PyRun_ PyRun_ run_mod "
    "run_eval_code_obj _PyCFunction_ object_vacall builtin_exec thread_run pythread_wrapper "
    "trampoline py_trampoline gen_send_ex gen_iternext _PyGen_ PyIter_Send";

/* Which files hold the code of the interpreter, by what its source has stored in the capture. */
static int find_interpreter(struct kymo_stack_names *n)
{
    const char *files = kymo__sample_metadata(n->capture, "interpreter.files");
    const char *evaluator = kymo__sample_metadata(n->capture, "interpreter.evaluator");
    n->machinery = kymo__sample_metadata(n->capture, "interpreter.machinery");
    n->collector = kymo__sample_metadata(n->capture, "interpreter.collector");
    if (!*files) {
        files = "python libpython";
        evaluator = "_PyEval_EvalFrameDefault";
        n->machinery = older_machinery;
        n->collector = "gc_collect_main";
    }

    const struct kymo_reader *r = n->capture->reader;
    const struct kymo_reader_stacks *s = &r->stacks;
    n->interpreter = kymo__alloc_zeroed(s->module_count + 1);
    if (!n->interpreter)
        return -ENOMEM;
    for (size_t i = 0; i < s->module_count; i++) {
        const char *name = base_name(kymo__reader_string(r, s->modules[i].path));
        n->interpreter[i] = among(files, name, false);
    }
    /* An embedded interpreter has the same function. */
    for (size_t i = 0; i < s->frame_count; i++)
        if (s->frames[i].kind == KYMO_FRAME_NATIVE && s->frames[i].module)
            for (size_t j = n->first[i]; j < n->first[i + 1]; j++)
                if (among(evaluator, n->named[j].name, false))
                    n->interpreter[s->frames[i].module - 1] = true;
    return 0;
}

/* Is NAME part of how the interpreter gets from one call to the next, or from startup to the
   first? */
static bool is_machinery(const struct kymo_stack_names *n, const char *name)
{
    if (among(n->machinery, name, false))
        return true;
    return strcmp(name, "main") == 0 || strcmp(name, "_start") == 0;
}

static bool is_start(const char *name)
{
    static const char *const names[] = {
        "_start",  "__libc_start_main", "__libc_start_call_main", "start_thread", "clone", "clone3",
        "__clone", "__clone3"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (begins(name, names[i]) &&
            (name[strlen(names[i])] == '\0' || name[strlen(names[i])] == '@'))
            return true;
    return begins(name, "__libc_start_main");
}

enum kymo_frame_role kymo__stack_role(const struct kymo_stack_names *n, uint32_t frame)
{
    const struct kymo_reader_frame *f = &n->capture->reader->stacks.frames[frame];
    const char *name = n->named[n->first[frame + 1] - 1].name; /* the outermost of the inlined
                                                                  functions */
    if (!f->module || !n->interpreter[f->module - 1])
        return is_start(name) ? KYMO__ROLE_START : KYMO__ROLE_CODE;
    return *name == '[' || is_machinery(n, name) ? KYMO__ROLE_MACHINERY : KYMO__ROLE_BUILTIN;
}

/* ---- whole ---- */

int kymo__stack_names_init(struct kymo_stack_names *n, const struct kymo_capture *capture, int mode)
{
    *n = (struct kymo_stack_names){.capture = capture, .machinery = "", .collector = ""};
    struct asking asking = {0};
    const struct kymo_symbol *symbols = NULL;
    int rc = kymo_symbolizer_new(mode, &n->symbolizer);
    if (rc == 0)
        rc = ask_symbolizer(&asking, capture->reader);
    if (rc == 0 && asking.count)
        rc = kymo_symbolize(n->symbolizer, asking.places, asking.count, &symbols, asking.first);
    if (rc == 0)
        rc = stacknames_take(n, &asking, symbols);
    if (rc == 0)
        rc = find_interpreter(n);
    asked(&asking);
    return rc;
}

void kymo__stack_names_fini(struct kymo_stack_names *n)
{
    kymo__free(n->named);
    kymo__free(n->first);
    kymo__free(n->interpreter);
    kymo__strtab_fini(&n->made);
    kymo_symbolizer_free(n->symbolizer);
    *n = (struct kymo_stack_names){0};
}

int kymo_stack_names_new(struct kymo_capture *capture, int mode, struct kymo_stack_names **names)
{
    struct kymo_stack_names *n = kymo__alloc(sizeof(*n));
    if (!n)
        return -ENOMEM;
    int rc = kymo__stack_names_init(n, capture, mode);
    if (rc < 0)
        kymo_stack_names_free(n);
    else
        *names = n;
    return rc;
}

void kymo_stack_names_free(struct kymo_stack_names *names)
{
    if (!names)
        return;
    kymo__stack_names_fini(names);
    kymo__free(names);
}
