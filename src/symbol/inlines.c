/* inlines.c — see inlines.h.

   The entries of a unit are scanned from first to last. A function that contains none of the
   addresses is skipped if its entry says how; so are types. Bodies may lie inside what was skipped,
   such as a function within a function. So if an address is left without a function that a symbol
   table knows, all entries are scanned again without skipping. */
#include "inlines.h"

#include <errno.h>

#include "alloc.h"
#include "dwarf_codes.h"

enum { OPEN_MOST = 256 }; /* most functions inlined into each other */

struct open {
    unsigned depth;
    bool inlined;
    uint32_t scope; /* KYMO__NONE: no address was in it so far */
    struct kymo_scope about;
};

struct walk {
    struct kymo_dwarf *dwarf;
    const struct kymo_unit *unit;
    const struct kymo_abbrevs *abbrevs;
    struct kymo_bytes bytes;
    struct kymo_scopes *scopes;
    struct kymo_ask *asks;
    size_t count;
    unsigned depth;
    struct open open[OPEN_MOST]; /* the functions around the entry */
    unsigned open_count;
    bool thorough; /* do not skip */
};

/* The attributes of a function that matter here. */
struct body {
    struct kymo_dwarf_value low, high, ranges, call_file, call_line, origin, sibling;
};

static uint64_t position(const struct walk *walk)
{
    return (uint64_t)(walk->bytes.at - walk->dwarf->sections[KYMO__INFO].at);
}

static void read_body(struct walk *walk, const struct kymo_abbrev *abbrev, struct body *body)
{
    *body = (struct body){0};
    for (uint32_t i = 0; i < abbrev->count; i++) {
        const struct kymo_attr *attr = &walk->abbrevs->attrs[abbrev->first + i];
        struct kymo_dwarf_value *value;
        switch (attr->name) {
        case DW_AT_low_pc:
            value = &body->low;
            break;
        case DW_AT_high_pc:
            value = &body->high;
            break;
        case DW_AT_ranges:
            value = &body->ranges;
            break;
        case DW_AT_call_file:
            value = &body->call_file;
            break;
        case DW_AT_call_line:
            value = &body->call_line;
            break;
        case DW_AT_abstract_origin:
            value = &body->origin;
            break;
        case DW_AT_sibling:
            value = &body->sibling;
            break;
        default:
            kymo__value_skip(&walk->bytes, walk->unit, attr->form);
            continue;
        }
        kymo__value_read(&walk->bytes, walk->unit, walk->abbrevs, attr, value);
    }
}

static size_t first_from(const struct walk *walk, uint64_t address)
{
    size_t low = 0, high = walk->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (walk->asks[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The scope of open function I, created if needed along with those it is inlined into. A function
   that is merely defined inside another is a scope of its own. */
static int64_t scope_of(struct walk *walk, unsigned i)
{
    unsigned first = i;
    while (first > 0 && walk->open[first].inlined && walk->open[first].scope == KYMO__NONE)
        first--;
    for (; first <= i; first++) {
        struct open *open = &walk->open[first];
        if (open->scope != KYMO__NONE)
            continue;
        if (walk->scopes->count >= KYMO__NONE ||
            kymo__array_grow(&walk->scopes->list, &walk->scopes->capacity, walk->scopes->count,
                             sizeof(*walk->scopes->list)) < 0)
            return -ENOMEM;
        open->about.parent = open->inlined ? walk->open[first - 1].scope : KYMO__NONE;
        walk->scopes->list[walk->scopes->count] = open->about;
        open->scope = (uint32_t)walk->scopes->count++;
    }
    return walk->open[i].scope;
}

/* Assign the innermost open function to the addresses in its ranges. Returns whether there are any,
   or -ENOMEM. */
static int claim_ranges(struct walk *walk, const struct body *body)
{
    struct kymo_ranges ranges;
    uint64_t begin, end;
    int any = 0;
    kymo__ranges_init(&ranges, walk->dwarf, walk->unit, &body->low, &body->high, &body->ranges);
    while (kymo__ranges_next(&ranges, &begin, &end)) {
        for (size_t i = first_from(walk, begin); i < walk->count && walk->asks[i].address < end;
             i++) {
            int64_t scope = scope_of(walk, walk->open_count - 1);
            if (scope < 0)
                return -ENOMEM;
            walk->asks[i].scope = (uint32_t)scope;
            any = 1;
        }
    }
    return any;
}

/* Skip the contents of an entry, if SIBLING says where they end. */
static bool jump(struct walk *walk, const struct kymo_dwarf_value *sibling)
{
    if (walk->thorough || !sibling->form)
        return false;
    struct kymo_die die = kymo__value_reference(walk->dwarf, walk->unit, sibling);
    uint64_t here = position(walk);
    if (die.dwarf != walk->dwarf || die.offset < here || die.offset >= walk->unit->end)
        return false;
    kymo__bytes_skip(&walk->bytes, die.offset - here);
    return true;
}

static int read_function(struct walk *walk, const struct kymo_abbrev *abbrev, uint64_t die)
{
    bool inlined = abbrev->tag == DW_TAG_inlined_subroutine;
    struct body body;
    read_body(walk, abbrev, &body);
    if (walk->bytes.bad || walk->open_count == OPEN_MOST || (inlined && walk->open_count == 0)) {
        walk->depth += abbrev->children;
        return 0;
    }
    struct open *open = &walk->open[walk->open_count++];
    *open = (struct open){.depth = walk->depth, .inlined = inlined, .scope = KYMO__NONE};
    open->about.die = (struct kymo_die){walk->dwarf, die};
    if (inlined) {
        struct kymo_die origin = kymo__value_reference(walk->dwarf, walk->unit, &body.origin);
        if (origin.dwarf)
            open->about.die = origin;
        open->about.call_file = (uint32_t)body.call_file.number;
        open->about.call_line = (uint32_t)body.call_line.number;
    }
    int any = claim_ranges(walk, &body);
    if (any < 0)
        return any;
    bool jumped = !inlined && !any && abbrev->children && jump(walk, &body.sibling);
    if (jumped || !abbrev->children)
        walk->open_count--;
    else
        walk->depth++;
    return 0;
}

/* Can TAG never contain a function body, in C and C++? */
static bool is_type(unsigned tag)
{
    return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type ||
           tag == DW_TAG_enumeration_type;
}

static bool is_c_family(unsigned language)
{
    switch (language) {
    case DW_LANG_C89:
    case DW_LANG_C:
    case DW_LANG_C99:
    case DW_LANG_C11:
    case DW_LANG_C17:
    case DW_LANG_C23:
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14:
    case DW_LANG_C_plus_plus_17:
    case DW_LANG_C_plus_plus_20:
        return true;
    default:
        return false;
    }
}

static void skip_entry(struct walk *walk, const struct kymo_abbrev *abbrev, bool c_family)
{
    struct kymo_dwarf_value sibling = {0};
    if (abbrev->children && abbrev->sibling >= 0 && c_family && is_type(abbrev->tag)) {
        struct kymo_bytes at = walk->bytes;
        struct kymo_attr attr = {.form = abbrev->sibling_form};
        kymo__bytes_skip(&at, (uint64_t)abbrev->sibling);
        if (attr.form != DW_FORM_implicit_const)
            kymo__value_read(&at, walk->unit, walk->abbrevs, &attr, &sibling);
        if (at.bad)
            sibling.form = 0;
    }
    if (abbrev->fixed >= 0) {
        kymo__bytes_skip(&walk->bytes, (uint64_t)abbrev->fixed);
    } else {
        for (uint32_t i = 0; i < abbrev->count; i++)
            kymo__value_skip(&walk->bytes, walk->unit,
                             walk->abbrevs->attrs[abbrev->first + i].form);
    }
    if (abbrev->children && !jump(walk, &sibling))
        walk->depth++;
}

static int go_through(struct walk *walk)
{
    bool c_family = is_c_family(walk->unit->language);
    walk->bytes =
        kymo__bytes_part(walk->dwarf->sections[KYMO__INFO], walk->unit->dies, walk->unit->end);
    walk->depth = walk->open_count = 0;
    while (walk->bytes.at < walk->bytes.end && !walk->bytes.bad) {
        uint64_t die = position(walk);
        uint64_t code = kymo__bytes_uleb(&walk->bytes);
        if (code == 0) {
            if (walk->depth == 0 || --walk->depth == 0)
                break;
            while (walk->open_count > 0 && walk->open[walk->open_count - 1].depth >= walk->depth)
                walk->open_count--;
            continue;
        }
        const struct kymo_abbrev *abbrev = kymo__abbrevs_find(walk->abbrevs, code);
        if (!abbrev)
            break;
        int rc = 0;
        if (abbrev->tag == DW_TAG_subprogram || abbrev->tag == DW_TAG_inlined_subroutine)
            rc = read_function(walk, abbrev, die);
        else
            skip_entry(walk, abbrev, c_family);
        if (rc < 0)
            return rc;
        if (walk->depth == 0)
            break; /* the unit's own entry has nothing inside */
    }
    return 0;
}

int kymo__scopes_find(struct kymo_scopes *scopes, struct kymo_dwarf *dwarf,
                      const struct kymo_unit *unit, struct kymo_ask *asks, size_t count)
{
    struct walk *walk = kymo__alloc(sizeof(*walk));
    if (!walk)
        return -ENOMEM;
    *walk =
        (struct walk){.dwarf = dwarf, .unit = unit, .scopes = scopes, .asks = asks, .count = count};
    walk->abbrevs = kymo__abbrevs_get(dwarf, unit);
    int rc = go_through(walk);
    bool left = false;
    for (size_t i = 0; i < count; i++)
        left = left || (asks[i].scope == KYMO__NONE && asks[i].named);
    if (rc == 0 && left) {
        walk->thorough = true;
        rc = go_through(walk);
    }
    kymo__free(walk);
    return rc;
}
